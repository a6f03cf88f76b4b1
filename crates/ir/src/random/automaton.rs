//! The same program without registers: what a thread knows is where it is.
//!
//! Code that is discovered by running it has this form: every local state of a thread is a place in its code, and what is
//! read selects the next one ([`Instr::Switch`]). Unfolding random programs gives programs of this form whose
//! answers are known, those of the programs that they were made of.

use crate::canonical::{self, for_each_expr};
use crate::condition::Observed;
use crate::expr::{Expr, Notes, Op};
use crate::ids::{Pc, Reg, Value};
use crate::program::{Instr, Program, Step, Thread, case};
use std::collections::HashMap;

/// The most values that a program may have.
const MOST_VALUES: u128 = 8;

/// The program with a place in the code for each local state of a thread, in canonical form; `None` if that needs more than
/// so many steps per thread, there are many values, or the final condition asks for registers.
pub fn without_registers(program: &Program, most_steps: usize) -> Option<Program> {
    let asked = program.condition.iter().flat_map(|condition| &condition.observed);
    let asks_for_registers = asked.into_iter().any(|it| matches!(it, Observed::Register(..)));
    if program.domain.size() > MOST_VALUES || asks_for_registers {
        return None;
    }
    let unfolded = |thread| Unfolding::new(program, thread).run(most_steps);
    let threads = program.threads.iter().map(unfolded).collect::<Option<Vec<Thread>>>()?;
    Some(canonical::program(&Program { threads, ..program.clone() }))
}

/// A place in the code, and what the registers hold there.
type Local = (Pc, Vec<Value>);

struct Unfolding<'p> {
    program: &'p Program,
    thread: &'p Thread,
    /// The step that each local state starts with.
    starts: HashMap<Local, usize>,
    open: Vec<Local>,
    steps: Vec<Step>,
}

impl<'p> Unfolding<'p> {
    fn new(program: &'p Program, thread: &'p Thread) -> Self {
        Unfolding { program, thread, starts: HashMap::new(), open: Vec::new(), steps: Vec::new() }
    }

    fn run(mut self, most_steps: usize) -> Option<Thread> {
        let entry = self.start((self.thread.entry, vec![0; self.thread.registers.len()]));
        while let Some(local) = self.open.pop() {
            self.unfold(local);
            if self.steps.len() > most_steps {
                return None;
            }
        }
        let Thread { name, replica, .. } = self.thread.clone();
        Some(Thread { name, replica, registers: vec!["read".into()], code: self.steps, entry })
    }

    /// The step that a local state starts with.
    fn start(&mut self, local: Local) -> Pc {
        if let Some(step) = self.starts.get(&local) {
            return Pc::from(*step);
        }
        let at = self.steps.len();
        let Step { next, origin, .. } = self.thread.code[local.0.index()];
        self.steps.push(Step { instr: Instr::Skip, next, origin });
        self.starts.insert(local.clone(), at);
        self.open.push(local);
        Pc::from(at)
    }

    fn unfold(&mut self, local: Local) {
        let at = self.starts[&local];
        let (pc, registers) = &local;
        let Step { mut instr, next, origin } = self.thread.code[pc.index()].clone();
        for_each_expr(&mut instr, |expr| *expr = with_values(expr, registers));
        let domain = self.program.domain;
        let value = |expr: &Expr| expr.eval(&[], domain, &mut Notes::default());
        let go_on = |unfolding: &mut Self, pc: Pc| unfolding.start((pc, registers.clone()));
        let (instr, next) = match &instr {
            Instr::Halt => (Instr::Halt, Pc::from(at)),
            Instr::Assign { dst, value: expr } => match value(expr) {
                Ok(value) => {
                    let mut after = registers.clone();
                    after[dst.index()] = value;
                    (Instr::Skip, self.start((next, after)))
                }
                // The run-time error stays where it is.
                Err(_) => {
                    let expr = expr.clone();
                    (Instr::Assign { dst: Reg(0), value: expr }, go_on(self, next))
                }
            },
            Instr::Jump { cond, targets } => match value(cond) {
                Ok(0) => (Instr::Skip, go_on(self, next)),
                Ok(_) if targets.len() == 1 => (Instr::Skip, go_on(self, targets[0])),
                Ok(_) => {
                    let targets: Vec<Pc> = targets.iter().map(|pc| go_on(self, *pc)).collect();
                    (Instr::Jump { cond: Expr::Const(1), targets: targets.clone() }, targets[0])
                }
                Err(_) => {
                    let instr = Instr::Assume(cond.clone());
                    (instr, go_on(self, next))
                }
            },
            Instr::Switch { value: expr, cases } => match value(expr) {
                Ok(value) => (Instr::Skip, go_on(self, case(cases, value).unwrap_or(next))),
                Err(_) => (Instr::Assume(expr.clone()), go_on(self, next)),
            },
            _ => match instr.output() {
                None => (instr, go_on(self, next)),
                Some(dst) => {
                    let switch = self.read(dst, next, registers);
                    self.steps.push(Step { origin, ..switch });
                    (reads_into_first(instr), Pc::from(self.steps.len() - 1))
                }
            },
        };
        self.steps[at] = Step { instr, next, origin };
    }

    /// Where each value leads that `dst` may get. The largest has no case.
    fn read(&mut self, dst: Reg, next: Pc, registers: &[Value]) -> Step {
        let domain = self.program.domain;
        let mut behind = |value: Value| {
            let mut after = registers.to_vec();
            after[dst.index()] = value;
            self.start((next, after))
        };
        let cases = (domain.min..domain.max).map(|value| (value, behind(value))).collect();
        let instr = Instr::Switch { value: Expr::Reg(Reg(0)), cases };
        Step { instr, next: behind(domain.max), origin: self.thread.code[next.index()].origin }
    }
}

/// The expression with what registers hold in their place.
fn with_values(expr: &Expr, registers: &[Value]) -> Expr {
    let code = expr.clone().into_postfix().into_iter().map(|op| match op {
        Op::Reg(reg) => Op::Const(registers[reg.index()]),
        op => op,
    });
    Expr::from_postfix(code.collect()).expect("as deep as before")
}

/// The instruction with the only register as its output.
fn reads_into_first(mut instr: Instr) -> Instr {
    match &mut instr {
        Instr::Load { dst, .. } => *dst = Reg(0),
        Instr::Rmw { dst, .. } | Instr::Cas { dst, .. } | Instr::Wait { dst, .. } => {
            *dst = Some(Reg(0));
        }
        _ => {}
    }
    instr
}
