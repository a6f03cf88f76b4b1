//! Automorphisms, and the conditions that one must meet before it is used.
//!
//! An [`Automorphism`] is a table of images: of threads, program counters, registers, locations and opaque values.
//! [`Automorphism::is_of`] tests the premises that the module above numbers, step by step over the whole program, whoever
//! proposed the table.

use super::Facts;
use crate::opaque_values::{Class, Types, operands};
use ir::expr::{Domain, Expr, Op};
use ir::ids::{Loc, Pc, Reg, RegSet, Tid, Value};
use ir::program::{Instr, Place, Program};
use std::collections::BTreeMap;

/// A renaming of threads, program counters, registers, locations and opaque values under which a
/// program's transitions are the same as before.
#[derive(Clone, Debug)]
pub struct Automorphism {
    /// The image of each thread.
    pub threads: Vec<Tid>,
    /// The image of each program counter of each thread, in the image of the thread.
    pub pcs: Vec<Vec<Pc>>,
    /// The image of each register of each thread, in the image of the thread.
    pub registers: Vec<Vec<Reg>>,
    /// The image of each location; fences' hidden location, last, is its own.
    pub locations: Vec<Loc>,
    /// The image of each class of values.
    pub(super) classes: Vec<Class>,
    /// How each class's values are renamed; classes not here keep theirs.
    pub(super) renamed: BTreeMap<Class, BTreeMap<Value, Value>>,
    /// Is the initial state its own image (premise 5)?
    pub keeps_initial: bool,
}

/// How an automorphism renames the values of one class: those that it moves, and their images.
#[derive(Clone, Debug)]
pub struct ValueRenaming(Box<[(Value, Value)]>);

impl ValueRenaming {
    /// The image of a value. Few values are ever renamed, one per thread as a rule.
    #[inline(always)]
    pub fn image(&self, value: Value) -> Value {
        self.0.iter().find(|(from, _)| *from == value).map_or(value, |(_, image)| *image)
    }

    /// Does it rename any?
    pub fn renames(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Automorphism {
    pub(super) fn identity(program: &Program, types: &Types) -> Self {
        Automorphism {
            threads: program.tids().collect(),
            pcs: program
                .threads
                .iter()
                .map(|t| (0..t.code.len()).map(Pc::from).collect())
                .collect(),
            registers: program
                .threads
                .iter()
                .map(|t| (0..t.registers.len()).map(Reg::from).collect())
                .collect(),
            locations: (0..=program.locations.len()).map(Loc::from).collect(),
            classes: (0..types.count() as Class).collect(),
            renamed: BTreeMap::new(),
            keeps_initial: true,
        }
    }

    /// First `self`, then `other`.
    pub fn then(&self, other: &Automorphism) -> Automorphism {
        let through = |t: usize| self.threads[t].index();
        let mut renamed: BTreeMap<Class, BTreeMap<Value, Value>> = BTreeMap::new();
        for class in self.renamed.keys().copied().chain(other.renamed.keys().map(|&image| {
            let source = self.classes.iter().position(|&c| c == image).unwrap_or(image as usize);
            source as Class
        })) {
            let image = self.classes[class as usize];
            let touched = self.renamed.get(&class).into_iter().flat_map(|m| m.keys().copied());
            let behind = other
                .renamed
                .get(&image)
                .into_iter()
                .flat_map(|m| m.keys().map(|&value| self.value_before(class, value)));
            let map = touched
                .chain(behind)
                .map(|value| (value, other.value(image, self.value(class, value))))
                .collect();
            renamed.insert(class, map);
        }
        Automorphism {
            threads: self.threads.iter().map(|t| other.threads[t.index()]).collect(),
            pcs: (0..self.pcs.len())
                .map(|t| self.pcs[t].iter().map(|pc| other.pcs[through(t)][pc.index()]).collect())
                .collect(),
            registers: (0..self.registers.len())
                .map(|t| {
                    let second = &other.registers[through(t)];
                    self.registers[t].iter().map(|r| second[r.index()]).collect()
                })
                .collect(),
            locations: self.locations.iter().map(|x| other.locations[x.index()]).collect(),
            classes: self.classes.iter().map(|&c| other.classes[c as usize]).collect(),
            renamed,
            keeps_initial: self.keeps_initial && other.keeps_initial,
        }
    }

    /// The image of a value of a class.
    #[inline(always)]
    pub fn value(&self, class: Class, value: Value) -> Value {
        match self.renamed.get(&class) {
            None => value,
            Some(map) => map.get(&value).copied().unwrap_or(value),
        }
    }

    /// How the values of a class are renamed.
    pub fn values(&self, class: Class) -> ValueRenaming {
        let moved = self.renamed.get(&class).into_iter().flatten();
        ValueRenaming(moved.map(|(from, image)| (*from, *image)).collect())
    }

    /// Is there a class whose values are renamed?
    pub fn renames_values(&self) -> bool {
        !self.renamed.is_empty()
    }

    /// Does everything of the thread keep its number?
    pub fn keeps(&self, tid: Tid) -> bool {
        let t = tid.index();
        let mut pcs = self.pcs[t].iter().enumerate();
        let mut registers = self.registers[t].iter().enumerate();
        self.threads[t] == tid
            && pcs.all(|(pc, to)| to.index() == pc)
            && registers.all(|(reg, to)| to.index() == reg)
    }

    fn value_before(&self, class: Class, image: Value) -> Value {
        match self.renamed.get(&class) {
            None => image,
            Some(map) => map.iter().find(|(_, to)| **to == image).map_or(image, |(from, _)| *from),
        }
    }

    /// The values that are renamed, with their classes.
    pub fn moved_values(&self) -> impl Iterator<Item = (Class, Value)> + '_ {
        let moved = |(class, map): (&Class, &BTreeMap<Value, Value>)| {
            let class = *class;
            map.iter().filter(|(v, w)| v != w).map(move |(v, _)| (class, *v)).collect::<Vec<_>>()
        };
        self.renamed.iter().flat_map(moved)
    }

    /// Are values of this class renamed?
    pub fn renames(&self, class: Class) -> bool {
        self.renamed.contains_key(&class)
    }

    /// Is it an automorphism of `program`: do premises 1 to 3 hold, and premise 5 if it says so?
    pub fn is_of(&self, program: &Program, types: &Types, facts: &Facts) -> bool {
        let kinds = program
            .locations
            .iter()
            .zip(&self.locations)
            .all(|(location, image)| location.kind == program.locations[image.index()].kind);
        kinds
            && self.permutes(types, program.domain)
            && (!self.keeps_initial || self.keeps_initial_state(program, types, facts))
            && program.tids().all(|tid| {
                let t = tid.index();
                let thread = &program.threads[t];
                let image = &program.threads[self.threads[t].index()];
                self.pcs[t][thread.entry.index()] == image.entry
                    && facts.reachable[t].iter().all(|pc| {
                        let live = facts.live[t][pc.index()];
                        self.maps_step(program, types, tid, *pc)
                            && self.maps_registers(types, tid, *pc, live)
                    })
            })
            && self.maps_locations(types)
    }

    /// Premise 1.
    fn permutes(&self, types: &Types, domain: Domain) -> bool {
        let raw = |ids: &[Pc]| ids.iter().map(|id| id.0).collect::<Vec<_>>();
        is_permutation(self.threads.iter().map(|id| id.0))
            && is_permutation(self.locations.iter().map(|id| id.0))
            && is_permutation(self.classes.iter().copied())
            && self.pcs.iter().all(|pcs| is_permutation(raw(pcs).into_iter()))
            && self.registers.iter().all(|regs| is_permutation(regs.iter().map(|id| id.0)))
            && self.renamed.iter().all(|(class, map)| {
                let (mut from, mut to): (Vec<Value>, Vec<Value>) = map.iter().unzip();
                from.sort_unstable();
                to.sort_unstable();
                let are_values = from.iter().all(|value| domain.contains((*value).into()));
                from == to && are_values && !types.is_rigid(*class)
            })
    }

    /// Premise 5.
    pub(super) fn keeps_initial_state(
        &self,
        program: &Program,
        types: &Types,
        facts: &Facts,
    ) -> bool {
        let locations = program.locations.iter().enumerate().all(|(x, location)| {
            let image = &program.locations[self.locations[x].index()];
            self.value(types.location(Loc::from(x)), location.initial) == image.initial
        });
        locations
            && program.threads.iter().enumerate().all(|(t, thread)| {
                let live = facts.live[t][thread.entry.index()];
                let class = |reg| types.register(Tid::from(t), thread.entry, reg);
                live.iter().all(|reg| self.value(class(reg), 0) == 0)
            })
    }

    /// Premise 2.
    fn maps_step(&self, program: &Program, types: &Types, tid: Tid, pc: Pc) -> bool {
        let t = tid.index();
        let (image_tid, image_pc) = (self.threads[t], self.pcs[t][pc.index()]);
        let (step, image) = (program.step(tid, pc), program.step(image_tid, image_pc));
        let register = |reg: Reg| self.registers[t][reg.index()];
        let place = |a: &Place, b: &Place| {
            same_kind_of_place(a, b)
                && match types.index(tid, pc, a) {
                    Some(index) => self.maps_elements(program.domain, a, b, index),
                    None => {
                        let renamed = a.locations().map(|x| self.locations[x.index()]);
                        renamed.eq(b.locations())
                    }
                }
        };
        let places = match (&step.instr, &image.instr) {
            (Instr::LightFence(a), Instr::LightFence(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| place(a, b))
            }
            (a, b) => match (a.place(), b.place()) {
                (Some(a), Some(b)) => place(a, b),
                (a, b) => a.is_none() && b.is_none(),
            },
        };
        let mut classes = types.constants(tid, pc);
        let mut renamed = Vec::new();
        for expr in operands(&step.instr) {
            renamed.push(
                expr.clone()
                    .into_postfix()
                    .into_iter()
                    .map(|op| match op {
                        Op::Const(value) => {
                            let class = classes.next().expect("every constant has a class");
                            Op::Const(self.value(class, value))
                        }
                        Op::Reg(reg) => Op::Reg(register(reg)),
                        op => op,
                    })
                    .collect::<Vec<_>>(),
            );
        }
        let expected = operands(&image.instr).into_iter().map(|e| e.clone().into_postfix());
        let mut expected: Vec<_> = expected.collect();
        if let Instr::Wait { values, .. } = &step.instr
            && waits_for_constants(&step.instr)
            && waits_for_constants(&image.instr)
        {
            // It waits for a set of values, in whatever order they are listed.
            for operands in [&mut renamed, &mut expected] {
                let index = operands.len().saturating_sub(values.len());
                operands[index..].sort_by_key(|code| match code[..] {
                    [Op::Const(value)] => Some(value),
                    _ => None,
                });
            }
        }
        let mut targets = [Vec::new(), Vec::new()];
        if let Instr::Jump { targets: from, .. } = &step.instr {
            targets[0].extend(from.iter().map(|pc| self.pcs[t][pc.index()]));
        }
        if let Instr::Jump { targets: to, .. } = &image.instr {
            targets[1].extend_from_slice(to);
        }
        targets.iter_mut().for_each(|targets| targets.sort_unstable());
        // The cases of a switch, each renamed, are those of its image in whatever order.
        let cases = match (&step.instr, &image.instr) {
            (Instr::Switch { cases: from, .. }, Instr::Switch { cases: to, .. }) => {
                let renamed = from.iter().zip(classes);
                let mut renamed: Vec<_> = renamed
                    .map(|((case, pc), class)| (self.value(class, *case), self.pcs[t][pc.index()]))
                    .collect();
                renamed.sort_unstable();
                renamed == *to
            }
            (a, b) => !matches!(a, Instr::Switch { .. }) && !matches!(b, Instr::Switch { .. }),
        };
        same_shape(&step.instr, &image.instr)
            && step.instr.output().map(register) == image.instr.output()
            && places
            && renamed == expected
            && targets[0] == targets[1]
            && cases
            && (step.instr == Instr::Halt || self.pcs[t][step.next.index()] == image.next)
    }

    /// Premise 2 for a place whose index is a value of a class, and an offset: the element that a value names
    /// goes to the one that its image names. Values that are renamed name an element, and their sums
    /// with the offset do not wrap around, so the others name one, or are out of range, as before: an element
    /// that a sum which wraps around stands for has no other name, and its number stays.
    fn maps_elements(
        &self,
        domain: Domain,
        a: &Place,
        b: &Place,
        (class, offset): (Class, i128),
    ) -> bool {
        let names_one = |value: Value| {
            let sum = i128::from(value) + offset;
            domain.contains(sum) && (0..i128::from(a.len)).contains(&sum)
        };
        let moved = self.renamed.get(&class).into_iter().flat_map(|map| map.keys());
        moved.copied().all(names_one)
            && a.locations().enumerate().all(|(k, x)| {
                let image = match Value::try_from(k as i128 - offset) {
                    Ok(value) => i128::from(self.value(class, value)) + offset,
                    Err(_) => k as i128,
                };
                let image = Value::try_from(image).ok().and_then(|k| b.element(k));
                image == Some(self.locations[x.index()])
            })
    }

    /// Premise 3 for registers.
    fn maps_registers(&self, types: &Types, tid: Tid, pc: Pc, live: RegSet) -> bool {
        let t = tid.index();
        let (image_tid, image_pc) = (self.threads[t], self.pcs[t][pc.index()]);
        live.iter().all(|reg| {
            let class = types.register(tid, pc, reg);
            let image = types.register(image_tid, image_pc, self.registers[t][reg.index()]);
            self.classes[class as usize] == image
        })
    }

    /// Premise 3 for locations.
    fn maps_locations(&self, types: &Types) -> bool {
        let program_locations = self.locations.len() - 1;
        self.locations.iter().enumerate().take(program_locations).all(|(x, image)| {
            self.classes[types.location(Loc::from(x)) as usize] == types.location(*image)
        })
    }
}

/// Does the instruction wait for one of several constants?
pub(super) fn waits_for_constants(instr: &Instr) -> bool {
    matches!(instr, Instr::Wait { values, .. } if values.iter().all(|e| e.as_const().is_some()))
}

/// Does each number below the number of items come once?
fn is_permutation(items: impl ExactSizeIterator<Item = u32>) -> bool {
    let mut seen = vec![false; items.len()];
    items
        .into_iter()
        .all(|item| seen.get_mut(item as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
}

/// Do both places stand for one known location, both for an element of arrays of equal length, or both
/// for no element of any array, whatever happens?
pub(super) fn same_kind_of_place(a: &Place, b: &Place) -> bool {
    match (a.known(), b.known()) {
        (Some(Ok(_)), Some(Ok(_))) => true,
        (Some(Err(x)), Some(Err(y))) => (x, a.len) == (y, b.len),
        (None, None) => a.len == b.len,
        _ => false,
    }
}

/// Are the instructions the same but for places, registers and constants?
pub(super) fn same_shape(a: &Instr, b: &Instr) -> bool {
    let blank = |instr: &Instr| {
        let mut instr = instr.clone();
        let nothing = || Expr::Const(0);
        let nowhere = || Place::location(Loc(0));
        match &mut instr {
            Instr::Assign { dst, value } => (*dst, *value) = (Reg(0), nothing()),
            Instr::Jump { cond, targets } => {
                *cond = nothing();
                targets.clear();
            }
            Instr::Switch { value, cases } => {
                *value = nothing();
                cases.clear();
            }
            Instr::Assert(cond) | Instr::Assume(cond) => *cond = nothing(),
            Instr::Load { dst, place, .. } => (*dst, *place) = (Reg(0), nowhere()),
            Instr::Store { place, value, .. } => (*place, *value) = (nowhere(), nothing()),
            Instr::Rmw { dst, place, update, .. } => {
                *dst = dst.map(|_| Reg(0));
                *place = nowhere();
                update.operand = nothing();
            }
            Instr::Cas { dst, place, expected, desired, .. } => {
                *dst = dst.map(|_| Reg(0));
                (*place, *expected, *desired) = (nowhere(), nothing(), nothing());
            }
            Instr::BlockingCas { place, expected, desired, .. } => {
                (*place, *expected, *desired) = (nowhere(), nothing(), nothing());
            }
            Instr::Wait { dst, place, values, .. } => {
                *dst = dst.map(|_| Reg(0));
                *place = nowhere();
                values.fill(nothing());
            }
            Instr::LightFence(places) => places.clear(),
            Instr::Skip
            | Instr::Fence(_)
            | Instr::BusLock
            | Instr::BusUnlock
            | Instr::Begin
            | Instr::End
            | Instr::Mark(_)
            | Instr::Halt => {}
        }
        instr
    };
    blank(a) == blank(b)
}
