//! Tokens to automata.

use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use ir::expr::{Binary, Unary};

/// How deeply an expression may be nested.
const MAX_DEPTH: usize = 64;

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    pub text: &'t str,
    pub span: Span,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Automaton<'t> {
    pub name: Word<'t>,
    pub initial: Word<'t>,
    pub transitions: Vec<Transition<'t>>,
}

/// An edge of an automaton.
#[derive(Debug)]
pub(super) struct Transition<'t> {
    pub from: Word<'t>,
    pub to: Word<'t>,
    pub command: Command<'t>,
    pub span: Span,
}

/// What an edge does.
#[derive(Debug)]
pub(super) enum Command<'t> {
    Read { register: Word<'t>, address: Tree<'t> },
    Write { value: Tree<'t>, address: Tree<'t> },
    Local { register: Word<'t>, value: Tree<'t> },
    Check(Tree<'t>),
    Mfence,
    Lock,
    Unlock,
    Noop,
}

/// An expression.
#[derive(Debug)]
pub(super) enum Tree<'t> {
    Constant(i32, Span),
    Register(Word<'t>),
    Unary(Unary, Box<Tree<'t>>),
    Binary(Binary, Box<Tree<'t>>, Box<Tree<'t>>),
}

impl<'t> Tree<'t> {
    /// Shows `f` every leaf.
    pub(super) fn leaves(&self, f: &mut impl FnMut(&Tree<'t>)) {
        match self {
            Tree::Constant(..) | Tree::Register(_) => f(self),
            Tree::Unary(_, a) => a.leaves(f),
            Tree::Binary(_, a, b) => {
                a.leaves(f);
                b.leaves(f);
            }
        }
    }
}

impl<'t> Command<'t> {
    /// Its expressions.
    pub(super) fn trees(&self) -> Vec<&Tree<'t>> {
        match self {
            Command::Read { address, .. } => vec![address],
            Command::Write { value, address } => vec![value, address],
            Command::Local { value, .. } => vec![value],
            Command::Check(tree) => vec![tree],
            Command::Mfence | Command::Lock | Command::Unlock | Command::Noop => vec![],
        }
    }

    /// The register it writes.
    pub(super) fn output(&self) -> Option<Word<'t>> {
        match self {
            Command::Read { register, .. } | Command::Local { register, .. } => Some(*register),
            _ => None,
        }
    }
}

/// The words of `text`, comments left out as far as they can be told without reading threads.
pub(super) fn words_outside_comments(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches('\u{feff}');
    text.lines()
        .filter(|line| line.split_whitespace().next() != Some("#"))
        .flat_map(str::split_whitespace)
}

/// Reads all threads. Errors go to `sink`; one error ends the reading, since a stream of words
/// gives no place to start again.
pub(super) fn read<'t>(text: &'t str, sink: &mut Sink) -> Vec<Automaton<'t>> {
    let mut reader = Reader { text, at: 0 };
    let mut automata: Vec<Automaton<'t>> = Vec::new();
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    while let Some(word) = reader.next() {
        let result = match word.text {
            "#" => {
                reader.skip_line();
                continue;
            }
            "memory_size" => reader.expect("the size of the memory").map(|_| ()),
            "thread" => reader.thread(word, sink).map(|thread| {
                if let Some(first) = automata.iter().find(|a| a.name.text == thread.name.text) {
                    sink.push(
                        Diagnostic::error(
                            codes::DUPLICATE,
                            format!("thread `{}` is declared twice", thread.name.text),
                        )
                        .with_label(thread.name.span, "already a thread")
                        .with_label(first.name.span, "first declared here"),
                    );
                }
                automata.push(thread);
            }),
            other => Err(syntax(word, format!("expected `thread`, found `{other}`")).with_help(
                match other.starts_with('#') {
                    true => "a comment starts with `#` and a space",
                    false => "a program is a sequence of `thread NAME … end`",
                },
            )),
        };
        if let Err(error) = result {
            sink.push(error);
            break;
        }
    }
    automata
}

fn syntax(word: Word<'_>, message: String) -> Diagnostic {
    Diagnostic::error(codes::SYNTAX, message).with_label(word.span, "here")
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<Word<'t>> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.find(|c: char| !c.is_whitespace())?;
        let rest = &self.text[start..];
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at = end;
        Some(Word { text: &self.text[start..end], span: Span::new(start, end) })
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
    }

    fn expect(&mut self, what: &str) -> Result<Word<'t>, Diagnostic> {
        self.next().ok_or_else(|| {
            let end = self.text.trim_end().len();
            Diagnostic::error(codes::SYNTAX, format!("expected {what}, but the file ends"))
                .with_label(Span::new(end, end), "the file ends here")
        })
    }

    fn thread(&mut self, keyword: Word<'t>, sink: &mut Sink) -> Result<Automaton<'t>, Diagnostic> {
        let name = self.expect("the thread's name")?;
        let mut initial: Option<Word<'t>> = None;
        let mut transitions = Vec::new();
        loop {
            let word = self.expect("`end`").map_err(|error| {
                error
                    .with_label(keyword.span.to(name.span), "this thread has no `end`")
                    .with_help("a thread is `thread NAME initial STATE transition … end`")
            })?;
            match word.text {
                "end" => break,
                "initial" => {
                    let state = self.expect("the initial state")?;
                    if let Some(first) = initial.replace(state) {
                        sink.push(
                            Diagnostic::warning(codes::REPEATED, "a second `initial`: it counts")
                                .with_label(state.span, "this one counts")
                                .with_label(first.span, "not this one"),
                        );
                    }
                }
                "transition" => transitions.push(self.transition(word)?),
                "#" => {
                    return Err(syntax(word, "a comment inside a thread".into())
                        .with_help("comments stand before `thread` or after `end`"));
                }
                "thread" => {
                    return Err(syntax(word, "expected `end`, found `thread`".into())
                        .with_label(keyword.span.to(name.span), "this thread has no `end`"));
                }
                other => {
                    return Err(syntax(
                        word,
                        format!("expected `initial`, `transition` or `end`, found `{other}`"),
                    ));
                }
            }
        }
        let initial = initial.ok_or_else(|| {
            Diagnostic::error(codes::SYNTAX, format!("thread `{}` has no initial state", name.text))
                .with_label(keyword.span.to(name.span), "add `initial STATE`")
        })?;
        Ok(Automaton { name, initial, transitions })
    }

    fn transition(&mut self, keyword: Word<'t>) -> Result<Transition<'t>, Diagnostic> {
        let from = self.expect("the state it leaves")?;
        let to = self.expect("the state it enters")?;
        let word = self.expect("an instruction")?;
        let command = match word.text {
            "read" => Command::Read { register: self.register()?, address: self.tree(0)? },
            "write" => Command::Write { value: self.tree(0)?, address: self.tree(0)? },
            "local" => Command::Local { register: self.register()?, value: self.tree(0)? },
            "check" => Command::Check(self.tree(0)?),
            "mfence" => Command::Mfence,
            "lock" => Command::Lock,
            "unlock" => Command::Unlock,
            "noop" => Command::Noop,
            other => {
                const KNOWN: [&str; 8] =
                    ["read", "write", "local", "check", "mfence", "lock", "unlock", "noop"];
                let error = Diagnostic::error(
                    codes::UNKNOWN_NAME,
                    format!("unknown instruction `{other}`"),
                );
                return Err(match crate::suggest::nearest(other, KNOWN) {
                    Some(near) => error.with_label(word.span, format!("did you mean `{near}`?")),
                    None => error.with_label(word.span, "not an instruction"),
                }
                .with_help(format!("instructions are {}", KNOWN.join(", "))));
            }
        };
        let span = Span::new(keyword.span.start, self.at);
        Ok(Transition { from, to, command, span })
    }

    fn register(&mut self) -> Result<Word<'t>, Diagnostic> {
        let word = self.expect("a register")?;
        match is_number(word.text) || operator(word.text).is_some() {
            true => Err(syntax(word, format!("expected a register, found `{}`", word.text))),
            false => Ok(word),
        }
    }

    fn tree(&mut self, depth: usize) -> Result<Tree<'t>, Diagnostic> {
        let word = self.expect("an expression")?;
        if depth > MAX_DEPTH {
            return Err(Diagnostic::error(codes::LIMIT, "the expression is nested too deeply")
                .with_label(word.span, "here"));
        }
        if is_number(word.text) {
            return constant(word);
        }
        Ok(match operator(word.text) {
            Some(Operator::Unary(op)) => Tree::Unary(op, Box::new(self.tree(depth + 1)?)),
            Some(Operator::Binary(op)) => {
                let left = self.tree(depth + 1)?;
                Tree::Binary(op, Box::new(left), Box::new(self.tree(depth + 1)?))
            }
            None if matches!(word.text, "transition" | "end" | "initial" | "thread") => {
                return Err(syntax(word, format!("expected an expression, found `{}`", word.text))
                    .with_help("operators come first: `+ a b`"));
            }
            None => Tree::Register(word),
        })
    }
}

/// Does it begin like a number? Everything else is a register or an operator.
fn is_number(text: &str) -> bool {
    text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit())
        && !text[1..].starts_with(['-', '+'])
}

fn constant(word: Word<'_>) -> Result<Tree<'_>, Diagnostic> {
    match word.text.parse::<i32>() {
        Ok(value) => Ok(Tree::Constant(value, word.span)),
        Err(error) if matches!(error.kind(), std::num::IntErrorKind::InvalidDigit) => {
            Err(Diagnostic::error(codes::LEXICAL, format!("`{}` is not a number", word.text))
                .with_label(word.span, "it begins like one")
                .with_help("names of registers do not begin with a digit"))
        }
        Err(_) => Err(Diagnostic::error(codes::RANGE, format!("{} is out of range", word.text))
            .with_label(word.span, format!("numbers are {}..={}", i32::MIN, i32::MAX))),
    }
}

enum Operator {
    Unary(Unary),
    Binary(Binary),
}

fn operator(text: &str) -> Option<Operator> {
    Some(Operator::Binary(match text {
        "!" => return Some(Operator::Unary(Unary::Not)),
        "==" => Binary::Eq,
        "!=" => Binary::Ne,
        "<" => Binary::Lt,
        "<=" => Binary::Le,
        ">" => Binary::Gt,
        ">=" => Binary::Ge,
        "&&" => Binary::And,
        "||" => Binary::Or,
        "+" => Binary::Add,
        "-" => Binary::Sub,
        "*" => Binary::Mul,
        "&" => Binary::BitAnd,
        _ => return None,
    }))
}
