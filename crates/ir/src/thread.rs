//! How one thread steps (Fig. 2 of the RC20 paper).
//!
//! [`next_action`] says what a thread wants to do next in its local state, with all expressions
//! evaluated and the values it reads left open. A `memory::Memory` decides whether it may
//! and what it reads.

use crate::expr::{Domain, Expr, Fault, Notes};
use crate::ids::{Loc, Reg, RegSet, Value};
use crate::mode::{FenceMode, ReadMode, WriteMode};
use crate::program::{Instr, Place};
use crate::update::Change;
use smallvec::SmallVec;

/// What a thread wants to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing that the memory takes part in: assignments, jumps, asserts, assumes, skips.
    Local,
    /// Read a location.
    Read {
        /// Which.
        loc: Loc,
        /// How strongly.
        mode: ReadMode,
    },
    /// Write a location.
    Write {
        /// Which.
        loc: Loc,
        /// The value.
        value: Value,
        /// How strongly.
        mode: WriteMode,
    },
    /// Read and write a location, whatever its value.
    Update {
        /// Which.
        loc: Loc,
        /// What is written.
        change: Change,
        /// How strongly it reads.
        read: ReadMode,
        /// How strongly it writes.
        write: WriteMode,
    },
    /// Compare and swap; strong.
    Cas {
        /// Which location.
        loc: Loc,
        /// The value it must have.
        expected: Value,
        /// The value it then gets.
        desired: Value,
        /// How strongly a success reads.
        read: ReadMode,
        /// How strongly a success writes.
        write: WriteMode,
        /// How strongly a failure reads.
        fail: ReadMode,
    },
    /// Compare and swap that blocks until it succeeds.
    BlockingCas {
        /// Which location.
        loc: Loc,
        /// The value it waits for.
        expected: Value,
        /// The value it then gets.
        desired: Value,
        /// How strongly it reads.
        read: ReadMode,
        /// How strongly it writes.
        write: WriteMode,
    },
    /// Block until one of the values is read.
    Wait {
        /// Which location.
        loc: Loc,
        /// The values waited for.
        values: SmallVec<[Value; 4]>,
        /// How strongly.
        mode: ReadMode,
    },
    /// A fence.
    Fence(FenceMode),
    /// A lightweight fence on these locations.
    LightFence(SmallVec<[Loc; 4]>),
    /// Start of an uninterrupted block.
    BusLock,
    /// End of an uninterrupted block.
    BusUnlock,
    /// Start of a transaction.
    Begin,
    /// End of a transaction.
    End,
    /// Nothing, ever again.
    Halt,
}

impl Action {
    /// The location accessed, if it is a memory access.
    #[inline(always)]
    pub fn loc(&self) -> Option<Loc> {
        match self {
            Action::Read { loc, .. }
            | Action::Write { loc, .. }
            | Action::Update { loc, .. }
            | Action::Cas { loc, .. }
            | Action::BlockingCas { loc, .. }
            | Action::Wait { loc, .. } => Some(*loc),
            _ => None,
        }
    }

    /// May it change memory?
    #[inline(always)]
    pub fn may_write(&self) -> bool {
        matches!(
            self,
            Action::Write { .. }
                | Action::Update { .. }
                | Action::Cas { .. }
                | Action::BlockingCas { .. }
        )
    }
}

/// The registers that the outcome of an instruction depends on, given whether a CAS succeeded:
/// R_in of Fig. 2. A success uses both expressions, a failure only the expected value.
pub fn inputs(instr: &Instr, cas_succeeded: bool) -> RegSet {
    match instr {
        Instr::Cas { place, expected, .. } if !cas_succeeded => {
            place.registers().union(expected.registers())
        }
        _ => instr.inputs(),
    }
}

/// The location a place stands for.
#[inline(always)]
pub fn resolve(
    place: &Place,
    regs: &[Value],
    domain: Domain,
    notes: &mut Notes,
) -> Result<Loc, Fault> {
    let Some(index) = &place.index else { return Ok(place.base) };
    let index = index.eval(regs, domain, notes)?;
    place.element(index).ok_or(Fault::IndexOutOfRange { index, len: place.len })
}

/// What a thread with these registers wants to do at `instr`.
#[inline]
pub fn next_action(
    instr: &Instr,
    regs: &[Value],
    domain: Domain,
    notes: &mut Notes,
) -> Result<Action, Fault> {
    let mut eval = |e: &Expr| e.eval(regs, domain, notes);
    Ok(match instr {
        Instr::Assign { .. }
        | Instr::Jump { .. }
        | Instr::Switch { .. }
        | Instr::Skip
        | Instr::Assert(_)
        | Instr::Assume(_)
        | Instr::Mark(_) => Action::Local,
        Instr::Load { place, mode, .. } => {
            Action::Read { loc: resolve(place, regs, domain, notes)?, mode: *mode }
        }
        Instr::Store { place, value, mode } => {
            let value = eval(value)?;
            Action::Write { loc: resolve(place, regs, domain, notes)?, value, mode: *mode }
        }
        Instr::Rmw { place, update, read, write, .. } => {
            let change = Change { op: update.op, operand: eval(&update.operand)? };
            let loc = resolve(place, regs, domain, notes)?;
            Action::Update { loc, change, read: *read, write: *write }
        }
        Instr::Cas { place, expected, desired, read, write, fail, .. } => {
            let (expected, desired) = (eval(expected)?, eval(desired)?);
            Action::Cas {
                loc: resolve(place, regs, domain, notes)?,
                expected,
                desired,
                read: *read,
                write: *write,
                fail: *fail,
            }
        }
        Instr::BlockingCas { place, expected, desired, read, write } => {
            let (expected, desired) = (eval(expected)?, eval(desired)?);
            Action::BlockingCas {
                loc: resolve(place, regs, domain, notes)?,
                expected,
                desired,
                read: *read,
                write: *write,
            }
        }
        Instr::Wait { place, values, mode, .. } => {
            let values = values.iter().map(eval).collect::<Result<_, _>>()?;
            Action::Wait { loc: resolve(place, regs, domain, notes)?, values, mode: *mode }
        }
        Instr::Fence(mode) => Action::Fence(*mode),
        Instr::LightFence(places) => Action::LightFence(
            places
                .iter()
                .map(|place| resolve(place, regs, domain, notes))
                .collect::<Result<_, _>>()?,
        ),
        Instr::BusLock => Action::BusLock,
        Instr::BusUnlock => Action::BusUnlock,
        Instr::Begin => Action::Begin,
        Instr::End => Action::End,
        Instr::Halt => Action::Halt,
    })
}

/// The register a read value goes to.
#[inline(always)]
pub fn destination(instr: &Instr) -> Option<Reg> {
    match instr {
        Instr::Assign { .. } => None,
        _ => instr.output(),
    }
}
