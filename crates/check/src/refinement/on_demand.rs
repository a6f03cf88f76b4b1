//! Refinement shown by fewer runs: markers that propagate on demand.
//!
//! Nearly all states of a library with several threads differ only in which markers have reached whom.
//! Where the specification is of a common kind, they need not be told apart. Suppose that in every run
//! of the specification
//!
//! 1. a thread reads from another only by an acquire read of what that one released, or non-atomically
//!    and without a race ([`Machine::is_synchronised`]). So whatever comes after a call or return, in
//!    another thread, comes after the arrival of its marker there (or that arrival is owed);
//! 2. every access reads, or is placed behind, the newest write to its location ([`is_current`]). So it
//!    makes no difference what the arrival of a marker rules out.
//!
//! That is so for what is written with locks, or with read-modify-writes alone. Then of the library only
//! runs are explored in which markers propagate on demand, and calls and returns come as early as they
//! can ([`Propagation::OnDemand`]). The specification has to follow each with a run that has the same
//! calls, returns and arrivals, and in which *the marker of each call and return carries no more*:
//! whatever happens before it there happens before it in the library, too.
//!
//! **If it can, every history of the library is one of the specification.** Let h be a history of the
//! library. The run that shows it can be rearranged into one that is explored, with the same graph: step by
//! step, an arrival changes places with the step after it that does not need it, or a call or return c with
//! the step before it, of another thread or an arrival. Let h' be the history of that. The
//! specification has a run for h', and can undo each exchange:
//!
//! * An arrival of e at a thread moves to the left over a step y. That takes nothing away from anybody, by 2. The
//!   marker may arrive there: what it carries, it carries in the library, so in h it arrived before. (Counts
//!   that everybody has reached are left out of what a marker carries. Whatever had arrived everywhere
//!   before e was left in h' had done so in h, because arrivals moved to the right and e to the left.)
//! * A call or return c moves to the right over a step y, of another thread τ or an arrival, but not of its
//!   own marker. With c all steps move that need it. Is y among them? If y is an arrival, it is
//!   not. Otherwise τ would have read something released after c, by 1, and c's marker would have arrived at
//!   τ before y, if y is a call or return (so that nothing is owed any more). But in h, y comes before c,
//!   so the arrival comes after y, and it can only have moved further to the right. What has moved is
//!   still a run: where in modification order a write comes is no matter of time, nor is what is read.
//!
//! Neither makes more markers be on their way than there were in h. The runs explored have the
//! library's graphs, so they show all its races, failing assertions and run-time errors.
//!
//! If the specification may owe ([`Propagation::Owed`]), what it has is h but for arrivals at a thread inside
//! a method, which come as late as its return though they were needed before. Let such a marker arrive
//! when it is needed, and with it the markers that had been issued by then and that h shows before it. By 2
//! that does no harm. So h is a history up to early propagation, as [`super`] explains it. Younger markers may be shown
//! first, so the client must have no memory of its own.
//!
//! A pair may be left out for another one whose library state can do all that its own can (with markers
//! that carry no more), and whose set has no more states: what is established for a pair is that all
//! runs from there are followed, whenever markers propagate.
//!
//! If it cannot follow, nothing is known: there may be another run for h that does not fit all
//! rearrangements at once. Then [`super`] looks at all of them, which also finds a shortest difference.

use super::histories::{Histories, Manner};
use super::{Found, GoOn, Question, Statistics, Verdict, Why};
use memory::rc11_views::System;
use memory::rc11_views::{Machine, Options, Propagation, Step};
use search::inclusion::{self, Outcome};
use search::{Limits, Model, Paths, Sink, Width};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// How many states of the specification, without markers, are looked at before giving up.
const MOST_STATES: u64 = 1 << 20;

/// "Refines" if that can be shown in this way, "undecided" if `go_on` said no; `None` if it takes
/// another way to know.
pub(super) fn refines(
    first: &System,
    second: &System,
    question: &Question,
    go_on: GoOn<'_>,
) -> Option<Found> {
    if !question.scope.on_demand
        || question.scope.history_only
        || !is_current(second, question.jobs, go_on)?
    {
        return None;
    }
    let to_the_letter = follows(first, second, question, false, go_on);
    match to_the_letter {
        None if !question.scope.literal && second.has_only_calls() => {
            follows(first, second, question, true, go_on)
        }
        answer => answer,
    }
}

/// Does every access in every run of the program read, or come behind, the newest write to its location,
/// and is nothing wrong with any? `None` if there is too much to look at, or `go_on` said no.
fn is_current(system: &System, jobs: usize, go_on: GoOn<'_>) -> Option<bool> {
    let options = Options { propagation: Propagation::Never, ..Options::default() };
    let machine = Machine::new(system.clone(), options)?;
    if !machine.is_synchronised() {
        return Some(false);
    }
    let options = search::Options {
        limits: Limits { states: Some(MOST_STATES), ..Limits::default() },
        jobs,
        paths: Paths::None,
        ..search::Options::default()
    };
    let go_on = Mutex::new(go_on);
    let report = search::explore_while(&Synchronised { machine }, &options, &|progress| {
        let (specification, bytes) = (progress.states, progress.bytes);
        let so_far = Statistics { specification, bytes, ..Statistics::default() };
        let mut go_on = go_on.lock().unwrap_or_else(PoisonError::into_inner);
        if (*go_on)(&so_far) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    match report.findings.is_empty() {
        false => Some(false),
        true => report.exhausted.then_some(true),
    }
}

/// A program without markers, as a system. Found is an access that does not read, or come behind, the newest write, and
/// whatever else is wrong.
struct Synchronised {
    machine: Machine,
}

impl Synchronised {
    fn hand_over<S: Sink<()>>(&self, step: &Step, bytes: &mut Vec<u8>, sink: &mut S) {
        if step.is_stale() || step.finding.is_some() {
            sink.finding(());
        }
        bytes.clear();
        self.machine.pack(&step.state, bytes);
        sink.state(bytes);
    }
}

impl Model for Synchronised {
    type Scratch = Vec<u8>;
    type Finding = ();

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn initial<S: Sink<()>>(&self, bytes: &mut Vec<u8>, sink: &mut S) {
        self.hand_over(&self.machine.initial(), bytes, sink);
    }

    fn expand<S: Sink<()>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut S) {
        let state = self.machine.unpack(state);
        self.machine.steps(&state, |step| self.hand_over(&step, bytes, sink));
    }
}

fn follows(
    first: &System,
    second: &System,
    question: &Question,
    owing: bool,
    go_on: GoOn<'_>,
) -> Option<Found> {
    let alphabet = Arc::default();
    let first = Histories::new(first, &question.scope, Manner::OnDemand, &alphabet)?;
    let second = Histories::new(second, &question.scope, Manner::Following { owing }, &alphabet)?;
    let (outcome, statistics) = inclusion::compare(&first, &second, question.jobs, go_on);
    let verdict = match outcome {
        Outcome::Included => Verdict::Holds,
        Outcome::Stopped => Verdict::Undecided(Why::Stopped),
        Outcome::Differs { .. }
        | Outcome::Bad { .. }
        | Outcome::ImplementationLimited(_)
        | Outcome::SpecificationLimited(_) => return None,
    };
    Some(Found::new(verdict, !owing, statistics, [&first, &second]))
}
