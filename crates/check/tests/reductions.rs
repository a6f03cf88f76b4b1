//! No reduction, order of exploration or number of cores changes a verdict.

use check::{Extent, Model, Outcome, Property, Settings, Verdict, Why};
use model::Program;
use model::memory::rc20::columns::Track;
use model::random::{self, Allow, Config};
use search::{Limits, Order};

/// Which properties are violated. What is undecided because of another violation is not.
fn violations(outcome: &Outcome) -> Vec<(Property, bool)> {
    let answers = outcome.answers.iter();
    answers.map(|(property, verdict)| (*property, verdict.witness().is_some())).collect()
}

fn variants() -> Vec<(&'static str, Settings)> {
    let with = |reductions: &str| Settings {
        reductions: reductions.parse().expect("names of reductions"),
        extent: Extent::All,
        limits: Limits { states: Some(20_000), ..Limits::default() },
        ..Settings::default()
    };
    let mut variants: Vec<(&str, Settings)> =
        ["none", "local", "local,choice", "por", "symmetry", "subsume", "dead", "all", "local,por"]
            .into_iter()
            .map(|names| (names, with(names)))
            .collect();
    variants.push(("all, depth first", Settings { order: Order::Depth, ..with("all") }));
    variants.push(("none, two cores", Settings { jobs: 2, ..with("none") }));
    variants.push(("all values told apart", Settings { track: Track::All, ..with("all") }));
    variants.push(("first finding only", Settings { extent: Extent::First, ..with("all") }));
    variants
}

fn compare(program: &Program, name: &str) {
    for (model, observational) in
        [(Model::Sc, false), (Model::Rc20, false), (Model::Rc20, true), (Model::Ra, false)]
    {
        let mut expected = None;
        for (variant, settings) in variants() {
            let settings = Settings { model, observational, ..settings };
            let outcome = check::check(program, &settings, &|_, _| {});
            let limited = |(_, verdict): &(Property, Verdict)| {
                matches!(verdict, Verdict::Undecided(Why::Limit(_)))
            };
            if outcome.answers.iter().any(limited) {
                continue; // says nothing
            }
            let found = violations(&outcome);
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(
                found,
                *expected,
                "{name}: {} observational={observational}, {variant}\n{}",
                model.name(),
                model::print::program(program)
            );
        }
    }
}

/// Random programs with everything the language has, loops included.
#[test]
fn random_programs() {
    let asked = std::env::var("FENCEPOST_REDUCTION_PROGRAMS").ok();
    let count = asked.and_then(|count| count.parse().ok()).unwrap_or(2000);
    let allow = Allow { light_fences: false, ..Allow::EVERYTHING };
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                for seed in (part..count).step_by(2) {
                    let config = Config { instructions: 2..=4, allow, ..Config::default() };
                    compare(&random::program(seed, &config), &format!("seed {seed}"));
                }
            });
        }
    });
}

/// Random programs made of equal threads, which random ones hardly ever are.
#[test]
fn symmetric_programs() {
    let allow = Allow { light_fences: false, loops: false, ..Allow::EVERYTHING };
    for seed in 0..200 {
        let config = Config { threads: 1..=1, instructions: 2..=4, allow, ..Config::default() };
        let mut program = random::program(seed, &config);
        let Some(thread) = program.threads.pop() else { continue };
        for replica in 0..3 {
            program.threads.push(model::Thread { replica: Some(replica), ..thread.clone() });
        }
        compare(&program, &format!("three equal threads, seed {seed}"));
    }
}
