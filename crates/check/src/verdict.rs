//! What an analysis answers.

use crate::replay::RunStep;
use graph::axioms::Cycle;
use graph::{EventId, ExecutionGraph};
use ir::{Fault, Pc, Tid};
use search::Limit;
use std::fmt;
use std::time::Duration;

/// What is asked of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// Every execution that the memory model allows is an interleaving.
    Robustness,
    /// As far as the program can tell: stale values may be read, but nothing depends on them.
    ObservationalRobustness,
    /// Conflicting non-atomic accesses are ordered by happens-before.
    Races,
    /// No assertion fails.
    Assertions,
}

impl Property {
    /// The name used in options, reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Property::Robustness => "robustness",
            Property::ObservationalRobustness => "observational-robustness",
            Property::Races => "races",
            Property::Assertions => "assertions",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
    /// `holds`, `violated` or `undecided`.
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
    /// The search stopped at something else that it found.
    Stopped,
    /// The monitors objected, and there is no execution that shows it among those that were tried.
    /// More exist than are tried.
    GaveUp,
    /// The monitors objected, but the judge did not accept the execution they led to. This is a bug
    /// in Fencepost.
    Rejected,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Limit(limit) => f.write_str(limit.reached()),
            Why::NotRobust => f.write_str("the program is not robust, so SC runs do not show all"),
            Why::PerhapsNotRobust => {
                f.write_str("the program may not be robust, so SC runs may not show all")
            }
            Why::Racy => f.write_str("the program has a data race, so anything may happen"),
            Why::Faulty => {
                f.write_str("the program has run-time errors, and what comes after them is unknown")
            }
            Why::Stopped => f.write_str("the search stopped at a finding; --all goes on"),
            Why::GaveUp => f.write_str(
                "something may be wrong, but of the executions that could show it too many had to be \
                 tried",
            ),
            Why::Rejected => {
                f.write_str("the certificate was rejected, which is a bug in fencepost")
            }
        }
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
    /// The expression has no value.
    Fault(Fault),
    /// Threads wait for each other, or for nobody.
    Stuck,
}

/// A run under SC, the place where it ends, and what is wrong there.
#[derive(Clone, Debug)]
pub struct Witness {
    /// What happened, in order.
    pub run: Vec<RunStep>,
    /// The thread that gets into trouble next, or has just done so.
    pub tid: Tid,
    /// Where.
    pub pc: Pc,
    /// How.
    pub problem: Problem,
    /// For robustness and races, the execution that proves it.
    pub certificate: Option<Certificate>,
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
    pub limit: Option<search::Limit>,
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

/// All that a check found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// An answer for each property asked about.
    pub answers: Vec<(Property, Verdict)>,
    /// Further witnesses, if all were asked for.
    pub more: Vec<(Property, Witness)>,
    /// Run-time errors of the program: division by zero, index out of range.
    pub faults: Vec<Witness>,
    /// Where threads can get stuck forever: a run to each kind of place.
    pub stuck: Vec<Witness>,
    /// Where results wrapped around.
    pub wrapped: Vec<(Tid, Pc)>,
    /// What went wrong in Fencepost itself, a sentence each. Answers are then not to be trusted.
    pub internal: Vec<String>,
    /// What it cost.
    pub cost: Cost,
    /// Did a search without reductions say the same?
    pub double_checked: bool,
}

impl Outcome {
    /// The answer for `property`, if it was asked.
    pub fn verdict(&self, property: Property) -> Option<&Verdict> {
        self.answers.iter().find(|(asked, _)| *asked == property).map(|(_, verdict)| verdict)
    }
}
