//! Real code in the exact checker: runs one thread of an LLVM module at a time and discovers what all threads can do.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

mod access;
mod action;
mod atomic;
mod automaton;
mod code;
mod discover;
mod eval;
mod execute;
mod future;
mod library;
mod local;
mod lower;
mod machine;
mod names;
mod private;
mod shared;
mod space;
mod value;

pub use action::{Failure, FailureKind};
pub use discover::{Entry, Undiscovered};
pub use lower::Lowered;
pub use machine::Stub;

use llvm::Module;
use search::{Limits, Progress};
use std::sync::Arc;

/// What it took to discover a program.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Interleavings' states of the last round.
    pub progress: Progress,
    /// Local states of all threads.
    pub nodes: usize,
}

/// Discovers all that the threads of a module can do, as a program that every analysis understands.
///
/// # Errors
///
/// What has no meaning here, with its place, or the limit that was reached.
pub fn program(
    module: Arc<Module>,
    entry: &Entry,
    limits: Limits,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Result<(Lowered, Effort), Undiscovered> {
    let (mut world, progress) = discover::discover(module, entry, limits, observe)?;
    let nodes = world.automata.len();
    Ok((lower::lower(&mut world)?, Effort { progress, nodes }))
}
