//! Programs in the languages of other tools.
//!
//! [`promela()`] writes a program's behaviour under sequential consistency as Promela, so that Spin
//! can check what Fencepost claims. It is an exact translation: every step of a thread is one step of
//! a Promela process and nothing else is, so without reductions Spin counts the same states.
//!
//! [`c()`] writes a program as C11 with threads and atomics, memory orders included, so that compilers and
//! tools for C can be tried on it, and so that what Fencepost says of C can be compared with what it says
//! of the program. [`rust()`] does the same in Rust.
//!
//! ```
//! use ir::expr::Domain;
//! use ir::{Instr, Location, LocationKind, Origin, Pc, Place, Loc, Program, Step, Thread};
//! use ir::{Expr, WriteMode};
//!
//! let x = Location { name: "x".into(), element: None, initial: 0, kind: LocationKind::Atomic };
//! let store = Instr::Store {
//!     place: Place::location(Loc(0)),
//!     value: Expr::Const(1),
//!     mode: WriteMode::Rlx,
//! };
//! let step = |instr, next| Step { instr, next: Pc(next), origin: Origin(0) };
//! let writer = Thread {
//!     name: "writer".into(),
//!     replica: None,
//!     registers: vec![],
//!     code: vec![step(store, 1), step(Instr::Halt, 1)],
//!     entry: Pc(0),
//! };
//! let program = Program::new(Domain::modulo(3), vec![x], vec![writer]);
//! let text = fencepost_export::promela(&program).expect("nothing that Promela lacks");
//! assert!(text.contains("loc_x = 1;"));
//! ```

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

mod c;
mod names;
mod promela;
mod rust;
mod storage;
mod text;

pub use c::c;
pub use promela::promela;
pub use rust::rust;

use ir::{Reg, RegSet, Thread};

/// Does the thread's code mention the register?
fn mentions(thread: &Thread, reg: Reg) -> bool {
    thread.code.iter().any(|step| {
        let output = step.instr.output().map_or(RegSet::EMPTY, RegSet::one);
        step.instr.inputs().union(output).contains(reg)
    })
}

/// Why a program cannot be written in another tool's language.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExportError {
    /// The other tool computes with 32 bits, and that is not enough.
    #[error(
        "`{operator}` on values {min}..={max} needs more than the 32 bits Promela computes with; \
         a smaller `max_value` helps"
    )]
    TooWide {
        /// The operator that may overflow.
        operator: &'static str,
        /// The smallest value of the program.
        min: ir::Value,
        /// The largest value of the program.
        max: ir::Value,
    },
    /// The other tool's variables have 32 bits, and that is not enough.
    #[error("values {0} need more than the 32 bits Promela's variables have")]
    Values(ir::Domain),
    /// An index ranges over locations that were not declared as one array.
    #[error("thread {thread} indexes {len} locations from `{base}` on, which are not one array")]
    NotAnArray {
        /// The thread that does.
        thread: String,
        /// The first location.
        base: String,
        /// How many locations the index ranges over.
        len: u32,
    },
    /// The other tool has a limit on the number of threads.
    #[error("Promela has at most {most} processes; this program has {count} threads")]
    TooManyThreads {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// C and Rust have no word for something that the program does.
    #[error("thread {thread}: {what}, which C and Rust have no word for")]
    NotInC {
        /// The thread that does.
        thread: String,
        /// What it does.
        what: &'static str,
    },
    /// A read-modify-write would wrap around where C's does not.
    #[error(
        "thread {thread}: `{operator}` on values {domain} wraps around where no integer type of C does; \
         values 0..=255 (`max_value 255`), or those of another type, can be written"
    )]
    WrapsElsewhere {
        /// The thread that does.
        thread: String,
        /// The read-modify-write.
        operator: &'static str,
        /// The program's values.
        domain: ir::Domain,
    },
}
