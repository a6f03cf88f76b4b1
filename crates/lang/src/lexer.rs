//! Text to tokens. Every name is a [`Kind::Name`]: which names are keywords depends on where they
//! stand, and only the parser knows that.

use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use ir::expr::Binary;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Name,
    Number,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    Semicolon,
    Comma,
    Colon,
    Dot,
    Assign,
    Not,
    /// Only before `exists`.
    Tilde,
    /// Also `-` and `+` before an operand.
    Operator(Binary),
    /// What stands after the last token.
    End,
}

/// A token. Files are smaller than 4 GiB, and there are many tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    start: u32,
    end: u32,
}

impl Token {
    fn new(kind: Kind, start: usize, end: usize) -> Self {
        Token { kind, start: start as u32, end: end as u32 }
    }

    pub(crate) fn span(self) -> Span {
        Span::new(self.start as usize, self.end as usize)
    }
}

/// All tokens of the text, [`Kind::End`] last. What is no token is reported and left out.
pub(crate) fn lex(text: &str, sink: &mut Sink) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |length| at + length);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = comment(text, at, sink);
                continue;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at = end_of_word(bytes, at);
                Kind::Name
            }
            b'0'..=b'9' => {
                at = end_of_word(bytes, at);
                let is_number = match &bytes[start..at] {
                    [b'0', b'x' | b'X', digits @ ..] => {
                        !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
                    }
                    digits => digits.iter().all(u8::is_ascii_digit),
                };
                if !is_number {
                    sink.push(bad_number(&text[start..at], Span::new(start, at)));
                }
                Kind::Number
            }
            _ => match punctuation(&bytes[at..]) {
                Some((kind, length)) => {
                    at += length;
                    kind
                }
                None => {
                    at = strangers(text, at, &mut tokens, sink);
                    if sink.is_full() {
                        break;
                    }
                    continue;
                }
            },
        };
        tokens.push(Token::new(kind, start, at));
    }
    tokens.push(Token::new(Kind::End, text.len(), text.len()));
    tokens
}

fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let rest = bytes[start..].iter();
    start + rest.take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

fn punctuation(rest: &[u8]) -> Option<(Kind, usize)> {
    let two = match rest {
        [b'|', b'|', ..] => Some(Binary::Or),
        [b'&', b'&', ..] => Some(Binary::And),
        [b'=', b'=', ..] => Some(Binary::Eq),
        [b'!', b'=', ..] => Some(Binary::Ne),
        [b'<', b'=', ..] => Some(Binary::Le),
        [b'>', b'=', ..] => Some(Binary::Ge),
        _ => None,
    };
    if let Some(operator) = two {
        return Some((Kind::Operator(operator), 2));
    }
    let kind = match rest.first()? {
        b'{' => Kind::OpenBrace,
        b'}' => Kind::CloseBrace,
        b'(' => Kind::OpenParen,
        b')' => Kind::CloseParen,
        b'[' => Kind::OpenBracket,
        b']' => Kind::CloseBracket,
        b';' => Kind::Semicolon,
        b',' => Kind::Comma,
        b':' => Kind::Colon,
        b'.' => Kind::Dot,
        b'=' => Kind::Assign,
        b'!' => Kind::Not,
        b'~' => Kind::Tilde,
        b'|' => Kind::Operator(Binary::BitOr),
        b'^' => Kind::Operator(Binary::BitXor),
        b'&' => Kind::Operator(Binary::BitAnd),
        b'<' => Kind::Operator(Binary::Lt),
        b'>' => Kind::Operator(Binary::Gt),
        b'+' => Kind::Operator(Binary::Add),
        b'-' => Kind::Operator(Binary::Sub),
        b'*' => Kind::Operator(Binary::Mul),
        b'/' => Kind::Operator(Binary::Div),
        b'%' => Kind::Operator(Binary::Rem),
        _ => return None,
    };
    Some((kind, 1))
}

/// Skips a `/* … */` comment.
fn comment(text: &str, start: usize, sink: &mut Sink) -> usize {
    if let Some(length) = text[start + 2..].find("*/") {
        return start + 2 + length + 2;
    }
    sink.push(
        Diagnostic::error(codes::LEXICAL, "this comment has no end")
            .with_label(Span::new(start, start + 2), "`/*` without `*/`"),
    );
    text.len()
}

/// Reports and skips a run of characters that no token starts with, and what belongs to it: the rest
/// of a string, or the letters around a letter that names do not have.
fn strangers(text: &str, at: usize, tokens: &mut Vec<Token>, sink: &mut Sink) -> usize {
    let rest = &text[at..];
    let first = rest.chars().next().unwrap_or(' ');
    let known = |c: char| {
        c.is_ascii_alphanumeric()
            || c.is_ascii_whitespace()
            || matches!(c, '_' | '"' | '\'' | '#')
            || c.is_ascii() && punctuation(&[c as u8]).is_some()
    };
    let mut start = at;
    let length = match first {
        '"' | '\'' => rest[1..].find([first, '\n']).map_or(rest.len(), |length| length + 2),
        '#' => rest.find('\n').unwrap_or(rest.len()),
        c if c.is_alphabetic() => {
            if let Some(word) = tokens.pop_if(|t| t.kind == Kind::Name && t.end as usize == at) {
                start = word.start as usize;
            }
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        }
        _ => rest.find(known).unwrap_or(rest.len()),
    };
    let end = crate::source::floor_boundary(text, at + length);
    let shown: String = text[start..end].chars().take(20).collect();
    let (message, help) = match first {
        '"' | '\'' => ("there are no strings or characters in this language".to_string(), None),
        '#' => (
            "there are no directives in this language".to_string(),
            Some("comments are `// …` or `/* … */`"),
        ),
        c if c.is_alphabetic() => (
            format!("`{}` is not a name", shown.escape_debug()),
            Some("names consist of the letters a-z, A-Z, digits and `_`"),
        ),
        _ => (format!("unexpected `{}`", shown.escape_debug()), None),
    };
    let mut found = Diagnostic::error(codes::LEXICAL, message)
        .with_label(Span::new(start, end), "no token looks like this");
    found.help = help.map(String::from);
    sink.push(found);
    end
}

fn bad_number(word: &str, span: Span) -> Diagnostic {
    let shown: String = word.chars().take(40).collect();
    Diagnostic::error(codes::LEXICAL, format!("`{shown}` is neither a number nor a name"))
        .with_label(
            span,
            "numbers are decimal, or hexadecimal after `0x`; names do not start with a digit",
        )
}
