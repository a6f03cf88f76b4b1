//! What the search for a violation needs to know about a trace, computed in linear time.
//!
//! A trace fixes when every read happens, and for every write a window: it commits after its issue,
//! before the next fence of its thread, and after the earlier writes of its thread. So an access has
//! an *earliest* time (its position) and a *latest* time (its position for a read, the next fence for
//! a write). A read that may be served by its thread's buffer also remembers the write that would
//! serve it: it precedes a foreign write only if that write does. A read-modify-write is a write that
//! happens at its position, where the buffer is empty. What was read, and who took which lock, makes the
//! windows smaller ([`Windows`]).
//!
//! Within a thread, an entry at one transaction allows to leave from any transaction that must come
//! later. Most transactions must precede everything after them (*strong*: they have a fence or an
//! unbuffered read). A *weak* one, of writes and buffered reads only, precedes all later writes and
//! fences, but a later read only if it, or something in between that it precedes, has that variable
//! or is strong. [`Lane::first_read`] answers that.

mod builder;

use std::collections::HashSet;

use crate::event::Event;
use crate::execution::Question;
use crate::trace::believe::Windows;
use builder::Builder;

/// A position in the trace, or [`NEVER`].
pub(crate) type Pos = u32;

/// After the end of the trace; also "there is none".
pub(crate) const NEVER: Pos = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Read,
    Write,
}

/// A read or write of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub op: Op,
    pub var: u32,
    /// The number of the variable among those of the thread.
    pub slot: u32,
    pub pos: Pos,
    /// The first time at which it can happen, or, for a read that the buffer may serve, at which a
    /// foreign write can come after it.
    pub earliest: Pos,
    /// The last time at which it can happen.
    pub latest: Pos,
    /// Whether it is a read-modify-write, which happens at its position.
    pub fixed: bool,
    /// The write whose commit bounds what leaves from here: itself for a write, the serving write
    /// for a buffered read, [`NEVER`] for another read.
    pub bound_by: Pos,
    pub unit: u32,
}

impl Timed {
    /// Its kind and variable, as a number among those of the thread.
    pub(crate) fn label(&self) -> usize {
        label_of(self.op, self.slot)
    }

    /// Whether entering at `self` (at time `c`) forces what leaves from `exit` to be later than `c`.
    pub(crate) fn ties(&self, exit: &Timed) -> bool {
        self.op == Op::Write && !self.fixed && exit.bound_by != NEVER && self.pos <= exit.bound_by
    }
}

/// A kind of access to one of a thread's variables, as a number.
pub(crate) fn label_of(op: Op, slot: u32) -> usize {
    slot as usize * 2 + usize::from(op == Op::Write)
}

/// A transaction (or an event alone).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// Its accesses: a range in [`Lane::accesses`].
    pub start: u32,
    pub end: u32,
    /// The position of its last event.
    pub last: Pos,
    /// Whether it precedes everything after it.
    pub strong: bool,
    /// Row in the table of a weak unit's first reads.
    row: u32,
    pub writes: bool,
    pub fences: bool,
}

/// One thread.
#[derive(Default, Debug)]
pub(crate) struct Lane {
    pub accesses: Vec<Timed>,
    pub units: Vec<Unit>,
    pub fences: Vec<Pos>,
    /// Per unit, the latest time at which it or an earlier unit can be entered.
    pub enterable: Vec<Pos>,
    /// Per unit, where the next begins that is not plain: see [`Lane::is_dull`].
    plain_until: Vec<Pos>,
    /// The variables the thread accesses, by number.
    pub vars: Vec<u32>,
    /// The accesses as indices in `accesses`: by [label](Access::label), and in order.
    by_label: Vec<u32>,
    /// Per label, where its part of `by_label` begins.
    begins: Vec<u32>,
    rows: Vec<u32>,
}

/// The index of a trace for one question.
#[derive(Debug)]
pub(crate) struct Index {
    pub lanes: Vec<Lane>,
    /// Who accesses a variable, and its number there: by variable, then by thread.
    shared: Vec<Share>,
    /// Per variable, where its part of `shared` begins.
    begins: Vec<u32>,
    pub length: usize,
    /// By position: the latest time of any access of a unit that started before it.
    pub reach_all: Vec<Pos>,
    /// The same for units entered and left by reads.
    pub reach_reads: Vec<Pos>,
}

/// One of the threads that access a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub thread: u32,
    /// The number of the variable among those of the thread.
    pub slot: u32,
}

/// With very many variables a thread's table of first reads is not made; they are then looked for.
const LARGEST_TABLE: usize = 1 << 20;

impl Index {
    /// The index of a trace; `windows` are those that what was read leaves open.
    pub(crate) fn new(question: Question, trace: &[Event], windows: Option<&Windows>) -> Self {
        let mut lanes = Builder::run(question, trace).lanes;
        for lane in &mut lanes {
            if let Some(windows) = windows {
                lane.narrow(windows);
            }
            lane.accesses.shrink_to_fit();
            lane.units.shrink_to_fit();
            lane.fill_lists();
            lane.fill_plain();
            lane.fill_rows();
        }
        let (shared, begins) = share(&lanes);
        let mut index = Index {
            lanes,
            shared,
            begins,
            length: trace.len(),
            reach_all: Vec::new(),
            reach_reads: Vec::new(),
        };
        index.reach_all = index.reach(|_| true);
        index.reach_reads = index.reach(|access| access.op == Op::Read);
        index
    }

    /// Whether every transaction of the trace leaves its thread's buffer empty.
    pub(crate) fn is_fenced(trace: &[Event]) -> bool {
        Builder::run(Question::TsoSerializable, trace).fenced
    }

    /// The threads that access a variable, in order.
    pub(crate) fn shares(&self, var: u32) -> &[Share] {
        let var = var as usize;
        &self.shared[self.begins[var] as usize..self.begins[var + 1] as usize]
    }

    /// The accesses of this kind to this variable, in order.
    pub(crate) fn list(&self, thread: u32, op: Op, var: u32) -> &[u32] {
        let share = self.shares(var).iter().find(|share| share.thread == thread);
        share.map_or(&[], |share| self.lanes[thread as usize].list_at(op, share.slot))
    }

    /// One more than the greatest number of a variable.
    pub(crate) fn vars(&self) -> usize {
        self.begins.len() - 1
    }

    /// The number of variables of a thread, at most.
    pub(crate) fn most_vars(&self) -> usize {
        self.lanes.iter().map(|lane| lane.vars.len()).max().unwrap_or(0)
    }

    fn reach(&self, counts: impl Fn(&Timed) -> bool) -> Vec<Pos> {
        let mut latest = vec![0; self.length + 1];
        for lane in &self.lanes {
            for unit in &lane.units {
                let accesses = &lane.accesses[unit.start as usize..unit.end as usize];
                let mut counted = accesses.iter().filter(|access| counts(access));
                if let Some(first) = counted.next() {
                    let last = counted.map(|access| access.latest).fold(first.latest, Pos::max);
                    let slot = &mut latest[first.pos as usize + 1];
                    *slot = last.max(*slot);
                }
            }
        }
        for pos in 1..latest.len() {
            latest[pos] = latest[pos].max(latest[pos - 1]);
        }
        latest
    }
}

/// Who accesses each variable, and where in that each begins.
fn share(lanes: &[Lane]) -> (Vec<Share>, Vec<u32>) {
    let vars = lanes.iter().flat_map(|lane| &lane.vars);
    let mut begins = vec![0; vars.clone().max().map_or(0, |&var| var as usize + 1) + 1];
    vars.clone().for_each(|&var| begins[var as usize + 1] += 1);
    for var in 1..begins.len() {
        begins[var] += begins[var - 1];
    }
    let mut next = begins.clone();
    let mut shared = vec![Share { thread: 0, slot: 0 }; vars.count()];
    for (thread, lane) in (0..).zip(lanes) {
        for (slot, &var) in (0..).zip(&lane.vars) {
            let next = &mut next[var as usize];
            shared[*next as usize] = Share { thread, slot };
            *next += 1;
        }
    }
    (shared, begins)
}

impl Lane {
    /// Makes the windows of commits as small as is known.
    fn narrow(&mut self, windows: &Windows) {
        for at in 0..self.accesses.len() {
            let Timed { op, fixed, bound_by, pos, .. } = self.accesses[at];
            let access = &mut self.accesses[at];
            match op {
                Op::Write if !fixed => {
                    let (earliest, latest) = windows.of(pos);
                    access.earliest = earliest.max(pos);
                    access.latest = latest.min(access.latest);
                }
                Op::Read if bound_by != NEVER => {
                    access.earliest = pos.max(windows.of(bound_by).0);
                }
                _ => {}
            }
        }
    }

    /// Sorts the accesses by label.
    fn fill_lists(&mut self) {
        let mut begins = vec![0; 2 * self.vars.len() + 1];
        self.accesses.iter().for_each(|access| begins[access.label() + 1] += 1);
        for label in 1..begins.len() {
            begins[label] += begins[label - 1];
        }
        let mut next = begins.clone();
        self.by_label = vec![0; self.accesses.len()];
        for (at, access) in (0..).zip(&self.accesses) {
            let next = &mut next[access.label()];
            self.by_label[*next as usize] = at;
            *next += 1;
        }
        self.begins = begins;
    }

    /// The accesses of this kind to the variable of this number, in order.
    pub(crate) fn list_at(&self, op: Op, slot: u32) -> &[u32] {
        let label = label_of(op, slot);
        &self.by_label[self.begins[label] as usize..self.begins[label + 1] as usize]
    }

    /// The first access of this kind at or after the access index `from`.
    pub(crate) fn first_from(&self, op: Op, slot: u32, from: u32) -> Option<u32> {
        let list = self.list_at(op, slot);
        list.get(list.partition_point(|&access| access < from)).copied()
    }

    pub(crate) fn unit_of(&self, access: u32) -> &Unit {
        &self.units[self.accesses[access as usize].unit as usize]
    }

    pub(crate) fn accesses_of(&self, unit: &Unit) -> &[Timed] {
        &self.accesses[unit.start as usize..unit.end as usize]
    }

    /// The first read of the variable numbered `slot` after `unit` that `unit` must precede.
    pub(crate) fn first_read(&self, unit: &Unit, slot: u32) -> Option<u32> {
        if unit.strong {
            return self.first_from(Op::Read, slot, unit.end);
        }
        if self.rows.is_empty() {
            return self.scan_first_read(unit, slot);
        }
        let cell = unit.row as usize * self.vars.len() + slot as usize;
        Some(self.rows[cell]).filter(|&read| read != NEVER)
    }

    /// The same, found by walking along the thread.
    fn scan_first_read(&self, unit: &Unit, slot: u32) -> Option<u32> {
        let own = self.accesses_of(unit);
        let index = own.first()?.unit as usize;
        let last = *self.list_at(Op::Read, slot).last()?;
        let mut reached: HashSet<u32> = own.iter().map(|access| access.slot).collect();
        for next in &self.units[index + 1..] {
            if next.start > last {
                break;
            }
            let accesses = self.accesses_of(next);
            let shares = || accesses.iter().any(|access| reached.contains(&access.slot));
            if !(next.writes || next.fences || shares()) {
                continue;
            }
            let wanted = |access: &Timed| access.op == Op::Read && access.slot == slot;
            if let Some(offset) = accesses.iter().position(wanted) {
                return Some(next.start + offset as u32);
            }
            if next.strong {
                return self.first_from(Op::Read, slot, next.end);
            }
            reached.extend(accesses.iter().map(|access| access.slot));
        }
        None
    }

    /// The earliest access of this kind from which a visit that entered `unit` can leave.
    pub(crate) fn exit(&self, unit: &Unit, op: Op, slot: u32) -> Option<u32> {
        let inside = self.first_from(op, slot, unit.start).filter(|&access| access < unit.end);
        inside.or_else(|| match op {
            Op::Write => self.first_from(Op::Write, slot, unit.end),
            Op::Read => self.first_read(unit, slot),
        })
    }

    /// Whether `unit` is one write that no visit enters, and leaves untied, before `time`.
    ///
    /// A unit is *plain* if it has no fence and is a single access, or reads only what it has written itself. Let
    /// the units behind a single write `w` be plain. A read in one of them that `w` must precede is served by
    /// a write that is not before `w`, and so is tied to it: inside a unit with writes that is what plain
    /// means. A single read is reached because it shares its variable with a unit that is reached before it: with
    /// `w` or another unit that writes the variable, and then that write or a later one serves the read, since there is no
    /// fence in between; or only with single reads that are reached, which are served so themselves. Writes
    /// are tied to all writes before them. So what is left untied is in or behind a unit that is not plain.
    pub(crate) fn is_dull(&self, unit: u32, time: Pos) -> bool {
        let body = &self.units[unit as usize];
        let single = body.end == body.start + 1 && !body.strong && body.writes;
        single && self.plain_until[unit as usize] >= time
    }

    fn is_plain(&self, unit: &Unit) -> bool {
        let accesses = self.accesses_of(unit);
        let serves_itself =
            |read: &Timed| read.bound_by != NEVER && read.bound_by >= accesses[0].pos;
        let mut reads = accesses.iter().filter(|access| access.op == Op::Read);
        !unit.fences && (accesses.len() <= 1 || reads.all(serves_itself))
    }

    fn fill_plain(&mut self) {
        let mut until = NEVER;
        let mut plain_until = vec![NEVER; self.units.len()];
        for (number, unit) in self.units.iter().enumerate().rev() {
            plain_until[number] = until;
            if !self.is_plain(unit) {
                until = self.accesses_of(unit).first().map_or(unit.last, |first| first.pos);
            }
        }
        self.plain_until = plain_until;
    }

    /// From the last unit to the first, what weak units must precede.
    fn fill_rows(&mut self) {
        let vars = self.vars.len();
        self.enterable = Vec::with_capacity(self.units.len());
        let mut latest = 0;
        for unit in &self.units {
            let accesses = &self.accesses[unit.start as usize..unit.end as usize];
            latest = accesses.iter().map(|access| access.latest).fold(latest, Pos::max);
            self.enterable.push(latest);
        }
        let weak = self.units.iter().filter(|unit| !unit.strong).count();
        if weak.saturating_mul(vars) > LARGEST_TABLE {
            return;
        }
        self.rows = vec![NEVER; weak * vars];
        let (mut row, mut next_write, mut next_fence) = (0, None, None);
        let mut next_reading: Vec<Option<usize>> = vec![None; vars];
        for index in (0..self.units.len()).rev() {
            if !self.units[index].strong {
                self.units[index].row = row;
                let unit = self.units[index];
                let mut after: Vec<usize> = Vec::new();
                after.extend(next_write);
                after.extend(next_fence);
                after.extend(
                    self.accesses_of(&unit).iter().filter_map(|a| next_reading[a.slot as usize]),
                );
                after.sort_unstable();
                after.dedup();
                for next in after {
                    for slot in 0..vars {
                        let first = self.exit(&self.units[next], Op::Read, slot as u32);
                        let cell = &mut self.rows[row as usize * vars + slot];
                        *cell = (*cell).min(first.unwrap_or(NEVER));
                    }
                }
                row += 1;
            }
            let unit = self.units[index];
            if unit.writes {
                next_write = Some(index);
            }
            if unit.fences {
                next_fence = Some(index);
            }
            for access in &self.accesses[unit.start as usize..unit.end as usize] {
                if access.op == Op::Read {
                    next_reading[access.slot as usize] = Some(index);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Shape, Style};

    /// Would catch a wrong step in the backward computation of what a weak unit must precede.
    #[test]
    fn the_table_of_first_reads_agrees_with_walking_along_the_thread() {
        let mut weak = 0;
        for seed in 0..300 {
            let (transaction, style) = (1 + seed as usize % 3, Style::Free);
            let shape =
                Shape { threads: 2, vars: 4, events: 40, transaction, commits: false, style, seed };
            let index = Index::new(Question::TsoSerializable, &shape.events(), None);
            for lane in &index.lanes {
                for unit in lane.units.iter().filter(|unit| !unit.strong && unit.start < unit.end) {
                    for slot in 0..lane.vars.len() as u32 {
                        weak += 1;
                        let walked = lane.scan_first_read(unit, slot);
                        assert_eq!(lane.first_read(unit, slot), walked, "seed {seed}");
                    }
                }
            }
        }
        assert!(weak > 1_000);
    }
}
