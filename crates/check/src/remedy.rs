//! What rules an execution out, and what an execution shows beside its verdict.
//!
//! Everything here judges execution graphs by the definitions. Only remedies that are known to help are
//! named:
//!
//! * A `fence(seq_cst)` on every stretch of program order in the cycle rules the cycle out: the
//!   stretches of communication between such fences order them (psc_F of RC11; happens-before of
//!   RC20), and a cycle of them is forbidden ([`unfenced`]).
//! * Release and acquire where the cycle passes a value on are named only if the judge rejects the
//!   same execution with those stronger modes ([`synchronisation`]).
//! * `seq_cst` for the other accesses of a cycle that has `seq_cst` accesses already is named only if the judge
//!   rejects the same execution with those ([`sequential`]). RC20 and RA have no such accesses, and there
//!   nothing is named.
//!
//! None of them says that no other execution goes wrong.

use crate::answer::Certificate;
use graph::axioms::{self, is_consistent};
use graph::monitor::Awareness;
use graph::{EdgeKind, EventId, ExecutionGraph, Label, Relation};
use ir::{FenceMode, Loc, Pc, Program, ReadMode, Tid, Value, WriteMode};

/// How an access is made stronger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strengthen {
    /// It releases.
    Release,
    /// It acquires.
    Acquire,
}

/// The accesses where the cycle passes values on and that are to be stronger, if that rules the
/// execution out.
pub fn synchronisation(
    program: &Program,
    certificate: &Certificate,
) -> Option<Vec<(EventId, Strengthen)>> {
    let cycle = certificate.cycle.as_ref()?;
    let passed = |position: usize| {
        let (event, edge) = cycle[position];
        (edge == EdgeKind::Rf).then(|| (event, cycle[(position + 1) % cycle.len()].0))
    };
    let pairs: Vec<(EventId, EventId)> = (0..cycle.len()).filter_map(passed).collect();
    let graph = &certificate.graph;
    let releasing = |id: EventId| pairs.iter().any(|(write, _)| *write == id);
    let acquiring = |id: EventId| pairs.iter().any(|(_, read)| *read == id);
    let is_weak = |(id, how): &(EventId, Strengthen)| {
        let label = &graph.event(*id).label;
        let strong = match how {
            Strengthen::Release => label.releases(),
            Strengthen::Acquire => label.acquires(),
        };
        !strong && !label.is_non_atomic()
    };
    let changes: Vec<(EventId, Strengthen)> = pairs
        .iter()
        .flat_map(|(write, read)| [(*write, Strengthen::Release), (*read, Strengthen::Acquire)])
        .filter(is_weak)
        .collect();
    let stronger = strengthened(program, graph, &|id, label| match label {
        Label::Read { mode, .. } | Label::ReadStar { mode, .. } => raise_read(mode, acquiring(id)),
        Label::Write { mode, .. } => raise_write(mode, releasing(id)),
        Label::Rmw { read_mode, write_mode, .. } => {
            raise_read(read_mode, acquiring(id));
            raise_write(write_mode, releasing(id));
        }
        Label::Fence(_) | Label::Ctrl => {}
    })?;
    (!changes.is_empty() && !is_consistent(&stronger)).then_some(changes)
}

/// The accesses of the cycle that are to be `seq_cst` as others of it are, if that rules the execution out.
pub fn sequential(program: &Program, certificate: &Certificate) -> Option<Vec<EventId>> {
    let cycle = certificate.cycle.as_ref()?;
    let graph = &certificate.graph;
    let label = |id: EventId| &graph.event(id).label;
    let accesses = || cycle.iter().map(|(id, _)| *id).filter(|id| label(*id).loc().is_some());
    let is_weak = |id: &EventId| !label(*id).is_sc() && !graph.event(*id).is_initial();
    let mut changes: Vec<EventId> = accesses().filter(is_weak).collect();
    changes.sort_unstable();
    changes.dedup();
    let is_mixed = changes.len() < accesses().count();
    if !is_mixed || changes.is_empty() || changes.iter().any(|id| label(*id).is_non_atomic()) {
        return None;
    }
    let stronger = strengthened(program, graph, &|id, label| {
        if !changes.contains(&id) {
            return;
        }
        match label {
            Label::Read { mode, .. } | Label::ReadStar { mode, .. } => *mode = ReadMode::Sc,
            Label::Write { mode, .. } => *mode = WriteMode::Sc,
            Label::Rmw { read_mode, write_mode, .. } => {
                (*read_mode, *write_mode) = (ReadMode::Sc, WriteMode::Sc);
            }
            Label::Fence(_) | Label::Ctrl => {}
        }
    })?;
    (!is_consistent(&stronger)).then_some(changes)
}

/// The same execution with some accesses stronger.
fn strengthened(
    program: &Program,
    graph: &ExecutionGraph,
    raise: &dyn Fn(EventId, &mut Label),
) -> Option<ExecutionGraph> {
    let mut stronger = ExecutionGraph::initial(program);
    for id in graph.ids() {
        let event = graph.event(id);
        let Some((tid, pc)) = event.step else { continue };
        let mut label = event.label;
        raise(id, &mut label);
        stronger.add(tid, pc, label, graph.dependencies(id), graph.added_at(id))?;
    }
    Some(stronger)
}

fn raise_read(mode: &mut ReadMode, raise: bool) {
    if raise && *mode != ReadMode::Na {
        *mode = (*mode).max(ReadMode::Acq);
    }
}

fn raise_write(mode: &mut WriteMode, raise: bool) {
    if raise && *mode != WriteMode::Na {
        *mode = (*mode).max(WriteMode::Rel);
    }
}

/// The stretches of program order in the cycle that no `seq_cst` fence is on.
pub fn unfenced(program: &Program, certificate: &Certificate) -> Vec<(EventId, EventId)> {
    let cycle = certificate.cycle.as_deref().unwrap_or_default();
    let next = cycle.iter().cycle().skip(1);
    cycle
        .iter()
        .zip(next)
        .filter(|((_, edge), _)| *edge == EdgeKind::Po)
        .map(|((from, _), (to, _))| (*from, *to))
        .filter(|(from, to)| !is_fenced(program, &certificate.graph, *from, *to))
        .collect()
}

/// Does a `seq_cst` fence separate the two events of a thread, or is one of them such a fence?
fn is_fenced(program: &Program, graph: &ExecutionGraph, from: EventId, to: EventId) -> bool {
    let Some(tid) = graph.event(from).thread() else { return false };
    let (first, last) = (graph.event(from).index, graph.event(to).index);
    let events = graph.thread_events(tid).get(first..=last).unwrap_or_default();
    // RC20's fences write a location of their own, which comes after those of the program.
    let is_fence = |id: &EventId| {
        let label = &graph.event(*id).label;
        *label == Label::Fence(FenceMode::Sc)
            || label.loc().is_some_and(|loc| loc.index() >= program.locations.len())
    };
    events.iter().any(is_fence)
}

/// Synchronises-with in an execution.
pub fn synchronises_with(graph: &ExecutionGraph) -> Relation {
    axioms::sw(graph)
}

/// Happens-before in an execution, without the pairs that follow from others.
pub fn happens_before(graph: &ExecutionGraph) -> Relation {
    let all = axioms::hb(graph);
    all.minus(&all.compose(&all))
}

/// Old values of a location that the memory model still lets a thread read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readable {
    /// The thread.
    pub tid: Tid,
    /// The location.
    pub loc: Loc,
    /// The values, the oldest first, and the steps that wrote them; none for an initial value.
    pub values: Vec<(Value, Option<(Tid, Pc)>)>,
    /// Under sequential consistency, must the thread come after the latest write by now?
    pub forbidden: bool,
}

/// The most events for which it is worked out who could still read what.
const KNOWLEDGE: usize = 250;

/// How much work it may be to say of all steps of a run who could still read what, in words of relations: about a second.
/// Programs in C have many locations, and a relation is closed for each value that is asked about.
pub const EFFORT: usize = 30_000_000;

/// What each thread could still read instead of the latest value, when this is what happened; `None`
/// if too much happened to work it out quickly, or more than is left of `effort` would be needed.
pub fn stale_values(
    program: &Program,
    graph: &ExecutionGraph,
    effort: &mut usize,
) -> Option<Vec<Readable>> {
    if graph.len() > KNOWLEDGE {
        return None;
    }
    let closing = graph.len() * graph.len() * (1 + graph.len() / 64);
    *effort = effort.checked_sub(closing)?;
    let awareness = Awareness::new(graph, &[]);
    let mut all = Vec::new();
    for tid in program.tids() {
        for loc in (0..program.locations.len()).map(Loc::from) {
            let latest = graph.latest(loc);
            let mut values = Vec::new();
            for write in awareness.not_overwritten(graph, tid, loc) {
                if write == latest {
                    continue;
                }
                *effort = effort.checked_sub(closing)?;
                if awareness.is_in_sc_order(graph, tid, write) {
                    let event = graph.event(write);
                    values.extend(event.label.value_written().map(|value| (value, event.step)));
                }
            }
            if !values.is_empty() {
                let forbidden = awareness.must_follow(tid, latest);
                all.push(Readable { tid, loc, values, forbidden });
            }
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Question, check};

    fn certificate(text: &str) -> (Program, Certificate) {
        let program = lang::parse("test", text).expect("a program").program;
        let answer = check(&program, &Question::default(), &|_, _| {}).expect("legal");
        let witness = answer.decisions[0].verdict.witness().expect("a violation");
        (program, witness.certificate().cloned().expect("a certificate"))
    }

    /// Judging a stronger execution is only fair if it is otherwise the same.
    #[test]
    fn strengthening_nothing_changes_nothing() {
        for text in [
            "global x, y; thread t { x.store(1); y.store(1); }
             thread u { local r; r = y.load(); if (r) { r = x.load(); } }",
            "global x, y; thread t { x.store(1); y.store(2); } thread u { y.store(1); x.store(2); }",
            "global x, y; thread t { local r; FADD(x, 1); fence(sc); r = y.load(); }
             thread u { local r; FADD(y, 1); r = x.load(); }",
        ] {
            let (program, certificate) = certificate(text);
            let same = strengthened(&program, &certificate.graph, &|_, _| {});
            assert_eq!(same.as_ref(), Some(&certificate.graph), "{text}");
        }
    }
}
