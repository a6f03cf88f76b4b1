//! The execution that proves a finding, in source terms.

use crate::place::Place;
use check::Certificate;
use lang::Source;
use model::graph::{EdgeKind, EventId, ExecutionGraph, Label};
use model::{FenceMode, Loc, Program, Tid, Value};
use serde::{Serialize, Serializer};

/// An execution graph that the declarative definition of the model allows and that refutes a
/// property. Events are named by their position in [`Proof::events`].
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
    /// The access that went wrong; for a race, the later one.
    pub access: usize,
    /// The write it reads or is placed right after; for a race, the earlier access.
    pub other: usize,
    /// The newest write to the location that went before the access in the run, if it went wrong
    /// by missing that.
    pub newest: Option<usize>,
    /// The event that depends on the stale value.
    pub used_by: Option<usize>,
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
    pub read: Option<Value>,
    /// The value written.
    pub written: Option<Value>,
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
}

/// An event of a cycle and how it leads to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Hop {
    /// The event.
    pub event: usize,
    /// Why it comes before the next one.
    #[serde(serialize_with = "edge_name")]
    pub edge: EdgeKind,
}

fn edge_name<S: Serializer>(edge: &EdgeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(edge)
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
            rf: graph.rf().pairs().map(|(from, to)| (from.index(), to.index())).collect(),
            mo: (0..graph.location_count())
                .map(|loc| indices(graph.writes_to(Loc::from(loc))))
                .collect(),
            access: access.index(),
            other: certificate.other.index(),
            newest: newest.map(EventId::index),
            used_by: certificate.used_by.map(EventId::index),
            cycle: certificate
                .cycle
                .iter()
                .flatten()
                .map(|(event, edge)| Hop { event: event.index(), edge: *edge })
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

fn event(source: &Source, program: &Program, graph: &ExecutionGraph, id: EventId) -> Event {
    let event = graph.event(id);
    let label = &event.label;
    let hidden = label.loc().is_some_and(|loc| loc.index() >= program.locations.len());
    let location = label.loc().map(|loc| match program.locations.get(loc.index()) {
        Some(location) => location.display_name(),
        None => FENCE_ORDER.to_string(),
    });
    Event {
        id: id.index(),
        thread: event.thread().map(|tid| program.threads[tid.index()].display_name()),
        tid: event.thread(),
        kind: match label {
            _ if event.is_initial() => EventKind::Initial,
            _ if hidden => EventKind::FenceOrder,
            Label::Read { .. } | Label::ReadStar { .. } => EventKind::Read,
            Label::Write { .. } => EventKind::Write,
            Label::Rmw { .. } => EventKind::Update,
            Label::Fence(_) => EventKind::Fence,
            Label::Ctrl => EventKind::Control,
        },
        mode: if event.is_initial() || hidden { None } else { mode(label) },
        location,
        read: label.value_read(),
        written: label.value_written(),
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
