//! The answer with all reductions is the answer with none, on programs aimed at the reductions.
//!
//! `FENCEPOST_AIMED_PROGRAMS` asks for more programs, `FENCEPOST_FIRST_SEED` for others.

extern crate fencepost_check as check;

mod aimed;
mod said;

use check::{DoubleCheck, Extent, Model, Property, Question, Reductions};
use ir::random::{Strengthen, with_sc_orders, without_registers};
use memory::rc20::row_layout::Track;
use said::said;
use search::Limits;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A search that takes more is given up and says nothing.
const STATES: u64 = 20_000;

#[test]
fn aimed_programs() {
    let (compared, violated) = (AtomicU64::new(0), AtomicU64::new(0));
    let seeds = aimed::each_seed("FENCEPOST_AIMED_PROGRAMS", |seed| {
        let (program, text) = aimed::parsed(seed);
        let (model, property) = [
            (Model::Rc20, Property::Robustness),
            (Model::Sc, Property::Robustness),
            (Model::Rc20, Property::ObservationalRobustness),
            (Model::Ra, Property::Robustness),
            (Model::Rc11, Property::Robustness),
            (Model::Rc11, Property::ObservationalRobustness),
        ][seed as usize % 6];
        let program = match seed / 6 % 3 {
            _ if model != Model::Rc11 => program,
            0 => with_sc_orders(program, Strengthen::Synchronising),
            1 => with_sc_orders(program, Strengthen::All),
            _ => program,
        };
        let question = Question {
            model,
            property,
            extent: Extent::All,
            double_check: DoubleCheck::Never,
            limits: Limits { states: Some(STATES), ..Limits::default() },
            ..Question::default()
        };
        let plain = Question { reductions: Reductions::NONE, track: Track::All, ..question };
        let expected = check::check(&program, &plain, &|_, _| {}).expect("a legal question");
        if expected.cost.limit.is_some() {
            return;
        }
        let answer = std::panic::catch_unwind(|| {
            check::check(&program, &question, &|_, _| {}).expect("a legal question")
        })
        .unwrap_or_else(|_| panic!("seed {seed} {}\n{text}", model.name()));
        if answer.cost.limit.is_some() {
            return;
        }
        compared.fetch_add(1, Relaxed);
        let wrong = answer.verdicts().any(|v| v.witness().is_some());
        violated.fetch_add(u64::from(wrong), Relaxed);
        if said(&answer) != said(&expected) {
            panic!(
                "seed {seed}: {} {property}\nreduced {:?}\nplain   {:?}\n{text}",
                model.name(),
                said(&answer),
                said(&expected)
            );
        }
    });
    let count = seeds.end - seeds.start;
    let (compared, violated) = (compared.into_inner(), violated.into_inner());
    println!("{compared} of {count} programs compared, {violated} of them violated");
    assert!(2 * compared > count, "only {compared} of {count} programs could be compared");
    assert!(
        10 * violated > compared && 5 * violated < 4 * compared,
        "{violated} of {compared} violated"
    );
}

/// A program whose registers are unfolded into places of its code has the answers of the program that it was made of, without
/// any reduction and with all.
/// Catches a switch that an analysis, a monitor or a reduction misunderstands.
#[test]
fn automata_have_the_answers_of_their_programs() {
    let compared = AtomicU64::new(0);
    let seeds = aimed::each_seed("FENCEPOST_AUTOMATA", |seed| {
        let (program, text) = aimed::parsed(seed);
        let Some(unfolded) = without_registers(&program, 400) else { return };
        let models = [Model::Rc11, Model::Rc20, Model::Sc, Model::Ra, Model::Tso];
        let model = models[seed as usize % 5];
        let question = Question {
            model,
            double_check: DoubleCheck::Never,
            limits: Limits { states: Some(STATES), ..Limits::default() },
            ..Question::default()
        };
        let plain = Question { reductions: Reductions::NONE, ..question };
        // Results that wrap around are computed when the program is unfolded.
        let answer = |program, question| {
            let answer =
                std::panic::catch_unwind(|| check::check(program, question, &|_, _| {}).ok());
            let answer =
                answer.unwrap_or_else(|_| panic!("seed {seed} {}\n{text}", model.name()))?;
            let mut said = said(&answer);
            said.pop();
            let cut = answer.cost.limit.is_some() || said.iter().any(|it| it.contains("limit"));
            (!cut).then_some(said)
        };
        let Some(expected) = answer(&program, &question) else { return };
        for question in [&question, &plain] {
            let Some(unfolded) = answer(&unfolded, question) else { continue };
            compared.fetch_add(1, Relaxed);
            assert_eq!(unfolded, expected, "seed {seed} {}\n{text}", model.name());
        }
    });
    let count = seeds.end - seeds.start;
    let compared = compared.into_inner();
    println!("{compared} answers compared");
    assert!(2 * compared > count, "only {compared} answers of {count} programs were compared");
}
