//! How programs get the sanitizer: by cargo, by build systems that are told of one word, in libraries.
//!
//! Compilers that are not installed are skipped, as in `sanitizer.rs`.

mod bench;

use bench::{Bench, FENCEPOST, FOUND, Run, builds, installed, sources, text};
use std::path::Path;
use std::process::Command;

/// Store buffering whose threads run one after the other, without an order that the memory model knows of. So every run
/// shows it: where both stores happen to come before both loads, there is nothing to see.
const ONE_AFTER_THE_OTHER: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;

static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);
static DONE: AtomicUsize = AtomicUsize::new(0);

fn store_buffering(mine: &AtomicUsize, other: &AtomicUsize) -> usize {
    mine.store(1, Release);
    other.load(Acquire)
}

fn main() {
    let first = thread::spawn(|| {
        let read = store_buffering(&X, &Y);
        DONE.store(1, Relaxed);
        read
    });
    while DONE.load(Relaxed) == 0 {}
    let second = thread::spawn(|| store_buffering(&Y, &X));
    println!("{}", first.join().unwrap() + second.join().unwrap());
}
"#;

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
    let source = format!("{ONE_AFTER_THE_OTHER}\n#[test] fn runs() {{ main(); }}\n");
    let script = "#[cfg(not(built))] compile_error!(\"no script\");\n";
    write("src/main.rs", &format!("{source}{script}"));
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
    // Two programs with tests, one report, one exit code.
    std::fs::create_dir_all(bench.path("tests")).expect("a folder");
    write("tests/other.rs", &source);
    let tested = cargo(&["test", "--quiet"]);
    let said = text(&tested.stderr);
    assert_eq!(tested.status.code(), Some(FOUND), "{said}");
    assert!(said.contains("may read a stale value: src/main.rs:"), "{said}");
    assert!(said.contains("may read a stale value: tests/other.rs:"), "{said}");
    assert_eq!(said.matches("robustness violations").count(), 1, "{said}");
    let fine = cargo(&["test", "--quiet", "no_test_of_this_name"]);
    assert_eq!(fine.status.code(), Some(0), "{}", text(&fine.stderr));
    let compiled = cargo(&["test", "--quiet", "--no-run"]);
    assert_eq!(compiled.status.code(), Some(0), "{}", text(&compiled.stderr));
    // Lines in release builds, too.
    let released = cargo(&["run", "--quiet", "--release"]);
    let said = text(&released.stderr);
    assert!(said.contains("may read a stale value: src/main.rs:"), "{said}");
}

/// Names of one word, for build systems that take no two; they find the compiler, not themselves.
#[test]
fn wrappers() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let made = bench.fencepost().args(["wrappers", "names"]).output().expect("fencepost runs");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let cc = bench.path("names/fencepost-cc");
    assert!(text(&made.stdout).contains(&cc.display().to_string()), "{}", text(&made.stdout));
    let again = bench.fencepost().args(["wrappers", "names"]).status().expect("fencepost runs");
    assert!(again.success(), "links are made anew");
    let mut command = Command::new(&cc);
    command.env("CC", &cc).env("FENCEPOST_CACHE", &bench.cache);
    command
        .args(["-O1", "-DROUNDS=20", "-pthread", "-o"])
        .arg(bench.path("sb"))
        .arg(sources().join("sb.c"));
    let built = command.output().expect("the wrapper runs");
    assert!(built.status.success(), "{}", text(&built.stderr));
    assert_eq!(bench.run(&bench.path("sb"), &[]).code, Some(FOUND));
    let version = Command::new(&cc).arg("--version").output().expect("the wrapper runs");
    assert!(text(&version.stdout).contains("Free Software"), "{}", text(&version.stdout));
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
