//! The weak memory against all RC11-consistent graphs: races, failed assertions and final states of random programs
//! without loops agree exactly. Catches a rule of `memory::rc11` that allows too much or too little, and a state that
//! forgets something that still matters.

use fencepost_check as check;

use check::weak::system::{Finding, System};
use graph::axioms::races;
use graph::{Limits, Status, enumerate};
use ir::random::{self, Allow, Config};
use ir::{Pc, Program, Tid, Value};
use search::{Options, Paths, Stop};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What can happen in a program.
#[derive(Default, PartialEq, Eq, Debug)]
struct Happens {
    races: bool,
    failed: BTreeSet<(Tid, Pc)>,
    ends: BTreeSet<Vec<Value>>,
}

fn by_definition(program: &Program, limits: &Limits) -> Option<Happens> {
    let mut all = Happens::default();
    let seen = enumerate(program, limits, &mut |graph, state| {
        if !races(graph).is_empty() {
            all = Happens { races: true, ..Happens::default() };
            return ControlFlow::Break(());
        }
        for (tid, thread) in program.tids().zip(&state.threads) {
            if thread.status == Status::Failed {
                all.failed.insert((tid, thread.pc));
            }
        }
        if state.is_final() {
            let registers = state.threads.iter().flat_map(|thread| thread.registers.iter());
            all.ends.insert(registers.chain(&state.memory).copied().collect());
        }
        ControlFlow::Continue(())
    });
    (all.races || !seen.bounded).then_some(all)
}

fn explored(program: &Program, reduce: bool, stale: usize) -> (Happens, bool) {
    let system = System::new(&Arc::new(program.clone()), stale, reduce).expect("a small program");
    let options = Options { stop: Stop::AtEnd, paths: Paths::None, ..Options::default() };
    let report = search::explore(&system.with_ends(), &options, &|_| {});
    assert!(report.exhausted);
    summed_up(report)
}

fn summed_up(report: search::Report<Finding>) -> (Happens, bool) {
    let (mut all, mut bounded) = (Happens::default(), false);
    for found in report.findings {
        match found.finding {
            Finding::Race(..) => all.races = true,
            Finding::Assertion(tid, pc) => {
                all.failed.insert((tid, pc));
            }
            Finding::End(end) => {
                all.ends.insert(end);
            }
            Finding::Bound => bounded = true,
            Finding::Stuck(_) => {}
            Finding::Unforeseen => panic!("all values are foreseen"),
            Finding::Fault(..) => panic!("random programs have no run-time errors"),
        }
    }
    if all.races {
        all = Happens { races: true, ..Happens::default() };
    }
    (all, bounded)
}

fn compare(program: &Program, limits: &Limits) -> Result<bool, String> {
    let Some(expected) = by_definition(program, limits) else { return Ok(false) };
    for reduce in [false, true] {
        let (found, bounded) = explored(program, reduce, 50);
        if found.races != expected.races {
            return Err(format!("races: {} by definition, reduced {reduce}", expected.races));
        }
        if bounded || found != expected {
            let missing: Vec<_> = expected.ends.difference(&found.ends).collect();
            let extra: Vec<_> = found.ends.difference(&expected.ends).collect();
            return Err(format!(
                "reduced {reduce}, bounded {bounded}: failed {:?} by definition, {:?} found; ends \
                 missing {missing:?}, too many {extra:?}",
                expected.failed, found.failed
            ));
        }
    }
    Ok(true)
}

fn families() -> Vec<(&'static str, Config)> {
    let base = Config::default();
    let small = Allow { fences: true, sc_fences: true, na: true, ..Allow::NOTHING };
    vec![
        ("everything", base.clone()),
        ("two long threads", Config { threads: 2..=2, instructions: 4..=6, ..base.clone() }),
        (
            "three short threads",
            Config { threads: 3..=3, instructions: 2..=4, locations: 2, ..base.clone() },
        ),
        (
            "four tiny threads",
            Config { threads: 4..=4, instructions: 1..=3, max_value: 1, ..base.clone() },
        ),
        (
            "loads, stores and fences",
            Config {
                threads: 3..=3,
                instructions: 3..=4,
                locations: 3,
                registers: 3,
                allow: Allow { na: false, ..small },
                ..base.clone()
            },
        ),
        (
            "fences at two locations",
            Config {
                threads: 3..=3,
                instructions: 3..=5,
                allow: Allow { na: false, ..small },
                ..base.clone()
            },
        ),
        ("publication", Config { instructions: 3..=5, allow: small, ..base.clone() }),
        (
            "updates",
            Config {
                instructions: 3..=4,
                allow: Allow {
                    fadd: true,
                    cas: true,
                    exchange: true,
                    fences: true,
                    ..Allow::NOTHING
                },
                ..base
            },
        ),
    ]
}

fn programs(variable: &str, ordinary: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(ordinary)
}

#[test]
fn the_weak_memory_and_all_graphs_agree() {
    let families = families();
    let (next, compared) = (AtomicU64::new(0), AtomicU64::new(0));
    let first = programs("FENCEPOST_ORACLE_FIRST", 0);
    let count = programs("FENCEPOST_ORACLE_PROGRAMS", 1000);
    let limits = Limits { unroll: 1, graphs: 4_000 };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed) + first;
                    if seed >= first + count {
                        return;
                    }
                    let (family, config) = &families[seed as usize % families.len()];
                    let program = random::program(seed, config);
                    // Most with the order of `sc` events, where there is most to go wrong.
                    let (model, program) = match seed / families.len() as u64 % 4 {
                        0 => ("rc20", program.rc20()),
                        1 => ("ra", program.release_acquire()),
                        _ => ("rc11", random::with_sc_events(program, seed)),
                    };
                    match compare(&program, &limits) {
                        Ok(done) => {
                            compared.fetch_add(u64::from(done), Ordering::Relaxed);
                        }
                        Err(error) => panic!(
                            "seed {seed}, family {family}, model {model}: {error}\n{}",
                            ir::print::program(&program)
                        ),
                    }
                }
            });
        }
    });
    let compared = compared.into_inner();
    println!("{compared} of {count} programs were compared");
    assert!(compared > count * 3 / 4, "most programs are small enough: {compared}");
}

/// Programs with loops have infinitely many graphs; whatever those show in which loops go round once or twice, the
/// search shows too, unless it met its bound. Catches writes that are dropped although somebody can still read them, and
/// states taken for the same although they are not: in loops they come back.
#[test]
fn what_unrolled_graphs_show_is_found() {
    let allow = Allow {
        loops: true,
        light_fences: false,
        sc_accesses: false,
        arrays: false,
        ..Allow::EVERYTHING
    };
    let config = Config { threads: 2..=3, instructions: 2..=4, allow, ..Config::default() };
    let count = programs("FENCEPOST_ORACLE_PROGRAMS", 1000) / 5;
    let limits = Limits { unroll: 2, graphs: 3_000 };
    let (mut compared, mut with_ends) = (0, 0);
    for seed in 0..count {
        let program = random::with_sc_events(random::program(seed, &config), seed);
        let mut shown = Happens::default();
        enumerate(&program, &limits, &mut |graph, state| {
            shown.races |= !races(graph).is_empty();
            for (tid, thread) in program.tids().zip(&state.threads) {
                if thread.status == Status::Failed {
                    shown.failed.insert((tid, thread.pc));
                }
            }
            if state.is_final() {
                let registers = state.threads.iter().flat_map(|thread| thread.registers.iter());
                shown.ends.insert(registers.chain(&state.memory).copied().collect());
            }
            if shown.races { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let system = System::new(&Arc::new(program.clone()), 6, true).expect("a small program");
        let options = Options {
            stop: Stop::AtEnd,
            paths: Paths::None,
            limits: search::Limits { states: Some(30_000), ..search::Limits::default() },
            ..Options::default()
        };
        let report = search::explore(&system.with_ends(), &options, &|_| {});
        if !report.exhausted {
            continue;
        }
        let (found, bounded) = summed_up(report);
        let text = || format!("seed {seed}\n{}", ir::print::program(&program));
        if shown.races {
            assert!(found.races || bounded, "a race is missing: {}", text());
        } else if !found.races && !bounded {
            assert!(shown.failed.is_subset(&found.failed), "{}", text());
            let missing: Vec<_> = shown.ends.difference(&found.ends).collect();
            assert!(missing.is_empty(), "{missing:?} {}", text());
            with_ends += 1;
        }
        compared += 1;
    }
    println!("{compared} of {count} programs were compared, {with_ends} with their final states");
    assert!(compared > count / 2 && with_ends > count / 8, "{compared}, {with_ends} of {count}");
}
