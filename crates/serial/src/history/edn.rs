//! The notation that Clojure programs write data in (EDN), as far as histories need it.
//!
//! Maps, vectors, lists, sets, strings, numbers, keywords, symbols, `nil`, tags (which are skipped) and
//! comments. A number or symbol keeps its spelling.

/// A piece of data.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// `nil`, or JSON's `null`.
    Nil,
    /// A number, symbol, string or keyword without its colon.
    Word(String),
    /// A vector, list or set.
    List(Vec<Data>),
    /// A map.
    Map(Vec<(Data, Data)>),
}

impl Data {
    /// The entry of a map under this word.
    pub fn get(&self, key: &str) -> Option<&Data> {
        let Data::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| name.word() == Some(key)).map(|(_, value)| value)
    }

    /// The word, if it is one.
    pub fn word(&self) -> Option<&str> {
        match self {
            Data::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// What cannot be read: the line and what is wrong there.
pub type Bad = (u64, String);

/// Nothing is nested more deeply than this in a history.
const DEEPEST: usize = 64;

/// Reads one piece of data after the other.
#[derive(Debug)]
pub struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The line, counted from 1.
    pub line: u64,
}

impl<'a> Parser<'a> {
    /// Of a text.
    pub fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Parser { text, at, line: 1 }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.line += u64::from(next == '\n');
        Some(next)
    }

    fn skip_space(&mut self) {
        while let Some(next) = self.peek() {
            match next {
                ';' => {
                    while self.peek().is_some_and(|next| next != '\n') {
                        self.take();
                    }
                }
                ',' => {
                    self.take();
                }
                space if space.is_whitespace() => {
                    self.take();
                }
                _ => break,
            }
        }
    }

    fn bad<T>(&self, message: impl Into<String>) -> Result<T, Bad> {
        Err((self.line, message.into()))
    }

    /// The next piece of data; none at the end of the text.
    pub fn next_data(&mut self) -> Result<Option<Data>, Bad> {
        self.data(0)
    }

    fn data(&mut self, depth: usize) -> Result<Option<Data>, Bad> {
        if depth > DEEPEST {
            return self.bad("this is nested too deeply for a history");
        }
        loop {
            self.skip_space();
            let Some(next) = self.peek() else { return Ok(None) };
            return match next {
                '[' => self.list(']', depth).map(Some),
                '(' => self.list(')', depth).map(Some),
                '{' => self.map(depth).map(Some),
                '"' => self.string().map(Some),
                ']' | ')' | '}' => self.bad(format!("unexpected `{next}`")),
                '#' => {
                    self.take();
                    match self.peek() {
                        Some('{') => self.list('}', depth).map(Some),
                        Some('_') => {
                            self.take();
                            self.data(depth + 1)?;
                            continue;
                        }
                        // A tag: what it says about the next piece is not needed.
                        Some(tag) if !tag.is_whitespace() => {
                            self.bare();
                            continue;
                        }
                        _ => self.bad("`#` needs a tag right after it"),
                    }
                }
                ':' => {
                    self.take();
                    Ok(Some(Data::Word(self.bare())))
                }
                _ => Ok(Some(match self.bare().as_str() {
                    "nil" | "null" => Data::Nil,
                    "" => return self.bad(format!("unexpected `{next}`")),
                    word => Data::Word(word.to_string()),
                })),
            };
        }
    }

    /// A word up to a space or bracket.
    fn bare(&mut self) -> String {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || ",;\"[](){}".contains(c);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word.to_string()
    }

    fn string(&mut self) -> Result<Data, Bad> {
        self.take();
        let mut text = String::new();
        loop {
            match self.take() {
                None => return self.bad("a string that never ends"),
                Some('"') => return Ok(Data::Word(text)),
                Some('\\') => match self.take() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => return self.bad("a string that never ends"),
                },
                Some(other) => text.push(other),
            }
        }
    }

    fn list(&mut self, end: char, depth: usize) -> Result<Data, Bad> {
        let line = self.line;
        self.take();
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.peek() == Some(end) {
                self.take();
                return Ok(Data::List(items));
            }
            match self.data(depth + 1)? {
                Some(item) => items.push(item),
                None => return Err((line, format!("no `{end}` closes what begins here"))),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Data, Bad> {
        let line = self.line;
        let Data::List(items) = self.list('}', depth)? else { return self.bad("no map") };
        if items.len() % 2 == 1 {
            return Err((line, "a key without a value in this map".into()));
        }
        let mut items = items.into_iter();
        let mut entries = Vec::new();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            entries.push((key, value));
        }
        Ok(Data::Map(entries))
    }
}

/// The same data written as JSON; keywords may have kept their colons.
pub fn from_json(value: &serde_json::Value) -> Data {
    match value {
        serde_json::Value::Null => Data::Nil,
        serde_json::Value::Bool(value) => Data::Word(value.to_string()),
        serde_json::Value::Number(value) => Data::Word(value.to_string()),
        serde_json::Value::String(text) => {
            Data::Word(text.strip_prefix(':').unwrap_or(text).to_string())
        }
        serde_json::Value::Array(items) => Data::List(items.iter().map(from_json).collect()),
        serde_json::Value::Object(entries) => Data::Map(
            entries
                .iter()
                .map(|(key, value)| {
                    let key = key.strip_prefix(':').unwrap_or(key);
                    (Data::Word(key.to_string()), from_json(value))
                })
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Data {
        Data::Word(text.into())
    }

    #[test]
    fn reads_operations() {
        let text = "; a history\n#jepsen.history.Op{:type :ok, :value [[:append 3 -1] [:r \"a b\" nil]]\n\
                    #_ ignored :process 0, :set #{1}}";
        let mut parser = Parser::new(text);
        let data = parser.next_data().expect("EDN").expect("a map");
        assert_eq!(data.get("type"), Some(&word("ok")));
        let value = Data::List(vec![
            Data::List(vec![word("append"), word("3"), word("-1")]),
            Data::List(vec![word("r"), word("a b"), Data::Nil]),
        ]);
        assert_eq!(data.get("value"), Some(&value));
        assert_eq!(data.get("set"), Some(&Data::List(vec![word("1")])));
        assert_eq!(parser.next_data(), Ok(None));
    }

    #[test]
    fn says_where_it_is_wrong() {
        for (text, line) in [("{:a 1", 1), ("\n{:a}", 2), ("]", 1), ("\n\n\"x", 3), ("# x", 1)] {
            let found = Parser::new(text).next_data().expect_err(text);
            assert_eq!(found.0, line, "{text}: {}", found.1);
        }
        let deep = "[".repeat(10_000);
        assert!(Parser::new(&deep).next_data().is_err());
    }
}
