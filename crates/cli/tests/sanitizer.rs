//! C, C++ and Rust programs, built with every compiler there is and run with the sanitizer: what it must
//! find, and what it must not.
//!
//! Compilers that are not installed are skipped, which the output of the tests says. Set
//! `FENCEPOST_TEST_COMPILERS=all` to make that a failure.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FENCEPOST: &str = env!("CARGO_BIN_EXE_fencepost");
const FOUND: i32 = 66;

struct Bench {
    folder: tempfile::TempDir,
    cache: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitizer cache");
        Bench { folder: tempfile::tempdir().expect("a temporary folder"), cache }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn fencepost(&self) -> Command {
        let mut command = Command::new(FENCEPOST);
        command.env("FENCEPOST_CACHE", &self.cache).env_remove("FENCEPOST_OPTIONS");
        command.current_dir(self.folder.path());
        command
    }

    fn build(&self, compiler: &str, source: &str, flags: &[&str], out: &str) -> PathBuf {
        let output = self.path(out);
        let mut command = self.fencepost();
        match Path::new(source).extension().and_then(|extension| extension.to_str()) {
            Some("rs") => {
                command.args(["rustc", "--edition", "2024", "-Awarnings"]).args(flags);
            }
            Some("cc") => {
                command.env("CXX", compiler).arg("c++").args(flags).arg("-pthread");
            }
            _ => {
                command.env("CC", compiler).arg("cc").args(flags).arg("-pthread");
            }
        }
        command.arg("-o").arg(&output).arg(sources().join(source));
        let result = command.output().expect("fencepost runs");
        assert!(
            result.status.success(),
            "{compiler} {flags:?} {source}:\n{}",
            text(&result.stderr)
        );
        output
    }

    /// Runs a program; what was found, by kind, and what was printed.
    fn run(&self, program: &Path, options: &[&str]) -> Run {
        let mut command = self.fencepost();
        command.args(["run", "--json", "--timeout", "60s"]).args(options).arg(program);
        Run::new(&command.output().expect("fencepost runs"))
    }
}

#[derive(Debug)]
struct Run {
    code: Option<i32>,
    kinds: Vec<String>,
    findings: Vec<serde_json::Value>,
    printed: String,
    complaints: String,
}

impl Run {
    fn new(output: &Output) -> Run {
        let stdout = text(&output.stdout);
        let (mut findings, mut printed) = (Vec::new(), String::new());
        for line in stdout.lines() {
            match serde_json::from_str::<serde_json::Value>(line) {
                Ok(value) if value.is_object() => findings.push(value),
                _ => printed.push_str(&format!("{line}\n")),
            }
        }
        let mut kinds: Vec<String> = findings
            .iter()
            .filter_map(|finding| finding["kind"].as_str().map(str::to_string))
            .collect();
        kinds.sort();
        kinds.dedup();
        let code = output.status.code();
        Run { code, kinds, findings, printed, complaints: text(&output.stderr) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sanitizer")
}

fn installed(compiler: &str) -> bool {
    let there =
        Command::new(compiler).arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        println!("{compiler} is not installed: skipped");
        let all = std::env::var("FENCEPOST_TEST_COMPILERS").is_ok_and(|which| which == "all");
        assert!(!all, "{compiler} is not installed");
    }
    there
}

/// Compilers and flags for a source file.
fn builds(source: &str) -> Vec<(&'static str, &'static str)> {
    let (compilers, flags): (&[_], _) = match source.rsplit('.').next() {
        Some("rs") => (&["rustc"], ["-Copt-level=0", "-Copt-level=2"]),
        Some("cc") => (&["g++", "clang++"], ["-O0", "-O2"]),
        _ => (&["gcc", "clang"], ["-O0", "-O2"]),
    };
    let there = compilers.iter().copied().filter(|compiler| installed(compiler));
    there.flat_map(|compiler| flags.map(|flag| (compiler, flag))).collect()
}

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
        case("sb.c", &[], &["stale-read"]),
        case("sb.c", &["-DFENCED"], &[]),
        case("sb.c", &["-DSC"], &[]),
        hidden("mp.c", &[], &["race"]),
        case("mp.c", &["-DFENCES"], &[]),
        case("mp.c", &["-DRA"], &[]),
        case("bar.c", &[], &[]),
        case("barw.c", &["-DV=0", "-DW=0"], &["stale-read"]),
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

/// What holds for C holds for Rust.
#[test]
fn rust() {
    check(&[
        case("litmus.rs", &[], &["stale-read"]),
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

/// A package with a build script, which is not instrumented, and tests, which are.
#[test]
fn cargo() {
    if !installed("cargo") {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("src")).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(bench.path(name), text).expect("a file");
    write("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write("build.rs", "fn main() { println!(\"cargo::rustc-cfg=built\"); }\n");
    std::fs::copy(sources().join("litmus.rs"), bench.path("src/main.rs")).expect("a file");
    let source = std::fs::read_to_string(bench.path("src/main.rs")).expect("a file");
    write(
        "src/main.rs",
        &format!(
            "{source}\n#[cfg(not(built))] compile_error!(\"no script\");\n#[test] fn runs() {{ main(); }}\n"
        ),
    );
    let cargo = |arguments: &[&str]| {
        let mut command = bench.fencepost();
        command.env("CARGO_TARGET_DIR", bench.path("target")).env_remove("RUSTFLAGS");
        command.arg("cargo").args(arguments).output().expect("fencepost runs")
    };
    let built = cargo(&["build", "--quiet"]);
    assert!(built.status.success(), "{}", text(&built.stderr));
    let program = bench.path("target/x86_64-unknown-linux-gnu/debug/small");
    let run = bench.run(&program, &[]);
    assert_eq!(
        (run.code, &run.kinds[..]),
        (Some(FOUND), &["stale-read".to_string()][..]),
        "{run:#?}"
    );
    let tested = cargo(&["test", "--quiet"]);
    let said = text(&tested.stderr);
    assert!(said.contains("may read a stale value: src/main.rs:"), "{said}");
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

#[test]
fn libraries_that_are_loaded_later() {
    let bench = Bench::new();
    for (compiler, level) in builds("loads.c") {
        let library =
            bench.build(compiler, "library.c", &[level, "-shared", "-fPIC"], "library.so");
        let program = bench.build(compiler, "loads.c", &[level, "-ldl"], "program");
        let mut command = bench.fencepost();
        command.args(["run", "--json"]).arg(&program).arg(&library);
        let run = Run::new(&command.output().expect("fencepost runs"));
        assert_eq!(run.kinds, ["race"], "{compiler} {level}: {run:#?}");
        assert_eq!(run.printed, "done\n");
    }
}

/// A project with a static library in C, a shared one, and a program in C++: only CC and CXX change.
#[test]
fn build_systems() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pipeline");
    for (c, cxx) in [("gcc", "g++"), ("clang", "clang++")] {
        if !installed(c) || !installed(cxx) {
            continue;
        }
        for tool in ["make", "cmake"].into_iter().filter(|tool| installed(tool)) {
            for fixed in [false, true] {
                let bench = Bench::new();
                let build = bench.path("build");
                std::fs::create_dir(&build).expect("a folder");
                let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
                    let mut command = Command::new(program);
                    command.env("CC", format!("{FENCEPOST} cc"));
                    command.env("CXX", format!("{FENCEPOST} c++"));
                    command.env("FENCEPOST_CC", c).env("FENCEPOST_CXX", cxx);
                    command.env("FENCEPOST_CACHE", &bench.cache).args(arguments);
                    let output = command.output().expect("the tool runs");
                    let said = text(&output.stdout) + &text(&output.stderr);
                    assert!(output.status.success(), "{tool} {c}: {said}");
                };
                let mut folder = std::ffi::OsString::from("BUILD=");
                folder.push(&build);
                let flags = if fixed { "CPPFLAGS=-DFIXED" } else { "CPPFLAGS=" };
                let option = if fixed { "-DFIXED=ON" } else { "-DFIXED=OFF" };
                if tool == "make" {
                    let (cc, cxx) = (format!("CC={FENCEPOST} cc"), format!("CXX={FENCEPOST} c++"));
                    run(
                        "make",
                        &[
                            "-C".as_ref(),
                            project.as_ref(),
                            &folder,
                            flags.as_ref(),
                            cc.as_ref(),
                            cxx.as_ref(),
                        ],
                    );
                } else {
                    run(
                        "cmake",
                        &[
                            option.as_ref(),
                            "-S".as_ref(),
                            project.as_ref(),
                            "-B".as_ref(),
                            build.as_ref(),
                        ],
                    );
                    run("cmake", &["--build".as_ref(), build.as_ref()]);
                }
                let options = ["--schedule", "random", "--runs", "3"];
                let run = bench.run(&build.join("pipeline"), &options);
                let races = run.kinds.iter().any(|kind| kind == "race");
                assert_eq!((races, run.kinds.is_empty()), (!fixed, fixed), "{tool} {c}: {run:#?}");
                assert_eq!(run.printed, "20100\n".repeat(3), "{tool} {c}");
            }
        }
    }
}

/// The sequence lock needs two switches in the right places, and comes back from its token.
#[test]
fn schedules_find_and_repeat() {
    let bench = Bench::new();
    for (compiler, level) in builds("seqlock.c") {
        let program = bench.build(compiler, "seqlock.c", &[level], "program");
        let options = ["--schedule", "pct:3", "--runs", "1000", "--until-found"];
        let run = bench.run(&program, &options);
        assert_eq!(run.code, Some(FOUND), "{compiler} {level}: {run:#?}");
        let token = run.findings[0]["token"].as_str().expect("a token").to_string();
        let again = bench.run(&program, &["--token", &token]);
        let ids = |run: &Run| {
            let mut ids: Vec<_> =
                run.findings.iter().map(|finding| finding["id"].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&again), ids(&run), "{compiler} {level} {token}");
    }
}

/// The same seed gives the same run, to the last switch, and another seed another one.
#[test]
fn schedules_repeat() {
    let bench = Bench::new();
    for (compiler, level) in builds("order.c") {
        let program = bench.build(compiler, "order.c", &[level], "program");
        for schedule in ["random", "pct:3"] {
            let printed = |seed: &str| {
                let run = bench.run(&program, &["--schedule", schedule, "--seed", seed]);
                assert_eq!(run.code, Some(0), "{compiler} {level} {schedule} {seed}: {run:#?}");
                run.printed
            };
            let (first, other) = (printed("1"), printed("2"));
            assert_ne!(first, other, "{compiler} {level} {schedule}");
            for _ in 0..10 {
                assert_eq!(printed("1"), first, "{compiler} {level} {schedule}");
            }
        }
    }
}

/// A recording shows what the run showed.
#[test]
fn recordings() {
    let bench = Bench::new();
    for (source, define) in [
        ("dekker.c", "-DBROKEN"),
        ("peterson.c", "-DBROKEN"),
        ("mp.c", "-DBROKEN"),
        ("sync.c", "-DRACE"),
        ("treiber.c", "-DFINE"),
    ] {
        for (compiler, level) in builds(source) {
            let program = bench.build(compiler, source, &[level, define], "program");
            let run = bench.run(&program, &["--record", "recording"]);
            let mut command = bench.fencepost();
            command.args(["replay", "--json", "recording"]);
            let again = Run::new(&command.output().expect("fencepost runs"));
            let ids = |run: &Run| {
                let mut ids: Vec<_> =
                    run.findings.iter().map(|finding| finding["id"].to_string()).collect();
                ids.sort();
                ids
            };
            assert_eq!(ids(&again), ids(&run), "{compiler} {level} {source}\n{run:#?}\n{again:#?}");
        }
    }
    let whole = std::fs::read(bench.path("recording")).expect("a recording");
    std::fs::write(bench.path("cut"), &whole[..whole.len() / 2]).expect("a file");
    std::fs::write(bench.path("other"), "something else").expect("a file");
    for (name, says) in [("cut", "cut off"), ("other", "no recording"), ("missing", "cannot read")]
    {
        let output = bench.fencepost().args(["replay", name]).output().expect("fencepost runs");
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(says), "{name}: {}", text(&output.stderr));
    }
}

/// Transactions that the program marks, judged by `fencepost serial`.
#[test]
fn transactions() {
    let bench = Bench::new();
    for (compiler, level) in builds("bank.c") {
        for (define, serializable) in [("-DWHOLE", true), ("-DSPLIT", false)] {
            let program = bench.build(compiler, "bank.c", &[level, define], "program");
            let mut always = true;
            for seed in 0..20 {
                let seed = seed.to_string();
                let options = ["--schedule", "random", "--seed", &seed, "--record", "recording"];
                assert_eq!(bench.run(&program, &options).code, Some(0), "no race, nothing stale");
                let run = |arguments: &[&str]| {
                    bench.fencepost().args(arguments).output().expect("fencepost runs")
                };
                let replayed = run(&["replay", "recording", "--transactions", "run.txt"]);
                assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed.stderr));
                let judged = run(&["serial", "run.txt"]);
                let lines = std::fs::read_to_string(bench.path("run.txt")).expect("a file");
                assert_eq!(lines.matches(" begin").count(), 2, "{lines}");
                assert!(lines.contains("@bank.c:"), "{lines}");
                match judged.status.code() {
                    Some(0) => {}
                    Some(1) => always = false,
                    other => panic!("{other:?}: {}\n{lines}", text(&judged.stderr)),
                }
            }
            assert_eq!(always, serializable, "{compiler} {level} {define}");
        }
    }
}

/// The faces that other commands have, about source files of the program.
#[test]
fn reports_in_files() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    for name in ["peterson.c", "run.h"] {
        std::fs::copy(sources().join(name), bench.path(name)).expect("a file");
    }
    let source = bench.path("peterson.c");
    let faces = ["--html", "page.html", "--sarif", "found.sarif", "--junit", "found.xml"];
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a report");
    for (define, code, failures) in [("-DBROKEN", FOUND, 2), ("-DFENCED", 0, 0)] {
        let program =
            bench.build("gcc", source.to_str().expect("a name"), &["-O1", define], "program");
        let mut options = vec!["--schedule", "random", "--runs", "20"];
        options.extend(faces);
        let run = bench.run(&program, &options);
        assert_eq!(run.code, Some(code), "{run:#?}");
        let sarif: serde_json::Value = serde_json::from_str(&read("found.sarif")).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert_eq!(results.is_empty(), code == 0, "{sarif:#}");
        for result in results {
            let location = &result["locations"][0]["physicalLocation"];
            let file = location["artifactLocation"]["uri"].as_str().unwrap_or_default();
            assert!(file.ends_with("peterson.c"), "{result:#}");
            assert!(location["region"]["startLine"].as_u64().is_some_and(|line| line > 3));
        }
        let junit = read("found.xml");
        assert_eq!(junit.matches("<failure").count(), failures, "{junit}");
        let page = read("page.html");
        assert_eq!(page.contains("may read a stale value"), code != 0);
        assert_eq!(page.contains("atomic_int"), code != 0, "the source is shown");
    }
    let program = bench.path("program");
    let run = bench.run(&program, &["--html", "/nowhere/at/all.html"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.complaints.contains("cannot write"), "{}", run.complaints);
}

/// Without `fencepost run` the program reports by itself.
#[test]
fn programs_report_by_themselves() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program = bench.build("gcc", "sb.c", &["-O1"], "program");
    let run = |options: &str| {
        let mut command = Command::new(&program);
        command.current_dir(bench.folder.path()).env("FENCEPOST_OPTIONS", options);
        command.output().expect("the program runs")
    };
    let usual = run("");
    assert_eq!(usual.status.code(), Some(FOUND));
    assert_eq!(text(&usual.stdout), "done\n");
    assert!(text(&usual.stderr).contains("may read a stale value"), "{}", text(&usual.stderr));
    assert!(text(&usual.stderr).contains("sb.c:"), "{}", text(&usual.stderr));
    assert_eq!(run("exitcode=0").status.code(), Some(0));
    assert_eq!(run("exitcode=7").status.code(), Some(7));
    assert_eq!(run("report_robustness=0").status.code(), Some(0));
    let logged = run("log_path=log");
    assert_eq!(text(&logged.stderr), "");
    let log = std::fs::read_dir(bench.folder.path())
        .expect("the folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|name| name.starts_with("log."));
    assert!(log.is_some(), "a log with the process id in its name");
    let elsewhere = run("log_path=/nowhere/at/all");
    assert!(text(&elsewhere.stderr).contains("cannot write to"), "{}", text(&elsewhere.stderr));
    assert!(text(&elsewhere.stderr).contains("stale value"), "findings are not lost");
    assert!(text(&run("colour=blue").stderr).contains("cannot use `colour=blue`"));
}

#[test]
fn suppressions_and_baselines() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program = bench.build("gcc", "peterson.c", &["-O1"], "program");
    let all = bench.run(&program, &["--write-baseline", "known"]);
    assert_eq!(all.code, Some(FOUND));
    assert_eq!(bench.run(&program, &["--baseline", "known"]).code, Some(0));
    std::fs::write(bench.path("rules"), "# the lock\nrace:work\nstale-read:peterson.c\n")
        .expect("a file");
    let some = bench.run(&program, &["--suppressions", "rules"]);
    assert!(some.kinds.iter().all(|kind| kind == "stale-write"), "{some:#?}");
    std::fs::write(bench.path("rules"), "*:work\n").expect("a file");
    assert_eq!(bench.run(&program, &["--suppressions", "rules"]).code, Some(0));
    std::fs::write(bench.path("rules"), "nonsense\n").expect("a file");
    let bad = bench.run(&program, &["--suppressions", "rules"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.complaints.contains("rules:1"), "{}", bad.complaints);
}

#[test]
fn bad_input() {
    let bench = Bench::new();
    let run =
        |arguments: &[&str]| bench.fencepost().args(arguments).output().expect("fencepost runs");
    let output = run(&["run", "/bin/true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nothing to check"), "{}", text(&output.stderr));
    assert_eq!(run(&["run", "./no-such-program"]).status.code(), Some(2));
    assert_eq!(run(&["run", "--token", "nonsense", "/bin/true"]).status.code(), Some(2));
    assert_eq!(run(&["run", "--schedule", "fair", "/bin/true"]).status.code(), Some(2));
    let mut none = bench.fencepost();
    none.env("PATH", bench.folder.path()).env_remove("CC").args(["cc", "-c", "a.c"]);
    let output = none.output().expect("fencepost runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no compiler found"), "{}", text(&output.stderr));
    for (name, says, needs) in [
        ("gcc", "gcc (GCC) 4.8.5 20150623", "is version 4: the sanitizer needs version 9 or newer"),
        ("clang", "clang version 10.0.1", "is version 10: the sanitizer needs version 11 or newer"),
    ] {
        let old = bench.path(name);
        std::fs::write(&old, format!("#!/bin/sh\necho '{says}'\n")).expect("a file");
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).expect("a script");
        let output = bench.fencepost().env("CC", &old).args(["cc", "-c", "a.c"]).output();
        let output = output.expect("fencepost runs");
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(needs), "{}", text(&output.stderr));
    }
    let output = run(&["cc", "-static", "a.c", "-o", "a"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("-static"));
}

/// A crash or an endless program is reported as such, and what was found before is kept.
#[test]
fn crashes_and_timeouts() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let source = std::fs::read_to_string(sources().join("sb.c")).expect("the source");
    std::fs::copy(sources().join("run.h"), bench.path("run.h")).expect("the header");
    for (name, end, says) in
        [("crash.c", "abort();", "SIGABRT"), ("endless.c", "for (;;) sched_yield();", "--timeout")]
    {
        let changed = source
            .replace("puts(\"done\");", end)
            .replace("atomic_int x", "#include <sched.h>\natomic_int x");
        std::fs::write(bench.path(name), changed).expect("a file");
        let program =
            bench.build("gcc", bench.path(name).to_str().expect("a name"), &["-O1"], "program");
        let mut command = bench.fencepost();
        command.args(["run", "--json", "--timeout", "3s"]).arg(&program);
        let run = Run::new(&command.output().expect("fencepost runs"));
        assert_eq!(run.code, Some(FOUND), "{name}: {run:#?}");
        assert!(run.complaints.contains(says), "{name}: {}", run.complaints);
        assert_eq!(run.kinds, ["stale-read"], "{name}");
    }
}
