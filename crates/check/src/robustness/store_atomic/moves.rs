//! The next access of one thread, in all the ways the memory of an attack allows.
//!
//! [`memory::attack`] says what a thread may do and what becomes of memory. Here the ways that cannot lead
//! to a cycle are left out, by what the text says ([`super::attack_candidates`]), and the thread goes on
//! to where it rests.

use super::model::{AttackFinding, AttackSearch, Buffers, Label, Receiver};
use super::state::State;
use ir::expr::Notes;
use ir::thread::{Action, next_action};
use ir::{Instr, Loc, Pc, Tid, Value};
use memory::attack::{Act, Goal, Way};
use memory::{Attempt, Effect, Memory};
use smallvec::SmallVec;

/// One thread's next access.
pub(super) struct Mover<'m, R> {
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

    /// Makes the access in every way that is worthwhile.
    pub(super) fn make(&mut self, action: &Action) {
        let mut ways: SmallVec<[Way; 3]> = SmallVec::new();
        let (search, state) = (self.search, self.state);
        search.memory.ways(&state.attack, self.tid, action, |way| ways.push(way));
        for way in ways {
            if self.is_worthwhile(action, way) {
                self.take(action, way);
            }
        }
    }

    fn is_worthwhile(&self, action: &Action, way: Way) -> bool {
        let (search, state) = (self.search, self.state);
        let candidates = &search.candidates;
        let own = &candidates.threads[self.tid.index()];
        let starts = !state.attack.is_delaying(self.tid);
        match (way, action.loc()) {
            (Way::Delay, _) if starts && search.memory.goal() == Goal::Cycle => {
                own.start[self.pc.index()]
            }
            (Way::Close, Some(loc)) => {
                own.last[self.pc.index()]
                    && own.closes[self.pc.index()].contains(state.attack.target)
                    && search.program.tids().any(|tid| {
                        let at = state.pcs[tid.index()] as usize;
                        let future = &candidates.threads[tid.index()].future[at];
                        let writes = action.may_write();
                        let meets = if writes { &future.accesses } else { &future.stores };
                        tid != self.tid && meets.contains(loc)
                    })
            }
            _ => true,
        }
    }

    fn take(&mut self, action: &Action, way: Way) {
        let (search, state, tid) = (self.search, self.state, self.tid);
        let next = &mut self.s.next;
        next.copy_from(state);
        let notes = &mut Notes::default();
        let attempt = Attempt { tid, instr: self.instr, action };
        let done = search.memory.step(&mut next.attack, attempt, way, notes);
        let (read, act) = match done {
            Ok(Effect::Blocked) => return,
            Ok(Effect::Done(read, act)) => (read, act),
            Ok(Effect::Wrong(_, _, act)) => {
                return self.out.found(&self.label(act), self.cycle(state.last));
            }
            Err(fault) => {
                let finding = AttackFinding::Fault { tid, pc: self.pc, fault };
                return self.out.found(&self.label(Act::Local), finding);
            }
        };
        let delaying = state.attack.is_delaying(tid);
        if way == Way::Close {
            return self.close(act);
        }
        if way == Way::Delay && !delaying && search.tell_apart {
            self.s.next.start = self.pc;
        }
        if let (Act::Read(loc, _), true, Goal::TriangularRace) =
            (act, delaying, search.memory.goal())
            && state.attack.delayed[loc.index()].is_none()
            && self.other_stores(loc)
        {
            self.out.found(&self.label(act), self.cycle(self.pc));
        }
        self.arrive(act, read);
    }

    fn cycle(&self, last: Pc) -> AttackFinding {
        let attack = &self.state.attack;
        let (attacker, target) = (attack.attacker, attack.target);
        AttackFinding::Cycle { attacker, target, start: self.state.start, last }
    }

    /// The step is made in `s.next`; go on behind it.
    fn arrive(&mut self, act: Act, read: Option<Value>) {
        let next = self.search.program.step(self.tid, self.pc).next;
        let label = self.label(act);
        self.search.arrive(label, next, read, self.s, self.out);
    }

    /// The attacker has made its last access in `s.next`. It pauses, so its registers no longer matter.
    fn close(&mut self, act: Act) {
        let search = self.search;
        let next = &mut self.s.next;
        let first = &search.layout.first_reg;
        next.regs[first[self.tid.index()]..first[self.tid.index() + 1]].fill(0);
        next.pcs[self.tid.index()] = search.program.threads[self.tid.index()].code.len() as u32;
        if search.tell_apart {
            next.last = self.pc;
        }
        if !search.is_hopeless(next) {
            let label = self.label(act);
            self.out.state(&label, &self.s.next);
        }
    }

    /// Is another thread about to store to `loc`?
    fn other_stores(&self, loc: Loc) -> bool {
        let (search, state) = (self.search, self.state);
        search.program.tids().any(|tid| {
            if tid == self.tid || search.is_done(state, tid) {
                return false;
            }
            let pc = state.pcs[tid.index()];
            let instr = &search.program.step(tid, Pc(pc)).instr;
            if *instr == Instr::BusLock {
                let future = &search.candidates.threads[tid.index()].future[pc as usize];
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
}
