//! What to do about a finding. Only what is known to help is said.
//!
//! * A `fence(seq_cst)` on every stretch of program order in the cycle rules the cycle out: of two
//!   such fences the earlier happens before the later, so every stretch of communication between
//!   them must go forward in that order too, or it would contradict coherence.
//! * Release and acquire where the cycle passes a value on are suggested only if the judge rejects
//!   the same execution with those stronger modes.
//!
//! Neither says that no other execution goes wrong, so the advice is always to check again.

use crate::finding::Kind;
use crate::place::Place;
use crate::proof::{Event, EventKind, Proof};
use check::Certificate;
use graph::axioms::is_rc20_consistent;
use graph::{EdgeKind, EventId, ExecutionGraph, Label};
use ir::{Program, ReadMode, WriteMode};
use lang::Source;
use serde::Serialize;

/// One thing that can be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Advice {
    /// It, as a sentence.
    pub text: String,
    /// What to insert where, if it comes down to that; all of it together.
    pub edits: Vec<Edit>,
}

/// A text to insert.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edit {
    /// The line, counted from 1.
    pub line: usize,
    /// The column before which to insert, counted from 1 in characters.
    pub column: usize,
    /// The text.
    pub insert: String,
}

impl Advice {
    /// Advice without edits.
    pub fn new(text: impl Into<String>) -> Self {
        Advice { text: text.into(), edits: Vec::new() }
    }
}

/// What to do about a finding of this kind with this certificate.
pub fn advice(
    source: &Source,
    program: &Program,
    kind: Kind,
    certificate: Option<&Certificate>,
    proof: Option<&Proof>,
) -> Vec<Advice> {
    let mut all = Vec::new();
    match (kind, certificate, proof) {
        (Kind::Race, ..) => all.push(Advice::new(
            "order the two accesses, for instance by a `rel` store after the first that an `acq` load \
             before the second reads, or by a lock around both; or make the location atomic",
        )),
        (Kind::Assertion, ..) => all.push(Advice::new(
            "this is an interleaving, possible on every machine: no fence or memory order forbids it",
        )),
        (_, Some(certificate), Some(proof)) if certificate.cycle.is_some() => {
            all.extend(release_acquire(program, certificate, proof));
            all.extend(fences(source, certificate, proof, !all.is_empty()));
            if all.is_empty() {
                all.push(Advice::new(
                    "make the accesses of the cycle stronger, or put `fence(seq_cst);` between those of \
                     each thread",
                ));
            }
            if kind == Kind::Dependency {
                all.push(Advice::new("or make sure that a stale value is thrown away unused"));
            }
        }
        _ => {}
    }
    all
}

/// Release and acquire where the cycle passes values on, if that rules the execution out.
fn release_acquire(program: &Program, certificate: &Certificate, proof: &Proof) -> Option<Advice> {
    let cycle = certificate.cycle.as_ref()?;
    let passed = |position: usize| {
        let (event, edge) = cycle[position];
        (edge == EdgeKind::Rf).then(|| (event, cycle[(position + 1) % cycle.len()].0))
    };
    let pairs: Vec<(EventId, EventId)> = (0..cycle.len()).filter_map(passed).collect();
    let graph = &certificate.graph;
    let releasing = |id: EventId| pairs.iter().any(|(write, _)| *write == id);
    let acquiring = |id: EventId| pairs.iter().any(|(_, read)| *read == id);
    let mut changes: Vec<String> = Vec::new();
    for (write, read) in &pairs {
        for (id, weak, mode) in [
            (write, !graph.event(*write).label.releases(), "rel"),
            (read, !graph.event(*read).label.acquires(), "acq"),
        ] {
            let event = &proof.events[id.index()];
            if weak && !graph.event(*id).label.is_non_atomic() {
                let change = format!("{} `{mode}`", location_of(event));
                if !changes.contains(&change) {
                    changes.push(change);
                }
            }
        }
    }
    let stronger = strengthened(program, graph, &releasing, &acquiring)?;
    (!changes.is_empty() && !is_rc20_consistent(&stronger))
        .then(|| Advice::new(format!("make {}: that rules this execution out", and(&changes))))
}

/// The same execution with some writes releasing and some reads acquiring.
fn strengthened(
    program: &Program,
    graph: &ExecutionGraph,
    releasing: &dyn Fn(EventId) -> bool,
    acquiring: &dyn Fn(EventId) -> bool,
) -> Option<ExecutionGraph> {
    let mut stronger = ExecutionGraph::initial(program);
    for id in graph.ids() {
        let event = graph.event(id);
        let Some((tid, pc)) = event.step else { continue };
        let mut label = event.label;
        match &mut label {
            Label::Read { mode, .. } | Label::ReadStar { mode, .. } => {
                raise_read(mode, acquiring(id))
            }
            Label::Write { mode, .. } => raise_write(mode, releasing(id)),
            Label::Rmw { read_mode, write_mode, .. } => {
                raise_read(read_mode, acquiring(id));
                raise_write(write_mode, releasing(id));
            }
            Label::Fence(_) | Label::Ctrl => {}
        }
        let before = label.loc().filter(|_| label.writes()).and_then(|loc| {
            let order = graph.writes_to(loc);
            let place = order.iter().position(|write| *write == id)?;
            order[..place].iter().rev().copied().find(|write| *write < id)
        });
        let write = before.or(graph.source(id));
        stronger = stronger.extend(tid, pc, label, graph.dependencies(id), write)?;
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

/// Where fences rule the cycle out.
fn fences(
    source: &Source,
    certificate: &Certificate,
    proof: &Proof,
    alternative: bool,
) -> Option<Advice> {
    let cycle = certificate.cycle.as_ref()?;
    let mut places: Vec<String> = Vec::new();
    let mut edits: Option<Vec<Edit>> = Some(Vec::new());
    for (position, (from, edge)) in cycle.iter().enumerate() {
        let to = cycle[(position + 1) % cycle.len()].0;
        if *edge != EdgeKind::Po || is_fenced(&certificate.graph, proof, *from, to) {
            continue;
        }
        let (from, to) = (&proof.events[from.index()], &proof.events[to.index()]);
        let thread = from.thread.as_deref().unwrap_or("?");
        let place = between(thread, from.place.as_ref(), to.place.as_ref());
        if !places.contains(&place) {
            places.push(place);
        }
        let edit = to.place.as_ref().filter(|to| starts_statement(&source.text, to));
        match (&mut edits, edit) {
            (Some(edits), Some(Place { line, column, .. })) => {
                let edit = Edit { line: *line, column: *column, insert: FENCE.to_string() };
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
            _ => edits = None,
        }
    }
    if places.is_empty() {
        return None;
    }
    let or = if alternative { "or put" } else { "put" };
    let each = if places.len() > 1 {
        "both ".repeat(usize::from(places.len() == 2))
    } else {
        String::new()
    };
    let list = and(&places);
    let text = format!("{or} `fence(seq_cst);` {each}{list}: that rules this cycle out");
    Some(Advice { text, edits: edits.unwrap_or_default() })
}

/// The fence that is inserted.
const FENCE: &str = "fence(seq_cst); ";

/// Can a statement be put before this one without changing what the others mean? Only if it stands
/// behind the end of another or the start of a block: `if (r) x.store(1);` has one too few braces.
fn starts_statement(text: &str, place: &Place) -> bool {
    let before = text.get(..place.span.start).unwrap_or_default();
    let code = before.lines().map(|line| line.split("//").next().unwrap_or_default());
    let last = code.flat_map(str::chars).rfind(|c| !c.is_whitespace());
    matches!(last, Some(';' | '{' | '}'))
}

/// A fence between two statements of a thread.
pub fn fence_between(source: &Source, thread: &str, from: &Place, to: &Place) -> Advice {
    let Place { line, column, .. } = *to;
    let edit = Edit { line, column, insert: FENCE.to_string() };
    Advice {
        text: format!("put `fence(seq_cst);` {}", between(thread, Some(from), Some(to))),
        edits: Some(edit).filter(|_| starts_statement(&source.text, to)).into_iter().collect(),
    }
}

/// Does a `seq_cst` fence separate the two events of a thread, or is one of them such a fence?
fn is_fenced(graph: &ExecutionGraph, proof: &Proof, from: EventId, to: EventId) -> bool {
    let Some(tid) = graph.event(from).thread() else { return false };
    let (first, last) = (graph.event(from).index, graph.event(to).index);
    let events = graph.thread_events(tid).get(first..=last).unwrap_or_default();
    events.iter().any(|id| proof.events[id.index()].kind == EventKind::FenceOrder)
}

fn between(thread: &str, from: Option<&Place>, to: Option<&Place>) -> String {
    match (from, to) {
        (Some(a), Some(b)) if a.line < b.line => {
            format!("between line {} and line {} of `{thread}`", a.line, b.line)
        }
        (Some(a), Some(b)) if a.line > b.line => {
            format!("on the way from line {} back to line {} of `{thread}`", a.line, b.line)
        }
        (Some(a), Some(b)) => {
            format!("between `{}` and `{}` (line {}) of `{thread}`", a.text, b.text, a.line)
        }
        _ => format!("in `{thread}`"),
    }
}

/// The access as advice calls it: `the store of line 4`.
fn location_of(event: &Event) -> String {
    let what = match event.kind {
        EventKind::Write => "store",
        EventKind::Update => "update",
        _ => "read",
    };
    match &event.place {
        Some(place) => format!("the {what} of line {}", place.line),
        None => format!("the initial {what}"),
    }
}

/// `a`, `a and b`, `a, b and c`
fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use check::{Question, check};

    fn certificate(text: &str) -> (Program, Certificate) {
        let source = lang::parse("test", text).expect("a program");
        let answer = check(&source.program, &Question::default(), &|_, _| {}).expect("legal");
        let witness = answer.decisions[0].verdict.witness().expect("a violation");
        (source.program, witness.certificate().cloned().expect("a certificate"))
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
            let same = strengthened(&program, &certificate.graph, &|_| false, &|_| false);
            assert_eq!(same.as_ref(), Some(&certificate.graph), "{text}");
        }
    }
}
