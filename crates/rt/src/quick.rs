//! Loads and stores that nothing is wrong with: [`crate::atomic::access`] where all its questions have the usual answer.
//!
//! Entry points try this first, before they save registers, which only matter where a stale value must be followed. An
//! access has one of these outcomes: it is done, and is told to the analysis as the long way would have told it; or nothing was done, and it
//! takes the long way. The analysis is the same either way, because both ways ask the same questions of the same location,
//! under its lock, and end in [`reread`](clocks::location::Location::reread) or
//! [`perform`](clocks::location::Location::perform) with the same arguments. What sends an access the long way:
//!
//! * it may be [stale](clocks::location::Location::arrive), and the thread was not told of that before;
//! * it races with a plain access. That the thread was told of a race with the same plain write is no reason not
//!   to ask: this access may be at another place in the program, and is another race then;
//! * the location is new, has another size, another value than it should have, no numbers left, or is written by
//!   code that is not instrumented;
//! * a fence in assembly comes before or after it;
//! * it is seq_cst and needs the lock of the fences, unless it is a load that changes nothing;
//! * everything is recorded, or the option `quick=0` was given, which is there so that both ways can be compared.
//!
//! A signal handler may come before the thread is busy, and access locations itself. Nothing that is found out
//! before is relied on later, but that there was memory at the address.

use crate::atomic::against_plain;
use crate::locked_location::{Held, Place};
use crate::memory;
use crate::registry;
use crate::schedule;
use crate::thread::{self, Current};
use crate::word::Word;
use clocks::access::{Done, Intent};
use clocks::{Order, Site};

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
    thread.busy = false;
    thread.has_turn = schedule::active();
}

/// Is there a plain access that an atomic one races with? There are hardly ever any.
#[inline(always)]
fn races(thread: &Current, address: usize, size: u8, is_write: bool) -> bool {
    !memory::cell(address).is_untouched()
        && against_plain(thread, address, size, is_write).is_some()
}

/// Holds the location of an access, if there is nothing unusual about it.
#[inline(always)]
fn hold<T: Word>(thread: &Current, at: *mut T, is_write: bool) -> Option<Held> {
    let address = at as usize;
    let held = Place::find(address)?.hold(thread, address)?;
    // SAFETY: the caller's caller's promise.
    let now = unsafe { T::load(at) };
    let usual = held.location.value() == now.bits()
        && held.size == T::SIZE
        && !held.is_foreign()
        && !held.location.is_worn_out()
        && !races(thread, address, T::SIZE, is_write);
    usual.then_some(held)
}

/// May an access to the location be stale?
#[inline(always)]
fn is_stale(thread: &Current, held: &Held, intent: Intent, site: Site) -> bool {
    // What is asked there first, and is nearly always enough.
    if held.location.is_newest_known(&thread.clocks) {
        return false;
    }
    let cares = |missed| !thread.has_told((site, missed));
    held.location.arrive(&thread.clocks, None, intent, cares).is_some()
}

/// Loads, if there is nothing to it.
///
/// # Safety
/// As for [`crate::atomic::access`].
#[inline(always)]
pub unsafe fn load<T: Word>(at: *mut T, order: Order, pc: usize) -> Option<T> {
    let mut thread = ready(pc)?;
    // Before the thread is busy, as there.
    // SAFETY: the caller's promise.
    let seen = unsafe { T::load(at) };
    thread.busy = true;
    let (site, fenced) = thread.atomic_site(pc);
    if fenced {
        give_up(thread);
        return None;
    }
    if thread.repeated(at as usize, T::SIZE, order, seen.bits()) {
        thread.busy = false;
        return Some(seen);
    }
    // SAFETY: the caller's promise.
    match unsafe { try_load(thread, at, order, site) } {
        Some(found) => {
            thread.busy = false;
            Some(found)
        }
        None => {
            give_up(thread);
            None
        }
    }
}

/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn try_load<T: Word>(
    mut thread: Current,
    at: *mut T,
    order: Order,
    site: Site,
) -> Option<T> {
    if thread.fence_is_due {
        return None;
    }
    let mut held = hold(&thread, at, false)?;
    // SAFETY: the caller's promise.
    let found = unsafe { T::load(at) };
    let acquired = if held.location.reread(&thread.clocks, order, site) {
        order.acquires()
    } else if order == Order::SeqCst || is_stale(&thread, &held, Intent::Load, site) {
        return None;
    } else {
        let settings = registry::settings();
        held.location.perform(&mut thread.clocks, None, order, Done::Read, site, settings)
    };
    thread.remember(&held, at as usize, T::SIZE, acquired);
    if order != Order::Relaxed {
        thread.refresh();
    }
    drop(held);
    Some(found)
}

/// Stores, if there is nothing to it; says whether it did.
///
/// # Safety
/// As for [`crate::atomic::access`].
#[inline(always)]
pub unsafe fn store<T: Word>(at: *mut T, value: T, order: Order, pc: usize) -> bool {
    let Some(mut thread) = ready(pc) else { return false };
    // Before the thread is busy, as there.
    // SAFETY: the caller's promise.
    unsafe { T::load(at) };
    thread.busy = true;
    let (site, fenced) = thread.atomic_site(pc);
    // SAFETY: the caller's promise.
    let done = !fenced && unsafe { try_store(thread, at, value, order, site) };
    if !done {
        give_up(thread);
        return false;
    }
    thread.busy = false;
    true
}

/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn try_store<T: Word>(
    mut thread: Current,
    at: *mut T,
    value: T,
    order: Order,
    site: Site,
) -> bool {
    if order == Order::SeqCst || thread.fence_is_due {
        return false;
    }
    let Some(mut held) = hold(&thread, at, true) else { return false };
    if is_stale(&thread, &held, Intent::Write, site) {
        return false;
    }
    // SAFETY: the caller's promise.
    unsafe { T::store(at, value) };
    let (clocks, bits, settings) = (&mut thread.clocks, value.bits(), registry::settings());
    if !held.location.store_again(clocks, order, bits, site, settings) {
        held.location.perform(clocks, None, order, Done::Store(bits), site, settings);
    }
    held.written();
    schedule::wrote();
    // One may acquire what one stored oneself.
    thread.remember(&held, at as usize, T::SIZE, true);
    if order != Order::Relaxed {
        thread.refresh();
    }
    drop(held);
    true
}
