//! Atomic read-modify-writes and compare-and-exchange.

use crate::action::{Action, Cell, Order, SPURIOUS, Stop, outcome};
use crate::disguise::Kind;
use crate::local::Local;
use crate::machine::Machine;
use crate::shared::Strength;
use crate::value::{Val, Word, mask, signed};
use llvm::instruction::RmwOp;

/// What a read-modify-write makes of the old value.
pub(crate) fn update(op: RmwOp, old: Word, operand: u128, width: u32) -> Word {
    let Word::Bits(old) = old else {
        return match op {
            RmwOp::Xchg => Word::Bits(operand),
            _ => Word::Undef,
        };
    };
    let (a, b) = (signed(old, width), signed(operand, width));
    let new = match op {
        RmwOp::Xchg => operand,
        RmwOp::Add => old.wrapping_add(operand),
        RmwOp::Sub => old.wrapping_sub(operand),
        RmwOp::And => old & operand,
        RmwOp::Nand => !(old & operand),
        RmwOp::Or => old | operand,
        RmwOp::Xor => old ^ operand,
        RmwOp::Max => a.max(b) as u128,
        RmwOp::Min => a.min(b) as u128,
        RmwOp::UMax => old.max(operand),
        RmwOp::UMin => old.min(operand),
        RmwOp::UIncWrap => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        RmwOp::UDecWrap => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        RmwOp::USubCond => {
            if old >= operand {
                old - operand
            } else {
                old
            }
        }
        RmwOp::USubSat => old.saturating_sub(operand),
        _ => return Word::Undef,
    };
    Word::Bits(new & mask(width))
}

impl Machine {
    /// The cell that an atomic read-modify-write is about.
    fn atomic_cell(&mut self, local: &mut Local, address: &Val, size: u8) -> Result<Cell, Stop> {
        let (object, offset) = self.bytes_at(local, address, u64::from(size), true)?;
        self.alive(local, object, "an atomic update of")?;
        let cell = Cell { object, offset, size };
        let strength = match self.is_librarys(object) {
            true => Strength::Atomic,
            false => Strength::Ordering,
        };
        self.touch(local, cell, true, strength);
        let shared = self.shared.overlapping(object, offset, u64::from(size));
        if !shared.is_empty() && shared != [cell] {
            if self.keep_apart(object) {
                return Err(Stop::Blocked);
            }
            return Stop::refuse(format!("mixed-size accesses to {}", self.called(object)));
        }
        Ok(cell)
    }

    /// Does something to a cell, whether others know it or not.
    fn act(&mut self, local: &mut Local, cell: Cell, action: Action) -> Result<Word, Stop> {
        if self.shared.contains(cell) {
            return self.visible(local, action);
        }
        let old = self.peek(local, cell);
        let Some((new, input)) = outcome(&action, old) else {
            return Err(Stop::Blocked);
        };
        if let Some(word) = new {
            local.private.write(cell.object, cell.offset, cell.size.max(1), word);
        }
        Ok(input)
    }

    /// What is compared or computed with atomically must be known in all of its bits, padding included.
    fn is_whole(&self, old: Word, cell: Cell) -> Result<(), Stop> {
        match old {
            Word::Partly(_) => Stop::refuse(format!(
                "an atomic update of {}, of which some bytes were never given a value",
                self.called(cell.object)
            )),
            _ => Ok(()),
        }
    }

    /// An atomic read-modify-write; its result is the old value.
    pub(crate) fn read_modify_write(
        &mut self,
        local: &mut Local,
        (op, width): (RmwOp, u32),
        address: &Val,
        operand: &Val,
        order: Order,
    ) -> Result<Word, Stop> {
        let Val::Bits(operand) = *operand else {
            return Err(Stop::fail("an atomic update with a value that was never written"));
        };
        if matches!(
            op,
            RmwOp::FAdd
                | RmwOp::FSub
                | RmwOp::FMax
                | RmwOp::FMin
                | RmwOp::FMaximum
                | RmwOp::FMinimum
        ) {
            return Stop::refuse("an atomic update of a floating-point number");
        }
        if let Some(count) = self.constant_count(address) {
            return Ok(count);
        }
        if let Some(changed) = self.slot_changes(local, address, &Val::Bits(operand)) {
            return changed;
        }
        let cell = self.atomic_cell(local, address, width.div_ceil(8) as u8)?;
        let old = self.act(local, cell, Action::Update { cell, op, operand, width, order })?;
        if op != RmwOp::Xchg {
            self.is_whole(old, cell)?;
        }
        if old == Word::Undef && op != RmwOp::Xchg {
            let called = self.called(cell.object);
            return Err(Stop::fail(format!(
                "an atomic update of {called}, which was never given a value"
            )));
        }
        local.escape(Word::Bits(operand), &self.space);
        self.strays(local, Word::Bits(operand), None);
        if op != RmwOp::Xchg {
            let (right, new) = (Val::Bits(operand), update(op, old, operand, width).into());
            let kind = Kind::of_update(op, &right, &new);
            self.computed(local, kind, &[&old.into(), &right], &new);
        }
        Ok(old)
    }

    /// A compare-and-exchange: the old value and whether it succeeded.
    pub(crate) fn compare_exchange(
        &mut self,
        local: &mut Local,
        size: u8,
        address: &Val,
        (expected, desired): (&Val, &Val),
        (success, failure, weak): (Order, Order, bool),
    ) -> Result<(Word, bool), Stop> {
        let Val::Bits(expected) = *expected else {
            return Err(Stop::fail(
                "a compare-and-exchange that expects a value that was never written",
            ));
        };
        let desired = desired.word();
        let cell = self.atomic_cell(local, address, size)?;
        if weak && !self.shared.contains(cell) && self.peek(local, cell) == Word::Bits(expected) {
            let fails = self.visible(local, Action::Choose { alternatives: 2 })?;
            if fails == Word::Bits(1) {
                return Ok((Word::Bits(expected), false));
            }
        }
        let action = Action::CompareExchange { cell, expected, desired, success, failure, weak };
        let old = self.act(local, cell, action)?;
        if weak && old == SPURIOUS {
            return Ok((Word::Bits(expected), false));
        }
        self.is_whole(old, cell)?;
        if old == Word::Undef {
            let called = self.called(cell.object);
            return Err(Stop::fail(format!(
                "a compare-and-exchange of {called}, which was never given a value"
            )));
        }
        let succeeded = old == Word::Bits(expected);
        if succeeded {
            local.escape(desired, &self.space);
            self.strays(local, desired, None);
        }
        Ok((old, succeeded))
    }
}
