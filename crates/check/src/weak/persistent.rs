//! Partial order on the weak memory: which threads need to move now.
//!
//! # Statement
//!
//! At a state s let P be a set of threads whose next accesses conflict with nothing that the other threads may ever do.
//! If every finding that can be reached from s is to be found, it is enough to move the threads of P, provided that one
//! of these moves leads to a state that was not seen before, and that P *goes on*: the newest write lets one of its threads t
//! pass, and
//!
//! * either t never comes back to the program counter that it leaves,
//! * or no thread of P has a *stale* move, one that reads or goes behind another write than the newest.
//!
//! # Proof
//!
//! Let ρ be a run from s to a finding. The memory is a function of the execution graph, which does not know the order of
//! accesses of different threads that do not conflict, and a part of a consistent graph is consistent.
//!
//! 1. If a thread of P moves in ρ, its first move p commutes with what is before it, as in [`crate::product`]'s persistent sets:
//!    from the state after p, a shorter run than ρ leads to the finding.
//! 2. If none does, let p be a move of P at s that is not stale. Nobody writes its location in ρ, nobody accesses it if p
//!    writes, and its thread does nothing else. So all edges of the graph that p adds lead into p, at s and at the end of ρ:
//!    p closes no cycle, p·ρ is a run, and it finds what ρ finds. (A stale move will not do. It has an edge to the newer write, so
//!    with `sc` events it may forbid a stale read of another location to another thread.)
//! 3. If no thread of P has a stale move, choose p as the move that leads to a new state. Otherwise choose the move of t on the newest
//!    write: t has left a program counter that it never comes back to, whether or not the state was seen before. There are
//!    finitely many of these program counters, and states, so after finitely many steps of the second kind comes one of the first, or a state
//!    where all threads move.
//! 4. No state in which all threads are stuck is lost. A thread is taken to be stuck if the *newest* write to the location
//!    does not let it pass, as no fair memory hides the newest write for ever. No other thread writes what t accesses any
//!    more, so t is not stuck later either, and case 2 does not arise. (Threads that spin are not stuck in this sense;
//!    `waiting` says what holds for them.)
//! 5. *The bound on stale writes.* Of two orders of the same accesses one may exceed the bound, and the other not. A
//!    state is not reduced if a move of the set exceeds the bound. If a move p of the set does not, and a run ρ from
//!    there stays within the bound in which p comes later, so does the run with p first: accesses of others to p's
//!    location do not come in between if p writes, so there p only makes more of what was dropped anyway; and a
//!    read only teaches its thread something earlier, after which there is less to keep.

use super::pack::World;
use super::system::{Pending, System};
use ir::thread::Action;
use ir::{FenceMode, Loc, Tid};
use memory::Memory;
use smallvec::SmallVec;

impl System {
    /// The location that an action accesses, and whether it may write.
    fn footprint(&self, action: &Action) -> Option<(Loc, bool)> {
        let updates = matches!(action, Action::Fence(FenceMode::ScUpd | FenceMode::Upd));
        self.machine.location(action).map(|loc| (loc, updates || action.may_write()))
    }

    /// The location that a thread is about to access, and whether it may write.
    fn wanted(&self, pending: &Pending<'_>) -> Option<(Loc, bool)> {
        match pending {
            Pending::Nothing | Pending::Choice(_) => None,
            Pending::Access(action) => self.footprint(action),
            Pending::OneOf(accesses) => {
                let mut footprints = accesses.iter().filter_map(|(_, it)| self.footprint(it));
                let (loc, writes) = footprints.next()?;
                Some((loc, writes || footprints.any(|(_, writes)| writes)))
            }
        }
    }

    /// The smallest set of threads, as bits, whose next accesses conflict with nothing that others may ever do, and
    /// that goes on; all that can move if there is no smaller one.
    pub(super) fn persistent_set(
        &self,
        world: &World,
        pending: &[Pending<'_>],
        movable: u32,
    ) -> u32 {
        let tids = |set: u32| self.program.tids().filter(move |tid| set >> tid.0 & 1 == 1);
        let mut best = movable;
        for start in tids(movable) {
            let (mut set, mut open) = (1u32 << start.0, vec![start]);
            while let Some(tid) = open.pop() {
                let Some((loc, writes)) = self.wanted(&pending[tid.index()]) else { continue };
                for other in tids(movable & !set) {
                    let pc = world.pcs[other.index()];
                    let future = &self.futures[other.index()][pc.index()];
                    let conflicts = match writes {
                        true => future.accesses.contains(loc),
                        false => future.writes.contains(loc),
                    };
                    if conflicts {
                        set |= 1 << other.0;
                        open.push(other);
                    }
                }
            }
            let members: SmallVec<[Tid; 8]> = tids(set).collect();
            if set.count_ones() < best.count_ones() && self.set_goes_on(world, pending, &members) {
                best = set;
            }
        }
        best
    }

    /// Does a set of threads go on, in the sense of the statement?
    fn set_goes_on(&self, world: &World, pending: &[Pending<'_>], set: &[Tid]) -> bool {
        let goes_on = |tid: &&Tid| self.goes_on(world, &pending[tid.index()]);
        let comes_back = |tid: &Tid| self.on_cycle[tid.index()][world.pcs[tid.index()].index()];
        let is_stale = |tid: &Tid| self.has_stale_move(world, *tid, &pending[tid.index()]);
        let mut going = set.iter().filter(goes_on).peekable();
        going.peek().is_some() && (!going.all(comes_back) || !set.iter().any(is_stale))
    }

    /// May the thread read, or go behind, another write than the newest?
    fn has_stale_move(&self, world: &World, tid: Tid, pending: &Pending<'_>) -> bool {
        let is_stale = |action: &Action| {
            let mut stale = false;
            self.machine.ways(&world.views, tid, action, |way| {
                stale |= self.machine.newer(&world.views, action, way) > 0;
            });
            stale
        };
        match pending {
            Pending::Nothing | Pending::Choice(_) => false,
            Pending::OneOf(accesses) => accesses.iter().any(|(_, action)| is_stale(action)),
            Pending::Access(action) => is_stale(action),
        }
    }

    /// Can the thread move even if it sees nothing but the last write?
    pub(super) fn goes_on(&self, world: &World, pending: &Pending<'_>) -> bool {
        match pending {
            Pending::Nothing => false,
            Pending::Choice(_) => true,
            Pending::OneOf(accesses) => {
                accesses.iter().any(|(_, it)| self.machine.passes_last(&world.views, it))
            }
            Pending::Access(action) => self.machine.passes_last(&world.views, action),
        }
    }
}
