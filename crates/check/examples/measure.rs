//! Checks programs and prints what it cost: `measure MODEL REDUCTIONS JOBS FILE…`, where MODEL is
//! sc, rc20, ra, rc20-o or ra-o (observational).

extern crate fencepost_check as check;
use check::{Model, Property, Question};
use std::io::Write;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, model, reductions, jobs, files @ ..] = &args[..] else {
        eprintln!("usage: measure sc|rc20|ra|rc20-o|ra-o REDUCTIONS JOBS FILE…");
        std::process::exit(2);
    };
    let question = Question {
        model: match model.trim_end_matches("-o") {
            "rc11" => Model::Rc11,
            "rc20" => Model::Rc20,
            "ra" => Model::Ra,
            _ => Model::Sc,
        },
        property: match model.ends_with("-o") {
            true => Property::ObservationalRobustness,
            false => Property::Robustness,
        },
        reductions: reductions.parse().expect("reductions"),
        jobs: jobs.parse().expect("a number of jobs"),
        ..Question::default()
    };
    for file in files {
        let text = std::fs::read_to_string(file).expect("a readable file");
        let source = lang::parse(file, &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let answer = check::check(&source.program, &question, &|task, p| {
            eprint!(
                "\r{:?} {} states, depth {}, {} MB   ",
                task.focus,
                p.states,
                p.depth,
                p.bytes >> 20
            );
        })
        .unwrap_or_else(|refused| panic!("{file}: {refused:?}"));
        let cost = answer.cost;
        let verdicts: Vec<String> = answer
            .decisions
            .iter()
            .map(|one| format!("{} {}", one.property, one.verdict.name()))
            .collect();
        let seconds = cost.elapsed.as_secs_f64();
        println!(
            "{file}: {}; {} states {} transitions {} searches {seconds:.2} s, {:.2} M/s, peak {} MB",
            verdicts.join(", "),
            cost.states,
            cost.transitions,
            cost.searches,
            cost.states as f64 / seconds / 1e6,
            cost.peak_bytes >> 20,
        );
        std::io::stdout().flush().expect("stdout");
    }
}
