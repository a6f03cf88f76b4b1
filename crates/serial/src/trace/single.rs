//! One execution of a long trace: its conflict graph as plain lists, and a short cycle in it.
//!
//! The [execution monitor](crate::execution) reads a run of any length as it streams by, and keeps what is
//! alive. Where most writes wait in buffers for long, that is everything, with all that a report would want to
//! know. Here the trace is in memory anyway: an edge is four numbers, the whole graph is drawn first by the
//! same rules (what each of them is for is said there), and then everything that lies on no cycle is taken
//! away from both ends. A cycle comes out as the walk that it makes through the threads, and is confirmed by
//! an execution of its own.

use std::collections::VecDeque;

use budget::{Budget, Spent};

use crate::event::{Action, Event};
use crate::execution::Question;
use crate::trace::index::{Index, NEVER, Pos, Timed};
use crate::trace::realize::{Step, Visit, run};

/// So many cycles are looked at for a short one.
const TRIES: usize = 16;

/// One unit precedes another, because of these accesses; or, within a thread, by its order.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    /// The access that comes first, counted over all threads, or [`NEVER`].
    leaves: u32,
    enters: u32,
}

/// A walk along a cycle of the execution with this schedule (see [`run`]) up to `last`, if it has one.
pub(crate) fn cycle(
    question: Question,
    trace: &[Event],
    index: &Index,
    schedule: &[(Pos, Pos)],
    last: Pos,
    budget: Budget,
) -> Result<Option<Vec<Visit>>, Spent> {
    let mut drawing = Drawing::new(question, index);
    let (mut ticker, mut spent) = (budget.ticker(), None);
    run(trace, last, schedule, |step, pos| {
        spent = spent.or_else(|| ticker.tick());
        if spent.is_none() {
            drawing.step(step, &trace[pos as usize]);
        }
    });
    spent.map_or(Ok(()), Err)?;
    let units = index.lanes.iter().map(|lane| lane.units.len()).sum();
    let graph = Graph::new(units, drawing.into_edges());
    Ok(graph.short_cycle(budget)?.map(|edges| visits(index, &edges)))
}

/// What is remembered of a thread while edges are drawn.
#[derive(Default)]
struct Lane {
    /// The number of its first access and unit among those of all threads.
    accesses: u32,
    units: u32,
    /// How many accesses and units it has had.
    next_access: u32,
    next_unit: u32,
    open: bool,
    /// Writes that have not reached memory.
    buffer: VecDeque<Buffered>,
    previous: Option<u32>,
    last_strong: Option<u32>,
    last_write: Option<u32>,
    /// Units with buffered reads since the last write or fence.
    buffered_reads: Vec<u32>,
    /// Per variable of the thread, the unit that accessed it last, or [`NEVER`].
    last_access: Vec<u32>,
}

struct Buffered {
    access: u32,
    /// Its thread's last read of it while it waits.
    reader: u32,
}

struct Drawing<'a> {
    question: Question,
    index: &'a Index,
    lanes: Vec<Lane>,
    /// Per variable, its last commit and the last of those who have read it since, or [`NEVER`].
    committed: Vec<u32>,
    readers: Vec<u32>,
    /// Per access that reads, who read before it since the last commit.
    earlier: Vec<u32>,
    edges: Vec<Edge>,
}

impl<'a> Drawing<'a> {
    fn new(question: Question, index: &'a Index) -> Self {
        let (mut accesses, mut units) = (0, 0);
        let mut lanes = Vec::new();
        for lane in &index.lanes {
            let last_access = match question.keeps_program_order() {
                true => Vec::new(),
                false => vec![NEVER; lane.vars.len()],
            };
            lanes.push(Lane { accesses, units, last_access, ..Lane::default() });
            accesses += lane.accesses.len() as u32;
            units += lane.units.len() as u32;
        }
        let vars = index.vars();
        Drawing {
            question,
            index,
            lanes,
            committed: vec![NEVER; vars],
            readers: vec![NEVER; vars],
            earlier: vec![NEVER; accesses as usize],
            edges: Vec::new(),
        }
    }

    /// The edges; everything else is given back.
    fn into_edges(mut self) -> Vec<Edge> {
        self.edges.shrink_to_fit();
        self.edges
    }

    fn step(&mut self, step: Step, event: &Event) {
        let thread = event.thread.0 as usize;
        if step == Step::Commit {
            if let Some(Buffered { access, reader, .. }) = self.lanes[thread].buffer.pop_front() {
                self.overwrite(thread, access, reader);
            }
            return;
        }
        let of_transactions = self.question.of_transactions();
        match event.action {
            Action::Begin(_) => self.lanes[thread].open = of_transactions,
            Action::End | Action::Abort if of_transactions => {
                self.lanes[thread].open = false;
                self.lanes[thread].next_unit += 1;
            }
            Action::End | Action::Abort | Action::Commit(_) | Action::Unlock(_) => {}
            Action::Fence | Action::Lock(_) => self.fence(thread),
            Action::Read(_) => self.read(thread),
            Action::Write(_) => self.write(thread),
            Action::Rmw(_) => {
                let (id, _) = self.next(thread);
                self.overwrite(thread, id, NEVER);
                self.fence(thread);
            }
        }
    }

    fn access(&self, thread: usize, id: u32) -> &'a Timed {
        let at = id - self.lanes[thread].accesses;
        &self.index.lanes[thread].accesses[at as usize]
    }

    /// The next access of a thread.
    fn next(&mut self, thread: usize) -> (u32, &'a Timed) {
        let lane = &mut self.lanes[thread];
        let id = lane.accesses + lane.next_access;
        lane.next_access += 1;
        (id, self.access(thread, id))
    }

    /// The unit of what the thread does now.
    fn unit(&self, thread: usize) -> u32 {
        self.lanes[thread].units + self.lanes[thread].next_unit
    }

    fn close_single(&mut self, thread: usize) {
        if !self.lanes[thread].open {
            self.lanes[thread].next_unit += 1;
        }
    }

    /// Within the thread.
    fn order(&mut self, from: Option<u32>, to: u32) {
        if let Some(from) = from.filter(|&from| from != to && from != NEVER) {
            self.edges.push(Edge { from, to, leaves: NEVER, enters: NEVER });
        }
    }

    /// From an access to another, if that is of another thread.
    fn conflict(&mut self, leaves: u32, thread: usize, enters: u32) {
        if leaves == NEVER {
            return;
        }
        let owner = self.lanes.partition_point(|lane| lane.accesses <= leaves) - 1;
        if owner == thread {
            return;
        }
        let from = self.lanes[owner].units + self.access(owner, leaves).unit;
        let to = self.lanes[thread].units + self.access(thread, enters).unit;
        self.edges.push(Edge { from, to, leaves, enters });
    }

    fn read(&mut self, thread: usize) {
        let (id, access) = self.next(thread);
        let (me, var) = (self.unit(thread), access.var as usize);
        let lane = &mut self.lanes[thread];
        match self.question.keeps_program_order() {
            true => {
                let previous = lane.previous.replace(me);
                self.order(previous, me);
            }
            false => {
                let before = std::mem::replace(&mut lane.last_access[access.slot as usize], me);
                let strong = lane.last_strong;
                self.order(Some(before), me);
                self.order(strong, me);
            }
        }
        // The write that would serve it, if that still waits.
        let Lane { accesses: first, buffer, .. } = &mut self.lanes[thread];
        let accesses = &self.index.lanes[thread].accesses;
        let issued = |write: &Buffered| accesses[(write.access - *first) as usize].pos;
        let at = buffer.partition_point(|write| issued(write) < access.bound_by);
        let serving = buffer.get_mut(at).filter(|write| issued(write) == access.bound_by);
        match serving {
            // It becomes a reader when that write commits, and follows what that write follows.
            Some(write) => write.reader = id,
            None => {
                self.earlier[id as usize] = std::mem::replace(&mut self.readers[var], id);
                self.conflict(self.committed[var], thread, id);
            }
        }
        let lane = &mut self.lanes[thread];
        if access.bound_by == NEVER {
            lane.last_strong = Some(me);
        } else if lane.buffered_reads.last() != Some(&me) {
            lane.buffered_reads.push(me);
        }
        self.close_single(thread);
    }

    /// Everything earlier in the thread precedes a write or a fence.
    fn after_all(&mut self, thread: usize, me: u32) {
        let lane = &mut self.lanes[thread];
        let previous = lane.previous.replace(me);
        let (strong, write) = (lane.last_strong, lane.last_write);
        let reads = std::mem::take(&mut lane.buffered_reads);
        if self.question.keeps_program_order() {
            self.order(previous, me);
        } else {
            self.order(strong, me);
            self.order(write, me);
            reads.iter().for_each(|&read| self.order(Some(read), me));
        }
        self.lanes[thread].buffered_reads = reads;
        self.lanes[thread].buffered_reads.clear();
    }

    fn write(&mut self, thread: usize) {
        let (id, access) = self.next(thread);
        let me = self.unit(thread);
        self.after_all(thread, me);
        let lane = &mut self.lanes[thread];
        lane.buffer.push_back(Buffered { access: id, reader: NEVER });
        lane.last_write = Some(me);
        if let Some(last) = lane.last_access.get_mut(access.slot as usize) {
            *last = me;
        }
        self.close_single(thread);
    }

    fn fence(&mut self, thread: usize) {
        let me = self.unit(thread);
        self.after_all(thread, me);
        self.lanes[thread].last_strong = Some(me);
        self.close_single(thread);
    }

    /// Memory holds what an access wrote.
    fn overwrite(&mut self, thread: usize, id: u32, own_reader: u32) {
        let var = self.access(thread, id).var as usize;
        self.conflict(self.committed[var], thread, id);
        let mut reader = std::mem::replace(&mut self.readers[var], own_reader);
        while reader != NEVER {
            self.conflict(reader, thread, id);
            reader = self.earlier[reader as usize];
        }
        self.committed[var] = id;
    }
}

/// The edges by where they begin.
struct Graph {
    edges: Vec<Edge>,
    begins: Vec<u32>,
}

impl Graph {
    fn new(units: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable_by_key(|edge| edge.from);
        let mut begins = vec![0; units + 1];
        edges.iter().for_each(|edge| begins[edge.from as usize + 1] += 1);
        for unit in 1..begins.len() {
            begins[unit] += begins[unit - 1];
        }
        Graph { edges, begins }
    }

    fn out(&self, unit: u32) -> &[Edge] {
        let unit = unit as usize;
        &self.edges[self.begins[unit] as usize..self.begins[unit + 1] as usize]
    }

    /// Whether each unit is left when those without a predecessor, and then those without a successor,
    /// are taken away for as long as there are any: on a cycle, or between two.
    fn core(&self) -> Vec<bool> {
        let units = self.begins.len() - 1;
        let mut left = vec![true; units];
        let mut into = vec![0u32; units];
        self.edges.iter().for_each(|edge| into[edge.to as usize] += 1);
        let mut bare: Vec<u32> =
            (0..units as u32).filter(|&unit| into[unit as usize] == 0).collect();
        while let Some(unit) = bare.pop() {
            left[unit as usize] = false;
            for edge in self.out(unit) {
                into[edge.to as usize] -= 1;
                if into[edge.to as usize] == 0 {
                    bare.push(edge.to);
                }
            }
        }
        drop(into);
        // Backwards, along the edges that are left, by where they end.
        let mut by_end: Vec<(u32, u32)> =
            self.edges.iter().map(|edge| (edge.to, edge.from)).collect();
        by_end.retain(|&(to, from)| left[to as usize] && left[from as usize]);
        by_end.sort_unstable();
        let mut out = vec![0u32; units];
        by_end.iter().for_each(|&(_, from)| out[from as usize] += 1);
        bare.extend((0..units as u32).filter(|&at| left[at as usize] && out[at as usize] == 0));
        while let Some(unit) = bare.pop() {
            left[unit as usize] = false;
            let first = by_end.partition_point(|&(to, _)| to < unit);
            for &(_, from) in by_end[first..].iter().take_while(|&&(to, _)| to == unit) {
                out[from as usize] -= 1;
                if out[from as usize] == 0 {
                    bare.push(from);
                }
            }
        }
        left
    }

    fn short_cycle(&self, budget: Budget) -> Result<Option<Vec<Edge>>, Spent> {
        let core = self.core();
        let inside: Vec<u32> = (0..core.len() as u32).filter(|&unit| core[unit as usize]).collect();
        let mut best: Option<Vec<Edge>> = None;
        // By which of the searches a unit was reached, and along which edge.
        let mut seen: Vec<(u32, u32)> = vec![(0, 0); core.len()];
        let mut stamp = 0;
        for attempt in 0..TRIES.min(inside.len()) {
            budget.spent().map_or(Ok(()), Err)?;
            // Everything here has a successor here: a way that does not stop comes back to itself.
            let mut unit = inside[attempt * inside.len() / TRIES.min(inside.len())];
            stamp += 1;
            while std::mem::replace(&mut seen[unit as usize].0, stamp) != stamp {
                let next = self.out(unit).iter().find(|edge| core[edge.to as usize]);
                let Some(next) = next else { break };
                unit = next.to;
            }
            stamp += 1;
            let shortest = self.through(unit, &core, &mut seen, stamp);
            let most = best.as_ref().map_or(usize::MAX, Vec::len);
            best = shortest.filter(|cycle| cycle.len() < most).or(best);
        }
        Ok(best)
    }

    /// The shortest cycle through a unit.
    fn through(
        &self,
        unit: u32,
        core: &[bool],
        seen: &mut [(u32, u32)],
        stamp: u32,
    ) -> Option<Vec<Edge>> {
        let mut queue = VecDeque::from([unit]);
        while let Some(at) = queue.pop_front() {
            for (edge, number) in self.out(at).iter().zip(self.begins[at as usize]..) {
                let to = edge.to as usize;
                if !core[to] || seen[to].0 == stamp {
                    continue;
                }
                seen[to] = (stamp, number);
                if edge.to != unit {
                    queue.push_back(edge.to);
                    continue;
                }
                let mut cycle = vec![*edge];
                while cycle[cycle.len() - 1].from != unit {
                    let from = cycle[cycle.len() - 1].from;
                    cycle.push(self.edges[seen[from as usize].1 as usize]);
                }
                cycle.reverse();
                return Some(cycle);
            }
        }
        None
    }
}

/// The walk along a cycle: between two conflicts it is in one thread.
fn visits(index: &Index, cycle: &[Edge]) -> Vec<Visit> {
    let mut begins = Vec::new();
    let mut accesses = 0;
    for lane in &index.lanes {
        begins.push(accesses);
        accesses += lane.accesses.len() as u32;
    }
    let conflicts: Vec<&Edge> = cycle.iter().filter(|edge| edge.leaves != NEVER).collect();
    let next = conflicts.iter().cycle().skip(1);
    let visit = |(into, out): (&&Edge, &&Edge)| {
        let thread = begins.partition_point(|&begin| begin <= into.enters) - 1;
        let (enter, leave) = (into.enters - begins[thread], out.leaves - begins[thread]);
        Visit { thread: thread as u32, enter, leave }
    };
    conflicts.iter().zip(next).map(visit).collect()
}
