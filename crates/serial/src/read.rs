//! Reading recordings, one line at a time.
//!
//! The format: one event a line, `THREAD begin [NAME]`, `THREAD end`, `THREAD rd VAR`, `THREAD wr
//! VAR`, `THREAD commit VAR`, `THREAD fence`, an optional `@file:line` at the end, `#` starts a
//! comment, blank lines are skipped. [`Reader`] keeps one line and the names seen, never the events:
//! a recording may be larger than memory. It checks everything that one line and the open
//! transactions can tell; what needs the store buffers is checked by [`Buffers`].
//!
//! Every line must end with a newline. A recorder that dies leaves half a line behind, and half of
//! `T1 wr counter` reads as a perfectly good `T1 wr count`.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, Read};

use budget::{Budget, Spent, Ticker};

use crate::event::{Action, Event, Names, Place, Thread, Var};

/// The longest line that is read: something that never ends, such as `/dev/zero`, is told from a
/// recording by then.
const LONGEST_LINE: u64 = 1 << 16;

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
            finished: false,
            ticker: budget.ticker(),
            spent: None,
        }
    }

    /// What was used up before the end of the input was reached, if anything was.
    pub fn spent(&self) -> Option<Spent> {
        self.spent
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
        let unterminated = self.open.iter().enumerate().filter_map(|(t, line)| Some((t, (*line)?)));
        if let Some((thread, line)) = unterminated.min_by_key(|&(_, line)| line) {
            let name = self.names.of_thread(Thread(thread as u32));
            let message = format!("thread {name} begins a transaction here that never ends");
            return Err(BadInput { line, text: format!("{name} begin"), message });
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
        let action = match verb {
            "rd" => Action::Read(self.variable(verb, operand)?),
            "wr" => Action::Write(self.variable(verb, operand)?),
            "commit" => Action::Commit(self.variable(verb, operand)?),
            "begin" => Action::Begin(operand.map(|name| self.names.label(name))),
            "end" | "fence" => {
                if let Some(extra) = operand {
                    return Err(format!("`{verb}` takes no argument, found {extra:?}"));
                }
                if verb == "end" { Action::End } else { Action::Fence }
            }
            _ => return Err(format!("unknown event {verb:?}: expected {VERBS}")),
        };
        if let Some(extra) = rest.next()? {
            return Err(format!("unexpected {extra:?} after the event"));
        }
        let place = rest.place.map_or(Place::UNKNOWN, |place| self.names.place(place));
        self.follow_transaction(thread, action)?;
        let line = u32::try_from(self.number).unwrap_or(u32::MAX);
        Ok(Some(Event { thread, action, line, place }))
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
            (Action::End, None) => Err("end without begin: this thread has no transaction".into()),
            (Action::End, Some(_)) => {
                *open = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

const VERBS: &str = "begin, end, rd, wr, commit or fence";

/// The words after the verb: at most one operand, then perhaps a place, then perhaps a comment.
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

/// The store buffers of an execution: checks that its commits and fences are possible under TSO.
#[derive(Default, Debug)]
pub struct Buffers {
    pending: Vec<VecDeque<Var>>,
}

impl Buffers {
    /// Lets `event` happen; the message says why it cannot.
    pub fn step(&mut self, event: &Event, names: &Names) -> Result<(), String> {
        let index = event.thread.0 as usize;
        if self.pending.len() <= index {
            self.pending.resize_with(index + 1, VecDeque::new);
        }
        let buffer = &mut self.pending[index];
        match event.action {
            Action::Write(x) => buffer.push_back(x),
            Action::Commit(x) => match buffer.front() {
                Some(&oldest) if oldest == x => {
                    buffer.pop_front();
                }
                Some(&oldest) => {
                    return Err(format!(
                        "wrong variable committed: the oldest uncommitted write of thread {} is to \
                         {}, not to {}",
                        names.of_thread(event.thread),
                        names.of_var(oldest),
                        names.of_var(x)
                    ));
                }
                None => {
                    return Err(format!(
                        "commit without write: thread {} has no uncommitted write",
                        names.of_thread(event.thread)
                    ));
                }
            },
            Action::Fence => {
                if let Some(&oldest) = buffer.front() {
                    return Err(format!(
                        "fence with a non-empty buffer: the write of thread {} to {} is not yet \
                         committed",
                        names.of_thread(event.thread),
                        names.of_var(oldest)
                    ));
                }
            }
            Action::Begin(_) | Action::End | Action::Read(_) => {}
        }
        Ok(())
    }
}
