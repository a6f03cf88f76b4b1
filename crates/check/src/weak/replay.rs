//! From a path of states to a run of the weak memory, and to its execution, which the judge decides on.
//!
//! The search and `memory::rc11` keep little of an execution. Here a run is repeated on a whole execution graph
//! (`graph`, which shares no code with them), with every access reading from, or placed behind, the write that it
//! chose. The graph must be RC11-consistent by the axioms, and show what was found; otherwise nothing is reported.

use super::pack::World;
use super::system::{Finding, System, Taken};
use crate::answer::{Certificate, Evidence, Problem, Witness};
use crate::certificate::Played;
use crate::replay::{RunStep, add_values};
use budget::{Budget, Spent};
use graph::{EventId, Execution, Judgement, Next, Status, TooManyStates, Unjudged, judge_within};
use ir::{FenceMode, Instr, Observed, Pc, Program, Quantifier, Tid};

/// How many steps a thread may take at the end of a run before it stops.
const MOST_LOCAL_STEPS: usize = 300_000;

/// A way on from a state.
type Came = (Result<World, Finding>, Vec<Taken>);

/// The steps along `path` to `finding`; `None` if there are none, which would be a bug.
pub(super) fn steps(system: &System, path: &[Box<[u8]>], finding: &Finding) -> Option<Vec<Taken>> {
    let mut ways: Vec<Came> = Vec::new();
    system.beginnings(&mut |came, steps| ways.push((came, steps)));
    let Some((first, rest)) = path.split_first() else { return to_finding(ways, finding) };
    let (mut world, mut steps) = to_state(system, ways, first)?;
    for next in rest {
        let (to, more) = to_state(system, moves(system, &world), next)?;
        steps.extend(more);
        world = to;
    }
    let mut is_here = false;
    system.look_at(&world, &mut |found| is_here |= found == *finding);
    if is_here {
        return Some(steps);
    }
    steps.extend(to_finding(moves(system, &world), finding)?);
    Some(steps)
}

fn moves(system: &System, world: &World) -> Vec<Came> {
    let mut ways = Vec::new();
    for tid in system.program.tids() {
        system.fire(world, tid, &mut |came, steps| ways.push((came, steps)));
    }
    ways
}

fn to_state(system: &System, ways: Vec<Came>, state: &[u8]) -> Option<(World, Vec<Taken>)> {
    ways.into_iter().find_map(|(came, steps)| {
        let world = came.ok().filter(|world| system.packed(world) == *state)?;
        Some((world, steps))
    })
}

fn to_finding(ways: Vec<Came>, finding: &Finding) -> Option<Vec<Taken>> {
    ways.into_iter().find(|(came, _)| came.as_ref().err() == Some(finding)).map(|(_, steps)| steps)
}

/// What became of a finding.
pub(super) enum Judged {
    /// The judge accepted its execution.
    Accepted(Box<Witness>),
    /// It did not, which is a bug.
    Rejected,
    /// There was no time to ask.
    Spent(Spent),
    /// The execution is too long to be judged, or a thread takes more steps of its own than are followed.
    TooMuch,
}

/// Has the execution of a run judged.
pub(super) fn judged(
    program: &Program,
    steps: &[Taken],
    finding: &Finding,
    budget: Budget,
) -> Judged {
    let (tid, pc, problem) = match finding {
        Finding::Assertion(tid, pc) => (*tid, *pc, Problem::Assertion),
        Finding::Race(tid, pc) => (*tid, *pc, Problem::Race),
        Finding::Fault(tid, pc, fault) => (*tid, *pc, Problem::Fault(*fault)),
        Finding::Stuck(waiting) => {
            let (tid, pc) = waiting.first().copied().unwrap_or_default();
            (tid, pc, Problem::Stuck)
        }
        Finding::Waiting(waiting) => {
            let (tid, pc) = waiting.first().copied().unwrap_or_default();
            (tid, pc, Problem::Waiting)
        }
        Finding::Final => {
            let tid = steps.last().map_or(Tid(0), |taken| taken.tid);
            let code = &program.threads[tid.index()].code;
            let end = code.iter().position(|step| step.instr == Instr::Halt);
            (tid, end.map_or(Pc(0), Pc::from), Problem::FinalState)
        }
        Finding::Bound | Finding::TooMuch | Finding::Unforeseen | Finding::End(_) => {
            return Judged::Rejected;
        }
    };
    let Some(mut played) = play(program, steps) else { return Judged::Rejected };
    let judgement = match judge_within(program, &played.execution.graph, budget) {
        Ok(judgement) => judgement,
        Err(Unjudged::Spent(spent)) => return Judged::Spent(spent),
        Err(Unjudged::TooLong) => return Judged::TooMuch,
    };
    if !judgement.generated || !judgement.consistent() {
        return Judged::Rejected;
    }
    let graph = played.execution.graph.clone();
    let (access, other) = match shows(program, &mut played, finding, &judgement) {
        Ok(shown) => shown,
        Err(NotShown::Otherwise) => return Judged::Rejected,
        Err(NotShown::TooMuch) => return Judged::TooMuch,
    };
    let cycle = judgement.sc_cycle.filter(|_| problem != Problem::Race);
    let certificate =
        Certificate { graph: graph.clone(), access, other, cycle, used_by: None, conclusive: true };
    // The step that goes wrong is not part of the run; of a race, it is.
    let ends_wrong = matches!(problem, Problem::Fault(_))
        && steps.last().is_some_and(|last| (last.tid, last.pc) == (tid, pc));
    let kept = &steps[..steps.len() - usize::from(ends_wrong)];
    let mut run: Vec<RunStep> = kept
        .iter()
        .map(|taken| RunStep {
            tid: taken.tid,
            pc: taken.pc,
            action: taken.action.clone(),
            read: taken.read,
            written: None,
            assigned: None,
        })
        .collect();
    add_values(program, &mut run);
    played.events.truncate(kept.len() + 1);
    let evidence = Evidence::WeakRun {
        run,
        newer: kept.iter().map(|taken| taken.newer).collect(),
        played: Box::new(Played::new(graph, played.events)),
        certificate: Box::new(certificate),
    };
    Judged::Accepted(Box::new(Witness { tid, pc, problem, evidence }))
}

/// A run on an execution graph.
struct OnGraph {
    execution: Execution,
    /// How many events there were before the run, and after each step.
    events: Vec<usize>,
    /// The last access that missed a newer write, or was placed before one, and what it met.
    stale: Option<(EventId, EventId)>,
}

fn play(program: &Program, steps: &[Taken]) -> Option<OnGraph> {
    let mut execution = Execution::initial(program);
    let mut events = vec![execution.graph.len()];
    let mut stale = None;
    for taken in steps {
        let tid = taken.tid;
        if execution.threads[tid.index()].pc != taken.pc {
            return None;
        }
        let phases = match program.step(tid, taken.pc).instr {
            Instr::Fence(FenceMode::ScUpd) => 3,
            _ => 1,
        };
        for _ in 0..phases {
            match execution.next(program, tid) {
                Next::Access(access) => {
                    let writes = execution.graph.writes_to(access.loc);
                    let at = writes.len().checked_sub(1 + taken.newer as usize)?;
                    let write = writes[at];
                    if taken.newer > 0 {
                        stale = Some((EventId::from(execution.graph.len()), write));
                    }
                    execution.take_access(program, tid, write)?;
                }
                _ => execution.take_local_step(program, tid, Some(taken.to))?,
            }
        }
        events.push(execution.graph.len());
    }
    Some(OnGraph { execution, events, stale })
}

/// Why an execution does not show what was found.
enum NotShown {
    /// It shows something else.
    Otherwise,
    /// A thread takes more steps of its own than are followed.
    TooMuch,
}

impl From<TooManyStates> for NotShown {
    fn from(_: TooManyStates) -> Self {
        NotShown::TooMuch
    }
}

/// The access to show and the write it meets, if the execution shows what was found: for a race, the two accesses.
fn shows(
    program: &Program,
    played: &mut OnGraph,
    finding: &Finding,
    judgement: &Judgement,
) -> Result<(EventId, EventId), NotShown> {
    let otherwise = || NotShown::Otherwise;
    let last = played.execution.graph.len().checked_sub(1).map(EventId::from);
    let last = last.ok_or_else(otherwise)?;
    let shown = played.stale.unwrap_or((last, last));
    let status = |played: &OnGraph, tid: Tid| played.execution.threads[tid.index()].status;
    let is_shown = match finding {
        Finding::Race(tid, _) => {
            let own = |pair: &&(EventId, EventId)| {
                played.execution.graph.event(pair.1).thread() == Some(*tid)
            };
            let pair = judgement.races.iter().rev().find(own).or(judgement.races.last());
            return pair.map(|pair| (pair.1, pair.0)).ok_or_else(otherwise);
        }
        Finding::Assertion(tid, _) => {
            played.execution.take_local_step(program, *tid, None).ok_or_else(otherwise)?;
            status(played, *tid) == Status::Failed
        }
        Finding::Fault(tid, _, fault) => {
            if !matches!(status(played, *tid), Status::Faulted(_)) {
                played.execution.take_local_step(program, *tid, None).ok_or_else(otherwise)?;
            }
            status(played, *tid) == Status::Faulted(*fault)
        }
        Finding::Waiting(waiting) => {
            let Execution { graph, threads } = &played.execution;
            let judged = graph::waiting(program, threads, &|loc| graph.latest_value(loc))?;
            judged.is_some_and(|judged| judged.into_iter().eq(waiting.iter().map(|(tid, _)| *tid)))
        }
        Finding::Final => {
            let condition = program.condition.as_ref().ok_or_else(otherwise)?;
            end_local_steps(program, played)?;
            let state = graph::FinalState::of(&played.execution, program);
            let is_done = state.threads.iter().all(|thread| thread.status == Status::Halted);
            let satisfied = condition.is_satisfied(|what| match what {
                Observed::Location(loc) => state.memory[loc.index()],
                Observed::Register(tid, reg) => state.threads[tid.index()].registers[reg.index()],
            });
            let forall = condition.quantifier == Quantifier::Forall;
            is_done && satisfied != forall
        }
        Finding::Stuck(waiting) => {
            // Threads that stop by themselves stop at a step that the run does not have.
            end_local_steps(program, played)?;
            let state = graph::FinalState::of(&played.execution, program);
            let blocked =
                |&(tid, _): &(Tid, Pc)| state.threads[tid.index()].status == Status::Blocked;
            state.is_final() && waiting.iter().all(blocked)
        }
        Finding::Bound | Finding::TooMuch | Finding::Unforeseen | Finding::End(_) => false,
    };
    is_shown.then_some(shown).ok_or_else(otherwise)
}

/// Lets all threads take the steps that concern nobody else.
fn end_local_steps(program: &Program, played: &mut OnGraph) -> Result<(), NotShown> {
    for tid in program.tids() {
        let mut taken = 0;
        while matches!(played.execution.next(program, tid), Next::Silent | Next::Local(_)) {
            if taken == MOST_LOCAL_STEPS {
                return Err(NotShown::TooMuch);
            }
            taken += 1;
            played.execution.take_local_step(program, tid, None).ok_or(NotShown::Otherwise)?;
        }
    }
    Ok(())
}
