//! Races, assertions and final conditions of programs that are not robust.
//!
//! The interleavings of a robust program show all races and failed assertions. Those of a program that is not robust
//! do not, so the weak memory itself is explored: [`memory::rc11`]. Each run of this memory builds one execution that RC11
//! allows, and each such execution is built by some run. So the search finds a race or a failed assertion if some execution
//! has one; if the search finds none in any state, the program is *not robust, but safe*.
//!
//! # How far
//!
//! A thread that does not read while another thread writes can still read each of these writes later, so there may be
//! infinitely many states. The search therefore bounds the number of *stale* writes of a location: writes that are not the last,
//! and that some thread can still read or place a write behind. `explore` starts with a small bound and doubles it until a search
//! never meets the bound, and then the answer is exact; or until something is found, or a limit is reached. If the question
//! names a bound, only that one is tried, and an answer that met it says so.
//!
//! An interleaving is an execution of the weak memory as well, and there are far fewer of them. The search for robustness stops at
//! its first finding, so `extend` has a brief look at the weak memory first, then one at the interleavings alone, and only then
//! goes as far as the question allows: most assertions that fail without any stale read are found by then. And where nothing can fail
//! whatever is read, nothing is explored at length (`harmless`).
//!
//! # What is reported
//!
//! Nothing is reported before the judge has accepted its execution (`replay`). The machine keeps all axioms
//! exactly, so a finding that the judge rejects is an internal error. So is one that a short search misses and the same search
//! without partial order makes ([`crate::double_check`]).

mod harmless;
mod pack;
mod persistent;
mod replay;
pub mod system;
mod waiting;

use crate::Task;
use crate::answer::{Answer, By, Cost, Decision, Problem, Verdict, Why, Witness};
use crate::double_check;
use crate::plan::Observe;
use crate::question::{Beyond, DoubleCheck, Extent, Model, Property, Question};
use ir::expr::Unary;
use ir::{Expr, Instr, Program};
use replay::Judged;
use search::{Limit, Limits, Options, Stop};
use std::sync::Arc;
use std::time::{Duration, Instant};
use system::{Finding, Seeks, System};

/// Bounds on stale writes that are tried, unless the question names one.
const BOUNDS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// How many states a brief look may take: some hundredths of a second, enough for most algorithms of a page. That a
/// program is not robust should be said as quickly as it was found.
const BRIEF_STATES: u64 = 3_000;
/// How long a brief look may take.
pub const BRIEF_TIME: Duration = Duration::from_secs(2);
/// How many states a look at the interleavings may take: they cost a tenth of the weak memory's.
const INTERLEAVING_STATES: u64 = 250_000;
/// After a first finding, a search goes on until it has seen this many states.
const LINGER: u64 = 50_000;
/// How many ways to get stuck are kept; each is only a warning.
const KEPT_STUCK: usize = 3;

/// What a search of the weak memory came to.
#[derive(Default)]
struct Explored {
    races: Vec<Witness>,
    assertions: Vec<Witness>,
    faults: Vec<Witness>,
    stuck: Vec<Witness>,
    /// What the search was for.
    sought: Vec<Witness>,
    /// Was the bound on stale writes met?
    bounded: bool,
    /// Why not everything within the bound was seen.
    cut: Option<Why>,
    rejected: Vec<&'static str>,
    /// Was it found only without partial order?
    missed: bool,
    cost: Cost,
}

impl Explored {
    fn has_findings(&self) -> bool {
        let found = [&self.races, &self.assertions, &self.faults, &self.sought];
        found.iter().any(|witnesses| !witnesses.is_empty())
    }

    /// What is wrong with Fencepost, in words.
    fn internal(&self) -> impl Iterator<Item = String> {
        let rejected = self.rejected.iter().map(|what| {
            format!("the weak memory showed {what}, but the judge rejected its execution")
        });
        let missed = self.missed.then(|| {
            let text = "two searches of the weak memory disagree; only the one without partial order finds something";
            text.to_string()
        });
        rejected.chain(missed)
    }
}

/// Adds to an answer, in which robustness was not shown, what the weak memory can do.
pub(crate) fn extend(question: &Question, answer: &mut Answer, observe: Observe<'_>) {
    let is_robust = answer.verdict(question.property).is_none_or(Verdict::holds);
    let is_racy = answer.verdict(Property::Races).is_some_and(|races| races.witness().is_some());
    let why = |answer: &Answer, property| answer.decision(property)?.verdict.why();
    let is_open = |answer: &Answer, property| {
        let settled = [Why::Racy, Why::Faulty, Why::Rejected, Why::Stopped];
        why(answer, property).is_some_and(|why| !settled.contains(&why))
    };
    let asked = [Property::Races, Property::Assertions];
    let has_answers = asked.into_iter().all(|property| why(answer, property).is_none());
    if question.beyond == Beyond::Nothing || is_robust || is_racy || has_answers {
        return;
    }
    if question.beyond.weak_memory() {
        look(&Question { beyond: Beyond::Brief, ..*question }, answer, observe);
        let asks_only = !is_open(answer, Property::Races) && is_open(answer, Property::Assertions);
        if asks_only && harmless::cannot_fail(&answer.program, question.limits.budget) {
            decide_assertions(answer, Verdict::Holds, By::WeakMemory { stale: None });
        }
    }
    if question.extent == Extent::First && is_open(answer, Property::Assertions) {
        look_at_interleavings(question, answer, observe);
    }
    let still_open = asked.into_iter().any(|property| is_open(answer, property));
    if question.beyond == Beyond::Full && still_open {
        look(question, answer, observe);
    }
}

fn decide_assertions(answer: &mut Answer, verdict: Verdict, by: By) {
    let mut decisions = answer.decisions.iter_mut();
    if let Some(decision) = decisions.find(|it| it.property == Property::Assertions) {
        *decision = Decision { verdict, by, ..decision.clone() };
    }
}

/// Adds an assertion that fails, and run-time errors, in interleavings.
fn look_at_interleavings(question: &Question, answer: &mut Answer, observe: Observe<'_>) {
    let start = Instant::now();
    let mut question = Question { model: Model::Sc, double_check: DoubleCheck::Never, ..*question };
    let limits = &mut question.limits;
    limits.states =
        Some(limits.states.map_or(INTERLEAVING_STATES, |most| most.min(INTERLEAVING_STATES)));
    limits.budget = limits.budget.at_most(BRIEF_TIME);
    let mut found = crate::interleavings(&answer.program, &question, observe);
    found.witnesses_mut().for_each(|witness| witness.play(&answer.program));
    if let Some(verdict @ Verdict::Violated(_)) = found.verdict(Property::Assertions) {
        decide_assertions(answer, verdict.clone(), By::Interleavings);
    }
    add(&mut answer.faults, found.faults, usize::MAX);
    answer.cost.include(&Cost { limit: None, ..found.cost });
    answer.cost.elapsed += start.elapsed();
}

/// Adds witnesses of places that are not known yet.
fn add(kept: &mut Vec<Witness>, more: Vec<Witness>, most: usize) {
    let place = |witness: &Witness| (witness.tid, witness.pc);
    for witness in more {
        if kept.len() < most && !kept.iter().any(|known| place(known) == place(&witness)) {
            kept.push(witness);
        }
    }
}

/// Adds what the weak memory can do, as far as the question looks at it.
fn look(question: &Question, answer: &mut Answer, observe: Observe<'_>) {
    let start = Instant::now();
    let program = Arc::new(answer.program.clone());
    let explored = explore(&program, On::WeakMemory, &Seeks::Nothing, question, observe);
    let (explored, bound) = match explored {
        Ok(found) => found,
        Err(why) => {
            answer.weak = Some(Weak { ended: Some(why), stale: None, states: 0 });
            return;
        }
    };
    let cut = explored.cut.or(match explored.bounded && question.stale.is_none() {
        true => Some(Why::Stale(bound)),
        false => None,
    });
    let by = By::WeakMemory { stale: explored.bounded.then_some(bound) };
    let faulty = !explored.faults.is_empty();
    let racy = !explored.races.is_empty();
    for decision in &mut answer.decisions {
        let found = match decision.property {
            Property::Races => &explored.races,
            Property::Assertions => &explored.assertions,
            _ => continue,
        };
        if decision.verdict.why().is_none() {
            continue; // an interleaving shows it
        }
        let is_rejected = !explored.rejected.is_empty();
        let verdict = match (found.first(), cut) {
            (Some(witness), _) => Verdict::Violated(Box::new(witness.clone())),
            _ if is_rejected => Verdict::Undecided(Why::Rejected),
            _ if racy => Verdict::Undecided(Why::Racy),
            _ if faulty => Verdict::Undecided(Why::Faulty),
            (None, Some(why)) => Verdict::Undecided(why),
            (None, None) => Verdict::Holds,
        };
        *decision = Decision { verdict, by, ..decision.clone() };
    }
    answer.internal.extend(explored.internal());
    add(&mut answer.faults, explored.faults, usize::MAX);
    add(&mut answer.stuck, explored.stuck, KEPT_STUCK);
    answer.weak = Some(Weak {
        ended: explored.cut,
        stale: explored.bounded.then_some(bound),
        states: explored.cost.states,
    });
    answer.cost.include(&Cost { limit: None, ..explored.cost });
    answer.cost.elapsed += start.elapsed();
}

/// How far the weak memory was explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weak {
    /// Why the exploration ended before its end, if it did.
    pub ended: Option<Why>,
    /// The bound on stale writes, if it was met.
    pub stale: Option<usize>,
    /// States explored.
    pub states: u64,
}

/// What is explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    /// The weak memory, with bounds that grow until none is met.
    WeakMemory,
    /// Interleavings.
    Interleavings,
}

/// Explores the weak memory, with bounds that grow until none is met, or interleavings; what it found, and the last bound
/// that was explored to the end, or else the first.
fn explore(
    program: &Arc<Program>,
    on: On,
    seeks: &Seeks,
    question: &Question,
    observe: Observe<'_>,
) -> Result<(Explored, usize), Why> {
    let mut limits = question.limits;
    let is_brief = question.beyond == Beyond::Brief && on == On::WeakMemory;
    if is_brief {
        limits.states = Some(limits.states.map_or(BRIEF_STATES, |most| most.min(BRIEF_STATES)));
        limits.budget = limits.budget.at_most(BRIEF_TIME);
    }
    let bounds = match (on, question.stale) {
        (On::Interleavings, _) => vec![0],
        (On::WeakMemory, Some(bound)) => vec![bound],
        (On::WeakMemory, None) => BOUNDS.to_vec(),
    };
    let system = |bound, reduce| {
        let system = match on {
            On::WeakMemory => System::new(program, bound, reduce),
            On::Interleavings => System::interleaving(program, reduce),
        };
        Ok(Arc::new(system.ok_or(Why::NoWeakMemory)?.seeking(seeks.clone())))
    };
    let reduce = question.reductions.partial_order;
    let mut best: Option<(Explored, usize)> = None;
    let mut cost = Cost::default();
    for bound in bounds {
        let system = system(bound, reduce)?;
        let mut found = search_once(&system, question, limits, observe);
        cost.include(&found.cost);
        if is_brief && ran_into(question, &cost, found.cut) {
            found.cut = Some(Why::Brief);
        }
        limits.states = limits.states.map(|most| most.saturating_sub(found.cost.states));
        found.cost = cost;
        let is_last = found.has_findings() || !found.rejected.is_empty() || !found.bounded;
        match &mut best {
            // A smaller bound was explored to the end; that is more than a larger one in part.
            Some((best, _)) if found.cut.is_some() && !found.has_findings() => {
                best.cost = cost;
                break;
            }
            _ => best = Some((found, system.stale())),
        }
        let spent = limits.budget.is_spent() || limits.states == Some(0);
        if is_last || spent || best.as_ref().is_some_and(|(found, _)| found.cut.is_some()) {
            break;
        }
    }
    let (found, bound) = best.ok_or(Why::NoWeakMemory)?;
    if !reduce || found.cut.is_some() || found.has_findings() {
        return Ok((found, bound));
    }
    let Some(limits) = double_check::limits(program, question, &found.cost) else {
        return Ok((found, bound));
    };
    let plain = double_check::plain(question, limits);
    let plain = search_once(&system(bound, false)?, &plain, limits, observe);
    Ok(match plain.has_findings() {
        true => (Explored { missed: true, ..plain }, bound),
        false => (found, bound),
    })
}

/// Was it the end of a brief look that cut a search short, and no limit of the question?
fn ran_into(question: &Question, cost: &Cost, cut: Option<Why>) -> bool {
    let is_limit = matches!(cut, Some(Why::Limit(Limit::States | Limit::Time)));
    let most = question.limits.states.unwrap_or(u64::MAX);
    is_limit && cost.states < most && !question.limits.budget.is_spent()
}

/// Decides a question about the states that a program comes to, which one witness answers: what was found if there is
/// one, and how. On the weak memory, unless the program is known to be robust.
pub(crate) fn decide(
    seeks: &Seeks,
    is_robust: bool,
    question: &Question,
    answer: &mut Answer,
    observe: Observe<'_>,
) -> (Verdict, By) {
    let on = if is_robust { On::Interleavings } else { On::WeakMemory };
    let start = Instant::now();
    let mut program = answer.program.clone();
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        // Either way the thread goes no further, and that an assertion fails is another question. What is stopped by
        // `assume(0)` waits there for ever, and what fails does not.
        if let Instr::Assert(claim) = &step.instr {
            let never =
                Expr::unary(Unary::Not, Expr::Const(1)).filter(|_| *claim == Expr::Const(0));
            step.instr = Instr::Assume(never.unwrap_or_else(|| claim.clone()));
        }
    }
    let program = Arc::new(program);
    let (mut explored, bound) = match explore(&program, on, seeks, question, observe) {
        Ok(found) => found,
        Err(why) => return (Verdict::Undecided(why), By::Interleavings),
    };
    let by = match on {
        On::WeakMemory => By::WeakMemory { stale: explored.bounded.then_some(bound) },
        On::Interleavings => By::Interleavings,
    };
    let is_unbounded = explored.bounded && question.stale.is_none();
    let verdict = match explored.sought.is_empty() {
        false => Verdict::Violated(Box::new(explored.sought.swap_remove(0))),
        true if !explored.rejected.is_empty() => Verdict::Undecided(Why::Rejected),
        true if !explored.races.is_empty() => Verdict::Undecided(Why::Racy),
        true if !explored.faults.is_empty() => Verdict::Undecided(Why::Faulty),
        true => match (explored.cut, is_unbounded) {
            (Some(why), _) => Verdict::Undecided(why),
            (None, true) => Verdict::Undecided(Why::Stale(bound)),
            (None, false) => Verdict::Holds,
        },
    };
    answer.internal.extend(explored.internal());
    answer.cost.include(&Cost { limit: None, ..explored.cost });
    answer.cost.elapsed += start.elapsed();
    (verdict, by)
}

fn search_once(
    system: &Arc<System>,
    question: &Question,
    limits: Limits,
    observe: Observe<'_>,
) -> Explored {
    let options = Options { limits, ..question.options(Stop::AfterStates(LINGER)) };
    let task = Task::default();
    let report = question.explore(system, &options, &|progress| observe(&task, progress));
    let mut explored = Explored::default();
    explored.cost.add(&report.progress);
    let budget = question.limits.budget.to_finish();
    for found in &report.findings {
        let (kept, what) = match &found.finding {
            Finding::Bound => {
                explored.bounded = true;
                continue;
            }
            Finding::TooMuch => {
                explored.cut.get_or_insert(Why::TooMuch);
                continue;
            }
            Finding::Unforeseen => {
                explored.cut.get_or_insert(Why::Unforeseen);
                continue;
            }
            Finding::End(_) => continue,
            Finding::Assertion(..) => (&mut explored.assertions, "a failed assertion"),
            Finding::Race(..) => (&mut explored.races, "a race"),
            Finding::Fault(..) => (&mut explored.faults, "a run-time error"),
            Finding::Final => (&mut explored.sought, "a final state"),
            Finding::Waiting(_) => (&mut explored.sought, "threads that wait for ever"),
            Finding::Stuck(_) if explored.stuck.len() == KEPT_STUCK => continue,
            Finding::Stuck(_) => (&mut explored.stuck, "threads that wait for ever"),
        };
        let judged = replay::steps(system, &found.path, &found.finding)
            .map(|steps| replay::judged(&system.program, &steps, &found.finding, budget));
        match judged {
            Some(Judged::Accepted(witness)) => kept.push(*witness),
            Some(Judged::Spent(spent)) => {
                explored.cut.get_or_insert(Why::Limit(spent.into()));
            }
            Some(Judged::TooMuch) => {
                explored.cut.get_or_insert(Why::TooMuch);
            }
            Some(Judged::Rejected) | None => explored.rejected.push(what),
        }
    }
    if !report.exhausted {
        let why = report.limit.map_or(Why::Stopped, Why::Limit);
        explored.cut.get_or_insert(why);
    }
    let Explored { races, assertions, faults, sought, .. } = &mut explored;
    for witnesses in [races, assertions, faults, sought] {
        witnesses.sort_by_key(|witness| witness.run().len());
    }
    debug_assert!(explored.assertions.iter().all(|w| w.problem == Problem::Assertion));
    explored
}
