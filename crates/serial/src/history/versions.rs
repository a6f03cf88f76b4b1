//! The dependencies between the transactions of a history.
//!
//! *Lists.* A read of a list shows the order of all appends up to it, so the longest read of a key is its
//! order of versions; every other read must be a beginning of it. An append that nobody read comes after
//! all that were.
//!
//! *Registers.* Values tell who wrote what was read, if each value is written once to a key. That nobody's
//! version is the first, that a transaction's write follows the version that it read before, and real time
//! give a partial order of versions.
//!
//! Some things are wrong without any cycle: an aborted read (G1a), a read of something that its writer
//! overwrote itself (G1b), a transaction that contradicts itself (internal) or reads what it appends only
//! later (future read), two that both overwrite the same version (lost update), an aborted write under a
//! committed one (dirty update), a value from nowhere (unwritten read).

mod lists;
mod registers;

use std::collections::{HashMap, HashSet};

use super::{Ending, History, Key, Op, Word};

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// It wrote the version before.
    Ww,
    /// It wrote the version read.
    Wr,
    /// It read a version before.
    Rw,
    /// It read a version that, by real time, was there before.
    RwRealTime,
    /// The same process ran it first.
    Process,
    /// It ended before the other began.
    RealTime,
}

impl Kind {
    /// Whether it is an anti-dependency.
    pub(crate) fn is_rw(self) -> bool {
        matches!(self, Kind::Rw | Kind::RwRealTime)
    }
}

/// A dependency, with the reason in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier.
    pub from: usize,
    /// The later.
    pub to: usize,
    /// Why.
    pub kind: Kind,
    /// In words.
    pub because: String,
}

/// Something that is wrong without a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Direct {
    /// What it is called.
    pub name: &'static str,
    /// What happened.
    pub text: String,
}

/// What follows from a history.
#[derive(Clone, Default, Debug)]
pub struct Dependencies {
    /// The edges between transactions.
    pub edges: Vec<Edge>,
    /// What is wrong without a cycle.
    pub direct: Vec<Direct>,
    /// Values that were written more than once to a key, about which nothing is concluded.
    pub ambiguous: usize,
}

/// Who counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Transactions that were, or may have been, committed.
    Committed,
    /// Also the reads of those that were aborted.
    Everybody,
}

/// The dependencies of a history.
pub fn dependencies(history: &History, counted: Counted) -> Dependencies {
    let mut found =
        Finder { history, counted, found: Dependencies::default(), drawn: HashSet::new() };
    match history.has_lists() {
        true => found.lists(),
        false => found.registers(),
    }
    found.process_and_time();
    found.found
}

struct Finder<'a> {
    history: &'a History,
    counted: Counted,
    found: Dependencies,
    drawn: HashSet<(usize, usize, Kind)>,
}

/// Who wrote what to a key, and what of it was overwritten by its own transaction.
#[derive(Default)]
struct Writers {
    by: HashMap<(Key, Word), usize>,
    last: HashMap<(usize, Key), Word>,
    twice: HashSet<(Key, Word)>,
}

impl Finder<'_> {
    fn edge(&mut self, from: usize, to: usize, kind: Kind, because: impl FnOnce() -> String) {
        if from != to && self.drawn.insert((from, to, kind)) {
            self.found.edges.push(Edge { from, to, kind, because: because() });
        }
    }

    fn wrong(&mut self, name: &'static str, text: String) {
        let direct = Direct { name, text };
        if !self.found.direct.contains(&direct) {
            self.found.direct.push(direct);
        }
    }

    fn is_aborted(&self, transaction: usize) -> bool {
        self.history.transactions[transaction].ending == Ending::Aborted
    }

    /// Whether what the transaction read counts.
    fn reads_count(&self, transaction: usize) -> bool {
        match self.history.transactions[transaction].ending {
            Ending::Committed => true,
            Ending::Aborted => self.counted == Counted::Everybody,
            Ending::Unknown => true,
        }
    }

    fn shown(&self, transaction: usize) -> String {
        self.history.show(&self.history.transactions[transaction])
    }

    fn writers(&self) -> Writers {
        let mut writers = Writers::default();
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            for op in &transaction.ops {
                if let Op::Append(key, word) | Op::Write(key, word) = *op {
                    if writers.by.insert((key, word), number).is_some_and(|other| other != number) {
                        writers.twice.insert((key, word));
                    }
                    writers.last.insert((number, key), word);
                }
            }
        }
        writers
    }

    /// Same process, and real time: only what does not follow from others.
    fn process_and_time(&mut self) {
        let transactions = &self.history.transactions;
        let counted = |number: &usize| match transactions[*number].ending {
            Ending::Committed => true,
            Ending::Aborted => self.counted == Counted::Everybody,
            Ending::Unknown => false,
        };
        let mut moments: Vec<(usize, bool, usize)> = Vec::new();
        for (number, transaction) in transactions.iter().enumerate() {
            let begins = transaction.ending != Ending::Aborted || counted(&number);
            if let Some(began) = transaction.began.filter(|_| begins) {
                moments.push((began, false, number));
            }
            if let Some(ended) = transaction.ended.filter(|_| counted(&number)) {
                moments.push((ended, true, number));
            }
        }
        moments.sort_unstable();
        // Those that ended, and that no other that ended began after.
        let mut ended: Vec<usize> = Vec::new();
        let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut edges: Vec<(usize, usize, Kind)> = Vec::new();
        for (_, ends, number) in moments {
            if ends {
                let earlier = before.remove(&number).unwrap_or_default();
                ended.retain(|other| !earlier.contains(other));
                ended.push(number);
                continue;
            }
            edges.extend(ended.iter().map(|&other| (other, number, Kind::RealTime)));
            before.insert(number, ended.clone());
        }
        // A process runs one after the other, also where nobody knows when they began.
        let mut last: HashMap<u32, (usize, usize)> = HashMap::new();
        for (number, transaction) in transactions.iter().enumerate() {
            let counts = counted(&number);
            if (counts || transaction.ending == Ending::Unknown)
                && let Some(&(other, ended)) = last.get(&transaction.process)
                && transaction.began.is_none_or(|began| ended < began)
            {
                edges.push((other, number, Kind::Process));
            }
            if let Some(ended) = transaction.ended.filter(|_| counts) {
                last.insert(transaction.process, (number, ended));
            }
        }
        for (from, to, kind) in edges {
            self.edge(from, to, kind, || match kind {
                Kind::Process => "the same process ran it first".into(),
                _ => "it ended before the other began".into(),
            });
        }
    }
}
