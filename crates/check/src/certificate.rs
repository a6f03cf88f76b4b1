//! From a monitor's objection to an execution that the judge accepts.
//!
//! A search ends in a *borderline state*: an SC run after which one access may go wrong. Here the
//! run is replayed on execution graphs (`model::graph`, which shares no code with the monitors), the
//! access is added so that it does go wrong, reading from or placed right after a stale write, and
//! the resulting graph is judged by the declarative definitions. Nothing that the judge does not
//! accept is ever called a violation.

use crate::replay::RunStep;
use crate::verdict::{Certificate, Problem};
use model::graph::{EventId, Execution, ExecutionGraph, Judgement, Next, judge};
use model::{FenceMode, Instr, Pc, Program, Tid};

/// The execution that shows `problem` of `tid` at `pc` after `run`.
pub fn certify(
    program: &Program,
    run: &[RunStep],
    tid: Tid,
    pc: Pc,
    problem: Problem,
) -> Option<Certificate> {
    let end = (tid, pc);
    match problem {
        Problem::Stale => stale(program, &replay(program, run, end, None)?.execution, tid),
        Problem::Dependency => dependency(program, run, end),
        Problem::Race => race(program, &replay(program, run, end, None)?.execution, tid),
        Problem::Assertion | Problem::Fault(_) | Problem::Stuck => None,
    }
}

/// The execution in which the next access of `tid` goes wrong.
fn stale(program: &Program, before: &Execution, tid: Tid) -> Option<Certificate> {
    let Next::Access(access) = before.next(program, tid) else { return None };
    // The most recent stale write makes the most believable story.
    before.graph.writes_to(access.loc).iter().rev().skip(1).find_map(|&other| {
        let graph = before.access(program, tid, other)?.graph;
        let judgement = judge(program, &graph);
        let access = last_event(&graph);
        judgement.refutes_robustness().then(|| Certificate {
            graph,
            access,
            other,
            cycle: judgement.sc_cycle,
            used_by: None,
        })
    })
}

/// The execution in which a load of the thread reads a stale value that its next instruction uses.
fn dependency(program: &Program, run: &[RunStep], end: (Tid, Pc)) -> Option<Certificate> {
    let loads = run.iter().enumerate().rev().filter(|(_, step)| {
        step.tid == end.0 && matches!(program.step(step.tid, step.pc).instr, Instr::Load { .. })
    });
    for (position, _) in loads {
        for age in 1.. {
            let Some(replayed) = replay(program, run, end, Some(Stale { position, age })) else {
                break;
            };
            let Some((access, other)) = replayed.stale else { break };
            for graph in uses(program, &replayed.execution, end.0) {
                let judgement: Judgement = judge(program, &graph);
                if judgement.refutes_observational_robustness() {
                    let used_by = Some(last_event(&graph));
                    let cycle = judgement.observational_cycle;
                    return Some(Certificate { graph, access, other, cycle, used_by });
                }
            }
        }
    }
    None
}

/// The executions in which the thread takes one step more.
fn uses(program: &Program, before: &Execution, tid: Tid) -> Vec<ExecutionGraph> {
    match before.next(program, tid) {
        Next::Access(access) => {
            let writes = before.graph.writes_to(access.loc).iter().rev();
            writes.filter_map(|&w| Some(before.access(program, tid, w)?.graph)).collect()
        }
        _ => before.local_steps(program, tid).into_iter().map(|after| after.graph).collect(),
    }
}

/// The execution in which the last access of `tid` races with one before it. A race is found when
/// the access is done, so it ends the run.
fn race(program: &Program, after: &Execution, tid: Tid) -> Option<Certificate> {
    let judgement = judge(program, &after.graph);
    if !judgement.refutes_race_freedom() {
        return None;
    }
    let (other, access) = *judgement
        .races
        .iter()
        .rev()
        .find(|(_, later)| after.graph.event(*later).thread() == Some(tid))
        .or(judgement.races.last())?;
    Some(Certificate { graph: after.graph.clone(), access, other, cycle: None, used_by: None })
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
    /// The stale load and what it reads from.
    stale: Option<(EventId, EventId)>,
}

/// Repeats `run` on graphs, up to `end`, where that thread will be. `None` if the program cannot.
fn replay(
    program: &Program,
    run: &[RunStep],
    end: (Tid, Pc),
    stale: Option<Stale>,
) -> Option<Replayed> {
    let mut execution = Execution::initial(program);
    let mut read_stale = None;
    for (position, step) in run.iter().enumerate() {
        let tid = step.tid;
        if execution.threads[tid.index()].pc != step.pc {
            return None;
        }
        let later = run[position + 1..].iter().find(|later| later.tid == tid).map(|step| step.pc);
        let goal = later.or((tid == end.0).then_some(end.1));
        let phases = match program.step(tid, step.pc).instr {
            Instr::Fence(FenceMode::Sc) => 3,
            _ => 1,
        };
        for _ in 0..phases {
            execution = match execution.next(program, tid) {
                Next::Access(access) => {
                    let writes = execution.graph.writes_to(access.loc);
                    let age = match stale {
                        Some(stale) if stale.position == position => stale.age,
                        _ => 0,
                    };
                    let write = *writes.get(writes.len().checked_sub(1 + age)?)?;
                    if age > 0 {
                        read_stale = Some((EventId::from(execution.graph.len()), write));
                    }
                    execution.access(program, tid, write)?
                }
                _ => {
                    let mut after = execution.local_steps(program, tid);
                    let chosen = after
                        .iter()
                        .position(|next| goal.is_none_or(|pc| next.threads[tid.index()].pc == pc))
                        .unwrap_or(0);
                    if after.is_empty() {
                        return None;
                    }
                    after.swap_remove(chosen)
                }
            };
        }
    }
    let at_end = execution.threads[end.0.index()].pc == end.1;
    let race_done = run.last().is_some_and(|step| (step.tid, step.pc) == end);
    (at_end || race_done).then_some(Replayed { execution, stale: read_stale })
}
