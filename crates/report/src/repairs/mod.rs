//! Reports on memory orders and fences: what each access needs ([`NeedsReport`]), which orders were changed
//! ([`ChangesReport`]), where fences were put ([`FencesReport`]), and why there is no repair ([`Failure`]).
//!
//! The crate `repair` finds all of it. Each report here is a [`Document`] for people and a JSON object for programs.

mod changes;
mod fences;
mod needs;
mod site;

pub use changes::ChangesReport;
pub use fences::FencesReport;
pub use needs::NeedsReport;

pub(crate) use site::correct;

use crate::document::{Block, Document};
use crate::escape::visible;
use crate::input_report::InputReport;
use check::fix::orders::{Found, NoAssignment};
use lang::Source;
use repair::{LeftAlone, NotReordered, Variant};
use serde_json::{Value, json};
use site::{finding, left_alone, left_objects, place, reason};

/// Why there is no repair, or no answer about orders.
pub struct Failure<'a> {
    /// The program.
    pub source: &'a Source,
    /// Why.
    pub why: &'a NotReordered,
    /// The accesses that cannot be changed.
    pub left: &'a [LeftAlone],
}

impl Failure<'_> {
    fn found(&self) -> Option<&Found> {
        match self.why {
            NotReordered::NoAssignment(
                NoAssignment::Incorrect(found) | NoAssignment::Hopeless(found),
            ) => Some(found),
            _ => None,
        }
    }

    /// For people.
    pub fn document(&self) -> Document<'static> {
        let mut document = Document::default();
        let name = visible(&self.source.name);
        let said = format!("error: {name}: {}", self.why);
        match self.found() {
            None => document.line(said),
            Some(found) => {
                let finding = finding(self.source, found);
                document.line(said + ":");
                document.line(format!("  {}, {}", finding.message, place(&finding)));
            }
        }
        match self.why {
            NotReordered::NoAssignment(NoAssignment::Incorrect(found)) => {
                let model = found.model.name();
                document.line(format!(
                    "Try `fencepost fix --model {model} {name}`, or `fencepost check {name}` for the whole story."
                ));
            }
            // Something else than the program may be why nothing helps.
            NotReordered::NoAssignment(NoAssignment::Hopeless(_)) if !self.left.is_empty() => {
                document.line("What could not be changed:");
                left_alone(&mut document, self.source, self.left);
            }
            _ => {}
        }
        document
    }

    /// For programs.
    pub fn object(&self) -> Value {
        json!({
            "file": self.source.name, "error": self.why.to_string(),
            "because": self.found().map(|found| reason(self.source, found)),
            "left_alone": left_objects(self.source, self.left),
        })
    }
}

/// How a report ends: with the changed text, or with what is changed in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The changed text of each file.
    Texts,
    /// The changed lines of each file.
    Diff,
    /// Neither: the text was written to a file, or was not asked for.
    Nothing,
}

impl Ending {
    /// Adds a file to the end of a document.
    fn of(self, document: &mut Document<'_>, name: &str, before: &str, after: &str) {
        match self {
            Ending::Texts => {
                document.gap();
                document.push(Block::Verbatim(after.to_string()));
            }
            Ending::Diff => {
                let diff = similar::TextDiff::from_lines(before, after);
                let diff = diff.unified_diff().header(name, "fixed").to_string();
                document.push(Block::Verbatim(diff));
            }
            Ending::Nothing => {}
        }
    }
}

/// What a check says of a variant of the program, under this name.
fn page(variant: &Variant, name: String) -> InputReport {
    let Variant { source, question, answer } = variant;
    InputReport { file: name, ..InputReport::of(source, question, answer) }
}
