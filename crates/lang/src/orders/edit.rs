//! Edits of a text that give an operation other orders, or remove a fence.

use super::Orders;
use super::operation::{Implicit, Operation, is_part};
use super::words::{Style, implied_failure};
use crate::source::{Language, Span};
use ir::ReadMode;

/// A text to be put in place of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What goes.
    pub span: Span,
    /// What comes.
    pub text: String,
    pub(super) rank: Rank,
}

/// Of several things to be put at one place, which comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    /// What stands behind the statement before.
    Behind,
    /// A statement in front.
    Before,
    /// What opens an operation that begins here.
    Open(usize),
    /// What closes one: inner ones first.
    Close(usize),
}

/// A part of a text, which begins at `start`, after those edits that are inside it.
///
/// ```
/// use fencepost_lang::orders::{Orders, Written, changed};
/// let text = "global x; thread t { x.store(1, sc); }";
/// let source = fencepost_lang::parse("t.fp", text).expect("a good program");
/// let store = source.program.threads[0].code[0].origin;
/// let edits = Written::of(&source).edits(&[(store, Orders::Store(ir::WriteMode::Rel))]).expect("an order");
/// assert_eq!(changed(text, 0, &edits), "global x; thread t { x.store(1, rel); }");
/// ```
pub fn changed(part: &str, start: usize, edits: &[Edit]) -> String {
    let mut text = part.to_string();
    let inside = |span: &Span| start <= span.start && span.end <= start + part.len();
    for edit in edits.iter().rev().filter(|edit| inside(&edit.span)) {
        text.replace_range(edit.span.start - start..edit.span.end - start, &edit.text);
    }
    text
}

/// What goes when a fence goes, and what comes in its place: its statement with the space behind it, or the line if it is all that
/// is there. `code` is blanked.
pub(super) fn removed(code: &str, operation: Span, language: Language) -> (Span, String) {
    let line = code[..operation.start].rfind('\n').map_or(0, |at| at + 1);
    let words = code[line..operation.start].trim_start();
    // `std::atomic::fence(…)` begins with its path.
    let path = words.rfind(|c: char| !(is_part(c) || c == ':'));
    let start = operation.start - words[path.map_or(0, |at| at + 1)..].len();
    let rest = &code[operation.end..];
    let before = code[..start].trim_end();
    let is_statement = rest.trim_start().starts_with(';');
    let begins = before.is_empty() || before.ends_with([';', '{', '}']);
    if !is_statement || !begins {
        // All that a branch or a loop has, or what a label names, leaves an empty statement; a part of another nothing to do.
        let empty = is_statement && before.ends_with([')', ':']) || before.ends_with("else");
        let nothing = match language {
            _ if empty => "",
            Language::Rust => "()",
            _ => "(void)0",
        };
        return (Span::new(start, operation.end), nothing.to_string());
    }
    let mut end = operation.end + rest.find(';').map_or(0, |at| at + 1);
    let alone = code[line..start].trim().is_empty();
    let behind = &code[end..];
    match behind.find('\n') {
        Some(newline) if alone && behind[..newline].trim().is_empty() => {
            return (Span::new(line, end + newline + 1), String::new());
        }
        _ => end += behind.len() - behind.trim_start_matches(' ').len(),
    }
    (Span::new(start, end), String::new())
}

impl Operation {
    /// What is to be exchanged for what, so that the operation has these orders.
    pub(super) fn with(&self, text: &str, orders: Orders) -> Option<Vec<Edit>> {
        let word = |span: &Span| &text[span.start..span.end];
        if let Some(implicit) = self.implicit {
            let order = self.style.words(orders, "", text)?.remove(0);
            return match (implicit, orders) {
                (Implicit::Load, Orders::Load(_))
                | (Implicit::Store, Orders::Store(_))
                | (Implicit::Update(_), Orders::Update(..)) => {
                    Some(self.as_function(text, implicit, &order))
                }
                _ => None,
            };
        }
        let rank = Rank::Close(usize::MAX - self.span.start);
        let edit = |start: usize, end: usize, text: String| Edit {
            span: Span::new(start, end),
            text,
            rank,
        };
        let name = word(&self.name);
        let operands = match (self.style, name) {
            (Style::Fencepost, "wait") => {
                let order = |span: &&Span| ["rlx", "acq", "sc", "seq_cst"].contains(&word(span));
                self.arguments.len()
                    - usize::from(self.arguments.last().as_ref().is_some_and(order))
            }
            _ => self.operands,
        };
        let compares = name.contains("compare_exchange");
        // A CAS that is known to be tried again until it succeeds keeps the order that it fails with, unless that would be
        // stronger than the one that it succeeds with.
        let fails = self.arguments.get(operands + 1).map(word).unwrap_or_default().to_lowercase();
        let stronger = |read: ReadMode| {
            let strong = fails.contains("seq") && read != ReadMode::Sc;
            strong || fails.contains("acq") && !read.acquires()
        };
        let keeps = match orders {
            Orders::Update(read, _) => {
                compares && self.arguments.len() > operands && !stronger(read)
            }
            _ => false,
        };
        let last = if keeps { operands + 1 } else { self.arguments.len() };
        let orders = match orders {
            Orders::Update(read, write) if compares && !keeps => {
                Orders::CompareExchange(read, write, ReadMode::Rlx)
            }
            orders => orders,
        };
        let old = self.arguments.get(operands..last)?;
        let prefix = old.first().map_or("", |first| word(first));
        let mut new = self.style.words(orders, prefix, text)?;
        // A CAS whose orders are those of its success alone keeps one, if it has one.
        if let [success, failure] = &new[..]
            && old.len() == 1
            && matches!(self.style, Style::Cpp)
            && implied_failure(success) == *failure
        {
            new.pop();
        }
        let list = new.join(", ");
        let mut edits = Vec::new();
        match (old.first(), old.last()) {
            // What stands between them stays.
            (Some(_), _) if old.len() == new.len() => {
                let changed = old.iter().zip(new).filter(|(old, new)| word(old) != new);
                edits.extend(changed.map(|(old, new)| edit(old.start, old.end, new)));
            }
            (Some(first), Some(last)) => edits.push(edit(first.start, last.end, list)),
            _ => {
                let last = self.arguments.last().map(|last| last.end);
                let at = last.unwrap_or(self.span.end - 1);
                let has_parentheses = self.name.end < self.span.end;
                let separator = if operands > 0 { ", " } else { "" };
                match has_parentheses {
                    true => edits.push(edit(at, at, format!("{separator}{list}"))),
                    false => edits.push(edit(self.name.end, self.name.end, format!("({list})"))),
                }
                if matches!(self.style, Style::C | Style::Cpp)
                    && name.starts_with("atomic_")
                    && !name.ends_with("_explicit")
                    && !self.fence
                {
                    let at = self.name.end;
                    edits.push(edit(at, at, "_explicit".into()));
                }
            }
        }
        Some(edits)
    }
}
