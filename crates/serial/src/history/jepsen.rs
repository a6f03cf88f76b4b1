//! Histories as Jepsen writes them: list-append and read-write registers, in EDN or JSON.
//!
//! An operation is a map with `:type` (`:invoke`, `:ok`, `:fail`, `:info`), `:process` and `:value`, a list
//! of micro-operations: `[:append k v]`, `[:r k [v …]]` for lists, `[:w k v]`, `[:r k v]` for registers. An
//! invocation and the next operation of its process are one transaction. Where invocations are left out, real
//! time says nothing. Operations of the nemesis and of
//! other functions than transactions are skipped. The file may be one map after the other or a list of
//! maps.

use std::collections::HashMap;

use super::edn::{self, Bad, Data, Parser};
use super::{Ending, History, Op, Seen, Transaction};

/// Whether a text looks like such a history, and not like a recording.
pub fn is_history(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(comment) = rest.strip_prefix(';') {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    rest.starts_with(['{', '[']) || rest.starts_with("#jepsen")
}

/// Reads a history.
pub fn read(text: &str) -> Result<History, Bad> {
    let mut operations: Vec<(u64, Data)> = Vec::new();
    let json = text.trim_start_matches('\u{feff}').trim_start();
    match is_json(json) {
        true => read_json(json, &mut operations)?,
        false => {
            let mut parser = Parser::new(text);
            loop {
                let line = parser.line;
                match parser.next_data()? {
                    None => break,
                    Some(Data::List(items)) => {
                        operations.extend(items.into_iter().map(|item| (line, item)));
                    }
                    Some(item) => operations.push((line, item)),
                }
            }
        }
    }
    if operations.is_empty() {
        return Err((1, "the history is empty: not a single operation".into()));
    }
    collect(operations)
}

/// EDN has a keyword where JSON has a string.
fn is_json(text: &str) -> bool {
    let inside = text.trim_start_matches(['[', '{']).trim_start().trim_start_matches('{');
    inside.trim_start().starts_with('"')
}

fn read_json(text: &str, operations: &mut Vec<(u64, Data)>) -> Result<(), Bad> {
    let stream = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    for (index, value) in stream.enumerate() {
        let value = value.map_err(|error| (error.line() as u64, format!("no JSON: {error}")))?;
        match edn::from_json(&value) {
            Data::List(items) => {
                operations.extend((1..).zip(items));
            }
            item => operations.push((index as u64 + 1, item)),
        }
    }
    Ok(())
}

fn collect(operations: Vec<(u64, Data)>) -> Result<History, Bad> {
    let mut history = History { unit: "operation", ..History::default() };
    let mut open: HashMap<String, usize> = HashMap::new();
    for (position, (line, data)) in operations.iter().enumerate() {
        let bad = |message: &str| Err((*line, message.to_string()));
        let Some(kind) = data.get("type").and_then(Data::word) else {
            return bad("an operation is a map with a :type");
        };
        let process = match data.get("process") {
            Some(Data::Word(word)) => word.clone(),
            _ => return bad("an operation has a :process"),
        };
        // The nemesis and other functions have no list of micro-operations.
        let ops = match data.get("value") {
            Some(Data::List(items)) if process.parse::<i64>().is_ok() => {
                match micro_operations(items, &mut history) {
                    Ok(ops) => Some(ops),
                    Err(message) => return bad(&message),
                }
            }
            _ => None,
        };
        let at = data.get("index").and_then(Data::word).and_then(|word| word.parse().ok());
        let at = at.unwrap_or(position as u64);
        match (kind, open.remove(&process)) {
            ("invoke", before) => {
                if before.is_some() {
                    return bad(
                        "a process invokes a transaction while another of its is under way",
                    );
                }
                let Some(ops) = ops else { continue };
                open.insert(process.clone(), history.transactions.len());
                let process = history.process(&process);
                history.transactions.push(Transaction {
                    process,
                    name: None,
                    at,
                    began: Some(position),
                    ended: None,
                    ending: Ending::Unknown,
                    ops,
                });
            }
            ("ok" | "fail" | "info", Some(number)) => {
                let transaction = &mut history.transactions[number];
                transaction.at = at;
                if kind == "ok" && ops.is_none() {
                    return bad("a completed transaction has a value");
                }
                // One that failed may say only at its end what it did, or say nothing there.
                if let Some(ops) = ops.filter(|ops| kind == "ok" || !ops.is_empty()) {
                    transaction.ops = ops;
                }
                match kind {
                    "ok" => {
                        transaction.ending = Ending::Committed;
                        transaction.ended = Some(position);
                    }
                    "fail" => {
                        transaction.ending = Ending::Aborted;
                        transaction.ended = Some(position);
                    }
                    _ => {}
                }
            }
            // Nobody knows when it began.
            ("ok" | "fail" | "info", None) => {
                let Some(ops) = ops else { continue };
                let process = history.process(&process);
                let ending = match kind {
                    "ok" => Ending::Committed,
                    "fail" => Ending::Aborted,
                    _ => Ending::Unknown,
                };
                let ended = (kind != "info").then_some(position);
                history.transactions.push(Transaction {
                    process,
                    name: None,
                    at,
                    began: None,
                    ended,
                    ending,
                    ops,
                });
            }
            _ => return bad("the :type of an operation is :invoke, :ok, :fail or :info"),
        }
    }
    // What is not known to have been read was not read. A read of nothing is one of an empty list where
    // there are lists.
    let has_lists = history.has_lists();
    for transaction in &mut history.transactions {
        for op in transaction.ops.iter_mut().filter(|_| has_lists) {
            if let Op::Read(key, Seen::Initial) = *op {
                *op = Op::List(key, Some(Vec::new()));
            }
        }
        if transaction.ending != Ending::Committed {
            for op in &mut transaction.ops {
                match op {
                    Op::List(_, list) => *list = None,
                    Op::Read(_, seen) => *seen = Seen::Unknown,
                    Op::Append(..) | Op::Write(..) => {}
                }
            }
        }
    }
    Ok(history)
}

fn micro_operations(items: &[Data], history: &mut History) -> Result<Vec<Op>, String> {
    let lists = |items: &[Data]| {
        items.iter().any(|item| match item {
            Data::List(parts) => {
                parts.first().and_then(Data::word) == Some("append")
                    || matches!(parts.get(2), Some(Data::List(_)))
            }
            _ => false,
        })
    };
    let has_lists = lists(items);
    let mut ops = Vec::new();
    for item in items {
        let Data::List(parts) = item else {
            return Err("a micro-operation is a list such as [:append x 1]".into());
        };
        let (Some(what), Some(key)) = (parts.first().and_then(Data::word), parts.get(1)) else {
            return Err("a micro-operation is a list such as [:append x 1]".into());
        };
        let key = history.key(&spelling(key));
        let value = parts.get(2);
        ops.push(match (what, value) {
            ("append", Some(value)) if *value != Data::Nil => {
                Op::Append(key, history.word(&spelling(value)))
            }
            ("w", Some(value)) if *value != Data::Nil => {
                Op::Write(key, history.word(&spelling(value)))
            }
            ("r", Some(Data::List(list))) => {
                Op::List(key, Some(list.iter().map(|item| history.word(&spelling(item))).collect()))
            }
            ("r", None | Some(Data::Nil)) if has_lists => Op::List(key, Some(Vec::new())),
            ("r", None | Some(Data::Nil)) => Op::Read(key, Seen::Initial),
            ("r", Some(value)) => Op::Read(key, Seen::Value(history.word(&spelling(value)))),
            _ => return Err(format!("unknown micro-operation {what:?}: expected append, w or r")),
        });
    }
    Ok(ops)
}

fn spelling(data: &Data) -> String {
    match data {
        Data::Nil => "nil".into(),
        Data::Word(word) => word.clone(),
        Data::List(items) => {
            format!("[{}]", items.iter().map(spelling).collect::<Vec<_>>().join(" "))
        }
        Data::Map(entries) => {
            let entry =
                |(key, value): &(Data, Data)| format!("{} {}", spelling(key), spelling(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
        }
    }
}
