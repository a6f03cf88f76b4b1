//! Cheapest memory orders, and all assignments of orders tried one by one.
//!
//! The oracle knows nothing of searches, graphs that are kept, or hitting sets: it takes the assignments in the
//! order of their cost and asks brute force, by the definitions, whether the program is robust and free of races
//! with each. The cost of the first that is must be the cost that was found.

use fencepost_check as check;

use check::fix::orders::{Costs, Goal, NoAssignment, Site, Strength, apply, assign, each, sites};
use check::{Model, Question};
use graph::{Limits, is_robust_and_race_free};
use ir::random::{Allow, Config};
use ir::{Origin, Program};

/// How many programs to try.
fn programs() -> u64 {
    let asked = std::env::var("FENCEPOST_ORDER_PROGRAMS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(200)
}

/// All strengths of a site.
fn strengths(site: &Site) -> Vec<Strength> {
    let mut all = vec![Strength::NONE];
    for &part in site.kind.parts() {
        let required = site.kind.required(part);
        let more: Vec<Strength> =
            all.iter().filter(|s| s.has(required)).map(|s| s.with(part)).collect();
        all.extend(more);
    }
    all
}

/// All assignments above the floor, as far as there are at most `most`.
fn assignments(sites: &[Site], floor: &[Strength], most: usize) -> Option<Vec<Vec<Strength>>> {
    let mut all: Vec<Vec<Strength>> = vec![Vec::new()];
    for (site, floor) in sites.iter().zip(floor) {
        let choices: Vec<Strength> =
            strengths(site).into_iter().filter(|s| s.has(*floor)).collect();
        if all.len() * choices.len() > most {
            return None;
        }
        let longer = |chosen: &Vec<Strength>| {
            let chosen = chosen.clone();
            choices.iter().map(move |s| [chosen.clone(), vec![*s]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    Some(all)
}

/// Is the program robust and free of races by the definitions?
fn correct(program: &Program, model: Model) -> Option<bool> {
    let limits = Limits { graphs: 20_000, ..Limits::default() };
    let answer = is_robust_and_race_free(&model.reads(program), &limits);
    (!answer.bounded || !answer.holds()).then_some(answer.holds())
}

fn cost(program: &Program, sites: &[Site], strengths: &[Strength]) -> u64 {
    let of = |(site, strength): (&Site, &Strength)| Costs::GENERIC.of(program, site, *strength);
    sites.iter().zip(strengths).map(of).sum()
}

/// The random program that a seed stands for, with few accesses: there are many assignments. Most have nothing but loads
/// and stores of two locations, because weak memory shows in those.
fn program(seed: u64) -> Program {
    let some = Allow {
        branches: true,
        fences: true,
        sc_fences: true,
        fadd: true,
        cas: true,
        ..Allow::NOTHING
    };
    let (allow, threads) = match seed % 4 {
        0 => (some, 2..=3),
        1 => (Allow { na: true, ..Allow::NOTHING }, 2..=2),
        _ => (Allow::NOTHING, 2..=2),
    };
    let config = Config { threads, instructions: 2..=3, allow, ..Config::default() };
    let mut program = ir::random::with_sc_events(ir::random::program(seed, &config), seed);
    // Every step stands at a place of its own.
    let steps = program.threads.iter_mut().flat_map(|thread| &mut thread.code);
    for (number, step) in steps.enumerate() {
        step.origin = Origin(number as u32);
    }
    program
}

/// Catches a set of points that is not necessary (a cheaper assignment is then missed), strengths that are not
/// enough, and parts that are not needed.
#[test]
fn no_cheaper_assignment_is_correct() {
    let (mut compared, mut changed, mut hopeless) = (0, 0, 0);
    for seed in 0..programs() {
        let program = program(seed);
        if program.has_updating_fences() {
            continue;
        }
        for (model, fences, weaken) in [
            (Model::Rc11, false, true),
            (Model::Rc11, false, false),
            (Model::Rc11, true, false),
            (Model::Rc20, false, true),
        ] {
            let sites = sites(&program, Some, |origin| fences.then_some(origin));
            let floor: Vec<Strength> = match weaken {
                true => vec![Strength::NONE; sites.len()],
                false => sites.iter().map(|site| site.written).collect(),
            };
            let Some(mut all) = assignments(&sites, &floor, 2_000) else { continue };
            all.sort_by_key(|assignment| cost(&program, &sites, assignment));
            let question = Question::default();
            let goal = Goal { models: &[model], question: &question, costs: &Costs::GENERIC };
            let found = assign(&program, &sites, &floor, &goal, &|_, _| {});
            let first = all.iter().find_map(|assignment| {
                let correct = correct(&apply(&program, &sites, assignment), model)?;
                correct.then(|| cost(&program, &sites, assignment))
            });
            match (found, first) {
                (Ok(found), Some(least)) => {
                    let paid = cost(&program, &sites, &found.strengths);
                    assert_eq!(paid, least, "seed {seed} {model:?} {fences} {weaken}");
                    assert!(found.minimum);
                    let patched = apply(&program, &sites, &found.strengths);
                    assert_ne!(correct(&patched, model), Some(false), "seed {seed} {model:?}");
                    changed += usize::from(found.strengths != floor);
                    compared += 1;
                }
                (Err(NoAssignment::Hopeless(_)), None) => hopeless += 1,
                (Err(NoAssignment::Hopeless(_)), Some(_)) => panic!("seed {seed}: not hopeless"),
                (Ok(_), None) => panic!("seed {seed} {model:?}: nothing is correct"),
                (Err(why), _) => panic!("seed {seed} {model:?}: {why}"),
            }
        }
    }
    assert!(compared > 100 && changed > 30 && hopeless > 0, "{compared} {changed} {hopeless}");
}

/// For each site alone: what suffices is correct, and one part less is not. Catches parts that are called
/// needed and are not, and the other way round.
#[test]
fn what_suffices_is_correct_and_less_is_not() {
    let (mut needed, mut weaker) = (0, 0);
    for seed in 0..programs() {
        let program = program(seed);
        if program.has_updating_fences() {
            continue;
        }
        let sites = sites(&program, Some, |_| None);
        let question = Question::default();
        let goal = Goal { models: &[Model::Rc11], question: &question, costs: &Costs::GENERIC };
        let Ok((needs, _)) = each(&program, &sites, &goal, &|_, _| {}) else { continue };
        let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
        for (k, need) in needs.iter().enumerate() {
            let mut strengths = written.clone();
            strengths[k] = need.suffices;
            let with = apply(&program, &sites, &strengths);
            assert_ne!(correct(&with, Model::Rc11), Some(false), "seed {seed} site {k}");
            weaker += usize::from(need.suffices != written[k]);
            for (part, _) in &need.without {
                strengths[k] = sites[k].kind.weakened(need.suffices, *part);
                let without = apply(&program, &sites, &strengths);
                assert_ne!(correct(&without, Model::Rc11), Some(true), "seed {seed} site {k}");
                needed += 1;
            }
        }
    }
    assert!(needed > 20 && weaker > 50, "{needed} {weaker}");
}
