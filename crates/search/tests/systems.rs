//! Models with reductions, with monitor bits, with states of varying length, and models that break the rules.
//!
//! What these would catch: a reduction that hides an action for ever, a second part that is asked for although the
//! first was enough, states of varying length that are confused or cut off, and memory written out of bounds.

extern crate fencepost_search as search;

use search::{Limit, Model, Options, Order, Report, Sink, Stop, Width, explore};
use std::sync::atomic::{AtomicU64, Ordering};

const ORDERS: [Order; 2] = [Order::Breadth, Order::Depth];

/// All ways to explore: in which order, and on how many cores.
const WAYS: [(Order, usize); 3] = [(Order::Breadth, 1), (Order::Breadth, 3), (Order::Depth, 1)];

fn run<M: Model>(model: &M, (order, jobs): (Order, usize)) -> Report<M::Finding> {
    explore(model, &Options { order, jobs, stop: Stop::AtEnd, ..Options::default() }, &|_| {})
}

/// Counters that do not depend on each other; each counts to `to`. The reduced part of an expansion moves the first
/// counter that is not done. Found is the state in which all are done.
struct Counters {
    count: usize,
    to: u8,
    /// How often the second part was asked for.
    seconds: AtomicU64,
}

impl Model for Counters {
    type Scratch = ();
    type Finding = usize;

    fn width(&self) -> Width {
        Width::Fixed(self.count)
    }

    fn scratch(&self) {}

    fn initial<S: Sink<usize>>(&self, (): &mut (), sink: &mut S) {
        sink.state(&vec![0; self.count]);
    }

    fn expand_reduced<S: Sink<usize>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        let first = state.iter().position(|&counter| counter < self.to);
        match first {
            Some(first) => {
                let mut next = state.to_vec();
                next[first] += 1;
                sink.state(&next);
            }
            None => sink.finding(self.count),
        }
    }

    fn expand<S: Sink<usize>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        self.seconds.fetch_add(1, Ordering::Relaxed);
        let first = state.iter().position(|&counter| counter < self.to);
        for k in first.map_or(0..0, |first| first + 1..self.count) {
            let mut next = state.to_vec();
            next[k] += 1;
            sink.state(&next);
        }
    }
}

/// Where the first part always leads to something new, the second is asked for at the end only.
#[test]
fn the_reduced_part_is_enough_if_one_of_its_states_is_new() {
    for way in WAYS {
        let model = Counters { count: 5, to: 9, seconds: AtomicU64::new(0) };
        let report = run(&model, way);
        assert!(report.exhausted);
        assert_eq!(report.progress.states, 5 * 9 + 1, "{way:?}");
        assert_eq!(model.seconds.into_inner(), 1, "{way:?}");
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.findings[0].path.len(), 5 * 9 + 1);
    }
}

/// A counter that runs in circles for ever, and another one that the reduced part always puts off.
struct Ignored;

impl Model for Ignored {
    type Scratch = ();
    type Finding = u8;

    fn width(&self) -> Width {
        Width::Fixed(2)
    }

    fn scratch(&self) {}

    fn initial<S: Sink<u8>>(&self, (): &mut (), sink: &mut S) {
        sink.state(&[0, 0]);
    }

    fn expand_reduced<S: Sink<u8>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        sink.finding(state[1]);
        sink.state(&[(state[0] + 1) % 7, state[1]]);
    }

    fn expand<S: Sink<u8>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if state[1] < 3 {
            sink.state(&[state[0], state[1] + 1]);
        }
    }
}

/// The circle is closed once, and there the other counter moves. The paths lead through both parts.
#[test]
fn no_action_is_put_off_for_ever() {
    for way in WAYS {
        let report = run(&Ignored, way);
        assert!(report.exhausted);
        assert_eq!(report.progress.states, 4 * 7);
        let found: Vec<_> = report.findings.iter().map(|found| found.finding).collect();
        assert_eq!(found, [0, 1, 2, 3], "{way:?}");
        for found in &report.findings {
            let last = found.path.last().expect("a path");
            assert_eq!(last[1], found.finding);
            for pair in found.path.windows(2) {
                let circles = pair[1][..] == [(pair[0][0] + 1) % 7, pair[0][1]];
                let counts = pair[1][..] == [pair[0][0], pair[0][1] + 1];
                assert!(circles || counts, "{pair:?}");
            }
        }
    }
}

/// Words over two letters, up to a length. Found are words that consist of the second letter.
struct Words(usize);

impl Model for Words {
    type Scratch = ();
    type Finding = usize;

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) {}

    fn initial<S: Sink<usize>>(&self, (): &mut (), sink: &mut S) {
        sink.state(b"");
    }

    fn expand<S: Sink<usize>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if state.iter().all(|&letter| letter == b'b') {
            sink.finding(state.len());
        }
        if state.len() < self.0 {
            // Each word twice, so that most are not new.
            for letter in *b"abba" {
                sink.state(&[state, &[letter]].concat());
            }
        }
    }
}

#[test]
fn words_of_all_lengths_are_told_apart() {
    let longest = if cfg!(miri) { 5 } else { 14 };
    for way in WAYS {
        let report = run(&Words(longest), way);
        assert!(report.exhausted);
        assert_eq!(report.progress.states, (2 << longest) - 1, "{way:?}");
        assert_eq!(report.progress.transitions, 4 * ((1 << longest) - 1));
        let mut found: Vec<_> = report.findings.iter().map(|found| found.finding).collect();
        found.sort_unstable();
        assert_eq!(found, (0..=longest).collect::<Vec<_>>());
        for found in &report.findings {
            let expected = (0..=found.finding).map(|length| vec![b'b'; length].into());
            assert_eq!(found.path, expected.collect::<Vec<Box<[u8]>>>());
        }
    }
}

/// States that double in length; expanding one looks at all its bytes.
struct Doubling(u32);

impl Model for Doubling {
    type Scratch = ();
    type Finding = ();

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) {}

    fn initial<S: Sink<()>>(&self, (): &mut (), sink: &mut S) {
        sink.state(&[0]);
    }

    fn expand<S: Sink<()>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        let power = state.len().ilog2();
        assert!(state.iter().all(|&byte| u32::from(byte) == power), "a state of 2^{power} bytes");
        match power < self.0 {
            true => sink.state(&vec![power as u8 + 1; 2 << power]),
            false => sink.finding(()),
        }
    }
}

/// Catches states that do not fit into the memory set aside for them.
#[test]
fn long_states_are_kept_whole() {
    let last = if cfg!(miri) { 8 } else { 20 };
    for way in WAYS {
        let report = run(&Doubling(last), way);
        assert!(report.exhausted && report.findings.len() == 1);
        assert_eq!(report.progress.states, u64::from(last) + 1);
        assert!(report.progress.bytes >= 2 << last, "{} bytes", report.progress.bytes);
    }
}

/// Where a broken model hands out a state of the wrong length.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Lie {
    Initial,
    Reduced,
    Rest,
}

/// Hands out a state that is longer, or shorter, than it said.
struct Liar(usize, Lie);

impl Liar {
    fn lie<S: Sink<()>>(&self, place: Lie, sink: &mut S) {
        if self.1 == place {
            sink.state(&vec![1; self.0]);
        }
    }
}

impl Model for Liar {
    type Scratch = ();
    type Finding = ();

    fn width(&self) -> Width {
        Width::Fixed(4)
    }

    fn scratch(&self) {}

    fn initial<S: Sink<()>>(&self, (): &mut (), sink: &mut S) {
        sink.state(&[0; 4]);
        self.lie(Lie::Initial, sink);
    }

    fn expand_reduced<S: Sink<()>>(&self, _: &[u8], (): &mut (), sink: &mut S) {
        self.lie(Lie::Reduced, sink);
    }

    fn expand<S: Sink<()>>(&self, _: &[u8], (): &mut (), sink: &mut S) {
        self.lie(Lie::Rest, sink);
    }
}

/// A safe trait cannot be trusted: writing such a state would write out of bounds. The report says so, and does not
/// claim that everything was seen.
#[test]
fn a_state_of_another_length_is_refused() {
    for lie in [Lie::Initial, Lie::Reduced, Lie::Rest] {
        for bytes in [0, 3, 5, 9999] {
            for way in WAYS {
                let report = run(&Liar(bytes, lie), way);
                assert_eq!(report.limit, Some(Limit::Malformed { bytes }), "{lie:?} {way:?}");
                assert!(!report.exhausted);
                assert_eq!(report.progress.states, 1);
            }
        }
    }
}

/// States with monitor bits behind their core: those with fewer bits are not explored.
struct Monitored;

impl Model for Monitored {
    type Scratch = ();
    type Finding = ();

    fn width(&self) -> Width {
        Width::Monitored { core: 1, bytes: 2 }
    }

    fn scratch(&self) {}

    fn initial<S: Sink<()>>(&self, (): &mut (), sink: &mut S) {
        sink.state(&[0, 0]);
    }

    fn expand<S: Sink<()>>(&self, state: &[u8], (): &mut (), sink: &mut S) {
        if state[0] < 50 {
            sink.state(&[state[0] + 1, 0b11]);
            sink.state(&[state[0] + 1, 0b01]);
        }
    }
}

#[test]
fn covered_states_are_left_out() {
    for order in ORDERS {
        let report = run(&Monitored, (order, 1));
        assert!(report.exhausted);
        assert_eq!(report.progress.states, 51, "{order:?}");
    }
}
