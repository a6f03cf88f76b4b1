//! Searches for assignments of strengths: the cheapest for all sites together, and the weakest for each site alone.

use super::super::hitting::Points;
use super::super::{Failure, Repair, repair};
use super::refute::{Asked, Subject};
use super::{Allowed, Costs, Loops, Site, Strength};
use crate::answer::{Cost, Faulty, Why, Witness};
use crate::explore::Task;
use crate::legality::Refusal;
use crate::question::{Model, Property, Question};
use ir::Program;
use search::Progress;
use std::time::Instant;

/// What a program shall be.
#[derive(Clone, Debug)]
pub struct Goal<'a> {
    /// The models that it shall be correct on: those with memory orders, and machines with store buffers, for which it shall
    /// be robust.
    pub models: &'a [Model],
    /// Robust, or safe; observationally robust if that is the question's property. Also the limits.
    pub question: &'a Question,
    /// What orders cost.
    pub costs: &'a Costs,
    /// How much may be done to find out, beside the limits of the question.
    pub effort: Effort,
}

/// How much may be done to find an assignment, counted and not timed: whether there is an answer does not depend on how busy the
/// machine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// How many searches may be made.
    pub searches: u32,
    /// How many pairs of events the executions may have that are judged again.
    pub judged: u64,
    /// How many partial choices may be looked at, each time.
    pub patience: u64,
}

impl Effort {
    /// Whatever it takes.
    pub const FULL: Effort =
        Effort { searches: u32::MAX, judged: u64::MAX, patience: super::super::PATIENCE };
}

/// What goes wrong with too little strength.
#[derive(Clone, Debug)]
pub struct Found {
    /// The property that is violated.
    pub property: Property,
    /// How.
    pub witness: Witness,
    /// The model.
    pub model: Model,
    /// The program that does it, as the model reads it.
    pub program: Program,
}

/// A cheapest assignment.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// For each site, how strong it is.
    pub strengths: Vec<Strength>,
    /// Is it certain that there is none that costs less?
    pub minimum: bool,
    /// For each site that is above the floor, what goes wrong without.
    pub reasons: Vec<Option<Found>>,
    /// How many searches were made.
    pub searches: u32,
    /// What they cost.
    pub cost: Cost,
}

/// What is known of each site alone.
#[derive(Clone, Debug)]
pub struct Needs {
    /// For each site, what it needs.
    pub each: Vec<Need>,
    /// How many searches were made.
    pub searches: u32,
    /// What they cost.
    pub cost: Cost,
}

/// What is known of one site, all others as they are written.
#[derive(Clone, Debug)]
pub struct Need {
    /// The weakest strength with which the program is still correct.
    pub suffices: Strength,
    /// What goes wrong with less: a part that is missing, and how that ends.
    pub without: Vec<(Strength, Found)>,
}

/// Why there is no assignment.
#[derive(Clone, Debug)]
pub enum NoAssignment {
    /// The program cannot be checked.
    Refused(Refusal),
    /// A check had no answer.
    Undecided(Model, Why),
    /// No order and no fence prevents this: a race between accesses that nothing orders, or an assertion
    /// that fails in an interleaving.
    Hopeless(Box<Found>),
    /// The program as it is written is not correct.
    Incorrect(Box<Found>),
    /// A run-time error of the program cut a search short.
    Faulty(Model, Faulty),
    /// Something went wrong in Fencepost itself.
    Internal(String),
}

impl std::fmt::Display for NoAssignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoAssignment::Refused(refusal) => refusal.fmt(f),
            NoAssignment::Undecided(model, why) => {
                write!(f, "undecided against {}: {why}", model.name())
            }
            NoAssignment::Hopeless(found) => match found.property {
                Property::Races => {
                    f.write_str("no memory order and no fence prevents its data race")
                }
                Property::Assertions => f.write_str(
                    "an assertion fails in an interleaving, which no memory order prevents",
                ),
                _ => f.write_str("no memory order and no fence makes it correct"),
            },
            NoAssignment::Incorrect(found) => match found.property {
                Property::Races => f.write_str("it has a data race as it is written"),
                Property::Robustness => f.write_str("it is not robust as it is written"),
                property => write!(f, "as it is written, it does not have {property}"),
            },
            NoAssignment::Faulty(model, faulty) => write!(
                f,
                "undecided against {}: the program has run-time errors, and what comes after them is unknown: {}",
                model.name(),
                faulty.fault
            ),
            NoAssignment::Internal(bug) => write!(f, "{bug}, which is a bug in fencepost"),
        }
    }
}

impl std::error::Error for NoAssignment {}

/// The cheapest strengths, of those that are `allowed`, with which the program is what it shall be. A site that may not be
/// changed is not among `sites`.
pub fn assign(
    program: &Program,
    sites: &[Site],
    allowed: Allowed,
    goal: &Goal<'_>,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Assignment, NoAssignment> {
    let begun = Instant::now();
    program.validate().map_err(|invalid| NoAssignment::Refused(Refusal::Invalid(invalid)))?;
    let floor = allowed.floor(sites);
    let choices = Choices::of(program, sites, allowed, goal.costs);
    let points = &choices.points;
    let subject = Subject { program, sites, floor: &floor, points, goal, observe };
    let mut asked = Asked::new(subject);
    if allowed == Allowed::Weaker {
        let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
        if let Some(found) = asked.wrong(&written)? {
            return Err(NoAssignment::Incorrect(Box::new(found)));
        }
    }
    let Repair { points: chosen, minimum, .. } = match repair(&mut asked, choices.weighed()) {
        Ok(repair) => repair,
        Err(Failure::Undecided(why)) => return Err(why),
        Err(Failure::Hopeless) => {
            return Err(asked.last().map_or_else(
                || NoAssignment::Internal("no strength is enough, and nothing was found".into()),
                |found| NoAssignment::Hopeless(Box::new(found.clone())),
            ));
        }
    };
    let strengths = asked.strengths(&chosen);
    let mut reasons = Vec::with_capacity(sites.len());
    for (site, strength) in strengths.iter().enumerate() {
        if *strength == floor[site] {
            reasons.push(None);
            continue;
        }
        let mut without = strengths.clone();
        without[site] = floor[site];
        reasons.push(asked.wrong(&without)?);
    }
    let (searches, mut cost) = (asked.searches, asked.cost);
    cost.elapsed = begun.elapsed();
    Ok(Assignment { strengths, minimum, reasons, searches, cost })
}

/// For each site, the weakest strength with which the program is still what it shall be if all others stay as they
/// are written. Fences that are not there are not considered.
pub fn each(
    program: &Program,
    sites: &[Site],
    goal: &Goal<'_>,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Needs, NoAssignment> {
    let begun = Instant::now();
    program.validate().map_err(|invalid| NoAssignment::Refused(Refusal::Invalid(invalid)))?;
    let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
    let floor = &Allowed::Both.floor(sites);
    let points = &points(sites, Allowed::Both);
    let subject = Subject { program, sites, floor, points, goal, observe };
    let mut asked = Asked::new(subject);
    if let Some(found) = asked.wrong(&written)? {
        return Err(NoAssignment::Incorrect(Box::new(found)));
    }
    let mut needs = Vec::with_capacity(sites.len());
    for (k, site) in sites.iter().enumerate() {
        let mut need = Need { suffices: site.written, without: Vec::new() };
        // Correct strengths are closed upwards: once a part is needed, it is needed below, too.
        loop {
            let mut weaker = None;
            need.without.clear();
            // The strongest parts first: what requires a part goes before it.
            let above = need.suffices.without(site.least);
            for &part in site.kind.parts().iter().rev().filter(|part| above.has(**part)) {
                let less = site.kind.weakened(need.suffices, part);
                let is_one_part = less.with(part) == need.suffices;
                if !is_one_part {
                    continue;
                }
                let mut strengths = written.clone();
                strengths[k] = less;
                match asked.wrong(&strengths)? {
                    None => {
                        weaker = Some(less);
                        break;
                    }
                    Some(found) => need.without.push((part, found)),
                }
            }
            match weaker {
                Some(less) => need.suffices = less,
                None => break,
            }
        }
        needs.push(need);
    }
    let (searches, mut cost) = (asked.searches, asked.cost);
    cost.elapsed = begun.elapsed();
    Ok(Needs { each: needs, searches, cost })
}

/// What there is to choose from.
pub(super) struct Choices {
    /// Parts of sites.
    pub points: Vec<(usize, Strength)>,
    weights: Vec<u64>,
    requires: Vec<Vec<usize>>,
}

impl Choices {
    pub(super) fn of(program: &Program, sites: &[Site], allowed: Allowed, costs: &Costs) -> Self {
        let points = points(sites, allowed);
        let loops = Loops::of(program);
        let weight = |&(site, part): &(usize, Strength)| costs.weight(&loops, &sites[site], part);
        let weights = points.iter().map(weight).collect();
        let requires = requirements(sites, &points);
        Choices { points, weights, requires }
    }

    /// The points with what they cost.
    pub(super) fn weighed(&self) -> Points<'_> {
        Points { weights: &self.weights, requires: &self.requires }
    }
}

/// The parts that sites may have beside those that they have in any case, those of a site in the order of its kind.
fn points(sites: &[Site], allowed: Allowed) -> Vec<(usize, Strength)> {
    let floor = allowed.floor(sites);
    let parts = |(number, site): (usize, &Site)| {
        let (least, most) = (floor[number], allowed.most(site));
        let parts = site.kind.parts().iter().copied();
        parts
            .filter(move |part| most.has(*part) && !least.has(*part))
            .map(move |part| (number, part))
    };
    sites.iter().enumerate().flat_map(parts).collect()
}

/// The points that each point requires.
fn requirements(sites: &[Site], points: &[(usize, Strength)]) -> Vec<Vec<usize>> {
    let required = |&(site, part): &(usize, Strength)| {
        let all = sites[site].kind.required(part);
        let is_required =
            |(_, other): &(usize, &(usize, Strength))| other.0 == site && all.has(other.1);
        points.iter().enumerate().filter(is_required).map(|(point, _)| point).collect()
    };
    points.iter().map(required).collect()
}
