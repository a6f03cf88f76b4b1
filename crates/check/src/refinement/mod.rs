//! Does a library do what its specification says, under weak memory?
//!
//! The library L refines its specification L# under a most general client MGC if every history of
//! MGC\[L\] is one of MGC\[L#\], and MGC\[L\] has no race (Def. in section 7 of Singh and Lahav, POPL 2023).
//! Then any client that keeps to the policy which MGC states, and has no race with L#, may reason with
//! L# (Theorem 7.3): it will see nothing of L that L# could not have shown.
//!
//! Histories are calls and returns and the propagation of their markers from thread to thread, under
//! [`memory::rc11_views`]. They are words of a finite automaton once the number of markers on their
//! way is bounded, and that is all that is bounded: histories may be of any length. The bound is a
//! property of the history itself (the markers issued and the propagations so far), so both sides
//! are cut off at the same histories, and the answer for the bound is exact.
//!
//! One thing is not taken to the letter, unless [`Scope::literal`] says so. If the histories are
//! not those of the specification to the letter, which is the cheaper question, the specification may
//! let a marker propagate *earlier* than the history shows it, where no client can tell:
//!
//! * to a thread that is inside a method, if the history shows it before the method returns. The
//!   client's code of that thread does not run in the meantime;
//! * for the library's own space, if the most general client has no memory of its own. Clients have no variables in that
//!   space, and what their threads know for it only ever enables their acquire reads.
//!
//! What arrived early is shown in the order in which it arrived. Only if the most general client has no memory of its
//! own, a marker that was issued after another had arrived early may be shown before that one.
//!
//! **Theorem 7.3 and Corollary 7.4 hold with this**, for clients that keep to the policy to the letter;
//! docs/proofs/early-propagation.md has the proof. The answer "refines" means for clients what
//! the theorem says. To the letter, two of the paper's own examples are no refinements: the relaxed
//! queue (Theorem A.17), because a specification with partial locks demands propagation for the
//! library's space that relaxed accesses do not need; and RCU with four markers on their way, where
//! the writer learns of the end of a critical section after the reader has entered the next one, which
//! locks do not allow. (The paper's check with FDR was for four *events* on their way, accesses
//! counted, and did not get there.)
//!
//! The paper has no `sc` accesses. In a specification they are refused, by `lang`. In the first program they are taken
//! for acquires and releases, which lets it do more: so "refines" is right, and whatever is found wrong is no answer
//! ([`Why::TakenWeaker`]), nor is that nothing gets stuck.
//!
//! [`search::inclusion`] compares automata; `histories` makes one out of a program, `early` one that is ahead of
//! its history. Before all that, `demand` tries to show refinement by far fewer runs of the library. It
//! succeeds for most specifications that are written with locks. `total` checks that methods can return, which
//! refinement alone does not say.

mod early_propagation;
mod histories;
mod on_demand;
mod total;

use crate::answer::{Answer, By, Cost, Decision, Evidence, Problem, Verdict, Why, Witness};
#[cfg(doc)]
use crate::question::Property;
use crate::question::Question;
use histories::{Alphabet, Histories, Manner};
use ir::{Pc, Tid};
use memory::rc11_views::{Finding, MOST_WRITES};
use memory::rc11_views::{Label, Space, System};
use search::Limit;
pub use search::inclusion::Statistics;
use search::inclusion::{self, Outcome};
use std::sync::Arc;
use std::time::Instant;
pub use total::Stuck;

/// Which histories to compare, and how far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope {
    /// How many markers may be on their way from any thread to any other.
    pub pending: u8,
    /// Ignore propagation: compare calls and returns only.
    pub history_only: bool,
    /// Leave out steps that make no difference; see [`memory::rc11_views::Options::reduce`].
    pub reduce: bool,
    /// Let markers propagate on demand, where the specification is such that this is enough.
    pub on_demand: bool,
    /// The library's own space, if there are several.
    pub own_space: Option<Space>,
    /// Demand the same history to the letter: no marker propagates early in the second program.
    pub literal: bool,
    /// Check that methods can return, where the specification's can; see [`Stuck`].
    pub total: bool,
    /// How many writes to a location are kept ([`memory::rc11_views::Options::writes`]); `None` for as
    /// many as a thread is likely to miss while its markers are on their way.
    pub writes: Option<u8>,
}

impl Default for Scope {
    fn default() -> Self {
        Scope {
            pending: 2,
            history_only: false,
            reduce: true,
            on_demand: true,
            own_space: None,
            literal: false,
            total: false,
            writes: None,
        }
    }
}

impl Scope {
    /// How many writes to a location are kept. A thread can miss all that others write while
    /// [`Scope::pending`] markers are on their way, some for each call. More of them are most
    /// likely a loop that writes for ever, and all numbers up to the limit would be explored.
    pub fn most_writes(&self) -> u8 {
        let likely = 16 + 4 * u16::from(self.pending);
        self.writes.unwrap_or(likely as u8).min(MOST_WRITES)
    }
}

/// How two programs were compared.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Was the second program held to the letter of histories?
    pub literal: bool,
    /// How much work it was.
    pub statistics: Statistics,
    /// The steps of the second program whose results wrapped around.
    pub wrapped: Vec<(Tid, Pc)>,
}

/// A run of the first program that shows why it does not refine the second.
#[derive(Clone, Debug)]
pub enum History {
    /// A history that the second lacks.
    Differs(Difference),
    /// The first does something it should not.
    Wrong {
        /// What.
        finding: Finding,
        /// How.
        run: Vec<Event>,
    },
    /// The library refines, but a call cannot return where the specification's can.
    Stuck(Stuck),
}

impl History {
    /// What happened, in order.
    pub fn run(&self) -> &[Event] {
        match self {
            History::Differs(Difference { run, .. })
            | History::Wrong { run, .. }
            | History::Stuck(Stuck { run, .. }) => run,
        }
    }

    /// The verdict that this history is a witness of.
    fn violated(self) -> Verdict {
        let last = self.run().iter().rev().find_map(|event| event.at).unwrap_or_default();
        let ((tid, pc), problem) = match &self {
            History::Differs(_) => (last, Problem::NotRefined),
            History::Stuck(stuck) => ((stuck.tid, stuck.pc), Problem::Stuck),
            History::Wrong { finding, .. } => match *finding {
                Finding::Race { tid, pc, .. } => ((tid, pc), Problem::Race),
                Finding::Assertion { tid, pc } => ((tid, pc), Problem::Assertion),
                Finding::Fault { tid, pc, fault } => ((tid, pc), Problem::Fault(fault)),
                // These are limits of the search, and no histories.
                Finding::TooManyWrites { .. } | Finding::TooManySteps { .. } => {
                    (last, Problem::NotRefined)
                }
            },
        };
        let evidence = Evidence::History(Box::new(self));
        Verdict::Violated(Box::new(Witness { tid, pc, problem, evidence }))
    }
}

/// One of the two programs that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The library, or the client.
    First,
    /// The specification, or the policy.
    Second,
}

/// A history that one program has and the other lacks.
#[derive(Clone, Debug)]
pub struct Difference {
    /// A run of the first program whose history ends with the label that the second cannot follow.
    pub run: Vec<Event>,
    /// The labels with which the second could have gone on instead.
    pub instead: Vec<Label>,
    /// Is it known that there is no shorter one?
    pub shortest: bool,
}

/// A step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What the history shows of it.
    pub label: Option<Label>,
    /// Whose step it was, and where; `None` if a marker propagated.
    pub at: Option<(Tid, Pc)>,
    /// The value read, if it read.
    pub read: Option<ir::Value>,
}

/// Says, when asked in the middle of the work, whether to go on.
pub type GoOn<'a> = &'a mut (dyn FnMut(&Statistics) -> bool + Send);

/// Is every history of the first program one of the second, and has the first no race, no failing
/// assertion and no run-time error? The evidence against it is a [`History`]. The question's limit on states
/// is one on pairs of states of the two. `observe` is told now and then how far the search has come.
///
/// For a library ([`Property::Refinement`]): the most general client with the library, and with its
/// specification. For a client's side of the bargain ([`Property::Policy`]): the client with the specification,
/// and the most general client with the specification.
pub fn refines(
    first: &System,
    second: &System,
    question: &Question,
    observe: &mut (dyn FnMut(&Statistics) + Send),
) -> Answer {
    let start = Instant::now();
    let limits = &question.limits;
    let mut reached = None;
    let mut go_on = |so_far: &Statistics| {
        observe(so_far);
        let is_over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        reached = match limits.budget.spent() {
            Some(spent) => Some(Limit::from(spent)),
            None if is_over(limits.budget.memory(), so_far.bytes) => Some(Limit::Memory),
            None if is_over(limits.states, so_far.pairs) => Some(Limit::States),
            None => None,
        };
        reached.is_none()
    };
    let Found { mut verdict, compared, wrapped } = refinement(first, second, question, &mut go_on);
    if question.scope.total && verdict.holds() {
        let literal = compared.literal;
        verdict = match total::stuck(first, second, question, literal, &mut go_on) {
            // What can do more gets stuck less.
            Ok(None) if first.program.has_sc_events() => {
                Verdict::Undecided(Why::TakenWeaker(Side::First))
            }
            Ok(None) => Verdict::Holds,
            Ok(Some(stuck)) => History::Stuck(stuck).violated(),
            Err(why) => Verdict::Undecided(why),
        };
    }
    if verdict.witness().is_some() && first.program.has_sc_events() {
        verdict = Verdict::Undecided(Why::TakenWeaker(Side::First));
    }
    if let (Verdict::Undecided(Why::Stopped), Some(limit)) = (&verdict, reached) {
        verdict = Verdict::Undecided(Why::Limit(limit));
    }
    let Statistics { implementation, specification, pairs, bytes, .. } = compared.statistics;
    let cost = Cost {
        states: implementation + specification,
        transitions: pairs,
        peak_bytes: bytes,
        limit: reached,
        elapsed: start.elapsed(),
        ..Cost::default()
    };
    let decision = Decision { property: question.property, verdict, by: By::Histories, cost };
    let answer = Answer::new(&first.program, vec![decision], cost);
    Answer { wrapped, compared: Some(compared), ..answer }
}

/// What came of one way to compare.
struct Found {
    verdict: Verdict,
    compared: Compared,
    /// The steps of the first program whose results wrapped around.
    wrapped: Vec<(Tid, Pc)>,
}

impl Found {
    fn new(
        verdict: Verdict,
        literal: bool,
        statistics: Statistics,
        [first, second]: [&Histories; 2],
    ) -> Self {
        let compared = Compared { literal, statistics, wrapped: second.machine.wrapped() };
        Found { verdict, compared, wrapped: first.machine.wrapped() }
    }
}

fn refinement(first: &System, second: &System, question: &Question, go_on: GoOn<'_>) -> Found {
    if let Some(found) = on_demand::refines(first, second, question, go_on) {
        return found;
    }
    let found = refines_as(first, second, question, Manner::Letter, go_on);
    let differs = match &found.verdict {
        Verdict::Violated(witness) => witness.problem == Problem::NotRefined,
        Verdict::Undecided(why) => matches!(why, Why::NotCovered(Side::Second, _)),
        Verdict::Holds => false,
    };
    match differs && !question.scope.literal && !question.scope.history_only {
        true => refines_as(first, second, question, Manner::Early, go_on),
        false => found,
    }
}

fn refines_as(
    first: &System,
    second: &System,
    question: &Question,
    manner: Manner,
    go_on: GoOn<'_>,
) -> Found {
    let alphabet = Arc::default();
    let literal = manner == Manner::Letter;
    let too_large = |side| Found {
        verdict: Verdict::Undecided(Why::TooLarge(side)),
        compared: Compared { literal, ..Compared::default() },
        wrapped: Vec::new(),
    };
    let Some(first) = Histories::new(first, &question.scope, Manner::Letter, &alphabet) else {
        return too_large(Side::First);
    };
    let Some(second) = Histories::new(second, &question.scope, manner, &alphabet) else {
        return too_large(Side::Second);
    };
    let (outcome, statistics) = inclusion::compare(&first, &second, question.jobs, go_on);
    let verdict = match outcome {
        Outcome::Included => Verdict::Holds,
        Outcome::Stopped => Verdict::Undecided(Why::Stopped),
        Outcome::ImplementationLimited(finding) => {
            Verdict::Undecided(Why::NotCovered(Side::First, finding))
        }
        Outcome::SpecificationLimited(finding) => {
            Verdict::Undecided(Why::NotCovered(Side::Second, finding))
        }
        Outcome::Bad { bad, run } => {
            let run = first.explain(&run, Some(bad));
            History::Wrong { finding: bad, run }.violated()
        }
        Outcome::Differs { run, instead, shortest } => {
            let run = first.explain(&run, None);
            let label = |symbol| Alphabet::of(&alphabet).label(symbol);
            let mut instead: Vec<Label> = instead.into_iter().filter_map(label).collect();
            instead.sort();
            History::Differs(Difference { run, instead, shortest }).violated()
        }
    };
    Found::new(verdict, literal, statistics, [&first, &second])
}
