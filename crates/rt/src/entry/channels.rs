//! Reads and writes of pipes, sockets and event counters.

use crate::below;
use crate::channels;
use crate::heap;
use crate::system;
use libc::{c_int, c_void, iovec, msghdr, size_t, ssize_t};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each is the C library's, which threads may be cancelled in; before the runtime begins, there is one
/// thread, and the system is called without it.
macro_rules! reads {
    ($($name:ident $c:literal $number:ident ($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int, $($argument: $type),*) -> ssize_t {
            type Read = unsafe extern "C" fn(c_int, $($type),*) -> ssize_t;
            if !heap::READY.load(Ordering::Relaxed) {
                return early(libc::$number, &[descriptor as usize, $($argument as usize),*]);
            }
            let real = below!($c, Read);
            // SAFETY: the caller's promise.
            channels::has_read(descriptor, unsafe { real(descriptor, $($argument),*) })
        }
    )*};
}

macro_rules! writes {
    ($($name:ident $c:literal $number:ident ($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int, $($argument: $type),*) -> ssize_t {
            type Write = unsafe extern "C" fn(c_int, $($type),*) -> ssize_t;
            if !heap::READY.load(Ordering::Relaxed) {
                return early(libc::$number, &[descriptor as usize, $($argument as usize),*]);
            }
            let real = below!($c, Write);
            channels::writes(descriptor);
            // SAFETY: the caller's promise.
            unsafe { real(descriptor, $($argument),*) }
        }
    )*};
}

fn early(number: libc::c_long, given: &[usize]) -> ssize_t {
    let mut arguments = [0; 6];
    arguments[..given.len()].copy_from_slice(given);
    // SAFETY: what the caller asks for.
    system::returned(unsafe { system::call(number, arguments) })
}

reads! {
    read c"read" SYS_read (buffer: *mut c_void, count: size_t);
    readv c"readv" SYS_readv (buffers: *const iovec, count: c_int);
    recv c"recv" SYS_recvfrom (buffer: *mut c_void, count: size_t, flags: c_int);
    recvfrom c"recvfrom" SYS_recvfrom
        (buffer: *mut c_void, count: size_t, flags: c_int, from: *mut c_void, length: *mut u32);
    recvmsg c"recvmsg" SYS_recvmsg (message: *mut msghdr, flags: c_int);
}

writes! {
    write c"write" SYS_write (buffer: *const c_void, count: size_t);
    writev c"writev" SYS_writev (buffers: *const iovec, count: c_int);
    send c"send" SYS_sendto (buffer: *const c_void, count: size_t, flags: c_int);
    sendto c"sendto" SYS_sendto
        (buffer: *const c_void, count: size_t, flags: c_int, to: *const c_void, length: u32);
    sendmsg c"sendmsg" SYS_sendmsg (message: *const msghdr, flags: c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd_write(descriptor: c_int, value: u64) -> c_int {
    let real = below!(c"eventfd_write", unsafe extern "C" fn(c_int, u64) -> c_int);
    channels::writes(descriptor);
    // SAFETY: the caller's promise.
    unsafe { real(descriptor, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd_read(descriptor: c_int, value: *mut u64) -> c_int {
    let real = below!(c"eventfd_read", unsafe extern "C" fn(c_int, *mut u64) -> c_int);
    // SAFETY: the caller's promise.
    let result = unsafe { real(descriptor, value) };
    channels::has_read(descriptor, isize::from(result == 0));
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    descriptors: *mut [c_int; 2],
) -> c_int {
    let numbers = [domain as usize, kind as usize, protocol as usize, descriptors as usize, 0, 0];
    // SAFETY: the caller's promise.
    let result = unsafe { system::returned(system::call(libc::SYS_socketpair, numbers)) } as c_int;
    if result == 0 {
        // SAFETY: the system wrote both.
        channels::paired(unsafe { *descriptors });
    }
    result
}
