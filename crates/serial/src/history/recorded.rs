//! A recording with values as a history of registers.
//!
//! What a database or a transactional memory is asked at its interface: a transaction's reads and writes
//! with their values, its beginning and its end, and whether it was aborted. Commits, fences and locks say
//! nothing here. A read-modify-write is a read and a write. A source (`from T2#7`) tells versions apart
//! that have equal values: versions are then named by their writer. Otherwise nothing is concluded from a value
//! that somebody writes but that memory may have held from the beginning.

use std::collections::{HashMap, HashSet};

use super::{Ending, History, Op, Seen, Transaction};
use crate::event::{Action, Event, Names, Source, Thread, Value, Var};

/// The history of a recording.
pub fn history(events: &[Event], names: &Names) -> History {
    let mut history = History { unit: "line", ..History::default() };
    let mut open: HashMap<Thread, usize> = HashMap::new();
    // The value of each write, by thread and line of the thread.
    let mut lines: HashMap<Thread, u32> = HashMap::new();
    let mut written: HashMap<(Thread, u32), String> = HashMap::new();
    let sources = events.iter().any(|event| event.data.source != Source::Unknown);
    let beginnings = Beginnings::new(events);
    for (position, event) in events.iter().enumerate() {
        let line = lines.entry(event.thread).or_default();
        *line += u32::from(!matches!(event.action, Action::Commit(_)));
        let line = *line;
        let process = history.process(names.of_thread(event.thread));
        let begin = |history: &mut History, label: Option<String>| {
            history.transactions.push(Transaction {
                process,
                name: label,
                at: event.line.into(),
                began: Some(position),
                ended: None,
                ending: Ending::Committed,
                ops: Vec::new(),
            });
            history.transactions.len() - 1
        };
        let var = match event.action {
            Action::Begin(label) => {
                let label = label.map(|label| names.of_label(label).to_string());
                let number = begin(&mut history, label);
                open.insert(event.thread, number);
                continue;
            }
            Action::End | Action::Abort => {
                if let Some(number) = open.remove(&event.thread) {
                    let transaction = &mut history.transactions[number];
                    transaction.ended = Some(position);
                    if event.action == Action::Abort {
                        transaction.ending = Ending::Aborted;
                    }
                }
                continue;
            }
            Action::Read(x) | Action::Write(x) | Action::Rmw(x) => x,
            Action::Commit(_) | Action::Fence | Action::Lock(_) | Action::Unlock(_) => continue,
        };
        let number = open.get(&event.thread).copied().unwrap_or_else(|| {
            let number = begin(&mut history, None);
            history.transactions[number].ended = Some(position);
            number
        });
        let key = history.key(names.of_var(var));
        let spelled = |value: Value| value.is_known().then(|| names.of_value(value).to_string());
        if let Action::Read(_) | Action::Rmw(_) = event.action {
            let seen = match event.data.source {
                Source::Initial => Seen::Initial,
                Source::Event(thread, line) => match written.get(&(thread, line)) {
                    Some(version) => Seen::Value(history.word(version)),
                    None => Seen::Unknown,
                },
                // Where some reads have a source, equal values are told apart by it.
                Source::Unknown if sources => Seen::Unknown,
                Source::Unknown
                    if beginnings.may_be_initial(var, event.data.got, position, names) =>
                {
                    Seen::Unknown
                }
                Source::Unknown => match spelled(event.data.got) {
                    Some(value) => Seen::Value(history.word(&value)),
                    None => Seen::Unknown,
                },
            };
            history.transactions[number].ops.push(Op::Read(key, seen));
        }
        if let Action::Write(_) | Action::Rmw(_) = event.action {
            let name = format!("{}#{line}", names.of_thread(event.thread));
            let version = match (sources, spelled(event.data.put)) {
                (true, Some(value)) => format!("{value} ({name})"),
                (true, None) | (false, None) => name,
                (false, Some(value)) => value,
            };
            let word = history.word(&version);
            written.insert((event.thread, line), version);
            history.transactions[number].ops.push(Op::Write(key, word));
        }
    }
    // What is still open may or may not come to be.
    for number in open.into_values() {
        history.transactions[number].ending = Ending::Unknown;
    }
    history
}

/// What memory may have held before anybody wrote.
struct Beginnings {
    /// The value of each variable, where a read before all writes shows it.
    initial: HashMap<Var, Value>,
    /// Where each value was first written.
    written: HashMap<(Var, Value), usize>,
}

impl Beginnings {
    fn new(events: &[Event]) -> Self {
        let (mut initial, mut written) = (HashMap::new(), HashMap::new());
        let mut touched: HashSet<Var> = HashSet::new();
        for (position, event) in events.iter().enumerate() {
            let (Action::Read(var) | Action::Write(var) | Action::Rmw(var)) = event.action else {
                continue;
            };
            let writes = !matches!(event.action, Action::Read(_));
            if !touched.contains(&var) && event.data.got.is_known() {
                initial.entry(var).or_insert(event.data.got);
            }
            if writes {
                touched.insert(var);
                written.entry((var, event.data.put)).or_insert(position);
            }
        }
        Beginnings { initial, written }
    }

    /// Whether a value that is read here, and that somebody writes, may not be theirs: it is the initial one,
    /// as far as is known, or not yet written. Memory mostly begins with zeros.
    fn may_be_initial(&self, var: Var, got: Value, position: usize, names: &Names) -> bool {
        let Some(&written) = self.written.get(&(var, got)) else { return false };
        let initial = match self.initial.get(&var) {
            Some(&initial) => initial == got,
            None => names.of_value(got) == "0",
        };
        got.is_known() && (initial || position < written)
    }
}
