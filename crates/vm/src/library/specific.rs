//! Values that each thread has for a key: `pthread_key_create`, C11's `tss_create`.
//!
//! Keys are numbers, given out one after the other. A value is memory of its thread's own. When a thread ends, the destructors
//! of keys for which it has values are called; not when `main` returns, as POSIX has it.

use crate::action::{Action, Cell, Order, Stop};
use crate::library::AtExit;
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;

/// No program has more.
const MOST_KEYS: u128 = 1024;

/// Where the address of a key's destructor is.
fn destructor_of(keys: ObjectId, key: u128) -> Val {
    Machine::field(&Machine::pointer(keys), 8 * key as u64)
}

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
            "pthread_setspecific" | "tss_set" => {
                self.set_specific(local, &argument(0), &argument(1)).map(|()| Val::Bits(0))
            }
            "pthread_getspecific" | "tss_get" => self
                .specific(local, &argument(0))
                .map(|object| self.peek(local, Cell { object, offset: 0, size: 8 }).into()),
            _ => return None,
        })
    }

    fn create_key(&mut self, local: &mut Local, arguments: &[Val]) -> Result<Val, Stop> {
        let keys = self.keys();
        let (cell, op, order) = (Cell::sync(keys, 0), RmwOp::Add, Order::Relaxed);
        let (operand, width) = (1, 32);
        let key = self.sync(local, Action::Update { cell, op, operand, width, order })?;
        let to = arguments.first().cloned().unwrap_or(Val::Undef);
        let Word::Bits(number) = key else {
            return Stop::refuse("a key for values of threads without a number");
        };
        if number >= MOST_KEYS {
            return Stop::refuse(format!("more than {MOST_KEYS} keys for values of threads"));
        }
        let destructor = arguments.get(1).map_or(Word::ZERO, Val::word);
        let at = destructor_of(keys, number);
        self.store_word(local, &at, 8, destructor, Order::Plain)?;
        self.store_word(local, &to, 4, key, Order::Plain)?;
        Ok(Val::Bits(0))
    }

    fn keys(&mut self) -> ObjectId {
        let (name, size, fill) = (Name::Keys, 8 * MOST_KEYS as u64, Fill::Zero);
        self.space.intern(Object { name, size, fill, constant: false })
    }

    /// Sets the thread's value for a key. If the key has a destructor, it is to be called when the thread ends.
    fn set_specific(&mut self, local: &mut Local, key: &Val, value: &Val) -> Result<(), Stop> {
        let object = self.specific(local, key)?;
        let Val::Bits(number) = *key else { return Ok(()) };
        let at = destructor_of(self.keys(), number);
        let destructor = self.load_word(local, &at, 8, Order::Plain)?;
        local.private.write(object, 0, 8, value.word());
        let key = Some(number as u32);
        if destructor == Word::ZERO || local.at_exit.iter().any(|later| later.key == key) {
            return Ok(());
        }
        if local.thread == 0 {
            self.note("destructors of values that `main` has for keys are not run");
            return Ok(());
        }
        let function = match destructor {
            Word::Bits(address) => self.function_at(address),
            _ => None,
        };
        let Some(function) = function else {
            return Stop::refuse(
                "a destructor for values of threads that is no function of the program",
            );
        };
        local.at_exit.push(AtExit { function, argument: None, key, with_thread: true });
        Ok(())
    }

    /// The thread's value for a key, which it has no longer.
    pub(super) fn take_specific(&mut self, local: &mut Local, key: u32) -> Val {
        let name = Name::Specific { thread: local.thread, key };
        let Some(object) = self.space.find(&name) else { return Val::Bits(0) };
        let value = self.peek(local, Cell { object, offset: 0, size: 8 });
        local.private.write(object, 0, 8, Word::ZERO);
        value.into()
    }

    /// The memory of the thread's value for a key.
    fn specific(&mut self, local: &Local, key: &Val) -> Result<ObjectId, Stop> {
        let keys = self.space.find(&Name::Keys);
        let (Val::Bits(key @ ..MOST_KEYS), Some(_)) = (key, keys) else {
            return Err(Stop::fail("a value of a thread by a key that was never created"));
        };
        let name = Name::Specific { thread: local.thread, key: *key as u32 };
        let (size, fill) = (8, Fill::Zero);
        Ok(self.space.intern(Object { name, size, fill, constant: false }))
    }
}
