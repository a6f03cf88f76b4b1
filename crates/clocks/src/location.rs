//! Location clocks: for every location, the number of a write.
//!
//! A location clock maps locations to [`Stamp`]s and is joined by maximum. Programs have tens of
//! thousands of atomic locations, every thread has four clocks and every location three, and nearly
//! all of them nearly agree. So a clock is a persistent radix tree: copying one is copying its root,
//! changing an entry copies a path, and a join skips what both sides share. Nodes are counted
//! references in an arena that all clocks live in; one that nobody else refers to is changed in place.
//!
//! **Sharing is kept, not only used.** A join whose result equals one of its sides *is* that side,
//! node by node, so that clocks that came to agree are the same tree and their next join is free.

/// The number of a write to a location: how many came before it in modification order, and how many
/// of these were not read-modify-writes.
///
/// The paper keeps the second count in clocks of its own (the RMW clocks). It never falls when the
/// first rises, so the maximum of the pairs is the pair of the maxima, and one clock carries both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp(u64);

impl Stamp {
    /// The initial value's.
    pub const INITIAL: Stamp = Stamp(0);
    /// The last number there is.
    pub const LAST: u32 = u32::MAX;

    /// How many writes came before.
    #[inline]
    pub fn position(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How many stores, not counting read-modify-writes, up to this write.
    #[inline]
    pub fn stores(self) -> u32 {
        self.0 as u32
    }

    /// The stamp of the next write.
    #[inline]
    pub fn next(self, is_update: bool) -> Stamp {
        Stamp(self.0 + (1 << 32) + u64::from(!is_update))
    }
}

const BITS: u32 = 4;
const WIDTH: usize = 1 << BITS;
const NIL: u32 = 0;

#[derive(Clone, Debug)]
struct Leaf {
    references: u32,
    stamps: [u64; WIDTH],
}

#[derive(Clone, Debug)]
struct Inner {
    references: u32,
    children: [u32; WIDTH],
}

/// A location clock. Cheap to copy with [`Clocks::share`]; must be given back to the arena it came
/// from ([`Clocks::clear`]), or its nodes stay there.
///
/// `clone` is for whoever clones the arena along with all its clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    root: u32,
    /// How many levels of inner nodes are above the leaves.
    height: u8,
}

impl Clock {
    /// The clock that knows of initial values only.
    pub const EMPTY: Clock = Clock { root: NIL, height: 0 };

    /// Are both the same tree? If not, they may be equal all the same.
    #[inline]
    pub fn same(&self, other: &Clock) -> bool {
        self == other
    }
}

/// The arena that clocks live in.
#[derive(Clone, Debug)]
pub struct Clocks {
    leaves: Vec<Leaf>,
    inners: Vec<Inner>,
    free_leaves: Vec<u32>,
    free_inners: Vec<u32>,
}

impl Default for Clocks {
    fn default() -> Self {
        // Node 0 of both kinds is the empty tree, shared by everyone and never counted.
        Clocks {
            leaves: vec![Leaf { references: u32::MAX, stamps: [0; WIDTH] }],
            inners: vec![Inner { references: u32::MAX, children: [NIL; WIDTH] }],
            free_leaves: Vec::new(),
            free_inners: Vec::new(),
        }
    }
}

#[inline]
fn digit(location: u32, level: u8) -> usize {
    (location >> (BITS * u32::from(level))) as usize & (WIDTH - 1)
}

fn height_for(location: u32) -> u8 {
    let mut height = 0;
    while u32::from(height + 1) * BITS < u32::BITS
        && location >> (BITS * u32::from(height + 1)) != 0
    {
        height += 1;
    }
    height
}

impl Clocks {
    /// The entry for a location.
    #[inline]
    pub fn get(&self, clock: &Clock, location: u32) -> Stamp {
        let mut node = clock.root;
        let mut level = clock.height;
        if node == NIL || (level < 7 && location >> (BITS * u32::from(level + 1)) != 0) {
            return Stamp::INITIAL;
        }
        while level > 0 {
            node = self.inners[node as usize].children[digit(location, level)];
            level -= 1;
        }
        Stamp(self.leaves[node as usize].stamps[digit(location, 0)])
    }

    /// Another handle to the same clock.
    #[inline]
    pub fn share(&mut self, clock: &Clock) -> Clock {
        self.retain(clock.root, clock.height);
        Clock { root: clock.root, height: clock.height }
    }

    /// Makes `clock` what `other` is.
    #[inline]
    pub fn assign(&mut self, clock: &mut Clock, other: &Clock) {
        if !clock.same(other) {
            let shared = self.share(other);
            self.clear(clock);
            *clock = shared;
        }
    }

    /// Makes `clock` the empty one.
    pub fn clear(&mut self, clock: &mut Clock) {
        self.release(clock.root, clock.height);
        *clock = Clock::EMPTY;
    }

    /// Sets the entry for a location.
    pub fn set(&mut self, clock: &mut Clock, location: u32, stamp: Stamp) {
        if self.get(clock, location) == stamp {
            return;
        }
        self.grow(clock, height_for(location));
        clock.root = self.set_in(clock.root, clock.height, location, stamp.0);
    }

    /// Raises every entry of `clock` to that of `other`, if it is less.
    #[inline]
    pub fn join(&mut self, clock: &mut Clock, other: &Clock) {
        if clock.same(other) || other.root == NIL {
            return;
        }
        if clock.root == NIL {
            *clock = self.share(other);
            return;
        }
        self.join_different(clock, other);
    }

    fn join_different(&mut self, clock: &mut Clock, other: &Clock) {
        self.grow(clock, other.height);
        clock.root = if clock.height == other.height {
            self.join_nodes(clock.root, other.root, clock.height)
        } else {
            self.join_low(clock.root, clock.height, other.root, other.height)
        };
    }

    /// Is every entry of `clock` at most that of `other`?
    pub fn at_most(&self, clock: &Clock, other: &Clock, locations: u32) -> bool {
        (0..locations).all(|x| self.get(clock, x) <= self.get(other, x))
    }

    /// How many bytes the arena has in use.
    pub fn bytes(&self) -> usize {
        self.leaves.capacity() * size_of::<Leaf>() + self.inners.capacity() * size_of::<Inner>()
    }

    /// How many nodes are in use.
    pub fn nodes(&self) -> usize {
        self.leaves.len() + self.inners.len() - self.free_leaves.len() - self.free_inners.len() - 2
    }

    fn grow(&mut self, clock: &mut Clock, height: u8) {
        while clock.height < height {
            if clock.root != NIL {
                let mut children = [NIL; WIDTH];
                children[0] = clock.root;
                clock.root = self.new_inner(children);
            }
            clock.height += 1;
        }
    }

    fn set_in(&mut self, node: u32, level: u8, location: u32, stamp: u64) -> u32 {
        if level == 0 {
            let node = self.own_leaf(node);
            self.leaves[node as usize].stamps[digit(location, 0)] = stamp;
            return node;
        }
        let node = self.own_inner(node, level);
        let child = self.inners[node as usize].children[digit(location, level)];
        let changed = self.set_in(child, level - 1, location, stamp);
        self.inners[node as usize].children[digit(location, level)] = changed;
        node
    }

    /// Joins a lower tree into child 0 of child 0 of … of a higher one.
    fn join_low(&mut self, node: u32, level: u8, other: u32, height: u8) -> u32 {
        if level == height {
            return self.join_nodes(node, other, level);
        }
        let child = self.inners[node as usize].children[0];
        if child == other {
            return node;
        }
        // A join never turns a node it only borrows into another one, so take a reference first.
        self.retain(child, level - 1);
        let joined = self.join_low(child, level - 1, other, height);
        if joined == child {
            self.release(joined, level - 1);
            return node;
        }
        let node = self.own_inner(node, level);
        let old = std::mem::replace(&mut self.inners[node as usize].children[0], joined);
        self.release(old, level - 1);
        node
    }

    /// The join of two trees of the same height. Consumes the reference to `node`, borrows `other`.
    fn join_nodes(&mut self, node: u32, other: u32, level: u8) -> u32 {
        if node == other || other == NIL {
            return node;
        }
        if node == NIL {
            self.retain(other, level);
            return other;
        }
        if level == 0 {
            self.join_leaves(node, other)
        } else {
            self.join_inners(node, other, level)
        }
    }

    fn join_leaves(&mut self, node: u32, other: u32) -> u32 {
        let (mine, theirs) =
            (&self.leaves[node as usize].stamps, &self.leaves[other as usize].stamps);
        let (mut behind, mut ahead) = (false, false);
        let mut joined = *mine;
        for (stamp, &their) in joined.iter_mut().zip(theirs) {
            behind |= *stamp < their;
            ahead |= *stamp > their;
            *stamp = (*stamp).max(their);
        }
        match (behind, ahead) {
            (false, _) => node,
            (true, false) => {
                self.retain(other, 0);
                self.release(node, 0);
                other
            }
            (true, true) if self.leaves[node as usize].references == 1 => {
                self.leaves[node as usize].stamps = joined;
                node
            }
            (true, true) => {
                self.release(node, 0);
                self.new_leaf(joined)
            }
        }
    }

    fn join_inners(&mut self, node: u32, other: u32, level: u8) -> u32 {
        let mine = self.inners[node as usize].children;
        let theirs = self.inners[other as usize].children;
        let owned = self.inners[node as usize].references == 1;
        let mut joined = mine;
        for k in 0..WIDTH {
            // An owned node lends its own references to its children, so that these can be changed in
            // place; of a shared one the children are shared as well.
            if !owned {
                self.retain(mine[k], level - 1);
            }
            if mine[k] != theirs[k] {
                joined[k] = self.join_nodes(mine[k], theirs[k], level - 1);
            }
        }
        if owned {
            self.inners[node as usize].children = joined;
        }
        if joined == theirs {
            if !owned {
                self.release_all(joined, level - 1);
            }
            self.retain(other, level);
            self.release(node, level);
            return other;
        }
        if owned {
            return node;
        }
        if joined == mine {
            self.release_all(joined, level - 1);
            return node;
        }
        self.release(node, level);
        self.new_inner(joined)
    }

    fn release_all(&mut self, nodes: [u32; WIDTH], level: u8) {
        for node in nodes {
            self.release(node, level);
        }
    }

    fn own_leaf(&mut self, node: u32) -> u32 {
        if self.leaves[node as usize].references == 1 {
            return node;
        }
        let stamps = self.leaves[node as usize].stamps;
        self.release(node, 0);
        self.new_leaf(stamps)
    }

    fn own_inner(&mut self, node: u32, level: u8) -> u32 {
        if self.inners[node as usize].references == 1 {
            return node;
        }
        let children = self.inners[node as usize].children;
        for child in children {
            self.retain(child, level - 1);
        }
        self.release(node, level);
        self.new_inner(children)
    }

    fn new_leaf(&mut self, stamps: [u64; WIDTH]) -> u32 {
        let leaf = Leaf { references: 1, stamps };
        match self.free_leaves.pop() {
            Some(node) => {
                self.leaves[node as usize] = leaf;
                node
            }
            None => {
                self.leaves.push(leaf);
                (self.leaves.len() - 1) as u32
            }
        }
    }

    fn new_inner(&mut self, children: [u32; WIDTH]) -> u32 {
        let inner = Inner { references: 1, children };
        match self.free_inners.pop() {
            Some(node) => {
                self.inners[node as usize] = inner;
                node
            }
            None => {
                self.inners.push(inner);
                (self.inners.len() - 1) as u32
            }
        }
    }

    #[inline]
    fn retain(&mut self, node: u32, level: u8) {
        if node == NIL {
            return;
        }
        if level == 0 {
            self.leaves[node as usize].references += 1;
        } else {
            self.inners[node as usize].references += 1;
        }
    }

    #[inline]
    fn release(&mut self, node: u32, level: u8) {
        if node == NIL {
            return;
        }
        let references = match level {
            0 => &mut self.leaves[node as usize].references,
            _ => &mut self.inners[node as usize].references,
        };
        *references -= 1;
        if *references == 0 {
            self.discard(node, level);
        }
    }

    fn discard(&mut self, node: u32, level: u8) {
        if level == 0 {
            self.free_leaves.push(node);
            return;
        }
        let children = self.inners[node as usize].children;
        self.free_inners.push(node);
        self.release_all(children, level - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Model = BTreeMap<u32, Stamp>;

    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 33
    }

    /// Catches a wrong join, a node changed although shared, and a leaked or freed node in use.
    #[test]
    fn clocks_are_maps_joined_by_maximum() {
        for seed in 0..40u64 {
            let mut random = seed.wrapping_mul(77) + 1;
            let mut clocks = Clocks::default();
            let mut pool: Vec<(Clock, Model)> =
                (0..6).map(|_| (Clock::EMPTY, Model::new())).collect();
            let spread = [8, 40, 300, 70_000][seed as usize % 4];
            for _ in 0..2_000 {
                let (i, j) = (next(&mut random) as usize % 6, next(&mut random) as usize % 6);
                match next(&mut random) % 4 {
                    0 | 1 => {
                        let location = (next(&mut random) % spread) as u32;
                        let (clock, map) = &mut pool[i];
                        let stamp =
                            clocks.get(clock, location).next(next(&mut random).is_multiple_of(2));
                        clocks.set(clock, location, stamp);
                        map.insert(location, stamp);
                    }
                    2 if i != j => {
                        let (other, other_map) = (clocks.share(&pool[j].0), pool[j].1.clone());
                        let (clock, map) = &mut pool[i];
                        clocks.join(clock, &other);
                        for (location, stamp) in other_map {
                            let mine = map.entry(location).or_default();
                            *mine = (*mine).max(stamp);
                        }
                        let mut other = other;
                        clocks.clear(&mut other);
                    }
                    _ if i != j => {
                        let other = clocks.share(&pool[j].0);
                        let map = pool[j].1.clone();
                        clocks.assign(&mut pool[i].0, &other);
                        pool[i].1 = map;
                        let mut other = other;
                        clocks.clear(&mut other);
                    }
                    _ => {}
                }
                let (clock, map) = &pool[i];
                for (&location, &stamp) in map {
                    assert_eq!(clocks.get(clock, location), stamp, "seed {seed}");
                }
            }
            for (mut clock, _) in pool {
                clocks.clear(&mut clock);
            }
            assert_eq!(clocks.nodes(), 0, "seed {seed}: a node was lost");
        }
    }

    #[test]
    fn clocks_that_agree_are_the_same_tree() {
        let mut clocks = Clocks::default();
        let mut a = Clock::EMPTY;
        for location in 0..1000 {
            clocks.set(&mut a, location, Stamp::INITIAL.next(false));
        }
        let mut b = clocks.share(&a);
        clocks.set(&mut a, 500, Stamp::INITIAL.next(false).next(true));
        clocks.join(&mut b, &a);
        assert!(a.same(&b));
    }
}
