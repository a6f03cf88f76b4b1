//! The final states of a program on any model.
//!
//! Machines with store buffers and interleavings are searched state by state, loops and all. A model that is given by axioms is
//! enumerated: the final states of its execution graphs, with loops unrolled up to a bound. Of each state the answer says
//! whether an interleaving ends in it. For litmus tests, executions are counted as well ([`super::executions`]).

use super::{Bounds, Cut, FinalStates, Limits, executions, interleavings, outcomes};
use crate::question::Model;
use graph::axioms::is_sc_consistent;
use graph::{ExecutionGraph, FinalState};
use ir::{Loc, OneOf, Program};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What to enumerate, and how far.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Limits of searches; their budget is that of the whole enumeration.
    pub limits: Limits,
    /// How often a thread may come to one instruction, and how many graphs may be visited.
    pub graphs: graph::Limits,
    /// Are executions counted, as the table of a litmus test shows them?
    pub counted: bool,
}

/// What an enumeration saw.
#[derive(Clone, Debug)]
pub struct Enumerated {
    /// The final states.
    pub states: Vec<Seen>,
    /// How often a thread may come to one statement, if that cut something off.
    pub unroll: Option<u32>,
    /// The limit that stopped it, if one did.
    pub limit: Option<&'static str>,
    /// How many graphs it saw.
    pub graphs: usize,
    /// If executions were counted: has one of them a data race?
    pub racy: Option<bool>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A final state that was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The state.
    pub state: FinalState,
    /// Does SC allow it?
    pub under_sc: bool,
    /// How many executions end in it; 1 where they are not counted.
    pub executions: u64,
}

impl Enumerated {
    /// States, each with whether SC allows it, and what cut their search short.
    fn of(states: impl Iterator<Item = (FinalState, bool)>, cut: Option<Cut>) -> Self {
        Enumerated {
            states: states
                .map(|(state, under_sc)| Seen { state, under_sc, executions: 1 })
                .collect(),
            unroll: None,
            limit: cut.map(Cut::name),
            graphs: 0,
            racy: None,
            elapsed: Duration::ZERO,
        }
    }
}

/// The final states of `program` on `model`, as far as the limits let them be found.
pub fn enumerate(program: &Program, model: Model, wanted: &Wanted) -> Enumerated {
    let start = Instant::now();
    let mut found = match model.machine() {
        Some(machine) => {
            let found = outcomes(program, machine, &wanted.limits);
            let states = found.outcomes.into_iter().map(|o| (o.state, o.under_sc));
            Enumerated::of(states, found.cut)
        }
        None if wanted.counted => all_interleavings(program, &wanted.limits).0,
        None => of_graphs(&model.reads(program), model, wanted),
    };
    if wanted.counted {
        count(program, model, wanted, &mut found);
    }
    Enumerated { elapsed: start.elapsed(), ..found }
}

/// The final states of all interleavings, and the same as a set.
fn all_interleavings(program: &Program, limits: &Limits) -> (Enumerated, FinalStates) {
    let sc = interleavings(program, limits);
    let states = sc.states.iter().map(|state| (state.clone(), true));
    (Enumerated::of(states, sc.cut), sc)
}

/// The final states of all interleavings, and of all execution graphs that `model` allows.
fn of_graphs(program: &Program, model: Model, wanted: &Wanted) -> Enumerated {
    let (mut found, sc) = all_interleavings(program, &wanted.limits);
    if model == Model::Sc {
        return found;
    }
    let mut weak: HashMap<FinalState, usize> = HashMap::new();
    let (mut spent, mut unforeseen) = (None, false);
    let one_of = OneOf::of(program);
    let seen = graph::enumerate(program, &wanted.graphs, &mut |graph, state| {
        unforeseen |= writes_unforeseen(program, graph);
        let settled = state.settled(program, &one_of);
        if let Some(state) = settled.filter(|state| !sc.states.contains(state)) {
            // If not all interleavings are known, the graph may still be one of them.
            let under_sc = sc.cut.is_some() && is_sc_consistent(graph);
            if let Some(&known) = weak.get(&state) {
                found.states[known].under_sc |= under_sc;
            } else {
                weak.insert(state.clone(), found.states.len());
                found.states.push(Seen { state, under_sc, executions: 1 });
            }
        }
        spent = wanted.limits.budget.spent();
        if spent.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.limit = match (spent, seen.graphs >= wanted.graphs.graphs) {
        (Some(spent), _) => Some(spent.name()),
        (_, true) => Some("graphs"),
        _ if unforeseen => Some("values"),
        _ => found.limit,
    };
    found.unroll = seen.bounded.then_some(wanted.graphs.unroll);
    found.graphs = seen.graphs;
    found
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

/// Counts the executions that end in each state, and adds states that only executions end in.
fn count(program: &Program, model: Model, wanted: &Wanted, found: &mut Enumerated) {
    let bounds = Bounds { graphs: wanted.graphs, budget: wanted.limits.budget };
    let Some(counted) = executions(program, model, &bounds) else { return };
    for one in &mut found.states {
        // What only longer executions end in has one at least.
        one.executions = counted.ends.get(&one.state).copied().unwrap_or(1);
    }
    let known: HashSet<FinalState> = found.states.iter().map(|one| one.state.clone()).collect();
    let more = counted.ends.into_iter().filter(|(state, _)| !known.contains(state));
    let more = more.map(|(state, executions)| Seen { state, under_sc: false, executions });
    found.states.extend(more);
    found.racy = Some(counted.racy);
    found.graphs = counted.seen.graphs;
    if counted.seen.bounded && model.has_stale_reads() {
        found.unroll = Some(wanted.graphs.unroll);
    }
    found.limit = match (counted.spent, counted.seen.graphs >= wanted.graphs.graphs) {
        (Some(spent), _) => Some(spent.name()),
        (_, true) => Some("graphs"),
        _ => found.limit,
    };
}
