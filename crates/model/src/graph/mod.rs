//! Execution graphs, the declarative definitions, and everything that can be decided by brute force.
//!
//! This is the judge of the rest of the tool. It shares no code with the packed monitors: it keeps
//! whole execution graphs, computes every relation from its definition, and enumerates. It is slow,
//! plain and (one hopes) obviously right.
//!
//! * [`relation`], [`event`], [`axioms`]: graphs and what RC20 and SC allow.
//! * [`run`]: how a program generates graphs.
//! * [`judge`]: is a graph a certificate for what it is claimed to show?

pub mod axioms;
pub mod event;
pub mod judge;
#[cfg(test)]
mod litmus;
pub mod relation;
pub mod run;

pub use axioms::{Axiom, Cycle, EdgeKind};
pub use event::{Event, EventId, ExecutionGraph, Label};
pub use judge::{Judgement, judge};
pub use relation::{EventSet, Relation};
pub use run::{Access, Execution, Next, Status, ThreadState};
