//! How a program ends: what is to run then, and who runs it.
//!
//! Functions that `atexit` is given, destructors of global objects in C++ and functions with the attribute `destructor`
//! run when `main` returns or calls `exit`, the latest first, while other threads are still there. The first thread keeps
//! the list of what it has registered; what other threads register, and what an `exit` of theirs would run, is not run,
//! and a note says so.
//!
//! Destructors of thread-local objects in C++ run when their thread ends, before what runs when the program does, and then
//! those of its values for keys. They run on top of the call that is the thread's last, which then returns once more: so its
//! result stays where it is.

use crate::action::Stop;
use crate::local::{Local, Then};
use crate::machine::Machine;
use crate::value::Val;
use llvm::FunctionId;

/// A function that is to run when the program or the thread ends, with its argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AtExit {
    pub(crate) function: FunctionId,
    pub(crate) argument: Option<Val>,
    /// The key whose value the function is for, if the thread has one then.
    pub(crate) key: Option<u32>,
    /// When the thread ends, which is before the program does.
    pub(crate) with_thread: bool,
    /// In which round of destructors of values for keys.
    pub(crate) round: u32,
}

impl AtExit {
    /// The round in which the value of a key is destroyed, if it is about one.
    pub(super) fn round_of_key(&self) -> Option<u32> {
        self.key.map(|_| self.round)
    }
}

impl Machine {
    /// A function is to run when the program ends, or the thread.
    pub(super) fn at_exit(
        &mut self,
        local: &mut Local,
        function: &Val,
        argument: Option<Val>,
        with_thread: bool,
    ) -> Result<Val, Stop> {
        let known = match function {
            Val::Bits(address) => self.function_at(*address),
            _ => None,
        };
        let Some(function) = known else {
            return Err(Stop::fail("a pointer that points to no function is to be called at exit"));
        };
        // The library's own have nothing to do with the program's memory.
        if self.module.function(function).is_declaration() {
            return Ok(Val::Bits(0));
        }
        match local.thread == 0 || with_thread {
            true => {
                local.at_exit.push(AtExit { function, argument, key: None, with_thread, round: 0 });
            }
            false => self.note(
                "functions that a thread other than `main` registers to run at exit are not run",
            ),
        }
        Ok(Val::Bits(0))
    }

    /// `exit`: what is to run then runs on top of the calls that the thread is in, and then the thread ends.
    pub(super) fn exit(&mut self, local: &mut Local) -> Result<Val, Stop> {
        if local.thread != 0 {
            self.note("`exit` in a thread other than `main` is taken to end that thread only, so others may seem to wait for it for ever");
            return Err(Stop::Ended);
        }
        match self.next_at_exit(local, Then::Exit)? {
            true => Ok(Val::Undef),
            false => Err(Stop::Ended),
        }
    }

    /// Enters the latest of the functions that are to run when the program ends; is there any?
    pub(crate) fn next_at_exit(&mut self, local: &mut Local, then: Then) -> Result<bool, Stop> {
        let of_thread = |it: &AtExit| it.with_thread && it.key.is_none();
        let (function, argument) = match local.at_exit.iter().rposition(of_thread) {
            Some(next) => {
                let AtExit { function, argument, .. } = local.at_exit.remove(next);
                (function, argument)
            }
            None => match self.next_specific(local)? {
                Some((function, value)) => (function, Some(value)),
                None => match local.at_exit.pop() {
                    Some(AtExit { function, argument, .. }) => (function, argument),
                    None => return Ok(false),
                },
            },
        };
        self.enter(local, function, argument.into_iter().collect(), then)?;
        Ok(true)
    }
}
