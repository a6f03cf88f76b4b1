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
        "t.fp: 1 fence makes it free of triangular races, hence robust against tso, and no fewer in \
         front of accesses would make it free of them; robustness alone may take fewer"
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

/// Who waits for one of several values has not chosen, and a fence that changes that would make a thread wait for ever.
#[test]
fn no_fence_makes_a_thread_choose() {
    let desk = Desk::with(
        "max_value 2; atomic x, y;\n\
         thread a { local i; for (i = 0; i < 2; i = i + 1) { x.store(i); } oneof({ wait(y, 0); } { wait(y, 1); }); }\n\
         thread b { local s; y.store(1, sc); s = x.load(); }\n",
    );
    let ends = desk.run("outcomes --model sc t.fp").stdout;
    assert!(!ends.contains("waits"), "{ends}");
    for arguments in ["--model tso", "--model rc11", "--trf", "--model tso --only fences"] {
        let run = desk.run(&format!("fix {arguments} --write fixed.fp t.fp"));
        assert_eq!(run.code, Some(0), "{arguments}: {}", run.all());
        let fixed = desk.run("outcomes --model sc fixed.fp").stdout;
        assert_eq!(fixed.replace("fixed.fp", "t.fp"), ends, "{arguments}: {}", run.all());
    }
    // And without these fences, it would no longer choose.
    let chooses = Desk::with(
        "max_value 3; atomic x, y;\n\
         thread a { local r; oneof({ fence(sc); wait(y, 0); r = 1; } { fence(sc); wait(y, 1); r = 2; }); }\n\
         thread b { y.store(1); }\n",
    );
    let run = chooses.run("fix --model tso --weaken --write fixed.fp t.fp");
    assert_eq!(run.code, Some(0), "{}", run.all());
    assert!(chooses.run("outcomes --model sc fixed.fp").stdout.contains("waits"), "{}", run.all());
}

/// A weak CAS begins with a choice, and a fence in front of it is passed on the way to either side. Catches fences that seem to help
/// nobody, because they were looked for where control comes from inside the statement.
#[test]
fn fences_in_front_of_a_weak_cas() {
    let desk = Desk::with(
        "max_value 2; atomic x, y;\n\
         thread a { local r; exchange(x, 1); r = weak_CAS(y, 0, 2); }\n\
         thread b { local r; exchange(y, 1); r = weak_CAS(x, 0, 2); }\n",
    );
    for model in ["rc11", "rc20", "ra"] {
        let run = desk.run(&format!("fix --only fences --model {model} t.fp"));
        assert_eq!(run.code, Some(0), "{model}: {}", run.all());
        let fences = run.stdout.matches("fence(seq_cst); r = weak_CAS(").count();
        assert_eq!(fences, 2, "{model}: {}", run.all());
    }
}

/// A fence in a procedure serves all its calls.
#[test]
fn fences_in_procedures() {
    let twice = "max_value 1; atomic x, y;\nproc f() { local s;\n  s = y.load(); }\n\
                 thread a { x.store(1); f(); x.store(1); f(); }\nthread b { y.store(1); }\n";
    assert!(said(twice, "--trf").starts_with("t.fp: 1 fence makes"), "{}", said(twice, "--trf"));
    let between = "max_value 1; atomic x, y, z;\nproc f() { local s;\n  s = y.load(); }\n\
                   thread a { local r; x.store(1); f(); x.store(1); r = z.load(); f(); }\nthread b { y.store(1); }\n";
    assert!(
        said(between, "--trf").starts_with("t.fp: 1 fence makes"),
        "{}",
        said(between, "--trf")
    );
    let shared = "max_value 1; atomic x, y;\nproc f() { x.store(1); }\n\
                  thread a { local r; f(); r = y.load(); }\nthread b { local r; f(); r = y.load(); }\n\
                  thread c { local r; y.store(1, sc); r = x.load(); }\n";
    let cost = said(shared, "--model tso --only fences");
    assert!(cost.contains("cost 0 before, 20 after"), "{cost}");
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
