//! One form for all states with the same future.
//!
//! * Markers that have reached everybody are dropped, and counts start from there.
//! * Writes that nobody can read and behind which nobody can write are dropped, and positions start
//!   from there: those below where anybody can still access the location (`future`), and those that a
//!   read-modify-write took if the location is only ever read by read-modify-writes. Of two neighbouring writes that nobody
//!   can tell apart, and between which nothing can come, one is dropped; not so where there are no markers, as
//!   nobody sees then which of them a write would carry.
//! * An entry of a frontier matters only if it can still teach somebody something. A position is
//!   set to 0 if all who access the location know it already; a count, if all who could be made to
//!   wait for it know it.
//! * Dead registers are set to 0, and values that nobody can use are replaced (`unused`).

use super::{Machine, State, Write};
use ir::ids::Reg;

impl Machine {
    pub(super) fn normalise(&self, state: &mut State) {
        for (local, live) in state.locals.iter_mut().zip(&self.live) {
            let live = live[local.pc.index()];
            for (reg, value) in local.registers.iter_mut().enumerate() {
                if !live.contains(Reg::from(reg)) {
                    *value = 0;
                }
            }
        }
        self.drop_markers(state);
        self.forget_positions(state);
        self.forget_counts(state);
        self.forget_values(state);
        for loc in 0..self.locations {
            self.drop_writes(state, loc);
        }
    }

    fn drop_markers(&self, state: &mut State) {
        for from in 0..self.threads {
            let issued = state.views.markers[from].len() as u8;
            let everywhere = (0..self.threads)
                .filter(|&to| to != from)
                .flat_map(|to| self.spaces().map(move |space| (to, space)))
                .map(|(to, space)| state.views.known[to][self.count(space, from)])
                .min()
                .unwrap_or(issued);
            if everywhere > 0 {
                state.views.markers[from].drain(..everywhere as usize);
                for space in self.spaces() {
                    let entry = self.count(space, from);
                    for frontier in state.views.frontiers() {
                        frontier[entry] = frontier[entry].saturating_sub(everywhere);
                    }
                }
            }
        }
    }

    /// Positions that teach nobody anything become 0.
    fn forget_positions(&self, state: &mut State) {
        for loc in 0..self.locations {
            let accesses = |t: usize| self.accessors[loc] >> t & 1 == 1;
            // The two threads that know least; the second one counts for the first.
            let (mut least, mut who, mut second) = (u8::MAX, usize::MAX, u8::MAX);
            for t in 0..self.threads {
                if !accesses(t) {
                    state.views.known[t][loc] = 0;
                    continue;
                }
                let known = state.views.known[t][loc];
                if known < least {
                    (second, least, who) = (least, known, t);
                } else {
                    second = second.min(known);
                }
            }
            for (t, before) in state.views.before.iter_mut().enumerate() {
                if before[loc] <= if t == who { second } else { least } {
                    before[loc] = 0;
                }
            }
            for write in state.views.writes.iter_mut().flatten() {
                if write.carried[loc] <= least {
                    write.carried[loc] = 0;
                }
            }
            let space = self.system.space_of[loc];
            for from in 0..self.threads {
                let count = self.count(space, from);
                for (index, marker) in state.views.markers[from].iter_mut().enumerate() {
                    let matters = marker[loc] > 0
                        && (0..self.threads).any(|to| {
                            let known = &state.views.known[to];
                            to != from
                                && accesses(to)
                                && known[count] as usize <= index
                                && known[loc] < marker[loc]
                        });
                    if !matters {
                        marker[loc] = 0;
                    }
                }
            }
        }
    }

    /// Counts that nobody has to wait for become 0.
    fn forget_counts(&self, state: &mut State) {
        for space in self.spaces() {
            for from in 0..self.threads {
                let entry = self.count(space, from);
                state.views.known[from][entry] = 0;
                let waits = |known: &[super::Frontier], t: usize, needed: u8| {
                    needed > 0 && t != from && known[t][entry] < needed
                };
                for t in 0..self.threads {
                    let needed = state.views.before[t][entry];
                    let mut all = 0..self.threads;
                    if t == from || !all.any(|waiting| waits(&state.views.known, waiting, needed)) {
                        state.views.before[t][entry] = 0;
                    }
                }
                for write in state.views.writes.iter_mut().flatten() {
                    let needed = write.carried[entry];
                    if !(0..self.threads).any(|t| waits(&state.views.known, t, needed)) {
                        write.carried[entry] = 0;
                    }
                }
                for owner in 0..self.threads {
                    let count = self.count(space, owner);
                    for (index, marker) in state.views.markers[owner].iter_mut().enumerate() {
                        let needed = marker[entry];
                        let matters = owner != from
                            && (0..self.threads).any(|to| {
                                to != owner
                                    && state.views.known[to][count] as usize <= index
                                    && waits(&state.views.known, to, needed)
                            });
                        if !matters {
                            marker[entry] = 0;
                        }
                    }
                }
            }
        }
    }

    fn drop_writes(&self, state: &mut State, loc: usize) {
        let count = state.views.writes[loc].len();
        if count == 1 {
            return;
        }
        if self.only_newest() {
            for write in &mut state.views.writes[loc][..count - 1] {
                write.carried.fill(0);
                write.aware = 0;
            }
        }
        let least = self.least_accessible(state, loc);
        let alone =
            self.writers[loc].count_ones() <= 1 && !self.updated[loc] && !self.only_newest();
        let writes = &state.views.writes[loc];
        let dead = |position: usize| {
            let write = &writes[position];
            let same = |other: &Write| other.value == write.value && other.taken == write.taken;
            position + 1 < count
                && (position < least
                    || write.taken && !self.plain_reads[loc]
                    || alone && *write == writes[position + 1]
                    || self.only_newest() && writes[position + 1..count - 1].iter().any(same))
        };
        let dead: smallvec::SmallVec<[bool; 16]> = (0..count).map(dead).collect();
        if !dead.contains(&true) {
            return;
        }
        // A position at a dropped write becomes that of the next one that is left.
        let mut moved: smallvec::SmallVec<[u8; 16]> = smallvec::SmallVec::new();
        let mut kept = 0;
        for &dead in &dead {
            moved.push(kept);
            kept += u8::from(!dead);
        }
        let mut position = 0;
        state.views.writes[loc].retain(|_| {
            position += 1;
            !dead[position - 1]
        });
        for frontier in state.views.frontiers() {
            frontier[loc] = moved[frontier[loc] as usize];
        }
    }
}
