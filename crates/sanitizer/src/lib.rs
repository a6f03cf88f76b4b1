//! The sanitizer's driver: builds a program with the runtime, runs it, and reads what the runtime found.
//!
//! * `unpack`: copies the runtime from inside this program to a place where linkers find it. The build
//!   script makes the runtime out of the crate `fencepost-rt`.
//! * [`compiler`]: `fencepost cc`, `c++`, `rustc`, `cargo`; `rust_std`: what the latter two link.
//! * `raw`, `symbols`, `access`, `finding`, `text`: read what the runtime wrote, give names to addresses, and put it in words;
//!   `collection`: keeps each finding once.
//! * [`launch`]: `fencepost run`; `signals`: what it passes on; [`replay`]: `fencepost replay`;
//!   `transactions`, [`atomicity`]: a recording for `fencepost serial`; `data_names`: its variables.
//!
//! Findings are printed as they are found. What comes back is a [`Series`]: all findings, for reports,
//! and the exit code.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod access;
pub mod atomicity;
pub mod collection;
pub mod compiler;
mod data_names;
pub mod filter;
pub mod finding;
pub mod launch;
pub mod raw;
pub mod replay;
mod rust_std;
mod signals;
pub mod symbols;
pub mod text;
pub mod transactions;
mod unpack;

use collection::Collection;
use filter::Only;
use report::InputReport;
use report::document::Document;
use report::text::{Look, render};
use std::io::Write;
use std::path::PathBuf;

/// Exit code of a run with findings.
pub const FOUND: u8 = 66;

/// Exit code of a run without findings that had to give something up.
pub const UNDECIDED: u8 = 3;

/// Which findings to print, and how.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Print a JSON object per finding?
    pub json: bool,
    /// Print only how many findings there are?
    pub quiet: bool,
    /// Findings not to report.
    pub suppressions: Option<PathBuf>,
    /// Report only findings whose ids are not in this file.
    pub baseline: Option<PathBuf>,
    /// Write the ids of all findings to this file.
    pub write_baseline: Option<PathBuf>,
    /// Name the suppressions that no finding needed?
    pub show_unused: bool,
    /// Report stale reads inside the standard library, too?
    pub show_std: bool,
    /// Report only these.
    pub only: Option<Only>,
}

/// What came of running a program or replaying a recording.
pub struct Series {
    /// The program or recording.
    pub subject: PathBuf,
    /// The findings.
    pub collection: Collection,
    /// The exit code.
    pub code: u8,
    /// Whether a signal asked for an end.
    pub interrupted: bool,
}

impl Series {
    /// A report for each source file with findings.
    pub fn reports(&self) -> Vec<InputReport> {
        self.collection.reports(&self.subject)
    }
}

/// A document as the program's terminal or log gets it: plain, since the program itself prints there, too.
fn plain_text(document: &Document<'_>) -> String {
    render(document, &Look::PLAIN)
}

/// Writes a line to standard error. If standard error is closed, there is nobody to tell.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
