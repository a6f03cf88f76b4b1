//! `fencepost play` and `fencepost lsp`: the servers of crate `editor`, which start this program for each question.

use crate::args::{Lsp, Play};
use crate::exit::Exit;
use crate::{interrupt, terminal};
use ::editor::lsp::{self, Ended};
use ::editor::play::link::{self, Language, Program};
use ::editor::play::{self, MOST_TEXT, Playground};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Serves the playground until Ctrl-C.
pub(crate) fn play(args: &Play) -> io::Result<Exit> {
    let start = match args.start.as_deref().map(begin).transpose() {
        Ok(start) => start,
        Err(why) => return Ok(refuse(&why)),
    };
    let executable = match itself() {
        Ok(executable) => executable,
        Err(why) => return Ok(refuse(&why)),
    };
    let port = args.port.unwrap_or(0);
    let limits = args.limits.limits();
    let playground = match Playground::new(play::Options { executable, port, limits, start }) {
        Ok(playground) => playground,
        Err(why) => return Ok(refuse(&why)),
    };
    let mut out = io::stdout().lock();
    let address = playground.address();
    // In one piece: who reads the address alone may close the pipe then.
    let told = format!(
        "The playground is at {address}\nIt answers nobody without that address, and ends with Ctrl-C.\n"
    );
    out.write_all(told.as_bytes())?;
    out.flush()?;
    drop(out);
    playground.serve(interrupt::flag());
    Ok(Exit::Holds)
}

/// Serves an editor until it is done.
pub(crate) fn lsp(args: &Lsp) -> io::Result<Exit> {
    let executable = match itself() {
        Ok(executable) => executable,
        Err(why) => return Ok(refuse(&why)),
    };
    let version = env!("FENCEPOST_VERSION").to_string();
    let options = lsp::Options { executable, version, limits: args.limits.limits() };
    Ok(match lsp::serve(options, BufReader::new(io::stdin()), io::stdout()) {
        Ended::Orderly => Exit::Holds,
        // The protocol's word for an editor that went away without a word.
        Ended::Abandoned => Exit::Violated,
    })
}

fn itself() -> Result<PathBuf, String> {
    std::env::current_exe()
        .map_err(|error| format!("where this program is cannot be told: {error}"))
}

fn refuse(why: &str) -> Exit {
    terminal::complain(&format!("error: {why}"));
    Exit::BadInput
}

/// The program that a file or a link holds.
fn begin(start: &Path) -> Result<Program, String> {
    if let Some(text) = start.to_str().filter(|text| link::is_link(text)) {
        return link::read(text);
    }
    let name = report::escape::visible(&start.display().to_string());
    let cannot = |error: io::Error| format!("{name}: {error}");
    let mut text = Vec::new();
    let file = std::fs::File::open(start).map_err(cannot)?;
    // A device may have no end.
    file.take(MOST_TEXT as u64 + 1).read_to_end(&mut text).map_err(cannot)?;
    if text.len() > MOST_TEXT {
        return Err(format!(
            "{name}: the program is too large: {} KiB is the most",
            MOST_TEXT >> 10
        ));
    }
    let text = String::from_utf8(text).map_err(|_| format!("{name}: not a text in UTF-8"))?;
    Ok(Program { text, language: Language::of(start), model: None, options: Vec::new() })
}
