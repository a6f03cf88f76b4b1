//! Which values locations and registers may ever hold.
//!
//! An abstract interpretation over small sets of values: per thread and program counter for
//! registers (a condition narrows the registers in it on both branches), per location over the
//! whole program. Sets with more than 64 members become [`Values::Any`]. The answer over-approximates
//! every memory model in which a read returns some value written to the location or its initial one.
//!
//! It serves two ends: packed states get narrower fields, and the RC20 monitors learn which values
//! a wait, BCAS or CAS can compare with (critical values) without annotations.

use super::counters::Counters;
use budget::Budget;
use ir::expr::{Domain, Expr, Notes};
use ir::ids::{Loc, Pc, Reg, Value};
use ir::program::{Instr, Place, Program, Step};
use ir::update::UpdateOp;

/// Larger sets are not worth their time.
pub const FEW: usize = 64;
/// Evaluating an expression over more combinations than this is not worth its time.
const COMBINATIONS: usize = 4096;

/// A set of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// These, in ascending order.
    Few(Vec<Value>),
    /// Any of the program's domain.
    Any,
}

impl Values {
    /// The empty set.
    pub const NONE: Values = Values::Few(Vec::new());

    /// The set with one member.
    pub fn one(value: Value) -> Self {
        Values::Few(vec![value])
    }

    /// A set with these members.
    pub fn of_members(values: impl IntoIterator<Item = Value>) -> Self {
        let mut members: Vec<Value> = values.into_iter().collect();
        // Mostly they ascend, which this sort notices.
        members.sort();
        members.dedup();
        if members.len() > FEW { Values::Any } else { Values::Few(members) }
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        matches!(self, Values::Few(members) if members.is_empty())
    }

    /// May `value` be a member?
    pub fn contains(&self, value: Value) -> bool {
        match self {
            Values::Any => true,
            Values::Few(members) => members.binary_search(&value).is_ok(),
        }
    }

    /// The members, if they are few.
    pub fn members(&self) -> Option<&[Value]> {
        match self {
            Values::Any => None,
            Values::Few(members) => Some(members),
        }
    }

    /// The smallest and the largest member in `domain`; `None` if empty.
    pub fn bounds(&self, domain: Domain) -> Option<(Value, Value)> {
        match self {
            Values::Any => Some((domain.min, domain.max)),
            Values::Few(members) => Some((*members.first()?, *members.last()?)),
        }
    }

    /// Adds members; says whether any was new.
    pub fn absorb(&mut self, other: &Values) -> bool {
        match (&mut *self, other) {
            (Values::Any, _) => false,
            (_, Values::Any) => {
                *self = Values::Any;
                true
            }
            (Values::Few(members), Values::Few(more)) => {
                // Both ascend. Mostly there is nothing new, and then nothing is sorted.
                let mut rest = members.iter();
                if more.iter().all(|value| rest.find(|known| *known >= value) == Some(value)) {
                    return false;
                }
                let before = members.len();
                members.extend(more);
                // Two runs that ascend are merged.
                members.sort();
                members.dedup();
                let after = members.len();
                if after > FEW {
                    *self = Values::Any;
                }
                after > before
            }
        }
    }

    fn map2(
        &self,
        other: &Values,
        mut combine: impl FnMut(Value, Value) -> Option<Value>,
    ) -> Values {
        match (self, other) {
            (Values::Few(a), Values::Few(b)) if a.len() * b.len() <= COMBINATIONS => {
                Values::of_members(
                    a.iter()
                        .flat_map(|&x| b.iter().map(move |&y| (x, y)))
                        .filter_map(|(x, y)| combine(x, y)),
                )
            }
            _ => Values::Any,
        }
    }

    fn intersect(&self, other: &Values) -> Values {
        match (self, other) {
            (Values::Any, set) | (set, Values::Any) => set.clone(),
            (Values::Few(a), Values::Few(_)) => {
                Values::Few(a.iter().copied().filter(|&v| other.contains(v)).collect())
            }
        }
    }
}

/// The result of the analysis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PossibleValues {
    /// Per location, everything it may ever hold.
    pub locations: Vec<Values>,
    /// Per thread, program counter and register, what it may hold *before* the step. All empty
    /// where control cannot come.
    pub registers: Vec<Vec<Vec<Values>>>,
    /// Are `locations` given, not computed?
    fixed: bool,
}

impl PossibleValues {
    /// Analyses `program`.
    pub fn of(program: &Program) -> Self {
        PossibleValues::within(program, Budget::UNLIMITED)
    }

    /// The same; when the budget is spent, everything may hold any value.
    pub fn within(program: &Program, budget: Budget) -> Self {
        let initial = program.locations.iter().map(|loc| Values::one(loc.initial)).collect();
        PossibleValues::start(program, initial, false, budget)
    }

    /// The same, but counters may hold all that a search makes of them.
    pub fn with_counters(mut self, counters: &[Counters]) -> Self {
        for counters in counters {
            let members = counters.members();
            for loc in &counters.locations {
                self.locations[loc.index()] = members.clone();
            }
            for (thread, of_thread) in self.registers.iter_mut().zip(&counters.registers) {
                for (registers, counting) in thread.iter_mut().zip(of_thread) {
                    for reg in counting.iter() {
                        registers[reg.index()] = members.clone();
                    }
                }
            }
        }
        self
    }

    /// Analyses the registers of `program`, whose locations are known to hold no other values than
    /// these.
    pub fn with_locations(program: &Program, locations: Vec<Values>) -> Self {
        PossibleValues::start(program, locations, true, Budget::UNLIMITED)
    }

    fn start(program: &Program, locations: Vec<Values>, fixed: bool, budget: Budget) -> Self {
        let mut result = PossibleValues::unreached(program, locations, fixed);
        let mut open = Open::new(program);
        while result.pass(program, &mut open, Which::Narrow)
            || result.pass(program, &mut open, Which::All)
        {
            if budget.is_spent() {
                result.give_up();
                break;
            }
        }
        result
    }

    /// Everything may hold anything, and control may come everywhere.
    fn give_up(&mut self) {
        let registers = self.registers.iter_mut().flatten().flatten();
        registers.for_each(|values| *values = Values::Any);
        if !self.fixed {
            self.locations.fill(Values::Any);
        }
    }

    /// What is known before any step is looked at.
    fn unreached(program: &Program, locations: Vec<Values>, fixed: bool) -> Self {
        PossibleValues {
            locations,
            fixed,
            registers: program
                .threads
                .iter()
                .map(|thread| {
                    let mut at =
                        vec![vec![Values::NONE; thread.registers.len()]; thread.code.len()];
                    at[thread.entry.index()] = vec![Values::one(0); thread.registers.len()];
                    at
                })
                .collect(),
        }
    }

    /// What `expr` may evaluate to for thread `t` at `pc`.
    pub fn expr(&self, program: &Program, t: usize, pc: Pc, expr: &Expr) -> Values {
        evaluate(expr, &self.registers[t][pc.index()], program.domain)
    }

    /// May `expr` have no value for thread `t` at `pc`, as far as is known?
    pub fn may_fail(&self, program: &Program, t: usize, pc: Pc, expr: &Expr) -> bool {
        let has_value = |regs: &[Value], _: &[usize]| {
            expr.eval(regs, program.domain, &mut Notes::default()).is_ok()
        };
        !for_each_valuation(expr, &self.registers[t][pc.index()], has_value)
    }

    /// Everything register `reg` of thread `t` may ever hold.
    pub fn register(&self, t: usize, reg: Reg) -> Values {
        let mut all = Values::one(0);
        for at in &self.registers[t] {
            all.absorb(&at[reg.index()]);
        }
        all
    }

    /// Looks once at these of the steps that are open. Says whether there was one.
    fn pass(&mut self, program: &Program, open: &mut Open, which: Which) -> bool {
        let mut any = false;
        for (t, thread) in program.threads.iter().enumerate() {
            for (pc, step) in thread.code.iter().enumerate() {
                if !open.steps[t][pc] || which == Which::Narrow && open.wide[t][pc] {
                    continue;
                }
                open.steps[t][pc] = false;
                any = true;
                let before = self.registers[t][pc].clone();
                let entry_without_registers = before.is_empty();
                if !entry_without_registers && before.iter().any(Values::is_empty) {
                    continue; // not reached yet
                }
                self.step(program.domain, t, step, before, open);
            }
        }
        any
    }

    fn flow(&mut self, t: usize, to: Pc, registers: &[Values], open: &mut Open) {
        let at = &mut self.registers[t][to.index()];
        for (set, more) in at.iter_mut().zip(registers) {
            open.steps[t][to.index()] |= set.absorb(more);
        }
    }

    fn write(
        &mut self,
        place: &Place,
        registers: &[Values],
        domain: Domain,
        values: &Values,
        open: &mut Open,
    ) {
        if self.fixed {
            return;
        }
        let mut changed = false;
        for loc in possible_locations(place, registers, domain) {
            changed |= self.locations[loc.index()].absorb(values);
        }
        if changed {
            open.readers.iter().for_each(|&(t, pc)| open.steps[t][pc] = true);
        }
    }

    fn read(&self, place: &Place, registers: &[Values], domain: Domain) -> Values {
        let mut all = Values::NONE;
        for loc in possible_locations(place, registers, domain) {
            all.absorb(&self.locations[loc.index()]);
        }
        all
    }

    fn step(
        &mut self,
        domain: Domain,
        t: usize,
        step: &Step,
        mut regs: Vec<Values>,
        open: &mut Open,
    ) {
        let mut result: Option<(Reg, Values)> = None;
        match &step.instr {
            Instr::Assign { dst, value } => result = Some((*dst, evaluate(value, &regs, domain))),
            Instr::Jump { cond, targets } => {
                let (taken, not) = split(cond, &regs, domain);
                if let Some(taken) = taken {
                    for &target in targets {
                        self.flow(t, target, &taken, open);
                    }
                }
                if let Some(not) = not {
                    self.flow(t, step.next, &not, open);
                }
                return;
            }
            Instr::Switch { value, cases } => {
                let values = evaluate(value, &regs, domain);
                // What is known of the register behind a case, if it is a register.
                let mut flow = |to: Pc, with: Values| {
                    let mut regs = regs.clone();
                    if let Expr::Reg(reg) = value {
                        regs[reg.index()] = with;
                    }
                    self.flow(t, to, &regs, open);
                };
                for (case, to) in cases.iter().filter(|(case, _)| values.contains(*case)) {
                    flow(*to, Values::one(*case));
                }
                let others = match values.members() {
                    None => Values::Any,
                    Some(members) => {
                        let has_none = |v: &Value| ir::program::case(cases, *v).is_none();
                        Values::of_members(members.iter().copied().filter(has_none))
                    }
                };
                if !others.is_empty() {
                    flow(step.next, others);
                }
                return;
            }
            Instr::Assert(cond) | Instr::Assume(cond) => match split(cond, &regs, domain).0 {
                Some(narrowed) => regs = narrowed,
                None => return,
            },
            Instr::Load { dst, place, .. } => {
                result = Some((*dst, self.read(place, &regs, domain)));
            }
            Instr::Store { place, value, .. } => {
                let value = evaluate(value, &regs, domain);
                self.write(place, &regs, domain, &value, open);
            }
            Instr::Rmw { dst, place, update, .. } => {
                let old = self.read(place, &regs, domain);
                let operand = evaluate(&update.operand, &regs, domain);
                let new = match update.op {
                    UpdateOp::Set => operand,
                    op => old
                        .map2(&operand, |a, b| op.apply(a, b, domain, &mut Notes::default()).ok()),
                };
                self.write(place, &regs, domain, &new, open);
                result = dst.map(|dst| (dst, old));
            }
            Instr::Cas { dst, place, desired, .. } => {
                let desired = evaluate(desired, &regs, domain);
                self.write(place, &regs, domain, &desired, open);
                result = dst.map(|dst| (dst, self.read(place, &regs, domain)));
            }
            Instr::BlockingCas { place, desired, .. } => {
                let desired = evaluate(desired, &regs, domain);
                self.write(place, &regs, domain, &desired, open);
            }
            Instr::Wait { dst, place, values, .. } => {
                let mut waited = Values::NONE;
                for value in values {
                    waited.absorb(&evaluate(value, &regs, domain));
                }
                let read = waited.intersect(&self.read(place, &regs, domain));
                if read.is_empty() {
                    return; // blocks forever, as far as is known
                }
                result = dst.map(|dst| (dst, read));
            }
            Instr::Halt => return,
            Instr::Skip
            | Instr::Fence(_)
            | Instr::LightFence(_)
            | Instr::BusLock
            | Instr::BusUnlock
            | Instr::Begin
            | Instr::End
            | Instr::Mark(_) => {}
        }
        if let Some((dst, values)) = result {
            if values.is_empty() {
                return; // every evaluation faults
            }
            regs[dst.index()] = values;
        }
        self.flow(t, step.next, &regs, open);
    }
}

/// The steps that have to be looked at again, because what they rest on has grown. What a step does grows with what it rests
/// on, so which of them comes first makes no difference to where they all end.
struct Open {
    /// Per thread and program counter.
    steps: Vec<Vec<bool>>,
    /// Those with an expression over several registers, which is evaluated for each combination of their values. They wait
    /// until nothing else is open, so that it is done for few sets of values on their way to the last.
    wide: Vec<Vec<bool>>,
    /// The steps that read memory.
    readers: Vec<(usize, usize)>,
}

impl Open {
    /// Where threads begin. Nothing tells which steps of a thread without registers are reached: all of them may be.
    fn new(program: &Program) -> Self {
        let (mut steps, mut wide) = (Vec::new(), Vec::new());
        let mut readers = Vec::new();
        let is_wide = |step: &Step| {
            let operands = step.instr.operands();
            let indices = step.instr.places().iter().filter_map(|place| place.index.as_ref());
            operands.into_iter().chain(indices).any(|expr| expr.registers().iter().count() > 1)
        };
        for (t, thread) in program.threads.iter().enumerate() {
            let mut open = vec![thread.registers.is_empty(); thread.code.len()];
            open[thread.entry.index()] = true;
            steps.push(open);
            wide.push(thread.code.iter().map(is_wide).collect());
            let reads = thread.code.iter().enumerate().filter(|(_, step)| {
                step.instr.place().is_some() && !matches!(step.instr, Instr::Store { .. })
            });
            readers.extend(reads.map(|(pc, _)| (t, pc)));
        }
        Open { steps, wide, readers }
    }
}

/// Steps to look at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Those that are quickly done.
    Narrow,
    /// All.
    All,
}

fn possible_locations(place: &Place, registers: &[Values], domain: Domain) -> Vec<Loc> {
    match place.index.as_ref().map(|index| evaluate(index, registers, domain)) {
        Some(Values::Few(indices)) => {
            indices.into_iter().filter_map(|index| place.element(index)).collect()
        }
        _ => place.locations().collect(),
    }
}

/// Evaluates `expr` for every combination of its registers' values.
fn evaluate(expr: &Expr, registers: &[Values], domain: Domain) -> Values {
    match expr {
        Expr::Const(value) => Values::one(*value),
        Expr::Reg(reg) => registers[reg.index()].clone(),
        Expr::Code(_) => {
            let mut results = Vec::new();
            match for_each_valuation(expr, registers, |regs, _| {
                results.extend(expr.eval(regs, domain, &mut Notes::default()));
                if results.len() > FEW {
                    results.sort_unstable();
                    results.dedup();
                }
                results.len() <= FEW
            }) {
                true => Values::of_members(results),
                false => Values::Any,
            }
        }
    }
}

/// Calls `visit` with every valuation of the registers in `expr`, and the numbers of their values among those that each may have,
/// until it says stop. Says whether all were visited.
fn for_each_valuation(
    expr: &Expr,
    registers: &[Values],
    mut visit: impl FnMut(&[Value], &[usize]) -> bool,
) -> bool {
    let used: Vec<Reg> = expr.registers().iter().collect();
    let mut choices = Vec::with_capacity(used.len());
    let mut combinations = 1usize;
    for reg in &used {
        let Some(members) = registers[reg.index()].members() else { return false };
        combinations = combinations.saturating_mul(members.len());
        choices.push(members);
    }
    if combinations > COMBINATIONS {
        return false;
    }
    if combinations == 0 {
        return true;
    }
    let mut regs = vec![0; registers.len()];
    let mut at = vec![0; used.len()];
    for (reg, members) in used.iter().zip(&choices) {
        regs[reg.index()] = members[0];
    }
    loop {
        if !visit(&regs, &at) {
            return false;
        }
        let mut k = 0;
        loop {
            if k == used.len() {
                return true;
            }
            at[k] = (at[k] + 1) % choices[k].len();
            regs[used[k].index()] = choices[k][at[k]];
            if at[k] > 0 {
                break;
            }
            k += 1;
        }
    }
}

/// The registers' values where `cond` holds and where it does not; `None` where that cannot be.
#[allow(clippy::type_complexity)]
fn split(
    cond: &Expr,
    registers: &[Values],
    domain: Domain,
) -> (Option<Vec<Values>>, Option<Vec<Values>>) {
    let used: Vec<Reg> = cond.registers().iter().collect();
    // Per register, for which of its values the condition may hold, or fail.
    let of = |reg: &Reg| registers[reg.index()].members().unwrap_or(&[]);
    let none: Vec<Vec<bool>> = used.iter().map(|reg| vec![false; of(reg).len()]).collect();
    let (mut holds, mut fails) = (none.clone(), none);
    let (mut may_hold, mut may_fail) = (false, false);
    let visited = for_each_valuation(cond, registers, |regs, at| {
        let Ok(value) = cond.eval(regs, domain, &mut Notes::default()) else { return true };
        let (may, marks) =
            if value != 0 { (&mut may_hold, &mut holds) } else { (&mut may_fail, &mut fails) };
        *may = true;
        marks.iter_mut().zip(at).for_each(|(marks, &at)| marks[at] = true);
        true
    });
    if !visited {
        return (Some(registers.to_vec()), Some(registers.to_vec()));
    }
    let narrowed = |may: bool, marks: Vec<Vec<bool>>| {
        may.then(|| {
            let mut narrowed = registers.to_vec();
            for (marks, reg) in marks.into_iter().zip(&used) {
                let kept = of(reg).iter().zip(marks).filter(|(_, marked)| *marked);
                narrowed[reg.index()] = Values::Few(kept.map(|(value, _)| *value).collect());
            }
            narrowed
        })
    };
    (narrowed(may_hold, holds), narrowed(may_fail, fails))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::random::{Allow, Config, program};

    /// Catches a step that is not looked at again though what it rests on has grown.
    #[test]
    fn looking_at_all_steps_again_and_again_says_the_same() {
        let mut grown = 0;
        for seed in 0..2_000 {
            let config = Config {
                threads: 1..=3,
                instructions: 2..=8,
                max_value: if seed % 2 == 0 { 3 } else { 200 },
                allow: Allow::EVERYTHING,
                ..Config::default()
            };
            let program = program(seed, &config);
            let quick = PossibleValues::of(&program);
            let locations = program.locations.iter().map(|loc| Values::one(loc.initial)).collect();
            let mut plain = PossibleValues::unreached(&program, locations, false);
            loop {
                let before = plain.clone();
                let mut open = Open::new(&program);
                open.steps.iter_mut().for_each(|steps| steps.fill(true));
                plain.pass(&program, &mut open, Which::All);
                if plain == before {
                    break;
                }
                grown += 1;
            }
            assert_eq!(quick, plain, "seed {seed}");
        }
        assert!(grown > 4_000, "{grown}");
    }
}
