//! Execution graphs, the declarative definitions, and everything that can be decided by brute force.
//!
//! This is the judge of the rest of the tool. It shares no code with the packed monitors: it keeps
//! whole execution graphs, computes every relation from its definition, and enumerates. It is slow
//! and plain, so that a reader can compare it with the definitions.
//!
//! * [`relation`], [`event`], [`axioms`]: graphs and what RC11, RC20 and SC allow.
//! * [`tso`]: what TSO allows.
//! * [`drc11`]: the same for RC11 with spaces and partial modes, for libraries.
//! * [`run`]: how a program generates graphs.
//! * [`enumerate`](mod@enumerate): all RC11-consistent graphs of a program without loops, or up to a bound.
//! * [`outcome`], [`verdict`]: final states and properties, by enumeration.
//! * [`waiting`](mod@waiting): which threads wait for ever, if all read the newest writes.
//! * [`monitor`]: the same properties decided on SC runs, as the paper does, but with whole graphs;
//!   [`split_non_atomics()`] is its program transformation for races.
//! * [`rerun`](mod@rerun): the same execution with other modes and fences.
//! * [`judge`](mod@judge): is a graph a certificate for what it is claimed to show?

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod axioms;
pub mod drc11;
pub mod enumerate;
pub mod event;
pub mod judge;
#[cfg(test)]
mod litmus;
pub mod monitor;
pub mod outcome;
mod psc;
pub mod relation;
pub mod rerun;
pub mod run;
pub mod split_non_atomics;
pub mod tso;
pub mod verdict;
pub mod waiting;

pub use axioms::{Axiom, Cycle, EdgeKind};
pub use enumerate::{Enumeration, Limits, enumerate, enumerate_consistent};
pub use event::{Event, EventId, ExecutionGraph, Label};
pub use judge::{Judgement, Unjudged, judge, judge_within};
pub use outcome::{FinalState, Outcome, Outcomes, outcomes};
pub use relation::{EventSet, Relation};
pub use rerun::rerun;
pub use run::{Access, Execution, Next, Status, ThreadState};
pub use split_non_atomics::split_non_atomics;
pub use verdict::{
    Answer, Verdict, is_observationally_robust, is_race_free, is_robust, is_robust_and_race_free,
    is_safe,
};
pub use waiting::{TooManyStates, waiting};
