//! The dependencies between the transactions of a history.
//!
//! *Lists.* A read of a list shows the order of all appends up to it, so the longest read of a key is its
//! order of versions; every other read must be a beginning of it. An append that nobody read comes after
//! all that were.
//!
//! *Registers.* Values tell who wrote what was read, if each value is written once to a key. That nobody's
//! version is the first, and that a transaction's write follows the version that it read before, gives
//! a partial order of versions.
//!
//! Some things are wrong without any cycle: an aborted read (G1a), a read of something that its writer
//! overwrote itself (G1b), a transaction that contradicts itself (internal), two that both overwrite the
//! same version (lost update), an aborted write under a committed one (dirty update).

use std::collections::{HashMap, HashSet};

use super::{Ending, History, Key, Op, Seen, Word};

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// It wrote the version before.
    Ww,
    /// It wrote the version read.
    Wr,
    /// It read a version before.
    Rw,
    /// The same process ran it first.
    Process,
    /// It ended before the other began.
    RealTime,
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

    fn lists(&mut self) {
        let history = self.history;
        let writers = self.writers();
        for &(key, word) in &writers.twice {
            let text = format!("{} to {}", history.of_word(word), history.of_key(key));
            self.wrong("duplicate-appends", format!("more than one transaction appends {text}"));
        }
        // What was read from outside, per key; the longest is the order of versions.
        let mut reads: Vec<(usize, Key, &[Word])> = Vec::new();
        let mut longest: HashMap<Key, (usize, &[Word])> = HashMap::new();
        for (number, transaction) in history.transactions.iter().enumerate() {
            if !self.reads_count(number) {
                continue;
            }
            let mut own: HashMap<Key, (Option<&[Word]>, Vec<Word>)> = HashMap::new();
            for op in &transaction.ops {
                match op {
                    Op::Append(key, word) => own.entry(*key).or_default().1.push(*word),
                    Op::List(key, Some(list)) => {
                        let (before, appended) = own.entry(*key).or_default();
                        let outside = list.strip_suffix(&appended[..]);
                        let consistent = match (*before, outside) {
                            (_, None) => false,
                            (Some(before), Some(outside)) => before == outside,
                            (None, Some(_)) => true,
                        };
                        if !consistent {
                            let text = format!(
                                "{}: `{}` contradicts what the transaction itself did before",
                                self.shown(number),
                                history.show_op(op)
                            );
                            self.wrong("internal", text);
                            continue;
                        }
                        let outside = outside.unwrap_or(list);
                        let is_first =
                            own.get_mut(key).is_some_and(|own| own.0.replace(outside).is_none());
                        if is_first {
                            reads.push((number, *key, outside));
                        }
                        let known = longest.entry(*key).or_insert((number, outside));
                        if outside.len() > known.1.len() {
                            *known = (number, outside);
                        }
                    }
                    _ => {}
                }
            }
        }
        for &(number, key, list) in &reads {
            self.check_list(number, key, list, &writers);
            let (other, order) = longest[&key];
            if !order.starts_with(list) {
                let text = format!("{} and {} disagree", self.shown(other), self.shown(number));
                self.wrong("incompatible-order", text);
            }
        }
        self.list_edges(&reads, &longest, &writers);
    }

    fn check_list(&mut self, number: usize, key: Key, list: &[Word], writers: &Writers) {
        let history = self.history;
        let mut seen = HashSet::new();
        for (index, &word) in list.iter().enumerate() {
            let (name, of_key) = (history.of_word(word), history.of_key(key));
            if !seen.insert(word) {
                let text = format!("{} finds {name} twice in {of_key}", self.shown(number));
                self.wrong("duplicate-elements", text);
            }
            match writers.by.get(&(key, word)) {
                None => {
                    let text = format!(
                        "{} finds {name} in {of_key}, which nobody appended",
                        self.shown(number)
                    );
                    self.wrong("unwritten-read", text);
                }
                Some(&writer) if self.is_aborted(writer) && writer != number => {
                    let text = format!(
                        "{} read {name} of {of_key}, which the aborted {} appended",
                        self.shown(number),
                        self.shown(writer)
                    );
                    self.wrong("G1a", text);
                }
                Some(&writer) => {
                    let is_last = index + 1 == list.len();
                    let between = writers.last.get(&(writer, key)) != Some(&word);
                    if is_last && between && writer != number {
                        let text = format!(
                            "{} read {of_key} between the appends of {}",
                            self.shown(number),
                            self.shown(writer)
                        );
                        self.wrong("G1b", text);
                    }
                }
            }
        }
    }

    fn list_edges(
        &mut self,
        reads: &[(usize, Key, &[Word])],
        longest: &HashMap<Key, (usize, &[Word])>,
        writers: &Writers,
    ) {
        let history = self.history;
        // Who read the version that ends with this element, or the empty one.
        let mut readers: HashMap<(Key, Option<Word>), Vec<usize>> = HashMap::new();
        for &(number, key, list) in reads {
            readers.entry((key, list.last().copied())).or_default().push(number);
            if let Some(&last) = list.last()
                && let Some(&writer) = writers.by.get(&(key, last))
                && !self.is_aborted(writer)
            {
                self.edge(writer, number, Kind::Wr, || {
                    format!("{} is read from {}", history.of_word(last), history.of_key(key))
                });
            }
        }
        self.lost_updates(&readers);
        let mut place: HashMap<(Key, Word), usize> = HashMap::new();
        for (&key, (_, order)) in longest {
            for (index, &word) in order.iter().enumerate() {
                // Where it is there twice, which is wrong, the first counts.
                place.entry((key, word)).or_insert(index);
            }
        }
        for (number, transaction) in history.transactions.iter().enumerate() {
            if transaction.ending == Ending::Aborted {
                continue;
            }
            for op in &transaction.ops {
                let &Op::Append(key, word) = op else { continue };
                let order = longest.get(&key).map_or(&[][..], |(_, order)| order);
                let before = match place.get(&(key, word)) {
                    Some(&0) => None,
                    Some(&index) => Some(order[index - 1]),
                    // Nobody knows whether it happened at all.
                    None if transaction.ending == Ending::Unknown => continue,
                    None => order.last().copied(),
                };
                let (text, of_key) = (history.of_word(word), history.of_key(key));
                if let Some(before) = before
                    && let Some(&writer) = writers.by.get(&(key, before))
                {
                    match self.is_aborted(writer) {
                        false => self.edge(writer, number, Kind::Ww, || {
                            format!("{text} follows {} in {of_key}", history.of_word(before))
                        }),
                        true => {
                            let text = format!(
                                "{} appends to what the aborted {} left",
                                self.shown(number),
                                self.shown(writer)
                            );
                            self.wrong("dirty-update", text);
                        }
                    }
                }
                for &reader in readers.get(&(key, before)).map_or(&[][..], |readers| readers) {
                    self.edge(reader, number, Kind::Rw, || {
                        format!("{text} is not yet in what was read from {of_key}")
                    });
                }
            }
        }
    }

    /// Those that read the same version of a list and then append to it: at most one of them can have come
    /// right after it.
    fn lost_updates(&mut self, readers: &HashMap<(Key, Option<Word>), Vec<usize>>) {
        let mut versions: Vec<_> = readers.iter().collect();
        versions.sort();
        for (&(key, last), who) in versions {
            let updates = |number: &&usize| {
                let transaction = &self.history.transactions[**number];
                let touch = transaction.ops.iter().find(|op| match op {
                    Op::Append(other, _) | Op::List(other, Some(_)) => *other == key,
                    _ => false,
                });
                let append = |op: &Op| matches!(op, Op::Append(other, _) if *other == key);
                transaction.ending == Ending::Committed
                    && matches!(touch, Some(Op::List(..)))
                    && transaction.ops.iter().any(append)
            };
            let mut both = who.iter().filter(updates);
            if let (Some(&one), Some(&other)) = (both.next(), both.next()) {
                let of_key = self.history.of_key(key);
                let version = last.map_or("when it was empty".to_string(), |last| {
                    format!("up to {}", self.history.of_word(last))
                });
                let text = format!(
                    "{} and {} both read {of_key} {version}, and both append to it",
                    self.shown(one),
                    self.shown(other)
                );
                self.wrong("lost-update", text);
            }
        }
    }

    fn registers(&mut self) {
        let history = self.history;
        let writers = self.writers();
        self.found.ambiguous = writers.twice.len();
        // Versions: nobody's, or a value. Who read which from outside, and what follows what.
        let mut readers: HashMap<(Key, Option<Word>), Vec<usize>> = HashMap::new();
        let mut after: HashMap<(Key, Option<Word>), Vec<Word>> = HashMap::new();
        for (number, transaction) in history.transactions.iter().enumerate() {
            let mut state: HashMap<Key, Seen> = HashMap::new();
            let mut first: HashMap<Key, Option<Word>> = HashMap::new();
            for op in &transaction.ops {
                match *op {
                    Op::Write(key, word) => {
                        state.insert(key, Seen::Value(word));
                    }
                    Op::Read(_, Seen::Unknown) => {}
                    Op::Read(key, seen) if self.reads_count(number) => {
                        let wrote = state.insert(key, seen);
                        if wrote.is_some_and(|wrote| wrote != seen) {
                            let text = format!(
                                "{}: `{}` contradicts what the transaction itself did before",
                                self.shown(number),
                                history.show_op(op)
                            );
                            self.wrong("internal", text);
                        }
                        let version = match seen {
                            Seen::Value(word) => Some(word),
                            _ => None,
                        };
                        if wrote.is_none() && !self.is_ambiguous(key, version, &writers) {
                            first.insert(key, version);
                            readers.entry((key, version)).or_default().push(number);
                            self.check_register(number, key, version, &writers);
                        }
                    }
                    _ => {}
                }
            }
            if transaction.ending == Ending::Aborted {
                continue;
            }
            let written = transaction.ops.iter().filter_map(|op| match *op {
                Op::Write(key, word) => Some((key, word)),
                _ => None,
            });
            for (key, word) in written {
                if writers.last.get(&(number, key)) != Some(&word)
                    || writers.twice.contains(&(key, word))
                    || (transaction.ending == Ending::Unknown && !self.was_read(key, word))
                {
                    continue;
                }
                let before = first.get(&key).copied().flatten();
                after.entry((key, before)).or_default().push(word);
                if before.is_some() {
                    after.entry((key, None)).or_default().push(word);
                }
            }
        }
        self.register_edges(&readers, &after, &writers);
    }

    fn is_ambiguous(&self, key: Key, version: Option<Word>, writers: &Writers) -> bool {
        version.is_some_and(|word| writers.twice.contains(&(key, word)))
    }

    /// Whether somebody read the value, which shows that it was written.
    fn was_read(&self, key: Key, word: Word) -> bool {
        let read = Op::Read(key, Seen::Value(word));
        self.history.transactions.iter().any(|transaction| transaction.ops.contains(&read))
    }

    fn check_register(
        &mut self,
        number: usize,
        key: Key,
        version: Option<Word>,
        writers: &Writers,
    ) {
        let Some(word) = version else { return };
        let (name, of_key) = (self.history.of_word(word), self.history.of_key(key));
        match writers.by.get(&(key, word)) {
            // An initial value that the history shows as such.
            None => {}
            Some(&writer) if writer != number && self.is_aborted(writer) => {
                let text = format!(
                    "{} read {of_key} = {name}, which the aborted {} wrote",
                    self.shown(number),
                    self.shown(writer)
                );
                self.wrong("G1a", text);
            }
            Some(&writer)
                if writer != number && writers.last.get(&(writer, key)) != Some(&word) =>
            {
                let text = format!(
                    "{} read {of_key} = {name}, which {} overwrote itself",
                    self.shown(number),
                    self.shown(writer)
                );
                self.wrong("G1b", text);
            }
            Some(_) => {}
        }
    }

    fn register_edges(
        &mut self,
        readers: &HashMap<(Key, Option<Word>), Vec<usize>>,
        after: &HashMap<(Key, Option<Word>), Vec<Word>>,
        writers: &Writers,
    ) {
        let history = self.history;
        let mut versions: Vec<_> = readers.iter().collect();
        versions.sort();
        for (&(key, version), who) in versions {
            let writer = version.and_then(|word| writers.by.get(&(key, word)).copied());
            let shown = version.map_or("nothing", |word| history.of_word(word));
            let of_key = history.of_key(key);
            if let Some(writer) = writer.filter(|&writer| !self.is_aborted(writer)) {
                for &reader in who {
                    self.edge(writer, reader, Kind::Wr, || format!("{of_key} = {shown} is read"));
                }
            }
            // A value that nobody wrote is the initial one.
            let from = if writer.is_none() { None } else { version };
            let mut overwriting = Vec::new();
            for &later in after.get(&(key, from)).map_or(&[][..], |later| later) {
                if Some(later) == version {
                    continue;
                }
                let Some(&next) = writers.by.get(&(key, later)) else { continue };
                for &reader in who {
                    self.edge(reader, next, Kind::Rw, || {
                        format!(
                            "{of_key} = {shown} is read before {} is there",
                            history.of_word(later)
                        )
                    });
                }
                if who.contains(&next) {
                    overwriting.push(next);
                }
            }
            overwriting.sort_unstable();
            overwriting.dedup();
            if let [one, other, ..] = overwriting[..] {
                let text = format!(
                    "{} and {} both overwrite {of_key} = {shown}, which both read",
                    self.shown(one),
                    self.shown(other)
                );
                self.wrong("lost-update", text);
            }
        }
        let mut orders: Vec<_> = after.iter().collect();
        orders.sort();
        for (&(key, before), later) in orders {
            let Some(before) = before else { continue };
            let Some(&writer) = writers.by.get(&(key, before)) else { continue };
            for &word in later {
                let Some(&next) = writers.by.get(&(key, word)) else { continue };
                if !self.is_aborted(writer) {
                    self.edge(writer, next, Kind::Ww, || {
                        let (old, new) = (history.of_word(before), history.of_word(word));
                        format!("{new} overwrites {old} in {}", history.of_key(key))
                    });
                }
            }
        }
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
            if transaction.ending != Ending::Aborted || counted(&number) {
                moments.push((transaction.began, false, number));
            }
            if let Some(ended) = transaction.ended.filter(|_| counted(&number)) {
                moments.push((ended, true, number));
            }
        }
        moments.sort_unstable();
        // Those that ended, and that no other that ended began after.
        let mut ended: Vec<usize> = Vec::new();
        let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut last: HashMap<u32, usize> = HashMap::new();
        let mut edges: Vec<(usize, usize, Kind)> = Vec::new();
        for (_, ends, number) in moments {
            if ends {
                let earlier = before.remove(&number).unwrap_or_default();
                ended.retain(|other| !earlier.contains(other));
                ended.push(number);
                last.insert(transactions[number].process, number);
                continue;
            }
            edges.extend(ended.iter().map(|&other| (other, number, Kind::RealTime)));
            let process = transactions[number].process;
            edges.extend(last.get(&process).map(|&other| (other, number, Kind::Process)));
            before.insert(number, ended.clone());
        }
        for (from, to, kind) in edges {
            self.edge(from, to, kind, || match kind {
                Kind::Process => "the same process ran it first".into(),
                _ => "it ended before the other began".into(),
            });
        }
    }
}
