//! Reading recordings, one line at a time.
//!
//! The format: one event a line, `THREAD begin [NAME]`, `THREAD end`, `THREAD abort`, `THREAD rd VAR
//! [=READ] [from SOURCE]`, `THREAD wr VAR [=WRITTEN]`, `THREAD rmw VAR [=READ [=WRITTEN]] [from SOURCE]`,
//! `THREAD commit VAR`, `THREAD fence`, `THREAD lock NAME`, `THREAD unlock NAME`, an optional `@file:line`
//! at the end, `#` starts a comment, blank lines are skipped. A value is a word, `=?` is one that is not
//! known; a source is `T2#7`, the seventh line of thread `T2`, or `init`. [`Reader`] keeps one line and the names seen, never the events:
//! a recording may be larger than memory. It checks everything that one line and the open
//! transactions can tell; what needs the store buffers is checked by [`crate::machine`].
//!
//! A program that was killed leaves transactions open: they are taken to end with the recording, and
//! [`Reader::warnings`] says so. A byte order mark and lines that end in `\r\n` are read as if they were
//! not there.
//!
//! Every line must end with a newline. A recorder that dies leaves half a line behind, and half of
//! `T1 wr counter` reads as a perfectly good `T1 wr count`.

use std::fmt;
use std::io::{self, BufRead, Read};

use budget::{Budget, Spent, Ticker};

use crate::event::{Action, Data, Event, Lock, Names, Place, Source, Thread, Value, Var};

/// The longest line that is read: something that never ends, such as `/dev/zero`, is told from a
/// recording by then.
const LONGEST_LINE: u64 = 1 << 16;

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadInput {
    /// The line, counted from 1; 0 when the trouble is not in a line (reading failed).
    pub line: u64,
    /// The text of the line, without its newline (empty when there is none to show).
    pub text: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.text.is_empty()) {
            (0, _) => write!(f, "{}", self.message),
            (line, true) => write!(f, "line {line}: {}", self.message),
            (line, false) => write!(f, "line {line}: {}\n    {}", self.message, self.text),
        }
    }
}

impl std::error::Error for BadInput {}

/// A stream of events from text. An iterator; after an error it ends.
pub struct Reader<R> {
    input: R,
    names: Names,
    line: Vec<u8>,
    number: u64,
    events: u64,
    /// Per thread, the line of the `begin` that is still open.
    open: Vec<Option<u64>>,
    /// Per lock, who holds it since which line.
    held: Vec<Option<(Thread, u64)>>,
    warnings: Vec<String>,
    finished: bool,
    ticker: Ticker,
    spent: Option<Spent>,
}

impl<R: BufRead> Reader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Reader::within(input, Budget::UNLIMITED)
    }

    /// Reads from `input` until the budget is spent, where events end; [`Reader::spent`] says so.
    pub fn within(input: R, budget: Budget) -> Self {
        Reader {
            input,
            names: Names::default(),
            line: Vec::new(),
            number: 0,
            events: 0,
            open: Vec::new(),
            held: Vec::new(),
            warnings: Vec::new(),
            finished: false,
            ticker: budget.ticker(),
            spent: None,
        }
    }

    /// What was used up before the end of the input was reached, if anything was.
    pub fn spent(&self) -> Option<Spent> {
        self.spent
    }

    /// What is odd about the recording, but no error; complete when all events are read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The names seen so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names seen, when reading is over.
    pub fn into_names(self) -> Names {
        self.names
    }

    /// The text of the line read last, for messages about its event.
    pub fn text(&self) -> String {
        shown(&self.line)
    }

    /// An error about the line read last.
    pub fn bad(&self, message: impl Into<String>) -> BadInput {
        BadInput { line: self.number, text: self.text(), message: message.into() }
    }

    fn next_event(&mut self) -> Result<Option<Event>, BadInput> {
        loop {
            self.spent = self.ticker.tick();
            if self.spent.is_some() {
                return Ok(None);
            }
            self.line.clear();
            let longest = LONGEST_LINE + 1;
            match self.input.by_ref().take(longest).read_until(b'\n', &mut self.line) {
                Ok(0) => return self.end_of_input().map(|()| None),
                Ok(_) => self.number += 1,
                Err(error) => return Err(self.failed_read(&error)),
            }
            if self.line.len() as u64 == longest {
                let message = format!("a line of more than {LONGEST_LINE} bytes is no event");
                return Err(self.bad(message));
            }
            if self.line.last() != Some(&b'\n') {
                return Err(self.bad(
                    "the input ends in the middle of this line (every line ends with a newline)",
                ));
            }
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.line.drain(..BYTE_ORDER_MARK.len());
            }
            if let Some(event) = self.parse_line()? {
                self.events += 1;
                return Ok(Some(event));
            }
        }
    }

    fn failed_read(&self, error: &io::Error) -> BadInput {
        let message = format!("reading failed after line {}: {error}", self.number);
        BadInput { line: 0, text: String::new(), message }
    }

    fn end_of_input(&mut self) -> Result<(), BadInput> {
        if self.events == 0 {
            let line = self.number.max(1);
            let message = "the recording is empty: not a single event".to_string();
            return Err(BadInput { line, text: String::new(), message });
        }
        for (thread, line) in self.open.iter().enumerate() {
            let Some(line) = line else { continue };
            let name = self.names.of_thread(Thread(thread as u32));
            self.warnings.push(format!(
                "thread {name} begins a transaction at line {line} that never ends: it is taken to end \
                 with the recording"
            ));
        }
        Ok(())
    }

    fn parse_line(&mut self) -> Result<Option<Event>, BadInput> {
        let line = std::mem::take(&mut self.line);
        let parsed = self.parse(&line);
        self.line = line;
        parsed.map_err(|message| self.bad(message))
    }

    fn parse(&mut self, line: &[u8]) -> Result<Option<Event>, String> {
        let Ok(text) = std::str::from_utf8(line) else {
            return Err("this line is not UTF-8 text".into());
        };
        let mut words = text.split_ascii_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else {
            return Ok(None);
        };
        let Some(verb) = words.next().filter(|word| !word.starts_with('#')) else {
            return Err(format!(
                "only one word: after the thread {first:?} an event is expected ({VERBS})"
            ));
        };
        let mut rest = Rest { words, place: None };
        let operand = rest.next()?;
        let thread = self.names.thread(first);
        let mut data = Data::NONE;
        let action = match verb {
            "rd" => Action::Read(self.variable(verb, operand)?),
            "wr" => Action::Write(self.variable(verb, operand)?),
            "rmw" => Action::Rmw(self.variable(verb, operand)?),
            "commit" => Action::Commit(self.variable(verb, operand)?),
            "begin" => Action::Begin(operand.map(|name| self.names.label(name))),
            "lock" => Action::Lock(self.lock(verb, operand)?),
            "unlock" => Action::Unlock(self.lock(verb, operand)?),
            "end" | "abort" | "fence" => {
                if let Some(extra) = operand {
                    return Err(format!("`{verb}` takes no argument, found {extra:?}"));
                }
                match verb {
                    "end" => Action::End,
                    "abort" => Action::Abort,
                    _ => Action::Fence,
                }
            }
            _ => return Err(format!("unknown event {verb:?}: expected {VERBS}")),
        };
        if let Action::Read(_) | Action::Write(_) | Action::Rmw(_) = action {
            data = self.data(action, &mut rest)?;
        } else if let Some(extra) = rest.next()? {
            return Err(format!("unexpected {extra:?} after the event"));
        }
        let place = rest.place.map_or(Place::UNKNOWN, |place| self.names.place(place));
        self.follow_transaction(thread, action)?;
        self.follow_lock(thread, action)?;
        let line = u32::try_from(self.number).unwrap_or(u32::MAX);
        Ok(Some(Event { thread, action, line, place, data }))
    }

    /// The values after a variable, and the source of what was read.
    fn data(&mut self, action: Action, rest: &mut Rest<'_>) -> Result<Data, String> {
        let mut data = Data::NONE;
        let most = if let Action::Rmw(_) = action { 2 } else { 1 };
        let mut values = 0;
        while let Some(word) = rest.next()? {
            if let Some(text) = word.strip_prefix('=') {
                if text.is_empty() {
                    return Err("`=` needs a value right after it".into());
                }
                if values == most || data.source != Source::Unknown {
                    return Err(format!("unexpected value {word:?}"));
                }
                let value = if text == "?" { Value::UNKNOWN } else { self.names.value(text) };
                match action {
                    Action::Write(_) => data.put = value,
                    _ if values == 1 => data.put = value,
                    _ => data.got = value,
                }
                values += 1;
            } else if word == "from" && data.source == Source::Unknown {
                if let Action::Write(_) = action {
                    return Err("`from` says where a read got its value: a write has none".into());
                }
                let Some(source) = rest.next()? else {
                    return Err("`from` needs a source, such as T2#7 or init".into());
                };
                data.source = self.source(source)?;
            } else {
                return Err(format!("unexpected {word:?} after the event"));
            }
        }
        Ok(data)
    }

    fn source(&mut self, word: &str) -> Result<Source, String> {
        if word == "init" {
            return Ok(Source::Initial);
        }
        let parts = word.rsplit_once('#').and_then(|(thread, number)| {
            let number = number.parse::<u32>().ok().filter(|&number| number > 0)?;
            (!thread.is_empty()).then_some((thread, number))
        });
        match parts {
            Some((thread, number)) => Ok(Source::Event(self.names.thread(thread), number)),
            None => Err(format!(
                "{word:?} is no source: expected init, or a thread and the number of \
                                 one of its lines, such as T2#7"
            )),
        }
    }

    fn lock(&mut self, verb: &str, operand: Option<&str>) -> Result<Lock, String> {
        match operand {
            Some(name) => Ok(self.names.lock(name)),
            None => Err(format!("`{verb}` needs the name of a lock")),
        }
    }

    fn follow_lock(&mut self, thread: Thread, action: Action) -> Result<(), String> {
        let (Action::Lock(lock) | Action::Unlock(lock)) = action else { return Ok(()) };
        let index = lock.0 as usize;
        if self.held.len() <= index {
            self.held.resize(index + 1, None);
        }
        let (held, name) = (&mut self.held[index], self.names.of_lock(lock));
        match (action, *held) {
            (Action::Lock(_), Some((holder, line))) => Err(format!(
                "the lock {name} is not free: thread {} holds it since line {line}",
                self.names.of_thread(holder)
            )),
            (Action::Lock(_), None) => {
                *held = Some((thread, self.number));
                Ok(())
            }
            (_, Some((holder, _))) if holder == thread => {
                *held = None;
                Ok(())
            }
            _ => Err(format!("this thread does not hold the lock {name}")),
        }
    }

    fn variable(&mut self, verb: &str, operand: Option<&str>) -> Result<Var, String> {
        match operand {
            Some(name) => Ok(self.names.var(name)),
            None => Err(format!("`{verb}` needs a variable")),
        }
    }

    fn follow_transaction(&mut self, thread: Thread, action: Action) -> Result<(), String> {
        let index = thread.0 as usize;
        if self.open.len() <= index {
            self.open.resize(index + 1, None);
        }
        let open = &mut self.open[index];
        match (action, *open) {
            (Action::Begin(_), Some(line)) => Err(format!(
                "nested begin: the transaction that this thread began at line {line} is still open"
            )),
            (Action::Begin(_), None) => {
                *open = Some(self.number);
                Ok(())
            }
            (Action::End | Action::Abort, None) => {
                Err(format!("{} without begin: this thread has no transaction", action.word()))
            }
            (Action::End | Action::Abort, Some(_)) => {
                *open = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

const VERBS: &str = "begin, end, abort, rd, wr, rmw, commit, fence, lock or unlock";

/// The words after the verb: operands, then perhaps a place, then perhaps a comment.
struct Rest<'a> {
    words: std::str::SplitAsciiWhitespace<'a>,
    place: Option<&'a str>,
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Result<Option<&'a str>, String> {
        match self.words.next() {
            None => Ok(None),
            Some(word) if word.starts_with('#') => {
                while self.words.next().is_some() {}
                Ok(None)
            }
            Some(word) => match word.strip_prefix('@') {
                None => Ok(Some(word)),
                Some(place) if is_place(place) => {
                    self.place = Some(place);
                    self.next().and_then(|more| match more {
                        None => Ok(None),
                        Some(extra) => Err(format!("unexpected {extra:?} after the place")),
                    })
                }
                Some(_) => Err(format!("{word:?} is not a place: expected @file:line")),
            },
        }
    }
}

fn is_place(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(file, line)| !file.is_empty() && line.parse::<u32>().is_ok())
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, BadInput>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.next_event().transpose();
        self.finished = !matches!(next, Some(Ok(_)));
        next
    }
}

/// A line as it can be printed: bytes that are not text escaped, very long lines cut.
fn shown(line: &[u8]) -> String {
    const LONGEST: usize = 120;
    let mut text: String = line
        .utf8_chunks()
        .flat_map(|chunk| {
            let bad = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
            std::iter::once(chunk.valid().to_string()).chain(bad)
        })
        .collect();
    if text.chars().count() > LONGEST {
        text = text.chars().take(LONGEST).chain("…".chars()).collect();
    }
    text
}
