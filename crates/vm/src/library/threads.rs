//! Threads, locks, barriers: POSIX and C11.
//!
//! A thread's start waits (acquire) for a cell that its parent writes (release), a join waits the same way for the
//! thread's end. A mutex is a cell that is 0 when it is free: locking waits for that, acquiring, and unlocking writes 0,
//! releasing. A condition variable may wake up at any time (POSIX and C11 allow it), so waiting is unlocking and
//! locking again. A barrier counts arrivals and waits for as many as its round needs.

use crate::access::displaced;
use crate::action::{Action, Cell, Failure, Order, Stop};
use crate::local::{Local, Starting, Then};
use crate::machine::{MOST_THREADS, Machine, Task};
use crate::space::{Name, ObjectId};
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;

/// What a writer adds to a readers-writer lock.
const WRITER: u32 = 1000;
const EBUSY: u128 = 16;
/// What C11 calls a lock that is taken.
const THRD_BUSY: u128 = 1;

impl Machine {
    pub(super) fn thread_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let zero = |result: Result<(), Stop>| result.map(|()| Val::Bits(0));
        Some(match name {
            "pthread_create" | "__VERIFIER_thread_create" => {
                zero(self.create_thread(local, &argument(0), &argument(2), vec![argument(3)]))
            }
            "thrd_create" => {
                zero(self.create_thread(local, &argument(0), &argument(1), vec![argument(2)]))
            }
            "pthread_join" | "__pthread_join" => {
                zero(self.join_thread(local, &argument(0), &argument(1), 8))
            }
            "thrd_join" => zero(self.join_thread(local, &argument(0), &argument(1), 4)),
            "pthread_exit" | "thrd_exit" => {
                self.end_thread(local, &argument(0)).map(|()| Val::Undef)
            }
            "pthread_detach" | "thrd_detach" => Ok(Val::Bits(0)),
            "pthread_self" | "thrd_current" => {
                Ok(Machine::pointer(self.threads[local.thread as usize].handle))
            }
            "pthread_equal" | "thrd_equal" => Ok(Val::Bits((argument(0) == argument(1)).into())),
            "pthread_mutexattr_settype" if argument(1) == Val::Bits(1) => {
                Stop::refuse("a recursive mutex")
            }
            "pthread_mutexattr_settype" => Ok(Val::Bits(0)),
            "mtx_init" if matches!(argument(1), Val::Bits(kind) if kind & 1 != 0) => {
                Stop::refuse("a recursive mutex")
            }
            "pthread_mutex_init" | "mtx_init" | "pthread_spin_init" | "pthread_rwlock_init" => {
                zero(self.set_lock(local, &argument(0), Order::Relaxed))
            }
            "pthread_mutex_destroy"
            | "mtx_destroy"
            | "pthread_spin_destroy"
            | "pthread_rwlock_destroy"
            | "pthread_cond_init"
            | "pthread_cond_destroy"
            | "cnd_init"
            | "cnd_destroy"
            | "pthread_barrier_destroy"
            | "pthread_cond_signal"
            | "pthread_cond_broadcast"
            | "cnd_signal"
            | "cnd_broadcast" => Ok(Val::Bits(0)),
            "pthread_mutex_lock" | "mtx_lock" if self.is_recursive(local, &argument(0)) => {
                Stop::refuse("a recursive mutex")
            }
            "pthread_mutex_lock" | "mtx_lock" | "pthread_spin_lock" => {
                zero(self.lock(local, &argument(0), 1, 1))
            }
            "pthread_mutex_trylock" | "pthread_spin_trylock" => {
                self.try_lock(local, &argument(0), EBUSY)
            }
            "mtx_trylock" => self.try_lock(local, &argument(0), THRD_BUSY),
            "pthread_mutex_unlock" | "mtx_unlock" | "pthread_spin_unlock" => {
                zero(self.set_lock(local, &argument(0), Order::Release))
            }
            "pthread_rwlock_wrlock" => {
                let locked = self.lock(local, &argument(0), 1, WRITER);
                zero(locked.and_then(|()| self.hold(local, &argument(0), WRITER)))
            }
            "pthread_rwlock_rdlock" => {
                let locked = self.lock(local, &argument(0), MOST_THREADS as u32, 1);
                zero(locked.and_then(|()| self.hold(local, &argument(0), 1)))
            }
            "pthread_rwlock_unlock" => zero(self.unlock_shared(local, &argument(0))),
            "pthread_cond_wait" | "cnd_wait" => {
                self.note("condition variables may wake up at any time, so waiting for ever is not noticed");
                let unlocked = self.set_lock(local, &argument(1), Order::Release);
                zero(unlocked.and_then(|()| self.lock(local, &argument(1), 1, 1)))
            }
            "pthread_barrier_init" => zero(self.init_barrier(local, &argument(0), &argument(2))),
            "pthread_barrier_wait" => self.wait_at_barrier(local, &argument(0)),
            "pthread_once" | "call_once" | "__pthread_once" => {
                self.once(local, &argument(0), &argument(1))
            }
            _ => return None,
        })
    }

    /// Starts a thread and stores its handle.
    pub(super) fn create_thread(
        &mut self,
        local: &mut Local,
        handle: &Val,
        function: &Val,
        arguments: Vec<Val>,
    ) -> Result<(), Stop> {
        let function = match function {
            Val::Bits(address) => self.function_at(*address),
            _ => None,
        };
        let Some(function) = function else {
            return Err(Failure::memory(
                "a thread is started with a pointer that points to no function",
            ));
        };
        if self.alone {
            // From here on there is somebody to notice what the thread does.
            return Err(Stop::Company);
        }
        // Threads are started after those that were started before were waited for.
        if !local.joining.is_empty() {
            self.settle(local)?;
        }
        let object = self.thread_object(local.thread, local.started);
        self.store_word(local, handle, 8, Machine::pointer(object).word(), Order::Plain)?;
        for argument in &arguments {
            local.escape(argument.word(), &self.space);
        }
        local.starting.push(Starting { handle: object, task: Task { function, arguments } });
        local.started += 1;
        Ok(())
    }

    /// The object that stands for the thread that is joined.
    fn joined(&self, handle: &Val) -> Result<ObjectId, Stop> {
        if let Val::Bits(address) = handle
            && let Some((object, 0)) = self.space.locate(*address)
            && matches!(self.space.object(object).name, Name::Thread { .. })
        {
            return Ok(object);
        }
        Err(Failure::memory("a join of a thread that was never started"))
    }

    /// Waits for the threads that were joined one after the other.
    pub(crate) fn wait_for_all(&mut self, local: &mut Local) -> Result<(), Stop> {
        let handles = local.joining.clone();
        let teams: Vec<Vec<u32>> = handles.iter().map(|handle| self.teams_of(*handle)).collect();
        // Everybody in one team, and nobody else: their ends are counted.
        let whole = match teams.first().map(|first| &first[..]) {
            Some(&[team]) if teams.iter().all(|others| others[..] == [team]) => {
                let known = &self.teams[team as usize];
                (known.threads.len() == handles.len() && !known.one_by_one).then_some(team)
            }
            _ => None,
        };
        if let Some(team) = whole {
            let team = &self.teams[team as usize];
            let (cell, least) = (Cell::ended(team.object), team.threads.len() as u128);
            self.noticed(local, Action::Await { cell, least })?;
            return Ok(());
        }
        for (handle, teams) in handles.into_iter().zip(teams) {
            if !teams.iter().all(|team| self.teams[*team as usize].one_by_one) {
                return Err(self.separate(&teams));
            }
            self.noticed(local, Action::Await { cell: Cell::end(handle), least: 1 })?;
        }
        Ok(())
    }

    /// Waits for a thread's end and stores what it returned.
    pub(super) fn join_thread(
        &mut self,
        local: &mut Local,
        handle: &Val,
        result: &Val,
        size: u8,
    ) -> Result<(), Stop> {
        let object = self.joined(handle)?;
        if local.starting.iter().any(|starting| starting.handle == object) {
            self.settle(local)?;
        }
        if matches!(result, Val::Bits(0) | Val::Undef) {
            local.joining.push(object);
            return Ok(());
        }
        let teams = self.teams_of(object);
        if !teams.iter().all(|team| self.teams[*team as usize].one_by_one) {
            return Err(self.separate(&teams));
        }
        let ended = self.visible(local, Action::Await { cell: Cell::end(object), least: 1 })?;
        let returned = match ended {
            Word::Bits(bits) => Word::Bits((bits - 1) & crate::value::mask(8 * u32::from(size))),
            Word::Undef => Word::Undef,
        };
        self.store_word(local, result, size, returned, Order::Plain)
    }

    /// Ends the thread with a result.
    pub(crate) fn end_thread(&mut self, local: &mut Local, result: &Val) -> Result<(), Stop> {
        let member = &self.threads[local.thread as usize];
        if let Some(team) = member.team {
            let team = &self.teams[team as usize];
            let action = match (team.one_by_one, result) {
                (false, _) => Action::Update {
                    cell: Cell::ended(team.object),
                    op: RmwOp::Add,
                    operand: 1,
                    width: 32,
                    order: Order::Release,
                },
                (true, result) => {
                    let value = match result {
                        Val::Bits(bits) => Word::Bits(bits + 1),
                        _ => Word::Bits(1),
                    };
                    Action::Write { cell: Cell::end(member.handle), value, order: Order::Release }
                }
            };
            self.visible(local, action)?;
        }
        Err(Stop::Ended)
    }

    /// Was the mutex initialised as a recursive one, by what glibc keeps in it?
    fn is_recursive(&mut self, local: &Local, mutex: &Val) -> bool {
        let kind = displaced(mutex, 16);
        let Ok((object, offset)) = self.bytes_at(local, &kind, 4, false) else { return false };
        self.peek(local, Cell { object, offset, size: 4 }) == Word::Bits(1)
    }

    fn set_lock(&mut self, local: &mut Local, lock: &Val, order: Order) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        self.sync(local, Action::Write { cell, value: Word::ZERO, order })?;
        Ok(())
    }

    fn lock(&mut self, local: &mut Local, lock: &Val, below: u32, add: u32) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        self.sync(local, Action::Lock { cell, below, add })?;
        Ok(())
    }

    fn try_lock(&mut self, local: &mut Local, lock: &Val, busy: u128) -> Result<Val, Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        let (success, failure) = (Order::Acquire, Order::Relaxed);
        let desired = Word::Bits(1);
        let action =
            Action::CompareExchange { cell, expected: 0, desired, success, failure, weak: false };
        let old = self.sync(local, action)?;
        Ok(Val::Bits(if old == Word::ZERO { 0 } else { busy }))
    }

    /// How the thread holds a readers-writer lock, which nobody else needs to know.
    fn held(cell: Cell) -> (u32, u8) {
        (cell.offset + (1 << 29), 4)
    }

    fn hold(&mut self, local: &mut Local, lock: &Val, how: u32) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        let (offset, size) = Machine::held(cell);
        local.private.write(cell.object, offset, size, Word::Bits(how.into()));
        Ok(())
    }

    fn unlock_shared(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        let (offset, size) = Machine::held(cell);
        let held = self.peek(local, Cell { object: cell.object, offset, size });
        let Word::Bits(operand) = held else {
            return Err(Failure::assertion(
                "a readers-writer lock is unlocked that the thread does not hold",
            ));
        };
        let (op, order) = (RmwOp::Sub, Order::Release);
        self.sync(local, Action::Update { cell, op, operand, width: 32, order })?;
        Ok(())
    }

    fn init_barrier(&mut self, local: &mut Local, barrier: &Val, count: &Val) -> Result<(), Stop> {
        self.set_lock(local, barrier, Order::Relaxed)?;
        let cell = self.sync_cell(local, barrier, 1)?;
        self.sync(local, Action::Write { cell, value: count.word(), order: Order::Relaxed })?;
        Ok(())
    }

    fn wait_at_barrier(&mut self, local: &mut Local, barrier: &Val) -> Result<Val, Stop> {
        let count = self.sync_cell(local, barrier, 1)?;
        let count = match self.sync(local, Action::Read { cell: count, order: Order::Relaxed })? {
            Word::Bits(count) if count > 0 => count,
            _ => return Err(Failure::memory("a barrier that was never initialised")),
        };
        let cell = self.sync_cell(local, barrier, 0)?;
        let (op, width, order) = (RmwOp::Add, 32, Order::AcqRel);
        let Word::Bits(old) =
            self.sync(local, Action::Update { cell, op, operand: 1, width, order })?
        else {
            return Err(Failure::memory("a barrier that was never initialised"));
        };
        let least = (old / count + 1) * count;
        if old + 1 == least {
            return Ok(Val::Bits(crate::value::mask(32)));
        }
        self.sync(local, Action::Await { cell, least })?;
        Ok(Val::Bits(0))
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
                let Some(function) = function else {
                    return Err(Failure::memory(
                        "`once` with a pointer that points to no function",
                    ));
                };
                self.enter(local, function, Vec::new(), Then::Once(cell))?;
                Ok(Val::Undef)
            }
        }
    }

    /// Is the thread the first to come by? If not, it waits until the first is done.
    pub(super) fn first(&mut self, local: &mut Local, cell: Cell) -> Result<bool, Stop> {
        let (success, failure) = (Order::Acquire, Order::Acquire);
        let desired = Word::Bits(1);
        let action =
            Action::CompareExchange { cell, expected: 0, desired, success, failure, weak: false };
        match self.sync(local, action)? {
            Word::ZERO => Ok(true),
            Word::Bits(1) => {
                self.sync(local, Action::Await { cell, least: 2 })?;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// A part of an object that is `by` bytes further on.
    pub(super) fn field(address: &Val, by: u64) -> Val {
        displaced(address, by)
    }
}
