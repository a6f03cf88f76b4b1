//! Fencepost as a library: is this concurrent program correct on weak memory?
//!
//! [`parse`] reads a program, [`check()`] answers a [`Question`] about it, [`report()`] says the answer in the
//! program's own terms, [`fix`] places fences, [`outcomes`] and [`interleavings`] list final states. The
//! command line is built from the same parts; its dependencies belong to the feature `cli`, so a program
//! that wants the library alone asks for `default-features = false`.
//!
//! ```
//! use fencepost::{Model, Property, Question, check, parse, report};
//!
//! let source = parse("sb.fp", "global x, y;
//!     thread left  { local r; x.store(1, rlx); r = y.load(rlx); }
//!     thread right { local r; y.store(1, rlx); r = x.load(rlx); }")?;
//! let question = Question::of(Model::Rc11);
//! let answer = check(&source, &question)?;
//! assert!(!answer.verdict(Property::Robustness).unwrap().holds());
//! assert!(report(&source, &question, &answer).contains("violated"));
//! # Ok::<(), fencepost::Error>(())
//! ```
//!
//! Three programs in `examples/` use it: `verdicts` checks files against every model, `repair` puts fences
//! into a file, `final_states` compares what a machine can end in with what interleavings can.
//!
//! Below this crate, each has one job: `lang` reads text, `check` asks, `search` explores, `memory` and
//! `graph` say what memory models mean. Their documentation starts where this one ends.

pub mod code;

use std::fmt;

pub use ::check::fix::fences::{Aim, Placement, Weights};
pub use ::check::outcomes::{FinalStates, Limits as OutcomeLimits, Outcomes};
pub use ::check::{
    Answer, Cost, Decision, Evidence, Extent, Method, Model, Property, Question, Reductions,
    Verdict, Why, Witness,
};
pub use lang::{Diagnostic, Source};
pub use memory::store_buffer::Machine;
pub use repair::{Fenced, NotFenced};
pub use search::{Budget, Limits};

/// Why there is no answer: messages with their places in the source.
#[derive(Clone, Debug)]
pub struct Error {
    /// The name of the source.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            f.write_str(&diagnostic.render(&self.name, &self.text, false))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Reads a program in Fencepost's language or Trencher's, or a litmus test. `name` is used in messages.
pub fn parse(name: &str, text: &str) -> Result<Source, Error> {
    lang::parse_any(name, text).map_err(|diagnostics| Error {
        name: name.into(),
        text: text.into(),
        diagnostics,
    })
}

/// Answers `question` about a program, or says what the model has no meaning for.
pub fn check(source: &Source, question: &Question) -> Result<Answer, Error> {
    ::check::check(&source.program, question, &|_, _| {}).map_err(|refusals| Error {
        name: source.name.clone(),
        text: source.text.to_string(),
        diagnostics: refusals.iter().map(|why| ::report::refused_at(source, why)).collect(),
    })
}

/// The answer as text: a verdict for each property, and a run with its source lines for each that is
/// violated.
pub fn report(source: &Source, question: &Question, answer: &Answer) -> String {
    use ::report::{InputReport, text};
    let report = InputReport::of(source, question, answer);
    text::file(&report, text::Detail::Stories, &text::Look::PLAIN)
}

/// Places the cheapest fences with which the program is what `aims` say. Of `question`, limits and jobs
/// matter. The text that comes out was read again and checked again.
pub fn fix(
    source: &Source,
    aims: &[Aim],
    weights: Weights,
    question: &Question,
) -> Result<Fenced, NotFenced> {
    repair::fence(source, aims, weights, question)
}

/// The final states of a program on a machine with store buffers, and which of them interleavings have.
pub fn outcomes(source: &Source, machine: Machine, limits: &OutcomeLimits) -> Outcomes {
    ::check::outcomes::outcomes(&source.program, machine, limits)
}

/// The final states of all interleavings of a program.
pub fn interleavings(source: &Source, limits: &OutcomeLimits) -> FinalStates {
    ::check::outcomes::interleavings(&source.program, limits)
}
