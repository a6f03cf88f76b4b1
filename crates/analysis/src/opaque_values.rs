//! Which values are mere names.
//!
//! A location or register is *opaque* if the program only copies its values and compares them for
//! equality with other opaque values, like the thread numbers in `owner.store(i)` …
//! `assert(t == i)`. Renaming the values of such a class consistently changes nothing, which lets
//! threads that differ only in their number count as equal ([`super::symmetry`]). A value may also say
//! which element of an array is meant, like the nodes of a queue lock: `next[p]`, or `next[p - 1]` if 0 is no
//! node. Such values are names as long as the elements are renamed with them, as Murphi's scalarsets
//! (Ip and Dill, 1996); [`Types::index`] says which values name which elements. Where a value is computed
//! with otherwise, or branched on, its class is *rigid*.
//!
//! Registers are typed per definition, not per name: a use belongs to the class of the definitions
//! that reach it, so a register reused for something else does not tie the two uses together.

use super::liveness::live_registers;
use ir::expr::{Binary, Expr, Op};
use ir::ids::{Loc, Pc, Reg, RegSet, Tid};
use ir::program::{Instr, Place, Program, Step, Thread};
use ir::update::UpdateOp;

/// A class of values.
pub type Class = u32;

/// The classes of a program.
#[derive(Clone, Debug)]
pub struct Types {
    parent: Vec<Class>,
    rigid: Vec<bool>,
    /// Per location.
    locations: Vec<Class>,
    /// Per thread, program counter and register: what it holds *before* the step.
    registers: Vec<Vec<Vec<Class>>>,
    /// Per thread and program counter, of the constants in the order of [`operands`], those of cases last.
    constants: Vec<Vec<Vec<Class>>>,
}

/// The expressions of an instruction in the order in which their constants are numbered. A constant
/// index is no expression: it names a location.
pub fn operands(instr: &Instr) -> Vec<&Expr> {
    let indices = instr.places().iter().filter_map(|place| place.index.as_ref());
    indices.filter(|index| index.as_const().is_none()).chain(instr.operands()).collect()
}

impl Types {
    /// Infers the classes of `program`.
    pub fn of(program: &Program) -> Self {
        let mut types = Types {
            parent: Vec::new(),
            rigid: Vec::new(),
            locations: Vec::new(),
            registers: Vec::new(),
            constants: Vec::new(),
        };
        types.locations = program.locations.iter().map(|_| types.fresh()).collect();
        for thread in &program.threads {
            let classes = types.flow(thread);
            types.registers.push(classes);
        }
        for (t, thread) in program.threads.iter().enumerate() {
            types.constants.push(vec![Vec::new(); thread.code.len()]);
            let live = live_registers(thread);
            for (pc, step) in thread.code.iter().enumerate() {
                types.constrain(t, pc, step, live[step.next.index()]);
            }
        }
        types.flatten();
        types
    }

    /// Replaces every class by its representative, so that looking one up is one step.
    fn flatten(&mut self) {
        let roots: Vec<Class> = (0..self.parent.len() as Class).map(|c| self.find(c)).collect();
        let tables = self.registers.iter_mut().chain(&mut self.constants);
        for class in tables.flatten().flatten().chain(&mut self.locations) {
            *class = roots[*class as usize];
        }
    }

    /// The class of a location.
    pub fn location(&self, loc: Loc) -> Class {
        self.locations[loc.index()]
    }

    /// The class of a register before the step at `pc`.
    pub fn register(&self, tid: Tid, pc: Pc, reg: Reg) -> Class {
        self.registers[tid.index()][pc.index()][reg.index()]
    }

    /// The classes of all registers of a thread before the step at `pc`.
    #[inline(always)]
    pub fn registers(&self, tid: Tid, pc: Pc) -> &[Class] {
        &self.registers[tid.index()][pc.index()]
    }

    /// The classes of the constants of the instruction at `pc`, in the order of [`operands`].
    pub fn constants(&self, tid: Tid, pc: Pc) -> impl Iterator<Item = Class> + '_ {
        self.constants[tid.index()][pc.index()].iter().copied()
    }

    /// The class of the register in the index of `place` in the instruction at `pc`, and the offset that is
    /// added to it, if that is how the index is computed.
    pub fn index(&self, tid: Tid, pc: Pc, place: &Place) -> Option<(Class, i128)> {
        let (reg, offset) = place.index.as_ref()?.register_and_offset()?;
        Some((self.register(tid, pc, reg), offset))
    }

    /// May the class's values not be renamed?
    pub fn is_rigid(&self, class: Class) -> bool {
        self.rigid[class as usize]
    }

    /// How many classes there may be; each is below this.
    pub fn count(&self) -> usize {
        self.parent.len()
    }

    fn fresh(&mut self) -> Class {
        self.parent.push(self.parent.len() as Class);
        self.rigid.push(false);
        self.parent.len() as Class - 1
    }

    fn find(&self, mut class: Class) -> Class {
        while self.parent[class as usize] != class {
            class = self.parent[class as usize];
        }
        class
    }

    fn unify(&mut self, a: Class, b: Class) {
        let (a, b) = (self.find(a), self.find(b));
        self.rigid[a as usize] |= self.rigid[b as usize];
        self.parent[b as usize] = a;
    }

    fn make_rigid(&mut self, class: Class) {
        let root = self.find(class);
        self.rigid[root as usize] = true;
    }

    fn rigid(&mut self) -> Class {
        let class = self.fresh();
        self.make_rigid(class);
        class
    }

    fn constant(&mut self, t: usize, pc: usize) -> Class {
        let class = self.fresh();
        self.constants[t][pc].push(class);
        class
    }

    /// One class per register and point, tied along control flow wherever the value is passed on.
    fn flow(&mut self, thread: &Thread) -> Vec<Vec<Class>> {
        let classes: Vec<Vec<Class>> = thread
            .code
            .iter()
            .map(|_| thread.registers.iter().map(|_| self.fresh()).collect())
            .collect();
        let live = live_registers(thread);
        for (pc, step) in thread.code.iter().enumerate() {
            let output = step.instr.output();
            for next in step.successors() {
                for reg in live[next.index()].iter().filter(|reg| Some(*reg) != output) {
                    self.unify(classes[pc][reg.index()], classes[next.index()][reg.index()]);
                }
            }
        }
        classes
    }

    fn operand(&mut self, t: usize, pc: usize, expr: &Expr) -> Class {
        let code = match expr {
            Expr::Const(_) => return self.constant(t, pc),
            Expr::Reg(reg) => return self.registers[t][pc][reg.index()],
            Expr::Code(code) => code.clone(),
        };
        let mut stack: Vec<Class> = Vec::new();
        let pop = |stack: &mut Vec<Class>| stack.pop().expect("code of one expression");
        for op in &code {
            let class = match op {
                Op::Const(_) => self.constant(t, pc),
                Op::Reg(reg) => self.registers[t][pc][reg.index()],
                Op::Unary(_) => {
                    let operand = pop(&mut stack);
                    self.make_rigid(operand);
                    self.rigid()
                }
                Op::Binary(op) => {
                    let (b, a) = (pop(&mut stack), pop(&mut stack));
                    match op {
                        Binary::Eq | Binary::Ne => self.unify(a, b),
                        _ => {
                            self.make_rigid(a);
                            self.make_rigid(b);
                        }
                    }
                    self.rigid()
                }
            };
            stack.push(class);
        }
        pop(&mut stack)
    }

    /// The class of a place; a computed index ties the array's elements together. It is rigid unless it
    /// is a register and an offset.
    fn place(&mut self, t: usize, pc: usize, place: &Place) -> Class {
        if let Some(index) = place.index.as_ref().filter(|e| e.as_const().is_none()) {
            if index.register_and_offset().is_some() {
                if matches!(index, Expr::Code(_)) {
                    let offset = self.constant(t, pc);
                    self.make_rigid(offset);
                }
            } else {
                let index = self.operand(t, pc, index);
                self.make_rigid(index);
            }
        }
        let mut locations = place.locations();
        let first = locations.next().unwrap_or(place.base);
        let first = self.locations[first.index()];
        for loc in locations {
            self.unify(first, self.locations[loc.index()]);
        }
        first
    }

    /// Ties together what `step` passes on or compares; `live` are the registers live after it.
    fn constrain(&mut self, t: usize, pc: usize, step: &Step, live: RegSet) {
        let (instr, next) = (&step.instr, step.next);
        let result = |types: &mut Types, dst: Reg| match live.contains(dst) {
            true => types.registers[t][next.index()][dst.index()],
            false => types.fresh(), // dead, and so of no class
        };
        match instr {
            Instr::Assign { dst, value } => {
                let value = self.operand(t, pc, value);
                let result = result(self, *dst);
                self.unify(result, value);
            }
            Instr::Jump { cond, .. } | Instr::Assert(cond) | Instr::Assume(cond) => {
                let cond = self.operand(t, pc, cond);
                self.make_rigid(cond);
            }
            // Whether a value is that of a case is a test of equality.
            Instr::Switch { value, cases } => {
                let value = self.operand(t, pc, value);
                for _ in cases {
                    let case = self.constant(t, pc);
                    self.unify(value, case);
                }
            }
            Instr::Load { dst, place, .. } => {
                let class = self.place(t, pc, place);
                let result = result(self, *dst);
                self.unify(class, result);
            }
            Instr::Store { place, value, .. } => {
                let class = self.place(t, pc, place);
                let value = self.operand(t, pc, value);
                self.unify(class, value);
            }
            Instr::Rmw { dst, place, update, .. } => {
                let class = self.place(t, pc, place);
                let operand = self.operand(t, pc, &update.operand);
                self.unify(class, operand);
                if update.op != UpdateOp::Set {
                    self.make_rigid(class);
                }
                if let Some(dst) = dst {
                    let result = result(self, *dst);
                    self.unify(class, result);
                }
            }
            Instr::Cas { place, expected, desired, .. }
            | Instr::BlockingCas { place, expected, desired, .. } => {
                let class = self.place(t, pc, place);
                for e in [expected, desired] {
                    let operand = self.operand(t, pc, e);
                    self.unify(class, operand);
                }
                if let Some(dst) = instr.output() {
                    let result = result(self, dst);
                    self.unify(class, result);
                }
            }
            Instr::Wait { dst, place, values, .. } => {
                let class = self.place(t, pc, place);
                for e in values {
                    let operand = self.operand(t, pc, e);
                    self.unify(class, operand);
                }
                if let Some(dst) = dst {
                    let result = result(self, *dst);
                    self.unify(class, result);
                }
            }
            Instr::LightFence(places) => {
                for place in places {
                    self.place(t, pc, place);
                    for reg in place.registers().iter() {
                        self.make_rigid(self.registers[t][pc][reg.index()]);
                    }
                }
            }
            Instr::Mark(mark) => {
                for value in mark.expressions() {
                    let operand = self.operand(t, pc, value);
                    self.make_rigid(operand);
                }
            }
            Instr::Skip
            | Instr::Fence(_)
            | Instr::BusLock
            | Instr::BusUnlock
            | Instr::Begin
            | Instr::End
            | Instr::Halt => {}
        }
    }
}
