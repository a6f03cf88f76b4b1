//! Finds the files that the arguments name, and reads the program in each.

use crate::args::InputName;
use crate::exit::Exit;
use check::Model;
use lang::litmus::Architecture;
use lang::{Diagnostic, Source};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How names of programs end.
const EXTENSIONS: [&str; 3] = ["fp", "tpl", "litmus"];

/// The files that the arguments stand for, and what is wrong with those that stand for none.
/// Directories are searched, in order of names, and patterns that the shell left alone are expanded.
pub(crate) fn expand(arguments: &[PathBuf]) -> (Vec<PathBuf>, Vec<Unusable>) {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut unusable = Vec::new();
    for argument in arguments {
        let found = match one(argument) {
            Ok(found) => found,
            Err(why) => {
                let why = Diagnostic::error(report::codes::UNREADABLE, why);
                unusable.push(Unusable::new(argument, String::new(), vec![why]));
                continue;
            }
        };
        for file in found {
            // Reading from a pipe or a device that only happens to be there might never end.
            if is_special(&file) && file != *argument {
                let why = "not a regular file, so it is not read unless it is named itself";
                let why = Diagnostic::error(report::codes::UNREADABLE, why);
                unusable.push(Unusable::new(&file, String::new(), vec![why]));
            } else if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    (files, unusable)
}

/// A file or argument that cannot be checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unusable {
    /// What messages call it.
    pub name: String,
    /// Its text, as far as there is any.
    pub text: String,
    /// Why not.
    pub why: Vec<Diagnostic>,
}

impl Unusable {
    /// What is wrong with the file or argument `path`.
    pub(crate) fn new(path: &Path, text: String, why: Vec<Diagnostic>) -> Self {
        Unusable { name: name(path), text, why }
    }

    /// Why it cannot be checked, in a few words.
    pub(crate) fn summary(&self) -> String {
        self.why.first().map_or_else(String::new, |why| why.message.clone())
    }

    /// The exit code for it.
    pub(crate) fn exit(&self) -> Exit {
        let has = |code: &str| self.why.iter().any(|why| why.code == code);
        match () {
            () if has(report::codes::INTERNAL) => Exit::Internal,
            () if has(lang::codes::UNFINISHED) => Exit::Undecided,
            () => Exit::BadInput,
        }
    }
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "<stdin>".to_string(),
        _ => path.display().to_string(),
    }
}

/// Is it a pipe, a socket or a device?
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

fn one(argument: &Path) -> Result<Vec<PathBuf>, String> {
    if argument.is_dir() {
        let mut found = Vec::new();
        walk(argument, &mut found)
            .map_err(|error| format!("cannot search the directory: {error}"))?;
        return match found.is_empty() {
            true => Err("no programs in this directory: none of its files ends in .fp, .tpl or \
                         .litmus"
                .into()),
            false => Ok(found),
        };
    }
    let text = argument.to_string_lossy();
    if !argument.exists() && text.contains(['*', '?', '[']) {
        return matching(&text);
    }
    Ok(vec![argument.to_path_buf()])
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let paths = glob::glob(pattern).map_err(|error| format!("not a pattern: {error}"))?;
    let mut found = Vec::new();
    for path in paths.flatten() {
        match path.is_dir() {
            true => walk(&path, &mut found)
                .map_err(|error| format!("cannot search {}: {error}", path.display()))?,
            false => found.push(path),
        }
    }
    match found.is_empty() {
        true => Err("no file matches this pattern".into()),
        false => Ok(found),
    }
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        // A link to a directory could lead round in circles.
        if entry.is_dir() {
            if !entry.is_symlink() {
                walk(&entry, found)?;
            }
        } else if entry.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known)) {
            found.push(entry);
        }
    }
    Ok(())
}

/// The program in a file, or on standard input for `-`; its content tells the language.
pub(crate) fn load(path: &Path) -> Result<Source, Unusable> {
    load_as(path, None)
}

/// The program in a file, in this language.
pub(crate) fn load_as(path: &Path, language: Option<InputName>) -> Result<Source, Unusable> {
    let bytes = read(path).map_err(|why| Unusable::new(path, String::new(), vec![why]))?;
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let parsed = match (language, text) {
        (None, Some(text)) => lang::parse_any(&name(path), text),
        (Some(InputName::Trencher), Some(text)) => lang::trencher::parse(&name(path), text),
        (Some(InputName::Litmus), Some(text)) => lang::litmus::parse(&name(path), text),
        _ => lang::parse_bytes(&name(path), &bytes),
    };
    parsed.map_err(|why| {
        let text = String::from_utf8(bytes).unwrap_or_default();
        Unusable::new(path, text, why)
    })
}

/// The model to use for a program if the user asked for `asked`, or `given` nothing: x86 is TSO.
pub(crate) fn model_for(source: &Source, asked: Model, given: bool) -> Result<Model, Diagnostic> {
    let x86 = source.litmus.as_ref().is_some_and(|test| test.architecture != Architecture::C);
    match asked {
        Model::Tso | Model::Sc => Ok(asked),
        _ if !x86 => Ok(asked),
        _ if !given => Ok(Model::Tso),
        _ => {
            let message = format!("x86 instructions mean nothing to the {} model", asked.name());
            let help = "they have no memory orders: use --model tso, which is the default, or sc";
            Err(Diagnostic::error(lang::codes::UNSUPPORTED, message).with_help(help))
        }
    }
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Diagnostic> {
    String::from_utf8(read(path)?).map_err(|_| {
        Diagnostic::error(lang::codes::NOT_TEXT, "not a text file: programs are UTF-8")
    })
}

/// The bytes of a file. One that is too large for a program is not read to its end.
fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let most = lang::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let result = match path.to_str() {
        Some("-") => io::stdin().lock().take(most).read_to_end(&mut bytes),
        _ => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    match result {
        Ok(_) if bytes.len() as u64 == most => {
            let message = "the file is too large to be a program";
            let help = format!("programs have at most {} MiB", lang::MAX_BYTES >> 20);
            Err(Diagnostic::error(lang::codes::LIMIT, message).with_help(help))
        }
        Ok(_) => Ok(bytes),
        Err(error) => {
            let message = format!("cannot read the file: {}", plain(&error));
            Err(Diagnostic::error(report::codes::UNREADABLE, message))
        }
    }
}

/// The error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
