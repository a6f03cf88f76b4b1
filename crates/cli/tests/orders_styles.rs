//! `fencepost fix` and `fencepost orders` on programs in the styles that people write: what is changed compiles, is checked
//! as a file of its own, and is as weak as can be; what cannot be changed is listed.

mod run;

use run::{Desk, Run};
use serde_json::Value;

fn has(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no {program}");
    }
    found
}

fn object(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("an object: {}", run.all()))
}

/// What becomes of a file, in which nothing can be weaker then.
fn weakest(file: &str, text: &str) -> String {
    let desk = Desk::new().and(file, text);
    let run = desk.run(&format!("fix --weaken --in-place {file}"));
    assert_eq!(run.code, Some(0), "{}", run.all());
    let after = std::fs::read_to_string(desk.path().join(file)).expect("a file");
    let checked = desk.run(&format!("check {file}"));
    assert_eq!(checked.code, Some(0), "{}\n{after}", checked.all());
    let table = object(&desk.run(&format!("orders --json {file}")));
    let sites = table["sites"].as_array().unwrap_or_else(|| panic!("sites: {table}")).clone();
    assert!(sites.iter().all(|site| site["needed"] == true), "{table}\n{after}");
    after
}

const MAIN: &str = "int main(void) {\n    pthread_t t, u;\n    pthread_create(&t, 0, a, 0);\n    pthread_create(&u, 0, b, 0);\n\
    \x20   pthread_join(t, 0);\n    pthread_join(u, 0);\n    return 0;\n}\n";

/// Pointers, several lines, one access in another, heads of loops, branches without braces.
#[test]
fn operators_and_calls_of_c() {
    if !has("clang") {
        return;
    }
    let text = format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\ntypedef _Atomic int flag_t;\n\
         flag_t ready, ack, n;\nint data;\nstatic void put(flag_t *p) {{ *p = 1; }}\n\
         void *a(void *p) {{\n    data = 42;\n    put(&ready);\n    for (n = 0; n < 1; n++)\n        ;\n    int old = n++;\n\
         \x20   (void)old;\n    return p;\n}}\n\
         void *b(void *p) {{\n    if (atomic_load_explicit( // a comment; with a brace {{\n            &ready,\n            memory_order_seq_cst))\n\
         \x20       assert(data == 42);\n    atomic_store(&ack, atomic_load(&ready));\n    return p;\n}}\n{MAIN}"
    );
    // What one thread alone uses is no shared memory, and is left as it is.
    let text = text.replace("    return 0;", "    return n > 5 || ack > 5;");
    let after = weakest("t.c", &text);
    for part in [
        "{ atomic_store_explicit(p, 1, memory_order_release); }",
        "            memory_order_acquire))",
        "for (atomic_store_explicit(&n, 0, memory_order_relaxed); atomic_load_explicit(&n, memory_order_relaxed) < 1; \
         atomic_fetch_add_explicit(&n, 1, memory_order_relaxed))",
        "int old = atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);",
        "atomic_store_explicit(&ack, atomic_load_explicit(&ready, memory_order_relaxed), memory_order_relaxed);",
    ] {
        assert!(after.contains(part), "{part}\n{after}");
    }
}

/// Orders that are imported one by one, and chains over several lines.
#[test]
fn imported_orders_of_rust() {
    if !has("rustc") {
        return;
    }
    let text = "use std::sync::atomic::Ordering::SeqCst;\nuse std::sync::atomic::{AtomicBool, AtomicUsize};\nuse std::thread;\n\
        static READY: AtomicBool = AtomicBool::new(false);\nstatic COUNT: AtomicUsize = AtomicUsize::new(0);\n\
        static mut DATA: u32 = 0;\nfn main() {\n    let t = thread::spawn(|| {\n        unsafe { DATA = 1 };\n        READY\n\
        \x20           .store(true, SeqCst);\n    });\n    if READY.load(SeqCst) {\n        assert!(unsafe { DATA } == 1);\n    }\n\
        \x20   COUNT.fetch_add(\n        1,\n        SeqCst,\n    );\n    t.join().unwrap();\n}\n";
    let after = weakest("t.rs", text);
    for part in [
        ".store(true, std::sync::atomic::Ordering::Release);",
        "READY.load(std::sync::atomic::Ordering::Acquire)",
        "std::sync::atomic::Ordering::Relaxed",
    ] {
        assert!(after.contains(part), "{part}\n{after}");
    }
}

/// What cannot be changed is listed with its reason. Catches sites that are dropped in silence.
#[test]
fn what_is_left_alone_is_listed() {
    if !has("clang") {
        return;
    }
    let text = format!(
        "#include <pthread.h>\n#include <stdatomic.h>\n#define PUT(p) atomic_store((p), 1)\n\
         atomic_int x, y, z;\nvoid set(memory_order o) {{ atomic_store_explicit(&z, 1, o); }}\n\
         void *a(void *p) {{\n    PUT(&x);\n    int r = 0;\n    (void)r;\n    set(memory_order_relaxed);\n\
         \x20   set(memory_order_release);\n    return p;\n}}\nvoid *b(void *p) {{ int r = x + y + z; (void)r; return p; }}\n{MAIN}"
    );
    let desk = Desk::new().and("t.c", text);
    for command in ["orders --json t.c", "fix --weaken --json t.c"] {
        let said = object(&desk.run(command));
        let alone: Vec<(i64, &str)> = said["left_alone"]
            .as_array()
            .unwrap_or_else(|| panic!("a list: {said}"))
            .iter()
            .map(|one| (one["line"].as_i64().unwrap_or(0), one["why"].as_str().unwrap_or("")))
            .collect();
        let why = |line: i64| {
            let found = alone.iter().find(|(at, _)| *at == line);
            found.unwrap_or_else(|| panic!("line {line}: {said}")).1
        };
        assert!(why(7).contains("a macro, a library"), "{said}");
        assert!(why(5).contains("a parameter"), "{said}");
    }
}

/// Several files are one program, and all of them are written or none.
#[test]
fn several_files_and_a_header() {
    if !has("clang") {
        return;
    }
    let header = "#include <stdatomic.h>\ntypedef struct { atomic_flag held; } lock_t;\n\
        static inline void lock(lock_t *l) { while (atomic_flag_test_and_set(&l->held)) ; }\n\
        static inline void unlock(lock_t *l) { atomic_flag_clear(&l->held); }\n\
        extern lock_t the_lock;\nextern int balance;\nextern atomic_int entered;\nvoid *other(void *p);\n";
    let part = "#include \"lock.h\"\nlock_t the_lock = { ATOMIC_FLAG_INIT };\nint balance;\natomic_int entered;\n\
        void *other(void *p) { lock(&the_lock); entered = 2; balance++; unlock(&the_lock); return p; }\n";
    let main = "#include <pthread.h>\n#include \"lock.h\"\nint main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, other, 0);\n\
        \x20   lock(&the_lock);\n    entered = 1;\n    balance++;\n    unlock(&the_lock);\n    pthread_join(t, 0);\n    return 0;\n}\n";
    let desk = Desk::new().and("lock.h", header).and("other.c", part).and("main.c", main);
    let one = desk.run("fix --weaken --write out.c main.c other.c");
    assert_eq!(one.code, Some(2), "{}", one.all());
    assert!(one.stderr.contains("--in-place"), "{}", one.all());
    let text = |name: &str| std::fs::read_to_string(desk.path().join(name)).expect("a file");
    assert_eq!((text("lock.h").as_str(), text("main.c").as_str()), (header, main));
    let all = desk.run("fix --weaken --in-place main.c other.c");
    assert_eq!(all.code, Some(0), "{}", all.all());
    let lock = text("lock.h");
    assert!(
        lock.contains("atomic_flag_test_and_set_explicit(&l->held, memory_order_acquire)"),
        "{lock}"
    );
    assert!(lock.contains("atomic_flag_clear_explicit(&l->held, memory_order_release)"), "{lock}");
    assert!(text("main.c").contains("atomic_store_explicit(&entered, 1, memory_order_relaxed)"));
    let checked = desk.run("check main.c other.c");
    assert_eq!(checked.code, Some(0), "{}", checked.all());
}

/// SARIF of `fix` carries the whole repair as one fix, and the program with its edits is the one that `fix` writes.
#[test]
fn sarif_of_fix_has_the_edits() {
    let text = "atomic flag; na data;\nthread writer {\n  data.nastore(1);\n  flag.store(1, rlx);\n}\n\
        thread reader { local r, d;\n  r = flag.load(sc);\n  if (r == 1) { d = data.naload(); }\n}\n";
    let desk = Desk::with(text);
    let run = desk.run("fix --model rc11 --sarif fix.sarif --write out.fp t.fp");
    assert_eq!(run.code, Some(0), "{}", run.all());
    let read = |name: &str| std::fs::read_to_string(desk.path().join(name)).expect("a file");
    let sarif: Value = serde_json::from_str(&read("fix.sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "{sarif}");
    let changes = &results[0]["fixes"][0]["artifactChanges"];
    assert_eq!(changes[0]["artifactLocation"]["uri"], "t.fp", "{sarif}");
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let edits = changes[0]["replacements"].as_array().expect("edits");
    assert!(!edits.is_empty());
    for edit in edits.iter().rev() {
        let number = |name: &str| edit["deletedRegion"][name].as_u64().expect("a number") as usize;
        assert_eq!(number("startLine"), number("endLine"));
        let new = edit["insertedContent"]["text"].as_str().expect("a text");
        lines[number("startLine") - 1]
            .replace_range(number("startColumn") - 1..number("endColumn") - 1, new);
    }
    assert_eq!(lines.join("\n") + "\n", read("out.fp"));
    let text = include_str!("schemas/sarif-2.1.0.json");
    let schema: Value = serde_json::from_str(text).expect("the schema");
    let validator = jsonschema::draft7::new(&schema).expect("the published schema");
    let errors: Vec<String> =
        validator.iter_errors(&sarif).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Store buffering in loops: one store at the end of its loop, one loop that never ends.
const LOOPS: &str = "atomic x, y;\nthread t { local r, n;\n  n = 0;\n  while (n < 2) {\n    r = y.load(rlx);\n    x.store(1, rlx);\n\
    \x20   n = n + 1;\n  }\n}\nthread u { local r;\n  while (true) {\n    y.store(1, rlx);\n    r = x.load(rlx);\n  }\n}\n";

/// Fences stay in loops, and loops stay loops. Catches a patch that is a program of jumps.
#[test]
fn fences_in_loops() {
    for model in ["tso", "pso", "pgas", "tso,rc11", "rc20"] {
        for only in ["fences", "orders", "all"] {
            if only == "orders" && model == "rc20" {
                // RC20 has no orders that order a store before a load.
                continue;
            }
            let desk = Desk::with(LOOPS);
            let run = desk.run(&format!("fix --model {model} --only {only} --write f.fp t.fp"));
            assert_eq!(run.code, Some(0), "{model} {only}: {}", run.all());
            let after = std::fs::read_to_string(desk.path().join("f.fp")).expect("a file");
            assert!(!after.contains("goto") && after.contains("while (n < 2) {"), "{after}");
            for model in model.split(',') {
                let checked = desk.run(&format!("check --model {model} f.fp"));
                assert_eq!(checked.code, Some(0), "{model} {only}: {}\n{after}", checked.all());
            }
        }
    }
}

/// On a machine, the table of costs decides between a fence and a stronger store.
#[test]
fn costs_decide_on_machines() {
    let sb = "atomic x, y;\nthread t { local r;\n  x.store(1, rlx);\n  r = y.load(rlx);\n}\n\
        thread u { local r;\n  y.store(1, rlx);\n  r = x.load(rlx);\n}\n";
    let changes = |options: &str| {
        let desk = Desk::with(sb).and("free.costs", "fence = 0\nsc_fence = 0\n");
        let said = object(&desk.run(&format!("fix --model tso {options} --json t.fp")));
        let all = said["changes"].as_array().unwrap_or_else(|| panic!("changes: {said}")).clone();
        assert!(all.iter().all(|change| change["because"]["message"].is_string()), "{said}");
        all.iter()
            .map(|change| {
                change["to"].as_str().unwrap_or("").to_string()
                    + if change["new"] == true { "+" } else { "" }
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(changes(""), ["seq_cst", "seq_cst"]);
    assert_eq!(changes("--cost free.costs"), ["seq_cst+", "seq_cst+"]);
    assert_eq!(changes("--only fences"), ["seq_cst+", "seq_cst+"]);
    // Message passing on PSO needs a lightweight fence, and none on TSO.
    let mp = "atomic x, y;\nthread t {\n  x.store(1, rlx);\n  y.store(1, rlx);\n}\nthread u { local r;\n  r = y.load(rlx);\n  r = x.load(rlx);\n}\n";
    for (model, orders) in [("pso", vec!["release"]), ("tso", vec![])] {
        let said = object(&Desk::with(mp).run(&format!("fix --model {model} --json t.fp")));
        let all = said["changes"].as_array().unwrap_or_else(|| panic!("changes: {said}")).clone();
        let to: Vec<&str> = all.iter().filter_map(|change| change["to"].as_str()).collect();
        assert_eq!(to, orders, "{model}: {said}");
    }
}

/// What is advised at the end of a violation is enough: with the edits that SARIF carries, the program is correct.
#[test]
fn advice_is_enough() {
    let careless = "atomic flag; na data;\nthread writer {\n  data.nastore(1);\n  flag.store(1, rlx);\n}\n\
        thread reader { local r, d;\n  r = flag.load(rlx);\n  if (r == 1) { d = data.naload(); assert(d == 1); }\n}\n";
    let desk = Desk::with(careless);
    let run = desk.run("check --sarif out.sarif t.fp");
    assert_eq!(run.code, Some(1), "{}", run.all());
    let says = "make the store of line 4 `rel` and make the load of line 7 `acq`: that is enough, the program is then \
                robust and free of races";
    let told = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(says), "{}", run.all());
    assert!(!told.contains("something else may still go wrong"), "{}", run.all());
    let text = std::fs::read_to_string(desk.path().join("out.sarif")).expect("a report");
    let sarif: Value = serde_json::from_str(&text).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let fixes: Vec<&Value> = results.iter().filter_map(|result| result["fixes"].get(0)).collect();
    assert!(!fixes.is_empty(), "{text}");
    for fix in fixes {
        let mut lines: Vec<String> = careless.lines().map(String::from).collect();
        let replacements = fix["artifactChanges"][0]["replacements"].as_array().expect("edits");
        for edit in replacements.iter().rev() {
            let number =
                |name: &str| edit["deletedRegion"][name].as_u64().expect("a number") as usize;
            assert_eq!(number("startLine"), number("endLine"));
            let line = &mut lines[number("startLine") - 1];
            let new = edit["insertedContent"]["text"].as_str().expect("a text");
            line.replace_range(number("startColumn") - 1..number("endColumn") - 1, new);
        }
        let desk = Desk::with(&(lines.join("\n") + "\n"));
        let checked = desk.run("check t.fp");
        assert_eq!(checked.code, Some(0), "{}\n{}", checked.all(), lines.join("\n"));
    }
}

/// A page with what goes wrong with less, for each access.
#[test]
fn a_page_of_orders() {
    let text = "atomic flag; na data;\nthread writer {\n  data.nastore(1);\n  flag.store(1, sc);\n}\n\
        thread reader { local r, d;\n  r = flag.load(sc);\n  if (r == 1) { d = data.naload(); assert(d == 1); }\n}\n";
    let desk = Desk::with(text);
    let run = desk.run("orders --html orders.html t.fp");
    assert_eq!(run.code, Some(0), "{}", run.all());
    let page = std::fs::read_to_string(desk.path().join("orders.html")).expect("a page");
    for part in ["line 4:8", "line 7:12", "with relaxed", "race on"] {
        assert!(page.contains(part), "{part}");
    }
}
