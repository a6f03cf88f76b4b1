//! Programs with many `sc` events: those that [`super::program`] makes have few, because a
//! read-modify-write is an `sc` event only if it reads and writes so.

use super::Generator;
use crate::mode::{FenceMode, ReadMode, WriteMode};
use crate::program::{Instr, Program};

/// `program` with some accesses made `sc`, and some fences SC fences. How many is a matter of the seed,
/// too: from none to all.
pub fn with_sc_events(mut program: Program, seed: u64) -> Program {
    let mut random = Generator { state: seed ^ 0x5c5c };
    let (accesses, fences) = (random.below(5), random.below(3));
    let code = program.threads.iter_mut().flat_map(|thread| &mut thread.code);
    for instr in code.map(|step| &mut step.instr) {
        if matches!(instr, Instr::Fence(mode) if *mode != FenceMode::Upd)
            && random.below(2) < fences
        {
            *instr = Instr::Fence(FenceMode::Sc);
        }
        let (success, failure) = (random.below(4) < accesses, random.below(4) < accesses);
        let ([read, fail], write) = instr.modes_mut();
        let both = [(read, success), (fail, failure)];
        for (mode, _) in both.into_iter().filter(|(_, sc)| *sc) {
            mode.into_iter().filter(|mode| **mode != ReadMode::Na).for_each(|m| *m = ReadMode::Sc);
        }
        if success {
            write.into_iter().filter(|m| **m != WriteMode::Na).for_each(|m| *m = WriteMode::Sc);
        }
    }
    program
}

/// Which accesses [`with_sc_orders`] makes `sc`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strengthen {
    /// Those that acquire or release.
    Synchronising,
    /// All atomic ones.
    All,
}

/// `program` with SC fences, and with the accesses made `sc` that `which` says. Threads that were equal
/// stay so.
pub fn with_sc_orders(mut program: Program, which: Strengthen) -> Program {
    let code = program.threads.iter_mut().flat_map(|thread| &mut thread.code);
    for instr in code.map(|step| &mut step.instr) {
        if matches!(instr, Instr::Fence(FenceMode::AcqRel)) {
            *instr = Instr::Fence(FenceMode::Sc);
        }
        let (reads, write) = instr.modes_mut();
        let all = which == Strengthen::All;
        for mode in reads.into_iter().flatten() {
            if *mode >= if all { ReadMode::Rlx } else { ReadMode::Acq } {
                *mode = ReadMode::Sc;
            }
        }
        if let Some(mode) = write
            && *mode >= if all { WriteMode::Rlx } else { WriteMode::Rel }
        {
            *mode = WriteMode::Sc;
        }
    }
    program
}
