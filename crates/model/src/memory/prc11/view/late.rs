//! Reads come late.
//!
//! That a thread reads an atomic location changes nothing but the thread: what it knows and where it
//! goes. So a read can be put off until right before the thread's next step of another kind: a write, a
//! call or return, or the propagation of something to it. Of these, only a propagation can make the
//! read impossible, if what it reads is out of reach then; otherwise the read can come after it as
//! well. So no state has to be kept in which a thread has read and has done nothing with it. Reads are
//! silent, so histories stay the same. Non-atomic reads take part in races and stay where they are.

use super::{Machine, Reads, State, Step};
use crate::ids::{Loc, Tid};
use crate::memory::prc11::Status;
use crate::memory::prc11::local::{Effect, Want};

/// A state after reads of one thread, those reads, and the location of the last.
type Ahead = (State, Reads, usize);

impl Machine {
    pub(super) fn reads_late(&self) -> bool {
        self.options.reduce && !self.options.keep_registers
    }

    /// Hands the steps of a thread to `sink`: whatever it reads first, then something else. That may be
    /// the propagation of a marker to it.
    pub fn moves(&self, state: &State, tid: Tid, sink: &mut impl FnMut(Step)) {
        if state.locals[tid.index()].status != Status::Running {
            return;
        }
        let mut open: Vec<Ahead> = Vec::new();
        self.moves_from(state, tid, &Reads::new(), &mut open, sink);
        let mut at = 0;
        while at < open.len() {
            let (state, reads, loc) = open[at].clone();
            self.stale_propagations(&state, tid.index(), loc, &reads, sink);
            self.moves_from(&state, tid, &reads, &mut open, sink);
            at += 1;
        }
    }

    /// Might the thread do something else if more markers had reached it: is there an acquire read that
    /// waits for some, right now or after other reads?
    pub fn may_wait(&self, state: &State, tid: Tid) -> bool {
        let t = tid.index();
        let (local, program) = (&state.locals[t], &self.system.program);
        if local.status != Status::Running {
            return false;
        }
        local.resolved(program, tid, &self.polling[t]).iter().any(|local| {
            let running = local.status == Status::Running;
            let Some(Ok(Want::Access(action))) = running.then(|| local.want(program, tid)) else {
                return false;
            };
            let Some(loc) = action.loc().map(Loc::index) else { return false };
            let writes = state.known[t][loc] as usize..state.writes[loc].len();
            !action.may_write()
                || writes.into_iter().any(|position| {
                    let effect = Effect::of(&action, state.writes[loc][position].value, program);
                    effect.is_some_and(|effect| !self.may_acquire(state, t, loc, position, effect))
                })
        })
    }

    fn moves_from(
        &self,
        state: &State,
        tid: Tid,
        reads: &Reads,
        open: &mut Vec<Ahead>,
        sink: &mut impl FnMut(Step),
    ) {
        let t = tid.index();
        let locals = state.locals[t].resolved(&self.system.program, tid, &self.polling[t]);
        for local in locals {
            let mut later = |next: State, reads: Reads, loc: usize| {
                let same = |(other, _, last): &Ahead| {
                    *last == loc
                        && other.locals[t] == next.locals[t]
                        && other.known[t] == next.known[t]
                        && other.before[t] == next.before[t]
                };
                if !open.iter().any(same) {
                    open.push((next, reads, loc));
                }
            };
            self.thread_steps(state, tid, local, reads, &mut later, sink);
        }
    }

    /// Markers that reach a thread right after it has read something that it could not have read
    /// afterwards.
    fn stale_propagations(
        &self,
        state: &State,
        to: usize,
        loc: usize,
        reads: &Reads,
        sink: &mut impl FnMut(Step),
    ) {
        let space = self.system.space_of[loc];
        for from in (0..self.threads).filter(|&from| from != to) {
            let reached = state.known[to][self.count(space, from)];
            let marker = state.markers[from].get(reached as usize);
            if marker.is_some_and(|marker| marker[loc] > state.known[to][loc]) {
                self.propagate(state, from, to, space, reads, sink);
            }
        }
    }
}
