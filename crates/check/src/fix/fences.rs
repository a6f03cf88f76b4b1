//! Full fences that make a program robust against store-atomic machines.
//!
//! A fence breaks an attack if the attacker passes it between the store it delays and its last access;
//! fences of other threads do not matter. So the violations of a program *with* fences are those of the
//! program *without* whose attacker comes past none of them, and a program need not be rebuilt to ask
//! what a set of fences leaves.
//!
//! A [`Site`] is a place in the text where a fence can be put: in front of a statement. A statement of
//! a replicated thread is one site, and its fence serves all replicas. So is one of a procedure, whose fence serves all
//! calls. All transitions from one state of an automaton share a site.
//!
//! Who waits for one of several values ([`OneOf`]) has not chosen before it takes a step, and would have with a fence in
//! front of that step. No fence may change what threads do, so it stands in front of the choice.

use super::hitting::Points;
use super::{Failure, Remaining, Repair, Violations, repair};
use crate::answer::{Cost, Faulty, Problem, Verdict, Why};
use crate::explore::Task;
use crate::legality::{self, Refusal};
use crate::question::{DoubleCheck, Method, Model, Property, Question};
use crate::robustness::store_atomic::model::{AttackFinding, AttackSearch, Goal};
use crate::robustness::store_atomic::triangular_race::{self, race};
use crate::robustness::store_atomic::{Compiled, Machine, choose, compile, computation, decide};
use ::ir::{
    Expr, Fault, FenceMode, Instr, OneOf, Origin, Pc, Place, Program, Step, Tid, Value, canonical,
};
use analysis::cycles::on_cycle;
use analysis::values::PossibleValues;
use budget::Budget;
use search::{Progress, Stop};
use std::collections::HashMap;
use std::time::Instant;

/// A place in the text where a fence can be put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The names of the threads, without their numbers if they are several equal ones.
    pub thread: String,
    /// The statement behind the fence.
    pub origin: Origin,
    /// Where that is in each thread.
    pub places: Vec<(Tid, Pc)>,
}

/// What fences are for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Aim {
    /// Robustness against a machine.
    Robust(Machine),
    /// Freedom of triangular races, which is sufficient for robustness against TSO and cheaper to
    /// check, but may take more fences.
    TriangularRaceFree,
}

impl Aim {
    /// The question whether it is reached, with the settings of `question`.
    pub fn question(self, question: &Question) -> Question {
        let property = match self {
            Aim::Robust(_) => Property::Robustness,
            Aim::TriangularRaceFree => Property::TriangularRaces,
        };
        Question { property, model: self.machine().into(), ..*question }
    }

    /// The machine it is about.
    pub fn machine(self) -> Machine {
        match self {
            Aim::Robust(machine) => machine,
            Aim::TriangularRaceFree => Machine::Tso,
        }
    }
}

impl std::fmt::Display for Aim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Aim::Robust(machine) => write!(f, "against {machine}"),
            Aim::TriangularRaceFree => f.write_str("for triangular races"),
        }
    }
}

/// What a fence costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weights {
    /// Anywhere.
    pub fence: u64,
    /// In a loop, on top of that.
    pub in_loop: u64,
}

impl Default for Weights {
    /// Every fence costs the same.
    fn default() -> Self {
        Weights { fence: 1, in_loop: 0 }
    }
}

/// Fences to insert.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Where.
    pub sites: Vec<Site>,
    /// Is it certain that there is no cheaper placement?
    pub minimum: bool,
    /// How many searches were made.
    pub rounds: u32,
    /// What they cost.
    pub cost: Cost,
}

/// Why there is no placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPlacement {
    /// The program cannot be checked.
    Refused(Refusal),
    /// A check along the way had no answer.
    Undecided(Aim, Why),
    /// A run-time error of the program cut a check along the way short.
    Faulty(Aim, Faulty),
    /// A violation that no fence prevents. This is a bug in Fencepost.
    Hopeless,
}

impl std::fmt::Display for NoPlacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoPlacement::Refused(refusal) => refusal.fmt(f),
            NoPlacement::Undecided(aim, why) => write!(f, "undecided {aim}: {why}"),
            NoPlacement::Faulty(aim, faulty) => write!(
                f,
                "undecided {aim}: the program has run-time errors, and what comes after them is \
                 unknown: {}",
                faulty.fault
            ),
            NoPlacement::Hopeless => f.write_str("no fence helps, which is a bug in fencepost"),
        }
    }
}

impl std::error::Error for NoPlacement {}

/// A fence's weight is multiplied by this, so that preferences among equals never add up to a fence.
const TIE: u64 = 1024;

/// The sites in front of statements that access memory, one for each place in the text.
pub fn sites_before_accesses(program: &Program) -> Vec<Site> {
    let one_of = OneOf::of(program);
    let mut sites: Vec<Site> = Vec::new();
    let mut known: HashMap<Origin, usize> = HashMap::new();
    for (tid, pc, _) in program.steps().filter(|(_, _, step)| step.instr.place().is_some()) {
        let pc = one_of.choice(tid, pc).unwrap_or(pc);
        let origin = program.step(tid, pc).origin;
        let thread = program.threads[tid.index()].name.as_str();
        let at = *known.entry(origin).or_insert_with(|| {
            sites.push(Site { thread: thread.to_string(), origin, places: vec![] });
            sites.len() - 1
        });
        let Site { thread: names, places, .. } = &mut sites[at];
        if !names.split(", ").any(|name| name == thread) {
            *names += &format!(", {thread}");
        }
        if !places.contains(&(tid, pc)) {
            places.push((tid, pc));
        }
    }
    sites
}

/// The sites in front of all statements, each thread's apart.
pub fn sites(program: &Program) -> Vec<Site> {
    let one_of = OneOf::of(program);
    let mut sites: Vec<Site> = Vec::new();
    let mut known: HashMap<(&str, Origin), usize> = HashMap::new();
    for (tid, pc, step) in program.steps() {
        if step.instr == Instr::Halt || one_of.choice(tid, pc).is_some() {
            continue;
        }
        let thread = program.threads[tid.index()].name.as_str();
        let at = *known.entry((thread, step.origin)).or_insert_with(|| {
            sites.push(Site { thread: thread.to_string(), origin: step.origin, places: vec![] });
            sites.len() - 1
        });
        // A statement of several steps starts with its first.
        if !sites[at].places.iter().any(|(other, _)| *other == tid) {
            sites[at].places.push((tid, pc));
        }
    }
    sites
}

/// The cheapest full fences that reach all aims, anywhere.
pub fn place(
    program: &Program,
    aims: &[Aim],
    weights: Weights,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Placement, NoPlacement> {
    place_at(program, sites(program), aims, weights, question, observe)
}

/// The cheapest full fences that reach all aims, at some of these sites.
pub fn place_at(
    program: &Program,
    mut sites: Vec<Site>,
    aims: &[Aim],
    weights: Weights,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Placement, NoPlacement> {
    let begun = Instant::now();
    program.validate().map_err(|invalid| NoPlacement::Refused(Refusal::Invalid(invalid)))?;
    let on_cycle: Vec<Vec<bool>> = program.threads.iter().map(on_cycle).collect();
    let weights: Vec<u64> = sites
        .iter()
        .map(|site| {
            let looped = site.places.iter().any(|&(tid, pc)| on_cycle[tid.index()][pc.index()]);
            let weight = weights.fence + if looped { weights.in_loop } else { 0 };
            // Of equally good places, one in front of an access is the easiest to point at.
            let access =
                site.places.iter().all(|&(tid, pc)| program.step(tid, pc).instr.place().is_some());
            weight * TIE + u64::from(!access)
        })
        .collect();
    let mut point: HashMap<(Tid, Pc), usize> = HashMap::new();
    for (k, site) in sites.iter().enumerate() {
        point.extend(site.places.iter().map(|&place| (place, k)));
    }
    let mut targets = Vec::new();
    for &aim in aims {
        let machine = aim.machine();
        let compiled = compile(program, machine);
        let method = match aim {
            Aim::Robust(_) => {
                choose(&compiled, machine, question.method).map_err(NoPlacement::Refused)?
            }
            Aim::TriangularRaceFree => Method::Locality,
        };
        let singular = method == Method::Singularity;
        let mut search = AttackSearch::telling_apart(
            &compiled.program,
            machine,
            singular,
            question.limits.budget,
        );
        if !question.reductions.partial_order {
            search = search.without_reduction();
        }
        if aim == Aim::TriangularRaceFree {
            search = search.looking_for(Goal::TriangularRace);
        }
        targets.push(Target { aim, compiled, search });
    }
    let (known, cost) = (Vec::new(), Cost::default());
    let mut asked = Asked { targets, sites: &sites, point, question, observe, known, cost };
    let result = repair(&mut asked, Points { weights: &weights, requires: &[] });
    let mut cost = asked.cost;
    cost.elapsed = begun.elapsed();
    match result {
        Ok(Repair { points, minimum, rounds }) => {
            let mut number = 0;
            sites.retain(|_| {
                number += 1;
                points.contains(&(number - 1))
            });
            // With more fences than this, preferences could have added up to one.
            let minimum = minimum && points.len() < TIE as usize;
            Ok(Placement { sites, minimum, rounds, cost })
        }
        Err(Failure::Hopeless) => Err(NoPlacement::Hopeless),
        Err(Failure::Undecided(why)) => Err(why),
    }
}

/// The program with a full fence at each of the sites.
pub fn insert(program: &Program, sites: &[Site]) -> Program {
    let mut program = program.clone();
    for &(tid, pc) in sites.iter().flat_map(|site| &site.places) {
        let thread = &mut program.threads[tid.index()];
        let at = Pc::from(thread.code.len());
        let redirect = |to: &mut Pc| {
            if *to == pc {
                *to = at;
            }
        };
        for step in &mut thread.code {
            redirect(&mut step.next);
            step.targets_mut().for_each(redirect);
        }
        redirect(&mut thread.entry);
        let origin = thread.code[pc.index()].origin;
        thread.code.push(Step { instr: Instr::Fence(FenceMode::Sc), next: pc, origin });
    }
    canonical::program(&program)
}

/// Why a program with fences is not shown to reach its aims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unproved {
    /// It does not reach them.
    Not,
    /// It is not known whether it does.
    Unknown(Why),
    /// It has run-time errors, such as this.
    Faulty(Fault),
}

impl std::fmt::Display for Unproved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unproved::Not => f.write_str(
                "the patched program is not what it should be, which is a bug in fencepost",
            ),
            Unproved::Unknown(why) => {
                write!(f, "the patched program could not be checked once more: {why}")
            }
            Unproved::Faulty(fault) => write!(
                f,
                "the program has run-time errors, and what comes after them is unknown: {fault}"
            ),
        }
    }
}

impl std::error::Error for Unproved {}

/// Checks that `program` reaches all aims, with what is left of the time. A placement is derived from attacks without the
/// fences in the program, so the program with the fences is checked once more.
///
/// Nothing was looked at behind a run-time error, so there must be none in any interleaving. Attacks say nothing about
/// that: what can help none of them is left out of their search. So interleavings are searched, unless text and values
/// rule out run-time errors.
pub fn verify(program: &Program, aims: &[Aim], question: &Question) -> Result<(), Unproved> {
    for aim in aims {
        let asked = Question { double_check: DoubleCheck::Never, ..aim.question(question) };
        if !legality::refusals(program, &asked).is_empty() {
            return Err(Unproved::Not);
        }
        let (decision, faults) = match aim {
            Aim::Robust(machine) => {
                decide(program, *machine, &asked, &|_, _| {}).map_err(|_| Unproved::Not)?
            }
            Aim::TriangularRaceFree => triangular_race::decide(program, &asked, &|_, _| {}),
        };
        if let Some(faulty) = faults.first() {
            return Err(Unproved::Faulty(faulty.fault));
        }
        match decision.verdict {
            Verdict::Holds => {}
            Verdict::Undecided(why) => return Err(Unproved::Unknown(why)),
            Verdict::Violated(_) => return Err(Unproved::Not),
        }
    }
    if !may_fault(program, question.limits.budget) {
        return Ok(());
    }
    let sc = Question { model: Model::Sc, double_check: DoubleCheck::Never, ..*question };
    let answer = crate::interleavings(program, &sc, &|_, _| {});
    if let Some(Problem::Fault(fault)) = answer.faults.first().map(|fault| fault.problem) {
        return Err(Unproved::Faulty(fault));
    }
    match answer.verdict(Property::Assertions) {
        Some(Verdict::Undecided(why)) => Err(Unproved::Unknown(*why)),
        _ => Ok(()),
    }
}

/// Could a step of the program be a run-time error? An expression is ruled out by its operators, or by the values that
/// its registers may have; an update is not, as it may overflow whatever its operand is.
fn may_fault(program: &Program, budget: Budget) -> bool {
    let possible = PossibleValues::within(program, budget);
    program.steps().any(|(tid, pc, Step { instr, .. })| {
        let fails =
            |expr: &Expr| !expr.is_formula() && possible.may_fail(program, tid.index(), pc, expr);
        let is_outside = |place: &Place| match (place.known(), &place.index) {
            (Some(known), _) => known.is_err(),
            (None, Some(index)) => {
                let indices = possible.expr(program, tid.index(), pc, index);
                let inside =
                    |indices: &[Value]| indices.iter().all(|&k| place.element(k).is_some());
                fails(index) || !indices.members().is_some_and(inside)
            }
            (None, None) => false,
        };
        matches!(instr, Instr::Rmw { .. } | Instr::Begin | Instr::End | Instr::Mark(_))
            || instr.operands().into_iter().any(fails)
            || instr.places().iter().any(is_outside)
    })
}

/// What is to be reached, and the search that tells whether it is. What the program's text says about attacks is found out once
/// for all sets of fences.
struct Target {
    aim: Aim,
    compiled: Compiled,
    search: AttackSearch,
}

struct Asked<'a> {
    targets: Vec<Target>,
    sites: &'a [Site],
    point: HashMap<(Tid, Pc), usize>,
    question: &'a Question,
    observe: &'a (dyn Fn(&Task, &Progress) + Sync),
    /// The points that prevent each attack that was found. It succeeds unless one of them is chosen.
    known: Vec<Vec<usize>>,
    cost: Cost,
}

impl Violations for Asked<'_> {
    type Undecided = NoPlacement;

    fn budget(&self) -> Budget {
        self.question.limits.budget
    }

    fn remaining(&mut self, chosen: &[usize]) -> Remaining<NoPlacement> {
        let succeeds = |attack: &&Vec<usize>| !attack.iter().any(|point| chosen.contains(point));
        let still: Vec<Vec<usize>> = self.known.iter().filter(succeeds).cloned().collect();
        if !still.is_empty() {
            return Remaining::Wrong(still);
        }
        let mut wrong = Vec::new();
        for Target { aim, compiled, search } in &mut self.targets {
            let machine = aim.machine();
            let threads = &compiled.program.threads;
            let mut fences: Vec<Vec<bool>> =
                threads.iter().map(|thread| vec![false; thread.code.len()]).collect();
            for &(tid, pc) in chosen.iter().flat_map(|&point| &self.sites[point].places) {
                fences[tid.index()][pc.index()] = true;
            }
            search.imagine(&fences);
            let search = &*search;
            if *aim != Aim::TriangularRaceFree && search.candidates.hopeful == 0 {
                continue;
            }
            let options = self.question.options(Stop::AfterStates(ENOUGH));
            let task = Task::default();
            let report = search::explore(search, &options, &|p| (self.observe)(&task, p));
            self.cost.add(&report.progress);
            let before = wrong.len();
            let mut faulty = None;
            for found in &report.findings {
                match found.finding {
                    AttackFinding::Fault { tid, pc, fault } => {
                        faulty = Some(Faulty { tid, pc: compiled.source(tid, pc), fault });
                    }
                    AttackFinding::Cycle { attacker, .. } => {
                        let between = match aim {
                            Aim::Robust(_) => {
                                computation(search, compiled, machine, &found.path, found.finding)
                                    .map(|computation| computation.between)
                            }
                            Aim::TriangularRaceFree => {
                                race(search, compiled, &found.path, found.finding)
                                    .map(|race| race.between)
                            }
                        };
                        match between {
                            Some(between) => wrong.push(points(&self.point, attacker, &between)),
                            None => {
                                let why = NoPlacement::Undecided(*aim, Why::Rejected);
                                return Remaining::Undecided(why);
                            }
                        }
                    }
                }
            }
            if wrong.len() == before {
                let limit =
                    report.limit.map(|limit| NoPlacement::Undecided(*aim, Why::Limit(limit)));
                let fault = faulty.map(|faulty| NoPlacement::Faulty(*aim, faulty));
                if let Some(why) = limit.or(fault) {
                    return Remaining::Undecided(why);
                }
            }
        }
        match wrong.is_empty() {
            true => Remaining::Fine,
            false => {
                self.known.extend(wrong.iter().cloned());
                Remaining::Wrong(wrong)
            }
        }
    }
}

/// After a violation, a search goes on until it has seen this many states: the more violations one
/// round shows, the fewer rounds there are.
const ENOUGH: u64 = 20_000;

/// The points of these steps of a thread.
fn points(of: &HashMap<(Tid, Pc), usize>, attacker: Tid, between: &[Pc]) -> Vec<usize> {
    let mut points: Vec<usize> =
        between.iter().filter_map(|&pc| of.get(&(attacker, pc)).copied()).collect();
    points.sort_unstable();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::By;

    /// A thread whose registers may be 0 or 2, and 0 or 3, at first.
    fn program(thread: &str) -> Program {
        let text = format!(
            "global x, y, a[2]; thread u {{ x.store(2); y.store(3); }}
             thread t {{ local r, s; r = x.load(); s = y.load(); {thread} }}"
        );
        lang::parse("test", &text).expect("a program").program
    }

    /// Catches a program that is taken for one without run-time errors, by what its text or its values rule out.
    #[test]
    fn what_may_be_an_error() {
        let may = |thread: &str| may_fault(&program(thread), Budget::UNLIMITED);
        for thread in [
            "a[r].store(1);",
            "r = a[s].load();",
            "r = 1 / s;",
            "r = 1 % s;",
            "x.store(1 / r);",
            "if (r / s == 1) { skip; }",
            "r = CAS(x, r / s, 1);",
            "r = CAS(x, 1, 1 / r);",
            "wait(x, 1 / r);",
            "assert(r / s == 0);",
            "r = FADD(x, 1);",
            "while (s != 1) { s = s + 5; } a[s].store(1);",
            "while (s != 1) { s = s + 5; } s = 1 / s;",
        ] {
            assert!(may(thread), "{thread}");
        }
        let by_text = "x.store(1); fence(sc); r = y.load(); a[1].store(r); if (r == 1 && !(s < 2)) { s = CAS(x, r, 0); } \
            while (r != 0) { wait(y, 1); r = a[0].load(); } assert(r <= s || r >= 1);";
        let by_values = "a[r / 2].store(1); a[s == 3].store(1); r = 6 / (s + 1); a[0].store(r);";
        for fine in [by_text, by_values] {
            assert!(!may(fine), "{fine}");
        }
    }

    /// A run-time error of a thread that no attack needs. Catches a search for attacks, which leaves such a thread out,
    /// that is taken for one through all interleavings.
    #[test]
    fn errors_of_bystanders_count() {
        let text = "global x = 1, y, z; thread t { local r; r = 1 / r; }
            thread u { local r; x.store(1); y.store(2); x.store(0); r = x.load(); }
            thread v { x.store(1); z.store(2); }";
        let program = lang::parse("test", text).expect("a program").program;
        for machine in [Machine::Tso, Machine::Pso, Machine::Pgas] {
            let aim = Aim::Robust(machine);
            let (decision, faults) =
                decide(&program, machine, &Question::of(machine), &|_, _| {}).expect("a program");
            let searched = !matches!(decision.by, By::Attacks { examined: 0, .. });
            assert!(searched && decision.verdict.holds() && faults.is_empty(), "{aim}: {faults:?}");
            let verified = verify(&program, &[aim], &Question::of(machine));
            assert!(matches!(verified, Err(Unproved::Faulty(_))), "{aim}: {verified:?}");
        }
    }
}
