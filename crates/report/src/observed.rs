//! Findings of the sanitizer, which observes running programs.
//!
//! The sanitizer knows two accesses, their stacks, and what is wrong with them. Each source file with a
//! finding gets a sheet; the run has the other access first, if it is in the same file, and the access at
//! fault after it. What only a running program has, stacks, values and a name that stays the same from run to run,
//! is kept in [`Observed`]. That nothing was found says something about these runs only, and so do the names of the
//! properties.

use crate::advice::Advice;
use crate::codes;
use crate::document::{Block, Document};
use crate::finding::{Finding, Kind};
use crate::input_report::{InputReport, Reply};
use crate::place::Place;
use crate::proof::{Event, EventKind, Proof};
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
    /// What it is called, from run to run.
    pub id: String,
    /// The access at fault.
    pub access: ObservedAccess,
    /// What it misses or races with.
    pub other: Option<ObservedAccess>,
    /// How many bytes are accessed.
    pub size: u64,
    /// What the missed write wrote.
    pub value: Option<String>,
    /// What may be read instead.
    pub stale_values: Vec<String>,
    /// What brings the run back.
    pub token: Option<String>,
    /// In how many runs it was found.
    pub runs: u64,
    /// What to do about it.
    pub advice: Vec<String>,
    /// Does nothing depend on the stale value? Then no harm was done in the runs that were seen.
    pub is_unused: bool,
    /// Paragraphs: stacks, memory, locks, what each thread knew.
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

/// What is known of an observed finding beyond places and a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Observed {
    /// What it is called, from run to run and from build to build.
    pub id: String,
    /// Does nothing depend on the stale value? Then no harm was done in the runs that were seen.
    pub is_unused: bool,
    /// What else is known: a name and a value each.
    #[serde(skip)]
    pub facts: Vec<(&'static str, String)>,
    /// Paragraphs: stacks, memory, locks, what each thread knew.
    pub details: Vec<Detail>,
    /// The two accesses and what is between them, for drawings.
    #[serde(skip)]
    pub(crate) proof: Proof,
}

/// An access of a running program.
#[derive(Clone, Debug)]
pub struct ObservedAccess {
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

/// What there is to say about an observation, as it is told while the program runs.
pub fn document(observation: &Observation) -> Document<'static> {
    let Observation { message, id, details, advice, token, .. } = observation;
    let mut document = Document::default();
    // The program prints, too.
    document.push(Block::Gap);
    document.line(format!("fencepost: {message} [{id}]"));
    for Detail { title, lines } in details {
        document.line(format!("  {title}"));
        for line in lines {
            document.line(format!("    {line}"));
        }
    }
    for (k, advice) in advice.iter().enumerate() {
        let lead = if k == 0 { "What to do: " } else { "            " };
        document.line(format!("  {lead}{advice}"));
    }
    if let Some(token) = token {
        document.line(format!("  Again: fencepost run --token {token}"));
    }
    document
}

/// How many observations there were, as the last line of a series of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Accesses that may be stale.
    pub stale: usize,
    /// Data races.
    pub races: usize,
    /// Observations that were suppressed or known.
    pub suppressed: usize,
    /// Observations inside the standard library.
    pub internal: usize,
    /// Runs.
    pub runs: u64,
}

impl Count {
    /// The line.
    pub fn document(&self) -> Document<'static> {
        let Count { stale, races, suppressed, internal, runs } = *self;
        let plural =
            |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let found = [(stale, "robustness violation"), (races, "data race")];
        let found = found.into_iter().filter(|(count, _)| *count > 0);
        let found: Vec<String> = found.map(|(count, one)| plural(count, one)).collect();
        let mut said = match found.is_empty() {
            true => "nothing found".to_string(),
            false => found.join(", "),
        };
        if runs != 1 {
            said.push_str(&format!(" in {runs} runs"));
        }
        if suppressed > 0 {
            said.push_str(&format!(", {suppressed} not shown (suppressed or known)"));
        }
        if internal > 0 {
            said.push_str(&format!(
                ", {internal} inside the standard library not shown (--show-std)"
            ));
        }
        let mut document = Document::default();
        document.line(format!("fencepost: {said}"));
        document
    }
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
    let Observation { problem, message, access, other, advice, .. } = observation;
    let mut threads: Vec<u32> =
        other.iter().map(|other| other.thread).chain([access.thread]).collect();
    threads.sort_unstable();
    threads.dedup();
    let number = |thread: u32| {
        Tid::from(threads.iter().position(|&other| other == thread).unwrap_or_default())
    };
    let events: Vec<Event> = other
        .iter()
        .chain([access])
        .enumerate()
        .map(|(id, one)| Event {
            id,
            thread: Some(name(one.thread)),
            tid: Some(number(one.thread)),
            kind: if one.action == "load" { EventKind::Read } else { EventKind::Write },
            mode: None,
            location: None,
            read: None,
            written: None,
            label: one.what.clone(),
            place: Some(match one.file == access.file {
                true => place(one, text),
                // There is no line of it in the text.
                false => Place {
                    whole_line: 0,
                    ..Place::at(one.line, one.column, format!("in {}", one.file), Span::new(0, 0))
                },
            }),
        })
        .collect();
    let last = events.len() - 1;
    let proof = Proof {
        po: Vec::new(),
        rf: Vec::new(),
        mo: Vec::new(),
        // What is missed overwrote what is read.
        fr: if *problem == Kind::Race || last == 0 { Vec::new() } else { vec![(last, 0)] },
        sw: Vec::new(),
        hb: Vec::new(),
        access: last,
        other: 0,
        newest: None,
        used_by: None,
        propagation: Vec::new(),
        timeline: false,
        conclusive: true,
        cycle: Vec::new(),
        events,
    };
    let here = other.iter().chain([access]).enumerate();
    let run = here.filter(|(_, one)| one.file == access.file).map(|(id, one)| Step {
        thread: name(one.thread),
        tid: number(one.thread),
        place: place(one, text),
        action: one.action,
        location: None,
        read: None,
        written: None,
        assigned: Vec::new(),
        events: vec![id],
        effect: Some(effect(observation, id == last)),
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
        observed: Some(Box::new(Observed {
            id: observation.id.clone(),
            is_unused: observation.is_unused,
            facts: facts(observation),
            details: observation.details.clone(),
            proof,
        })),
        advice: advice.iter().map(Advice::new).collect(),
    }
}

/// What an access did, as far as values are known.
fn effect(observation: &Observation, at_fault: bool) -> String {
    let Observation { problem, value, stale_values, .. } = observation;
    match (problem, at_fault, value) {
        (Kind::Race, true, _) => "races".to_string(),
        (Kind::Race, false, _) => "races with it".to_string(),
        (Kind::StaleWrite, true, _) => "may take effect earlier".to_string(),
        (_, true, _) if stale_values.is_empty() => "may read an older value".to_string(),
        (_, true, _) => format!("may read {}", stale_values.join(" or ")),
        (_, false, Some(value)) => format!("writes {value}"),
        (_, false, None) => "is missed".to_string(),
    }
}

fn facts(observation: &Observation) -> Vec<(&'static str, String)> {
    let Observation { value, stale_values, size, token, runs, .. } = observation;
    let bytes = match size {
        1 => "1 byte".to_string(),
        size => format!("{size} bytes"),
    };
    let mut facts = vec![("accessed", bytes)];
    facts.extend(value.iter().map(|value| ("newest value", value.clone())));
    if !stale_values.is_empty() {
        facts.push(("may be read instead", stale_values.join(" or ")));
    }
    if *runs > 1 {
        facts.push(("found in", format!("{runs} runs")));
    }
    facts.extend(token.iter().map(|token| ("again", format!("fencepost run --token {token}"))));
    facts
}

fn name(thread: u32) -> String {
    match thread {
        0 => "main thread".to_string(),
        _ => format!("thread {thread}"),
    }
}

/// The rest of the line from the access on, if there is such a line.
fn place(access: &ObservedAccess, text: &str) -> Place {
    let ObservedAccess { line, column, what, .. } = access;
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

    fn access(file: &str, line: usize, column: usize) -> ObservedAccess {
        let (what, file) = ("load (acquire)".into(), file.into());
        ObservedAccess { thread: 2, what, action: "load", file, line, column }
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
            id: "FP000000000000".into(),
            size: 4,
            value: None,
            stale_values: Vec::new(),
            is_unused: false,
            details: Vec::new(),
            token: None,
            runs: 1,
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
