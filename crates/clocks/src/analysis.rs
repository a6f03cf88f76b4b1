//! The analysis of one run: accesses in the order in which they happened, findings out.
//!
//! The algorithm is that of appendices A and B of the PLDI 2025 paper (see the crate documentation).
//! Per thread: `sc`, the last write of each location that it comes after in every interleaving
//! (`T_SC`), and `current`, `acquire`, `release`, what it knows by happens-before now, after an acquire
//! fence, and at its last release fence (`T_c`, `T_a`, `T_r`). Per location: `written`, `accessed`
//! (`W_SC`, `M_SC`) and `view` (`W`). A violation: `current` is behind `sc` at the location that the
//! thread is about to access. It need not happen in this run: the clocks of a thread are not moved by
//! what others do later, so one run stands for many.
//!
//! Deviations from the text, each of them tested:
//! * The text lets a relaxed write forget its own number when it publishes the release view, and
//!   coherence is lost (`pub[x ↦ ts]` is right). Here the number of a location's last write is no part
//!   of its `view`: whoever accesses the location learns it from the location itself.
//! * One stamp carries both timestamps, see [`Stamp`]; value clocks are read off the [`History`].
//! * Sequentially consistent *accesses*, which the model lacks: their total order S is taken to be the
//!   order of the run. A seq_cst write tells the fence location its own number, and a seq_cst access
//!   counts what the fence location knows of its own location as known. So programs that only use
//!   seq_cst accesses or fences are never blamed. A program that mixes them with weaker ones may be
//!   blamed in one run and not in another.
//! * A load that may be stale and could have read the *same value* from an older write does not
//!   synchronise with the newest: the run is then one of weak memory as well, value for value, and the
//!   races it shows are real. This is how the race in the critical section of a broken Dekker lock is
//!   found, which no run under sequential consistency has.
//! * Locks, thread creation and the like are edges in both orders ([`Object`]).

use crate::history::{History, Limit, Write};
use crate::knowledge::{Doubtful, Knowledge, Seen, Stamp, Whose};
use crate::order::Order;
use crate::vector::{Shared, Vector, Vectors};

/// A thread, by number. Numbers of threads that ended are used again by threads that come after their end.
pub type Tid = u16;
/// An atomic location, by number. [`FENCE`] is not for use.
pub type Loc = u32;
/// Something that synchronises without being an atomic location, by number: a mutex, say.
pub type Object = u32;
/// A place in the program; what it stands for is the caller's business.
pub type Site = u32;

/// The location that sequentially consistent fences update.
pub const FENCE: Loc = 0;

/// With so many threads, those that ended give their numbers to whoever comes.
const CROWD: usize = 1 << 10;

/// What is known of the threads' clocks and the locations'.
#[derive(Clone, Debug)]
pub struct Analysis {
    vectors: Vectors,
    threads: Vec<Thread>,
    /// How many atomic accesses each thread made.
    performed: Vec<u64>,
    /// How many seq_cst writes there were.
    in_order: u64,
    free_threads: Vec<Tid>,
    locations: Vec<Location>,
    free_locations: Vec<Loc>,
    objects: Vec<Synchroniser>,
    free_objects: Vec<Object>,
    limit: Limit,
    predict: bool,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    sc: Knowledge,
    current: Knowledge,
    acquire: Knowledge,
    release: Knowledge,
    vector: Vector,
    vector_acquire: Vector,
    vector_release: Vector,
    doubt: Option<Doubt>,
    repeatable: Repeatable,
}

/// The thread's last access, if it was a load; location [`FENCE`] otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct Repeatable {
    loc: Loc,
    stamp: Stamp,
    acquired: bool,
}

#[derive(Clone, Debug, Default)]
struct Location {
    stamp: Stamp,
    /// Writes up to this one are as good as initial: everybody knows them.
    base: Stamp,
    written: Knowledge,
    accessed: Knowledge,
    view: Knowledge,
    published: Shared,
    history: History,
    /// What accesses showed those who made them.
    seen: Vec<Seen>,
    /// Per thread that accessed it: its last read and last write.
    accesses: Vec<Accesses>,
}

/// The epochs and sites of the last read and write of one thread.
#[derive(Clone, Copy, Debug)]
struct Accesses {
    tid: Tid,
    read: (u64, Site),
    written: (u64, Site),
}

#[derive(Clone, Debug, Default)]
struct Synchroniser {
    sc: Knowledge,
    view: Knowledge,
    vector: Vector,
}

/// A load that might have read an older write with the same value, and so not have synchronised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doubt {
    /// The load.
    pub site: Site,
    /// Where the older write was, if it was no initial value.
    pub older: Option<Site>,
}

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

impl Default for Analysis {
    fn default() -> Self {
        Analysis::new(8)
    }
}

impl Analysis {
    /// An analysis that remembers the last `limit` writes of each location.
    pub fn new(limit: usize) -> Self {
        let mut analysis = Analysis {
            vectors: Vectors::default(),
            threads: Vec::new(),
            performed: Vec::new(),
            in_order: 0,
            free_threads: Vec::new(),
            locations: Vec::new(),
            free_locations: Vec::new(),
            objects: Vec::new(),
            free_objects: Vec::new(),
            limit: Limit(limit),
            predict: true,
        };
        analysis.locations.push(Location::default());
        analysis
    }

    /// The same, but every load synchronises with the write it read from in this very run.
    pub fn without_prediction(mut self) -> Self {
        self.predict = false;
        self
    }

    // Threads

    /// A new thread, started by `parent`.
    pub fn start(&mut self, parent: Option<Tid>) -> Tid {
        let mut child = Thread::default();
        if let Some(parent) = parent {
            let parent = &mut self.threads[parent as usize];
            child.sc = parent.sc.clone();
            child.current = parent.current.clone();
            child.vector = parent.vector.clone();
        }
        let tid = match self.reusable(&child.vector) {
            Some(index) => {
                let tid = self.free_threads.swap_remove(index);
                let old = std::mem::take(&mut self.threads[tid as usize]);
                if !child.vector.includes(&old.vector) {
                    // Too many threads: this one is taken to know of all that the old one came after.
                    child.vector.join(&old.vector);
                    child.sc.join(&old.sc);
                    child.current.join(&old.current);
                    child.current.join(&old.sc);
                }
                tid
            }
            None => {
                self.threads.push(Thread::default());
                self.performed.push(0);
                (self.threads.len() - 1) as Tid
            }
        };
        child.acquire = child.current.clone();
        self.threads[tid as usize] = child;
        self.next_epoch(tid);
        if let Some(parent) = parent {
            self.threads[parent as usize].repeatable = Repeatable::default();
            self.next_epoch(parent);
        }
        tid
    }

    /// Which of the free numbers a thread that knows this much may take: that of a thread whose end it
    /// comes after, so that what is true of the old thread's past is true of the new one's.
    fn reusable(&self, known: &Vector) -> Option<usize> {
        let ended = |&tid: &Tid| self.threads[tid as usize].vector.get(tid as usize);
        let exact =
            self.free_threads.iter().rposition(|tid| known.get(*tid as usize) >= ended(tid));
        let crowded = self.threads.len() >= CROWD && !self.free_threads.is_empty();
        exact.or(crowded.then_some(0))
    }

    /// `tid` has waited for the end of `child`, whose number may now be used again.
    pub fn join(&mut self, tid: Tid, child: Tid) {
        let ended = std::mem::take(&mut self.threads[child as usize]);
        let thread = &mut self.threads[tid as usize];
        thread.repeatable = Repeatable::default();
        thread.sc.join(&ended.sc);
        thread.current.join(&ended.current);
        thread.acquire.join(&ended.current);
        thread.vector.join(&ended.vector);
        self.threads[child as usize] = ended;
        self.retire(child);
    }

    /// `tid` has ended and nobody waits for it; its number may be used again.
    pub fn retire(&mut self, tid: Tid) {
        let thread = &mut self.threads[tid as usize];
        thread.acquire.clear();
        thread.release.clear();
        thread.doubt = None;
        self.free_threads.push(tid);
    }

    /// The threads that have not ended.
    pub fn living(&self) -> impl Iterator<Item = Tid> {
        (0..self.threads.len() as Tid).filter(|tid| !self.free_threads.contains(tid))
    }

    /// Is there a thread with this number?
    pub fn has_thread(&self, tid: Tid) -> bool {
        (tid as usize) < self.threads.len()
    }

    /// Is there an object with this number?
    pub fn has_object(&self, object: Object) -> bool {
        (object as usize) < self.objects.len()
    }

    /// The thread's vector clock.
    #[inline]
    pub fn vector(&self, tid: Tid) -> &Vector {
        &self.threads[tid as usize].vector
    }

    /// The last load of the thread, if any, that might not have synchronised.
    pub fn doubt(&self, tid: Tid) -> Option<Doubt> {
        self.threads[tid as usize].doubt
    }

    fn next_epoch(&mut self, tid: Tid) {
        let vector = &mut self.threads[tid as usize].vector;
        let epoch = vector.get(tid as usize) + 1;
        vector.set(tid as usize, epoch);
    }

    // Locations

    /// A new atomic location with this value.
    pub fn location(&mut self, value: u64) -> Loc {
        let loc = match self.free_locations.pop() {
            Some(loc) => loc,
            None => {
                self.locations.push(Location::default());
                (self.locations.len() - 1) as Loc
            }
        };
        self.reset(loc, value);
        loc
    }

    /// The location came to hold `value` by means nobody saw. All that was known of it is forgotten.
    pub fn reset(&mut self, loc: Loc, value: u64) {
        self.forget(loc);
        let location = &mut self.locations[loc as usize];
        location.base = location.stamp;
        let initial = Write {
            stamp: location.stamp,
            value,
            site: 0,
            thread: 0,
            order: Order::Relaxed,
            is_update: false,
            published: Shared::EMPTY,
        };
        location.history.push(initial, self.limit, &mut self.vectors);
    }

    /// The location is no more; its number may be used again.
    pub fn remove(&mut self, loc: Loc) {
        self.forget(loc);
        self.locations[loc as usize].stamp = Stamp::INITIAL;
        self.free_locations.push(loc);
    }

    fn forget(&mut self, loc: Loc) {
        let location = &mut self.locations[loc as usize];
        for clock in [&mut location.written, &mut location.accessed, &mut location.view] {
            clock.clear();
        }
        location.history.clear(&mut self.vectors);
        self.vectors.give_back(std::mem::take(&mut location.published));
        location.seen.clear();
        location.accesses.clear();
    }

    /// The value the location is believed to hold.
    #[inline]
    pub fn value(&self, loc: Loc) -> Option<u64> {
        self.locations[loc as usize].history.newest().map(|write| write.value)
    }

    /// Did anyone write the location since it is known, or since its last reset?
    pub fn was_written(&self, loc: Loc) -> bool {
        let location = &self.locations[loc as usize];
        location.stamp > location.base
    }

    /// Has the location run out of numbers for its writes?
    #[inline]
    pub fn is_worn_out(&self, loc: Loc) -> bool {
        self.locations[loc as usize].stamp.position() == Stamp::LAST
    }

    /// What may be wrong with what `tid` is about to do.
    #[inline]
    pub fn arrive(&self, tid: Tid, loc: Loc, order: Order, intent: Intent) -> Option<Stale> {
        let (known, required) = self.window(tid, loc, order);
        let behind = match intent {
            Intent::Write => known.stores() < required.stores(),
            _ => known.position() < required.position(),
        };
        if behind { self.stale(loc, known, required, intent) } else { None }
    }

    /// The last write that the thread knows of and the last that it must have come after.
    #[inline]
    fn window(&self, tid: Tid, loc: Loc, order: Order) -> (Stamp, Stamp) {
        let thread = &self.threads[tid as usize];
        let location = &self.locations[loc as usize];
        let fence = &self.locations[FENCE as usize].view;
        let (mut known, mut required) = (location.base, location.base);
        for seen in &location.seen {
            let whose = seen.whose();
            let mut included = thread.current.of(whose);
            if order == Order::SeqCst {
                included = included.max(fence.of(whose));
                if whose == Whose::S {
                    included = u64::MAX;
                }
            }
            known = known.max(seen.up_to(included, Doubtful::Most));
            required = required.max(seen.up_to(thread.sc.of(whose), Doubtful::Least));
        }
        (known, required)
    }

    #[cold]
    fn stale(&self, loc: Loc, known: Stamp, required: Stamp, intent: Intent) -> Option<Stale> {
        let history = &self.locations[loc as usize].history;
        let (known, required) = (known.position(), required.position());
        let missed = history.at(required).map(|write| Missed {
            site: write.site,
            thread: write.thread,
            value: write.value,
            order: write.order,
            is_update: write.is_update,
        });
        let forgotten = !history.reaches(known);
        let mut stale = Stale { missed, values: Vec::new(), overtakes: false, forgotten };
        for (write, next) in history.between(known, required) {
            let readable = match intent {
                Intent::Load | Intent::WeakCas(_) => true,
                Intent::Wait(value) => write.value == value,
                Intent::StrongCas(value) => write.value != value,
                Intent::Write | Intent::BlockingCas(_) => false,
            };
            if readable && !stale.values.contains(&write.value) {
                stale.values.insert(0, write.value);
            }
            let replaced = match intent {
                Intent::WeakCas(value) | Intent::StrongCas(value) | Intent::BlockingCas(value) => {
                    write.value == value
                }
                Intent::Write => true,
                Intent::Load | Intent::Wait(_) => false,
            };
            stale.overtakes |= replaced && !next.is_update;
        }
        let certain = !stale.values.is_empty() || stale.overtakes;
        let possible = match intent {
            Intent::Wait(_) | Intent::BlockingCas(_) => certain,
            _ => certain || forgotten,
        };
        possible.then_some(stale)
    }

    /// Is this a load that the thread repeats, with nothing in between that could matter? Then there is
    /// nothing to ask and nothing to learn, and it is done.
    #[inline]
    pub fn repeats(&self, tid: Tid, loc: Loc, order: Order) -> bool {
        let Repeatable { loc: last, stamp, acquired } = self.threads[tid as usize].repeatable;
        last == loc && stamp == self.locations[loc as usize].stamp && acquired == order.acquires()
    }

    /// `tid` accessed an atomic location.
    pub fn perform(&mut self, tid: Tid, loc: Loc, order: Order, done: Done, site: Site) {
        let doubt = match done {
            Done::Read if self.predict && order.acquires() => {
                self.unsynchronised(tid, loc, order, site)
            }
            _ => None,
        };
        let thread = &mut self.threads[tid as usize];
        let location = &mut self.locations[loc as usize];
        if let Done::Store(_) | Done::Update(_) = done {
            location.stamp = location.stamp.next(matches!(done, Done::Update(_)));
        }
        let stamp = location.stamp;
        thread.repeatable = match done {
            Done::Read if doubt.is_none() => Repeatable { loc, stamp, acquired: order.acquires() },
            _ => Repeatable::default(),
        };
        let me = Whose::thread(tid);
        self.performed[tid as usize] += 1;
        let access = self.performed[tid as usize];
        for clock in [&mut thread.sc, &mut thread.current, &mut thread.acquire] {
            clock.include(me, access);
        }

        // The order of interleavings: a read comes after the last write, a write after all accesses.
        match done {
            Done::Read => {
                thread.sc.join(&location.written);
                location.accessed.join(&thread.sc);
            }
            Done::Store(_) | Done::Update(_) => {
                thread.sc.join(&location.accessed);
                location.accessed.assign(&thread.sc);
                location.written.assign(&thread.sc);
            }
        }

        // Happens-before.
        if !matches!(done, Done::Store(_)) {
            thread.acquire.join(&location.view);
            if order.acquires() {
                thread.current.join(&location.view);
            }
        }
        let published = if order.releases() { &thread.current } else { &thread.release };
        match done {
            Done::Read => {}
            Done::Store(_) => location.view.assign(published),
            Done::Update(_) => location.view.join(published),
        }

        if loc != FENCE {
            show(&mut location.seen, me, access, stamp, self.limit);
            if order == Order::SeqCst && done != Done::Read {
                self.in_order += 1;
                show(&mut location.seen, Whose::S, self.in_order, stamp, self.limit);
            }
        }
        self.perform_vectors(tid, loc, order, done, site, doubt);
    }

    /// Happens-before between threads, for races.
    fn perform_vectors(
        &mut self,
        tid: Tid,
        loc: Loc,
        order: Order,
        done: Done,
        site: Site,
        doubt: Option<(Shared, Doubt)>,
    ) {
        let thread = &mut self.threads[tid as usize];
        let location = &mut self.locations[loc as usize];
        if !matches!(done, Done::Store(_)) {
            let source = match &doubt {
                Some((older, _)) => older,
                None => &location.published,
            };
            let published = self.vectors.get(source);
            if order.acquires() {
                thread.vector.join(published);
            } else {
                thread.vector_acquire.join(published);
            }
        }
        if let Some((older, doubt)) = doubt {
            self.vectors.give_back(older);
            thread.doubt = Some(doubt);
        }
        let epoch = thread.vector.get(tid as usize);
        let known = location.accesses.iter().position(|accesses| accesses.tid == tid);
        let index = known.unwrap_or_else(|| {
            location.accesses.push(Accesses { tid, read: (0, 0), written: (0, 0) });
            location.accesses.len() - 1
        });
        match done {
            Done::Read => location.accesses[index].read = (epoch, site),
            Done::Store(_) | Done::Update(_) => location.accesses[index].written = (epoch, site),
        }
        let (value, is_update) = match done {
            Done::Read => return,
            Done::Store(value) => (value, false),
            Done::Update(value) => (value, true),
        };
        let published = if order.releases() { &thread.vector } else { &thread.vector_release };
        let kept = if is_update && !self.vectors.get(&location.published).is_empty() {
            let mut joined = published.clone();
            joined.join(self.vectors.get(&location.published));
            self.vectors.keep(&joined)
        } else if published.is_empty() {
            Shared::EMPTY
        } else {
            self.vectors.keep(published)
        };
        let share = self.vectors.share(&kept);
        self.vectors.give_back(std::mem::replace(&mut location.published, kept));
        let write = Write {
            stamp: location.stamp,
            value,
            site,
            thread: tid,
            order,
            is_update,
            published: share,
        };
        location.history.push(write, self.limit, &mut self.vectors);
        if order.releases() {
            self.next_epoch(tid);
        }
    }

    /// What an older write with the newest value published, if the thread may read it instead.
    #[inline]
    fn unsynchronised(
        &mut self,
        tid: Tid,
        loc: Loc,
        order: Order,
        site: Site,
    ) -> Option<(Shared, Doubt)> {
        let (known, required) = self.window(tid, loc, order);
        if known.position() >= required.position() {
            return None;
        }
        let history = &self.locations[loc as usize].history;
        let value = history.newest()?.value;
        let older = history
            .between(known.position(), required.position())
            .map(|(write, _)| write)
            .find(|write| write.value == value)?;
        let doubt = Doubt { site, older: (older.site != 0).then_some(older.site) };
        let published = older.published.clone();
        Some((self.vectors.share(&published), doubt))
    }

    /// `tid` passed a fence.
    pub fn fence(&mut self, tid: Tid, order: Order) {
        self.threads[tid as usize].repeatable = Repeatable::default();
        if order.acquires() {
            let thread = &mut self.threads[tid as usize];
            thread.current.assign(&thread.acquire);
            thread.vector.join(&thread.vector_acquire);
        }
        if order == Order::SeqCst {
            if self.is_worn_out(FENCE) {
                // Fences then no longer come after each other for a moment; they still never blame.
                self.reset(FENCE, 0);
                self.locations[FENCE as usize].stamp = Stamp::INITIAL;
                self.locations[FENCE as usize].base = Stamp::INITIAL;
            }
            self.perform(tid, FENCE, Order::AcqRel, Done::Update(0), 0);
            let thread = &mut self.threads[tid as usize];
            thread.current.include(Whose::S, self.in_order);
            thread.acquire.include(Whose::S, self.in_order);
            self.locations[FENCE as usize].view.include(Whose::S, self.in_order);
        }
        if order.releases() {
            let thread = &mut self.threads[tid as usize];
            thread.release.assign(&thread.current);
            thread.vector_release.assign(&thread.vector);
            self.next_epoch(tid);
        }
    }

    /// Another thread's atomic access to the location that races with a plain one by `tid`: by whom,
    /// does it write, and where.
    pub fn atomic_race(&self, tid: Tid, loc: Loc, is_write: bool) -> Option<(Tid, bool, Site)> {
        let vector = &self.threads[tid as usize].vector;
        let others = self.locations[loc as usize].accesses.iter().filter(|one| one.tid != tid);
        others.into_iter().find_map(|&Accesses { tid: other, read, written }| {
            let known = vector.get(other as usize);
            if written.0 > known {
                Some((other, true, written.1))
            } else if is_write && read.0 > known {
                Some((other, false, read.1))
            } else {
                None
            }
        })
    }

    // What synchronises without being an atomic location

    /// A new object.
    pub fn object(&mut self) -> Object {
        self.free_objects.pop().unwrap_or_else(|| {
            self.objects.push(Synchroniser::default());
            (self.objects.len() - 1) as Object
        })
    }

    /// The object is no more; its number may be used again.
    pub fn remove_object(&mut self, object: Object) {
        self.objects[object as usize] = Synchroniser::default();
        self.free_objects.push(object);
    }

    /// What `tid` did so far comes before whatever a thread does after it acquires the object.
    pub fn release(&mut self, tid: Tid, object: Object) {
        let thread = &mut self.threads[tid as usize];
        thread.repeatable = Repeatable::default();
        let object = &mut self.objects[object as usize];
        object.sc.join(&thread.sc);
        object.view.join(&thread.current);
        object.vector.join(&thread.vector);
        self.next_epoch(tid);
    }

    /// What `tid` does from now on comes after whatever was released to the object.
    pub fn acquire(&mut self, tid: Tid, object: Object) {
        let thread = &mut self.threads[tid as usize];
        thread.repeatable = Repeatable::default();
        let object = &mut self.objects[object as usize];
        thread.sc.join(&object.sc);
        thread.current.join(&object.view);
        thread.acquire.join(&object.view);
        thread.vector.join(&object.vector);
    }
}

fn show(all: &mut Vec<Seen>, whose: Whose, access: u64, stamp: Stamp, limit: Limit) {
    let index = all.iter().position(|seen| seen.whose() == whose).unwrap_or_else(|| {
        all.push(Seen::new(whose));
        all.len() - 1
    });
    all[index].show(access, stamp, limit);
}
