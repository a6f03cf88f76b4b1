//! C, C++, Rust and LLVM IR on the command line: which files make up a program, and how they are compiled.
//!
//! A file that defines `main` is a program. Files without `main` that are named along with it are part of it, and if
//! several programs are named, of each of them. If no file has a `main`, all of them are one program, and `--entry`
//! says what its threads run.

use crate::inputs::{self, Unusable};
use crate::quantity;
use check::{Model, Property, Question};
use clap::Args;
use fencepost::code;
use lang::source::File;
use lang::{Diagnostic, Source, Span, codes};
use llvm::Module;
use llvm::compile::{Compiled, Failure, Language, Options, compile};
use repair::Changed;
use search::Progress;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use vm::{Entry, Stub};

/// Options for programs in C, C++, Rust and LLVM IR.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CodeArgs {
    /// C, C++, Rust: functions that run as threads, in place of `main`
    #[arg(long, value_name = "FUNCTIONS", value_delimiter = ',')]
    pub entry: Vec<String>,
    /// C, C++, Rust: what a function does that no file defines: NAME=ignore (returns 0), NAME=7 (returns 7), NAME=stop
    /// (never returns)
    #[arg(long, value_name = "NAME=WHAT", value_parser = quantity::stub)]
    pub stub: Vec<(String, Stub)>,
    /// C, C++: take volatile accesses for relaxed atomic ones, as code means them that was written before there were
    /// atomics
    #[arg(long)]
    pub volatile_atomic: bool,
    /// C, C++: take compiler flags from compile_commands.json in this directory
    #[arg(short = 'p', long = "compile-commands", value_name = "DIR")]
    pub compile_commands: Option<PathBuf>,
    /// C, C++, Rust: more flags for the compiler
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<OsString>,
}

impl CodeArgs {
    /// Is this a header of the system, or one that the user tells the compiler to take for one?
    pub(crate) fn is_system(&self, file: &str) -> bool {
        let whole =
            |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let file = whole(Path::new(file));
        let is_option = |flag: &str| ["-isystem", "-idirafter"].contains(&flag);
        let flags: Vec<&str> = self.flags.iter().filter_map(|flag| flag.to_str()).collect();
        let next = flags.windows(2).filter(|pair| is_option(pair[0])).map(|pair| pair[1]);
        let joined = flags.iter().filter_map(|flag| flag.strip_prefix("-isystem"));
        let folders = next.chain(joined).filter(|folder| !folder.is_empty());
        ["/usr", "/rustc"].iter().any(|folder| file.starts_with(folder))
            || folders.into_iter().any(|folder| file.starts_with(whole(Path::new(folder))))
    }
}

/// A program in C, C++, Rust or LLVM IR.
pub(crate) struct Program {
    /// The file that messages name: the one with `main`.
    pub file: PathBuf,
    module: Result<Module, Unusable>,
    warnings: Vec<String>,
    /// If it is one test of many in the file: its name, and the path of its function.
    test: Option<(String, String)>,
    /// How often its loops go round at most, if the user limits that.
    pub rounds: Option<u32>,
}

/// What threads of a program may read while they are discovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// What some interleaving lets them read.
    Interleavings,
    /// Every value that interleavings put into the cell, wherever the thread is, so that it can be followed on a weak
    /// memory.
    SeenAnywhere,
    /// The same, and final values of global variables are looked at.
    Observed,
}

/// Is the file compiled rather than read?
pub(crate) fn is_code(file: &Path) -> bool {
    Language::of(file).is_some()
}

/// The programs that files make up. What the compiler says of a file that it does not compile is shown.
pub(crate) fn programs(files: &[PathBuf], args: &CodeArgs) -> Vec<Program> {
    programs_that(files, args, &|messages| crate::terminal::complain(messages))
}

/// The same, with what is done with the compiler's messages.
fn programs_that(files: &[PathBuf], args: &CodeArgs, say: &dyn Fn(&str)) -> Vec<Program> {
    let options = Options { flags: args.flags.clone(), database: args.compile_commands.clone() };
    let (mut mains, mut parts, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        match compile(file, &options) {
            Ok(compiled) if defines_main(&compiled.module) => mains.push((file.clone(), compiled)),
            Ok(compiled) => parts.push((file.clone(), compiled)),
            Err(why) => refused.push(Program {
                file: file.clone(),
                module: Err(unusable(file, &why, say)),
                warnings: Vec::new(),
                test: None,
                rounds: None,
            }),
        }
    }
    if mains.is_empty() && !parts.is_empty() {
        mains.push(parts.remove(0));
    }
    let linked = mains.into_iter().map(|(file, main)| {
        let all = std::iter::once(&main).chain(parts.iter().map(|(_, part)| part));
        let warnings = all.flat_map(|one: &Compiled| one.warnings.clone()).collect();
        let mut modules = vec![main.module];
        modules.extend(parts.iter().map(|(_, part)| part.module.clone()));
        let module = match modules.len() {
            1 => Ok(modules.remove(0)),
            _ => Module::link(modules).map_err(|error| unusable(&file, &Failure::Ir(error), say)),
        };
        Program { file, module, warnings, test: None, rounds: None }
    });
    linked.chain(refused).collect()
}

/// The program of `files` that `file` has the `main` of, with some files changed that it is made of: those are compiled in place
/// of what is on the disk.
pub(crate) fn recompiled(
    files: &[PathBuf],
    file: &Path,
    changed: &[Changed],
    args: &CodeArgs,
) -> Result<Program, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut roots = Vec::new();
    let mut main = file.to_path_buf();
    for (number, change) in changed.iter().enumerate() {
        let path = Path::new(&change.name);
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let end = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let copy = folder.path().join(number.to_string());
        std::fs::create_dir(&copy).map_err(|error| error.to_string())?;
        let copy = copy.join(end);
        std::fs::write(&copy, &change.after).map_err(|error| error.to_string())?;
        if Language::of(file) == Some(Language::Rust) {
            // rustc reads no file in place of another; a program of one file needs no more.
            if changed.len() > 1 || !same_file(&path, file) {
                return Err(
                    "it has several files, and rustc can be given another text for one only".into(),
                );
            }
            main = copy;
        } else {
            roots.push(serde_json::json!({
                "name": path, "type": "file", "external-contents": copy, "use-external-name": false,
            }));
        }
    }
    let mut args = args.clone();
    let mut files = files.to_vec();
    if !roots.is_empty() {
        let overlay = folder.path().join("overlay.yaml");
        let text = serde_json::json!({ "version": 0, "roots": roots }).to_string();
        std::fs::write(&overlay, text).map_err(|error| error.to_string())?;
        args.flags.push("-ivfsoverlay".into());
        args.flags.push(overlay.into());
    }
    for other in &mut files {
        // The compiler knows files of the overlay by their whole paths.
        *other = match same_file(other, file) {
            true => main.clone(),
            false => other.clone(),
        };
        *other = std::fs::canonicalize(&*other).unwrap_or_else(|_| other.clone());
    }
    let main = std::fs::canonicalize(&main).unwrap_or(main);
    // A text that does not compile is no text of the user's: the first of its errors says enough.
    let first = RefCell::new(None);
    let say = |messages: &str| {
        let error = messages.lines().find(|line| line.contains("error"));
        first.borrow_mut().get_or_insert(error.unwrap_or_default().to_string());
    };
    let program = programs_that(&files, &args, &say).into_iter().find(|one| one.file == main);
    let program = program.ok_or("it does not compile")?;
    match &program.module {
        Ok(_) => Ok(program),
        Err(unusable) => {
            let error = first.take().filter(|error| !error.is_empty());
            Err(error
                .map_or(unusable.summary(), |error| format!("{}: {error}", unusable.summary())))
        }
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    whole(one).is_some() && whole(one) == whole(other)
}

fn defines_main(module: &Module) -> bool {
    module.function_named("main").is_some_and(|main| !module.function(main).is_declaration())
}

fn unusable(file: &Path, why: &Failure, say: &dyn Fn(&str)) -> Unusable {
    let name = inputs::name(file);
    // What the compiler says is the user's to read as it is.
    let text = match why {
        Failure::Rejected { program, messages, .. } => {
            say(messages);
            format!("{program} does not compile it")
        }
        why => why.to_string(),
    };
    // What is wrong is said once: messages start with the file's name anyway.
    let text = text.strip_prefix(&format!("{name}: ")).unwrap_or(&text).to_string();
    Unusable { name, text: String::new(), why: vec![Diagnostic::error(codes::CODE, text)] }
}

impl Program {
    /// The program that runs one test of a crate; `function` is its path.
    pub(crate) fn of_test(file: &Path, module: Module, name: String, function: String) -> Self {
        let (file, test) = (file.to_path_buf(), Some((name, function)));
        Program { file, module: Ok(module), warnings: Vec::new(), test, rounds: None }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        match &self.test {
            Some((name, _)) => name.clone(),
            None => inputs::name(&self.file),
        }
    }

    /// All that the program's threads can do in interleavings, and beyond as far as `reads` says; on machines with store
    /// buffers, whatever they read, unless the question is about robustness.
    pub(crate) fn discover(
        &self,
        args: &CodeArgs,
        question: &Question,
        reads: Reads,
        observe: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Source, Unusable> {
        let entry = Entry {
            functions: match &self.test {
                Some((_, function)) => vec![function.clone()],
                None => args.entry.clone(),
            },
            stubs: args.stub.clone(),
            beyond_interleavings: question.model.machine().is_some()
                && (reads != Reads::Interleavings || question.property != Property::Robustness),
            beyond_seen_values: match reads {
                Reads::Interleavings => false,
                Reads::SeenAnywhere => true,
                Reads::Observed => question.model != Model::Sc,
            },
            volatile_atomic: args.volatile_atomic,
            rounds: self.rounds,
            observed: reads == Reads::Observed,
            every_state: question.property == Property::ObservationalRobustness,
            every_interleaving: !question.reductions.partial_order,
        };
        let name = inputs::name(&self.file);
        let mut source =
            code::discover(&name, self.module.clone()?, &entry, question.limits, observe).map_err(
                |error| Unusable { name: error.name, text: error.text, why: error.diagnostics },
            )?;
        let warnings =
            self.warnings.iter().map(|text| Diagnostic::warning(codes::CODE_NOTE, text.clone()));
        source.warnings.extend(warnings);
        if let Some((test, _)) = &self.test {
            // Places are in files; the answer is about the test.
            if source.files.is_empty() {
                let span = Span::new(0, source.text.len());
                source.files = vec![File { name: std::mem::take(&mut source.name), span }];
            }
            source.name = test.clone();
        }
        Ok(source)
    }
}
