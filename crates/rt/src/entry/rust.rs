//! The standard library of Rust.
//!
//! `fencepost rustc` makes `__fencepost_real_…` the function of that name and sends calls to it here. All
//! their arguments and results are passed as C passes numbers.

use crate::rust_std::{self, Words};
use std::arch::global_asm;

type Real = extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;

macro_rules! rust_std {
    ($($name:ident $text:literal ($a:ident, $b:ident) $before:expr, $after:expr;)*) => {$(
        global_asm!(
            concat!(".weak ", $text),
            concat!(".pushsection .data.rel.ro.", $text, ",\"aw\""),
            concat!(".local table_of", $text),
            concat!("table_of", $text, ": .quad ", $text),
            ".popsection",
        );
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name($a: usize, $b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            let real: Real;
            // SAFETY: reads the word above. Only who links the real function calls this one.
            unsafe {
                std::arch::asm!(concat!("mov {}, [rip + table_of", $text, "]"), out(reg) real);
            }
            let () = $before;
            let result = real($a, $b, c, d, e, f);
            let () = $after;
            result
        }
    )*};
}

rust_std! {
    __fencepost_std_mutex_lock "__fencepost_real_mutex_lock" (lock, b)
        rust_std::announce(Words::futex(lock)), rust_std::take(Words::futex(lock));
    __fencepost_std_rwlock_read "__fencepost_real_rwlock_read" (lock, b)
        rust_std::announce(rwlock(lock)), rust_std::take(rwlock(lock));
    __fencepost_std_rwlock_write "__fencepost_real_rwlock_write" (lock, b)
        rust_std::announce(rwlock(lock)), rust_std::take(rwlock(lock));
    __fencepost_std_condvar_wait "__fencepost_real_condvar_wait" (condvar, mutex)
        give_up(mutex), rust_std::take(Words::futex(mutex));
    __fencepost_std_condvar_wait_timeout "__fencepost_real_condvar_wait_timeout" (condvar, mutex)
        give_up(mutex), rust_std::take(Words::futex(mutex));
    __fencepost_std_once_call "__fencepost_real_once_call" (once, b)
        begin_once(once), end_once(once);
    __fencepost_std_once_wait "__fencepost_real_once_wait" (once, b)
        rust_std::announce(Words::futex(once)), rust_std::take(Words::futex(once));
    __fencepost_std_once_wait_force "__fencepost_real_once_wait_force" (once, b)
        rust_std::announce(Words::futex(once)), rust_std::take(Words::futex(once));
    __fencepost_std_barrier_wait "__fencepost_real_barrier_wait" (barrier, b)
        give_up(barrier), rust_std::take(Words::futex(barrier));
    __fencepost_std_scope_end "__fencepost_real_scope_end" (scope, b)
        end_scope(scope), ();
    __fencepost_std_park "__fencepost_real_park" (a, b) (), rust_std::woken();
    __fencepost_std_park_timeout "__fencepost_real_park_timeout" (a, b) (), rust_std::woken();
    __fencepost_std_thread_park "__fencepost_real_thread_park" (a, b) (), rust_std::woken();
    __fencepost_std_thread_park_timeout "__fencepost_real_thread_park_timeout" (a, b) (), rust_std::woken();
}

fn rwlock(lock: usize) -> Words {
    Words { address: lock, count: 2, size: 4 }
}

fn give_up(address: usize) {
    rust_std::announce(Words::futex(address));
    rust_std::give(Words::futex(address));
}

fn begin_once(once: usize) {
    rust_std::announce(Words::futex(once));
    rust_std::begin(once);
}

fn end_once(once: usize) {
    rust_std::end(once);
    rust_std::take(Words::futex(once));
}

/// A thread of a scope ends: a counter, a flag and a handle, in whatever order.
fn end_scope(scope: usize) {
    let words = Words { address: scope, count: 3, size: 8 };
    rust_std::announce(words);
    rust_std::give(words);
}
