//! System calls, past the C library's `syscall`, which the runtime intercepts.

use std::arch::asm;

/// A system call: its result, or an error number below zero.
///
/// # Safety
/// As for the system call.
#[inline]
pub unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

/// What the C library would return: -1 for errors, with their number in `errno`.
pub fn returned(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        // SAFETY: this thread's error number.
        unsafe { *libc::__errno_location() = -result as i32 };
        return -1;
    }
    result
}
