//! `fencepost check --model tso|pso|pgas`: robustness, assertions and run-time errors, in every report.

mod run;

use run::{Desk, run_at_root};
use serde_json::Value;

const MACHINES: [&str; 3] = ["tso", "pso", "pgas"];

/// Nothing can be attacked here, so attacks alone show nothing.
const TOO_SHORT: &str = "atomic a[1];\nthread t[2] {\n  a[t].store(1);\n}\n";
const FAILS: &str = "max_value 3; atomic x;\nthread t {\n  x.store(1);\n}\n\
    thread u {\n  local r;\n  r = x.load();\n  assert(r == 0);\n}\n";
/// Store buffering that an observer could notice: fails on the machine alone.
const FAILS_ON_MACHINE: &str = "max_value 3; atomic x, y, said, done;\n\
    thread t { local r; x.store(1, rlx); r = y.load(rlx); said.store(r, rlx); FADD(done, 1); }\n\
    thread u { local s, q;\n  y.store(1, rlx); s = x.load(rlx); wait(done, 1);\n  q = said.load(rlx);\n\
    assert(s == 1 || q == 1);\n}\n";
const NON_ATOMIC: &str = "atomic f; na d;\nthread t { d.nastore(1); f.store(1, rel); }\n\
    thread u { local r; r = f.load(acq); if (r) { r = d.naload(); assert(r == 1); } }\n";

fn lines(desk: &Desk, arguments: &str) -> Vec<Value> {
    let run = desk.run(arguments);
    run.stdout.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

/// The verdict for a property.
fn verdict<'l>(lines: &'l [Value], property: &str) -> &'l str {
    let line = lines.iter().find(|line| line["property"] == property).expect("an answer");
    line["verdict"].as_str().expect("a verdict")
}

/// A run-time error that no attack leads to is found, and nothing is said to hold.
#[test]
fn run_time_errors_without_attacks() {
    let desk = Desk::with(TOO_SHORT);
    golden!(desk.run("check --model tso t.fp").all());
    for machine in MACHINES {
        let run = desk.run(&format!("check --model {machine} t.fp"));
        assert_eq!(run.code, Some(2), "{}", run.all());
        let lines = lines(&desk, &format!("check --json --model {machine} t.fp"));
        assert_eq!(lines[0]["witness"]["code"], "FP0005");
        assert_eq!(verdict(&lines, "robustness"), "undecided");
        assert_eq!(verdict(&lines, "assertions"), "undecided");
    }
    let run = desk.run("check --model tso --trf t.fp");
    assert_eq!(run.code, Some(2), "{}", run.all());
}

/// What fails in an interleaving fails on the machine.
#[test]
fn assertions_that_fail_in_interleavings() {
    let desk = Desk::with(FAILS);
    golden!(desk.run("check --model tso t.fp").all());
    for machine in MACHINES {
        let run = desk.run(&format!("check --model {machine} t.fp"));
        assert_eq!(run.code, Some(1), "{}", run.all());
    }
}

/// What fails on the machine alone is not said to hold.
#[test]
fn assertions_that_fail_on_the_machine() {
    let desk = Desk::with(FAILS_ON_MACHINE);
    for machine in MACHINES {
        let lines = lines(&desk, &format!("check --json --model {machine} t.fp"));
        assert_eq!(verdict(&lines, "robustness"), "violated");
        assert_eq!(verdict(&lines, "assertions"), "undecided");
    }
    assert_eq!(verdict(&lines(&desk, "check --json --model sc t.fp"), "assertions"), "holds");
    let outcomes = desk.run("outcomes --model tso t.fp").stdout;
    assert!(outcomes.contains("fails at line"), "{outcomes}");
}

/// Freedom of triangular races shows that interleavings tell all; a race shows nothing.
#[test]
fn assertions_with_triangular_races() {
    let free =
        Desk::with("atomic x; thread t { local r; x.store(1); r = x.load(); assert(r == 1); }");
    golden!(free.run("check --model tso --trf t.fp").all());
    let racy = Desk::with(
        "atomic x, y; thread t { local r; x.store(1); r = y.load(); } thread u { y.store(1); }",
    );
    let lines = lines(&racy, "check --json --model tso --trf t.fp");
    assert_eq!(verdict(&lines, "triangular-races"), "violated");
    assert_eq!(verdict(&lines, "assertions"), "undecided");
}

/// Threads that wait forever and values that wrap around are warnings, or errors if that is asked for.
#[test]
fn warnings() {
    let desk = Desk::with(
        "max_value 3; atomic x;\nthread t { wait(x, 1); }\nthread u { FADD(x, 3); FADD(x, 3); }\n",
    );
    golden!(format!(
        "{}\n{}",
        desk.run("check --model pso t.fp").all(),
        desk.run("check --model pso --strict-values t.fp").all()
    ));
}

/// Races are not looked for on machines, nor in interleavings, and every report says so.
#[test]
fn what_was_not_checked_is_named() {
    let desk = Desk::with(NON_ATOMIC);
    let files = "--html r.html --sarif r.sarif --junit r.xml";
    golden!(desk.run("check --model tso t.fp").all());
    for model in ["tso", "pso", "pgas", "sc"] {
        let run = desk.run(&format!("check --model {model} {files} t.fp"));
        assert_eq!(run.code, Some(0), "{}", run.all());
        assert!(run.stdout.contains("races       not checked: "), "{}", run.stdout);
        let read = |name: &str| std::fs::read_to_string(desk.path().join(name)).expect("a report");
        assert!(read("r.html").contains("<b>races</b> not checked: "));
        assert!(read("r.xml").contains("<skipped message=\"not checked: "));
        assert!(read("r.sarif").contains("races not checked: "));
        let json = lines(&desk, &format!("check --json --model {model} t.fp"));
        assert!(json.iter().all(|line| line["unchecked"][0]["property"] == "races"));
    }
    let all = lines(&desk, "check --json t.fp");
    assert!(all.iter().all(|line| line["unchecked"].as_array().is_some_and(Vec::is_empty)));
    assert_eq!(verdict(&all, "races"), "holds");
    let fewer = desk.run("check --no-races t.fp").stdout;
    assert!(fewer.contains("races       not checked: as --no-races asks"), "{fewer}");
}

/// A limit stops both searches, and neither is said to have come to an end.
#[test]
fn limits() {
    let run =
        run_at_root("check --model tso --limit-states 5 --json corpus/algorithms/dekker-fenced.fp");
    assert_eq!(run.code, Some(3), "{}", run.all());
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(verdict(&lines, "robustness"), "undecided");
    assert_eq!(verdict(&lines, "assertions"), "undecided");
}

/// Programs with transactions: what a run-time error cuts short is not robust, and assertions are named
/// as not checked.
#[test]
fn transactions() {
    let desk = Desk::with(
        "max_value 1; atomic a[1];\nthread t[2] { atomic { a[t].store(1); } assert(true); }\n",
    );
    let run = desk.run("serial --from t.fp");
    assert_eq!(run.code, Some(2), "{}", run.all());
    assert!(!run.stdout.contains("holds"), "{}", run.stdout);
    assert!(run.stdout.contains("assertions        not checked: "), "{}", run.stdout);
}
