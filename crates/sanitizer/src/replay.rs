//! `fencepost replay`: the analysis of a recording, with the code that the runtime uses.

use crate::atomicity;
use crate::collection::Collection;
use crate::filter::Filter;
use crate::launch::{Progress, show};
use crate::raw::{self, Raw};
use crate::{FOUND, Output, Series, complain, plain_text};
use budget::Budget;
use clocks::replay::Shown;
use clocks::trace::{Event, MAGIC, Reader, Unreadable};
use rt::findings::Operation;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What to analyse again, and how.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The recording.
    pub recording: PathBuf,
    /// Write accesses and transactions there, as `fencepost serial` reads them.
    pub transactions: Option<PathBuf>,
    /// How many bytes of memory the recording may take.
    pub most: u64,
    /// Which findings to print, and how.
    pub output: Output,
}

/// Analyses a recording, and prints its findings.
pub fn run(args: &Replay) -> Result<Series, String> {
    let name = args.recording.display();
    let filter = Filter::new(&args.output)?;
    let bytes = read(&args.recording, args.most).map_err(|why| format!("{name}: {why}"))?;
    let unreadable = |why: Unreadable| format!("{name}: {why}");
    let mut replay = clocks::replay::Replay::new(rt::options::Options::default().history_size);
    let mut shown = Vec::new();
    let mut end = None;
    let mut reader = Reader::new(&bytes).map_err(unreadable)?;
    let mut at = reader.at();
    while let Some(event) = reader.next() {
        let event = event.map_err(unreadable)?;
        let told = replay.tell(&event);
        shown.extend(
            told.map_err(|why| format!("{}: {why}", unreadable(Unreadable::Nonsense(at))))?,
        );
        at = reader.at();
        if let Event::End { nodes, maps } = event {
            end = Some((nodes, maps));
        }
    }
    let Some((nodes, maps)) = end else { return Err(unreadable(Unreadable::CutOff(bytes.len()))) };
    let stack = |site: u32| {
        let mut stack = Vec::new();
        let mut node = site;
        while let Some(&(parent, pc)) =
            node.checked_sub(1).and_then(|index| nodes.get(index as usize))
        {
            stack.push(pc);
            if parent >= node {
                break;
            }
            node = parent;
        }
        stack
    };
    let findings = shown.iter().map(|shown| raw_finding(shown, &stack));
    let mut raw = Raw::parse(&maps);
    let mappings = Raw::mappings(&maps);
    raw.findings = findings.map(|finding| (finding, mappings.clone())).collect();
    if let Some(path) = &args.transactions {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let out = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
        atomicity::write_text(&bytes, out, Budget::UNLIMITED)
            .map_err(|why| format!("{}: {why}", path.display()))?;
    }
    let mut collection = Collection::new(filter);
    for index in collection.add(&raw, None, 0) {
        show(&collection, index, &args.output, &Progress::new(1));
    }
    if args.output.show_unused {
        for rule in collection.unused_suppressions() {
            complain(&format!("fencepost: no finding needed the suppression {rule}"));
        }
    }
    if !args.output.json {
        complain(plain_text(&collection.count(1).document()).trim_end());
    }
    let code = if collection.findings.is_empty() { 0 } else { FOUND };
    Ok(Series { subject: args.recording.clone(), collection, code, interrupted: false })
}

/// The bytes of a recording. What does not begin like one is not read to its end, which may never
/// come.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read the file: {error}");
    let mut file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes != MAGIC {
        return Err(Unreadable::NoRecording.to_string());
    }
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err("the recording does not fit into memory".into());
    }
    Ok(bytes)
}

fn raw_finding(shown: &Shown, stack: &dyn Fn(u32) -> Vec<u64>) -> raw::RawFinding {
    match shown {
        Shown::Stale { tid, site, operation, order, address, size, stale } => {
            let operation = Operation::from_number(*operation);
            let other = stale.missed.map(|missed| raw::RawAccess {
                thread: u32::from(missed.thread),
                operation: missed_name(missed.is_update).into(),
                order: Some(missed.order.name().into()),
                stack: stack(missed.site),
                created: None,
            });
            raw::RawFinding {
                kind: operation.kind(stale.overtakes).name().into(),
                address: *address,
                size: u64::from(*size),
                access: raw::RawAccess {
                    thread: u32::from(*tid),
                    operation: operation.name().into(),
                    order: Some(order.name().into()),
                    stack: stack(*site),
                    created: None,
                },
                other,
                value: stale.missed.map(|missed| missed.value),
                stale: stale.values.clone(),
                used: None,
                may_fail: false,
                doubt: None,
                locks: Vec::new(),
                block: None,
            }
        }
        Shown::Race { tid, site, first, other, other_site, second, address, size, doubt } => {
            raw::RawFinding {
                kind: "race".into(),
                address: *address,
                size: u64::from(*size),
                access: raw::RawAccess {
                    thread: u32::from(*tid),
                    operation: Operation::of(*first).name().into(),
                    order: first.order.map(|order| order.name().into()),
                    stack: stack(*site),
                    created: None,
                },
                other: Some(raw::RawAccess {
                    thread: u32::from(*other),
                    operation: Operation::of(*second).name().into(),
                    order: None,
                    stack: stack(*other_site),
                    created: None,
                }),
                value: None,
                stale: Vec::new(),
                used: None,
                may_fail: false,
                doubt: doubt.map(|doubt| raw::Doubt { load: stack(doubt.site) }),
                locks: Vec::new(),
                block: None,
            }
        }
    }
}

fn missed_name(is_update: bool) -> &'static str {
    if is_update { Operation::Fetch.name() } else { Operation::Store.name() }
}
