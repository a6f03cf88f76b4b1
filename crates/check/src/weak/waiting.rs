//! Which threads wait for ever, found on states of the search.
//!
//! The definition is [`mod@graph::waiting`], which also judges the states that are found here: if all threads read the newest
//! writes only, no thread ever changes a value or comes to its end. The question is asked in every state of the search, so the
//! common case is tried first: a thread that goes on with its next access.
//!
//! *Partial order.* Let ρ be a run from a state s to one in which all wait, and P the persistent set at s. The proof in
//! `persistent` is about what a run finds on its way; here is what to add for a state that is found at the end. In its case 2, no
//! thread of P moves in ρ, and p is a move of a thread t of P that is not stale. At the end t is where it was, and nobody has written
//! what it accesses, so it may make the same move there. As all wait there, that move changes no value, and all
//! wait in the state that it leads to, too: what every one of them does from there was among what it could do before. That is
//! the state to which p·ρ leads.

use super::pack::World;
use super::system::System;
use ir::run_local::{Rest, Stop, run_local};
use ir::thread::{destination, next_action};
use ir::{Expr, Instr, Notes, Pc, Tid, Value};
use memory::rc11::OnNewest;
use std::collections::HashSet;

/// How many local states of one thread are looked at.
const MOST_STATES: usize = 10_000;

/// A thread has more local states than are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooMuch;

/// What becomes of a thread if no location changes any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It changes a location, ends, or is stopped.
    GoesOn,
    /// It waits or spins for ever.
    Waits,
}

impl System {
    /// The threads that wait for ever in a state, and where they are; none if somebody goes on or was stopped.
    pub(super) fn waiting(&self, world: &World) -> Result<Option<Vec<(Tid, Pc)>>, TooMuch> {
        let mut waiting = Vec::new();
        for tid in self.program.tids() {
            let pc = world.pcs[tid.index()];
            if self.program.step(tid, pc).instr == Instr::Halt {
                continue;
            }
            match self.fate(world, tid)? {
                Fate::GoesOn => return Ok(None),
                Fate::Waits if self.program.is_unstarted(tid, pc) => {}
                Fate::Waits => waiting.push((tid, pc)),
            }
        }
        Ok(Some(waiting))
    }

    fn fate(&self, world: &World, tid: Tid) -> Result<Fate, TooMuch> {
        let (thread, domain) = (&self.program.threads[tid.index()], self.program.domain);
        let mut seen: HashSet<(Pc, Vec<Value>)> = HashSet::new();
        let mut open = vec![(world.pcs[tid.index()], self.regs(world, tid).to_vec())];
        while let Some((mut pc, mut regs)) = open.pop() {
            let rest = run_local(thread, domain, &mut pc, &mut regs, &mut ());
            if !seen.insert((pc, regs.clone())) {
                continue;
            }
            if seen.len() > MOST_STATES {
                return Err(TooMuch);
            }
            let step = &thread.code[pc.index()];
            match rest {
                Rest::Stop(Stop::Forever) => {}
                Rest::Stop(Stop::Assumption) if step.instr == Instr::Assume(Expr::Const(0)) => {}
                Rest::Stop(Stop::Patience) => return Err(TooMuch),
                Rest::Stop(_) => return Ok(Fate::GoesOn),
                Rest::Choice(targets) => {
                    open.extend(targets.iter().map(|&target| (target, regs.clone())));
                }
                Rest::Call(_) => open.push((step.next, regs)),
                Rest::Access => {
                    let action = next_action(&step.instr, &regs, domain, &mut Notes::default());
                    let Ok(action) = action else { return Ok(Fate::GoesOn) };
                    match self.machine.on_newest(&world.views, &action) {
                        OnNewest::Waits => {}
                        OnNewest::Fails | OnNewest::Changes => return Ok(Fate::GoesOn),
                        OnNewest::Reads(read) => {
                            if let (Some(dst), Some(value)) = (destination(&step.instr), read) {
                                regs[dst.index()] = value;
                            }
                            open.push((step.next, regs));
                        }
                    }
                }
            }
        }
        Ok(Fate::Waits)
    }
}
