//! Makes random programs less even: unequal initial values, arrays that are too short for some of
//! their indices, arithmetic that has an edge, assertions that fail. Reductions that assume one of
//! these away look right on even programs.

#![allow(dead_code, reason = "not every test file needs all of it")]

use ir::expr::Binary;
use ir::random::Generator;
use ir::{
    Edge, Expr, FenceMode, Instr, Loc, Location, LocationKind, Pc, Place, Program, ReadMode, Reg,
    Step, Thread, Update, Value, WriteMode,
};

/// What was made uneven.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uneven {
    /// Initial values that are not 0.
    pub values: bool,
    /// Arrays that are too short.
    pub arrays: bool,
    /// Results that do not fit are errors.
    pub edge: bool,
}

/// Makes `program` uneven, as `seed` says.
pub(crate) fn make_uneven(program: &mut Program, seed: u64) -> Uneven {
    let mut random = Generator { state: seed ^ 0x9e37_79b9_7f4a_7c15 };
    let mut done = Uneven::default();
    if random.below(4) > 0 {
        let max = program.domain.max as usize;
        for location in &mut program.locations {
            location.initial = random.below(max + 1) as ir::Value;
            done.values |= location.initial != 0;
        }
    }
    if random.below(3) == 0 {
        for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
            if let Some(place) = place_of(&mut step.instr)
                && place.index.is_some()
                && place.len > 1
                && random.below(2) == 0
            {
                place.len -= 1;
                done.arrays = true;
            }
        }
    }
    if random.below(4) == 0 {
        program.domain.edge = Edge::Fault;
        done.edge = true;
    }
    done
}

/// The place that an access is to.
fn place_of(instr: &mut Instr) -> Option<&mut Place> {
    match instr {
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. }
        | Instr::BlockingCas { place, .. }
        | Instr::Wait { place, .. } => Some(place),
        _ => None,
    }
}

/// Lets every thread say at its end what its first register holds, and a further thread, when all have,
/// assert that the first two do not hold these values. That is how a program can notice what no
/// interleaving does: each thread alone sees nothing wrong.
pub(crate) fn with_observer(program: &mut Program, values: [Value; 2]) {
    let threads = program.threads.len();
    let mut location = |name: String| {
        let kind = LocationKind::Atomic;
        program.locations.push(Location { name, element: None, initial: 0, kind });
        Place::location(Loc::from(program.locations.len() - 1))
    };
    let results: Vec<Place> = (0..threads).map(|t| location(format!("said{t}"))).collect();
    let done = location("done".into());
    for (thread, result) in program.threads.iter_mut().zip(&results) {
        for at in 0..thread.code.len() {
            if thread.code[at].instr != Instr::Halt {
                continue;
            }
            let origin = thread.code[at].origin;
            let end = thread.code.len();
            let store = Instr::Store {
                place: result.clone(),
                value: Expr::Reg(Reg(0)),
                mode: WriteMode::Rlx,
            };
            let add = Instr::Rmw {
                dst: None,
                place: done.clone(),
                update: Update::add(Expr::Const(1)),
                read: ReadMode::Acq,
                write: WriteMode::Rel,
            };
            thread.code[at] = Step { instr: store, next: Pc::from(end), origin };
            thread.code.push(Step { instr: add, next: Pc::from(end + 1), origin });
            thread.code.push(Step { instr: Instr::Halt, next: Pc::from(end + 1), origin });
        }
    }
    let load = |reg: u32| Instr::Load {
        dst: Reg(reg),
        place: results[reg as usize].clone(),
        mode: ReadMode::Rlx,
    };
    let holds = |reg: u32| {
        let value = Expr::Const(values[reg as usize]);
        Expr::binary(Binary::Ne, Expr::Reg(Reg(reg)), value).expect("a small expression")
    };
    let differs = Expr::binary(Binary::Or, holds(0), holds(1)).expect("a small one");
    let all = Expr::Const(threads as ir::Value);
    let wait = Instr::Wait { dst: None, place: done, values: vec![all], mode: ReadMode::Acq };
    let instrs = [wait, load(0), load(1), Instr::Assert(differs), Instr::Halt];
    let origin = program.threads[0].code[0].origin;
    program.threads.push(Thread {
        name: "observer".into(),
        replica: None,
        registers: vec!["a".into(), "b".into()],
        entry: Pc(0),
        code: instrs
            .into_iter()
            .enumerate()
            .map(|(k, instr)| Step { instr, next: Pc::from((k + 1).min(4)), origin })
            .collect(),
    });
}

/// Makes the first two threads of `program` store to one location and load another, each from where the
/// other stores, with values and perhaps a fence as `seed` says.
pub(crate) fn as_store_buffering(program: &mut Program, seed: u64) {
    let mut random = Generator { state: seed ^ 0x1405_7b7e_f767_814f };
    let max = program.domain.max as usize;
    for (t, thread) in program.threads.iter_mut().enumerate().take(2) {
        let origin = thread.code[0].origin;
        let (own, other) = (Loc(t as u32 % 2), Loc(1 - t as u32 % 2));
        let value = Expr::Const(random.below(max + 1) as ir::Value);
        let place = Place::location(own);
        let mut instrs = vec![Instr::Store { place, value, mode: WriteMode::Rlx }];
        if random.below(4) == 0 {
            instrs.push(Instr::Fence(FenceMode::Sc));
        }
        let place = Place::location(other);
        instrs.push(Instr::Load { dst: Reg(0), place, mode: ReadMode::Rlx });
        instrs.push(Instr::Halt);
        let end = instrs.len() - 1;
        let steps = instrs.into_iter().enumerate();
        thread.code = steps
            .map(|(k, instr)| Step { instr, next: Pc::from((k + 1).min(end)), origin })
            .collect();
        thread.entry = Pc(0);
    }
}
