//! Symmetry: the representative of a state's orbit.
//!
//! Statement, premises and proof are in [`analysis::symmetry`]: of states that are images of each
//! other under automorphisms of the program, a search may keep any one. Which one is chosen here matters
//! for how much is saved, not for what is found. So the choice may be made by rules of thumb:
//!
//! 1. Threads that can be exchanged are *sorted* by a key that does not change when they are
//!    exchanged ([`thread_key`](super::thread_key)). A successor of a sorted state has one thread out of place, and moving that thread to its place is one
//!    automorphism, a *rotation*; all rotations of an orbit of k threads, k·(k-1) of them, are composed in
//!    advance. The group's k! elements never are.
//! 2. Threads with equal keys may still differ, in what the memory knows of them or in renamed values.
//!    Neighbours with equal keys change places as long as that makes the packed state smaller.
//! 3. Where the last pass found threads that are not the same and there are few orders of threads
//!    with equal keys ([`MOST_ORDERS`]), all are tried, and the smallest packed state stands for all. Then the
//!    representative is the only one of its orbit if there is one automorphism for each order of the threads.
//!    Otherwise an orbit may have several, and a search keeps each: more states, never fewer findings.
//!    Exchanges of which one keeps the initial state and another does not, for instance, may differ in the values
//!    that they rename, and compose to one that renames values and exchanges no threads.
//!
//! So images of one state may have different representatives, and whoever follows a path of representatives in the
//! program's own names has to remember which automorphism has led to each: the state in hand, *renamed
//! by it*, has the representative that comes next, and an image of it perhaps another ([`Naming`]).

use super::{Product, Scratch, World};
use analysis::symmetry::{self, Automorphism};
use ir::Tid;
use memory::Monitor;

/// How many orders of threads with equal keys are tried.
const MOST_ORDERS: usize = 24;

/// The rotations of an orbit.
pub(super) struct Rotations<R> {
    threads: Vec<Tid>,
    /// For positions `from` and `to`, at `from * threads + to`: what moves the thread at `from` to `to` and
    /// those in between by one; none if they are the same.
    all: Vec<Option<Renaming<R>>>,
}

/// An automorphism, prepared.
pub(super) struct Renaming<R> {
    alpha: Automorphism,
    memory: R,
    /// The threads of which it changes anything.
    changed: Box<[Tid]>,
}

impl<R> Renaming<R> {
    pub(super) fn new(alpha: Automorphism, memory: R) -> Self {
        let threads = (0..alpha.threads.len()).map(Tid::from);
        let changed = threads.filter(|tid| alpha.renames_values() || !alpha.keeps(*tid)).collect();
        Renaming { alpha, memory, changed }
    }
}

impl<R> Rotations<R> {
    pub(super) fn new(orbit: &symmetry::Orbit, renaming: impl Fn(&Automorphism) -> R) -> Self {
        let count = orbit.threads.len();
        let neighbours: Vec<_> = (1..count).map(|k| orbit.exchange(k - 1, k)).collect();
        let mut all: Vec<_> = std::iter::repeat_with(|| None).take(count * count).collect();
        for from in 0..count {
            let mut set = |alpha: &Automorphism, to: usize| {
                all[from * count + to] = Some(Renaming::new(alpha.clone(), renaming(alpha)));
            };
            let mut down: Option<Automorphism> = None;
            for to in (0..from).rev() {
                let step = &neighbours[to];
                let alpha = down.as_ref().map_or_else(|| step.clone(), |alpha| alpha.then(step));
                set(&alpha, to);
                down = Some(alpha);
            }
            let mut up: Option<Automorphism> = None;
            for to in from + 1..count {
                let step = &neighbours[to - 1];
                let alpha = up.as_ref().map_or_else(|| step.clone(), |alpha| alpha.then(step));
                set(&alpha, to);
                up = Some(alpha);
            }
        }
        Rotations { threads: orbit.threads.clone(), all }
    }

    fn rotation(&self, from: usize, to: usize) -> &Renaming<R> {
        self.all[from * self.threads.len() + to].as_ref().expect("two different positions")
    }
}

/// The first move that brings `keys` closer to ascending order: from which position to which. Keys of a
/// list with one thread out of place take one move.
fn next_move(keys: &[u64]) -> Option<(usize, usize)> {
    let descent = keys.windows(2).position(|pair| pair[0] > pair[1])?;
    let (high, low) = (keys[descent], keys[descent + 1]);
    let smaller = keys[descent + 1..].iter().take_while(|key| **key < high).count();
    let larger = keys[..=descent].iter().rev().take_while(|key| **key > low).count();
    Some(if smaller > larger {
        (descent, descent + smaller)
    } else {
        (descent + 1, descent + 1 - larger)
    })
}

/// A rotation that was applied: of which orbit, from which position, to which.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    orbit: usize,
    from: usize,
    to: usize,
}

/// How the states of a run are renamed to get those of which a search has kept representatives; not at all
/// at first.
pub(crate) struct Naming<R>(Option<Renaming<R>>);

impl<R> Naming<R> {
    pub(crate) fn new() -> Self {
        Naming(None)
    }
}

/// A state that is being turned into the representative of its orbit.
struct Images<'p, M: Monitor> {
    product: &'p Product<M>,
    world: &'p mut World<M::State>,
    spare: &'p mut World<M::State>,
    words: &'p mut Vec<u64>,
    smallest: &'p mut Vec<u64>,
    /// What has been done to get to `world`, and to what was packed as `smallest`.
    turns: &'p mut Vec<Turn>,
    chosen: &'p mut Vec<Turn>,
}

impl<M: Monitor> Images<'_, M> {
    fn rotate(&mut self, orbit: usize, from: usize, to: usize) {
        let renaming = self.product.rotations[orbit].rotation(from, to);
        self.product.rename(renaming, self.world, self.spare);
        std::mem::swap(self.world, self.spare);
        self.turns.push(Turn { orbit, from, to });
    }

    /// Exchanges neighbours with equal keys, of which `ties` has the first and the orbit, as long as that
    /// makes the packed state smaller. Says whether all those that are left look the same.
    fn exchange_neighbours(&mut self, ties: &[(usize, usize)]) -> bool {
        self.product.pack(self.world, self.smallest);
        let mut all_equal = true;
        let mut unchanged = 0;
        // Every exchange makes the packed state smaller, so this ends.
        for &(orbit, k) in ties.iter().cycle() {
            let renaming = self.product.rotations[orbit].rotation(k, k + 1);
            self.product.rename(renaming, self.world, self.spare);
            self.product.pack(self.spare, self.words);
            if *self.words < *self.smallest {
                std::mem::swap(self.world, self.spare);
                std::mem::swap(self.words, self.smallest);
                self.turns.push(Turn { orbit, from: k, to: k + 1 });
                unchanged = 0;
                all_equal = true;
            } else {
                all_equal &= *self.words == *self.smallest;
                unchanged += 1;
                if unchanged == ties.len() {
                    break;
                }
            }
        }
        self.chosen.clone_from(self.turns);
        all_equal
    }

    /// Goes through all orders of the threads in each of `runs`, neighbours by neighbours, and keeps the
    /// smallest packed state.
    fn try_orders(&mut self, runs: &[(usize, std::ops::Range<usize>)]) {
        let Some(((orbit, run), others)) = runs.split_first() else {
            self.product.pack(self.world, self.words);
            if *self.words < *self.smallest {
                std::mem::swap(self.words, self.smallest);
                self.chosen.clone_from(self.turns);
            }
            return;
        };
        // Heap's order would exchange threads far apart; plain changes exchange neighbours only.
        let count = run.len();
        let mut order: Vec<usize> = (0..count).collect();
        let mut down = vec![true; count];
        self.try_orders(others);
        loop {
            let movable = |k: &usize| {
                let neighbour = if down[order[*k]] { k.checked_sub(1) } else { Some(k + 1) };
                neighbour.and_then(|n| order.get(n)).is_some_and(|other| *other < order[*k])
            };
            let Some(k) = (0..count).filter(movable).max_by_key(|k| order[*k]) else { return };
            let moved = order[k];
            let first = if down[moved] { k - 1 } else { k };
            order.swap(first, first + 1);
            self.rotate(*orbit, run.start + first, run.start + first + 1);
            down.iter_mut().skip(moved + 1).for_each(|down| *down = !*down);
            self.try_orders(others);
        }
    }
}

impl<M: Monitor> Product<M> {
    /// Packs the representative of `scratch.next`, whose counters are as small as they get.
    pub(super) fn pack_representative(&self, scratch: &mut Scratch<M::State>) {
        if self.rotations.is_empty() {
            let Scratch { next, words, parent, mover, .. } = scratch;
            match mover {
                Some(tid) => self.pack_successor(next, parent, *tid, words),
                None => self.pack(next, words),
            }
        } else {
            self.pack_smallest_image(scratch);
        }
    }

    /// Packs the representative of the orbit of `scratch.next`.
    fn pack_smallest_image(&self, scratch: &mut Scratch<M::State>) {
        let Scratch { next, image, spare, words, smallest, thread_keys, keys, ties, .. } = scratch;
        let Scratch { turns, chosen, .. } = scratch;
        image.clone_from(next);
        ties.clear();
        turns.clear();
        let world = image;
        let mut images = Images { product: self, world, spare, words, smallest, turns, chosen };
        let mut orders = 1;
        let mut runs = Vec::new();
        self.thread_keys(images.world, thread_keys);
        for (k, orbit) in self.rotations.iter().enumerate() {
            keys.clear();
            keys.extend(orbit.threads.iter().map(|tid| thread_keys.of(*tid)));
            while let Some((from, to)) = next_move(keys) {
                images.rotate(k, from, to);
                match from < to {
                    true => keys[from..=to].rotate_left(1),
                    false => keys[to..=from].rotate_right(1),
                }
            }
            let mut start = 0;
            for run in keys.chunk_by(|a, b| a == b) {
                ties.extend((start..start + run.len() - 1).map(|first| (k, first)));
                orders = (2..=run.len()).fold(orders, usize::saturating_mul);
                if run.len() > 1 {
                    runs.push((k, start..start + run.len()));
                }
                start += run.len();
            }
        }
        if ties.is_empty() {
            self.pack(images.world, images.words);
            images.chosen.clone_from(images.turns);
            return;
        }
        if !images.exchange_neighbours(ties) && ties.len() > 1 && orders <= MOST_ORDERS {
            images.try_orders(&runs);
        }
        std::mem::swap(images.words, images.smallest);
    }

    /// Is `packed` the representative of `world`, renamed by `naming`? Then `naming` goes on from there.
    pub(crate) fn is_represented_by(
        &self,
        scratch: &mut Scratch<M::State>,
        world: &World<M::State>,
        packed: &[u8],
        naming: &mut Naming<M::Renaming>,
    ) -> bool {
        match &naming.0 {
            None => scratch.next.clone_from(world),
            Some(renaming) => self.rename(renaming, world, &mut scratch.next),
        }
        scratch.mover = None;
        if !self.packed(scratch).is_ok_and(|representative| representative == packed) {
            return false;
        }
        let turned = match self.rotations.is_empty() {
            true => &[][..],
            false => &scratch.chosen[..],
        };
        let mut alpha = naming.0.take().map(|renaming| renaming.alpha);
        for Turn { orbit, from, to } in turned {
            let next = &self.rotations[*orbit].rotation(*from, *to).alpha;
            alpha = Some(alpha.map_or_else(|| next.clone(), |alpha| alpha.then(next)));
        }
        naming.0 = alpha.map(|alpha| {
            let memory = self.memory.renaming(&alpha, &self.symmetries.types);
            Renaming::new(alpha, memory)
        });
        true
    }

    /// Writes the image of `world` to `image`.
    pub(super) fn rename(
        &self,
        renaming: &Renaming<M::Renaming>,
        world: &World<M::State>,
        image: &mut World<M::State>,
    ) {
        let (types, alpha) = (&self.symmetries.types, &renaming.alpha);
        image.pcs.copy_from_slice(&world.pcs);
        image.regs.copy_from_slice(&world.regs);
        for &tid in &renaming.changed {
            let t = tid.index();
            let (to, pc) = (alpha.threads[t], world.pcs[t]);
            image.pcs[to.index()] = alpha.pcs[t][pc.index()];
            let first = self.first_reg[to.index()];
            let registers = alpha.registers[t].iter().zip(types.registers(tid, pc));
            for (value, (reg, class)) in self.regs(world, tid).iter().zip(registers) {
                image.regs[first + reg.index()] = alpha.value(*class, *value);
            }
        }
        image.bus = world.bus.map(|tid| alpha.threads[tid.index()]);
        self.memory.rename(&renaming.memory, &world.memory, &mut image.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Finding;
    use crate::explore::Explorer;
    use crate::plan::plans;
    use crate::product::{beginnings, moves};
    use crate::question::{Model, Question};
    use crate::replay::replay;
    use ir::random::Generator;
    use memory::sc::Sc;
    use search::Model as _;

    /// Paths of representatives can be followed in the program's own names, also where orbits have
    /// several representatives: six threads hold each other's names, in circles that look the same from
    /// each of them, and have more orders than are tried.
    #[test]
    fn paths_can_be_followed() {
        let text = "max_value 6; atomic q = 6; \
                    thread t[6] { local r; r = t; while (1) { r = exchange(q, r, rlx, rlx); } }";
        let program = lang::parse("circles", text).expect("a good program").program;
        let question = Question { model: Model::Sc, ..Question::default() };
        let plan = plans(&program, &question).pop().expect("there is always one");
        let explorer = Explorer::new(&plan, &question, &|_, _| {});
        let product = explorer.product(Sc::new(&explorer.program, &explorer.possible), &[]);
        assert_eq!(product.rotations.len(), 1, "all threads are equal");
        let random = &mut Generator { state: 1 };
        let mut scratch = product.scratch();
        let mut several = false;
        for walk in 0..20 {
            let (begun, _) = beginnings(&product, &mut scratch);
            let mut path = vec![begun[0].packed.clone().into_boxed_slice()];
            let mut world = product.initial_world();
            // The same moves from a state that is never replaced by its representative.
            let mut own = begun[0].world.clone();
            for _ in 0..60 {
                product.unpack(path.last().expect("not empty"), &mut Vec::new(), &mut world);
                let (mut next, _) = moves(&product, &mut scratch, &world);
                let next = next.swap_remove(random.below(next.len()));
                let (here, _) = moves(&product, &mut scratch, &own);
                match here.into_iter().find(|here| here.packed == next.packed) {
                    Some(here) => own = here.world,
                    None => several = true,
                }
                path.push(next.packed.into_boxed_slice());
            }
            let end = Finding::Deadlock { tid: Default::default(), pc: Default::default() };
            let run = replay(&product, &path, &end);
            assert!(run.is_some_and(|run| run.steps.len() >= 60), "walk {walk}");
        }
        assert!(several, "every orbit had one representative: nothing was tested");
    }
}
