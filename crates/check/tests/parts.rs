//! Programs that fall into parts have the same answers part by part as in one piece.
//!
//! Two random programs are put side by side; in half of the programs an access of the second goes to a location of the first, so
//! that parts *almost* share nothing. Catches a premise of `check::parts` that is not checked, and answers about
//! parts that are put together wrongly. `FENCEPOST_PARTS_PROGRAMS` asks for more programs.

extern crate fencepost_check as check;

mod said;

use check::{Answer, By, DoubleCheck, Extent, Model, Property, Question, Reductions, parts};
use ir::random::{Allow, Config, Generator, program};
use ir::{Instr, Loc, Pc, Place, Program, Tid};
use memory::rc20::row_layout::Track;
use said::said;
use search::Limits;
use std::collections::BTreeSet;

const STATES: u64 = 60_000;

fn parse(text: &str) -> Program {
    lang::parse("parts", text).unwrap_or_else(|_| panic!("a good program: {text}")).program
}

fn places_mut(instr: &mut Instr) -> Vec<&mut Place> {
    match instr {
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. }
        | Instr::BlockingCas { place, .. }
        | Instr::Wait { place, .. } => vec![place],
        Instr::LightFence(places) => places.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// Both programs, with locations of their own.
fn side_by_side(a: &Program, b: &Program) -> Program {
    let mut both = a.clone();
    let offset = a.locations.len() as u32;
    both.locations.extend(b.locations.iter().cloned());
    for thread in &b.threads {
        let mut thread = thread.clone();
        for step in &mut thread.code {
            places_mut(&mut step.instr).into_iter().for_each(|place| place.base.0 += offset);
        }
        both.threads.push(thread);
    }
    both
}

/// Makes one access of the second program go to a location of the first, if there is one of its kind.
fn connect(both: &mut Program, threads: usize, locations: usize, random: &mut Generator) {
    let mut accesses = Vec::new();
    for (t, thread) in both.threads.iter_mut().enumerate().skip(threads) {
        for (pc, step) in thread.code.iter_mut().enumerate() {
            if places_mut(&mut step.instr).iter().any(|place| place.len == 1) {
                accesses.push((t, pc));
            }
        }
    }
    if accesses.is_empty() {
        return;
    }
    let (t, pc) = accesses[random.below(accesses.len())];
    let kinds: Vec<_> = both.locations.iter().map(|location| location.kind).collect();
    for place in places_mut(&mut both.threads[t].code[pc].instr) {
        let same = |loc: &usize| kinds[*loc] == kinds[place.base.index()];
        let others: Vec<usize> = (0..locations).filter(same).collect();
        if place.len == 1 && !others.is_empty() {
            place.base = Loc::from(others[random.below(others.len())]);
        }
    }
}

/// Everywhere that a property is violated, but for attacks, of which one is looked for.
fn places(answer: &Answer) -> BTreeSet<(&'static str, Tid, Pc)> {
    let decisions = answer.decisions.iter().filter(|one| matches!(one.by, By::Interleavings));
    let shown = decisions.filter_map(|one| Some((one.property, one.verdict.witness()?)));
    let more = answer.more.iter().map(|(property, witness)| (*property, witness));
    shown.chain(more).map(|(property, at)| (property.name(), at.tid, at.pc)).collect()
}

#[test]
fn parts_have_the_answers_of_the_whole() {
    let count = std::env::var("FENCEPOST_PARTS_PROGRAMS").ok().and_then(|n| n.parse().ok());
    let everything = Allow { loops: false, light_fences: false, ..Allow::EVERYTHING };
    let few = Allow { asserts: true, na: true, wait: true, fadd: true, ..Allow::NOTHING };
    let (mut compared, mut divided, mut violated) = (0u64, 0u64, 0u64);
    for seed in 0..count.unwrap_or(600u64) {
        let random = &mut Generator { state: seed };
        let allow = if seed % 3 == 0 { everything } else { few };
        let config = |threads| Config {
            threads,
            instructions: 2..=3,
            locations: 2,
            registers: 2,
            allow,
            ..Config::default()
        };
        let (a, b) = (program(2 * seed, &config(2..=2)), program(2 * seed + 1, &config(1..=2)));
        let mut both = side_by_side(&a, &b);
        if seed % 2 == 1 {
            connect(&mut both, a.threads.len(), a.locations.len(), random);
        }
        let models = [Model::Rc11, Model::Sc, Model::Tso, Model::Rc20, Model::Pso, Model::Ra];
        let question = Question {
            model: models[seed as usize / 2 % 6],
            extent: Extent::All,
            double_check: DoubleCheck::Never,
            limits: Limits { states: Some(STATES), ..Limits::default() },
            ..Question::default()
        };
        let plain = Question { reductions: Reductions::NONE, track: Track::All, ..question };
        let expected = check::check(&both, &plain, &|_, _| {}).expect("a legal question");
        let answer = check::check(&both, &question, &|_, _| {}).expect("a legal question");
        if expected.cost.limit.is_some() || answer.cost.limit.is_some() {
            continue;
        }
        compared += 1;
        divided += u64::from(parts::of(&both, &question).len() > 1);
        violated += u64::from(answer.verdicts().any(|verdict| verdict.witness().is_some()));
        assert_eq!(
            said(&answer),
            said(&expected),
            "seed {seed} {}\n{}",
            question.model.name(),
            ir::print::program(&both)
        );
        let undivided = Reductions { parts: false, ..question.reductions };
        let undivided = Question { reductions: undivided, ..question };
        let expected = check::check(&both, &undivided, &|_, _| {}).expect("a legal question");
        if expected.cost.limit.is_none() {
            let text = ir::print::program(&both);
            assert_eq!(places(&answer), places(&expected), "seed {seed}\n{text}");
        }
    }
    println!("{compared} compared, {divided} divided, {violated} violated");
    assert!(4 * divided > compared, "only {divided} of {compared} had parts");
    assert!(8 * violated > compared && 10 * violated < 9 * compared, "{violated} of {compared}");
}

fn count(text: &str, question: &Question) -> usize {
    parts::of(&parse(text), question).len()
}

/// Catches each premise that is no longer checked.
#[test]
fn programs_are_divided_only_where_that_is_proved() {
    let rc11 = Question::of(Model::Rc11);
    let tso = Question::of(Model::Tso);
    let two = "atomic x, y, z; thread a { x.store(1); } thread b { local r; r = y.load(); }";
    assert_eq!(count(two, &rc11), 2);
    // Premise 1: what somebody writes is shared, what nobody writes is not.
    assert_eq!(
        count("atomic x; thread a { x.store(1); } thread b { local r; r = x.load(); }", &rc11),
        1
    );
    let constant = "atomic x; thread t[2] { local r; r = x.load(); }";
    assert_eq!(count(constant, &rc11), 2);
    let by_a_third = "atomic x, y, z; thread a { x.store(1); } thread b { y.store(1); } \
                      thread c { local r; r = x.load(); r = y.load(); }";
    assert_eq!(count(by_a_third, &rc11), 1);
    // A computed index may be any element.
    let array =
        "atomic x[2]; thread a { x[0].store(1); } thread b { local r, s; s = x[r + 1].load(); }";
    assert_eq!(count(array, &rc11), 1);
    let elements =
        "atomic x[2]; thread a { x[0].store(1); } thread b { local s; s = x[1].load(); }";
    assert_eq!(count(elements, &rc11), 2);
    // Premise 2.
    let fences =
        "atomic x, y; thread a { x.store(1); fence(sc); } thread b { y.store(1); fence(sc); }";
    assert_eq!((count(fences, &rc11), count(fences, &tso)), (1, 2));
    let accesses = "atomic x, y; thread a { x.store(1, sc); } thread b { y.store(1, sc); }";
    assert_eq!((count(accesses, &rc11), count(accesses, &tso)), (1, 2));
    // Premise 3.
    let bus =
        "atomic x, y; thread a { bus_lock; x.store(1); bus_unlock; } thread b { y.store(1); }";
    assert_eq!(count(bus, &tso), 1);
    let spawned =
        "atomic x, y; thread a { spawn b; } thread b { y.store(1); } thread c { x.store(1); }";
    assert_eq!(count(spawned, &rc11), 1);
    // Premise 4.
    let condition =
        "atomic x, y; thread a { x.store(1); } thread b { y.store(1); } exists (x == 1 && y == 0);";
    assert_eq!(count(condition, &rc11), 1);
    assert_eq!(count(two, &Question { liveness: true, ..rc11 }), 1);
    let observational = Property::ObservationalRobustness;
    assert_eq!(count(two, &Question { property: observational, ..rc11 }), 1);
    assert_eq!(count(two, &Question { reductions: Reductions::NONE, ..rc11 }), 1);
}

/// The states of parts add up; in one piece they multiply. Catches a search of the whole.
#[test]
fn states_add_up() {
    let pair = |k: u32| {
        format!(
            "atomic f{k}; na d{k}; \
             thread p{k} {{ d{k}.nastore(1); f{k}.store(1, rel); wait(f{k}, 0, acq); d{k}.nastore(2); f{k}.store(1, rel); }} \
             thread c{k} {{ local r; wait(f{k}, 1, acq); r = d{k}.naload(); assert(r == 1); f{k}.store(0, rel); }}"
        )
    };
    let pairs = |n: u32| parse(&format!("max_value 2; {}", (0..n).map(pair).collect::<String>()));
    for model in [Model::Rc11, Model::Sc, Model::Tso] {
        let question = Question { double_check: DoubleCheck::Never, ..Question::of(model) };
        let cost = |n: u32| {
            let answer = check::check(&pairs(n), &question, &|_, _| {}).expect("a legal question");
            assert!(answer.verdicts().all(check::Verdict::holds), "{} {n}", model.name());
            answer.cost.states
        };
        assert_eq!(cost(12), 12 * cost(1), "{}", model.name());
    }
}

/// A part in which nothing can go wrong is not explored, and one in which something can is. Catches each thing that is no
/// longer looked for in the text.
#[test]
fn only_harmless_parts_are_skipped() {
    let states = |text: &str| {
        let question = Question { double_check: DoubleCheck::Never, ..Question::of(Model::Sc) };
        let answer = check::check(&parse(text), &question, &|_, _| {}).expect("a legal question");
        (answer.cost.states > 0, said(&answer), answer.stuck.len())
    };
    let nothing = ["assertions holds", "run-time errors false", "wraps false"].map(String::from);
    let harmless = "max_value 3; atomic x, y; thread t[2] { local r; x.store(t); r = y.load(); \
                    if (r == 1) { y.store(r); } exchange(x, 2); CAS(y, 0, r); }";
    assert_eq!(states(harmless), (false, nothing.to_vec(), 0));
    for (statement, error, wraps, stuck) in [
        ("assert(r == 0);", false, false, 0),
        ("r = 1 / r;", true, false, 0),
        ("r = a[r + 1].load();", true, false, 0),
        ("r = r - 1;", false, true, 0),
        ("FADD(x, 3);", false, true, 0),
        ("wait(x, 3);", false, false, 1),
        ("BCAS(x, 3, 1);", false, false, 1),
        ("while (r == 0) { r = x.load(); }", false, false, 0),
        ("assume(r == 1);", false, false, 0),
    ] {
        let text = format!("max_value 3; atomic x = 2, a[1]; thread t {{ local r; {statement} }}");
        let (explored, said, waiting) = states(&text);
        assert!(explored, "{text}");
        assert!(said.contains(&format!("run-time errors {error}")), "{text}: {said:?}");
        assert!(said.contains(&format!("wraps {wraps}")), "{text}: {said:?}");
        assert_eq!(waiting, stuck, "{text}");
    }
}

/// Forty threads in a ring of store buffering are not robust, a hundred in a chain are. Catches masks that are too
/// small, a search that only goes breadth first, and one that goes where nothing can be found.
#[test]
fn many_threads() {
    let text = |threads: usize, locations: usize| {
        let names: Vec<String> = (0..locations).map(|k| format!("x{k}")).collect();
        let thread = |k: usize| {
            let next = (k + 1) % locations;
            format!("thread t{k} {{ local r; x{k}.store(1); r = x{next}.load(); }}")
        };
        let threads: String = (0..threads).map(thread).collect();
        parse(&format!("max_value 1; atomic {}; {threads}", names.join(", ")))
    };
    let question = Question::of(Model::Tso);
    let check = |program: &Program| check::check(program, &question, &|_, _| {});
    let ring = check(&text(40, 40)).expect("a legal question");
    assert!(ring.verdict(Property::Robustness).is_some_and(|verdict| verdict.witness().is_some()));
    let chain = check(&text(100, 101)).expect("a legal question");
    assert!(chain.verdicts().all(check::Verdict::holds));
    assert_eq!(chain.cost.states, 0);
    let refused =
        |model: Model| check::check(&text(33, 34), &Question::of(model), &|_, _| {}).is_err();
    assert_eq!(
        [Model::Rc11, Model::Rc20, Model::Ra, Model::Pso].map(refused),
        [true, true, true, false]
    );
}
