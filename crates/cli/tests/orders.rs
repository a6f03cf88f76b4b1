//! `fencepost orders` and `fencepost fix` for memory orders: what they say, and that what they write is correct.

mod run;

use run::{Desk, run_at_root};
use serde_json::Value;

/// Message passing in which everything is `sc`.
const CAREFUL: &str = "atomic flag; na data;\nthread writer {\n  data.nastore(1);\n  flag.store(1, sc);\n}\n\
    thread reader { local r, d;\n  r = flag.load(sc);\n  if (r == 1) { d = data.naload(); assert(d == 1); }\n}\n";
/// The same with everything relaxed.
const CARELESS: &str = "atomic flag; na data;\nthread writer {\n  data.nastore(1);\n  flag.store(1, rlx);\n}\n\
    thread reader { local r, d;\n  r = flag.load(rlx);\n  if (r == 1) { d = data.naload(); assert(d == 1); }\n}\n";
/// Store buffering: release and acquire do not help.
const SB: &str = "atomic x, y;\nthread t { local r;\n  x.store(1, rlx);\n  r = y.load(rlx);\n}\n\
    thread u { local r;\n  y.store(1, rlx);\n  r = x.load(rlx);\n}\n";
/// A race that no order prevents.
const RACE: &str = "atomic x; na n;\nthread t {\n  n.nastore(1);\n}\nthread u {\n  n.nastore(2);\n  x.store(1, rlx);\n}\n";
/// An assertion that fails in an interleaving.
const FAILS: &str = "atomic x;\nthread t {\n  x.store(1, rlx);\n}\nthread u { local r;\n  r = x.load(rlx);\n  assert(r == 1);\n}\n";

fn object(run: &run::Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("an object: {}", run.all()))
}

fn text_of(desk: &Desk, file: &str) -> String {
    std::fs::read_to_string(desk.path().join(file)).expect("a text")
}

#[test]
fn what_each_access_needs() {
    let desk = Desk::with(CAREFUL);
    golden!(desk.run("orders t.fp").all());
    let said = object(&desk.run("orders --json t.fp"));
    let suffices: Vec<&str> = said["sites"]
        .as_array()
        .expect("sites")
        .iter()
        .filter_map(|s| s["suffices"].as_str())
        .collect();
    assert_eq!(suffices, ["release", "acquire"]);
}

#[test]
fn the_whole_story_of_a_weaker_order() {
    let desk = Desk::with(CAREFUL);
    let told = desk.run("orders --explain 4 t.fp");
    assert_eq!(told.code, Some(0), "{}", told.all());
    assert!(told.stdout.contains("race on `data`"), "{}", told.stdout);
    assert_eq!(desk.run("orders --explain 3 t.fp").code, Some(2));
}

#[test]
fn programs_that_are_not_correct() {
    golden!(Desk::with(CARELESS).run("orders t.fp").all());
    assert_eq!(Desk::with(CARELESS).run("orders t.fp").code, Some(1));
    for (program, says) in [
        (RACE, "no memory order and no fence prevents its data race"),
        (FAILS, "an assertion fails in an interleaving"),
    ] {
        let run = Desk::with(program).run("fix --model rc11 t.fp");
        assert_eq!(run.code, Some(2), "{}", run.all());
        assert!(run.stderr.contains(says), "{}", run.all());
    }
}

#[test]
fn orders_that_are_missing() {
    golden!(Desk::with(CARELESS).run("fix --model rc11 --diff t.fp").all());
}

/// What is written is what was found: it is robust, and nothing in it is stronger than needed.
#[test]
fn what_is_written_is_correct_and_as_weak_as_can_be() {
    for program in [CAREFUL, CARELESS, SB] {
        for options in [
            "",
            "--weaken",
            "--only orders",
            "--only fences",
            "--weaken --cost x86",
            "--cost arm",
            "--cost power",
        ] {
            let desk = Desk::with(program);
            let run = desk.run(&format!("fix --model rc11 {options} --write fixed.fp t.fp"));
            assert_eq!(run.code, Some(0), "{options}: {}", run.all());
            let checked = desk.run("check fixed.fp");
            assert_eq!(checked.code, Some(0), "{options}: {}", checked.all());
            if options == "--weaken" {
                let said = object(&desk.run("orders --json fixed.fp"));
                let all = said["sites"].as_array().expect("sites");
                assert!(all.iter().all(|site| site["needed"] == true), "{said}");
            }
        }
    }
}

/// An index that is out of range on the weak memory alone: orders that make the program safe rule it out, one by one or
/// together, and no weaker ones do.
#[test]
fn run_time_errors_of_the_weak_memory_are_ruled_out() {
    let program = "max_value 3; atomic x, y, a[2];\n\
        thread p { x.store(1, rlx); y.store(1, rlx); }\n\
        thread q { local r, s; r = y.load(rlx); s = x.load(rlx); if (r == 1) { a[2 - s].store(1, rlx); } }\n";
    let desk = Desk::with(program);
    let run = desk.run("fix --model rc11 --require safe --write fixed.fp t.fp");
    assert_eq!(run.code, Some(0), "{}", run.all());
    let fixed = std::fs::read_to_string(desk.path().join("fixed.fp")).expect("a file was written");
    assert!(fixed.contains("y.store(1, rel)") && fixed.contains("y.load(acq)"), "{fixed}");
    let said = object(&desk.run("orders --require safe --json fixed.fp"));
    let ordered = said["sites"].as_array().expect("sites").iter();
    assert_eq!(ordered.filter(|site| site["suffices"] != "relaxed").count(), 2, "{said}");
}

/// Store buffering needs two fences, or four `sc` accesses, and the table of costs decides.
#[test]
fn costs_decide() {
    let desk = Desk::with(SB);
    let changes = |options: &str| {
        let said = object(&desk.run(&format!("fix --model rc11 {options} --json t.fp")));
        let all = said["changes"].as_array().expect("changes").clone();
        assert_eq!(said["minimum"], true);
        (all.len(), all.iter().filter(|change| change["new"] == true).count())
    };
    assert_eq!(changes("--only orders"), (4, 0));
    assert_eq!(changes("--only fences"), (2, 2));
    // A fence costs 18 in all, and a store and a load that are sc 8 and 5.
    assert_eq!(changes(""), (4, 0));
    // A table of one's own, in which fences are free.
    let desk = Desk::with(SB).and("free.costs", "# fences are free\nfence = 0\nsc_fence = 0\n");
    let said = object(&desk.run("fix --model rc11 --cost free.costs --json t.fp"));
    assert_eq!(said["cost"]["after"], 0, "{said}");
    for (table, says) in [
        ("fence", "expected `NAME = NUMBER`"),
        ("fence = x", "not a number"),
        ("tea = 1", "`tea` is none of"),
    ] {
        let run =
            Desk::with(SB).and("bad.costs", table).run("fix --model rc11 --cost bad.costs t.fp");
        assert_eq!(run.code, Some(2), "{}", run.all());
        assert!(run.stderr.contains(says), "{}", run.stderr);
    }
}

/// What may not become stronger does not, even where something cheaper would have it so.
#[test]
fn nothing_becomes_stronger() {
    // Store buffering with fences: four `sc` accesses are cheaper than two fences.
    let fenced = "atomic x, y;\nthread t { local r;\n  x.store(1, rel);\n  fence(sc);\n  r = y.load(acq);\n}\n\
        thread u { local r;\n  y.store(1, rel);\n  fence(sc);\n  r = x.load(acq);\n}\n";
    let desk = Desk::with(fenced);
    let to = |options: &str| {
        let said = object(&desk.run(&format!("fix --weaken {options} --json t.fp")));
        assert_eq!(said["minimum"], true, "{said}");
        let all = said["changes"].as_array().unwrap_or_else(|| panic!("changes: {said}")).clone();
        let to = all.iter().filter_map(|change| change["to"].as_str().map(String::from));
        (to.collect::<Vec<_>>(), said["cost"]["after"].as_u64())
    };
    let (sc, no) = ("seq_cst", "no");
    assert_eq!(to(""), ([sc, no, sc, sc, no, sc].map(String::from).to_vec(), Some(26)));
    assert_eq!(to("--no-stronger"), (vec!["relaxed".to_string(); 4], Some(40)));
    let said = desk.run("fix --weaken --no-stronger t.fp").stdout;
    assert!(said.contains("no cheaper ones will do if nothing becomes stronger"), "{said}");
}

/// A line that is to stay stays.
#[test]
fn lines_that_are_kept() {
    let desk = Desk::with(CARELESS);
    let run = desk.run("fix --model rc11 --keep 4 --json t.fp");
    let said = object(&run);
    let lines: Vec<i64> = said["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .filter_map(|c| c["line"].as_i64())
        .collect();
    assert!(!lines.is_empty() || said["error"].is_string(), "{said}");
    let text = said["files"][0]["text"].as_str().unwrap_or_default();
    assert!(text.is_empty() || text.contains("flag.store(1, rlx)"), "{text}");
    // A line on which there is nothing to keep is a slip, and nothing is written.
    for keep in ["99", "t.fp:99", "other.fp:4"] {
        let run = desk.run(&format!("fix --model rc11 --write fixed.fp --keep {keep} t.fp"));
        assert_eq!(run.code, Some(2), "{}", run.all());
        assert!(run.stderr.contains(&format!("t.fp: --keep {keep}: no memory order")), "{keep}");
        assert!(!desk.path().join("fixed.fp").exists(), "{keep}");
    }
}

/// Store buffering with a fence in each thread, and a third that nobody needs.
const FENCED: &str = "atomic x, y;\nthread t { local r;\n  x.store(1, rel);\n  fence(sc);\n  r = y.load(acq);\n  fence(sc);\n}\n\
    thread u { local r;\n  y.store(1, sc);\n  fence(sc);\n  r = x.load(acq);\n  fence(acq);\n}\n";

/// RA reads seq_cst fences and nothing else: these are listed, and the rest stays as it is written.
#[test]
fn release_acquire_reads_fences_only() {
    let desk = Desk::with(FENCED);
    golden!(desk.run("orders --model ra t.fp").all());
    let said = object(&desk.run("orders --model ra --json t.fp"));
    assert_eq!(said["unread"], 5, "{said}");
    let told = desk.run("orders --model ra --explain 4 t.fp");
    assert!(told.stdout.contains("stale value of `x`"), "{}", told.all());
    let told = desk.run("orders --model ra --explain 3 t.fp");
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("no memory order that ra reads on line 3"), "{}", told.all());
    let fixed = desk.run("fix --weaken --model ra --write fixed.fp t.fp");
    assert_eq!(fixed.code, Some(0), "{}", fixed.all());
    assert_eq!(text_of(&desk, "fixed.fp"), FENCED.replace("acq);\n  fence(sc);\n", "acq);\n"));
}

/// Machines read full fences and `sc` stores, some of them release stores and fences, too; the rest stays as it is written.
#[test]
fn machines_read_stores_and_fences_only() {
    let desk = Desk::with(FENCED);
    golden!(desk.run("orders --model tso t.fp").all());
    golden!(desk.run("orders --model pso t.fp").all());
    let fixed = desk.run("fix --weaken --no-stronger --model tso --write fixed.fp t.fp");
    assert_eq!(fixed.code, Some(0), "{}", fixed.all());
    // The fence of the second thread is one too many, or its store stronger than needed: the store is the cheaper one.
    let text = text_of(&desk, "fixed.fp");
    assert_eq!(text.matches("fence(sc)").count(), 1, "{text}");
    for kept in ["x.store(1, rel)", "y.store(1, sc)", "y.load(acq)", "x.load(acq)", "fence(acq)"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

/// The order in which states are searched, and by how many workers, does not change what is chosen; nor do other files.
#[test]
fn searches_agree() {
    let desk = Desk::with(CARELESS).and("u.fp", SB);
    for model in ["rc11", "rc20", "ra", "tso", "pso", "pgas", "rc11,tso"] {
        let chosen = |options: &str| -> Vec<Value> {
            let run = desk.run(&format!("fix --model {model} {options} --json t.fp u.fp"));
            let object = |line: &str| serde_json::from_str::<Value>(line).expect("an object");
            let all: Vec<Value> = run.stdout.lines().map(object).collect();
            assert_eq!(all.len(), 2, "{model} {options}: {}", run.all());
            all.iter()
                .map(|of| serde_json::json!([of["file"], of["cost"], of["minimum"], of["error"]]))
                .collect()
        };
        let plain = chosen("");
        assert_eq!(chosen("--search dfs"), plain, "{model}");
        assert_eq!(chosen("--jobs 2"), plain, "{model}");
        assert_eq!(chosen("--search dfs --jobs 2"), plain, "{model}");
    }
}

/// Reads that nothing depends on need no order for observational robustness. Catches an answer that takes all assignments one by one
/// because what goes wrong is no cycle by the definition: this one has a million of them.
#[test]
fn stale_values_that_nothing_depends_on() {
    let mut threads = String::from("atomic go, seen; na data;\n");
    threads.push_str("thread w {\n  data.nastore(1);\n  go.store(1, rlx);\n}\n");
    threads.push_str("thread r { local a, b, d;\n  a = go.load(rlx);\n  b = seen.load(rlx);\n  if (a == 1) { d = data.naload(); }\n  seen.store(1, rlx);\n}\n");
    let desk = Desk::with(&threads);
    let said = object(&desk.run("fix --model rc11 --observational --json t.fp"));
    let to: Vec<&str> = said["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .filter_map(|c| c["to"].as_str())
        .collect();
    assert_eq!(to, ["release", "acquire"], "{said}");
    assert_eq!(said["minimum"], true);
    let peterson =
        run_at_root("fix --model rc11 --observational --json corpus/algorithms/peterson-rlx.fp");
    let said = object(&peterson);
    assert!(said["searches"].as_u64().is_some_and(|count| count < 1_000), "{said}");
}

/// What no model has a meaning for.
#[test]
fn bad_input() {
    let desk = Desk::with(SB);
    for arguments in [
        "fix --model rc11,tso --observational t.fp",
        "fix --model rc11,tso --require safe t.fp",
        "fix --model sc t.fp",
        "fix --model rc11 --trf t.fp",
        "fix --model rc11 --no-stronger t.fp",
        "fix --model rc11 --observational --require safe t.fp",
        "orders --observational --require safe t.fp",
        "fix --model rc11 --search sideways t.fp",
        "fix --model rc11 --jobs 0 t.fp",
        "fix --model rc11 --jobs many t.fp",
        "orders missing.fp",
        "orders --model sc t.fp",
        "orders --model tso --observational t.fp",
        "orders --model pso --require safe t.fp",
    ] {
        let run = desk.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.all());
        assert_eq!(run.stdout, "", "{arguments}");
    }
}

fn has_clang() -> bool {
    let found = std::process::Command::new("clang").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no clang");
    }
    found
}

/// The broken variants of the examples in C and C++ are repaired, and what comes out is checked as a file of its own.
#[test]
fn broken_code_is_repaired() {
    if !has_clang() {
        return;
    }
    for file in [
        "mcs_lock.c",
        "message_passing.c",
        "treiber_stack.c",
        "refcount.c",
        "lazy_init.c",
        "spsc_ring.cpp",
    ] {
        let said = run_at_root(&format!("fix --json examples/real/{file} -- -DBROKEN"));
        assert_eq!(said.code, Some(0), "{file}: {}", said.all());
        let said = object(&said);
        assert_eq!(said["minimum"], true, "{file}");
        let text = said["files"][0]["text"].as_str().unwrap_or_else(|| panic!("a text: {said}"));
        let desk = Desk::new().and(file, text);
        let checked = desk.run(&format!("check {file} --jobs 1 -- -DBROKEN"));
        assert_eq!(checked.code, Some(0), "{file}: {}", checked.all());
    }
}

/// A header is changed where it is, once for all that include it.
#[test]
fn orders_in_a_header() {
    if !has_clang() {
        return;
    }
    let header = "#include <stdatomic.h>\nstatic atomic_int ready;\nstatic void publish(void) {\n\
        \x20   atomic_store_explicit(&ready, 1, memory_order_relaxed);\n}\n";
    let main = "#include \"flag.h\"\n#include <pthread.h>\nstatic int data;\n\
        static void *sender(void *p) { data = 1; publish(); return p; }\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, sender, 0);\n    int seen = 0;\n\
        \x20   if (atomic_load_explicit(&ready, memory_order_acquire)) seen = data;\n    pthread_join(t, 0);\n    return seen;\n}\n";
    let desk = Desk::new().and("flag.h", header).and("main.c", main);
    let said = object(&desk.run("fix --json main.c"));
    assert_eq!(said["changes"].as_array().map(Vec::len), Some(1), "{said}");
    assert_eq!(
        (&said["changes"][0]["file"], &said["changes"][0]["line"]),
        (&"flag.h".into(), &4.into())
    );
    assert!(
        said["files"][0]["text"].as_str().is_some_and(|text| text.contains("memory_order_release"))
    );
}

/// Operators on `_Atomic` objects are `seq_cst` without saying so. Where less will do they become functions.
#[test]
fn operators_on_atomic_objects() {
    if !has_clang() {
        return;
    }
    let program = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
        struct box { atomic_int full[2]; };\nstatic struct box box;\nstatic int data;\n\
        static void *sender(void *p) {\n    data = 1;\n    box.full[1] = 1;\n    return p;\n}\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, sender, 0);\n    struct box *b = &box;\n\
        \x20   if (b->full[1])\n        assert(data == 1);\n    pthread_join(t, 0);\n    return 0;\n}\n";
    let desk = Desk::new().and("box.c", program);
    let said = object(&desk.run("fix --weaken --json box.c"));
    let text = said["files"][0]["text"].as_str().unwrap_or_else(|| panic!("a text: {said}"));
    assert!(
        text.contains("atomic_store_explicit(&box.full[1], 1, memory_order_release);"),
        "{text}"
    );
    assert!(
        text.contains("if (atomic_load_explicit(&b->full[1], memory_order_acquire))"),
        "{text}"
    );
}

/// A site is what is written: not what the thread library does where a thread begins, not an order that is a parameter, and
/// not a CAS that is stronger where it fails. Catches a program that is called correct because it was read as stronger
/// than it is.
#[test]
fn sites_are_what_is_written() {
    let cas = "atomic x; na d;\nthread a { d.nastore(1); x.store(1, rel); }\n\
        thread b { local r, s; r = CAS(x, 1, 0, rlx, rlx, acq); if (r == 1) { s = d.naload(); } }\n";
    let desk = Desk::with(cas);
    assert_eq!(desk.run("check t.fp").code, Some(1));
    assert_eq!(desk.run("orders t.fp").code, Some(1));
    let fixed = desk.run("fix --model rc11 --write fixed.fp t.fp");
    assert!(fixed.code == Some(2) || desk.run("check fixed.fp").code == Some(0), "{}", fixed.all());
    if !has_clang() {
        return;
    }
    let main = "int main(void) {\n  pthread_t t, u;\n  pthread_create(&t, 0, a, 0);\n  pthread_create(&u, 0, b, 0);\n\
        \x20 pthread_join(t, 0);\n  pthread_join(u, 0);\n  return 0;\n}\n";
    let head = "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y;\nint d;\n";
    let first = "void *a(void *p) {\n  d = 1;\n  atomic_store_explicit(&x, 1, memory_order_release);\n  return p;\n}\n\
        void *b(void *p) {\n  if (atomic_load_explicit(&x, memory_order_relaxed) == 1)\n    d = 2;\n  return p;\n}\n";
    let parameter = "void put(int v, memory_order o) {\n  atomic_store_explicit(&x, v, o);\n}\n\
        void *a(void *p) {\n  put(2, memory_order_release);\n  d = 1;\n  put(1, memory_order_relaxed);\n  return p;\n}\n\
        void *b(void *p) {\n  if (atomic_load_explicit(&x, memory_order_acquire) == 1)\n    d = 2;\n  return p;\n}\n";
    for body in [first, parameter] {
        let desk = Desk::new().and("t.c", format!("{head}{body}{main}"));
        let said = desk.run("orders t.c");
        assert_eq!(said.code, Some(1), "{}", said.all());
    }
}

/// A fence that is all that a branch has leaves an empty statement behind. Catches a branch that swallows the next one.
#[test]
fn fences_that_go_leave_the_rest_as_it_is() {
    let desk = Desk::with("atomic x;\nthread t {\n  fence(sc);\n  x.store(1, rlx);\n}\n");
    let said = object(&desk.run("fix --weaken --json t.fp"));
    assert_eq!(
        said["files"][0]["text"], "atomic x;\nthread t {\n  x.store(1, rlx);\n}\n",
        "{said}"
    );
    if !has_clang() {
        return;
    }
    let text = "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y;\n\
        void *a(void *p) {\n  if (atomic_load_explicit(&y, memory_order_relaxed))\n    atomic_thread_fence(memory_order_seq_cst);\n\
        \x20 atomic_store_explicit(&x, 1, memory_order_relaxed);\n  return p;\n}\n\
        int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, a, 0);\n\
        \x20 atomic_store_explicit(&y, 1, memory_order_relaxed);\n  pthread_join(t, 0);\n  return 0;\n}\n";
    let desk = Desk::new().and("t.c", text);
    let said = object(&desk.run("fix --weaken --json t.c"));
    let after = said["files"][0]["text"].as_str().unwrap_or_else(|| panic!("a text: {said}"));
    assert_eq!(after, text.replace("atomic_thread_fence(memory_order_seq_cst);", ";"));
}

/// The lock in C of the manual: of five `seq_cst`, two acquires and a release stay.
#[test]
fn a_lock_in_c() {
    if !has_clang() {
        return;
    }
    let table = run_at_root("orders --json examples/real/careful_lock.c");
    assert_eq!(table.code, Some(0), "{}", table.all());
    let table = object(&table);
    let all = table["sites"].as_array().expect("sites");
    let suffices: Vec<&str> = all.iter().filter_map(|site| site["suffices"].as_str()).collect();
    assert_eq!(suffices, ["acquire", "relaxed", "acquire/relaxed", "release", "relaxed"]);
    let fixed = object(&run_at_root("fix --weaken --json examples/real/careful_lock.c"));
    let text = fixed["files"][0]["text"].as_str().unwrap_or_else(|| panic!("a text: {fixed}"));
    assert!(text.contains("atomic_exchange_explicit(&locked, 1, memory_order_acquire)"), "{text}");
    assert!(text.contains("atomic_load_explicit(&locked, memory_order_relaxed)"), "{text}");
    assert!(text.contains("atomic_store_explicit(&locked, 0, memory_order_release)"), "{text}");
    let cas = "&locked, &expected, 1, memory_order_acquire, memory_order_relaxed)";
    assert!(text.contains(cas), "{text}");
    let desk = Desk::new().and("lock.c", text);
    assert_eq!(desk.run("check lock.c").code, Some(0));
}
