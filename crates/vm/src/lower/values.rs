//! Actions that no instruction of the language is: one alternative for each value that the cell may hold.
//!
//! The thread chooses among steps that wait for one value each and replace it, so only the one whose value is there can be
//! taken; where none can, the thread waits. A choice is made together with the step that it leads to.

use super::Lowering;
use super::cells::{read_mode, write_mode};
use crate::action::{Cell, Order};
use crate::atomic;
use crate::automaton::NodeId;
use crate::library::DESTROYED;
use crate::queue::Queueing;
use crate::value::Word;
use ir::{Expr, Instr, Place, ReadMode};
use llvm::instruction::RmwOp;

/// Steps, and where they lead, if anywhere.
type Steps = Vec<(Instr, Option<NodeId>)>;

fn leads(next: &[(Word, NodeId)], input: Word) -> Option<NodeId> {
    next.iter().find(|(it, _)| *it == input).map(|(_, to)| *to)
}

impl Lowering<'_> {
    pub(super) fn replaces(&self, cell: Cell, old: Word, new: Word, order: Order) -> Instr {
        Instr::BlockingCas {
            place: Place::location(self.cells.placed(cell).loc),
            expected: Expr::Const(self.numbers.get(cell, old)),
            desired: Expr::Const(self.numbers.get(cell, new)),
            read: read_mode(order),
            write: write_mode(order),
        }
    }

    fn finds(&self, cell: Cell, value: Word, mode: ReadMode) -> Instr {
        let place = Place::location(self.cells.placed(cell).loc);
        let values = vec![Expr::Const(self.numbers.get(cell, value))];
        Instr::Wait { dst: None, place, values, mode }
    }

    /// Takes a lock, or finds it destroyed; with `once`, that is that somebody has done what is to be done.
    pub(super) fn lock(
        &mut self,
        cell: Cell,
        (below, add): (u32, u32),
        next: &[(Word, NodeId)],
    ) -> Steps {
        let mut steps = Vec::new();
        if let Some(to) = leads(next, DESTROYED) {
            steps.push((self.finds(cell, DESTROYED, ReadMode::Acq), Some(to)));
        }
        for word in self.held(cell) {
            let Word::Bits(held) = word else { continue };
            if held < u128::from(below) {
                let taken = Word::Bits(held + u128::from(add));
                let lock = self.replaces(cell, word, taken, Order::Acquire);
                steps.push((lock, leads(next, Word::ZERO)));
            }
        }
        steps
    }

    /// Does something to a cell of a channel.
    pub(super) fn queue(
        &mut self,
        id: NodeId,
        cell: Cell,
        queueing: Queueing,
        next: &[(Word, NodeId)],
    ) -> Steps {
        let mut steps = Vec::new();
        for old in self.held(cell) {
            let after = queueing.after(old);
            let Some((new, input)) = after else { continue };
            let step = match new {
                Some(new) => self.replaces(cell, old, new, queueing.order()),
                // Who finds nothing and comes back to look again waits, too.
                None if self.returns(id, input) => continue,
                None => self.finds(cell, old, ReadMode::Rlx),
            };
            steps.push((step, leads(next, input)));
        }
        steps
    }

    /// Updates the cell.
    pub(super) fn update(
        &mut self,
        cell: Cell,
        (op, operand, width): (RmwOp, u128, u32),
        order: Order,
        next: &[(Word, NodeId)],
    ) -> Steps {
        let mut steps = Vec::new();
        for old in self.held(cell) {
            let new = atomic::update(op, old, operand, width);
            steps.push((self.replaces(cell, old, new, order), leads(next, old)));
        }
        steps
    }
}
