//! Cheapest memory orders, and all assignments of orders tried one by one.
//!
//! The oracle (`assignments`) knows nothing of how a cheapest assignment is found. It takes all of them in the order of their
//! cost, and the cost of the first that is correct must be the cost that was found. That it would notice sets of points that
//! are wrong is tested where these can be made wrong, in `check::fix::orders`.

mod assignments;

use fencepost_check as check;

use assignments::{
    assignments, correct, correct_on_all, cost, least, program, rewritten, sites_of, strengths,
};
use check::fix::orders::{
    Allowed, Costs, Effort, Goal, NoAssignment, Site, Strength, assign, each,
};
use check::{Model, Question};
use ir::Program;

/// Which programs to try: FENCEPOST_ORDER_PROGRAMS of them, from FENCEPOST_ORDER_FIRST on.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("FENCEPOST_ORDER_FIRST").unwrap_or(0);
    first..first + number("FENCEPOST_ORDER_PROGRAMS").unwrap_or(200)
}

/// What is asked for: models, whether there may be new fences, how strengths may differ from those that are written.
const ASKED: [(&[Model], bool, Allowed); 11] = [
    (&[Model::Rc11], false, Allowed::Both),
    (&[Model::Rc11], false, Allowed::Stronger),
    (&[Model::Rc11], true, Allowed::Stronger),
    (&[Model::Rc20], false, Allowed::Both),
    (&[Model::Ra], true, Allowed::Stronger),
    (&[Model::Tso], true, Allowed::Stronger),
    (&[Model::Pso], true, Allowed::Both),
    (&[Model::Pgas], true, Allowed::Stronger),
    (&[Model::Tso, Model::Rc11], true, Allowed::Stronger),
    (&[Model::Rc11], false, Allowed::Weaker),
    (&[Model::Rc20, Model::Tso], false, Allowed::Weaker),
];

/// Catches a set of points that is not necessary (a cheaper assignment is then missed), strengths that are not
/// enough, and parts that are not needed.
#[test]
fn no_cheaper_assignment_is_correct() {
    let (mut changed, mut hopeless, mut incorrect) = (0, 0, 0);
    let mut compared = [0usize; ASKED.len()];
    for seed in seeds() {
        let program = program(seed);
        if program.has_updating_fences() {
            continue;
        }
        for (number, &(models, fences, allowed)) in ASKED.iter().enumerate() {
            let sites = sites_of(&program, fences);
            let Some(all) = assignments(&sites, allowed, 4_000) else { continue };
            let question = Question::default();
            let goal =
                Goal { models, question: &question, costs: &Costs::GENERIC, effort: Effort::FULL };
            let found = assign(&program, &sites, allowed, &goal, &|_, _| {});
            let first = least(&program, &sites, &all, models);
            let named = format!("seed {seed} {models:?} {fences} {allowed:?}");
            match (found, first) {
                (Ok(found), Some(least)) => {
                    assert_eq!(cost(&sites, &found.strengths), least, "{named}");
                    assert!(found.minimum, "{named}");
                    assert!(all.contains(&found.strengths), "{named}: not allowed");
                    let patched = rewritten(&program, &sites, &found.strengths);
                    assert_ne!(correct_on_all(&patched, models), Some(false), "{named}");
                    let floor = allowed.floor(&sites);
                    irreducible(&program, &sites, &floor, &found.strengths, models, &named);
                    changed += usize::from(found.strengths != floor);
                    compared[number] += 1;
                }
                (Err(NoAssignment::Hopeless(_)), None) => hopeless += 1,
                (Err(NoAssignment::Hopeless(_)), Some(_)) => panic!("{named}: not hopeless"),
                // What is written is not correct, and where something weaker is, that has fewer of RC20's fences.
                (Err(NoAssignment::Incorrect(_)), _) if allowed == Allowed::Weaker => {
                    assert_ne!(correct_on_all(&program, models), Some(true), "{named}");
                    incorrect += 1;
                }
                (Ok(_), None) => panic!("{named}: nothing is correct"),
                (Err(why), _) => panic!("{named}: {why}"),
            }
        }
    }
    println!(
        "compared {compared:?}, changed {changed}, hopeless {hopeless}, incorrect {incorrect}"
    );
    // Each question has to be compared on a good part of the programs, and answers have to be more than "nothing to do".
    let count = seeds().end - seeds().start;
    let (part, many) = (count as usize / 8, count as usize);
    assert!(compared.iter().all(|compared| *compared > part), "{compared:?}");
    assert!(changed > many && hopeless > 0 && incorrect > 0, "{changed} {hopeless} {incorrect}");
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

/// A weak CAS is the choice between a CAS and a load. Catches a fence in front of it that is put where control comes from inside
/// the statement, so that nothing comes past it and no fence seems to help.
#[test]
fn a_fence_in_front_of_a_choice() {
    let thread = |own: &str, other: &str| {
        format!("thread {own}t {{ local r; exchange({own}, 1); r = weak_CAS({other}, 0, 2); }}")
    };
    let text = format!("max_value 2; atomic x, y; {} {}", thread("x", "y"), thread("y", "x"));
    let program = lang::parse("weak", &text).expect("a good program").program;
    let mut sites = sites_of(&program, true);
    sites.retain(|site| site.new);
    let models = &[Model::Rc11];
    let question = Question::default();
    let goal = Goal { models, question: &question, costs: &Costs::GENERIC, effort: Effort::FULL };
    let found = assign(&program, &sites, Allowed::Stronger, &goal, &|_, _| {});
    let found = found.expect("fences help");
    let patched = rewritten(&program, &sites, &found.strengths);
    assert_eq!(correct_on_all(&patched, models), Some(true));
    let all = assignments(&sites, Allowed::Stronger, 4_000).expect("few sites");
    assert_eq!(Some(cost(&sites, &found.strengths)), least(&program, &sites, &all, models));
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
        let Ok(needs) = each(&program, &sites, &goal, &|_, _| {}) else { continue };
        let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
        for (k, need) in needs.each.iter().enumerate() {
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
