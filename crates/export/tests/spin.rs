//! Spin agrees: on random programs, and on a few that random programs never look like.
//!
//! Spin is told to reduce nothing, so that it must count exactly the states and transitions that
//! Fencepost counts with all reductions off, besides coming to the same verdict. Programs in which
//! an assertion fails are compared by verdict only, since Spin stops at the first failure.
//!
//! `FENCEPOST_SPIN_PROGRAMS=200 cargo test -p fencepost-export --test spin` tries 200 programs
//! instead of 20. Without Spin or gcc the tests only say so.

extern crate fencepost_export as export;

use check::{Cost, Model, Property, Question, Reductions, Verdict};
use ir::random::{Allow, Config};
use ir::{Domain, Expr, Instr, Loc, Location, LocationKind, Origin, Pc, Place, Program, Step};
use ir::{ReadMode, Reg, Thread, WriteMode};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs with more states than this are left out.
const STATES: u64 = 100_000;

/// What a checker says of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// No assertion can fail; it saw this many states and transitions.
    Holds { states: u64, transitions: u64 },
    /// One can, or an expression can have no value.
    Fails,
}

fn spin_is_here() -> bool {
    let runs = |program: &str, flag: &str| {
        Command::new(program).arg(flag).output().is_ok_and(|output| output.status.success())
    };
    let here = runs("spin", "-V") && runs("gcc", "--version");
    if !here {
        println!("skipped: this test needs `spin` and `gcc`");
    }
    here
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be run: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} failed\n{text}\n{errors}");
    text
}

/// The number before `what` in the verifier's output.
fn figure(output: &str, what: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.contains(what))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What Spin says, all its reductions switched off.
fn spin(promela: &str) -> Answer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    std::fs::write(at.join("program.pml"), promela).expect("the folder is writable");
    run(at, "spin", &["-o1", "-o2", "-o3", "-a", "program.pml"]);
    run(at, "gcc", &["-O0", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]);
    let output = run(at, "./pan", &["-E", "-m500000", "-w18"]);
    assert!(!output.contains("max search depth too small"), "{output}");
    let (_, errors) = output.split_once("errors: ").expect("the verifier counts errors");
    if !errors.starts_with("0\n") {
        assert!(output.contains("assertion violated"), "{output}");
        return Answer::Fails;
    }
    let states = figure(&output, "states, stored").expect("it counts states");
    let transitions = figure(&output, "transitions (= stored+matched)").expect("and transitions");
    // Spin calls entering the initial state a transition.
    Answer::Holds { states, transitions: transitions - 1 }
}

/// What Fencepost says; nothing if the program is too large.
fn fencepost(program: &Program, reductions: Reductions) -> Option<Answer> {
    let mut question = Question { model: Model::Sc, reductions, ..Question::default() };
    question.limits.states = Some(STATES);
    let answer = check::check(program, &question, &|_, _| {}).expect("a legal question");
    let Cost { states, transitions, .. } = answer.cost;
    match answer.verdict(Property::Assertions)? {
        Verdict::Violated(_) => Some(Answer::Fails),
        _ if !answer.faults.is_empty() => Some(Answer::Fails),
        Verdict::Holds => Some(Answer::Holds { states, transitions }),
        Verdict::Undecided(_) => None,
    }
}

/// Compares the two; nothing if the program is too large, else whether it fails.
fn agree(name: &str, program: &Program) -> Option<Answer> {
    let plain = fencepost(program, Reductions::NONE)?;
    let reduced = fencepost(program, Reductions::ALL)?;
    let promela = export::promela(program).expect("nothing that Promela lacks");
    let told = spin(&promela);
    let printed = ir::print::program(program);
    assert_eq!(plain, told, "{name}: Fencepost and Spin\n{printed}\n{promela}");
    let fails = |answer| answer == Answer::Fails;
    assert_eq!(fails(reduced), fails(told), "{name}: with reductions\n{printed}\n{promela}");
    Some(told)
}

fn random(seed: u64) -> Program {
    let config = Config {
        threads: 2..=3,
        instructions: 3..=8,
        max_value: [1, 2, 3, 3, 6, 255][seed as usize % 6],
        array: 2 + seed as u32 % 2,
        allow: Allow::EVERYTHING,
        ..Config::default()
    };
    ir::random::program(seed, &config)
}

#[test]
fn random_programs() {
    if !spin_is_here() {
        return;
    }
    let wanted = std::env::var("FENCEPOST_SPIN_PROGRAMS").ok().and_then(|text| text.parse().ok());
    let wanted: u64 = wanted.unwrap_or(20);
    let (seeds, compared, failing) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        while compared.load(Ordering::Relaxed) < wanted {
            let seed = seeds.fetch_add(1, Ordering::Relaxed);
            let told = agree(&format!("seed {seed}"), &random(seed));
            compared.fetch_add(u64::from(told.is_some()), Ordering::Relaxed);
            failing.fetch_add(u64::from(told == Some(Answer::Fails)), Ordering::Relaxed);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let [seeds, compared, failing] = [seeds, compared, failing].map(AtomicU64::into_inner);
    println!("{compared} programs of {seeds} compared; assertions fail in {failing}");
    assert!(0 < failing && failing < compared, "programs of one kind only");
}

fn parsed(text: &str) -> Program {
    lang::parse("test.fp", text).expect("a good program").program
}

/// Random programs never divide by zero nor leave an array.
#[test]
fn run_time_errors() {
    if !spin_is_here() {
        return;
    }
    let program = |last: &str| {
        parsed(&format!(
            "max_value 3; global x, a[2] = {{1, 2}};
             thread one {{ local r; r = FADD(x, 2); r = FADD(x, r); }}
             thread two {{ local r, s; r = x.load(); s = a[r % 2].load(); {last} }}"
        ))
    };
    let errors =
        ["s = s / r;", "s = a[r].load();", "if (s % r) { s = 1; }", "BCAS(a[r + s], 0, 1);"];
    for last in errors {
        assert_eq!(agree(last, &program(last)), Some(Answer::Fails), "{last}");
    }
    let right = ["s = r / s;", "s = a[r / 2].load();", "wait(a[r / 2], 1);", "assert(s / 2 < 2);"];
    for last in right {
        let told = agree(last, &program(last));
        assert!(matches!(told, Some(Answer::Holds { .. })), "{last}: {told:?}");
    }
}

/// A name is a name, whatever Promela, C, their headers or Spin use it for.
#[test]
fn names_of_other_languages() {
    if !spin_is_here() {
        return;
    }
    let names = ["do", "int", "linux", "now", "timeout", "_pid", "init", "SAFETY", "P0", "Index"];
    for name in names {
        let program = parsed(&format!(
            "global {name}, r; thread {name} {{ local {name}; {name} = {name}.load(); r.store({name}); }}
             thread t[2] {{ local r, {name}; r = FADD({name}, 1); assert(r < 2); }}"
        ));
        agree(name, &program);
    }
}

/// Trencher's programs lock the bus; the language does not.
#[test]
fn the_bus() {
    if !spin_is_here() {
        return;
    }
    let place = || Place::location(Loc(0));
    let increment = || Expr::binary(ir::expr::Binary::Add, Expr::Reg(Reg(0)), Expr::Const(1));
    let thread = |name: &str, locked: bool| {
        let load = Instr::Load { dst: Reg(0), place: place(), mode: ReadMode::Rlx };
        let value = increment().expect("not deep");
        let store = Instr::Store { place: place(), value, mode: WriteMode::Rlx };
        let mut instrs = vec![load, store, Instr::Halt];
        if locked {
            instrs.insert(0, Instr::BusLock);
            instrs.insert(3, Instr::BusUnlock);
        }
        let last = instrs.len() - 1;
        let code = instrs.into_iter().enumerate();
        let code = code.map(|(pc, instr)| Step {
            instr,
            next: Pc::from((pc + 1).min(last)),
            origin: Origin(0),
        });
        Thread {
            name: name.into(),
            replica: None,
            registers: vec!["r".into()],
            code: code.collect(),
            entry: Pc(0),
        }
    };
    let watcher = parsed("global x; thread t { local r; r = wait(x, 2); assert(r != 2); }").threads;
    let program = |locked| Program {
        domain: Domain::modulo(3),
        locations: vec![Location {
            name: "x".into(),
            element: None,
            initial: 0,
            kind: LocationKind::Atomic,
        }],
        threads: [thread("a", locked), thread("b", true)]
            .into_iter()
            .chain(watcher.clone())
            .collect(),
        spawned: vec![],
        foreseen: Vec::new(),
        condition: None,
    };
    assert_eq!(agree("locked", &program(true)), Some(Answer::Fails), "2 is reached");
    let mut quiet = program(true);
    quiet.threads.truncate(2);
    assert!(matches!(agree("quiet", &quiet), Some(Answer::Holds { .. })));
    let mut half = program(false);
    half.threads.truncate(2);
    assert!(matches!(agree("half locked", &half), Some(Answer::Holds { .. })));
}
