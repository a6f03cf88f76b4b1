//! Assertions and run-time errors on machines with store buffers.
//!
//! Buffers are not explored for these either. A robust program fails on the machine exactly as its
//! interleavings do, so the answers come from two searches: one for attacks, one through
//! interleavings.
//!
//! **Theorem (failures of robust programs).** Let no computation of the machine have a cyclic trace,
//! where stores that still wait count as last in the store order. If a thread `t` comes to a place
//! with certain registers in some computation, it does so in some interleaving.
//!
//! 1. Cut the computation right after `t` has come to the place. What is left is a computation, so its
//!    trace has no cycle.
//! 2. Sort the accesses of the trace topologically, each block between `lock` and `unlock` in one
//!    piece. If `t` is inside such a block, drop what comes after the block. Performing the accesses in
//!    this order, stores at once, is an interleaving in which every load reads from the same store as
//!    in the computation (Lemma 1, after Shasha and Snir).
//! 3. What a thread does next depends on its registers and choices alone, and a register depends on
//!    the values read so far. So every thread passes the same places with the same registers, and `t`
//!    comes to the place.
//!
//! Whether an assertion fails there, and whether an expression or an index has a value, depends on
//! place and registers alone. The one run-time error that depends on memory as well is the overflow of
//! a locked update. Its read is in no trace, because the access never happens; but the attack search
//! comes to such an update wherever it would come to a load in its place, and reports the error. So
//! run-time errors count whichever of the two searches meets them.
//!
//! Every interleaving is a computation of the machine: what fails in an interleaving fails on the
//! machine, robust or not. Where a program is not robust, that no interleaving fails says nothing, and
//! the answer is "undecided".

use super::triangular_race::{self, Freedom};
use super::{Faulty, Machine, Outcome, Refusal, Settings, Verdict, Why};
use crate::verdict::{Cost, Property};
use crate::{Model, verdict};
use ::ir::Program;
use search::Progress;
use std::time::Instant;

/// How robustness is to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// By the attack search, which is exact.
    Robust(Machine),
    /// Against TSO, by the absence of triangular races, which is sufficient.
    TriangularRaceFree,
}

/// What was found out about robustness.
#[derive(Clone, Debug)]
pub enum Robustness {
    /// By the attack search.
    Attacks(Outcome),
    /// By looking for triangular races.
    TriangularRaces(Freedom, Cost),
}

/// All answers about a program on a machine.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Is every computation explained by an interleaving?
    pub robustness: Robustness,
    /// Run-time errors that only the search for attacks met; there is no run to show.
    pub only_on_machine: Vec<Faulty>,
    /// What interleavings show: run-time errors, stuck threads, values that wrap around. Its one
    /// answer, about assertions, is that for the machine.
    pub interleavings: verdict::Outcome,
    /// What all searches cost.
    pub cost: Cost,
}

/// Answers all questions about `program`. `settings` are for the search for attacks; `interleavings`
/// for the other, except for the limits, which both searches share.
pub fn check(
    program: &Program,
    question: Question,
    settings: &Settings,
    interleavings: &crate::Settings,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Result<Checked, Refusal> {
    let begun = Instant::now();
    let mut robustness = match question {
        Question::Robust(machine) => {
            Robustness::Attacks(super::check(program, machine, settings, observe)?)
        }
        Question::TriangularRaceFree => {
            let (freedom, cost) = triangular_race::check(program, settings, observe);
            Robustness::TriangularRaces(freedom, cost)
        }
    };
    let sc = crate::Settings { model: Model::Sc, limits: settings.limits, ..*interleavings };
    let mut outcome = crate::check(program, &sc, &|_, progress| observe(progress));
    let known = |faulty: &Faulty| {
        outcome.faults.iter().any(|fault| (fault.tid, fault.pc) == (faulty.tid, faulty.pc))
    };
    let only_on_machine: Vec<Faulty> =
        robustness.faults().iter().filter(|faulty| !known(faulty)).copied().collect();
    if !outcome.faults.is_empty() || !only_on_machine.is_empty() {
        robustness.is_cut_short();
    }
    let shown = robustness.shown();
    for (property, verdict) in &mut outcome.answers {
        debug_assert_eq!(*property, Property::Assertions);
        let known = std::mem::replace(verdict, verdict::Verdict::Holds);
        *verdict = on_machine(known, shown);
    }
    let mut cost = robustness.cost();
    cost.include(&outcome.cost);
    cost.elapsed = begun.elapsed();
    Ok(Checked { robustness, only_on_machine, interleavings: outcome, cost })
}

/// The answer about assertions on the machine, from the one about interleavings and from why
/// robustness is not known to hold.
fn on_machine(interleavings: verdict::Verdict, robust: Result<(), Why>) -> verdict::Verdict {
    use verdict::Verdict::{Holds, Undecided, Violated};
    match (interleavings, robust) {
        (Violated(witness), _) => Violated(witness),
        (Holds | Undecided(_), Err(why @ (Why::NotRobust | Why::PerhapsNotRobust))) => {
            Undecided(why)
        }
        (Holds, Err(why)) => Undecided(why),
        (verdict, _) => verdict,
    }
}

impl Robustness {
    /// Run-time errors met on the way.
    fn faults(&self) -> &[Faulty] {
        match self {
            Robustness::Attacks(outcome) => &outcome.faults,
            Robustness::TriangularRaces(..) => &[],
        }
    }

    fn cost(&self) -> Cost {
        match self {
            Robustness::Attacks(outcome) => outcome.cost,
            Robustness::TriangularRaces(_, cost) => *cost,
        }
    }

    /// Runs end at a run-time error, so what would have come after was not looked at.
    fn is_cut_short(&mut self) {
        match self {
            Robustness::Attacks(Outcome { verdict: verdict @ Verdict::Holds, .. }) => {
                *verdict = Verdict::Undecided(Why::Faulty);
            }
            Robustness::TriangularRaces(freedom @ Freedom::Free, _) => {
                *freedom = Freedom::Undecided(Why::Faulty);
            }
            _ => {}
        }
    }

    /// Is the program shown to be robust? If not, why does an interleaving not tell all?
    fn shown(&self) -> Result<(), Why> {
        match self {
            Robustness::Attacks(outcome) => match outcome.verdict {
                Verdict::Holds => Ok(()),
                Verdict::Violated(_) => Err(Why::NotRobust),
                Verdict::Undecided(why) => Err(why),
            },
            Robustness::TriangularRaces(freedom, _) => match freedom {
                Freedom::Free => Ok(()),
                Freedom::Race(_) => Err(Why::PerhapsNotRobust),
                Freedom::Undecided(why) => Err(*why),
            },
        }
    }
}
