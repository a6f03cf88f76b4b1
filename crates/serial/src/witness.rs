//! The cycle that shows a violation, in the user's own transactions, events and lines.
//!
//! A monitor keeps only as many edges as it needs to find *a* cycle; most conflicts follow from
//! others. For the report we want the shortest one, so the transactions that take part in cycles are
//! looked at again with every conflict of the definition (Definitions 1 and 2), and a breadth-first
//! search from each of them finds the shortest cycle of all.

use std::collections::VecDeque;

use crate::event::{Action, Data, Event, Label, Names, Place, Thread};
use crate::execution::Question;

/// An event, with its position in the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Position in the execution, counted from 0 over all lines that are events.
    pub at: u64,
    /// Who.
    pub thread: Thread,
    /// What.
    pub action: Action,
    /// Line of the recording.
    pub line: u32,
    /// Source place.
    pub place: Place,
    /// What was read and written.
    pub data: Data,
}

impl Access {
    /// The event, without its position.
    pub fn event(&self) -> Event {
        let Access { thread, action, line, place, data, .. } = *self;
        Event { thread, action, line, place, data }
    }
}

/// A unit of the graph: a transaction, or an event that stands alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The thread it belongs to.
    pub thread: Thread,
    /// The name given at `begin`.
    pub label: Option<Label>,
    /// The line of `begin`, or of the single event.
    pub line: u32,
    /// Whether it is a single event outside any transaction.
    pub single: bool,
}

/// Why one unit must come before the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// Same thread, and the memory model keeps this order.
    ProgramOrder,
    /// Different threads, same variable, at least one write.
    Conflict,
    /// Through transactions between the two that the monitor no longer holds.
    Indirect,
    /// A conflict of a trace whose direction was free, and chosen by the execution shown.
    OrientedConflict,
}

impl EdgeKind {
    /// As the reports write it.
    pub fn text(self) -> &'static str {
        match self {
            EdgeKind::ProgramOrder => "program order",
            EdgeKind::Conflict => "conflict",
            EdgeKind::Indirect => "through transactions no longer held",
            EdgeKind::OrientedConflict => "oriented conflict",
        }
    }
}

/// One step of a cycle: `unit` must precede the unit of the next step, because its event `leaves`
/// precedes the next unit's event `enters`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The unit that comes first.
    pub unit: Unit,
    /// Its event.
    pub leaves: Access,
    /// Why.
    pub kind: EdgeKind,
    /// The event of the next unit.
    pub enters: Access,
}

/// A violation: units that each must precede the next, all the way round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What is violated.
    pub question: Question,
    /// The cycle.
    pub cycle: Vec<Step>,
}

impl Violation {
    /// The position of the last event of the cycle: the prefix up to here is already a violation.
    pub fn last_event(&self) -> u64 {
        self.cycle.iter().map(|step| step.leaves.at.max(step.enters.at)).max().unwrap_or(0)
    }
}

impl Unit {
    /// A short text: `take (T1, line 3)`.
    pub fn show(&self, names: &Names) -> String {
        let thread = names.of_thread(self.thread);
        match (self.label, self.single) {
            (Some(label), _) => format!("{} ({thread}, line {})", names.of_label(label), self.line),
            (None, false) => format!("transaction of {thread} at line {}", self.line),
            (None, true) => format!("single event of {thread} at line {}", self.line),
        }
    }
}

/// An event with what decides its conflicts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub access: Access,
    /// A read with an earlier write of its thread to the variable and no fence in between.
    pub buffered: bool,
    /// Commits by others before this position precede the read.
    pub sees_before: u64,
    /// Commits by others after this position follow the read.
    pub holds_from: u64,
}

impl Record {
    /// Whether `self`, which comes first, conflicts with `later` of another unit.
    fn conflicts(&self, later: &Record, question: Question) -> Option<EdgeKind> {
        use Action::{Commit, Read, Rmw, Write};
        if self.access.thread == later.access.thread {
            let kept = match (self.access.action, later.access.action) {
                (Commit(_), Read(_) | Write(_)) | (Read(_) | Write(_), Commit(_)) => false,
                (Write(x), Read(y)) if x != y => question.keeps_program_order(),
                (Read(x), Read(y)) if x != y && self.buffered => question.keeps_program_order(),
                _ => true,
            };
            return kept.then_some(EdgeKind::ProgramOrder);
        }
        let conflicting = match (self.access.action, later.access.action) {
            (Commit(x) | Rmw(x), Commit(y) | Rmw(y)) => x == y,
            (Commit(x) | Rmw(x), Read(y)) => x == y && self.access.at < later.sees_before,
            (Read(x), Commit(y) | Rmw(y)) => x == y && self.holds_from < later.access.at,
            _ => false,
        };
        conflicting.then_some(EdgeKind::Conflict)
    }
}

/// The shortest cycle among `units`, by all their conflicts; `None` if they are too many to compare
/// pairwise, or have no cycle.
pub(crate) fn shortest(units: &[(Unit, &[Record])], question: Question) -> Option<Violation> {
    const MOST_EVENTS: usize = 3_000;
    const MOST_UNITS: usize = 600;
    let events: usize = units.iter().map(|(_, records)| records.len()).sum();
    if events > MOST_EVENTS || units.len() > MOST_UNITS {
        return None;
    }
    let edges = all_edges(units, question);
    let mut best: Option<Vec<usize>> = None;
    for start in 0..units.len() {
        let found = cycle_through(start, &edges, best.as_ref().map_or(usize::MAX, Vec::len));
        best = found.or(best);
    }
    let cycle = best?;
    let steps = (0..cycle.len()).map(|index| {
        let (from, to) = (cycle[index], cycle[(index + 1) % cycle.len()]);
        let &(_, leaves, kind, enters) = edges[from].iter().find(|edge| edge.0 == to)?;
        Some(Step { unit: units[from].0, leaves, kind, enters })
    });
    Some(Violation { question, cycle: steps.collect::<Option<Vec<Step>>>()? })
}

type FullEdge = (usize, Access, EdgeKind, Access);

fn all_edges(units: &[(Unit, &[Record])], question: Question) -> Vec<Vec<FullEdge>> {
    let edge = |from: usize, to: usize| -> Option<FullEdge> {
        units[from].1.iter().find_map(|earlier| {
            units[to].1.iter().find_map(|later| {
                let ordered = earlier.access.at < later.access.at;
                let kind = ordered.then(|| earlier.conflicts(later, question)).flatten()?;
                Some((to, earlier.access, kind, later.access))
            })
        })
    };
    (0..units.len())
        .map(|from| {
            (0..units.len()).filter(|&to| to != from).filter_map(|to| edge(from, to)).collect()
        })
        .collect()
}

/// The shortest cycle through `start` with fewer than `bound` nodes.
fn cycle_through(start: usize, edges: &[Vec<FullEdge>], bound: usize) -> Option<Vec<usize>> {
    let mut parent = vec![usize::MAX; edges.len()];
    let mut queue = VecDeque::from([(start, 1)]);
    while let Some((node, length)) = queue.pop_front() {
        if length >= bound {
            return None;
        }
        for &(next, ..) in &edges[node] {
            if next == start {
                let mut cycle = vec![node];
                while let Some(&before) = cycle.last().filter(|&&last| last != start) {
                    cycle.push(parent[before]);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if parent[next] == usize::MAX {
                parent[next] = node;
                queue.push_back((next, length + 1));
            }
        }
    }
    None
}
