//! The double check: what was decided quickly is decided once more, the plain way.
//!
//! Reductions are theorems, and theorems can be misapplied. When a check took little time, there is
//! time to explore the program again with no reduction at all and every value told apart. If that
//! ends within its small budget and says something else, one of the two is wrong: an error in
//! Fencepost, which the user is told about ([`Outcome::internal`]), and the plain answer counts. It is
//! the one that rests on the fewest arguments.

use crate::reduce::Reductions;
use crate::settings::{DoubleCheck, Settings};
use crate::verdict::{Outcome, Verdict};
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

/// Returns `outcome`, or what the plain search says instead, with both answers.
pub(crate) fn confirm(
    program: &Program,
    settings: &Settings,
    outcome: Outcome,
    check: impl Fn(&Settings) -> Outcome,
) -> Outcome {
    let Some(limits) = limits(program, settings, &outcome) else { return outcome };
    let track = match program.domain.size() {
        ..=256 => Track::All,
        _ => settings.track, // a row of bits for each value would be too much
    };
    let plain = check(&Settings { reductions: Reductions::NONE, track, limits, ..*settings });
    if plain.cost.limit.is_some() {
        return outcome;
    }
    if !contradict(&outcome, &plain) {
        return Outcome { double_checked: true, ..outcome };
    }
    let mut plain = plain;
    plain.internal.push(format!(
        "two searches disagree; with reductions: {}; without: {}",
        said(&outcome),
        said(&plain)
    ));
    plain
}

/// What the plain search may use up; none if there is to be none.
fn limits(program: &Program, settings: &Settings, outcome: &Outcome) -> Option<Limits> {
    let cost = &outcome.cost;
    if settings.reductions == Reductions::NONE && settings.track == Track::All {
        return None; // that was the plain search
    }
    match settings.double_check {
        DoubleCheck::Never => None,
        DoubleCheck::Always => Some(settings.limits),
        DoubleCheck::IfSmall => {
            let small = cost.limit.is_none()
                && cost.elapsed <= SMALL.0
                && cost.states <= SMALL.1
                && program.steps().count() <= SMALL_PROGRAM
                && program.locations.len() <= SMALL_PROGRAM;
            small.then(|| Limits {
                states: settings.limits.states.into_iter().chain([BUDGET.1]).min(),
                budget: settings.limits.budget.at_most(BUDGET.0),
                depth: None,
            })
        }
    }
}

/// Does one say that something holds which the other says does not?
fn contradict(one: &Outcome, other: &Outcome) -> bool {
    let answers = one.answers.iter().any(|(property, verdict)| {
        matches!(
            (verdict, other.verdict(*property)),
            (Verdict::Holds, Some(Verdict::Violated(_)))
                | (Verdict::Violated(_), Some(Verdict::Holds))
        )
    });
    answers || one.cost.limit.is_none() && one.faults.is_empty() != other.faults.is_empty()
}

fn said(outcome: &Outcome) -> String {
    let answers = outcome.answers.iter();
    let mut said: Vec<String> =
        answers.map(|(property, verdict)| format!("{property} {}", verdict.name())).collect();
    if !outcome.faults.is_empty() {
        said.push("run-time errors".into());
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Model;

    /// A program whose threads wait for each other's value in turn.
    fn program() -> Program {
        let text = "atomic x; thread t[2] { local r; r = FADD(x, 1, acq, rel); assert(r < 2); }";
        lang::parse("small", text).expect("a good program").program
    }

    fn settings() -> Settings {
        Settings { model: Model::Sc, ..Settings::default() }
    }

    #[test]
    fn small_programs_are_checked_twice() {
        let outcome = crate::check(&program(), &settings(), &|_, _| {});
        assert!(outcome.double_checked && outcome.internal.is_empty());
        let never = Settings { double_check: DoubleCheck::Never, ..settings() };
        assert!(!crate::check(&program(), &never, &|_, _| {}).double_checked);
    }

    /// If the reduced search says that all is well and the plain one does not, the plain one counts.
    #[test]
    fn the_plain_answer_counts() {
        let program = program();
        let never = Settings { double_check: DoubleCheck::Never, ..settings() };
        let holds = crate::check(&program, &never, &|_, _| {});
        assert!(holds.answers.iter().all(|(_, verdict)| verdict.holds()));
        let wrong = "atomic x; thread t { assert(0); }";
        let wrong = lang::parse("wrong", wrong).expect("a good program").program;
        let outcome = confirm(&program, &settings(), holds, |plain| {
            assert_eq!(plain.reductions, Reductions::NONE);
            crate::check(&wrong, &never, &|_, _| {})
        });
        assert!(outcome.answers.iter().all(|(_, verdict)| verdict.witness().is_some()));
        let expected = "two searches disagree; with reductions: assertions holds; \
                        without: assertions violated";
        assert_eq!(outcome.internal, [expected]);
    }
}
