//! Programs, how their threads step, and the memories they run on.
//!
//! A program is a labelled transition system: what each thread wants to do next ([`thread`]). A
//! memory is another: what it lets a thread do and what it remembers ([`memory`]). Analyses explore
//! their product. This crate knows nothing of source text, files or search strategies.

pub mod analysis;
pub mod bits;
pub mod canonical;
pub mod expr;
pub mod graph;
pub mod ids;
pub mod memory;
pub mod mode;
pub mod print;
pub mod program;
pub mod random;
pub mod thread;

pub use expr::{Domain, Edge, Expr, Fault, Notes};
pub use ids::{Loc, Origin, Pc, Reg, RegSet, Tid, Value};
pub use mode::{FenceMode, ReadMode, WriteMode};
pub use program::{Instr, Location, LocationKind, Mark, Place, Program, Step, Thread, Update};
