//! Locks, condition variables, barriers, `once`: POSIX and C11.
//!
//! A mutex is a cell that is 0 when it is free: locking waits for that, acquiring, and unlocking writes 0, releasing. A
//! readers-writer lock counts its readers, and a writer counts as very many. Each thread knows which locks it holds, and a
//! lock that was destroyed has a value of its own, so unlocking what somebody else holds and using what is gone are errors.
//! Whether a lock was initialised is asked of the memory that it is in. A condition variable may wake up at any time (POSIX
//! and C11 allow it), so waiting is unlocking and locking again. A barrier counts arrivals and waits for as many as its
//! round needs. What has a time limit may run out of time at any time.

use crate::WAITING_UNNOTICED;
use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::team::MOST_THREADS;
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;

/// What a writer adds to a readers-writer lock.
const WRITER: u32 = 1000;
/// What a lock holds that was destroyed.
pub(crate) const DESTROYED: Word = Word::Bits(1 << 20);
/// Where glibc keeps of which kind a mutex is; and kinds that tell who locks it again, or let them.
const KIND: u64 = 16;
const RECURSIVE: Word = Word::Bits(1);
const CHECKING: Word = Word::Bits(2);
const EPERM: u128 = 1;
const EBUSY: u128 = 16;
const EDEADLK: u128 = 35;
const ETIMEDOUT: u128 = 110;
/// What C11 calls a lock that is taken, and one that took too long.
const THRD_BUSY: u128 = 1;
const THRD_TIMEDOUT: u128 = 4;

impl Machine {
    pub(super) fn lock_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let zero = |result: Result<(), Stop>| result.map(|()| Val::Bits(0));
        Some(match name {
            "pthread_mutexattr_init" => {
                zero(self.store_word(local, &argument(0), 4, Word::ZERO, Order::Plain))
            }
            "pthread_mutexattr_settype" => {
                let kind = argument(1).word();
                zero(self.store_word(local, &argument(0), 4, kind, Order::Plain))
            }
            "pthread_mutex_init" => zero(self.init_mutex(local, &argument(0), &argument(1))),
            "mtx_init" => {
                let recursive = matches!(argument(1), Val::Bits(kind) if kind & 1 != 0);
                let kind = if recursive { RECURSIVE } else { Word::ZERO };
                let set = self.set_kind(local, &argument(0), kind);
                zero(set.and_then(|()| self.init_lock(local, &argument(0))))
            }
            "pthread_spin_init" | "pthread_rwlock_init" => {
                zero(self.init_lock(local, &argument(0)))
            }
            "pthread_mutex_destroy"
            | "mtx_destroy"
            | "pthread_spin_destroy"
            | "pthread_rwlock_destroy" => zero(self.destroy_lock(local, &argument(0))),
            "pthread_barrier_destroy" => zero(self.destroy_barrier(local, &argument(0))),
            "pthread_cond_init" | "cnd_init" => zero(self.mark_initialised(local, &argument(0))),
            "pthread_cond_destroy" | "cnd_destroy" => {
                zero(self.destroy_condition(local, &argument(0)))
            }
            "pthread_cond_signal" | "pthread_cond_broadcast" | "cnd_signal" | "cnd_broadcast" => {
                zero(self.initialised(local, &argument(0), "a condition variable"))
            }
            "pthread_mutex_lock" | "mtx_lock" => match self.relock(local, &argument(0), EDEADLK) {
                Ok(Some(result)) => Ok(result),
                Ok(None) => zero(self.lock(local, &argument(0), 1, 1)),
                Err(stop) => Err(stop),
            },
            "pthread_spin_lock" => zero(self.lock(local, &argument(0), 1, 1)),
            "pthread_mutex_trylock" => match self.relock(local, &argument(0), EBUSY) {
                Ok(Some(result)) => Ok(result),
                Ok(None) => match self.is_called_by_cxx(local) {
                    true => self.lock_or_not(local, &argument(0), (1, 1), EBUSY),
                    false => self.try_lock(local, &argument(0)),
                },
                Err(stop) => Err(stop),
            },
            "pthread_spin_trylock" => self.try_lock(local, &argument(0)),
            "mtx_trylock" => match self.relock(local, &argument(0), THRD_BUSY) {
                Ok(Some(result)) => Ok(result),
                Ok(None) => self.lock_or_not(local, &argument(0), (1, 1), THRD_BUSY),
                Err(stop) => Err(stop),
            },
            "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
                match self.relock(local, &argument(0), EDEADLK) {
                    Ok(Some(result)) => Ok(result),
                    Ok(None) => self
                        .read_time(local, arguments.last())
                        .and_then(|()| self.lock_or_not(local, &argument(0), (1, 1), ETIMEDOUT)),
                    Err(stop) => Err(stop),
                }
            }
            "mtx_timedlock" => match self.relock(local, &argument(0), EDEADLK) {
                Ok(Some(result)) => Ok(result),
                Ok(None) => self
                    .read_time(local, arguments.last())
                    .and_then(|()| self.lock_or_not(local, &argument(0), (1, 1), THRD_TIMEDOUT)),
                Err(stop) => Err(stop),
            },
            "pthread_rwlock_timedwrlock" | "pthread_rwlock_clockwrlock" => self
                .read_time(local, arguments.last())
                .and_then(|()| self.lock_or_not(local, &argument(0), (1, WRITER), ETIMEDOUT)),
            "pthread_rwlock_timedrdlock" | "pthread_rwlock_clockrdlock" => {
                let readers = MOST_THREADS as u32;
                self.read_time(local, arguments.last())
                    .and_then(|()| self.lock_or_not(local, &argument(0), (readers, 1), ETIMEDOUT))
            }
            "pthread_rwlock_trywrlock" | "pthread_rwlock_tryrdlock" => {
                let (below, add) = match name {
                    "pthread_rwlock_trywrlock" => (1, WRITER),
                    _ => (MOST_THREADS as u32, 1),
                };
                match self.is_called_by_cxx(local) {
                    true => self.lock_or_not(local, &argument(0), (below, add), EBUSY),
                    false => self.try_to_share(local, &argument(0), below, add),
                }
            }
            "pthread_cond_timedwait" | "pthread_cond_clockwait" => {
                self.wait_in_time(local, arguments, ETIMEDOUT)
            }
            "cnd_timedwait" => self.wait_in_time(local, arguments, THRD_TIMEDOUT),
            "pthread_mutex_unlock" | "mtx_unlock" => match self.unlock_once(local, &argument(0)) {
                Ok(Some(result)) => Ok(result),
                Ok(None) => zero(self.unlock(local, &argument(0))),
                Err(stop) => Err(stop),
            },
            "pthread_spin_unlock" => zero(self.unlock(local, &argument(0))),
            "pthread_rwlock_wrlock" => zero(self.lock(local, &argument(0), 1, WRITER)),
            "pthread_rwlock_rdlock" => zero(self.lock(local, &argument(0), MOST_THREADS as u32, 1)),
            "pthread_rwlock_unlock" => zero(self.unlock_shared(local, &argument(0))),
            "pthread_cond_wait" | "cnd_wait" => {
                self.wait_for_signal(local, &argument(0), &argument(1))
            }
            "pthread_barrier_init" => zero(self.init_barrier(local, &argument(0), &argument(2))),
            "pthread_barrier_wait" => self.wait_at_barrier(local, &argument(0)),
            "pthread_once" | "call_once" | "__pthread_once" => {
                self.once(local, &argument(0), &argument(1))
            }
            _ => return None,
        })
    }

    fn init_mutex(&mut self, local: &mut Local, mutex: &Val, attributes: &Val) -> Result<(), Stop> {
        let kind = match attributes {
            Val::Bits(0) => Word::ZERO,
            _ => self.load_word(local, attributes, 4, Order::Plain)?,
        };
        if !matches!(kind, Word::Bits(_)) {
            return Err(Stop::fail("a mutex is made with attributes that were never initialised"));
        }
        self.set_kind(local, mutex, kind)?;
        self.init_lock(local, mutex)
    }

    /// Of which kind a mutex is stands where glibc keeps it, so that one that is initialised by its memory has a kind, too.
    fn set_kind(&mut self, local: &mut Local, mutex: &Val, kind: Word) -> Result<(), Stop> {
        self.store_word(local, &displaced(mutex, KIND), 4, kind, Order::Plain)
    }

    fn kind(&mut self, local: &mut Local, mutex: &Val) -> Result<Word, Stop> {
        let kind = displaced(mutex, KIND);
        match self.bytes_at(local, &kind, 4, false) {
            Ok(_) => self.load_word(local, &kind, 4, Order::Plain),
            Err(_) => Ok(Word::ZERO),
        }
    }

    /// A mutex is locked that the thread holds, and that is not for waiting for ever: what comes of it.
    fn relock(&mut self, local: &mut Local, mutex: &Val, error: u128) -> Result<Option<Val>, Stop> {
        let kind = self.kind(local, mutex)?;
        if kind != RECURSIVE && kind != CHECKING {
            return Ok(None);
        }
        let cell = self.lock_cell(local, mutex)?;
        if self.held(local, cell) == 0 {
            return Ok(None);
        }
        if kind == CHECKING {
            return Ok(Some(Val::Bits(error)));
        }
        self.hold_more(local, cell, 1);
        Ok(Some(Val::Bits(0)))
    }

    /// A recursive mutex is unlocked that the thread holds several times, or one that can tell that the thread does not hold it:
    /// what comes of it.
    fn unlock_once(&mut self, local: &mut Local, mutex: &Val) -> Result<Option<Val>, Stop> {
        let kind = self.kind(local, mutex)?;
        if kind != RECURSIVE && kind != CHECKING {
            return Ok(None);
        }
        let cell = self.lock_cell(local, mutex)?;
        match self.held(local, cell) {
            0 => Ok(Some(Val::Bits(EPERM))),
            1 => Ok(None),
            held => {
                self.hold(local, cell, held - 1);
                Ok(Some(Val::Bits(0)))
            }
        }
    }

    /// What was destroyed was never initialised, as far as later uses are concerned.
    pub(super) fn destroy_condition(
        &mut self,
        local: &mut Local,
        condition: &Val,
    ) -> Result<(), Stop> {
        self.initialised(local, condition, "a condition variable")?;
        self.store_word(local, condition, 4, Word::Undef, Order::Plain)
    }

    /// Looks whether a lock was initialised, by the memory that it is in: initialising writes it plainly, and every use
    /// reads it plainly.
    pub(super) fn initialised(
        &mut self,
        local: &mut Local,
        lock: &Val,
        what: &str,
    ) -> Result<(), Stop> {
        match self.load_word(local, lock, 4, Order::Plain)? {
            Word::Bits(_) => Ok(()),
            Word::Undef | Word::Partly(_) => Err(Stop::fail(format!(
                "{what} is used that was never initialised, or is destroyed"
            ))),
        }
    }

    pub(super) fn mark_initialised(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        self.store_word(local, lock, 4, Word::ZERO, Order::Plain)
    }

    /// The cell of a lock that was initialised.
    fn lock_cell(&mut self, local: &mut Local, lock: &Val) -> Result<Cell, Stop> {
        self.initialised(local, lock, "a lock")?;
        self.sync_cell(local, lock, 0)
    }

    fn init_lock(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        self.mark_initialised(local, lock)?;
        let cell = self.sync_cell(local, lock, 0)?;
        if self.held(local, cell) != 0 {
            return Err(Stop::fail("a lock is initialised that the thread holds"));
        }
        self.set_lock(local, lock)
    }

    fn set_lock(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        self.sync(local, Action::Write { cell, value: Word::ZERO, order: Order::Relaxed })?;
        Ok(())
    }

    pub(super) fn lock(
        &mut self,
        local: &mut Local,
        lock: &Val,
        below: u32,
        add: u32,
    ) -> Result<(), Stop> {
        let cell = self.lock_cell(local, lock)?;
        if self.sync(local, Action::Lock { cell, below, add })? == DESTROYED {
            return Err(Stop::fail("a lock is taken that was destroyed"));
        }
        self.hold_more(local, cell, add);
        Ok(())
    }

    /// Gives back a lock that nobody shares.
    pub(super) fn unlock(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.lock_cell(local, lock)?;
        if self.held(local, cell) == 0 {
            return Err(Stop::fail("a lock is unlocked that the thread does not hold"));
        }
        self.sync(local, Action::Write { cell, value: Word::ZERO, order: Order::Release })?;
        self.hold(local, cell, 0);
        Ok(())
    }

    fn destroy_lock(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.lock_cell(local, lock)?;
        let (success, failure) = (Order::Relaxed, Order::Relaxed);
        let (expected, desired, weak) = (0, DESTROYED, false);
        let action = Action::CompareExchange { cell, expected, desired, success, failure, weak };
        match self.sync(local, action)? {
            Word::ZERO => Ok(()),
            DESTROYED => Err(Stop::fail("a lock is destroyed twice")),
            _ => Err(Stop::fail("a lock is destroyed while somebody holds it")),
        }
    }

    fn try_lock(&mut self, local: &mut Local, lock: &Val) -> Result<Val, Stop> {
        let cell = self.lock_cell(local, lock)?;
        let (success, failure) = (Order::Acquire, Order::Relaxed);
        let (expected, desired, weak) = (0, Word::Bits(1), false);
        let action = Action::CompareExchange { cell, expected, desired, success, failure, weak };
        match self.sync(local, action)? {
            Word::ZERO => {
                self.hold(local, cell, 1);
                Ok(Val::Bits(0))
            }
            DESTROYED => Err(Stop::fail("a lock is tried that was destroyed")),
            _ => Ok(Val::Bits(EBUSY)),
        }
    }

    /// Takes a lock, or does not, for no reason: where there is a time limit, and where C and C++ allow an attempt to fail
    /// although nobody holds the lock. So an attempt that fails tells nothing, and reads nothing that could be stale.
    fn lock_or_not(
        &mut self,
        local: &mut Local,
        lock: &Val,
        (below, add): (u32, u32),
        failed: u128,
    ) -> Result<Val, Stop> {
        match self.visible(local, Action::Choose { alternatives: 2 })? {
            Word::ZERO => self.lock(local, lock, below, add).map(|()| Val::Bits(0)),
            _ => self.lock_cell(local, lock).map(|_| Val::Bits(failed)),
        }
    }

    /// Reads a time that is waited for.
    pub(super) fn read_time(&mut self, local: &mut Local, at: Option<&Val>) -> Result<(), Stop> {
        match at {
            None | Some(Val::Bits(0)) => Ok(()),
            Some(at) => self.written_bytes_of(local, at, 16).map(|_| ()),
        }
    }

    /// Is it C++'s `try_lock` that tries, which may fail although nobody holds the lock ([thread.mutex.requirements.mutex])?
    fn is_called_by_cxx(&self, local: &Local) -> bool {
        local.frames.iter().rev().take(3).any(|frame| {
            let name = &self.module.function(frame.function).name;
            name.starts_with("_ZNSt")
                && (name.contains("8try_lock") || name.contains("15try_lock_shared"))
        })
    }

    /// Takes a readers-writer lock if that takes no time.
    fn try_to_share(
        &mut self,
        local: &mut Local,
        lock: &Val,
        below: u32,
        add: u32,
    ) -> Result<Val, Stop> {
        let cell = self.lock_cell(local, lock)?;
        let (success, failure) = (Order::Acquire, Order::Relaxed);
        let expected = match self.sync(local, Action::Read { cell, order: Order::Relaxed })? {
            DESTROYED => return Err(Stop::fail("a lock is tried that was destroyed")),
            Word::Bits(held) if held < below.into() => held,
            _ => return Ok(Val::Bits(EBUSY)),
        };
        let (desired, weak) = (Word::Bits(expected + u128::from(add)), false);
        let action = Action::CompareExchange { cell, expected, desired, success, failure, weak };
        match self.sync(local, action)? {
            Word::Bits(held) if held == expected => {
                self.hold_more(local, cell, add);
                Ok(Val::Bits(0))
            }
            // Another reader came or went meanwhile, and that is no reason to fail.
            Word::Bits(held) if held < below.into() => {
                local.calls_again = true;
                Ok(Val::Undef)
            }
            _ => Ok(Val::Bits(EBUSY)),
        }
    }

    /// Waits on a condition variable: it may wake up at any time.
    fn wait_for_signal(
        &mut self,
        local: &mut Local,
        condition: &Val,
        mutex: &Val,
    ) -> Result<Val, Stop> {
        self.note(format!("condition variables may wake up at any time, {WAITING_UNNOTICED}"));
        self.initialised(local, condition, "a condition variable")?;
        match self.unlock_once(local, mutex)? {
            // It still holds it, so nobody can wake it up but for no reason.
            Some(Val::Bits(0)) => {
                let cell = self.lock_cell(local, mutex)?;
                self.hold_more(local, cell, 1);
                return Ok(Val::Bits(0));
            }
            Some(error) => return Ok(error),
            None => self.unlock(local, mutex)?,
        }
        self.lock(local, mutex, 1, 1)?;
        Ok(Val::Bits(0))
    }

    /// The same, and it may have taken too long.
    fn wait_in_time(
        &mut self,
        local: &mut Local,
        arguments: &[Val],
        too_late: u128,
    ) -> Result<Val, Stop> {
        let [condition, mutex, ..] = arguments else {
            return Stop::refuse("a condition variable without a lock");
        };
        self.read_time(local, arguments.last())?;
        match self.wait_for_signal(local, condition, mutex)? {
            Val::Bits(0) => {}
            error => return Ok(error),
        }
        match self.visible(local, Action::Choose { alternatives: 2 })? {
            Word::ZERO => Ok(Val::Bits(0)),
            _ => Ok(Val::Bits(too_late)),
        }
    }

    /// What the thread has added to a lock, which nobody else needs to know.
    fn held(&self, local: &Local, cell: Cell) -> u128 {
        match self.peek(local, Cell::held(cell)) {
            Word::Bits(held) => held,
            Word::Undef | Word::Partly(_) => 0,
        }
    }

    fn hold(&mut self, local: &mut Local, cell: Cell, how: u128) {
        let Cell { object, offset, size } = Cell::held(cell);
        local.private.write(object, offset, size, Word::Bits(how));
    }

    /// The thread has added something to a lock: a reader may do so several times.
    fn hold_more(&mut self, local: &mut Local, cell: Cell, add: u32) {
        let how = self.held(local, cell) + u128::from(add);
        self.hold(local, cell, how);
    }

    fn unlock_shared(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.lock_cell(local, lock)?;
        let held = self.held(local, cell);
        if held == 0 {
            return Err(Stop::fail("a lock is unlocked that the thread does not hold"));
        }
        let writer = u128::from(WRITER);
        let operand = if held >= writer { writer } else { 1 };
        let (op, order) = (RmwOp::Sub, Order::Release);
        self.sync(local, Action::Update { cell, op, operand, width: 32, order })?;
        self.hold(local, cell, held - operand);
        Ok(())
    }

    fn init_barrier(&mut self, local: &mut Local, barrier: &Val, count: &Val) -> Result<(), Stop> {
        self.set_lock(local, barrier)?;
        let Val::Bits(count @ 1..) = *count else {
            return Err(Stop::fail("a barrier for no threads"));
        };
        match self.exchange_count(local, barrier, count)? {
            Word::ZERO => Ok(()),
            _ => Err(Stop::fail("a barrier is initialised twice")),
        }
    }

    fn destroy_barrier(&mut self, local: &mut Local, barrier: &Val) -> Result<(), Stop> {
        match self.exchange_count(local, barrier, 0)? {
            Word::ZERO => Err(Stop::fail("a barrier is destroyed that is not initialised")),
            _ => Ok(()),
        }
    }

    /// Sets for how many threads a barrier is; 0 means that it is not initialised.
    fn exchange_count(
        &mut self,
        local: &mut Local,
        barrier: &Val,
        count: u128,
    ) -> Result<Word, Stop> {
        let cell = self.sync_cell(local, barrier, 1)?;
        let (op, width, order) = (RmwOp::Xchg, 32, Order::Relaxed);
        self.sync(local, Action::Update { cell, op, operand: count, width, order })
    }

    fn wait_at_barrier(&mut self, local: &mut Local, barrier: &Val) -> Result<Val, Stop> {
        let count = self.sync_cell(local, barrier, 1)?;
        let count = match self.sync(local, Action::Read { cell: count, order: Order::Relaxed })? {
            Word::Bits(count) if count > 0 => count,
            _ => return Err(Stop::fail("a thread waits at a barrier that is not initialised")),
        };
        let last = self.arrive(local, barrier, count)?;
        Ok(Val::Bits(if last { crate::value::mask(32) } else { 0 }))
    }

    /// Arrives at a barrier for this many threads, and waits for the others: is it the last?
    pub(super) fn arrive(
        &mut self,
        local: &mut Local,
        barrier: &Val,
        count: u128,
    ) -> Result<bool, Stop> {
        let cell = self.sync_cell(local, barrier, 0)?;
        let (op, width, order) = (RmwOp::Add, 32, Order::AcqRel);
        let Word::Bits(old) =
            self.sync(local, Action::Update { cell, op, operand: 1, width, order })?
        else {
            return Err(Stop::fail("a barrier that was never initialised"));
        };
        let least = (old / count + 1) * count;
        if old + 1 == least {
            return Ok(true);
        }
        self.sync(local, Action::Await { cell, least })?;
        Ok(false)
    }

    fn once(&mut self, local: &mut Local, once: &Val, function: &Val) -> Result<Val, Stop> {
        let cell = self.sync_cell(local, once, 0)?;
        match self.first(local, cell)? {
            false => Ok(Val::Bits(0)),
            true => {
                let function = match function {
                    Val::Bits(address) => self.function_at(*address),
                    _ => None,
                };
                let function = match function {
                    Some(proxy) if &*self.module.function(proxy).name == "__once_proxy" => {
                        self.once_call(local)?
                    }
                    other => other,
                };
                let Some(function) = function else {
                    return Err(Stop::fail("`once` with a pointer that points to no function"));
                };
                self.enter(local, function, Vec::new(), Then::Once(cell))?;
                Ok(Val::Undef)
            }
        }
    }

    /// Is the thread the first to come by? If not, it waits until the first is done. What is done is like a lock that is
    /// destroyed, whose holder is whoever came first: to see that is a read, not an update that would be a fence on machines
    /// with store buffers.
    pub(super) fn first(&mut self, local: &mut Local, cell: Cell) -> Result<bool, Stop> {
        let held = self.sync(local, Action::Lock { cell, below: 1, add: 1 })?;
        Ok(held != DESTROYED)
    }
}
