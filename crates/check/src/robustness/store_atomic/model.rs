//! The attack search as a [`search::Model`]: all attacks of a program at once.
//!
//! Phase 1 is the same for all attacks, phase 2 for all that delay the same values, phase 3 for all
//! that left the same marks; states do not say which attack they belong to (unless they must, see
//! [`AttackSearch::telling_apart`]), so whatever attacks have in common is explored once.
//!
//! Partial-order reduction: if no other thread can ever again conflict with what a thread is about to
//! do, only that thread moves (a persistent set). This includes the steps that start or end an attack:
//! they are worthwhile only if somebody conflicts.

use super::attack_candidates::Candidates;
use super::local_runs::{Regs, Rest, is_local, local_runs};
use super::memo::{self, Memo, To};
use super::moves::Mover;
use super::state::{Layout, State};
use budget::Budget;
use ir::expr::Notes;
use ir::thread::{destination, next_action};
use ir::{Fault, Instr, Loc, Pc, Program, RegSet, Thread, Tid, Value};
use memory::Memory;
pub use memory::attack::{Act, Goal};
use memory::attack::{Attacks, Mark, Phase};
use memory::store_buffer::Machine;
use search::{Model, Sink, Width};
use smallvec::SmallVec;
use std::sync::Arc;

/// Something the search found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AttackFinding {
    /// An attack succeeds.
    Cycle {
        /// Who attacks.
        attacker: Tid,
        /// The address of the delayed store.
        target: Loc,
        /// The store delayed, if attacks are told apart.
        start: Pc,
        /// The attacker's last access, if attacks are told apart.
        last: Pc,
    },
    /// A run-time error of the program under check.
    Fault {
        /// The thread.
        tid: Tid,
        /// Where.
        pc: Pc,
        /// What.
        fault: Fault,
    },
}

/// A step: who did what where, which local steps followed, and what it meant for the attack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The thread.
    pub tid: Tid,
    /// Where it was; for [`Act::Local`], where the local steps start.
    pub pc: Pc,
    /// What it did.
    pub act: Act,
    /// The local steps made after it.
    pub local: SmallVec<[Pc; 8]>,
    /// Where the thread is then; `None` if it is done or will not move again.
    pub rest: Option<Pc>,
}

/// Where successors go.
pub trait Receiver {
    /// Does it want to know which local steps a label stands for? Without, runs of local steps are remembered
    /// and labels have neither `local` nor `rest`.
    const WANTS_LOCAL_STEPS: bool;
    /// A successor.
    fn state(&mut self, label: &Label, state: &State);
    /// Something found by taking a step.
    fn found(&mut self, label: &Label, finding: AttackFinding);
}

/// The search.
pub struct AttackSearch {
    pub(super) program: Arc<Program>,
    pub(super) memory: Attacks,
    reduce: bool,
    pub(super) tell_apart: bool,
    /// What is known from the text.
    pub candidates: Candidates,
    pub(super) layout: Layout,
}

impl AttackSearch {
    /// A search for attacks on a compiled program. If `singular`, only one store is delayed. The budget is for what is found
    /// out from the text before.
    pub fn new(program: &Program, machine: Machine, singular: bool, budget: Budget) -> Self {
        AttackSearch::with(program, machine, singular, false, budget)
    }

    /// The same, with states that remember the store that is delayed and the last access.
    pub fn telling_apart(
        program: &Program,
        machine: Machine,
        singular: bool,
        budget: Budget,
    ) -> Self {
        AttackSearch::with(program, machine, singular, true, budget)
    }

    fn with(
        program: &Program,
        machine: Machine,
        singular: bool,
        tell_apart: bool,
        budget: Budget,
    ) -> Self {
        let candidates = Candidates::new(program, machine, budget);
        let layout = Layout::new(program, &candidates, singular, tell_apart);
        let shared = candidates.shared.clone();
        let memory = Attacks::new(program, machine, Goal::Cycle, singular, shared);
        let program = Arc::new(program.clone());
        AttackSearch { program, memory, reduce: true, tell_apart, candidates, layout }
    }

    /// Imagines full fences in front of these steps, and no longer in front of others.
    pub fn imagine(&mut self, fences: &[Vec<bool>]) {
        self.candidates.imagine(&self.program, fences);
    }

    /// The same without partial-order reduction.
    pub fn without_reduction(mut self) -> Self {
        self.reduce = false;
        self
    }

    /// The same, looking for something else. Triangular races are a matter of locality.
    pub fn looking_for(mut self, goal: Goal) -> Self {
        self.memory.look_for(goal);
        self
    }

    /// The state before anything has happened.
    pub fn start(&self) -> State {
        State {
            pcs: self.program.threads.iter().map(first_pc).collect(),
            regs: self.program.threads.iter().flat_map(|t| t.registers.iter().map(|_| 0)).collect(),
            attack: self.memory.initial(),
            start: Pc(0),
            last: Pc(0),
        }
    }

    /// Unpacks a state.
    pub fn unpack(&self, bytes: &[u8]) -> State {
        let mut state = self.start();
        self.layout.unpack(bytes, &mut Vec::new(), &mut state);
        state
    }

    /// Packs a state.
    pub fn pack(&self, state: &State) -> Box<[u8]> {
        let mut words = Vec::new();
        self.layout.pack(state, &mut words);
        Box::from(&bytemuck::cast_slice(&words)[..self.layout.bytes()])
    }

    pub(super) fn regs<'s>(&self, state: &'s State, tid: Tid) -> &'s [Value] {
        let first = &self.layout.first_reg;
        &state.regs[first[tid.index()]..first[tid.index() + 1]]
    }

    pub(super) fn is_done(&self, state: &State, tid: Tid) -> bool {
        state.pcs[tid.index()] as usize == self.program.threads[tid.index()].code.len()
    }

    /// Hands the successors of `state` to `out`.
    pub fn successors(&self, state: &State, s: &mut Buffers, out: &mut impl Receiver) {
        self.movers(state).1.into_iter().for_each(|tid| self.moves(state, tid, s, out));
    }

    /// The threads that may move, and whether it is enough to move the first.
    fn movers(&self, state: &State) -> (bool, SmallVec<[Tid; 8]>) {
        let attack = &state.attack;
        let closing = attack.phase == Phase::Closing;
        let may_move = |&tid: &Tid| {
            attack.admits(tid) && !self.is_done(state, tid) && !(closing && tid == attack.attacker)
        };
        let mut movers: SmallVec<[Tid; 8]> = self.program.tids().filter(may_move).collect();
        let alone = movers.iter().position(|&tid| self.reduce && self.is_invisible(state, tid));
        if let Some(alone) = alone {
            movers[..=alone].rotate_right(1);
        }
        (alone.is_some(), movers)
    }

    /// Can nobody else ever notice, or prevent, what `tid` does next?
    fn is_invisible(&self, state: &State, tid: Tid) -> bool {
        let attack = &state.attack;
        let pc = state.pcs[tid.index()] as usize;
        let instr = &self.program.threads[tid.index()].code[pc].instr;
        if is_local(instr, false) {
            return true;
        }
        if attack.phase == Phase::Closing && !attack.has_joined(tid) {
            return false;
        }
        if instr.place().is_none() {
            return false;
        }
        let notes = &mut Notes::default();
        let Ok(action) = next_action(instr, self.regs(state, tid), self.program.domain, notes)
        else {
            return false;
        };
        let Some(loc) = action.loc() else { return false };
        let writes = action.may_write();
        self.program.tids().all(|other| {
            let paused = attack.phase == Phase::Closing && other == attack.attacker;
            let future =
                &self.candidates.threads[other.index()].future[state.pcs[other.index()] as usize];
            other == tid
                || paused
                || !(if writes { &future.accesses } else { &future.stores }).contains(loc)
        })
    }

    /// The steps of `tid`.
    fn moves(&self, state: &State, tid: Tid, s: &mut Buffers, out: &mut impl Receiver) {
        let pc = Pc(state.pcs[tid.index()]);
        let instr = &self.program.step(tid, pc).instr;
        let attacking = state.attack.is_delaying(tid);
        let label = |act| Label { tid, pc, act, local: SmallVec::new(), rest: None };
        if is_local(instr, attacking) {
            s.next.copy_from(state);
            return self.arrive(label(Act::Local), pc, None, s, out);
        }
        let notes = &mut Notes::default();
        let domain = self.program.domain;
        let action = match next_action(instr, self.regs(state, tid), domain, notes) {
            Ok(action) => action,
            Err(fault) => {
                out.found(&label(Act::Local), AttackFinding::Fault { tid, pc, fault });
                return;
            }
        };
        Mover { search: self, state, tid, pc, instr, s, out }.make(&action);
    }

    /// Lets the thread of `label` run on to its next access in `s.next`, from `pc` with `read` in the
    /// register that the access reads to.
    pub(super) fn arrive<R: Receiver>(
        &self,
        label: Label,
        pc: Pc,
        read: Option<Value>,
        s: &mut Buffers,
        out: &mut R,
    ) {
        let tid = label.tid;
        let own = self.layout.first_reg[tid.index()]..self.layout.first_reg[tid.index() + 1];
        if let (Some(value), Some(dst)) =
            (read, destination(&self.program.step(tid, label.pc).instr))
        {
            s.next.regs[own.start + dst.index()] = value;
        }
        let attacking = s.next.attack.is_delaying(tid);
        let from = memo::From { tid, attacking, pc, regs: &s.next.regs[own.clone()] };
        let known = if R::WANTS_LOCAL_STEPS { None } else { s.memo.recall(from) };
        match known {
            Some(To::Nowhere) => {}
            Some(To::Rest(pc, regs)) => {
                s.next.regs[own].copy_from_slice(regs);
                s.next.pcs[tid.index()] = pc;
                if !self.is_hopeless(&s.next) {
                    out.state(&label, &s.next);
                }
            }
            None => self.run_on(label, pc, s, out),
        }
    }

    /// Lets the thread of `label` take local steps from `pc` in `s.next`, and remembers where they led.
    fn run_on<R: Receiver>(&self, mut label: Label, pc: Pc, s: &mut Buffers, out: &mut R) {
        let tid = label.tid;
        let thread = &self.program.threads[tid.index()];
        let first = self.layout.first_reg[tid.index()];
        let regs: Regs = SmallVec::from_slice(&s.next.regs[first..][..thread.registers.len()]);
        let attacking = s.next.attack.is_delaying(tid);
        let own = &self.candidates.threads[tid.index()];
        let mut rests = std::mem::take(&mut s.rests);
        rests.clear();
        let mut faulty = false;
        local_runs(
            thread,
            self.program.domain,
            Rest { pc: pc.0, regs: regs.clone(), path: SmallVec::new() },
            attacking,
            |pc| !own.reaches_last[pc.index()],
            &mut rests,
            &mut s.work,
            |pc, fault| {
                faulty = true;
                out.found(&label, AttackFinding::Fault { tid, pc, fault });
            },
        );
        for rest in &mut rests {
            let live = own.live[rest.pc as usize];
            for (k, value) in rest.regs.iter_mut().enumerate() {
                if live.intersect(RegSet(1 << k)) == RegSet::EMPTY {
                    *value = 0;
                }
            }
        }
        let from = memo::From { tid, attacking, pc, regs: &regs };
        match &rests[..] {
            _ if faulty => {}
            [] => s.memo.note(from, To::Nowhere),
            [rest] => s.memo.note(from, To::Rest(rest.pc, &rest.regs)),
            _ => {}
        }
        for rest in &mut rests {
            s.next.regs[first..][..rest.regs.len()].copy_from_slice(&rest.regs);
            s.next.pcs[tid.index()] = rest.pc;
            if self.is_hopeless(&s.next) {
                continue;
            }
            if R::WANTS_LOCAL_STEPS {
                label.local = std::mem::take(&mut rest.path);
                label.rest = ((rest.pc as usize) < thread.code.len()).then_some(Pc(rest.pc));
            }
            out.state(&label, &s.next);
        }
        s.rests = rests;
    }

    /// Can no helper come to the target any more? One may have been there already, in the block in
    /// which it is about to join.
    pub(super) fn is_hopeless(&self, state: &State) -> bool {
        let attack = &state.attack;
        attack.phase != Phase::Calm
            && self.memory.goal() == Goal::Cycle
            && attack.noted[attack.target.index()] == Mark::None
            && self.program.tids().all(|tid| {
                let future =
                    &self.candidates.threads[tid.index()].future[state.pcs[tid.index()] as usize];
                tid == attack.attacker || !future.accesses.contains(attack.target)
            })
    }
}

/// Where a thread is at first; one that does nothing is done.
fn first_pc(thread: &Thread) -> u32 {
    match thread.code[thread.entry.index()].instr {
        Instr::Halt => thread.code.len() as u32,
        _ => thread.entry.0,
    }
}

/// Buffers for making successors.
pub struct Buffers {
    pub(super) next: State,
    rests: Vec<Rest>,
    work: Vec<Rest>,
    memo: Memo,
}

impl Buffers {
    /// Buffers for a search.
    pub fn new(search: &AttackSearch) -> Self {
        let registers = search.program.threads.iter().map(|thread| thread.registers.len());
        let memo = Memo::new(registers.max().unwrap_or(0));
        Buffers { next: search.start(), rests: Vec::new(), work: Vec::new(), memo }
    }
}

/// One worker's working memory.
pub struct Scratch {
    /// A successor, packed.
    words: Vec<u64>,
    /// The state being expanded, packed and unpacked.
    packed: Vec<u64>,
    state: State,
    /// The threads that have not moved yet from there; none if no state is being expanded.
    left: Option<SmallVec<[Tid; 8]>>,
    buffers: Buffers,
}

/// Hands successors of a state to a search.
struct Forward<'f, S> {
    layout: &'f Layout,
    /// The state.
    packed: &'f [u64],
    words: &'f mut Vec<u64>,
    sink: &'f mut S,
}

impl<S: Sink<AttackFinding>> Receiver for Forward<'_, S> {
    const WANTS_LOCAL_STEPS: bool = false;

    #[inline]
    fn state(&mut self, label: &Label, state: &State) {
        let written = match label.act {
            Act::Write(loc, _) | Act::Update(loc, ..) => Some(loc),
            _ => None,
        };
        self.layout.pack_step(self.packed, state, label.tid, written, self.words);
        self.sink.state(&bytemuck::cast_slice(self.words)[..self.layout.bytes()]);
    }

    fn found(&mut self, _: &Label, finding: AttackFinding) {
        self.sink.finding(finding);
    }
}

impl AttackSearch {
    /// Makes `bytes` the state being expanded, from which no thread has moved yet; says whether it is enough
    /// to move the first.
    fn look_at(&self, bytes: &[u8], scratch: &mut Scratch) -> bool {
        let Scratch { packed, state, left, .. } = scratch;
        self.layout.unpack(bytes, packed, state);
        let (reduced, movers) = self.movers(state);
        *left = Some(movers);
        reduced
    }

    /// Moves one thread from the state being expanded.
    fn fire<S: Sink<AttackFinding>>(&self, tid: Tid, scratch: &mut Scratch, sink: &mut S) {
        let Scratch { words, packed, state, buffers, .. } = scratch;
        self.moves(state, tid, buffers, &mut Forward { layout: &self.layout, packed, words, sink });
    }
}

impl Model for AttackSearch {
    type Scratch = Scratch;
    type Finding = AttackFinding;

    fn width(&self) -> Width {
        Width::Fixed(self.layout.bytes())
    }

    fn scratch(&self) -> Scratch {
        Scratch {
            words: Vec::new(),
            packed: Vec::new(),
            state: self.start(),
            left: None,
            buffers: Buffers::new(self),
        }
    }

    fn initial<S: Sink<AttackFinding>>(&self, _: &mut Scratch, sink: &mut S) {
        sink.state(&self.pack(&self.start()));
    }

    /// Moves one thread whose step nobody else can notice, if there is one.
    fn expand_reduced<S: Sink<AttackFinding>>(
        &self,
        bytes: &[u8],
        scratch: &mut Scratch,
        sink: &mut S,
    ) {
        if self.look_at(bytes, scratch)
            && let Some(left) = &mut scratch.left
        {
            let alone = left.remove(0);
            self.fire(alone, scratch, sink);
        }
    }

    fn expand<S: Sink<AttackFinding>>(&self, bytes: &[u8], scratch: &mut Scratch, sink: &mut S) {
        let known: &[u8] = bytemuck::cast_slice(&scratch.packed);
        if scratch.left.is_none() || !known.starts_with(bytes) {
            self.look_at(bytes, scratch);
        }
        for tid in scratch.left.take().into_iter().flatten() {
            self.fire(tid, scratch, sink);
        }
    }

    fn stops(&self, finding: &AttackFinding) -> bool {
        matches!(finding, AttackFinding::Cycle { .. })
    }
}
