//! Registers: a value tells who wrote what was read, if it is written once to its key.
//!
//! The order of versions is known in part. Nobody's version is the first. What a transaction writes follows
//! what it read before. And if transactions are to take effect in the order of real time, a version that
//! somebody had written or read in a transaction that was over comes before another that somebody wrote or
//! read in a transaction that then began.

use std::collections::HashMap;

use super::{Finder, Kind, Writers};
use crate::history::{Ending, Key, Op, Seen, Word};

/// Who read a version from outside; nobody's is none.
type Readers = HashMap<(Key, Option<Word>), Vec<usize>>;

/// The first so many versions that are seen after another was there are taken to come after it: what
/// follows later follows from these.
const NEXT_VERSIONS: usize = 8;

impl Finder<'_> {
    pub(super) fn registers(&mut self) {
        let history = self.history;
        let writers = self.writers();
        self.found.ambiguous = writers.twice.len();
        // Versions: nobody's, or a value. Who read which from outside, and what follows what.
        let mut readers = Readers::new();
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
        self.edges_by_time(&readers, &writers);
        self.check_unwritten(&readers, &writers);
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
        readers: &Readers,
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

    /// A key that was empty when nobody had written it had no value then: it must come from somebody.
    fn check_unwritten(&mut self, readers: &Readers, writers: &Writers) {
        let unwritten = |&(key, version): &(Key, Option<Word>)| {
            version.filter(|&word| !writers.by.contains_key(&(key, word))).map(|word| (key, word))
        };
        let mut found: Vec<(Key, Word)> = readers.keys().filter_map(unwritten).collect();
        found.sort_unstable();
        for (key, word) in found {
            if readers.contains_key(&(key, None)) {
                let text = format!(
                    "{} read {} = {}, which nobody wrote, and nothing was there before",
                    self.shown(readers[&(key, Some(word))][0]),
                    self.history.of_key(key),
                    self.history.of_word(word)
                );
                self.wrong("unwritten-read", text);
            }
        }
    }

    /// Whoever read a version comes before those who wrote what comes after it by time.
    fn edges_by_time(&mut self, readers: &Readers, writers: &Writers) {
        // Per key, who has to do with which version, in the order in which they began; and when the first
        // of them was over.
        let mut touches: HashMap<Key, Vec<(usize, Word)>> = HashMap::new();
        let mut over: HashMap<(Key, Word), usize> = HashMap::new();
        let transactions = &self.history.transactions;
        let reads = readers.iter().flat_map(|(&(key, version), who)| {
            who.iter().filter_map(move |&reader| Some((key, version?, reader)))
        });
        let writes = writers.by.iter().map(|(&(key, word), &writer)| (key, word, writer));
        for (key, word, number) in reads.chain(writes) {
            let transaction = &transactions[number];
            let writer = writers.by.get(&(key, word)).copied();
            let lasts = |writer: usize| {
                writers.last.get(&(writer, key)) == Some(&word) && !self.is_aborted(writer)
            };
            if writers.twice.contains(&(key, word)) || !writer.is_some_and(lasts) {
                continue;
            }
            if let Some(began) = transaction.began {
                touches.entry(key).or_default().push((began, word));
            }
            if let Some(ended) = transaction.ended {
                let over = over.entry((key, word)).or_insert(ended);
                *over = ended.min(*over);
            }
        }
        touches.values_mut().for_each(|touches| touches.sort_unstable());
        let mut found: Vec<(usize, Key, Word, Word)> = Vec::new();
        for (&(key, version), who) in readers {
            let Some(word) = version else { continue };
            let (Some(&over), Some(touches)) = (over.get(&(key, word)), touches.get(&key)) else {
                continue;
            };
            let first = touches.partition_point(|&(began, _)| began <= over);
            let mut next: Vec<Word> = Vec::new();
            for &(_, later) in &touches[first..] {
                if later != word && !next.contains(&later) {
                    next.push(later);
                    if next.len() == NEXT_VERSIONS {
                        break;
                    }
                }
            }
            found.extend(
                who.iter()
                    .flat_map(|&reader| next.iter().map(move |&later| (reader, key, word, later))),
            );
        }
        found.sort_unstable();
        let history = self.history;
        for (reader, key, word, later) in found {
            self.edge(reader, writers.by[&(key, later)], Kind::RwRealTime, || {
                let (old, new) = (history.of_word(word), history.of_word(later));
                format!("{} = {old} is read, and {new} came later by time", history.of_key(key))
            });
        }
    }
}
