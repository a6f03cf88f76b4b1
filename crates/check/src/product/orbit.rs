//! Symmetry: the representative of a state's orbit.
//!
//! Statement, premises and proof are in [`analysis::symmetry`]: of states that are images of each
//! other under automorphisms of the program, a search may keep any one. Which one is chosen here matters
//! for how much is saved, not for what is found: threads that can be exchanged are put in ascending
//! order of a key that does not change when they are; of the images that this leaves, the smallest
//! stands for all.

use super::{Product, Scratch, World};
use analysis::symmetry::{Automorphism, Symmetries};
use ir::{Pc, Program, Reg, Tid};
use memory::Monitor;

/// How a thread looks to the first thread it can be exchanged with.
#[derive(Clone, Debug)]
pub(super) struct Orbit {
    first: u32,
    /// The image of each program counter.
    pcs: Vec<u32>,
    /// Per program counter and register a weight that is the same for its image; none for
    /// registers whose values are renamed.
    registers: Vec<Vec<Option<u64>>>,
}

impl Orbit {
    pub(super) fn new(program: &Program, symmetries: &Symmetries, tid: Tid) -> Self {
        let t = tid.index();
        let home = symmetries
            .elements
            .iter()
            .min_by_key(|alpha| alpha.threads[t])
            .expect("there is the identity");
        let opaque = |pc: usize, r: usize| {
            let class = symmetries.types.register(tid, Pc::from(pc), Reg::from(r));
            symmetries.elements.iter().any(|alpha| alpha.renames(class))
        };
        let thread = &program.threads[t];
        Orbit {
            first: home.threads[t].0,
            pcs: home.pcs[t].iter().map(|pc| pc.0).collect(),
            registers: (0..thread.code.len())
                .map(|pc| {
                    (0..thread.registers.len())
                        .map(|r| {
                            let image = u64::from(home.registers[t][r].0) + 1;
                            (!opaque(pc, r)).then(|| image.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
                        })
                        .collect()
                })
                .collect(),
        }
    }
}

impl<M: Monitor> Product<M> {
    /// Packs the representative of `scratch.next`, whose counters are as small as they get.
    pub(super) fn pack_representative(&self, scratch: &mut Scratch<M::State>) {
        if self.renamings.is_empty() {
            let Scratch { next, words, parent, mover, .. } = scratch;
            match mover {
                Some(tid) => self.pack_successor(next, parent, *tid, words),
                None => self.pack(next, words),
            }
        } else {
            self.pack_smallest_image(scratch);
        }
    }

    /// Packs the representative of the orbit of `scratch.next`: of the images in which threads
    /// that can be exchanged are in ascending order of their keys, the smallest.
    fn pack_smallest_image(&self, scratch: &mut Scratch<M::State>) {
        let Scratch { next, image, words, smallest, keys, .. } = scratch;
        keys.clear();
        keys.extend(self.program.tids().map(|tid| self.key(next, tid)));
        smallest.clear();
        for (k, alpha) in self.symmetries.elements.iter().enumerate() {
            if !self.sorts(alpha, keys) {
                continue;
            }
            match k.checked_sub(1) {
                None => self.pack(next, words),
                Some(k) => {
                    self.rename(alpha, &self.renamings[k], next, image);
                    self.pack(image, words);
                }
            }
            if smallest.is_empty() || *words < *smallest {
                std::mem::swap(words, smallest);
            }
        }
        if smallest.is_empty() {
            // The group was cut short, and what is left of it does not sort these keys.
            self.pack(next, words);
        } else {
            std::mem::swap(words, smallest);
        }
    }

    /// A number that is the same for a thread and its image.
    #[inline]
    fn key(&self, world: &World<M::State>, tid: Tid) -> u64 {
        let t = tid.index();
        let pc = world.pcs[t];
        let orbit = &self.orbits[t];
        let mut key = u64::from(orbit.pcs[pc.index()]);
        for (value, rank) in self.regs(world, tid).iter().zip(&orbit.registers[pc.index()]) {
            if let Some(rank) = rank {
                key = key.wrapping_add((*value as u64).wrapping_add(1).wrapping_mul(*rank));
            }
        }
        key
    }

    /// Does `alpha` put the threads of each orbit in ascending order of their keys?
    #[inline]
    fn sorts(&self, alpha: &Automorphism, keys: &[u64]) -> bool {
        let mut last = [(u32::MAX, 0); 32];
        for (t, to) in alpha.threads.iter().enumerate() {
            last[to.index()] = (self.orbits[t].first, keys[t]);
        }
        let images = &last[..keys.len()];
        images.iter().enumerate().all(|(k, (orbit, key))| {
            images[..k]
                .iter()
                .rev()
                .find(|(o, _)| o == orbit)
                .is_none_or(|(_, before)| before <= key)
        })
    }

    /// Writes the image of `world` under `alpha` to `image`.
    pub(super) fn rename(
        &self,
        alpha: &Automorphism,
        renaming: &M::Renaming,
        world: &World<M::State>,
        image: &mut World<M::State>,
    ) {
        let types = &self.symmetries.types;
        for (t, to) in alpha.threads.iter().enumerate() {
            let (tid, pc) = (Tid::from(t), world.pcs[t]);
            image.pcs[to.index()] = alpha.pcs[t][pc.index()];
            for (r, value) in self.regs(world, tid).iter().enumerate() {
                let class = types.register(tid, pc, Reg::from(r));
                let reg = alpha.registers[t][r];
                image.regs[self.first_reg[to.index()] + reg.index()] = alpha.value(class, *value);
            }
        }
        image.bus = world.bus.map(|tid| alpha.threads[tid.index()]);
        self.memory.rename(renaming, &world.memory, &mut image.memory);
    }
}
