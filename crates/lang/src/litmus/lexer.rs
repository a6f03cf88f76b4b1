//! Tokens of litmus tests, and a reader of them.

use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{Span, floor_boundary};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Name,
    Number,
    /// One of [`SYMBOLS`].
    Symbol,
    /// What stands after the last token.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// The longer ones first.
const SYMBOLS: [&str; 44] = [
    "/\\", "\\/", "&&", "||", "==", "!=", "<=", ">=", "=>", "->", "++", "--", "+=", "-=", "<<",
    ">>", "{", "}", "(", ")", "[", "]", ";", ",", ":", "=", "~", "!", "*", "&", "|", "^", "+", "-",
    "/", "%", "<", ">", "$", ".", "?", "@", "#", "'",
];

/// The tokens from `from` on. In C code, the braces after the first ones, `(*` starts no comment.
pub(super) fn lex<'a>(
    text: &'a str,
    from: usize,
    is_c: bool,
    sink: &mut Sink,
) -> Option<Vec<Token<'a>>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut depth, mut groups) = (from, 0usize, 0usize);
    while at < bytes.len() {
        let (start, rest) = (at, &text[at..]);
        let in_code = is_c && depth > 0 && groups > 1;
        let kind = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ if rest.starts_with("//") || rest.starts_with('#') && !is_c => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            _ if rest.starts_with("/*") => {
                let Some(length) = rest.find("*/") else { return endless(at, "/*", sink) };
                at += length + 2;
                continue;
            }
            _ if rest.starts_with("(*") && !in_code => {
                at = end_of_comment(text, at, sink)?;
                continue;
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                at += rest
                    .bytes()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                    .count();
                if byte.is_ascii_digit() { Kind::Number } else { Kind::Name }
            }
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => {
                    at += symbol.len();
                    groups += usize::from(*symbol == "{" && depth == 0);
                    match *symbol {
                        "{" => depth += 1,
                        "}" => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    Kind::Symbol
                }
                None => {
                    let end = floor_boundary(text, at + 4).max(at + 1);
                    let span = Span::new(at, end);
                    let shown = rest.chars().next().unwrap_or(' ').escape_debug();
                    let error = Diagnostic::error(codes::LEXICAL, format!("unexpected `{shown}`"));
                    sink.push(error.with_label(span, "no token looks like this"));
                    return None;
                }
            },
        };
        tokens.push(Token { kind, text: &text[start..at], span: Span::new(start, at) });
    }
    let end = Span::new(text.len(), text.len());
    tokens.push(Token { kind: Kind::End, text: "", span: end });
    Some(tokens)
}

/// Where a comment `(* … *)` ends; comments nest.
pub(super) fn end_of_comment(text: &str, start: usize, sink: &mut Sink) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0usize);
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'(', b'*') => (at, depth) = (at + 2, depth + 1),
            (b'*', b')') => {
                (at, depth) = (at + 2, depth.saturating_sub(1));
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    endless(start, "(*", sink)
}

fn endless<T>(start: usize, opening: &str, sink: &mut Sink) -> Option<T> {
    sink.push(
        Diagnostic::error(codes::LEXICAL, "this comment has no end")
            .with_label(Span::new(start, start + 2), format!("`{opening}` is not closed")),
    );
    None
}

/// The error was reported.
pub(super) struct Failed;

pub(super) type Read<T> = Result<T, Failed>;

/// The tokens, and where errors go. The first error ends the reading.
pub(super) struct Reader<'a, 's> {
    pub(super) text: &'a str,
    tokens: &'s [Token<'a>],
    at: usize,
    pub(super) sink: &'s mut Sink,
}

impl<'a, 's> Reader<'a, 's> {
    pub(super) fn new(text: &'a str, tokens: &'s [Token<'a>], sink: &'s mut Sink) -> Self {
        Reader { text, tokens, at: 0, sink }
    }

    pub(super) fn token(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    /// The token `ahead` tokens further on.
    pub(super) fn ahead(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(super) fn span(&self) -> Span {
        self.token().span
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.token().kind == Kind::End
    }

    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.token();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn at(&self, text: &str) -> bool {
        self.token().kind != Kind::End && self.token().text == text
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.at(text);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Read<Span> {
        match self.at(text) {
            true => Ok(self.advance().span),
            false => self.unexpected(&format!("`{text}`")),
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Read<Token<'a>> {
        match self.token().kind {
            Kind::Name => Ok(self.advance()),
            _ => self.unexpected(what),
        }
    }

    /// A number with or without a sign.
    pub(super) fn number(&mut self, what: &str) -> Read<i64> {
        let start = self.span();
        let negative = self.eat("-");
        if self.token().kind != Kind::Number {
            return self.unexpected(what);
        }
        let token = self.advance();
        let digits = token.text.trim_end_matches(['u', 'U', 'l', 'L']);
        let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            Some(digits) => i128::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let value = value.ok().map(|value| if negative { -value } else { value });
        match value.and_then(|value| i64::try_from(value).ok()) {
            Some(value) => Ok(value),
            None => self.fail(
                Diagnostic::error(codes::RANGE, format!("`{}` is no 64-bit number", token.text))
                    .with_label(start.to(token.span), "numbers are decimal or hexadecimal"),
            ),
        }
    }

    /// The number of a thread: `0` or `P0`.
    pub(super) fn thread(&self, token: Token<'a>) -> Option<usize> {
        token.text.strip_prefix('P').unwrap_or(token.text).parse().ok().filter(|n| *n < 1000)
    }

    pub(super) fn unexpected<T>(&mut self, expected: &str) -> Read<T> {
        let token = self.token();
        let found = match token.kind {
            Kind::End => "the end of the file".to_string(),
            _ if token.text.len() > 40 => "a very long word".to_string(),
            _ => format!("`{}`", token.text),
        };
        let error = Diagnostic::error(codes::SYNTAX, format!("expected {expected}, found {found}"));
        self.fail(error.with_label(token.span, format!("expected {expected}")))
    }

    /// Something that the format has and that is not read.
    pub(super) fn unsupported<T>(&mut self, span: Span, what: &str, help: &str) -> Read<T> {
        let error = Diagnostic::error(codes::UNSUPPORTED, what.to_string());
        self.fail(error.with_label(span, "not supported").with_help(help))
    }

    pub(super) fn fail<T>(&mut self, diagnostic: Diagnostic) -> Read<T> {
        self.sink.push(diagnostic);
        Err(Failed)
    }
}
