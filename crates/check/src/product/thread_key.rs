//! A number for each thread that stays the same when threads are exchanged.
//!
//! [`orbit`](super::orbit) sorts threads by these keys. Threads that differ in what a key is made of need not be
//! tried in every order, so the more a key says, the better. Whatever it says, nothing that is found depends
//! on it. A key is made of
//!
//! 1. the thread's program counter, and its registers whose values are not renamed;
//! 2. the values of the locations that belong to it, such as `blocked[t]`: those that move whenever
//!    the thread is exchanged, and never otherwise;
//! 3. which threads it names and which name it, in registers and locations: values belong to threads as
//!    locations do. A name counts as what 1 and 2 say of the thread that is named, or that names; this is one
//!    round of colour refinement.
//!
//! All threads of an orbit are seen as its first: a program counter, register or location counts as the one that the
//! exchange with the first thread makes of it.

use super::{Product, World};
use analysis::opaque_values::Class;
use analysis::symmetry::{Automorphism, Orbit, Symmetries};
use ir::{Loc, Pc, Program, Reg, Tid, Value};
use memory::Monitor;
use std::collections::BTreeMap;

/// What keys are made of.
pub(super) struct Looks {
    threads: Vec<Look>,
    /// Locations that belong to no thread and hold names, with their weights.
    shared: Vec<(Loc, Class, u64)>,
    /// The threads that values belong to.
    owners: BTreeMap<(Class, Value), Tid>,
}

/// How a thread looks to the first thread it can be exchanged with.
struct Look {
    /// The image of each program counter.
    pcs: Vec<u32>,
    /// Per program counter and register, a weight that is the same for its image, and the class of its
    /// values if they are renamed.
    registers: Vec<Vec<(u64, Option<Class>)>>,
    /// The same for the locations that belong to the thread.
    locations: Vec<(Loc, u64, Option<Class>)>,
}

/// The keys of a state's threads.
#[derive(Default)]
pub(super) struct ThreadKeys {
    alone: Vec<u64>,
    together: Vec<u64>,
    /// Who names whom, and how: the namer, or none if a shared location holds the name.
    names: Vec<(Option<Tid>, u64, Tid)>,
}

impl ThreadKeys {
    pub(super) fn of(&self, tid: Tid) -> u64 {
        self.together[tid.index()]
    }
}

fn weight(number: u32, kind: u64) -> u64 {
    (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(kind as u32) | 1
}

fn mix(weight: u64, key: u64) -> u64 {
    let mixed = (key ^ weight).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 31)
}

/// The thread of `orbit` to which belongs what `moves` says of its exchanges with the first.
fn owner(orbit: &Orbit, moves: impl Fn(&Automorphism) -> bool) -> Option<Tid> {
    let mut moved = (1..orbit.threads.len()).filter(|k| moves(orbit.with_first(*k)));
    let first = moved.next()?;
    let others = moved.count();
    match others {
        0 => Some(orbit.threads[first]),
        _ if others + 2 == orbit.threads.len() => Some(orbit.threads[0]),
        _ => None,
    }
}

impl Looks {
    pub(super) fn new(program: &Program, symmetries: &Symmetries) -> Self {
        let types = &symmetries.types;
        let renamed = |class: Class| {
            symmetries.generators().any(|alpha| alpha.renames(class)).then_some(class)
        };
        // With two threads both orders are tried sooner than anything is found out about them.
        let large = || symmetries.orbits.iter().filter(|orbit| orbit.threads.len() > 2);
        let owner_of = |loc: Loc| {
            large().find_map(|orbit| owner(orbit, |alpha| alpha.locations[loc.index()] != loc))
        };
        let mut owners = BTreeMap::new();
        for orbit in large() {
            for alpha in symmetries.generators() {
                for (class, value) in alpha.moved_values() {
                    let tid = owner(orbit, |alpha| alpha.value(class, value) != value);
                    owners.extend(tid.map(|tid| ((class, value), tid)));
                }
            }
        }
        let locations = || (0..program.locations.len()).map(Loc::from);
        let is_fixed =
            |loc: Loc| symmetries.generators().all(|alpha| alpha.locations[loc.index()] == loc);
        let any_large = large().next().is_some();
        let shared = locations().filter(|loc| any_large && is_fixed(*loc)).filter_map(|loc| {
            renamed(types.location(loc)).map(|class| (loc, class, weight(loc.0, 17)))
        });
        let look = |tid: Tid| {
            let t = tid.index();
            let home = symmetries.orbits.iter().find_map(|orbit| {
                let k = orbit.threads.iter().position(|other| *other == tid)?;
                (k > 0).then(|| orbit.with_first(k))
            });
            let thread = &program.threads[t];
            let register = |pc: Pc, reg: Reg| {
                let image = home.map_or(reg, |home| home.registers[t][reg.index()]);
                (weight(image.0, 0), renamed(types.register(tid, pc, reg)))
            };
            let pcs = || (0..thread.code.len()).map(Pc::from);
            let regs = || (0..thread.registers.len()).map(Reg::from);
            let owned = locations().filter(|loc| owner_of(*loc) == Some(tid)).map(|loc| {
                let image = home.map_or(loc, |home| home.locations[loc.index()]);
                (loc, weight(image.0, 29), renamed(types.location(loc)))
            });
            Look {
                pcs: pcs().map(|pc| home.map_or(pc, |home| home.pcs[t][pc.index()]).0).collect(),
                registers: pcs().map(|pc| regs().map(|reg| register(pc, reg)).collect()).collect(),
                locations: owned.collect(),
            }
        };
        Looks { threads: program.tids().map(look).collect(), shared: shared.collect(), owners }
    }
}

impl<M: Monitor> Product<M> {
    /// Computes the keys of the threads in `world`.
    pub(super) fn thread_keys(&self, world: &World<M::State>, keys: &mut ThreadKeys) {
        let Looks { threads, shared, owners } = &self.looks;
        let ThreadKeys { alone, together, names } = keys;
        let values = self.memory.values(&world.memory);
        alone.clear();
        names.clear();
        for (t, look) in threads.iter().enumerate() {
            let tid = Tid::from(t);
            let pc = world.pcs[t].index();
            let mut key = u64::from(look.pcs[pc]);
            let mut add = |value: Value, weight: u64, class: Option<Class>| {
                match class.map(|class| owners.get(&(class, value))) {
                    Some(Some(named)) => names.push((Some(tid), weight, *named)),
                    // Some value of two threads, say: whose is not known.
                    Some(None) if class.is_some_and(|class| self.is_moved(class, value)) => {}
                    _ => {
                        let value = (value as u64).wrapping_add(1);
                        key = key.wrapping_add(value.wrapping_mul(weight));
                    }
                }
            };
            for (value, (weight, class)) in self.regs(world, tid).iter().zip(&look.registers[pc]) {
                add(*value, *weight, *class);
            }
            for (loc, weight, class) in &look.locations {
                add(values[loc.index()], *weight, *class);
            }
            alone.push(key);
        }
        for (loc, class, weight) in shared {
            let named = owners.get(&(*class, values[loc.index()]));
            names.extend(named.map(|named| (None, *weight, *named)));
        }
        together.clone_from(alone);
        for (namer, weight, named) in names.iter() {
            match namer {
                None => add_to(&mut together[named.index()], mix(*weight, 1)),
                Some(namer) if namer == named => {
                    add_to(&mut together[named.index()], mix(*weight, 2));
                }
                Some(namer) => {
                    add_to(&mut together[namer.index()], mix(*weight, alone[named.index()]));
                    let back = weight.rotate_left(13);
                    add_to(&mut together[named.index()], mix(back, alone[namer.index()]));
                }
            }
        }
    }

    /// Does an automorphism rename this value?
    fn is_moved(&self, class: Class, value: Value) -> bool {
        self.symmetries.generators().any(|alpha| alpha.value(class, value) != value)
    }
}

fn add_to(sum: &mut u64, summand: u64) {
    *sum = sum.wrapping_add(summand);
}
