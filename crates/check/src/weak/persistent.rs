//! Partial order on the weak memory: which threads need to move now.
//!
//! The memory is a function of the execution graph, which does not know the order of accesses of
//! different threads that do not conflict; so the argument of [`crate::product`]'s persistent sets applies. Two things
//! are added to it.
//!
//! 1. *Threads that wait.* A thread is taken to be stuck if the *last* write to the location does not let it pass, as
//!    no fair memory hides the last write for ever. A persistent set must contain a thread that the last write lets
//!    pass. No other thread writes that location any more, so it is not stuck later either, and no state in which all are
//!    stuck is lost. (Threads that spin are not stuck in this sense; `waiting` says what holds for them.)
//! 2. *The bound on stale writes.* Of two orders of the same accesses one may exceed the bound, and the other not. A
//!    state is not reduced if a move of the set exceeds the bound. If a move p of the set does not, and a run ρ from
//!    there stays within the bound in which p comes later, so does the run with p first: accesses of others to p's
//!    location do not come in between if p writes, so there p only makes more of what was dropped anyway; and a
//!    read only teaches its thread something earlier, after which there is less to keep.

use super::pack::World;
use super::system::{Pending, Seeks, System};
use ir::thread::Action;
use ir::{FenceMode, Loc, Tid};

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
    /// one of which goes on; all that can move if there is no smaller one.
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
            let goes_on = |tid: Tid| {
                let comes_back = self.on_cycle[tid.index()][world.pcs[tid.index()].index()];
                let may_spin = self.seeks == Seeks::Waiting && comes_back;
                !may_spin && self.goes_on(world, &pending[tid.index()])
            };
            if set.count_ones() < best.count_ones() && tids(set).any(goes_on) {
                best = set;
            }
        }
        best
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
