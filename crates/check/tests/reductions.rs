//! No reduction, order of exploration or number of cores changes a verdict.

extern crate fencepost_check as check;

mod said;

use analysis::counters::{self, Found};
use analysis::values::PossibleValues;
use check::{DoubleCheck, Extent, Model, Property, Question, Refusal};
use ir::Program;
use ir::random::{self, Allow, Config};
use memory::rc20::row_layout::Track;
use said::said;
use search::{Limits, Order};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A search that takes more is given up and says nothing.
const STATES: u64 = 20_000;

/// The number in an environment variable, or else `usual`.
fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What every variant is asked.
const MODELS: [(Model, Property); 6] = [
    (Model::Sc, Property::Robustness),
    (Model::Rc11, Property::Robustness),
    (Model::Rc11, Property::ObservationalRobustness),
    (Model::Rc20, Property::Robustness),
    (Model::Rc20, Property::ObservationalRobustness),
    (Model::Ra, Property::Robustness),
];

const NAMES: [&str; 10] = [
    "none",
    "local",
    "local,choice",
    "por",
    "symmetry",
    "subsume",
    "dead",
    "dead,counters",
    "all",
    "local,por",
];

fn variants(states: u64) -> Vec<(&'static str, Question)> {
    let with = |reductions: &str| Question {
        reductions: reductions.parse().expect("names of reductions"),
        extent: Extent::All,
        double_check: DoubleCheck::Never,
        limits: Limits { states: Some(states), ..Limits::default() },
        ..Question::default()
    };
    let mut variants: Vec<(&str, Question)> =
        NAMES.into_iter().map(|names| (names, with(names))).collect();
    variants.push(("all, depth first", Question { order: Order::Depth, ..with("all") }));
    variants.push(("none, two cores", Question { jobs: 2, ..with("none") }));
    variants.push(("all values told apart", Question { track: Track::All, ..with("all") }));
    variants.push(("first finding only", Question { extent: Extent::First, ..with("all") }));
    variants
}

/// Without those that go depth first, where runs get so long that judging them takes most of the time.
fn breadth_first(states: u64) -> Vec<(&'static str, Question)> {
    let mut variants = variants(states);
    variants.retain(|(_, settings)| settings.order == Order::Breadth);
    variants
}

/// How many explorations without reductions ended within their limits, and how many with were compared
/// with them.
#[derive(Default)]
struct Compared {
    plain: usize,
    others: usize,
}

impl Compared {
    fn add(&mut self, other: Compared) {
        self.plain += other.plain;
        self.others += other.others;
    }

    /// Fails unless most of `asked` explorations said something.
    fn is_enough(&self, asked: usize, variants: usize) {
        let Compared { plain, others } = self;
        println!("{plain} of {asked} explorations without reductions, {others} compared with them");
        assert!(2 * plain > asked, "only {plain} of {asked} explorations without reductions");
        assert!(4 * others > 3 * plain * (variants - 1), "only {others} compared with {plain}");
    }
}

/// Compares the variants that end within their limits where `none`, which comes first, does.
fn compare(program: &Program, name: &str, variants: &[(&str, Question)]) -> Compared {
    let mut compared = Compared::default();
    for (model, property) in MODELS {
        let mut expected = None;
        for (variant, question) in variants {
            let question = Question { model, property, ..*question };
            let answer = match check::check(program, &question, &|_, _| {}) {
                Ok(answer) => answer,
                // Transactions, say, mean nothing here.
                Err(refused) if matches!(refused[..], [Refusal::Meaningless { .. }, ..]) => break,
                Err(refused) => panic!("{name}: {refused:?}"),
            };
            if answer.cost.limit.is_some() {
                if expected.is_none() {
                    break; // nothing to compare with
                }
                continue;
            }
            match expected {
                None => compared.plain += 1,
                Some(_) => compared.others += 1,
            }
            let found = said(&answer);
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(
                found,
                *expected,
                "{name}: {} {property}, {variant}\n{}",
                model.name(),
                ir::print::program(program)
            );
        }
    }
    compared
}

/// Random programs with everything the language has, loops included. `FENCEPOST_REDUCTION_PROGRAMS`
/// asks for more of them.
#[test]
fn random_programs() {
    let count = asked("FENCEPOST_REDUCTION_PROGRAMS", 400);
    let allow = Allow { light_fences: false, ..Allow::EVERYTHING };
    let variants = &variants(STATES);
    let half = |part| {
        let mut compared = Compared::default();
        for seed in (part..count).step_by(2) {
            let config = Config { instructions: 2..=4, allow, ..Config::default() };
            let program = random::with_sc_events(random::program(seed, &config), seed);
            compared.add(compare(&program, &format!("seed {seed}"), variants));
        }
        compared
    };
    let mut compared = Compared::default();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        compared.add(half(0));
        compared.add(other.join().expect("the other half agrees, too"));
    });
    compared.is_enough(MODELS.len() * count as usize, variants.len());
}

/// Random programs made of equal threads, which random ones hardly ever are.
#[test]
fn symmetric_programs() {
    let allow = Allow { light_fences: false, loops: false, ..Allow::EVERYTHING };
    let variants = variants(STATES);
    let mut compared = Compared::default();
    for seed in 0..100 {
        let config = Config { threads: 1..=1, instructions: 2..=4, allow, ..Config::default() };
        let mut program = random::with_sc_events(random::program(seed, &config), seed);
        let Some(thread) = program.threads.pop() else { continue };
        for replica in 0..3 {
            program.threads.push(ir::Thread { replica: Some(replica), ..thread.clone() });
        }
        compared.add(compare(&program, &format!("three equal threads, seed {seed}"), &variants));
    }
    compared.is_enough(MODELS.len() * 100, variants.len());
}

/// Random programs that count, as in queues and ticket locks: numbers go up and down by constants
/// and are compared with each other, and a guard keeps them small.
#[test]
fn counting_programs() {
    let mut counting = 0;
    let variants = breadth_first(3_000);
    let mut compared = Compared::default();
    for seed in 0..40 {
        let text = counting_program(seed);
        let program = lang::parse("counting", &text).expect("a good program").program;
        counting += usize::from(!counters(&program).classes.is_empty());
        compared.add(compare(&program, &format!("counting, seed {seed}\n{text}"), &variants));
    }
    println!("{} explorations, {} compared with them", compared.plain, compared.others);
    assert!(compared.plain > 40, "only {} explorations without reductions", compared.plain);
    assert!(counting > 12, "only {counting} programs have counters");
}

fn counters(program: &Program) -> Found {
    counters::find(program, &PossibleValues::of(program))
}

fn counting_program(seed: u64) -> String {
    let mut random = random::Generator { state: seed };
    let mut text = String::from("max_value 7;\nglobal x = 1, y = 1;\n");
    let load = ["rlx", "acq"];
    let store = ["rlx", "rel"];
    for t in 0..2 + random.below(2) {
        text += &format!("thread t{t} {{\n  local r, s;\n  while (true) {{\n    oneof(");
        for _ in 0..1 + random.below(2) {
            let (x, y) = if random.one_in(2) { ("x", "y") } else { ("y", "x") };
            let (read, write) = (random.pick(&load), random.pick(&store));
            let fence = if random.one_in(3) { "fence(seq_cst);" } else { "" };
            let compare = random.pick(&["<", "<=", ">", ">=", "==", "!="]);
            text += "{\n";
            text += &format!("      r = {x}.load({read}); {fence}\n");
            text += &match random.below(6) {
                0 => format!("assume(r < 5); {x}.store(r + 1, {write});"),
                1 => {
                    format!("s = {y}.load({read}); if (r {compare} s) {{ {x}.store(s, {write}); }}")
                }
                2 => format!("assume(r < 5); BCAS({x}, r, r + 1, {read}, {write});"),
                3 => format!("assume(r <= 4); s = CAS({x}, r, r + 1, {read}, {write});"),
                4 => format!(
                    "s = {y}.load({read}); if (r < s) {{ {fence} BCAS({x}, r, r + 1, {read}, {write}); }}"
                ),
                _ => {
                    format!("s = {y}.load({read}); if (s {compare} r) {{ {y}.store(r, {write}); }}")
                }
            };
            text += "\n    }";
        }
        text += ");\n  }\n}\n";
    }
    text
}

/// Random programs with epochs: a clock that goes up a few times, locations that hold what it showed
/// some time ago or 0, and loop_counters that say how often it may go up.
#[test]
fn epoch_programs() {
    let (mut clocks, mut loop_counters, mut compared) = (0, 0, Compared::default());
    let mut variants = breadth_first(3_000);
    variants.retain(|(name, settings)| *name == "none" || settings.reductions.counters);
    let count = asked("FENCEPOST_REDUCTION_PROGRAMS", 60);
    for seed in 0..count {
        let text = epoch_program(seed);
        let program = lang::parse("epochs", &text).expect("a good program").program;
        let found = counters(&program);
        clocks += u64::from(found.classes.iter().any(|class| class.clock.is_some()));
        loop_counters += u64::from(!found.loop_counters.is_empty());
        compared.add(compare(&program, &format!("epochs, seed {seed}\n{text}"), &variants));
    }
    let plain = compared.plain;
    println!(
        "{clocks} programs with clocks, {loop_counters} with loop_counters, {plain} explorations"
    );
    assert!(2 * clocks > count, "only {clocks} programs have clocks");
    assert!(4 * loop_counters > count, "only {loop_counters} programs keep loop_counters");
    assert!(plain as u64 > count, "only {plain} explorations without reductions");
}

fn epoch_program(seed: u64) -> String {
    let mut random = random::Generator { state: seed };
    let mut text = String::from("max_value 15;\nglobal now = 1, e0 = 0, e1 = 0, l = 0, x = 0;\n");
    for t in 0..2 {
        text += &format!("thread t{t} {{\n  local r, s, n;\n  while (true) {{\n    oneof(");
        for _ in 0..1 + random.below(3) {
            let (own, other) = (format!("e{t}"), format!("e{}", 1 - t));
            let (read, write) = (random.pick(&["rlx", "acq"]), random.pick(&["rlx", "rel"]));
            let fence = if random.one_in(2) { "fence(seq_cst);" } else { "" };
            let compare = random.pick(&["<", "<=", ">", ">=", "==", "!="]);
            let limit = 1 + random.below(2);
            text += "{\n      ";
            text += &match random.below(11) {
                9 => format!("wait({other}, 0, {read}); {fence}"),
                10 => format!("r = now.load({read}); wait({other}, r, {read}); {fence}"),
                0 | 1 => format!("r = now.load({read}); {own}.store(r, {write}); {fence}"),
                2 => format!("{own}.store(0, {write}); {fence}"),
                3 => format!(
                    "if (n < {limit}) {{ n = n + 1; BCAS(l, 0, 1, acq, {write}); r = now.load({read}); \
                     now.store(r + 1, {write}); {fence} wait({other}, r + 1, 0, {read}); l.store(0, rel); }}"
                ),
                4 => format!(
                    "if (n < {limit}) {{ n = n + 1; r = now.load({read}); r = r + 1; {fence} now.store(r, {write}); }}"
                ),
                5 => format!(
                    "if (n < {limit}) {{ n = n + 1; r = FADD(now, 1, {read}, {write}); {own}.store(r, {write}); }}"
                ),
                6 => format!(
                    "r = now.load({read}); s = {other}.load({read}); if (r {compare} s) {{ x.store(1, {write}); }}"
                ),
                7 => format!("s = {other}.load({read}); {fence} wait({own}, s, 0, {read});"),
                _ => format!(
                    "r = now.load({read}); {fence} s = now.load({read}); assert(r {compare} s);"
                ),
            };
            text += "\n    }";
        }
        text += ");\n  }\n}\n";
    }
    text
}

/// How often a loop_counter lets the clock go up makes no difference: a state tells neither that nor the
/// time, only who is behind.
#[test]
fn time_is_relative() {
    let states = |times: u32| {
        let text = format!(
            "max_value 200;
             global now = 1, seen[2] = 0, l = 0;
             thread t[2] {{
               local e, n;
               while (true) {{
                 oneof({{
                   e = now.load(acq); seen[t].store(e, rel); fence(seq_cst);
                 }}{{
                   seen[t].store(0, rel); fence(seq_cst);
                 }}{{
                   if (n < {times}) {{
                     n = n + 1;
                     seen[t].store(0, rel);
                     BCAS(l, 0, 1, acq, rel);
                     e = now.load(acq);
                     e = e + 1;
                     now.store(e, rel);
                     fence(seq_cst);
                     wait(seen[0], e, 0, acq);
                     wait(seen[1], e, 0, acq);
                     l.store(0, rel);
                   }}
                 }});
               }}
             }}"
        );
        let program = lang::parse("epochs", &text).expect("a good program").program;
        let answer =
            check::check(&program, &Question::default(), &|_, _| {}).expect("a legal question");
        assert!(answer.verdicts().all(|verdict| verdict.witness().is_none()));
        answer.cost.states
    };
    assert_eq!(states(3), states(30));
}

/// Every program of the corpus, as far as it can be explored without reductions within a number of
/// states that `FENCEPOST_REDUCTION_STATES` raises.
#[test]
fn corpus_programs() {
    let states = asked("FENCEPOST_REDUCTION_STATES", 2_000);
    let mut files = Vec::new();
    find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut files);
    let variants = breadth_first(states);
    let next = AtomicUsize::new(0);
    let compared = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                    let name = file.display().to_string();
                    let text = std::fs::read_to_string(file).expect("a readable corpus");
                    let program = lang::parse(&name, &text).expect("a good program").program;
                    if !program.steps().any(|(_, _, step)| is_only_for_buffers(&step.instr)) {
                        compared.fetch_add(compare(&program, &name, &variants).plain, Relaxed);
                    }
                }
            });
        }
    });
    let compared = compared.into_inner();
    println!("{compared} explorations without reductions of {} programs", files.len());
    assert!(compared > files.len());
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("a readable corpus").path();
        match path.is_dir() {
            true => find(&path, found),
            // Libraries are for another question.
            false if path.components().any(|part| part.as_os_str() == "refine") => {}
            false if path.extension().is_some_and(|e| e == "fp") => found.push(path),
            false => {}
        }
    }
}

/// Is it an instruction that only store-atomic machines know?
fn is_only_for_buffers(instr: &ir::Instr) -> bool {
    use ir::Instr::{BusLock, BusUnlock, LightFence};
    matches!(instr, BusLock | BusUnlock | LightFence(_))
}
