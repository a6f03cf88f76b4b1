//! A program and a memory, explored together.
//!
//! [`Product`] joins `memory` and `search`: it packs the threads' program counters
//! and registers and the memory's state into one fixed-width state and generates successors. The
//! reductions are here, because each is an argument about programs:
//!
//! * *local steps*: assignments, jumps and fences that only their thread can notice are taken at
//!   once, with the access before them, so threads always rest before an access;
//! * *late choices*: a thread that comes to a `oneof` rests before it and chooses when it makes the
//!   access it leads to, so that states do not multiply with choices that no other thread can see yet. The
//!   memory's objections to what is behind the choice are asked for on arrival;
//! * *partial order*: accesses of different threads commute unless they touch the same location and
//!   one writes. If what some threads do next conflicts with nothing the others may ever do, only
//!   those threads need to move now (a persistent set), provided one of them reaches a new state;
//! * *subsumption*: monitors only remember more and object more; of two states that differ only in
//!   them, the one whose monitors remember more stands for the other ([`memory::Packed::monitor_bits`]);
//! * *dead registers* are zeroed, so that states differing only in them become one, and what
//!   concerns only threads that never move again is forgotten;
//! * *symmetry*: of states that differ by an automorphism of the program, one is kept
//!   ([`analysis::symmetry`]);
//! * *counters*: of states in which all counters differ by the same amount, the one with the
//!   smallest is kept ([`analysis::counters`]). It can do what the others can, and perhaps
//!   more: a finding counts only if its run can be replayed. Numbers far behind a clock are not told
//!   apart (`counters` in this module says why).

mod counters;
#[cfg(test)]
pub(crate) mod diagrams;
mod follow;
mod normal_form;
mod orbit;
mod pack;
mod persistent;
mod record;
mod retire;
mod system;
mod thread_key;

pub(crate) use follow::Follow;
pub(crate) use orbit::Naming;
pub use record::RunStep;
pub(crate) use record::{Move, Noted, beginnings, moves};

use crate::reduce::Reductions;
use analysis::access::{Future, futures, next_accesses, uses};
use analysis::counters::{Counters, Lowering};
use analysis::liveness::live_registers;
use analysis::symmetry::Symmetries;
use analysis::values::PossibleValues;
use counters::Watch;
use ir::bits::{width_for, width_of};
use ir::run_local::{Rest, Stop, Took, local_step};
use ir::thread::{self, Action};
use ir::{Fault, Instr, Loc, Notes, Pc, Program, Reg, RegSet, Tid, Value};
use memory::{Attempt, Effect, Monitor, is_private_fence};
use orbit::{Rotations, Turn};
use pack::{Layout, ThreadLayout};
use retire::End;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thread_key::{Looks, ThreadKeys};

/// Something a search reports about a program on a memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Finding<V> {
    /// The memory objects to the thread being here, or to what it did here.
    Violation {
        /// Who.
        tid: Tid,
        /// Where.
        pc: Pc,
        /// Why.
        violation: V,
    },
    /// An assertion failed.
    Assertion {
        /// Whose.
        tid: Tid,
        /// Where.
        pc: Pc,
    },
    /// An expression has no value.
    Fault {
        /// Whose.
        tid: Tid,
        /// Where.
        pc: Pc,
        /// Why.
        fault: Fault,
    },
    /// What happens here depends on numbers that the search does not tell apart.
    Unclear {
        /// Whose step.
        tid: Tid,
        /// Where.
        pc: Pc,
    },
    /// Nobody can move, and not all are done.
    Deadlock {
        /// The first thread that waits.
        tid: Tid,
        /// Where.
        pc: Pc,
    },
}

/// A program state in working form.
#[derive(Debug)]
pub struct World<S> {
    /// Program counters.
    pub pcs: Vec<Pc>,
    /// Registers of all threads, one thread after the other.
    pub regs: Vec<Value>,
    /// The thread inside an uninterrupted block, if any.
    pub bus: Option<Tid>,
    /// The memory.
    pub memory: S,
}

impl<S: Clone> Clone for World<S> {
    fn clone(&self) -> Self {
        World {
            pcs: self.pcs.clone(),
            regs: self.regs.clone(),
            bus: self.bus,
            memory: self.memory.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.pcs.clone_from(&other.pcs);
        self.regs.clone_from(&other.regs);
        self.bus = other.bus;
        self.memory.clone_from(&other.memory);
    }
}

/// What a thread can do in a state.
#[derive(Clone, Debug)]
enum Pending {
    /// Nothing, ever again.
    Done,
    /// Nothing: evaluating its next instruction fails.
    Faulty,
    /// This, if the memory allows it.
    Wants(Action),
}

/// One worker's working memory.
pub struct Scratch<S> {
    world: World<S>,
    pub(crate) next: World<S>,
    /// Worlds of nondeterministic choices not yet followed.
    choices: Vec<World<S>>,
    pool: Vec<World<S>>,
    /// Choice points the thread being followed has come to, packed.
    forks: Vec<Vec<u64>>,
    pending: Vec<Pending>,
    words: Vec<u64>,
    /// `world` as it was packed, and who has moved since.
    parent: Vec<u64>,
    mover: Option<Tid>,
    /// What the reduced part of the expansion of `world` left to do.
    begun: Option<system::Begun>,
    /// For symmetry: images of a world, the smallest packed image so far, the threads' keys, and neighbours
    /// whose keys are equal.
    image: World<S>,
    spare: World<S>,
    smallest: Vec<u64>,
    thread_keys: ThreadKeys,
    keys: Vec<u64>,
    ties: Vec<(usize, usize)>,
    /// What was done to get to the image in hand, and to the one that was packed last.
    turns: Vec<Turn>,
    chosen: Vec<Turn>,
    /// What makes counters small, and a world in which they are.
    lowerings: Vec<Lowering>,
    lowered: World<S>,
}

/// The product of a program and a memory.
pub struct Product<M: Monitor> {
    /// The program.
    pub program: Arc<Program>,
    /// The memory.
    pub memory: M,
    reductions: Reductions,
    pub(crate) symmetries: Symmetries,
    /// For each orbit of threads that can be exchanged.
    rotations: Vec<Rotations<M::Renaming>>,
    layout: Layout,
    first_reg: Vec<usize>,
    live: Vec<Vec<RegSet>>,
    futures: Vec<Vec<Future>>,
    /// Per thread and program counter: what the thread may use, before the step there and after it.
    prospects: Vec<Vec<M::Prospect>>,
    /// Per thread and program counter: what may be accessed first from there on.
    next_accesses: Vec<Vec<Future>>,
    /// Per thread and program counter: does the thread rest there because of a choice?
    choice_points: Vec<Vec<bool>>,
    /// Per thread and program counter: can only the thread itself notice the step?
    private: Vec<Vec<bool>>,
    looks: Looks,
    counters: Vec<Counters>,
    /// May a search come to states that do not fit their bits?
    may_not_fit: bool,
    watches: Vec<Watch>,
    /// Per thread and program counter: may the thread never leave it?
    ends: Vec<Vec<Option<End>>>,
    uses_bus: bool,
    wrapped: Vec<Vec<AtomicBool>>,
}

impl<M: Monitor> Product<M> {
    /// The product of `program` and `memory`, which must have been made for it. `symmetries` are
    /// those to use, and `possible` must be closed under them and allow `counters` any value.
    pub fn new(
        program: &Arc<Program>,
        possible: &PossibleValues,
        symmetries: Symmetries,
        memory: M,
        reductions: Reductions,
        counters: &[Counters],
    ) -> Self {
        let counters: Vec<_> = counters.iter().filter(|c| memory.can_lower(c)).cloned().collect();
        let mut first_reg = vec![0];
        let mut threads = Vec::new();
        let mut at = 0;
        for (t, thread) in program.threads.iter().enumerate() {
            let width = |r| {
                let (min, max) = possible
                    .register(t, Reg::from(r))
                    .bounds(program.domain)
                    .expect("a register starts at 0");
                (min, width_of(min, max))
            };
            let regs: Vec<_> = (0..thread.registers.len()).map(width).collect();
            let pc = width_for(thread.code.len() as u64);
            let bits = pc + regs.iter().map(|(_, width)| width).sum::<u32>();
            first_reg.push(first_reg[t] + regs.len());
            threads.push(ThreadLayout { at, pc, regs });
            at += bits;
        }
        let uses_bus = program.steps().any(|(_, _, step)| step.instr == Instr::BusLock);
        let bus = if uses_bus { width_for(program.threads.len() as u64 + 1) } else { 0 };
        let bits = at + bus + memory.bits();
        let core_bytes = bits.div_ceil(8).max(1);
        let layout = Layout {
            threads,
            bus,
            shared_at: at,
            core_padding: 8 * core_bytes - bits,
            core_bytes: core_bytes as usize,
            bytes: (core_bytes + memory.monitor_bits().div_ceil(8)) as usize,
        };
        let fence = memory.fence_location();
        Product {
            program: Arc::clone(program),
            reductions,
            rotations: symmetries
                .orbits
                .iter()
                .map(|orbit| {
                    Rotations::new(orbit, |alpha| memory.renaming(alpha, &symmetries.types))
                })
                .collect(),
            layout,
            first_reg,
            live: program.threads.iter().map(live_registers).collect(),
            futures: program.threads.iter().map(|thread| futures(thread, fence)).collect(),
            next_accesses: program.threads.iter().map(|t| next_accesses(t, fence)).collect(),
            prospects: program
                .threads
                .iter()
                .map(|thread| {
                    let uses = uses(program, thread, fence, |instr| memory.settles(instr));
                    let steps = thread.code.iter().zip(&uses);
                    steps.map(|(step, uses)| memory.prospect(&step.instr, uses)).collect()
                })
                .collect(),
            choice_points: program
                .threads
                .iter()
                .map(|thread| {
                    let is_choice = |instr: &Instr| {
                        matches!(instr, Instr::Jump { targets, .. } if targets.len() > 1)
                    };
                    let late = reductions.late_choices && reductions.local_steps;
                    thread.code.iter().map(|step| late && is_choice(&step.instr)).collect()
                })
                .collect(),
            private: program
                .threads
                .iter()
                .map(|thread| thread.code.iter().map(|s| is_private(&s.instr, fence)).collect())
                .collect(),
            ends: match reductions.dead_registers {
                true => retire::ends(program, &counters),
                false => Vec::new(),
            },
            watches: counters
                .iter()
                .enumerate()
                .filter_map(|(class, counters)| Watch::new(program, class, counters))
                .collect(),
            may_not_fit: !counters.is_empty(),
            counters,
            looks: Looks::new(program, &symmetries),
            uses_bus,
            wrapped: program
                .threads
                .iter()
                .map(|thread| thread.code.iter().map(|_| AtomicBool::new(false)).collect())
                .collect(),
            memory,
            symmetries,
        }
    }

    /// Are all of these counters made small? Some memories cannot do that with all.
    pub fn lowers(&self, counters: &[Counters]) -> bool {
        self.counters.len() == counters.len()
    }

    /// May a finding be one that the program does not have, because counters were lowered?
    pub fn lowers_counters(&self) -> bool {
        !self.counters.is_empty()
    }

    /// Where results wrapped around during the exploration.
    pub fn wrapped(&self) -> Vec<(Tid, Pc)> {
        let mut places = Vec::new();
        for (t, thread) in self.wrapped.iter().enumerate() {
            for (pc, wrapped) in thread.iter().enumerate() {
                if wrapped.load(Ordering::Relaxed) {
                    places.push((Tid::from(t), Pc::from(pc)));
                }
            }
        }
        places
    }

    /// The state in which nothing has happened.
    pub fn initial_world(&self) -> World<M::State> {
        World {
            pcs: self.program.threads.iter().map(|thread| thread.entry).collect(),
            regs: vec![0; *self.first_reg.last().expect("one more than threads")],
            bus: None,
            memory: self.memory.initial(),
        }
    }

    /// Thread `tid`'s registers in `world`.
    #[inline(always)]
    pub fn regs<'w>(&self, world: &'w World<M::State>, tid: Tid) -> &'w [Value] {
        &world.regs[self.first_reg[tid.index()]..self.first_reg[tid.index() + 1]]
    }

    #[inline(always)]
    fn set(&self, world: &mut World<M::State>, tid: Tid, reg: Reg, value: Value) {
        world.regs[self.first_reg[tid.index()] + reg.index()] = value;
    }

    fn note(&self, tid: Tid, pc: Pc, notes: Notes) {
        if notes.wrapped {
            self.wrapped[tid.index()][pc.index()].store(true, Ordering::Relaxed);
        }
    }

    /// The location an action touches and whether it may write; none if it is private.
    fn footprint(&self, action: &Action) -> Option<(Loc, bool)> {
        match action {
            Action::Fence(mode) => {
                self.memory.fence_location().filter(|_| mode.updates()).map(|fence| (fence, true))
            }
            _ => action.loc().map(|loc| (loc, action.may_write())),
        }
    }

    fn pending<F: FnMut(Finding<M::Violation>)>(
        &self,
        world: &World<M::State>,
        tid: Tid,
        mut report: F,
    ) -> Pending {
        let pc = world.pcs[tid.index()];
        let mut notes = Notes::default();
        let instr = &self.program.step(tid, pc).instr;
        let action =
            thread::next_action(instr, self.regs(world, tid), self.program.domain, &mut notes);
        self.note(tid, pc, notes);
        match action {
            Ok(Action::Halt) => Pending::Done,
            Ok(action) => {
                if self.depends_on_below_window(world, tid, pc, &action) {
                    report(Finding::Unclear { tid, pc });
                }
                Pending::Wants(action)
            }
            Err(fault) => {
                report(Finding::Fault { tid, pc, fault });
                Pending::Faulty
            }
        }
    }

    /// Takes one step of `tid` in `world`, where it wants `action`. Alternatives of a
    /// nondeterministic jump go to `choices`. Says whether it could.
    #[inline]
    fn step(
        &self,
        world: &mut World<M::State>,
        tid: Tid,
        action: &Action,
        choices: &mut Vec<World<M::State>>,
        pool: &mut Vec<World<M::State>>,
        follow: &mut impl Follow<M>,
    ) -> bool {
        let pc = world.pcs[tid.index()];
        let step = self.program.step(tid, pc);
        if step.instr.is_local() {
            return self.step_locally(world, tid, choices, pool, follow);
        }
        let mut notes = Notes::default();
        let attempt = Attempt { tid, instr: &step.instr, action };
        let effect = self.memory.step(&mut world.memory, attempt, (), &mut notes);
        self.note(tid, pc, notes);
        let read = match effect {
            Ok(Effect::Done(read, ())) => read,
            Ok(Effect::Wrong(violation, read, ())) => {
                follow.finding(Finding::Violation { tid, pc, violation });
                read
            }
            Ok(Effect::Blocked) => return false,
            Err(fault) => {
                follow.finding(Finding::Fault { tid, pc, fault });
                return false;
            }
        };
        follow.took(tid, pc, action, read);
        match &step.instr {
            Instr::BusLock => world.bus = Some(tid),
            Instr::BusUnlock => world.bus = None,
            instr => {
                if let (Some(dst), Some(value)) = (thread::destination(instr), read) {
                    self.set(world, tid, dst, value);
                }
            }
        }
        world.pcs[tid.index()] = step.next;
        true
    }

    /// Takes one local step of `tid` in `world`, as [`Product::step`] does.
    #[inline(always)]
    fn step_locally(
        &self,
        world: &mut World<M::State>,
        tid: Tid,
        choices: &mut Vec<World<M::State>>,
        pool: &mut Vec<World<M::State>>,
        follow: &mut impl Follow<M>,
    ) -> bool {
        let at = world.pcs[tid.index()];
        let mut pc = at;
        let mut notes = Notes::default();
        let thread = &self.program.threads[tid.index()];
        let regs = &mut world.regs[self.first_reg[tid.index()]..self.first_reg[tid.index() + 1]];
        let took = local_step(thread, self.program.domain, &mut pc, regs, &mut notes);
        self.note(tid, at, notes);
        match took {
            Took::On => {
                self.memory.local_step(&mut world.memory, tid, &thread.code[at.index()].instr);
                follow.took(tid, at, &Action::Local, None);
            }
            Took::Rests(Rest::Choice(targets)) => {
                follow.took(tid, at, &Action::Local, None);
                let Some((&first, others)) = targets.split_first() else { return false };
                for &target in others {
                    let mut other = pool.pop().unwrap_or_else(|| world.clone());
                    other.clone_from(world);
                    other.pcs[tid.index()] = target;
                    choices.push(other);
                }
                follow.forked(others.len());
                pc = first;
            }
            Took::Rests(rest) => {
                match rest {
                    Rest::Stop(Stop::Fault(fault)) => {
                        follow.finding(Finding::Fault { tid, pc, fault });
                    }
                    Rest::Stop(Stop::Assertion) => follow.finding(Finding::Assertion { tid, pc }),
                    _ => {}
                }
                return false;
            }
        }
        world.pcs[tid.index()] = pc;
        true
    }
}

/// Can only its own thread notice the step, if fences access `fence`?
fn is_private(instr: &Instr, fence: Option<Loc>) -> bool {
    match instr {
        Instr::Fence(mode) => is_private_fence(*mode, fence),
        Instr::Begin | Instr::End | Instr::LightFence(_) => true,
        Instr::Halt => false,
        other => other.is_local(),
    }
}
