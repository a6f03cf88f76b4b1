//! Who accessed a few bytes of plain memory last, after FastTrack (Flanagan and Freund, PLDI 2009).
//!
//! A [`Cell`] stands for eight bytes. It keeps who wrote and who read which of them last, as *epochs*: a
//! thread and a number. An access races with an earlier one of another thread if its thread does not
//! know of that epoch. Most cells need one epoch for writes and one for reads, which is a word each;
//! where several threads read, or bytes of one cell have different pasts, the word names an interned
//! *set* of epochs instead, so that nothing is ever lost and arrays that all threads read share a few
//! sets.
//!
//! Cells are read and changed without a lock. A writer publishes its epoch before it looks for readers
//! and a reader does the same before it looks for writers, each with an atomic read-modify-write, so of
//! two racing accesses at least one sees the other.

use crate::vector::Vector;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Eight bytes of memory.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub struct Cell {
    write: AtomicU64,
    read: AtomicU64,
}

const MASK: u32 = 56;
const THREAD: u32 = 44;
const EPOCH: u64 = (1 << THREAD) - 1;
/// How many threads there may be at a time: their numbers have so many bits here.
pub const MOST_THREADS: usize = 1 << (MASK - THREAD);
/// How many sets there may be; beyond, the last access is kept and the others are forgotten.
const SETS: usize = 1 << 20;

/// Some bytes of a cell, a thread and its epoch, in one word; 0 stands for nobody, and a word without
/// bytes for a set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Epoch(u64);

impl Epoch {
    /// One that no cell has.
    pub const NOBODY: Epoch = Epoch((1 << MASK) - 1);

    /// A thread's epoch, with no bytes yet.
    pub fn new(thread: u16, epoch: u64) -> Self {
        debug_assert!(usize::from(thread) < MOST_THREADS);
        Epoch(u64::from(thread) << THREAD | (epoch & EPOCH))
    }

    /// The thread.
    pub fn thread(self) -> u16 {
        (self.0 >> THREAD & (MOST_THREADS as u64 - 1)) as u16
    }

    /// Its epoch.
    pub fn epoch(self) -> u64 {
        self.0 & EPOCH
    }

    /// The bytes.
    pub fn mask(self) -> u8 {
        (self.0 >> MASK) as u8
    }

    fn who(self) -> u64 {
        self.0 & !(0xff << MASK)
    }

    fn with(self, mask: u8) -> Self {
        Epoch(self.who() | u64::from(mask) << MASK)
    }

    fn is_set(self) -> bool {
        self.mask() == 0 && self.0 != 0
    }

    #[inline]
    fn known_to(self, me: &Me<'_>) -> bool {
        self.thread() == me.epoch.thread() || self.epoch() <= me.clock.get(self.thread() as usize)
    }
}

/// The thread that accesses.
#[derive(Clone, Copy, Debug)]
pub struct Me<'a> {
    /// Its epoch.
    pub epoch: Epoch,
    /// What it knows.
    pub clock: &'a Vector,
}

/// An earlier access that races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Who.
    pub epoch: Epoch,
    /// Did it write?
    pub is_write: bool,
}

impl Clone for Cell {
    fn clone(&self) -> Self {
        let copy = |word: &AtomicU64| AtomicU64::new(word.load(Ordering::Relaxed));
        Cell { write: copy(&self.write), read: copy(&self.read) }
    }
}

impl Cell {
    /// Has the thread already written these bytes in this epoch?
    #[inline(always)]
    pub fn wrote(&self, me: Epoch, mask: u8) -> bool {
        let word = self.write.load(Ordering::Relaxed);
        (word ^ me.0) << 8 == 0 && (word >> MASK) as u8 & mask == mask
    }

    /// Has the thread already read or written these bytes in this epoch?
    #[inline(always)]
    pub fn accessed(&self, me: Epoch, mask: u8) -> bool {
        let word = self.read.load(Ordering::Relaxed);
        ((word ^ me.0) << 8 == 0 && (word >> MASK) as u8 & mask == mask) || self.wrote(me, mask)
    }

    /// The word for readers, where it names a set; 0 otherwise.
    #[inline(always)]
    pub fn reader_set(&self) -> u64 {
        let word = self.read.load(Ordering::Relaxed);
        if word >> MASK == 0 { word } else { 0 }
    }

    /// `me` reads the bytes of `mask`.
    pub fn read(&self, me: &Me<'_>, mask: u8, sets: &Sets) -> Option<Conflict> {
        replace(&self.read, me, mask, sets, Keep::Unordered);
        let writers = Epoch(self.write.load(Ordering::SeqCst));
        conflict(writers, me, mask, sets).map(|epoch| Conflict { epoch, is_write: true })
    }

    /// `me` writes the bytes of `mask`.
    pub fn write(&self, me: &Me<'_>, mask: u8, sets: &Sets) -> Option<Conflict> {
        let before = replace(&self.write, me, mask, sets, Keep::OtherBytes);
        let readers = Epoch(self.read.load(Ordering::SeqCst));
        let found = conflict(before, me, mask, sets)
            .map(|epoch| Conflict { epoch, is_write: true })
            .or_else(|| {
                conflict(readers, me, mask, sets).map(|epoch| Conflict { epoch, is_write: false })
            });
        // Reads that this write comes after say no more than the write does.
        if readers.0 != 0 && sets.all(readers, |reader| reader.mask() & !mask == 0) {
            let _ = self.read.compare_exchange(readers.0, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        found
    }

    /// Did nobody access these bytes yet?
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.write.load(Ordering::Relaxed) == 0 && self.read.load(Ordering::Relaxed) == 0
    }

    /// Forgets all accesses.
    pub fn clear(&self) {
        if self.write.load(Ordering::Relaxed) != 0 {
            self.write.store(0, Ordering::Relaxed);
        }
        if self.read.load(Ordering::Relaxed) != 0 {
            self.read.store(0, Ordering::Relaxed);
        }
    }
}

/// A conflicting earlier access that `me` does not know of. Looks only, for atomic accesses.
#[inline]
pub fn peek(cell: &Cell, me: &Me<'_>, mask: u8, is_write: bool, sets: &Sets) -> Option<Conflict> {
    let writers = Epoch(cell.write.load(Ordering::Relaxed));
    if let Some(epoch) = conflict(writers, me, mask, sets) {
        return Some(Conflict { epoch, is_write: true });
    }
    let readers = Epoch(cell.read.load(Ordering::Relaxed));
    let reader = if is_write { conflict(readers, me, mask, sets) } else { None };
    reader.map(|epoch| Conflict { epoch, is_write: false })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Epochs that the new one does not come after, and those of other bytes.
    Unordered,
    /// Those of other bytes only.
    OtherBytes,
}

/// Puts `me` into a word; returns what was there.
fn replace(word: &AtomicU64, me: &Me<'_>, mask: u8, sets: &Sets, keep: Keep) -> Epoch {
    let mut old = Epoch(word.load(Ordering::Relaxed));
    loop {
        let new = merged(old, me, mask, sets, keep);
        match word.compare_exchange_weak(old.0, new.0, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return old,
            Err(now) => old = Epoch(now),
        }
    }
}

fn merged(old: Epoch, me: &Me<'_>, mask: u8, sets: &Sets, keep: Keep) -> Epoch {
    let mine = me.epoch.with(mask);
    if old.0 == 0 {
        return mine;
    }
    let covered = |epoch: Epoch| keep == Keep::OtherBytes || epoch.known_to(me);
    if !old.is_set() {
        if old.who() == me.epoch.0 {
            return mine.with(mask | old.mask());
        }
        if old.mask() & !mask == 0 && covered(old) {
            return mine;
        }
    }
    let mut members = sets.members(old);
    let mut mask = mask;
    members.retain_mut(|epoch| {
        if epoch.who() == me.epoch.0 {
            mask |= epoch.mask();
            return false;
        }
        if covered(*epoch) {
            *epoch = epoch.with(epoch.mask() & !mask);
        }
        epoch.mask() != 0
    });
    members.push(mine.with(mask));
    sets.intern(members).unwrap_or(mine)
}

#[inline(always)]
fn conflict(word: Epoch, me: &Me<'_>, mask: u8, sets: &Sets) -> Option<Epoch> {
    if word.0 == 0 { None } else { find_conflict(word, me, mask, sets) }
}

fn find_conflict(word: Epoch, me: &Me<'_>, mask: u8, sets: &Sets) -> Option<Epoch> {
    if !word.is_set() {
        return (word.mask() & mask != 0 && !word.known_to(me)).then_some(word);
    }
    sets.find(word, |epoch| epoch.mask() & mask != 0 && !epoch.known_to(me))
}

/// Interned sets of epochs.
#[derive(Debug, Default)]
pub struct Sets(Mutex<Interned>);

#[derive(Debug, Default)]
struct Interned {
    numbers: HashMap<Box<[Epoch]>, u64>,
    sets: Vec<Box<[Epoch]>>,
}

impl Sets {
    fn members(&self, word: Epoch) -> Vec<Epoch> {
        if !word.is_set() {
            return vec![word];
        }
        self.locked().sets[word.0 as usize - 1].to_vec()
    }

    fn find(&self, word: Epoch, test: impl Fn(Epoch) -> bool) -> Option<Epoch> {
        self.locked().sets[word.0 as usize - 1].iter().copied().find(|&epoch| test(epoch))
    }

    fn all(&self, word: Epoch, test: impl Fn(Epoch) -> bool) -> bool {
        if !word.is_set() {
            return test(word);
        }
        self.find(word, |epoch| !test(epoch)).is_none()
    }

    /// The word for a set; none if there are too many.
    fn intern(&self, mut members: Vec<Epoch>) -> Option<Epoch> {
        if let [only] = members[..] {
            return Some(only);
        }
        members.sort_unstable();
        let mut interned = self.locked();
        if let Some(&number) = interned.numbers.get(&members[..]) {
            return Some(Epoch(number));
        }
        if interned.sets.len() >= SETS {
            return None;
        }
        let set: Box<[Epoch]> = members.into();
        interned.sets.push(set.clone());
        let number = interned.sets.len() as u64;
        interned.numbers.insert(set, number);
        Some(Epoch(number))
    }

    /// Does the set that `word` names show that `me` has already read these bytes?
    pub fn contains(&self, word: u64, me: Epoch, mask: u8) -> bool {
        let word = Epoch(word);
        word.is_set()
            && self.find(word, |epoch| epoch.who() == me.0 && epoch.mask() & mask == mask).is_some()
    }

    /// Keeps others from looking or adding, as long as what is returned lives.
    pub fn hold(&self) -> impl Sized + '_ {
        self.locked()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Interned> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
