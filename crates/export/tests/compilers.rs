//! Clang and gcc accept the C that programs are exported to, without a warning that matters.
//!
//! Without a compiler the test says that it is skipped.

extern crate fencepost_export as export;

use export::ExportError;
use ir::expr::{Domain, Edge};
use ir::random::{self, Allow, Config};
use ir::{FenceMode, Instr, Program, UpdateOp};
use std::process::{Command, Stdio};

/// Random programs compare registers with themselves, assign them to themselves and never read them.
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-tautological-compare",
    "-Wno-self-assign",
    "-Wno-unused-but-set-variable",
    "-fsyntax-only",
    "-x",
    "c",
];

/// Domains that are those of a type, narrower ones, and one that needs arithmetic of 128 bits.
const DOMAINS: [Domain; 5] = [
    Domain { min: 0, max: 255, edge: Edge::Wrap },
    Domain { min: -128, max: 127, edge: Edge::Wrap },
    Domain { min: 0, max: 2, edge: Edge::Wrap },
    Domain { min: -3, max: 4, edge: Edge::Fault },
    Domain { min: i64::MIN, max: i64::MAX, edge: Edge::Wrap },
];

/// Has it a read-modify-write that only clang has?
fn is_for_clang(program: &Program) -> bool {
    program.steps().any(|(_, _, step)| match &step.instr {
        Instr::Rmw { update, .. } => matches!(update.op, UpdateOp::Max | UpdateOp::Min),
        _ => false,
    })
}

#[test]
fn compilers_accept_random_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config { allow: Allow::EVERYTHING, instructions: 2..=8, ..Config::default() };
    let (mut files, mut clang_only, mut refused) = (Vec::new(), Vec::new(), 0);
    for seed in 0..40 {
        let mut program = random::program(seed, &config);
        program.domain = DOMAINS[seed as usize % DOMAINS.len()];
        let code = program.threads.iter_mut().flat_map(|thread| &mut thread.code);
        for instr in code.map(|step| &mut step.instr) {
            if matches!(instr, Instr::LightFence(_) | Instr::Fence(FenceMode::Upd)) {
                *instr = Instr::Skip;
            }
        }
        let text = match export::c(&program) {
            Ok(text) => text,
            Err(ExportError::WrapsElsewhere { .. }) => {
                refused += 1;
                continue;
            }
            Err(why) => panic!("seed {seed}: {why}"),
        };
        let file = folder.path().join(format!("{seed}.c"));
        std::fs::write(&file, text).expect("written");
        if is_for_clang(&program) { &mut clang_only } else { &mut files }.push(file);
    }
    assert!(files.len() > 10 && clang_only.len() > 3 && refused > 0, "the test is about nothing");
    for (compiler, files) in [("gcc", vec![&files]), ("clang", vec![&files, &clang_only])] {
        let there = Command::new(compiler).arg("--version").stdout(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no {compiler}");
            continue;
        }
        let output = Command::new(compiler)
            .args(FLAGS)
            .args(files.into_iter().flatten())
            .output()
            .expect("it runs");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler}: {messages}");
    }
}
