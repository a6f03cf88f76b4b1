//! One finding, many faces.
//!
//! An analysis answers in terms of threads, program counters and events; a user wants to read about
//! source lines. [`FileReport`] is that answer in the user's terms: a verdict per property and, where
//! one is violated, a [`Finding`] with the run that leads there and the execution that proves it. It
//! is plain data. What shows it are its faces: [`text`] for terminals and [`json`] for programs.
//!
//! ```
//! let source = lang::parse("sb.fp", "global x, y;
//!     thread left  { local r; x.store(1); r = y.load(); }
//!     thread right { local r; y.store(1); r = x.load(); }").unwrap();
//! let settings = check::Settings::default();
//! let outcome = check::check(&source.program, &settings, &|_, _| {});
//! let report = report::FileReport::new(&source, &settings, &outcome);
//! assert_eq!(report.answers[0].ruling.name(), "violated");
//! assert_eq!(report.answers[0].findings[0].code, "FP0001");
//! ```

pub mod advice;
pub mod answer;
pub mod codes;
mod coverage;
pub mod escape;
pub mod explain;
pub mod finding;
pub mod html;
pub mod input_report;
pub mod json;
pub mod junit;
pub mod observed;
pub mod outcomes;
pub mod picture;
pub mod place;
pub mod proof;
pub mod recording;
pub mod refinement;
pub mod run;
pub mod sarif;
pub mod seq_cst;
pub mod serializability;
pub mod store_atomic;
pub mod text;
pub mod timeline;
pub mod unsupported;

pub use answer::{Answer, FileReport, Ruling, internal};
pub use finding::{Finding, Kind};
pub use input_report::{InputReport, Unchecked};
pub use outcomes::OutcomeTable;
pub use place::Place;
pub use proof::Proof;
pub use run::Step;
pub use unsupported::{By, unsupported};
