//! The machine with store buffers, literally (Fig. 3 of the paper on locality and singularity).
//!
//! Each thread has a FIFO per address that feeds one FIFO for all addresses, which feeds memory:
//!
//! | step | rule |
//! |---|---|
//! | store `x := v` | `v` enters the thread's buffer of `x` |
//! | advance | the head of some address's buffer moves to the end of the common one |
//! | commit | the head of the common buffer is written to memory; a fence is dropped |
//! | load `x` | the newest value in the buffer of `x`, else in the common one, else memory |
//! | full fence, locked update, `lock`, `unlock` | only when all buffers of the thread are empty |
//! | fence on `x, y, …` | only when the buffers of `x, y, …` are empty; it enters the common buffer |
//!
//! Programs are [compiled](compile()) first. `pso` and `pgas` run as they are;
//! `tso` runs [with stores in order](Compiled::with_stores_in_order).
//!
//! This is the meaning of the models, and the oracle for cleverer analyses: it is kept simple, shares
//! nothing with them but the program, and is far too slow for anything but small programs. Between
//! `lock` and `unlock` no other thread moves. A thread whose assertion or assumption fails stops.

mod compile;
mod machine;
pub mod trace;

pub use compile::{Compiled, compile};
pub use machine::Machine;

use crate::{Attempt, Effect, EffectOn, Memory, Never};
use ir::expr::{Fault, Notes};
use ir::ids::{Loc, Pc, Tid, Value};
use ir::mode::FenceMode;
use ir::program::{Program, Thread};
use ir::run_local::{Rest, Stop, Took, local_step};
use ir::thread::{Action, destination, next_action};
use std::collections::VecDeque;

/// Which store a value comes from: the thread and how many it issued before; none for initial values.
pub type StoreId = Option<(Tid, u32)>;

/// A thread's buffers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Buffers {
    /// How many stores the thread has issued, locked updates counted.
    pub issued: u32,
    /// One per location.
    pub of: Vec<VecDeque<(Value, u32)>>,
    /// The one for all.
    pub all: VecDeque<Entry>,
}

/// What waits in the common buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// A store: where, what, and which of the thread's stores it is.
    Store(Loc, Value, u32),
    /// A lightweight fence.
    Fence,
}

impl Buffers {
    /// Does nothing wait?
    pub fn are_empty(&self) -> bool {
        self.all.is_empty() && self.of.iter().all(VecDeque::is_empty)
    }

    /// The newest value waiting for `loc`.
    fn newest(&self, loc: Loc) -> Option<(Value, u32)> {
        self.of[loc.index()].back().copied().or_else(|| {
            self.all.iter().rev().find_map(|entry| match entry {
                Entry::Store(at, value, number) if *at == loc => Some((*value, *number)),
                _ => None,
            })
        })
    }
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Local {
    /// Where it is.
    pub pc: Pc,
    /// Its registers.
    pub regs: Vec<Value>,
}

/// Memory and buffers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shared {
    /// The buffers of each thread.
    pub buffers: Vec<Buffers>,
    /// Each location's value and the store it comes from.
    pub memory: Vec<(Value, StoreId)>,
    /// The thread in an uninterrupted block.
    pub owner: Option<Tid>,
}

/// The machine's state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The threads.
    pub threads: Vec<Local>,
    /// What they share.
    pub shared: Shared,
}

/// What the machine can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// A thread executes its next instruction and comes to this place.
    Step(Tid, Pc),
    /// A store moves on.
    Own(Own),
}

impl Move {
    /// The thread whose instruction or store it is.
    pub fn tid(self) -> Tid {
        let (Move::Step(tid, _) | Move::Own(Own::Advance(tid, _) | Own::Commit(tid))) = self;
        tid
    }
}

/// What a move did, for those who keep a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Nothing that memory or buffers take part in, or a fence.
    Nothing,
    /// A load of a location read a value of some store.
    Read(Loc, Value, StoreId),
    /// A store to a location was issued.
    Issued(Loc, Value, u32),
    /// A locked update read from a store, and wrote.
    Updated(Loc, Value, StoreId, u32),
    /// A store to a location reached memory.
    Committed(Loc, u32),
}

/// The memory of the machine: stores wait in buffers, and reach memory by steps of their own.
#[derive(Clone, Copy, Debug)]
pub struct StoreBuffers<'p> {
    program: &'p Program,
}

/// A step of the memory by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// A thread's oldest store to a location moves to its common buffer.
    Advance(Tid, Loc),
    /// The head of a thread's common buffer leaves it.
    Commit(Tid),
}

impl Memory for StoreBuffers<'_> {
    type State = Shared;
    type Violation = Never;
    type Way = ();
    type Own = Own;
    type Seen = Seen;

    fn initial(&self) -> Shared {
        let locations = self.program.locations.len();
        let buffers =
            Buffers { issued: 0, of: vec![VecDeque::new(); locations], all: VecDeque::new() };
        Shared {
            buffers: vec![buffers; self.program.threads.len()],
            memory: self.program.locations.iter().map(|loc| (loc.initial, None)).collect(),
            owner: None,
        }
    }

    fn ways(&self, state: &Shared, tid: Tid, _: &Action, mut each: impl FnMut(())) {
        if state.owner.is_none_or(|owner| owner == tid) {
            each(());
        }
    }

    fn step(
        &self,
        state: &mut Shared,
        Attempt { tid, action, .. }: Attempt<'_>,
        (): (),
        notes: &mut Notes,
    ) -> Result<EffectOn<Self>, Fault> {
        let Shared { buffers, memory, owner } = state;
        let own = &mut buffers[tid.index()];
        let flushed = own.are_empty();
        let mut nothing = true;
        let done = match action {
            Action::Read { loc, .. } | Action::Wait { loc, .. } => {
                let (value, from) = match own.newest(*loc) {
                    Some((value, number)) => (value, Some((tid, number))),
                    None => memory[loc.index()],
                };
                if matches!(action, Action::Wait { values, .. } if !values.contains(&value)) {
                    return Ok(Effect::Blocked);
                }
                return Ok(Effect::Done(Some(value), Seen::Read(*loc, value, from)));
            }
            Action::Write { loc, value, .. } => {
                let number = own.issued;
                own.issued += 1;
                own.of[loc.index()].push_back((*value, number));
                return Ok(Effect::Done(None, Seen::Issued(*loc, *value, number)));
            }
            Action::Update { loc, .. }
            | Action::Cas { loc, .. }
            | Action::BlockingCas { loc, .. } => {
                if !flushed {
                    return Ok(Effect::Blocked);
                }
                let (old, from) = memory[loc.index()];
                let new = match action {
                    Action::Update { change, .. } => {
                        Some(change.apply(old, self.program.domain, notes)?)
                    }
                    Action::Cas { expected, desired, .. } => (old == *expected).then_some(*desired),
                    Action::BlockingCas { expected, desired, .. } => {
                        if old != *expected {
                            return Ok(Effect::Blocked);
                        }
                        Some(*desired)
                    }
                    _ => None,
                };
                let Some(new) = new else {
                    return Ok(Effect::Done(Some(old), Seen::Read(*loc, old, from)));
                };
                let number = own.issued;
                own.issued += 1;
                memory[loc.index()] = (new, Some((tid, number)));
                return Ok(Effect::Done(Some(old), Seen::Updated(*loc, old, from, number)));
            }
            Action::Fence(FenceMode::Sc) => flushed,
            Action::Fence(FenceMode::Rel) => {
                nothing = false;
                own.of.iter().all(VecDeque::is_empty)
            }
            Action::LightFence(locs) => {
                nothing = false;
                locs.iter().all(|loc| own.of[loc.index()].is_empty())
            }
            Action::Fence(_) | Action::Begin | Action::End | Action::Local => true,
            Action::BusLock if flushed && owner.is_none() => {
                *owner = Some(tid);
                true
            }
            Action::BusUnlock if flushed && *owner == Some(tid) => {
                *owner = None;
                true
            }
            Action::BusLock | Action::BusUnlock | Action::Halt => false,
        };
        if !done {
            return Ok(Effect::Blocked);
        }
        if !nothing {
            own.all.push_back(Entry::Fence);
        }
        Ok(Effect::Done(None, Seen::Nothing))
    }

    fn own_steps(&self, state: &Shared, mut each: impl FnMut(Own)) {
        for (tid, buffers) in self.program.tids().zip(&state.buffers) {
            for (loc, buffer) in buffers.of.iter().enumerate() {
                if !buffer.is_empty() {
                    each(Own::Advance(tid, Loc::from(loc)));
                }
            }
            if !buffers.all.is_empty() {
                each(Own::Commit(tid));
            }
        }
    }

    fn own_step(&self, state: &mut Shared, own: Own) -> Option<Seen> {
        let (Own::Advance(tid, _) | Own::Commit(tid)) = own;
        if state.owner.is_some_and(|owner| owner != tid) {
            return None;
        }
        let buffers = &mut state.buffers[tid.index()];
        match own {
            Own::Advance(_, loc) => {
                let (value, number) = buffers.of[loc.index()].pop_front()?;
                buffers.all.push_back(Entry::Store(loc, value, number));
                Some(Seen::Nothing)
            }
            Own::Commit(_) => match buffers.all.pop_front()? {
                Entry::Fence => Some(Seen::Nothing),
                Entry::Store(loc, value, number) => {
                    state.memory[loc.index()] = (value, Some((tid, number)));
                    Some(Seen::Committed(loc, number))
                }
            },
        }
    }
}

/// The state in which `program` starts.
pub fn initial(program: &Program) -> State {
    let local = |thread: &Thread| Local { pc: thread.entry, regs: vec![0; thread.registers.len()] };
    State {
        threads: program.threads.iter().map(local).collect(),
        shared: StoreBuffers { program }.initial(),
    }
}

/// Everything that may be possible; [`apply`] says what is.
pub fn candidates(program: &Program, state: &State) -> Vec<Move> {
    let mut moves = Vec::new();
    for (tid, thread) in program.tids().zip(&state.threads) {
        moves.extend(program.step(tid, thread.pc).successors().map(|next| Move::Step(tid, next)));
    }
    StoreBuffers { program }.own_steps(&state.shared, |own| moves.push(Move::Own(own)));
    moves
}

/// Makes a move; `None` if it is not possible.
pub fn apply(program: &Program, state: &mut State, step: Move) -> Result<Option<Seen>, Fault> {
    let memory = StoreBuffers { program };
    let (tid, next) = match step {
        Move::Own(own) => return Ok(memory.own_step(&mut state.shared, own)),
        Move::Step(tid, next) => (tid, next),
    };
    if state.shared.owner.is_some_and(|owner| owner != tid) {
        return Ok(None);
    }
    let thread = &mut state.threads[tid.index()];
    let code = &program.threads[tid.index()];
    let mut pc = thread.pc;
    let mut notes = Notes::default();
    let seen = match local_step(code, program.domain, &mut pc, &mut thread.regs, &mut notes) {
        Took::On if pc == next => Seen::Nothing,
        Took::Rests(Rest::Choice(targets)) if targets.contains(&next) => Seen::Nothing,
        Took::Rests(Rest::Call(_)) => Seen::Nothing,
        Took::Rests(Rest::Stop(Stop::Fault(fault))) => return Err(fault),
        Took::On | Took::Rests(Rest::Choice(_) | Rest::Stop(_)) => return Ok(None),
        Took::Rests(Rest::Access) => {
            let instr = &code.code[pc.index()].instr;
            let action = next_action(instr, &thread.regs, program.domain, &mut notes)?;
            let effect = memory.step(
                &mut state.shared,
                Attempt { tid, instr, action: &action },
                (),
                &mut notes,
            )?;
            let Effect::Done(read, seen) = effect else { return Ok(None) };
            if let (Some(dst), Some(value)) = (destination(instr), read) {
                thread.regs[dst.index()] = value;
            }
            seen
        }
    };
    thread.pc = next;
    Ok(Some(seen))
}
