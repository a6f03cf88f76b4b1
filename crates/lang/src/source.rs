//! A program together with the text it came from.

use crate::Diagnostic;
use crate::litmus::Litmus;
use crate::lower::Lowered;
use ir::{Loc, Origin, Program, Reg, Tid, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A range of bytes of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// Where it starts.
    pub start: usize,
    /// Where it ends; the byte here is no longer part of it.
    pub end: usize,
}

impl Span {
    /// The bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// From the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Self {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

/// A program and its text.
#[derive(Clone, Debug)]
pub struct Source {
    /// What messages call the file.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// What the text is written in.
    pub language: Language,
    /// What it means.
    pub program: Program,
    /// Where each instruction came from, by [`Origin`].
    pub spans: Vec<Span>,
    /// Where in these spans instructions begin, by [`Origin`], if a span is a statement of several; at their starts if
    /// this is empty.
    pub columns: Vec<usize>,
    /// What may not be as meant.
    pub warnings: Vec<Diagnostic>,
    /// The `track` hints; no analysis needs them.
    pub tracks: Vec<Track>,
    /// The files that the text consists of, if it is more than one, in the order of the text.
    pub files: Vec<File>,
    /// What goes wrong at assertions that are no statements of the source, such as an access to memory that was freed.
    pub failures: Vec<(Origin, String)>,
    /// What steps do that are no statements of their own, such as the start of a thread.
    pub effects: HashMap<Origin, String>,
    /// Values that stand for something else than a number, such as the address of a variable, and what the user calls it.
    pub values: BTreeMap<Value, Arc<str>>,
    /// Locations that are no memory of the user's, such as whether a thread has ended; final states leave them out.
    pub internal: Vec<Loc>,
    /// Registers that are no locals of the user's, such as the one that `spawn` reads into; final states leave them out.
    pub hidden: Vec<(Tid, Reg)>,
    /// If loops of the program were cut off: after so many rounds. What holds of the program holds up to there only.
    pub rounds: Option<u32>,
    /// What a litmus test says beyond its program, if it is one.
    pub litmus: Option<Litmus>,
    line_starts: Vec<usize>,
}

/// The language that a text is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// One of the languages made for algorithms and litmus tests.
    #[default]
    Algorithms,
    /// C, or something compiled that says not from what.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

/// A file and where it is in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// What messages call it.
    pub name: String,
    /// Its place in the text.
    pub span: Span,
}

/// The file that a line of a text of several files is from, and the line in that file; both are counted from 1.
pub fn origin_of_line<'a>(files: &'a [File], text: &str, line: usize) -> Option<(&'a str, usize)> {
    let first = |file: &File| 1 + text[..file.span.start].matches('\n').count();
    let file = files.iter().rev().find(|file| first(file) <= line)?;
    Some((&file.name, line + 1 - first(file)))
}

/// A hint from the text that these values of a location matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Track {
    /// The location's name.
    pub location: String,
    /// The values; `None` for all.
    pub values: Option<Vec<Value>>,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str, lowered: Lowered, warnings: Vec<Diagnostic>) -> Self {
        let mut source = Source::of_program(name, text, lowered.program, lowered.spans);
        source.warnings = warnings;
        source.tracks = lowered.tracks;
        source.failures = lowered.unwritten.failures;
        source.internal = lowered.unwritten.locations;
        source.hidden = lowered.unwritten.registers;
        source
    }

    /// A program that was made from a text by other means than this crate's. `spans` says where each instruction
    /// came from, by [`Origin`].
    pub fn of_program(name: &str, text: &str, program: Program, spans: Vec<Span>) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Source {
            name: name.to_string(),
            text: text.into(),
            language: Language::default(),
            program,
            spans,
            columns: Vec::new(),
            warnings: Vec::new(),
            tracks: Vec::new(),
            files: Vec::new(),
            failures: Vec::new(),
            effects: HashMap::new(),
            values: BTreeMap::new(),
            internal: Vec::new(),
            hidden: Vec::new(),
            rounds: None,
            litmus: None,
            line_starts: std::iter::once(0).chain(newlines).collect(),
        }
    }

    /// The file that a byte of the text is in, and the file's first line in the text; none if there is only one file.
    pub fn file_at(&self, offset: usize) -> Option<(&File, usize)> {
        let file = self.files.iter().rev().find(|file| file.span.start <= offset)?;
        Some((file, self.line_column(file.span.start).0))
    }

    /// The file, line and column of a byte of the text. Lines and columns are those of that file, from 1.
    pub fn place(&self, offset: usize) -> (&str, usize, usize) {
        let (line, column) = self.line_column(offset);
        match self.file_at(offset) {
            Some((file, first)) => (&file.name, line + 1 - first, column),
            None => (&self.name, line, column),
        }
    }

    /// Does the text have statements with memory orders? Automata and litmus tests in columns have none.
    pub fn has_orders(&self) -> bool {
        self.litmus.is_none() && !crate::trencher::looks_like(&self.text)
    }

    /// What goes wrong at an instruction, if it is no assertion of the source.
    pub fn failure(&self, origin: Origin) -> Option<&str> {
        self.failures.iter().find(|(at, _)| *at == origin).map(|(_, what)| &**what)
    }

    /// Where an instruction came from; the start of the text if `origin` is not of this program.
    pub fn span(&self, origin: Origin) -> Span {
        self.spans.get(origin.index()).copied().unwrap_or(Span::new(0, 0))
    }

    /// Where in the text an instruction begins: inside its span, if that is a statement of several.
    pub fn exact(&self, origin: Origin) -> usize {
        self.columns.get(origin.index()).copied().unwrap_or_else(|| self.span(origin).start)
    }

    /// The line and column of a byte, both from 1; columns count characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(&self.text, offset);
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        (line, 1 + self.text[start..offset].chars().count())
    }

    /// The text of a line, counted from 1, without its end; empty if there is no such line.
    pub fn line_text(&self, line: usize) -> &str {
        let Some(&start) = line.checked_sub(1).and_then(|index| self.line_starts.get(index)) else {
            return "";
        };
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The text of a span; for an instruction's span, its statement.
    pub fn snippet(&self, span: Span) -> &str {
        let end = floor_boundary(&self.text, span.end);
        let start = floor_boundary(&self.text, span.start).min(end);
        &self.text[start..end]
    }
}

/// The nearest place at or before `offset` where a character starts.
pub(crate) fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
