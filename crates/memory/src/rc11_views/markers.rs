//! How markers of calls and returns get from thread to thread.
//!
//! Those of one thread reach another in order, for each space on its own, so it is enough to count
//! them. A marker may arrive when all that it carries has; then what it carries is known there. Acquire
//! reads wait for arrivals, and a thread with too many markers on their way waits before it leaves the
//! next.

use super::{Machine, Prelude, State, Step, Views, raise};
use crate::Memory;
use crate::rc11_views::local::Effect;
use crate::rc11_views::{Label, Reach, Space};
use ir::ids::Tid;
use smallvec::SmallVec;

/// The next marker of a thread reaches another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Arrival {
    /// Whose marker.
    pub from: Tid,
    /// The thread it reaches.
    pub to: Tid,
    /// For which space.
    pub space: Space,
}

/// Markers that propagate, in order.
pub type Arrivals = SmallVec<[Arrival; 4]>;

impl Machine {
    /// Hands to `sink` the steps in which a marker propagates to this thread, other than right after it
    /// has read.
    pub fn arrivals(&self, state: &State, to: Tid, sink: &mut impl FnMut(Step)) {
        for from in self.system.program.tids().filter(|&from| from != to) {
            for space in self.spaces() {
                self.propagate(state, Arrival { from, to, space }, &Prelude::default(), sink);
            }
        }
    }

    /// A marker propagates, if it may.
    pub(super) fn propagate(
        &self,
        state: &State,
        arrival: Arrival,
        prelude: &Prelude,
        sink: &mut impl FnMut(Step),
    ) {
        if self.may_arrive(&state.views, arrival) {
            let mut next = state.clone();
            self.arrive_at(&mut next.views, arrival);
            self.normalise(&mut next);
            let Arrival { from, to, space } = arrival;
            let label = Some(Label::Propagate { from, to, space });
            sink(Step { label, ..Step::new(next, prelude) });
        }
    }

    /// The state after these markers have propagated; `None` if one of them may not.
    pub fn after_arrivals(&self, state: &State, arrivals: &[Arrival]) -> Option<State> {
        let mut next = state.clone();
        for &arrival in arrivals {
            self.own_step(&mut next.views, arrival)?;
        }
        self.normalise(&mut next);
        Some(next)
    }

    /// Is there a marker, and has all that it carries reached the thread?
    pub(super) fn may_arrive(&self, views: &Views, Arrival { from, to, space }: Arrival) -> bool {
        let known = &views.known[to.index()];
        let reached = known[self.count(space, from.index())] as usize;
        views.markers[from.index()].get(reached).is_some_and(|marker| {
            let others = self.system.program.tids().filter(|&t| t != to && t != from);
            others.map(|t| self.count(space, t.index())).all(|entry| marker[entry] <= known[entry])
        })
    }

    pub(super) fn arrive_at(&self, views: &mut Views, Arrival { from, to, space }: Arrival) {
        let count = self.count(space, from.index());
        let known = &mut views.known[to.index()];
        let marker = &views.markers[from.index()][known[count] as usize];
        for &entry in self.entries[space.0 as usize].iter() {
            if entry < self.locations {
                raise(&mut known[entry], marker[entry]);
            }
        }
        known[count] += 1;
    }

    /// Lets the next marker of a thread arrive, and before it all that it carries. There must be one.
    pub(super) fn let_arrive(&self, state: &mut State, arrival: Arrival, arrived: &mut Arrivals) {
        let Arrival { from, to, space } = arrival;
        let reached = state.views.known[to.index()][self.count(space, from.index())] as usize;
        let marker = state.views.markers[from.index()][reached].clone();
        let spaces = std::iter::once(space);
        self.let_all_arrive(state, to, spaces, &marker, Some(from), arrived);
        self.arrive_at(&mut state.views, arrival);
        arrived.push(arrival);
    }

    /// Lets as many markers arrive for these spaces as `needed` says, but for those of one thread.
    fn let_all_arrive(
        &self,
        state: &mut State,
        to: Tid,
        spaces: impl Iterator<Item = Space>,
        needed: &[u8],
        except: Option<Tid>,
        arrived: &mut Arrivals,
    ) {
        for space in spaces {
            for from in self.system.program.tids().filter(|&t| t != to && Some(t) != except) {
                let entry = self.count(space, from.index());
                while state.views.known[to.index()][entry] < needed[entry] {
                    self.let_arrive(state, Arrival { from, to, space }, arrived);
                }
            }
        }
    }

    /// Lets the markers arrive that an acquire read waits for, if they propagate on demand. Can the
    /// thread still read the write then?
    pub(super) fn let_acquire(
        &self,
        state: &mut State,
        tid: Tid,
        loc: usize,
        position: usize,
        effect: Effect,
        arrived: &mut Arrivals,
    ) -> bool {
        let reach = effect.read.map(Reach::of_read);
        let (true, Some(reach)) = (self.on_demand(), reach) else { return false };
        let carried = state.views.writes[loc][position].carried.clone();
        self.let_all_arrive(state, tid, self.covered(reach, loc), &carried, None, arrived);
        state.views.known[tid.index()][loc] as usize <= position
    }

    /// How many markers of one thread have not yet propagated to another for this space.
    pub fn on_their_way(&self, state: &State, from: Tid, to: Tid, space: Space) -> usize {
        let (from, to) = (from.index(), to.index());
        state.views.markers[from].len() - state.views.known[to][self.count(space, from)] as usize
    }

    /// May no further marker go from one thread to the other for this space?
    pub(super) fn is_full(&self, state: &State, from: Tid, to: Tid, space: Space) -> bool {
        self.on_their_way(state, from, to, space) >= self.options.pending as usize
    }

    /// May the thread leave another marker? It waits while too many are on their way, and for those that
    /// are owed to it.
    pub(super) fn may_mark(&self, state: &State, tid: usize) -> bool {
        let from = Tid::from(tid);
        let mut others = self.system.program.tids().filter(|&to| to != from);
        let (before, known) = (&state.views.before[tid], &state.views.known[tid]);
        others.all(|other| {
            self.spaces().all(|space| {
                let count = self.count(space, other.index());
                !self.is_full(state, from, other, space) && before[count] <= known[count]
            })
        })
    }

    /// Have the markers that the write at `position` carries reached the thread, as far as the read
    /// waits for them?
    pub(super) fn may_acquire(
        &self,
        state: &State,
        tid: usize,
        loc: usize,
        position: usize,
        effect: Effect,
    ) -> bool {
        let Some(reach) = effect.read.map(Reach::of_read) else { return true };
        if self.may_owe(state, tid) {
            return true;
        }
        let carried = &state.views.writes[loc][position].carried;
        let known = &state.views.known[tid];
        self.covered(reach, loc).all(|space| {
            let others = (0..self.threads).filter(|&t| t != tid);
            others.map(|t| self.count(space, t)).all(|entry| known[entry] >= carried[entry])
        })
    }

    /// The counts that the newest marker of a thread carries, as far as somebody may have to wait for
    /// them.
    pub fn carried_by_newest(&self, state: &State, tid: Tid) -> SmallVec<[u8; 8]> {
        match state.views.markers[tid.index()].last() {
            Some(marker) => SmallVec::from_slice(&marker[self.locations..]),
            None => SmallVec::from_elem(0, self.width() - self.locations),
        }
    }
}
