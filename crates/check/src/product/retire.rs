//! Threads that never move again.
//!
//! # Statement
//!
//! What a memory remembers about a thread matters only to what the thread does next. For a thread that
//! is done, or waits for a value that its location has left behind for good, it can be forgotten. How
//! long ago the value was missed does not matter either: the register with the awaited value gets
//! the largest value that is too small.
//!
//! # Premises
//!
//! 1. The thread is at its end, or at a BCAS that waits for the value of a register at a location of
//!    [`Counters::climbing`]: one to which every write in the program writes more than was there, and
//!    where nothing wraps around (the counters' analysis has excluded that).
//! 2. The value at the location is larger than the register's.
//!
//! # Proof
//!
//! 1. By 1 the location's value never becomes smaller, so by 2 it is never again the awaited one, and
//!    the thread never moves. Neither does one that is done.
//! 2. The memory keeps for a thread what it may read and overwrite and what its writes pass on. Only
//!    steps of the thread use these ([`memory::Renamed::retire`]).
//! 3. The awaited value is compared with the location's only, and stays smaller.

use super::{Product, World};
use analysis::counters::Counters;
use analysis::last_load::only;
use ir::thread;
use ir::{Expr, Instr, Loc, Notes, Place, Program, Reg, Tid};
use memory::{Ahead, Monitor};

/// Why a thread may never leave an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// It is done.
    Halt,
    /// It waits for the location to have the register's value; the location's value only grows.
    Missed(Loc, Reg),
}

/// Per thread and program counter, why the thread may never leave it.
pub(super) fn ends(program: &Program, counters: &[Counters]) -> Vec<Vec<Option<End>>> {
    let climbing = |loc: &Loc| counters.iter().any(|counters| counters.climbing.contains(loc));
    let end = |instr: &Instr| match instr {
        Instr::Halt => Some(End::Halt),
        Instr::BlockingCas { place, expected: Expr::Reg(reg), .. } => {
            only(place).filter(climbing).map(|loc| End::Missed(loc, *reg))
        }
        _ => None,
    };
    let threads = program.threads.iter();
    threads.map(|thread| thread.code.iter().map(|step| end(&step.instr)).collect()).collect()
}

impl<M: Monitor> Product<M> {
    /// Forgets what concerns only threads of `world` that never move again. Says whether registers
    /// changed.
    pub(super) fn retire(&self, world: &mut World<M::State>) -> bool {
        let mut changed = false;
        for (t, ends) in self.ends.iter().enumerate() {
            match ends[world.pcs[t].index()] {
                None => {}
                Some(End::Halt) => self.memory.retire(&mut world.memory, Tid::from(t)),
                Some(End::Missed(loc, reg)) => {
                    let value = self.memory.values(&world.memory)[loc.index()];
                    let waited = &mut world.regs[self.first_reg[t] + reg.index()];
                    if *waited < value {
                        // It does not matter how long ago it was missed.
                        changed |= *waited != value - 1;
                        *waited = value - 1;
                        self.memory.retire(&mut world.memory, Tid::from(t));
                    }
                }
            }
        }
        if self.reductions.dead_registers {
            let World { pcs, regs, memory, .. } = world;
            self.memory.forget_unreachable(memory, |tid| {
                let (t, pc) = (tid.index(), pcs[tid.index()]);
                let instr = &self.program.step(tid, pc).instr;
                let regs = &regs[self.first_reg[t]..self.first_reg[t + 1]];
                let mut notes = Notes::default();
                let mut resolve =
                    |place: &Place| thread::resolve(place, regs, self.program.domain, &mut notes);
                let next = instr.place().and_then(|place| resolve(place).ok());
                Ahead { prospect: &self.prospects[t][pc.index()], next }
            });
        }
        changed
    }
}
