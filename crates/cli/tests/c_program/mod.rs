//! Programs in C and what the command line says of them.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::process::Command;

/// What the command line prints about a program: its verdicts as `property verdict`, and everything else.
pub(crate) struct Said {
    pub verdicts: Vec<String>,
    pub all: String,
    pub code: Option<i32>,
}

pub(crate) fn check(arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("check")
        .args(arguments)
        .output()
        .expect("the binary runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    let verdict = |line: &str| {
        let mut words = line.split_whitespace();
        let (property, verdict) = (words.next()?, words.next()?.trim_end_matches(':'));
        let known = ["holds", "violated", "undecided"].contains(&verdict);
        (line.starts_with("  ") && known).then(|| format!("{property} {verdict}"))
    };
    Said { verdicts: out.lines().filter_map(verdict).collect(), all, code: output.status.code() }
}

/// Without clang there is nothing to compile C with; that is said, and the test passes.
pub(crate) fn no_clang() -> bool {
    let missing = Command::new("clang").arg("--version").output().is_err();
    if missing {
        eprintln!("no clang: programs in C are not checked");
    }
    missing
}

/// The same for Rust.
pub(crate) fn no_rustc() -> bool {
    let missing = Command::new("rustc").arg("--version").output().is_err();
    if missing {
        eprintln!("no rustc: programs in Rust are not checked");
    }
    missing
}

pub(crate) fn check_text(name: &str, text: &str, options: &[&str]) -> Said {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("a file");
    let mut arguments: Vec<&str> = options.to_vec();
    let file = file.display().to_string();
    arguments.insert(0, &file);
    check(&arguments)
}
