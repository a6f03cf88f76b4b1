//! The places where searches start: visits of a thread that step back in time. Visits to which obviously nothing leads back are
//! left out.

use super::{Search, seek};
use crate::trace::index::{NEVER, Op, Pos, Share, Timed, label_of};
use crate::trace::realize::Visit;

/// A visit that steps back in time: where a search starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub visit: Visit,
    pub(super) enter: Timed,
    pub(super) leave: Timed,
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

impl Search<'_> {
    /// The entries of a unit from which a visit may step back in time.
    pub(crate) fn entries(&mut self, thread: u32, unit: u32, entries: &mut Vec<u32>) {
        entries.clear();
        self.first_exits.clear();
        let lane = &self.index.lanes[thread as usize];
        let body = &lane.units[unit as usize];
        let accesses = lane.accesses_of(body);
        let last = accesses.iter().map(|access| access.latest).max().unwrap_or(0);
        if accesses.is_empty() || accesses[0].pos >= last || lane.is_dull(unit, last) {
            return;
        }
        if !self.leads_back(thread, unit) {
            return;
        }
        self.first_exits.extend_from_slice(self.exits.find(thread, unit, last));
        // The last access of each kind to a variable is the best entry.
        self.exits.last_of_each(thread, unit, entries);
    }

    /// Whether a cycle may start in this unit: whether anything leads back to it after it was left.
    ///
    /// A cycle that starts by entering the unit at `a` ends with another thread's access `b` that conflicts
    /// with `a` and comes before it, so `b` can happen before the latest time of `a`. To leave at `b`, the
    /// cycle has entered that thread in the unit of `b` or an earlier one. It did so after it had left some
    /// thread, and no thread is left before the start is, since a cycle starts with its furthest step back;
    /// and the start is left at an access of this unit or of a later one. So that entry can happen after
    /// this unit's first access. If for no `a` of the unit there is such a `b`, no exit need be looked for:
    /// [`Search::can_return`] would refuse every start with it, since it asks the same of a later time.
    fn leads_back(&mut self, thread: u32, unit: u32) -> bool {
        let lane = &self.index.lanes[thread as usize];
        let accesses = lane.accesses_of(&lane.units[unit as usize]);
        let Some(begin) = accesses.first().map(|first| first.pos) else { return false };
        accesses.iter().any(|enter| self.can_return(thread, enter, begin))
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

    /// Whether another thread has an access from which the entry can be reached in time, in a unit that
    /// can be entered after `left`, or behind one. Most starts fail this.
    pub(super) fn can_return(&mut self, own: u32, enter: &Timed, left: Pos) -> bool {
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
                *hint = seek(list.len(), *hint as usize, early) as u32;
                if let Some(last) = hint.checked_sub(1)
                    && lane.enterable[lane.accesses[list[last as usize] as usize].unit as usize]
                        > left
                {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Question;
    use crate::random::{Random, Shape, Style};
    use crate::trace::exhaustive;
    use crate::trace::index::Index;
    use budget::Budget;

    /// Would catch a condition that is too strong: from a unit that nothing is said to lead back to, every
    /// walk is tried, by code that knows nothing of that condition.
    #[test]
    fn no_cycle_starts_where_nothing_leads_back() {
        let (mut refused, mut cycles) = (0, 0);
        for seed in 0..3_000 {
            let mut random = Random::new(seed ^ 0xbac4);
            let (threads, vars) = (2 + random.below(2), 1 + random.below(3));
            let (events, transaction) = (3 + random.below(6), 1 + random.below(3));
            let (commits, style) = (false, Style::Free);
            let shape = Shape { threads, vars, events, transaction, commits, style, seed };
            for question in Question::ALL {
                let index = Index::new(question, &shape.events(), None);
                let mut search = Search::new(&index, question, Budget::UNLIMITED);
                for (thread, lane) in (0..).zip(&index.lanes) {
                    for unit in 0..lane.units.len() as u32 {
                        let found = starts_a_cycle(&mut search, question, thread, unit);
                        if search.leads_back(thread, unit) {
                            cycles += usize::from(found);
                        } else {
                            refused += 1;
                            assert!(!found, "seed {seed}, {question:?}, thread {thread}, {unit}");
                        }
                    }
                }
            }
        }
        // Both happen often: units are refused, and others start a cycle.
        assert!(refused > 5_000 && cycles > 500, "{refused} {cycles}");
    }

    /// Whether a walk that an execution realizes starts in the unit, as its furthest step back.
    fn starts_a_cycle(search: &mut Search<'_>, question: Question, thread: u32, unit: u32) -> bool {
        let index = search.index;
        let body = index.lanes[thread as usize].units[unit as usize];
        let exits = search.exits.find(thread, unit, NEVER).to_vec();
        (body.start..body.end).any(|enter| {
            exits.iter().any(|&leave| {
                let (entry, exit) = (search.access(thread, enter), search.access(thread, leave));
                let steps_back = exit.earliest < entry.latest && !entry.ties(exit);
                let (visit, window) = (Visit { thread, enter, leave }, (exit.earliest, NEVER));
                steps_back && {
                    let budget = Budget::UNLIMITED;
                    let any = &mut |_: &[Visit]| true;
                    let walk = exhaustive::walk(index, question, visit, window, budget, any);
                    walk.is_ok_and(|walk| walk.is_some())
                }
            })
        })
    }
}
