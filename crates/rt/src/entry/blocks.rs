//! Memory that comes and goes.

use crate::heap;
use crate::sync;
use crate::system;
use crate::thread::{self, Giver};
use libc::{c_int, c_void};
use std::arch::global_asm;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

// What hands out memory is told who asks for it.

with_caller!(malloc "rsi" malloc_from);
with_caller!(calloc "rdx" calloc_from);
with_caller!(memalign "rdx" memalign_from);
with_caller!(aligned_alloc "rdx" memalign_from);
with_caller!(posix_memalign "rcx" posix_memalign_from);
with_caller!(valloc "rsi" valloc_from);
with_caller!(pvalloc "rsi" pvalloc_from);

unsafe extern "C" fn malloc_from(size: usize, pc: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::malloc(size, pc) }
}

unsafe extern "C" fn calloc_from(count: usize, size: usize, pc: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::calloc(count, size, pc) }
}

unsafe extern "C" fn memalign_from(alignment: usize, size: usize, pc: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::memalign(alignment, size, pc) }
}

unsafe extern "C" fn posix_memalign_from(
    out: *mut *mut u8,
    alignment: usize,
    size: usize,
    pc: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let block = heap::memalign(alignment, size, pc);
        if block.is_null() {
            return libc::ENOMEM;
        }
        *out = block;
    }
    0
}

unsafe extern "C" fn valloc_from(size: usize, pc: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::memalign(PAGE, size, pc) }
}

unsafe extern "C" fn pvalloc_from(size: usize, pc: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::memalign(PAGE, size.next_multiple_of(PAGE), pc) }
}

const PAGE: usize = 4096;

macro_rules! maps {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            address: *mut c_void,
            bytes: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void {
            let numbers = [protection as usize, flags as usize, file as usize, offset as usize];
            let [a, b, c, d] = numbers;
            // SAFETY: the caller's promise.
            let mapped = unsafe {
                system::returned(system::call(libc::SYS_mmap, [address as usize, bytes, a, b, c, d]))
            };
            if mapped != -1 {
                heap::mapped(mapped as usize, bytes);
            }
            mapped as *mut c_void
        }
    )*};
}

maps! { mmap mmap64 }

// What gives memory back is told who gives it.

with_caller!(free "rsi" free_from);
with_caller!(realloc "rdx" realloc_from);
with_caller!(munmap "rdx" munmap_from);

/// The address of an entry point, to be shown on stacks.
macro_rules! entry {
    ($name:ident) => {{
        let address: usize;
        // SAFETY: computes an address.
        #[allow(unused_unsafe, reason = "some of those who need it are unsafe already")]
        unsafe {
            std::arch::asm!("lea {}, [rip + {}]", out(reg) address, sym $name, options(nomem, nostack));
        }
        address
    }};
}

unsafe extern "C" {
    fn free();
    fn realloc();
    fn munmap();
    fn mremap();
}

unsafe extern "C" fn free_from(block: *mut u8, pc: usize) {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::free(block, Giver { pc, callee: entry!(free) }) }
}

unsafe extern "C" fn realloc_from(block: *mut u8, size: usize, pc: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::realloc(block, size, Giver { pc, callee: entry!(realloc) }) }
}

unsafe extern "C" fn munmap_from(address: *mut c_void, bytes: usize, pc: usize) -> c_int {
    heap::gone(address as usize, bytes, Giver { pc, callee: entry!(munmap) });
    heap::fresh(address as usize, bytes);
    // SAFETY: the caller's promise.
    unsafe {
        system::returned(system::call(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]))
            as c_int
    }
}

with_caller!(mremap "r9" mremap_from);

unsafe extern "C" fn mremap_from(
    old: *mut c_void,
    size: usize,
    new_size: usize,
    flags: c_int,
    new: *mut c_void,
    pc: usize,
) -> *mut c_void {
    heap::gone(old as usize, size, Giver { pc, callee: entry!(mremap) });
    // SAFETY: the caller's promise.
    let mapped = unsafe {
        let arguments = [old as usize, size, new_size, flags as usize, new as usize, 0];
        system::returned(system::call(libc::SYS_mremap, arguments))
    };
    if mapped != -1 {
        heap::mapped(mapped as usize, new_size);
        if mapped as usize != old as usize {
            heap::fresh(old as usize, size);
        }
    }
    mapped as *mut c_void
}

/// `operator delete` of C++: the library's own, which calls `free`. Only here it is seen where the program
/// deletes.
macro_rules! deletes {
    ($($name:ident $inner:ident $c:literal;)*) => {$(
        with_caller!($name "rcx" $inner);
        unsafe extern "C" { fn $name(); }
        unsafe extern "C" fn $inner(block: *mut u8, a: usize, b: usize, pc: usize) {
            static REAL: AtomicUsize = AtomicUsize::new(0);
            // SAFETY: the program's promise.
            unsafe { delete(block, a, b, Giver { pc, callee: entry!($name) }, $c, &REAL) };
        }
    )*};
}

deletes! {
    _ZdlPv delete1 c"_ZdlPv";
    _ZdaPv delete2 c"_ZdaPv";
    _ZdlPvm delete3 c"_ZdlPvm";
    _ZdaPvm delete4 c"_ZdaPvm";
    _ZdlPvSt11align_val_t delete5 c"_ZdlPvSt11align_val_t";
    _ZdaPvSt11align_val_t delete6 c"_ZdaPvSt11align_val_t";
    _ZdlPvmSt11align_val_t delete7 c"_ZdlPvmSt11align_val_t";
    _ZdaPvmSt11align_val_t delete8 c"_ZdaPvmSt11align_val_t";
}

/// Where C++ is linked statically there is no other such function, and what it does is `free`.
unsafe fn delete(
    block: *mut u8,
    a: usize,
    b: usize,
    giver: Giver,
    name: &CStr,
    real: &AtomicUsize,
) {
    type Delete = unsafe extern "C" fn(*mut u8, usize, usize);
    const NONE: usize = 1;
    let mut found = real.load(Ordering::Relaxed);
    if found == 0 {
        found = sync::find(name).unwrap_or(NONE);
        real.store(found, Ordering::Relaxed);
    }
    if found == NONE {
        // SAFETY: the program's promise.
        return unsafe { heap::free(block, giver) };
    }
    // One such function may call another: what counts is who called the first.
    let thread = thread::current().filter(|thread| !thread.busy && thread.giver.is_none());
    if let Some(mut thread) = thread {
        thread.giver = Some(giver);
    }
    // SAFETY: the function of this name, on the program's promise.
    unsafe { std::mem::transmute::<usize, Delete>(found)(block, a, b) };
    if let Some(mut thread) = thread {
        thread.giver = None;
    }
}
