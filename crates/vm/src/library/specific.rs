//! Values that each thread has for a key: `pthread_key_create`, C11's `tss_create`.
//!
//! Keys are numbers, given out one after the other. A value is memory of its thread's own.

use crate::action::{Action, Cell, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::Val;
use llvm::instruction::RmwOp;

impl Machine {
    pub(super) fn specific_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        Some(match name {
            "pthread_key_create" | "tss_create" => self.create_key(local, arguments),
            "pthread_key_delete" | "tss_delete" => Ok(Val::Bits(0)),
            "pthread_setspecific" | "tss_set" => self.specific(local, &argument(0)).map(|object| {
                local.private.write(object, 0, 8, argument(1).word());
                Val::Bits(0)
            }),
            "pthread_getspecific" | "tss_get" => self
                .specific(local, &argument(0))
                .map(|object| self.peek(local, Cell { object, offset: 0, size: 8 }).into()),
            _ => return None,
        })
    }

    fn create_key(&mut self, local: &mut Local, arguments: &[Val]) -> Result<Val, Stop> {
        let (name, size, fill) = (Name::Keys, 1, Fill::Zero);
        let keys = self.space.intern(Object { name, size, fill, constant: false });
        let (cell, op, order) = (Cell::sync(keys, 0), RmwOp::Add, Order::Relaxed);
        let (operand, width) = (1, 32);
        let key = self.sync(local, Action::Update { cell, op, operand, width, order })?;
        let to = arguments.first().cloned().unwrap_or(Val::Undef);
        self.store_word(local, &to, 4, key, Order::Plain)?;
        if arguments.get(1).is_some_and(|destructor| *destructor != Val::Bits(0)) {
            self.note("destructors of threads' values (`pthread_key_create`) are not run");
        }
        Ok(Val::Bits(0))
    }

    /// The memory of the thread's value for a key.
    fn specific(&mut self, local: &Local, key: &Val) -> Result<ObjectId, Stop> {
        let keys = self.space.find(&Name::Keys);
        let (Val::Bits(key), Some(_)) = (key, keys) else {
            return Err(Stop::fail("a value of a thread by a key that was never created"));
        };
        let name = Name::Specific { thread: local.thread, key: *key as u32 };
        let (size, fill) = (8, Fill::Zero);
        Ok(self.space.intern(Object { name, size, fill, constant: false }))
    }
}
