//! What a program's instructions are on a store-atomic machine.
//!
//! The usual compilation of C11: loads are loads; a store is a store; read-modify-writes are locked
//! and need empty buffers; `fence(sc)` waits until the buffers are empty. On `tso`, stores stay in
//! order anyway, so nothing else is needed but a full fence after every `sc` store. On `pso` and
//! `pgas` a release store and a release fence need all earlier stores to stay in front: a lightweight
//! fence on all addresses. The marks of transactions are nothing to a machine.
//!
//! In a compiled program, stores have no strength, [`FenceMode::Sc`] is the full fence and
//! [`FenceMode::Rel`] is the lightweight fence on *all* addresses; there are no other fence modes.

use super::Machine;
use ir::ids::{Pc, Tid};
use ir::mode::{FenceMode, WriteMode};
use ir::program::{Instr, Program, Step, Thread};

/// A program in machine instructions.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program. A step of the original is found at the same place, or starts there.
    pub program: Program,
    /// For each thread and step, the step of the original it comes from.
    pub source: Vec<Vec<Pc>>,
}

impl Compiled {
    /// The step of the original that a step comes from.
    pub fn source(&self, tid: Tid, pc: Pc) -> Pc {
        self.source[tid.index()].get(pc.index()).copied().unwrap_or(pc)
    }

    /// Does any instruction order stores without emptying the buffers?
    pub fn has_light_fences(&self) -> bool {
        self.program
            .steps()
            .any(|(_, _, s)| matches!(s.instr, Instr::LightFence(_) | Instr::Fence(FenceMode::Rel)))
    }

    /// The same program with a lightweight fence on all addresses after every store: TSO, told to a
    /// machine that has a buffer per address (Section 4).
    pub fn with_stores_in_order(&self) -> Compiled {
        let mut result = self.clone();
        for (thread, source) in result.program.threads.iter_mut().zip(&mut result.source) {
            for pc in 0..thread.code.len() {
                if let Instr::Store { .. } = thread.code[pc].instr {
                    append(thread, source, pc, Instr::Fence(FenceMode::Rel));
                }
            }
        }
        result
    }

    /// The same program, in which fences for elements of arrays are there though they order nothing: an
    /// index may be out of range. `original` is what was compiled.
    pub fn with_indices_checked(mut self, original: &Program) -> Compiled {
        for (tid, pc, step) in original.steps() {
            if let Instr::LightFence(places) = &step.instr
                && places.iter().any(|place| place.index.is_some())
            {
                self.program.threads[tid.index()].code[pc.index()].instr = step.instr.clone();
            }
        }
        self
    }
}

/// Compiles `program` for `machine`.
pub fn compile(program: &Program, machine: Machine) -> Compiled {
    let mut program = program.clone();
    let mut source = Vec::new();
    for thread in &mut program.threads {
        let mut from: Vec<Pc> = (0..thread.code.len()).map(Pc::from).collect();
        for pc in 0..from.len() {
            let instrs = instructions(&thread.code[pc].instr, machine);
            let mut last = pc;
            for (k, instr) in instrs.into_iter().enumerate() {
                if k == 0 {
                    thread.code[pc].instr = instr;
                } else {
                    last = append(thread, &mut from, last, instr);
                }
            }
        }
        source.push(from);
    }
    Compiled { program, source }
}

/// Puts `instr` behind the step at `after`; says where.
fn append(thread: &mut Thread, source: &mut Vec<Pc>, after: usize, instr: Instr) -> usize {
    let at = thread.code.len();
    let Step { next, origin, .. } = thread.code[after];
    thread.code.push(Step { instr, next, origin });
    thread.code[after].next = Pc::from(at);
    source.push(source[after]);
    at
}

/// The machine instructions for `instr`.
fn instructions(instr: &Instr, machine: Machine) -> Vec<Instr> {
    const FULL: Instr = Instr::Fence(FenceMode::Sc);
    const LIGHT: Instr = Instr::Fence(FenceMode::Rel);
    let in_order = machine == Machine::Tso;
    match instr {
        Instr::Store { place, value, mode } => {
            let store =
                Instr::Store { place: place.clone(), value: value.clone(), mode: WriteMode::Rlx };
            let releases = *mode >= WriteMode::Prel && !in_order;
            let before = releases.then_some(LIGHT);
            let after = (*mode == WriteMode::Sc).then_some(FULL);
            before.into_iter().chain([store]).chain(after).collect()
        }
        Instr::Fence(FenceMode::Sc | FenceMode::ScUpd | FenceMode::Upd) => vec![FULL],
        Instr::Fence(FenceMode::Rel | FenceMode::AcqRel) if !in_order => vec![LIGHT],
        Instr::Fence(_) => vec![Instr::Skip],
        Instr::LightFence(_) if in_order => vec![Instr::Skip],
        Instr::Begin | Instr::End => vec![Instr::Skip],
        other => vec![other.clone()],
    }
}
