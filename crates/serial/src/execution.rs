//! Monitoring an execution, in one pass and with memory for the live transactions only.
//!
//! Three questions, one machine. *TSO-serializable*: the conflict graph under the TSO conflict
//! relation (Section 4.1) is acyclic (Theorem 1). *SC-serializable*: the same with all program order
//! kept and each write one event with its commit. *SC-equivalent* (this execution is robust): as
//! before, with every event a unit of its own (Theorem 10, the write-contraction).
//!
//! The monitor does not draw every conflict, only enough that the rest follow by transitivity:
//!
//! * between threads, per variable: the last commit, and per thread the last read since;
//! * a read served from its own buffer does not conflict with commits that happen before its write
//!   commits. It is parked at the buffered write, and becomes a reader when that write commits;
//! * within a thread under TSO: a *strong* event (fence, unbuffered read) precedes everything later;
//!   a write or fence follows everything earlier; accesses to one variable follow each other.
//!
//! A read-modify-write is a fence, and for other threads both a read and a commit. A lock that is taken is a
//! fence as well; one that is given back orders nothing that is not ordered anyway.
//!
//! The definition's other same-thread conflicts (commit with commit, commit with fence) join
//! transactions that the issues of those writes already join.

mod tables;

use std::collections::{HashSet, VecDeque};

use crate::event::{Action, Event, Var};
use crate::graph::{Cycle, Graph, Node, push_lean};
use crate::witness::{self, Access, EdgeKind, Record, Step, Unit, Violation};
use tables::{FEW_VARS, Table, VarState, Vars};

/// What is asked of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Question {
    /// Do the transactions look atomic, with the reorderings that TSO grants also between them?
    TsoSerializable,
    /// Do they look atomic in the order in which the program has its events?
    ScSerializable,
    /// Is the execution one that sequential consistency could have shown?
    ScEquivalent,
}

impl Question {
    /// All of them.
    pub const ALL: [Question; 3] =
        [Question::TsoSerializable, Question::ScSerializable, Question::ScEquivalent];

    /// As the reports write it.
    pub fn text(self) -> &'static str {
        match self {
            Question::TsoSerializable => "TSO-serializable",
            Question::ScSerializable => "SC-serializable",
            Question::ScEquivalent => "SC-equivalent",
        }
    }

    /// Whether all program order counts, or only what TSO preserves.
    pub fn keeps_program_order(self) -> bool {
        match self {
            Question::TsoSerializable => false,
            Question::ScSerializable | Question::ScEquivalent => true,
        }
    }

    /// Whether the units are transactions (or else single events).
    pub fn of_transactions(self) -> bool {
        match self {
            Question::TsoSerializable | Question::ScSerializable => true,
            Question::ScEquivalent => false,
        }
    }
}

/// An event and the unit it belongs to.
#[derive(Clone, Copy)]
struct Mention {
    node: Node,
    access: Access,
}

/// Why one unit precedes another: an event of each.
#[derive(Clone, Copy)]
struct Why {
    leaves: Access,
    enters: Access,
    /// False if the edge leads through units that were contracted.
    direct: bool,
}

/// What is kept with each live unit.
#[derive(Default)]
struct Body {
    unit: Option<Unit>,
    open: bool,
    uncommitted: u32,
    records: Vec<Record>,
    /// Records were dropped because the unit is very long.
    cut: bool,
}

/// Longer units keep only their first events for the report.
const MOST_RECORDS: usize = 1_000;

struct Buffered {
    node: Node,
    /// When it was issued.
    issued: u64,
    /// The last commit to the variable when it was issued.
    above: Option<Mention>,
    /// Its thread's last read of it while buffered.
    reader: Option<Mention>,
    /// Records of the reads it served.
    served: Vec<(Node, u32)>,
}

struct ThreadState {
    open: Option<Node>,
    buffer: VecDeque<Buffered>,
    issued: u64,
    committed: u64,
    issued_at_fence: u64,
    previous: Option<Mention>,
    last_strong: Option<Mention>,
    last_write: Option<Mention>,
    /// Buffered reads since the last write or fence.
    buffered_reads: Vec<Mention>,
    /// By variable, the number of the thread's last write; those before the last fence may be missing.
    written: Table<u64>,
    /// By variable, the last access; none where program order is kept, which joins all of them anyway.
    accessed: Table<Mention>,
}

impl ThreadState {
    fn new(few_vars: usize) -> Self {
        ThreadState {
            open: None,
            buffer: VecDeque::new(),
            issued: 0,
            committed: 0,
            issued_at_fence: 0,
            previous: None,
            last_strong: None,
            last_write: None,
            buffered_reads: Vec::new(),
            written: Table::new(few_vars),
            accessed: Table::new(few_vars),
        }
    }
}

/// How much a monitor is holding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Events seen.
    pub events: u64,
    /// Units (transactions or events) alive now.
    pub live: usize,
    /// The most ever alive together.
    pub peak: usize,
}

/// Watches one execution for one question. Feed it valid executions (see
/// [`Machine`](crate::machine::Machine)); a commit without a write is ignored.
pub struct ExecutionMonitor {
    question: Question,
    graph: Graph<Body, Why>,
    threads: Vec<ThreadState>,
    vars: Vars,
    now: u64,
    violation: Option<Violation>,
    before: Vec<Mention>,
    spare: Vec<Vec<(Node, u32)>>,
    /// Contract when more units than this are alive.
    most_live: usize,
    least_limit: usize,
    /// Tables with more variables are swept.
    few_vars: usize,
}

/// Up to this many live units the monitor does not think about contracting.
const COMFORTABLE: usize = 50_000;

impl ExecutionMonitor {
    /// A monitor that has seen nothing.
    pub fn new(question: Question) -> Self {
        Self::with_limit(question, COMFORTABLE)
    }

    /// A monitor that contracts its graph when more than `limit` units are alive, and sweeps its tables, too. A unit that stays
    /// open keeps alive what follows it; without contraction memory would grow until it ends.
    pub fn with_limit(question: Question, limit: usize) -> Self {
        let few_vars = limit.min(FEW_VARS);
        ExecutionMonitor {
            most_live: limit,
            least_limit: limit,
            question,
            graph: Graph::new(),
            threads: Vec::new(),
            vars: Vars::new(few_vars),
            few_vars,
            now: 0,
            violation: None,
            before: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// The first violation seen.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The first violation seen, taken out.
    pub fn into_violation(self) -> Option<Violation> {
        self.violation
    }

    /// How much the monitor holds.
    pub fn load(&self) -> Load {
        Load { events: self.now, live: self.graph.live(), peak: self.graph.peak() }
    }

    /// Takes in the next event of the execution. After a violation nothing more is looked at.
    pub fn step(&mut self, event: &Event) {
        let at = self.now;
        self.now += 1;
        if self.violation.is_some() {
            return;
        }
        let thread = event.thread.0 as usize;
        if self.threads.len() <= thread {
            let few_vars = self.few_vars;
            self.threads.resize_with(thread + 1, || ThreadState::new(few_vars));
        }
        let Event { thread: who, action, line, place, data } = *event;
        let access = Access { at, thread: who, action, line, place, data };
        match action {
            Action::Begin(_) => self.begin(thread, access),
            Action::End | Action::Abort => self.end(thread),
            Action::Unlock(_) => {}
            Action::Rmw(x) => self.rmw(thread, x, access),
            Action::Read(x) => self.read(thread, x, access),
            Action::Write(x) => self.write(thread, x, access),
            Action::Commit(x) => self.commit(thread, x, access),
            Action::Fence | Action::Lock(_) => self.fence(thread, access),
        }
        if self.graph.live() > self.most_live && self.violation.is_none() {
            self.contract();
        }
    }

    /// Takes units out of the graph that are over and that no later event will be compared with.
    fn contract(&mut self) {
        let mut needed: HashSet<Node> = HashSet::new();
        for state in &self.threads {
            needed.extend(state.open);
            let writes = state.buffer.iter().flat_map(|w| [w.above, w.reader]).flatten();
            let last = [state.previous, state.last_strong, state.last_write].into_iter().flatten();
            let own = state.accessed.values();
            let mentions =
                writes.chain(last).chain(own).chain(state.buffered_reads.iter().copied());
            needed.extend(mentions.map(|mention| mention.node));
        }
        let accessed = self.vars.iter().flat_map(|var| var.mentions());
        needed.extend(accessed.map(|mention| mention.node));
        self.graph.contract(
            |node| needed.contains(&node),
            |first, last| Why { leaves: first.leaves, enters: last.enters, direct: false },
        );
        self.most_live = self.least_limit.max(2 * self.graph.live());
    }

    fn begin(&mut self, thread: usize, access: Access) {
        if self.question.of_transactions() {
            self.threads[thread].open = Some(self.new_unit(access, false));
        }
    }

    fn end(&mut self, thread: usize) {
        if let Some(node) = self.threads[thread].open.take() {
            if let Some(body) = self.graph.data_mut(node) {
                body.open = false;
            }
            self.finish_if_quiet(node);
        }
    }

    fn new_unit(&mut self, access: Access, single: bool) -> Node {
        let node = self.graph.add_node();
        let label = match access.action {
            Action::Begin(label) => label,
            _ => None,
        };
        if let Some(body) = self.graph.data_mut(node) {
            body.unit = Some(Unit { thread: access.thread, label, line: access.line, single });
            body.open = !single;
            body.uncommitted = 0;
            body.records.clear();
            body.cut = false;
        }
        node
    }

    fn finish_if_quiet(&mut self, node: Node) {
        if self.graph.data(node).is_some_and(|body| !body.open && body.uncommitted == 0) {
            self.graph.finish(node);
        }
    }

    /// The unit of an event that happens now, and the event in it.
    fn mention(&mut self, thread: usize, access: Access) -> Mention {
        let node = match self.threads[thread].open {
            Some(node) => node,
            None => self.new_unit(access, true),
        };
        Mention { node, access }
    }

    fn record(&mut self, node: Node, record: Record) -> u32 {
        let Some(body) = self.graph.data_mut(node) else { return u32::MAX };
        if body.records.len() < MOST_RECORDS {
            push_lean(&mut body.records, record);
            body.records.len() as u32 - 1
        } else {
            body.cut = true;
            u32::MAX
        }
    }

    /// Draws the edges from `self.before` to `to`.
    fn draw(&mut self, to: Mention) {
        let mut before = std::mem::take(&mut self.before);
        for from in before.drain(..) {
            let why = Why { leaves: from.access, enters: to.access, direct: true };
            if let Err(cycle) = self.graph.add_edge(from.node, to.node, why) {
                self.violation = Some(self.explain(&cycle, from.node, to.node));
                break;
            }
        }
        before.clear();
        self.before = before;
    }

    /// The thread's last access to the variable, which `me` now is. Where program order is kept nobody asks.
    fn replace_access(&mut self, thread: usize, x: Var, me: Mention) -> Option<Mention> {
        if self.question.keeps_program_order() {
            return None;
        }
        let lives = |mention: Mention| self.graph.is_live(mention.node);
        self.threads[thread].accessed.insert(x, me, lives)
    }

    fn var(&mut self, x: Var) -> &mut VarState {
        self.vars.state(x, |mention| self.graph.is_live(mention.node))
    }

    fn read(&mut self, thread: usize, x: Var, access: Access) {
        let me = self.mention(thread, access);
        let last_access = self.replace_access(thread, x, me);
        let state = &self.threads[thread];
        let last_write = state.written.get(x).unwrap_or(0);
        let buffered = last_write > state.issued_at_fence;
        let pending = last_write.checked_sub(state.committed + 1);
        if self.question.keeps_program_order() {
            self.before.extend(state.previous);
        } else {
            self.before.extend(state.last_strong);
            self.before.extend(last_access);
        }
        let mut record = Record { access, buffered, sees_before: access.at, holds_from: access.at };
        match pending {
            Some(index) => {
                let write = &mut self.threads[thread].buffer[index as usize];
                self.before.extend(write.above);
                write.reader = Some(me);
                record.sees_before = write.issued;
                record.holds_from = u64::MAX;
            }
            None => {
                let state = self.var(x);
                let above = state.last_commit;
                match state.readers.iter_mut().find(|(reader, _)| *reader == access.thread) {
                    Some((_, last)) => *last = me,
                    None => push_lean(&mut state.readers, (access.thread, me)),
                }
                self.before.extend(above);
            }
        }
        let kept = self.record(me.node, record);
        let state = &mut self.threads[thread];
        if let (Some(index), true) = (pending, kept != u32::MAX) {
            state.buffer[index as usize].served.push((me.node, kept));
        }
        if !buffered {
            state.last_strong = Some(me);
        } else if state.buffered_reads.last().is_none_or(|last| last.node != me.node) {
            state.buffered_reads.push(me);
        }
        state.previous = Some(me);
        self.draw(me);
        self.close_single(thread, me.node);
    }

    /// Everything earlier in the thread precedes a write or a fence.
    fn after_all(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        if self.question.keeps_program_order() {
            self.before.extend(state.previous);
        } else {
            self.before.extend(state.last_strong);
            self.before.extend(state.last_write);
            self.before.append(&mut state.buffered_reads);
        }
        state.buffered_reads.clear();
    }

    fn write(&mut self, thread: usize, x: Var, access: Access) {
        let me = self.mention(thread, access);
        self.record(me.node, plain(access));
        self.after_all(thread);
        let above = self.vars.last_commit(x);
        let served = self.spare.pop().unwrap_or_default();
        let state = &mut self.threads[thread];
        state.issued += 1;
        let number = state.issued;
        let issued = access.at;
        state.buffer.push_back(Buffered { node: me.node, issued, above, reader: None, served });
        state.last_write = Some(me);
        state.previous = Some(me);
        let fenced = state.issued_at_fence;
        state.written.insert(x, number, |write| write > fenced);
        self.replace_access(thread, x, me);
        if let Some(body) = self.graph.data_mut(me.node) {
            body.uncommitted += 1;
        }
        self.draw(me);
    }

    fn fence(&mut self, thread: usize, access: Access) {
        let me = self.mention(thread, access);
        self.record(me.node, plain(access));
        self.fence_as(thread, me);
    }

    fn rmw(&mut self, thread: usize, x: Var, access: Access) {
        let me = self.mention(thread, access);
        self.record(me.node, plain(access));
        self.overwrite(x, me, None);
        self.fence_as(thread, me);
    }

    /// Everything earlier in the thread precedes `me`, and `me` everything later.
    fn fence_as(&mut self, thread: usize, me: Mention) {
        self.after_all(thread);
        let state = &mut self.threads[thread];
        state.last_strong = Some(me);
        state.previous = Some(me);
        state.issued_at_fence = state.issued;
        self.draw(me);
        self.close_single(thread, me.node);
    }

    fn commit(&mut self, thread: usize, x: Var, access: Access) {
        let state = &mut self.threads[thread];
        let Some(mut write) = state.buffer.pop_front() else { return };
        state.committed += 1;
        let me = Mention { node: write.node, access };
        self.record(me.node, plain(access));
        for (node, index) in write.served.drain(..) {
            let body = self.graph.data_mut(node);
            if let Some(read) = body.and_then(|body| body.records.get_mut(index as usize)) {
                read.holds_from = access.at;
            }
        }
        self.spare.push(write.served);
        self.overwrite(x, me, write.reader);
        self.draw(me);
        if let Some(body) = self.graph.data_mut(me.node) {
            body.uncommitted = body.uncommitted.saturating_sub(1);
        }
        self.finish_if_quiet(me.node);
    }

    /// Memory holds what `me` wrote: after the last commit and what others have read since. `reader` is
    /// its thread's last read of it out of the buffer.
    fn overwrite(&mut self, x: Var, me: Mention, reader: Option<Mention>) {
        let mut before = std::mem::take(&mut self.before);
        let thread = me.access.thread;
        let var = self.var(x);
        before.extend(var.last_commit);
        before
            .extend(var.readers.drain(..).filter(|(who, _)| *who != thread).map(|(_, read)| read));
        var.last_commit = Some(me);
        var.readers.extend(reader.map(|read| (thread, read)));
        self.before = before;
    }

    /// An event outside transactions is over as soon as it has happened.
    fn close_single(&mut self, thread: usize, node: Node) {
        if self.threads[thread].open.is_none() {
            self.finish_if_quiet(node);
        }
    }

    /// Turns the cycle that `from → to` closes into a report, as short as the definition allows.
    fn explain(&self, cycle: &Cycle<Why>, from: Node, to: Node) -> Violation {
        let bodies: Vec<&Body> =
            self.graph.between(to, from).into_iter().filter_map(|n| self.graph.data(n)).collect();
        let whole = bodies.iter().all(|body| !body.cut);
        let units: Vec<(Unit, &[Record])> =
            bodies.iter().filter_map(|body| Some((body.unit?, &body.records[..]))).collect();
        let shortest = whole.then(|| witness::shortest(&units, self.question)).flatten();
        if let Some(violation) = shortest.filter(|violation| violation.cycle.len() <= cycle.len()) {
            return violation;
        }
        let steps = cycle.iter().filter_map(|&(node, Why { leaves, enters, direct })| {
            let unit = self.graph.data(node)?.unit?;
            let kind = match (direct, leaves.thread == enters.thread) {
                (false, _) => EdgeKind::Indirect,
                (true, true) => EdgeKind::ProgramOrder,
                (true, false) => EdgeKind::Conflict,
            };
            Some(Step { unit, leaves, kind, enters })
        });
        Violation { question: self.question, cycle: steps.collect() }
    }
}

fn plain(access: Access) -> Record {
    Record { access, buffered: false, sees_before: access.at, holds_from: access.at }
}

/// Judges what some threads do in an execution held in memory, as if the others did nothing. Whether two
/// events conflict depends on what their own threads do: a cycle found is one of the whole execution, by the
/// positions that its events have there.
pub(crate) fn judge_among(
    question: Question,
    execution: &[Event],
    threads: &[u32],
) -> Option<Violation> {
    let mut monitor = ExecutionMonitor::new(question);
    for event in execution {
        if threads.contains(&event.thread.0) {
            monitor.step(event);
        } else {
            monitor.now += 1;
        }
        if monitor.violation.is_some() {
            break;
        }
    }
    monitor.into_violation()
}

/// Judges a whole execution held in memory.
pub fn judge(question: Question, execution: &[Event]) -> Option<Violation> {
    let mut monitor = ExecutionMonitor::new(question);
    for event in execution {
        monitor.step(event);
        if monitor.violation.is_some() {
            break;
        }
    }
    monitor.into_violation()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Shape, Style};

    /// Would catch a cycle that the other threads' events would break, and positions that are not those of
    /// the whole execution.
    #[test]
    fn the_threads_of_a_cycle_are_enough_to_show_it() {
        let (mut shown, mut absent) = (0, 0);
        for seed in 0..1_500 {
            let (threads, vars, events) = (3 + seed as usize % 3, 2 + seed as usize % 3, 16);
            let (commits, style, transaction) = (true, Style::Free, 1 + seed as usize % 3);
            let shape = Shape { threads, vars, events, transaction, commits, style, seed };
            let execution = shape.events();
            for question in Question::ALL {
                let whole = judge(question, &execution);
                let cycle = whole.iter().flat_map(|violation| &violation.cycle);
                let mut threads: Vec<u32> = cycle.map(|step| step.unit.thread.0).collect();
                if threads.is_empty() {
                    threads = vec![0, 1];
                }
                let found = judge_among(question, &execution, &threads);
                assert_eq!(found.is_some(), whole.is_some(), "seed {seed}, {question:?}");
                absent += usize::from(found.is_none());
                for step in found.iter().flat_map(|violation| &violation.cycle) {
                    shown += 1;
                    assert_eq!(step.leaves.event(), execution[step.leaves.at as usize]);
                    assert_eq!(step.enters.event(), execution[step.enters.at as usize]);
                }
            }
        }
        assert!(shown > 1_000 && absent > 500, "{shown} {absent}");
    }
}
