//! Reads come late.
//!
//! That a thread reads an atomic location changes nothing but the thread: what it knows of writes, markers and non-atomic
//! accesses, and where it goes. So a read can be put off until right before the thread's next step of another kind: a write, a
//! call or return, or the propagation of something to it. Of these, only a propagation can make the
//! read impossible, if what it reads is out of reach then; otherwise the read can come after it as
//! well. So no state has to be kept in which a thread has read and has done nothing with it. Reads are
//! silent, so histories stay the same. Non-atomic reads take part in races and stay where they are.

use super::markers::Arrival;
use super::{Local, Machine, Prelude, State, Step, stuck};
use crate::rc11_views::Status;
use crate::rc11_views::local::{Effect, Want};
use ir::Pc;
use ir::ids::{Loc, Tid};

/// A state after reads of one thread.
#[derive(Clone)]
pub(super) struct Ahead {
    pub(super) state: State,
    pub(super) prelude: Prelude,
    /// The location of the last.
    pub(super) loc: usize,
}

impl Machine {
    pub(super) fn reads_late(&self) -> bool {
        self.options.reduce && !self.options.keep_registers
    }

    /// Hands the steps of a thread to `sink`: whatever it reads first, then something else. That may be
    /// the propagation of a marker to it.
    pub fn moves(&self, state: &State, tid: Tid, sink: &mut impl FnMut(Step)) {
        for ahead in self.moves_after_reads(state, tid, sink) {
            self.stale_propagations(&ahead, tid, sink);
        }
    }

    /// Hands the steps of a thread itself to `sink`; returns the states after what it may read first.
    pub(super) fn moves_after_reads(
        &self,
        state: &State,
        tid: Tid,
        sink: &mut impl FnMut(Step),
    ) -> Vec<Ahead> {
        let mut open: Vec<Ahead> = Vec::new();
        if state.locals[tid.index()].status != Status::Running {
            return open;
        }
        self.moves_from(state, tid, &Prelude::default(), &mut open, sink);
        let mut at = 0;
        while at < open.len() {
            let Ahead { state, prelude, .. } = open[at].clone();
            self.moves_from(&state, tid, &prelude, &mut open, sink);
            at += 1;
        }
        open
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
            let writes = state.views.known[t][loc] as usize..state.views.writes[loc].len();
            !action.may_write()
                || writes.into_iter().any(|position| {
                    let effect =
                        Effect::of(&action, state.views.writes[loc][position].value, program);
                    effect.is_some_and(|effect| !self.may_acquire(state, t, loc, position, effect))
                })
        })
    }

    fn moves_from(
        &self,
        state: &State,
        tid: Tid,
        prelude: &Prelude,
        open: &mut Vec<Ahead>,
        sink: &mut impl FnMut(Step),
    ) {
        let t = tid.index();
        let (program, polling) = (&self.system.program, &self.polling[t]);
        let noting = &mut |pc| self.note(tid, pc);
        if let Some(one_of) = &self.choices
            && self.is_inside(state, tid)
        {
            let puts_off = |pc, targets: &[Pc]| one_of.has(tid, pc, targets);
            let chosen = state.locals[t].chosen(program, tid, polling, &puts_off, noting);
            if chosen[..] != state.locals[t..=t] {
                return chosen.into_iter().for_each(|local| self.choose(state, tid, local, sink));
            }
        }
        let locals = state.locals[t].resolved_noting(program, tid, polling, noting);
        for local in locals {
            let mut later = |next: State, prelude: Prelude, loc: usize| {
                let same = |other: &Ahead| other.loc == loc && other.state == next;
                if !open.iter().any(same) {
                    open.push(Ahead { state: next, prelude, loc });
                }
            };
            self.thread_steps(state, tid, local, prelude, &mut later, sink);
        }
    }

    /// Hands over that a thread makes its choices, as a step of its own.
    fn choose(&self, state: &State, tid: Tid, local: Local, sink: &mut impl FnMut(Step)) {
        let finding = match local.status {
            Status::Running => None,
            _ => stuck(&local, tid),
        };
        let at = Some((tid, state.locals[tid.index()].pc));
        let mut next = state.clone();
        next.locals[tid.index()] = local;
        self.normalise(&mut next);
        sink(Step { at, finding, ..Step::new(next, &Prelude::default()) });
    }

    /// Markers that reach a thread right after it has read something that it could not have read
    /// afterwards.
    fn stale_propagations(&self, ahead: &Ahead, to: Tid, sink: &mut impl FnMut(Step)) {
        let Ahead { state, prelude, loc } = ahead;
        let space = self.system.space_of[*loc];
        let known = &state.views.known[to.index()];
        for from in self.system.program.tids().filter(|&from| from != to) {
            let reached = known[self.count(space, from.index())] as usize;
            let marker = state.views.markers[from.index()].get(reached);
            if marker.is_some_and(|marker| marker[*loc] > known[*loc]) {
                self.propagate(state, Arrival { from, to, space }, prelude, sink);
            }
        }
    }
}
