//! A program whose sites have other strengths than they are written with, checked.
//!
//! A report on memory orders shows what goes wrong with less than is needed. The execution that refuted the weaker order
//! may have been found in yet another program, so the program with that order alone is checked once more.

use crate::orders::Reordered;
use check::fix::orders::{Allowed, Need, Site, Strength, apply};
use check::{Answer, Model, Question};
use lang::Source;

/// A program that nobody wrote, and what a check says of it.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The program, with the text of the one it was made from.
    pub source: Source,
    /// What was asked.
    pub question: Question,
    /// What a check says.
    pub answer: Answer,
}

/// The program of `source` with these strengths at its sites; none if the model has no meaning for it.
pub fn variant(
    source: &Source,
    question: &Question,
    sites: &[Site],
    strengths: &[Strength],
) -> Option<Variant> {
    let program = apply(&source.program, sites, strengths);
    let answer = check::check(&program, question, &|_, _| {}).ok()?;
    let mut source = source.clone();
    source.program = program;
    Some(Variant { source, question: *question, answer })
}

/// The program as it is written but for site `number`: once with each strength that is too weak for it, or, if none is, with the one
/// that suffices.
pub fn around(
    source: &Source,
    question: &Question,
    sites: &[Site],
    number: usize,
    need: &Need,
) -> Vec<(Strength, Variant)> {
    let kind = sites[number].kind;
    let mut tried: Vec<Strength> =
        need.without.iter().map(|(part, _)| kind.weakened(need.suffices, *part)).collect();
    if tried.is_empty() {
        tried.push(need.suffices);
    }
    let mut strengths: Vec<Strength> = sites.iter().map(|site| site.written).collect();
    let tried = tried.into_iter().filter_map(|strength| {
        strengths[number] = strength;
        Some((strength, variant(source, question, sites, &strengths)?))
    });
    tried.collect()
}

/// The program with the orders that were chosen, on each model.
pub fn results(
    source: &Source,
    question: &Question,
    models: &[Model],
    done: &Reordered,
) -> Vec<Variant> {
    let on = |model: &Model| {
        let question = Question { model: *model, ..*question };
        variant(source, &question, &done.sites, &done.assignment.strengths)
    };
    models.iter().filter_map(on).collect()
}

/// The program with the orders that were chosen, but for one site that is as weak as is allowed: for each site that is known to
/// need its strength, with the site's number and that weakest strength.
pub fn without_each(
    source: &Source,
    question: &Question,
    allowed: Allowed,
    done: &Reordered,
) -> Vec<(usize, Strength, Variant)> {
    let floor = allowed.floor(&done.sites);
    let mut all = Vec::new();
    for (number, found) in done.assignment.reasons.iter().enumerate() {
        let Some(found) = found else { continue };
        let mut strengths = done.assignment.strengths.clone();
        strengths[number] = floor[number];
        let question = Question { model: found.model, ..*question };
        let tried = variant(source, &question, &done.sites, &strengths);
        all.extend(tried.map(|tried| (number, floor[number], tried)));
    }
    all
}
