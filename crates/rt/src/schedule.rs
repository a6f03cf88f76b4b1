//! Which thread goes on, when the user wants a say.
//!
//! Left to the operating system, threads are interrupted once in a million steps, and what needs two
//! switches in the right places is never seen. With `schedule=random` or `pct:D` one thread runs at a
//! time, and at every atomic access, fence and lock the runtime decides who is next: by coin, or by
//! *probabilistic concurrency testing* (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010),
//! where threads have random priorities that change at D - 1 random steps, and a bug that needs D
//! ordering constraints among k steps of n threads is found with probability at least 1/(n·k^(D-1)) in
//! every run. Choices are a function of the seed, so a run can be had again.
//!
//! A thread that repeats a load at one place is waiting for somebody, and goes to the end of the queue. So does
//! one that took many steps while nobody wrote anything, as the reader of a sequence lock does whose
//! writer was interrupted, and one that took very many steps of whatever kind without a break.
//!
//! One that blocks in the system, where the runtime cannot see it, is noticed by its silence and because
//! the system says that it sleeps; one that waits in a loop that is not instrumented, because it uses up
//! processor time without a step. Somebody else is let go on then, and the run may differ from one time
//! to the next. A thread that merely waits for a processor on a busy machine keeps its turn.

use crate::options::Schedule;
use crate::registry;
use crate::system;
use crate::thread::{self, Current};
use clocks::Tid;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

static ACTIVE: AtomicBool = AtomicBool::new(false);
static TURN: AtomicU32 = AtomicU32::new(0);
static STEPS: AtomicU64 = AtomicU64::new(0);
/// Changes whenever somebody writes something that others may wait for.
static WRITES: AtomicU64 = AtomicU64::new(0);
static QUEUE: Mutex<Option<Queue>> = Mutex::new(None);

/// How often a load is repeated at one place before its thread counts as waiting.
const PATIENCE: u32 = 2;
/// How many steps a thread takes while nobody writes before it counts as waiting.
const IDLE_STEPS: u32 = 100;
/// How many steps a thread takes in a row, whatever it does, before others get a turn.
const STREAK: u32 = 20_000;
/// How much processor time it takes for one step before others get a turn, in hundredths of a second.
const TICKS: u64 = 50;
/// How long the thread whose turn it is may be silent before it counts as blocked, in milliseconds.
const SILENCE: i64 = 40;

struct Queue {
    schedule: Schedule,
    random: u64,
    threads: BTreeMap<Tid, Slot>,
    /// Steps at which the running thread's priority drops.
    changes: Vec<u64>,
    /// The lowest priority given so far; the next drop goes below.
    lowest: i64,
    /// Who took the last step, and how many in a row.
    streak: (Tid, u32),
    /// The step since which a thread is silent, and the processor time it had used when that was noticed.
    silent: (u64, u64),
}

struct Slot {
    /// What the system calls it; 0 until it has begun.
    system: i32,
    state: Waiting,
    priority: i64,
    timed_out: bool,
    /// How many writes there were at its last step, and how many steps it took since then.
    idle: (u64, u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Can go on.
    No,
    /// For something at an address.
    For { address: usize, patient: bool },
    /// Somewhere in the system.
    Outside,
}

impl Queue {
    fn bits(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn add(&mut self, tid: Tid) {
        let priority = (self.bits() >> 33) as i64;
        self.threads.insert(
            tid,
            Slot { system: 0, state: Waiting::No, priority, timed_out: false, idle: (0, 0) },
        );
    }

    fn began(&mut self, tid: Tid) {
        if let Some(slot) = self.threads.get_mut(&tid) {
            // SAFETY: asks for the calling thread's number.
            slot.system = unsafe { libc::gettid() };
        }
    }

    /// A thread takes a step: has it waited for others long enough?
    fn waits(&mut self, tid: Tid) -> bool {
        let in_a_row = if self.streak.0 == tid { self.streak.1 + 1 } else { 0 };
        self.streak = (tid, in_a_row);
        let writes = WRITES.load(Ordering::SeqCst);
        let Some(slot) = self.threads.get_mut(&tid) else { return false };
        slot.idle = if slot.idle.0 == writes { (writes, slot.idle.1 + 1) } else { (writes, 0) };
        if slot.idle.1 < IDLE_STEPS && in_a_row < STREAK {
            return false;
        }
        slot.idle.1 = 0;
        self.streak.1 = 0;
        true
    }

    fn demote(&mut self, tid: Tid) {
        self.lowest -= 1;
        let lowest = self.lowest;
        if let Some(slot) = self.threads.get_mut(&tid) {
            slot.priority = lowest;
        }
    }

    /// One or all of those who wait for `address` can go on.
    fn wake(&mut self, address: usize, all: bool) -> usize {
        let waits =
            |slot: &Slot| matches!(slot.state, Waiting::For { address: a, .. } if a == address);
        let waiting = self.threads.iter().filter(|(_, slot)| waits(slot));
        let mut waiting: Vec<Tid> = waiting.map(|(&tid, _)| tid).collect();
        if !all && waiting.len() > 1 {
            let pick = self.bits() as usize % waiting.len();
            waiting = vec![waiting[pick]];
        }
        for &tid in &waiting {
            if let Some(slot) = self.threads.get_mut(&tid) {
                slot.state = Waiting::No;
            }
        }
        waiting.len()
    }

    /// Who is next; none if nobody can go on.
    fn choose(&mut self) -> Option<Tid> {
        let ready = |slot: &Slot| slot.state == Waiting::No;
        let count = self.threads.values().filter(|slot| ready(slot)).count();
        if count == 0 {
            // Only a timeout can help.
            let late = self
                .threads
                .iter_mut()
                .find(|(_, slot)| matches!(slot.state, Waiting::For { patient: false, .. }));
            let (&tid, slot) = late?;
            slot.state = Waiting::No;
            slot.timed_out = true;
            return Some(tid);
        }
        match self.schedule {
            Schedule::Random | Schedule::Os => {
                let pick = self.bits() as usize % count;
                let mut ready = self.threads.iter().filter(|(_, slot)| ready(slot));
                ready.nth(pick).map(|(&tid, _)| tid)
            }
            Schedule::Pct(_) => {
                let ready = self.threads.iter().filter(|(_, slot)| ready(slot));
                ready.max_by_key(|(_, slot)| slot.priority).map(|(&tid, _)| tid)
            }
        }
    }
}

fn queue<R>(f: impl FnOnce(&mut Queue) -> R) -> Option<R> {
    let deciding = |is: bool| {
        if let Some(mut thread) = thread::current() {
            thread.deciding = is;
        }
    };
    deciding(true);
    let mut queue = QUEUE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let result = queue.as_mut().map(f);
    drop(queue);
    deciding(false);
    result
}

/// Starts deciding, if the user wants.
pub fn begin(main: Tid) {
    let options = registry::options();
    if options.schedule == Schedule::Os {
        return;
    }
    let mut new = Queue {
        schedule: options.schedule,
        random: options.seed,
        threads: BTreeMap::new(),
        changes: Vec::new(),
        lowest: 0,
        streak: (main, 0),
        silent: (0, 0),
    };
    if let Schedule::Pct(depth) = options.schedule {
        let steps = options.steps.max(1);
        new.changes = (1..depth).map(|_| 1 + new.bits() % steps).collect();
    }
    new.add(main);
    new.began(main);
    *QUEUE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(new);
    TURN.store(u32::from(main) + 1, Ordering::SeqCst);
    ACTIVE.store(true, Ordering::SeqCst);
}

/// Is somebody deciding?
#[inline(always)]
pub fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Somebody wrote something that others may wait for.
#[inline(always)]
pub fn wrote() {
    if active() {
        WRITES.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many decisions there were.
pub fn steps() -> u64 {
    STEPS.load(Ordering::Relaxed)
}

/// The thread is about to do something that others may notice.
#[inline(always)]
pub fn point(mut thread: Current, pc: usize) {
    if active() && !std::mem::take(&mut thread.has_turn) {
        decide(thread, pc);
    }
}

#[cold]
fn decide(mut thread: Current, pc: usize) {
    let step = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
    if thread.last_pc == pc {
        thread.repeats += 1;
    } else {
        thread.repeats = 0;
        thread.last_pc = pc;
    }
    let (tid, waiting) = (thread.tid, thread.repeats >= PATIENCE);
    let next = queue(|queue| {
        if let Some(slot) = queue.threads.get_mut(&tid) {
            slot.state = Waiting::No;
        }
        if queue.waits(tid) || waiting || queue.changes.contains(&step) {
            queue.demote(tid);
        }
        queue.choose()
    });
    if let Some(Some(next)) = next {
        hand_over(tid, next);
    }
}

fn hand_over(me: Tid, next: Tid) {
    TURN.store(u32::from(next) + 1, Ordering::SeqCst);
    if next != me {
        wake_all();
    }
    wait_for_turn(me);
}

fn wake_all() {
    // SAFETY: a wake-up of whoever waits on the word.
    unsafe {
        let word = (&raw const TURN).cast::<u32>();
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        let all = i32::MAX as usize;
        system::call(libc::SYS_futex, [word as usize, operation as usize, all, 0, 0, 0]);
    }
}

fn wait_for_turn(me: Tid) {
    let mine = u32::from(me) + 1;
    let mut last = (STEPS.load(Ordering::SeqCst), 0);
    loop {
        let turn = TURN.load(Ordering::SeqCst);
        if turn == mine {
            return;
        }
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: SILENCE * 1_000_000 / 2 };
        // SAFETY: waits until the word changes, or for a while.
        let slept = unsafe {
            let word = (&raw const TURN).cast::<u32>();
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            let timeout = &raw const timeout as usize;
            system::call(
                libc::SYS_futex,
                [word as usize, operation as usize, turn as usize, timeout, 0, 0],
            )
        };
        let steps = STEPS.load(Ordering::SeqCst);
        if slept == 0 || steps != last.0 || TURN.load(Ordering::SeqCst) != turn {
            last = (steps, 0);
            continue;
        }
        last.1 += 1;
        if last.1 >= 3 {
            last.1 = 0;
            steal(turn);
        }
    }
}

/// Whose turn it is has been silent for long: let somebody else go on.
fn steal(turn: u32) {
    queue(|queue| {
        if TURN.load(Ordering::SeqCst) != turn {
            return;
        }
        if let Some(slot) = turn.checked_sub(1).and_then(|tid| queue.threads.get_mut(&(tid as Tid)))
        {
            let step = STEPS.load(Ordering::SeqCst);
            let status = Status::of(slot.system);
            if status.runs {
                if queue.silent.0 != step {
                    queue.silent = (step, status.ticks);
                }
                if status.ticks < queue.silent.1 + TICKS {
                    return;
                }
            }
            slot.state = Waiting::Outside;
        }
        if let Some(next) = queue.choose() {
            TURN.store(u32::from(next) + 1, Ordering::SeqCst);
            wake_all();
        }
    });
}

/// What the system says of a thread.
struct Status {
    /// Does it run, or wait for nothing but a processor? So does one that is not known.
    runs: bool,
    /// How much processor time it used, in hundredths of a second.
    ticks: u64,
}

impl Status {
    fn of(system: i32) -> Status {
        if system == 0 {
            return Status { runs: true, ticks: 0 };
        }
        let status =
            std::fs::read_to_string(format!("/proc/self/task/{system}/stat")).unwrap_or_default();
        // The state follows the name, which is in parentheses and may have some of its own.
        let fields = status.rsplit_once(')').map_or("", |(_, fields)| fields);
        let mut fields = fields.split_ascii_whitespace();
        let runs = fields.next() == Some("R");
        let mut time = fields.skip(10).map(|field| field.parse().unwrap_or(0));
        let ticks = time.next().unwrap_or(0) + time.next().unwrap_or(0);
        Status { runs, ticks }
    }
}

/// How often somebody wrote or woke others so far; to be asked before one looks whether one has to [wait](block).
pub fn writes() -> u64 {
    WRITES.load(Ordering::SeqCst)
}

/// The calling thread waits until somebody wakes those who wait for `address`. Did it time out?
///
/// It has looked before and found that it has to wait. Threads that are outside run meanwhile, and one of them may have
/// woken whoever waits between the look and now: if there were not `seen` [`writes`], as there were before it
/// looked, it does not wait but looks again.
pub fn block(address: usize, patient: bool, seen: u64) -> bool {
    let Some(me) = thread::current().map(|thread| thread.tid) else { return false };
    STEPS.fetch_add(1, Ordering::SeqCst);
    let mut missed = false;
    let next = queue(|queue| {
        missed = writes() != seen;
        if missed {
            return None;
        }
        if let Some(slot) = queue.threads.get_mut(&me) {
            slot.state = Waiting::For { address, patient };
            slot.timed_out = false;
        }
        queue.choose()
    });
    if missed {
        return false;
    }
    match next.flatten() {
        Some(next) => hand_over(me, next),
        None => {
            // Everybody waits: for a thread that is outside, or forever.
            TURN.store(0, Ordering::SeqCst);
            wait_for_turn(me);
        }
    }
    queue(|queue| queue.threads.get(&me).is_some_and(|slot| slot.timed_out)).unwrap_or(false)
}

/// Who waits for `address` may go on: one of them, or all. How many are these?
pub fn wake(address: usize, all: bool) -> usize {
    if !active() {
        return 0;
    }
    let woken = queue(|queue| {
        WRITES.fetch_add(1, Ordering::SeqCst);
        let woken = queue.wake(address, all);
        if TURN.load(Ordering::SeqCst) == 0 {
            pass_on(queue);
        }
        woken
    });
    woken.unwrap_or(0)
}

/// It is somebody else's turn now, or nobody's.
fn pass_on(queue: &mut Queue) {
    let next = queue.choose();
    TURN.store(next.map_or(0, |next| u32::from(next) + 1), Ordering::SeqCst);
    wake_all();
}

/// A thread may go on, whatever it waits for.
pub fn rouse(tid: Tid) {
    queue(|queue| {
        if let Some(slot) = queue.threads.get_mut(&tid)
            && matches!(slot.state, Waiting::For { .. })
        {
            slot.state = Waiting::No;
        }
    });
}

/// A thread is about to be started.
pub fn started(tid: Tid) {
    if active() {
        queue(|queue| queue.add(tid));
    }
}

/// The thread that was started begins: it waits for its turn.
pub fn arrived(tid: Tid) {
    if active() {
        queue(|queue| queue.began(tid));
        wait_for_turn(tid);
    }
}

/// A thread ends, and so does its turn. Those who wait for `address` may go on: they must be among those
/// who may be next, or the choice would depend on who is quicker. A thread that was outside may end when it is nobody's
/// turn, because everybody waits for it.
pub fn ended(tid: Tid, address: usize) {
    if !active() {
        return;
    }
    queue(|queue| {
        WRITES.fetch_add(1, Ordering::SeqCst);
        queue.threads.remove(&tid);
        queue.wake(address, true);
        if [0, u32::from(tid) + 1].contains(&TURN.load(Ordering::SeqCst)) {
            pass_on(queue);
        }
    });
}

/// Lets everybody run as they like from now on.
pub fn stop() {
    ACTIVE.store(false, Ordering::SeqCst);
}
