//! What is asked of a program: which property, against which memory model, and how to search.
//!
//! One [`Question`] serves every model. `property` names the property that the other answers rest on:
//! a robust program fails on a weak memory exactly as its interleavings do, so assertions are decided
//! by exploring interleavings once robustness is known. Which properties a model knows is decided in
//! [`crate::legality`].

use crate::answer::{By, Decision};
use crate::reduce::Reductions;
use crate::refinement::Scope;
use analysis::symmetry::{self, Automorphism};
use cluster::Cluster;
use ir::{Origin, Program};
use memory::rc20::row_layout::Track;
use memory::store_buffer::Machine;
use search::{Limits, Options, Order, Progress, Report, Stop};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A property of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// Every execution that the memory model allows is an interleaving.
    Robustness,
    /// Stale values may be read, but nothing depends on them.
    ObservationalRobustness,
    /// No triangular races: sufficient for robustness against TSO.
    TriangularRaces,
    /// Conflicting non-atomic accesses are ordered by happens-before.
    Races,
    /// No assertion fails.
    Assertions,
    /// All runs end as the program's final condition claims.
    FinalCondition,
    /// No thread waits or spins for ever while nobody else goes on, though all see the newest writes.
    Liveness,
    /// The transactions of every execution of the machine could have happened one after the other.
    Serializability,
    /// The transactions of every interleaving could have happened one after the other.
    ScSerializability,
    /// Every execution with transactions is equivalent to an interleaving.
    ScEquivalence,
    /// Every history of a library is one of its specification.
    Refinement,
    /// A client calls only where the policy lets it.
    Policy,
}

impl Property {
    /// The name used in options, reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Property::Robustness => "robustness",
            Property::ObservationalRobustness => "observational-robustness",
            Property::TriangularRaces => "triangular-races",
            Property::Races => "races",
            Property::Assertions => "assertions",
            Property::FinalCondition => "final-condition",
            Property::Liveness => "liveness",
            Property::Serializability => "tso-serializability",
            Property::ScSerializability => "sc-serializability",
            Property::ScEquivalence => "sc-equivalence",
            Property::Refinement => "refinement",
            Property::Policy => "policy",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The memory model to check against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Model {
    /// C11 as repaired by RC11: what C, C++ and Rust mean, `seq_cst` accesses and fences included.
    #[default]
    Rc11,
    /// RC11 without `seq_cst` accesses, and with SC fences that are updates of a hidden location: the
    /// model of Margalit and Lahav, POPL 2021.
    Rc20,
    /// The release/acquire fragment: every access counts as acquire or release.
    Ra,
    /// Sequential consistency: no weak memory at all.
    Sc,
    /// Total store order: x86.
    Tso,
    /// Partial store order.
    Pso,
    /// Partial store order with lightweight fences.
    Pgas,
}

impl Model {
    /// The name used in options, reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Model::Rc11 => "rc11",
            Model::Rc20 => "rc20",
            Model::Ra => "ra",
            Model::Sc => "sc",
            Model::Tso | Model::Pso | Model::Pgas => self.machine().map_or("", Machine::name),
        }
    }

    /// The machine with store buffers, if the model is one.
    pub fn machine(self) -> Option<Machine> {
        match self {
            Model::Rc11 | Model::Rc20 | Model::Ra | Model::Sc => None,
            Model::Tso => Some(Machine::Tso),
            Model::Pso => Some(Machine::Pso),
            Model::Pgas => Some(Machine::Pgas),
        }
    }

    /// Do memory orders decide what can be read, and can reads be stale?
    pub fn has_stale_reads(self) -> bool {
        matches!(self, Model::Rc11 | Model::Rc20 | Model::Ra)
    }

    /// The program as the model reads it: RC20 takes SC fences for updates of a hidden location and has
    /// no `sc` accesses; RA takes every access for an acquire or a release.
    pub fn reads(self, program: &Program) -> Cow<'_, Program> {
        match self {
            Model::Rc20 if program.has_sc_events() => Cow::Owned(program.rc20()),
            Model::Ra => Cow::Owned(program.release_acquire()),
            _ => Cow::Borrowed(program),
        }
    }
}

impl From<Machine> for Model {
    fn from(machine: Machine) -> Model {
        match machine {
            Machine::Tso => Model::Tso,
            Machine::Pso => Model::Pso,
            Machine::Pgas => Model::Pgas,
        }
    }
}

/// How much to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extent {
    /// One shortest witness per property.
    #[default]
    First,
    /// A witness for every place that can go wrong.
    All,
}

/// Whether what was decided with reductions is decided once more without ([`crate::double_check`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DoubleCheck {
    /// If it took next to no time, and may take next to no time again.
    #[default]
    IfSmall,
    /// Never.
    Never,
    /// Always, however long it takes.
    Always,
}

/// What has to hold for a program to be accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Require {
    /// Robustness, and all else that is asked.
    #[default]
    Robust,
    /// No races, no failed assertions and no run-time errors on the weak memory, robust or not.
    Safe,
}

/// How far to explore the weak memory itself ([`crate::weak`]) where a program is not robust.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Beyond {
    /// Not at all: what interleavings do not show is undecided.
    #[default]
    Nothing,
    /// Not at all, but a look at interleavings is had where the search for robustness left off.
    Interleavings,
    /// Briefly: a part of the limits, so that a violation of robustness is reported soon.
    Brief,
    /// As far as the limits allow.
    Full,
}

impl Beyond {
    /// Is the weak memory itself explored?
    pub fn weak_memory(self) -> bool {
        matches!(self, Beyond::Brief | Beyond::Full)
    }
}

/// Which theorem a search for attacks relies on ([`crate::robustness::store_atomic`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Method {
    /// Singularity where it is complete, else locality.
    #[default]
    Auto,
    /// One thread delays any number of stores (Theorem 1).
    Locality,
    /// One store is delayed (Theorem 2); complete without lightweight fences only.
    Singularity,
}

impl Method {
    /// The name used in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Locality => "locality",
            Method::Singularity => "singularity",
        }
    }
}

/// What is asked, and how to search for the answer.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The property that the other answers rest on; under SC there is none, and it has no effect.
    pub property: Property,
    /// The memory model.
    pub model: Model,
    /// Look for races?
    pub races: bool,
    /// How much to look for.
    pub extent: Extent,
    /// For machines with store buffers, the theorem to rely on.
    pub method: Method,
    /// What to save. Searches of store buffers and attacks know partial order only.
    pub reductions: Reductions,
    /// Which values to tell apart.
    pub track: Track,
    /// Whether to check again without what is saved.
    pub double_check: DoubleCheck,
    /// The order of exploration.
    pub order: Order,
    /// What it may use up.
    pub limits: Limits,
    /// Where buffers are explored, how many writes may wait in a thread's buffer.
    pub buffer: usize,
    /// On how many cores.
    pub jobs: usize,
    /// Look for threads that wait or spin for ever?
    pub liveness: bool,
    /// What has to hold.
    pub require: Require,
    /// Where reads can be stale and the program is not robust, how far to look at the weak memory itself.
    pub beyond: Beyond,
    /// How many stale writes a location may have then; if none, the bound grows until it is never met.
    pub stale: Option<usize>,
    /// Where two programs are compared, which of their histories.
    pub scope: Scope,
    /// The other processes that explore with this one, if there are any. All of them must ask the same.
    pub cluster: Option<&'static Cluster>,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            property: Property::Robustness,
            model: Model::default(),
            races: true,
            extent: Extent::First,
            method: Method::Auto,
            reductions: Reductions::ALL,
            track: Track::Critical,
            double_check: DoubleCheck::IfSmall,
            order: Order::Breadth,
            limits: Limits::default(),
            buffer: 8,
            jobs: 1,
            liveness: false,
            require: Require::Robust,
            beyond: Beyond::Nothing,
            stale: None,
            scope: Scope::default(),
            cluster: None,
        }
    }
}

impl Question {
    /// The question whether a program is robust against `model`.
    pub fn of(model: impl Into<Model>) -> Self {
        Question { model: model.into(), ..Question::default() }
    }

    /// The question with what is needed to report every place: a search that makes use of symmetry reports
    /// only some of the places where things go wrong, if equal threads stand in different places.
    pub fn reporting_all<P: PartialEq>(
        self,
        program: &Program,
        place: impl Fn(Origin) -> P,
    ) -> Self {
        let budget = self.limits.budget;
        let hides = |alpha: &Automorphism| {
            program.steps().any(|(tid, pc, step)| {
                let image = alpha.threads[tid.index()];
                let image = program.step(image, alpha.pcs[tid.index()][pc.index()]);
                place(image.origin) != place(step.origin)
            })
        };
        let mut question = self;
        question.reductions.symmetry &= self.extent == Extent::First
            || !symmetry::find(program, budget, |_, _| true).generators().any(hides);
        question
    }

    /// Unless a limit cut it short, does the answer name every place where this property is violated? One attack, one
    /// execution of the weak memory and one wait without end are all that is looked for; final conditions have no place.
    pub fn finds_all(&self, decision: &Decision) -> bool {
        match (decision.property, decision.by) {
            (Property::FinalCondition, _) => true,
            (Property::Liveness, _) => false,
            (_, By::Interleavings) => self.extent == Extent::All,
            _ => false,
        }
    }

    /// Is observational robustness asked about?
    pub(crate) fn observational(&self) -> bool {
        self.property == Property::ObservationalRobustness
    }

    /// Explores a model, together with other processes if there are any.
    pub(crate) fn explore<M: search::Model>(
        &self,
        model: &Arc<M>,
        options: &Options,
        observe: &(dyn Fn(&Progress) + Sync),
    ) -> Report<M::Finding> {
        match self.cluster {
            Some(cluster) => cluster::explore(model, options, cluster, observe),
            None => search::explore(&**model, options, observe),
        }
    }

    /// Options of a search that ends at `stop`.
    pub(crate) fn options(&self, stop: Stop) -> Options {
        Options {
            order: self.order,
            stop,
            limits: self.limits,
            jobs: self.jobs,
            ..Options::default()
        }
    }
}
