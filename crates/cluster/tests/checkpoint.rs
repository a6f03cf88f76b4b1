//! A search that was interrupted goes on from its checkpoint, and ends as if nothing had happened.

mod common;

use common::{Graph, Written, follow, in_all, lengths};
use fencepost_cluster::{CheckpointError, Checkpoints, explore};
use search::{Budget, Limit, Limits, Model, Options, Report, Sink, Stop, Width};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A graph whose user loses patience after so many expansions.
struct Impatient {
    graph: Graph,
    after: u64,
    flag: &'static AtomicBool,
    learnt: AtomicU64,
}

impl Model for Impatient {
    type Scratch = ();
    type Finding = u64;

    fn width(&self) -> Width {
        self.graph.width()
    }

    fn scratch(&self) {}

    fn initial<S: Sink<u64>>(&self, (): &mut (), sink: &mut S) {
        self.graph.initial(&mut (), sink);
    }

    fn expand<S: Sink<u64>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if self.graph.expanded.load(Ordering::Relaxed) > self.after {
            self.flag.store(true, Ordering::Relaxed);
        }
        self.learnt.fetch_or(1 << (state[0] % 64), Ordering::Relaxed);
        self.graph.expand(state, &mut (), sink);
    }

    fn stops(&self, finding: &u64) -> bool {
        self.graph.stops(finding)
    }

    fn learnt(&self) -> Vec<u8> {
        self.learnt.load(Ordering::Relaxed).to_le_bytes().to_vec()
    }

    fn learn(&self, learnt: &[u8]) {
        let learnt = learnt.try_into().map_or(0, u64::from_le_bytes);
        self.learnt.fetch_or(learnt, Ordering::Relaxed);
    }
}

/// A graph that takes long enough to be interrupted.
fn large(written: Written) -> Graph {
    Graph { degree: 6, ..Graph::new(3, 8_000, written) }
}

/// What a run of two searches shows: their reports, how many states were expanded, and what was learnt.
type Ran = (Vec<Report<u64>>, u64, u64);

/// Explores a small graph, then a large one, and gives in after so many expansions of the large one.
fn run(folder: &Path, written: Written, resume: bool, after: u64) -> Vec<Ran> {
    // Each run has a flag of its own: budgets keep to it for ever.
    let flag: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    in_all((2, 1), |cluster| {
        let digests = [("program".to_string(), 3)];
        let checkpoints =
            Checkpoints::open(folder, cluster.process(), &digests, Duration::ZERO, resume);
        let cluster = cluster.with_checkpoints(Some(checkpoints.expect("a good folder")));
        let budget = Budget::UNLIMITED.interrupted_by(flag);
        let limits = Limits { budget, ..Limits::default() };
        let options = Options { limits, stop: Stop::AtEnd, ..Options::default() };
        let mut ran = (Vec::new(), 0, 0);
        for (seed, nodes, after) in [(5, 300, u64::MAX), (3, 8_000, after)] {
            let graph = Graph { degree: 6, ..Graph::new(seed, nodes, written) };
            let model = Arc::new(Impatient { graph, after, flag, learnt: AtomicU64::new(0) });
            ran.0.push(explore(&model, &options, &cluster, &|_| {}));
            ran.1 += model.graph.expanded.load(Ordering::Relaxed);
            ran.2 = model.learnt.load(Ordering::Relaxed);
        }
        assert_eq!(cluster.trouble(), None);
        cluster.finish();
        ran
    })
}

#[test]
fn resumes_where_it_was() {
    for written in [Written::Fixed, Written::Varying, Written::Monitored] {
        let graph = large(written);
        let all = Options { stop: Stop::AtEnd, ..Options::default() };
        let expected = search::explore(&graph, &all, &|_| {});
        assert!(expected.progress.states > 6_000, "{}", expected.progress.states);
        let folder = tempfile::tempdir().expect("a folder");
        for (ran, _, _) in run(folder.path(), written, false, 800) {
            assert_eq!(ran[0].limit, None);
            assert_eq!(ran[1].limit, Some(Limit::Interrupted));
        }
        // Interrupted once more, later.
        for (ran, _, _) in run(folder.path(), written, true, 1_200) {
            assert_eq!(ran[1].limit, Some(Limit::Interrupted));
        }
        let resumed = run(folder.path(), written, true, u64::MAX);
        let expansions: u64 = resumed.iter().map(|ran| ran.1).sum();
        assert!(expansions < expected.progress.states, "it began from the start");
        for (ran, _, learnt) in &resumed {
            assert!(ran[1].exhausted && ran[1].limit.is_none());
            // Which states are covered before they are seen depends on their order.
            if written != Written::Monitored {
                assert_eq!(ran[1].progress.states, expected.progress.states);
                assert_eq!(ran[1].progress.depth, expected.progress.depth);
            }
            assert_eq!(lengths(&ran[1]), lengths(&expected));
            follow(&graph, &ran[1]);
            assert_eq!(learnt.count_ones(), 64, "what was learnt before is forgotten");
        }
        // Everything is known: nothing is expanded but to tell models apart and to find findings again.
        let known = run(folder.path(), written, true, u64::MAX);
        for (ran, expanded, learnt) in known {
            assert!(ran[1].exhausted && expanded < 500, "{expanded}");
            assert_eq!(lengths(&ran[1]), lengths(&expected));
            assert_eq!(learnt.count_ones(), 64);
        }
    }
}

/// A file that is cut off in the middle costs what was cut off, and nothing else.
#[test]
fn damaged_files_are_used_as_far_as_they_go() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), Written::Fixed, false, 1_200);
    let states = folder.path().join("search-1-worker-1.states");
    let bytes = std::fs::read(&states).expect("a checkpoint");
    assert!(bytes.len() > 300, "{}", bytes.len());
    for cut in [bytes.len() - 5, bytes.len() / 2, 20, 3] {
        std::fs::write(&states, &bytes[..cut]).expect("written");
        let resumed = run(folder.path(), Written::Fixed, true, 400);
        assert_eq!(resumed[0].0[1].limit, Some(Limit::Interrupted));
    }
    let resumed = run(folder.path(), Written::Fixed, true, u64::MAX);
    let all = Options { stop: Stop::AtEnd, ..Options::default() };
    let expected = search::explore(&large(Written::Fixed), &all, &|_| {});
    assert_eq!(resumed[0].0[1].progress.states, expected.progress.states);
    assert_eq!(lengths(&resumed[0].0[1]), lengths(&expected));
}

#[test]
fn folders_are_not_mixed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |digest, resume| {
        let digests = [("binary".to_string(), 1), ("program".to_string(), digest)];
        Checkpoints::open(folder.path(), 0, &digests, Duration::ZERO, resume)
    };
    assert!(matches!(open(1, true), Err(CheckpointError::Empty(_))));
    assert!(open(1, false).is_ok());
    assert!(matches!(open(1, false), Err(CheckpointError::Occupied(_))));
    assert!(open(1, true).is_ok());
    let error = open(2, true).expect_err("another program").to_string();
    assert!(error.contains("the same program"), "{error}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("written");
    let error = Checkpoints::open(&file, 0, &[], Duration::ZERO, false);
    assert!(matches!(error, Err(CheckpointError::Io { .. })));
}
