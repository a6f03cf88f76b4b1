//! What a [`Carrier`] has entries for: which locations, which threads with `sc` events, which non-atomic
//! accesses. A program without `sc` events has no entries for them, and pays nothing.

use super::{Carrier, Clock};
use ir::ids::{Loc, Pc, Tid};
use ir::mode::FenceMode;
use ir::program::{Instr, LocationKind, Program};
use std::ops::Range;

/// How many entries a carrier may have; more are refused.
const MOST_ENTRIES: usize = 4000;

/// The entries that say which non-atomic accesses to a location have happened before.
#[derive(Clone, Debug)]
pub(super) struct Awareness {
    /// The last write.
    pub write: usize,
    /// The last read since, of each thread that reads the location.
    pub reads: Vec<Option<usize>>,
}

/// Where everything is in a carrier.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// For each location, its number among those whose writes are kept; the others hold one value.
    pub slots: Vec<Option<usize>>,
    /// The location of each slot.
    pub locations: Vec<Loc>,
    /// For each thread with `sc` events, its number among those.
    pub sc_threads: Vec<Option<usize>>,
    /// How many threads have `sc` events.
    pub clock: usize,
    /// Per slot, the newest write that is known (`w; rf?; hb?` here).
    pub view: Range<usize>,
    /// Per slot, the newest write that happened before.
    pub written: Range<usize>,
    /// `sc` events that an SC fence here would come after.
    pub before_fence: Range<usize>,
    /// SC fences that happened before.
    pub fences: Range<usize>,
    /// `sc` accesses `a` with `a; po≠loc; hb?` here.
    pub elsewhere: Range<usize>,
    /// Per slot, `sc` accesses to it that happened before.
    pub here: Range<usize>,
    /// Non-atomic accesses that happened before; 1 is yes.
    pub aware: Range<usize>,
    /// For each non-atomic location that threads share, its entries.
    pub awareness: Vec<Option<Awareness>>,
}

/// More updates than this count for the bound on stale writes.
const FEW: usize = 64;

/// Which locations, the hidden one of fences last, are updated a few times in any execution, and written in no
/// other way: by read-modify-writes that no loop comes to twice. So a thread says that it has ended, by adding 1 to a
/// counter. The writes of such a location are finitely many without a bound, and they have only one order.
pub(super) fn has_few_updates(program: &Program) -> Vec<bool> {
    let hidden = program.locations.len();
    let mut updates = vec![0; hidden + 1];
    for (tid, pc, step) in program.steps().filter(|(_, _, step)| step.instr.may_write()) {
        let once = matches!(step.instr, Instr::Rmw { .. }) && !is_repeated(program, tid, pc);
        for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
            updates[loc.index()] += if once { 1 } else { FEW + 1 };
        }
    }
    let is_few = |(loc, updates): (usize, usize)| loc < hidden && updates <= FEW;
    updates.into_iter().enumerate().map(is_few).collect()
}

/// Can a thread come back to a step?
fn is_repeated(program: &Program, tid: Tid, pc: Pc) -> bool {
    let mut seen = vec![false; program.threads[tid.index()].code.len()];
    let mut open = vec![pc];
    while let Some(at) = open.pop() {
        for next in program.step(tid, at).successors() {
            if next == pc {
                return true;
            }
            if !std::mem::replace(&mut seen[next.index()], true) {
                open.push(next);
            }
        }
    }
    false
}

impl Layout {
    /// The layout for a program; `None` if it would be too large.
    pub(super) fn new(program: &Program) -> Option<Self> {
        let (threads, hidden) = (program.threads.len(), program.locations.len());
        let mut accessed = vec![vec![false; threads]; hidden + 1];
        let mut is_sc = vec![false; hidden + 1];
        let mut sc_threads = vec![false; threads];
        let (mut has_fences, mut has_accesses) = (false, false);
        for (tid, _, step) in program.steps() {
            for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
                accessed[loc.index()][tid.index()] = true;
                is_sc[loc.index()] |= step.instr.is_sc_access();
            }
            if step.instr.is_sc_access() {
                has_accesses = true;
                sc_threads[tid.index()] = true;
            }
            match step.instr {
                Instr::Fence(FenceMode::Sc) => {
                    has_fences = true;
                    sc_threads[tid.index()] = true;
                }
                Instr::Fence(mode) if mode.updates() => accessed[hidden][tid.index()] = true,
                _ => {}
            }
        }
        let is_plain = |loc: usize| {
            program.locations.get(loc).is_some_and(|at| at.kind == LocationKind::NonAtomic)
        };
        let is_shared = |loc: usize| accessed[loc].iter().filter(|by| **by).count() > 1;
        let mut locations = Vec::new();
        let slots = (0..=hidden).map(|loc| {
            (!is_plain(loc) && (is_shared(loc) || is_sc[loc])).then(|| {
                locations.push(Loc::from(loc));
                locations.len() - 1
            })
        });
        let slots: Vec<Option<usize>> = slots.collect();
        let mut clock = 0;
        let sc_threads = sc_threads.into_iter().map(|has| {
            clock += usize::from(has);
            has.then(|| clock - 1)
        });
        let sc_threads: Vec<Option<usize>> = sc_threads.collect();
        let mut width = 0;
        let mut entries = |wanted: bool, count: usize| {
            let start = width;
            width += if wanted { count } else { 0 };
            start..width
        };
        let count = locations.len();
        let view = entries(true, count);
        let written = entries(has_fences && has_accesses, count);
        let before_fence = entries(has_fences, clock);
        let fences = entries(has_fences, clock);
        let elsewhere = entries(has_accesses, clock);
        let here = entries(has_accesses, count * clock);
        let first = width;
        let awareness = (0..hidden).map(|loc| {
            (is_plain(loc) && is_shared(loc)).then(|| {
                let write = width;
                let reads = (0..threads).map(|t| {
                    accessed[loc][t].then(|| {
                        width += 1;
                        width
                    })
                });
                let reads = reads.collect();
                width += 1;
                Awareness { write, reads }
            })
        });
        let awareness = awareness.collect();
        (width <= MOST_ENTRIES).then_some(Layout {
            slots,
            locations,
            sc_threads,
            clock,
            view,
            written,
            before_fence,
            fences,
            elsewhere,
            here,
            aware: first..width,
            awareness,
        })
    }

    /// A carrier of nothing: no write is known, and no non-atomic access is unknown.
    pub(super) fn nothing(&self) -> Carrier {
        let mut carrier = Carrier::from_elem(0, self.aware.end);
        carrier[self.aware.clone()].fill(1);
        carrier
    }

    /// A clock of nothing.
    pub(super) fn no_events(&self) -> Clock {
        Clock::from_elem(0, self.clock)
    }

    /// The entries for `sc` accesses to a slot's location.
    pub(super) fn here_at(&self, slot: usize) -> Range<usize> {
        match self.here.is_empty() {
            true => 0..0,
            false => {
                let start = self.here.start + slot * self.clock;
                start..start + self.clock
            }
        }
    }

    /// The number of a thread's clock entry. Only threads with `sc` events are asked for.
    pub(super) fn clock_of(&self, tid: Tid) -> usize {
        self.sc_threads[tid.index()].expect("the thread has sc events")
    }
}

/// Adds one carrier or clock, or a part of one, to another.
#[inline(always)]
pub(super) fn join(into: &mut [u8], from: &[u8]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}
