//! A program and a memory, explored together.
//!
//! [`Product`] is the bridge between `model` and `search`: it packs the threads' program counters
//! and registers and the memory's state into one fixed-width state and generates successors. The
//! reductions live here, because each is an argument about programs:
//!
//! * *local steps*: assignments, jumps and fences that only their thread can notice are taken at
//!   once, with the access before them, so threads always rest before an access;
//! * *late choices*: a thread that comes to a `oneof` rests before it and chooses when it makes the
//!   access it leads to, so that states do not multiply with choices that nobody can see yet. What
//!   a memory could object to behind the choice is looked at on arrival;
//! * *partial order*: accesses of different threads commute unless they touch the same location and
//!   one writes. If what some threads do next conflicts with nothing the others may ever do, only
//!   those threads need to move now (a persistent set), provided one of them reaches a new state;
//! * *subsumption*: monitors only remember more and object more; of two states that differ only in
//!   them, the one whose monitors remember more stands for the other ([`Memory::monitor_bits`]);
//! * *dead registers* are zeroed, so that states differing only in them become one;
//! * *symmetry*: of states that differ by an automorphism of the program, one is kept
//!   ([`model::analysis::symmetry`]).

use crate::reduce::Reductions;
use model::analysis::access::{Future, futures, next_accesses};
use model::analysis::liveness::live_registers;
use model::analysis::symmetry::{Automorphism, Symmetries};
use model::analysis::values::PossibleValues;
use model::bits::{BitReader, BitWriter, width_for};
use model::memory::{Effect, Memory, is_private_fence};
use model::thread::{self, Action};
use model::{Fault, Instr, Loc, Notes, Pc, Program, Reg, RegSet, Tid, Value};
use search::Sink;
use std::sync::atomic::{AtomicBool, Ordering};

/// Local steps taken in one go. A thread that has not come to an access by then rests where it is,
/// so that a loop of local steps does not hold up the search.
const LOCAL_STEPS: u32 = 1000;

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
    /// Nobody can move, and these threads are not done.
    Deadlock {
        /// The threads that wait, and where.
        waiting: Vec<(Tid, Pc)>,
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
    /// For symmetry: an image of a world, the smallest image so far, and the threads' keys.
    image: World<S>,
    smallest: Vec<u64>,
    keys: Vec<u64>,
}

/// Who watches a thread being followed: a search, or [`crate::replay`].
pub(crate) trait Follow<M: Memory> {
    /// The thread took a step, having read this.
    #[inline(always)]
    fn took(&mut self, tid: Tid, pc: Pc, action: &Action, read: Option<Value>) {
        let _ = (tid, pc, action, read);
    }

    /// The step just taken could have led to this many other places, which are followed later.
    #[inline(always)]
    fn forked(&mut self, alternatives: usize) {
        let _ = alternatives;
    }

    /// The thread has come to rest in `scratch.next`; says whether that state is new. If there are
    /// alternatives left, the last one is followed next.
    fn rests(&mut self, product: &Product<'_, M>, scratch: &mut Scratch<M::State>) -> bool;

    /// The thread came to where it has been before; what follows is known. If there are
    /// alternatives left, the last one is followed next.
    #[inline(always)]
    fn dropped(&mut self) {}

    /// Something is worth reporting.
    fn finding(&mut self, finding: Finding<M::Violation>);
}

/// A search that follows a thread.
struct Searching<'a, K>(&'a mut K);

impl<M: Memory, K: Sink<Finding<M::Violation>>> Follow<M> for Searching<'_, K> {
    #[inline(always)]
    fn rests(&mut self, product: &Product<'_, M>, scratch: &mut Scratch<M::State>) -> bool {
        self.0.state(product.packed(scratch))
    }

    fn finding(&mut self, finding: Finding<M::Violation>) {
        self.0.finding(finding);
    }
}

/// What became of a thread that was told to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Moved {
    /// It could.
    enabled: bool,
    /// It reached a state not seen before.
    new: bool,
}

/// Where a thread being followed came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    /// Through a private step.
    Further,
    /// To where it rests.
    ToRest,
    /// To a choice it has been at before, which is being followed already.
    Around,
}

/// How wide the packed fields are.
#[derive(Clone, Debug)]
struct Layout {
    pcs: Vec<u32>,
    /// Smallest value and width per register, one thread after the other.
    regs: Vec<(Value, u32)>,
    bus: u32,
    /// Bits of all but the monitors, filled up to whole bytes.
    core_padding: u32,
    core_bytes: usize,
    bytes: usize,
}

/// How a thread looks to the first thread it can be exchanged with.
#[derive(Clone, Debug)]
struct Orbit {
    first: u32,
    /// The image of each program counter.
    pcs: Vec<u32>,
    /// Per program counter and register a weight that is the same for its image; none for
    /// registers whose values are renamed.
    registers: Vec<Vec<Option<u64>>>,
}

impl Orbit {
    fn new(program: &Program, symmetries: &Symmetries, tid: Tid) -> Self {
        let t = tid.index();
        let home = symmetries
            .elements
            .iter()
            .min_by_key(|alpha| alpha.threads[t])
            .expect("there is the identity");
        let opaque = |pc: usize, r: usize| {
            let class = symmetries.types.register(tid, Pc::from(pc), Reg::from(r));
            symmetries.elements.iter().any(|alpha| alpha.renames(class))
        };
        let thread = &program.threads[t];
        Orbit {
            first: home.threads[t].0,
            pcs: home.pcs[t].iter().map(|pc| pc.0).collect(),
            registers: (0..thread.code.len())
                .map(|pc| {
                    (0..thread.registers.len())
                        .map(|r| {
                            let image = u64::from(home.registers[t][r].0) + 1;
                            (!opaque(pc, r)).then(|| image.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
                        })
                        .collect()
                })
                .collect(),
        }
    }
}

/// The product of a program and a memory.
pub struct Product<'p, M: Memory> {
    /// The program.
    pub program: &'p Program,
    /// The memory.
    pub memory: M,
    reductions: Reductions,
    pub(crate) symmetries: Symmetries,
    renamings: Vec<M::Renaming>,
    layout: Layout,
    first_reg: Vec<usize>,
    live: Vec<Vec<RegSet>>,
    futures: Vec<Vec<Future>>,
    /// Per thread and program counter: what may be accessed first from there on.
    next_accesses: Vec<Vec<Future>>,
    /// Per thread and program counter: does the thread rest there because of a choice?
    choice_points: Vec<Vec<bool>>,
    orbits: Vec<Orbit>,
    uses_bus: bool,
    wrapped: Vec<Vec<AtomicBool>>,
}

impl<'p, M: Memory> Product<'p, M> {
    /// The product of `program` and `memory`, which must have been made for it. `symmetries` are
    /// those to use, and `possible` must be closed under them.
    pub fn new(
        program: &'p Program,
        possible: &PossibleValues,
        symmetries: Symmetries,
        memory: M,
        reductions: Reductions,
    ) -> Self {
        let mut first_reg = Vec::new();
        let mut regs = Vec::new();
        for (t, thread) in program.threads.iter().enumerate() {
            first_reg.push(regs.len());
            for r in 0..thread.registers.len() {
                let (min, max) = possible
                    .register(t, Reg::from(r))
                    .bounds(program.domain)
                    .expect("a register starts at 0");
                regs.push((min, width_for((i64::from(max) - i64::from(min) + 1) as u64)));
            }
        }
        first_reg.push(regs.len());
        let uses_bus = program.steps().any(|(_, _, step)| step.instr == Instr::BusLock);
        let pcs: Vec<u32> =
            program.threads.iter().map(|thread| width_for(thread.code.len() as u64)).collect();
        let bus = if uses_bus { width_for(program.threads.len() as u64 + 1) } else { 0 };
        let bits = pcs.iter().sum::<u32>()
            + regs.iter().map(|(_, width)| width).sum::<u32>()
            + bus
            + memory.bits();
        let core_bytes = bits.div_ceil(8).max(1);
        let layout = Layout {
            pcs,
            regs,
            bus,
            core_padding: 8 * core_bytes - bits,
            core_bytes: core_bytes as usize,
            bytes: (core_bytes + memory.monitor_bits().div_ceil(8)) as usize,
        };
        let fence = memory.fence_location();
        Product {
            program,
            reductions,
            renamings: symmetries.elements[1..]
                .iter()
                .map(|alpha| memory.renaming(alpha, &symmetries.types))
                .collect(),
            layout,
            first_reg,
            live: program.threads.iter().map(live_registers).collect(),
            futures: program.threads.iter().map(|thread| futures(thread, fence)).collect(),
            next_accesses: program.threads.iter().map(|t| next_accesses(t, fence)).collect(),
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
            orbits: program.tids().map(|tid| Orbit::new(program, &symmetries, tid)).collect(),
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
            regs: vec![0; self.layout.regs.len()],
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

    /// Can only its own thread notice the step?
    fn is_private(&self, instr: &Instr) -> bool {
        match instr {
            Instr::Fence(mode) => is_private_fence(*mode, self.memory.fence_location()),
            Instr::Begin | Instr::End | Instr::LightFence(_) => true,
            Instr::Halt => false,
            other => other.is_local(),
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
            Ok(action) => Pending::Wants(action),
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
        let domain = self.program.domain;
        let mut notes = Notes::default();
        let mut next = step.next;
        let evaluated = match &step.instr {
            Instr::Assign { value, .. } => value.eval(self.regs(world, tid), domain, &mut notes),
            Instr::Jump { cond, .. } | Instr::Assert(cond) | Instr::Assume(cond) => {
                cond.eval(self.regs(world, tid), domain, &mut notes)
            }
            _ => Ok(0),
        };
        let value = match evaluated {
            Ok(value) => value,
            Err(fault) => {
                follow.finding(Finding::Fault { tid, pc, fault });
                return false;
            }
        };
        let effect = self.memory.perform(&mut world.memory, tid, &step.instr, action, &mut notes);
        self.note(tid, pc, notes);
        let read = match effect {
            Ok(Effect::Done(read)) => read,
            Ok(Effect::Wrong(violation, read)) => {
                follow.finding(Finding::Violation { tid, pc, violation });
                read
            }
            Ok(Effect::Blocked) => return false,
            Err(fault) => {
                follow.finding(Finding::Fault { tid, pc, fault });
                return false;
            }
        };
        if !matches!(&step.instr, Instr::Assert(_) | Instr::Assume(_) if value == 0) {
            follow.took(tid, pc, action, read);
        }
        match &step.instr {
            Instr::Assign { dst, .. } => self.set(world, tid, *dst, value),
            Instr::Jump { targets, .. } if value != 0 => {
                let Some((&first, others)) = targets.split_first() else { return false };
                for &target in others {
                    let mut other = pool.pop().unwrap_or_else(|| world.clone());
                    other.clone_from(world);
                    other.pcs[tid.index()] = target;
                    choices.push(other);
                }
                follow.forked(others.len());
                next = first;
            }
            Instr::Assert(_) if value == 0 => {
                follow.finding(Finding::Assertion { tid, pc });
                return false;
            }
            Instr::Assume(_) if value == 0 => return false,
            Instr::BusLock => world.bus = Some(tid),
            Instr::BusUnlock => world.bus = None,
            instr => {
                if let (Some(dst), Some(value)) = (thread::destination(instr), read) {
                    self.set(world, tid, dst, value);
                }
            }
        }
        world.pcs[tid.index()] = next;
        true
    }

    /// Follows `tid`, which has just come to a new program counter in `scratch.next`, through its
    /// private steps to where it comes to rest.
    fn settle(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) -> bool {
        let mut new = false;
        let mut budget = LOCAL_STEPS;
        scratch.forks.clear();
        loop {
            new |= self.settle_branch(scratch, tid, &mut budget, follow);
            if !next_choice(scratch) {
                return new;
            }
        }
    }

    /// Follows `tid` in `scratch.next` to where it comes to rest, leaving alternatives alone. Says
    /// whether that state is new.
    fn settle_branch(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        budget: &mut u32,
        follow: &mut impl Follow<M>,
    ) -> bool {
        loop {
            let pc = scratch.next.pcs[tid.index()];
            if self.choice_points[tid.index()][pc.index()] {
                self.forget_if_dead(scratch, tid, pc);
                self.look_ahead(scratch, tid, pc, follow);
                return follow.rests(self, scratch);
            }
            match self.settle_once(scratch, tid, budget, follow) {
                Came::Further => {}
                Came::ToRest => return follow.rests(self, scratch),
                Came::Around => {
                    follow.dropped();
                    return false;
                }
            }
        }
    }

    /// Does `tid` rest at `pc` because it has a choice there?
    pub(crate) fn rests_before_choice(&self, tid: Tid, pc: Pc) -> bool {
        self.choice_points[tid.index()][pc.index()]
    }

    /// Lets the memory look at the accesses behind the choice at `pc`, to which `tid` has come.
    fn look_ahead(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        pc: Pc,
        follow: &mut impl Follow<M>,
    ) {
        let accesses = &self.next_accesses[tid.index()][pc.index()];
        if !M::OBJECTS || !self.memory.may_object(&scratch.next.memory, tid, accesses) {
            return;
        }
        let here = scratch.next.clone();
        let waiting = std::mem::take(&mut scratch.choices);
        follow.forked(1);
        self.through_choices(scratch, tid, follow, |_, _, follow| follow.dropped());
        scratch.choices = waiting;
        scratch.next = here;
    }

    /// Follows `tid` from a choice in `scratch.next` through all alternatives up to the first
    /// access of each, where `arrived` takes over.
    fn through_choices<W: Follow<M>>(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut W,
        mut arrived: impl FnMut(&Self, &mut Scratch<M::State>, &mut W),
    ) {
        let mut budget = LOCAL_STEPS;
        scratch.forks.clear();
        loop {
            loop {
                match self.settle_once(scratch, tid, &mut budget, follow) {
                    Came::Further => {}
                    Came::ToRest => {
                        arrived(self, scratch, follow);
                        break;
                    }
                    Came::Around => {
                        follow.dropped();
                        break;
                    }
                }
            }
            if !next_choice(scratch) {
                return;
            }
        }
    }

    /// Looks at where `tid` has arrived and, if the step there is private, takes it.
    #[inline(always)]
    fn settle_once(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        budget: &mut u32,
        follow: &mut impl Follow<M>,
    ) -> Came {
        let pc = scratch.next.pcs[tid.index()];
        self.forget_if_dead(scratch, tid, pc);
        let world = &mut scratch.next;
        let instr = &self.program.step(tid, pc).instr;
        let private = self.reductions.local_steps && *budget > 0 && self.is_private(instr);
        if !M::OBJECTS && !private {
            return Came::ToRest;
        }
        let pending = self.pending(world, tid, |finding| follow.finding(finding));
        let Pending::Wants(action) = &pending else { return Came::ToRest };
        if M::OBJECTS
            && let Some(violation) = self.memory.arrive(&world.memory, tid, instr, action)
        {
            follow.finding(Finding::Violation { tid, pc, violation });
        }
        if !private {
            return Came::ToRest;
        }
        *budget -= 1;
        if matches!(instr, Instr::Jump { targets, .. } if targets.len() > 1) {
            // A loop of choices without an access would be followed again and again.
            let mut packed = Vec::new();
            self.pack(world, &mut packed);
            if scratch.forks.contains(&packed) {
                return Came::Around;
            }
            scratch.forks.push(packed);
        }
        match self.step(world, tid, action, &mut scratch.choices, &mut scratch.pool, follow) {
            true => Came::Further,
            false => Came::ToRest,
        }
    }

    /// Renaming knows nothing of dead registers' values, so symmetry needs them gone, too.
    #[inline(always)]
    fn forget_if_dead(&self, scratch: &mut Scratch<M::State>, tid: Tid, pc: Pc) {
        if self.reductions.dead_registers || !self.renamings.is_empty() {
            self.forget_dead(&mut scratch.next, tid, pc);
        }
    }

    #[inline]
    fn forget_dead(&self, world: &mut World<M::State>, tid: Tid, pc: Pc) {
        let live = self.live[tid.index()][pc.index()];
        let first = self.first_reg[tid.index()];
        let count = self.first_reg[tid.index() + 1] - first;
        for (r, value) in world.regs[first..first + count].iter_mut().enumerate() {
            if !live.contains(Reg(r as u32)) {
                *value = 0;
            }
        }
        self.memory.forget_dead(&mut world.memory, tid, live);
    }

    /// Moves `tid` from `scratch.world`, where it wants what `scratch.pending` says.
    fn fire(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) -> Moved {
        let Pending::Wants(action) = &scratch.pending[tid.index()] else {
            return Moved::default();
        };
        if scratch.world.bus.is_some_and(|holder| holder != tid) {
            return Moved::default();
        }
        let pc = scratch.world.pcs[tid.index()];
        scratch.next.clone_from(&scratch.world);
        if self.choice_points[tid.index()][pc.index()] {
            return self.fire_choice(scratch, tid, follow);
        }
        let (choices, pool) = (&mut scratch.choices, &mut scratch.pool);
        let enabled = self.step(&mut scratch.next, tid, action, choices, pool, follow);
        Moved { enabled, new: enabled && self.settle(scratch, tid, follow) }
    }

    /// Moves `tid`, which rests before a choice in `scratch.next`: every alternative that leads to
    /// an access which the memory allows.
    fn fire_choice<W: Follow<M>>(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut W,
    ) -> Moved {
        let mut moved = Moved::default();
        self.through_choices(scratch, tid, follow, |product, scratch, follow| {
            let pending = product.pending(&scratch.next, tid, |finding| follow.finding(finding));
            let stays = match &pending {
                // Behind the choice the thread is done, or runs on without an access: it can rest.
                Pending::Done => true,
                Pending::Faulty => false,
                Pending::Wants(action) => {
                    let Scratch { next, choices, pool, .. } = scratch;
                    if product.is_private(&product.program.step(tid, next.pcs[tid.index()]).instr) {
                        true
                    } else if product.step(next, tid, action, choices, pool, follow) {
                        let mut budget = LOCAL_STEPS;
                        moved.enabled = true;
                        moved.new |= product.settle_branch(scratch, tid, &mut budget, follow);
                        return;
                    } else {
                        false
                    }
                }
            };
            if stays {
                moved.enabled = true;
                moved.new |= follow.rests(product, scratch);
            } else {
                follow.dropped();
            }
        });
        moved
    }

    /// Moves `tid` from `world`.
    pub(crate) fn fire_from(
        &self,
        scratch: &mut Scratch<M::State>,
        world: &World<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) {
        scratch.world.clone_from(world);
        scratch.pending[tid.index()] = self.pending(world, tid, |finding| follow.finding(finding));
        self.fire(scratch, tid, follow);
    }

    /// Lets `tid` come to rest from `world`, in which it has not moved yet.
    pub(crate) fn settle_from(
        &self,
        scratch: &mut Scratch<M::State>,
        world: &World<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) {
        scratch.next.clone_from(world);
        self.settle(scratch, tid, follow);
    }

    /// The smallest set of threads, as a bit mask, whose next actions conflict with nothing the
    /// others may ever do. `movable` are the threads that are not done.
    fn persistent_set(&self, scratch: &Scratch<M::State>, movable: u32) -> u32 {
        let mut best = movable;
        for start in threads(movable) {
            let mut set = 1u32 << start.0;
            let mut open = set;
            while open != 0 && set != movable {
                let tid = Tid(open.trailing_zeros());
                open &= open - 1;
                let Pending::Wants(action) = &scratch.pending[tid.index()] else { continue };
                let pc = scratch.world.pcs[tid.index()];
                let at_choice = self.choice_points[tid.index()][pc.index()];
                let footprint = self.footprint(action);
                for other in threads(movable & !set) {
                    let other_pc = scratch.world.pcs[other.index()];
                    let future = &self.futures[other.index()][other_pc.index()];
                    let conflict = match footprint {
                        _ if at_choice => {
                            self.next_accesses[tid.index()][pc.index()].conflicts(future)
                        }
                        Some((loc, true)) => future.accesses.contains(loc),
                        Some((loc, false)) => future.writes.contains(loc),
                        None => false,
                    };
                    if conflict {
                        set |= 1 << other.0;
                        open |= 1 << other.0;
                    }
                }
            }
            if set.count_ones() < best.count_ones() && self.has_enabled(scratch, set) {
                best = set;
            }
        }
        best
    }

    /// Can some thread of the set move?
    fn has_enabled(&self, scratch: &Scratch<M::State>, set: u32) -> bool {
        let values = self.memory.values(&scratch.world.memory);
        threads(set).any(|tid| match &scratch.pending[tid.index()] {
            Pending::Done | Pending::Faulty => false,
            Pending::Wants(Action::BlockingCas { loc, expected, .. }) => {
                values[loc.index()] == *expected
            }
            Pending::Wants(Action::Wait { loc, values: waited, .. }) => {
                waited.contains(&values[loc.index()])
            }
            Pending::Wants(_) => true,
        })
    }

    /// The packed representative of `scratch.next`.
    pub(crate) fn packed<'s>(&self, scratch: &'s mut Scratch<M::State>) -> &'s [u8] {
        if self.renamings.is_empty() {
            self.pack(&scratch.next, &mut scratch.words);
        } else {
            self.pack_smallest_image(scratch);
        }
        &bytemuck::cast_slice(&scratch.words)[..self.layout.bytes]
    }

    /// Packs the representative of the orbit of `scratch.next`: of the images in which threads
    /// that can be exchanged are in ascending order of their keys, the smallest.
    fn pack_smallest_image(&self, scratch: &mut Scratch<M::State>) {
        let Scratch { next, image, words, smallest, keys, .. } = scratch;
        keys.clear();
        keys.extend(self.program.tids().map(|tid| self.key(next, tid)));
        smallest.clear();
        for (k, alpha) in self.symmetries.elements.iter().enumerate() {
            if !self.sorts(alpha, keys) {
                continue;
            }
            match k.checked_sub(1) {
                None => self.pack(next, words),
                Some(k) => {
                    self.rename(alpha, &self.renamings[k], next, image);
                    self.pack(image, words);
                }
            }
            if smallest.is_empty() || *words < *smallest {
                std::mem::swap(words, smallest);
            }
        }
        if smallest.is_empty() {
            // The group was cut short, and what is left of it does not sort these keys.
            self.pack(next, words);
        } else {
            std::mem::swap(words, smallest);
        }
    }

    /// A number that is the same for a thread and its image.
    #[inline]
    fn key(&self, world: &World<M::State>, tid: Tid) -> u64 {
        let t = tid.index();
        let pc = world.pcs[t];
        let orbit = &self.orbits[t];
        let mut key = u64::from(orbit.pcs[pc.index()]);
        for (value, rank) in self.regs(world, tid).iter().zip(&orbit.registers[pc.index()]) {
            if let Some(rank) = rank {
                key = key.wrapping_add((*value as u64 + 1).wrapping_mul(*rank));
            }
        }
        key
    }

    /// Does `alpha` put the threads of each orbit in ascending order of their keys?
    #[inline]
    fn sorts(&self, alpha: &Automorphism, keys: &[u64]) -> bool {
        let mut last = [(u32::MAX, 0); 32];
        for (t, to) in alpha.threads.iter().enumerate() {
            last[to.index()] = (self.orbits[t].first, keys[t]);
        }
        let images = &last[..keys.len()];
        images.iter().enumerate().all(|(k, (orbit, key))| {
            images[..k]
                .iter()
                .rev()
                .find(|(o, _)| o == orbit)
                .is_none_or(|(_, before)| before <= key)
        })
    }

    /// Writes the image of `world` under `alpha` to `image`.
    fn rename(
        &self,
        alpha: &Automorphism,
        renaming: &M::Renaming,
        world: &World<M::State>,
        image: &mut World<M::State>,
    ) {
        let types = &self.symmetries.types;
        for (t, to) in alpha.threads.iter().enumerate() {
            let (tid, pc) = (Tid::from(t), world.pcs[t]);
            image.pcs[to.index()] = alpha.pcs[t][pc.index()];
            for (r, value) in self.regs(world, tid).iter().enumerate() {
                let class = types.register(tid, pc, Reg::from(r));
                let reg = alpha.registers[t][r];
                image.regs[self.first_reg[to.index()] + reg.index()] = alpha.value(class, *value);
            }
        }
        image.bus = world.bus.map(|tid| alpha.threads[tid.index()]);
        self.memory.rename(renaming, &world.memory, &mut image.memory);
    }

    /// Packs `world`.
    #[inline]
    fn pack(&self, world: &World<M::State>, words: &mut Vec<u64>) {
        let mut out = BitWriter::new(words);
        for (pc, width) in world.pcs.iter().zip(&self.layout.pcs) {
            out.push(u64::from(pc.0), *width);
        }
        for (value, (min, width)) in world.regs.iter().zip(&self.layout.regs) {
            out.push((value - min) as u64, *width);
        }
        if self.uses_bus {
            out.push(world.bus.map_or(0, |tid| u64::from(tid.0) + 1), self.layout.bus);
        }
        self.memory.pack(&world.memory, &mut out);
        out.push(0, self.layout.core_padding);
        self.memory.pack_monitors(&world.memory, &mut out);
        out.finish();
        words.resize(self.layout.bytes.div_ceil(8), 0);
    }

    /// Unpacks a state.
    #[inline]
    fn unpack(&self, state: &[u8], words: &mut Vec<u64>, world: &mut World<M::State>) {
        words.clear();
        words.resize(self.layout.bytes.div_ceil(8), 0);
        bytemuck::cast_slice_mut(words)[..state.len()].copy_from_slice(state);
        let mut from = BitReader::new(words);
        for (pc, width) in world.pcs.iter_mut().zip(&self.layout.pcs) {
            *pc = Pc(from.take(*width) as u32);
        }
        for (value, (min, width)) in world.regs.iter_mut().zip(&self.layout.regs) {
            *value = min + from.take(*width) as Value;
        }
        if self.uses_bus {
            world.bus = from.take(self.layout.bus).checked_sub(1).map(|t| Tid(t as u32));
        }
        self.memory.unpack(&mut world.memory, &mut from);
        from.take(self.layout.core_padding);
        self.memory.unpack_monitors(&mut world.memory, &mut from);
    }
}

/// Takes the last alternative not yet followed; says whether there was one.
fn next_choice<S>(scratch: &mut Scratch<S>) -> bool {
    match scratch.choices.pop() {
        Some(other) => {
            let used = std::mem::replace(&mut scratch.next, other);
            scratch.pool.push(used);
            true
        }
        None => false,
    }
}

fn threads(mut set: u32) -> impl Iterator<Item = Tid> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let tid = Tid(set.trailing_zeros());
            set &= set - 1;
            tid
        })
    })
}

impl<M: Memory> search::Model for Product<'_, M> {
    type Scratch = Scratch<M::State>;
    type Finding = Finding<M::Violation>;

    fn state_bytes(&self) -> usize {
        self.layout.bytes
    }

    fn core_bytes(&self) -> usize {
        match self.reductions.subsumption {
            true => self.layout.core_bytes,
            false => self.layout.bytes,
        }
    }

    fn scratch(&self) -> Self::Scratch {
        Scratch {
            world: self.initial_world(),
            next: self.initial_world(),
            choices: Vec::new(),
            pool: Vec::new(),
            forks: Vec::new(),
            pending: vec![Pending::Done; self.program.threads.len()],
            words: Vec::new(),
            image: self.initial_world(),
            smallest: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// A deadlock is worth a warning; it does not make the program wrong.
    fn stops(&self, finding: &Self::Finding) -> bool {
        !matches!(finding, Finding::Deadlock { .. })
    }

    fn initial<K: Sink<Self::Finding>>(&self, scratch: &mut Self::Scratch, sink: &mut K) {
        let (begun, findings) = crate::replay::beginnings(self, scratch);
        for begun in begun {
            scratch.next.clone_from(&begun.world);
            sink.state(self.packed(scratch));
        }
        for noted in findings {
            sink.finding(noted.finding);
        }
    }

    fn expand<K: Sink<Self::Finding>>(
        &self,
        state: &[u8],
        scratch: &mut Self::Scratch,
        sink: &mut K,
    ) {
        self.unpack(state, &mut scratch.words, &mut scratch.world);
        let mut movable = 0u32;
        for tid in self.program.tids() {
            let pending = self.pending(&scratch.world, tid, |finding| sink.finding(finding));
            if !matches!(pending, Pending::Done) {
                movable |= 1 << tid.0;
            }
            scratch.pending[tid.index()] = pending;
        }
        let mut follow = Searching(sink);
        let mut enabled = false;
        let mut rest = movable;
        if self.reductions.partial_order && !self.uses_bus && movable.count_ones() > 1 {
            let first = self.persistent_set(scratch, movable);
            if first != movable {
                let mut new = false;
                for tid in threads(first) {
                    let moved = self.fire(scratch, tid, &mut follow);
                    enabled |= moved.enabled;
                    new |= moved.new;
                }
                if new {
                    return;
                }
                rest &= !first;
            }
        }
        for tid in threads(rest) {
            enabled |= self.fire(scratch, tid, &mut follow).enabled;
        }
        if !enabled {
            self.report_deadlock(scratch, movable, sink);
        }
    }
}

impl<M: Memory> Product<'_, M> {
    /// Nobody moved. Threads stopped by a failed assertion or assumption or a fault are not waiting.
    fn report_deadlock<K: Sink<Finding<M::Violation>>>(
        &self,
        scratch: &Scratch<M::State>,
        movable: u32,
        sink: &mut K,
    ) {
        let waiting: Vec<_> = threads(movable)
            .filter(|tid| {
                let pc = scratch.world.pcs[tid.index()];
                self.rests_before_choice(*tid, pc)
                    || matches!(
                        scratch.pending[tid.index()],
                        Pending::Wants(Action::Wait { .. } | Action::BlockingCas { .. })
                    )
            })
            .map(|tid| (tid, scratch.world.pcs[tid.index()]))
            .collect();
        if !waiting.is_empty() {
            sink.finding(Finding::Deadlock { waiting });
        }
    }
}
