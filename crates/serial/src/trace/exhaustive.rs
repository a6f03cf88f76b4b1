//! Every walk, one by one: for the rare start where the search leaves a doubt.
//!
//! The search keeps only the earliest exit of a transaction. When a cycle visits one thread both by a
//! write and by reads that its buffer may serve, a later exit can be the one that works. Here every
//! entry and every exit is tried, as long as the walk so far can be realized, and no thread is
//! visited more often than a shortest cycle would.

use std::collections::HashMap;

use crate::execution::Question;
use crate::trace::index::{Index, Op};
use crate::trace::realize::{Visit, possible};

struct Walks<'a> {
    index: &'a Index,
    question: Question,
    start: Visit,
    walk: Vec<Visit>,
    visits: HashMap<u32, usize>,
}

/// A walk from the exit of `start` back to its entry that an execution realizes.
pub(crate) fn walk(index: &Index, question: Question, start: Visit) -> Option<Vec<Visit>> {
    let visits = HashMap::from([(start.thread, 1)]);
    let mut walks = Walks { index, question, start, walk: vec![start], visits };
    walks.extend().then_some(walks.walk)
}

impl Walks<'_> {
    fn closed(&self) -> bool {
        let (Some(&last), true) = (self.walk.last(), self.walk.len() > 1) else { return false };
        let leave = &self.index.lanes[last.thread as usize].accesses[last.leave as usize];
        let enter =
            &self.index.lanes[self.start.thread as usize].accesses[self.start.enter as usize];
        let meets = last.thread != self.start.thread && leave.var == enter.var;
        meets && (leave.op, enter.op) != (Op::Read, Op::Read) && {
            let mut closed = self.walk.clone();
            closed.push(self.start);
            possible(self.index, &closed)
        }
    }

    fn extend(&mut self) -> bool {
        if self.closed() {
            return true;
        }
        let Some(&last) = self.walk.last() else { return false };
        let leave = self.index.lanes[last.thread as usize].accesses[last.leave as usize];
        let most = if self.question.keeps_program_order() { 1 } else { self.index.vars.max(1) };
        for thread in (0..self.index.lanes.len() as u32).filter(|&t| t != last.thread) {
            if self.visits.get(&thread).is_some_and(|&visits| visits >= most) {
                continue;
            }
            *self.visits.entry(thread).or_default() += 1;
            let lane = &self.index.lanes[thread as usize];
            for op in [Op::Read, Op::Write] {
                if (op, leave.op) == (Op::Read, Op::Read) {
                    continue;
                }
                for &enter in lane.list(op, leave.var) {
                    if lane.accesses[enter as usize].latest > leave.pos && self.pass(thread, enter)
                    {
                        return true;
                    }
                }
            }
            self.visits.entry(thread).and_modify(|visits| *visits -= 1);
        }
        false
    }

    fn pass(&mut self, thread: u32, enter: u32) -> bool {
        let lane = &self.index.lanes[thread as usize];
        let unit = lane.unit_of(enter);
        for &var in &lane.vars {
            for op in [Op::Read, Op::Write] {
                let Some(first) = lane.exit(unit, op, var, self.index.vars) else { continue };
                for &leave in lane.list(op, var).iter().filter(|&&leave| leave >= first) {
                    self.walk.push(Visit { thread, enter, leave });
                    if possible(self.index, &self.walk) && self.extend() {
                        return true;
                    }
                    self.walk.pop();
                }
            }
        }
        false
    }
}
