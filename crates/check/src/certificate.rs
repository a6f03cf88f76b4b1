//! From a monitor's objection to an execution that the judge accepts.
//!
//! A search ends in a *borderline state*: an SC run after which one access may go wrong. Here the
//! run is replayed on execution graphs (`graph`, which shares no code with the monitors), the
//! access is added so that it does go wrong, reading from or placed right after a stale write, and
//! the resulting graph is judged by the declarative definitions. Nothing that the judge does not
//! accept is ever called a violation.
//!
//! Plain robustness leaves little choice: the access takes one of the stale writes, and each is tried.
//! If the judge accepts none, monitors and definitions disagree ([`Certified::Rejected`], a bug). Under
//! observational robustness loads on the way may have been stale too, which is a choice for every load.
//! Only some of these are tried, and only within the budget. If none of them is accepted although more
//! exist, nothing is known ([`Certified::GaveUp`]).

use crate::answer::{Certificate, Problem, Why};
use crate::replay::RunStep;
use budget::Budget;
use graph::{EventId, Execution, ExecutionGraph, Judgement, Label, Next, judge_within};
use ir::{FenceMode, Instr, Loc, Pc, Program, Tid};
use memory::rc20::Robustness;
use std::collections::HashMap;
use std::ops::Range;

/// How many loads of a run may have read something stale without the program noticing.
const STALE_LOADS: usize = 3;
/// How many writes further back they may have read.
const AGES: usize = 16;
/// How many executions are tried.
const TRIES: usize = 5000;

/// What became of a monitor's objection.
#[derive(Clone, Debug)]
pub enum Certified {
    /// The judge accepted this execution. The other is that of the run up to there.
    Accepted(Box<Certificate>, Box<Played>),
    /// The judge accepted none of the executions that there are. This is a bug in Fencepost.
    Rejected,
    /// Not all executions were tried, because of this.
    GaveUp(Why),
}

/// The execution that shows `problem` of `tid` at `pc` after `run`, which was found by looking for
/// violations of `robustness`. Once the `budget` is spent no further execution is
/// tried.
pub fn certify(
    program: &Program,
    run: &[RunStep],
    (tid, pc): (Tid, Pc),
    problem: Problem,
    robustness: Robustness,
    budget: Budget,
) -> Certified {
    let mut tries = Tries { left: TRIES, budget, given_up: None };
    let end = (tid, pc);
    let Some(before) = replay(program, run, end, &[]) else { return Certified::Rejected };
    let accepted = match problem {
        Problem::Stale | Problem::Dependency => match robustness {
            Robustness::Plain => {
                continuations(program, &before.execution, tid, problem).into_iter().find_map(
                    |(graph, write)| weigh(program, graph, (None, write), robustness, &mut tries),
                )
            }
            Robustness::Observational => {
                observational(program, run, end, problem, &before, &mut tries)
            }
        },
        Problem::Race => race(program, run, end, robustness, &before, &mut tries),
        _ => None,
    };
    match (accepted, tries.given_up) {
        (Some(certificate), _) => {
            Certified::Accepted(Box::new(certificate), Box::new(before.played()))
        }
        (None, Some(why)) => Certified::GaveUp(why),
        (None, None) => Certified::Rejected,
    }
}

/// Counts executions that are tried.
struct Tries {
    left: usize,
    budget: Budget,
    /// Why no more may be tried, once they may not.
    given_up: Option<Why>,
}

impl Tries {
    /// May one more be tried?
    fn another(&mut self) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            self.given_up = Some(Why::GaveUp);
            return false;
        };
        self.left = left;
        self.in_time()
    }

    /// The judge's opinion of a graph, if there is time for it.
    fn judge(&mut self, program: &Program, graph: &ExecutionGraph) -> Option<Judgement> {
        let judged = judge_within(program, graph, self.budget);
        judged.map_err(|unjudged| self.given_up = Some(Why::not_judged(unjudged))).ok()
    }

    /// Is there time?
    fn in_time(&mut self) -> bool {
        let spent = self.budget.spent();
        self.given_up = self.given_up.or(spent.map(|spent| Why::Limit(spent.into())));
        spent.is_none()
    }
}

/// Judges a graph whose last event is the access that went wrong, or, if there is a stale load, what
/// uses it. The second half of `stale` is the write that the access, or the load, took.
fn weigh(
    program: &Program,
    graph: ExecutionGraph,
    stale: (Option<EventId>, Option<EventId>),
    robustness: Robustness,
    tries: &mut Tries,
) -> Option<Certificate> {
    let judgement = tries.judge(program, &graph)?;
    let last = last_event(&graph);
    let (access, used_by) = match stale.0 {
        None => (last, None),
        Some(load) => (load, Some(last)),
    };
    let conclusive =
        robustness == Robustness::Plain || judgement.refutes_observational_robustness();
    let cycle = match (robustness, conclusive) {
        (Robustness::Observational, true) => judgement.observational_cycle.clone(),
        _ => judgement.sc_cycle.clone(),
    };
    let other = stale.1?;
    judgement.refutes_robustness().then_some(Certificate {
        graph,
        access,
        other,
        cycle,
        used_by,
        conclusive,
    })
}

/// The ways to go on at the end of a run: an access takes a stale write, the most recent first
/// because that makes the most believable story; a dependency is a step of any kind.
fn continuations(
    program: &Program,
    before: &Execution,
    tid: Tid,
    problem: Problem,
) -> Vec<(ExecutionGraph, Option<EventId>)> {
    match before.next(program, tid) {
        Next::Access(access) => {
            let skipped = usize::from(problem == Problem::Stale);
            let writes = before.graph.writes_to(access.loc).iter().rev().skip(skipped);
            let after = |&w| Some((before.access(program, tid, w)?.graph, Some(w)));
            writes.filter_map(after).collect()
        }
        _ => {
            let after = before.local_steps(program, tid).into_iter();
            after.map(|after| (after.graph, None)).collect()
        }
    }
}

/// Under observational robustness some loads on the way may have read stale values, too, which the
/// monitors know as taint. They are found by trying: none, one, two of them.
fn observational(
    program: &Program,
    run: &[RunStep],
    end: (Tid, Pc),
    problem: Problem,
    before: &Replayed,
    tries: &mut Tries,
) -> Option<Certificate> {
    let is_load =
        |k: &usize| matches!(program.step(run[*k].tid, run[*k].pc).instr, Instr::Load { .. });
    // The thread's own loads are the likelier ones, and of these the last.
    let mut loads: Vec<usize> = (0..run.len()).rev().filter(is_load).collect();
    loads.sort_by_key(|&k| run[k].tid != end.0);
    let ages: Vec<usize> = older_writes(run);
    // More stale loads than are tried, or older writes.
    if loads.len() > STALE_LOADS || loads.iter().any(|&k| ages[k] > AGES) {
        tries.given_up = Some(Why::GaveUp);
    }
    let mut fallback = None;
    'tries: for count in 0..=STALE_LOADS {
        let mut choices: Vec<Vec<Stale>> = vec![Vec::new()];
        for _ in 0..count {
            let longer = |chosen: &Vec<Stale>| {
                let last = chosen.last().map(|last| last.position);
                let tried = last.and_then(|last| loads.iter().position(|&k| k == last));
                let chosen = chosen.clone();
                loads[tried.map_or(0, |k| k + 1)..]
                    .iter()
                    .flat_map(|&position| {
                        let most = ages[position].min(AGES);
                        (1..=most).map(move |age| Stale { position, age })
                    })
                    .map(move |stale| [chosen.clone(), vec![stale]].concat())
                    .collect::<Vec<_>>()
            };
            choices = choices.iter().flat_map(longer).take(TRIES).collect();
        }
        for stale in choices {
            if !tries.another() {
                break 'tries;
            }
            let again;
            let replayed = match stale.is_empty() {
                true => before,
                false => match replay(program, run, end, &stale) {
                    Some(replayed) => {
                        again = replayed;
                        &again
                    }
                    None => continue,
                },
            };
            for (graph, write) in continuations(program, &replayed.execution, end.0, problem) {
                let part = match problem {
                    Problem::Dependency => match replayed.stale {
                        Some((load, write)) => (Some(load), Some(write)),
                        None => continue,
                    },
                    _ => (None, write),
                };
                match weigh(program, graph, part, Robustness::Observational, tries) {
                    Some(certificate) if certificate.conclusive => return Some(certificate),
                    other => fallback = fallback.or(other),
                }
            }
        }
    }
    // The use may need a longer run to go through. That a load may read something stale is certain.
    fallback.or_else(|| {
        loads.iter().find_map(|&k| {
            if !tries.in_time() {
                return None;
            }
            let end = (run[k].tid, run[k].pc);
            let before = replay(program, &run[..k], end, &[])?.execution;
            let ways = continuations(program, &before, end.0, Problem::Stale);
            ways.into_iter().find_map(|(graph, write)| {
                weigh(program, graph, (None, write), Robustness::Observational, tries)
            })
        })
    })
}

/// The execution in which the next access races with one before it.
fn race(
    program: &Program,
    run: &[RunStep],
    end: (Tid, Pc),
    robustness: Robustness,
    before: &Replayed,
    tries: &mut Tries,
) -> Option<Certificate> {
    let certificate = |before: &Execution, tries: &mut Tries| {
        let Next::Access(access) = before.next(program, end.0) else { return None };
        let latest = before.graph.latest(access.loc);
        let graph = before.access(program, end.0, latest)?.graph;
        let judgement = tries.judge(program, &graph)?;
        let own = |pair: &&(EventId, EventId)| graph.event(pair.1).thread() == Some(end.0);
        let pair = judgement.races.iter().rev().find(own).or(judgement.races.last());
        let &(other, access) = pair.filter(|_| judgement.refutes_race_freedom())?;
        let (cycle, used_by, conclusive) = (None, None, true);
        Some(Certificate { graph, access, other, cycle, used_by, conclusive })
    };
    let found = certificate(&before.execution, tries);
    if found.is_some() || robustness == Robustness::Plain {
        return found;
    }
    // A stale load that went unnoticed may be why the thread knows too little. There may have been
    // several, which is not tried.
    tries.given_up = Some(Why::GaveUp);
    let stale = (0..run.len())
        .rev()
        .flat_map(|position| (1..=AGES).map(move |age| [Stale { position, age }]));
    for stale in stale {
        if !tries.another() {
            break;
        }
        let found = replay(program, run, end, &stale)
            .and_then(|replayed| certificate(&replayed.execution, tries));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// For each step of a run that accesses a location, how many writes to it there may be that are older
/// than the latest: that is how far back a stale load can read.
fn older_writes(run: &[RunStep]) -> Vec<usize> {
    let mut writes: HashMap<Loc, usize> = HashMap::new();
    let mut older = Vec::with_capacity(run.len());
    for step in run {
        let count = step.action.loc().map(|loc| writes.entry(loc).or_insert(0));
        older.push(count.as_deref().copied().unwrap_or(0));
        if let Some(count) = count
            && step.action.may_write()
        {
            *count += 1;
        }
    }
    older
}

fn last_event(graph: &ExecutionGraph) -> EventId {
    EventId::from(graph.len() - 1)
}

/// A load of the run that is to read not the latest write but one `age` writes older.
#[derive(Clone, Copy)]
struct Stale {
    position: usize,
    age: usize,
}

struct Replayed {
    execution: Execution,
    /// The last stale load and what it reads from.
    stale: Option<(EventId, EventId)>,
    /// How many events there were before each step.
    before: Vec<usize>,
}

impl Replayed {
    fn played(self) -> Played {
        let Replayed { execution, mut before, .. } = self;
        before.push(execution.graph.len());
        Played { graph: execution.graph, events: before }
    }
}

/// The execution graph of a run under SC. The monitors remember a little of it.
#[derive(Clone, Debug)]
pub struct Played {
    graph: ExecutionGraph,
    /// How many events there were before the run, and after each step.
    events: Vec<usize>,
}

impl Played {
    /// The execution of a run, with the number of events before it and after each step.
    pub(crate) fn new(graph: ExecutionGraph, events: Vec<usize>) -> Self {
        Played { graph, events }
    }

    /// The events that a step of the run added.
    pub fn events_of(&self, step: usize) -> Range<usize> {
        self.events[step]..self.events[step + 1]
    }

    /// The whole execution.
    pub fn graph(&self) -> &ExecutionGraph {
        &self.graph
    }

    /// Did a step of the run add nothing but to what its thread knows of itself?
    pub fn is_local(&self, step: usize) -> bool {
        let events = &self.graph.events()[self.events_of(step)];
        events.iter().all(|event| event.label == Label::Ctrl)
    }

    /// The execution right after a step of the run.
    pub fn after(&self, step: usize) -> ExecutionGraph {
        self.graph.truncated(self.events[step + 1])
    }
}

/// The execution of a run under SC that ends with `end` about to step.
pub(crate) fn play(program: &Program, run: &[RunStep], end: (Tid, Pc)) -> Option<Played> {
    replay(program, run, end, &[]).map(Replayed::played)
}

/// Repeats `run` on graphs, up to `end`, where that thread will be, with some loads reading stale
/// values. `None` if the program then does something else.
fn replay(program: &Program, run: &[RunStep], end: (Tid, Pc), stale: &[Stale]) -> Option<Replayed> {
    let mut before = Vec::with_capacity(run.len() + 1);
    let mut execution = Execution::initial(program);
    let mut read_stale = None;
    for (position, step) in run.iter().enumerate() {
        before.push(execution.graph.len());
        let tid = step.tid;
        if execution.threads[tid.index()].pc != step.pc {
            return None;
        }
        let later = run[position + 1..].iter().find(|later| later.tid == tid).map(|step| step.pc);
        let goal = later.or((tid == end.0).then_some(end.1));
        let phases = match program.step(tid, step.pc).instr {
            Instr::Fence(FenceMode::ScUpd) => 3,
            _ => 1,
        };
        for _ in 0..phases {
            match execution.next(program, tid) {
                Next::Access(access) => {
                    let writes = execution.graph.writes_to(access.loc);
                    let chosen = stale.iter().find(|stale| stale.position == position);
                    let age = chosen.map_or(0, |stale| stale.age);
                    let write = *writes.get(writes.len().checked_sub(1 + age)?)?;
                    if age > 0 {
                        read_stale = Some((EventId::from(execution.graph.len()), write));
                    }
                    execution.take_access(program, tid, write)?;
                }
                _ => execution.take_local_step(program, tid, goal)?,
            }
        }
    }
    let at_end = execution.threads[end.0.index()].pc == end.1;
    at_end.then_some(Replayed { execution, stale: read_stale, before })
}
