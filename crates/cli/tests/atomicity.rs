//! `fencepost run --serial`: programs with locks of their own, recorded and judged in one step.

mod bench;

use bench::{Bench, FOUND, installed, text};

const WAYS: [&str; 5] = ["-DSPIN", "-DCAS", "-DTICKET", "-DMUTEX", "-DFETCH_ADD"];

/// Would catch a lock that is torn in two, a loop that waits and is taken for a conflict, and a real
/// violation that what was read rules out by mistake.
#[test]
fn locks_make_deposits_atomic_and_broken_ones_do_not() {
    let bench = Bench::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| installed(compiler)) {
        for way in WAYS {
            for broken in [false, true] {
                let mut flags = vec!["-g", "-O1", way];
                flags.extend(broken.then_some("-DBROKEN"));
                let program = bench.build(compiler, "atomic_bank.c", &flags, "program");
                let options = ["--serial", "--schedule", "random", "--runs", "25"];
                let mut command = bench.fencepost();
                command.args(["run", "--timeout", "60s"]).args(options).arg("--").arg(&program);
                let output = command.output().expect("fencepost runs");
                let (said, complaints) = (text(&output.stdout), text(&output.stderr));
                let all = format!("{compiler} {flags:?}\n{said}\n{complaints}");
                let verdict = said.contains("\nTSO-serializable in every execution: yes\n");
                assert_eq!(verdict, !broken, "{all}");
                if broken {
                    assert_eq!(output.status.code(), Some(FOUND), "{all}");
                    assert!(said.contains("deposit (T"), "{all}");
                    assert!(said.contains(":atomic_bank.c:"), "{all}");
                }
            }
        }
    }
}

/// The names of the program's variables and transactions, and JSON.
#[test]
fn the_cycle_speaks_of_the_program() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let flags = ["-g", "-O1", "-DMUTEX", "-DBROKEN"];
    let program = bench.build("gcc", "atomic_bank.c", &flags, "program");
    let run = |more: &[&str]| {
        let mut command = bench.fencepost();
        command.args(["run", "--serial", "--schedule", "random", "--runs", "25"]).args(more);
        command.arg(&program).output().expect("fencepost runs")
    };
    let said = text(&run(&[]).stdout);
    assert!(said.contains("`T1 rd balance`") || said.contains("`T2 rd balance`"), "{said}");
    let json = text(&run(&["--json"]).stdout);
    let line = json.lines().find(|line| line.contains("\"monitor\"")).expect("a verdict");
    let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(value["serializable"], false, "{line}");
    assert_eq!(value["answers"][0]["cycle"][0]["transaction"], "deposit", "{line}");
}

/// The two commands of the README, and what is to be seen once the program is right.
#[test]
fn the_example_of_the_readme() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bank.c");
    for (flags, code) in [(&["-g", "-O1"][..], FOUND), (&["-g", "-O1", "-DFIXED"], 0)] {
        let program = bench.build("gcc", source, flags, "bank");
        let mut command = bench.fencepost();
        command.args(["run", "--serial", "--schedule", "random", "--runs", "100", "--"]);
        let output = command.arg(&program).output().expect("fencepost runs");
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
        assert_eq!(said.contains("deposit (T"), code == FOUND, "{flags:?}: {said}");
    }
}

/// A program that marks nothing is told how.
#[test]
fn nothing_is_marked() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program = bench.build("gcc", "mp.c", &["-O1"], "program");
    let output = bench.fencepost().args(["run", "--serial"]).arg(&program).output();
    let output = output.expect("fencepost runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("marks no transactions"), "{}", text(&output.stderr));
}

/// What a program recorded before it was killed is judged, the transaction that it left open included, and its exit
/// code stays.
#[test]
fn a_program_that_is_killed() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program =
        bench.build("gcc", "atomic_bank.c", &["-g", "-O1", "-DSPIN", "-DKILLED"], "program");
    let output = bench.fencepost().args(["run", "--serial"]).arg(&program).output();
    let output = output.expect("fencepost runs");
    let (said, complaints) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(128 + 9), "{said}{complaints}");
    assert!(said.contains("\nTSO-serializable in every execution: yes\n"), "{said}");
    assert!(complaints.contains("ended before its recording did"), "{complaints}");
}

/// A limit ends the program, and then nothing is said to hold.
#[test]
fn a_limit_ends_a_program_that_does_not() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program =
        bench.build("gcc", "atomic_bank.c", &["-g", "-O1", "-DSPIN", "-DENDLESS"], "program");
    let mut command = bench.fencepost();
    let output = command.args(["run", "--serial", "--limit-time", "1s"]).arg(&program).output();
    let output = output.expect("fencepost runs");
    let (said, complaints) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{said}{complaints}");
    assert!(complaints.contains("(--limit-time)"), "{complaints}");
    assert!(!said.contains(": yes"), "{said}");
}
