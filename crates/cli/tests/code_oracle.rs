//! Real code against the language: random programs are exported to C and to Rust, compiled by clang and rustc, discovered
//! by the virtual machine, and checked. The verdicts must be those of the program itself.
//!
//! A loop in a program is a sequence of reads, each of which may be stale. In C, a loop that does nothing
//! but read one location until it has another value is waiting, and a stale read there is no violation
//! (`vm::lower`). So of programs with loops, the C program may be robust where the program is not, if the
//! virtual machine found it waiting in more places than the program does. All else must agree.
//!
//! `FENCEPOST_CODE_PROGRAMS` sets how many programs are tried in C, `FENCEPOST_RUST_PROGRAMS` in Rust, `FENCEPOST_CODE_FIRST` the first seed; every
//! program is a function of its seed and its family. A failure prints both, and the smallest program that fails in the same way. Without
//! clang or rustc the test says that it is skipped.

use fencepost::{Extent, Limits, Model, Property, Question, Verdict, Why, code};
use ir::random::{self, Allow, Config};
use ir::{Domain, Edge, FenceMode, Instr, Program, Step};
use llvm::compile::{Failure, Options, compile};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const MODELS: [Model; 4] = [Model::Rc11, Model::Rc20, Model::Tso, Model::Sc];
const PROPERTIES: [Property; 3] = [Property::Robustness, Property::Races, Property::Assertions];

/// Arithmetic as that of `uint8_t`, of `int8_t`, and of no type.
const BYTE: Domain = Domain { min: 0, max: 255, edge: Edge::Wrap };
const SIGNED: Domain = Domain { min: -128, max: 127, edge: Edge::Wrap };
const SMALL: Domain = Domain { min: 0, max: 2, edge: Edge::Wrap };

/// Kinds of random programs; each has much of what the others seldom have.
fn families() -> Vec<(&'static str, Domain, Config)> {
    let loop_free = Allow { loops: false, light_fences: false, ..Allow::EVERYTHING };
    let none = Allow::NOTHING;
    let of = |allow: Allow| Config { allow, ..Config::default() };
    vec![
        ("everything", BYTE, of(loop_free)),
        ("everything, longer", BYTE, Config { instructions: 4..=8, ..of(loop_free) }),
        ("loads and stores", SMALL, of(Allow { asserts: true, assignments: true, ..none })),
        ("fences", SMALL, of(Allow { fences: true, sc_fences: true, asserts: true, ..none })),
        (
            "races",
            SMALL,
            Config {
                non_atomic: 2,
                ..of(Allow { na: true, wait: true, fences: true, branches: true, ..none })
            },
        ),
        (
            "updates",
            SIGNED,
            of(Allow { fadd: true, exchange: true, fetch: true, asserts: true, ..none }),
        ),
        (
            "compare and swap",
            SMALL,
            of(Allow { cas: true, bcas: true, wait: true, loaded: true, asserts: true, ..none }),
        ),
        ("choices", SMALL, of(Allow { choices: true, branches: true, asserts: true, ..none })),
        ("arrays", BYTE, of(Allow { arrays: true, asserts: true, wait: true, ..none })),
        (
            "loops",
            SMALL,
            of(Allow { loops: true, branches: true, asserts: true, cas: true, na: true, ..none }),
        ),
        (
            "loops and waits",
            SMALL,
            Config {
                threads: 2..=2,
                instructions: 3..=7,
                ..of(Allow { loops: true, wait: true, bcas: true, fences: true, na: true, ..none })
            },
        ),
        (
            "spins",
            SMALL,
            Config {
                instructions: 2..=4,
                registers: 1,
                ..of(Allow { loops: true, na: true, ..none })
            },
        ),
    ]
}

/// The program of a seed, with nothing that C has no word for.
fn program(seed: u64, domain: Domain, config: &Config) -> Program {
    let mut program = random::program(seed, config);
    program.domain = domain;
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        if step.instr == Instr::Fence(FenceMode::Upd) {
            step.instr = Instr::Fence(FenceMode::AcqRel);
        }
    }
    if seed.is_multiple_of(2) { random::with_sc_events(program, seed) } else { program }
}

/// Has a thread a loop?
fn loops(program: &Program) -> bool {
    program.threads.iter().any(|thread| {
        thread.reachable().any(|from| {
            let (mut seen, mut open) = (HashSet::new(), vec![from]);
            while let Some(pc) = open.pop() {
                for next in thread.code[pc.index()].successors() {
                    if next == from {
                        return true;
                    }
                    if seen.insert(next) {
                        open.push(next);
                    }
                }
            }
            false
        })
    })
}

/// In how many places of their code threads wait for a location of the program: `named` tells them.
fn waits(program: &Program, named: impl Fn(&str) -> bool) -> usize {
    let waiting = |step: &Step| match &step.instr {
        Instr::Wait { place, .. } | Instr::BlockingCas { place, .. } => {
            named(&program.locations[place.base.index()].name)
        }
        _ => false,
    };
    program.steps().filter(|(_, _, step)| waiting(step)).count()
}

/// What came of a comparison.
enum Outcome {
    /// The verdicts are the same, or differ as they may; these are for counting.
    Agrees(Vec<String>),
    /// This is different.
    Differs(String),
    /// One of the two could not be decided within the limits, or the virtual machine refuses the program.
    Undecided(&'static str),
}

fn question(model: Model) -> Question {
    let limits = Limits { states: Some(300_000), ..Limits::default() };
    Question { extent: Extent::All, limits, ..Question::of(model) }
}

/// The verdicts by property; `None` if one is undecided for want of time or space.
fn verdicts(program: &Program, model: Model) -> Option<Vec<(Property, String)>> {
    let answer = check::check(program, &question(model), &|_, _| {}).expect("a legal question");
    let verdicts = PROPERTIES.iter().filter_map(|property| {
        let verdict = answer.verdict(*property)?;
        // Locations that one thread alone touches are no locations in C, and a program without non-atomic
        // locations is not asked for races. So that there is none, or none that is known, may go unsaid.
        if *property == Property::Races && verdict.witness().is_none() {
            return None;
        }
        Some(match verdict {
            Verdict::Undecided(Why::Limit(_) | Why::GaveUp) => None,
            Verdict::Undecided(why) => Some((*property, format!("undecided: {why}"))),
            decided => Some((*property, decided.name().to_string())),
        })
    });
    verdicts.collect()
}

/// Writes a program in the language of a file, by the end of its name.
fn export_to(program: &Program, file: &Path) -> Result<String, export::ExportError> {
    match file.extension().is_some_and(|end| end == "rs") {
        true => export::rust(program),
        false => export::c(program),
    }
}

/// Compares a program with itself in C or Rust; `file` is where to write that.
fn compare(program: &Program, file: &Path) -> Outcome {
    let text = match export_to(program, file) {
        Ok(text) => text,
        Err(why) => return Outcome::Differs(format!("not exported: {why}")),
    };
    std::fs::write(file, text).expect("a file in the test's own folder");
    let compiled = match compile(file, &Options::default()) {
        Ok(compiled) => compiled,
        Err(why) => return Outcome::Differs(format!("not compiled: {why}")),
    };
    let limits = question(Model::Sc).limits;
    let name = file.display().to_string();
    let entry = vm::Entry::default();
    let module = compiled.module.clone();
    let discovered = code::discover(&name, compiled.module, &entry, limits, &|_| {});
    let source = match discovered {
        Ok(source) => source,
        Err(why) if why.to_string().contains("undecided") => {
            return Outcome::Undecided("undecided: discovery");
        }
        Err(why) if why.to_string().contains("that wraps around") => {
            return Outcome::Undecided("refused: an update wraps around");
        }
        Err(why) => return Outcome::Differs(format!("not discovered: {why}")),
    };
    // Threads also wait to be started and joined, on locations of other names.
    let (in_code, in_program) =
        (waits(&source.program, |name| name.starts_with("loc_")), waits(program, |_| true));
    let more_waits = in_code > in_program;
    let spins = loops(program) && more_waits;
    let mut counted = Vec::new();
    if spins {
        counted.push("spinning".to_string());
    }
    for model in MODELS {
        let (Some(expected), Some(found)) =
            (verdicts(program, model), verdicts(&source.program, model))
        else {
            return Outcome::Undecided("undecided: search");
        };
        let is_robust = |verdicts: &[(Property, String)]| {
            let of = verdicts.iter().find(|(property, _)| *property == Property::Robustness);
            of.is_none_or(|(_, verdict)| verdict == "holds")
        };
        if spins && !is_robust(&expected) && is_robust(&found) {
            counted.push(format!("{}: robust only because it waits", model.name()));
            continue;
        }
        if expected != found {
            return Outcome::Differs(format!(
                "{}: the program {expected:?}, as code {found:?}",
                model.name()
            ));
        }
        counted.extend(
            expected.iter().map(|(property, found)| format!("{} {property} {found}", model.name())),
        );
    }
    // What only weak memory shows, of code that is followed beyond interleavings.
    let weak = vm::Entry { beyond_seen_values: true, ..vm::Entry::default() };
    if let (false, Ok(source)) = (spins, code::discover(&name, module, &weak, limits, &|_| {}))
        && let (Some(expected), Some(found)) = (beyond(program), beyond(&source.program))
    {
        if expected != found {
            return Outcome::Differs(format!("weak: the program {expected:?}, in C {found:?}"));
        }
        counted.extend(expected.iter().map(|(property, found)| format!("weak {property} {found}")));
    }
    Outcome::Agrees(counted)
}

/// The verdicts of the weak memory itself; `None` if one is undecided, or no weak memory was explored.
fn beyond(program: &Program) -> Option<Vec<(Property, String)>> {
    let question = Question { beyond: check::Beyond::Full, ..question(Model::Rc11) };
    let answer = check::check(program, &question, &|_, _| {}).expect("a legal question");
    answer.weak?;
    let racy = answer.verdict(Property::Races).is_some_and(|races| races.witness().is_some());
    if racy {
        return Some(vec![(Property::Races, "violated".to_string())]);
    }
    match answer.verdict(Property::Assertions)? {
        Verdict::Undecided(_) => None,
        decided => Some(vec![(Property::Assertions, decided.name().to_string())]),
    }
}

/// The smallest program that differs: every instruction is left out that can be.
fn smallest(mut program: Program, file: &Path) -> (Program, String) {
    let mut why = String::new();
    loop {
        let before = program.clone();
        for (thread, pc) in (0..before.threads.len())
            .flat_map(|t| (0..before.threads[t].code.len()).map(move |pc| (t, pc)))
        {
            let instr = &program.threads[thread].code[pc].instr;
            if matches!(instr, Instr::Skip | Instr::Halt) {
                continue;
            }
            let mut less = program.clone();
            less.threads[thread].code[pc].instr = Instr::Skip;
            if let Outcome::Differs(still) = compare(&less, file) {
                (program, why) = (less, still);
            }
        }
        if program == before {
            return (program, why);
        }
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn c_programs_have_the_verdicts_of_the_programs_they_come_from() {
    let programs = number("FENCEPOST_CODE_PROGRAMS", 240);
    compare_all("c", "int main(void) { return 0; }\n", programs);
}

#[test]
fn rust_programs_have_the_verdicts_of_the_programs_they_come_from() {
    compare_all("rs", "fn main() {}\n", number("FENCEPOST_RUST_PROGRAMS", 100));
}

fn compare_all(end: &str, smallest_program: &str, programs: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let probe = folder.path().join(format!("probe.{end}"));
    std::fs::write(&probe, smallest_program).expect("written");
    if let Err(Failure::NoClang { .. } | Failure::NoRustc { .. }) =
        compile(&probe, &Options::default())
    {
        eprintln!("skipped: no compiler");
        return;
    }
    let families = families();
    let first = std::env::var("FENCEPOST_CODE_FIRST").ok().and_then(|n| n.parse().ok());
    let first: u64 = first.unwrap_or(0);
    let next = AtomicU64::new(first);
    let counts: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let failures: Mutex<Vec<String>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let file = folder.path().join(format!("program_{worker}.{end}"));
            let (families, next, counts, failures) = (&families, &next, &counts, &failures);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + programs || failures.lock().expect("no panic").len() >= 20 {
                        return;
                    }
                    let (family, domain, config) = &families[seed as usize % families.len()];
                    let program = program(seed, *domain, config);
                    let what = match compare(&program, &file) {
                        Outcome::Agrees(what) => what,
                        Outcome::Undecided(why) => vec![why.to_string()],
                        Outcome::Differs(why) => {
                            let (small, small_why) = smallest(program.clone(), &file);
                            let mut failures = failures.lock().expect("no panic");
                            failures.push(format!(
                                "seed {seed} ({family}): {why}\nsmallest: {small_why}\n{}\n{}",
                                ir::print::program(&ir::print::printable(&small)),
                                export_to(&small, &file).unwrap_or_default(),
                            ));
                            continue;
                        }
                    };
                    let mut counts = counts.lock().expect("no panic");
                    for what in what {
                        *counts.entry(what).or_default() += 1;
                    }
                }
            });
        }
    });
    let counts = counts.into_inner().expect("no panic");
    eprintln!("{programs} programs: {counts:#?}");
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{} differ\n\n{}", failures.len(), failures.join("\n\n"));
    // The comparison is about something: there are programs of every kind.
    for kind in ["robustness holds", "robustness violated", "races violated", "assertions violated"]
    {
        assert!(counts.contains_key(&format!("rc11 {kind}")), "no program with: {kind}");
    }
    // Programs that spin are rare: the first has a seed below 240.
    if programs >= 240 {
        assert!(counts.contains_key("spinning"), "no program that spins");
    }
}
