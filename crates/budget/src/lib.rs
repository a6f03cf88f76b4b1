//! What a command may use up: time, memory, and the user's patience.
//!
//! A [`Budget`] is made once, when work on an input begins, and handed to everything that may take
//! long: analyses before a search, the search itself, the reconstruction of runs, their judges, and
//! whatever is checked again afterwards. Its deadline is a point in time and its memory is that of
//! the whole process, so it does not matter how the work is divided: parts that each keep to the
//! budget keep to it together.
//!
//! Nothing is stopped by force. Who works asks [`Budget::spent`] every millisecond or so and, if it
//! answers, stops and says that there is no answer, or goes on with a coarser one that is still
//! true. A [`Ticker`] does the asking in loops whose rounds are short.
//!
//! Memory is what the process has grown by since the budget was made, as the system counts it
//! (resident pages). That includes what no single data structure can know of: fragmentation, tables
//! that are copied while they grow, the results of other parts. Where the system does not tell, only
//! those who count their own bytes keep to the limit; the visited sets of searches do.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a measurement of the process's memory is good for.
const FRESH: Duration = Duration::from_millis(2);
/// How much a process may grow beyond what it may use: code that is loaded, stacks of threads, memory
/// given back to the allocator but not to the system. Small limits are kept by those who count.
const NOISE: u64 = 32 << 20;
/// How long what was found may take to be brought home when the budget is spent.
const GRACE: Duration = Duration::from_millis(100);
/// How often a [`Ticker`] looks at its budget.
const PACE: Duration = Duration::from_millis(1);
/// The most rounds between two looks of a [`Ticker`]: if they suddenly take a thousand times as long
/// as before, the look comes late, but not by much.
const MOST_ROUNDS: u32 = 128;

/// What is used up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Spent {
    /// The deadline has passed.
    Time,
    /// The process has grown by more than it may.
    Memory,
    /// The user wants no more.
    Interrupted,
}

impl Spent {
    /// One word for it, for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Spent::Time => "time",
            Spent::Memory => "memory",
            Spent::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spent::Time => "the limit on time was reached",
            Spent::Memory => "the limit on memory was reached",
            Spent::Interrupted => "it was interrupted",
        })
    }
}

/// What a command may use up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    deadline: Option<Instant>,
    memory: Option<Memory>,
    interrupt: Option<&'static AtomicBool>,
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    /// How many bytes may be used.
    most: u64,
    /// How many the process had before.
    before: u64,
}

impl Budget {
    /// Without any limit.
    pub const UNLIMITED: Budget = Budget { deadline: None, memory: None, interrupt: None };

    /// So much time from now on, and so many bytes.
    pub fn new(time: Option<Duration>, memory: Option<u64>) -> Self {
        Budget {
            // A deadline that no clock can show never comes.
            deadline: time.and_then(|time| Instant::now().checked_add(time)),
            memory: memory.map(|most| Memory { most, before: resident().unwrap_or(0) }),
            interrupt: None,
        }
    }

    /// The same, but it is spent as soon as `flag` is set.
    pub fn interrupted_by(self, flag: &'static AtomicBool) -> Self {
        Budget { interrupt: Some(flag), ..self }
    }

    /// The same, but with at most `time` from now on.
    pub fn at_most(self, time: Duration) -> Self {
        let sooner = Instant::now().checked_add(time);
        let deadline = match (self.deadline, sooner) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Budget { deadline, ..self }
    }

    /// The same, but with half of the time that is left.
    pub fn halved(self) -> Self {
        self.time_left().map_or(self, |left| self.at_most(left / 2))
    }

    /// How much time is left, if it is limited.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// How many bytes may be used, if they are limited.
    pub fn memory(&self) -> Option<u64> {
        self.memory.map(|memory| memory.most)
    }

    /// What is used up, if anything is. Takes some 50 nanoseconds.
    pub fn spent(&self) -> Option<Spent> {
        if self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Spent::Interrupted);
        }
        if self.deadline.is_none() && self.memory.is_none() {
            return None;
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Spent::Time);
        }
        let grown = |memory: &Memory| recently_resident(now).saturating_sub(memory.before);
        self.memory
            .filter(|memory| grown(memory).saturating_sub(NOISE) > memory.most)
            .map(|_| Spent::Memory)
    }

    /// Is anything used up?
    pub fn is_spent(&self) -> bool {
        self.spent().is_some()
    }

    /// A little more, to bring home what has been found already: at least 100 ms from now on, even
    /// if everything is used up or the user has become impatient.
    pub fn to_finish(self) -> Self {
        let grace = Instant::now() + GRACE;
        match self.spent() {
            Some(_) => Budget { deadline: Some(grace), memory: None, interrupt: None },
            None => Budget { deadline: self.deadline.map(|own| own.max(grace)), ..self },
        }
    }

    /// Looks at the budget in some rounds of a loop.
    pub fn ticker(self) -> Ticker {
        Ticker { budget: self, rounds: 1, left: 1, looked: None, spent: None }
    }
}

/// Looks at a budget now and then, for loops whose rounds may take less time than a look. It looks
/// every millisecond, as far as rounds that have taken so long go on to do so.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    budget: Budget,
    /// How many rounds pass between two looks.
    rounds: u32,
    /// How many of them are left.
    left: u32,
    looked: Option<Instant>,
    spent: Option<Spent>,
}

impl Ticker {
    /// Counts a round; says what was used up when it last looked. Once something is used up, it
    /// stays so.
    #[inline]
    pub fn tick(&mut self) -> Option<Spent> {
        self.left -= 1;
        if self.left == 0 {
            self.look();
        }
        self.spent
    }

    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let took = self.looked.map_or(Duration::ZERO, |looked| now.duration_since(looked));
        self.rounds = match took {
            took if took < PACE / 2 => (self.rounds * 2).min(MOST_ROUNDS),
            // The next round may take as long as all of these together.
            took if took > PACE => 1,
            _ => self.rounds,
        };
        (self.left, self.looked) = (self.rounds, Some(now));
        self.spent = self.spent.or_else(|| self.budget.spent());
    }
}

/// The process's memory in bytes, measured no longer than [`FRESH`] before `now`.
fn recently_resident(now: Instant) -> u64 {
    /// The measurement, and when it was made, in nanoseconds after the first.
    static BYTES: AtomicU64 = AtomicU64::new(0);
    static MADE: AtomicU64 = AtomicU64::new(0);
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let first = *FIRST.get_or_init(|| now);
    let age = now.saturating_duration_since(first).as_nanos() as u64 + 1;
    let made = MADE.load(Ordering::Acquire);
    if made != 0 && age.saturating_sub(made) < FRESH.as_nanos() as u64 {
        return BYTES.load(Ordering::Relaxed);
    }
    let bytes = resident().unwrap_or(0);
    BYTES.store(bytes, Ordering::Relaxed);
    MADE.store(age, Ordering::Release);
    bytes
}

/// How many bytes of memory the process has, where the system tells.
pub fn resident() -> Option<u64> {
    // Linux: the second number is that of resident pages. Its pages have 4096 bytes but for a few
    // machines, where they have more; these give in later, no earlier.
    const PAGE: u64 = 4096;
    if cfg!(miri) {
        return None; // what Miri itself takes says nothing
    }
    let told = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = told.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a deadline that starts anew for each part of the work.
    #[test]
    fn copies_share_the_deadline() {
        let budget = Budget::new(Some(Duration::from_millis(20)), None);
        let copy = budget;
        assert_eq!(budget.spent(), None);
        std::thread::sleep(Duration::from_millis(25));
        assert_eq!((budget.spent(), copy.spent()), (Some(Spent::Time), Some(Spent::Time)));
        assert_eq!(budget.time_left(), Some(Duration::ZERO));
    }

    /// A share never outlasts the whole, and the whole outlasts a share.
    #[test]
    fn shares_end_first() {
        let whole = Budget::new(Some(Duration::from_secs(100)), None);
        let half = whole.halved().time_left().expect("a deadline");
        assert!(half <= Duration::from_secs(50) && half > Duration::from_secs(49));
        let left = whole.at_most(Duration::from_secs(1000)).time_left().expect("a deadline");
        assert!(left <= Duration::from_secs(100));
        assert!(Budget::UNLIMITED.halved().time_left().is_none());
        assert!(Budget::UNLIMITED.at_most(Duration::ZERO).is_spent());
    }

    #[test]
    fn ends_when_interrupted() {
        static FLAG: AtomicBool = AtomicBool::new(false);
        let budget = Budget::UNLIMITED.interrupted_by(&FLAG);
        let mut ticker = budget.ticker();
        assert_eq!((budget.spent(), ticker.tick()), (None, None));
        FLAG.store(true, Ordering::Relaxed);
        assert_eq!(budget.spent(), Some(Spent::Interrupted));
        let ticks = (0..=MOST_ROUNDS).take_while(|_| ticker.tick().is_none()).count();
        assert!(ticks < MOST_ROUNDS as usize, "it never looks");
        assert_eq!(ticker.tick(), Some(Spent::Interrupted));
        assert_eq!(budget.to_finish().spent(), None, "what was found is still told");
    }

    /// Catches a ticker that looks once in so many rounds, however long they take.
    #[test]
    fn long_rounds_are_looked_at_one_by_one() {
        let budget = Budget::new(Some(Duration::from_millis(40)), None);
        let mut ticker = budget.ticker();
        let mut rounds = 0;
        while ticker.tick().is_none() {
            rounds += 1;
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(rounds <= 5, "{rounds} rounds of 10 ms in 40 ms");
    }

    /// Memory counts although nobody told the budget that it was taken.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn notices_memory_that_nobody_counted() {
        let budget = Budget::new(None, Some(32 << 20));
        assert_eq!((budget.memory(), budget.spent()), (Some(32 << 20), None));
        let mut taken = vec![0_u8; 128 << 20];
        taken.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        // Another thread may be about to look, and not come to it on a busy machine.
        let noticed = (0..100).any(|_| {
            std::thread::sleep(2 * FRESH);
            budget.spent() == Some(Spent::Memory)
        });
        assert!(noticed, "{}", taken.len());
    }

    /// A time that no clock can show is no limit, and no panic.
    #[test]
    fn takes_any_time() {
        assert_eq!(Budget::new(Some(Duration::MAX), None).spent(), None);
        assert_eq!(Budget::new(Some(Duration::ZERO), None).spent(), Some(Spent::Time));
        assert!(Budget::UNLIMITED.at_most(Duration::MAX).time_left().is_none());
    }
}
