//! Partial order on the weak memory loses nothing: programs aimed at its premises fail, end and wait with it as they do
//! without. Random programs hardly ever have what it takes for a wrong premise to show (threads that spin, reads that only a
//! stale value lets pass, `sc` events that make one thread's read forbid another's), so these have all of it.

use fencepost_check as check;

use check::weak::system::{Finding, Seeks, System};
use ir::random::Generator;
use search::{Limits, Options, Paths, Stop};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Searches that come to more states are given up.
const STATES: u64 = 20_000;

/// Two threads of store buffering with more around it, one of which may need a stale value to pass, and one to three others
/// that spin or wait, and so decide which sets of threads conflict with nobody.
fn aimed(seed: u64) -> String {
    let random = &mut Generator { state: seed };
    let names = ["x", "y", "z", "w", "f"];
    let any = |random: &mut Generator| random.pick(&names);
    let (reads, writes) =
        (["sc", "sc", "sc", "sc", "acq", "rlx"], ["sc", "sc", "sc", "sc", "rel", "rlx"]);
    let mut text = "max_value 2;\natomic x, y, z, w, f;\n".to_string();
    // A statement is left out now and then.
    let maybe = |random: &mut Generator, statement: String| match random.one_in(10) {
        true => String::new(),
        false => statement,
    };
    let write =
        |random: &mut Generator, name: &str| format!("{name}.store(1, {}); ", random.pick(&writes));
    let fence = |random: &mut Generator| if random.one_in(8) { "fence(sc); " } else { "" };

    text += "thread b { local q, r; ";
    text += &write(random, "x");
    text += fence(random);
    text += &maybe(random, "f.store(1); ".into());
    text += &format!(
        "q = z.load({}); r = y.load({}); ",
        random.pick(&["rlx", "rlx", "acq"]),
        random.pick(&reads)
    );
    text += "assert(!(q == 1 && r == 0)); }\n";

    text += "thread a { local r; ";
    text += &maybe(random, "wait(f, 1); ".into());
    text += &write(random, "y");
    text += &maybe(random, "z.store(1); ".into());
    text += fence(random);
    let (mode, stale) = (random.pick(&reads), any(random));
    let stale = if random.one_in(4) { stale } else { "x" };
    text += &match random.below(6) {
        0 => format!("r = {stale}.load({mode}); assume(r == 0); "),
        1 => format!("oneof({{ wait({stale}, 0, {mode}); }} {{ wait({stale}, 2, {mode}); }}); "),
        _ => format!("wait({stale}, 0, {mode}); "),
    };
    text += &format!("{}.store(1); }}\n", if random.one_in(2) { "w" } else { any(random) });

    for number in 0..1 + random.below(3) {
        let seen = if random.one_in(3) { any(random) } else { "w" };
        let then = match random.below(3) {
            0 => String::new(),
            1 => format!("y.store({}); ", 1 + random.below(2)),
            _ => format!("{}.store({}); ", any(random), 1 + random.below(2)),
        };
        text += &match random.below(2) {
            0 => format!(
                "thread s{number} {{ local r; while (r == 0) {{ r = {seen}.load(); }} {then}}}\n"
            ),
            _ => format!("thread s{number} {{ wait({seen}, {}); {then}}}\n", 1 + random.below(2)),
        };
    }
    text
}

/// What a search finds, in words; `None` if it was given up or met a bound.
fn found(text: &str, seeks: Seeks, reduce: bool) -> Option<(BTreeSet<String>, u64)> {
    let program = lang::parse("aimed", text).expect("a good program").program;
    let system = System::new(&Arc::new(program), 6, reduce).expect("a small program");
    let options = Options {
        stop: Stop::AtEnd,
        paths: Paths::None,
        limits: Limits { states: Some(STATES), ..Limits::default() },
        ..Options::default()
    };
    let report = search::explore(&system.seeking(seeks), &options, &|_| {});
    let given_up = |finding: &Finding| matches!(finding, Finding::Bound | Finding::TooMuch);
    if !report.exhausted || report.findings.iter().any(|found| given_up(&found.finding)) {
        return None;
    }
    let found = report.findings.iter().map(|found| match &found.finding {
        // Threads that wait for ever may still take steps that change nothing, so where they are is no matter.
        Finding::Waiting(threads) => {
            let threads: Vec<_> = threads.iter().map(|(tid, _)| tid).collect();
            format!("waiting {threads:?}")
        }
        finding => format!("{finding:?}"),
    });
    Some((found.collect(), report.progress.states))
}

/// `FENCEPOST_ORACLE_PROGRAMS` asks for more programs.
#[test]
fn partial_order_loses_nothing() {
    let asked = std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok().and_then(|text| text.parse().ok());
    let count: u64 = asked.unwrap_or(400);
    let (mut compared, mut reduced, mut fails) = (0, 0, 0);
    for seed in 0..count {
        let text = aimed(seed);
        for seeks in [Seeks::Nothing, Seeks::Ends, Seeks::Waiting] {
            let Some((expected, all)) = found(&text, seeks.clone(), false) else { continue };
            let (found, states) = found(&text, seeks.clone(), true).expect("fewer states");
            assert_eq!(found, expected, "seed {seed}, seeking {seeks:?}\n{text}");
            compared += 1;
            reduced += u64::from(states < all);
            fails += u64::from(found.iter().any(|found| found.starts_with("Assertion")));
        }
    }
    println!("{compared} searches of {count} programs compared, {reduced} reduced, {fails} fail");
    assert!(compared > 2 * count && 2 * reduced > compared && 20 * fails > compared);
}
