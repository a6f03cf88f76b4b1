//! Which register holds what its thread last loaded from a location.
//!
//! Lock-free code compares and swaps with what it has just read: `r = x.load(); … CAS(x, r, e)`.
//! There a monitor need not tell all values of `x` apart, only the one in `r` from all others
//! (`memory::rc20::row_layout`). This analysis finds such expected values: on every way to the
//! CAS, BCAS or wait, the register was last written by a load from the very location.

use ir::expr::Expr;
use ir::ids::{Loc, Pc, Reg};
use ir::program::{Instr, Place, Thread};

/// What wrote a register last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// Control has not come here.
    Unknown,
    /// A load from this location.
    Load(Loc),
    /// Something else, or not always the same.
    Other,
}

impl Origin {
    fn join(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Unknown, origin) | (origin, Origin::Unknown) => origin,
            (a, b) if a == b => a,
            _ => Origin::Other,
        }
    }
}

/// Per program counter and register, the location it was last loaded from, if that is certain.
#[derive(Clone, Debug)]
pub struct LastLoads {
    origins: Vec<Vec<Origin>>,
}

impl LastLoads {
    /// Analyses `thread`.
    pub fn of(thread: &Thread) -> Self {
        let registers = thread.registers.len();
        let mut origins = vec![vec![Origin::Unknown; registers]; thread.code.len()];
        origins[thread.entry.index()].fill(Origin::Other);
        let mut open = vec![thread.entry];
        while let Some(pc) = open.pop() {
            let step = &thread.code[pc.index()];
            let mut after = origins[pc.index()].clone();
            if let Some(dst) = step.instr.output() {
                after[dst.index()] = match &step.instr {
                    Instr::Load { place, .. } => only(place).map_or(Origin::Other, Origin::Load),
                    _ => Origin::Other,
                };
            }
            for next in step.successors() {
                let before = &mut origins[next.index()];
                let joined: Vec<_> = before.iter().zip(&after).map(|(a, b)| a.join(*b)).collect();
                if *before != joined {
                    *before = joined;
                    open.push(next);
                }
            }
        }
        LastLoads { origins }
    }

    /// The register that `expected` is, if it holds what was last loaded from `place`.
    pub fn expected(&self, pc: Pc, place: &Place, expected: &Expr) -> Option<Reg> {
        let Expr::Reg(reg) = expected else { return None };
        let origin = self.origins[pc.index()][reg.index()];
        only(place).is_some_and(|loc| origin == Origin::Load(loc)).then_some(*reg)
    }
}

/// The one location that `place` stands for, if it is one.
pub fn only(place: &Place) -> Option<Loc> {
    let mut locations = place.locations();
    let first = locations.next()?;
    locations.next().is_none().then_some(first)
}
