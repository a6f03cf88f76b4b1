//! `fencepost cc`, `c++`, `rustc` and `cargo`: the user's compiler with a few more arguments.

use crate::Output;
use crate::launch::{self, Launch};
use crate::rust_std;
use crate::unpack::{self, Unpacked};
use rt::options::Schedule;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// C or C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Gcc,
    Clang,
}

/// What a compiler is asked to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Product {
    /// Nothing: it is asked about itself.
    Nothing,
    /// Objects, assembly, preprocessed text.
    Pieces,
    Library,
    Program,
}

impl Product {
    fn of(arguments: &[OsString]) -> Product {
        let mut product = Product::Program;
        let mut inputs = false;
        let mut skip = false;
        for argument in arguments {
            let text = argument.to_string_lossy();
            if std::mem::take(&mut skip) {
                continue;
            }
            match &*text {
                "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" => product = Product::Pieces,
                "-shared" | "-r" if product == Product::Program => product = Product::Library,
                "-o" | "-I" | "-D" | "-U" | "-L" | "-x" | "-MF" | "-MT" | "-MQ" | "-include"
                | "-isystem" | "-Xlinker" => skip = true,
                "-" => inputs = true,
                _ => inputs |= !text.starts_with('-') || text.starts_with("-l"),
            }
        }
        if inputs { product } else { Product::Nothing }
    }
}

/// A name of one word for a compiler with the sanitizer, for build systems that take no two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrapper {
    /// The name.
    pub name: &'static str,
    /// The command that it stands for.
    pub command: &'static str,
}

/// All of them.
pub const WRAPPERS: [Wrapper; 3] = [
    Wrapper { name: "fencepost-cc", command: "cc" },
    Wrapper { name: "fencepost-c++", command: "c++" },
    Wrapper { name: "fencepost-rustc", command: "rustc" },
];

impl Wrapper {
    /// The one with this name.
    pub fn named(name: &OsStr) -> Option<Wrapper> {
        WRAPPERS.into_iter().find(|wrapper| name == wrapper.name)
    }
}

/// Makes the names of one word in a folder, each a link to this program; says where they are.
pub fn make_wrappers(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let me = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let folder = std::path::absolute(folder).map_err(|error| failed(folder, error))?;
    let mut made = Vec::new();
    for wrapper in WRAPPERS {
        let link = folder.join(wrapper.name);
        if link.is_symlink() {
            std::fs::remove_file(&link).map_err(|error| failed(&link, error))?;
        }
        std::os::unix::fs::symlink(&me, &link).map_err(|error| failed(&link, error))?;
        made.push(link);
    }
    Ok(made)
}

/// `fencepost cc` and `fencepost c++`.
pub fn c(arguments: &[OsString], language: Language) -> Result<Infallible, String> {
    let compiler = find(language)?;
    let [program, own @ ..] = &compiler[..] else { return Err("no compiler found".into()) };
    let mut command = Command::new(program);
    command.args(own);
    let product = Product::of(arguments);
    if product == Product::Nothing {
        return become_it(command.args(arguments));
    }
    if arguments.iter().any(|argument| argument == "-static") && product == Product::Program {
        return Err("a static program cannot be watched: leave out -static".into());
    }
    let unpacked = unpack::unpack()?;
    match family(program, own)? {
        Family::Gcc => gcc(&mut command, arguments, product, &unpacked),
        Family::Clang => clang(&mut command, arguments, product, &unpacked),
    }
    become_it(&mut command)
}

/// Flags that come first, so that the user's win.
fn common(command: &mut Command, unpacked: &Unpacked) {
    command.args(["-g", "-D__FENCEPOST__=1", "-isystem"]).arg(unpacked.include());
}

/// So that libraries that are loaded later find the runtime in the program.
fn exports(command: &mut Command) {
    for names in [
        "__tsan_*",
        "__fencepost_*",
        "__cxa_guard_*",
        "__wrap_*",
        "pthread_*",
        "thrd_*",
        "mtx_*",
        "cnd_*",
        "sem_*",
    ] {
        command.arg(format!("-Wl,--export-dynamic-symbol={names}"));
    }
}

fn gcc(command: &mut Command, arguments: &[OsString], product: Product, unpacked: &Unpacked) {
    common(command, unpacked);
    command.args(["-fno-builtin-memcpy", "-fno-builtin-memset", "-fno-builtin-memmove"]);
    command.args(arguments).args(["-fsanitize=thread", "-Wno-tsan", "-B"]);
    match product {
        Product::Library => command.arg(slashed(&unpacked.for_library())),
        _ => command.arg(slashed(&unpacked.for_program())),
    };
    if product != Product::Pieces {
        wraps(command);
    }
    if product == Product::Program {
        exports(command);
    }
}

/// Sends calls that compilers leave as they are to the runtime: GCC's, and Clang's up to version 14.
fn wraps(command: &mut Command) {
    for name in ["memcpy", "memmove", "memset"] {
        command.arg(format!("-Wl,--wrap={name}"));
    }
}

fn clang(command: &mut Command, arguments: &[OsString], product: Product, unpacked: &Unpacked) {
    common(command, unpacked);
    command.arg("-Wno-unused-command-line-argument");
    command.args(arguments).args(["-fsanitize=thread", "-fno-sanitize-link-runtime"]);
    if product != Product::Pieces {
        wraps(command);
    }
    if product == Product::Program {
        command.args(["-Xlinker"]).arg(unpacked.object()).args(["-lpthread", "-ldl", "-lm"]);
        exports(command);
    }
}

/// GCC takes a prefix, not a folder.
fn slashed(folder: &Path) -> OsString {
    let mut prefix = folder.as_os_str().to_owned();
    prefix.push("/");
    prefix
}

/// The user's compiler and its own first arguments.
fn find(language: Language) -> Result<Vec<OsString>, String> {
    let (variable, candidates): (_, &[&str]) = match language {
        Language::C => ("FENCEPOST_CC", &["gcc", "clang", "cc"]),
        Language::Cxx => ("FENCEPOST_CXX", &["g++", "clang++", "c++"]),
    };
    let usual = if language == Language::C { "CC" } else { "CXX" };
    for variable in [variable, usual] {
        let Some(asked) = std::env::var_os(variable) else { continue };
        let words: Vec<OsString> =
            asked.to_string_lossy().split_ascii_whitespace().map(OsString::from).collect();
        // CC="fencepost cc" is how build systems call us; it must not call us again.
        let first = words.first().map(Path::new).and_then(Path::file_name);
        let ours = first.is_some_and(|name| name == "fencepost" || Wrapper::named(name).is_some());
        if words.is_empty() || ours {
            continue;
        }
        return Ok(words);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let there = |name: &&&str| folders.iter().any(|folder| folder.join(name).is_file());
    candidates
        .iter()
        .find(there)
        .map(|name| vec![OsString::from(name)])
        .ok_or_else(|| format!("no compiler found: install gcc or clang, or name one in {usual}"))
}

fn family(program: &OsStr, own: &[OsString]) -> Result<Family, String> {
    let output = Command::new(program).args(own).arg("--version").output();
    let name = Path::new(program).display();
    let output = output.map_err(|error| format!("cannot run the compiler {name}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
    let family = if text.contains("clang") { Family::Clang } else { Family::Gcc };
    let oldest = match family {
        Family::Clang => 11,
        Family::Gcc => 9,
    };
    match major(&text) {
        Some(version) if version < oldest => Err(format!(
            "{name} is version {version}: the sanitizer needs version {oldest} or newer"
        )),
        _ => Ok(family),
    }
}

/// The first number of the first thing that looks like a version.
fn major(text: &str) -> Option<u32> {
    let word = text
        .split_ascii_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))?;
    word.split('.').next()?.parse().ok()
}

/// What rustc needs.
fn rust_flags(rustc: &OsStr) -> Result<Vec<OsString>, String> {
    let unpacked = unpack::unpack()?;
    let mut link = vec![unpacked.object().into_os_string()];
    link.extend(rust_std::link_arguments(Path::new(rustc), &unpacked)?);
    let link = link.into_iter().map(|argument| {
        let mut flag = OsString::from("-Clink-arg=");
        flag.push(argument);
        flag
    });
    let flags = [
        "-g",
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        "-Clink-arg=-ldl",
        "-Clink-arg=-lm",
    ];
    Ok(flags.into_iter().map(OsString::from).chain(link).collect())
}

/// `fencepost rustc`.
pub fn rustc(arguments: &[OsString]) -> Result<Infallible, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(&rustc);
    // The sanitizer flags are not stable yet; what they do is.
    command.env("RUSTC_BOOTSTRAP", "1").args(rust_flags(&rustc)?).args(arguments);
    become_it(&mut command)
}

/// What cargo does by running programs that it built.
const RUNNING: [&str; 6] = ["bench", "nextest", "r", "run", "t", "test"];

/// `fencepost cargo`. Programs that it runs, such as tests, are watched as by `fencepost run`: all of them run, and
/// what is found in any of them is one report.
pub fn cargo(arguments: &[OsString]) -> Result<u8, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let host = Command::new(&rustc).args(["--print", "host-tuple"]).output();
    let host = host.map_err(|error| format!("cannot run rustc: {error}"))?;
    let host = String::from_utf8_lossy(&host.stdout).trim().to_string();
    let mut flags = std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    for flag in rust_flags(&rustc)? {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push(flag);
    }
    let host = if host.is_empty() { "x86_64-unknown-linux-gnu" } else { &host };
    let mut environment: Vec<(OsString, OsString)> = vec![
        ("RUSTC_BOOTSTRAP".into(), "1".into()),
        ("CARGO_ENCODED_RUSTFLAGS".into(), flags),
        // A target of its own, so that build scripts and macros are built as usual.
        ("CARGO_BUILD_TARGET".into(), host.into()),
    ];
    // Reports have lines, whatever the profile says.
    for profile in ["RELEASE", "BENCH"] {
        for (what, value) in [("DEBUG", "line-tables-only"), ("STRIP", "none")] {
            let name = OsString::from(format!("CARGO_PROFILE_{profile}_{what}"));
            if std::env::var_os(&name).is_none() {
                environment.push((name, value.into()));
            }
        }
    }
    let command = arguments.iter().find(|word| !word.to_string_lossy().starts_with(['-', '+']));
    if command.is_some_and(|command| RUNNING.iter().any(|running| command == running)) {
        let series = launch::run(&Launch {
            program: [vec![cargo], arguments.to_vec()].concat(),
            runs: 1,
            schedule: Schedule::Os,
            seed: 0,
            until_found: false,
            token: None,
            jobs: 1,
            timeout: None,
            timeout_option: "--timeout",
            record: None,
            paper_counts: false,
            is_build: true,
            environment,
            output: Output::default(),
        })?;
        return Ok(series.code);
    }
    let mut command = Command::new(cargo);
    command.envs(environment).args(arguments);
    become_it(&mut command).map(|never| match never {})
}

fn become_it(command: &mut Command) -> Result<Infallible, String> {
    let error = command.exec();
    Err(format!("cannot run {}: {error}", Path::new(command.get_program()).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_told_apart() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            Product::of(&words)
        };
        assert_eq!(of("-c a.c -o a.o"), Product::Pieces);
        assert_eq!(of("-O2 a.o b.o -o prog -lm"), Product::Program);
        assert_eq!(of("-shared -fPIC a.c -o liba.so"), Product::Library);
        assert_eq!(of("-fPIC -shared -c a.c"), Product::Pieces);
        assert_eq!(of("--version"), Product::Nothing);
        assert_eq!(of("-o out"), Product::Nothing);
        assert_eq!(of("-E -"), Product::Pieces);
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(major("gcc (debian 12.2.0-14) 12.2.0"), Some(12));
        assert_eq!(major("debian clang version 14.0.6"), Some(14));
        assert_eq!(major("clang"), None);
    }
}
