//! What is known of one input, whatever analysis looked at it.
//!
//! A check against RC20, a search for attacks on a machine with store buffers and a judgement of a
//! recording have little in common, but their answers do: an input, questions, an answer to each, and
//! findings. [`InputReport`] is that. Every face but the terminal's is drawn from sheets alone.

use crate::answer::{FileReport, Ruling};
use crate::finding::Finding;
use check::{Cost, Extent};
use lang::{Diagnostic, Severity, Source};
use serde::Serialize;
use std::sync::Arc;

/// What is known of one input.
#[derive(Clone, Debug)]
pub struct InputReport {
    /// What messages call the input.
    pub file: String,
    /// Its text, as far as there is any.
    pub text: Arc<str>,
    /// If it was read from several files: which lines are from which, in their order.
    pub parts: Vec<Part>,
    /// The memory model.
    pub model: &'static str,
    /// The answers, in the order in which they are shown.
    pub replies: Vec<Reply>,
    /// Run-time errors of the program.
    pub faults: Vec<Finding>,
    /// Where threads can get stuck.
    pub stuck: Vec<Finding>,
    /// What may not be as meant.
    pub warnings: Vec<Notice>,
    /// Why the input could not be looked at.
    pub errors: Vec<Notice>,
    /// What it cost.
    pub cost: Cost,
    /// What was not looked for, although the input could have it.
    pub unchecked: Vec<Unchecked>,
    /// How attacks were looked for, if they were.
    pub attacks: Option<Attacks>,
    /// Is the run to a stuck thread part of what was asked?
    pub extent: Extent,
    /// What an answer covers and leaves open, where that is worth a sentence.
    pub scope: Option<String>,
}

/// Lines of a text that is made of several files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The file's name.
    pub file: String,
    /// The first of its lines in the whole text, counted from 1.
    pub first: usize,
    /// Is there such a file? A client that a policy stands for is in none.
    pub written: bool,
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What was asked.
    pub property: &'static str,
    /// The answer.
    pub ruling: Ruling,
    /// Why nobody knows.
    pub why: Option<String>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// A question that was not asked, although the input could have been asked it: nothing is said to hold
/// that was not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Unchecked {
    /// What was not asked.
    pub property: &'static str,
    /// Why not, and what asks it.
    pub why: &'static str,
}

/// How attacks on a machine with store buffers were looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Attacks {
    /// How many there are: pairs of a store and a later access.
    pub attacks: u64,
    /// How many of them the text does not rule out.
    pub attacks_examined: u64,
    /// The theorem relied on.
    pub method: &'static str,
}

/// A diagnostic as plain data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Notice {
    /// What a user looks up.
    pub code: &'static str,
    /// What it is about, in one line.
    pub message: String,
    /// Its line, counted from 1, if it has a place.
    pub line: Option<usize>,
    /// Its column, counted from 1 in characters.
    pub column: Option<usize>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Notice {
    /// A diagnostic about `text`.
    pub fn new(diagnostic: &Diagnostic, text: &str) -> Self {
        let before = diagnostic.span().and_then(|span| text.get(..span.start));
        let place = before.map(|before| {
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
        });
        Notice {
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            help: diagnostic.help.clone(),
        }
    }

    /// `file:line:column: message`
    pub fn located(&self, file: &str) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}: {}", self.message),
            _ => format!("{file}: {}", self.message),
        }
    }
}

impl InputReport {
    /// An empty sheet about an input.
    pub fn new(file: &str, text: Arc<str>, model: &'static str) -> Self {
        InputReport {
            file: file.to_string(),
            text,
            parts: Vec::new(),
            model,
            replies: Vec::new(),
            faults: Vec::new(),
            stuck: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            cost: Cost::default(),
            unchecked: Vec::new(),
            attacks: None,
            extent: Extent::First,
            scope: None,
        }
    }

    /// The sheet of a checked file.
    pub fn of(report: &FileReport, source: &Source) -> Self {
        let replies = report.answers.iter().map(|answer| Reply {
            property: answer.property.name(),
            ruling: answer.ruling,
            why: answer.why.clone(),
            findings: answer.findings.clone(),
        });
        InputReport {
            replies: replies.collect(),
            faults: report.faults.clone(),
            stuck: report.stuck.clone(),
            errors: report.internal.iter().map(|e| Notice::new(e, &source.text)).collect(),
            warnings: report.warnings.iter().map(|w| Notice::new(w, &source.text)).collect(),
            unchecked: report.unchecked.clone(),
            cost: report.cost,
            extent: report.extent,
            ..InputReport::new(&report.file, source.text.clone(), report.model.name())
        }
    }

    /// The sheet of an input that could not be looked at because of `why`.
    pub fn refused(file: &str, text: &str, model: &'static str, why: &[Diagnostic]) -> Self {
        let errors = why.iter().filter(|d| d.severity == Severity::Error);
        let errors = errors.map(|error| Notice::new(error, text)).collect();
        InputReport { errors, ..InputReport::new(file, text.into(), model) }
    }

    /// `file:line:column: message`
    pub fn located(&self, notice: &Notice) -> String {
        match notice.line.and_then(|line| self.origin(line)) {
            Some((file, line)) => Notice { line: Some(line), ..notice.clone() }.located(file),
            None => notice.located(&self.file),
        }
    }

    /// The file that a line of the text is in, and the line in that file; `None` if it is in no file.
    pub fn origin(&self, line: usize) -> Option<(&str, usize)> {
        match self.parts.iter().rev().find(|part| part.first <= line) {
            None => Some((&self.file, line)),
            Some(part) => part.written.then_some((&part.file, line + 1 - part.first)),
        }
    }

    /// A line of the text, counted in its file.
    pub fn line_in_file(&self, line: usize) -> usize {
        let part = self.parts.iter().rev().find(|part| part.first <= line);
        part.map_or(line, |part| line + 1 - part.first)
    }

    /// Everything wrong, run-time errors first.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.faults.iter().chain(self.replies.iter().flat_map(|reply| &reply.findings))
    }

    /// Warnings of all kinds: threads that can get stuck are a finding, but no property is violated.
    pub fn notices(&self) -> Vec<Notice> {
        let stuck = self.stuck.iter().map(|finding| Notice {
            code: finding.code,
            message: finding.message.clone(),
            line: Some(finding.place.line),
            column: Some(finding.place.column),
            help: None,
        });
        self.warnings.iter().cloned().chain(stuck).collect()
    }

    /// The worst of the answers: violated, else undecided, else holds.
    pub fn ruling(&self) -> Ruling {
        let any = |ruling| self.replies.iter().any(|reply| reply.ruling == ruling);
        let worst = [Ruling::Violated, Ruling::Undecided].into_iter().find(|ruling| any(*ruling));
        worst.unwrap_or(Ruling::Holds)
    }

    /// The overall verdict: `error`, `violated`, `undecided` or `holds`.
    pub fn verdict(&self) -> &'static str {
        match self.errors.is_empty() && self.faults.is_empty() {
            true => self.ruling().name(),
            false => "error",
        }
    }
}
