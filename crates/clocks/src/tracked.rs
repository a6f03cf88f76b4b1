//! Location clocks that know where they come from, so that most joins need not look at them.
//!
//! A join of two persistent trees costs what differs, which is nearly everything when two threads write
//! all over memory. But a clock consists of what threads knew at some point: number the changes a thread
//! makes to its own clock, and remember for every clock up to which change of which thread it has
//! everything. If one side has nothing that the other lacks by these numbers, which are a vector clock, the
//! join is the other.

use crate::location::{Clock, Clocks, Stamp};
use crate::vector::Vector;

/// A location clock with its provenance.
#[derive(Clone, Debug, Default)]
pub struct Tracked {
    clock: Clock,
    /// Everything that thread u knew at its change number `has[u]` is in the clock.
    has: Vector,
    /// Is there something in the clock that `has` does not account for?
    stray: bool,
}

impl Tracked {
    /// The entry for a location.
    #[inline]
    pub fn get(&self, clocks: &Clocks, location: u32) -> Stamp {
        clocks.get(&self.clock, location)
    }

    /// Are both the same tree?
    #[inline]
    pub fn same(&self, other: &Tracked) -> bool {
        self.clock.same(&other.clock)
    }

    /// Learns all that `other` knows.
    #[inline]
    pub fn join(&mut self, clocks: &mut Clocks, other: &Tracked) {
        if !other.stray && self.has.includes(&other.has) {
            return;
        }
        if !self.stray && other.has.includes(&self.has) {
            self.assign(clocks, other);
        } else {
            clocks.join(&mut self.clock, &other.clock);
            self.has.join(&other.has.0);
            self.stray |= other.stray;
        }
    }

    /// Becomes what `other` is.
    #[inline]
    pub fn assign(&mut self, clocks: &mut Clocks, other: &Tracked) {
        clocks.assign(&mut self.clock, &other.clock);
        self.has.0.clone_from(&other.has.0);
        self.stray = other.stray;
    }

    /// Another one like it.
    pub fn share(&self, clocks: &mut Clocks) -> Tracked {
        Tracked { clock: clocks.share(&self.clock), has: self.has.clone(), stray: self.stray }
    }

    /// Forgets everything.
    pub fn clear(&mut self, clocks: &mut Clocks) {
        clocks.clear(&mut self.clock);
        self.has.0.clear();
        self.stray = false;
    }

    /// A thread changes its own clock; `change` is the number of that change, greater than all before.
    #[inline]
    pub fn set_own(
        &mut self,
        clocks: &mut Clocks,
        location: u32,
        stamp: Stamp,
        thread: usize,
        change: u64,
    ) {
        clocks.set(&mut self.clock, location, stamp);
        // What came astray is from now on part of what this thread knew.
        self.has.set(thread, change);
        self.stray = false;
    }

    /// An entry that comes from nowhere.
    pub fn set_stray(&mut self, clocks: &mut Clocks, location: u32, stamp: Stamp) {
        clocks.set(&mut self.clock, location, stamp);
        self.stray = true;
    }
}
