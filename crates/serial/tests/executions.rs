//! The execution monitors against the definitions.

extern crate fencepost_serial as serial;

mod oracle;

use oracle::{Ask, by_graph, by_permutation, cases, events, show};
use serial::event::{Action, Data, Event, Place, Thread, Var};
use serial::execution::{ExecutionMonitor, Question, judge};
use serial::random::{Random, Shape, Style};

const QUESTIONS: [(Question, Ask); 3] = [
    (Question::TsoSerializable, Ask::Tso),
    (Question::ScSerializable, Ask::Sc),
    (Question::ScEquivalent, Ask::Equivalent),
];

fn small(seed: u64, events: usize) -> Shape {
    let mut random = Random::new(seed);
    Shape {
        threads: 2 + random.below(3),
        vars: 1 + random.below(3),
        events: 3 + random.below(events - 2),
        transaction: 1 + random.below(4),
        commits: true,
        style: if random.chance(25) { Style::Fenced } else { Style::Free },
        seed,
    }
}

/// Would catch a conflict missed, invented or wrongly taken as implied, and a node freed too early.
#[test]
fn monitors_agree_with_the_conflict_graph_and_with_all_permutations() {
    let mut violations = [0; 3];
    for seed in 0..cases() {
        let length = if seed % 2 == 0 { 8 } else { 24 };
        let mut recording = small(seed, length).events();
        if seed % 3 == 0 {
            // An execution may stop with writes uncommitted.
            while matches!(recording.last(), Some(e) if e.action.word() == "commit") {
                recording.pop();
            }
        }
        let evs = events(&recording);
        for (index, (question, ask)) in QUESTIONS.into_iter().enumerate() {
            let violation = judge(question, &recording);
            let expected = by_graph(&evs, ask);
            assert_eq!(
                violation.is_none(),
                expected,
                "{question:?}, seed {seed}: {}",
                show(&recording)
            );
            if evs.len() <= 7 {
                assert_eq!(by_permutation(&evs, ask), expected, "{ask:?}: {}", show(&recording));
            }
            let mut forgetful = ExecutionMonitor::with_limit(question, seed as usize % 4);
            recording.iter().for_each(|event| forgetful.step(event));
            assert_eq!(forgetful.violation().is_none(), expected, "contracted, seed {seed}");
            if let Some(violation) = violation {
                violations[index] += 1;
                let cycle = &violation.cycle;
                assert!(cycle.len() >= 2, "{}", show(&recording));
                for (step, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                    assert!(step.leaves.at < step.enters.at);
                    assert_eq!(step.enters.thread, next.unit.thread);
                    assert_eq!(step.leaves.thread, step.unit.thread);
                }
            }
        }
    }
    assert!(violations.iter().all(|&v| v > cases() / 200), "too few violations: {violations:?}");
}

/// Would catch memory that grows while a transaction stays open: everything after it is reachable
/// from it, and nothing of that is over in the sense of the collector.
#[test]
fn a_transaction_that_stays_open_does_not_fill_the_memory() {
    let event = |thread: u32, action: Action, line: u32| Event {
        thread: Thread(thread),
        action,
        line,
        place: Place::UNKNOWN,
        data: Data::NONE,
    };
    for question in [Question::TsoSerializable, Question::ScSerializable] {
        let mut monitor = ExecutionMonitor::with_limit(question, 500);
        monitor.step(&event(0, Action::Begin(None), 1));
        monitor.step(&event(0, Action::Read(Var(0)), 2));
        for round in 0..20_000 {
            let (thread, var) = (1 + round % 5, Var(round % 7));
            for action in [Action::Read(var), Action::Write(var), Action::Commit(var)] {
                monitor.step(&event(thread, action, 3 + round));
            }
        }
        assert!(monitor.violation().is_none());
        assert!(monitor.load().peak < 2_000, "{:?}", monitor.load());
        monitor.step(&event(0, Action::Read(Var(3)), 30_000));
        assert!(monitor.violation().is_some(), "0 reads what follows its own first read");
    }
}

/// Would catch a table that forgets a write which has reached memory but that no fence has followed: the
/// thread's reads of it still precede nothing that comes after them.
#[test]
fn a_committed_write_still_serves_reads_when_tables_are_swept() {
    let event = |thread: u32, action: Action, line: u32| Event {
        thread: Thread(thread),
        action,
        line,
        place: Place::UNKNOWN,
        data: Data::NONE,
    };
    let [x, z] = [Var(0), Var(1)];
    for fenced in [false, true] {
        let mut monitor = ExecutionMonitor::with_limit(Question::TsoSerializable, 0);
        for var in [x, Var(2), Var(3), Var(4), Var(5)] {
            monitor.step(&event(1, Action::Write(var), 1));
            monitor.step(&event(1, Action::Commit(var), 1));
        }
        if fenced {
            monitor.step(&event(1, Action::Fence, 2));
        }
        monitor.step(&event(2, Action::Begin(None), 3));
        for (thread, action) in [
            (2, Action::Write(x)),
            (2, Action::Commit(x)),
            (1, Action::Read(x)),
            (1, Action::Read(z)),
            (2, Action::Write(z)),
            (2, Action::Commit(z)),
        ] {
            monitor.step(&event(thread, action, 4));
        }
        assert_eq!(monitor.violation().is_some(), fenced);
    }
}
