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

use std::collections::VecDeque;

use budget::{Budget, Spent, Ticker};

use crate::execution::Question;
use crate::hash::Map;
use crate::trace::index::{Access, Index, NEVER, Op, Pos, Share, label_of};
use crate::trace::realize::Visit;
use best::Best;

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

/// A visit that steps back in time: where a search starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub visit: Visit,
    enter: Access,
    leave: Access,
}

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

/// A visit entered by a write and left, untied, at an earlier time.
#[derive(Clone, Copy)]
struct Back {
    enter: u32,
    leave: u32,
}

pub(crate) struct Search<'a> {
    index: &'a Index,
    question: Question,
    /// Where in each list the last answer was: the next is mostly close by.
    hints: Vec<Vec<usize>>,
    /// Per kind and variable, the stamp of the last search for exits that found one.
    seen: Vec<u64>,
    /// Per variable of a thread, the stamp of the last search that reached a unit with it.
    reached: Vec<u64>,
    stamp: u64,
    exits: Vec<u32>,
    /// Those of the unit where a search starts.
    first_exits: Vec<u32>,
    backs: Map<(u32, u32), Vec<Back>>,
    /// How many are in `backs`.
    backs_held: usize,
    /// Exits of the units entered lately, in order of time.
    recent: Vec<Recent>,
    /// How many are in `recent`.
    recent_held: usize,
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

/// A cache is dropped when it holds this many exits: a unit of a thread with many variables may have one for
/// each of them.
const MOST_CACHED: usize = 1 << 22;

/// A unit, and its exits before a time.
#[derive(Clone, Default)]
struct Recent {
    unit: Option<(u32, u32)>,
    before: Pos,
    exits: Vec<u32>,
}

/// How many units' exits are remembered.
const RECENT: usize = 1 << 12;

impl<'a> Search<'a> {
    pub(crate) fn new(index: &'a Index, question: Question, budget: Budget) -> Self {
        Search {
            index,
            question,
            hints: index.lanes.iter().map(|lane| vec![0; 2 * lane.vars.len()]).collect(),
            seen: vec![0; 2 * index.most_vars()],
            reached: vec![0; index.most_vars()],
            stamp: 0,
            exits: Vec::new(),
            first_exits: Vec::new(),
            backs: Map::default(),
            backs_held: 0,
            recent: vec![Recent::default(); RECENT],
            recent_held: 0,
            best: Best::new(index),
            arena: Vec::new(),
            queue: VecDeque::new(),
            horizon: Vec::new(),
            work: 0,
            ticker: budget.ticker(),
            spent: None,
        }
    }

    fn access(&self, thread: u32, access: u32) -> &'a Access {
        &self.index.lanes[thread as usize].accesses[access as usize]
    }

    /// The exits of a unit before `horizon`, the earliest of each kind and variable, in
    /// `self.exits`: reads along the thread, and gives up reading for looking up when that is long.
    ///
    /// A unit that the first must precede is *reached*: one with a write or a fence, or one that shares
    /// a variable with a reached one; behind a reached strong unit everything is.
    fn find_exits(&mut self, thread: u32, unit: u32, horizon: Pos) {
        let lane = &self.index.lanes[thread as usize];
        let body = &lane.units[unit as usize];
        let labels = 2 * lane.vars.len();
        let mut patience = 64 + 4 * labels;
        self.stamp += 1;
        self.exits.clear();
        let mut through = body.strong;
        let mut next = body.start;
        for (number, here) in lane.units.iter().enumerate().skip(unit as usize) {
            let accesses = lane.accesses_of(here);
            let is_reached = through
                || number == unit as usize
                || here.writes
                || here.fences
                || accesses.iter().any(|access| self.reached[access.slot as usize] == self.stamp);
            for (access, at) in accesses.iter().zip(here.start..) {
                if access.pos >= horizon || self.exits.len() == labels {
                    return;
                }
                let label = access.label();
                if self.seen[label] != self.stamp && (is_reached || access.op == Op::Write) {
                    self.seen[label] = self.stamp;
                    self.exits.push(at);
                }
            }
            if is_reached && !through {
                through = here.strong;
                for access in accesses {
                    self.reached[access.slot as usize] = self.stamp;
                }
            }
            next = here.end;
            patience = patience.saturating_sub(accesses.len() + 1);
            if patience == 0 {
                break;
            }
        }
        if patience > 0 {
            return;
        }
        for slot in 0..lane.vars.len() as u32 {
            for op in [Op::Read, Op::Write] {
                if self.seen[label_of(op, slot)] == self.stamp {
                    continue;
                }
                let found = match op {
                    Op::Read if !through => lane.first_read(body, slot),
                    _ => lane.first_from(op, slot, next),
                };
                self.exits
                    .extend(found.filter(|&at| lane.accesses[at as usize].earliest < horizon));
            }
        }
    }

    /// The first access of this kind of `thread` that can happen after `now`. Latest times grow along
    /// a list.
    fn first_open(&mut self, thread: u32, op: Op, slot: u32, now: Pos) -> Option<u32> {
        let lane = &self.index.lanes[thread as usize];
        let list = lane.list_at(op, slot);
        let hint = &mut self.hints[thread as usize][label_of(op, slot)];
        *hint = seek(list.len(), *hint, |at| lane.accesses[list[at] as usize].latest <= now);
        list.get(*hint).copied()
    }

    /// The entries of a unit from which a visit may step back in time.
    pub(crate) fn entries(&mut self, thread: u32, unit: u32, entries: &mut Vec<u32>) {
        entries.clear();
        self.first_exits.clear();
        let lane = &self.index.lanes[thread as usize];
        let body = &lane.units[unit as usize];
        let accesses = lane.accesses_of(body);
        let last = accesses.iter().map(|access| access.latest).max().unwrap_or(0);
        if accesses.is_empty() || accesses[0].pos >= last {
            return;
        }
        // No exit is earlier than the unit: where nothing leads back after its beginning, nothing does.
        let begin = accesses[0].pos;
        if !accesses.iter().any(|enter| self.can_return(thread, enter, begin)) {
            return;
        }
        self.find_exits(thread, unit, last);
        std::mem::swap(&mut self.first_exits, &mut self.exits);
        self.stamp += 1;
        for (offset, enter) in accesses.iter().enumerate().rev() {
            // The last access of each kind to a variable is the best entry.
            let seen = &mut self.seen[enter.label()];
            if std::mem::replace(seen, self.stamp) != self.stamp {
                entries.push(body.start + offset as u32);
            }
        }
    }

    /// The visits that enter at `enter`, one of the [entries](Search::entries) found last, and step
    /// back in time: best exits only.
    pub(crate) fn starts(&mut self, thread: u32, enter: u32, starts: &mut Vec<Start>) {
        starts.clear();
        let entry = *self.access(thread, enter);
        let mut first = NEVER;
        for &leave in &self.first_exits {
            let exit = self.access(thread, leave);
            if exit.earliest < entry.latest && !entry.ties(exit) {
                first = first.min(exit.earliest);
                let visit = Visit { thread, enter, leave };
                starts.push(Start { visit, enter: entry, leave: *exit });
            }
        }
        // Where the earliest exit has no way back, no other has.
        if !starts.is_empty() && !self.can_return(thread, &entry, first) {
            starts.clear();
        }
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

    /// Whether another thread has an access from which the entry can be reached in time, in a unit that
    /// can be entered after `left`, or behind one. Most starts fail this.
    fn can_return(&mut self, own: u32, enter: &Access, left: Pos) -> bool {
        let index = self.index;
        for &Share { thread, slot } in index.shares(enter.var) {
            if thread == own {
                continue;
            }
            let lane = &index.lanes[thread as usize];
            for op in [Op::Read, Op::Write] {
                if (op, enter.op) == (Op::Read, Op::Read) {
                    continue;
                }
                let list = lane.list_at(op, slot);
                let hint = &mut self.hints[thread as usize][label_of(op, slot)];
                let early = |at: usize| lane.accesses[list[at] as usize].earliest < enter.latest;
                *hint = seek(list.len(), *hint, early);
                if let Some(last) = hint.checked_sub(1)
                    && lane.enterable[lane.accesses[list[last] as usize].unit as usize] > left
                {
                    return true;
                }
            }
        }
        false
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
        let last = list[seek(list.len(), hint, |at| list[at] < unit.end) - 1];
        self.pass(thread, last, at, from, discipline);
        self.pass_back(thread, first, at, from, discipline);
    }

    /// Enters at `enter`, leaves at each of the exits of its unit.
    fn pass(&mut self, thread: u32, enter: u32, at: u32, from: &Reached, discipline: Discipline) {
        let lane = &self.index.lanes[thread as usize];
        let entry = self.access(thread, enter);
        let horizon = self.horizon.last().copied().unwrap_or(NEVER);
        let slot = (entry.unit as usize * 61 + thread as usize) % RECENT;
        let known = &self.recent[slot];
        if known.unit != Some((thread, entry.unit)) || known.before < horizon {
            self.find_exits(thread, entry.unit, horizon);
            let earliest = |&at: &u32| lane.accesses[at as usize].earliest;
            self.exits.sort_unstable_by_key(earliest);
            self.recent_held += self.exits.len();
            self.recent_held -= self.recent[slot].exits.len();
            if self.recent_held > MOST_CACHED {
                self.recent.fill(Recent::default());
                self.recent_held = self.exits.len();
            }
            let exits = self.exits.clone();
            self.recent[slot] = Recent { unit: Some((thread, entry.unit)), before: horizon, exits };
        }
        let exits = std::mem::take(&mut self.recent[slot].exits);
        for &leave in &exits {
            let exit = self.access(thread, leave);
            if exit.earliest >= horizon {
                break;
            }
            let now = if entry.ties(exit) { exit.earliest.max(from.now) } else { exit.earliest };
            self.visit(Visit { thread, enter, leave }, now, at, from, discipline);
        }
        self.recent[slot].exits = exits;
    }

    /// Enters later units, of the same stretch between fences, whose exit is not tied.
    fn pass_back(&mut self, thread: u32, first: u32, at: u32, from: &Reached, d: Discipline) {
        if !self.backs.contains_key(&(thread, first)) {
            let backs = self.backs_from(thread, first);
            self.backs_held += backs.len() + 1;
            if self.backs_held > MOST_CACHED {
                self.backs.clear();
                self.backs_held = backs.len() + 1;
            }
            self.backs.insert((thread, first), backs);
        }
        let backs = std::mem::take(self.backs.entry((thread, first)).or_default());
        for &Back { enter, leave } in &backs {
            let now = self.access(thread, leave).earliest;
            if now < from.now {
                self.visit(Visit { thread, enter, leave }, now, at, from, d);
            }
        }
        self.backs.insert((thread, first), backs);
    }

    /// For each exit, the first unit at or after that of the write `first` that is entered by a write
    /// to the same variable before the next fence, and left untied.
    fn backs_from(&mut self, thread: u32, first: u32) -> Vec<Back> {
        let lane = &self.index.lanes[thread as usize];
        let fence = lane.accesses[first as usize].latest;
        let list = lane.list_at(Op::Write, lane.accesses[first as usize].slot);
        let begin = list.partition_point(|&write| write < first);
        let mut found: Map<usize, Back> = Map::default();
        for (offset, &enter) in list[begin..].iter().enumerate() {
            let entry = &lane.accesses[enter as usize];
            let next = list.get(begin + offset + 1).map(|&next| lane.accesses[next as usize]);
            if next.is_some_and(|next| next.unit == entry.unit) {
                continue;
            }
            let unit = lane.unit_of(enter);
            if lane.accesses[unit.start as usize].pos >= fence {
                break;
            }
            self.find_exits(thread, entry.unit, fence);
            for &leave in &self.exits {
                let exit = &lane.accesses[leave as usize];
                if exit.earliest < fence && !entry.ties(exit) {
                    found.entry(exit.label()).or_insert(Back { enter, leave });
                }
            }
        }
        found.into_values().collect()
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
        let Access { op, var, slot, .. } = *exit;
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

impl Start {
    /// What decides whether another start can do better: entry and exit.
    pub(crate) fn profile(&self) -> (usize, usize) {
        (self.enter.label(), self.leave.label())
    }

    /// When it is left, at the earliest, and entered, at the latest.
    pub(crate) fn times(&self) -> (Pos, Pos) {
        (self.leave.earliest, self.enter.latest)
    }
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
