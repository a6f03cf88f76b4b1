//! The double check: what was decided quickly is decided once more, the plain way.
//!
//! Reductions are theorems, and theorems can be misapplied. When a check took little time, there is
//! time to explore the program again with no reduction at all and every value told apart. If that
//! ends within its small budget and says something else, one of the two is wrong: an error in
//! Fencepost, which the user is told about ([`Disagreement`]), and the plain answer counts. It is the
//! one that rests on the fewest arguments.

use crate::reduce::Reductions;
use crate::settings::{DoubleCheck, Settings};
use crate::verdict::{Outcome, Verdict};
use model::Program;
use model::memory::rc20::columns::Track;
use search::Limits;
use std::fmt;
use std::time::Duration;

/// A check that took longer, or saw more states, is not small.
const SMALL: (Duration, u64) = (Duration::from_millis(20), 5_000);
/// Larger programs take long to prepare, however few states they have.
const SMALL_PROGRAM: usize = 500;
/// What the plain search may use up.
const BUDGET: Limits = Limits {
    states: Some(20_000),
    memory: Some(64 << 20),
    time: Some(Duration::from_millis(30)),
    depth: None,
};

/// The plain search and the reduced one disagree: an error in Fencepost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// What the search with reductions said.
    pub reduced: String,
    /// What the search without said.
    pub plain: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { reduced, plain } = self;
        write!(f, "with reductions: {reduced}; without: {plain}")
    }
}

/// Returns `outcome`, or what the plain search says instead, with the disagreement.
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
    let disagreement = Disagreement { reduced: said(&outcome), plain: said(&plain) };
    Outcome { disagreement: Some(disagreement), ..plain }
}

/// What the plain search may use up; none if there is to be none.
fn limits(program: &Program, settings: &Settings, outcome: &Outcome) -> Option<Limits> {
    let cost = &outcome.cost;
    if settings.reductions == Reductions::NONE && settings.track == Track::All {
        return None; // that was the plain search
    }
    match settings.double_check {
        DoubleCheck::Never => None,
        DoubleCheck::Always => Some(Limits {
            time: settings.limits.time.map(|time| time.saturating_sub(cost.elapsed)),
            ..settings.limits
        }),
        DoubleCheck::IfSmall => {
            let small = cost.limit.is_none()
                && cost.elapsed <= SMALL.0
                && cost.states <= SMALL.1
                && program.steps().count() <= SMALL_PROGRAM
                && program.locations.len() <= SMALL_PROGRAM;
            let least = |asked: Option<u64>, own: Option<u64>| asked.into_iter().chain(own).min();
            let left = settings.limits.time.map(|time| time.saturating_sub(cost.elapsed));
            small.then(|| Limits {
                states: least(settings.limits.states, BUDGET.states),
                memory: least(settings.limits.memory, BUDGET.memory),
                time: left.into_iter().chain(BUDGET.time).min(),
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
        assert!(outcome.double_checked && outcome.disagreement.is_none());
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
        let disagreement = outcome.disagreement.expect("they disagree");
        assert_eq!(disagreement.reduced, "assertions holds");
        assert_eq!(disagreement.plain, "assertions violated");
    }
}
