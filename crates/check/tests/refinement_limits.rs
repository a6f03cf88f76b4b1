//! What is not said by refinement alone: libraries against themselves, methods that cannot return, and limits that
//! are no answers.

extern crate fencepost_check as check;

use check::refinement::{History, Scope, Side, refines};
use check::{Answer, Question, Verdict, Why};
use lang::library::{Pair, parse};
use std::path::Path;

fn ask(pair: &Pair, scope: Scope) -> Answer {
    let scope = Scope { own_space: pair.own_space, ..scope };
    let (first, second) = (&pair.implementation.system, &pair.specification.system);
    refines(first, second, &Question { scope, jobs: 2, ..Question::default() }, &mut |_| {})
}

/// A verdict in a word.
fn verdict(answer: &Answer) -> &'static str {
    match (&answer.decisions[0].verdict, answer.history()) {
        (Verdict::Holds, _) => "refines",
        (_, Some(History::Differs(_))) => "differs",
        (_, Some(History::Wrong { .. })) => "wrong",
        (_, Some(History::Stuck(_))) => "stuck",
        (_, None) => "undecided",
    }
}

/// The text of a component, from its keyword to the closing brace.
fn component<'t>(text: &'t str, keyword: &str) -> Vec<&'t str> {
    let starts = text.match_indices(keyword).map(|(at, _)| at);
    let starts = starts.filter(|&at| at == 0 || text[..at].ends_with('\n'));
    let block = |start: usize| {
        let mut depth = 0;
        let end = text[start..].char_indices().find(|(_, char)| {
            depth += i32::from(*char == '{') - i32::from(*char == '}');
            *char == '}' && depth == 0
        });
        &text[start..=start + end.expect("a closing brace").0]
    };
    starts.map(block).collect()
}

/// Catches limits that only one side has: every library refines itself, and if that cannot be decided,
/// there is a limit with a name.
#[test]
fn libraries_refine_themselves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/refine");
    let mut texts: Vec<(String, String)> = Vec::new();
    let table =
        std::fs::read_to_string(folder.join("verdicts.tsv")).expect("the table of verdicts");
    // The large ones have no verdict for calls and returns alone.
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.ends_with('-'));
    for files in lines.filter_map(|line| line.split('\t').next()) {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
        let mut text: String = files.split(' ').map(read).collect::<Vec<_>>().join("\n");
        for spec in component(&text.clone(), "spec ") {
            text = text.replacen(spec, "", 1);
        }
        for library in component(&text.clone(), "library ") {
            text.push_str(&library.replacen("library ", "spec ", 1));
        }
        texts.push((files.to_string(), text));
    }
    for (name, method) in LOOPS {
        let text = format!(
            "max_value 3;\nlibrary s {{ atomic x, y, l; method f() {{ local a, b; {method} return(); }} }}\n\
             spec s {{ atomic x, y, l; method f() {{ local a, b; {method} return(); }} }}\n\
             client {{ thread t[2] {{ while (1) {{ f(); }} }} }}\n"
        );
        texts.push((name.to_string(), text));
    }
    for (name, text) in texts {
        let project = parse(&[(name.clone(), text)], None)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        for pair in &project.pairs {
            let answer = ask(pair, Scope { pending: 1, ..Scope::default() });
            let found = verdict(&answer);
            // One of them has a race.
            assert!(
                found == "refines" || found == "wrong",
                "{name}: {:?}",
                answer.decisions[0].verdict
            );
        }
    }
}

/// Methods that write over and over before they return.
const LOOPS: [(&str, &str); 6] = [
    (
        "look under a lock",
        "A: acquire(l); a = x.load(rlx); x.store(1 - a, rlx); release(l); if (a == 0) goto A;",
    ),
    (
        "compare and swap",
        "A: a = x.load(rlx); b = CAS(x, a, 1 - a, acq, rel, rlx); if (b != a) goto A;",
    ),
    (
        "optimistic",
        "A: a = FADD(x, 1, acq, rel); if (a != 0) { FADD(x, -1, acq, rel); goto A; } FADD(x, -1, acq, rel);",
    ),
    (
        "test and set",
        "A: a = exchange(l, 1, acq, rel); if (a != 0) goto A; y.store(1, rlx); l.store(0, rel);",
    ),
    (
        "two locks",
        "A: acquire(l); BCAS(y, 0, 1, acq, rlx); a = x.load(rlx); y.store(0, rel); release(l); if (a == 1) goto A;",
    ),
    ("counts", "while (a < 3) { x.store(a, rlx); a = a + 1; }"),
];

/// Methods that cannot return where the specification's can, and some that merely wait for others.
#[test]
fn total() {
    let ask = |library: &str, spec: &str, client: &str| {
        let component = |kind: &str, f: &str| {
            format!(
                "{kind} s {{ atomic x, l; method f() {{ local a; {f} return(); }} \
                     method g() {{ x.store(1, rel); x.store(2, rel); return(); }} }}\n"
            )
        };
        let (library, spec) = (component("library", library), component("spec", spec));
        let text = format!("max_value 2;\n{library}{spec}client {{ {client} }}\n");
        let project = parse(&[("total.fp".to_string(), text)], None)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let settings = Scope { total: true, ..Scope::default() };
        verdict(&ask(&project.pairs[0], settings))
    };
    let (one, two) = ("thread p { f(); } thread q { g(); }", "thread p { f(); } thread q { f(); }");
    let lock = "acquire(l); release(l);";
    for (library, spec, client, expected) in [
        ("while (1) { skip; }", "skip;", one, "stuck"),
        ("assume(0);", "skip;", one, "stuck"),
        ("assume(0);", "assume(0);", one, "refines"),
        // It could read 1 but need not; once it has read 2 it cannot any more.
        ("while (a != 1) { a = x.load(acq); }", "skip;", one, "stuck"),
        ("while (a == 0) { a = x.load(acq); }", "skip;", one, "refines"),
        ("wait(x, 1, acq);", "wait(x, 1, acq);", one, "refines"),
        (lock, lock, two, "refines"),
        // Nobody gives the lock back.
        ("acquire(l);", lock, two, "stuck"),
        ("acquire(l);", "acquire(l);", two, "refines"),
        ("acquire(l); acquire(l); release(l);", lock, two, "stuck"),
        // Whoever chooses to wait for what never comes is stuck; the choice between two values of one location is made
        // when one of them is there.
        ("oneof ({ wait(l, 1, acq); } { skip; });", "skip;", one, "stuck"),
        ("a = oneof(0, 1); if (a == 1) { wait(l, 1, acq); }", "skip;", one, "stuck"),
        ("wait(l, 1, acq);", "oneof ({ wait(l, 1, acq); } { skip; });", one, "refines"),
        ("oneof ({ wait(l, 0, acq); } { wait(l, 1, acq); });", "skip;", one, "refines"),
        (
            "oneof ({ oneof ({ wait(l, 0, acq); } { wait(l, 1, acq); }); } { skip; });",
            "skip;",
            one,
            "refines",
        ),
        // Each lets the other in first, perhaps for ever: a livelock is not looked for.
        (
            "A: acquire(l); a = x.load(rlx); x.store(1 - a, rlx); release(l); if (a == 0) goto A;",
            lock,
            two,
            "refines",
        ),
    ] {
        assert_eq!(ask(library, spec, client), expected, "{library} for {spec}");
    }
}

/// Catches limits that are taken for answers. The specification alternates two values for ever while somebody may look, which
/// is more than can be kept; the library does the same, does less, and does something else.
#[test]
fn limits_are_no_answers() {
    let noise = "while (1) { x.store(1, rlx); x.store(0, rlx); }";
    let look = "a = x.load(rlx); b = x.load(rlx); return(a + b);";
    let ask = |f: &str, g: &str| {
        let component = |kind: &str, f: &str, g: &str| {
            format!(
                "{kind} s {{ atomic x, y; method f() {{ {f} return(); }} method g() {{ local a, b; {g} }} }}\n"
            )
        };
        let (library, spec) = (component("library", f, g), component("spec", noise, look));
        let client = "client { thread p { f(); } thread q { g(); } thread r { f(); } }";
        let project = parse(
            &[("l.fp".to_string(), format!("max_value 3;\n{library}{spec}{client}\n"))],
            None,
        )
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let scope = Scope { pending: 1, writes: Some(6), ..Scope::default() };
        ask(&project.pairs[0], scope).decisions.remove(0).verdict
    };
    // All that is seen of the library is followed, but not all is seen.
    assert!(matches!(ask(noise, look), Verdict::Undecided(Why::NotCovered(Side::First, _))));
    // A library without noise is all there; the specification follows it as far as it was seen.
    assert!(matches!(ask("assume(0);", look), Verdict::Holds));
    // The result 3 is impossible, also before there is any noise: that is a difference all the same.
    assert!(ask("assume(0);", "return(3);").witness().is_some());
    // Here it comes after the noise has begun, and nobody has seen all that the specification can do then.
    let found = ask("y.store(1, rel); assume(0);", "wait(y, 1, acq); return(3);");
    assert!(matches!(found, Verdict::Undecided(Why::NotCovered(Side::Second, _))), "{found:?}");
}

/// The memory of libraries takes `sc` for acquire and release. Store buffering with `sc` accesses is atomic in RC11, and
/// is not there: that is no difference. What refines all the same does. Catches an answer "does not refine" that shows a
/// history which RC11 forbids.
#[test]
fn what_goes_wrong_with_weaker_accesses_only_is_no_answer() {
    let compare = |modes: [&str; 2]| {
        let method = |name: &str, own: &str, other: &str| {
            let [write, read] = modes;
            format!(
                "method {name}() {{ local r; {own}.store(1, {write}); r = {other}.load({read}); return(r); }} "
            )
        };
        let locked = |name: &str, own: &str, other: &str| {
            format!(
                "method {name}() {{ local r; BCAS(k, 0, 1, acq, rlx); {own}.store(1, rlx); \
                 r = {other}.load(rlx); k.store(0, rel); return(r); }} "
            )
        };
        let text = format!(
            "library m {{ atomic x, y; {}{}}}\nspec m {{ atomic k, x, y; {}{}}}\n\
             client {{ thread p {{ f(); }} thread q {{ g(); }} }}\n",
            method("f", "x", "y"),
            method("g", "y", "x"),
            locked("f", "x", "y"),
            locked("g", "y", "x"),
        );
        let project = parse(&[("sc.fp".to_string(), text)], None)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let scope = Scope { history_only: true, ..Scope::default() };
        ask(&project.pairs[0], scope).decisions.remove(0).verdict
    };
    assert!(compare(["rel", "acq"]).witness().is_some());
    let found = compare(["sc", "sc"]);
    assert!(matches!(found, Verdict::Undecided(Why::TakenWeaker(Side::First))), "{found:?}");
    // A library that refines with weaker accesses refines.
    let text = "library m { atomic x; method f() { local r; r = FADD(x, 1, sc, sc); return(r); } }\n\
                spec m { atomic x; method f() { local r; r = FADD(x, 1, acq, rel); return(r); } }\n\
                client { thread p { f(); } thread q { f(); } }\n";
    let project = parse(&[("sc.fp".to_string(), text.to_string())], None)
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    assert_eq!(verdict(&ask(&project.pairs[0], Scope::default())), "refines");
    // That nothing gets stuck is no answer: with acquire and release, both waits may read a stale 0.
    let text = "max_value 1;
        spec l { atomic x, y;
          method f() { x.store(1, rlx); wait(y, 0, rlx); return(); }
          method g() { y.store(1, rlx); wait(x, 0, rlx); return(); } }
        library l { atomic x, y;
          method f() { x.store(1, sc); wait(y, 0, sc); return(); }
          method g() { y.store(1, sc); wait(x, 0, sc); return(); } }
        client { thread p { f(); } thread q { g(); } }";
    let project = parse(&[("sc.fp".to_string(), text.to_string())], None)
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    for (total, undecided) in [(false, false), (true, true)] {
        let scope = Scope { total, ..Scope::default() };
        let found = ask(&project.pairs[0], scope).decisions.remove(0).verdict;
        let open = matches!(found, Verdict::Undecided(Why::TakenWeaker(Side::First)));
        assert_eq!(open, undecided, "{found:?}");
    }
}
