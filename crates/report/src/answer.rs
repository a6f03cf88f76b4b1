//! All that a check found out about one file.

use crate::codes;
use crate::finding::Finding;
use crate::input_report::Unchecked;
use crate::seq_cst::{self, SHOWN_PLACES};
use crate::text::Ink;
use check::{Cost, Extent, Model, Outcome, Property, Settings, Verdict, Why, Witness};
use ir::{Instr, LocationKind, Pc, Program, Tid};
use lang::source::Span;
use lang::{Diagnostic, Source};
use serde::Serialize;
use std::collections::HashSet;

/// How a question was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The property holds.
    Holds,
    /// It does not.
    Violated,
    /// Nobody knows.
    Undecided,
}

impl Ruling {
    /// The word used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Ruling::Holds => "holds",
            Ruling::Violated => "violated",
            Ruling::Undecided => "undecided",
        }
    }

    /// The ruling that a verdict is, and why nobody knows.
    pub fn of(verdict: &Verdict) -> (Self, Option<String>) {
        match verdict {
            Verdict::Holds => (Ruling::Holds, None),
            Verdict::Violated(_) => (Ruling::Violated, None),
            Verdict::Undecided(why) => (Ruling::Undecided, Some(why.to_string())),
        }
    }

    /// Its colour.
    pub fn ink(self) -> Ink {
        match self {
            Ruling::Holds => Ink::Good,
            Ruling::Violated => Ink::Bad,
            Ruling::Undecided => Ink::Warning,
        }
    }
}

/// The answer for one property.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub property: Property,
    /// The answer.
    pub ruling: Ruling,
    /// Why nobody knows.
    pub why: Option<String>,
    /// What is wrong: one finding, or all that were asked for.
    pub findings: Vec<Finding>,
}

/// What is known about one file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// What messages call the file.
    pub file: String,
    /// The model it was checked against.
    pub model: Model,
    /// The answers, in the order in which they are shown.
    pub answers: Vec<Answer>,
    /// Run-time errors of the program.
    pub faults: Vec<Finding>,
    /// Where threads can get stuck.
    pub stuck: Vec<Finding>,
    /// What may not be as meant: the language's warnings, values that wrapped around, `sc` accesses.
    pub warnings: Vec<Diagnostic>,
    /// What went wrong in Fencepost itself.
    pub internal: Vec<Diagnostic>,
    /// Does the program say anything by assertions?
    pub has_assertions: bool,
    /// What was not looked for, although the program could have it.
    pub unchecked: Vec<Unchecked>,
    /// Was a limit reached?
    pub limited: bool,
    /// Was everything that is wrong asked for?
    pub extent: Extent,
    /// What it cost.
    pub cost: Cost,
}

impl FileReport {
    /// The answer to a check of `source` as `settings` say.
    pub fn new(source: &Source, settings: &Settings, outcome: &Outcome) -> Self {
        let strengthened;
        let program = match settings.model {
            Model::Ra => {
                strengthened = source.program.release_acquire();
                &strengthened
            }
            Model::Rc20 | Model::Sc => &source.program,
        };
        let finding = |property, witness: &Witness| {
            Finding::new(source, program, settings.model, property, witness)
        };
        let answer = |(property, verdict): &(Property, Verdict)| {
            let more = outcome.more.iter().filter(|(p, _)| p == property).map(|(_, w)| w);
            let (ruling, why) = Ruling::of(verdict);
            let witnesses = verdict.witness().into_iter().chain(more);
            let findings = distinct(witnesses.map(|witness| finding(Some(*property), witness)));
            Answer { property: *property, ruling, why, findings }
        };
        let mut warnings = source.warnings.clone();
        warnings.extend(wrapped(source, outcome));
        warnings.extend(seq_cst::warning(source, settings.model));
        let is_rejected = |(_, verdict): &(Property, Verdict)| {
            matches!(verdict, Verdict::Undecided(Why::Rejected))
        };
        let rejected =
            outcome.answers.iter().find(|answer| is_rejected(answer)).map(|(property, _)| {
                internal(&format!("a violation of {property} was found, but the judge rejected it"))
            });
        FileReport {
            internal: outcome.internal.iter().map(|what| internal(what)).chain(rejected).collect(),
            file: source.name.clone(),
            model: settings.model,
            answers: outcome.answers.iter().map(answer).collect(),
            faults: outcome.faults.iter().map(|witness| finding(None, witness)).collect(),
            stuck: outcome.stuck.iter().map(|witness| finding(None, witness)).collect(),
            warnings,
            has_assertions: has_assertions(program),
            unchecked: unchecked(program, settings),
            limited: outcome
                .answers
                .iter()
                .any(|(_, verdict)| matches!(verdict, Verdict::Undecided(Why::Limit(_)))),
            extent: settings.extent,
            cost: outcome.cost,
        }
    }

    /// Everything wrong, run-time errors first.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.faults.iter().chain(self.answers.iter().flat_map(|answer| &answer.findings))
    }

    /// Is some answer this one?
    pub fn any(&self, ruling: Ruling) -> bool {
        self.answers.iter().any(|answer| answer.ruling == ruling)
    }

    /// The worst of the answers: violated, else undecided, else holds.
    pub fn ruling(&self) -> Ruling {
        [Ruling::Violated, Ruling::Undecided]
            .into_iter()
            .find(|ruling| self.any(*ruling))
            .unwrap_or(Ruling::Holds)
    }
}

/// The findings that are about different lines: threads with the same text go wrong in the same way.
fn distinct(findings: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    findings.filter(|finding| seen.insert(finding.lines())).collect()
}

/// What is said when Fencepost itself went wrong, as `what` says.
pub fn internal(what: &str) -> Diagnostic {
    Diagnostic::error(codes::INTERNAL, format!("internal error: {what}")).with_help(
        "this is a bug in fencepost: please report it, with this message, the output of `fencepost \
         --version`, the command, and the file if you may share it",
    )
}

/// Does the program say anything by assertions?
pub(crate) fn has_assertions(program: &Program) -> bool {
    program.steps().any(|(_, _, step)| matches!(step.instr, Instr::Assert(_)))
}

/// Does it have locations on which there can be races?
pub(crate) fn has_non_atomics(program: &Program) -> bool {
    program.locations.iter().any(|location| location.kind == LocationKind::NonAtomic)
}

fn unchecked(program: &Program, settings: &Settings) -> Vec<Unchecked> {
    let why = match settings.model {
        Model::Sc => "interleavings alone do not show them; --model rc20 does",
        Model::Rc20 | Model::Ra if settings.races => return Vec::new(),
        Model::Rc20 | Model::Ra => "as --no-races asks",
    };
    let races = Unchecked { property: Property::Races.name(), why };
    has_non_atomics(program).then_some(races).into_iter().collect()
}

/// A warning about statements whose results wrapped around.
pub(crate) fn wrapped(source: &Source, outcome: &Outcome) -> Option<Diagnostic> {
    let step = |(tid, pc): &(Tid, Pc)| source.program.step(*tid, *pc);
    let spans = outcome.wrapped.iter().map(|place| source.span(step(place).origin)).collect();
    let domain = source.program.domain;
    let help = format!("values are {domain}; --strict-values shows a run that does this");
    wrapped_at(spans, help)
}

/// A warning about results that wrapped around at these places.
pub(crate) fn wrapped_at(mut spans: Vec<Span>, help: String) -> Option<Diagnostic> {
    spans.sort_unstable();
    spans.dedup();
    let places = match spans.len() {
        0 => return None,
        1 => "a result does not fit and wraps around".to_string(),
        n => format!("results of {n} statements do not fit and wrap around"),
    };
    let warning = Diagnostic::warning(codes::WRAPPED, format!("{places} during the check"));
    let shown = spans.into_iter().take(SHOWN_PLACES);
    Some(shown.fold(warning.with_help(help), |warning, span| warning.with_label(span, "here")))
}
