//! Exact explicit-state exploration of any [`Model`].
//!
//! A model is a transition system. It hands out states as byte strings: all of one length, or of varying
//! lengths ([`Width`]). This crate visits every reachable state exactly once, on all cores, and finds a
//! shortest path to everything that the model reports. It knows nothing of programs or memories.
//!
//! *Exact* means: two states are the same only if all their bytes are. There is no bit-state hashing and
//! no hash compaction, so "no finding" is a proof, up to the [`Limits`] given. When a limit stops the
//! search, the [`Report`] says which.
//!
//! # Two parts of an expansion
//!
//! Partial-order reduction expands a state by some of its successors, and by the others only if none of
//! the first was new: an action that is put off for ever would otherwise be ignored (the *ignoring
//! problem*, Valmari 1989). A model hands out the two parts in two calls, [`Model::expand_reduced`] and
//! [`Model::expand`], and the search decides whether the second is needed. So the answer to "was one of
//! them new?" may come late, from another thread or another machine.
//!
//! The rule "one new successor, or all successors" is enough for safety. Suppose that an action is put off
//! for ever. Then each state that puts it off has a successor that was inserted later than the state
//! itself, and that puts the action off as well; but there are only finitely many states.
//!
//! ```
//! use fencepost_search::{explore, Model, Options, Sink, Width};
//!
//! /// Two threads increment a counter non-atomically: load to a register, store register + 1.
//! struct LostUpdate;
//!
//! impl Model for LostUpdate {
//!     type Scratch = ();
//!     type Finding = &'static str;
//!     fn width(&self) -> Width { Width::Fixed(5) } // counter, then (pc, register) per thread
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

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

mod batch;
mod bfs;
mod dfs;
pub mod encoding;
pub mod explicit;
pub mod inclusion;
mod numbered;
mod shard;
mod visited;

use batch::Batch;
pub use budget::{Budget, Spent, Ticker};
pub use numbered::Numbered;
pub use shard::Shard;

use std::borrow::Cow;
use std::hash::Hash;
use std::ops::ControlFlow;
use std::time::Duration;

/// How long the states of a model are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// Every state has this many bytes, at least one. The fastest.
    Fixed(usize),
    /// Every state has `bytes` bytes, of which the first `core` are its *core*. The bits behind the core
    /// are ordered: of two states with equal cores, the one with all the other's bits can reach every
    /// finding that the other can, in as many steps. So a search may drop a state that is covered by one
    /// it has seen.
    Monitored {
        /// Bytes of the core.
        core: usize,
        /// Bytes of the state.
        bytes: usize,
    },
    /// States are of any length below 4 GiB.
    Varying,
}

impl Width {
    /// May a state have so many bytes?
    #[inline(always)]
    fn admits(self, length: usize) -> bool {
        match self {
            Width::Fixed(bytes) | Width::Monitored { bytes, .. } => length == bytes,
            Width::Varying => length <= visited::MOST_BYTES,
        }
    }
}

/// A transition system to explore. It owns all that it needs, so it can be handed to another thread.
pub trait Model: Send + Sync + 'static {
    /// Working memory of one worker, so that expanding a state need not allocate.
    type Scratch: Send;
    /// What is looked for; equal findings are reported once.
    type Finding: Clone + Eq + Hash + Send;

    /// How long states are. A model that hands out a state of another length is broken: the search stops
    /// with [`Limit::Malformed`].
    fn width(&self) -> Width;

    /// Working memory for one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Hands the initial states (and findings in them) to `sink`.
    fn initial<S: Sink<Self::Finding>>(&self, scratch: &mut Self::Scratch, sink: &mut S);

    /// Hands a reduced part of the successors of `state` to `sink`, if the model has a reduction: a part
    /// that is enough if one of its states is new. Every state is expanded by this first.
    #[inline(always)]
    fn expand_reduced<S: Sink<Self::Finding>>(
        &self,
        state: &[u8],
        scratch: &mut Self::Scratch,
        sink: &mut S,
    ) {
        let _ = (state, scratch, sink);
    }

    /// Hands the other successors of `state` to `sink`; the reduced part may be among them. Together, the
    /// two calls report the findings in `state`; those that matter if the second call is left out are
    /// reported by the first. The search makes both calls again when it reconstructs a path, so they
    /// must always hand out the same states. The second call need not follow the first at once, nor with
    /// the same working memory.
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

    /// What the model has learnt by being expanded, beside states and findings, as bytes. A search in several
    /// processes tells it to all others by [`Model::learn`], because each of their models was expanded at some
    /// states only.
    fn learnt(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Adds what a copy of this model in another process has learnt: the bytes are its [`Model::learnt`]. Learning
    /// something twice is learning it once.
    fn learn(&self, learnt: &[u8]) {
        let _ = learnt;
    }
}

/// Where a model hands its successors.
pub trait Sink<F> {
    /// A successor. The search may look it up at once or later, together with others, which hides how
    /// long memory takes to answer.
    fn state(&mut self, state: &[u8]);

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
    pub fn is_due(self, states: u64) -> bool {
        match self {
            Stop::AtFirst => true,
            Stop::AfterStates(enough) => states >= enough,
            Stop::AtEnd => false,
        }
    }
}

/// Which findings come with a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Paths {
    /// All of them.
    #[default]
    All,
    /// None: the findings alone are wanted, and following the paths of many would take long.
    None,
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
    /// The user, or the caller, wanted no more.
    Interrupted,
    /// The model handed out a state of another length than [`Model::width`] allows, which is a bug in
    /// the model. The state was left out.
    Malformed {
        /// The state's length.
        bytes: usize,
    },
    /// A process that took part in the search is gone.
    Lost {
        /// Its number.
        process: u32,
        /// How far the search had come: steps from an initial state.
        level: u64,
    },
    /// The processes that take part in the search do not explore the same system.
    Diverged,
}

impl Limit {
    /// One word for it, for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Limit::States => "states",
            Limit::Memory => "memory",
            Limit::Time => "time",
            Limit::Depth => "depth",
            Limit::Interrupted => "interrupted",
            Limit::Malformed { .. } => "malformed",
            Limit::Lost { .. } => "lost",
            Limit::Diverged => "diverged",
        }
    }

    /// What has happened, as part of a sentence.
    pub fn reached(self) -> Cow<'static, str> {
        let what = match self {
            Limit::States => "the limit on states was reached",
            Limit::Memory => "the limit on memory was reached",
            Limit::Time => "the limit on time was reached",
            Limit::Depth => "the limit on depth was reached",
            Limit::Interrupted => "it was interrupted",
            Limit::Malformed { .. } => {
                "a state of the wrong length was met, which is a bug in fencepost"
            }
            Limit::Lost { process, level } => {
                return format!("host {process} was lost at level {level}").into();
            }
            Limit::Diverged => {
                "the hosts did not explore the same system, which is a bug in fencepost"
            }
        };
        what.into()
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
    /// Whether to say how findings are reached.
    pub paths: Paths,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            order: Order::default(),
            stop: Stop::default(),
            limits: Limits::default(),
            jobs: 1,
            paths: Paths::default(),
        }
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
    /// the initial states, or with [`Paths::None`].
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
    explore_while(model, options, &|progress| {
        observe(progress);
        ControlFlow::Continue(())
    })
}

/// The same, until `go_on` breaks off. It is called now and then, from one thread at a time.
pub fn explore_while<M: Model>(
    model: &M,
    options: &Options,
    go_on: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Report<M::Finding> {
    match options.order {
        Order::Breadth => bfs::explore(model, options, go_on),
        Order::Depth => dfs::explore(model, options, go_on),
    }
}
