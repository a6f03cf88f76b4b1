//! Random recordings, always valid: for tests, benchmarks, and for users to try the monitors on.
//!
//! [`Style::Free`] lets every thread do anything TSO allows, so small runs show every kind of
//! conflict and most larger ones are violations. [`Style::Locked`] lets a thread touch a variable in
//! a transaction only while it owns it, and gives variables back only after a fence: such runs
//! interleave, yet are serializable however the writes commit. [`Style::Published`] does that with one
//! half of the variables; the other half is read and written by single events that nothing protects,
//! so their writes may commit in any order, and still no transaction is disturbed.

use std::collections::VecDeque;

use crate::event::{Action, Data, Event, Names, Place, Thread, Var};

/// A small generator of random numbers (SplitMix64): equal seeds give equal recordings everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound` (0 if `bound` is 0).
    pub fn below(&mut self, bound: usize) -> usize {
        (((self.number() >> 32) * bound as u64) >> 32) as usize
    }

    /// True with `percent` in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }
}

/// How the threads behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Anything goes.
    Free,
    /// Anything goes, but every event is in a transaction and every transaction ends with a fence.
    Fenced,
    /// Variables are owned while used: always serializable.
    Locked,
    /// Half of the variables as in `Locked`, half for single events only: always TSO-serializable.
    Published,
}

/// What to generate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Number of variables, at least 1.
    pub vars: usize,
    /// Number of events wanted, counting reads, writes, commits and fences. A run is always brought
    /// to a proper end (transactions ended; in executions, writes committed), so it may have a few
    /// more.
    pub events: usize,
    /// Reads and writes in a transaction, about.
    pub transaction: usize,
    /// Whether commits are shown (an execution) or not (a trace).
    pub commits: bool,
    /// How the threads behave.
    pub style: Style,
    /// The seed.
    pub seed: u64,
}

impl Shape {
    /// Names for the threads (`T1`, …) and variables (`x1`, …) of this shape.
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        for index in 1..=self.threads {
            names.thread(&format!("T{index}"));
        }
        for index in 1..=self.vars {
            names.var(&format!("x{index}"));
        }
        names
    }

    /// How many of the variables are for transactions.
    fn lockable(&self) -> usize {
        let vars = self.vars.max(1);
        if self.style == Style::Published { vars.div_ceil(2) } else { vars }
    }

    /// The recording, event by event; lines are counted as if each event were one line.
    pub fn generate(&self, emit: impl FnMut(Event)) {
        let mut run = Run {
            shape: *self,
            random: Random::new(self.seed),
            threads: (0..self.threads.max(1)).map(|_| Progress::default()).collect(),
            owned: vec![false; self.lockable()],
            line: 0,
            counted: 0,
            emit,
        };
        match self.style {
            Style::Free | Style::Fenced => run.freely(),
            Style::Locked | Style::Published => run.locked(),
        }
    }

    /// The recording in memory.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::with_capacity(self.events + self.events / 2);
        self.generate(|event| events.push(event));
        events
    }
}

#[derive(Default)]
struct Progress {
    open: bool,
    /// Events in the open transaction, or still planned for it.
    size: usize,
    buffer: VecDeque<Var>,
    /// Variables owned (locked style).
    holds: Vec<Var>,
    /// Whether a transaction (or a single event with its fence) is under way (locked style).
    busy: bool,
}

struct Run<F> {
    shape: Shape,
    random: Random,
    threads: Vec<Progress>,
    owned: Vec<bool>,
    line: u32,
    counted: usize,
    emit: F,
}

impl<F: FnMut(Event)> Run<F> {
    fn emit(&mut self, thread: usize, action: Action) {
        self.line = self.line.saturating_add(1);
        self.counted += usize::from(!action.is_bracket());
        let event = Event {
            thread: Thread(thread as u32),
            action,
            line: self.line,
            place: Place::UNKNOWN,
            data: Data::NONE,
        };
        (self.emit)(event);
    }

    fn commit(&mut self, thread: usize) {
        if let Some(var) = self.threads[thread].buffer.pop_front()
            && self.shape.commits
        {
            self.emit(thread, Action::Commit(var));
        }
    }

    fn fence(&mut self, thread: usize) {
        while !self.threads[thread].buffer.is_empty() {
            self.commit(thread);
        }
        self.emit(thread, Action::Fence);
    }

    fn access(&mut self, thread: usize, var: Var) {
        if self.random.chance(50) {
            self.threads[thread].buffer.push_back(var);
            self.emit(thread, Action::Write(var));
        } else {
            self.emit(thread, Action::Read(var));
        }
    }

    fn begin(&mut self, thread: usize) {
        self.threads[thread].open = true;
        self.threads[thread].size = 0;
        self.emit(thread, Action::Begin(None));
    }

    fn end(&mut self, thread: usize) {
        if self.shape.style == Style::Fenced {
            self.fence(thread);
        }
        self.threads[thread].open = false;
        self.emit(thread, Action::End);
    }

    fn freely(&mut self) {
        let fenced = self.shape.style == Style::Fenced;
        let eagerness = 8 + self.random.below(40) as u32;
        while self.counted < self.shape.events {
            let thread = self.random.below(self.threads.len());
            let Progress { open, size, ref buffer, .. } = self.threads[thread];
            if self.shape.commits && !buffer.is_empty() && self.random.chance(eagerness) {
                self.commit(thread);
            } else if open && size > 0 && self.random.below(self.shape.transaction.max(1)) == 0 {
                self.end(thread);
            } else if !open && (fenced || self.random.chance(50)) {
                self.begin(thread);
            } else if self.random.chance(12) {
                self.threads[thread].size += 1;
                self.fence(thread);
            } else {
                self.threads[thread].size += 1;
                let var = Var(self.random.below(self.shape.vars.max(1)) as u32);
                self.access(thread, var);
            }
        }
        for thread in 0..self.threads.len() {
            if self.threads[thread].open {
                self.end(thread);
            }
        }
        for thread in 0..self.threads.len() {
            while !self.threads[thread].buffer.is_empty() {
                self.commit(thread);
            }
        }
    }

    fn locked(&mut self) {
        while self.counted < self.shape.events {
            let thread = self.random.below(self.threads.len());
            self.locked_step(thread);
        }
        for thread in 0..self.threads.len() {
            while self.threads[thread].busy {
                self.locked_step(thread);
            }
            while !self.threads[thread].buffer.is_empty() {
                self.commit(thread);
            }
        }
    }

    fn locked_step(&mut self, thread: usize) {
        let public = self.shape.vars.max(1) - self.owned.len();
        if public > 0 && !self.threads[thread].busy && self.random.chance(60) {
            let var = self.owned.len() + self.random.below(public);
            self.access(thread, Var(var as u32));
            return;
        }
        if !self.threads[thread].busy {
            self.start_locked(thread);
            return;
        }
        let Progress { open, size, ref holds, ref buffer, .. } = self.threads[thread];
        if !buffer.is_empty() && self.random.chance(30) {
            self.commit(thread);
        } else if size > 0 {
            let var = holds[self.random.below(holds.len())];
            self.threads[thread].size -= 1;
            self.access(thread, var);
        } else {
            self.fence(thread);
            for var in std::mem::take(&mut self.threads[thread].holds) {
                self.owned[var.0 as usize] = false;
            }
            self.threads[thread].busy = false;
            if open {
                self.threads[thread].open = false;
                self.emit(thread, Action::End);
            }
        }
    }

    /// Takes some free variables; one time in eight for a single event instead of a transaction.
    fn start_locked(&mut self, thread: usize) {
        let single = self.random.chance(12);
        let wanted = if single { 1 } else { 1 + self.random.below(3) };
        for _ in 0..wanted {
            let var = self.random.below(self.owned.len());
            if !std::mem::replace(&mut self.owned[var], true) {
                self.threads[thread].holds.push(Var(var as u32));
            }
        }
        if self.threads[thread].holds.is_empty() {
            return;
        }
        self.threads[thread].busy = true;
        if single {
            self.threads[thread].size = 1;
        } else {
            self.begin(thread);
            self.threads[thread].size = self.shape.transaction.max(1);
        }
    }
}
