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

/// Sleeps for so many nanoseconds, less than a second.
#[cold]
pub fn sleep(nanoseconds: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
    // SAFETY: reads the time, and waits.
    unsafe { call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
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

/// Copies bytes of this process's memory from `address` on, as many as can be read and `into` has room
/// for; says how many. Where there is no memory, or none that may be read, it copies less.
pub fn peek(address: usize, into: &mut [u8]) -> usize {
    let read = |from: usize, into: &mut [u8]| -> usize {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: into.len() };
        let (local, remote) = (&raw const local as usize, &raw const remote as usize);
        // SAFETY: getpid takes nothing.
        let pid = unsafe { call(libc::SYS_getpid, [0; 6]) } as usize;
        // SAFETY: the system writes to `into` only, which is ours and as long as it is told, and
        // reads wherever it likes; where it cannot, it says so instead of a fault.
        let read = unsafe { call(libc::SYS_process_vm_readv, [pid, local, 1, remote, 1, 0]) };
        usize::try_from(read).unwrap_or(0)
    };
    // A piece is read as a whole or, if one of its pages is missing, perhaps not at all.
    const PAGE: usize = 4096;
    let mut done = 0;
    while done < into.len() {
        let Some(from) = address.checked_add(done) else { break };
        let piece = (PAGE - from % PAGE).min(into.len() - done);
        let read = read(from, &mut into[done..done + piece]);
        done += read;
        if read < piece {
            break;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peeks_at_what_is_there_and_only_that() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut copy = [0; 256];
        assert_eq!(peek(bytes.as_ptr() as usize, &mut copy), 256);
        assert_eq!(copy[..], bytes[..]);
        for nowhere in [0, 4095, usize::MAX, usize::MAX - 255, 1 << 63] {
            assert_eq!(peek(nowhere, &mut copy), 0, "{nowhere:#x}");
        }
        // Up to the end of the last page that may be read.
        // SAFETY: two new pages, of which the second is then closed.
        let pages = unsafe {
            let rw = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let pages = libc::mmap(std::ptr::null_mut(), 8192, rw, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(pages.byte_add(4096), 4096, libc::PROT_NONE), 0);
            pages as usize
        };
        assert_eq!(peek(pages + 4096 - 10, &mut copy), 10);
    }
}
