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

use ir::expr::{Fault, Notes};
use ir::ids::{Loc, Pc, Tid, Value};
use ir::mode::FenceMode;
use ir::program::Program;
use ir::run_local::{Rest, Stop, Took, local_step};
use ir::thread::{Action, destination, next_action};
use std::collections::VecDeque;

/// Which store a value comes from: the thread and how many it issued before; none for initial values.
pub type StoreId = Option<(Tid, u32)>;

/// A thread's buffers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Buffers {
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
    /// How many stores it has issued, locked updates counted.
    pub issued: u32,
    /// Its buffers.
    pub buffers: Buffers,
}

/// The machine's state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The threads.
    pub threads: Vec<Local>,
    /// Each location's value and the store it comes from.
    pub memory: Vec<(Value, StoreId)>,
    /// The thread in an uninterrupted block.
    pub owner: Option<Tid>,
}

/// What the machine can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// A thread executes its next instruction and comes to this place.
    Step(Tid, Pc),
    /// A thread's oldest store to a location moves to its common buffer.
    Advance(Tid, Loc),
    /// The head of a thread's common buffer leaves it.
    Commit(Tid),
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

/// The state in which `program` starts.
pub fn initial(program: &Program) -> State {
    let buffers =
        Buffers { of: vec![VecDeque::new(); program.locations.len()], all: VecDeque::new() };
    State {
        threads: program
            .threads
            .iter()
            .map(|thread| Local {
                pc: thread.entry,
                regs: vec![0; thread.registers.len()],
                issued: 0,
                buffers: buffers.clone(),
            })
            .collect(),
        memory: program.locations.iter().map(|loc| (loc.initial, None)).collect(),
        owner: None,
    }
}

/// Everything that may be possible; [`apply`] says what is.
pub fn candidates(program: &Program, state: &State) -> Vec<Move> {
    let mut moves = Vec::new();
    for (tid, thread) in program.tids().zip(&state.threads) {
        moves.extend(program.step(tid, thread.pc).successors().map(|next| Move::Step(tid, next)));
        for (loc, buffer) in thread.buffers.of.iter().enumerate() {
            if !buffer.is_empty() {
                moves.push(Move::Advance(tid, Loc::from(loc)));
            }
        }
        if !thread.buffers.all.is_empty() {
            moves.push(Move::Commit(tid));
        }
    }
    moves
}

/// Makes a move; `None` if it is not possible.
pub fn apply(program: &Program, state: &mut State, step: Move) -> Result<Option<Seen>, Fault> {
    let tid = match step {
        Move::Step(tid, _) | Move::Advance(tid, _) | Move::Commit(tid) => tid,
    };
    if state.owner.is_some_and(|owner| owner != tid) {
        return Ok(None);
    }
    match step {
        Move::Step(tid, next) => execute(program, state, tid, next),
        Move::Advance(tid, loc) => {
            let buffers = &mut state.threads[tid.index()].buffers;
            let Some((value, number)) = buffers.of[loc.index()].pop_front() else {
                return Ok(None);
            };
            buffers.all.push_back(Entry::Store(loc, value, number));
            Ok(Some(Seen::Nothing))
        }
        Move::Commit(tid) => Ok(match state.threads[tid.index()].buffers.all.pop_front() {
            None => None,
            Some(Entry::Fence) => Some(Seen::Nothing),
            Some(Entry::Store(loc, value, number)) => {
                state.memory[loc.index()] = (value, Some((tid, number)));
                Some(Seen::Committed(loc, number))
            }
        }),
    }
}

fn execute(
    program: &Program,
    state: &mut State,
    tid: Tid,
    next: Pc,
) -> Result<Option<Seen>, Fault> {
    let domain = program.domain;
    let mut notes = Notes::default();
    let State { threads, memory, owner } = state;
    let thread = &mut threads[tid.index()];
    let step = program.step(tid, thread.pc);
    let instr = &step.instr;
    let flushed = thread.buffers.are_empty();
    let action = next_action(instr, &thread.regs, domain, &mut notes)?;
    let mut value_read = None;
    let seen = match action {
        Action::Local => {
            let mut pc = thread.pc;
            let code = &program.threads[tid.index()];
            match local_step(code, domain, &mut pc, &mut thread.regs, &mut notes) {
                Took::On if pc == next => Seen::Nothing,
                Took::Rests(Rest::Choice(targets)) if targets.contains(&next) => Seen::Nothing,
                Took::Rests(Rest::Call(_)) => Seen::Nothing,
                Took::Rests(Rest::Stop(Stop::Fault(fault))) => return Err(fault),
                Took::On | Took::Rests(_) => return Ok(None),
            }
        }
        Action::Read { loc, .. } | Action::Wait { loc, .. } => {
            let (value, from) = match thread.buffers.newest(loc) {
                Some((value, number)) => (value, Some((tid, number))),
                None => memory[loc.index()],
            };
            if let Action::Wait { values, .. } = &action
                && !values.contains(&value)
            {
                return Ok(None);
            }
            value_read = Some(value);
            Seen::Read(loc, value, from)
        }
        Action::Write { loc, value, .. } => {
            let number = thread.issued;
            thread.issued += 1;
            thread.buffers.of[loc.index()].push_back((value, number));
            Seen::Issued(loc, value, number)
        }
        Action::Update { loc, .. } | Action::Cas { loc, .. } | Action::BlockingCas { loc, .. } => {
            if !flushed {
                return Ok(None);
            }
            let (old, from) = memory[loc.index()];
            let new = match action {
                Action::Update { change, .. } => Some(change.apply(old, domain, &mut notes)?),
                Action::Cas { expected, desired, .. } => (old == expected).then_some(desired),
                Action::BlockingCas { expected, .. } if old != expected => return Ok(None),
                Action::BlockingCas { desired, .. } => Some(desired),
                _ => None,
            };
            value_read = Some(old);
            match new {
                None => Seen::Read(loc, old, from),
                Some(new) => {
                    let number = thread.issued;
                    thread.issued += 1;
                    memory[loc.index()] = (new, Some((tid, number)));
                    Seen::Updated(loc, old, from, number)
                }
            }
        }
        Action::Fence(FenceMode::Sc) if !flushed => return Ok(None),
        Action::Fence(FenceMode::Rel) => {
            if thread.buffers.of.iter().any(|buffer| !buffer.is_empty()) {
                return Ok(None);
            }
            thread.buffers.all.push_back(Entry::Fence);
            Seen::Nothing
        }
        Action::LightFence(locs) => {
            if locs.iter().any(|loc| !thread.buffers.of[loc.index()].is_empty()) {
                return Ok(None);
            }
            thread.buffers.all.push_back(Entry::Fence);
            Seen::Nothing
        }
        Action::Fence(_) | Action::Begin | Action::End => Seen::Nothing,
        Action::BusLock => {
            if !flushed || owner.is_some() {
                return Ok(None);
            }
            *owner = Some(tid);
            Seen::Nothing
        }
        Action::BusUnlock => {
            if !flushed || *owner != Some(tid) {
                return Ok(None);
            }
            *owner = None;
            Seen::Nothing
        }
        Action::Halt => return Ok(None),
    };
    if let (Some(dst), Some(value)) = (destination(instr), value_read) {
        thread.regs[dst.index()] = value;
    }
    thread.pc = next;
    Ok(Some(seen))
}
