//! Every walk, one by one: for the rare start where the search leaves a doubt.
//!
//! The search keeps only the earliest exit of a transaction. When a cycle visits one thread both by a
//! write and by reads that its buffer may serve, a later exit can be the one that works. Here every
//! entry and every exit is tried within the time that the search has found relevant, as long as the
//! walk so far can be realized, and no thread is visited more often than a shortest cycle would.

use std::collections::HashMap;

use budget::{Budget, Spent, Ticker};

use crate::execution::Question;
use crate::trace::index::{Index, Op, Pos};
use crate::trace::realize::{Visit, possible};

struct Walks<'a> {
    index: &'a Index,
    question: Question,
    start: Visit,
    /// No exit is left before this time, and there is no way back from this time on.
    window: (Pos, Pos),
    walk: Vec<Visit>,
    visits: HashMap<u32, usize>,
    ticker: Ticker,
    spent: Option<Spent>,
    accept: &'a mut dyn FnMut(&[Visit]) -> bool,
}

/// A walk from the exit of `start` back to its entry that an execution realizes, and that only
/// leaves threads within the window, and that `accept` takes; an error if the budget is spent before one is found.
pub(crate) fn walk(
    index: &Index,
    question: Question,
    start: Visit,
    window: (Pos, Pos),
    budget: Budget,
    accept: &mut dyn FnMut(&[Visit]) -> bool,
) -> Result<Option<Vec<Visit>>, Spent> {
    let visits = HashMap::from([(start.thread, 1)]);
    let (ticker, walk) = (budget.ticker(), vec![start]);
    let spent = None;
    let mut walks = Walks { index, question, start, window, walk, visits, ticker, spent, accept };
    let found = walks.extend();
    match walks.spent {
        Some(spent) => Err(spent),
        None => Ok(found.then_some(walks.walk)),
    }
}

impl Walks<'_> {
    fn closed(&mut self) -> bool {
        let (Some(&last), true) = (self.walk.last(), self.walk.len() > 1) else { return false };
        let leave = &self.index.lanes[last.thread as usize].accesses[last.leave as usize];
        let enter =
            &self.index.lanes[self.start.thread as usize].accesses[self.start.enter as usize];
        let meets = last.thread != self.start.thread && leave.var == enter.var;
        meets && (leave.op, enter.op) != (Op::Read, Op::Read) && {
            let mut closed = self.walk.clone();
            closed.push(self.start);
            possible(self.index, &closed) && (self.accept)(&self.walk)
        }
    }

    fn extend(&mut self) -> bool {
        self.spent = self.ticker.tick();
        if self.spent.is_some() {
            return false;
        }
        if self.closed() {
            return true;
        }
        let Some(&last) = self.walk.last() else { return false };
        let leave = self.index.lanes[last.thread as usize].accesses[last.leave as usize];
        let vars = self.index.most_vars().max(1);
        let most = if self.question.keeps_program_order() { 1 } else { vars };
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
                let list = self.index.list(thread, op, leave.var);
                // Latest times grow along a list, and so do the beginnings of units.
                let late = |at: &u32| lane.accesses[*at as usize].latest <= leave.earliest;
                for &enter in &list[list.partition_point(late)..] {
                    let first = lane.unit_of(enter).start as usize;
                    if lane.accesses[first].pos >= self.window.1 {
                        break;
                    }
                    if self.pass(thread, enter) {
                        return true;
                    }
                    if self.spent.is_some() {
                        return false;
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
        for slot in 0..lane.vars.len() as u32 {
            for op in [Op::Read, Op::Write] {
                let Some(first) = lane.exit(unit, op, slot) else { continue };
                let list = lane.list_at(op, slot);
                for &leave in &list[list.partition_point(|&leave| leave < first)..] {
                    let exit = &lane.accesses[leave as usize];
                    if exit.earliest >= self.window.1 {
                        break;
                    }
                    // One that is tied is left after it is entered.
                    if exit.earliest < self.window.0 && !lane.accesses[enter as usize].ties(exit) {
                        continue;
                    }
                    self.walk.push(Visit { thread, enter, leave });
                    if possible(self.index, &self.walk) && self.extend() {
                        return true;
                    }
                    self.walk.pop();
                    if self.spent.is_some() {
                        return false;
                    }
                }
            }
        }
        false
    }
}
