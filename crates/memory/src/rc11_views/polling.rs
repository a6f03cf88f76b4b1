//! Busy waits: loops that only read.
//!
//! A round of a loop of loads of atomic locations changes nothing but the knowledge of its thread. No other thread notices the loads, and
//! more knowledge only restricts what the thread may do (`simulation`), so a run in which the thread stays at the head of the
//! loop can do all that a run with the round can. The way back is left out, and a busy wait costs no more than a `wait`.
//!
//! The way back of a natural loop ([`natural_loops`]) is such a way back if all its steps are loads or waits of atomic locations, or
//! local; none of them assigns a register that is live at the head; and every path through the loop has a load or a wait. A load of a
//! non-atomic location is noticed by others: it races with a write, also with one that comes later. A round without a load is no busy
//! wait: the thread has done something before, perhaps a write, and now runs for ever (`Status::Spinning`).

use analysis::cycles::{NaturalLoop, natural_loops};
use analysis::liveness::live_registers;
use ir::ids::{Loc, Pc, RegSet};
use ir::program::{Instr, LocationKind, Place, Program, Thread};

/// The ways back that need not be taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Polling {
    back: Vec<(Pc, Pc)>,
}

impl Polling {
    pub(super) fn of(program: &Program, thread: &Thread) -> Self {
        let live = live_registers(thread);
        let is_polling = |cycle: &NaturalLoop| {
            only_reads(program, thread, cycle, live[cycle.head.index()])
                && always_reads(thread, cycle)
        };
        let loops = natural_loops(thread).into_iter().filter(is_polling);
        Polling { back: loops.map(|cycle| (cycle.last, cycle.head)).collect() }
    }

    /// Is the step from one place to the other a way back?
    #[inline(always)]
    pub(super) fn is_back(&self, from: Pc, to: Pc) -> bool {
        self.back.contains(&(from, to))
    }
}

/// The place that a step reads, if it does nothing else.
fn read(instr: &Instr) -> Option<&Place> {
    match instr {
        Instr::Load { place, .. } | Instr::Wait { place, .. } => Some(place),
        _ => None,
    }
}

/// Does a loop change nothing but registers that are not `live`?
fn only_reads(program: &Program, thread: &Thread, cycle: &NaturalLoop, live: RegSet) -> bool {
    let is_atomic = |place: &Place| {
        let kind = |loc: Loc| program.locations[loc.index()].kind;
        place.locations().all(|loc| kind(loc) != LocationKind::NonAtomic)
    };
    cycle.steps.iter().all(|pc| {
        let instr = &thread.code[pc.index()].instr;
        let reads = read(instr).is_some_and(is_atomic);
        let assigns_live = instr.output().is_some_and(|reg| live.contains(reg));
        (reads || instr.is_local() && !matches!(instr, Instr::Halt)) && !assigns_live
    })
}

/// Is there a read on every path through a loop?
fn always_reads(thread: &Thread, cycle: &NaturalLoop) -> bool {
    let mut without = vec![false; thread.code.len()];
    let mut open = vec![cycle.head];
    while let Some(pc) = open.pop() {
        let step = &thread.code[pc.index()];
        let inside = cycle.steps.binary_search(&pc).is_ok();
        if inside
            && read(&step.instr).is_none()
            && !std::mem::replace(&mut without[pc.index()], true)
        {
            open.extend(step.successors());
        }
    }
    !without[cycle.last.index()]
}
