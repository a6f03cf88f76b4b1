//! Atomic accesses: performed under the lock of their location, in the order in which its clocks move.

use crate::findings::{self, Access, Finding, Kind, Operation};
use crate::locked_location::{self, Held, Place, Watch};
use crate::memory;
use crate::plain;
use crate::private;
use crate::registry::{self, Guard, State};
use crate::schedule;
use crate::spin::Frame;
use crate::stale::{self, Judged};
use crate::system;
use crate::thread::{self, Thread};
use crate::word::{Effect, Word, apply};
use clocks::access::{Done, Intent};
use clocks::shadow::{self, Epoch};
use clocks::trace::Event;
use clocks::{Loc, Order};
use std::sync::atomic::{AtomicBool, Ordering};

/// An access: what it is about to do, and how.
pub struct Plan<T> {
    /// What it may do.
    pub intent: Intent,
    /// Its order.
    pub order: Order,
    /// Its order if it does not write: that of a failed compare-and-swap.
    pub failure: Order,
    /// What kind of operation.
    pub operation: Operation,
    /// Where the program keeps the expected value of a compare-and-swap that returns whether it succeeded, and
    /// leaves the value it found there. Everything else that reads returns what it found.
    pub expected: Option<*mut T>,
}

impl<T> Plan<T> {
    /// An access with one order, whatever happens, that returns what it found.
    #[inline(always)]
    pub fn new(operation: Operation, intent: Intent, order: Order) -> Self {
        Plan { intent, order, failure: order, operation, expected: None }
    }
}

/// Performs an access. `effect` says what happens to the value found.
///
/// Accesses are sequentially consistent whatever the program asks for: each begins by taking a lock, which is
/// a full barrier, but for loads that are repeated, and these have no store of their thread since the last
/// that was not.
///
/// # Safety
/// `at`, and `plan.expected` if there is one, must be valid and aligned: the instrumented program is
/// about to access them itself. `frame` must be that of the entry point called for it.
#[inline]
pub unsafe fn access<T: Word>(
    at: *mut T,
    frame: &Frame,
    plan: &Plan<T>,
    effect: impl Fn(T) -> Effect<T>,
) -> T {
    let mut thread = match thread::current() {
        Some(thread) if !thread.busy => thread,
        // Not analysed: this is a signal handler that came while the thread was in the runtime, or a
        // thread that is not known.
        _ => {
            // SAFETY: the caller's promise.
            let found = unsafe { apply(at, effect).0 };
            std::sync::atomic::fence(Ordering::SeqCst);
            return found;
        }
    };
    schedule::point(thread, frame.pc as usize);
    let address = at as usize;
    // Before the thread is busy: if there is no such memory, the program is told, and may go on elsewhere.
    // SAFETY: the caller's promise.
    let seen = unsafe { T::load(at) };
    thread.busy = true;
    let (site, fenced) = thread.atomic_site(frame.pc as usize);
    if plan.operation == Operation::Load
        && !fenced
        && thread.repeated(address, T::SIZE, plan.order, seen.bits())
    {
        thread.busy = false;
        return seen;
    }
    if thread.fence_is_due && thread.take_fence(frame.pc as usize) {
        pass(&mut thread, Order::SeqCst);
    }
    // SAFETY: the caller's promise.
    let now = || unsafe { T::load(at) }.bits();
    let (mut state, mut held) = hold(&mut thread, address, T::SIZE, now);
    // SAFETY: the caller's promise.
    let (found, done) = unsafe { apply(at, effect) };
    if plan.order == Order::SeqCst && matches!(done, Done::Store(_)) {
        // For code that is not instrumented; the next access here would wait for it anyway.
        std::sync::atomic::fence(Ordering::SeqCst);
    }
    let order = if done == Done::Read { plan.failure } else { plan.order };
    let foreign = held.is_foreign();
    let watched = held.watch == Watch::Everything;
    let writes = done != Done::Read;
    // Before the clocks move: what this access acquires does not order it itself.
    let race = against_plain(&thread, address, T::SIZE, writes);
    if plan.operation == Operation::Load
        && !foreign
        && state.is_none()
        && race.is_none()
        && held.location.reread(&thread.clocks, order, site)
    {
        thread.remember(&held, address, T::SIZE, order.acquires());
        drop(held);
        if fenced {
            thread.expect_fence(frame.pc as usize);
        }
        thread.busy = false;
        return found;
    }
    let mut fences =
        (plan.order == Order::SeqCst || order == Order::SeqCst).then(locked_location::fences);
    let stale = match watched {
        true => {
            let fences = fences.as_deref().filter(|_| plan.order == Order::SeqCst);
            let thread = &thread;
            held.location.arrive(&thread.clocks, fences, plan.intent, |missed| {
                !thread.has_told((site, missed)) || registry::recording()
            })
        }
        false => None,
    };
    let all = fences.as_deref_mut().filter(|_| order == Order::SeqCst);
    let acquired =
        held.location.perform(&mut thread.clocks, all, order, done, site, registry::settings());
    drop(fences);
    if writes {
        held.written();
        schedule::wrote();
    }
    if state.is_none() {
        thread.remember(&held, address, T::SIZE, acquired);
    }
    if let Some(state) = &mut state {
        state.record(&Event::Atomic {
            tid: thread.tid,
            loc: held.loc(),
            intent: watched.then_some((plan.intent, plan.order)),
            order,
            done: Some(done),
            site,
            operation: plan.operation as u8,
        });
        if foreign {
            state.foreign(&mut thread.clocks, address, order, done);
        }
    }
    if order != Order::Relaxed {
        thread.refresh();
    }
    drop(held);
    if let Some(stale) = stale {
        stale::suspect(&mut thread, state, at, frame, plan, site, stale, found);
    } else {
        drop(state);
    }
    if let Some(conflict) = race {
        report_race(&thread, address, T::SIZE, writes, order, site, conflict);
    }
    if fenced {
        thread.expect_fence(frame.pc as usize);
    }
    thread.busy = false;
    found
}

/// Holds the location at an address that holds the value `now()`, and the state if everything is recorded or
/// if somebody writes the location behind our back.
#[inline]
fn hold(
    thread: &mut Thread,
    address: usize,
    size: u8,
    now: impl Fn() -> u64,
) -> (Option<Guard>, Held) {
    if !registry::recording()
        && let Some(place) = Place::find(address)
        && let Some(held) = place.hold(thread, address)
        && held.size == size
        && held.location.value() == now()
        && !held.location.is_worn_out()
        && !held.is_foreign()
    {
        return (None, held);
    }
    hold_all(thread, address, size, now)
}

#[cold]
#[inline(never)]
fn hold_all(
    thread: &mut Thread,
    address: usize,
    size: u8,
    now: impl Fn() -> u64,
) -> (Option<Guard>, Held) {
    let mut state = registry::lock();
    if Place::find(address).is_none() {
        // A plain write of these bytes, even one after another in the same epoch, will end the location.
        thread.begin_epoch();
    }
    let held = state.hold(thread, address, size, now);
    if registry::recording() || held.is_foreign() { (Some(state), held) } else { (None, held) }
}

/// Blocks until the value is `expected`, and replaces it if there is something to replace it with.
/// Attempts that fail are no events: a wait is asked about once, when the thread comes to it.
///
/// # Safety
/// `at` must be valid and aligned for as long as the thread waits.
pub unsafe fn wait<T: Word>(at: *mut T, expected: T, desired: Option<T>, order: Order, pc: usize) {
    // SAFETY: the caller's promise.
    let now = || unsafe { T::load(at) };
    let intent = match desired {
        Some(_) => Intent::BlockingCas(expected.bits()),
        None => Intent::Wait(expected.bits()),
    };
    arrive(at as usize, T::SIZE, || now().bits(), order, intent, pc);
    loop {
        let Some(mut thread) = thread::current().filter(|thread| !thread.busy) else {
            // Not analysed: a signal handler in the runtime, or a thread that is not known.
            let taken = || match desired {
                // SAFETY: the caller's promise.
                Some(desired) => unsafe { T::replace(at, expected, desired) },
                None => now() == expected,
            };
            while !taken() {
                std::hint::spin_loop();
            }
            return;
        };
        schedule::point(thread, pc);
        thread.busy = true;
        let (mut state, mut held) = hold(&mut thread, at as usize, T::SIZE, || now().bits());
        let done = match desired {
            Some(desired) => {
                // SAFETY: the caller's promise.
                unsafe { T::replace(at, expected, desired) }.then(|| Done::Update(desired.bits()))
            }
            None => (now() == expected).then_some(Done::Read),
        };
        if let Some(done) = done {
            let site = thread.site(pc);
            let mut fences = (order == Order::SeqCst).then(locked_location::fences);
            let (settings, all) = (registry::settings(), fences.as_deref_mut());
            held.location.perform(&mut thread.clocks, all, order, done, site, settings);
            drop(fences);
            held.written();
            schedule::wrote();
            if let Some(state) = &mut state {
                let (tid, loc, intent) = (thread.tid, held.loc(), None);
                let (operation, done) = (Operation::Wait as u8, Some(done));
                state.record(&Event::Atomic { tid, loc, intent, order, done, site, operation });
            }
            thread.refresh();
            drop(held);
            drop(state);
            thread.busy = false;
            return;
        }
        drop(held);
        drop(state);
        thread.busy = false;
        // SAFETY: lets others run.
        unsafe { system::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// A thread is about to wait for a value: may it end its waiting too early?
fn arrive(at: usize, size: u8, now: impl Fn() -> u64, order: Order, intent: Intent, pc: usize) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    let site = thread.site(pc);
    let (mut state, held) = hold(&mut thread, at, size, now);
    let fences = (order == Order::SeqCst).then(locked_location::fences);
    let stale = held.location.arrive(&thread.clocks, fences.as_deref(), intent, |_| true);
    drop(fences);
    let operation = match intent {
        Intent::BlockingCas(_) => Operation::Cas,
        _ => Operation::Wait,
    };
    if let Some(state) = &mut state {
        let (tid, loc, intent) = (thread.tid, held.loc(), Some((intent, order)));
        let operation = operation as u8;
        state.record(&Event::Atomic { tid, loc, intent, order, done: None, site, operation });
        if stale.is_some() {
            state.record(&Event::Judged { spins: Vec::new() });
        }
    }
    drop(held);
    drop(state);
    if let Some(stale) = stale {
        stale::report(&thread, at, size, operation, order, site, &stale, &Judged::default());
    }
    thread.busy = false;
}

/// What a location of this size holds now, as the analysis sees it.
pub fn value_at(address: usize, size: u8) -> Option<u64> {
    // SAFETY: there is a location of this size, so the program accessed it, and has not given it back yet.
    Some(unsafe {
        match size {
            1 => u8::load(address as *mut u8).bits(),
            2 => u16::load(address as *mut u16).bits(),
            4 => u32::load(address as *mut u32).bits(),
            8 => u64::load(address as *mut u64).bits(),
            16 => u128::load(address as *mut u128).bits(),
            _ => return None,
        }
    })
}

/// Says what can be said of the location at an address.
pub fn watch<T: Word>(at: *mut T, watch: Watch) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    // SAFETY: the program has an atomic location there.
    let now = || unsafe { T::load(at) }.bits();
    let (state, mut held) = hold(&mut thread, at as usize, T::SIZE, now);
    held.watch = watch;
    drop(held);
    drop(state);
    thread.busy = false;
}

/// A fence.
pub fn fence(order: Order, pc: usize) {
    let Some(mut thread) = thread::current().filter(|_| order != Order::Relaxed) else { return };
    if thread.busy {
        return;
    }
    schedule::point(thread, pc);
    thread.busy = true;
    pass(&mut thread, order);
    thread.busy = false;
}

/// The commands of `membarrier` that put a barrier into all threads of this process.
const BARRIERS: usize = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 7;
/// One that puts it into those of all processes that asked for it, and how a process asks.
const GLOBAL_EXPEDITED: usize = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: usize = 1 << 2;

/// `membarrier`: if it puts a barrier into all threads, every thread passes a seq_cst fence where it is, after the caller and
/// before it: what the caller did comes before what they do now, and what they did before what it does now.
pub fn membarrier(command: usize, flags: usize, system: impl Fn() -> isize) -> isize {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let result = system();
    let Some(mut thread) = thread::current().filter(|thread| !thread.busy) else { return result };
    if result == 0 && command == REGISTER_GLOBAL_EXPEDITED {
        ASKED.store(true, Ordering::Relaxed);
    }
    let everywhere =
        command & BARRIERS != 0 || command == GLOBAL_EXPEDITED && ASKED.load(Ordering::Relaxed);
    // With flags, it concerns one processor.
    if result != 0 || !everywhere || flags != 0 {
        return result;
    }
    thread.busy = true;
    let mut state = registry::lock();
    locked_location::exclusively(&mut state, |state| {
        let mut fences = locked_location::fences();
        let me = &raw mut *thread;
        let others = state.running.iter().copied().filter(|&other| other != me);
        let all: Vec<*mut Thread> = [me].into_iter().chain(others).chain([me]).collect();
        for one in all {
            // SAFETY: nobody moves clocks but the caller, and the thread is still in the list. It looks at `quick` and at
            // the vector clock without a lock, and finds one or the other.
            unsafe {
                if let Some(old) = (*one).clocks.fence_from_elsewhere(&mut fences) {
                    // It may be looking at this one.
                    Box::leak(old);
                }
                (&raw mut (*one).quick).write_volatile(Epoch::NOBODY);
                state.record(&Event::Fence { tid: (*one).tid, order: Order::SeqCst });
            }
        }
    });
    thread.refresh();
    drop(state);
    // From now on, all threads have seen that they are in another epoch.
    system();
    thread.busy = false;
    result
}

/// Passes a fence. The thread is busy.
fn pass(thread: &mut Thread, order: Order) {
    thread.fence_is_due &= order != Order::SeqCst;
    let mut state = registry::recording().then(registry::lock);
    locked_location::alone(thread, |thread| {
        match order {
            Order::SeqCst => thread.clocks.fence(order, Some(&mut locked_location::fences())),
            _ => thread.clocks.fence(order, None),
        }
        thread.refresh();
    });
    if let Some(state) = &mut state {
        state.record(&Event::Fence { tid: thread.tid, order });
    }
    drop(state);
}

impl State {
    /// Holds the location at an address that holds the value `now()`.
    pub fn hold(
        &mut self,
        thread: &Thread,
        address: usize,
        size: u8,
        now: impl Fn() -> u64,
    ) -> Held {
        loop {
            let Some(place) = Place::find(address) else {
                self.new_location(thread, address, size, now());
                continue;
            };
            if let Some(mut held) = place.hold(thread, address) {
                self.unexpected(&mut held, address, size, now());
                return held;
            }
        }
    }

    /// A location that nobody knows yet, unless somebody was faster.
    #[cold]
    fn new_location(&mut self, thread: &Thread, address: usize, size: u8, value: u64) {
        if Place::find(address).is_some() {
            return;
        }
        let loc = self.location_numbers.take();
        if loc >= memory::PLACES_MOST {
            findings::die("there are too many atomic locations");
        }
        self.record(&Event::Location { value, address: address as u64, size });
        let first = memory::atomics(address);
        let next = first.load(Ordering::Relaxed);
        memory::place(loc).occupy(address, size, value, next);
        first.store(loc, Ordering::SeqCst);
        private::revoke_locked(self, thread, address);
        self.meet_others(thread, address, size);
    }

    /// Locations of different sizes that overlap change each other's values: what is read from one may have been
    /// released to the other.
    fn meet_others(&mut self, thread: &Thread, address: usize, size: u8) {
        let mut overlaps = false;
        let mut next = memory::atomics(address).load(Ordering::Relaxed);
        while next != 0 {
            let place = memory::place(next);
            next = place.next();
            let at = place.address();
            if at == address {
                continue;
            }
            while place.address() == at {
                let Some(mut held) = place.hold(thread, at) else { continue };
                if at < address + usize::from(size) && address < at + usize::from(held.size) {
                    overlaps = true;
                    if !held.is_foreign() {
                        self.make_foreign(&mut held, at);
                    }
                }
                break;
            }
        }
        while overlaps && let Some(place) = Place::find(address) {
            if let Some(mut held) = place.hold(thread, address) {
                self.make_foreign(&mut held, address);
                break;
            }
        }
    }

    /// Memory changed behind our back, or numbers ran out.
    #[cold]
    fn unexpected(&mut self, held: &mut Held, address: usize, size: u8, value: u64) {
        let loc = held.loc();
        if held.location.is_worn_out() {
            held.location.clear();
            held.location.reset(value);
            if held.is_foreign() {
                held.watch = Watch::Everything;
            }
            self.record(&Event::Remove { loc });
            self.record(&Event::Location { value, address: address as u64, size });
        } else if held.size != size || held.location.value() != value {
            // A location that nobody wrote was merely made too early.
            if held.location.was_written() {
                self.make_foreign(held, address);
            }
            held.location.reset(value);
            self.record(&Event::Reset { loc, value });
        }
        held.size = size;
        held.written();
    }

    /// Locations in these eight bytes are no more: those whose address and size `are_gone`.
    pub fn remove_locations(&mut self, address: usize, are_gone: impl Fn(usize, u8) -> bool) {
        let mut link = memory::atomics(address);
        loop {
            let loc: Loc = link.load(Ordering::Relaxed);
            if loc == 0 {
                return;
            }
            let place = memory::place(loc);
            if place.give_up_if(&are_gone) {
                // Who stands there still finds its way.
                link.store(place.next(), Ordering::Release);
                self.record(&Event::Remove { loc });
                self.location_numbers.give_back(loc);
            } else {
                link = place.link();
            }
        }
    }
}

/// A plain access that races with an atomic one to the same bytes.
#[inline]
pub fn against_plain(
    thread: &Thread,
    address: usize,
    size: u8,
    is_write: bool,
) -> Option<shadow::Conflict> {
    let mask = (((1u32 << size.min(8)) - 1) << (address & 7)) as u8;
    shadow::peek(memory::cell(address), &thread.me(), mask, is_write, registry::sets())
}

#[cold]
fn report_race(
    thread: &Thread,
    address: usize,
    size: u8,
    is_write: bool,
    order: Order,
    site: u32,
    conflict: shadow::Conflict,
) {
    if thread.ignored > 0 || !registry::options().races {
        return;
    }
    let operation = if is_write { Operation::AtomicWrite } else { Operation::AtomicRead };
    findings::report(&Finding {
        kind: Kind::Race,
        address,
        size: usize::from(size),
        access: Access::by(thread, operation, Some(order), site),
        locks: thread.locks.clone(),
        other: Some(plain::accessed(address, conflict)),
        value: None,
        stale: Vec::new(),
        used: None,
        may_fail: false,
        doubt: thread.clocks.doubt(),
    });
}
