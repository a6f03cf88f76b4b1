//! The end of a search: what each worker says of it, what all say together, and the report of it.
//!
//! Findings do not travel. What does is the path to each, and as which finding of its last state it was reported;
//! every process finds it again by expanding that state.

use crate::engine::{Engine, Phase};
use crate::held::{Place, finding_in};
use crate::trace::Traced;
use budget::Budget;
use search::encoding::{Reader, put};
use search::{Found, Limit, Model, Paths, Progress, Report, Sink};
use std::collections::HashSet;
use std::time::Duration;

/// What one worker says when a search has ended.
pub(crate) struct End {
    states: u64,
    transitions: u64,
    expanded: u64,
    bytes: u64,
    level: u64,
    halted: bool,
    /// Were states left out?
    incomplete: bool,
    limit: Option<Limit>,
    places: Vec<Place>,
    learnt: Vec<u8>,
}

impl End {
    pub(crate) fn of<M: Model>(engine: &Engine<M>) -> End {
        debug_assert_eq!(engine.phase, Phase::Over);
        let (held, count) = (&engine.held, engine.count());
        let malformed = held.malformed.map(|bytes| Limit::Malformed { bytes });
        End {
            states: count.states,
            transitions: count.transitions,
            expanded: count.expanded,
            bytes: count.bytes,
            level: engine.level,
            halted: engine.halted,
            incomplete: engine.dropped || held.shard.is_full() || malformed.is_some(),
            limit: engine.limit.or(malformed),
            places: held.places.clone(),
            learnt: held.model.learnt(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [self.states, self.transitions, self.expanded, self.bytes, self.level] {
            put(number.into(), &mut out);
        }
        put(u128::from(self.halted), &mut out);
        put(u128::from(self.incomplete), &mut out);
        put_limit(self.limit, &mut out);
        put(self.places.len() as u128, &mut out);
        self.places.iter().for_each(|place| put_place(*place, &mut out));
        put_bytes(&self.learnt, &mut out);
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> End {
        let mut from = Reader::new(bytes);
        let [states, transitions, expanded, bytes, level] =
            std::array::from_fn(|_| from.take() as u64);
        let [halted, incomplete] = std::array::from_fn(|_| from.take() != 0);
        let limit = take_limit(&mut from);
        let places = (0..from.take()).map(|_| take_place(&mut from)).collect();
        let learnt = take_bytes(&mut from).to_vec();
        End {
            states,
            transitions,
            expanded,
            bytes,
            level,
            halted,
            incomplete,
            limit,
            places,
            learnt,
        }
    }
}

/// What all workers know when a search has ended.
#[derive(Default)]
pub(crate) struct Summary {
    pub limit: Option<Limit>,
    pub progress: Progress,
    exhausted: bool,
    /// Findings before they were traced, in the order of their levels.
    pub places: Vec<Place>,
    /// As which finding of the last state of which path each was reported.
    found: Vec<(u32, Vec<Box<[u8]>>)>,
    learnt: Vec<Vec<u8>>,
}

impl Summary {
    /// Of a search that a limit ended before there was anything to say.
    pub(crate) fn cut(limit: Limit, progress: Progress) -> Summary {
        Summary { limit: Some(limit), progress, ..Summary::default() }
    }

    pub(crate) fn of(all: &[End], elapsed: Duration) -> Summary {
        let sum = |number: fn(&End) -> u64| all.iter().map(number).sum::<u64>();
        let (states, expanded) = (sum(|end| end.states), sum(|end| end.expanded));
        let waiting = states.saturating_sub(expanded);
        let limit = all.iter().find_map(|end| end.limit);
        let level = all.iter().map(|end| end.level).max().unwrap_or(0);
        let begun = all.iter().any(|end| end.halted) && limit != Some(Limit::Depth);
        let progress = Progress {
            states,
            transitions: sum(|end| end.transitions),
            depth: level + u64::from(begun),
            waiting,
            bytes: sum(|end| end.bytes),
            elapsed,
        };
        let mut places: Vec<Place> = all.iter().flat_map(|end| end.places.clone()).collect();
        places.sort_unstable();
        // A search that ended by itself was not cut short, however large it had grown.
        let exhausted = waiting == 0 && !all.iter().any(|end| end.incomplete);
        let learnt = all.iter().map(|end| end.learnt.clone()).collect();
        Summary { limit, progress, exhausted, places, found: Vec::new(), learnt }
    }

    /// Adds the paths to findings.
    pub(crate) fn add(&mut self, traced: Vec<Traced>, budget: Budget) {
        let missing = traced.iter().any(|traced| traced.missing);
        let found = traced.into_iter().filter(|traced| !traced.missing);
        self.found = found.map(|traced| (traced.place.ordinal, traced.path)).collect();
        self.exhausted &= !missing;
        if missing {
            self.limit.get_or_insert(budget.spent().map_or(Limit::Time, Limit::from));
        }
        self.limit = self.limit.filter(|_| !self.exhausted);
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_limit(self.limit, &mut out);
        put(u128::from(self.exhausted), &mut out);
        let Progress { states, transitions, depth, waiting, bytes, elapsed } = self.progress;
        let elapsed = elapsed.as_nanos() as u64;
        for number in [states, transitions, depth, waiting, bytes, elapsed] {
            put(number.into(), &mut out);
        }
        put(self.found.len() as u128, &mut out);
        for (ordinal, path) in &self.found {
            put((*ordinal).into(), &mut out);
            put(path.len() as u128, &mut out);
            path.iter().for_each(|state| put_bytes(state, &mut out));
        }
        put(self.learnt.len() as u128, &mut out);
        self.learnt.iter().for_each(|learnt| put_bytes(learnt, &mut out));
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Summary {
        let mut from = Reader::new(bytes);
        let limit = take_limit(&mut from);
        let exhausted = from.take() != 0;
        let [states, transitions, depth, waiting, bytes, elapsed] =
            std::array::from_fn(|_| from.take() as u64);
        let elapsed = Duration::from_nanos(elapsed);
        let progress = Progress { states, transitions, depth, waiting, bytes, elapsed };
        let found = (0..from.take()).map(|_| {
            let ordinal = from.take() as u32;
            let path = (0..from.take()).map(|_| take_bytes(&mut from).into()).collect();
            (ordinal, path)
        });
        let found = found.collect();
        let learnt = (0..from.take()).map(|_| take_bytes(&mut from).to_vec()).collect();
        Summary { limit, progress, exhausted, places: Vec::new(), found, learnt }
    }
}

/// The report of a search. What all have learnt is told to the model.
pub(crate) fn report<M: Model>(model: &M, summary: Summary, wanted: Paths) -> Report<M::Finding> {
    let mut scratch = model.scratch();
    let mut initial = Initial(Vec::new());
    if summary.limit.is_none_or(|limit| !matches!(limit, Limit::Lost { .. } | Limit::Diverged)) {
        model.initial(&mut scratch, &mut initial);
    }
    let mut known = HashSet::new();
    let mut findings: Vec<Found<M::Finding>> = Vec::new();
    for finding in initial.0 {
        if known.insert(finding.clone()) {
            findings.push(Found { finding, path: Vec::new() });
        }
    }
    for (ordinal, path) in summary.found {
        let Some(state) = path.last() else { continue };
        let finding = finding_in(model, state, ordinal, &mut scratch);
        if let Some(finding) = finding.filter(|finding| known.insert(finding.clone())) {
            let path = if wanted == Paths::None { Vec::new() } else { path };
            findings.push(Found { finding, path });
        }
    }
    summary.learnt.iter().for_each(|learnt| model.learn(learnt));
    Report {
        findings,
        progress: summary.progress,
        limit: summary.limit,
        exhausted: summary.exhausted,
    }
}

struct Initial<F>(Vec<F>);

impl<F> Sink<F> for Initial<F> {
    fn state(&mut self, _: &[u8]) {}

    fn finding(&mut self, finding: F) {
        self.0.push(finding);
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len() as u128, out);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(from: &mut Reader<'a>) -> &'a [u8] {
    let length = from.take_index();
    from.take_bytes(length)
}

fn put_place(place: Place, out: &mut Vec<u8>) {
    put(place.level.into(), out);
    [place.worker, place.index, place.ordinal].iter().for_each(|number| put((*number).into(), out));
}

fn take_place(from: &mut Reader<'_>) -> Place {
    let level = from.take() as u64;
    let [worker, index, ordinal] = std::array::from_fn(|_| from.take() as u32);
    Place { level, worker, index, ordinal }
}

/// Appends a limit as two numbers.
pub(crate) fn put_limit(limit: Option<Limit>, out: &mut Vec<u8>) {
    let (number, detail) = limit_numbers(limit);
    put(number.into(), out);
    put(detail.into(), out);
}

fn take_limit(from: &mut Reader<'_>) -> Option<Limit> {
    let number = from.take() as u32;
    limit_of(number, from.take() as u32)
}

/// A limit as two numbers.
pub(crate) fn limit_numbers(limit: Option<Limit>) -> (u32, u32) {
    match limit {
        None => (0, 0),
        Some(Limit::States) => (1, 0),
        Some(Limit::Memory) => (2, 0),
        Some(Limit::Time) => (3, 0),
        Some(Limit::Depth) => (4, 0),
        Some(Limit::Interrupted) => (5, 0),
        Some(Limit::Malformed { bytes }) => (6, bytes as u32),
        Some(Limit::Lost { .. } | Limit::Diverged) => (7, 0),
    }
}

/// The limit that two numbers stand for.
pub(crate) fn limit_of(number: u32, detail: u32) -> Option<Limit> {
    match number {
        0 => None,
        1 => Some(Limit::States),
        2 => Some(Limit::Memory),
        3 => Some(Limit::Time),
        4 => Some(Limit::Depth),
        5 => Some(Limit::Interrupted),
        6 => Some(Limit::Malformed { bytes: detail as usize }),
        _ => Some(Limit::Diverged),
    }
}
