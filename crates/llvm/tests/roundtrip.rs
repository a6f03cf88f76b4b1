//! Reading and printing loses nothing: a program that went through the reader still does the same.
//!
//! Each program is compiled by the oldest and the newest clang that are installed, optimised and not, read, printed again (`printer`), and compiled
//! from the printed text by the newest clang. Its output and exit code must be those of the program that was compiled
//! directly. What rustc prints is read and printed, and must pass LLVM's own verifier.

mod printer;

use fencepost_llvm::{Module, parse};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

fn runs(name: &String) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success())
}

/// The installed clangs, oldest first. The last one compiles what is printed: it must know `ptr` (version 17).
fn clangs() -> Vec<String> {
    let found: Vec<_> = (14..=30).map(|it| format!("clang-{it}")).filter(runs).collect();
    let enough = found.last().is_some_and(|it| !matches!(&it[6..], "14" | "15" | "16"));
    if !enough {
        eprintln!("no clang 17 or newer: skipped");
        return Vec::new();
    }
    found
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("a program that runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output
}

/// Prints a module; what is printed must be read as it was printed.
fn printed(module: &Module) -> String {
    let read = |text: &str| parse("printed.ll", text).unwrap_or_else(|error| panic!("{error}"));
    // Debug records may mention a register before all instructions do, which changes numbers once.
    let first = printer::print(&read(&printer::print(module)));
    let second = printer::print(&read(&first));
    for (first, second) in first.lines().zip(second.lines()) {
        assert_eq!(first, second);
    }
    first
}

fn result_of(executable: &Path) -> (Option<i32>, String) {
    let output = Command::new(executable).output().expect("the program runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn check(name: &str) {
    let clangs = clangs();
    let Some(newest) = clangs.last() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (direct, again) = (folder.path().join("direct"), folder.path().join("again"));
    let ir = folder.path().join("printed.ll");
    let libraries = ["-lm", "-pthread", "-lstdc++"];
    for clang in [&clangs[0], newest] {
        for level in ["-O0", "-O2"] {
            let source = program(name);
            let compile = |more: &[&str]| {
                let mut command = Command::new(clang);
                command.args([level, "-w", "-g"]).args(more).arg(&source);
                command
            };
            run(compile(&[]).arg("-o").arg(&direct).args(libraries));
            let text = run(compile(&["-S", "-emit-llvm", "-o", "-"]).args(["-fno-pic"])).stdout;
            let text = String::from_utf8(text).expect("text");
            let module = parse(clang, &text).unwrap_or_else(|error| panic!("{error}"));
            std::fs::write(&ir, printed(&module)).expect("a file");
            let mut command = Command::new(newest);
            run(command
                .args(["-w", "-O0", "-no-pie"])
                .arg(&ir)
                .arg("-o")
                .arg(&again)
                .args(libraries));
            assert_eq!(result_of(&direct), result_of(&again), "{clang} {level} {name}");
        }
    }
}

#[test]
fn c_does_the_same() {
    check("compute.c");
}

#[test]
fn cxx_does_the_same() {
    check("throw.cpp");
}

#[test]
fn threads_do_the_same() {
    check("stack.c");
}

/// Catches a linker that takes the wrong one of two definitions, or mixes up two that are local to their files.
#[test]
fn linked_files_do_the_same() {
    let clangs = clangs();
    let Some(newest) = clangs.last() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (direct, again) = (folder.path().join("direct"), folder.path().join("again"));
    let ir = folder.path().join("printed.ll");
    let files = ["main.c", "second.c", "third.cpp"].map(|it| program("linked").join(it));
    for clang in [&clangs[0], newest] {
        let mut modules = Vec::new();
        for file in &files {
            let mut command = Command::new(clang);
            command.args(["-w", "-fcommon", "-fno-pic", "-S", "-emit-llvm", "-o", "-"]).arg(file);
            let text = String::from_utf8(run(&mut command).stdout).expect("text");
            modules.push(parse(clang, &text).unwrap_or_else(|error| panic!("{error}")));
        }
        let mut command = Command::new(clang);
        run(command.args(["-w", "-fcommon", "-o"]).arg(&direct).args(&files).arg("-lstdc++"));
        let linked = Module::link(modules).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(&ir, printed(&linked)).expect("a file");
        let mut command = Command::new(newest);
        run(command.args(["-w", "-no-pie", "-o"]).arg(&again).arg(&ir).arg("-lstdc++"));
        assert_eq!(result_of(&direct), result_of(&again), "{clang}");
    }
}

#[test]
fn rust_passes_the_verifier() {
    let clangs = clangs();
    let Some(newest) = clangs.last() else { return };
    if !runs(&"rustc".to_string()) {
        return eprintln!("no rustc: skipped");
    }
    let folder = tempfile::tempdir().expect("a folder");
    for level in ["0", "2"] {
        let ir = folder.path().join("rust.ll");
        let mut command = Command::new("rustc");
        command.args(["--edition=2021", "--emit=llvm-ir", "-g", "-Ccodegen-units=1"]);
        run(command
            .arg(format!("-Copt-level={level}"))
            .arg("-o")
            .arg(&ir)
            .arg(program("counter.rs")));
        let module = fencepost_llvm::read(&ir).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(&ir, printed(&module)).expect("a file");
        run(Command::new(newest).args(["-w", "-c", "-o", "/dev/null"]).arg(&ir));
    }
}
