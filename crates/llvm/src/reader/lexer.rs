//! Text to tokens.
//!
//! Tokens borrow from the text and are made one at a time. Whitespace and comments (`; …`) separate them; line ends
//! mean nothing. A word or quoted string directly before a colon is a label, whether it names a block (`entry:`) or a
//! field of metadata (`line: 12`).

/// A token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Token<'a> {
    /// The text is over.
    End,
    /// A keyword, type or opcode.
    Word(&'a str),
    /// `name:`, `"name":` or `12:`.
    Label(Name<'a>),
    /// `%name`.
    Local(Name<'a>),
    /// `@name`.
    Global(Name<'a>),
    /// `$name`.
    Comdat,
    /// `!name`.
    MetaName(&'a str),
    /// `!12`.
    MetaId(u32),
    /// `#12`.
    Group(u32),
    /// `#dbg_declare` and its kin.
    Record(&'a str),
    /// An integer in decimal, with its sign, or hexadecimal after `u0x` or `s0x`.
    Int(&'a str),
    /// A floating-point number in decimal or as `0x…`.
    Float(&'a str),
    /// What is between quotes, escapes as they are.
    Str(&'a str),
    /// What is between the quotes of `c"…"`.
    Bytes(&'a str),
    /// `...`
    Dots,
    /// One of `( ) [ ] { } < > , = * ! | : ^ + -`.
    Punct(u8),
}

/// A name, possibly written in quotes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Name<'a> {
    /// The text, escapes as they are.
    pub(crate) text: &'a str,
    /// It was in quotes: it may have escapes, and `"12"` is no number.
    pub(crate) quoted: bool,
}

/// What is wrong with the text, where a token should be.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LexError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// Makes tokens of a text.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    /// The offset of the next byte.
    at: usize,
    /// The line of the next byte, counted from 1.
    pub(crate) line: u32,
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'$' | b'.' | b'_')
}

fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit()
}

/// The length of `iN` if the word starts with that and goes on.
fn integer_type_length(word: &str) -> Option<usize> {
    let digits = word.strip_prefix('i')?;
    let length = digits.find(|c: char| !c.is_ascii_digit())?;
    (length > 0).then_some(1 + length)
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, line: 1 }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b';' => {
                    while bytes.get(self.at).is_some_and(|&byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|&byte| accept(byte)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T, LexError> {
        Err(LexError { at, message: message.into() })
    }

    /// What is between quotes; the next byte is the opening one.
    fn quoted(&mut self) -> Result<&'a str, LexError> {
        let start = self.at + 1;
        let rest = &self.text.as_bytes()[start..];
        let Some(length) = rest.iter().position(|&byte| byte == b'"') else {
            return self.error(self.at, "a string without its closing quote");
        };
        let inside = &self.text[start..start + length];
        self.line += inside.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.at = start + length + 1;
        Ok(inside)
    }

    /// The name after a sigil: quoted, numbered or plain.
    fn name(&mut self, sigil: &str) -> Result<Name<'a>, LexError> {
        let start = self.at;
        self.at += sigil.len();
        match self.peek(0) {
            b'"' => {
                let text = self.quoted()?;
                Ok(Name { text, quoted: true })
            }
            byte if continues_name(byte) => {
                Ok(Name { text: self.take_while(continues_name), quoted: false })
            }
            _ => self.error(start, format!("`{sigil}` without a name")),
        }
    }

    fn number(&mut self) -> Result<u32, LexError> {
        let start = self.at;
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        digits.parse().or_else(|_| self.error(start, format!("the number {digits} is too large")))
    }

    /// A label if a colon follows, else the other token.
    fn label_or(&mut self, name: Name<'a>, other: Token<'a>) -> Token<'a> {
        if self.peek(0) == b':' {
            self.at += 1;
            return Token::Label(name);
        }
        other
    }

    /// The next token and the offset it starts at.
    pub(crate) fn next(&mut self) -> Result<(usize, Token<'a>), LexError> {
        self.skip_blanks();
        let start = self.at;
        if start == self.text.len() {
            return Ok((start, Token::End));
        }
        let token = match self.peek(0) {
            b'%' => Token::Local(self.name("%")?),
            b'@' => Token::Global(self.name("@")?),
            b'"' => {
                let text = self.quoted()?;
                self.label_or(Name { text, quoted: true }, Token::Str(text))
            }
            b'!' => {
                self.at += 1;
                match self.peek(0) {
                    byte if byte.is_ascii_digit() => Token::MetaId(self.number()?),
                    byte if starts_name(byte) || byte == b'\\' => Token::MetaName(
                        self.take_while(|byte| continues_name(byte) || byte == b'\\'),
                    ),
                    _ => Token::Punct(b'!'),
                }
            }
            b'#' => {
                self.at += 1;
                match self.peek(0) {
                    byte if byte.is_ascii_digit() => Token::Group(self.number()?),
                    byte if byte.is_ascii_alphabetic() => {
                        Token::Record(self.take_while(continues_name))
                    }
                    _ => return self.error(start, "`#` without a number or a record's name"),
                }
            }
            b'.' if self.text[start..].starts_with("...") => {
                // `...:` cannot occur; a name of three dots neither.
                self.at += 3;
                Token::Dots
            }
            b'$' if self.peek(1) == b'"' => {
                self.name("$")?;
                Token::Comdat
            }
            byte if byte.is_ascii_digit() || matches!(byte, b'-' | b'+') => {
                self.numeric(start, byte)?
            }
            byte if starts_name(byte) => self.word(start)?,
            byte @ (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b',' | b'=' | b'*'
            | b'|' | b':' | b'^' | b'/') => {
                self.at += 1;
                Token::Punct(byte)
            }
            _ => {
                let what = self.text[start..].chars().next().unwrap_or(' ');
                return self.error(start, format!("the character {what:?} has no meaning here"));
            }
        };
        Ok((start, token))
    }

    fn word(&mut self, start: usize) -> Result<Token<'a>, LexError> {
        let text = self.take_while(continues_name);
        if text == "c" && self.peek(0) == b'"' {
            return Ok(Token::Bytes(self.quoted()?));
        }
        let hexadecimal = text.strip_prefix("u0x").or_else(|| text.strip_prefix("s0x"));
        if let Some(digits) = hexadecimal
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Ok(Token::Int(text));
        }
        let other = if self.text.as_bytes()[start] == b'$' && text.len() > 1 {
            Token::Comdat
        } else {
            Token::Word(text)
        };
        let name = Name { text, quoted: false };
        Ok(match (self.label_or(name, other), integer_type_length(text)) {
            // `i8addrspace(1)*`: a type ends where its digits end.
            (Token::Word(_), Some(length)) => {
                self.at = start + length;
                Token::Word(&text[..length])
            }
            (token, _) => token,
        })
    }

    fn numeric(&mut self, start: usize, first: u8) -> Result<Token<'a>, LexError> {
        if first == b'0' && matches!(self.peek(1), b'x' | b'X') {
            self.at += 2;
            self.take_while(|byte| byte.is_ascii_alphanumeric());
            return Ok(Token::Float(&self.text[start..self.at]));
        }
        self.at += usize::from(matches!(first, b'-' | b'+'));
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            // A name such as `-x:` is possible in principle; nobody prints one without quotes.
            self.at = start + 1;
            return Ok(Token::Punct(first));
        }
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.take_while(|byte| byte.is_ascii_digit());
            self.exponent();
            return Ok(Token::Float(&self.text[start..self.at]));
        }
        if self.peek(0) == b'.' {
            self.at += 1;
            self.exponent();
            return Ok(Token::Float(&self.text[start..self.at]));
        }
        // A block may be called `3x`, but `[3x i8]` is three of something.
        let end = self.at;
        self.take_while(continues_name);
        let text = &self.text[start..self.at];
        match self.label_or(Name { text, quoted: false }, Token::End) {
            Token::End => {
                self.at = end;
                Ok(Token::Int(&self.text[start..end]))
            }
            label => Ok(label),
        }
    }

    fn exponent(&mut self) {
        if matches!(self.peek(0), b'e' | b'E') {
            let signed = usize::from(matches!(self.peek(1), b'-' | b'+'));
            if self.peek(1 + signed).is_ascii_digit() {
                self.at += 1 + signed;
                self.take_while(|byte| byte.is_ascii_digit());
            }
        }
    }
}

/// The bytes that a string with escapes (`\0A`, `\\`) stands for.
pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| tail.get(at).and_then(|&byte| (byte as char).to_digit(16));
        match (tail.first(), digit(0), digit(1)) {
            (Some(b'\\'), ..) => {
                bytes.push(b'\\');
                rest = &tail[1..];
            }
            (_, Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => bytes.push(b'\\'),
        }
    }
    bytes
}

impl<'a> Name<'a> {
    /// The name itself. One that is no text keeps its escapes: it is still different from all others.
    pub(crate) fn decode(self) -> std::borrow::Cow<'a, str> {
        if !self.quoted || !self.text.contains('\\') {
            return self.text.into();
        }
        match String::from_utf8(unescape(self.text)) {
            Ok(text) => text.into(),
            Err(_) => self.text.into(),
        }
    }
}
