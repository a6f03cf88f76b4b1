//! Diagnostics: errors and warnings about a text, with their places.

use crate::render;
use crate::source::Span;
use std::collections::HashSet;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// The text is not a program.
    Error,
    /// It is one, but perhaps not the one that was meant.
    Warning,
}

/// One finding about a text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Its kind, one of [`crate::codes`].
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// Places in the text and what to say about each; the first is the main one.
    pub labels: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without labels.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        let severity = Severity::Error;
        Diagnostic { severity, code, message: message.into(), labels: vec![], help: None }
    }

    /// A warning without labels.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// The same with one more label.
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push((span, text.into()));
        self
    }

    /// The same with a help line.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The main place, if there is one.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|(span, _)| *span)
    }

    /// The diagnostic as a terminal shows it: message, place, underlined source and help. `text` is
    /// the file's text; control characters in it are shown escaped.
    pub fn render(&self, source_name: &str, text: &str, color: bool) -> String {
        let origin = |line| (source_name.to_string(), line);
        render::render(self, source_name, text, &origin, (color, render::WIDTH))
    }

    /// The same for a text that was read from several files, and for a terminal of so many columns: longer source
    /// lines are cut around what matters. `origin` gives the file and the line in it of a line of the text.
    pub fn render_within(
        &self,
        source_name: &str,
        text: &str,
        origin: &dyn Fn(usize) -> (String, usize),
        color: bool,
        width: usize,
    ) -> String {
        // A number and a frame stand before the source, and marks where it is cut.
        let lines = 1 + text.matches('\n').count();
        let margin = lines.to_string().len() + 6;
        let width = width.saturating_sub(margin).min(render::WIDTH);
        render::render(self, source_name, text, origin, (color, width))
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// Collects diagnostics. Equal ones count once: the threads of `thread t[3]` are all read from the
/// same text.
#[derive(Default)]
pub(crate) struct Sink {
    found: Vec<Diagnostic>,
    seen: HashSet<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Sink {
    /// After this many errors nobody reads on.
    const MAX_ERRORS: usize = 20;
    const MAX_WARNINGS: usize = 100;

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let (count, limit) = match diagnostic.severity {
            Severity::Error => (&mut self.errors, Self::MAX_ERRORS),
            Severity::Warning => (&mut self.warnings, Self::MAX_WARNINGS),
        };
        if *count < limit && self.seen.insert(diagnostic.clone()) {
            *count += 1;
            self.found.push(diagnostic);
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Is there no point in looking for more errors?
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= Self::MAX_ERRORS
    }

    /// All of them in the order of the text, errors before warnings.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| {
            (found.severity == Severity::Warning, found.span().map_or(0, |span| span.start))
        });
        self.found
    }
}
