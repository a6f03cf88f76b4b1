//! Atomic accesses and fences, and what `fencepost.h` declares.

use crate::atomic::{self, Plan};
use crate::findings::Operation;
use crate::quick;
use crate::registry;
use crate::schedule;
use crate::spin::{Entry, Frame};
use crate::thread;
use crate::word::{Effect, Word};
use clocks::Order;
use clocks::access::Intent;
use clocks::trace::Event;
use libc::c_int;
use std::arch::global_asm;

fn order(number: c_int) -> Order {
    Order::from_number(number as u32)
}

/// The order of the read of a failed compare-and-swap.
fn failed(number: c_int) -> Order {
    match order(number) {
        Order::Release => Order::Relaxed,
        Order::AcqRel => Order::Acquire,
        order => order,
    }
}

/// # Safety
/// As for [`atomic::access`].
#[inline(always)]
unsafe fn load<T: Word>(at: *mut T, mode: c_int, frame: &Frame) -> T {
    let plan = Plan::new(Operation::Load, Intent::Load, order(mode));
    // SAFETY: the caller's promise.
    unsafe { atomic::access(at, frame, &plan, |_| Effect::Keep) }
}

/// # Safety
/// As for [`atomic::access`].
#[inline(always)]
unsafe fn store<T: Word>(at: *mut T, value: T, mode: c_int, frame: &Frame) {
    let plan = Plan::new(Operation::Store, Intent::Write, order(mode));
    // SAFETY: the caller's promise.
    unsafe { atomic::access(at, frame, &plan, |_| Effect::Store(value)) };
}

/// # Safety
/// As for [`atomic::access`].
#[inline(always)]
unsafe fn update<T: Word>(
    at: *mut T,
    mode: c_int,
    frame: &Frame,
    operation: Operation,
    change: impl Fn(T) -> T,
) -> T {
    let plan = Plan::new(operation, Intent::Write, order(mode));
    // SAFETY: the caller's promise.
    unsafe { atomic::access(at, frame, &plan, |old| Effect::Update(change(old))) }
}

#[allow(clippy::too_many_arguments)]
/// # Safety
/// As for [`atomic::access`].
#[inline(always)]
unsafe fn cas<T: Word>(
    at: *mut T,
    expected: T,
    desired: T,
    success: c_int,
    failure: c_int,
    frame: &Frame,
    place: Option<*mut T>,
    weak: bool,
) -> T {
    let intent = if weak { Intent::WeakCas } else { Intent::StrongCas };
    let plan = Plan {
        failure: failed(failure),
        expected: place,
        ..Plan::new(Operation::Cas, intent(expected.bits()), order(success))
    };
    let effect = |old| if old == expected { Effect::Update(desired) } else { Effect::Keep };
    // SAFETY: the caller's promise.
    unsafe { atomic::access(at, frame, &plan, effect) }
}

/// What a load found, if it was quick, in two registers.
#[repr(C)]
struct Loaded {
    value: u64,
    done: u64,
}

macro_rules! atomics {
    ($type:ty, $module:ident, $prefix:literal) => {
        mod $module {
            use super::*;
            type T = $type;
            unsafe extern "C" fn load(at: *mut T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { super::load(at, mode, frame) }
            }
            unsafe extern "C" fn store(at: *mut T, value: T, mode: c_int, frame: &Frame) {
                // SAFETY: the program is about to access it.
                unsafe { super::store(at, value, mode, frame) }
            }
            unsafe extern "C" fn load_quickly(at: *mut T, mode: c_int, pc: usize) -> Loaded {
                // SAFETY: the program is about to access it.
                let found = unsafe { quick::load(at, order(mode), pc) };
                Loaded { value: found.map_or(0, Word::bits), done: u64::from(found.is_some()) }
            }
            unsafe extern "C" fn store_quickly(
                at: *mut T, value: T, mode: c_int, pc: usize,
            ) -> bool {
                // SAFETY: the program is about to access it.
                unsafe { quick::store(at, value, order(mode), pc) }
            }
            unsafe extern "C" fn exchange(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Exchange, |_| value) }
            }
            unsafe extern "C" fn add(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Fetch, |old| old.wrapping_add(value)) }
            }
            unsafe extern "C" fn sub(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Fetch, |old| old.wrapping_sub(value)) }
            }
            unsafe extern "C" fn and(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Fetch, |old| old & value) }
            }
            unsafe extern "C" fn or(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Fetch, |old| old | value) }
            }
            unsafe extern "C" fn xor(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Fetch, |old| old ^ value) }
            }
            unsafe extern "C" fn nand(at: *mut T, value: T, mode: c_int, frame: &Frame) -> T {
                // SAFETY: the program is about to access it.
                unsafe { update(at, mode, frame, Operation::Fetch, |old| !(old & value)) }
            }
            unsafe extern "C" fn strong(
                at: *mut T, expected: *mut T, desired: T, s: c_int, f: c_int, frame: &Frame,
            ) -> c_int {
                // SAFETY: the program is about to access both.
                unsafe { compare(at, expected, desired, s, f, frame, false) }
            }
            unsafe extern "C" fn weak(
                at: *mut T, expected: *mut T, desired: T, s: c_int, f: c_int, frame: &Frame,
            ) -> c_int {
                // SAFETY: the program is about to access both.
                unsafe { compare(at, expected, desired, s, f, frame, true) }
            }
            unsafe fn compare(
                at: *mut T, place: *mut T, desired: T, s: c_int, f: c_int, frame: &Frame, weak: bool,
            ) -> c_int {
                // SAFETY: the program keeps the expected value there.
                let expected = unsafe { *place };
                // SAFETY: the program is about to access it.
                let found = unsafe { cas(at, expected, desired, s, f, frame, Some(place), weak) };
                if found != expected {
                    // SAFETY: as above.
                    unsafe { *place = found };
                }
                c_int::from(found == expected)
            }
            unsafe extern "C" fn val(
                at: *mut T, expected: T, desired: T, s: c_int, f: c_int, frame: &Frame,
            ) -> T {
                // SAFETY: the program is about to access it.
                unsafe { cas(at, expected, desired, s, f, frame, None, false) }
            }
            saving!(enter_load = concat!($prefix, "load"), "rdx" load, try "rdx" load_quickly => "rdx");
            saving!(enter_store = concat!($prefix, "store"), "rcx" store, try "rcx" store_quickly => "al");
            saving!(enter_exchange = concat!($prefix, "exchange"), "rcx" exchange);
            saving!(enter_add = concat!($prefix, "fetch_add"), "rcx" add);
            saving!(enter_sub = concat!($prefix, "fetch_sub"), "rcx" sub);
            saving!(enter_and = concat!($prefix, "fetch_and"), "rcx" and);
            saving!(enter_or = concat!($prefix, "fetch_or"), "rcx" or);
            saving!(enter_xor = concat!($prefix, "fetch_xor"), "rcx" xor);
            saving!(enter_nand = concat!($prefix, "fetch_nand"), "rcx" nand);
            saving!(enter_strong = concat!($prefix, "compare_exchange_strong"), "r9" strong);
            saving!(enter_weak = concat!($prefix, "compare_exchange_weak"), "r9" weak);
            saving!(enter_val = concat!($prefix, "compare_exchange_val"), "r9" val);
            pub fn entries() -> Vec<(u64, Entry)> {
                let size = size_of::<T>() as u8;
                let compares = Entry::Cas { size, returns_value: false };
                let mut all = vec![
                    (enter_load as *const () as u64, Entry::Load(size)),
                    (enter_strong as *const () as u64, compares),
                    (enter_weak as *const () as u64, compares),
                    (enter_val as *const () as u64, Entry::Cas { size, returns_value: true }),
                ];
                let others = [
                    enter_store, enter_exchange, enter_add, enter_sub, enter_and, enter_or,
                    enter_xor, enter_nand,
                ];
                all.extend(others.map(|at| (at as *const () as u64, Entry::Effect)));
                all
            }
        }
    };
}

atomics!(u8, atomic8, "__tsan_atomic8_");
atomics!(u16, atomic16, "__tsan_atomic16_");
atomics!(u32, atomic32, "__tsan_atomic32_");
atomics!(u64, atomic64, "__tsan_atomic64_");

/// Sixteen bytes take two registers, and there is none left for a frame: loops over them are not
/// recognised, and reports name the caller's caller.
mod atomic128 {
    use super::*;
    type T = u128;
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_load(at: *mut T, mode: c_int) -> T {
        // SAFETY: the program is about to access it.
        unsafe { load(at, mode, &Frame::default()) }
    }
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __tsan_atomic128_store(at: *mut T, value: T, mode: c_int) {
        // SAFETY: the program is about to access it.
        unsafe { store(at, value, mode, &Frame::default()) }
    }
    macro_rules! updates {
        ($($name:ident $operation:ident |$old:ident, $value:ident| $new:expr;)*) => {$(
            #[unsafe(no_mangle)]
            extern "C" fn $name(at: *mut T, $value: T, mode: c_int) -> T {
                // SAFETY: the program is about to access it.
                unsafe {
                    update(at, mode, &Frame::default(), Operation::$operation, |$old| $new)
                }
            }
        )*};
    }
    updates! {
        __tsan_atomic128_exchange Exchange |_old, value| value;
        __tsan_atomic128_fetch_add Fetch |old, value| old.wrapping_add(value);
        __tsan_atomic128_fetch_sub Fetch |old, value| old.wrapping_sub(value);
        __tsan_atomic128_fetch_and Fetch |old, value| old & value;
        __tsan_atomic128_fetch_or Fetch |old, value| old | value;
        __tsan_atomic128_fetch_xor Fetch |old, value| old ^ value;
        __tsan_atomic128_fetch_nand Fetch |old, value| !(old & value);
    }
    #[unsafe(no_mangle)]
    extern "C" fn __tsan_atomic128_compare_exchange_val(
        at: *mut T,
        expected: T,
        desired: T,
        s: c_int,
        f: c_int,
    ) -> T {
        // SAFETY: the program is about to access it.
        unsafe { cas(at, expected, desired, s, f, &Frame::default(), None, false) }
    }
    unsafe fn compare(
        at: *mut T,
        place: *mut T,
        desired: T,
        s: c_int,
        f: c_int,
        weak: bool,
    ) -> c_int {
        // SAFETY: the program keeps the expected value there.
        unsafe {
            let expected = *place;
            let found = cas(at, expected, desired, s, f, &Frame::default(), Some(place), weak);
            if found != expected {
                *place = found;
            }
            c_int::from(found == expected)
        }
    }
    macro_rules! compares {
        ($($name:ident $weak:literal;)*) => {$(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                at: *mut T,
                place: *mut T,
                desired: T,
                s: c_int,
                f: c_int,
            ) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { compare(at, place, desired, s, f, $weak) }
            }
        )*};
    }
    compares! {
        __tsan_atomic128_compare_exchange_strong false;
        __tsan_atomic128_compare_exchange_weak true;
    }
}

with_caller!(__tsan_atomic_thread_fence "rsi" thread_fence);

unsafe extern "C" {
    fn __tsan_atomic_thread_fence();
}

extern "C" fn thread_fence(mode: c_int, pc: usize) {
    atomic::fence(order(mode), pc);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: c_int) {}

/// What [`crate::spin`] needs to know of them.
pub fn entries() -> Vec<(u64, Entry)> {
    let fences = [
        (__tsan_atomic_thread_fence as *const () as u64, Entry::Nothing),
        (__tsan_atomic_signal_fence as *const () as u64, Entry::Nothing),
    ];
    let sizes = [atomic8::entries(), atomic16::entries(), atomic32::entries(), atomic64::entries()];
    [sizes.concat(), fences.to_vec()].concat()
}

// What fencepost.h declares

macro_rules! waits {
    ($($type:ty: $wait:ident $wait_inner:ident $bcas:ident $bcas_inner:ident;)*) => {$(
        with_caller!($wait "rcx" $wait_inner);
        with_caller!($bcas "r8" $bcas_inner);
        unsafe extern "C" fn $wait_inner(at: *mut $type, value: $type, mode: c_int, pc: usize) {
            // SAFETY: the program is about to access it.
            unsafe { atomic::wait(at, value, None, order(mode), pc) };
        }
        unsafe extern "C" fn $bcas_inner(
            at: *mut $type, value: $type, new: $type, mode: c_int, pc: usize,
        ) {
            // SAFETY: the program is about to access it.
            unsafe { atomic::wait(at, value, Some(new), order(mode), pc) };
        }
    )*};
}

waits! {
    u8: __fencepost_wait1 wait1 __fencepost_bcas1 bcas1;
    u16: __fencepost_wait2 wait2 __fencepost_bcas2 bcas2;
    u32: __fencepost_wait4 wait4 __fencepost_bcas4 bcas4;
    u64: __fencepost_wait8 wait8 __fencepost_bcas8 bcas8;
}

#[unsafe(no_mangle)]
extern "C" fn __fencepost_ignore(change: c_int) {
    if let Some(mut thread) = thread::current() {
        thread.ignored = thread.ignored.saturating_add_signed(change);
    }
}

/// # Safety
/// `name` must be a C string, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn __fencepost_transaction_named(name: *const std::ffi::c_char) {
    if let Some(mut thread) = thread::current()
        && !thread.busy
        && registry::options().record.is_some()
        && !name.is_null()
    {
        thread.busy = true;
        // SAFETY: the caller's promise.
        let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned();
        registry::lock().record(&Event::Name { tid: thread.tid, name });
        thread.busy = false;
    }
    __fencepost_transaction(1);
}

#[unsafe(no_mangle)]
extern "C" fn __fencepost_transaction(begins: c_int) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy || registry::options().record.is_none() {
        return;
    }
    schedule::point(thread, __fencepost_transaction as *const () as usize);
    thread.busy = true;
    registry::lock().record(&Event::Transaction { tid: thread.tid, begins: begins != 0 });
    thread.busy = false;
}
