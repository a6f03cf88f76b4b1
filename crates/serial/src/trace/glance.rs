//! A glance at a few executions of a long trace, before the search for a cycle.
//!
//! The search looks at every placement of commits, and at places in the order of the trace; with many
//! threads and variables it can be busy for hours near the beginning of a trace in which almost any
//! execution goes wrong. Single executions are judged in linear time. So two are tried first: in one each
//! write commits where it is issued, in the other as late as it can. Where the recording says what was
//! read, or who took which lock, it is one execution that explains that. A cycle in one of them
//! ([`single`]) is a walk that an execution realizes; it is confirmed like those that the search finds. That
//! they have none says nothing.

use budget::{Budget, Spent};

use crate::trace::believe::{Asked, Believed};
use crate::trace::index::{Index, Op, Pos};

/// Shorter traces are left to the search, which mostly finds a shorter cycle.
pub(crate) const LONG: usize = 2_000;

/// Where the first looks end. Where an execution goes wrong early, the rest of a long one is not drawn.
pub(crate) const SHORT: Pos = 1 << 15;

/// When writes commit, as [`run`](super::realize::run) takes it.
pub(crate) type Schedule = Vec<(Pos, Pos)>;

/// The executions to be tried.
pub(crate) fn schedules(
    index: &Index,
    believed: Option<&mut Believed>,
    budget: Budget,
) -> Result<Vec<Schedule>, Spent> {
    Ok(match believed {
        Some(believed) => believed.solve(&Asked::default(), budget)?.into_iter().collect(),
        None => vec![Vec::new(), latest(index)],
    })
}

/// Every write commits right before the fence that waits for it, or at the end.
fn latest(index: &Index) -> Schedule {
    let last = index.length.saturating_sub(1) as Pos;
    let accesses = index.lanes.iter().flat_map(|lane| &lane.accesses);
    let writes = accesses.filter(|access| access.op == Op::Write && !access.fixed);
    let mut schedule: Schedule =
        writes.map(|write| ((write.latest - 1).min(last), write.pos)).collect();
    schedule.sort_unstable();
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Action, Names, Var};
    use crate::execution::{self, Question};
    use crate::machine::Machine;
    use crate::random::{Random, Shape, Style};
    use crate::trace;
    use crate::trace::realize::{play, realize};
    use crate::trace::single;

    /// Would catch an execution that the machine does not allow, an edge too few or too many in its graph, and a
    /// walk that no execution realizes.
    #[test]
    fn a_cycle_of_an_execution_is_found_iff_the_monitor_finds_one() {
        let mut found = [0; 3];
        for seed in 0..1_500 {
            let (threads, vars) = (2 + seed as usize % 3, 2 + seed as usize % 4);
            let (style, transaction) = (Style::Free, 1 + seed as usize % 4);
            let (events, commits) = (10 + seed as usize % 20, false);
            let shape = Shape { threads, vars, events, transaction, commits, style, seed };
            let mut events = shape.events();
            let mut random = Random::new(seed);
            for event in events.iter_mut().filter(|event| event.action == Action::Fence) {
                if random.chance(50) {
                    event.action = Action::Rmw(Var(random.below(vars) as u32));
                }
            }
            let last = events.len() as Pos - 1;
            for (number, question) in Question::ALL.into_iter().enumerate() {
                let index = Index::new(question, &events, None);
                let tried = schedules(&index, None, Budget::UNLIMITED).expect("no limit");
                for schedule in tried {
                    let run = play(&events, last, &schedule);
                    let mut machine = Machine::default();
                    for event in &run.execution {
                        machine.step(event, &Names::default()).expect("an execution");
                    }
                    let budget = Budget::UNLIMITED;
                    let walk = single::cycle(question, &events, &index, &schedule, last, budget);
                    let walk = walk.expect("no limit");
                    let expected = execution::judge(question, &run.execution);
                    assert_eq!(walk.is_some(), expected.is_some(), "seed {seed}, {question:?}");
                    let Some(walk) = walk else { continue };
                    found[number] += 1;
                    let realized = realize(&index, &events, &walk, None, budget);
                    let realized = realized.expect("no limit").expect("an execution");
                    let violation = execution::judge(question, &realized.execution);
                    assert!(violation.is_some(), "seed {seed}, {question:?}, {walk:?}");
                    assert!(trace::judge(question, &events).violation.is_some(), "seed {seed}");
                }
            }
        }
        assert!(found.iter().all(|&found| found > 150), "{found:?}");
    }
}
