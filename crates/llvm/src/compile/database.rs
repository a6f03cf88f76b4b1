//! `compile_commands.json`: how a project compiles its files.
//!
//! The format is Clang's "JSON compilation database": a list of entries with a folder, a file, and a command as one
//! string or as a list of words. Of the command we keep what changes the program (`-I`, `-D`, `-std`, `-f…`) and leave
//! out what to make of it (`-c`, `-o`, `-O2`, `-MF`), since we make something else. `-DNDEBUG` goes with `-O2`: a release build has no
//! assertions, and a check is about them.

use super::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
}

/// How a file is compiled.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Flags {
    /// The folder that relative names start from.
    pub(super) directory: PathBuf,
    /// The arguments that are kept.
    pub(super) arguments: Vec<String>,
}

/// Flags that are left out together with the word after them.
const WITH_VALUE: [&str; 8] = ["-o", "-MF", "-MT", "-MQ", "-MJ", "-Xlinker", "-L", "-dumpdir"];

/// Flags that are left out.
fn is_left_out(flag: &str) -> bool {
    const EXACT: [&str; 14] = [
        "-DNDEBUG",
        "-c",
        "-S",
        "-E",
        "-M",
        "-MM",
        "-MD",
        "-MMD",
        "-MP",
        "-MG",
        "-pipe",
        "-emit-llvm",
        "-s",
        "-static",
    ];
    const STARTS: [&str; 12] = [
        "-o",
        "-O",
        "-g",
        "-Werror",
        "-Wl,",
        "-Wa,",
        "-l",
        "-flto",
        "-fsanitize",
        "-save-temps",
        "-L",
        "-fprofile",
    ];
    EXACT.contains(&flag) || STARTS.iter().any(|start| flag.starts_with(start))
}

/// The arguments that are kept, of a whole command.
fn kept(words: &[String], directory: &Path, file: &Path) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter().skip(1).peekable();
    // `ccache clang …` and the like: the compiler is the last word before the first flag.
    while words.peek().is_some_and(|word| !word.starts_with('-') && !same(directory, word, file)) {
        words.next();
    }
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !is_left_out(word) && word != "--" && !same(directory, word, file) {
            kept.push(word.clone());
        }
    }
    kept
}

/// The word names the file.
fn same(directory: &Path, word: &str, file: &Path) -> bool {
    !word.starts_with('-') && directory.join(word).canonicalize().is_ok_and(|it| it == file)
}

/// The flags of a file. `place` is the database or the folder it is in.
pub(super) fn flags(place: &Path, file: &Path) -> Result<Flags, Failure> {
    let path = match place.is_dir() {
        true => place.join("compile_commands.json"),
        false => place.to_owned(),
    };
    let wrong = |message: String| Failure::Database { path: path.clone(), message };
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let entries: Vec<Entry> =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let wanted = file.canonicalize().map_err(|error| Failure::Unreadable {
        path: file.to_owned(),
        message: error.to_string(),
    })?;
    let base = path.parent().unwrap_or(Path::new("."));
    for entry in entries {
        let directory = base.join(&entry.directory);
        if !directory.join(&entry.file).canonicalize().is_ok_and(|it| it == wanted) {
            continue;
        }
        let words = match (entry.arguments, entry.command) {
            (Some(words), _) => Some(words),
            (None, Some(command)) => shlex::split(&command),
            (None, None) => None,
        };
        let Some(words) = words else {
            return Err(wrong(format!("the entry of {} has no command", file.display())));
        };
        let arguments = kept(&words, &directory, &wanted);
        return Ok(Flags { directory, arguments });
    }
    Err(wrong(format!("there is no entry for {}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entry: &str) -> Result<Vec<String>, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b.c");
        std::fs::write(&file, "int x;").unwrap();
        let directory = folder.path().display();
        let text = format!("[{{\"directory\": \"{directory}\", \"file\": \"a b.c\", {entry}}}]");
        std::fs::write(folder.path().join("compile_commands.json"), text).unwrap();
        flags(folder.path(), &file).map(|flags| flags.arguments)
    }

    #[test]
    fn what_changes_the_program_is_kept() {
        let command = r#""command": "ccache clang -I inc -DX='a b' -O2 -DNDEBUG -g3 -c -o x.o -MD -MF x.d -std=c11 -fno-common -Werror=all -lm \"a b.c\"""#;
        let kept = of(command).unwrap();
        assert_eq!(kept, ["-I", "inc", "-DX=a b", "-std=c11", "-fno-common"]);
        let words = r#""arguments": ["/usr/bin/cc", "-include", "c.h", "-c", "a b.c"]"#;
        assert_eq!(of(words).unwrap(), ["-include", "c.h"]);
    }

    #[test]
    fn an_entry_without_a_command_is_refused() {
        assert!(matches!(of(r#""output": "x.o""#), Err(Failure::Database { .. })));
        assert!(matches!(of(r#""command": "cc 'a""#), Err(Failure::Database { .. })));
    }
}
