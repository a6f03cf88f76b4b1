//! `fencepost outcomes`: the final states that a model allows.

use crate::args;
use crate::compiled::{self, Reads};
use crate::exit::Exit;
use crate::guard;
use crate::inputs::{self, Unusable};
use crate::interrupt;
use crate::terminal;
use check::outcomes::{Enumerated, Limits, Wanted, enumerate};
use check::{Model, Question};
use lang::Source;
use report::text::render;
use report::{By, OutcomeTable};
use std::io::{self, Write};

/// Runs the command.
pub(crate) fn run(args: &args::Outcomes) -> io::Result<Exit> {
    let asked = args::model(args.model, &args.input);
    let loaded = match args.language.is_none() && compiled::is_code(&args.input) {
        true => discover(args, asked),
        false => inputs::load_as(&args.input, args.language),
    };
    let source = match loaded {
        Ok(source) => source,
        Err(unusable) => return refuse(args, asked, &unusable),
    };
    let model = match inputs::model_for(&source, asked, args.model.is_some()) {
        Ok(model) => model,
        Err(why) => {
            let unusable = Unusable::new(&args.input, source.text.to_string(), vec![why]);
            return refuse(args, asked, &unusable);
        }
    };
    if model.machine().is_none() {
        let why = report::unsupported(&source, model, By::Graphs);
        if !why.is_empty() {
            let unusable = Unusable::new(&args.input, source.text.to_string(), why);
            return refuse(args, model, &unusable);
        }
    }
    let wanted = Wanted {
        limits: limits(args),
        graphs: graph::Limits { unroll: args.unroll, graphs: args.limit_graphs },
        counted: source.litmus.is_some(),
    };
    // On a machine, `sc` accesses are what they are compiled to.
    let seen = enumerate(&source.program, model, &wanted);
    print(args, &source, model.name(), seen)
}

/// The program in C, C++, Rust or LLVM IR, followed wherever a memory of this model can lead it.
fn discover(args: &args::Outcomes, model: Model) -> Result<Source, Unusable> {
    let limits = search::Limits {
        states: Some(args.limit_states as u64),
        budget: limits(args).budget,
        ..search::Limits::default()
    };
    let question = Question { limits, jobs: args.jobs.into(), ..Question::of(model) };
    let mut programs = compiled::programs(std::slice::from_ref(&args.input), &args.code);
    let program = programs.remove(0);
    let found = guard::work(|| program.discover(&args.code, &question, Reads::Observed, &|_| {}));
    found.unwrap_or_else(|internal| Err(Unusable::new(&args.input, String::new(), vec![internal])))
}

/// Says why there is no answer.
fn refuse(args: &args::Outcomes, model: Model, unusable: &Unusable) -> io::Result<Exit> {
    if args.json {
        let Unusable { name, text, why } = unusable;
        let line = report::json::error(name, text, model.name(), why);
        writeln!(io::stdout(), "{}", serde_json::to_string(&line)?)?;
    }
    Ok(terminal::refuse(unusable))
}

/// How far to go.
fn limits(args: &args::Outcomes) -> Limits {
    let budget = interrupt::budget(Some(args.limit_time), None);
    let (buffer, jobs) = (args.limit_buffer.into(), args.jobs.into());
    Limits { states: args.limit_states, buffer, jobs, budget }
}

/// Prints the final states.
fn print(
    args: &args::Outcomes,
    source: &Source,
    model: &'static str,
    seen: Enumerated,
) -> io::Result<Exit> {
    let warnings = &source.warnings;
    let color = terminal::errors().color;
    for warning in warnings.iter().filter(|_| !args.quiet) {
        terminal::complain(&warning.render(&source.name, &source.text, color));
    }
    let herd = report::litmus::table(source, &seen.states, seen.racy == Some(true), seen.elapsed);
    let table = OutcomeTable::new(source, model, seen, warnings);
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string(&table)?)?,
        false if source.litmus.is_some() => {
            let incomplete = render(&table.incomplete(), &terminal::errors());
            incomplete.lines().for_each(terminal::complain);
            // Of herd's table, the line that says how often the condition is met.
            let kept = |line: &&str| !args.quiet || line.starts_with("Observation ");
            for line in herd.lines().filter(kept) {
                writeln!(out, "{line}")?;
            }
        }
        false => {
            let text = render(&table.document(), &terminal::output());
            let end = text.find('\n').filter(|_| args.quiet).map_or(text.len(), |at| at + 1);
            out.write_all(&text.as_bytes()[..end])?;
        }
    }
    out.flush()?;
    Ok(if table.limit.is_some() { Exit::Undecided } else { Exit::Holds })
}
