//! What surrounds a program: time, chance, its arguments and environment.
//!
//! None of this is in the program's text, and all that it could be cannot be explored. Each function gives something
//! that it may give, and a note in the answer says what that was. What can be explored is explored: whether something
//! with a time limit takes too long is a choice (see `threads`).

use crate::action::{Action, Order, Stop};
use crate::local::Local;
use crate::machine::Machine;
use crate::space::{Fill, Name, Object};
use crate::value::{Val, Word};

/// How many processors there are.
pub(super) const PROCESSORS: u128 = 2;

impl Machine {
    pub(super) fn environment_function(
        &mut self,
        local: &mut Local,
        name: &str,
        arguments: &[Val],
    ) -> Option<Result<Val, Stop>> {
        let argument = |k: usize| arguments.get(k).cloned().unwrap_or(Val::Undef);
        Some(match name {
            "time" => {
                self.time_stands_still();
                match argument(0) {
                    Val::Bits(0) => Ok(Val::Bits(0)),
                    to => self
                        .store_word(local, &to, 8, Word::ZERO, Order::Plain)
                        .map(|()| Val::Bits(0)),
                }
            }
            "clock"
            | "_ZNSt6chrono3_V212steady_clock3nowEv"
            | "_ZNSt6chrono3_V212system_clock3nowEv" => {
                self.time_stands_still();
                Ok(Val::Bits(0))
            }
            "clock_gettime" => self.set_time(local, &argument(1)).map(|()| Val::Bits(0)),
            "gettimeofday" => self.set_time(local, &argument(0)).map(|()| Val::Bits(0)),
            "timespec_get" => self.set_time(local, &argument(0)).map(|()| argument(1)),
            "rand" | "random" | "lrand48" => self.chance(local, name),
            // What it makes of the seed is not looked at, but for who else touches it.
            "rand_r" => self
                .load_word(local, &argument(0), 4, Order::Plain)
                .and_then(|seed| self.store_word(local, &argument(0), 4, seed, Order::Plain))
                .and_then(|()| self.chance(local, name)),
            "nanosleep" | "thrd_sleep" => {
                self.read_time(local, arguments.first()).map(|()| Val::Bits(0))
            }
            "srandom" | "srand48" => Ok(Val::Undef),
            "getenv" | "secure_getenv" => {
                self.note(format!("`{name}` finds nothing: the environment is empty"));
                Ok(Val::Bits(0))
            }
            "sysconf" | "get_nprocs" | "get_nprocs_conf" => {
                self.note(format!("`{name}` gives {PROCESSORS}"));
                Ok(Val::Bits(PROCESSORS))
            }
            "getpid" | "getppid" | "sched_getcpu" => {
                self.note(format!("`{name}` gives 1"));
                Ok(Val::Bits(1))
            }
            _ => return None,
        })
    }

    fn chance(&mut self, local: &mut Local, name: &str) -> Result<Val, Stop> {
        self.note(format!("`{name}` gives 0 or 1, and no other number"));
        self.visible(local, Action::Choose { alternatives: 2 }).map(Val::from)
    }

    fn time_stands_still(&mut self) {
        self.note("time stands still: clocks always say 0");
    }

    /// A time in seconds and parts of a second.
    fn set_time(&mut self, local: &mut Local, to: &Val) -> Result<(), Stop> {
        self.time_stands_still();
        self.store_word(local, to, 8, Word::ZERO, Order::Plain)?;
        self.store_word(local, &Machine::field(to, 8), 8, Word::ZERO, Order::Plain)
    }

    /// What `main` is given: how many arguments there are, the arguments, the environment.
    pub(crate) fn arguments_of_main(&mut self) -> Vec<Val> {
        let mut make = |nth: u32, size: u64| {
            let name = Name::Argument { nth };
            self.space.intern(Object { name, size, fill: Fill::Zero, constant: false })
        };
        let (list, text, environment) = (make(0, 16), make(1, 8), make(2, 8));
        for (at, byte) in b"program".iter().enumerate() {
            self.space.image_mut(text).insert(at as u32, (1, Word::Bits((*byte).into())));
        }
        self.space.image_mut(list).insert(0, (8, Machine::pointer(text).word()));
        vec![Val::Bits(1), Machine::pointer(list), Machine::pointer(environment)]
    }
}
