//! `fencepost check`: every file in turn, a report for each, one exit code for all.

use crate::args;
use crate::exit::Exit;
use crate::inputs;
use check::Settings;
use lang::Source;
use report::{FileReport, Ruling, json};
use std::io::{self, Write};
use std::path::Path;

/// Runs the command.
pub fn run(args: &args::Check) -> io::Result<Exit> {
    let settings = args.settings();
    let (files, unusable) = inputs::expand(&args.inputs);
    let mut exit = Exit::Holds;
    let mut out = io::stdout().lock();
    for argument in unusable {
        exit = exit.and(Exit::BadInput);
        let line = json::error(&argument.name, settings.model, argument.why);
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    for file in &files {
        exit = exit.and(check_file(file, args, &settings, &mut out)?);
    }
    out.flush()?;
    Ok(exit)
}

fn check_file(
    path: &Path,
    args: &args::Check,
    settings: &Settings,
    out: &mut impl Write,
) -> io::Result<Exit> {
    let name = inputs::name(path);
    let source = match load(path, &name) {
        Ok(source) => source,
        Err(message) => {
            let line = json::error(&name, settings.model, message);
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
            return Ok(Exit::BadInput);
        }
    };
    let outcome = check::check(&source.program, settings, &|_, _| {});
    let report = FileReport::new(&source, settings, &outcome);
    let _ = args.details;
    for line in json::lines(&report) {
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(match report.ruling() {
        _ if !report.faults.is_empty() => Exit::BadInput,
        Ruling::Violated => Exit::Violated,
        Ruling::Undecided => Exit::Undecided,
        Ruling::Holds => Exit::Holds,
    })
}

fn load(path: &Path, name: &str) -> Result<Source, String> {
    let bytes = inputs::read(path)?;
    lang::parse_bytes(name, &bytes).map_err(|errors| format!("{name}: {}", errors[0].message))
}
