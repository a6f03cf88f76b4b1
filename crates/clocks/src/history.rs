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
use crate::vector::Vector;

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
#[derive(Clone, Debug, Default)]
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
    pub published: Published,
}

/// A vector clock that is kept and not changed. Most are of a few threads, and a write is then a cache line.
#[derive(Clone, Debug)]
pub enum Published {
    /// Of the first threads.
    Near([u64; 4]),
    /// Of more.
    Far(Box<[u64]>),
}

impl Default for Published {
    fn default() -> Self {
        Published::Near([0; 4])
    }
}

impl Published {
    /// Becomes these entries.
    #[inline]
    pub fn assign(&mut self, entries: &[u64]) {
        match self {
            Published::Far(far) if far.len() == entries.len() => far.copy_from_slice(entries),
            _ if entries.len() > 4 => *self = Published::Far(entries.into()),
            _ => {
                let mut near = [0; 4];
                near[..entries.len()].copy_from_slice(entries);
                *self = Published::Near(near);
            }
        }
    }

    /// Tells `clock` all it knows.
    pub fn join_into(&self, clock: &mut Vector) {
        let entries = match self {
            Published::Near(near) => &near[..],
            Published::Far(far) => far,
        };
        for (index, &epoch) in entries.iter().enumerate().filter(|&(_, &epoch)| epoch != 0) {
            clock.raise(index, epoch, &mut false);
        }
    }
}

/// The last things of a kind, as many as the limit allows.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    items: Vec<T>,
    /// Where the oldest is.
    start: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { items: Vec::new(), start: 0 }
    }
}

impl<T: Default> Ring<T> {
    /// Where the newest is to be written, over the oldest if there is no room for more; and was that one
    /// forgotten?
    #[inline]
    pub fn next(&mut self, limit: Limit) -> (&mut T, bool) {
        if limit.is_reached(self.items.len()) {
            let at = self.start;
            self.start = if at + 1 == self.items.len() { 0 } else { at + 1 };
            return (&mut self.items[at], true);
        }
        if self.items.capacity() == 0 {
            self.items.reserve_exact(2);
        }
        self.items.push(T::default());
        let last = self.items.len() - 1;
        (&mut self.items[last], false)
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// By age, the oldest first.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let at = self.start + index;
        let wrapped = if at >= self.items.len() { at - self.items.len() } else { at };
        if index < self.items.len() { self.items.get(wrapped) } else { None }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.items = Vec::new();
        self.start = 0;
    }
}

/// The last writes to a location, oldest first. An initial value is a write without a number.
#[derive(Clone, Debug, Default)]
pub struct History(Ring<Write>);

impl History {
    /// Where the newest write is to be written. The oldest beyond `limit` is forgotten.
    #[inline]
    pub fn next(&mut self, limit: Limit) -> &mut Write {
        self.0.next(limit).0
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The write with this number, or the first remembered one after it.
    pub fn at(&self, position: u32) -> Option<&Write> {
        let first = self.0.get(0)?.stamp.position();
        self.0.get(position.saturating_sub(first) as usize)
    }

    /// The remembered writes with numbers in `known..required`, each with the write after it: those a
    /// thread may still read although it must have come after write `required`.
    pub fn between(&self, known: u32, required: u32) -> impl Iterator<Item = (&Write, &Write)> {
        let first = self.0.get(0).map_or(0, |write| write.stamp.position());
        let start = known.saturating_sub(first) as usize;
        let count = required.saturating_sub(known.max(first)) as usize;
        let indices = start..start.saturating_add(count).min(self.0.len().saturating_sub(1));
        indices.filter_map(|index| Some((self.0.get(index)?, self.0.get(index + 1)?)))
    }

    /// Is the write with this number still remembered?
    pub fn reaches(&self, position: u32) -> bool {
        self.0.get(0).is_some_and(|write| write.stamp.position() <= position)
    }
}
