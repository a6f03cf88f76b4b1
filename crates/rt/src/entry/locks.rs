//! Locks, conditions, semaphores, barriers, and what happens once.

use crate::below;
use crate::guards;
use crate::objects::Role;
use crate::rust_std;
use crate::schedule;
use crate::sync;
use crate::thread;
use libc::{c_int, c_uint, c_void, timespec};
use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

// Locks

macro_rules! takes {
    ($($name:ident $c:literal $try_:literal $role:expr;)*) => {$(
        with_caller!($name "rsi" $name::take);
        mod $name {
            use super::*;
            pub(super) unsafe extern "C" fn take(lock: *mut c_void, pc: usize) -> c_int {
                type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
                let (real, attempt) = (below!($c, Lock), below!($try_, Lock));
                // SAFETY: the caller's promise.
                let (block, attempt) = (|| unsafe { real(lock) }, || unsafe { attempt(lock) });
                let result = sync::take(lock as usize, $role, block, attempt, true);
                sync::holds(lock as usize, pc, result)
            }
        }
    )*};
}

macro_rules! tries {
    ($($name:ident $c:literal $role:expr;)*) => {$(
        with_caller!($name "rsi" $name::attempt);
        mod $name {
            use super::*;
            pub(super) unsafe extern "C" fn attempt(lock: *mut c_void, pc: usize) -> c_int {
                let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
                schedule_point(lock as usize);
                // SAFETY: the caller's promise.
                let result = unsafe { real(lock) };
                if result == 0 || result == libc::EOWNERDEAD {
                    sync::acquire(lock as usize, $role);
                }
                sync::holds(lock as usize, pc, result)
            }
        }
    )*};
}

macro_rules! gives {
    ($($name:ident $c:literal $role:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            // SAFETY: the caller's promise.
            sync::give(lock as usize, $role, || unsafe { real(lock) })
        }
    )*};
}

macro_rules! timed {
    ($($name:ident $c:literal $try_:literal $role:expr;)*) => {$(
        with_caller!($name "rdx" $name::take);
        mod $name {
            use super::*;
            pub(super) unsafe extern "C" fn take(
                lock: *mut c_void,
                until: *const timespec,
                pc: usize,
            ) -> c_int {
                type Timed = unsafe extern "C" fn(*mut c_void, *const timespec) -> c_int;
                let real = below!($c, Timed);
                let attempt = below!($try_, unsafe extern "C" fn(*mut c_void) -> c_int);
                // SAFETY: the caller's promise.
                let (block, attempt) = (|| unsafe { real(lock, until) }, || unsafe { attempt(lock) });
                sync::holds(lock as usize, pc, sync::take(lock as usize, $role, block, attempt, false))
            }
        }
    )*};
}

/// The same with a clock of the caller's choice.
macro_rules! clocked {
    ($($name:ident $c:literal $try_:literal $role:expr;)*) => {$(
        with_caller!($name "rcx" $name::take);
        mod $name {
            use super::*;
            pub(super) unsafe extern "C" fn take(
                lock: *mut c_void,
                clock: c_int,
                until: *const timespec,
                pc: usize,
            ) -> c_int {
                type Clocked = unsafe extern "C" fn(*mut c_void, c_int, *const timespec) -> c_int;
                let real = below!($c, Clocked);
                let attempt = below!($try_, unsafe extern "C" fn(*mut c_void) -> c_int);
                // SAFETY: the caller's promise.
                let block = || unsafe { real(lock, clock, until) };
                // SAFETY: the caller's promise.
                let attempt = || unsafe { attempt(lock) };
                sync::holds(lock as usize, pc, sync::take(lock as usize, $role, block, attempt, false))
            }
        }
    )*};
}

macro_rules! destroys {
    ($($name:ident $c:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(object: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            sync::destroy(object as usize);
            // SAFETY: the caller's promise.
            unsafe { real(object) }
        }
    )*};
}

fn schedule_point(pc: usize) {
    if let Some(thread) = thread::current()
        && !thread.busy
    {
        schedule::point(thread, pc);
    }
}

takes! {
    pthread_mutex_lock c"pthread_mutex_lock" c"pthread_mutex_trylock" Role::Lock;
    pthread_spin_lock c"pthread_spin_lock" c"pthread_spin_trylock" Role::Lock;
    mtx_lock c"mtx_lock" c"pthread_mutex_trylock" Role::Lock;
    pthread_rwlock_rdlock c"pthread_rwlock_rdlock" c"pthread_rwlock_tryrdlock" Role::Lock;
}

tries! {
    pthread_mutex_trylock c"pthread_mutex_trylock" Role::Lock;
    pthread_spin_trylock c"pthread_spin_trylock" Role::Lock;
    mtx_trylock c"mtx_trylock" Role::Lock;
    pthread_rwlock_tryrdlock c"pthread_rwlock_tryrdlock" Role::Lock;
}

gives! {
    pthread_mutex_unlock c"pthread_mutex_unlock" Role::Lock;
    pthread_spin_unlock c"pthread_spin_unlock" Role::Lock;
    mtx_unlock c"mtx_unlock" Role::Lock;
}

timed! {
    pthread_mutex_timedlock c"pthread_mutex_timedlock" c"pthread_mutex_trylock" Role::Lock;
    pthread_rwlock_timedrdlock c"pthread_rwlock_timedrdlock" c"pthread_rwlock_tryrdlock" Role::Lock;
}

clocked! {
    pthread_mutex_clocklock c"pthread_mutex_clocklock" c"pthread_mutex_trylock" Role::Lock;
    pthread_rwlock_clockrdlock c"pthread_rwlock_clockrdlock" c"pthread_rwlock_tryrdlock" Role::Lock;
}

destroys! {
    pthread_mutex_destroy c"pthread_mutex_destroy";
    mtx_destroy c"mtx_destroy";
    pthread_spin_destroy c"pthread_spin_destroy";
    pthread_rwlock_destroy c"pthread_rwlock_destroy";
    pthread_barrier_destroy c"pthread_barrier_destroy";
    sem_destroy c"sem_destroy";
}

/// What C11 functions return for an error number.
fn in_c11(result: c_int) -> c_int {
    match result {
        0 => 0,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

with_caller!(mtx_timedlock "rdx" mtx_timedlock_from);

unsafe extern "C" fn mtx_timedlock_from(
    lock: *mut c_void,
    until: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: C11 mutexes are POSIX ones in this C library.
    in_c11(unsafe { pthread_mutex_timedlock::take(lock, until, pc) })
}

// Readers come after writers, not after each other; a writer comes after both.

with_caller!(pthread_rwlock_wrlock "rsi" wrlock);
with_caller!(pthread_rwlock_timedwrlock "rdx" timedwrlock);
with_caller!(pthread_rwlock_clockwrlock "rcx" clockwrlock);
with_caller!(pthread_rwlock_trywrlock "rsi" trywrlock);

unsafe extern "C" fn wrlock(lock: *mut c_void, pc: usize) -> c_int {
    type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
    let real = below!(c"pthread_rwlock_wrlock", Lock);
    let attempt = below!(c"pthread_rwlock_trywrlock", Lock);
    // SAFETY: the caller's promise.
    let (block, attempt) = (|| unsafe { real(lock) }, || unsafe { attempt(lock) });
    written(lock, pc, sync::take(lock as usize, Role::Lock, block, attempt, true))
}

unsafe extern "C" fn timedwrlock(lock: *mut c_void, until: *const timespec, pc: usize) -> c_int {
    type Timed = unsafe extern "C" fn(*mut c_void, *const timespec) -> c_int;
    let real = below!(c"pthread_rwlock_timedwrlock", Timed);
    // SAFETY: the caller's promise.
    take_to_write(lock, pc, || unsafe { real(lock, until) })
}

unsafe extern "C" fn clockwrlock(
    lock: *mut c_void,
    clock: c_int,
    until: *const timespec,
    pc: usize,
) -> c_int {
    type Clocked = unsafe extern "C" fn(*mut c_void, c_int, *const timespec) -> c_int;
    let real = below!(c"pthread_rwlock_clockwrlock", Clocked);
    // SAFETY: the caller's promise.
    take_to_write(lock, pc, || unsafe { real(lock, clock, until) })
}

/// Takes a lock to write, or gives up after a while.
fn take_to_write(lock: *mut c_void, pc: usize, block: impl FnOnce() -> c_int) -> c_int {
    let attempt = below!(c"pthread_rwlock_trywrlock", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    let attempt = || unsafe { attempt(lock) };
    written(lock, pc, sync::take(lock as usize, Role::Lock, block, attempt, false))
}

unsafe extern "C" fn trywrlock(lock: *mut c_void, pc: usize) -> c_int {
    let real = below!(c"pthread_rwlock_trywrlock", unsafe extern "C" fn(*mut c_void) -> c_int);
    schedule_point(lock as usize);
    // SAFETY: the caller's promise.
    let result = unsafe { real(lock) };
    if result == 0 {
        sync::acquire(lock as usize, Role::Lock);
    }
    written(lock, pc, result)
}

fn written(lock: *mut c_void, pc: usize, result: c_int) -> c_int {
    if result == 0 {
        sync::acquire(lock as usize, Role::Readers);
        if let Some(mut thread) = thread::current() {
            thread.write_locked.push(lock as usize);
        }
    }
    sync::holds(lock as usize, pc, result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int {
    let real = below!(c"pthread_rwlock_unlock", unsafe extern "C" fn(*mut c_void) -> c_int);
    let held = thread::current().and_then(|mut thread| {
        let index = thread.write_locked.iter().rposition(|&held| held == lock as usize)?;
        Some(thread.write_locked.swap_remove(index))
    });
    let role = if held.is_some() { Role::Lock } else { Role::Readers };
    // SAFETY: the caller's promise.
    sync::give(lock as usize, role, || unsafe { real(lock) })
}

// Conditions

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
) -> c_int {
    type Wait = unsafe extern "C" fn(*mut c_void, *mut libc::pthread_mutex_t) -> c_int;
    let real = below!(c"pthread_cond_wait", Wait);
    // SAFETY: the caller's promise.
    unsafe { sync::wait(condition as usize, mutex, true, || real(condition, mutex)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    type Wait =
        unsafe extern "C" fn(*mut c_void, *mut libc::pthread_mutex_t, *const timespec) -> c_int;
    let real = below!(c"pthread_cond_timedwait", Wait);
    // SAFETY: the caller's promise.
    unsafe { sync::wait(condition as usize, mutex, false, || real(condition, mutex, until)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
    clock: c_int,
    until: *const timespec,
) -> c_int {
    type Wait = unsafe extern "C" fn(
        *mut c_void,
        *mut libc::pthread_mutex_t,
        c_int,
        *const timespec,
    ) -> c_int;
    let real = below!(c"pthread_cond_clockwait", Wait);
    // SAFETY: the caller's promise.
    unsafe { sync::wait(condition as usize, mutex, false, || real(condition, mutex, clock, until)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_wait(condition: *mut c_void, mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: C11 conditions and mutexes are POSIX ones in this C library.
    if unsafe { pthread_cond_wait(condition, mutex) } == 0 { 0 } else { 2 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_timedwait(
    condition: *mut c_void,
    mutex: *mut libc::pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: as above.
    in_c11(unsafe { pthread_cond_timedwait(condition, mutex, until) })
}

macro_rules! signals {
    ($($name:ident $c:literal $all:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(condition: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            schedule_point(condition as usize);
            // SAFETY: the caller's promise.
            let result = unsafe { real(condition) };
            schedule::wake(condition as usize, $all);
            result
        }
    )*};
}

signals! {
    pthread_cond_signal c"pthread_cond_signal" false;
    pthread_cond_broadcast c"pthread_cond_broadcast" true;
    cnd_signal c"cnd_signal" false;
    cnd_broadcast c"cnd_broadcast" true;
}

// Semaphores

fn attempt_semaphore(semaphore: *mut c_void) -> c_int {
    let attempt = below!(c"sem_trywait", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    if unsafe { attempt(semaphore) } == 0 { 0 } else { libc::EBUSY }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_wait(semaphore: *mut c_void) -> c_int {
    let real = below!(c"sem_wait", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    let block = || unsafe { real(semaphore) };
    sync::take(semaphore as usize, Role::Lock, block, || attempt_semaphore(semaphore), true)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(semaphore: *mut c_void, until: *const timespec) -> c_int {
    let real =
        below!(c"sem_timedwait", unsafe extern "C" fn(*mut c_void, *const timespec) -> c_int);
    // SAFETY: the caller's promise.
    wait_for_semaphore(semaphore, || unsafe { real(semaphore, until) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_clockwait(
    semaphore: *mut c_void,
    clock: c_int,
    until: *const timespec,
) -> c_int {
    type Wait = unsafe extern "C" fn(*mut c_void, c_int, *const timespec) -> c_int;
    let real = below!(c"sem_clockwait", Wait);
    // SAFETY: the caller's promise.
    wait_for_semaphore(semaphore, || unsafe { real(semaphore, clock, until) })
}

/// Waits for a semaphore, or gives up after a while.
fn wait_for_semaphore(semaphore: *mut c_void, block: impl FnOnce() -> c_int) -> c_int {
    let attempt = || attempt_semaphore(semaphore);
    match sync::take(semaphore as usize, Role::Lock, block, attempt, false) {
        libc::ETIMEDOUT => {
            // SAFETY: this thread's error number.
            unsafe { *libc::__errno_location() = libc::ETIMEDOUT };
            -1
        }
        result => result,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_trywait(semaphore: *mut c_void) -> c_int {
    let real = below!(c"sem_trywait", unsafe extern "C" fn(*mut c_void) -> c_int);
    schedule_point(semaphore as usize);
    // SAFETY: the caller's promise.
    let result = unsafe { real(semaphore) };
    if result == 0 {
        sync::acquire(semaphore as usize, Role::Lock);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_post(semaphore: *mut c_void) -> c_int {
    let real = below!(c"sem_post", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    sync::give(semaphore as usize, Role::Lock, || unsafe { real(semaphore) })
}

// Barriers

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(
    barrier: *mut c_void,
    attributes: *const c_void,
    count: c_uint,
) -> c_int {
    type Init = unsafe extern "C" fn(*mut c_void, *const c_void, c_uint) -> c_int;
    sync::barrier_made(barrier as usize, count);
    let real = below!(c"pthread_barrier_init", Init);
    // SAFETY: the caller's promise.
    unsafe { real(barrier, attributes, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    let real = below!(c"pthread_barrier_wait", unsafe extern "C" fn(*mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    sync::barrier_wait(barrier as usize, || unsafe { real(barrier) })
}

// Once

/// 0: not yet, 1: running, 2: done; as the C library has it, whatever values it uses, only zero is
/// "not yet", so its own state is left alone and ours is the object's clock.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_once(control: *mut c_int, routine: extern "C" fn()) -> c_int {
    type Once = unsafe extern "C" fn(*mut c_int, extern "C" fn()) -> c_int;
    let real = below!(c"pthread_once", Once);
    ONCE.with(|once| once.set(Some((control as usize, routine))));
    // SAFETY: the caller's promise; the routine that runs is the one just noted.
    let result = unsafe { real(control, run_once) };
    sync::acquire(rust_std::clock_of(control as usize), Role::Lock);
    result
}

thread_local! {
    static ONCE: std::cell::Cell<Option<(usize, extern "C" fn())>> = const { std::cell::Cell::new(None) };
}

extern "C" fn run_once() {
    if let Some((control, routine)) = ONCE.with(std::cell::Cell::take) {
        rust_std::begin_again(control);
        routine();
        rust_std::end(control);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn call_once(control: *mut c_int, routine: extern "C" fn()) {
    // SAFETY: the caller's promise.
    unsafe { pthread_once(control, routine) };
}

// Static variables of functions in C++

with_caller!(__cxa_guard_acquire "rsi" guard_acquire);
with_caller!(__cxa_guard_release "rsi" guard_release);

unsafe extern "C" fn guard_acquire(guard: *mut u64, pc: usize) -> c_int {
    // SAFETY: the compiler's promise.
    c_int::from(unsafe { guards::acquire(guard, pc) })
}

unsafe extern "C" fn guard_release(guard: *mut u64, pc: usize) {
    // SAFETY: the compiler's promise.
    unsafe { guards::release(guard, pc) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_abort(guard: *mut u64) {
    // SAFETY: the compiler's promise.
    unsafe { guards::abort(guard) }
}
