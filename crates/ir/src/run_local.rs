//! The one executor of local steps: what a thread does between two things that others could notice.
//!
//! A thread's assignments, jumps, assertions and assumptions concern its registers and program counter
//! alone. [`local_step`] takes one of them. [`run_local`] takes them until the thread *rests*: before an
//! instruction that the memory takes part in, before a choice, before a call or return of a library
//! method, or for good. Memories and analyses differ in where they let a thread stop on the way, and
//! say so by a [`Watch`]; what a local step means is said here and nowhere else, except in the judge
//! (crate `graph`), which must not share a mistake with what it judges.

use crate::expr::{Domain, Fault, Notes};
use crate::ids::{Pc, Value};
use crate::program::{Instr, Mark, Thread, case};

/// How many local steps a thread may take in a row, unless it comes back to where it was.
const PATIENCE: usize = 1 << 18;

/// What one local step came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Took<'c> {
    /// The step was taken.
    On,
    /// The thread is at something else than a local step, or at one that it cannot pass.
    Rests(Rest<'c>),
}

/// Why a thread takes no local step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest<'c> {
    /// The memory takes part in the next step: an access, a fence, a bus lock, a transaction's edge.
    Access,
    /// The next step is a choice between these places.
    Choice(&'c [Pc]),
    /// A method is called, or returns.
    Call(&'c Mark),
    /// The thread goes no further.
    Stop(Stop),
}

/// Why a thread goes no further.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// It is done.
    Done,
    /// An assumption did not hold; it ends silently.
    Assumption,
    /// An assertion failed.
    Assertion,
    /// A run-time error.
    Fault(Fault),
    /// It loops without coming to anything that others could notice, forever.
    Forever,
    /// It takes so many local steps that no search waits to see where they lead.
    Patience,
    /// The [`Watch`] let it go no further.
    Watched,
}

/// What is told of the steps that a thread takes, and may stop it.
pub trait Watch {
    /// The thread is about to take the local step at this place. May it?
    #[inline(always)]
    fn may_take(&mut self, at: Pc) -> bool {
        let _ = at;
        true
    }

    /// The thread took a local step from one place to another. May it go on?
    #[inline(always)]
    fn took(&mut self, from: Pc, to: Pc, notes: Notes) -> bool {
        let _ = (from, to, notes);
        true
    }
}

/// Watches nothing.
impl Watch for () {}

/// Takes one local step of a thread at `pc` with these registers.
#[inline(always)]
pub fn local_step<'c>(
    thread: &'c Thread,
    domain: Domain,
    pc: &mut Pc,
    regs: &mut [Value],
    notes: &mut Notes,
) -> Took<'c> {
    let step = &thread.code[pc.index()];
    let mut next = step.next;
    match &step.instr {
        Instr::Skip => {}
        Instr::Assign { dst, value } => match value.eval(regs, domain, notes) {
            Ok(value) => regs[dst.index()] = value,
            Err(fault) => return Took::Rests(Rest::Stop(Stop::Fault(fault))),
        },
        Instr::Jump { cond, targets } => match (cond.eval(regs, domain, notes), &targets[..]) {
            (Ok(0), _) => {}
            (Ok(_), [target]) => next = *target,
            (Ok(_), targets) => return Took::Rests(Rest::Choice(targets)),
            (Err(fault), _) => return Took::Rests(Rest::Stop(Stop::Fault(fault))),
        },
        Instr::Switch { value, cases } => match value.eval(regs, domain, notes) {
            Ok(value) => next = case(cases, value).unwrap_or(next),
            Err(fault) => return Took::Rests(Rest::Stop(Stop::Fault(fault))),
        },
        Instr::Assert(cond) => match cond.eval(regs, domain, notes) {
            Ok(0) => return Took::Rests(Rest::Stop(Stop::Assertion)),
            Ok(_) => {}
            Err(fault) => return Took::Rests(Rest::Stop(Stop::Fault(fault))),
        },
        Instr::Assume(cond) => match cond.eval(regs, domain, notes) {
            Ok(0) => return Took::Rests(Rest::Stop(Stop::Assumption)),
            Ok(_) => {}
            Err(fault) => return Took::Rests(Rest::Stop(Stop::Fault(fault))),
        },
        Instr::Halt => return Took::Rests(Rest::Stop(Stop::Done)),
        Instr::Mark(mark) => return Took::Rests(Rest::Call(mark)),
        _ => return Took::Rests(Rest::Access),
    }
    *pc = next;
    Took::On
}

/// Lets a thread at `pc` with these registers run to where it rests.
#[inline]
pub fn run_local<'c>(
    thread: &'c Thread,
    domain: Domain,
    pc: &mut Pc,
    regs: &mut [Value],
    watch: &mut impl Watch,
) -> Rest<'c> {
    // Where it was after 64, 128, 256, … steps: it comes back to one of these if it comes back at all.
    let mut milestone: Option<(Pc, Box<[Value]>)> = None;
    for taken in 0..PATIENCE {
        if taken >= 64 && taken.is_power_of_two() {
            milestone = Some((*pc, Box::from(&*regs)));
        } else if milestone.as_ref().is_some_and(|(at, with)| at == pc && **with == *regs) {
            return Rest::Stop(Stop::Forever);
        }
        let from = *pc;
        if !watch.may_take(from) {
            return Rest::Stop(Stop::Watched);
        }
        let mut notes = Notes::default();
        match local_step(thread, domain, pc, regs, &mut notes) {
            Took::On => {
                if !watch.took(from, *pc, notes) {
                    return Rest::Stop(Stop::Watched);
                }
            }
            Took::Rests(rest) => return rest,
        }
    }
    Rest::Stop(Stop::Patience)
}
