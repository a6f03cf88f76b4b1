//! Static variables of functions in C++, made when control first passes through their declaration.
//!
//! The compiler puts a *guard* of eight bytes beside such a variable. Its first byte says whether the variable is
//! there, and the program itself loads it, with acquire order, wherever the variable is used; only where
//! the byte is zero does it call `__cxa_guard_acquire`, which says who is to make the variable, and
//! `__cxa_guard_release` or `__cxa_guard_abort` afterwards. These are ours.
//!
//! The first byte is an atomic location like any other: it is set by a release store that the analysis is
//! told of, so the program's own loads synchronise with it. But it is never *stale*: who finds an old
//! zero there asks `__cxa_guard_acquire`, which looks again ([`Watch::Guard`]). The third byte says that
//! somebody is making the variable. It is nobody's business but ours.

use crate::atomic::{self, Plan};
use crate::findings::Operation;
use crate::locked_location::Watch;
use crate::schedule;
use crate::spin::Frame;
use crate::system;
use crate::word::Effect;
use clocks::Order;
use clocks::access::Intent;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The variable is there: the first byte of the word.
const THERE: u32 = 1;
/// Somebody is making it: the third.
const BEING_MADE: u32 = 1 << 16;

/// Is the caller to make the variable? Otherwise it is there.
///
/// # Safety
/// `guard` must be that of a static variable.
pub unsafe fn acquire(guard: *mut u64, pc: usize) -> bool {
    // SAFETY: the caller's promise: a guard has eight bytes, aligned as such.
    let word = unsafe { AtomicU32::from_ptr(guard.cast()) };
    loop {
        let seen = schedule::writes();
        match word.compare_exchange(0, BEING_MADE, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => {
                atomic::watch(guard.cast::<u8>(), Watch::Guard);
                return true;
            }
            Err(now) if now & THERE != 0 => {
                let plan = Plan::new(Operation::Load, Intent::Load, Order::Acquire);
                // SAFETY: the guard's first byte.
                unsafe {
                    atomic::access(guard.cast::<u8>(), &Frame::at(pc), &plan, |_| Effect::Keep)
                };
                return false;
            }
            // SAFETY: lets others run.
            Err(_) if !schedule::active() => unsafe {
                system::call(libc::SYS_sched_yield, [0; 6]);
            },
            Err(_) => {
                schedule::block(guard as usize, true, seen);
            }
        }
    }
}

/// The variable was made.
///
/// # Safety
/// `guard` must be one that was acquired.
pub unsafe fn release(guard: *mut u64, pc: usize) {
    let plan = Plan::new(Operation::Store, Intent::Write, Order::Release);
    // SAFETY: the guard's first byte. Nobody else writes it as long as the third is set.
    unsafe { atomic::access(guard.cast::<u8>(), &Frame::at(pc), &plan, |_| Effect::Store(1)) };
    // SAFETY: the caller's promise.
    unsafe { made(guard) };
}

/// The variable was not made: somebody else may try.
///
/// # Safety
/// `guard` must be one that was acquired.
pub unsafe fn abort(guard: *mut u64) {
    // SAFETY: the caller's promise.
    unsafe { made(guard) };
}

/// Nobody makes the variable any more.
///
/// # Safety
/// `guard` must be one that was acquired.
unsafe fn made(guard: *mut u64) {
    // SAFETY: the third byte of the guard.
    unsafe { AtomicU8::from_ptr(guard.cast::<u8>().add(2)) }.store(0, Ordering::SeqCst);
    schedule::wake(guard as usize, true);
}
