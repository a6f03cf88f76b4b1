//! Do threads wait for ever?
//!
//! A lock that nobody releases, a flag that nobody raises: threads go round in loops, and nothing ever happens. The
//! definition is [`mod@graph::waiting`]: a reachable state in which, with all threads reading the newest writes from
//! there on, nobody changes a value or comes to its end. Newest writes, because no real memory hides a write for ever
//! (and RC11, whose axioms are about finite executions, says nothing of it); so that a thread may read stale values
//! for a while is no reason to report it.
//!
//! Reachable means: by an interleaving, if the program is robust, because then every execution that the model allows is
//! one, and has the same newest writes and the same values in registers; on the weak memory, if not. Observational
//! robustness is not enough: it leaves open in which order writes that nobody reads end up.

use crate::answer::{Answer, By, Decision, Verdict, Why};
use crate::plan::Observe;
use crate::question::{Beyond, Model, Property, Question};
use crate::weak;
use crate::weak::system::Seeks;

/// Adds to an answer whether threads wait for ever.
pub(crate) fn decide(question: &Question, answer: &mut Answer, observe: Observe<'_>) {
    let is_robust = question.model == Model::Sc
        || answer.verdict(Property::Robustness).is_some_and(Verdict::holds);
    let racy = answer.verdict(Property::Races).is_some_and(|races| races.witness().is_some());
    let (verdict, by) = match question.beyond {
        _ if racy => (Verdict::Undecided(Why::Racy), By::Interleavings),
        Beyond::Nothing if !is_robust => (Verdict::Undecided(Why::NotRobust), By::Interleavings),
        _ => weak::decide(&Seeks::Waiting, is_robust, question, answer, observe),
    };
    let cost = Default::default();
    answer.decisions.push(Decision { property: Property::Liveness, verdict, by, cost });
}
