//! Where statements begin and end in a text with braces.
//!
//! Fencepost's language, C, C++ and Rust have the same shape as far as that goes: a statement ends at a semicolon or with a block, a
//! block is statements in braces, and what is in parentheses belongs to the statement around it, blocks of closures aside. Names and
//! braces in comments, strings and lines for the preprocessor mean nothing, so these are blanked first ([`blanked`]).

use crate::source::Span;

/// The text with everything blanked that is no code; every other byte stays where it is.
pub(super) fn blanked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut line_begins = true;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let end = match rest {
            [b'/', b'/', ..] => at + until_newline(rest),
            [b'/', b'*', ..] => at + find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4),
            // `#[test]` and `#![…]` are Rust's.
            [b'#', next, ..] if line_begins && !matches!(next, b'[' | b'!') => at + directive(rest),
            [b'r' | b'R', b'"' | b'#', ..]
                if !ends_a_name(text, at) && raw_string(rest).is_some() =>
            {
                at + raw_string(rest).unwrap_or(1)
            }
            [b'"', ..] => at + quoted(rest, b'"'),
            [b'\'', b'\\', ..] => at + quoted(rest, b'\''),
            // Not a lifetime, and not the separator of digits.
            [b'\'', _, b'\'', ..] if !ends_a_name(text, at) => at + 3,
            _ => {
                line_begins = rest[0] == b'\n' || line_begins && rest[0].is_ascii_whitespace();
                at += 1;
                continue;
            }
        };
        for byte in &mut bytes[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        line_begins = false;
        at = end.max(at + 1);
    }
    // Only whole characters were blanked, or bytes that are characters.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_string())
}

fn ends_a_name(text: &str, at: usize) -> bool {
    text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn until_newline(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len())
}

/// The length of a line for the preprocessor, with those that continue it.
fn directive(bytes: &[u8]) -> usize {
    let mut end = until_newline(bytes);
    while end > 0 && bytes[..end].trim_ascii_end().ends_with(b"\\") && end < bytes.len() {
        end += 1 + until_newline(&bytes[end + 1..]);
    }
    end
}

/// The length of a string or character with its quotes.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of `r"…"`, `r#"…"#` or `R"(…)"`.
fn raw_string(bytes: &[u8]) -> Option<usize> {
    let open = bytes.iter().position(|byte| *byte == b'"')?;
    let marks = &bytes[1..open];
    let (begin, end) = match (bytes[0], marks) {
        (b'r', marks) if marks.iter().all(|byte| *byte == b'#') => {
            (open + 1, [b"\"", marks].concat())
        }
        (b'R', []) => {
            let parenthesis = open + 1 + bytes[open + 1..].iter().position(|b| *b == b'(')?;
            (parenthesis, [b")", &bytes[open + 1..parenthesis], b"\""].concat())
        }
        _ => return None,
    };
    Some(find(&bytes[begin..], &end).map_or(bytes.len(), |at| begin + at + end.len()))
}

/// The statements of a text that was blanked, those in blocks of others among them, by their beginnings.
pub(super) fn statements(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut scan = Scan { text, found: &mut found };
    let mut at = 0;
    // A brace too many ends nothing.
    while at < text.len() {
        at = scan.block(at) + 1;
    }
    found.sort_unstable();
    found
}

struct Scan<'t> {
    text: &'t str,
    found: &'t mut Vec<Span>,
}

impl Scan<'_> {
    fn skip_space(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        at + (rest.len() - rest.trim_start().len())
    }

    fn word(&self, at: usize) -> &str {
        let rest = &self.text[at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Statements up to the brace that ends their block; says where it is.
    fn block(&mut self, mut at: usize) -> usize {
        loop {
            at = self.skip_space(at);
            match self.text.as_bytes().get(at) {
                None => return self.text.len(),
                Some(b'}') => return at,
                Some(_) => at = self.statement(at),
            }
        }
    }

    /// A statement, with those in it; says where it ends.
    fn statement(&mut self, start: usize) -> usize {
        let first = self.word(start);
        // What a label names is the statement.
        let behind = self.skip_space(start + first.len());
        let labels = self.text[behind..].starts_with(':') && !self.text[behind..].starts_with("::");
        if labels && !first.is_empty() {
            return behind + 1;
        }
        if first == "case"
            && let Some(colon) = self.text[start..].find([':', ';', '{'])
            && self.text[start + colon..].starts_with(':')
        {
            return start + colon + 1;
        }
        let repeats = first == "do";
        let mut at = start;
        let end = loop {
            match self.text.as_bytes().get(at) {
                None => break self.text.len(),
                Some(b';') => break at + 1,
                Some(b'}') => break at,
                Some(b'(' | b'[') => at = self.parenthesis(at),
                Some(b'{') => {
                    at = (self.block(at + 1) + 1).min(self.text.len());
                    let next = self.skip_space(at);
                    match self.text.as_bytes().get(next) {
                        Some(b';' | b',' | b')' | b'.' | b'?' | b'=' | b'(') => at = next,
                        _ if self.word(next) == "else" => at = next,
                        _ if repeats => at = next,
                        _ => break at,
                    }
                }
                Some(_) => at += 1,
            }
        };
        // `if (c) a; else b;`
        let next = self.skip_space(end.min(self.text.len()));
        if self.word(next) == "else" && end > start {
            let rest = self.statement(next);
            // `else` begins no statement.
            self.found.retain(|span| span.start != next);
            self.found.push(Span::new(start, rest));
            return rest;
        }
        if end > start {
            self.found.push(Span::new(start, end));
        }
        end.max(start + 1)
    }

    /// From a parenthesis to behind its partner. There may be closures inside.
    fn parenthesis(&mut self, open: usize) -> usize {
        let mut at = open + 1;
        loop {
            match self.text.as_bytes().get(at) {
                None => return self.text.len(),
                Some(b')' | b']') => return at + 1,
                // A parenthesis that nobody closes.
                Some(b'}') => return at,
                Some(b'(' | b'[') => at = self.parenthesis(at),
                Some(b'{') => at = (self.block(at + 1) + 1).min(self.text.len()),
                Some(_) => at += 1,
            }
        }
    }
}

/// The partner of the bracket that a text begins with; an angle bracket is one if nothing but names, paths and brackets of its kind
/// are up to its partner.
pub(super) fn closing(text: &str) -> Option<usize> {
    let angle = text.starts_with('<');
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' if angle => depth += 1,
            '>' if angle => depth -= 1,
            c if angle => {
                let may_be_a_type = c.is_alphanumeric() || c.is_whitespace();
                if !may_be_a_type && !matches!(c, '_' | ':' | ',' | '*' | '&' | '\'') {
                    return None;
                }
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Is this the name of a parameter that is a memory order, in some function of a text that was blanked?
pub(super) fn is_parameter(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_part) {
        return false;
    }
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        if before.ends_with(is_part) || behind.starts_with(is_part) {
            return false;
        }
        let begins = |text: &str| text.trim_end().ends_with(['(', ',']);
        // `mut o: Ordering`
        if let Some(kind) = behind.trim_start().strip_prefix(':')
            && !kind.starts_with(':')
        {
            let kind = kind.split([',', ')']).next().unwrap_or_default();
            let before = before.trim_end();
            let before = before.strip_suffix("mut").unwrap_or(before);
            return kind.trim().ends_with("Ordering") && begins(before);
        }
        // `const std::memory_order o`
        let kind = before.trim_end_matches(|c: char| c.is_whitespace() || c == '&');
        let words = kind.strip_suffix("memory_order").map(str::trim_end);
        words.is_some_and(|words| {
            let mut words = words;
            while let Some(less) =
                ["std::", "const", "enum", "::"].iter().find_map(|word| words.strip_suffix(word))
            {
                words = less.trim_end();
            }
            begins(words)
        })
    })
}

/// The innermost of the statements that has a byte.
pub(super) fn innermost(statements: &[Span], at: usize) -> Option<Span> {
    let before = statements.partition_point(|span| span.start <= at);
    statements[..before].iter().rev().find(|span| at < span.end).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let blank = blanked(text);
        assert_eq!(blank.len(), text.len());
        statements(&blank).iter().map(|s| text[s.start..s.end].to_string()).collect()
    }

    /// Catches braces and semicolons that are no code.
    #[test]
    fn comments_strings_and_directives_are_no_code() {
        for text in [
            "a(\"};{\"); b;",
            "a('}'); b;",
            "a('\\''); /* } ; */ b;",
            "// };\n#define X {;\\\n}\na; b;",
            "let a = r#\"\"};\"#; b;",
            "a = R\"x(};)\" )x\"; b;",
        ] {
            assert_eq!(texts(text).len(), 2, "{text}: {:?}", texts(text));
        }
        assert_eq!(texts("fn f<'a>(x: &'a u8) { g(x); }").len(), 2);
    }

    /// Catches statements that are cut in two or run into the next.
    #[test]
    fn statements_with_blocks_of_their_own() {
        assert_eq!(texts("while (x) { a; } b;"), ["while (x) { a; }", "a;", "b;"],);
        assert_eq!(texts("if (x) { a; } else { b; } c;").len(), 4);
        assert_eq!(texts("if (x) a; else b; c;"), ["if (x) a; else b;", "c;"]);
        assert_eq!(texts("do { a; } while (x); b;"), ["do { a; } while (x);", "a;", "b;"]);
        assert_eq!(texts("for (i = 0; i < 2; i++) a; b;").len(), 2);
        assert_eq!(texts("spawn(|| { a; b; }); c;").len(), 4);
        assert_eq!(texts("switch (x) { case 1: a; default: b; }").len(), 3);
        assert_eq!(
            texts("void f(void) { a; } int x[] = { 1 }; b;"),
            ["void f(void) { a; }", "a;", "int x[] = { 1 };", "1 ", "b;"],
        );
        assert_eq!(texts("} a;"), ["a;"]);
    }

    #[test]
    fn the_innermost_statement() {
        let text = "while (x) { a; b; }";
        let all = statements(text);
        let at = |what: &str| innermost(&all, text.find(what).unwrap_or(0)).map(|s| s.start);
        assert_eq!((at("x"), at("a"), at("b")), (Some(0), Some(12), Some(15)));
    }
}
