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
    /// How many are remembered: two at least, and not more than 16 bits can count.
    #[inline]
    pub fn most(self) -> usize {
        self.0.clamp(2, usize::from(u16::MAX))
    }

    /// Is there no room for more than so many?
    #[inline]
    pub fn is_reached(self, count: usize) -> bool {
        count >= self.most()
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

/// The last things of a kind, as many as the limit allows, in little room: a location's are looked at with
/// every access.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    items: Box<[T]>,
    /// How many there are.
    count: u16,
    /// Where the oldest is.
    start: u16,
    /// Was the oldest ever written over?
    forgot: bool,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { items: Box::default(), count: 0, start: 0, forgot: false }
    }
}

impl<T: Default> Ring<T> {
    /// Where the newest is to be written, over the oldest if there is no room for more.
    #[inline]
    pub(crate) fn next(&mut self, limit: Limit) -> &mut T {
        let count = usize::from(self.count);
        if limit.is_reached(count) {
            let at = usize::from(self.start);
            self.start = if at + 1 == count { 0 } else { self.start + 1 };
            self.forgot = true;
            return &mut self.items[at];
        }
        if count == self.items.len() {
            self.grow(limit);
        }
        self.count += 1;
        &mut self.items[count]
    }

    #[cold]
    fn grow(&mut self, limit: Limit) {
        let room = (2 * self.items.len()).max(2).min(limit.most());
        let mut items = std::mem::take(&mut self.items).into_vec();
        items.reserve_exact(room - items.len());
        items.resize_with(room, T::default);
        self.items = items.into();
    }

    /// Was anything forgotten?
    pub(crate) fn forgot(&self) -> bool {
        self.forgot
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// By age, the oldest first.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let at = usize::from(self.start) + index;
        let wrapped = if at >= self.len() { at - self.len() } else { at };
        if index < self.len() { self.items.get(wrapped) } else { None }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Ring::default();
    }
}

/// The last writes to a location, oldest first. An initial value is a write without a number.
#[derive(Clone, Debug, Default)]
pub struct History(Ring<Write>);

impl History {
    /// Where the newest write is to be written. The oldest beyond `limit` is forgotten.
    #[inline]
    pub fn next(&mut self, limit: Limit) -> &mut Write {
        self.0.next(limit)
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
