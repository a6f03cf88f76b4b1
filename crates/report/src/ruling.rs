//! Verdicts without their evidence, and the conclusion of a check as a whole.

use crate::codes;
use crate::text::Ink;
use check::{Answer, Verdict};
use ir::{Pc, Tid};
use lang::source::Span;
use lang::{Diagnostic, Source};
use serde::Serialize;

/// How a question was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The property holds.
    Holds,
    /// It does not.
    Violated,
    /// It is not known whether it holds.
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

    /// The ruling that a verdict is.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Holds => Ruling::Holds,
            Verdict::Violated(_) => Ruling::Violated,
            Verdict::Undecided(_) => Ruling::Undecided,
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

/// What is said when Fencepost itself went wrong, as `what` says.
pub fn internal(what: &str) -> Diagnostic {
    Diagnostic::error(codes::INTERNAL, format!("internal error: {what}")).with_help(
        "this is a bug in fencepost: please report it, with this message, the output of `fencepost \
         --version`, the command, and the file if you may share it",
    )
}

/// A warning about statements whose results wrapped around.
pub(crate) fn wrapped(source: &Source, answer: &Answer) -> Option<Diagnostic> {
    let step = |(tid, pc): &(Tid, Pc)| source.program.step(*tid, *pc);
    let spans = answer.wrapped.iter().map(|place| source.span(step(place).origin)).collect();
    let domain = source.program.domain;
    let help = format!("values are {domain}; --strict-values shows a run that does this");
    wrapped_at(spans, help)
}

/// How many places of one kind are pointed out one by one.
const SHOWN_PLACES: usize = 4;

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
