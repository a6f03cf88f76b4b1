//! Which locations a thread may still access.
//!
//! Partial-order reduction asks: can anything another thread does from here on conflict with this
//! access? [`Future`] answers for every program counter.

use ir::ids::Loc;
use ir::program::{Instr, Thread};

/// A set of locations. It has 256 bits; locations that share a bit are confused with each other,
/// which makes the answer "may conflict" more often than needed but never less.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocSet([u64; 4]);

impl LocSet {
    /// Adds a location.
    pub fn insert(&mut self, loc: Loc) {
        self.0[loc.index() / 64 % 4] |= 1 << (loc.0 % 64);
    }

    /// May it be a member?
    #[inline(always)]
    pub fn contains(&self, loc: Loc) -> bool {
        self.0[loc.index() / 64 % 4] >> (loc.0 % 64) & 1 == 1
    }

    /// May the sets have a member in common?
    #[inline(always)]
    pub fn intersects(&self, other: &LocSet) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// Adds all members of another set; says whether there was a new one.
    pub fn absorb(&mut self, other: &LocSet) -> bool {
        let before = self.0;
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        before != self.0
    }
}

/// What a thread may access from some point on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Future {
    /// Locations it may read or write.
    pub accesses: LocSet,
    /// Locations it may write.
    pub writes: LocSet,
}

impl Future {
    /// May an access of the one conflict with an access of the other: same location, one writes?
    #[inline(always)]
    pub fn conflicts(&self, other: &Future) -> bool {
        self.writes.intersects(&other.accesses) || self.accesses.intersects(&other.writes)
    }
}

/// For every program counter, what the thread may access from there on. `fence` is the hidden
/// location that updating fences access, in memories that have one.
pub fn futures(thread: &Thread, fence: Option<Loc>) -> Vec<Future> {
    spread(thread, own_accesses(thread, fence), |_| true)
}

/// For every program counter, what the thread may access *first* from there on, after steps that
/// access nothing.
pub fn next_accesses(thread: &Thread, fence: Option<Loc>) -> Vec<Future> {
    let own = own_accesses(thread, fence);
    let silent: Vec<bool> = own.iter().map(|own| *own == Future::default()).collect();
    spread(thread, own, |pc| silent[pc])
}

/// What each step itself accesses.
fn own_accesses(thread: &Thread, fence: Option<Loc>) -> Vec<Future> {
    thread
        .code
        .iter()
        .map(|step| {
            let mut own = Future::default();
            for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
                own.accesses.insert(loc);
                if step.instr.may_write() {
                    own.writes.insert(loc);
                }
            }
            if let (Instr::Fence(mode), Some(fence)) = (&step.instr, fence)
                && mode.updates()
            {
                own.accesses.insert(fence);
                own.writes.insert(fence);
            }
            own
        })
        .collect()
}

/// Adds to each step's accesses those of its successors, where `passes` lets them through.
fn spread(
    thread: &Thread,
    mut futures: Vec<Future>,
    passes: impl Fn(usize) -> bool,
) -> Vec<Future> {
    loop {
        let mut changed = false;
        for (pc, step) in thread.code.iter().enumerate().rev().filter(|(pc, _)| passes(*pc)) {
            for next in step.successors() {
                let after = futures[next.index()];
                changed |= futures[pc].accesses.absorb(&after.accesses);
                changed |= futures[pc].writes.absorb(&after.writes);
            }
        }
        if !changed {
            return futures;
        }
    }
}
