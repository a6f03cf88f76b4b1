//! `fencepost.toml`: what `fencepost check` alone means in a project.
//!
//! The file names the programs, what they are checked against, limits, what is known and which verdicts are expected:
//!
//! ```toml
//! files = ["src/*.c"]              # each file with `main` is a program; the others are linked to each
//! model = ["rc11", "tso"]          # settings for all programs ...
//! flags = ["-Iinclude"]
//!
//! [limits]
//! time = "1m"
//!
//! [[program]]                      # ... and one more program, with settings of its own
//! files = ["src/ring.c"]
//! entry = ["producer", "consumer"]
//! expect = { robustness = "violated" }
//!
//! [[suppress]]
//! kind = "race"
//! where = "src/statistics.c"
//! reason = "approximate on purpose"
//! ```
//!
//! It is looked for in the current folder and the folders above it. Paths in it are relative to its own folder, and so
//! are those in answers. [`read`] decodes the file and points at what is wrong in it; this module turns what it says into
//! arguments of `check`, one [`Task`] for each program and model. Options on the command line come on top: a model or a limit
//! replaces the file's, everything else adds to it.

mod read;

use crate::args::{Check, ModelName, RequireName};
use crate::inputs;
use crate::known::Suppression;
use crate::terminal;
use lang::Diagnostic;
use report::Ruling;
use report::codes;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vm::Stub;

/// The file's name.
pub(crate) const NAME: &str = "fencepost.toml";

/// Programs to be checked in one way.
pub(crate) struct Task {
    pub args: Check,
    pub files: Vec<PathBuf>,
    pub expected: BTreeMap<String, Ruling>,
}

/// What a project's file says.
#[derive(Debug, Default)]
struct Project {
    /// What is said for all programs; its files are programs of their own.
    common: Settings,
    programs: Vec<Settings>,
    limits: Limits,
    suppressions: Vec<Suppression>,
}

/// Files, and how they are checked.
#[derive(Clone, Debug, Default)]
struct Settings {
    /// Files and patterns, each with its place.
    files: Vec<(String, Range<usize>)>,
    model: Vec<ModelName>,
    require: Option<RequireName>,
    liveness: Option<bool>,
    observational: Option<bool>,
    stale: Option<u8>,
    unroll: Option<u32>,
    entry: Vec<String>,
    flags: Vec<OsString>,
    compile_commands: Option<PathBuf>,
    volatile_atomic: Option<bool>,
    stubs: Vec<(String, Stub)>,
    expected: BTreeMap<String, Ruling>,
}

#[derive(Clone, Debug, Default)]
struct Limits {
    states: Option<u64>,
    memory: Option<u64>,
    time: Option<Duration>,
}

/// Why there is nothing to check, with the text that messages point into.
pub(crate) struct Refusal {
    pub name: String,
    pub text: String,
    pub why: Vec<Diagnostic>,
}

impl Refusal {
    fn without_text(name: &str, why: Diagnostic) -> Self {
        Refusal { name: name.to_string(), text: String::new(), why: vec![why] }
    }
}

/// What `fencepost check` without files means here: the tasks and what is suppressed. Changes the current folder to the
/// project's.
pub(crate) fn tasks(args: &Check) -> Result<(Vec<Task>, Vec<Suppression>), Refusal> {
    let path = match &args.config {
        Some(path) => path.clone(),
        None => find().ok_or_else(nothing)?,
    };
    let name = inputs::name(&path);
    let text = inputs::text(&path).map_err(|why| Refusal::without_text(&name, why))?;
    let refuse = |why: Vec<Diagnostic>| Refusal { name: name.clone(), text: text.clone(), why };
    let project = read::read(&text, &name).map_err(refuse)?;

    let mut args = Check { config: Some(path.clone()), ..args.clone() };
    // Of files on the command line and files to write, the user speaks as seen from where the command was given.
    let absolute = |path: &mut PathBuf| {
        if let Ok(whole) = std::path::absolute(&*path) {
            *path = whole;
        }
    };
    args.inputs.iter_mut().for_each(absolute);
    let faces = &mut args.faces;
    let known = &mut args.known;
    [&mut faces.html, &mut faces.svg, &mut faces.dot, &mut faces.sarif, &mut faces.junit]
        .into_iter()
        .chain([&mut known.suppressions, &mut known.baseline, &mut known.write_baseline])
        .chain([&mut args.code.compile_commands])
        .flatten()
        .for_each(absolute);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        std::env::set_current_dir(folder).map_err(|error| {
            let message = format!("cannot go to the project's folder: {error}");
            Refusal::without_text(&name, Diagnostic::error(codes::PROJECT, message))
        })?;
    }

    let (mut tasks, mut wrong) = (Vec::new(), Vec::new());
    let Project { common, programs, limits, suppressions } = project;
    for settings in std::iter::once(&common).chain(&programs) {
        if settings.files.is_empty() {
            continue;
        }
        match settings.expand() {
            Ok(files) => {
                if args.inputs.is_empty() || files.iter().any(|file| named(file, &args.inputs)) {
                    match settings.tasks(&common, &limits, &args, &files) {
                        Ok(more) => tasks.extend(more),
                        Err(why) => wrong.push(why),
                    }
                }
            }
            Err(why) => wrong.extend(why),
        }
    }
    if !wrong.is_empty() {
        return Err(refuse(wrong));
    }
    if common.files.is_empty() && programs.is_empty() {
        let why = Diagnostic::error(codes::PROJECT, "the project has no sources").with_help(
            "name them: `files = [\"src/*.c\"]`, or a `[[program]]` with `files` of its own",
        );
        return Err(refuse(vec![why]));
    }
    if tasks.is_empty() {
        let files: Vec<String> = args.inputs.iter().map(|file| inputs::name(file)).collect();
        terminal::complain(&format!("note: no program of {name} has {}", files.join(" or ")));
    }
    Ok((tasks, suppressions))
}

/// The project's file: in this folder or one above it.
fn find() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    if here.join(NAME).is_file() {
        return Some(PathBuf::from(NAME));
    }
    here.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

fn nothing() -> Refusal {
    let message =
        format!("nothing to check: no file is named, and no folder from here up has a {NAME}");
    let help = format!(
        "`fencepost check FILE` checks a file; with `files = [\"src/*.c\"]` in {NAME}, `fencepost check` alone is enough"
    );
    Refusal::without_text(
        "fencepost check",
        Diagnostic::error(codes::PROJECT, message).with_help(help),
    )
}

/// Is the file one of those that the user named?
fn named(file: &Path, inputs: &[PathBuf]) -> bool {
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    let file = whole(file);
    file.is_some() && inputs.iter().any(|input| whole(input) == file)
}

impl Settings {
    /// The files that its patterns stand for.
    fn expand(&self) -> Result<Vec<PathBuf>, Vec<Diagnostic>> {
        let (mut files, mut wrong) = (Vec::new(), Vec::new());
        for (pattern, span) in &self.files {
            let (found, unusable) = inputs::expand(&[PathBuf::from(pattern)]);
            let missing = found.iter().find(|file| !file.exists());
            for why in unusable.iter().flat_map(|unusable| &unusable.why) {
                wrong.push(at(span, why.message.clone()));
            }
            if missing.is_some() {
                wrong.push(at(span, "there is no such file".to_string()));
            }
            for file in found {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        if wrong.is_empty() { Ok(files) } else { Err(wrong) }
    }

    /// A task for each model; or what a model gives no meaning to, so that nobody believes it was looked at.
    fn tasks(
        &self,
        common: &Settings,
        limits: &Limits,
        given: &Check,
        files: &[PathBuf],
    ) -> Result<Vec<Task>, Diagnostic> {
        let mut args = given.clone();
        args.inputs = files.to_vec();
        if self.require.or(common.require) == Some(RequireName::Safe) {
            args.require = RequireName::Safe;
        }
        args.liveness |= self.liveness.or(common.liveness).unwrap_or(false);
        args.observational |= self.observational.or(common.observational).unwrap_or(false);
        args.stale = given.stale.or(self.stale).or(common.stale);
        args.unroll = given.unroll.or(self.unroll).or(common.unroll);
        let from_file = [&common.flags[..], &self.flags[..]];
        // What is common is not said twice where it is all there is.
        let own = std::ptr::eq(self, common);
        let mut flags = if own { self.flags.clone() } else { from_file.concat() };
        flags.extend(given.code.flags.iter().cloned());
        args.code.flags = flags;
        if args.code.entry.is_empty() {
            args.code.entry.clone_from(&self.entry);
        }
        if args.code.compile_commands.is_none() {
            let database = self.compile_commands.as_ref().or(common.compile_commands.as_ref());
            args.code.compile_commands = database.cloned();
        }
        args.code.volatile_atomic |=
            self.volatile_atomic.or(common.volatile_atomic).unwrap_or(false);
        // The first that is said about a function counts.
        args.code.stub.extend(self.stubs.iter().chain(&common.stubs).cloned());
        let search = &mut args.search.limits;
        search.limit_states = search.limit_states.or(limits.states);
        search.limit_memory = search.limit_memory.or(limits.memory);
        search.limit_time = search.limit_time.or(limits.time);
        let expected = if self.expected.is_empty() { &common.expected } else { &self.expected };
        let models = match (given.model, &self.model[..], &common.model[..]) {
            (Some(model), _, _) => vec![Some(model)],
            (None, [], []) => vec![None],
            (None, [], common) => common.iter().copied().map(Some).collect(),
            (None, own, _) => own.iter().copied().map(Some).collect(),
        };
        let task = |model: Option<ModelName>| {
            let mut args = Check { model, ..args.clone() };
            let checked = model.map_or(check::Model::Rc11, ModelName::model);
            let meant = [
                ("observational", args.observational, checked.has_stale_reads()),
                ("liveness", args.liveness, checked.machine().is_none()),
            ];
            if let Some((key, ..)) = meant.iter().find(|(_, asked, known)| *asked && !known) {
                let (file, model) = (&self.files[0], checked.name());
                let message = format!("`{key}` means nothing with the model {model}");
                let help = "give the program models of its own, in a `[[program]]`";
                return Err(at(&file.1, message).with_help(help));
            }
            // How the weak memory is explored does not matter where there is none.
            if !checked.has_stale_reads() {
                args.require = RequireName::Robust;
                args.stale = None;
            }
            Ok(Task { args, files: files.to_vec(), expected: expected.clone() })
        };
        models.into_iter().map(task).collect()
    }
}

/// A complaint about a place in the project's file.
fn at(span: &Range<usize>, message: String) -> Diagnostic {
    let span = lang::Span::new(span.start, span.end);
    Diagnostic::error(codes::PROJECT, message).with_label(span, "")
}
