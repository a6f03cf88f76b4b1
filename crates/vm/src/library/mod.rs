//! Calls, and the functions that programs find outside their own files.
//!
//! A function that the module defines is executed. Others are known by name: the thread library ([`threads`], [`locks`]), the
//! heap ([`heap`]), texts ([`text`]), the end of the program ([`exit`]), arguments of variadic functions ([`variadic`]),
//! C++ exceptions ([`exceptions`]) and classes ([`classes`]), semaphores, values of threads by keys, time and chance ([`semaphores`], [`specific`], [`environment`]),
//! LLVM's intrinsics ([`intrinsics`]), what compilers and verification tools offer (here). A name that
//! is not known is an error that says so, unless the user says what it does ([`Stub`]).

mod assembly;
mod classes;
mod containers;
mod cxx;
mod environment;
mod exceptions;
mod exit;
mod formats;
mod heap;
mod intrinsics;
mod locks;
mod numbers;
pub(crate) mod rust;
mod semaphores;
mod sized;
mod specific;
mod text;
mod thread_state;
mod threads;
mod trees;
mod variadic;

pub(crate) use exceptions::Thrown;
pub(crate) use exit::AtExit;
pub(crate) use locks::DESTROYED;

use crate::action::{Action, Cell, Order, Stop};
use crate::local::{Local, Then};
use crate::machine::{Machine, Stub};
use crate::queue::OVERFLOW;
use crate::shared::Strength;
use crate::space::{Fill, Name, Object};
use crate::value::{Val, Word, mask, signed};
use llvm::{Call, Callee, FunctionId, Instr};

/// Functions that only talk, or only wait: what they do is nobody's business.
const IGNORED: [&str; 29] = [
    "fflush",
    "sched_yield",
    "usleep",
    "sleep",
    "thrd_yield",
    "pthread_yield",
    "srand",
    "setbuf",
    "setvbuf",
    "pthread_attr_destroy",
    "pthread_mutexattr_destroy",
    "pthread_condattr_init",
    "pthread_condattr_destroy",
    "pthread_attr_setaffinity_np",
    "pthread_attr_setguardsize",
    "pthread_attr_setinheritsched",
    "pthread_attr_setschedparam",
    "pthread_attr_setschedpolicy",
    "pthread_attr_setscope",
    "pthread_attr_setstacksize",
    "pthread_condattr_setclock",
    "pthread_condattr_setpshared",
    "pthread_mutexattr_setpshared",
    "pthread_setaffinity_np",
    "pthread_setconcurrency",
    "pthread_setschedparam",
    "sched_setaffinity",
    "pthread_setname_np",
    "madvise",
];

/// How libstdc++ says that it is used wrongly: an index is out of range, a front is asked for where there is none.
const CXX_ASSERT: &str = "_ZSt21__glibcxx_assert_failPKciS0_S0_";

const NO_SIGNALS: &str = "no signal ever comes";

/// Hints to other tools that change nothing of what the program does.
const HINTS: [&str; 8] = [
    "__VERIFIER_annotate_begin",
    "__VERIFIER_annotate_end",
    "__VERIFIER_loop_bound",
    "__VERIFIER_loop_begin",
    "__VERIFIER_spin_start",
    "__VERIFIER_spin_end",
    "__VERIFIER_opt_begin",
    "klee_silent_exit",
];

impl Machine {
    /// Carries out a call.
    pub(crate) fn call(
        &mut self,
        local: &mut Local,
        instr: &Instr,
        call: &Call,
    ) -> Result<(), Stop> {
        let function = match &call.callee {
            Callee::Function(function) => *function,
            Callee::Asm(asm) => {
                let arguments = call.args.iter().map(|arg| self.eval(local, &arg.value));
                let arguments = arguments.collect::<Result<Vec<Val>, Stop>>()?;
                let value = self.assembly(local, asm, &arguments)?;
                return self.done(local, instr, value);
            }
            Callee::Pointer(operand) => {
                let address =
                    self.number(local, operand, "the pointer to the function that is called")?;
                if let Some(value) = self.virtual_of_exception(address) {
                    return self.done(local, instr, value);
                }
                match self.function_at(address) {
                    Some(function) => function,
                    None if address == 0 => {
                        return Err(Stop::fail("a call through a null pointer"));
                    }
                    None => {
                        return Err(Stop::fail(
                            "a call through a pointer that points to no function",
                        ));
                    }
                }
            }
        };
        let module = self.module.clone();
        let declared = module.function(function);
        let mut arguments = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            arguments.push(match arg.value {
                llvm::Operand::Metadata => Val::Undef,
                ref operand => self.eval(local, operand)?,
            });
        }
        let stub = self.stub_of(&declared.name);
        if stub.is_some() && !declared.is_declaration() {
            self.note(format!("`{}` does what a stub says, not what is defined", declared.name));
        }
        if !declared.is_declaration()
            && stub.is_none()
            && !is_replaced(&declared.name)
            && !self.is_known_rust(function)
        {
            if declared.params.len() != arguments.len() && !declared.varargs {
                return Stop::refuse(format!(
                    "`{}` is called with the wrong number of arguments",
                    declared.name
                ));
            }
            let depth = local.frames.len() as u32 + 1;
            let mut copies = Vec::new();
            if !local.stray.is_empty() {
                local.tidy(&self.space);
            }
            if declared.varargs {
                copies.extend(self.variadic(local, declared.params.len(), &arguments, call)?);
            }
            for (k, arg) in call.args.iter().enumerate() {
                if let Some(ty) = arg.byval {
                    let (size, site) = (self.size(ty)?, Machine::site(local));
                    let (thread, mut nth) = (local.thread, 1000 + k as u32);
                    let object = loop {
                        let name = Name::Stack { thread, depth, site, nth, size };
                        let (fill, constant) = (Fill::Undef, false);
                        let object = self.space.intern(Object { name, size, fill, constant });
                        if !local.stray.contains(&object) || self.comes_back(local, object)? {
                            break object;
                        }
                        nth += 1000;
                    };
                    self.renew(local, object, Word::Undef)?;
                    // The copy belongs to the callee; until it is entered, to the caller.
                    local.top().objects.push(object);
                    self.copy(local, &Machine::pointer(object), &arguments[k], size)?;
                    local.top().objects.pop();
                    arguments[k] = Machine::pointer(object);
                    copies.push(object);
                }
            }
            self.enter(local, function, arguments, Then::GoOn)?;
            local.top().objects = copies;
            return Ok(());
        }
        if stub.is_none()
            && let Some(thrown) = self.throwing(local, &declared.name, &arguments)
        {
            return thrown;
        }
        let here = (local.frames.len(), local.top().function);
        let value = self.outside(local, function, &declared.name, &arguments, call)?;
        if std::mem::take(&mut local.calls_again) {
            return Ok(());
        }
        // A library function may have entered one of the program's, which comes back here by itself.
        match (local.frames.len(), local.top().function) == here {
            true => self.done(local, instr, value),
            false => Ok(()),
        }
    }

    /// What the user says that a function does, by its name or its path.
    fn stub_of(&self, name: &str) -> Option<Stub> {
        if self.stubs.is_empty() {
            return None;
        }
        let path = rust::names::path(name);
        let is_meant = |stubbed: &str| stubbed == name || path.as_deref() == Some(stubbed);
        self.stubs.iter().find(|(stubbed, _)| is_meant(stubbed)).map(|(_, stub)| *stub)
    }

    /// A function that the program does not define, or that is not to do what is defined.
    fn outside(
        &mut self,
        local: &mut Local,
        function: FunctionId,
        name: &str,
        arguments: &[Val],
        call: &Call,
    ) -> Result<Val, Stop> {
        if let Some(stub) = self.stub_of(name) {
            return match stub {
                Stub::Ignore => self.uniform(call.ret, &Val::Bits(0)).or(Ok(Val::Undef)),
                Stub::Return(number) => Ok(Val::Bits(u128::from(number))),
                Stub::Stop => Err(Stop::Blocked),
            };
        }
        if name.starts_with("llvm.") {
            return self.intrinsic(local, name, arguments, call);
        }
        let known = self
            .rust_function(local, function, arguments, call)
            .or_else(|| self.thread_function(local, name, arguments))
            .or_else(|| self.lock_function(local, name, arguments))
            .or_else(|| self.semaphore_function(local, name, arguments))
            .or_else(|| self.sized_atomic_function(local, name, arguments))
            .or_else(|| self.specific_function(local, name, arguments))
            .or_else(|| self.environment_function(local, name, arguments))
            .or_else(|| self.heap_function(local, name, arguments))
            .or_else(|| self.exception_function(local, name, arguments))
            .or_else(|| self.cxx_function(local, name, arguments))
            .or_else(|| self.tree_function(local, name, arguments))
            .or_else(|| self.container_function(local, name, arguments))
            .or_else(|| self.text_function(local, name, arguments))
            .or_else(|| self.format_function(local, name, arguments))
            .or_else(|| self.plain_function(local, name, arguments))
            .or_else(|| self.math_function(name, arguments));
        match known {
            Some(result) => result,
            None => {
                let place = rust::names::path(name).unwrap_or_else(|| name.to_string());
                Stop::refuse(format!(
                    "the function `{place}` is not defined in these files, and nothing is known about it; add its \
                     file, or say what it does: `--stub {place}=ignore`, `={{number}}` or `=stop`"
                ))
            }
        }
    }

    fn plain_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        if IGNORED.contains(&name) || HINTS.contains(&name) {
            return Some(Ok(Val::Bits(0)));
        }
        Some(match name {
            "__assert_fail" | "__assert_rtn" | "__assert" | CXX_ASSERT => {
                let at = 3 * usize::from(matches!(name, "__assert_rtn" | CXX_ASSERT));
                let text = self.text(local, &argument(at));
                let text = text.map_or(String::new(), |text| format!(": `{text}`"));
                Err(Stop::fail(format!("the assertion fails{text}")))
            }
            "__VERIFIER_assert" => match argument(0) {
                Val::Bits(0) => Err(Stop::fail("the assertion fails")),
                Val::Bits(_) => Ok(Val::Undef),
                _ => Err(Stop::fail("an assertion about a value that was never written")),
            },
            "__VERIFIER_error" | "reach_error" | "__VERIFIER_assert_fail" => {
                Err(Stop::fail(format!("`{name}` is reached")))
            }
            "abort" | "__builtin_trap" => Err(Stop::fail(format!("`{name}` is called"))),
            "_ZSt9terminatev" => Err(Stop::fail("`std::terminate` is called")),
            "abs" | "labs" | "llabs" => self.absolute(name, &argument(0)),
            "exit" => self.exit(local),
            "_exit" | "_Exit" | "quick_exit" => {
                self.note(format!("`{name}` is taken to end its own thread only"));
                Err(Stop::Ended)
            }
            "__VERIFIER_assume"
            | "__CPROVER_assume"
            | "__VERIFIER_assume_internal"
            | "assume_abort_if_not" => match argument(0) {
                Val::Bits(0) => Err(Stop::Blocked),
                Val::Bits(_) => Ok(Val::Undef),
                _ => Err(Stop::fail("an assumption about a value that was never written")),
            },
            "__VERIFIER_nondet_bool" | "__VERIFIER_nondet__Bool" => {
                self.visible(local, Action::Choose { alternatives: 2 }).map(Val::from)
            }
            "__VERIFIER_thread_id" | "get_thread_id" => Ok(Val::Bits(local.thread.into())),
            "__atomic_is_lock_free" => match argument(0) {
                Val::Bits(size) => Ok(Val::Bits(u128::from(size <= 8 && size.is_power_of_two()))),
                _ => Ok(Val::Undef),
            },
            "__errno_location" => Ok(self.error_number(local)),
            "sigemptyset" | "sigfillset" | "sigaddset" | "sigdelset" | "signal" => {
                self.note(NO_SIGNALS);
                Ok(Val::Bits(0))
            }
            "sigaction" | "pthread_sigmask" | "sigprocmask" => {
                if argument(2) != Val::Bits(0) {
                    return Some(Stop::refuse(format!("`{name}` that asks what was set before")));
                }
                self.note(NO_SIGNALS);
                Ok(Val::Bits(0))
            }
            // A name for the thread.
            "prctl" if argument(0) == Val::Bits(15) => Ok(Val::Bits(0)),
            "atexit" => self.at_exit(local, &argument(0), None, false),
            "__cxa_atexit" => self.at_exit(local, &argument(0), Some(argument(1)), false),
            "__cxa_thread_atexit" | "__cxa_thread_atexit_impl" => {
                self.at_exit(local, &argument(0), Some(argument(1)), true)
            }
            "memcpy" => self.copy_apart(local, arguments).map(|()| argument(0)),
            "memmove" => self.copy_call(local, arguments).map(|()| argument(0)),
            "memset" => self.fill_call(local, arguments).map(|()| argument(0)),
            name if name.ends_with("___rust_no_alloc_shim_is_unstable_v2") => Ok(Val::Undef),
            _ => return None,
        })
    }

    /// Does the program look at what the library function that it calls returns?
    fn looks_at_result(&self, local: &Local) -> bool {
        let at = local.frames.last();
        at.is_some_and(|frame| frame.code.is_result_read(frame.block, frame.instr))
    }

    fn absolute(&mut self, name: &str, number: &Val) -> Result<Val, Stop> {
        let width = if name == "abs" { 32 } else { 64 };
        let Val::Bits(bits) = *number else { return Ok(Val::Undef) };
        let size = signed(bits, width).unsigned_abs();
        match size > mask(width - 1) {
            true => Err(Stop::fail(format!("`{name}` of the least number overflows"))),
            false => Ok(Val::Bits(size)),
        }
    }

    /// The address of a thread's `errno`.
    fn error_number(&mut self, local: &Local) -> Val {
        let (name, size) = (Name::ErrorNumber { thread: local.thread }, 4);
        Machine::pointer(self.space.intern(Object {
            name,
            size,
            fill: Fill::Zero,
            constant: false,
        }))
    }

    /// A function fails as those do that say why in `errno`.
    fn fails_with(&mut self, local: &mut Local, error: u128) -> Result<Val, Stop> {
        let errno = self.error_number(local);
        self.store_word(local, &errno, 4, Word::Bits(error), Order::Plain)?;
        Ok(Val::Bits(mask(32)))
    }

    /// A copy by a function that is not for bytes that overlap. The same bytes do no harm, and compilers copy them.
    pub(super) fn copy_apart(&mut self, local: &mut Local, arguments: &[Val]) -> Result<(), Stop> {
        if let [Val::Bits(to), Val::Bits(from), Val::Bits(size), ..] = arguments
            && to != from
            && to.abs_diff(*from) < *size
        {
            return Err(Stop::fail("`memcpy` between bytes that overlap"));
        }
        self.copy_call(local, arguments)
    }

    pub(super) fn copy_call(&mut self, local: &mut Local, arguments: &[Val]) -> Result<(), Stop> {
        let [to, from, Val::Bits(size), ..] = arguments else {
            return Err(Stop::fail("a copy of a number of bytes that was never written"));
        };
        self.copy(local, to, from, *size as u64)
    }

    pub(super) fn fill_call(&mut self, local: &mut Local, arguments: &[Val]) -> Result<(), Stop> {
        let [to, byte, Val::Bits(size), ..] = arguments else {
            return Err(Stop::fail("a number of bytes that was never written"));
        };
        self.fill(local, to, byte.word(), *size as u64)
    }

    /// Does something to a cell of the thread library.
    pub(crate) fn sync(&mut self, local: &mut Local, action: Action) -> Result<Word, Stop> {
        let cell = action.cell().expect("it is about a cell");
        self.touches.add(cell, local.thread, action.writes(), Strength::Atomic);
        let is_thread =
            matches!(self.space.object(cell.object).name, Name::Thread { .. } | Name::Team(_));
        let always = is_thread && cell != Cell::settled(cell.object);
        if always || self.shared.contains(cell) {
            return self.visible(local, action);
        }
        let old = self.peek(local, cell);
        let Some((new, input)) = crate::action::outcome(&action, old) else {
            // Nobody else touches the cell, so the thread waits for ever, and that is to be seen.
            return self.visible(local, Action::Await { cell, least: u128::MAX });
        };
        // Beyond interleavings there may be more messages than there are: then it is to be seen.
        if input == OVERFLOW && self.is_beyond {
            self.touches.add(cell, local.thread, true, Strength::Ordering);
        } else if input == OVERFLOW {
            self.overflown = Some(local.sites());
        }
        if let Some(word) = new {
            local.private.write(cell.object, cell.offset, 1, word);
        }
        Ok(input)
    }

    /// The cell of the thread library for what is at an address.
    pub(crate) fn sync_cell(
        &mut self,
        local: &mut Local,
        address: &Val,
        further: u32,
    ) -> Result<Cell, Stop> {
        let (object, offset) = self.bytes_at(local, address, 1, true)?;
        self.alive(local, object, "use of a lock in")?;
        Ok(Cell::sync(object, offset + further))
    }
}

/// Functions that are executed as the library's even if the program brings code for them.
fn is_replaced(name: &str) -> bool {
    matches!(
        name,
        "__VERIFIER_assume" | "__VERIFIER_assume_internal" | "reach_error" | "__VERIFIER_error"
    ) || cxx::prints(name)
        || cxx::waits(name)
        || cxx::waits_in_time(name)
}
