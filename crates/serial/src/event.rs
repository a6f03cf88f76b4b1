//! The parts of a recorded run: threads, variables, and events with their places in the source.
//!
//! Section 2 of *On Atomicity in Presence of Non-atomic Writes* (Enea and Farzan, TACAS 2016). A
//! thread `t` reads a variable, issues a write into its store buffer, sees the oldest buffered
//! write committed to memory, or fences (which needs an empty buffer). An *execution* shows all of
//! these in one order; a *trace* leaves the commits out. Events between `begin` and `end` of a
//! thread form one transaction, any other event is a transaction of its own, and a commit belongs to
//! the transaction that issued the write, whenever it happens.
//!
//! Three things are ours. An atomic *read-modify-write* is one event: it needs an empty buffer, as a
//! fence does, and reads and writes memory in one step. *Locks* order critical sections and flush the
//! buffer where they are taken, but are no data: two transactions do not conflict because both take the
//! same lock. And an event may say what was read and written ([`Data`]): values, as words of the
//! recording, or the write that a read got its value from.
//!
//! Names are interned: an [`Event`] is a few words, and the texts live once in [`Names`].

use crate::hash::Map;

/// A thread of the recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Thread(pub u32);

/// A shared variable of the recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// The name of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Label(pub u32);

/// A lock of the recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lock(pub u32);

/// What was read or written, as the recording spells it. Equal words are equal values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Value(u32);

impl Value {
    /// The recording does not say.
    pub const UNKNOWN: Value = Value(0);

    /// Whether the recording says.
    pub fn is_known(self) -> bool {
        self != Value::UNKNOWN
    }

    /// The number that stands for the word, counted from 1; 0 if unknown.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The value of a number, for recordings that are made and not read.
    pub fn numbered(number: u32) -> Value {
        Value(number)
    }
}

/// Where a read got its value from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Source {
    /// The recording does not say.
    #[default]
    Unknown,
    /// Nobody had written the variable.
    Initial,
    /// The event of this number of this thread, `T2#7`: all its lines but commits count, from 1.
    Event(Thread, u32),
}

/// What an event read and wrote, as far as the recording says.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Data {
    /// The value that was read.
    pub got: Value,
    /// The value that was written.
    pub put: Value,
    /// Where what was read came from.
    pub source: Source,
}

impl Data {
    /// Nothing is known.
    pub const NONE: Data =
        Data { got: Value::UNKNOWN, put: Value::UNKNOWN, source: Source::Unknown };

    /// Whether anything is known about what was read.
    pub fn tells_read(&self) -> bool {
        self.got.is_known() || self.source != Source::Unknown
    }
}

/// Where in the user's source an event happened (`@file:line`), if the recording says so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Place(u32);

impl Place {
    /// The recording does not say.
    pub const UNKNOWN: Place = Place(0);
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// A transaction begins, perhaps with a name.
    Begin(Option<Label>),
    /// The open transaction ends.
    End,
    /// The open transaction ends, and nothing that it wrote is ever seen.
    Abort,
    /// A read.
    Read(Var),
    /// A write enters the thread's store buffer.
    Write(Var),
    /// The oldest buffered write of the thread, to this variable, reaches memory.
    Commit(Var),
    /// A read and a write of memory in one step, with an empty buffer.
    Rmw(Var),
    /// A fence: everything buffered has reached memory.
    Fence,
    /// A lock is taken; everything buffered has reached memory.
    Lock(Lock),
    /// A lock is given back: by a write into the buffer, which the next to take the lock waits for.
    Unlock(Lock),
}

impl Action {
    /// The word of the text format.
    pub fn word(self) -> &'static str {
        match self {
            Action::Begin(_) => "begin",
            Action::End => "end",
            Action::Read(_) => "rd",
            Action::Write(_) => "wr",
            Action::Commit(_) => "commit",
            Action::Rmw(_) => "rmw",
            Action::Fence => "fence",
            Action::Abort => "abort",
            Action::Lock(_) => "lock",
            Action::Unlock(_) => "unlock",
        }
    }

    /// The variable accessed, if any.
    pub fn var(self) -> Option<Var> {
        match self {
            Action::Read(x) | Action::Write(x) | Action::Commit(x) | Action::Rmw(x) => Some(x),
            Action::Begin(_) | Action::End | Action::Abort => None,
            Action::Fence | Action::Lock(_) | Action::Unlock(_) => None,
        }
    }

    /// Whether it begins or ends a transaction, and is no event of its own.
    pub fn is_bracket(self) -> bool {
        matches!(self, Action::Begin(_) | Action::End | Action::Abort)
    }
}

/// One line of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who.
    pub thread: Thread,
    /// What.
    pub action: Action,
    /// The line of the recording it was read from, counted from 1.
    pub line: u32,
    /// The source place the recording gives.
    pub place: Place,
    /// What was read and written.
    pub data: Data,
}

/// The texts behind the small numbers of an [`Event`].
#[derive(Clone, Default, Debug)]
pub struct Names {
    threads: Interner,
    vars: Interner,
    labels: Interner,
    places: Interner,
    locks: Interner,
    values: Interner,
}

impl Names {
    /// The thread of this name, made known if it is new.
    pub fn thread(&mut self, name: &str) -> Thread {
        Thread(self.threads.intern(name))
    }

    /// The variable of this name, made known if it is new.
    pub fn var(&mut self, name: &str) -> Var {
        Var(self.vars.intern(name))
    }

    /// The transaction name, made known if it is new.
    pub fn label(&mut self, name: &str) -> Label {
        Label(self.labels.intern(name))
    }

    /// The lock of this name, made known if it is new.
    pub fn lock(&mut self, name: &str) -> Lock {
        Lock(self.locks.intern(name))
    }

    /// The value of this spelling, without the `=`.
    pub fn value(&mut self, word: &str) -> Value {
        Value(self.values.intern(word) + 1)
    }

    /// The source place `file:line` (without the `@`).
    pub fn place(&mut self, text: &str) -> Place {
        Place(self.places.intern(text) + 1)
    }

    /// The name of a thread.
    pub fn of_thread(&self, thread: Thread) -> &str {
        self.threads.text(thread.0)
    }

    /// The name of a variable.
    pub fn of_var(&self, var: Var) -> &str {
        self.vars.text(var.0)
    }

    /// The name of a transaction.
    pub fn of_label(&self, label: Label) -> &str {
        self.labels.text(label.0)
    }

    /// The name of a lock.
    pub fn of_lock(&self, lock: Lock) -> &str {
        self.locks.text(lock.0)
    }

    /// The spelling of a value, `?` if it is unknown.
    pub fn of_value(&self, value: Value) -> &str {
        value.0.checked_sub(1).map_or("?", |index| self.values.text(index))
    }

    /// The text of a place, unless it is unknown.
    pub fn of_place(&self, place: Place) -> Option<&str> {
        place.0.checked_sub(1).map(|index| self.places.text(index))
    }

    /// How many threads are known.
    pub fn threads(&self) -> usize {
        self.threads.texts.len()
    }

    /// How many variables are known.
    pub fn vars(&self) -> usize {
        self.vars.texts.len()
    }

    /// An event as the text format writes it, without the place: `T1 rd head`.
    pub fn show(&self, thread: Thread, action: Action) -> String {
        let thread = self.of_thread(thread);
        let word = action.word();
        match action {
            Action::Begin(Some(label)) => format!("{thread} {word} {}", self.of_label(label)),
            Action::Read(x) | Action::Write(x) | Action::Commit(x) | Action::Rmw(x) => {
                format!("{thread} {word} {}", self.of_var(x))
            }
            Action::Lock(lock) | Action::Unlock(lock) => {
                format!("{thread} {word} {}", self.of_lock(lock))
            }
            Action::Begin(None) | Action::End | Action::Abort | Action::Fence => {
                format!("{thread} {word}")
            }
        }
    }

    /// What an event read and wrote, as the text format writes it: ` =3 from T2#7`.
    fn show_data(&self, event: &Event) -> String {
        let Data { got, put, source } = event.data;
        let mut text = String::new();
        let mut value = |value: Value| {
            text.push_str(" =");
            text.push_str(self.of_value(value));
        };
        match event.action {
            Action::Rmw(_) if put.is_known() => {
                value(got);
                value(put);
            }
            Action::Read(_) | Action::Rmw(_) if got.is_known() => value(got),
            Action::Write(_) if put.is_known() => value(put),
            _ => {}
        }
        match source {
            _ if !matches!(event.action, Action::Read(_) | Action::Rmw(_)) => {}
            Source::Unknown => {}
            Source::Initial => text.push_str(" from init"),
            Source::Event(thread, number) => {
                text.push_str(&format!(" from {}#{number}", self.of_thread(thread)));
            }
        }
        text
    }

    /// An event with what it read and wrote, without the place: `T1 rd head =3`.
    pub fn show_event(&self, event: &Event) -> String {
        self.show(event.thread, event.action) + &self.show_data(event)
    }

    /// An event as a line of the text format, with its place.
    pub fn show_line(&self, event: &Event) -> String {
        let mut text = self.show_event(event);
        if let Some(place) = self.of_place(event.place) {
            text.push_str(" @");
            text.push_str(place);
        }
        text
    }
}

#[derive(Clone, Default, Debug)]
struct Interner {
    texts: Vec<Box<str>>,
    index: Map<Box<str>, u32>,
}

impl Interner {
    fn intern(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        let fresh = self.texts.len() as u32;
        self.texts.push(text.into());
        self.index.insert(text.into(), fresh);
        fresh
    }

    /// Names handed out by another `Names` are shown by number rather than by a panic.
    fn text(&self, index: u32) -> &str {
        self.texts.get(index as usize).map_or("?", |text| text)
    }
}
