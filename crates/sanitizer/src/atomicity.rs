//! From the bytes that a run recorded to the text that `fencepost serial` judges.

use crate::data_names::DataNames;
use crate::raw::Raw;
use crate::symbols::Symbols;
use crate::transactions::{self, Written};
use budget::Budget;
use clocks::trace::{Event, Reader, Unreadable};
use std::io::Write;

/// How many events are read between two looks at the budget.
const ROUND: u32 = 256;

/// Writes the accesses and transactions of a recording as text, until the budget is spent. Of a program that
/// was killed there is what it had written by then, without the names and places that come last.
pub fn write_text(bytes: &[u8], out: impl Write, budget: Budget) -> Result<Written, String> {
    let mut end = None;
    for event in within(read(bytes)?, budget) {
        match event {
            Ok(Event::End { nodes, maps }) => end = Some((nodes, maps)),
            Ok(_) => {}
            Err(Unreadable::CutOff(_)) => break,
            Err(why) => return Err(why.to_string()),
        }
    }
    let cut_off = end.is_none() && !budget.is_spent();
    let (nodes, maps) = end.unwrap_or_default();
    let mappings = Raw::mappings(&maps);
    let names = DataNames::new(&mappings);
    let place = |site: u32, symbols: &mut Symbols| {
        let (_, pc) = *nodes.get(site.checked_sub(1)? as usize)?;
        let frames = symbols.stack(&[pc], &mappings);
        frames
            .iter()
            .find_map(|frame| Some((frame.file.clone()?, frame.line?, frame.function.clone())))
    };
    let events = within(read(bytes)?, budget).map_while(Result::ok);
    let written = transactions::write(events, place, |address| names.of(address), out);
    written.map(|written| Written { cut_off, ..written }).map_err(|error| error.to_string())
}

fn read(bytes: &[u8]) -> Result<Reader<'_>, String> {
    Reader::new(bytes).map_err(|why| why.to_string())
}

/// The same, but it ends when the budget is spent.
fn within<T>(
    all: impl Iterator<Item = T> + Clone,
    budget: Budget,
) -> impl Iterator<Item = T> + Clone {
    let mut count = 0_u32;
    all.take_while(move |_| {
        count = (count + 1) % ROUND;
        count != 0 || !budget.is_spent()
    })
}
