//! Busy waits: loops that only read.
//!
//! A round of a loop of loads of atomic locations changes nothing but the knowledge of its thread. No other thread notices the loads, and
//! more knowledge only restricts what the thread may do (`simulation`), so a run in which the thread stays at the head of the
//! loop can do all that a run with the round can. The way back is left out, and a busy wait costs no more than a `wait`.
//!
//! The edge from step `j` back to `h` is such a way back if every path to `j` leads through `h`, all
//! steps on paths from `h` to `j` are loads or waits of atomic locations, or local, and none of them assigns a register that
//! is live at `h`. A load of a non-atomic location is noticed by others: it races with a write, also with one that comes later.

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
        let is_atomic = |place: &Place| {
            let kind = |loc: Loc| program.locations[loc.index()].kind;
            place.locations().all(|loc| kind(loc) != LocationKind::NonAtomic)
        };
        let live = live_registers(thread);
        let mut back = Vec::new();
        for (j, step) in thread.code.iter().enumerate() {
            for h in step.successors().map(Pc::index) {
                let cycle = Loop::new(thread, h, j);
                if cycle.is_some_and(|cycle| cycle.only_reads(thread, live[h], is_atomic)) {
                    back.push((Pc::from(j), Pc::from(h)));
                }
            }
        }
        Polling { back }
    }

    /// Is the step from one place to the other a way back?
    #[inline(always)]
    pub(super) fn is_back(&self, from: Pc, to: Pc) -> bool {
        self.back.contains(&(from, to))
    }
}

/// The steps on paths from a loop's head to the step that leads back.
struct Loop {
    steps: Vec<usize>,
}

impl Loop {
    /// `None` if the loop can be entered elsewhere, or is none.
    fn new(thread: &Thread, head: usize, last: usize) -> Option<Loop> {
        let entered_elsewhere =
            head != thread.entry.index() && reaches(thread, thread.entry.index(), head)[last];
        let inside = reaches(thread, head, usize::MAX);
        if entered_elsewhere || !inside[last] {
            return None;
        }
        // Forward from the head without coming back to it, and on to the last step likewise.
        let mut forward = vec![false; thread.code.len()];
        for next in thread.code[head].successors().map(Pc::index).filter(|&next| next != head) {
            for (pc, reached) in reaches(thread, next, head).into_iter().enumerate() {
                forward[pc] |= reached;
            }
        }
        forward[head] = true;
        let on_the_way = |pc: &usize| {
            forward[*pc] && (*pc == last || *pc == head || reaches(thread, *pc, head)[last])
        };
        Some(Loop { steps: (0..thread.code.len()).filter(on_the_way).collect() })
    }

    fn only_reads(
        &self,
        thread: &Thread,
        live: RegSet,
        is_atomic: impl Fn(&Place) -> bool,
    ) -> bool {
        self.steps.iter().all(|&pc| {
            let instr = &thread.code[pc].instr;
            let reads = match instr {
                Instr::Load { place, .. } | Instr::Wait { place, .. } => is_atomic(place),
                _ => false,
            };
            let assigns_live = instr.output().is_some_and(|reg| live.contains(reg));
            (reads || instr.is_local() && !matches!(instr, Instr::Halt)) && !assigns_live
        })
    }
}

/// What can be reached from `start`, itself included, without going through `wall`.
fn reaches(thread: &Thread, start: usize, wall: usize) -> Vec<bool> {
    let mut seen = vec![false; thread.code.len()];
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        if at != wall && !std::mem::replace(&mut seen[at], true) {
            open.extend(thread.code[at].successors().map(Pc::index));
        }
    }
    seen
}
