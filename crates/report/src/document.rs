//! The content of a report, without widths and colours.
//!
//! Every analysis fills a [`Document`]: a title, rows of verdicts, messages about source lines, runs in
//! columns, cycles, notes. [`text::render`](crate::text::render) is the one function that turns a
//! document into lines of text. So an analysis decides what is said and in which order; colours, widths,
//! columns and line breaks are decided once, for all of them.
//!
//! ```
//! use fencepost_report::document::{Document, Line};
//! use fencepost_report::text::{Ink, Look, render};
//!
//! let mut document = Document::default();
//! document.line(Line::inked(Ink::Strong, "queue.fp").then(": 2 questions"));
//! document.rows([("robustness", Line::plain("holds")), ("races", Line::plain("holds"))]);
//! assert_eq!(
//!     render(&document, &Look::PLAIN),
//!     "queue.fp: 2 questions\n  robustness  holds\n  races       holds\n"
//! );
//! ```

use crate::input_report::InputReport;
use crate::text::Ink;
use ir::Tid;
use lang::Diagnostic;

/// What is said, in its order.
#[derive(Clone, Debug, Default)]
pub struct Document<'a> {
    /// Its parts.
    pub blocks: Vec<Block<'a>>,
}

/// A part of a document.
#[derive(Clone, Debug)]
pub enum Block<'a> {
    /// An empty line.
    Gap,
    /// A line that is shown as it is, however long.
    Line(Line),
    /// Sentences, broken into lines.
    Sentences {
        /// The colour of all of it.
        ink: Option<Ink>,
        /// The sentences.
        text: String,
        /// What lines after the first begin with.
        hang: &'static str,
    },
    /// Names, and what is said of each.
    Rows(Vec<(String, Line)>),
    /// Values in columns.
    Table(Table),
    /// Steps of threads, a column for each thread.
    Run(Vec<Cell>),
    /// Calls, returns and what reaches whom, a column for each thread.
    History(History),
    /// Events that would have to come before each other, all round.
    Cycle(Vec<Link>),
    /// A message with the lines of source that it is about.
    Message(&'a InputReport, Diagnostic),
    /// A text to the letter, such as a changed program.
    Verbatim(String),
}

/// Text on one line, in pieces of one colour each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// The pieces.
    pub pieces: Vec<(Option<Ink>, String)>,
}

impl Line {
    /// Text without a colour.
    pub fn plain(text: impl Into<String>) -> Self {
        Line { pieces: vec![(None, text.into())] }
    }

    /// Text in a colour.
    pub fn inked(ink: Ink, text: impl Into<String>) -> Self {
        Line { pieces: vec![(Some(ink), text.into())] }
    }

    /// The same, and more text without a colour.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Self {
        self.pieces.push((None, text.into()));
        self
    }

    /// The same, and more text in a colour.
    #[must_use]
    pub fn then_inked(mut self, ink: Ink, text: impl Into<String>) -> Self {
        self.pieces.push((Some(ink), text.into()));
        self
    }
}

impl<T: Into<String>> From<T> for Line {
    fn from(text: T) -> Self {
        Line::plain(text)
    }
}

/// Values in columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The columns' names; none if the values speak for themselves.
    pub heads: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// A row of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableRow {
    /// A value for each column.
    pub values: Vec<String>,
    /// Notes behind the values.
    pub notes: Vec<Line>,
    /// Lines below the row.
    pub below: Vec<Line>,
}

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The thread that takes the step.
    pub tid: Tid,
    /// The thread's name.
    pub thread: String,
    /// `20: x.store(1, rlx)`
    pub statement: String,
    /// `x = 1`
    pub effect: String,
    /// Is it the step that goes wrong?
    pub wrong: bool,
}

/// A history of calls and returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// The threads' names.
    pub threads: Vec<String>,
    /// What happens, and its number if it has one.
    pub steps: Vec<(Option<usize>, Happening)>,
}

/// What happens in a history. Threads are given by their column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happening {
    /// A thread does something.
    At(usize, String),
    /// Something of one thread reaches another.
    Reaches {
        /// The thread that it comes from.
        from: usize,
        /// The thread that it reaches.
        to: usize,
        /// What it is.
        what: String,
    },
}

/// One event of a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The thread's name.
    pub thread: String,
    /// The event's statement.
    pub statement: String,
    /// What it did.
    pub effect: String,
    /// Why it comes before the next.
    pub why: String,
}

impl<'a> Document<'a> {
    /// Is nothing said?
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Adds a part.
    pub fn push(&mut self, block: Block<'a>) {
        self.blocks.push(block);
    }

    /// Adds all of another document.
    pub fn extend(&mut self, other: Document<'a>) {
        self.blocks.extend(other.blocks);
    }

    /// Adds an empty line, unless nothing is said yet.
    pub fn gap(&mut self) {
        if !self.is_empty() {
            self.push(Block::Gap);
        }
    }

    /// Adds a line that is shown as it is.
    pub fn line(&mut self, line: impl Into<Line>) {
        self.push(Block::Line(line.into()));
    }

    /// Adds the lines of a text as they are.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines() {
            match line {
                "" => self.push(Block::Gap),
                line => self.line(line),
            }
        }
    }

    /// Adds sentences, broken into lines.
    pub fn sentences(&mut self, text: impl Into<String>) {
        self.push(Block::Sentences { ink: None, text: text.into(), hang: "" });
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.push(Block::Sentences { ink: Some(Ink::Strong), text: text.into(), hang: "" });
    }

    /// Adds a point of a list.
    pub fn point(&mut self, text: &str) {
        self.push(Block::Sentences { ink: None, text: format!("- {text}"), hang: "  " });
    }

    /// Adds rows of names and what is said of each.
    pub fn rows<N: Into<String>>(&mut self, rows: impl IntoIterator<Item = (N, Line)>) {
        let rows = rows.into_iter().map(|(name, said)| (name.into(), said));
        self.push(Block::Rows(rows.collect()));
    }
}
