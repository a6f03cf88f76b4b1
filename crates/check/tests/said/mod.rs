//! What an outcome says, as far as it must not depend on how it was found.

use check::{Outcome, Verdict, Why};

/// Each verdict with its reason, and whether there are run-time errors and results that wrap around.
/// "Holds" and "undecided" are different things.
pub fn said(outcome: &Outcome) -> Vec<String> {
    let verdict = |verdict: &Verdict| match verdict {
        Verdict::Undecided(Why::Rejected) => panic!("the judge disagrees with the monitors"),
        Verdict::Undecided(why) => format!("undecided: {why}"),
        verdict => verdict.name().to_string(),
    };
    let answers = outcome.answers.iter();
    answers
        .map(|(property, answer)| format!("{property} {}", verdict(answer)))
        .chain([format!("run-time errors {}", !outcome.faults.is_empty())])
        .chain([format!("wraps {}", !outcome.wrapped.is_empty())])
        .collect()
}
