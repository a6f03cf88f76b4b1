//! The clocks against definitions, on random programs without loops: all interleavings of a program
//! are run, each with an analysis, and what the analyses say is compared with `graph`, which
//! keeps whole execution graphs and shares no code with the clocks.
//!
//! `FENCEPOST_ORACLE_PROGRAMS` sets how many programs are tried; a failure prints the seed, the family
//! and the program.

extern crate fencepost_clocks as clocks;

use clocks::access::{Done, Intent};
use clocks::sets::Sets;
use clocks::shadow::{Cell, Epoch, Me};
use clocks::{Analysis, Order};
use graph::{self, Execution, Label, Limits, Next, axioms, monitor};
use ir::random::{self, Allow, Config};
use ir::{Expr, FenceMode, Instr, Notes, Program, ReadMode, Tid, Value, WriteMode};

/// Kinds of random programs; each catches what the others seldom produce.
fn families() -> Vec<(&'static str, Config)> {
    let straight = Allow { branches: false, choices: false, asserts: false, ..Allow::RC20 };
    let small = Config { threads: 2..=3, instructions: 2..=4, locations: 2, ..Config::default() };
    let allow = |allow: Allow| Config { allow, ..small.clone() };
    vec![
        ("straight lines", allow(straight)),
        ("loads and stores", allow(Allow::NOTHING)),
        (
            "updates",
            allow(Allow { fadd: true, exchange: true, cas: true, bcas: true, ..Allow::NOTHING }),
        ),
        ("waits", allow(Allow { wait: true, cas: true, fences: true, ..Allow::NOTHING })),
        ("fences", allow(Allow { fences: true, sc_fences: true, ..Allow::NOTHING })),
        ("races", allow(Allow { na: true, wait: true, fences: true, ..Allow::NOTHING })),
        ("branches", allow(Allow { branches: true, cas: true, ..Allow::NOTHING })),
    ]
}

fn programs() -> u64 {
    let asked = std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(700)
}

/// One interleaving up to some point, and what the analyses made of it.
#[derive(Clone)]
struct Run {
    execution: Execution,
    /// Predicts races, and its plain memory.
    bold: (Analysis, Vec<Cell>),
    /// Does not, and its plain memory.
    careful: (Analysis, Vec<Cell>),
    blamed: bool,
    raced: bool,
    raced_here: bool,
}

/// What all interleavings together show.
#[derive(Default, Debug)]
struct Union {
    stale: bool,
    race: bool,
    predicted_race: bool,
    runs: usize,
}

fn order(read: ReadMode, write: WriteMode) -> Order {
    match (read.acquires(), write.releases()) {
        (false, false) => Order::Relaxed,
        (true, false) => Order::Acquire,
        (false, true) => Order::Release,
        (true, true) => Order::AcqRel,
    }
}

fn fence_order(mode: FenceMode) -> Order {
    match (mode.acquires(), mode.releases()) {
        (true, false) => Order::Acquire,
        (false, true) => Order::Release,
        _ => Order::AcqRel,
    }
}

const MOST_RUNS: usize = 3_000;

fn explore(program: &Program, sets: &Sets, run: Run, union: &mut Union) -> Result<(), String> {
    if union.runs > MOST_RUNS {
        return Ok(());
    }
    let mut ended = true;
    for tid in program.tids() {
        match run.execution.next(program, tid) {
            Next::Nothing => continue,
            Next::Access(_) => {}
            step @ (Next::Silent | Next::Local(_)) => {
                // Steps that concern nobody else are taken at once, here and now.
                for execution in run.execution.local_steps(program, tid) {
                    let mut next = Run { execution, ..run.clone() };
                    if let Next::Local(Label::Fence(mode)) = step {
                        for (analysis, _) in [&mut next.bold, &mut next.careful] {
                            analysis.fence(tid.0 as u16, fence_order(mode));
                        }
                    }
                    explore(program, sets, next, union)?;
                }
                return Ok(());
            }
        }
        ended = false;
    }
    let mut blocked = true;
    for tid in program.tids() {
        let Next::Access(access) = run.execution.next(program, tid) else { continue };
        let mut next = run.clone();
        let hidden = access.loc.index() == program.locations.len();
        if !hidden && !access.is_non_atomic() && !next.blamed {
            let intents = intents(program, &run.execution, tid);
            let order = arrival_order(program, &run.execution, tid);
            next.blamed = intents.iter().any(|&intent| {
                next.careful.0.arrive(tid.0 as u16, access.loc.0 + 1, order, intent).is_some()
            });
            union.stale |= next.blamed;
        }
        let latest = run.execution.graph.latest(access.loc);
        let Some(execution) = run.execution.access(program, tid, latest) else { continue };
        blocked = false;
        let label = access.label(run.execution.graph.latest_value(access.loc));
        next.execution = execution;
        perform(&mut next, tid, label.ok_or("an access that happened has a label")?, hidden, sets);
        explore(program, sets, next, union)?;
    }
    if ended || blocked {
        union.runs += 1;
        union.race |= run.raced_here;
        union.predicted_race |= run.raced;
        let by_definition = !axioms::races(&run.execution.graph).is_empty();
        if by_definition != run.raced_here {
            return Err(format!(
                "one run: races {}, by definition {by_definition}",
                run.raced_here
            ));
        }
    }
    Ok(())
}

fn registers(execution: &Execution, tid: Tid) -> &[Value] {
    &execution.threads[tid.index()].registers
}

fn intents(program: &Program, execution: &Execution, tid: Tid) -> Vec<Intent> {
    let eval = |e: &Expr| {
        let value = e.eval(registers(execution, tid), program.domain, &mut Notes::default());
        value.expect("random programs have no faults") as u64
    };
    match &program.step(tid, execution.threads[tid.index()].pc).instr {
        Instr::Load { .. } => vec![Intent::Load],
        Instr::Store { .. } | Instr::Rmw { .. } => vec![Intent::Write],
        Instr::Cas { expected, .. } => vec![Intent::StrongCas(eval(expected))],
        Instr::BlockingCas { expected, .. } => vec![Intent::BlockingCas(eval(expected))],
        Instr::Wait { values, .. } => values.iter().map(|v| Intent::Wait(eval(v))).collect(),
        other => panic!("{other:?} is no access"),
    }
}

fn arrival_order(program: &Program, execution: &Execution, tid: Tid) -> Order {
    match &program.step(tid, execution.threads[tid.index()].pc).instr {
        Instr::Load { mode, .. } | Instr::Wait { mode, .. } => order(*mode, WriteMode::Rlx),
        Instr::Store { mode, .. } => order(ReadMode::Rlx, *mode),
        Instr::Rmw { read, write, .. }
        | Instr::Cas { read, write, .. }
        | Instr::BlockingCas { read, write, .. } => order(*read, *write),
        other => panic!("{other:?} is no access"),
    }
}

fn perform(run: &mut Run, tid: Tid, label: Label, hidden: bool, sets: &Sets) {
    let t = tid.0 as u16;
    for (analysis, memory, raced) in [
        (&mut run.bold.0, &run.bold.1, &mut run.raced),
        (&mut run.careful.0, &run.careful.1, &mut run.raced_here),
    ] {
        if hidden {
            analysis.exchange(t);
            continue;
        }
        let location = |loc: ir::Loc| loc.0 + 1;
        let clock = analysis.vector(t);
        let me = Me { epoch: Epoch::new(t, clock.get(t as usize)), clock };
        match label {
            Label::Read { loc, mode: ReadMode::Na, .. } => {
                *raced |= memory[loc.index()].read(&me, 0xff, sets).is_some();
            }
            Label::Write { loc, mode: WriteMode::Na, .. } => {
                *raced |= memory[loc.index()].write(&me, 0xff, sets).is_some();
            }
            Label::Read { loc, mode, .. } | Label::ReadStar { loc, mode, .. } => {
                analysis.perform(t, location(loc), order(mode, WriteMode::Rlx), Done::Read, 1);
            }
            Label::Write { loc, value, mode } => {
                let done = Done::Store(value as u64);
                analysis.perform(t, location(loc), order(ReadMode::Rlx, mode), done, 1);
            }
            Label::Rmw { loc, written, read_mode, write_mode, .. } => {
                let done = Done::Update(written as u64);
                analysis.perform(t, location(loc), order(read_mode, write_mode), done, 1);
            }
            Label::Fence(_) | Label::Ctrl => {}
        }
    }
}

fn analysis(program: &Program) -> Analysis {
    let mut analysis = Analysis::new(usize::MAX);
    for _ in &program.threads {
        analysis.start(None);
    }
    for location in &program.locations {
        analysis.location(location.initial as u64);
    }
    analysis
}

/// What was compared: nothing if there are too many interleavings.
fn compare(program: &Program) -> Result<Option<Union>, String> {
    let sets = Sets::keeping_all();
    let memory = vec![Cell::default(); program.locations.len()];
    let start = Run {
        execution: Execution::initial(program),
        bold: (analysis(program), memory.clone()),
        careful: (analysis(program).without_prediction(), memory),
        blamed: false,
        raced: false,
        raced_here: false,
    };
    let mut union = Union::default();
    explore(program, &sets, start, &mut union)?;
    if union.runs > MOST_RUNS {
        return Ok(None);
    }
    let limits = Limits { unroll: 100, graphs: usize::MAX };
    let expected = monitor::verdicts(program, &limits);
    let same = |what: &str, clocks: bool, oracle: bool| match clocks == oracle {
        true => Ok(()),
        false => Err(format!("{what}: clocks {clocks}, graphs {oracle}; {union:?}")),
    };
    same("races", union.race, expected.racy_graph.is_some())?;
    if !union.race {
        same("robustness", union.stale, expected.robust_at_atomics.is_some())?;
    }
    if union.predicted_race && !union.race {
        same("predicted races", true, !graph::is_race_free(program, &limits).holds())?;
    }
    Ok(Some(union))
}

/// Catches any wrong clock, stamp, window, history or cell.
#[test]
fn all_interleavings_together_know_what_graphs_know() {
    let families = families();
    let (mut compared, mut stale, mut racy, mut predicted) = (0, 0, 0, 0);
    for seed in 0..programs() {
        let (family, config) = &families[seed as usize % families.len()];
        let program = random::program(seed, config).rc20();
        match compare(&program) {
            Ok(None) => {}
            Ok(Some(union)) => {
                compared += 1;
                stale += u64::from(union.stale);
                racy += u64::from(union.race);
                predicted += u64::from(union.predicted_race && !union.race);
            }
            Err(error) => {
                panic!("seed {seed}, {family}: {error}\n{}", ir::print::program(&program))
            }
        }
    }
    println!("{compared} compared: {stale} not robust, {racy} racy, {predicted} only if stale");
    assert!(compared * 2 > programs(), "most programs are small enough");
    assert!(stale * 10 > compared && racy * 50 > compared, "the programs are not trivial");
}
