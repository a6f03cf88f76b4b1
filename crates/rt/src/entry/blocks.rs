//! Memory that comes and goes.

use crate::heap;
use crate::system;
use libc::{c_int, c_void};

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::malloc(size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::calloc(count, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::realloc(block, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut u8) {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::free(block) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::memalign(alignment, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: what the program asks for, on its own promises.
    unsafe { heap::memalign(alignment, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut u8, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let block = heap::memalign(alignment, size);
        if block.is_null() {
            return libc::ENOMEM;
        }
        *out = block;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    heap::gone(address as usize, bytes);
    heap::fresh(address as usize, bytes);
    // SAFETY: the caller's promise.
    unsafe {
        system::returned(system::call(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]))
            as c_int
    }
}
