//! Counters: the state whose numbers are smallest stands for all that differ by a shift.

use super::{Product, World};
use model::analysis::counters::Counters;
use model::memory::Memory;
use model::{Reg, Tid, Value};

impl<M: Memory> Product<'_, M> {
    /// How far each class of counters in `world` is above where it started.
    pub(super) fn heights(&self, world: &World<M::State>, heights: &mut Vec<Value>) {
        heights.clear();
        heights.extend(self.counters.iter().map(|counters| {
            let values = self.memory.values(&world.memory);
            let locations = counters.locations.iter().map(|loc| values[loc.index()]);
            let registers =
                members(world, counters).map(|(tid, reg)| self.regs(world, tid)[reg.index()]);
            let lowest = locations.chain(registers).min().unwrap_or(counters.base);
            (lowest - counters.base).max(0)
        }));
    }

    /// Makes every counter in `world` smaller by its class's height, or larger again.
    pub(super) fn lower(&self, world: &mut World<M::State>, heights: &[Value], sign: Value) {
        for (counters, height) in self.counters.iter().zip(heights) {
            let by = sign * height;
            if by == 0 {
                continue;
            }
            self.memory.lower(&mut world.memory, &counters.locations, by);
            for t in 0..world.pcs.len() {
                for reg in counters.registers[t][world.pcs[t].index()].iter() {
                    world.regs[self.first_reg[t] + reg.index()] -= by;
                }
            }
        }
    }
}

/// The registers that hold counters of the class.
fn members<'w, S>(
    world: &'w World<S>,
    counters: &'w Counters,
) -> impl Iterator<Item = (Tid, Reg)> + 'w {
    world.pcs.iter().zip(&counters.registers).enumerate().flat_map(|(t, (pc, registers))| {
        registers[pc.index()].iter().map(move |reg| (Tid::from(t), reg))
    })
}
