//! Programs: the form that every front-end produces and every analysis consumes.
//!
//! A program is a labelled transition system: what each thread wants to do next ([`thread`]). A
//! memory is another, and analyses explore their product. This crate has the first half. It knows
//! nothing of memories, source text, files or searches.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod bits;
pub mod canonical;
pub mod condition;
pub mod expr;
pub mod ids;
pub mod mode;
pub mod one_of;
pub mod print;
pub mod program;
pub mod random;
pub mod run_local;
pub mod shadows;
pub mod thread;
pub mod update;
pub mod validate;

pub use condition::{Condition, Observed, Quantifier};
pub use expr::{Domain, Edge, Expr, Fault, Notes};
pub use ids::{Loc, Origin, Pc, Reg, RegSet, Space, Tid, Value};
pub use mode::{FenceMode, ReadMode, WriteMode};
pub use one_of::OneOf;
pub use program::{Instr, Location, LocationKind, Mark, Place, Program, Step, Thread};
pub use update::{Change, Update, UpdateOp};
pub use validate::Invalid;
