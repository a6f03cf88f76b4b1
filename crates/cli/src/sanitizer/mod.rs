//! The sanitizer: build a program with it, run it, read what it found.
//!
//! * [`unpack`]: the runtime, from inside this program to a place where linkers find it.
//! * [`compiler`]: `fencepost cc`, `c++`, `rustc`, `cargo`; [`rust_std`]: what the latter two link.
//! * [`raw`], [`symbols`], [`finding`], [`text`]: what the runtime wrote, with names for addresses, once
//!   each, for people.
//! * [`launch`]: `fencepost run`; [`replay`]: `fencepost replay`;
//!   [`transactions`]: a recording for `fencepost serial`.

pub mod args;
mod compiler;
mod filter;
mod finding;
mod launch;
mod raw;
mod replay;
mod rust_std;
mod symbols;
mod text;
mod transactions;
mod unpack;

use crate::terminal;
use args::Command;
use std::process::ExitCode;

/// Exit code of a run with findings.
const FOUND: u8 = 66;

/// Runs a command of the sanitizer.
pub fn run(command: &Command) -> ExitCode {
    let result = match command {
        Command::Cc(args) => compiler::c(&args.arguments, compiler::Language::C),
        Command::Cxx(args) => compiler::c(&args.arguments, compiler::Language::Cxx),
        Command::Rustc(args) => compiler::rustc(&args.arguments),
        Command::Cargo(args) => compiler::cargo(&args.arguments),
        Command::Run(args) => launch::run(args),
        Command::Replay(args) => replay::run(args),
        Command::ReportRaw(args) => raw::report(args),
    };
    result.unwrap_or_else(|message| {
        terminal::complain(&format!("error: {message}"));
        ExitCode::from(2)
    })
}
