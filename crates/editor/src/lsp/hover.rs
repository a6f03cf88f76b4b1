//! What a memory order does here, and whether it is needed.
//!
//! `fencepost orders` says it of every access and fence of a program that is correct. Of others, and while the answer is
//! not there yet, the meaning of the order under the cursor has to do.

use super::document::Document;
use super::text;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position, Range};
use serde::Deserialize;
use std::fmt::Write;

/// An access or fence with a memory order, as `orders --json` tells of it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Site {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// `load`, `store` and so on.
    pub what: String,
    /// The statement.
    pub text: String,
    /// The order as it is written.
    pub written: String,
    /// The weakest that works.
    pub suffices: String,
    /// Are they the same?
    pub needed: bool,
    /// What goes wrong with a weaker one.
    pub because: Vec<Because>,
}

/// What goes wrong.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Because {
    /// In one line.
    pub message: String,
    /// Where.
    pub line: usize,
}

/// What there is to say about a position.
pub(super) fn at(document: &Document, position: Position) -> Option<Hover> {
    let text = &document.text;
    if let Some(site) = document.orders.as_ref().and_then(|sites| site_at(sites, text, position)) {
        let start = text::reported(text, site.line, site.column);
        let end = text::whole_line(text, site.line).end;
        return Some(hover(said(site), Some(Range::new(start, end))));
    }
    let order = order(text::word(text, position))?;
    let mut shown = format!("**{order}**: {}", meaning(order));
    shown.push_str(match () {
        () if document.orders.is_some() => "",
        () if document.busy => "\n\nWhether it is needed here is being found out.",
        () => {
            "\n\nWhether it is needed here is known once the program is correct, and saved if it is to be compiled."
        }
    });
    Some(hover(shown, None))
}

fn hover(value: String, range: Option<Range>) -> Hover {
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Hover { contents, range }
}

/// The access at a position: the last on the line that begins before it, else the line's first.
fn site_at<'a>(sites: &'a [Site], text: &str, position: Position) -> Option<&'a Site> {
    let (line, column) = (position.line as usize + 1, text::column(text, position));
    let mut here: Vec<&Site> = sites.iter().filter(|site| site.line == line).collect();
    here.sort_by_key(|site| site.column);
    here.iter().rev().find(|site| site.column <= column).or(here.first()).copied()
}

fn said(site: &Site) -> String {
    let Site { what, written, suffices, needed, because, .. } = site;
    let mut out = match written.as_str() {
        "no" => format!("**{what}**"),
        written => format!("**{what}, {written}**"),
    };
    let first = written.split('/').next().unwrap_or(written);
    let _ = write!(out, ": {}\n\n", meaning(first));
    let _ = match (needed, written.as_str(), suffices.as_str()) {
        (true, "relaxed" | "relaxed/relaxed", _) => write!(out, "It is as weak as can be."),
        (true, written, _) => write!(out, "`{written}` is **needed** here."),
        (false, _, "no") => {
            write!(out, "It is **not needed** here: the program is correct without.")
        }
        (false, written, suffices) => {
            write!(out, "`{written}` is **more than needed** here: `{suffices}` suffices.")
        }
    };
    for Because { message, line } in because {
        let _ = write!(out, "\n\n- with less: {message}, line {line}");
    }
    out
}

/// The order that a word names, in C's, C++'s, Rust's or our language.
fn order(word: &str) -> Option<&'static str> {
    let last = word.rsplit("::").next().unwrap_or(word);
    Some(match last.strip_prefix("memory_order_").unwrap_or(last) {
        "relaxed" | "Relaxed" | "rlx" => "relaxed",
        "acquire" | "Acquire" | "acq" | "consume" => "acquire",
        "release" | "Release" | "rel" => "release",
        "acq_rel" | "AcqRel" | "acqrel" => "acq_rel",
        "seq_cst" | "SeqCst" | "sc" => "seq_cst",
        _ => return None,
    })
}

/// What an order does.
fn meaning(order: &str) -> &'static str {
    match order {
        "relaxed" => "the access is atomic, and nothing else: it orders no other access",
        "acquire" => {
            "if it reads what a release wrote, everything before that release happens before everything after this"
        }
        "release" => "whoever reads this with acquire knows everything that this thread did before",
        "acq_rel" => "it acquires what it reads, and releases what it writes",
        "seq_cst" => {
            "besides acquire and release, all seq_cst operations of all threads are in one order that everybody agrees on"
        }
        _ => "a fence",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(line: usize, column: usize, written: &str, suffices: &str) -> Site {
        Site {
            file: "t.fp".into(),
            line,
            column,
            what: "store".into(),
            text: String::new(),
            written: written.into(),
            suffices: suffices.into(),
            needed: written == suffices,
            because: vec![Because { message: "`b` may read a stale value".into(), line: 9 }],
        }
    }

    #[test]
    fn the_access_under_the_cursor_is_found() {
        let sites = [site(2, 3, "release", "release"), site(2, 20, "seq_cst", "relaxed")];
        let text = "\n  x.store(1, rel); y.store(1, sc);\n";
        let at = |character| site_at(&sites, text, Position::new(1, character));
        assert_eq!(at(0), Some(&sites[0]));
        assert_eq!(at(5), Some(&sites[0]));
        assert_eq!(at(25), Some(&sites[1]));
        assert_eq!(site_at(&sites, text, Position::new(0, 0)), None);
    }

    #[test]
    fn it_says_whether_an_order_is_needed() {
        let needed = said(&site(1, 1, "release", "release"));
        assert!(needed.contains("**needed**") && needed.contains("line 9"), "{needed}");
        let more = said(&site(1, 1, "seq_cst", "relaxed"));
        assert!(more.contains("**more than needed** here: `relaxed` suffices"), "{more}");
        assert!(said(&site(1, 1, "acq_rel", "no")).contains("**not needed**"));
        assert!(said(&site(1, 1, "relaxed", "relaxed")).contains("as weak as can be"));
    }

    #[test]
    fn orders_are_known_in_every_language() {
        for (word, name) in [
            ("rlx", Some("relaxed")),
            ("memory_order_acquire", Some("acquire")),
            ("std::memory_order::release", Some("release")),
            ("Ordering::AcqRel", Some("acq_rel")),
            ("SeqCst", Some("seq_cst")),
            ("store", None),
            ("", None),
        ] {
            assert_eq!(order(word), name, "{word}");
        }
    }
}
