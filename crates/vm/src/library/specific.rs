//! Values that each thread has for a key: `pthread_key_create`, C11's `tss_create`.
//!
//! Keys are numbers, given out one after the other. A value is memory of its thread's own. When a thread ends, the destructors
//! of keys for which it has values are called, in any order; not when `main` returns, as POSIX has it. Values that destructors
//! set are destroyed in another round, of which there are [`MOST_ROUNDS`]. A key that was deleted has no destructor any more, and
//! no values: it is an error to use it.

use crate::action::{Action, Cell, Order, Stop};
use crate::library::AtExit;
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object, ObjectId};
use crate::value::{Val, Word};
use llvm::FunctionId;
use llvm::instruction::RmwOp;

/// No program has more.
const MOST_KEYS: u128 = 1024;

/// `PTHREAD_DESTRUCTOR_ITERATIONS`: what is set after so many rounds is left alone.
const MOST_ROUNDS: u32 = 4;

/// Was the key deleted? 0 means no.
fn deleted(keys: ObjectId, key: u32) -> Cell {
    Cell::sync(keys, 1 + key)
}

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
            "pthread_key_delete" | "tss_delete" => {
                self.delete_key(local, &argument(0)).map(|()| Val::Bits(0))
            }
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

    fn delete_key(&mut self, local: &mut Local, key: &Val) -> Result<(), Stop> {
        let (Val::Bits(key @ ..MOST_KEYS), Some(keys)) = (key, self.space.find(&Name::Keys)) else {
            return Err(Stop::fail("a key is deleted that was never created"));
        };
        let (cell, op, order) = (deleted(keys, *key as u32), RmwOp::Xchg, Order::Relaxed);
        let (operand, width) = (1, 32);
        match self.sync(local, Action::Update { cell, op, operand, width, order })? {
            Word::ZERO => Ok(()),
            _ => Err(Stop::fail("a key is deleted twice")),
        }
    }

    fn is_deleted(&mut self, local: &mut Local, key: u32) -> Result<bool, Stop> {
        let cell = deleted(self.keys(), key);
        Ok(self.sync(local, Action::Read { cell, order: Order::Relaxed })? != Word::ZERO)
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
        let round = local.exit_round;
        local.at_exit.push(AtExit { function, argument: None, key, with_thread: true, round });
        Ok(())
    }

    /// The next destructor of a value that the thread has for a key, and the value, which it has no longer.
    pub(super) fn next_specific(
        &mut self,
        local: &mut Local,
    ) -> Result<Option<(FunctionId, Val)>, Stop> {
        let mut later = local.at_exit.clone();
        later.retain(|it| it.key.is_none_or(|key| self.value_of(local, key).is_some()));
        local.at_exit = later;
        while let Some(round) = local.at_exit.iter().filter_map(AtExit::round_of_key).min() {
            if round >= MOST_ROUNDS {
                self.note(format!(
                    "values for keys that destructors set again are left alone after {MOST_ROUNDS} rounds"
                ));
                local.at_exit.retain(|it| it.key.is_none());
                break;
            }
            let is_next = |it: &AtExit| it.round_of_key() == Some(round);
            let among = local.at_exit.iter().filter(|it| is_next(it)).count() as u32;
            let chosen = match among {
                1 => 0,
                alternatives => match self.visible(local, Action::Choose { alternatives })? {
                    Word::Bits(chosen) => chosen as usize,
                    _ => 0,
                },
            };
            let all = local.at_exit.iter().enumerate();
            let mut next = all.filter(|(_, it)| is_next(it)).map(|(place, _)| place);
            let Some(place) = next.nth(chosen) else { break };
            let AtExit { function, key, .. } = local.at_exit.remove(place);
            let Some((key, (object, value))) =
                key.and_then(|key| Some((key, self.value_of(local, key)?)))
            else {
                continue;
            };
            if !self.is_deleted(local, key)? {
                local.private.write(object, 0, 8, Word::ZERO);
                local.exit_round = round + 1;
                return Ok(Some((function, value.into())));
            }
        }
        Ok(None)
    }

    /// The thread's value for a key, and where it is, if it is not null.
    fn value_of(&self, local: &Local, key: u32) -> Option<(ObjectId, Word)> {
        let object = self.space.find(&Name::Specific { thread: local.thread, key })?;
        let value = self.peek(local, Cell { object, offset: 0, size: 8 });
        (value != Word::ZERO).then_some((object, value))
    }

    /// The memory of the thread's value for a key.
    fn specific(&mut self, local: &mut Local, key: &Val) -> Result<ObjectId, Stop> {
        let keys = self.space.find(&Name::Keys);
        let (Val::Bits(key @ ..MOST_KEYS), Some(_)) = (key, keys) else {
            return Err(Stop::fail("a value of a thread by a key that was never created"));
        };
        if self.is_deleted(local, *key as u32)? {
            return Err(Stop::fail("a value of a thread by a key that was deleted"));
        }
        let name = Name::Specific { thread: local.thread, key: *key as u32 };
        let (size, fill) = (8, Fill::Zero);
        Ok(self.space.intern(Object { name, size, fill, constant: false }))
    }
}
