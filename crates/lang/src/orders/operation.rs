//! Operations in a text: a name, and arguments in parentheses of which the last are memory orders.
//!
//! A place that a compiler gives is that of a call's name, or of the object that a method is called on. From there the next name
//! is looked for ([`next_name`]); if an operation has that name, its arguments are taken apart ([`operation_named`]). The text
//! has no comments and no strings: they are blanked.

use super::text::closing;
use super::words::Style;
use super::{AccessKind, names};
use crate::source::{Language, Span};

/// An operation in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// From its name to its closing parenthesis.
    pub span: Span,
    /// Its name.
    pub(super) name: Span,
    /// Its arguments, in parentheses.
    pub(super) arguments: Vec<Span>,
    /// How many of them are no orders.
    pub(super) operands: usize,
    /// Is it a fence?
    pub(super) fence: bool,
    /// How orders are written.
    pub(super) style: Style,
    /// Is it an operator of C on an `_Atomic` object, and so `seq_cst` without saying so?
    pub(super) implicit: Option<Implicit>,
}

/// What an operator does to its object, which is [`Operation::name`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Implicit {
    /// It is read: its one argument is the object.
    Load,
    /// It is assigned its argument.
    Store,
    /// It is updated with its argument, or with 1 if it has none.
    Update(&'static str),
}

impl Operation {
    /// Is it an operator of C on an `_Atomic` object, such as `x = 1`? Then it is `seq_cst`.
    pub fn is_implicit(&self) -> bool {
        self.implicit.is_some()
    }

    /// Can a step that is an `access` be one of this operation? A CAS that fails only reads, and one that is tried again until it
    /// succeeds is an update.
    pub(super) fn is_made_by(&self, text: &str, access: AccessKind) -> bool {
        let name = &text[self.name.start..self.name.end];
        let own = match self.implicit {
            Some(Implicit::Load) => AccessKind::Load,
            Some(Implicit::Store) => AccessKind::Store,
            Some(Implicit::Update(_)) => AccessKind::Update,
            None if self.fence => AccessKind::Fence,
            None if name.contains("compare_exchange") => {
                return !matches!(access, AccessKind::Store | AccessKind::Fence);
            }
            None if ["load", "test"].iter().any(|end| is_named(name, end)) => AccessKind::Load,
            None if ["store", "clear"].iter().any(|end| is_named(name, end)) => AccessKind::Store,
            None => AccessKind::Update,
        };
        own == access
    }

    /// Is it a function of C that has no order, and so a macro?
    pub(super) fn is_function_without_order(&self, text: &str) -> bool {
        let name = &text[self.name.start..self.name.end];
        name.starts_with("atomic_") && !name.ends_with("_explicit")
    }
}

/// Is this the last word of a function's name, but for what says how its arguments are given?
fn is_named(name: &str, word: &str) -> bool {
    let name = name.strip_suffix("_explicit").unwrap_or(name);
    let name = name.strip_suffix("_n").unwrap_or(name);
    name == word || name.strip_suffix(word).is_some_and(|before| before.ends_with('_'))
}

/// Can this stand between the beginning of a call and its name: nothing, or an object or a path with what joins it to the name?
/// Names with anything else in between, such as an operator, are another access.
pub(super) fn is_object(text: &str) -> bool {
    let text = text.trim();
    let Some(object) = [".", "->", "::"].into_iter().find_map(|end| text.strip_suffix(end)) else {
        return text.is_empty();
    };
    let mut at = 0;
    // Names follow on names only behind something that joins them.
    let mut name_may_come = true;
    while let Some(c) = object[at..].chars().next() {
        let rest = &object[at..];
        let joint = [".", "->", "::"].into_iter().find(|joint| rest.starts_with(joint));
        at += match (c, joint) {
            (_, Some(joint)) => {
                name_may_come = true;
                joint.len()
            }
            (c, _) if c.is_whitespace() || c == '?' => c.len_utf8(),
            (c, _) if is_part(c) && name_may_come => {
                name_may_come = false;
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            }
            ('(' | '[' | '{' | '<', _) => {
                name_may_come = false;
                match closing(rest) {
                    Some(close) => close + 1,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    true
}

pub(super) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The next identifier that begins before `end`.
pub(super) fn next_name(text: &str, from: usize, end: usize) -> Option<Span> {
    let tail = text.get(from..)?;
    let mut start = from + tail.find(is_part)?;
    // The scan may begin inside a name, if a place is off by some columns; the name counts from there on.
    while start < end {
        let length = text[start..].find(|c| !is_part(c)).unwrap_or(text.len() - start);
        if !text[start..].starts_with(|c: char| c.is_ascii_digit()) {
            return Some(Span::new(start, start + length));
        }
        let next = start + length;
        start = next + text.get(next..)?.find(is_part)?;
    }
    None
}

/// The operation with this name, if it is one and has arguments.
pub(super) fn operation_named(text: &str, name: Span, language: Language) -> Option<Operation> {
    let word = &text[name.start..name.end];
    let is_method = text[..name.start].trim_end().ends_with(['.', '>']);
    let (operands, style) = match language {
        Language::Algorithms => (names::fencepost_operands(word)?, Style::Fencepost),
        // `AtomicBool::store(&x, …)` has its object among its arguments.
        Language::Rust => {
            let path = text[..name.start].trim_end().ends_with("::") && word != "fence";
            (names::rust_operands(word)? + usize::from(path), Style::Rust)
        }
        Language::C => names::c_operands(word)?,
        Language::Cpp if is_method => (names::cpp_operands(word)?, Style::Cpp),
        Language::Cpp => match names::c_operands(word)? {
            (operands, Style::C) => (operands, Style::Cpp),
            other => other,
        },
    };
    let fence = word.contains("fence");
    let rest = &text[name.end..];
    let open = name.end + (rest.len() - rest.trim_start().len());
    if !text[open..].starts_with('(') {
        // `fence;` has no arguments.
        let bare = fence && style == Style::Fencepost;
        let arguments = Vec::new();
        let implicit = None;
        return bare.then_some(Operation {
            span: name,
            name,
            arguments,
            operands,
            fence,
            style,
            implicit,
        });
    }
    let (arguments, close) = arguments(text, open)?;
    let span = Span::new(name.start, close);
    let found = Operation { span, name, arguments, operands, fence, style, implicit: None };
    let known = match style {
        // `wait` has as many values as one likes; its last argument may be an order.
        Style::Fencepost if word == "wait" => found.arguments.len() >= 2,
        _ => (operands..=operands + 3).contains(&found.arguments.len()),
    };
    known.then_some(found)
}

/// The arguments between a parenthesis and its partner, and where that ends.
fn arguments(text: &str, open: usize) -> Option<(Vec<Span>, usize)> {
    let mut depth = 0usize;
    let mut start = open + 1;
    let mut found = Vec::new();
    let mut chars = text[open..].char_indices();
    while let Some((at, c)) = chars.next() {
        let at = open + at;
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    if !text[start..at].trim().is_empty() {
                        found.push(trimmed(text, start, at));
                    }
                    return Some((found, at + 1));
                }
            }
            ',' if depth == 1 => {
                found.push(trimmed(text, start, at));
                start = at + 1;
            }
            // A string or a character may hold parentheses.
            '"' => {
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ';' => return None,
            _ => {}
        }
    }
    None
}

fn trimmed(text: &str, start: usize, end: usize) -> Span {
    let part = &text[start..end];
    let before = part.len() - part.trim_start().len();
    Span::new(start + before, start + before + part.trim().len())
}
