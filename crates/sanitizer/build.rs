//! Builds the sanitizer runtime and makes it one object file, which the program carries.
//!
//! The runtime is the crate `fencepost-rt`, whose build script says where its sources are, in this workspace
//! or in a registry. From a registry it is copied first, together with the crate `fencepost-clocks`, so that what is built is
//! what this package was published with, and nothing is written among the registry's files. A second cargo builds it as a static library, with a profile of its own, in a directory
//! of its own, and only when its sources change. What comes out is linked into one
//! relocatable object in which only the entry points are visible: a program written in Rust has a
//! standard library of its own, which must not meet the runtime's.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What programs may see. Everything else is local to the object.
const PREFIXES: &[&str] = &[
    "__tsan_",
    "__fencepost_",
    "__cxa_guard_",
    "_Zd",
    "Annotate",
    "GOMP_",
    "__wrap_",
    "pthread_",
    "thrd_",
    "mtx_",
    "cnd_",
    "sem_",
    "omp_",
];
const NAMES: &[&str] = &[
    "FENCEPOST_REPORTER",
    "_exit",
    "aligned_alloc",
    "call_once",
    "calloc",
    "eventfd_read",
    "eventfd_write",
    "free",
    "malloc",
    "memalign",
    "mmap",
    "mmap64",
    "mremap",
    "munmap",
    "nanosleep",
    "posix_memalign",
    "pvalloc",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "send",
    "sendmsg",
    "sendto",
    "socketpair",
    "syscall",
    "usleep",
    "valloc",
    "write",
    "writev",
];
/// What a program may define itself.
const WEAK: &[&str] = &[
    "_ZdaPv",
    "_ZdaPvSt11align_val_t",
    "_ZdaPvm",
    "_ZdaPvmSt11align_val_t",
    "_ZdlPv",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvm",
    "_ZdlPvmSt11align_val_t",
    "aligned_alloc",
    "calloc",
    "free",
    "malloc",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "valloc",
];

/// How the runtime is compiled, wherever its sources are.
const PROFILE: &[&str] =
    &["inherits=\"release\"", "lto=\"fat\"", "codegen-units=1", "panic=\"abort\""];

/// Leaves `runtime.o` in the output directory.
fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let object = out.join("runtime.o");
    println!("cargo::rerun-if-changed=build.rs");
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let x86 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    if !linux || !x86 {
        fs::write(&object, []).expect("the output directory can be written");
        return;
    }
    let sources =
        PathBuf::from(env::var_os("DEP_FENCEPOST_RT_ROOT").expect("fencepost-rt says it"));
    // In a registry nothing changes; in the workspace, `clocks` is beside the runtime.
    for name in ["src", "Cargo.toml", "../clocks/src", "../clocks/Cargo.toml"] {
        let path = sources.join(name);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let library = match sources.join("Cargo.toml.orig").exists() {
        true => build(&copied(&sources, &out), &out),
        false => build(&sources, &out),
    };
    let exports = exports(&library);
    combine(&library, &exports, &out, &object);
}

/// The sources of packages, brought together in a workspace of their own.
fn copied(sources: &Path, out: &Path) -> PathBuf {
    let clocks = env::var_os("DEP_FENCEPOST_CLOCKS_ROOT").expect("fencepost-clocks says it");
    let folder = out.join("sources");
    let copied = fs::remove_dir_all(&folder).or(Ok(())).and_then(|()| {
        copy(sources, &folder.join("rt"))?;
        copy(Path::new(&clocks), &folder.join("clocks"))?;
        // The versions that the runtime was packaged with.
        let lock = folder.join("rt/Cargo.lock");
        if lock.exists() {
            fs::rename(lock, folder.join("Cargo.lock"))?;
        }
        fs::write(folder.join("Cargo.toml"), WORKSPACE)
    });
    if let Err(error) = copied {
        panic!("cannot copy the sources of the sanitizer runtime to {}: {error}", folder.display());
    }
    folder
}

/// The workspace of the copies. The crates are named by versions in packages; the patch says where this one is.
const WORKSPACE: &str = "\
[workspace]
resolver = \"3\"
members = [\"rt\"]
exclude = [\"clocks\"]

[patch.crates-io]
fencepost-clocks = { path = \"clocks\" }
";

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name()))?,
            false => drop(fs::copy(entry.path(), to.join(entry.file_name()))?),
        }
    }
    Ok(())
}

fn build(sources: &Path, out: &Path) -> PathBuf {
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
        .current_dir(sources)
        .env("RUSTFLAGS", "-Ctarget-cpu=x86-64-v2")
        .args(["rustc", "--quiet", "--package", "fencepost-rt", "--features", "export", "--lib"])
        .args(["--profile", "runtime", "--crate-type", "staticlib", "--target-dir"])
        .arg(&target);
    for setting in PROFILE {
        cargo.args(["--config", &format!("profile.runtime.{setting}")]);
    }
    run(&mut cargo);
    target.join("runtime/libfencepost_rt.a")
}

fn exports(library: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["--defined-only", "--extern-only"]).arg(library).output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run nm, needed to build the sanitizer runtime: {error}; install binutils")
    });
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
        Err(error) => panic!(
            "cannot run {name}, needed to build the sanitizer runtime: {error}; ld, nm and objcopy come with binutils"
        ),
    }
}
