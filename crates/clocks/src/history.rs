//! The last writes to a location.
//!
//! Whether a compare-and-swap, or a loop that waits for a value, can go wrong depends on which *values*
//! stale writes have. The paper keeps clocks for pairs of a location and a critical value, which must
//! be announced. But the writes to a location are totally ordered: thread τ's value clock for ⟨x, v⟩ is
//! the number of the last write of v among those before `T_SC(τ)(x)`. So it is enough to remember the
//! writes themselves, and nobody need announce anything. A history has a limit; what is older is
//! forgotten, and questions about it are answered as the asker says.

use crate::order::Order;
use crate::vector::Vector;

/// How much of the past is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit(usize);

impl Limit {
    /// So many are remembered, but two at least, and not more than 16 bits can count.
    pub const fn new(most: usize) -> Limit {
        Limit(if most < 2 {
            2
        } else if most > u16::MAX as usize {
            u16::MAX as usize
        } else {
            most
        })
    }

    /// How many are remembered.
    #[inline]
    pub fn most(self) -> usize {
        self.0
    }

    /// Is there no room for more than so many?
    #[inline]
    pub fn is_reached(self, count: usize) -> bool {
        count >= self.most()
    }
}

/// A write as a location remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write<'a> {
    /// What it wrote.
    pub value: u64,
    /// Where in the program; 0 for an initial value.
    pub site: u32,
    /// By whom.
    pub thread: u16,
    /// In which order.
    pub order: Order,
    /// Was it a read-modify-write, so that nothing fits between it and the write before?
    pub is_update: bool,
    /// What it published to whoever reads it: an epoch for each of the first threads.
    pub published: &'a [u64],
}

impl Write<'_> {
    /// A location's first value, which nobody wrote.
    pub fn initial(value: u64) -> Self {
        let order = Order::Relaxed;
        Write { value, site: 0, thread: 0, order, is_update: false, published: &[] }
    }

    /// All but the value and what is published, in a word.
    #[inline]
    fn details(&self) -> u64 {
        u64::from(self.site) << 32
            | u64::from(self.thread) << 16
            | (self.order as u64) << 8
            | u64::from(self.is_update)
    }
}

/// Tells `clock` all that was published.
pub(crate) fn join_into(published: &[u64], clock: &mut Vector) {
    for (index, &epoch) in published.iter().enumerate().filter(|&(_, &epoch)| epoch != 0) {
        clock.raise(index, epoch, &mut false);
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
    /// With room for two: often there is no more than one.
    pub(crate) fn small() -> Self {
        Ring { items: Box::new([T::default(), T::default()]), ..Ring::default() }
    }

    /// Where the newest is to be written, over the oldest if there is no room for more.
    #[inline(always)]
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
        let room = (2 * self.items.len()).max(FIRST_ITEMS).min(limit.most());
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
}

/// The last writes to a location, oldest first. An initial value is a write without a number.
///
/// There may be millions of locations, so a write takes two words and one for every thread that there is: no
/// number, because writes are numbered one after the other, and no room for threads that never came.
///
/// A location that is never written has its initial value here and no words at all. The first write makes room for
/// as many as most locations ever have: growing step by step would leave blocks of all sizes behind, and where all
/// locations grow, nobody has any use for them.
#[derive(Clone, Debug, Default)]
pub struct History {
    words: Box<[u64]>,
    /// The initial value, as long as there is no room for anything.
    initial: u64,
    /// The number of the oldest.
    first: u32,
    /// How many there are.
    count: u16,
    /// Where the oldest is.
    start: u16,
    /// How many there is room for.
    room: u16,
    /// Of how many threads each says what was published.
    width: u16,
    /// How many of the last writes each wrote a higher value than the one before.
    rising: u16,
}

/// The words of a write before what it published.
const HEAD: usize = 2;
/// How many there is room for at first.
const FIRST_ROOM: usize = 5;
/// The same for what a thread saw of a location.
const FIRST_ITEMS: usize = 4;
/// The least number of threads that there is room for: two, and the one that started them.
const NARROWEST: usize = 3;

impl History {
    /// Forgets everything; this is the value from now on, and as good as a write with this number.
    pub fn begin(&mut self, position: u32, value: u64) {
        *self = History { initial: value, first: position, count: 1, ..History::default() };
    }

    /// Adds a write with the number after the newest; there must have been a [beginning](History::begin). The oldest beyond `limit` is
    /// forgotten. Returns where to write what it published, zeroes so far, for `width` threads at least; what
    /// `write` says of that is not looked at.
    #[inline(always)]
    pub fn add(&mut self, limit: Limit, write: &Write<'_>, width: usize) -> &mut [u64] {
        let full = self.count >= self.room && !limit.is_reached(usize::from(self.count));
        if usize::from(self.width) < width || full {
            self.make_room(limit, width);
        }
        let index = if self.count == self.room {
            let oldest = self.start;
            self.start = if oldest + 1 == self.room { 0 } else { oldest + 1 };
            self.first += 1;
            oldest
        } else {
            self.count += 1;
            self.count - 1
        };
        let stride = HEAD + usize::from(self.width);
        let entry = &mut self.words[usize::from(index) * stride..][..stride];
        (entry[0], entry[1]) = (write.value, write.details());
        &mut entry[HEAD..]
    }

    /// The next write will write a higher value than the newest did, or it will not.
    #[inline(always)]
    pub fn rises(&mut self, rises: bool) {
        self.rising = if rises { self.rising.saturating_add(1) } else { 0 };
    }

    /// Is every remembered value higher than the one before, as of counters? Then no two are the same.
    #[inline]
    pub fn is_rising(&self) -> bool {
        self.rising >= self.count.saturating_sub(1)
    }

    /// Makes room for one more if the limit allows, and for so many threads.
    #[inline(never)]
    fn make_room(&mut self, limit: Limit, width: usize) {
        let (width, most) = (width.max(usize::from(self.width)).max(NARROWEST), limit.most());
        let room = usize::from(self.room);
        let full = self.count >= self.room;
        let room = if full { (2 * room).max(FIRST_ROOM).min(most) } else { room };
        if room == usize::from(self.room) && width == usize::from(self.width) {
            return;
        }
        let stride = HEAD + width;
        let mut words = vec![0; room * stride].into_boxed_slice();
        if self.room == 0 {
            (words[0], words[1]) = (self.initial, Write::initial(0).details());
        }
        for index in 0..usize::from(self.count.min(self.room)) {
            let old = self.entry(index);
            words[index * stride..][..old.len()].copy_from_slice(old);
        }
        (self.words, self.start) = (words, 0);
        (self.room, self.width) = (room as u16, width as u16);
    }

    /// The words of a write, by age.
    #[inline]
    fn entry(&self, index: usize) -> &[u64] {
        let (at, room) = (usize::from(self.start) + index, usize::from(self.room));
        let stride = HEAD + usize::from(self.width);
        &self.words[(if at >= room { at - room } else { at }) * stride..][..stride]
    }

    /// By age, the oldest first.
    fn get(&self, index: usize) -> Option<Write<'_>> {
        if index >= usize::from(self.count) {
            return None;
        }
        if self.room == 0 {
            return Some(Write::initial(self.initial));
        }
        let entry = self.entry(index);
        Some(Write {
            value: entry[0],
            site: (entry[1] >> 32) as u32,
            thread: (entry[1] >> 16) as u16,
            order: Order::from_number((entry[1] >> 8 & 0xff) as u32),
            is_update: entry[1] & 1 != 0,
            published: &entry[HEAD..],
        })
    }

    /// The write with this number, or the first remembered one after it.
    pub fn at(&self, position: u32) -> Option<Write<'_>> {
        self.get(position.saturating_sub(self.first) as usize)
    }

    /// The remembered writes with numbers in `known..required`, each with the write after it: those a
    /// thread may still read although it must have come after write `required`.
    pub fn between(
        &self,
        known: u32,
        required: u32,
    ) -> impl Iterator<Item = (Write<'_>, Write<'_>)> {
        let start = known.saturating_sub(self.first) as usize;
        let count = required.saturating_sub(known.max(self.first)) as usize;
        let last = usize::from(self.count).saturating_sub(1);
        let indices = start..start.saturating_add(count).min(last);
        indices.filter_map(|index| Some((self.get(index)?, self.get(index + 1)?)))
    }

    /// Is the write with this number still remembered?
    pub fn reaches(&self, position: u32) -> bool {
        self.count > 0 && self.first <= position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a history that is said to rise although a value comes twice: what an older write with the newest value
    /// published would not be looked for, and a load that may not have synchronised would be taken for one that has.
    #[test]
    fn rising_values_are_different() {
        let (mut state, mut rose, mut fell) = (7u64, 0, 0);
        for limit in [2, 3, 8] {
            let mut history = History::default();
            history.begin(0, 3);
            let mut values = vec![3u64];
            for _ in 0..2_000 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let last = values[values.len() - 1];
                let value = match (state >> 33) % 8 {
                    0 => last,
                    1 => last.saturating_sub(2),
                    _ => last + 1,
                };
                history.rises(value > last);
                let order = Order::Relaxed;
                let write =
                    Write { value, site: 1, thread: 0, order, is_update: false, published: &[] };
                history.add(Limit::new(limit), &write, 1);
                values.push(value);
                let kept = &values[values.len() - limit.min(values.len())..];
                let rises = kept.windows(2).all(|pair| pair[0] < pair[1]);
                assert_eq!(history.is_rising(), rises, "{limit}: {kept:?}");
                *(if rises { &mut rose } else { &mut fell }) += 1;
            }
        }
        assert!(rose > 500 && fell > 500, "{rose} {fell}");
    }

    /// Catches writes that change places, or lose what they published, where a history grows, goes round, or has to
    /// make room for more threads after it went round.
    #[test]
    fn histories_are_the_last_of_all_writes() {
        for (limit, most_threads) in [(2, 4), (5, 9), (8, 20), (64, 40)] {
            let mut history = History::default();
            history.begin(6, 77);
            assert_eq!(history.at(6), Some(Write::initial(77)));
            let mut all: Vec<(u64, u32, bool, Vec<u64>)> = Vec::new();
            for step in 0..300u64 {
                let width = (step as usize * most_threads / 300).max(1);
                let published: Vec<u64> = (0..width as u64).map(|t| step * 100 + t).collect();
                let (site, is_update) = (step as u32 ^ 0x8000_0001, step % 3 == 0);
                let (thread, order) = (step as u16, Order::from_number(step as u32 % 6));
                let write = Write { value: !step, site, thread, order, is_update, published: &[] };
                let out = history.add(Limit::new(limit), &write, width);
                out.fill(0);
                out[..width].copy_from_slice(&published);
                all.push((!step, site, is_update, published));
                let kept = all.len().min(limit);
                assert_eq!(usize::from(history.count), (all.len() + 1).min(limit));
                if all.len() < limit {
                    let first = history.at(6).expect("the initial value is remembered");
                    assert_eq!((first.value, first.site, first.is_update), (77, 0, false));
                    assert!(first.published.iter().all(|&epoch| epoch == 0));
                }
                for (index, (value, site, is_update, published)) in
                    all[all.len() - kept..].iter().enumerate()
                {
                    let position = 7 + (all.len() - kept + index) as u32;
                    let write = history.at(position).expect("it is remembered");
                    assert_eq!((write.value, write.site), (*value, *site), "step {step}");
                    assert_eq!(write.is_update, *is_update);
                    assert_eq!(write.order, Order::from_number(!*value as u32 % 6));
                    assert_eq!(write.thread, !*value as u16);
                    assert_eq!(write.published[..published.len()], published[..]);
                    assert!(write.published[published.len()..].iter().all(|&epoch| epoch == 0));
                    assert!(history.reaches(position));
                }
                assert_eq!(history.reaches(6 + (all.len() - kept) as u32), all.len() < limit);
            }
        }
    }
}
