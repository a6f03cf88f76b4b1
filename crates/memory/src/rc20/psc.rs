//! What `sc` accesses and SC fences add to the views: RC11's order of `sc` events, followed on SC runs.
//!
//! RC11 (Lahav et al., PLDI 2017) forbids a stale access that would close a cycle of `sc` events
//! (`psc_base ∪ psc_F`). Let G be the graph of an SC run, e the next event of thread τ, placed after a
//! stale write w, and A the writes that come after w in modification order. All edges of G between `sc`
//! events agree with the run, and e changes none of them, so a cycle needs a new edge. New edges start
//! at e, if it is an `sc` access, or at an SC fence F that happens before e; and they end
//!
//! * from F, at an `sc` write of A, or at an SC fence F' after some u that is in A or reads from A;
//! * from an `sc` access e, at an `sc` write of A, or at an SC fence F' after some u in A. (The relation
//!   `scb` that orders accesses has no rf.)
//!
//! So e is forbidden if and only if some write of A precedes, in the order of `sc` events of G, a fence F
//! that happens before τ's next step; or, if e is an `sc` access, an `sc` access b of τ, or one from which
//! an access to another location and happens-before lead to τ. What precedes an `sc` event in this
//! sense is a prefix of each location's modification order. Hence it can be kept in views like those of
//! [`super::views`]: sets of stale values, joined by intersection. Two *colours* of views tell the two
//! sorts of edge apart: `P` counts "w' is read by something that happens before F'", `p` only "w' itself
//! happens before F'". Colour `P` concerns what follows fences; colour `p`, what follows `sc` accesses.
//!
//! | kind | holds, per thread as current, acquire and release view, and per location as view of its last write |
//! |---|---|
//! | k | what an SC fence here would know |
//! | f | what the SC fences that happen before (or are) here knew |
//! | h | what `sc` accesses a knew from which an access to another location, and happens-before, lead here |
//! | l(y) | what `sc` accesses to y that happen before (or are) here knew |
//!
//! | row | holds |
//! |---|---|
//! | own(τ) | what τ's `sc` accesses knew |
//! | hold(τ) | h when τ's current run of accesses to one location began |
//! | ma(x) | what `sc` accesses to x knew, and fences that happen before accesses to x |
//! | mf(x), wf(x) | what fences that happen before accesses to x knew; the same, up to x's last write |
//!
//! A program gets only what it needs: without `sc` accesses, k, f, mf and wf in colour P; without SC
//! fences, h, l, own, hold and ma in colour p; with neither, nothing. What SC fences knew also goes into
//! the current and acquire view of [`super::views`] itself, but never for non-atomic locations:
//! precedence in the order of `sc` events is not happens-before, and does not prevent a race.
//!
//! Reductions: every operation is a union with a constant set, an intersection, a copy, or makes the
//! bits of one location 0, so more bits before a step are more bits after it ([`crate::Packed`]). The only
//! other thing remembered, the location of a thread's current run of accesses, is no monitor bit.
//! Accesses of different threads to different locations, and reads of one location, commute: they
//! change rows of their own thread and location, and intersections commute. A fence reads and
//! changes rows of its own thread alone.

use super::row_layout::Columns;
use super::views::{Carriers, Kind, Slots, Step};
use analysis::symmetry::Automorphism;
use ir::ids::{Loc, Tid};
use ir::mode::FenceMode;
use ir::program::{Instr, LocationKind, Program};

/// Which `sc` events a program has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Events {
    fences: bool,
    accesses: bool,
}

/// Where the rows of one colour are; rows that a program does not need are nowhere.
#[derive(Clone, Debug)]
struct Colour {
    /// Is it P, which counts reads of a write as the write?
    counts_reads: bool,
    /// The first rows of the kinds: one for every carrier.
    k: Option<usize>,
    f: Option<usize>,
    h: Option<usize>,
    l: Vec<Option<usize>>,
    /// Rows of threads.
    own: Vec<Option<usize>>,
    hold: Option<usize>,
    /// Rows of locations.
    ma: Vec<Option<usize>>,
    mf: Vec<Option<usize>>,
    wf: Vec<Option<usize>>,
}

/// What a row that no carrier has belongs to.
#[derive(Clone, Copy, Debug)]
enum Holder {
    /// One of the carriers of a kind; and the location of l, if it is that.
    Carrier(usize, Option<Loc>),
    Thread(Tid),
    Location(Loc),
}

/// The rows beyond those of [`super::views`].
#[derive(Clone, Debug)]
pub struct Psc {
    colours: Vec<Colour>,
    carriers: Carriers,
    /// The first rows of all kinds of all colours.
    kinds: Vec<usize>,
    /// What each row belongs to, from the first beyond the carriers' own on.
    holders: Vec<Holder>,
    /// Is a row kept? The first are those of [`super::views`].
    kept: Vec<bool>,
    slots: Slots,
    /// Where the rows are that each thread holds.
    held: Vec<Box<[u32]>>,
    /// The bits of non-atomic locations.
    plain: Vec<u64>,
}

/// How the program accesses a location, as far as it matters here.
#[derive(Clone, Copy, Default)]
struct Accessed {
    read: bool,
    written: bool,
    sc: bool,
}

impl Psc {
    /// The rows that `program` needs, if it has `sc` events that matter to the columns. `kept` says which
    /// of the carriers matter.
    pub fn new(
        program: &Program,
        columns: &Columns,
        carriers: Carriers,
        kept: &[bool],
    ) -> Option<Self> {
        let instrs = || program.steps().map(|(_, _, step)| &step.instr);
        let is_plain = |x: &usize| program.locations[*x].kind == LocationKind::NonAtomic;
        let (plain, atomic): (Vec<usize>, Vec<usize>) =
            (0..program.locations.len()).partition(is_plain);
        let events = Events {
            fences: instrs().any(|instr| *instr == Instr::Fence(FenceMode::Sc)),
            accesses: instrs().any(Instr::is_sc_access),
        };
        let matters = atomic.iter().any(|x| columns.tracks(Loc::from(*x)));
        if !matters || !(events.fences || events.accesses) {
            return None;
        }
        let mut mask = vec![0; columns.words()];
        for x in plain {
            let bits = columns.mask(Loc::from(x));
            mask.iter_mut().zip(bits).for_each(|(mask, bits)| *mask |= bits);
        }
        let mut psc = Psc {
            colours: Vec::new(),
            carriers,
            kinds: Vec::new(),
            holders: Vec::new(),
            kept: kept.to_vec(),
            slots: Slots::new(kept, carriers),
            held: Vec::new(),
            plain: mask,
        };
        let accessed = accesses(program);
        let has_sc = |tid: Tid| {
            program.threads[tid.index()].code.iter().any(|step| step.instr.is_sc_access())
        };
        let sc_threads: Vec<bool> = program.tids().map(has_sc).collect();
        for counts_reads in [true, false] {
            let needed = if counts_reads { events.fences } else { events.accesses };
            if needed {
                let colour = psc.colour(counts_reads, events, &accessed, &sc_threads);
                psc.colours.push(colour);
            }
        }
        psc.slots = Slots::new(&psc.kept, carriers);
        psc.held = program.tids().map(|tid| psc.held(tid)).collect();
        Some(psc)
    }

    fn colour(
        &mut self,
        counts_reads: bool,
        events: Events,
        accessed: &[Accessed],
        sc_threads: &[bool],
    ) -> Colour {
        let Events { fences, accesses } = events;
        let kind = |psc: &mut Psc, needed: bool, of: Option<Loc>| {
            needed.then(|| {
                let first = psc.kept.len();
                psc.kinds.push(first);
                for carrier in 0..psc.carriers.count() {
                    psc.holders.push(Holder::Carrier(carrier, of));
                    psc.kept.push(psc.kept[carrier]);
                }
                first
            })
        };
        let single = |psc: &mut Psc, holder: Holder| {
            psc.holders.push(holder);
            psc.kept.push(true);
            psc.kept.len() - 1
        };
        let locations = || accessed.iter().enumerate().map(|(x, how)| (Loc::from(x), how));
        let k = kind(self, fences, None);
        let f = kind(self, fences, None);
        let h = kind(self, accesses, None);
        let l = locations().map(|(loc, how)| kind(self, how.sc, Some(loc))).collect();
        let own = sc_threads
            .iter()
            .enumerate()
            .map(|(t, sc)| sc.then(|| single(self, Holder::Thread(Tid::from(t)))))
            .collect();
        let hold = accesses.then(|| {
            let first = self.kept.len();
            for t in 0..sc_threads.len() {
                single(self, Holder::Thread(Tid::from(t)));
            }
            first
        });
        let mut rows = |needed: &dyn Fn(&Accessed) -> bool| -> Vec<Option<usize>> {
            locations()
                .map(|(loc, how)| needed(how).then(|| single(self, Holder::Location(loc))))
                .collect()
        };
        // Without `sc` accesses, ma would be mf.
        let ma = rows(&|how| how.written && accesses && (fences || how.sc));
        let mf = rows(&|how| how.written && fences);
        let wf = rows(&|how| how.written && how.read && fences);
        Colour { counts_reads, k, f, h, l, own, hold, ma, mf, wf }
    }

    /// Which rows are kept, the carriers' own first.
    pub fn kept(&self) -> &[bool] {
        &self.kept
    }

    /// Are there `sc` accesses, so that it matters which location a thread accessed last?
    pub fn follows_runs(&self) -> bool {
        self.colours.iter().any(|colour| colour.hold.is_some())
    }

    /// The rows in which a stale value must be, beside the current view, for an `sc` access to take it.
    #[inline(always)]
    pub fn asked(&self, tid: Tid) -> Option<[usize; 2]> {
        let colour = self.colours.last().filter(|colour| !colour.counts_reads)?;
        Some([colour.own[tid.index()]?, colour.h? + self.carriers.current(tid)])
    }

    /// Thread `tid` goes on to access another location, or to a fence.
    #[inline]
    pub fn leave_location(&self, rows: &mut [u64], words: usize, tid: Tid) {
        let (current, acquire) = (self.carriers.current(tid), self.carriers.acquire(tid));
        for colour in &self.colours {
            let (Some(h), Some(hold)) = (colour.h, colour.hold) else { continue };
            for k in 0..words {
                let at = |row: usize| self.slots.of(row) * words + k;
                if let Some(own) = colour.own[tid.index()] {
                    let own = rows[at(own)];
                    rows[at(h + current)] &= own;
                    if self.kept[acquire] {
                        rows[at(h + acquire)] &= own;
                    }
                }
                rows[at(hold + tid.index())] = rows[at(h + current)];
            }
        }
    }

    /// The step of an atomic access, after [`Psc::leave_location`], and after what it makes stale was added to all rows. `here`
    /// are the bits of its location.
    #[inline]
    pub fn step(&self, rows: &mut [u64], here: &[u64], step: Step) {
        let words = here.len();
        for (k, here) in here.iter().enumerate() {
            self.take(rows, words, k, step);
            for colour in &self.colours {
                self.learn(colour, rows, words, k, *here, step);
            }
            self.publish(rows, words, k, step);
        }
    }

    /// A read takes what the last write carries.
    #[inline(always)]
    fn take(&self, rows: &mut [u64], words: usize, k: usize, step: Step) {
        let Step { tid, loc, kind, acquire, .. } = step;
        let (current, acquiring) = (self.carriers.current(tid), self.carriers.acquire(tid));
        let carried = self.carriers.carried(loc);
        if kind == Kind::Write || !self.kept[carried] {
            return;
        }
        for first in &self.kinds {
            let at = |carrier: usize| self.slots.of(first + carrier) * words + k;
            let news = rows[at(carried)];
            if self.kept[acquiring] {
                rows[at(acquiring)] &= news;
            }
            if acquire {
                rows[at(current)] &= news;
            }
        }
    }

    /// The thread learns what the access orders after, and later accesses and fences learn from it.
    #[inline(always)]
    fn learn(
        &self,
        colour: &Colour,
        rows: &mut [u64],
        words: usize,
        k: usize,
        here: u64,
        step: Step,
    ) {
        let Step { tid, loc, kind, sc, .. } = step;
        let writes = kind != Kind::Read;
        let (current, acquire) = (self.carriers.current(tid), self.carriers.acquire(tid));
        let acquire = self.kept[acquire].then_some(acquire);
        let at = |row: usize| self.slots.of(row) * words + k;
        let (l, ma) = (colour.l[loc.index()], colour.ma[loc.index()]);
        let (mf, wf) = (colour.mf[loc.index()], colour.wf[loc.index()]);
        let view = |rows: &[u64], row: Option<usize>| row.map_or(!0, |row| rows[at(row)]);

        // What an `sc` access here would know, and what an SC fence after it.
        let hold = colour.hold.map(|hold| hold + tid.index());
        let before = view(rows, hold) & view(rows, l.map(|l| l + current));
        let (access, fence) = match writes {
            // Without `sc` accesses, mf stands for ma.
            true => (before & view(rows, ma.or(mf)), before & view(rows, ma.or(mf))),
            false => (before, before & view(rows, wf)),
        };
        if let Some(first) = colour.k {
            for carrier in [Some(current), acquire].into_iter().flatten() {
                let row = &mut rows[at(first + carrier)];
                *row &= fence;
                if colour.counts_reads || writes {
                    *row &= !here;
                }
            }
        }
        if sc {
            let known = if writes { access & !here } else { access };
            let (l, own) = (l.expect("an sc location"), colour.own[tid.index()]);
            let taught = [own, ma, Some(l + current), acquire.map(|acquire| l + acquire)];
            for row in taught.into_iter().flatten() {
                rows[at(row)] &= known;
            }
        }
        if let Some(first) = colour.f {
            let fences = rows[at(first + current)];
            for row in [ma, mf].into_iter().flatten() {
                rows[at(row)] &= fences;
            }
            if writes && let (Some(mf), Some(wf)) = (mf, wf) {
                rows[at(wf)] = rows[at(mf)];
            }
        }
    }

    /// A write carries what its thread passes on.
    #[inline(always)]
    fn publish(&self, rows: &mut [u64], words: usize, k: usize, step: Step) {
        let Step { tid, loc, kind, release, .. } = step;
        let carried = self.carriers.carried(loc);
        if kind == Kind::Read || !self.kept[carried] {
            return;
        }
        let source = if release { self.carriers.current(tid) } else { self.carriers.release(tid) };
        for first in &self.kinds {
            let at = |carrier: usize| self.slots.of(first + carrier) * words + k;
            rows[at(carried)] = match kind {
                Kind::Update => rows[at(carried)] & rows[at(source)],
                _ => rows[at(source)],
            };
        }
    }

    /// An acquire fence.
    #[inline(always)]
    pub fn acquire_fence(&self, rows: &mut [u64], words: usize, tid: Tid) {
        let (current, acquire) = (self.carriers.current(tid), self.carriers.acquire(tid));
        if self.kept[acquire] {
            for first in &self.kinds {
                let from = self.slots.of(first + acquire) * words;
                rows.copy_within(from..from + words, self.slots.of(first + current) * words);
            }
        }
    }

    /// The part of an SC fence between acquire and release: it knows what k has, and its thread may no
    /// longer read what it knows to be overwritten.
    #[inline(always)]
    pub fn sc_fence(&self, rows: &mut [u64], words: usize, tid: Tid) {
        let (current, acquire) = (self.carriers.current(tid), self.carriers.acquire(tid));
        let acquire = self.kept[acquire].then_some(acquire);
        for colour in &self.colours {
            let (Some(k), Some(f)) = (colour.k, colour.f) else { continue };
            for word in 0..words {
                let at = |row: usize| self.slots.of(row) * words + word;
                let known = rows[at(k + current)];
                for carrier in [Some(current), acquire].into_iter().flatten() {
                    rows[at(f + carrier)] &= known;
                    if colour.counts_reads {
                        rows[at(carrier)] &= known | self.plain[word];
                    }
                }
            }
        }
    }

    /// A release fence.
    #[inline(always)]
    pub fn release_fence(&self, rows: &mut [u64], words: usize, tid: Tid) {
        let (current, release) = (self.carriers.current(tid), self.carriers.release(tid));
        if self.kept[release] {
            for first in &self.kinds {
                let from = self.slots.of(first + current) * words;
                rows.copy_within(from..from + words, self.slots.of(first + release) * words);
            }
        }
    }

    /// Forgets the rows that `tid` holds.
    pub fn retire(&self, rows: &mut [u64], words: usize, tid: Tid) {
        for slot in &self.held[tid.index()] {
            rows[*slot as usize * words..][..words].fill(0);
        }
    }

    /// Where the rows are that `tid` holds.
    fn held(&self, tid: Tid) -> Box<[u32]> {
        let own =
            [self.carriers.current(tid), self.carriers.acquire(tid), self.carriers.release(tid)];
        let is_own = |holder: &Holder| match holder {
            Holder::Carrier(carrier, _) => own.contains(carrier),
            Holder::Thread(holder) => *holder == tid,
            Holder::Location(_) => false,
        };
        let rows = (self.carriers.count()..).zip(&self.holders);
        let held = rows.filter(|(row, holder)| self.kept[*row] && is_own(holder));
        held.map(|(row, _)| self.slots.of(row) as u32).collect()
    }

    /// The image of a row beyond the carriers' own under an automorphism.
    pub fn image(&self, row: usize, alpha: &Automorphism) -> usize {
        let start = self.carriers.count();
        let holder = self.holders[row - start];
        let colour = self.colours.iter().rposition(|colour| colour.start() <= row);
        let colour = &self.colours[colour.expect("a colour's row")];
        let location = |loc: Loc| alpha.locations[loc.index()].index();
        let moved = |rows: &[Option<usize>], to: usize| rows[to].expect("rows are symmetric");
        match holder {
            Holder::Carrier(carrier, of) => {
                let to = self.carriers.image(carrier, alpha);
                match of {
                    None => row - carrier + to,
                    Some(loc) => moved(&colour.l, location(loc)) + to,
                }
            }
            Holder::Thread(tid) => {
                let to = alpha.threads[tid.index()].index();
                match colour.own[tid.index()] {
                    Some(own) if own == row => moved(&colour.own, to),
                    _ => colour.hold.expect("a row of a thread") + to,
                }
            }
            Holder::Location(loc) => {
                let tables = [&colour.ma, &colour.mf, &colour.wf];
                let table = tables.into_iter().find(|table| table[loc.index()] == Some(row));
                moved(table.expect("a row of a location"), location(loc))
            }
        }
    }
}

impl Colour {
    /// The first of its rows.
    fn start(&self) -> usize {
        self.k.or(self.h).expect("a colour of fences or accesses")
    }
}

/// How the program accesses each location, the fences' hidden one last.
fn accesses(program: &Program) -> Vec<Accessed> {
    let mut accessed = vec![Accessed::default(); program.locations.len() + 1];
    for (_, _, step) in program.steps() {
        let instr = &step.instr;
        for loc in instr.place().into_iter().flat_map(|place| place.locations()) {
            let how = &mut accessed[loc.index()];
            if program.locations[loc.index()].kind == LocationKind::Atomic {
                how.read |= !matches!(instr, Instr::Store { .. });
                how.written |= instr.may_write();
                how.sc |= instr.is_sc_access();
            }
        }
        if matches!(instr, Instr::Fence(mode) if mode.updates()) {
            let hidden = accessed.last_mut().expect("one more than locations");
            *hidden = Accessed { written: true, read: false, sc: false };
        }
    }
    accessed
}
