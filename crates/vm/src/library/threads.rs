//! Threads: POSIX and C11.
//!
//! A thread's start waits (acquire) for a cell that its parent writes (release), a join waits the same way for the
//! thread's end. A thread is joined or detached once, whoever does it.

use crate::access::displaced;
use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Starting, Then};
use crate::machine::Machine;
use crate::space::{Name, ObjectId};
use crate::team::{Gift, MOST_THREADS, Task};
use crate::value::{Val, Word};
use llvm::FunctionId;
use llvm::instruction::RmwOp;

/// How a thread ends that returns no defined value; results have at most 64 bits.
const NO_RESULT: Word = Word::Bits(1 << 64 | 1);

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
                let created =
                    self.create_thread(local, &argument(0), &argument(2), vec![argument(3)]);
                zero(created.and_then(|thread| self.detach_if(local, thread, &argument(1))))
            }
            "pthread_attr_init" => {
                zero(self.store_word(local, &argument(0), 4, Word::ZERO, Order::Plain))
            }
            "pthread_attr_setdetachstate" => {
                let how = argument(1).word();
                zero(self.store_word(local, &argument(0), 4, how, Order::Plain))
            }
            "__VERIFIER_thread_create" | "__VERIFIER_thread_create_symmetric" => {
                self.new_thread(local, &argument(1), vec![argument(2)])
            }
            "__VERIFIER_thread_join" => zero(self.join_thread(local, &argument(0), &Val::Undef, 8)),
            "thrd_create" => {
                let created =
                    self.create_thread(local, &argument(0), &argument(1), vec![argument(2)]);
                zero(created.map(|_| ()))
            }
            "pthread_join" | "__pthread_join" => {
                zero(self.join_thread(local, &argument(0), &argument(1), 8))
            }
            "thrd_join" => zero(self.join_thread(local, &argument(0), &argument(1), 4)),
            "pthread_exit" | "thrd_exit" if self.unwinds(local) => Stop::refuse(
                "`pthread_exit` where destructors or handlers of C++ are to run on the way out of the thread",
            ),
            "pthread_exit" | "thrd_exit" if local.thread != 0 && !local.at_exit.is_empty() => {
                match self.next_at_exit(local, Then::Again) {
                    Ok(true) => Ok(Val::Undef),
                    Ok(false) => self.end_thread(local, &argument(0), true).map(|()| Val::Undef),
                    Err(stop) => Err(stop),
                }
            }
            "pthread_exit" | "thrd_exit" => {
                if !local.at_exit.is_empty() {
                    self.note(
                        "where `main` calls `pthread_exit`, functions that run at exit are not run",
                    );
                }
                self.end_thread(local, &argument(0), true).map(|()| Val::Undef)
            }
            "pthread_detach" | "thrd_detach" => zero(self.detach(local, &argument(0))),
            "pthread_self" | "thrd_current" => {
                Ok(Machine::pointer(self.threads[local.thread as usize].handle))
            }
            "pthread_equal" | "thrd_equal" => Ok(Val::Bits((argument(0) == argument(1)).into())),
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
    ) -> Result<ObjectId, Stop> {
        let (object, function) = self.next_thread(local, function)?;
        self.start_task(local, object, function, arguments, Vec::new())?;
        // The new thread may run before its handle is stored.
        self.store_word(local, handle, 8, Machine::pointer(object).word(), Order::Plain)?;
        Ok(object)
    }

    /// A thread is created as its attributes say: nobody will join it, perhaps.
    fn detach_if(
        &mut self,
        local: &mut Local,
        thread: ObjectId,
        attributes: &Val,
    ) -> Result<(), Stop> {
        if *attributes == Val::Bits(0) {
            return Ok(());
        }
        match self.load_word(local, attributes, 4, Order::Plain)? {
            Word::ZERO => Ok(()),
            Word::Undef | Word::Partly(_) => {
                Err(Stop::fail("a thread is created with attributes that were never initialised"))
            }
            Word::Bits(_) => self.settled(local, thread, "detached"),
        }
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
            self.strays(local, argument.word(), None);
        }
        // One more could not be started, and a loop that starts threads for ever comes to nothing else.
        if local.starting.len() >= MOST_THREADS {
            return Stop::refuse(format!("more than {MOST_THREADS} threads"));
        }
        local.postponed_at = local.sites();
        local.starting.push(Starting { handle, task: Task { function, arguments, gifts } });
        local.started += 1;
        local.running += 1;
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

    /// Nobody will join a thread.
    pub(super) fn detach(&mut self, local: &mut Local, handle: &Val) -> Result<(), Stop> {
        let thread = self.joined(handle)?;
        self.settled(local, thread, "detached")
    }

    /// A thread is joined or detached, which happens once, whoever does it.
    fn settled(&mut self, local: &mut Local, thread: ObjectId, how: &str) -> Result<(), Stop> {
        let cell = Cell::settled(thread);
        let (op, operand, width, order) = (RmwOp::Xchg, 1, 32, Order::Relaxed);
        match self.sync(local, Action::Update { cell, op, operand, width, order })? {
            Word::ZERO => Ok(()),
            _ => Err(Stop::fail(format!("a thread is {how} that was joined or detached before"))),
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
        self.settled(local, object, "joined")?;
        if matches!(self.space.object(object).name, Name::Thread { parent, .. } if parent == local.thread)
        {
            local.running = local.running.saturating_sub(1);
        }
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

    /// Ends the thread with a result. Thread-local variables of `main` live on if it returns, which ends the program.
    pub(crate) fn end_thread(
        &mut self,
        local: &mut Local,
        result: &Val,
        alone: bool,
    ) -> Result<(), Stop> {
        if local.thread != 0 && local.running > 0 && !self.unjoined {
            self.unjoined = true;
            self.touches.reconsider();
        }
        let module = self.module.clone();
        let own = module.each_global().filter(|(_, global)| global.thread_local && alone);
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

    /// A part of an object that is `by` bytes further on.
    pub(super) fn field(address: &Val, by: u64) -> Val {
        displaced(address, by)
    }
}
