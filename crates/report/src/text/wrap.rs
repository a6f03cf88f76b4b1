//! Sentences in lines of limited width.

use crate::escape::columns;

/// The words of `text` in lines of at most `width` columns, lines after the first starting with
/// `indent`.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
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
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_short() {
        let wrapped = wrap("- one two three four", 9, "  ");
        assert_eq!(wrapped, "- one two\n  three\n  four\n");
        assert_eq!(wrap("unbreakable words", 3, ""), "unbreakable\nwords\n");
    }
}
