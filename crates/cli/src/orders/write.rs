//! Writes changed texts to the disk: all of them or none, and never over a file that has changed since it was read.

use crate::report_files::{replace, same_file};
use lang::Source;
use repair::Changed;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the file that is changed to `path`; if none is, the program's own file as it is.
pub(super) fn one(
    path: &Path,
    input: &Path,
    source: &Source,
    changed: &[Changed],
) -> Result<(), String> {
    let (name, before, after) = match changed {
        [] => {
            let own = source.files.iter().find(|file| same_file(Path::new(&file.name), input));
            let text = own.map_or(&*source.text, |own| &source.text[own.span.start..own.span.end]);
            (input, text, text)
        }
        [one] => match source.files.len() > 1 {
            true => (Path::new(&one.name), &*one.before, &*one.after),
            false => (input, &*one.before, &*one.after),
        },
        several => {
            let names: Vec<&str> = several.iter().map(|file| file.name.as_str()).collect();
            return Err(format!(
                "{} files are to be changed ({}), and --write has one: use --in-place or --diff",
                names.len(),
                names.join(", ")
            ));
        }
    };
    let is_path = |file: &Path| same_file(file, path);
    let part = source.files.iter().map(|file| Path::new(&file.name)).chain([input]);
    if path.exists() && !is_path(name) && part.into_iter().any(is_path) {
        return Err(format!(
            "{} is another file of the program than the one that is changed, {}; nothing was written: use --in-place \
             or another name",
            path.display(),
            name.display()
        ));
    }
    write_text(path, name, before, after)
}

/// Writes a text to a file, whole or not at all. If the file is the one that `before` was read from, only if it still has that.
pub(crate) fn write_text(
    path: &Path,
    input: &Path,
    before: &str,
    after: &str,
) -> Result<(), String> {
    if path.exists() && same_file(path, input) {
        unchanged(path, before)?;
    }
    may_be_written(path)?;
    replace(path, after.as_bytes())
        .map_err(|error| format!("cannot write {}: {error}; nothing was written", path.display()))
}

/// Writes all changed files over themselves, or none of them.
pub(super) fn in_place(input: &Path, changed: &[Changed]) -> Result<(), String> {
    if input.as_os_str() == "-" {
        return Err("standard input cannot be changed in place: use --write".into());
    }
    let path_of = |file: &Changed| match changed.len() == 1 && !Path::new(&file.name).exists() {
        true => input.to_path_buf(),
        false => PathBuf::from(&file.name),
    };
    let mut files = Vec::new();
    for file in changed {
        let path = path_of(file);
        let before = unchanged(&path, &file.before)?;
        may_be_written(&path)?;
        files.push(Whole { path, before, after: file.after.clone() });
    }
    all_or_none(&files, &|path, text| replace(path, text.as_bytes()))
}

/// A file that is to be replaced.
struct Whole {
    path: PathBuf,
    before: String,
    after: String,
}

/// Replaces files by `write`. If one cannot be written, those that were get back what they had.
fn all_or_none(
    files: &[Whole],
    write: &dyn Fn(&Path, &str) -> io::Result<()>,
) -> Result<(), String> {
    for (number, Whole { path, after, .. }) in files.iter().enumerate() {
        let Err(error) = write(path, after) else { continue };
        let lost: Vec<String> = files[..number]
            .iter()
            .filter(|done| write(&done.path, &done.before).is_err())
            .map(|done| done.path.display().to_string())
            .collect();
        let rest = match lost.is_empty() {
            true => "nothing was written".to_string(),
            false => {
                format!("what was changed before could not be put back: {}", lost.join(", "))
            }
        };
        return Err(format!("cannot write {}: {error}; {rest}", path.display()));
    }
    Ok(())
}

/// May a file be replaced? A file that is read-only is meant to stay, whoever could replace it all the same.
fn may_be_written(path: &Path) -> Result<(), String> {
    let Ok(known) = std::fs::metadata(path) else { return Ok(()) };
    let why = match () {
        () if known.is_dir() => "it is a directory".to_string(),
        () if known.permissions().readonly() => "it is read-only".to_string(),
        // What is no file, such as a terminal, is written to as it is.
        () if !known.is_file() => return Ok(()),
        () => match std::fs::OpenOptions::new().append(true).open(path) {
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        },
    };
    Err(format!("cannot write {}: {why}; nothing was written", path.display()))
}

/// What a file has now, if that is what it had when it was read.
fn unchanged(path: &Path, before: &str) -> Result<String, String> {
    let now = std::fs::read_to_string(path).map_err(|error| {
        format!("cannot read {} again: {error}; nothing was written", path.display())
    })?;
    match now.trim_end() == before.trim_end() {
        true => Ok(now),
        false => {
            Err(format!("{} has changed since it was read; nothing was written", path.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    /// Catches a change of somebody else that is lost.
    #[test]
    fn a_file_that_changed_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("t.fp");
        let has = || std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, "of somebody else\n").expect("a file");
        let said = write_text(&path, &path, "as it was read\n", "changed\n").expect_err("refused");
        assert!(
            said.ends_with("t.fp has changed since it was read; nothing was written"),
            "{said}"
        );
        let change = |before: &str| Changed {
            name: path.display().to_string(),
            before: before.into(),
            after: "changed\n".into(),
        };
        assert_eq!(in_place(&path, &[change("as it was read\n")]), Err(said));
        assert_eq!(has(), "of somebody else\n");
        assert_eq!(in_place(&path, &[change("of somebody else\n")]), Ok(()));
        assert_eq!(has(), "changed\n");
        // Another file than the one that was read is simply replaced.
        let other = folder.path().join("other.fp");
        assert_eq!(write_text(&path, &other, "as it was read\n", "new\n"), Ok(()));
        assert_eq!(has(), "new\n");
    }

    /// Catches a program of which one file is changed and another is not.
    #[test]
    fn what_was_written_before_an_error_is_put_back() {
        let file = |name: &str| Whole {
            path: name.into(),
            before: format!("{name} before"),
            after: format!("{name} after"),
        };
        let files = [file("a"), file("b"), file("c")];
        let disk: RefCell<BTreeMap<PathBuf, String>> = RefCell::default();
        let write = |full_at: &str, path: &Path, text: &str| match path == Path::new(full_at) {
            true => Err(io::Error::other("disk full")),
            false => {
                disk.borrow_mut().insert(path.to_path_buf(), text.to_string());
                Ok(())
            }
        };
        let said = all_or_none(&files, &|path, text| write("c", path, text));
        assert_eq!(said, Err("cannot write c: disk full; nothing was written".into()));
        let has: Vec<String> = disk.borrow().values().cloned().collect();
        assert_eq!(has, ["a before", "b before"]);
        assert_eq!(all_or_none(&files, &|path, text| write("d", path, text)), Ok(()));
        let has: Vec<String> = disk.borrow().values().cloned().collect();
        assert_eq!(has, ["a after", "b after", "c after"]);
    }
}
