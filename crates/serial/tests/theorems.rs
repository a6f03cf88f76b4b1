//! Theorems 2 and 3 and Proposition 2 of the paper, on random executions and traces.

extern crate fencepost_serial as serial;

mod oracle;

use oracle::{Ask, by_graph, cases, events, forget_commits, sc_execution, show};
use serial::execution::{self, Question};
use serial::random::{Random, Shape, Style};
use serial::trace;

fn shape(seed: u64, style: Style, commits: bool) -> Shape {
    let mut random = Random::new(seed ^ 0x7e0);
    Shape {
        threads: 2 + random.below(3),
        vars: 1 + random.below(3),
        events: 4 + random.below(16),
        transaction: 1 + random.below(4),
        commits,
        style,
        seed,
    }
}

fn yes(question: Question, execution: &[serial::event::Event]) -> bool {
    execution::judge(question, execution).is_none()
}

/// Theorem 2: robust and SC-serializable, hence TSO-serializable. The SC execution that an
/// SC-equivalent execution stands for is made and judged by the definition.
#[test]
fn theorem_2() {
    let mut applied = 0;
    for seed in 0..cases() {
        let recording = shape(seed, Style::Free, true).events();
        let evs = events(&recording);
        let sc = sc_execution(&evs);
        assert_eq!(sc.is_some(), yes(Question::ScEquivalent, &recording), "{}", show(&recording));
        if sc.is_some_and(|sc| by_graph(&sc, Ask::Sc)) {
            applied += 1;
            assert!(yes(Question::TsoSerializable, &recording), "{}", show(&recording));
            assert!(yes(Question::ScSerializable, &recording), "{}", show(&recording));
        }
    }
    assert!(applied > cases() / 20);
}

/// Theorem 3, for executions: if all transactions are fenced, the converse holds.
#[test]
fn theorem_3_for_executions() {
    let mut violations = 0;
    for seed in 0..cases() {
        let recording = shape(seed, Style::Fenced, true).events();
        let tso = yes(Question::TsoSerializable, &recording);
        let robust = yes(Question::ScEquivalent, &recording);
        let sc = yes(Question::ScSerializable, &recording);
        assert_eq!(tso, robust && sc, "{}", show(&recording));
        violations += u64::from(!tso);
    }
    assert!(violations > cases() / 20);
}

/// Theorem 3, for traces: what the monitor for transaction-fenced traces relies on.
#[test]
fn theorem_3_for_traces() {
    let mut violations = 0;
    for seed in 0..cases() {
        let recording = shape(seed, Style::Fenced, false).events();
        assert!(trace::is_transaction_fenced(&recording));
        let [tso, sc, robust] =
            Question::ALL.map(|question| trace::judge(question, &recording).violation.is_none());
        assert_eq!(tso, robust && sc, "{}", show(&recording));
        violations += u64::from(!tso);
    }
    assert!(violations > cases() / 20);
}

/// Proposition 2: a violating execution condemns its trace.
#[test]
fn proposition_2() {
    let mut violations = 0;
    for seed in 0..cases() {
        let recording = shape(seed, Style::Free, true).events();
        let trace = forget_commits(&recording);
        for question in Question::ALL {
            if !yes(question, &recording) {
                violations += 1;
                assert!(trace::judge(question, &trace).violation.is_some(), "{}", show(&recording));
            }
        }
    }
    assert!(violations > cases() / 20);
}
