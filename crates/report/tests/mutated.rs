//! Nothing that a program can contain makes a check panic or run on past its limits.
//!
//! Programs of the corpus and of Trencher's format are mutated: words are deleted, doubled, exchanged,
//! replaced by words of other programs, numbers changed, lines moved. What still is a program is
//! checked against every model with random options and tiny limits, fenced, enumerated, and every
//! report about it written. Catches panics, and searches and analyses that ignore their limits.
//! `FENCEPOST_MUTATED_INPUTS` sets how many inputs are tried; a failure prints the smallest input for
//! each place that panicked.

extern crate fencepost_report as report;

mod mutation;

use budget::Budget;
use check::fix::fences::{Aim, Weights, place};
use check::outcomes;
use check::robustness::store_atomic::Machine;
use check::{Extent, Method, Model, Property, Question, Reductions};
use ir::random::Generator;
use lang::Source;
use memory::rc20::row_layout::Track;
use mutation::PATIENCE;
use report::{InputReport, html, json, junit, sarif, text};
use std::path::{Path, PathBuf};

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

/// A random question, and limits that are reached soon.
fn question(random: &mut Generator) -> Question {
    let mut question = Question {
        property: match random.below(3) {
            0 => Property::ObservationalRobustness,
            _ => Property::Robustness,
        },
        model: [Model::Rc11, Model::Rc20, Model::Ra, Model::Sc][random.below(4)],
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
        [html::page(&sheets), junit::document(&sheets), sarif::document(&sheets, &[]).to_string()];
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
            let limits = outcomes::Limits { states: 300, buffer: 2, jobs: 2, budget };
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
    mutation::survive(&texts(), WORDS, |text, random| {
        let parse =
            if lang::trencher::looks_like(text) { lang::trencher::parse } else { lang::parse };
        parse("t.fp", text).map(|source| ask(&source, random)).is_ok()
    });
}
