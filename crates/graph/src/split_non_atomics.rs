//! Non-atomics the paper's way: every race becomes a write-write race (section 6).
//!
//! A non-atomic location n becomes one location n_i per thread i. A store by anyone writes all of
//! them; a load by thread i reads its own n_i and writes the value back. A reader thus leaves a trace
//! that a later writer must know of, but two readers do not disturb each other. A program has a race
//! iff in the split program some thread makes a non-atomic access without knowing of the last write to
//! that location (Lemma 6.4).
//!
//! The tool tracks accesses directly, which is cheaper; this transformation is here to test that.

use ir::{
    Expr, Instr, Loc, Location, LocationKind, Pc, Place, Program, ReadMode, Reg, Step, Thread, Tid,
    WriteMode,
};

/// The program in which every non-atomic location is split into one per thread: `trans(Pr)`.
pub fn split_non_atomics(program: &Program) -> Program {
    let layout = Layout::new(program);
    let threads = program.tids().zip(&program.threads);
    let threads = threads.map(|(tid, thread)| split_thread(thread, tid, &layout)).collect();
    Program::new(program.domain, layout.locations(program), threads)
}

/// Where locations go: first the atomic ones, then a block with all non-atomic ones per thread. Arrays
/// stay in one piece, since their elements are of one kind.
struct Layout {
    threads: usize,
    atomic: usize,
    non_atomic: usize,
    /// The kind of every old location, and its position among those of its kind.
    positions: Vec<(LocationKind, usize)>,
}

impl Layout {
    fn new(program: &Program) -> Self {
        let (mut atomic, mut non_atomic) = (0, 0);
        let positions = program
            .locations
            .iter()
            .map(|location| {
                let count = match location.kind {
                    LocationKind::Atomic => &mut atomic,
                    LocationKind::NonAtomic => &mut non_atomic,
                };
                *count += 1;
                (location.kind, *count - 1)
            })
            .collect();
        Layout { threads: program.threads.len(), atomic, non_atomic, positions }
    }

    fn locations(&self, program: &Program) -> Vec<Location> {
        let of_kind = |kind| program.locations.iter().filter(move |l| l.kind == kind).cloned();
        let copies = (0..self.threads).flat_map(|tid| {
            of_kind(LocationKind::NonAtomic)
                .map(move |l| Location { name: format!("{}_{tid}", l.name), ..l })
        });
        of_kind(LocationKind::Atomic).chain(copies).collect()
    }

    fn place(&self, place: &Place, copy: Tid) -> Place {
        let base = match self.positions[place.base.index()] {
            (LocationKind::Atomic, position) => position,
            (LocationKind::NonAtomic, position) => {
                self.atomic + copy.index() * self.non_atomic + position
            }
        };
        Place { base: Loc::from(base), ..place.clone() }
    }
}

/// Splits the accesses of one thread. Code keeps its program counters; what an access turns into
/// beyond its first instruction is appended at the end.
fn split_thread(thread: &Thread, tid: Tid, layout: &Layout) -> Thread {
    let mut result = thread.clone();
    for pc in 0..thread.code.len() {
        let step = &thread.code[pc];
        let instrs = match &step.instr {
            Instr::Store { place, value, mode: WriteMode::Na } => (0..layout.threads)
                .map(|copy| na_store(layout.place(place, Tid::from(copy)), value.clone()))
                .collect(),
            Instr::Load { dst, place, mode: ReadMode::Na } => {
                let (place, dst) = (layout.place(place, tid), *dst);
                if place.registers().contains(dst) {
                    // The index must be the same in the store.
                    let copy = Reg::from(result.registers.len());
                    result.registers.push(format!("copy{copy}"));
                    vec![
                        Instr::Load { dst: copy, place: place.clone(), mode: ReadMode::Na },
                        na_store(place, Expr::Reg(copy)),
                        Instr::Assign { dst, value: Expr::Reg(copy) },
                    ]
                } else {
                    vec![
                        Instr::Load { dst, place: place.clone(), mode: ReadMode::Na },
                        na_store(place, Expr::Reg(dst)),
                    ]
                }
            }
            other => {
                let mut instr = other.clone();
                if let Some(place) = place_mut(&mut instr) {
                    *place = layout.place(place, tid);
                }
                vec![instr]
            }
        };
        replace(&mut result.code, pc, instrs);
    }
    result
}

fn na_store(place: Place, value: Expr) -> Instr {
    Instr::Store { place, value, mode: WriteMode::Na }
}

/// Puts a chain of instructions in the place of the step at `pc`.
fn replace(code: &mut Vec<Step>, pc: usize, instrs: Vec<Instr>) {
    let old = code[pc].clone();
    let mut at = pc;
    let count = instrs.len();
    for (position, instr) in instrs.into_iter().enumerate() {
        let last = position + 1 == count;
        let next = if last { old.next } else { Pc::from(code.len().max(at + 1)) };
        let step = Step { instr, next, origin: old.origin };
        if at < code.len() {
            code[at] = step;
        } else {
            code.push(step);
        }
        at = next.index();
    }
}

fn place_mut(instr: &mut Instr) -> Option<&mut Place> {
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

#[cfg(test)]
mod tests {
    use super::super::enumerate::Limits;
    use super::super::litmus::*;
    use super::super::outcome::outcomes;
    use super::*;
    use ir::Value;
    use std::collections::BTreeSet;

    fn final_registers(program: &Program, count: usize) -> BTreeSet<Vec<Vec<Value>>> {
        let ends = outcomes(program, &Limits::default()).outcomes;
        let own = |registers: &[Value]| registers[..count].to_vec();
        ends.iter()
            .filter(|end| end.under_sc)
            .map(|end| end.state.threads.iter().map(|t| own(&t.registers)).collect())
            .collect()
    }

    /// Splitting changes nothing that a thread sees under SC, even if a load overwrites the register
    /// that its own index mentions.
    #[test]
    fn the_split_program_computes_the_same() {
        let element = |index: Expr| Place { base: N, len: 2, index: Some(index) };
        let mut program = program([
            vec![
                na_store(element(Expr::Const(0)), Expr::Const(1)),
                na_store(element(Expr::Const(1)), Expr::Const(2)),
                store(X, 1, REL),
            ],
            vec![
                load(A, X, ACQ),
                Instr::Load { dst: A, place: element(Expr::Reg(A)), mode: ReadMode::Na },
                load(B, Y, RLX),
            ],
        ]);
        program
            .locations
            .push(Location { element: Some(1), ..program.locations[N.index()].clone() });
        let split = split_non_atomics(&program);
        assert_eq!(split.locations.len(), 3 + 2 * 2);
        let expected: BTreeSet<_> =
            [0, 1, 2].into_iter().map(|a| vec![vec![0, 0], vec![a, 0]]).collect();
        assert_eq!(final_registers(&program, 2), expected);
        assert_eq!(final_registers(&split, 2), expected);
    }

    #[test]
    fn atomics_stay() {
        let program = program([vec![store(X, 1, REL), load(A, Y, ACQ)]]);
        let split = split_non_atomics(&program);
        assert_eq!(split.threads, program.threads);
    }
}
