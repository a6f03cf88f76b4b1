//! Sequential consistency: one value per location (Def. 2.8 of the RC20 paper).

use super::{Effect, Lowered, Memory, Never, Packed, Renamed};
use analysis::counters::{Counters, Lowering};
use analysis::opaque_values::Types;
use analysis::symmetry::Automorphism;
use analysis::values::{PossibleValues, Values};
use ir::bits::{BitReader, BitWriter, fits, width_for};
use ir::expr::{Domain, Fault, Notes};
use ir::ids::{Loc, Tid, Value};
use ir::program::{Instr, Program};
use ir::thread::Action;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Locations' values, packed with as many bits as their range needs. Every memory over SC has one.
#[derive(Clone, Debug)]
pub struct Store {
    domain: Domain,
    initial: Vec<Value>,
    /// Smallest value and bits, per location.
    fields: Vec<(Value, u32)>,
}

/// An automorphism as far as values in memory are concerned.
#[derive(Clone, Debug)]
pub struct StoreRenaming {
    /// Per location its image, and the image of each of its values if they are renamed.
    images: Vec<(Loc, Option<Box<[Value]>>)>,
    min: Value,
}

/// What an access did to a location: the value before, and the value written, if one was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The value before the access.
    pub old: Value,
    /// Did it write?
    pub wrote: bool,
}

/// Does the access in `values`; `None` if it must wait.
#[inline(always)]
pub fn access(
    values: &mut [Value],
    action: &Action,
    domain: Domain,
    notes: &mut Notes,
) -> Result<Option<Access>, Fault> {
    let (loc, new) = match action {
        Action::Read { loc, .. } => (loc, None),
        Action::Write { loc, value, .. } => (loc, Some(*value)),
        Action::Update { loc, change, .. } => {
            (loc, Some(change.apply(values[loc.index()], domain, notes)?))
        }
        Action::Cas { loc, expected, desired, .. } => {
            (loc, (values[loc.index()] == *expected).then_some(*desired))
        }
        Action::BlockingCas { loc, expected, desired, .. } => {
            if values[loc.index()] != *expected {
                return Ok(None);
            }
            (loc, Some(*desired))
        }
        Action::Wait { loc, values: waited, .. } => {
            if !waited.contains(&values[loc.index()]) {
                return Ok(None);
            }
            (loc, None)
        }
        _ => unreachable!("not an access"),
    };
    let cell = &mut values[loc.index()];
    let old = *cell;
    if let Some(new) = new {
        *cell = new;
    }
    Ok(Some(Access { old, wrote: new.is_some() }))
}

impl Store {
    /// The locations of `program`.
    pub fn new(program: &Program, possible: &PossibleValues) -> Self {
        let fields = possible
            .locations
            .iter()
            .map(|values| {
                let (min, max) =
                    values.bounds(program.domain).expect("a location has an initial value");
                (min, width_for((i64::from(max) - i64::from(min) + 1) as u64))
            })
            .collect();
        let initial = program.locations.iter().map(|loc| loc.initial).collect();
        Store { domain: program.domain, initial, fields }
    }

    /// The initial values.
    pub fn initial(&self) -> &[Value] {
        &self.initial
    }

    /// Does the access in `values`; `None` if it must wait.
    #[inline(always)]
    pub fn access(
        &self,
        values: &mut [Value],
        action: &Action,
        notes: &mut Notes,
    ) -> Result<Option<Access>, Fault> {
        access(values, action, self.domain, notes)
    }

    /// The image of each value of a location, if they are renamed.
    pub fn renamed_values(
        &self,
        alpha: &Automorphism,
        types: &Types,
        loc: Loc,
    ) -> Option<Box<[Value]>> {
        let class = types.location(loc);
        let domain = self.domain;
        alpha
            .renames(class)
            .then(|| (domain.min..=domain.max).map(|v| alpha.value(class, v)).collect())
    }

    /// Prepares to rename values and locations.
    pub fn renaming(&self, alpha: &Automorphism, types: &Types) -> StoreRenaming {
        let images = (0..self.fields.len())
            .map(|x| (alpha.locations[x], self.renamed_values(alpha, types, Loc::from(x))));
        StoreRenaming { images: images.collect(), min: self.domain.min }
    }

    /// Writes the image of `values` to `image`.
    #[inline(always)]
    pub fn rename(&self, renaming: &StoreRenaming, values: &[Value], image: &mut [Value]) {
        for (value, (loc, renamed)) in values.iter().zip(&renaming.images) {
            image[loc.index()] = match renamed {
                None => *value,
                Some(table) => table[(value - renaming.min) as usize],
            };
        }
    }

    /// How many bits the values take.
    pub fn bits(&self) -> u32 {
        self.fields.iter().map(|(_, width)| width).sum()
    }

    /// Do the values fit their fields?
    pub fn fits(&self, values: &[Value]) -> bool {
        values.iter().zip(&self.fields).all(|(value, (min, width))| fits(*value, *min, *width))
    }

    /// Packs the values.
    #[inline(always)]
    pub fn pack(&self, values: &[Value], out: &mut BitWriter<'_>) {
        for (value, (min, width)) in values.iter().zip(&self.fields) {
            out.push((value - min) as u64, *width);
        }
    }

    /// Unpacks the values.
    #[inline(always)]
    pub fn unpack(&self, values: &mut [Value], from: &mut BitReader<'_>) {
        for (value, (min, width)) in values.iter_mut().zip(&self.fields) {
            *value = min + from.take(*width) as Value;
        }
    }
}

/// The memory of sequential consistency.
#[derive(Clone, Debug)]
pub struct Sc {
    store: Store,
    /// Per location and value, has it been written? Only kept if asked for.
    written: Option<Arc<[Box<[AtomicBool]>]>>,
}

impl Sc {
    /// The SC memory for `program`.
    pub fn new(program: &Program, possible: &PossibleValues) -> Self {
        Sc { store: Store::new(program, possible), written: None }
    }

    /// The same memory, taking note of every value written.
    pub fn observing(mut self) -> Self {
        let size = self.store.domain.size() as usize;
        let row = || (0..size).map(|_| AtomicBool::new(false)).collect();
        self.written = Some(self.store.fields.iter().map(|_| row()).collect());
        self
    }

    /// Per location, the initial value and every value written since, if it was observing.
    pub fn observed(&self) -> Vec<Values> {
        let min = self.store.domain.min;
        let written = self.written.iter().flat_map(|rows| rows.iter());
        written
            .zip(&self.store.initial)
            .map(|(row, initial)| {
                let values = row.iter().enumerate().filter(|(_, seen)| seen.load(Relaxed));
                Values::of_members(
                    values.map(|(k, _)| min + k as Value).chain(std::iter::once(*initial)),
                )
            })
            .collect()
    }
}

impl Memory for Sc {
    type State = Vec<Value>;
    type Violation = Never;
    type Way = ();
    type Own = Never;
    type Seen = ();
    const OBJECTS: bool = false;

    fn initial(&self) -> Vec<Value> {
        self.store.initial.clone()
    }

    #[inline(always)]
    fn ways(&self, _: &Vec<Value>, _: Tid, _: &Action, mut each: impl FnMut(())) {
        each(());
    }

    #[inline(always)]
    fn step(
        &self,
        state: &mut Vec<Value>,
        _: Tid,
        _: &Instr,
        action: &Action,
        (): (),
        notes: &mut Notes,
    ) -> Result<Effect<Never>, Fault> {
        if action.loc().is_none() {
            return Ok(Effect::Done(None, ()));
        }
        Ok(match self.store.access(state, action, notes)? {
            None => Effect::Blocked,
            Some(access) => {
                if let (Some(written), Some(loc), true) =
                    (&self.written, action.loc(), access.wrote)
                {
                    let value = state[loc.index()] - self.store.domain.min;
                    written[loc.index()][value as usize].store(true, Relaxed);
                }
                Effect::Done(Some(access.old), ())
            }
        })
    }

    fn own_step(&self, _: &mut Vec<Value>, own: Never) -> Option<()> {
        match own {}
    }
}

impl Packed for Sc {
    fn fits(&self, state: &Vec<Value>) -> bool {
        self.store.fits(state)
    }

    fn bits(&self) -> u32 {
        self.store.bits()
    }

    #[inline(always)]
    fn pack(&self, state: &Vec<Value>, out: &mut BitWriter<'_>) {
        self.store.pack(state, out);
    }

    #[inline(always)]
    fn unpack(&self, state: &mut Vec<Value>, from: &mut BitReader<'_>) {
        self.store.unpack(state, from);
    }
}

impl Renamed for Sc {
    type Renaming = StoreRenaming;

    fn renaming(&self, alpha: &Automorphism, types: &Types) -> StoreRenaming {
        self.store.renaming(alpha, types)
    }

    fn rename(&self, renaming: &StoreRenaming, state: &Vec<Value>, image: &mut Vec<Value>) {
        self.store.rename(renaming, state, image);
    }
}

impl Lowered for Sc {
    fn values<'s>(&self, state: &'s Vec<Value>) -> &'s [Value] {
        state
    }

    fn can_lower(&self, _: &Counters) -> bool {
        true
    }

    fn lower(&self, state: &mut Vec<Value>, counters: &Counters, lowering: Lowering) {
        for loc in &counters.locations {
            state[loc.index()] = counters.lowered(state[loc.index()], lowering);
        }
    }
}
