//! What memory orders cost.
//!
//! A table has a number for each part of a strength and each kind of access. They are rough, but only their
//! comparison matters: on x86 every load acquires and every store releases, so that only `seq_cst` stores and
//! fences cost anything; on Arm acquire and release are cheap instructions of their own, and fences are dear; on
//! Power everything is a fence. An access in a loop costs ten times as much for each level of nesting. A loop
//! that its thread never leaves does not count: otherwise everything in it would be dear alike.

use super::{Kind, Site, Strength};
use analysis::cycles::loop_depths;
use ir::Program;

/// What the parts of a strength cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// A read that acquires.
    pub acquire: u64,
    /// A write that releases.
    pub release: u64,
    /// A read-modify-write that acquires or releases; twice that if both.
    pub update: u64,
    /// What it costs more that a load is `seq_cst`.
    pub sc_load: u64,
    /// What it costs more that a store is `seq_cst`.
    pub sc_store: u64,
    /// What it costs more that a read-modify-write is `seq_cst`.
    pub sc_update: u64,
    /// A fence that acquires or releases; twice that if both.
    pub fence: u64,
    /// What it costs more that a fence is `seq_cst`.
    pub sc_fence: u64,
    /// How many times more an access costs in a loop.
    pub in_loop: u64,
}

/// Costs are multiplied by this, so that preferences among equals never add up to a cost.
const TIE: u64 = 4096;
/// Loops nested deeper than this cost no more.
const DEEPEST: u32 = 4;

/// How many loops each step of a program is in.
pub struct Loops(Vec<Vec<u32>>);

impl Loops {
    /// Those of the program.
    pub fn of(program: &Program) -> Loops {
        Loops(program.threads.iter().map(|thread| loop_depths(thread, DEEPEST)).collect())
    }
}

impl Costs {
    /// No machine in particular: what is weaker costs less, and an order less than a fence.
    pub const GENERIC: Costs = Costs {
        acquire: 2,
        release: 2,
        update: 1,
        sc_load: 3,
        sc_store: 6,
        sc_update: 2,
        fence: 4,
        sc_fence: 12,
        in_loop: 10,
    };
    /// x86-64.
    pub const X86: Costs = Costs {
        acquire: 0,
        release: 0,
        update: 0,
        sc_load: 0,
        sc_store: 20,
        sc_update: 0,
        fence: 0,
        sc_fence: 20,
        in_loop: 10,
    };
    /// Armv8 and later.
    pub const ARM: Costs = Costs {
        acquire: 2,
        release: 2,
        update: 1,
        sc_load: 1,
        sc_store: 1,
        sc_update: 1,
        fence: 5,
        sc_fence: 5,
        in_loop: 10,
    };
    /// Power.
    pub const POWER: Costs = Costs {
        acquire: 5,
        release: 6,
        update: 5,
        sc_load: 20,
        sc_store: 20,
        sc_update: 20,
        fence: 5,
        sc_fence: 20,
        in_loop: 10,
    };

    /// The names of the costs in a table.
    pub const NAMES: [&str; 9] = [
        "acquire",
        "release",
        "update",
        "sc_load",
        "sc_store",
        "sc_update",
        "fence",
        "sc_fence",
        "in_loop",
    ];

    /// The table of a machine.
    pub fn named(name: &str) -> Option<Costs> {
        Some(match name {
            "generic" => Costs::GENERIC,
            "x86" => Costs::X86,
            "arm" => Costs::ARM,
            "power" => Costs::POWER,
            _ => return None,
        })
    }

    /// The cost with this name, one of [`Costs::NAMES`].
    pub fn by_name(&mut self, name: &str) -> Option<&mut u64> {
        let Costs {
            acquire,
            release,
            update,
            sc_load,
            sc_store,
            sc_update,
            fence,
            sc_fence,
            in_loop,
        } = self;
        let all =
            [acquire, release, update, sc_load, sc_store, sc_update, fence, sc_fence, in_loop];
        all.into_iter().zip(Costs::NAMES).find(|(_, known)| *known == name).map(|(cost, _)| cost)
    }

    /// What a part of the strength of a kind of access costs.
    pub fn part(&self, kind: Kind, part: Strength) -> u64 {
        let sc = part == Strength::SC || part == Strength::FAIL_SC;
        match kind {
            Kind::Read if sc => self.sc_load,
            Kind::Read => self.acquire,
            Kind::Write if sc => self.sc_store,
            Kind::Write => self.release,
            Kind::Update | Kind::CompareExchange if sc => self.sc_update,
            Kind::Update | Kind::CompareExchange => self.update,
            Kind::Fence if sc => self.sc_fence,
            Kind::Fence => self.fence,
        }
    }

    /// What a strength costs at a site, in the units of the table.
    pub fn of(&self, loops: &Loops, site: &Site, strength: Strength) -> u64 {
        let parts = site.kind.parts().iter().filter(|part| strength.has(**part));
        let once: u64 = parts.map(|part| self.part(site.kind, *part)).sum();
        once.saturating_mul(self.often(loops, site))
    }

    /// What the optimiser counts a part of a strength at a site as: of equals, fewer parts are preferred, and
    /// what is there already to what is not.
    pub(super) fn weight(&self, loops: &Loops, site: &Site, part: Strength) -> u64 {
        let once = self.part(site.kind, part);
        let cost = once.saturating_mul(self.often(loops, site));
        cost.saturating_mul(TIE) + if site.new { 3 } else { 2 }
    }

    /// How often a site counts: more in loops.
    fn often(&self, loops: &Loops, site: &Site) -> u64 {
        let depth = |&(tid, pc): &(ir::Tid, ir::Pc)| loops.0[tid.index()][pc.index()];
        let depth = site.places.iter().map(depth).max().unwrap_or(0);
        self.in_loop.max(1).saturating_pow(depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches loops that are not counted, and an endless one that is.
    #[test]
    fn loops_are_counted_and_endless_ones_are_not() {
        let text = "global x; thread t { local r;
            x.store(1);
            while (true) {
                x.store(2);
                r = x.load();
                while (r != 0) { r = x.load(); while (r == 2) { r = x.load(); } }
            }
        } thread u { local r; r = 1; while (r != 0) { r = x.load(); } x.store(3); }";
        let program = lang::parse("test", text).expect("a program").program;
        let loops = Loops::of(&program);
        let depths = |thread: usize, writes: bool| -> Vec<u32> {
            let accesses = program.threads[thread].code.iter().enumerate().filter(|(_, step)| {
                step.instr.place().is_some() && step.instr.may_write() == writes
            });
            let mut depths: Vec<u32> = accesses.map(|(pc, _)| loops.0[thread][pc]).collect();
            depths.sort_unstable();
            depths
        };
        assert_eq!((depths(0, true), depths(0, false)), (vec![0, 0], vec![0, 1, 2]));
        assert_eq!((depths(1, true), depths(1, false)), (vec![0], vec![1]));
    }
}
