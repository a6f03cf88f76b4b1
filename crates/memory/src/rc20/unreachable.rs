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
//! * (a) Which accesses a thread may make next at a location is known or overestimated ([`analysis::access::uses`]), for a thread
//!   and its image under an automorphism alike: by the text, and with every location told from every other.
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
use analysis::access::{Locations, Uses};
use ir::ids::{Loc, Tid};
use ir::program::Instr;
use smallvec::{SmallVec, smallvec};

/// A word of a row, or as many as it has.
type Bits = SmallVec<[u64; 1]>;

/// What a thread that rests at an instruction may make use of, as bits of rows.
#[derive(Clone, Debug)]
pub struct Prospect {
    /// Does the access there settle things, if its location is atomic?
    settles: bool,
    reading: Asked,
    overwriting: Asked,
}

/// What a thread may ask of V or of VR.
#[derive(Clone, Debug)]
struct Asked {
    /// The bits that it may ask for, that access included.
    before: Bits,
    /// The bits that it may ask for after that access.
    after: Bits,
    /// The views that locations carry and that it may read, by their numbers among those that are kept.
    carried: Box<[u32]>,
}

impl Asked {
    fn new(views: &Views, [before, after]: [&Locations; 2], carried: &Locations) -> Self {
        let bits = |asked: &Locations| {
            let mut bits: Bits = smallvec![0; views.columns.words()];
            for loc in views.columns.tracked().iter().filter(|loc| asked.contains(**loc)) {
                bits.iter_mut()
                    .zip(views.columns.mask(*loc))
                    .for_each(|(bits, mask)| *bits |= mask);
            }
            bits
        };
        let carrying = views.carrying().enumerate();
        let carried = carrying.filter(|(_, (loc, _))| carried.contains(*loc));
        Asked {
            before: bits(before),
            after: bits(after),
            carried: carried.map(|(k, _)| k as u32).collect(),
        }
    }
}

impl Prospect {
    pub(super) fn new(monitors: &Rc20, instr: &Instr, [before, after]: &[Uses; 2]) -> Self {
        let Rc20 { reading, overwriting, .. } = monitors;
        Prospect {
            settles: monitors.settles(instr),
            reading: Asked::new(reading, [&before.reads, &after.reads], &before.carried),
            overwriting: Asked::new(overwriting, [&before.writes, &after.writes], &before.carried),
        }
    }
}

/// What a thread may ask of V or of VR, and the location of its next access if that settles things there.
type Asks<'a> = (&'a Asked, Option<Loc>);

impl Rc20 {
    /// The statement above.
    pub(super) fn forget_out_of_reach<'a>(
        &self,
        state: &mut State,
        ahead: impl Fn(Tid) -> Ahead<'a, Prospect>,
    ) {
        let threads = (0..self.registers.len()).map(Tid::from);
        let prospects = threads.map(|tid| {
            let Ahead { prospect, next } = ahead(tid);
            let settled = next.filter(|loc| prospect.settles && self.atomic[loc.index()]);
            (prospect, settled)
        });
        let prospects: SmallVec<[_; 8]> = prospects.collect();
        let reading = prospects.iter().map(|(prospect, loc)| (&prospect.reading, *loc));
        let reading = narrow(&self.reading, &mut state.reading, reading);
        let overwriting = prospects.iter().map(|(prospect, loc)| (&prospect.overwriting, *loc));
        let overwriting = narrow(&self.overwriting, &mut state.overwriting, overwriting);
        let is_open = |open: &[u64], views: &Views, loc: Loc| {
            open.iter().zip(views.columns.mask(loc)).any(|(open, mask)| open & mask != 0)
        };
        let closed = self.watched.iter().copied().filter(|loc| {
            !is_open(&reading, &self.reading, *loc)
                && !is_open(&overwriting, &self.overwriting, *loc)
        });
        self.precede.forget(&mut state.precede, closed);
    }
}

/// Points 1 and 2 for V or VR, of which the threads ask this, one after the other. What is then in any c(p, ·).
fn narrow<'a>(
    views: &Views,
    rows: &mut [u64],
    asks: impl Iterator<Item = Asks<'a>> + Clone,
) -> Bits {
    let words = views.columns.words();
    let mut open: Bits = smallvec![0; words];
    let mut readable: SmallVec<[u64; 16]> = SmallVec::new();
    for (k, open) in open.iter_mut().enumerate() {
        let current = |rows: &[u64], t: usize| rows[views.current(t) + k];
        let mut reachable = 0;
        for (t, (asked, settled)) in asks.clone().enumerate() {
            let live = match settled {
                Some(loc) => asked.after[k] & !views.columns.mask(loc)[k],
                None => asked.before[k],
            };
            reachable |= current(rows, t) & live;
        }
        views.keep_only(rows, k, reachable);
        if reachable == 0 {
            continue;
        }
        readable.clear();
        readable.resize(views.carrying().len(), 0);
        for (t, (asked, _)) in asks.clone().enumerate() {
            let own = current(rows, t);
            *open |= own;
            for carried in &asked.carried {
                readable[*carried as usize] |= own;
            }
        }
        for ((_, start), readable) in views.carrying().zip(&readable) {
            rows[start + k] &= readable;
        }
    }
    open
}
