//! Can methods return?
//!
//! Refinement is partial correctness: it is about the histories that a library has, so a method that never
//! returns keeps to every specification. This module checks what is missing.
//!
//! **Definition.** A call is *stuck for good*, in a state of a program, if its thread is inside the method and in no
//! continuation, whatever threads and memory do, the call returns. A library is *total* with respect to its specification if
//! after every history after which a call can be stuck for good in the library, that call can be stuck
//! for good in the specification.
//!
//! So a call that waits for a lock which nobody gives back is no fault of the library if it waits in the
//! specification too, and every library is total with respect to itself. `while (1) skip;`, `assume(0);`, a lock that its
//! holder takes again, a value that is waited for and has been overwritten are found, where the specification returns.
//!
//! **Fairness.** None is assumed, and none is needed: only possibility is asked for. A method that could return in every
//! state, but need not under some scheduler (a livelock, starvation), is not found.
//!
//! How it is done: all states of the library are explored, with every step ([`Manner::EveryStep`]): the reductions
//! for histories leave out steps after which a thread can do less, and those are the ones in question. For the same reason a
//! choice is a step of its own, on both sides: whoever has chosen to wait for what never comes is stuck, though
//! before that it could have chosen otherwise ([`ir::one_of`] says which choices are not made before what they lead to). Backwards from
//! returns, the states are found from which each thread's call can return. If all calls can, that is the
//! answer. Otherwise the same is done for the specification, and stuck calls are made visible: in a state in which a call
//! is stuck, a label says so. Then the question is one of [inclusion](search::inclusion) in which only these labels
//! bind: after every history that both have, the specification must be able to show the label if the library
//! does. Early propagation is allowed where the refinement relied on it.

use super::histories::{Histories, Manner};
use super::{Event, GoOn, Question, Side, Statistics, Why};
use ir::Tid;
use memory::rc11_views::{Status, System};
use search::Numbered;
use search::explicit::{Cut, Graph};
use search::inclusion::{Automaton, Outcome, SILENT, StateSink, StepSink, Symbol, compare};
use std::convert::Infallible;
use std::sync::Arc;

/// A call that is stuck for good after a history after which the specification's never is.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Whose call it is.
    pub tid: Tid,
    /// Where the thread is.
    pub pc: ir::Pc,
    /// Can it still do something?
    pub status: Status,
    /// How it got there.
    pub run: Vec<Event>,
}

/// A program's states, and the threads whose calls are stuck for good, as bits.
struct Explored {
    states: Numbered,
    /// In each state, whose calls are stuck for good.
    stuck: Vec<u32>,
    /// In each state, whose calls can become stuck.
    can_be_stuck: Vec<u32>,
}

/// A call that is stuck for good after a history after which the specification's never is, if there is one.
/// `literal` says whether the library refines the specification to the letter.
pub(super) fn stuck(
    first: &System,
    second: &System,
    question: &Question,
    literal: bool,
    go_on: GoOn<'_>,
) -> Result<Option<Stuck>, Why> {
    let alphabet = Arc::default();
    let library =
        Histories::new(first, &question.scope, Manner::EveryStep { early: false }, &alphabet);
    let library = library.ok_or(Why::TooLarge(Side::First))?;
    let explored = Explored::new(&library, Side::First, 0, go_on)?;
    if explored.can_be_stuck[0] == 0 {
        return Ok(None);
    }
    let manner = Manner::EveryStep { early: !literal };
    let specification = Histories::new(second, &question.scope, manner, &alphabet);
    let specification = specification.ok_or(Why::TooLarge(Side::Second))?;
    let excuses = Explored::new(&specification, Side::Second, explored.memory(), go_on)?;
    let own = explored.memory() + excuses.memory();
    let shows = Showing { program: &library, explored: &explored, side: Side::First };
    let excused = Showing { program: &specification, explored: &excuses, side: Side::Second };
    let (outcome, _) = compare(&shows, &excused, question.jobs, &mut |so_far| {
        go_on(&Statistics { bytes: so_far.bytes + own, ..*so_far })
    });
    match outcome {
        Outcome::Included => Ok(None),
        Outcome::Stopped => Err(Why::Stopped),
        Outcome::Bad { bad, .. }
        | Outcome::ImplementationLimited(bad)
        | Outcome::SpecificationLimited(bad) => match bad {},
        Outcome::Differs { mut run, .. } => Ok(run.steps.pop().and_then(|(word, state)| {
            let tid = stuck_thread(word[0])?;
            let local = &library.machine.unpack(&state).locals[tid.index()];
            let (pc, status) = (local.pc, local.status);
            Some(Stuck { tid, pc, status, run: library.explain(&run, None) })
        })),
    }
}

impl Explored {
    /// Explores a program, beside something else that takes `other` bytes.
    fn new(program: &Histories, side: Side, other: u64, go_on: GoOn<'_>) -> Result<Self, Why> {
        let mut returns: Vec<u32> = Vec::new();
        let graph = Graph::explore(
            program,
            |from, word| {
                returns.resize(returns.len().max(from as usize + 1), 0);
                returns[from as usize] |= program.returning(word);
            },
            |implementation, bytes| {
                let bytes = other + bytes + 8 * implementation;
                go_on(&Statistics { implementation, bytes, ..Statistics::default() })
            },
        );
        let graph = graph.map_err(|cut| match cut {
            Cut::Limited(finding) => Why::NotCovered(side, finding),
            Cut::Stopped => Why::Stopped,
        })?;
        let mut can_return = returns;
        can_return.resize(graph.states.len(), 0);
        graph.spread_back(&mut can_return);
        let inside = |id: usize| program.inside(graph.states.get(id as u32));
        let stuck: Vec<u32> =
            can_return.iter().enumerate().map(|(id, can)| inside(id) & !can).collect();
        let mut can_be_stuck = stuck.clone();
        graph.spread_back(&mut can_be_stuck);
        Ok(Explored { states: graph.states, stuck, can_be_stuck })
    }

    fn memory(&self) -> u64 {
        self.states.bytes() + 8 * self.stuck.len() as u64
    }
}

/// The label that says that a thread's call is stuck. Histories show far fewer labels than there are numbers.
fn stuck_label(tid: Tid) -> Symbol {
    Symbol::MAX - tid.0
}

/// The thread whose call a label says is stuck.
fn stuck_thread(symbol: Symbol) -> Option<Tid> {
    let tid = Symbol::MAX - symbol;
    (tid < u32::BITS).then_some(Tid(tid))
}

/// A program that shows which calls are stuck for good.
struct Showing<'a> {
    program: &'a Histories,
    explored: &'a Explored,
    side: Side,
}

impl Showing<'_> {
    /// What is known of a state; `None` if the exploration did not meet it.
    fn bits(&self, of: &[u32], state: &[u8]) -> Option<u32> {
        self.explored.states.find(state).map(|id| of[id as usize])
    }
}

impl Automaton for Showing<'_> {
    type Bad = Infallible;

    const ALL_BIND: bool = false;

    /// Where the specification cannot follow a history, the library refines it up to more than this.
    fn binds(&self, symbol: Symbol) -> bool {
        stuck_thread(symbol).is_some()
    }

    fn initial(&self, sink: StateSink<Infallible>) {
        self.program.initial(&mut |state, _| sink(state, None));
    }

    fn steps(&self, state: &[u8], sink: StepSink<Infallible>) {
        let stuck = self.bits(&self.explored.stuck, state).unwrap_or(0);
        for tid in (0..u32::BITS).filter(|tid| stuck >> tid & 1 == 1).map(Tid) {
            sink([stuck_label(tid), SILENT], state, None);
        }
        self.program.steps(state, &mut |word, next, _| {
            // Of the library, only what leads to stuck calls is looked at.
            let leads = || self.bits(&self.explored.can_be_stuck, next) != Some(0);
            if self.side == Side::Second || leads() {
                sink(word, next, None);
            }
        });
    }

    fn silent(&self, state: &[u8], sink: StateSink<Infallible>) {
        self.program.silent(state, &mut |state, _| sink(state, None));
    }

    fn follow(&self, state: &[u8], symbol: Symbol, sink: StateSink<Infallible>) {
        match stuck_thread(symbol) {
            None => self.program.follow(state, symbol, &mut |state, _| sink(state, None)),
            Some(tid) => {
                let stuck = self.bits(&self.explored.stuck, state);
                if stuck.is_some_and(|stuck| stuck >> tid.0 & 1 == 1) {
                    sink(state, None);
                }
            }
        }
    }
}
