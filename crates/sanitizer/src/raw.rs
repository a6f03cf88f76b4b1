//! What the runtime writes: lines of JSON with addresses instead of names.

use crate::collection::Collection;
use crate::filter::Filter;
use crate::symbols::Mapping;
use crate::{FOUND, Output, complain, plain_text};
use serde::Deserialize;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

/// A finding.
#[derive(Clone, Deserialize, Debug)]
pub struct RawFinding {
    /// What is wrong.
    pub kind: String,
    /// With which bytes; 0 if that is not known.
    #[serde(default)]
    pub address: u64,
    /// How many.
    pub size: u64,
    /// The access at fault.
    pub access: RawAccess,
    /// What it misses or races with.
    pub other: Option<RawAccess>,
    /// What the missed write wrote.
    pub value: Option<u64>,
    /// What may be read instead.
    pub stale: Vec<u64>,
    /// Does anything depend on what may be read instead, as far as that is known?
    #[serde(default)]
    pub used: Option<bool>,
    /// Would it be nothing new if this compare-and-swap failed for no reason?
    #[serde(default)]
    pub may_fail: bool,
    /// The load that a race needs to be stale.
    pub doubt: Option<Doubt>,
    /// The locks that the thread at fault holds.
    #[serde(default)]
    pub locks: Vec<Lock>,
    /// The block of the heap that the bytes are in.
    #[serde(default)]
    pub block: Option<Block>,
}

/// A lock that is held.
#[derive(Clone, Deserialize, Debug)]
pub struct Lock {
    /// Where it is.
    pub address: u64,
    /// Where it was taken, innermost first.
    pub stack: Vec<u64>,
}

/// A block of the heap.
#[derive(Clone, Deserialize, Debug)]
pub struct Block {
    /// Where it begins.
    pub address: u64,
    /// How many bytes were asked for.
    pub size: u64,
    /// Where, innermost first.
    pub stack: Vec<u64>,
}

/// How a thread came to be.
#[derive(Clone, Deserialize, Debug)]
pub struct Creation {
    /// By whom.
    pub by: u32,
    /// Where, innermost first.
    pub stack: Vec<u64>,
}

/// One of the accesses.
#[derive(Clone, Deserialize, Debug)]
pub struct RawAccess {
    /// Who.
    pub thread: u32,
    /// What.
    pub operation: String,
    /// In which order.
    pub order: Option<String>,
    /// Where, innermost first.
    pub stack: Vec<u64>,
    /// How its thread came to be, if that is known.
    #[serde(default)]
    pub created: Option<Creation>,
}

/// A load that may be stale.
#[derive(Clone, Deserialize, Debug)]
pub struct Doubt {
    /// Where.
    pub load: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Maps {
        maps: Vec<(String, String, String, String)>,
    },
    Hello {
        #[serde(rename = "hello")]
        _process: u32,
    },
    Steps {
        steps: u64,
    },
    Lost {
        lost: String,
    },
    Finding(Box<RawFinding>),
}

/// What a program's runtime wrote.
#[derive(Default, Debug)]
pub struct Raw {
    /// Processes that were watched.
    pub processes: usize,
    /// Decisions of the schedule.
    pub steps: u64,
    /// What the analysis had to give up.
    pub lost: Vec<String>,
    /// Findings, each with what was mapped then.
    pub findings: Vec<(RawFinding, Vec<Mapping>)>,
}

impl Raw {
    /// Reads lines. A line that was cut off, as by a crash, is left out.
    pub fn parse(text: &str) -> Raw {
        let mut raw = Raw::default();
        let mut maps = Vec::new();
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Line::Maps { maps: new }) => maps = mappings(&new),
                Ok(Line::Hello { .. }) => raw.processes += 1,
                Ok(Line::Steps { steps }) => raw.steps = raw.steps.max(steps),
                Ok(Line::Lost { lost }) => raw.lost.push(lost),
                Ok(Line::Finding(finding)) => raw.findings.push((*finding, maps.clone())),
                Err(_) => {}
            }
        }
        raw
    }

    /// The last line of mappings.
    pub fn mappings(text: &str) -> Vec<Mapping> {
        let maps = text.lines().rev().find_map(|line| match serde_json::from_str(line) {
            Ok(Line::Maps { maps }) => Some(mappings(&maps)),
            _ => None,
        });
        maps.unwrap_or_default()
    }
}

fn mappings(entries: &[(String, String, String, String)]) -> Vec<Mapping> {
    let number = |text: &String| u64::from_str_radix(text, 16).ok();
    let mapping = |(start, end, offset, path): &(String, String, String, String)| {
        Some(Mapping {
            start: number(start)?,
            end: number(end)?,
            offset: number(offset)?,
            path: path.clone(),
        })
    };
    entries.iter().filter_map(mapping).collect()
}

/// Where the findings of a program that ends are printed.
#[derive(Clone, Debug)]
pub struct Log {
    /// Where the report goes: stderr, stdout, or a file, to which the process id is added.
    pub path: Option<String>,
    /// The process that wrote the findings.
    pub pid: Option<u32>,
    /// Findings not to report.
    pub suppressions: Option<PathBuf>,
    /// Print findings as they come, without being anybody's child?
    pub follow: bool,
}

/// `fencepost report-raw`: prints what a program finds, and says in the end whether there was anything.
pub fn report(log: &Log) -> Result<u8, String> {
    if log.follow {
        leave()?;
    }
    let output = Output { suppressions: log.suppressions.clone(), ..Output::default() };
    // The program runs, or has run, and this is the only chance to say what was found in it.
    let filter = Filter::new(&output).unwrap_or_else(|why| {
        complain(&format!("fencepost: {why}; nothing is suppressed"));
        Filter::default()
    });
    let mut collection = Collection::new(filter);
    let mut paper = Paper::new(log);
    let mut maps = String::new();
    for line in io::stdin().lock().lines() {
        // A line that was cut off is left out.
        let line = line.map_err(|error| format!("cannot read findings: {error}"))?;
        if line.starts_with("{\"maps\"") {
            maps = line;
            continue;
        }
        let new = collection.add(&Raw::parse(&format!("{maps}\n{line}\n")), None, 0);
        for index in new {
            paper.write(&plain_text(&collection.findings[index].document()))?;
        }
    }
    paper.write(&plain_text(&collection.count(1).document()))?;
    Ok(if collection.findings.is_empty() { 0 } else { FOUND })
}

/// Goes on in a process that is nobody's child and gets no signals from the program's terminal.
fn leave() -> Result<(), String> {
    // SAFETY: there is one thread. The parent ends at once.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: a system call without arguments.
            unsafe { libc::setsid() };
            Ok(())
        }
        -1 => Err(format!("cannot start: {}", io::Error::last_os_error())),
        _ => std::process::exit(0),
    }
}

/// Where a report is written.
enum Paper {
    Stderr,
    Stdout,
    File(File),
}

impl Paper {
    fn new(log: &Log) -> Paper {
        match log.path.as_deref() {
            None | Some("stderr") => Paper::Stderr,
            Some("stdout") => Paper::Stdout,
            Some(path) => {
                let path = format!("{path}.{}", log.pid.unwrap_or_default());
                match OpenOptions::new().append(true).create(true).open(&path) {
                    Ok(file) => Paper::File(file),
                    Err(error) => {
                        complain(&format!("fencepost: cannot write to {path}: {error}"));
                        Paper::Stderr
                    }
                }
            }
        }
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        let written = match self {
            Paper::Stderr => io::stderr().write_all(text.as_bytes()),
            Paper::Stdout => {
                let mut out = io::stdout();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
            Paper::File(file) => file.write_all(text.as_bytes()),
        };
        written.map_err(|error| format!("cannot write the report: {error}"))
    }
}
