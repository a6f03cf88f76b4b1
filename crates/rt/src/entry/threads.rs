//! Threads: how they begin, end, wait for each other and sleep.

use crate::atomic;
use crate::below;
use crate::rust_std;
use crate::sync;
use crate::system;
use libc::{c_int, c_long, c_uint, c_void, pthread_t, timespec};
use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

// A frame of its own, so that the end of a thread by `pthread_exit` or cancellation passes through.
global_asm!(
    ".type fencepost_thread, @function",
    "fencepost_thread:",
    ".cfi_startproc",
    "sub rsp, 24",
    ".cfi_adjust_cfa_offset 24",
    "mov rsi, rsp",
    "call {begins}",
    "mov rdi, [rsp + 8]",
    "call [rsp]",
    "add rsp, 24",
    ".cfi_adjust_cfa_offset -24",
    "ret",
    ".cfi_endproc",
    begins = sym sync::thread_begins,
);

unsafe extern "C" {
    fn fencepost_thread(task: *mut c_void) -> *mut c_void;
}

fn thread_entry() -> Start {
    // SAFETY: it has this type.
    unsafe { std::mem::transmute(fencepost_thread as *const ()) }
}

with_caller!(pthread_create "r8" create_from);

unsafe extern "C" fn create_from(
    handle: *mut pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    let real = below!(c"pthread_create", Create);
    let mut detached = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if !attributes.is_null() {
            pthread_attr_getdetachstate(attributes, &raw mut detached);
        }
        sync::create(start, argument, pc, thread_entry(), detached != 0, |start, argument| {
            let result = real(handle, attributes, start, argument);
            (result, if result == 0 { *handle } else { 0 })
        })
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        out: *mut c_int,
    ) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(handle: pthread_t, value: *mut *mut c_void) -> c_int {
    let real = below!(c"pthread_join", unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    sync::join(handle, || unsafe { real(handle, value) })
}

/// Those that may give up: a thread that was waited for in vain goes on.
macro_rules! tries_to_join {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            handle: pthread_t, value: *mut *mut c_void, $($argument: $type),*
        ) -> c_int {
            type Join = unsafe extern "C" fn(pthread_t, *mut *mut c_void, $($type),*) -> c_int;
            let real = below!($c, Join);
            // SAFETY: the caller's promise.
            let result = unsafe { real(handle, value, $($argument),*) };
            if result == 0 {
                sync::joined(handle);
            }
            result
        }
    )*};
}

tries_to_join! {
    pthread_tryjoin_np c"pthread_tryjoin_np" ();
    pthread_timedjoin_np c"pthread_timedjoin_np" (until: *const timespec);
    pthread_clockjoin_np c"pthread_clockjoin_np" (clock: c_int, until: *const timespec);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cancel(handle: pthread_t) -> c_int {
    let real = below!(c"pthread_cancel", unsafe extern "C" fn(pthread_t) -> c_int);
    // SAFETY: the caller's promise.
    let result = unsafe { real(handle) };
    if result == 0 {
        sync::cancelled(handle);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(handle: pthread_t) -> c_int {
    let real = below!(c"pthread_detach", unsafe extern "C" fn(pthread_t) -> c_int);
    sync::detach(handle);
    // SAFETY: the caller's promise.
    unsafe { real(handle) }
}

with_caller!(thrd_create "rcx" thrd_create_from);

/// C11 threads return a number instead of a pointer, in the same register.
unsafe extern "C" fn thrd_create_from(
    handle: *mut pthread_t,
    start: Start,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { create_from(handle, std::ptr::null(), start, argument, pc) } {
        0 => 0,
        libc::ENOMEM | libc::EAGAIN => 3,
        _ => 2,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_join(handle: pthread_t, result: *mut c_int) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    let failed = unsafe { pthread_join(handle, &raw mut value) } != 0;
    if !result.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *result = value as isize as c_int };
    }
    if failed { 2 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_detach(handle: pthread_t) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { pthread_detach(handle) } == 0 { 0 } else { 2 }
}

// Sleep

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_yield() -> c_int {
    // SAFETY: a system call without arguments.
    sync::pause(|| unsafe { system::call(libc::SYS_sched_yield, [0; 6]) as c_int })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn usleep(micros: c_uint) -> c_int {
    let real = below!(c"usleep", unsafe extern "C" fn(c_uint) -> c_int);
    // SAFETY: the caller's promise.
    sync::pause(|| unsafe { real(micros) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    let real = below!(c"nanosleep", unsafe extern "C" fn(*const timespec, *mut timespec) -> c_int);
    // SAFETY: the caller's promise.
    sync::pause(|| unsafe { real(time, left) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    // SAFETY: the caller's promise.
    let system = || unsafe { system::call(number, arguments) };
    let result = match number {
        libc::SYS_futex => {
            rust_std::futex(arguments, system).unwrap_or_else(|error| -error as isize)
        }
        libc::SYS_membarrier => atomic::membarrier(a, b, system),
        _ => system(),
    };
    system::returned(result) as c_long
}
