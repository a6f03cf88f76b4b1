//! What the program asks of the C library that orders its threads.
//!
//! Each function does what the C library's does and tells the analysis which edges come of it. When the
//! runtime schedules, nothing may block in the system: a lock that is taken is tried again after
//! somebody released it.

use crate::findings::{self, Loss};
use crate::heap;
use crate::memory;
use crate::objects::{self, Edge, Role};
use crate::private;
use crate::registry::{self, Created, Creation};
use crate::schedule;
use crate::thread;
use clocks::shadow::MOST_THREADS;
use clocks::trace::Event;
use libc::{c_int, c_void, pthread_t};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The C library's function of a name, below the one that intercepts it.
#[macro_export]
macro_rules! below {
    ($name:literal, $type:ty) => {{
        static FOUND: AtomicUsize = AtomicUsize::new(0);
        let mut found = FOUND.load(Ordering::Relaxed);
        if found == 0 {
            found = $crate::sync::look_up($name);
            FOUND.store(found, Ordering::Relaxed);
        }
        // SAFETY: the function has this type.
        unsafe { std::mem::transmute::<usize, $type>(found) }
    }};
}

/// The address of the C library's function.
pub fn look_up(name: &std::ffi::CStr) -> usize {
    find(name).unwrap_or_else(|| {
        findings::die(&format!("the C library has no `{}`", name.to_string_lossy()))
    })
}

/// The address of the next function of this name, if there is one.
pub fn find(name: &std::ffi::CStr) -> Option<usize> {
    // SAFETY: a look-up by name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    (found != 0).then_some(found)
}

/// What the calling thread did so far comes before what is done after an [`acquire`].
pub fn release(address: usize, role: Role) {
    edge(address, role, Edge::Release);
}

/// What the calling thread does from now on comes after what was done before a [`release`].
pub fn acquire(address: usize, role: Role) {
    edge(address, role, Edge::Acquire);
}

fn edge(address: usize, role: Role, edge: Edge) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    objects::order(&mut thread, address, role, edge);
    thread.busy = false;
}

/// The object is destroyed.
pub fn destroy(address: usize) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    objects::remove(
        address,
        &[Role::Lock, Role::Readers, Role::Barrier(false), Role::Barrier(true), Role::Channel],
    );
    thread.busy = false;
}

/// The thread took a lock, on behalf of the code at `pc`, if this says so.
pub fn holds(lock: usize, pc: usize, result: c_int) -> c_int {
    if (result == 0 || result == libc::EOWNERDEAD)
        && let Some(mut thread) = thread::current()
        && !thread.busy
    {
        thread.busy = true;
        let site = thread.site(pc);
        thread.locks.push((lock, site));
        thread.busy = false;
    }
    result
}

/// The thread gives a lock back.
fn drops(lock: usize) {
    if let Some(mut thread) = thread::current()
        && !thread.busy
        && let Some(index) = thread.locks.iter().rposition(|&(held, _)| held == lock)
    {
        thread.locks.swap_remove(index);
    }
}

fn point(pc: usize) {
    if let Some(thread) = thread::current()
        && !thread.busy
    {
        schedule::point(thread, pc);
    }
}

/// Takes a lock: by waiting in the system, or by trying until it succeeds.
pub fn take(
    address: usize,
    role: Role,
    block: impl FnOnce() -> c_int,
    attempt: impl Fn() -> c_int,
    patient: bool,
) -> c_int {
    let result = if schedule::active() && thread::current().is_some_and(|thread| !thread.busy) {
        point(address);
        loop {
            let seen = schedule::writes();
            match attempt() {
                libc::EBUSY => {
                    if schedule::block(address, patient, seen) {
                        break libc::ETIMEDOUT;
                    }
                }
                result => break result,
            }
        }
    } else {
        block()
    };
    if result == 0 || result == libc::EOWNERDEAD {
        acquire(address, role);
    }
    result
}

/// Gives a lock back.
pub fn give(address: usize, role: Role, unlock: impl FnOnce() -> c_int) -> c_int {
    point(address);
    drops(address);
    release(address, role);
    let result = unlock();
    schedule::wake(address, true);
    result
}

/// Waits for a condition, with the mutex given back meanwhile.
///
/// # Safety
/// As `pthread_cond_wait`.
pub unsafe fn wait(
    condition: usize,
    mutex: *mut libc::pthread_mutex_t,
    patient: bool,
    block: impl FnOnce() -> c_int,
) -> c_int {
    release(mutex as usize, Role::Lock);
    let result = if schedule::active() && thread::current().is_some_and(|thread| !thread.busy) {
        type Mutex = unsafe extern "C" fn(*mut libc::pthread_mutex_t) -> c_int;
        let unlock = below!(c"pthread_mutex_unlock", Mutex);
        let try_lock = below!(c"pthread_mutex_trylock", Mutex);
        let seen = schedule::writes();
        // SAFETY: the caller holds the mutex.
        unsafe { unlock(mutex) };
        // This is a write itself.
        schedule::wake(mutex as usize, true);
        let timed_out = schedule::block(condition, patient, seen + 1);
        loop {
            let seen = schedule::writes();
            // SAFETY: it is a mutex.
            if unsafe { try_lock(mutex) } != libc::EBUSY {
                break;
            }
            schedule::block(mutex as usize, true, seen);
        }
        if timed_out { libc::ETIMEDOUT } else { 0 }
    } else {
        // A thread that is cancelled in there has the mutex again, and its handlers may count on that.
        // SAFETY: the buffer lives until it is taken back, or until the thread leaves this function.
        unsafe { or_cancelled(mutex as *mut c_void, block) }
    };
    acquire(mutex as usize, Role::Lock);
    if schedule::active() {
        let test = below!(c"pthread_testcancel", unsafe extern "C" fn());
        // SAFETY: the thread has the mutex, as its handlers expect.
        unsafe { test() };
    }
    result
}

/// A thread is asked to end: one that waits for a condition goes on, and finds out.
pub fn cancelled(handle: pthread_t) {
    if !schedule::active() || thread::current().is_none_or(|thread| thread.busy) {
        return;
    }
    let created = registry::lock().threads.get(&handle).map(|created| created.tid);
    if let Some(tid) = created {
        schedule::rouse(tid);
    }
}

/// Calls a function in which the thread may be cancelled while it waits for a condition.
///
/// # Safety
/// The mutex must be the one that belongs to the condition.
unsafe fn or_cancelled(mutex: *mut c_void, block: impl FnOnce() -> c_int) -> c_int {
    type Push = unsafe extern "C" fn(*mut [usize; 4], extern "C" fn(*mut c_void), *mut c_void);
    type Pop = unsafe extern "C" fn(*mut [usize; 4], c_int);
    extern "C" fn cancelled(mutex: *mut c_void) {
        acquire(mutex as usize, Role::Lock);
    }
    let push = below!(c"_pthread_cleanup_push", Push);
    let pop = below!(c"_pthread_cleanup_pop", Pop);
    let mut buffer = [0; 4];
    // SAFETY: the C library's own way to be told, which needs no help from this frame.
    unsafe { push(&raw mut buffer, cancelled, mutex) };
    let result = block();
    // SAFETY: as above.
    unsafe { pop(&raw mut buffer, 0) };
    result
}

// Barriers

#[derive(Clone, Copy, Default)]
struct Barrier {
    needed: u32,
    arrived: u32,
    generation: bool,
}

static BARRIERS: Mutex<Option<HashMap<usize, Barrier>>> = Mutex::new(None);

fn barriers<R>(f: impl FnOnce(&mut HashMap<usize, Barrier>) -> R) -> R {
    let mut barriers = BARRIERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    f(barriers.get_or_insert_default())
}

/// A barrier for so many threads.
pub fn barrier_made(address: usize, needed: u32) {
    barriers(|all| all.insert(address, Barrier { needed, ..Barrier::default() }));
}

/// Waits at a barrier.
pub fn barrier_wait(address: usize, block: impl FnOnce() -> c_int) -> c_int {
    point(address);
    // The next round must not mix with this one, so clocks alternate.
    let generation = barriers(|all| all.entry(address).or_default().generation);
    release(address, Role::Barrier(generation));
    let last = barriers(|all| {
        let barrier = all.entry(address).or_default();
        barrier.arrived += 1;
        let last = barrier.arrived >= barrier.needed;
        if last {
            barrier.arrived = 0;
            barrier.generation = !generation;
        }
        last
    });
    if last {
        fresh_barrier(address, !generation);
    }
    let result = if schedule::active() {
        if last {
            schedule::wake(address, true);
            libc::PTHREAD_BARRIER_SERIAL_THREAD
        } else {
            loop {
                let seen = schedule::writes();
                if barriers(|all| all.entry(address).or_default().generation) != generation {
                    break;
                }
                schedule::block(address, true, seen);
            }
            0
        }
    } else {
        block()
    };
    acquire(address, Role::Barrier(generation));
    result
}

fn fresh_barrier(address: usize, generation: bool) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    objects::remove(address, &[Role::Barrier(generation)]);
    thread.busy = false;
}

// Threads

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread is to do; the entry point reads the first two fields.
#[repr(C)]
pub struct Task {
    start: Start,
    argument: *mut c_void,
    clocks: clocks::thread::Thread,
    registered: AtomicU32,
}

static KEY: AtomicU32 = AtomicU32::new(0);

/// The main thread, and the key whose destructor tells of a thread's end.
pub fn begin() {
    let mut key = 0;
    // SAFETY: makes a key.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(key_destructor)) } != 0 {
        findings::die("there are too many thread-specific keys");
    }
    KEY.store(key, Ordering::Relaxed);
    let mut state = registry::lock();
    let clocks = state.population.start(None);
    state.record(&Event::Start { parent: None });
    let tid = clocks.tid();
    let thread = thread::enter(clocks);
    state.running.push(thread);
    // SAFETY: it was made just now.
    let thread = unsafe { &*thread };
    // `main` is called from higher up.
    private::open(&mut state, thread, &raw const key as usize + (1 << 14), 0);
    drop(state);
    if let Some(mut thread) = thread::current() {
        thread.busy = false;
    }
    schedule::begin(tid);
}

/// Creates a thread on behalf of the code at `pc`. It runs `entry`, which calls [`thread_begins`] and then the task.
///
/// # Safety
/// As `pthread_create`.
pub unsafe fn create(
    start: Start,
    argument: *mut c_void,
    pc: usize,
    entry: Start,
    detached: bool,
    make: impl FnOnce(Start, *mut c_void) -> (c_int, pthread_t),
) -> c_int {
    let Some(mut thread) = thread::current() else { return make(start, argument).0 };
    if thread.busy {
        return make(start, argument).0;
    }
    point(start as usize);
    thread.busy = true;
    let site = thread.site(pc);
    let clocks = {
        let mut state = registry::lock();
        let clocks = state.population.start(Some(&mut thread.clocks));
        state.record(&Event::Start { parent: Some(thread.tid) });
        if state.population.is_crowded() {
            findings::lost(Loss::Threads);
        }
        thread.refresh();
        clocks
    };
    let tid = clocks.tid();
    registry::created(tid, Creation { since: clocks.epoch().epoch(), by: thread.tid, site });
    if usize::from(tid) >= MOST_THREADS {
        findings::die("there are more than 4096 threads at a time");
    }
    let task = Box::new(Task { start, argument, clocks, registered: AtomicU32::new(0) });
    let task = Box::into_raw(task);
    schedule::started(tid);
    let (result, handle) = make(entry, task.cast());
    if result == 0 {
        let mut state = registry::lock();
        state.threads.insert(handle, Created { tid, ended: None, detached });
        drop(state);
        // SAFETY: the new thread waits for this before it frees the task.
        unsafe { (*task).registered.store(1, Ordering::Release) };
    } else {
        schedule::ended(tid, 0);
        // SAFETY: no thread has it.
        let task = unsafe { Box::from_raw(task) };
        registry::lock().retire(task.clocks);
    }
    thread.busy = false;
    result
}

/// A new thread begins. Puts the function to call and its argument where the entry point finds them.
///
/// # Safety
/// `task` must come from [`create`].
pub unsafe extern "C" fn thread_begins(task: *mut Task, out: *mut (Start, *mut c_void)) {
    // SAFETY: the caller's promise.
    unsafe {
        while (*task).registered.load(Ordering::Acquire) == 0 {
            libc::sched_yield();
        }
        let task = Box::from_raw(task);
        *out = (task.start, task.argument);
        let tid = task.clocks.tid();
        // The C library may have had its memory from who knows where.
        let stack = stack();
        if let Some((from, to)) = stack {
            memory::clear(from, to - from);
        }
        let thread = thread::enter(task.clocks);
        let mut state = registry::lock();
        state.running.push(thread);
        if let Some((from, _)) = stack {
            private::open(&mut state, &*thread, out as usize, from);
        }
        drop(state);
        (*thread).busy = false;
        // The last rounds of destructors may still run code of the program.
        libc::pthread_setspecific(KEY.load(Ordering::Relaxed), 4 as *mut c_void);
        schedule::arrived(tid);
    }
}

unsafe extern "C" fn key_destructor(rounds: *mut c_void) {
    let rounds = rounds as usize;
    if rounds > 1 {
        let key = KEY.load(Ordering::Relaxed);
        // SAFETY: asks to be called again, after the other destructors.
        if unsafe { libc::pthread_setspecific(key, (rounds - 1) as *mut c_void) } == 0 {
            return;
        }
    }
    thread_ends();
}

fn thread_ends() {
    let Some(mut thread) = thread::current() else { return };
    thread.busy = true;
    let tid = thread.tid;
    // SAFETY: the calling thread.
    let me = unsafe { libc::pthread_self() };
    forget_stack();
    {
        let mut state = registry::lock();
        let me_running: *mut thread::Thread = &raw mut *thread;
        state.running.retain(|&running| running != me_running);
        private::close(&mut state, &thread);
        let clocks = std::mem::take(&mut thread.clocks);
        if state.threads.get(&me).is_some_and(|created| created.detached) {
            state.threads.remove(&me);
            state.retire(clocks);
        } else if let Some(created) = state.threads.get_mut(&me) {
            created.ended = Some(clocks);
        }
    }
    schedule::ended(tid, me as usize);
    thread::leave();
}

/// The stack will be another thread's.
fn forget_stack() {
    let Some((from, to)) = stack() else { return };
    memory::clear(from, to - from);
    if to - from <= 1 << 24 {
        let here = &raw const from as usize;
        heap::gone_quietly(here.max(from), to);
    }
}

/// Where the calling thread's stack is.
fn stack() -> Option<(usize, usize)> {
    // SAFETY: asks for the calling thread's stack.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut address, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut address, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        Some((address as usize, address as usize + size))
    }
}

/// The calling thread waited for the end of another.
pub fn joined(handle: pthread_t) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    let mut state = registry::lock();
    if let Some(created) = state.threads.remove(&handle)
        && let Some(ended) = created.ended
    {
        thread.clocks.join(&ended);
        state.population.end(ended);
        state.record(&Event::Join { tid: thread.tid, child: created.tid });
    }
    thread.refresh();
    drop(state);
    thread.busy = false;
}

/// Waits for the end of a thread.
pub fn join(handle: pthread_t, block: impl FnOnce() -> c_int) -> c_int {
    if schedule::active() {
        point(handle as usize);
        loop {
            let seen = schedule::writes();
            let state = registry::lock();
            if state.threads.get(&handle).is_none_or(|created| created.ended.is_some()) {
                break;
            }
            drop(state);
            schedule::block(handle as usize, true, seen);
        }
    }
    let result = block();
    if result == 0 {
        joined(handle);
    }
    result
}

/// Nobody will wait for the thread.
pub fn detach(handle: pthread_t) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    let mut state = registry::lock();
    let ended = state.threads.get_mut(&handle).is_some_and(|created| {
        created.detached = true;
        created.ended.is_some()
    });
    if ended && let Some(clocks) = state.threads.remove(&handle).and_then(|created| created.ended) {
        state.retire(clocks);
    }
    drop(state);
    thread.busy = false;
}

/// Sleeps, or lets others go on when the runtime schedules.
pub fn pause(sleep: impl FnOnce() -> c_int) -> c_int {
    if schedule::active()
        && let Some(mut thread) = thread::current()
        && !thread.busy
    {
        thread.repeats = 100;
        let pc = thread.last_pc;
        schedule::point(thread, pc);
        return 0;
    }
    sleep()
}
