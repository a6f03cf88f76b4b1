//! `--liveness`: can the program come to a state in which threads wait for ever?
//!
//! An example is a thread that spins on a lock that no thread releases. The definition is [`mod@graph::waiting`]: a
//! reachable state from which, if all threads read the newest writes only, no thread changes a value or comes to its end.
//! Threads read the newest writes because no real memory hides a write for ever; RC11's axioms are about
//! finite executions and do not say so. A thread that may read stale values for a while is therefore not reported.
//!
//! Which states are reachable depends on robustness:
//!
//! * The program is robust: interleavings are explored. Every execution that the model allows is one of them, with the same
//!   newest writes and the same values in registers.
//! * The program is not robust: the weak memory is explored ([`crate::weak`]).
//!
//! Observational robustness is not enough for the first case: it leaves open the order of writes that no thread reads.

use crate::answer::{Answer, By, Decision, Verdict, Why};
use crate::plan::Observe;
use crate::question::{Model, Property, Question};
use crate::weak;
use crate::weak::system::Seeks;

/// Adds to an answer whether threads wait for ever.
pub(crate) fn decide(question: &Question, answer: &mut Answer, observe: Observe<'_>) {
    let is_robust = question.model == Model::Sc
        || answer.verdict(Property::Robustness).is_some_and(Verdict::holds);
    let racy = answer.verdict(Property::Races).is_some_and(|races| races.witness().is_some());
    let (verdict, by) = match is_robust || question.beyond.weak_memory() {
        _ if racy => (Verdict::Undecided(Why::Racy), By::Interleavings),
        false => (Verdict::Undecided(Why::NotRobust), By::Interleavings),
        true => weak::decide(&Seeks::Waiting, is_robust, question, answer, observe),
    };
    let cost = Default::default();
    answer.decisions.push(Decision { property: Property::Liveness, verdict, by, cost });
}
