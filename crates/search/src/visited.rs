//! The set of states seen so far: shared by all workers, exact, and lean.
//!
//! States lie back to back, without pointers or padding, in one append-only [`Arena`] per worker.
//! A hash table of 8-byte slots finds them: each slot holds 24 bits of the state's hash and the
//! state's [`Id`]. A slot is claimed by one compare-and-swap after the state has been written, so
//! inserting takes no lock; the table itself sits behind a read-write lock that is only taken for
//! writing when it grows. Candidates with equal hash bits are compared byte by byte: a hash
//! collision costs time, never a state.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::RwLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

const INDEX_BITS: u32 = 32;
const ID_BITS: u32 = 40;
/// The first chunk of an arena has this many states (as a power of two), each further one twice
/// as many as the one before.
const FIRST_CHUNK: u32 = 10;
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK + 1) as usize;

/// How many workers can share a set.
pub const MAX_WORKERS: usize = 1 << (ID_BITS - INDEX_BITS);

/// A state in the set: who inserted it, and as which.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id {
    /// The worker.
    pub worker: u32,
    /// Its how-manieth state.
    pub index: u32,
}

impl Id {
    fn to_bits(self) -> u64 {
        u64::from(self.worker) << INDEX_BITS | u64::from(self.index)
    }

    fn from_bits(bits: u64) -> Self {
        Id { worker: (bits >> INDEX_BITS) as u32, index: bits as u32 }
    }
}

/// The states one worker inserted, in order. Only that worker appends; everyone reads.
struct Arena {
    chunks: [AtomicPtr<u8>; CHUNKS],
    len: AtomicU32,
}

impl Arena {
    fn new() -> Self {
        Arena {
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            len: AtomicU32::new(0),
        }
    }

    /// Chunk `k` holds the indices `2^(FIRST+k) - 2^FIRST ..`, so position is a matter of bits.
    #[inline(always)]
    fn position(index: u32) -> (usize, usize) {
        let shifted = u64::from(index) + (1 << FIRST_CHUNK);
        let log = 63 - shifted.leading_zeros();
        ((log - FIRST_CHUNK) as usize, (shifted - (1 << log)) as usize)
    }

    fn layout(chunk: usize, width: usize) -> Layout {
        Layout::array::<u8>(width << (FIRST_CHUNK as usize + chunk))
            .expect("fits the address space")
    }

    /// Writes `state` behind the last one without counting it yet.
    ///
    /// # Safety
    /// Only the arena's own worker may call this.
    #[inline(always)]
    unsafe fn stage(&self, state: &[u8]) -> u32 {
        let index = self.len.load(Ordering::Relaxed);
        let (chunk, offset) = Arena::position(index);
        let mut base = self.chunks[chunk].load(Ordering::Relaxed);
        if base.is_null() {
            let layout = Arena::layout(chunk, state.len());
            // SAFETY: the layout is not empty: states have at least one byte.
            base = unsafe { alloc(layout) };
            if base.is_null() {
                handle_alloc_error(layout);
            }
            self.chunks[chunk].store(base, Ordering::Release);
        }
        // SAFETY: the chunk has room for `2^(FIRST+chunk)` states and `offset` is below that; no one
        // reads this cell before its id is published, and no one else writes it.
        unsafe {
            std::ptr::copy_nonoverlapping(
                state.as_ptr(),
                base.add(offset * state.len()),
                state.len(),
            );
        }
        index
    }

    #[inline(always)]
    fn get(&self, index: u32, width: usize) -> &[u8] {
        let (chunk, offset) = Arena::position(index);
        let base = self.chunks[chunk].load(Ordering::Acquire);
        // SAFETY: ids are published (with release ordering) only after their cell was written, and
        // cells are never written again nor moved while `self` lives.
        unsafe { std::slice::from_raw_parts(base.add(offset * width), width) }
    }

    fn free(&mut self, width: usize) {
        for (k, chunk) in self.chunks.iter_mut().enumerate() {
            let base = *chunk.get_mut();
            if !base.is_null() {
                // SAFETY: allocated in `stage` with this layout.
                unsafe { dealloc(base, Arena::layout(k, width)) };
            }
        }
    }
}

struct Table {
    slots: Box<[AtomicU64]>,
    mask: usize,
}

impl Table {
    fn new(capacity: usize) -> Self {
        let mut slots = Vec::with_capacity(capacity);
        slots.resize_with(capacity, || AtomicU64::new(0));
        Table { slots: slots.into_boxed_slice(), mask: capacity - 1 }
    }
}

/// The set.
pub struct Visited {
    width: usize,
    arenas: Box<[Arena]>,
    table: RwLock<Table>,
    /// States in the table; kept by the workers in steps (see [`Worker`]).
    count: AtomicU64,
}

impl Drop for Visited {
    fn drop(&mut self) {
        for arena in &mut self.arenas {
            arena.free(self.width);
        }
    }
}

impl Visited {
    /// An empty set of states of `width` bytes for `workers` workers.
    pub fn new(width: usize, workers: usize) -> Self {
        assert!(width > 0 && (1..=MAX_WORKERS).contains(&workers));
        Visited {
            width,
            arenas: (0..workers).map(|_| Arena::new()).collect(),
            table: RwLock::new(Table::new(1 << 13)),
            count: AtomicU64::new(0),
        }
    }

    /// The state with this id.
    pub fn get(&self, id: Id) -> &[u8] {
        self.arenas[id.worker as usize].get(id.index, self.width)
    }

    /// How many states `worker` inserted.
    pub fn len_of(&self, worker: usize) -> u32 {
        self.arenas[worker].len.load(Ordering::Acquire)
    }

    /// How many states there are.
    pub fn len(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How much memory it uses: states and table.
    pub fn bytes(&self) -> u64 {
        let slots = self.table.read().expect("no worker panics with the table").slots.len();
        self.len() * self.width as u64 + 8 * slots as u64
    }

    /// Access for one worker for a while. Nobody can grow the table meanwhile, so a worker must
    /// give it up (and take it again) between chunks of work, and when [`Worker::is_crowded`].
    pub fn enter(&self, worker: usize) -> Worker<'_> {
        let table = self.table.read().expect("no worker panics with the table");
        Worker { set: self, table, worker: worker as u32 }
    }

    /// Doubles the table if it is crowded. Waits for all workers to leave.
    pub fn grow(&self) {
        let mut table = self.table.write().expect("no worker panics with the table");
        if !crowded(self.len(), table.slots.len()) {
            return;
        }
        let mut wider = Table::new(table.slots.len() * 2);
        *table = Table { slots: Box::new([]), mask: 0 };
        for (worker, arena) in self.arenas.iter().enumerate() {
            for index in 0..arena.len.load(Ordering::Relaxed) {
                let hash = xxh3_64(arena.get(index, self.width));
                let id = Id { worker: worker as u32, index };
                let mut at = home(hash, wider.mask);
                while *wider.slots[at].get_mut() != 0 {
                    at = (at + 1) & wider.mask;
                }
                *wider.slots[at].get_mut() = slot(hash, id);
            }
        }
        *table = wider;
    }
}

/// Above this load probing gets slow. The rest of the table is room for what the workers insert
/// before they notice.
fn crowded(states: u64, slots: usize) -> bool {
    states * 8 > slots as u64 * 7
}

#[inline(always)]
fn slot(hash: u64, id: Id) -> u64 {
    hash << ID_BITS | (id.to_bits() + 1)
}

#[inline(always)]
fn home(hash: u64, mask: usize) -> usize {
    (hash >> (64 - ID_BITS)) as usize & mask
}

/// One worker's access to the set.
pub struct Worker<'a> {
    set: &'a Visited,
    table: std::sync::RwLockReadGuard<'a, Table>,
    worker: u32,
}

impl Worker<'_> {
    /// Should it leave, so that the table can [`Visited::grow`]?
    pub fn is_crowded(&self) -> bool {
        crowded(self.set.len(), self.table.slots.len())
    }

    /// Inserts `state`; its id if it is new.
    #[inline]
    pub fn insert(&self, state: &[u8]) -> Option<Id> {
        debug_assert_eq!(state.len(), self.set.width);
        let hash = xxh3_64(state);
        let arena = &self.set.arenas[self.worker as usize];
        let mut at = home(hash, self.table.mask);
        loop {
            let mut found = self.table.slots[at].load(Ordering::Acquire);
            if found == 0 {
                // SAFETY: `Worker`s with this number are made one at a time, by their own thread.
                let index = unsafe { arena.stage(state) };
                let id = Id { worker: self.worker, index };
                match self.table.slots[at].compare_exchange(
                    0,
                    slot(hash, id),
                    Ordering::AcqRel,
                    Ordering::Acquire,
                ) {
                    Ok(_) => {
                        arena.len.store(index + 1, Ordering::Release);
                        self.set.count.fetch_add(1, Ordering::Relaxed);
                        return Some(id);
                    }
                    Err(other) => found = other,
                }
            }
            if (found ^ slot(hash, Id { worker: 0, index: 0 })) >> ID_BITS == 0 {
                let id = Id::from_bits((found & ((1 << ID_BITS) - 1)) - 1);
                if self.set.get(id) == state {
                    return None;
                }
            }
            at = (at + 1) & self.table.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches lost states across growth and confusion of equal hash bits.
    #[test]
    fn keeps_every_state_once_across_growth() {
        let set = Visited::new(5, 1);
        let mut new = 0;
        for k in 0..200_000u64 {
            let key = (k * 7919) % 50_000;
            let mut state = [0; 5];
            state[..4].copy_from_slice(&(key as u32).to_le_bytes());
            let crowded = {
                let worker = set.enter(0);
                new += u32::from(worker.insert(&state).is_some());
                worker.is_crowded()
            };
            if crowded {
                set.grow();
            }
        }
        assert_eq!((new, set.len(), set.len_of(0)), (50_000, 50_000, 50_000));
    }

    /// Two workers racing to insert the same states: each state must be new for exactly one.
    #[test]
    fn workers_agree_on_who_was_first() {
        let set = Visited::new(8, 2);
        let news: u64 = std::thread::scope(|scope| {
            let insert = |me: usize| {
                let set = &set;
                move || {
                    let mut news = 0;
                    for k in 0..100_000u64 {
                        let crowded = {
                            let worker = set.enter(me);
                            news += u64::from(worker.insert(&k.to_le_bytes()).is_some());
                            worker.is_crowded()
                        };
                        if crowded {
                            set.grow();
                        }
                    }
                    news
                }
            };
            let other = scope.spawn(insert(1));
            insert(0)() + other.join().unwrap()
        });
        assert_eq!((news, set.len()), (100_000, 100_000));
    }
}
