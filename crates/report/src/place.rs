//! A place in a source text: its line, column, statement and span.

use ir::{Pc, Program, Tid};
use lang::source::File;
use lang::{Source, Span};
use serde::Serialize;

/// A statement of the source: where it is and what it says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its column, counted from 1 in characters.
    pub column: usize,
    /// Its text on one line, as written: nothing is escaped here.
    pub text: String,
    /// The file, where several were read as one text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// That file's short name, if it is not the one that the input is named by.
    #[serde(skip)]
    pub elsewhere: Option<String>,
    /// Its line in the text as a whole.
    #[serde(skip)]
    pub whole_line: usize,
    /// Its bytes in the text as a whole.
    #[serde(skip)]
    pub span: Span,
}

impl Place {
    /// The place of a span.
    pub fn of(source: &Source, span: Span) -> Self {
        let (line, column) = source.line_column(span.start);
        let words: Vec<&str> = source.snippet(span).split_whitespace().collect();
        let text = words.join(" ").trim_end_matches(';').to_string();
        let place = Place::at(line, column, text, span);
        match source.file_at(span.start) {
            None => place,
            Some((File { name, .. }, first)) => {
                let short = name.rsplit('/').next().unwrap_or(name);
                Place {
                    line: line + 1 - first,
                    file: Some(name.clone()),
                    elsewhere: (*name != source.name).then(|| short.to_string()),
                    ..place
                }
            }
        }
    }

    /// The line, with its file where that is not clear.
    pub fn line_text(&self) -> String {
        match &self.elsewhere {
            Some(file) => format!("{file}:{}", self.line),
            None => self.line.to_string(),
        }
    }

    /// A place in a text of one file.
    pub fn at(line: usize, column: usize, text: String, span: Span) -> Self {
        Place { line, column, text, file: None, elsewhere: None, whole_line: line, span }
    }

    /// The place of a thread's step.
    pub fn of_step(source: &Source, program: &Program, tid: Tid, pc: Pc) -> Self {
        Place::of(source, source.span(program.step(tid, pc).origin))
    }
}
