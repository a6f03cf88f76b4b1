//! A glance at a few executions of a long trace, before the search for a cycle.
//!
//! The search looks at every placement of commits, and at places in the order of the trace; with many
//! threads and variables it can be busy for hours near the beginning of a trace in which almost any
//! execution goes wrong. Single executions are judged in linear time. So two are tried first: in one each
//! write commits where it is issued, in the other as late as it can. Where the recording says what was
//! read, or who took which lock, it is one execution that explains that. A cycle in one of them is a
//! violation of the trace, as judged by the execution monitor. That they have none says nothing; and so
//! nothing is lost where a look is given up because too many transactions stay alive at a time, which would
//! take more memory than the search.

use budget::{Budget, Spent};

use crate::event::{Action, Event};
use crate::execution::{ExecutionMonitor, Question};
use crate::hash::Map;
use crate::trace::believe::{Asked, Believed};
use crate::trace::index::{Index, Op, Pos};
use crate::trace::realize::{Realized, play};
use crate::witness::Violation;

/// Shorter traces are left to the search, which mostly finds a shorter cycle.
pub(crate) const LONG: usize = 2_000;

/// An execution with more transactions alive at a time is not looked at further.
const MOST_LIVE: usize = 100_000;

/// A violation in one of the executions tried, and that execution up to it.
pub(crate) fn look(
    question: Question,
    trace: &[Event],
    index: &Index,
    believed: Option<&mut Believed>,
    budget: Budget,
) -> Result<Option<(Violation, Realized)>, Spent> {
    let Some(last) = trace.len().checked_sub(1) else { return Ok(None) };
    let schedules = match believed {
        Some(believed) => believed.solve(&Asked::default(), budget)?.into_iter().collect(),
        None => vec![Vec::new(), latest(index, last as Pos)],
    };
    for schedule in schedules {
        let run = play(trace, last as Pos, &schedule);
        if let Some(found) = first_violation(question, run, budget)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Every write commits right before the fence that waits for it, or at the end.
fn latest(index: &Index, last: Pos) -> Vec<(Pos, Pos)> {
    let accesses = index.lanes.iter().flat_map(|lane| &lane.accesses);
    let writes = accesses.filter(|access| access.op == Op::Write && !access.fixed);
    let mut schedule: Vec<(Pos, Pos)> =
        writes.map(|write| ((write.latest - 1).min(last), write.pos)).collect();
    schedule.sort_unstable();
    schedule
}

/// Judges an execution, and cuts it off behind the first violation.
fn first_violation(
    question: Question,
    mut run: Realized,
    budget: Budget,
) -> Result<Option<(Violation, Realized)>, Spent> {
    let mut monitor = ExecutionMonitor::new(question);
    let mut ticker = budget.ticker();
    let mut open: Map<u32, Event> = Map::default();
    for at in 0..run.execution.len() {
        ticker.tick().map_or(Ok(()), Err)?;
        let event = run.execution[at];
        match event.action {
            Action::Begin(_) => drop(open.insert(event.thread.0, event)),
            Action::End | Action::Abort => drop(open.remove(&event.thread.0)),
            _ => {}
        }
        monitor.step(&event);
        if monitor.load().live > MOST_LIVE {
            return Ok(None);
        }
        if monitor.violation().is_none() {
            continue;
        }
        let origin = run.origin[at];
        run.execution.truncate(at + 1);
        run.origin.truncate(at + 1);
        let mut unfinished: Vec<Event> = open.into_values().collect();
        unfinished.sort_unstable_by_key(|begin| begin.thread.0);
        for begin in unfinished {
            run.push(Event { action: Action::End, ..begin }, origin);
        }
        run.execution.shrink_to_fit();
        run.origin.shrink_to_fit();
        return Ok(monitor.into_violation().map(|violation| (violation, run)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Names;
    use crate::machine::Machine;
    use crate::random::{Shape, Style};
    use crate::trace;

    /// Would catch an execution that the machine does not allow, or that is not one of the trace: what is
    /// found here the search must find, too.
    #[test]
    fn what_a_glance_finds_is_a_violation_of_the_trace() {
        let mut found = [0; 2];
        for seed in 0..600 {
            let (threads, vars) = (2 + seed as usize % 3, 2 + seed as usize % 4);
            let (style, events, transaction) = (Style::Free, 18, 3);
            let shape = Shape { threads, vars, events, transaction, commits: false, style, seed };
            let events = shape.events();
            for question in Question::ALL {
                let index = Index::new(question, &events, None);
                let seen = look(question, &events, &index, None, Budget::UNLIMITED);
                let searched = trace::judge(question, &events).violation.is_some();
                let Some((_, run)) = seen.expect("no limit") else {
                    found[0] += usize::from(searched);
                    continue;
                };
                assert!(searched, "seed {seed}, {question:?}");
                found[1] += 1;
                let mut machine = Machine::default();
                for event in &run.execution {
                    machine.step(event, &Names::default()).expect("an execution");
                }
            }
        }
        // Both happen: a glance is neither useless nor enough.
        assert!(found[0] > 10 && found[1] > 100, "{found:?}");
    }
}
