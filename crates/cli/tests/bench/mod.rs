//! Builds programs with the sanitizer in a folder of their own, and runs them.
#![allow(dead_code, reason = "not every test file needs all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const FENCEPOST: &str = env!("CARGO_BIN_EXE_fencepost");
/// How a program ends in which something was found.
pub(crate) const FOUND: i32 = 66;

/// A folder for programs, and the unpacked runtime that all tests share.
pub(crate) struct Bench {
    pub folder: tempfile::TempDir,
    pub cache: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitizer cache");
        Bench { folder: tempfile::tempdir().expect("a temporary folder"), cache }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `fencepost`, in this folder.
    pub(crate) fn fencepost(&self) -> Command {
        let mut command = Command::new(FENCEPOST);
        command.env("FENCEPOST_CACHE", &self.cache).env_remove("FENCEPOST_OPTIONS");
        command.current_dir(self.folder.path());
        command
    }

    /// Builds a program from one of the [`sources`], or from a path; a failure ends the test.
    pub(crate) fn build(&self, compiler: &str, source: &str, flags: &[&str], out: &str) -> PathBuf {
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

    /// Runs a program with these options of `fencepost run`.
    pub(crate) fn run(&self, program: &Path, options: &[&str]) -> Run {
        let mut command = self.fencepost();
        command.args(["run", "--json", "--timeout", "60s"]).args(options).arg(program);
        Run::new(&command.output().expect("fencepost runs"))
    }
}

/// What was found, by kind and in full, what the program printed, and what was complained about.
#[derive(Debug)]
pub(crate) struct Run {
    pub code: Option<i32>,
    pub kinds: Vec<String>,
    pub findings: Vec<serde_json::Value>,
    pub printed: String,
    pub complaints: String,
}

impl Run {
    pub(crate) fn new(output: &Output) -> Run {
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

    /// The names of what was found, in order.
    pub(crate) fn ids(&self) -> Vec<String> {
        let mut ids: Vec<_> =
            self.findings.iter().map(|finding| finding["id"].to_string()).collect();
        ids.sort();
        ids
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where the programs are.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sanitizer")
}

/// Is it installed? Says so if not.
pub(crate) fn installed(compiler: &str) -> bool {
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
pub(crate) fn builds(source: &str) -> Vec<(&'static str, &'static str)> {
    let (compilers, flags): (&[_], _) = match source.rsplit('.').next() {
        Some("rs") => (&["rustc"], ["-Copt-level=0", "-Copt-level=2"]),
        Some("cc") => (&["g++", "clang++"], ["-O0", "-O2"]),
        _ => (&["gcc", "clang"], ["-O0", "-O2"]),
    };
    let there = compilers.iter().copied().filter(|compiler| installed(compiler));
    there.flat_map(|compiler| flags.map(|flag| (compiler, flag))).collect()
}
