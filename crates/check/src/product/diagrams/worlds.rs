//! The states that diagrams are tested at, and when two of them count as the same.
//!
//! [`worlds`] enumerates the states of a plain search. [`normal_form`] is what a reduced search would keep of one, and
//! [`key`] is the same for all states that a reduction may take for each other, whichever of them it keeps.

use super::super::orbit::Renaming;
use super::super::{Finding, Move, Product, Scratch, World, beginnings, moves};
use analysis::counters::{Counters, Lowering, is_upper_guard};
use analysis::symmetry::{Automorphism, Symmetries};
use ir::{Instr, Pc, Tid, Value};
use memory::{Monitor, Renamed};
use search::Model as _;
use std::collections::{HashSet, VecDeque};

/// States of a program that are looked at; of the rest nothing is said.
pub(super) const STATES: usize = 150;

/// Elements of a group with which representatives are compared; larger groups have one representative each in
/// the programs that there are.
const ELEMENTS: usize = 150;

/// A finding as it looks in every image of its place: its kind, and the smallest image of the place.
pub(super) type Place = (String, Tid, Pc);

pub(super) fn place<M: Monitor>(
    symmetries: &Symmetries,
    finding: &Finding<M::Violation>,
) -> Option<Place> {
    let (kind, tid, pc) = exact::<M>(finding)?;
    let (tid, pc) = symmetries.first_place(tid, pc);
    Some((kind, tid, pc))
}

/// A finding where it is made.
pub(super) fn exact<M: Monitor>(finding: &Finding<M::Violation>) -> Option<Place> {
    match finding {
        Finding::Violation { tid, pc, violation } => Some((format!("{violation:?}"), *tid, *pc)),
        Finding::Assertion { tid, pc } => Some(("assertion".into(), *tid, *pc)),
        Finding::Fault { tid, pc, fault } => Some((format!("{fault:?}"), *tid, *pc)),
        Finding::Unclear { .. } | Finding::Deadlock { .. } => None,
    }
}

/// The packed normal form of `world`; none if a number is too large for its window.
pub(super) fn normal_form<M: Monitor>(
    product: &Product<M>,
    scratch: &mut Scratch<M::State>,
    world: &World<M::State>,
) -> Option<Vec<u8>> {
    scratch.next.clone_from(world);
    scratch.mover = None;
    for tid in product.program.tids() {
        let pc = world.pcs[tid.index()];
        product.forget_if_dead(scratch, tid, pc);
    }
    product.packed(scratch).ok().map(<[u8]>::to_vec)
}

/// What is the same for a packed state and those that differ from it by an automorphism, or by how large
/// the counters of a class without a window are: such counters are made small but never larger, and an orbit
/// may have several representatives, so states that can do the same may be packed differently.
pub(super) fn key<M: Monitor>(
    product: &Product<M>,
    elements: &[Element<M>],
    packed: Vec<u8>,
) -> Key {
    let lowers = product.lowers_counters();
    if !lowers && elements.is_empty() {
        return Key::Packed(packed);
    }
    let mut world = product.initial_world();
    product.unpack(&packed, &mut Vec::new(), &mut world);
    let shown = |world: &World<M::State>| {
        if !lowers {
            let mut words = Vec::new();
            product.pack(world, &mut words);
            return Key::Packed(bytemuck::cast_slice(&words).to_vec());
        }
        let mut world = world.clone();
        let values = product.memory.values(&world.memory);
        let lowering = |counters: &Counters| {
            let at = counters.locations.iter().map(|loc| values[loc.index()]);
            let held = counters.registers.iter().enumerate().flat_map(|(t, sets)| {
                let regs = product.regs(&world, Tid::from(t));
                sets[world.pcs[t].index()].iter().map(|reg| regs[reg.index()])
            });
            let lowest = at.chain(held).filter(|value| !counters.is_constant(*value)).min();
            let by = lowest.filter(|_| counters.window.is_none()).map_or(0, |v| v - counters.base);
            Lowering { floor: Value::MIN, by }
        };
        let lowerings: Vec<_> = product.counters.iter().map(lowering).collect();
        product.lower(&mut world, &lowerings);
        Key::Shown(format!("{world:?}"))
    };
    let mut image = world.clone();
    let images = elements.iter().map(|renaming| {
        product.rename(renaming, &world, &mut image);
        shown(&image)
    });
    images.chain([shown(&world)]).min().expect("there is the identity")
}

/// An element of a group, as the memory needs it.
pub(super) type Element<M> = Renaming<<M as Renamed>::Renaming>;

/// All elements of the group. Some may exchange the same threads and rename other values. None if there are more
/// than [`ELEMENTS`].
pub(super) fn elements<M: Monitor>(product: &Product<M>) -> Vec<Element<M>> {
    let symmetries = &product.symmetries;
    let does = |alpha: &Automorphism| {
        let mut values: Vec<_> =
            alpha.moved_values().map(|(class, v)| (class, v, alpha.value(class, v))).collect();
        values.sort_unstable();
        let Automorphism { threads, pcs, registers, locations, .. } = alpha;
        (threads.clone(), pcs.clone(), registers.clone(), locations.clone(), values)
    };
    let generators: Vec<_> = symmetries.generators().collect();
    let mut elements: Vec<Automorphism> = Vec::new();
    let mut known = HashSet::new();
    let mut next = 0;
    elements.extend(generators.iter().map(|alpha| (*alpha).clone()));
    known.extend(elements.iter().map(does));
    while next < elements.len() {
        if elements.len() > ELEMENTS {
            return Vec::new();
        }
        for alpha in &generators {
            let product = elements[next].then(alpha);
            if known.insert(does(&product)) {
                elements.push(product);
            }
        }
        next += 1;
    }
    let with_renaming = |alpha: Automorphism| {
        let memory = product.memory.renaming(&alpha, &symmetries.types);
        Renaming::new(alpha, memory)
    };
    elements.into_iter().map(with_renaming).collect()
}

/// See [`key`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    Packed(Vec<u8>),
    Shown(String),
}

/// All worlds that a plain search of `product` comes to, up to [`STATES`], with their packed forms.
/// Worlds that `fits` refuses are left out, with all that is behind them.
pub(super) fn worlds<M: Monitor>(
    product: &Product<M>,
    fits: impl Fn(&World<M::State>) -> bool,
) -> Vec<World<M::State>> {
    let mut scratch = product.scratch();
    let mut seen = HashSet::new();
    let mut open = VecDeque::new();
    let mut all = Vec::new();
    let (begun, _) = beginnings(product, &mut scratch);
    let add =
        |found: Vec<Move<M>>, seen: &mut HashSet<Vec<u8>>, open: &mut VecDeque<World<M::State>>| {
            for next in found {
                if fits(&next.world) && seen.insert(next.packed) {
                    open.push_back(next.world);
                }
            }
        };
    add(begun, &mut seen, &mut open);
    while let Some(world) = open.pop_front() {
        if all.len() < STATES {
            let (next, _) = moves(product, &mut scratch, &world);
            add(next, &mut seen, &mut open);
            all.push(world);
        }
    }
    all
}

/// Are values renamed that name elements of arrays?
pub(super) fn names_elements<M: Monitor>(product: &Product<M>) -> bool {
    let Symmetries { types, .. } = &product.symmetries;
    product.program.steps().any(|(tid, pc, step)| {
        let index = step.instr.place().and_then(|place| types.index(tid, pc, place));
        let renames = |class| product.symmetries.generators().any(|alpha| alpha.renames(class));
        index.is_some_and(|(class, _)| renames(class))
    })
}

/// Has a guard of counters stopped a thread for good?
pub(super) fn is_stopped<M: Monitor>(product: &Product<M>, world: &World<M::State>) -> bool {
    product.program.tids().any(|tid| {
        let instr = &product.program.step(tid, world.pcs[tid.index()]).instr;
        matches!(instr, Instr::Assume(cond) if is_upper_guard(cond))
    })
}
