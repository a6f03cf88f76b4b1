//! Answers about programs with transactions, as text and as JSON.
//!
//! A violation is told as one of a recorded run is: the cycle of transactions, then the execution, in
//! the format that `fencepost serial` reads, so that anyone can have it judged again. Lines are those
//! of the program.

use crate::answer::{Ruling, has_assertions};
use crate::escape::visible;
use crate::input_report::{self, InputReport, Notice, Unchecked};
use crate::recording;
use crate::text::amount;
use ::serial::event::{Event, Names, Place};
use ::serial::execution;
use ::serial::report::{cycle_text, recording_text};
use ::serial::witness::{Access, Violation};
use check::Property;
use check::serializability::{Action, Answer, By, Happening, Question, Refusal, Verdict, Why};
use ir::{Pc, Tid};
use lang::{Diagnostic, Source, codes};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// What is wrong with a program that cannot be explored.
pub fn refusal(source: &Source, refusal: &Refusal) -> Diagnostic {
    let (tid, pc, message, label) = match refusal {
        Refusal::Misplaced(misplaced) => {
            let message = misplaced.what.text();
            (misplaced.tid, misplaced.pc, message, "here")
        }
        Refusal::Unsupported(tid, pc) => {
            let message = "bus locks are not part of executions with transactions";
            (*tid, *pc, message, "no event stands for this")
        }
    };
    let code = match refusal {
        Refusal::Misplaced(_) => codes::ATOMIC_BLOCK,
        Refusal::Unsupported(..) => codes::UNSUPPORTED,
    };
    let span = source.span(source.program.step(tid, pc).origin);
    Diagnostic::error(code, message).with_label(span, label)
}

/// The answers about a program.
#[derive(Clone, Debug)]
pub struct Reply<'a> {
    source: &'a Source,
    answers: &'a [Answer],
    names: Names,
}

impl<'a> Reply<'a> {
    /// The answers about `source`.
    pub fn new(source: &'a Source, answers: &'a [Answer]) -> Self {
        let mut names = Names::default();
        // A recording is split at blanks.
        let word = |text: String| text.replace(char::is_whitespace, "_");
        for thread in &source.program.threads {
            names.thread(&word(visible(&thread.display_name())));
        }
        for location in &source.program.locations {
            names.var(&word(visible(&location.display_name())));
        }
        Reply { source, answers, names }
    }

    /// The answers as text, with the story of each violation.
    pub fn text(&mut self) -> String {
        let states: u64 = self.answers.iter().map(|answer| answer.cost.states).sum();
        let elapsed: Duration = self.answers.iter().map(|answer| answer.cost.elapsed).sum();
        let mut out = format!(
            "{}: {}, {:.1} ms\n",
            visible(&self.source.name),
            amount::plural(states, "state"),
            elapsed.as_secs_f64() * 1e3
        );
        for answer in self.answers {
            let question = answer.question.text();
            let _ = writeln!(out, "  {question:<16}  {}", self.line(answer));
        }
        for Unchecked { property, why } in self.unchecked() {
            let _ = writeln!(out, "  {property:<16}  not checked: {why}");
        }
        for answer in self.answers {
            let Some((violation, events)) = self.violation(answer) else { continue };
            let _ = writeln!(out, "\nnot {}:", answer.question.text());
            out.push_str(&cycle_text(&violation, &self.names));
            out.push_str("\nthe execution that shows it:\n");
            out.push_str(&recording_text(&events, &self.names, "  "));
        }
        out
    }

    /// Assertions are none of the questions.
    fn unchecked(&self) -> Vec<Unchecked> {
        let why = "a thread stops where one fails; `fencepost check --model tso` decides them";
        let assertions = Unchecked { property: Property::Assertions.name(), why };
        has_assertions(&self.source.program).then_some(assertions).into_iter().collect()
    }

    fn line(&self, answer: &Answer) -> String {
        let verdict = answer.verdict.name();
        match (&answer.verdict, answer.by) {
            (Verdict::Undecided(why @ Why::Limit(_)), By::Interleavings | By::Buffers) => format!(
                "{verdict}: {why} after {}, {} deep; what lies beyond was not covered",
                amount::plural(answer.cost.states, "state"),
                amount::plural(answer.depth, "step"),
            ),
            (Verdict::Undecided(why), _) => format!("{verdict}: {why}"),
            (Verdict::Holds, By::Theorem2) => {
                format!("{verdict}, because it is robust and SC-serializable (Theorem 2)")
            }
            (Verdict::Violated(_), By::Attacks) => {
                format!("{verdict}: `fencepost check --model tso` shows how")
            }
            (_, By::Theorem2 | By::Attacks) => verdict.to_string(),
            (_, By::Interleavings) => {
                let states = amount::plural(answer.cost.states, "state");
                format!("{verdict}, by all interleavings ({states})")
            }
            (_, By::Buffers) => {
                let states = amount::plural(answer.cost.states, "state");
                format!("{verdict}, by the machine with store buffers ({states})")
            }
        }
    }

    /// One JSON object per question, with the fields that every check has.
    pub fn json(&mut self) -> Vec<Value> {
        let answers = self.answers;
        answers.iter().map(|answer| self.answer_json(answer)).collect()
    }

    /// The answers as a sheet, which is what the other faces are drawn from.
    pub fn sheet(&mut self) -> InputReport {
        let source = self.source;
        let mut sheet = InputReport::new(&source.name, source.text.clone(), "tso");
        sheet.warnings = source.warnings.iter().map(|w| Notice::new(w, &source.text)).collect();
        sheet.unchecked = self.unchecked();
        for answer in self.answers {
            sheet.cost.states += answer.cost.states;
            sheet.cost.transitions += answer.cost.transitions;
            sheet.cost.elapsed += answer.cost.elapsed;
            let (ruling, why) = match &answer.verdict {
                Verdict::Holds => (Ruling::Holds, None),
                Verdict::Violated(_) => (Ruling::Violated, None),
                Verdict::Undecided(why) => (Ruling::Undecided, Some(why.to_string())),
            };
            let found = self.violation(answer).map(|(violation, events)| {
                recording::finding(&self.names, &violation, Some(&events), &source.text)
            });
            let findings = found.into_iter().collect();
            let property = recording::property(answer.question);
            sheet.replies.push(input_report::Reply { property, ruling, why, findings });
        }
        sheet
    }

    fn answer_json(&mut self, answer: &Answer) -> Value {
        let (model, property) = match answer.question {
            Question::TsoSerializable => ("tso", "serializability"),
            Question::ScSerializable => ("sc", "serializability"),
            Question::ScEquivalent => ("tso", "robustness"),
        };
        let by = match answer.by {
            By::Interleavings => "interleavings",
            By::Buffers => "store buffers",
            By::Attacks => "attacks",
            By::Theorem2 => "theorem 2",
        };
        let error = match &answer.verdict {
            Verdict::Undecided(why) => Some(why.to_string()),
            Verdict::Holds | Verdict::Violated(_) => None,
        };
        let witness = self.violation(answer).map(|(violation, events)| {
            let execution: Vec<String> = events.iter().map(|e| self.names.show_line(e)).collect();
            json!({ "cycle": self.cycle_json(&violation), "execution": execution })
        });
        json!({
            "file": self.source.name,
            "model": model,
            "property": property,
            "verdict": answer.verdict.name(),
            "by": by,
            "states": answer.cost.states,
            "transitions": answer.cost.transitions,
            "seconds": answer.cost.elapsed.as_secs_f64(),
            "peak_bytes": answer.cost.peak_bytes,
            "unchecked": self.unchecked(),
            "witness": witness,
            "error": error,
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

    /// The cycle in the execution that answers a question with no, and the execution.
    fn violation(&mut self, answer: &Answer) -> Option<(Violation, Vec<Event>)> {
        let Verdict::Violated(execution) = &answer.verdict else { return None };
        let events: Vec<Event> = execution.iter().map(|event| self.event(event)).collect();
        // In the cycle the line says enough.
        let bare: Vec<Event> =
            events.iter().map(|event| Event { place: Place::UNKNOWN, ..*event }).collect();
        Some((execution::judge(answer.question, &bare)?, events))
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
