//! The set of states seen so far: shared by all workers, exact, and lean.
//!
//! A state consists of a *core* and, behind it, *monitor bits* that are ordered by inclusion: a
//! state covers another with the same core if it has all of the other's monitor bits. A state that
//! is covered need not be inserted. Models without such an order have states that are all core.
//!
//! States lie back to back, in one append-only [`Arena`] per worker; those of one length without pointers or
//! padding.
//! A hash table of 8-byte slots finds them: each slot holds 24 bits of the state's hash and the
//! state's [`Id`]. A slot is claimed by one compare-and-swap after the state has been written, so
//! inserting takes no lock; the table itself sits behind a read-write lock that is only taken for
//! writing when it grows. Candidates with equal hash bits are compared byte by byte: a hash
//! collision costs time, never a state.
//!
//! With monitor bits, a slot leads to the newest state with its core and each state to the one
//! before it, so that the states with one core form a list: an antichain, since states that a new
//! one covers are taken out. Lists are changed under one of a few locks, chosen by the core's hash.

mod arena;
#[cfg(all(test, loom))]
mod interleavings;
mod sync;
mod table;

use crate::Width;
pub(crate) use arena::MOST_BYTES;
use arena::{Arena, Cells, INDEX_BITS};
use std::sync::atomic::Ordering;
use sync::{AtomicBool, AtomicU64, Mutex, RwLock, RwLockReadGuard};
use table::Table;
use xxhash_rust::xxh3::xxh3_64;

/// Bits of an [`Id`], the worker before the index.
const ID_BITS: u32 = 40;
/// How many locks guard the lists of states with equal cores.
const LOCKS: usize = if cfg!(loom) { 1 } else { 256 };
/// How many slots the first table has.
const FIRST_SLOTS: usize = if cfg!(loom) {
    8
} else if cfg!(miri) {
    64
} else {
    1 << 13
};
/// How many states are moved together when the table grows.
const GROUP: usize = 16;
/// How many slots are moved before their memory goes back to the system, when the table grows: as
/// many as fill a huge page.
const REGION: usize = (1 << 21) / size_of::<AtomicU64>();
/// Set in a link when its state is covered by a newer one of the same level.
const COVERED: u64 = 1 << 63;

/// How many workers can share a set.
pub(crate) const MAX_WORKERS: usize = 1 << (ID_BITS - INDEX_BITS);

/// A state in the set: who inserted it, and as which.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Id {
    /// The worker.
    pub worker: u32,
    /// The state's index in the worker's order of insertion.
    pub index: u32,
}

impl Id {
    /// Never 0, which stands for "none".
    #[inline(always)]
    fn to_bits(self) -> u64 {
        (u64::from(self.worker) << INDEX_BITS | u64::from(self.index)) + 1
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Option<Self> {
        let bits = (bits & ((1 << ID_BITS) - 1)).checked_sub(1)?;
        Some(Id { worker: (bits >> INDEX_BITS) as u32, index: bits as u32 })
    }
}

/// The set.
pub(crate) struct Visited {
    cells: Cells,
    arenas: Box<[Arena]>,
    table: RwLock<Table>,
    locks: Box<[Mutex<()>]>,
    /// How many bytes it may take.
    most: u64,
    /// Is there no more memory?
    full: AtomicBool,
}

impl Visited {
    /// An empty set of states of this width, for `workers` workers.
    pub(crate) fn new(width: Width, workers: usize) -> Self {
        assert!((1..=MAX_WORKERS).contains(&workers));
        Visited {
            cells: Cells::new(width),
            arenas: (0..workers).map(|_| Arena::new()).collect(),
            table: RwLock::new(Table::new(FIRST_SLOTS).expect("there are 64 KiB to begin with")),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            most: u64::MAX,
            full: AtomicBool::new(false),
        }
    }

    /// The same, but its table does not grow beyond so many bytes for table and states.
    pub(crate) fn with_memory(self, most: Option<u64>) -> Self {
        Visited { most: most.unwrap_or(u64::MAX), ..self }
    }

    /// The state with this id.
    #[inline(always)]
    pub(crate) fn get(&self, id: Id) -> &[u8] {
        self.arenas[id.worker as usize].get(id.index, self.cells)
    }

    /// The hash of `state`'s core.
    #[inline(always)]
    pub(crate) fn hash(&self, state: &[u8]) -> u64 {
        xxh3_64(self.cells.core_of(state))
    }

    /// Need the state not be expanded, because one of its own level covers it?
    pub(crate) fn is_covered(&self, id: Id) -> bool {
        self.cells.has_links() && self.link(id).load(Ordering::Relaxed) & COVERED != 0
    }

    /// Says that all states inserted from now on belong to the next level.
    pub(crate) fn start_level(&self) {
        for arena in &self.arenas {
            arena.level_start.store(arena.len.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn link(&self, id: Id) -> &AtomicU64 {
        self.arenas[id.worker as usize].link(id.index, self.cells)
    }

    /// Is there no more memory? Then states are missing, and who inserts more must stop soon: the table
    /// does not grow.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// How many states `worker` inserted.
    pub(crate) fn len_of(&self, worker: usize) -> u32 {
        self.arenas[worker].len.load(Ordering::Acquire)
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> u64 {
        self.arenas.iter().map(|arena| u64::from(arena.len.load(Ordering::Relaxed))).sum()
    }

    /// How many slots of the table are taken.
    fn used(&self) -> u64 {
        self.arenas.iter().map(|arena| u64::from(arena.used.load(Ordering::Relaxed))).sum()
    }

    /// How much memory it uses: states and table.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_with(self.table.read().expect("no worker panics with the table").slots().len())
    }

    /// How much memory it would use with a table of so many slots.
    fn bytes_with(&self, slots: usize) -> u64 {
        let in_blocks = |arena: &Arena| arena.in_blocks.load(Ordering::Relaxed);
        let states =
            self.len() * self.cells.stride as u64 + self.arenas.iter().map(in_blocks).sum::<u64>();
        states + (size_of::<AtomicU64>() * slots) as u64
    }

    /// Access for one worker for a while. Nobody can grow the table meanwhile, so a worker must
    /// give it up (and take it again) between chunks of work, and when [`Worker::is_crowded`].
    pub(crate) fn enter(&self, worker: usize) -> Worker<'_> {
        let table = self.table.read().expect("no worker panics with the table");
        let own = self.arenas[worker].used.load(Ordering::Relaxed);
        let (slots, workers) = (table.slots().len(), self.arenas.len() as u64);
        let room = room(slots).saturating_sub(self.used());
        let share = room / workers;
        let until = own.saturating_add(share.try_into().unwrap_or(u32::MAX));
        Worker { set: self, table, worker: worker as u32, until }
    }

    /// Doubles the table if it is crowded and there is memory for it. Waits for all workers to leave.
    pub(crate) fn grow(&self) {
        let mut table = self.table.write().expect("no worker panics with the table");
        if !crowded(self.used(), table.slots().len()) {
            return;
        }
        let slots = table.slots().len() * 2;
        let wider = match self.bytes_with(slots) <= self.most {
            true => Table::new(slots),
            false => None,
        };
        let Some(wider) = wider else {
            self.full.store(true, Ordering::Relaxed);
            return;
        };
        let moved_together = self.movers() * REGION;
        for start in (0..table.slots().len()).step_by(moved_together) {
            let regions = start..table.slots().len().min(start + moved_together);
            self.move_together(&table.slots()[regions.clone()], &wider);
            table.release(regions);
        }
        *table = wider;
    }

    /// How many threads grow a large table: all workers wait for it.
    fn movers(&self) -> usize {
        if cfg!(any(loom, miri)) { 1 } else { self.arenas.len() }
    }

    /// Moves some slots to another table, one thread for each region: looking up states takes as long as memory takes to
    /// answer, and the system clears the new table's pages for whoever touches them first.
    fn move_together(&self, slots: &[AtomicU64], wider: &Table) {
        let (own, others) = slots.split_at(slots.len().min(REGION));
        std::thread::scope(|scope| {
            for region in others.chunks(REGION) {
                let moves = move || self.move_slots(region, wider);
                if std::thread::Builder::new().spawn_scoped(scope, moves).is_err() {
                    // The system allows no more threads.
                    self.move_slots(region, wider);
                }
            }
            self.move_slots(own, wider);
        });
    }

    /// Finds each state of some slots a place in another table, to which others may move states at the same time.
    fn move_slots(&self, slots: &[AtomicU64], wider: &Table) {
        let ids = slots.iter().filter_map(|old| Id::from_bits(old.load(Ordering::Relaxed)));
        let mut ids = ids.peekable();
        // A few at a time, so that the memory one needs is on its way while others are moved.
        let mut group = Vec::with_capacity(GROUP);
        while ids.peek().is_some() {
            group.extend(ids.by_ref().take(GROUP).map(|id| (id, 0)));
            for (id, _) in &group {
                prefetch(self.arenas[id.worker as usize].cell(id.index, self.cells));
            }
            for (id, hash) in &mut group {
                *hash = xxh3_64(self.cells.core_of(self.get(*id)));
                prefetch(&raw const wider.slots()[home(*hash, wider.mask)]);
            }
            for (id, hash) in group.drain(..) {
                let own = slot(hash, id);
                let takes = |slot: &AtomicU64| {
                    slot.load(Ordering::Relaxed) == 0
                        && slot
                            .compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed)
                            .is_ok()
                };
                let mut at = home(hash, wider.mask);
                while !takes(&wider.slots()[at]) {
                    at = (at + 1) & wider.mask;
                }
            }
        }
    }
}

/// Above this load probing gets slow. The rest of the table is room for what the workers insert
/// before they notice.
fn crowded(states: u64, slots: usize) -> bool {
    states > room(slots)
}

/// How many of `slots` may be taken before it is crowded.
fn room(slots: usize) -> u64 {
    slots as u64 / 8 * 7
}

#[inline(always)]
fn slot(hash: u64, id: Id) -> u64 {
    hash << ID_BITS | id.to_bits()
}

#[inline(always)]
fn home(hash: u64, mask: usize) -> usize {
    (hash >> (64 - ID_BITS)) as usize & mask
}

/// What became of a state that was to be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    /// It is new.
    New(Id),
    /// It was there, or is covered by one that was.
    Known(Id),
    /// There is no memory for it.
    Full,
}

impl Inserted {
    /// The id of a new state.
    #[inline(always)]
    pub(crate) fn if_new(self) -> Option<Id> {
        match self {
            Inserted::New(id) => Some(id),
            Inserted::Known(_) | Inserted::Full => None,
        }
    }
}

/// One worker's access to the set.
pub(crate) struct Worker<'a> {
    set: &'a Visited,
    table: RwLockReadGuard<'a, Table>,
    worker: u32,
    /// When it has taken this many slots in all, it should see how crowded the table is: its share
    /// of the room there was when it came.
    until: u32,
}

impl Worker<'_> {
    /// Should it leave, so that the table can [`Visited::grow`]? It should if there was no room when it came: one that comes
    /// for a single state, again and again, would fill the table otherwise.
    pub(crate) fn is_crowded(&self) -> bool {
        self.set.arenas[self.worker as usize].used.load(Ordering::Relaxed) >= self.until
    }

    /// Inserts `state`, unless it is in the set or covered by a state in the set.
    #[inline]
    pub(crate) fn insert(&self, state: &[u8]) -> Inserted {
        self.insert_hashed(state, self.hash(state))
    }

    /// The hash of `state`'s core.
    #[inline(always)]
    pub(crate) fn hash(&self, state: &[u8]) -> u64 {
        self.set.hash(state)
    }

    /// Inserts `state`, whose hash is `hash`.
    #[inline]
    pub(crate) fn insert_hashed(&self, state: &[u8], hash: u64) -> Inserted {
        match self.set.cells.has_links() {
            false => self.insert_equal(state, hash),
            true => self.insert_covering(state, hash),
        }
    }

    /// Has the slot for `hash` brought to the cache, since a state with it is inserted soon.
    #[inline(always)]
    pub(crate) fn expect(&self, hash: u64) {
        prefetch(&raw const self.table.slots()[home(hash, self.table.mask)]);
    }

    /// Has the state found by the first slot for `hash` brought to the cache.
    #[inline(always)]
    pub(crate) fn expect_state(&self, hash: u64) {
        let found = self.table.slots()[home(hash, self.table.mask)].load(Ordering::Relaxed);
        if let Some(id) = Self::candidate(found, hash) {
            prefetch(self.set.arenas[id.worker as usize].cell(id.index, self.set.cells));
        }
    }

    /// Writes `state` where it will be if it is inserted.
    #[inline(always)]
    fn stage(&self, state: &[u8]) -> Option<u32> {
        // SAFETY: `Worker`s with this number are made one at a time, by their own thread.
        let index = unsafe { self.set.arenas[self.worker as usize].stage(state, self.set.cells) };
        if index.is_none() {
            self.set.full.store(true, Ordering::Relaxed);
        }
        index
    }

    /// Counts the state staged last.
    #[inline(always)]
    fn commit(&self, index: u32) -> Id {
        self.set.arenas[self.worker as usize].commit(index, self.set.cells);
        Id { worker: self.worker, index }
    }

    /// Is the slot's state one with these hash bits? Then its id.
    #[inline(always)]
    fn candidate(found: u64, hash: u64) -> Option<Id> {
        if (found ^ hash << ID_BITS) >> ID_BITS == 0 { Id::from_bits(found) } else { None }
    }

    fn insert_equal(&self, state: &[u8], hash: u64) -> Inserted {
        let mut at = home(hash, self.table.mask);
        loop {
            let mut found = self.table.slots()[at].load(Ordering::Acquire);
            if found == 0 {
                let Some(index) = self.stage(state) else { return Inserted::Full };
                let own = slot(hash, Id { worker: self.worker, index });
                match self.claim(at, own) {
                    Ok(()) => return Inserted::New(self.commit(index)),
                    Err(other) => found = other,
                }
            }
            if let Some(id) = Self::candidate(found, hash)
                && self.set.get(id) == state
            {
                return Inserted::Known(id);
            }
            at = (at + 1) & self.table.mask;
        }
    }

    /// The id of a state in a set without monitor bits.
    pub(crate) fn find(&self, state: &[u8]) -> Option<Id> {
        let hash = self.hash(state);
        let mut at = home(hash, self.table.mask);
        loop {
            let found = self.table.slots()[at].load(Ordering::Acquire);
            if found == 0 {
                return None;
            }
            let same = |id: &Id| self.set.get(*id) == state;
            if let Some(id) = Self::candidate(found, hash).filter(same) {
                return Some(id);
            }
            at = (at + 1) & self.table.mask;
        }
    }

    /// Takes the empty slot `at`; what is in it, if it is not empty any more.
    fn claim(&self, at: usize, own: u64) -> Result<(), u64> {
        let slot = &self.table.slots()[at];
        slot.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire)?;
        let used = &self.set.arenas[self.worker as usize].used;
        used.store(used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(())
    }

    fn insert_covering(&self, state: &[u8], hash: u64) -> Inserted {
        let cells = self.set.cells;
        let (core, monitor) = state.split_at(cells.core);
        let arena = &self.set.arenas[self.worker as usize];
        let lock = &self.set.locks[hash as usize % LOCKS];
        let _guard = lock.lock().expect("no worker panics with a list");
        let mut at = home(hash, self.table.mask);
        loop {
            let mut found = self.table.slots()[at].load(Ordering::Acquire);
            if found == 0 {
                let Some(index) = self.stage(state) else { return Inserted::Full };
                arena.link(index, cells).store(0, Ordering::Relaxed);
                let own = slot(hash, Id { worker: self.worker, index });
                match self.claim(at, own) {
                    Ok(()) => return Inserted::New(self.commit(index)),
                    Err(other) => found = other,
                }
            }
            if let Some(head) = Self::candidate(found, hash)
                && self.set.get(head)[..cells.core] == *core
            {
                let rest = match self.without_covered(head, monitor) {
                    Ok(rest) => rest,
                    Err(covering) => return Inserted::Known(covering),
                };
                let Some(index) = self.stage(state) else { return Inserted::Full };
                arena.link(index, cells).store(rest, Ordering::Relaxed);
                let own = slot(hash, Id { worker: self.worker, index });
                self.table.slots()[at].store(own, Ordering::Release);
                return Inserted::New(self.commit(index));
            }
            at = (at + 1) & self.table.mask;
        }
    }

    /// Takes states that `monitor` covers out of the list that starts at `head`, and returns what
    /// is then its first link; an error if a state of the list covers `monitor`.
    fn without_covered(&self, head: Id, monitor: &[u8]) -> Result<u64, Id> {
        let core = self.set.cells.core;
        let mut first = head.to_bits();
        let mut last: Option<Id> = None;
        let mut next = Some(head);
        while let Some(id) = next {
            let link = self.set.link(id);
            let after = link.load(Ordering::Relaxed) & !COVERED;
            let other = &self.set.get(id)[core..];
            if covers(other, monitor) {
                return Err(id);
            }
            if covers(monitor, other) {
                let arena = &self.set.arenas[id.worker as usize];
                if id.index >= arena.level_start.load(Ordering::Relaxed) {
                    link.store(after | COVERED, Ordering::Relaxed);
                }
                match last {
                    None => first = after,
                    Some(last) => {
                        let link = self.set.link(last);
                        let flag = link.load(Ordering::Relaxed) & COVERED;
                        link.store(after | flag, Ordering::Relaxed);
                    }
                }
            } else {
                last = Some(id);
            }
            next = Id::from_bits(after);
        }
        Ok(first)
    }
}

/// Asks the processor to bring what is at `address` to the cache; wrong addresses do no harm.
#[inline(always)]
fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that neither reads nor faults, on every x86-64 processor.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Has `a` all bits of `b`?
#[inline(always)]
fn covers(a: &[u8], b: &[u8]) -> bool {
    let (a_words, a_rest) = a.as_chunks::<8>();
    let (b_words, b_rest) = b.as_chunks::<8>();
    a_words.iter().zip(b_words).all(|(a, b)| u64::from_ne_bytes(*b) & !u64::from_ne_bytes(*a) == 0)
        && a_rest.iter().zip(b_rest).all(|(a, b)| b & !a == 0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// More than the first table has room for; fewer where every step is interpreted.
    const STATES: u64 = if cfg!(miri) { 200 } else { 50_000 };

    /// Catches a table that never grows because every worker comes for one state only, as in a search whose levels have one
    /// state each.
    #[test]
    fn grows_under_workers_that_insert_one_state_each() {
        let set = Visited::new(Width::Fixed(8), 2);
        for number in 0..STATES {
            let mut worker = set.enter(0);
            if worker.is_crowded() {
                drop(worker);
                set.grow();
                worker = set.enter(0);
            }
            assert!(set.used() < worker.table.slots().len() as u64, "no slot is left");
            assert!(worker.insert(&number.to_le_bytes()).if_new().is_some());
        }
        assert_eq!(set.len(), STATES);
    }

    /// Catches lost states across growth and confusion of equal hash bits.
    #[test]
    fn keeps_every_state_once_across_growth() {
        let set = Visited::new(Width::Fixed(5), 1);
        let mut new = 0;
        for k in 0..4 * STATES {
            let key = (k * 7919) % STATES;
            let mut state = [0; 5];
            state[..4].copy_from_slice(&(key as u32).to_le_bytes());
            let crowded = {
                let worker = set.enter(0);
                new += u32::from(worker.insert(&state).if_new().is_some());
                worker.is_crowded()
            };
            if crowded {
                set.grow();
            }
        }
        let all = STATES as u32;
        assert_eq!((new, set.len(), set.len_of(0)), (all, STATES, all));
    }

    /// Catches states that are lost when several threads move them to a larger table.
    #[test]
    #[cfg_attr(miri, ignore = "large tables only")]
    fn large_tables_grow_by_several_threads() {
        let set = Visited::new(Width::Fixed(8), 3);
        let states = 4 * REGION as u64;
        let insert_all = |new: bool| {
            for number in 0..states {
                let mut worker = set.enter(number as usize % 3);
                if worker.is_crowded() {
                    drop(worker);
                    set.grow();
                    worker = set.enter(number as usize % 3);
                }
                assert_eq!(worker.insert(&number.to_le_bytes()).if_new().is_some(), new);
            }
        };
        insert_all(true);
        assert!(set.table.read().expect("nobody panics").slots().len() > 4 * REGION);
        insert_all(false);
        assert_eq!((set.len(), set.used()), (states, states));
    }

    /// Two workers racing to insert the same states: each state must be new for exactly one.
    #[test]
    fn workers_agree_on_who_was_first() {
        let set = Visited::new(Width::Fixed(8), 2);
        let news: u64 = std::thread::scope(|scope| {
            let insert = |me: usize| {
                let set = &set;
                move || {
                    let mut news = 0;
                    for k in 0..2 * STATES {
                        let crowded = {
                            let worker = set.enter(me);
                            news += u64::from(worker.insert(&k.to_le_bytes()).if_new().is_some());
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
        assert_eq!((news, set.len()), (2 * STATES, 2 * STATES));
    }

    /// A state with fewer monitor bits than one in the set is not new; one with more takes its
    /// place in the list, and what it covers of its own level need not be expanded.
    #[test]
    fn monitor_bits_cover_each_other() {
        let set = Visited::new(Width::Monitored { core: 1, bytes: 3 }, 1);
        let worker = set.enter(0);
        let small = worker.insert(&[7, 0b0011, 0]).if_new().expect("new");
        let other = worker.insert(&[7, 0b1100, 0]).if_new().expect("not comparable");
        assert_eq!(worker.insert(&[7, 0b0001, 0]), Inserted::Known(small));
        assert!(worker.insert(&[8, 0b0001, 0]).if_new().is_some(), "another core");
        set.start_level();
        let large = worker.insert(&[7, 0b0111, 1]).if_new().expect("covers `small`");
        assert!(!set.is_covered(small), "of an earlier level: it may be the shorter way");
        let larger = worker.insert(&[7, 0b1111, 1]).if_new().expect("covers all");
        assert!(set.is_covered(large) && !set.is_covered(other) && !set.is_covered(larger));
        assert_eq!(worker.insert(&[7, 0b1100, 1]).if_new(), None);
        assert_eq!(set.len(), 5);
    }

    /// Without memory for a state the set says so, and takes no other instead.
    #[test]
    #[cfg_attr(miri, ignore = "Miri itself runs out of memory")]
    fn says_when_there_is_no_memory() {
        // The first chunk alone would fill more than the address space.
        let set = Visited::new(Width::Fixed(1 << 40), 1);
        let worker = set.enter(0);
        assert!(!set.is_full());
        assert_eq!(worker.insert_hashed(&[1], 1), Inserted::Full);
        assert!(set.is_full() && set.len() == 0);
    }
}
