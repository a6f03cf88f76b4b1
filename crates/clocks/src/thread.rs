//! What a thread knows, and how it learns other than by accessing a location: fences, locks, creation.
//!
//! Per thread: `sc`, the last write of each location that it comes after in every interleaving (`T_SC`),
//! and `current`, `acquire`, `release`, what it knows by happens-before now, after an acquire fence, and
//! at its last release fence (`T_c`, `T_a`, `T_r`). The vector clocks of races are three of the same kind.
//!
//! Nobody but the thread itself touches its [`Thread`], so a runtime keeps it where the thread runs and
//! needs no lock for it. What a location or a lock knows is a row per thread (`Rows`), so that learning
//! from it is one pass, and what two threads tell each other through it is one cache line.

use crate::Tid;
use crate::access::Doubt;
use crate::knowledge::Knowledge;
use crate::order::Order;
use crate::shadow::{Epoch, MOST_THREADS};
use crate::vector::Vector;

/// How many rows are where the others are looked for: those of four threads and of the one that started them.
const NEAR: usize = 5;
/// With so many threads, those that ended give their numbers to whoever comes.
const CROWD: usize = 1 << 10;

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub(crate) tid: Tid,
    /// How often it did something that matters to others.
    pub(crate) time: u64,
    /// When it last learned something from others, or what its writes publish changed by more than its own
    /// entry.
    pub(crate) learned: u64,
    /// Has an acquire fence nothing to do: do `current` and `vector` know all that it would tell them?
    acquired: bool,
    /// Has a release fence nothing to do, but for the thread's own entries?
    released: bool,
    /// All clocks are zero from this thread on.
    pub(crate) width: usize,
    pub(crate) sc: Vector,
    pub(crate) current: Knowledge,
    pub(crate) acquire: Knowledge,
    pub(crate) release: Knowledge,
    pub(crate) vector: Vector,
    pub(crate) vector_acquire: Vector,
    pub(crate) vector_release: Vector,
    pub(crate) doubt: Option<Doubt>,
}

impl Fences {
    /// Before the first.
    pub const fn new() -> Fences {
        let row = Row { written: 0, accessed: 0, view: 0, published: 0 };
        Fences { rows: Rows { order: 0, width: 0, far: None, near: [row; NEAR] }, writes: 0 }
    }
}

/// What a location, a lock or the fences know of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Row {
    /// Of the order of interleavings, as of the last write (`W_SC`).
    pub written: u64,
    /// The same, of all accesses (`M_SC`).
    pub accessed: u64,
    /// By happens-before, for whoever acquires (`W`).
    pub view: u64,
    /// The same for races: the thread's epoch.
    pub published: u64,
}

/// What is known of every thread, and of the order S. With sixteen bytes before it, a pair of rows does not
/// straddle cache lines.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Rows {
    /// Of the order S.
    pub order: u64,
    /// Rows from here on are zero.
    width: usize,
    near: [Row; NEAR],
    /// A thin pointer: most locations have none.
    #[allow(clippy::box_collection)]
    far: Option<Box<Vec<Row>>>,
}

impl Rows {
    /// Makes room for as much as the thread knows, and in its clocks for as much as is known here.
    #[inline]
    pub(crate) fn meet(&mut self, thread: &mut Thread) -> usize {
        if self.width != thread.width {
            self.widen(thread);
        }
        self.width
    }

    #[cold]
    fn widen(&mut self, thread: &mut Thread) {
        let width = self.width.max(thread.width);
        thread.width = width;
        self.reserve(width);
    }

    /// Makes room for so many threads.
    fn reserve(&mut self, width: usize) {
        self.width = width;
        if width > NEAR {
            self.far.get_or_insert_default().resize(width - NEAR, Row::default());
        }
    }

    /// The row of a thread below the width.
    #[inline]
    pub(crate) fn row(&mut self, index: usize) -> &mut Row {
        if index < NEAR { &mut self.near[index] } else { self.far_row(index) }
    }

    #[cold]
    fn far_row(&mut self, index: usize) -> &mut Row {
        &mut self.far.get_or_insert_default()[index - NEAR]
    }

    /// Does something with the row of every thread below the width, and room for as much as the thread that comes knows.
    /// Rows that are near are taken first, so that their numbers are known to be small, and what `f` does with the
    /// entries of clocks that have these numbers is done without asking where they are.
    #[inline(always)]
    pub(crate) fn each(
        &mut self,
        thread: &mut Thread,
        mut f: impl FnMut(&mut Thread, usize, &mut Row),
    ) {
        let width = self.meet(thread);
        for (index, row) in self.near.iter_mut().enumerate() {
            if index >= width {
                return;
            }
            f(thread, index, row);
        }
        for index in NEAR..width {
            f(thread, index, self.far_row(index));
        }
    }

    /// Of how many threads anything is known.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Writes down what is published of all threads; there is room for them.
    #[inline(always)]
    pub(crate) fn publish(&self, out: &mut [u64]) {
        let (near, far) = out.split_at_mut(out.len().min(NEAR));
        // Rows beyond the width are zero.
        near.iter_mut().zip(&self.near).for_each(|(out, row)| *out = row.published);
        if !far.is_empty() {
            self.publish_far(far);
        }
    }

    #[cold]
    fn publish_far(&self, out: &mut [u64]) {
        let rows = self.far.as_ref().map_or(&[][..], |far| &far[..]);
        let published = rows.iter().map(|row| row.published).chain(std::iter::repeat(0));
        out.iter_mut().zip(published).for_each(|(out, published)| *out = published);
    }

    /// When a thread did the last of what the last write comes after; for the writer, that is the write.
    #[inline]
    pub(crate) fn written(&self, tid: Tid) -> u64 {
        let index = tid as usize;
        if index < NEAR {
            return self.near[index].written;
        }
        self.far.as_ref().and_then(|far| far.get(index - NEAR)).map_or(0, |row| row.written)
    }

    /// What is known of a thread by happens-before.
    #[inline]
    pub(crate) fn view(&self, tid: Tid) -> u64 {
        let index = tid as usize;
        if index < NEAR {
            return self.near[index].view;
        }
        self.far.as_ref().and_then(|far| far.get(index - NEAR)).map_or(0, |row| row.view)
    }
}

/// Something that synchronises without being an atomic location: a mutex, say.
#[derive(Clone, Debug, Default)]
pub struct Synchroniser(Rows);

/// What sequentially consistent fences update, and where the order S is counted.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Fences {
    pub(crate) rows: Rows,
    /// How many seq_cst writes there were.
    pub(crate) writes: u64,
}

impl Synchroniser {
    /// Who acquires the object learns what is known there as well.
    pub(crate) fn include(&mut self, other: &mut Rows) {
        let width = self.0.width.max(other.width);
        self.0.reserve(width);
        other.reserve(width);
        for index in 0..width {
            let (mine, theirs) = (self.0.row(index), *other.row(index));
            mine.written = mine.written.max(theirs.written);
            mine.view = mine.view.max(theirs.view);
            mine.published = mine.published.max(theirs.published);
        }
        self.0.order = self.0.order.max(other.order);
    }
}

impl Thread {
    /// Its number.
    #[inline]
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// Changes with everything it does, but for loads that could as well not have happened.
    #[inline]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Its vector clock.
    #[inline]
    pub fn vector(&self) -> &Vector {
        &self.vector
    }

    /// Its epoch, to be compared with those in shadow memory.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        Epoch::new(self.tid, self.vector.get(self.tid as usize))
    }

    /// The last load, if any, that might not have synchronised.
    pub fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// Its plain accesses from now on can be told from those before.
    pub fn begin_epoch(&mut self) {
        self.next_epoch();
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.tid as usize
    }

    /// What it does from now on is not yet published. Its own epoch is known to `vector_acquire` at once: all it is
    /// good for is to be joined into `vector`, which knows it anyway, and reading what one published oneself is no news
    /// then.
    #[inline]
    pub(crate) fn next_epoch(&mut self) {
        let index = self.index();
        let epoch = self.vector.get(index) + 1;
        self.vector.set(index, epoch);
        self.vector_acquire.set(index, epoch);
    }

    /// Does it know all that it comes after in every interleaving? Then nothing it does can be stale.
    #[inline]
    pub(crate) fn knows_what_it_must(&self) -> bool {
        (0..self.width).all(|index| self.current.threads.get(index) >= self.sc.get(index))
    }

    /// Something happens that matters to others.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> u64 {
        self.time += 1;
        let (index, time) = (self.index(), self.time);
        for clock in [&mut self.sc, &mut self.current.threads, &mut self.acquire.threads] {
            clock.set(index, time);
        }
        time
    }

    /// Passes a fence; a seq_cst one needs all [`Fences`].
    pub fn fence(&mut self, order: Order, fences: Option<&mut Fences>) {
        self.step();
        if order.acquires() && !self.acquired {
            self.current.assign(&self.acquire);
            self.vector.join(&self.vector_acquire);
            self.learn(true);
        }
        if let Some(fences) = fences {
            self.exchange(fences);
        }
        self.acquired |= order.acquires();
        if order.releases() {
            if self.released {
                let index = self.index();
                self.release.threads.set(index, self.time);
                self.vector_release.set(index, self.vector.get(index));
            } else {
                self.learned = self.time;
                self.release.assign(&self.current);
                self.vector_release.assign(&self.vector);
                self.released = true;
            }
            self.next_epoch();
        }
    }

    /// Passes a seq_cst fence, told by another thread. It moves no clocks itself meanwhile, but may be looking at its
    /// [`vector`](Thread::vector), so no memory of that is given back: what is returned must be kept as long as it may be looking. Over time, that
    /// is no more than the clock itself has.
    pub fn fence_from_elsewhere(&mut self, fences: &mut Fences) -> Option<Box<[u64]>> {
        let width = self.width.max(fences.rows.width()).max(self.vector_acquire.room());
        let old = self.vector.make_room(width);
        self.fence(Order::SeqCst, Some(fences));
        old
    }

    /// A read-modify-write of what all seq_cst fences update, in both directions.
    pub fn exchange(&mut self, fences: &mut Fences) {
        self.step();
        let mut learned = false;
        fences.rows.each(self, |thread, index, row| {
            let sc = thread.sc.raise(index, row.written, &mut learned);
            thread.acquire.threads.raise(index, row.view, &mut learned);
            let current = thread.current.threads.raise(index, row.view, &mut learned);
            let vector = thread.vector.raise(index, row.published, &mut learned);
            if (row.written, row.view, row.published) != (sc, current, vector) {
                *row = Row { written: sc, accessed: 0, view: current, published: vector };
            }
        });
        learned |= self.current.order != fences.writes;
        self.current.order = fences.writes;
        self.acquire.order = fences.writes;
        self.learn(learned);
        self.next_epoch();
    }

    /// Notes that something was learned from others, at a time that is no other event's.
    #[inline]
    pub(crate) fn learn(&mut self, learned: bool) {
        if learned {
            self.learned = self.time;
            self.acquired = false;
            self.released = false;
        }
    }

    /// What the thread did so far comes before whatever another does after it acquires the object.
    pub fn release(&mut self, object: &mut Synchroniser) {
        self.step();
        object.0.each(self, |thread, index, row| {
            row.written = row.written.max(thread.sc.get(index));
            row.view = row.view.max(thread.current.threads.get(index));
            row.published = row.published.max(thread.vector.get(index));
        });
        object.0.order = object.0.order.max(self.current.order);
        self.next_epoch();
    }

    /// What the thread does from now on comes after whatever was released to the object.
    pub fn acquire(&mut self, object: &mut Synchroniser) {
        self.step();
        let mut learned = false;
        object.0.each(self, |thread, index, row| {
            thread.sc.raise(index, row.written, &mut learned);
            thread.current.threads.raise(index, row.view, &mut learned);
            thread.acquire.threads.raise(index, row.view, &mut learned);
            thread.vector.raise(index, row.published, &mut learned);
        });
        learned |= object.0.order > self.current.order;
        self.current.order = self.current.order.max(object.0.order);
        self.acquire.order = self.acquire.order.max(object.0.order);
        self.learn(learned);
    }

    /// Has waited for the end of another thread.
    pub fn join(&mut self, ended: &Thread) {
        self.step();
        self.width = self.width.max(ended.width);
        self.sc.join(&ended.sc);
        self.current.join(&ended.current);
        self.acquire.join(&ended.current);
        self.vector.join(&ended.vector);
        self.learn(true);
    }

    fn child(&mut self) -> Thread {
        self.step();
        let child = Thread {
            width: self.width,
            sc: self.sc.clone(),
            current: self.current.clone(),
            vector: self.vector.clone(),
            ..Thread::default()
        };
        self.next_epoch();
        child
    }
}

/// The threads' numbers, and what those knew that ended.
#[derive(Clone, Debug, Default)]
pub struct Population {
    count: usize,
    ended: Vec<Thread>,
    crowded: bool,
}

impl Population {
    /// A new thread, started by `parent`.
    pub fn start(&mut self, parent: Option<&mut Thread>) -> Thread {
        let mut child = parent.map_or_else(Thread::default, Thread::child);
        match self.reusable(&child.vector) {
            Some(index) => {
                let old = self.ended.swap_remove(index);
                if !child.vector.includes(&old.vector) {
                    self.crowded = true;
                    // Too many threads: this one is taken to know of all that the old one came after.
                    child.vector.join(&old.vector);
                    child.sc.join(&old.sc);
                    child.current.join(&old.current);
                    child.current.threads.join(&old.sc);
                }
                child.width = child.width.max(old.width);
                // Time goes on, so that locations do not take the new thread for the old one.
                (child.tid, child.time) = (old.tid, old.time);
            }
            None => {
                child.tid = self.count as Tid;
                self.count += 1;
            }
        }
        child.width = child.width.max(child.index() + 1);
        child.acquire = child.current.clone();
        child.step();
        child.learn(true);
        child.next_epoch();
        child
    }

    /// Which of the free numbers a thread that knows this much may take: that of a thread whose end it
    /// comes after, so that what is true of the old thread's past is true of the new one's.
    fn reusable(&self, known: &Vector) -> Option<usize> {
        let follows = |old: &Thread| known.get(old.index()) >= old.vector.get(old.index());
        let crowded = self.count >= CROWD && !self.ended.is_empty();
        self.ended.iter().rposition(follows).or(crowded.then_some(0))
    }

    /// Was a thread taken to come after another that it need not come after, for want of numbers?
    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Is there a number for one more thread?
    pub fn has_room(&self) -> bool {
        self.count < MOST_THREADS || !self.ended.is_empty()
    }

    /// The thread has ended; its number may be used again.
    pub fn end(&mut self, thread: Thread) {
        self.ended.push(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a fence that is told by another thread and moves memory that its own thread may be looking at.
    #[test]
    fn fences_from_elsewhere_give_back_nothing() {
        let mut population = Population::default();
        let mut first = population.start(None);
        let mut fences = Fences::new();
        let mut moved = 0;
        let mut kept = Vec::new();
        for _ in 0..40 {
            let mut other = population.start(Some(&mut first));
            other.fence(Order::SeqCst, Some(&mut fences));
            let mut plainly = (first.clone(), fences.clone());
            plainly.0.fence(Order::SeqCst, Some(&mut plainly.1));
            let at = |thread: &Thread| thread.vector.memory();
            let before = at(&first);
            let old = first.fence_from_elsewhere(&mut fences);
            assert_eq!(
                old.as_deref().map(<[u64]>::as_ptr),
                before.filter(|&it| Some(it) != at(&first))
            );
            assert_eq!(first.vector, plainly.0.vector, "it is a fence");
            assert_eq!(first.sc, plainly.0.sc, "it is a fence");
            moved += old.as_ref().map_or(0, |old| old.len());
            kept.extend(old);
        }
        assert!(moved > 0 && moved <= first.vector.room(), "{moved}");
    }
}
