//! The analyses: one [`Question`] about a program, one [`Answer`].
//!
//! [`check`] answers for every memory model. The path of a question:
//!
//! 1. [`legality`] refuses programs with constructs that the model gives no meaning to.
//! 2. [`robustness`], [`safety`], [`condition`](mod@condition), `liveness` and [`serializability`] set up the searches. A search explores a
//!    [`product`] of the program and a memory, with [reductions](reduce).
//! 3. [`replay`] turns the path to a finding into a run of the program. A separate judge
//!    accepts the run's execution, or nothing is reported: `graph` by way of [`certificate`], with an
//!    interpreter of its own; [`robustness::store_atomic::judge`], which runs the buffers literally and
//!    shares with the search what single instructions mean; the crate `serial`.
//! 4. The [`Answer`] has a [`Verdict`] for each property, with a [`Witness`] where one is violated.
//!
//! [`remedy`] says what rules a witness out. [`refinement`] compares two programs, [`fix`] looks for fences, [`outcomes`] lists final states.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod answer;
pub mod certificate;
pub mod condition;
pub mod double_check;
pub mod explore;
pub mod fix;
pub mod legality;
mod liveness;
pub mod outcomes;
mod packed;
pub mod parts;
mod plan;
pub mod product;
pub mod question;
pub mod reduce;
pub mod refinement;
pub mod remedy;
pub mod replay;
pub mod robustness;
pub mod safety;
pub mod serializability;
pub mod weak;

pub use answer::{
    Answer, By, Certificate, Cost, Decision, Evidence, NotAsked, Problem, Verdict, Why, Witness,
};
pub use condition::Reach;
pub use explore::Task;
pub use legality::Refusal;
pub use question::{Beyond, DoubleCheck, Extent, Method, Model, Property, Question, Require};
pub use reduce::Reductions;

use ir::{Instr, LocationKind, Program};
use search::Progress;

/// Answers `question` about `program`, or says why it cannot be asked. `observe` is told now and then
/// how far the search has come.
///
/// ```
/// use fencepost_check::{check, Model, Property, Question};
/// let text = "global x, y;
///     thread left  { local r; x.store(1); r = y.load(); }
///     thread right { local r; y.store(1); r = x.load(); }";
/// let program = lang::parse("sb.fp", text).unwrap().program;
/// for model in [Model::Rc11, Model::Tso] {
///     let answer = check(&program, &Question::of(model), &|_, _| {}).unwrap();
///     assert_eq!(answer.verdict(Property::Robustness).unwrap().name(), "violated");
/// }
/// ```
pub fn check(
    program: &Program,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Result<Answer, Vec<Refusal>> {
    let refused = legality::refusals(program, question);
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut answer = match (question.property, question.model.machine()) {
        (Property::Serializability, _) => serializability::check(program, question),
        (_, Some(machine)) => {
            robustness::store_atomic::safety::check(program, machine, question, observe)
        }
        (_, None) => Ok(interleavings(program, question, observe)),
    }
    .map_err(|refusal| vec![refusal])?;
    if question.model.has_stale_reads() && question.property != Property::Serializability {
        weak::extend(question, &mut answer, observe);
    }
    answer.unchecked = unchecked(&answer.program, question);
    if question.property != Property::Serializability {
        condition::decide(program, question, &mut answer, observe);
    }
    if question.liveness {
        liveness::decide(question, &mut answer, observe);
    }
    let rejected = |decision: &&Decision| decision.verdict.why() == Some(Why::Rejected);
    if let Some(Decision { property, .. }) = answer.decisions.iter().find(rejected) {
        let bug = format!("a violation of {property} was found, but the judge rejected it");
        answer.internal.push(bug);
    }
    Ok(answer)
}

/// Explores interleavings, with the monitors of RC11, RC20 and RA, and confirms the answer without
/// reductions.
pub(crate) fn interleavings(
    program: &Program,
    question: &Question,
    observe: &(dyn Fn(&Task, &Progress) + Sync),
) -> Answer {
    let program = question.model.reads(program);
    let check: plan::Check = match question.model.has_stale_reads() {
        true => robustness::rc20::check,
        false => safety::check,
    };
    let answer = |question: &Question| {
        let answers = parts::of(&program, question).into_iter().map(|part| {
            let harmless = question.model == Model::Sc && question.reductions.parts;
            match harmless && parts::is_harmless(&part) {
                true => {
                    let holds = Decision::by_interleavings(Property::Assertions, Verdict::Holds);
                    Answer::new(&part, vec![holds], Cost::default())
                }
                false => plan::first_answer(&part, question, observe, check),
            }
        });
        parts::combined(&program, question.extent, answers.collect())
    };
    let mut confirmed = double_check::confirm(&program, question, answer(question), answer);
    if question.model.has_stale_reads() {
        confirmed.witnesses_mut().for_each(|witness| witness.play(&program));
    }
    Answer { program: program.into_owned(), ..confirmed }
}

/// The properties that `question` leaves out, although `program` could have them.
fn unchecked(program: &Program, question: &Question) -> Vec<(Property, NotAsked)> {
    if question.property == Property::Serializability {
        let not_asked = |property| (property, NotAsked::AnotherQuestion);
        let assertions = has_assertions(program).then_some(Property::Assertions);
        let condition = program.condition.is_some().then_some(Property::FinalCondition);
        return assertions.into_iter().chain(condition).map(not_asked).collect();
    }
    let why = match question.model {
        Model::Sc => NotAsked::NeedsWeakMemory,
        Model::Rc11 | Model::Rc20 | Model::Ra if question.races => return Vec::new(),
        Model::Rc11 | Model::Rc20 | Model::Ra => NotAsked::LeftOut,
        Model::Tso | Model::Pso | Model::Pgas => NotAsked::NoSuchAccess,
    };
    let has_non_atomics =
        program.locations.iter().any(|location| location.kind == LocationKind::NonAtomic);
    has_non_atomics.then_some((Property::Races, why)).into_iter().collect()
}

/// Does the program say anything by assertions?
pub fn has_assertions(program: &Program) -> bool {
    program.steps().any(|(_, _, step)| matches!(step.instr, Instr::Assert(_)))
}
