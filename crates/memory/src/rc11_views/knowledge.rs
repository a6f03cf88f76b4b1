//! pRC11 to the letter (Fig. 4 of the paper): an execution graph and what each thread knows of it.
//!
//! Every event, a memory access or a marker, *propagates* to the other threads one by one, for every
//! space on its own, at any time later. An access may follow only a write that nothing known
//! overwrote; an acquire read demands that what it reads from is known; and a releasing write or a
//! marker becomes known only after all that happens before it. All of that is a step here, so there
//! are very many states. This machine is for small programs and for comparing others with it.
//!
//! An event is named by its thread and position, so that equal executions are equal states whatever
//! the order in which they came about. Initial writes are known to all and are no events here.
//!
//! What is left out: the propagation of a *read* to a space other than its location's. No rule ever
//! looks at it.

use super::local::{Effect, Local, Want};
use super::polling::Polling;
use super::{Label, Reach, Space, Status, System};
use ir::ids::{Loc, Tid, Value};
use ir::mode::{ReadMode, WriteMode};
use ir::program::Program;

/// How many events of one thread fit a set of events.
const EVENTS: usize = 16;
/// How many threads do.
const THREADS: usize = 4;

/// An event: thread × [`EVENTS`] + position.
type Id = u8;
/// A set of events.
type Set = u64;

/// A write in modification order; `None` is the initial one.
type Write = Option<Id>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Event {
    Mark,
    Access { loc: Loc, read: Option<(Write, ReadMode)>, write: Option<(Value, WriteMode)> },
}

/// A state: the threads, the graph G and the knowledge K.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The threads' local states.
    pub locals: Vec<Local>,
    /// The events of each thread in program order.
    events: Vec<Vec<Event>>,
    /// The writes to each location in modification order.
    order: Vec<Vec<Write>>,
    /// K(τ)(X).
    known: Vec<Vec<Set>>,
}

/// The program under the literal pRC11.
pub struct Machine<'s> {
    system: &'s System,
    has_marks: bool,
}

impl<'s> Machine<'s> {
    /// The machine for a small program; `None` if it has too many threads. Whoever explores it makes
    /// sure that no thread has more than 16 events.
    pub fn new(system: &'s System) -> Option<Self> {
        let has_marks =
            system.program.steps().any(|(_, _, s)| matches!(s.instr, ir::Instr::Mark(_)));
        (system.program.threads.len() <= THREADS).then_some(Machine { system, has_marks })
    }

    fn program(&self) -> &Program {
        &self.system.program
    }

    /// Nothing happened yet.
    pub fn initial(&self) -> State {
        let threads = self.program().threads.len();
        State {
            locals: self.program().tids().map(|tid| Local::start(self.program(), tid)).collect(),
            events: vec![Vec::new(); threads],
            order: vec![vec![None]; self.program().locations.len()],
            known: vec![vec![0; self.system.spaces]; threads],
        }
    }

    /// Hands every step from `state` to `sink`: its label, if it is part of histories, and where it
    /// leads.
    pub fn steps(&self, state: &State, mut sink: impl FnMut(Option<Label>, State)) {
        for tid in self.program().tids() {
            if state.locals[tid.index()].status == Status::Running {
                for local in
                    state.locals[tid.index()].resolved(self.program(), tid, &Polling::default())
                {
                    self.thread_steps(state, tid, local, &mut sink);
                }
            }
            self.propagations(state, tid, &mut sink);
        }
    }

    fn thread_steps(
        &self,
        state: &State,
        tid: Tid,
        mut local: Local,
        sink: &mut impl FnMut(Option<Label>, State),
    ) {
        let mut stop = |mut local: Local, status| {
            local.status = status;
            let mut next = state.clone();
            next.locals[tid.index()] = local;
            sink(None, next);
        };
        if local.status != Status::Running {
            let status = local.status;
            return stop(local, status);
        }
        let action = match local.want(self.program(), tid) {
            Err(fault) => return stop(local, Status::Faulted(fault)),
            Ok(Want::Mark(label)) => {
                let mut next = state.clone();
                next.add(tid, Event::Mark);
                local.pass(self.program(), tid, None, &Polling::default());
                local.run_local(self.program(), tid, &Polling::default());
                next.locals[tid.index()] = local;
                return sink(Some(label), next);
            }
            Ok(Want::Access(action)) => action,
        };
        let Some(loc) = action.loc() else { return };
        let space = self.system.space(loc);
        for (position, &write) in state.order[loc.index()].iter().enumerate() {
            let value = self.value(state, loc, write);
            let Some(effect) = Effect::of(&action, value, self.program()) else { continue };
            if state.is_overwritten(loc, position, state.known[tid.index()][space.0 as usize])
                || effect.write.is_some() && state.is_taken(loc, write)
                || !self.may_acquire(state, tid, space, write, effect.read)
            {
                continue;
            }
            let read = effect.read.map(|mode| (write, mode));
            let mut next = state.clone();
            let event = next.add(tid, Event::Access { loc, read, write: effect.write });
            if effect.write.is_some() {
                next.order[loc.index()].insert(position + 1, Some(event));
            }
            let mut after = local.clone();
            match effect.fault {
                Some(fault) => after.status = Status::Faulted(fault),
                None => {
                    let read = effect.read.map(|_| value);
                    after.pass(self.program(), tid, read, &Polling::default());
                    after.run_local(self.program(), tid, &Polling::default());
                }
            }
            next.locals[tid.index()] = after;
            sink(None, next);
        }
    }

    /// An acquire read demands that what it reads from, and the release sequence before it, is known.
    fn may_acquire(
        &self,
        state: &State,
        tid: Tid,
        own: Space,
        write: Write,
        mode: Option<ReadMode>,
    ) -> bool {
        let Some(reach) = mode.map(Reach::of_read) else { return true };
        let sequence = state.release_sequence(write);
        self.spaces()
            .filter(|&space| reach.covers(own, space))
            .all(|space| sequence & !state.known[tid.index()][space.0 as usize] == 0)
    }

    fn propagations(&self, state: &State, to: Tid, sink: &mut impl FnMut(Option<Label>, State)) {
        if !self.has_marks && state.locals[to.index()].status != Status::Running {
            return; // nothing it knows matters any more
        }
        for space in self.spaces() {
            let known = state.known[to.index()][space.0 as usize];
            for id in state.ids() {
                if known >> id & 1 == 1 || id as usize / EVENTS == to.index() {
                    continue;
                }
                let needs_past = match state.event(id) {
                    Event::Mark => true,
                    Event::Access { loc, write, .. } => {
                        let own = self.system.space(*loc);
                        if write.is_none() && own != space {
                            continue;
                        }
                        write.is_some_and(|(_, mode)| Reach::of_write(mode).covers(own, space))
                    }
                };
                if needs_past {
                    let past = self.happens_before(state, id, space);
                    if past & self.relevant(state, space) & !known != 0 {
                        continue;
                    }
                }
                let mut next = state.clone();
                next.known[to.index()][space.0 as usize] |= 1 << id;
                let label = match state.event(id) {
                    Event::Mark => {
                        let from = Tid::from(id as usize / EVENTS);
                        Some(Label::Propagate { from, to, space })
                    }
                    Event::Access { .. } => None,
                };
                sink(label, next);
            }
        }
    }

    /// E_X ∪ CR: the accesses of a space, and all markers.
    fn relevant(&self, state: &State, space: Space) -> Set {
        state.select(|event| match event {
            Event::Mark => true,
            Event::Access { loc, .. } => self.system.space(*loc) == space,
        })
    }

    /// dom(hb_X ; [e]), with hb_X = (po ∪ sw_base ∪ sw_X)⁺.
    fn happens_before(&self, state: &State, id: Id, space: Space) -> Set {
        let mut past = 0;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let first = id as usize / EVENTS * EVENTS;
            let earlier = (first as Id..id).fold(0, |set, e| set | 1 << e);
            let new = (earlier | self.synchronises(state, id, space)) & !past;
            past |= new;
            open.extend(members(new));
        }
        past
    }

    /// The releasing writes that the event synchronises with, for this space.
    fn synchronises(&self, state: &State, id: Id, space: Space) -> Set {
        let Event::Access { loc, read: Some((source, mode)), .. } = state.event(id) else {
            return 0;
        };
        let own = self.system.space(*loc);
        if !Reach::of_read(*mode).covers(own, space) {
            return 0;
        }
        let sequence = state.release_sequence(*source);
        sequence
            & state.select(|event| match event {
                Event::Access { write: Some((_, mode)), .. } => {
                    Reach::of_write(*mode).covers(own, space)
                }
                _ => false,
            })
    }

    fn spaces(&self) -> impl Iterator<Item = Space> + use<> {
        (0..self.system.spaces as u8).map(Space)
    }

    fn value(&self, state: &State, loc: Loc, write: Write) -> Value {
        match write.map(|id| state.event(id)) {
            Some(Event::Access { write: Some((value, _)), .. }) => *value,
            _ => self.program().locations[loc.index()].initial,
        }
    }

    /// The value of the last write to every location.
    pub fn memory(&self, state: &State) -> Vec<Value> {
        let last = |order: &Vec<Write>| order.last().copied().flatten();
        let orders = state.order.iter().enumerate();
        orders.map(|(loc, order)| self.value(state, Loc::from(loc), last(order))).collect()
    }

    /// Is there a race: conflicting accesses, one of them non-atomic, that the happens-before of
    /// their space leaves unordered?
    pub fn is_racy(&self, state: &State) -> bool {
        let ids = || state.ids();
        ids().any(|a| ids().any(|b| a < b && self.race(state, a, b)))
    }

    fn race(&self, state: &State, a: Id, b: Id) -> bool {
        let access = |id| match state.event(id) {
            Event::Access { loc, read, write } => {
                let plain = matches!(read, Some((_, ReadMode::Na)))
                    || matches!(write, Some((_, WriteMode::Na)));
                Some((*loc, write.is_some(), plain))
            }
            Event::Mark => None,
        };
        let (Some((x, writes_x, plain_x)), Some((y, writes_y, plain_y))) = (access(a), access(b))
        else {
            return false;
        };
        let space = self.system.space(x);
        x == y
            && (writes_x || writes_y)
            && (plain_x || plain_y)
            && self.happens_before(state, a, space) >> b & 1 == 0
            && self.happens_before(state, b, space) >> a & 1 == 0
    }
}

impl State {
    /// Adds an event, which its own thread knows for all spaces.
    fn add(&mut self, tid: Tid, event: Event) -> Id {
        let events = &mut self.events[tid.index()];
        assert!(events.len() < EVENTS, "the literal machine is for small programs");
        let id = (tid.index() * EVENTS + events.len()) as Id;
        events.push(event);
        self.known[tid.index()].iter_mut().for_each(|known| *known |= 1 << id);
        id
    }

    fn event(&self, id: Id) -> &Event {
        &self.events[id as usize / EVENTS][id as usize % EVENTS]
    }

    fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        let threads = self.events.iter().enumerate();
        threads.flat_map(|(t, events)| (0..events.len()).map(move |k| (t * EVENTS + k) as Id))
    }

    fn select(&self, test: impl Fn(&Event) -> bool) -> Set {
        self.ids().filter(|&id| test(self.event(id))).fold(0, |set, id| set | 1 << id)
    }

    /// w ∈ dom(mo ; rf? ; [K]): is something known that overwrote it, or read from what did?
    fn is_overwritten(&self, loc: Loc, position: usize, known: Set) -> bool {
        let later = &self.order[loc.index()][position + 1..];
        let reads_later = |id| match self.event(id) {
            Event::Access { loc: at, read: Some((source, _)), .. } => {
                *at == loc && later.contains(source)
            }
            _ => false,
        };
        later.iter().flatten().any(|&w| known >> w & 1 == 1) || members(known).any(reads_later)
    }

    /// w ∈ dom(rf ; [RMW]).
    fn is_taken(&self, loc: Loc, write: Write) -> bool {
        self.ids().any(|id| {
            matches!(self.event(id), Event::Access { loc: at, read: Some((source, _)), write: Some(_) }
                if *at == loc && *source == write)
        })
    }

    /// dom(rf* ; [w]): the write and, if it is a read-modify-write, what it reads from, and so on.
    fn release_sequence(&self, mut write: Write) -> Set {
        let mut sequence = 0;
        while let Some(id) = write {
            sequence |= 1 << id;
            write = match self.event(id) {
                Event::Access { read: Some((source, _)), .. } => *source,
                _ => None,
            };
        }
        sequence
    }
}

fn members(set: Set) -> impl Iterator<Item = Id> {
    (0..64).filter(move |id| set >> id & 1 == 1)
}
