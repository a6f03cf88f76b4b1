//! Answers in the user's terms, and all forms in which they are shown.
//!
//! An analysis answers in terms of threads, program counters and events; a user wants to read about
//! source lines. [`InputReport`] is that answer in the user's terms: a verdict per property and, where
//! one is violated, a [`Finding`] with the run that leads there and the execution that proves it. It
//! is plain data. Five modules show it: [`text`] for terminals, [`json`] for programs, [`html`]
//! for browsers, [`sarif`] and [`junit`] for editors and servers. Every text is a [`document`] first.
//!
//! ```
//! let source = lang::parse("sb.fp", "global x, y;
//!     thread left  { local r; x.store(1); r = y.load(); }
//!     thread right { local r; y.store(1); r = x.load(); }").unwrap();
//! let question = check::Question::default();
//! let answer = check::check(&source.program, &question, &|_, _| {}).unwrap();
//! let report = fencepost_report::InputReport::of(&source, &question, &answer);
//! assert_eq!(report.replies[0].ruling.name(), "violated");
//! assert_eq!(report.replies[0].findings[0].code, "FP0001");
//! ```

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod advice;
pub mod codes;
mod computation;
mod coverage;
pub mod document;
pub mod escape;
pub mod explain;
pub mod finding;
pub mod html;
mod identity;
pub mod input_report;
pub mod json;
pub mod junit;
pub mod litmus;
pub mod observed;
pub mod outcomes;
pub mod picture;
pub mod place;
pub mod proof;
pub mod recording;
pub mod refinement;
pub mod refusal;
pub mod repairs;
pub mod ruling;
pub mod run;
pub mod sarif;
pub mod serializability;
pub mod shown;
pub mod text;
pub mod timeline;

pub use finding::{Finding, Kind};
pub use input_report::{InputReport, Standing, Unchecked};
pub use outcomes::OutcomeTable;
pub use place::Place;
pub use proof::Proof;
pub use refusal::{By, refused_at, unsupported};
pub use ruling::{Ruling, internal};
pub use run::Step;
