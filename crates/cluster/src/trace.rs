//! Shortest paths to findings, across workers.
//!
//! A worker knows of each of its states which worker sent it, and while expanding which parents. A path is followed
//! back from its end: who has the state tells all workers what it is and who to ask next; that worker expands the
//! parents again until one has the state among its successors, and tells everybody which. All paths are followed at
//! the same time, one step in each [round](Gather), and after the last all workers know all paths.

use crate::gather::Gather;
use crate::health::{Health, Lost};
use crate::held::{Held, Place, finding_in};
use budget::{Budget, Ticker};
use search::encoding::{Reader, put};
use search::{Model, Paths, Sink};
use std::collections::HashSet;
use timely::worker::Worker;

/// A finding, and the states that lead to it from an initial one. Only the last if no paths are wanted; empty if
/// there was no time.
pub(crate) struct Traced {
    pub place: Place,
    pub path: Vec<Box<[u8]>>,
    pub missing: bool,
}

/// Whom to ask for the state before one.
enum Ask {
    /// Nobody.
    Nobody,
    /// The owner of the last state, for that state.
    Owner(Place),
    /// Who expanded the parents.
    Parents { of: u32, parents: (u32, u32) },
}

/// Follows the paths to `places`, which all workers have in the same order. Equal findings count once.
pub(crate) fn trace<M: Model>(
    worker: &mut Worker,
    gather: &mut Gather,
    health: &Health,
    held: &Held<M>,
    places: &[Place],
    (wanted, budget): (Paths, Budget),
) -> Result<Vec<Traced>, Lost> {
    let me = worker.index() as u32;
    let mut scratch = held.model.scratch();
    let mut ticker = budget.ticker();
    let mut open: Vec<(Traced, Ask)> = places
        .iter()
        .map(|&place| (Traced { place, path: Vec::new(), missing: false }, Ask::Owner(place)))
        .collect();
    let mut first = true;
    while open.iter().any(|(_, ask)| !matches!(ask, Ask::Nobody)) {
        let mut told = Vec::new();
        for (number, (traced, ask)) in open.iter().enumerate() {
            let at = match *ask {
                Ask::Owner(place) if place.worker == me => Some(place.index),
                Ask::Parents { of, parents } if of == me => {
                    let child = traced.path.last().expect("a path has its end");
                    parent_of(held, child, parents, &mut scratch, &mut ticker)
                }
                _ => continue,
            };
            tell(held, number, at, &mut told);
        }
        for told in gather.round(worker, health, &told)? {
            let mut told = Reader::new(&told);
            while !told.is_empty() {
                let number = told.take_index();
                let Some((traced, ask)) = open.get_mut(number) else { break };
                *ask = hear(&mut told, traced);
            }
        }
        if first {
            first = false;
            forget_equal(&*held.model, &mut open, &mut scratch);
            if wanted == Paths::None {
                open.iter_mut().for_each(|(_, ask)| *ask = Ask::Nobody);
            }
        }
    }
    let mut traced: Vec<Traced> = open.into_iter().map(|(traced, _)| traced).collect();
    traced.iter_mut().for_each(|traced| traced.path.reverse());
    Ok(traced)
}

/// Appends what is known of a state: its bytes, and where it came from.
fn tell<M: Model>(held: &Held<M>, number: usize, at: Option<u32>, told: &mut Vec<u8>) {
    put(number as u128, told);
    let Some(index) = at else {
        put(0, told); // no time
        return;
    };
    let state = held.shard.get(index);
    let is_initial = index < held.range(0).1;
    put(if is_initial { 1 } else { 2 }, told);
    put(state.len() as u128, told);
    told.extend_from_slice(state);
    if !is_initial {
        let after = held.log.partition_point(|entry| entry.first_child <= index);
        let entry = &held.log[after - 1];
        for number in [entry.from, entry.parents.0, entry.parents.1] {
            put(number.into(), told);
        }
    }
}

/// Reads what was told of a state, and whom to ask next.
fn hear(told: &mut Reader<'_>, traced: &mut Traced) -> Ask {
    let kind = told.take();
    if kind == 0 {
        traced.missing = true;
        traced.path.clear();
        return Ask::Nobody;
    }
    let length = told.take_index();
    traced.path.push(told.take_bytes(length).into());
    if kind == 1 {
        return Ask::Nobody;
    }
    let [of, first, end] = std::array::from_fn(|_| told.take() as u32);
    Ask::Parents { of, parents: (first, end) }
}

/// Of equal findings, keeps the first.
fn forget_equal<M: Model>(model: &M, open: &mut Vec<(Traced, Ask)>, scratch: &mut M::Scratch) {
    let mut known = HashSet::new();
    open.retain(|(traced, _)| match traced.path.last() {
        None => true,
        Some(state) => finding_in(model, state, traced.place.ordinal, scratch)
            .is_some_and(|finding| known.insert(finding)),
    });
}

/// Which of its states among `parents` has `child` as a successor; none if there is no time to find out.
fn parent_of<M: Model>(
    held: &Held<M>,
    child: &[u8],
    parents: (u32, u32),
    scratch: &mut M::Scratch,
    ticker: &mut Ticker,
) -> Option<u32> {
    for index in parents.0..parents.1 {
        if ticker.tick().is_some() {
            return None;
        }
        let state = held.shard.get(index);
        let mut wanted = Wanted { state: child, found: false };
        held.model.expand_reduced(state, scratch, &mut wanted);
        if !wanted.found {
            held.model.expand(state, scratch, &mut wanted);
        }
        if wanted.found {
            return Some(index);
        }
    }
    unreachable!("a logged parent has the child")
}

/// Looks for one state among successors.
struct Wanted<'a> {
    state: &'a [u8],
    found: bool,
}

impl<F> Sink<F> for Wanted<'_> {
    fn state(&mut self, state: &[u8]) {
        self.found |= state == self.state;
    }

    fn finding(&mut self, _: F) {}
}
