//! Upper bounds of numbers.
//!
//! An abstract interpretation with an upper bound per location, and per register and program
//! counter; comparisons of two registers, and of a register with a constant, narrow the bounds on
//! the branches where they hold.
//!
//! A sum in a loop, such as `r = r + 1`, has no bound of that kind. But where a register limits the rounds of the loop
//! (a [loop counter](super::loop_counter)), the sum is computed a limited number of times. A value is the result of a
//! chain of copies and sums, and each computation of a sum occurs in the chain at most once. So the most that all such
//! sums can ever add is added to the bounds at the end, and the interpretation leaves the sums out.

use super::loop_counter::LoopCounter;
use ir::expr::{Binary, Expr, Op, Unary};
use ir::ids::{Pc, Value};
use ir::program::{Instr, Place, Program, Step};
use ir::update::UpdateOp;

/// Does no addition of a constant to a value ever leave the domain at its upper end? `loop_counters` are
/// those that may be relied on.
pub fn hold(program: &Program, loop_counters: &[LoopCounter]) -> bool {
    let (program, aside) = &without_counted_sums(program, loop_counters);
    if *aside >= program.domain.max as u64 {
        return false;
    }
    let mut bounds = Bounds {
        most: program.domain.max - *aside as Value,
        locations: program.locations.iter().map(|loc| loc.initial).collect(),
        exceeded: false,
    };
    let mut before: Vec<Vec<Option<Vec<Value>>>> =
        program.threads.iter().map(|thread| vec![None; thread.code.len()]).collect();
    loop {
        let locations = bounds.locations.clone();
        for (t, thread) in program.threads.iter().enumerate() {
            let mut open = vec![thread.entry];
            before[t][thread.entry.index()].get_or_insert_with(|| vec![0; thread.registers.len()]);
            // All that control can reach is looked at again whenever a location's bound grew.
            let mut looked_at = vec![false; thread.code.len()];
            while let Some(pc) = open.pop() {
                looked_at[pc.index()] = true;
                let regs = before[t][pc.index()].clone().expect("control comes here");
                let step = &thread.code[pc.index()];
                for (next, after) in bounds.step(step, regs) {
                    if bounds.exceeded {
                        return false;
                    }
                    let known = &mut before[t][next.index()];
                    let grew = match known {
                        None => {
                            *known = Some(after);
                            true
                        }
                        Some(known) => {
                            let mut grew = false;
                            for (known, after) in known.iter_mut().zip(after) {
                                grew |= after > *known;
                                *known = after.max(*known);
                            }
                            grew
                        }
                    };
                    if grew || !looked_at[next.index()] {
                        open.push(next);
                    }
                }
            }
        }
        if bounds.locations == locations {
            return true;
        }
    }
}

/// The program with all sums left out that loop_counters say are taken only so often, and what these can
/// add in all.
fn without_counted_sums(program: &Program, loop_counters: &[LoopCounter]) -> (Program, u64) {
    let mut without = program.clone();
    let mut aside = 0u64;
    for loop_counter in loop_counters {
        // A loop_counter has its own bound.
        for pc in &loop_counter.counts {
            without.threads[loop_counter.tid.index()].code[pc.index()].instr = Instr::Skip;
        }
    }
    for (tid, pc, step) in program.steps() {
        let times = loop_counters
            .iter()
            .filter_map(|loop_counter| loop_counter.times(program, tid, pc))
            .min();
        let (Some(times), Some(amount)) = (times, sum_of(&step.instr)) else { continue };
        let instr = &mut without.threads[tid.index()].code[pc.index()].instr;
        match instr {
            Instr::Rmw { update, .. } => update.operand = Expr::Const(0),
            Instr::Assign { value, .. } | Instr::Store { value, .. } => leave_out(value),
            _ => continue,
        }
        aside = aside.saturating_add(times.saturating_mul(amount));
    }
    (without, aside)
}

/// The constant that the instruction adds to a value, if that is what it does.
fn sum_of(instr: &Instr) -> Option<u64> {
    let amount = match instr {
        Instr::Rmw { update, .. } => update.added()?,
        Instr::Assign { value: Expr::Code(code), .. }
        | Instr::Store { value: Expr::Code(code), .. } => match **code {
            [Op::Reg(_), Op::Const(amount), Op::Binary(Binary::Add)] => amount,
            _ => return None,
        },
        _ => return None,
    };
    u64::try_from(amount).ok()
}

/// Makes `r` of `r + c`.
fn leave_out(sum: &mut Expr) {
    if let Expr::Code(code) = sum
        && let [Op::Reg(reg), ..] = **code
    {
        *sum = Expr::Reg(reg);
    }
}

struct Bounds {
    /// The largest value.
    most: Value,
    locations: Vec<Value>,
    /// A sum may leave the domain.
    exceeded: bool,
}

impl Bounds {
    fn expr(&mut self, expr: &Expr, regs: &[Value]) -> Value {
        let mut stack: Vec<(Value, bool)> = Vec::new();
        for op in expr.clone().into_postfix() {
            let bound = match op {
                Op::Const(value) => (value, true),
                Op::Reg(reg) => (regs[reg.index()], false),
                Op::Unary(Unary::Not) => {
                    stack.pop();
                    (1, false)
                }
                Op::Unary(Unary::Neg) => {
                    stack.pop();
                    (self.most, false)
                }
                Op::Binary(op) => {
                    let (b, b_constant) = stack.pop().expect("code of one expression");
                    let (a, a_constant) = stack.pop().expect("code of one expression");
                    let bound = match op {
                        Binary::Add if a + b <= self.most => a + b,
                        Binary::Add => {
                            self.exceeded |= a_constant || b_constant;
                            self.most
                        }
                        Binary::Sub if b_constant => (a - b).max(0),
                        Binary::Sub => self.most,
                        Binary::Mul | Binary::BitOr | Binary::BitXor => self.most,
                        Binary::BitAnd | Binary::Div | Binary::Rem => a,
                        _ => 1,
                    };
                    (bound, false)
                }
            };
            stack.push(bound);
        }
        stack.pop().expect("code of one expression").0
    }

    fn write(&mut self, place: &Place, bound: Value) {
        for loc in place.locations() {
            let known = &mut self.locations[loc.index()];
            *known = bound.max(*known);
        }
    }

    fn read(&self, place: &Place) -> Value {
        place.locations().map(|loc| self.locations[loc.index()]).max().unwrap_or(0)
    }

    /// Where the step may lead, with the registers' bounds there.
    fn step(&mut self, step: &Step, mut regs: Vec<Value>) -> Vec<(Pc, Vec<Value>)> {
        let read = step.instr.place().map_or(0, |place| self.read(place));
        match &step.instr {
            Instr::Assign { dst, value } => regs[dst.index()] = self.expr(value, &regs),
            Instr::Store { place, value, .. } => {
                let bound = self.expr(value, &regs);
                self.write(place, bound);
            }
            Instr::Rmw { place, update, .. } => {
                let operand = self.expr(&update.operand, &regs);
                let constant = update.operand.as_const().is_some();
                let bound = match update.op {
                    UpdateOp::Set => operand,
                    UpdateOp::Add if read + operand <= self.most => read + operand,
                    UpdateOp::Add => {
                        self.exceeded |= constant;
                        self.most
                    }
                    UpdateOp::Sub if constant => read,
                    UpdateOp::And | UpdateOp::Min => read.min(operand),
                    UpdateOp::Max => read.max(operand),
                    UpdateOp::Sub | UpdateOp::Or | UpdateOp::Xor | UpdateOp::Nand => self.most,
                };
                self.write(place, bound);
            }
            Instr::Cas { place, desired, .. } | Instr::BlockingCas { place, desired, .. } => {
                // Whether it writes or not, what it would write is calculated.
                let bound = self.expr(desired, &regs);
                self.write(place, bound);
            }
            _ => {}
        }
        if let Some(dst) = step.instr.output().filter(|_| step.instr.place().is_some()) {
            regs[dst.index()] = read;
        }
        match &step.instr {
            Instr::Assume(cond) | Instr::Assert(cond) => {
                narrow(cond, true, &mut regs);
                vec![(step.next, regs)]
            }
            Instr::Jump { cond, targets } => {
                let mut taken = regs.clone();
                narrow(cond, true, &mut taken);
                narrow(cond, false, &mut regs);
                let successors: Vec<Pc> = step.successors().collect();
                let jumps = targets.iter().filter(|pc| successors.contains(pc));
                let mut all: Vec<_> = jumps.map(|pc| (*pc, taken.clone())).collect();
                if cond.as_const().is_none_or(|value| value == 0) {
                    all.push((step.next, regs));
                }
                all
            }
            Instr::Switch { value, cases } => {
                let case = |(case, to): &(Value, Pc)| {
                    let mut regs = regs.clone();
                    if let Expr::Reg(reg) = value {
                        regs[reg.index()] = regs[reg.index()].min(*case);
                    }
                    (*to, regs)
                };
                let mut all: Vec<_> = cases.iter().map(case).collect();
                all.push((step.next, regs));
                all
            }
            Instr::Halt => Vec::new(),
            _ => vec![(step.next, regs)],
        }
    }
}

/// Narrows the bounds of registers given that `cond` is `truth`.
fn narrow(cond: &Expr, mut truth: bool, regs: &mut [Value]) {
    let Expr::Code(code) = cond else { return };
    let mut code = &code[..];
    while let [rest @ .., Op::Unary(Unary::Not)] = code {
        truth = !truth;
        code = rest;
    }
    let [a, b, Op::Binary(op)] = code else { return };
    let bound = |op: &Op, regs: &[Value]| match op {
        Op::Const(value) => Some(*value),
        Op::Reg(reg) => Some(regs[reg.index()]),
        _ => None,
    };
    let (Some(bound_a), Some(bound_b)) = (bound(a, regs), bound(b, regs)) else { return };
    let mut at_most = |op: &Op, most: Value| {
        if let Op::Reg(reg) = op {
            regs[reg.index()] = regs[reg.index()].min(most);
        }
    };
    match (op, truth) {
        (Binary::Lt, true) | (Binary::Ge, false) => at_most(a, bound_b - 1),
        (Binary::Le, true) | (Binary::Gt, false) => at_most(a, bound_b),
        (Binary::Gt, true) | (Binary::Le, false) => at_most(b, bound_a - 1),
        (Binary::Ge, true) | (Binary::Lt, false) => at_most(b, bound_a),
        (Binary::Eq, true) | (Binary::Ne, false) => {
            at_most(a, bound_b);
            at_most(b, bound_a);
        }
        _ => {}
    }
}
