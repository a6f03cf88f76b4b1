//! The answer to a question: one decision for each property.
//!
//! An [`Answer`] has a [`Decision`] for each property: a [`Verdict`], how it was found, and what that
//! cost. A violated property has a [`Witness`]: the place, the [`Problem`], and the [`Evidence`], which a
//! separate judge has accepted. Every analysis answers in these terms.

use crate::certificate::{self, Played};
use crate::condition::Reach;
use crate::question::{Method, Property};
use crate::refinement::{Compared, Difference, History, Side};
use crate::replay::RunStep;
use crate::robustness::store_atomic::Computation;
use crate::robustness::store_atomic::triangular_race::Race;
use crate::serializability::Execution;
use crate::weak::Weak;
use graph::axioms::Cycle;
use graph::{EventId, ExecutionGraph, Unjudged};
use ir::{Fault, Pc, Program, Tid};
use memory::rc11_views;
use search::Limit;
use std::fmt;
use std::time::Duration;

/// The answer for one property.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It holds: everything was explored.
    Holds,
    /// It does not, as this shows.
    Violated(Box<Witness>),
    /// Unknown, because of this.
    Undecided(Why),
}

impl Verdict {
    /// The word used in reports, without witness and reason.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Undecided(_) => "undecided",
        }
    }

    /// Does it hold?
    pub fn holds(&self) -> bool {
        matches!(self, Verdict::Holds)
    }

    /// The witness, if it is violated.
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Verdict::Violated(witness) => Some(witness),
            _ => None,
        }
    }

    /// The reason, if it is undecided.
    pub fn why(&self) -> Option<Why> {
        match self {
            Verdict::Undecided(why) => Some(*why),
            _ => None,
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A limit was reached.
    Limit(Limit),
    /// The program is not robust, so runs under SC do not show all that can happen.
    NotRobust,
    /// The program was not shown to be robust, so runs under SC may not show all that can happen.
    PerhapsNotRobust,
    /// The program has a data race, which is undefined behaviour: nothing can be said of the rest.
    Racy,
    /// Runs of the program end in a run-time error, or one stopped the search.
    Faulty,
    /// This run-time error of the program cut a search of executions with transactions short.
    CutShort(Fault),
    /// Executions in which more writes wait in a buffer were left out; all others are fine.
    Buffer(usize),
    /// No execution goes wrong in which a location has at most so many stale writes; others were not covered.
    Stale(usize),
    /// No execution goes wrong in which loops go round at most so many times, as the user asked; others were left out.
    Rounds(u32),
    /// Code that was discovered by running it writes, on the weak memory, what no interleaving writes, and what threads do
    /// that read it is not known.
    Unforeseen,
    /// There are executions that no limit lets in: they are too long to be followed or judged, or have more `sc` events
    /// at a time than can be told apart.
    TooMuch,
    /// Its memory cannot be explored: the program has too many threads or locations, or steps that have no meaning
    /// there.
    NoWeakMemory,
    /// A brief look at the weak memory came to no end.
    Brief,
    /// The search stopped at something else that it found.
    Stopped,
    /// One of the two programs that are compared is too large.
    TooLarge(Side),
    /// More happens in one of the two programs that are compared than is looked at. If it is the
    /// second, it could not follow the first as far as it was looked at.
    NotCovered(Side, rc11_views::Finding),
    /// One of the two programs that are compared goes wrong if its `sc` accesses are taken for acquires and releases, which is
    /// all that the memory of libraries knows of them. RC11 may forbid the run. Or no call of it gets stuck then, and RC11 may
    /// forbid the runs in which it returns.
    TakenWeaker(Side),
    /// The monitors objected, and there is no execution that shows it among those that were tried.
    /// More exist than are tried.
    GaveUp,
    /// The search objected, but the judge did not accept the execution it led to. This is a bug in
    /// Fencepost.
    Rejected,
}

impl Why {
    /// Does it follow from something else that was found, so that nothing is open once that is settled?
    pub fn follows(self) -> bool {
        matches!(self, Why::NotRobust | Why::PerhapsNotRobust | Why::Racy | Why::Faulty)
    }

    /// What is said where an execution was not judged.
    pub(crate) fn not_judged(unjudged: Unjudged) -> Why {
        match unjudged {
            Unjudged::TooLong => Why::TooMuch,
            Unjudged::Spent(spent) => Why::Limit(spent.into()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Limit(limit) => return f.write_str(&limit.reached()),
            Why::NotRobust => "the program is not robust, so SC runs do not show all",
            Why::PerhapsNotRobust => {
                "the program may not be robust, so SC runs may not show all"
            }
            Why::Racy => "the program has a data race, so anything may happen",
            Why::Faulty => {
                "the program has run-time errors, and what comes after them is unknown"
            }
            Why::CutShort(fault) => {
                return write!(f, "a run-time error cut the search short: {fault}");
            }
            Why::Buffer(most) => {
                return write!(
                    f,
                    "no violation while at most {most} writes of a thread wait in its buffer; \
                     executions with more were not covered"
                );
            }
            Why::Stale(most) => {
                return write!(
                    f,
                    "no violation in executions in which a location has at most {most} stale writes; \
                     others were not covered"
                );
            }
            Why::Rounds(most) => {
                return write!(
                    f,
                    "it holds up to {most} rounds of each loop; executions with more were left out"
                );
            }
            Why::Unforeseen => {
                "the program is not robust, and on the weak memory it writes values that no \
                 interleaving writes; what it does with them is not known"
            }
            Why::TooMuch => {
                "executions were left out that are too long, or have too many seq_cst events at a time"
            }
            Why::NoWeakMemory => {
                "the memory cannot be explored: the program has too many threads or locations, or steps that have \
                 no meaning there"
            }
            Why::Brief => {
                "the program is not robust, and a brief look at its weak memory came to no end; --require safe \
                 looks further"
            }
            Why::Stopped => "the search stopped at a finding; --all goes on",
            Why::TooLarge(_) => "a program has more threads or variables than can be handled",
            Why::NotCovered(..) => "more happens in a program than was looked at",
            Why::TakenWeaker(_) => {
                "seq_cst accesses count as acquire and release, which is all that the model of libraries knows of them; \
                 RC11 may forbid what goes wrong then, and with --total a run in which nothing gets stuck"
            }
            Why::GaveUp => {
                "something may be wrong, but of the executions that could show it too many had to be \
                 tried"
            }
            Why::Rejected => "the certificate was rejected, which is a bug in fencepost",
        })
    }
}

/// What went wrong in a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Problem {
    /// The access may read or overwrite a stale write.
    Stale,
    /// The instruction depends on a value that may be stale.
    Dependency,
    /// The non-atomic access races with another.
    Race,
    /// The assertion fails.
    Assertion,
    /// The run ends in a state that the final condition excludes.
    FinalState,
    /// The expression has no value.
    Fault(Fault),
    /// Threads wait for each other, or for nobody.
    Stuck,
    /// Threads wait or spin for ever: nobody goes on, though all see the newest writes.
    Waiting,
    /// The access is done while an earlier store of its thread waits in a buffer.
    DelayedStore,
    /// The load meets a store of another thread while an earlier store of its own thread may wait.
    TriangularRace,
    /// A transaction would have to come before itself.
    NotSerializable,
    /// The history is none of the specification, or none that the policy allows.
    NotRefined,
}

/// A place where something goes wrong, and what shows it.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The thread that gets into trouble next, or has just done so.
    pub tid: Tid,
    /// The thread's program counter.
    pub pc: Pc,
    /// What is wrong there.
    pub problem: Problem,
    /// The run that leads there.
    pub evidence: Evidence,
}

/// What shows that something is wrong.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// A run under SC that ends at the place.
    Interleaving {
        /// What happened, in order.
        run: Vec<RunStep>,
        /// Where reads can be stale, the execution of the run.
        played: Option<Box<Played>>,
        /// For robustness and races, the execution that proves it.
        certificate: Option<Box<Certificate>>,
    },
    /// A run of the weak memory itself, which need be no interleaving.
    WeakRun {
        /// What happened, in order.
        run: Vec<RunStep>,
        /// For each step, how many newer writes to its location there were than the one that it read, or was placed
        /// behind.
        newer: Vec<u8>,
        /// The execution of the run.
        played: Box<Played>,
        /// The same, as it was judged, with what to look at.
        certificate: Box<Certificate>,
    },
    /// A computation of a machine with store buffers that no interleaving explains.
    Computation(Box<Computation>),
    /// An interleaving that comes to a triangular race.
    TriangularRace(Box<Race>),
    /// An execution whose transactions have a cycle.
    Execution(Box<Execution>),
    /// A run of a library or client.
    History(Box<History>),
    /// None: a search met it whose runs are not kept.
    Unshown,
}

impl Witness {
    /// A place that an interleaving leads to, which needs no other proof.
    pub(crate) fn reached(run: Vec<RunStep>, (tid, pc): (Tid, Pc), problem: Problem) -> Self {
        let evidence = Evidence::Interleaving { run, played: None, certificate: None };
        Witness { tid, pc, problem, evidence }
    }

    /// The interleaving, or run of the weak memory, that leads there; empty if the evidence is of another kind.
    pub fn run(&self) -> &[RunStep] {
        match &self.evidence {
            Evidence::Interleaving { run, .. } | Evidence::WeakRun { run, .. } => run,
            _ => &[],
        }
    }

    /// For each step of a run of the weak memory, how many newer writes it missed or was placed before; empty if the
    /// evidence is of another kind.
    pub fn newer(&self) -> &[u8] {
        match &self.evidence {
            Evidence::WeakRun { newer, .. } => newer,
            _ => &[],
        }
    }

    /// The execution of that interleaving, where reads can be stale.
    pub fn played(&self) -> Option<&Played> {
        match &self.evidence {
            Evidence::Interleaving { played, .. } => played.as_deref(),
            Evidence::WeakRun { played, .. } => Some(played),
            _ => None,
        }
    }

    /// Has the execution of the interleaving made, unless a judge has done so.
    pub(crate) fn play(&mut self, program: &Program) {
        if let Evidence::Interleaving { run, played: played @ None, .. } = &mut self.evidence {
            *played = certificate::play(program, run, (self.tid, self.pc)).map(Box::new);
        }
    }

    /// The execution graph that proves it, if there is one.
    pub fn certificate(&self) -> Option<&Certificate> {
        match &self.evidence {
            Evidence::Interleaving { certificate, .. } => certificate.as_deref(),
            Evidence::WeakRun { certificate, .. } => Some(certificate),
            _ => None,
        }
    }
}

/// A run-time error of the program under check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faulty {
    /// The thread.
    pub tid: Tid,
    /// Its program counter.
    pub pc: Pc,
    /// What has no value.
    pub fault: Fault,
}

/// An execution graph that refutes a property, accepted by `graph`'s judge.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The execution: the run, with the troublesome access gone wrong.
    pub graph: ExecutionGraph,
    /// The access that went wrong.
    pub access: EventId,
    /// The write it reads from, or is ordered right after, although a newer one came before it; for
    /// a race, the other access.
    pub other: EventId,
    /// For robustness: why no interleaving explains the graph.
    pub cycle: Option<Cycle>,
    /// For observational robustness: the event that depends on the stale value.
    pub used_by: Option<EventId>,
    /// Does it refute the very property asked about? The check of observational robustness is sound
    /// but not complete (Example 4.19): it may object where the execution found refutes only plain
    /// robustness, and then this is false.
    pub conclusive: bool,
}

/// What a check cost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Distinct states, summed over all searches.
    pub states: u64,
    /// Transitions, summed over all searches.
    pub transitions: u64,
    /// Bytes of the largest visited set.
    pub peak_bytes: u64,
    /// Searches made.
    pub searches: u64,
    /// Longest path explored.
    pub depth: u64,
    /// A limit that cut a search short.
    pub limit: Option<Limit>,
    /// Wall-clock time.
    pub elapsed: Duration,
}

impl Cost {
    /// Adds what a search cost.
    pub fn add(&mut self, progress: &search::Progress) {
        self.states += progress.states;
        self.transitions += progress.transitions;
        self.peak_bytes = self.peak_bytes.max(progress.bytes);
        self.searches += 1;
        self.depth = self.depth.max(progress.depth);
    }

    /// Adds what other searches about the same program cost, but for the time, which is not a sum
    /// of times.
    pub fn include(&mut self, other: &Cost) {
        self.states += other.states;
        self.transitions += other.transitions;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.searches += other.searches;
        self.depth = self.depth.max(other.depth);
        self.limit = self.limit.or(other.limit);
    }
}

/// How a property was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// A search through interleavings, with monitors where the model has stale reads.
    Interleavings,
    /// A search through the states of the weak memory itself.
    WeakMemory {
        /// The bound on stale writes of a location, if it was met; otherwise the answer is exact.
        stale: Option<usize>,
    },
    /// A search for attacks on a machine with store buffers.
    Attacks {
        /// The theorem relied on; never [`Method::Auto`].
        method: Method,
        /// How many attacks there are: pairs of a store and a later access.
        attacks: u64,
        /// How many of them the text does not rule out; these were searched for.
        examined: u64,
    },
    /// A search for triangular races.
    TriangularRaces,
    /// A search through the states of the machine with store buffers.
    Buffers,
    /// Theorem 2 of Enea and Farzan: the program is robust and SC-serializable.
    Theorem2,
    /// A comparison of the histories of two programs.
    Histories,
}

/// What is known of one property.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What was asked.
    pub property: Property,
    /// The answer.
    pub verdict: Verdict,
    /// How it was found.
    pub by: By,
    /// What the searches for this property alone cost.
    pub cost: Cost,
}

impl Decision {
    /// A decision by searches through interleavings, which several properties share.
    pub(crate) fn by_interleavings(property: Property, verdict: Verdict) -> Self {
        Decision { property, verdict, by: By::Interleavings, cost: Cost::default() }
    }
}

/// Why a property was not looked at, although the program could have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAsked {
    /// The question leaves it out.
    LeftOut,
    /// Interleavings alone do not show it.
    NeedsWeakMemory,
    /// The machine takes non-atomic accesses for loads and stores.
    NoSuchAccess,
    /// A thread stops where an assertion fails; another question decides that.
    AnotherQuestion,
}

/// All that a check found out.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The program that it is about, as the model reads it.
    pub program: Program,
    /// What is known of each property asked about.
    pub decisions: Vec<Decision>,
    /// Further witnesses, if all were asked for.
    pub more: Vec<(Property, Witness)>,
    /// Run-time errors of the program: division by zero, index out of range.
    pub faults: Vec<Witness>,
    /// Where threads can get stuck forever: a run to each kind of place.
    pub stuck: Vec<Witness>,
    /// Where results wrapped around.
    pub wrapped: Vec<(Tid, Pc)>,
    /// If the program asks whether a final state exists, the answer.
    pub reach: Option<Reach>,
    /// Properties that were not looked at, although the program could have them.
    pub unchecked: Vec<(Property, NotAsked)>,
    /// What went wrong in Fencepost itself, a sentence each. Answers are then not to be trusted.
    pub internal: Vec<String>,
    /// What it cost.
    pub cost: Cost,
    /// Did a search without reductions say the same?
    pub double_checked: bool,
    /// How far the weak memory itself was explored, if it was.
    pub weak: Option<Weak>,
    /// How two programs were compared, if they were.
    pub compared: Option<Compared>,
}

impl Answer {
    /// An answer that knows these decisions and nothing else.
    pub(crate) fn new(program: &Program, decisions: Vec<Decision>, cost: Cost) -> Self {
        Answer {
            program: program.clone(),
            decisions,
            more: Vec::new(),
            faults: Vec::new(),
            stuck: Vec::new(),
            wrapped: Vec::new(),
            reach: None,
            unchecked: Vec::new(),
            internal: Vec::new(),
            cost,
            double_checked: false,
            weak: None,
            compared: None,
        }
    }

    /// If two programs were compared: what shows that the first does not refine the second.
    pub fn history(&self) -> Option<&History> {
        self.verdicts().find_map(|verdict| match &verdict.witness()?.evidence {
            Evidence::History(history) => Some(&**history),
            _ => None,
        })
    }

    /// If two programs were compared: was the second held to the letter of histories?
    pub fn literal(&self) -> bool {
        self.compared.as_ref().is_some_and(|compared| compared.literal)
    }

    /// If two programs were compared: the history that the second lacks, if that is what is wrong.
    pub fn difference(&self) -> Option<&Difference> {
        match self.history()? {
            History::Differs(difference) => Some(difference),
            _ => None,
        }
    }

    /// All witnesses.
    pub(crate) fn witnesses_mut(&mut self) -> impl Iterator<Item = &mut Witness> {
        let violated =
            self.decisions.iter_mut().filter_map(|decision| match &mut decision.verdict {
                Verdict::Violated(witness) => Some(&mut **witness),
                _ => None,
            });
        let more = self.more.iter_mut().map(|(_, witness)| witness);
        violated.chain(more).chain(&mut self.faults).chain(&mut self.stuck)
    }

    /// The same answer about a program whose loops were cut off after so many rounds: what holds does so up to there
    /// only, and a thread that is stuck may only have been cut off. What is violated is violated.
    pub fn within_rounds(mut self, most: u32) -> Self {
        for decision in &mut self.decisions {
            if decision.verdict.holds() {
                decision.verdict = Verdict::Undecided(Why::Rounds(most));
            }
        }
        self.stuck.clear();
        self
    }

    /// What is known of `property`, if it was asked.
    pub fn decision(&self, property: Property) -> Option<&Decision> {
        self.decisions.iter().find(|decision| decision.property == property)
    }

    /// The verdict on `property`, if it was asked.
    pub fn verdict(&self, property: Property) -> Option<&Verdict> {
        self.decision(property).map(|decision| &decision.verdict)
    }

    /// The verdicts, in the order in which they are shown.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.decisions.iter().map(|decision| &decision.verdict)
    }
}
