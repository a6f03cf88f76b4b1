//! Objects that come and go: blocks of the heap, variables on stacks, thread-local variables.
//!
//! Such an object has a *life cell*, 0 while the object is there. Every access reads the cell plainly, and whoever frees
//! the block, returns from the function or ends the thread writes it plainly. So a use in no order with the end is a
//! race on the cell, and a use after the end is an error, by the same rules as for any other memory. A thread needs no
//! cell to know whether its own variables are there, and what dies with the program (`main`'s own variables) has none.

use crate::action::{Action, Cell, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::shared::Strength;
use crate::space::{Name, ObjectId, Space};
use crate::value::Word;

/// The thread with which an object dies, if it is not freed; none for what dies with the program.
pub(crate) fn dies_with(space: &Space, object: ObjectId) -> Option<u32> {
    match space.object(object).name {
        Name::Stack { thread: 0, depth: 1, .. } | Name::ThreadLocal { thread: 0, .. } => None,
        Name::Stack { thread, .. } | Name::ThreadLocal { thread, .. } => Some(thread),
        _ => None,
    }
}

impl Machine {
    /// Looks whether the object that is accessed is still there.
    pub(crate) fn alive(
        &mut self,
        local: &mut Local,
        object: ObjectId,
        what: &str,
    ) -> Result<(), Stop> {
        let is_block = matches!(self.space.object(object).name, Name::Heap { .. });
        let is_anothers =
            dies_with(&self.space, object).is_some_and(|thread| thread != local.thread);
        if !is_block && !is_anothers {
            return Ok(());
        }
        let cell = Cell::life(object);
        self.touches.add(cell, local.thread, false, Strength::Plain);
        let word = match self.shared.contains(cell) {
            true => self.visible(local, Action::Read { cell, order: Order::Plain })?,
            false => self.peek(local, cell),
        };
        let end = if is_block {
            "it was freed"
        } else {
            "its function has returned or its thread has ended"
        };
        match word {
            Word::ZERO => Ok(()),
            _ => Err(Stop::fail(format!("{what} {} after {end}", self.called(object)))),
        }
    }

    /// The object is gone.
    pub(crate) fn kill(&mut self, local: &mut Local, object: ObjectId) -> Result<(), Stop> {
        let cell = Cell::life(object);
        let is_block = matches!(self.space.object(object).name, Name::Heap { .. });
        if is_block {
            self.touches.add(cell, local.thread, true, Strength::Plain);
        }
        let gone = Word::Bits(1);
        match self.shared.contains(cell) {
            true => {
                self.visible(local, Action::Write { cell, value: gone, order: Order::Plain })?;
            }
            // What is gone before there are threads is known to be gone to those that come.
            false if is_block || self.alone => {
                if !is_block {
                    local.private.forget(object);
                }
                local.private.write(object, cell.offset, cell.size, gone);
            }
            false => local.private.forget(object),
        }
        Ok(())
    }

    /// An object is there: what others do with it must come after that. If it was there before, it holds nothing of
    /// what it held.
    pub(crate) fn renew(
        &mut self,
        local: &mut Local,
        object: ObjectId,
        fresh: Word,
    ) -> Result<(), Stop> {
        local.private.forget(object);
        if self.alone {
            return Ok(());
        }
        let life = Cell::life(object);
        self.touches.add(life, local.thread, true, Strength::Plain);
        let mut cells = self.shared.overlapping(object, 0, self.space.object(object).size);
        let is_shared = self.shared.contains(life);
        if (is_shared || !cells.is_empty()) && local.again.insert(object) {
            cells.clear();
        }
        cells.extend(Some(life).filter(|_| is_shared));
        for cell in cells {
            let value = if cell == life { Word::ZERO } else { fresh };
            self.touches.add(cell, local.thread, true, Strength::Plain);
            self.visible(local, Action::Write { cell, value, order: Order::Plain })?;
        }
        Ok(())
    }
}
