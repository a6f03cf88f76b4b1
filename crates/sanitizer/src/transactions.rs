//! A recording as `fencepost serial` reads it.
//!
//! Variables are what was accessed: eight bytes of plain memory, or an atomic location. Writes are not said
//! to commit, so that they are judged for every order in which a machine with store buffers may commit
//! them; what empties the buffer on such a machine is a fence: full fences, read-modify-writes, seq_cst
//! stores, and giving back a lock.

use crate::symbols::Symbols;
use clocks::access::Done;
use clocks::trace::Event;
use clocks::{Loc, Order};
use serial::write::Recorder;
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes all accesses and transactions. `place` says where a site is.
pub fn write(
    events: impl Iterator<Item = Event>,
    place: impl Fn(u32, &mut Symbols) -> Option<(String, u32)>,
    out: impl Write,
) -> io::Result<()> {
    let mut recorder = Recorder::new(out);
    let mut symbols = Symbols::default();
    let mut places: HashMap<u32, Option<(String, u32)>> = HashMap::new();
    // Numbers of locations are used again, but not for the same variable.
    let mut lives: HashMap<Loc, u32> = HashMap::new();
    let mut open: HashMap<u16, u32> = HashMap::new();
    let thread = |tid: u16| format!("T{tid}");
    for event in events {
        let mut at = |site: u32| {
            let found = places.entry(site).or_insert_with(|| {
                let (file, line) = place(site, &mut symbols)?;
                let name = file.rsplit('/').next().unwrap_or(&file);
                Some((name.replace(char::is_whitespace, "_"), line))
            });
            found.clone()
        };
        match event {
            Event::Transaction { tid, begins: true } => {
                let depth = open.entry(tid).or_default();
                *depth += 1;
                if *depth == 1 {
                    recorder.begin(&thread(tid), None)?;
                }
            }
            Event::Transaction { tid, begins: false } => {
                // One that ends without having begun was begun before the recording.
                let depth = open.entry(tid).or_default();
                if *depth == 1 {
                    recorder.end(&thread(tid))?;
                }
                *depth = depth.saturating_sub(1);
            }
            Event::Remove { loc } => *lives.entry(loc).or_default() += 1,
            Event::Plain { tid, address, is_write, site, .. } => {
                let (var, at) = (format!("0x{address:x}"), at(site));
                let at = at.as_ref().map(|(file, line)| (file.as_str(), *line));
                match is_write {
                    true => recorder.write(&thread(tid), &var, at)?,
                    false => recorder.read(&thread(tid), &var, at)?,
                }
            }
            Event::Atomic { tid, loc, order, done: Some(done), site, .. } if site != 0 => {
                let var = format!("atomic{loc}.{}", lives.get(&loc).copied().unwrap_or(0));
                let (thread, at) = (thread(tid), at(site));
                let at = at.as_ref().map(|(file, line)| (file.as_str(), *line));
                if let Done::Update(_) = done {
                    recorder.fence(&thread, None)?;
                }
                if !matches!(done, Done::Store(_)) {
                    recorder.read(&thread, &var, at)?;
                }
                if done != Done::Read {
                    recorder.write(&thread, &var, at)?;
                }
                if matches!(done, Done::Update(_)) || (done != Done::Read && order == Order::SeqCst)
                {
                    recorder.fence(&thread, None)?;
                }
            }
            Event::Fence { tid, order: Order::SeqCst } | Event::Release { tid, .. } => {
                recorder.fence(&thread(tid), None)?;
            }
            _ => {}
        }
    }
    for (tid, depth) in open {
        if depth > 0 {
            recorder.end(&thread(tid))?;
        }
    }
    recorder.flush()
}
