//! What the search for a violation needs to know about a trace, computed in linear time.
//!
//! A trace fixes when every read happens, and for every write a window: it commits after its issue,
//! before the next fence of its thread, and after the earlier writes of its thread. So an access has
//! an *earliest* time (its position) and a *latest* time (its position for a read, the next fence for
//! a write). A read that may be served by its thread's buffer also remembers the write that would
//! serve it: it precedes a foreign write only if that write does.
//!
//! Within a thread, an entry at one transaction allows to leave from any transaction that must come
//! later. Most transactions must precede everything after them (*strong*: they have a fence or an
//! unbuffered read). A *weak* one, of writes and buffered reads only, precedes all later writes and
//! fences, but a later read only if it, or something in between that it precedes, has that variable
//! or is strong. [`Lane::first_read`] answers that.

use std::collections::HashSet;

use crate::event::{Action, Event};
use crate::execution::Question;

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
pub(crate) struct Access {
    pub op: Op,
    pub var: u32,
    pub pos: Pos,
    /// The last time at which it can happen.
    pub latest: Pos,
    /// The write whose commit bounds what leaves from here: itself for a write, the serving write
    /// for a buffered read, [`NEVER`] for another read.
    pub bound_by: Pos,
    pub unit: u32,
}

impl Access {
    /// Whether entering at `self` (at time `c`) forces what leaves from `exit` to be later than `c`.
    pub(crate) fn ties(&self, exit: &Access) -> bool {
        self.op == Op::Write && exit.bound_by != NEVER && self.pos <= exit.bound_by
    }
}

/// A transaction (or an event alone).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// Its accesses: a range in [`Lane::accesses`].
    pub start: u32,
    pub end: u32,
    /// The position of its last event.
    pub last: Pos,
    strong: bool,
    /// Row in the table of a weak unit's first reads.
    row: u32,
    writes: bool,
    fences: bool,
}

/// One thread.
#[derive(Default, Debug)]
pub(crate) struct Lane {
    pub accesses: Vec<Access>,
    pub units: Vec<Unit>,
    pub fences: Vec<Pos>,
    /// Per unit, the latest time at which it or an earlier unit can be entered.
    pub enterable: Vec<Pos>,
    /// The variables the thread accesses.
    pub vars: Vec<u32>,
    /// Per variable, the reads (writes) in order, as indices in `accesses`.
    reads: Vec<Vec<u32>>,
    writes: Vec<Vec<u32>>,
    rows: Vec<u32>,
}

/// The index of a trace for one question.
#[derive(Debug)]
pub(crate) struct Index {
    pub lanes: Vec<Lane>,
    pub vars: usize,
    pub length: usize,
    /// Whether every transaction leaves its thread's buffer empty.
    pub fenced: bool,
    /// By position: the latest time of any access of a unit that started before it.
    pub reach_all: Vec<Pos>,
    /// The same for units entered and left by reads.
    pub reach_reads: Vec<Pos>,
}

/// With very many variables the table of first reads is not made; they are then looked for.
const LARGEST_TABLE: usize = 1 << 26;

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

impl Index {
    pub(crate) fn new(question: Question, trace: &[Event]) -> Self {
        let threads = trace.iter().map(|event| event.thread.0 + 1).max().unwrap_or(0) as usize;
        let vars = trace.iter().filter_map(|e| e.action.var()).map(|x| x.0 + 1).max().unwrap_or(0);
        let vars = vars as usize;
        let mut builder = Builder {
            question,
            lanes: (0..threads).map(|_| Lane::new(vars)).collect(),
            opening: (0..threads).map(|_| Opening::default()).collect(),
            serving: vec![vec![NEVER; vars]; threads],
            unfenced: vec![0; threads],
            fenced: true,
        };
        for (pos, event) in trace.iter().enumerate() {
            builder.step(pos as Pos, event);
        }
        let Builder { mut lanes, fenced, .. } = builder;
        for lane in &mut lanes {
            lane.fill_rows(vars);
        }
        let mut index = Index {
            lanes,
            vars,
            length: trace.len(),
            fenced,
            reach_all: Vec::new(),
            reach_reads: Vec::new(),
        };
        index.reach_all = index.reach(|_| true);
        index.reach_reads = index.reach(|access| access.op == Op::Read);
        index
    }

    fn reach(&self, counts: impl Fn(&Access) -> bool) -> Vec<Pos> {
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

struct Builder {
    question: Question,
    lanes: Vec<Lane>,
    opening: Vec<Opening>,
    /// Per thread and variable, the last write; stale if the thread has fenced since.
    serving: Vec<Vec<Pos>>,
    /// Per thread, the first access since the last fence.
    unfenced: Vec<u32>,
    fenced: bool,
}

impl Builder {
    fn step(&mut self, pos: Pos, event: &Event) {
        let thread = event.thread.0 as usize;
        match event.action {
            Action::Begin(_) => {
                self.opening[thread].transaction = true;
                if self.question.of_transactions() {
                    self.open(thread);
                }
            }
            Action::End => {
                self.opening[thread].transaction = false;
                if self.question.of_transactions() {
                    self.close(thread);
                }
                self.check_fenced(thread);
            }
            Action::Read(x) => self.access(thread, pos, Op::Read, x.0),
            Action::Write(x) => self.access(thread, pos, Op::Write, x.0),
            Action::Fence => self.fence(thread, pos),
            Action::Commit(_) => {}
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
        let lane = &mut self.lanes[thread];
        let strong = strong || self.question.keeps_program_order();
        let end = lane.accesses.len() as u32;
        lane.units.push(Unit { start, end, last, strong, row: NEVER, writes, fences });
    }

    /// A transaction has ended: has it left writes in the buffer?
    fn check_fenced(&mut self, thread: usize) {
        let since = self.unfenced[thread] as usize;
        self.fenced &= self.lanes[thread].accesses[since..].iter().all(|a| a.op == Op::Read);
    }

    fn access(&mut self, thread: usize, pos: Pos, op: Op, var: u32) {
        let alone = self.stands_alone(thread);
        if alone {
            self.open(thread);
        }
        let lane = &mut self.lanes[thread];
        let last_fence = lane.fences.last().copied();
        let serving = &mut self.serving[thread][var as usize];
        if last_fence.is_some_and(|fence| *serving < fence) {
            *serving = NEVER;
        }
        let index = lane.accesses.len() as u32;
        let (latest, list) = match op {
            Op::Write => {
                *serving = pos;
                (NEVER, &mut lane.writes[var as usize])
            }
            Op::Read => (pos, &mut lane.reads[var as usize]),
        };
        list.push(index);
        let unit = lane.units.len() as u32;
        lane.accesses.push(Access { op, var, pos, latest, bound_by: *serving, unit });
        self.opening[thread].last = pos;
        self.opening[thread].writes |= op == Op::Write;
        self.opening[thread].strong |= op == Op::Read && *serving == NEVER;
        if alone {
            self.close(thread);
            if !self.opening[thread].transaction {
                self.check_fenced(thread);
            }
        }
    }

    fn fence(&mut self, thread: usize, pos: Pos) {
        let alone = self.stands_alone(thread);
        if alone {
            self.open(thread);
        }
        self.opening[thread].strong = true;
        self.opening[thread].fences = true;
        self.opening[thread].last = pos;
        let lane = &mut self.lanes[thread];
        lane.fences.push(pos);
        for access in &mut lane.accesses[self.unfenced[thread] as usize..] {
            if access.op == Op::Write {
                access.latest = pos;
            }
        }
        self.unfenced[thread] = lane.accesses.len() as u32;
        if alone {
            self.close(thread);
        }
    }
}

impl Lane {
    fn new(vars: usize) -> Self {
        Lane { reads: vec![Vec::new(); vars], writes: vec![Vec::new(); vars], ..Lane::default() }
    }

    /// The accesses of this kind to this variable, in order.
    pub(crate) fn list(&self, op: Op, var: u32) -> &[u32] {
        match op {
            Op::Read => &self.reads[var as usize],
            Op::Write => &self.writes[var as usize],
        }
    }

    /// The first access of this kind at or after the access index `from`.
    fn first_from(&self, op: Op, var: u32, from: u32) -> Option<u32> {
        let list = self.list(op, var);
        list.get(list.partition_point(|&access| access < from)).copied()
    }

    pub(crate) fn unit_of(&self, access: u32) -> &Unit {
        &self.units[self.accesses[access as usize].unit as usize]
    }

    pub(crate) fn accesses_of(&self, unit: &Unit) -> &[Access] {
        &self.accesses[unit.start as usize..unit.end as usize]
    }

    /// The first read of `var` after `unit` that `unit` must precede.
    pub(crate) fn first_read(&self, unit: &Unit, var: u32, vars: usize) -> Option<u32> {
        if unit.strong {
            return self.first_from(Op::Read, var, unit.end);
        }
        if self.rows.is_empty() {
            return self.scan_first_read(unit, var);
        }
        Some(self.rows[unit.row as usize * vars + var as usize]).filter(|&read| read != NEVER)
    }

    /// The same, found by walking along the thread.
    fn scan_first_read(&self, unit: &Unit, var: u32) -> Option<u32> {
        let own = self.accesses_of(unit);
        let index = own.first()?.unit as usize;
        let mut reached: HashSet<u32> = own.iter().map(|access| access.var).collect();
        for next in &self.units[index + 1..] {
            let accesses = self.accesses_of(next);
            let shares = || accesses.iter().any(|access| reached.contains(&access.var));
            if !(next.writes || next.fences || shares()) {
                continue;
            }
            let wanted = |access: &Access| access.op == Op::Read && access.var == var;
            if let Some(offset) = accesses.iter().position(wanted) {
                return Some(next.start + offset as u32);
            }
            if next.strong {
                return self.first_from(Op::Read, var, next.end);
            }
            reached.extend(accesses.iter().map(|access| access.var));
        }
        None
    }

    /// The earliest access of this kind from which a visit that entered `unit` can leave.
    pub(crate) fn exit(&self, unit: &Unit, op: Op, var: u32, vars: usize) -> Option<u32> {
        let inside = self.first_from(op, var, unit.start).filter(|&access| access < unit.end);
        inside.or_else(|| match op {
            Op::Write => self.first_from(Op::Write, var, unit.end),
            Op::Read => self.first_read(unit, var, vars),
        })
    }

    /// Whether a visit that entered `unit` can leave at this access of the unit or after it.
    pub(crate) fn leads_to(&self, unit: &Unit, at: u32, vars: usize) -> bool {
        let access = &self.accesses[at as usize];
        unit.strong
            || at < unit.end
            || access.op == Op::Write
            || self.first_read(unit, access.var, vars).is_some_and(|first| first <= at)
    }

    /// From the last unit to the first, what weak units must precede.
    fn fill_rows(&mut self, vars: usize) {
        self.vars = (0..vars as u32)
            .filter(|&x| !self.reads[x as usize].is_empty() || !self.writes[x as usize].is_empty())
            .collect();
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
                    self.accesses_of(&unit).iter().filter_map(|a| next_reading[a.var as usize]),
                );
                after.sort_unstable();
                after.dedup();
                for next in after {
                    for at in 0..self.vars.len() {
                        let var = self.vars[at];
                        let first = self.exit(&self.units[next], Op::Read, var, vars);
                        let cell = &mut self.rows[row as usize * vars + var as usize];
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
                    next_reading[access.var as usize] = Some(index);
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
            let index = Index::new(Question::TsoSerializable, &shape.events());
            for lane in &index.lanes {
                for unit in lane.units.iter().filter(|unit| !unit.strong && unit.start < unit.end) {
                    for var in 0..index.vars as u32 {
                        weak += 1;
                        let walked = lane.scan_first_read(unit, var);
                        assert_eq!(lane.first_read(unit, var, index.vars), walked, "seed {seed}");
                    }
                }
            }
        }
        assert!(weak > 1_000);
    }
}
