//! Shadow memory: where what is known of an address is kept.
//!
//! The low 44 bits of an address tell apart everything a Linux process maps on x86-64 (programs and
//! heaps below `0x5700_0000_0000`, libraries and stacks above `0x7e00_0000_0000`). Arrays are
//! reserved for them, and the system backs only the pages that are touched: the [`Cell`] of every eight
//! bytes, the origins of its last write and read, and the number of the first atomic location in it. A fourth
//! says where the block was allocated that begins there, if one does, and a fifth has the locations themselves, by
//! number. Origins that are still of interest when another takes their place are
//! kept in a table, as long as there is room.

use crate::locked_location::Place;
use clocks::origin::Origin;
use clocks::shadow::{Cell, Conflict, Epoch};
use clocks::{Loc, Site, Tid};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bits of an address that matter.
const BITS: u32 = 44;
const GRANULES: usize = 1 << (BITS - 3);

static CELLS: AtomicUsize = AtomicUsize::new(0);
static SITES: AtomicUsize = AtomicUsize::new(0);
static ATOMICS: AtomicUsize = AtomicUsize::new(0);
static PLACES: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

/// How many atomic locations there may be at a time.
pub const PLACES_MOST: u32 = 1 << 28;

/// The origins of the last write and the last read of a cell, as words.
#[repr(C)]
struct Sites {
    write: AtomicU64,
    read: AtomicU64,
}

/// Origins that others displaced. A word is what it says only if the other, which has the cell added to
/// it, agrees: two threads may write an entry at the same time.
static DISPLACED: [(AtomicU64, AtomicU64); 1 << 16] =
    [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 1 << 16];

/// Reserves memory, which reads as zero.
pub fn map(bytes: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [0, bytes, protection as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a fresh mapping at an address of the system's choice.
    let at = unsafe { crate::system::call(libc::SYS_mmap, arguments) };
    if at < 0 {
        return None;
    }
    // Shadow memory is touched here and there; huge pages would be mostly empty.
    // SAFETY: the mapping just made.
    unsafe { libc::madvise(at as *mut _, bytes, libc::MADV_NOHUGEPAGE) };
    Some(at as usize)
}

/// Up to which byte of a reservation no huge pages are worth it, because most programs need no more, and from which on they
/// are not either. In between, who has thousands of locations goes from one to the other, and looks for fewer pages. For
/// hundreds of megabytes, what counts is how long the system takes to provide them: on a virtual machine that gets
/// its own memory page by page, more than twice as long in huge pages as in small ones.
const HUGE_PAGES: std::ops::Range<usize> = 1 << 21..1 << 26;

/// Asks for huge pages where they are worth it in a reservation, which is used from its beginning on.
pub fn enlarge_pages(base: usize) {
    // SAFETY: a part of a mapping; its content stays what it is.
    unsafe {
        libc::madvise((base + HUGE_PAGES.start) as *mut _, HUGE_PAGES.len(), libc::MADV_HUGEPAGE)
    };
}

/// Reserves shadow memory.
pub fn reserve() {
    let map = |bytes: usize| {
        map(bytes).unwrap_or_else(|| {
            crate::findings::die(
                "cannot reserve shadow memory: is address space limited (ulimit -v)?",
            )
        })
    };
    CELLS.store(map(GRANULES * size_of::<Cell>()), Ordering::Relaxed);
    SITES.store(map(GRANULES * size_of::<Sites>()), Ordering::Relaxed);
    ATOMICS.store(map(GRANULES * 4), Ordering::Relaxed);
    BLOCKS.store(map(GRANULES * 4), Ordering::Relaxed);
    let places = map(PLACES_MOST as usize * size_of::<Place>());
    PLACES.store(places, Ordering::Relaxed);
    enlarge_pages(places);
}

#[inline(always)]
fn granule(address: usize) -> usize {
    (address & ((1 << BITS) - 1)) >> 3
}

/// The cell that `address` is in.
#[inline(always)]
pub fn cell(address: usize) -> &'static Cell {
    let base = CELLS.load(Ordering::Relaxed) as *const Cell;
    // SAFETY: the reservation has a cell for every granule; zeroed memory is a valid cell.
    unsafe { &*base.add(granule(address)) }
}

/// The origins of the cell that `address` is in.
#[inline(always)]
fn sites(address: usize) -> &'static Sites {
    let base = SITES.load(Ordering::Relaxed) as *const Sites;
    // SAFETY: as above.
    unsafe { &*base.add(granule(address)) }
}

/// The entry for accesses of a thread to a cell from one of its bytes on, and what its second word has added.
fn displaced(
    address: usize,
    thread: Tid,
    is_write: bool,
    byte: u32,
) -> (&'static (AtomicU64, AtomicU64), u64) {
    let key = (granule(address) as u64) << 16
        | u64::from(byte & 7) << 13
        | u64::from(is_write) << 12
        | u64::from(thread);
    let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - DISPLACED.len().ilog2());
    (&DISPLACED[hash as usize], key.wrapping_add(1))
}

/// Notes where an access to a cell was made.
#[inline]
pub fn note_origin(address: usize, is_write: bool, origin: Origin) {
    let sites = sites(address);
    let word = if is_write { &sites.write } else { &sites.read };
    let old = Origin::from_bits(word.load(Ordering::Relaxed));
    word.store(origin.bits(), Ordering::Relaxed);
    if old.outlives(origin, is_write) {
        let (entry, key) = displaced(address, old.thread(), is_write, old.first_byte());
        entry.0.store(old.bits(), Ordering::Relaxed);
        entry.1.store(old.bits().wrapping_add(key), Ordering::Relaxed);
    }
}

/// Notes where all bytes of a cell were written, after which no other write of them is of interest.
#[inline]
pub fn replace_origin(address: usize, origin: Origin) {
    sites(address).write.store(origin.bits(), Ordering::Relaxed);
}

/// How often an origin is looked for. Whoever made the access may be about to say where.
const LOOKS: usize = 8;

/// Where an access to a cell was made, or a later one by the same thread; 0 if that is not known any more.
pub fn origin(address: usize, conflict: Conflict) -> Site {
    let sites = sites(address);
    let word = if conflict.is_write { &sites.write } else { &sites.read };
    let from = |byte: u32| {
        let thread = conflict.epoch.thread();
        let (entry, key) = displaced(address, thread, conflict.is_write, byte);
        let (bits, sum) = (entry.0.load(Ordering::Relaxed), entry.1.load(Ordering::Relaxed));
        let is_whole = sum == bits.wrapping_add(key);
        Origin::from_bits(if is_whole { bits } else { 0 })
    };
    let candidates = || {
        let last = Origin::from_bits(word.load(Ordering::Relaxed));
        std::iter::once(last).chain((0..8).map(from))
    };
    let find = |is_it: fn(Origin, Epoch) -> bool| {
        candidates().find(|&origin| is_it(origin, conflict.epoch)).map(Origin::site)
    };
    for look in 0..LOOKS {
        if let Some(site) = find(Origin::is_of).or_else(|| find(Origin::is_after)) {
            return site;
        }
        if look + 1 < LOOKS / 2 {
            std::hint::spin_loop();
        } else {
            // SAFETY: lets others run.
            unsafe { crate::system::call(libc::SYS_sched_yield, [0; 6]) };
        }
    }
    0
}

/// The number of the first atomic location in the cell that `address` is in; 0 if there is none.
#[inline(always)]
pub fn atomics(address: usize) -> &'static AtomicU32 {
    let base = ATOMICS.load(Ordering::Relaxed) as *const AtomicU32;
    // SAFETY: as above.
    unsafe { &*base.add(granule(address)) }
}

/// What is known of the block that begins at an address: where it was allocated, and how many bytes at its end
/// nobody asked for; 0 if there is none.
#[inline(always)]
fn block(address: usize) -> &'static AtomicU32 {
    let base = BLOCKS.load(Ordering::Relaxed) as *const AtomicU32;
    // SAFETY: as above.
    unsafe { &*base.add(granule(address)) }
}

/// Bits of a word about a block for what nobody asked for.
const SLACK: u32 = 8;

/// A block was allocated. It is `slack` bytes longer than asked for.
#[inline]
pub fn note_block(address: usize, slack: usize, site: Site) {
    let word = if site >> (32 - SLACK) == 0 { site << SLACK | slack.min(255) as u32 } else { 0 };
    block(address).store(word, Ordering::Relaxed);
}

/// A block is no more.
#[inline]
pub fn forget_block(address: usize) {
    if block(address).load(Ordering::Relaxed) != 0 {
        block(address).store(0, Ordering::Relaxed);
    }
}

/// How far back the beginning of a block is looked for.
const FARTHEST: usize = 1 << 24;

/// The beginning of the block that an address may be in, where it was allocated, and how many bytes of it nobody
/// asked for. Whether it reaches that far is the caller's to find out.
pub fn block_around(address: usize) -> Option<(usize, Site, usize)> {
    let mut at = address & !7;
    for _ in 0..FARTHEST / 8 {
        let word = block(at).load(Ordering::Relaxed);
        if word != 0 {
            return Some((at, word >> SLACK, (word & ((1 << SLACK) - 1)) as usize));
        }
        at = at.checked_sub(8)?;
    }
    None
}

/// The location with this number: zeroed memory until it was made.
#[inline(always)]
pub fn place(loc: Loc) -> &'static Place {
    let base = PLACES.load(Ordering::Relaxed) as *const Place;
    // SAFETY: numbers are below the reservation's size.
    unsafe { &*base.add(loc as usize) }
}

/// The number of a location.
#[inline(always)]
pub fn number(place: &'static Place) -> Loc {
    let offset = place as *const Place as usize - PLACES.load(Ordering::Relaxed);
    (offset / size_of::<Place>()) as Loc
}

/// Forgets everything.
pub fn forget() {
    let shadows = [
        (&CELLS, GRANULES * size_of::<Cell>()),
        (&ATOMICS, GRANULES * 4),
        (&BLOCKS, GRANULES * 4),
        (&PLACES, PLACES_MOST as usize * size_of::<Place>()),
    ];
    for (shadow, bytes) in shadows {
        let at = shadow.load(Ordering::Relaxed) as *mut libc::c_void;
        // SAFETY: whole reservations; they read as zero afterwards.
        unsafe { libc::madvise(at, bytes, libc::MADV_DONTNEED) };
    }
}

/// Forgets all plain accesses to `bytes` bytes from `address` on.
pub fn clear(address: usize, bytes: usize) {
    if CELLS.load(Ordering::Relaxed) == 0 {
        return;
    }
    const PAGE: usize = 4096;
    let (first, last) = (address & !7, address + bytes);
    let mut from = first;
    if bytes >= 1 << 16 {
        let shadow = cell(first) as *const Cell as usize;
        let end = shadow + (last - first).div_ceil(8) * size_of::<Cell>();
        let (inner, inner_end) = (shadow.next_multiple_of(PAGE), end & !(PAGE - 1));
        if inner < inner_end {
            // SAFETY: whole pages of the reservation; they read as zero afterwards.
            unsafe { libc::madvise(inner as *mut _, inner_end - inner, libc::MADV_DONTNEED) };
            let skipped = (inner_end - shadow) / size_of::<Cell>() * 8;
            while cell(from) as *const Cell as usize != inner {
                cell(from).clear(crate::registry::sets());
                from += 8;
            }
            from = first + skipped;
        }
    }
    while from < last {
        cell(from).clear(crate::registry::sets());
        from += 8;
    }
}
