//! Vector clocks: for every thread, up to which of its epochs someone knows of what it did.
//!
//! An epoch of a thread ends when it releases. Most programs have few threads at a time, and a clock of
//! theirs is one cache line; what more threads need is elsewhere. Clocks that locations keep are immutable
//! and shared ([`Vectors`]).

/// How many entries are in the clock itself.
const NEAR: usize = 7;

/// A vector clock.
#[derive(Clone, Debug, Default)]
pub struct Vector {
    near: [u64; NEAR],
    /// The entries from [`NEAR`] on.
    far: Option<Box<[u64]>>,
}

impl PartialEq for Vector {
    fn eq(&self, other: &Vector) -> bool {
        self.includes(other) && other.includes(self)
    }
}

impl Eq for Vector {}

impl Vector {
    /// The epoch known of a thread.
    #[inline]
    pub fn get(&self, thread: usize) -> u64 {
        match thread {
            0..NEAR => self.near[thread],
            _ => self.far().get(thread - NEAR).copied().unwrap_or(0),
        }
    }

    /// Sets the epoch known of a thread.
    #[inline]
    pub fn set(&mut self, thread: usize, epoch: u64) {
        match thread {
            0..NEAR => self.near[thread] = epoch,
            _ => {
                let index = thread - NEAR;
                self.widened(index + 1)[index] = epoch;
            }
        }
    }

    #[inline]
    fn far(&self) -> &[u64] {
        self.far.as_deref().unwrap_or(&[])
    }

    /// Room for so many entries elsewhere.
    #[cold]
    fn widened(&mut self, count: usize) -> &mut [u64] {
        if self.far().len() < count {
            let mut wider = vec![0; count];
            wider[..self.far().len()].copy_from_slice(self.far());
            self.far = Some(wider.into());
        }
        self.far.as_deref_mut().unwrap_or_default()
    }

    /// Is nothing known?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.near == [0; NEAR] && self.far().iter().all(|&epoch| epoch == 0)
    }

    /// Is nothing new in `other`?
    #[inline]
    pub fn includes(&self, other: &Vector) -> bool {
        let near = self.near.iter().zip(&other.near).all(|(mine, theirs)| theirs <= mine);
        let far = |(index, &epoch): (usize, &u64)| epoch <= self.get(NEAR + index);
        near && other.far().iter().enumerate().all(far)
    }

    /// Learns all that `other` knows.
    #[inline]
    pub fn join(&mut self, other: &Vector) {
        for (mine, theirs) in self.near.iter_mut().zip(&other.near) {
            *mine = (*mine).max(*theirs);
        }
        if other.far.is_some() {
            self.join_far(other.far());
        }
    }

    #[cold]
    fn join_far(&mut self, other: &[u64]) {
        for (mine, &theirs) in self.widened(other.len()).iter_mut().zip(other) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Becomes what `other` is.
    #[inline]
    pub fn assign(&mut self, other: &Vector) {
        self.near = other.near;
        if self.far.is_some() || other.far.is_some() {
            self.far.clone_from(&other.far);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Vector::default();
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
    slots: Vec<(u32, Vector)>,
    free: Vec<u32>,
}

impl Default for Vectors {
    fn default() -> Self {
        Vectors { slots: vec![(u32::MAX, Vector::default())], free: Vec::new() }
    }
}

impl Vectors {
    /// A shared copy of `clock`.
    pub fn keep(&mut self, clock: &Vector) -> Shared {
        match self.free.pop() {
            Some(index) => {
                let (references, kept) = &mut self.slots[index as usize];
                *references = 1;
                kept.assign(clock);
                Shared(index)
            }
            None => {
                self.slots.push((1, clock.clone()));
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

    /// The clock itself.
    #[inline]
    pub fn get(&self, clock: &Shared) -> &Vector {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Catches entries that get lost where a clock goes beyond its cache line.
    #[test]
    fn clocks_are_maps_joined_by_maximum() {
        let mut state = 1u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        let mut pool = vec![(Vector::default(), BTreeMap::<usize, u64>::new()); 4];
        for step in 0..20_000 {
            let (i, j) = (below(4), below(4));
            let other = pool[j].clone();
            let (clock, map) = &mut pool[i];
            match below(8) {
                0 => clock.join(&other.0),
                1 => clock.assign(&other.0),
                2 if step % 50 == 0 => clock.clear(),
                _ => clock.set(below(2 * NEAR), step),
            }
            for thread in 0..2 * NEAR {
                let (mine, theirs) = (map.get(&thread).copied(), other.1.get(&thread).copied());
                let now = clock.get(thread);
                let allowed = [mine.unwrap_or(0), theirs.unwrap_or(0), step, 0];
                assert!(allowed.contains(&now), "step {step}");
                map.insert(thread, now);
            }
            assert_eq!(clock.is_empty(), map.values().all(|&epoch| epoch == 0));
            let includes = map.iter().all(|(thread, &epoch)| epoch >= other.0.get(*thread));
            assert_eq!(clock.includes(&other.0), includes, "step {step}");
        }
    }
}
