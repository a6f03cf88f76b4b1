//! Fences: enough, none too many, and as few as possible.

extern crate fencepost_check as check;

use check::Question;
use check::fix::fences::{Aim, Site, Weights, insert, place, sites};
use check::robustness::store_atomic::{Machine, decide, triangular_race};
use ir::random::{Allow, Config, program};
use ir::{Origin, Program};

/// Gives each step an origin of its own, as a front-end does.
fn with_origins(mut program: Program) -> Program {
    let steps = program.threads.iter_mut().flat_map(|thread| &mut thread.code);
    for (number, step) in steps.enumerate() {
        step.origin = Origin::from(number);
    }
    program
}

fn is_robust(program: &Program, machines: &[Machine]) -> bool {
    machines.iter().all(|&machine| {
        let decided = decide(program, machine, &Question::of(machine), &|_, _| {});
        match decided.expect("can be checked").0.verdict.name() {
            "holds" => true,
            "violated" => false,
            other => panic!("{other}"),
        }
    })
}

/// The least number of fences that makes the program robust, by trying all sets of sites.
fn brute_force(program: &Program, machines: &[Machine]) -> usize {
    let all = sites(program);
    for count in 0..=all.len() {
        for mask in (0u32..1 << all.len()).filter(|mask| mask.count_ones() as usize == count) {
            let chosen: Vec<Site> = all
                .iter()
                .enumerate()
                .filter(|(k, _)| mask >> k & 1 == 1)
                .map(|(_, site)| site.clone())
                .collect();
            if is_robust(&insert(program, &chosen), machines) {
                return count;
            }
        }
    }
    panic!("a fence in front of everything makes any program robust");
}

/// Catches an optimiser that stops early, a fence that is put in the wrong place, and searches that
/// imagine fences differently from how they are inserted.
#[test]
fn placements_are_minimum_irreducible_and_enough() {
    let allow = Allow { branches: true, loops: true, choices: true, ..Allow::NOTHING };
    let config =
        Config { threads: 2..=2, instructions: 2..=4, max_value: 1, allow, ..Config::default() };
    let three = Config {
        threads: 3..=3,
        instructions: 2..=2,
        allow: Allow { sc_fences: true, ..Allow::NOTHING },
        ..config.clone()
    };
    let mut fences = [0usize; 8];
    for seed in 0..400 {
        let config = if seed % 3 == 0 { &three } else { &config };
        let one = with_origins(program(seed, config));
        let machines: &[Machine] = match seed % 4 {
            0 => &[Machine::Tso],
            1 => &[Machine::Pso],
            2 => &[Machine::Pgas],
            _ => &[Machine::Tso, Machine::Pso],
        };
        let aims: Vec<Aim> = machines.iter().copied().map(Aim::Robust).collect();
        let question = Question::default();
        let placement = place(&one, &aims, Weights::default(), &question, &|_, _| {})
            .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let text = ir::print::program(&one);
        assert!(placement.minimum);
        assert!(is_robust(&insert(&one, &placement.sites), machines), "seed {seed}\n{text}");
        for k in 0..placement.sites.len() {
            let mut fewer = placement.sites.clone();
            fewer.remove(k);
            assert!(
                !is_robust(&insert(&one, &fewer), machines),
                "seed {seed}: one too many\n{text}"
            );
        }
        assert_eq!(
            placement.sites.len(),
            brute_force(&one, machines),
            "seed {seed}, {machines:?}\n{text}"
        );
        fences[placement.sites.len()] += 1;
    }
    assert!(fences[1] > 20 && fences[2] > 5, "the programs need too few fences: {fences:?}");
}

/// The fence of a replicated thread counts once and serves all replicas.
#[test]
fn replicas_share_their_fences() {
    let text = "global f[2]; thread t[2] { local r; f[t].store(1); r = f[1 - t].load(); }";
    let source = lang::parse("sb.fp", text).expect("a good program");
    let placement = place(
        &source.program,
        &[Aim::Robust(Machine::Tso)],
        Weights::default(),
        &Question::default(),
        &|_, _| {},
    )
    .expect("fences help");
    let [site] = placement.sites.as_slice() else { panic!("{:?}", placement.sites) };
    assert_eq!(source.snippet(source.span(site.origin)), "r = f[1 - t].load()");
    assert_eq!(site.places.len(), 2);
}

/// A fence outside the loop is preferred where loops are dear.
#[test]
fn weights_count() {
    let text = "global x, y;
        thread t { local r; x.store(1); r = y.load(); while (r == 0) { r = y.load(); } }
        thread u { local r; y.store(1); r = x.load(); }";
    let source = lang::parse("loop.fp", text).expect("a good program");
    let dear = Weights { fence: 1, in_loop: 9 };
    let placement = place(
        &source.program,
        &[Aim::Robust(Machine::Tso)],
        dear,
        &Question::default(),
        &|_, _| {},
    )
    .expect("help");
    let lines: Vec<&str> =
        placement.sites.iter().map(|site| source.snippet(source.span(site.origin))).collect();
    assert_eq!(lines, ["r = y.load()", "r = x.load()"]);
}

/// Freedom of triangular races takes at least as many fences, and makes robust.
#[test]
fn fences_against_triangular_races_are_enough() {
    let config = Config {
        threads: 2..=3,
        instructions: 2..=4,
        allow: Allow { branches: true, sc_fences: true, ..Allow::NOTHING },
        ..Config::default()
    };
    let question = Question::default();
    let mut more = 0;
    for seed in 0..300 {
        let one = with_origins(program(seed, &config));
        let count =
            |aim| place(&one, &[aim], Weights::default(), &question, &|_, _| {}).expect("help");
        let races = count(Aim::TriangularRaceFree);
        let robust = count(Aim::Robust(Machine::Tso));
        let fixed = insert(&one, &races.sites);
        assert!(is_robust(&fixed, &[Machine::Tso]), "seed {seed}");
        let (decision, _) = triangular_race::decide(&fixed, &question, &|_, _| {});
        assert_eq!(decision.verdict.name(), "holds", "seed {seed}");
        assert!(races.sites.len() >= robust.sites.len(), "seed {seed}");
        more += usize::from(races.sites.len() > robust.sites.len());
    }
    assert!(more > 10, "the two are told apart too seldom: {more}");
}

/// Fences put into the text make the text robust: catches sites whose fence would land elsewhere.
#[test]
fn patched_texts_are_robust() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/algorithms/");
    let names = [
        "dekker-unfenced",
        "lamport-fast-2-unfenced",
        "bakery-2-unfenced",
        "burns-2-unfenced",
        "peterson-rlx",
        "szymanski-unfenced",
        "sleep-wake-lost",
    ];
    for name in names {
        let text = std::fs::read_to_string(format!("{corpus}{name}.fp")).expect("it is there");
        let source = lang::parse(name, &text).expect("a good program");
        for machine in [Machine::Tso, Machine::Pso] {
            let aims = [Aim::Robust(machine)];
            let question = Question::default();
            let placement =
                place(&source.program, &aims, Weights::default(), &question, &|_, _| {})
                    .unwrap_or_else(|why| panic!("{name} {machine}: {why}"));
            let origins: Vec<Origin> = placement.sites.iter().map(|site| site.origin).collect();
            let fixed = lang::insert_fences(&source, &origins);
            let again =
                lang::parse(name, &fixed).unwrap_or_else(|e| panic!("{name}: {e:?}\n{fixed}"));
            assert!(is_robust(&again.program, &[machine]), "{name} {machine}\n{fixed}");
            eprintln!("{name} {machine}: {} fences", placement.sites.len());
        }
    }
}
