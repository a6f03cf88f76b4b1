//! Accesses and units of a trace, event by event: windows of commits end at fences, and reads know the write
//! that may serve them.

use super::{Lane, NEVER, Op, Pos, Timed, Unit};
use crate::event::{Action, Event};
use crate::execution::Question;
use crate::hash::Map;

/// What is being collected about a thread's open unit.
#[derive(Default)]
struct Opening {
    transaction: bool,
    start: u32,
    last: Pos,
    strong: bool,
    writes: bool,
    fences: bool,
}

pub(super) struct Builder {
    question: Question,
    pub(super) lanes: Vec<Lane>,
    /// Per thread, the number of each of its variables.
    slots: Vec<Map<u32, u32>>,
    opening: Vec<Opening>,
    /// Per thread and variable, the last write; stale if the thread has fenced since.
    serving: Vec<Map<u32, Pos>>,
    /// Per thread, the first access since the last fence.
    unfenced: Vec<u32>,
    /// Per thread, the writes since the last fence.
    waiting: Vec<u32>,
    /// Whether every transaction so far has left its thread's buffer empty.
    pub(super) fenced: bool,
}

impl Builder {
    pub(super) fn run(question: Question, trace: &[Event]) -> Self {
        let threads = trace.iter().map(|event| event.thread.0 + 1).max().unwrap_or(0) as usize;
        let mut builder = Builder {
            question,
            lanes: (0..threads).map(|_| Lane::default()).collect(),
            slots: vec![Map::default(); threads],
            opening: (0..threads).map(|_| Opening::default()).collect(),
            serving: vec![Map::default(); threads],
            unfenced: vec![0; threads],
            waiting: vec![0; threads],
            fenced: true,
        };
        for (pos, event) in trace.iter().enumerate() {
            builder.step(pos as Pos, event);
        }
        // What is still open ends here.
        for thread in 0..threads {
            if !builder.opening[thread].transaction {
                continue;
            }
            if question.of_transactions() {
                builder.close(thread);
            }
            builder.check_fenced(thread);
        }
        builder
    }

    fn step(&mut self, pos: Pos, event: &Event) {
        let thread = event.thread.0 as usize;
        match event.action {
            Action::Begin(_) => {
                self.opening[thread].transaction = true;
                if self.question.of_transactions() {
                    self.open(thread);
                }
            }
            Action::End | Action::Abort => {
                self.opening[thread].transaction = false;
                if self.question.of_transactions() {
                    self.close(thread);
                }
                self.check_fenced(thread);
            }
            Action::Read(x) => self.access(thread, pos, Op::Read, x.0),
            Action::Write(x) => self.access(thread, pos, Op::Write, x.0),
            Action::Rmw(x) => self.fence(thread, pos, Some(x.0)),
            Action::Fence | Action::Lock(_) => self.fence(thread, pos, None),
            Action::Commit(_) | Action::Unlock(_) => {}
        }
    }

    fn stands_alone(&self, thread: usize) -> bool {
        !self.question.of_transactions() || !self.opening[thread].transaction
    }

    fn open(&mut self, thread: usize) {
        let transaction = self.opening[thread].transaction;
        let start = self.lanes[thread].accesses.len() as u32;
        self.opening[thread] = Opening { transaction, start, ..Opening::default() };
    }

    fn close(&mut self, thread: usize) {
        let Opening { start, last, strong, writes, fences, .. } = self.opening[thread];
        let strong = strong || self.question.keeps_program_order();
        let lane = &mut self.lanes[thread];
        let end = lane.accesses.len() as u32;
        lane.units.push(Unit { start, end, last, strong, row: NEVER, writes, fences });
    }

    /// The number of a variable among those of the thread.
    fn slot(&mut self, thread: usize, var: u32) -> u32 {
        let vars = &mut self.lanes[thread].vars;
        *self.slots[thread].entry(var).or_insert_with(|| {
            vars.push(var);
            vars.len() as u32 - 1
        })
    }

    /// A transaction has ended: has it left writes in the buffer?
    fn check_fenced(&mut self, thread: usize) {
        self.fenced &= self.waiting[thread] == 0;
    }

    fn access(&mut self, thread: usize, pos: Pos, op: Op, var: u32) {
        let alone = self.stands_alone(thread);
        if alone {
            self.open(thread);
        }
        let slot = self.slot(thread, var);
        let lane = &mut self.lanes[thread];
        let last_fence = lane.fences.last().copied();
        let mut bound_by = NEVER;
        let latest = match op {
            Op::Write => {
                bound_by = pos;
                self.serving[thread].insert(var, pos);
                self.waiting[thread] += 1;
                NEVER
            }
            Op::Read => {
                if let Some(&serving) = self.serving[thread].get(&var)
                    && last_fence.is_none_or(|fence| serving > fence)
                {
                    bound_by = serving;
                }
                pos
            }
        };
        let (earliest, fixed, unit) = (pos, false, lane.units.len() as u32);
        lane.accesses.push(Timed { op, var, slot, pos, earliest, latest, fixed, bound_by, unit });
        self.opening[thread].last = pos;
        self.opening[thread].writes |= op == Op::Write;
        self.opening[thread].strong |= bound_by == NEVER;
        self.close_alone(thread, alone);
    }

    fn close_alone(&mut self, thread: usize, alone: bool) {
        if alone {
            self.close(thread);
            if !self.opening[thread].transaction {
                self.check_fenced(thread);
            }
        }
    }

    /// A fence; with a variable, a read-modify-write.
    fn fence(&mut self, thread: usize, pos: Pos, var: Option<u32>) {
        let alone = self.stands_alone(thread);
        if alone {
            self.open(thread);
        }
        let opening = &mut self.opening[thread];
        opening.strong = true;
        opening.fences = true;
        opening.writes |= var.is_some();
        opening.last = pos;
        let lane = &mut self.lanes[thread];
        lane.fences.push(pos);
        for access in &mut lane.accesses[self.unfenced[thread] as usize..] {
            if access.op == Op::Write {
                access.latest = pos;
            }
        }
        if let Some(var) = var {
            let slot = self.slot(thread, var);
            let lane = &mut self.lanes[thread];
            let (op, fixed, unit) = (Op::Write, true, lane.units.len() as u32);
            let (earliest, latest, bound_by) = (pos, pos, NEVER);
            lane.accesses.push(Timed {
                op,
                var,
                slot,
                pos,
                earliest,
                latest,
                fixed,
                bound_by,
                unit,
            });
        }
        self.unfenced[thread] = self.lanes[thread].accesses.len() as u32;
        self.waiting[thread] = 0;
        self.close_alone(thread, alone);
    }
}
