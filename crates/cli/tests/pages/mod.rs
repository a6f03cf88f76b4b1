//! Pages of Markdown whose commands are run, and their outputs compared.
//!
//! A page is README.md or a chapter of the book in `docs/`. Two kinds of fenced blocks matter here:
//!
//! ```text
//! ```c file=queue.c            the text of a file, written before the commands below it run
//! ```console                   commands behind `$ `, each followed by what it prints
//! ```
//!
//! All commands of a page run in one shell, in a folder that has `corpus`, `crates` and `examples` of the
//! repository in it. In an expected output, a line `…` stands for any lines; times, sizes and numbers of states
//! are not compared.

use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Starts the line that separates outputs; no command prints it.
const MARK: &str = "\u{1}fencepost-page ";

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and all pages below `docs/`, as paths from the root.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root().join(&folder)).expect("a folder");
        for entry in entries {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            match entry.file_type().expect("a type").is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "md") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// What a page asks for, in the order of the page.
#[derive(Debug)]
pub(crate) enum Item {
    /// A file to write.
    File { name: String, text: String },
    /// A command, and what it prints.
    Command { line: usize, command: String, output: String },
}

/// A fenced or indented block of a page.
#[derive(Debug)]
pub(crate) struct Block {
    /// What stands behind the fence; empty if the block is indented.
    pub info: String,
    /// The line of its first line, counted from 0.
    pub first: usize,
    pub lines: Vec<String>,
}

/// The blocks of code of a page.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    let mut blank = true;
    for (number, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            if !open {
                let info = info.trim().to_string();
                blocks.push(Block { info, first: number + 1, lines: Vec::new() });
            }
            open = !open;
        } else if open {
            blocks.last_mut().expect("an open block").lines.push(line.to_string());
        } else if let Some(code) = line.strip_prefix("    ") {
            let goes_on = blocks.last().is_some_and(|block| {
                block.info.is_empty() && block.first + block.lines.len() == number
            });
            match goes_on {
                true => blocks.last_mut().expect("a block").lines.push(code.to_string()),
                // An indented line behind a paragraph or a list goes on with it.
                false if blank => blocks.push(Block {
                    info: String::new(),
                    first: number,
                    lines: vec![code.to_string()],
                }),
                false => {}
            }
        }
        blank = line.trim().is_empty();
    }
    assert!(!open, "a block is not closed");
    blocks
}

/// The files and commands of a page.
pub(crate) fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    for block in blocks(text) {
        let mut words = block.info.split_whitespace();
        let language = words.next();
        if let Some(name) = words.find_map(|word| word.strip_prefix("file=")) {
            let text = block.lines.iter().map(|line| format!("{line}\n")).collect();
            items.push(Item::File { name: name.to_string(), text });
        } else if language == Some("console") {
            for (offset, line) in block.lines.iter().enumerate() {
                match (line.strip_prefix("$ "), items.last_mut()) {
                    (Some(command), _) => items.push(Item::Command {
                        line: block.first + offset,
                        command: command.to_string(),
                        output: String::new(),
                    }),
                    (None, Some(Item::Command { command, output, .. })) => {
                        if command.ends_with('\\') && output.is_empty() {
                            *command = format!("{command}\n{line}");
                        } else {
                            *output = format!("{output}{line}\n");
                        }
                    }
                    _ => panic!("a block of commands starts with `$ `: {line}"),
                }
            }
        }
    }
    items
}

/// Runs the commands of a page; what each prints, in order.
pub(crate) fn run(items: &[Item]) -> Vec<String> {
    let desk = tempfile::tempdir().expect("a temporary directory");
    let work = desk.path().join("work");
    let bin = desk.path().join("bin");
    fs::create_dir_all(&work).and_then(|()| fs::create_dir_all(&bin)).expect("folders");
    for folder in ["corpus", "crates", "docs", "ci"] {
        let there = root().join(folder).canonicalize();
        if let Ok(there) = there {
            std::os::unix::fs::symlink(there, work.join(folder)).expect("a link");
        }
    }
    copy(&root().join("examples"), &work.join("examples"));
    // On one core, because which of several shortest witnesses comes first is up to the scheduler.
    let shim = format!(
        "#!/bin/sh\nbinary='{}'\ncase \"$1\" in\n  check) shift; exec \"$binary\" check --jobs 1 \"$@\" ;;\nesac\n\
         exec \"$binary\" \"$@\"\n",
        env!("CARGO_BIN_EXE_fencepost")
    );
    let program = bin.join("fencepost");
    fs::write(&program, shim).expect("a script");
    let subcommand = env!("CARGO_BIN_EXE_cargo-fencepost");
    std::os::unix::fs::symlink(subcommand, bin.join("cargo-fencepost")).expect("a link");
    let executable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(&program, executable).expect("permissions");

    let mut script = String::from("exec 2>&1\nlast=0\n");
    for item in items {
        match item {
            Item::File { name, text } => {
                script.push_str(&format!(
                    "mkdir -p \"$(dirname '{name}')\"; cat > '{name}' <<'END-OF-FILE'\n{text}END-OF-FILE\n"
                ));
            }
            Item::Command { command, .. } => {
                // `$?` of a command is the exit code of the one before it.
                script.push_str(&format!("(exit $last)\n{command}\nlast=$?\nprintf '{MARK}\\n'\n"));
            }
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .arg("-c")
        .arg(script)
        .current_dir(&work)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("COLUMNS", "100")
        .env("TERM", "dumb")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = all.replace(&format!("{}/", work.display()), "");
    let mut outputs: Vec<String> = all.split(&format!("{MARK}\n")).map(str::to_string).collect();
    outputs.pop();
    outputs
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).expect("a copy")),
        }
    }
}

/// An output without what differs from run to run.
fn comparable(text: &str) -> Vec<String> {
    let filters = [
        (r" *\b(\d+ min )?\d+(\.\d+)? (ms|s)\b", " [time]"),
        (r" *\b[\d,]+ states?\b", " [n] states"),
        (r"\b\d+(\.\d+)? (B|KiB|MiB|kB|MB|bytes)\b", "[size]"),
    ];
    let mut text = text.to_string();
    for (pattern, instead) in filters {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, instead).into_owned();
    }
    text.trim_end().lines().map(|line| line.trim_end().to_string()).collect()
}

/// Is the output what the page says? `…` on a line of its own stands for any lines.
pub(crate) fn agrees(expected: &str, printed: &str) -> bool {
    fn lines_agree(expected: &[String], printed: &[String]) -> bool {
        match expected {
            [] => printed.is_empty(),
            [gap, rest @ ..] if gap == "…" => {
                (0..=printed.len()).any(|skipped| lines_agree(rest, &printed[skipped..]))
            }
            [line, rest @ ..] => printed.first() == Some(line) && lines_agree(rest, &printed[1..]),
        }
    }
    lines_agree(&comparable(expected), &comparable(printed))
}

/// The page with the outputs that disagree replaced by what was printed.
pub(crate) fn updated(text: &str, items: &[Item], outputs: &[String]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let commands = items.iter().filter_map(|item| match item {
        Item::Command { line, command, output } => Some((*line, command, output)),
        Item::File { .. } => None,
    });
    let mut replaced: Vec<(usize, &String, &String, &String)> = commands
        .zip(outputs)
        .map(|((line, command, output), printed)| (line, command, output, printed))
        .filter(|(_, _, output, printed)| !agrees(output, printed))
        .collect();
    replaced.reverse();
    for (line, command, output, printed) in replaced {
        let start = line + command.lines().count();
        let end = start + output.lines().count();
        let new: Vec<String> =
            printed.trim_end().lines().map(|line| line.trim_end().to_string()).collect();
        lines.splice(start..end, new);
    }
    lines.join("\n") + "\n"
}
