//! The last writes to a location.
//!
//! Whether a compare-and-swap, or a loop that waits for a value, can go wrong depends on which *values*
//! stale writes have. The paper keeps clocks for pairs of a location and a critical value, which must
//! be announced. But the writes to a location are totally ordered: thread τ's value clock for ⟨x, v⟩ is
//! the number of the last write of v among those before `T_SC(τ)(x)`. So it is enough to remember the
//! writes themselves, and nobody need announce anything. A history has a limit; what is older is
//! forgotten, and questions about it are answered as the asker says.

use crate::knowledge::Stamp;
use crate::order::Order;
use crate::vector::{Shared, Vectors};
use std::collections::VecDeque;

/// How much of the past is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit(pub usize);

impl Limit {
    /// Is there no room for more than so many? There is always room for two.
    #[inline]
    pub fn is_reached(self, count: usize) -> bool {
        count >= self.0.max(2)
    }
}

/// A write as a location remembers it.
#[derive(Clone, Debug)]
pub struct Write {
    /// Its number.
    pub stamp: Stamp,
    /// What it wrote.
    pub value: u64,
    /// Where in the program.
    pub site: u32,
    /// By whom.
    pub thread: u16,
    /// In which order.
    pub order: Order,
    /// Was it a read-modify-write, so that nothing fits between it and the write before?
    pub is_update: bool,
    /// What it published to whoever reads it.
    pub published: Shared,
}

/// The last writes to a location, oldest first. An initial value is a write without a number.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<Write>);

impl History {
    /// Adds the newest write and forgets the oldest beyond `limit`.
    pub fn push(&mut self, write: Write, limit: Limit, vectors: &mut Vectors) {
        while limit.is_reached(self.0.len()) {
            if let Some(old) = self.0.pop_front() {
                vectors.give_back(old.published);
            }
        }
        self.0.push_back(write);
    }

    /// Forgets everything.
    pub fn clear(&mut self, vectors: &mut Vectors) {
        for write in self.0.drain(..) {
            vectors.give_back(write.published);
        }
    }

    /// The newest write.
    pub fn newest(&self) -> Option<&Write> {
        self.0.back()
    }

    /// The write with this number, or the first remembered one after it.
    pub fn at(&self, position: u32) -> Option<&Write> {
        let first = self.0.front()?.stamp.position();
        self.0.get(position.saturating_sub(first) as usize)
    }

    /// The remembered writes with numbers in `known..required`, each with the write after it: those a
    /// thread may still read although it must have come after write `required`.
    pub fn between(&self, known: u32, required: u32) -> impl Iterator<Item = (&Write, &Write)> {
        let first = self.0.front().map_or(0, |write| write.stamp.position());
        let start = known.saturating_sub(first) as usize;
        let count = required.saturating_sub(known.max(first)) as usize;
        self.0.iter().zip(self.0.iter().skip(1)).skip(start).take(count)
    }

    /// Is the write with this number still remembered?
    pub fn reaches(&self, position: u32) -> bool {
        self.0.front().is_some_and(|write| write.stamp.position() <= position)
    }
}
