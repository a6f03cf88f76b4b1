//! The threads that accessed a location, and what each of them saw there.
//!
//! Most locations are shared by two threads, and some also by the one that started them. They have a cache line each in the
//! location itself; others are elsewhere, in cache lines of their own as well: threads that do not write to each other's
//! lines do not wait for each other. For the same reason, who they are is kept beside them.

use crate::knowledge::Seen;
use crate::shadow::MOST_THREADS;
use crate::{Site, Tid};

/// How many are in the location itself.
const NEAR: usize = 3;
/// No thread's number.
const NOBODY: Tid = Tid::MAX;
const _: () = assert!(MOST_THREADS <= NOBODY as usize);

/// A thread that accessed a location. It writes no cache line but its own here.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub seen: Seen,
    /// Its time after its last access.
    pub time: u64,
    pub touched: Touched,
}

const _: () = assert!(size_of::<Visitor>() == 64, "one cache line");

/// The epochs and sites of a thread's last read and write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched {
    pub read: u64,
    pub written: u64,
    pub read_at: Site,
    pub written_at: Site,
}

impl Visitor {
    fn new(tid: Tid) -> Visitor {
        Visitor { seen: Seen::new(tid), time: 0, touched: Touched::default() }
    }
}

/// One that is elsewhere.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Far(Visitor);

/// Who has a place in the location itself. It is kept apart from the places, where everybody looks and hardly anyone writes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Guests {
    /// Their numbers, then [`NOBODY`].
    whose: [Tid; NEAR],
    count: u16,
}

const _: () = assert!(size_of::<Guests>() == 8);

impl Default for Guests {
    fn default() -> Self {
        Guests { whose: [NOBODY; NEAR], count: 0 }
    }
}

impl Guests {
    /// A thread's place.
    #[inline(always)]
    pub(crate) fn place(&self, tid: Tid) -> Option<usize> {
        (0..NEAR).find(|&index| self.whose[index] == tid)
    }

    fn count(&self) -> usize {
        usize::from(self.count)
    }
}

/// All of a location's.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Visitors {
    /// A thin pointer: most locations have none.
    #[allow(clippy::box_collection)]
    far: Option<Box<Vec<Far>>>,
    near: [Visitor; NEAR],
}

impl Default for Visitors {
    fn default() -> Self {
        Visitors { far: None, near: [NOBODY; NEAR].map(Visitor::new) }
    }
}

impl Visitors {
    /// All of them.
    #[inline]
    pub(crate) fn iter(&self, guests: &Guests) -> impl Iterator<Item = &Visitor> {
        let far = self.far.iter().flat_map(|far| far.iter().map(|Far(visitor)| visitor));
        self.near[..guests.count()].iter().chain(far)
    }

    /// A thread's.
    #[inline]
    pub(crate) fn of(&self, guests: &Guests, tid: Tid) -> Option<&Visitor> {
        self.iter(guests).find(|visitor| visitor.seen.whose == tid)
    }

    /// A thread's, by a number for [`Visitors::at`]. It is new if the thread never came.
    #[inline(always)]
    pub(crate) fn number(&mut self, guests: &mut Guests, tid: Tid) -> usize {
        guests.place(tid).unwrap_or_else(|| self.far_number(guests, tid))
    }

    #[inline(never)]
    fn far_number(&mut self, guests: &mut Guests, tid: Tid) -> usize {
        let far = self.far.as_ref().map_or(&[][..], |far| &far[..]);
        let found = far.iter().position(|Far(visitor)| visitor.seen.whose == tid);
        found.map_or_else(|| self.add(guests, tid), |index| NEAR + index)
    }

    #[cold]
    fn add(&mut self, guests: &mut Guests, tid: Tid) -> usize {
        let count = guests.count();
        if count < NEAR {
            (self.near[count], guests.whose[count]) = (Visitor::new(tid), tid);
            guests.count += 1;
            return count;
        }
        let far = self.far.get_or_insert_default();
        if far.len() == far.capacity() {
            // One more is often the last.
            far.reserve_exact(1 + far.len() / 2);
        }
        far.push(Far(Visitor { seen: Seen::little(tid), ..Visitor::new(tid) }));
        NEAR + far.len() - 1
    }

    /// The one with this number.
    #[inline(always)]
    pub(crate) fn at(&mut self, number: usize) -> &mut Visitor {
        if number < NEAR { &mut self.near[number] } else { self.far_at(number - NEAR) }
    }

    #[cold]
    fn far_at(&mut self, number: usize) -> &mut Visitor {
        &mut self.far.get_or_insert_default()[number].0
    }
}
