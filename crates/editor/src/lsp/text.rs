//! Places in texts, as the protocol and as reports count them.
//!
//! The protocol counts lines from 0 and columns in units of UTF-16; reports count both from 1, columns in characters.
//! Places beyond the end of a line or of the text become its end, as the protocol wants it.

use lsp_types::{Position, Range};

/// The byte at which a line begins, counted from 0; the end of the text if there is no such line.
fn line_start(text: &str, line: usize) -> usize {
    match line {
        0 => 0,
        _ => text.match_indices('\n').nth(line - 1).map_or(text.len(), |(at, _)| at + 1),
    }
}

/// The line that begins at a byte, without its end.
fn line_at(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    line.strip_suffix('\r').unwrap_or(line)
}

/// The byte of a position.
pub(super) fn offset(text: &str, position: Position) -> usize {
    let start = line_start(text, position.line as usize);
    let line = line_at(text, start);
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= position.character as usize {
            return start + at;
        }
        units += c.len_utf16();
    }
    start + line.len()
}

/// The position of a byte.
pub(super) fn position(text: &str, offset: usize) -> Position {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let units: usize = before[start..].chars().map(char::len_utf16).sum();
    Position::new(before.matches('\n').count() as u32, units as u32)
}

/// The position of a line and column of a report.
pub(super) fn reported(text: &str, line: usize, column: usize) -> Position {
    let start = line_start(text, line.saturating_sub(1));
    let shown = line_at(text, start);
    let chars = shown.chars().take(column.saturating_sub(1));
    Position::new(line.saturating_sub(1) as u32, chars.map(char::len_utf16).sum::<usize>() as u32)
}

/// The column of a position, as reports count them.
pub(super) fn column(text: &str, position: Position) -> usize {
    let start = line_start(text, position.line as usize);
    1 + text[start..offset(text, position)].chars().count()
}

/// A line from its first visible character to its end.
pub(super) fn whole_line(text: &str, line: usize) -> Range {
    let start = line_start(text, line.saturating_sub(1));
    let shown = line_at(text, start);
    let indent = shown.len() - shown.trim_start().len();
    Range::new(position(text, start + indent), position(text, start + shown.len()))
}

/// The word of letters, digits, `_` and `:` at a position.
pub(super) fn word(text: &str, at: Position) -> &str {
    let at = offset(text, at);
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let start = text[..at].char_indices().rev().take_while(|(_, c)| part(*c)).last();
    let end = text[at..].find(|c| !part(c)).map_or(text.len(), |end| at + end);
    &text[start.map_or(at, |(start, _)| start)..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a→b\r\n\u{1f600}x = y.load(acq);\nlast";

    #[test]
    fn places_there_and_back() {
        for (offset, _) in TEXT.char_indices().filter(|(_, c)| !['\r', '\n'].contains(c)) {
            assert_eq!(super::offset(TEXT, position(TEXT, offset)), offset);
        }
        assert_eq!(position(TEXT, TEXT.find('x').expect("x")), Position::new(1, 2));
        assert_eq!(reported(TEXT, 2, 2), Position::new(1, 2));
        assert_eq!(column(TEXT, Position::new(1, 2)), 2);
        assert_eq!(word(TEXT, Position::new(1, 14)), "acq");
        assert_eq!(word(TEXT, Position::new(1, 4)), "");
    }

    /// Places that are not there become the end of the line or of the text.
    #[test]
    fn places_beyond() {
        assert_eq!(offset(TEXT, Position::new(0, 99)), "a→b".len());
        assert_eq!(offset(TEXT, Position::new(99, 0)), TEXT.len());
        assert_eq!(position(TEXT, 9999), Position::new(2, 4));
        assert_eq!(reported(TEXT, 99, 99), Position::new(98, 0));
        assert_eq!(whole_line("  x;  ", 1), Range::new(Position::new(0, 2), Position::new(0, 6)));
        assert_eq!(offset("", Position::new(3, 3)), 0);
    }
}
