//! What one thread can do next, in each phase of an attack.

use super::attack_candidates::needs_empty_buffers;
use super::model::{Act, AttackSearch, Buffers, Finding, Label, Receiver};
use super::state::State;
use ir::expr::Notes;
use ir::thread::{Action, next_action};
use ir::{FenceMode, Instr, Loc, Pc, Tid, Value};
use memory::attack::Mark;
use memory::store_buffer::Machine;
use smallvec::SmallVec;

/// One thread's next access, in all the ways it can be made.
pub struct Mover<'m, R> {
    pub search: &'m AttackSearch,
    pub state: &'m State,
    pub tid: Tid,
    pub pc: Pc,
    pub instr: &'m Instr,
    pub s: &'m mut Buffers,
    pub out: &'m mut R,
}

impl<R: Receiver> Mover<'_, R> {
    fn label(&self, act: Act) -> Label {
        Label { tid: self.tid, pc: self.pc, act, local: SmallVec::new(), rest: None }
    }

    /// The step is made in `s.next`; go on behind it.
    fn arrive(&mut self, act: Act, read: Option<Value>) {
        let next = self.search.program.step(self.tid, self.pc).next;
        let label = self.label(act);
        self.search.arrive(label, next, read, self.s, self.out);
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
    pub fn run(&mut self, action: &Action) {
        self.s.next.copy_from(self.state);
        if let Some((act, read)) = self.perform(action) {
            self.arrive(act, read);
        }
    }

    /// The store that starts an attack.
    pub fn start(&mut self, action: &Action) {
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

    /// The store that a triangular race starts with. It is made at once; only its place is kept.
    pub fn start_race(&mut self, action: &Action) {
        let Action::Write { loc, .. } = *action else { return };
        if self.state.attack.owner.is_some() {
            return;
        }
        self.s.next.copy_from(self.state);
        let Some((act, _)) = self.perform(action) else { return };
        self.s.next.attack.start(self.tid, loc, 0);
        if self.search.tell_apart {
            self.s.next.start = self.pc;
        }
        self.arrive(act, None);
    }

    /// A step after that store, with no full fence in between.
    pub fn race(&mut self, action: &Action) {
        if needs_empty_buffers(self.instr) {
            return;
        }
        self.s.next.copy_from(self.state);
        match action {
            Action::Read { loc, .. } | Action::Wait { loc, .. } => {
                let goes_to_memory = self.state.attack.delayed[loc.index()].is_none();
                let Some((act, read)) = self.perform(action) else { return };
                if goes_to_memory && self.somebody_stores(*loc) {
                    let finding = Finding::Cycle {
                        attacker: self.tid,
                        target: self.state.attack.target,
                        start: self.state.start,
                        last: self.pc,
                    };
                    self.out.found(&self.label(act), finding);
                }
                self.arrive(act, read);
            }
            Action::Write { loc, .. } => {
                let Some((act, _)) = self.perform(action) else { return };
                if self.search.hope.shared[loc.index()] {
                    self.s.next.attack.delayed[loc.index()] = Some(0);
                }
                self.arrive(act, None);
            }
            // Lightweight fences do not empty buffers.
            _ => self.arrive(Act::LightFence(true), None),
        }
    }

    /// Is another thread about to store to `loc`?
    fn somebody_stores(&self, loc: Loc) -> bool {
        let (search, state) = (self.search, self.state);
        search.program.tids().any(|tid| {
            if tid == self.tid || search.is_done(state, tid) {
                return false;
            }
            let pc = state.pcs[tid.index()];
            let instr = &search.program.step(tid, Pc(pc)).instr;
            if *instr == Instr::BusLock {
                let future = &search.hope.threads[tid.index()].future[pc as usize];
                return future.stores.contains(loc);
            }
            let (domain, notes) = (search.program.domain, &mut Notes::default());
            let memory = &state.attack.memory;
            match next_action(instr, search.regs(state, tid), domain, notes) {
                Ok(Action::Write { loc: l, .. } | Action::Update { loc: l, .. }) => l == loc,
                Ok(
                    Action::Cas { loc: l, expected, .. }
                    | Action::BlockingCas { loc: l, expected, .. },
                ) => l == loc && memory[l.index()] == expected,
                _ => false,
            }
        })
    }

    /// A step of the attacker in phase 2.
    pub fn attack(&mut self, action: &Action) {
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
            self.out.state(&label, &self.s.next);
        }
    }

    /// A step of a helper in phase 3.
    pub fn help(&mut self, action: &Action) {
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
