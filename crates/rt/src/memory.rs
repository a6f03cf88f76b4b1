//! Shadow memory: where what is known of an address is kept.
//!
//! The low 44 bits of an address tell apart everything a Linux process maps on x86-64 (programs and
//! heaps below `0x5700_0000_0000`, libraries and stacks above `0x7e00_0000_0000`). Three arrays are
//! reserved for them, and the system backs only the pages that are touched: the [`Cell`] of every eight
//! bytes, the sites of its last write and read, and the number of the first atomic location in it. A fourth
//! has the locations themselves, by number.

use crate::locked_location::Place;
use clocks::Loc;
use clocks::shadow::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bits of an address that matter.
const BITS: u32 = 44;
const GRANULES: usize = 1 << (BITS - 3);

static CELLS: AtomicUsize = AtomicUsize::new(0);
static SITES: AtomicUsize = AtomicUsize::new(0);
static ATOMICS: AtomicUsize = AtomicUsize::new(0);
static PLACES: AtomicUsize = AtomicUsize::new(0);

/// How many bytes of locations are worth no huge pages.
const FEW: usize = 1 << 21;

/// How many atomic locations there may be at a time.
pub const PLACES_MOST: u32 = 1 << 28;

/// The sites of the last write and the last read of a cell.
#[repr(C)]
pub struct Sites {
    /// Of the last write.
    pub write: AtomicU32,
    /// Of the last read.
    pub read: AtomicU32,
}

/// Reserves shadow memory.
pub fn reserve() {
    let map = |bytes: usize| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the system's choice.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            crate::findings::die(
                "cannot reserve shadow memory: is address space limited (ulimit -v)?",
            );
        }
        // Shadow memory is touched here and there; huge pages would be mostly empty.
        // SAFETY: the mapping just made.
        unsafe { libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE) };
        at as usize
    };
    CELLS.store(map(GRANULES * size_of::<Cell>()), Ordering::Relaxed);
    SITES.store(map(GRANULES * size_of::<Sites>()), Ordering::Relaxed);
    ATOMICS.store(map(GRANULES * 4), Ordering::Relaxed);
    let bytes = PLACES_MOST as usize * size_of::<Place>();
    let places = map(bytes);
    PLACES.store(places, Ordering::Relaxed);
    // Numbers are dense, and who has many locations uses them all.
    // SAFETY: the end of the mapping just made.
    unsafe { libc::madvise((places + FEW) as *mut _, bytes - FEW, libc::MADV_HUGEPAGE) };
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

/// The sites of the cell that `address` is in.
#[inline(always)]
pub fn sites(address: usize) -> &'static Sites {
    let base = SITES.load(Ordering::Relaxed) as *const Sites;
    // SAFETY: as above.
    unsafe { &*base.add(granule(address)) }
}

/// The number of the first atomic location in the cell that `address` is in; 0 if there is none.
#[inline(always)]
pub fn atomics(address: usize) -> &'static AtomicU32 {
    let base = ATOMICS.load(Ordering::Relaxed) as *const AtomicU32;
    // SAFETY: as above.
    unsafe { &*base.add(granule(address)) }
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
                cell(from).clear();
                from += 8;
            }
            from = first + skipped;
        }
    }
    while from < last {
        cell(from).clear();
        from += 8;
    }
}
