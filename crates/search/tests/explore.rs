//! Both orders of exploration on models whose states, depths and findings are known.
//!
//! What these would catch: states lost or seen twice, depths counted wrong, paths that do not lead where they say,
//! searches that stop too early or go on, and limits that are not kept. `systems.rs` has models with reductions,
//! monitor bits or states of varying length, and models that break the rules.

extern crate fencepost_search as search;

use search::explore;
use search::{Budget, Limit, Limits, Model, Options, Order, Paths, Report, Sink, Stop, Width};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Fewer states where every step is interpreted.
const SIDE: u16 = if cfg!(miri) { 12 } else { 120 };
const ORDERS: [Order; 2] = [Order::Breadth, Order::Depth];

/// Two numbers that count up to `side`, one step at a time: `(side + 1)²` states, the state (a, b) at depth a + b.
/// Found are the states on the diagonal that are multiples of `every`.
struct Grid {
    side: u16,
    every: u16,
    slow: Duration,
}

impl Grid {
    const fn new(side: u16) -> Self {
        Grid { side, every: u16::MAX, slow: Duration::ZERO }
    }

    fn states(&self) -> u64 {
        u64::from(self.side + 1).pow(2)
    }
}

fn packed(a: u16, b: u16) -> [u8; 4] {
    let ([a, c], [b, d]) = (a.to_le_bytes(), b.to_le_bytes());
    [a, c, b, d]
}

fn unpacked(state: &[u8]) -> (u16, u16) {
    (u16::from_le_bytes([state[0], state[1]]), u16::from_le_bytes([state[2], state[3]]))
}

impl Model for Grid {
    type Scratch = ();
    type Finding = u16;

    fn width(&self) -> Width {
        Width::Fixed(4)
    }

    fn scratch(&self) {}

    fn initial<S: Sink<u16>>(&self, (): &mut (), sink: &mut S) {
        sink.state(&packed(0, 0));
    }

    fn expand<S: Sink<u16>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        let (a, b) = unpacked(state);
        if a == b && a > 0 && a.is_multiple_of(self.every) {
            sink.finding(a);
        }
        if a < self.side {
            sink.state(&packed(a + 1, b));
        }
        if b < self.side {
            sink.state(&packed(a, b + 1));
        }
        std::thread::sleep(self.slow);
    }
}

fn run(model: &Grid, options: Options) -> Report<u16> {
    explore(model, &options, &|_| {})
}

fn limited(order: Order, limits: Limits) -> Options {
    Options { order, limits, ..Options::default() }
}

#[test]
fn every_state_once_whatever_the_order_and_the_cores() {
    let grid = Grid::new(SIDE);
    for (order, jobs) in [(Order::Breadth, 1), (Order::Breadth, 3), (Order::Depth, 1)] {
        let report = run(&grid, Options { order, jobs, ..Options::default() });
        assert!(report.exhausted && report.limit.is_none() && report.findings.is_empty());
        assert_eq!(report.progress.states, grid.states(), "{order:?} with {jobs}");
        assert_eq!(report.progress.transitions, 2 * u64::from(SIDE) * u64::from(SIDE + 1));
        if order == Order::Breadth {
            assert_eq!(report.progress.depth, 2 * u64::from(SIDE) + 1, "the last level is empty");
        }
    }
}

/// A path starts in an initial state, every state in it is a successor of the one before, and the last one has what
/// was found. Breadth first, it is as short as can be.
#[test]
fn paths_lead_to_what_was_found() {
    let grid = Grid { every: 5, ..Grid::new(SIDE) };
    for (order, jobs) in [(Order::Breadth, 1), (Order::Breadth, 3), (Order::Depth, 1)] {
        let report = run(&grid, Options { order, jobs, stop: Stop::AtEnd, ..Options::default() });
        let mut found: Vec<u16> = report.findings.iter().map(|found| found.finding).collect();
        found.sort_unstable();
        assert_eq!(found, (1..=SIDE / 5).map(|k| 5 * k).collect::<Vec<_>>());
        for found in &report.findings {
            let path: Vec<_> = found.path.iter().map(|state| unpacked(state)).collect();
            assert_eq!(path.first(), Some(&(0, 0)));
            assert_eq!(path.last(), Some(&(found.finding, found.finding)));
            for pair in path.windows(2) {
                let (before, after) = (pair[0], pair[1]);
                let step = (after.0 - before.0, after.1 - before.1);
                assert!(matches!(step, (1, 0) | (0, 1)), "{before:?} to {after:?}");
            }
        }
        if order == Order::Breadth {
            let lengths: Vec<_> = report.findings.iter().map(|found| found.path.len()).collect();
            assert!(lengths.is_sorted(), "in ascending length");
        }
    }
}

/// The same findings, without paths.
#[test]
fn paths_can_be_left_out() {
    let grid = Grid { every: 5, ..Grid::new(SIDE) };
    for order in ORDERS {
        let options = Options { order, stop: Stop::AtEnd, ..Options::default() };
        let with = run(&grid, options);
        let without = run(&grid, Options { paths: Paths::None, ..options });
        let findings = |report: &Report<u16>| {
            report.findings.iter().map(|found| found.finding).collect::<Vec<_>>()
        };
        assert_eq!(findings(&with), findings(&without));
        assert!(without.exhausted && without.findings.iter().all(|found| found.path.is_empty()));
    }
}

#[test]
fn stops_when_asked_to() {
    let grid = Grid { every: 1, ..Grid::new(SIDE) };
    for order in ORDERS {
        let first = run(&grid, Options { order, ..Options::default() });
        assert!(!first.findings.is_empty() && !first.exhausted && first.limit.is_none());
        assert!(first.progress.states < grid.states() / 2, "{} states", first.progress.states);
        let some = grid.states() / 2;
        let later = Options { order, stop: Stop::AfterStates(some), ..Options::default() };
        let later = run(&grid, later);
        assert!(later.progress.states >= some && later.findings.len() > 1);
    }
}

#[test]
fn limits_on_states_and_depth_are_kept_and_named() {
    let grid = Grid::new(SIDE);
    for order in ORDERS {
        let states = Limits { states: Some(50), ..Limits::default() };
        let report = run(&grid, limited(order, states));
        assert_eq!((report.limit, report.exhausted), (Some(Limit::States), false));
        assert!(report.progress.states < 50 + 64 * 3, "{}", report.progress.states);
        let depth = Limits { depth: Some(7), ..Limits::default() };
        let report = run(&grid, limited(order, depth));
        assert_eq!((report.limit, report.exhausted), (Some(Limit::Depth), false));
        assert!(report.progress.states < grid.states() / 2);
        // Limits that are just enough are no limits.
        let enough = Limits { states: Some(grid.states()), ..Limits::default() };
        let report = run(&grid, limited(order, enough));
        assert_eq!((report.limit, report.exhausted), (None, true));
    }
}

/// Every expansion takes milliseconds: the clock must be looked at after each.
#[test]
#[cfg_attr(miri, ignore = "about real time")]
fn a_deadline_is_kept_however_slow_the_model_is() {
    let grid = Grid { slow: Duration::from_millis(10), ..Grid::new(SIDE) };
    for order in ORDERS {
        let begun = Instant::now();
        let budget = Budget::new(Some(Duration::from_millis(100)), None);
        let report = run(&grid, limited(order, Limits { budget, ..Limits::default() }));
        assert_eq!((report.limit, report.exhausted), (Some(Limit::Time), false));
        assert!(begun.elapsed() < Duration::from_millis(250), "{:?}", begun.elapsed());
        // A second search on the same budget does not get the time again.
        let again = run(&grid, limited(order, Limits { budget, ..Limits::default() }));
        assert_eq!(again.limit, Some(Limit::Time));
        assert!(again.progress.states < 5, "{} states", again.progress.states);
    }
}

#[test]
#[cfg_attr(miri, ignore = "about real time")]
fn an_interruption_ends_a_search() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let grid = Grid { slow: Duration::from_millis(2), ..Grid::new(SIDE) };
    for order in ORDERS {
        FLAG.store(false, Ordering::Relaxed);
        let budget = Budget::UNLIMITED.interrupted_by(&FLAG);
        let interrupter = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            FLAG.store(true, Ordering::Relaxed);
        });
        let report = run(&grid, limited(order, Limits { budget, ..Limits::default() }));
        interrupter.join().expect("no panic");
        assert_eq!((report.limit, report.exhausted), (Some(Limit::Interrupted), false));
    }
}

/// What was found before the deadline is told, with its path, although the deadline has passed.
#[test]
#[cfg_attr(miri, ignore = "about real time")]
fn findings_survive_the_deadline() {
    let grid = Grid { every: 1, slow: Duration::from_millis(1), ..Grid::new(SIDE) };
    for order in ORDERS {
        let budget = Budget::new(Some(Duration::from_millis(100)), None);
        let limits = Limits { budget, ..Limits::default() };
        let options = Options { stop: Stop::AtEnd, ..limited(order, limits) };
        let report = run(&grid, options);
        assert_eq!(report.limit, Some(Limit::Time));
        assert!(
            report
                .findings
                .iter()
                .all(|found| found.path.len() == 1 + 2 * usize::from(found.finding))
        );
        assert!(order == Order::Depth || !report.findings.is_empty());
    }
}

/// Tables are not made larger than the limit allows.
#[test]
fn a_limit_on_memory_is_kept_and_named() {
    let grid = Grid::new(if cfg!(miri) { 40 } else { 1000 });
    for order in ORDERS {
        let most = if cfg!(miri) { 4_000 } else { 100_000 };
        let budget = Budget::new(None, Some(most));
        let report = run(&grid, limited(order, Limits { budget, ..Limits::default() }));
        assert_eq!((report.limit, report.exhausted), (Some(Limit::Memory), false), "{order:?}");
        assert!(report.progress.bytes < most + 10_000, "{} bytes", report.progress.bytes);
    }
}

/// One state with more successors than the table has room for when it is expanded.
struct Star(u32);

impl Model for Star {
    type Scratch = ();
    type Finding = ();

    fn width(&self) -> Width {
        Width::Fixed(4)
    }

    fn scratch(&self) {}

    fn initial<S: Sink<()>>(&self, (): &mut (), sink: &mut S) {
        for k in 0..self.0 {
            sink.state(&k.to_le_bytes());
        }
    }

    fn expand<S: Sink<()>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if state == 0_u32.to_le_bytes() {
            for k in 0..2 * self.0 {
                sink.state(&k.to_le_bytes());
                sink.state(&(2 * self.0 + k).to_le_bytes());
            }
        }
    }
}

/// Catches a table that cannot grow and is filled to its last slot, where looking for an empty one never ends: one
/// state has more successors than there are slots.
#[test]
fn a_table_that_cannot_grow_takes_no_more() {
    let count = if cfg!(miri) { 100 } else { 50_000 };
    for order in ORDERS {
        let budget = Budget::new(None, Some(1));
        let limits = Limits { budget, ..Limits::default() };
        let report = explore(&Star(count), &limited(order, limits), &|_| {});
        assert_eq!((report.limit, report.exhausted), (Some(Limit::Memory), false), "{order:?}");
    }
}

/// Catches a table that has no empty slot left, where looking for one never ends.
#[test]
fn one_state_may_have_any_number_of_successors() {
    let count = if cfg!(miri) { 100 } else { 50_000 };
    for order in ORDERS {
        let report = explore(&Star(count), &Options { order, ..Options::default() }, &|_| {});
        assert!(report.exhausted);
        assert_eq!(report.progress.states, 4 * u64::from(count), "{order:?}");
    }
}
