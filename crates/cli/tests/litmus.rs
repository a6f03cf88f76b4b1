//! Litmus tests in herd's format, as a user sees them.

mod run;

use run::{Desk, run_at_root};
use serde_json::Value;
use std::path::Path;

/// Every test of `corpus/herd` gets the observations and verdicts that it expects.
#[test]
fn corpus_tests_get_the_verdicts_they_expect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/herd");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("a readable corpus").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable corpus");
        let expected = text.lines().filter_map(|line| {
            line.strip_prefix("(* expect ")?.strip_suffix(" *)")?.split_once(": ")
        });
        let before = checked;
        for (what, expected) in expected {
            let (model, property) = what.split_once(' ').expect("a model and a property");
            checked += 1;
            if property == "observation" {
                let run = run_at_root(&format!("outcomes --model {model} corpus/herd/{name}"));
                let stem = name.trim_end_matches(".litmus");
                let line = format!("Observation {stem} {expected}\n");
                assert!(run.stdout.contains(&line), "{name} {what}: {expected}\n{}", run.stdout);
                continue;
            }
            let run = run_at_root(&format!("check --json --model {model} corpus/herd/{name}"));
            let objects: Vec<Value> =
                run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let found = match property {
                "exists" => objects[0]["exists"].as_str().and_then(|said| said.split(':').next()),
                _ => objects
                    .iter()
                    .find(|o| o["property"] == property)
                    .and_then(|o| o["verdict"].as_str()),
            };
            assert_eq!(found, Some(expected), "{name} {what}\n{}{}", run.stdout, run.stderr);
        }
        assert!(checked > before, "{name} expects nothing");
    }
    assert!(checked > 40, "only {checked} expectations");
}

/// The table is herd's, line by line, but for the time.
#[test]
fn outcomes_are_herds_table() {
    let run = run_at_root("outcomes corpus/herd/sb-rlx.litmus");
    let (table, time) = run.stdout.split_once("Time ").expect("a time");
    assert_eq!(
        table,
        "Test sb-rlx Allowed\nStates 4\n0:r0=0; 1:r0=0;\n0:r0=0; 1:r0=1;\n0:r0=1; 1:r0=0;\n\
         0:r0=1; 1:r0=1;\nOk\nWitnesses\nPositive: 1 Negative: 3\n\
         Condition exists (0:r0=0 /\\ 1:r0=0)\nObservation sb-rlx Sometimes 1 3\n"
    );
    assert!(time.starts_with("sb-rlx ") && time.ends_with("\n\n"), "{time:?}");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let race = run_at_root("outcomes corpus/herd/mp-rlx-race.litmus").stdout;
    assert!(race.contains("\nUndef\nWitnesses\nPositive: 2 Negative: 1\nFlag *undef*\n"), "{race}");
    let locked = run_at_root("outcomes corpus/herd/x86-sb-locked.litmus").stdout;
    assert!(
        locked.contains("Forbidden\nStates 3\n0:EAX=0; 1:EAX=1; 1:EBX=0; [w]=7;\n"),
        "{locked}"
    );
    assert!(locked.contains("Ok\nWitnesses\nPositive: 3 Negative: 0\n"), "{locked}");
    assert!(locked.contains("Never 0 3"), "{locked}");
}

#[test]
fn json_has_the_condition() {
    let run = run_at_root("outcomes --json corpus/herd/sb-rlx.litmus");
    let table: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let asked = &table["condition"];
    assert_eq!(asked["text"], "exists (P0.r0 == 0 && P1.r0 == 0)");
    assert_eq!(
        (&asked["holds"], &asked["satisfying"], &asked["others"]),
        (&true.into(), &1.into(), &3.into())
    );
    assert_eq!(asked["executions"]["observation"], "Sometimes");
    let marked =
        table["outcomes"].as_array().expect("rows").iter().filter(|row| row["satisfies"] == true);
    assert_eq!(marked.count(), 1);
}

/// x86 is TSO unless interleavings are asked for; memory orders mean nothing to it.
#[test]
fn x86_is_tso() {
    let run = run_at_root("check corpus/herd/x86-sb.litmus");
    assert!(run.stdout.starts_with("corpus/herd/x86-sb.litmus: tso, "), "{}", run.stdout);
    assert_eq!(run.code, Some(1));
    for command in ["check", "outcomes"] {
        let refused = run_at_root(&format!("{command} --model rc20 corpus/herd/x86-sb.litmus"));
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains("mean nothing to the rc20 model"), "{}", refused.stderr);
        let sc = run_at_root(&format!("{command} --model sc corpus/herd/x86-sb.litmus"));
        assert_eq!(sc.code, Some(0), "{}", sc.stderr);
    }
}

/// A claim that an interleaving refutes is a finding with its run; `exists` is answered in a line.
#[test]
fn check_decides_conditions() {
    let desk = Desk::with(
        "atomic c;\nthread t[2] { local r; r = c.load(acq); c.store(r + 1, rel); }\nforall (c == 2);\n",
    );
    let run = desk.run("check --model sc t.fp");
    assert_eq!(run.code, Some(1));
    for part in [
        "final-condition  violated",
        "error[FP0016]: a run ends as the final condition says none does",
        "--> t.fp:3:1",
        "a run ends with c = 1",
        "Then all threads are done, with c = 1.",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    let desk = Desk::with("atomic c;\nthread t[2] { FADD(c, 1, acq, rel); }\nexists (c == 1);\n");
    let run = desk.run("check t.fp");
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("exists      no: no run ends so"), "{}", run.stdout);
    let run = desk.run("outcomes t.fp");
    assert!(
        run.stdout.contains("exists (c == 1): no, 0 of 1 final state satisfy it"),
        "{}",
        run.stdout
    );
}

/// Tests of other architectures are refused as what they are.
#[test]
fn other_architectures_are_refused() {
    let desk = Desk::new().and("t.litmus", "PPC MP\n{}\n P0 ;\n lwsync ;\nexists (x=1)\n");
    let run = desk.run("outcomes t.litmus");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("litmus tests for PPC are not supported"), "{}", run.stderr);
}
