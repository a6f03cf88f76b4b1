//! Parses each file given and prints its program, warnings and errors.
//!
//! `cargo run -p fencepost-lang --example parse -- FILE…`

extern crate fencepost_lang as lang;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{path}: {error}");
                failed = true;
                continue;
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let (program, diagnostics) = match fencepost_lang::parse_bytes(&path, &bytes) {
            Ok(source) => (Some(source.program), source.warnings),
            Err(diagnostics) => (None, diagnostics),
        };
        for diagnostic in &diagnostics {
            eprintln!("{}", diagnostic.render(&path, &text, false));
        }
        match program {
            Some(program) => println!("// {path}\n{}", ir::print::program(&program)),
            None => failed = true,
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
