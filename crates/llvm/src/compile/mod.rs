//! Sources to modules: calls the user's compiler, never with optimisation.
//!
//! An optimiser may remove racy accesses, so that the module would be about another program: of four racy loads at `-O0`,
//! two are left at `-O1` and none at `-O2` in one example. So C and C++ are compiled with `-O0`, and without the mark
//! (`optnone`) that forbids later passes; Rust with `opt-level=0`. Files of IR are read as they are, with a warning if
//! they look optimised.

mod database;
mod tools;

use crate::error::Error;
use crate::module::{Module, Optimised};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tools::Tool;

/// What a source is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Rust.
    Rust,
    /// LLVM IR as text.
    Ir,
}

impl Language {
    /// The language of a file, by the end of its name.
    pub fn of(path: &Path) -> Option<Language> {
        Some(match path.extension()?.to_str()? {
            "c" | "i" => Language::C,
            "cc" | "cpp" | "cxx" | "c++" | "C" | "ii" => Language::Cxx,
            "rs" => Language::Rust,
            "ll" => Language::Ir,
            _ => return None,
        })
    }
}

/// How sources are compiled.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// More arguments for the compiler.
    pub flags: Vec<OsString>,
    /// `compile_commands.json`, or the folder it is in: where flags for C and C++ come from.
    pub database: Option<PathBuf>,
}

/// A module and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module.
    pub module: Module,
    /// Warnings of ours, a sentence each.
    pub warnings: Vec<String>,
    /// What the compiler printed, mostly warnings; empty if nothing.
    pub messages: String,
}

/// Why there is no module.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// The end of the file's name says nothing about its language.
    UnknownLanguage(PathBuf),
    /// A file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// There is no clang.
    NoClang {
        /// A variable that names another compiler.
        passed_over: Option<String>,
    },
    /// There is no rustc.
    NoRustc {
        /// The program that was tried.
        program: String,
    },
    /// A program that a variable names cannot be run.
    CannotRun {
        /// The variable.
        variable: String,
        /// The program.
        program: String,
    },
    /// A compiler is too old.
    TooOld {
        /// The compiler.
        program: String,
        /// The version of LLVM that it has.
        version: u32,
    },
    /// The file does not compile.
    Rejected {
        /// The file.
        path: PathBuf,
        /// The compiler.
        program: String,
        /// What the compiler printed.
        messages: String,
    },
    /// `compile_commands.json` cannot be used.
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The IR cannot be read or linked.
    Ir(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let oldest = tools::OLDEST;
        match self {
            Failure::UnknownLanguage(path) => write!(
                f,
                "{}: not a source that can be compiled: its name should end in .c, .cc, .cpp, .cxx, .rs or .ll",
                path.display()
            ),
            Failure::Unreadable { path, message } => {
                write!(f, "{}: cannot be read: {message}", path.display())
            }
            Failure::NoClang { passed_over } => {
                write!(f, "no clang found: ")?;
                if let Some(other) = passed_over {
                    write!(f, "{other} is another compiler, which makes no LLVM IR; ")?;
                }
                write!(
                    f,
                    "install clang {oldest} or newer (Debian, Ubuntu: apt install clang; Fedora: dnf install clang; \
                     macOS: xcode-select --install), or name one in CC"
                )
            }
            Failure::NoRustc { program } => write!(
                f,
                "cannot run {program}: install Rust (https://rustup.rs), or name a compiler in RUSTC"
            ),
            Failure::CannotRun { variable, program } => {
                write!(f, "cannot run {program}, which the variable {variable} names")
            }
            Failure::TooOld { program, version } => {
                write!(f, "{program} has LLVM {version}: version {oldest} or newer is needed")
            }
            Failure::Rejected { path, program, messages } => {
                write!(f, "{}: {program} does not compile it", path.display())?;
                match messages.trim_end() {
                    "" => Ok(()),
                    messages => write!(f, ":\n{messages}"),
                }
            }
            Failure::Database { path, message } => write!(f, "{}: {message}", path.display()),
            Failure::Ir(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Ir(error)
    }
}

/// Compiles files and links them into one module.
pub fn load(files: &[PathBuf], options: &Options) -> Result<Compiled, Failure> {
    let mut modules = Vec::new();
    let mut warnings = Vec::new();
    let mut messages = String::new();
    for file in files {
        let one = compile(file, options)?;
        modules.push(one.module);
        warnings.extend(one.warnings);
        messages.push_str(&one.messages);
    }
    Ok(Compiled { module: Module::link(modules)?, warnings, messages })
}

/// Compiles one file, or reads it if it is IR.
pub fn compile(file: &Path, options: &Options) -> Result<Compiled, Failure> {
    let language = Language::of(file).ok_or_else(|| Failure::UnknownLanguage(file.to_owned()))?;
    if let Err(error) = std::fs::File::open(file) {
        return Err(Failure::Unreadable { path: file.to_owned(), message: error.to_string() });
    }
    let environment = |variable: &str| std::env::var_os(variable);
    let (mut module, messages) = match language {
        Language::Ir => (crate::reader::read(file)?, String::new()),
        Language::Rust => rust(file, &tools::rustc(&environment)?, options)?,
        Language::C | Language::Cxx => c(file, &tools::clang(language, &environment)?, options)?,
    };
    let mut warnings = Vec::new();
    let why = match module.optimised {
        Some(Optimised::CompileUnit) => Some("its debug information says so"),
        Some(Optimised::Annotations) => Some("it has annotations for the optimiser"),
        None => None,
    };
    if let (Language::Ir, Some(why)) = (language, why) {
        warnings.push(format!(
            "{}: compiled with optimisation ({why}): accesses of the source may be missing; compile with -O0 -g, or \
             give the source itself",
            file.display()
        ));
    }
    // What was compiled here was not optimised, whatever marks it has.
    if language != Language::Ir {
        module.optimised = None;
    }
    Ok(Compiled { module, warnings, messages })
}

fn cannot_run(tool: &Tool, error: &std::io::Error) -> Failure {
    let path = tool.name().into();
    Failure::Unreadable { path, message: format!("cannot be run: {error}") }
}

/// A folder that is removed after use.
fn folder() -> Result<tempfile::TempDir, Failure> {
    let wrong = |error: std::io::Error| Failure::Unreadable {
        path: std::env::temp_dir(),
        message: error.to_string(),
    };
    tempfile::Builder::new().prefix("fencepost-").tempdir().map_err(wrong)
}

/// Reads what a compiler made of a file.
fn made(file: &Path, tool: &Tool, ir: &Path) -> Result<Module, Failure> {
    let text = std::fs::read(ir).map_err(|error| Failure::Rejected {
        path: file.to_owned(),
        program: tool.name(),
        messages: format!("it made no IR: {error}"),
    })?;
    let name = format!("{} (LLVM IR by {})", file.display(), tool.name());
    Ok(crate::reader::parse(&name, &String::from_utf8_lossy(&text))?)
}

fn rejected(file: &Path, tool: &Tool, output: &Output) -> Failure {
    Failure::Rejected {
        path: file.to_owned(),
        program: tool.name(),
        messages: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// How C++ is compiled. Without a race detector in sight, libstdc++'s `shared_ptr` reads two counters of 4 bytes as one
/// atomic number of 8, which no memory model gives a meaning to. With assertions, the code
/// of `std::string` is in the module and not in the library; and an index that is out of range is found where it is used.
const CXX_FLAGS: [&str; 2] = ["-D_GLIBCXX_TSAN=1", "-D_GLIBCXX_ASSERTIONS=1"];

/// Without optimisation, compilers mark where the variables of inner blocks begin and end only if a sanitizer wants to know.
const MARKS: [&str; 2] = ["-Xclang", "-fsanitize-address-use-after-scope"];

fn c(file: &Path, tool: &Tool, options: &Options) -> Result<(Module, String), Failure> {
    let folder = folder()?;
    let ir = folder.path().join("module.ll");
    let flags = options.database.as_ref().map(|place| database::flags(place, file)).transpose()?;
    let mut left_out: Vec<String> = Vec::new();
    loop {
        let mut command = tool.command();
        if let Some(flags) = &flags {
            let kept = flags.arguments.iter().filter(|flag| !left_out.contains(flag));
            command.current_dir(&flags.directory).args(kept);
        }
        if Language::of(file) == Some(Language::Cxx) {
            command.args(CXX_FLAGS);
        }
        command.args(&options.flags);
        // Last, so that they win over `-O2` among the user's flags.
        command.args(["-O0", "-Xclang", "-disable-O0-optnone", "-g", "-S", "-emit-llvm"]);
        command.args(MARKS);
        // The name is printed in messages: it stays as the user wrote it unless the folder changes.
        let name = match &flags {
            Some(_) => std::path::absolute(file).unwrap_or_else(|_| file.to_owned()),
            None => file.to_owned(),
        };
        command.arg("-o").arg(&ir).arg("--").arg(name);
        let output = command.output().map_err(|error| cannot_run(tool, &error))?;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok((made(file, tool, &ir)?, messages));
        }
        // Databases of projects that are built with gcc have flags that clang does not know.
        let unknown = flags.iter().flat_map(|flags| unknown_flags(&messages, &flags.arguments));
        let unknown: Vec<String> = unknown.filter(|flag| !left_out.contains(flag)).collect();
        if unknown.is_empty() {
            return Err(rejected(file, tool, &output));
        }
        left_out.extend(unknown);
    }
}

/// The flags that clang says it does not know.
fn unknown_flags(messages: &str, flags: &[String]) -> Vec<String> {
    let quoted = messages
        .lines()
        .filter(|line| line.contains("unknown argument") || line.contains("unsupported option"))
        .filter_map(|line| line.split('\'').nth(1));
    quoted.filter(|flag| flags.iter().any(|it| it == flag)).map(str::to_string).collect()
}

/// How Rust is compiled. A panic ends the program, so that there is no unwinding to follow. Some options that stable
/// compilers do not offer otherwise (hence `RUSTC_BOOTSTRAP`) keep generic code of the standard library in the module
/// instead of referring to copies in the library, and keep the compiler from optimising before LLVM does; a third lets tests
/// end at a panic, too.
pub const RUST_FLAGS: [&str; 9] = [
    "--emit=llvm-ir",
    "-Cdebuginfo=2",
    "-Copt-level=0",
    "-Ccodegen-units=1",
    "-Cpanic=abort",
    "-Csymbol-mangling-version=v0",
    "-Zshare-generics=no",
    "-Zmir-opt-level=0",
    "-Zpanic-abort-tests",
];

fn rust(file: &Path, tool: &Tool, options: &Options) -> Result<(Module, String), Failure> {
    let folder = folder()?;
    let ir = folder.path().join("module.ll");
    let run = |library: bool| {
        let mut command: Command = tool.command();
        let says =
            |flag: &str| options.flags.iter().any(|it| it.to_string_lossy().starts_with(flag));
        if !says("--edition") {
            command.arg("--edition=2021");
        }
        if library {
            command.arg("--crate-type=lib");
        }
        command.args(&options.flags);
        command.args(RUST_FLAGS).env("RUSTC_BOOTSTRAP", "1");
        command.arg("-o").arg(&ir).arg(file);
        command.output().map_err(|error| cannot_run(tool, &error))
    };
    let mut output = run(false)?;
    // A file without `main` is a library.
    if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("[E0601]") {
        output = run(true)?;
    }
    if !output.status.success() {
        return Err(rejected(file, tool, &output));
    }
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((made(file, tool, &ir)?, messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_what_to_do() {
        let none = Failure::NoClang { passed_over: None }.to_string();
        assert!(none.starts_with(
            "no clang found: install clang 14 or newer (Debian, Ubuntu: apt install clang;"
        ));
        let gcc = Failure::NoClang { passed_over: Some("CC=gcc".into()) }.to_string();
        assert!(gcc.starts_with(
            "no clang found: CC=gcc is another compiler, which makes no LLVM IR; install"
        ));
        let old = Failure::TooOld { program: "clang".into(), version: 11 };
        assert_eq!(old.to_string(), "clang has LLVM 11: version 14 or newer is needed");
        let rejected = Failure::Rejected {
            path: "a.c".into(),
            program: "clang".into(),
            messages: "a.c:1:1: error: unknown type name 'x'\n".into(),
        };
        let said = "a.c: clang does not compile it:\na.c:1:1: error: unknown type name 'x'";
        assert_eq!(rejected.to_string(), said);
    }

    #[test]
    fn flags_that_clang_does_not_know_are_found() {
        let messages = "clang: error: unknown argument: '-fmade-up'\n\
                        clang: error: unsupported option '-mother' for target 'x86_64'\n\
                        a.c:1:1: error: unknown argument: '-not-ours'";
        let flags = ["-fmade-up", "-mother", "-DX"].map(String::from);
        assert_eq!(unknown_flags(messages, &flags), ["-fmade-up", "-mother"]);
    }
}
