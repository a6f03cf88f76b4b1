//! Happens-before traces (Section 5) and their cycles.
//!
//! A trace's nodes are the accesses of a computation. Its edges are program order, store order (the
//! order in which stores to an address reach memory), source (from a store to the loads that read it)
//! and conflict (from a load to the stores that overwrite what it read). A computation can be
//! explained by an interleaving iff its trace has no cycle (Lemma 1, Shasha and Snir).
//!
//! Accesses between `lock` and `unlock` form one node as far as cycles are concerned: an
//! interleaving cannot tear them apart.

use super::{Seen, StoreId};
use ir::ids::{Loc, Pc, Tid, Value};

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Who made it.
    pub tid: Tid,
    /// Where in its code.
    pub pc: Pc,
    /// What it accesses.
    pub loc: Loc,
    /// The value it read or, if it is a plain store, wrote.
    pub value: Value,
    /// The store it read from, if it reads.
    pub reads: Option<StoreId>,
    /// Which of its thread's stores it is, if it writes.
    pub writes: Option<u32>,
    /// The uninterrupted block it is in, if any.
    pub block: Option<u32>,
}

/// Why one node happens before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// Program order.
    Program,
    /// Both are stores, and the first reached memory first.
    Store,
    /// The second reads what the first wrote.
    Source,
    /// The second overwrites what the first read.
    Conflict,
    /// They are in one uninterrupted block.
    Block,
}

impl Edge {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Edge::Program => "po",
            Edge::Store => "st",
            Edge::Source => "src",
            Edge::Conflict => "cf",
            Edge::Block => "block",
        }
    }
}

/// A trace under construction, or done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The accesses, in the order in which they were issued.
    pub nodes: Vec<Node>,
    /// Per location, the stores in the order in which they reached memory.
    pub order: Vec<Vec<(Tid, u32)>>,
    block: Option<u32>,
    blocks: u32,
}

impl Trace {
    /// The empty trace over so many locations.
    pub fn new(locations: usize) -> Self {
        Trace { order: vec![vec![]; locations], ..Trace::default() }
    }

    /// A block starts or ends.
    pub fn block(&mut self, inside: bool) {
        self.block = inside.then_some(self.blocks);
        self.blocks += u32::from(inside);
    }

    /// Adds what a move at `pc` of `tid` did.
    pub fn add(&mut self, tid: Tid, pc: Pc, seen: Seen) {
        let block = self.block;
        let mut node = |loc, value, reads, writes| {
            self.nodes.push(Node { tid, pc, loc, value, reads, writes, block });
        };
        match seen {
            Seen::Nothing => {}
            Seen::Read(loc, value, from) => node(loc, value, Some(from), None),
            Seen::Issued(loc, value, number) => node(loc, value, None, Some(number)),
            Seen::Updated(loc, value, from, number) => {
                node(loc, value, Some(from), Some(number));
                self.order[loc.index()].push((tid, number));
            }
            Seen::Committed(loc, number) => self.order[loc.index()].push((tid, number)),
        }
    }

    /// The edges, each as the index of its two nodes. Stores that have not reached memory come after
    /// those that have.
    pub fn edges(&self) -> Vec<(usize, usize, Edge)> {
        let mut edges = Vec::new();
        let mut last_of: Vec<(Tid, usize)> = Vec::new();
        for (k, node) in self.nodes.iter().enumerate() {
            match last_of.iter_mut().find(|(tid, _)| *tid == node.tid) {
                Some((_, last)) => {
                    edges.push((*last, k, Edge::Program));
                    *last = k;
                }
                None => last_of.push((node.tid, k)),
            }
        }
        let place = |loc: Loc, store: (Tid, u32)| {
            self.order[loc.index()].iter().position(|&other| other == store)
        };
        for (a, first) in self.nodes.iter().enumerate() {
            for (b, second) in self.nodes.iter().enumerate() {
                if a == b || first.loc != second.loc {
                    continue;
                }
                let loc = first.loc;
                let written = |node: &Node| node.writes.map(|number| (node.tid, number));
                let wrote = written(first);
                // When a store reached memory; later than all if it has not yet.
                let when = |store| place(loc, store).unwrap_or(usize::MAX);
                if let (Some(one), Some(other)) = (wrote, written(second))
                    && when(one) < when(other)
                {
                    edges.push((a, b, Edge::Store));
                }
                if wrote.is_some() && second.reads == Some(wrote) {
                    edges.push((a, b, Edge::Source));
                }
                if let (Some(from), Some(other)) = (first.reads, written(second))
                    && from.is_none_or(|from| from != other && when(from) < when(other))
                {
                    edges.push((a, b, Edge::Conflict));
                }
            }
        }
        for (a, first) in self.nodes.iter().enumerate() {
            for (b, second) in self.nodes.iter().enumerate().take(a) {
                if first.block.is_some() && first.block == second.block {
                    edges.push((a, b, Edge::Block));
                }
            }
        }
        edges
    }

    /// A shortest cycle, as the nodes along it, each with the edge to the next.
    pub fn cycle(&self) -> Option<Vec<(usize, Edge)>> {
        let edges = self.edges();
        let mut after: Vec<Vec<(usize, Edge)>> = vec![vec![]; self.nodes.len()];
        for &(a, b, edge) in &edges {
            after[a].push((b, edge));
        }
        let mut best: Option<Vec<(usize, Edge)>> = None;
        for start in 0..self.nodes.len() {
            if let Some(cycle) = self.shortest(&after, start)
                && best.as_ref().is_none_or(|best| cycle.len() < best.len())
            {
                best = Some(cycle);
            }
        }
        best
    }

    /// A shortest cycle through `start` that is not inside one block: block edges lead backwards and
    /// close a loop with program order, which means nothing. So the search knows, for each node,
    /// whether it has left the block where it started.
    fn shortest(&self, after: &[Vec<(usize, Edge)>], start: usize) -> Option<Vec<(usize, Edge)>> {
        let home = self.nodes[start].block;
        let mut from: Vec<[Option<(usize, bool, Edge)>; 2]> = vec![[None; 2]; after.len()];
        let mut queue = std::collections::VecDeque::from([(start, home.is_none())]);
        while let Some((at, left)) = queue.pop_front() {
            for &(next, edge) in &after[at] {
                let leaves = left || self.nodes[next].block != home;
                if next == start {
                    if !leaves {
                        continue;
                    }
                    let (mut at, mut left) = (at, left);
                    let mut cycle = vec![(at, edge)];
                    while at != start {
                        let (before, had_left, edge) = from[at][usize::from(left)]?;
                        cycle.push((before, edge));
                        (at, left) = (before, had_left);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                let known = &mut from[next][usize::from(leaves)];
                if known.is_none() {
                    *known = Some((at, left, edge));
                    queue.push_back((next, leaves));
                }
            }
        }
        None
    }
}
