//! Sentences in lines of limited width.

use crate::escape::columns;

/// A space that no line ends at.
const GLUE: char = '\u{a0}';

/// The words of `text` in lines of at most `width` columns, lines after the first starting with
/// `indent`.
pub(super) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let blank = line.trim().is_empty();
        if !blank && columns(&line) + 1 + columns(word) > width {
            out.push_str(&line);
            out.push('\n');
            line = indent.to_string();
        } else if !blank {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
    out.replace(GLUE, " ")
}

/// The text with ordinary spaces only.
pub(super) fn unglued(text: &str) -> String {
    text.replace(GLUE, " ")
}

/// The text in one piece, however narrow the line.
pub(super) fn glued(text: &str) -> String {
    text.replace(' ', &GLUE.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_short() {
        let wrapped = wrap("- one two three four", 9, "  ");
        assert_eq!(wrapped, "- one two\n  three\n  four\n");
        assert_eq!(wrap("unbreakable words", 3, ""), "unbreakable\nwords\n");
        assert_eq!(wrap(&format!("where {}", glued("x = 1")), 8, ""), "where\nx = 1\n");
    }
}
