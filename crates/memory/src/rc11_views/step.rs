//! A step of the machine: its thread, the label that a history shows of it, and the error in it, if there is one.

use super::{Arrivals, State};
use crate::rc11_views::Label;
use ir::expr::Fault;
use ir::ids::{Loc, Pc, Tid, Value};
use smallvec::SmallVec;

/// Something that should not happen, at a step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finding {
    /// The access races with an earlier one.
    Race {
        /// Whose access.
        tid: Tid,
        /// Where.
        pc: Pc,
        /// What is accessed.
        loc: Loc,
    },
    /// The assertion fails.
    Assertion {
        /// Whose.
        tid: Tid,
        /// Where.
        pc: Pc,
    },
    /// More writes to a location pile up than can be told apart; the step is not taken.
    TooManyWrites {
        /// Whose.
        tid: Tid,
        /// Where.
        pc: Pc,
        /// To what.
        loc: Loc,
    },
    /// The thread takes more steps without accessing memory than anybody waits for.
    TooManySteps {
        /// Whose.
        tid: Tid,
        /// Where it was then.
        pc: Pc,
    },
    /// A run-time error.
    Fault {
        /// Whose.
        tid: Tid,
        /// Where.
        pc: Pc,
        /// What is wrong.
        fault: Fault,
    },
}

impl Finding {
    /// Is nothing wrong, but a limit was reached, so that it is not known how the run goes on?
    pub fn is_limit(&self) -> bool {
        matches!(self, Finding::TooManyWrites { .. } | Finding::TooManySteps { .. })
    }
}

/// Where a thread stored without waiting.
pub type Stores = SmallVec<[Pc; 2]>;
/// Where a thread read, what, and how many writes to the location came after the one it read.
pub type Reads = SmallVec<[(Pc, Value, u8); 2]>;

/// A step of the machine.
#[derive(Clone, Debug)]
pub struct Step {
    /// What a history shows of it, if anything.
    pub label: Option<Label>,
    /// Who did it, where; `None` if a marker propagated.
    pub at: Option<(Tid, Pc)>,
    /// The value read, if it is an access that reads.
    pub read: Option<Value>,
    /// How many writes to the location came after the one that an access read, or was placed behind.
    pub newer: u8,
    /// What the thread read right before, or the thread that a marker propagated to.
    pub reads: Reads,
    /// The markers that propagated right before, if they do so on demand.
    pub arrived: Arrivals,
    /// The stores that the thread went on to do at once; see [`Options::reduce`](super::Options::reduce).
    pub stores: Stores,
    /// What is wrong with it.
    pub finding: Option<Finding>,
    /// Where it leads.
    pub state: State,
}

/// What comes right before a step, as a part of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Prelude {
    pub(super) reads: Reads,
    pub(super) arrived: Arrivals,
}

impl Step {
    /// Does it read, or write behind, something else than the newest write to a location?
    pub fn is_stale(&self) -> bool {
        self.newer > 0 || self.reads.iter().any(|&(_, _, newer)| newer > 0)
    }

    /// A step of nobody that nothing shows, after these.
    pub(super) fn new(state: State, prelude: &Prelude) -> Self {
        let Prelude { reads, arrived } = prelude.clone();
        let stores = Stores::new();
        Step {
            label: None,
            at: None,
            read: None,
            newer: 0,
            reads,
            arrived,
            stores,
            finding: None,
            state,
        }
    }
}
