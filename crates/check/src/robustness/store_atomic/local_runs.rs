//! Local steps of an attack search, taken at once.
//!
//! Other threads do not notice a thread's assignments and jumps, so after each access a thread runs on
//! until it wants memory again. A choice on the way gives several places to end up; those where an assumption
//! fails are dropped if any other is left, since waiting there is no better than not moving at all.

use ir::expr::Notes;
use ir::run_local::{self, Stop, Took, local_step};
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
        // Without delayed stores, buffers are empty and fences are nothing.
        Instr::Fence(_) | Instr::LightFence(_) => !attacking,
        other => other.is_local(),
    }
}

/// Makes local steps from `from` on and adds where they lead to `out`. While `attacking`, fences are
/// no local steps, a thread must not come to a place that `blocked` says it cannot pass, and a thread
/// that is done is of no use.
#[allow(clippy::too_many_arguments)]
pub fn local_runs(
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
    let mut open = Some(from);
    while let Some(mut at) = open {
        loop {
            let pc = Pc(at.pc);
            if at.pc == done {
                keep(out, at);
                break;
            }
            if attacking && blocked(pc) {
                break;
            }
            if at.path.len() >= PATIENCE {
                keep(out, at);
                break;
            }
            let mut next = pc;
            match local_step(thread, domain, &mut next, &mut at.regs, &mut notes) {
                Took::On => {}
                Took::Rests(run_local::Rest::Stop(Stop::Done)) => {
                    at.pc = done;
                    continue;
                }
                Took::Rests(run_local::Rest::Choice(targets)) => {
                    // Choices in a loop lead back to where they were made.
                    let here = (at.pc, at.regs.clone());
                    let Some((first, others)) =
                        targets.split_first().filter(|_| !chosen.contains(&here))
                    else {
                        dead.get_or_insert(at);
                        break;
                    };
                    chosen.push(here);
                    at.path.push(pc);
                    for other in others {
                        work.push(Rest { pc: other.0, ..at.clone() });
                    }
                    at.pc = first.0;
                    continue;
                }
                Took::Rests(run_local::Rest::Stop(stop)) => {
                    if let Stop::Fault(error) = stop {
                        fault(pc, error);
                    }
                    dead.get_or_insert(at);
                    break;
                }
                Took::Rests(run_local::Rest::Access | run_local::Rest::Call(_)) => {
                    let step = &thread.code[pc.index()];
                    if !is_local(&step.instr, attacking) {
                        keep(out, at);
                        break;
                    }
                    next = step.next;
                }
            }
            at.path.push(pc);
            at.pc = next.0;
        }
        open = work.pop();
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
