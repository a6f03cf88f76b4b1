//! Which files the arguments mean, and what is in them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How names of programs end.
const EXTENSIONS: [&str; 2] = ["fp", "tpl"];

/// The files that the arguments stand for, and what is wrong with those that stand for none.
/// Directories are searched, in order of names, and patterns that the shell left alone are expanded.
pub fn expand(arguments: &[PathBuf]) -> (Vec<PathBuf>, Vec<Unusable>) {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut unusable = Vec::new();
    for argument in arguments {
        let found = match one(argument) {
            Ok(found) => found,
            Err(why) => {
                unusable.push(Unusable { name: name(argument), why });
                continue;
            }
        };
        for file in found {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    (files, unusable)
}

/// An argument that stands for nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unusable {
    /// The argument.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// What messages call a file.
pub fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "<stdin>".to_string(),
        _ => path.display().to_string(),
    }
}

fn one(argument: &Path) -> Result<Vec<PathBuf>, String> {
    if argument.is_dir() {
        let mut found = Vec::new();
        walk(argument, &mut found)
            .map_err(|error| format!("cannot search the directory: {error}"))?;
        return match found.is_empty() {
            true => {
                Err("no programs in this directory: none of its files ends in .fp or .tpl".into())
            }
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

/// The bytes of a file, or of standard input for `-`. Of a file that is too large for a program, only
/// so much is read that this shows.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let most = lang::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let result = match path.to_str() {
        Some("-") => io::stdin().lock().take(most).read_to_end(&mut bytes),
        _ => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    match result {
        Ok(_) if bytes.len() as u64 == most => Err(format!(
            "the file is too large: programs have at most {} MiB",
            lang::MAX_BYTES >> 20
        )),
        Ok(_) => Ok(bytes),
        Err(error) => Err(format!("cannot read the file: {}", plain(&error))),
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
