//! OpenMP as GCC has it: what the threads of a team tell each other through libgomp, which is not instrumented and
//! keeps its threads waiting between two parallel regions in ways that nobody sees.
//!
//! A *region* is what `#pragma omp parallel` makes. Its threads come after who began it, and who began it goes on
//! after all of them. A barrier is two clocks that take turns: no thread is at the next but one while another is
//! still at this one. A task comes after who made it; who waits for tasks comes after all that have ended. Where it is
//! not known which task another depends on, it comes after all of them: that may order more than the program
//! does, but never invents a race.

use crate::below;
use crate::heap::{self, Below};
use crate::objects::Role;
use crate::sync;
use libc::c_void;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of the program that a team or a task runs.
pub type Body = unsafe extern "C" fn(*mut c_void);

/// A parallel region.
pub struct Region {
    body: Body,
    data: *mut c_void,
}

/// Tasks outside of any region are of this one.
static NO_REGION: u64 = 0;

thread_local! {
    /// The region that the thread is in, and how many barriers it has passed there.
    static WHERE: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

fn region() -> usize {
    match WHERE.get().0 {
        0 => &raw const NO_REGION as usize,
        region => region,
    }
}

/// Runs a region: `run` is given a function that each of its threads calls with a pointer to the region.
pub fn parallel<R>(body: Body, data: *mut c_void, run: impl FnOnce(Body, *mut c_void) -> R) -> R {
    let mut region = Region { body, data };
    let address = &raw mut region as usize;
    sync::release(address, Role::Lock);
    let result = run(member, address as *mut c_void);
    sync::acquire(address, Role::Readers);
    sync::acquire(address, Role::Channel);
    sync::destroy(address);
    result
}

/// What each thread of a team does.
unsafe extern "C" fn member(address: *mut c_void) {
    let before = WHERE.replace((address as usize, 0));
    sync::acquire(address as usize, Role::Lock);
    // SAFETY: who began the region waits for the team, and the body is what it was told to run.
    unsafe {
        let Region { body, data } = *address.cast::<Region>();
        body(data);
    }
    sync::release(address as usize, Role::Readers);
    WHERE.set(before);
}

/// Waits for the others of the team.
pub fn barrier<R>(wait: impl FnOnce() -> R) -> R {
    barrier_unless(wait, |_| false)
}

/// Waits for the others of the team, unless the result says that this was no waiting. The thread has told what it
/// did so far in either case.
pub fn barrier_unless<R>(wait: impl FnOnce() -> R, passed: impl FnOnce(&R) -> bool) -> R {
    let (address, round) = WHERE.get();
    if address == 0 {
        return wait();
    }
    let role = Role::Barrier(round % 2 == 1);
    sync::release(address, role);
    let result = wait();
    if !passed(&result) {
        sync::acquire(address, role);
        sync::acquire(address, Role::Channel);
        WHERE.set((address, round + 1));
    }
    result
}

/// Waits for tasks.
pub fn wait_for_tasks<R>(wait: impl FnOnce() -> R) -> R {
    let result = wait();
    sync::acquire(region(), Role::Channel);
    result
}

/// A task that was made and has not ended.
struct Task {
    body: Body,
    data: *mut u8,
    layout: Layout,
    region: usize,
    depends: bool,
}

/// How a task's data is copied.
pub type Copy = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;

/// Makes a task: `make` is given a function that runs it, and what to call that with. None if there is no memory.
///
/// # Safety
/// `data` must have `size` bytes, for `copy` or to be copied as they are.
pub unsafe fn task<R>(
    body: Body,
    data: *mut c_void,
    copy: Copy,
    layout: Layout,
    depends: bool,
    make: impl FnOnce(Body, *mut c_void) -> R,
) -> Option<R> {
    // SAFETY: the layout is not of nothing.
    let own = unsafe { Below.alloc(layout) };
    if own.is_null() {
        return None;
    }
    heap::fresh(own as usize, layout.size());
    // The program's own way to copy would be watched.
    type Move = unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8;
    let plainly = below!(c"memmove", Move);
    // SAFETY: as many bytes as there are in both.
    unsafe {
        match copy {
            Some(copy) => copy(own.cast(), data),
            None if data.is_null() => {}
            None => {
                plainly(own, data.cast(), layout.size());
            }
        }
    }
    let task = Box::into_raw(Box::new(Task { body, data: own, layout, region: region(), depends }));
    sync::release(task as usize, Role::Lock);
    let mut argument = task;
    Some(make(run_task, (&raw mut argument).cast()))
}

unsafe extern "C" fn run_task(argument: *mut c_void) {
    // SAFETY: made by `task`, which handed out a pointer to it, or a copy of that, once.
    let task = unsafe { *argument.cast::<*mut Task>() };
    sync::acquire(task as usize, Role::Lock);
    sync::destroy(task as usize);
    // SAFETY: as above.
    let Task { body, data, layout, region, depends } = *unsafe { Box::from_raw(task) };
    if depends {
        sync::acquire(region, Role::Channel);
    }
    // SAFETY: the body is what the program wanted to run with this data.
    unsafe { body(data.cast()) };
    sync::release(region, Role::Channel);
    // SAFETY: allocated by `task`.
    unsafe { Below.dealloc(data, layout) };
}
