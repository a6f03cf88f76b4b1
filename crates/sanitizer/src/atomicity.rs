//! From the bytes that a run recorded to the text that `fencepost serial` judges.

use crate::data_names::DataNames;
use crate::raw::Raw;
use crate::symbols::Symbols;
use crate::transactions::{self, Written};
use clocks::trace::{Event, Reader, Unreadable};
use std::io::Write;

/// Writes the accesses and transactions of a recording as text.
pub fn write_text(bytes: &[u8], out: impl Write) -> Result<Written, String> {
    let mut end = None;
    for event in Reader::new(bytes).map_err(|why| why.to_string())? {
        if let Event::End { nodes, maps } = event.map_err(|why| why.to_string())? {
            end = Some((nodes, maps));
        }
    }
    let Some((nodes, maps)) = end else { return Err(Unreadable::CutOff(bytes.len()).to_string()) };
    let mappings = Raw::mappings(&maps);
    let names = DataNames::new(&mappings);
    let place = |site: u32, symbols: &mut Symbols| {
        let (_, pc) = *nodes.get(site.checked_sub(1)? as usize)?;
        let frames = symbols.stack(&[pc], &mappings);
        frames
            .iter()
            .find_map(|frame| Some((frame.file.clone()?, frame.line?, frame.function.clone())))
    };
    let events = Reader::new(bytes).map_err(|why| why.to_string())?.filter_map(Result::ok);
    transactions::write(events, place, |address| names.of(address), out)
        .map_err(|error| error.to_string())
}
