//! Merges local states of a thread that do the same.
//!
//! A local state has all of a thread's memory, also what nobody reads again: after the first round of a loop, a variable
//! that the loop's body left behind holds something that it did not hold before. The node that the loop comes back to is
//! then another one than the node that it started from, and a loop that only waits is not seen to come back
//! ([`crate::lower`]). So wherever a node goes to one at the same place that does the same, both are merged if nothing
//! tells them apart: what they do, and where they are, must be the same, and so, again and again, must be the nodes they
//! go to with the same input.
//!
//! **Premise.** Automata are complete for what interleavings do: whatever a thread can read at a node in some reachable
//! state, the node has an edge for. A merged node has the edges of all its members, and members that share an input agree on
//! where it leads. So in a state that interleavings reach, the merged node does what the member does that it stands for,
//! and nothing else. Inputs that no interleaving gives prove nothing: whether a member *waits* is asked of each of them
//! (`lower::target`). What *depends* on a value that is read is not asked, so questions about that do without merging
//! (`Entry::every_state`): of two nodes that agree on what interleavings read there, one may fail on a stale value.

use crate::automaton::{Automata, NodeId};
use crate::machine::Pause;
use crate::value::Word;
use std::collections::HashMap;

/// Comparisons of edges after which no more nodes are merged. Nothing depends on that but how much is seen to wait.
const MOST_COMPARISONS: usize = 10_000_000;

/// Which nodes are merged.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// For each node, one that it was merged with, or itself.
    towards: Vec<NodeId>,
    /// The members of nodes that others were merged with, themselves included.
    members: HashMap<NodeId, Vec<NodeId>>,
}

impl Merged {
    /// The node that stands for a node.
    pub(crate) fn of(&self, mut id: NodeId) -> NodeId {
        while let Some(towards) = self.towards.get(id.0 as usize).filter(|it| **it != id) {
            id = *towards;
        }
        id
    }

    /// The nodes that a node stands for.
    pub(crate) fn members(&self, id: NodeId) -> Vec<NodeId> {
        self.members.get(&id).cloned().unwrap_or_else(|| vec![id])
    }
}

/// Where a node goes, by input.
type Edges = Vec<(Word, NodeId)>;

/// Merging under way.
struct Folding<'a> {
    automata: &'a Automata,
    towards: Vec<NodeId>,
    next: HashMap<NodeId, Edges>,
    /// What to put back if nodes turn out to differ: a node that was merged into another, and that other's edges before.
    undo: Vec<(NodeId, NodeId, Option<Edges>)>,
    left: usize,
}

/// Merges nodes that go to each other and do the same. Edges lead to the nodes that stand for others from then on.
pub(crate) fn fold(automata: &mut Automata) -> Merged {
    let all = 0..automata.len() as u32;
    let mut folding = Folding {
        automata,
        towards: all.clone().map(NodeId).collect(),
        next: HashMap::new(),
        undo: Vec::new(),
        left: MOST_COMPARISONS,
    };
    for from in all.map(NodeId) {
        for (_, to) in &folding.automata.node(from).next {
            if from != *to && folding.look_alike(from, *to) {
                folding.merge(from, *to);
            }
        }
    }
    let Folding { towards, next, .. } = folding;
    let mut merged = Merged { towards, members: HashMap::new() };
    for id in (0..automata.len() as u32).map(NodeId) {
        let stands = merged.of(id);
        if stands != id {
            merged.members.entry(stands).or_insert_with(|| vec![stands]).push(id);
        }
    }
    for id in (0..automata.len() as u32).map(NodeId) {
        let own = next.get(&id).unwrap_or(&automata.node(id).next);
        let edges = own.iter().map(|(input, to)| (*input, merged.of(*to))).collect();
        automata.redirect(id, edges);
    }
    merged
}

impl Folding<'_> {
    fn stands_for(&self, mut id: NodeId) -> NodeId {
        while self.towards[id.0 as usize] != id {
            id = self.towards[id.0 as usize];
        }
        id
    }

    fn next(&self, id: NodeId) -> &[(Word, NodeId)] {
        self.next.get(&id).unwrap_or(&self.automata.node(id).next)
    }

    /// Are two nodes at the same place, about to do the same?
    fn look_alike(&self, one: NodeId, other: NodeId) -> bool {
        let (one, other) = (self.automata.node(one), self.automata.node(other));
        matches!(one.pause, Pause::Rest(_))
            && one.pause == other.pause
            && one.local.thread == other.local.thread
            && one.sites == other.sites
    }

    /// Merges two nodes and all that they go to with the same inputs, or nothing if some of these differ.
    fn merge(&mut self, one: NodeId, other: NodeId) {
        self.undo.clear();
        let mut open = vec![(one, other)];
        while let Some((one, other)) = open.pop() {
            let (one, other) = (self.stands_for(one), self.stands_for(other));
            if one == other {
                continue;
            }
            let cost = 1 + self.next(one).len() * self.next(other).len();
            self.left = self.left.saturating_sub(cost);
            if self.left == 0 || !self.look_alike(one, other) {
                return self.take_back();
            }
            let (stays, goes) = (one.min(other), one.max(other));
            let mut edges = self.next(stays).to_vec();
            for (input, to) in self.next(goes) {
                match edges.iter().find(|(known, _)| known == input) {
                    Some((_, known)) => open.push((*known, *to)),
                    None => edges.push((*input, *to)),
                }
            }
            self.undo.push((goes, stays, self.next.insert(stays, edges)));
            self.towards[goes.0 as usize] = stays;
        }
    }

    fn take_back(&mut self) {
        while let Some((gone, stayed, edges)) = self.undo.pop() {
            self.towards[gone.0 as usize] = gone;
            match edges {
                Some(edges) => self.next.insert(stayed, edges),
                None => self.next.remove(&stayed),
            };
        }
    }
}
