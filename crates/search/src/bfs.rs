//! Breadth-first search on all cores, level by level.
//!
//! A level is the states inserted while the one before was expanded: a range of every worker's
//! arena, so the queue costs nothing. Workers take the level in chunks. What is remembered of *how*
//! a state was reached is one log entry per chunk: "while expanding these few parents, that worker
//! inserted states from here on". A path is found by going back chunk by chunk and expanding the
//! parents again to see which one has the wanted child.
//!
//! The reduced part of a state's successors is inserted at once, because whether one of them is new decides
//! what comes next. All other successors wait in a batch, see [`Batch`].

use crate::visited::{Id, Visited, Worker};
use crate::{
    Batch, Budget, Found, Limit, Limits, Model, Options, Paths, Progress, Report, Sink, Stop, Width,
};
use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Parents taken at a time, at most; fewer of a small level, so that all workers get some.
const CHUNK: u32 = 64;
/// A level with less work than this is not worth waking other threads for.
const WORTH_SHARING: Duration = Duration::from_micros(300);
/// Up to so many states, only levels of this size are shared, however long they take: which worker comes first decides which of equally
/// short paths is found and which states subsume others, and a small search should say the same each time.
const SMALL_SEARCH: u64 = 20_000;
const LARGE_LEVEL: u64 = 1024;
const OBSERVE_EVERY: Duration = Duration::from_millis(100);

/// "While expanding `parents` of worker `of`, states from `first_child` on were inserted."
struct LogEntry {
    first_child: u32,
    of: u32,
    parents: Range<u32>,
}

/// What a worker keeps from level to level.
struct Hand<S> {
    scratch: S,
    batch: Batch,
    log: Vec<LogEntry>,
}

/// What all workers of a search share.
struct Shared<'a, M: Model> {
    model: &'a M,
    visited: Visited,
    limits: Limits,
    stop_at: Stop,
    start: Instant,
    transitions: AtomicU64,
    depth: AtomicU64,
    expanded: AtomicU64,
    /// A finding has answered the question.
    answered: AtomicBool,
    halt: AtomicBool,
    limit: Mutex<Option<Limit>>,
    /// Findings with the state they were found in (none for initial states) and its depth.
    findings: Mutex<Vec<(Option<Id>, M::Finding)>>,
    seen: Mutex<HashSet<M::Finding>>,
    go_on: &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync),
    observed: Mutex<Instant>,
}

/// Hands successors to the visited set, a batch at a time.
struct Insert<'a, 'b, M: Model> {
    shared: &'a Shared<'b, M>,
    me: usize,
    /// None only while the table grows.
    worker: Option<Worker<'a>>,
    batch: &'a mut Batch,
    width: Width,
    parent: Option<Id>,
    transitions: u64,
}

impl<'a, 'b, M: Model> Insert<'a, 'b, M> {
    fn new(shared: &'a Shared<'b, M>, me: usize, batch: &'a mut Batch) -> Self {
        let worker = Some(shared.visited.enter(me));
        let width = shared.model.width();
        Insert { shared, me, worker, batch, width, parent: None, transitions: 0 }
    }

    fn worker(&self) -> &Worker<'a> {
        self.worker.as_ref().expect("the table is not growing")
    }

    /// Lets the table grow if it is crowded, as a single state with many successors may make it; says
    /// whether there is room now. A table that cannot grow takes no more: every search for a slot needs an empty one to
    /// end at.
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        !self.shared.visited.is_full() && (!self.worker().is_crowded() || self.make_room())
    }

    #[cold]
    fn make_room(&mut self) -> bool {
        let visited = &self.shared.visited;
        self.worker = None;
        visited.grow();
        self.worker = Some(visited.enter(self.me));
        !visited.is_full()
    }

    /// Inserts what waits in the batch.
    fn insert_batch(&mut self) {
        for &(hash, _) in &self.batch.entries {
            self.worker().expect_state(hash);
        }
        let mut start = 0;
        for k in 0..self.batch.entries.len() {
            let (hash, end) = self.batch.entries[k];
            if self.has_room() {
                self.worker().insert_hashed(&self.batch.states[start..end], hash);
            }
            start = end;
        }
        self.batch.clear();
    }

    /// Inserts a successor at once; says whether it is new.
    #[inline(always)]
    fn insert_now(&mut self, state: &[u8]) -> bool {
        self.is_well_formed(state)
            && self.has_room()
            && self.worker().insert(state).if_new().is_some()
    }

    /// Counts a successor; says whether it may be inserted.
    #[inline(always)]
    fn is_well_formed(&mut self, state: &[u8]) -> bool {
        self.transitions += 1;
        let admitted = self.width.admits(state.len());
        if !admitted {
            self.shared.halt_for(Limit::Malformed { bytes: state.len() });
        }
        admitted
    }
}

impl<M: Model> Sink<M::Finding> for Insert<'_, '_, M> {
    #[inline]
    fn state(&mut self, state: &[u8]) {
        if !self.is_well_formed(state) {
            return;
        }
        if self.batch.is_full() {
            self.insert_batch();
        }
        let worker = self.worker.as_ref().expect("the table is not growing");
        let hash = worker.hash(state);
        worker.expect(hash);
        self.batch.push(state, hash);
    }

    fn finding(&mut self, finding: M::Finding) {
        let shared = self.shared;
        if shared.seen.lock().expect("no panic while noting").insert(finding.clone()) {
            if shared.model.stops(&finding) {
                shared.answered.store(true, Ordering::Relaxed);
            }
            shared.findings.lock().expect("no panic while noting").push((self.parent, finding));
        }
    }
}

/// Hands the reduced part of a state's successors to the visited set, and notes whether one of them is new.
struct InsertNow<'i, 'a, 'b, M: Model> {
    insert: &'i mut Insert<'a, 'b, M>,
    any_new: bool,
}

impl<M: Model> Sink<M::Finding> for InsertNow<'_, '_, '_, M> {
    #[inline]
    fn state(&mut self, state: &[u8]) {
        self.any_new |= self.insert.insert_now(state);
    }

    fn finding(&mut self, finding: M::Finding) {
        self.insert.finding(finding);
    }
}

impl<M: Model> Shared<'_, M> {
    fn progress(&self) -> Progress {
        let states = self.visited.len();
        Progress {
            states,
            transitions: self.transitions.load(Ordering::Relaxed),
            depth: self.depth.load(Ordering::Relaxed),
            waiting: states.saturating_sub(self.expanded.load(Ordering::Relaxed)),
            bytes: self.visited.bytes(),
            elapsed: self.start.elapsed(),
        }
    }

    fn check_limits(&self) {
        if self.answered.load(Ordering::Relaxed) && self.stop_at.is_due(self.visited.len()) {
            self.halt.store(true, Ordering::Relaxed);
        }
        let Limits { states, depth, budget } = self.limits;
        let hit = if states.is_some_and(|max| self.visited.len() > max) {
            Limit::States
        } else if self.visited.is_full()
            || budget.memory().is_some_and(|max| self.visited.bytes() > max)
        {
            Limit::Memory
        } else if let Some(spent) = budget.spent() {
            spent.into()
        } else if depth.is_some_and(|max| self.depth.load(Ordering::Relaxed) > max) {
            Limit::Depth
        } else {
            return;
        };
        self.halt_for(hit);
    }

    fn halt_for(&self, limit: Limit) {
        self.limit.lock().expect("no panic while noting").get_or_insert(limit);
        self.halt.store(true, Ordering::Relaxed);
    }

    fn report_progress(&self) {
        if let Ok(mut last) = self.observed.try_lock()
            && last.elapsed() >= OBSERVE_EVERY
        {
            *last = Instant::now();
            if (self.go_on)(&self.progress()).is_break() {
                self.halt_for(Limit::Interrupted);
            }
        }
    }

    /// Expands chunks of the level until none is left.
    fn work(&self, me: usize, hand: &mut Hand<M::Scratch>, level: &Level) {
        let mut parent = Vec::new();
        let mut ticker = self.limits.budget.ticker();
        while let Some((of, parents)) = level.take() {
            if self.halt.load(Ordering::Relaxed) {
                return;
            }
            let first_child = self.visited.len_of(me);
            let mut insert = Insert::new(self, me, &mut hand.batch);
            let mut next = parents.start;
            while next < parents.end && !self.visited.is_full() {
                if let Some(spent) = ticker.tick() {
                    self.halt_for(spent.into());
                    break;
                }
                let id = Id { worker: of, index: next };
                next += 1;
                if self.visited.is_covered(id) {
                    continue;
                }
                parent.clear();
                parent.extend_from_slice(self.visited.get(id));
                insert.parent = Some(id);
                let mut reduced = InsertNow { insert: &mut insert, any_new: false };
                self.model.expand_reduced(&parent, &mut hand.scratch, &mut reduced);
                if !reduced.any_new {
                    self.model.expand(&parent, &mut hand.scratch, &mut insert);
                }
            }
            insert.insert_batch();
            self.transitions.fetch_add(insert.transitions, Ordering::Relaxed);
            drop(insert);
            if self.visited.len_of(me) > first_child {
                hand.log.push(LogEntry { first_child, of, parents: parents.start..next });
            }
            self.expanded.fetch_add(u64::from(next - parents.start), Ordering::Relaxed);
            self.check_limits();
            self.report_progress();
        }
    }
}

/// A level: which of each worker's states it consists of, and how much of it has been taken.
struct Level {
    ranges: Vec<Range<u32>>,
    taken: AtomicU64,
    /// How many parents are taken at a time.
    chunk: u32,
}

impl Level {
    fn new(ranges: Vec<Range<u32>>) -> Self {
        Level { ranges, taken: AtomicU64::new(0), chunk: CHUNK }
    }

    /// Cuts the level into chunks that are small enough for all workers to get some.
    fn cut_for_all(&mut self) {
        let fair = self.len() / (8 * self.ranges.len() as u64);
        self.chunk = fair.clamp(4, u64::from(CHUNK)) as u32;
    }

    fn len(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.end - range.start)).sum()
    }

    fn chunks(&self, range: &Range<u32>) -> u64 {
        u64::from((range.end - range.start).div_ceil(self.chunk))
    }

    /// The next chunk: whose states, and which.
    fn take(&self) -> Option<(u32, Range<u32>)> {
        let mut chunk = self.taken.fetch_add(1, Ordering::Relaxed);
        for (worker, range) in self.ranges.iter().enumerate() {
            let chunks = self.chunks(range);
            if chunk < chunks {
                let start = range.start + chunk as u32 * self.chunk;
                let end = start.saturating_add(self.chunk);
                return Some((worker as u32, start..range.end.min(end)));
            }
            chunk -= chunks;
        }
        None
    }
}

/// The workers beside the first. They stay from level to level, so that a level of a few milliseconds is worth sharing.
#[derive(Default)]
struct Crew {
    calls: Mutex<Calls>,
    called: Condvar,
    finished: Condvar,
}

#[derive(Default)]
struct Calls {
    /// The level to work on, and how many levels there were.
    level: Option<Arc<Level>>,
    number: u64,
    /// How many may still take part, and how many do.
    wanted: u32,
    busy: u32,
    /// Is there nothing more to do?
    over: bool,
}

impl Crew {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls so many workers to a level.
    fn call(&self, level: &Arc<Level>, wanted: u32) {
        if wanted > 0 {
            let mut calls = self.calls();
            calls.level = Some(level.clone());
            calls.number += 1;
            calls.wanted = wanted;
            drop(calls);
            self.called.notify_all();
        }
    }

    /// Waits until nobody works on the level any more. Who has not begun need not.
    fn wait(&self) {
        let mut calls = self.calls();
        calls.wanted = 0;
        while calls.busy > 0 {
            calls = self.finished.wait(calls).unwrap_or_else(PoisonError::into_inner);
        }
        calls.level = None;
    }

    /// Works on one level after the other, until there are no more.
    fn join(&self, mut work: impl FnMut(&Level)) {
        let mut last = 0;
        loop {
            let mut calls = self.calls();
            while !calls.over && (calls.number == last || calls.wanted == 0) {
                calls = self.called.wait(calls).unwrap_or_else(PoisonError::into_inner);
            }
            if calls.over {
                return;
            }
            last = calls.number;
            calls.wanted -= 1;
            calls.busy += 1;
            let level = calls.level.clone();
            drop(calls);
            let _finished = Finished(self);
            level.iter().for_each(|level| work(level));
        }
    }
}

/// Says that a worker is done with a level, even if it panics.
struct Finished<'c>(&'c Crew);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.calls().busy -= 1;
        self.0.finished.notify_all();
    }
}

/// Sends the workers home, even if the first of them panics.
struct Dismissed(Arc<Crew>);

impl Drop for Dismissed {
    fn drop(&mut self) {
        self.0.calls().over = true;
        self.0.called.notify_all();
    }
}

/// A worker's own; nobody else has it while the worker works.
fn held<S>(hand: &Mutex<Hand<S>>) -> MutexGuard<'_, Hand<S>> {
    hand.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn explore<M: Model>(
    model: &M,
    options: &Options,
    go_on: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Report<M::Finding> {
    let jobs = options.jobs.clamp(1, crate::visited::MAX_WORKERS);
    let shared = Shared {
        model,
        visited: Visited::new(model.width(), jobs).with_memory(options.limits.budget.memory()),
        limits: options.limits,
        stop_at: options.stop,
        start: Instant::now(),
        transitions: AtomicU64::new(0),
        depth: AtomicU64::new(0),
        expanded: AtomicU64::new(0),
        answered: AtomicBool::new(false),
        halt: AtomicBool::new(false),
        limit: Mutex::new(None),
        findings: Mutex::new(Vec::new()),
        seen: Mutex::new(HashSet::new()),
        go_on,
        observed: Mutex::new(Instant::now()),
    };
    let hand = |_| Hand { scratch: model.scratch(), batch: Batch::default(), log: Vec::new() };
    let hands: Vec<_> = (0..jobs).map(hand).map(Mutex::new).collect();
    {
        let Hand { scratch, batch, .. } = &mut *held(&hands[0]);
        let mut insert = Insert::new(&shared, 0, batch);
        model.initial(scratch, &mut insert);
        insert.insert_batch();
    }
    let initial_states = shared.visited.len_of(0);
    let mut paths = Trace {
        scratch: model.scratch(),
        initial_states,
        wanted: options.paths,
        found: Vec::new(),
        missing: false,
    };
    std::thread::scope(|scope| {
        let (shared, hands) = (&shared, &hands);
        let crew = Arc::new(Crew::default());
        let _dismissed = Dismissed(crew.clone());
        let mut done = vec![0; jobs];
        // How long one worker took for a state of the last level.
        let mut pace = Duration::ZERO;
        let mut workers = 1;
        loop {
            let ranges = (0..jobs).map(|w| done[w]..shared.visited.len_of(w));
            let mut level = Level::new(ranges.collect());
            shared.check_limits();
            if !shared.halt.load(Ordering::Relaxed) {
                paths.follow(shared, hands, options.limits.budget);
            }
            if level.len() == 0 || shared.halt.load(Ordering::Relaxed) {
                break;
            }
            shared.visited.start_level();
            done = level.ranges.iter().map(|range| range.end).collect();
            let work = pace.saturating_mul(u32::try_from(level.len()).unwrap_or(u32::MAX));
            let known: u64 = done.iter().map(|&states| u64::from(states)).sum();
            let is_small = known < SMALL_SEARCH && level.len() < LARGE_LEVEL;
            let alone = is_small || work < WORTH_SHARING || jobs == 1;
            if !alone {
                level.cut_for_all();
            }
            let level = Arc::new(level);
            if !alone && workers == 1 {
                for (me, hand) in hands.iter().enumerate().skip(1) {
                    let crew = crew.clone();
                    let work = move || crew.join(|level| shared.work(me, &mut held(hand), level));
                    if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                        // The system allows no more threads: those there are share the work.
                        break;
                    }
                    workers += 1;
                }
            }
            let begun = Instant::now();
            let sharing = if alone { 1 } else { workers };
            crew.call(&level, sharing - 1);
            shared.work(0, &mut held(&hands[0]), &level);
            crew.wait();
            pace = begun.elapsed() * sharing / u32::try_from(level.len()).unwrap_or(u32::MAX);
            shared.depth.fetch_add(1, Ordering::Relaxed);
        }
    });
    let progress = shared.progress();
    paths.follow(&shared, &hands, options.limits.budget.to_finish());
    let Trace { found: findings, missing, .. } = paths;
    let noted = *shared.limit.lock().expect("workers are gone");
    let malformed = matches!(noted, Some(Limit::Malformed { .. }));
    // A search that ended by itself was not cut short, however large it had grown.
    let exhausted = progress.waiting == 0 && !shared.visited.is_full() && !missing && !malformed;
    let late = || options.limits.budget.spent().map_or(Limit::Time, Limit::from);
    let limit = noted.or_else(|| missing.then(late)).filter(|_| !exhausted);
    Report { findings, progress, limit, exhausted }
}

/// The findings whose paths are known. Paths are followed after each level, so that a search that
/// runs into its deadline has most of them already.
struct Trace<M: Model> {
    scratch: M::Scratch,
    initial_states: u32,
    wanted: Paths,
    found: Vec<Found<M::Finding>>,
    /// Was there no time for some of them?
    missing: bool,
}

impl<M: Model> Trace<M> {
    fn follow(
        &mut self,
        shared: &Shared<'_, M>,
        hands: &[Mutex<Hand<M::Scratch>>],
        budget: Budget,
    ) {
        let findings = std::mem::take(&mut *shared.findings.lock().expect("workers are gone"));
        for (at, finding) in findings {
            let path = match (self.wanted, at) {
                (Paths::None, _) | (_, None) => Some(Vec::new()),
                (Paths::All, Some(id)) => self.path_to(shared, hands, budget, id),
            };
            match path {
                Some(path) => self.found.push(Found { finding, path }),
                None => self.missing = true,
            }
        }
    }

    /// The states that lead to `id`; none if the budget is spent before they are known.
    fn path_to(
        &mut self,
        shared: &Shared<'_, M>,
        hands: &[Mutex<Hand<M::Scratch>>],
        budget: Budget,
        id: Id,
    ) -> Option<Vec<Box<[u8]>>> {
        let visited = &shared.visited;
        let mut ticker = budget.ticker();
        let mut path = vec![Box::from(visited.get(id))];
        let mut at = id;
        while !(at.worker == 0 && at.index < self.initial_states) {
            let hand = held(&hands[at.worker as usize]);
            let log = &hand.log;
            let entry = &log[log.partition_point(|entry| entry.first_child <= at.index) - 1];
            let child = visited.get(at);
            let mut parents = entry.parents.clone().map(|index| Id { worker: entry.of, index });
            at = loop {
                if ticker.tick().is_some() {
                    return None;
                }
                let parent = parents.next().expect("a logged parent has the child");
                let mut wanted = Wanted { state: child, found: false };
                let state = visited.get(parent);
                shared.model.expand_reduced(state, &mut self.scratch, &mut wanted);
                if !wanted.found {
                    shared.model.expand(state, &mut self.scratch, &mut wanted);
                }
                if wanted.found {
                    break parent;
                }
            };
            path.push(Box::from(visited.get(at)));
        }
        path.reverse();
        Some(path)
    }
}

/// Looks for one state among successors.
struct Wanted<'a> {
    state: &'a [u8],
    found: bool,
}

impl<F> Sink<F> for Wanted<'_> {
    fn state(&mut self, state: &[u8]) {
        self.found |= state == self.state;
    }

    fn finding(&mut self, _: F) {}
}
