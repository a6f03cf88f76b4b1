//! A cycle of events: each would have to come before the next, and the last before the first.

use super::render::INDENT;
use super::style::{Ink, Look};
use crate::document::Link;
use crate::escape::{columns, cut, pad, visible};

/// Columns that effects get at least.
const EFFECTS: usize = 16;
/// Columns that statements get at least.
const STATEMENTS: usize = 20;

/// The events, one below the other, with what joins them.
pub(super) fn cycle(links: &[Link], look: &Look) -> String {
    let names = links.iter().map(|link| columns(&visible(&link.thread))).max().unwrap_or(0);
    let statements = links.iter().map(|link| columns(&visible(&link.statement))).max().unwrap_or(0);
    let room = look.width.saturating_sub(INDENT.len() + names + 2 + EFFECTS).max(STATEMENTS);
    let statements = statements.min(room);
    let line = |link: &Link, note: &str| {
        let head = look.paint(Ink::Strong, &pad(&visible(&link.thread), names));
        let text = pad(&cut(&visible(&link.statement), room), statements);
        let note = look.paint(Ink::Faint, note);
        format!("{}\n", format!("{INDENT}{head}  {text}  {note}").trim_end())
    };
    let mut out = String::new();
    for link in links {
        out.push_str(&line(link, &link.effect));
        let why = look.paint(Ink::Warning, &link.why);
        out.push_str(&format!("{INDENT}{}    {why}\n", " ".repeat(names)));
    }
    out.extend(links.first().map(|first| line(first, "again")));
    out
}
