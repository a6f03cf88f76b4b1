//! Waiting for ever, by definition.
//!
//! A thread that spins until another writes something has infinitely many executions in which it goes round, and no
//! axiom forbids that it does so for ever. What a programmer relies on is *fairness*: a thread that may run does run,
//! and sooner or later sees the newest write of each location. So threads *wait for ever* in a state if some thread has not
//! come to its end, and, with all threads reading the newest writes only, no thread ever again
//!
//! * writes another value than the location has,
//! * or comes to its end.
//!
//! As values do not change, each thread can be followed alone: through all
//! choices it has, until no new state of it comes up. A lock that is taken by exchanging 1 for 1 thus waits as one that
//! is only looked at. Loops that change a location and change it back are not taken for waiting.
//!
//! A choice is made for good: who has chosen to wait for what never comes waits for ever. But a choice among steps that each
//! wait for values of one location is a way to write that one of several values is waited for, as a lock does that may be
//! shared; runs make it together with the step, and a thread that has not taken the step has not chosen.
//!
//! States in which a thread was stopped by an assumption, a failed assertion or a run-time error are not asked about:
//! what others wait for may be what it would have done. But `assume(0)`, which no run passes, is a place to wait for
//! ever: so code is read that goes round without looking at memory. A thread that was never started waits for
//! nothing.

use super::event::EventId;
use super::run::{Next, Status, ThreadState};
use ir::{Expr, Instr, Loc, Pc, Program, Tid, Value};
use std::collections::HashSet;

/// How many states of one thread are looked at.
const MOST_STATES: usize = 300_000;

/// A thread has more states than are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyStates;

/// The threads that wait for ever in a state; `None` if one goes on, or was stopped. `newest` is the value of the
/// newest write to each location.
pub fn waiting(
    program: &Program,
    threads: &[ThreadState],
    newest: &dyn Fn(Loc) -> Value,
) -> Result<Option<Vec<Tid>>, TooManyStates> {
    let mut waiting = Vec::new();
    for (tid, thread) in program.tids().zip(threads) {
        match thread.status {
            Status::Halted => {}
            Status::Running | Status::Blocked | Status::Cut => {
                let mut running = thread.clone();
                running.status = Status::Running;
                if !waits(program, tid, running, newest)? {
                    return Ok(None);
                }
                if !program.is_unstarted(tid, thread.pc) {
                    waiting.push(tid);
                }
            }
            Status::Ended if never_passed(program, tid, thread.pc) => waiting.push(tid),
            Status::Ended | Status::Failed | Status::Faulted(_) => return Ok(None),
        }
    }
    Ok(Some(waiting))
}

fn never_passed(program: &Program, tid: Tid, pc: Pc) -> bool {
    program.step(tid, pc).instr == Instr::Assume(Expr::Const(0))
}

fn waits(
    program: &Program,
    tid: Tid,
    from: ThreadState,
    newest: &dyn Fn(Loc) -> Value,
) -> Result<bool, TooManyStates> {
    let mut seen = HashSet::new();
    let mut open = vec![from];
    while let Some(state) = open.pop() {
        if state.status != Status::Running {
            return Ok(false);
        }
        if !seen.insert((state.pc, state.phase, state.registers.clone())) {
            continue;
        }
        if seen.len() > MOST_STATES {
            return Err(TooManyStates);
        }
        match state.next(program, tid) {
            _ if never_passed(program, tid, state.pc) => {}
            Next::Nothing => return Ok(false),
            Next::Silent | Next::Local(_) => open.extend(state.after_local(program, tid)),
            Next::Access(access) => {
                let value = newest(access.loc);
                let Some(label) = access.label(value) else { continue };
                if label.value_written().is_some_and(|written| written != value) {
                    return Ok(false);
                }
                open.extend(state.after_access(program, tid, value, EventId(0)));
            }
        }
    }
    Ok(true)
}
