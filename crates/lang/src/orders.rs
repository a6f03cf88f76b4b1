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

mod edit;
mod implicit;
mod names;
mod operation;
mod text;
mod words;

pub use edit::{Edit, changed};
pub use operation::Operation;

use crate::source::{Language, Source, Span};
use edit::{Rank, removed};
use ir::{FenceMode, Origin, ReadMode, WriteMode};
use operation::{is_object, next_name, operation_named};
use std::fmt;
use words::{Style, fence_statement};

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
    fn access(self) -> AccessKind {
        match self {
            Orders::Load(_) => AccessKind::Load,
            Orders::Store(_) => AccessKind::Store,
            Orders::Update(..) => AccessKind::Update,
            Orders::CompareExchange(..) => AccessKind::CompareExchange,
            Orders::Fence(_) | Orders::NewFence(_) | Orders::FenceBehind(_) => AccessKind::Fence,
        }
    }
}

/// What a step does. One place of a text may have several steps: a macro with an access in its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
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

/// A text as it is read for its orders.
#[derive(Clone, Debug)]
pub struct Written<'s> {
    source: &'s Source,
    /// The text without comments and strings, every byte at its place.
    code: String,
    statements: Vec<Span>,
}

impl<'s> Written<'s> {
    /// Reads a text.
    pub fn of(source: &'s Source) -> Self {
        let code = text::blanked(&source.text);
        let statements = text::statements(&code);
        Written { source, code, statements }
    }

    /// The operation that a step which is an `access` is written as, if its orders can be changed, or why not.
    pub fn operation(&self, origin: Origin, access: AccessKind) -> Result<Operation, Alone> {
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
    fn of_access(&self, found: Operation, access: AccessKind) -> Result<Operation, Alone> {
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
