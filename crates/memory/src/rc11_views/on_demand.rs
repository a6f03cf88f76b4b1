//! Markers propagate on demand.
//!
//! Most of the states of a program with many threads differ only in which markers have reached whom. If
//! histories are compared with those of a program to which an earlier arrival makes no difference, most
//! of these states need not be looked at. This is about the first program, the one whose histories are
//! to be found in the second; `check::refinement` says what must be known of the second, and why the
//! answer is the same.
//!
//! Take a run. What a step needs of the steps before it is: the earlier ones of its thread, the write that it
//! reads from, if it is an acquire read the arrival of the markers which that write carries, and if it
//! leaves a marker, that not too many are on their way. (Where in modification order a write comes is no
//! matter of time: any order of the run's steps that respects these needs is a run with the same
//! graph.) So without changing the graph,
//!
//! * the arrival of a marker can be put off until something needs it: an acquire read of its
//!   thread, the arrival there of a marker that carries it, or the next marker of the thread that left it
//!   if too many are on their way;
//! * a call or return that is a thread's next step, and has room, can come at once.
//!
//! Runs of this kind are explored: a thread that may leave a marker does so before anything else happens, and
//! arrivals are parts of the steps that need them. Reads come late as ever (`late`): the read, with the
//! arrivals that it needs, is part of the thread's next other step. If a marker has to arrive
//! because of another thread's next marker, the thread may read first what it could not read after.

use super::late_reads::Ahead;
use super::local_states::Graph;
use super::markers::Arrival;
use super::{Machine, Prelude, State, Step};
use crate::rc11_views::local::{Effect, Local, Want};
use crate::rc11_views::{Reach, Space, Status, System};
use ir::ids::{Tid, Value};
use ir::program::{Instr, LocationKind, Mark, Thread};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// When markers propagate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    /// At any time.
    AnyTime,
    /// When something needs it, and calls and returns come as soon as they can.
    OnDemand,
    /// At any time, but an acquire read inside a method does not wait for markers: they are *owed* to
    /// the thread, and have to propagate to it before the method returns.
    Owed,
    /// Never, and nothing waits for it: calls and returns leave no markers. Of writes that are not the
    /// newest to their location no more is kept than it takes to tell that one of them could be
    /// accessed. After a step that is stale ([`Step::is_stale`]), nothing is right.
    Never,
}

impl Machine {
    pub(super) fn on_demand(&self) -> bool {
        self.options.propagation == Propagation::OnDemand
    }

    pub(super) fn only_newest(&self) -> bool {
        self.options.propagation == Propagation::Never
    }

    /// Can markers be owed to the thread, here?
    pub(super) fn may_owe(&self, state: &State, tid: usize) -> bool {
        self.options.propagation == Propagation::Owed
            && self.inside[tid][state.locals[tid].pc.index()]
    }

    /// Is it known that a thread reads from another only what that thread released since its last
    /// marker, by an acquire read, or else non-atomically?
    pub fn is_synchronised(&self) -> bool {
        self.is_synchronised
    }

    /// The thread's next steps that leave a marker, and whether it has no others.
    fn marks(&self, state: &State, tid: Tid) -> (SmallVec<[Local; 4]>, bool) {
        let program = &self.system.program;
        let t = tid.index();
        let mut locals = match state.locals[t].status {
            Status::Running => state.locals[t].resolved(program, tid, &self.polling[t]),
            _ => SmallVec::new(),
        };
        let all = locals.len();
        locals.retain(|local| {
            let running = local.status == Status::Running;
            running && matches!(local.want(program, tid), Ok(Want::Mark(_)))
        });
        let only = locals.len() == all;
        (locals, only)
    }

    pub(super) fn steps_on_demand(&self, state: &State, sink: &mut impl FnMut(Step)) {
        for tid in self.system.program.tids() {
            let (marks, only) = self.marks(state, tid);
            if only && !marks.is_empty() && self.may_mark(state, tid.index()) {
                return self.leave(state, tid, marks, &Prelude::default(), sink);
            }
        }
        let tids = self.system.program.tids();
        let ahead: Vec<Vec<Ahead>> =
            tids.map(|tid| self.moves_after_reads(state, tid, sink)).collect();
        let nothing = Prelude::default();
        for from in self.system.program.tids() {
            let start = std::iter::once((state, &nothing));
            let after = ahead[from.index()].iter().map(|ahead| (&ahead.state, &ahead.prelude));
            for (state, prelude) in start.chain(after) {
                let (marks, _) = self.marks(state, from);
                if !marks.is_empty() && !self.may_mark(state, from.index()) {
                    let room = Room { from, marks, ahead: &ahead };
                    self.make_room(&room, 0, state.clone(), prelude.clone(), sink);
                }
            }
        }
    }

    fn leave(
        &self,
        state: &State,
        tid: Tid,
        marks: SmallVec<[Local; 4]>,
        prelude: &Prelude,
        sink: &mut impl FnMut(Step),
    ) {
        for local in marks {
            self.thread_steps(state, tid, local, prelude, &mut |_, _, _| {}, sink);
        }
    }

    /// Lets markers of a thread arrive where too many are on their way, one thread after the other, so
    /// that it can leave the next.
    fn make_room(
        &self,
        room: &Room,
        to: usize,
        state: State,
        prelude: Prelude,
        sink: &mut impl FnMut(Step),
    ) {
        if to == self.threads {
            return self.leave(&state, room.from, room.marks.clone(), &prelude, sink);
        }
        let tid = Tid::from(to);
        let is_full = |state: &State, space: Space| {
            tid != room.from && self.is_full(state, room.from, tid, space)
        };
        if !self.spaces().any(|space| is_full(&state, space)) {
            return self.make_room(room, to + 1, state, prelude, sink);
        }
        let arrive = |state: &mut State, prelude: &mut Prelude| {
            for space in self.spaces() {
                if is_full(state, space) {
                    let arrival = Arrival { from: room.from, to: tid, space };
                    self.let_arrive(state, arrival, &mut prelude.arrived);
                }
            }
        };
        for Ahead { state: ahead, prelude: first, loc } in &room.ahead[to] {
            let (mut next, mut prelude) = (state.clone(), prelude.clone());
            next.locals[to] = ahead.locals[to].clone();
            next.views.known[to] = ahead.views.known[to].clone();
            next.views.before[to] = ahead.views.before[to].clone();
            next.views.aware[to] = ahead.views.aware[to];
            prelude.arrived.extend_from_slice(&first.arrived);
            arrive(&mut next, &mut prelude);
            // What it can also read afterwards, it need not read first.
            if next.views.known[to][*loc] > ahead.views.known[to][*loc] {
                self.make_room(room, to + 1, next, prelude, sink);
            }
        }
        let (mut next, mut prelude) = (state, prelude);
        arrive(&mut next, &mut prelude);
        self.make_room(room, to + 1, next, prelude, sink);
    }
}

/// A thread that wants to leave a marker and has no room for it.
struct Room<'a> {
    from: Tid,
    /// The steps that leave one.
    marks: SmallVec<[Local; 4]>,
    /// What every thread could have read before.
    ahead: &'a [Vec<Ahead>],
}

/// For every program counter, is it between a call and its return?
pub(super) fn inside(thread: &Thread) -> Vec<bool> {
    let mut inside = vec![None; thread.code.len()];
    let mut open = vec![(thread.entry.index(), false)];
    while let Some((pc, is)) = open.pop() {
        if inside[pc].is_some() {
            continue;
        }
        inside[pc] = Some(is);
        let after = match thread.code[pc].instr {
            Instr::Mark(Mark::Call { .. }) => true,
            Instr::Mark(Mark::Return { .. }) => false,
            _ => is,
        };
        open.extend(thread.code[pc].successors().map(|next| (next.index(), after)));
    }
    inside.into_iter().map(|is| is == Some(true)).collect()
}

/// Does every atomic read, of a location that more than one thread accesses, acquire, and does it read
/// nothing but values that only releasing writes write? As far as each thread on its own shows.
pub(super) fn is_synchronised(system: &System, graphs: &[Graph]) -> bool {
    let program = &system.program;
    let mut accessors = vec![0u32; program.locations.len()];
    let mut unreleased = vec![BTreeSet::new(); program.locations.len()];
    // Each access: what it does with every value that the location may hold.
    let mut effects: Vec<(usize, Value, Effect)> = Vec::new();
    for (t, graph) in graphs.iter().enumerate() {
        for (loc, action, values) in graph.accesses(program, Tid::from(t)) {
            accessors[loc] |= 1 << t;
            let of = |&value: &_| Effect::of(&action, value, program).map(|e| (loc, value, e));
            effects.extend(values.iter().filter_map(of));
        }
    }
    for &(loc, _, effect) in &effects {
        if let Some((value, mode)) = effect.write
            && Reach::of_write(mode) == Reach::Nothing
        {
            unreleased[loc].insert(value);
        }
    }
    effects.iter().all(|&(loc, value, effect)| {
        let shared = accessors[loc].count_ones() > 1;
        let atomic = program.locations[loc].kind != LocationKind::NonAtomic;
        let synchronises = effect.read.is_none_or(|mode| {
            Reach::of_read(mode) != Reach::Nothing && !unreleased[loc].contains(&value)
        });
        !shared || !atomic || synchronises
    })
}
