//! Where executions end: final states, and which of them SC forbids.
//!
//! A graph is *final* if every thread is done, stuck for good, or blocked: at a `wait` or `BCAS` that
//! the last write (in modification order) to its location does not let pass. The declarative model
//! might let such a thread read an older write, but no fair memory hides the last write for ever, so
//! being blocked is an outcome too. For SC-consistent graphs this is exactly the operational notion:
//! every interleaving that explains the graph ends with the last writes in memory.

use super::axioms::is_sc_consistent;
use super::enumerate::{Limits, enumerate};
use super::run::{Execution, Next, Status};
use crate::{Loc, Pc, Program, Value};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Where a thread is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ThreadEnd {
    /// Its program counter.
    pub pc: Pc,
    /// Its registers.
    pub registers: Vec<Value>,
    /// Is it done, or why does it not go on?
    pub status: Status,
}

/// What is left when an execution stops.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FinalState {
    /// The threads.
    pub threads: Vec<ThreadEnd>,
    /// The value of the last write to every location.
    pub memory: Vec<Value>,
}

impl FinalState {
    /// The state an execution is in.
    pub fn of(execution: &Execution, program: &Program) -> Self {
        let blocked = |tid| match execution.next(program, tid) {
            Next::Access(access) => {
                access.label(execution.graph.latest_value(access.loc)).is_none()
            }
            _ => false,
        };
        let end = |tid: crate::Tid| {
            let thread = &execution.threads[tid.index()];
            ThreadEnd {
                pc: thread.pc,
                registers: thread.registers.clone(),
                status: if blocked(tid) { Status::Blocked } else { thread.status },
            }
        };
        FinalState {
            threads: program.tids().map(end).collect(),
            memory: (0..program.locations.len())
                .map(|loc| execution.graph.latest_value(Loc::from(loc)))
                .collect(),
        }
    }

    /// Is it final: does no thread go on?
    pub fn is_final(&self) -> bool {
        !self.threads.iter().any(|t| matches!(t.status, Status::Running | Status::Cut))
    }

    /// Did an assertion fail?
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(|thread| thread.status == Status::Failed)
    }

    /// A total order for lists of states: by registers, then memory, then where threads are.
    fn sort_key(&self) -> (Vec<&[Value]>, &[Value], Vec<Pc>) {
        (
            self.threads.iter().map(|thread| thread.registers.as_slice()).collect(),
            &self.memory,
            self.threads.iter().map(|thread| thread.pc).collect(),
        )
    }
}

/// A final state that RC20 allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The state.
    pub state: FinalState,
    /// Does SC allow it too?
    pub under_sc: bool,
}

/// All final states of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcomes {
    /// The states, without repetition, ordered by registers and memory.
    pub outcomes: Vec<Outcome>,
    /// Did a limit cut something off?
    pub bounded: bool,
}

/// The final states of the program under RC20, and which of them SC allows. For RA, pass
/// [`Program::release_acquire`].
pub fn outcomes(program: &Program, limits: &Limits) -> Outcomes {
    let mut found: HashMap<FinalState, bool> = HashMap::new();
    let enumeration = enumerate(program, limits, &mut |graph, state| {
        if state.is_final() {
            let under_sc = is_sc_consistent(graph);
            match found.get_mut(state) {
                Some(known) => *known |= under_sc,
                None => {
                    found.insert(state.clone(), under_sc);
                }
            }
        }
        ControlFlow::Continue(())
    });
    let mut outcomes: Vec<Outcome> =
        found.into_iter().map(|(state, under_sc)| Outcome { state, under_sc }).collect();
    outcomes.sort_by(|a, b| a.state.sort_key().cmp(&b.state.sort_key()));
    Outcomes { outcomes, bounded: enumeration.bounded }
}
