//! `fencepost outcomes`: the final states that a model allows.

use crate::args;
use crate::exit::Exit;
use crate::inputs::{self, Unusable};
use crate::interrupt;
use crate::terminal;
use check::Model;
use check::outcomes::{self, Cut, Limits, interleavings};
use check::robustness::store_atomic::Machine;
use graph::axioms::is_sc_consistent;
use graph::{self, FinalState, enumerate};
use ir::Program;
use lang::{Diagnostic, Source};
use report::outcomes::{Enumerated, Seen};
use report::{By, OutcomeTable};
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

/// Runs the command.
pub(crate) fn run(args: &args::Outcomes) -> io::Result<Exit> {
    let model = args::model(args.model, &args.input);
    match model.machine() {
        Some(machine) => on_machine(args, machine),
        None => by_graphs(args, model),
    }
}

/// How far to go.
fn limits(args: &args::Outcomes) -> Limits {
    let budget = interrupt::budget(Some(args.limit_time), None);
    Limits { states: args.limit_states, buffer: args.limit_buffer.into(), budget }
}

/// The final states on a machine with store buffers.
fn on_machine(args: &args::Outcomes, machine: Machine) -> io::Result<Exit> {
    let source = match inputs::load_as(&args.input, args.language) {
        Ok(source) => source,
        Err(unusable) => {
            if args.json {
                let Unusable { name, text, why } = &unusable;
                let line = report::json::error(name, text, machine.name(), why);
                writeln!(io::stdout(), "{}", serde_json::to_string(&line)?)?;
            }
            return Ok(terminal::refuse(&unusable));
        }
    };
    let start = Instant::now();
    let found = outcomes::outcomes(&source.program, machine, &limits(args));
    let seen = Enumerated {
        states: found
            .outcomes
            .into_iter()
            .map(|o| Seen { state: o.state, under_sc: o.under_sc })
            .collect(),
        unroll: None,
        limit: found.cut.map(Cut::name),
        graphs: 0,
        elapsed: start.elapsed(),
    };
    // On the machine, `sc` accesses are what they are compiled to.
    print(args, &source, machine.name(), seen, &source.warnings)
}

fn print(
    args: &args::Outcomes,
    source: &Source,
    model: &'static str,
    seen: Enumerated,
    warnings: &[Diagnostic],
) -> io::Result<Exit> {
    let color = terminal::errors().color;
    for warning in warnings {
        terminal::complain(&warning.render(&source.name, &source.text, color));
    }
    let table = OutcomeTable::new(source, model, seen, warnings);
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string(&table)?)?,
        false => out.write_all(table.text(&terminal::output()).as_bytes())?,
    }
    out.flush()?;
    Ok(if table.limit.is_some() { Exit::Undecided } else { Exit::Holds })
}

/// The final states of the execution graphs that a model allows.
fn by_graphs(args: &args::Outcomes, model: Model) -> io::Result<Exit> {
    let mut out = io::stdout().lock();
    let loaded = inputs::load_as(&args.input, args.language).and_then(|source| {
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
                let line = report::json::error(&name, &text, model.name(), &why);
                writeln!(out, "{}", serde_json::to_string(&line)?)?;
            }
            return Ok(Exit::BadInput);
        }
    };
    drop(out);
    let seen = final_states(&model.reads(&source.program), model, args);
    print(args, &source, model.name(), seen, &source.warnings)
}

/// The final states of `program`, as `model` reads it, as far as the limits let them be found.
fn final_states(program: &Program, model: Model, args: &args::Outcomes) -> Enumerated {
    let start = Instant::now();
    let limits = limits(args);
    let sc = interleavings(program, &limits);
    let mut enumerated = Enumerated {
        states: sc
            .states
            .iter()
            .map(|state| Seen { state: state.clone(), under_sc: true })
            .collect(),
        unroll: None,
        limit: sc.cut.map(Cut::name),
        graphs: 0,
        elapsed: start.elapsed(),
    };
    if model == Model::Sc {
        return enumerated;
    }
    let mut weak: HashMap<FinalState, usize> = HashMap::new();
    let mut spent = None;
    let bounds = graph::Limits { unroll: args.unroll, graphs: args.limit_graphs };
    let seen = enumerate(program, &bounds, &mut |graph, state| {
        if state.is_final() && !sc.states.contains(state) {
            // If not all interleavings are known, the graph may still be one of them.
            let under_sc = sc.cut.is_some() && is_sc_consistent(graph);
            if let Some(&known) = weak.get(state) {
                enumerated.states[known].under_sc |= under_sc;
            } else {
                weak.insert(state.clone(), enumerated.states.len());
                let state = state.clone();
                enumerated.states.push(Seen { state, under_sc });
            }
        }
        spent = limits.budget.spent();
        if spent.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    enumerated.limit = match (spent, seen.graphs >= bounds.graphs) {
        (Some(spent), _) => Some(spent.name()),
        (_, true) => Some("graphs"),
        _ => enumerated.limit,
    };
    enumerated.unroll = seen.bounded.then_some(bounds.unroll);
    enumerated.graphs = seen.graphs;
    enumerated.elapsed = start.elapsed();
    enumerated
}
