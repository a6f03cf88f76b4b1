//! Findings for programs: one JSON object per line.
//!
//! Every object has the same fields, whether it answers a question or says why there is no answer:
//!
//! | field | |
//! |---|---|
//! | `file`, `model` | what was checked against what |
//! | `property` | what was asked; null in objects about the file as a whole |
//! | `verdict` | `holds`, `violated`, `undecided` or, if the file cannot be checked, `error` |
//! | `required` | whether the exit code depends on it: with `--require safe`, robustness does not count |
//! | `weak` | if the answer comes from exploring the weak memory itself: `stale` is the bound on stale writes, null if it is exact |
//! | `states`, `transitions`, `seconds`, `peak_bytes` | what checking the file cost |
//! | `attacks`, `attacks_examined`, `method` | on machines with store buffers, what was looked for |
//! | `exists` | whether a final state that the file asks for exists: `yes`, `no` or `unknown`, and why |
//! | `unchecked` | what was not looked for, although the file could have it, and why |
//! | `witness` | the [`Finding`], if there is one |
//! | `id` | what a baseline or a suppression calls the finding |
//! | `known` | if the user knows the finding already: why it does not count |
//! | `warnings` | what may not be as meant: threads that can get stuck, values that wrapped around |
//! | `error` | why there is no answer, with the place |
//!
//! A property for which all findings were asked gets an object for each. The schema of an object is
//! `docs/finding.schema.json`.

use crate::finding::Finding;
use crate::input_report::{Attacks, InputReport, Notice, Reply, Unchecked, WeakAnswer};
use lang::Diagnostic;
use serde::Serialize;
use serde_json::{Value, json};

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
    /// Does the exit code depend on it?
    pub required: bool,
    /// How far the weak memory was explored, if that gave the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weak: Option<WeakAnswer>,
    /// Distinct states explored.
    pub states: u64,
    /// Transitions explored.
    pub transitions: u64,
    /// Time taken.
    pub seconds: f64,
    /// Memory taken.
    pub peak_bytes: u64,
    /// How attacks were looked for.
    #[serde(flatten)]
    pub attacks: Option<Attacks>,
    /// Does a final state exist that the file asks for?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<&'a str>,
    /// What was not looked for.
    pub unchecked: &'a [Unchecked],
    /// What is wrong.
    pub witness: Option<&'a Finding>,
    /// What baselines and suppressions call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why it does not count, if the user knows it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<&'a str>,
    /// What may not be as meant.
    pub warnings: Vec<Warning<'a>>,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// A warning.
#[derive(Clone, Debug, Serialize)]
pub struct Warning<'a> {
    /// What and where.
    #[serde(flatten)]
    pub notice: Notice,
    /// How a thread gets stuck, if that was asked for.
    pub witness: Option<&'a Finding>,
}

/// The lines for a sheet.
pub fn lines(sheet: &InputReport) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    if let [first, more @ ..] = &*sheet.errors {
        let mut error = sheet.located(&sheet.notice(first));
        if !more.is_empty() {
            error.push_str(&format!(" (and {} more)", more.len()));
        }
        lines.push(Line { error: Some(error), ..blank(sheet) });
    }
    let known_faults = sheet.known_faults.iter().map(|(fault, why)| (fault, Some(why.as_str())));
    for (fault, known) in sheet.faults.iter().map(|fault| (fault, None)).chain(known_faults) {
        let place = &fault.place;
        let file = place.file.as_ref().unwrap_or(&sheet.file);
        let error = format!("{file}:{}:{}: {}", place.line, place.column, fault.message);
        let id = Some(sheet.id(fault));
        lines.push(Line { witness: Some(fault), id, known, error: Some(error), ..blank(sheet) });
    }
    for reply in &sheet.replies {
        if reply.findings.is_empty() && reply.known.is_empty() {
            lines.push(answer(sheet, reply, None));
        }
        lines.extend(reply.findings.iter().map(|finding| answer(sheet, reply, Some(finding))));
        for (finding, why) in &reply.known {
            lines.push(Line { known: Some(why), ..answer(sheet, reply, Some(finding)) });
        }
    }
    lines
}

/// A line about the sheet as a whole, with nothing wrong yet.
fn blank(sheet: &InputReport) -> Line<'_> {
    Line {
        file: &sheet.file,
        model: sheet.model,
        property: None,
        verdict: "error",
        required: true,
        weak: None,
        states: sheet.cost.states,
        transitions: sheet.cost.transitions,
        seconds: sheet.cost.elapsed.as_secs_f64(),
        peak_bytes: sheet.cost.peak_bytes,
        attacks: sheet.attacks,
        exists: sheet.exists.as_deref(),
        unchecked: &sheet.unchecked,
        witness: None,
        id: None,
        known: None,
        warnings: warnings(sheet),
        error: None,
    }
}

/// The line for one answer and one finding that it rests on.
fn answer<'a>(sheet: &'a InputReport, reply: &'a Reply, witness: Option<&'a Finding>) -> Line<'a> {
    Line {
        property: Some(reply.property),
        verdict: reply.ruling.name(),
        required: reply.required,
        weak: reply.weak,
        witness,
        id: witness.map(|finding| sheet.id(finding)),
        error: reply.why.clone(),
        ..blank(sheet)
    }
}

fn warnings(sheet: &InputReport) -> Vec<Warning<'_>> {
    let own = sheet.warnings.len();
    let witness = |index: usize| {
        let told = sheet.extent == check::Extent::All;
        sheet.stuck.get(index.checked_sub(own)?).filter(|_| told)
    };
    let notices = sheet.notices().into_iter().enumerate();
    notices.map(|(index, notice)| Warning { notice, witness: witness(index) }).collect()
}

/// The object for a file that could not be looked at because of `why`; `text` is the file's text.
pub fn error(file: &str, text: &str, model: &'static str, why: &[Diagnostic]) -> Value {
    let sheet = InputReport::refused(file, text, model, why);
    lines(&sheet).first().map_or(Value::Null, |line| json!(line))
}
