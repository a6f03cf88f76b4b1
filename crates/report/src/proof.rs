//! The execution that proves a finding, in source terms.
//!
//! Whatever the analysis, its proof is a graph: events, the relations between them, and a cycle that no
//! interleaving allows. For RC20 and RA it is an execution graph; for machines with store buffers the
//! happens-before trace of a computation ([`check::robustness::store_atomic`]); for recordings the transactions of a
//! run ([`crate::recording`]); for libraries a history ([`crate::timeline`]). All of them have this one type, so every form of report draws all of them.

use crate::place::Place;
use crate::shown::Shown;
use check::{Certificate, remedy};
use graph::{self, EventId, ExecutionGraph, Label, Relation};
use ir::{FenceMode, Loc, Program, Tid, Value};
use lang::Source;
use memory::store_buffer::trace::Edge;
use serde::Serialize;
use std::fmt;

/// An execution that the memory model allows and that refutes a property. Events are named by their
/// position in [`Proof::events`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Proof {
    /// What happened; first the initial writes.
    pub events: Vec<Event>,
    /// Program order: the events of each thread.
    pub po: Vec<Vec<usize>>,
    /// Reads-from: a write and an event that reads it.
    pub rf: Vec<(usize, usize)>,
    /// Modification order: the writes to each location, the initial one first.
    pub mo: Vec<Vec<usize>>,
    /// From-read: a read and the first write that overwrote what it read.
    pub fr: Vec<(usize, usize)>,
    /// Synchronises-with: a release and an acquire that learnt of it.
    pub sw: Vec<(usize, usize)>,
    /// Happens-before, without the pairs that follow from others.
    pub hb: Vec<(usize, usize)>,
    /// The access that went wrong; for a race, the later one.
    pub access: usize,
    /// The write it reads or is placed right after; for a race, the earlier access.
    pub other: usize,
    /// The newest write to the location that went before the access in the run, if it went wrong
    /// by missing that.
    pub newest: Option<usize>,
    /// The event that depends on the stale value.
    pub used_by: Option<usize>,
    /// In histories: the marker of a call or return, and its arrival at another thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub propagation: Vec<(usize, usize)>,
    /// Is it a history? Then its events are in the order in which they happened, and no cycle
    /// is looked for.
    #[serde(skip)]
    pub timeline: bool,
    /// Does it refute the very property asked about? If not, it refutes plain robustness, and that the
    /// stale value matters is what the monitors say: their check of observational robustness is sound,
    /// but may be too strict.
    pub conclusive: bool,
    /// Why no interleaving explains the execution: each event must come before the next, and the
    /// last before the first.
    pub cycle: Vec<Hop>,
}

/// One event of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Event {
    /// Its position in [`Proof::events`].
    pub id: usize,
    /// Its thread; none for an initial write.
    pub thread: Option<String>,
    /// The thread's number.
    #[serde(skip)]
    pub tid: Option<Tid>,
    /// What it did.
    pub kind: EventKind,
    /// Its memory order, as the model sees it.
    pub mode: Option<String>,
    /// The location accessed.
    pub location: Option<String>,
    /// The value read.
    pub read: Option<Shown>,
    /// The value written.
    pub written: Option<Shown>,
    /// What it did, in a few words: `write x = 1`.
    pub label: String,
    /// The statement; none for an initial write.
    #[serde(flatten)]
    pub place: Option<Place>,
}

/// What an event did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// Gave a location its initial value.
    Initial,
    /// Read a location.
    Read,
    /// Wrote a location.
    Write,
    /// Read and wrote a location in one.
    Update,
    /// Was a fence.
    Fence,
    /// Was the place of a `seq_cst` fence in the order of all of them.
    FenceOrder,
    /// Decided where the thread goes.
    Control,
    /// Was a transaction of a recorded run.
    Transaction,
    /// Was a call or a return.
    Marker,
    /// Was the marker of another thread's call or return arriving.
    Arrival,
}

/// An event of a cycle and how it leads to the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hop {
    /// The event.
    pub event: usize,
    /// Why it comes before the next one.
    pub edge: EdgeKind,
    /// The reason in more detail, where the two events do not say it all.
    pub because: Option<String>,
}

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// It comes earlier in the same thread.
    Po,
    /// It is the write that the other reads from.
    Rf,
    /// It is an earlier write to the same location.
    Mo,
    /// It reads from a write that the other overwrote.
    Fr,
    /// It happens before the other: by program order and synchronisation.
    Hb,
    /// They are in one uninterrupted block.
    Block,
    /// They access the same variable, one of them writes, and it did so first.
    Conflict,
    /// A conflict whose direction the recording left open, and the execution shown chose.
    Chosen,
    /// Through transactions between the two that are no longer known.
    Indirect,
    /// It is a call or return, and the other its arrival at another thread.
    Propagation,
    /// They race: neither comes before the other. In drawings only.
    Race,
}

impl EdgeKind {
    /// The name used in text, JSON and drawings.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Po => "po",
            EdgeKind::Rf => "rf",
            EdgeKind::Mo => "mo",
            EdgeKind::Fr => "fr",
            EdgeKind::Hb => "hb",
            EdgeKind::Block => "block",
            EdgeKind::Conflict => "conflict",
            EdgeKind::Chosen => "chosen",
            EdgeKind::Indirect => "indirect",
            EdgeKind::Propagation => "propagation",
            EdgeKind::Race => "race",
        }
    }

    /// What it says about two events, between the one and the other.
    pub fn words(self) -> &'static str {
        match self {
            EdgeKind::Po => "comes before, in the same thread",
            EdgeKind::Rf => "is read by",
            EdgeKind::Mo => "is overwritten by",
            EdgeKind::Fr => "read before it was overwritten by",
            EdgeKind::Hb => "happens before",
            EdgeKind::Block => "is in one uninterrupted block with",
            EdgeKind::Conflict => "conflicts with, and came before",
            EdgeKind::Chosen => "conflicts with, and may come before",
            EdgeKind::Indirect => "comes before, through transactions no longer held",
            EdgeKind::Propagation => "propagates to",
            EdgeKind::Race => "races with",
        }
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<graph::EdgeKind> for EdgeKind {
    fn from(kind: graph::EdgeKind) -> Self {
        match kind {
            graph::EdgeKind::Po => EdgeKind::Po,
            graph::EdgeKind::Rf => EdgeKind::Rf,
            graph::EdgeKind::Mo => EdgeKind::Mo,
            graph::EdgeKind::Fr => EdgeKind::Fr,
        }
    }
}

impl From<Edge> for EdgeKind {
    fn from(edge: Edge) -> Self {
        match edge {
            Edge::Program => EdgeKind::Po,
            Edge::Source => EdgeKind::Rf,
            Edge::Store => EdgeKind::Mo,
            Edge::Conflict => EdgeKind::Fr,
            Edge::Block => EdgeKind::Block,
        }
    }
}

/// What the hidden location of `seq_cst` fences is called.
const FENCE_ORDER: &str = "(seq_cst fences)";

impl Proof {
    /// The certificate of a check of `program`, whose text is `source`.
    pub fn new(source: &Source, program: &Program, certificate: &Certificate) -> Self {
        let graph = &certificate.graph;
        let events = graph.ids().map(|id| event(source, program, graph, id)).collect();
        let indices = |ids: &[EventId]| ids.iter().map(|id| id.index()).collect();
        let access = certificate.access;
        let newest = certificate.cycle.as_ref().and_then(|_| {
            let loc = graph.event(access).label.loc()?;
            let mut writes = graph.writes_to(loc).iter().rev().copied();
            writes.find(|write| *write < access && *write != certificate.other)
        });
        Proof {
            events,
            po: program.tids().map(|tid| indices(graph.thread_events(tid))).collect(),
            rf: pairs(&graph.rf()),
            mo: (0..graph.location_count())
                .map(|loc| indices(graph.writes_to(Loc::from(loc))))
                .collect(),
            fr: graph.ids().filter_map(|read| overwritten_by(graph, read)).collect(),
            sw: pairs(&remedy::synchronises_with(graph)),
            hb: pairs(&remedy::happens_before(graph)),
            access: access.index(),
            other: certificate.other.index(),
            newest: newest.map(EventId::index),
            used_by: certificate.used_by.map(EventId::index),
            propagation: Vec::new(),
            timeline: false,
            conclusive: certificate.conclusive,
            cycle: certificate
                .cycle
                .iter()
                .flatten()
                .map(|(event, edge)| Hop {
                    event: event.index(),
                    edge: (*edge).into(),
                    because: None,
                })
                .collect(),
        }
    }

    /// The access that went wrong.
    pub fn access(&self) -> &Event {
        &self.events[self.access]
    }

    /// The write or access that it should not have met.
    pub fn other(&self) -> &Event {
        &self.events[self.other]
    }
}

fn pairs(relation: &Relation) -> Vec<(usize, usize)> {
    relation.pairs().map(|(from, to)| (from.index(), to.index())).collect()
}

/// A read that is not also a write, and the first write that overwrote what it read.
fn overwritten_by(graph: &ExecutionGraph, read: EventId) -> Option<(usize, usize)> {
    let event = graph.event(read);
    let order = graph.writes_to(event.label.loc().filter(|_| !event.label.writes())?);
    let source = graph.source(read)?;
    let next = *order.get(1 + order.iter().position(|write| *write == source)?)?;
    Some((read.index(), next.index()))
}

fn event(source: &Source, program: &Program, graph: &ExecutionGraph, id: EventId) -> Event {
    let event = graph.event(id);
    let label = &event.label;
    let hidden = label.loc().is_some_and(|loc| loc.index() >= program.locations.len());
    let location = label.loc().map(|loc| match program.locations.get(loc.index()) {
        Some(location) => location.display_name(),
        None => FENCE_ORDER.to_string(),
    });
    let kind = match label {
        _ if event.is_initial() => EventKind::Initial,
        _ if hidden => EventKind::FenceOrder,
        Label::Read { .. } | Label::ReadStar { .. } => EventKind::Read,
        Label::Write { .. } => EventKind::Write,
        Label::Rmw { .. } => EventKind::Update,
        Label::Fence(_) => EventKind::Fence,
        Label::Ctrl => EventKind::Control,
    };
    let mode = if event.is_initial() || hidden { None } else { mode(label) };
    let shown = |value: Option<Value>| value.map(|value| Shown::of(source, value));
    let (read, written) = (shown(label.value_read()), shown(label.value_written()));
    Event {
        id: id.index(),
        thread: event.thread().map(|tid| program.threads[tid.index()].display_name()),
        tid: event.thread(),
        kind,
        label: match kind {
            EventKind::Fence => format!("fence {}", mode.as_deref().unwrap_or_default()),
            EventKind::FenceOrder => "fence seq_cst".to_string(),
            EventKind::Control => "decision".to_string(),
            _ => {
                let place = location.as_deref().unwrap_or_default();
                effect(kind, place, read.as_ref(), written.as_ref())
            }
        },
        mode,
        location,
        read,
        written,
        place: event.step.map(|(tid, pc)| Place::of_step(source, program, tid, pc)),
    }
}

fn mode(label: &Label) -> Option<String> {
    match label {
        Label::Read { mode, .. } | Label::ReadStar { mode, .. } => Some(mode.keyword().into()),
        Label::Write { mode, .. } => Some(mode.keyword().into()),
        Label::Rmw { read_mode, write_mode, .. } => {
            Some(format!("{}, {}", read_mode.keyword(), write_mode.keyword()))
        }
        Label::Fence(mode) => Some(FenceMode::keyword(*mode).into()),
        Label::Ctrl => None,
    }
}

/// What an access did, in a few words.
pub(crate) fn effect(
    kind: EventKind,
    location: &str,
    read: Option<&Shown>,
    written: Option<&Shown>,
) -> String {
    match (kind, read, written) {
        (EventKind::Initial, _, Some(value)) => format!("{location} = {value}"),
        (_, Some(read), Some(written)) => format!("update {location}: {read} → {written}"),
        (_, Some(read), None) => format!("read {location} = {read}"),
        (_, None, Some(written)) => format!("write {location} = {written}"),
        (_, None, None) => location.to_string(),
    }
}
