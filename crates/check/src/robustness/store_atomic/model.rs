//! The attack search as a [`search::Model`]: all attacks of a program at once.
//!
//! Phase 1 is the same for all attacks, phase 2 for all that delay the same values, phase 3 for all
//! that left the same marks; states do not say which attack they belong to (unless they must, see
//! [`AttackSearch::with_fences`]), so whatever attacks have in common is explored once.
//!
//! Partial-order reduction: if no other thread can ever again conflict with what a thread is about to
//! do, only that thread moves (a persistent set). This includes the steps that start or end an attack:
//! they are worthwhile only if somebody conflicts.

use super::hope::{Hope, needs_empty_buffers};
use super::settle::{Regs, Rest, is_local, settle};
use super::state::{Layout, State};
use model::expr::Notes;
use model::memory::store_atomic::{Attack, Machine, Mark, Phase};
use model::thread::{Action, destination, next_action};
use model::{Fault, FenceMode, Instr, Loc, Pc, Program, RegSet, Tid, Value};
use search::{Model, Sink};
use smallvec::SmallVec;

/// Something the search found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finding {
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

/// What a step did to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Local steps only.
    Local,
    /// Read this value from memory.
    Read(Loc, Value),
    /// Read this value from the thread's own delayed stores.
    ReadDelayed(Loc, Value),
    /// Wrote this value to memory at once.
    Write(Loc, Value),
    /// Put off writing this value.
    Delay(Loc, Value),
    /// Read and wrote these values.
    Update(Loc, Value, Value),
    /// A lightweight fence, put off or not.
    LightFence(bool),
    /// Started an uninterrupted block.
    Lock,
    /// Ended it.
    Unlock,
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
    /// A successor; says whether it is new.
    fn state(&mut self, label: &Label, state: &State) -> bool;
    /// Something found by taking a step.
    fn found(&mut self, label: &Label, finding: Finding);
}

/// The search.
pub struct AttackSearch<'a> {
    program: &'a Program,
    machine: Machine,
    singular: bool,
    reduce: bool,
    tell_apart: bool,
    /// What is known from the text.
    pub hope: Hope,
    layout: Layout,
}

impl<'a> AttackSearch<'a> {
    /// A search for attacks on a compiled program. If `singular`, only one store is delayed.
    pub fn new(program: &'a Program, machine: Machine, singular: bool) -> Self {
        AttackSearch::with_fences(program, machine, singular, &[], false)
    }

    /// The same, imagining a full fence in front of some steps, and telling attacks apart if wanted.
    pub fn with_fences(
        program: &'a Program,
        machine: Machine,
        singular: bool,
        fences: &[Vec<bool>],
        tell_apart: bool,
    ) -> Self {
        let hope = Hope::new(program, machine, fences);
        let layout = Layout::new(program, &hope, singular, tell_apart);
        AttackSearch { program, machine, singular, reduce: true, tell_apart, hope, layout }
    }

    /// The same without partial-order reduction.
    pub fn without_reduction(mut self) -> Self {
        self.reduce = false;
        self
    }

    /// The state before anything has happened.
    pub fn start(&self) -> State {
        State {
            pcs: self.program.threads.iter().map(|thread| thread.entry.0).collect(),
            regs: self.program.threads.iter().flat_map(|t| t.registers.iter().map(|_| 0)).collect(),
            attack: Attack::new(self.program.locations.iter().map(|loc| loc.initial).collect()),
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

    fn regs<'s>(&self, state: &'s State, tid: Tid) -> &'s [Value] {
        let first = &self.layout.first_reg;
        &state.regs[first[tid.index()]..first[tid.index() + 1]]
    }

    fn is_done(&self, state: &State, tid: Tid) -> bool {
        state.pcs[tid.index()] as usize == self.program.threads[tid.index()].code.len()
    }

    /// Is `tid` the attacker, with stores delayed?
    fn attacks(state: &State, tid: Tid) -> bool {
        state.attack.phase == Phase::Delaying && state.attack.attacker == tid
    }

    /// Hands the successors of `state` to `out`.
    pub fn successors(&self, state: &State, s: &mut Buffers, out: &mut impl Receiver) {
        let attack = &state.attack;
        let closing = attack.phase == Phase::Closing;
        let movers: SmallVec<[Tid; 8]> = self
            .program
            .tids()
            .filter(|&tid| {
                attack.admits(tid)
                    && !self.is_done(state, tid)
                    && !(closing && tid == attack.attacker)
            })
            .collect();
        let mut moved = None;
        if self.reduce
            && let Some(&alone) = movers.iter().find(|&&tid| self.is_invisible(state, tid))
        {
            if self.moves(state, alone, s, out) {
                return;
            }
            moved = Some(alone);
        }
        for &tid in movers.iter().filter(|&&tid| Some(tid) != moved) {
            self.moves(state, tid, s, out);
        }
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
                &self.hope.threads[other.index()].future[state.pcs[other.index()] as usize];
            other == tid
                || paused
                || !(if writes { &future.accesses } else { &future.stores }).contains(loc)
        })
    }

    /// The steps of `tid`; says whether any leads to a new state.
    fn moves(&self, state: &State, tid: Tid, s: &mut Buffers, out: &mut impl Receiver) -> bool {
        let pc = Pc(state.pcs[tid.index()]);
        let instr = &self.program.step(tid, pc).instr;
        let attacking = Self::attacks(state, tid);
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
                out.found(&label(Act::Local), Finding::Fault { tid, pc, fault });
                return false;
            }
        };
        let mut mover = Mover { search: self, state, tid, pc, instr, s, out, new: false };
        match (attacking, state.attack.phase) {
            (true, _) => mover.attack(&action),
            (false, Phase::Closing) => mover.help(&action),
            (false, _) => {
                mover.run(&action);
                if state.attack.phase == Phase::Calm {
                    mover.start(&action);
                }
            }
        }
        mover.new
    }

    /// Lets the thread of `label` run on to its next access in `s.next`, from `pc` with `read` in the
    /// register that the access reads to.
    fn arrive(
        &self,
        mut label: Label,
        pc: Pc,
        read: Option<Value>,
        s: &mut Buffers,
        out: &mut impl Receiver,
    ) -> bool {
        let tid = label.tid;
        let thread = &self.program.threads[tid.index()];
        let first = self.layout.first_reg[tid.index()];
        let count = thread.registers.len();
        let mut regs: Regs = SmallVec::from_slice(&s.next.regs[first..first + count]);
        if let (Some(value), Some(dst)) =
            (read, destination(&self.program.step(tid, label.pc).instr))
        {
            regs[dst.index()] = value;
        }
        let attacking = Self::attacks(&s.next, tid);
        let hope = &self.hope.threads[tid.index()];
        let mut rests = std::mem::take(&mut s.rests);
        rests.clear();
        settle(
            thread,
            self.program.domain,
            Rest { pc: pc.0, regs, path: SmallVec::new() },
            attacking,
            |pc| !hope.reaches_last[pc.index()],
            &mut rests,
            &mut s.work,
            |pc, fault| out.found(&label, Finding::Fault { tid, pc, fault }),
        );
        let mut new = false;
        for rest in &mut rests {
            let live = hope.live[rest.pc as usize];
            for (k, value) in rest.regs.iter().enumerate() {
                let alive = live.intersect(RegSet(1 << k)) != RegSet::EMPTY;
                s.next.regs[first + k] = if alive { *value } else { 0 };
            }
            s.next.pcs[tid.index()] = rest.pc;
            if self.is_hopeless(&s.next) {
                continue;
            }
            label.local = std::mem::take(&mut rest.path);
            label.rest = ((rest.pc as usize) < thread.code.len()).then_some(Pc(rest.pc));
            new |= out.state(&label, &s.next);
        }
        s.rests = rests;
        new
    }

    /// Can no helper come to the target any more? One may have been there already, in the block in
    /// which it is about to join.
    fn is_hopeless(&self, state: &State) -> bool {
        let attack = &state.attack;
        attack.phase != Phase::Calm
            && attack.noted[attack.target.index()] == Mark::None
            && self.program.tids().all(|tid| {
                let future =
                    &self.hope.threads[tid.index()].future[state.pcs[tid.index()] as usize];
                tid == attack.attacker || !future.accesses.contains(attack.target)
            })
    }
}

/// Buffers for making successors.
pub struct Buffers {
    next: State,
    rests: Vec<Rest>,
    work: Vec<Rest>,
}

impl Buffers {
    /// Buffers for a search.
    pub fn new(search: &AttackSearch<'_>) -> Self {
        Buffers { next: search.start(), rests: Vec::new(), work: Vec::new() }
    }
}

/// One thread's next access, in all the ways it can be made.
struct Mover<'m, 'a, R> {
    search: &'m AttackSearch<'a>,
    state: &'m State,
    tid: Tid,
    pc: Pc,
    instr: &'m Instr,
    s: &'m mut Buffers,
    out: &'m mut R,
    new: bool,
}

impl<R: Receiver> Mover<'_, '_, R> {
    fn label(&self, act: Act) -> Label {
        Label { tid: self.tid, pc: self.pc, act, local: SmallVec::new(), rest: None }
    }

    /// The step is made in `s.next`; go on behind it.
    fn arrive(&mut self, act: Act, read: Option<Value>) {
        let next = self.search.program.step(self.tid, self.pc).next;
        let label = self.label(act);
        self.new |= self.search.arrive(label, next, read, self.s, self.out);
    }

    /// Makes the access in `s.next.attack.memory`; `None` if it blocks.
    fn perform(&mut self, action: &Action) -> Option<(Act, Option<Value>)> {
        let memory = &mut self.s.next.attack.memory;
        Some(match action {
            Action::Read { loc, .. } => {
                let value = memory[loc.index()];
                (Act::Read(*loc, value), Some(value))
            }
            Action::Wait { loc, values, .. } => {
                let value = memory[loc.index()];
                if !values.contains(&value) {
                    return None;
                }
                (Act::Read(*loc, value), Some(value))
            }
            Action::Write { loc, value, .. } => {
                memory[loc.index()] = *value;
                (Act::Write(*loc, *value), None)
            }
            Action::Update { loc, change, .. } => {
                let old = memory[loc.index()];
                let domain = self.search.program.domain;
                match change.apply(old, domain, &mut Notes::default()) {
                    Ok(new) => {
                        memory[loc.index()] = new;
                        (Act::Update(*loc, old, new), Some(old))
                    }
                    Err(fault) => {
                        let finding = Finding::Fault { tid: self.tid, pc: self.pc, fault };
                        self.out.found(&self.label(Act::Local), finding);
                        return None;
                    }
                }
            }
            Action::Cas { loc, expected, desired, .. } => {
                let old = memory[loc.index()];
                if old == *expected {
                    memory[loc.index()] = *desired;
                    (Act::Update(*loc, old, *desired), Some(old))
                } else {
                    (Act::Read(*loc, old), Some(old))
                }
            }
            Action::BlockingCas { loc, expected, desired, .. } => {
                let old = memory[loc.index()];
                if old != *expected {
                    return None;
                }
                memory[loc.index()] = *desired;
                (Act::Update(*loc, old, *desired), Some(old))
            }
            Action::BusLock => {
                if self.s.next.attack.owner.is_some() {
                    return None;
                }
                self.s.next.attack.owner = Some(self.tid);
                (Act::Lock, None)
            }
            Action::BusUnlock => {
                if self.s.next.attack.owner != Some(self.tid) {
                    return None;
                }
                self.s.next.attack.owner = None;
                (Act::Unlock, None)
            }
            _ => return None,
        })
    }

    /// Under SC.
    fn run(&mut self, action: &Action) {
        self.s.next.copy_from(self.state);
        if let Some((act, read)) = self.perform(action) {
            self.arrive(act, read);
        }
    }

    /// The store that starts an attack.
    fn start(&mut self, action: &Action) {
        let Action::Write { loc, value, .. } = *action else { return };
        let hope = &self.search.hope;
        if !hope.threads[self.tid.index()].start[self.pc.index()]
            || !hope.shared[loc.index()]
            || self.state.attack.owner.is_some()
        {
            return;
        }
        self.s.next.copy_from(self.state);
        self.s.next.attack.start(self.tid, loc, value);
        if self.search.tell_apart {
            self.s.next.start = self.pc;
        }
        self.arrive(Act::Delay(loc, value), None);
    }

    /// A step of the attacker in phase 2.
    fn attack(&mut self, action: &Action) {
        if needs_empty_buffers(self.instr) {
            return;
        }
        self.s.next.copy_from(self.state);
        let attack = &self.state.attack;
        match action {
            Action::Read { loc, .. } | Action::Wait { loc, .. } => {
                if let Some(value) = attack.delayed[loc.index()] {
                    if !matches!(action, Action::Wait { values, .. } if !values.contains(&value)) {
                        self.arrive(Act::ReadDelayed(*loc, value), Some(value));
                    }
                } else if let Some((act, read)) = self.perform(action) {
                    self.arrive(act, read);
                    self.close(*loc, Mark::Load, act);
                }
            }
            Action::Write { loc, value, .. } => {
                let private = !self.search.hope.shared[loc.index()];
                let must_wait = attack.fence_delayed
                    || attack.delayed[loc.index()].is_some()
                    || self.search.machine == Machine::Tso;
                if (private || !must_wait)
                    && let Some((act, _)) = self.perform(action)
                {
                    self.arrive(act, None);
                    if !private {
                        self.close(*loc, Mark::Store, act);
                    }
                }
                if !private && !self.search.singular {
                    self.s.next.copy_from(self.state);
                    self.s.next.attack.delayed[loc.index()] = Some(*value);
                    self.arrive(Act::Delay(*loc, *value), None);
                }
            }
            Action::LightFence(locs) => {
                let waits = attack.fence_delayed
                    || locs.iter().any(|loc| attack.delayed[loc.index()].is_some());
                self.s.next.attack.fence_delayed = waits;
                self.arrive(Act::LightFence(waits), None);
            }
            Action::Fence(FenceMode::Rel) => {
                self.s.next.attack.fence_delayed = true;
                self.arrive(Act::LightFence(true), None);
            }
            _ => {}
        }
    }

    /// The attacker makes its last access.
    fn close(&mut self, loc: Loc, kind: Mark, act: Act) {
        let (search, state) = (self.search, self.state);
        if !search.hope.threads[self.tid.index()].last[self.pc.index()] {
            return;
        }
        let worthwhile = search.program.tids().any(|tid| {
            let future = &search.hope.threads[tid.index()].future[state.pcs[tid.index()] as usize];
            let meets = if kind == Mark::Store { &future.accesses } else { &future.stores };
            tid != self.tid && meets.contains(loc)
        });
        if !worthwhile {
            return;
        }
        let next = &mut self.s.next;
        next.copy_from(state);
        if let Act::Write(loc, value) = act {
            next.attack.memory[loc.index()] = value;
        }
        next.attack.close(loc, kind);
        let first = &search.layout.first_reg;
        next.regs[first[self.tid.index()]..first[self.tid.index() + 1]].fill(0);
        next.pcs[self.tid.index()] = search.program.threads[self.tid.index()].code.len() as u32;
        if search.tell_apart {
            next.last = self.pc;
        }
        if !search.is_hopeless(next) {
            let label =
                Label { tid: self.tid, pc: self.pc, act, local: SmallVec::new(), rest: None };
            self.new |= self.out.state(&label, &self.s.next);
        }
    }

    /// A step of a helper in phase 3.
    fn help(&mut self, action: &Action) {
        self.s.next.copy_from(self.state);
        let attack = &self.state.attack;
        if matches!(action, Action::BusUnlock) && !attack.has_joined(self.tid) {
            return;
        }
        let Some((act, read)) = self.perform(action) else { return };
        let (loc, kind) = match act {
            Act::Read(loc, _) => (loc, Mark::Load),
            Act::Write(loc, _) | Act::Update(loc, ..) => (loc, Mark::Store),
            _ => return self.arrive(act, read),
        };
        if !self.search.hope.shared[loc.index()] {
            if attack.has_joined(self.tid) || attack.owner == Some(self.tid) {
                self.arrive(act, read);
            }
            return;
        }
        if !attack.may_help(self.tid, loc, kind) {
            return;
        }
        if self.s.next.attack.help(self.tid, loc, kind) {
            let attacker = attack.attacker;
            let finding = Finding::Cycle {
                attacker,
                target: attack.target,
                start: self.state.start,
                last: self.state.last,
            };
            self.out.found(&self.label(act), finding);
            return;
        }
        self.arrive(act, read);
    }
}

/// Hands successors to a search.
struct Forward<'f, S> {
    layout: &'f Layout,
    words: Vec<u64>,
    sink: &'f mut S,
}

impl<S: Sink<Finding>> Receiver for Forward<'_, S> {
    fn state(&mut self, _: &Label, state: &State) -> bool {
        self.layout.pack(state, &mut self.words);
        self.sink.state(&bytemuck::cast_slice(&self.words)[..self.layout.bytes()])
    }

    fn found(&mut self, _: &Label, finding: Finding) {
        self.sink.finding(finding);
    }
}

impl Model for AttackSearch<'_> {
    type Scratch = (Vec<u64>, State, Buffers);
    type Finding = Finding;

    fn state_bytes(&self) -> usize {
        self.layout.bytes()
    }

    fn scratch(&self) -> Self::Scratch {
        (Vec::new(), self.start(), Buffers::new(self))
    }

    fn initial<S: Sink<Finding>>(&self, _: &mut Self::Scratch, sink: &mut S) {
        sink.state(&self.pack(&self.start()));
    }

    fn expand<S: Sink<Finding>>(&self, bytes: &[u8], scratch: &mut Self::Scratch, sink: &mut S) {
        let (words, state, buffers) = scratch;
        self.layout.unpack(bytes, words, state);
        let words = std::mem::take(words);
        let mut forward = Forward { layout: &self.layout, words, sink };
        self.successors(state, buffers, &mut forward);
        scratch.0 = forward.words;
    }

    fn stops(&self, finding: &Finding) -> bool {
        matches!(finding, Finding::Cycle { .. })
    }
}
