//! Random graphs as models, and clusters to explore them with.

use fencepost_cluster::{Cluster, Join, local_hosts};
use search::{Model, Report, Sink, Width};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How states of a [`Graph`] are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// All of one length.
    Fixed,
    /// Of different lengths.
    Varying,
    /// With two bytes of bits behind the node that only matter for what is found.
    Monitored,
}

/// A graph with `nodes` nodes, made from a seed.
pub(crate) struct Graph {
    pub(crate) seed: u64,
    pub(crate) nodes: u32,
    pub(crate) degree: u64,
    pub(crate) written: Written,
    /// Has the model a reduced part?
    pub(crate) reduced: bool,
    /// What an expansion takes.
    pub(crate) slow: Duration,
    /// How many states were expanded.
    pub(crate) expanded: AtomicU64,
}

/// A mixture of two numbers.
pub(crate) fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ x >> 29
}

impl Graph {
    pub(crate) fn new(seed: u64, nodes: u32, written: Written) -> Self {
        let (degree, slow) = (1 + seed % 4, Duration::ZERO);
        Graph { seed, nodes, degree, written, reduced: false, slow, expanded: AtomicU64::new(0) }
    }

    fn pack(&self, node: u32, bits: u16) -> Vec<u8> {
        let mut state = node.to_le_bytes().to_vec();
        match self.written {
            Written::Fixed => {}
            Written::Varying => state.resize(4 + node as usize % 9, 7),
            Written::Monitored => state.extend_from_slice(&bits.to_le_bytes()),
        }
        state
    }

    fn unpack(&self, state: &[u8]) -> (u32, u16) {
        let node = u32::from_le_bytes(state[..4].try_into().expect("four bytes"));
        match self.written {
            Written::Monitored => (node, u16::from_le_bytes([state[4], state[5]])),
            _ => (node, 0),
        }
    }

    pub(crate) fn successors(&self, state: &[u8]) -> Vec<Vec<u8>> {
        let (node, bits) = self.unpack(state);
        let out = mixed(self.seed ^ 0x5555, node.into()) % (self.degree + 1) + u64::from(node == 0);
        // Most edges are short, so that graphs are deep.
        let to = |k: u64| {
            let random = mixed(self.seed + k, node.into());
            let reach = if random.is_multiple_of(8) { u64::from(self.nodes) } else { 60 };
            ((u64::from(node) + 1 + mixed(random, k) % reach) % u64::from(self.nodes)) as u32
        };
        (0..out)
            .map(|k| self.pack(to(k), bits | 1 << (mixed(node.into(), k) % 12).min(5)))
            .collect()
    }
}

impl Model for Graph {
    type Scratch = ();
    type Finding = u64;

    fn width(&self) -> Width {
        match self.written {
            Written::Fixed => Width::Fixed(4),
            Written::Varying => Width::Varying,
            Written::Monitored => Width::Monitored { core: 4, bytes: 6 },
        }
    }

    fn scratch(&self) {}

    fn initial<S: Sink<u64>>(&self, (): &mut (), sink: &mut S) {
        for k in 0..1 + self.seed % 3 {
            sink.state(&self.pack(k as u32 % self.nodes, 0));
        }
        if self.seed % 50 == 17 {
            sink.finding(1000);
        }
    }

    fn expand_reduced<S: Sink<u64>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if self.reduced {
            self.successors(state).iter().take(1).for_each(|state| sink.state(state));
        }
    }

    fn expand<S: Sink<u64>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if !self.slow.is_zero() {
            std::thread::sleep(self.slow);
        }
        self.expanded.fetch_add(1, Ordering::Relaxed);
        let (node, bits) = self.unpack(state);
        let found = mixed(self.seed ^ 0xAAAA, node.into());
        let enough = self.written != Written::Monitored || bits.count_ones() >= 3;
        if found.is_multiple_of(23) && enough {
            sink.finding(found % 5);
            sink.finding(found % 7 + 100);
        }
        self.successors(state).iter().for_each(|state| sink.state(state));
    }

    fn stops(&self, finding: &u64) -> bool {
        *finding != 2
    }
}

/// How many processes, and how many workers each.
pub(crate) type Shape = (usize, usize);

/// Has every process of a cluster do the same; what each returns.
pub(crate) fn in_all<R: Send>(shape: Shape, what: impl Fn(Cluster) -> R + Sync) -> Vec<R> {
    let (processes, workers) = shape;
    if processes == 1 {
        return vec![what(Cluster::threads(workers).expect("threads"))];
    }
    let hosts = local_hosts(processes).expect("free ports");
    let digests = [("binary".to_string(), 5)];
    std::thread::scope(|scope| {
        let join = |process| Join {
            hosts: &hosts,
            process,
            workers,
            digests: &digests,
            patience: Duration::from_secs(60),
        };
        let what = &what;
        let running: Vec<_> = (0..processes)
            .map(|process| {
                let join = join(process);
                scope.spawn(move || what(Cluster::join(&join).expect("all join")))
            })
            .collect();
        running.into_iter().map(|process| process.join().expect("no panic")).collect()
    })
}

/// Findings with the lengths of their paths, in order.
pub(crate) fn lengths(report: &Report<u64>) -> Vec<(u64, usize)> {
    let mut all: Vec<_> =
        report.findings.iter().map(|found| (found.finding, found.path.len())).collect();
    all.sort_unstable();
    all
}

/// Fails unless every path starts at an initial state and leads to what it says.
pub(crate) fn follow(graph: &Graph, report: &Report<u64>) {
    struct Seen(Vec<Vec<u8>>, Vec<u64>);
    impl Sink<u64> for Seen {
        fn state(&mut self, state: &[u8]) {
            self.0.push(state.to_vec());
        }
        fn finding(&mut self, finding: u64) {
            self.1.push(finding);
        }
    }
    for found in &report.findings {
        let mut seen = Seen(Vec::new(), Vec::new());
        graph.initial(&mut (), &mut seen);
        for state in &found.path {
            assert!(seen.0.iter().any(|next| **next == **state), "no step to {state:?}");
            seen = Seen(Vec::new(), Vec::new());
            graph.expand(state, &mut (), &mut seen);
        }
        assert!(seen.1.contains(&found.finding), "nothing is found at the end");
    }
}
