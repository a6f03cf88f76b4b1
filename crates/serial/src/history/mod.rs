//! Histories of transactions, and whether a database or a transactional memory kept its promise.
//!
//! A recording of memory accesses says when each happened. A history of a database says less and more:
//! each transaction has a beginning and an end, and what it read and wrote, but the moment at which the
//! database did so is the database's affair. Whether the promise was kept follows from *dependencies*
//! (Adya, *Weak Consistency*, 1999): a transaction that overwrites another's version (`ww`), reads another's
//! version (`wr`), or reads a version that another then overwrites (`rw`). Promises are forbidden cycles of
//! them; [`cycles`] has the names.
//!
//! Which version follows which is recovered as far as the history tells ([`versions`]): exactly for lists
//! that are only appended to, up to appends that nobody read; partly for registers. What is concluded is
//! sound: every anomaly reported happened. For lists the answers about (strict) serializability are exact.
//! Under snapshot isolation two appends that nobody read exclude each other in an order that nobody knows,
//! and with registers versions do: there an anomaly may go unnoticed; the report says so for registers.
//!
//! * [`edn`] reads the notation that Jepsen writes, [`jepsen`] its histories.
//! * [`versions`]: the dependencies of a history, and what needs no cycle to be wrong.
//! * [`cycles`]: the smallest cycle of each kind; [`level`]: what each promise forbids.
//! * [`recorded`]: a recording of memory accesses with values, seen as a history of registers.

pub mod cycles;
pub mod edn;
pub mod jepsen;
pub mod level;
pub mod recorded;
pub mod versions;

use crate::hash::Map;

/// What a transaction did to a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Appended an element to a list.
    Append(Key, Word),
    /// Read a list; unknown if the transaction did not say.
    List(Key, Option<Vec<Word>>),
    /// Wrote a register.
    Write(Key, Word),
    /// Read a register: a value, nothing ([`Seen::Initial`]), or unknown.
    Read(Key, Seen),
}

/// What a read of a register saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A value.
    Value(Word),
    /// What was there before anybody wrote.
    Initial,
    /// The history does not say.
    Unknown,
}

/// A key, as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub u32);

/// An element or value, as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Word(pub u32);

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was committed.
    Committed,
    /// It was aborted: nobody may see what it wrote.
    Aborted,
    /// Nobody knows.
    Unknown,
}

/// A transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Who ran it.
    pub process: u32,
    /// A name, if it has one.
    pub name: Option<String>,
    /// Where it is in the input: a line or an index.
    pub at: u64,
    /// When it began, as a position in the history; none if nobody knows.
    pub began: Option<usize>,
    /// When it ended, likewise.
    pub ended: Option<usize>,
    /// How it ended.
    pub ending: Ending,
    /// What it did, in order.
    pub ops: Vec<Op>,
}

/// A history, with the texts behind its numbers.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// The transactions, those of each process in the order in which it ran them.
    pub transactions: Vec<Transaction>,
    keys: Texts,
    words: Texts,
    processes: Texts,
    /// What the position [`Transaction::at`] counts: `line` or `index`.
    pub unit: &'static str,
}

impl History {
    /// The key of this spelling.
    pub fn key(&mut self, text: &str) -> Key {
        Key(self.keys.number(text))
    }

    /// The element or value of this spelling.
    pub fn word(&mut self, text: &str) -> Word {
        Word(self.words.number(text))
    }

    /// The process of this name.
    pub fn process(&mut self, text: &str) -> u32 {
        self.processes.number(text)
    }

    /// The spelling of a key.
    pub fn of_key(&self, key: Key) -> &str {
        self.keys.text(key.0)
    }

    /// The spelling of an element or value.
    pub fn of_word(&self, word: Word) -> &str {
        self.words.text(word.0)
    }

    /// Whether it has lists; otherwise registers.
    pub fn has_lists(&self) -> bool {
        let list = |op: &Op| matches!(op, Op::Append(..) | Op::List(..));
        self.transactions.iter().any(|transaction| transaction.ops.iter().any(list))
    }

    /// An operation in words: `append x 3`, `read x [1 2]`.
    pub fn show_op(&self, op: &Op) -> String {
        match op {
            Op::Append(key, word) => {
                format!("append {} to {}", self.of_word(*word), self.of_key(*key))
            }
            Op::List(key, Some(list)) => {
                let words: Vec<&str> = list.iter().map(|&word| self.of_word(word)).collect();
                format!("read {} [{}]", self.of_key(*key), words.join(" "))
            }
            Op::List(key, None) | Op::Read(key, Seen::Unknown) => {
                format!("read {}", self.of_key(*key))
            }
            Op::Write(key, word) => {
                format!("write {} = {}", self.of_key(*key), self.of_word(*word))
            }
            Op::Read(key, Seen::Value(word)) => {
                format!("read {} = {}", self.of_key(*key), self.of_word(*word))
            }
            Op::Read(key, Seen::Initial) => format!("read {} = nothing", self.of_key(*key)),
        }
    }

    /// A transaction in words.
    pub fn show(&self, transaction: &Transaction) -> String {
        let ops: Vec<String> = transaction.ops.iter().map(|op| self.show_op(op)).collect();
        let name = transaction.name.as_deref().map_or(String::new(), |name| format!("{name}, "));
        format!(
            "({name}{} {}, process {}) {}",
            self.unit,
            transaction.at,
            self.processes.text(transaction.process),
            ops.join("; ")
        )
    }
}

#[derive(Clone, Default, Debug)]
struct Texts {
    texts: Vec<String>,
    numbers: Map<String, u32>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_string());
        self.numbers.insert(text.to_string(), number);
        number
    }

    fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("?", |text| text)
    }
}
