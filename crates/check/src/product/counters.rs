//! Counters: the state whose numbers are smallest stands for all that differ by a shift.
//!
//! # Statement
//!
//! Let s be a state and r the state in which the numbers of each class of counters
//! ([`analysis::counters`]) are smaller by one amount k ≥ 0, and with a [`Window`] those that are
//! at or below its floor, `clock - behind`, are the floor. Then r can do what s can, and finds what s
//! finds. Without guards such as `assume(b < 200)` it can do nothing else. With them, one thing is lost that is no verdict: the
//! warning that nobody goes on, where s has been stopped by a guard and r has not.
//!
//! A number at or below the floor is *below the window*: it stands for itself and for all smaller ones.
//!
//! # Premises
//!
//! 1. The program does nothing with numbers of the class but copy them, add and subtract constants,
//!    and compare them with each other, with constants below the class's base, and in guards. This is
//!    how classes are found.
//! 2. No sum wraps around: not at the upper end, by [`analysis::bounds`]; at the lower end the
//!    search notices ([`Product::wrapped`]) and is not believed. Nor is leaving the domain a run-time error.
//! 3. With a window, a thread compares a location with what it loaded from there only if the location is the clock
//!    ([`crate::plan`]). For such comparisons monitors remember the number that was loaded, and compare it with each number
//!    that is overwritten at the location ([`memory::rc20::row_layout`]).
//! 4. With a window, nothing depends on how small a number below the window really is.
//!    [`Product::depends_on_below_window`] looks at every step. Copying such a number is harmless, and comparing it with one
//!    above the window, or with a constant, has one result. Anything else makes the search
//!    [unclear](super::Finding::Unclear), and it is not believed: a guard on such a number, adding to it, comparing it with
//!    another below the window, setting back the clock.
//! 5. Numbers that monitors tell apart stay within the window's range, and all values within the bits
//!    that states have for them; otherwise the search is unclear (`TooLarge`).
//! 6. The memory lowers everything that it remembers of the numbers ([`memory::Lowered::lower`]): values, tags,
//!    and the bits of stale values, for which [`memory::Lowered::can_lower`] asks that each number has a bit of
//!    its own or none has.
//!
//! # Proof
//!
//! 1. Without a window, r = s - k on the class. By 1 and 2 a step of s is a step of r, with numbers
//!    smaller by k: copies copy, sums add the same, comparisons have the same result, and an upper guard
//!    that lets b pass lets b - k pass.
//! 2. With a window, by 4 every comparison of the program has the same result for all numbers that one below the window
//!    stands for, and no other step looks at one. The floor rises with the clock, which never goes back, so a
//!    number below the window stays there.
//! 3. What the memory compares has the same result, too. Numbers with bits of their own are compared with what a step
//!    expects, and by 4 that is above the window. What a thread loaded is compared, by 3, with numbers that the
//!    clock had until they were overwritten. At that time the number is the clock's value and so above the window: it is
//!    equal to what the thread holds in s if and only if it is in r.
//! 4. By 6, what the memory objects to is the same.
//! 5. Where a guard lets r pass and not s, the search may find what the program does not do. A finding
//!    counts only if its run can be replayed without lowering ([`crate::replay`]).
//!
//! # What it is for
//!
//! Shifting keeps ticket locks and queues finite. Windows are kept for two programs: Chase-Lev queues bounded by many pushes
//! (a thief's number falls behind the top), and RCU whose threads go offline (epochs fall behind the clock). Programs
//! that do more with old numbers are searched without a window.

use super::{Product, World};
use analysis::counters::{Counters, Lowering, Window, is_upper_guard};
use ir::expr::{Binary, Op};
use ir::thread::Action;
use ir::{Expr, Instr, Loc, Notes, Pc, Program, Reg, RegSet, Tid, UpdateOp, Value};
use memory::Monitor;

/// Where it has to be watched what is done with numbers of a class.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    window: Window,
    /// The class.
    class: usize,
    /// Per thread and program counter: does the step compute with them?
    computes: Vec<Vec<bool>>,
}

impl Watch {
    pub(super) fn new(program: &Program, class: usize, counters: &Counters) -> Option<Self> {
        let window = counters.window?;
        let computes = |instr: &Instr, members: RegSet| {
            let touches = |loc: &Loc| counters.locations.contains(loc);
            let place = instr.place();
            !instr.inputs().intersect(members).is_empty()
                || place.is_some_and(|place| place.locations().any(|loc| touches(&loc)))
        };
        let threads = program.threads.iter().zip(&counters.registers);
        let computes = threads.map(|(thread, registers)| {
            let steps = thread.code.iter().zip(registers);
            steps.map(|(step, members)| computes(&step.instr, *members)).collect()
        });
        Some(Watch { window, class, computes: computes.collect() })
    }
}

/// A number is too large for its window, or another value for its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooLarge;

/// A number as far as it is known.
#[derive(Clone, Copy)]
struct Known {
    value: Value,
    /// Is it a counter, or a constant that one may be compared with?
    counter: bool,
    /// May it really be any smaller number?
    below_window: bool,
}

impl<M: Monitor> Product<M> {
    /// What makes the counters in `world` as small as they get; none if they are. An error if one
    /// is too large for its window.
    pub(super) fn lowerings(
        &self,
        world: &World<M::State>,
        lowerings: &mut Vec<Lowering>,
    ) -> Result<(), TooLarge> {
        let values = self.memory.values(&world.memory);
        let mut changes = false;
        lowerings.clear();
        for counters in &self.counters {
            let (mut lowest, mut highest) = (Value::MAX, Value::MIN);
            let mut look_at = |value: Value| {
                if !counters.is_constant(value) {
                    lowest = lowest.min(value);
                    highest = highest.max(value);
                }
            };
            for loc in &counters.locations {
                look_at(values[loc.index()]);
            }
            for (t, (pc, members)) in world.pcs.iter().zip(&counters.registers).enumerate() {
                for reg in members[pc.index()].iter() {
                    look_at(world.regs[self.first_reg[t] + reg.index()]);
                }
            }
            let (floor, kept) = match counters.window {
                None => (Value::MIN, lowest),
                Some(Window { clock, behind, ahead }) => {
                    let clock = values[clock.index()];
                    if ahead.is_some_and(|ahead| highest > clock + ahead) {
                        return Err(TooLarge);
                    }
                    (clock - behind, clock - behind)
                }
            };
            let by = (kept - counters.base).max(0);
            changes |= by > 0 || lowest < floor;
            lowerings.push(Lowering { floor, by });
        }
        if !changes {
            lowerings.clear();
        }
        Ok(())
    }

    /// Makes every counter in `world` smaller.
    pub(super) fn lower(&self, world: &mut World<M::State>, lowerings: &[Lowering]) {
        for (counters, lowering) in self.counters.iter().zip(lowerings) {
            self.memory.lower(&mut world.memory, counters, *lowering);
            for t in 0..world.pcs.len() {
                for reg in counters.registers[t][world.pcs[t].index()].iter() {
                    let value = &mut world.regs[self.first_reg[t] + reg.index()];
                    *value = counters.lowered(*value, *lowering);
                }
            }
        }
    }

    /// Does what `tid` wants at `pc` depend on how small a number below the window really is?
    #[inline(always)]
    pub(super) fn depends_on_below_window(
        &self,
        world: &World<M::State>,
        tid: Tid,
        pc: Pc,
        action: &Action,
    ) -> bool {
        self.watches.iter().any(|watch| {
            watch.computes[tid.index()][pc.index()]
                && Evaluation { product: self, world, watch, tid, pc }.is_unclear(action)
        })
    }
}

/// One look at what a thread wants.
struct Evaluation<'a, M: Monitor> {
    product: &'a Product<M>,
    world: &'a World<M::State>,
    watch: &'a Watch,
    tid: Tid,
    pc: Pc,
}

impl<M: Monitor> Evaluation<'_, M> {
    fn counters(&self) -> &Counters {
        &self.product.counters[self.watch.class]
    }

    fn known(&self, value: Value) -> Known {
        let Window { clock, behind, .. } = self.watch.window;
        let clock = self.product.memory.values(&self.world.memory)[clock.index()];
        let below_window = !self.counters().is_constant(value) && value <= clock - behind;
        Known { value, counter: true, below_window }
    }

    /// What is at `loc`, if it is of the class.
    fn at(&self, loc: Loc) -> Option<Known> {
        let value = self.product.memory.values(&self.world.memory)[loc.index()];
        self.counters().locations.contains(&loc).then(|| self.known(value))
    }

    /// Would the action set the clock back?
    fn sets_back(&self, action: &Action) -> bool {
        let clock = self.watch.window.clock;
        let now = self.product.memory.values(&self.world.memory)[clock.index()];
        action.loc() == Some(clock)
            && match action {
                Action::Write { value, .. } => *value < now,
                Action::Cas { expected, desired, .. }
                | Action::BlockingCas { expected, desired, .. } => {
                    *expected == now && *desired < now
                }
                Action::Update { .. } => self.after(action, now).is_none_or(|new| new < now),
                _ => false,
            }
    }

    /// What an update makes of `value`.
    fn after(&self, action: &Action, value: Value) -> Option<Value> {
        let Action::Update { change, .. } = action else { return None };
        change.apply(value, self.product.program.domain, &mut Notes::default()).ok()
    }

    fn is_unclear(&self, action: &Action) -> bool {
        let instr = &self.product.program.step(self.tid, self.pc).instr;
        if self.sets_back(action) {
            return true;
        }
        if let Some(here) = action.loc().and_then(|loc| self.at(loc)) {
            let mut may_succeed = false;
            for expected in instr.compared() {
                let Some(expected) = self.eval(expected) else { return true };
                // Monitors may compare it with numbers that are no longer there, some below the window among them.
                let tells_apart = self.watch.window.ahead.is_some();
                if expected.below_window && (here.below_window || tells_apart) {
                    return true;
                }
                may_succeed |= expected.value == here.value && !expected.below_window;
            }
            match instr {
                Instr::Cas { desired, .. } | Instr::BlockingCas { desired, .. } => {
                    // What one that fails would have written may wrap around, which is worth a warning.
                    return (may_succeed || subtracts(desired)) && self.eval(desired).is_none();
                }
                Instr::Rmw { update, .. } if update.op != UpdateOp::Set => {
                    let is_constant = |value| self.counters().is_constant(value);
                    let after = self.after(action, here.value);
                    return here.below_window
                        || is_constant(here.value)
                        || after.is_none_or(is_constant);
                }
                _ => {}
            }
        }
        match instr {
            Instr::Assign { value, .. } | Instr::Store { value, .. } => self.eval(value).is_none(),
            Instr::Rmw { update, .. } if update.op == UpdateOp::Set => {
                self.eval(&update.operand).is_none()
            }
            Instr::Assume(cond) if is_upper_guard(cond) => self.looks_below_window(cond),
            Instr::Jump { cond: value, .. }
            | Instr::Assert(value)
            | Instr::Assume(value)
            | Instr::Switch { value, .. } => self.eval(value).is_none(),
            _ => false,
        }
    }

    /// Is the guard one of a number below the window?
    fn looks_below_window(&self, guard: &Expr) -> bool {
        let members = self.counters().registers[self.tid.index()][self.pc.index()];
        let regs = self.product.regs(self.world, self.tid);
        let is_below = |reg: Reg| self.known(regs[reg.index()]).below_window;
        guard.registers().intersect(members).iter().any(is_below)
    }

    /// The value of `expr`; `None` if it depends on how small a number below the window really is, or turns a
    /// constant into a counter or the reverse.
    fn eval(&self, expr: &Expr) -> Option<Known> {
        let plain = |value| Known { value, counter: false, below_window: false };
        let register = |reg: Reg| {
            let members = self.counters().registers[self.tid.index()][self.pc.index()];
            let value = self.product.regs(self.world, self.tid)[reg.index()];
            if members.contains(reg) { self.known(value) } else { plain(value) }
        };
        let code = match expr {
            Expr::Const(value) => return Some(plain(*value)),
            Expr::Reg(reg) => return Some(register(*reg)),
            Expr::Code(code) => code,
        };
        let mut stack: Vec<Known> = Vec::new();
        for op in code {
            let known = match op {
                Op::Const(value) => plain(*value),
                Op::Reg(reg) => register(*reg),
                Op::Unary(_) => {
                    // Typing keeps counters out of it.
                    stack.pop();
                    plain(0)
                }
                Op::Binary(op) => {
                    let b = stack.pop().expect("code of one expression");
                    let a = stack.pop().expect("code of one expression");
                    self.binary(*op, a, b)?
                }
            };
            stack.push(known);
        }
        stack.pop()
    }

    fn binary(&self, op: Binary, a: Known, b: Known) -> Option<Known> {
        let result = |value, counter| Some(Known { value, counter, below_window: false });
        let is_constant = |known: Known| self.counters().is_constant(known.value);
        let sum = |value: Value| {
            let of = if a.counter { a } else { b };
            let known = self.known(value);
            (!of.below_window && !is_constant(of) && !is_constant(known)).then_some(known)
        };
        match op {
            Binary::Add if a.counter || b.counter => sum(a.value.checked_add(b.value)?),
            Binary::Sub if a.counter => sum(a.value.checked_sub(b.value)?),
            _ if a.below_window && b.below_window => None,
            _ if a.below_window && b.value <= a.value && !is_constant(b) => None,
            _ if b.below_window && a.value <= b.value && !is_constant(a) => None,
            // Whatever it is, it is no counter, and nobody here asks for its value.
            _ => result(0, false),
        }
    }
}

/// Is something subtracted?
fn subtracts(expr: &Expr) -> bool {
    matches!(expr, Expr::Code(code) if code.contains(&Op::Binary(Binary::Sub)))
}
