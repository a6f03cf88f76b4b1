//! `fencepost outcomes`: the final states that a model allows.

use crate::args;
use crate::exit::Exit;
use crate::inputs::{self, Unusable};
use crate::interleavings::{Limits, interleavings};
use crate::terminal;
use check::Model;
use model::Program;
use model::graph::axioms::is_sc_consistent;
use model::graph::{self, enumerate};
use report::outcomes::Enumerated;
use report::{By, OutcomeTable};
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

/// Runs the command.
pub fn run(args: &args::Outcomes) -> io::Result<Exit> {
    let model = Model::from(args.model);
    let mut out = io::stdout().lock();
    let loaded = inputs::load(&args.input).and_then(|source| {
        match report::unsupported(&source, model, By::Graphs) {
            why if why.is_empty() => Ok(source),
            why => Err(Unusable::new(&args.input, source.text.to_string(), why)),
        }
    });
    let source = match loaded {
        Ok(source) => source,
        Err(Unusable { name, text, why }) => {
            let color = terminal::errors().color;
            why.iter().for_each(|error| terminal::complain(&error.render(&name, &text, color)));
            if args.json {
                let line = report::json::error(&name, &text, model, &why);
                writeln!(out, "{}", serde_json::to_string(&line)?)?;
            }
            return Ok(Exit::BadInput);
        }
    };
    let strengthened;
    let program = match model {
        Model::Ra => {
            strengthened = source.program.release_acquire();
            &strengthened
        }
        Model::Rc20 | Model::Sc => &source.program,
    };
    let table = OutcomeTable::new(&source, model, final_states(program, model, args));
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string(&table)?)?,
        false => out.write_all(table.text(&terminal::output()).as_bytes())?,
    }
    out.flush()?;
    Ok(if table.limit.is_some() { Exit::Undecided } else { Exit::Holds })
}

/// The final states, as far as the limits let them be found.
fn final_states(program: &Program, model: Model, args: &args::Outcomes) -> Enumerated {
    let start = Instant::now();
    let deadline = start + args.limit_time;
    let sc = interleavings(program, &Limits { states: args.limit_states, deadline });
    let mut enumerated = Enumerated {
        states: sc.states.iter().map(|state| (state.clone(), true)).collect(),
        unroll: None,
        limit: sc.limit,
        graphs: 0,
        elapsed: start.elapsed(),
    };
    if model == Model::Sc {
        return enumerated;
    }
    let mut weak = HashSet::new();
    let mut out_of_time = false;
    let limits = graph::Limits { unroll: args.unroll, graphs: args.limit_graphs };
    let seen = enumerate(program, &limits, &mut |graph, state| {
        if state.is_final() && !sc.states.contains(state) && !weak.contains(state) {
            weak.insert(state.clone());
            // If not all interleavings are known, the graph may still be one of them.
            let under_sc = sc.limit.is_some() && is_sc_consistent(graph);
            enumerated.states.push((state.clone(), under_sc));
        }
        out_of_time = Instant::now() >= deadline;
        if out_of_time { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    enumerated.limit = match (out_of_time, seen.graphs >= limits.graphs) {
        (true, _) => Some("time"),
        (_, true) => Some("graphs"),
        _ => enumerated.limit,
    };
    enumerated.unroll = seen.bounded.then_some(limits.unroll);
    enumerated.graphs = seen.graphs;
    enumerated.elapsed = start.elapsed();
    enumerated
}
