//! Inclusion and explicit graphs against plain definitions, on random automata.
//!
//! What these would catch: antichains that prune too much, closures that forget states, words that are not shortest,
//! labels that bind though they should not, and bits that do not come back along every step.

extern crate fencepost_search as search;

use search::explicit::Graph;
use search::inclusion::{Automaton, Outcome, SILENT, StateSink, StepSink, Symbol, compare};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// How many automata are tried: fewer where every step is interpreted.
const SEEDS: u64 = if cfg!(miri) { 50 } else { 5_000 };

/// Random numbers (SplitMix64).
struct Generator(u64);

impl Generator {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// An automaton by its edges.
#[derive(Debug)]
struct Explicit {
    edges: Vec<Vec<(Symbol, usize)>>,
}

impl Explicit {
    fn random(random: &mut Generator) -> Self {
        let states = 1 + random.below(6);
        let edges = |random: &mut Generator| {
            let count = random.below(5);
            (0..count).map(|_| (random.below(4) as Symbol, random.below(states))).collect()
        };
        Explicit { edges: (0..states).map(|_| edges(random)).collect() }
    }

    fn close(&self, mut set: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut open: Vec<usize> = set.iter().copied().collect();
        while let Some(state) = open.pop() {
            for &(symbol, to) in &self.edges[state] {
                if symbol == SILENT && set.insert(to) {
                    open.push(to);
                }
            }
        }
        set
    }

    fn after(&self, set: &BTreeSet<usize>) -> BTreeMap<Symbol, BTreeSet<usize>> {
        let mut next: BTreeMap<Symbol, BTreeSet<usize>> = BTreeMap::new();
        for &(symbol, to) in set.iter().flat_map(|&state| &self.edges[state]) {
            if symbol != SILENT {
                next.entry(symbol).or_default().insert(to);
            }
        }
        next.into_iter().map(|(symbol, set)| (symbol, self.close(set))).collect()
    }

    fn has(&self, word: &[Symbol]) -> bool {
        let mut set = self.close(BTreeSet::from([0]));
        for symbol in word {
            match self.after(&set).remove(symbol) {
                Some(next) => set = next,
                None => return false,
            }
        }
        true
    }
}

impl Automaton for Explicit {
    type Bad = ();

    fn initial(&self, sink: StateSink<()>) {
        sink(&[0], None);
    }

    fn steps(&self, state: &[u8], sink: StepSink<()>) {
        for &(symbol, to) in &self.edges[state[0] as usize] {
            sink([symbol, SILENT], &[to as u8], None);
        }
    }
}

/// The length of a shortest word of `a` that is none of `b`, by determinising both. Labels that do not bind are followed
/// only where `b` can.
fn difference(a: &Explicit, b: &Explicit, binds: impl Fn(Symbol) -> bool) -> Option<usize> {
    let start = (a.close(BTreeSet::from([0])), b.close(BTreeSet::from([0])));
    let mut seen = HashSet::from([start.clone()]);
    let mut open = VecDeque::from([(start, 0)]);
    while let Some(((left, right), length)) = open.pop_front() {
        let mut right = b.after(&right);
        for (symbol, next) in a.after(&left) {
            let Some(other) = right.remove(&symbol) else {
                if binds(symbol) {
                    return Some(length + 1);
                }
                continue;
            };
            if seen.insert((next.clone(), other.clone())) {
                open.push_back(((next, other), length + 1));
            }
        }
    }
    None
}

/// A pair of automata, of which the first is often included in the second.
fn random_pair(random: &mut Generator) -> (Explicit, Explicit) {
    let (a, mut b) = (Explicit::random(random), Explicit::random(random));
    if random.one_in(2) {
        b = Explicit { edges: a.edges.clone() };
        let (from, to) = (random.below(b.edges.len()), random.below(b.edges.len()));
        b.edges[from].push((random.below(4) as Symbol, to));
        let at = random.below(b.edges.len());
        if random.one_in(3) {
            b.edges[at].pop();
        }
    }
    (a, b)
}

#[test]
fn inclusion_agrees_with_determinisation() {
    let (mut included, mut differs) = (0u64, 0u64);
    for seed in 0..SEEDS {
        let (a, b) = random_pair(&mut Generator(seed));
        let expected = difference(&a, &b, |_| true);
        let (outcome, _) = compare(&a, &b, 2, &mut |_| true);
        match outcome {
            Outcome::Included => {
                assert_eq!(expected, None, "seed {seed}");
                included += 1;
            }
            Outcome::Differs { run, instead, shortest: true } => {
                let word = run.word();
                assert_eq!(Some(word.len()), expected, "seed {seed}");
                assert!(a.has(&word) && !b.has(&word), "seed {seed}");
                for symbol in instead {
                    let mut other = word[..word.len() - 1].to_vec();
                    other.push(symbol);
                    assert!(b.has(&other), "seed {seed}: the specification cannot do that either");
                }
                differs += 1;
            }
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(included > SEEDS / 20 && differs > SEEDS / 20, "one-sided: {included}, {differs}");
}

/// An automaton of which only the label 1 binds.
struct Loose(Explicit);

impl Automaton for Loose {
    type Bad = ();

    const ALL_BIND: bool = false;

    fn binds(&self, symbol: Symbol) -> bool {
        symbol == 1
    }

    fn initial(&self, sink: StateSink<()>) {
        self.0.initial(sink);
    }

    fn steps(&self, state: &[u8], sink: StepSink<()>) {
        self.0.steps(state, sink);
    }
}

#[test]
fn labels_that_do_not_bind_may_be_left_out() {
    let (mut included, mut differs, mut loose) = (0u64, 0u64, 0u64);
    for seed in 0..SEEDS {
        let (a, b) = random_pair(&mut Generator(seed));
        let expected = difference(&a, &b, |symbol| symbol == 1);
        loose += u64::from(expected.is_none() && difference(&a, &b, |_| true).is_some());
        match compare(&Loose(a), &b, 1, &mut |_| true).0 {
            Outcome::Included => {
                assert_eq!(expected, None, "seed {seed}");
                included += 1;
            }
            Outcome::Differs { run, .. } => {
                let word = run.word();
                assert_eq!((Some(word.len()), word.last()), (expected, Some(&1)), "seed {seed}");
                assert!(!b.has(&word) && b.has(&word[..word.len() - 1]), "seed {seed}");
                differs += 1;
            }
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    let least = SEEDS / 20;
    assert!(included > least && differs > least && loose > least, "{included} {differs} {loose}");
}

#[test]
fn a_caller_can_stop() {
    let edges = (0..200).map(|k| vec![(SILENT, (k + 1) % 200)]).collect();
    let long = Explicit { edges };
    assert_eq!(compare(&long, &long, 2, &mut |_| false).0, Outcome::Stopped);
    assert!(Graph::explore(&long, |_, _| {}, |_, _| false).is_err());
}

/// Bits against searches from every state.
#[test]
fn bits_come_back_from_all_reachable_states() {
    for seed in 0..SEEDS / 10 {
        let automaton = Explicit::random(&mut Generator(seed));
        let mut steps = 0;
        let graph = Graph::explore(&automaton, |_, _| steps += 1, |_, _| true).expect("all of it");
        let number = |state: usize| graph.states.find(&[state as u8]);
        let reachable = |from: usize| {
            let mut seen = BTreeSet::from([from]);
            let mut open = vec![from];
            while let Some(state) = open.pop() {
                let next = automaton.edges[state].iter().map(|&(_, to)| to);
                open.extend(next.filter(|&to| seen.insert(to)));
            }
            seen
        };
        let met = reachable(0);
        assert_eq!(graph.states.len(), met.len(), "seed {seed}");
        assert_eq!(steps, met.iter().map(|&state| automaton.edges[state].len()).sum::<usize>());
        let mut bits = vec![0; graph.states.len()];
        met.iter().for_each(|&state| bits[number(state).expect("met") as usize] = 1 << state);
        graph.spread_back(&mut bits);
        for &state in &met {
            let expected = reachable(state).iter().fold(0, |bits, to| bits | 1 << to);
            assert_eq!(bits[number(state).expect("met") as usize], expected, "seed {seed}");
        }
    }
}
