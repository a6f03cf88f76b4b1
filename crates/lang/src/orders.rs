//! Memory orders in a text, and the text with other ones.
//!
//! Fencepost's language, C, C++ and Rust write an atomic operation as a name with arguments in parentheses, of which
//! the last are its memory orders: `x.store(1, rel)`, `atomic_store_explicit(&x, 1, memory_order_release)`,
//! `x.store(1, std::memory_order_release)`, `x.store(1, Ordering::Release)`. So one scanner serves them all: from the
//! place of a step it looks for the first name of an operation ([`Written::operation`]), takes its arguments apart, and
//! exchanges the orders behind them ([`Written::edits`]). Operators on atomic objects of C and C++ become functions with an
//! order (`implicit`). What is written in neither way (a macro, a library's lock) has no order to change, and is left alone, with a
//! reason ([`Alone`]).
//!
//! A text that was changed is only text: it has to be compiled or read, and checked, again.

mod implicit;
mod names;
mod text;
mod words;

use crate::source::{Language, Source, Span};
use ir::{FenceMode, Origin, ReadMode, WriteMode};
use std::fmt;
use words::{Style, fence_statement, implied_failure};

/// The orders of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orders {
    /// Of a load, or a wait.
    Load(ReadMode),
    /// Of a store.
    Store(WriteMode),
    /// Of a read-modify-write.
    Update(ReadMode, WriteMode),
    /// Of a CAS: of its read and its write if it succeeds, and of its read if it fails.
    CompareExchange(ReadMode, WriteMode, ReadMode),
    /// Of a fence; none if there is to be no fence.
    Fence(Option<FenceMode>),
    /// Of a new fence in front of the statement.
    NewFence(FenceMode),
    /// Of a new fence behind the statement.
    FenceBehind(FenceMode),
}

impl Orders {
    /// What has these orders. A new fence is one in front of anything.
    fn access(self) -> Access {
        match self {
            Orders::Load(_) => Access::Load,
            Orders::Store(_) => Access::Store,
            Orders::Update(..) => Access::Update,
            Orders::CompareExchange(..) => Access::CompareExchange,
            Orders::Fence(_) | Orders::NewFence(_) | Orders::FenceBehind(_) => Access::Fence,
        }
    }
}

/// What a step does. One place of a text may have several steps: a macro with an access in its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes.
    Update,
    /// It does so if it reads what it expects.
    CompareExchange,
    /// It is a fence.
    Fence,
}

/// Why an access has no order that can be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alone {
    /// It is not written as an atomic operation: by a macro, or in a library.
    NotAnOperation,
    /// It is an operator whose value is used, which no function gives.
    ValueUsed,
    /// It is an operator that no function stands for, such as `*=`.
    NoFunction,
    /// It is in the arguments of a macro that is an access itself, and another like it is there, too.
    Several,
    /// It is an operator in the arguments of a macro that is an access itself.
    Inside,
    /// Its order is a parameter of the function that it is in.
    Parameter,
}

impl fmt::Display for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Alone::NotAnOperation => {
                "no memory order is written here (a macro, a library or a function without one has it)"
            }
            Alone::ValueUsed => "its value is used, which no function with an order gives",
            Alone::NoFunction => "no function with an order does what this operator does",
            Alone::Several => {
                "it shares a macro with another access like it, and compilers give one place for both"
            }
            Alone::Inside => "it is inside of a macro that is an access itself",
            Alone::Parameter => "its order is a parameter of the function that it is in",
        })
    }
}

/// An operation in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// From its name to its closing parenthesis.
    pub span: Span,
    /// Its name.
    name: Span,
    /// Its arguments, in parentheses.
    arguments: Vec<Span>,
    /// How many of them are no orders.
    operands: usize,
    /// Is it a fence?
    fence: bool,
    /// How orders are written.
    style: Style,
    /// Is it an operator of C on an `_Atomic` object, and so `seq_cst` without saying so?
    implicit: Option<Implicit>,
}

/// What an operator does to its object, which is [`Operation::name`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Implicit {
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
    fn is_made_by(&self, text: &str, access: Access) -> bool {
        let name = &text[self.name.start..self.name.end];
        let own = match self.implicit {
            Some(Implicit::Load) => Access::Load,
            Some(Implicit::Store) => Access::Store,
            Some(Implicit::Update(_)) => Access::Update,
            None if self.fence => Access::Fence,
            None if name.contains("compare_exchange") => {
                return !matches!(access, Access::Store | Access::Fence);
            }
            None if ["load", "test"].iter().any(|end| is_named(name, end)) => Access::Load,
            None if ["store", "clear"].iter().any(|end| is_named(name, end)) => Access::Store,
            None => Access::Update,
        };
        own == access
    }

    /// Is it a function of C that has no order, and so a macro?
    fn is_function_without_order(&self, text: &str) -> bool {
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

/// A text as it is read for its orders.
#[derive(Clone, Debug)]
pub struct Written<'s> {
    source: &'s Source,
    /// The text without comments and strings, every byte at its place.
    code: String,
    statements: Vec<Span>,
}

/// A text to be put in place of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What goes.
    pub span: Span,
    /// What comes.
    pub text: String,
    rank: Rank,
}

/// Of several things to be put at one place, which comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// What stands behind the statement before.
    Behind,
    /// A statement in front.
    Before,
    /// What opens an operation that begins here.
    Open(usize),
    /// What closes one: inner ones first.
    Close(usize),
}

impl<'s> Written<'s> {
    /// Reads a text.
    pub fn of(source: &'s Source) -> Self {
        let code = text::blanked(&source.text);
        let statements = text::statements(&code);
        Written { source, code, statements }
    }

    /// The operation that a step which is an `access` is written as, if its orders can be changed, or why not.
    pub fn operation(&self, origin: Origin, access: Access) -> Result<Operation, Alone> {
        let source = self.source;
        let statement = source.span(origin);
        if statement.start == statement.end || source.litmus.is_some() {
            return Err(Alone::NotAnOperation);
        }
        let text = &*self.code;
        let from = source.exact(origin).max(statement.start);
        // An operation may go on behind the line that its statement begins on.
        let whole = text::innermost(&self.statements, from).map_or(statement.end, |span| span.end);
        let end = match source.columns.is_empty() {
            true => statement.end.max(from),
            false => whole.max(statement.end),
        };
        let mut at = from;
        while let Some(name) = next_name(text, at, end) {
            at = name.end;
            if let Some(found) = operation_named(text, name, source.language) {
                // Compilers give the place of a call's name, or of the object that a method is called on. Another access of
                // the same statement is in front of something else.
                let own = source.columns.is_empty() || is_object(&text[from..name.start]);
                if own {
                    return self.of_access(found, access);
                }
                break;
            }
        }
        match source.language {
            Language::C | Language::Cpp if !source.columns.is_empty() => {
                let found = implicit::operation(text, from, source.language)?;
                match found.is_made_by(&self.code, access) {
                    true => Ok(found),
                    false => Err(Alone::NotAnOperation),
                }
            }
            _ => Err(Alone::NotAnOperation),
        }
    }

    /// The operation at a place that is an `access`: the one that was found there, or one in its arguments. Functions of C
    /// without orders are macros, and compilers say of all that is in them that it is where the macro is.
    fn of_access(&self, found: Operation, access: Access) -> Result<Operation, Alone> {
        let (text, language) = (&*self.code, self.source.language);
        if language == Language::Algorithms {
            return Ok(found);
        }
        let is_macro = language == Language::C && found.is_function_without_order(text);
        let mut inside = Vec::new();
        let mut at = found.name.end;
        while is_macro && let Some(name) = next_name(text, at, found.span.end) {
            at = name.end;
            let inner = operation_named(text, name, language);
            inside.extend(inner.filter(|inner| inner.is_made_by(text, access)));
        }
        let found = match (found.is_made_by(text, access), inside.len()) {
            (true, 0) => found,
            (false, 1) => inside.remove(0),
            (false, 0) => return Err(Alone::Inside),
            _ => return Err(Alone::Several),
        };
        let orders = found.arguments.get(found.operands..).unwrap_or_default();
        match orders.iter().any(|order| text::is_parameter(text, &text[order.start..order.end])) {
            true => Err(Alone::Parameter),
            false => Ok(found),
        }
    }

    /// Where the statement of a step begins, and where it ends with all that is in it, if a fence can stand in front.
    pub fn before(&self, origin: Origin) -> Option<(usize, usize)> {
        let span = self.source.span(origin);
        if span.start == span.end || self.source.litmus.is_some() {
            return None;
        }
        let at = self.source.exact(origin).max(span.start);
        let statement = text::innermost(&self.statements, at)?;
        Some((statement.start, statement.end))
    }

    /// Where the statement of a step ends, if it is nothing but the operation, so that a fence can stand behind.
    pub fn behind(&self, origin: Origin) -> Option<usize> {
        let (start, end) = self.before(origin)?;
        let statement = &self.code[start..end];
        let simple = statement.ends_with(';')
            && !statement.contains('{')
            && !["if", "while", "for", "do", "return"].contains(&first_word(statement));
        simple.then_some(end)
    }

    /// What to exchange for what so that the text has other orders, in the order of the text. `None` if a
    /// step is not written as an operation whose orders can be changed, or in a language that has no word for them.
    pub fn edits(&self, changes: &[(Origin, Orders)]) -> Option<Vec<Edit>> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut done: Vec<(Span, Orders)> = Vec::new();
        let mut once = |span: Span, orders: Orders| {
            let new = !done.contains(&(span, orders));
            done.push((span, orders));
            new
        };
        let language = self.source.language;
        for &(origin, orders) in changes {
            if let Orders::NewFence(mode) = orders {
                let at = self.before(origin)?.0;
                let text = format!("{} ", fence_statement(language, mode)?);
                if once(Span::new(at, at), orders) {
                    edits.push(Edit { span: Span::new(at, at), text, rank: Rank::Before });
                }
                continue;
            }
            if let Orders::FenceBehind(mode) = orders {
                let at = self.behind(origin)?;
                let text = format!(" {}", fence_statement(language, mode)?);
                if once(Span::new(at, at), orders) {
                    edits.push(Edit { span: Span::new(at, at), text, rank: Rank::Behind });
                }
                continue;
            }
            let found = self.operation(origin, orders.access()).ok()?;
            if !once(found.span, orders) {
                continue;
            }
            match orders {
                Orders::Fence(None) => {
                    let (span, text) = removed(&self.code, found.span, language);
                    edits.push(Edit { span, text, rank: Rank::Before });
                }
                orders => edits.extend(found.with(&self.source.text, orders)?),
            }
        }
        edits.sort_by_key(|edit| (edit.span, edit.rank));
        let apart = edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
        apart.then_some(edits)
    }
}

/// The word that a text begins with.
fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Can this stand between the beginning of a call and its name: nothing, or an object or a path with what joins it to the name?
/// Names with anything else in between, such as an operator, are another access.
fn is_object(text: &str) -> bool {
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
                match text::closing(rest) {
                    Some(close) => close + 1,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    true
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The next identifier that begins before `end`.
fn next_name(text: &str, from: usize, end: usize) -> Option<Span> {
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
fn operation_named(text: &str, name: Span, language: Language) -> Option<Operation> {
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
fn removed(code: &str, operation: Span, language: Language) -> (Span, String) {
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
    fn with(&self, text: &str, orders: Orders) -> Option<Vec<Edit>> {
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

/// The orders as they are written in a language, without a place to write them at.
pub fn in_words(language: Language, orders: Orders) -> Option<String> {
    let style = match language {
        Language::Algorithms => Style::Fencepost,
        Language::C => Style::C,
        Language::Cpp => Style::Cpp,
        Language::Rust => Style::Rust,
    };
    Some(style.words(orders, "Ordering::", "")?.join(", "))
}

#[cfg(test)]
mod tests;
