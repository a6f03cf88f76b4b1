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

use crate::history::Limit;
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
    pub const LAST: u32 = u32::MAX;

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

/// Which thread's accesses: entry 0 of clocks is the order S.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whose(u32);

impl Whose {
    /// The order of sequentially consistent accesses and fences.
    pub const S: Whose = Whose(0);

    /// A thread.
    #[inline]
    pub fn thread(tid: u16) -> Whose {
        Whose(u32::from(tid) + 1)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A location clock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Knowledge(Vector);

impl Knowledge {
    /// Up to which access it includes those of a thread.
    #[inline]
    pub fn of(&self, whose: Whose) -> u64 {
        self.0.get(whose.index())
    }

    /// Includes accesses up to this one.
    #[inline]
    pub fn include(&mut self, whose: Whose, access: u64) {
        self.0.set(whose.index(), access);
    }

    /// Learns all that `other` knows.
    #[inline]
    pub fn join(&mut self, other: &Knowledge) {
        self.0.join(&other.0);
    }

    /// Becomes what `other` is.
    #[inline]
    pub fn assign(&mut self, other: &Knowledge) {
        self.0.assign(&other.0);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// What accesses of one thread to one location showed it: the number of an access, and the newest write
/// then. Accesses that showed nothing new are left out, and so are the oldest beyond a limit.
#[derive(Clone, Debug)]
pub struct Seen {
    whose: Whose,
    /// Oldest first.
    shown: Vec<(u64, Stamp)>,
    forgotten: bool,
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
    /// Of a thread.
    pub fn new(whose: Whose) -> Seen {
        Seen { whose, shown: Vec::new(), forgotten: false }
    }

    /// Whose accesses.
    #[inline]
    pub fn whose(&self) -> Whose {
        self.whose
    }

    /// The access with this number showed this write.
    #[inline]
    pub fn show(&mut self, access: u64, stamp: Stamp, limit: Limit) {
        if self.shown.last().is_some_and(|&(_, newest)| newest == stamp) {
            return;
        }
        if limit.is_reached(self.shown.len()) {
            self.shown.remove(0);
            self.forgotten = true;
        }
        self.shown.push((access, stamp));
    }

    /// The newest write shown by accesses up to this one.
    #[inline]
    pub fn up_to(&self, access: u64, doubtful: Doubtful) -> Stamp {
        for &(number, stamp) in self.shown.iter().rev() {
            if number <= access {
                return stamp;
            }
        }
        match (doubtful, self.shown.first()) {
            (Doubtful::Most, Some(&(_, oldest))) if self.forgotten && access > 0 => oldest,
            _ => Stamp::INITIAL,
        }
    }
}
