//! `fencepost outcomes`: the final states that a model allows.

use crate::args;
use crate::compiled::{self, Reads};
use crate::exit::Exit;
use crate::guard;
use crate::inputs::{self, Unusable};
use crate::interrupt;
use crate::terminal;
use check::outcomes::{self, Bounds, Cut, FinalStates, Limits, executions, interleavings};
use check::robustness::store_atomic::Machine;
use check::{Model, Question};
use graph::axioms::is_sc_consistent;
use graph::{self, ExecutionGraph, FinalState, enumerate};
use ir::{Loc, OneOf, Program};
use lang::{Diagnostic, Source};
use report::outcomes::{Enumerated, Seen};
use report::text::render;
use report::{By, OutcomeTable};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

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
    match model.machine() {
        Some(machine) => on_machine(args, &source, machine),
        None => by_graphs(args, &source, model),
    }
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

/// The final states on a machine with store buffers.
fn on_machine(args: &args::Outcomes, source: &Source, machine: Machine) -> io::Result<Exit> {
    let start = Instant::now();
    let found = outcomes::outcomes(&source.program, machine, &limits(args));
    let mut seen = Enumerated {
        states: found.outcomes.into_iter().map(|o| unmarked(o.state, o.under_sc)).collect(),
        unroll: None,
        limit: found.cut.map(Cut::name),
        graphs: 0,
        racy: None,
        elapsed: start.elapsed(),
    };
    count(args, source, machine.into(), start, &mut seen);
    // On the machine, `sc` accesses are what they are compiled to.
    print(args, source, machine.name(), seen, &source.warnings)
}

fn unmarked(state: FinalState, under_sc: bool) -> Seen {
    Seen { state, under_sc, executions: 1 }
}

/// Counts the executions of a litmus test, as its table shows them.
fn count(
    args: &args::Outcomes,
    source: &Source,
    model: Model,
    start: Instant,
    seen: &mut Enumerated,
) {
    if source.litmus.is_none() {
        return;
    }
    let bounds = Bounds {
        graphs: graph::Limits { unroll: args.unroll, graphs: args.limit_graphs },
        budget: limits(args).budget,
    };
    let Some(counted) = executions(&source.program, model, &bounds) else { return };
    for one in &mut seen.states {
        // What only longer executions end in has one at least.
        one.executions = counted.ends.get(&one.state).copied().unwrap_or(1);
    }
    let known: HashSet<FinalState> = seen.states.iter().map(|one| one.state.clone()).collect();
    let more = counted.ends.into_iter().filter(|(state, _)| !known.contains(state));
    seen.states
        .extend(more.map(|(state, executions)| Seen { executions, ..unmarked(state, false) }));
    seen.racy = Some(counted.racy);
    seen.graphs = counted.seen.graphs;
    if counted.seen.bounded && model.has_stale_reads() {
        seen.unroll = Some(args.unroll);
    }
    seen.limit = match (counted.spent, counted.seen.graphs >= args.limit_graphs) {
        (Some(spent), _) => Some(spent.name()),
        (_, true) => Some("graphs"),
        _ => seen.limit,
    };
    seen.elapsed = start.elapsed();
}

fn print(
    args: &args::Outcomes,
    source: &Source,
    model: &'static str,
    seen: Enumerated,
    warnings: &[Diagnostic],
) -> io::Result<Exit> {
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

/// The final states of the execution graphs that a model allows.
fn by_graphs(args: &args::Outcomes, source: &Source, model: Model) -> io::Result<Exit> {
    let why = report::unsupported(source, model, By::Graphs);
    if !why.is_empty() {
        let unusable = Unusable::new(&args.input, source.text.to_string(), why);
        return refuse(args, model, &unusable);
    }
    if source.litmus.is_some() {
        let start = Instant::now();
        let mut seen = all_interleavings(&source.program, args).0;
        count(args, source, model, start, &mut seen);
        return print(args, source, model.name(), seen, &source.warnings);
    }
    let seen = final_states(&model.reads(&source.program), model, args);
    print(args, source, model.name(), seen, &source.warnings)
}

/// The final states of all interleavings, and the same as a set.
fn all_interleavings(program: &Program, args: &args::Outcomes) -> (Enumerated, FinalStates) {
    let start = Instant::now();
    let sc = interleavings(program, &limits(args));
    let seen = Enumerated {
        states: sc.states.iter().map(|state| unmarked(state.clone(), true)).collect(),
        unroll: None,
        limit: sc.cut.map(Cut::name),
        graphs: 0,
        racy: None,
        elapsed: start.elapsed(),
    };
    (seen, sc)
}

/// Is there a write of a value that threads have no code for? Code that was discovered by running it is known for the
/// values that interleavings write ([`Program::foreseen`]).
fn writes_unforeseen(program: &Program, graph: &ExecutionGraph) -> bool {
    program.foreseen.iter().enumerate().any(|(index, values)| {
        let Some(values) = values else { return false };
        let written = graph.writes_to(Loc::from(index)).iter();
        let mut written = written.filter_map(|id| graph.event(*id).label.value_written());
        written.any(|value| !values.contains(&value))
    })
}

/// The final states of `program`, as `model` reads it, as far as the limits let them be found.
fn final_states(program: &Program, model: Model, args: &args::Outcomes) -> Enumerated {
    let start = Instant::now();
    let limits = limits(args);
    let (mut enumerated, sc) = all_interleavings(program, args);
    if model == Model::Sc {
        return enumerated;
    }
    let mut weak: HashMap<FinalState, usize> = HashMap::new();
    let (mut spent, mut unforeseen) = (None, false);
    let bounds = graph::Limits { unroll: args.unroll, graphs: args.limit_graphs };
    let one_of = OneOf::of(program);
    let seen = enumerate(program, &bounds, &mut |graph, state| {
        unforeseen |= writes_unforeseen(program, graph);
        let settled = state.settled(program, &one_of);
        if let Some(state) = settled.filter(|state| !sc.states.contains(state)) {
            // If not all interleavings are known, the graph may still be one of them.
            let under_sc = sc.cut.is_some() && is_sc_consistent(graph);
            if let Some(&known) = weak.get(&state) {
                enumerated.states[known].under_sc |= under_sc;
            } else {
                weak.insert(state.clone(), enumerated.states.len());
                enumerated.states.push(unmarked(state, under_sc));
            }
        }
        spent = limits.budget.spent();
        if spent.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    enumerated.limit = match (spent, seen.graphs >= bounds.graphs) {
        (Some(spent), _) => Some(spent.name()),
        (_, true) => Some("graphs"),
        _ if unforeseen => Some("values"),
        _ => enumerated.limit,
    };
    enumerated.unroll = seen.bounded.then_some(bounds.unroll);
    enumerated.graphs = seen.graphs;
    enumerated.elapsed = start.elapsed();
    enumerated
}
