//! Clocks: what a run of a program under sequential consistency says about other runs.
//!
//! A program is robust if weak memory lets it do nothing that no interleaving explains. Margalit,
//! Kokologiannakis, Itzhaky and Lahav ("Dynamic Robustness Verification against Weak Memory", PLDI
//! 2025) decide this while the program runs. Every write to a location gets a number, and every
//! thread carries two *location clocks*: which write of each location it must have come after in any
//! interleaving, and which it knows of by happens-before. Where the second is behind the first, weak
//! memory could hand the thread an old value. Races on plain data are found with *vector clocks*, the
//! same way, exactly for fences.
//!
//! * [`knowledge`]: location clocks, as vector clocks over the threads' accesses.
//! * [`vector`]: vector clocks.
//! * [`hash`]: for tables of numbers.
//! * [`history`]: the last writes to a location, which stand in for the paper's value clocks.
//! * [`shadow`]: who accessed a few bytes of plain memory last.
//! * [`sets`]: what else a few bytes need, where several threads read.
//! * [`origin`]: and where that was.
//! * [`access`]: what accesses do, and what may be wrong with them.
//! * [`thread`], [`location`]: what each thread and each location knows.
//! * [`analysis`]: all of it put together: accesses in, findings out.
//! * [`trace`]: the same accesses as bytes; [`replay`]: their analysis later.
//!
//! Nothing here knows of addresses, operating system threads or files.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod access;
pub mod analysis;
pub mod hash;
pub mod history;
pub mod knowledge;
pub mod location;
pub mod order;
pub mod origin;
pub mod replay;
pub mod sets;
pub mod shadow;
pub mod thread;
pub mod trace;
pub mod vector;
mod visitors;

pub use analysis::Analysis;
pub use order::Order;

/// A thread, by number. Numbers of threads that ended are used again by threads that come after their end.
pub type Tid = u16;
/// An atomic location, by number, from 1 on.
pub type Loc = u32;
/// Something that synchronises without being an atomic location, by number: a mutex, say.
pub type Object = u32;
/// A place in the program; what it stands for is the caller's business.
pub type Site = u32;
