//! Which locations a thread may still access.
//!
//! Partial-order reduction asks: can anything another thread does from here on conflict with this
//! access? [`Future`] answers for every program counter. What monitors may forget of a thread depends on what it may still
//! make use of: [`Uses`].

use crate::last_load::only;
use ir::ids::Loc;
use ir::program::{Instr, LocationKind, Program, Thread};
use smallvec::SmallVec;

/// A set of locations, or more: it has 256 bits, and locations that share a bit are confused with each other. That makes the
/// answer "may conflict" more often than needed but never less.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocSet([u64; 4]);

impl LocSet {
    /// The word and the bit of a location.
    #[inline(always)]
    fn bit(loc: Loc) -> (usize, u64) {
        (loc.index() / 64 % 4, 1 << (loc.0 % 64))
    }

    /// Adds a location.
    pub fn insert(&mut self, loc: Loc) {
        let (word, bit) = LocSet::bit(loc);
        self.0[word] |= bit;
    }

    /// May it be a member?
    #[inline(always)]
    pub fn contains(&self, loc: Loc) -> bool {
        let (word, bit) = LocSet::bit(loc);
        self.0[word] & bit != 0
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

/// A set of locations, exactly. 256 of them need no memory of their own.
#[derive(Clone, Debug, Default)]
pub struct Locations(SmallVec<[u64; 4]>);

impl Locations {
    fn insert(&mut self, loc: Loc) {
        let word = loc.index() / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (loc.0 % 64);
    }

    fn remove(&mut self, loc: Loc) {
        if let Some(word) = self.0.get_mut(loc.index() / 64) {
            *word &= !(1 << (loc.0 % 64));
        }
    }

    /// Is it a member?
    pub fn contains(&self, loc: Loc) -> bool {
        self.0.get(loc.index() / 64).is_some_and(|word| word >> (loc.0 % 64) & 1 == 1)
    }

    /// Adds all members of another set; says whether there was a new one.
    fn absorb(&mut self, other: &Locations) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut new = 0;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            new |= more & !*word;
            *word |= more;
        }
        new != 0
    }
}

/// What a thread may access from some point on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Future {
    /// Locations it may read or write.
    pub accesses: LocSet,
    /// Locations it may read, by a load, a wait or an update.
    pub reads: LocSet,
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
                if !matches!(step.instr, Instr::Store { .. }) {
                    own.reads.insert(loc);
                }
                if step.instr.may_write() {
                    own.writes.insert(loc);
                }
            }
            if let (Instr::Fence(mode), Some(fence)) = (&step.instr, fence)
                && mode.updates()
            {
                own.accesses.insert(fence);
                own.reads.insert(fence);
                own.writes.insert(fence);
            }
            own
        })
        .collect()
}

/// What a thread may still make use of, of all that a memory keeps for it: what is kept for a location is used by
/// the thread's next access there, and forgotten then, as a rule.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Locations whose next access by the thread may read, or is of a non-atomic location.
    pub reads: Locations,
    /// Locations whose next access by the thread may write.
    pub writes: Locations,
    /// Locations that the thread may read before it stores there itself.
    pub carried: Locations,
}

impl Uses {
    fn absorb(&mut self, other: &Uses) -> bool {
        let reads = self.reads.absorb(&other.reads);
        let writes = self.writes.absorb(&other.writes);
        self.carried.absorb(&other.carried) | reads | writes
    }
}

/// For every program counter, what the thread may make use of before the step there, and after it. `fence` is the hidden
/// location that updating fences access; `settles` says which accesses of an atomic location put an end to what is kept for it.
pub fn uses(
    program: &Program,
    thread: &Thread,
    fence: Option<Loc>,
    settles: impl Fn(&Instr) -> bool,
) -> Vec<[Uses; 2]> {
    let is_atomic = |loc: &Loc| program.locations[loc.index()].kind == LocationKind::Atomic;
    let mut uses = vec![<[Uses; 2]>::default(); thread.code.len()];
    loop {
        let mut changed = false;
        for (pc, step) in thread.code.iter().enumerate().rev() {
            let mut after = uses[pc][1].clone();
            for next in step.successors() {
                changed |= after.absorb(&uses[next.index()][0]);
            }
            let mut before = after.clone();
            let stores = matches!(step.instr, Instr::Store { .. });
            if let Some(loc) = step.instr.place().and_then(only).filter(is_atomic) {
                if settles(&step.instr) {
                    before.reads.remove(loc);
                    before.writes.remove(loc);
                }
                if stores {
                    before.carried.remove(loc);
                }
            }
            for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
                if !stores {
                    before.carried.insert(loc);
                }
                if !stores || !is_atomic(&loc) {
                    before.reads.insert(loc);
                }
                if step.instr.may_write() {
                    before.writes.insert(loc);
                }
            }
            if let (Instr::Fence(mode), Some(fence)) = (&step.instr, fence)
                && mode.updates()
            {
                before.carried.insert(fence);
            }
            changed |= uses[pc][0].absorb(&before);
            uses[pc][1] = after;
        }
        if !changed {
            return uses;
        }
    }
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
                changed |= futures[pc].reads.absorb(&after.reads);
                changed |= futures[pc].writes.absorb(&after.writes);
            }
        }
        if !changed {
            return futures;
        }
    }
}
