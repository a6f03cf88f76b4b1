//! Clusters of threads and of processes against the search of one process, on random graphs.
//!
//! What these would catch: states that are lost on their way or counted by two owners, levels that are mixed up (paths
//! would not be shortest), processes that go on differently after a search, limits that only one process keeps, and
//! queues without bound.

mod common;

use common::{Graph, Written, follow, in_all, lengths};
use fencepost_cluster::{Cluster, explore};
use search::{Budget, Limit, Limits, Options, Paths, Report, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SHAPES: [common::Shape; 5] = [(1, 1), (1, 2), (1, 4), (2, 1), (4, 1)];

fn options(stop: Stop) -> Options {
    Options { stop, ..Options::default() }
}

fn alone(graph: &Graph, options: &Options) -> Report<u64> {
    search::explore(graph, options, &|_| {})
}

fn together(graph: Graph, options: &Options, cluster: &Cluster) -> Report<u64> {
    explore(&Arc::new(graph), options, cluster, &|_| {})
}

/// How many random graphs each shape explores.
fn graphs() -> u64 {
    let asked = std::env::var("FENCEPOST_CLUSTER_GRAPHS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(10)
}

/// Everything reachable is seen once, with the same findings at the same depths, and all processes know it.
#[test]
fn sees_what_one_process_sees() {
    let make = |seed: u64| {
        let written = if seed.is_multiple_of(2) { Written::Fixed } else { Written::Varying };
        Graph::new(seed, 1 + (seed % 7) as u32 * 700, written)
    };
    for shape in SHAPES {
        let everywhere = in_all(shape, |cluster| {
            let reports: Vec<Report<u64>> = (0..graphs())
                .map(|seed| together(make(seed), &options(Stop::AtEnd), &cluster))
                .collect();
            cluster.finish();
            reports
        });
        for reports in &everywhere {
            for (seed, report) in (0..).zip(reports) {
                let graph = make(seed);
                let expected = alone(&graph, &options(Stop::AtEnd));
                assert_eq!(report.limit, None, "{shape:?} {seed}");
                assert!(report.exhausted, "{shape:?} {seed}");
                let counts = |report: &Report<u64>| {
                    let progress = report.progress;
                    (progress.states, progress.transitions, progress.depth, progress.waiting)
                };
                assert_eq!(counts(report), counts(&expected), "{shape:?} {seed}");
                assert_eq!(lengths(report), lengths(&expected), "{shape:?} {seed}");
                follow(&graph, report);
                let same =
                    |other: &Vec<Report<u64>>| other[seed as usize].findings == report.findings;
                assert!(everywhere.iter().all(same), "{shape:?} {seed}: not the same everywhere");
            }
        }
    }
}

/// With monitor bits and with a reduced part states differ; what is found, and how soon, does not. The first that stops a
/// search is a nearest one.
#[test]
fn finds_what_one_process_finds() {
    let make = |seed: u64| Graph {
        reduced: seed % 4 == 1,
        ..Graph::new(
            seed,
            1500,
            if seed.is_multiple_of(2) { Written::Monitored } else { Written::Fixed },
        )
    };
    for shape in SHAPES {
        let everywhere = in_all(shape, |cluster| {
            let run = |seed: u64, stop| together(make(seed), &options(stop), &cluster);
            let reports: Vec<_> = (0..graphs())
                .map(|seed| (run(seed, Stop::AtEnd), run(seed, Stop::AtFirst)))
                .collect();
            cluster.finish();
            reports
        });
        for (seed, (all, first)) in (0..).zip(&everywhere[0]) {
            let graph = make(seed);
            let expected = alone(&graph, &options(Stop::AtEnd));
            follow(&graph, all);
            follow(&graph, first);
            assert!(all.exhausted);
            if !graph.reduced {
                assert_eq!(lengths(all), lengths(&expected), "{shape:?} {seed}");
            }
            let nearest = |report: &Report<u64>| {
                let stopping = report.findings.iter().filter(|found| found.finding != 2);
                stopping.map(|found| found.path.len()).min()
            };
            let expected = alone(&graph, &options(Stop::AtFirst));
            assert_eq!(nearest(first).is_some(), nearest(&expected).is_some(), "{shape:?} {seed}");
            if !graph.reduced {
                assert_eq!(nearest(first), nearest(&expected), "{shape:?} {seed}");
            }
        }
    }
}

/// Without paths there are findings all the same.
#[test]
fn paths_can_be_left_out() {
    for shape in [(1, 2), (2, 1)] {
        let reports = in_all(shape, |cluster| {
            let options = Options { paths: Paths::None, ..options(Stop::AtEnd) };
            let report = together(Graph::new(11, 2000, Written::Fixed), &options, &cluster);
            cluster.finish();
            report
        });
        let expected = alone(&Graph::new(11, 2000, Written::Fixed), &options(Stop::AtEnd));
        let found =
            |report: &Report<u64>| lengths(report).iter().map(|found| found.0).collect::<Vec<_>>();
        assert!(!expected.findings.is_empty());
        assert!(reports.iter().all(|report| found(report) == found(&expected)));
        assert!(reports[0].findings.iter().all(|found| found.path.is_empty()));
    }
}

/// A worker that is slow to insert what it is sent does not make the others' queues grow: they wait for it.
#[test]
fn a_slow_worker_slows_the_others_down() {
    let (window, batch) = (4_000, 500);
    let in_flight = |window: usize| {
        let most = in_all((2, 1), |cluster| {
            let cluster = cluster.with_window(window, batch);
            let slow = Duration::from_micros(if cluster.process() == 1 { 300 } else { 0 });
            // A few deep levels, and from then on wide ones.
            let graph = Graph { degree: 40, slow, ..Graph::new(3, 6_000, Written::Fixed) };
            let report = together(graph, &options(Stop::AtEnd), &cluster);
            assert!(report.exhausted);
            cluster.finish();
            (report.progress.states, cluster.most_in_flight())
        });
        assert_eq!(most[0].0, most[1].0);
        most[0].1
    };
    let expected =
        alone(&Graph { degree: 40, ..Graph::new(3, 6_000, Written::Fixed) }, &options(Stop::AtEnd));
    assert!(expected.exhausted);
    // A batch goes out when 64 states have been expanded, whose successors may take so much.
    let overshoot = 2 * (batch + 64 * 41 * 4);
    assert!(in_flight(window) <= window + overshoot);
    assert!(in_flight(1 << 30) > window + overshoot, "the window was not needed");
}

/// All processes end for the limit that one of them keeps.
#[test]
fn limits_are_everybodys() {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    INTERRUPTED.store(true, Ordering::Relaxed);
    let limited = |limit: Limit, process: usize| {
        let mut limits = Limits::default();
        let unlimited = Budget::UNLIMITED;
        match limit {
            Limit::States => limits.states = Some(3_000),
            Limit::Depth => limits.depth = Some(4),
            Limit::Memory if process == 1 => limits.budget = Budget::new(None, Some(300_000)),
            Limit::Time if process == 1 => {
                limits.budget = unlimited.at_most(Duration::from_millis(100))
            }
            Limit::Interrupted if process == 1 => {
                limits.budget = unlimited.interrupted_by(&INTERRUPTED)
            }
            _ => {}
        }
        limits
    };
    for limit in [Limit::States, Limit::Depth, Limit::Memory, Limit::Time, Limit::Interrupted] {
        let reports = in_all((2, 1), |cluster| {
            let slow = Duration::from_micros(if limit == Limit::Time { 100 } else { 0 });
            let graph = Graph { degree: 4, slow, ..Graph::new(8, 200_000, Written::Fixed) };
            let limits = limited(limit, cluster.process());
            let report = together(graph, &Options { limits, ..options(Stop::AtEnd) }, &cluster);
            cluster.finish();
            report
        });
        for report in reports {
            assert_eq!((report.limit, report.exhausted), (Some(limit), false));
            match limit {
                Limit::States => assert!((3_000..40_000).contains(&report.progress.states)),
                Limit::Depth => assert_eq!(report.progress.depth, 5),
                _ => {}
            }
        }
    }
}

/// Processes that explore different models notice, and say so.
#[test]
fn different_models_are_noticed() {
    let reports = in_all((2, 1), |cluster| {
        let graph = Graph::new(cluster.process() as u64, 500, Written::Fixed);
        let report = together(graph, &options(Stop::AtEnd), &cluster);
        cluster.finish();
        report
    });
    assert!(reports.iter().all(|report| report.limit == Some(Limit::Diverged)));
    let differing = in_all((3, 1), |cluster| {
        let differing = cluster.meet(u64::from(cluster.process() == 2));
        cluster.finish();
        differing
    });
    assert_eq!(differing, [Ok(Some(2)), Ok(Some(2)), Ok(Some(0))]);
}
