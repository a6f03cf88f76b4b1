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
//! * [`history`]: the last writes to a location, which stand in for the paper's value clocks.
//! * [`shadow`]: who accessed a few bytes of plain memory last.
//! * [`analysis`]: all of it put together: accesses in, findings out.
//! * [`trace`]: the same accesses as bytes, to be analysed later.
//!
//! Nothing here knows of addresses, operating system threads or files.

pub mod analysis;
pub mod history;
pub mod knowledge;
pub mod order;
pub mod shadow;
pub mod trace;
pub mod vector;

pub use analysis::{Analysis, Loc, Object, Site, Stale, Tid};
pub use order::Order;
