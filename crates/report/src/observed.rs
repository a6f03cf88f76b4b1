//! What was observed in a running program, as findings.
//!
//! The sanitizer knows two accesses, their stacks, and what is wrong with them. Each source file with a
//! finding gets a sheet; the run has the other access first, if it is in the same file, and the access at
//! fault after it. That nothing was found says something about these runs only, and so do the names of the
//! properties.

use crate::advice::Advice;
use crate::codes;
use crate::finding::{Finding, Kind};
use crate::input_report::{InputReport, Reply};
use crate::place::Place;
use crate::ruling::Ruling;
use crate::run::{Beginner, Start, Step};
use ir::Tid;
use lang::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// No run showed a violation of robustness.
pub const ROBUSTNESS: &str = "observed-robustness";
/// No run showed a race.
pub const RACES: &str = "observed-races";

/// Something observed.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What kind of thing.
    pub problem: Kind,
    /// What is wrong, in one line.
    pub message: String,
    /// The access at fault.
    pub access: Access,
    /// What it misses or races with.
    pub other: Option<Access>,
    /// What to do about it.
    pub advice: Vec<String>,
    /// What else is known.
    pub observed: Observed,
}

/// What is known of a finding in a running program besides its two accesses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Observed {
    /// The same from run to run and from build to build.
    pub id: String,
    /// Does nothing depend on the stale value? Then no harm was done in the runs that were seen.
    pub is_unused: bool,
    /// Paragraphs: stacks, values, what each thread knew.
    pub details: Vec<Detail>,
}

/// A paragraph about a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Detail {
    /// What it is about.
    pub title: String,
    /// Its lines.
    pub lines: Vec<String>,
}

/// An access of a running program.
#[derive(Clone, Debug)]
pub struct Access {
    /// The thread's number.
    pub thread: u32,
    /// `load (acquire)`, say.
    pub what: String,
    /// In one word.
    pub action: &'static str,
    /// The file.
    pub file: String,
    /// The line, counted from 1; 0 if it is not known.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
}

/// One sheet per file; one about `program` if there is nothing to tell. `read` gives the text of a file.
pub fn sheets(
    program: &str,
    observations: &[Observation],
    read: &dyn Fn(&str) -> String,
) -> Vec<InputReport> {
    let mut files: BTreeMap<&str, Vec<&Observation>> = BTreeMap::new();
    for observation in observations {
        files.entry(&observation.access.file).or_default().push(observation);
    }
    if files.is_empty() {
        files.insert(program, Vec::new());
    }
    files.into_iter().map(|(file, found)| sheet(file, &read(file), &found)).collect()
}

fn sheet(file: &str, text: &str, observations: &[&Observation]) -> InputReport {
    let mut sheet = InputReport::new(file, text.into(), "rc20");
    for (property, is_race) in [(ROBUSTNESS, false), (RACES, true)] {
        let found = observations.iter().filter(|one| (one.problem == Kind::Race) == is_race);
        let findings: Vec<Finding> = found.map(|one| finding(one, text)).collect();
        let ruling = if findings.is_empty() { Ruling::Holds } else { Ruling::Violated };
        sheet.replies.push(Reply::new(property, ruling, None, findings));
    }
    sheet
}

fn finding(observation: &Observation, text: &str) -> Finding {
    let Observation { problem, message, access, other, advice, observed } = observation;
    let mut threads: Vec<u32> =
        other.iter().map(|other| other.thread).chain([access.thread]).collect();
    threads.sort_unstable();
    threads.dedup();
    let number = |thread: u32| {
        Tid::from(threads.iter().position(|&other| other == thread).unwrap_or_default())
    };
    let here = other.iter().filter(|other| other.file == access.file);
    let run = here.chain([access]).map(|one| Step {
        thread: name(one.thread),
        tid: number(one.thread),
        place: place(one, text),
        action: one.action,
        location: None,
        read: None,
        written: None,
        assigned: Vec::new(),
        events: Vec::new(),
        effect: None,
        newer: 0,
        stale: None,
    });
    let message = match other {
        Some(other) => format!(
            "{message}; {} by {} at {}:{}",
            other.what,
            name(other.thread),
            other.file,
            other.line
        ),
        None => message.clone(),
    };
    let beginners = threads
        .iter()
        .map(|&thread| Beginner { thread: name(thread), locals: Vec::new() })
        .collect();
    Finding {
        code: if *problem == Kind::Race { codes::RACE } else { codes::ROBUSTNESS },
        problem: *problem,
        message,
        thread: name(access.thread),
        tid: number(access.thread),
        place: place(access, text),
        locals: Vec::new(),
        start: Start { memory: Vec::new(), threads: beginners },
        run: run.collect(),
        certificate: None,
        note: None,
        advice: advice.iter().map(Advice::new).collect(),
        observed: Some(observed.clone()),
    }
}

fn name(thread: u32) -> String {
    match thread {
        0 => "main thread".to_string(),
        _ => format!("thread {thread}"),
    }
}

/// The rest of the line from the access on, if there is such a line.
fn place(access: &Access, text: &str) -> Place {
    let Access { line, column, what, .. } = access;
    let (line, column) = ((*line).max(1), (*column).max(1));
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let Some(found) = text.get(start..).and_then(|rest| rest.lines().next()) else {
        return Place::at(line, column, what.clone(), Span::new(0, 0));
    };
    let skipped: usize = found.chars().take(column - 1).map(char::len_utf8).sum();
    let shown = found[skipped..].trim_end();
    let span = Span::new(start + skipped, start + skipped + shown.len());
    let shown = if shown.is_empty() { found.trim() } else { shown };
    Place::at(line, column, shown.to_string(), span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(file: &str, line: usize, column: usize) -> Access {
        let (what, file) = ("load (acquire)".into(), file.into());
        Access { thread: 2, what, action: "load", file, line, column }
    }

    #[test]
    fn places_are_in_the_text() {
        let text = "int x;\n  r = load(x);\n";
        let found = place(&access("a.c", 2, 7), text);
        assert_eq!((found.line, found.column, &*found.text), (2, 7, "load(x);"));
        assert_eq!(&text[found.span.start..found.span.end], "load(x);");
        for (line, column) in [(9, 1), (0, 0), (2, 99), (3, 1)] {
            place(&access("a.c", line, column), text);
            place(&access("a.c", line, column), "");
        }
    }

    #[test]
    fn a_sheet_per_file_and_one_if_there_is_none() {
        let observation = |file: &str| Observation {
            problem: Kind::Race,
            message: "data race".into(),
            access: access(file, 1, 1),
            other: Some(access("b.c", 1, 1)),
            advice: Vec::new(),
        };
        let read = |_: &str| "text\n".to_string();
        let both = [observation("a.c"), observation("b.c"), observation("a.c")];
        let sheets_of = sheets("prog", &both, &read);
        let files: Vec<(&str, usize)> =
            sheets_of.iter().map(|sheet| (&*sheet.file, sheet.findings().count())).collect();
        assert_eq!(files, [("a.c", 2), ("b.c", 1)]);
        let none = sheets("prog", &[], &read);
        assert_eq!(none.len(), 1);
        assert!(none[0].replies.iter().all(|reply| reply.ruling == Ruling::Holds));
    }
}
