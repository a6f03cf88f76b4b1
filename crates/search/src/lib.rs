//! Exact explicit-state exploration of any [`Model`].
//!
//! A model hands out packed states, a fixed number of bytes each; this crate visits every reachable
//! one exactly once, on all cores, and finds the shortest way to whatever the model reports. It
//! knows nothing of programs or memories.
//!
//! *Exact* means what it says: two states are the same only if all their bytes are. There is no
//! bit-state hashing and no hash compaction, so "no finding" is a proof, up to the [`Limits`] given.
//! When a limit stops the search, the [`Report`] says which.
//!
//! ```
//! use fencepost_search::{explore, Model, Options, Sink};
//!
//! /// Two threads increment a counter non-atomically: load to a register, store register + 1.
//! struct LostUpdate;
//!
//! impl Model for LostUpdate {
//!     type Scratch = ();
//!     type Finding = &'static str;
//!     fn state_bytes(&self) -> usize { 5 } // counter, then (pc, register) per thread
//!     fn scratch(&self) {}
//!     fn initial<S: Sink<&'static str>>(&self, _: &mut (), sink: &mut S) {
//!         sink.state(&[0; 5]);
//!     }
//!     fn expand<S: Sink<&'static str>>(&self, state: &[u8], _: &mut (), sink: &mut S) {
//!         for t in [1, 3] {
//!             let mut next: [u8; 5] = state.try_into().unwrap();
//!             match state[t] {
//!                 0 => next[t + 1] = state[0],
//!                 1 => next[0] = state[t + 1] + 1,
//!                 _ => continue,
//!             }
//!             next[t] += 1;
//!             sink.state(&next);
//!         }
//!         if state[1] == 2 && state[3] == 2 && state[0] != 2 {
//!             sink.finding("an increment was lost");
//!         }
//!     }
//! }
//!
//! let report = explore(&LostUpdate, &Options::default(), &|_| {});
//! assert_eq!(report.findings[0].finding, "an increment was lost");
//! assert_eq!(report.findings[0].path.len(), 5); // initial state and four steps
//! ```

mod bfs;
mod dfs;
mod visited;

pub use budget::{Budget, Spent, Ticker};

use std::hash::Hash;
use std::time::Duration;

/// Something to explore.
pub trait Model: Sync {
    /// Working memory of one worker, so that expanding a state need not allocate.
    type Scratch: Send;
    /// What is looked for; equal findings are reported once.
    type Finding: Clone + Eq + Hash + Send;

    /// How many bytes a packed state has: at least one, and every state the same. A search panics if
    /// it is handed a state of another length.
    fn state_bytes(&self) -> usize;

    /// How many bytes of a state are its *core*. The bits behind it are ordered: of two states with
    /// equal cores, the one with all the other's bits can reach every finding that the other can,
    /// in as many steps, so a search may drop a state that is covered by one it has seen.
    fn core_bytes(&self) -> usize {
        self.state_bytes()
    }

    /// Working memory for one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Hands the initial states (and findings in them) to `sink`.
    fn initial<S: Sink<Self::Finding>>(&self, scratch: &mut Self::Scratch, sink: &mut S);

    /// Hands the successors of `state`, and findings in it, to `sink`. The search calls it again
    /// when it reconstructs a path, so it must always hand out the same states for the same
    /// answers of [`Sink::state`].
    fn expand<S: Sink<Self::Finding>>(
        &self,
        state: &[u8],
        scratch: &mut Self::Scratch,
        sink: &mut S,
    );

    /// Does the finding answer the question, so that the search may stop? Others are only noted.
    fn stops(&self, finding: &Self::Finding) -> bool {
        let _ = finding;
        true
    }
}

/// Where a model hands its successors.
pub trait Sink<F> {
    /// A successor. Says whether it was not seen before, which partial-order reductions need:
    /// a state whose reduced successors are all old must be expanded in full (the *ignoring
    /// problem*). The rule "at least one new successor, else expand in full" is enough for safety:
    /// were an action put off forever, each state putting it off would have a successor inserted
    /// later than itself, and there are only finitely many states.
    fn state(&mut self, state: &[u8]) -> bool;

    /// A successor, if it does not matter whether it was seen before. The search may look it up
    /// later, together with others, which hides how long memory takes to answer.
    #[inline]
    fn state_later(&mut self, state: &[u8]) {
        self.state(state);
    }

    /// Something worth reporting about the state being expanded.
    fn finding(&mut self, finding: F);
}

/// In which order to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Breadth first: shortest witnesses, all cores.
    #[default]
    Breadth,
    /// Depth first: on one core; reaches deep states early.
    Depth,
}

/// When to stop looking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stop {
    /// At the first finding that [`Model::stops`] the search.
    #[default]
    AtFirst,
    /// After such a finding, when this many states have been seen: small models are explored to
    /// the end all the same, and may show more.
    AfterStates(u64),
    /// When everything has been seen.
    AtEnd,
}

impl Stop {
    /// Is it time to stop a search that has its answer and has seen this many states?
    fn is_due(self, states: u64) -> bool {
        match self {
            Stop::AtFirst => true,
            Stop::AfterStates(enough) => states >= enough,
            Stop::AtEnd => false,
        }
    }
}

/// What a search may use up before it gives in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Distinct states.
    pub states: Option<u64>,
    /// Steps from an initial state.
    pub depth: Option<u64>,
    /// Time and memory, which the search shares with whatever comes before and after it. The memory
    /// is that of the visited set and that of the process, whichever is larger.
    pub budget: Budget,
}

/// A limit that stopped a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// [`Limits::states`]
    States,
    /// The memory of [`Limits::budget`], or what the system has
    Memory,
    /// The time of [`Limits::budget`]
    Time,
    /// [`Limits::depth`]
    Depth,
    /// The user wanted no more.
    Interrupted,
}

impl Limit {
    /// What has happened, as part of a sentence.
    pub fn reached(self) -> &'static str {
        match self {
            Limit::States => "the limit on states was reached",
            Limit::Memory => "the limit on memory was reached",
            Limit::Time => "the limit on time was reached",
            Limit::Depth => "the limit on depth was reached",
            Limit::Interrupted => "it was interrupted",
        }
    }
}

impl From<Spent> for Limit {
    fn from(spent: Spent) -> Limit {
        match spent {
            Spent::Time => Limit::Time,
            Spent::Memory => Limit::Memory,
            Spent::Interrupted => Limit::Interrupted,
        }
    }
}

/// How to explore.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// In which order.
    pub order: Order,
    /// Until when.
    pub stop: Stop,
    /// With which means.
    pub limits: Limits,
    /// On how many cores.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { order: Order::Breadth, stop: Stop::AtFirst, limits: Limits::default(), jobs: 1 }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// Distinct states seen.
    pub states: u64,
    /// Successors generated.
    pub transitions: u64,
    /// Steps from an initial state to those being expanded.
    pub depth: u64,
    /// States seen but not expanded.
    pub waiting: u64,
    /// Bytes of the visited set.
    pub bytes: u64,
    /// Time since the start.
    pub elapsed: Duration,
}

/// A finding and how to get there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found<F> {
    /// What was found.
    pub finding: F,
    /// The states from an initial one to the one where it was found. Empty if it was found among
    /// the initial states.
    pub path: Vec<Box<[u8]>>,
}

/// What a search did and found.
#[derive(Clone, Debug)]
pub struct Report<F> {
    /// Distinct findings; with [`Order::Breadth`] in ascending length of their paths. If the budget
    /// was spent before all paths were known, those without are missing, and the search does not count
    /// as exhausted.
    pub findings: Vec<Found<F>>,
    /// How far it came.
    pub progress: Progress,
    /// The limit that stopped it, if one did.
    pub limit: Option<Limit>,
    /// Was everything reachable seen?
    pub exhausted: bool,
}

/// Explores `model`. `observe` is called now and then, from one thread at a time.
pub fn explore<M: Model>(
    model: &M,
    options: &Options,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Report<M::Finding> {
    match options.order {
        Order::Breadth => bfs::explore(model, options, observe),
        Order::Depth => dfs::explore(model, options, observe),
    }
}
