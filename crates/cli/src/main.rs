//! `fencepost`: arguments in, exit code out. Everything else is wiring.

mod args;
mod atomicity;
mod check;
mod check_tests;
mod compiled;
mod editor;
mod exit;
mod explain;
mod export;
mod fix;
mod guard;
mod help;
mod inputs;
mod interrupt;
mod known;
mod launch;
mod meaning;
mod member;
mod orders;
mod outcomes;
mod progress;
mod project;
mod promises;
mod quantity;
mod refine;
mod report_files;
mod sanitizer;
mod serial;
mod terminal;

use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match meaning::arguments() {
        Ok(args) => args,
        Err(refusal) => {
            terminal::complain(&format!("error: {refusal}"));
            return Exit::BadInput.into();
        }
    };
    guard::install();
    // Commands that work on several files guard each of them; whatever else panics ends here.
    guard::work(|| run(&args)).unwrap_or_else(|internal| {
        terminal::complain(&internal.render("fencepost", "", terminal::errors().color));
        Exit::Internal.into()
    })
}

fn run(args: &args::Args) -> ExitCode {
    let exit = match &args.command {
        args::Command::Check(args) => check::run(args),
        args::Command::CheckTests(args) => check_tests::run(args),
        args::Command::Cluster(args) => launch::run(&args.command),
        args::Command::Outcomes(args) => outcomes::run(args),
        args::Command::Fix(args) => fix::run(args),
        args::Command::Orders(args) => orders::run(args),
        args::Command::Serial(args) => serial::run(args),
        args::Command::Refine(args) => refine::run(args),
        args::Command::Export(args) => export::run(args),
        args::Command::Sanitizer(command) => return sanitizer::run(command),
        args::Command::Play(args) => editor::play(args),
        args::Command::Lsp(args) => editor::lsp(args),
        args::Command::Explain(args) => explain::explain(args),
        args::Command::Completions(args) => explain::completions(args),
        args::Command::Man(args) => explain::manual(args),
    };
    exit.unwrap_or_else(|error| {
        // Whoever reads our output has seen enough.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Exit::Unheard;
        }
        terminal::complain(&format!("error: cannot write the report: {error}"));
        Exit::BadInput
    })
    .into()
}
