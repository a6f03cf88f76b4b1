//! One form for every program that means the same step by step.
//!
//! Front-ends and generators write code in whatever order suits them, with skips and constant jumps
//! where blocks join. [`thread`] removes what no search should have to step through: a canonical
//! thread
//!
//! * starts at step 0, has no unreachable steps and numbers the others in depth-first order, the
//!   successor `next` before the targets of a jump;
//! * has no [`Instr::Skip`] and no jump on a constant to a single place, except where a loop
//!   consists of nothing else: such a loop is one `Skip` that leads to itself;
//! * has at most one [`Instr::Halt`], and it is the last step;
//! * asks constant conditions only in the form 0 or 1;
//! * has no operator applied to constants only, unless applying it is a run-time error, and no
//!   [`UpdateOp::Add`] of a negated expression or a negative constant: that is an
//!   [`UpdateOp::Sub`], as the latter of a negative constant is an addition, wherever the positive
//!   constant is a value.
//!
//! Canonical form is unique up to renaming, so equality of canonical programs is a useful test.

use crate::expr::{Domain, Expr, Notes, Op, Unary};
use crate::ids::{Pc, Value};
use crate::program::{Instr, Mark, Place, Program, Step, Thread};
use crate::update::{Update, UpdateOp};

/// The program with every thread in canonical form.
pub fn program(program: &Program) -> Program {
    let threads = program.threads.iter().map(|code| thread(code, program.domain)).collect();
    Program { threads, ..program.clone() }
}

/// The thread in canonical form.
pub fn thread(thread: &Thread, domain: Domain) -> Thread {
    let code = folded(&thread.code, domain);
    let real = bypass(&code);
    let order = depth_first(&code, &real, thread.entry);
    let mut number = vec![Pc(u32::MAX); code.len()];
    for (new, &old) in order.iter().enumerate() {
        number[old] = Pc::from(new);
    }
    let renumber = |pc: Pc| number[real[pc.index()]];
    let steps = order.iter().enumerate().map(|(new, &old)| {
        let step = &code[old];
        let (instr, next) = match &step.instr {
            Instr::Halt => (Instr::Halt, Pc::from(new)),
            // A bypassed step that is still here is a loop of nothing.
            instr if bypassed(instr, step.next).is_some() => (Instr::Skip, Pc::from(new)),
            Instr::Jump { cond, targets } => {
                let targets: Vec<Pc> = targets.iter().map(|&pc| renumber(pc)).collect();
                let next = match (cond.as_const(), targets.first()) {
                    (Some(_), Some(&first)) => first,
                    _ => renumber(step.next),
                };
                (Instr::Jump { cond: cond.clone(), targets }, next)
            }
            Instr::Switch { value, cases } => {
                let cases = cases.iter().map(|(case, to)| (*case, renumber(*to))).collect();
                (Instr::Switch { value: value.clone(), cases }, renumber(step.next))
            }
            instr => (instr.clone(), renumber(step.next)),
        };
        Step { instr, next, origin: step.origin }
    });
    Thread {
        name: thread.name.clone(),
        replica: thread.replica,
        registers: thread.registers.clone(),
        code: steps.collect(),
        entry: Pc(0),
    }
}

/// Where control goes at once from a step that does nothing.
fn bypassed(instr: &Instr, next: Pc) -> Option<Pc> {
    match instr {
        Instr::Skip => Some(next),
        Instr::Jump { cond, targets } => match (cond.as_const()?, targets.as_slice()) {
            (0, _) => Some(next),
            (_, [target]) => Some(*target),
            _ => None,
        },
        _ => None,
    }
}

/// For each step, the first step at or after it that does something. A loop that does nothing
/// stands for itself, by its smallest step; all halts are one.
fn bypass(code: &[Step]) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let halt = code.iter().position(|step| step.instr == Instr::Halt);
    let mut real = vec![UNKNOWN; code.len()];
    let mut on_path = vec![false; code.len()];
    for start in 0..code.len() {
        let mut path = Vec::new();
        let mut at = start;
        let found = loop {
            if real[at] != UNKNOWN {
                break real[at];
            }
            if on_path[at] {
                let from = path.iter().position(|&pc| pc == at).unwrap_or(0);
                break path[from..].iter().copied().min().unwrap_or(at);
            }
            let step = &code[at];
            match bypassed(&step.instr, step.next) {
                Some(target) => {
                    on_path[at] = true;
                    path.push(at);
                    at = target.index();
                }
                None if step.instr == Instr::Halt => break halt.unwrap_or(at),
                None => break at,
            }
        };
        real[at] = found;
        for pc in path {
            real[pc] = found;
            on_path[pc] = false;
        }
    }
    real
}

/// The reachable steps in depth-first order, the halt last.
fn depth_first(code: &[Step], real: &[usize], entry: Pc) -> Vec<usize> {
    let mut seen = vec![false; code.len()];
    let mut order = Vec::new();
    let mut halt = None;
    let mut stack = vec![real[entry.index()]];
    while let Some(at) = stack.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let step = &code[at];
        match &step.instr {
            Instr::Halt => {
                halt = Some(at);
                continue;
            }
            instr if bypassed(instr, step.next).is_some() => {}
            Instr::Jump { cond, targets } => {
                stack.extend(targets.iter().rev().map(|pc| real[pc.index()]));
                if cond.as_const().is_none() || targets.is_empty() {
                    stack.push(real[step.next.index()]);
                }
            }
            Instr::Switch { cases, .. } => {
                stack.extend(cases.iter().rev().map(|(_, pc)| real[pc.index()]));
                stack.push(real[step.next.index()]);
            }
            _ => stack.push(real[step.next.index()]),
        }
        order.push(at);
    }
    order.extend(halt);
    order
}

fn folded(code: &[Step], domain: Domain) -> Vec<Step> {
    let mut code = code.to_vec();
    for step in &mut code {
        for_each_expr(&mut step.instr, |expr| {
            if matches!(expr, Expr::Code(_)) {
                *expr = fold(expr, domain, &mut Notes::default());
            }
        });
        if let Instr::Jump { cond: Expr::Const(value), .. }
        | Instr::Assert(Expr::Const(value))
        | Instr::Assume(Expr::Const(value)) = &mut step.instr
        {
            *value = Value::from(*value != 0);
        }
        if let Instr::Rmw { update, .. } = &mut step.instr
            && let Some(opposite) = opposite(update, domain)
        {
            *update = opposite;
        }
    }
    code
}

/// The same update by the opposite operator, if that has the simpler operand.
fn opposite(update: &Update, domain: Domain) -> Option<Update> {
    let op = match update.op {
        UpdateOp::Add => UpdateOp::Sub,
        UpdateOp::Sub => UpdateOp::Add,
        _ => return None,
    };
    match &update.operand {
        Expr::Const(value @ ..0) => {
            Some(Update::new(op, Expr::Const(domain.value(-i128::from(*value))?)))
        }
        Expr::Code(code) if update.op == UpdateOp::Add => match &**code {
            [negated @ .., Op::Unary(Unary::Neg)] => {
                Some(Update::new(op, Expr::from_postfix(negated.to_vec())?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The expression with every operator applied that has constant operands and no run-time error.
pub fn fold(expr: &Expr, domain: Domain, notes: &mut Notes) -> Expr {
    let Expr::Code(code) = expr else { return expr.clone() };
    let mut done: Vec<Op> = Vec::with_capacity(code.len());
    for op in code {
        done.push(*op);
        let operands = match op {
            Op::Unary(_) => 1,
            Op::Binary(_) => 2,
            Op::Const(_) | Op::Reg(_) => continue,
        };
        // Postfix: two constants right before a binary operator are its operands.
        let Some(from) = done.len().checked_sub(operands + 1) else { continue };
        let redex = &done[from..];
        if redex[..operands].iter().any(|op| !matches!(op, Op::Const(_))) {
            continue;
        }
        let Some(constant) = Expr::from_postfix(redex.to_vec()) else { continue };
        let mut own = Notes::default();
        if let Ok(value) = constant.eval(&[], domain, &mut own) {
            notes.wrapped |= own.wrapped;
            done.truncate(from);
            done.push(Op::Const(value));
        }
    }
    Expr::from_postfix(done).unwrap_or_else(|| expr.clone())
}

/// Shows `f` every place of an instruction.
pub fn for_each_place(instr: &mut Instr, mut f: impl FnMut(&mut Place)) {
    match instr {
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. }
        | Instr::BlockingCas { place, .. }
        | Instr::Wait { place, .. } => f(place),
        Instr::LightFence(places) => places.iter_mut().for_each(f),
        Instr::Assign { .. }
        | Instr::Jump { .. }
        | Instr::Switch { .. }
        | Instr::Assert(_)
        | Instr::Assume(_)
        | Instr::Skip
        | Instr::Fence(_)
        | Instr::BusLock
        | Instr::BusUnlock
        | Instr::Begin
        | Instr::End
        | Instr::Mark(_)
        | Instr::Halt => {}
    }
}

/// Shows `f` every expression of an instruction, those of its places first.
pub fn for_each_expr(instr: &mut Instr, mut f: impl FnMut(&mut Expr)) {
    for_each_place(instr, |place| place.index.iter_mut().for_each(&mut f));
    match instr {
        Instr::Assign { value, .. } | Instr::Store { value, .. } | Instr::Switch { value, .. } => {
            f(value)
        }
        Instr::Jump { cond, .. } | Instr::Assert(cond) | Instr::Assume(cond) => f(cond),
        Instr::Rmw { update, .. } => f(&mut update.operand),
        Instr::Cas { expected, desired, .. } | Instr::BlockingCas { expected, desired, .. } => {
            f(expected);
            f(desired);
        }
        Instr::Wait { values, .. } => values.iter_mut().for_each(f),
        Instr::Mark(Mark::Call { arguments, .. }) => arguments.iter_mut().for_each(f),
        Instr::Mark(Mark::Return { value }) => value.iter_mut().for_each(f),
        Instr::Load { .. }
        | Instr::Skip
        | Instr::Fence(_)
        | Instr::LightFence(_)
        | Instr::BusLock
        | Instr::BusUnlock
        | Instr::Begin
        | Instr::End
        | Instr::Halt => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Binary;
    use crate::ids::{Origin, Reg};

    fn canonical(code: Vec<(Instr, u32)>, entry: u32) -> Vec<(Instr, u32)> {
        let steps = code
            .into_iter()
            .map(|(instr, next)| Step { instr, next: Pc(next), origin: Origin(0) })
            .collect();
        let input = Thread {
            name: "t".into(),
            replica: None,
            registers: vec!["r".into()],
            code: steps,
            entry: Pc(entry),
        };
        let once = thread(&input, Domain::modulo(255));
        assert_eq!(thread(&once, Domain::modulo(255)), once, "canonical form is a fixed point");
        assert_eq!(once.entry, Pc(0));
        once.code.into_iter().map(|step| (step.instr, step.next.0)).collect()
    }

    fn jump(value: Value, targets: &[u32]) -> Instr {
        Instr::Jump { cond: Expr::Const(value), targets: targets.iter().copied().map(Pc).collect() }
    }

    fn set(value: Value) -> Instr {
        Instr::Assign { dst: Reg(0), value: Expr::Const(value) }
    }

    #[test]
    fn skips_constant_jumps_and_dead_code_vanish() {
        let code = vec![
            (Instr::Halt, 0),
            (set(9), 0),
            (Instr::Skip, 3),
            (jump(1, &[4]), 1),
            (set(1), 5),
            (jump(0, &[1]), 6),
            (Instr::Halt, 6),
        ];
        assert_eq!(canonical(code, 2), vec![(set(1), 1), (Instr::Halt, 1)]);
    }

    /// Catches an endless walk along skips that lead to each other.
    #[test]
    fn a_loop_of_nothing_is_one_skip() {
        let code = vec![(set(1), 1), (Instr::Skip, 2), (jump(1, &[1]), 0)];
        assert_eq!(canonical(code, 0), vec![(set(1), 1), (Instr::Skip, 1)]);
    }

    #[test]
    fn choices_stay_and_the_halt_is_last() {
        let code = vec![(jump(1, &[1, 2]), 9), (Instr::Halt, 1), (set(1), 1)];
        let mut code = code;
        code[0].1 = 0;
        assert_eq!(canonical(code, 0), vec![(jump(1, &[2, 1]), 2), (set(1), 2), (Instr::Halt, 2)]);
    }

    #[test]
    fn constants_fold_unless_that_is_an_error() {
        let domain = Domain::modulo(7);
        let binary = |op, a, b| Expr::binary(op, a, b).unwrap();
        let k = Expr::Const;
        let sum = binary(Binary::Add, Expr::Reg(Reg(0)), binary(Binary::Mul, k(3), k(4)));
        let mut notes = Notes::default();
        let folded = fold(&sum, domain, &mut notes);
        assert_eq!(folded, binary(Binary::Add, Expr::Reg(Reg(0)), k(4)));
        assert!(notes.wrapped);
        let ratio = binary(Binary::Div, k(3), k(0));
        assert_eq!(fold(&ratio, domain, &mut notes), ratio);
        let not = Expr::unary(Unary::Not, binary(Binary::Sub, k(3), k(3))).unwrap();
        assert_eq!(fold(&not, domain, &mut notes), k(1));
    }
}
