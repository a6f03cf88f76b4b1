//! The states that a worker holds, and where they came from.
//!
//! "While these parents of that worker were expanded, states from here on were inserted" is all that is kept of where a state
//! came from, once for each message and for each few parents. [`crate::trace`] makes paths of it.

use search::{Model, Shard, Sink, Width};
use std::collections::HashSet;
use std::sync::Arc;

/// "While `parents` of worker `from` were expanded, states from `first_child` on were inserted."
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogEntry {
    pub first_child: u32,
    pub from: u32,
    pub parents: (u32, u32),
}

/// A finding: in which state, and as which of those that expanding it reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub level: u64,
    pub worker: u32,
    pub index: u32,
    pub ordinal: u32,
}

/// What a worker holds after the search as well: its states and how they were reached.
pub(crate) struct Held<M: Model> {
    pub model: Arc<M>,
    pub width: Width,
    pub shard: Shard,
    /// Where each level starts; the last is being filled.
    pub starts: Vec<u32>,
    pub log: Vec<LogEntry>,
    pub transitions: u64,
    pub expanded: u64,
    pub seen: HashSet<M::Finding>,
    pub places: Vec<Place>,
    pub malformed: Option<usize>,
}

impl<M: Model> Held<M> {
    /// The level that is being filled.
    pub(crate) fn filled(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Ends levels until `level` is the one being filled.
    pub(crate) fn fill(&mut self, level: u64) {
        while self.filled() < level {
            self.shard.start_level();
            self.starts.push(self.shard.len());
        }
    }

    /// Notes where states from `before` on came from, if there are any.
    pub(crate) fn note_origin(&mut self, before: u32, from: u32, parents: (u32, u32)) {
        if self.shard.len() > before {
            self.log.push(LogEntry { first_child: before, from, parents });
        }
    }

    /// The states of a level.
    pub(crate) fn range(&self, level: u64) -> (u32, u32) {
        let start = |level: u64| self.starts.get(level as usize).copied();
        let end = start(level + 1).unwrap_or(self.shard.len());
        (start(level).unwrap_or(end), end)
    }

    /// Notes a finding again that was noted before a checkpoint.
    pub(crate) fn note_again(&mut self, place: Place, scratch: &mut M::Scratch) {
        let state = self.shard.get(place.index).to_vec();
        if let Some(finding) = finding_in(&*self.model, &state, place.ordinal, scratch) {
            self.seen.insert(finding);
            self.places.push(place);
        }
    }
}

/// The finding that expanding a state reports as number `ordinal`.
pub(crate) fn finding_in<M: Model>(
    model: &M,
    state: &[u8],
    ordinal: u32,
    scratch: &mut M::Scratch,
) -> Option<M::Finding> {
    let mut listen = Listen { left: ordinal, found: None };
    model.expand_reduced(state, scratch, &mut listen);
    if listen.found.is_none() {
        model.expand(state, scratch, &mut listen);
    }
    listen.found
}

struct Listen<F> {
    left: u32,
    found: Option<F>,
}

impl<F> Sink<F> for Listen<F> {
    fn state(&mut self, _: &[u8]) {}

    fn finding(&mut self, finding: F) {
        match self.left.checked_sub(1) {
            _ if self.found.is_some() => {}
            None => self.found = Some(finding),
            Some(left) => self.left = left,
        }
    }
}
