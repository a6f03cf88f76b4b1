//! What programs tell ThreadSanitizer, and older tools before it, about themselves: so that those that do so link,
//! and are understood as far as that makes sense here.
//!
//! An annotated release or acquire is an edge, as of a lock at that address. A mutex of the program's own is one
//! as well; what it does between `pre` and `post` is its own business, and not reported. Fibers are taken
//! for the thread that runs them; one that goes on in another thread comes after what it did before.

use crate::heap;
use crate::objects::Role;
use crate::registry;
use crate::sync;
use crate::thread;
use libc::{c_char, c_int, c_long, c_uint, c_void};

fn ignore(change: i32) {
    if let Some(mut thread) = thread::current() {
        thread.ignored = thread.ignored.saturating_add_signed(change);
    }
}

/// Functions that do nothing here.
macro_rules! nothing {
    ($($name:ident($($type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($(_: $type),*) {}
    )*};
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_acquire(at: *mut c_void) {
    sync::acquire(at as usize, Role::Lock);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_release(at: *mut c_void) {
    sync::release(at as usize, Role::Lock);
}

// Mutexes

const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK_FAILED: c_uint = 1 << 5;

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_create(_: *mut c_void, _: c_uint) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_destroy(mutex: *mut c_void, _: c_uint) {
    sync::destroy(mutex as usize);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_lock(_: *mut c_void, _: c_uint) {
    ignore(1);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_lock(mutex: *mut c_void, flags: c_uint, _: c_int) {
    ignore(-1);
    if flags & TRY_LOCK_FAILED == 0 {
        sync::acquire(mutex as usize, Role::Lock);
        if flags & READ_LOCK == 0 {
            sync::acquire(mutex as usize, Role::Readers);
        }
    }
}

/// Returns how often the mutex was locked; recursion is counted by the program here.
#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_unlock(mutex: *mut c_void, flags: c_uint) -> c_int {
    let role = if flags & READ_LOCK == 0 { Role::Lock } else { Role::Readers };
    sync::release(mutex as usize, role);
    ignore(1);
    1
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_unlock(_: *mut c_void, _: c_uint) {
    ignore(-1);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_signal(_: *mut c_void, _: c_uint) {
    ignore(1);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_signal(_: *mut c_void, _: c_uint) {
    ignore(-1);
}

/// The program calls back out of the mutex's code.
#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_divert(_: *mut c_void, _: c_uint) {
    ignore(-1);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_divert(_: *mut c_void, _: c_uint) {
    ignore(1);
}

// Fibers

/// Does a switch not order the two fibers? Here they are one thread's, and it always does.
type Flags = c_uint;

#[unsafe(no_mangle)]
extern "C" fn __tsan_get_current_fiber() -> *mut c_void {
    let Some(mut thread) = thread::current() else { return std::ptr::null_mut() };
    if thread.fiber == 0 {
        // The thread's own: an address that is nobody else's.
        thread.fiber = &raw const *thread as usize;
    }
    thread.fiber as *mut c_void
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_create_fiber(_: Flags) -> *mut c_void {
    let fiber = Box::into_raw(Box::new(0u64)).cast();
    // It comes after who made it.
    sync::release(fiber as usize, Role::Lock);
    fiber
}

/// # Safety
/// The fiber must come from [`__tsan_create_fiber`], and nobody may use it any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_destroy_fiber(fiber: *mut c_void) {
    sync::destroy(fiber as usize);
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(fiber.cast::<u64>()) });
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_switch_to_fiber(fiber: *mut c_void, _: Flags) {
    let before = __tsan_get_current_fiber() as usize;
    sync::release(before, Role::Lock);
    sync::acquire(fiber as usize, Role::Lock);
    if let Some(mut thread) = thread::current() {
        thread.fiber = fiber as usize;
        thread.forget_calls();
    }
}

nothing! {
    __tsan_set_fiber_name(*mut c_void, *const c_char);
    __tsan_flush_memory();
}

// The annotations of tools before ThreadSanitizer: a file and a line, and then what it is about.

type File = *const c_char;

#[unsafe(no_mangle)]
extern "C" fn AnnotateHappensBefore(_: File, _: c_int, at: usize) {
    sync::release(at, Role::Lock);
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateHappensAfter(_: File, _: c_int, at: usize) {
    sync::acquire(at, Role::Lock);
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateRWLockAcquired(_: File, _: c_int, lock: usize, writes: c_long) {
    sync::acquire(lock, Role::Lock);
    if writes != 0 {
        sync::acquire(lock, Role::Readers);
    }
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateRWLockReleased(_: File, _: c_int, lock: usize, writes: c_long) {
    sync::release(lock, if writes != 0 { Role::Lock } else { Role::Readers });
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateRWLockDestroy(_: File, _: c_int, lock: usize) {
    sync::destroy(lock);
}

macro_rules! ignores {
    ($($begin:ident $end:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $begin(_: File, _: c_int) {
            ignore(1);
        }
        #[unsafe(no_mangle)]
        extern "C" fn $end(_: File, _: c_int) {
            ignore(-1);
        }
    )*};
}

ignores! {
    AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd;
    AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd;
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateBenignRace(_: File, _: c_int, at: usize, _: *const c_char) {
    registry::tolerate(at, 8);
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateBenignRaceSized(_: File, _: c_int, at: usize, size: usize, _: *const c_char) {
    registry::tolerate(at, size);
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateNewMemory(_: File, _: c_int, at: usize, size: usize) {
    heap::mapped(at, size);
}

nothing! {
    AnnotateRWLockCreate(File, c_int, usize);
    AnnotateRWLockCreateStatic(File, c_int, usize);
    AnnotateCondVarSignal(File, c_int, usize);
    AnnotateCondVarSignalAll(File, c_int, usize);
    AnnotateCondVarWait(File, c_int, usize, usize);
    AnnotateMutexIsNotPHB(File, c_int, usize);
    AnnotateMutexIsUsedAsCondVar(File, c_int, usize);
    AnnotatePublishMemoryRange(File, c_int, usize, usize);
    AnnotateUnpublishMemoryRange(File, c_int, usize, usize);
    AnnotatePCQCreate(File, c_int, usize);
    AnnotatePCQDestroy(File, c_int, usize);
    AnnotatePCQPut(File, c_int, usize);
    AnnotatePCQGet(File, c_int, usize);
    AnnotateExpectRace(File, c_int, usize, *const c_char);
    AnnotateFlushExpectedRaces(File, c_int);
    AnnotateTraceMemory(File, c_int, usize);
    AnnotateThreadName(File, c_int, *const c_char);
    AnnotateFlushState(File, c_int);
    AnnotateNoOp(File, c_int, usize);
    AnnotateEnableRaceDetection(File, c_int, c_int);
    AnnotateIgnoreSyncBegin(File, c_int);
    AnnotateIgnoreSyncEnd(File, c_int);
}
