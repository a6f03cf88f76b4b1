//! Builds the sanitizer runtime and makes it one object file, which the program carries.
//!
//! The runtime is a static library of this workspace with a profile of its own. It is built by a second
//! cargo in a directory of its own, and only when its sources change. What comes out is linked into one
//! relocatable object in which only the entry points are visible: a program written in Rust has a
//! standard library of its own, which must not meet the runtime's.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What programs may see. Everything else is local to the object.
const PREFIXES: &[&str] = &[
    "__tsan_",
    "__fencepost_",
    "__cxa_guard_",
    "__wrap_",
    "pthread_",
    "thrd_",
    "mtx_",
    "cnd_",
    "sem_",
];
const NAMES: &[&str] = &[
    "FENCEPOST_REPORTER",
    "_exit",
    "aligned_alloc",
    "call_once",
    "calloc",
    "free",
    "malloc",
    "memalign",
    "munmap",
    "nanosleep",
    "posix_memalign",
    "realloc",
    "sched_yield",
    "syscall",
    "usleep",
];
/// What a program may define itself.
const WEAK: &[&str] =
    &["aligned_alloc", "calloc", "free", "malloc", "memalign", "posix_memalign", "realloc"];

/// Leaves `runtime.o` in the output directory.
pub fn embed() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let object = out.join("runtime.o");
    println!("cargo::rerun-if-changed=build/runtime.rs");
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let x86 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    if !linux || !x86 {
        fs::write(&object, []).expect("the output directory can be written");
        return;
    }
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = manifest.join("../..");
    for source in ["rt/src", "rt/Cargo.toml", "clocks/src", "clocks/Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", workspace.join("crates").join(source).display());
    }
    let library = build(&workspace, &out);
    let exports = exports(&library);
    combine(&library, &exports, &out, &object);
}

fn build(workspace: &Path, out: &Path) -> PathBuf {
    let target = out.join("runtime");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What was meant for the program is not meant for the runtime: flags, wrappers, coverage.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
        if (name.starts_with("CARGO") || name.starts_with("RUST")) && !kept.contains(&name.as_str())
        {
            cargo.env_remove(&name);
        }
    }
    // Processors of the last fifteen years: comparing clocks takes half the instructions.
    cargo
        .current_dir(workspace)
        .env("RUSTFLAGS", "-Ctarget-cpu=x86-64-v2")
        .args(["rustc", "--quiet", "--package", "fencepost-rt", "--features", "export", "--lib"])
        .args(["--profile", "runtime", "--crate-type", "staticlib", "--target-dir"])
        .arg(&target);
    run(&mut cargo);
    target.join("runtime/libfencepost_rt.a")
}

fn exports(library: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["--defined-only", "--extern-only"]).arg(library).output();
    let output = output.expect("nm (binutils) lists symbols");
    let mut names: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(2))
        .filter(|name| {
            NAMES.contains(name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
        .map(str::to_string)
        .collect();
    names.sort();
    names.dedup();
    assert!(names.iter().any(|name| name == "__tsan_init"), "the runtime has its entry points");
    names
}

fn combine(library: &Path, exports: &[String], out: &Path, object: &Path) {
    let joined = out.join("joined.o");
    let mut link = Command::new("ld");
    link.args(["-r", "--force-group-allocation", "--gc-sections", "--entry=__tsan_init"]);
    for name in exports {
        link.arg(format!("--undefined={name}"));
    }
    run(link.arg("-o").arg(&joined).arg(library));
    let list = out.join("exports");
    fs::write(&list, exports.join("\n") + "\n").expect("the output directory can be written");
    let mut localise = Command::new("objcopy");
    localise.arg(format!("--keep-global-symbols={}", list.display())).arg("--strip-debug");
    for name in WEAK {
        localise.arg(format!("--weaken-symbol={name}"));
    }
    run(localise.arg(&joined).arg(object));
}

fn run(command: &mut Command) {
    let name = command.get_program().to_owned();
    let status = command.status();
    let name =
        Path::new(&name).file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{name} failed while building the sanitizer runtime: {status}"),
        Err(error) => panic!("cannot run {name}, needed to build the sanitizer runtime: {error}"),
    }
}
