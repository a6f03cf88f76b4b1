//! Loop counters: registers whose only use is to limit how often something is done.
//!
//! `if (n < 3) { n = n + 1; … }` does something at most three times. A register that is only ever
//! set to constants, counted up, and tested says how often something was done, and nothing else.
//! Two things follow.
//!
//! * A step that cannot be repeated unless the counter is counted up in between is taken as often as the counter can
//!   grow, or once more if it comes before the counting ([`LoopCounter::times`]). That bounds numbers that nothing else
//!   bounds.
//! * Without the tests of the counter, the program has all its runs, and more ([`without`]). If nothing goes wrong in
//!   any of them, nothing goes wrong in the program, and states need not hold the counter. (A test cannot go wrong
//!   itself: no value in it comes from memory, so none is stale, and it only compares, so it always has a value.)

use super::values::PossibleValues;
use ir::bits::above;
use ir::expr::{Binary, Expr, Op};
use ir::ids::{Pc, Reg, Tid, Value};
use ir::program::{Instr, Program, Step, Thread};

/// A register that only keeps a loop_counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopCounter {
    /// Whose.
    pub tid: Tid,
    /// Which.
    pub reg: Reg,
    /// Where it is counted up.
    pub counts: Vec<Pc>,
    /// How often it can be.
    pub most: u64,
}

/// The loop_counters of `program`.
pub fn find(program: &Program, possible: &PossibleValues) -> Vec<LoopCounter> {
    let mut loop_counters = Vec::new();
    for tid in program.tids() {
        let registers = program.threads[tid.index()].registers.len();
        loop_counters
            .extend((0..registers).filter_map(|reg| tally(program, possible, tid, reg.into())));
    }
    loop_counters
}

fn tally(program: &Program, possible: &PossibleValues, tid: Tid, reg: Reg) -> Option<LoopCounter> {
    let thread = &program.threads[tid.index()];
    let (mut counts, mut largest_step, mut settings) = (Vec::new(), 0, 1);
    let mut tested = false;
    for (pc, step) in thread.code.iter().enumerate() {
        let pc = Pc::from(pc);
        match &step.instr {
            Instr::Assign { dst, value } if *dst == reg => match value {
                Expr::Const(_) if !reached(thread, pc, &[])[pc.index()] => settings += 1,
                value => {
                    largest_step = counted(value, reg)?.max(largest_step);
                    counts.push(pc);
                }
            },
            Instr::Jump { cond, .. } | Instr::Assume(cond) if cond.registers().contains(reg) => {
                // A test of something else, too, cannot be left out: somebody may have to know.
                // Nor can one that calculates: the calculation may fail, or wrap around.
                if !cond.is_formula()
                    || cond.registers().iter().any(|r| r != reg && !is_constant(thread, r))
                {
                    return None;
                }
                tested = true;
            }
            instr if instr.inputs().contains(reg) || instr.output() == Some(reg) => return None,
            _ => {}
        }
    }
    let values = possible.register(tid.index(), reg);
    let (least, largest) = (*values.members()?.first()?, *values.members()?.last()?);
    let wraps = !program.domain.contains(i128::from(largest) + i128::from(largest_step));
    // It starts from a smaller number only where it is set, each time at most once.
    let most = above(largest, least).saturating_mul(settings);
    (tested && !counts.is_empty() && !wraps).then_some(LoopCounter { tid, reg, counts, most })
}

/// Is the register only ever set to constants?
fn is_constant(thread: &Thread, reg: Reg) -> bool {
    let mut steps = thread.code.iter().filter(|step| step.instr.output() == Some(reg));
    steps.all(|step| matches!(step.instr, Instr::Assign { value: Expr::Const(_), .. }))
}

/// What `value` adds to `reg`, if that is what it does.
fn counted(value: &Expr, reg: Reg) -> Option<Value> {
    let Expr::Code(code) = value else { return None };
    match **code {
        [Op::Reg(of), Op::Const(amount), Op::Binary(Binary::Add)] if of == reg && amount > 0 => {
            Some(amount)
        }
        _ => None,
    }
}

/// Where control may come after `pc` without going through any of `without`.
fn reached(thread: &Thread, pc: Pc, without: &[Pc]) -> Vec<bool> {
    let mut reached = vec![false; thread.code.len()];
    let mut open = vec![pc];
    while let Some(at) = open.pop() {
        for next in thread.code[at.index()].successors().filter(|next| !without.contains(next)) {
            if !std::mem::replace(&mut reached[next.index()], true) {
                open.push(next);
            }
        }
    }
    reached
}

impl LoopCounter {
    /// How often the step at `pc` of `tid` can be taken; `None` if the loop_counter does not say.
    pub fn times(&self, program: &Program, tid: Tid, pc: Pc) -> Option<u64> {
        if tid != self.tid || self.counts.contains(&pc) {
            return None;
        }
        let thread = &program.threads[tid.index()];
        let comes = |from| reached(thread, from, &self.counts)[pc.index()];
        let at_first = pc == thread.entry || comes(thread.entry);
        (!comes(pc)).then_some(self.most + u64::from(at_first))
    }
}

/// The program without the tests of these loop_counters: control may go either way.
pub fn without(program: &Program, loop_counters: &[LoopCounter]) -> Program {
    let mut program = program.clone();
    for LoopCounter { tid, reg, counts, .. } in loop_counters {
        let code = &mut program.threads[tid.index()].code;
        for pc in counts {
            code[pc.index()].instr = Instr::Skip;
        }
        for Step { instr, next, .. } in code {
            match instr {
                Instr::Jump { cond, targets } if cond.registers().contains(*reg) => {
                    *cond = Expr::Const(1);
                    targets.push(*next);
                }
                Instr::Assume(cond) if cond.registers().contains(*reg) => *instr = Instr::Skip,
                _ => {}
            }
        }
    }
    program
}
