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
pub mod reorder;

use std::fmt;

pub use ::check::fix::fences::{Aim, Placement, Weights};
pub use ::check::outcomes::{FinalStates, Limits as OutcomeLimits, Outcomes};
pub use ::check::{
    Answer, Cost, Decision, Evidence, Extent, Method, Model, Property, Question, Reductions,
    Verdict, Why, Witness,
};
pub use lang::{Diagnostic, Source};
pub use memory::store_buffer::Machine;
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

/// A program with fences in it, re-read from its text and checked.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// Where the fences are, and whether fewer would do.
    pub placement: Placement,
}

/// Why no fences were placed.
#[derive(Clone, Debug)]
pub enum NotFixed {
    /// None were found.
    NoPlacement(::check::fix::fences::NoPlacement),
    /// Those that were found could not be confirmed in the text.
    Unproved(::check::fix::fences::Unproved),
}

impl fmt::Display for NotFixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFixed::NoPlacement(why) => why.fmt(f),
            NotFixed::Unproved(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotFixed {}

/// Places the cheapest fences with which the program is what `aims` say. Of `question`, limits and jobs
/// matter.
///
/// Where a statement cannot simply have a fence put before it, the program is printed anew. Either way
/// the text is read again and checked again.
pub fn fix(
    source: &Source,
    aims: &[Aim],
    weights: Weights,
    question: &Question,
) -> Result<Fixed, NotFixed> {
    use ::check::fix::fences::{Unproved, insert, place_at, sites, verify};
    let mut all = sites(&source.program);
    // The head of a loop is passed on every round, and a fence in front of the text of the loop is not.
    if source.litmus.is_none() && !lang::trencher::looks_like(&source.text) {
        let is_access =
            |&(tid, pc): &(ir::Tid, ir::Pc)| source.program.step(tid, pc).instr.place().is_some();
        all.retain(|site| site.places.iter().all(is_access));
    }
    let placement = place_at(&source.program, all, aims, weights, question, &|_, _| {})
        .map_err(NotFixed::NoPlacement)?;
    if placement.sites.is_empty() {
        let text = source.text.to_string();
        let done = verify(&source.program, aims, question).map(|()| Fixed { text, placement });
        return done.map_err(NotFixed::Unproved);
    }
    let verified = |text: String| {
        let fixed = lang::parse_any(&source.name, &text).map_err(|_| Unproved::Not)?;
        verify(&fixed.program, aims, question).map(|()| text)
    };
    let origins: Vec<ir::Origin> = placement.sites.iter().map(|site| site.origin).collect();
    let text = match verified(lang::insert_fences(source, &origins)) {
        Err(Unproved::Not) => {
            verified(ir::print::program(&insert(&source.program, &placement.sites)))
        }
        done => done,
    };
    text.map(|text| Fixed { text, placement }).map_err(NotFixed::Unproved)
}

/// The final states of a program on a machine with store buffers, and which of them interleavings have.
pub fn outcomes(source: &Source, machine: Machine, limits: &OutcomeLimits) -> Outcomes {
    ::check::outcomes::outcomes(&source.program, machine, limits)
}

/// The final states of all interleavings of a program.
pub fn interleavings(source: &Source, limits: &OutcomeLimits) -> FinalStates {
    ::check::outcomes::interleavings(&source.program, limits)
}
