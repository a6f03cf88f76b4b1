//! Rust's standard library: what is executed as it stands, and what is not.
//!
//! Most of the library is generic and therefore part of the user's module; it is executed like the user's own code. The
//! rest is known by its paths ([`names`]): threads ([`threads`]), locks ([`locks`]), channels ([`channels`]), panics ([`panics`]). A path that is not
//! known is refused with its name. The code is compiled so that a panic ends the program, so there is no unwinding: a
//! panic is a failed assertion wherever it happens.

mod channels;
mod locks;
pub(crate) mod names;
mod panics;
mod ring;
mod threads;

pub(crate) use locks::TAKEN;

use crate::WAITING_UNNOTICED;
use crate::action::{Action, Order, Stop};
use crate::library::environment::PROCESSORS;
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::value::{Val, Word};
use llvm::instruction::RmwOp;
use llvm::{Call, FunctionId, Type};
use names::{Class, Known};

/// What a thread's stack has, which makes no difference here.
const STACK: u128 = 2 << 20;

/// How many numbers a test may have tried at one place: each is an execution of its own.
const MOST_ALTERNATIVES: u128 = 4096;

impl Machine {
    /// What is special about a function.
    pub(crate) fn class(&mut self, function: FunctionId) -> Class {
        let module = &self.module;
        *self.classes[function.index()].get_or_insert_with(|| names::classify(module, function))
    }

    /// Is the function executed as the library's even if the module has its code?
    pub(crate) fn is_known_rust(&mut self, function: FunctionId) -> bool {
        matches!(self.class(function), Class::Known(_))
    }

    /// Is memory that is allocated now for the thread library's own use?
    pub(crate) fn allocates_for_library(&mut self, local: &Local) -> bool {
        for frame in local.frames.iter().rev() {
            match self.class(frame.function) {
                Class::Spawns | Class::Scope => return true,
                Class::Ordinary => {
                    let name = &self.module.function(frame.function).name;
                    let path = names::path(name).unwrap_or_default();
                    if !path.starts_with("alloc::") && !path.starts_with("core::") {
                        return false;
                    }
                }
                _ => return false,
            }
        }
        false
    }

    /// A function of Rust's library.
    pub(super) fn rust_function(
        &mut self,
        local: &mut Local,
        function: FunctionId,
        arguments: &[Val],
        call: &Call,
    ) -> Option<Result<Val, Stop>> {
        if let Class::Known(known) = self.class(function) {
            return Some(self.rust_known(local, known, function, arguments, call));
        }
        // Generic code that is never inlined comes from the library that has it already, whatever it is compiled with.
        let path = names::path(&self.module.function(function).name)?;
        let arc = arguments.first()?;
        (path == "alloc::sync::Arc::drop_slow").then(|| self.drop_arc(local, arc))
    }

    /// The last of the `Arc`s of an object that the library knows is gone: the block is freed unless there are weak ones.
    fn drop_arc(&mut self, local: &mut Local, arc: &Val) -> Result<Val, Stop> {
        self.note(
            "destructors are not run of what types of the standard library's own hold in an `Arc`",
        );
        let block: Val = self.load_word(local, arc, 8, Order::Plain)?.into();
        let weak = Machine::field(&block, 8);
        let (one, by) = (Val::Bits(1), (RmwOp::Sub, 64));
        if self.read_modify_write(local, by, &weak, &one, Order::Release)? == Word::Bits(1) {
            self.visible(local, Action::Fence { order: Order::Acquire })?;
            self.free(local, &block)?;
        }
        Ok(Val::Undef)
    }

    fn rust_known(
        &mut self,
        local: &mut Local,
        known: Known,
        function: FunctionId,
        arguments: &[Val],
        call: &Call,
    ) -> Result<Val, Stop> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let done = |result: Result<(), Stop>| result.map(|()| Val::Undef);
        match known {
            Known::Main => self.start_main(local, &argument(0)),
            Known::Spawn => self.spawn_rust(local, arguments),
            Known::Join => self.join_rust(local, &argument(0)),
            Known::JoinUnit => {
                let at = self.field_offset("JoinInner<()>", "native")?;
                let native = Machine::field(&argument(0), at);
                let handle: Val = self.load_word(local, &native, 8, Order::Plain)?.into();
                self.join_rust_unit(local, &handle)?;
                // `Ok(())`.
                self.uniform(call.ret, &Val::Bits(0))
            }
            Known::Detach => done(self.detach_rust(local, &argument(0))),
            Known::NewThread => {
                let thread = self.thread_object(local.thread, local.started);
                Ok(self.counted(thread))
            }
            Known::NewId => Ok(Machine::pointer(self.thread_object(local.thread, local.started))),
            Known::Current => Ok(self.counted(self.threads[local.thread as usize].handle)),
            Known::CurrentId => Ok(Machine::pointer(self.threads[local.thread as usize].handle)),
            Known::ThreadId => Ok(Machine::pointer(self.counted_thread(local, &argument(0))?)),
            Known::Park => {
                let caller = local.top().function;
                if self.class(caller) == Class::Scope {
                    return done(self.leave_scope(local, &argument(0)));
                }
                self.note(format!("`park` may return at any time, {WAITING_UNNOTICED}"));
                Ok(Val::Undef)
            }
            Known::StackSize => Ok(Val::Bits(STACK)),
            Known::LayoutWithCounts => {
                let size_first = self.field_offset("Layout", "size")? == 0;
                let (size, align) = match (size_first, argument(0), argument(1)) {
                    (true, Val::Bits(size), Val::Bits(align))
                    | (false, Val::Bits(align), Val::Bits(size)) => (size, align),
                    _ => return Stop::refuse("a layout that is not known"),
                };
                // Two counts come first.
                let size = 16u128.next_multiple_of(align.max(1)) + size;
                let align = align.max(8);
                let (size, align) = (Val::Bits(size.next_multiple_of(align)), Val::Bits(align));
                let parts = if size_first { [size, align] } else { [align, size] };
                Ok(Val::Many(parts.into()))
            }
            Known::EnterScope => done(self.enter_scope(local, &argument(0))),
            Known::SpawnHooks => {
                // Where there is a result, it is a list without members.
                if let Some(size) = call.args.first().and_then(|arg| arg.sret)
                    && let Ok(size) = self.size(size)
                {
                    self.fill(local, &argument(0), Word::ZERO, size)?;
                }
                Ok(Val::Undef)
            }
            // The library looks at the reference count of the packet, of which either side has its own here.
            Known::IsFinished => {
                Stop::refuse("`is_finished`, which asks whether a thread has ended")
            }
            // Names and sizes of stacks make no difference, so the builder stays as it is.
            Known::Configure => match call.args.first().and_then(|arg| arg.sret) {
                Some(ty) => {
                    let size = self.size(ty)?;
                    done(self.copy(local, &argument(0), &argument(1), size))
                }
                None => Stop::refuse("a builder of threads of a version of Rust that is not known"),
            },
            Known::LockMutex | Known::LockRead | Known::LockWrite => {
                done(self.lock_rust(local, &argument(0), known))
            }
            Known::WaitCondition => done(self.wait_condition(local, &argument(1))),
            Known::WaitConditionTimeout => {
                self.wait_condition(local, &argument(1))?;
                self.visible(local, Action::Choose { alternatives: 2 }).map(Val::from)
            }
            Known::CallOnce => self.call_once(local, arguments),
            Known::WaitOnce => done(self.wait_once(local, &argument(0))),
            Known::WaitBarrier => self.wait_rust_barrier(local, &argument(0)),
            Known::Panic => {
                let name = self.module.function(function).name.clone();
                let path = names::path(&name).unwrap_or_default();
                Err(Stop::fail(self.panic_message(local, &path, arguments)))
            }
            Known::Exit => {
                self.note("`std::process::exit` is taken to end its own thread only");
                Err(Stop::Ended)
            }
            Known::ThreadLocalDestructor => {
                self.note("destructors of thread-local variables are not run");
                Ok(Val::Undef)
            }
            Known::StartSend(flavor) => {
                self.start_send(local, channels::On { flavor, function, arguments })
            }
            Known::StartReceive(flavor) => {
                self.start_receive(local, channels::On { flavor, function, arguments })
            }
            Known::DropSenders(flavor) => {
                self.drop_senders(local, channels::On { flavor, function, arguments })
            }
            Known::DropReceivers(flavor) => {
                self.drop_receivers(local, channels::On { flavor, function, arguments })
            }
            Known::LimitedChannel => self.limited_channel(local, function, arguments),
            Known::Time if self.has_run_out(local) => match self.module.ty(call.ret) {
                Type::Struct { .. } => {
                    Ok(Val::Many([Val::Bits(i64::MAX as u128), Val::Bits(0)].into()))
                }
                _ => Stop::refuse("a clock of a version of Rust that is not known"),
            },
            Known::Time => {
                self.note("time stands still: clocks always say 0");
                if let Some(size) = call.args.first().and_then(|arg| arg.sret) {
                    let size = self.size(size)?;
                    return done(self.fill(local, &argument(0), Word::ZERO, size));
                }
                self.uniform(call.ret, &Val::Bits(0))
            }
            Known::Processors => {
                self.note(format!("`available_parallelism` gives {PROCESSORS}"));
                Ok(Val::Many([Val::Bits(0), Val::Bits(PROCESSORS)].into()))
            }
            Known::HashKeys => {
                self.note("the keys of every `HashMap` are 0");
                self.uniform(call.ret, &Val::Bits(0))
            }
            Known::NotPanicking | Known::IsChecked => Ok(Val::Bits(1)),
            Known::AnyBool => self.choose(local, &Val::Bits(2)),
            Known::AnyBelow => self.choose(local, &argument(0)),
            Known::Unpark | Known::Nothing => match self.module.ty(call.ret) {
                Type::Void => Ok(Val::Undef),
                _ => self.uniform(call.ret, &Val::Bits(0)),
            },
        }
    }

    /// Any number below a limit, as `fencepost-testing` offers it to tests.
    fn choose(&mut self, local: &mut Local, limit: &Val) -> Result<Val, Stop> {
        match *limit {
            Val::Bits(0) => Err(Stop::fail("`any_below(0)`: there is no number below 0")),
            Val::Bits(limit) if limit <= MOST_ALTERNATIVES => {
                let alternatives = limit as u32;
                self.visible(local, Action::Choose { alternatives }).map(Val::from)
            }
            Val::Bits(limit) => Stop::refuse(format!(
                "`any_below({limit})`: at most {MOST_ALTERNATIVES} numbers are tried"
            )),
            _ => Err(Stop::fail("`any_below` of a limit that was never written")),
        }
    }

    /// Rust's `main`, which runs in place of the function that starts it: what its variables point to is there until
    /// the program ends.
    fn start_main(&mut self, local: &mut Local, main: &Val) -> Result<Val, Stop> {
        let function = match main {
            Val::Bits(address) => self.function_at(*address),
            _ => None,
        };
        let Some(function) = function else { return Stop::refuse("a program without `main`") };
        let mut frames = std::mem::take(&mut local.frames);
        // The result of a `main` that may fail is written to memory of the caller's.
        let arguments = match self.module.function(function).params.first().and_then(|it| it.sret) {
            Some(ty) => {
                let size = self.size(ty)?;
                let name = crate::space::Name::MainResult;
                let object = self.space.intern(crate::space::Object {
                    name,
                    size,
                    fill: crate::space::Fill::Undef,
                    constant: false,
                });
                vec![Machine::pointer(object)]
            }
            None => Vec::new(),
        };
        if let Err(stop) = self.enter(local, function, arguments, Then::EndThread) {
            std::mem::swap(&mut local.frames, &mut frames);
            return Err(stop);
        }
        Ok(Val::Undef)
    }
}
