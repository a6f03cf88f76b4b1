//! The earliest time at which a search has reached each place.

use super::Reached;
use crate::hash::Map;
use crate::trace::index::{Index, label_of};

/// The earliest time known per place and set of threads used, as an index in the arena. A table
/// where the sets are few, a hash table where they are many.
pub(super) struct Best {
    /// Per thread, where its places begin.
    offsets: Vec<usize>,
    places: usize,
    stamp: u32,
    table: Vec<(u32, u32)>,
    overflow: Map<(u64, u32), u32>,
}

impl Best {
    pub(super) fn new(index: &Index) -> Self {
        const LARGEST: usize = 1 << 20;
        let mut places = 0;
        let offsets = index.lanes.iter().map(|lane| {
            places += 2 * lane.vars.len();
            places - 2 * lane.vars.len()
        });
        let offsets = offsets.collect();
        let places = places.max(1);
        let sets = (LARGEST / places).clamp(1, 1 << index.lanes.len().min(20));
        Best {
            offsets,
            places,
            stamp: 0,
            table: vec![(0, 0); sets * places],
            overflow: Map::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.overflow.clear();
        self.overflow.shrink_to(1 << 12);
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.table.fill((0, 0));
            self.stamp = 1;
        }
    }

    fn place(&self, place: &Reached) -> usize {
        self.offsets[place.thread as usize] + label_of(place.op, place.slot)
    }

    pub(super) fn get(&self, place: &Reached) -> Option<u32> {
        let at = self.place(place);
        match self.table.get((place.used as usize).saturating_mul(self.places) + at) {
            Some(&(stamp, best)) => (stamp == self.stamp).then_some(best),
            None => self.overflow.get(&(place.used, at as u32)).copied(),
        }
    }

    pub(super) fn set(&mut self, place: &Reached, best: u32) {
        let at = self.place(place);
        match self.table.get_mut((place.used as usize).saturating_mul(self.places) + at) {
            Some(entry) => *entry = (self.stamp, best),
            None => drop(self.overflow.insert((place.used, at as u32), best)),
        }
    }
}
