//! Local steps, made at once.
//!
//! Nobody notices a thread's assignments and jumps, so after each access a thread runs on until it
//! wants memory again. A choice on the way gives several places to end up; those where an assumption
//! fails are dropped if any other is left, since waiting there is no better than not moving at all.

use ir::expr::Notes;
use ir::{Domain, Fault, Instr, Pc, Thread, Value};
use smallvec::SmallVec;

/// After this many local steps a thread rests where it is; it goes on from there in a later step.
const PATIENCE: usize = 256;

/// A thread's registers.
pub type Regs = SmallVec<[Value; 8]>;

/// Where a thread ends up.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The place; the length of the code if the thread is done.
    pub pc: u32,
    /// The registers.
    pub regs: Regs,
    /// The local steps made.
    pub path: SmallVec<[Pc; 8]>,
}

/// Is this a step that a thread makes at once?
#[inline(always)]
pub fn is_local(instr: &Instr, attacking: bool) -> bool {
    match instr {
        Instr::Assign { .. }
        | Instr::Jump { .. }
        | Instr::Skip
        | Instr::Assert(_)
        | Instr::Assume(_)
        | Instr::Halt => true,
        // Without delayed stores, buffers are empty and fences are nothing.
        Instr::Fence(_) | Instr::LightFence(_) => !attacking,
        _ => false,
    }
}

/// Makes local steps from `from` on and adds where they lead to `out`. While `attacking`, fences are
/// no local steps, a thread must not come to a place that `blocked` says it cannot pass, and a thread
/// that is done is of no use.
#[allow(clippy::too_many_arguments)]
pub fn settle(
    thread: &Thread,
    domain: Domain,
    from: Rest,
    attacking: bool,
    blocked: impl Fn(Pc) -> bool,
    out: &mut Vec<Rest>,
    work: &mut Vec<Rest>,
    mut fault: impl FnMut(Pc, Fault),
) {
    let done = thread.code.len() as u32;
    let mut notes = Notes::default();
    let mut dead: Option<Rest> = None;
    let mut chosen: SmallVec<[(u32, Regs); 2]> = SmallVec::new();
    work.clear();
    work.push(from);
    while let Some(mut at) = work.pop() {
        loop {
            let pc = Pc(at.pc);
            if at.pc == done {
                keep(out, at);
                break;
            }
            if attacking && blocked(pc) {
                break;
            }
            let step = &thread.code[pc.index()];
            if !is_local(&step.instr, attacking) || at.path.len() >= PATIENCE {
                keep(out, at);
                break;
            }
            let mut stop = |at: Rest, error: Option<Fault>| {
                if let Some(error) = error {
                    fault(pc, error);
                }
                dead.get_or_insert(at);
            };
            match &step.instr {
                Instr::Assign { dst, value } => match value.eval(&at.regs, domain, &mut notes) {
                    Ok(value) => at.regs[dst.index()] = value,
                    Err(error) => {
                        stop(at, Some(error));
                        break;
                    }
                },
                Instr::Jump { cond, targets } => match cond.eval(&at.regs, domain, &mut notes) {
                    Ok(0) => {}
                    Ok(_) => {
                        let Some((first, rest)) = targets.split_first() else {
                            stop(at, None);
                            break;
                        };
                        if !rest.is_empty() {
                            // Choices in a loop lead back to where they were made.
                            let here = (at.pc, at.regs.clone());
                            if chosen.contains(&here) {
                                stop(at, None);
                                break;
                            }
                            chosen.push(here);
                        }
                        at.path.push(pc);
                        for other in rest {
                            work.push(Rest { pc: other.0, ..at.clone() });
                        }
                        at.pc = first.0;
                        continue;
                    }
                    Err(error) => {
                        stop(at, Some(error));
                        break;
                    }
                },
                Instr::Assert(cond) | Instr::Assume(cond) => {
                    match cond.eval(&at.regs, domain, &mut notes) {
                        Ok(0) => {
                            stop(at, None);
                            break;
                        }
                        Ok(_) => {}
                        Err(error) => {
                            stop(at, Some(error));
                            break;
                        }
                    }
                }
                Instr::Halt => {
                    at.pc = done;
                    continue;
                }
                _ => {}
            }
            at.path.push(pc);
            at.pc = step.next.0;
        }
    }
    if attacking {
        out.retain(|rest| rest.pc != done);
    } else if out.is_empty()
        && let Some(mut rest) = dead
    {
        rest.pc = done;
        out.push(rest);
    }
}

fn keep(out: &mut Vec<Rest>, rest: Rest) {
    if !out.iter().any(|other| other.pc == rest.pc && other.regs == rest.regs) {
        out.push(rest);
    }
}
