//! Events and execution graphs (Defs. 2.2 and 3.1–3.4 of the RC20 paper).
//!
//! An execution graph says what happened in one execution, without a global clock: the events of
//! each thread in program order (po), for every read the write it read from (rf), for every location
//! the order of its writes (modification order, mo), and which reads the registers behind an event
//! came from (dependencies, dp).
//!
//! A graph grows only by [`ExecutionGraph::extend`], so some of Def. 3.2 holds by construction: rf is
//! a function to a write of the same location and value, mo is total per location and starts with the
//! initial write, dp goes forward in one thread. Whether a *program* can do this and a *model* allows
//! it is for [`super::judge`](mod@super::judge) to say.
//!
//! **Hidden location.** RC20's SC fence ([`FenceMode::ScUpd`]) is `fence(acq); FADD(f, 0, acqrel);
//! fence(rel)`: three events of one step. The location `f` is no location of the program; its index is
//! the number of those, and it exists only in graphs of programs that have such fences. RC11's SC fence
//! is one event and accesses nothing.

use super::relation::{EventSet, Relation};
use ir::mode::is_sc_update;
use ir::{FenceMode, Loc, Pc, Program, ReadMode, Tid, Value, WriteMode};
use std::fmt;

/// An event, by its position in [`ExecutionGraph::events`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(pub u32);

impl EventId {
    /// The position in [`ExecutionGraph::events`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for EventId {
    fn from(index: usize) -> Self {
        EventId(u32::try_from(index).expect("graphs are far smaller than 2^32"))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// What an event did (Def. 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// `R`: a load.
    Read {
        /// The location read.
        loc: Loc,
        /// The value read.
        value: Value,
        /// How strongly.
        mode: ReadMode,
    },
    /// `W`: a store.
    Write {
        /// The location written.
        loc: Loc,
        /// The value written.
        value: Value,
        /// How strongly.
        mode: WriteMode,
    },
    /// `RMW`: a read and a write with nothing between them.
    Rmw {
        /// The location read and written.
        loc: Loc,
        /// The value read.
        read: Value,
        /// The value written.
        written: Value,
        /// How strongly it reads.
        read_mode: ReadMode,
        /// How strongly it writes.
        write_mode: WriteMode,
    },
    /// `R*`: the read of a wait or of a failed CAS. Its value decides how the thread goes on, so it
    /// always counts as observed.
    ReadStar {
        /// The location read.
        loc: Loc,
        /// The value read.
        value: Value,
        /// How strongly.
        mode: ReadMode,
    },
    /// `F`: a fence that updates nothing.
    Fence(FenceMode),
    /// `CTRL`: registers decided where the thread goes.
    Ctrl,
}

impl Label {
    /// The location accessed.
    pub fn loc(&self) -> Option<Loc> {
        match self {
            Label::Read { loc, .. }
            | Label::Write { loc, .. }
            | Label::Rmw { loc, .. }
            | Label::ReadStar { loc, .. } => Some(*loc),
            Label::Fence(_) | Label::Ctrl => None,
        }
    }

    /// The value read, if it reads.
    pub fn value_read(&self) -> Option<Value> {
        match self {
            Label::Read { value, .. } | Label::ReadStar { value, .. } => Some(*value),
            Label::Rmw { read, .. } => Some(*read),
            _ => None,
        }
    }

    /// The value written, if it writes.
    pub fn value_written(&self) -> Option<Value> {
        match self {
            Label::Write { value, .. } => Some(*value),
            Label::Rmw { written, .. } => Some(*written),
            _ => None,
        }
    }

    /// Is it a read, R* or RMW?
    pub fn reads(&self) -> bool {
        self.value_read().is_some()
    }

    /// Is it a write or RMW?
    pub fn writes(&self) -> bool {
        self.value_written().is_some()
    }

    /// Is its mode at least acquire?
    pub fn acquires(&self) -> bool {
        match self {
            Label::Read { mode, .. } | Label::ReadStar { mode, .. } => mode.acquires(),
            Label::Rmw { read_mode, .. } => read_mode.acquires(),
            Label::Fence(mode) => mode.acquires(),
            Label::Write { .. } | Label::Ctrl => false,
        }
    }

    /// Is its mode at least release?
    pub fn releases(&self) -> bool {
        match self {
            Label::Write { mode, .. } => mode.releases(),
            Label::Rmw { write_mode, .. } => write_mode.releases(),
            Label::Fence(mode) => mode.releases(),
            Label::Read { .. } | Label::ReadStar { .. } | Label::Ctrl => false,
        }
    }

    /// Is it an `sc` access or an SC fence?
    pub fn is_sc(&self) -> bool {
        match self {
            Label::Read { mode, .. } | Label::ReadStar { mode, .. } => *mode == ReadMode::Sc,
            Label::Write { mode, .. } => *mode == WriteMode::Sc,
            Label::Rmw { read_mode, write_mode, .. } => is_sc_update(*read_mode, *write_mode),
            Label::Fence(mode) => *mode == FenceMode::Sc,
            Label::Ctrl => false,
        }
    }

    /// Is it a non-atomic access?
    pub fn is_non_atomic(&self) -> bool {
        matches!(
            self,
            Label::Read { mode: ReadMode::Na, .. } | Label::Write { mode: WriteMode::Na, .. }
        )
    }
}

/// One event of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The thread's step it comes from; `None` for an initial write.
    pub step: Option<(Tid, Pc)>,
    /// Its position among the events of its thread; for an initial write, its location's index.
    pub index: usize,
    /// What it did.
    pub label: Label,
}

impl Event {
    /// The thread it belongs to; `None` for an initial write.
    pub fn thread(&self) -> Option<Tid> {
        self.step.map(|(tid, _)| tid)
    }

    /// Is it the write that initialised a location?
    pub fn is_initial(&self) -> bool {
        self.step.is_none()
    }
}

/// What happened in an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionGraph {
    events: Vec<Event>,
    threads: Vec<Vec<EventId>>,
    /// The write each event reads from.
    sources: Vec<Option<EventId>>,
    /// The reads each event depends on, ascending.
    dependencies: Vec<Vec<EventId>>,
    /// The writes to each location in modification order.
    writes: Vec<Vec<EventId>>,
}

impl ExecutionGraph {
    /// The graph of an execution in which nothing happened yet (Def. 3.4).
    pub fn initial(program: &Program) -> Self {
        let hidden = program.has_updating_fences().then_some(0);
        let values = program.locations.iter().map(|location| location.initial).chain(hidden);
        let events: Vec<Event> = values
            .enumerate()
            .map(|(index, value)| Event {
                step: None,
                index,
                label: Label::Write { loc: Loc::from(index), value, mode: WriteMode::Rlx },
            })
            .collect();
        ExecutionGraph {
            threads: vec![Vec::new(); program.threads.len()],
            sources: vec![None; events.len()],
            dependencies: vec![Vec::new(); events.len()],
            writes: (0..events.len()).map(|index| vec![EventId::from(index)]).collect(),
            events,
        }
    }

    /// The graph as it was when it had the first `events` of its events.
    pub fn truncated(&self, events: usize) -> ExecutionGraph {
        let kept = |ids: &Vec<EventId>| {
            ids.iter().copied().filter(|id| id.index() < events).collect::<Vec<_>>()
        };
        ExecutionGraph {
            events: self.events[..events].to_vec(),
            threads: self.threads.iter().map(kept).collect(),
            sources: self.sources[..events].to_vec(),
            dependencies: self.dependencies[..events].to_vec(),
            writes: self.writes.iter().map(kept).collect(),
        }
    }

    /// `add(G, τ, l, D, w)` of Notation 3.8: the graph with one more event, the last of thread `tid`.
    ///
    /// If it reads, it reads from `write`; if it writes, it goes directly after `write` in
    /// modification order; fences and control events take `None`. `depends_on` are the reads whose
    /// values its registers came from.
    ///
    /// Returns `None` if this is no execution graph: `write` is missing or superfluous, is not a write
    /// to the location accessed, or has another value than the one read; or a dependency is not an
    /// earlier read of the thread.
    pub fn extend(
        &self,
        tid: Tid,
        pc: Pc,
        label: Label,
        depends_on: &[EventId],
        write: Option<EventId>,
    ) -> Option<ExecutionGraph> {
        let mut graph = self.clone();
        graph.add(tid, pc, label, depends_on, write)?;
        Some(graph)
    }

    /// [`ExecutionGraph::extend`] in place: a long run is then replayed without copying the graph at
    /// every step. If it returns `None`, the graph is as before.
    pub fn add(
        &mut self,
        tid: Tid,
        pc: Pc,
        label: Label,
        depends_on: &[EventId],
        write: Option<EventId>,
    ) -> Option<()> {
        let index = self.threads.get(tid.index())?.len();
        let is_earlier_read = |&d: &EventId| {
            let earlier = self.events.get(d.index());
            earlier.is_some_and(|event| event.thread() == Some(tid) && event.label.reads())
        };
        if !depends_on.iter().all(is_earlier_read) || label.loc().is_some() != write.is_some() {
            return None;
        }
        let event = EventId::from(self.events.len());
        if let (Some(loc), Some(write)) = (label.loc(), write) {
            let order = self.writes.get_mut(loc.index())?;
            let position = order.iter().rposition(|&w| w == write)?;
            let available = self.events[write.index()].label.value_written();
            if label.reads() && label.value_read() != available {
                return None;
            }
            if label.writes() {
                order.insert(position + 1, event);
            }
        }
        let mut dependencies = depends_on.to_vec();
        dependencies.sort_unstable();
        dependencies.dedup();
        self.dependencies.push(dependencies);
        self.sources.push(write.filter(|_| label.reads()));
        self.events.push(Event { step: Some((tid, pc)), index, label });
        self.threads[tid.index()].push(event);
        Some(())
    }

    /// The events; first the initial writes, then in the order they were added.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events' identifiers.
    pub fn ids(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.events.len()).map(EventId::from)
    }

    /// How many events there are, the initial writes among them.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Is there no event at all? Only the graph of a program without locations.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// One event.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.index()]
    }

    /// How many threads there are.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// How many locations there are; one more than the program has if fences update it.
    pub fn location_count(&self) -> usize {
        self.writes.len()
    }

    /// The events of a thread in program order.
    pub fn thread_events(&self, tid: Tid) -> &[EventId] {
        &self.threads[tid.index()]
    }

    /// The write that `id` reads from.
    pub fn source(&self, id: EventId) -> Option<EventId> {
        self.sources[id.index()]
    }

    /// The write that `id` reads from or, if it only writes, was put right after in modification order when it was
    /// added.
    pub fn added_at(&self, id: EventId) -> Option<EventId> {
        let label = &self.event(id).label;
        let before = label.loc().filter(|_| label.writes()).and_then(|loc| {
            let order = self.writes_to(loc);
            let place = order.iter().position(|write| *write == id)?;
            order[..place].iter().rev().copied().find(|write| *write < id)
        });
        before.or(self.source(id))
    }

    /// The reads that `id` depends on.
    pub fn dependencies(&self, id: EventId) -> &[EventId] {
        &self.dependencies[id.index()]
    }

    /// The writes to a location in modification order, the initial one first.
    pub fn writes_to(&self, loc: Loc) -> &[EventId] {
        &self.writes[loc.index()]
    }

    /// `w_x^max`: the last write to a location in modification order (Notation 4.4).
    pub fn latest(&self, loc: Loc) -> EventId {
        *self.writes[loc.index()].last().expect("every location has its initial write")
    }

    /// The value of the last write to a location in modification order.
    pub fn latest_value(&self, loc: Loc) -> Value {
        self.event(self.latest(loc)).label.value_written().expect("mo orders writes")
    }

    /// The events whose label satisfies `test`.
    pub fn select(&self, test: impl Fn(&Label) -> bool) -> EventSet {
        let hits = self.ids().filter(|&id| test(&self.event(id).label));
        EventSet::from_members(self.len(), hits)
    }

    /// `E^τ`: the events of a thread.
    pub fn thread_set(&self, tid: Tid) -> EventSet {
        EventSet::from_members(self.len(), self.thread_events(tid).iter().copied())
    }

    /// Program order, transitive; initial writes come before all events of threads.
    pub fn po(&self) -> Relation {
        let mut po = Relation::empty(self.len());
        let initial = || self.ids().filter(|&id| self.event(id).is_initial());
        for thread in &self.threads {
            for (position, &event) in thread.iter().enumerate() {
                for earlier in initial().chain(thread[..position].iter().copied()) {
                    po.insert(earlier, event);
                }
            }
        }
        po
    }

    /// Reads-from, from writes to reads.
    pub fn rf(&self) -> Relation {
        let pairs = self.ids().filter_map(|read| self.source(read).map(|write| (write, read)));
        Relation::from_pairs(self.len(), pairs)
    }

    /// Modification order, transitive.
    pub fn mo(&self) -> Relation {
        let mut mo = Relation::empty(self.len());
        for order in &self.writes {
            for (position, &write) in order.iter().enumerate() {
                for &earlier in &order[..position] {
                    mo.insert(earlier, write);
                }
            }
        }
        mo
    }

    /// Dependencies, from reads to the events that depend on them.
    pub fn dp(&self) -> Relation {
        let pairs = self.ids().flat_map(|id| self.dependencies(id).iter().map(move |&d| (d, id)));
        Relation::from_pairs(self.len(), pairs)
    }

    /// The same for two graphs iff they differ at most in the order their events were added and in
    /// which thread states reach them: every thread's events with their labels, sources and
    /// dependencies, and the modification orders, all in terms of threads and positions.
    pub fn canonical(&self) -> Canonical {
        let place = |id: EventId| self.place(id);
        let description = |&id: &EventId| Description {
            pc: self.event(id).step.map(|(_, pc)| pc),
            label: self.event(id).label,
            source: self.source(id).map(place),
            dependencies: self.dependencies(id).iter().copied().map(place).collect(),
        };
        Canonical {
            threads: self
                .threads
                .iter()
                .map(|thread| thread.iter().map(description).collect())
                .collect(),
            writes: self
                .writes
                .iter()
                .map(|order| order.iter().copied().map(place).collect())
                .collect(),
        }
    }

    /// An event's thread and position in it: its name in all graphs of the program.
    pub fn place(&self, id: EventId) -> (Option<Tid>, usize) {
        (self.event(id).thread(), self.event(id).index)
    }
}

/// A graph without the order in which it was built; see [`ExecutionGraph::canonical`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Canonical {
    threads: Vec<Vec<Description>>,
    writes: Vec<Vec<(Option<Tid>, usize)>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Description {
    pc: Option<Pc>,
    label: Label,
    source: Option<(Option<Tid>, usize)>,
    dependencies: Vec<(Option<Tid>, usize)>,
}
