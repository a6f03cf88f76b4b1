//! Source text as a terminal may safely show it.
//!
//! Names and comments of a program can hold anything. Characters that could play tricks with a
//! terminal, such as controls and direction marks, are shown escaped.

use unicode_width::UnicodeWidthStr;

/// The text with every character escaped that is not plainly visible; tabs become spaces.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            c if is_tricky(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// The text as a page or a drawing may safely show it: made [`visible`], and nothing in it is markup.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        for c in visible(line).chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#39;"),
                c => out.push(c),
            }
        }
        out.push_str(end);
    }
    out
}

fn is_tricky(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// How many columns of a terminal the text takes.
pub fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text cut to `width` columns, with `…` where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_string();
    }
    let mut out = String::new();
    for c in text.chars() {
        let mut longer = out.clone();
        longer.push(c);
        if columns(&longer) + 1 > width {
            break;
        }
        out = longer;
    }
    out.push('…');
    out
}

/// The text filled up with spaces to `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches source text that could repaint the terminal.
    #[test]
    fn controls_are_shown_not_sent() {
        assert_eq!(visible("a\u{1b}[31m\tb\u{202e}"), "a\\u{1b}[31m    b\\u{202e}");
    }

    /// Catches source text that could become part of a page.
    #[test]
    fn markup_is_shown_not_interpreted() {
        let text = "</script><b a='\"'>&\u{1b}[31m\nx";
        let shown = "&lt;/script&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{1b}[31m\nx";
        assert_eq!(html(text), shown);
    }

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(pad("漢", 4), "漢  ");
    }
}
