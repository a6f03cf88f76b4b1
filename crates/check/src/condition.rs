//! Final conditions: do interleavings end as the program claims, and does that say it all?
//!
//! Interleavings are searched with a thread that observes the final values and asserts
//! ([`ir::condition::observed_by_a_thread`]), so every reduction keeps what the condition is about for
//! reasons of its own. (Where there is no room for one more thread, [`crate::weak`] explores them.) A robust program ends on a weak memory exactly as its interleavings do: a
//! graph that SC explains has the same last writes and the same values in registers. So
//!
//! * what an interleaving refutes, or shows to exist, is refuted or exists on every memory;
//! * what none refutes holds if the program is robust; if not, the weak memory itself is explored
//!   ([`crate::weak`]), as far as the question wants that.
//!
//! Observational robustness is not enough: a stale value that nothing in the program depends on is
//! still in its register at the end, where the condition sees it.
//!
//! `~exists` and `forall` claim something and get a [`Decision`]. `exists` asks, and gets an answer
//! that is neither good nor bad ([`Reach`]).

use crate::answer::{Answer, By, Cost, Decision, Problem, Verdict, Why, Witness};
use crate::plan::Observe;
use crate::question::{Extent, Model, Property, Question};
use crate::replay::RunStep;
use crate::weak;
use crate::weak::system::Seeks;
use ir::condition::observed_by_a_thread;
use ir::{Condition, Instr, Observed, Pc, Program, Quantifier, Tid, Value};

/// The answer to `exists`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// A run ends in a state that satisfies the condition.
    Yes,
    /// None does.
    No,
    /// Nobody knows, because of this.
    Unknown(Why),
}

/// Adds what is known of the condition of `program` to an answer about the rest.
pub(crate) fn decide(
    program: &Program,
    question: &Question,
    answer: &mut Answer,
    observe: Observe<'_>,
) {
    let Some(condition) = &program.condition else { return };
    let seeks = Seeks::Final(condition.clone());
    let known = match observed_by_a_thread(program) {
        Some(observing) => observed(program, &observing, condition, question, answer, observe),
        None => weak::decide(&seeks, true, question, answer, observe).0,
    };
    let verdict = on_weak_memory(known, question, answer);
    let is_open = verdict.why().is_some_and(|why| why != Why::Rejected);
    let goes_on = question.model.has_stale_reads() && question.beyond.weak_memory();
    let (verdict, by) = match is_open && goes_on {
        true => weak::decide(&seeks, false, question, answer, observe),
        false => (verdict, By::Interleavings),
    };
    if condition.quantifier.claims() {
        let (property, cost) = (Property::FinalCondition, Cost::default());
        answer.decisions.push(Decision { property, verdict, by, cost });
        return;
    }
    answer.reach = Some(match (verdict, by) {
        (Verdict::Violated(_), _) => Reach::Yes,
        (Verdict::Holds, By::WeakMemory { stale: Some(bound) }) => {
            Reach::Unknown(Why::Stale(bound))
        }
        (Verdict::Holds, _) => Reach::No,
        (Verdict::Undecided(why), _) => Reach::Unknown(why),
    });
}

/// The verdict on interleavings, which a thread of `observing` observes.
fn observed(
    program: &Program,
    observing: &Program,
    condition: &Condition,
    question: &Question,
    answer: &mut Answer,
    observe: Observe<'_>,
) -> Verdict {
    let sc = Question { model: Model::Sc, extent: Extent::First, ..*question };
    let sc = Question { property: Property::Robustness, ..sc };
    let found = crate::interleavings(observing, &sc, observe);
    let known = match found.verdict(Property::Assertions) {
        Some(Verdict::Violated(witness)) => match shown(program, condition, witness.run()) {
            Some(witness) => Verdict::Violated(Box::new(witness)),
            None => {
                let bug = "a run was found that does not end as the final condition asks";
                answer.internal.push(bug.into());
                Verdict::Undecided(Why::Rejected)
            }
        },
        Some(Verdict::Undecided(why)) => Verdict::Undecided(*why),
        Some(Verdict::Holds) if found.faults.is_empty() => Verdict::Holds,
        Some(Verdict::Holds) | None => Verdict::Undecided(Why::Faulty),
    };
    answer.internal.extend(found.internal);
    answer.cost.include(&found.cost);
    answer.cost.elapsed += found.cost.elapsed;
    known
}

/// The verdict where reads can be stale or stores wait, from the one on interleavings.
fn on_weak_memory(interleavings: Verdict, question: &Question, answer: &Answer) -> Verdict {
    use Verdict::{Holds, Undecided, Violated};
    if question.model == Model::Sc {
        return interleavings;
    }
    let robust = answer.verdict(question.property);
    match (interleavings, robust) {
        (Violated(witness), _) => Violated(witness),
        (Holds | Undecided(_), Some(Violated(_))) => match question.property {
            Property::TriangularRaces => Undecided(Why::PerhapsNotRobust),
            _ => Undecided(Why::NotRobust),
        },
        (Holds, Some(Undecided(why))) => Undecided(*why),
        (Holds, _) if question.observational() => Undecided(Why::PerhapsNotRobust),
        (verdict, _) => verdict,
    }
}

/// The run without what the observing thread and its messages add, if it ends in a state that
/// satisfies the formula (or, for `forall`, does not).
fn shown(program: &Program, condition: &Condition, run: &[RunStep]) -> Option<Witness> {
    let is_own = |step: &&RunStep| {
        let thread = program.threads.get(step.tid.index());
        let own = thread.and_then(|thread| thread.code.get(step.pc.index()));
        own.is_some_and(|step| step.instr != Instr::Halt)
    };
    let run: Vec<RunStep> = run.iter().filter(is_own).cloned().collect();
    let satisfied = condition.is_satisfied(|what| last_value(program, &run, what));
    if satisfied == (condition.quantifier == Quantifier::Forall) {
        return None;
    }
    let tid = run.last().map_or(Tid(0), |step| step.tid);
    let code = &program.threads[tid.index()].code;
    let end = code.iter().position(|step| step.instr == Instr::Halt).map_or(Pc(0), Pc::from);
    Some(Witness::reached(run, (tid, end), Problem::FinalState))
}

/// The value that `what` has after a run from the start.
pub fn last_value(program: &Program, run: &[RunStep], what: Observed) -> Value {
    let last = run.iter().rev();
    match what {
        Observed::Register(tid, reg) => last
            .filter(|step| step.tid == tid)
            .find_map(|step| step.assigned.filter(|(dst, _)| *dst == reg))
            .map_or(0, |(_, value)| value),
        Observed::Location(loc) => last
            .filter(|step| step.action.loc() == Some(loc))
            .find_map(|step| step.written)
            .unwrap_or(program.locations[loc.index()].initial),
    }
}
