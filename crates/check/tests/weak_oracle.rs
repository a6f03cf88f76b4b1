//! The weak memory against all RC11-consistent graphs: races, failed assertions and final states of random programs
//! without loops agree exactly. Catches a rule of `memory::rc11` that allows too much or too little, and a state that
//! forgets something that still matters.

use fencepost_check as check;

use check::weak::system::{Finding, Seeks, System};
use graph::axioms::races;
use graph::{Limits, Status, ThreadState, enumerate};
use ir::expr::Binary;
use ir::random::{self, Allow, Config};
use ir::{Expr, Instr, OneOf, Pc, Program, Reg, Step, Tid, Value};
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
    let one_of = OneOf::of(program);
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
        if let Some(state) = state.settled(program, &one_of) {
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
    let report = search::explore(&system.seeking(Seeks::Ends), &options, &|_| {});
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
            Finding::Bound | Finding::TooMuch => bounded = true,
            Finding::Stuck(_) | Finding::Final | Finding::Waiting(_) => {}
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
        let one_of = OneOf::of(&program);
        enumerate(&program, &limits, &mut |graph, state| {
            shown.races |= !races(graph).is_empty();
            for (tid, thread) in program.tids().zip(&state.threads) {
                if thread.status == Status::Failed {
                    shown.failed.insert((tid, thread.pc));
                }
            }
            if let Some(state) = state.settled(&program, &one_of) {
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
        let report = search::explore(&system.seeking(Seeks::Ends), &options, &|_| {});
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

/// A program in few letters: threads are separated by `|`. `Wx.rel` writes, `Ux.acq.rel` exchanges (a value that nobody
/// else writes to x), `Kx.acq.rel.rlx` does so only if it finds 1, `Rx.acq` reads, `Fsc` is a fence, `Md` and `Nd` write
/// and read a non-atomic location; `Rx.acq?1` ends its thread unless it reads the first value written to x, in the order of the text.
fn in_few_letters(short: &str) -> Program {
    let mut values = std::collections::BTreeMap::new();
    let mut value = |loc: &str| {
        let last = values.entry(loc.to_string()).or_insert(0);
        *last += 1;
        *last
    };
    let mut threads = String::new();
    let (mut atomics, mut plain) = (BTreeSet::new(), BTreeSet::new());
    for (number, thread) in short.split('|').enumerate() {
        let (mut body, mut locals) = (String::new(), Vec::new());
        for step in thread.split_whitespace() {
            let (step, wanted) = step.split_once('?').unwrap_or((step, ""));
            let (kind, rest) = step.split_at(1);
            let mut parts = rest.split('.');
            let loc = parts.next().unwrap_or("");
            let mode = parts.next().unwrap_or("");
            let local = format!("r{}", locals.len());
            let known = if "MN".contains(kind) { &mut plain } else { &mut atomics };
            if kind != "F" {
                known.insert(loc);
            }
            body += &match kind {
                "W" => format!("{loc}.store({}, {mode}); ", value(loc)),
                "M" => format!("{loc}.nastore({}); ", value(loc)),
                "R" => format!("{local} = {loc}.load({mode}); "),
                "N" => format!("{local} = {loc}.naload(); "),
                "U" => {
                    let write = parts.next().expect("two modes");
                    format!("{local} = exchange({loc}, {}, {mode}, {write}); ", value(loc))
                }
                "K" => {
                    let write = parts.next().expect("two modes");
                    let fail = parts.next().unwrap_or(mode);
                    format!("{local} = CAS({loc}, 1, {}, {mode}, {write}, {fail}); ", value(loc))
                }
                _ => format!("fence({loc}); "),
            };
            if "RNUK".contains(kind) {
                if !wanted.is_empty() {
                    body += &format!("assume({local} == {wanted}); ");
                }
                locals.push(local);
            }
        }
        let locals = match locals.is_empty() {
            true => String::new(),
            false => format!("local {}; ", locals.join(", ")),
        };
        threads += &format!("thread t{number} {{ {locals}{body}}}\n");
    }
    let declare = |kind: &str, names: BTreeSet<&str>| match names.is_empty() {
        true => String::new(),
        false => format!("{kind} {};\n", names.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let text =
        format!("max_value 7;\n{}{}{threads}", declare("atomic", atomics), declare("na", plain));
    lang::parse("aimed.fp", &text).unwrap_or_else(|why| panic!("{why:?}\n{text}")).program
}

/// Programs that each need one rule of `memory::rc11`, by name; `docs/proofs/weak-machine.md` says which mutant of the
/// machine each of them kills.
const AIMED: &[(&str, &str)] = &[
    // Coherence and modification order.
    ("reads in order", "Wx.rlx Wx.rlx | Rx.rlx Rx.rlx"),
    ("own writes in order", "Wx.rlx Wx.rlx | Wx.rlx"),
    ("own write, then read", "Wx.rlx Rx.rlx | Wx.rlx"),
    ("read, then own write", "Rx.rlx Wx.rlx | Wx.rlx | Rx.rlx Rx.rlx"),
    ("below a write that was acquired", "Wx.rlx Wy.rel | Ry.acq Wx.rlx | Rx.rlx Rx.rlx"),
    ("below a write that was only read of", "Wx.rlx Wy.rel | Ry.rlx Wx.rlx Facq Rx.rlx"),
    ("two plus two writes", "Wx.rlx Wy.rlx | Wy.rlx Wx.rlx"),
    // Updates.
    ("updates do not share", "Ux.rlx.rlx | Ux.rlx.rlx | Wx.rlx"),
    ("nothing between", "Wx.rlx | Ux.rlx.rlx Rx.rlx | Wx.rlx Rx.rlx"),
    ("release sequence", "Md Wx.rel | Kx.rlx.rlx | Rx.acq?2 Nd"),
    ("a long release sequence", "Wy.rlx Wx.rel | Kx.rlx.rlx | Rx.acq Ry.rlx"),
    ("release sequence behind a fence", "Md Frel Wx.rlx | Kx.rlx.rlx | Rx.rlx?2 Facq Nd"),
    (
        "an update adds to what it carries",
        "Wy.rlx Wx.rel | Wz.rlx Kx.rlx.rel | Rx.acq Ry.rlx Rz.rlx",
    ),
    ("a failed update carries nothing", "Wy.rlx Wx.rel | Wx.rlx Kx.rlx.rlx | Rx.acq Ry.rlx"),
    ("an own write ends it", "Md Wx.rel Wx.rlx | Rx.acq?2 Nd"),
    ("an update that acquires", "Md Wx.rel | Ux.acq.rlx?1 Nd"),
    ("an update that releases", "Md Ux.rlx.rel | Rx.acq?1 Nd"),
    ("a failed update in its own mode", "Wx.rlx Md Wx.rel | Kx.acq.rlx.rlx?2 Nd"),
    // Fences.
    ("message passing", "Md Wx.rel | Rx.acq?1 Nd"),
    ("release fence", "Md Frel Wx.rlx | Rx.acq?1 Nd"),
    ("acquire fence", "Md Wx.rel | Rx.rlx?1 Facq Nd"),
    ("an SC fence acquires", "Md Wx.rel | Rx.rlx?1 Fsc Nd"),
    ("an SC fence releases", "Md Fsc Wx.rlx | Rx.acq?1 Nd"),
    ("a fence that comes too early", "Md Wx.rel | Facq Rx.rlx?1 Nd"),
    ("a fence that comes too late", "Md Wx.rlx Frel | Rx.acq?1 Nd"),
    ("what came after a release fence", "Frel Md Wx.rlx | Rx.acq?1 Nd"),
    ("stale behind fences", "Wx.rlx Frel Wy.rlx | Ry.rlx Facq Rx.rlx"),
    ("what a relaxed read may still learn", "Wx.rlx Wy.rel | Ry.rlx Wz.rel | Rz.acq Facq Rx.rlx"),
    ("two hops", "Wx.rlx Wy.rel | Ry.acq Wz.rel | Rz.acq Rx.rlx"),
    ("the second hop relaxed", "Wx.rlx Wy.rel | Ry.acq Wz.rlx | Rz.acq Rx.rlx"),
    // Races.
    ("write against write", "Md Wx.rel | Rx.acq?1 Md"),
    ("read, then write", "Nd Wx.rel | Rx.acq?1 Md"),
    ("read, then write, in no order", "Nd Wx.rlx | Rx.rlx?1 Md"),
    ("two readers, one waited for", "Nd Wx.rel | Nd | Rx.acq?1 Md"),
    ("two readers, both waited for", "Nd Wx.rel | Nd Wy.rel | Rx.acq?1 Ry.acq?1 Md"),
    ("a write makes readers old", "Nd Wx.rel | Rx.acq?1 Md Wy.rel | Ry.acq?1 Nd"),
    ("an old write is no excuse", "Md Wx.rel Md | Rx.acq?1 Nd"),
    // The order of `sc` events: the programs of the monitor.
    ("SB", "Wx.rlx Fsc Ry.rlx | Wy.rlx Fsc Rx.rlx"),
    ("rf", "Wx.rlx | Rx.rlx Fsc Ry.rlx | Wy.rlx Fsc Rx.rlx"),
    ("WF", "Wx.rlx Fsc Ry.rlx | Wy.rlx | Ry.rlx Fsc Rx.rlx"),
    ("WF, not MF", "Wx.rlx Fsc Ry.rlx | Ry.rlx Fsc Rx.rlx | Wy.rlx"),
    ("f, not v", "Wx.rlx Wy.rlx | Ry.rlx Fsc Rx.rlx"),
    ("f is k", "Wx.rlx Fsc Ry.rlx | Wy.rlx Fsc Rz.rlx | Wz.rlx Fsc Rx.rlx"),
    ("k along hb", "Wx.rlx Fsc Wy.rlx | Ry.rlx Wz.rel | Rz.acq Fsc Rx.rlx"),
    ("f along hb", "Wx.rlx Fsc Wu.rel | Ru.acq Ry.rlx | Wy.rlx Fsc Rx.rlx"),
    ("psc-ar", "Ry.rlx Fsc Rz.rlx | Wz.rlx Fsc Wx.rlx | Rx.rlx Wy.rlx"),
    ("p, not P", "Wx.rlx | Rx.rlx Fsc Wy.rlx | Wy.sc Rx.sc"),
    ("P of accesses", "Wx.rlx | Rx.rlx Fsc Wy.rlx | Wy.sc Wz.sc | Wz.rlx Fsc Rx.rlx"),
    ("WF of p", "Wx.rlx Fsc Ry.rlx | Ry.rlx Fsc Rz.rlx | Wy.rlx | Wz.sc Rx.sc"),
    ("MF, not MA", "Wx.sc Ry.sc | Ry.rlx Fsc Rx.rlx | Wy.rlx"),
    ("X without WF", "Wx.sc Fsc Ry.sc | Wy.rlx | Ry.sc Rx.sc"),
    ("z", "Wx.sc Wy.rel | Ry.rlx Facq Ry.sc | Wy.sc Rx.sc"),
    ("MA", "Wx.sc Wy.sc | Wy.sc Rx.sc"),
    ("h", "Wx.sc Wy.sc | Wy.sc Wz.rel | Rz.acq Rx.sc"),
    ("l", "Wx.rlx Fsc Wy.rlx | Wy.sc | Ry.sc Rx.sc"),
    ("k", "Wx.sc Wy.sc | Wy.rlx Fsc Rx.rlx"),
    ("f", "Wx.rlx Fsc Wz.rel | Rz.acq Ry.rlx | Wy.sc Rx.sc"),
    ("hold", "Wy.sc Wx.rel | Rx.acq Rx.sc | Wx.sc Ry.sc"),
    ("a read is not after fences", "Wz.rlx Fsc Wu.rel | Ru.acq Wx.rlx | Rx.sc Rz.sc"),
    ("a fence is elsewhere", "Wx.sc Frel Wy.rlx | Ry.acq Rz.sc | Wz.sc Rx.sc"),
    ("so is one that acquires", "Wx.sc Facq_rel Wy.rlx | Ry.acq Rz.sc | Wz.sc Rx.sc"),
    (
        "reads of one write are in no order",
        "Wx.rlx Fsc Ry.rlx Wz.rlx | Rz.rlx?1 Wu.rlx | Ru.rlx?1 Ry.rlx Fsc Rx.rlx",
    ),
    ("MF, not MA, in order", "Wx.sc Ry.sc Wz.rlx | Rz.rlx?1 Ry.rlx Fsc Rx.rlx | Wy.rlx"),
    (
        "p, not P, in order",
        "Wx.rlx | Rx.rlx?1 Fsc Wy.rlx Wz.rlx | Rz.rlx?1 Wu.rlx | Ru.rlx?1 Wy.sc Rx.sc",
    ),
    ("a fence to come", "Wx.rlx Wy.rel | Ry.acq Rv.rlx Fsc Rz.rlx | Wz.sc Rx.sc"),
    // Without `sc` accesses two entries would be one.
    (
        "a fence to come, after fences",
        "Wx.rlx | Rx.rlx Rv.rlx Fsc Rz.rlx | Wz.rlx Fsc Rx.rlx Wq.sc",
    ),
    (
        "a fence to come, and a read",
        "Wx.rlx | Rx.rlx?1 Ws.rlx Rq.rlx?1 Fsc Rz.rlx | Rs.rlx?1 Wz.sc Rx.sc Wq.rlx",
    ),
    // And what only weak memory does.
    ("IRIW", "Wx.sc | Wy.sc | Rx.sc Ry.sc | Ry.sc Rx.sc"),
    ("placed below what a fence saw", "Wx.rlx Fsc Ry.rlx | Wy.sc Wx.sc | Rx.rlx Rx.rlx"),
    ("placed below an sc write", "Wx.sc Ry.sc | Wy.sc Wx.sc | Rx.rlx Rx.rlx"),
    ("below what may still be acquired", "Wx.rlx Wy.rel | Ry.rlx Wx.rlx Fsc Rz.rlx | Wz.sc Rx.sc"),
    ("updates in the order", "Ux.sc.sc Ry.sc | Uy.sc.sc Rx.sc"),
    ("a fence waits for its writes", "Wx.rlx Fsc Wy.rlx | Wy.rlx Fsc Wx.rlx | Rx.rlx Rx.rlx"),
];

#[test]
fn aimed_programs_do_what_all_graphs_do() {
    let limits = Limits { unroll: 1, graphs: 100_000 };
    let mut wrong = Vec::new();
    for (name, short) in AIMED {
        let program = in_few_letters(short);
        let read = [("rc20", program.rc20()), ("ra", program.release_acquire())];
        for (model, program) in [("rc11", program)].into_iter().chain(read) {
            match compare(&program, &limits) {
                Ok(true) => {}
                Ok(false) => wrong.push(format!("{name}: too many graphs, {model}")),
                Err(error) => wrong.push(format!("{name}: {model}, {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sets of threads that wait for ever in some state, by definition and as the search finds them.
type Waiting = BTreeSet<Vec<Tid>>;

/// `None` if there are races, after which nothing is known, or too many graphs.
fn waiting_by_definition(program: &Program, limits: &Limits) -> Option<Waiting> {
    let (mut all, mut is_racy) = (Waiting::new(), false);
    let one_of = OneOf::of(program);
    let seen = enumerate(program, limits, &mut |graph, state| {
        is_racy |= !races(graph).is_empty();
        let threads: Vec<ThreadState> = program
            .tids()
            .zip(&state.threads)
            .map(|(tid, end)| {
                // Who waits for one of several values has not chosen yet.
                let pc = one_of.choice(tid, end.pc).unwrap_or(end.pc);
                let thread = &program.threads[tid.index()];
                let mut at = ThreadState::at(thread, pc, end.registers.clone());
                at.status = end.status;
                at
            })
            .collect();
        let waiting = graph::waiting(program, &threads, &|loc| graph.latest_value(loc))
            .expect("a small program");
        all.extend(waiting.filter(|waiting| !waiting.is_empty()));
        if is_racy { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (!is_racy && !seen.bounded).then_some(all)
}

fn waiting_found(program: &Program, reduce: bool) -> Option<Waiting> {
    let system = System::new(&Arc::new(program.clone()), 6, reduce).expect("a small program");
    let options = Options {
        stop: Stop::AtEnd,
        paths: Paths::None,
        limits: search::Limits { states: Some(30_000), ..search::Limits::default() },
        ..Options::default()
    };
    let report = search::explore(&system.seeking(Seeks::Waiting), &options, &|_| {});
    let mut all = Waiting::new();
    for found in report.findings {
        match found.finding {
            Finding::Waiting(waiting) => {
                all.insert(waiting.into_iter().map(|(tid, _)| tid).collect());
            }
            Finding::Race(..) | Finding::Bound | Finding::TooMuch => return None,
            _ => {}
        }
    }
    report.exhausted.then_some(all)
}

/// The program with loops that spin in place of waiting steps.
fn spinning(program: &Program) -> Program {
    let mut spinning = program.clone();
    for thread in &mut spinning.threads {
        for pc in 0..thread.code.len() {
            let Instr::Wait { dst, place, values, mode } = thread.code[pc].instr.clone() else {
                continue;
            };
            let (next, origin) = (thread.code[pc].next, thread.code[pc].origin);
            let seen = Reg::from(thread.registers.len());
            thread.registers.push(format!("seen{pc}"));
            let end = Pc::from(thread.code.len());
            let load = Instr::Load { dst: seen, place, mode };
            thread.code[pc] = Step { instr: load, next: end, origin };
            // A jump for each value that lets the thread pass, and else back to the load.
            let keep = Pc(end.0 + values.len() as u32 + 1);
            for value in values {
                let cond = Expr::binary(Binary::Eq, Expr::Reg(seen), value).expect("small");
                let next = Pc::from(thread.code.len() + 1);
                thread.code.push(Step {
                    instr: Instr::Jump { cond, targets: vec![keep] },
                    next,
                    origin,
                });
            }
            thread.code.push(Step { instr: Instr::Skip, next: Pc::from(pc), origin });
            let keeps = match dst {
                Some(dst) => Instr::Assign { dst, value: Expr::Reg(seen) },
                None => Instr::Skip,
            };
            thread.code.push(Step { instr: keeps, next, origin });
        }
    }
    spinning
}

/// Threads that wait for ever are those that do by definition, in all graphs of programs without loops; and a loop that
/// spins waits for ever where a waiting step does. Catches a state that is taken for idle and is not, a reduction that
/// loses the states in which nobody goes on, and loops that are not seen through.
#[test]
fn threads_that_wait_for_ever_are_found() {
    let allow =
        Allow { wait: true, bcas: true, cas: true, fadd: true, branches: true, ..Allow::NOTHING };
    let config = Config { threads: 2..=3, instructions: 2..=4, allow, ..Config::default() };
    let count = programs("FENCEPOST_ORACLE_PROGRAMS", 1000);
    let limits = Limits { unroll: 1, graphs: 4_000 };
    let (mut compared, mut some, mut spins) = (0, 0, 0);
    for seed in 0..count {
        let program = random::with_sc_events(random::program(seed, &config), seed);
        let Some(expected) = waiting_by_definition(&program, &limits) else { continue };
        let text = || format!("seed {seed}\n{}", ir::print::program(&program));
        for reduce in [false, true] {
            let Some(found) = waiting_found(&program, reduce) else { continue };
            assert_eq!(found, expected, "reduced {reduce}, {}", text());
        }
        compared += 1;
        some += u64::from(!expected.is_empty());
        let in_loops = spinning(&program);
        for reduce in [false, true] {
            let Some(found) = waiting_found(&in_loops, reduce) else { continue };
            assert_eq!(found, expected, "spinning, reduced {reduce}, {}", text());
            spins += 1;
        }
    }
    println!(
        "{compared} of {count} programs were compared, {some} wait, {spins} comparisons with loops"
    );
    assert!(compared > count / 2 && some > count / 20 && spins > count / 2);
}
