//! RC11 with visible propagation of knowledge, for checking libraries (Singh and Lahav, POPL 2023).
//!
//! Variables live in *spaces*; a library has one of its own. Beside release and acquire there are
//! *partial* modes `prel` and `pacq`, which synchronise the variables of the access's own space only:
//! a library may keep its house in order without its clients being able to rely on it. What a client
//! can tell about a library is its *history*: calls, returns, and when the markers of calls and
//! returns *propagate* from thread to thread. Without the last, two libraries with the same calls and
//! returns may still be told apart by what a client's own variables show (example 2.1 of the paper).
//!
//! [`knowledge`] is the paper's machine to the letter (Fig. 4): an execution graph and, for every
//! thread and space, the set of events that have reached it. It is slow, and the oracle for
//! [`Machine`], which the search explores: the same with views instead of sets of events, finite once
//! the number of markers on their way is bounded. `tests/prc11.rs` compares the two, and the
//! declarative model (`graph::drc11`) with both, on thousands of random programs.
//!
//! # The machine with views
//!
//! What a thread knows of the memory only ever restricts it, except where an acquire read or the
//! propagation of a marker demands knowledge. So memory events need not propagate on their own: they
//! do as part of those two steps. What is left of the execution graph is, for every location, the
//! writes that somebody can still read, in modification order; and of a set of events only how far
//! it reaches, a `Frontier`: a position in each location's writes, and for every space and thread
//! how many of the thread's markers it contains (they propagate in order). A thread has two:
//!
//! * `known`: all that has reached it. It must not read or write below that.
//! * `before`: all that happens before its next step. That is what its releasing writes and its
//!   markers take along. It is less than what is known: a marker that has propagated to a thread
//!   constrains what that thread may read, but does not happen before anything it does.
//!
//! The rules:
//!
//! * A read picks a write at or above `known`; a write goes behind one, a read-modify-write behind
//!   the one it reads from, and not where a read-modify-write has already taken the place.
//! * A releasing write carries its thread's `before`: `rel` for all spaces, `prel` for its own; a
//!   read-modify-write also what the write it reads from carries (release sequences).
//! * An acquire read waits until the markers that the write carries have propagated, then adds what
//!   it carries to both frontiers: `acq` for all spaces, `pacq` for its own.
//! * A call or return leaves a marker that carries `before`. It may propagate, for one thread and
//!   space, when the markers it carries have; then what it carries is known there.
//! * A thread with [`Options::pending`] markers on their way to some thread waits before its next.
//!
//! Happens-before orders non-atomic accesses too, so races are found on the way: for every
//! non-atomic location each frontier of the second kind also says whether it contains the last write
//! and every thread's last read. Up to the first race no more is needed.
//!
//! `normal` removes what can no longer matter, so that states with equal futures are equal, with the
//! help of three modules: `local_states` knows which thread accesses what, `future` knows where
//! locations can still be accessed, and `dead_values` knows whose values no thread can use.
//! `late_reads` leaves out interleavings that make no difference. `simulation` knows of some states
//! that they can do all that others can. `on_demand` is another way to explore, in which markers
//! propagate only when something needs it.

mod access;
mod dead_values;
mod future;
pub mod knowledge;
mod late_reads;
mod local;
mod local_states;
mod markers;
mod memory;
mod normal;
mod on_demand;
mod pack;
mod polling;
mod simulation;
mod step;
mod system;

pub use ir::ids::Space;
pub use local::{Local, Status};
pub use memory::Race;
pub use on_demand::Propagation;
pub use system::{Label, System};

use crate::{Attempt, Memory};
use analysis::liveness::live_registers;
use dead_values::DeadValues;
use future::Future;
use ir::OneOf;
use ir::expr::Notes;
use ir::ids::{Loc, Pc, RegSet, Tid, Value};
use ir::program::LocationKind;
use local::{Effect, Want};
use local_states::{Graph, Usage};
pub use markers::{Arrival, Arrivals};
use polling::Polling;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use step::Prelude;
pub use step::{Finding, Reads, Step, Stores};
use system::Reach;

/// How far a set of events reaches: for every location a position among its live writes, then for
/// every space and thread a number of markers.
#[derive(PartialEq, Eq, Debug)]
struct Frontier(SmallVec<[u8; 24]>);

impl Frontier {
    fn nothing(width: usize) -> Self {
        Frontier(SmallVec::from_elem(0, width))
    }
}

impl Clone for Frontier {
    /// In one go; a derived one would go entry by entry, and states are cloned all the time.
    #[inline(always)]
    fn clone(&self) -> Self {
        Frontier(SmallVec::from_slice(&self.0))
    }
}

impl std::ops::Deref for Frontier {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::DerefMut for Frontier {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Non-atomic accesses that a set of events contains: for every non-atomic location, is the last
/// write among them, and the last read of each thread?
type Awareness = u128;

/// How many writes to a location can be told apart at most. A location with more is one that some thread
/// writes over and over while another looks away for good.
pub const MOST_WRITES: u8 = 200;
/// How many stores a thread does in one go.
const EAGER_STORES: usize = 16;

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many markers may be on their way from one thread to another.
    pub pending: u8,
    /// Keep registers that nothing reads any more, for looking at final states.
    pub keep_registers: bool,
    /// Leave out what makes no difference to histories: values that nobody can use (`unused`), unless
    /// final states are to be looked at; steps, see `super::polling`; reads of a
    /// newer write where an older one of the same value would do; reads that might as well come
    /// later (`late`), unless final states are to be looked at; and store to locations that no
    /// other thread writes as soon as the thread gets there. That write commutes with all that
    /// others do: it has one place to go, it carries what only its own thread's steps change, and it
    /// takes nothing away from anybody.
    pub reduce: bool,
    /// Drop writes that no thread's code can access any more (`future`). Nobody can do more or less for
    /// it, but for some programs it makes states finite in number.
    pub tidy: bool,
    /// Inside methods, choices are steps of their own, so that there are states in which they have been made and nothing
    /// else was done; those of [`ir::one_of`] aside, which are not made before what they lead to.
    pub choices: bool,
    /// When markers propagate.
    pub propagation: Propagation,
    /// How many writes to a location are kept, at most [`MOST_WRITES`]; a thread that would add one more
    /// stops.
    pub writes: u8,
}

impl Default for Options {
    fn default() -> Self {
        let propagation = Propagation::AnyTime;
        let (pending, writes) = (2, MOST_WRITES);
        Options {
            pending,
            keep_registers: false,
            reduce: true,
            tidy: true,
            choices: false,
            propagation,
            writes,
        }
    }
}

/// A write that can still be read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Write {
    value: Value,
    /// Has a read-modify-write read it, so that nothing else can come directly after it?
    taken: bool,
    /// What it releases; all 0 if nothing.
    carried: Frontier,
    aware: Awareness,
}

/// A state of program and memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// The threads' local states.
    pub locals: Vec<Local>,
    /// The memory.
    pub views: Views,
}

/// What the memory remembers: writes that can still be read, and how far each thread has come in them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Views {
    known: Vec<Frontier>,
    before: Vec<Frontier>,
    aware: Vec<Awareness>,
    /// The writes to each location that matter, in modification order.
    writes: Vec<Vec<Write>>,
    /// The markers of each thread that have not yet propagated everywhere, each with what it
    /// carries.
    markers: Vec<Vec<Frontier>>,
}

/// A program under pRC11.
pub struct Machine {
    system: System,
    options: Options,
    threads: usize,
    locations: usize,
    /// For every space, which entries of a frontier belong to it.
    entries: Vec<Vec<usize>>,
    /// Which threads access a location, as bits, and which write it.
    accessors: Vec<u32>,
    writers: Vec<u32>,
    /// Is it read other than by read-modify-writes that always write?
    plain_reads: Vec<bool>,
    /// Is it updated by read-modify-writes?
    updated: Vec<bool>,
    /// The first bit of a non-atomic location in an [`Awareness`].
    bit_of: Vec<Option<u32>>,
    /// The bits of each space's locations.
    bits_of_space: Vec<Awareness>,
    /// All bits in use.
    all_bits: Awareness,
    live: Vec<Vec<RegSet>>,
    polling: Vec<Polling>,
    /// Where choices are steps, those that are none.
    choices: Option<OneOf>,
    unused: DeadValues,
    /// What threads may still do with locations; `None` if that is not known.
    future: Option<Future>,
    /// For every thread and program counter, is it inside a method?
    inside: Vec<Vec<bool>>,
    is_synchronised: bool,
    /// For every thread and program counter, has a result wrapped around there?
    wrapped: Vec<Vec<AtomicBool>>,
}

impl Machine {
    /// The machine; `None` if the program has more threads or locations than it can handle (32
    /// threads, 200 entries of a frontier, 128 bits for non-atomic locations).
    pub fn new(system: System, options: Options) -> Option<Self> {
        let program = &system.program;
        let (threads, locations) = (program.threads.len(), program.locations.len());
        let mut bit_of = vec![None; locations];
        let mut bits_of_space = vec![0; system.spaces];
        let mut used = 0;
        for (loc, location) in program.locations.iter().enumerate() {
            if location.kind == LocationKind::NonAtomic {
                let width = threads as u32 + 1;
                if used + width > Awareness::BITS {
                    return None;
                }
                bit_of[loc] = Some(used);
                bits_of_space[system.space_of[loc].0 as usize] |= ones(width) << used;
                used += width;
            }
        }
        if threads > 32 || locations + system.spaces * threads > 200 {
            return None;
        }
        let entries = (0..system.spaces)
            .map(|space| {
                let own = (0..locations).filter(|&loc| system.space_of[loc].0 as usize == space);
                own.chain((0..threads).map(|t| locations + space * threads + t)).collect()
            })
            .collect();
        let live: Vec<Vec<RegSet>> = program
            .threads
            .iter()
            .map(|thread| match options.keep_registers {
                true => vec![RegSet(u64::MAX); thread.code.len()],
                false => live_registers(thread),
            })
            .collect();
        let polling = |thread| match options.reduce {
            true => Polling::of(program, thread),
            false => Polling::default(),
        };
        let polling: Vec<Polling> = program.threads.iter().map(polling).collect();
        let choices = options.choices.then(|| OneOf::of(program));
        let graphs = match options.reduce || options.tidy {
            true => Graph::all(&system, &live, &polling, choices.as_ref()),
            false => None,
        };
        let future = graphs.as_ref().filter(|_| options.tidy);
        let future = future.map(|graphs| Future::new(&system, graphs));
        let graphs = graphs.filter(|_| options.reduce);
        let Usage { accessors, writers, plain_reads, updated } = match &graphs {
            Some(graphs) => Usage::of_graphs(locations, graphs),
            None => Usage::of_program(program),
        };
        let is_synchronised =
            graphs.as_ref().is_some_and(|graphs| on_demand::is_synchronised(&system, graphs));
        let inside = program.threads.iter().map(on_demand::inside).collect();
        let unused = match graphs {
            Some(graphs) if !options.keep_registers => DeadValues::new(&system, &graphs, &writers),
            _ => DeadValues::default(),
        };
        Some(Machine {
            options,
            threads,
            locations,
            entries,
            accessors,
            writers,
            plain_reads,
            updated,
            bit_of,
            bits_of_space,
            all_bits: ones(used),
            live,
            polling,
            choices,
            unused,
            future,
            inside,
            is_synchronised,
            wrapped: system
                .program
                .threads
                .iter()
                .map(|thread| thread.code.iter().map(|_| AtomicBool::new(false)).collect())
                .collect(),
            system,
        })
    }

    /// The program and its spaces.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The steps whose results have wrapped around so far.
    pub fn wrapped(&self) -> Vec<(Tid, Pc)> {
        let steps = self.system.program.steps().map(|(tid, pc, _)| (tid, pc));
        steps.filter(|(tid, pc)| self.wrapped[tid.index()][pc.index()].load(Relaxed)).collect()
    }

    fn note(&self, tid: Tid, pc: Pc) {
        self.wrapped[tid.index()][pc.index()].store(true, Relaxed);
    }

    /// Is a thread between a call and its return?
    pub fn is_inside(&self, state: &State, tid: Tid) -> bool {
        self.inside[tid.index()][state.locals[tid.index()].pc.index()]
    }

    fn width(&self) -> usize {
        self.locations + self.system.spaces * self.threads
    }

    fn spaces(&self) -> impl Iterator<Item = Space> + use<> {
        (0..self.system.spaces as u8).map(Space)
    }

    /// The entry of a frontier that counts markers of `from` for `space`.
    #[inline(always)]
    fn count(&self, space: Space, from: usize) -> usize {
        self.locations + space.0 as usize * self.threads + from
    }

    /// The step from nothing to the initial state, with what is wrong before anything is done.
    pub fn initial(&self) -> Step {
        self.start().0
    }

    /// The stores that threads have done in the initial state, because nothing is gained by waiting; see
    /// [`Options::reduce`].
    pub fn initial_stores(&self) -> Vec<(Tid, Pc)> {
        self.start().1
    }

    fn start(&self) -> (Step, Vec<(Tid, Pc)>) {
        let program = &self.system.program;
        let mut state = State {
            locals: program
                .tids()
                .map(|tid| Local::start_noting(program, tid, &mut |pc| self.note(tid, pc)))
                .collect(),
            views: Memory::initial(self),
        };
        let mut finding = None;
        let mut done = Vec::new();
        for tid in program.tids() {
            let mut stores = Stores::new();
            let found = self.run_on(&mut state, tid, &mut stores);
            finding = finding.or(found);
            done.extend(stores.into_iter().map(|pc| (tid, pc)));
        }
        self.normalise(&mut state);
        (Step { finding, ..Step::new(state, &Prelude::default()) }, done)
    }

    /// Hands every step from `state` to `sink`.
    pub fn steps(&self, state: &State, mut sink: impl FnMut(Step)) {
        if self.options.propagation == Propagation::OnDemand {
            return self.steps_on_demand(state, &mut sink);
        }
        for tid in self.system.program.tids() {
            self.moves(state, tid, &mut sink);
        }
        for to in self.system.program.tids() {
            self.arrivals(state, to, &mut sink);
        }
    }

    /// The steps of a thread that has made its choices and read what it is to read first. What it
    /// could read next is handed to `later` instead, if reads come late.
    fn thread_steps(
        &self,
        state: &State,
        tid: Tid,
        local: Local,
        prelude: &Prelude,
        later: &mut impl FnMut(State, Prelude, usize),
        sink: &mut impl FnMut(Step),
    ) {
        let program = &self.system.program;
        let at = Some((tid, local.pc));
        let stop = |local: Local, finding| {
            let mut next = state.clone();
            next.locals[tid.index()] = local;
            self.normalise(&mut next);
            Step { at, finding, ..Step::new(next, prelude) }
        };
        if local.status != Status::Running {
            let finding = stuck(&local, tid);
            return sink(stop(local, finding));
        }
        let mut notes = Notes::default();
        let want = local.want_noting(program, tid, &mut notes);
        if notes.wrapped {
            self.note(tid, local.pc);
        }
        let action = match want {
            Err(fault) => {
                let local = Local { status: Status::Faulted(fault), ..local };
                let finding = stuck(&local, tid);
                return sink(stop(local, finding));
            }
            Ok(Want::Mark(label)) => {
                if self.may_mark(state, tid.index()) {
                    let mut next = state.clone();
                    if !self.only_newest() {
                        next.views.markers[tid.index()]
                            .push(state.views.before[tid.index()].clone());
                    }
                    next.locals[tid.index()] = local;
                    next.locals[tid.index()].pass(program, tid, None, &self.polling[tid.index()]);
                    let mut stores = Stores::new();
                    let finding = self.run_on(&mut next, tid, &mut stores);
                    self.normalise(&mut next);
                    let label = Some(label);
                    sink(Step { label, at, stores, finding, ..Step::new(next, prelude) });
                }
                return;
            }
            Ok(Want::Access(action)) => action,
        };
        let Some(loc) = action.loc().map(Loc::index) else { return };
        if action.may_write() && state.views.writes[loc].len() > self.options.writes as usize {
            let finding = Finding::TooManyWrites { tid, pc: local.pc, loc: Loc::from(loc) };
            return sink(stop(state.locals[tid.index()].clone(), Some(finding)));
        }
        let known = state.views.known[tid.index()][loc] as usize;
        let instr = &program.step(tid, local.pc).instr;
        let mut ways: SmallVec<[usize; 8]> = SmallVec::new();
        self.ways(&state.views, tid, &action, |position| ways.push(position));
        for position in ways {
            let value = state.views.writes[loc][position].value;
            let Some(effect) = Effect::of(&action, value, program) else { continue };
            let only_reads = effect.write.is_none();
            if self.options.reduce && only_reads && self.has_older(state, loc, known..position) {
                continue;
            }
            let mut next = state.clone();
            let mut prelude = prelude.clone();
            if !self.may_acquire(state, tid.index(), loc, position, effect)
                && !self.let_acquire(&mut next, tid, loc, position, effect, &mut prelude.arrived)
            {
                continue;
            }
            next.locals[tid.index()] = local.clone();
            let mut stores = Stores::new();
            let mut notes = Notes::default();
            let attempt = Attempt { tid, instr, action: &action };
            let done = self.step(&mut next.views, attempt, position, &mut notes);
            if notes.wrapped {
                self.note(tid, local.pc);
            }
            let race = Finding::Race { tid, pc: local.pc, loc: Loc::from(loc) };
            let (race, read, newer) = match done {
                Ok(crate::Effect::Done(read, newer)) => (None, read, newer),
                Ok(crate::Effect::Wrong(Race, read, newer)) => (Some(race), read, newer),
                Ok(crate::Effect::Blocked) => continue,
                Err(fault) => {
                    next.locals[tid.index()].status = Status::Faulted(fault);
                    (stuck(&next.locals[tid.index()], tid), None, 0)
                }
            };
            let found = match next.locals[tid.index()].status {
                Status::Faulted(_) => None,
                _ => {
                    next.locals[tid.index()].pass(program, tid, read, &self.polling[tid.index()]);
                    self.run_on(&mut next, tid, &mut stores)
                }
            };
            let finding = race.or(found);
            let status = next.locals[tid.index()].status;
            if status == Status::Fruitless {
                debug_assert!(
                    only_reads && stores.is_empty() && finding.is_none(),
                    "a round of a busy wait has done nothing but read"
                );
                continue;
            }
            if self.reads_late()
                && only_reads
                && self.bit_of[loc].is_none()
                && stores.is_empty()
                && finding.is_none()
            {
                // A thread that goes nowhere from there need not have read.
                if let (Status::Running, Some(value)) = (status, read) {
                    prelude.reads.push((local.pc, value, newer));
                    later(next, prelude, loc);
                }
                continue;
            }
            self.normalise(&mut next);
            sink(Step { at, read, newer, stores, finding, ..Step::new(next, &prelude) });
        }
    }

    /// Is there an older write with the same value that releases no more? Reading that one leads to
    /// the same state with less known, which can do all that this one can.
    fn has_older(&self, state: &State, loc: usize, older: std::ops::Range<usize>) -> bool {
        let write = &state.views.writes[loc][older.end];
        older.into_iter().any(|position| {
            let other = &state.views.writes[loc][position];
            other.value == write.value
                && other.aware & !write.aware == 0
                && other.carried.iter().zip(write.carried.iter()).all(|(a, b)| a <= b)
        })
    }

    /// The value of the last write to every location.
    pub fn memory(&self, state: &State) -> Vec<Value> {
        let last = |writes: &Vec<Write>| writes.last().map_or(0, |write| write.value);
        state.views.writes.iter().map(last).collect()
    }
}

impl Views {
    /// Everything that speaks of positions in modification order.
    fn frontiers(&mut self) -> impl Iterator<Item = &mut Frontier> {
        let carried = self.writes.iter_mut().flatten().map(|write| &mut write.carried);
        let threads = self.known.iter_mut().chain(&mut self.before);
        threads.chain(self.markers.iter_mut().flatten()).chain(carried)
    }
}

/// What is wrong with a thread that stopped.
fn stuck(local: &Local, tid: Tid) -> Option<Finding> {
    let pc = local.pc;
    match local.status {
        Status::Failed => Some(Finding::Assertion { tid, pc }),
        Status::Faulted(fault) => Some(Finding::Fault { tid, pc, fault }),
        Status::Lost => Some(Finding::TooManySteps { tid, pc }),
        _ => None,
    }
}

#[inline(always)]
fn raise(entry: &mut u8, to: u8) {
    *entry = (*entry).max(to);
}

fn ones(width: u32) -> Awareness {
    if width == 0 { 0 } else { Awareness::MAX >> (Awareness::BITS - width) }
}
