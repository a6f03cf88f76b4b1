//! Vector clocks: for every thread, up to which of its epochs someone knows of what it did.
//!
//! An epoch of a thread ends when it releases. Most programs have few threads at a time, and their entries
//! are in the clock itself; what more threads need is elsewhere.

/// How many entries are in the clock itself.
pub(crate) const NEAR: usize = 7;

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

    /// Room for what is known of so many threads, so that learning it moves nothing. What has been moved for that now, and
    /// nobody writes to any more, is returned: somebody may be looking at it.
    pub(crate) fn make_room(&mut self, threads: usize) -> Option<Box<[u64]>> {
        let count = threads.saturating_sub(NEAR);
        if count <= self.far().len() {
            return None;
        }
        let mut wider = vec![0; count.next_power_of_two()];
        wider[..self.far().len()].copy_from_slice(self.far());
        self.far.replace(wider.into())
    }

    /// Where the entries are that are elsewhere.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> Option<*const u64> {
        self.far.as_deref().map(<[u64]>::as_ptr)
    }

    /// How many threads there is room for.
    pub(crate) fn room(&self) -> usize {
        NEAR + self.far().len()
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

    /// Learns that the epoch of a thread is at least this one, and says what is known now. `learned` becomes
    /// true if that was news.
    #[inline]
    pub fn raise(&mut self, thread: usize, epoch: u64, learned: &mut bool) -> u64 {
        let known = self.get(thread);
        if epoch <= known {
            return known;
        }
        *learned = true;
        self.set(thread, epoch);
        epoch
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Vector::default();
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
