//! An acyclic graph that grows at the front and is forgotten at the back.
//!
//! Theorem 1 (Papadimitriou): a run is serializable iff its conflict graph is acyclic. The monitor
//! adds nodes and edges while it reads; this module says at once when an edge closes a cycle, and
//! frees every node that can no longer be part of one.
//!
//! *Cycle detection* keeps a topological order of the live nodes (Pearce and Kelly, 2006). A new node
//! comes last, and an edge from an older to a younger node costs nothing; only an edge against the
//! order searches, and only the nodes ordered between its ends.
//!
//! *Collection.* Edges point into a node only when the node acts. A node that will not act again and
//! has no live predecessor can therefore never be on a cycle: it is freed, which may free its
//! successors in turn. A [`Node`] handle carries a generation, so whoever still holds the handle of a
//! freed node finds out, and simply has no edge to draw.
//!
//! *Contraction.* A unit that stays open for long keeps everything after it alive. Nodes that are
//! finished, and that nobody will draw an edge from any more, can then be taken out of the middle:
//! [`Graph::contract`] joins their predecessors to their successors. Paths between the remaining nodes
//! stay, so no cycle is missed or invented; only the story of an edge becomes shorter.

use std::collections::VecDeque;

/// A handle to a node, valid until the node is collected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    slot: u32,
    generation: u32,
}

impl Node {
    /// A handle to nothing.
    pub const NONE: Node = Node { slot: u32::MAX, generation: u32::MAX };
}

struct Edge<E> {
    to: u32,
    why: E,
}

struct Slot<N, E> {
    generation: u32,
    live: bool,
    finished: bool,
    /// Place in the topological order.
    rank: u64,
    /// Live predecessors.
    indegree: u32,
    out: Vec<Edge<E>>,
    /// Predecessors; those collected since are skipped by their generation.
    into: Vec<Node>,
    /// Visited mark of the searches.
    mark: u64,
    data: N,
}

/// A cycle: nodes in order, each with the reason of its edge to the next (the last to the first).
pub type Cycle<E> = Vec<(Node, E)>;

/// The graph. `N` is kept with each node, `E` with each edge.
pub struct Graph<N, E> {
    slots: Vec<Slot<N, E>>,
    free: Vec<u32>,
    next_rank: u64,
    next_mark: u64,
    live: usize,
    peak: usize,
    forward: Vec<u32>,
    backward: Vec<u32>,
    ranks: Vec<u64>,
    dying: Vec<u32>,
}

impl<N: Default, E: Copy> Default for Graph<N, E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Default, E: Copy> Graph<N, E> {
    /// An empty graph.
    pub fn new() -> Self {
        Graph {
            slots: Vec::new(),
            free: Vec::new(),
            next_rank: 0,
            next_mark: 0,
            live: 0,
            peak: 0,
            forward: Vec::new(),
            backward: Vec::new(),
            ranks: Vec::new(),
            dying: Vec::new(),
        }
    }

    /// Nodes alive now.
    pub fn live(&self) -> usize {
        self.live
    }

    /// The most nodes ever alive together.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// A new node, ordered after all others. Its data is what an earlier tenant of the slot left:
    /// the caller clears it, and so reuses its allocations.
    pub fn add_node(&mut self) -> Node {
        let rank = self.next_rank;
        self.next_rank += 1;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        if let Some(slot) = self.free.pop() {
            let tenant = &mut self.slots[slot as usize];
            tenant.live = true;
            tenant.finished = false;
            tenant.rank = rank;
            tenant.indegree = 0;
            return Node { slot, generation: tenant.generation };
        }
        let slot = self.slots.len() as u32;
        self.slots.push(Slot {
            generation: 0,
            live: true,
            finished: false,
            rank,
            indegree: 0,
            out: Vec::new(),
            into: Vec::new(),
            mark: 0,
            data: N::default(),
        });
        Node { slot, generation: 0 }
    }

    /// Whether the node is still there.
    pub fn is_live(&self, node: Node) -> bool {
        self.slots
            .get(node.slot as usize)
            .is_some_and(|slot| slot.live && slot.generation == node.generation)
    }

    /// The data of a live node.
    pub fn data(&self, node: Node) -> Option<&N> {
        self.is_live(node).then(|| &self.slots[node.slot as usize].data)
    }

    /// The data of a live node, to change.
    pub fn data_mut(&mut self, node: Node) -> Option<&mut N> {
        self.is_live(node).then(|| &mut self.slots[node.slot as usize].data)
    }

    /// Adds `from → to`. If that closes a cycle, the graph is left as it was and the shortest cycle
    /// through the edge is returned.
    pub fn add_edge(&mut self, from: Node, to: Node, why: E) -> Result<(), Cycle<E>> {
        if from == to || !self.is_live(from) || !self.is_live(to) || self.has_edge(from, to) {
            return Ok(());
        }
        let (source, target) = (from.slot as usize, to.slot as usize);
        if self.slots[source].rank > self.slots[target].rank && !self.reorder(from.slot, to.slot) {
            return Err(self.shortest_cycle(from, to, why));
        }
        push_lean(&mut self.slots[source].out, Edge { to: to.slot, why });
        let target = &mut self.slots[target];
        target.indegree += 1;
        if target.into.len() > 2 * target.indegree as usize + 8 {
            self.forget_dead_predecessors(to.slot);
        }
        push_lean(&mut self.slots[to.slot as usize].into, from);
        Ok(())
    }

    fn has_edge(&self, from: Node, to: Node) -> bool {
        let out = &self.slots[from.slot as usize].out;
        let into = &self.slots[to.slot as usize].into;
        if out.len() <= into.len() {
            out.iter().any(|edge| edge.to == to.slot)
        } else {
            into.contains(&from)
        }
    }

    fn forget_dead_predecessors(&mut self, slot: u32) {
        let mut into = std::mem::take(&mut self.slots[slot as usize].into);
        into.retain(|&node| self.is_live(node));
        self.slots[slot as usize].into = into;
    }

    /// The node will get no more edges into it.
    pub fn finish(&mut self, node: Node) {
        if !self.is_live(node) {
            return;
        }
        let slot = &mut self.slots[node.slot as usize];
        slot.finished = true;
        if slot.indegree == 0 {
            self.collect(node.slot);
        }
    }

    fn collect(&mut self, slot: u32) {
        self.dying.push(slot);
        while let Some(slot) = self.dying.pop() {
            let mut out = std::mem::take(&mut self.slots[slot as usize].out);
            for edge in out.drain(..) {
                let successor = &mut self.slots[edge.to as usize];
                successor.indegree -= 1;
                if successor.indegree == 0 && successor.finished {
                    self.dying.push(edge.to);
                }
            }
            let dead = &mut self.slots[slot as usize];
            dead.out = out;
            dead.into.clear();
            dead.live = false;
            dead.generation = dead.generation.wrapping_add(1);
            self.live -= 1;
            self.free.push(slot);
        }
    }

    /// Takes out all finished nodes that are not to be kept; an edge that leads through them joins the
    /// reason of its first with that of its last part.
    pub fn contract(&mut self, keep: impl Fn(Node) -> bool, join: impl Fn(E, E) -> E) {
        let handle = |slots: &[Slot<N, E>], slot: usize| Node {
            slot: slot as u32,
            generation: slots[slot].generation,
        };
        let kept: Vec<bool> = (0..self.slots.len())
            .map(|at| {
                let slot = &self.slots[at];
                slot.live && (!slot.finished || keep(handle(&self.slots, at)))
            })
            .collect();
        for at in (0..self.slots.len()).filter(|&at| kept[at]) {
            self.next_mark += 1;
            let mark = self.next_mark;
            let mut out = Vec::new();
            let direct = self.slots[at].out.iter().map(|edge| (edge.to, edge.why));
            let mut stack: Vec<(u32, E)> = direct.rev().collect();
            while let Some((to, why)) = stack.pop() {
                if std::mem::replace(&mut self.slots[to as usize].mark, mark) == mark {
                    continue;
                }
                if kept[to as usize] {
                    push_lean(&mut out, Edge { to, why });
                } else {
                    let onwards = self.slots[to as usize].out.iter();
                    stack.extend(onwards.map(|edge| (edge.to, join(why, edge.why))));
                }
            }
            self.slots[at].out = out;
        }
        for (slot, kept) in self.slots.iter_mut().zip(&kept) {
            slot.into.clear();
            slot.indegree = 0;
            if slot.live && !kept {
                slot.out.clear();
                slot.live = false;
                slot.generation = slot.generation.wrapping_add(1);
                self.live -= 1;
            }
        }
        self.free =
            (0..self.slots.len() as u32).filter(|&at| !self.slots[at as usize].live).collect();
        for at in (0..self.slots.len()).filter(|&at| kept[at]) {
            let from = handle(&self.slots, at);
            for edge in 0..self.slots[at].out.len() {
                let to = self.slots[at].out[edge].to as usize;
                push_lean(&mut self.slots[to].into, from);
                self.slots[to].indegree += 1;
            }
        }
        for at in (0..self.slots.len()).filter(|&at| kept[at]) {
            let slot = &self.slots[at];
            if slot.live && slot.finished && slot.indegree == 0 {
                self.collect(at as u32);
            }
        }
    }

    /// Makes room for `from → to` in the order; false if `to` already reaches `from`.
    fn reorder(&mut self, from: u32, to: u32) -> bool {
        let (low, high) = (self.slots[to as usize].rank, self.slots[from as usize].rank);
        self.next_mark += 1;
        let mark = self.next_mark;
        let mut forward = std::mem::take(&mut self.forward);
        forward.clear();
        forward.push(to);
        self.slots[to as usize].mark = mark;
        let mut next = 0;
        let mut acyclic = true;
        'search: while next < forward.len() {
            let slot = forward[next] as usize;
            next += 1;
            for index in 0..self.slots[slot].out.len() {
                let successor = self.slots[slot].out[index].to;
                if successor == from {
                    acyclic = false;
                    break 'search;
                }
                let seen = &mut self.slots[successor as usize];
                if seen.mark != mark && seen.rank < high {
                    seen.mark = mark;
                    forward.push(successor);
                }
            }
        }
        if acyclic {
            self.move_behind(from, low, &mut forward);
        }
        self.forward = forward;
        acyclic
    }

    /// Gives the nodes that reach `from` (back to rank `low`) ranks below those of `forward`.
    fn move_behind(&mut self, from: u32, low: u64, forward: &mut [u32]) {
        self.next_mark += 1;
        let mark = self.next_mark;
        let mut backward = std::mem::take(&mut self.backward);
        backward.clear();
        backward.push(from);
        self.slots[from as usize].mark = mark;
        let mut next = 0;
        while next < backward.len() {
            let slot = backward[next] as usize;
            next += 1;
            for index in 0..self.slots[slot].into.len() {
                let predecessor = self.slots[slot].into[index];
                if !self.is_live(predecessor) {
                    continue;
                }
                let seen = &mut self.slots[predecessor.slot as usize];
                if seen.mark != mark && seen.rank > low {
                    seen.mark = mark;
                    backward.push(predecessor.slot);
                }
            }
        }
        backward.sort_unstable_by_key(|&slot| self.slots[slot as usize].rank);
        forward.sort_unstable_by_key(|&slot| self.slots[slot as usize].rank);
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.clear();
        ranks.extend(backward.iter().chain(forward.iter()).map(|&s| self.slots[s as usize].rank));
        ranks.sort_unstable();
        for (&slot, &rank) in backward.iter().chain(forward.iter()).zip(&ranks) {
            self.slots[slot as usize].rank = rank;
        }
        self.ranks = ranks;
        self.backward = backward;
    }

    /// The nodes on some path from `start` to `goal`, both included: those that would form one
    /// strongly connected component with an edge `goal → start`.
    pub fn between(&self, start: Node, goal: Node) -> Vec<Node> {
        let reached = self.sweep(start, |slot| slot.out.iter().map(|edge| edge.to).collect());
        let reaching = self.sweep(goal, |slot| {
            slot.into.iter().filter(|&&node| self.is_live(node)).map(|node| node.slot).collect()
        });
        (0..self.slots.len())
            .filter(|&slot| reached[slot] && reaching[slot])
            .map(|slot| Node { slot: slot as u32, generation: self.slots[slot].generation })
            .collect()
    }

    fn sweep(&self, start: Node, neighbours: impl Fn(&Slot<N, E>) -> Vec<u32>) -> Vec<bool> {
        let mut seen = vec![false; self.slots.len()];
        let mut stack = vec![start.slot];
        seen[start.slot as usize] = true;
        while let Some(slot) = stack.pop() {
            for next in neighbours(&self.slots[slot as usize]) {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push(next);
                }
            }
        }
        seen
    }

    /// The shortest path `to ⇝ from`, closed by `from → to`.
    fn shortest_cycle(&self, from: Node, to: Node, why: E) -> Cycle<E> {
        let mut parent: Vec<Option<(u32, usize)>> = vec![None; self.slots.len()];
        let mut queue = VecDeque::from([to.slot]);
        'search: while let Some(slot) = queue.pop_front() {
            for (index, edge) in self.slots[slot as usize].out.iter().enumerate() {
                if edge.to != to.slot && parent[edge.to as usize].is_none() {
                    parent[edge.to as usize] = Some((slot, index));
                    if edge.to == from.slot {
                        break 'search;
                    }
                    queue.push_back(edge.to);
                }
            }
        }
        let mut cycle = vec![(from, why)];
        let mut at = from.slot;
        while let Some((before, index)) = parent[at as usize] {
            let slot = &self.slots[before as usize];
            let node = Node { slot: before, generation: slot.generation };
            cycle.push((node, slot.out[index].why));
            at = before;
        }
        cycle.reverse();
        cycle
    }
}

/// Adds to a list that mostly has one entry: it gets room for one, then for two, then for four.
pub(crate) fn push_lean<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().max(1));
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a reorder that loses an edge: random edges against a reachability matrix.
    #[test]
    fn agrees_with_plain_reachability() {
        let mut state = 1u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        for _ in 0..300 {
            let count = 2 + random(9) as usize;
            let mut graph: Graph<(), ()> = Graph::new();
            let nodes: Vec<Node> = (0..count).map(|_| graph.add_node()).collect();
            let mut reach = vec![vec![false; count]; count];
            (0..count).for_each(|i| reach[i][i] = true);
            for _ in 0..40 {
                let (a, b) = (random(count as u64) as usize, random(count as u64) as usize);
                if a == b {
                    continue;
                }
                let added = graph.add_edge(nodes[a], nodes[b], ());
                assert_eq!(added.is_err(), reach[b][a]);
                if added.is_ok() {
                    for i in 0..count {
                        for j in 0..count {
                            reach[i][j] |= reach[i][a] && reach[b][j];
                        }
                    }
                }
            }
        }
    }

    /// Would catch a node freed while a live predecessor could still pull it into a cycle.
    #[test]
    fn collects_only_what_nothing_reaches() {
        let mut graph: Graph<(), ()> = Graph::new();
        let (a, b) = (graph.add_node(), graph.add_node());
        assert!(graph.add_edge(a, b, ()).is_ok());
        graph.finish(b);
        assert!(graph.is_live(b));
        graph.finish(a);
        assert!(!graph.is_live(a) && !graph.is_live(b));
        assert_eq!(graph.live(), 0);
        let c = graph.add_node();
        assert!(graph.add_edge(b, c, ()).is_ok(), "an edge from a freed node is no edge");
        assert_eq!(graph.data(b), None);
    }
}
