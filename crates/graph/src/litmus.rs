//! Litmus tests by hand, for the unit tests of this folder: straight-line threads over locations
//! `X`, `Y`, `Z` and a non-atomic `N`, registers `A`, `B`.

use ir::{
    Domain, Expr, FenceMode, Instr, Loc, Location, LocationKind, Origin, Pc, Place, Program,
    ReadMode, Reg, Step, Thread, Update, Value, WriteMode,
};

pub(crate) const X: Loc = Loc(0);
pub(crate) const Y: Loc = Loc(1);
pub(crate) const Z: Loc = Loc(2);
pub(crate) const N: Loc = Loc(3);

pub(crate) const A: Reg = Reg(0);
pub(crate) const B: Reg = Reg(1);

pub(crate) const RLX: ReadMode = ReadMode::Rlx;
pub(crate) const ACQ: ReadMode = ReadMode::Acq;
pub(crate) const WRLX: WriteMode = WriteMode::Rlx;
pub(crate) const REL: WriteMode = WriteMode::Rel;

/// A program of straight-line threads; `Jump` targets are positions in the list.
pub(crate) fn program<const T: usize>(threads: [Vec<Instr>; T]) -> Program {
    let location = |(name, kind): (&str, LocationKind)| Location {
        name: name.to_string(),
        element: None,
        initial: 0,
        kind,
    };
    let thread = |(number, instrs): (usize, Vec<Instr>)| {
        let steps = instrs.into_iter().chain([Instr::Halt]).enumerate();
        Thread {
            name: format!("t{number}"),
            replica: None,
            registers: ["a", "b"].map(String::from).to_vec(),
            code: steps
                .map(|(pc, instr)| Step {
                    next: Pc::from(if instr == Instr::Halt { pc } else { pc + 1 }),
                    instr,
                    origin: Origin(0),
                })
                .collect(),
            entry: Pc(0),
        }
    };
    Program {
        domain: Domain::modulo(7),
        locations: [
            ("x", LocationKind::Atomic),
            ("y", LocationKind::Atomic),
            ("z", LocationKind::Atomic),
            ("n", LocationKind::NonAtomic),
        ]
        .into_iter()
        .map(location)
        .collect(),
        threads: threads.into_iter().enumerate().map(thread).collect(),
        spawned: vec![],
        condition: None,
        foreseen: Vec::new(),
    }
}

pub(crate) fn store(loc: Loc, value: Value, mode: WriteMode) -> Instr {
    Instr::Store { place: Place::location(loc), value: Expr::Const(value), mode }
}

pub(crate) fn store_reg(loc: Loc, reg: Reg, mode: WriteMode) -> Instr {
    Instr::Store { place: Place::location(loc), value: Expr::Reg(reg), mode }
}

pub(crate) fn load(dst: Reg, loc: Loc, mode: ReadMode) -> Instr {
    Instr::Load { dst, place: Place::location(loc), mode }
}

pub(crate) fn fadd(dst: Reg, loc: Loc, amount: Value, read: ReadMode, write: WriteMode) -> Instr {
    let update = Update::add(Expr::Const(amount));
    Instr::Rmw { dst: Some(dst), place: Place::location(loc), update, read, write }
}

pub(crate) fn bcas(loc: Loc, expected: Value, desired: Value) -> Instr {
    let (expected, desired) = (Expr::Const(expected), Expr::Const(desired));
    Instr::BlockingCas { place: Place::location(loc), expected, desired, read: RLX, write: WRLX }
}

pub(crate) fn cas(dst: Reg, loc: Loc, expected: Value, desired: Value) -> Instr {
    let (expected, desired) = (Expr::Const(expected), Expr::Const(desired));
    let place = Place::location(loc);
    Instr::Cas { dst: Some(dst), place, expected, desired, read: RLX, write: WRLX, fail: RLX }
}

pub(crate) fn wait(loc: Loc, value: Value, mode: ReadMode) -> Instr {
    let values = vec![Expr::Const(value)];
    Instr::Wait { dst: None, place: Place::location(loc), values, mode }
}

pub(crate) fn fence(mode: FenceMode) -> Instr {
    Instr::Fence(mode)
}

pub(crate) fn assert(reg: Reg) -> Instr {
    Instr::Assert(Expr::Reg(reg))
}

/// Jumps to `target` if the register is not 0.
pub(crate) fn jump(reg: Reg, target: u32) -> Instr {
    Instr::Jump { cond: Expr::Reg(reg), targets: vec![Pc(target)] }
}
