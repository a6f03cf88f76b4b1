//! POSIX semaphores.
//!
//! A semaphore's cell holds how much is missing to [`MOST`], so that waiting is what it is for a lock: wait until the
//! cell is less than that, and add 1, acquiring. Posting takes 1 away, releasing. What `sem_init` writes to the memory of
//! the semaphore tells one that was initialised from one that never was.

use crate::action::{Action, Cell, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;

/// No semaphore is greater.
const MOST: u128 = 1 << 10;
/// Why a semaphore was not taken.
const EAGAIN: u128 = 11;
const ETIMEDOUT: u128 = 110;
/// What is in the memory of a semaphore that was initialised.
const INITIALISED: Word = Word::Bits(1);

impl Machine {
    pub(super) fn semaphore_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let done = |result: Result<(), Stop>| result.map(|()| Val::Bits(0));
        Some(match name {
            "sem_init" => done(self.init_semaphore(local, &argument(0), &argument(2))),
            "sem_destroy" => {
                let known = self.semaphore(local, &argument(0));
                done(known.and_then(|_| {
                    self.store_word(local, &argument(0), 4, Word::ZERO, Order::Plain)
                }))
            }
            "sem_wait" => done(self.wait_semaphore(local, &argument(0))),
            "sem_timedwait" | "sem_clockwait" => {
                self.read_time(local, arguments.last()).and_then(|()| {
                    match self.visible(local, Action::Choose { alternatives: 2 })? {
                        Word::ZERO => done(self.wait_semaphore(local, &argument(0))),
                        _ => {
                            self.semaphore(local, &argument(0))?;
                            self.fails_with(local, ETIMEDOUT)
                        }
                    }
                })
            }
            "sem_trywait" => self.try_semaphore(local, &argument(0)),
            "sem_post" => done(self.post_semaphore(local, &argument(0))),
            "sem_getvalue" => self.semaphore(local, &argument(0)).and_then(|cell| {
                let value = self.sync(local, Action::Read { cell, order: Order::Relaxed })?;
                let value = match value {
                    Word::Bits(missing) => Word::Bits(MOST.saturating_sub(missing)),
                    other => other,
                };
                self.store_word(local, &argument(1), 4, value, Order::Plain)?;
                Ok(Val::Bits(0))
            }),
            _ => return None,
        })
    }

    fn init_semaphore(
        &mut self,
        local: &mut Local,
        semaphore: &Val,
        value: &Val,
    ) -> Result<(), Stop> {
        let Val::Bits(value) = *value else {
            return Err(Stop::fail("a semaphore is initialised by a value that was never written"));
        };
        if value >= MOST {
            return Stop::refuse(format!("a semaphore of {value}; fewer than {MOST} are checked"));
        }
        self.store_word(local, semaphore, 4, INITIALISED, Order::Plain)?;
        let cell = self.sync_cell(local, semaphore, 0)?;
        let value = Word::Bits(MOST - value);
        self.sync(local, Action::Write { cell, value, order: Order::Relaxed })?;
        Ok(())
    }

    /// The cell of a semaphore that was initialised.
    fn semaphore(&mut self, local: &mut Local, semaphore: &Val) -> Result<Cell, Stop> {
        match self.load_word(local, semaphore, 4, Order::Plain)? {
            INITIALISED => self.sync_cell(local, semaphore, 0),
            _ => Err(Stop::fail("a semaphore is used that was never initialised, or is destroyed")),
        }
    }

    fn wait_semaphore(&mut self, local: &mut Local, semaphore: &Val) -> Result<(), Stop> {
        let cell = self.semaphore(local, semaphore)?;
        self.sync(local, Action::Lock { cell, below: MOST as u32, add: 1 })?;
        Ok(())
    }

    /// Waits if that takes no time. If somebody else changes the semaphore meanwhile and leaves some of it, the call is made
    /// again: it may fail only when there is nothing to take.
    fn try_semaphore(&mut self, local: &mut Local, semaphore: &Val) -> Result<Val, Stop> {
        let cell = self.semaphore(local, semaphore)?;
        match self.sync(local, Action::Read { cell, order: Order::Relaxed })? {
            Word::Bits(missing) if missing < MOST => {
                let (success, failure) = (Order::Acquire, Order::Relaxed);
                let (expected, desired, weak) = (missing, Word::Bits(missing + 1), false);
                let action =
                    Action::CompareExchange { cell, expected, desired, success, failure, weak };
                match self.sync(local, action)? {
                    Word::Bits(missing) if missing == expected => Ok(Val::Bits(0)),
                    Word::Bits(missing) if missing < MOST => {
                        local.calls_again = true;
                        Ok(Val::Undef)
                    }
                    _ => self.fails_with(local, EAGAIN),
                }
            }
            _ => self.fails_with(local, EAGAIN),
        }
    }

    fn post_semaphore(&mut self, local: &mut Local, semaphore: &Val) -> Result<(), Stop> {
        let cell = self.semaphore(local, semaphore)?;
        let (op, operand, width, order) = (RmwOp::Sub, 1, 32, Order::Release);
        match self.sync(local, Action::Update { cell, op, operand, width, order })? {
            Word::Bits(missing) if missing > 1 => Ok(()),
            _ => Stop::refuse(format!("a semaphore of {MOST} or more")),
        }
    }
}
