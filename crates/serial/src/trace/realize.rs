//! From a cycle of a trace to an execution that shows it.
//!
//! A cycle asks for some commits to come before or after others, or before or after reads. Together
//! with the trace (reads stay where they are, a write commits after its issue and before the next
//! fence, in the order of its thread) these are order constraints; a schedule exists iff they have no
//! cycle and no upper bound is passed. Where the recording says what was read, or who took which lock,
//! every commit of the trace has a part in it, and the module `believe` finds the schedule. This is the check that the fixed-parameter algorithm of the
//! paper leaves informal, and the place where Theorem 5 as printed goes wrong: an orientation of the
//! event graph can be acyclic and still fit no execution of the trace.

use std::collections::{HashMap, HashSet, VecDeque};

use budget::{Budget, Spent};

use crate::event::{Action, Event};
use crate::trace::believe::{Asked, Believed};
use crate::trace::index::{Index, NEVER, Op, Pos, Timed};

/// A passage of a cycle through a thread: entered at one access, left at another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Visit {
    pub thread: u32,
    pub enter: u32,
    pub leave: u32,
}

/// An execution of (a prefix of) a trace, and for each of its events the trace position it is from.
#[derive(Clone, Debug)]
pub(crate) struct Realized {
    pub execution: Vec<Event>,
    pub origin: Vec<Pos>,
}

#[derive(Default)]
struct Constraints {
    /// The writes whose commits matter: by position.
    writes: HashMap<Pos, Timed>,
    thread_of: HashMap<Pos, u32>,
    /// One commit before another.
    before: Vec<(Pos, Pos)>,
    /// A commit after a read.
    after_read: Vec<(Pos, Pos)>,
    /// A commit before a read.
    before_read: Vec<(Pos, Pos)>,
    impossible: bool,
}

impl Constraints {
    fn mention(&mut self, index: &Index, thread: u32, pos: Pos) {
        let lane = &index.lanes[thread as usize];
        let at = lane.accesses.partition_point(|access| access.pos < pos);
        self.writes.insert(pos, lane.accesses[at]);
        self.thread_of.insert(pos, thread);
    }

    fn edge(&mut self, index: &Index, from: (u32, &Timed), to: (u32, &Timed)) {
        let ((thread, leave), (next, enter)) = (from, to);
        if leave.bound_by != NEVER {
            self.mention(index, thread, leave.bound_by);
        }
        let (leaves_late, enters_late) =
            (leave.op == Op::Write && !leave.fixed, enter.op == Op::Write && !enter.fixed);
        if enters_late {
            self.mention(index, next, enter.pos);
        }
        if (leave.op, enter.op) == (Op::Read, Op::Read) {
            self.impossible = true;
        }
        match (leaves_late, enters_late) {
            (true, true) => self.before.push((leave.pos, enter.pos)),
            (true, false) => self.before_read.push((leave.pos, enter.pos)),
            (false, true) => self.after_read.push((leave.pos, enter.pos)),
            (false, false) => self.impossible |= leave.pos >= enter.pos,
        }
        // What follows a read that the buffer served follows the write that served it.
        if !leaves_late && leave.bound_by != NEVER {
            match enters_late {
                true => self.before.push((leave.bound_by, enter.pos)),
                false => self.before_read.push((leave.bound_by, enter.pos)),
            }
        }
    }

    /// For each write that matters the gap (after which position) it commits in, in commit order.
    fn schedule(&self) -> Option<Vec<(Pos, Pos)>> {
        if self.impossible {
            return None;
        }
        let mut writes: Vec<Pos> = self.writes.keys().copied().collect();
        writes.sort_unstable();
        let mut before = self.before.clone();
        for (at, &write) in writes.iter().enumerate() {
            let same = |later: &&Pos| self.thread_of[later] == self.thread_of[&write];
            before.extend(writes[at + 1..].iter().find(same).map(|&later| (write, later)));
        }
        let mut gap: HashMap<Pos, Pos> =
            writes.iter().map(|&write| (write, self.writes[&write].earliest)).collect();
        for &(read, write) in &self.after_read {
            gap.entry(write).and_modify(|gap| *gap = read.max(*gap));
        }
        let mut waiting: HashMap<Pos, usize> = HashMap::new();
        before.iter().for_each(|&(_, later)| *waiting.entry(later).or_default() += 1);
        let mut ready: VecDeque<Pos> =
            writes.iter().copied().filter(|write| !waiting.contains_key(write)).collect();
        let mut order = Vec::new();
        while let Some(write) = ready.pop_front() {
            let now = gap[&write];
            if now >= self.writes[&write].latest {
                return None;
            }
            order.push((now, write));
            for &(_, later) in before.iter().filter(|&&(earlier, _)| earlier == write) {
                gap.entry(later).and_modify(|gap| *gap = now.max(*gap));
                if let Some(count) = waiting.get_mut(&later) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push_back(later);
                    }
                }
            }
        }
        let in_time = self.before_read.iter().all(|(write, read)| gap[write] < *read);
        // A stable sort: commits in one gap stay in the order of the constraints.
        order.sort_by_key(|&(gap, _)| gap);
        (order.len() == writes.len() && in_time).then_some(order)
    }
}

/// An execution of the trace in which each visit is left before the next is entered, if there is
/// one, and the last before the first. With `believed`, one in which every read gets what it got; it
/// is an error if the budget is spent before that is known.
pub(crate) fn realize(
    index: &Index,
    trace: &[Event],
    visits: &[Visit],
    believed: Option<&mut Believed>,
    budget: Budget,
) -> Result<Option<Realized>, Spent> {
    let constraints = constraints(index, visits, true);
    let Some(mut schedule) = constraints.schedule() else { return Ok(None) };
    if let Some(believed) = believed {
        let Constraints { before, after_read, before_read, .. } = constraints;
        let asked = Asked { before, after: after_read, until: before_read };
        match believed.solve(&asked, budget)? {
            Some(whole) => schedule = whole,
            None => return Ok(None),
        }
        let last = trace.len() as Pos - 1;
        return Ok(Some(play(trace, last, &schedule)));
    }
    let involved = visits.iter().flat_map(|visit| {
        // Whole transactions: a later event of one may be what orders it.
        let lane = &index.lanes[visit.thread as usize];
        [lane.unit_of(visit.enter).last, lane.unit_of(visit.leave).last]
    });
    let last = involved.chain(schedule.iter().map(|&(gap, write)| gap.max(write))).max();
    Ok(last.map(|last| play(trace, last, &schedule)))
}

/// Whether the visits so far can be made one after the other.
pub(crate) fn possible(index: &Index, visits: &[Visit]) -> bool {
    constraints(index, visits, false).schedule().is_some()
}

fn constraints(index: &Index, visits: &[Visit], closed: bool) -> Constraints {
    let mut constraints = Constraints::default();
    let access =
        |thread: u32, at: u32| (thread, &index.lanes[thread as usize].accesses[at as usize]);
    let steps = if closed { visits.len() } else { visits.len() - 1 };
    for step in 0..steps {
        let (visit, next) = (visits[step], visits[(step + 1) % visits.len()]);
        let from = access(visit.thread, visit.leave);
        constraints.edge(index, from, access(next.thread, next.enter));
    }
    constraints
}

/// What happens next in an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The event at a position of the trace.
    Event,
    /// The write at a position of the trace reaches memory.
    Commit,
}

/// Runs the trace up to `last`; writes in the schedule commit when it says, all others at once
/// unless an earlier one of their thread waits.
pub(crate) fn run(
    trace: &[Event],
    last: Pos,
    schedule: &[(Pos, Pos)],
    mut emit: impl FnMut(Step, Pos),
) {
    let scheduled: HashSet<Pos> = schedule.iter().map(|&(_, write)| write).collect();
    // The oldest writes commit for as long as the schedule does not mention them.
    let settle = |buffer: &mut VecDeque<Pos>, emit: &mut dyn FnMut(Step, Pos)| {
        while let Some(&oldest) = buffer.front().filter(|write| !scheduled.contains(write)) {
            buffer.pop_front();
            emit(Step::Commit, oldest);
        }
    };
    let mut schedule = schedule.iter().copied().peekable();
    let mut buffers: HashMap<u32, VecDeque<Pos>> = HashMap::new();
    for pos in 0..=last.min(trace.len() as Pos - 1) {
        let event = &trace[pos as usize];
        emit(Step::Event, pos);
        let buffer = buffers.entry(event.thread.0).or_default();
        if let Action::Write(_) = event.action {
            buffer.push_back(pos);
        }
        settle(buffer, &mut emit);
        while let Some((_, write)) = schedule.next_if(|&(gap, _)| gap == pos) {
            let buffer = buffers.entry(trace[write as usize].thread.0).or_default();
            while let Some(oldest) = buffer.pop_front() {
                emit(Step::Commit, oldest);
                if oldest == write {
                    break;
                }
            }
            settle(buffer, &mut emit);
        }
    }
}

/// The same, as an execution; what is still open in the end is ended.
pub(crate) fn play(trace: &[Event], last: Pos, schedule: &[(Pos, Pos)]) -> Realized {
    let last = last.min(trace.len() as Pos - 1);
    let played = &trace[..=last as usize];
    let writes = played.iter().filter(|event| matches!(event.action, Action::Write(_))).count();
    let length = played.len() + writes;
    let mut done =
        Realized { execution: Vec::with_capacity(length), origin: Vec::with_capacity(length) };
    let mut open: HashMap<u32, Event> = HashMap::new();
    run(trace, last, schedule, |step, pos| {
        let event = trace[pos as usize];
        match (step, event.action) {
            (Step::Commit, Action::Write(x)) => {
                return done.push(Event { action: Action::Commit(x), ..event }, pos);
            }
            (Step::Event, Action::Begin(_)) => drop(open.insert(event.thread.0, event)),
            (Step::Event, Action::End | Action::Abort) => drop(open.remove(&event.thread.0)),
            _ => {}
        }
        done.push(event, pos);
    });
    let mut unfinished: Vec<(u32, Event)> = open.into_iter().collect();
    unfinished.sort_unstable_by_key(|&(thread, _)| thread);
    for (_, begin) in unfinished {
        done.push(Event { action: Action::End, ..begin }, last);
    }
    done
}

impl Realized {
    fn push(&mut self, event: Event, origin: Pos) {
        self.execution.push(event);
        self.origin.push(origin);
    }
}
