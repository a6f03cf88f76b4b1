//! A program on RC11 as a transition system that `search` explores.
//!
//! Threads rest before an access or a choice: local steps, and fences that only their own thread can notice, are
//! taken together with the access before them. A fence adds an event whose edges all lead into it, so it is possible
//! at any time, and changes nothing for others until its thread accesses memory.
//!
//! *Waiting for one of several values.* A choice of this kind ([`OneOf`]) is made with the access. No run is lost, as a
//! choice is local and commutes with all that others do before the access. Other choices are steps of their own.

mod explore;

use super::pack::{Shape, World};
use super::waiting;
use crate::replay::written;
use analysis::access::{Future, futures};
use analysis::cycles::on_cycle;
use analysis::liveness::live_registers;
use ir::run_local::{Rest, Stop, Took, local_step, run_local};
use ir::thread::{Action, destination, next_action};
use ir::{Condition, Fault, Instr, Loc, Notes, Observed, OneOf, Pc, Program};
use ir::{Quantifier, Reg, RegSet, Tid, Value};
use memory::rc11::{Machine, Violation};
use memory::{Attempt, Effect, Memory};
use std::sync::Arc;

/// What a search of the weak memory finds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Finding {
    /// An assertion fails.
    Assertion(Tid, Pc),
    /// An access races with another.
    Race(Tid, Pc),
    /// A run-time error.
    Fault(Tid, Pc, Fault),
    /// No thread goes on, and these wait.
    Stuck(Vec<(Tid, Pc)>),
    /// A step was left out because a location would have had more stale writes than the bound allows.
    Bound,
    /// A step was left out that no bound on stale writes would let in: more `sc` events would have mattered than can
    /// be told apart, or a thread took too many local steps.
    TooMuch,
    /// A write of a value that threads have no code for; see [`Program::foreseen`].
    Unforeseen,
    /// A final state: registers, then the last value of each location.
    End(Vec<Value>),
    /// All threads are done, in a state that answers `exists` with yes, or refutes what else the condition claims.
    Final,
    /// Nobody goes on though all see the newest writes; these threads wait or spin. See [`mod@graph::waiting`].
    Waiting(Vec<(Tid, Pc)>),
}

/// What a search looks for, besides races, failed assertions, run-time errors and threads that are stuck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seeks {
    /// Nothing.
    Nothing,
    /// All final states.
    Ends,
    /// Final states that this condition asks for.
    Final(Condition),
    /// Threads that wait for ever.
    Waiting,
}

/// What one step of a run did.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub tid: Tid,
    pub pc: Pc,
    /// Where it led the thread.
    pub to: Pc,
    pub action: Action,
    pub read: Option<Value>,
    /// How many newer writes to the location there were.
    pub newer: u8,
}

impl Taken {
    fn local(tid: Tid, pc: Pc, to: Pc) -> Self {
        Taken { tid, pc, to, action: Action::Local, read: None, newer: 0 }
    }
}

/// What a thread can do.
pub(super) enum Pending<'c> {
    /// Nothing, ever again.
    Nothing,
    /// A choice between places.
    Choice(&'c [Pc]),
    /// One of these, of one location, if the memory allows it: the places that a choice leads to.
    OneOf(Vec<(Pc, Action)>),
    /// This, if the memory allows it.
    Access(Action),
}

/// Where a thread came.
enum Came {
    ToRest,
    /// Further than is looked at; see [`Finding::TooMuch`].
    TooFar,
}

/// A program on RC11.
pub struct System {
    pub(crate) program: Arc<Program>,
    pub(super) machine: Machine,
    shape: Shape,
    first_reg: Vec<usize>,
    live: Vec<Vec<RegSet>>,
    pub(super) futures: Vec<Vec<Future>>,
    /// Per thread and program counter: may control come back to it?
    pub(super) on_cycle: Vec<Vec<bool>>,
    one_of: OneOf,
    pub(super) seeks: Seeks,
    reduce: bool,
}

impl System {
    /// The program with at most `stale` stale writes of a location; `None` if it is too large for the memory, or has
    /// steps that RC11 gives no meaning.
    pub fn new(program: &Arc<Program>, stale: usize, reduce: bool) -> Option<Self> {
        System::on(Machine::new(program, stale)?, program, reduce)
    }

    /// The program's interleavings; `None` as above.
    pub fn interleaving(program: &Arc<Program>, reduce: bool) -> Option<Self> {
        System::on(Machine::interleaving(program)?, program, reduce)
    }

    fn on(machine: Machine, program: &Arc<Program>, reduce: bool) -> Option<Self> {
        let unknown = |instr: &Instr| {
            matches!(
                instr,
                Instr::BusLock
                    | Instr::BusUnlock
                    | Instr::LightFence(_)
                    | Instr::Begin
                    | Instr::End
            )
        };
        if program
            .steps()
            .any(|(_, _, step)| unknown(&step.instr) || step.instr.has_partial_modes())
            || program.threads.len() > 32
        {
            return None;
        }
        let mut first_reg = vec![0];
        for thread in &program.threads {
            first_reg.push(first_reg.last().unwrap_or(&0) + thread.registers.len());
        }
        let start = World {
            pcs: program.threads.iter().map(|thread| thread.entry).collect(),
            regs: vec![0; *first_reg.last().unwrap_or(&0)],
            views: machine.initial(),
        };
        let fence = machine.fence_location();
        Some(System {
            shape: Shape::new(start, machine.seen_by_fences()),
            first_reg,
            live: program.threads.iter().map(live_registers).collect(),
            futures: program.threads.iter().map(|thread| futures(thread, fence)).collect(),
            on_cycle: program.threads.iter().map(on_cycle).collect(),
            one_of: OneOf::of(program),
            machine,
            program: Arc::clone(program),
            seeks: Seeks::Nothing,
            reduce,
        })
    }

    /// The same system, with more findings. Registers that these are about are kept to the end.
    pub fn seeking(mut self, seeks: Seeks) -> Self {
        for (tid, live) in self.live.iter_mut().enumerate() {
            let all = (0..self.program.threads[tid].registers.len()).map(Reg::from);
            let kept = all.filter(|&reg| match &seeks {
                Seeks::Nothing | Seeks::Waiting => false,
                Seeks::Ends => true,
                Seeks::Final(condition) => {
                    condition.observed.contains(&Observed::Register(Tid::from(tid), reg))
                }
            });
            let kept = kept.fold(RegSet::default(), |set, reg| set.union(RegSet::one(reg)));
            live.iter_mut().for_each(|live| *live = live.union(kept));
        }
        self.seeks = seeks;
        self
    }

    /// How many stale writes of a location are kept at most.
    pub fn stale(&self) -> usize {
        self.machine.stale()
    }

    pub(super) fn regs<'w>(&self, world: &'w World, tid: Tid) -> &'w [Value] {
        &world.regs[self.first_reg[tid.index()]..self.first_reg[tid.index() + 1]]
    }

    /// The states in which the program starts, with what was found and done on the way there.
    pub(crate) fn beginnings(&self, each: &mut impl FnMut(Result<World, Finding>, Vec<Taken>)) {
        let mut world = self.shape.start.clone();
        let mut steps = Vec::new();
        let mut findings = Vec::new();
        for tid in self.program.tids() {
            let came = self.run(&mut world, tid, &mut steps, &mut |found| findings.push(found));
            if let Came::TooFar = came {
                findings.push(Finding::TooMuch);
            }
        }
        findings.into_iter().for_each(|found| each(Err(found), steps.clone()));
        self.normalise(&mut world);
        each(Ok(world), steps);
    }

    /// Lets a thread run to where it rests. One that goes round through fences and nothing else rests behind one of
    /// them, for good, when it comes back to where it was.
    fn run(
        &self,
        world: &mut World,
        tid: Tid,
        steps: &mut Vec<Taken>,
        found: &mut impl FnMut(Finding),
    ) -> Came {
        let thread = &self.program.threads[tid.index()];
        let range = self.first_reg[tid.index()]..self.first_reg[tid.index() + 1];
        // Where it was after 16, 32, 64, … fences: it comes back to one of these if it comes back at all.
        let mut milestone: Option<(Pc, Box<[Value]>)> = None;
        for fences in 0usize.. {
            let pc = &mut world.pcs[tid.index()];
            let here = (*pc, &world.regs[range.clone()]);
            if milestone.as_ref().is_some_and(|(at, with)| (*at, &**with) == here) {
                return Came::ToRest;
            }
            if fences >= 16 && fences.is_power_of_two() {
                milestone = Some((here.0, here.1.into()));
            }
            let mut log = Log { tid, steps };
            let regs = &mut world.regs[range.clone()];
            match run_local(thread, self.program.domain, pc, regs, &mut log) {
                Rest::Access => {
                    let instr = &thread.code[pc.index()].instr;
                    let Instr::Fence(mode) = instr else { return Came::ToRest };
                    if mode.updates() {
                        return Came::ToRest;
                    }
                    let action = Action::Fence(*mode);
                    let (views, mut notes) = (&mut world.views, Notes::default());
                    let attempt = Attempt { tid, instr, action: &action };
                    let effect = self.machine.step(views, attempt, 0, &mut notes);
                    if !matches!(effect, Ok(Effect::Done(..))) {
                        return Came::TooFar;
                    }
                    let to = thread.code[pc.index()].next;
                    steps.push(Taken { tid, pc: *pc, to, action, read: None, newer: 0 });
                    *pc = to;
                }
                Rest::Choice(_) => return Came::ToRest,
                Rest::Call(_) => {
                    let to = thread.code[pc.index()].next;
                    steps.push(Taken::local(tid, *pc, to));
                    *pc = to;
                }
                Rest::Stop(stop) => {
                    match stop {
                        Stop::Assertion => found(Finding::Assertion(tid, *pc)),
                        Stop::Fault(fault) => found(Finding::Fault(tid, *pc, fault)),
                        Stop::Patience => return Came::TooFar,
                        Stop::Done | Stop::Assumption | Stop::Forever | Stop::Watched => {}
                    }
                    return Came::ToRest;
                }
            }
        }
        Came::TooFar
    }

    /// What a thread that rests wants. An index out of range is a finding.
    fn pending(&self, world: &World, tid: Tid, found: &mut impl FnMut(Finding)) -> Pending<'_> {
        let pc = world.pcs[tid.index()];
        let instr = &self.program.step(tid, pc).instr;
        match instr {
            Instr::Jump { cond, targets } if targets.len() > 1 => {
                let regs = self.regs(world, tid);
                return match cond.eval(regs, self.program.domain, &mut Notes::default()) {
                    Ok(_) if self.one_of.has(tid, pc, targets) => {
                        Pending::OneOf(self.waited_for(targets, world, tid))
                    }
                    Ok(_) => Pending::Choice(targets),
                    Err(_) => Pending::Nothing, // the run-time error was found on arrival
                };
            }
            instr if instr.is_local() => return Pending::Nothing,
            _ => {}
        }
        let regs = self.regs(world, tid);
        match next_action(instr, regs, self.program.domain, &mut Notes::default()) {
            Ok(Action::Halt) => Pending::Nothing,
            Ok(action) => Pending::Access(action),
            Err(fault) => {
                found(Finding::Fault(tid, pc, fault));
                Pending::Nothing
            }
        }
    }

    /// What a thread may do that waits for one of several values, at each of the places that its choice leads to.
    fn waited_for(&self, targets: &[Pc], world: &World, tid: Tid) -> Vec<(Pc, Action)> {
        let access = |&target: &Pc| {
            let instr = &self.program.step(tid, target).instr;
            let (regs, notes) = (self.regs(world, tid), &mut Notes::default());
            let action = next_action(instr, regs, self.program.domain, notes);
            action.ok().map(|action| (target, action)) // constants have values
        };
        targets.iter().filter_map(access).collect()
    }

    /// Hands to `each` what comes of moving a thread, and how.
    pub(crate) fn fire(
        &self,
        world: &World,
        tid: Tid,
        each: &mut impl FnMut(Result<World, Finding>, Vec<Taken>),
    ) {
        let mut findings = Vec::new();
        let pending = self.pending(world, tid, &mut |found| findings.push(found));
        findings.into_iter().for_each(|found| each(Err(found), Vec::new()));
        let pc = world.pcs[tid.index()];
        match pending {
            Pending::Nothing => {}
            Pending::Choice(targets) => {
                for &target in targets {
                    let mut next = world.clone();
                    next.pcs[tid.index()] = target;
                    self.arrive(next, tid, vec![Taken::local(tid, pc, target)], each);
                }
            }
            Pending::OneOf(accesses) => {
                for (target, action) in accesses {
                    let mut chosen = world.clone();
                    chosen.pcs[tid.index()] = target;
                    let chosen_by = [Taken::local(tid, pc, target)];
                    self.fire_ways(&chosen, tid, &action, &chosen_by, each);
                }
            }
            Pending::Access(action) => self.fire_ways(world, tid, &action, &[], each),
        }
    }

    /// Lets a thread make an access in all the ways that the memory allows, having taken the steps `before`.
    fn fire_ways(
        &self,
        world: &World,
        tid: Tid,
        action: &Action,
        before: &[Taken],
        each: &mut impl FnMut(Result<World, Finding>, Vec<Taken>),
    ) {
        let mut ways = smallvec::SmallVec::<[usize; 8]>::new();
        self.machine.ways(&world.views, tid, action, |way| ways.push(way));
        for way in ways {
            self.fire_access(world, tid, action, way, before, each);
        }
    }

    fn fire_access(
        &self,
        world: &World,
        tid: Tid,
        action: &Action,
        way: usize,
        before: &[Taken],
        each: &mut impl FnMut(Result<World, Finding>, Vec<Taken>),
    ) {
        let pc = world.pcs[tid.index()];
        let step = self.program.step(tid, pc);
        let mut next = world.clone();
        let (views, mut notes) = (&mut next.views, Notes::default());
        let newer = self.machine.newer(views, action, way);
        let steps = |read| {
            let taken = Taken { tid, pc, to: step.next, action: action.clone(), read, newer };
            before.iter().cloned().chain([taken]).collect()
        };
        let attempt = Attempt { tid, instr: &step.instr, action };
        match self.machine.step(views, attempt, way, &mut notes) {
            Ok(Effect::Blocked) => {}
            Ok(Effect::Wrong(Violation::Race, read, _)) => {
                each(Err(Finding::Race(tid, pc)), steps(read));
            }
            Ok(Effect::Wrong(Violation::Full, ..)) => each(Err(Finding::TooMuch), Vec::new()),
            Err(fault) => each(Err(Finding::Fault(tid, pc, fault)), steps(None)),
            Ok(Effect::Done(read, _)) => {
                if !self.is_foreseen(action, read) {
                    return each(Err(Finding::Unforeseen), Vec::new());
                }
                if let (Some(dst), Some(value)) = (destination(&step.instr), read) {
                    next.regs[self.first_reg[tid.index()] + dst.index()] = value;
                }
                next.pcs[tid.index()] = step.next;
                self.arrive(next, tid, steps(read), each);
            }
        }
    }

    /// Do threads have code for reading what the action writes?
    fn is_foreseen(&self, action: &Action, read: Option<Value>) -> bool {
        let values = action.loc().and_then(|loc| self.program.foreseen.get(loc.index()));
        let Some(Some(values)) = values else { return true };
        written(action, read, &self.program)
            .is_none_or(|value| values.binary_search(&value).is_ok())
    }

    /// Lets a thread that has just moved run to where it rests, and hands on what comes of it.
    fn arrive(
        &self,
        mut world: World,
        tid: Tid,
        mut steps: Vec<Taken>,
        each: &mut impl FnMut(Result<World, Finding>, Vec<Taken>),
    ) {
        let mut findings = Vec::new();
        let came = self.run(&mut world, tid, &mut steps, &mut |found| findings.push(found));
        findings.into_iter().for_each(|found| each(Err(found), steps.clone()));
        if let Came::TooFar = came {
            return each(Err(Finding::TooMuch), Vec::new());
        }
        self.normalise(&mut world);
        match self.machine.exceeds(&world.views) {
            true => each(Err(Finding::Bound), Vec::new()),
            false => each(Ok(world), steps),
        }
    }

    fn normalise(&self, world: &mut World) {
        let mut pcs = smallvec::SmallVec::<[Option<Pc>; 8]>::new();
        for tid in self.program.tids() {
            let pc = world.pcs[tid.index()];
            let goes_on = !matches!(self.pending(world, tid, &mut |_| {}), Pending::Nothing);
            pcs.push(goes_on.then_some(pc));
            let live = self.live[tid.index()][pc.index()];
            let first = self.first_reg[tid.index()];
            let count = self.first_reg[tid.index() + 1] - first;
            for (reg, value) in world.regs[first..first + count].iter_mut().enumerate() {
                if !live.contains(Reg::from(reg)) {
                    *value = 0;
                }
            }
        }
        self.machine.normalise(&mut world.views, &pcs);
    }

    /// Why a thread that wants nothing goes no further; `None` if it goes round by itself.
    fn stop(&self, world: &World, tid: Tid) -> Option<Stop> {
        let (thread, domain) = (&self.program.threads[tid.index()], self.program.domain);
        let (mut pc, mut regs) = (world.pcs[tid.index()], self.regs(world, tid).to_vec());
        let notes = &mut Notes::default();
        match local_step(thread, domain, &mut pc, &mut regs, notes) {
            Took::Rests(Rest::Stop(stop)) => Some(stop),
            Took::Rests(Rest::Access) => {
                let action = next_action(&thread.code[pc.index()].instr, &regs, domain, notes);
                action.err().map(Stop::Fault)
            }
            _ => None,
        }
    }

    /// The threads that wait for ever in a state, if no thread goes on; none of them if one was stopped by a failed
    /// assertion or a run-time error, which is what is wrong then.
    fn stuck(&self, world: &World) -> Option<Vec<(Tid, Pc)>> {
        let (mut waiting, mut failed) = (Vec::new(), false);
        for tid in self.program.tids() {
            let pending = self.pending(world, tid, &mut |_| {});
            if self.goes_on(world, &pending) {
                return None;
            }
            let pc = world.pcs[tid.index()];
            if let Pending::Nothing = pending {
                failed |= matches!(self.stop(world, tid)?, Stop::Assertion | Stop::Fault(_));
            } else if !self.program.is_unstarted(tid, pc) {
                waiting.push((tid, pc));
            }
        }
        waiting.retain(|_| !failed);
        Some(waiting)
    }

    /// Hands to `found` what there is to find in a state itself.
    pub(super) fn look_at(&self, world: &World, found: &mut impl FnMut(Finding)) {
        if self.seeks == Seeks::Waiting {
            match self.waiting(world) {
                Ok(Some(waiting)) if !waiting.is_empty() => found(Finding::Waiting(waiting)),
                Ok(_) => {}
                Err(waiting::TooMuch) => found(Finding::TooMuch),
            }
        }
        let Some(waiting) = self.stuck(world) else { return };
        let last_value = |loc| self.machine.last_value(&world.views, loc);
        match &self.seeks {
            Seeks::Ends => {
                let last = (0..self.program.locations.len()).map(Loc::from).map(last_value);
                found(Finding::End(world.regs.iter().copied().chain(last).collect()));
            }
            Seeks::Final(condition) if self.is_done(world) => {
                let satisfied = condition.is_satisfied(|what| match what {
                    Observed::Location(loc) => last_value(loc),
                    Observed::Register(tid, reg) => self.regs(world, tid)[reg.index()],
                });
                if satisfied != (condition.quantifier == Quantifier::Forall) {
                    found(Finding::Final);
                }
            }
            _ => {}
        }
        if !waiting.is_empty() {
            found(Finding::Stuck(waiting));
        }
    }

    /// Has every thread come to its end?
    fn is_done(&self, world: &World) -> bool {
        let mut at = self.program.tids().zip(&world.pcs);
        at.all(|(tid, &pc)| self.program.step(tid, pc).instr == Instr::Halt)
    }

    pub(crate) fn packed(&self, world: &World) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.shape.write(world, &mut bytes);
        bytes
    }
}

/// Keeps the local steps of a thread.
struct Log<'a> {
    tid: Tid,
    steps: &'a mut Vec<Taken>,
}

impl ir::run_local::Watch for Log<'_> {
    fn took(&mut self, from: Pc, to: Pc, _: Notes) -> bool {
        self.steps.push(Taken::local(self.tid, from, to));
        true
    }
}
