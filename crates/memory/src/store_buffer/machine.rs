//! Which machine with store buffers a program runs on.

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
