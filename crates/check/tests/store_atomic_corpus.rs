//! Every program of the corpus that says what it expects of a store-atomic machine.

extern crate fencepost_check as check;

use budget::Budget;
use check::robustness::store_atomic::model::AttackSearch;
use check::robustness::store_atomic::{Machine, compile, decide};
use check::{Method, Problem, Property, Question, Refusal, Verdict, Why};
use search::Limits;
use std::path::{Path, PathBuf};

/// Larger programs are left to longer runs.
const STATES: u64 = 10_000;

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("the corpus can be read").path();
        match path.is_dir() {
            true => programs(&path, found),
            false if path.extension().is_some_and(|e| e == "fp") => found.push(path),
            false => {}
        }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Verdicts are as expected, with singularity and locality where both apply, and singularity never
/// visits more states.
#[test]
fn the_corpus_is_as_it_says() {
    let mut files = Vec::new();
    programs(&corpus(), &mut files);
    files.sort();
    let (mut decided, mut large, mut both) = (0, 0, 0);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the corpus can be read");
        let name = file.display().to_string();
        for machine in Machine::ALL {
            let line = format!("// expect {machine} robustness: ");
            let Some(expected) = text.lines().find_map(|l| l.strip_prefix(&line)) else { continue };
            let source = lang::parse(&name, &text).expect("a good program");
            let limits = Limits { states: Some(STATES), ..Limits::default() };
            let run = |method| {
                let question = Question { method, limits, ..Question::of(machine) };
                decide(&source.program, machine, &question, &|_, _| {}).map(|(robust, _)| robust)
            };
            let outcome = run(Method::Locality).expect("locality is always complete");
            if let Verdict::Undecided(_) = outcome.verdict {
                large += 1;
                continue;
            }
            assert_eq!(outcome.verdict.name(), expected.trim(), "{name} {machine}");
            decided += 1;
            match run(Method::Singularity) {
                Ok(singular) => {
                    assert_eq!(singular.verdict.name(), outcome.verdict.name(), "{name} {machine}");
                    assert!(singular.cost.states <= outcome.cost.states, "{name} {machine}");
                    both += 1;
                }
                Err(refusal) => assert!(matches!(refusal, Refusal::Incomplete(..)), "{refusal}"),
            }
        }
    }
    eprintln!("{decided} decided, {both} both ways, {large} too large");
    assert!(decided > 200 && both > 20 && large < 120);
}

/// Singularity is refused where it would be wrong, and there it *is* wrong.
#[test]
fn singularity_is_refused_where_it_would_be_wrong() {
    let file = corpus().join("store-atomic/light-fence-two-delays.fp");
    let text = std::fs::read_to_string(file).expect("the corpus can be read");
    let source = lang::parse("light-fence-two-delays.fp", &text).expect("a good program");
    let method = Method::Singularity;
    let question = Question { method, ..Question::of(Machine::Pgas) };
    let refused = check::check(&source.program, &question, &|_, _| {}).unwrap_err();
    let [refusal] = refused[..] else { panic!("{refused:?}") };
    assert!(refusal.to_string().contains("lightweight fences"), "{refusal}");
    let compiled = compile(&source.program, Machine::Pgas);
    let findings = |singular| {
        let search =
            AttackSearch::new(&compiled.program, Machine::Pgas, singular, Budget::UNLIMITED);
        search::explore(&search, &search::Options::default(), &|_| {}).findings.len()
    };
    assert_eq!((findings(false), findings(true)), (1, 0));
    let without = text.replace("fence(x);", "");
    let source = lang::parse("no-fence.fp", &without).expect("a good program");
    let answer = check::check(&source.program, &question, &|_, _| {}).expect("complete");
    assert_eq!(answer.decisions[0].verdict.name(), "violated");
}

/// A value that grows without bound ends in a clean answer that names the place.
#[test]
fn runaway_values_are_undecided() {
    let text = "thread a initial q transition q p read r 0 transition p q write + r 1 0 end
                thread b initial q transition q p write 1 1 transition p s read r 2 end
                thread c initial q transition q p read r 1 transition p s write 1 2 end";
    let source = lang::trencher::parse("t.txt", text).expect("a good program");
    let question = Question::of(Machine::Tso);
    let answer = check::check(&source.program, &question, &|_, _| {}).expect("can be checked");
    let robust = answer.verdict(Property::Robustness).expect("it was asked for");
    assert_eq!(robust.why(), Some(Why::Faulty));
    let [faulty] = answer.faults.as_slice() else { panic!("{:?}", answer.faults) };
    let Problem::Fault(fault) = faulty.problem else { panic!("{:?}", faulty.problem) };
    assert!(fault.to_string().contains("out of range"), "{fault}");
    assert_eq!(
        source.snippet(source.span(source.program.step(faulty.tid, faulty.pc).origin)),
        "transition p q write + r 1 0"
    );
}

/// Equal threads whose registers are negative: their interleavings are explored with symmetry.
#[test]
fn negative_values_of_equal_threads() {
    let thread = |name: &str| {
        format!(
            "thread {name} initial q transition q p read r 0 transition p s local r - r 1
             transition s u read t 1 transition u v write r 0 end\n"
        )
    };
    let text = format!("{}{}", thread("a"), thread("b"));
    let source = lang::trencher::parse("t.txt", &text).expect("a good program");
    let question = Question::of(Machine::Tso);
    let answer = check::check(&source.program, &question, &|_, _| {}).expect("can be checked");
    assert!(answer.faults.is_empty());
    assert!(answer.verdict(Property::Assertions).is_some_and(Verdict::holds));
}
