//! Who accessed a few bytes of plain memory last, after FastTrack (Flanagan and Freund, PLDI 2009).
//!
//! A [`Cell`] stands for eight bytes. It keeps who wrote and who read which of them last, as *epochs*: a
//! thread and a number. An access races with an earlier one of another thread if its thread does not
//! know of that epoch. Most cells need one epoch for writes and one for reads, which is a word each;
//! where several threads read, or bytes of one cell have different pasts, the word names an interned
//! *set* of epochs instead ([`Sets`]), so that nothing is lost and arrays that all threads read share a
//! few sets.
//!
//! Cells are read and changed without a lock. A writer publishes its epoch before it looks for readers
//! and a reader does the same before it looks for writers, each with an atomic read-modify-write, so of
//! two racing accesses at least one sees the other. A set may be gone by the time it is looked up, because
//! no word names it any more; then the word is read again.

use crate::sets::Sets;
use crate::vector::Vector;
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

    /// The thread and its epoch, without bytes.
    pub(crate) fn who(self) -> u64 {
        self.0 & !(0xff << MASK)
    }

    pub(crate) fn with(self, mask: u8) -> Self {
        Epoch(self.who() | u64::from(mask) << MASK)
    }

    /// Does it name a set?
    pub(crate) fn is_set(self) -> bool {
        self.mask() == 0 && self.0 != 0
    }

    /// The word that names a set.
    pub(crate) fn of_set(name: u64) -> Epoch {
        debug_assert!(name != 0 && name >> MASK == 0);
        Epoch(name)
    }

    /// As a word.
    pub(crate) fn bits(self) -> u64 {
        self.0
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
    /// Who, and which of the bytes that are accessed now.
    pub epoch: Epoch,
    /// Did it write?
    pub is_write: bool,
}

/// A copy names the same sets, which do not know of it: only where [nothing is given up](Sets::keeping_all).
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
        let before = replace(&self.read, me, mask, sets, Keep::Unordered);
        sets.give_up(before);
        let writer = conflict(&self.write, me, mask, sets, Ordering::SeqCst);
        writer.map(|epoch| Conflict { epoch, is_write: true })
    }

    /// `me` writes the bytes of `mask`.
    pub fn write(&self, me: &Me<'_>, mask: u8, sets: &Sets) -> Option<Conflict> {
        let before = replace(&self.write, me, mask, sets, Keep::OtherBytes);
        let writer = sets.members(before, |members| unknown(members, me, mask)).flatten();
        sets.give_up(before);
        let found = writer.map(|epoch| Conflict { epoch, is_write: true }).or_else(|| {
            let reader = conflict(&self.read, me, mask, sets, Ordering::SeqCst);
            reader.map(|epoch| Conflict { epoch, is_write: false })
        });
        // Reads that this write comes after say no more than the write does.
        let readers = Epoch(self.read.load(Ordering::Relaxed));
        let covers = |members: &[Epoch]| members.iter().all(|reader| reader.mask() & !mask == 0);
        if readers.0 != 0
            && sets.members(readers, covers) == Some(true)
            && self
                .read
                .compare_exchange(readers.0, 0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            sets.give_up(readers);
        }
        found
    }

    /// `me` accesses the bytes of `mask`, and nobody else accesses the cell meanwhile: [`read`](Cell::read) or
    /// [`write`](Cell::write) where only this thread was before. Says whether it was so; if not, nothing was done.
    #[inline(always)]
    pub fn access_alone<const WRITE: bool>(&self, me: Epoch, mask: u8) -> bool {
        let [write, read] =
            [&self.write, &self.read].map(|word| Epoch(word.load(Ordering::Relaxed)));
        let mine = |word: Epoch| word.0 == 0 || !word.is_set() && word.thread() == me.thread();
        if !mine(write) || !mine(read) {
            return false;
        }
        let old = if WRITE { write } else { read };
        let new = if old.who() == me.0 {
            me.with(mask | old.mask())
        } else if old.mask() & !mask == 0 {
            me.with(mask)
        } else {
            return false;
        };
        if WRITE {
            self.write.store(new.0, Ordering::Relaxed);
            if read.0 != 0 && read.mask() & !mask == 0 {
                self.read.store(0, Ordering::Relaxed);
            }
        } else {
            self.read.store(new.0, Ordering::Relaxed);
        }
        true
    }

    /// `me` writes all bytes, as giving memory back does: the first of two steps, after which a barrier must come
    /// and then [`overtaken`](Cell::overtaken). For a whole block one barrier is enough. Whoever writes in the very
    /// moment may go unnoticed, which an owner of memory has no right to rely on.
    #[inline]
    pub fn overwrite(&self, me: &Me<'_>, sets: &Sets) -> Option<Conflict> {
        let (before, mine) = (Epoch(self.write.load(Ordering::Relaxed)), me.epoch.with(0xff));
        if before == mine {
            return None;
        }
        self.write.store(mine.0, Ordering::Relaxed);
        if before.0 == 0 || !before.is_set() && before.known_to(me) {
            return None;
        }
        let writer = sets.members(before, |members| unknown(members, me, 0xff)).flatten();
        sets.give_up(before);
        writer.map(|epoch| Conflict { epoch, is_write: true })
    }

    /// The second step: a read that `me` does not know of.
    #[inline]
    pub fn overtaken(&self, me: &Me<'_>, sets: &Sets) -> Option<Conflict> {
        let readers = Epoch(self.read.load(Ordering::Relaxed));
        if readers.0 == 0 {
            return None;
        }
        let reader = conflict(&self.read, me, 0xff, sets, Ordering::Relaxed);
        sets.give_up(Epoch(self.read.swap(0, Ordering::Relaxed)));
        reader.map(|epoch| Conflict { epoch, is_write: false })
    }

    /// Did nobody access these bytes yet?
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.write.load(Ordering::Relaxed) == 0 && self.read.load(Ordering::Relaxed) == 0
    }

    /// Forgets all accesses.
    pub fn clear(&self, sets: &Sets) {
        for word in [&self.write, &self.read] {
            let now = Epoch(word.load(Ordering::Relaxed));
            if now.is_set() {
                sets.give_up(Epoch(word.swap(0, Ordering::Relaxed)));
            } else if now.0 != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
    }
}

/// A conflicting earlier access that `me` does not know of. Looks only, for atomic accesses.
#[inline]
pub fn peek(cell: &Cell, me: &Me<'_>, mask: u8, is_write: bool, sets: &Sets) -> Option<Conflict> {
    if let Some(epoch) = conflict(&cell.write, me, mask, sets, Ordering::Relaxed) {
        return Some(Conflict { epoch, is_write: true });
    }
    let reader =
        if is_write { conflict(&cell.read, me, mask, sets, Ordering::Relaxed) } else { None };
    reader.map(|epoch| Conflict { epoch, is_write: false })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Epochs that the new one does not come after, and those of other bytes.
    Unordered,
    /// Those of other bytes only.
    OtherBytes,
}

/// Puts `me` into a word; returns what was there, which is to be [given up](Sets::give_up).
fn replace(word: &AtomicU64, me: &Me<'_>, mask: u8, sets: &Sets, keep: Keep) -> Epoch {
    let mut old = Epoch(word.load(Ordering::Relaxed));
    loop {
        let Some(new) = merged(old, me, mask, sets, keep) else {
            old = Epoch(word.load(Ordering::Relaxed));
            continue;
        };
        match word.compare_exchange(old.0, new.0, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return old,
            Err(now) => {
                sets.give_up(new);
                old = Epoch(now);
            }
        }
    }
}

/// What a word becomes that was `old`; none if that names a set that is gone.
fn merged(old: Epoch, me: &Me<'_>, mask: u8, sets: &Sets, keep: Keep) -> Option<Epoch> {
    let mine = me.epoch.with(mask);
    if old.0 == 0 {
        return Some(mine);
    }
    let covered = |epoch: Epoch| keep == Keep::OtherBytes || epoch.known_to(me);
    if !old.is_set() {
        if old.who() == me.epoch.0 {
            return Some(mine.with(mask | old.mask()));
        }
        if old.mask() & !mask == 0 && covered(old) {
            return Some(mine);
        }
    }
    let mut members = sets.members(old, <[Epoch]>::to_vec)?;
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
    let mine = mine.with(mask);
    members.push(mine);
    Some(sets.name(members).unwrap_or(mine))
}

/// An access in a word that `me` does not know of.
#[inline(always)]
fn conflict(
    word: &AtomicU64,
    me: &Me<'_>,
    mask: u8,
    sets: &Sets,
    order: Ordering,
) -> Option<Epoch> {
    let now = Epoch(word.load(order));
    if now.0 == 0 { None } else { find_conflict(now, word, me, mask, sets, order) }
}

fn find_conflict(
    mut now: Epoch,
    word: &AtomicU64,
    me: &Me<'_>,
    mask: u8,
    sets: &Sets,
    order: Ordering,
) -> Option<Epoch> {
    loop {
        if let Some(found) = sets.members(now, |members| unknown(members, me, mask)) {
            return found;
        }
        now = Epoch(word.load(order));
        if now.0 == 0 {
            return None;
        }
    }
}

/// One of the accesses to these bytes that `me` does not know of. A thread's accesses of one epoch are one here, so
/// that of the other bytes it may have accessed some elsewhere in the program.
fn unknown(members: &[Epoch], me: &Me<'_>, mask: u8) -> Option<Epoch> {
    let mut members = members.iter();
    let found = members.find(|epoch| epoch.mask() & mask != 0 && !epoch.known_to(me))?;
    Some(found.with(found.mask() & mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches an access by a thread to itself that leaves something else behind than the same access among others does, or
    /// one that is done although somebody else was there.
    #[test]
    fn alone_is_as_among_others() {
        let mut state = 3u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        let (sets, mut done, mut refused) = (Sets::keeping_all(), 0, 0);
        for _ in 0..3_000 {
            let cell = Cell::default();
            let mut clock = Vector::default();
            for step in 1..12 {
                // Once in a while by somebody else.
                let thread = u16::from(below(12) == 0);
                let epoch = step / 2 + 1;
                clock.set(usize::from(thread), epoch);
                let me = Me { epoch: Epoch::new(thread, epoch), clock: &clock };
                let mask = [0xff, 0x0f, 0xf0, 0x03, 0x10][below(5) as usize];
                let copy = cell.clone();
                let words =
                    |cell: &Cell| [&cell.write, &cell.read].map(|w| w.load(Ordering::Relaxed));
                let (before, is_write) = (words(&cell), below(2) == 0);
                let (conflict, alone) = match is_write {
                    true => {
                        (cell.write(&me, mask, &sets), copy.access_alone::<true>(me.epoch, mask))
                    }
                    false => {
                        (cell.read(&me, mask, &sets), copy.access_alone::<false>(me.epoch, mask))
                    }
                };
                if alone {
                    assert_eq!(
                        (conflict, words(&copy)),
                        (None, words(&cell)),
                        "{before:x?} {mask:x}"
                    );
                    done += 1;
                } else {
                    assert_eq!(words(&copy), before);
                    refused += 1;
                }
            }
        }
        assert!(done > 10_000 && refused > 3_000, "{done} {refused}");
    }
}
