//! Final conditions: what a litmus test asks of the states in which its runs end.
//!
//! A condition is a formula over *observed* values: final values of registers and of locations. It is
//! asked of those runs in which every thread comes to its end; a thread that waits for good, that an
//! assumption stopped, or that was never started does not. `exists` asks whether one such run ends in
//! a state that satisfies the formula, `~exists` claims that none does, `forall` that all do.
//!
//! The formula is an [`Expr`] in which register *k* stands for the *k*-th observed value. It compares
//! and connects; it does not calculate. So it has a value in every state, and needs no domain to have
//! one.
//!
//! Analyses of threads may forget what a thread does not read any more. A condition reads registers
//! of threads that are done, which none of these analyses knows. [`observed_by_a_thread`] therefore
//! says the same by means that all of them know: threads write what is observed to locations when they
//! are done, and one more thread waits for that, reads the locations and asserts.

use crate::expr::{Binary, Domain, Edge, Expr, Notes, Op, Unary};
use crate::ids::{Loc, Origin, Pc, Reg, RegSet, Tid, Value};
use crate::mode::{ReadMode, WriteMode};
use crate::program::{Instr, Location, LocationKind, Place, Program, Step, Thread};
use crate::update::Update;
use crate::validate::FEW_THREADS;

/// What is asked of final states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Of how many of them.
    pub quantifier: Quantifier,
    /// The values that the formula is about, each once.
    pub observed: Vec<Observed>,
    /// The formula: register `k` stands for the value of `observed[k]`.
    pub formula: Expr,
    /// Where it came from in the source.
    pub origin: Origin,
}

/// Of how many final states something is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantifier {
    /// Does one satisfy the formula?
    Exists,
    /// None satisfies it.
    NotExists,
    /// All satisfy it.
    Forall,
}

impl Quantifier {
    /// How the language writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        }
    }

    /// Does it claim something that one run can refute?
    pub fn claims(self) -> bool {
        self != Quantifier::Exists
    }
}

/// Something that has a final value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Observed {
    /// A register of a thread.
    Register(Tid, Reg),
    /// A location.
    Location(Loc),
}

impl Condition {
    /// How many values a condition may observe. The thread of [`observed_by_a_thread`] has a register
    /// for each of them and one to work with.
    pub const MOST_OBSERVED: usize = RegSet::CAPACITY - 1;

    /// Does a state satisfy the formula, if `value` says what is observed there?
    pub fn is_satisfied(&self, value: impl Fn(Observed) -> Value) -> bool {
        let values: Vec<Value> = self.observed.iter().map(|&what| value(what)).collect();
        // Comparisons and connectives give 0 or 1, which all domains have.
        let domain = Domain { min: Value::MIN, max: Value::MAX, edge: Edge::Wrap };
        self.formula.eval(&values, domain, &mut Notes::default()).is_ok_and(|value| value != 0)
    }
}

impl Expr {
    /// May it have no value, for some values of its registers? In a division by a constant, the divisor does not tell.
    pub fn may_fail(&self, edge: Edge) -> bool {
        let Expr::Code(code) = self else { return false };
        let mut before = None;
        code.iter().any(|op| {
            let divisor = before.replace(op);
            match op {
                Op::Binary(Binary::Div | Binary::Rem) if edge == Edge::Wrap => {
                    !matches!(divisor, Some(Op::Const(by)) if *by != 0)
                }
                Op::Const(_) | Op::Reg(_) | Op::Unary(Unary::Not) => false,
                Op::Unary(Unary::Neg) => edge == Edge::Fault,
                Op::Binary(op) => edge == Edge::Fault && !op.is_logical(),
            }
        })
    }

    /// Does it only compare and connect, so that it cannot fail or leave the domain?
    pub fn is_formula(&self) -> bool {
        let Expr::Code(code) = self else { return true };
        code.iter().all(|op| match op {
            Op::Const(_) | Op::Reg(_) | Op::Unary(Unary::Not) => true,
            Op::Unary(Unary::Neg) => false,
            Op::Binary(op) => op.is_logical(),
        })
    }
}

impl Binary {
    /// Does it compare or connect, so that its result is 0 or 1?
    pub fn is_logical(self) -> bool {
        matches!(
            self,
            Binary::Or
                | Binary::And
                | Binary::Eq
                | Binary::Ne
                | Binary::Lt
                | Binary::Le
                | Binary::Gt
                | Binary::Ge
        )
    }
}

/// The program without its condition, and with one more thread that asserts the formula (or, unless
/// the quantifier is `forall`, its negation) of the final values of every run in which all threads
/// come to their end. `None` if the program has no condition, or as many threads as there can be.
///
/// Under SC, the assertion fails in some interleaving if and only if some interleaving of the program
/// ends in a state that refutes the claim (or answers `exists` with yes):
///
/// 1. Thread *t* does before its end what it did not do before: it stores the registers observed of
///    it to locations that nobody else writes, and adds 1 to a counter. None of that changes what
///    another thread of the program reads. So the interleavings of the program are those of the new
///    one, without the new steps, and a thread is done in one if and only if it is in the other.
///    An assertion of the program becomes an assumption: a thread that fails is not done either way.
/// 2. The new thread goes on when the counter is the number of threads. Then all of them are done,
///    nothing changes any more, and it reads the final values.
///
/// What the new thread asserts is ordinary code, so every reduction has its own reason to keep what
/// matters to it. The new thread counts as one that others start: if some thread does not come to its
/// end, then it waits where it starts, and nobody is warned of a deadlock.
pub fn observed_by_a_thread(program: &Program) -> Option<Program> {
    let condition = program.condition.as_ref()?;
    if program.threads.len() >= FEW_THREADS {
        return None;
    }
    let mut observing = Program { condition: None, ..program.clone() };
    for step in observing.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        // Either way the thread does not go on, and only the new thread may fail.
        if let Instr::Assert(claim) = &step.instr {
            step.instr = Instr::Assume(claim.clone());
        }
    }
    // Every thread counts once; if that is too much for the domain, each has a counter of its own.
    let count = program.threads.len() as Value;
    let done: Vec<Loc> = match program.domain.contains(count.into()) {
        true => vec![add_location(&mut observing, "done")],
        false => program.tids().map(|_| add_location(&mut observing, "done")).collect(),
    };
    let finished = if done.len() == 1 { count } else { 1 };
    let mut last: Vec<Vec<Instr>> = vec![Vec::new(); program.threads.len()];
    let mut reads = Vec::new();
    for (number, &what) in condition.observed.iter().enumerate() {
        let dst = Reg::from(number);
        let (loc, mode) = match what {
            Observed::Location(loc) => match program.locations[loc.index()].kind {
                LocationKind::Atomic => (loc, ReadMode::Rlx),
                LocationKind::NonAtomic => (loc, ReadMode::Na),
            },
            Observed::Register(tid, reg) => {
                let loc = add_location(&mut observing, "observed");
                let (place, value) = (Place::location(loc), Expr::Reg(reg));
                last[tid.index()].push(Instr::Store { place, value, mode: WriteMode::Rlx });
                (loc, ReadMode::Rlx)
            }
        };
        reads.push(Instr::Load { dst, place: Place::location(loc), mode });
    }
    for (tid, mut last) in last.into_iter().enumerate() {
        let place = Place::location(done[tid % done.len()]);
        let update = Update::add(Expr::Const(1));
        let (read, write) = (ReadMode::Rlx, WriteMode::Rlx);
        last.push(Instr::Rmw { dst: None, place, update, read, write });
        append(&mut observing.threads[tid], last);
    }
    let waits = done.iter().map(|&loc| Instr::Wait {
        dst: None,
        place: Place::location(loc),
        values: vec![Expr::Const(finished)],
        mode: ReadMode::Rlx,
    });
    let formula = condition.formula.clone();
    let claim = match condition.quantifier {
        Quantifier::Forall => formula,
        // The operand is on the stack already, so this is not too deep.
        _ => Expr::unary(Unary::Not, formula)?,
    };
    let instrs = waits.chain(reads).chain([Instr::Assert(claim)]);
    let mut code: Vec<Step> = Vec::new();
    for instr in instrs.chain([Instr::Halt]) {
        let next = Pc::from(code.len() + usize::from(instr != Instr::Halt));
        code.push(Step { instr, next, origin: condition.origin });
    }
    observing.spawned.push(Tid::from(observing.threads.len()));
    observing.threads.push(Thread {
        name: "the final condition".to_string(),
        replica: None,
        registers: (0..condition.observed.len()).map(|k| format!("observed{k}")).collect(),
        code,
        entry: Pc(0),
    });
    Some(observing)
}

fn add_location(program: &mut Program, name: &str) -> Loc {
    let loc = Loc::from(program.locations.len());
    program.locations.push(Location {
        name: name.to_string(),
        element: None,
        initial: 0,
        kind: LocationKind::Atomic,
    });
    loc
}

/// Puts `instrs` before the end of the thread.
fn append(thread: &mut Thread, instrs: Vec<Instr>) {
    let end = Pc::from(thread.code.len() + instrs.len());
    let halts: Vec<usize> =
        (0..thread.code.len()).filter(|&pc| thread.code[pc].instr == Instr::Halt).collect();
    let origin = halts.first().map_or(Origin(0), |&pc| thread.code[pc].origin);
    let first = Pc::from(thread.code.len());
    for pc in halts {
        thread.code[pc] = Step { instr: Instr::Skip, next: first, origin };
    }
    for instr in instrs {
        let next = Pc::from(thread.code.len() + 1);
        thread.code.push(Step { instr, next, origin });
    }
    thread.code.push(Step { instr: Instr::Halt, next: end, origin });
    debug_assert_eq!(end.index() + 1, thread.code.len());
}
