//! Where states lie: back to back in memory that never moves, so that they can be read while their owner
//! appends more.
//!
//! An arena is a sequence of chunks of cells, each chunk twice as large as the one before. Which chunk an index
//! falls into follows from its highest bit, no state is ever copied to make room, and about half of the memory at
//! most is spare; the system provides it when it is first touched.
//!
//! A cell holds the state itself, if all states have the same length. Otherwise a cell holds an address in a *block*
//! beside the chunks, where the state's length and the state lie. Blocks are filled from their start; a state
//! that does not fit into the last block starts a new one.

use super::sync::{AtomicPtr, AtomicU32, AtomicU64, Mutex};
use crate::Width;
use memmap2::{MmapMut, MmapRaw};
use std::sync::atomic::Ordering;

/// Bits of an index.
pub(super) const INDEX_BITS: u32 = 32;
/// The first chunk of an arena has this many states (as a power of two), each further one twice
/// as many as the one before.
const FIRST_CHUNK: u32 = 10;
/// Enough for all indices but the last few.
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK) as usize;

/// The first block for states of varying length has this many bytes, each further one twice as many as the one
/// before, or as many as a single state needs.
const FIRST_BLOCK: usize = 1 << 16;

/// What comes before a state of varying length.
type Length = u32;

/// No state of varying length may be longer.
pub(crate) const MOST_BYTES: usize = Length::MAX as usize;

/// How states lie in an arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    /// Bytes of a state; unused if they vary.
    pub width: usize,
    /// How many of them are core.
    pub core: usize,
    /// Bytes from one cell to the next: with monitor bits, a link comes before each state.
    pub stride: usize,
    /// Do cells hold the addresses of states instead of states?
    pub varying: bool,
}

impl Cells {
    const LINK: usize = size_of::<u64>();

    pub(super) fn new(width: Width) -> Self {
        let (core, width, stride, varying) = match width {
            Width::Fixed(bytes) => (bytes, bytes, bytes, false),
            Width::Monitored { core, bytes } if core == bytes => (bytes, bytes, bytes, false),
            Width::Monitored { core, bytes } => {
                (core, bytes, (Cells::LINK + bytes).next_multiple_of(Cells::LINK), false)
            }
            Width::Varying => (0, 0, size_of::<*const u8>(), true),
        };
        assert!(core <= width && stride > 0, "a state has at least one byte, and its core no more");
        Cells { width, core, stride, varying }
    }

    /// The part of a state that tells it from others, apart from monitor bits.
    #[inline(always)]
    pub(super) fn core_of(self, state: &[u8]) -> &[u8] {
        if self.varying { state } else { &state[..self.core] }
    }

    #[inline(always)]
    pub(super) fn has_links(self) -> bool {
        self.core < self.width
    }

    #[inline(always)]
    fn state_offset(self) -> usize {
        if self.has_links() { Cells::LINK } else { 0 }
    }
}

/// The states one worker inserted, in order. Only that worker appends; everyone reads. Workers
/// count for themselves, each on cache lines of its own.
#[repr(align(128))]
pub(super) struct Arena {
    /// Where each chunk starts, once it is there.
    chunks: [AtomicPtr<u8>; CHUNKS],
    /// The memory of chunks and blocks, which goes when the arena does.
    memory: Mutex<Vec<MmapRaw>>,
    /// The free part of the last block, and how long it is. Only the arena's own worker uses these.
    free: AtomicPtr<u8>,
    left: AtomicU64,
    /// How large the last block is.
    block: AtomicU64,
    /// Bytes of the states in blocks, and of their lengths.
    pub in_blocks: AtomicU64,
    /// How many there are.
    pub len: AtomicU32,
    /// Slots of the table that the worker claimed.
    pub used: AtomicU32,
    /// States from here on belong to the level being built.
    pub level_start: AtomicU32,
    /// What loom sees of the states' bytes: that they are written and read.
    #[cfg(loom)]
    watched: [loom::cell::UnsafeCell<()>; 16],
}

// SAFETY: `watched` holds nothing; loom checks that accesses to it are ordered.
#[cfg(loom)]
unsafe impl Sync for Arena {}

impl Arena {
    pub(super) fn new() -> Self {
        Arena {
            chunks: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            memory: Mutex::new(Vec::new()),
            free: AtomicPtr::new(std::ptr::null_mut()),
            left: AtomicU64::new(0),
            block: AtomicU64::new(0),
            in_blocks: AtomicU64::new(0),
            len: AtomicU32::new(0),
            used: AtomicU32::new(0),
            level_start: AtomicU32::new(0),
            #[cfg(loom)]
            watched: std::array::from_fn(|_| loom::cell::UnsafeCell::new(())),
        }
    }

    /// Chunk `k` holds the indices `2^(FIRST+k) - 2^FIRST ..`, so position is a matter of bits.
    #[inline(always)]
    fn position(index: u32) -> (usize, usize) {
        let shifted = u64::from(index) + (1 << FIRST_CHUNK);
        let log = 63 - shifted.leading_zeros();
        ((log - FIRST_CHUNK) as usize, (shifted - (1 << log)) as usize)
    }

    #[inline(always)]
    pub(super) fn cell(&self, index: u32, cells: Cells) -> *mut u8 {
        let (chunk, offset) = Arena::position(index);
        let base = self.chunks[chunk].load(Ordering::Acquire);
        // SAFETY: the chunk has room for `2^(FIRST+chunk)` cells and `offset` is below that.
        unsafe { base.add(offset * cells.stride) }
    }

    /// Writes `state` behind the last one without counting it yet; none if there is no memory or no index
    /// for it.
    ///
    /// # Safety
    /// Only the arena's own worker may call this.
    #[inline(always)]
    pub(super) unsafe fn stage(&self, state: &[u8], cells: Cells) -> Option<u32> {
        let index = self.len.load(Ordering::Relaxed);
        let (chunk, _) = Arena::position(index);
        let start = self.chunks.get(chunk)?;
        if start.load(Ordering::Relaxed).is_null() {
            let memory = zeroed(cells.stride << (FIRST_CHUNK as usize + chunk))?;
            start.store(memory.as_mut_ptr(), Ordering::Release);
            self.memory.lock().expect("no worker panics with an arena").push(memory);
        }
        if cells.varying {
            // SAFETY: as required of the caller.
            return unsafe { self.stage_varying(index, state, cells) };
        }
        assert!(state.len() == cells.width, "the sink let only states of one length through");
        #[cfg(loom)]
        self.watched[index as usize].with_mut(|_| ());
        // SAFETY: the cell exists and is as long as the state; no one reads it before its id is published, and no one else
        // writes it.
        unsafe {
            let to = self.cell(index, cells).add(cells.state_offset());
            std::ptr::copy_nonoverlapping(state.as_ptr(), to, state.len());
        }
        Some(index)
    }

    /// Writes `state` and its length to the free part of the last block, and where that is to its cell.
    ///
    /// # Safety
    /// Only the arena's own worker may call this, and the cell's chunk must be there.
    unsafe fn stage_varying(&self, index: u32, state: &[u8], cells: Cells) -> Option<u32> {
        let length = Length::try_from(state.len()).expect("the sink let no longer states through");
        let needed = size_of::<Length>() + state.len();
        if self.left.load(Ordering::Relaxed) < needed as u64 {
            let twice = self.block.load(Ordering::Relaxed) as usize * 2;
            let bytes = twice.max(FIRST_BLOCK).max(needed);
            let memory = zeroed(bytes)?;
            self.free.store(memory.as_mut_ptr(), Ordering::Relaxed);
            self.left.store(bytes as u64, Ordering::Relaxed);
            self.block.store(bytes as u64, Ordering::Relaxed);
            self.memory.lock().expect("no worker panics with an arena").push(memory);
        }
        let to = self.free.load(Ordering::Relaxed);
        // SAFETY: the free part of the block is long enough for both. The cell exists and, since chunks start at pages, is
        // aligned for an address. No one reads either before the id is published, and no one else writes them.
        unsafe {
            to.cast::<Length>().write_unaligned(length);
            let state_at = to.add(size_of::<Length>());
            std::ptr::copy_nonoverlapping(state.as_ptr(), state_at, state.len());
            self.cell(index, cells).cast::<*const u8>().write(to);
        }
        Some(index)
    }

    /// Counts the state staged last.
    #[inline(always)]
    pub(super) fn commit(&self, index: u32, cells: Cells) {
        if cells.varying {
            let bytes = size_of::<Length>() + self.get(index, cells).len();
            let free = self.free.load(Ordering::Relaxed).wrapping_add(bytes);
            self.free.store(free, Ordering::Relaxed);
            self.left.store(self.left.load(Ordering::Relaxed) - bytes as u64, Ordering::Relaxed);
            let kept = self.in_blocks.load(Ordering::Relaxed) + bytes as u64;
            self.in_blocks.store(kept, Ordering::Relaxed);
        }
        self.len.store(index + 1, Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn get(&self, index: u32, cells: Cells) -> &[u8] {
        #[cfg(loom)]
        self.watched[index as usize].with(|_| ());
        // SAFETY: ids are published (with release ordering) only after their cell was written, and
        // states are never written again nor moved while `self` lives. Cells of varying states hold where a state's length
        // lies, and behind it the state.
        unsafe {
            let (from, bytes) = match cells.varying {
                true => {
                    let from = self.cell(index, cells).cast::<*const u8>().read();
                    let length = from.cast::<Length>().read_unaligned();
                    (from.add(size_of::<Length>()), length as usize)
                }
                false => {
                    (self.cell(index, cells).add(cells.state_offset()).cast_const(), cells.width)
                }
            };
            std::slice::from_raw_parts(from, bytes)
        }
    }

    /// The link before a state.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(super) fn link(&self, index: u32, cells: Cells) -> &AtomicU64 {
        debug_assert!(cells.has_links());
        // SAFETY: cells with links start with one, aligned, and links are only accessed atomically.
        unsafe { &*self.cell(index, cells).cast::<AtomicU64>() }
    }

    /// Atomics in memory of our own are not loom's: lists, which are kept under locks, are not tried.
    #[cfg(loom)]
    pub fn link(&self, _: u32, _: Cells) -> &AtomicU64 {
        unimplemented!("states without monitor bits have no links")
    }
}

/// Memory from the system, full of zeros, if there is so much left.
///
/// It is handed out raw: nobody may have a reference to all of it while others write to parts.
pub(super) fn zeroed(bytes: usize) -> Option<MmapRaw> {
    let memory = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    if bytes >= 1 << 21 {
        // Only advice: without huge pages everything works, more slowly.
        let _ = memory.advise(memmap2::Advice::HugePage);
    }
    Some(memory.into())
}
