//! Runs the binary in a directory of its own.
#![allow(dead_code, reason = "not every test file needs all of it")]

use std::path::Path;
use std::process::{Command, Stdio};

/// A directory with the files of one test.
pub(crate) struct Desk {
    directory: tempfile::TempDir,
}

/// What a run printed and how it ended.
pub(crate) struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Desk {
    /// An empty directory.
    pub(crate) fn new() -> Self {
        Desk { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A directory with one program, `t.fp`.
    pub(crate) fn with(program: &str) -> Self {
        Desk::new().and("t.fp", program)
    }

    /// The same with one more file.
    pub(crate) fn and(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, contents).expect("a writable directory");
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs `fencepost` with these arguments, separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        run_in(self.path(), &arguments.split_whitespace().collect::<Vec<_>>())
    }
}

/// Runs `fencepost` in the repository's root.
pub(crate) fn run_at_root(arguments: &str) -> Run {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    run_in(&root, &arguments.split_whitespace().collect::<Vec<_>>())
}

/// Runs `fencepost` with these arguments, separated by spaces, in a directory.
pub(crate) fn run_within(directory: &Path, arguments: &str) -> Run {
    run_in(directory, &arguments.split_whitespace().collect::<Vec<_>>())
}

fn run_in(directory: &Path, arguments: &[&str]) -> Run {
    // On one core, because which of several shortest witnesses comes first is up to the scheduler.
    let checks = arguments.len() > 1 && arguments[0] == "check" && !arguments.contains(&"--jobs");
    let one_core: &[&str] = if checks { &["--jobs", "1"] } else { &[] };
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(arguments)
        .args(one_core)
        .current_dir(directory)
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    Run {
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        code: output.status.code(),
    }
}

impl Run {
    /// Everything a user sees, with times left out.
    pub(crate) fn all(&self) -> String {
        let code = self.code.map_or("killed".to_string(), |code| code.to_string());
        format!("{}{}exit {code}\n", self.stderr, self.stdout)
    }
}

/// Compares with the snapshot, times and numbers of states left out.
#[macro_export]
macro_rules! golden {
    ($shown:expr) => {
        insta::with_settings!({
            filters => vec![
                (r" *\b(\d+ min )?\d+(\.\d+)? (ms|s)\b", " [time]"),
                (r" *\b[\d,]+ states?\b", " [n] states"),
            ],
            omit_expression => true,
        }, { insta::assert_snapshot!($shown) })
    };
}
