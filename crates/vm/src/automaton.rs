//! Automata of threads: local states as nodes, what was read as edges.
//!
//! A local state is interned once; the number it gets is its *node*. From a node, the next visible action and, per
//! input, the next node are computed once and remembered, so exploring interleavings costs a look-up per step, however
//! much code a thread runs between two visible actions.

use crate::action::Action;
use crate::local::{Local, put_word};
use crate::machine::{Machine, Pause};
use crate::space::Site;
use crate::value::Word;
use std::collections::HashMap;

/// A node: an index into [`Automata::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId(pub(crate) u32);

/// A thread at rest.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) local: Local,
    pub(crate) pause: Pause,
    /// Where it is, from the innermost call outwards.
    pub(crate) sites: Vec<Site>,
    /// Where it goes, by the input that its action gives.
    pub(crate) next: Vec<(Word, NodeId)>,
}

/// The nodes of all threads.
#[derive(Debug, Default)]
pub(crate) struct Automata {
    nodes: Vec<Node>,
    ids: HashMap<Box<[u8]>, NodeId>,
    edges: usize,
}

impl Automata {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// How many steps have been taken down.
    pub(crate) fn edges(&self) -> usize {
        self.edges
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a thread at rest.
    pub(crate) fn intern(&mut self, local: Local, pause: Pause) -> NodeId {
        let mut key = Vec::new();
        local.encode(&mut key);
        match &pause {
            Pause::Rest(_) => key.push(0),
            Pause::Ended | Pause::Company => key.push(1),
            Pause::Blocked => key.push(2),
            Pause::Fail(failure) => {
                key.push(3);
                key.extend(failure.as_bytes());
            }
            Pause::Refuse(why) => {
                key.push(4);
                key.extend(why.as_bytes());
            }
        }
        if let Some(id) = self.ids.get(&*key) {
            return *id;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.ids.insert(key.into(), id);
        let sites = local.action_sites();
        self.nodes.push(Node { local, pause, sites, next: Vec::new() });
        id
    }

    /// The node of a thread that has not started.
    pub(crate) fn idle(&mut self, machine: &mut Machine, thread: u32) -> NodeId {
        let (local, pause) = machine.advance(Local::idle(thread));
        self.intern(local, pause)
    }

    /// Where a node goes with an input.
    pub(crate) fn step(&mut self, machine: &mut Machine, from: NodeId, input: Word) -> NodeId {
        let node = &self.nodes[from.0 as usize];
        if let Some((_, to)) = node.next.iter().find(|(known, _)| *known == input) {
            return *to;
        }
        let to = self.probe(machine, from, input);
        self.nodes[from.0 as usize].next.push((input, to));
        self.edges += 1;
        to
    }

    /// The same, but the step is not taken down: no interleaving may ever take it.
    pub(crate) fn probe(&mut self, machine: &mut Machine, from: NodeId, input: Word) -> NodeId {
        let node = &self.nodes[from.0 as usize];
        let (local, pause) = machine.resume(&node.local, input);
        self.intern(local, pause)
    }

    /// Lets a node go elsewhere from now on.
    pub(crate) fn redirect(&mut self, id: NodeId, next: Vec<(Word, NodeId)>) {
        self.nodes[id.0 as usize].next = next;
    }

    /// What a node does next.
    pub(crate) fn action(&self, id: NodeId) -> Option<Action> {
        match &self.node(id).pause {
            Pause::Rest(action) => Some(*action),
            _ => None,
        }
    }
}

/// Writes a word in a way that can be read back.
pub(crate) fn put(word: Word, out: &mut Vec<u8>) {
    put_word(word, out);
}
