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

use super::{Faulty, Machine, triangular_race};
use crate::answer::{Answer, Cost, Decision, Evidence, Problem, Verdict, Why, Witness};
use crate::explore::Task;
use crate::legality::Refusal;
use crate::question::{Model, Property, Question};
use ::ir::Program;
use search::Progress;
use std::time::Instant;

/// Answers the question about `program` on `machine`. The limits are shared by both searches.
pub(crate) fn check(
    program: &Program,
    machine: Machine,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Answer, Refusal> {
    let begun = Instant::now();
    let (mut robust, faults) = match question.property {
        Property::TriangularRaces => triangular_race::decide(program, question, observe),
        _ => super::decide(program, machine, question, observe)?,
    };
    let sc = Question { model: Model::Sc, ..*question };
    let mut answer = crate::interleavings(program, &sc, observe);
    for Faulty { tid, pc, fault } in faults {
        if !answer.faults.iter().any(|known| (known.tid, known.pc) == (tid, pc)) {
            let (problem, evidence) = (Problem::Fault(fault), Evidence::Unshown);
            answer.faults.push(Witness { tid, pc, problem, evidence });
        }
    }
    if !answer.faults.is_empty() && robust.verdict.holds() {
        // Runs end at a run-time error, so what would have come after was not looked at.
        robust.verdict = Verdict::Undecided(Why::Faulty);
    }
    for decision in &mut answer.decisions {
        debug_assert_eq!(decision.property, Property::Assertions);
        let known = std::mem::replace(&mut decision.verdict, Verdict::Holds);
        decision.verdict = on_machine(known, &robust);
    }
    let mut cost = robust.cost;
    cost.include(&answer.cost);
    answer.cost = Cost { elapsed: begun.elapsed(), ..cost };
    answer.decisions.insert(0, robust);
    Ok(answer)
}

/// The verdict on assertions on the machine, from the one on interleavings.
fn on_machine(interleavings: Verdict, robust: &Decision) -> Verdict {
    use Verdict::{Holds, Undecided, Violated};
    let not_robust = match robust.property {
        Property::TriangularRaces => Why::PerhapsNotRobust,
        _ => Why::NotRobust,
    };
    match (interleavings, &robust.verdict) {
        (Violated(witness), _) => Violated(witness),
        (Holds | Undecided(_), Violated(_)) => Undecided(not_robust),
        (Holds, Undecided(why)) => Undecided(*why),
        (verdict, _) => verdict,
    }
}
