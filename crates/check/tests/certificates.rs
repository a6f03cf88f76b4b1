//! Where there is no certificate: a disagreement with the judge and a search that was not carried to its
//! end are two things. Catches calling the second a bug, and the first an effort.

extern crate fencepost_check as check;

use budget::Budget;
use check::certificate::{Certified, certify};
use check::{Model, Problem, Question, Why};
use memory::rc20::Robustness;
use std::time::Duration;

/// What certifying a stale last load says, in a thread alone, where no load is ever stale.
fn missing(loads: usize, robustness: Robustness, budget: Budget) -> Option<Why> {
    let loads = "r = x.load(rlx); ".repeat(loads);
    let text =
        format!("atomic x; thread t {{ local r; x.store(1, rlx); {loads} assert(r == 0); }}");
    let source = lang::parse("t.fp", &text).expect("a program");
    let question = Question { model: Model::Sc, ..Question::default() };
    let answer = check::check(&source.program, &question, &|_, _| {}).expect("a legal question");
    let run = answer.decisions[0].verdict.witness().expect("the assertion fails").run();
    let is_load = |step: &check::replay::RunStep| {
        matches!(source.program.step(step.tid, step.pc).instr, ir::Instr::Load { .. })
    };
    let last = run.iter().rposition(is_load).expect("a load");
    let place = (run[last].tid, run[last].pc);
    match certify(&source.program, &run[..last], place, Problem::Stale, robustness, budget) {
        Certified::Accepted(..) => panic!("nothing is stale here"),
        Certified::Rejected => None,
        Certified::GaveUp(why) => Some(why),
    }
}

#[test]
fn everything_was_tried() {
    assert_eq!(missing(8, Robustness::Plain, Budget::UNLIMITED), None);
    assert_eq!(missing(2, Robustness::Observational, Budget::UNLIMITED), None);
}

#[test]
fn not_everything_was_tried() {
    assert_eq!(missing(8, Robustness::Observational, Budget::UNLIMITED), Some(Why::GaveUp));
    let spent = Budget::new(Some(Duration::ZERO), None);
    let limit = Why::Limit(search::Limit::Time);
    assert_eq!(missing(2, Robustness::Observational, spent), Some(limit));
}
