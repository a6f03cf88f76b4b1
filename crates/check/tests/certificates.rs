//! Where there is no certificate: a disagreement with the judge and a search that was not carried to its
//! end are two things. Catches calling the second a bug, and the first an effort.

use check::certificate::{Missing, certify};
use check::{Model, Problem, Settings};
use model::memory::rc20::Robustness;
use std::time::Instant;

/// What certifying a stale last load says, in a thread alone, where no load is ever stale.
fn missing(loads: usize, robustness: Robustness, deadline: Option<Instant>) -> Missing {
    let loads = "r = x.load(rlx); ".repeat(loads);
    let text =
        format!("atomic x; thread t {{ local r; x.store(1, rlx); {loads} assert(r == 0); }}");
    let source = lang::parse("t.fp", &text).expect("a program");
    let settings = Settings { model: Model::Sc, ..Settings::default() };
    let outcome = check::check(&source.program, &settings, &|_, _| {});
    let run = &outcome.answers[0].1.witness().expect("the assertion fails").run;
    let is_load = |step: &check::replay::RunStep| {
        matches!(source.program.step(step.tid, step.pc).instr, model::Instr::Load { .. })
    };
    let last = run.iter().rposition(is_load).expect("a load");
    let place = (run[last].tid, run[last].pc);
    certify(&source.program, &run[..last], place, Problem::Stale, robustness, deadline)
        .expect_err("nothing is stale here")
}

#[test]
fn everything_was_tried() {
    assert_eq!(missing(8, Robustness::Plain, None), Missing::Rejected);
    assert_eq!(missing(2, Robustness::Observational, None), Missing::Rejected);
}

#[test]
fn not_everything_was_tried() {
    assert_eq!(missing(8, Robustness::Observational, None), Missing::GaveUp);
    assert_eq!(missing(2, Robustness::Observational, Some(Instant::now())), Missing::GaveUp);
}
