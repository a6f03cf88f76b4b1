//! All assignments of memory orders to small random programs, and what each of them is worth.
//!
//! Nothing here knows of searches, graphs that are kept, or hitting sets: assignments are taken in the order of their cost, and
//! the program is asked whether it is correct with each: brute force by the definitions for models with memory orders, the
//! decision procedure, which has oracles of its own, for machines with store buffers. What a program with other orders is,
//! and what that costs, is written down here once more.

use super::check;

use check::fix::orders::{Allowed, Kind, Places, Site, Strength, sites};
use check::robustness::store_atomic::{Machine, decide};
use check::{Model, Question};
use graph::{Limits, is_robust_and_race_free};
use ir::random::{Allow, Config, Generator};
use ir::{FenceMode, Instr, Origin, Pc, Program, ReadMode, Step, WriteMode};

/// All strengths of a site.
pub(crate) fn strengths(site: &Site) -> Vec<Strength> {
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

/// All assignments that are allowed, as far as there are at most `most`, those that cost less first.
pub(crate) fn assignments(
    sites: &[Site],
    allowed: Allowed,
    most: usize,
) -> Option<Vec<Vec<Strength>>> {
    let mut all: Vec<Vec<Strength>> = vec![Vec::new()];
    for site in sites {
        let is_allowed = |strength: &Strength| match allowed {
            Allowed::Stronger => strength.has(site.written),
            Allowed::Weaker => site.written.has(*strength),
            Allowed::Both => true,
        };
        let choices: Vec<Strength> = strengths(site).into_iter().filter(is_allowed).collect();
        if all.len() * choices.len() > most {
            return None;
        }
        let longer = |chosen: &Vec<Strength>| {
            let chosen = chosen.clone();
            choices.iter().map(move |s| [chosen.clone(), vec![*s]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.sort_by_key(|assignment| cost(sites, assignment));
    Some(all)
}

/// What the cheapest correct assignment costs, if there is one.
pub(crate) fn least(
    program: &Program,
    sites: &[Site],
    all: &[Vec<Strength>],
    models: &[Model],
) -> Option<u64> {
    all.iter().find_map(|assignment| {
        let correct = correct_on_all(&rewritten(program, sites, assignment), models)?;
        correct.then(|| cost(sites, assignment))
    })
}

/// The program with these strengths, written anew: every step comes with the fences in front of it and behind it.
pub(crate) fn rewritten(program: &Program, sites: &[Site], strengths: &[Strength]) -> Program {
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

pub(crate) fn cost(sites: &[Site], strengths: &[Strength]) -> u64 {
    sites.iter().zip(strengths).map(|(site, strength)| price(site.kind, *strength)).sum()
}

/// Is the program what it shall be on a model? By the definitions for models with memory orders.
pub(crate) fn correct(program: &Program, model: Model) -> Option<bool> {
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
pub(crate) fn correct_on_all(program: &Program, models: &[Model]) -> Option<bool> {
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
                    // The weak one begins with a choice, and not with an access.
                    let cas = if random.one_in(2) { "weak_CAS" } else { "CAS" };
                    format!("r = {cas}({x}, 1, 2, {read}, {write}, rlx); ")
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
pub(crate) fn program(seed: u64) -> Program {
    if seed.is_multiple_of(2) {
        return shape(seed);
    }
    let mut program = anything(seed / 2);
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

/// The sites of a program, each statement at a place of its own. New fences may stand between two accesses of a thread: one in front of
/// all of them orders nothing, and is left out so that all assignments can be tried.
pub(crate) fn sites_of(program: &Program, fences: bool) -> Vec<Site> {
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
