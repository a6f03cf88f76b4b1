//! Promises, and whether a history keeps them.
//!
//! Each level forbids some anomalies (Adya; Cerone and Gotsman for snapshot isolation; Guerraoui and
//! Kapałka for opacity):
//!
//! * *read committed*: G0, G1a, G1b, G1c, and what is wrong without a cycle;
//! * *snapshot isolation*: also lost updates, G-single and G-nonadjacent: a cycle needs two `rw` in a row;
//! * *serializable*: also G2-item: no cycle at all;
//! * *strict serializable*: no cycle with the order of each process and with real time either;
//! * *opaque*: strict serializable, and what aborted transactions read counts, too.

use super::cycles::{Cycle, Graph};
use super::versions::{Counted, Dependencies, Direct, Kind, dependencies};
use super::{Ending, History};
use std::fmt::Write;

/// A promise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Nothing uncommitted is seen.
    ReadCommitted,
    /// Everybody reads a snapshot, and nobody overwrites what they have not seen.
    SnapshotIsolation,
    /// As if one after the other.
    Serializable,
    /// As if one after the other, in an order that an observer could have seen.
    StrictSerializable,
    /// The same, for what aborted transactions saw as well.
    Opaque,
}

impl Level {
    /// All, the weakest first.
    pub const ALL: [Level; 5] = [
        Level::ReadCommitted,
        Level::SnapshotIsolation,
        Level::Serializable,
        Level::StrictSerializable,
        Level::Opaque,
    ];

    /// As the reports write it.
    pub fn text(self) -> &'static str {
        match self {
            Level::ReadCommitted => "read committed",
            Level::SnapshotIsolation => "snapshot isolation",
            Level::Serializable => "serializable",
            Level::StrictSerializable => "strict serializable",
            Level::Opaque => "opaque",
        }
    }

    /// Whether the level forbids an anomaly of this name.
    pub fn forbids(self, anomaly: &str) -> bool {
        let ordered = anomaly.ends_with("-process") || anomaly.ends_with("-realtime");
        match anomaly {
            _ if ordered => self >= Level::StrictSerializable,
            "G2-item" => self >= Level::Serializable,
            "G-single" | "G-nonadjacent" | "lost-update" => self >= Level::SnapshotIsolation,
            _ => true,
        }
    }
}

/// An anomaly with its proof.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// What it is called.
    pub name: &'static str,
    /// The smallest cycle, if it is one.
    pub cycle: Cycle,
    /// What happened, if it is none.
    pub text: Option<String>,
}

/// What was found out about a history.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What was asked.
    pub level: Level,
    /// Everything that is wrong, also what the level allows.
    pub anomalies: Vec<Anomaly>,
    /// The strongest level that is not violated, if any.
    pub keeps: Option<Level>,
    /// What limits the answer "yes".
    pub notes: Vec<String>,
}

impl Judged {
    /// Whether nothing that the level forbids was found.
    pub fn valid(&self) -> bool {
        !self.anomalies.iter().any(|anomaly| self.level.forbids(anomaly.name))
    }
}

/// Judges a history.
pub fn judge(history: &History, level: Level) -> Judged {
    let counted = if level == Level::Opaque { Counted::Everybody } else { Counted::Committed };
    let Dependencies { edges, direct, ambiguous } = dependencies(history, counted);
    let mut anomalies: Vec<Anomaly> = direct
        .into_iter()
        .map(|Direct { name, text }| Anomaly { name, cycle: Vec::new(), text: Some(text) })
        .collect();
    let graph = Graph::new(history.transactions.len(), &edges);
    anomalies.extend(graph.smallest().into_iter().map(|(pattern, cycle)| Anomaly {
        name: pattern.name,
        cycle,
        text: None,
    }));
    let keeps = Level::ALL
        .into_iter()
        .filter(|&kept| kept != Level::Opaque || level == Level::Opaque)
        .rfind(|kept| !anomalies.iter().any(|anomaly| kept.forbids(anomaly.name)));
    let mut notes = Vec::new();
    if !history.has_lists() {
        notes.push(
            "registers show the order of versions only in part: what is reported happened, but not \
             everything that happened need be seen"
                .to_string(),
        );
    }
    if ambiguous > 0 {
        notes.push(format!(
            "{ambiguous} values were written more than once to a key: nothing is concluded from these"
        ));
    }
    Judged { level, anomalies, keeps, notes }
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Committed => "",
        Ending::Aborted => " (aborted)",
        Ending::Unknown => " (nobody knows how it ended)",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Ww => "ww",
        Kind::Wr => "wr",
        Kind::Rw | Kind::RwRealTime => "rw",
        Kind::Process => "process",
        Kind::RealTime => "realtime",
    }
}

/// The verdict as text.
pub fn text(history: &History, verdict: &Judged) -> String {
    let mut out = String::new();
    let committed = history.transactions.iter().filter(|t| t.ending == Ending::Committed).count();
    let _ = writeln!(
        out,
        "{} transactions, {committed} of them committed, on {}",
        history.transactions.len(),
        if history.has_lists() { "lists" } else { "registers" }
    );
    let yes = if verdict.valid() { "yes" } else { "no" };
    let _ = writeln!(out, "{}: {yes}", verdict.level.text());
    match verdict.keeps {
        Some(keeps) if keeps != verdict.level => {
            let _ = writeln!(out, "strongest level that is not violated: {}", keeps.text());
        }
        None => out.push_str("not even read committed\n"),
        _ => {}
    }
    for note in &verdict.notes {
        let _ = writeln!(out, "note: {note}");
    }
    for anomaly in &verdict.anomalies {
        let allowed = if verdict.level.forbids(anomaly.name) { "" } else { " (allowed)" };
        let _ = writeln!(out, "\n{}{allowed}:", anomaly.name);
        if let Some(text) = &anomaly.text {
            let _ = writeln!(out, "  {text}");
        }
        for edge in &anomaly.cycle {
            let from = &history.transactions[edge.from];
            let _ = writeln!(out, "  {}{}", history.show(from), ending(from.ending));
            let _ = writeln!(out, "    before the next, {}: {}", kind(edge.kind), edge.because);
        }
        if let Some(first) = anomaly.cycle.first() {
            let first = &history.transactions[first.from];
            let _ = writeln!(out, "  and so {} {} before itself", history.unit, first.at);
        }
    }
    out
}

/// The verdict as JSON.
pub fn to_json(history: &History, verdict: &Judged) -> serde_json::Value {
    let anomalies: Vec<serde_json::Value> = verdict
        .anomalies
        .iter()
        .map(|anomaly| {
            let cycle: Vec<serde_json::Value> = anomaly
                .cycle
                .iter()
                .map(|edge| {
                    serde_json::json!({
                        "from": history.transactions[edge.from].at,
                        "to": history.transactions[edge.to].at,
                        "kind": kind(edge.kind),
                        "because": edge.because,
                    })
                })
                .collect();
            serde_json::json!({
                "type": anomaly.name,
                "forbidden": verdict.level.forbids(anomaly.name),
                "text": anomaly.text,
                "cycle": cycle,
            })
        })
        .collect();
    serde_json::json!({
        "level": verdict.level.text(),
        "valid": verdict.valid(),
        "keeps": verdict.keeps.map(Level::text),
        "transactions": history.transactions.len(),
        "notes": verdict.notes,
        "anomalies": anomalies,
    })
}
