//! The judge of witnesses: runs the computation on the machine with buffers, literally, and looks for
//! a cycle in its trace.
//!
//! It knows nothing of attacks, marks or phases. It takes the steps that a witness claims, issues and
//! commits stores where the witness says so, compares every address and value, and builds the
//! happens-before trace from what the machine did.

use super::model::{Act, Label};
use ir::expr::Notes;
use ir::thread::{Action, next_action};
use ir::{FenceMode, Loc, Pc, Tid, Value};
use memory::store_buffer::trace::{Edge, Node, Trace};
use memory::store_buffer::{self, Move, Own, Seen, State};
use memory::store_buffer::{Compiled, Machine};

/// What happened on the machine, in order. Program counters are those of the program as given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Happening {
    /// The thread.
    pub tid: Tid,
    /// Where.
    pub pc: Pc,
    /// What.
    pub event: Event,
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A value was read from memory.
    Read(Loc, Value),
    /// A value was read from the thread's own buffers.
    ReadOwn(Loc, Value),
    /// A value was written, at once.
    Write(Loc, Value),
    /// A store was issued but did not reach memory yet.
    Issue(Loc, Value),
    /// A store issued earlier, at this `pc`, reached memory.
    Commit(Loc, Value),
    /// A value was read and another written, uninterrupted.
    Update(Loc, Value, Value),
    /// A lightweight fence was passed.
    LightFence,
    /// An uninterrupted block started.
    Lock,
    /// It ended.
    Unlock,
}

/// An access on a happens-before cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnCycle {
    /// Which access of the trace it is.
    pub node: usize,
    /// The thread.
    pub tid: Tid,
    /// Where, in the program as given.
    pub pc: Pc,
    /// The location.
    pub loc: Loc,
    /// Does it read?
    pub reads: bool,
    /// Does it write?
    pub writes: bool,
    /// Why it happens before the next on the cycle; the last comes before the first.
    pub edge: Edge,
}

/// A computation that was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// What happened.
    pub computation: Vec<Happening>,
    /// The registers of each happening's thread after it.
    pub registers: Vec<Vec<Value>>,
    /// A cycle of its trace.
    pub cycle: Vec<OnCycle>,
    /// The trace. Its nodes are the accesses of `computation` in the same order; a store that waits
    /// is its issue.
    pub trace: Trace,
}

/// Runs the steps and says what happened, if all went as claimed and the trace has a cycle.
pub fn judge(compiled: &Compiled, machine: Machine, steps: &[Label]) -> Option<Accepted> {
    let compiled = match machine {
        Machine::Tso => compiled.with_stores_in_order(),
        Machine::Pso | Machine::Pgas => compiled.clone(),
    };
    let program = &compiled.program;
    let state = store_buffer::initial(program);
    let trace = Trace::new(program.locations.len());
    let in_order = machine == Machine::Tso;
    let mut run = Run {
        compiled: &compiled,
        in_order,
        state,
        trace,
        computation: vec![],
        registers: vec![],
        issued: vec![],
    };
    let mut delaying = None;
    for step in steps {
        if matches!(step.act, Act::Delay(..)) {
            delaying = Some(step.tid);
        }
        run.step(step, delaying == Some(step.tid))?;
    }
    run.drain(delaying?);
    let cycle = run.trace.cycle()?;
    let cycle = cycle
        .into_iter()
        .map(|(node, edge)| {
            let Node { tid, pc, loc, reads, writes, .. } = run.trace.nodes[node];
            let pc = compiled.source(tid, pc);
            OnCycle { node, tid, pc, loc, reads: reads.is_some(), writes: writes.is_some(), edge }
        })
        .collect();
    let Run { computation, registers, trace, .. } = run;
    Some(Accepted { computation, registers, cycle, trace })
}

struct Run<'c> {
    compiled: &'c Compiled,
    /// Do stores stay in order?
    in_order: bool,
    state: State,
    trace: Trace,
    computation: Vec<Happening>,
    registers: Vec<Vec<Value>>,
    /// Stores that wait: thread, number, place and value.
    issued: Vec<(Tid, u32, Pc, Value)>,
}

impl Run<'_> {
    fn apply(&mut self, tid: Tid, step: Move) -> Option<Seen> {
        let pc = self.state.threads[tid.index()].pc;
        let seen = store_buffer::apply(&self.compiled.program, &mut self.state, step).ok()??;
        self.trace.add(tid, pc, seen);
        Some(seen)
    }

    /// Executes the next instruction of `tid`, which is no jump.
    fn execute(&mut self, tid: Tid) -> Option<Seen> {
        let pc = self.state.threads[tid.index()].pc;
        let next = self.compiled.program.step(tid, pc).next;
        self.apply(tid, Move::Step(tid, next))
    }

    fn note(&mut self, tid: Tid, pc: Pc, event: Event) {
        let pc = self.compiled.source(tid, pc);
        self.computation.push(Happening { tid, pc, event });
        self.registers.push(self.state.threads[tid.index()].regs.to_vec());
    }

    fn advance(&mut self, tid: Tid, loc: Loc) {
        while self.apply(tid, Move::Own(Own::Advance(tid, loc))).is_some() {}
    }

    /// Commits what is in the common buffer, quietly for stores that are written at once.
    fn commit(&mut self, tid: Tid, at_once: Option<u32>) {
        while let Some(seen) = self.apply(tid, Move::Own(Own::Commit(tid))) {
            let Seen::Committed(loc, number) = seen else { continue };
            let known = self.issued.iter().find(|(t, n, ..)| (*t, *n) == (tid, number)).copied();
            if let (Some((_, _, pc, value)), true) = (known, at_once != Some(number)) {
                self.note(tid, pc, Event::Commit(loc, value));
            }
        }
    }

    /// Empties all buffers of `tid`.
    fn drain(&mut self, tid: Tid) {
        self.commit(tid, None);
        for loc in 0..self.state.shared.memory.len() {
            self.advance(tid, Loc::from(loc));
            self.commit(tid, None);
        }
    }

    fn step(&mut self, step: &Label, delaying: bool) -> Option<()> {
        let (tid, pc) = (step.tid, step.pc);
        if !matches!(step.act, Act::Local) {
            if self.state.threads[tid.index()].pc != pc {
                return None;
            }
            self.access(tid, pc, step.act, delaying)?;
        }
        let Some(rest) = step.rest else { return Some(()) };
        for (k, &at) in step.local.iter().enumerate() {
            if self.state.threads[tid.index()].pc != at {
                return None;
            }
            let next = step.local.get(k + 1).copied().unwrap_or(rest);
            self.apply(tid, Move::Step(tid, next))?;
            if !delaying {
                self.drain(tid);
            }
        }
        (self.state.threads[tid.index()].pc == rest).then_some(())
    }

    fn access(&mut self, tid: Tid, pc: Pc, act: Act, delaying: bool) -> Option<()> {
        if let Act::LightFence(_) = act {
            self.advance_for_fence(tid, pc);
        }
        let clear = self.state.shared.buffers[tid.index()].all.is_empty();
        let seen = self.execute(tid)?;
        let event = match (act, seen) {
            (Act::Read(loc, value), Seen::Read(l, v, from)) if (loc, value) == (l, v) => {
                let own = from.is_some_and(|(t, n)| t == tid && self.is_waiting(tid, loc, n));
                if own { Event::ReadOwn(loc, value) } else { Event::Read(loc, value) }
            }
            (Act::ReadDelayed(loc, value), Seen::Read(l, v, from))
                if (loc, value) == (l, v) && from.is_some_and(|(t, _)| t == tid) =>
            {
                Event::ReadOwn(loc, value)
            }
            (Act::Update(loc, old, new), Seen::Updated(l, v, _, _)) if (loc, old) == (l, v) => {
                if self.state.shared.memory[loc.index()].0 != new {
                    return None;
                }
                Event::Update(loc, old, new)
            }
            (Act::Write(loc, value), Seen::Issued(l, v, number)) if (loc, value) == (l, v) => {
                self.issued.push((tid, number, pc, value));
                self.pass_order_fence(tid, loc)?;
                // A location of the thread's own may wait with the others; nobody can tell.
                if delaying && !clear {
                    Event::Issue(loc, value)
                } else {
                    self.advance(tid, loc);
                    self.commit(tid, Some(number));
                    Event::Write(loc, value)
                }
            }
            (Act::Delay(loc, value), Seen::Issued(l, v, number)) if (loc, value) == (l, v) => {
                self.issued.push((tid, number, pc, value));
                self.pass_order_fence(tid, loc)?;
                Event::Issue(loc, value)
            }
            (Act::LightFence(waits), Seen::Nothing) => {
                if !waits {
                    self.commit(tid, None);
                }
                Event::LightFence
            }
            (Act::Lock, Seen::Nothing) => {
                self.trace.block(true);
                Event::Lock
            }
            (Act::Unlock, Seen::Nothing) => {
                self.trace.block(false);
                Event::Unlock
            }
            _ => return None,
        };
        self.note(tid, pc, event);
        Some(())
    }

    fn is_waiting(&self, tid: Tid, loc: Loc, number: u32) -> bool {
        self.state.shared.memory[loc.index()].1 != Some((tid, number))
    }

    /// Under TSO each store is followed by a fence on all addresses, which it has to pass.
    fn pass_order_fence(&mut self, tid: Tid, loc: Loc) -> Option<()> {
        if self.in_order {
            self.advance(tid, loc);
            self.execute(tid)?;
        }
        Some(())
    }

    /// Moves on what the lightweight fence at `pc` waits for.
    fn advance_for_fence(&mut self, tid: Tid, pc: Pc) {
        let program = &self.compiled.program;
        let regs = &self.state.threads[tid.index()].regs;
        let action =
            next_action(&program.step(tid, pc).instr, regs, program.domain, &mut Notes::default());
        match action {
            Ok(Action::LightFence(locs)) => locs.into_iter().for_each(|loc| self.advance(tid, loc)),
            Ok(Action::Fence(FenceMode::Rel)) => {
                (0..self.state.shared.memory.len())
                    .for_each(|loc| self.advance(tid, Loc::from(loc)));
            }
            _ => {}
        }
    }
}
