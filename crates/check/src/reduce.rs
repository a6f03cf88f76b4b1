//! Which reductions a search uses.
//!
//! Each is a theorem with premises, in a module of its own, and can be switched off:
//!
//! | name | what it saves | statement, premises, proof |
//! |---|---|---|
//! | `local`, `choice`, `dead` | states in the middle of private steps, behind choices, with registers that nobody reads, with stale values that nobody can use | `product::follow`, `product::retire`, `memory::rc20::unreachable` |
//! | `por` | orders of steps that commute | `product::persistent` |
//! | `symmetry` | states that differ by an exchange of equal threads; searches at exchanged locations | [`analysis::symmetry`], `product::orbit` |
//! | `subsume` | states whose monitors remember less than those of another | [`Packed::monitor_bits`](memory::Packed::monitor_bits), [`memory::rc20`] |
//! | `parts` | states in which independent parts of the program have gone different distances | [`crate::parts`] |
//! | `counters` | how large numbers are, how far behind, how often a loop ran | `product::counters`, [`analysis::counters`], [`analysis::loop_counter`] |
//!
//! How they are combined is said once, in `product::normal_form`. `product::diagrams` tests each claim
//! at every state of random programs; `tests/agreement.rs` compares verdicts; [`crate::double_check`]
//! does so at run time.

use std::fmt;
use std::str::FromStr;

/// The reductions, each of which can be switched off. None changes a verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reductions {
    /// Private steps are taken at once.
    pub local_steps: bool,
    /// Nondeterministic choices are made only together with the access they lead to.
    pub late_choices: bool,
    /// Commuting accesses are tried in one order only.
    pub partial_order: bool,
    /// Of states that differ by an automorphism of the program, one is kept.
    pub symmetry: bool,
    /// Of states that differ only in monitors, those that remember most are kept.
    pub subsumption: bool,
    /// Registers that cannot be read any more are zeroed.
    pub dead_registers: bool,
    /// Parts of the program that share nothing are explored one by one, and those in which nothing can go wrong not at all.
    pub parts: bool,
    /// Of states in which all counters differ by the same amount, the smallest is kept; numbers far
    /// behind a clock are not told apart, and loop_counters are not kept. Needs `dead_registers`.
    pub counters: bool,
}

impl Reductions {
    /// All of them.
    pub const ALL: Reductions = Reductions {
        local_steps: true,
        late_choices: true,
        partial_order: true,
        symmetry: true,
        subsumption: true,
        dead_registers: true,
        parts: true,
        counters: true,
    };
    /// None of them.
    pub const NONE: Reductions = Reductions {
        local_steps: false,
        late_choices: false,
        partial_order: false,
        symmetry: false,
        subsumption: false,
        dead_registers: false,
        parts: false,
        counters: false,
    };
}

impl Default for Reductions {
    fn default() -> Self {
        Reductions::ALL
    }
}

impl FromStr for Reductions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut reductions = Reductions::NONE;
        for word in text.split(',').map(str::trim) {
            match word {
                "all" => reductions = Reductions::ALL,
                "none" => reductions = Reductions::NONE,
                "local" => reductions.local_steps = true,
                "choice" => reductions.late_choices = true,
                "por" => reductions.partial_order = true,
                "symmetry" => reductions.symmetry = true,
                "subsume" => reductions.subsumption = true,
                "dead" => reductions.dead_registers = true,
                "parts" => reductions.parts = true,
                "counters" => reductions.counters = true,
                other => {
                    return Err(format!(
                        "`{other}` is no reduction; there are local, choice, por, symmetry, subsume, dead, parts, counters, all, none"
                    ));
                }
            }
        }
        Ok(reductions)
    }
}

impl fmt::Display for Reductions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = [
            (self.local_steps, "local"),
            (self.late_choices, "choice"),
            (self.partial_order, "por"),
            (self.symmetry, "symmetry"),
            (self.subsumption, "subsume"),
            (self.dead_registers, "dead"),
            (self.parts, "parts"),
            (self.counters, "counters"),
        ]
        .into_iter()
        .filter_map(|(on, name)| on.then_some(name))
        .collect();
        match names.as_slice() {
            [] => f.write_str("none"),
            names => f.write_str(&names.join(",")),
        }
    }
}
