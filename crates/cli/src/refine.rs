//! `fencepost refine`: does a library do what its specification says?

use crate::args;
use crate::exit::Exit;
use crate::inputs;
use crate::terminal;
use ::check::refinement::{Settings, Statistics, Verdict, refines};
use lang::library::{Pair, Project};
use model::memory::prc11::view::Finding;
use report::refinement::{Question, Refinement};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs the command.
pub fn run(args: &args::Refine) -> io::Result<Exit> {
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
    let project = match lang::library::parse(&files, client.as_ref()) {
        Ok(project) => project,
        Err(unusable) => {
            terminal::complain(unusable.render(terminal::errors().color).trim_end());
            return Ok(Exit::BadInput);
        }
    };
    if args.show_client {
        let written = project.files.iter().find(|file| file.name == "most general client");
        let text = written.map_or("the client is written out in the files\n", |file| {
            &project.text[file.span.start..file.span.end]
        });
        io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(Exit::Holds);
    }
    let mut exit = Exit::Holds;
    for pair in &project.pairs {
        let question = if client.is_some() { Question::Client } else { Question::Library };
        exit = exit.and(answer(args, &project, pair, question)?);
    }
    Ok(exit)
}

fn answer(
    args: &args::Refine,
    project: &Project,
    pair: &Pair,
    question: Question,
) -> io::Result<Exit> {
    let settings = Settings {
        pending: args.pending,
        history_only: args.history_only,
        reduce: !args.no_reduction,
        own_space: pair.own_space,
        literal: args.literal || question == Question::Client,
    };
    let first = match (question, &pair.client) {
        (Question::Client, Some(client)) => client,
        _ => &pair.implementation,
    };
    let start = Instant::now();
    let mut said = Instant::now();
    let shows = io::stderr().is_terminal() && !args.quiet && !args.json;
    let answer = refines(&first.system, &pair.specification.system, &settings, &mut |so_far| {
        if shows && said.elapsed() > Duration::from_millis(500) {
            said = Instant::now();
            let Statistics { pairs, bytes, .. } = so_far;
            let _ = write!(io::stderr(), "\r{pairs} pairs, {} MB ", bytes >> 20);
        }
        args.limit_time.is_none_or(|limit| start.elapsed() < limit)
            && args.limit_memory.is_none_or(|limit| so_far.bytes < limit)
    });
    if shows {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    let shown = Refinement { project, pair, question, settings: &settings, answer: &answer };
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", shown.json())?;
    } else if args.quiet {
        writeln!(out, "{}: {}", pair.name, shown.verdict())?;
    } else {
        write!(out, "{}", shown.text())?;
    }
    out.flush()?;
    Ok(match answer.verdict {
        Verdict::Refines => Exit::Holds,
        // A program that divides by zero or leaves its arrays is no program to reason about.
        Verdict::Wrong { finding: Finding::Fault { .. }, .. } => Exit::BadInput,
        Verdict::Differs(_) | Verdict::Wrong { .. } => Exit::Violated,
        Verdict::Undecided => Exit::Undecided,
    })
}

fn text(path: &Path) -> Result<(String, String), Exit> {
    let name = inputs::name(path);
    inputs::text(path).map(|text| (name.clone(), text)).map_err(|why| {
        terminal::complain(&why.render(&name, "", terminal::errors().color));
        Exit::BadInput
    })
}
