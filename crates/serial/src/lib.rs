//! Was this run atomic?
//!
//! A program marks blocks that should look atomic, and a run of it is recorded: reads, writes, fences,
//! and perhaps when the buffered writes reached memory. This crate says whether the run is
//! *TSO-serializable*, *SC-serializable* and *SC-equivalent* (robust), after *On Atomicity in Presence
//! of Non-atomic Writes* (Enea and Farzan, TACAS 2016), and if not, shows a shortest cycle in the
//! user's own transactions and lines.
//!
//! * [`event`]: what a recording is made of; [`mod@read`] and [`mod@write`]: its text format.
//! * [`execution`]: the streaming monitors of executions, on top of [`graph`].
//! * [`trace`]: the monitor of traces, which do not show when writes commit.
//! * [`judge`]: reads a recording, picks the monitor and says why; [`report`]: how it is told.
//! * [`witness`]: the cycle that shows a violation.
//! * [`machine`]: is what an execution shows possible?
//! * [`history`]: what databases and transactional memories promise: isolation levels, anomalies by name,
//!   and the histories that Jepsen writes.
//! * [`random`]: valid recordings to try all this on.
//!
//! ```
//! use fencepost_serial::judge::{Reading, judge};
//!
//! let lost_update = "\
//! T1 begin
//! T1 rd counter
//! T2 wr counter
//! T2 commit counter
//! T1 wr counter
//! T1 commit counter
//! T1 end
//! ";
//! let report = judge(lost_update.as_bytes(), Reading::Auto)?;
//! assert!(!report.serializable());
//! println!("{}", fencepost_serial::report::text(&report));
//! # Ok::<(), fencepost_serial::read::BadInput>(())
//! ```

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod event;
pub mod execution;
pub mod graph;
mod hash;
pub mod history;
pub mod judge;
pub mod machine;
pub mod random;
pub mod read;
pub mod report;
pub mod trace;
pub mod witness;
pub mod write;
