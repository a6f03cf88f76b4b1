//! The slots of the visited set's hash table: 8 bytes each, 0 if empty, in memory that the system provides when it is touched.

#[cfg(not(loom))]
use super::arena::zeroed;
use super::sync::AtomicU64;
#[cfg(not(loom))]
use memmap2::MmapRaw;
use std::ops::Range;

/// The hash table. Looking states up is random access all over it, so it lies on huge pages where
/// the system has them: with small ones, every look-up would miss the address cache as well.
pub(super) struct Table {
    #[cfg(not(loom))]
    memory: MmapRaw,
    #[cfg(loom)]
    slots: Box<[AtomicU64]>,
    /// The number of slots, which is a power of two, less one.
    pub mask: usize,
}

impl Table {
    /// An empty table, if there is memory for it.
    #[cfg(not(loom))]
    pub(super) fn new(capacity: usize) -> Option<Self> {
        let memory = zeroed(capacity * size_of::<AtomicU64>())?;
        Some(Table { memory, mask: capacity - 1 })
    }

    /// An empty table whose slots loom watches.
    #[cfg(loom)]
    pub fn new(capacity: usize) -> Option<Self> {
        let slots = (0..capacity).map(|_| AtomicU64::new(0)).collect();
        Some(Table { slots, mask: capacity - 1 })
    }

    /// The slots that loom watches.
    #[cfg(loom)]
    pub fn slots(&self) -> &[AtomicU64] {
        &self.slots
    }

    /// The slots.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(super) fn slots(&self) -> &[AtomicU64] {
        // SAFETY: mapped memory is aligned to pages, zeroed, and only accessed as atomics.
        unsafe {
            std::slice::from_raw_parts(self.memory.as_mut_ptr().cast::<AtomicU64>(), self.mask + 1)
        }
    }

    /// Gives the memory of slots that nobody needs any more back to the system; they are empty then.
    /// A state's place in a table twice as large is its place in this one or as far behind the
    /// middle, so while a table is moved from its start, both are never in memory as a whole.
    pub(super) fn release(&mut self, slots: Range<usize>) {
        #[cfg(all(target_os = "linux", not(any(miri, loom))))]
        {
            let size = size_of::<AtomicU64>();
            let (start, length) = (slots.start * size, slots.len() * size);
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: `&mut self`, so no slot is borrowed. Pages of a private anonymous mapping that
            // are not needed come back full of zeros, which are empty slots.
            let _ = unsafe { self.memory.unchecked_advise_range(advice, start, length) };
        }
        #[cfg(not(all(target_os = "linux", not(any(miri, loom)))))]
        let _ = slots;
    }
}
