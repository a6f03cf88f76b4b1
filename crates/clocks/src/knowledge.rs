//! Location clocks as vector clocks: for every thread, how many of its accesses someone knows of.
//!
//! The paper's clocks map every location to the number of a write and are joined by maximum. Programs have
//! tens of thousands of locations, and such a join costs what differs. But nobody learns of a single
//! write: who synchronises with a thread learns all that the thread knew at that point, and what it knew is
//! the join of what its own accesses showed it and of what it learned before. So a clock is determined by
//! *how many accesses of each thread it includes*, and there are few threads. What it says about a
//! location is found where it is asked: the location keeps, per thread, which of its writes the thread's
//! accesses showed it ([`Seen`]), and the clock's entry is the newest one among those that the clock
//! includes. The argument needs one exception: a seq_cst write tells all later fences its own number, and
//! nothing else. These writes are accesses of one more thread, the *order S* of C and C++.
//!
//! The *time* of a thread counts what it does that matters to others: writes, fences, locks, and reads that
//! showed it something new.

use crate::Tid;
use crate::history::{Limit, Ring};
use crate::vector::Vector;

/// The number of a write to a location: how many came before it in modification order, and how many
/// of these were not read-modify-writes.
///
/// The paper keeps the second count in clocks of its own (the RMW clocks). It never falls when the
/// first rises, so the maximum of the pairs is the pair of the maxima, and one clock carries both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp(u64);

impl Stamp {
    /// The initial value's.
    pub const INITIAL: Stamp = Stamp(0);
    /// The last number there is.
    pub const LAST: u32 = u32::MAX - 1;
    /// No write's position.
    const NOWHERE: u32 = u32::MAX;

    /// As a number, different for every write.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The stamp that is this number.
    #[inline]
    pub fn from_bits(bits: u64) -> Stamp {
        Stamp(bits)
    }

    /// How many writes came before.
    #[inline]
    pub fn position(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How many stores, not counting read-modify-writes, up to this write.
    #[inline]
    pub fn stores(self) -> u32 {
        self.0 as u32
    }

    /// The stamp of the next write.
    #[inline]
    pub fn next(self, is_update: bool) -> Stamp {
        Stamp(self.0 + (1 << 32) + u64::from(!is_update))
    }
}

/// A location clock: up to which time it includes the accesses of each thread, and up to which number those
/// of the order S.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Knowledge {
    /// Of the threads.
    pub threads: Vector,
    /// Of the order S.
    pub order: u64,
}

impl Knowledge {
    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Knowledge) {
        self.threads.join(&other.threads);
        self.order = self.order.max(other.order);
    }

    /// Becomes what `other` is.
    pub fn assign(&mut self, other: &Knowledge) {
        self.threads.assign(&other.threads);
        self.order = other.order;
    }
}

/// What accesses of one thread to one location showed it: the time of an access, and the newest write
/// then. Accesses that showed nothing new are left out, and so are the oldest beyond a limit.
#[derive(Clone, Debug)]
pub struct Seen {
    shown: Ring<(u64, Stamp)>,
    /// The position of the newest write that was shown.
    newest: u32,
    /// Whose accesses.
    pub whose: Tid,
    /// Had the thread acquired all that there was to acquire when it looked last?
    pub acquired: bool,
}

/// What to make of accesses too old to be remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubtful {
    /// They showed as much as possible.
    Most,
    /// They showed nothing.
    Least,
}

impl Seen {
    /// Nothing yet.
    pub fn new(whose: Tid) -> Seen {
        Seen { shown: Ring::default(), newest: Stamp::NOWHERE, whose, acquired: false }
    }

    /// The same of a thread that is not likely to see much.
    pub(crate) fn little(whose: Tid) -> Seen {
        Seen { shown: Ring::small(), ..Seen::new(whose) }
    }

    /// Was this write the newest when the thread looked last?
    #[inline]
    pub fn is_newest(&self, stamp: Stamp) -> bool {
        self.newest == stamp.position()
    }

    /// The access at this time showed this write.
    #[inline(always)]
    pub fn show(&mut self, time: u64, stamp: Stamp, limit: Limit) {
        if self.is_newest(stamp) {
            return;
        }
        self.newest = stamp.position();
        *self.shown.next(limit) = (time, stamp);
    }

    /// The newest write shown by accesses up to this time. A thread's accesses to a location are at different times,
    /// one after the other, so what it saw last is looked at first and the rest is halved.
    #[inline]
    pub fn up_to(&self, time: u64, doubtful: Doubtful) -> Stamp {
        match self.shown.get(self.shown.len().wrapping_sub(1)) {
            Some(&(shown, stamp)) if shown <= time => stamp,
            None => Stamp::INITIAL,
            _ => self.earlier(time, doubtful),
        }
    }

    /// The same, if the thread accessed the location later as well.
    #[inline(never)]
    fn earlier(&self, time: u64, doubtful: Doubtful) -> Stamp {
        let (mut from, mut to) = (0, self.shown.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.shown.get(middle) {
                Some(&(shown, _)) if shown <= time => from = middle + 1,
                _ => to = middle,
            }
        }
        if let Some(&(_, stamp)) = from.checked_sub(1).and_then(|index| self.shown.get(index)) {
            return stamp;
        }
        match (doubtful, self.shown.get(0)) {
            (Doubtful::Most, Some(&(_, oldest))) if self.shown.forgot() && time > 0 => oldest,
            _ => Stamp::INITIAL,
        }
    }
}
