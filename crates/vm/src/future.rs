//! What a thread may still touch, as far as its automaton is known; and which threads may move alone.
//!
//! Interleavings that differ only in the order of actions on different cells, or of reads, lead to the same nodes. So at
//! a state it is enough to let some threads move whose next actions conflict with nothing that the others may ever do
//! (a *persistent set*), if one of them reaches a new state (`search` says why that is enough).
//!
//! The automata are not known beforehand. An exploration uses what the one before it has found, and it is repeated until
//! it finds nothing new. Then it was an exploration of the system whose automata are the ones now known, with their true
//! futures, and no step of that system leads out of it: the system is the program.

use crate::action::{Action, Cell};
use crate::automaton::{Automata, NodeId};
use std::collections::HashMap;

/// A set of cells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Cells(Vec<u64>);

impl Cells {
    fn insert(&mut self, cell: usize) -> bool {
        if self.0.len() <= cell / 64 {
            self.0.resize(cell / 64 + 1, 0);
        }
        let before = self.0[cell / 64];
        self.0[cell / 64] |= 1 << (cell % 64);
        self.0[cell / 64] != before
    }

    fn contains(&self, cell: usize) -> bool {
        self.0.get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1)
    }

    fn add(&mut self, others: &Cells) -> bool {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        let mut grown = false;
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            grown |= other & !*word != 0;
            *word |= other;
        }
        grown
    }
}

/// What threads may still touch, by node.
#[derive(Debug, Default)]
pub(crate) struct Futures {
    touched: Vec<Cells>,
    written: Vec<Cells>,
}

impl Futures {
    /// The futures in the automata as they are known. `number` says which cell is which.
    pub(crate) fn of(automata: &Automata, number: &HashMap<Cell, usize>) -> Self {
        let count = automata.len();
        let mut futures = Futures {
            touched: vec![Cells::default(); count],
            written: vec![Cells::default(); count],
        };
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (id, node) in automata.nodes() {
            let at = id.0 as usize;
            if let Some(action) = automata.action(id)
                && let Some(cell) = action.cell().and_then(|cell| number.get(&cell))
            {
                futures.touched[at].insert(*cell);
                if action.writes() {
                    futures.written[at].insert(*cell);
                }
            }
            for (_, to) in &node.next {
                sources[to.0 as usize].push(at);
            }
        }
        let mut queue: Vec<usize> = (0..count).collect();
        while let Some(at) = queue.pop() {
            for &from in &sources[at] {
                let (touched, written) = (futures.touched[at].clone(), futures.written[at].clone());
                if futures.touched[from].add(&touched) | futures.written[from].add(&written) {
                    queue.push(from);
                }
            }
        }
        futures
    }

    /// May the thread at a node ever do something that does not commute with an action on a cell?
    fn conflicts(&self, node: NodeId, cell: usize, writes: bool) -> bool {
        let cells = if writes { &self.touched } else { &self.written };
        cells.get(node.0 as usize).is_some_and(|cells| cells.contains(cell))
    }

    /// Threads that may move alone, as a mask; `None` if all must. `next` is each thread's next action with its cell
    /// and whether it is possible now.
    pub(crate) fn persistent(
        &self,
        nodes: &[NodeId],
        next: &[Option<(Action, Option<usize>, bool)>],
    ) -> Option<u64> {
        let enabled = |mask: u64| {
            (0..nodes.len())
                .filter(|t| mask >> t & 1 == 1 && matches!(next[*t], Some((.., true))))
                .count()
        };
        let mut best: Option<(usize, u64)> = None;
        for seed in 0..nodes.len() {
            if !matches!(next[seed], Some((.., true))) {
                continue;
            }
            let (mut set, mut queue) = (1u64 << seed, vec![seed]);
            while let Some(thread) = queue.pop() {
                let Some((action, Some(cell), _)) = next[thread] else { continue };
                for other in 0..nodes.len() {
                    if set >> other & 1 == 0
                        && next[other].is_some()
                        && self.conflicts(nodes[other], cell, action.writes())
                    {
                        set |= 1 << other;
                        queue.push(other);
                    }
                }
            }
            let size = enabled(set);
            if best.is_none_or(|(least, _)| size < least) {
                best = Some((size, set));
            }
        }
        let all = (0..nodes.len()).filter(|t| matches!(next[*t], Some((.., true)))).count();
        best.filter(|(size, _)| *size < all).map(|(_, set)| set)
    }
}
