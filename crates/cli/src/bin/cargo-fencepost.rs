//! `cargo fencepost …`: cargo runs this program for a command that it does not know. It becomes `fencepost …`.
//!
//! The `fencepost` that was installed beside it is the one that is meant; only if there is none, the one in the path.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Cargo repeats its command's name.
    if arguments.first().is_some_and(|first| first == "fencepost") {
        arguments.remove(0);
    }
    let program = beside().unwrap_or_else(|| PathBuf::from("fencepost"));
    let failed = become_it(Command::new(&program).args(arguments));
    eprintln!("error: cannot run {}: {failed}", program.display());
    ExitCode::from(2)
}

fn beside() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let program = here.with_file_name(format!("fencepost{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

#[cfg(unix)]
fn become_it(command: &mut Command) -> std::io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

#[cfg(not(unix))]
fn become_it(command: &mut Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(2)),
        Err(error) => error,
    }
}
