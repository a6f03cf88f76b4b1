//! The threads that accessed a location, and what each of them saw there.
//!
//! Most locations are shared by two threads. They have a cache line each in the location itself; others are
//! elsewhere.

use crate::knowledge::Seen;
use crate::{Site, Tid};

/// How many are in the location itself.
const NEAR: usize = 2;

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

/// All of a location's.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Visitors {
    /// A thin pointer: most locations have none.
    #[allow(clippy::box_collection)]
    far: Option<Box<Vec<Visitor>>>,
    near_count: usize,
    near: [Visitor; NEAR],
}

impl Default for Visitors {
    fn default() -> Self {
        Visitors { far: None, near_count: 0, near: [0, 0].map(Visitor::new) }
    }
}

impl Visitors {
    /// All of them.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Visitor> {
        self.near[..self.near_count].iter().chain(self.far.iter().flat_map(|far| far.iter()))
    }

    /// A thread's.
    #[inline]
    pub(crate) fn of(&self, tid: Tid) -> Option<&Visitor> {
        self.iter().find(|visitor| visitor.seen.whose == tid)
    }

    /// A thread's, by a number for [`Visitors::at`]. It is new if the thread never came.
    #[inline(always)]
    pub(crate) fn number(&mut self, tid: Tid) -> usize {
        self.near(tid).unwrap_or_else(|| self.far_number(tid))
    }

    /// The same, if it is in the location itself.
    #[inline(always)]
    pub(crate) fn near(&self, tid: Tid) -> Option<usize> {
        let is = |index: usize| self.near[index].seen.whose == tid && self.near_count > index;
        (0..NEAR).find(|&index| is(index))
    }

    #[inline(never)]
    fn far_number(&mut self, tid: Tid) -> usize {
        let far = self.far.as_ref().map_or(&[][..], |far| &far[..]);
        let found = far.iter().position(|visitor| visitor.seen.whose == tid);
        found.map_or_else(|| self.add(tid), |index| NEAR + index)
    }

    #[cold]
    fn add(&mut self, tid: Tid) -> usize {
        if self.near_count < NEAR {
            self.near[self.near_count] = Visitor::new(tid);
            self.near_count += 1;
            return self.near_count - 1;
        }
        let far = self.far.get_or_insert_default();
        if far.len() == far.capacity() {
            // A third is often the last.
            far.reserve_exact(1 + far.len() / 2);
        }
        far.push(Visitor { seen: Seen::little(tid), ..Visitor::new(tid) });
        NEAR + far.len() - 1
    }

    /// The one with this number.
    #[inline(always)]
    pub(crate) fn at(&mut self, number: usize) -> &mut Visitor {
        if number < NEAR { &mut self.near[number] } else { self.far_at(number - NEAR) }
    }

    #[cold]
    fn far_at(&mut self, number: usize) -> &mut Visitor {
        &mut self.far.get_or_insert_default()[number]
    }
}
