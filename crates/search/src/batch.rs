//! States on their way to a visited set, looked up together so that memory is fetched for all of them at once.

/// Successors waiting to be inserted together: while one is looked up, the memory that the others
/// need is on its way.
#[derive(Default)]
pub(crate) struct Batch {
    pub states: Vec<u8>,
    /// The hash of each state, and where it ends in `states`.
    pub entries: Vec<(u64, usize)>,
}

impl Batch {
    /// Enough to hide the time that memory takes, and little enough to stay in the cache.
    const SIZE: usize = 16;

    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() == Batch::SIZE
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, state: &[u8], hash: u64) {
        self.states.extend_from_slice(state);
        self.entries.push((hash, self.states.len()));
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.entries.clear();
    }
}
