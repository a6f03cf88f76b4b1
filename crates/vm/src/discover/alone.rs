//! Following threads one by one, where they have too many interleavings.
//!
//! What is looked for is all that single threads do, not how it goes together. Fifteen threads that each read what
//! their neighbour wrote have millions of interleavings, and each of them has a dozen local states. So when there are many
//! states, every node is given every value that its cell is ever written, by nodes that were found in the same way, until
//! nothing new comes of it.
//!
//! **Why that is enough.** By induction on its length, every interleaving stays within the nodes and values found: a
//! thread at a known node reads what the cell held at first or what a known node wrote. So the automata have all that the
//! program does, and perhaps steps that it never takes. Those lead nowhere: every analysis explores the program
//! again, exactly, and takes a step only where the value is there to be read. A failure that no interleaving comes to
//! is code that is never reached.
//!
//! **What else depends on what interleavings do** decides whether it may be used. A construct without meaning, values
//! that grow, or accesses of different sizes may be there only because values were combined that never meet. Whether the
//! address of a freed block is worth giving out again is asked of states. And a compare-and-exchange that could succeed
//! counts as a write in races with plain accesses. In all these cases interleavings are explored after all.

use super::{Undiscovered, Values, World};
use crate::action::{Action, Cell, Order};
use crate::machine::Pause;
use crate::space::Name;
use crate::value::Word;
use search::{Limit, Limits};
use std::collections::BTreeSet;

/// Values that may come of it: with more, something counts.
const MOST_ADDED: usize = 2_000;
/// Nodes that may come of it, for each that was known, and in any case.
const MOST_NODES: (usize, usize) = (8, 1_000);

impl World {
    /// Are there so many states that it is worth trying?
    pub(super) fn is_crowded(&self) -> bool {
        self.crowd.is_some_and(|many| self.states > many)
    }

    /// Follows threads one by one. Are the automata complete? Otherwise, a round must follow: one with the memory that
    /// turned out to be shared, or one that tries this no more.
    pub(super) fn follow_alone(&mut self, limits: Limits) -> Result<bool, Undiscovered> {
        let crowd = self.crowd.take();
        let most_nodes = MOST_NODES.0 * self.automata.len() + MOST_NODES.1;
        match self.close(Values::New, (MOST_ADDED, most_nodes), limits) {
            Ok(()) => {}
            Err(Undiscovered::Limit { limit: Limit::States, .. }) => return Ok(false),
            Err(limit @ Undiscovered::Limit { .. }) => return Err(limit),
            Err(_) => return Ok(false),
        }
        match self.has_grown() {
            Ok(true) => self.crowd = crowd,
            Ok(false) => return Ok(!self.depends_on_interleavings()),
            Err(_) => {}
        }
        Ok(false)
    }

    /// Is there something that only interleavings tell?
    fn depends_on_interleavings(&self) -> bool {
        let mut plain: BTreeSet<Cell> = BTreeSet::new();
        let mut exchanged: BTreeSet<Cell> = BTreeSet::new();
        for (_, node) in self.automata.nodes() {
            let Pause::Rest(action) = node.pause else { continue };
            match action {
                Action::Read { cell, order: Order::Plain }
                | Action::Write { cell, order: Order::Plain, .. } => {
                    plain.insert(cell);
                }
                Action::CompareExchange { cell, .. } => {
                    exchanged.insert(cell);
                }
                _ => {}
            }
            if let Action::Write { cell, value, .. } = action
                && cell.is_life()
                && value != Word::ZERO
                && let Name::Heap { size, zeroed, .. } = self.machine.space.object(cell.object).name
                && self.machine.allocated.contains(&(size, zeroed))
            {
                return true;
            }
        }
        !plain.is_disjoint(&exchanged)
    }
}
