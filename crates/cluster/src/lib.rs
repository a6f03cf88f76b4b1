//! Exact explicit-state exploration of any [`Model`] by several processes.
//!
//! [`explore`] is [`search::explore`] for state spaces that do not fit one machine: the same models and options, and the
//! same report. The states are divided among *workers*, threads of processes on one or many machines, by the hash of
//! their cores. Workers exchange states by [timely dataflow](https://docs.rs/timely), which also tells them
//! when a level is complete; `engine` says how a worker goes about it, `dataflow` how timely is used.
//!
//! A [`Cluster`] is this process's part of all. Every process runs the same program: it makes the same models and calls
//! [`explore`] for them in the same order, and every call returns the same report in every process, so that they go on
//! the same way. What a process decides by the clock alone is caught: before a search, all compare a fingerprint of
//! what they are about to explore, and a search whose limits are spent somewhere ends everywhere.
//!
//! A process that dies is noticed by the others, whose searches end with [`Limit::Lost`] from then on.
//! [`Checkpoints`] make it possible to go on from there later.
//!
//! ```
//! use fencepost_cluster::{explore, Cluster};
//! use search::{Model, Options, Sink, Width};
//! use std::sync::Arc;
//!
//! /// Counts to 100 by ones and twos.
//! struct Counter;
//!
//! impl Model for Counter {
//!     type Scratch = ();
//!     type Finding = &'static str;
//!     fn width(&self) -> Width { Width::Fixed(1) }
//!     fn scratch(&self) {}
//!     fn initial<S: Sink<&'static str>>(&self, _: &mut (), sink: &mut S) {
//!         sink.state(&[0]);
//!     }
//!     fn expand<S: Sink<&'static str>>(&self, state: &[u8], _: &mut (), sink: &mut S) {
//!         match state[0] {
//!             100 => sink.finding("a hundred"),
//!             n => (1..=2).filter(|k| n + k <= 100).for_each(|k| sink.state(&[n + k])),
//!         }
//!     }
//! }
//!
//! let cluster = Cluster::threads(2).unwrap();
//! let report = explore(&Arc::new(Counter), &Options::default(), &cluster, &|_| {});
//! assert_eq!(report.findings[0].finding, "a hundred");
//! assert_eq!(report.findings[0].path.len(), 51); // 0, 2, 4, …
//! ```

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

mod checkpoint;
mod connect;
mod dataflow;
mod engine;
mod gather;
mod health;
mod held;
mod hosts;
mod message;
mod report;
mod trace;

pub use checkpoint::{CheckpointError, Checkpoints};
pub use connect::{Join, JoinError, local_hosts};
pub use hosts::{BadHosts, Hosts, MOST_PROCESSES};

use budget::{Budget, Spent};
use checkpoint::{Saved, Writer};
use dataflow::Board;
use engine::{Engine, Settings};
use gather::Gather;
use health::{Health, Lost};
use report::{End, Summary};
use search::encoding::{Reader, put};
use search::{Limit, Model, Options, Progress, Report, Sink};
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks};
use timely::worker::Worker;
use xxhash_rust::xxh3::Xxh3;

/// How often an observer is told how far a search has come.
const OBSERVE_EVERY: Duration = Duration::from_millis(100);
/// How long paths may take to be found when the limits are spent: many steps, each a message to another host.
const GRACE: Duration = Duration::from_secs(2);
/// How many states are expanded to tell models apart.
const SAMPLE: usize = 48;

/// What a worker does next.
type Job = Box<dyn FnOnce(&mut Hand<'_>) + Send>;

/// One worker: a thread of this process.
struct Hand<'a> {
    worker: &'a mut Worker,
    gather: Gather,
}

/// This process's part of a cluster.
pub struct Cluster {
    process: usize,
    processes: usize,
    jobs: Vec<Sender<Job>>,
    health: Arc<Health>,
    searches: AtomicU64,
    checkpoints: Option<Checkpoints>,
    settings: Settings,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} of {}", self.process, self.processes)
    }
}

impl Cluster {
    /// A cluster of one process with so many workers.
    pub fn threads(workers: usize) -> io::Result<Cluster> {
        let hooks = Hooks::default();
        let builders = ProcessBuilder::new_typed_vector(workers.max(1), hooks.refill, hooks.spill);
        let builders = builders.into_iter().map(AllocatorBuilder::Process).collect();
        Cluster::start(builders, (0, 1), Arc::default())
    }

    /// Joins the other processes, and waits until all are there.
    pub fn join(join: &Join<'_>) -> Result<Cluster, JoinError> {
        let health: Arc<Health> = Arc::default();
        let links = connect::connect(join, &health)?;
        let hooks = Hooks::default();
        let workers = join.workers.max(1);
        let inside =
            ProcessBuilder::new_typed_vector(workers, hooks.refill.clone(), hooks.spill.clone());
        let (builders, guard) =
            initialize_networking_from_sockets(inside, links, join.process, workers, hooks)?;
        // The threads behind it live as long as the process: they may wait for somebody who is gone.
        std::mem::forget(guard);
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        Ok(Cluster::start(builders, (join.process, join.hosts.len()), health)?)
    }

    fn start(
        builders: Vec<AllocatorBuilder>,
        (process, processes): (usize, usize),
        health: Arc<Health>,
    ) -> io::Result<Cluster> {
        let workers = builders.len();
        let (jobs, waiting): (Vec<Sender<Job>>, Vec<Receiver<Job>>) =
            (0..workers).map(|_| channel()).unzip();
        let waiting: Mutex<Vec<Option<Receiver<Job>>>> =
            Mutex::new(waiting.into_iter().map(Some).collect());
        let config = timely::WorkerConfig::default();
        let guards = timely::execute::execute_from(builders, Box::new(()), config, move |worker| {
            let own = worker.index() - process * workers;
            let jobs = waiting.lock().ok().and_then(|mut all| all[own].take());
            let gather = Gather::new(worker);
            let mut hand = Hand { worker, gather };
            for job in jobs.iter().flatten() {
                job(&mut hand);
            }
        });
        let guards = guards.map_err(io::Error::other)?;
        // As above; workers end when there are no more jobs and all others have ended.
        std::mem::forget(guards);
        Ok(Cluster {
            process,
            processes,
            jobs,
            health,
            searches: AtomicU64::new(0),
            checkpoints: None,
            settings: Settings::default(),
        })
    }

    /// The same, with checkpoints of searches.
    pub fn with_checkpoints(self, checkpoints: Option<Checkpoints>) -> Cluster {
        Cluster { checkpoints, ..self }
    }

    /// The number of this process. Process 0 is the one that reports.
    pub fn process(&self) -> usize {
        self.process
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// How many workers there are in all processes together.
    pub fn workers(&self) -> usize {
        self.jobs.len() * self.processes
    }

    /// What went wrong with checkpoints, if something did.
    pub fn trouble(&self) -> Option<String> {
        self.checkpoints.as_ref().and_then(Checkpoints::trouble)
    }

    /// Has all workers of this process do something, and returns what the first of them returns. `meanwhile` is called
    /// now and then.
    fn all<R: Send + 'static>(
        &self,
        what: impl Fn(&mut Hand<'_>) -> R + Send + Sync + 'static,
        meanwhile: &mut dyn FnMut(),
    ) -> R {
        let what = Arc::new(what);
        let (done, results) = channel();
        for (number, jobs) in self.jobs.iter().enumerate() {
            let (what, done) = (Arc::clone(&what), done.clone());
            let job: Job = Box::new(move |hand| {
                let result = what(hand);
                drop(what);
                let _ = done.send((number, result));
            });
            jobs.send(job).expect("no worker has panicked");
        }
        drop((what, done));
        let mut first = None;
        loop {
            match results.recv_timeout(OBSERVE_EVERY) {
                Ok((0, result)) => first = Some(result),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => meanwhile(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        first.expect("no worker has panicked")
    }

    /// Waits until all processes have come to a meeting, and tells a digest: the first process whose digest differs, if
    /// there is one. Processes that are still at a search are told that it is over.
    pub fn meet(&self, digest: u64) -> Result<Option<usize>, Limit> {
        let health = Arc::clone(&self.health);
        let own = Step::Meeting(digest).to_bytes();
        let told = self.all(
            move |hand| {
                loop {
                    let told = hand.gather.round(hand.worker, &health, &own)?;
                    let met = |told: &Vec<u8>| match Step::from_bytes(told) {
                        Step::Meeting(digest) => Some(digest),
                        Step::Search(_) => None,
                    };
                    if let Some(all) = told.iter().map(met).collect::<Option<Vec<u64>>>() {
                        return Ok::<_, Lost>(all);
                    }
                }
            },
            &mut || {},
        )?;
        Ok(told.iter().position(|told| *told != digest).map(|worker| worker / self.jobs.len()))
    }

    /// Waits until all processes have come here, so that none ends while others need it.
    pub fn finish(&self) {
        let _ = self.meet(u64::MAX);
    }

    /// For tests: the most bytes that were in flight from a worker of this process to another worker.
    #[doc(hidden)]
    pub fn most_in_flight(&self) -> usize {
        self.health.most_in_flight()
    }

    /// For tests: how much may be in flight.
    #[doc(hidden)]
    pub fn with_window(self, window: usize, batch: usize) -> Cluster {
        Cluster { settings: Settings { window, batch }, ..self }
    }
}

/// Explores `model` together with the other processes of the cluster, all of which must make the same call. `observe`
/// is called now and then. [`Options::order`] must be breadth first; [`Options::jobs`] has no effect.
pub fn explore<M: Model>(
    model: &Arc<M>,
    options: &Options,
    cluster: &Cluster,
    observe: &dyn Fn(&Progress),
) -> Report<M::Finding> {
    assert!(options.order == search::Order::Breadth, "a cluster explores breadth first");
    let number = cluster.searches.fetch_add(1, Ordering::Relaxed);
    let board = Arc::new(Board { start: Instant::now(), progress: Mutex::default() });
    let task = Task {
        model: Arc::clone(model),
        options: *options,
        settings: cluster.settings,
        health: Arc::clone(&cluster.health),
        board: Arc::clone(&board),
        here: cluster.jobs.len() as u32,
        number,
        fingerprint: fingerprint(&**model, options, number),
        checkpoints: cluster.checkpoints.clone(),
    };
    let ended = cluster.all(move |hand| task.run(hand), &mut || {
        let progress = board.progress.lock().map(|progress| *progress);
        observe(&progress.unwrap_or_default());
    });
    report::report(&**model, ended, options.paths)
}

/// A search, as all workers of a process know it.
struct Task<M: Model> {
    model: Arc<M>,
    options: Options,
    settings: Settings,
    health: Arc<Health>,
    board: Arc<Board>,
    /// Workers of this process.
    here: u32,
    number: u64,
    fingerprint: u64,
    checkpoints: Option<Checkpoints>,
}

impl<M: Model> Task<M> {
    /// What one worker does.
    fn run(&self, hand: &mut Hand<'_>) -> Summary {
        let start = self.board.start;
        self.search(hand).unwrap_or_else(|lost| {
            let progress = self.board.progress.lock().map(|progress| *progress).unwrap_or_default();
            let progress = Progress { elapsed: start.elapsed(), ..progress };
            Summary::cut(lost.into(), progress)
        })
    }

    fn search(&self, hand: &mut Hand<'_>) -> Result<Summary, Lost> {
        let Hand { worker, gather } = hand;
        let (me, workers) = (worker.index() as u32, worker.peers() as u32);
        let at = self.checkpoints.as_ref();
        let header = self.fingerprint ^ u64::from(workers).rotate_left(32);
        let kept = at.and_then(|at| at.report(self.number, self.fingerprint));
        let mut saved = at.and_then(|at| Saved::read(at, self.number, me, header));
        let own = Start {
            fingerprint: self.fingerprint,
            spent: self.options.limits.budget.spent(),
            ended: kept.is_some(),
            marks: saved.as_ref().map(Saved::marks).unwrap_or_default(),
            run: run_number(),
        };
        let told = gather.round(worker, &self.health, &Step::Search(own).to_bytes())?;
        let all: Vec<Start> =
            told.iter().filter_map(|told| Step::from_bytes(told).search()).collect();
        let spent = all.iter().find_map(|start| start.spent).map(Limit::from);
        let same = all.len() == told.len()
            && all.iter().all(|start| start.fingerprint == self.fingerprint);
        if spent.is_some() || !same {
            // Processes go different ways only if the time of one of them is up.
            let timed = self.options.limits.budget.time_left().is_some();
            let limit = spent.unwrap_or(if timed { Limit::Time } else { Limit::Diverged });
            return Ok(Summary::cut(limit, Progress::default()));
        }
        if let Some(kept) = kept.filter(|_| all.iter().all(|start| start.ended)) {
            return Ok(Summary::from_bytes(&kept));
        }
        let memory = self.options.limits.budget.memory().map(|all| all / u64::from(self.here));
        let model = Arc::clone(&self.model);
        let mut engine = Engine::new(model, self.options, self.settings, (me, workers), memory);
        let mut resumed = false;
        let everybody_has = |mark: &&(u64, u64)| all.iter().all(|start| start.marks.contains(mark));
        if let Some(&(level, _)) = all[0].marks.iter().rev().find(everybody_has) {
            let restored =
                saved.as_mut().is_some_and(|saved| saved.restore(&mut engine.held, level));
            let told = gather.round(worker, &self.health, &[u8::from(restored)])?;
            resumed = told.iter().all(|restored| restored == &[1]);
            if resumed {
                engine.resume_at(level);
            } else {
                // Somebody's file is damaged: from the start.
                let model = Arc::clone(&self.model);
                engine = Engine::new(model, self.options, self.settings, (me, workers), memory);
            }
        }
        let saved = saved.filter(|_| resumed);
        let of = (self.number, header, all[0].run);
        let writer = at.map(|at| Writer::new(at, of, &mut engine, saved.as_ref()));
        let is_first = me.is_multiple_of(self.here);
        let board = is_first.then_some(&*self.board);
        let (engine, lost) = dataflow::run(worker, &self.health, board, engine, writer);
        self.health.note_in_flight(engine.most_in_flight);
        if let Some(lost) = lost {
            return Err(lost);
        }
        let own = End::of(&engine);
        let told = gather.round(worker, &self.health, &own.to_bytes())?;
        let all: Vec<End> = told.iter().map(|told| End::from_bytes(told)).collect();
        let mut summary = Summary::of(&all, self.board.start.elapsed());
        let budget = self.options.limits.budget;
        let budget = match budget.spent() {
            None => budget.to_finish(),
            Some(_) => Budget::UNLIMITED.at_most(GRACE),
        };
        let places = summary.places.clone();
        let wanted = (self.options.paths, budget);
        let traced = trace::trace(worker, gather, &self.health, &engine.held, &places, wanted)?;
        summary.add(traced, self.options.limits.budget);
        let ended = matches!(summary.limit, None | Some(Limit::States | Limit::Depth));
        if let Some(at) = at.filter(|_| ended) {
            // Everybody is here, so nobody reads states any more.
            gather.round(worker, &self.health, &[])?;
            if is_first {
                let here = me..me + self.here;
                at.keep_report(self.number, self.fingerprint, &summary.to_bytes(), here);
            }
        }
        Ok(summary)
    }
}

/// What a process is about to do together with the others.
enum Step {
    /// Wait for all.
    Meeting(u64),
    /// Explore a model.
    Search(Start),
}

/// What a worker says before a search.
struct Start {
    fingerprint: u64,
    spent: Option<Spent>,
    /// Is there a report of the search already?
    ended: bool,
    /// The levels of which there are checkpoints, with their marks.
    marks: Vec<(u64, u64)>,
    /// A number that no other run has.
    run: u64,
}

impl Step {
    fn search(self) -> Option<Start> {
        match self {
            Step::Meeting(_) => None,
            Step::Search(start) => Some(start),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Step::Meeting(digest) => {
                put(0, &mut out);
                put((*digest).into(), &mut out);
            }
            Step::Search(Start { fingerprint, spent, ended, marks, run }) => {
                put(1, &mut out);
                put((*fingerprint).into(), &mut out);
                put(spent.map_or(0, |spent| spent as u128 + 1), &mut out);
                put(u128::from(*ended), &mut out);
                put((*run).into(), &mut out);
                put(marks.len() as u128, &mut out);
                for (level, mark) in marks {
                    put((*level).into(), &mut out);
                    put((*mark).into(), &mut out);
                }
            }
        }
        out
    }

    fn from_bytes(bytes: &[u8]) -> Step {
        let mut from = Reader::new(bytes);
        if from.take() == 0 {
            return Step::Meeting(from.take() as u64);
        }
        let fingerprint = from.take() as u64;
        let spent = match from.take() {
            0 => None,
            1 => Some(Spent::Time),
            2 => Some(Spent::Memory),
            _ => Some(Spent::Interrupted),
        };
        let ended = from.take() != 0;
        let run = from.take() as u64;
        let marks = (0..from.take()).map(|_| (from.take() as u64, from.take() as u64)).collect();
        Step::Search(Start { fingerprint, spent, ended, marks, run })
    }
}

/// A number that most likely no other run has.
fn run_number() -> u64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    (now.as_nanos() as u64).rotate_left(20) ^ u64::from(std::process::id())
}

/// A number that is the same for the same search of the same model: what the first few states lead to goes into it.
fn fingerprint<M: Model>(model: &M, options: &Options, number: u64) -> u64 {
    struct Sample {
        hash: Xxh3,
        known: HashSet<Vec<u8>>,
        states: Vec<Vec<u8>>,
    }
    impl<F> Sink<F> for Sample {
        fn state(&mut self, state: &[u8]) {
            self.hash.update(&(state.len() as u64).to_le_bytes());
            self.hash.update(state);
            if self.states.len() < SAMPLE && self.known.insert(state.to_vec()) {
                self.states.push(state.to_vec());
            }
        }

        fn finding(&mut self, _: F) {
            self.hash.update(b"finding");
        }
    }
    let mut sample = Sample { hash: Xxh3::new(), known: HashSet::new(), states: Vec::new() };
    let limits = (options.limits.states, options.limits.depth);
    let asked =
        format!("{number} {:?} {:?} {:?} {limits:?}", model.width(), options.stop, options.paths);
    sample.hash.update(asked.as_bytes());
    let mut scratch = model.scratch();
    model.initial(&mut scratch, &mut sample);
    let mut next = 0;
    while next < sample.states.len() {
        let state = sample.states[next].clone();
        next += 1;
        model.expand_reduced(&state, &mut scratch, &mut sample);
        model.expand(&state, &mut scratch, &mut sample);
    }
    sample.hash.digest()
}
