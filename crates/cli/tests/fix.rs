//! `fencepost fix`: every sentence it says.

mod run;

use run::Desk;
use serde_json::Value;

const SB: &str = "atomic x, y;\nthread t { local r;\n  x.store(1, rlx);\n  r = y.load(rlx);\n}\n\
    thread u { local r;\n  y.store(1, rlx);\n  r = x.load(rlx);\n}\n";
/// Robust, and with a triangular race.
const TRIANGULAR: &str = "atomic x, y;\nthread t { local r;\n  x.store(1, rlx);\n  r = y.load(rlx);\n}\nthread u { y.store(1, rlx); }\n";
const ROBUST: &str = "atomic x;\nthread t { x.store(1); }\nthread u { local r; r = x.load(); }\n";
const TOO_SHORT: &str = "atomic a[1];\nthread t[2] {\n  a[t].store(1);\n}\n";

/// The first line that `fix` prints.
fn said(program: &str, arguments: &str) -> String {
    let run = Desk::with(program).run(&format!("fix {arguments} t.fp"));
    assert_eq!(run.code, Some(0), "{}", run.all());
    run.stdout.lines().next().unwrap_or_default().to_string()
}

#[test]
fn fences_for_robustness() {
    golden!(Desk::with(SB).run("fix t.fp").all());
    assert_eq!(said(ROBUST, ""), "t.fp: robust against tso already");
    assert_eq!(said(ROBUST, "--model tso,pso"), "t.fp: robust against tso and pso already");
    assert_eq!(
        said(SB, "--loop-weight 3"),
        "t.fp: 2 changes make it robust against tso; cost 0 before, 40 after, and no cheaper ones of what can be changed will do"
    );
}

/// What is free of triangular races is said to be just that, and fewest fences are about that.
#[test]
fn fences_against_triangular_races() {
    assert_eq!(
        said(TRIANGULAR, "--trf"),
        "t.fp: 1 fence makes it free of triangular races, hence robust against tso, and no fewer would \
         make it free of them; robustness alone may take fewer"
    );
    assert_eq!(said(TRIANGULAR, ""), "t.fp: robust against tso already");
    assert_eq!(
        said(ROBUST, "--trf"),
        "t.fp: free of triangular races, hence robust against tso already"
    );
    let run = Desk::with(TRIANGULAR).run("fix --trf --json t.fp");
    let object: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert_eq!(object["aim"], "triangular-race-freedom");
    assert_eq!((&object["minimum"], &object["irreducible"]), (&true.into(), &true.into()));
}

/// A program in which no attack is possible may still have a run-time error, and a limit that keeps the search from meeting it does
/// not make the program one that was checked.
#[test]
fn a_limit_is_no_proof() {
    let desk = Desk::with(
        "atomic x, y; atomic q[1];\n\
         thread a { local r; x.store(1, sc); r = y.load(sc); q[r].store(1, sc); }\n\
         thread b { local r; y.store(1, sc); r = x.load(sc); }\n",
    );
    for limit in ["", "--limit-states 3"] {
        let run = desk.run(&format!("fix --model tso {limit} t.fp"));
        assert!(matches!(run.code, Some(2 | 3)), "{limit}: {}", run.all());
        let run = desk.run(&format!("check --model tso {limit} t.fp"));
        assert!(matches!(run.code, Some(2 | 3)), "{limit}: {}", run.all());
    }
}

/// The patch that `--trf` makes leaves no triangular race.
#[test]
fn patched_programs_are_free_of_triangular_races() {
    let desk = Desk::with(TRIANGULAR);
    assert_eq!(desk.run("fix --trf --write fixed.fp t.fp").code, Some(0));
    assert_eq!(desk.run("check --model tso --trf t.fp").code, Some(1));
    assert_eq!(desk.run("check --model tso --trf fixed.fp").code, Some(0));
}

/// A program with run-time errors is not said to be robust, whether there is something to fix or not.
#[test]
fn run_time_errors() {
    golden!(Desk::with(TOO_SHORT).run("fix t.fp").all());
    let run = Desk::with(TOO_SHORT).run("fix --json t.fp");
    let object: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert!(
        object["error"].as_str().is_some_and(|why| why.contains("run-time errors")),
        "{object}"
    );
}

/// The same for automata, also where no store could be delayed, so that there is nothing to search for attacks. Catches
/// interleavings that are not searched for errors.
#[test]
fn run_time_errors_of_automata() {
    for (transitions, says) in [
        ("a a local r + r 100", "out of range"),
        ("a b local r - r 1\ntransition b c write 1 r", "index -1 is outside an array"),
    ] {
        let text = format!("thread t\ninitial a\ntransition {transitions}\nend\n");
        let run = Desk::new().and("t.txt", &text).run("fix t.txt");
        assert_eq!(run.code, Some(2), "{}", run.all());
        assert!(run.stderr.contains(says), "{}", run.all());
    }
    let fine = "thread t\ninitial a\ntransition a b local r 1\ntransition b c write r 0\nend\n";
    assert_eq!(Desk::new().and("t.txt", fine).run("fix t.txt").code, Some(0));
}

#[test]
fn limits() {
    golden!(Desk::with(SB).run("fix --limit-states 3 t.fp").all());
}
