//! Plain accesses: checked against the shadow of their address.

use crate::findings::{self, Access, Kind, Operation};
use crate::memory;
use crate::registry;
use crate::thread::{self, Thread};
use clocks::shadow::Conflict;
use clocks::trace::Event;

/// A plain access of at most eight bytes that does not cross a multiple of eight.
#[inline(always)]
pub fn access<const WRITE: bool>(address: usize, size: usize, pc: usize) {
    let Some(mut thread) = thread::current() else { return };
    let mask = (((1u32 << size) - 1) << (address & 7)) as u8;
    let cell = memory::cell(address);
    if WRITE {
        if cell.wrote(thread.quick, mask) {
            return;
        }
    } else {
        if cell.accessed(thread.quick, mask) {
            return;
        }
        let set = cell.reader_set();
        if set != 0 && thread.reader_sets[set as usize & 15] == set | u64::from(mask) << 56 {
            return;
        }
    }
    slow::<WRITE>(&mut thread, address, mask, pc);
}

/// Any plain access.
pub fn range<const WRITE: bool>(address: usize, size: usize, pc: usize) {
    let end = address + size;
    let mut at = address;
    while at < end {
        let next = ((at & !7) + 8).min(end);
        access::<WRITE>(at, next - at, pc);
        at = next;
    }
}

#[inline(never)]
fn slow<const WRITE: bool>(thread: &mut Thread, address: usize, mask: u8, pc: usize) {
    if thread.busy {
        return;
    }
    thread.busy = true;
    let site = thread.site(pc);
    let recording = registry::recording();
    let mut guard = recording.then(registry::lock);
    if let Some(recorder) = guard.as_mut().and_then(|state| state.recorder.as_mut()) {
        recorder.record(&Event::Plain {
            tid: thread.tid,
            address: (address & !7) as u64,
            mask,
            is_write: WRITE,
            site,
        });
    }
    let cell = memory::cell(address);
    let sites = memory::sites(address);
    let me = thread.me();
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let (last_write, last_read) = (sites.write.load(relaxed), sites.read.load(relaxed));
    let conflict = if WRITE {
        let conflict = cell.write(&me, mask, registry::sets());
        sites.write.store(site, relaxed);
        conflict
    } else {
        let conflict = cell.read(&me, mask, registry::sets());
        sites.read.store(site, relaxed);
        let set = cell.reader_set();
        if set != 0 && !recording && registry::sets().contains(set, thread.epoch, mask) {
            thread.reader_sets[set as usize & 15] = set | u64::from(mask) << 56;
        }
        conflict
    };
    drop(guard);
    if let Some(Conflict { epoch, is_write }) = conflict {
        let other = Access {
            thread: epoch.thread(),
            operation: if is_write { Operation::Write } else { Operation::Read },
            order: None,
            site: if is_write { last_write } else { last_read },
        };
        report(thread, address, mask, WRITE, site, other);
    }
    if memory::atomics(address).load(relaxed) != 0 {
        against_atomics::<WRITE>(thread, address, mask, site);
    }
    thread.busy = false;
}

/// Bytes that are also accessed atomically.
#[cold]
fn against_atomics<const WRITE: bool>(thread: &mut Thread, address: usize, mask: u8, site: u32) {
    let mut loc = memory::atomics(address).load(std::sync::atomic::Ordering::Acquire);
    let mut found = None;
    while loc != 0 && found.is_none() {
        let place = memory::place(loc);
        let at = place.address();
        if at & !7 == address & !7
            && let Some(held) = place.hold(thread, at)
        {
            let bytes = (((1u32 << held.size.min(8)) - 1) << (at & 7)) as u8;
            if bytes & mask != 0 {
                found = held.location.race(&thread.clocks, WRITE);
            }
        }
        loc = place.next();
    }
    let Some((other, wrote, other_site)) = found else { return };
    let other = Access {
        thread: other,
        operation: if wrote { Operation::AtomicWrite } else { Operation::AtomicRead },
        order: None,
        site: other_site,
    };
    report(thread, address, mask, WRITE, site, other);
}

fn report(thread: &Thread, address: usize, mask: u8, is_write: bool, site: u32, other: Access) {
    if thread.ignored > 0 || !registry::options().races {
        return;
    }
    let doubt = thread.clocks.doubt();
    findings::report(&findings::Finding {
        kind: Kind::Race,
        address: (address & !7) + mask.trailing_zeros() as usize,
        size: mask.count_ones() as usize,
        access: Access {
            thread: thread.tid,
            operation: if is_write { Operation::Write } else { Operation::Read },
            order: None,
            site,
        },
        other: Some(other),
        value: None,
        stale: Vec::new(),
        doubt,
    });
}
