//! Plain accesses.

use crate::below;
use crate::heap;
use crate::plain;
use crate::spin::Entry;
use crate::thread;
use libc::c_int;
use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each with its name, whether it writes, and its size.
macro_rules! plain {
    ($($name:ident $inner:ident $write:literal $size:literal;)*) => {$(
        global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(stringify!($name), ": mov rsi, [rsp]"),
            "jmp {inner}",
            inner = sym $inner,
        );
        extern "C" fn $inner(address: usize, pc: usize) {
            if $size > 8 || address & 7 > 8 - $size.min(8) {
                plain::range::<$write>(address, $size, pc);
            } else {
                plain::access::<$write>(address, $size, pc);
            }
        }
        unsafe extern "C" { fn $name(); }
    )*
        /// What [`crate::spin`] needs to know of them, and of what copies and fills memory.
        pub fn entries() -> Vec<(u64, Entry)> {
            let checks = [$($name as *const ()),*, __tsan_read_range as *const (), __tsan_write_range as *const ()];
            let fills = [
                __tsan_memcpy as *const (),
                __tsan_memmove as *const (),
                __tsan_memset as *const (),
                __wrap_memcpy as *const (),
                __wrap_memmove as *const (),
                __wrap_memset as *const (),
            ];
            let checks = checks.map(|at| (at as u64, Entry::Nothing));
            checks.into_iter().chain(fills.map(|at| (at as u64, Entry::Fill))).collect()
        }
    };
}

plain! {
    __tsan_read1 read1 false 1usize;
    __tsan_read2 read2 false 2usize;
    __tsan_read4 read4 false 4usize;
    __tsan_read8 read8 false 8usize;
    __tsan_read16 read16 false 16usize;
    __tsan_write1 write1 true 1usize;
    __tsan_write2 write2 true 2usize;
    __tsan_write4 write4 true 4usize;
    __tsan_write8 write8 true 8usize;
    __tsan_write16 write16 true 16usize;
    __tsan_unaligned_read2 unaligned_read2 false 2usize;
    __tsan_unaligned_read4 unaligned_read4 false 4usize;
    __tsan_unaligned_read8 unaligned_read8 false 8usize;
    __tsan_unaligned_read16 unaligned_read16 false 16usize;
    __tsan_unaligned_write2 unaligned_write2 true 2usize;
    __tsan_unaligned_write4 unaligned_write4 true 4usize;
    __tsan_unaligned_write8 unaligned_write8 true 8usize;
    __tsan_unaligned_write16 unaligned_write16 true 16usize;
    __tsan_volatile_read1 volatile_read1 false 1usize;
    __tsan_volatile_read2 volatile_read2 false 2usize;
    __tsan_volatile_read4 volatile_read4 false 4usize;
    __tsan_volatile_read8 volatile_read8 false 8usize;
    __tsan_volatile_read16 volatile_read16 false 16usize;
    __tsan_volatile_write1 volatile_write1 true 1usize;
    __tsan_volatile_write2 volatile_write2 true 2usize;
    __tsan_volatile_write4 volatile_write4 true 4usize;
    __tsan_volatile_write8 volatile_write8 true 8usize;
    __tsan_volatile_write16 volatile_write16 true 16usize;
    __tsan_unaligned_volatile_read2 unaligned_volatile_read2 false 2usize;
    __tsan_unaligned_volatile_read4 unaligned_volatile_read4 false 4usize;
    __tsan_unaligned_volatile_read8 unaligned_volatile_read8 false 8usize;
    __tsan_unaligned_volatile_read16 unaligned_volatile_read16 false 16usize;
    __tsan_unaligned_volatile_write2 unaligned_volatile_write2 true 2usize;
    __tsan_unaligned_volatile_write4 unaligned_volatile_write4 true 4usize;
    __tsan_unaligned_volatile_write8 unaligned_volatile_write8 true 8usize;
    __tsan_unaligned_volatile_write16 unaligned_volatile_write16 true 16usize;
    __tsan_read_write1 read_write1 true 1usize;
    __tsan_read_write2 read_write2 true 2usize;
    __tsan_read_write4 read_write4 true 4usize;
    __tsan_read_write8 read_write8 true 8usize;
    __tsan_read_write16 read_write16 true 16usize;
    __tsan_unaligned_read_write2 unaligned_read_write2 true 2usize;
    __tsan_unaligned_read_write4 unaligned_read_write4 true 4usize;
    __tsan_unaligned_read_write8 unaligned_read_write8 true 8usize;
    __tsan_unaligned_read_write16 unaligned_read_write16 true 16usize;
    __tsan_vptr_read vptr_read false 8usize;
}

unsafe extern "C" {
    fn __tsan_read_range();
    fn __tsan_write_range();
    fn __tsan_memcpy();
    fn __tsan_memmove();
    fn __tsan_memset();
    fn __wrap_memcpy();
    fn __wrap_memmove();
    fn __wrap_memset();
}

with_caller!(__tsan_read_range "rdx" read_range);
with_caller!(__tsan_write_range "rdx" write_range);
with_caller!(__tsan_vptr_update "rdx" vptr_update);
with_caller!(__tsan_memcpy "rcx" copied);
with_caller!(__tsan_memmove "rcx" copied);
with_caller!(__tsan_memset "rcx" filled);

extern "C" fn read_range(address: usize, size: usize, pc: usize) {
    plain::range::<false>(address, size, pc);
}

extern "C" fn write_range(address: usize, size: usize, pc: usize) {
    plain::range::<true>(address, size, pc);
}

/// A virtual table pointer that does not change is set again by destructors, harmlessly.
unsafe extern "C" fn vptr_update(address: *mut usize, new: usize, pc: usize) {
    // SAFETY: the program is about to write it.
    if unsafe { address.read_volatile() } != new {
        plain::access::<true>(address as usize, 8, pc);
    }
}

unsafe extern "C" fn copied(to: *mut u8, from: *const u8, size: usize, pc: usize) -> *mut u8 {
    plain::range::<false>(from as usize, size, pc);
    plain::range::<true>(to as usize, size, pc);
    // SAFETY: what the program asked for.
    unsafe { libc::memmove(to.cast(), from.cast(), size).cast() }
}

unsafe extern "C" fn filled(to: *mut u8, value: c_int, size: usize, pc: usize) -> *mut u8 {
    plain::range::<true>(to as usize, size, pc);
    // SAFETY: what the program asked for.
    unsafe { libc::memset(to.cast(), value, size).cast() }
}

// Calls that GCC does not instrument. A program linked with `--wrap=memcpy` calls these instead; code
// that is not instrumented, such as that of the Rust standard library, never does.
with_caller!(__wrap_memcpy "rcx" copied_quickly);
with_caller!(__wrap_memmove "rcx" copied_quickly);
with_caller!(__wrap_memset "rcx" filled_quickly);

unsafe extern "C" fn copied_quickly(
    to: *mut u8,
    from: *const u8,
    size: usize,
    pc: usize,
) -> *mut u8 {
    type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8;
    watched(|| {
        plain::range::<false>(from as usize, size, pc);
        plain::range::<true>(to as usize, size, pc);
    });
    let real = below!(c"memmove", Copy);
    // SAFETY: what the program asked for.
    unsafe { real(to, from, size) }
}

unsafe extern "C" fn filled_quickly(to: *mut u8, value: c_int, size: usize, pc: usize) -> *mut u8 {
    type Fill = unsafe extern "C" fn(*mut u8, c_int, usize) -> *mut u8;
    watched(|| plain::range::<true>(to as usize, size, pc));
    let real = below!(c"memset", Fill);
    // SAFETY: what the program asked for.
    unsafe { real(to, value, size) }
}

fn watched(check: impl FnOnce()) {
    if heap::READY.load(Ordering::Relaxed) && thread::current().is_some_and(|thread| !thread.busy) {
        check();
    }
}
