//! Partial-order reduction: which threads need to move now.
//!
//! # Statement
//!
//! At a state s let P be a set of threads, one of which can move, such that what they do next conflicts
//! with nothing that the other threads may ever do from s on: no access to the same location where one
//! of the two writes. If every finding that can be reached from s by runs of the threads is to be
//! found, it is enough to move the threads of P from s, provided that one of these moves leads to a
//! state that was not seen before; otherwise all threads move.
//!
//! # Premises
//!
//! 1. What a thread may ever do from a program counter on is known: [`futures`](analysis::access)
//!    collects the locations of every instruction that control can reach, computed indices standing
//!    for the whole array.
//! 2. Accesses of different threads that do not conflict commute in the memory, monitors included, and
//!    neither changes whether the memory objects to the other. For SC this is plain. For the monitors
//!    see [`memory::rc20`]: the state is a function of the execution graph, which does not
//!    know the order of such accesses. Fences that update access the memory's fence location.
//! 3. No thread can keep others from moving: programs with blocks that others may not interrupt
//!    (`uses_bus`) are not reduced.
//!
//! # Proof
//!
//! Let ρ be a run from s to a finding.
//!
//! 1. If a thread of P moves in ρ, let p be the first such move. The moves before it are of threads
//!    outside P, so by 1 and 2 they commute with p, and p can come first: there is a run p·ρ' from s
//!    to the finding, and ρ' is shorter than ρ.
//! 2. If no thread of P moves in ρ, then any move p of P can come first, and ρ is a run from there to
//!    the finding, unchanged. Choose p so that it leads to a new state.
//! 3. So from s, one move leads to a state from which the finding is reached by a shorter run, or by a
//!    run as long from a state that was inserted after s. There are finitely many states, so after
//!    finitely many moves of the second kind comes one of the first, or a state where all threads
//!    move; and runs have finite length.
//! 4. A finding on arrival ([`memory::Memory::arrive`]) concerns the thread that has just moved, and its own
//!    access; by 2 it is made in both orders, or earlier.
//!
//! The steps also work with representatives instead of states, because a state and its
//! representative have the same program counters and hence the same P, up to an automorphism.
//! `diagrams` tests commutation, now and after steps of other threads, wherever P is not everybody.

use super::system::{ThreadSet, threads};
use super::{Pending, Product, Scratch};
use ir::Tid;
use ir::thread::Action;
use memory::Monitor;

impl<M: Monitor> Product<M> {
    /// The smallest set of threads, as a bit mask, whose next actions conflict with nothing the
    /// others may ever do. `movable` are the threads that are not done.
    pub(super) fn persistent_set(
        &self,
        scratch: &Scratch<M::State>,
        movable: ThreadSet,
    ) -> ThreadSet {
        if self.uses_bus {
            return movable; // premise 3
        }
        let (mut best, mut fewest) = (movable, movable.count_ones());
        for start in threads(movable) {
            let mut set: ThreadSet = 1 << start.0;
            let (mut open, mut size) = (set, 1);
            while open != 0 && size < fewest {
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
                        size += 1;
                    }
                }
            }
            if size < fewest && self.has_enabled(scratch, set) {
                (best, fewest) = (set, size);
                if fewest == 1 {
                    break;
                }
            }
        }
        best
    }

    /// Can some thread of the set move?
    fn has_enabled(&self, scratch: &Scratch<M::State>, set: ThreadSet) -> bool {
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
