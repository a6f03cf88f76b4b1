//! Atomic operations as calls: of objects for which the compiler has no instruction, or does not know whether it has.
//!
//! Clang calls `__atomic_load` and its like for 16 bytes, unless it is told that the processor has an instruction for these
//! (`-mcx16`), and for what is not aligned. The calls say nothing of weak compare-and-exchanges, which the library does not let fail
//! for no reason.

use crate::action::{Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;

impl Machine {
    /// `__atomic_load` and others with the size as first argument and values in memory, `__atomic_load_16` and others with values.
    pub(super) fn sized_atomic_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let (operation, size) = match name.strip_prefix("__atomic_")?.rsplit_once('_') {
            Some((operation, size)) if size.parse::<u8>().is_ok() => {
                (operation, size.parse::<u8>().ok())
            }
            _ => (name.strip_prefix("__atomic_")?, None),
        };
        let in_memory = size.is_none();
        let update = match operation {
            "load" | "store" | "compare_exchange" => None,
            "exchange" => Some(RmwOp::Xchg),
            "fetch_add" if !in_memory => Some(RmwOp::Add),
            "fetch_sub" if !in_memory => Some(RmwOp::Sub),
            "fetch_and" if !in_memory => Some(RmwOp::And),
            "fetch_or" if !in_memory => Some(RmwOp::Or),
            "fetch_xor" if !in_memory => Some(RmwOp::Xor),
            "fetch_nand" if !in_memory => Some(RmwOp::Nand),
            _ => return None,
        };
        let (size, arguments) = match (size, arguments) {
            (Some(size), all) => (Some(size), all),
            (None, [Val::Bits(size), rest @ ..]) => (u8::try_from(*size).ok(), rest),
            (None, _) => (None, arguments),
        };
        let Some(size) = size.filter(|size| matches!(size, 1 | 2 | 4 | 8 | 16)) else {
            return Some(Stop::refuse(
                "an atomic object that has not 1, 2, 4, 8 or 16 bytes: the library takes a lock for it",
            ));
        };
        Some(self.sized_atomic(local, (operation, update), (size, in_memory), arguments))
    }

    fn sized_atomic(
        &mut self,
        local: &mut Local,
        (operation, update): (&str, Option<RmwOp>),
        (size, in_memory): (u8, bool),
        arguments: &[Val],
    ) -> Result<Val, Stop> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let object = argument(0);
        match (operation, update) {
            ("load", _) if in_memory => {
                let word = self.load_word(local, &object, size, order(&argument(2))?)?;
                self.store_word(local, &argument(1), size, word, Order::Plain)?;
                Ok(Val::Undef)
            }
            ("load", _) => {
                let word = self.load_word(local, &object, size, order(&argument(1))?)?;
                Ok(word.into())
            }
            ("store", _) => {
                let word = self.operand(local, &argument(1), size, in_memory)?;
                self.store_word(local, &object, size, word, order(&argument(2))?)?;
                Ok(Val::Undef)
            }
            (_, Some(op)) => {
                let operand = self.operand(local, &argument(1), size, in_memory)?.into();
                let last = order(&argument(if in_memory { 3 } else { 2 }))?;
                let width = 8 * u32::from(size);
                let old = self.read_modify_write(local, (op, width), &object, &operand, last)?;
                if !in_memory {
                    return Ok(old.into());
                }
                self.store_word(local, &argument(2), size, old, Order::Plain)?;
                Ok(Val::Undef)
            }
            _ => {
                let expected = self.load_word(local, &argument(1), size, Order::Plain)?.into();
                let desired = self.operand(local, &argument(2), size, in_memory)?.into();
                let orders = (order(&argument(3))?, order(&argument(4))?, false);
                let values = (&expected, &desired);
                let (old, succeeded) =
                    self.compare_exchange(local, size, &object, values, orders)?;
                if !succeeded {
                    self.store_word(local, &argument(1), size, old, Order::Plain)?;
                }
                Ok(Val::Bits(succeeded.into()))
            }
        }
    }

    /// A value, or what is in memory where it is said to be.
    fn operand(
        &mut self,
        local: &mut Local,
        argument: &Val,
        size: u8,
        in_memory: bool,
    ) -> Result<Word, Stop> {
        match in_memory {
            true => self.load_word(local, argument, size, Order::Plain),
            false => Ok(argument.word()),
        }
    }
}

/// A memory order as C numbers them.
fn order(number: &Val) -> Result<Order, Stop> {
    Ok(match number {
        Val::Bits(0) => Order::Relaxed,
        Val::Bits(1 | 2) => Order::Acquire,
        Val::Bits(3) => Order::Release,
        Val::Bits(4) => Order::AcqRel,
        Val::Bits(5) => Order::SeqCst,
        _ => return Stop::refuse("a memory order that is none of C's"),
    })
}
