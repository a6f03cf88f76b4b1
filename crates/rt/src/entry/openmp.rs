//! OpenMP as GCC has it: the functions of libgomp that compilers and programs call.

use crate::below;
use crate::objects::Role;
use crate::openmp::{self, Body, Copy};
use crate::sync;
use libc::{c_int, c_long, c_uint, c_void};
use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Functions that begin a region: the body and its data come first.
macro_rules! regions {
    ($($name:ident $c:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(body: Body, data: *mut c_void, $($argument: $type),*) -> $result {
            type Real = unsafe extern "C" fn(Body, *mut c_void, $($type),*) -> $result;
            let real = below!($c, Real);
            // SAFETY: the caller's promise.
            openmp::parallel(body, data, |body, data| unsafe { real(body, data, $($argument),*) })
        }
    )*};
}

regions! {
    GOMP_parallel c"GOMP_parallel" (threads: c_uint, flags: c_uint) -> ();
    GOMP_parallel_reductions c"GOMP_parallel_reductions" (threads: c_uint, flags: c_uint) -> c_uint;
    GOMP_teams_reg c"GOMP_teams_reg" (teams: c_uint, threads: c_uint, flags: c_uint) -> ();
    GOMP_parallel_sections c"GOMP_parallel_sections"
        (threads: c_uint, count: c_uint, flags: c_uint) -> ();
    GOMP_parallel_loop_static c"GOMP_parallel_loop_static"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_dynamic c"GOMP_parallel_loop_dynamic"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_guided c"GOMP_parallel_loop_guided"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_nonmonotonic_dynamic c"GOMP_parallel_loop_nonmonotonic_dynamic"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_nonmonotonic_guided c"GOMP_parallel_loop_nonmonotonic_guided"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, chunk: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_runtime c"GOMP_parallel_loop_runtime"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_nonmonotonic_runtime c"GOMP_parallel_loop_nonmonotonic_runtime"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, flags: c_uint) -> ();
    GOMP_parallel_loop_maybe_nonmonotonic_runtime c"GOMP_parallel_loop_maybe_nonmonotonic_runtime"
        (threads: c_uint, from: c_long, to: c_long, by: c_long, flags: c_uint) -> ();
}

/// Functions in which a thread waits, for its team or for tasks.
macro_rules! waits {
    ($wait:path: $($name:ident $c:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let real = below!($c, unsafe extern "C" fn($($type),*) -> $result);
            // SAFETY: the caller's promise.
            $wait(|| unsafe { real($($argument),*) })
        }
    )*};
}

waits! { openmp::barrier:
    GOMP_barrier c"GOMP_barrier" () -> ();
    GOMP_barrier_cancel c"GOMP_barrier_cancel" () -> bool;
    GOMP_loop_end c"GOMP_loop_end" () -> ();
    GOMP_loop_end_cancel c"GOMP_loop_end_cancel" () -> bool;
    GOMP_sections_end c"GOMP_sections_end" () -> ();
    GOMP_sections_end_cancel c"GOMP_sections_end_cancel" () -> bool;
    GOMP_single_copy_end c"GOMP_single_copy_end" (data: *mut c_void) -> ();
}

waits! { openmp::wait_for_tasks:
    GOMP_taskwait c"GOMP_taskwait" () -> ();
    GOMP_taskwait_depend c"GOMP_taskwait_depend" (depend: *mut *mut c_void) -> ();
    GOMP_taskgroup_end c"GOMP_taskgroup_end" () -> ();
}

/// Who is to do it gets null at once; the others get the data when it is done, at a barrier.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_single_copy_start() -> *mut c_void {
    let real = below!(c"GOMP_single_copy_start", unsafe extern "C" fn() -> *mut c_void);
    // SAFETY: the caller's promise.
    openmp::barrier_unless(|| unsafe { real() }, |data| data.is_null())
}

const DEPENDS: c_uint = 1 << 3;
const DETACHED: c_uint = 1 << 13;

#[allow(clippy::too_many_arguments, reason = "libgomp's")]
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_task(
    body: Body,
    data: *mut c_void,
    copy: Copy,
    size: c_long,
    alignment: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *mut *mut c_void,
    priority: c_int,
    event: *mut c_void,
) {
    type Make = unsafe extern "C" fn(
        Body,
        *mut c_void,
        Copy,
        c_long,
        c_long,
        bool,
        c_uint,
        *mut *mut c_void,
        c_int,
        *mut c_void,
    );
    let real = below!(c"GOMP_task", Make);
    let layout = Layout::from_size_align(size.max(1) as usize, alignment.max(16) as usize);
    let word = size_of::<usize>() as c_long;
    // SAFETY: the caller's promise. A task that is told of its event has it written to its data.
    unsafe {
        let made = match layout {
            Ok(layout) if flags & DETACHED == 0 => {
                let depends = flags & DEPENDS != 0;
                openmp::task(body, data, copy, layout, depends, |body, data| {
                    real(body, data, None, word, word, deferred, flags, depend, priority, event);
                })
            }
            _ => None,
        };
        if made.is_none() {
            real(body, data, copy, size, alignment, deferred, flags, depend, priority, event);
        }
    }
}

/// Critical sections that have no name are one, and so are atomic ones and ordered ones.
static UNNAMED: [u64; 3] = [0; 3];

macro_rules! sections {
    ($($start:ident $start_c:literal $end:ident $end_c:literal $index:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $start() {
            let real = below!($start_c, unsafe extern "C" fn());
            // SAFETY: the caller's promise.
            unsafe { real() };
            sync::acquire(&raw const UNNAMED[$index] as usize, Role::Lock);
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $end() {
            let real = below!($end_c, unsafe extern "C" fn());
            sync::release(&raw const UNNAMED[$index] as usize, Role::Lock);
            // SAFETY: the caller's promise.
            unsafe { real() };
        }
    )*};
}

sections! {
    GOMP_critical_start c"GOMP_critical_start" GOMP_critical_end c"GOMP_critical_end" 0;
    GOMP_atomic_start c"GOMP_atomic_start" GOMP_atomic_end c"GOMP_atomic_end" 1;
    GOMP_ordered_start c"GOMP_ordered_start" GOMP_ordered_end c"GOMP_ordered_end" 2;
}

macro_rules! locks {
    ($($take:ident $take_c:literal $give:ident $give_c:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $take(lock: *mut c_void) {
            let real = below!($take_c, unsafe extern "C" fn(*mut c_void));
            // SAFETY: the caller's promise.
            unsafe { real(lock) };
            sync::acquire(lock as usize, Role::Lock);
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $give(lock: *mut c_void) {
            let real = below!($give_c, unsafe extern "C" fn(*mut c_void));
            sync::release(lock as usize, Role::Lock);
            // SAFETY: the caller's promise.
            unsafe { real(lock) };
        }
    )*};
}

locks! {
    GOMP_critical_name_start c"GOMP_critical_name_start"
        GOMP_critical_name_end c"GOMP_critical_name_end";
    omp_set_lock c"omp_set_lock" omp_unset_lock c"omp_unset_lock";
    omp_set_nest_lock c"omp_set_nest_lock" omp_unset_nest_lock c"omp_unset_nest_lock";
}

macro_rules! attempts {
    ($($name:ident $c:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            let real = below!($c, unsafe extern "C" fn(*mut c_void) -> c_int);
            // SAFETY: the caller's promise.
            let taken = unsafe { real(lock) };
            if taken != 0 {
                sync::acquire(lock as usize, Role::Lock);
            }
            taken
        }
    )*};
}

attempts! {
    omp_test_lock c"omp_test_lock";
    omp_test_nest_lock c"omp_test_nest_lock";
}
