//! `fencepost outcomes`: tables of final states.

mod run;

use run::{Desk, run_at_root};
use serde_json::Value;

#[test]
fn weak_states_are_marked() {
    golden!(run_at_root("outcomes corpus/litmus/sb-rlx.fp").all());
}

#[test]
fn interleavings_only() {
    golden!(run_at_root("outcomes --model sc corpus/litmus/sb-rlx.fp").all());
}

#[test]
fn all_allowed_by_sc() {
    golden!(run_at_root("outcomes --model ra corpus/litmus/mp-ra.fp").all());
}

/// Store buffering shows on every machine with buffers; message passing where stores overtake stores.
#[test]
fn machines_with_store_buffers() {
    let runs = [
        "outcomes --model tso corpus/litmus/sb-rlx.fp",
        "outcomes --model tso corpus/litmus/mp-rlx.fp",
        "outcomes --model pso corpus/litmus/mp-rlx.fp",
        "outcomes --model pgas corpus/litmus/mp-ra.fp",
    ];
    golden!(runs.map(|arguments| run_at_root(arguments).all()).join("\n"));
}

/// A thread that stores in a loop fills any buffer: what does not fit is cut off, and the answer says so.
#[test]
fn buffers_without_end() {
    let desk = Desk::with(
        "max_value 1; global x, y;\n\
         thread t { local a; while (a == 0) { x.store(1); a = y.load(); } }\n\
         thread u { y.store(1); }\n",
    );
    golden!(desk.run("outcomes --model tso --limit-buffer 2 t.fp").all());
    let run = desk.run("outcomes --model tso --json t.fp");
    let table: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert_eq!((run.code, &table["limit"]), (Some(3), &Value::from("buffers")));
}

/// Loops are cut off on weak memory, and the answer says so; interleavings need no bound.
#[test]
fn loops() {
    let desk = Desk::with(
        "max_value 1; global x, y;\n\
         thread t { local a; x.store(1); while (a == 0) { a = y.load(); } }\n\
         thread u { local b; y.store(1); b = x.load(); }\n",
    );
    let runs = ["outcomes --unroll 2 t.fp", "outcomes --model sc t.fp"];
    golden!(runs.map(|arguments| desk.run(arguments).all()).join("\n"));
}

/// Threads that wait, fail, or end early are outcomes, too.
#[test]
fn threads_that_stop() {
    let desk = Desk::with(
        "max_value 3; global x;\n\
         thread t { local a; a = x.load();\n  assert(a == 0); }\n\
         thread u { local b; b = x.load();\n  assume(b == 1); b = 3; }\n\
         thread v { x.store(1);\n  wait(x, 2); }\n",
    );
    golden!(desk.run("outcomes t.fp").all());
}

/// `sc` accesses are in one order; with `--model rc20`, where there are none, they acquire and release.
#[test]
fn sc_accesses() {
    let sb = "atomic x, y;\n\
        thread t { local r;\n  x.store(1, sc);\n  r = y.load(sc);\n}\n\
        thread u { local r;\n  y.store(1, sc);\n  r = x.load(sc);\n}\n";
    let desk = Desk::with(sb).and("weaker.fp", sb.replacen("sc", "rlx", 1)).and("t.tpl", sb);
    golden!(desk.run("outcomes t.fp").all());
    let states = |arguments: &str| {
        let run = desk.run(&format!("outcomes --json {arguments}"));
        let table: Value = serde_json::from_str(&run.stdout).expect("an object");
        let states = table["outcomes"].as_array().expect("outcomes").len();
        (table["model"].as_str().expect("a model").to_string(), states)
    };
    assert_eq!(states("t.fp"), ("rc11".into(), 3));
    assert_eq!(states("--model rc20 t.fp"), ("rc20".into(), 4));
    assert_eq!(states("t.tpl"), ("rc20".into(), 4));
    assert_eq!(states("--model rc11 t.tpl"), ("rc11".into(), 3));
    assert_eq!(states("weaker.fp"), ("rc11".into(), 4));
    // On a machine they are what they are compiled to.
    assert_eq!(states("--model tso t.fp"), ("tso".into(), 3));
}

#[test]
fn limits() {
    let run = run_at_root("outcomes --limit-graphs 10 corpus/litmus/iriw-rlx.fp");
    assert_eq!(run.code, Some(3));
    assert!(run.stdout.contains("the limit on graphs was reached: there may be more"));
    let run = run_at_root("outcomes --limit-states 10 --model sc corpus/litmus/iriw-rlx.fp");
    assert_eq!(run.code, Some(3));
}

#[test]
fn json() {
    let run = run_at_root("outcomes --json corpus/litmus/sb-rlx.fp");
    assert_eq!(run.code, Some(0));
    let table: Value = serde_json::from_str(&run.stdout).expect("an object");
    let rows = table["outcomes"].as_array().expect("outcomes");
    assert_eq!(rows.len(), 4);
    assert_eq!(rows.iter().filter(|row| row["under_sc"] == false).count(), 1);
    assert_eq!(rows[0]["threads"][0]["status"], "done");
    assert_eq!(rows[0]["memory"][0]["location"], "x");
    assert_eq!((&table["limit"], &table["unroll"]), (&Value::Null, &Value::Null));
}

#[test]
fn bad_input() {
    let desk = Desk::with("global x;\nthread t { y.store(1); }\n");
    golden!(desk.run("outcomes t.fp").all());
    let run = desk.run("outcomes --model tso --json t.fp");
    let line: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert_eq!((run.code, &line["model"]), (Some(2), &Value::from("tso")));
    assert_eq!(desk.run("outcomes nowhere.fp").code, Some(2));
}

/// Final values of C programs, by the names they have there; also those that one thread alone writes.
#[test]
fn programs_in_c() {
    if std::process::Command::new("clang").arg("--version").output().is_err() {
        eprintln!("no clang: programs in C are not checked");
        return;
    }
    let text = "#include <pthread.h>\n#include <stdatomic.h>\n\
        atomic_int x, y;\nstruct { int left, right; } seen;\n\
        void *left(void *unused) {\n\
        \x20 atomic_store_explicit(&x, 1, memory_order_relaxed);\n\
        \x20 seen.left = atomic_load_explicit(&y, memory_order_relaxed);\n\
        \x20 return 0;\n}\n\
        void *right(void *unused) {\n\
        \x20 atomic_store_explicit(&y, 1, memory_order_relaxed);\n\
        \x20 seen.right = atomic_load_explicit(&x, memory_order_relaxed);\n\
        \x20 return 0;\n}\n\
        int main(void) {\n  pthread_t a, b;\n\
        \x20 pthread_create(&a, 0, left, 0);\n  pthread_create(&b, 0, right, 0);\n\
        \x20 pthread_join(a, 0);\n  pthread_join(b, 0);\n}\n";
    let sc = text.replace("_relaxed", "_seq_cst");
    let desk = Desk::new().and("sb.c", text).and("sc.c", &sc);
    let runs = [
        "outcomes sb.c",
        "outcomes --model sc sb.c",
        "outcomes --model tso sb.c",
        "outcomes sc.c",
        "outcomes no.c",
    ];
    golden!(runs.map(|arguments| desk.run(arguments).all()).join("\n"));
    let run = desk.run("outcomes --json sb.c");
    let table: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert_eq!(table["outcomes"].as_array().map(Vec::len), Some(4));
}

/// The hidden location and register of `spawn`, and the register that a weak compare-and-swap reads into, are
/// no part of a state. Catches a register that is shown because another thread hides one of the same number.
#[test]
fn what_statements_are_made_of_is_not_shown() {
    let desk = Desk::with(
        "max_value 2; global x;\n\
         thread main { local a; spawn child; join child; a = x.load(); }\n\
         thread child { local b, c; b = weak_CAS(x, 0, 1); }\n",
    );
    for model in ["rc11", "sc", "tso"] {
        let run = desk.run(&format!("outcomes --model {model} t.fp"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let shown = ["main.a", "child.b", "child.c", "x"];
        assert!(shown.iter().all(|name| run.stdout.contains(name)), "{}", run.stdout);
        let hidden = ["spawn", "read", "expected"];
        assert!(!hidden.iter().any(|name| run.stdout.contains(name)), "{}", run.stdout);
    }
}

/// Catches states that are lost or counted twice when several cores search.
#[test]
fn cores_change_nothing() {
    for arguments in ["--model tso corpus/litmus/sb-rlx.fp", "--model sc corpus/litmus/mp-ra.fp"] {
        let one = run_at_root(&format!("outcomes --jobs 1 {arguments}")).stdout;
        assert!(one.contains("final state"), "{one}");
        assert_eq!(run_at_root(&format!("outcomes --jobs 3 {arguments}")).stdout, one);
    }
}

/// A fence for an element that does not exist goes wrong on TSO, too, where it orders nothing.
#[test]
fn fences_name_elements_that_exist() {
    let desk = Desk::with(
        "max_value 3; atomic a[1], x;\n\
         thread t { local r; r = x.load(); fence(a[r]); x.store(1); }\n\
         thread u { x.store(2); }\n",
    );
    let tables = ["tso", "pso", "pgas"].map(|model| {
        desk.run(&format!("outcomes --model {model} t.fp")).all().replace(model, "MODEL")
    });
    assert!(tables[0].contains("index 2 is outside an array of length 1"), "{}", tables[0]);
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:?}");
}
