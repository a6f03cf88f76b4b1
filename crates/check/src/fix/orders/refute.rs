//! What goes wrong with an assignment, and which points would prevent it.
//!
//! An assignment is first tried on what is known to go wrong: executions that were found before, judged again with other
//! strengths, and attacks on machines. Only if none of these refutes it is the program searched with it, on each model in
//! turn; what that finds is known from then on. From an execution come sets of points of which every correct assignment
//! has one (`Asked::preventing`); the module above says why. Where there is no execution to judge, they come from searches
//! (`Asked::unjudged`).

use super::super::{Remaining, Violations};
use super::machines::attacks;
use super::search::{Found, Goal, NoAssignment};
use super::{Kind, Site, Strength, apply};
use crate::answer::{Answer, Cost, Evidence, Problem, Verdict, Why, Witness};
use crate::explore::Task;
use crate::question::{Beyond, DoubleCheck, Model, Property, Question, Require};
use budget::Budget;
use graph::axioms::{is_consistent, is_sc_consistent, observational_cycle, races};
use graph::{ExecutionGraph, rerun};
use ir::Program;
use search::{Limit, Progress};
use std::cell::Cell;

/// How many sets of points are taken from one graph, each with other points left over.
const SETS: usize = 6;

/// What is asked about.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub program: &'a Program,
    pub sites: &'a [Site],
    /// For each site, the strength that it has in any case.
    pub floor: &'a [Strength],
    /// The parts that sites may have beside that.
    pub points: &'a [(usize, Strength)],
    pub goal: &'a Goal<'a>,
    pub observe: &'a (dyn Fn(&Task, &Progress) + Sync),
}

/// Knows what goes wrong with which strengths.
pub(super) struct Asked<'a> {
    of: Subject<'a>,
    /// What is known to go wrong.
    stored: Vec<Stored>,
    /// How many searches were made.
    pub searches: u32,
    /// How many pairs of events the executions had that were judged again.
    judged: Cell<u64>,
    /// What the searches cost.
    pub cost: Cost,
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
    pub(super) fn new(of: Subject<'a>) -> Self {
        let (searches, judged, cost) = (0, Cell::new(0), Cost::default());
        Asked { of, stored: Vec::new(), searches, judged, cost }
    }

    /// What was found last.
    pub(super) fn last(&self) -> Option<&Found> {
        self.stored.last().map(|stored| &stored.found)
    }

    /// Why no more may be done, if that is so.
    fn spent(&self) -> Option<Limit> {
        let effort = self.of.goal.effort;
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
    pub(super) fn strengths(&self, chosen: &[usize]) -> Vec<Strength> {
        let mut strengths = self.of.floor.to_vec();
        for &(site, part) in chosen.iter().map(|&point| &self.of.points[point]) {
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
                let (site, part) = self.of.points[point];
                !strengths[site].has(part)
            }),
        }
    }

    /// What goes wrong with these strengths, if anything does: something known, or something new, which is then known.
    pub(super) fn wrong(&mut self, strengths: &[Strength]) -> Result<Option<Found>, NoAssignment> {
        let changed = apply(self.of.program, self.of.sites, strengths);
        let known =
            self.stored.iter().find(|stored| self.still_goes_wrong(stored, strengths, &changed));
        if let Some(stored) = known {
            return Ok(Some(stored.found.clone()));
        }
        for &model in self.of.goal.models {
            if let Some(machine) = model.machine() {
                let new = attacks(&self.of, strengths, machine, &mut self.cost)?;
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
        let weakest =
            apply(self.of.program, self.of.sites, &vec![Strength::NONE; self.of.sites.len()]);
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
        let safe = self.of.goal.question.require == Require::Safe;
        let question = Question {
            model,
            double_check: DoubleCheck::Never,
            beyond: if safe { Beyond::Full } else { Beyond::Nothing },
            ..*self.of.goal.question
        };
        let answer = crate::check(changed, &question, self.of.observe)
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
            let changed = apply(self.of.program, self.of.sites, strengths);
            self.goes_wrong(&model.reads(&changed), graph, property)
        };
        let matters: Vec<bool> =
            self.of.sites.iter().map(|site| self.takes_part(site, graph)).collect();
        let free = |&point: &usize| {
            let (site, part) = self.of.points[point];
            !strengths[site].has(part)
        };
        let open: Vec<usize> = (0..self.of.points.len()).filter(free).collect();
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
                let (site, part) = self.of.points[point];
                let required = self.of.sites[site].kind.required(part);
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
                let (site, part) = self.of.points[point];
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

    /// A set of points of which every correct assignment has one, because of something that goes wrong with `strengths` and has no
    /// graph to judge, such as a dependency on a stale value that is no cycle by the definition. Points are added as long as
    /// something still goes wrong, which takes a search for each; those that are left over are the set.
    ///
    /// Where SC fences were chosen and may be one too many, nothing is added: all that is known is that these strengths are not
    /// enough. Something is missing, or one of their points is too much; but without that they are cheaper, and were tried before.
    fn unjudged(
        &mut self,
        mut strengths: Vec<Strength>,
        found: Found,
    ) -> Result<Vec<usize>, NoAssignment> {
        let Subject { sites, floor, points, goal, .. } = self.of;
        let is_open = |strengths: &[Strength], point: usize| {
            let (site, part) = points[point];
            !strengths[site].has(part)
        };
        // Fences of these models can be too many.
        let counts = goal.models.iter().any(|model| matches!(model, Model::Rc20 | Model::Ra));
        let is_sc_fence = |site: usize, strength: Strength| {
            sites[site].kind == Kind::Fence && strength.has(Strength::SC)
        };
        let chose_fences = (0..sites.len())
            .any(|site| is_sc_fence(site, strengths[site]) && !is_sc_fence(site, floor[site]));
        // What none of the models reads makes no difference.
        let is_read = |point: &usize| {
            let (site, part) = points[*point];
            goal.models.iter().any(|&model| sites[site].kind.read_by(model).has(part))
        };
        let mut open: Vec<usize> =
            (0..points.len()).filter(|&point| is_open(&strengths, point)).filter(is_read).collect();
        for &point in open.iter().filter(|_| !(counts && chose_fences)) {
            let (site, part) = points[point];
            if counts && is_sc_fence(site, part) {
                continue;
            }
            if let Some(limit) = self.spent() {
                return Err(NoAssignment::Undecided(found.model, Why::Limit(limit)));
            }
            let mut stronger = strengths.clone();
            let required = sites[site].kind.required(part);
            stronger[site] = stronger[site].with(part).with(required);
            if self.wrong(&stronger)?.is_some() {
                strengths = stronger;
            }
        }
        open.retain(|&point| is_open(&strengths, point));
        match open.is_empty() {
            true => Err(NoAssignment::Hopeless(Box::new(found))),
            false => Ok(open),
        }
    }

    /// Does a step of the site, or one of the statement behind it, happen in the graph? A fence may be passed anywhere.
    fn takes_part(&self, site: &Site, graph: &ExecutionGraph) -> bool {
        let fence = site.kind == Kind::Fence && !site.new;
        let happens = |place: &(ir::Tid, ir::Pc)| {
            let mut steps = graph.thread_events(place.0).iter().map(|id| graph.event(*id).step);
            fence && steps.len() > 0 || steps.any(|step| step == Some(*place))
        };
        site.places.iter().chain(&site.inside).any(happens)
    }
}

impl Violations for Asked<'_> {
    type Undecided = NoAssignment;

    fn budget(&self) -> Budget {
        self.of.goal.question.limits.budget
    }

    fn patience(&self) -> u64 {
        self.of.goal.effort.patience
    }

    fn remaining(&mut self, chosen: &[usize]) -> Remaining<NoAssignment> {
        let strengths = self.strengths(chosen);
        if let Some(limit) = self.spent() {
            let why = Why::Limit(limit);
            return Remaining::Undecided(NoAssignment::Undecided(self.of.goal.models[0], why));
        }
        match self.wrong(&strengths) {
            Err(why) => Remaining::Undecided(why),
            Ok(None) => Remaining::Fine,
            Ok(Some(found)) => {
                let changed = apply(self.of.program, self.of.sites, &strengths);
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
                    match self.unjudged(strengths, found) {
                        Ok(set) => sets.push(set),
                        Err(why) => return Remaining::Undecided(why),
                    }
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
    let mut wrong = Vec::new();
    for fault in faults {
        // A run-time error is prevented as a failed assertion is: by ruling out the executions that lead to it.
        let interleaving = is_interleaving(&fault);
        let fault = found(Property::Assertions, fault);
        if interleaving {
            return Err(NoAssignment::Hopeless(Box::new(fault)));
        }
        wrong.push(fault);
    }
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

#[cfg(test)]
mod mutants;
