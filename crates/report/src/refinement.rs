//! What came of comparing a library with its specification, for people.
//!
//! A history is laid out as a timeline: a column for each thread, a line for each step, and an arrow
//! where the marker of a call or return reaches another thread.

use crate::codes;
use crate::input_report::InputReport;
use crate::text::amount;
use check::refinement::{Compared, Difference, Event, History, Settings, Statistics};
use check::{Property, Verdict};
use ir::{Instr, Pc, Tid, Value};
use lang::library::{Linked, Pair, Project};
use lang::source::Span;
use memory::rc11_views::Finding;
use memory::rc11_views::{Label, Space};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;

/// What was compared with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// The library with its specification.
    Library,
    /// A client's calls with those that the policy allows.
    Client,
}

/// An answer, and all that is needed to tell it.
pub struct Refinement<'a> {
    /// The files.
    pub project: &'a Project,
    /// The library.
    pub pair: &'a Pair,
    /// What was asked.
    pub question: Question,
    /// How far.
    pub settings: &'a Settings,
    /// What came of it.
    pub answer: &'a Compared,
}

impl Refinement<'_> {
    /// The property that was asked about.
    pub fn property(&self) -> Property {
        match self.question {
            Question::Library => Property::Refinement,
            Question::Client => Property::Policy,
        }
    }

    /// The program whose run is shown.
    pub(crate) fn subject(&self) -> &Linked {
        match (self.question, &self.pair.client) {
            (Question::Client, Some(client)) => client,
            _ => &self.pair.implementation,
        }
    }

    /// The answer as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let Pair { specification_name, .. } = self.pair;
        let subject = self.subject_name();
        let refines = match self.question {
            Question::Library => format!("refines spec {specification_name}"),
            Question::Client => "keeps to the policy".to_string(),
        };
        match (&self.answer.verdict, self.answer.history()) {
            (Verdict::Holds, _) => {
                let _ = writeln!(out, "{subject}: {refines}");
                let _ = writeln!(out, "  established for {}", self.scope());
                let _ = writeln!(out, "  {}", self.also());
                let _ = writeln!(out, "  {}", self.correctness());
            }
            (_, Some(History::Differs(difference))) => {
                let _ = writeln!(out, "{} [{}]", self.headline(), self.code().unwrap_or_default());
                self.difference(difference, &mut out);
            }
            (_, Some(History::Wrong { finding, run })) => {
                let (what, at) = self.wrong(finding);
                let _ = writeln!(out, "{subject}: {what} [{}]", self.code().unwrap_or_default());
                let _ = writeln!(out, "  at {at}, at the end of this run:\n");
                out.push_str(&self.timeline(run));
            }
            (_, Some(History::Stuck(stuck))) => {
                let _ = writeln!(
                    out,
                    "{subject}: {} [{}]",
                    self.stuck_headline(stuck),
                    self.code().unwrap_or_default()
                );
                let _ = writeln!(out, "  {}, at the end of this run:\n", self.stuck_reason(stuck));
                out.push_str(&self.timeline(&stuck.run));
                let _ = writeln!(
                    out,
                    "\n  in the specification the call can always return after the same history; \
                     whatever returns keeps to the specification"
                );
            }
            (verdict, None) => {
                let _ = writeln!(out, "{subject}: undecided");
                let why = verdict.why().map(|why| self.why(why)).unwrap_or_default();
                let _ = writeln!(out, "  {why}");
                let _ = writeln!(out, "  asked for {}", self.scope());
            }
        }
        let _ = writeln!(out, "  {}", effort(&self.answer.statistics));
        out
    }

    /// What users look up, if something is wrong.
    pub(crate) fn code(&self) -> Option<&'static str> {
        Some(match (self.answer.history()?, self.question) {
            (History::Stuck(_), _) => codes::STUCK,
            (History::Differs(_), Question::Library) => codes::NOT_REFINED,
            (History::Differs(_), Question::Client) => codes::OFF_POLICY,
            (History::Wrong { finding, .. }, _) => match finding {
                Finding::Race { .. } => codes::RACE,
                Finding::Assertion { .. } => codes::ASSERTION,
                _ => codes::FAULT,
            },
        })
    }

    /// The library or client.
    pub(crate) fn subject_name(&self) -> String {
        match self.question {
            Question::Library => format!("library {}", self.pair.name),
            Question::Client => format!("client of {}", self.pair.specification_name),
        }
    }

    /// What is wrong with a library or client that has one history too many.
    pub(crate) fn headline(&self) -> String {
        let fails = match self.question {
            Question::Library => format!("does not refine spec {}", self.pair.specification_name),
            Question::Client => "does not keep to the policy".to_string(),
        };
        format!("{}: {fails}", self.subject_name())
    }

    /// Why the last step of a history is one too many, in sentences.
    pub(crate) fn explanation(&self, difference: &Difference) -> String {
        let whom = self.other_name();
        let shown = difference.run.iter().filter(|event| self.shows(event)).count();
        let last = difference.run.iter().rev().find_map(|event| event.label.as_ref());
        let reason = last.map(|last| self.reason(last, whom)).unwrap_or_default();
        let instead: Vec<String> =
            difference.instead.iter().map(|label| self.sentence(label, &difference.run)).collect();
        let instead = match instead.as_slice() {
            [] => "It cannot go on at all.".to_string(),
            some => format!("It could have gone on with: {}.", some.join("; ")),
        };
        format!(
            "Of the calls, returns and propagations, {whom} can follow all but the last, number {shown}: \
             {reason}. {instead}"
        )
    }

    fn other_name(&self) -> &'static str {
        match self.question {
            Question::Library => "the specification",
            Question::Client => "the policy",
        }
    }

    fn difference(&self, difference: &Difference, out: &mut String) {
        let who = match self.question {
            Question::Library => "the library",
            Question::Client => "the client",
        };
        let whom = self.other_name();
        let visible = difference.run.iter().filter(|event| self.shows(event)).count();
        let which = if difference.shortest { "a shortest" } else { "a" };
        let _ = writeln!(out, "  {which} history of {who} that {whom} does not have:\n");
        out.push_str(&self.timeline(&difference.run));
        let last = difference.run.iter().rev().find_map(|event| event.label.as_ref());
        if let Some(last) = last {
            let _ = writeln!(
                out,
                "\n  {whom} can follow up to step {}, but not with step {visible}:",
                visible.saturating_sub(1)
            );
            let _ = writeln!(out, "    {}", self.sentence(last, &difference.run));
            let _ = writeln!(out, "  {}", self.reason(last, whom));
        }
        if difference.instead.is_empty() {
            let _ = writeln!(out, "  it cannot go on at all");
        } else {
            let _ = writeln!(out, "  it could have gone on with");
            for label in &difference.instead {
                let _ = writeln!(out, "    {}", self.sentence(label, &difference.run));
            }
        }
    }

    /// Why a label may be impossible.
    fn reason(&self, label: &Label, whom: &str) -> String {
        match label {
            Label::Return { .. } if self.settings.history_only => {
                format!("after these calls and returns, {whom} cannot give this result")
            }
            Label::Return { .. } => format!(
                "with what had and had not propagated by then, {whom} cannot give this result"
            ),
            Label::Propagate { .. } => format!(
                "in {whom} something happens before that marker that has not reached the thread yet"
            ),
            Label::Call { .. } => format!("{whom} does not allow this call now"),
        }
    }

    fn shows(&self, event: &Event) -> bool {
        match &event.label {
            None => false,
            Some(Label::Propagate { .. }) => !self.settings.history_only,
            Some(_) => true,
        }
    }

    pub(crate) fn thread(&self, tid: Tid) -> String {
        self.subject().system.program.threads[tid.index()].display_name()
    }

    fn method(&self, number: u32) -> &str {
        // Numbers are those of the specification.
        self.pair.methods.get(number as usize).map_or("?", String::as_str)
    }

    pub(crate) fn call(&self, method: u32, arguments: &[Value]) -> String {
        let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
        format!("{}({})", self.method(method), arguments.join(", "))
    }

    pub(crate) fn marker(&self, label: &Label) -> String {
        match label {
            Label::Call { method, arguments, .. } => {
                format!("call {}", self.call(*method, arguments))
            }
            Label::Return { value: Some(value), .. } => format!("return {value}"),
            Label::Return { .. } => "return".to_string(),
            Label::Propagate { .. } => String::new(),
        }
    }

    pub(crate) fn space(&self, space: Space) -> String {
        match self.pair.one_space {
            true => String::new(),
            false => format!(" for space {}", self.project.spaces[space.0 as usize]),
        }
    }

    /// A label in words. For a propagation, the run tells which marker it is.
    pub(crate) fn sentence(&self, label: &Label, run: &[Event]) -> String {
        match label {
            Label::Call { tid, method, arguments } => {
                format!("{} calls {}", self.thread(*tid), self.call(*method, arguments))
            }
            Label::Return { tid, value: Some(value) } => {
                format!("{} returns {value}", self.thread(*tid))
            }
            Label::Return { tid, value: None } => format!("{} returns", self.thread(*tid)),
            Label::Propagate { from, to, space } => {
                let marker = self.next_marker(run, label, *from);
                format!(
                    "the marker of `{marker}` of {} reaches {}{}",
                    self.thread(*from),
                    self.thread(*to),
                    self.space(*space)
                )
            }
        }
    }

    /// The marker that a propagation at the end of the run would be about.
    fn next_marker(&self, run: &[Event], label: &Label, from: Tid) -> String {
        let visible: Vec<&Label> = run.iter().filter_map(|event| event.label.as_ref()).collect();
        // The run's last label is the one that failed; it does not count.
        let done = &visible[..visible.len().saturating_sub(1)];
        let before = done.iter().filter(|known| **known == label).count();
        let markers = visible.iter().filter(|known| match known {
            Label::Call { tid, .. } | Label::Return { tid, .. } => *tid == from,
            Label::Propagate { .. } => false,
        });
        markers.copied().nth(before).map_or("?".to_string(), |label| self.marker(label))
    }

    pub(crate) fn place(&self, tid: Tid, pc: Pc) -> Option<Span> {
        place_in(self.subject(), tid, pc)
    }

    pub(crate) fn wrong(&self, finding: &Finding) -> (String, String) {
        self.wrong_in(self.subject(), finding)
    }

    /// What is wrong in one of the programs, and where.
    pub(crate) fn wrong_in(&self, linked: &Linked, finding: &Finding) -> (String, String) {
        let program = &linked.system.program;
        let at = |tid: Tid, pc: Pc| {
            let line =
                place_in(linked, tid, pc).map_or(String::new(), |span| self.project.line(span));
            format!("{line} (thread {})", program.threads[tid.index()].display_name())
        };
        let location = |loc: ir::Loc| program.locations[loc.index()].display_name();
        match *finding {
            Finding::Race { tid, pc, loc } => {
                (format!("a race on `{}`", location(loc)), at(tid, pc))
            }
            Finding::Assertion { tid, pc } => ("an assertion fails".to_string(), at(tid, pc)),
            Finding::Fault { tid, pc, fault } => (fault.to_string(), at(tid, pc)),
            Finding::TooManyWrites { tid, pc, loc } => {
                let writes = self.settings.most_writes();
                let what = format!("more than {writes} writes to `{}` pile up", location(loc));
                (what, at(tid, pc))
            }
            Finding::TooManySteps { tid, pc } => {
                ("a loop without accesses takes too many steps".to_string(), at(tid, pc))
            }
        }
    }

    /// The steps of a run, a column for each thread.
    fn timeline(&self, run: &[Event]) -> String {
        let program = &self.subject().system.program;
        let threads = program.threads.len();
        let mut rows: Vec<(Option<usize>, Vec<String>)> = Vec::new();
        let mut markers: Vec<Vec<String>> = vec![Vec::new(); threads];
        let mut reached: HashMap<(Tid, Tid, Space), usize> = HashMap::new();
        let mut arrows: Vec<Option<(usize, usize, String)>> = Vec::new();
        let mut step = 0;
        for event in run {
            let number = self.shows(event).then(|| {
                step += 1;
                step
            });
            let mut cells = vec![String::new(); threads];
            let mut arrow = None;
            match (&event.label, event.at) {
                (Some(label @ (Label::Call { tid, .. } | Label::Return { tid, .. })), _) => {
                    cells[tid.index()] = self.marker(label);
                    markers[tid.index()].push(self.marker(label));
                }
                (Some(Label::Propagate { from, to, space }), _) => {
                    let count = reached.entry((*from, *to, *space)).or_default();
                    let marker = markers[from.index()].get(*count).cloned().unwrap_or_default();
                    *count += 1;
                    let what =
                        format!("`{marker}` reaches {}{}", self.thread(*to), self.space(*space));
                    arrow = Some((from.index(), to.index(), what));
                }
                (None, Some((tid, pc))) => match self.access(tid, pc, event.read) {
                    Some(text) => cells[tid.index()] = text,
                    None => continue,
                },
                (None, None) => continue,
            }
            rows.push((number, cells));
            arrows.push(arrow);
        }
        let names: Vec<String> = program.tids().map(|tid| self.thread(tid)).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|(_, cells)| cells[column].chars().count());
            cells.chain([names[column].chars().count(), 10]).max().unwrap_or(10)
        };
        let widths: Vec<usize> = (0..threads).map(width).collect();
        let mut out = String::new();
        let line = |number: Option<usize>, text: String, out: &mut String| {
            let number = number.map_or(String::new(), |n| n.to_string());
            let _ = writeln!(out, "{}", format!("  {number:>4}  {text}").trim_end());
        };
        let pad = |text: &str, width: usize| format!("{text:<width$}");
        let header: Vec<String> = names.iter().zip(&widths).map(|(n, &w)| pad(n, w)).collect();
        line(None, header.join("   "), &mut out);
        for ((number, cells), arrow) in rows.into_iter().zip(arrows) {
            let text = match arrow {
                None => {
                    let cells = cells.iter().zip(&widths).map(|(cell, &width)| pad(cell, width));
                    cells.collect::<Vec<_>>().join("   ")
                }
                Some((from, to, what)) => {
                    let start = |column: usize| {
                        widths[..column].iter().map(|width| width + 3).sum::<usize>() + 1
                    };
                    let (left, right) = (start(from.min(to)), start(from.max(to)));
                    let total: usize = widths.iter().map(|width| width + 3).sum();
                    let mut line: Vec<char> = vec![' '; total];
                    line[left..=right].fill('─');
                    let (tail, head) = if from < to { (left, right) } else { (right, left) };
                    line[tail] = '●';
                    line[head] = if from < to { '▶' } else { '◀' };
                    format!("{}{what}", line.into_iter().collect::<String>())
                }
            };
            line(number, text, &mut out);
        }
        out
    }

    /// An access of a library or client, with what it read.
    fn access(&self, tid: Tid, pc: Pc, read: Option<Value>) -> Option<String> {
        let program = &self.subject().system.program;
        let instr: &Instr = &program.step(tid, pc).instr;
        instr.place()?;
        let text = self.source(tid, pc)?;
        Some(match read {
            Some(value) => format!("· {text}  → {value}"),
            None => format!("· {text}"),
        })
    }

    /// A step as the text has it, on one line.
    pub(crate) fn source(&self, tid: Tid, pc: Pc) -> Option<String> {
        let span = self.place(tid, pc)?;
        let words = self.project.text[span.start..span.end].split_whitespace();
        Some(words.collect::<Vec<_>>().join(" "))
    }

    /// The answer as a JSON object: the fields that every check has, and what is known of histories.
    pub fn json(&self, sheet: &InputReport) -> serde_json::Value {
        let Statistics {
            implementation, specification, sets, largest_set, pairs, antichain, ..
        } = self.answer.statistics;
        let history = self.answer.history().map(|history| self.sentences(history.run()));
        let instead = self.answer.difference().map(|difference| {
            let labels = difference.instead.iter();
            labels.map(|label| self.sentence(label, &difference.run)).collect::<Vec<String>>()
        });
        let mut object = crate::json::lines(sheet).first().map_or(json!({}), |line| json!(line));
        let holds = self.answer.verdict.holds();
        object["library"] = json!({
            "matched": holds.then(|| self.matched()),
            "correctness": if self.settings.total { "total" } else { "partial" },
            "name": self.pair.name,
            "specification": self.pair.specification_name,
            "scope": self.scope(),
            "history": history,
            "instead": instead,
            "implementation_states": implementation,
            "specification_states": specification,
            "specification_sets": sets,
            "largest_set": largest_set,
            "pairs": pairs,
            "antichain": antichain,
        });
        object
    }

    /// A history in words.
    fn sentences(&self, run: &[Event]) -> Vec<String> {
        let shown = (0..run.len()).filter(|&k| self.shows(&run[k]));
        let sentence = |k: usize| run[k].label.as_ref().map(|l| self.sentence(l, &run[..=k]));
        shown.filter_map(sentence).collect()
    }
}

pub(crate) fn place_in(linked: &Linked, tid: Tid, pc: Pc) -> Option<Span> {
    let origin = linked.system.program.step(tid, pc).origin;
    linked.spans.get(origin.index()).copied()
}

fn effort(statistics: &Statistics) -> String {
    let Statistics { implementation, specification, pairs, antichain, sets, .. } = *statistics;
    format!(
        "{} states of the first, {} of the second in {} sets; {} pairs explored, antichain of {}",
        amount::count(implementation),
        amount::count(specification),
        amount::count(sets),
        amount::count(pairs),
        amount::count(antichain)
    )
}
