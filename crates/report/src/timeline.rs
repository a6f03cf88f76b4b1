//! Histories of libraries as findings.
//!
//! What shows that a library does not refine its specification is a history: calls, returns, the
//! accesses between them, and the markers of calls and returns reaching other threads. It becomes a
//! [`Proof`] like any other, with one event for each of these, in the order in which they happened. A
//! propagation is an event of the thread that is reached, and an edge from the call or return to it. So
//! all faces can show it: as a drawing with arrows, in the player, as a code flow.

use crate::advice::Advice;
use crate::finding::{Finding, Kind};
use crate::input_report::{InputReport, Part, Reply};
use crate::place::Place;
use crate::proof::{Event, EventKind, Proof};
use crate::refinement::{Question, Refinement};
use crate::ruling::Ruling;
use crate::run::{Beginner, Start, Step, action_name};
use crate::shown::Shown;
use check::refinement::{self, History};
use check::{Cost, Problem, Verdict};
use ir::{Instr, Tid};
use lang::library::File;
use lang::{Diagnostic, Span};
use memory::rc11_views::Finding as Wrong;
use memory::rc11_views::{Label, Space};
use std::collections::HashMap;
use std::time::Duration;

/// The memory model, as reports name it.
const MODEL: &str = "rc11";

/// What reports call files that are read as one.
fn name(files: &[File]) -> String {
    let written = files.iter().filter(|file| file.name != lang::library::GENERATED);
    written.map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The sheet of files that cannot be used because of `why`.
pub fn refused(unusable: &lang::library::Unusable) -> InputReport {
    let why: &[Diagnostic] = &unusable.diagnostics;
    let sheet = InputReport::refused(&name(&unusable.files), &unusable.text, MODEL, why);
    InputReport { parts: Part::of(&unusable.files, &unusable.text), ..sheet }
}

impl Refinement<'_> {
    /// The answer as a sheet, which is what the other faces are drawn from.
    pub fn sheet(&self, elapsed: Duration) -> InputReport {
        let text = &self.project.text;
        let mut sheet = InputReport::new(&name(&self.project.files), text.as_str().into(), MODEL);
        if self.project.pairs.len() > 1 {
            sheet.file = format!("{} ({})", sheet.file, self.pair.name);
        }
        sheet.parts = Part::of(&self.project.files, text);
        if let ([], true) = (&*sheet.parts, self.project.pairs.len() > 1) {
            // The sheet's name is not the file's.
            let file = name(&self.project.files);
            sheet.parts = vec![Part { file, first: 1, written: true }];
        }
        sheet.warnings = self.project.warnings.iter().cloned().chain(self.wrapped()).collect();
        let statistics = &self.answer.statistics;
        sheet.cost = Cost {
            states: statistics.implementation + statistics.specification,
            transitions: statistics.pairs,
            elapsed,
            peak_bytes: statistics.bytes,
            ..Cost::default()
        };
        let (ruling, why) = match &self.answer.verdict {
            Verdict::Holds => {
                sheet.scope = Some(format!("{}; {}", self.scope(), self.correctness()));
                (Ruling::Holds, None)
            }
            Verdict::Undecided(why) => (Ruling::Undecided, Some(self.why(*why))),
            Verdict::Violated(witness) if matches!(witness.problem, Problem::Fault(_)) => {
                sheet.faults.extend(self.finding());
                let why = "the program has a run-time error".to_string();
                (Ruling::Undecided, Some(why))
            }
            Verdict::Violated(_) => (Ruling::Violated, None),
        };
        let findings = match ruling {
            Ruling::Violated => self.finding().into_iter().collect(),
            _ => Vec::new(),
        };
        sheet.replies.push(Reply::new(self.property().name(), ruling, why, findings));
        sheet
    }

    /// What is wrong, if anything is.
    pub fn finding(&self) -> Option<Finding> {
        let code = self.code()?;
        let (kind, message, note, run) = match self.answer.history()? {
            History::Differs(difference) => {
                let kind = match self.question {
                    Question::Library => Kind::NotRefined,
                    Question::Client => Kind::OffPolicy,
                };
                let last = difference.run.iter().rev().find_map(|event| event.label.as_ref())?;
                let subject = self.headline();
                let message = format!("{subject}: {}", self.sentence(last, &difference.run));
                (kind, message, self.explanation(difference), &difference.run)
            }
            History::Wrong { finding, run } => {
                let kind = match finding {
                    Wrong::Race { .. } => Kind::Race,
                    Wrong::Assertion { .. } => Kind::Assertion,
                    _ => Kind::Fault,
                };
                let (what, at) = self.wrong(finding);
                (kind, format!("{}: {what}", self.subject_name()), format!("At {at}."), run)
            }
            History::Stuck(stuck) => {
                let message = format!("{}: {}", self.subject_name(), self.stuck_headline(stuck));
                (Kind::Stuck, message, format!("{}.", self.stuck_reason(stuck)), &stuck.run)
            }
        };
        let (proof, steps) = self.events(run);
        let last = proof.events.last()?;
        Some(Finding {
            code,
            problem: kind,
            message,
            thread: last.thread.clone().unwrap_or_default(),
            tid: last.tid.unwrap_or_default(),
            place: last.place.clone()?,
            locals: Vec::new(),
            start: Start { memory: Vec::new(), threads: self.beginners() },
            run: steps,
            certificate: Some(proof),
            note: Some(note),
            observed: None,
            advice: self.advice(kind),
        })
    }

    fn beginners(&self) -> Vec<Beginner> {
        let threads = self.subject().system.program.tids();
        threads.map(|tid| Beginner { thread: self.thread(tid), locals: Vec::new() }).collect()
    }

    fn advice(&self, kind: Kind) -> Vec<Advice> {
        let text = match kind {
            Kind::NotRefined if self.settings.history_only => {
                "give the method's result its place among the others': do what decides it in one \
                 atomic step, or allow the result in the specification"
            }
            Kind::NotRefined => {
                "if clients may rely on it, let what one method writes be read with `acq` and written \
                 with `rel`, so that what happened before the one has happened before the other; if \
                 they may not, make the specification as weak (`rlx`, or `prel` and `pacq`)"
            }
            Kind::OffPolicy => {
                "call as the policy says, or check the library under a client that does this"
            }
            Kind::Race => {
                "order the two accesses by release and acquire, inside the library or by a policy that \
                 keeps the calls apart; or make the location atomic"
            }
            _ => return Vec::new(),
        };
        vec![Advice::new(text)]
    }

    fn place_of(&self, span: Option<Span>, text: String) -> Place {
        let span = span.unwrap_or_else(|| Span::new(0, 0));
        let before = &self.project.text[..span.start];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let whole_line = 1 + before.matches('\n').count();
        let column = 1 + before[start..].chars().count();
        let several = self.project.files.len() > 1;
        let file = self.project.locate(span).filter(|_| several).map(|(file, _)| file);
        let skipped =
            file.map_or(0, |file| self.project.text[..file.span.start].matches('\n').count());
        let file = file.map(|file| file.name.clone());
        Place { line: whole_line - skipped, column, text, file, elsewhere: None, whole_line, span }
    }

    /// The events of a run that readers want to see, and the run made of them.
    fn events(&self, run: &[refinement::Event]) -> (Proof, Vec<Step>) {
        let program = &self.subject().system.program;
        let mut events: Vec<Event> = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        let mut po: Vec<Vec<usize>> = vec![Vec::new(); program.threads.len()];
        let mut propagation = Vec::new();
        let mut markers: Vec<Vec<usize>> = vec![Vec::new(); program.threads.len()];
        let mut reached: HashMap<(Tid, Tid, Space), usize> = HashMap::new();
        for step in run {
            let id = events.len();
            let instr = step.at.map(|(tid, pc)| &program.step(tid, pc).instr);
            let span = step.at.and_then(|(tid, pc)| self.place(tid, pc));
            let (tid, kind, action, label, place) = match (&step.label, step.at) {
                (Some(label @ (Label::Call { tid, .. } | Label::Return { tid, .. })), _) => {
                    markers[tid.index()].push(id);
                    let text = self.marker(label);
                    let action = instr.map_or("call", action_name);
                    (*tid, EventKind::Marker, action, text.clone(), self.place_of(span, text))
                }
                (Some(Label::Propagate { from, to, space }), _) => {
                    if self.settings.history_only {
                        continue;
                    }
                    let count = reached.entry((*from, *to, *space)).or_default();
                    let Some(&marker) = markers[from.index()].get(*count) else { continue };
                    *count += 1;
                    propagation.push((marker, id));
                    let text = format!(
                        "`{}` of {} arrives{}",
                        events[marker].label,
                        self.thread(*from),
                        self.space(*space)
                    );
                    let of = events[marker].place.as_ref().map(|place| place.span);
                    let place = self.place_of(of, text.clone());
                    (*to, EventKind::Arrival, "propagate", text, place)
                }
                (None, Some((tid, pc))) => {
                    let Some(instr) = instr.filter(|instr| instr.place().is_some()) else {
                        continue;
                    };
                    let kind = match instr {
                        Instr::Load { .. } | Instr::Wait { .. } => EventKind::Read,
                        Instr::Store { .. } => EventKind::Write,
                        _ => EventKind::Update,
                    };
                    let Some(text) = self.source(tid, pc) else { continue };
                    let label = match step.read {
                        Some(value) => format!("{text}  → {value}"),
                        None => text.clone(),
                    };
                    (tid, kind, action_name(instr), label, self.place_of(span, text))
                }
                (None, None) => continue,
            };
            let thread = self.thread(tid);
            let place_name = instr
                .and_then(Instr::place)
                .map(|place| program.locations[place.base.index()].display_name());
            po[tid.index()].push(id);
            steps.push(Step {
                thread: thread.clone(),
                tid,
                place: place.clone(),
                action,
                location: place_name.clone(),
                read: step.read.map(Shown::from),
                written: None,
                assigned: Vec::new(),
                events: vec![id],
                effect: None,
                newer: 0,
                stale: None,
            });
            events.push(Event {
                id,
                thread: Some(thread),
                tid: Some(tid),
                kind,
                mode: None,
                location: None,
                read: step.read.map(Shown::from),
                written: None,
                label,
                place: Some(place),
            });
        }
        let last = events.len().saturating_sub(1);
        let proof = Proof {
            events,
            po,
            rf: Vec::new(),
            mo: Vec::new(),
            fr: Vec::new(),
            sw: Vec::new(),
            hb: Vec::new(),
            access: last,
            other: last,
            newest: None,
            used_by: None,
            propagation,
            timeline: true,
            conclusive: true,
            cycle: Vec::new(),
        };
        (proof, steps)
    }
}
