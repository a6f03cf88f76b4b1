//! The trace monitor against every placement of the commits.

extern crate fencepost_serial as serial;

mod oracle;

use oracle::{Ask, cases, events, show, trace_by_insertion};
use serial::event::Event;
use serial::execution::{self, Question};
use serial::random::{Random, Shape, Style};
use serial::trace::{self, Effort, Strategy, judge_by};

const QUESTIONS: [(Question, Ask); 3] = [
    (Question::TsoSerializable, Ask::Tso),
    (Question::ScSerializable, Ask::Sc),
    (Question::ScEquivalent, Ask::Equivalent),
];

/// A small trace, with few enough writes that all placements of their commits can be tried.
fn small(seed: u64) -> Option<Vec<Event>> {
    let mut random = Random::new(seed ^ 0x7ace);
    let shape = Shape {
        threads: 2 + random.below(3),
        vars: 1 + random.below(3),
        events: 3 + random.below(9),
        transaction: 1 + random.below(4),
        commits: false,
        style: if random.chance(25) { Style::Fenced } else { Style::Free },
        seed,
    };
    let trace = shape.events();
    let writes = trace.iter().filter(|event| event.action.word() == "wr").count();
    (writes <= 5).then_some(trace)
}

/// Would catch a cycle missed, and a cycle that no execution shows.
#[test]
fn the_monitor_agrees_with_all_insertions_of_commits() {
    let mut violations = [0; 3];
    let mut effort = Effort::default();
    for (seed, trace) in (0..).filter_map(|seed| Some((seed, small(seed)?))).take(cases() as usize)
    {
        let evs = events(&trace);
        for (index, (question, ask)) in QUESTIONS.into_iter().enumerate() {
            let expected = trace_by_insertion(&evs, ask);
            violations[index] += u64::from(!expected);
            for strategy in [Strategy::ThreadSets, Strategy::PolynomialFirst] {
                let answer = judge_by(strategy, question, &trace);
                let text = show(&trace);
                let yes = answer.violation.is_none();
                assert_eq!(yes, expected, "{question:?}, {strategy:?}, seed {seed}: {text}");
                if let Some(found) = answer.violation {
                    assert!(execution::judge(question, &found.execution).is_some(), "{text}");
                }
                effort.exponential += answer.effort.exponential;
                effort.exhaustive += answer.effort.exhaustive;
            }
        }
    }
    println!("violations {violations:?}, {effort:?}");
    assert!(violations.iter().all(|&v| v > cases() / 200), "too few violations: {violations:?}");
}

/// A larger shape: only runs known to be serializable, so it would catch a false alarm.
#[test]
fn locked_and_published_traces_are_serializable() {
    for seed in 0..40 {
        for style in [Style::Locked, Style::Published] {
            for commits in [false, true] {
                let threads = 2 + seed as usize % 7;
                let shape =
                    Shape { threads, vars: 7, events: 3_000, transaction: 5, commits, style, seed };
                let recording = shape.events();
                let question = Question::TsoSerializable;
                if commits {
                    assert!(execution::judge(question, &recording).is_none(), "{shape:?}");
                } else {
                    assert!(trace::judge(question, &recording).violation.is_none(), "{shape:?}");
                }
            }
        }
    }
}

/// With many threads the search starts without keeping the set of threads used; the answers must be
/// those of executions drawn from the trace.
#[test]
fn with_many_threads_every_violating_execution_condemns_its_trace() {
    let mut violations = 0;
    for seed in 0..300 {
        let style = if seed % 3 == 0 { Style::Fenced } else { Style::Free };
        let shape =
            Shape { threads: 7, vars: 9, events: 30, transaction: 2, commits: true, style, seed };
        let execution = shape.events();
        let answer = trace::judge(Question::TsoSerializable, &oracle::forget_commits(&execution));
        if execution::judge(Question::TsoSerializable, &execution).is_some() {
            violations += 1;
            assert!(answer.violation.is_some(), "{}", show(&execution));
        }
    }
    assert!(violations > 30, "{violations}");
}
