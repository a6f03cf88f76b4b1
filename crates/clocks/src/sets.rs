//! Interned sets of epochs, for cells that one epoch is not enough for.
//!
//! Equal sets have the same name, so that a million cells that the same threads read need one set. A set
//! lives as long as a word of some cell names it: words are counted, and who takes a name out of a word
//! gives it up (`Sets::give_up`). Two threads that take turns to read a word, each time after having
//! synchronised, make a new set with every access and leave an old one behind.
//!
//! A name has the place of the set and how many sets were at this place before. So a name that somebody
//! still remembers, but no word has any more, is recognised, and not taken for another set.
//!
//! Sets are spread over *shards*, each with a lock of its own.

use crate::hash::{BuildMixer, Mixer};
use crate::shadow::Epoch;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

const SHARDS: usize = 64;
/// Bits of a name for the place, and so how many sets there may be; the rest is the generation.
const PLACE: u32 = 24;
const GENERATIONS: u64 = 1 << 32;

/// All sets.
#[derive(Debug)]
pub struct Sets {
    shards: Box<[Mutex<Shard>]>,
    /// How many there may be in a shard; beyond, the last access is kept and the others are forgotten.
    most: usize,
    keeps_all: bool,
    overflowed: AtomicBool,
}

#[derive(Debug, Default)]
struct Shard {
    places: HashMap<Box<[Epoch]>, usize, BuildMixer>,
    sets: Vec<Set>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct Set {
    members: Box<[Epoch]>,
    /// How many words name it.
    words: u64,
    /// How many sets were here before.
    generation: u64,
}

impl Default for Sets {
    fn default() -> Self {
        Sets::at_most(1 << PLACE)
    }
}

impl Sets {
    /// None yet; at most about so many at a time.
    pub fn at_most(most: usize) -> Sets {
        let most = most.clamp(1, (1 << PLACE) - SHARDS).div_ceil(SHARDS);
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Sets { shards, most, keeps_all: false, overflowed: AtomicBool::new(false) }
    }

    /// None yet; each is kept forever, so that cells can be copied.
    pub fn keeping_all() -> Sets {
        Sets { keeps_all: true, ..Sets::default() }
    }

    /// Were there too many, so that accesses were forgotten?
    pub fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, Shard> {
        self.shards[number].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Looks at what a word stands for; none if that is a set that no word names any more.
    #[inline]
    pub(crate) fn members<R>(&self, word: Epoch, look: impl FnOnce(&[Epoch]) -> R) -> Option<R> {
        if !word.is_set() {
            return Some(if word.bits() == 0 { look(&[]) } else { look(&[word]) });
        }
        let (number, index, generation) = place(word);
        let shard = self.shard(number);
        let set = shard.sets.get(index).filter(|set| set.generation == generation)?;
        Some(look(&set.members))
    }

    /// A word for these epochs, for one cell; none if there are too many sets.
    pub(crate) fn name(&self, mut members: Vec<Epoch>) -> Option<Epoch> {
        if let [only] = members[..] {
            return Some(only);
        }
        members.sort_unstable();
        let mut hash = Mixer::default();
        members.iter().for_each(|epoch| hash.write_u64(epoch.bits()));
        let number = hash.finish() as usize % SHARDS;
        let mut shard = self.shard(number);
        let Shard { places, sets, free } = &mut *shard;
        let index = match places.get(&members[..]) {
            Some(&index) => index,
            None => {
                let index = match free.pop() {
                    Some(index) => index,
                    None if sets.len() < self.most => {
                        sets.push(Set::default());
                        sets.len() - 1
                    }
                    None => {
                        self.overflowed.store(true, Ordering::Relaxed);
                        return None;
                    }
                };
                let members: Box<[Epoch]> = members.into();
                sets[index].members = members.clone();
                places.insert(members, index);
                index
            }
        };
        sets[index].words += 1;
        let at = (index * SHARDS + number) as u64 + 1;
        Some(Epoch::of_set(sets[index].generation << PLACE | (at & ((1 << PLACE) - 1))))
    }

    /// A word that a cell had is no longer there.
    #[inline]
    pub(crate) fn give_up(&self, word: Epoch) {
        if word.is_set() && !self.keeps_all {
            self.forget(word);
        }
    }

    fn forget(&self, word: Epoch) {
        let (number, index, generation) = place(word);
        let mut shard = self.shard(number);
        let Shard { places, sets, free } = &mut *shard;
        let Some(set) = sets.get_mut(index).filter(|set| set.generation == generation) else {
            debug_assert!(false, "a word names a set that is gone");
            return;
        };
        set.words -= 1;
        if set.words == 0 {
            let members = std::mem::take(&mut set.members);
            places.remove(&members);
            set.generation += 1;
            // A place whose generations are used up stays empty, so that no name comes twice.
            if set.generation < GENERATIONS {
                free.push(index);
            }
        }
    }

    /// Does the set that `word` names show that `me` has already read these bytes?
    pub fn contains(&self, word: u64, me: Epoch, mask: u8) -> bool {
        let shows = |epoch: &Epoch| epoch.who() == me.who() && epoch.mask() & mask == mask;
        word != 0
            && self.members(Epoch::of_set(word), |members| members.iter().any(shows)) == Some(true)
    }

    /// Keeps others from looking or adding, as long as what is returned lives.
    pub fn hold(&self) -> impl Sized + '_ {
        (0..SHARDS).map(|number| self.shard(number)).collect::<Vec<_>>()
    }
}

/// The shard, the place there, and the generation that a word names.
fn place(word: Epoch) -> (usize, usize, u64) {
    let at = (word.bits() & ((1 << PLACE) - 1)).wrapping_sub(1) & ((1 << PLACE) - 1);
    (at as usize % SHARDS, at as usize / SHARDS, word.bits() >> PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::{Cell, Conflict, Me};
    use crate::vector::Vector;

    fn clock(entries: &[u64]) -> Vector {
        let mut clock = Vector::default();
        entries.iter().enumerate().for_each(|(index, &epoch)| clock.set(index, epoch));
        clock
    }

    /// Two threads that never know of each other's last read, for as long as it takes: a third that writes
    /// races with one of them, whatever was forgotten of what came before.
    #[test]
    fn sets_that_no_word_names_make_room() {
        let (sets, cell) = (Sets::at_most(64), Cell::default());
        for round in 1..100_000 {
            for thread in 0..2_u16 {
                let mut entries = [round - 1; 2];
                entries[usize::from(thread)] = round;
                let clock = clock(&entries);
                let me = Me { epoch: Epoch::new(thread, round), clock: &clock };
                assert_eq!(cell.read(&me, 0xff, &sets), None);
            }
        }
        assert!(!sets.overflowed());
        let clock = clock(&[99_999, 99_998, 1]);
        let me = Me { epoch: Epoch::new(2, 1), clock: &clock };
        let race = cell.write(&me, 0xff, &sets);
        assert_eq!(race.map(|Conflict { epoch, .. }| epoch.thread()), Some(1));
        cell.clear(&sets);
        let live: usize = (0..SHARDS).map(|number| sets.shard(number).places.len()).sum();
        assert_eq!(live, 0, "every set was given up");
    }

    /// Too many at a time are not kept, and that is known.
    #[test]
    fn too_many_sets_are_told() {
        let sets = Sets::at_most(1);
        let cells: Vec<Cell> = (0..1000).map(|_| Cell::default()).collect();
        for (index, cell) in cells.iter().enumerate() {
            for thread in 0..2_u16 {
                let clock = clock(&[0, 0]);
                let me = Me { epoch: Epoch::new(thread, index as u64 + 1), clock: &clock };
                cell.read(&me, 0xff, &sets);
            }
        }
        assert!(sets.overflowed());
    }

    /// A name that was remembered means nothing once its set is gone, even if another is in its place.
    #[test]
    fn names_do_not_come_twice() {
        let sets = Sets::at_most(64);
        let pair = |epoch: u64| {
            let full = |thread| {
                let cell = Cell::default();
                let clock = clock(&[0]);
                let me = Me { epoch: Epoch::new(thread, epoch), clock: &clock };
                cell.read(&me, 0xff, &sets);
                me.epoch
            };
            vec![full(0).with(0xff), full(1).with(0xff)]
        };
        let mut names = std::collections::HashSet::new();
        for epoch in 1..1000 {
            let name = sets.name(pair(epoch)).expect("there is room");
            assert!(names.insert(name.bits()));
            assert_eq!(sets.members(name, <[Epoch]>::len), Some(2));
            sets.give_up(name);
            assert_eq!(sets.members(name, <[Epoch]>::len), None);
        }
    }
}
