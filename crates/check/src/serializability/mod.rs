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

pub use ::serial::event::{Action, Event, Place, Thread, Var};
pub use ::serial::execution::Question;
pub use machine::Happening;
pub use transactions::Misplaced;

use crate::robustness::store_atomic::{self, Machine};
use crate::verdict::Cost;
use ::ir::{Instr, Pc, Program, Tid};
use ::search::{Limit, Limits, Options};
use machine::{Memory, Product};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What a search may use up.
    pub limits: Limits,
    /// How many writes may wait in a thread's buffer.
    pub buffer: usize,
    /// On how many cores searches run.
    pub jobs: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { limits: Limits::default(), buffer: 8, jobs: 1 }
    }
}

/// Why a program was not even tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its transactions do not nest properly.
    Misplaced(Misplaced),
    /// A construct that executions of the format have no event for.
    Unsupported(Tid, Pc),
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A limit was reached.
    Limit(Limit),
    /// Executions in which more writes wait in a buffer were left out; all others are fine.
    Buffer(usize),
    /// A run-time error of the program cut the search short there.
    Faulty(store_atomic::Faulty),
    /// The attack search has no answer.
    Robustness(store_atomic::Why),
    /// The monitor did not accept the witness. This is a bug in Fencepost.
    Rejected,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Limit(limit) => f.write_str(limit.reached()),
            Why::Buffer(most) => write!(
                f,
                "no violation while at most {most} writes of a thread wait in its buffer; \
                 executions with more were not covered"
            ),
            Why::Faulty(faulty) => {
                write!(f, "a run-time error cut the search short: {}", faulty.fault)
            }
            Why::Robustness(why) => why.fmt(f),
            Why::Rejected => f.write_str("the witness was rejected, which is a bug in fencepost"),
        }
    }
}

/// The answer to one question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Yes, in every execution.
    Holds,
    /// No, as this execution shows. For robustness there is none here: the attack search has its own.
    Violated(Vec<Happening>),
    /// Nobody knows, because of this.
    Undecided(Why),
}

impl Verdict {
    /// `holds`, `violated` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Undecided(_) => "undecided",
        }
    }
}

/// How an answer was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// A search through interleavings.
    Interleavings,
    /// A search through the states of the machine with store buffers.
    Buffers,
    /// The attack search.
    Attacks,
    /// Theorem 2: it is robust and SC-serializable.
    Theorem2,
}

/// The answer to one question and what it cost.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The answer.
    pub verdict: Verdict,
    /// How it was found.
    pub by: By,
    /// What it cost.
    pub cost: Cost,
    /// How many steps away from the start the search had come.
    pub depth: u64,
}

/// Answers all three questions about `program`, in the order of [`Question::ALL`].
pub fn check(program: &Program, settings: &Settings) -> Result<Vec<Answer>, Refusal> {
    let product = Arc::new(Product::new(program)?);
    let sc = explore_product(&product, Question::ScSerializable, settings);
    let mut robust = robustness(program, settings);
    if let (Verdict::Undecided(why @ Why::Faulty(_)), Verdict::Holds) =
        (&sc.verdict, &robust.verdict)
    {
        // The attack search looks at nothing where the text rules attacks out, and what would have
        // come after a run-time error is unknown.
        robust.verdict = Verdict::Undecided(*why);
    }
    let both = [&sc, &robust].iter().all(|answer| answer.verdict == Verdict::Holds);
    let tso = match both {
        true => Answer {
            question: Question::TsoSerializable,
            verdict: Verdict::Holds,
            by: By::Theorem2,
            cost: Cost::default(),
            depth: 0,
        },
        false => explore_product(&product, Question::TsoSerializable, settings),
    };
    Ok(vec![tso, sc, robust])
}

/// Answers one question by search: the one about SC through interleavings, the others through the
/// states of the machine with store buffers.
pub fn explore(
    program: &Program,
    question: Question,
    settings: &Settings,
) -> Result<Answer, Refusal> {
    Ok(explore_product(&Arc::new(Product::new(program)?), question, settings))
}

fn explore_product(product: &Arc<Product>, question: Question, settings: &Settings) -> Answer {
    let (memory, by) = match question {
        Question::ScSerializable => (Memory::Immediate, By::Interleavings),
        Question::TsoSerializable | Question::ScEquivalent => {
            (Memory::Buffered(settings.buffer), By::Buffers)
        }
    };
    let start = Instant::now();
    let Settings { limits, jobs, .. } = *settings;
    let options = Options { limits, jobs, ..Options::default() };
    let found = search::explore(product, question, memory, &options);
    let verdict = match (found.violation, found.limit) {
        (Some(execution), _) => match accepted(question, &execution) {
            true => Verdict::Violated(execution),
            false => Verdict::Undecided(Why::Rejected),
        },
        (None, Some(limit)) => Verdict::Undecided(Why::Limit(limit)),
        (None, None) => match (found.fault, found.overflowed) {
            (Some(faulty), _) => Verdict::Undecided(Why::Faulty(faulty)),
            (None, true) => Verdict::Undecided(Why::Buffer(settings.buffer)),
            (None, false) => Verdict::Holds,
        },
    };
    let cost = Cost { elapsed: start.elapsed(), ..found.cost };
    Answer { question, verdict, by, cost, depth: found.depth }
}

fn robustness(program: &Program, settings: &Settings) -> Answer {
    let attacks = store_atomic::Settings {
        limits: settings.limits,
        jobs: settings.jobs,
        ..store_atomic::Settings::default()
    };
    let (verdict, cost) = match store_atomic::check(program, Machine::Tso, &attacks, &|_| {}) {
        Ok(outcome) => {
            let verdict = match outcome.verdict {
                store_atomic::Verdict::Holds => Verdict::Holds,
                store_atomic::Verdict::Violated(_) => Verdict::Violated(vec![]),
                store_atomic::Verdict::Undecided(why) => Verdict::Undecided(Why::Robustness(why)),
            };
            (verdict, outcome.cost)
        }
        // Nobody asked for singularity, which is all that is ever refused.
        Err(_) => (Verdict::Undecided(Why::Rejected), Cost::default()),
    };
    Answer { question: Question::ScEquivalent, verdict, by: By::Attacks, cost, depth: 0 }
}

/// Does the monitor find a cycle in this execution?
fn accepted(question: Question, execution: &[Happening]) -> bool {
    let events: Vec<Event> = (1..)
        .zip(execution)
        .map(|(line, happening)| happening.event(line, Place::UNKNOWN))
        .collect();
    ::serial::execution::judge(question, &events).is_some()
}

/// Does the program mark any transaction?
pub fn has_transactions(program: &Program) -> bool {
    program.steps().any(|(_, _, step)| step.instr == Instr::Begin)
}
