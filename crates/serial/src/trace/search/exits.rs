//! Where a visit of a thread can leave it: the best exits of a unit, and which of them are remembered.
//!
//! A unit that the entered one must precede is *reached*: one with a write or a fence, or one that shares
//! a variable with a reached one; behind a reached strong unit everything is. The earliest access of each
//! kind and variable in a reached unit is an exit. They are found by reading along the thread, and by looking up
//! what is still missing where that would be long.

use std::rc::Rc;

use crate::hash::Map;
use crate::trace::index::{Index, Op, Pos, label_of};

/// A visit entered by a write and left, untied, at an earlier time.
#[derive(Clone, Copy)]
pub(super) struct Back {
    pub(super) enter: u32,
    pub(super) leave: u32,
}

/// A unit, and its exits before a time.
#[derive(Clone, Default)]
struct Recent {
    unit: Option<(u32, u32)>,
    before: Pos,
    exits: Rc<[u32]>,
}

/// How many units' exits are remembered.
const RECENT: usize = 1 << 12;

/// A cache is dropped when it holds this many exits: a unit of a thread with many variables may have one for
/// each of them.
const MOST_CACHED: usize = 1 << 22;

/// What an entry of a cache takes beside its exits, counted in exits.
const OVERHEAD: usize = 8;

pub(super) struct Exits<'a> {
    index: &'a Index,
    /// Per kind and variable, the stamp of the last search that found one.
    seen: Vec<u32>,
    /// Per variable of a thread, the stamp of the last search that reached a unit with it.
    reached: Vec<u32>,
    stamp: u32,
    found: Vec<u32>,
    backs: Map<(u32, u32), Rc<[Back]>>,
    /// How many are in `backs`.
    backs_held: usize,
    /// Exits of the units entered lately, in order of time.
    recent: Vec<Recent>,
    /// How many are in `recent`.
    recent_held: usize,
}

impl<'a> Exits<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Exits {
            index,
            seen: vec![0; 2 * index.most_vars()],
            reached: vec![0; index.most_vars()],
            stamp: 0,
            found: Vec::new(),
            backs: Map::default(),
            backs_held: 0,
            recent: vec![Recent::default(); RECENT],
            recent_held: 0,
        }
    }

    fn next_stamp(&mut self) -> u32 {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.seen.fill(0);
            self.reached.fill(0);
            self.stamp = 1;
        }
        self.stamp
    }

    /// The exits of a unit before `horizon`.
    pub(super) fn find(&mut self, thread: u32, unit: u32, horizon: Pos) -> &[u32] {
        let lane = &self.index.lanes[thread as usize];
        let body = &lane.units[unit as usize];
        let labels = 2 * lane.vars.len();
        let mut patience = 64 + 4 * labels;
        let stamp = self.next_stamp();
        self.found.clear();
        let mut through = body.strong;
        let mut next = body.start;
        for (number, here) in lane.units.iter().enumerate().skip(unit as usize) {
            let accesses = lane.accesses_of(here);
            let is_reached = through
                || number == unit as usize
                || here.writes
                || here.fences
                || accesses.iter().any(|access| self.reached[access.slot as usize] == stamp);
            for (access, at) in accesses.iter().zip(here.start..) {
                if access.pos >= horizon || self.found.len() == labels {
                    return &self.found;
                }
                let seen = &mut self.seen[access.label()];
                if *seen != stamp && (is_reached || access.op == Op::Write) {
                    *seen = stamp;
                    self.found.push(at);
                }
            }
            if is_reached && !through {
                through = here.strong;
                for access in accesses {
                    self.reached[access.slot as usize] = stamp;
                }
            }
            next = here.end;
            patience = patience.saturating_sub(accesses.len() + 1);
            if patience == 0 {
                break;
            }
        }
        if patience > 0 {
            return &self.found;
        }
        for slot in 0..lane.vars.len() as u32 {
            for op in [Op::Read, Op::Write] {
                if self.seen[label_of(op, slot)] == stamp {
                    continue;
                }
                let found = match op {
                    Op::Read if !through => lane.first_read(body, slot),
                    _ => lane.first_from(op, slot, next),
                };
                self.found
                    .extend(found.filter(|&at| lane.accesses[at as usize].earliest < horizon));
            }
        }
        &self.found
    }

    /// The exits of a unit before `horizon`, and perhaps some behind it, in order of time.
    pub(super) fn in_order(&mut self, thread: u32, unit: u32, horizon: Pos) -> Rc<[u32]> {
        let slot = (unit as usize * 61 + thread as usize) % RECENT;
        let known = &self.recent[slot];
        if known.unit == Some((thread, unit)) && known.before >= horizon {
            return known.exits.clone();
        }
        self.find(thread, unit, horizon);
        let lane = &self.index.lanes[thread as usize];
        self.found.sort_unstable_by_key(|&at| lane.accesses[at as usize].earliest);
        self.recent_held += self.found.len();
        self.recent_held -= self.recent[slot].exits.len();
        if self.recent_held > MOST_CACHED {
            self.recent.fill(Recent::default());
            self.recent_held = self.found.len();
        }
        let exits: Rc<[u32]> = self.found[..].into();
        let unit = Some((thread, unit));
        self.recent[slot] = Recent { unit, before: horizon, exits: exits.clone() };
        exits
    }

    /// Visits that enter at the write `first` or at a later one to the same variable, of the same stretch
    /// between fences, and whose exit is not tied: for each exit the first such entry.
    pub(super) fn backs(&mut self, thread: u32, first: u32) -> Rc<[Back]> {
        if let Some(known) = self.backs.get(&(thread, first)) {
            return known.clone();
        }
        let backs = self.find_backs(thread, first);
        self.backs_held += backs.len() + OVERHEAD;
        if self.backs_held > MOST_CACHED {
            self.backs.clear();
            self.backs_held = backs.len() + OVERHEAD;
        }
        self.backs.insert((thread, first), backs.clone());
        backs
    }

    fn find_backs(&mut self, thread: u32, first: u32) -> Rc<[Back]> {
        let lane = &self.index.lanes[thread as usize];
        let fence = lane.accesses[first as usize].latest;
        let list = lane.list_at(Op::Write, lane.accesses[first as usize].slot);
        let begin = list.partition_point(|&write| write < first);
        let mut found: Map<usize, Back> = Map::default();
        for (offset, &enter) in list[begin..].iter().enumerate() {
            let entry = &lane.accesses[enter as usize];
            let next = list.get(begin + offset + 1).map(|&next| lane.accesses[next as usize]);
            if next.is_some_and(|next| next.unit == entry.unit) {
                continue;
            }
            let unit = lane.unit_of(enter);
            if lane.accesses[unit.start as usize].pos >= fence {
                break;
            }
            if lane.is_dull(entry.unit, fence) {
                continue;
            }
            for &leave in self.find(thread, entry.unit, fence) {
                let exit = &lane.accesses[leave as usize];
                if exit.earliest < fence && !entry.ties(exit) {
                    found.entry(exit.label()).or_insert(Back { enter, leave });
                }
            }
        }
        found.into_values().collect()
    }

    /// The last access of each kind to each variable of a unit, the last first.
    pub(super) fn last_of_each(&mut self, thread: u32, unit: u32, entries: &mut Vec<u32>) {
        let lane = &self.index.lanes[thread as usize];
        let body = &lane.units[unit as usize];
        let stamp = self.next_stamp();
        for (access, at) in lane.accesses_of(body).iter().zip(body.start..body.end).rev() {
            if std::mem::replace(&mut self.seen[access.label()], stamp) != stamp {
                entries.push(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Question;
    use crate::random::{Random, Shape, Style};

    /// Would catch a unit called plain that is not: a write called dull must have no untied exit.
    #[test]
    fn a_dull_write_is_left_tied_or_not_at_all() {
        let (mut dull, mut left) = (0, 0);
        for seed in 0..4_000 {
            let mut random = Random::new(seed ^ 0xd011);
            let (threads, vars) = (1 + random.below(2), 1 + random.below(3));
            let (events, transaction) = (3 + random.below(12), 1 + random.below(3));
            let (commits, style) = (false, Style::Free);
            let shape = Shape { threads, vars, events, transaction, commits, style, seed };
            let index = Index::new(Question::TsoSerializable, &shape.events(), None);
            let mut exits = Exits::new(&index);
            for (thread, lane) in (0..).zip(&index.lanes) {
                for (unit, body) in (0..).zip(&lane.units) {
                    let [entry] = lane.accesses_of(body) else { continue };
                    let untied = exits.find(thread, unit, entry.latest).iter().any(|&leave| {
                        let exit = &lane.accesses[leave as usize];
                        exit.earliest < entry.latest && !entry.ties(exit)
                    });
                    left += usize::from(untied && entry.op == Op::Write);
                    if lane.is_dull(unit, entry.latest) {
                        dull += 1;
                        assert!(!untied, "seed {seed}, thread {thread}, unit {unit}");
                    }
                }
            }
        }
        assert!(dull > 1_000 && left > 200, "{dull} {left}");
    }
}
