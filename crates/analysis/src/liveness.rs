//! Which registers may still be read.
//!
//! A register that no path reads before writing is dead: its value cannot matter, so searches set
//! it to 0 and states that differ only in dead registers become one.

use ir::ids::RegSet;
use ir::program::Thread;

/// For every program counter, the registers live *before* the step there.
pub fn live_registers(thread: &Thread) -> Vec<RegSet> {
    let mut live = vec![RegSet::EMPTY; thread.code.len()];
    loop {
        let mut changed = false;
        for (pc, step) in thread.code.iter().enumerate().rev() {
            let after =
                step.successors().fold(RegSet::EMPTY, |set, next| set.union(live[next.index()]));
            let killed = step.instr.output().map_or(RegSet::EMPTY, RegSet::one);
            let before = after.minus(killed).union(step.instr.inputs());
            changed |= before != live[pc];
            live[pc] = before;
        }
        if !changed {
            return live;
        }
    }
}
