//! Nothing that a program can contain makes a check panic or run on past its limits.
//!
//! Programs of the corpus and of Trencher's format are mutated: words are deleted, doubled, exchanged,
//! replaced by words of other programs, numbers changed, lines moved. What still is a program is
//! checked against every model with random options and tiny limits, fenced, enumerated, and every
//! report about it written. Catches panics, and searches and analyses that ignore their limits.
//! `FENCEPOST_MUTATED_INPUTS` sets how many inputs are tried; a failure prints the smallest input for
//! each place that panicked.

extern crate fencepost_report as report;

use budget::Budget;
use check::fix::fences::{Aim, Weights, place};
use check::outcomes;
use check::robustness::store_atomic::Machine;
use check::{Extent, Method, Model, Property, Question, Reductions};
use ir::random::Generator;
use lang::Source;
use memory::rc20::row_layout::Track;
use report::{InputReport, html, json, junit, sarif, text};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long one check may take in all. It has a limit of a twentieth of that.
const PATIENCE: Duration = Duration::from_secs(4);
/// After this long, a check is taken to hang and the test is ended.
const HANGS: Duration = Duration::from_secs(60);

fn count() -> u64 {
    std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

const AUTOMATA: &str = "thread t\ninitial a\ntransition a b write 1 0\ntransition b c read r 1\n\
    transition c d check == r 0\ntransition d e local r + r 1\ntransition e f mfence\n\
    transition f a write r 1\nend\nthread u\ninitial a\ntransition a b lock\ntransition b c write 2 1\n\
    transition c d read s 0\ntransition d a unlock\ntransition a e noop\nend\n";

/// Words that change what a program does.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "200",
    "rlx",
    "acq",
    "rel",
    "sc",
    "seq_cst",
    "wait",
    "FADD",
    "CAS",
    "BCAS",
    "exchange",
    "assume",
    "assert",
    "fence",
    "lock",
    "unlock",
    "bus_lock;",
    "bus_unlock;",
    "atomic",
    "na",
    "[1]",
    "[2]",
    "[t]",
    "t",
    "x",
    "y",
    "r",
    "==",
    "<",
    "+",
    "-",
    "/",
    "%",
    "goto",
    "while",
    "if",
    "oneof",
    "{",
    "}",
    ";",
    "max_value",
    "local",
    "read",
    "write",
    "mfence",
    "check",
    "noop",
];

fn texts() -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["litmus", "serial", "algorithms"] {
        let entries = std::fs::read_dir(corpus.join(folder)).expect("a corpus");
        files.extend(entries.map(|entry| entry.expect("a readable corpus").path()));
    }
    files.sort();
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    let mut texts: Vec<String> =
        files.into_iter().filter_map(read).filter(|text| text.len() < 2500).collect();
    texts.extend(std::iter::repeat_n(AUTOMATA.to_string(), texts.len() / 5));
    texts
}

/// Words, numbers and single signs; blanks belong to what follows.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in text.chars() {
        let joins = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word)
                if (joins && (last.is_alphanumeric() || last == '_')) || last.is_whitespace() =>
            {
                word.push(c);
            }
            _ => words.push(c.to_string()),
        }
        last = c;
    }
    words
}

fn mutated(texts: &[String], random: &mut Generator) -> String {
    let pick = |random: &mut Generator| texts[random.below(texts.len())].clone();
    let mut words = words(&pick(random));
    for _ in 0..1 + random.below(3) {
        if words.is_empty() {
            break;
        }
        let at = random.below(words.len());
        let other = random.below(words.len());
        let blank = |word: &str| format!(" {word}");
        let numbers: Vec<usize> = (0..words.len())
            .filter(|&k| {
                words[k].trim().chars().all(|c| c.is_ascii_digit()) && !words[k].trim().is_empty()
            })
            .collect();
        match random.below(12) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[other].clone()),
            2 => words.swap(at, other),
            3 => words[at] = blank(WORDS[random.below(WORDS.len())]),
            4 => words.insert(at, blank(WORDS[random.below(WORDS.len())])),
            5 => {
                let donor = self::words(&pick(random));
                if !donor.is_empty() {
                    words[at] = donor[random.below(donor.len())].clone();
                }
            }
            6 => {
                // A run of words, such as a statement, twice.
                let end = (at + 1 + random.below(12)).min(words.len());
                let copy: Vec<String> = words[at..end].to_vec();
                words.splice(at..at, copy);
            }
            _ if !numbers.is_empty() => {
                let number = numbers[random.below(numbers.len())];
                let values = ["0", "1", "2", "3", "5", "30", "255", "1000"];
                words[number] = blank(values[random.below(values.len())]);
            }
            _ => {}
        }
    }
    words.concat()
}

/// A random question, and limits that are reached soon.
fn question(random: &mut Generator) -> Question {
    let mut question = Question {
        property: match random.below(3) {
            0 => Property::ObservationalRobustness,
            _ => Property::Robustness,
        },
        model: [Model::Rc20, Model::Ra, Model::Sc][random.below(3)],
        races: random.below(4) > 0,
        extent: [Extent::First, Extent::All][random.below(2)],
        reductions: match random.below(3) {
            0 => Reductions::NONE,
            1 => {
                let one = ["local", "choice", "por", "symmetry", "subsume", "dead", "counters"];
                one[random.below(one.len())].parse().expect("a reduction")
            }
            _ => Reductions::ALL,
        },
        track: [Track::Critical, Track::All][random.below(2)],
        buffer: 2,
        jobs: 1 + random.below(2),
        ..Question::default()
    };
    question.limits.states = Some([1, 40, 2000][random.below(3)]);
    question.limits.budget = Budget::new(Some(PATIENCE / 20), None);
    question
}

fn faces(sheet: InputReport) {
    assert!(json::lines(&sheet).iter().all(|line| serde_json::to_string(line).is_ok()));
    let sheets = [sheet];
    let shown =
        [html::page(&sheets), junit::document(&sheets), sarif::document(&sheets).to_string()];
    assert!(shown.iter().all(|face| !face.is_empty()));
}

/// Everything that can be asked about a program.
fn ask(source: &Source, random: &mut Generator) {
    let mut source = source.clone();
    if random.below(4) == 0 {
        source.program.domain.edge = ir::Edge::Fault;
    }
    let source = &source;
    let question = question(random);
    let machine = Machine::ALL[random.below(3)];
    let (property, model) = match random.below(4) {
        0 => (Property::TriangularRaces, Model::Tso),
        _ => (Property::Robustness, machine.into()),
    };
    let on_machine = Question {
        property,
        model,
        method: [Method::Auto, Method::Locality, Method::Singularity][random.below(3)],
        ..question
    };
    for question in [&question, &on_machine] {
        if let Ok(answer) = check::check(&source.program, question, &|_, _| {}) {
            let report = InputReport::of(source, question, &answer);
            text::file(&report, text::Detail::Stories, &text::Look::PLAIN);
            faces(report);
        }
    }
    match random.below(3) {
        0 => {
            let aims = [Aim::Robust(machine)];
            let _ = place(&source.program, &aims, Weights::default(), &on_machine, &|_, _| {});
        }
        1 => {
            let budget = Budget::new(Some(PATIENCE / 20), None);
            let limits = outcomes::Limits { states: 300, buffer: 2, budget };
            outcomes::outcomes(&source.program, machine, &limits);
        }
        _ => {
            let property = Property::Serializability;
            let question = Question { property, model: Model::Tso, ..question };
            let _ = check::check(&source.program, &question, &|_, _| {});
        }
    }
}

#[test]
fn mutated_programs_are_survived() {
    let texts = texts();
    let panicked: Mutex<BTreeMap<String, String>> = Mutex::default();
    let place: &'static Mutex<String> = Box::leak(Box::default());
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().map_or("somewhere".into(), ToString::to_string);
        if let Ok(mut place) = place.lock() {
            *place = format!("{at}: {info}");
        }
    }));
    // Who hangs is named, and the test ends: nothing else would.
    let (begins, watched) = channel::<String>();
    let watcher = std::thread::spawn(move || {
        let mut current = String::new();
        loop {
            match watched.recv_timeout(HANGS) {
                Ok(text) => current = text,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("still at it after {HANGS:?}:\n{current}");
                    std::process::abort();
                }
            }
        }
    });
    let (mut programs, mut slow) = (0u64, Vec::new());
    for seed in 0..count() {
        let mut random = Generator { state: seed.wrapping_mul(0x2545_f491_4f6c_dd1d) };
        let text = mutated(&texts, &mut random);
        let parse =
            if lang::trencher::looks_like(&text) { lang::trencher::parse } else { lang::parse };
        begins.send(format!("seed {seed}\n{text}")).expect("somebody watches");
        let begun = Instant::now();
        let asked = catch_unwind(AssertUnwindSafe(|| match parse("t.fp", &text) {
            Ok(source) => {
                ask(&source, &mut random);
                1
            }
            Err(_) => 0,
        }));
        match asked {
            Ok(parsed) => programs += parsed,
            Err(_) => {
                let place = place.lock().map(|place| place.clone()).unwrap_or_default();
                let mut panicked = panicked.lock().expect("only this thread");
                let known = panicked.entry(place).or_insert_with(|| format!("seed {seed}\n{text}"));
                if text.len() < known.len() {
                    *known = format!("seed {seed}\n{text}");
                }
            }
        }
        if begun.elapsed() > PATIENCE {
            slow.push((begun.elapsed(), seed, text));
        }
    }
    drop(begins);
    watcher.join().expect("the watcher ends");
    std::panic::set_hook(usual);
    eprintln!("{} inputs, {programs} of them programs", count());
    let panicked = panicked.into_inner().expect("only this thread");
    for (place, text) in &panicked {
        eprintln!("== {place}\n{text}\n");
    }
    for (time, seed, text) in &slow {
        eprintln!("== {time:?}: seed {seed}\n{text}\n");
    }
    assert!(panicked.is_empty(), "{} places panicked", panicked.len());
    assert!(slow.is_empty(), "{} inputs took too long", slow.len());
    assert!(programs * 5 > count(), "only {programs} of {} inputs are programs", count());
}
