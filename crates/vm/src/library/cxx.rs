//! What C++ programs call: `std::thread`, `std::condition_variable`, variables that are initialised on first use.
//!
//! Names are those of the Itanium ABI with libstdc++'s layouts, which Linux distributions use.

use crate::WAITING_UNNOTICED;
use crate::action::{Action, Cell, Order, Stop};
use crate::library::DESTROYED;
use crate::library::environment::PROCESSORS;
use crate::library::exceptions::{DETACH, JOIN};
use crate::local::Local;
use crate::machine::Machine;
use crate::value::{Val, Word};
use llvm::FunctionId;
use llvm::module::Symbol;

/// `std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)())`.
const START_THREAD: &str =
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";

/// How a future waits for its value: `_M_futex_wait_until` (with two kinds of clock) and `_M_futex_notify_all`.
const FUTEX: &str = "_ZNSt28__atomic_futex_unsigned_base";

/// Is it a function of output streams, which gives the stream back?
pub(super) fn prints(name: &str) -> bool {
    name.starts_with("_ZNSolsE")
        || name.starts_with("_ZStls") && name.contains("13basic_ostream")
        || name.starts_with("_ZSt4endlI")
        || name.starts_with("_ZSt5flushI")
        || matches!(name, "_ZNSo5flushEv" | "_ZNSo3putEc")
}

/// Is it part of how `std::atomic::wait` and `notify`, latches, barriers and semaphores of C++20 wait? Around a call of the
/// system there is a number of looks first, and a count of those who wait. A system call may return for no reason, so all of
/// it does nothing here, and what is left is a loop that looks at the value until it is another.
pub(super) fn waits(name: &str) -> bool {
    const BASE: &str = "_ZNSt8__detail13__waiter_baseI";
    const POOL: &str = "_ZNSt8__detail18__waiter_pool_base";
    name.starts_with(BASE) && (name.contains("_do_spin") || name.contains("9_M_notifyE"))
        || name.strip_prefix(POOL).is_some_and(|rest| !rest.starts_with("6_S_forE"))
        || name.starts_with("_ZNSt8__detail13__waiter_pool10_M_do_waitE")
        || name.starts_with("_ZNSt8__detail15__platform_waitI")
        || name.starts_with("_ZNSt8__detail17__platform_notifyI")
}

/// Does it wait like those, up to a time?
pub(super) fn waits_in_time(name: &str) -> bool {
    name.starts_with("_ZNSt8__detail26__platform_wait_until_implI")
}

impl Machine {
    pub(super) fn cxx_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        let done = |result: Result<(), Stop>| result.map(|()| Val::Bits(0));
        Some(match name {
            START_THREAD => done(self.start_cxx_thread(local, &argument(0), &argument(1))),
            JOIN => done(self.join_cxx_thread(local, &argument(0))),
            DETACH => done(self.detach_cxx_thread(local, &argument(0))),
            "_ZNSt6thread20hardware_concurrencyEv" => {
                self.note(format!("`hardware_concurrency` gives {PROCESSORS}"));
                Ok(Val::Bits(PROCESSORS))
            }
            // What a future has: its virtual functions, and the exception that it may have instead of a result.
            "_ZNSt13__future_base12_Result_baseC2Ev" => done(self.store_word(
                local,
                &Machine::field(&argument(0), 8),
                8,
                Word::ZERO,
                Order::Plain,
            )),
            "_ZNSt13__future_base12_Result_baseD2Ev" => Ok(Val::Bits(0)),
            // A future's value is waited for like an atomic's, with a look before and after.
            name if name.starts_with(FUTEX) => match name.contains("_M_futex_notify_all") {
                true => Ok(Val::Bits(0)),
                false => match argument(3) {
                    Val::Bits(0) => Ok(Val::Bits(1)),
                    _ => self.visible(local, Action::Choose { alternatives: 2 }).map(Val::from),
                },
            },
            name if waits_in_time(name) => {
                self.visible(local, Action::Choose { alternatives: 2 }).map(Val::from)
            }
            name if waits(name) => {
                if name.contains("_do_spin") {
                    self.note(format!(
                        "`wait` of an atomic may end at any time, {WAITING_UNNOTICED}"
                    ));
                }
                Ok(Val::Bits(0))
            }
            "_ZNSt6thread6_StateD2Ev"
            | "_ZNSt6thread6_StateD1Ev"
            | "_ZNSaIcEC1Ev"
            | "_ZNSaIcEC2Ev"
            | "_ZNSaIcEC1ERKS_"
            | "_ZNSaIcEC2ERKS_"
            | "_ZNSaIcED1Ev"
            | "_ZNSaIcED2Ev"
            | "_ZNSt8ios_base4InitC1Ev"
            | "_ZNSt8ios_base4InitD1Ev"
            | "_ZNSt15__exception_ptr13exception_ptrD1Ev" => Ok(Val::Bits(0)),
            "_ZNSt18condition_variableC1Ev" | "_ZNSt18condition_variableC2Ev" => {
                done(self.mark_initialised(local, &argument(0)))
            }
            "_ZNSt18condition_variableD1Ev" | "_ZNSt18condition_variableD2Ev" => {
                done(self.destroy_condition(local, &argument(0)))
            }
            "_ZNSt18condition_variable10notify_oneEv"
            | "_ZNSt18condition_variable10notify_allEv" => {
                done(self.initialised(local, &argument(0), "a condition variable"))
            }
            "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" => {
                done(self.wait_cxx(local, &argument(0), &argument(1)))
            }
            "__cxa_guard_acquire" => self.guard(local, &argument(0)),
            "__cxa_guard_release" => done(self.release_guard(local, &argument(0))),
            "__cxa_pure_virtual" => Err(Stop::fail("a pure virtual function is called")),
            // Printing: what is printed is nobody's business, but texts are read.
            name if prints(name) => {
                let text = match name {
                    name if name.contains("12basic_string") => self.string_at(local, &argument(1)),
                    name if name.ends_with("PKc") => self.text_of(local, &argument(1)),
                    _ => Ok(()),
                };
                text.map(|()| argument(0))
            }
            _ => return None,
        })
    }

    /// Reads a `std::string`: a pointer, and the length of what it points to.
    fn string_at(&mut self, local: &mut Local, string: &Val) -> Result<(), Stop> {
        let text: Val = self.load_word(local, string, 8, Order::Plain)?.into();
        let length = self.load_word(local, &Machine::field(string, 8), 8, Order::Plain)?;
        let Word::Bits(length) = length else {
            return Err(Stop::fail("a string is printed that was never written"));
        };
        self.written_bytes_of(local, &text, length as u64).map(|_| ())
    }

    fn start_cxx_thread(
        &mut self,
        local: &mut Local,
        thread: &Val,
        state: &Val,
    ) -> Result<(), Stop> {
        let object: Val = self.load_word(local, state, 8, Order::Plain)?.into();
        self.store_word(local, state, 8, Word::ZERO, Order::Plain)?;
        let table: Val = self.load_word(local, &object, 8, Order::Plain)?.into();
        // The table has two destructors, then `_M_run`.
        let run: Val = self.load_word(local, &Machine::field(&table, 16), 8, Order::Plain)?.into();
        self.create_thread(local, thread, &run, vec![object]).map(|_| ())
    }

    fn join_cxx_thread(&mut self, local: &mut Local, thread: &Val) -> Result<(), Stop> {
        let handle: Val = self.load_word(local, thread, 8, Order::Plain)?.into();
        self.join_thread(local, &handle, &Val::Bits(0), 8)?;
        self.store_word(local, thread, 8, Word::ZERO, Order::Plain)
    }

    fn detach_cxx_thread(&mut self, local: &mut Local, thread: &Val) -> Result<(), Stop> {
        let handle: Val = self.load_word(local, thread, 8, Order::Plain)?.into();
        self.detach(local, &handle)?;
        self.store_word(local, thread, 8, Word::ZERO, Order::Plain)
    }

    fn wait_cxx(&mut self, local: &mut Local, condition: &Val, lock: &Val) -> Result<(), Stop> {
        self.initialised(local, condition, "a condition variable")?;
        let mutex: Val = self.load_word(local, lock, 8, Order::Plain)?.into();
        self.note(format!("condition variables may wake up at any time, {WAITING_UNNOTICED}"));
        self.unlock(local, &mutex)?;
        self.lock(local, &mutex, 1, 1)
    }

    /// What `std::call_once` has left for libstdc++'s `__once_proxy` to call, in a variable of the thread's own.
    pub(super) fn once_call(&mut self, local: &mut Local) -> Result<Option<FunctionId>, Stop> {
        let Some(Symbol::Global(global)) = self.module.symbol("_ZSt11__once_call") else {
            return Ok(None);
        };
        let variable = Machine::pointer(self.global(local.thread, global)?);
        Ok(match self.load_word(local, &variable, 8, Order::Plain)? {
            Word::Bits(address) => self.function_at(address),
            _ => None,
        })
    }

    /// 1 for the thread that shall initialise the variable; the others wait until it has.
    fn guard(&mut self, local: &mut Local, guard: &Val) -> Result<Val, Stop> {
        let cell = self.sync_cell(local, guard, 0)?;
        Ok(Val::Bits(self.first(local, cell)?.into()))
    }

    /// Compiled code looks at the guard's first byte before it asks.
    fn release_guard(&mut self, local: &mut Local, guard: &Val) -> Result<(), Stop> {
        self.store_word(local, guard, 1, Word::Bits(1), Order::Release)?;
        let cell: Cell = self.sync_cell(local, guard, 0)?;
        self.sync(local, Action::Write { cell, value: DESTROYED, order: Order::Release })?;
        Ok(())
    }
}
