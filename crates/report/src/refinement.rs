//! What came of comparing a library with its specification, for people.
//!
//! A history is laid out as a timeline: a column for each thread, a line for each step, and an arrow
//! where the marker of a call or return reaches another thread.

use crate::codes;
use crate::document::{self, Block, Document, Happening};
use crate::input_report::InputReport;
use crate::text::amount;
use check::refinement::{Difference, Event, History, Scope, Statistics};
use check::{Answer, Property, Question, Verdict};
use ir::{Instr, Pc, Tid, Value};
use lang::library::{Linked, Pair, Project};
use lang::source::Span;
use memory::rc11_views::Finding;
use memory::rc11_views::{Label, Space};
use serde_json::json;
use std::collections::HashMap;

/// An answer, and all that is needed to tell it.
pub struct Refinement<'a> {
    /// The files.
    pub project: &'a Project,
    /// The library.
    pub pair: &'a Pair,
    /// What was asked: of the library, or of a client.
    pub question: &'a Question,
    /// What came of it.
    pub answer: &'a Answer,
}

impl Refinement<'_> {
    /// Was a client's side of the bargain asked about, and not the library's?
    pub(crate) fn of_client(&self) -> bool {
        self.question.property == Property::Policy
    }

    /// Which histories were compared.
    pub(crate) fn scope(&self) -> &Scope {
        &self.question.scope
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> &Verdict {
        &self.answer.decisions[0].verdict
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.answer.compared.as_ref().map(|compared| compared.statistics).unwrap_or_default()
    }

    /// The program whose run is shown.
    pub(crate) fn subject(&self) -> &Linked {
        let client = self.pair.client.as_ref().filter(|_| self.of_client());
        client.unwrap_or(&self.pair.implementation)
    }

    /// What there is to say about the answer.
    pub fn document(&self) -> Document<'static> {
        let mut document = Document::default();
        let Pair { specification_name, .. } = self.pair;
        let subject = self.subject_name();
        let refines = match self.of_client() {
            false => format!("refines spec {specification_name}"),
            true => "keeps to the policy".to_string(),
        };
        let code = self.code().unwrap_or_default();
        match (self.verdict(), self.answer.history()) {
            (Verdict::Holds, _) => {
                document.line(format!("{subject}: {refines}"));
                document.line(format!("  established for {}", self.extent()));
                document.lines(&format!("  {}", self.also()));
                document.line(format!("  {}", self.correctness()));
            }
            (_, Some(History::Differs(difference))) => {
                document.line(format!("{} [{code}]", self.headline()));
                self.difference(difference, &mut document);
            }
            (_, Some(History::Wrong { finding, run })) => {
                let (what, at) = self.wrong(finding);
                document.line(format!("{subject}: {what} [{code}]"));
                document.line(format!("  at {at}, at the end of this run:"));
                document.gap();
                document.push(self.columns(run));
            }
            (_, Some(History::Stuck(stuck))) => {
                document.line(format!("{subject}: {} [{code}]", self.stuck_headline(stuck)));
                document.line(format!("  {}, at the end of this run:", self.stuck_reason(stuck)));
                document.gap();
                document.push(self.columns(&stuck.run));
                document.gap();
                document.line(
                    "  in the specification the call can always return after the same history; \
                     whatever returns keeps to the specification",
                );
            }
            (verdict, None) => {
                document.line(format!("{subject}: undecided"));
                let why = verdict.why().map(|why| self.why(why)).unwrap_or_default();
                document.line(format!("  {why}"));
                document.line(format!("  asked for {}", self.extent()));
            }
        }
        document.line(format!("  {}", effort(&self.statistics())));
        document
    }

    /// What users look up, if something is wrong.
    pub(crate) fn code(&self) -> Option<&'static str> {
        Some(match (self.answer.history()?, self.of_client()) {
            (History::Stuck(_), _) => codes::STUCK,
            (History::Differs(_), false) => codes::NOT_REFINED,
            (History::Differs(_), true) => codes::OFF_POLICY,
            (History::Wrong { finding, .. }, _) => match finding {
                Finding::Race { .. } => codes::RACE,
                Finding::Assertion { .. } => codes::ASSERTION,
                _ => codes::FAULT,
            },
        })
    }

    /// The library or client.
    pub(crate) fn subject_name(&self) -> String {
        match self.of_client() {
            false => format!("library {}", self.pair.name),
            true => format!("client of {}", self.pair.specification_name),
        }
    }

    /// What is wrong with a library or client that has one history too many.
    pub(crate) fn headline(&self) -> String {
        let fails = match self.of_client() {
            false => format!("does not refine spec {}", self.pair.specification_name),
            true => "does not keep to the policy".to_string(),
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
        match self.of_client() {
            false => "the specification",
            true => "the policy",
        }
    }

    fn difference(&self, difference: &Difference, document: &mut Document) {
        let who = match self.of_client() {
            false => "the library",
            true => "the client",
        };
        let whom = self.other_name();
        let which = if difference.shortest { "a shortest" } else { "a" };
        document.line(format!("  {which} history of {who} that {whom} does not have:"));
        document.gap();
        document.push(self.columns(&difference.run));
        let last = difference.run.iter().rev().find_map(|event| event.label.as_ref());
        if let Some(last) = last {
            let shown = difference.run.iter().filter(|event| self.shows(event)).count();
            let before = shown.saturating_sub(1);
            document.gap();
            document.line(format!(
                "  {whom} can follow up to step {before}, but not with step {shown}:"
            ));
            document.line(format!("    {}", self.sentence(last, &difference.run)));
            document.line(format!("  {}", self.reason(last, whom)));
        }
        if difference.instead.is_empty() {
            document.line("  it cannot go on at all");
        } else {
            document.line("  it could have gone on with");
            for label in &difference.instead {
                document.line(format!("    {}", self.sentence(label, &difference.run)));
            }
        }
    }

    /// Why a label may be impossible.
    fn reason(&self, label: &Label, whom: &str) -> String {
        match label {
            Label::Return { .. } if self.scope().history_only => {
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
            Some(Label::Propagate { .. }) => !self.scope().history_only,
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
                let writes = self.scope().most_writes();
                let what = format!("more than {writes} writes to `{}` pile up", location(loc));
                (what, at(tid, pc))
            }
            Finding::TooManySteps { tid, pc } => {
                ("a loop without accesses takes too many steps".to_string(), at(tid, pc))
            }
        }
    }

    /// The steps of a run, a column for each thread.
    fn columns(&self, run: &[Event]) -> Block<'static> {
        let program = &self.subject().system.program;
        let mut steps = Vec::new();
        let mut markers: Vec<Vec<String>> = vec![Vec::new(); program.threads.len()];
        let mut reached: HashMap<(Tid, Tid, Space), usize> = HashMap::new();
        let mut step = 0;
        for event in run {
            let number = self.shows(event).then(|| {
                step += 1;
                step
            });
            let happening = match (&event.label, event.at) {
                (Some(label @ (Label::Call { tid, .. } | Label::Return { tid, .. })), _) => {
                    markers[tid.index()].push(self.marker(label));
                    Happening::At(tid.index(), self.marker(label))
                }
                (Some(Label::Propagate { from, to, space }), _) => {
                    let count = reached.entry((*from, *to, *space)).or_default();
                    let marker = markers[from.index()].get(*count).cloned().unwrap_or_default();
                    *count += 1;
                    let what =
                        format!("`{marker}` reaches {}{}", self.thread(*to), self.space(*space));
                    Happening::Reaches { from: from.index(), to: to.index(), what }
                }
                (None, Some((tid, pc))) => match self.access(tid, pc, event.read) {
                    Some(text) => Happening::At(tid.index(), text),
                    None => continue,
                },
                (None, None) => continue,
            };
            steps.push((number, happening));
        }
        let threads = program.tids().map(|tid| self.thread(tid)).collect();
        Block::History(document::History { threads, steps })
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
        } = self.statistics();
        let history = self.answer.history().map(|history| self.sentences(history.run()));
        let instead = self.answer.difference().map(|difference| {
            let labels = difference.instead.iter();
            labels.map(|label| self.sentence(label, &difference.run)).collect::<Vec<String>>()
        });
        let mut object = crate::json::lines(sheet).first().map_or(json!({}), |line| json!(line));
        let holds = self.verdict().holds();
        object["library"] = json!({
            "matched": holds.then(|| self.matched()),
            "correctness": if self.scope().total { "total" } else { "partial" },
            "name": self.pair.name,
            "specification": self.pair.specification_name,
            "scope": self.extent(),
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
