//! Loads and stores that nothing can be wrong with, and that teach nobody anything but that they happened: what is left
//! of [`crate::atomic::access`] where all its questions have a known answer.
//!
//! Entry points try this first, before they save registers, which only matter where a stale value must be followed. Where
//! any of the premises is missing, nothing was done yet, and the access takes the long way. The analysis is the same
//! either way: both ways end in [`reread`](clocks::location::Location::reread) or [`perform`](clocks::location::Location::perform)
//! of the same location, under its lock, with the same arguments.
//!
//! *A load of what the thread saw last* ([`load`]). The thread remembers where it accessed the location and which write
//! was the newest. If under the lock that write is still the newest, the location is as it was then, and `reread` asks
//! the rest: that the thread has learned nothing since. Then it knows of the newest write, and nothing is stale.
//!
//! *A store over what the thread knows* ([`store`]). If the thread knows of the newest write, nothing that it does here is
//! stale: [`is_newest_known`](clocks::location::Location::is_newest_known) is what
//! [`arrive`](clocks::location::Location::arrive) asks first. A seq_cst store takes the long way, because it needs the
//! lock of the fences.
//!
//! Races with plain accesses are asked for both times. That the thread was told of a race with the same plain write
//! before is no reason not to ask: this access may be at another place in the program, and is another race then.
//!
//! Not here: anything while accesses are recorded, after a fence in assembly, or of locations that code writes that is
//! not instrumented; and nothing at all with the option `quick=0`, which is there so that both ways can be compared.

use crate::atomic::against_plain;
use crate::locked_location::Place;
use crate::memory;
use crate::registry;
use crate::schedule;
use crate::thread::{self, Current};
use crate::word::Word;
use clocks::Order;
use clocks::access::Done;

/// The thread, if it may be quick. Others had their turn then.
#[inline(always)]
fn ready(pc: usize) -> Option<Current> {
    let thread = thread::current()?;
    if thread.busy || !registry::is_quick() {
        return None;
    }
    schedule::point(thread, pc);
    Some(thread)
}

/// The access takes the long way, where it need not wait for its turn again.
#[cold]
fn give_up(mut thread: Current) {
    thread.has_turn = schedule::active();
}

/// Is there a plain access that an atomic one races with? There are hardly ever any.
#[inline(always)]
fn races(thread: &Current, address: usize, size: u8, is_write: bool) -> bool {
    !memory::cell(address).is_untouched()
        && against_plain(thread, address, size, is_write).is_some()
}

/// Loads, if there is nothing to it.
///
/// # Safety
/// As for [`crate::atomic::access`].
#[inline(always)]
pub unsafe fn load<T: Word>(at: *mut T, order: Order, pc: usize) -> Option<T> {
    let thread = ready(pc)?;
    // SAFETY: the caller's promise.
    let found = unsafe { try_load(thread, at, order, pc) };
    if found.is_none() {
        give_up(thread);
    }
    found
}

/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn try_load<T: Word>(mut thread: Current, at: *mut T, order: Order, pc: usize) -> Option<T> {
    let address = at as usize;
    // SAFETY: the caller's promise.
    let found = unsafe { T::load(at) };
    if thread.repeated(address, T::SIZE, order, found.bits()) {
        return Some(found);
    }
    // Nothing is remembered after a fence in assembly.
    let (place, version) = thread.last_seen(address, T::SIZE)?;
    if place.settled() != Some(version) {
        return None;
    }
    thread.busy = true;
    let (site, fenced) = thread.atomic_site(pc);
    let mut result = None;
    if !fenced && let Some(mut held) = place.hold(&thread, address) {
        // SAFETY: the caller's promise.
        let found = unsafe { T::load(at) };
        if held.location.stamp().bits() == version
            && held.location.value() == found.bits()
            && held.size == T::SIZE
            && !held.is_foreign()
            && !races(&thread, address, T::SIZE, false)
            && held.location.reread(&thread.clocks, order, site)
        {
            thread.renew(address, order.acquires());
            result = Some(found);
        }
    }
    thread.busy = false;
    result
}

/// Stores, if there is nothing to it; says whether it did.
///
/// # Safety
/// As for [`crate::atomic::access`].
#[inline(always)]
pub unsafe fn store<T: Word>(at: *mut T, value: T, order: Order, pc: usize) -> bool {
    let Some(thread) = ready(pc) else { return false };
    // SAFETY: the caller's promise.
    let done = unsafe { try_store(thread, at, value, order, pc) };
    if !done {
        give_up(thread);
    }
    done
}

/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn try_store<T: Word>(
    mut thread: Current,
    at: *mut T,
    value: T,
    order: Order,
    pc: usize,
) -> bool {
    let address = at as usize;
    if order == Order::SeqCst || thread.fence_is_due {
        return false;
    }
    let Some(place) = Place::find(address) else { return false };
    thread.busy = true;
    let (site, fenced) = thread.atomic_site(pc);
    let mut done = false;
    if !fenced && let Some(mut held) = place.hold(&thread, address) {
        // SAFETY: the caller's promise.
        let now = unsafe { T::load(at) };
        if held.location.is_newest_known(&thread.clocks)
            && held.location.value() == now.bits()
            && held.size == T::SIZE
            && !held.is_foreign()
            && !held.location.is_worn_out()
            && !races(&thread, address, T::SIZE, true)
        {
            // SAFETY: the caller's promise.
            unsafe { T::store(at, value) };
            let stored = Done::Store(value.bits());
            let settings = registry::settings();
            let acquired =
                held.location.perform(&mut thread.clocks, None, order, stored, site, settings);
            held.written();
            schedule::wrote();
            thread.remember(&held, address, T::SIZE, acquired);
            done = true;
        }
    }
    if done && order != Order::Relaxed {
        thread.refresh();
    }
    thread.busy = false;
    done
}
