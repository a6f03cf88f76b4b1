//! Breadth-first search on all cores, level by level.
//!
//! A level is the states inserted while the one before was expanded: a range of every worker's
//! arena, so the queue costs nothing. Workers take the level in chunks. What is remembered of *how*
//! a state was reached is one log entry per chunk: "while expanding these few parents, that worker
//! inserted states from here on". A path is found by going back chunk by chunk and expanding the
//! parents again to see which one has the wanted child.

use crate::visited::{Id, Visited, Worker};
use crate::{Found, Limit, Limits, Model, Options, Progress, Report, Sink, Stop};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Parents expanded between two looks at the clock and the table.
const CHUNK: u32 = 64;
/// A level smaller than this is not worth waking other threads for.
const WORTH_SHARING: u64 = 1024;
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
    observe: &'a (dyn Fn(&Progress) + Sync),
    observed: Mutex<Instant>,
}

/// Successors waiting to be inserted together: while one is looked up, the memory that the others
/// need is on its way.
struct Batch {
    width: usize,
    states: Vec<u8>,
    hashes: Vec<u64>,
}

impl Batch {
    /// Enough to hide the time that memory takes, and little enough to stay in the cache.
    const SIZE: usize = 16;

    fn new(width: usize) -> Self {
        let states = Vec::with_capacity(width * Batch::SIZE);
        Batch { width, states, hashes: Vec::with_capacity(Batch::SIZE) }
    }

    #[inline(always)]
    fn push(&mut self, worker: &Worker<'_>, state: &[u8]) {
        if self.hashes.len() == Batch::SIZE {
            self.insert(worker);
        }
        let hash = worker.hash(state);
        worker.expect(hash);
        self.states.extend_from_slice(state);
        self.hashes.push(hash);
    }

    /// Inserts what waits.
    fn insert(&mut self, worker: &Worker<'_>) {
        for hash in &self.hashes {
            worker.expect_state(*hash);
        }
        for (state, hash) in self.states.chunks_exact(self.width).zip(&self.hashes) {
            worker.insert_hashed(state, *hash);
        }
        self.states.clear();
        self.hashes.clear();
    }
}

/// Hands successors to the visited set.
struct Insert<'a, 'b, M: Model> {
    shared: &'a Shared<'b, M>,
    worker: Worker<'a>,
    batch: &'a mut Batch,
    parent: Option<Id>,
    transitions: u64,
}

impl<M: Model> Sink<M::Finding> for Insert<'_, '_, M> {
    #[inline]
    fn state(&mut self, state: &[u8]) -> bool {
        self.transitions += 1;
        self.worker.insert(state).is_some()
    }

    #[inline]
    fn state_later(&mut self, state: &[u8]) {
        self.transitions += 1;
        self.batch.push(&self.worker, state);
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
        let Limits { states, memory, time, depth } = self.limits;
        let hit = if states.is_some_and(|max| self.visited.len() > max) {
            Limit::States
        } else if self.visited.is_full() || memory.is_some_and(|max| self.visited.bytes() > max) {
            Limit::Memory
        } else if time.is_some_and(|max| self.start.elapsed() > max) {
            Limit::Time
        } else if depth.is_some_and(|max| self.depth.load(Ordering::Relaxed) > max) {
            Limit::Depth
        } else {
            return;
        };
        *self.limit.lock().expect("no panic while noting") = Some(hit);
        self.halt.store(true, Ordering::Relaxed);
    }

    fn report_progress(&self) {
        if let Ok(mut last) = self.observed.try_lock()
            && last.elapsed() >= OBSERVE_EVERY
        {
            *last = Instant::now();
            (self.observe)(&self.progress());
        }
    }

    /// Expands chunks of the level until none is left.
    fn work(&self, me: usize, hand: &mut Hand<M::Scratch>, level: &Level) {
        let mut parent = Vec::new();
        while let Some((of, parents)) = level.take() {
            if self.halt.load(Ordering::Relaxed) {
                return;
            }
            let mut next = parents.start;
            while next < parents.end && !self.visited.is_full() {
                let mut insert = Insert {
                    shared: self,
                    worker: self.visited.enter(me),
                    batch: &mut hand.batch,
                    parent: None,
                    transitions: 0,
                };
                let first = next;
                let first_child = self.visited.len_of(me);
                while next < parents.end && !insert.worker.is_crowded() {
                    let id = Id { worker: of, index: next };
                    next += 1;
                    if self.visited.is_covered(id) {
                        continue;
                    }
                    parent.clear();
                    parent.extend_from_slice(self.visited.get(id));
                    insert.parent = Some(id);
                    self.model.expand(&parent, &mut hand.scratch, &mut insert);
                }
                insert.batch.insert(&insert.worker);
                if self.visited.len_of(me) > first_child {
                    hand.log.push(LogEntry { first_child, of, parents: first..next });
                }
                let crowded = insert.worker.is_crowded();
                self.transitions.fetch_add(insert.transitions, Ordering::Relaxed);
                drop(insert);
                if crowded {
                    self.visited.grow();
                }
            }
            self.expanded.fetch_add(u64::from(parents.end - parents.start), Ordering::Relaxed);
            self.check_limits();
            self.report_progress();
        }
    }
}

/// A level: which of each worker's states it consists of, and how much of it has been taken.
struct Level {
    ranges: Vec<Range<u32>>,
    taken: AtomicU64,
}

impl Level {
    fn len(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.end - range.start)).sum()
    }

    fn chunks(range: &Range<u32>) -> u64 {
        u64::from((range.end - range.start).div_ceil(CHUNK))
    }

    /// The next chunk: whose states, and which.
    fn take(&self) -> Option<(u32, Range<u32>)> {
        let mut chunk = self.taken.fetch_add(1, Ordering::Relaxed);
        for (worker, range) in self.ranges.iter().enumerate() {
            let chunks = Level::chunks(range);
            if chunk < chunks {
                let start = range.start + chunk as u32 * CHUNK;
                return Some((worker as u32, start..range.end.min(start.saturating_add(CHUNK))));
            }
            chunk -= chunks;
        }
        None
    }
}

pub fn explore<M: Model>(
    model: &M,
    options: &Options,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Report<M::Finding> {
    let jobs = options.jobs.clamp(1, crate::visited::MAX_WORKERS);
    let shared = Shared {
        model,
        visited: Visited::new(model.state_bytes(), model.core_bytes(), jobs),
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
        observe,
        observed: Mutex::new(Instant::now()),
    };
    let mut hands: Vec<_> = (0..jobs)
        .map(|_| Hand {
            scratch: model.scratch(),
            batch: Batch::new(model.state_bytes()),
            log: Vec::new(),
        })
        .collect();
    {
        let Hand { scratch, batch, .. } = &mut hands[0];
        let worker = shared.visited.enter(0);
        let mut insert = Insert { shared: &shared, worker, batch, parent: None, transitions: 0 };
        model.initial(scratch, &mut insert);
        insert.batch.insert(&insert.worker);
    }
    let initial_states = shared.visited.len_of(0);
    let mut done = vec![0; jobs];
    loop {
        let level = Level {
            ranges: (0..jobs).map(|w| done[w]..shared.visited.len_of(w)).collect(),
            taken: AtomicU64::new(0),
        };
        shared.check_limits();
        if level.len() == 0 || shared.halt.load(Ordering::Relaxed) {
            break;
        }
        shared.visited.start_level();
        done = level.ranges.iter().map(|range| range.end).collect();
        let (own, others) = hands.split_at_mut(1);
        let others = if level.len() < WORTH_SHARING { &mut [] } else { others };
        std::thread::scope(|scope| {
            let (shared, level) = (&shared, &level);
            for (hand, me) in others.iter_mut().zip(1..) {
                let work = move || shared.work(me, hand, level);
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    // The system allows no more threads: those there are share the work.
                    break;
                }
            }
            shared.work(0, &mut own[0], level);
        });
        shared.depth.fetch_add(1, Ordering::Relaxed);
    }
    let progress = shared.progress();
    let findings = std::mem::take(&mut *shared.findings.lock().expect("workers are gone"));
    let logs: Vec<_> = hands.iter().map(|hand| hand.log.as_slice()).collect();
    let mut scratch = model.scratch();
    let findings = findings
        .into_iter()
        .map(|(at, finding)| Found {
            finding,
            path: at.map_or(Vec::new(), |id| {
                path_to(model, &shared.visited, &logs, initial_states, &mut scratch, id)
            }),
        })
        .collect();
    // A search that ended by itself was not cut short, however large it had grown.
    let exhausted = progress.waiting == 0 && !shared.visited.is_full();
    let limit = shared.limit.lock().expect("workers are gone").filter(|_| !exhausted);
    Report { findings, progress, limit, exhausted }
}

/// Looks for one state among successors. It calls no state new, so that a reducing model shows all.
struct Wanted<'a> {
    state: &'a [u8],
    found: bool,
}

impl<F> Sink<F> for Wanted<'_> {
    fn state(&mut self, state: &[u8]) -> bool {
        self.found |= state == self.state;
        false
    }

    fn finding(&mut self, _: F) {}
}

fn path_to<M: Model>(
    model: &M,
    visited: &Visited,
    logs: &[&[LogEntry]],
    initial_states: u32,
    scratch: &mut M::Scratch,
    id: Id,
) -> Vec<Box<[u8]>> {
    let mut path = vec![Box::from(visited.get(id))];
    let mut at = id;
    while !(at.worker == 0 && at.index < initial_states) {
        let log = logs[at.worker as usize];
        let entry = &log[log.partition_point(|entry| entry.first_child <= at.index) - 1];
        let child = visited.get(at);
        at = entry
            .parents
            .clone()
            .map(|index| Id { worker: entry.of, index })
            .find(|&parent| {
                let mut wanted = Wanted { state: child, found: false };
                model.expand(visited.get(parent), scratch, &mut wanted);
                wanted.found
            })
            .expect("a logged parent has the child");
        path.push(Box::from(visited.get(at)));
    }
    path.reverse();
    path
}
