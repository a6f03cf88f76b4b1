//! The report on one input, the same for every analysis.
//!
//! A check against RC11, a search for attacks on a machine with store buffers and a judgement of a
//! recording have little in common, but their answers do: an input, questions, an answer to each, and
//! findings. [`InputReport`] is that. Text, JSON, pages, SARIF and JUnit are drawn from it alone.

use crate::advice::Advice;
use crate::finding::Finding;
use crate::ruling::{self, Ruling};
use check::{
    Answer, By, Cost, Decision, Extent, Model, NotAsked, Property, Question, Reach, Require, Why,
    Witness,
};
use lang::source::{File, Language};
use lang::{Diagnostic, Severity, Source};
use serde::Serialize;
use std::collections::HashSet;
use std::sync::Arc;

/// What is known of one input.
#[derive(Clone, Debug)]
pub struct InputReport {
    /// What messages call the input.
    pub file: String,
    /// Its text, as far as there is any.
    pub text: Arc<str>,
    /// If it was read from several files: which lines are from which, in their order.
    pub parts: Vec<Part>,
    /// The memory model.
    pub model: &'static str,
    /// The answers, in the order in which they are shown.
    pub replies: Vec<Reply>,
    /// Run-time errors of the program.
    pub faults: Vec<Finding>,
    /// Run-time errors that the user knows already, each with why it is not told.
    pub known_faults: Vec<(Finding, String)>,
    /// Where threads can get stuck.
    pub stuck: Vec<Finding>,
    /// What may not be as meant: the language's warnings, values that wrapped around, `sc` accesses.
    pub warnings: Vec<Diagnostic>,
    /// Why the input could not be looked at, or what went wrong in Fencepost itself.
    pub errors: Vec<Diagnostic>,
    /// What it cost.
    pub cost: Cost,
    /// If the input asks whether a final state exists: the answer, in a few words.
    pub exists: Option<String>,
    /// What was not looked for, although the input could have it.
    pub unchecked: Vec<Unchecked>,
    /// How attacks were looked for, if they were.
    pub attacks: Option<Attacks>,
    /// Is the run to a stuck thread part of what was asked?
    pub extent: Extent,
    /// What an answer covers and leaves open, where that is worth a sentence.
    pub scope: Option<String>,
    /// What it means that everything holds, in a sentence.
    pub conclusion: Option<String>,
    /// Was a limit reached that can be raised?
    pub limited: bool,
}

/// Lines of a text that is made of several files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The file's name.
    pub file: String,
    /// The first of its lines in the whole text, counted from 1.
    pub first: usize,
    /// Is there such a file? A client that a policy stands for is in none.
    pub written: bool,
}

impl Part {
    /// Which lines of a text of several files are from which; none if there is only one file.
    pub(crate) fn of(files: &[File], text: &str) -> Vec<Part> {
        let part = |file: &File| Part {
            file: file.name.clone(),
            first: 1 + text[..file.span.start].matches('\n').count(),
            written: file.name != lang::library::GENERATED,
        };
        match files {
            [_] => Vec::new(),
            many => many.iter().map(part).collect(),
        }
    }
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What was asked.
    pub property: &'static str,
    /// The answer.
    pub ruling: Ruling,
    /// Why nobody knows.
    pub why: Option<String>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How it was answered, if not by interleavings.
    pub weak: Option<WeakAnswer>,
    /// Does the input have to have the property?
    pub required: bool,
    /// If it is violated, are all places among the findings?
    pub is_complete: bool,
    /// Is the answer good or bad for a reason of the user's own?
    pub standing: Standing,
    /// Findings that the user knows already, each with why it is not told.
    pub known: Vec<(Finding, String)>,
}

/// What the user said beforehand about an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// Nothing: the property has to hold.
    #[default]
    Ordinary,
    /// The answer is fine, for the reason given.
    Accepted(String),
    /// What was found is fine, for the reason given, but not everything was looked for.
    Open(String),
    /// The answer is not fine, for the reason given.
    Refused(String),
}

impl Reply {
    /// A reply about a property that the input has to have, found without exploring weak memory.
    pub fn new(
        property: &'static str,
        ruling: Ruling,
        why: Option<String>,
        findings: Vec<Finding>,
    ) -> Self {
        Reply {
            property,
            ruling,
            why,
            findings,
            weak: None,
            required: true,
            is_complete: true,
            standing: Standing::default(),
            known: Vec::new(),
        }
    }

    /// How far the answer goes, in a few words, if it comes from the weak memory itself.
    pub fn scope(&self) -> Option<String> {
        let weak = self.weak.filter(|_| self.ruling == Ruling::Holds)?;
        Some(match weak.stale {
            None => "in all executions of the weak memory".to_string(),
            Some(most) => {
                format!("in executions of the weak memory with at most {most} stale writes")
            }
        })
    }
}

/// That an answer comes from exploring the weak memory itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WeakAnswer {
    /// The most stale writes that a location had in the executions covered; none if all were covered.
    pub stale: Option<usize>,
}

/// A question that was not asked, although the input could have been asked it: nothing is said to hold
/// that was not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Unchecked {
    /// What was not asked.
    pub property: &'static str,
    /// Why not, and what asks it.
    pub why: &'static str,
}

/// How attacks on a machine with store buffers were looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Attacks {
    /// How many there are: pairs of a store and a later access.
    pub attacks: u64,
    /// How many of them the text does not rule out.
    pub attacks_examined: u64,
    /// The theorem relied on.
    pub method: &'static str,
}

/// A diagnostic as plain data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Notice {
    /// What a user looks up.
    pub code: &'static str,
    /// What it is about, in one line.
    pub message: String,
    /// Its line, counted from 1, if it has a place.
    pub line: Option<usize>,
    /// Its column, counted from 1 in characters.
    pub column: Option<usize>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Notice {
    /// A diagnostic about `text`.
    pub fn new(diagnostic: &Diagnostic, text: &str) -> Self {
        let before = diagnostic.span().and_then(|span| text.get(..span.start));
        let place = before.map(|before| {
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
        });
        Notice {
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            help: diagnostic.help.clone(),
        }
    }

    /// `file:line:column: message`
    pub fn located(&self, file: &str) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}: {}", self.message),
            _ => format!("{file}: {}", self.message),
        }
    }
}

impl InputReport {
    /// An empty sheet about an input.
    pub fn new(file: &str, text: Arc<str>, model: &'static str) -> Self {
        InputReport {
            file: file.to_string(),
            text,
            parts: Vec::new(),
            model,
            replies: Vec::new(),
            faults: Vec::new(),
            known_faults: Vec::new(),
            stuck: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            cost: Cost::default(),
            exists: None,
            unchecked: Vec::new(),
            attacks: None,
            extent: Extent::First,
            scope: None,
            conclusion: None,
            limited: false,
        }
    }

    /// Puts changes that are known to be enough in place of advice that rules out one execution only.
    pub fn advise(&mut self, advice: &Advice) {
        for finding in self.replies.iter_mut().flat_map(|reply| &mut reply.findings) {
            if finding.advice.iter().any(|old| old.step) {
                finding.advice.retain(|old| !old.step);
                finding.advice.insert(0, advice.clone());
            }
        }
    }

    /// Is there advice that rules out one execution only?
    pub fn advises_steps(&self) -> bool {
        let findings = self.replies.iter().flat_map(|reply| &reply.findings);
        findings.flat_map(|finding| &finding.advice).any(|advice| advice.step)
    }

    /// The report on a check of `source`.
    pub fn of(source: &Source, question: &Question, answer: &Answer) -> Self {
        let finding = |property, witness: &Witness| {
            Finding::of(source, &answer.program, question.model, property, witness)
        };
        let reply = |decision: &Decision| {
            let Decision { property, verdict, .. } = decision;
            let more = answer.more.iter().filter(|(p, _)| p == property).map(|(_, w)| w);
            let witnesses = verdict.witness().into_iter().chain(more);
            let is_robustness =
                matches!(property, Property::Robustness | Property::ObservationalRobustness);
            Reply {
                property: property.name(),
                ruling: Ruling::of(verdict),
                why: verdict.why().map(|why| why.to_string()),
                findings: distinct(witnesses.map(|witness| finding(Some(*property), witness))),
                weak: match decision.by {
                    By::WeakMemory { stale } => Some(WeakAnswer { stale }),
                    _ => None,
                },
                required: !is_robustness || question.require == Require::Robust,
                is_complete: question.finds_all(decision) && answer.cost.limit.is_none(),
                standing: Standing::default(),
                known: Vec::new(),
            }
        };
        let mut warnings = source.warnings.clone();
        warnings.extend(ruling::wrapped(source, answer));
        let mut report = InputReport {
            replies: answer.decisions.iter().map(reply).collect(),
            faults: answer.faults.iter().map(|witness| finding(None, witness)).collect(),
            stuck: answer.stuck.iter().map(|witness| finding(None, witness)).collect(),
            warnings,
            errors: answer.internal.iter().map(|what| ruling::internal(what)).collect(),
            exists: answer.reach.map(exists),
            unchecked: unchecked(answer),
            attacks: answer.decisions.iter().find_map(attacks),
            cost: answer.cost,
            extent: question.extent,
            parts: Part::of(&source.files, &source.text),
            limited: question.model.machine().is_none()
                && answer.verdicts().any(|verdict| matches!(verdict.why(), Some(Why::Limit(_)))),
            ..InputReport::new(&source.name, source.text.clone(), question.model.name())
        };
        report.conclusion = match report.is_safe_only() {
            true => Some(safe(question.model, &report)),
            false if report.verdict() == Ruling::Holds.name() => {
                Some(conclusion(question.model, source.language, answer))
            }
            false => None,
        };
        report
    }

    /// The sheet of an input that could not be looked at because of `why`.
    pub fn refused(file: &str, text: &str, model: &'static str, why: &[Diagnostic]) -> Self {
        let errors = why.iter().filter(|d| d.severity == Severity::Error).cloned().collect();
        InputReport { errors, ..InputReport::new(file, text.into(), model) }
    }

    /// A diagnostic about the input as plain data.
    pub fn notice(&self, diagnostic: &Diagnostic) -> Notice {
        Notice::new(diagnostic, &self.text)
    }

    /// A diagnostic about the input as a terminal of so many columns shows it.
    pub fn shown(&self, diagnostic: &Diagnostic, color: bool, width: usize) -> String {
        let origin = |line| {
            let (file, line) = self.origin(line).unwrap_or((&self.file, line));
            (file.to_string(), line)
        };
        diagnostic.render_within(&self.file, &self.text, &origin, color, width)
    }

    /// `file:line:column: message`
    pub fn located(&self, notice: &Notice) -> String {
        match notice.line.and_then(|line| self.origin(line)) {
            Some((file, line)) => Notice { line: Some(line), ..notice.clone() }.located(file),
            None => notice.located(&self.file),
        }
    }

    /// The file that a line of the text is in, and the line in that file; `None` if it is in no file.
    pub fn origin(&self, line: usize) -> Option<(&str, usize)> {
        match self.parts.iter().rev().find(|part| part.first <= line) {
            None => Some((&self.file, line)),
            Some(part) => part.written.then_some((&part.file, line + 1 - part.first)),
        }
    }

    /// A line of the text, counted in its file.
    pub fn line_in_file(&self, line: usize) -> usize {
        let part = self.parts.iter().rev().find(|part| part.first <= line);
        part.map_or(line, |part| line + 1 - part.first)
    }

    /// Everything wrong, run-time errors first.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.faults.iter().chain(self.replies.iter().flat_map(|reply| &reply.findings))
    }

    /// Everything wrong, also what the user knows already, and threads that can get stuck.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let known = self.replies.iter().flat_map(|reply| &reply.known).chain(&self.known_faults);
        self.findings().chain(known.map(|(finding, _)| finding)).chain(&self.stuck)
    }

    /// Warnings of all kinds: threads that can get stuck are a finding, but no property is violated.
    pub fn notices(&self) -> Vec<Notice> {
        let stuck = self.stuck.iter().map(|finding| Notice {
            code: finding.code,
            message: finding.message.clone(),
            line: Some(finding.place.whole_line),
            column: Some(finding.place.column),
            help: None,
        });
        self.warnings.iter().map(|warning| self.notice(warning)).chain(stuck).collect()
    }

    /// Is it open what the program does beyond interleavings, although it would matter?
    pub fn awaits_weak_memory(&self) -> bool {
        let why = Why::NotRobust.to_string();
        self.replies.iter().any(|reply| reply.why.as_ref() == Some(&why))
    }

    /// Says why the weak memory could not be explored.
    pub fn weak_memory_unknown(&mut self, why: &str) {
        let open = Why::NotRobust.to_string();
        for reply in self.replies.iter_mut().filter(|reply| reply.why.as_ref() == Some(&open)) {
            reply.why = Some(format!("{open}; following threads beyond them failed: {why}"));
        }
    }

    /// Says that a property that nothing violates is open all the same, and why.
    pub fn leave_open(&mut self, property: Property, why: &str) {
        let holds =
            |reply: &&mut Reply| reply.property == property.name() && reply.ruling == Ruling::Holds;
        for reply in self.replies.iter_mut().filter(holds) {
            reply.ruling = Ruling::Undecided;
            reply.why = Some(why.to_string());
            self.conclusion = None;
        }
    }

    /// Is the program not robust, or not known to be, and safe all the same?
    pub fn is_safe_only(&self) -> bool {
        let mut others = self.replies.iter().filter(|reply| reply.weak.is_some());
        let weak = others.next().is_some();
        let open = |reply: &&Reply| {
            reply.ruling != Ruling::Holds
                && reply.property != Property::Robustness.name()
                && reply.property != Property::ObservationalRobustness.name()
        };
        weak && self.faults.is_empty()
            && self.errors.is_empty()
            && !self.replies.iter().any(|reply| open(&reply))
    }

    /// The worst of the answers that are required: violated, else undecided, else holds.
    pub fn ruling(&self) -> Ruling {
        let required = || self.replies.iter().filter(|reply| reply.required);
        // What holds up to a bound is not known to hold.
        let bounded = |reply: &Reply| reply.weak.is_some_and(|weak| weak.stale.is_some());
        let of = |reply: &Reply| match (&reply.standing, reply.ruling) {
            (Standing::Accepted(_), _) => Ruling::Holds,
            (Standing::Open(_), _) => Ruling::Undecided,
            (Standing::Refused(_), _) => Ruling::Violated,
            (Standing::Ordinary, Ruling::Holds) if bounded(reply) => Ruling::Undecided,
            (Standing::Ordinary, ruling) => ruling,
        };
        let any = |ruling| required().any(|reply| of(reply) == ruling);
        let worst = [Ruling::Violated, Ruling::Undecided].into_iter().find(|ruling| any(*ruling));
        worst.unwrap_or(Ruling::Holds)
    }

    /// The overall verdict: `error`, `violated`, `undecided` or `holds`.
    pub fn verdict(&self) -> &'static str {
        match self.errors.is_empty() && self.faults.is_empty() {
            true => self.ruling().name(),
            false => "error",
        }
    }
}

/// The findings that are about different lines: threads with the same text go wrong in the same way.
fn distinct(findings: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    findings.filter(|finding| seen.insert(finding.lines())).collect()
}

/// What was not looked at, and what asks for it.
pub(crate) fn unchecked(answer: &Answer) -> Vec<Unchecked> {
    let said = |(property, why): &(Property, NotAsked)| Unchecked {
        property: property.name(),
        why: match why {
            NotAsked::LeftOut => "as --no-races asks",
            NotAsked::NeedsWeakMemory => "interleavings alone do not show them; --model rc11 does",
            NotAsked::NoSuchAccess => {
                "non-atomic accesses are loads and stores of the machine; --model rc11 looks for them"
            }
            NotAsked::AnotherQuestion => {
                "a thread stops where one fails; `fencepost check --model tso` decides them"
            }
        },
    };
    answer.unchecked.iter().map(said).collect()
}

/// The answer to `exists`.
fn exists(reach: Reach) -> String {
    match reach {
        Reach::Yes => "yes: a run ends so".to_string(),
        Reach::No => "no: no run ends so".to_string(),
        Reach::Unknown(why) => format!("unknown: {why}"),
    }
}

fn attacks(decision: &Decision) -> Option<Attacks> {
    match decision.by {
        By::Attacks { method, attacks, examined } => {
            Some(Attacks { attacks, attacks_examined: examined, method: method.name() })
        }
        _ => None,
    }
}

/// What it means that a program is not robust, and nothing is wrong on the weak memory.
fn safe(model: Model, report: &InputReport) -> String {
    let violated = report.replies.iter().any(|reply| reply.ruling == Ruling::Violated);
    let stale = report.replies.iter().find_map(|reply| reply.weak?.stale);
    let robust = if violated { "not robust, but safe" } else { "safe, robust or not" };
    let name = model.name().to_uppercase();
    let scope = match stale {
        None => String::new(),
        Some(most) => format!(" in which a location has at most {most} stale writes"),
    };
    let races = report.replies.iter().any(|reply| reply.property == Property::Races.name());
    let races = if races { "races, " } else { "" };
    let verdict = match report.ruling() {
        Ruling::Holds => "",
        _ => "; --require safe accepts that",
    };
    format!(
        "{robust}: no execution of {name}{scope} has {races}failing assertions or run-time errors{verdict}"
    )
}

/// What it means that everything holds.
fn conclusion(model: Model, language: Language, answer: &Answer) -> String {
    let has = |property| answer.decision(property).is_some();
    // Of code, an assertion that no interleaving violates leaves no trace in what was discovered, nor does an access
    // that is always to memory that is there.
    let has_assertions = language != Language::Algorithms || check::has_assertions(&answer.program);
    let name = model.name().to_uppercase();
    let robust = match () {
        () if has(Property::ObservationalRobustness) => "observationally robust",
        () if has(Property::TriangularRaces) => "free of triangular races, hence robust",
        () => "robust",
    };
    let mut sentence = match (model, has_assertions) {
        (Model::Sc, true) => "no assertion fails in any interleaving".to_string(),
        (Model::Sc, false) => {
            "no run-time errors in any interleaving; there are no assertions".into()
        }
        (_, true) if has(Property::Races) => {
            format!("{robust}, free of races, and safe under SC, hence safe under {name}")
        }
        (_, true) => format!("{robust}, and safe under SC, hence safe under {name}"),
        (_, false) if has(Property::Races) => {
            format!("{robust} against {name}, and free of races")
        }
        (_, false) if model.machine().is_some() => {
            format!("{robust} against {name}, and free of run-time errors")
        }
        (_, false) => format!("{robust} against {name}"),
    };
    if has(Property::Liveness) {
        sentence.push_str("; no thread waits for ever");
    }
    let unchecked = |property| answer.unchecked.iter().any(|(left_out, _)| *left_out == property);
    if model.has_stale_reads() && unchecked(Property::Races) {
        sentence.push_str(", if it is free of races, which was not checked");
    }
    sentence
}
