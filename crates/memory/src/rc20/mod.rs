//! Robustness monitors of RC11 and RC20: SC memory that remembers what a weaker memory could still do.
//!
//! The program runs under SC. Beside the values, the memory keeps
//!
//! * [`precede`]: which locations' last writes must come before each thread's next step (V_SC);
//! * [`views`]: which stale values each thread could nevertheless still read or overwrite under RC20
//!   (V and VR);
//! * [`psc`], for programs with `sc` accesses or RC11's SC fences: what the order of `sc` events takes
//!   out of these values. RC20 reads a program in words that have none ([`Program::rc20`]);
//! * for observational robustness, *taint*: which registers hold a value whose read could have gone
//!   wrong.
//!
//! A thread that arrives at an access to x, with x's last write before it and a stale value still in
//! reach, is a *non-robustness witness* (Def. 4.5): one more step makes an execution that RC20 allows
//! and SC does not. By Theorem 4.6 a program is robust iff SC reaches no such state. For
//! observational robustness a stale load only taints its register, and using a tainted register is
//! the violation (Theorem 4.18; sound, not complete).
//!
//! Deviations from the paper: plain robustness is a mode of its own, not an `assert` behind every
//! load (Lemma 4.20); value sets hold critical values only ([`row_layout`]); non-atomic locations are
//! followed directly instead of being split into one copy per thread (section 6), which gives the
//! same answers in one step instead of one per thread.
//!
//! The whole state is a function of the execution graph built so far, and whether a thread's next
//! access is a violation changes only by accesses to its location, so SC's independence (different
//! locations, or both reads) carries over and partial-order reduction stays sound.

pub mod precede;
pub mod psc;
mod reduced;
pub mod row_layout;
mod rows;
#[cfg(test)]
mod stale_sets;
mod unreachable;
pub mod views;

pub use reduced::Renaming;

use super::sc::Store;
use super::{Attempt, Effect, Memory, Never};
use analysis::access::Future;
use analysis::values::PossibleValues;
use ir::bits::{width_for, width_of};
use ir::expr::{Edge, Expr, Fault, Notes};
use ir::ids::{Loc, Reg, RegSet, Tid, Value};
use ir::mode::{FenceMode, ReadMode, WriteMode, is_sc_update};
use ir::program::{Instr, LocationKind, Program};
use ir::thread::{self, Action};
use precede::Precede;
use row_layout::{Columns, Purpose, Tag, Track};
use views::{Compared, Kind, Step, Views};

/// Which question the monitors answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Robustness {
    /// Every consistent execution graph is SC-consistent (Def. 4.1).
    Plain,
    /// Stale values may be read as long as nothing depends on them (Def. 4.9).
    Observational,
}

/// What the monitors object to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Violation {
    /// The access may read or overwrite a stale write although SC orders it after a newer one.
    Stale,
    /// The instruction uses a register that may hold a stale value.
    Dependency,
    /// The non-atomic access conflicts with one that does not happen before it.
    Race,
}

/// No location: a thread that has not accessed any since its last fence.
const NO_RUN: Loc = Loc(u32::MAX);

/// The monitors of one program.
#[derive(Clone, Debug)]
pub struct Rc20 {
    robustness: Robustness,
    edge: Edge,
    store: Store,
    precede: Precede,
    reading: Views,
    overwriting: Views,
    /// How many bits it takes to say which location a thread accessed last; none if that is of no
    /// importance.
    run_bits: u32,
    /// Where a thread compares with what it loaded.
    tags: Vec<Tag>,
    /// What a tag holds when it holds nothing, and how many bits a tag takes.
    no_tag: Value,
    tag_bits: u32,
    /// Atomic locations at which something could go wrong.
    watched: Vec<Loc>,
    fence: Loc,
    has_sc_fences: bool,
    atomic: Vec<bool>,
    registers: Vec<u32>,
}

/// What the monitors remember.
#[derive(Debug)]
pub struct State {
    values: Vec<Value>,
    /// The values in the tags.
    tags: Vec<Value>,
    /// The location of each thread's current run of accesses; [`NO_RUN`] after a fence, and at first.
    /// Empty if it is of no importance.
    runs: Vec<Loc>,
    /// T, W and M.
    precede: Vec<u64>,
    /// V.
    reading: Vec<u64>,
    /// VR.
    overwriting: Vec<u64>,
    /// Tainted registers per thread.
    taint: Vec<RegSet>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        State {
            values: self.values.clone(),
            tags: self.tags.clone(),
            runs: self.runs.clone(),
            precede: self.precede.clone(),
            reading: self.reading.clone(),
            overwriting: self.overwriting.clone(),
            taint: self.taint.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        copy(&mut self.values, &other.values);
        copy(&mut self.tags, &other.tags);
        copy(&mut self.runs, &other.runs);
        copy(&mut self.precede, &other.precede);
        copy(&mut self.reading, &other.reading);
        copy(&mut self.overwriting, &other.overwriting);
        copy(&mut self.taint, &other.taint);
    }
}

/// Copies what is as long as what it replaces, as nearly always.
#[inline(always)]
fn copy<T: Copy>(to: &mut Vec<T>, from: &[T]) {
    if to.len() == from.len() {
        to.copy_from_slice(from);
    } else {
        to.clear();
        to.extend_from_slice(from);
    }
}

impl Rc20 {
    /// The monitors for `program` that watch the locations in `focus`.
    ///
    /// What is remembered about one location never depends on what is remembered about another,
    /// except through taint. So for plain robustness and races each location can be watched in a
    /// search of its own, and states multiply with the monitors of one location instead of all.
    ///
    /// `None` if the monitors would have to tell more values of a location apart than
    /// [`row_layout::MOST_VALUES`].
    pub fn new(
        program: &Program,
        possible: &PossibleValues,
        robustness: Robustness,
        track: Track,
        focus: &[Loc],
    ) -> Option<Self> {
        let (no_tag, track) = (row_layout::no_tag(program.domain), track.within(program.domain));
        let tags = row_layout::tags(program, track, focus);
        let columns = |purpose| Columns::new(program, possible, purpose, track, focus, &tags);
        let reading = Views::new(program, columns(Purpose::Reading)?, true);
        let overwriting = Views::new(program, columns(Purpose::Overwriting)?, false);
        let fence = Loc::from(program.locations.len());
        let has_sc_fences = program.has_updating_fences();
        let mut atomic: Vec<bool> =
            program.locations.iter().map(|loc| loc.kind == LocationKind::Atomic).collect();
        atomic.push(has_sc_fences);
        let needs_column: Vec<bool> = atomic
            .iter()
            .enumerate()
            .map(|(x, atomic)| {
                let loc = Loc::from(x);
                *atomic && (reading.columns.tracks(loc) || overwriting.columns.tracks(loc))
            })
            .collect();
        let watched = (0..needs_column.len()).filter(|x| needs_column[*x]).map(Loc::from).collect();
        let mut accessed = vec![false; program.locations.len()];
        for (_, _, step) in program.steps() {
            for loc in step.instr.place().into_iter().flat_map(|place| place.locations()) {
                accessed[loc.index()] = true;
            }
        }
        accessed.push(has_sc_fences);
        let rows = atomic.iter().zip(&accessed).map(|(a, b)| *a && *b).collect();
        let run_bits = match reading.follows_runs() || overwriting.follows_runs() {
            true => width_for(program.locations.len() as u64 + 2),
            false => 0,
        };
        Some(Rc20 {
            robustness,
            edge: program.domain.edge,
            run_bits,
            store: Store::new(program, possible),
            precede: Precede::new(program.threads.len(), &needs_column, rows),
            reading,
            overwriting,
            tags,
            no_tag,
            tag_bits: width_of(no_tag, program.domain.max),
            watched,
            fence,
            has_sc_fences,
            atomic,
            registers: program.threads.iter().map(|t| t.registers.len() as u32).collect(),
        })
    }

    /// Do the monitors watch the location: could anything go wrong there?
    pub fn watches(&self, loc: Loc) -> bool {
        self.reading.columns.tracks(loc) || self.overwriting.columns.tracks(loc)
    }

    fn move_on(&self, state: &mut State, step: Step) {
        self.run_on(state, step.tid, step.loc);
        self.precede.step(&mut state.precede, step.tid, step.loc, step.kind);
        self.reading.step(&mut state.reading, step, &state.tags);
        self.overwriting.step(&mut state.overwriting, step, &state.tags);
    }

    /// The thread goes on to access `loc`.
    #[inline(always)]
    fn run_on(&self, state: &mut State, tid: Tid, loc: Loc) {
        if let Some(run) = state.runs.get_mut(tid.index())
            && *run != loc
        {
            *run = loc;
            self.reading.leave_location(&mut state.reading, tid);
            self.overwriting.leave_location(&mut state.overwriting, tid);
        }
    }

    /// Puts `value` into the tag number `k`.
    fn retag(&self, state: &mut State, k: usize, value: Value) {
        state.tags[k] = value;
        self.reading.retag(&mut state.reading, k);
        self.overwriting.retag(&mut state.overwriting, k);
    }

    /// Empties the tags of `tid` for `reg`, which gets another value: a tag that is not empty holds
    /// what its register holds.
    #[inline(always)]
    fn untag(&self, state: &mut State, tid: Tid, reg: Reg) {
        for (k, tag) in self.tags.iter().enumerate() {
            if (tag.tid, tag.reg) == (tid, reg) && state.tags[k] != self.no_tag {
                self.retag(state, k, self.no_tag);
            }
        }
    }

    /// The tag for `tid` comparing `loc` with `reg`.
    #[inline(always)]
    fn tag(&self, loc: Loc, tid: Tid, reg: Reg) -> Option<usize> {
        self.tags.iter().position(|tag| *tag == Tag { loc, tid, reg })
    }

    /// How `expected`, whose value is `value`, is looked for among the stale values of `loc`.
    #[inline(always)]
    fn compared(
        &self,
        state: &State,
        tid: Tid,
        loc: Loc,
        expected: &Expr,
        value: Value,
    ) -> Compared {
        if let Expr::Reg(reg) = expected
            && let Some(k) = self.tag(loc, tid, *reg)
            && state.tags[k] == value
        {
            return Compared::Tag(k);
        }
        Compared::Value(value)
    }

    fn fence(&self, state: &mut State, tid: Tid, mode: FenceMode) {
        if mode != FenceMode::Upd {
            self.run_on(state, tid, NO_RUN);
        }
        if mode.acquires() {
            self.reading.acquire_fence(&mut state.reading, tid);
            self.overwriting.acquire_fence(&mut state.overwriting, tid);
        }
        if mode.updates() {
            let (kind, loc) = (Kind::Update, self.fence);
            let step = Step { tid, loc, old: 0, kind, acquire: true, release: true, sc: false };
            self.move_on(state, step);
        }
        if mode == FenceMode::Sc {
            self.reading.sc_fence(&mut state.reading, tid);
            self.overwriting.sc_fence(&mut state.overwriting, tid);
        }
        if mode.releases() {
            self.reading.release_fence(&mut state.reading, tid);
            self.overwriting.release_fence(&mut state.overwriting, tid);
        }
    }

    /// A non-atomic access. Following section 6, a location n has one bit n_i per thread: "the last
    /// store to n, or load of n by thread i, is not known to happen before". A load by τ conflicts
    /// with unknown stores, which n_τ shows (τ knows its own loads); a store with any bit.
    fn non_atomic(&self, state: &mut State, tid: Tid, loc: Loc, writes: bool) -> bool {
        let columns = &self.reading.columns;
        if !columns.tracks(loc) {
            return false;
        }
        let threads = self.registers.len();
        let row = self.reading.current_row(&state.reading, tid);
        let bits = if writes { 0..threads } else { tid.index()..tid.index() + 1 };
        let bit = |t| columns.thread_bit(loc, t);
        let race = bits.clone().any(|t| row[bit(t) as usize / 64] >> (bit(t) % 64) & 1 == 1);
        self.reading.non_atomic(&mut state.reading, tid, bits.map(bit));
        race
    }

    /// Is x's last write before τ's next step under SC, and could τ read a stale value from x?
    fn reads_stale(&self, state: &State, tid: Tid, loc: Loc, sc: bool) -> bool {
        self.precede.must_follow(&state.precede, tid, loc)
            && self.reading.may_miss(&state.reading, tid, loc, sc)
    }
}

impl Memory for Rc20 {
    type State = State;
    type Violation = Violation;
    type Way = ();
    type Own = Never;
    type Seen = ();
    const OBJECTS: bool = true;

    fn initial(&self) -> State {
        let mut precede = vec![0; self.precede.words()];
        self.precede.initial(&mut precede);
        State {
            values: self.store.initial().to_vec(),
            tags: vec![self.no_tag; self.tags.len()],
            runs: vec![NO_RUN; if self.run_bits > 0 { self.registers.len() } else { 0 }],
            precede,
            reading: vec![0; self.reading.words()],
            overwriting: vec![0; self.overwriting.words()],
            taint: vec![RegSet::EMPTY; self.registers.len()],
        }
    }

    fn arrive(&self, state: &State, attempt: Attempt<'_>) -> Option<Violation> {
        let Attempt { tid, instr, action } = attempt;
        let taint = state.taint[tid.index()];
        let uses = match instr {
            // Whether the thread goes on depends on what is divided by.
            Instr::Assign { value, .. } => value.may_fail(self.edge),
            _ => true,
        };
        if !taint.is_empty() && uses {
            // A CAS may succeed whatever the memory holds now, so all its inputs count.
            if !instr.inputs().intersect(taint).is_empty() {
                return Some(Violation::Dependency);
            }
        }
        let loc = action.loc()?;
        if !self.precede.must_follow(&state.precede, tid, loc) {
            return None;
        }
        let (reading, overwriting) = (&state.reading, &state.overwriting);
        let compared = |e: &Expr, value| self.compared(state, tid, loc, e, value);
        let stale = match action {
            Action::Read { mode, .. } => {
                let sc = *mode == ReadMode::Sc;
                self.robustness == Robustness::Plain && self.reading.may_miss(reading, tid, loc, sc)
            }
            Action::Write { mode, .. } => {
                self.overwriting.may_miss(overwriting, tid, loc, *mode == WriteMode::Sc)
            }
            Action::Update { read, write, .. } => {
                self.overwriting.may_miss(overwriting, tid, loc, is_sc_update(*read, *write))
            }
            Action::BlockingCas { expected, read, write, .. } => {
                let expected = compared(&instr.compared()[0], *expected);
                let sc = is_sc_update(*read, *write);
                self.overwriting.may_take(overwriting, tid, loc, expected, sc)
            }
            Action::Wait { values, mode, .. } => {
                let sc = *mode == ReadMode::Sc;
                instr.compared().iter().zip(values).any(|(e, value)| {
                    self.reading.may_take(reading, tid, loc, compared(e, *value), sc)
                })
            }
            Action::Cas { expected, read, write, fail, .. } => {
                let expected = compared(&instr.compared()[0], *expected);
                let (success, failure) = (is_sc_update(*read, *write), *fail == ReadMode::Sc);
                self.overwriting.may_take(overwriting, tid, loc, expected, success)
                    || self.reading.may_take_other(reading, tid, loc, expected, failure)
            }
            _ => false,
        };
        stale.then_some(Violation::Stale)
    }

    fn may_object(&self, state: &State, tid: Tid, accesses: &Future) -> bool {
        !state.taint[tid.index()].is_empty()
            || self.watched.iter().any(|loc| {
                let (reading, overwriting) = (&state.reading, &state.overwriting);
                let may_read = || self.reading.may_miss(reading, tid, *loc, false);
                let may_write = || self.overwriting.may_miss(overwriting, tid, *loc, false);
                self.precede.must_follow(&state.precede, tid, *loc)
                    && (accesses.reads.contains(*loc) && may_read()
                        || accesses.writes.contains(*loc) && may_write())
            })
    }

    #[inline(always)]
    fn local_step(&self, state: &mut State, tid: Tid, instr: &Instr) {
        if let Instr::Assign { dst, value } = instr {
            self.untag(state, tid, *dst);
            let taint = &mut state.taint[tid.index()];
            *taint = match value.registers().intersect(*taint).is_empty() {
                true => taint.minus(RegSet::one(*dst)),
                false => taint.union(RegSet::one(*dst)),
            };
        }
    }

    #[inline(always)]
    fn ways(&self, _: &State, _: Tid, _: &Action, mut each: impl FnMut(())) {
        each(());
    }

    fn step(
        &self,
        state: &mut State,
        Attempt { tid, instr, action }: Attempt<'_>,
        (): (),
        notes: &mut Notes,
    ) -> Result<Effect<Violation>, Fault> {
        let Some(loc) = action.loc() else {
            if let Action::Fence(mode) = action {
                self.fence(state, tid, *mode);
            }
            return Ok(Effect::Done(None, ()));
        };
        let Some(access) = self.store.access(&mut state.values, action, notes)? else {
            return Ok(Effect::Blocked);
        };
        let old = access.old;
        if let Some(dst) = thread::destination(instr) {
            self.untag(state, tid, dst);
        }
        let dst = thread::destination(instr).map_or(RegSet::EMPTY, RegSet::one);
        let taint = state.taint[tid.index()];
        state.taint[tid.index()] = taint.minus(dst);
        if !self.atomic[loc.index()] {
            self.run_on(state, tid, loc);
            return Ok(match self.non_atomic(state, tid, loc, access.wrote) {
                true => Effect::Wrong(Violation::Race, Some(old), ()),
                false => Effect::Done(Some(old), ()),
            });
        }
        let reading = |mode: &ReadMode| (mode.acquires(), false, *mode == ReadMode::Sc);
        let (kind, (acquire, release, sc)) = match action {
            Action::Read { mode, .. } | Action::Wait { mode, .. } => (Kind::Read, reading(mode)),
            Action::Write { mode, .. } => {
                (Kind::Write, (false, mode.releases(), *mode == WriteMode::Sc))
            }
            Action::Cas { fail, .. } if !access.wrote => (Kind::Read, reading(fail)),
            Action::Cas { read, write, .. }
            | Action::Update { read, write, .. }
            | Action::BlockingCas { read, write, .. } => {
                let sc = is_sc_update(*read, *write);
                (Kind::Update, (read.acquires(), write.releases(), sc))
            }
            _ => unreachable!("an access with a location"),
        };
        let is_load = matches!(action, Action::Read { .. });
        if is_load
            && self.robustness == Robustness::Observational
            && self.reads_stale(state, tid, loc, sc)
        {
            state.taint[tid.index()] = taint.union(dst);
            // Whatever it reads, it is an access to this location.
            self.run_on(state, tid, loc);
            self.precede.step(&mut state.precede, tid, loc, Kind::Read);
        } else {
            self.move_on(state, Step { tid, loc, old, kind, acquire, release, sc });
            if is_load
                && let Some(dst) = thread::destination(instr)
                && let Some(k) = self.tag(loc, tid, dst)
            {
                self.retag(state, k, old);
            }
        }
        Ok(Effect::Done(Some(old), ()))
    }

    fn fence_location(&self) -> Option<Loc> {
        self.has_sc_fences.then_some(self.fence)
    }

    fn own_step(&self, _: &mut State, own: Never) -> Option<()> {
        match own {}
    }
}
