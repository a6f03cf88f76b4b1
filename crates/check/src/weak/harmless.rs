//! Programs that cannot fail, whatever their threads read.
//!
//! The weak memory of a program that is not robust may be far too large to explore, and often there is nothing to look for: the program
//! asserts nothing, or nothing that depends on what is read when.
//!
//! **Theorem.** Let each location hold, for all we know, any value that [`PossibleValues`] has for it, and let no step that
//! control may come to fail with any of the values that its registers may hold there. Then no execution of RC11, RC20 or RA has a failing
//! assertion or a run-time error.
//!
//! **Premises**, computed by [`cannot_fail`]:
//!
//! * (a) no assertion may be 0, and no operand of a step may be without a value, as far as the analysis knows;
//! * (b) locations are named, or their index is a constant in range;
//! * (c) arithmetic wraps around;
//! * (d) if threads were discovered with a list of values for a location, the analysis has no others: threads have code for all
//!   that they read.
//!
//! **Proof.**
//!
//! 1. Program order and reads-from together have no cycle in any execution of these models, so its steps can be put into an order in which
//!    every read comes after the write that it reads.
//! 2. Along this order, the registers of each thread hold before each step what the analysis has for them there, and each value
//!    written is one that the analysis has for its location. A read returns such a value by induction, or an initial one; what a step
//!    makes of it, and where control goes, is what the analysis adds to its sets, which contain the result of every step for all
//!    combinations of its inputs. By (d) the step is in the thread's code.
//! 3. So each step of the execution is one that the analysis comes to, with values it has. By (a), (b) and (c) it does not fail. ∎

use analysis::values::PossibleValues;
use budget::Budget;
use ir::expr::Edge;
use ir::{Instr, Program};

/// Does no execution fail, because no step can fail with any value?
pub(super) fn cannot_fail(program: &Program, budget: Budget) -> bool {
    let possible = PossibleValues::within(program, budget);
    let comes_to = |t: usize, pc: usize| {
        let registers = &possible.registers[t][pc];
        registers.is_empty() || registers.iter().any(|values| !values.is_empty())
    };
    let mut steps = program.steps().filter(|(tid, pc, _)| comes_to(tid.index(), pc.index()));
    let is_foreseen = || {
        program.foreseen.iter().zip(&possible.locations).all(|(foreseen, values)| {
            let Some(foreseen) = foreseen else { return true };
            values.members().is_some_and(|values| {
                values.iter().all(|value| foreseen.binary_search(value).is_ok())
            })
        })
    };
    program.domain.edge == Edge::Wrap
        && steps.all(|(tid, pc, step)| {
            let t = tid.index();
            let holds = match &step.instr {
                Instr::Assert(claim) => !possible.expr(program, t, pc, claim).contains(0),
                _ => true,
            };
            let has_values = |expr: &&ir::Expr| !possible.may_fail(program, t, pc, expr);
            holds
                && step.instr.places().iter().all(|place| matches!(place.known(), Some(Ok(_))))
                && step.instr.operands().iter().all(has_values)
        })
        && is_foreseen()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::{Beyond, Model, Property, Question};
    use ir::random::{self, Config};

    /// What is said to be harmless fails neither in an interleaving nor, where that is small, on the weak memory. Catches a step that
    /// the analysis forgets.
    #[test]
    fn harmless_programs_do_not_fail() {
        let mut harmless = [0; 2];
        for seed in 0..1_500 {
            let program = random::program(seed, &Config::default());
            let cannot = cannot_fail(&program, Budget::UNLIMITED);
            for model in [Model::Sc, Model::Rc11] {
                let mut question = Question { beyond: Beyond::Brief, ..Question::of(model) };
                question.limits.states = Some(20_000);
                let Ok(answer) = crate::check(&program, &question, &|_, _| {}) else { continue };
                let assertion = answer.verdict(Property::Assertions);
                let fails = assertion.is_some_and(|it| it.witness().is_some());
                let fails = fails || !answer.faults.is_empty();
                assert!(!(fails && cannot), "seed {seed}, {}", model.name());
            }
            harmless[usize::from(cannot)] += 1;
        }
        assert!(harmless.iter().all(|programs| *programs >= 150), "{harmless:?}");
    }
}
