//! Assertions and run-time errors under sequential consistency, decided by one search of the interleavings.

use crate::answer::{Answer, Problem, Verdict, Witness};
use crate::explore::{Explorer, Task};
use crate::plan::{Observe, Plan};
use crate::product::Finding;
use crate::question::{Extent, Property, Question};
use memory::sc::Sc;

/// Checks that no assertion of the plan's program fails in any interleaving; no answer if what
/// happens is unclear.
pub(crate) fn check(plan: &Plan<'_>, question: &Question, observe: Observe<'_>) -> Option<Answer> {
    let mut explorer = Explorer::new(plan, question, observe);
    let memory = Sc::new(&plan.program, &explorer.possible);
    let searched = explorer.explore(memory, &Task::default());
    if explorer.unclear {
        return None;
    }
    let mut failures: Vec<Witness> = searched
        .runs
        .into_iter()
        .filter_map(|run| match run.finding {
            Finding::Assertion { tid, pc } => {
                Some(Witness::reached(run.steps, (tid, pc), Problem::Assertion))
            }
            _ => None,
        })
        .collect();
    failures.sort_by_key(|witness| witness.run().len());
    let verdict = match (failures.is_empty(), searched.cut) {
        (false, _) => Verdict::Violated(Box::new(failures.remove(0))),
        (true, Some(why)) => Verdict::Undecided(why),
        (true, None) => Verdict::Holds,
    };
    let more = match question.extent {
        Extent::First => Vec::new(),
        Extent::All => failures.into_iter().map(|w| (Property::Assertions, w)).collect(),
    };
    Some(explorer.answer(vec![(Property::Assertions, verdict)], more))
}
