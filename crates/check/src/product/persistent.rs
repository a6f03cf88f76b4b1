//! Partial-order reduction: which threads need to move now.
//!
//! A set of threads is persistent if what they do next conflicts with nothing that the others may
//! ever do. Then every run can be reordered so that one of the set moves first, and only they need
//! to be tried, as long as one of them reaches a new state (see [`search::Sink::state`]).

use super::{Pending, Product, Scratch, threads};
use model::Tid;
use model::memory::Memory;
use model::thread::Action;

impl<M: Memory> Product<'_, M> {
    /// The smallest set of threads, as a bit mask, whose next actions conflict with nothing the
    /// others may ever do. `movable` are the threads that are not done.
    pub(super) fn persistent_set(&self, scratch: &Scratch<M::State>, movable: u32) -> u32 {
        let mut best = movable;
        for start in threads(movable) {
            let mut set = 1u32 << start.0;
            let mut open = set;
            while open != 0 && set != movable {
                let tid = Tid(open.trailing_zeros());
                open &= open - 1;
                let Pending::Wants(action) = &scratch.pending[tid.index()] else { continue };
                let pc = scratch.world.pcs[tid.index()];
                let at_choice = self.choice_points[tid.index()][pc.index()];
                let footprint = self.footprint(action);
                for other in threads(movable & !set) {
                    let other_pc = scratch.world.pcs[other.index()];
                    let future = &self.futures[other.index()][other_pc.index()];
                    let conflict = match footprint {
                        _ if at_choice => {
                            self.next_accesses[tid.index()][pc.index()].conflicts(future)
                        }
                        Some((loc, true)) => future.accesses.contains(loc),
                        Some((loc, false)) => future.writes.contains(loc),
                        None => false,
                    };
                    if conflict {
                        set |= 1 << other.0;
                        open |= 1 << other.0;
                    }
                }
            }
            if set.count_ones() < best.count_ones() && self.has_enabled(scratch, set) {
                best = set;
            }
        }
        best
    }

    /// Can some thread of the set move?
    fn has_enabled(&self, scratch: &Scratch<M::State>, set: u32) -> bool {
        let values = self.memory.values(&scratch.world.memory);
        threads(set).any(|tid| match &scratch.pending[tid.index()] {
            Pending::Done | Pending::Faulty => false,
            Pending::Wants(Action::BlockingCas { loc, expected, .. }) => {
                values[loc.index()] == *expected
            }
            Pending::Wants(Action::Wait { loc, values: waited, .. }) => {
                waited.contains(&values[loc.index()])
            }
            Pending::Wants(_) => true,
        })
    }
}
