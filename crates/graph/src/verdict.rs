//! Verdicts by brute force: properties of a program judged on all its RC11-consistent graphs.
//!
//! **Non-atomics.** Here a `na` access is a relaxed access that takes part in coherence and in SC cycles
//! like any other, and a race is a property of its own. A stale `na` access is therefore a robustness
//! violation too; but it always comes with a race, see [`super::monitor`], so that "robust and free of
//! races" ([`is_robust_and_race_free`]) does not depend on whether `na` accesses are tested for
//! robustness.

use super::axioms;
use super::enumerate::{Limits, enumerate};
use super::event::ExecutionGraph;
use ir::Program;
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

/// Is every consistent graph SC-consistent (Def. 4.1)?
pub fn is_robust(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, axioms::is_sc_consistent)
}

/// Is `hb_SC^dp` irreflexive in every consistent graph (Def. 4.9)?
pub fn is_observationally_robust(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, axioms::is_observationally_consistent)
}

/// Has no consistent graph a data race (Def. 6.2)?
pub fn is_race_free(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, |graph| axioms::races(graph).is_empty())
}

/// Is every consistent graph SC-consistent and without data race?
pub fn is_robust_and_race_free(program: &Program, limits: &Limits) -> Answer {
    in_all_graphs(program, limits, |graph| {
        axioms::is_sc_consistent(graph) && axioms::races(graph).is_empty()
    })
}

/// Can no assertion fail under RC11 (Def. 3.12)?
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

#[cfg(test)]
mod tests {
    use super::super::litmus::*;
    use super::super::monitor::{Verdicts, verdicts};
    use super::*;
    use ir::{Expr, FenceMode, Instr, Place, ReadMode, WriteMode};

    /// Robust and observationally robust, by definition; the monitors must say the same of the first
    /// and may be stricter about the second only if `strict`.
    fn judge(program: &Program, strict: bool) -> (bool, bool) {
        let limits = Limits::default();
        let robust = is_robust(program, &limits).holds();
        let observational = is_observationally_robust(program, &limits).holds();
        let monitor = verdicts(program, &limits);
        assert_eq!(monitor.robust.is_none(), robust);
        assert_eq!(monitor.observational.is_none(), observational && !strict);
        (robust, observational)
    }

    /// Ex. 4.10: message passing without synchronisation is observationally robust as long as nobody
    /// looks at what was read.
    #[test]
    fn message_passing() {
        let with = |read, write, look: bool| {
            let mut reader = vec![load(A, Y, read), load(B, X, RLX)];
            reader.extend(look.then(|| assert(B)));
            program([vec![store(X, 1, WRLX), store(Y, 1, write)], reader])
        };
        assert_eq!(judge(&with(ACQ, REL, true), false), (true, true));
        assert_eq!(judge(&with(RLX, WRLX, false), false), (false, true));
        assert_eq!(judge(&with(RLX, WRLX, true), false), (false, false));
    }

    /// A computed index is a dependency: where a load reads from depends on what was read before.
    #[test]
    fn indices_are_dependencies() {
        let element = Place { base: Y, len: 2, index: Some(Expr::Reg(B)) };
        let last = |place| Instr::Load { dst: A, place, mode: RLX };
        let with = |place| {
            program([
                vec![store(X, 1, WRLX), store(Y, 1, WRLX)],
                vec![wait(Y, 1, RLX), load(B, X, RLX), last(place)],
            ])
        };
        assert_eq!(judge(&with(Place::location(Y)), false), (false, true));
        assert_eq!(judge(&with(element), false), (false, false));
    }

    /// Ex. 4.18: two store bufferings nested; the outer tainted reads must not count as knowledge.
    #[test]
    fn nested_store_buffering() {
        let side = |mine, other| {
            vec![store(mine, 1, REL), load(A, other, ACQ), load(B, other, ACQ), jump(B, 4)]
        };
        assert_eq!(judge(&program([side(X, Y), side(Y, X)]), false), (false, false));
    }

    /// Ex. 4.19, in its smallest form: the observational check is stricter than the definition.
    #[test]
    fn the_observational_check_is_not_complete() {
        let program = program([
            vec![store(X, 1, REL), store(Y, 1, REL)],
            vec![store(Y, 2, REL), load(A, X, ACQ)],
        ]);
        assert_eq!(judge(&program, true), (false, true));
    }

    /// A wait masks a benign stale read of a busy loop.
    #[test]
    fn waits_mask_busy_loops() {
        let reader = |first| vec![first, load(B, X, RLX), store_reg(Z, B, WRLX)];
        let with = |first| program([vec![store(X, 1, WRLX), store(Y, 1, REL)], reader(first)]);
        assert_eq!(judge(&with(wait(Y, 1, ACQ)), false), (true, true));
        assert_eq!(judge(&with(wait(Y, 1, RLX)), false), (false, false));
    }

    #[test]
    fn store_buffering_with_sc_fences_is_robust() {
        let side = |mine, other| {
            vec![store(mine, 1, WRLX), fence(FenceMode::Sc), load(A, other, RLX), assert(A)]
        };
        assert_eq!(judge(&program([side(X, Y), side(Y, X)]), false), (true, true));
    }

    fn publication(write: WriteMode, read: ReadMode) -> (bool, bool, Verdicts) {
        let program = program([
            vec![store(N, 1, WriteMode::Na), store(X, 1, write)],
            vec![wait(X, 1, read), load(A, N, ReadMode::Na)],
        ]);
        let limits = Limits::default();
        (
            is_robust(&program, &limits).holds(),
            is_race_free(&program, &limits).holds(),
            verdicts(&program, &limits),
        )
    }

    /// A race-free program is robust at its non-atomic accesses; a racy one may be stale at them, and
    /// then only tests at all accesses call it not robust.
    #[test]
    fn races_and_robustness() {
        let (robust, race_free, monitor) = publication(REL, ACQ);
        assert!(robust && race_free);
        assert_eq!((monitor.robust, monitor.race, monitor.racy_graph), (None, None, None));

        let (robust, race_free, monitor) = publication(WRLX, ACQ);
        assert!(!robust && !race_free);
        assert!(monitor.robust.is_some() && monitor.robust_at_atomics.is_none());
        assert!(monitor.race.is_some() && monitor.racy_graph.is_some());
    }

    /// Ex. 6.3: a reader and a later writer that only a third thread's chain connects.
    #[test]
    fn a_read_races_with_a_later_write() {
        let with = |mode| {
            program([
                vec![load(A, N, ReadMode::Na), store(Y, 1, mode)],
                vec![wait(Y, 1, ACQ), load(B, N, ReadMode::Na), store(Y, 2, REL)],
                vec![wait(Y, 2, ACQ), store(N, 1, WriteMode::Na)],
            ])
        };
        let limits = Limits::default();
        for (mode, race_free) in [(WRLX, false), (REL, true)] {
            let program = with(mode);
            assert_eq!(is_race_free(&program, &limits).holds(), race_free);
            assert_eq!(verdicts(&program, &limits).race.is_none(), race_free);
        }
    }

    /// Under SC the acquire load always reads 1 and orders the non-atomic accesses. Under RC20 it may
    /// read 0, and since nothing depends on it the program is observationally robust all the same. Only
    /// the monitor in which tainted loads teach nothing sees the race.
    #[test]
    fn races_of_observationally_robust_programs_need_the_taint() {
        let program = program([
            vec![store(N, 1, WriteMode::Na), store(X, 1, REL), store(Y, 1, WRLX)],
            vec![wait(Y, 1, RLX), load(A, X, ACQ), load(B, N, ReadMode::Na)],
        ]);
        assert_eq!(judge(&program, false), (false, true));
        let limits = Limits::default();
        assert!(!is_race_free(&program, &limits).holds());
        let monitor = verdicts(&program, &limits);
        assert!(monitor.race.is_none() && monitor.race_with_taint.is_some());
    }

    #[test]
    fn assertions_under_rc20() {
        let with = |read, write| {
            program([
                vec![store(X, 1, WRLX), store(Y, 1, write)],
                vec![wait(Y, 1, read), load(A, X, RLX), assert(A)],
            ])
        };
        let limits = Limits::default();
        assert!(is_safe(&with(ACQ, REL), &limits).holds());
        assert!(!is_safe(&with(ACQ, WRLX), &limits).holds());
    }
}
