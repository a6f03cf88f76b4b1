//! Atomic accesses: performed under the lock, in the order in which the analysis is told.

use crate::findings::{self, Access, Finding, Kind, Operation};
use crate::memory;
use crate::schedule;
use crate::spin::{self, Frame, Question};
use crate::state::{self, LocationInfo, State};
use crate::system;
use crate::thread::{self, Thread};
use clocks::analysis::{Done, Intent, Stale};
use clocks::shadow::{self, Me};
use clocks::trace::Event;
use clocks::{Loc, Order};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A number that can be accessed atomically.
pub trait Word: Copy + PartialEq {
    /// How many bytes.
    const SIZE: u8;
    /// # Safety
    /// `at` must be valid and aligned; so below.
    unsafe fn load(at: *mut Self) -> Self;
    /// Stores `new`.
    unsafe fn store(at: *mut Self, new: Self);
    /// Stores `new` if `old` is there. Code that is not instrumented may have changed it.
    unsafe fn replace(at: *mut Self, old: Self, new: Self) -> bool;
    /// As the analysis sees it.
    fn bits(self) -> u64;
}

macro_rules! word {
    ($type:ty, $atomic:ty) => {
        impl Word for $type {
            const SIZE: u8 = size_of::<$type>() as u8;
            #[inline(always)]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.load(Ordering::SeqCst)
            }
            #[inline(always)]
            unsafe fn store(at: *mut Self, new: Self) {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.store(new, Ordering::SeqCst)
            }
            #[inline(always)]
            unsafe fn replace(at: *mut Self, old: Self, new: Self) -> bool {
                // SAFETY: the caller's promise.
                let word = unsafe { <$atomic>::from_ptr(at) };
                word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self)
            }
        }
    };
}

word!(u8, AtomicU8);
word!(u16, AtomicU16);
word!(u32, AtomicU32);
word!(u64, AtomicU64);

impl Word for u128 {
    const SIZE: u8 = 16;
    unsafe fn load(at: *mut Self) -> Self {
        // SAFETY: the caller's promise; so below.
        unsafe { exchange_16(at, 0, 0) }
    }
    unsafe fn store(at: *mut Self, new: Self) {
        unsafe {
            let mut old = Self::load(at);
            while !Self::replace(at, old, new) {
                old = Self::load(at);
            }
        }
    }
    unsafe fn replace(at: *mut Self, old: Self, new: Self) -> bool {
        unsafe { exchange_16(at, old, new) == old }
    }
    fn bits(self) -> u64 {
        self as u64 ^ ((self >> 64) as u64).rotate_left(32)
    }
}

/// Stores `new` if `old` is there, and returns what was there.
unsafe fn exchange_16(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: the caller's promise. The compiler keeps rbx for itself.
    unsafe {
        std::arch::asm!(
            "xchg {new_low}, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, {new_low}",
            new_low = inout(reg) new as u64 => _,
            in("rcx") (new >> 64) as u64,
            in("rdi") at,
            inlateout("rax") low,
            inlateout("rdx") high,
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

/// Does to memory what an access is to do: what it found, and what it did.
unsafe fn apply<T: Word>(at: *mut T, effect: impl Fn(T) -> Effect<T>) -> (T, Done) {
    // SAFETY: the caller's promise.
    unsafe {
        loop {
            let found = T::load(at);
            match effect(found) {
                Effect::Keep => return (found, Done::Read),
                Effect::Store(new) => {
                    T::store(at, new);
                    return (found, Done::Store(new.bits()));
                }
                Effect::Update(new) if T::replace(at, found, new) => {
                    return (found, Done::Update(new.bits()));
                }
                Effect::Update(_) => {}
            }
        }
    }
}

/// What an access does to the value it finds.
pub enum Effect<T> {
    /// Nothing.
    Keep,
    /// A store.
    Store(T),
    /// A read-modify-write.
    Update(T),
}

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
    /// The expected value of a compare-and-swap, where the program keeps it.
    pub expected: Option<*mut T>,
    /// Does a compare-and-swap return the old value instead of whether it succeeded?
    pub returns_value: bool,
}

/// Performs an access. `effect` says what happens to the value found.
#[inline]
pub fn access<T: Word>(
    at: *mut T,
    frame: &Frame,
    plan: &Plan<T>,
    effect: impl Fn(T) -> Effect<T>,
) -> T {
    let thread = match thread::current() {
        Some(thread) if !thread.busy => thread,
        // SAFETY: the program accesses it; not analysed, because this is a signal handler that came
        // while the thread was in the runtime, or a thread that is not known.
        _ => return unsafe { apply(at, effect).0 },
    };
    schedule::point(thread, frame.pc as usize);
    thread.busy = true;
    let site = thread.site(frame.pc as usize);
    let mut state = state::lock();
    // SAFETY: the program accesses it.
    let (found, done) = unsafe { apply(at, effect) };
    let order = if done == Done::Read { plan.failure } else { plan.order };
    let loc = state.location(at as usize, T::SIZE, found.bits());
    let watched = !state.locations[loc as usize].foreign;
    if plan.operation == Operation::Load
        && watched
        && state.recorder.is_none()
        && state.analysis.repeats(thread.tid, loc, order)
    {
        drop(state);
        thread.busy = false;
        return found;
    }
    let stale = match watched {
        true => state.analysis.arrive(thread.tid, loc, plan.order, plan.intent),
        false => None,
    };
    state.analysis.perform(thread.tid, loc, order, done, site);
    if let Some(recorder) = &mut state.recorder {
        recorder.record(&Event::Atomic {
            tid: thread.tid,
            loc,
            intent: watched.then_some((plan.intent, plan.order)),
            order,
            done: Some(done),
            site,
            operation: plan.operation as u8,
        });
    }
    if !watched {
        state.foreign(thread.tid, at as usize, order, done);
    }
    let race = against_plain(thread, at as usize, T::SIZE, !matches!(done, Done::Read));
    if order != Order::Relaxed {
        thread.refresh(&state);
    }
    let mut stale = stale;
    let pair = stale.as_ref().map(|stale| (site, stale.missed.map_or(0, |missed| missed.site)));
    if state.recorder.is_none() && pair.is_some_and(|pair| state.told.contains(&pair)) {
        stale = None;
    }
    let spins = stale.as_ref().map(|stale| judge(&mut state, at, frame, plan, stale));
    if let (Some(stale), Some(spins), Some(pair)) = (&stale, &spins, pair)
        && !stale.is_harmless(spins)
    {
        state.told.insert(pair);
    }
    drop(state);
    if let (Some(stale), Some(spins)) = (stale, spins) {
        report(thread, at as usize, T::SIZE, plan.operation, plan.order, site, &stale, &spins);
    }
    if let Some(conflict) = race {
        report_race(
            thread,
            at as usize,
            T::SIZE,
            !matches!(done, Done::Read),
            order,
            site,
            conflict,
        );
    }
    thread.busy = false;
    found
}

/// Blocks until the value is `expected`, and replaces it if there is something to replace it with.
/// Attempts that fail are no events: a wait is asked about once, when the thread comes to it.
pub fn wait<T: Word>(at: *mut T, expected: T, desired: Option<T>, order: Order, pc: usize) {
    // SAFETY: the program accesses it; so below.
    let now = || unsafe { T::load(at) };
    let intent = match desired {
        Some(_) => Intent::BlockingCas(expected.bits()),
        None => Intent::Wait(expected.bits()),
    };
    arrive(at as usize, T::SIZE, now().bits(), order, intent, pc);
    loop {
        let Some(thread) = thread::current().filter(|thread| !thread.busy) else {
            // Not analysed: a signal handler in the runtime, or a thread that is not known.
            let taken = || match desired {
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
        let mut state = state::lock();
        let done = match desired {
            Some(desired) => {
                unsafe { T::replace(at, expected, desired) }.then(|| Done::Update(desired.bits()))
            }
            None => (now() == expected).then_some(Done::Read),
        };
        if let Some(done) = done {
            let site = thread.site(pc);
            let loc = state.location(at as usize, T::SIZE, expected.bits());
            let tid = thread.tid;
            state.analysis.perform(tid, loc, order, done, site);
            if let Some(recorder) = &mut state.recorder {
                let (intent, operation, done) = (None, Operation::Wait as u8, Some(done));
                recorder.record(&Event::Atomic { tid, loc, intent, order, done, site, operation });
            }
            thread.refresh(&state);
            drop(state);
            thread.busy = false;
            return;
        }
        drop(state);
        thread.busy = false;
        // SAFETY: lets others run.
        unsafe { system::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// A thread is about to wait for a value: may it end its waiting too early?
fn arrive(at: usize, size: u8, value: u64, order: Order, intent: Intent, pc: usize) {
    let Some(thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    let site = thread.site(pc);
    let mut state = state::lock();
    let loc = state.location(at, size, value);
    let stale = state.analysis.arrive(thread.tid, loc, order, intent);
    let operation = match intent {
        Intent::BlockingCas(_) => Operation::Cas,
        _ => Operation::Wait,
    };
    if let Some(recorder) = &mut state.recorder {
        let (tid, intent) = (thread.tid, Some((intent, order)));
        let operation = operation as u8;
        recorder.record(&Event::Atomic { tid, loc, intent, order, done: None, site, operation });
        if stale.is_some() {
            recorder.record(&Event::Judged { spins: Vec::new() });
        }
    }
    drop(state);
    if let Some(stale) = stale {
        report(thread, at, size, operation, order, site, &stale, &[]);
    }
    thread.busy = false;
}

/// A fence.
pub fn fence(order: Order, pc: usize) {
    std::sync::atomic::fence(Ordering::SeqCst);
    let Some(thread) = thread::current() else { return };
    if thread.busy || order == Order::Relaxed {
        return;
    }
    schedule::point(thread, pc);
    thread.busy = true;
    let mut state = state::lock();
    state.analysis.fence(thread.tid, order);
    if let Some(recorder) = &mut state.recorder {
        recorder.record(&Event::Fence { tid: thread.tid, order });
    }
    thread.refresh(&state);
    drop(state);
    thread.busy = false;
}

impl State {
    /// The number of the location at an address that holds `value` now.
    #[inline]
    pub fn location(&mut self, address: usize, size: u8, value: u64) -> Loc {
        let first = memory::atomics(address);
        let mut loc = first.load(Ordering::Relaxed);
        while loc != 0 && self.locations[loc as usize].address != address {
            loc = self.locations[loc as usize].next;
        }
        if loc == 0 {
            return self.new_location(address, size, value);
        }
        let info = &mut self.locations[loc as usize];
        let unseen = info.size != size || self.analysis.value(loc) != Some(value);
        if unseen || self.analysis.is_worn_out(loc) {
            info.size = size;
            return self.resynchronise(loc, address, size, value);
        }
        loc
    }

    #[cold]
    fn new_location(&mut self, address: usize, size: u8, value: u64) -> Loc {
        let first = memory::atomics(address);
        let loc = self.analysis.location(value);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(&Event::Location { value, address: address as u64, size });
        }
        let index = loc as usize;
        if self.locations.len() <= index {
            self.locations.resize(index + 1, LocationInfo::default());
        }
        let next = first.load(Ordering::Relaxed);
        self.locations[index] = LocationInfo { address, size, foreign: false, next };
        first.store(loc, Ordering::Relaxed);
        loc
    }

    /// Memory changed behind our back, or numbers ran out.
    #[cold]
    fn resynchronise(&mut self, loc: Loc, address: usize, size: u8, value: u64) -> Loc {
        if self.analysis.is_worn_out(loc) {
            self.remove_location(address, loc);
            return self.new_location(address, size, value);
        }
        self.locations[loc as usize].foreign |= self.analysis.was_written(loc);
        self.analysis.reset(loc, value);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(&Event::Reset { loc, value });
        }
        loc
    }

    fn remove_location(&mut self, address: usize, loc: Loc) {
        let first = memory::atomics(address);
        let next = self.locations[loc as usize].next;
        if first.load(Ordering::Relaxed) == loc {
            first.store(next, Ordering::Relaxed);
        } else {
            let mut before = first.load(Ordering::Relaxed);
            while before != 0 && self.locations[before as usize].next != loc {
                before = self.locations[before as usize].next;
            }
            self.locations[before as usize].next = next;
        }
        self.analysis.remove(loc);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(&Event::Remove { loc });
        }
    }

    /// The memory is no more: neither are locations in it.
    pub fn remove_locations(&mut self, address: usize) {
        let mut loc = memory::atomics(address).load(Ordering::Relaxed);
        while loc != 0 {
            self.remove_location(address, loc);
            loc = memory::atomics(address).load(Ordering::Relaxed);
        }
    }
}

/// With which of the stale values would the thread only have tried again?
#[cold]
fn judge<T: Word>(
    state: &mut State,
    at: *mut T,
    frame: &Frame,
    plan: &Plan<T>,
    stale: &Stale,
) -> Vec<u64> {
    let stack = frame as *const Frame as u64 + size_of::<Frame>() as u64;
    let comes_back = |value: u64| {
        let (result, wrote) = match (plan.expected, plan.returns_value) {
            (Some(expected), false) => (0, Some((expected as u64, value, T::SIZE))),
            _ => (value, None),
        };
        let question = Question { address: at as u64, result, wrote };
        // SAFETY: the frame is that of this access, which has not returned.
        T::SIZE <= 8 && unsafe { spin::comes_back(frame, stack, question, &crate::entry_at) }
    };
    let reads =
        !matches!(plan.operation, Operation::Store | Operation::Exchange | Operation::Fetch);
    let spins: Vec<u64> =
        stale.values.iter().copied().filter(|&value| reads && comes_back(value)).collect();
    if let Some(recorder) = &mut state.recorder {
        recorder.record(&Event::Judged { spins: spins.clone() });
    }
    spins
}

#[allow(clippy::too_many_arguments)]
#[cold]
fn report(
    thread: &Thread,
    address: usize,
    size: u8,
    operation: Operation,
    order: Order,
    site: u32,
    stale: &Stale,
    spins: &[u64],
) {
    if thread.ignored > 0 || !state::options().robustness || stale.is_harmless(spins) {
        return;
    }
    let kind = operation.kind(stale.overtakes);
    let other = stale.missed.map(|missed| Access {
        thread: missed.thread,
        operation: if missed.is_update { Operation::Fetch } else { Operation::Store },
        order: Some(missed.order),
        site: missed.site,
    });
    let harmful = stale.values.iter().copied().filter(|value| !spins.contains(value));
    findings::report(&Finding {
        kind,
        address,
        size: usize::from(size),
        access: Access { thread: thread.tid, operation, order: Some(order), site },
        other,
        value: stale.missed.map(|missed| missed.value),
        stale: harmful.collect(),
        doubt: None,
    });
}

/// A plain access that races with an atomic one to the same bytes.
#[inline]
fn against_plain(
    thread: &Thread,
    address: usize,
    size: u8,
    is_write: bool,
) -> Option<shadow::Conflict> {
    let mask = (((1u32 << size.min(8)) - 1) << (address & 7)) as u8;
    let me = Me { epoch: thread.epoch, clock: &thread.clock };
    shadow::peek(memory::cell(address), &me, mask, is_write, state::sets())
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
    if thread.ignored > 0 || !state::options().races {
        return;
    }
    let sites = memory::sites(address);
    let other = if conflict.is_write { &sites.write } else { &sites.read };
    findings::report(&Finding {
        kind: Kind::Race,
        address,
        size: usize::from(size),
        access: Access {
            thread: thread.tid,
            operation: if is_write { Operation::AtomicWrite } else { Operation::AtomicRead },
            order: Some(order),
            site,
        },
        other: Some(Access {
            thread: conflict.epoch.thread(),
            operation: if conflict.is_write { Operation::Write } else { Operation::Read },
            order: None,
            site: other.load(Ordering::Relaxed),
        }),
        value: None,
        stale: Vec::new(),
        doubt: state::lock().analysis.doubt(thread.tid),
    });
}
