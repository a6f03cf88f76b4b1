//! What a conflict graph means for the future.
//!
//! The graph of an execution grows without end, but a cycle is closed by an edge *to* a unit (a
//! transaction, or an event alone) that can still get edges: one that is open or has writes in the
//! buffer. Call these *receivers*; there are at most as many as threads and buffered writes. Edges
//! come *from* a few events of the past: a thread's last strong event and its last write, the last
//! commit of a variable and the reads since, and the like. All that matters of such a past event is
//! which receivers have a path to its unit, for an edge from it to one of them closes a cycle, and an
//! edge from it to any other extends their paths. So the summary keeps, for each of these events, the
//! set of receivers before it, and for each receiver the set of receivers before it. Everything else
//! about the graph is forgotten, and executions with equal summaries have the same future.
//!
//! Which edges are drawn, and why the rest follow by transitivity, is said at the monitor of
//! recorded executions, [`serial::execution`]. The two share no code; they are compared on random
//! programs.

use ::memory::store_buffer::{Entry, State};
use ::search::encoding::{Reader, put};
use ::serial::execution::Question;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// A set of receivers, by their numbers.
pub type Set = u128;

/// More receivers than a [`Set`] can hold.
pub const MOST_RECEIVERS: usize = Set::BITS as usize;

/// An edge was drawn that closes a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle;

/// Events that later ones may have to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Past {
    /// The receivers that they are events of.
    owners: Set,
    /// The receivers with a path to one of their units.
    before: Set,
}

impl Past {
    fn and(self, other: Past) -> Past {
        Past { owners: self.owners | other.owners, before: self.before | other.before }
    }
}

/// A unit that can still get edges. Receivers are ordered by thread, and by age within a thread.
#[derive(Clone, Copy, Debug)]
struct Receiver {
    thread: usize,
    /// Is it a transaction that has not ended?
    open: bool,
    /// How many of its writes wait in the buffer.
    pending: usize,
    before: Set,
}

/// A write in the buffer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    variable: usize,
    unit: usize,
    /// The last commit of the variable when it was issued.
    above: Past,
    /// The last read that it served.
    reader: Past,
}

/// What a thread remembers of a variable.
#[derive(Clone, Copy, Debug, Default)]
struct OwnVariable {
    access: Past,
    /// Written since the last fence: its reads count as buffered.
    unfenced: bool,
}

#[derive(Clone, Debug)]
struct Own {
    open: Option<usize>,
    buffer: VecDeque<Pending>,
    previous: Past,
    strong: Past,
    write: Past,
    buffered_reads: Past,
    variables: Vec<OwnVariable>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    commit: Past,
    readers: Past,
}

/// The summary of a conflict graph.
#[derive(Clone, Debug)]
pub struct Summary {
    question: Question,
    receivers: Vec<Receiver>,
    threads: Vec<Own>,
    variables: Vec<Shared>,
}

impl Summary {
    /// That of the empty graph.
    pub fn new(question: Question, threads: usize, variables: usize) -> Self {
        let own = Own {
            open: None,
            buffer: VecDeque::new(),
            previous: Past::default(),
            strong: Past::default(),
            write: Past::default(),
            buffered_reads: Past::default(),
            variables: vec![OwnVariable::default(); variables],
        };
        Summary {
            question,
            receivers: Vec::new(),
            threads: vec![own; threads],
            variables: vec![Shared::default(); variables],
        }
    }

    /// How many units can still get edges.
    pub fn receivers(&self) -> usize {
        self.receivers.len()
    }

    /// A transaction begins.
    pub fn begin(&mut self, thread: usize) {
        if self.question.of_transactions() {
            self.threads[thread].open = Some(self.add_receiver(thread, true));
        }
    }

    /// The transaction ends.
    pub fn end(&mut self, thread: usize) {
        if let Some(unit) = self.threads[thread].open.take() {
            self.receivers[unit].open = false;
            self.finish_if_quiet(unit);
        }
    }

    /// A read.
    pub fn read(&mut self, thread: usize, variable: usize) -> Result<(), Cycle> {
        let own = &self.threads[thread];
        let buffered = own.variables[variable].unfenced;
        let serving = own.buffer.iter().rposition(|write| write.variable == variable);
        let mut pasts: SmallVec<[Past; 4]> = match self.question.keeps_program_order() {
            true => SmallVec::from_slice(&[own.previous]),
            false => SmallVec::from_slice(&[own.strong, own.variables[variable].access]),
        };
        pasts.push(match serving {
            Some(at) => own.buffer[at].above,
            None => self.variables[variable].commit,
        });
        let me = self.draw(self.threads[thread].open, &pasts)?;
        let own = &mut self.threads[thread];
        match serving {
            Some(at) => own.buffer[at].reader = me,
            None => {
                let readers = &mut self.variables[variable].readers;
                *readers = readers.and(me);
            }
        }
        match buffered {
            true => own.buffered_reads = own.buffered_reads.and(me),
            false => own.strong = me,
        }
        own.previous = me;
        own.variables[variable].access = me;
        Ok(())
    }

    /// A write enters the buffer.
    pub fn write(&mut self, thread: usize, variable: usize) -> Result<(), Cycle> {
        let unit = match self.threads[thread].open {
            Some(unit) => unit,
            None => self.add_receiver(thread, false),
        };
        let pasts = self.all_of(thread);
        let me = self.draw(Some(unit), &pasts)?;
        self.receivers[unit].pending += 1;
        let above = self.variables[variable].commit;
        let own = &mut self.threads[thread];
        own.buffer.push_back(Pending { variable, unit, above, reader: Past::default() });
        own.buffered_reads = Past::default();
        own.write = me;
        own.previous = me;
        own.variables[variable] = OwnVariable { access: me, unfenced: true };
        Ok(())
    }

    /// A fence.
    pub fn fence(&mut self, thread: usize) -> Result<(), Cycle> {
        let pasts = self.all_of(thread);
        let me = self.draw(self.threads[thread].open, &pasts)?;
        let own = &mut self.threads[thread];
        // All that came before comes before the fence, and that before all that follows.
        own.strong = me;
        own.previous = me;
        own.write = Past::default();
        own.buffered_reads = Past::default();
        own.variables.fill(OwnVariable::default());
        Ok(())
    }

    /// The oldest write in the buffer reaches memory.
    pub fn commit(&mut self, thread: usize) -> Result<(), Cycle> {
        let Some(Pending { variable, unit, reader, .. }) = self.threads[thread].buffer.pop_front()
        else {
            return Ok(());
        };
        let Shared { commit, readers } = self.variables[variable];
        let me = self.draw(Some(unit), &[commit, readers])?;
        self.variables[variable] = Shared { commit: me, readers: reader };
        self.receivers[unit].pending -= 1;
        self.finish_if_quiet(unit);
        Ok(())
    }

    /// The thread will do nothing more, except that its writes reach memory.
    pub fn retire(&mut self, thread: usize) {
        let own = &mut self.threads[thread];
        own.previous = Past::default();
        own.strong = Past::default();
        own.write = Past::default();
        own.buffered_reads = Past::default();
        own.variables.fill(OwnVariable::default());
    }

    /// Everything of the thread that a write or a fence must follow.
    fn all_of(&self, thread: usize) -> SmallVec<[Past; 4]> {
        let own = &self.threads[thread];
        match self.question.keeps_program_order() {
            true => SmallVec::from_slice(&[own.previous]),
            false => SmallVec::from_slice(&[own.strong, own.write, own.buffered_reads]),
        }
    }

    /// Draws edges from `pasts` to an event of `unit`, or to an event alone; the event as a past.
    fn draw(&mut self, unit: Option<usize>, pasts: &[Past]) -> Result<Past, Cycle> {
        let past = self.closed(pasts.iter().fold(Past::default(), |all, past| all.and(*past)));
        let Some(unit) = unit else {
            return Ok(Past { owners: 0, before: past.before | past.owners });
        };
        let me: Set = 1 << unit;
        if past.before & me != 0 {
            return Err(Cycle);
        }
        let earlier = (past.before | past.owners) & !me;
        self.receivers[unit].before |= earlier;
        self.each_past(|past| {
            if past.before & me != 0 {
                past.before |= earlier;
            }
        });
        Ok(Past { owners: me, before: self.receivers[unit].before })
    }

    /// The same past, in the form that says it once: paths through owners are paths, and an owner
    /// with a path to another owner's event is before it anyway.
    fn closed(&self, past: Past) -> Past {
        let mut before = past.before;
        for unit in members(past.owners) {
            before |= self.receivers[unit].before;
        }
        Past { owners: past.owners & !before, before }
    }

    fn add_receiver(&mut self, thread: usize, open: bool) -> usize {
        let at = self.receivers.partition_point(|receiver| receiver.thread <= thread);
        let low: Set = (1 << at) - 1;
        self.renumber(|set| set & low | (set & !low) << 1, |unit| unit + usize::from(unit >= at));
        self.receivers.insert(at, Receiver { thread, open, pending: 0, before: 0 });
        at
    }

    fn finish_if_quiet(&mut self, unit: usize) {
        let Receiver { open: false, pending: 0, before, .. } = self.receivers[unit] else { return };
        // What its events follow, they still do; it is only no longer asked itself.
        let me: Set = 1 << unit;
        self.each_past(|past| {
            if past.owners & me != 0 {
                past.before |= before;
            }
        });
        self.receivers.remove(unit);
        let low = me - 1;
        self.renumber(|set| set & low | set >> 1 & !low, |other| other - usize::from(other > unit));
    }

    /// Calls `change` for every past, and for what is before a receiver as if it were one.
    fn each_past(&mut self, mut change: impl FnMut(&mut Past)) {
        for receiver in &mut self.receivers {
            let mut past = Past { owners: 0, before: receiver.before };
            change(&mut past);
            receiver.before = past.before;
        }
        for own in &mut self.threads {
            own.buffer.iter_mut().for_each(|write| {
                change(&mut write.above);
                change(&mut write.reader);
            });
            change(&mut own.previous);
            change(&mut own.strong);
            change(&mut own.write);
            change(&mut own.buffered_reads);
            own.variables.iter_mut().for_each(|own| change(&mut own.access));
        }
        for variable in &mut self.variables {
            change(&mut variable.commit);
            change(&mut variable.readers);
        }
    }

    fn renumber(&mut self, set: impl Fn(Set) -> Set, unit: impl Fn(usize) -> usize) {
        self.each_past(|past| *past = Past { owners: set(past.owners), before: set(past.before) });
        for own in &mut self.threads {
            own.open = own.open.map(&unit);
            own.buffer.iter_mut().for_each(|write| write.unit = unit(write.unit));
        }
    }

    /// Brings it into the form in which equal summaries are equal, and writes that to `out`. The
    /// variables of buffered writes are left out: the machine's buffers have them.
    pub fn encode(&mut self, out: &mut Vec<u8>) {
        let before: SmallVec<[Set; 16]> = self.receivers.iter().map(|r| r.before).collect();
        self.each_past(|past| {
            for unit in members(past.owners) {
                past.before |= before[unit];
            }
            past.owners &= !past.before;
        });
        let program_order = self.question.keeps_program_order();
        let put_past = |past: &Past, out: &mut Vec<u8>| {
            put(past.owners, out);
            put(past.before, out);
        };
        put(self.receivers.len() as Set, out);
        for receiver in &self.receivers {
            put((receiver.thread as Set) << 1 | Set::from(receiver.open), out);
            put(receiver.before, out);
        }
        for own in &self.threads {
            for write in &own.buffer {
                put(write.unit as Set, out);
                put_past(&write.above, out);
                put_past(&write.reader, out);
            }
            if program_order {
                put_past(&own.previous, out);
            } else {
                put_past(&own.strong, out);
                put_past(&own.write, out);
                put_past(&own.buffered_reads, out);
                for variable in &own.variables {
                    put_past(&variable.access, out);
                    out.push(variable.unfenced.into());
                }
            }
        }
        for variable in &self.variables {
            put_past(&variable.commit, out);
            put_past(&variable.readers, out);
        }
    }

    /// The summary that was written next, of an execution that leads to `state`.
    pub fn decode(question: Question, state: &State, from: &mut Reader<'_>) -> Self {
        let mut summary = Summary::new(question, state.threads.len(), state.shared.memory.len());
        for unit in 0..from.take_index() {
            let (thread, before) = (from.take_index(), from.take());
            let (thread, open) = (thread >> 1, thread & 1 == 1);
            summary.receivers.push(Receiver { thread, open, pending: 0, before });
            if open {
                summary.threads[thread].open = Some(unit);
            }
        }
        let take_past = |from: &mut Reader<'_>| Past { owners: from.take(), before: from.take() };
        for (own, buffers) in summary.threads.iter_mut().zip(&state.shared.buffers) {
            for entry in &buffers.all {
                let Entry::Store(loc, ..) = entry else { continue };
                let unit = from.take_index();
                let (above, reader) = (take_past(from), take_past(from));
                own.buffer.push_back(Pending { variable: loc.index(), unit, above, reader });
                summary.receivers[unit].pending += 1;
            }
            if question.keeps_program_order() {
                own.previous = take_past(from);
            } else {
                own.strong = take_past(from);
                own.write = take_past(from);
                own.buffered_reads = take_past(from);
                for variable in &mut own.variables {
                    let (access, unfenced) = (take_past(from), from.take() == 1);
                    *variable = OwnVariable { access, unfenced };
                }
            }
        }
        for variable in &mut summary.variables {
            let (commit, readers) = (take_past(from), take_past(from));
            *variable = Shared { commit, readers };
        }
        summary
    }
}

/// The members of a set.
fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}
