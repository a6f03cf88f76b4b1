//! Store-atomic machines: TSO, PSO and PGAS (Derevenetc, Meyer and Schweizer, *Locality and
//! Singularity for Store-Atomic Memory Models*).
//!
//! A thread's stores wait in buffers before they reach memory; once there, every thread sees them.
//! What the machine does exactly is told by [`super::store_buffer`], which runs it literally. This
//! module says which machine instructions a program stands for ([`compile`]), and holds the memory
//! that decides robustness without any buffer ([`Attack`]): sequential consistency, one *attacker*
//! who has put a store off, and marks for what happens after its last access.

mod attack;
mod compile;

pub use attack::{Attack, Mark, Phase};
pub use compile::{Compiled, compile};

use std::fmt;

/// A store-atomic machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Machine {
    /// Total store order: each thread's stores reach memory in program order (x86).
    Tso,
    /// Partial store order: only stores to the same address stay in order (SPARC).
    Pso,
    /// Partitioned global address spaces: as [`Machine::Pso`], with lightweight fences to order
    /// stores to different addresses.
    Pgas,
}

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 3] = [Machine::Tso, Machine::Pso, Machine::Pgas];

    /// The name used in options, reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Machine::Tso => "tso",
            Machine::Pso => "pso",
            Machine::Pgas => "pgas",
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
