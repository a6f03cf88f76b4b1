//! Objects that come and go: blocks of the heap, variables on stacks, thread-local variables.
//!
//! Such an object has a *life cell*, 0 while the object is there. Every access reads the cell plainly, and whoever frees
//! the block, returns from the function or ends the thread writes it plainly. So a use in no order with the end is a
//! race on the cell, and a use after the end is an error, by the same rules as for any other memory. A thread needs no
//! cell to know whether its own variables are there. Nor does anybody need one for a variable of the first thread that
//! comes to its end when all other threads were waited for.
//!
//! **Two calls, two variables.** A variable on the stack has one name in every call of its function from the same place, so
//! that a thread that calls it again and again comes back to the same states. A pointer that an earlier call left behind
//! (a *stray* one) must not be taken for one to the new variable. If the thread itself still has such a pointer, the
//! new variable gets another name. If somebody else has one, there are two kinds of runs, and both are explored: either the
//! variables are one, as they are on a machine, or from now on new variables have another name, and the old one stays
//! dead ([`Action::Recall`]). A thread does the latter once at most. That is enough: of the uses of a variable of an earlier
//! call in some run, take the first, and let the thread leave that variable behind when it next calls the function; until
//! then nothing in the run is different, so the use comes about, and it is an error.
//!
//! **Addresses come back.** The address of a block that was freed can be given out again by any later allocation of the
//! same size. Where nobody knows the old address that makes no difference. Where somebody does, an allocation may take
//! it ([`Action::Take`]) or not, and both are explored: in the one, a comparison takes the new block for the old (ABA);
//! in the other, a use of the old pointer is a use after free. Freeing happens before the allocation that gets the address.

use crate::action::{Action, Cell, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::shared::Strength;
use crate::space::{Name, ObjectId, Space, WINDOW};
use crate::value::Word;

/// The thread whose stack or thread-local variable an object is.
pub(crate) fn owner(space: &Space, object: ObjectId) -> Option<u32> {
    match space.object(object).name {
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
        let is_anothers = owner(&self.space, object).is_some_and(|thread| thread != local.thread);
        if !is_block && !is_anothers {
            return Ok(());
        }
        let cell = Cell::life(object);
        self.touches.add(cell, local.thread, false, Strength::Plain);
        let word = match self.shared.contains(cell) {
            true => self.visible(local, Action::Read { cell, order: Order::Plain })?,
            false => self.peek(local, cell),
        };
        let end = match is_block {
            true => "it was freed",
            false => "its block or function was left, or its thread has ended",
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
        } else if !self.alone
            && local.thread == 0
            && local.running > 0
            && self.mortal.insert(object)
        {
            self.touches.reconsider();
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
        let size = self.space.object(object).size;
        // What it held before there were other threads.
        let image = self.space.image(object).iter();
        let old = image.filter(|(offset, _)| u64::from(**offset) < size);
        let old: Vec<(u32, u8)> = old.map(|(offset, (size, _))| (*offset, *size)).collect();
        for (offset, size) in &old {
            local.private.write(object, *offset, *size, fresh);
        }
        let mut cells = self.shared.overlapping(object, 0, size);
        let library = self.shared.of_library(object).into_iter();
        cells.extend(library.filter(|cell| !cell.is_spare()));
        let is_shared = self.shared.contains(life);
        if (is_shared || !cells.is_empty()) && local.again.insert(object) && old.is_empty() {
            cells.clear();
        }
        self.reset(local, cells, fresh)?;
        self.reset(local, is_shared.then_some(life).into_iter().collect(), Word::ZERO)
    }

    fn reset(&mut self, local: &mut Local, cells: Vec<Cell>, fresh: Word) -> Result<(), Stop> {
        for cell in cells {
            let (value, order, strength) = match cell.is_sync() {
                true => (Word::ZERO, Order::Relaxed, Strength::Atomic),
                false => (fresh, Order::Plain, Strength::Plain),
            };
            self.touches.add(cell, local.thread, true, strength);
            self.visible(local, Action::Write { cell, value, order })?;
        }
        Ok(())
    }

    /// A value is put into an object, or somewhere else: which of the thread's own variables may be known by it when
    /// their call is over?
    pub(crate) fn strays(&self, local: &mut Local, word: Word, into: Option<ObjectId>) {
        if word.bits().bits < u128::from(WINDOW) {
            return;
        }
        let depth_of = |object: ObjectId| match self.space.object(object).name {
            Name::Stack { thread, depth, .. } if thread == local.thread => Some(depth),
            _ => None,
        };
        let into = into.and_then(depth_of);
        let strays = |object: &ObjectId| {
            depth_of(*object).is_some_and(|depth| into.is_none_or(|into| into < depth))
        };
        let stray: Vec<ObjectId> = self.space.mentions(word).filter(strays).collect();
        local.stray.extend(stray);
    }

    /// May a variable that is new have the name of one that is gone? Not if somebody knows that one, in one kind of runs.
    /// Registers that nobody will read should be forgotten before it is asked.
    pub(crate) fn comes_back(&mut self, local: &mut Local, object: ObjectId) -> Result<bool, Stop> {
        if local.abandoned == Some(object) || local.mentions(&self.space, object) {
            return Ok(false);
        }
        let cell = Cell::life(object);
        if self.alone || local.abandoned.is_some() || !self.shared.contains(cell) {
            return Ok(true);
        }
        match self.visible(local, Action::Recall { cell })? {
            Word::ZERO => Ok(true),
            _ => {
                local.abandoned = Some(object);
                Ok(false)
            }
        }
    }
}
