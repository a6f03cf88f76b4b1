//! The packed monitors (c) against the two oracles of `graph`: (a) the definitions on all
//! consistent graphs and (b) the monitors on explicit graphs. Models other than RC11 are RC11 on a
//! program with other words.
//!
//! `FENCEPOST_ORACLE_PROGRAMS` sets how many programs are tried; every program is a function of its
//! seed and its family, and a failure prints both.

extern crate fencepost_check as check;

use check::{Model, Property, Question, Verdict, Why};
use graph::{self, Limits, monitor};
use ir::Program;
use ir::random::{self, Allow, Config};
use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of random programs without loops; each catches what the others seldom produce.
fn families() -> Vec<(&'static str, Config)> {
    let small = Config { instructions: 2..=4, ..Config::default() };
    let loop_free = Allow { loops: false, light_fences: false, ..Allow::EVERYTHING };
    let allow = |allow: Allow| Config { allow, ..small.clone() };
    vec![
        ("everything", allow(loop_free)),
        ("loads and stores", allow(Allow::NOTHING)),
        ("dependencies", allow(Allow { asserts: true, assignments: true, ..Allow::NOTHING })),
        (
            "updates",
            allow(Allow { fadd: true, exchange: true, cas: true, bcas: true, ..Allow::NOTHING }),
        ),
        ("bits", allow(Allow { fetch: true, cas: true, branches: true, ..Allow::NOTHING })),
        (
            "compare with what was loaded",
            allow(Allow { cas: true, bcas: true, wait: true, loaded: true, ..Allow::NOTHING }),
        ),
        ("waits", allow(Allow { wait: true, cas: true, fences: true, ..Allow::NOTHING })),
        ("fences", allow(Allow { fences: true, sc_fences: true, ..Allow::NOTHING })),
        ("SC fences", {
            let allow = Allow { sc_fences: true, ..Allow::NOTHING };
            Config { threads: 3..=3, instructions: 2..=3, locations: 3, allow, ..small.clone() }
        }),
        ("races", allow(Allow { na: true, wait: true, fences: true, ..Allow::NOTHING })),
        ("arrays", allow(Allow { arrays: true, asserts: true, ..Allow::NOTHING })),
    ]
}

fn programs() -> u64 {
    let asked = std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(1000)
}

/// Is it violated? Fails if a certificate was rejected or the search was cut short.
fn violated(answer: &check::Answer, property: Property) -> Result<bool, String> {
    match answer.verdict(property) {
        Some(Verdict::Violated(witness)) => {
            if property != Property::Assertions && witness.certificate().is_none() {
                return Err(format!("{property} without certificate"));
            }
            Ok(true)
        }
        Some(Verdict::Undecided(why @ (Why::Rejected | Why::GaveUp | Why::Limit(_)))) => {
            Err(format!("{property}: {why}"))
        }
        _ => Ok(false),
    }
}

fn compare(program: &Program) -> Result<(), String> {
    let limits = Limits { unroll: 100, graphs: usize::MAX };
    let oracle = monitor::verdicts(program, &limits);
    let question = Question::default();
    let plain = check::check(program, &question, &|_, _| {}).expect("a legal question");
    let property = Property::ObservationalRobustness;
    let observational = check::check(program, &Question { property, ..question }, &|_, _| {})
        .expect("a legal question");
    let same = |what: &str, packed: bool, expected: bool| match packed == expected {
        true => Ok(()),
        false => Err(format!("{what}: packed monitors say violated={packed}, oracle {expected}")),
    };
    let robust = !violated(&plain, Property::Robustness)?;
    let racy = violated(&plain, Property::Races)?;
    same("races", racy, oracle.race.is_some())?;
    let observed = violated(&observational, Property::ObservationalRobustness)?;
    if !racy {
        // A race is undefined behaviour; what else a racy program does is not asked.
        same("robustness", !robust, oracle.robust_at_atomics.is_some())?;
    }
    if !racy && oracle.race_with_taint.is_none() {
        same("observational robustness", observed, oracle.observational.is_some())?;
    }
    if !robust && !observed {
        let races = violated(&observational, Property::Races)?;
        same("races with taint", races, oracle.race_with_taint.is_some())?;
    }
    // (a), directly.
    let both = graph::is_robust_and_race_free(program, &limits).holds();
    same("robust and race-free, by definition", !robust || racy, !both)?;
    if observational.verdict(Property::ObservationalRobustness).is_some_and(Verdict::holds) {
        let holds = graph::is_observationally_robust(program, &limits).holds();
        same("observational robustness, by definition", false, !holds)?;
    }
    let outcomes = graph::outcomes(program, &limits);
    let fails = outcomes.outcomes.iter().any(|end| end.under_sc && end.state.has_failed());
    let sc = check::check(program, &Question::of(Model::Sc), &|_, _| {}).expect("a legal question");
    same("assertions under SC", violated(&sc, Property::Assertions)?, fails)
}

/// Catches any wrong row operation, column, reduction or certificate of the packed monitors.
#[test]
fn packed_monitors_agree_with_graphs() {
    let families = families();
    let next = AtomicU64::new(0);
    let count = programs();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        return;
                    }
                    let (family, config) = &families[seed as usize % families.len()];
                    let program = random::program(seed, config);
                    for (model, program) in [
                        ("rc11", random::with_sc_events(program.clone(), seed)),
                        ("rc20", program.rc20()),
                        ("ra", program.release_acquire()),
                    ] {
                        if let Err(error) = compare(&program) {
                            panic!(
                                "seed {seed}, family {family}, model {model}: {error}\n{}",
                                ir::print::program(&program)
                            );
                        }
                    }
                }
            });
        }
    });
}

/// What SC fences order is not happens-before: with all locations watched at once, because of two loads
/// that may be stale and are not used, the race on `n` is still found.
#[test]
fn sc_fences_do_not_prevent_races() {
    let text = "max_value 1; atomic u, v, w, y; na n;
        thread owner { local a; n.nastore(1); fence(sc); a = y.load(); if (a == 0) { w.store(1); } }
        thread other { local b, c; y.store(1); fence(sc); b = w.load(); if (b == 1) { c = n.naload(); } }
        thread left { local r; u.store(1); r = v.load(); }
        thread right { local r; v.store(1); r = u.load(); }";
    let program = lang::parse("race", text).expect("a good program").program;
    let property = Property::ObservationalRobustness;
    let question = Question { property, ..Question::default() };
    let answer = check::check(&program, &question, &|_, _| {}).expect("a legal question");
    assert_eq!(violated(&answer, Property::Races), Ok(true));
    let rc20 = check::check(&program, &Question { model: Model::Rc20, ..question }, &|_, _| {});
    assert_eq!(violated(&rc20.expect("a legal question"), Property::Races), Ok(false));
}
