//! Finds the compilers: clang for C and C++, rustc for Rust.
//!
//! `FENCEPOST_CC` or `CC` (for C++ first `FENCEPOST_CXX` or `CXX`) names a clang; a name that is no clang, such as `gcc`,
//! is passed over, since only clang makes LLVM IR. Then come `clang`, and `clang-30` down to `clang-14`: the first that
//! is new enough.

use super::{Failure, Language};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// The oldest LLVM whose IR is read.
pub(super) const OLDEST: u32 = 14;

/// The newest name that is looked for.
const NEWEST: u32 = 30;

/// The variables of the environment; tests have their own.
pub(super) type Environment<'e> = &'e dyn Fn(&str) -> Option<OsString>;

/// A compiler.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tool {
    /// The program and its own first arguments.
    pub(super) words: Vec<OsString>,
    /// The version of LLVM that it has.
    pub(super) version: u32,
}

impl Tool {
    /// A call of it.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// What a program says about itself.
fn ask(words: &[OsString], question: &str) -> Option<String> {
    let (program, own) = words.split_first()?;
    let output = Command::new(program).args(own).arg(question).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first number after a word.
fn number_after(text: &str, word: &str) -> Option<u32> {
    let rest = &text[text.find(word)? + word.len()..];
    let digits = rest.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The words of a variable, unless it calls us: `CC="fencepost cc"` is how build systems do that.
fn words(environment: Environment, variable: &str) -> Option<Vec<OsString>> {
    let text = environment(variable)?;
    let words = shlex::split(text.to_str()?)?;
    let first = words.first().map(Path::new).and_then(Path::file_name)?;
    let ours = first == OsStr::new("fencepost");
    (!ours).then(|| words.into_iter().map(OsString::from).collect())
}

/// A clang that is new enough.
pub(super) fn clang(language: Language, environment: Environment) -> Result<Tool, Failure> {
    let variables: &[&str] = match language {
        Language::Cxx => &["FENCEPOST_CXX", "CXX", "FENCEPOST_CC", "CC"],
        _ => &["FENCEPOST_CC", "CC"],
    };
    let mut passed_over = None;
    for variable in variables {
        let Some(words) = words(environment, variable) else { continue };
        let name = words.iter().map(|it| it.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let Some(said) = ask(&words, "--version") else {
            return Err(Failure::CannotRun { variable: (*variable).into(), program: name });
        };
        match number_after(&said, "clang version") {
            Some(version) if version >= OLDEST => return Ok(Tool { words, version }),
            Some(version) => return Err(Failure::TooOld { program: name, version }),
            None => passed_over = passed_over.or(Some(format!("{variable}={name}"))),
        }
    }
    let path = environment("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let names = std::iter::once("clang".to_string())
        .chain((OLDEST..=NEWEST).rev().map(|version| format!("clang-{version}")));
    let mut too_old = None;
    for name in names {
        let Some(program) = folders.iter().map(|it| it.join(&name)).find(|it| it.is_file()) else {
            continue;
        };
        let words = vec![program.into_os_string()];
        let said = ask(&words, "--version").unwrap_or_default();
        match number_after(&said, "clang version") {
            Some(version) if version >= OLDEST => {
                // The name is enough to call it, and shorter in messages.
                return Ok(Tool { words: vec![name.into()], version });
            }
            Some(version) => too_old = Some(Failure::TooOld { program: name, version }),
            None => {}
        }
    }
    Err(too_old.unwrap_or(Failure::NoClang { passed_over }))
}

/// A rustc whose LLVM is new enough.
pub(super) fn rustc(environment: Environment) -> Result<Tool, Failure> {
    let words = words(environment, "RUSTC").unwrap_or_else(|| vec!["rustc".into()]);
    let name = words[0].to_string_lossy().into_owned();
    let Some(said) = ask(&words, "-vV") else { return Err(Failure::NoRustc { program: name }) };
    match number_after(&said, "LLVM version:") {
        Some(version) if version >= OLDEST => Ok(Tool { words, version }),
        Some(version) => Err(Failure::TooOld { program: name, version }),
        None => Err(Failure::NoRustc { program: name }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, name: &str, says: &str) {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find(folder: &Path, cc: Option<&str>) -> Result<Tool, Failure> {
        let path = folder.as_os_str().to_owned();
        let cc = cc.map(OsString::from);
        clang(Language::C, &|variable| match variable {
            "PATH" => Some(path.clone()),
            "CC" => cc.clone(),
            _ => None,
        })
    }

    /// Catches a finder that takes the first name, whatever its version.
    #[test]
    fn the_first_clang_that_is_new_enough_is_found() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path(), None), Err(Failure::NoClang { passed_over: None }));
        program(folder.path(), "clang", "Debian clang version 11.0.1-2");
        let old = Failure::TooOld { program: "clang".into(), version: 11 };
        assert_eq!(find(folder.path(), None), Err(old));
        program(folder.path(), "clang-14", "Debian clang version 14.0.6");
        program(folder.path(), "clang-19", "Ubuntu clang version 19.1.1 (1ubuntu1)");
        let found = find(folder.path(), None).unwrap();
        assert_eq!((found.words, found.version), (vec!["clang-19".into()], 19));
        program(folder.path(), "clang", "Apple clang version 15.0.0 (clang-1500.3.9.4)");
        assert_eq!(find(folder.path(), None).unwrap().version, 15);
    }

    #[test]
    fn the_variable_wins_if_it_names_a_clang() {
        let folder = tempfile::tempdir().unwrap();
        program(folder.path(), "mine", "clang version 16.0.0");
        program(folder.path(), "gcc", "gcc (Debian 12.2.0-14) 12.2.0");
        let mine = folder.path().join("mine").display().to_string();
        let gcc = folder.path().join("gcc").display().to_string();
        assert_eq!(find(folder.path(), Some(&format!("{mine} -m32"))).unwrap().words.len(), 2);
        let passed_over = Some(format!("CC={gcc}"));
        assert_eq!(find(folder.path(), Some(&gcc)), Err(Failure::NoClang { passed_over }));
        let ours = Err(Failure::NoClang { passed_over: None });
        assert_eq!(find(folder.path(), Some("/usr/bin/fencepost cc")), ours);
        assert!(matches!(find(folder.path(), Some("/nowhere/cc")), Err(Failure::CannotRun { .. })));
    }
}
