//! Real code in the exact checker: discover, intern, lower.
//!
//! Robustness is decided on states that interleavings reach (Theorem 4.6 of the RC20 paper), so nothing has to be known
//! of a program before it runs: no inlining, no analysis of pointers, no bound on loops. A machine executes one
//! thread of an LLVM module at a time, exactly, up to the next action that other threads can notice. The thread's state
//! there is interned: it is a node of the thread's automaton, and what the action gives selects the next node. All
//! interleavings are explored until the automata are known, and these become a program that every analysis understands.
//!
//! | module | |
//! |---|---|
//! | `value`, `vector`, `space`, `private` | numbers, objects with addresses, memory that one thread touches |
//! | `code`, `local` | what is known of a function; the state of a thread |
//! | `team`, `machine`, `eval`, `execute`, `access`, `atomic`, `library` | how a thread runs |
//! | `action`, `queue`, `shared`, `life`, `block` | what others can notice, which memory that is, and whether it is still there |
//! | `entry`, `automaton`, `future`, `discover` | what to run, and exploring its interleavings |
//! | `fold`, `lower`, `names` | from automata to a program, in the user's words |

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

mod access;
mod action;
mod atomic;
mod automaton;
mod block;
mod code;
mod discover;
mod disguise;
mod entry;
mod eval;
mod execute;
mod fold;
mod future;
mod library;
mod life;
mod local;
mod lower;
mod machine;
mod names;
mod private;
mod queue;
mod shared;
mod space;
mod team;
mod value;
mod vector;

pub use discover::Undiscovered;
pub use entry::Entry;

/// How notes end that say why a thread that waits for ever would not be found: it is read as one that may go on at any
/// time.
pub const WAITING_UNNOTICED: &str = "so waiting for ever is not noticed";

pub use lower::Lowered;
pub use machine::Stub;

use llvm::Module;
use search::{Limits, Progress};
use std::sync::Arc;

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
) -> Result<Lowered, Undiscovered> {
    let mut world = discover::discover(module, entry, limits, observe)?;
    lower::lower(&mut world, limits, entry.every_state)
}
