//! Answers about programs with transactions, as text and as JSON.
//!
//! A violation is told as one of a recorded run is: the cycle of transactions, then the execution, in
//! the format that `fencepost serial` reads, so that a user can have it judged again. Lines are those
//! of the program.

use crate::document::Document;
use crate::escape::visible;
use crate::input_report::{self, InputReport, unchecked};
use crate::recording::{self, visible_lines};
use crate::ruling::Ruling;
use crate::text::{amount, not_asked};
use ::serial::event::{Event, Names, Place};
use ::serial::execution::Question;
use ::serial::report::{cycle_text, recording_text};
use ::serial::witness::{Access, Violation};
use check::serializability::{Action, Execution, Happening};
use check::{Answer, By, Decision, Evidence, Property, Verdict, Why};
use ir::{Pc, Tid};
use lang::Source;
use serde_json::{Value, json};

/// The answers about a program.
#[derive(Clone, Debug)]
pub struct Reply<'a> {
    source: &'a Source,
    answer: &'a Answer,
    names: Names,
}

impl<'a> Reply<'a> {
    /// The answers about `source`.
    pub fn new(source: &'a Source, answer: &'a Answer) -> Self {
        let mut names = Names::default();
        // A recording is split at blanks.
        let word = |text: String| text.replace(char::is_whitespace, "_");
        for thread in &source.program.threads {
            names.thread(&word(visible(&thread.display_name())));
        }
        for location in &source.program.locations {
            names.var(&word(visible(&location.display_name())));
        }
        Reply { source, answer, names }
    }

    /// What there is to say, with the story of each violation.
    pub fn document(&mut self) -> Document<'static> {
        let cost = &self.answer.cost;
        let mut document = Document::default();
        document.line(format!(
            "{}: {}, {:.1} ms",
            visible(&self.source.name),
            amount::plural(cost.states, "state"),
            cost.elapsed.as_secs_f64() * 1e3
        ));
        let answers = self.answer.decisions.iter();
        let answers = answers.map(|decision| (words(decision.property), line(decision).into()));
        document.rows(answers.chain(not_asked(&unchecked(self.answer))));
        for decision in &self.answer.decisions {
            let Some((violation, events)) = self.violation(decision) else { continue };
            document.gap();
            document.line(format!("not {}:", words(decision.property)));
            document.lines(&visible_lines(&cycle_text(&violation, &self.names)));
            document.gap();
            document.line("the execution that shows it:");
            document.lines(&visible_lines(&recording_text(&events, &self.names, "  ")));
        }
        document
    }

    /// One JSON object per question, with the fields that every check has.
    pub fn json(&mut self) -> Vec<Value> {
        let answer = self.answer;
        answer.decisions.iter().map(|decision| self.decision_json(decision)).collect()
    }

    /// The answers as a sheet, which is what the other faces are drawn from.
    pub fn sheet(&mut self) -> InputReport {
        let source = self.source;
        let mut sheet = InputReport::new(&source.name, source.text.clone(), "tso");
        sheet.warnings = source.warnings.clone();
        sheet.unchecked = unchecked(self.answer);
        sheet.cost = self.answer.cost;
        for decision in &self.answer.decisions {
            let found = self.violation(decision).map(|(violation, events)| {
                recording::finding(&self.names, &violation, Some(&events), &source.text)
            });
            sheet.replies.push(input_report::Reply::new(
                decision.property.name(),
                Ruling::of(&decision.verdict),
                decision.verdict.why().map(|why| why.to_string()),
                found.into_iter().collect(),
            ));
        }
        sheet
    }

    fn decision_json(&mut self, decision: &Decision) -> Value {
        let (model, property) = match decision.property {
            Property::ScSerializability => ("sc", "serializability"),
            Property::ScEquivalence => ("tso", "robustness"),
            _ => ("tso", "serializability"),
        };
        let by = match decision.by {
            By::Interleavings => "interleavings",
            By::WeakMemory { .. } => "weak memory",
            By::Buffers => "store buffers",
            By::Attacks { .. } | By::TriangularRaces => "attacks",
            By::Theorem2 => "theorem 2",
            By::Histories => "histories",
        };
        let witness = self.violation(decision).map(|(violation, events)| {
            let execution: Vec<String> = events.iter().map(|e| self.names.show_line(e)).collect();
            json!({ "cycle": self.cycle_json(&violation), "execution": execution })
        });
        json!({
            "file": self.source.name,
            "model": model,
            "property": property,
            "verdict": decision.verdict.name(),
            "by": by,
            "states": decision.cost.states,
            "transitions": decision.cost.transitions,
            "seconds": decision.cost.elapsed.as_secs_f64(),
            "peak_bytes": decision.cost.peak_bytes,
            "unchecked": unchecked(self.answer),
            "witness": witness,
            "error": decision.verdict.why().map(|why| why.to_string()),
        })
    }

    fn cycle_json(&self, violation: &Violation) -> Vec<Value> {
        let event = |access: &Access| {
            let text = self.names.show(access.thread, access.action);
            json!({ "event": text, "line": access.line })
        };
        let steps = violation.cycle.iter();
        steps
            .map(|step| {
                json!({
                    "thread": self.names.of_thread(step.unit.thread),
                    "line": step.unit.line,
                    "single": step.unit.single,
                    "leaves": event(&step.leaves),
                    "kind": step.kind.text(),
                    "enters": event(&step.enters),
                })
            })
            .collect()
    }

    /// The cycle in the execution that violates a property, and the execution. Lines are the program's.
    fn violation(&mut self, decision: &Decision) -> Option<(Violation, Vec<Event>)> {
        let Evidence::Execution(shown) = &decision.verdict.witness()?.evidence else { return None };
        let Execution { happenings, violation } = &**shown;
        let events: Vec<Event> = happenings.iter().map(|event| self.event(event)).collect();
        let mut violation = violation.clone();
        let line = |position: &mut u32| {
            *position = events.get(*position as usize - 1).map_or(0, |event| event.line);
        };
        for step in &mut violation.cycle {
            [&mut step.unit.line, &mut step.leaves.line, &mut step.enters.line]
                .into_iter()
                .for_each(line);
        }
        Some((violation, events))
    }

    fn event(&mut self, happening: &Happening) -> Event {
        let line = self.line_of(happening.tid, happening.pc);
        let file = self.source.name.replace(char::is_whitespace, "_");
        let place = match happening.action {
            Action::Commit(_) => Place::UNKNOWN,
            _ => self.names.place(&format!("{file}:{line}")),
        };
        happening.event(line as u32, place)
    }

    fn line_of(&self, tid: Tid, pc: Pc) -> usize {
        let span = self.source.span(self.source.program.step(tid, pc).origin);
        self.source.line_column(span.start).0
    }
}

/// What a property is called in a sentence.
fn words(property: Property) -> &'static str {
    match property {
        Property::ScSerializability => Question::ScSerializable.text(),
        Property::ScEquivalence => Question::ScEquivalent.text(),
        _ => Question::TsoSerializable.text(),
    }
}

/// What is said of a property.
fn line(decision: &Decision) -> String {
    let Decision { verdict, by, cost, .. } = decision;
    let name = verdict.name();
    match (verdict, by) {
        (Verdict::Undecided(why @ Why::Limit(_)), By::Interleavings | By::Buffers) => format!(
            "{name}: {why} after {}, {} deep; what lies beyond was not covered",
            amount::plural(cost.states, "state"),
            amount::plural(cost.depth, "step"),
        ),
        (Verdict::Undecided(why), _) => format!("{name}: {why}"),
        (Verdict::Holds, By::Theorem2) => {
            format!("{name}, because it is robust and SC-serializable (Theorem 2)")
        }
        (Verdict::Violated(_), By::Attacks { .. }) => {
            format!("{name}: `fencepost check --model tso` shows how")
        }
        (
            _,
            By::Theorem2
            | By::Attacks { .. }
            | By::TriangularRaces
            | By::WeakMemory { .. }
            | By::Histories,
        ) => name.to_string(),
        (_, By::Interleavings) => {
            format!("{name}, by all interleavings ({})", amount::plural(cost.states, "state"))
        }
        (_, By::Buffers) => {
            let states = amount::plural(cost.states, "state");
            format!("{name}, by the machine with store buffers ({states})")
        }
    }
}
