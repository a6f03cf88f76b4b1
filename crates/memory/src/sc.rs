//! Sequential consistency: one value per location (Def. 2.8 of the RC20 paper).

use super::{Attempt, Effect, Lowered, Memory, Never, Packed, Renamed};
use analysis::access::Uses;
use analysis::counters::{Counters, Lowering};
use analysis::opaque_values::Types;
use analysis::symmetry::{Automorphism, ValueRenaming};
use analysis::values::{FEW, PossibleValues, Values};
use ir::bits::{BitReader, BitWriter, above, fits, raised, width_of};
use ir::expr::{Domain, Fault, Notes};
use ir::ids::{Loc, Tid, Value};
use ir::program::{Instr, Program};
use ir::thread::Action;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

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
    /// The locations that are not their own image or whose values are renamed, their images, and how.
    images: Vec<(Loc, Loc, ValueRenaming)>,
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
                (min, width_of(min, max))
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

    /// Prepares to rename values and locations.
    pub fn renaming(&self, alpha: &Automorphism, types: &Types) -> StoreRenaming {
        let images = (0..self.fields.len()).map(|x| {
            let loc = Loc::from(x);
            (loc, alpha.locations[x], alpha.values(types.location(loc)))
        });
        let moves = |(loc, to, values): &(Loc, Loc, ValueRenaming)| loc != to || values.renames();
        StoreRenaming { images: images.filter(moves).collect() }
    }

    /// Writes the image of `values` to `image`.
    #[inline(always)]
    pub fn rename(&self, renaming: &StoreRenaming, values: &[Value], image: &mut [Value]) {
        image.copy_from_slice(values);
        for (loc, to, renamed) in &renaming.images {
            image[to.index()] = renamed.image(values[loc.index()]);
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
            out.push(above(*value, *min), *width);
        }
    }

    /// Unpacks the values.
    #[inline(always)]
    pub fn unpack(&self, values: &mut [Value], from: &mut BitReader<'_>) {
        for (value, (min, width)) in values.iter_mut().zip(&self.fields) {
            *value = raised(*min, from.take(*width));
        }
    }
}

/// The memory of sequential consistency.
#[derive(Clone, Debug)]
pub struct Sc {
    store: Store,
    /// Per location, the values written. Only kept if asked for.
    written: Option<Arc<[Written]>>,
}

/// The values written to a location, until they are many.
#[derive(Debug)]
struct Written {
    few: [OnceLock<Value>; FEW],
    many: AtomicBool,
}

impl Written {
    fn nothing() -> Self {
        let few = std::array::from_fn(|_| OnceLock::new());
        Written { few, many: AtomicBool::new(false) }
    }

    fn note(&self, value: Value) {
        let known = |slot: &OnceLock<Value>| *slot.get_or_init(|| value) == value;
        if !self.few.iter().any(known) {
            self.many.store(true, Relaxed);
        }
    }

    fn values(&self) -> Values {
        match self.many.load(Relaxed) {
            true => Values::Any,
            false => Values::of_members(self.few.iter().filter_map(|slot| slot.get().copied())),
        }
    }
}

impl Sc {
    /// The SC memory for `program`.
    pub fn new(program: &Program, possible: &PossibleValues) -> Self {
        Sc { store: Store::new(program, possible), written: None }
    }

    /// The same memory, taking note of every value written.
    pub fn observing(mut self) -> Self {
        let written = |initial: &Value| {
            let written = Written::nothing();
            written.note(*initial);
            written
        };
        self.written = Some(self.store.initial.iter().map(written).collect());
        self
    }

    /// Per location, the initial value and every value written since, if it was observing.
    pub fn observed(&self) -> Vec<Values> {
        self.written.iter().flat_map(|written| written.iter()).map(Written::values).collect()
    }
}

impl Memory for Sc {
    type State = Vec<Value>;
    type Violation = Never;
    type Way = ();
    type Own = Never;
    type Seen = ();

    fn initial(&self) -> Vec<Value> {
        self.store.initial.clone()
    }

    /// Per location that values were written to: how many, and these; one more than [`FEW`] if they are many.
    fn learnt(&self) -> Vec<Value> {
        let told = |written: &Written| {
            let few: Vec<Value> =
                written.few.iter().filter_map(|slot| slot.get().copied()).collect();
            let many = written.many.load(Relaxed);
            let count = if many { FEW + 1 } else { few.len() };
            std::iter::once(count as Value).chain(if many { Vec::new() } else { few })
        };
        self.written.iter().flat_map(|written| written.iter()).flat_map(told).collect()
    }

    fn learn(&self, learnt: &[Value]) {
        let mut rest = learnt.iter().copied();
        for written in self.written.iter().flat_map(|written| written.iter()) {
            match rest.next() {
                Some(count) if count as usize <= FEW => {
                    rest.by_ref().take(count as usize).for_each(|value| written.note(value));
                }
                Some(_) => written.many.store(true, Relaxed),
                None => return,
            }
        }
    }

    #[inline(always)]
    fn ways(&self, _: &Vec<Value>, _: Tid, _: &Action, mut each: impl FnMut(())) {
        each(());
    }

    #[inline(always)]
    fn step(
        &self,
        state: &mut Vec<Value>,
        Attempt { action, .. }: Attempt<'_>,
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
                    written[loc.index()].note(state[loc.index()]);
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
    type Prospect = ();

    fn renaming(&self, alpha: &Automorphism, types: &Types) -> StoreRenaming {
        self.store.renaming(alpha, types)
    }

    fn rename(&self, renaming: &StoreRenaming, state: &Vec<Value>, image: &mut Vec<Value>) {
        self.store.rename(renaming, state, image);
    }

    fn prospect(&self, _: &Instr, _: &[Uses; 2]) {}
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
