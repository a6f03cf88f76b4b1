//! What a recorded run is made of: threads, variables, events and where they came from.
//!
//! Section 2 of *On Atomicity in Presence of Non-atomic Writes* (Enea and Farzan, TACAS 2016). A
//! thread `t` reads a variable, issues a write into its store buffer, sees the oldest buffered
//! write committed to memory, or fences (which needs an empty buffer). An *execution* shows all of
//! these in one order; a *trace* leaves the commits out. Events between `begin` and `end` of a
//! thread form one transaction, any other event is a transaction of its own, and a commit belongs to
//! the transaction that issued the write, whenever it happens.
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
    /// A read.
    Read(Var),
    /// A write enters the thread's store buffer.
    Write(Var),
    /// The oldest buffered write of the thread, to this variable, reaches memory.
    Commit(Var),
    /// A fence: everything buffered has reached memory.
    Fence,
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
            Action::Fence => "fence",
        }
    }

    /// The variable accessed, if any.
    pub fn var(self) -> Option<Var> {
        match self {
            Action::Read(x) | Action::Write(x) | Action::Commit(x) => Some(x),
            Action::Begin(_) | Action::End | Action::Fence => None,
        }
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
}

/// The texts behind the small numbers of an [`Event`].
#[derive(Clone, Default, Debug)]
pub struct Names {
    threads: Interner,
    vars: Interner,
    labels: Interner,
    places: Interner,
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
            Action::Read(x) | Action::Write(x) | Action::Commit(x) => {
                format!("{thread} {word} {}", self.of_var(x))
            }
            Action::Begin(None) | Action::End | Action::Fence => format!("{thread} {word}"),
        }
    }

    /// An event as a line of the text format, with its place.
    pub fn show_line(&self, event: &Event) -> String {
        let mut text = self.show(event.thread, event.action);
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
