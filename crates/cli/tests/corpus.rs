//! Every program of the corpus says in its header what it expects; this holds the tool to it.
//!
//! Catches: verdicts that change, programs that no longer parse, searches that became too large.

use check::{Model, Property, Question, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A search larger than this is a mistake of the corpus or of the tool.
const MOST_STATES: u64 = 30_000_000;

/// A line `// expect MODEL PROPERTY: VERDICT`.
struct Expectation {
    model: Model,
    property: Property,
    verdict: String,
}

#[test]
fn corpus_programs_get_the_verdicts_they_expect() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut wrong = Vec::new();
    let mut times = BTreeMap::new();
    let mut checked = 0;
    for file in programs(&corpus) {
        let name = file.strip_prefix(&corpus).unwrap_or(&file).display().to_string();
        let text = std::fs::read_to_string(&file).expect("a readable corpus");
        let source = lang::parse(&name, &text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let expected = expectations_of(&name, &text);
        assert!(text.contains("// expect "), "{name} expects nothing");
        for ((model, property), expected) in by_search(expected) {
            let start = Instant::now();
            let question = Question {
                model,
                property,
                limits: search::Limits { states: Some(MOST_STATES), ..Default::default() },
                jobs: 2,
                ..Question::default()
            };
            let answer = check::check(&source.program, &question, &|_, _| {})
                .unwrap_or_else(|refused| panic!("{name}: {refused:?}"));
            times.insert(start.elapsed(), format!("{name} {}", model.name()));
            for internal in &answer.internal {
                wrong.push(format!("{name}: {} {internal}", model.name()));
            }
            for Expectation { property, verdict, .. } in expected {
                checked += 1;
                let found = answer.verdict(property);
                if found.map(Verdict::name) != Some(verdict.as_str()) {
                    let model = model.name();
                    wrong.push(format!(
                        "{name}: expects {model} {property} {verdict}, got {found:.60?}"
                    ));
                }
                if let Some(Verdict::Violated(witness)) = found {
                    let needs_proof = property != Property::Assertions;
                    assert_eq!(needs_proof, witness.certificate().is_some(), "{name} {property}");
                }
            }
        }
    }
    for (time, search) in times.iter().rev().take(5) {
        println!("{time:>10.1?}  {search}");
    }
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 500, "only {checked} expectations");
}

fn programs(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a corpus") {
        let path = entry.expect("a readable corpus").path();
        match path.extension() {
            // Libraries are for `refine`, whose tests read their own table of verdicts.
            _ if path.ends_with("corpus/refine") => {}
            _ if path.is_dir() => found.extend(programs(&path)),
            Some(extension) if extension == "fp" => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

/// What the header expects of the models that there are.
fn expectations_of(name: &str, text: &str) -> Vec<Expectation> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("// expect "));
    let parse = |line: &str| {
        let (what, verdict) = line.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}"));
        let (model, property) = what.split_once(' ').unwrap_or_else(|| panic!("{name}: {line}"));
        let model = match model {
            // Machines and transactions are the business of other tests.
            "tso" | "pso" | "pgas" => return None,
            _ if property == "serializability" => return None,
            "sc" => Model::Sc,
            "rc11" => Model::Rc11,
            "rc20" => Model::Rc20,
            "ra" => Model::Ra,
            other => panic!("{name}: no model {other}"),
        };
        let all = [
            Property::Robustness,
            Property::ObservationalRobustness,
            Property::Races,
            Property::Assertions,
        ];
        let property = all.into_iter().find(|p| p.name() == property.trim());
        let property = property.unwrap_or_else(|| panic!("{name}: no property in {line}"));
        let verdict = verdict.trim();
        let known = ["holds", "violated", "undecided"];
        assert!(known.contains(&verdict), "{name}: no verdict in {line}");
        Some(Expectation { model, property, verdict: verdict.to_string() })
    };
    lines.filter_map(parse).collect()
}

/// One search answers several expectations.
fn by_search(expected: Vec<Expectation>) -> Vec<((Model, Property), Vec<Expectation>)> {
    let mut groups: Vec<((Model, Property), Vec<Expectation>)> = Vec::new();
    for expectation in expected {
        let property = match expectation.property {
            Property::ObservationalRobustness => Property::ObservationalRobustness,
            _ => Property::Robustness,
        };
        let search = (expectation.model, property);
        match groups.iter_mut().find(|(known, _)| *known == search) {
            Some((_, group)) => group.push(expectation),
            None => groups.push((search, vec![expectation])),
        }
    }
    groups
}
