//! The search for a cycle, as a search for the earliest time at which a place can be reached.
//!
//! A violating cycle passes through threads: it *enters* a thread at an access `a`, and *leaves* it at
//! an access `b` of the same transaction or of one that must come later; then `b` conflicts with the
//! next entry. Going from `b` to the next `a` needs a time for each with `b` first, so leaving early
//! and entering late is best. What a visit does to time is simple:
//!
//! * it can be entered at time `now` if `now` is before the latest time of `a`;
//! * if `a` is a write that commits no later than what `b` is bound by, they are *tied*: the visit
//!   is left at `now` or at `b`'s position, whichever is later;
//! * otherwise it is left at `b`'s position, even if that is before `now`. This is the step back in
//!   time that a serializable run does not allow, and every cycle has one.
//!
//! So from each visit that steps back we look for the earliest time at which every (thread, variable,
//! kind of access) can be left, until its own entry can be reached in time. (The furthest step back
//! of a cycle is start enough, so times before it need not be looked at.) Only the earliest exit per
//! variable and kind matters, which bounds the work per start by the number of threads and variables:
//! these exits are the *profiles* of Section 6.2.
//!
//! *When is such a walk a cycle?* Times of different threads are independent. Within a thread, a cycle
//! of least length has at most one visit that involves a write: transactions it passes in different
//! visits are unordered, and of unordered transactions of one thread only the first can write. With
//! [`Discipline::OneWritingVisit`] the search keeps the set of threads whose writing visit is used:
//! exponential in the number of threads, as it must be (Theorem 6). [`Discipline::Any`] does not, is
//! polynomial, and can only err by finding too much: what it does not find does not exist. Walks found
//! are judged by [`realize`](super::realize::realize).

mod best;
mod exits;
mod starts;

use std::collections::VecDeque;

use budget::{Budget, Spent, Ticker};

use crate::execution::Question;
use crate::trace::index::{Index, NEVER, Op, Pos, Share, Timed, label_of};
use crate::trace::realize::Visit;
use best::Best;
use exits::{Back, Exits};
pub(crate) use starts::Start;

/// How often a thread may be visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Discipline {
    /// As often as the search likes.
    Any,
    /// By one visit that involves a write, and by read-only ones. When program order is kept, once.
    OneWritingVisit,
}

/// Threads beyond this many are not counted in the set of threads used.
const COUNTED_THREADS: u32 = 64;

/// A place reached: a thread left at an access, at a time.
#[derive(Clone, Copy)]
struct Reached {
    thread: u32,
    op: Op,
    var: u32,
    /// The variable's number in the thread.
    slot: u32,
    /// Threads whose writing visit is used.
    used: u64,
    now: Pos,
    visit: Visit,
    /// Index of the place before, or `NEVER`.
    before: u32,
}

pub(crate) struct Search<'a> {
    index: &'a Index,
    question: Question,
    /// Where in each list the last answer was: the next is mostly close by.
    hints: Vec<Vec<u32>>,
    exits: Exits<'a>,
    /// Those of the unit where a search starts.
    first_exits: Vec<u32>,
    best: Best,
    arena: Vec<Reached>,
    queue: VecDeque<u32>,
    horizon: Vec<Pos>,
    /// Places looked at in all searches: the measure of work.
    pub work: u64,
    ticker: Ticker,
    /// What was used up in the middle of a search, if anything was: it then found nothing.
    pub spent: Option<Spent>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(index: &'a Index, question: Question, budget: Budget) -> Self {
        Search {
            index,
            question,
            hints: index.lanes.iter().map(|lane| vec![0; 2 * lane.vars.len()]).collect(),
            exits: Exits::new(index),
            first_exits: Vec::new(),
            best: Best::new(index),
            arena: Vec::new(),
            queue: VecDeque::new(),
            horizon: Vec::new(),
            work: 0,
            ticker: budget.ticker(),
            spent: None,
        }
    }

    fn access(&self, thread: u32, access: u32) -> &'a Timed {
        &self.index.lanes[thread as usize].accesses[access as usize]
    }

    /// The first access of this kind of `thread` that can happen after `now`. Latest times grow along
    /// a list.
    fn first_open(&mut self, thread: u32, op: Op, slot: u32, now: Pos) -> Option<u32> {
        let lane = &self.index.lanes[thread as usize];
        let list = lane.list_at(op, slot);
        let hint = &mut self.hints[thread as usize][label_of(op, slot)];
        let over = |at: usize| lane.accesses[list[at] as usize].latest <= now;
        *hint = seek(list.len(), *hint as usize, over) as u32;
        list.get(*hint as usize).copied()
    }

    /// Looks for a walk from the exit of `start` to its entry; the visits in order, `start` first.
    pub(crate) fn walk(&mut self, start: &Start, discipline: Discipline) -> Option<Vec<Visit>> {
        if !self.can_return(start.visit.thread, &start.enter, start.leave.earliest) {
            return None;
        }
        self.best.clear();
        self.arena.clear();
        self.queue.clear();
        self.set_horizon(start, discipline);
        let used = match discipline {
            Discipline::Any => 0,
            Discipline::OneWritingVisit => self.uses(start.visit),
        };
        self.offer(start.visit, start.leave.earliest, used, NEVER);
        while let Some(at) = self.queue.pop_front() {
            self.spent = self.ticker.tick();
            if self.spent.is_some() {
                return None;
            }
            let place = self.arena[at as usize];
            if self.best.get(&place) != Some(at) {
                continue;
            }
            if self.closes(&place, start) {
                return Some(self.path(at));
            }
            self.work += 1;
            let index = self.index;
            for &share in index.shares(place.var) {
                if share.thread != place.thread {
                    self.enter(share, at, &place, discipline);
                }
            }
        }
        None
    }

    /// The time in which a cycle from `start` can lie.
    pub(crate) fn window_of(&mut self, start: &Start) -> (Pos, Pos) {
        self.set_horizon(start, Discipline::OneWritingVisit);
        (start.leave.earliest, self.horizon.last().copied().unwrap_or(NEVER))
    }

    /// The time in which the last search looked: from its start to where there is no way back.
    pub(crate) fn window(&self) -> (Pos, Pos) {
        let from = self.arena.first().map_or(0, |start| start.now);
        (from, self.horizon.last().copied().unwrap_or(NEVER))
    }

    fn closes(&self, place: &Reached, start: &Start) -> bool {
        place.thread != start.visit.thread
            && place.var == start.enter.var
            && (place.op, start.enter.op) != (Op::Read, Op::Read)
            && place.now < start.enter.latest
    }

    fn path(&self, mut at: u32) -> Vec<Visit> {
        let mut visits = Vec::new();
        while at != NEVER {
            visits.push(self.arena[at as usize].visit);
            at = self.arena[at as usize].before;
        }
        visits.reverse();
        visits
    }

    /// The thread's bit, if the visit counts.
    fn uses(&self, visit: Visit) -> u64 {
        let writing = self.question.keeps_program_order()
            || self.access(visit.thread, visit.enter).op == Op::Write
            || self.access(visit.thread, visit.leave).op == Op::Write;
        if writing && visit.thread < COUNTED_THREADS { 1 << visit.thread } else { 0 }
    }

    /// Per number of writing visits left, the time from which there is no way back to the start. A
    /// visit gets back below `time` only if its unit began before it.
    fn set_horizon(&mut self, start: &Start, discipline: Discipline) {
        let most = self.index.lanes.len() * self.index.most_vars().max(1);
        let step = |reach: &[Pos], time: Pos| -> Pos {
            if time == NEVER { NEVER } else { reach[time as usize].max(time) }
        };
        let by_reads = |mut time: Pos| {
            for _ in 0..most.min(64) {
                let next = step(&self.index.reach_reads, time);
                if next == time {
                    return time;
                }
                time = next;
            }
            NEVER
        };
        let visits = match discipline {
            Discipline::Any => most,
            Discipline::OneWritingVisit => self.index.lanes.len(),
        };
        let mut horizon = std::mem::take(&mut self.horizon);
        horizon.clear();
        let mut time = by_reads(start.enter.latest);
        horizon.push(time);
        for _ in 0..visits {
            let next = by_reads(step(&self.index.reach_all, time));
            if next == time && discipline == Discipline::Any {
                break;
            }
            time = next;
            horizon.push(time);
        }
        self.horizon = horizon;
    }

    fn enter(&mut self, share: Share, at: u32, from: &Reached, discipline: Discipline) {
        let Share { thread, slot } = share;
        let lane = &self.index.lanes[thread as usize];
        if from.op == Op::Write
            && let Some(read) = self.first_open(thread, Op::Read, slot, from.now)
        {
            self.pass(thread, read, at, from, discipline);
        }
        let Some(first) = self.first_open(thread, Op::Write, slot, from.now) else { return };
        // The last write of the unit to the variable serves best: it is the least tied.
        let unit = lane.unit_of(first);
        let list = lane.list_at(Op::Write, slot);
        let hint = self.hints[thread as usize][label_of(Op::Write, slot)];
        let last = list[seek(list.len(), hint as usize, |at| list[at] < unit.end) - 1];
        self.pass(thread, last, at, from, discipline);
        self.pass_back(thread, first, at, from, discipline);
    }

    /// Enters at `enter`, leaves at each of the exits of its unit.
    fn pass(&mut self, thread: u32, enter: u32, at: u32, from: &Reached, discipline: Discipline) {
        let entry = self.access(thread, enter);
        let horizon = self.horizon.last().copied().unwrap_or(NEVER);
        for &leave in &*self.exits.in_order(thread, entry.unit, horizon) {
            let exit = self.access(thread, leave);
            if exit.earliest >= horizon {
                break;
            }
            let now = if entry.ties(exit) { exit.earliest.max(from.now) } else { exit.earliest };
            self.visit(Visit { thread, enter, leave }, now, at, from, discipline);
        }
    }

    /// Enters later units, of the same stretch between fences, whose exit is not tied.
    fn pass_back(&mut self, thread: u32, first: u32, at: u32, from: &Reached, d: Discipline) {
        for &Back { enter, leave } in &*self.exits.backs(thread, first) {
            let now = self.access(thread, leave).earliest;
            if now < from.now {
                self.visit(Visit { thread, enter, leave }, now, at, from, d);
            }
        }
    }

    fn visit(&mut self, visit: Visit, now: Pos, at: u32, from: &Reached, discipline: Discipline) {
        let used = match discipline {
            Discipline::Any => 0,
            Discipline::OneWritingVisit => {
                let bit = self.uses(visit);
                if from.used & bit != 0 {
                    return;
                }
                from.used | bit
            }
        };
        let left = self.horizon.len() - 1;
        let left = left.saturating_sub(used.count_ones() as usize);
        // A cycle is found from that of its visits that steps back the furthest: nothing in it is
        // left before the start is.
        if now >= self.arena[0].now && now < self.horizon[left] {
            self.offer(visit, now, used, at);
        }
    }

    fn offer(&mut self, visit: Visit, now: Pos, used: u64, before: u32) {
        let exit = self.access(visit.thread, visit.leave);
        let Timed { op, var, slot, .. } = *exit;
        let place = Reached { thread: visit.thread, op, var, slot, used, now, visit, before };
        let next = self.arena.len() as u32;
        let known = self.best.get(&place).map(|at| self.arena[at as usize].now);
        if known.is_none_or(|known| now < known) {
            self.best.set(&place, next);
            self.arena.push(place);
            self.queue.push_back(next);
        }
    }
}

/// The first of `0..len` that is not `before`, looked for around `hint`.
fn seek(len: usize, hint: usize, before: impl Fn(usize) -> bool) -> usize {
    let hint = hint.min(len);
    let (mut low, mut high, mut step) = (hint, hint, 1);
    if hint < len && before(hint) {
        while high < len && before(high) {
            low = high + 1;
            high = (high + step).min(len);
            step *= 2;
        }
    } else {
        while low > 0 && !before(low - 1) {
            high = low - 1;
            low = low.saturating_sub(step);
            step *= 2;
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::seek;

    /// Would catch a gallop that jumps over the boundary.
    #[test]
    fn seeks_from_anywhere() {
        for len in 0..40 {
            for boundary in 0..=len {
                for hint in 0..45 {
                    assert_eq!(seek(len, hint, |at| at < boundary), boundary);
                }
            }
        }
    }
}
