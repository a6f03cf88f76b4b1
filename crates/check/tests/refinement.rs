//! Refinement: the verdicts of the corpus.

extern crate fencepost_check as check;

use check::refinement::{History, Scope, Side, refines};
use check::{Answer, Property, Question, Verdict, Why};
use ir::random::Generator;
use lang::library::{Pair, Project, parse};
use memory::rc11_views::Finding;
use search::Limits;
use std::path::Path;

fn project(files: &[impl AsRef<str>], client: Option<&str>) -> Project {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/refine");
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).expect("a file of the corpus");
        (name.to_string(), text)
    };
    let files: Vec<(String, String)> = files.iter().map(|name| read(name.as_ref())).collect();
    let client = client.map(read);
    parse(&files, client.as_ref()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

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
        (_, Some(History::Wrong { finding: Finding::Race { .. }, .. })) => "race",
        (_, Some(History::Wrong { finding: Finding::Assertion { .. }, .. })) => "assertion",
        (_, Some(History::Wrong { .. })) => "wrong",
        (_, Some(History::Stuck(_))) => "stuck",
        (_, None) => "undecided",
    }
}

/// So many pairs of states and no more.
fn limits(pairs: u64) -> Limits {
    Limits { states: Some(pairs), ..Limits::default() }
}

const RCU: [&str; 3] = ["rcu1-spec.fp", "rcu1.fp", "rcu1-client.fp"];

/// A line of the table of verdicts.
struct Expected {
    files: Vec<String>,
    pending: u8,
    verdict: String,
    /// With propagation ignored; `-` if every step of the library is too much for a test.
    calls_only: String,
}

impl Expected {
    fn is_large(&self) -> bool {
        self.calls_only == "-"
    }
}

fn corpus() -> Vec<Expected> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/refine/verdicts.tsv");
    let table = std::fs::read_to_string(path).expect("the table of verdicts");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let line = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[files, pending, verdict, calls_only] = cells.as_slice() else { panic!("{line}") };
        Expected {
            files: files.split(' ').map(String::from).collect(),
            pending: pending.parse().expect("a number"),
            verdict: verdict.to_string(),
            calls_only: calls_only.to_string(),
        }
    };
    lines.map(line).collect()
}

#[test]
fn verdicts_of_the_corpus() {
    for line in corpus() {
        let (Expected { files, pending, verdict: expected, calls_only }, large) =
            (&line, line.is_large());
        for pair in &project(files, None).pairs {
            let settings = Scope { pending: *pending, ..Scope::default() };
            let found = ask(pair, settings);
            assert_eq!(verdict(&found), expected, "{files:?}, library {}", pair.name);
            let settings = Scope { history_only: true, ..settings };
            if !large {
                let found = ask(pair, settings);
                assert_eq!(verdict(&found), calls_only, "{files:?}, calls and returns");
            }
        }
    }
}

/// Two examples of the paper are refinements only up to propagation that no client can see.
#[test]
fn to_the_letter() {
    let literal = |files: &[&str], pending| {
        let project = project(files, None);
        verdict(&ask(&project.pairs[0], Scope { pending, literal: true, ..Scope::default() }))
    };
    assert_eq!(literal(&["queue.fp"], 2), "differs");
    assert_eq!(literal(&RCU, 3), "refines");
    assert_eq!(literal(&RCU, 4), "differs");
    assert_eq!(literal(&["rcu2-spec.fp", "rcu2.fp", "rcu2-client.fp"], 2), "refines");
    assert_eq!(literal(&["lock-spin.fp"], 3), "refines");
}

/// Catches reductions that change verdicts or the length of the history.
#[test]
fn reductions_change_nothing() {
    for Expected { files, verdict: expected, .. } in
        corpus().into_iter().filter(|line| !line.is_large())
    {
        for pair in &project(&files, None).pairs {
            let settings = Scope { pending: 2, ..Scope::default() };
            let with = ask(pair, settings);
            let without = ask(pair, Scope { reduce: false, on_demand: false, ..settings });
            if let Verdict::Undecided(limit) = &without.decisions[0].verdict {
                // A specification that writes over and over has infinitely many states then.
                assert!(matches!(limit, Why::NotCovered(Side::Second, _)), "{files:?}: {limit:?}");
                assert_eq!(expected, "differs", "{files:?} without reductions");
                continue;
            }
            assert_eq!(verdict(&without), expected, "{files:?} without reductions");
            if let (Some(a), Some(b)) = (with.difference(), without.difference()) {
                let length = |run: &[check::refinement::Event]| {
                    run.iter().filter(|event| event.label.is_some()).count()
                };
                assert_eq!(length(&a.run), length(&b.run), "{files:?}: not a shortest history");
            }
        }
    }
}

/// A library with two methods, and something like it as its specification.
fn random_pair(seed: u64) -> String {
    let mut random = Generator { state: seed ^ 0x9a1e };
    let store = |random: &mut Generator| {
        let loc = random.pick(&["x", "y", "z[0]", "z[1]"]);
        let mode = random.pick(&["rlx", "rel", "rel"]);
        format!("{loc}.store({}, {mode});", random.below(2))
    };
    let load = |register: &str, random: &mut Generator| {
        let loc = random.pick(&["x", "y", "z[0]", "z[1]"]);
        format!("{register} = {loc}.load({});", random.pick(&["rlx", "acq", "acq"]))
    };
    let bodies = |random: &mut Generator| {
        let f = format!(
            "{} {}",
            store(random),
            if random.one_in(2) { store(random) } else { String::new() }
        );
        let wait = if random.one_in(4) { "b = CAS(x, 1, 0, acq, rel, rlx);" } else { "" };
        let result = random.pick(&["a", "b", "a & b", "a * b"]);
        let g = format!("{} {} {wait} return({result});", load("a", random), load("b", random));
        (f, g)
    };
    let first = bodies(&mut random);
    let second = if random.one_in(2) { first.clone() } else { bodies(&mut random) };
    let first = match random.below(3) {
        0 => (first.0.replace("rel)", "rlx)"), first.1),
        1 => (first.0, first.1.replace("acq)", "rlx)")),
        _ => first,
    };
    let text = |kind: &str, (f, g): (String, String)| {
        format!(
            "{kind} l {{ atomic x, y, z[2]; method f() {{ {f} return(); }} \
             method g() {{ local a, b; {g} }} }}\n"
        )
    };
    let client = random.pick(&[
        "client { thread p { f(); f(); } thread q { g(); } }",
        "client { thread p { while (1) { f(); } } thread q { while (1) { g(); } } }",
        "client { thread p { f(); g(); } thread q { while (1) { g(); } } }",
        "client { thread p { f(); } thread q { g(); } thread r { g(); } }",
    ]);
    format!("max_value 1;\n{}{}{client}\n", text("library", first), text("spec", second))
}

/// Catches reductions that change verdicts or the length of the history, on libraries that nobody chose.
/// More of them than in the ordinary run: `REFINE_PAIRS=150`.
#[test]
fn reductions_change_nothing_at_random() {
    let (mut refining, mut differing) = (0, 0);
    let pairs = std::env::var("REFINE_PAIRS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for seed in 0..pairs {
        let text = random_pair(seed);
        let project = parse(&[("random.fp".to_string(), text.clone())], None)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        for literal in [false, true] {
            let settings = Scope { pending: 2, literal, ..Scope::default() };
            let pair = &project.pairs[0];
            let with = ask(pair, settings);
            let without = ask(pair, Scope { reduce: false, on_demand: false, ..settings });
            assert_eq!(verdict(&with), verdict(&without), "seed {seed}:\n{text}");
            match (with.difference(), without.difference()) {
                (Some(a), Some(b)) => {
                    let length = |run: &[check::refinement::Event]| {
                        run.iter().filter(|event| event.label.is_some()).count()
                    };
                    assert_eq!(length(&a.run), length(&b.run), "seed {seed}:\n{text}");
                    differing += 1;
                }
                _ => refining += 1,
            }
        }
    }
    assert!(refining > 5 && differing > 5, "one-sided: {refining} and {differing}");
}

/// Catches markers on demand where the specification is of the wrong kind. In the first, what is read
/// without synchronisation gives away that `f` has been called, though no marker of it has arrived; in the
/// second, an arrival takes away what could be read before. To the library neither matters.
#[test]
fn not_on_demand() {
    let updates = ("exchange(x, 1, rlx, rlx);", "a = exchange(x, 0, rlx, rlx);", 1);
    let stale = ("x.store(1, rel);", "a = x.load(acq);", 0);
    for (f, g, result) in [updates, stale] {
        let text = format!(
            "max_value 1;\n\
             library l {{ atomic x; method f() {{ return(); }} method g() {{ return({result}); }} }}\n\
             spec l {{ atomic x; method f() {{ {f} return(); }} \
             method g() {{ local a; {g} return(a); }} }}\n\
             client {{ thread p {{ f(); }} thread q {{ g(); }} }}\n"
        );
        let project = parse(&[("kinds.fp".to_string(), text.clone())], None)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let answer = ask(&project.pairs[0], Scope::default());
        assert_eq!(verdict(&answer), "differs", "{text}");
    }
}

/// A specification whose threads nearly always see the newest of everything, and a library like it but
/// for some changes.
fn random_locked_pair(seed: u64) -> String {
    let mut random = Generator { state: seed ^ 0x10c4 };
    let part = |random: &mut Generator| {
        let (lock, cell) = (random.pick(&["l", "m"]), random.pick(&["x", "y"]));
        match random.below(16) {
            // These let a thread see something old, or see something without what came before.
            12 | 13 => format!("a = {cell}.load(acq);"),
            14 => format!("{cell}.store(1, rel);"),
            15 => format!("a = exchange({cell}, 1, rlx, rlx);"),
            0 | 1 => format!("acquire({lock}); d.nastore({}); release({lock});", random.below(2)),
            2 | 3 => format!("acquire({lock}); a = d.naload(); release({lock});"),
            4 | 5 => format!("acquire({lock}); release({lock});"),
            6 | 7 => format!("BCAS({cell}, {}, {}, acq, rel);", random.below(2), random.below(2)),
            _ => format!("a = exchange({cell}, {}, acq, rel);", random.below(2)),
        }
    };
    let body = |random: &mut Generator| {
        let (first, second) = (part(random), part(random));
        let result = random.pick(&["a", "a", "0"]);
        match random.below(3) {
            0 => format!("{first} return({result});"),
            1 => format!("{first} {second} return({result});"),
            _ => format!(
                "oneof ( {{ {first} {second} }} {{ {second} {first} }} ); return({result});"
            ),
        }
    };
    let change = |body: String, random: &mut Generator| match random.below(9) {
        0 => body.replacen("acq, rel", "rlx, rlx", 1),
        1 => body.replacen("acq, rel", "acq, rlx", 1),
        2 => body.replacen("acq, rel", "rlx, rel", 1),
        3 => body.replacen("acquire(l);", "x.store(1, rel);", 1),
        4 => body.replacen("a = exchange(x, 1, acq, rel)", "a = x.load(acq)", 1),
        5 => body.replacen("a = exchange(y, 0, acq, rel)", "y.store(0, rel)", 1),
        6 => format!("fence(upd); {body}"),
        7 => body.replacen("(m)", "(l)", 2),
        _ => body,
    };
    let specification = [body(&mut random), body(&mut random)];
    let library = specification.clone().map(|body| match random.below(4) {
        0 => part(&mut random) + " return(a);",
        _ => change(body, &mut random),
    });
    let text = |kind: &str, [f, g]: [String; 2]| {
        format!(
            "{kind} lib {{ atomic l, m, x, y; na d; method f() {{ local a; {f} }} \
             method g() {{ local a; {g} }} }}\n"
        )
    };
    let client = random.pick(&[
        "client { thread p { f(); f(); } thread q { g(); } }",
        "client { thread p { while (1) { f(); } } thread q { while (1) { g(); } } }",
        "client { thread p { f(); } thread q { g(); } thread r { f(); } }",
        "client { thread p { f(); } thread q { g(); } thread r { g(); } }",
        "client { thread p { f(); } thread q { oneof ( { f(); } { g(); } ); } thread r { g(); g(); } }",
    ]);
    format!("max_value 1;\n{}{}{client}\n", text("library", library), text("spec", specification))
}

/// Catches a search on demand that overlooks a history: what it shows must be so if markers
/// propagate at any time. More of them than in the ordinary run: `REFINE_PAIRS=600`.
#[test]
fn on_demand_agrees() {
    let pairs = std::env::var("REFINE_PAIRS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let [cheaper, differing] = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let seeds = (half..pairs).step_by(2);
            scope.spawn(move || {
                let counts = seeds.map(compare_on_demand);
                counts.fold([0, 0], |[a, b], [c, d]| [a + c, b + d])
            })
        });
        let counts = halves.map(|half| half.join().expect("both halves agree"));
        [counts[0][0] + counts[1][0], counts[0][1] + counts[1][1]]
    });
    assert!(cheaper > pairs / 4 && differing > pairs / 4, "one-sided: {cheaper}, {differing}");
}

/// How often markers on demand made it cheaper to see that a random library refines, and how often it
/// does not.
fn compare_on_demand(seed: u64) -> [u64; 2] {
    let text = random_locked_pair(seed);
    let project = parse(&[("random.fp".to_string(), text.clone())], None)
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let pair = &project.pairs[0];
    let (first, second) = (&pair.implementation.system, &pair.specification.system);
    let (mut cheaper, mut differing) = (0, 0);
    for (literal, pending) in [(false, 1), (true, 2)] {
        let own_space = pair.own_space;
        let settings = Scope { pending, literal, own_space, ..Scope::default() };
        let plain = Scope { on_demand: false, ..settings };
        let plain = Question { scope: plain, limits: limits(4_000), ..Question::default() };
        let without = refines(first, second, &plain, &mut |_| {});
        let expected = verdict(&without);
        if expected == "undecided" {
            continue;
        }
        let with = ask(pair, settings);
        let context = || format!("seed {seed}, {pending} pending:\n{text}");
        assert_eq!(
            (verdict(&with), with.literal()),
            (expected, without.literal()),
            "{}",
            context()
        );
        match expected {
            "refines" => cheaper += u64::from(with.cost.transitions < without.cost.transitions),
            _ => differing += 1,
        }
    }
    [cheaper, differing]
}

/// The client of section 8.1 may reason with the specification by locks, and the one by flags is too
/// weak for it (Remark 4). A client that enters twice does not keep to the policy.
#[test]
fn clients() {
    let ask = |specification: &str, client: &str| {
        let files = [specification, "rcu1.fp", "rcu1-client.fp"];
        let project = project(&files, Some(client));
        let pair = &project.pairs[0];
        let client = pair.client.as_ref().expect("a client was given");
        let scope = Scope { literal: true, ..Scope::default() };
        let question = Question { property: Property::Policy, scope, ..Question::default() };
        verdict(&refines(&client.system, &pair.specification.system, &question, &mut |_| {}))
    };
    assert_eq!(ask("rcu1-spec.fp", "rcu1-user.fp"), "refines");
    assert_eq!(ask("rcu1-flags-spec.fp", "rcu1-user.fp"), "assertion");
    assert_eq!(ask("rcu1-spec.fp", "rcu1-bad-user.fp"), "differs");
}
