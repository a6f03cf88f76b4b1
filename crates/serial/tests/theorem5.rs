//! Theorem 5 as printed, and as it holds.

extern crate fencepost_serial as serial;

mod oracle;

use oracle::{Ask, Valid, cases, events, parse, show, trace_by_insertion, trace_by_orientation};
use serial::random::{Random, Shape, Style};

fn small(seed: u64) -> Shape {
    let mut random = Random::new(seed ^ 0x5eed);
    Shape {
        threads: 2 + random.below(3),
        vars: 1 + random.below(3),
        events: 3 + random.below(6),
        transaction: 1 + random.below(4),
        commits: false,
        style: if random.chance(25) { Style::Fenced } else { Style::Free },
        seed,
    }
}

/// Orientations that some placement of the commits realizes decide trace serializability; those
/// that are merely acyclic (the theorem as printed) can only err towards "violation".
#[test]
fn orientations_agree_with_insertions_of_commits() {
    let (mut violations, mut differences) = (0, 0);
    for seed in 0..cases() {
        let recording = small(seed).events();
        let trace = events(&recording);
        let expected = trace_by_insertion(&trace, Ask::Tso);
        let corrected = trace_by_orientation(&trace, Valid::Realizable);
        assert_eq!(corrected, expected, "seed {seed}: {}", show(&recording));
        let printed = trace_by_orientation(&trace, Valid::AsPrinted);
        assert!(expected || !printed, "seed {seed}: {}", show(&recording));
        violations += u64::from(!expected);
        differences += u64::from(expected != printed);
    }
    println!("{violations} violations, {differences} differences");
    assert!(violations > cases() / 50);
    assert!(differences > 0, "the counterexamples have gone: is the oracle still the definition?");
}

/// The smallest counterexample to the theorem as printed. The read may be served by the buffer, so
/// both its conflict with the foreign write and that of the writes are undirected, and
/// `0:wr0 → 1:wr0 → 0:rd0` is acyclic. But the foreign write is issued after the read.
#[test]
fn three_events_refute_the_theorem_as_printed() {
    let trace = events(&parse("0:begin 0:wr0 0:rd0 0:end 1:wr0"));
    assert!(!trace_by_orientation(&trace, Valid::AsPrinted));
    assert!(trace_by_orientation(&trace, Valid::Realizable));
    assert!(trace_by_insertion(&trace, Ask::Tso));
}

/// Without buffered reads: two reads of different threads that the orientation wants in the other
/// order than the trace has them.
#[test]
fn the_order_of_foreign_reads_refutes_it_too() {
    let text = "0:wr0 0:wr1 1:begin 1:wr2 1:rd1 1:end 2:begin 2:rd0 2:rd2 2:end";
    let trace = events(&parse(text));
    assert!(!trace_by_orientation(&trace, Valid::AsPrinted));
    assert!(trace_by_orientation(&trace, Valid::Realizable));
    assert!(trace_by_insertion(&trace, Ask::Tso));
}

/// Lemma 2 (and so the first half of Theorem 4) as printed: the event graph of every execution, with
/// writes and their commits merged, is an orientation of the trace's. In this trace the buffer serves
/// the read while the other thread commits, and the pair has no edge at all.
#[test]
fn lemma_2_as_printed_has_a_counterexample() {
    let trace = "0:wr0 1:wr0 0:rd0";
    let execution = "0:wr0 1:wr0 0:rd0 1:c0 0:c0";
    let pair_in_trace = (1, 2);
    assert!(oracle::undirected(&events(&parse(trace))).contains(&pair_in_trace));
    let edges = oracle::merged_edges(&events(&parse(execution)));
    assert!(!edges.contains(&(1, 2)) && !edges.contains(&(2, 1)), "{edges:?}");
    // Where the other commit comes first, there is an edge.
    let other = oracle::merged_edges(&events(&parse("0:wr0 1:wr0 1:c0 0:c0 0:rd0")));
    assert!(other.iter().any(|&(from, to)| from == 1 && to == 4), "{other:?}");
}
