//! C, C++ and Rust programs, built with every compiler there is and run with the sanitizer: what it must
//! find, and what it must not.
//!
//! Compilers that are not installed are skipped, which the output of the tests says. Set
//! `FENCEPOST_TEST_COMPILERS=all` to make that a failure.

mod bench;

use bench::{Bench, FOUND, Run, builds, installed, sources, text};
use std::process::Command;

/// A program, how to build and run it, and what must be found.
struct Case {
    source: &'static str,
    defines: &'static [&'static str],
    options: &'static [&'static str],
    kinds: &'static [&'static str],
}

const fn case(
    source: &'static str,
    defines: &'static [&'static str],
    kinds: &'static [&'static str],
) -> Case {
    Case { source, defines, options: &[], kinds }
}

/// Something that the operating system's schedule need not show in a single run.
const fn hidden(
    source: &'static str,
    defines: &'static [&'static str],
    kinds: &'static [&'static str],
) -> Case {
    Case { source, defines, options: &["--schedule", "random", "--runs", "20"], kinds }
}

fn check(cases: &[Case]) {
    let bench = Bench::new();
    for Case { source, defines, options, kinds } in cases {
        for (compiler, level) in builds(source) {
            let mut flags = vec![level];
            flags.extend(*defines);
            let program = bench.build(compiler, source, &flags, "program");
            let run = bench.run(&program, options);
            let what = format!("{compiler} {flags:?} {source} {options:?}: {run:#?}");
            for kind in *kinds {
                assert!(run.kinds.iter().any(|found| found == kind), "no {kind}: {what}");
            }
            let expected = if kinds.is_empty() { 0 } else { FOUND };
            assert_eq!(run.code, Some(expected), "{what}");
        }
    }
}

const RANDOM: &[&str] = &["--schedule", "random", "--runs", "60", "--until-found"];

#[test]
fn litmus() {
    check(&[
        hidden("sb.c", &[], &["stale-read"]),
        case("sb.c", &["-DFENCED"], &[]),
        case("sb.c", &["-DSC"], &[]),
        hidden("mp.c", &[], &["race"]),
        case("mp.c", &["-DFENCES"], &[]),
        case("mp.c", &["-DRA"], &[]),
        case("bar.c", &[], &[]),
        hidden("barw.c", &["-DV=0", "-DW=0"], &["stale-read"]),
        case("barw.c", &["-DV=0", "-DW=2"], &[]),
    ]);
}

/// One thread after the other, in either order: prediction finds it in every such run, and a monitor
/// without prediction in none.
#[test]
fn example_3_1_in_every_serial_run() {
    let bench = Bench::new();
    for (compiler, level) in builds("example31.c") {
        let program = bench.build(compiler, "example31.c", &[level], "program");
        for seed in 0..6 {
            let seed = seed.to_string();
            let run = bench.run(&program, &["--schedule", "pct:1", "--seed", &seed]);
            assert_eq!(run.code, Some(FOUND), "{compiler} {level} {seed}: {run:#?}");
        }
    }
}

/// Release/acquire locks that are broken by weak memory only: the violation, and the race that no
/// interleaving has.
#[test]
fn mutual_exclusion() {
    check(&[
        hidden("dekker.c", &[], &["stale-read", "race"]),
        case("dekker.c", &["-DFENCED"], &[]),
        case("dekker.c", &["-DSC"], &[]),
        hidden("peterson.c", &[], &["stale-read", "race"]),
        case("peterson.c", &["-DFENCED"], &[]),
        case("locks.c", &["-DTICKET"], &[]),
        case("locks.c", &["-DTTAS"], &[]),
        case("locks.c", &["-DCAS"], &[]),
        case("locks.c", &["-DMCS"], &[]),
        case("locks.c", &["-DCLH"], &[]),
    ]);
}

#[test]
fn data_structures() {
    check(&[
        Case { source: "chase_lev.c", defines: &[], options: RANDOM, kinds: &["stale-read"] },
        case("chase_lev.c", &["-DFENCED"], &[]),
        Case {
            source: "chase_lev.c",
            defines: &["-DFENCED"],
            options: &["--schedule", "random", "--runs", "10"],
            kinds: &[],
        },
        case("treiber.c", &[], &[]),
        case("shared.cc", &[], &[]),
        case("refcount.cc", &[], &[]),
        hidden("refcount.cc", &["-DBROKEN"], &["race"]),
    ]);
}

/// Giving memory back is a write to all of it.
#[test]
fn memory_is_given_back() {
    check(&[
        hidden("freed.c", &[], &["race"]),
        case("freed.c", &["-DFIXED"], &[]),
        hidden("freed.c", &["-DGIVE=1"], &["race"]),
        case("freed.c", &["-DGIVE=1", "-DFIXED"], &[]),
        hidden("freed.c", &["-DGIVE=2"], &["race"]),
        case("freed.c", &["-DGIVE=2", "-DFIXED"], &[]),
        hidden("deleted.cc", &[], &["race"]),
        case("deleted.cc", &["-DFIXED"], &[]),
        Case {
            source: "deleted.cc",
            defines: &["-DFIXED"],
            options: &["--schedule", "random", "--runs", "5"],
            kinds: &[],
        },
        case("deleted.cc", &["-DFIXED", "-DAFTER"], &["race"]),
        hidden("freed.rs", &[], &["race"]),
        case("freed.rs", &["--cfg=fixed"], &[]),
    ]);
}

/// The report names the line that frees, and says what is called there.
#[test]
fn memory_that_is_freed_is_shown() {
    let bench = Bench::new();
    for (compiler, level) in builds("freed.c") {
        let program = bench.build(compiler, "freed.c", &[level], "program");
        let run = bench.run(&program, &["--schedule", "random", "--runs", "20"]);
        let frees = |access: &serde_json::Value| {
            access["stack"][0]["function"] == "free" && access["stack"][1]["function"] == "use"
        };
        let shown = run.findings.iter().any(|finding| {
            frees(&finding["access"]) && finding["message"].to_string().contains("freed.c:")
        });
        assert!(shown, "{compiler} {level}: {run:#?}");
    }
}

/// Variables on a thread's stack that another accesses, which ends the shorter way that the thread had for them: by a plain
/// access, by making an atomic location there, and by filling the memory around.
#[test]
fn stacks_that_others_come_to() {
    check(&[
        case("borrowed.c", &[], &["race"]),
        case("borrowed.c", &["-DFIXED"], &[]),
        case("borrowed.c", &["-DWAITS"], &[]),
        case("borrowed.c", &["-DHOW=READ"], &["race"]),
        case("borrowed.c", &["-DHOW=READ", "-DFIXED"], &[]),
        case("borrowed.c", &["-DHOW=READ", "-DWAITS"], &[]),
        case("borrowed.c", &["-DHOW=ATOMIC"], &["race"]),
        case("borrowed.c", &["-DHOW=ATOMIC", "-DWAITS"], &[]),
        case("borrowed.c", &["-DHOW=FILL"], &["race"]),
        case("borrowed.c", &["-DHOW=FILL", "-DFIXED"], &[]),
        case("borrowed.c", &["-DHOW=FILL", "-DWAITS"], &[]),
    ]);
}

/// A stack that is no thread's: a coroutine's, in an array on the stack of the thread that begins it, resumed by another. The same in
/// the child of a fork, where the threads that had windows on other stacks are gone.
#[test]
fn stacks_of_coroutines() {
    check(&[
        case("contexts.c", &[], &[]),
        case("contexts.c", &["-DRACE"], &["race"]),
        case("contexts.c", &["-DFORKED"], &[]),
        case("contexts.c", &["-DFORKED", "-DRACE"], &["race"]),
    ]);
}

/// Atomics where other atomics were, in a pool: they are watched like the first. The plain store that makes
/// them is no excuse where it races.
#[test]
fn memory_is_used_again() {
    check(&[
        hidden("reused.c", &[], &["stale-read"]),
        case("reused.c", &["-DFENCED"], &[]),
        hidden("reused.c", &["-DRACING"], &["race"]),
        hidden("reused.cc", &[], &["stale-read"]),
        case("reused.cc", &["-DFENCED"], &[]),
        hidden("reused.rs", &[], &["stale-read"]),
        case("reused.rs", &["--cfg=fixed"], &[]),
    ]);
}

/// A thread that has read an object remembers that, and need not be asked again; but not if another object has taken
/// its place since, with as many writes and the same value.
#[test]
fn another_object_is_not_the_one_that_was_read() {
    let bench = Bench::new();
    let source = text(&std::fs::read(sources().join("reborn.c")).expect("there is a source"));
    let late = source.lines().position(|line| line.contains("LATE")).map(|index| index + 1);
    for (compiler, level) in builds("reborn.c") {
        let program = bench.build(compiler, "reborn.c", &[level], "program");
        let run = bench.run(&program, &[]);
        let line = |finding: &serde_json::Value| finding["access"]["stack"][0]["line"].as_u64();
        let found = run.findings.iter().any(|finding| line(finding) == late.map(|n| n as u64));
        assert!(found, "{compiler} {level}: {run:#?}");
    }
}

/// The innermost function of an access that is the program's own, without its module: not of Rust's library, and not the one
/// that all accesses of `whose.rs` have in common.
fn own_function(access: &serde_json::Value) -> String {
    let stack = access["stack"].as_array().map_or(&[][..], |stack| stack);
    let names = stack.iter().filter_map(|frame| frame["function"].as_str());
    let own = |name: &str| match name.rsplit_once("::") {
        Some((module, name)) => (module == "whose").then(|| name.to_string()),
        None => Some(name.to_string()),
    };
    names.filter_map(own).find(|name| name != "access").unwrap_or_default()
}

/// The stack of the other access is that of the access that races, not that of whoever came last.
#[test]
fn the_other_access_is_the_right_one() {
    let bench = Bench::new();
    let in_c = [("whose.c", "-DWORD"), ("whose.c", "-DBYTES"), ("whose.c", "-DFIELDS")];
    for (source, define) in
        in_c.into_iter().chain([("whose.rs", "--cfg=word"), ("whose.rs", "--cfg=bytes")])
    {
        for (compiler, level) in builds(source) {
            let program = bench.build(compiler, source, &[level, define], "program");
            let run = bench.run(&program, &["--record", "recording"]);
            let replayed = bench.fencepost().args(["replay", "--json", "recording"]).output();
            let replayed = Run::new(&replayed.expect("fencepost runs"));
            for run in [run, replayed] {
                let what = format!("{compiler} {level} {define}: {run:#?}");
                let race = run.findings.iter().find(|finding| finding["kind"] == "race");
                let race = race.unwrap_or_else(|| panic!("no race: {what}"));
                assert_eq!(own_function(&race["access"]), "writer", "{what}");
                assert_eq!(own_function(&race["other"]), "first", "{what}");
            }
        }
    }
}

/// Loops that wait for a flag, whatever else they read and compute; but not if the stale value ends the waiting, and
/// not if the user wants to count as the paper does.
#[test]
fn waiting_loops() {
    let loops = ["-DLOOP=FIELD", "-DLOOP=RING", "-DLOOP=BACKOFF", "-DLOOP=MIXED", "-DLOOP=CACHED"];
    for define in loops {
        let bench = Bench::new();
        for (compiler, level) in builds("waits.c") {
            let what = |run: &Run| format!("{compiler} {level} {define}: {run:#?}");
            let scheduled = ["--schedule", "random", "--runs", "5"];
            let program = bench.build(compiler, "waits.c", &[level, define], "program");
            for options in [&["--runs", "3"][..], &scheduled] {
                let run = bench.run(&program, options);
                assert_eq!(run.code, Some(0), "{}", what(&run));
            }
            let counted = bench.run(&program, &[&scheduled[..], &["--paper-counts"]].concat());
            assert_eq!(counted.kinds, ["stale-read"], "{}", what(&counted));
            let program = bench.build(compiler, "waits.c", &[level, define, "-DEARLY"], "program");
            // Nothing is stale in a run in which both have raised their flags before either looks.
            let early = bench.run(&program, &["--runs", "60", "--until-found"]);
            assert_eq!(early.kinds, ["stale-read"], "{}", what(&early));
        }
    }
    let scheduled = ["--schedule", "random", "--runs", "5"];
    for how in ["--cfg=field", "--cfg=ring", "--cfg=backoff"] {
        let bench = Bench::new();
        for (compiler, level) in builds("waits.rs") {
            // Without optimisation, these are ranges and iterators, and longer than what is followed.
            if how != "--cfg=field" && level.ends_with('0') {
                continue;
            }
            let program = bench.build(compiler, "waits.rs", &[level, how], "program");
            let run = bench.run(&program, &scheduled);
            assert_eq!(run.code, Some(0), "{level} {how}: {run:#?}");
            let counted = bench.run(&program, &[&scheduled[..], &["--paper-counts"]].concat());
            assert_eq!(counted.kinds, ["stale-read"], "{level} {how}: {counted:#?}");
            let program =
                bench.build(compiler, "waits.rs", &[level, how, "--cfg=early"], "program");
            let early = bench.run(&program, &["--runs", "60", "--until-found"]);
            assert_eq!(early.kinds, ["stale-read"], "{level} {how}: {early:#?}");
        }
    }
}

/// Fences in assembly are seen, but for those behind a branch, which the program can name.
#[test]
fn fences_in_assembly() {
    check(&[
        hidden("assembly.c", &[], &["stale-read"]),
        hidden("assembly.c", &["-DHOW=MFENCE"], &[]),
        hidden("assembly.c", &["-DHOW=LOCKED"], &[]),
        hidden("assembly.c", &["-DHOW=EXCHANGE"], &[]),
        hidden("assembly.c", &["-DAGAIN"], &["stale-read"]),
        hidden("assembly.c", &["-DAGAIN", "-DHOW=MFENCE"], &[]),
        hidden("assembly.c", &["-DHOW=MFENCE", "-DBRANCH"], &["stale-read"]),
        hidden("assembly.c", &["-DHOW=MFENCE", "-DBRANCH", "-DNAMED"], &[]),
        hidden("assembly.c", &["-DARMS"], &["stale-read"]),
        hidden("assembly.c", &["-DARMS", "-DHOW=MFENCE"], &[]),
        hidden("assembly.c", &["-DARMS", "-DHOW=MFENCE", "-DBRANCH"], &["stale-read"]),
        hidden("detours.c", &["-DTWICE"], &["stale-read"]),
        hidden("detours.c", &["-DLEFT"], &["stale-read"]),
        hidden("assembly.rs", &["--cfg=none"], &["stale-read"]),
        hidden("assembly.rs", &[], &[]),
    ]);
}

/// A barrier that one thread puts into all others orders what they did before it and do after it, and nothing else.
#[test]
fn barriers_in_all_threads() {
    check(&[
        hidden("membarrier.c", &[], &[]),
        hidden("membarrier.c", &["-DWITHOUT"], &["stale-read", "race"]),
        case("membarrier.c", &["-DLATER"], &["race"]),
    ]);
}

/// A stale value that only makes a compare-and-swap fail does no harm; one that something else depends on does.
#[test]
fn updates_that_catch_up() {
    for how in ["-DHOW=LOOP", "-DHOW=WEAK_LOOP", "-DHOW=PUSH", "-DHOW=FAST_PATH"] {
        let bench = Bench::new();
        for (compiler, level) in builds("updates.c") {
            let program = bench.build(compiler, "updates.c", &[level, how], "program");
            let run = bench.run(&program, &["--schedule", "random", "--runs", "20"]);
            assert_eq!(run.code, Some(0), "{compiler} {level} {how}: {run:#?}");
            let options = ["--schedule", "random", "--runs", "20", "--paper-counts"];
            let counted = bench.run(&program, &options);
            assert_eq!(counted.code, Some(FOUND), "{compiler} {level} {how}: {counted:#?}");
            let program = bench.build(compiler, "updates.c", &[level, how, "-DLEAK"], "program");
            let run = bench.run(&program, &["--schedule", "random", "--runs", "20"]);
            assert_eq!(run.code, Some(FOUND), "{compiler} {level} {how}: {run:#?}");
        }
    }
    check(&[
        hidden("updates.c", &["-DHOW=STRONG"], &["stale-read"]),
        hidden("updates.rs", &[], &[]),
        hidden("updates.rs", &["--cfg=leak"], &["stale-read"]),
        hidden("updates.rs", &["--cfg=lock"], &[]),
        hidden("updates.rs", &["--cfg=lock", "--cfg=strong"], &["stale-read"]),
    ]);
}

/// A stale read whose value nobody looks at is told from one that matters.
#[test]
fn values_that_are_used() {
    let bench = Bench::new();
    for (compiler, level) in builds("updates.c") {
        for (flags, used) in [(&["-DHOW=UNUSED"][..], false), (&["-DHOW=UNUSED", "-DLEAK"], true)] {
            let program =
                bench.build(compiler, "updates.c", &[&[level], flags].concat(), "program");
            let run = bench.run(&program, &["--schedule", "random", "--runs", "20"]);
            assert!(!run.findings.is_empty(), "{compiler} {level} {flags:?}: {run:#?}");
            for finding in &run.findings {
                assert_eq!(finding["used"], used, "{compiler} {level} {flags:?}: {run:#?}");
            }
        }
    }
}

/// GCC's OpenMP orders threads in many ways.
#[test]
fn openmp() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    for level in ["-O0", "-O2"] {
        let program = bench.build("gcc", "openmp.c", &[level, "-fopenmp"], "program");
        let run = bench.run(&program, &["--runs", "3"]);
        assert_eq!(run.code, Some(0), "{level}: {run:#?}");
        assert_eq!(run.printed.matches("12 12 84 2 3\n").count(), 3, "{level}: {run:#?}");
        let program = bench.build("gcc", "openmp.c", &[level, "-fopenmp", "-DRACE"], "program");
        let run = bench.run(&program, &[]);
        assert_eq!(
            (run.code, &run.kinds[..]),
            (Some(FOUND), &["race".to_string()][..]),
            "{run:#?}"
        );
    }
}

/// What a report says besides where: what the memory is, which locks are held, where threads were created.
#[test]
fn reports_say_what_is_known() {
    let bench = Bench::new();
    for (compiler, level) in builds("told.c") {
        let program = bench.build(compiler, "told.c", &[level], "program");
        let run = bench.run(&program, &[]);
        let what = format!("{compiler} {level}: {run:#?}");
        let named = |name: &str| {
            let global = |f: &&serde_json::Value| f["memory"]["name"] == name;
            run.findings.iter().find(global).unwrap_or_else(|| panic!("no {name}: {what}"))
        };
        let global = named("table");
        assert_eq!(global["memory"]["size"], 40, "{what}");
        assert_eq!(global["memory"]["offset"], 8, "{what}");
        let lock = &global["locks"][0];
        assert_eq!(lock["name"], "guard", "{what}");
        assert_eq!(lock["stack"][0]["function"], "locked", "{what}");
        let heap = run.findings.iter().find(|finding| finding["memory"]["what"] == "heap");
        let heap = heap.unwrap_or_else(|| panic!("no block: {what}"));
        assert_eq!(heap["memory"]["size"], 37, "{what}");
        assert_eq!(heap["memory"]["offset"], 16, "{what}");
        assert_eq!(heap["memory"]["stack"][0]["function"], "allocate", "{what}");
        for access in [&heap["access"], &heap["other"]] {
            assert_eq!(access["created"]["by"], 0, "{what}");
            assert_eq!(access["created"]["stack"][0]["function"], "begin", "{what}");
        }
    }
}

/// The same of Rust, whose locks have no names.
#[test]
fn reports_say_what_is_known_in_rust() {
    let bench = Bench::new();
    for (compiler, level) in builds("told.rs") {
        let program = bench.build(compiler, "told.rs", &[level], "program");
        let run = bench.run(&program, &[]);
        let what = format!("{level}: {run:#?}");
        let heap = run.findings.iter().find(|finding| finding["memory"]["what"] == "heap");
        let heap = heap.unwrap_or_else(|| panic!("no block: {what}"));
        assert_eq!((&heap["memory"]["size"], &heap["memory"]["offset"]), (&37.into(), &16.into()));
        assert!(heap["memory"]["stack"].to_string().contains("told::allocate"), "{what}");
        for access in [&heap["access"], &heap["other"]] {
            assert_eq!(access["created"]["by"], 0, "{what}");
            assert!(access["created"]["stack"].to_string().contains("told::main"), "{what}");
        }
    }
}

/// Threads of C++ are started by a function of the library that has no symbol: it is not given another's name.
#[test]
fn functions_without_symbols_have_no_name() {
    let bench = Bench::new();
    for (compiler, level) in builds("deleted.cc") {
        let program = bench.build(compiler, "deleted.cc", &[level, "-DAFTER"], "program");
        let run = bench.run(&program, &[]);
        let stacks =
            run.findings.iter().flat_map(|finding| [&finding["access"], &finding["other"]]);
        let frames: Vec<_> =
            stacks.filter_map(|access| access["stack"].as_array()).flatten().collect();
        let nameless = frames.iter().filter(|frame| frame["function"].is_null()).count();
        assert!(nameless > 0, "{compiler} {level}: {run:#?}");
        let wrong =
            |frame: &&&serde_json::Value| frame["function"].to_string().contains("error_code");
        assert_eq!(frames.iter().find(wrong), None, "{compiler} {level}");
    }
}

/// What holds for C holds for Rust.
#[test]
fn rust() {
    check(&[
        hidden("litmus.rs", &[], &["stale-read"]),
        case("litmus.rs", &["--cfg=fixed"], &[]),
        hidden("litmus.rs", &["--cfg=mp"], &["race"]),
        case("litmus.rs", &["--cfg=mp", "--cfg=fixed"], &[]),
        hidden("dekker.rs", &[], &["stale-read", "race"]),
        case("dekker.rs", &["--cfg=fixed"], &[]),
        case("arc.rs", &[], &[]),
        hidden("arc.rs", &["--cfg=broken"], &["race"]),
    ]);
}

/// The standard library is not instrumented; its locks order threads all the same.
#[test]
fn rust_standard_library() {
    let bench = Bench::new();
    for (compiler, level) in builds("std_locks.rs") {
        let program = bench.build(compiler, "std_locks.rs", &[level], "program");
        for options in [&["--runs", "10"][..], &["--runs", "5", "--schedule", "random"]] {
            let run = bench.run(&program, options);
            assert_eq!(run.code, Some(0), "{level} {options:?}: {run:#?}");
            let expected = "1200 16\n2 6\n4950\n5\n";
            assert!(run.printed.starts_with(expected), "{level} {options:?}: {run:#?}");
        }
    }
    check(&[hidden("std_locks.rs", &["--cfg=broken"], &["race"])]);
}

/// Stale reads that a channel of the standard library makes for its own purposes are counted, and shown on request.
#[test]
fn what_no_user_can_change_is_folded() {
    let bench = Bench::new();
    for (compiler, level) in builds("channels.rs") {
        let program = bench.build(compiler, "channels.rs", &[level], "program");
        let run = bench.run(&program, &["--runs", "5"]);
        assert_eq!((run.code, run.findings.len()), (Some(0), 0), "{level}: {run:#?}");
        let mut in_words = bench.fencepost();
        let said =
            text(&in_words.args(["run", "--runs", "5"]).arg(&program).output().unwrap().stderr);
        assert!(said.contains(" inside the standard library not shown (--show-std)"), "{said}");
        let run = bench.run(&program, &["--runs", "5", "--show-std"]);
        assert_eq!((run.code, &run.kinds[..]), (Some(FOUND), &["stale-read".to_string()][..]));
    }
}

/// Nothing is found, and this is printed.
fn check_prints(source: &str, expected: &str) {
    let bench = Bench::new();
    for (compiler, level) in builds(source) {
        let program = bench.build(compiler, source, &[level], "program");
        let run = bench.run(&program, &[]);
        assert_eq!((run.code, &run.printed[..]), (Some(0), expected), "{level}: {run:#?}");
    }
}

/// What the runtime knows of a lock, and of who read what under it, goes when the memory does.
#[test]
fn locks_that_are_gone_take_no_memory() {
    let bench = Bench::new();
    for (compiler, level) in builds("mailboxes.c") {
        let program = bench.build(compiler, "mailboxes.c", &[level], "program");
        let run = bench.run(&program, &[]);
        let expected = (Some(0), "1920000\n");
        assert_eq!((run.code, &run.printed[..]), expected, "{compiler} {level}: {run:#?}");
    }
    check_prints("mailboxes.rs", "done\n");
}

#[test]
fn synchronisation() {
    check(&[
        case("sync.c", &[], &[]),
        hidden("sync.c", &["-DRACE"], &["race"]),
        Case {
            source: "sync.c",
            defines: &[],
            options: &["--schedule", "random", "--runs", "3"],
            kinds: &[],
        },
        case("timed.c", &[], &[]),
        hidden("timed.c", &["-DRACE"], &["race"]),
        Case {
            source: "timed.c",
            defines: &[],
            options: &["--schedule", "random", "--runs", "3"],
            kinds: &[],
        },
    ]);
}

/// Order that is made elsewhere than in locks: by atomics of another size, through pipes and sockets, by being
/// cancelled; and memory that is mapped anew.
#[test]
fn other_ways_to_order() {
    check(&[
        case("sizes.c", &[], &[]),
        hidden("sizes.c", &["-DRACE"], &["race"]),
        case("descriptors.c", &[], &[]),
        hidden("descriptors.c", &["-DRACE"], &["race"]),
        case("cancelled.c", &[], &[]),
        hidden("cancelled.c", &["-DRACE"], &["race"]),
        case("mapped.c", &[], &[]),
        case("elsewhere.rs", &[], &[]),
        hidden("elsewhere.rs", &["--cfg=racing"], &["race"]),
    ]);
}

/// What programs tell ThreadSanitizer about themselves is understood, and only that.
#[test]
fn annotations() {
    check(&[
        case("annotated.c", &["-DWAY=EDGE"], &[]),
        case("annotated.c", &["-DWAY=MUTEX"], &[]),
        case("annotated.c", &["-DWAY=OLD"], &[]),
        case("annotated.c", &["-DWAY=FIBER"], &[]),
        case("annotated.c", &["-DWAY=BENIGN"], &[]),
        hidden("annotated.c", &["-DWAY=EDGE", "-DRACE"], &["race"]),
        case("annotated.rs", &[], &[]),
        hidden("annotated.rs", &["--cfg=silent"], &["race"]),
    ]);
}

/// What C++20 has for threads, in 29 small programs, one after the other: nothing is found in any of them, and
/// each comes to its end.
#[test]
fn standard_library_of_cpp_is_quiet() {
    let bench = Bench::new();
    for (compiler, level) in builds("quiet.cc") {
        let program = bench.build(compiler, "quiet.cc", &[level, "-std=c++20"], "program");
        for options in [&["--runs", "3"][..], &["--runs", "2", "--schedule", "random"]] {
            let run = bench.run(&program, options);
            assert_eq!(run.code, Some(0), "{compiler} {level} {options:?}: {run:#?}");
            let ends = run.printed.matches("29 right\n").count();
            assert_eq!(ends.to_string(), options[1], "{compiler} {level} {options:?}: {run:#?}");
        }
    }
}

/// Static variables of functions: who finds the variable there comes after who made it, and only that.
#[test]
fn statics_of_functions() {
    check(&[
        case("statics.cc", &[], &[]),
        hidden("statics.cc", &["-DRACE"], &["race"]),
        hidden("statics.cc", &["-DASIDE"], &["race"]),
        case("statics.rs", &[], &[]),
        hidden("statics.rs", &["--cfg=racing"], &["race"]),
        hidden("statics.rs", &["--cfg=aside"], &["race"]),
    ]);
}

/// The runtime changes nothing that a correct program prints.
#[test]
fn rough_programs_run_as_usual() {
    let bench = Bench::new();
    for (compiler, level) in builds("rough.c") {
        let program = bench.build(compiler, "rough.c", &[level], "program");
        let run = bench.run(&program, &[]);
        assert_eq!(run.code, Some(0), "{compiler} {level}: {run:#?}");
        assert_eq!(run.printed, "7\n1\n50\n9\ncopied\n", "{compiler} {level}");
    }
}

/// A thread that leaves an access by `siglongjmp`, because there is no such memory: it is analysed as before, and others do not wait
/// for what it held.
#[test]
fn accesses_that_are_left() {
    check(&[hidden("jumps.c", &[], &["stale-read"])]);
}

/// A lock that all threads share, taken again and again by what programs do all the time: how often such locks are taken must not
/// depend on how long the program runs.
#[test]
fn no_lock_is_shared_by_all() {
    let bench = Bench::new();
    for (compiler, level) in builds("often.c") {
        let turns = |rounds: &str| {
            let program = bench.build(compiler, "often.c", &[level, rounds], "program");
            let output = Command::new(program)
                .env("FENCEPOST_OPTIONS", "exitcode=0:count_shared_locks=1")
                .output()
                .expect("the program runs");
            let said = text(&output.stderr);
            let turns = said.split("shared locks were taken ").nth(1);
            let turns = turns.and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            turns.unwrap_or_else(|| panic!("{compiler} {level}: {said}"))
        };
        // 4,000 rounds more, with some 500 accesses each. Who comes first at a place, and what may be stale there, differs
        // from run to run, more so on a busy machine; a lock in every round is too much in each of them.
        let tries: Vec<(u64, u64)> =
            (0..3).map(|_| (turns("-DROUNDS=500"), turns("-DROUNDS=2500"))).collect();
        assert!(
            tries.iter().any(|(short, long)| *long < short + 3_000),
            "{compiler} {level}: {tries:?}"
        );
    }
}

/// A lock of the runtime that is held when it must not be: by a thread that the child of a fork does not have,
/// by the thread whose signal handler runs, around memory that is given back, in two orders by two threads.
#[test]
fn crowds_never_wait_for_the_runtime() {
    let bench = Bench::new();
    for (compiler, level) in builds("crowd.c") {
        let program = bench.build(compiler, "crowd.c", &[level], "program");
        for options in [&["--runs", "3"][..], &["--record", "recording"]] {
            let run = bench.run(&program, options);
            assert_eq!(run.code, Some(0), "{compiler} {level}: {run:#?}");
            assert_eq!(
                run.printed.lines().next(),
                Some("32000 10"),
                "{compiler} {level}: {run:#?}"
            );
        }
    }
}
