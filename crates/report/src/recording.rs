//! Reports on judged recordings: the verdict as a document, and a run that was not atomic as a finding.
//!
//! The proof is the conflict graph: its events are the transactions on the cycle, its edges the reasons
//! why one must come before the next. The run is the execution that shows it or, where only a recording
//! too long to keep went by, the accesses of the cycle in their order.

use crate::advice::Advice;
use crate::codes;
use crate::document::Document;
use crate::escape::visible;
use crate::finding::{Finding, Kind};
use crate::input_report::{InputReport, Reply};
use crate::place::Place;
use crate::proof::{EdgeKind, Event, EventKind, Hop, Proof};
use crate::ruling::Ruling;
use crate::run::{Beginner, Start, Step};
use ::serial::event::{self, Names, Thread};
use ::serial::execution::Question;
use ::serial::history::History;
use ::serial::history::level::{self, Judged};
use ::serial::judge::Report;
use ::serial::witness::{self, Access, Unit, Violation};
use check::serializability::property;
use ir::Tid;
use lang::{Diagnostic, Span};

/// More events than this are not stepped through.
const MOST_STEPS: usize = 300;

/// The sheet of a judged recording; `text` is the recording, or empty if it is too long to show. What is
/// asked is whether it is TSO-serializable; the rest is worth a note.
pub fn sheet(file: &str, text: &str, report: &Report) -> InputReport {
    let mut sheet = InputReport::new(file, text.into(), "tso");
    for answer in &report.answers {
        if answer.question == Question::TsoSerializable {
            let found = answer.violation.iter().map(|violation| {
                finding(&report.names, violation, answer.execution.as_deref(), text)
            });
            let findings: Vec<Finding> = found.collect();
            let ruling = match answer.spent {
                Some(_) => Ruling::Undecided,
                None if answer.yes() => Ruling::Holds,
                None => Ruling::Violated,
            };
            let why = answer.spent.map(|spent| spent.to_string());
            let property = property(answer.question).name();
            sheet.replies.push(Reply::new(property, ruling, why, findings));
        } else if answer.no() {
            let message = format!("the run is not {}", answer.question.text());
            let warning = Diagnostic::warning(codes::NOT_SERIALIZABLE, message);
            sheet.warnings.push(Diagnostic { help: report.advice.clone(), ..warning });
        }
    }
    sheet
}

/// What there is to say about a judged recording. The words are those of `serial`; names in a recording can
/// hold anything.
pub fn document(report: &Report) -> Document<'static> {
    let mut document = Document::default();
    document.lines(&visible_lines(&::serial::report::text(report)));
    document
}

/// What there is to say about a judged history of a database, in the words of `serial`.
pub fn history(history: &History, judged: &Judged) -> Document<'static> {
    let mut document = Document::default();
    document.lines(&visible_lines(&level::text(history, judged)));
    document
}

/// The text with its line ends, and nothing else that could play tricks with a terminal.
pub(crate) fn visible_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", visible(line))).collect()
}

/// A cycle of transactions as a finding. `execution` is what shows it, if it was kept; lines are those
/// of `text`.
pub fn finding(
    names: &Names,
    violation: &Violation,
    execution: Option<&[event::Event]>,
    text: &str,
) -> Finding {
    let place = |line: u32, fallback: String| place(text, line, fallback);
    let events: Vec<Event> = violation
        .cycle
        .iter()
        .map(|step| (&step.unit, &step.leaves))
        .enumerate()
        .map(|(id, (unit, own))| Event {
            id,
            thread: Some(names.of_thread(unit.thread).to_string()),
            tid: Some(tid(unit.thread)),
            kind: EventKind::Transaction,
            mode: None,
            location: None,
            read: None,
            written: None,
            label: unit_name(names, unit, own),
            place: Some(place(unit.line, unit.show(names))),
        })
        .collect();
    let cycle = violation.cycle.iter().enumerate().map(|(event, step)| Hop {
        event,
        edge: match step.kind {
            witness::EdgeKind::ProgramOrder => EdgeKind::Po,
            witness::EdgeKind::Conflict => EdgeKind::Conflict,
            witness::EdgeKind::OrientedConflict => EdgeKind::Chosen,
            witness::EdgeKind::Indirect => EdgeKind::Indirect,
        },
        because: Some(format!(
            "{} before {}",
            access_text(&step.leaves, names),
            access_text(&step.enters, names)
        )),
    });
    let threads = (0..names.threads()).map(|index| Beginner {
        thread: names.of_thread(Thread(index as u32)).to_string(),
        locals: Vec::new(),
    });
    let first = &events[0];
    let (thread, start) = (first.thread.clone().unwrap_or_default(), first.place.clone());
    Finding {
        code: codes::NOT_SERIALIZABLE,
        problem: Kind::NotSerializable,
        message: format!(
            "not {}: `{}` of `{thread}` would have to come before itself",
            violation.question.text(),
            first.label
        ),
        tid: first.tid.unwrap_or_default(),
        place: start.unwrap_or_else(|| place(1, String::new())),
        thread,
        locals: Vec::new(),
        start: Start { memory: Vec::new(), threads: threads.collect() },
        run: steps(names, violation, execution, &place),
        advice: vec![Advice::new(
            "make each of these blocks one critical section: one lock around all accesses that the \
             reasons above name, held to the end of the block",
        )],
        note: None,
        observed: None,
        certificate: Some(Proof {
            po: Vec::new(),
            rf: Vec::new(),
            mo: Vec::new(),
            fr: Vec::new(),
            sw: Vec::new(),
            hb: Vec::new(),
            access: 0,
            other: 1 % events.len(),
            newest: None,
            used_by: None,
            propagation: Vec::new(),
            timeline: false,
            conclusive: true,
            cycle: cycle.collect(),
            events,
        }),
    }
}

/// What a transaction is called: by the label it was given, else by where it begins; a single event by what it does.
fn unit_name(names: &Names, unit: &Unit, own: &Access) -> String {
    match (unit.label, unit.single) {
        (Some(label), _) => names.of_label(label).to_string(),
        (None, false) => format!("transaction at line {}", unit.line),
        (None, true) => match own.action.var() {
            Some(var) => format!("{} {}", own.action.word(), names.of_var(var)),
            None => own.action.word().to_string(),
        },
    }
}

fn tid(thread: Thread) -> Tid {
    Tid::from(thread.0 as usize)
}

/// A line of the recording.
fn place(text: &str, line: u32, fallback: String) -> Place {
    let line = (line as usize).max(1);
    let mut start = 0;
    for (index, found) in text.split_inclusive('\n').enumerate() {
        if index + 1 == line {
            let shown = found.trim_end();
            let span = Span::new(start, start + shown.len());
            return Place::at(line, 1, shown.to_string(), span);
        }
        start += found.len();
    }
    Place::at(line, 1, fallback, Span::new(0, 0))
}

fn access_text(access: &Access, names: &Names) -> String {
    format!("`{}` (line {})", names.show_event(&access.event()), access.line)
}

fn steps(
    names: &Names,
    violation: &Violation,
    execution: Option<&[event::Event]>,
    place: &dyn Fn(u32, String) -> Place,
) -> Vec<Step> {
    let step = |thread: Thread, action: event::Action, line: u32, events: Vec<usize>| Step {
        thread: names.of_thread(thread).to_string(),
        tid: tid(thread),
        place: Place { text: names.show(thread, action), ..place(line, String::new()) },
        action: action.word(),
        location: action.var().map(|var| names.of_var(var).to_string()),
        read: None,
        written: None,
        assigned: Vec::new(),
        events,
        effect: None,
        newer: 0,
        stale: None,
    };
    // An access belongs to the unit that it leaves, or to the one after that it enters.
    let mut accesses: Vec<(Access, usize)> = Vec::new();
    for (index, hop) in violation.cycle.iter().enumerate() {
        accesses.push((hop.leaves, index));
        accesses.push((hop.enters, (index + 1) % violation.cycle.len()));
    }
    accesses.sort_by_key(|(access, _)| access.at);
    accesses.dedup_by_key(|(access, _)| access.at);
    match execution.filter(|events| events.len() <= MOST_STEPS) {
        Some(events) => events
            .iter()
            .enumerate()
            .map(|(at, event)| {
                let unit = accesses.iter().find(|(access, _)| access.at == at as u64);
                let units = unit.map(|(_, unit)| *unit).into_iter().collect();
                step(event.thread, event.action, event.line, units)
            })
            .collect(),
        None => accesses
            .iter()
            .map(|(access, unit)| step(access.thread, access.action, access.line, vec![*unit]))
            .collect(),
    }
}
