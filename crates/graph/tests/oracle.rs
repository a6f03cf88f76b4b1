//! Two independent ways to decide the same properties, compared on random programs: (a) the
//! definitions, on all consistent graphs; (b) the explicit-graph monitors, on SC runs.
//!
//! Every program is a function of its seed and the family it is from; a failure prints both.
//! `FENCEPOST_ORACLE_PROGRAMS` sets how many programs are tried.

extern crate fencepost_graph as graph;

use graph::monitor::{Verdicts, Violation, verdicts};
use graph::{Limits, axioms};
use ir::Program;
use ir::random::{self, Allow, Config};
use std::collections::HashSet;
use std::ops::{AddAssign, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of random programs; each catches what the others seldom produce.
fn families() -> Vec<(&'static str, Config)> {
    let small = Config { instructions: 2..=4, ..Config::default() };
    let allow = |allow: Allow| Config { allow, ..small.clone() };
    vec![
        ("everything", small.clone()),
        ("loads and stores", allow(Allow::NOTHING)),
        ("dependencies", allow(Allow { asserts: true, assignments: true, ..Allow::NOTHING })),
        (
            "updates",
            allow(Allow { fadd: true, exchange: true, cas: true, bcas: true, ..Allow::NOTHING }),
        ),
        ("waits", allow(Allow { wait: true, cas: true, fences: true, ..Allow::NOTHING })),
        ("fences", allow(Allow { fences: true, sc_fences: true, ..Allow::NOTHING })),
        ("races", allow(Allow { na: true, wait: true, fences: true, ..Allow::NOTHING })),
        ("arrays", allow(Allow { arrays: true, asserts: true, ..Allow::NOTHING })),
        (
            "loops",
            Config { threads: 2..=2, instructions: 2..=3, allow: Allow::EVERYTHING, ..small },
        ),
    ]
}

/// How many programs had which verdicts: shows that the comparison is not about trivial programs.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    programs: usize,
    not_robust: usize,
    not_observationally_robust: usize,
    observational_check_too_strict: usize,
    racy: usize,
    racy_but_robust: usize,
    observationally_robust_only: usize,
    racy_but_observationally_robust_only: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.programs += other.programs;
        self.not_robust += other.not_robust;
        self.not_observationally_robust += other.not_observationally_robust;
        self.observational_check_too_strict += other.observational_check_too_strict;
        self.racy += other.racy;
        self.racy_but_robust += other.racy_but_robust;
        self.observationally_robust_only += other.observationally_robust_only;
        self.racy_but_observationally_robust_only += other.racy_but_observationally_robust_only;
    }
}

/// What holds in all consistent graphs.
struct Definitions {
    robust: bool,
    observational: bool,
    race_free: bool,
    /// Robust and race-free.
    both: bool,
    /// Every final state is one of an SC-consistent graph.
    sc_outcomes: bool,
}

impl Definitions {
    fn judge(program: &Program, limits: &Limits) -> Self {
        let (mut robust, mut observational, mut race_free) = (true, true, true);
        let (mut ends, mut sc_ends) = (HashSet::new(), HashSet::new());
        graph::enumerate(program, limits, &mut |graph, state| {
            let sc = axioms::is_sc_consistent(graph);
            robust &= sc;
            observational &= sc || axioms::is_observationally_consistent(graph);
            race_free &= axioms::races(graph).is_empty();
            if state.is_final() {
                if sc {
                    sc_ends.insert(state.clone());
                }
                ends.insert(state.clone());
            }
            ControlFlow::Continue(())
        });
        let both = robust && race_free;
        Definitions { robust, observational, race_free, both, sc_outcomes: ends == sc_ends }
    }
}

/// Compares all verdicts on one program; the error says which differ.
fn compare(program: &Program) -> Result<Tally, String> {
    // A loop cut off after two rounds is a loop-free program, on which (a) and (b) must agree as well.
    let limits = Limits { unroll: 2, graphs: usize::MAX };
    let Definitions { robust, observational, race_free, both, sc_outcomes } =
        Definitions::judge(program, &limits);
    let monitor = verdicts(program, &limits);
    let Verdicts { race, racy_graph, .. } = &monitor;
    let check = |claim: &str, holds: bool| if holds { Ok(()) } else { Err(claim.to_string()) };

    check("Thm. 4.6: a robustness witness exists iff not robust", {
        robust == monitor.robust.is_none()
    })?;
    check("robust and race-free, decided on SC runs", {
        both == (monitor.robust.is_none() && race.is_none())
    })?;
    check("the same with robustness tested at atomic accesses only", {
        both == (monitor.robust_at_atomics.is_none() && race.is_none())
    })?;
    check("Thm. 4.16: the observational check is sound", {
        monitor.observational.is_some() || observational
    })?;
    check("observational robustness is the weaker notion", {
        !robust || (observational && monitor.observational.is_none())
    })?;
    check("Lemma 6.4 on SC runs: split locations find the races of Def. 6.1", {
        race.is_some() == racy_graph.is_some()
    })?;
    check("SC runs show all races of a robust program", !robust || race_free == race.is_none())?;
    check("SC runs with taint show all races of an observationally robust program", {
        monitor.observational.is_some() || race_free == monitor.race_with_taint.is_none()
    })?;
    check("a race-free program is robust iff it is at atomic accesses", {
        race.is_some() || monitor.robust.is_none() == monitor.robust_at_atomics.is_none()
    })?;
    for witness in monitor.robust.iter().chain(&monitor.robust_at_atomics) {
        let Violation::Stale { extended, .. } = &witness.violation else {
            return Err("robustness is violated by a stale access".to_string());
        };
        check("a certificate for non-robustness", {
            graph::judge(program, &witness.graph).sc_consistent()
                && graph::judge(program, extended).refutes_robustness()
        })?;
    }
    if let Some(racy) = racy_graph {
        check("a certificate for a race", graph::judge(program, racy).refutes_race_freedom())?;
    }
    check("a robust program ends as under SC", !robust || sc_outcomes)?;

    let count = usize::from;
    Ok(Tally {
        programs: 1,
        not_robust: count(!robust),
        not_observationally_robust: count(!observational),
        observational_check_too_strict: count(observational && monitor.observational.is_some()),
        racy: count(!race_free),
        racy_but_robust: count(!race_free && robust),
        observationally_robust_only: count(!robust && monitor.observational.is_none()),
        racy_but_observationally_robust_only: count(
            !robust && monitor.observational.is_none() && !race_free,
        ),
    })
}

/// Runs `compare` on `programs` programs of every family, on all cores.
fn sweep(programs: u64, transform: impl Fn(Program, u64) -> Program + Sync) {
    for (family, config) in families() {
        let next = AtomicU64::new(0);
        let work = || {
            let mut tally = Tally::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= programs {
                    return tally;
                }
                let program = transform(random::program(seed, &config), seed);
                match compare(&program) {
                    Ok(one) => tally += one,
                    Err(claim) => panic!("seed {seed} of `{family}`: {claim}\n{program:#?}"),
                }
            }
        };
        let start = std::time::Instant::now();
        let mut total = Tally::default();
        std::thread::scope(|scope| {
            let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                total += worker.join().expect("the failure is printed above");
            }
        });
        println!("{family} ({:.1?}): {total:?}", start.elapsed());
    }
}

fn programs_per_family(default: u64) -> u64 {
    let wanted = std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(default).div_ceil(families().len() as u64)
}

#[test]
fn definitions_and_monitors_agree() {
    sweep(programs_per_family(450), |program, _| program.rc20());
}

/// The same with `sc` accesses and native SC fences.
#[test]
fn definitions_and_monitors_agree_on_sc_events() {
    sweep(programs_per_family(450), random::with_sc_events);
}

/// The same in the release/acquire fragment.
#[test]
fn definitions_and_monitors_agree_on_release_acquire() {
    sweep(programs_per_family(90), |program, _| program.release_acquire());
}
