//! The product as a transition system that `search` explores.
//!
//! A state is expanded in two parts if a persistent set has been found: first its threads, then the others. What the
//! first part leaves to do is kept in the worker's [`Scratch`], so that the second part, which usually follows at once, need not
//! unpack the state again.

use super::follow::{Follow, Searching};
use super::pack::Layout;
use super::{Finding, Pending, Product, Scratch};
use crate::packed::{put_values, take_value};
use ir::thread::Action;
use ir::{Instr, Tid};
use memory::Monitor;
use search::encoding::{Reader, put};
use search::{Sink, Width};
use std::sync::atomic::Ordering;

/// A set of threads, one bit each: [`ir::validate::MAX_THREADS`] at most.
pub(super) type ThreadSet = u128;

/// An expansion of which the reduced part is done.
pub(super) struct Begun {
    /// The threads that can move at all.
    movable: ThreadSet,
    /// Those of them that have not moved yet.
    left: ThreadSet,
    /// Did a thread move?
    enabled: bool,
}

/// The threads of a set.
pub(super) fn threads(mut set: ThreadSet) -> impl Iterator<Item = Tid> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let tid = Tid(set.trailing_zeros());
            set &= set - 1;
            tid
        })
    })
}

impl<M: Monitor> search::Model for Product<M> {
    type Scratch = Scratch<M::State>;
    type Finding = Finding<M::Violation>;

    fn width(&self) -> Width {
        let Layout { bytes, core_bytes: core, .. } = self.layout;
        match self.reductions.subsumption {
            true => Width::Monitored { core, bytes },
            false => Width::Fixed(bytes),
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
            parent: Vec::new(),
            mover: None,
            begun: None,
            image: self.initial_world(),
            spare: self.initial_world(),
            smallest: Vec::new(),
            thread_keys: Default::default(),
            keys: Vec::new(),
            ties: Vec::new(),
            turns: Vec::new(),
            chosen: Vec::new(),
            lowerings: Vec::new(),
            lowered: self.initial_world(),
        }
    }

    /// A deadlock is worth a warning; it does not make the program wrong.
    fn stops(&self, finding: &Self::Finding) -> bool {
        !matches!(finding, Finding::Deadlock { .. })
    }

    /// Where results wrapped around, and what the memory has noted.
    fn learnt(&self) -> Vec<u8> {
        let wrapped = self.wrapped();
        let mut out = Vec::new();
        put(wrapped.len() as u128, &mut out);
        for (tid, pc) in wrapped {
            put(tid.0.into(), &mut out);
            put(pc.0.into(), &mut out);
        }
        put_values(&self.memory.learnt(), &mut out);
        out
    }

    fn learn(&self, learnt: &[u8]) {
        let mut from = Reader::new(learnt);
        for _ in 0..from.take() {
            let (tid, pc) = (from.take_index(), from.take_index());
            if let Some(wrapped) = self.wrapped.get(tid).and_then(|thread| thread.get(pc)) {
                wrapped.store(true, Ordering::Relaxed);
            }
        }
        let mut noted = Vec::new();
        while !from.is_empty() {
            noted.push(take_value(&mut from));
        }
        self.memory.learn(&noted);
    }

    fn initial<K: Sink<Self::Finding>>(&self, scratch: &mut Self::Scratch, sink: &mut K) {
        let (begun, findings) = super::beginnings(self, scratch);
        for begun in begun {
            scratch.next.clone_from(&begun.world);
            scratch.mover = None;
            Searching { sink: &mut *sink }.rests(self, scratch);
        }
        for noted in findings {
            sink.finding(noted.finding);
        }
    }

    /// Moves the threads of a persistent set, if there is one.
    fn expand_reduced<K: Sink<Self::Finding>>(
        &self,
        state: &[u8],
        scratch: &mut Self::Scratch,
        sink: &mut K,
    ) {
        let movable = self.look_at(state, scratch, sink);
        let mut begun = Begun { movable, left: movable, enabled: false };
        if self.reductions.partial_order && movable.count_ones() > 1 {
            let first = self.persistent_set(scratch, movable);
            if first != movable {
                begun.enabled = self.fire_all(scratch, first, sink);
                begun.left &= !first;
            }
        }
        scratch.begun = Some(begun);
    }

    fn expand<K: Sink<Self::Finding>>(
        &self,
        state: &[u8],
        scratch: &mut Self::Scratch,
        sink: &mut K,
    ) {
        let parent: &[u8] = bytemuck::cast_slice(&scratch.parent);
        let begun = scratch.begun.take().filter(|_| parent.starts_with(state));
        let Begun { movable, left, enabled } = begun.unwrap_or_else(|| {
            let movable = self.look_at(state, scratch, sink);
            Begun { movable, left: movable, enabled: false }
        });
        if !self.fire_all(scratch, left, sink) && !enabled {
            self.report_deadlock(scratch, movable, sink);
        }
    }
}

impl<M: Monitor> Product<M> {
    /// Unpacks `state`, finds out what each thread wants, and returns the threads that are not done.
    fn look_at<K: Sink<Finding<M::Violation>>>(
        &self,
        state: &[u8],
        scratch: &mut Scratch<M::State>,
        sink: &mut K,
    ) -> ThreadSet {
        self.unpack(state, &mut scratch.parent, &mut scratch.world);
        let mut movable: ThreadSet = 0;
        for tid in self.program.tids() {
            let pending = self.pending(&scratch.world, tid, |finding| sink.finding(finding));
            if !matches!(pending, Pending::Done) {
                movable |= 1 << tid.0;
            }
            scratch.pending[tid.index()] = pending;
        }
        movable
    }

    /// Moves each thread of a set from `scratch.world`; says whether one could.
    #[inline(always)]
    fn fire_all<K: Sink<Finding<M::Violation>>>(
        &self,
        scratch: &mut Scratch<M::State>,
        set: ThreadSet,
        sink: &mut K,
    ) -> bool {
        let mut enabled = false;
        for tid in threads(set) {
            scratch.mover = Some(tid);
            enabled |= self.fire(scratch, tid, &mut Searching { sink: &mut *sink });
        }
        enabled
    }

    /// Nobody moved. Threads stopped by an assumption are not waiting; where one was stopped by a failed assertion or a
    /// run-time error, that is what is wrong, and not that others wait for what it would have done.
    fn report_deadlock<K: Sink<Finding<M::Violation>>>(
        &self,
        scratch: &Scratch<M::State>,
        movable: ThreadSet,
        sink: &mut K,
    ) {
        let failed = |tid: Tid| {
            let instr = &self.program.step(tid, scratch.world.pcs[tid.index()]).instr;
            let is_kept_out = scratch.world.bus.is_some_and(|holder| holder != tid);
            match scratch.pending[tid.index()] {
                Pending::Faulty => true,
                Pending::Done
                | Pending::Wants(Action::Wait { .. } | Action::BlockingCas { .. }) => false,
                // An access that does not wait, and could not be made, is an error.
                Pending::Wants(_) => {
                    matches!(instr, Instr::Assert(_)) || (instr.place().is_some() && !is_kept_out)
                }
            }
        };
        if threads(movable).any(failed) {
            return;
        }
        let waiting = threads(movable).find(|tid| {
            let pc = scratch.world.pcs[tid.index()];
            let waits = matches!(
                scratch.pending[tid.index()],
                Pending::Wants(Action::Wait { .. } | Action::BlockingCas { .. })
            );
            !self.program.is_unstarted(*tid, pc) && (waits || self.rests_before_choice(*tid, pc))
        });
        if let Some(tid) = waiting {
            sink.finding(Finding::Deadlock { tid, pc: scratch.world.pcs[tid.index()] });
        }
    }
}
