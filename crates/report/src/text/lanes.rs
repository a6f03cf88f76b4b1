//! A run as columns, one per thread, time going down.
//!
//! ```text
//! left                            right
//! 20: x.store(1, rlx)  x = 1
//!                                 27: y.store(1, rlx)  y = 1
//! 21: a = y.load(rlx)  reads 1
//! ```
//!
//! Where the terminal is too narrow for that, each step is a line with its thread's name before it.

use super::style::{Ink, Look};
use crate::document::Cell;
use crate::escape::{columns, cut, pad, visible};
use ir::Tid;

/// Space between two columns.
const GAP: usize = 3;
/// A column narrower than this says nothing.
const NARROWEST: usize = 26;
/// A column wider than this is cut.
const WIDEST: usize = 56;

/// The steps as lines.
pub(super) fn lanes(cells: &[Cell], look: &Look, indent: &str) -> String {
    let mut threads: Vec<(Tid, &str)> = cells.iter().map(|c| (c.tid, c.thread.as_str())).collect();
    threads.sort_unstable();
    threads.dedup();
    let room = look.width.saturating_sub(indent.len());
    let lanes: Vec<Lane> = threads.iter().map(|(tid, name)| Lane::new(*tid, name, cells)).collect();
    let gaps = GAP * lanes.len().saturating_sub(1);
    let needed = lanes.iter().map(Lane::width).sum::<usize>() + gaps;
    let even = room.saturating_sub(gaps) / lanes.len().max(1);
    if needed <= room || even >= NARROWEST {
        let widths = fit(&lanes, room.saturating_sub(gaps));
        side_by_side(cells, &lanes, &widths, look, indent)
    } else {
        one_below_the_other(cells, look, indent)
    }
}

struct Lane<'a> {
    tid: Tid,
    name: &'a str,
    statement: usize,
    effect: usize,
}

impl<'a> Lane<'a> {
    fn new(tid: Tid, name: &'a str, cells: &[Cell]) -> Self {
        let own = || cells.iter().filter(move |cell| cell.tid == tid);
        let widest = |text: fn(&Cell) -> &str| own().map(|c| columns(&visible(text(c)))).max();
        Lane {
            tid,
            name,
            statement: widest(|cell| &cell.statement).unwrap_or(0),
            effect: widest(|cell| &cell.effect).unwrap_or(0),
        }
    }

    fn width(&self) -> usize {
        let effect = if self.effect > 0 { self.effect + 2 } else { 0 };
        (self.statement + effect).max(columns(self.name)).min(WIDEST)
    }
}

/// Widths for the lanes that fit into `room`: those that need less than their share leave the rest to
/// the others.
fn fit(lanes: &[Lane], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = lanes.iter().map(Lane::width).collect();
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest == 0 {
            break;
        }
        *widest -= 1;
    }
    widths
}

fn side_by_side(
    cells: &[Cell],
    lanes: &[Lane],
    widths: &[usize],
    look: &Look,
    indent: &str,
) -> String {
    let mut out = String::new();
    let heads = lanes.iter().zip(widths).map(|(lane, width)| {
        look.paint(Ink::Strong, &pad(&cut(&visible(lane.name), *width), *width))
    });
    push_line(&mut out, indent, &heads.collect::<Vec<_>>().join(&" ".repeat(GAP)));
    for cell in cells {
        let mut before = 0;
        for (lane, width) in lanes.iter().zip(widths) {
            if lane.tid == cell.tid {
                let shown = show(cell, lane.statement, lane.effect, *width, look);
                push_line(&mut out, indent, &format!("{}{shown}", " ".repeat(before)));
            }
            before += width + GAP;
        }
    }
    out
}

fn one_below_the_other(cells: &[Cell], look: &Look, indent: &str) -> String {
    let names = cells.iter().map(|cell| columns(&visible(&cell.thread))).max().unwrap_or(0);
    let statements = cells.iter().map(|cell| columns(&visible(&cell.statement))).max().unwrap_or(0);
    let effects = cells.iter().map(|cell| columns(&visible(&cell.effect))).max().unwrap_or(0);
    let width = look.width.saturating_sub(indent.len() + names + 2).max(NARROWEST);
    let mut out = String::new();
    for cell in cells {
        let name = pad(&visible(&cell.thread), names);
        let shown = show(cell, statements, effects, width, look);
        push_line(&mut out, indent, &format!("{}  {shown}", look.paint(Ink::Strong, &name)));
    }
    out
}

/// A cell in `width` columns, its effect in line with those above and below, which take `effects`.
fn show(cell: &Cell, statements: usize, effects: usize, width: usize, look: &Look) -> String {
    let text = visible(&cell.statement);
    let ink = if cell.wrong { Ink::Bad } else { Ink::Faint };
    let paint = |text: &str| if cell.wrong { look.paint(ink, text) } else { text.to_string() };
    if cell.effect.is_empty() {
        return paint(&cut(&text, width));
    }
    // What was read or written matters more than the end of a long statement.
    let room = width.saturating_sub(effects + 2).max(width / 3);
    let text = pad(&cut(&text, room), statements.min(room));
    let effect = cut(&visible(&cell.effect), width.saturating_sub(columns(&text) + 2));
    format!("{}  {}", paint(&text), look.paint(ink, &effect))
}

fn push_line(out: &mut String, indent: &str, line: &str) {
    out.push_str(indent);
    out.push_str(line.trim_end());
    out.push('\n');
}
