//! The one renderer of text: every block of a document has one way to be drawn.

use super::cycle::cycle;
use super::history::history;
use super::lanes::lanes;
use super::style::{Ink, Look};
use super::wrap::wrap;
use crate::document::{Block, Document, Line, Table, TableRow};
use crate::escape::{columns, pad};

/// What tables, runs and cycles are indented by.
pub(super) const INDENT: &str = "  ";

/// The document as lines of text.
pub fn render(document: &Document, look: &Look) -> String {
    document.blocks.iter().map(|block| shown(block, look)).collect()
}

fn shown(block: &Block, look: &Look) -> String {
    match block {
        Block::Gap => "\n".to_string(),
        Block::Line(text) => format!("{}\n", line(text, look)),
        Block::Sentences { ink: None, text, hang } => wrap(text, look.width, hang),
        Block::Sentences { ink: Some(ink), text, hang } => {
            format!("{}\n", look.paint(*ink, wrap(text, look.width, hang).trim_end()))
        }
        Block::Rows(named) => rows(named, look),
        Block::Table(values) => table(values, look),
        Block::Run(cells) => lanes(cells, look, INDENT),
        Block::History(happened) => history(happened),
        Block::Cycle(links) => cycle(links, look),
        Block::Message(report, diagnostic) => report.shown(diagnostic, look.color, look.width),
        Block::Verbatim(text) => text.clone(),
    }
}

fn line(line: &Line, look: &Look) -> String {
    let painted = |(ink, text): &(Option<Ink>, String)| match ink {
        Some(ink) => look.paint(*ink, text),
        None => text.clone(),
    };
    line.pieces.iter().map(painted).collect()
}

fn rows(rows: &[(String, Line)], look: &Look) -> String {
    let widest = rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let row =
        |(name, said): &(String, Line)| format!("  {}  {}\n", pad(name, widest), line(said, look));
    rows.iter().map(row).collect()
}

fn table(table: &Table, look: &Look) -> String {
    let values = table.rows.iter().map(|row| &row.values);
    let mut widths: Vec<usize> = Vec::new();
    for cells in values.chain([&table.heads]) {
        widths.resize(widths.len().max(cells.len()), 0);
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = columns(cell).max(*width);
        }
    }
    let joined = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| pad(cell, *width));
        padded.collect::<Vec<_>>().join("  ")
    };
    let mut out = String::new();
    let header = joined(&table.heads);
    if !header.is_empty() {
        out.push_str(&format!("{INDENT}{}\n", look.paint(Ink::Strong, header.trim_end())));
    }
    for TableRow { values, notes, below } in &table.rows {
        let notes: String = notes.iter().map(|note| format!("  {}", line(note, look))).collect();
        let shown = format!("{}{notes}", joined(values));
        out.push_str(&format!("{INDENT}{}\n", shown.trim_end()));
        for note in below {
            out.push_str(&format!("{INDENT}{INDENT}{INDENT}{}\n", line(note, look)));
        }
    }
    out
}
