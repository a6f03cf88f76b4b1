//! Accesses: what they are about to do, what they did, and what may be wrong with them.

use crate::Site;
use crate::Tid;
use crate::order::Order;

/// What an access to an atomic location is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// Load.
    Load,
    /// Store, or read-modify-write whatever the value.
    Write,
    /// Compare and swap with this expected value; may fail although it finds it.
    WeakCas(u64),
    /// The same; fails only on another value.
    StrongCas(u64),
    /// Block until this value is read.
    Wait(u64),
    /// Block until this value is found and replaced.
    BlockingCas(u64),
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// Something was read: a load, a failed compare-and-swap.
    Read,
    /// This was stored.
    Store(u64),
    /// This was written by a read-modify-write.
    Update(u64),
}

/// A load that might have read an older write with the same value, and so not have synchronised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doubt {
    /// The load.
    pub site: Site,
    /// Where the older write was, if it was no initial value.
    pub older: Option<Site>,
}

/// An access that weak memory may let go wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stale {
    /// The newest write that the thread comes after in every interleaving, but may not know of.
    pub missed: Option<Missed>,
    /// The values of older writes that it may read instead, the newest first.
    pub values: Vec<u64>,
    /// May it write before the missed write, although that is there already?
    pub overtakes: bool,
    /// Are there candidates too old to be remembered?
    pub forgotten: bool,
}

/// A write that may be missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missed {
    /// Where.
    pub site: Site,
    /// Who.
    pub thread: Tid,
    /// What it wrote.
    pub value: u64,
    /// In which order.
    pub order: Order,
    /// Was it a read-modify-write?
    pub is_update: bool,
}

impl Stale {
    /// Is nothing wrong if these values make the thread try again?
    pub fn is_harmless(&self, spins: &[u64]) -> bool {
        !self.overtakes
            && !self.values.is_empty()
            && self.values.iter().all(|value| spins.contains(value))
    }
}
