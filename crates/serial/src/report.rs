//! A report as text and as JSON.
//!
//! Text says first what was judged and how, then one line per question, then the cycles. A trace's
//! cycle comes with the execution that shows it, in the format that the reader takes, so that a user
//! can have it judged again.

use std::collections::HashMap;
use std::fmt::Write;

use crate::event::{Action, Event, Names, Thread, Var};
use crate::execution::Question;
use crate::judge::{Answer, Report, Scope};
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
    for warning in &report.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    if report.as_recorded.is_some() {
        let about = match (report.scope, report.has_values) {
            (Scope::ThisRun, true) => {
                "this run (every order of commits that fits what was read counts):"
            }
            (Scope::ThisRun, false) => {
                "this run (nothing is known about what was read: every order of commits counts):"
            }
            (Scope::Predicted, _) => {
                "some run of this shape (a prediction: every order of commits counts, whatever was read):"
            }
        };
        let _ = writeln!(out, "{about}");
    }
    for answer in &report.answers {
        let every = if report.as_recorded.is_some() { " in every execution" } else { "" };
        let _ = writeln!(out, "{}{every}: {}", answer.question.text(), yes_no(answer));
    }
    if let Some(answer) = &report.as_recorded {
        let text = answer.question.text();
        let _ = writeln!(out, "{text} if every write commits at once: {}", yes_no(answer));
    }
    if report.scope == Scope::Predicted {
        match &report.early {
            None => out.push_str("robust as far as this run shows (Theorem 12): yes\n"),
            Some(early) => {
                let [read, write, overtaken] = early.map(|event| event_line(&event, names));
                let _ = writeln!(
                    out,
                    "robust as far as this run shows (Theorem 12): no, {read} can overtake {overtaken} and \
                     come before {write}"
                );
            }
        }
    }
    for (violation, questions, execution) in distinct(report) {
        let _ = writeln!(out, "\n{}:", questions.join(", "));
        out.push_str(&cycle_text(violation, names));
        if let Some(execution) = execution {
            let shown = excerpt(execution, violation);
            match shown.len() == execution.len() {
                true => out.push_str("\nan execution of this trace that shows it:\n"),
                false => {
                    let _ = writeln!(
                        out,
                        "\nan execution of this trace that shows it ({} of its {} events):",
                        shown.len(),
                        execution.len()
                    );
                }
            }
            out.push_str(&recording_text(&shown, names, "  "));
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
    event_line(&access.event(), names)
}

fn event_line(event: &Event, names: &Names) -> String {
    let text = names.show_event(event);
    match names.of_place(event.place) {
        Some(place) => format!("`{text}` (line {}, {place})", event.line),
        None => format!("`{text}` (line {})", event.line),
    }
}

/// A recording in the text format, each line after `indent`.
pub fn recording_text(events: &[Event], names: &Names, indent: &str) -> String {
    let mut out = String::new();
    for event in events {
        let _ = writeln!(out, "{indent}{}", names.show_line(event));
    }
    out
}

/// Longer executions are cut also in JSON.
const MOST_IN_JSON: usize = 10_000;

/// Longer executions are cut to what the cycle needs.
const MOST_SHOWN: usize = 60;

/// What of an execution is needed to follow a cycle in it: the transactions on it, and of what they did
/// the accesses to the variables that the cycle is about, with the commits of those writes.
pub fn excerpt(execution: &[Event], violation: &Violation) -> Vec<Event> {
    if execution.len() <= MOST_SHOWN {
        return execution.to_vec();
    }
    let accesses = || violation.cycle.iter().flat_map(|step| [&step.leaves, &step.enters]);
    let vars: Vec<Var> = accesses().filter_map(|access| access.action.var()).collect();
    let units: Vec<(Thread, u32)> =
        violation.cycle.iter().map(|step| (step.unit.thread, step.unit.line)).collect();
    let mut open: HashMap<Thread, u32> = HashMap::new();
    let mut kept = Vec::new();
    for (at, event) in execution.iter().enumerate() {
        if let Action::Begin(_) = event.action {
            open.insert(event.thread, event.line);
        }
        let unit = match event.action {
            // It belongs to where its write was issued, which has the same line or an unknown one.
            Action::Commit(_) => None,
            _ => open.get(&event.thread).copied(),
        };
        let involved = units.contains(&(event.thread, unit.unwrap_or(event.line)));
        let about = match event.action.var() {
            Some(var) => vars.contains(&var),
            None => event.action.is_bracket() || event.action == Action::Fence,
        };
        let named = accesses().any(|access| access.at == at as u64);
        let commit = matches!(event.action, Action::Commit(_))
            && about
            && kept
                .iter()
                .any(|write: &Event| write.thread == event.thread && write.line == event.line);
        if named || commit || (involved && about) {
            kept.push(*event);
        }
        if let Action::End | Action::Abort = event.action {
            open.remove(&event.thread);
        }
    }
    kept
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
         \"variables\":{},\"scope\":{},\"warnings\":[{}],\"serializable\":{},\"answers\":[{}],\
         \"as_recorded\":{},\"early_read\":{},\"advice\":{}}}",
        quoted(report.monitor.text()),
        quoted(&report.why),
        report.events,
        report.transactions,
        names.threads(),
        names.vars(),
        quoted(match report.scope {
            Scope::ThisRun => "this run",
            Scope::Predicted => "some run of this shape",
        }),
        report.warnings.iter().map(|warning| quoted(warning)).collect::<Vec<_>>().join(","),
        true_false(report.answer(Question::TsoSerializable)),
        answers.join(","),
        as_recorded,
        report.early.map_or("null".into(), |early| {
            let [read, write, overtaken] = early.map(|event| quoted(&names.show_line(&event)));
            format!("{{\"read\":{read},\"write\":{write},\"overtaken\":{overtaken}}}")
        }),
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
        let shown = match &answer.violation {
            Some(violation) if execution.len() > MOST_IN_JSON => excerpt(execution, violation),
            _ => execution.clone(),
        };
        let lines: Vec<String> =
            shown.iter().map(|event| quoted(&names.show_line(event))).collect();
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
        let text = quoted(&names.show_event(&access.event()));
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
