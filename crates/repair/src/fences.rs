//! Full fences in a text, for machines with store buffers.
//!
//! [`check::fix::fences`] finds the cheapest places in a program. A fence is put before the statement of each place. Where
//! that is not possible, because the statement is the branch of an `if` without braces, say, the whole program is printed anew.

use check::Question;
use check::fix::fences::{
    Aim, NoPlacement, Placement, Unproved, Weights, insert, place_at, sites, sites_before_accesses,
    verify,
};
use ir::{OneOf, Program};
use lang::Source;
use std::collections::BTreeSet;
use std::fmt;

/// A text with fences in it, read and checked again.
#[derive(Clone, Debug)]
pub struct Fenced {
    /// The text.
    pub text: String,
    /// Where the fences are, and whether fewer would do.
    pub placement: Placement,
}

/// Why no fences were placed.
#[derive(Clone, Debug)]
pub enum NotFenced {
    /// None were found.
    NoPlacement(NoPlacement),
    /// Those that were found could not be confirmed in the text.
    Unproved(Unproved),
}

impl fmt::Display for NotFenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFenced::NoPlacement(why) => why.fmt(f),
            NotFenced::Unproved(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotFenced {}

/// Places the cheapest fences with which the program is what `aims` say. Of `question`, limits and jobs matter.
pub fn fence(
    source: &Source,
    aims: &[Aim],
    weights: Weights,
    question: &Question,
) -> Result<Fenced, NotFenced> {
    // The head of a loop is passed on every round, and a fence in front of the text of the loop is not.
    let all = match source.has_orders() {
        true => sites_before_accesses(&source.program),
        false => sites(&source.program),
    };
    let placement = place_at(&source.program, all, aims, weights, question, &|_, _| {})
        .map_err(NotFenced::NoPlacement)?;
    if placement.sites.is_empty() {
        let text = source.text.to_string();
        let done = verify(&source.program, aims, question).map(|()| Fenced { text, placement });
        return done.map_err(NotFenced::Unproved);
    }
    let verified = |text: String| {
        let fixed = lang::parse_any(&source.name, &text).map_err(|_| Unproved::Not)?;
        if !waits_alike(&source.program, &fixed.program) {
            return Err(Unproved::Not);
        }
        verify(&fixed.program, aims, question).map(|()| text)
    };
    let origins: Vec<ir::Origin> = placement.sites.iter().map(|site| site.origin).collect();
    let text = match verified(lang::insert_fences(source, &origins)) {
        Err(Unproved::Not) => {
            verified(ir::print::program(&insert(&source.program, &placement.sites)))
        }
        done => done,
    };
    text.map(|text| Fenced { text, placement }).map_err(NotFenced::Unproved)
}

/// Do the threads of two programs wait for one of several values at the same places? With a fence between the choice and the
/// wait, they would choose first ([`OneOf`]).
pub(crate) fn waits_alike(before: &Program, after: &Program) -> bool {
    let waits = |program: &Program| {
        let one_of = OneOf::of(program);
        let mut found = BTreeSet::new();
        for (tid, pc, step) in program.steps() {
            if one_of.choice(tid, pc).is_some()
                && let Some(Ok(loc)) = step.instr.place().and_then(|place| place.known())
            {
                let location = &program.locations[loc.index()];
                let values: Vec<_> =
                    step.instr.operands().iter().map(|operand| operand.as_const()).collect();
                found.insert((tid, location.name.clone(), location.element, values));
            }
        }
        found
    };
    waits(before) == waits(after)
}
