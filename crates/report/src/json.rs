//! Findings for programs: one JSON object per line.
//!
//! Every object has the same fields, whether it answers a question or says why there is no answer:
//!
//! | field | |
//! |---|---|
//! | `file`, `model` | what was checked against what |
//! | `property` | what was asked; null in objects about the file as a whole |
//! | `verdict` | `holds`, `violated`, `undecided` or, if the file cannot be checked, `error` |
//! | `states`, `transitions`, `seconds`, `peak_bytes` | what checking the file cost |
//! | `witness` | the [`Finding`], if there is one |
//! | `error` | why there is no answer, with the place |
//!
//! A property for which all findings were asked gets an object for each.

use crate::answer::FileReport;
use crate::finding::Finding;
use check::{Cost, Model};
use lang::Diagnostic;
use serde::Serialize;

/// One line of JSON output.
#[derive(Clone, Debug, Serialize)]
pub struct Line<'a> {
    /// The file.
    pub file: &'a str,
    /// The model.
    pub model: &'a str,
    /// What was asked.
    pub property: Option<&'a str>,
    /// The answer.
    pub verdict: &'a str,
    /// Distinct states explored.
    pub states: u64,
    /// Transitions explored.
    pub transitions: u64,
    /// Time taken.
    pub seconds: f64,
    /// Memory taken.
    pub peak_bytes: u64,
    /// What is wrong.
    pub witness: Option<&'a Finding>,
    /// Why there is no answer.
    pub error: Option<String>,
}

impl<'a> Line<'a> {
    fn new(file: &'a str, model: Model, cost: &Cost) -> Self {
        Line {
            file,
            model: model.name(),
            property: None,
            verdict: "error",
            states: cost.states,
            transitions: cost.transitions,
            seconds: cost.elapsed.as_secs_f64(),
            peak_bytes: cost.peak_bytes,
            witness: None,
            error: None,
        }
    }
}

/// The lines for a file that was checked.
pub fn lines(report: &FileReport) -> Vec<Line<'_>> {
    let blank = || Line::new(&report.file, report.model, &report.cost);
    let mut lines = Vec::new();
    for fault in &report.faults {
        let place = &fault.place;
        let error = format!("{}:{}:{}: {}", report.file, place.line, place.column, fault.message);
        lines.push(Line { witness: Some(fault), error: Some(error), ..blank() });
    }
    for answer in &report.answers {
        let line = |witness| Line {
            property: Some(answer.property.name()),
            verdict: answer.ruling.name(),
            witness,
            error: answer.why.clone(),
            ..blank()
        };
        if answer.findings.is_empty() {
            lines.push(line(None));
        }
        lines.extend(answer.findings.iter().map(|finding| line(Some(finding))));
    }
    lines
}

/// The line for a file that could not be checked because of `why`; `text` is the file's text.
pub fn error<'a>(file: &'a str, text: &str, model: Model, why: &[Diagnostic]) -> Line<'a> {
    let message = match why {
        [] => format!("{file}: cannot be checked"),
        [first] => located(file, text, first),
        [first, more @ ..] => format!("{} (and {} more)", located(file, text, first), more.len()),
    };
    Line { error: Some(message), ..Line::new(file, model, &Cost::default()) }
}

/// `file:line:column: message`
fn located(file: &str, text: &str, diagnostic: &Diagnostic) -> String {
    let Some(before) = diagnostic.span().and_then(|span| text.get(..span.start)) else {
        return format!("{file}: {}", diagnostic.message);
    };
    let line = 1 + before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = 1 + before[start..].chars().count();
    format!("{file}:{line}:{column}: {}", diagnostic.message)
}
