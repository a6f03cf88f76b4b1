//! Every limit that analyses and searches rely on, in one place.
//!
//! A program may come from a front-end, from a generator, or from a caller of the library.
//! [`Program::validate`] accepts it only if
//!
//! 1. it has between one and [`FEW_THREADS`] threads: sets of threads are 32-bit masks. Searches of interleavings, and of
//!    attacks on store buffers, have masks of 128 bits, and take what [`Program::validate_with_many_threads`] accepts:
//!    up to [`MAX_THREADS`];
//! 2. it has at most [`MAX_LOCATIONS`] locations and [`MAX_STEPS`] steps;
//! 3. 0 and 1 are values, registers start at the former and comparisons give both, and all initial
//!    values and constants are values;
//! 4. a thread has at most [`RegSet::CAPACITY`] registers, names only these, and starts and goes on
//!    inside its code;
//! 5. expressions are code of one expression that needs at most [`Expr::MAX_STACK`] cells;
//! 6. places are inside the locations, and atomic accesses are to atomic locations, the others to
//!    the others;
//! 7. threads that others start exist;
//! 8. its final condition observes registers and locations that exist, at most
//!    [`Condition::MOST_OBSERVED`], and compares and connects their values;
//! 9. the cases of a switch are ascending.

use crate::condition::{Condition, Observed};
use crate::expr::{Domain, Expr, Op};
use crate::ids::{Reg, RegSet, Value};
use crate::mode::{ReadMode, WriteMode};
use crate::program::{Instr, LocationKind, Place, Program, Thread};

/// How many threads a program may have, whatever is asked of it.
pub const MAX_THREADS: usize = 128;
/// How many threads it may have for most questions.
pub const FEW_THREADS: usize = 32;
/// How many locations a program may have, array elements counted.
pub const MAX_LOCATIONS: usize = 4096;
/// How many steps a program may have, over all threads.
pub const MAX_STEPS: usize = 1 << 18;

/// Why a program cannot be analysed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// There is nothing to run.
    #[error("the program has no threads")]
    NoThreads,
    /// There is too much of something.
    #[error("{count} {what} are more than {most}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// Comparisons have no results.
    #[error("the values {0} lack 0 or 1")]
    Domain(Domain),
    /// A constant or initial value is no value.
    #[error("{value} is not one of the values {domain}")]
    Value {
        /// The number.
        value: Value,
        /// The values.
        domain: Domain,
    },
    /// A name stands for nothing.
    #[error("there is no {what} {index}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// Its index.
        index: u32,
    },
    /// Code that no expression has, or one that is too deep.
    #[error("an expression is no expression, or needs more than {} cells", Expr::MAX_STACK)]
    Expression,
    /// A final condition that calculates.
    #[error("a final condition compares values, it does not calculate with them")]
    Formula,
    /// A switch whose cases are not in order, or two for one value.
    #[error("the cases of a switch are not ascending")]
    Cases,
    /// An access that the kind of its location forbids.
    #[error("an access of the wrong kind to location {0}")]
    Kind(u32),
}

impl Program {
    /// Is it within every limit that analyses rely on?
    ///
    /// # Errors
    ///
    /// The first limit that it breaks.
    pub fn validate(&self) -> Result<(), Invalid> {
        at_most("threads", self.threads.len(), FEW_THREADS)?;
        self.validate_with_many_threads()
    }

    /// Is it within every limit but the one on threads of most analyses?
    ///
    /// # Errors
    ///
    /// The first limit that it breaks.
    pub fn validate_with_many_threads(&self) -> Result<(), Invalid> {
        let Domain { min, max, .. } = self.domain;
        if self.threads.is_empty() {
            return Err(Invalid::NoThreads);
        }
        at_most("threads", self.threads.len(), MAX_THREADS)?;
        at_most("locations", self.locations.len(), MAX_LOCATIONS)?;
        let steps = self.threads.iter().map(|thread| thread.code.len()).sum();
        at_most("steps", steps, MAX_STEPS)?;
        if min > 0 || max < 1 {
            return Err(Invalid::Domain(self.domain));
        }
        self.locations.iter().try_for_each(|location| self.value(location.initial))?;
        for thread in &self.threads {
            at_most("registers", thread.registers.len(), RegSet::CAPACITY)?;
            exists("step", thread.entry.0, thread.code.len())?;
            for step in &thread.code {
                exists("step", step.next.0, thread.code.len())?;
                match &step.instr {
                    Instr::Jump { targets, .. } => {
                        targets
                            .iter()
                            .try_for_each(|pc| exists("step", pc.0, thread.code.len()))?;
                    }
                    Instr::Switch { cases, .. } => {
                        for (value, pc) in cases {
                            self.value(*value)?;
                            exists("step", pc.0, thread.code.len())?;
                        }
                        if !cases.is_sorted_by(|(a, _), (b, _)| a < b) {
                            return Err(Invalid::Cases);
                        }
                    }
                    _ => {}
                }
                self.instruction(&step.instr, thread)?;
            }
        }
        self.spawned.iter().try_for_each(|tid| exists("thread", tid.0, self.threads.len()))?;
        self.condition.as_ref().map_or(Ok(()), |condition| self.condition(condition))
    }

    fn condition(&self, condition: &Condition) -> Result<(), Invalid> {
        let Condition { observed, formula, .. } = condition;
        at_most("values of a condition", observed.len(), Condition::MOST_OBSERVED)?;
        for what in observed {
            match *what {
                Observed::Location(loc) => exists("location", loc.0, self.locations.len())?,
                Observed::Register(tid, reg) => {
                    exists("thread", tid.0, self.threads.len())?;
                    exists("register", reg.0, self.threads[tid.index()].registers.len())?;
                }
            }
        }
        self.expression(formula, observed.len())?;
        if formula.is_formula() { Ok(()) } else { Err(Invalid::Formula) }
    }

    fn value(&self, value: Value) -> Result<(), Invalid> {
        match self.domain.contains(value.into()) {
            true => Ok(()),
            false => Err(Invalid::Value { value, domain: self.domain }),
        }
    }

    fn instruction(&self, instr: &Instr, thread: &Thread) -> Result<(), Invalid> {
        let mut wrong = None;
        // The visitors of `canonical` show every place and expression, and only need a copy for that.
        let mut copy = instr.clone();
        crate::canonical::for_each_expr(&mut copy, |expr| {
            wrong = wrong.take().or(self.expression(expr, thread.registers.len()).err());
        });
        crate::canonical::for_each_place(&mut copy, |place| {
            wrong = wrong.take().or(self.place(place, access(instr)).err());
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        instr.output().map_or(Ok(()), |reg| exists("register", reg.0, thread.registers.len()))
    }

    fn place(&self, place: &Place, access: Option<LocationKind>) -> Result<(), Invalid> {
        let end = u64::from(place.base.0) + u64::from(place.len);
        if place.len == 0 || end > self.locations.len() as u64 {
            return Err(Invalid::Missing { what: "location", index: place.base.0 });
        }
        let wrong = |at: &usize| access.is_some_and(|kind| self.locations[*at].kind != kind);
        match (place.base.index()..end as usize).find(wrong) {
            Some(at) => Err(Invalid::Kind(at as u32)),
            None => Ok(()),
        }
    }

    fn expression(&self, expr: &Expr, registers: usize) -> Result<(), Invalid> {
        let register = |reg: Reg| exists("register", reg.0, registers);
        match expr {
            Expr::Const(value) => self.value(*value),
            Expr::Reg(reg) => register(*reg),
            Expr::Code(code) => {
                for op in code {
                    match op {
                        Op::Const(value) => self.value(*value)?,
                        Op::Reg(reg) => register(*reg)?,
                        Op::Unary(_) | Op::Binary(_) => {}
                    }
                }
                match Expr::from_postfix(code.to_vec()) {
                    Some(Expr::Code(_)) => Ok(()),
                    _ => Err(Invalid::Expression),
                }
            }
        }
    }
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), Invalid> {
    if count > most { Err(Invalid::TooMany { what, count, most }) } else { Ok(()) }
}

fn exists(what: &'static str, index: u32, count: usize) -> Result<(), Invalid> {
    if (index as usize) < count { Ok(()) } else { Err(Invalid::Missing { what, index }) }
}

/// The kind of location that the instruction accesses; none for a fence, which only names places.
fn access(instr: &Instr) -> Option<LocationKind> {
    match instr {
        Instr::Load { mode: ReadMode::Na, .. } | Instr::Store { mode: WriteMode::Na, .. } => {
            Some(LocationKind::NonAtomic)
        }
        Instr::LightFence(_) => None,
        _ => Some(LocationKind::Atomic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Loc, Pc};
    use crate::random::{self, Allow, Config, Generator};
    use crate::{Step, canonical, print};

    fn everything() -> Config {
        Config { allow: Allow::EVERYTHING, ..Config::default() }
    }

    /// Catches limits that programs of the generators break.
    #[test]
    fn random_programs_are_valid() {
        for seed in 0..500 {
            assert_eq!(random::program(seed, &everything()).validate(), Ok(()), "seed {seed}");
        }
    }

    /// Catches a 33rd thread, which would be the first one in a mask of 32 bits, and a 129th.
    #[test]
    fn too_many_threads_are_refused() {
        let mut program = random::program(1, &everything());
        program.threads = vec![program.threads[0].clone(); FEW_THREADS + 1];
        let too_many = Invalid::TooMany { what: "threads", count: 33, most: 32 };
        assert_eq!(program.validate(), Err(too_many));
        assert_eq!(program.validate_with_many_threads(), Ok(()));
        program.threads = vec![program.threads[0].clone(); MAX_THREADS + 1];
        let too_many = Invalid::TooMany { what: "threads", count: 129, most: 128 };
        assert_eq!(program.validate_with_many_threads(), Err(too_many));
        program.threads.clear();
        assert_eq!(program.validate(), Err(Invalid::NoThreads));
    }

    /// Breaks one thing at random.
    fn mutate(program: &mut Program, random: &mut Generator) {
        let number = random.pick(&[0, 1, 2, 31, 63, 64, 4095, u32::MAX]);
        let value = random.pick(&[Value::MIN, -1, 0, 1, 3, Value::MAX]);
        let t = random.below(program.threads.len());
        let thread = &mut program.threads[t];
        let pc = random.below(thread.code.len());
        let Step { instr, next, .. } = &mut thread.code[pc];
        match random.below(11) {
            0 => thread.entry = Pc(number),
            1 => *next = Pc(number),
            2 => thread.registers.truncate(number as usize),
            3 => canonical::for_each_place(instr, |place| place.base = Loc(number)),
            4 => canonical::for_each_place(instr, |place| place.len = number),
            5 => canonical::for_each_expr(instr, |expr| *expr = Expr::Const(value)),
            6 => canonical::for_each_expr(instr, |expr| *expr = Expr::Reg(Reg(number))),
            7 => program.locations.truncate(number as usize),
            8 => (program.domain.min, program.domain.max) = (value, Value::from(number)),
            9 => {
                let cases = vec![(value, Pc(0)), (random.pick(&[0, 1]), Pc(number))];
                *instr = Instr::Switch { value: Expr::Reg(Reg(0)), cases };
            }
            _ => *instr = Instr::Jump { cond: Expr::Const(1), targets: vec![Pc(number)] },
        }
    }

    /// Catches broken programs that are accepted: walking, printing and running them would panic.
    #[test]
    fn what_is_accepted_can_be_walked_and_run() {
        let (mut accepted, mut refused) = (0, 0);
        for seed in 0..4000 {
            let mut random = Generator { state: seed };
            let mut program = random::program(seed % 100, &everything());
            for _ in 0..1 + random.below(2) {
                mutate(&mut program, &mut random);
            }
            if program.validate().is_err() {
                refused += 1;
                continue;
            }
            accepted += 1;
            print::program(&canonical::program(&program));
            for thread in &program.threads {
                let registers = vec![1; thread.registers.len()];
                for pc in thread.reachable() {
                    let step = &thread.code[pc.index()];
                    let mut notes = crate::Notes::default();
                    let _ = crate::thread::next_action(
                        &step.instr,
                        &registers,
                        program.domain,
                        &mut notes,
                    );
                    for loc in step.instr.place().into_iter().flat_map(Place::locations) {
                        assert!(loc.index() < program.locations.len(), "seed {seed}");
                    }
                }
            }
        }
        assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
    }
}
