//! Small programs in Rust that tests check, with unmodified `std`.
#![allow(dead_code, reason = "not every test file needs all of it")]

use std::process::Command;

/// What the command line prints about a program.
pub(crate) struct Said {
    /// Everything, with single blanks.
    pub all: String,
    /// The exit code.
    pub code: Option<i32>,
}

/// Checks a program, in a file of this name.
pub(crate) fn check_text(name: &str, text: &str, options: &[&str]) -> Said {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("check")
        .arg(&file)
        .args(options)
        .output()
        .expect("the binary runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{out}\n{}", String::from_utf8_lossy(&output.stderr));
    let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
    Said { all, code: output.status.code() }
}

/// Without rustc there is nothing to compile Rust with; that is said, and the test passes.
pub(crate) fn no_rustc() -> bool {
    let missing = Command::new("rustc").arg("--version").output().is_err();
    if missing {
        eprintln!("skipped: no rustc");
    }
    missing
}

/// What every program begins with.
pub(crate) const HEAD: &str = "#![allow(unused)]\n\
    use std::sync::atomic::{*, Ordering::*}; use std::sync::*; use std::thread; use std::cell::*;\n";
