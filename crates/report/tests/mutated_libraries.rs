//! Nothing that a library, its specification or their client can contain makes a comparison panic or run
//! on past its limits.
//!
//! Files of `corpus/refine` are mutated (see [`mutation`]). What can still be read is compared with random
//! settings and little time, and every report about it is written. `FENCEPOST_MUTATED_INPUTS` sets how
//! many inputs are tried.

extern crate fencepost_report as report;

mod mutation;

use budget::Budget;
use check::refinement::{Scope, refines};
use check::{Property, Question};
use ir::random::Generator;
use lang::library::{Project, parse};
use mutation::PATIENCE;
use report::refinement::Refinement;
use report::text::{Look, render};
use report::{html, junit, sarif};
use search::Limits;
use std::path::Path;

/// Words that change what a library does.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "200",
    "rlx",
    "acq",
    "rel",
    "pacq",
    "prel",
    "sc",
    "wait",
    "FADD",
    "CAS",
    "BCAS",
    "exchange",
    "assume",
    "assert",
    "library",
    "specification",
    "spec",
    "method",
    "client",
    "return",
    "call",
    "na",
    "atomic",
    "local",
    "while",
    "if",
    "goto",
    "oneof",
    "skip",
    "[1]",
    "x",
    "y",
    "r",
    "==",
    "<",
    "+",
    "/",
    "{",
    "}",
    ";",
    "(",
    ")",
    "AGAIN:",
    "thread",
    "max_value",
];

fn texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/refine");
    let entries = std::fs::read_dir(folder).expect("a corpus");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable corpus").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "fp"));
    files.sort();
    let read = |path| std::fs::read_to_string(path).expect("a readable corpus");
    let texts = files.into_iter().map(read);
    // Files that need another are of no use alone.
    texts.filter(|text| parse(&[("t.fp".into(), text.clone())], None).is_ok()).collect()
}

fn ask(project: &Project, random: &mut Generator) {
    for pair in &project.pairs {
        let scope = Scope {
            pending: 1 + random.below(2) as u8,
            history_only: random.below(4) == 0,
            reduce: random.below(3) > 0,
            on_demand: random.below(3) > 0,
            own_space: pair.own_space,
            literal: random.below(3) == 0,
            total: random.below(3) == 0,
            writes: (random.below(3) == 0).then_some(3),
        };
        let budget = Budget::new(Some(PATIENCE / 20), None);
        let limits = Limits { budget, ..Limits::default() };
        let (property, jobs) = (Property::Refinement, 1 + random.below(2));
        let question = &Question { property, scope, limits, jobs, ..Question::default() };
        let first = &pair.implementation.system;
        let second = &pair.specification.system;
        let answer = &refines(first, second, question, &mut |_| {});
        let shown = Refinement { project, pair, question, answer };
        let sheet = shown.sheet();
        let text = render(&shown.document(), &Look::PLAIN);
        assert!(!text.is_empty() && shown.json(&sheet).is_object());
        let sheets = [sheet];
        let shown = [
            html::page(&sheets),
            junit::document(&sheets),
            sarif::document(&sheets, &[]).to_string(),
        ];
        assert!(shown.iter().all(|face| !face.is_empty()));
    }
}

#[test]
fn mutated_libraries_are_survived() {
    mutation::survive(&texts(), WORDS, |text, random| {
        parse(&[("t.fp".into(), text.into())], None).map(|project| ask(&project, random)).is_ok()
    });
}
