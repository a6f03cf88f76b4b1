//! Searches for assignments of strengths: what goes wrong with one, and which points would prevent it.

use super::super::hitting::Points;
use super::super::{Failure, Remaining, Repair, Violations, repair};
use super::machines::{Changeable, attacks};
use super::{Costs, Site, Strength, apply};
use crate::answer::{Answer, Cost, Evidence, Faulty, Problem, Verdict, Why, Witness};
use crate::explore::Task;
use crate::legality::Refusal;
use crate::question::{Beyond, DoubleCheck, Model, Property, Question, Require};
use budget::Budget;
use graph::axioms::{is_consistent, is_sc_consistent, observational_cycle, races};
use graph::{ExecutionGraph, rerun};
use ir::Program;
use search::{Limit, Progress};
use std::cell::Cell;
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

/// The cheapest strengths, none below `floor`, with which the program is what it shall be. A site that may not be
/// changed is not among `sites`.
pub fn assign(
    program: &Program,
    sites: &[Site],
    floor: &[Strength],
    goal: &Goal<'_>,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Assignment, NoAssignment> {
    let begun = Instant::now();
    program.validate().map_err(|invalid| NoAssignment::Refused(Refusal::Invalid(invalid)))?;
    let points = all_points(sites);
    let free = |&(site, part): &(usize, Strength)| !floor[site].has(part);
    let weights: Vec<u64> = points
        .iter()
        .map(|point| match free(point) {
            true => goal.costs.weight(program, &sites[point.0], point.1),
            false => 0,
        })
        .collect();
    let requires = requirements(sites, &points);
    let mut asked = Asked::new(program, sites, floor, &points, goal, observe);
    let result = repair(&mut asked, Points { weights: &weights, requires: &requires });
    let Repair { points: chosen, minimum, .. } = match result {
        Ok(repair) => repair,
        Err(Failure::Undecided(why)) => return Err(why),
        Err(Failure::Hopeless) => {
            let last = asked.stored.pop().map(|stored| Box::new(stored.found));
            return Err(last.map_or_else(
                || NoAssignment::Internal("no strength is enough, and nothing was found".into()),
                NoAssignment::Hopeless,
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
) -> Result<(Vec<Need>, Cost), NoAssignment> {
    let begun = Instant::now();
    program.validate().map_err(|invalid| NoAssignment::Refused(Refusal::Invalid(invalid)))?;
    let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
    let nothing = vec![Strength::NONE; sites.len()];
    let points = all_points(sites);
    let mut asked = Asked::new(program, sites, &nothing, &points, goal, observe);
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
            for &part in site.kind.parts().iter().rev().filter(|part| need.suffices.has(**part)) {
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
    let mut cost = asked.cost;
    cost.elapsed = begun.elapsed();
    Ok((needs, cost))
}

/// The parts of all sites, those of a site in the order of its kind.
fn all_points(sites: &[Site]) -> Vec<(usize, Strength)> {
    let parts =
        |(site, kind): (usize, &Site)| kind.kind.parts().iter().map(move |part| (site, *part));
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

/// How many sets of points are taken from one graph, each with other points left over.
const SETS: usize = 6;

struct Asked<'a> {
    program: &'a Program,
    sites: &'a [Site],
    floor: &'a [Strength],
    points: &'a [(usize, Strength)],
    goal: &'a Goal<'a>,
    observe: &'a (dyn Fn(&Task, &Progress) + Sync),
    stored: Vec<Stored>,
    searches: u32,
    /// How many pairs of events the executions had that were judged again.
    judged: Cell<u64>,
    cost: Cost,
}

/// Something that goes wrong with too little strength.
struct Stored {
    found: Found,
    shape: Shape,
}

/// What is judged again under other strengths.
enum Shape {
    /// An execution.
    Graph(ExecutionGraph),
    /// An attack on a machine with store buffers: it succeeds unless one of these points is there.
    Attack(Vec<usize>),
}

/// Does an execution still go wrong in a program that differs in its strengths?
fn goes_wrong(program: &Program, graph: &ExecutionGraph, property: Property) -> bool {
    rerun(program, graph).is_some_and(|graph| {
        is_consistent(&graph)
            && match property {
                Property::Races => !races(&graph).is_empty(),
                Property::ObservationalRobustness => observational_cycle(&graph).is_some(),
                // What no interleaving explains, and what fails, does not depend on modes.
                _ => true,
            }
    })
}

impl<'a> Asked<'a> {
    fn new(
        program: &'a Program,
        sites: &'a [Site],
        floor: &'a [Strength],
        points: &'a [(usize, Strength)],
        goal: &'a Goal<'a>,
        observe: &'a (dyn Fn(&Task, &Progress) + Sync),
    ) -> Self {
        let (searches, judged, cost) = (0, Cell::new(0), Cost::default());
        let stored = Vec::new();
        Asked { program, sites, floor, points, goal, observe, stored, searches, judged, cost }
    }

    /// Why no more may be done, if that is so.
    fn spent(&self) -> Option<Limit> {
        let effort = self.goal.effort;
        match self.budget().spent() {
            Some(spent) => Some(spent.into()),
            None if self.searches >= effort.searches => Some(Limit::States),
            None => (self.judged.get() >= effort.judged).then_some(Limit::States),
        }
    }

    /// Does an execution still go wrong in a program that differs in its strengths?
    fn goes_wrong(&self, program: &Program, graph: &ExecutionGraph, property: Property) -> bool {
        let pairs = (graph.len() * graph.len()) as u64;
        self.judged.set(self.judged.get().saturating_add(pairs));
        goes_wrong(program, graph, property)
    }

    /// The strengths with these points chosen.
    fn strengths(&self, chosen: &[usize]) -> Vec<Strength> {
        let mut strengths = self.floor.to_vec();
        for &(site, part) in chosen.iter().map(|&point| &self.points[point]) {
            strengths[site] = strengths[site].with(part);
        }
        strengths
    }

    /// Does something that is known still go wrong with these strengths, which `changed` has?
    fn still_goes_wrong(&self, stored: &Stored, strengths: &[Strength], changed: &Program) -> bool {
        match &stored.shape {
            Shape::Graph(graph) => {
                let program = stored.found.model.reads(changed);
                self.goes_wrong(&program, graph, stored.found.property)
            }
            Shape::Attack(preventing) => preventing.iter().all(|&point| {
                let (site, part) = self.points[point];
                !strengths[site].has(part)
            }),
        }
    }

    /// What goes wrong with these strengths, if anything does: something known, or something new, which is then known.
    fn wrong(&mut self, strengths: &[Strength]) -> Result<Option<Found>, NoAssignment> {
        let changed = apply(self.program, self.sites, strengths);
        let known =
            self.stored.iter().find(|stored| self.still_goes_wrong(stored, strengths, &changed));
        if let Some(stored) = known {
            return Ok(Some(stored.found.clone()));
        }
        for &model in self.goal.models {
            if let Some(machine) = model.machine() {
                let of =
                    Changeable { program: self.program, sites: self.sites, points: self.points };
                let question = self.goal.question;
                let new = attacks(of, strengths, machine, question, self.observe, &mut self.cost)?;
                self.searches += 1;
                if let Some((first, _)) = new.first() {
                    let first = first.clone();
                    let attack = |(found, points)| Stored { found, shape: Shape::Attack(points) };
                    self.stored.extend(new.into_iter().map(attack));
                    return Ok(Some(first));
                }
                continue;
            }
            let found = self.search(&changed, model)?;
            if !found.is_empty() {
                let first = found[0].clone();
                let keep = |found: Found| {
                    let certificate =
                        found.witness.certificate().filter(|proof| proof.conclusive)?;
                    let graph = certificate.graph.clone();
                    self.is_wrong_throughout(&found, &graph)
                        .then(|| Stored { shape: Shape::Graph(graph), found })
                };
                let kept: Vec<Stored> = found.into_iter().filter_map(keep).collect();
                self.stored.extend(kept);
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// Is an execution wrong with all strengths that allow it? What no interleaving explains may owe that to RC20's SC
    /// fences, which update a hidden location: their order is then part of the cycle, and with fewer fences there
    /// is none. So correct strengths are not closed upwards there, and such an execution says only that the strengths
    /// with which it was found are not correct.
    fn is_wrong_throughout(&self, found: &Found, graph: &ExecutionGraph) -> bool {
        let weakest = apply(self.program, self.sites, &vec![Strength::NONE; self.sites.len()]);
        let weakest = found.model.reads(&weakest);
        match found.property {
            Property::Robustness => {
                rerun(&weakest, graph).is_some_and(|graph| !is_sc_consistent(&graph))
            }
            Property::ObservationalRobustness => {
                rerun(&weakest, graph).is_some_and(|graph| observational_cycle(&graph).is_some())
            }
            _ => true,
        }
    }

    /// What goes wrong in a program on a model.
    fn search(&mut self, changed: &Program, model: Model) -> Result<Vec<Found>, NoAssignment> {
        let safe = self.goal.question.require == Require::Safe;
        let question = Question {
            model,
            double_check: DoubleCheck::Never,
            beyond: if safe { Beyond::Full } else { Beyond::Nothing },
            ..*self.goal.question
        };
        let answer = crate::check(changed, &question, self.observe)
            .map_err(|refused| NoAssignment::Refused(refused[0]))?;
        self.searches += 1;
        self.cost.include(&answer.cost);
        if let Some(bug) = answer.internal.first() {
            return Err(NoAssignment::Internal(bug.clone()));
        }
        violations(answer, &question)
    }

    /// Sets of points of each of which every correct assignment has one, because of an execution that goes wrong with
    /// `strengths`. None if no point prevents it.
    fn preventing(&self, stored: &Stored, strengths: &[Strength]) -> Vec<Vec<usize>> {
        let (model, property) = (stored.found.model, stored.found.property);
        let graph = match &stored.shape {
            Shape::Graph(graph) => graph,
            Shape::Attack(points) if points.is_empty() => return Vec::new(),
            Shape::Attack(points) => return vec![points.clone()],
        };
        let goes_wrong = |strengths: &[Strength]| {
            let changed = apply(self.program, self.sites, strengths);
            self.goes_wrong(&model.reads(&changed), graph, property)
        };
        let matters: Vec<bool> =
            self.sites.iter().map(|site| self.takes_part(site, graph)).collect();
        let free = |&point: &usize| {
            let (site, part) = self.points[point];
            !strengths[site].has(part)
        };
        let open: Vec<usize> = (0..self.points.len()).filter(free).collect();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        'sets: while sets.len() < SETS {
            // Every correct assignment has a point that this one lacks, whatever the execution says of which.
            if self.spent().is_some() {
                sets.push(open);
                break;
            }
            // Points of earlier sets come first, so that this one has others if it can.
            let used = |point: &usize| sets.iter().filter(|set| set.contains(point)).count();
            let mut order = open.clone();
            order.sort_by_key(|point| (std::cmp::Reverse(used(point)), *point));
            let mut strongest = strengths.to_vec();
            let mut left = Vec::new();
            for point in order {
                if self.spent().is_some() {
                    continue 'sets;
                }
                let (site, part) = self.points[point];
                let required = self.sites[site].kind.required(part);
                let mut stronger = strongest.clone();
                stronger[site] = stronger[site].with(part).with(required);
                if !matters[site] || goes_wrong(&stronger) {
                    strongest = stronger;
                } else {
                    left.push(point);
                }
            }
            // What was added later may have brought a point that was left with it.
            left.retain(|&point| {
                let (site, part) = self.points[point];
                !strongest[site].has(part)
            });
            left.sort_unstable();
            if left.is_empty() {
                return Vec::new();
            }
            if sets.contains(&left) {
                break;
            }
            sets.push(left);
        }
        sets
    }

    /// Does a step of the site, or the step behind it, happen in the graph? A fence may be passed anywhere.
    fn takes_part(&self, site: &Site, graph: &ExecutionGraph) -> bool {
        let fence = site.kind == super::Kind::Fence && !site.new;
        let happens = |place: &(ir::Tid, ir::Pc)| {
            let mut steps = graph.thread_events(place.0).iter().map(|id| graph.event(*id).step);
            fence && steps.len() > 0 || steps.any(|step| step == Some(*place))
        };
        site.places.iter().any(happens)
    }
}

impl Violations for Asked<'_> {
    type Undecided = NoAssignment;

    fn budget(&self) -> Budget {
        self.goal.question.limits.budget
    }

    fn patience(&self) -> u64 {
        self.goal.effort.patience
    }

    fn remaining(&mut self, chosen: &[usize]) -> Remaining<NoAssignment> {
        let strengths = self.strengths(chosen);
        if let Some(limit) = self.spent() {
            let why = Why::Limit(limit);
            return Remaining::Undecided(NoAssignment::Undecided(self.goal.models[0], why));
        }
        match self.wrong(&strengths) {
            Err(why) => Remaining::Undecided(why),
            Ok(None) => Remaining::Fine,
            Ok(Some(found)) => {
                let changed = apply(self.program, self.sites, &strengths);
                let still: Vec<&Stored> = self
                    .stored
                    .iter()
                    .filter(|stored| self.still_goes_wrong(stored, &strengths, &changed))
                    .collect();
                let mut sets = Vec::new();
                for stored in &still {
                    let more = self.preventing(stored, &strengths);
                    if more.is_empty() {
                        let hopeless = NoAssignment::Hopeless(Box::new(stored.found.clone()));
                        return Remaining::Undecided(hopeless);
                    }
                    sets.extend(more);
                }
                if still.is_empty() {
                    // There is no graph to judge: all that is known is that this is not enough. Something is missing, or
                    // one of its points is too much; but without that it is cheaper, and was tried before.
                    let (all, floor) = (0..self.points.len(), &strengths);
                    let above =
                        |&point: &usize| !floor[self.points[point].0].has(self.points[point].1);
                    let rest: Vec<usize> = all.filter(above).collect();
                    if rest.is_empty() {
                        return Remaining::Undecided(NoAssignment::Hopeless(Box::new(found)));
                    }
                    sets.push(rest);
                }
                Remaining::Wrong(sets)
            }
        }
    }
}

/// What an answer says is wrong. What fails in an interleaving does so with every strength.
fn violations(answer: Answer, question: &Question) -> Result<Vec<Found>, NoAssignment> {
    let Answer { program, decisions, faults, .. } = answer;
    let model = question.model;
    let found = |property: Property, witness: Witness| Found {
        property,
        witness,
        model,
        program: program.clone(),
    };
    if let Some(fault) = faults.into_iter().next()
        && is_interleaving(&fault)
    {
        return Err(NoAssignment::Hopeless(Box::new(found(Property::Assertions, fault))));
    }
    let mut wrong = Vec::new();
    let mut unknown = None;
    for decision in decisions {
        let robustness =
            matches!(decision.property, Property::Robustness | Property::ObservationalRobustness);
        if robustness && question.require == Require::Safe {
            continue;
        }
        match decision.verdict {
            Verdict::Holds => {}
            Verdict::Undecided(why) => unknown = unknown.or(Some(why)),
            Verdict::Violated(witness) => {
                let fails = !robustness && decision.property != Property::Races;
                if fails && is_interleaving(&witness) {
                    let found = found(decision.property, *witness);
                    return Err(NoAssignment::Hopeless(Box::new(found)));
                }
                wrong.push(found(decision.property, *witness));
            }
        }
    }
    match unknown {
        Some(why) if wrong.is_empty() => Err(NoAssignment::Undecided(model, why)),
        _ => Ok(wrong),
    }
}

/// Does something fail in an interleaving, rather than on the weak memory?
fn is_interleaving(witness: &Witness) -> bool {
    matches!(witness.evidence, Evidence::Interleaving { .. })
        && !matches!(witness.problem, Problem::Stale | Problem::Dependency | Problem::Race)
}
