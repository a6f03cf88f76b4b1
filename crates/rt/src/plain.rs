//! Plain accesses: checked against the shadow of their address.

use crate::atomic;
use crate::findings::{self, Access, Kind, Loss, Operation};
use crate::locked_location;
use crate::memory;
use crate::private;
use crate::registry;
use crate::thread::{self, Giver, Thread};
use clocks::Site;
use clocks::origin::Origin;
use clocks::shadow::{Conflict, Epoch};
use clocks::trace::Event;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

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
    let (first, last) = (address.next_multiple_of(8), end & !7);
    if !WRITE || last < first + 16 || registry::recording() {
        return pieces::<WRITE>(address, end, pc);
    }
    pieces::<WRITE>(address, first, pc);
    fill(first, last, pc);
    pieces::<WRITE>(last, end, pc);
}

/// One cell after the other.
fn pieces<const WRITE: bool>(from: usize, to: usize, pc: usize) {
    let mut at = from;
    while at < to {
        let next = ((at & !7) + 8).min(to);
        access::<WRITE>(at, next - at, pc);
        at = next;
    }
}

/// Writes whole cells, with one barrier for all of them.
fn fill(from: usize, to: usize, pc: usize) {
    let Some(mut thread) = thread::current() else { return };
    let quick = thread.quick;
    let Some(from) = (from..to).step_by(8).find(|&at| !memory::cell(at).wrote(quick, 0xff)) else {
        return;
    };
    if thread.busy {
        return;
    }
    thread.busy = true;
    let site = thread.site(pc);
    let mut found = Found::default();
    write_cells(&thread, from, to, |_| true, site, &mut found);
    if let Some((at, mask, other)) = found.race {
        report(&thread, at, mask, true, site, other);
    }
    if found.atomics {
        for at in (from..to).step_by(8).filter(|&at| has_locations(at)) {
            if let Some(other) = against_atomics::<true>(&mut thread, at, 0xff) {
                report(&thread, at, 0xff, true, site, other);
            }
            end_locations(&mut thread, at, 0xff);
        }
    }
    thread.busy = false;
}

#[inline(never)]
fn slow<const WRITE: bool>(thread: &mut Thread, address: usize, mask: u8, pc: usize) {
    if thread.busy {
        return;
    }
    thread.busy = true;
    if thread.quick == Epoch::NOBODY && !registry::recording() {
        // Another thread made it pass a fence.
        locked_location::alone(thread, Thread::refresh);
    }
    let site = thread.site(pc);
    if private::note::<WRITE>(thread, address, mask) {
        memory::note_origin(address, WRITE, Origin::new(thread.epoch, mask, site));
    } else if let Some(other) = note::<WRITE>(thread, address, mask, site) {
        report(thread, address, mask, WRITE, site, other);
    }
    if memory::atomics(address).load(Relaxed) != 0
        && let Some(other) = against_atomics::<WRITE>(thread, address, mask)
    {
        report(thread, address, mask, WRITE, site, other);
    }
    if WRITE && memory::atomics(address).load(Relaxed) != 0 {
        end_locations(thread, address, mask);
    }
    thread.busy = false;
}

/// A plain write over atomic locations, as a constructor's in memory that had another object before: whatever
/// they were, they are no more. The next atomic access finds a new location there, which begins with what it
/// holds then; that everybody knows of that value is what the race check is for.
#[cold]
fn end_locations(thread: &mut Thread, address: usize, mask: u8) {
    registry::lock().remove_locations(address, |at, size| bytes_of(at, size) & mask != 0);
    thread.forget_loads();
}

/// Which of the eight bytes around an address so many from there on are.
fn bytes_of(address: usize, size: u8) -> u8 {
    (((1u32 << size.min(8)) - 1) << (address & 7)) as u8
}

/// How many bytes of a block that is given back are marked although nobody ever accessed them.
const MARKED: usize = 1 << 10;

/// The bytes are given back, which nobody may do before others are done with them: a write to all of
/// them. The first race is enough, and none is reported if there is a location among them that was written
/// behind our back: then the order was made there as well. Says whether there are locations.
pub fn give_back(thread: &mut Thread, address: usize, bytes: usize, giver: Giver) -> bool {
    let end = address + bytes;
    if thread.busy || !thread.trusts(giver) {
        return (address & !7..end).step_by(8).any(has_locations);
    }
    let mut found = Found::default();
    thread.busy = true;
    let site = thread.site_of_call(giver);
    let (first, last) = (address.next_multiple_of(8).min(end), (end & !7).max(address));
    if registry::recording() || first >= last {
        give_back_slowly(thread, address, end, address, site, &mut found);
    } else {
        give_back_slowly(thread, address, first, address, site, &mut found);
        let marked = |at: usize| at - address < MARKED || !memory::cell(at).is_untouched();
        write_cells(thread, first, last, marked, site, &mut found);
        give_back_slowly(thread, last, end, address, site, &mut found);
    }
    if found.atomics {
        let mut trusted = true;
        for at in (address & !7..end).step_by(8).filter(|&at| has_locations(at)) {
            let mask = (0..8).filter(|&k| (address..end).contains(&(at + k)));
            let mask = mask.fold(0, |mask, k| mask | 1 << k);
            let other = against_atomics::<true>(thread, at, mask);
            found.race = found.race.or(other.map(|other| (at, mask, other)));
            trusted &= !has_unseen_writes(thread, at);
        }
        found.race = found.race.filter(|_| trusted);
    }
    if let Some((at, mask, other)) = found.race {
        report(thread, at, mask, true, site, other);
    }
    thread.busy = false;
    found.atomics
}

/// What was found in a block that is given back.
#[derive(Default)]
struct Found {
    race: Option<(usize, u8, Access)>,
    atomics: bool,
}

fn has_locations(address: usize) -> bool {
    memory::atomics(address).load(Relaxed) != 0
}

/// Bytes that are not whole cells, or everything if everything is recorded.
fn give_back_slowly(
    thread: &mut Thread,
    from: usize,
    to: usize,
    block: usize,
    site: Site,
    found: &mut Found,
) {
    let mut at = from;
    while at < to {
        let next = ((at & !7) + 8).min(to);
        let mask = (((1u32 << (next - at)) - 1) << (at & 7)) as u8;
        if at - block < MARKED || !memory::cell(at).is_untouched() {
            let other = note::<true>(thread, at, mask, site);
            found.race = found.race.or(other.map(|other| (at, mask, other)));
        }
        found.atomics |= has_locations(at);
        at = next;
    }
}

/// Whole cells: writes to all of them that `is_marked`, one barrier, and then a look for readers.
fn write_cells(
    thread: &Thread,
    from: usize,
    to: usize,
    is_marked: impl Fn(usize) -> bool,
    site: Site,
    found: &mut Found,
) {
    let (me, sets) = (thread.me(), registry::sets());
    let origin = Origin::new(thread.epoch, 0xff, site);
    let mut conflicts = |at: usize, conflict: Option<Conflict>| {
        if let Some(conflict) = conflict
            && found.race.is_none()
        {
            found.race = Some((at, 0xff, accessed(at, conflict)));
        }
    };
    let mut changed = false;
    for at in (from..to).step_by(8) {
        let cell = memory::cell(at);
        if !cell.wrote(me.epoch, 0xff) && is_marked(at) {
            conflicts(at, cell.overwrite(&me, sets));
            memory::replace_origin(at, origin);
            changed = true;
        }
    }
    if changed {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        if private::revoke_all(thread, from, to) {
            // The owner may have overwritten some.
            return write_cells(thread, from, to, is_marked, site, found);
        }
    }
    for at in (from..to).step_by(8) {
        conflicts(at, memory::cell(at).overtaken(&me, sets));
        found.atomics |= has_locations(at);
    }
}

/// Puts an access into the shadow of its bytes; the earlier one that it races with.
fn note<const WRITE: bool>(
    thread: &mut Thread,
    address: usize,
    mask: u8,
    site: Site,
) -> Option<Access> {
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
    let me = thread.me();
    let access = || match WRITE {
        true => cell.write(&me, mask, registry::sets()),
        false => cell.read(&me, mask, registry::sets()),
    };
    let mut conflict = access();
    if !recording && private::revoke(thread, address) {
        // The owner may have overwritten it, or not have been seen.
        conflict = conflict.or(access());
    }
    if !WRITE {
        let set = cell.reader_set();
        if set != 0 && !recording && registry::sets().contains(set, thread.epoch, mask) {
            thread.reader_sets[set as usize & 15] = set | u64::from(mask) << 56;
            thread.has_reader_sets = true;
        }
    }
    if registry::sets().overflowed() {
        findings::lost(Loss::Readers);
    }
    let other = conflict.map(|conflict| accessed(address, conflict));
    memory::note_origin(address, WRITE, Origin::new(thread.epoch, mask, site));
    other
}

/// An earlier plain access to a cell.
pub fn accessed(address: usize, conflict: Conflict) -> Access {
    Access {
        thread: conflict.epoch.thread(),
        operation: if conflict.is_write { Operation::Write } else { Operation::Read },
        order: None,
        site: memory::origin(address, conflict),
        epoch: Some(conflict.epoch.epoch()),
    }
}

/// Is there a location in these eight bytes that somebody wrote whom nobody saw?
fn has_unseen_writes(thread: &Thread, address: usize) -> bool {
    let mut loc = memory::atomics(address).load(Acquire);
    while loc != 0 {
        let place = memory::place(loc);
        let at = place.address();
        if at & !7 == address & !7
            && let Some(held) = place.hold(thread, at)
            && (held.is_foreign() || atomic::value_at(at, held.size) != Some(held.location.value()))
        {
            return true;
        }
        loc = place.next();
    }
    false
}

/// The atomic access to these bytes that a plain one races with.
#[cold]
fn against_atomics<const WRITE: bool>(
    thread: &mut Thread,
    address: usize,
    mask: u8,
) -> Option<Access> {
    let mut loc = memory::atomics(address).load(Acquire);
    let mut found = None;
    while loc != 0 && found.is_none() {
        let place = memory::place(loc);
        let at = place.address();
        if at & !7 == address & !7
            && let Some(held) = place.hold(thread, at)
            && bytes_of(at, held.size) & mask != 0
        {
            found = held.location.race(&thread.clocks, WRITE);
        }
        loc = place.next();
    }
    let (thread, wrote, site) = found?;
    let operation = if wrote { Operation::AtomicWrite } else { Operation::AtomicRead };
    Some(Access { thread, operation, order: None, site, epoch: None })
}

fn report(thread: &Thread, address: usize, mask: u8, is_write: bool, site: u32, other: Access) {
    if thread.ignored > 0 || !registry::options().races {
        return;
    }
    let doubt = thread.clocks.doubt();
    let operation = if is_write { Operation::Write } else { Operation::Read };
    findings::report(&findings::Finding {
        kind: Kind::Race,
        address: (address & !7) + mask.trailing_zeros() as usize,
        size: mask.count_ones() as usize,
        access: Access::by(thread, operation, None, site),
        locks: thread.locks.clone(),
        other: Some(other),
        value: None,
        stale: Vec::new(),
        used: None,
        may_fail: false,
        doubt,
    });
}
