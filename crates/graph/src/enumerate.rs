//! All RC11-consistent graphs of a program, by brute force; for RC20, pass [`Program::rc20`].
//!
//! A depth-first search from the empty graph adds one event at a time: any thread that can step does,
//! a read takes any write to its location, a write any place in modification order. Consistency
//! is closed under prefixes (Prop. A.5): taking away an event that nothing follows in po ∪ rf leaves a
//! consistent graph. So every consistent graph is reached through consistent ones, and an
//! inconsistent graph is dropped at once. Different interleavings build the same graph; each is
//! visited once.
//!
//! One reduction: while some thread is at a step that involves no other thread (assignments, fences,
//! control), only that step is taken. Its event has no effect on what others may read or write and
//! can be added at any time (all edges of a thread's last event to other `sc` events lead into it, so
//! it closes no cycle of them). So what is left out are graphs that lack it; they are prefixes of
//! visited ones, and every cycle or race of theirs is in those too.
//!
//! Programs with loops have infinitely many graphs. [`Limits::unroll`] says how often a thread may
//! come to one instruction; where that, or [`Limits::graphs`], cut something off, the result is marked
//! `bounded`.

use super::axioms::is_consistent;
use super::event::{EventId, ExecutionGraph};
use super::outcome::FinalState;
use super::run::{Execution, Next, Status};
use ir::{Loc, Program, Reg, Tid, Value};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// How far to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How often a thread may come to one instruction.
    pub unroll: u32,
    /// How many graphs may be visited.
    pub graphs: usize,
}

impl Default for Limits {
    /// Loops go round at most three times, and a litmus test fits into memory.
    fn default() -> Self {
        Limits { unroll: 3, graphs: 1_000_000 }
    }
}

/// What an enumeration saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enumeration {
    /// How many graphs were visited.
    pub graphs: usize,
    /// Did a limit cut something off?
    pub bounded: bool,
}

/// Visits every RC11-consistent graph that the program generates (Def. 3.11), unfinished executions
/// included, with the state its threads are in, until the visitor breaks.
pub fn enumerate(
    program: &Program,
    limits: &Limits,
    visit: &mut dyn FnMut(&ExecutionGraph, &FinalState) -> ControlFlow<()>,
) -> Enumeration {
    enumerate_consistent(program, limits, &is_consistent, visit)
}

/// The same for the graphs that `consistent` accepts. It must be closed under prefixes and must not
/// care when fences and control events are added.
pub fn enumerate_consistent(
    program: &Program,
    limits: &Limits,
    consistent: &dyn Fn(&ExecutionGraph) -> bool,
    visit: &mut dyn FnMut(&ExecutionGraph, &FinalState) -> ControlFlow<()>,
) -> Enumeration {
    let mut seen = Seen::new(limits);
    let mut open = Vec::new();
    open.extend(seen.admit(Execution::initial(program), &[]));
    while let Some(execution) = open.pop() {
        if visit(&execution.graph, &FinalState::of(&execution, program)).is_break() {
            break;
        }
        for next in successors(program, &execution, consistent) {
            open.extend(seen.admit(next, &[]));
        }
    }
    Enumeration { graphs: seen.keys.len(), bounded: seen.bounded }
}

fn successors(
    program: &Program,
    execution: &Execution,
    consistent: &dyn Fn(&ExecutionGraph) -> bool,
) -> Vec<Execution> {
    if let Some(tid) = locally_enabled(program, execution) {
        return execution.local_steps(program, tid);
    }
    let mut result = Vec::new();
    for tid in program.tids() {
        let Next::Access(access) = execution.next(program, tid) else { continue };
        let writes = execution.graph.writes_to(access.loc).iter();
        let candidates = writes.filter_map(|&write| execution.access(program, tid, write));
        result.extend(candidates.filter(|next| consistent(&next.graph)));
    }
    result
}

/// A thread whose next step involves no other thread.
pub(super) fn locally_enabled(program: &Program, execution: &Execution) -> Option<Tid> {
    program
        .tids()
        .find(|&tid| matches!(execution.next(program, tid), Next::Silent | Next::Local(_)))
}

/// What a search has seen and how far it may go.
pub(super) struct Seen {
    limits: Limits,
    keys: HashSet<Box<[u32]>>,
    /// Did a limit cut something off?
    pub(super) bounded: bool,
}

impl Seen {
    pub(super) fn new(limits: &Limits) -> Self {
        Seen { limits: *limits, keys: HashSet::new(), bounded: false }
    }

    /// The execution, if it is new and within limits. `marked` are events that tell it apart from
    /// others with the same graph.
    pub(super) fn admit(
        &mut self,
        mut execution: Execution,
        marked: &[EventId],
    ) -> Option<Execution> {
        for thread in &mut execution.threads {
            if thread.status == Status::Running && thread.visits() > self.limits.unroll {
                thread.status = Status::Cut;
                self.bounded = true;
            }
        }
        let key = key(&execution, marked);
        if self.keys.contains(&key) {
            return None;
        }
        if self.keys.len() >= self.limits.graphs {
            self.bounded = true;
            return None;
        }
        self.keys.insert(key);
        Some(execution)
    }
}

/// The same for two executions iff they have the same graph, up to the order in which events were
/// added, and the same thread states.
fn key(execution: &Execution, marked: &[EventId]) -> Box<[u32]> {
    let mut key = Key { graph: &execution.graph, words: Vec::new() };
    for (state, tid) in execution.threads.iter().zip((0..).map(Tid)) {
        key.words.extend([state.pc.0, u32::from(state.phase), state.visits()]);
        key.words.push(u32::from(state.status == Status::Running));
        for (reg, &value) in state.registers.iter().enumerate() {
            key.value(value);
            key.places(state.came_from(Reg::from(reg)));
        }
        key.events(tid);
    }
    for loc in (0..execution.graph.location_count()).map(Loc::from) {
        key.places(execution.graph.writes_to(loc));
    }
    let mut marked = marked.to_vec();
    marked.sort_unstable_by_key(|&id| execution.graph.place(id));
    key.places(&marked);
    key.words.into_boxed_slice()
}

struct Key<'a> {
    graph: &'a ExecutionGraph,
    words: Vec<u32>,
}

impl Key<'_> {
    /// A thread's events. An event's step, location and value written, and the write it reads from, say
    /// what its label is.
    fn events(&mut self, tid: Tid) {
        let events = self.graph.thread_events(tid);
        self.words.push(events.len() as u32);
        for &id in events {
            let event = self.graph.event(id);
            self.words.extend(event.step.map(|(_, pc)| pc.0));
            self.words.push(event.label.loc().map_or(0, |loc| loc.0 + 1));
            self.words.push(u32::from(event.label.writes()));
            event.label.value_written().into_iter().for_each(|value| self.value(value));
            self.places(self.graph.source(id).as_slice());
            self.places(self.graph.dependencies(id));
        }
    }

    fn value(&mut self, value: Value) {
        self.words.extend([value as u32, (value >> 32) as u32]);
    }

    fn places(&mut self, ids: &[EventId]) {
        self.words.push(ids.len() as u32);
        for &id in ids {
            let (tid, index) = self.graph.place(id);
            self.words.push(tid.map_or(0, |tid| tid.0 + 1));
            self.words.push(index as u32);
        }
    }
}
