//! What an answer says, as far as it must not depend on how it was found.

use check::{Answer, Verdict, Why};

/// Each verdict with its reason, what is said of a final condition, and whether there are run-time errors and results that wrap around.
/// "Holds" and "undecided" are different things.
pub(crate) fn said(answer: &Answer) -> Vec<String> {
    let verdict = |verdict: &Verdict| match verdict {
        Verdict::Undecided(Why::Rejected) => panic!("the judge disagrees with the monitors"),
        Verdict::Undecided(why) => format!("undecided: {why}"),
        verdict => verdict.name().to_string(),
    };
    let decisions = answer.decisions.iter();
    decisions
        .map(|one| format!("{} {}", one.property, verdict(&one.verdict)))
        .chain(answer.reach.map(|reach| format!("exists {reach:?}")))
        .chain([format!("run-time errors {}", !answer.faults.is_empty())])
        .chain([format!("wraps {}", !answer.wrapped.is_empty())])
        .collect()
}
