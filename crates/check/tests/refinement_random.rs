//! Random libraries and specifications aimed at what makes refinement fast: methods that retry and write while they do, or write and
//! run for ever, locks, compare-and-swap loops, waiting, fences, partial modes, unequal initial values. Whatever the
//! reductions leave out, the verdict must be that of a search that leaves nothing out.
//!
//! More pairs than in the ordinary run: `REFINE_AIMED=5000 cargo test --release -p fencepost-check --test
//! refinement_random`. A failure prints the seed and the files.

extern crate fencepost_check as check;

use check::refinement::{Difference, History, Scope, refines};
use check::{Answer, Question, Verdict};
use ir::random::Generator;
use lang::library::{Pair, parse};
use search::{Budget, Limits};
use std::time::Duration;

/// One statement of a method, or a few that belong together. `r` is a register that may be returned.
fn part(random: &mut Generator) -> String {
    let x = random.pick(&["x", "y", "z[0]", "z[1]"]);
    let l = random.pick(&["l", "m"]);
    let value = random.below(3);
    let (read, write) = (random.pick(&["rlx", "acq", "acq"]), random.pick(&["rlx", "rel", "rel"]));
    match random.below(14) {
        0 => format!("{x}.store({value}, {write});"),
        1 => format!("r = {x}.load({read});"),
        2 => format!("r = FADD({x}, 1, {read}, {write});"),
        3 => format!("r = exchange({x}, {value}, {read}, {write});"),
        4 => format!("r = CAS({x}, {value}, {}, {read}, {write}, rlx);", random.below(3)),
        5 => format!("acquire({l}); r = {x}.load(rlx); release({l});"),
        6 => format!("acquire({l}); {x}.store({value}, rlx); release({l});"),
        7 => format!("acquire({l}); r = d.naload(); d.nastore({value}); release({l});"),
        8 => "fence(upd);".to_string(),
        9 => format!("BCAS({x}, {value}, {}, {read}, {write});", random.below(3)),
        10 => format!("wait({x}, {value}, {read});"),
        11 => format!("oneof ({{ {x}.store({value}, {write}); }} {{ r = {x}.load({read}); }});"),
        12 => format!("if (r == 0) {{ {x}.store({value}, {write}); }}"),
        _ => format!("acquire({l}); {x}.store({value}, rlx); y.store(1, rlx); release({l});"),
    }
}

/// Parts that are done over and over until something is seen.
fn retry(random: &mut Generator) -> String {
    let x = random.pick(&["x", "y", "z[0]"]);
    let (read, write) = (random.pick(&["rlx", "acq"]), random.pick(&["rlx", "rel"]));
    let value = random.below(3);
    match random.below(11) {
        0 => format!("A: acquire(l); r = {x}.load(rlx); release(l); if (r == {value}) goto A;"),
        1 => format!(
            "A: acquire(l); r = {x}.load(rlx); y.store(2 - r, rlx); release(l); if (r == {value}) goto A;"
        ),
        2 => format!(
            "A: r = {x}.load({read}); s = CAS({x}, r, {value}, acq, rel, rlx); if (s != r) goto A;"
        ),
        3 => {
            format!("A: r = exchange({x}, 1, acq, {write}); if (r == 1) goto A; {x}.store(0, rel);")
        }
        4 => format!("A: r = {x}.load({read}); if (r == {value}) goto A;"),
        5 => format!(
            "A: r = FADD({x}, 1, acq, rel); if (r != 0) {{ FADD({x}, -1, acq, rel); goto A; }}"
        ),
        6 => format!(
            "A: acquire(l); acquire(m); r = {x}.load(rlx); release(m); release(l); if (r != {value}) goto A;"
        ),
        7 => format!(
            "A: {x}.store({value}, {write}); r = {x}.load({read}); if (r != {value}) goto A;"
        ),
        8 => format!("{x}.store({value}, {write}); while (r == {value}) {{ }}"),
        9 => format!(
            "r = {x}.load({read}); if (r == {value}) {{ y.store(1, {write}); while (1) {{ }} }}"
        ),
        _ => format!(
            "A: acquire(l); r = d.naload(); d.nastore(1); release(l); if (r == {value}) goto A;"
        ),
    }
}

fn body(random: &mut Generator) -> String {
    let (before, after) = (random.one_in(3), random.one_in(3));
    let mut text = String::new();
    if before {
        text += &part(random);
    }
    text += &if random.one_in(2) { retry(random) } else { part(random) };
    if after {
        text += &part(random);
    }
    text + random.pick(&[" return(r);", " return(r);", " return(0);"])
}

/// Something like it.
fn changed(body: &str, random: &mut Generator) -> String {
    match random.below(12) {
        0 => body.replacen("acq, ", "rlx, ", 1),
        1 => body.replacen("rel)", "rlx)", 1),
        2 => body.replacen("acquire(l)", "acquire(m)", 1).replacen("release(l)", "release(m)", 1),
        3 => body.replacen(".load(rlx)", ".load(acq)", 1),
        4 => format!("fence(upd); {body}"),
        5 => self::body(random),
        6 => body.replacen("acquire(l);", "BCAS(l, 0, 1, acq, rel);", 1),
        7 => body.replacen("release(l);", "exchange(l, 0, rlx, rel);", 1),
        8 => body.replace(".load(acq)", ".load(pacq)").replace(" acq, ", " pacq, "),
        9 => body.replace(" rel)", " prel)").replace(" rel,", " prel,"),
        _ => body.to_string(),
    }
}

fn random_pair(seed: u64) -> String {
    let mut random = Generator { state: seed ^ 0xa1_3ed0 };
    let specification = [body(&mut random), body(&mut random)];
    let library =
        [changed(&specification[0], &mut random), changed(&specification[1], &mut random)];
    let partial = random.one_in(5);
    let initial = |random: &mut Generator| {
        let (x, y, z) = (random.below(3), random.below(2), random.below(3));
        format!("atomic x = {x}, y = {y}, z[2] = {{ {z}, 1 }}, l, m; na d;")
    };
    let first = initial(&mut random);
    let second = if random.one_in(6) { initial(&mut random) } else { first.clone() };
    let component = |kind: &str, variables: &str, [f, g]: &[String; 2]| {
        let text = format!(
            "{kind} lib {{ {variables} method f() {{ local r, s; {f} }} method g() {{ local r, s; {g} }} }}\n"
        );
        match partial {
            true => text.replace("acquire(l)", "pacquire(l)").replace("release(l)", "prelease(l)"),
            false => text,
        }
    };
    let client = random.pick(&[
        "client { thread p { f(); } thread q { g(); } }",
        "client { thread p { f(); g(); } thread q { g(); } }",
        "client { thread p { while (1) { f(); } } thread q { g(); } }",
        "client { thread p { oneof ( { f(); } { g(); } ); } thread q { f(); } }",
    ]);
    let (library, specification) =
        (component("library", &first, &library), component("spec", &second, &specification));
    format!("max_value 2;\n{library}{specification}{client}\n")
}

fn word(answer: &Answer) -> String {
    match (&answer.decisions[0].verdict, answer.history()) {
        (Verdict::Holds, _) => format!("refines, to the letter: {}", answer.literal()),
        (_, Some(History::Differs(difference))) => {
            let labels = difference.run.iter().filter(|event| event.label.is_some());
            format!("differs after {}", labels.count())
        }
        (_, Some(History::Wrong { finding, .. })) => {
            let text = format!("{finding:?}");
            text.split(' ').next().unwrap_or_default().to_string()
        }
        (_, Some(History::Stuck(_))) => "stuck".to_string(),
        (_, None) => "undecided".to_string(),
    }
}

fn ask(pair: &Pair, scope: Scope, patience: Duration) -> Answer {
    let limits = Limits { budget: Budget::new(Some(patience), None), ..Limits::default() };
    let scope = Scope { own_space: pair.own_space, ..scope };
    let (first, second) = (&pair.implementation.system, &pair.specification.system);
    refines(first, second, &Question { scope, limits, ..Question::default() }, &mut |_| {})
}

/// Catches any shortcut that changes a verdict or the length of a history.
#[test]
fn shortcuts_change_nothing() {
    let pairs = std::env::var("REFINE_AIMED").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let start: u64 = std::env::var("REFINE_START").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (mut refining, mut differing, mut early, mut given_up) = (0, 0, 0, 0);
    for seed in start..start + pairs {
        let text = random_pair(seed);
        let project = parse(&[("random.fp".to_string(), text.clone())], None)
            .unwrap_or_else(|error| panic!("seed {seed}: {}", error.render(false)));
        for literal in [false, true] {
            let pending = if seed % 4 == 1 { 2 } else { 1 };
            let settings = Scope { pending, literal, writes: Some(24), ..Scope::default() };
            let pair = &project.pairs[0];
            let plain = Scope { reduce: false, on_demand: false, ..settings };
            let without = ask(pair, plain, Duration::from_millis(300));
            let expected = word(&without);
            if expected == "undecided" {
                given_up += 1;
                continue;
            }
            for on_demand in [false, true] {
                let with = ask(pair, Scope { on_demand, ..settings }, Duration::from_secs(20));
                match without.difference().is_none_or(|Difference { shortest, .. }| *shortest) {
                    true => assert_eq!(word(&with), expected, "seed {seed}, {on_demand}:\n{text}"),
                    // The plain search could not see all of the specification.
                    false => assert!(word(&with).starts_with("differs"), "seed {seed}:\n{text}"),
                }
            }
            match &without.decisions[0].verdict {
                Verdict::Holds if without.literal() => refining += 1,
                Verdict::Holds => early += 1,
                _ => differing += 1,
            }
        }
    }
    println!("{refining} refine, {early} early, {differing} differ, {given_up} given up");
    let enough = pairs / 20;
    assert!(refining > enough && differing > enough, "one-sided: {refining}, {differing}");
}
