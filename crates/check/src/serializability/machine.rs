//! The TSO machine as a producer of executions.
//!
//! [`store_buffer`] is the machine; here its moves are bundled and turned into events. A store, with
//! the bookkeeping that keeps TSO's stores in order, is one step that issues a write; a commit is a
//! step of its own. With [`Memory::Immediate`] writes commit where they are issued, which makes
//! executions interleavings.

use super::summary::{Cycle, MOST_RECEIVERS, Summary};
use super::{Action, Data, Event, Place, Question, Refusal, Thread, Var, transactions};
use crate::packed::{put_state, take_state};
use ::analysis::liveness::live_registers;
use ::ir::{Fault, FenceMode, Instr, Loc, Pc, Program, RegSet, Tid};
use ::memory::store_buffer::{self, Entry, Move, Own, Seen, State};
use ::memory::store_buffer::{Compiled, Machine, compile};
use ::search::encoding::Reader;

/// Something that happens in an execution, and the step of the program that does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Happening {
    /// Who.
    pub tid: Tid,
    /// Where; of a commit, where the write was issued.
    pub pc: Pc,
    /// What.
    pub action: Action,
}

impl Happening {
    /// As an event of a recording.
    pub fn event(&self, line: u32, place: Place) -> Event {
        let data = Data::NONE;
        Event { thread: Thread(self.tid.0), action: self.action, line, place, data }
    }
}

/// When writes reach memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// At once.
    Immediate,
    /// Whenever; at most so many of a thread wait.
    Buffered(usize),
}

/// A program, compiled for the machine.
#[derive(Clone, Debug)]
pub struct Product {
    program: Program,
    compiled: Compiled,
    /// For each thread and step of the program, is it inside a transaction?
    inside: Vec<Vec<bool>>,
    /// For each thread and step of the compiled program, the registers that matter.
    live: Vec<Vec<RegSet>>,
}

/// A state of the machine, and the summary of the execution that led to it.
#[derive(Clone, Debug)]
pub struct Node {
    /// The machine.
    pub state: State,
    /// The conflict graph.
    pub summary: Summary,
}

/// What became of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stepped {
    /// It was made.
    Done,
    /// It is not possible.
    Blocked,
    /// It would leave more writes in a buffer than allowed.
    Overflow,
    /// It was made, and closed a cycle.
    Cycle,
}

impl Product {
    /// Prepares `program`.
    pub fn new(program: &Program) -> Result<Self, Refusal> {
        let blocks = program
            .steps()
            .find(|(_, _, step)| matches!(step.instr, Instr::BusLock | Instr::BusUnlock));
        if let Some((tid, pc, _)) = blocks {
            return Err(Refusal::Unsupported(tid, pc));
        }
        let inside = transactions::inside(program).map_err(Refusal::Misplaced)?;
        let compiled = compile(program, Machine::Tso).with_stores_in_order();
        let compiled = compiled.with_indices_checked(program);
        let live = compiled.program.threads.iter().map(live_registers).collect();
        Ok(Product { program: program.clone(), compiled, inside, live })
    }

    /// Where everything starts.
    pub fn start(&self, question: Question) -> Node {
        let program = &self.compiled.program;
        let summary = Summary::new(question, program.threads.len(), program.locations.len());
        Node { state: store_buffer::initial(program), summary }
    }

    /// Everything that may be possible for a thread; [`Product::step`] says what is.
    pub fn moves_of(&self, node: &Node, tid: Tid, out: &mut Vec<Move>) {
        let thread = &node.state.threads[tid.index()];
        let step = self.compiled.program.step(tid, thread.pc);
        out.extend(step.successors().map(|next| Move::Step(tid, next)));
        if !node.state.shared.buffers[tid.index()].are_empty() {
            out.push(Move::Own(Own::Commit(tid)));
        }
    }

    /// How many threads there are.
    pub fn tids(&self) -> impl Iterator<Item = Tid> + use<> {
        self.compiled.program.tids()
    }

    /// Is what the thread does next nothing that another thread, or its own buffer, could notice?
    /// Then it may as well come first.
    pub fn is_private(&self, node: &Node, tid: Tid) -> bool {
        let thread = &node.state.threads[tid.index()];
        match &self.compiled.program.step(tid, thread.pc).instr {
            Instr::Halt => false,
            Instr::Fence(FenceMode::Sc) => node.state.shared.buffers[tid.index()].are_empty(),
            Instr::Fence(_) => true,
            instr => instr.is_local(),
        }
    }

    /// Makes a step and adds what happens to `happened`.
    pub fn step(
        &self,
        node: &mut Node,
        step: Move,
        memory: Memory,
        happened: &mut Vec<Happening>,
    ) -> Result<Stepped, (Pc, Fault)> {
        let first = happened.len();
        let tid = step.tid();
        let at = node.state.threads[tid.index()].pc;
        let pc = self.compiled.source(tid, at);
        let mut note = |action| happened.push(Happening { tid, pc, action });
        match self.apply(&mut node.state, step).map_err(|fault| (pc, fault))? {
            None => return Ok(Stepped::Blocked),
            Some(Seen::Nothing) => match self.program.step(tid, pc).instr {
                Instr::Begin => note(Action::Begin(None)),
                Instr::End => note(Action::End),
                _ => {
                    if let Instr::Fence(FenceMode::Sc) = self.compiled.program.step(tid, at).instr {
                        note(Action::Fence);
                    }
                }
            },
            Some(Seen::Read(loc, ..)) => match self.program.step(tid, pc).instr {
                Instr::Cas { .. } => {
                    self.locked(tid, pc, &[Action::Read(var(loc))], &mut note);
                }
                _ => note(Action::Read(var(loc))),
            },
            Some(Seen::Updated(loc, ..)) => {
                let x = var(loc);
                let actions = [Action::Read(x), Action::Write(x), Action::Commit(x)];
                self.locked(tid, pc, &actions, &mut note);
            }
            Some(Seen::Issued(loc, ..)) => {
                note(Action::Write(var(loc)));
                self.enqueue(&mut node.state, tid, loc);
                if memory == Memory::Immediate {
                    let _ = self.apply(&mut node.state, Move::Own(Own::Commit(tid)));
                    note(Action::Commit(var(loc)));
                }
            }
            Some(Seen::Committed(loc, _)) => note(Action::Commit(var(loc))),
        }
        self.forget(&mut node.state, tid);
        if let Memory::Buffered(most) = memory
            && (node.state.shared.buffers[tid.index()].all.len() > most
                || node.summary.receivers() + 1 >= MOST_RECEIVERS)
        {
            return Ok(Stepped::Overflow);
        }
        for happening in &happened[first..] {
            if take_in(&mut node.summary, happening) == Err(Cycle) {
                return Ok(Stepped::Cycle);
            }
        }
        let now = node.state.threads[tid.index()].pc;
        if self.compiled.program.step(tid, now).instr == Instr::Halt {
            node.summary.retire(tid.index());
        }
        Ok(Stepped::Done)
    }

    fn apply(&self, state: &mut State, step: Move) -> Result<Option<Seen>, Fault> {
        store_buffer::apply(&self.compiled.program, state, step)
    }

    /// The events of a read-modify-write: one unit, with an empty buffer before and after.
    fn locked(&self, tid: Tid, pc: Pc, actions: &[Action], note: &mut impl FnMut(Action)) {
        let alone = !self.inside[tid.index()][pc.index()];
        if alone {
            note(Action::Begin(None));
        }
        note(Action::Fence);
        actions.iter().copied().for_each(&mut *note);
        note(Action::Fence);
        if alone {
            note(Action::End);
        }
    }

    /// Moves a store just issued behind those that wait already. Nobody notices when that happens:
    /// the fence that keeps stores in order follows at once, and is dropped where it would arrive.
    fn enqueue(&self, state: &mut State, tid: Tid, loc: Loc) {
        let _ = self.apply(state, Move::Own(Own::Advance(tid, loc)));
        let fence = state.threads[tid.index()].pc;
        let next = self.compiled.program.step(tid, fence).next;
        let _ = self.apply(state, Move::Step(tid, next));
        state.shared.buffers[tid.index()].all.retain(|entry| *entry != Entry::Fence);
    }

    /// Forgets what cannot matter: dead registers, and which store a value comes from.
    fn forget(&self, state: &mut State, tid: Tid) {
        let thread = &mut state.threads[tid.index()];
        let live = self.live[tid.index()][thread.pc.index()];
        for (k, value) in thread.regs.iter_mut().enumerate() {
            if live.intersect(RegSet(1 << k)) == RegSet::EMPTY {
                *value = 0;
            }
        }
        state.shared.buffers[tid.index()].issued = 0;
    }

    /// Writes the node to `out` such that equal nodes, and no others, are written alike.
    pub fn encode(&self, node: &mut Node, out: &mut Vec<u8>) {
        out.clear();
        put_state(&node.state, out);
        node.summary.encode(out);
    }

    /// The node that was written to `bytes`.
    pub fn decode(&self, question: Question, bytes: &[u8]) -> Node {
        let from = &mut Reader::new(bytes);
        let state = take_state(&self.compiled.program, from);
        let summary = Summary::decode(question, &state, from);
        Node { state, summary }
    }
}

fn var(loc: Loc) -> Var {
    Var(loc.0)
}

fn take_in(summary: &mut Summary, happening: &Happening) -> Result<(), Cycle> {
    let thread = happening.tid.index();
    match happening.action {
        Action::Begin(_) => summary.begin(thread),
        Action::End => summary.end(thread),
        Action::Read(x) => summary.read(thread, x.0 as usize)?,
        Action::Write(x) => summary.write(thread, x.0 as usize)?,
        Action::Commit(_) => summary.commit(thread)?,
        Action::Fence => summary.fence(thread)?,
        Action::Abort | Action::Rmw(_) | Action::Lock(_) | Action::Unlock(_) => {
            unreachable!("this machine shows a read-modify-write in its parts, and has no locks")
        }
    }
    Ok(())
}
