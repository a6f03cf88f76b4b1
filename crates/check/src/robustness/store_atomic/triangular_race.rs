//! Triangular race freedom (Owens, *Reasoning about the Implementation of Concurrency Abstractions on
//! x86-TSO*, ECOOP 2010): a cheaper condition that is sufficient for robustness against TSO.
//!
//! A *triangular race* is a thread that stores, passes no full fence, and loads another address from
//! memory just when another thread is about to store there. It shows in plain interleavings, without
//! any delayed store; a program that has none behaves on TSO as it does under SC. The converse is
//! false: a race alone closes no cycle, so a robust program may have triangular races. "Free of
//! triangular races" is therefore an answer of its own, and "no fewer fences" is a statement about it
//! and not about robustness.
//!
//! How this compares with others:
//!
//! 1. Owens defines the race on executions under SC: a write of a thread, later a read of another
//!    address by the same thread with no flush between, and next to the read a write to its address by
//!    another thread. This is what is looked for here. *Flush* is a full fence, a locked update, `lock`
//!    and `unlock`.
//! 2. The racing write counts here even if it is part of a locked update, or of a block between `lock`
//!    and `unlock` that the other thread is about to enter and that may contain it. That makes for more
//!    races, never for fewer, so freedom of them stays sufficient.
//! 3. A read of an address that the thread itself has written since its last flush reads its own store
//!    and is no race, as with Owens.
//! 4. Trencher checks triangular race freedom (`-trf`) and places fences for it (`-ftrf`) beside
//!    robustness (`-r`, `-f`), as two questions with two answers, as here. Its answers about triangular
//!    races were not compared with ours.

use super::model::{AttackFinding, AttackSearch, Goal, Label};
use super::{Machine, between, compile, labels};
use crate::answer::{By, Cost, Decision, Evidence, Faulty, Problem, Verdict, Why, Witness};
use crate::explore::Task;
use crate::question::{Property, Question};
use ::ir::{Loc, Pc, Program, Tid};
use ::memory::store_buffer::Compiled;
use search::{Progress, Stop};
use std::sync::Arc;
use std::time::Instant;

/// A triangular race. Program counters are those of the program as given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The thread that stores and then loads.
    pub tid: Tid,
    /// Its store.
    pub store: Pc,
    /// What it stores to.
    pub stored: Loc,
    /// Its load.
    pub load: Pc,
    /// Its steps between the two, the load included.
    pub between: Vec<Pc>,
    /// The threads and steps of the interleaving that leads there, accesses only.
    pub run: Vec<(Tid, Pc)>,
}

/// Is `program` free of triangular races? One that is not may be robust all the same. Also the run-time errors that the search met.
pub fn decide(
    program: &Program,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> (Decision, Vec<Faulty>) {
    let begun = Instant::now();
    let compiled = compile(program, Machine::Tso);
    let mut search =
        AttackSearch::telling_apart(&compiled.program, Machine::Tso, false, question.limits.budget)
            .looking_for(Goal::TriangularRace);
    if !question.reductions.partial_order {
        search = search.without_reduction();
    }
    let search = Arc::new(search);
    let options = question.options(Stop::AtFirst);
    let task = Task::default();
    let report = question.explore(&search, &options, &|progress| observe(&task, progress));
    let mut cost = Cost::default();
    cost.add(&report.progress);
    let mut faults = Vec::new();
    let mut found_race: Option<Option<Race>> = None;
    for found in &report.findings {
        match found.finding {
            AttackFinding::Fault { tid, pc, fault } => {
                faults.push(Faulty { tid, pc: compiled.source(tid, pc), fault });
            }
            AttackFinding::Cycle { .. } if found_race.is_none() => {
                found_race = Some(race(&search, &compiled, &found.path, found.finding));
            }
            AttackFinding::Cycle { .. } => {}
        }
    }
    let verdict = match (found_race, report.limit, !faults.is_empty()) {
        (Some(Some(race)), _, _) => Verdict::Violated(Box::new(Witness {
            tid: race.tid,
            pc: race.load,
            problem: Problem::TriangularRace,
            evidence: Evidence::TriangularRace(Box::new(race)),
        })),
        (Some(None), _, _) => Verdict::Undecided(Why::Rejected),
        (None, Some(limit), _) => Verdict::Undecided(Why::Limit(limit)),
        (None, None, true) => Verdict::Undecided(Why::Faulty),
        (None, None, false) => Verdict::Holds,
    };
    cost.elapsed = begun.elapsed();
    let by = By::TriangularRaces;
    (Decision { property: Property::TriangularRaces, verdict, by, cost }, faults)
}

/// The race that a path through the search stands for.
pub(crate) fn race(
    search: &AttackSearch,
    compiled: &Compiled,
    path: &[Box<[u8]>],
    finding: AttackFinding,
) -> Option<Race> {
    let AttackFinding::Cycle { attacker, target, start, last } = finding else { return None };
    let steps = labels(search, path, finding)?;
    // The store is the last step of the thread made before the search began to watch it.
    let calm = path
        .iter()
        .rposition(|bytes| search.unpack(bytes).attack.phase == ::memory::attack::Phase::Calm)?;
    let own: Vec<&Label> = steps[calm..].iter().filter(|step| step.tid == attacker).collect();
    Some(Race {
        tid: attacker,
        store: compiled.source(attacker, start),
        stored: target,
        load: compiled.source(attacker, last),
        between: between(&own, compiled)?,
        run: steps
            .iter()
            .filter(|step| step.act != super::model::Act::Local)
            .map(|step| (step.tid, compiled.source(step.tid, step.pc)))
            .collect(),
    })
}
