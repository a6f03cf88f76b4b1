//! RC11 itself: threads that read stale writes, and writes that are placed before others.
//!
//! The monitors ([`crate::rc20`]) decide on interleavings whether weak memory shows. This memory is the weak memory:
//! its runs are the executions that RC11 allows (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI 2017), one event after
//! the other, in any order that respects program order and reads-from. RC20 and RA are the same memory on programs
//! read in other words ([`ir::Program::rc20`], [`ir::Program::release_acquire`]).
//!
//! # What is remembered
//!
//! Of each atomic location, the writes that somebody can still read, in modification order. What a thread, or a
//! write, knows of others is a [`Carrier`]: how far it has come in each location's writes, and some more entries.
//! Carriers are joined by taking the larger of each entry. A thread has three:
//!
//! * `current`: what happens before its next event. It neither reads nor writes below that.
//! * `acquired`: what it would be after an acquire fence: the relaxed reads have been made to count.
//! * `released`: what `current` was at the last release fence; relaxed writes carry that.
//!
//! # The rules
//!
//! 1. A read takes a write at or above `current`. Afterwards the thread knows that write; if it acquires, it also
//!    knows what the write carries.
//! 2. A write goes anywhere above `current`, also before writes that exist, but not between a read-modify-write and
//!    the write that it read. A read-modify-write goes right behind what it reads.
//! 3. A releasing write carries `current`, others carry `released`; a read-modify-write also what the write that it
//!    reads carries (release sequences, as in C++20).
//! 4. An acquire fence makes `acquired` current; a release fence makes `current` the released carrier.
//! 5. `sc_order` keeps the order of `sc` events acyclic; an access that would close a cycle is not possible.
//! 6. Up to the first race, happens-before orders the writes to a non-atomic location, so one value is enough. Each
//!    carrier has an entry for the last write and for every thread's last read since; an access that conflicts with
//!    one that is not known races, and is [`Violation::Race`].
//!
//! Claim: the runs are the sequences in which RC11-consistent graphs of the program grow, event by event, up to the
//! first race, and the rules allow an event iff the graph with it is consistent. `view` of a carrier at a location x
//! is the last write w to x with w; rf?; hb? there. Coherence forbids to read or to place a write below it, and nothing
//! else; atomicity is rule 2; `po ∪ rf` is acyclic because events are added at the end; and `sc_order` says what the last
//! axiom asks. `tests` of the crate `check` compare final states, races and assertions with all graphs. Which rule
//! is needed for what, and which could be left out, is in `docs/proofs/weak-machine.md`.
//!
//! # What is forgotten
//!
//! `normal` drops writes that nobody can read any more, and behind which nobody can place a write: those below what every
//! thread knows that may still access the location. So most loops have finitely many states. Where they do not, a
//! search has to bound how many writes are kept ([`Machine::stale`]).

mod access;
mod layout;
mod normal;
mod sc_order;

pub use sc_order::Node;

use crate::{Attempt, Effect, EffectOn, Memory, Never};
use access::Access;
use ir::expr::{Fault, Notes};
use ir::ids::{Loc, Tid, Value};
use ir::mode::{FenceMode, ReadMode, WriteMode, is_sc_update};
use ir::program::Program;
use ir::thread::Action;
use layout::Layout;
use normal::Needs;
use sc_order::Refused;
use smallvec::SmallVec;
use std::sync::Arc;

/// What happens before a point in an execution, as far as it matters.
pub type Carrier = SmallVec<[u8; 24]>;

/// For each thread with `sc` events, the number of one of them; 0 is none.
pub type Clock = SmallVec<[u8; 4]>;

/// How many writes to a location can be told apart.
pub const MOST_WRITES: usize = 200;

/// A write that can still be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// Its value.
    pub value: Value,
    /// Has a read-modify-write read it, so that nothing else can come right behind it?
    pub taken: bool,
    /// What those who acquire it learn.
    pub carried: Carrier,
    /// The `sc` event that it is: the thread's clock entry and the event's number.
    pub node: Option<(u8, u8)>,
    /// What comes before all later writes because of this write, and because of its reads.
    pub left: Left,
    /// The same because of the reads of this write.
    pub readers: Left,
}

/// The `sc` events on the left side of accesses; see `sc_order`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// SC fences that happened before one of the accesses.
    pub fences: Clock,
    /// These, and the accesses themselves.
    pub all: Clock,
}

/// What is known of a location's writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The writes that matter, in modification order; at least one.
    pub writes: Vec<Write>,
    /// The left side of accesses to writes that were dropped.
    pub dropped: Left,
}

/// What is known of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadViews {
    /// What happens before its next event.
    pub current: Carrier,
    /// What would, after an acquire fence.
    pub acquired: Carrier,
    /// What did, at its last release fence.
    pub released: Carrier,
    /// `sc` accesses with `po≠loc; hb` to the last event of the thread at another location than the last one's.
    pub held: Clock,
    /// The location of the last access, plus 1; 0 after a fence.
    pub run: u32,
    /// Its last `sc` access.
    pub own: u8,
}

/// A state of the memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Views {
    /// The threads.
    pub threads: Vec<ThreadViews>,
    /// The locations whose writes are kept.
    pub slots: Vec<Slot>,
    /// The values of the others: non-atomic ones, and those that only one thread accesses.
    pub plain: Vec<Value>,
    /// The `sc` events that matter, per thread that has such events, in program order.
    pub nodes: Vec<Vec<Node>>,
}

impl Views {
    /// All carriers.
    pub(crate) fn carriers_mut(&mut self) -> impl Iterator<Item = &mut Carrier> {
        let of_threads = self
            .threads
            .iter_mut()
            .flat_map(|thread| [&mut thread.current, &mut thread.acquired, &mut thread.released]);
        let writes = self.slots.iter_mut().flat_map(|slot| &mut slot.writes);
        of_threads.chain(writes.map(|write| &mut write.carried))
    }
}

/// What the memory objects to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Violation {
    /// The access races with another.
    Race,
    /// More has to be remembered than there is room for; the step was not done.
    Full,
}

/// RC11 for one program.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Arc<Program>,
    layout: Layout,
    needs: Vec<Vec<Needs>>,
    /// How many stale writes of a location are kept at most.
    stale: usize,
    /// For each slot, do its stale writes count for that? See [`layout::has_few_updates`].
    counts: Vec<bool>,
    /// Does nobody read, or write behind, anything but the newest write?
    newest_only: bool,
}

/// What an access does if it meets the newest write to its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnNewest {
    /// It waits for another value.
    Waits,
    /// It ends in a run-time error.
    Fails,
    /// It reads, and does not change what the location holds.
    Reads(Option<Value>),
    /// It changes what the location holds.
    Changes,
}

impl Machine {
    /// The machine for a program, with at most so many stale writes of a location; `None` if the program has more
    /// threads and locations than it can handle.
    pub fn new(program: &Arc<Program>, stale: usize) -> Option<Self> {
        let layout = Layout::new(program)?;
        let few = layout::has_few_updates(program);
        Some(Machine {
            counts: layout.locations.iter().map(|loc| !few[loc.index()]).collect(),
            layout,
            needs: program
                .threads
                .iter()
                .map(|thread| normal::needs(thread, Loc::from(program.locations.len())))
                .collect(),
            program: Arc::clone(program),
            stale: stale.min(MOST_WRITES - 2),
            newest_only: false,
        })
    }

    /// The machine on which everybody reads the newest write, and writes behind it: its runs are the interleavings of
    /// the program. That is all there is to a robust program.
    pub fn interleaving(program: &Arc<Program>) -> Option<Self> {
        Some(Machine { newest_only: true, ..Machine::new(program, 0)? })
    }

    /// The bound on stale writes; see [`Machine::exceeds`].
    pub fn stale(&self) -> usize {
        self.stale
    }

    /// Has a location more stale writes that can still be read, or written behind, than the bound allows? Locations
    /// with few updates in any execution do not count. The state must be [normal](Machine::normalise).
    pub fn exceeds(&self, views: &Views) -> bool {
        let counted = views.slots.iter().zip(&self.counts).filter(|(_, counts)| **counts);
        counted.map(|(slot, _)| slot).any(|slot| slot.writes.len() > self.stale + 1)
    }

    /// The value of the last write to a location of the program.
    pub fn last_value(&self, views: &Views, loc: Loc) -> Value {
        match self.layout.slots[loc.index()] {
            Some(slot) => views.slots[slot].writes.last().map_or(0, |write| write.value),
            None => views.plain[loc.index()],
        }
    }

    /// An action as an access to a location, if what is read there, or written over, has this value; `None` if the
    /// access waits for another.
    fn access(
        &self,
        action: &Action,
        value: Value,
        notes: &mut Notes,
    ) -> Option<(Access, Option<Fault>)> {
        let read =
            |mode: ReadMode| Access { read: Some(mode), write: None, sc: mode == ReadMode::Sc };
        let update = |read: ReadMode, write: WriteMode, value: Value| Access {
            read: Some(read),
            write: Some((value, write)),
            sc: is_sc_update(read, write),
        };
        let access = match action {
            Action::Read { mode, .. } => read(*mode),
            Action::Write { value, mode, .. } => {
                Access { read: None, write: Some((*value, *mode)), sc: *mode == WriteMode::Sc }
            }
            Action::Update { change, read: mode, write, .. } => {
                match change.apply(value, self.program.domain, notes) {
                    Ok(written) => update(*mode, *write, written),
                    Err(fault) => return Some((read(*mode), Some(fault))),
                }
            }
            Action::Cas { expected, desired, read: mode, write, fail, .. } => {
                match value == *expected {
                    true => update(*mode, *write, *desired),
                    false => read(*fail),
                }
            }
            Action::BlockingCas { expected, desired, read: mode, write, .. } => {
                if value != *expected {
                    return None;
                }
                update(*mode, *write, *desired)
            }
            Action::Wait { values, mode, .. } => {
                if !values.contains(&value) {
                    return None;
                }
                read(*mode)
            }
            Action::Fence(mode) if mode.updates() => update(ReadMode::Acq, WriteMode::Rel, value),
            _ => return None,
        };
        Some((access, None))
    }

    /// The location that an action accesses: a fence that updates accesses a hidden one.
    pub fn location(&self, action: &Action) -> Option<Loc> {
        match action {
            Action::Fence(mode) if mode.updates() => Some(Loc::from(self.program.locations.len())),
            _ => action.loc(),
        }
    }

    /// How many positions SC fences remember, of two kinds; see [`Node::seen`].
    pub fn seen_by_fences(&self) -> (usize, usize) {
        (self.layout.view.len(), self.layout.written.len())
    }

    /// How many newer writes to its location there are than the one that the action reads, or goes behind.
    pub fn newer(&self, views: &Views, action: &Action, position: usize) -> u8 {
        let slot = self.location(action).and_then(|loc| self.layout.slots[loc.index()]);
        slot.map_or(0, |slot| (views.slots[slot].writes.len() - 1 - position) as u8)
    }

    /// Would the newest write to the location let the action go on?
    pub fn passes_last(&self, views: &Views, action: &Action) -> bool {
        self.on_newest(views, action) != OnNewest::Waits
    }

    /// What the action does if it meets the newest write to its location.
    pub fn on_newest(&self, views: &Views, action: &Action) -> OnNewest {
        let Some(loc) = self.location(action) else { return OnNewest::Reads(None) };
        let value = self.last_value(views, loc);
        match self.access(action, value, &mut Notes::default()) {
            None => OnNewest::Waits,
            Some((_, Some(_))) => OnNewest::Fails,
            Some((Access { write: Some((written, _)), .. }, _)) if written != value => {
                OnNewest::Changes
            }
            Some((access, _)) => OnNewest::Reads(access.read.map(|_| value)),
        }
    }
}

impl Memory for Machine {
    type State = Views;
    type Violation = Violation;
    /// The position, among the writes that are kept, of the write that is read or written behind.
    type Way = usize;
    type Own = Never;
    /// How many newer writes to the location there were.
    type Seen = u8;

    fn initial(&self) -> Views {
        let (nothing, no_events) = (self.layout.nothing(), self.layout.no_events());
        let left = Left { fences: no_events.clone(), all: no_events.clone() };
        let values = || self.program.locations.iter().map(|loc| loc.initial).chain([0]);
        let initial: Vec<Value> = values().collect();
        let slot = |loc: &Loc| Slot {
            writes: vec![Write {
                value: initial[loc.index()],
                taken: false,
                carried: nothing.clone(),
                node: None,
                left: left.clone(),
                readers: left.clone(),
            }],
            dropped: left.clone(),
        };
        let thread = ThreadViews {
            current: nothing.clone(),
            acquired: nothing.clone(),
            released: nothing.clone(),
            held: no_events,
            run: 0,
            own: 0,
        };
        Views {
            threads: vec![thread; self.program.threads.len()],
            slots: self.layout.locations.iter().map(slot).collect(),
            plain: values().collect(),
            nodes: vec![Vec::new(); self.layout.clock],
        }
    }

    fn ways(&self, views: &Views, tid: Tid, action: &Action, mut each: impl FnMut(usize)) {
        let Some(loc) = self.location(action) else { return each(0) };
        let mut notes = Notes::default();
        let Some(slot) = self.layout.slots[loc.index()] else {
            if self.access(action, views.plain[loc.index()], &mut notes).is_some() {
                each(0);
            }
            return;
        };
        let known = match self.newest_only {
            true => views.slots[slot].writes.len() as u8 - 1,
            false => views.threads[tid.index()].current[self.layout.view.start + slot],
        };
        for (position, write) in views.slots[slot].writes.iter().enumerate().skip(known as usize) {
            let access = self.access(action, write.value, &mut notes);
            // A read-modify-write whose result is an error writes nothing, but must have been able to.
            let is_free = |(access, fault): (Access, Option<Fault>)| {
                !write.taken || access.write.is_none() && fault.is_none()
            };
            if access.is_some_and(is_free) {
                each(position);
            }
        }
    }

    fn step(
        &self,
        views: &mut Views,
        Attempt { tid, action, .. }: Attempt<'_>,
        position: usize,
        notes: &mut Notes,
    ) -> Result<EffectOn<Self>, Fault> {
        if let Action::Fence(mode) = action
            && !mode.updates()
        {
            return Ok(match self.fence(views, tid, *mode) {
                Ok(()) => Effect::Done(None, 0),
                Err(_) => Effect::Wrong(Violation::Full, None, 0),
            });
        }
        let Some(loc) = self.location(action) else { return Ok(Effect::Done(None, 0)) };
        let (value, newer) = match self.layout.slots[loc.index()] {
            Some(slot) => {
                let writes = &views.slots[slot].writes;
                (writes[position].value, (writes.len() - 1 - position) as u8)
            }
            None => (views.plain[loc.index()], 0),
        };
        let Some((access, fault)) = self.access(action, value, notes) else {
            return Ok(Effect::Blocked);
        };
        let both = matches!(action, Action::Fence(FenceMode::ScUpd));
        if both {
            let _ = self.fence(views, tid, FenceMode::Acq);
        }
        let read = access.read.map(|_| value);
        let result = match self.layout.slots[loc.index()] {
            Some(slot) => self.access_slot(views, tid, slot, position, access),
            None => {
                if self.access_plain(views, tid, loc, access) {
                    return Ok(Effect::Wrong(Violation::Race, read, 0));
                }
                Ok(())
            }
        };
        if both {
            let _ = self.fence(views, tid, FenceMode::Rel);
        }
        match (result, fault) {
            (Ok(()), None) => Ok(Effect::Done(read.filter(|_| !both), newer)),
            (Ok(()), Some(fault)) => Err(fault),
            (Err(Refused::Cycle), _) => Ok(Effect::Blocked),
            (Err(Refused::Full), _) => Ok(Effect::Wrong(Violation::Full, None, newer)),
        }
    }

    fn own_step(&self, _: &mut Views, own: Never) -> Option<u8> {
        match own {}
    }

    fn fence_location(&self) -> Option<Loc> {
        Some(Loc::from(self.program.locations.len()))
    }
}
