//! Lists that are only appended to: a read shows the order of all appends up to it.

use std::collections::{HashMap, HashSet};

use super::{Finder, Kind, Writers};
use crate::history::{Ending, Key, Op, Word};

impl Finder<'_> {
    pub(super) fn lists(&mut self) {
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
            for (place, op) in transaction.ops.iter().enumerate() {
                match op {
                    Op::Append(key, word) => own.entry(*key).or_default().1.push(*word),
                    Op::List(key, Some(list)) => {
                        let to_come = |later: &Op| match later {
                            Op::Append(other, word) => other == key && list.contains(word),
                            _ => false,
                        };
                        if transaction.ops[place..].iter().any(to_come) {
                            let text = format!(
                                "{}: `{}` shows what the transaction itself appends only later",
                                self.shown(number),
                                history.show_op(op)
                            );
                            self.wrong("future-read", text);
                            continue;
                        }
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
}
