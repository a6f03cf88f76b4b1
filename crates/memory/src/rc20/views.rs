//! Which stale values a thread may still read, or overwrite.
//!
//! V of the paper (section 5, Algorithms 2-5): per thread τ and location y the *current* view
//! c(τ,y), what τ could read from y now; the *acquire* view a(τ,y), what it could read after an
//! acquire fence; the *release* view r(τ,y), what a reader of τ's relaxed writes could still read;
//! and per location x the view w(x,y) that x's last write carries. A second copy, VR, counts only
//! stale writes that no RMW has read, which are those another write may be placed after.
//!
//! All views of one holder are one row of bits, so the union and intersection over "all y" of the
//! algorithms are a few word operations. Rows that can never matter are not kept: the acquire view
//! of a thread whose reads all acquire or that has no acquire fence, the release view of a thread
//! whose writes all release, the view carried by a location from which nobody acquires.

use super::psc::Psc;
use super::row_layout::Columns;
use super::rows::{RowsRenaming, keep_only, mark};
use analysis::opaque_values::Types;
use analysis::symmetry::Automorphism;
use ir::bits::{BitReader, BitWriter};
use ir::ids::{Loc, Tid, Value};
use ir::program::{Instr, Program};

/// What kind of access a step is, as far as views are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A read, a wait or a failed CAS.
    Read,
    /// A plain write.
    Write,
    /// A successful read-modify-write.
    Update,
}

/// What a value is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// This value.
    Value(Value),
    /// The value in the tag of this number.
    Tag(usize),
}

/// An access as the views see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Who.
    pub tid: Tid,
    /// Where.
    pub loc: Loc,
    /// The value there before.
    pub old: Value,
    /// What.
    pub kind: Kind,
    /// Does it acquire?
    pub acquire: bool,
    /// Does it release?
    pub release: bool,
    /// Is it an `sc` access?
    pub sc: bool,
}

/// Who carries views: threads their current, acquire and release views, and each location, the fences'
/// hidden one last, the view of its last write. They are numbered in this order.
#[derive(Clone, Copy, Debug)]
pub struct Carriers {
    threads: usize,
    locations: usize,
}

impl Carriers {
    /// How many there are.
    pub fn count(self) -> usize {
        3 * self.threads + self.locations
    }

    /// The thread's current view.
    #[inline(always)]
    pub fn current(self, tid: Tid) -> usize {
        tid.index()
    }

    /// The thread's acquire view.
    #[inline(always)]
    pub fn acquire(self, tid: Tid) -> usize {
        self.threads + tid.index()
    }

    /// The thread's release view.
    #[inline(always)]
    pub fn release(self, tid: Tid) -> usize {
        2 * self.threads + tid.index()
    }

    /// The view that the location's last write carries.
    #[inline(always)]
    pub fn carried(self, loc: Loc) -> usize {
        3 * self.threads + loc.index()
    }

    /// The locations, and the fences' hidden one.
    pub fn locations(self) -> impl Iterator<Item = Loc> {
        (0..self.locations).map(Loc::from)
    }

    /// A carrier's image under an automorphism.
    pub fn image(self, carrier: usize, alpha: &Automorphism) -> usize {
        match carrier.checked_sub(3 * self.threads) {
            Some(x) => self.carried(alpha.locations[x]),
            None => {
                let (view, t) = (carrier / self.threads, carrier % self.threads);
                view * self.threads + alpha.threads[t].index()
            }
        }
    }
}

/// The layout of one set of views, V or VR.
#[derive(Clone, Debug)]
pub struct Views {
    /// Which bits stand for what.
    pub columns: Columns,
    /// Does an RMW leave behind a stale write (V), or not (VR)?
    updates_count: bool,
    carriers: Carriers,
    /// The rows that `sc` events need, if there are any.
    psc: Option<Psc>,
    /// Which rows are kept.
    kept: Vec<bool>,
    slots: Slots,
    /// The locations whose last writes carry a view that is kept.
    carrying: Box<[Loc]>,
}

/// Where rows are. Only those that are kept have a place, one behind the other; all others share an empty row at the end, to
/// which nothing is ever added.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    of: Box<[u32]>,
    /// How many rows are kept, and how many of these are the carriers' own, which come first.
    pub count: usize,
    pub carriers: usize,
}

impl Slots {
    pub(super) fn new(kept: &[bool], carriers: Carriers) -> Self {
        let count = kept.iter().filter(|kept| **kept).count();
        let mut next = 0;
        let of = kept.iter().map(|kept| {
            let slot = if *kept { next } else { count };
            next += usize::from(*kept);
            slot as u32
        });
        let of = of.collect();
        let own = kept.iter().take(carriers.count()).filter(|kept| **kept).count();
        Slots { of, count, carriers: own }
    }

    /// Where the row is.
    #[inline(always)]
    pub(super) fn of(&self, row: usize) -> usize {
        self.of[row] as usize
    }
}

impl Views {
    /// The views of `program` with these columns.
    pub fn new(program: &Program, columns: Columns, updates_count: bool) -> Self {
        let carriers =
            Carriers { threads: program.threads.len(), locations: program.locations.len() + 1 };
        let fence = Loc::from(program.locations.len());
        let mut kept = vec![false; carriers.count()];
        if columns.bits() == 0 {
            let slots = Slots::new(&kept, carriers);
            let carrying = [].into();
            return Views { columns, updates_count, carriers, psc: None, kept, slots, carrying };
        }
        for (t, thread) in program.threads.iter().enumerate() {
            let tid = Tid::from(t);
            let mut weak_reads = false;
            let mut weak_writes = false;
            let mut acquire_fence = false;
            let mut acquired = Vec::new();
            let mut read = Vec::new();
            for step in &thread.code {
                let locs = || step.instr.place().into_iter().flat_map(|place| place.locations());
                let (reads, writes): (&[_], &[_]) = match &step.instr {
                    Instr::Load { mode, .. } | Instr::Wait { mode, .. } => (&[*mode], &[]),
                    Instr::Store { mode, .. } => (&[], &[*mode]),
                    Instr::Rmw { read, write, .. } | Instr::BlockingCas { read, write, .. } => {
                        (&[*read], &[*write])
                    }
                    Instr::Cas { read, fail, write, .. } => (&[*read, *fail], &[*write]),
                    Instr::Fence(mode) => {
                        acquire_fence |= mode.acquires();
                        if mode.updates() {
                            acquired.push(fence);
                        }
                        (&[], &[])
                    }
                    _ => (&[], &[]),
                };
                for mode in reads {
                    read.extend(locs());
                    if mode.acquires() {
                        acquired.extend(locs());
                    } else {
                        weak_reads = true;
                    }
                }
                weak_writes |= writes.iter().any(|mode| !mode.releases());
            }
            kept[carriers.current(tid)] = true;
            kept[carriers.acquire(tid)] = acquire_fence && weak_reads;
            kept[carriers.release(tid)] = weak_writes;
            if acquire_fence {
                acquired.append(&mut read);
            }
            for loc in acquired {
                kept[carriers.carried(loc)] = true;
            }
        }
        let psc = Psc::new(program, &columns, carriers, &kept);
        let kept = psc.as_ref().map_or(kept, |psc| psc.kept().to_vec());
        let slots = Slots::new(&kept, carriers);
        let is_carried = |loc: &Loc| kept[carriers.carried(*loc)];
        let carrying = carriers.locations().filter(is_carried).collect();
        Views { columns, updates_count, carriers, psc, kept, slots, carrying }
    }

    /// How many words all rows take.
    pub fn words(&self) -> usize {
        (self.slots.count + 1) * self.columns.words()
    }

    /// Where the row of a carrier starts.
    #[inline(always)]
    fn start(&self, carrier: usize) -> usize {
        self.slots.of(carrier) * self.columns.words()
    }

    /// How many bits the kept rows take.
    pub fn bits(&self) -> u32 {
        self.slots.count as u32 * self.columns.bits()
    }

    /// Does it matter which location a thread accessed last?
    pub fn follows_runs(&self) -> bool {
        self.psc.as_ref().is_some_and(Psc::follows_runs)
    }

    /// c(τ,·) of `tid`.
    #[inline(always)]
    pub fn current_row<'r>(&self, rows: &'r [u64], tid: Tid) -> &'r [u64] {
        &rows[self.start(self.carriers.current(tid))..][..self.columns.words()]
    }

    /// What an access of `tid` could take instead of the newest values: c(τ,·), and for an `sc` access
    /// less.
    #[inline(always)]
    fn within_reach<'r>(&'r self, rows: &'r [u64], tid: Tid, sc: bool) -> Reach<'r> {
        let words = self.columns.words();
        let start = |row: usize| self.slots.of(row) * words;
        let asked = if sc { self.psc.as_ref().and_then(|psc| psc.asked(tid)) } else { None };
        Reach {
            current: self.current_row(rows, tid),
            asked: asked.map(|both| both.map(|row| &rows[start(row)..][..words])),
        }
    }

    /// Is c(τ,x) not empty?
    #[inline(always)]
    pub fn may_miss(&self, rows: &[u64], tid: Tid, loc: Loc, sc: bool) -> bool {
        let reach = self.within_reach(rows, tid, sc);
        let mut masks = self.columns.mask(loc).iter().enumerate();
        masks.any(|(k, mask)| reach.word(k) & mask != 0)
    }

    /// Is the value, which something compares with, in c(τ,x)?
    #[inline(always)]
    pub fn may_take(&self, rows: &[u64], tid: Tid, loc: Loc, value: Compared, sc: bool) -> bool {
        let reach = self.within_reach(rows, tid, sc);
        let bit = match value {
            Compared::Value(value) => self.columns.critical_bit(loc, value),
            Compared::Tag(k) => self.columns.tag_bit(k),
        };
        bit.is_some_and(|bit| reach.has(bit))
    }

    /// Is some other value in c(τ,x)?
    #[inline(always)]
    pub fn may_take_other(
        &self,
        rows: &[u64],
        tid: Tid,
        loc: Loc,
        value: Compared,
        sc: bool,
    ) -> bool {
        let reach = self.within_reach(rows, tid, sc);
        match value {
            Compared::Tag(k) => self.columns.tag_bit(k).is_some_and(|bit| reach.has(bit + 1)),
            // Without bits for values, every tag's two bits together tell if there is anything.
            Compared::Value(_) if self.columns.value_bits(loc).is_empty() => {
                self.may_miss(rows, tid, loc, sc)
            }
            Compared::Value(value) => {
                let own = self.columns.critical_bit(loc, value);
                self.columns.value_bits(loc).any(|bit| Some(bit) != own && reach.has(bit))
            }
        }
    }

    /// The tag number `k` gets a new value, which is in no set that matters: see [`super::row_layout`].
    pub fn retag(&self, rows: &mut [u64], k: usize) {
        let Some(bit) = self.columns.tag_bit(k) else { return };
        let words = self.columns.words();
        let (word, equal) = (bit as usize / 64, 1u64 << (bit % 64));
        let (other_word, other) = ((bit + 1) as usize / 64, 1u64 << ((bit + 1) % 64));
        for row in rows.chunks_exact_mut(words) {
            if row[word] & equal != 0 {
                row[word] &= !equal;
                row[other_word] |= other;
            }
        }
    }

    /// Marks the columns `bits` as stale for everyone but `tid` and in what every location but
    /// `except` carries.
    #[inline(always)]
    fn mark_stale(&self, rows: &mut [u64], tid: Tid, except: Option<Loc>, bit: u32) {
        let words = self.columns.words();
        let (word, bit) = (bit as usize / 64, 1u64 << (bit % 64));
        let at = |carrier: usize| self.start(carrier) + word;
        let current = at(self.carriers.current(tid));
        let spared = [
            current,
            at(self.carriers.acquire(tid)),
            except.map_or(current, |loc| at(self.carriers.carried(loc))),
        ];
        let before = spared.map(|at| rows[at]);
        mark(&mut rows[..self.slots.carriers * words], words, word, bit);
        for (at, before) in spared.into_iter().zip(before) {
            rows[at] = before;
        }
    }

    /// The step of an atomic access.
    #[inline]
    pub fn step(&self, rows: &mut [u64], step: Step, tags: &[Value]) {
        let words = self.columns.words();
        if words == 0 {
            return;
        }
        let Step { tid, loc, old, kind, acquire, release, sc: _ } = step;
        let (current, acquiring) = (self.carriers.current(tid), self.carriers.acquire(tid));
        let (current, acquiring) = (self.start(current), self.start(acquiring));
        let carries = self.kept[self.carriers.carried(loc)];
        let carried = self.start(self.carriers.carried(loc));
        let mask = self.columns.mask(loc);
        for (k, mask) in mask.iter().enumerate() {
            rows[current + k] &= !mask;
            rows[acquiring + k] &= !mask;
        }
        if kind != Kind::Write && carries {
            for k in 0..words {
                let news = rows[carried + k] | mask[k];
                rows[acquiring + k] &= news;
                if acquire {
                    rows[current + k] &= news;
                }
            }
        }
        let counts = kind == Kind::Write || (kind == Kind::Update && self.updates_count);
        if counts {
            // r(τ,x) gains the old value too; only c and a of the writer are spared.
            self.columns.bits_for(loc, old, tags, |bit| self.mark_stale(rows, tid, Some(loc), bit));
        }
        if carries && kind != Kind::Read {
            let source = if release { current } else { self.start(self.carriers.release(tid)) };
            for (k, mask) in mask.iter().enumerate() {
                let news = rows[source + k] & !mask;
                match kind {
                    Kind::Update => rows[carried + k] &= news,
                    _ => rows[carried + k] = news,
                }
            }
        }
        if let Some(psc) = &self.psc {
            if counts {
                let of_psc = self.slots.carriers * words..self.slots.count * words;
                let rows = &mut rows[of_psc];
                self.columns.bits_for(loc, old, tags, |bit| {
                    mark(rows, words, bit as usize / 64, 1 << (bit % 64));
                });
            }
            psc.step(rows, mask, step);
        }
    }

    /// The thread goes on to access another location than before, or to a fence.
    #[inline]
    pub fn leave_location(&self, rows: &mut [u64], tid: Tid) {
        if let Some(psc) = &self.psc {
            psc.leave_location(rows, self.columns.words(), tid);
        }
    }

    /// The step of a non-atomic access: the columns `bits` become known to `tid` and stale to all
    /// others.
    pub fn non_atomic(&self, rows: &mut [u64], tid: Tid, bits: impl Iterator<Item = u32>) {
        for bit in bits {
            for row in [self.carriers.current(tid), self.carriers.acquire(tid)] {
                rows[self.start(row) + bit as usize / 64] &= !(1 << (bit % 64));
            }
            self.mark_stale(rows, tid, None, bit);
        }
    }

    /// An acquire fence: what relaxed reads brought becomes known.
    #[inline(always)]
    pub fn acquire_fence(&self, rows: &mut [u64], tid: Tid) {
        let (current, acquire) = (self.carriers.current(tid), self.carriers.acquire(tid));
        let words = self.columns.words();
        if self.kept[acquire] {
            let from = self.start(acquire);
            rows.copy_within(from..from + words, self.start(current));
        }
        if let Some(psc) = &self.psc {
            psc.acquire_fence(rows, words, tid);
        }
    }

    /// What makes a fence an SC fence: it comes between acquire and release.
    #[inline(always)]
    pub fn sc_fence(&self, rows: &mut [u64], tid: Tid) {
        if let Some(psc) = &self.psc {
            psc.sc_fence(rows, self.columns.words(), tid);
        }
    }

    /// A release fence: what is known now goes out with later relaxed writes.
    #[inline(always)]
    pub fn release_fence(&self, rows: &mut [u64], tid: Tid) {
        let (current, release) = (self.carriers.current(tid), self.carriers.release(tid));
        let words = self.columns.words();
        if self.kept[release] {
            let from = self.start(current);
            rows.copy_within(from..from + words, self.start(release));
        }
        if let Some(psc) = &self.psc {
            psc.release_fence(rows, words, tid);
        }
    }

    /// Forgets the views that `tid` holds.
    pub fn retire(&self, rows: &mut [u64], tid: Tid) {
        let words = self.columns.words();
        let carriers = self.carriers;
        for row in [carriers.current(tid), carriers.acquire(tid), carriers.release(tid)] {
            rows[self.start(row)..][..words].fill(0);
        }
        if let Some(psc) = &self.psc {
            psc.retire(rows, words, tid);
        }
    }

    /// The locations whose last writes carry a view that is kept, and where these views start.
    #[inline(always)]
    pub(super) fn carrying(&self) -> impl ExactSizeIterator<Item = (Loc, usize)> + '_ {
        self.carrying.iter().map(|loc| (*loc, self.start(self.carriers.carried(*loc))))
    }

    /// Where the current view of thread number `t` starts.
    #[inline(always)]
    pub(super) fn current(&self, t: usize) -> usize {
        self.start(self.carriers.current(Tid(t as u32)))
    }

    /// Makes the values of `loc` smaller, all in the same order.
    pub fn lower(&self, rows: &mut [u64], loc: Loc, lowered: impl Fn(Value) -> Value) {
        for (value, bit) in self.columns.critical(loc) {
            let to = self.columns.critical_bit(loc, lowered(value));
            let to = to.expect("smaller values have bits, too");
            if to == bit {
                continue;
            }
            for row in rows.chunks_exact_mut(self.columns.words()) {
                if has(row, bit) {
                    row[bit as usize / 64] &= !(1 << (bit % 64));
                    row[to as usize / 64] |= 1 << (to % 64);
                }
            }
        }
    }

    /// Prepares to apply an automorphism.
    pub fn renaming(&self, alpha: &Automorphism, types: &Types) -> RowsRenaming {
        let image = |row: usize| match &self.psc {
            Some(psc) if row >= self.carriers.count() => psc.image(row, alpha),
            _ => self.carriers.image(row, alpha),
        };
        let kept = (0..self.kept.len()).filter(|row| self.kept[*row]);
        let rows: Box<[u32]> = kept.map(|row| self.slots.of(image(row)) as u32).collect();
        debug_assert!(rows.iter().all(|to| (*to as usize) < self.slots.count), "all are kept");
        RowsRenaming::new(rows, self.columns.renaming(alpha, types))
    }

    /// Writes the image of the views to `image`.
    #[inline(always)]
    pub fn rename(&self, renaming: &RowsRenaming, rows: &[u64], image: &mut [u64]) {
        renaming.rename(self.columns.words(), rows, image);
    }

    /// Packs the kept rows.
    #[inline(always)]
    pub fn pack(&self, rows: &[u64], out: &mut BitWriter<'_>) {
        out.push_rows(&rows[..self.slots.count * self.columns.words()], self.columns.bits());
    }

    /// Unpacks the kept rows.
    #[inline(always)]
    pub fn unpack(&self, rows: &mut [u64], from: &mut BitReader<'_>) {
        let kept = self.slots.count * self.columns.words();
        debug_assert!(rows[kept..].iter().all(|word| *word == 0), "nothing is added to it");
        from.take_rows(&mut rows[..kept], self.columns.bits());
    }

    /// Takes all but `bits` out of word `k` of every row.
    #[inline(always)]
    pub(super) fn keep_only(&self, rows: &mut [u64], k: usize, bits: u64) {
        keep_only(rows, self.columns.words(), k, bits);
    }
}

/// Stale values within reach of an access.
struct Reach<'r> {
    current: &'r [u64],
    /// Further sets that a value must be in.
    asked: Option<[&'r [u64]; 2]>,
}

impl Reach<'_> {
    #[inline(always)]
    fn word(&self, k: usize) -> u64 {
        match self.asked {
            None => self.current[k],
            Some([own, h]) => self.current[k] & own[k] & h[k],
        }
    }

    #[inline(always)]
    fn has(&self, bit: u32) -> bool {
        self.word(bit as usize / 64) >> (bit % 64) & 1 == 1
    }
}

#[inline(always)]
fn has(row: &[u64], bit: u32) -> bool {
    row[bit as usize / 64] >> (bit % 64) & 1 == 1
}
