//! The trace monitor against every placement of the commits.

mod oracle;

use oracle::{Ask, cases, events, show, trace_by_insertion};
use serial::execution::{self, Question};
use serial::random::{Random, Shape, Style};
use serial::trace;

const QUESTIONS: [(Question, Ask); 3] = [
    (Question::TsoSerializable, Ask::Tso),
    (Question::ScSerializable, Ask::Sc),
    (Question::ScEquivalent, Ask::Equivalent),
];

fn small(seed: u64) -> Shape {
    let mut random = Random::new(seed ^ 0x7ace);
    Shape {
        threads: 2 + random.below(3),
        vars: 1 + random.below(3),
        events: 3 + random.below(7),
        transaction: 1 + random.below(4),
        commits: false,
        style: if random.chance(25) { Style::Fenced } else { Style::Free },
        seed,
    }
}

/// Would catch a cycle missed, and a cycle that no execution shows.
#[test]
fn the_monitor_agrees_with_all_insertions_of_commits() {
    let mut violations = [0; 3];
    for seed in 0..cases() {
        let recording = small(seed).events();
        let evs = events(&recording);
        for (index, (question, ask)) in QUESTIONS.into_iter().enumerate() {
            let answer = trace::judge(question, &recording);
            let expected = trace_by_insertion(&evs, ask);
            let text = show(&recording);
            assert_eq!(answer.violation.is_none(), expected, "{question:?}, seed {seed}: {text}");
            if let Some(found) = answer.violation {
                violations[index] += 1;
                assert!(execution::judge(question, &found.execution).is_some(), "{text}");
            }
            if answer.effort.exhaustive > 0 {
                println!("exhaustive: {:?} {text}", answer.effort);
            }
        }
    }
    println!("{violations:?}");
    assert!(violations.iter().all(|&v| v > cases() / 200), "too few violations: {violations:?}");
}
