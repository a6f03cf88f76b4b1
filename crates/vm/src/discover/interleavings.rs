//! The interleavings of a program, in one round: where all threads are, what the cells hold, and what comes next.

use super::{MOST_VALUES, SETTLING, World};
use crate::action::{Action, Cell, SPURIOUS, outcome};
use crate::automaton::{NodeId, put};
use crate::machine::Pause;
use crate::queue::OVERFLOW;
use crate::space::ObjectId;
use crate::value::{Bits, Word};
use search::encoding::{Reader, put as put_number};
use search::{Model, Sink, Width};
use std::sync::{Mutex, MutexGuard};

impl World {
    fn successors(&mut self, state: &State, thread: usize, mut each: impl FnMut(&State)) {
        let node = state.nodes[thread];
        let Some(action) = self.automata.action(node) else { return };
        if let Action::Choose { alternatives } = action {
            for choice in 0..alternatives {
                let to = self.automata.step(&mut self.machine, node, Word::Bits(choice.into()));
                each(&state.with(thread, to));
            }
            return;
        }
        let Some(cell) = action.cell() else {
            let to = self.automata.step(&mut self.machine, node, Word::ZERO);
            each(&state.with(thread, to));
            return;
        };
        let id = self.cell(cell);
        let old = state.cells.get(id).copied().unwrap_or(self.initial[id]);
        let Some((mut new, input)) = outcome(&action, old) else {
            return;
        };
        let to = self.automata.step(&mut self.machine, node, input);
        let mut next = state.with(thread, to);
        match action {
            Action::Write { value, .. } if cell.is_life() && value != Word::ZERO => {
                self.is_gone(&next, cell.object);
            }
            Action::Recall { .. } if self.is_held(state, Some(thread), cell.object) => {
                each(&next);
                let to = self.automata.step(&mut self.machine, node, Word::Bits(1));
                next = state.with(thread, to);
            }
            Action::Take { .. } if old != Word::ZERO && self.is_held(state, None, cell.object) => {
                each(&next);
                let to = self.automata.step(&mut self.machine, node, Word::Bits(1));
                next = state.with(thread, to);
                new = Some(Word::ZERO);
            }
            _ => {}
        }
        if let Some(word) = new {
            while next.cells.len() <= id {
                next.cells.push(self.initial[next.cells.len()]);
            }
            next.cells[id] = word;
            if word == OVERFLOW {
                self.machine.overflown = Some(self.automata.node(node).sites.clone());
            }
            self.values[id].insert(word);
            if self.values[id].len() > MOST_VALUES {
                self.endless = Some(id);
            }
        }
        each(&next);
        if let Action::CompareExchange { weak: true, .. } = action
            && new.is_some()
        {
            let to = self.automata.step(&mut self.machine, node, SPURIOUS);
            each(&state.with(thread, to));
        }
    }

    /// A block is gone. Does it matter whether its address is given out again?
    fn is_gone(&mut self, state: &State, object: ObjectId) {
        if !self.machine.recyclable.contains(&object) && self.is_held(state, None, object) {
            self.machine.is_gone(object);
        }
    }

    /// Does anybody, one thread aside, know the address of an object? If it may be hidden in a number, somebody does.
    fn is_held(&self, state: &State, aside: Option<usize>, object: ObjectId) -> bool {
        if self.machine.disguised.contains(&object) {
            return true;
        }
        let space = &self.machine.space;
        let is_it = |word: Word| space.mentions(word).any(|other| other == object);
        let untouched = self.initial.iter().skip(state.cells.len());
        let mut nodes = state.nodes.iter().enumerate();
        let mut before = (0..space.len() as u32).map(ObjectId);
        state.cells.iter().chain(untouched).any(|word| is_it(*word))
            || nodes.any(|(thread, node)| {
                Some(thread) != aside && self.automata.node(*node).local.mentions(space, object)
            })
            || before.any(|other| {
                space.image(other).iter().any(|(offset, (size, word))| {
                    let cell = Cell { object: other, offset: *offset, size: *size };
                    is_it(*word) && !self.machine.shared.contains(cell)
                })
            })
    }
}

/// Where all threads are, and what the cells hold that were ever written; the others hold their initial value.
#[derive(Clone)]
struct State {
    nodes: Vec<NodeId>,
    cells: Vec<Word>,
}

impl State {
    fn with(&self, thread: usize, node: NodeId) -> State {
        let mut next = self.clone();
        next.nodes[thread] = node;
        next
    }

    fn write(&self, world: &World, out: &mut Vec<u8>) {
        out.clear();
        let moved = |thread: &usize| world.first.get(*thread) != Some(&self.nodes[*thread]);
        let nodes = (0..self.nodes.len()).rev().find(moved).map_or(0, |last| last + 1);
        put_number(nodes as u128, out);
        self.nodes[..nodes].iter().for_each(|node| put_number(node.0.into(), out));
        let changed = |cell: &usize| self.cells[*cell] != world.initial[*cell];
        let cells = (0..self.cells.len()).rev().find(changed).map_or(0, |last| last + 1);
        self.cells[..cells].iter().for_each(|word| put(*word, out));
    }

    fn read(world: &mut World, bytes: &[u8]) -> State {
        let from = &mut Reader::new(bytes);
        let mut nodes: Vec<NodeId> = (0..from.take()).map(|_| NodeId(from.take() as u32)).collect();
        let mut cells = Vec::new();
        while !from.is_empty() {
            cells.push(match from.take() {
                0 => Word::Undef,
                1 => Word::Bits(from.take()),
                _ => Word::Partly(Bits { bits: from.take(), defined: from.take() }),
            });
        }
        for thread in nodes.len()..world.machine.threads.len() {
            nodes.push(world.first(thread));
        }
        State { nodes, cells }
    }
}

/// The interleavings of a program, in one round.
pub(super) struct Interleavings {
    pub(super) world: Mutex<World>,
}

impl Interleavings {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Model for Interleavings {
    type Scratch = Vec<u8>;
    /// The round need not go on.
    type Finding = ();

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn initial<S: Sink<()>>(&self, bytes: &mut Vec<u8>, sink: &mut S) {
        let world = &mut *self.world();
        world.first(0);
        let state = State { nodes: Vec::new(), cells: Vec::new() };
        state.write(world, bytes);
        sink.state(bytes);
    }

    /// Only threads move whose next actions concern none of the others.
    fn expand_reduced<S: Sink<()>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut S) {
        let world = &mut *self.world();
        let state = State::read(world, state);
        world.visit(&state, sink);
        if let Some(threads) = world.persistent(&state) {
            world.expand(&state, threads, bytes, sink);
        }
    }

    fn expand<S: Sink<()>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut S) {
        let world = &mut *self.world();
        let state = State::read(world, state);
        world.expand(&state, u64::MAX, bytes, sink);
    }
}

impl World {
    /// Looks at a state once.
    fn visit<S: Sink<()>>(&mut self, state: &State, sink: &mut S) {
        self.states += 1;
        for node in &state.nodes {
            if let Pause::Refuse(_) = self.automata.node(*node).pause {
                self.refused.get_or_insert(*node);
                sink.finding(());
            }
        }
        if self.grown_at.is_none() && self.machine.has_news() {
            self.grown_at = Some(self.states);
        }
        if self.endless.is_some() || self.machine.overflown.is_some() {
            sink.finding(());
        }
        if self.machine.surprised || self.grown_at.is_some_and(|at| self.states > at + SETTLING) {
            sink.finding(());
        }
    }

    fn persistent(&mut self, state: &State) -> Option<u64> {
        if self.every_interleaving {
            return None;
        }
        let next: Vec<Option<(Action, Option<usize>, bool)>> = state
            .nodes
            .iter()
            .map(|node| {
                let action = self.automata.action(*node)?;
                let Some(cell) = action.cell() else { return Some((action, None, true)) };
                let id = self.cell(cell);
                let old = state.cells.get(id).copied().unwrap_or(self.initial[id]);
                Some((action, Some(id), outcome(&action, old).is_some()))
            })
            .collect();
        self.futures.persistent(&state.nodes, &next)
    }

    fn expand<S: Sink<()>>(
        &mut self,
        state: &State,
        threads: u64,
        bytes: &mut Vec<u8>,
        sink: &mut S,
    ) {
        let mut found = Vec::new();
        for thread in (0..state.nodes.len()).filter(|thread| threads >> thread & 1 == 1) {
            self.successors(state, thread, |next| found.push(next.clone()));
        }
        for next in found {
            next.write(self, bytes);
            sink.state(bytes);
        }
    }
}
