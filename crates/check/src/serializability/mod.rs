//! Are a program's `atomic` blocks atomic on x86, in every execution?
//!
//! The notions are those of *On Atomicity in Presence of Non-atomic Writes* (Enea and Farzan, TACAS
//! 2016), which the crate `serial` decides for one recorded run. A program is *TSO-serializable* if
//! every execution of the machine with store buffers is, *SC-serializable* if every interleaving is,
//! and *robust* if every execution is equivalent to an interleaving.
//!
//! Robustness and SC-serializability need no buffers: the first is decided by the [attack
//! search](crate::robustness::store_atomic), the second by a search through interleavings. If both
//! hold, the program is TSO-serializable by Theorem 2, however much its buffers could hold. Only if
//! one fails are the buffers explored, which may be without end, so their length has a limit.
//!
//! A search runs through pairs of a state of the machine ([`machine`]) and what the conflict graph so
//! far means for the future ([`summary`]), which is a bounded amount of information: programs with
//! finitely many states are explored completely, loops and all. A violation is reported only after
//! the monitor of `serial`, which shares no code with the summary, has found the cycle in the very
//! execution.
//!
//! A read-modify-write waits until its thread's buffer is empty and takes effect at once. In an
//! execution it is a fence, a read, a write with its commit and a fence, all in one unit.

pub mod machine;
mod search;
pub mod summary;
pub mod transactions;

pub use ::serial::event::{Action, Data, Event, Place, Thread, Var};
pub use ::serial::execution::Question;
pub use machine::Happening;
pub use transactions::Misplaced;

use crate::answer::{Answer, By, Cost, Decision, Evidence, Problem, Verdict, Why, Witness};
use crate::legality::Refusal;
use crate::question::{self, Property};
use crate::robustness::store_atomic::{self, Machine};
use ::ir::Program;
use ::serial::witness::Violation;
use machine::{Memory, Product};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An execution with a cycle of transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// What happens, in order.
    pub happenings: Vec<Happening>,
    /// The cycle that the monitor of `serial` found. Lines are positions in `happenings`, counted from 1.
    pub violation: Violation,
}

/// The property that a question of `serial` asks about.
pub fn property(question: Question) -> Property {
    match question {
        Question::TsoSerializable => Property::Serializability,
        Question::ScSerializable => Property::ScSerializability,
        Question::ScEquivalent => Property::ScEquivalence,
    }
}

/// Answers all three questions about `program`, in the order of [`Question::ALL`].
pub(crate) fn check(program: &Program, asked: &question::Question) -> Result<Answer, Refusal> {
    let product = Arc::new(Product::new(program)?);
    let sc = explore_product(&product, Question::ScSerializable, asked);
    let mut robust = robustness(program, asked)?;
    if let (Verdict::Undecided(why @ Why::CutShort(_)), Verdict::Holds) =
        (&sc.verdict, &robust.verdict)
    {
        // The attack search looks at nothing where the text rules attacks out, and what would have
        // come after a run-time error is unknown.
        robust.verdict = Verdict::Undecided(*why);
    }
    let tso = match sc.verdict.holds() && robust.verdict.holds() {
        true => Decision {
            property: Property::Serializability,
            verdict: Verdict::Holds,
            by: By::Theorem2,
            cost: Cost::default(),
        },
        false => explore_product(&product, Question::TsoSerializable, asked),
    };
    let decisions = vec![tso, sc, robust];
    let mut cost = Cost::default();
    decisions.iter().for_each(|decision| cost.include(&decision.cost));
    cost.elapsed = decisions.iter().map(|decision| decision.cost.elapsed).sum::<Duration>();
    Ok(Answer::new(program, decisions, cost))
}

/// Answers one question by search: the one about SC through interleavings, the others through the
/// states of the machine with store buffers.
pub fn explore(
    program: &Program,
    question: Question,
    asked: &question::Question,
) -> Result<Decision, Refusal> {
    Ok(explore_product(&Arc::new(Product::new(program)?), question, asked))
}

fn explore_product(
    product: &Arc<Product>,
    question: Question,
    asked: &question::Question,
) -> Decision {
    let (memory, by) = match question {
        Question::ScSerializable => (Memory::Immediate, By::Interleavings),
        Question::TsoSerializable | Question::ScEquivalent => {
            (Memory::Buffered(asked.buffer), By::Buffers)
        }
    };
    let start = Instant::now();
    let found = search::explore(product, question, memory, asked);
    let verdict = match (found.violation, found.limit) {
        (Some(happenings), _) => accepted(question, happenings)
            .map_or(Verdict::Undecided(Why::Rejected), |witness| {
                Verdict::Violated(Box::new(witness))
            }),
        (None, Some(limit)) => Verdict::Undecided(Why::Limit(limit)),
        (None, None) => match (found.fault, found.overflowed) {
            (Some(faulty), _) => Verdict::Undecided(Why::CutShort(faulty.fault)),
            (None, true) => Verdict::Undecided(Why::Buffer(asked.buffer)),
            (None, false) => Verdict::Holds,
        },
    };
    let cost = Cost { elapsed: start.elapsed(), ..found.cost };
    Decision { property: property(question), verdict, by, cost }
}

fn robustness(program: &Program, asked: &question::Question) -> Result<Decision, Refusal> {
    let decided = store_atomic::decide(program, Machine::Tso, asked, &|_, _| {});
    decided.map(|(decision, _)| Decision { property: Property::ScEquivalence, ..decision })
}

/// The execution as a witness, if the monitor finds a cycle in it.
fn accepted(question: Question, happenings: Vec<Happening>) -> Option<Witness> {
    let events: Vec<Event> = (1..)
        .zip(&happenings)
        .map(|(line, happening)| happening.event(line, Place::UNKNOWN))
        .collect();
    let violation = ::serial::execution::judge(question, &events)?;
    let first = violation.cycle.first()?.unit.line as usize;
    let &Happening { tid, pc, .. } = happenings.get(first.checked_sub(1)?)?;
    let evidence = Evidence::Execution(Box::new(Execution { happenings, violation }));
    Some(Witness { tid, pc, problem: Problem::NotSerializable, evidence })
}
