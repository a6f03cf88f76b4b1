//! Vector clocks: for every thread, up to which of its epochs someone knows of what it did.
//!
//! An epoch of a thread ends when it releases. Clocks that locations keep are immutable and shared
//! ([`Vectors`]); a thread's own clock is a plain vector that it changes all the time.

/// A thread's own clock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vector(pub Vec<u64>);

impl Vector {
    /// The epoch known of a thread.
    #[inline]
    pub fn get(&self, thread: usize) -> u64 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Sets the epoch known of a thread.
    pub fn set(&mut self, thread: usize, epoch: u64) {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] = epoch;
    }

    /// Is nothing new in `other`?
    #[inline]
    pub fn includes(&self, other: &Vector) -> bool {
        other.0.iter().enumerate().all(|(thread, &epoch)| epoch <= self.get(thread))
    }

    /// Learns all that `other` knows. Was there anything new?
    #[inline]
    pub fn join(&mut self, other: &[u64]) -> bool {
        if self.0.len() < other.len() {
            self.0.resize(other.len(), 0);
        }
        let mut news = false;
        for (mine, &theirs) in self.0.iter_mut().zip(other) {
            if *mine < theirs {
                *mine = theirs;
                news = true;
            }
        }
        news
    }
}

/// An immutable vector clock in a [`Vectors`]. `clone` is for whoever clones that along with it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Shared(u32);

impl Shared {
    /// The clock that knows of nothing.
    pub const EMPTY: Shared = Shared(0);
}

/// The arena that shared vector clocks live in.
#[derive(Clone, Debug)]
pub struct Vectors {
    slots: Vec<(u32, Vec<u64>)>,
    free: Vec<u32>,
}

impl Default for Vectors {
    fn default() -> Self {
        Vectors { slots: vec![(u32::MAX, Vec::new())], free: Vec::new() }
    }
}

impl Vectors {
    /// A shared copy of `clock`.
    pub fn keep(&mut self, clock: &[u64]) -> Shared {
        match self.free.pop() {
            Some(index) => {
                let (references, kept) = &mut self.slots[index as usize];
                *references = 1;
                kept.clear();
                kept.extend_from_slice(clock);
                Shared(index)
            }
            None => {
                self.slots.push((1, clock.to_vec()));
                Shared((self.slots.len() - 1) as u32)
            }
        }
    }

    /// Another handle to the same clock.
    pub fn share(&mut self, clock: &Shared) -> Shared {
        if clock.0 != 0 {
            self.slots[clock.0 as usize].0 += 1;
        }
        Shared(clock.0)
    }

    /// Its entries.
    #[inline]
    pub fn get(&self, clock: &Shared) -> &[u64] {
        &self.slots[clock.0 as usize].1
    }

    /// Gives a handle back.
    pub fn give_back(&mut self, clock: Shared) {
        if clock.0 == 0 {
            return;
        }
        let slot = &mut self.slots[clock.0 as usize];
        slot.0 -= 1;
        if slot.0 == 0 {
            self.free.push(clock.0);
        }
    }
}
