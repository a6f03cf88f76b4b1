//! `fencepost serial` on histories of databases and transactional memories.

use crate::args::{LevelName, Serial};
use crate::exit::Exit;
use crate::inputs;
use crate::terminal;
use ::report::recording;
use ::report::text::render;
use ::serial::history::level::{self, Level};
use ::serial::history::{History, jepsen, recorded};
use ::serial::read::Reader;
use std::io::{self, Read, Write};
use std::path::Path;

/// How much of a file is looked at to tell what it is.
const BEGINNING: u64 = 4096;

/// The text to be judged as a history: if a level is asked for, or if it is one that Jepsen wrote.
pub(crate) fn wanted(args: &Serial, input: &Path) -> Option<io::Result<String>> {
    let is_stdin = input.to_str() == Some("-");
    if args.level.is_none() {
        // What comes through a pipe is not looked at twice: a recording may be longer than memory.
        if is_stdin || args.predict || args.reading.is_some() {
            return None;
        }
        let mut beginning = Vec::new();
        let file = std::fs::File::open(input).ok()?;
        file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
        if !jepsen::is_history(&String::from_utf8_lossy(&beginning)) {
            return None;
        }
    }
    let mut bytes = Vec::new();
    let read = match is_stdin {
        true => io::stdin().lock().read_to_end(&mut bytes),
        false => std::fs::File::open(input).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    let text = read.and_then(|_| {
        String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "this is not UTF-8 text"))
    });
    Some(text)
}

/// Judges the history.
pub(crate) fn run(args: &Serial, input: &Path, text: io::Result<String>) -> io::Result<Exit> {
    let name = inputs::name(input);
    let refuse = |message: String| {
        terminal::complain(&format!("error: {name}: {message}"));
        Ok(Exit::BadInput)
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return refuse(format!("cannot read the file: {error}")),
    };
    let history = match read(&text) {
        Ok(history) => history,
        Err(message) => return refuse(message),
    };
    let level = match args.level {
        Some(LevelName::ReadCommitted) => Level::ReadCommitted,
        Some(LevelName::SnapshotIsolation) => Level::SnapshotIsolation,
        Some(LevelName::Serializable) => Level::Serializable,
        None | Some(LevelName::StrictSerializable) => Level::StrictSerializable,
        Some(LevelName::Opaque) => Level::Opaque,
    };
    let verdict = level::judge(&history, level);
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", level::to_json(&history, &verdict))?,
        false => {
            let document = recording::history(&history, &verdict);
            out.write_all(render(&document, &terminal::output()).as_bytes())?;
        }
    }
    out.flush()?;
    Ok(if verdict.valid() { Exit::Holds } else { Exit::Violated })
}

fn read(text: &str) -> Result<History, String> {
    if jepsen::is_history(text) {
        return jepsen::read(text).map_err(|(line, message)| format!("line {line}: {message}"));
    }
    let mut reader = Reader::new(text.as_bytes());
    let mut events = Vec::new();
    for event in reader.by_ref() {
        events.push(event.map_err(|bad| bad.to_string())?);
    }
    Ok(recorded::history(&events, reader.names()))
}
