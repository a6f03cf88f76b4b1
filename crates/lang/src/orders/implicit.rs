//! Operators on atomic objects: `x = 1`, `x++`, `x += 2`, or just `x` where its value is used.
//!
//! Such an access is `seq_cst` and has no word for it. With another order it is a function in C, as in
//! `atomic_store_explicit(&x, 1, memory_order_release)`, and a method in C++, as in `x.store(1, std::memory_order_release)`.
//! Functions that update give back the value before, and those that store give back nothing. So `x++` can be exchanged anywhere, and
//! other operators that write only where nobody uses their value: where they are statements, or in the head of a `for`. Compilers
//! say that a write is at its operator, and a read at the last name of its object or at its beginning.
//!
//! What is exchanged is what stands around the object and the value, and not these themselves: another access in them is exchanged
//! as well.

use super::Alone;
use super::edit::{Edit, Rank};
use super::operation::{Implicit, Operation};
use super::words::Style;
use crate::source::{Language, Span};

/// The operator on an atomic object at a place, if there is one that can be exchanged. `text` is blanked.
pub(super) fn operation(text: &str, at: usize, language: Language) -> Result<Operation, Alone> {
    let rest = text.get(at..).ok_or(Alone::NotAnOperation)?;
    let style = if language == Language::Cpp { Style::Cpp } else { Style::C };
    let updates = [("+=", "add"), ("-=", "sub"), ("|=", "or"), ("&=", "and"), ("^=", "xor")];
    if rest.starts_with('=') && !rest.starts_with("==") {
        return assigned(text, at, 1, Implicit::Store, style);
    }
    if let Some((operator, name)) =
        updates.into_iter().find(|(operator, _)| rest.starts_with(operator))
    {
        return assigned(text, at, operator.len(), Implicit::Update(name), style);
    }
    if ["*=", "/=", "%=", "<<=", ">>="].iter().any(|operator| rest.starts_with(operator)) {
        return Err(Alone::NoFunction);
    }
    for (operator, name) in [("++", "add"), ("--", "sub")] {
        if rest.starts_with(operator) {
            return stepped(text, at, name, style);
        }
    }
    // `*p`, and not a product.
    let star = rest.starts_with('*');
    let after = &rest[usize::from(star)..];
    let start = text.len() - after.trim_start().len();
    let is_cpp = language == Language::Cpp;
    // Compilers of C give the place of a member, those of C++ that of the whole object, which may be what a function returns.
    let begins = text[start..].starts_with(|c: char| is_name(c))
        || text[start..].starts_with('(') && (star || is_cpp);
    let begins = begins || star && text[start..].starts_with('&');
    let end = object_after(text, start, star || is_cpp).filter(|_| begins);
    let end = end.ok_or(Alone::NotAnOperation)?;
    let from = if star || is_cpp { at } else { object_before(text, at, false) };
    let object = Span::new(from, end);
    // What is called with the object, or assigned to it, is no load.
    let behind = text[end..].trim_start();
    // Compilers of C++ give the object's place for `x++`.
    for (operator, name) in [("++", "add"), ("--", "sub")] {
        if is_cpp && behind.starts_with(operator) {
            return stepped(text, text.len() - behind.len(), name, style);
        }
    }
    let written = behind.starts_with('=') && !behind.starts_with("==");
    match written {
        true => Err(Alone::NotAnOperation),
        false => Ok(found(object, object, Vec::new(), Implicit::Load, style)),
    }
}

/// `object = value;` or `object += value;`, with the operator at `at`.
fn assigned(
    text: &str,
    at: usize,
    length: usize,
    implicit: Implicit,
    style: Style,
) -> Result<Operation, Alone> {
    let end = text[..at].trim_end().len();
    let object = Span::new(with_star(text, object_before(text, end, true)), end);
    if object.start == object.end {
        return Err(Alone::NotAnOperation);
    }
    if !is_unused(text, object.start) {
        return Err(Alone::ValueUsed);
    }
    let after = at + length;
    let stop = after + end_of_value(&text[after..]).ok_or(Alone::NotAnOperation)?;
    let value = text[after..stop].trim();
    let start = after + (text[after..stop].len() - text[after..stop].trim_start().len());
    let value = Span::new(start, start + value.len());
    match value.start == value.end {
        true => Err(Alone::NotAnOperation),
        false => {
            Ok(found(Span::new(object.start, value.end), object, vec![value], implicit, style))
        }
    }
}

/// `object++` or `--object`, with the operator at `at`.
fn stepped(text: &str, at: usize, name: &'static str, style: Style) -> Result<Operation, Alone> {
    let behind = &text[at + 2..];
    let postfix = text[..at].trim_end().ends_with(|c: char| is_name(c) || c == ']' || c == ')')
        && !behind.trim_start().starts_with(is_name);
    if postfix {
        // The value is the one before, as that of the function is.
        let end = text[..at].trim_end().len();
        let object = Span::new(object_before(text, end, true), end);
        if with_star(text, object.start) != object.start {
            // `*p++` moves the pointer.
            return Err(Alone::NotAnOperation);
        }
        let whole = Span::new(object.start, at + 2);
        return Ok(found(whole, object, Vec::new(), Implicit::Update(name), style));
    }
    let start = at + 2 + (behind.len() - behind.trim_start().len());
    let star = text[start..].starts_with('*');
    let from = start + usize::from(star);
    let end = object_after(text, from, true).ok_or(Alone::NotAnOperation)?;
    let object = Span::new(start, end);
    match is_unused(text, at) {
        true => {
            Ok(found(Span::new(at, object.end), object, Vec::new(), Implicit::Update(name), style))
        }
        false => Err(Alone::ValueUsed),
    }
}

fn found(
    span: Span,
    object: Span,
    arguments: Vec<Span>,
    implicit: Implicit,
    style: Style,
) -> Operation {
    let (operands, fence) = (arguments.len(), false);
    Operation { span, name: object, arguments, operands, fence, style, implicit: Some(implicit) }
}

impl Operation {
    /// What stands around the object and the value of an operator that becomes a function with this order.
    pub(super) fn as_function(&self, text: &str, implicit: Implicit, order: &str) -> Vec<Edit> {
        let object = self.name;
        let starred = text[object.start..object.end].starts_with('*');
        let star = Span::new(object.start, object.start + usize::from(starred));
        let method = self.style == Style::Cpp;
        let function = match implicit {
            Implicit::Load => "load".to_string(),
            Implicit::Store => "store".to_string(),
            Implicit::Update(name) => format!("fetch_{name}"),
        };
        let (open, close) = match (method, starred) {
            (false, false) => (format!("atomic_{function}_explicit(&"), ", ".to_string()),
            // `&*p` is `p`.
            (false, true) => (format!("atomic_{function}_explicit("), ", ".to_string()),
            (true, false) => (String::new(), format!(".{function}(")),
            (true, true) => (String::new(), format!("->{function}(")),
        };
        let open_span = Span::new(self.span.start.min(star.start), star.end);
        let opener = Edit { span: open_span, text: open, rank: Rank::Open(self.span.start) };
        let rank = Rank::Close(usize::MAX - self.span.start);
        let rest = match (implicit, self.arguments.first()) {
            (Implicit::Load, _) => {
                vec![Edit {
                    span: Span::new(object.end, object.end),
                    text: format!("{close}{order})"),
                    rank,
                }]
            }
            (_, Some(value)) => vec![
                Edit { span: Span::new(object.end, value.start), text: close, rank },
                Edit { span: Span::new(value.end, value.end), text: format!(", {order})"), rank },
            ],
            (_, None) => {
                let end = self.span.end.max(object.end);
                vec![Edit {
                    span: Span::new(object.end, end),
                    text: format!("{close}1, {order})"),
                    rank,
                }]
            }
        };
        std::iter::once(opener).chain(rest).collect()
    }
}

/// Does nobody use the value of an expression that begins here? It is a statement, or in the head of a `for`.
fn is_unused(text: &str, at: usize) -> bool {
    let mut before = text[..at].trim_end();
    // Of what commas separate, only the last has a value; the statement, or the head of a `for`, has none either.
    while let Some(first) = before.strip_suffix(',') {
        let Some(open) = beginning(first) else { return false };
        before = text[..open].trim_end();
    }
    if before.is_empty() || before.ends_with([';', '{', '}']) || is_label(before) {
        return true;
    }
    let ends_with_word = |text: &str, word: &str| {
        let before = text.strip_suffix(word);
        before.is_some_and(|before| !before.ends_with(is_name))
    };
    if let Some(head) = before.strip_suffix('(') {
        return ends_with_word(head.trim_end(), "for");
    }
    if ["else", "do"].iter().any(|word| ends_with_word(before, word)) {
        return true;
    }
    // All that a branch or a loop has.
    before.ends_with(')')
        && opening(before, before.len() - 1).is_some_and(|open| {
            let head = before[..open].trim_end();
            ["if", "while", "for"].iter().any(|word| ends_with_word(head, word))
        })
}

/// Where the expression begins that a text ends with, with all that commas separate: behind a semicolon, a brace, a label or a
/// parenthesis.
fn beginning(text: &str) -> Option<usize> {
    let mut at = text.len();
    while at > 0 {
        match text.as_bytes()[at - 1] {
            b')' | b']' => at = opening(text, at - 1)?,
            b';' | b'{' | b'}' | b'(' => return Some(at),
            // The middle of a choice, a label, or part of a path.
            b':' if is_label(&text[..at]) => return Some(at),
            b'[' | b'?' => return None,
            _ => at -= 1,
        }
    }
    Some(0)
}

/// Does a text end with a label, and not with the middle of `c ? a :`?
fn is_label(text: &str) -> bool {
    let Some(before) = text.strip_suffix(':') else { return false };
    let start = before.rfind([';', '{', '}', '?', ':']).map_or(0, |at| at + 1);
    let joined = start > 0 && matches!(before.as_bytes()[start - 1], b'?' | b':');
    let label = before[start..].trim();
    let case = label.strip_prefix("case").is_some_and(|rest| !rest.starts_with(is_name));
    !joined && (case || !label.is_empty() && label.chars().all(is_name))
}

/// The partner of the closing bracket at `close`.
fn opening(text: &str, close: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.as_bytes()[..=close].iter().enumerate().rev() {
        match byte {
            b')' | b']' => depth += 1,
            b'(' | b'[' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the value ends that goes on with this text: at a semicolon, or at the end of the head of a `for`.
fn end_of_value(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ';' if depth == 0 => return Some(at),
            // Not one between the arguments of a template.
            ',' if depth == 0 => return (!text[..at].contains('<')).then_some(at),
            _ => {}
        }
    }
    None
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The star in front of an object, if there is one that is no product: `*p`.
fn with_star(text: &str, start: usize) -> usize {
    let before = text[..start].trim_end();
    let Some(rest) = before.strip_suffix('*') else { return start };
    let rest = rest.trim_end();
    let is_product = rest.ends_with(|c: char| is_name(c) || matches!(c, ')' | ']'))
        && !["return", "else", "do"].iter().any(|word| rest.ends_with(word));
    // A cast in front of the star looks like a factor.
    match is_product {
        true => start,
        false => before.len() - 1,
    }
}

/// Where an object begins whose text ends at `end`, or goes on there with a name: `q->a[1].` before `next`.
fn object_before(text: &str, end: usize, ends: bool) -> usize {
    let mut at = end;
    // A name or a bracket may come next; behind a name that was taken, only what leads to it.
    let mut part_may_come = ends;
    loop {
        let before = &text[..at];
        if part_may_come && before.ends_with(is_name) {
            at = before.trim_end_matches(is_name).len();
            part_may_come = false;
        } else if part_may_come && before.ends_with([']', ')']) {
            match opening(text, at - 1) {
                Some(open) => at = open,
                None => return at,
            }
        } else if before.ends_with("->") || before.ends_with("::") {
            at -= 2;
            part_may_come = true;
        } else if before.ends_with('.') {
            at -= 1;
            part_may_come = true;
        } else {
            return at;
        }
    }
}

/// Where an object ends that begins at `start`, or goes on there. It may be what a function returns if `calls` says so.
fn object_after(text: &str, start: usize, calls: bool) -> Option<usize> {
    let mut at = start;
    // The address of an object, whose star is in front of it.
    if text[at..].starts_with('&') {
        at += 1;
    }
    loop {
        let rest = &text[at..];
        let name = rest.len() - rest.trim_start_matches(is_name).len();
        at += name;
        let rest = &text[at..];
        if rest.starts_with('[') || (rest.starts_with('(') && (at == start || calls)) {
            at += super::text::closing(rest)? + 1;
        } else if rest.starts_with("->") || rest.starts_with("::") {
            at += 2;
        } else if rest.starts_with('.') {
            at += 1;
        } else {
            // A call is no object.
            return (!rest.starts_with('(') && at > start).then_some(at);
        }
    }
}
