//! `fencepost refine`: does a library do what its specification says?

use crate::args;
use crate::exit::Exit;
use crate::inputs;
use crate::interrupt;
use crate::report_files::ReportFiles;
use crate::terminal;
use ::check::refinement::{Scope, Statistics, refines};
use ::check::{Problem, Property, Question};
use lang::library::{GENERATED, Pair, Project};
use report::refinement::Refinement;
use report::text::render;
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
    let property = if client.is_some() { Property::Policy } else { Property::Refinement };
    let budget = interrupt::budget(args.limit_time, args.limit_memory);
    let question = Question {
        property,
        limits: Limits { budget, ..Limits::default() },
        jobs: args::cores(args.jobs),
        scope: Scope {
            pending: args.pending,
            history_only: args.history_only,
            reduce: !args.no_reduction,
            on_demand: !args.no_reduction,
            literal: args.literal || property == Property::Policy,
            total: args.total,
            ..Scope::default()
        },
        ..Question::default()
    };
    let mut exit = Exit::Holds;
    for pair in &project.pairs {
        exit = exit.and(answer(args, &project, pair, question, &mut faces)?);
    }
    Ok(exit.and(faces.finish()))
}

fn answer(
    args: &args::Refine,
    project: &Project,
    pair: &Pair,
    mut question: Question,
    faces: &mut ReportFiles,
) -> io::Result<Exit> {
    question.scope.own_space = pair.own_space;
    let question = &question;
    let client = pair.client.as_ref().filter(|_| question.property == Property::Policy);
    let first = &client.unwrap_or(&pair.implementation).system;
    let mut said = Instant::now();
    let shows = io::stderr().is_terminal() && !args.quiet && !args.json;
    let answer = &refines(first, &pair.specification.system, question, &mut |so_far| {
        if shows && said.elapsed() > Duration::from_millis(500) {
            said = Instant::now();
            let Statistics { pairs, bytes, .. } = so_far;
            let _ = write!(io::stderr(), "\r{pairs} pairs, {} MB ", bytes >> 20);
        }
    });
    if shows {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    let shown = Refinement { project, pair, question, answer };
    let sheet = shown.sheet();
    let verdict = &answer.decisions[0].verdict;
    if let Some(warning) = shown.wrapped() {
        terminal::complain(project.render(&[warning], terminal::errors().color).trim_end());
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", shown.json(&sheet))?;
    } else if args.quiet {
        writeln!(out, "{}: {}", pair.name, verdict.name())?;
    } else {
        write!(out, "{}", render(&shown.document(), &terminal::output()))?;
    }
    out.flush()?;
    faces.add(sheet);
    Ok(match verdict.witness().map(|witness| witness.problem) {
        // A program that divides by zero or leaves its arrays is no program to reason about.
        Some(Problem::Fault(_)) => Exit::BadInput,
        Some(_) => Exit::Violated,
        None if verdict.holds() => Exit::Holds,
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
