//! Which values only count.
//!
//! The ends of a queue, tickets and epochs are numbers that a program moves up and down by constants
//! and compares with each other, never with a constant. Add 5 to all of them, in memory and in
//! registers, and the program behaves as before. The one exception is a guard such as
//! `assume(b < 200)`, which keeps the numbers finite: with smaller numbers more is possible, never
//! less. So for such a class of *counters* a state stands for all states in which its numbers are
//! larger by the same amount, and a search needs only the one where they are as small as they were
//! at first.
//!
//! That argument breaks where numbers wrap around. They do not at the upper end if `bounded` finds
//! an upper bound within the domain for every sum; a search has to watch for the lower end itself,
//! because there the representative is the first to wrap.

use super::liveness::live_registers;
use crate::expr::{Binary, Domain, Expr, Op, Unary};
use crate::ids::{Loc, Pc, Reg, RegSet, Tid, Value};
use crate::program::{Instr, Place, Program, Step, Update};

/// Larger domains are not worth the analysis, which climbs them step by step.
const LARGEST_DOMAIN: u64 = 4096;

/// A class of counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// The locations.
    pub locations: Vec<Loc>,
    /// Per thread and program counter, the live registers.
    pub registers: Vec<Vec<RegSet>>,
    /// The smallest initial value of the locations.
    pub base: Value,
    /// The locations whose value only ever grows. Who waits for a smaller one waits forever.
    pub climbing: Vec<Loc>,
}

/// The classes of counters of `program`.
pub fn find(program: &Program) -> Vec<Counters> {
    if program.domain.min != 0 || program.domain.size() > LARGEST_DOMAIN || !bounded(program) {
        return Vec::new();
    }
    let mut typing = Typing::new(program);
    for (tid, pc, step) in program.steps() {
        typing.constrain(tid, pc, step);
    }
    typing.classes()
}

/// What an expression amounts to.
#[derive(Clone, Copy)]
enum Kind {
    Constant,
    /// A value of this class, or one that differs from such a value by a constant.
    Class(usize),
    /// A number that has nothing to do with counters.
    Number,
}

/// Union-find over locations and registers.
struct Typing<'p> {
    program: &'p Program,
    parent: Vec<usize>,
    /// Not a class of counters.
    fixed: Vec<bool>,
    /// Per thread, the class of its first register at its first instruction.
    first: Vec<usize>,
    live: Vec<Vec<RegSet>>,
}

impl<'p> Typing<'p> {
    fn new(program: &'p Program) -> Self {
        let mut first = Vec::new();
        let mut nodes = program.locations.len();
        for thread in &program.threads {
            first.push(nodes);
            nodes += thread.code.len() * thread.registers.len();
        }
        let live: Vec<_> = program.threads.iter().map(live_registers).collect();
        let mut typing = Typing {
            program,
            parent: (0..nodes).collect(),
            fixed: vec![false; nodes],
            first,
            live,
        };
        for (tid, pc, step) in program.steps() {
            let output = step.instr.output();
            for next in step.successors() {
                let live = typing.live[tid.index()][next.index()];
                for reg in live.iter().filter(|reg| Some(*reg) != output) {
                    typing.unify(typing.register(tid, pc, reg), typing.register(tid, next, reg));
                }
            }
        }
        for tid in program.tids() {
            // A register that is read before it is written holds the constant 0.
            let entry = program.threads[tid.index()].entry;
            for reg in typing.live[tid.index()][entry.index()].iter() {
                typing.fix(typing.register(tid, entry, reg));
            }
        }
        typing
    }

    fn register(&self, tid: Tid, pc: Pc, reg: Reg) -> usize {
        let registers = self.program.threads[tid.index()].registers.len();
        self.first[tid.index()] + pc.index() * registers + reg.index()
    }

    fn find(&self, mut class: usize) -> usize {
        while self.parent[class] != class {
            class = self.parent[class];
        }
        class
    }

    fn unify(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.fixed[a] |= self.fixed[b];
        self.parent[b] = a;
    }

    fn fix(&mut self, class: usize) {
        let root = self.find(class);
        self.fixed[root] = true;
    }

    fn kind(&mut self, tid: Tid, pc: Pc, expr: &Expr) -> Kind {
        let mut stack: Vec<Kind> = Vec::new();
        for op in expr.clone().into_postfix() {
            let kind = match op {
                Op::Const(_) => Kind::Constant,
                Op::Reg(reg) => Kind::Class(self.register(tid, pc, reg)),
                Op::Unary(_) => {
                    let operand = stack.pop().expect("code of one expression");
                    self.is_number(operand);
                    Kind::Number
                }
                Op::Binary(op) => {
                    let b = stack.pop().expect("code of one expression");
                    let a = stack.pop().expect("code of one expression");
                    self.binary(op, a, b)
                }
            };
            stack.push(kind);
        }
        stack.pop().expect("code of one expression")
    }

    fn binary(&mut self, op: Binary, a: Kind, b: Kind) -> Kind {
        match (op, a, b) {
            (Binary::Add | Binary::Sub, Kind::Class(class), Kind::Constant)
            | (Binary::Add, Kind::Constant, Kind::Class(class)) => Kind::Class(class),
            (
                Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge,
                Kind::Class(a),
                Kind::Class(b),
            ) => {
                self.unify(a, b);
                Kind::Number
            }
            _ => {
                self.is_number(a);
                self.is_number(b);
                Kind::Number
            }
        }
    }

    /// Something other than counting is done with it.
    fn is_number(&mut self, kind: Kind) {
        if let Kind::Class(class) = kind {
            self.fix(class);
        }
    }

    /// The class gets the value of an expression.
    fn assign(&mut self, class: usize, kind: Kind) {
        match kind {
            Kind::Class(other) => self.unify(class, other),
            Kind::Constant | Kind::Number => self.fix(class),
        }
    }

    fn place(&mut self, tid: Tid, pc: Pc, place: &Place) -> usize {
        if let Some(index) = &place.index {
            let index = self.kind(tid, pc, index);
            self.is_number(index);
        }
        let locations: Vec<_> = place.locations().collect();
        for loc in &locations {
            self.unify(locations[0].index(), loc.index());
        }
        locations.first().map_or(place.base.index(), |loc| loc.index())
    }

    fn constrain(&mut self, tid: Tid, pc: Pc, step: &Step) {
        let output = step.instr.output().filter(|reg| {
            let live = self.live[tid.index()][step.next.index()];
            live.contains(*reg)
        });
        let output = output.map(|reg| self.register(tid, step.next, reg));
        let place = step.instr.place().map(|place| self.place(tid, pc, place));
        match &step.instr {
            Instr::Assign { value, .. } => {
                let kind = self.kind(tid, pc, value);
                if let Some(output) = output {
                    self.assign(output, kind);
                }
                return;
            }
            Instr::Assume(cond) if upper_guard(cond).is_some() => {}
            Instr::Jump { cond, .. } | Instr::Assert(cond) | Instr::Assume(cond) => {
                let kind = self.kind(tid, pc, cond);
                self.is_number(kind);
            }
            _ => {}
        }
        let Some(class) = place else { return };
        match &step.instr {
            Instr::Store { value, .. } => {
                let kind = self.kind(tid, pc, value);
                self.assign(class, kind);
            }
            Instr::Rmw { update, .. } => {
                let kind = self.kind(tid, pc, update.operand());
                match (update, kind) {
                    (Update::Set(_), kind) => self.assign(class, kind),
                    (Update::Add(_) | Update::Sub(_), Kind::Constant) => {}
                    (Update::Add(_) | Update::Sub(_), kind) => {
                        self.is_number(kind);
                        self.fix(class);
                    }
                }
            }
            Instr::Cas { desired, .. } | Instr::BlockingCas { desired, .. } => {
                let kind = self.kind(tid, pc, desired);
                self.assign(class, kind);
            }
            _ => {}
        }
        for compared in step.instr.compared() {
            let kind = self.kind(tid, pc, compared);
            self.assign(class, kind);
        }
        if let Some(output) = output {
            self.unify(class, output);
        }
    }

    fn classes(&self) -> Vec<Counters> {
        let program = self.program;
        let mut roots: Vec<usize> = (0..program.locations.len()).map(|x| self.find(x)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots.retain(|root| !self.fixed[*root]);
        let class = |root: usize| {
            let locations: Vec<Loc> = (0..program.locations.len())
                .filter(|x| self.find(*x) == root)
                .map(Loc::from)
                .collect();
            let base = locations.iter().map(|loc| program.locations[loc.index()].initial).min();
            let registers = program.tids().map(|tid| {
                let live = self.live[tid.index()].iter().enumerate();
                live.map(|(pc, live)| {
                    let is_member =
                        |reg: &Reg| self.find(self.register(tid, Pc::from(pc), *reg)) == root;
                    live.iter().filter(is_member).collect()
                })
                .collect()
            });
            let climbing = locations.iter().copied().filter(|loc| climbs(program, *loc));
            Counters {
                registers: registers.collect(),
                climbing: climbing.collect(),
                locations,
                base: base.unwrap_or(0),
            }
        };
        // What is never written needs no shifting.
        let written = |counters: &Counters| {
            program.steps().any(|(_, _, step)| {
                step.instr.may_write()
                    && step.instr.place().is_some_and(|place| {
                        place.locations().any(|loc| counters.locations.contains(&loc))
                    })
            })
        };
        roots.into_iter().map(class).filter(written).collect()
    }
}

/// Does every write make the value at `loc` larger, as long as nothing wraps around?
fn climbs(program: &Program, loc: Loc) -> bool {
    let writes = program.steps().map(|(_, _, step)| &step.instr).filter(|instr| {
        instr.may_write() && instr.place().is_some_and(|place| place.locations().any(|x| x == loc))
    });
    writes.into_iter().all(|instr| match instr {
        Instr::Rmw { update: Update::Add(Expr::Const(amount)), .. } => *amount > 0,
        Instr::Cas { expected: Expr::Reg(expected), desired: Expr::Code(desired), .. }
        | Instr::BlockingCas {
            expected: Expr::Reg(expected), desired: Expr::Code(desired), ..
        } => {
            matches!(**desired, [Op::Reg(reg), Op::Const(amount), Op::Binary(Binary::Add)]
                if reg == *expected && amount > 0)
        }
        _ => false,
    })
}

/// `r < c` or `r <= c`, as the register and its largest value.
fn upper_guard(cond: &Expr) -> Option<(Reg, i64)> {
    let Expr::Code(code) = cond else { return None };
    match **code {
        [Op::Reg(reg), Op::Const(c), Op::Binary(Binary::Lt)] => Some((reg, i64::from(c) - 1)),
        [Op::Reg(reg), Op::Const(c), Op::Binary(Binary::Le)] => Some((reg, i64::from(c))),
        _ => None,
    }
}

/// Does no addition of a constant to a value ever leave the domain at its upper end?
///
/// An abstract interpretation with an upper bound per location, and per register and program
/// counter; comparisons of two registers, and of a register with a constant, narrow the bounds on
/// the branches where they hold.
fn bounded(program: &Program) -> bool {
    let mut bounds = Bounds {
        domain: program.domain,
        locations: program.locations.iter().map(|loc| i64::from(loc.initial)).collect(),
        exceeded: false,
    };
    let mut before: Vec<Vec<Option<Vec<i64>>>> =
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

struct Bounds {
    domain: Domain,
    locations: Vec<i64>,
    /// A sum may leave the domain.
    exceeded: bool,
}

impl Bounds {
    fn most(&self) -> i64 {
        i64::from(self.domain.max)
    }

    fn expr(&mut self, expr: &Expr, regs: &[i64]) -> i64 {
        let mut stack: Vec<(i64, bool)> = Vec::new();
        for op in expr.clone().into_postfix() {
            let bound = match op {
                Op::Const(value) => (i64::from(value), true),
                Op::Reg(reg) => (regs[reg.index()], false),
                Op::Unary(Unary::Not) => {
                    stack.pop();
                    (1, false)
                }
                Op::Unary(Unary::Neg) => {
                    stack.pop();
                    (self.most(), false)
                }
                Op::Binary(op) => {
                    let (b, b_constant) = stack.pop().expect("code of one expression");
                    let (a, a_constant) = stack.pop().expect("code of one expression");
                    let bound = match op {
                        Binary::Add if a + b <= self.most() => a + b,
                        Binary::Add => {
                            self.exceeded |= a_constant || b_constant;
                            self.most()
                        }
                        Binary::Sub if b_constant => (a - b).max(0),
                        Binary::Sub => self.most(),
                        Binary::Mul | Binary::BitOr | Binary::BitXor => self.most(),
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

    fn write(&mut self, place: &Place, bound: i64) {
        for loc in place.locations() {
            let known = &mut self.locations[loc.index()];
            *known = bound.max(*known);
        }
    }

    fn read(&self, place: &Place) -> i64 {
        place.locations().map(|loc| self.locations[loc.index()]).max().unwrap_or(0)
    }

    /// Where the step may lead, with the registers' bounds there.
    fn step(&mut self, step: &Step, mut regs: Vec<i64>) -> Vec<(Pc, Vec<i64>)> {
        let read = step.instr.place().map_or(0, |place| self.read(place));
        match &step.instr {
            Instr::Assign { dst, value } => regs[dst.index()] = self.expr(value, &regs),
            Instr::Store { place, value, .. } => {
                let bound = self.expr(value, &regs);
                self.write(place, bound);
            }
            Instr::Rmw { place, update, .. } => {
                let operand = self.expr(update.operand(), &regs);
                let constant = update.operand().as_const().is_some();
                let bound = match update {
                    Update::Set(_) => operand,
                    Update::Add(_) if read + operand <= self.most() => read + operand,
                    Update::Add(_) => {
                        self.exceeded |= constant;
                        self.most()
                    }
                    Update::Sub(_) if constant => read,
                    Update::Sub(_) => self.most(),
                };
                self.write(place, bound);
            }
            Instr::Cas { place, expected, desired, .. }
            | Instr::BlockingCas { place, expected, desired, .. } => {
                // It only writes if what it expects is what the location holds.
                let mut success = regs.clone();
                if let Expr::Reg(reg) = expected {
                    success[reg.index()] = success[reg.index()].min(read);
                }
                let bound = self.expr(desired, &success);
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
            Instr::Halt => Vec::new(),
            _ => vec![(step.next, regs)],
        }
    }
}

/// Narrows the bounds of registers given that `cond` is `truth`.
fn narrow(cond: &Expr, mut truth: bool, regs: &mut [i64]) {
    let Expr::Code(code) = cond else { return };
    let mut code = &code[..];
    while let [rest @ .., Op::Unary(Unary::Not)] = code {
        truth = !truth;
        code = rest;
    }
    let [a, b, Op::Binary(op)] = code else { return };
    let bound = |op: &Op, regs: &[i64]| match op {
        Op::Const(value) => Some(i64::from(*value)),
        Op::Reg(reg) => Some(regs[reg.index()]),
        _ => None,
    };
    let (Some(bound_a), Some(bound_b)) = (bound(a, regs), bound(b, regs)) else { return };
    let mut at_most = |op: &Op, most: i64| {
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
