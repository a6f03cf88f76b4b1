//! Plain and atomic accesses of a test, once all of its threads are read.
//!
//! What only plain accesses touch is non-atomic. What both kinds touch is atomic, has its plain accesses as relaxed ones, and
//! gets shadows that race when it does ([`ir::shadows`]). An array is one thing here: its elements have shadows if one needs
//! them.

use super::threads::{Code, Shared};
use ir::expr::Binary;
use ir::shadows::{Access, Shadows, Touch, Uses};
use ir::{Expr, Instr, Loc, Location, LocationKind, Pc, Place, ReadMode, Reg, Step, WriteMode};

/// The register that touches of shadows read into, and the one that keeps an index for them.
const UNUSED: &str = "tmp$shadow";
const INDEX: &str = "tmp$index";

/// Gives locations their kinds, and accesses to those of both kinds their touches; which locations are shadows.
pub(super) fn separate(
    locations: &mut Vec<Location>,
    shared: &[Shared],
    threads: &mut [Code<'_>],
) -> Vec<Loc> {
    let written = locations.len();
    for one in shared {
        let mut uses = Uses::default();
        for (tid, thread) in threads.iter().enumerate() {
            for step in thread.code.iter().filter(|step| is_in(*one, step)) {
                uses.add(access(&step.instr), tid);
            }
        }
        let all = one.first.index()..one.first.index() + one.length.unwrap_or(1) as usize;
        if !uses.is_atomic() && threads.iter().any(|it| it.code.iter().any(|s| is_in(*one, s))) {
            for location in &mut locations[all.clone()] {
                location.kind = LocationKind::NonAtomic;
            }
        }
        if !uses.is_mixed() {
            continue;
        }
        let shadows = Shadows::of(&uses, || {
            let first = Loc::from(locations.len());
            for element in all.clone() {
                let of = locations[element].clone();
                locations.push(Location { initial: 0, kind: LocationKind::NonAtomic, ..of });
            }
            first
        });
        for (tid, thread) in threads.iter_mut().enumerate() {
            for pc in 0..thread.code.len() {
                if is_in(*one, &thread.code[pc]) {
                    touch(thread, pc, *one, |access| {
                        let after =
                            (shadows.after(access, tid), shadows.after_success(access, tid));
                        (shadows.before(access, tid), after.0, after.1)
                    });
                }
            }
        }
    }
    (written..locations.len()).map(Loc::from).collect()
}

fn is_in(shared: Shared, step: &Step) -> bool {
    step.instr.place().is_some_and(|place| place.base == shared.first)
}

/// What an instruction is to shadows.
fn access(instr: &Instr) -> Access {
    match instr {
        Instr::Load { mode: ReadMode::Na, .. } => Access::PlainRead,
        Instr::Load { .. } => Access::Load,
        Instr::Store { mode: WriteMode::Na, .. } => Access::PlainWrite,
        Instr::Cas { dst, expected, write, .. } => {
            // Whether it has succeeded must be known after it.
            let kept = dst.is_some_and(|dst| !expected.registers().contains(dst));
            Access::Compare { succeeds: true, publishes: *write != WriteMode::Rlx || !kept }
        }
        Instr::Rmw { write, .. } => Access::Update { publishes: *write != WriteMode::Rlx },
        _ => Access::Write,
    }
}

/// Lets the access at `pc` touch its shadows: it moves to the end of the code if something comes before it.
fn touch(
    thread: &mut Code<'_>,
    pc: usize,
    shared: Shared,
    touches: impl FnOnce(Access) -> (Vec<Touch>, Vec<Touch>, Option<Touch>),
) {
    let Step { mut instr, next, origin } = thread.code[pc].clone();
    let (before, after, after_success) = touches(access(&instr));
    match &mut instr {
        Instr::Load { mode, .. } if *mode == ReadMode::Na => *mode = ReadMode::Rlx,
        Instr::Store { mode, .. } if *mode == WriteMode::Na => *mode = WriteMode::Rlx,
        _ => {}
    }
    let mut first = Vec::new();
    let mut index = instr.place().and_then(|place| place.index.clone());
    if let Some(computed) = index.take_if(|index| index.as_const().is_none()) {
        // The access may change the registers that it is computed from.
        let dst = thread.own_register(INDEX);
        first.push(Instr::Assign { dst, value: computed });
        index = Some(Expr::Reg(dst));
    }
    let unused = thread.own_register(UNUSED);
    let step = |touch: Touch| {
        let len = shared.length.unwrap_or(1);
        touch.step(Place { base: touch.loc(), len, index: index.clone() }, unused)
    };
    first.extend(before.into_iter().map(step));
    let success = match &instr {
        Instr::Cas { dst: Some(dst), expected, .. } => {
            Expr::binary(Binary::Eq, Expr::Reg(*dst), expected.clone())
        }
        _ => None,
    };
    let mut rest = first;
    rest.push(instr);
    rest.extend(after.into_iter().map(step));
    let last = after_success.zip(success).map(|(touch, success)| (step(touch), success));
    let mut at = pc;
    for instr in rest {
        thread.code[at] = Step { instr, next, origin };
        let free = thread.code.len();
        thread.code.push(Step { instr: Instr::Skip, next, origin });
        thread.code[at].next = Pc::from(free);
        at = free;
    }
    if let Some((touch, success)) = last {
        let to = Pc::from(thread.code.len());
        thread.code.push(Step { instr: touch, next, origin });
        thread.code[at].instr = Instr::Jump { cond: success, targets: vec![to] };
    }
}

impl Code<'_> {
    fn own_register(&mut self, name: &str) -> Reg {
        let known = self.registers.iter().position(|known| known == name);
        Reg::from(known.unwrap_or_else(|| {
            self.registers.push(name.to_string());
            self.registers.len() - 1
        }))
    }
}
