//! A visited set that belongs to one worker alone, for searches whose workers share no memory.
//!
//! The workers of [`crate::explore`] share one visited set. Those of a search over several processes cannot: each
//! owns the states that the hash of their core gives to it, and keeps them in a [`Shard`]. Since the hash looks at the
//! core only, states that can cover each other have the same owner.
//!
//! States have numbers, in the order in which they came. Levels are ranges of numbers: [`Shard::start_level`] ends one.

use crate::visited::{Id, Visited};
use crate::{Batch, Width};

/// The states of one worker.
pub struct Shard {
    visited: Visited,
    width: Width,
    waiting: Batch,
}

impl Shard {
    /// An empty set of states of this width, which takes at most so many bytes.
    pub fn new(width: Width, memory: Option<u64>) -> Self {
        let visited = Visited::new(width, 1).with_memory(memory);
        Shard { visited, width, waiting: Batch::default() }
    }

    /// May a state have so many bytes?
    #[inline(always)]
    pub fn admits(&self, length: usize) -> bool {
        self.width.admits(length)
    }

    /// The hash of a state's core. It is the same in all processes.
    #[inline(always)]
    pub fn hash(&self, state: &[u8]) -> u64 {
        self.visited.hash(state)
    }

    /// Inserts a state with this hash, unless it is there or covered by one that is; says whether it is new.
    pub fn insert(&mut self, state: &[u8], hash: u64) -> bool {
        self.has_room() && self.visited.enter(0).insert_hashed(state, hash).if_new().is_some()
    }

    /// Inserts a state with this hash when a few have come together, or at the next [`Shard::flush`]. That hides how
    /// long memory takes to answer.
    #[inline]
    pub fn put(&mut self, state: &[u8], hash: u64) {
        if self.waiting.is_full() {
            self.flush();
        }
        self.waiting.push(state, hash);
    }

    /// Inserts what waits.
    pub fn flush(&mut self) {
        if self.waiting.entries.is_empty() {
            return;
        }
        if self.has_room() {
            let mut worker = self.visited.enter(0);
            for &(hash, _) in &self.waiting.entries {
                worker.expect(hash);
            }
            for &(hash, _) in &self.waiting.entries {
                worker.expect_state(hash);
            }
            let mut start = 0;
            for &(hash, end) in &self.waiting.entries {
                if worker.is_crowded() {
                    drop(worker);
                    self.visited.grow();
                    worker = self.visited.enter(0);
                    if self.visited.is_full() {
                        break;
                    }
                }
                worker.insert_hashed(&self.waiting.states[start..end], hash);
                start = end;
            }
        }
        self.waiting.clear();
    }

    /// Lets the table grow if it is crowded; says whether there is room now.
    fn has_room(&mut self) -> bool {
        if self.visited.is_full() {
            return false;
        }
        if self.visited.enter(0).is_crowded() {
            self.visited.grow();
        }
        !self.visited.is_full()
    }

    /// How many states there are.
    pub fn len(&self) -> u32 {
        self.visited.len_of(0)
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state with this number.
    #[inline(always)]
    pub fn get(&self, number: u32) -> &[u8] {
        self.visited.get(Id { worker: 0, index: number })
    }

    /// Need the state not be expanded, because one of its own level covers it?
    #[inline(always)]
    pub fn is_covered(&self, number: u32) -> bool {
        self.visited.is_covered(Id { worker: 0, index: number })
    }

    /// Says that all states inserted from now on belong to the next level.
    pub fn start_level(&mut self) {
        self.flush();
        self.visited.start_level();
    }

    /// Is there no more memory? Then states are missing.
    pub fn is_full(&self) -> bool {
        self.visited.is_full()
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.visited.bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches states that are lost between batches and when the table grows.
    #[test]
    fn keeps_states_in_order() {
        let count: u64 = if cfg!(miri) { 300 } else { 50_000 };
        let mut shard = Shard::new(Width::Fixed(8), None);
        for round in 0..2 {
            for k in 0..count {
                let state = k.to_le_bytes();
                let hash = shard.hash(&state);
                match k % 3 {
                    0 => {
                        shard.flush();
                        assert_eq!(shard.insert(&state, hash), round == 0);
                    }
                    _ => shard.put(&state, hash),
                }
            }
            shard.flush();
            assert_eq!(u64::from(shard.len()), count);
        }
        assert!((0..count).all(|k| shard.get(k as u32) == k.to_le_bytes()));
    }

    /// What a state of the same level covers need not be expanded; what one of a later level covers must be.
    #[test]
    fn covers_within_a_level() {
        let mut shard = Shard::new(Width::Monitored { core: 1, bytes: 2 }, None);
        let insert = |shard: &mut Shard, state: [u8; 2]| {
            let hash = shard.hash(&state);
            shard.insert(&state, hash)
        };
        assert!(insert(&mut shard, [1, 0b01]) && insert(&mut shard, [1, 0b11]));
        assert!(!insert(&mut shard, [1, 0b10]), "covered");
        shard.start_level();
        assert!(insert(&mut shard, [1, 0b111]));
        assert_eq!([0, 1, 2].map(|number| shard.is_covered(number)), [true, false, false]);
    }

    /// A set that may not grow says so, and goes on answering.
    #[test]
    fn says_when_it_is_full() {
        let mut shard = Shard::new(Width::Fixed(8), Some(100_000));
        for k in 0..100_000_u64 {
            let state = k.to_le_bytes();
            let hash = shard.hash(&state);
            shard.put(&state, hash);
        }
        shard.flush();
        assert!(shard.is_full() && shard.len() < 10_000);
    }
}
