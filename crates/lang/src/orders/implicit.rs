//! Operators of C on `_Atomic` objects: `x = 1`, `x++`, `x += 2`, or just `x` where its value is used.
//!
//! Such an access is `seq_cst` and has no word for it. With another order it is a function, as in
//! `atomic_store_explicit(&x, 1, memory_order_release)`. Functions that update give back the value before and not the one after,
//! and those that store give back nothing, so operators that write are exchanged only where they are statements and nobody
//! uses their value. Clang says that a write is at its operator, and a read at the last name of its object or at its
//! beginning.

use super::{Implicit, Operation, Span, Style};

/// The operator on an atomic object at a place, if there is one that can be exchanged.
pub(super) fn operation(text: &str, at: usize) -> Option<Operation> {
    let rest = text.get(at..)?;
    let updates = [("+=", "add"), ("-=", "sub"), ("|=", "or"), ("&=", "and"), ("^=", "xor")];
    if rest.starts_with('=') && !rest.starts_with("==") {
        return assigned(text, at, 1, Implicit::Store);
    }
    if let Some((operator, name)) =
        updates.into_iter().find(|(operator, _)| rest.starts_with(operator))
    {
        return assigned(text, at, operator.len(), Implicit::Update(name));
    }
    for (operator, name) in [("++", "add"), ("--", "sub")] {
        if rest.starts_with(operator) {
            return stepped(text, at, name);
        }
    }
    let begins = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !begins {
        return None;
    }
    let object = Span::new(object_before(text, at), object_after(text, at)?);
    Some(found(object, object, Vec::new(), Implicit::Load))
}

/// `object = value;` or `object += value;`, with the operator at `at`.
fn assigned(text: &str, at: usize, length: usize, implicit: Implicit) -> Option<Operation> {
    let end = text[..at].trim_end().len();
    let object = Span::new(object_before(text, end), end);
    let after = at + length;
    let value = &text[after..];
    let stop = after + end_of_statement(value)?;
    let trimmed = text[after..stop].trim();
    let start = after + text[after..stop].find(trimmed)?;
    let value = Span::new(start, start + trimmed.len());
    let whole = Span::new(object.start, value.end);
    (!trimmed.is_empty() && begins_statement(text, object.start))
        .then(|| found(whole, object, vec![value], implicit))
}

/// `object++;` or `--object;`, with the operator at `at`.
fn stepped(text: &str, at: usize, name: &'static str) -> Option<Operation> {
    let prefix = begins_statement(text, at);
    let object = match prefix {
        true => {
            let rest = &text[at + 2..];
            let start = at + 2 + (rest.len() - rest.trim_start().len());
            Span::new(start, object_after(text, start)?)
        }
        false => {
            let end = text[..at].trim_end().len();
            Span::new(object_before(text, end), end)
        }
    };
    let end = if prefix { object.end } else { at + 2 };
    let whole = Span::new(object.start.min(at), end);
    let alone = begins_statement(text, whole.start) && text[end..].trim_start().starts_with(';');
    alone.then(|| found(whole, object, Vec::new(), Implicit::Update(name)))
}

fn found(span: Span, object: Span, arguments: Vec<Span>, implicit: Implicit) -> Operation {
    let (operands, fence) = (arguments.len(), false);
    Operation {
        span,
        name: object,
        arguments,
        operands,
        fence,
        style: Style::C,
        implicit: Some(implicit),
    }
}

/// Does a statement begin here?
fn begins_statement(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    before.is_empty() || before.ends_with([';', '{', '}'])
}

/// Where the statement ends that goes on with this text.
fn end_of_statement(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => return Some(at),
            ',' if depth == 0 => return None,
            '"' | '\'' => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where an object begins whose text ends at `end`, or goes on there: `q->a[1].` before `next`.
fn object_before(text: &str, end: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = end;
    loop {
        let before = &text[..at];
        if before.ends_with(is_name) {
            at = before.trim_end_matches(is_name).len();
        } else if before.ends_with(']') {
            let mut depth = 0usize;
            let mut open = at;
            while open > 0 {
                open -= 1;
                match bytes[open] {
                    b']' => depth += 1,
                    b'[' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            at = open;
        } else if before.ends_with("->") {
            at -= 2;
        } else if before.ends_with('.') {
            at -= 1;
        } else {
            return at;
        }
    }
}

/// Where an object ends that begins at `start`, or goes on there.
fn object_after(text: &str, start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let rest = &text[at..];
        let name = rest.len() - rest.trim_start_matches(is_name).len();
        at += name;
        let rest = &text[at..];
        if rest.starts_with('[') {
            let mut depth = 0usize;
            let close = rest.char_indices().find(|(_, c)| {
                match c {
                    '[' => depth += 1,
                    ']' => depth -= 1,
                    _ => {}
                }
                depth == 0
            })?;
            at += close.0 + 1;
        } else if rest.starts_with("->") {
            at += 2;
        } else if rest.starts_with('.') {
            at += 1;
        } else if name > 0 || rest.starts_with(|c| c != '(') {
            // A call is no object.
            return (!rest.starts_with('(') && at > start).then_some(at);
        } else {
            return None;
        }
    }
}
