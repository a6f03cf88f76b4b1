//! The sanitizer against the model checker: random programs, once as text for `fencepost check
//! --model rc20` and once as C, built with the sanitizer and run under many schedules. What all runs
//! together find must be what the model checker proves: a robustness violation if and only if there is one
//! (where there are no races), and a race if and only if there is one (where it is robust).
//!
//! Of every six programs, one has loops: its threads do everything twice, by a loop in C and one after the other in the
//! text, so that a thread comes back to where it was, to its own last writes and to what others wrote meanwhile.
//! One has seq_cst accesses, and is judged by `--model rc11`. Where all accesses are seq_cst, nothing may be found.
//! Where only some are, the runtime takes the order of the run for that of the seq_cst accesses
//! (`clocks::analysis`), and is not exact: what it finds is not compared, only that it comes to an end.
//!
//! Many programs are one C file, with their threads one after the other, so that each run tries them all;
//! lines tell whose a finding is. Every second program has its atomics where others were before, which had
//! threads of their own and were overwritten by plain stores. `FENCEPOST_ORACLE_C_PROGRAMS` sets how many programs are tried; a
//! failure prints the seed and the program in both languages.

use ir::random::{self, Allow, Config};
use ir::{Expr, FenceMode, Instr, LocationKind, Program, ReadMode, UpdateOp, WriteMode};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const FENCEPOST: &str = env!("CARGO_BIN_EXE_fencepost");
const IN_A_FILE: usize = 40;
/// How many runs at a time, and how often at most.
const RUNS: usize = 50;
const BATCHES: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Verdict {
    stale: bool,
    race: bool,
}

struct Case {
    seed: u64,
    kind: Kind,
    program: Program,
    c: String,
    expected: Verdict,
}

/// What is special about a program, by its seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Straight,
    Twice,
    SeqCst,
    SomeSeqCst,
}

impl Kind {
    fn of(seed: u64) -> Kind {
        match seed % 12 {
            4 | 10 => Kind::Twice,
            5 => Kind::SeqCst,
            11 => Kind::SomeSeqCst,
            _ => Kind::Straight,
        }
    }

    fn model(self) -> &'static str {
        match self {
            Kind::Straight | Kind::Twice => "rc20",
            Kind::SeqCst | Kind::SomeSeqCst => "rc11",
        }
    }
}

fn order(read: bool, write: bool) -> &'static str {
    match (read, write) {
        (false, false) => "memory_order_relaxed",
        (true, false) => "memory_order_acquire",
        (false, true) => "memory_order_release",
        (true, true) => "memory_order_acq_rel",
    }
}

const SEQ_CST: &str = "memory_order_seq_cst";

/// The same program with seq_cst accesses only.
fn with_seq_cst(mut program: Program) -> Program {
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        match &mut step.instr {
            Instr::Load { mode, .. } if *mode != ReadMode::Na => *mode = ReadMode::Sc,
            Instr::Store { mode, .. } if *mode != WriteMode::Na => *mode = WriteMode::Sc,
            Instr::Rmw { read, write, .. } => (*read, *write) = (ReadMode::Sc, WriteMode::Sc),
            Instr::Cas { read, write, fail, .. } => {
                (*read, *write, *fail) = (ReadMode::Sc, WriteMode::Sc, ReadMode::Sc);
            }
            _ => {}
        }
    }
    program
}

/// The steps of a thread up to its end, if it has no jumps.
fn steps(thread: &ir::Thread) -> Vec<ir::Step> {
    let mut steps = Vec::new();
    let mut pc = thread.entry;
    while thread.code[pc.index()].instr != Instr::Halt {
        steps.push(thread.code[pc.index()].clone());
        pc = thread.code[pc.index()].next;
    }
    steps
}

/// The program whose threads do all they do twice.
fn twice(mut program: Program) -> Program {
    for thread in &mut program.threads {
        let once = steps(thread);
        let halt = thread.code.iter().find(|step| step.instr == Instr::Halt).cloned();
        let mut code: Vec<ir::Step> = once.iter().chain(&once).cloned().chain(halt).collect();
        let last = code.len() - 1;
        for (pc, step) in code.iter_mut().enumerate() {
            step.next = ir::Pc::from((pc + 1).min(last));
        }
        (thread.code, thread.entry) = (code, ir::Pc::from(0));
    }
    program
}

/// Numbers and registers only: C has no arithmetic modulo three.
fn operand(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Const(value) => Some(value.to_string()),
        Expr::Reg(register) => Some(format!("r{}", register.index())),
        Expr::Code(_) => None,
    }
}

fn statement(program: &Program, number: usize, instr: &Instr) -> Option<String> {
    let at = |place: &ir::Place| {
        let location = &program.locations[place.base.index()];
        place.index.is_none().then(|| format!("{}_{number}", location.name))
    };
    let kept = |dst: &Option<ir::Reg>| dst.map_or(String::new(), |r| format!("r{} = ", r.index()));
    Some(match instr {
        Instr::Load { dst, place, mode: ReadMode::Na } => {
            format!("r{} = {};", dst.index(), at(place)?)
        }
        Instr::Load { dst, place, mode } => {
            let order = if *mode == ReadMode::Sc { SEQ_CST } else { order(mode.acquires(), false) };
            format!("r{} = atomic_load_explicit(&{}, {order});", dst.index(), at(place)?)
        }
        Instr::Store { place, value, mode: WriteMode::Na } => {
            format!("{} = {};", at(place)?, operand(value)?)
        }
        Instr::Store { place, value, mode } => {
            let order =
                if *mode == WriteMode::Sc { SEQ_CST } else { order(false, mode.releases()) };
            format!("atomic_store_explicit(&{}, {}, {order});", at(place)?, operand(value)?)
        }
        // C has one order for both.
        Instr::Rmw { read, write, .. } | Instr::Cas { read, write, .. }
            if (*read == ReadMode::Sc) != (*write == WriteMode::Sc) =>
        {
            return None;
        }
        Instr::Rmw { dst, place, update, read, write } if update.op == UpdateOp::Set => {
            let order = match read {
                ReadMode::Sc => SEQ_CST,
                _ => order(read.acquires(), write.releases()),
            };
            let (dst, at, value) = (kept(dst), at(place)?, operand(&update.operand)?);
            format!("{dst}atomic_exchange_explicit(&{at}, {value}, {order});")
        }
        Instr::Cas { dst, place, expected, desired, read, write, fail } => {
            let success = match read {
                ReadMode::Sc => SEQ_CST,
                _ => order(read.acquires(), write.releases()),
            };
            let failure =
                if *fail == ReadMode::Sc { SEQ_CST } else { order(fail.acquires(), false) };
            let (dst, at) = (kept(dst), at(place)?);
            let (expected, desired) = (operand(expected)?, operand(desired)?);
            format!(
                "{{ long e = {expected}; atomic_compare_exchange_strong_explicit(&{at}, &e, {desired}, \
                 {success}, {failure}); {dst}e; }}"
            )
        }
        Instr::Fence(FenceMode::Sc) => "atomic_thread_fence(memory_order_seq_cst);".into(),
        // C has no fence that does less than a full one and more than any other.
        Instr::Fence(FenceMode::Upd) => return None,
        Instr::Fence(mode) => {
            format!("atomic_thread_fence({});", order(mode.acquires(), mode.releases()))
        }
        _ => return None,
    })
}

/// The program in C, if C can express it, with a function `program_N` that runs it. Threads go round so often.
fn in_c(program: &Program, number: usize, rounds: usize) -> Option<String> {
    let mut out = String::new();
    for location in &program.locations {
        let kind = match location.kind {
            LocationKind::Atomic => "atomic_long",
            _ => "long",
        };
        let _ = writeln!(out, "{kind} {}_{number};", location.name);
    }
    for (tid, thread) in program.threads.iter().enumerate() {
        let registers: Vec<String> =
            (0..thread.registers.len()).map(|register| format!("r{register} = 0")).collect();
        let _ = writeln!(out, "static void *t{tid}_{number}(void *p) {{");
        let _ = writeln!(out, "  volatile long {};", registers.join(", "));
        let _ = writeln!(out, "  for (int round = 0; round < {rounds}; round++) {{");
        for step in steps(thread) {
            let _ = writeln!(out, "    {}", statement(program, number, &step.instr)?);
        }
        let _ = writeln!(out, "  }}");
        let _ = writeln!(out, "  return p;\n}}");
    }
    let again = number % 2 == 1;
    if again {
        let _ = writeln!(out, "static void *before_{number}(void *p) {{");
        for location in program.locations.iter().filter(|l| l.kind == LocationKind::Atomic) {
            let _ = writeln!(out, "  atomic_fetch_add(&{}_{number}, 7);", location.name);
        }
        let _ = writeln!(out, "  return p;\n}}");
    }
    let _ = writeln!(out, "static void program_{number}(void) {{\n  pthread_t t[3];");
    if again {
        for tid in 0..2 {
            let _ = writeln!(out, "  pthread_create(&t[{tid}], 0, before_{number}, 0);");
        }
        for tid in 0..2 {
            let _ = writeln!(out, "  pthread_join(t[{tid}], 0);");
        }
        for location in program.locations.iter().filter(|l| l.kind == LocationKind::Atomic) {
            let _ = writeln!(out, "  *(long *)&{}_{number} = 0;", location.name);
        }
    }
    for tid in 0..program.threads.len() {
        let _ = writeln!(out, "  pthread_create(&t[{tid}], 0, t{tid}_{number}, 0);");
    }
    for tid in 0..program.threads.len() {
        let _ = writeln!(out, "  pthread_join(t[{tid}], 0);");
    }
    out.push_str("}\n");
    Some(out)
}

fn config(seed: u64) -> Config {
    let fences = Allow { fences: true, sc_fences: true, ..Allow::NOTHING };
    let updates = Allow { exchange: true, cas: true, ..fences };
    let allow = match (Kind::of(seed), seed % 4) {
        (Kind::Twice, _) => Allow { na: seed % 24 == 10, ..updates },
        (Kind::SeqCst | Kind::SomeSeqCst, _) => Allow { sc_accesses: true, ..updates },
        (Kind::Straight, 0) => Allow::NOTHING,
        (Kind::Straight, 1) => fences,
        (Kind::Straight, 2) => updates,
        (Kind::Straight, _) => Allow { na: true, ..fences },
    };
    let instructions = if Kind::of(seed) == Kind::Twice { 2..=3 } else { 2..=4 };
    Config { threads: 2..=3, instructions, locations: 2, allow, ..Config::default() }
}

/// What the model checker says, for many programs at once.
fn judge(folder: &Path, programs: &mut [Case], model: &str) {
    let mut command = Command::new(FENCEPOST);
    command.current_dir(folder).args(["check", "--model", model, "--json"]);
    let mut of_model = programs.iter().filter(|case| case.kind.model() == model).peekable();
    if of_model.peek().is_none() {
        return;
    }
    for case in of_model {
        let name = format!("{}.fp", case.seed);
        std::fs::write(folder.join(&name), ir::print::program(&case.program)).expect("a file");
        command.arg(name);
    }
    let output = command.output().expect("fencepost runs");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let seed = value["file"].as_str().and_then(|file| file.strip_suffix(".fp"));
        let seed: u64 = seed.and_then(|seed| seed.parse().ok()).expect("one of our files");
        let case = programs.iter_mut().find(|case| case.seed == seed).expect("one of ours");
        let violated = value["verdict"] == "violated";
        match value["property"].as_str() {
            // Undecided if there is a race; what accesses may be stale does not matter then.
            Some("robustness") => case.expected.stale = violated,
            Some("races") => case.expected.race = violated,
            _ => {}
        }
    }
}

/// May this be all that was found? If not, may more runs help?
fn agrees(expected: Verdict, found: Verdict) -> Result<bool, String> {
    let Verdict { stale, race } = expected;
    if found.stale && !stale && !race {
        return Err("a stale access that the model checker excludes".into());
    }
    if found.race && !race && !stale {
        return Err("a race that the model checker excludes".into());
    }
    Ok((race || found.stale == stale) && (stale || found.race == race))
}

fn compare(seeds: &mut impl Iterator<Item = u64>) -> (usize, usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cases: Vec<Case> = seeds
        .filter_map(|seed| {
            let kind = Kind::of(seed);
            let program = random::program(seed, &config(seed));
            let rounds = if kind == Kind::Twice { 2 } else { 1 };
            let program = if kind == Kind::SeqCst { with_seq_cst(program) } else { program };
            let c = in_c(&program, seed as usize, rounds)?;
            let program = if kind == Kind::Twice { twice(program) } else { program };
            Some(Case { seed, kind, program, c, expected: Verdict::default() })
        })
        .take(IN_A_FILE)
        .collect();
    ["rc20", "rc11"].into_iter().for_each(|model| judge(folder.path(), &mut cases, model));
    let mut source = String::from("#include <pthread.h>\n#include <stdatomic.h>\n");
    let mut ends = Vec::new();
    for case in &cases {
        source.push_str(&case.c);
        ends.push(source.lines().count() as u64);
    }
    source.push_str("int main(void) {\n");
    for case in &cases {
        let _ = writeln!(source, "  program_{}();", case.seed);
    }
    source.push_str("}\n");
    std::fs::write(folder.path().join("all.c"), &source).expect("a file");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitizer cache");
    let fencepost = || {
        let mut command = Command::new(FENCEPOST);
        command.current_dir(folder.path()).env("FENCEPOST_CACHE", &cache);
        command
    };
    let built = fencepost()
        .args(["cc", "-O1", "-o", "all", "all.c", "-pthread"])
        .output()
        .expect("fencepost runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut found = vec![Verdict::default(); cases.len()];
    for batch in 0..BATCHES {
        let (runs, seed) = (RUNS.to_string(), (batch * RUNS).to_string());
        let output = fencepost()
            .args(["run", "--json", "--schedule", "random", "--runs", &runs, "--seed", &seed])
            .args(["--timeout", "60s", "./all"])
            .output()
            .expect("fencepost runs");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let place = value["access"]["stack"][0]["line"].as_u64().expect("a line");
            let index = ends.partition_point(|&end| end < place);
            match value["kind"].as_str() {
                Some("race") => found[index].race = true,
                _ => found[index].stale = true,
            }
        }
        let mut all = true;
        let exact = cases.iter().zip(&found).filter(|(case, _)| case.kind != Kind::SomeSeqCst);
        for (case, found) in exact {
            let problem = match agrees(case.expected, *found) {
                Ok(agrees) => {
                    all &= agrees;
                    (!agrees && batch + 1 == BATCHES).then(|| "something was not found".to_string())
                }
                Err(problem) => Some(problem),
            };
            if let Some(problem) = problem {
                let Case { seed, program, c, expected, .. } = case;
                let program = ir::print::program(program);
                panic!(
                    "seed {seed}: {problem}: expected {expected:?}, found {found:?}\n{program}\n{c}"
                );
            }
        }
        if all {
            break;
        }
    }
    let count =
        |what: fn(&Verdict) -> bool| cases.iter().filter(|case| what(&case.expected)).count();
    (cases.len(), count(|verdict| verdict.stale), count(|verdict| verdict.race))
}

#[test]
fn runs_find_what_the_model_checker_proves() {
    if Command::new("gcc").arg("--version").output().is_err() {
        println!("gcc is not installed: skipped");
        return;
    }
    let asked = std::env::var("FENCEPOST_ORACLE_C_PROGRAMS").ok();
    let programs = asked.and_then(|count| count.parse().ok()).unwrap_or(120);
    let (mut compared, mut stale, mut racy) = (0, 0, 0);
    let mut seeds = 0..;
    while compared < programs {
        let (more, more_stale, more_racy) = compare(&mut seeds);
        (compared, stale, racy) = (compared + more, stale + more_stale, racy + more_racy);
    }
    println!("{compared} programs: {stale} not robust, {racy} racy");
    assert!(stale * 10 > compared && stale * 10 < compared * 9 && racy > 0, "not trivial");
}
