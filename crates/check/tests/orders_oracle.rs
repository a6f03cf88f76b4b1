//! Cheapest memory orders, and all assignments of orders tried one by one.
//!
//! The oracle knows nothing of searches, graphs that are kept, or hitting sets: it takes the assignments in the
//! order of their cost and asks whether the program is correct with each: brute force by the definitions for models with
//! memory orders, the decision procedure, which has oracles of its own, for machines with store buffers. The cost of the
//! first that is must be the cost that was found. What a program with other orders is, and what that costs, is
//! written down here once more.

use fencepost_check as check;

use check::fix::orders::{
    Costs, Effort, Goal, Kind, NoAssignment, Places, Site, Strength, assign, each, sites,
};
use check::robustness::store_atomic::{Machine, decide};
use check::{Model, Question};
use graph::{Limits, is_robust_and_race_free};
use ir::random::{Allow, Config, Generator};
use ir::{FenceMode, Instr, Origin, Pc, Program, ReadMode, Step, WriteMode};

/// Which programs to try: FENCEPOST_ORDER_PROGRAMS of them, from FENCEPOST_ORDER_FIRST on.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("FENCEPOST_ORDER_FIRST").unwrap_or(0);
    first..first + number("FENCEPOST_ORDER_PROGRAMS").unwrap_or(200)
}

/// All strengths of a site.
fn strengths(site: &Site) -> Vec<Strength> {
    const ACQ: Strength = Strength::ACQUIRE;
    const REL: Strength = Strength::RELEASE;
    const FAIL: Strength = Strength::FAIL_ACQUIRE;
    let (both, none) = (ACQ.with(REL), Strength::NONE);
    let sc = both.with(Strength::SC);
    match site.kind {
        Kind::Read => vec![none, ACQ, ACQ.with(Strength::SC)],
        Kind::Write => vec![none, REL, REL.with(Strength::SC)],
        Kind::Update | Kind::Fence => vec![none, ACQ, REL, both, sc],
        Kind::CompareExchange => vec![
            none,
            ACQ,
            REL,
            both,
            sc,
            ACQ.with(FAIL),
            both.with(FAIL),
            sc.with(FAIL),
            sc.with(FAIL).with(Strength::FAIL_SC),
        ],
    }
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

/// The program with these strengths, written anew: every step comes with the fences in front of it and behind it.
fn rewritten(program: &Program, sites: &[Site], strengths: &[Strength]) -> Program {
    let mut changed = program.clone();
    for (tid, thread) in program.tids().zip(&mut changed.threads) {
        let mut code: Vec<Step> = Vec::new();
        let mut first_of: Vec<usize> = Vec::new();
        let mut last_of: Vec<usize> = Vec::new();
        for (pc, step) in program.threads[tid.index()].code.iter().enumerate() {
            let here = |site: &Site| site.places.contains(&(tid, Pc::from(pc)));
            let own = || sites.iter().zip(strengths).filter(|(site, _)| here(site));
            let fences = |behind: bool| {
                own()
                    .filter(move |(site, _)| site.new && site.behind == behind)
                    .filter_map(|(_, s)| fence(*s))
                    .map(|mode| Step { instr: Instr::Fence(mode), ..step.clone() })
                    .collect::<Vec<Step>>()
            };
            first_of.push(code.len());
            code.extend(fences(false));
            let mut step = step.clone();
            for (site, strength) in own().filter(|(site, _)| !site.new) {
                set(&mut step.instr, site.kind, *strength);
            }
            code.push(step);
            code.extend(fences(true));
            last_of.push(code.len() - 1);
        }
        // Inside a group, one step leads to the next; where it leads elsewhere, to the beginning of a group.
        for (pc, (&first, &last)) in first_of.iter().zip(&last_of).enumerate() {
            let old = &program.threads[tid.index()].code[pc];
            for (at, step) in code.iter_mut().enumerate().take(last + 1).skip(first) {
                step.next = match at < last {
                    true => Pc::from(at + 1),
                    false => Pc::from(first_of[old.next.index()]),
                };
                if let Instr::Jump { targets, .. } = &mut step.instr {
                    targets.iter_mut().for_each(|to| *to = Pc::from(first_of[to.index()]));
                }
            }
            if matches!(old.instr, Instr::Halt) {
                let at = last_of[pc];
                code[at].next = Pc::from(at);
            }
        }
        thread.entry = Pc::from(first_of[thread.entry.index()]);
        thread.code = code;
    }
    changed
}

fn fence(strength: Strength) -> Option<FenceMode> {
    let has = |part| strength.has(part);
    Some(match (has(Strength::SC), has(Strength::ACQUIRE), has(Strength::RELEASE)) {
        (true, ..) => FenceMode::Sc,
        (_, true, true) => FenceMode::AcqRel,
        (_, true, false) => FenceMode::Acq,
        (_, false, true) => FenceMode::Rel,
        _ => return None,
    })
}

/// Gives an instruction a strength.
fn set(instr: &mut Instr, kind: Kind, strength: Strength) {
    let pick = |sc: Strength, half: Strength| match (strength.has(sc), strength.has(half)) {
        (true, _) => 2,
        (_, true) => 1,
        _ => 0,
    };
    let reads = |number: usize| [ReadMode::Rlx, ReadMode::Acq, ReadMode::Sc][number];
    let writes = |number: usize| [WriteMode::Rlx, WriteMode::Rel, WriteMode::Sc][number];
    let reading = reads(pick(Strength::SC, Strength::ACQUIRE));
    let writing = writes(pick(Strength::SC, Strength::RELEASE));
    let failing = reads(pick(Strength::FAIL_SC, Strength::FAIL_ACQUIRE));
    match instr {
        Instr::Load { mode, .. } | Instr::Wait { mode, .. } => {
            *mode = if kind == Kind::CompareExchange { failing } else { reading };
        }
        Instr::Store { mode, .. } => *mode = writing,
        Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
            (*read, *write) = (reading, writing);
        }
        Instr::Cas { read, write, fail, .. } => {
            (*read, *write, *fail) = (reading, writing, failing)
        }
        Instr::Fence(_) => {
            *instr = match fence(strength) {
                Some(mode) => Instr::Fence(mode),
                None => Instr::Skip,
            }
        }
        _ => {}
    }
}

/// What a strength costs, by the table that documentation has as `generic`. There are no loops.
fn price(kind: Kind, strength: Strength) -> u64 {
    let count = |parts: &[(Strength, u64)]| {
        parts.iter().filter(|(part, _)| strength.has(*part)).map(|(_, cost)| cost).sum()
    };
    let (acq, rel, sc) = (Strength::ACQUIRE, Strength::RELEASE, Strength::SC);
    match kind {
        Kind::Read => count(&[(acq, 2), (sc, 3)]),
        Kind::Write => count(&[(rel, 2), (sc, 6)]),
        Kind::Update => count(&[(acq, 1), (rel, 1), (sc, 2)]),
        Kind::CompareExchange => count(&[
            (acq, 1),
            (rel, 1),
            (sc, 2),
            (Strength::FAIL_ACQUIRE, 1),
            (Strength::FAIL_SC, 2),
        ]),
        Kind::Fence => count(&[(acq, 4), (rel, 4), (sc, 12)]),
    }
}

fn cost(sites: &[Site], strengths: &[Strength]) -> u64 {
    sites.iter().zip(strengths).map(|(site, strength)| price(site.kind, *strength)).sum()
}

/// Is the program what it shall be on a model? By the definitions for models with memory orders.
fn correct(program: &Program, model: Model) -> Option<bool> {
    if let Some(machine) = model.machine() {
        return Some(is_robust(program, machine));
    }
    let limits = Limits { graphs: 20_000, ..Limits::default() };
    let answer = is_robust_and_race_free(&model.reads(program), &limits);
    (!answer.bounded || !answer.holds()).then_some(answer.holds())
}

fn is_robust(program: &Program, machine: Machine) -> bool {
    let decided = decide(program, machine, &Question::of(machine), &|_, _| {});
    match decided.expect("can be checked").0.verdict.name() {
        "holds" => true,
        "violated" => false,
        other => panic!("{other}"),
    }
}

/// On all of them?
fn correct_on_all(program: &Program, models: &[Model]) -> Option<bool> {
    let each: Vec<Option<bool>> = models.iter().map(|model| correct(program, *model)).collect();
    match each.contains(&Some(false)) {
        true => Some(false),
        false => each.into_iter().collect::<Option<Vec<bool>>>().map(|_| true),
    }
}

/// Shapes in which weak memory shows, two threads of two accesses each: store buffering, message passing with atomic and with
/// plain data, load buffering, and those in which two writes are out of order.
const SHAPES: [[&str; 2]; 7] = [
    ["W(x, 1) R(y)", "W(y, 1) R(x)"],
    ["W(x, 1) W(y, 1)", "R(y) R(x)"],
    ["P W(y, 1)", "R(y) Q"],
    ["R(x) W(y, 1)", "R(y) W(x, 1)"],
    ["W(x, 1) W(y, 1)", "W(y, 2) R(x)"],
    ["W(x, 2) W(y, 1)", "R(y) W(x, 1)"],
    ["W(x, 1) W(y, 2)", "W(y, 1) W(x, 2)"],
];

/// A shape with random orders, some of its accesses read-modify-writes, and fences here and there.
fn shape(seed: u64) -> Program {
    let mut random = Generator { state: seed };
    let threads = SHAPES[random.below(SHAPES.len())].map(|thread| {
        let accesses = thread.split_inclusive(')').map(str::trim);
        let mut text = String::new();
        for access in accesses.flat_map(|part| part.split_inclusive(['P', 'Q'])).map(str::trim) {
            let pick = |random: &mut Generator, words: [&'static str; 3]| words[random.below(3)];
            let read = pick(&mut random, ["rlx", "acq", "sc"]);
            let write = pick(&mut random, ["rlx", "rel", "sc"]);
            if !text.is_empty() && random.one_in(6) {
                let fence = ["acq", "rel", "acq_rel", "sc"][random.below(4)];
                text.push_str(&format!("fence({fence}); "));
            }
            let inside = access.find('(').map(|open| &access[open + 1..access.len() - 1]);
            let update = random.one_in(6);
            text.push_str(&match (access.chars().next(), inside) {
                (Some('P'), _) => "d.nastore(1); ".to_string(),
                (Some('Q'), _) => "if (r == 1) { s = d.naload(); } ".to_string(),
                (Some('R'), Some(x)) if update => {
                    format!("r = CAS({x}, 1, 2, {read}, {write}, rlx); ")
                }
                (Some('R'), Some(x)) => format!("r = {x}.load({read}); "),
                (_, Some(rest)) => {
                    let (x, value) = rest.split_once(", ").expect("a value");
                    match update {
                        true => format!("FADD({x}, {value}, {read}, {write}); "),
                        false => format!("{x}.store({value}, {write}); "),
                    }
                }
                (_, None) => unreachable!("{access}"),
            });
        }
        text
    });
    let [first, second] = threads;
    let text = format!(
        "atomic x, y; na d; thread t {{ local r, s; {first} }} thread u {{ local r, s; {second} }}"
    );
    lang::parse("shape", &text).unwrap_or_else(|why| panic!("{text}: {why:?}")).program
}

/// The random program that a seed stands for, with few accesses: there are many assignments. Every other one is a shape in which
/// weak memory shows.
fn program(seed: u64) -> Program {
    let mut program = match seed.is_multiple_of(2) {
        true => shape(seed),
        false => anything(seed / 2),
    };
    // Every step stands at a place of its own.
    let steps = program.threads.iter_mut().flat_map(|thread| &mut thread.code);
    for (number, step) in steps.enumerate() {
        step.origin = Origin(number as u32);
    }
    program
}

/// A program of no shape in particular. Most have nothing but loads and stores of two locations.
fn anything(seed: u64) -> Program {
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
        2 => (Allow { branches: true, ..Allow::NOTHING }, 2..=2),
        _ => (Allow::NOTHING, 2..=2),
    };
    let config = Config { threads, instructions: 2..=3, allow, ..Config::default() };
    ir::random::with_sc_events(ir::random::program(seed, &config), seed)
}

/// The sites of a program, each step at a place of its own. New fences may stand between two accesses of a thread: one in front of
/// all of them orders nothing, and is left out so that all assignments can be tried.
fn sites_of(program: &Program, fences: bool) -> Vec<Site> {
    let is_first = |origin: Origin| {
        program.tids().any(|tid| {
            let mut code = program.threads[tid.index()].code.iter();
            code.find(|step| step.instr.place().is_some()).is_some_and(|s| s.origin == origin)
        })
    };
    let places = Places {
        operation: |origin, _| Some(origin),
        before: |origin| (fences && !is_first(origin)).then_some((origin, origin)),
        behind: |origin| fences.then_some(origin),
    };
    sites(program, &places).changeable
}

/// What is asked for: models, whether there may be new fences, whether anything may become weaker.
const ASKED: [(&[Model], bool, bool); 9] = [
    (&[Model::Rc11], false, true),
    (&[Model::Rc11], false, false),
    (&[Model::Rc11], true, false),
    (&[Model::Rc20], false, true),
    (&[Model::Ra], true, false),
    (&[Model::Tso], true, false),
    (&[Model::Pso], true, true),
    (&[Model::Pgas], true, false),
    (&[Model::Tso, Model::Rc11], true, false),
];

/// Catches a set of points that is not necessary (a cheaper assignment is then missed), strengths that are not
/// enough, and parts that are not needed.
#[test]
fn no_cheaper_assignment_is_correct() {
    let (mut changed, mut hopeless) = (0, 0);
    let mut compared = [0usize; ASKED.len()];
    for seed in seeds() {
        let program = program(seed);
        if program.has_updating_fences() {
            continue;
        }
        for (number, &(models, fences, weaken)) in ASKED.iter().enumerate() {
            let sites = sites_of(&program, fences);
            let floor: Vec<Strength> = match weaken {
                true => vec![Strength::NONE; sites.len()],
                false => sites.iter().map(|site| site.written).collect(),
            };
            let Some(mut all) = assignments(&sites, &floor, 4_000) else { continue };
            all.sort_by_key(|assignment| cost(&sites, assignment));
            let question = Question::default();
            let goal =
                Goal { models, question: &question, costs: &Costs::GENERIC, effort: Effort::FULL };
            let found = assign(&program, &sites, &floor, &goal, &|_, _| {});
            let first = all.iter().find_map(|assignment| {
                let correct = correct_on_all(&rewritten(&program, &sites, assignment), models)?;
                correct.then(|| cost(&sites, assignment))
            });
            let named = format!("seed {seed} {models:?} {fences} {weaken}");
            match (found, first) {
                (Ok(found), Some(least)) => {
                    assert_eq!(cost(&sites, &found.strengths), least, "{named}");
                    assert!(found.minimum, "{named}");
                    let patched = rewritten(&program, &sites, &found.strengths);
                    assert_ne!(correct_on_all(&patched, models), Some(false), "{named}");
                    irreducible(&program, &sites, &floor, &found.strengths, models, &named);
                    changed += usize::from(found.strengths != floor);
                    compared[number] += 1;
                }
                (Err(NoAssignment::Hopeless(_)), None) => hopeless += 1,
                (Err(NoAssignment::Hopeless(_)), Some(_)) => panic!("{named}: not hopeless"),
                (Ok(_), None) => panic!("{named}: nothing is correct"),
                (Err(why), _) => panic!("{named}: {why}"),
            }
        }
    }
    println!("compared {compared:?}, changed {changed}, hopeless {hopeless}");
    // Each question has to be compared on a good part of the programs, and answers have to be more than "nothing to do".
    let count = seeds().end - seeds().start;
    let (part, many) = (count as usize / 8, count as usize);
    assert!(compared.iter().all(|compared| *compared > part), "{compared:?}");
    assert!(changed > many && hopeless > 0, "{changed} {hopeless}");
}

/// Without any part of its strengths, the program is not correct any more.
fn irreducible(
    program: &Program,
    sites: &[Site],
    floor: &[Strength],
    chosen: &[Strength],
    models: &[Model],
    named: &str,
) {
    for (k, site) in sites.iter().enumerate() {
        for less in strengths(site) {
            let smaller = less != chosen[k] && chosen[k].has(less) && less.has(floor[k]);
            if !smaller {
                continue;
            }
            let mut fewer = chosen.to_vec();
            fewer[k] = less;
            let weaker = rewritten(program, sites, &fewer);
            assert_ne!(correct_on_all(&weaker, models), Some(true), "{named}: site {k}");
        }
    }
}

/// RC20's SC fences are accesses, so one more of them can make a robust program one that is not, and what refutes a
/// program with fences need not refute it without. RC11's own fences are none.
#[test]
fn a_fence_can_be_one_too_many() {
    let program = |fence: &str| {
        let text = format!(
            "atomic x, y; thread a {{ x.store(1, rel); {fence} }} \
             thread b {{ local r; {fence} r = y.load(acq); }} \
             thread c {{ local s; y.store(1, rel); s = x.load(acq); }}"
        );
        lang::parse("fences", &text).expect("a good program").program
    };
    for model in [Model::Ra, Model::Rc20, Model::Rc11] {
        assert_eq!(correct(&program(""), model), Some(true), "{model:?}");
        let robust = model == Model::Rc11;
        assert_eq!(correct(&program("fence(sc);"), model), Some(robust), "{model:?}");
    }
}

/// For each site alone: what suffices is correct, and one part less is not. Catches parts that are called
/// needed and are not, and the other way round.
#[test]
fn what_suffices_is_correct_and_less_is_not() {
    let (mut needed, mut weaker) = (0, 0);
    for seed in seeds() {
        let program = program(seed);
        if program.has_updating_fences() {
            continue;
        }
        let sites = sites_of(&program, false);
        let question = Question::default();
        let goal = Goal {
            models: &[Model::Rc11],
            question: &question,
            costs: &Costs::GENERIC,
            effort: Effort::FULL,
        };
        let Ok((needs, _)) = each(&program, &sites, &goal, &|_, _| {}) else { continue };
        let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
        for (k, need) in needs.iter().enumerate() {
            let mut strengths = written.clone();
            strengths[k] = need.suffices;
            let with = rewritten(&program, &sites, &strengths);
            assert_ne!(correct(&with, Model::Rc11), Some(false), "seed {seed} site {k}");
            weaker += usize::from(need.suffices != written[k]);
            for (part, _) in &need.without {
                strengths[k] = sites[k].kind.weakened(need.suffices, *part);
                let without = rewritten(&program, &sites, &strengths);
                assert_ne!(correct(&without, Model::Rc11), Some(true), "seed {seed} site {k}");
                needed += 1;
            }
        }
    }
    assert!(needed > 20 && weaker > 50, "{needed} {weaker}");
}
