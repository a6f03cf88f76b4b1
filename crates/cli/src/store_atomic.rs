//! `fencepost check --model tso|pso|pgas`: every file in turn.

use crate::args;
use crate::exit::Exit;
use crate::inputs;
use crate::terminal;
use check::robustness::store_atomic::{self, Machine, Verdict, trf};
use lang::Source;
use report::json;
use report::store_atomic::{Answer, sheet, text};
use std::io::{self, Write};
use std::path::Path;

/// Runs the command.
pub fn run(args: &args::Check, machine: Machine) -> io::Result<Exit> {
    if args.trf && machine != Machine::Tso {
        terminal::complain("error: triangular races are about tso: --trf goes with --model tso");
        return Ok(Exit::BadInput);
    }
    let (files, unusable) = inputs::expand(&args.inputs);
    let mut exit = Exit::Holds;
    for argument in &unusable {
        exit = exit.and(terminal::refuse(argument));
    }
    let detailed = files.len() == 1 || args.output.details;
    for file in &files {
        exit = exit.and(one(args, machine, file, detailed)?);
    }
    Ok(exit)
}

fn one(args: &args::Check, machine: Machine, file: &Path, detailed: bool) -> io::Result<Exit> {
    let source = match inputs::load_as(file, args.input) {
        Ok(source) => source,
        Err(unusable) => return Ok(terminal::refuse(&unusable)),
    };
    if !args.output.quiet {
        let look = terminal::errors();
        for warning in &source.warnings {
            terminal::complain(&warning.render(&source.name, &source.text, look.color));
        }
    }
    let settings = args.store_atomic_settings();
    let answer = match args.trf {
        true => Ok(Answer::TriangularRaces(trf::check(&source.program, &settings, &|_| {}))),
        false => store_atomic::check(&source.program, machine, &settings, &|_| {})
            .map(Answer::Robustness),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => {
            terminal::complain(&format!("error: {}: {refusal}", source.name));
            return Ok(Exit::BadInput);
        }
    };
    print(args, machine, &source, answer, detailed)
}

fn print(
    args: &args::Check,
    machine: Machine,
    source: &Source,
    answer: Answer,
    detailed: bool,
) -> io::Result<Exit> {
    let sheet = sheet(source, machine, &answer);
    let mut out = io::stdout().lock();
    if args.output.json {
        for line in json::lines(&sheet) {
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
    } else {
        let detailed = detailed && !args.output.quiet;
        out.write_all(text(&sheet, detailed, &terminal::output()).as_bytes())?;
    }
    out.flush()?;
    Ok(match sheet.verdict() {
        "holds" => Exit::Holds,
        "violated" => Exit::Violated,
        "error" => Exit::BadInput,
        _ => Exit::Undecided,
    })
}

/// Is the program robust against every one of the machines?
pub fn is_robust(source: &Source, machines: &[Machine], settings: &store_atomic::Settings) -> bool {
    machines.iter().all(|&machine| {
        store_atomic::check(&source.program, machine, settings, &|_| {})
            .is_ok_and(|outcome| outcome.verdict == Verdict::Holds)
    })
}
