//! Diagnostics as a terminal shows them, in the manner of rustc:
//!
//! ```text
//! error[FP1003]: unknown name `z`
//!   --> sb.fp:4:7
//!    |
//!  4 |   r = z.load(acq);
//!    |       ^ not a location; did you mean `x`?
//! ```
//!
//! The same text gives the same picture on every terminal: tabs are four columns, wide characters
//! two, long lines are cut around what matters, and characters that could play tricks with a
//! terminal (controls, direction marks) are shown escaped. A text that was read from several files is
//! shown file by file, that of the main label first.

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{Span, floor_boundary};
use std::fmt::Write;

/// How many columns of a source line are shown where nobody says how many there are.
pub(crate) const WIDTH: usize = 120;
/// How many are shown at least.
const NARROW: usize = 30;
const TAB: usize = 4;

/// What gets a colour.
#[derive(Clone, Copy)]
enum Ink {
    Error,
    Warning,
    Frame,
    Bold,
}

struct Painter {
    color: bool,
    /// How many columns of a source line are shown.
    width: usize,
}

impl Painter {
    fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_string();
        }
        let code = match ink {
            Ink::Error => "1;31",
            Ink::Warning => "1;33",
            Ink::Frame => "1;34",
            Ink::Bold => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Which file a line of the text is from, and which line of the file it is.
pub(crate) type Origin<'o> = dyn Fn(usize) -> (String, usize) + 'o;

/// A label with its place in the text.
struct Mark<'a> {
    span: Span,
    text: &'a str,
    main: bool,
    file: String,
    /// Counted in the file.
    line: usize,
    line_start: usize,
    line_end: usize,
}

/// Source lines take at most `width` columns.
pub(crate) fn render(
    diagnostic: &Diagnostic,
    name: &str,
    text: &str,
    origin: &Origin<'_>,
    (color, width): (bool, usize),
) -> String {
    let painter = Painter { color, width };
    let ink = match diagnostic.severity {
        Severity::Error => Ink::Error,
        Severity::Warning => Ink::Warning,
    };
    let head = format!("{}[{}]", diagnostic.severity, diagnostic.code);
    let message = format!(": {}", escape(&diagnostic.message));
    let mut out = format!("{}{}\n", painter.paint(ink, &head), painter.paint(Ink::Bold, &message));
    let marks = marks(diagnostic, text, origin);
    let digits = marks.iter().map(|mark| mark.line.to_string().len()).max().unwrap_or(1);
    let margin = " ".repeat(digits + 1);
    let arrow = painter.paint(Ink::Frame, &format!("{margin}-->"));
    if marks.is_empty() {
        let _ = writeln!(out, "{arrow} {}", escape(name));
    }
    let elsewhere = painter.paint(Ink::Frame, &format!("{margin}:::"));
    for group in marks.chunk_by(|one, other| one.file == other.file) {
        let main = group.iter().find(|mark| mark.main);
        let (mark, arrow) = main.map_or((&group[0], &elsewhere), |main| (main, &arrow));
        let column = 1 + text[mark.line_start..mark.span.start].chars().count();
        let _ = writeln!(out, "{arrow} {}:{}:{column}", escape(&mark.file), mark.line);
        excerpt(&mut out, group, text, digits, ink, &painter);
    }
    if let Some(help) = &diagnostic.help {
        let equals = painter.paint(Ink::Frame, &format!("{margin} ="));
        let _ = writeln!(out, "{equals} {}: {}", painter.paint(Ink::Bold, "help"), escape(help));
    }
    out
}

/// The labels in the order of the text, those in the file of the main one first.
fn marks<'a>(diagnostic: &'a Diagnostic, text: &str, origin: &Origin<'_>) -> Vec<Mark<'a>> {
    let mut marks: Vec<Mark> = diagnostic
        .labels
        .iter()
        .enumerate()
        .map(|(index, (span, label))| {
            let start = floor_boundary(text, span.start);
            let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
            let end = floor_boundary(text, span.end).clamp(start, line_end.max(start));
            let (file, line) = origin(1 + text[..start].matches('\n').count());
            Mark {
                span: Span::new(start, end),
                text: label,
                main: index == 0,
                file,
                line,
                line_start,
                line_end,
            }
        })
        .collect();
    let main = marks.first().map_or(String::new(), |mark| mark.file.clone());
    marks.sort_by(|one, other| {
        let key = |mark: &Mark| (mark.file != main, mark.file.clone(), mark.line, mark.span.start);
        key(one).cmp(&key(other))
    });
    marks
}

fn excerpt(
    out: &mut String,
    marks: &[Mark],
    text: &str,
    digits: usize,
    ink: Ink,
    painter: &Painter,
) {
    let bar = painter.paint(Ink::Frame, &format!("{} |", " ".repeat(digits + 1)));
    let _ = writeln!(out, "{bar}");
    let mut shown: Option<(usize, Window)> = None;
    for mark in marks {
        let reuse = match &shown {
            Some((line, window)) if *line == mark.line && window.contains(mark.span) => true,
            Some((line, _)) if mark.line > line + 1 => {
                let _ = writeln!(out, "{}", painter.paint(Ink::Frame, "..."));
                false
            }
            _ => false,
        };
        if !reuse {
            let window = Window::around(mark, text, painter.width.max(NARROW));
            let number = painter.paint(Ink::Frame, &format!(" {:>digits$} |", mark.line));
            let _ = writeln!(out, "{}", format!("{number} {}", window.shown).trim_end());
            shown = Some((mark.line, window));
        }
        if let Some((_, window)) = &shown {
            let (sign, ink) = if mark.main { ('^', ink) } else { ('-', Ink::Frame) };
            let (from, to) = window.columns(mark.span);
            let underline: String = std::iter::repeat_n(sign, (to - from).max(1)).collect();
            let label = format!("{underline} {}", escape(mark.text));
            let label = painter.paint(ink, label.trim_end());
            let _ = writeln!(out, "{bar} {}{label}", " ".repeat(from));
        }
    }
}

/// The part of a line that is shown, and in which column each of its bytes is.
struct Window {
    shown: String,
    start: usize,
    end: usize,
    /// Offset from `start` and column, for each character and for the end.
    columns: Vec<(usize, usize)>,
}

impl Window {
    fn around(mark: &Mark, text: &str, most: usize) -> Self {
        let line = text[mark.line_start..mark.line_end].trim_end_matches('\r');
        let line_end = mark.line_start + line.len();
        let at = mark.span.start.min(line_end);
        // Everything shown lies within so many characters of the mark, however long the line is.
        let mut start = text[mark.line_start..at]
            .char_indices()
            .rev()
            .take(most)
            .last()
            .map_or(at, |(index, _)| mark.line_start + index);
        let mut end =
            text[at..line_end].char_indices().nth(most).map_or(line_end, |(index, _)| at + index);
        let width = |from: usize, to: usize| text[from..to].chars().map(columns_of).sum::<usize>();
        if width(start, end) > most {
            // A third of the room goes to what stands before the mark.
            while width(start, at) > most / 3 {
                start += text[start..].chars().next().map_or(1, char::len_utf8);
            }
            while end > at && width(start, end) > most {
                end -= text[..end].chars().next_back().map_or(1, char::len_utf8);
            }
        }
        let mut shown = String::new();
        let mut column = 0;
        if start > mark.line_start {
            shown.push('…');
            column += 1;
        }
        let mut columns = Vec::new();
        for (index, c) in text[start..end].char_indices() {
            columns.push((index, column));
            push_shown(&mut shown, c);
            column += columns_of(c);
        }
        columns.push((end - start, column));
        if end < line_end {
            shown.push('…');
        }
        Window { shown, start, end, columns }
    }

    fn contains(&self, span: Span) -> bool {
        self.start <= span.start && span.start <= self.end
    }

    /// The first column of a span and the one behind its last.
    fn columns(&self, span: Span) -> (usize, usize) {
        let column = |offset: usize| {
            let offset = offset.clamp(self.start, self.end) - self.start;
            let index = self.columns.partition_point(|(start, _)| *start < offset);
            self.columns.get(index).map_or(0, |(_, column)| *column)
        };
        (column(span.start), column(span.end))
    }
}

/// Is the character safe to print as it is?
fn plain(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'))
}

fn push_shown(out: &mut String, c: char) {
    match c {
        '\t' => out.push_str(&" ".repeat(TAB)),
        c if plain(c) => out.push(c),
        c => out.extend(c.escape_unicode()),
    }
}

/// How many columns [`push_shown`] fills.
fn columns_of(c: char) -> usize {
    match c {
        '\t' => TAB,
        c if !plain(c) => c.escape_unicode().count(),
        '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        push_shown(&mut out, c);
    }
    out
}
