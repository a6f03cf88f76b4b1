//! `fencepost check-tests`: the tests of a crate, each checked as a program of its own.
//!
//! Cargo compiles the crate's tests and all that they depend on, with the options that real code is compiled with
//! ([`RUST_FLAGS`]), so that every crate leaves its IR beside what cargo makes of it. Each test program lists its tests
//! itself (`--list`); its IR is linked with that of its dependencies, and each test is then checked like a program that
//! consists of that test alone. The answers are a table with a line for each test.

use crate::args;
use crate::compiled::Program;
use crate::exit::Exit;
use crate::inputs::Unusable;
use crate::{check, terminal};
use lang::{Diagnostic, codes};
use llvm::Module;
use llvm::compile::RUST_FLAGS;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A test program.
struct TestProgram {
    /// The crate that its functions are in.
    name: String,
    source: PathBuf,
    executable: PathBuf,
}

/// A library that tests may depend on.
struct Library {
    name: String,
    ir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &args::CheckTests) -> io::Result<Exit> {
    match programs(args) {
        Ok(programs) if programs.is_empty() => {
            let why = match args.names.is_empty() {
                true => "there are no tests here: none of the crate's functions is a #[test]",
                false => "no test has a name with this in it",
            };
            Ok(refuse(why))
        }
        Ok(programs) => check::run_programs(&args.check(), programs),
        Err(why) => Ok(refuse(&why)),
    }
}

fn refuse(why: &str) -> Exit {
    let why = vec![Diagnostic::error(codes::CODE, why)];
    terminal::refuse(&Unusable::new(Path::new("cargo"), String::new(), why))
}

/// The tests that are asked for, each as a program.
fn programs(args: &args::CheckTests) -> Result<Vec<Program>, String> {
    let (tests, libraries) = build(args)?;
    let mut programs = Vec::new();
    for test in tests {
        let wanted = |name: &String| {
            args.names.is_empty() || args.names.iter().any(|part| name.contains(part))
        };
        let names: Vec<String> = listed(&test.executable)?.into_iter().filter(wanted).collect();
        if names.is_empty() {
            continue;
        }
        let own = read(&beside(&test.executable))?;
        let mut modules = vec![own];
        // A library that is tested is not a dependency of its own tests.
        for library in libraries.iter().filter(|library| library.name != test.name) {
            modules.push(read(&library.ir)?);
        }
        let module = match modules.len() {
            1 => modules.remove(0),
            _ => Module::link(modules).map_err(|error| error.to_string())?,
        };
        for name in names {
            let entry = format!("{}::{name}", test.name);
            programs.push(Program::of_test(&test.source, module.clone(), name, entry));
        }
    }
    Ok(programs)
}

/// Has cargo compile the tests: the test programs, and the IR of what they may depend on.
fn build(args: &args::CheckTests) -> Result<(Vec<TestProgram>, Vec<Library>), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    // Asked for by name, flags are for what is checked, not for build scripts.
    command.arg("--target").arg(host()?);
    if let Some(manifest) = &args.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
    command.arg("--target-dir").arg(target_folder(args)?);
    command.args(&args.flags);
    // Cargo passes its own `--emit` as well.
    command.env("CARGO_ENCODED_RUSTFLAGS", RUST_FLAGS.join("\u{1f}")).env("RUSTC_BOOTSTRAP", "1");
    command.env_remove("RUSTFLAGS").stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("cargo does not compile the tests".to_string());
    }
    let (mut tests, mut libraries) = (Vec::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(said) = serde_json::from_str::<Value>(line) else { continue };
        if said["reason"] != "compiler-artifact" {
            continue;
        }
        let target = &said["target"];
        let name = target["name"].as_str().unwrap_or_default().replace('-', "_");
        if let (Some(true), Some(executable), Some(source)) = (
            said["profile"]["test"].as_bool(),
            said["executable"].as_str(),
            target["src_path"].as_str(),
        ) {
            let (source, executable) = (source.into(), executable.into());
            tests.push(TestProgram { name, source, executable });
            continue;
        }
        let strings = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.filter_map(|it| it.as_str().map(str::to_string)).collect()
        };
        let is_library =
            strings(&target["kind"]).iter().any(|kind| kind == "lib" || kind == "rlib");
        let archive = strings(&said["filenames"]).into_iter().find(|it| it.ends_with(".rlib"));
        if let (true, Some(archive)) = (is_library, archive) {
            libraries.push(Library { name, ir: ir_of_library(Path::new(&archive))? });
        }
    }
    Ok((tests, libraries))
}

/// The machine that tests run on, as rustc calls it.
fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output();
    let output = output.map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_string).ok_or_else(|| "rustc does not say which machine this is".to_string())
}

/// Where cargo puts what is compiled for checking: apart from what is compiled for running, so that neither is
/// compiled again because of the other.
fn target_folder(args: &args::CheckTests) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version=1"]).stderr(Stdio::inherit());
    if let Some(manifest) = &args.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    let said: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| "cargo does not say what is in this folder".to_string())?;
    let folder = said["target_directory"].as_str();
    let folder = folder.ok_or_else(|| "cargo names no folder for what it makes".to_string())?;
    Ok(Path::new(folder).join("fencepost"))
}

/// The tests of a program, but for those that are ignored unless they are asked for.
fn listed(executable: &Path) -> Result<Vec<String>, String> {
    let list = |more: &[&str]| {
        let output =
            Command::new(executable).args(["--list", "--format=terse"]).args(more).output();
        let output =
            output.map_err(|error| format!("cannot run {}: {error}", executable.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok::<Vec<String>, String>(names.map(str::to_string).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

/// The IR of what has this name otherwise.
fn beside(file: &Path) -> PathBuf {
    file.with_extension("ll")
}

/// The IR of a library: beside the archive in cargo's folder of parts, under the crate's name.
fn ir_of_library(archive: &Path) -> Result<PathBuf, String> {
    let stem = archive.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem.as_deref().and_then(|stem| stem.strip_prefix("lib")).unwrap_or_default();
    let folder = archive.parent().unwrap_or(Path::new("."));
    let ir = folder.join(format!("{name}.ll"));
    if ir.exists() {
        return Ok(ir);
    }
    // What cargo hands out is a copy without the number that tells versions apart; the part it was made from has it.
    let parts = folder.join("deps");
    let found = std::fs::read_dir(&parts).into_iter().flatten().flatten().map(|it| it.path());
    let mut found: Vec<PathBuf> = found
        .filter(|path| {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let own = stem.as_deref().and_then(|stem| stem.strip_prefix(name));
            path.extension().is_some_and(|end| end == "ll")
                && own.is_some_and(|rest| rest.starts_with('-') && !rest[1..].contains('-'))
        })
        .collect();
    // The newest is the one that was made just now.
    found.sort_by_key(|path| std::fs::metadata(path).and_then(|data| data.modified()).ok());
    found.pop().ok_or_else(|| format!("cargo left no IR of `{name}`"))
}

fn read(ir: &Path) -> Result<Module, String> {
    let text = std::fs::read_to_string(ir)
        .map_err(|error| format!("cannot read the IR {}: {error}", ir.display()))?;
    llvm::parse(&ir.display().to_string(), &text).map_err(|error| error.to_string())
}
