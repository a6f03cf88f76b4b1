//! Robustness against TSO, PSO and PGAS (Derevenetc, Meyer and Schweizer, *Locality and Singularity
//! for Store-Atomic Memory Models*).
//!
//! A program is robust if every computation of the machine with store buffers has the happens-before
//! trace of some interleaving. Buffers are not explored: by locality, a violation shows in a search
//! under SC with one attacker, see [`::memory::attack::Attack`]. Each module has one part:
//! [`attack_candidates`] what the text says about attacks, [`state`] and [`mod@local_runs`] how the search's states look,
//! [`mod@model`] the search itself, [`mod@judge`] the judge that runs a witness on the machine.
//!
//! [`decide`] decides robustness and nothing else. A thread that has a run-time error, or whose
//! assertion fails, stops there; the trace of a computation is what the threads did before.
//! [`mod@safety`] adds the answers about assertions and run-time errors.

pub mod attack_candidates;
pub mod judge;
pub mod local_runs;
mod memo;
pub mod model;
mod moves;
pub mod safety;
pub mod state;
pub mod triangular_race;

pub use self::judge::{Event, Happening, OnCycle};
pub use ::memory::store_buffer::{Compiled, Machine, compile};

use self::judge::judge;
use self::model::{Act, AttackFinding, AttackSearch, Buffers, Label, Receiver};
use self::state::State;
pub use crate::answer::Faulty;
use crate::answer::{By, Cost, Decision, Evidence, Problem, Verdict, Why, Witness};
use crate::explore::Task;
use crate::legality::Refusal;
use crate::parts;
use crate::question::{Method, Property, Question};
use ::ir::{Loc, Pc, Program, Tid, Value};
use ::memory::store_buffer::trace::Trace;
use search::{Found, Limit, Limits, Options, Order, Progress, Report, Stop};
use std::sync::Arc;
use std::time::Instant;

/// A computation that no interleaving explains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Computation {
    /// The thread that delays a store.
    pub attacker: Tid,
    /// The delayed store's address.
    pub target: Loc,
    /// The delayed store.
    pub start: Pc,
    /// The access that overtakes it.
    pub last: Pc,
    /// The steps of the attacker between the two, `last` included, in its program.
    pub between: Vec<Pc>,
    /// What happens, in order.
    pub happenings: Vec<Happening>,
    /// The registers of each happening's thread after it.
    pub registers: Vec<Vec<Value>>,
    /// The happens-before cycle.
    pub cycle: Vec<OnCycle>,
    /// The trace it is a cycle of.
    pub trace: Trace,
}

/// The theorem to use; an error if the one wanted is not complete.
pub fn choose(compiled: &Compiled, machine: Machine, wanted: Method) -> Result<Method, Refusal> {
    let complete = machine != Machine::Tso && !compiled.has_light_fences();
    match (wanted, complete) {
        (Method::Auto | Method::Singularity, true) => Ok(Method::Singularity),
        (Method::Auto | Method::Locality, _) => Ok(Method::Locality),
        (Method::Singularity, false) => {
            use ::ir::{FenceMode, Instr};
            let place = compiled.program.steps().find_map(|(tid, pc, step)| {
                matches!(step.instr, Instr::LightFence(_) | Instr::Fence(FenceMode::Rel))
                    .then(|| (tid, compiled.source(tid, pc)))
            });
            Err(Refusal::Incomplete(machine, place))
        }
    }
}

/// How many states are explored breadth first before a look into the depth, so that what most programs show is shortest, and how
/// many by that.
const LOOKS: [(Order, u64); 2] = [(Order::Breadth, 2_000_000), (Order::Depth, 200_000)];

/// Is `program` robust against `machine`? Run-time errors are reported as far as the search met them:
/// where the text alone rules out attacks there is no search. [Parts](crate::parts) that share nothing are searched one after
/// the other, until one is not robust.
pub fn decide(
    program: &Program,
    machine: Machine,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<(Decision, Vec<Faulty>), Refusal> {
    let begun = Instant::now();
    let mut all: Option<(Decision, Vec<Faulty>)> = None;
    for part in parts::of(program, question) {
        let (decision, faults) = decide_part(&part, machine, question, observe)?;
        all = Some(match all {
            None => (decision, faults),
            Some((mut known, mut met)) => {
                known.include(decision);
                met.extend(faults);
                (known, met)
            }
        });
        if all.as_ref().is_some_and(|(known, _)| known.verdict.witness().is_some()) {
            break;
        }
    }
    let (mut decision, faults) = all.expect("a program has a part");
    if !faults.is_empty() && decision.verdict.holds() {
        decision.verdict = Verdict::Undecided(Why::Faulty);
    }
    decision.cost.elapsed = begun.elapsed();
    Ok((decision, faults))
}

/// Is a program that is not divided further robust against `machine`?
fn decide_part(
    program: &Program,
    machine: Machine,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<(Decision, Vec<Faulty>), Refusal> {
    let begun = Instant::now();
    let compiled = compile(program, machine);
    let method = choose(&compiled, machine, question.method)?;
    let singular = method == Method::Singularity;
    let mut search =
        AttackSearch::new(&compiled.program, machine, singular, question.limits.budget);
    if !question.reductions.partial_order {
        search = search.without_reduction();
    }
    let (attacks, examined) = (search.candidates.attacks, search.candidates.hopeful);
    let decided = |verdict, cost| Decision {
        property: Property::Robustness,
        verdict,
        by: By::Attacks { method, attacks, examined },
        cost: Cost { elapsed: begun.elapsed(), ..cost },
    };
    if examined == 0 {
        // The text alone says that nothing can go wrong.
        return Ok((decided(Verdict::Holds, Cost::default()), Vec::new()));
    }
    let search = Arc::new(search);
    let mut cost = Cost::default();
    let report = explore(&search, question, &mut cost, observe);
    let mut faults = Vec::new();
    let mut verdict = None;
    for found in &report.findings {
        match found.finding {
            AttackFinding::Fault { tid, pc, fault } => {
                faults.push(Faulty { tid, pc: compiled.source(tid, pc), fault });
            }
            AttackFinding::Cycle { .. } if verdict.is_none() => {
                let computation =
                    computation(&search, &compiled, machine, &found.path, found.finding);
                verdict = Some(computation.map_or(Verdict::Undecided(Why::Rejected), violated));
            }
            AttackFinding::Cycle { .. } => {}
        }
    }
    let verdict = verdict.unwrap_or(match (report.limit, faults.first()) {
        (Some(limit), _) => Verdict::Undecided(Why::Limit(limit)),
        (None, Some(_)) => Verdict::Undecided(Why::Faulty),
        (None, None) => Verdict::Holds,
    });
    Ok((decided(verdict, cost), faults))
}

/// Looks for an attack, breadth first and into the depth together: a violation that takes many steps of many threads, such as
/// a ring of store buffering, is behind too many states to be met breadth first, and often at the end of the first way into
/// the depth. So after many states breadth first, some are explored depth first; if that finds nothing, breadth first goes to the end. What
/// is found soon is shortest. What either finds is an attack; that there is none, only a search to the end says.
fn explore(
    search: &Arc<AttackSearch>,
    question: &Question,
    cost: &mut Cost,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Report<AttackFinding> {
    let options = question.options(Stop::AtFirst);
    let task = Task::default();
    let mut run = |options: &Options| {
        let report = question.explore(search, options, &|progress| observe(&task, progress));
        cost.add(&report.progress);
        report
    };
    let alone = options.order == Order::Breadth && question.cluster.is_none();
    if alone && options.limits.states.is_none_or(|most| most > LOOKS[0].1) {
        let is_cycle =
            |found: &Found<AttackFinding>| matches!(found.finding, AttackFinding::Cycle { .. });
        for (order, most) in LOOKS {
            let limits = Limits { states: Some(most), ..options.limits };
            let report = run(&Options { limits, order, ..options });
            if report.limit != Some(Limit::States) || report.findings.iter().any(is_cycle) {
                return report;
            }
        }
    }
    run(&options)
}

fn violated(computation: Computation) -> Verdict {
    Verdict::Violated(Box::new(witness(computation)))
}

/// A computation as a witness.
pub(crate) fn witness(computation: Computation) -> Witness {
    Witness {
        tid: computation.attacker,
        pc: computation.last,
        problem: Problem::DelayedStore,
        evidence: Evidence::Computation(Box::new(computation)),
    }
}

/// The computation that a path through the search stands for, if the judge accepts it.
pub(crate) fn computation(
    search: &AttackSearch,
    compiled: &Compiled,
    machine: Machine,
    path: &[Box<[u8]>],
    finding: AttackFinding,
) -> Option<Computation> {
    let AttackFinding::Cycle { attacker, target, .. } = finding else { return None };
    let steps = labels(search, path, finding)?;
    let accepted = judge(compiled, machine, &steps)?;
    let first = steps.iter().position(|step| matches!(step.act, Act::Delay(..)))?;
    let own: Vec<&Label> = steps[first..].iter().filter(|step| step.tid == attacker).collect();
    let between = between(&own, compiled)?;
    let source = |label: &Label| compiled.source(attacker, label.pc);
    Some(Computation {
        attacker,
        target,
        start: source(own.first()?),
        last: source(own.last()?),
        between,
        happenings: accepted.computation,
        registers: accepted.registers,
        cycle: accepted.cycle,
        trace: accepted.trace,
    })
}

/// The steps of a thread from the first (not included) to the last access.
pub(crate) fn between(own: &[&Label], compiled: &Compiled) -> Option<Vec<Pc>> {
    let last = own.last()?;
    let mut between = Vec::new();
    for (k, step) in own.iter().enumerate() {
        if k > 0 {
            between.push(step.pc);
        }
        if k + 1 < own.len() {
            between.extend(&step.local);
        }
    }
    let mut between: Vec<Pc> =
        between.into_iter().map(|pc| compiled.source(last.tid, pc)).collect();
    between.dedup();
    Some(between)
}

/// The steps along a path, the one that closes the cycle included.
pub(crate) fn labels(
    search: &AttackSearch,
    path: &[Box<[u8]>],
    finding: AttackFinding,
) -> Option<Vec<Label>> {
    struct Look<'l> {
        search: &'l AttackSearch,
        state: Option<&'l [u8]>,
        finding: AttackFinding,
        label: Option<Label>,
    }
    impl Receiver for Look<'_> {
        const WANTS_LOCAL_STEPS: bool = true;

        fn state(&mut self, label: &Label, state: &State) {
            if self.label.is_none() && self.state.is_some_and(|s| *s == *self.search.pack(state)) {
                self.label = Some(label.clone());
            }
        }

        fn found(&mut self, label: &Label, finding: AttackFinding) {
            if self.state.is_none() && self.label.is_none() && finding == self.finding {
                self.label = Some(label.clone());
            }
        }
    }
    let mut buffers = Buffers::new(search);
    let mut steps = Vec::new();
    for (k, state) in path.iter().enumerate() {
        let next = path.get(k + 1).map(|bytes| &**bytes);
        let mut look = Look { search, state: next, finding, label: None };
        search.successors(&search.unpack(state), &mut buffers, &mut look);
        steps.push(look.label?);
    }
    Some(steps)
}
