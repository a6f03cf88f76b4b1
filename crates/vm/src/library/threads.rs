//! Threads, locks, barriers: POSIX and C11.
//!
//! A thread's start waits (acquire) for a cell that its parent writes (release), a join waits the same way for the
//! thread's end. A mutex is a cell that is 0 when it is free: locking waits for that, acquiring, and unlocking writes 0,
//! releasing. Each thread knows which locks it holds, and a lock that was destroyed has a value of its own, so unlocking
//! what somebody else holds and using what is gone are errors. A condition variable may wake up at any time (POSIX and C11 allow it), so waiting is unlocking and
//! locking again. A barrier counts arrivals and waits for as many as its round needs.

use crate::WAITING_UNNOTICED;
use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Starting, Then};
use crate::machine::Machine;
use crate::space::{Name, ObjectId};
use crate::team::{Gift, MOST_THREADS, Task};
use crate::value::{Val, Word};
use llvm::FunctionId;
use llvm::instruction::RmwOp;

/// What a writer adds to a readers-writer lock.
const WRITER: u32 = 1000;
/// What a lock holds that was destroyed.
pub(crate) const DESTROYED: Word = Word::Bits(1 << 20);
/// How a thread ends that returns no defined value; results have at most 64 bits.
const NO_RESULT: Word = Word::Bits(1 << 64 | 1);
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
            "pthread_create" => {
                zero(self.create_thread(local, &argument(0), &argument(2), vec![argument(3)]))
            }
            "__VERIFIER_thread_create" | "__VERIFIER_thread_create_symmetric" => {
                self.new_thread(local, &argument(1), vec![argument(2)])
            }
            "__VERIFIER_thread_join" => zero(self.join_thread(local, &argument(0), &Val::Undef, 8)),
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
            "pthread_detach" | "thrd_detach" => {
                let joined = self.joined(&argument(0));
                zero(joined.and_then(|handle| Machine::settled(local, handle, "detached")))
            }
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
            | "pthread_rwlock_destroy" => zero(self.destroy_lock(local, &argument(0))),
            "pthread_barrier_destroy" => zero(self.destroy_barrier(local, &argument(0))),
            "pthread_cond_init"
            | "pthread_cond_destroy"
            | "cnd_init"
            | "cnd_destroy"
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
                zero(self.unlock(local, &argument(0)))
            }
            "pthread_rwlock_wrlock" => zero(self.lock(local, &argument(0), 1, WRITER)),
            "pthread_rwlock_rdlock" => zero(self.lock(local, &argument(0), MOST_THREADS as u32, 1)),
            "pthread_rwlock_unlock" => zero(self.unlock_shared(local, &argument(0))),
            "pthread_cond_wait" | "cnd_wait" => {
                self.note(format!(
                    "condition variables may wake up at any time, {WAITING_UNNOTICED}"
                ));
                let unlocked = self.unlock(local, &argument(1));
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
        let (object, function) = self.next_thread(local, function)?;
        self.store_word(local, handle, 8, Machine::pointer(object).word(), Order::Plain)?;
        self.start_task(local, object, function, arguments, Vec::new())
    }

    /// Starts a thread: its handle.
    fn new_thread(
        &mut self,
        local: &mut Local,
        function: &Val,
        arguments: Vec<Val>,
    ) -> Result<Val, Stop> {
        let (object, function) = self.next_thread(local, function)?;
        self.start_task(local, object, function, arguments, Vec::new())?;
        Ok(Machine::pointer(object))
    }

    /// The object that stands for the next thread that is started, and the function at an address that it runs.
    fn next_thread(
        &mut self,
        local: &mut Local,
        function: &Val,
    ) -> Result<(ObjectId, FunctionId), Stop> {
        let function = match function {
            Val::Bits(address) => self.function_at(*address),
            _ => None,
        };
        let Some(function) = function else {
            return Err(Stop::fail(
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
        Ok((self.thread_object(local.thread, local.started), function))
    }

    /// The thread is started with the next action that others can notice.
    pub(super) fn start_task(
        &mut self,
        local: &mut Local,
        handle: ObjectId,
        function: FunctionId,
        arguments: Vec<Val>,
        gifts: Vec<Gift>,
    ) -> Result<(), Stop> {
        if !local.joining.is_empty() {
            self.settle(local)?;
        }
        for argument in &arguments {
            local.escape(argument.word(), &self.space);
        }
        local.postponed_at = local.sites();
        local.starting.push(Starting { handle, task: Task { function, arguments, gifts } });
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
        Err(Stop::fail("a join of a thread that was never started"))
    }

    /// A thread is joined or detached, which happens once.
    fn settled(local: &mut Local, thread: ObjectId, how: &str) -> Result<(), Stop> {
        match local.settled.insert(thread) {
            true => Ok(()),
            false => {
                Err(Stop::fail(format!("a thread is {how} that was joined or detached before")))
            }
        }
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
        Machine::settled(local, object, "joined")?;
        if local.starting.iter().any(|starting| starting.handle == object) {
            self.settle(local)?;
        }
        if matches!(result, Val::Bits(0) | Val::Undef) {
            local.postponed_at = local.sites();
            local.joining.push(object);
            return Ok(());
        }
        let teams = self.teams_of(object);
        if !teams.iter().all(|team| self.teams[*team as usize].one_by_one) {
            return Err(self.separate(&teams));
        }
        let ended = self.visible(local, Action::Await { cell: Cell::end(object), least: 1 })?;
        let returned = match ended {
            NO_RESULT | Word::Undef | Word::Partly(_) => Word::Undef,
            Word::Bits(bits) => Word::Bits((bits - 1) & crate::value::mask(8 * u32::from(size))),
        };
        self.store_word(local, result, size, returned, Order::Plain)
    }

    /// Ends the thread with a result.
    pub(crate) fn end_thread(&mut self, local: &mut Local, result: &Val) -> Result<(), Stop> {
        let module = self.module.clone();
        let own = module.each_global().filter(|(_, global)| global.thread_local);
        let thread_locals = own.filter_map(|(global, _)| {
            self.space.find(&Name::ThreadLocal { global, thread: local.thread })
        });
        let stack = local.frames.iter().flat_map(|frame| frame.objects.iter().copied());
        let gone: Vec<ObjectId> = stack.chain(thread_locals).collect();
        for object in gone {
            self.kill(local, object)?;
        }
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
                        _ => NO_RESULT,
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
        if self.sync(local, Action::Lock { cell, below, add })? == DESTROYED {
            return Err(Stop::fail("a lock is taken that was destroyed"));
        }
        self.hold(local, cell, add);
        Ok(())
    }

    /// Gives back a lock that nobody shares.
    fn unlock(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        if self.held(local, cell) == 0 {
            return Err(Stop::fail("a lock is unlocked that the thread does not hold"));
        }
        self.sync(local, Action::Write { cell, value: Word::ZERO, order: Order::Release })?;
        self.hold(local, cell, 0);
        Ok(())
    }

    fn destroy_lock(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        let (success, failure) = (Order::Relaxed, Order::Relaxed);
        let (expected, desired, weak) = (0, DESTROYED, false);
        let action = Action::CompareExchange { cell, expected, desired, success, failure, weak };
        match self.sync(local, action)? {
            Word::ZERO => Ok(()),
            DESTROYED => Err(Stop::fail("a lock is destroyed twice")),
            _ => Err(Stop::fail("a lock is destroyed while somebody holds it")),
        }
    }

    fn try_lock(&mut self, local: &mut Local, lock: &Val, busy: u128) -> Result<Val, Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        let (success, failure) = (Order::Acquire, Order::Relaxed);
        let desired = Word::Bits(1);
        let action =
            Action::CompareExchange { cell, expected: 0, desired, success, failure, weak: false };
        match self.sync(local, action)? {
            Word::ZERO => {
                self.hold(local, cell, 1);
                Ok(Val::Bits(0))
            }
            DESTROYED => Err(Stop::fail("a lock is tried that was destroyed")),
            _ => Ok(Val::Bits(busy)),
        }
    }

    /// What the thread has added to a lock, which nobody else needs to know.
    fn held(&self, local: &Local, cell: Cell) -> u128 {
        match self.peek(local, Cell::held(cell)) {
            Word::Bits(held) => held,
            Word::Undef | Word::Partly(_) => 0,
        }
    }

    fn hold(&mut self, local: &mut Local, cell: Cell, how: u32) {
        let Cell { object, offset, size } = Cell::held(cell);
        local.private.write(object, offset, size, Word::Bits(how.into()));
    }

    fn unlock_shared(&mut self, local: &mut Local, lock: &Val) -> Result<(), Stop> {
        let cell = self.sync_cell(local, lock, 0)?;
        let operand = self.held(local, cell);
        if operand == 0 {
            return Err(Stop::fail("a lock is unlocked that the thread does not hold"));
        }
        let (op, order) = (RmwOp::Sub, Order::Release);
        self.sync(local, Action::Update { cell, op, operand, width: 32, order })?;
        self.hold(local, cell, 0);
        Ok(())
    }

    fn init_barrier(&mut self, local: &mut Local, barrier: &Val, count: &Val) -> Result<(), Stop> {
        self.set_lock(local, barrier, Order::Relaxed)?;
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
