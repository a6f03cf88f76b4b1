//! The sanitizer runtime: what a program built by `fencepost cc` is linked with.
//!
//! Compilers know how to instrument every memory access for ThreadSanitizer. A program is compiled
//! with `-fsanitize=thread` and linked with this library *instead of* ThreadSanitizer's own: the same
//! entry points, another analysis. Every atomic access is performed under the lock of its location, so that the
//! run is sequentially consistent and the order of accesses is known, and moves clocks of [`clocks`]. Plain
//! accesses are checked against shadow memory without a lock.
//!
//! * [`memory`]: where the shadow of an address is.
//! * [`modules`]: which parts of the process are instrumented.
//! * [`thread`]: what the runtime knows of each thread, and call stacks.
//! * [`plain`], [`atomic`]: the accesses; [`quick`]: those that nothing can be wrong with; [`private`]: those to a thread's
//!   own stack; [`word`]: what they do to memory.
//! * [`locked_location`]: atomic locations and their locks; [`registry`]: what else is shared.
//! * [`assembly`]: fences that no compiler knows of.
//! * [`stale`]: what becomes of stale values; [`spin`]: would a loop have gone round with the stale value?
//! * [`objects`]: mutexes and their like; [`sync`], [`heap`]: what the program asks of the C library that orders threads or frees memory.
//! * [`pools`]: small blocks for the runtime itself.
//! * [`channels`]: pipes, sockets and their like.
//! * [`openmp`]: teams of threads.
//! * [`guards`]: static variables of functions in C++.
//! * [`rust_std`]: what Rust's standard library does out of sight.
//! * [`system`]: system calls that nobody intercepts.
//! * [`schedule`]: which thread goes on, when the user wants a say.
//! * [`findings`]: what is told, once, and to whom; [`printer`]: while the program runs; [`options`]: how.
//! * `entry`: the symbols themselves.
//!
//! The runtime allocates through `__libc_malloc`, never calls what it intercepts, and marks a thread
//! that is inside it as *busy*: what a signal handler does meanwhile is done, but not analysed.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
// Addresses come from the program, which is about to access them itself.
#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]

pub mod assembly;
pub mod atomic;
pub mod channels;
#[cfg(feature = "export")]
mod entry;
pub mod findings;
pub mod guards;
pub mod heap;
pub mod locked_location;
pub mod memory;
pub mod modules;
pub mod objects;
pub mod openmp;
pub mod options;
pub mod plain;
pub mod pools;
pub mod printer;
pub mod private;
pub mod quick;
pub mod registry;
pub mod rust_std;
pub mod schedule;
pub mod spin;
pub mod stale;
pub mod sync;
pub mod system;
pub mod thread;
pub mod word;

/// What the entry point at this address does, as far as loops are concerned.
#[cfg(feature = "export")]
use entry::entry_at;

/// What the entry point at this address does: without entry points, there is none.
#[cfg(not(feature = "export"))]
fn entry_at(_: u64) -> Option<spin::Entry> {
    None
}
