//! Full fences in a text, for machines with store buffers.
//!
//! [`check::fix::fences`] finds the cheapest places in a program. A fence is put before the statement of each place. Where
//! that is not possible, because the statement is the branch of an `if` without braces, say, the whole program is printed anew.

use check::Question;
use check::fix::fences::{
    Aim, NoPlacement, Placement, Unproved, Weights, insert, place_at, sites, verify,
};
use lang::Source;
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
    let mut all = sites(&source.program);
    // The head of a loop is passed on every round, and a fence in front of the text of the loop is not.
    if source.has_orders() {
        let is_access =
            |&(tid, pc): &(ir::Tid, ir::Pc)| source.program.step(tid, pc).instr.place().is_some();
        all.retain(|site| site.places.iter().all(is_access));
    }
    let placement = place_at(&source.program, all, aims, weights, question, &|_, _| {})
        .map_err(NotFenced::NoPlacement)?;
    if placement.sites.is_empty() {
        let text = source.text.to_string();
        let done = verify(&source.program, aims, question).map(|()| Fenced { text, placement });
        return done.map_err(NotFenced::Unproved);
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
    text.map(|text| Fenced { text, placement }).map_err(NotFenced::Unproved)
}
