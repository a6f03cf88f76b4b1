//! Assertions and run-time errors on machines with store buffers, against all runs of the machine.
//!
//! The check explores attacks and interleavings and never a buffer; here every state of the machine with
//! its buffers is visited. Catches a failure that only buffers have but "holds" hides, a failure that
//! is made up, a mistake in the theorem that connects the two searches, and a program with fences that is taken for one without
//! run-time errors.
//! `FENCEPOST_ORACLE_PROGRAMS` sets how many programs per machine.

extern crate fencepost_check as check;

mod unequal;

use check::answer::By;
use check::fix::fences::{Aim, Unproved, verify};
use check::outcomes::{Limits, outcomes};
use check::robustness::store_atomic::{Machine, decide};
use check::{Property, Question, Reductions, Verdict};
use graph::{Outcome, Status};
use ir::random::{Allow, Config, program};
use unequal::{as_store_buffering, make_uneven, with_observer};

fn count() -> u64 {
    std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

fn configs() -> Vec<Config> {
    let asserts = Allow { asserts: true, branches: true, ..Allow::NOTHING };
    let arrays = Allow { arrays: true, assignments: true, ..asserts };
    let everything = Allow { loops: false, na: true, ..Allow::EVERYTHING };
    let base = Config { threads: 2..=2, instructions: 2..=4, ..Config::default() };
    let observed =
        Config { instructions: 2..=3, registers: 1, allow: Allow::NOTHING, ..base.clone() };
    vec![
        observed.clone(),
        observed,
        Config { allow: asserts, ..base.clone() },
        Config { allow: arrays, ..base.clone() },
        Config { allow: Allow { fadd: true, sc_fences: true, ..asserts }, ..base.clone() },
        Config { allow: everything, ..base.clone() },
        Config { threads: 3..=3, instructions: 1..=3, allow: arrays, ..base.clone() },
        Config { threads: 2..=2, instructions: 4..=6, allow: asserts, ..base },
    ]
}

#[derive(Default, Debug)]
struct LoopCounter {
    hold: u64,
    fail: u64,
    faulty: u64,
    only_weak: u64,
    undecided: u64,
    /// Verified by the search for attacks alone, or without any.
    verified: [u64; 2],
}

fn agree(machine: Machine) {
    let configs = configs();
    let limits = Limits { states: 30_000, buffer: 16, ..Limits::default() };
    let (mut judged, mut skipped, mut seed, mut aimed) = (0, 0, 0, 0);
    let mut loop_counter = LoopCounter::default();
    while judged < count() {
        seed += 1;
        let config = &configs[seed as usize % configs.len()];
        let mut one = program(seed, config);
        make_uneven(&mut one, seed);
        if config.allow == Allow::NOTHING {
            if (seed / configs.len() as u64).is_multiple_of(2) {
                as_store_buffering(&mut one, seed);
            }
            // Something that only buffers do, if there is such a thing, and nobody has noticed yet.
            let ends = outcomes(&one, machine, &limits).outcomes;
            let said = |end: &Outcome| [0, 1].map(|t: usize| end.state.threads[t].registers[0]);
            let known: Vec<_> = ends.iter().filter(|end| end.under_sc).map(said).collect();
            let weak = ends.iter().map(said).find(|said| !known.contains(said));
            aimed += u64::from(weak.is_some());
            with_observer(&mut one, weak.or(known.first().copied()).unwrap_or_default());
        }
        let all = outcomes(&one, machine, &limits);
        if all.cut.is_some() {
            skipped += 1;
            continue;
        }
        judged += 1;
        let ends = |wanted: fn(Status) -> bool, sc: bool| {
            let states = all.outcomes.iter().filter(|outcome| !sc || outcome.under_sc);
            states.flat_map(|outcome| &outcome.state.threads).any(|end| wanted(end.status))
        };
        let fails: fn(Status) -> bool = |status| status == Status::Failed;
        let faults: fn(Status) -> bool = |status| matches!(status, Status::Faulted(_));
        loop_counter.only_weak += u64::from(ends(fails, false) && !ends(fails, true));
        let mut aims = vec![Aim::Robust(machine)];
        if machine == Machine::Tso {
            aims.push(Aim::TriangularRaceFree);
        }
        for aim in aims {
            let verified = verify(&one, &[aim], &Question::of(machine));
            let faulty = ends(faults, false);
            let context =
                || format!("seed {seed}, {aim}: {verified:?}\n{}", ir::print::program(&one));
            match verified {
                Ok(()) => assert!(!faulty, "a run-time error is missed: {}", context()),
                Err(Unproved::Faulty(_)) => assert!(faulty, "no run-time error: {}", context()),
                Err(_) => {}
            }
            if verified.is_ok() && aim == Aim::Robust(machine) {
                let decided = decide(&one, machine, &Question::of(machine), &|_, _| {});
                let by = decided.expect("can be checked").0.by;
                let searched = !matches!(by, By::Attacks { examined: 0, .. });
                loop_counter.verified[usize::from(searched)] += 1;
            }
        }
        let mut properties = vec![Property::Robustness];
        if machine == Machine::Tso {
            properties.push(Property::TriangularRaces);
        }
        for (property, reductions) in
            properties.into_iter().flat_map(|p| [(p, Reductions::ALL), (p, Reductions::NONE)])
        {
            let question = Question { property, reductions, ..Question::of(machine) };
            let answer = check::check(&one, &question, &|_, _| {}).expect("can be checked");
            let robust = answer.verdict(property).is_some_and(Verdict::holds);
            let verdict = answer.verdict(Property::Assertions).expect("an answer");
            let found_fault = !answer.faults.is_empty();
            let context = || {
                let text = ir::print::program(&one);
                format!(
                    "seed {seed}, {machine}, {property}, {reductions}: robust {robust}, \
                     assertions {}, fault {found_fault}\n{text}",
                    verdict.name()
                )
            };
            match verdict.name() {
                "holds" => {
                    assert!(!ends(fails, false), "an assertion fails: {}", context());
                    assert!(!ends(faults, false), "there is a run-time error: {}", context());
                    loop_counter.hold += 1;
                }
                "violated" => {
                    assert!(ends(fails, true), "no assertion fails under SC: {}", context());
                    loop_counter.fail += 1;
                }
                _ => {
                    assert!(!robust, "robust, but undecided: {}", context());
                    loop_counter.undecided += 1;
                }
            }
            if found_fault {
                assert!(ends(faults, false), "no run-time error: {}", context());
                loop_counter.faulty += 1;
            } else if robust {
                assert!(!ends(faults, false), "a run-time error is missed: {}", context());
            } else {
                assert!(!ends(faults, true), "a run-time error is missed: {}", context());
            }
        }
    }
    eprintln!("{machine}: {judged} programs, {aimed} aimed, {skipped} too large, {loop_counter:?}");
    let LoopCounter { hold, fail, faulty, only_weak, undecided, verified } = loop_counter;
    assert!(verified.iter().all(|&times| times * 20 > judged), "{verified:?}");
    assert!(
        [hold, fail, faulty, undecided].iter().all(|&times| times * 20 > judged)
            && only_weak * 200 > judged,
        "the programs are too much alike"
    );
}

#[test]
fn tso_failures_are_those_of_the_machine() {
    agree(Machine::Tso);
}

#[test]
fn pso_failures_are_those_of_the_machine() {
    agree(Machine::Pso);
}

#[test]
fn pgas_failures_are_those_of_the_machine() {
    agree(Machine::Pgas);
}
