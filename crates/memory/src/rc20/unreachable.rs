//! What the monitors remember and no thread can make use of any more.
//!
//! # Statement
//!
//! Fix a location x. The sets that the monitors hold for x are images of suffixes of its modification order: a set says *from
//! which write on* something is known to be stale only. A new stale value goes into all of them, but into those
//! of the thread that wrote it, which become empty; everything else is an intersection, a copy, or makes a set of the thread
//! that accesses x empty. What counts in the end is c(p, x) when p arrives at an access of x. So three things can be forgotten in a
//! state where all threads rest, and what is left behaves as the state did (bisimulation):
//!
//! 1. c(p, x) and a(p, x), if p's next access is one of x, and atomic;
//! 2. in every set for x, what is in no c(p, x) of a thread p whose *next* access of x may ask for it: a read for V, a write for
//!    VR; and in w(y, x), what is in no c(p, x) of a thread p that may still read y before it stores there itself;
//! 3. T(τ) ∋ x, W(y) ∋ x and M(y) ∋ x, if after that all c(p, x) are empty.
//!
//! # Premises
//!
//! * (a) Which accesses a thread may make next at a location is known or overestimated ([`analysis::access::uses`]), also after
//!   what its next access puts an end to was removed: of locations that [`LocSet`] cannot tell apart, none is.
//! * (b) A thread that rests has arrived at its next access: whether the memory objects to that has been asked.
//! * (c) The next access is one that makes the sets empty, whatever they are ([`Renamed::settles`]). For observational robustness
//!   a load asks once more when it is executed, and if it is tainted it leaves all sets as they are; so 1 is not for loads there.
//!
//! # Proof
//!
//! Write i(R) for the index in the modification order of x at which the suffix of the set R starts: the intersection of two
//! sets has the larger index, the empty set has the index of the last write.
//!
//! 1. By (b), nobody looks at c(p, x) before p's access of x, which makes it, and a(p, x), empty. Meanwhile it is neither passed on
//!    nor copied, as p takes no step. A write of another thread puts a new value into it, here and there.
//! 2. Let B be the smallest i(c(p, x)) over the threads p whose next access of x may ask. A thread that is none of them becomes one
//!    at the earliest by an access of x, after which its c(p, x) is empty. Raise every index below B to B. In both states
//!    the same indices of such threads stay what they are: they change by becoming the larger of their own and another's, which
//!    is no smaller than B to begin with; by a copy of a(p, x), whose index is no smaller than that of c(p, x); or by an access of
//!    x. And B never becomes smaller, because no index does: a new write makes the sets longer at their other end. So whatever is
//!    found about x, by these threads, is found in both. The tags' pairs of bits are images of the same suffixes
//!    ([`super::row_layout`]), and moving a value from the first to the second keeps the order of the sets.
//!    Likewise, w(y, x) is used only by a thread that reads y, for an intersection with its c(p, x) and a(p, x), and for what the
//!    next update of y, which reads it, carries.
//! 3. x leaves T(p), W(y) and M(y) for all but the writer whenever x is written, and is in those of the writer then, whatever they were. Until
//!    then no c(p, x) gets a member. And T(p) ∋ x is asked about only together with a member of c(p, x).
//! 4. For a non-atomic location, a row has a bit for each thread's last access, and these bits are no suffix. But no access of such a
//!    location settles anything, so each thread that still accesses it is one that may ask, and point 2 holds bit by bit: a
//!    bit that no asking thread's c(p, x) has comes back only by an access of the location, which sets it in both states.
//! 5. Psc's rows ([`super::psc`]) are suffixes that grow, meet and are copied in the same way, and are asked about only together with
//!    c(p, x). One of them flows back: an `sc` fence makes c(p, x) smaller by what its thread's row knows. If p may ask about x,
//!    the row's index below B is raised to B as all are, and the intersection with c(p, x), whose index is B at least, is what it was.
//!    If p may not ask, its c(p, x) is empty before anybody looks at it (point 2).
//!
//! All three are monotone: a state that remembers more does so afterwards, so subsumption goes well with them.

use super::views::Views;
use super::{Rc20, State};
use crate::{Ahead, Renamed};
use analysis::access::{LocSet, Uses};
use ir::ids::{Loc, Tid};
use smallvec::SmallVec;

impl Rc20 {
    /// The statement above.
    pub(super) fn forget_out_of_reach<'a>(
        &self,
        state: &mut State,
        ahead: impl Fn(Tid) -> Ahead<'a>,
    ) {
        let threads = (0..self.registers.len()).map(Tid::from);
        let uses = threads.map(|tid| {
            let Ahead { uses: [before, after], next } = ahead(tid);
            match next {
                Some((instr, loc)) if self.atomic[loc.index()] && self.settles(instr) => {
                    Uses { carried: before.carried, ..after.without(loc) }
                }
                _ => *before,
            }
        });
        let uses: SmallVec<[Uses; 8]> = uses.collect();
        narrow(&self.reading, &mut state.reading, &uses, |uses| &uses.reads);
        narrow(&self.overwriting, &mut state.overwriting, &uses, |uses| &uses.writes);
        for loc in &self.watched {
            if !is_open(&self.reading, &state.reading, *loc)
                && !is_open(&self.overwriting, &state.overwriting, *loc)
            {
                self.precede.forget(&mut state.precede, *loc);
            }
        }
    }
}

/// Points 1 and 2 for V or VR, which threads ask about the locations that are `asked`.
fn narrow(views: &Views, rows: &mut [u64], uses: &[Uses], asked: impl Fn(&Uses) -> &LocSet) {
    let words = views.columns.words();
    let (carriers, kept) = (views.carriers(), views.kept());
    for k in 0..words {
        let at = |row: usize| row * words + k;
        let mut reachable = 0;
        for (tid, uses) in carriers.threads().zip(uses) {
            let asked = asked(uses);
            let columns = views.columns.tracked().iter().filter(|loc| asked.contains(**loc));
            let live = columns.fold(0, |live, loc| live | views.columns.mask(*loc)[k]);
            reachable |= rows[at(carriers.current(tid))] & live;
        }
        for (row, kept) in kept.iter().enumerate() {
            if *kept {
                rows[at(row)] &= reachable;
            }
        }
        for loc in carriers.locations().filter(|loc| kept[carriers.carried(*loc)]) {
            let readers =
                carriers.threads().zip(uses).filter(|(_, uses)| uses.carried.contains(loc));
            let readable =
                readers.fold(0, |readable, (tid, _)| readable | rows[at(carriers.current(tid))]);
            rows[at(carriers.carried(loc))] &= readable;
        }
    }
}

/// Is some c(p, x) not empty?
fn is_open(views: &Views, rows: &[u64], loc: Loc) -> bool {
    let mask = views.columns.mask(loc);
    views
        .carriers()
        .threads()
        .any(|tid| views.current_row(rows, tid).iter().zip(mask).any(|(row, mask)| row & mask != 0))
}
