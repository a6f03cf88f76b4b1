//! Verdicts by brute force: properties of a program judged on all its RC20-consistent graphs.
//!
//! **Non-atomics.** Here a `na` access is a relaxed access that takes part in coherence and in SC cycles
//! like any other, and a race is a property of its own. A stale `na` access is therefore a robustness
//! violation too; but it always comes with a race, see [`super::monitor`], so that "robust and free of
//! races" ([`is_robust_and_race_free`]) does not depend on whether `na` accesses are tested for
//! robustness.

use super::axioms;
use super::enumerate::{Limits, enumerate};
use super::event::ExecutionGraph;
use crate::Program;
use std::ops::ControlFlow;

/// Does a property hold?
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// In every graph that was visited.
    Holds,
    /// Not in this one.
    Violated(Box<ExecutionGraph>),
}

/// A verdict and how far to trust it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// Did a limit cut something off? Then [`Verdict::Holds`] means "as far as I could see".
    pub bounded: bool,
}

impl Answer {
    /// Does the property hold in every graph that was visited?
    pub fn holds(&self) -> bool {
        self.verdict == Verdict::Holds
    }
}

/// Is every RC20-consistent graph SC-consistent (Def. 4.1)?
pub fn is_robust(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, axioms::is_sc_consistent)
}

/// Is `hb_SC^dp` irreflexive in every RC20-consistent graph (Def. 4.9)?
pub fn is_observationally_robust(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, axioms::is_observationally_consistent)
}

/// Has no RC20-consistent graph a data race (Def. 6.2)?
pub fn is_race_free(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, |graph| axioms::races(graph).is_empty())
}

/// Is every RC20-consistent graph SC-consistent and without data race?
pub fn is_robust_and_race_free(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, |graph| {
        axioms::is_sc_consistent(graph) && axioms::races(graph).is_empty()
    })
}

/// Can no assertion fail under RC20 (Def. 3.12)?
pub fn is_safe(program: &Program, limits: &Limits) -> Answer {
    let mut verdict = Verdict::Holds;
    let enumeration = enumerate(program, limits, &mut |graph, state| {
        if !state.has_failed() {
            return ControlFlow::Continue(());
        }
        verdict = Verdict::Violated(Box::new(graph.clone()));
        ControlFlow::Break(())
    });
    Answer { verdict, bounded: enumeration.bounded }
}

fn in_all_graphs(
    program: &Program,
    limits: &Limits,
    holds: impl Fn(&ExecutionGraph) -> bool,
) -> Answer {
    let mut verdict = Verdict::Holds;
    let enumeration = enumerate(program, limits, &mut |graph, _| {
        if holds(graph) {
            return ControlFlow::Continue(());
        }
        verdict = Verdict::Violated(Box::new(graph.clone()));
        ControlFlow::Break(())
    });
    Answer { verdict, bounded: enumeration.bounded }
}
