//! `fencepost refine`: does a library do what its specification says?

use crate::args;
use crate::exit::Exit;
use crate::inputs;
use crate::interrupt;
use crate::report_files::ReportFiles;
use crate::terminal;
use ::check::Problem;
use ::check::refinement::{Settings, Statistics, refines};
use budget::Budget;
use lang::library::{GENERATED, Pair, Project};
use report::refinement::{Question, Refinement};
use report::timeline;
use search::Limits;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs the command.
pub(crate) fn run(args: &args::Refine) -> io::Result<Exit> {
    let mut files = Vec::new();
    for path in &args.inputs {
        match text(path) {
            Ok(file) => files.push(file),
            Err(exit) => return Ok(exit),
        }
    }
    let client = match args.client.as_deref().map(text) {
        None => None,
        Some(Ok(file)) => Some(file),
        Some(Err(exit)) => return Ok(exit),
    };
    let inputs: Vec<PathBuf> = args.inputs.iter().chain(&args.client).cloned().collect();
    let mut faces = ReportFiles::new(&args.faces, &inputs, args.quiet);
    let project = match lang::library::parse(&files, client.as_ref()) {
        Ok(project) => project,
        Err(unusable) => {
            terminal::complain(unusable.render(terminal::errors().color).trim_end());
            let sheet = timeline::refused(&unusable);
            if args.json
                && let Some(line) = report::json::lines(&sheet).first()
            {
                writeln!(io::stdout(), "{}", serde_json::to_string(line)?)?;
            }
            faces.add(sheet);
            faces.finish();
            return Ok(Exit::BadInput);
        }
    };
    if !project.warnings.is_empty() {
        terminal::complain(project.render_warnings(terminal::errors().color).trim_end());
    }
    if args.show_client {
        let written = project.files.iter().find(|file| file.name == GENERATED);
        let text = written.map_or("the client is written out in the files\n", |file| {
            &project.text[file.span.start..file.span.end]
        });
        io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(Exit::Holds);
    }
    let budget = interrupt::budget(args.limit_time, args.limit_memory);
    let mut exit = Exit::Holds;
    for pair in &project.pairs {
        let question = if client.is_some() { Question::Client } else { Question::Library };
        exit = exit.and(answer(args, &project, pair, question, budget, &mut faces)?);
    }
    Ok(exit.and(faces.finish()))
}

fn answer(
    args: &args::Refine,
    project: &Project,
    pair: &Pair,
    question: Question,
    budget: Budget,
    faces: &mut ReportFiles,
) -> io::Result<Exit> {
    let settings = Settings {
        pending: args.pending,
        history_only: args.history_only,
        reduce: !args.no_reduction,
        on_demand: !args.no_reduction,
        own_space: pair.own_space,
        literal: args.literal || question == Question::Client,
        total: args.total,
        ..Settings::default()
    };
    let first = match (question, &pair.client) {
        (Question::Client, Some(client)) => client,
        _ => &pair.implementation,
    };
    let start = Instant::now();
    let mut said = Instant::now();
    let shows = io::stderr().is_terminal() && !args.quiet && !args.json;
    let limits = Limits { budget, ..Limits::default() };
    let second = &pair.specification.system;
    let answer = refines(&first.system, second, &settings, &limits, &mut |so_far| {
        if shows && said.elapsed() > Duration::from_millis(500) {
            said = Instant::now();
            let Statistics { pairs, bytes, .. } = so_far;
            let _ = write!(io::stderr(), "\r{pairs} pairs, {} MB ", bytes >> 20);
        }
    });
    if shows {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    let (settings, answer) = (&settings, &answer);
    let shown = Refinement { project, pair, question, settings, answer };
    let sheet = shown.sheet(start.elapsed());
    if let Some(warning) = shown.wrapped() {
        terminal::complain(project.render(&[warning], terminal::errors().color).trim_end());
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", shown.json(&sheet))?;
    } else if args.quiet {
        writeln!(out, "{}: {}", pair.name, answer.verdict.name())?;
    } else {
        write!(out, "{}", shown.text())?;
    }
    out.flush()?;
    faces.add(sheet);
    Ok(match answer.verdict.witness().map(|witness| witness.problem) {
        // A program that divides by zero or leaves its arrays is no program to reason about.
        Some(Problem::Fault(_)) => Exit::BadInput,
        Some(_) => Exit::Violated,
        None if answer.verdict.holds() => Exit::Holds,
        None => Exit::Undecided,
    })
}

fn text(path: &Path) -> Result<(String, String), Exit> {
    let name = inputs::name(path);
    inputs::text(path).map(|text| (name.clone(), text)).map_err(|why| {
        terminal::complain(&why.render(&name, "", terminal::errors().color));
        Exit::BadInput
    })
}
