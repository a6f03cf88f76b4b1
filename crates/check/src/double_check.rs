//! The double check: what was decided quickly is decided once more, the plain way.
//!
//! Reductions are theorems, and theorems can be misapplied. When a check took little time, there is
//! time to explore the program again with no reduction at all and every value told apart. If that
//! ends within its small budget and says something else, one of the two is wrong: an error in
//! Fencepost, which the user is told about ([`Answer::internal`]), and the plain answer counts. It is
//! the one that rests on the fewest arguments. Searches of the weak memory are checked in the same way
//! ([`crate::weak`]).

use crate::answer::{Answer, Cost, Verdict};
use crate::question::{DoubleCheck, Question};
use crate::reduce::Reductions;
use ir::Program;
use memory::rc20::row_layout::Track;
use search::Limits;
use std::time::Duration;

/// A check that took longer, or saw more states, is not small.
const SMALL: (Duration, u64) = (Duration::from_millis(20), 5_000);
/// Larger programs take long to prepare, however few states they have.
const SMALL_PROGRAM: usize = 500;
/// What the plain search may use up.
const BUDGET: (Duration, u64) = (Duration::from_millis(30), 20_000);

/// Returns `answer`, or what the plain search says instead, with both answers.
pub(crate) fn confirm(
    program: &Program,
    question: &Question,
    answer: Answer,
    check: impl Fn(&Question) -> Answer,
) -> Answer {
    if question.reductions == Reductions::NONE && question.track == Track::All {
        return answer; // that was the plain search
    }
    let Some(limits) = limits(program, question, &answer.cost) else { return answer };
    let track = match program.domain.size() {
        ..=256 => Track::All,
        _ => question.track, // a row of bits for each value would be too much
    };
    let plain = check(&Question { track, ..plain(question, limits) });
    if plain.cost.limit.is_some() {
        return answer;
    }
    if !contradict(&answer, &plain) {
        return Answer { double_checked: true, ..answer };
    }
    let mut plain = plain;
    plain.internal.push(format!(
        "two searches disagree; with reductions: {}; without: {}",
        said(&answer),
        said(&plain)
    ));
    plain
}

/// The question as the plain search is asked it.
pub(crate) fn plain(question: &Question, limits: Limits) -> Question {
    // What each process decides by its own clock, it decides by itself.
    let cluster = question.cluster.filter(|_| question.double_check == DoubleCheck::Always);
    Question { reductions: Reductions::NONE, limits, cluster, ..*question }
}

/// What the plain search may use up after one that took `cost`; none if there is to be none.
pub(crate) fn limits(program: &Program, question: &Question, cost: &Cost) -> Option<Limits> {
    match question.double_check {
        DoubleCheck::Never => None,
        DoubleCheck::Always => Some(question.limits),
        DoubleCheck::IfSmall => {
            let small = cost.limit.is_none()
                && cost.elapsed <= SMALL.0
                && cost.states <= SMALL.1
                && program.steps().count() <= SMALL_PROGRAM
                && program.locations.len() <= SMALL_PROGRAM;
            small.then(|| Limits {
                states: question.limits.states.into_iter().chain([BUDGET.1]).min(),
                budget: question.limits.budget.at_most(BUDGET.0),
                depth: None,
            })
        }
    }
}

/// Does one say that something holds which the other says does not?
fn contradict(one: &Answer, other: &Answer) -> bool {
    let verdicts = one.decisions.iter().any(|decision| {
        matches!(
            (&decision.verdict, other.verdict(decision.property)),
            (Verdict::Holds, Some(Verdict::Violated(_)))
                | (Verdict::Violated(_), Some(Verdict::Holds))
        )
    });
    verdicts || one.cost.limit.is_none() && one.faults.is_empty() != other.faults.is_empty()
}

fn said(answer: &Answer) -> String {
    let decisions = answer.decisions.iter();
    let mut said: Vec<String> =
        decisions.map(|one| format!("{} {}", one.property, one.verdict.name())).collect();
    if !answer.faults.is_empty() {
        said.push("run-time errors".into());
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Model;

    /// A program whose threads wait for each other's value in turn.
    fn program() -> Program {
        let text = "atomic x; thread t[2] { local r; r = FADD(x, 1, acq, rel); assert(r < 2); }";
        lang::parse("small", text).expect("a good program").program
    }

    fn question() -> Question {
        Question { model: Model::Sc, ..Question::default() }
    }

    #[test]
    fn small_programs_are_checked_twice() {
        let answer = crate::interleavings(&program(), &question(), &|_, _| {});
        assert!(answer.double_checked && answer.internal.is_empty());
        let never = Question { double_check: DoubleCheck::Never, ..question() };
        assert!(!crate::interleavings(&program(), &never, &|_, _| {}).double_checked);
    }

    /// If the reduced search says that all is well and the plain one does not, the plain one counts.
    #[test]
    fn the_plain_answer_counts() {
        let program = program();
        let never = Question { double_check: DoubleCheck::Never, ..question() };
        let holds = crate::interleavings(&program, &never, &|_, _| {});
        assert!(holds.verdicts().all(Verdict::holds));
        let wrong = "atomic x; thread t { assert(0); }";
        let wrong = lang::parse("wrong", wrong).expect("a good program").program;
        let answer = confirm(&program, &question(), holds, |plain| {
            assert_eq!(plain.reductions, Reductions::NONE);
            crate::interleavings(&wrong, &never, &|_, _| {})
        });
        assert!(answer.verdicts().all(|verdict| verdict.witness().is_some()));
        let expected = "two searches disagree; with reductions: assertions holds; \
                        without: assertions violated";
        assert_eq!(answer.internal, [expected]);
    }
}
