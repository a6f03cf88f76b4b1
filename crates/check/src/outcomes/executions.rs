//! Final states with the number of executions that end in them, as herd counts.
//!
//! An execution is what reads read from and the order of writes to each location. Graphs have more in them:
//! the order of `seq_cst` fences, which is the modification order of a hidden location. Graphs that differ
//! in nothing else are one execution. Loops are unrolled up to a bound.

use crate::question::Model;
use budget::{Budget, Spent};
use graph::axioms::{is_consistent, is_sc_consistent, races};
use graph::tso::is_tso_consistent;
use graph::{ExecutionGraph, FinalState, Status, enumerate_consistent};
use ir::{FenceMode, Instr, Loc, Pc, Program, Tid};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How often a thread may come to one instruction, and how many graphs may be visited.
    pub graphs: graph::Limits,
    /// What may be used up.
    pub budget: Budget,
}

/// The executions of a program in which every thread comes to its end.
#[derive(Clone, Debug)]
pub struct Executions {
    /// How many end in each final state.
    pub ends: HashMap<FinalState, u64>,
    /// Has one of them a data race?
    pub racy: bool,
    /// What the enumeration saw.
    pub seen: graph::Enumeration,
    /// What was used up before its end, if something was.
    pub spent: Option<Spent>,
}

/// Counts the executions that `model` allows; `None` for machines whose executions have no axioms here.
pub fn executions(program: &Program, model: Model, bounds: &Bounds) -> Option<Executions> {
    // Where a model by axioms plugs in: what it allows, closed under prefixes.
    let consistent: &dyn Fn(&ExecutionGraph) -> bool = match model {
        Model::Rc11 | Model::Rc20 | Model::Ra => &is_consistent,
        Model::Sc => &is_sc_consistent,
        Model::Tso => &|graph| is_tso_consistent(program, graph),
        Model::Pso | Model::Pgas => return None,
    };
    let program = &*match model {
        Model::Tso => Cow::Owned(with_fences_as_updates(program)),
        model => model.reads(program),
    };
    let (mut ends, mut known) = (HashMap::new(), HashSet::new());
    let (mut racy, mut spent) = (false, None);
    let locations = program.locations.len();
    let seen = enumerate_consistent(program, &bounds.graphs, consistent, &mut |graph, state| {
        if state.threads.iter().all(|thread| thread.status == Status::Halted)
            && known.insert(Execution::of(graph, locations))
        {
            *ends.entry(state.clone()).or_insert(0) += 1;
            racy = racy || !races(graph).is_empty();
        }
        spent = bounds.budget.spent();
        if spent.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Some(Executions { ends, racy, seen, spent })
}

/// The program whose SC fences are updates of a hidden location, which is what `graph::tso` takes them for.
fn with_fences_as_updates(program: &Program) -> Program {
    let mut program = program.clone();
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        if let Instr::Fence(mode @ FenceMode::Sc) = &mut step.instr {
            *mode = FenceMode::ScUpd;
        }
    }
    program
}

/// An event's thread and number.
type Place = (Option<Tid>, usize);

/// What tells executions apart.
#[derive(PartialEq, Eq, Hash)]
struct Execution {
    /// For every thread, its accesses with what they read from.
    threads: Vec<Vec<(Option<Pc>, Option<Place>)>>,
    /// For every location, its writes in order.
    writes: Vec<Vec<Place>>,
}

impl Execution {
    fn of(graph: &ExecutionGraph, locations: usize) -> Self {
        let is_access = |loc: Option<Loc>| loc.is_some_and(|loc| loc.index() < locations);
        let threads = (0..graph.thread_count()).map(Tid::from).map(|tid| {
            let events = graph.thread_events(tid).iter().copied();
            events
                .filter(|&id| is_access(graph.event(id).label.loc()))
                .map(|id| {
                    let pc = graph.event(id).step.map(|(_, pc)| pc);
                    (pc, graph.source(id).map(|source| graph.place(source)))
                })
                .collect()
        });
        let order = |loc| graph.writes_to(Loc::from(loc)).iter().map(|&id| graph.place(id));
        Execution {
            threads: threads.collect(),
            writes: (0..locations).map(|loc| order(loc).collect()).collect(),
        }
    }
}
