//! A report's faces: text, JSON and a drawing.
//!
//! Text says first what was judged and how, then one line per question, then the cycles. A trace's
//! cycle comes with the execution that shows it, in the format that the reader takes, so that it can
//! be judged again by anyone.

use std::fmt::Write;

use crate::event::{Event, Names};
use crate::execution::Question;
use crate::judge::{Answer, Report};
use crate::witness::{Access, Step, Violation};

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let names = &report.names;
    let count = |number: u64, what: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{number} {what}{plural}")
    };
    let _ = writeln!(
        out,
        "{} in {} of {}, {}",
        count(report.events, "event"),
        count(report.transactions, "transaction"),
        count(names.threads() as u64, "thread"),
        count(names.vars() as u64, "variable"),
    );
    let _ = writeln!(out, "judged by the {}: {}", report.monitor.text(), report.why);
    for answer in &report.answers {
        let every = if report.as_recorded.is_some() { " in every execution" } else { "" };
        let _ = writeln!(out, "{}{every}: {}", answer.question.text(), yes_no(answer));
    }
    if let Some(answer) = &report.as_recorded {
        let text = answer.question.text();
        let _ = writeln!(out, "{text} if every write commits at once: {}", yes_no(answer));
    }
    for (violation, questions, execution) in distinct(report) {
        let _ = writeln!(out, "\n{}:", questions.join(", "));
        out.push_str(&cycle_text(violation, names));
        if let Some(execution) = execution {
            out.push_str("\nan execution of this trace that shows it:\n");
            out.push_str(&recording_text(execution, names, "  "));
        }
    }
    if let Some(advice) = &report.advice {
        let _ = writeln!(out, "\nadvice: {advice}");
    }
    out
}

type Shown<'a> = (&'a Violation, Vec<String>, Option<&'a [Event]>);

/// The violations, those with the same cycle together; the execution only where the user needs it to
/// believe the main verdict, that on TSO.
fn distinct(report: &Report) -> Vec<Shown<'_>> {
    let mut shown: Vec<Shown<'_>> = Vec::new();
    for answer in report.answers.iter().chain(&report.as_recorded) {
        let Some(violation) = &answer.violation else { continue };
        let text = format!("not {}", answer.question.text());
        match shown.iter_mut().find(|(other, ..)| other.cycle == violation.cycle) {
            Some((_, questions, _)) if questions.contains(&text) => {}
            Some((_, questions, _)) => questions.push(text),
            None => {
                let tso = answer.question == Question::TsoSerializable;
                let execution = answer.execution.as_deref().filter(|_| tso);
                shown.push((violation, vec![text], execution));
            }
        }
    }
    shown
}

fn yes_no(answer: &Answer) -> String {
    match answer.spent {
        Some(spent) => format!("undecided, {spent}"),
        None if answer.yes() => "yes".into(),
        None => "no".into(),
    }
}

/// The same in JSON.
fn true_false(answer: Option<&Answer>) -> &'static str {
    match answer {
        Some(answer) if answer.yes() => "true",
        Some(answer) if answer.no() => "false",
        _ => "null",
    }
}

/// A cycle, one line per unit and one per reason.
pub fn cycle_text(violation: &Violation, names: &Names) -> String {
    let mut out = String::new();
    for Step { unit, leaves, kind, enters } in &violation.cycle {
        let _ = writeln!(out, "  {}", unit.show(names));
        let (first, second) = (event_text(leaves, names), event_text(enters, names));
        let _ = writeln!(out, "    {first} before {second}: {}", kind.text());
    }
    if let Some(first) = violation.cycle.first() {
        let _ = writeln!(out, "  and so {} before itself", first.unit.show(names));
    }
    out
}

fn event_text(access: &Access, names: &Names) -> String {
    let mut text = format!("`{}`", names.show(access.thread, access.action));
    match names.of_place(access.place) {
        Some(place) => write!(text, " (line {}, {place})", access.line),
        None => write!(text, " (line {})", access.line),
    }
    .ok();
    text
}

/// A recording in the text format, each line after `indent`.
pub fn recording_text(events: &[Event], names: &Names, indent: &str) -> String {
    let mut out = String::new();
    for event in events {
        let _ = writeln!(out, "{indent}{}", names.show_line(event));
    }
    out
}

/// The cycle as a Graphviz drawing.
pub fn to_dot(violation: &Violation, names: &Names) -> String {
    let mut out = String::from("digraph serial {\n  node [shape=box, fontname=monospace];\n");
    let length = violation.cycle.len();
    for (index, Step { unit, .. }) in violation.cycle.iter().enumerate() {
        let _ = writeln!(out, "  u{index} [label={}];", quoted(&unit.show(names)));
    }
    for (index, Step { leaves, kind, enters, .. }) in violation.cycle.iter().enumerate() {
        let why = format!(
            "{}\n{}\n{}",
            names.show(leaves.thread, leaves.action),
            kind.text(),
            names.show(enters.thread, enters.action)
        );
        let _ = writeln!(
            out,
            "  u{index} -> u{} [label={}, style={}];",
            (index + 1) % length,
            quoted(&why),
            match kind {
                crate::witness::EdgeKind::ProgramOrder => "solid",
                crate::witness::EdgeKind::Conflict => "bold",
                crate::witness::EdgeKind::OrientedConflict => "dashed",
                crate::witness::EdgeKind::Indirect => "dotted",
            }
        );
    }
    out.push_str("}\n");
    out
}

/// The report as JSON.
pub fn to_json(report: &Report) -> String {
    let names = &report.names;
    let answers: Vec<String> =
        report.answers.iter().map(|answer| answer_json(answer, names)).collect();
    let optional = |text: &Option<String>| text.as_deref().map_or("null".into(), quoted);
    let as_recorded =
        report.as_recorded.as_ref().map_or("null".into(), |answer| answer_json(answer, names));
    format!(
        "{{\"monitor\":{},\"why\":{},\"events\":{},\"transactions\":{},\"threads\":{},\
         \"variables\":{},\"serializable\":{},\"answers\":[{}],\"as_recorded\":{},\"advice\":{}}}",
        quoted(report.monitor.text()),
        quoted(&report.why),
        report.events,
        report.transactions,
        names.threads(),
        names.vars(),
        true_false(report.answer(Question::TsoSerializable)),
        answers.join(","),
        as_recorded,
        optional(&report.advice),
    )
}

fn answer_json(answer: &Answer, names: &Names) -> String {
    let cycle = answer.violation.as_ref().map_or("null".into(), |violation| {
        let steps: Vec<String> =
            violation.cycle.iter().map(|step| step_json(step, names)).collect();
        format!("[{}]", steps.join(","))
    });
    let execution = answer.execution.as_ref().map_or("null".into(), |execution| {
        let lines: Vec<String> =
            execution.iter().map(|event| quoted(&names.show_line(event))).collect();
        format!("[{}]", lines.join(","))
    });
    let undecided = answer.spent.map_or("null".into(), |spent| quoted(&spent.to_string()));
    format!(
        "{{\"question\":{},\"answer\":{},\"undecided\":{undecided},\"cycle\":{cycle},\
         \"execution\":{execution}}}",
        quoted(answer.question.text()),
        true_false(Some(answer)),
    )
}

fn step_json(step: &Step, names: &Names) -> String {
    let event = |access: &Access| {
        let place = names.of_place(access.place).map_or("null".into(), quoted);
        let text = quoted(&names.show(access.thread, access.action));
        format!("{{\"event\":{text},\"line\":{},\"place\":{place}}}", access.line)
    };
    let label = step.unit.label.map_or("null".into(), |label| quoted(names.of_label(label)));
    format!(
        "{{\"transaction\":{label},\"thread\":{},\"line\":{},\"single\":{},\"kind\":{},\
         \"leaves\":{},\"enters\":{}}}",
        quoted(names.of_thread(step.unit.thread)),
        step.unit.line,
        step.unit.single,
        quoted(step.kind.text()),
        event(&step.leaves),
        event(&step.enters),
    )
}

/// A string of JSON; also one of Graphviz, which reads the same escapes for what occurs in names.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
