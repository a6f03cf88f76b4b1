//! Which placements of commits fit what was read.
//!
//! A trace fixes the moment of every event but the commits. What a read returned says more about these:
//! a read of another thread's write comes after its commit, a read of something older than a write comes
//! before that write's commit, and a lock is taken after what was written under it has reached memory.
//! This module turns a trace with values into a system of constraints, and answers two questions.
//!
//! *What is known about each commit alone?* A commit happens in a gap between two events; [`Windows`] has
//! the first and last gap that is left when every consequence that needs no guess is drawn.
//!
//! *Is there a placement in which certain commits come before others, and every read returns what it
//! returned?* [`Believed::solve`] searches for one. Each read needs an explanation: its thread's newest
//! write out of the buffer; a write that has reached memory and that nothing has overwritten (each other
//! write to the variable came before that one or comes after the read); or nobody's, the initial value.
//! Where several explain it, because equal values were written twice or a write's value is not known,
//! all are tried. An explanation is a conjunction of "before" between commits and events; those have a
//! solution iff no window becomes empty and no commits wait for each other in a circle, and then the
//! earliest moment of each is one. The search is exact. It takes time exponential in the number of
//! reads with more than one explanation in the worst case, and obeys its budget.
//!
//! *What is not said is not believed.* A read without value and source may have returned anything, a write
//! without a value may have written anything. An initial value is what the first read of it says.

mod orders;

use budget::{Budget, Spent};

use crate::event::{Action, Event, Source, Value};
use crate::hash::Map;
use crate::trace::index::{NEVER, Pos};
use orders::{Conflict, Orders, Write};

/// The gaps in which each write of a trace can commit.
#[derive(Debug)]
pub struct Windows {
    /// By position in the trace; an index of `bounds`, or `NEVER`.
    number: Vec<u32>,
    bounds: Vec<(Pos, Pos)>,
}

impl Windows {
    /// The first gap (after this position), and the position before which it must have committed.
    pub(crate) fn of(&self, pos: Pos) -> (Pos, Pos) {
        let known = self.number.get(pos as usize).and_then(|&at| self.bounds.get(at as usize));
        known.copied().unwrap_or((pos, NEVER))
    }
}

/// Orders that a placement is asked to have besides; by positions in the trace.
#[derive(Default, Debug)]
pub struct Asked {
    /// The commit of one write before that of another.
    pub(crate) before: Vec<(Pos, Pos)>,
    /// After an event, the commit of a write.
    pub(crate) after: Vec<(Pos, Pos)>,
    /// The commit of a write before an event.
    pub(crate) until: Vec<(Pos, Pos)>,
}

/// Why a trace cannot have happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unbelievable {
    /// The event that shows it, if there is one.
    pub at: Option<usize>,
    /// What is wrong.
    pub message: String,
}

/// A read that says what it returned.
#[derive(Clone, Copy, Debug)]
struct Read {
    pos: Pos,
    thread: u32,
    var: u32,
    got: Value,
    from: From,
    /// The last write of its thread to the variable before it.
    own: Option<u32>,
    /// A read-modify-write finds an empty buffer.
    rmw: bool,
}

/// What the recording says about the source of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Anybody,
    Nobody,
    Write(u32),
}

/// An explanation of a read, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// Its thread's newest write, out of the buffer.
    Buffer,
    /// This write, out of memory.
    Memory(u32),
    /// Nobody's.
    Initial,
    /// The write comes after the read.
    Later(u32),
    /// The write comes before the one that was read.
    Under(u32),
}

/// What was read in a trace, as constraints on its commits.
#[derive(Debug)]
pub struct Believed {
    orders: Orders,
    reads: Vec<Read>,
    /// Per variable and thread that writes it, its writes in order.
    writers: Map<u32, Vec<(u32, Vec<u32>)>>,
    /// Per write, its place in that list.
    nth: Vec<u32>,
    chosen: Vec<Option<Choice>>,
    initial: Map<u32, Value>,
    trail: Vec<Undo>,
    /// Reads that more than one placement explains.
    open: Vec<u32>,
    windows: Windows,
}

/// What is to be taken back, with how far the orders had come.
#[derive(Debug)]
enum Undo {
    Chosen(u32),
    Initial(u32),
}

type Tried<T> = Result<T, Conflict>;

impl Believed {
    /// What a trace says about its commits; nothing if it has no values and no locks.
    pub fn new(trace: &[Event]) -> Result<Option<Believed>, Unbelievable> {
        let tells = |event: &Event| {
            event.data.tells_read() || matches!(event.action, Action::Lock(_) | Action::Unlock(_))
        };
        if !trace.iter().any(tells) {
            return Ok(None);
        }
        let (orders, number) = orders_of(trace);
        let mut writers: Map<u32, Vec<(u32, Vec<u32>)>> = Map::default();
        let mut nth = Vec::with_capacity(orders.writes().len());
        for (index, write) in orders.writes().iter().enumerate() {
            let of_var = writers.entry(write.var).or_default();
            let at = of_var.iter().position(|(thread, _)| *thread == write.thread);
            let at = at.unwrap_or_else(|| {
                of_var.push((write.thread, Vec::new()));
                of_var.len() - 1
            });
            nth.push(of_var[at].1.len() as u32);
            of_var[at].1.push(index as u32);
        }
        let reads = reads_of(trace, &number, orders.writes())?;
        let mut believed = Believed {
            chosen: vec![None; reads.len()],
            orders,
            reads,
            writers,
            nth,
            initial: Map::default(),
            trail: Vec::new(),
            open: Vec::new(),
            windows: Windows { number, bounds: Vec::new() },
        };
        believed.draw_consequences()?;
        Ok(Some(believed))
    }

    /// The gaps that are left to each write.
    pub(crate) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// What needs no guess, until nothing more follows.
    fn draw_consequences(&mut self) -> Result<(), Unbelievable> {
        let mut open: Vec<u32> = (0..self.reads.len() as u32).collect();
        loop {
            let before = (self.orders.moves(), self.trail.len());
            let mut left = Vec::new();
            for &read in &open {
                match self.explain(read) {
                    Ok(None) => {}
                    Ok(Some(_)) => left.push(read),
                    Err(Conflict) => {
                        let at = Some(self.reads[read as usize].pos as usize);
                        let message =
                            "nothing explains this read: no order of the commits gives it what \
                                       it is said to have read"
                                .to_string();
                        return Err(Unbelievable { at, message });
                    }
                }
            }
            open = left;
            if before == (self.orders.moves(), self.trail.len()) {
                break;
            }
        }
        self.open = open;
        self.trail.clear();
        self.orders.forget_moves();
        self.windows.bounds = self.orders.bounds();
        Ok(())
    }

    /// A placement of all commits that fits what was read and what is asked: for each write the gap it
    /// commits in, in the order of commits. `None` if there is none.
    pub fn solve(
        &mut self,
        asked: &Asked,
        budget: Budget,
    ) -> Result<Option<Vec<(Pos, Pos)>>, Spent> {
        let found = self.search(asked, budget);
        self.undo((0, 0));
        found
    }

    fn mark(&self) -> (usize, usize) {
        (self.trail.len(), self.orders.moves())
    }

    fn undo(&mut self, (mark, moves): (usize, usize)) {
        for undo in self.trail.drain(mark..).rev() {
            match undo {
                Undo::Chosen(read) => self.chosen[read as usize] = None,
                Undo::Initial(var) => {
                    self.initial.remove(&var);
                }
            }
        }
        self.orders.undo(moves);
    }

    fn search(&mut self, asked: &Asked, budget: Budget) -> Result<Option<Vec<(Pos, Pos)>>, Spent> {
        if self.ask(asked).is_err() {
            return Ok(None);
        }
        struct Fork {
            at: usize,
            choices: Vec<Choice>,
            next: usize,
            mark: (usize, usize),
        }
        let mut ticker = budget.ticker();
        let mut forks: Vec<Fork> = Vec::new();
        let mut at = 0;
        loop {
            if let Some(spent) = ticker.tick() {
                return Err(spent);
            }
            let next = match self.open.get(at) {
                Some(&read) => self.explain(read),
                None => match self.orders.schedule() {
                    Some(schedule) => return Ok(Some(schedule)),
                    None => Err(Conflict),
                },
            };
            match next {
                Ok(None) => {
                    at += 1;
                    continue;
                }
                Ok(Some(choices)) => {
                    forks.push(Fork { at, choices, next: 0, mark: self.mark() });
                }
                Err(Conflict) => {}
            }
            // The next choice of the last fork that has one.
            loop {
                let Some(fork) = forks.last_mut() else { return Ok(None) };
                let (mark, choice) = (fork.mark, fork.choices.get(fork.next).copied());
                fork.next += 1;
                at = fork.at;
                self.undo(mark);
                match choice {
                    None => {
                        forks.pop();
                    }
                    Some(choice) if self.choose(self.open[at], choice).is_ok() => break,
                    Some(_) => {}
                }
            }
        }
    }

    fn ask(&mut self, asked: &Asked) -> Tried<()> {
        let number = |windows: &Windows, pos: Pos| windows.number[pos as usize];
        for &(first, second) in &asked.before {
            let (first, second) = (number(&self.windows, first), number(&self.windows, second));
            self.orders.before(first, second)?;
        }
        for &(event, write) in &asked.after {
            self.orders.after_event(number(&self.windows, write), event)?;
        }
        for &(write, event) in &asked.until {
            self.orders.before_event(number(&self.windows, write), event)?;
        }
        Ok(())
    }

    fn choose(&mut self, at: u32, choice: Choice) -> Tried<()> {
        let read = self.reads[at as usize];
        match choice {
            Choice::Later(write) => return self.orders.after_event(write, read.pos),
            Choice::Under(write) => match self.chosen[at as usize] {
                Some(Choice::Memory(source)) => return self.orders.before(write, source),
                _ => return Ok(()),
            },
            Choice::Buffer | Choice::Memory(_) | Choice::Initial => {}
        }
        self.chosen[at as usize] = Some(choice);
        self.trail.push(Undo::Chosen(at));
        match choice {
            Choice::Buffer => read.own.map_or(Ok(()), |own| self.orders.after_event(own, read.pos)),
            Choice::Memory(source) => {
                self.orders.before_event(source, read.pos)?;
                if let Some(own) = read.own.filter(|&own| own != source) {
                    self.orders.before(own, source)?;
                }
                match self.next_write(source) {
                    Some(next) if self.orders.writes()[next as usize].pos < read.pos => {
                        self.orders.after_event(next, read.pos)
                    }
                    _ => Ok(()),
                }
            }
            _ => {
                let lists = self.writers.get(&read.var).map_or(&[][..], |lists| lists);
                for first in lists.iter().filter_map(|(_, list)| list.first()) {
                    if self.orders.writes()[*first as usize].pos < read.pos {
                        self.orders.after_event(*first, read.pos)?;
                    }
                }
                if read.got.is_known() && self.initial.insert(read.var, read.got).is_none() {
                    self.trail.push(Undo::Initial(read.var));
                }
                Ok(())
            }
        }
    }

    /// The next write of the same thread to the same variable.
    fn next_write(&self, write: u32) -> Option<u32> {
        let Write { thread, var, .. } = self.orders.writes()[write as usize];
        let (_, list) = self.writers.get(&var)?.iter().find(|(writer, _)| *writer == thread)?;
        list.get(self.nth[write as usize] as usize + 1).copied()
    }

    /// Draws what follows about a read. `None`: it is explained whatever else is decided.
    fn explain(&mut self, at: u32) -> Tried<Option<Vec<Choice>>> {
        loop {
            match self.chosen[at as usize] {
                None => {
                    let choices = self.choices(&self.reads[at as usize]);
                    match choices[..] {
                        [] => return Err(Conflict),
                        [only] => self.choose(at, only)?,
                        _ => return Ok(Some(choices)),
                    }
                }
                Some(Choice::Memory(source)) => match self.others(at, source)? {
                    None => return Ok(None),
                    Some((write, true, true)) => {
                        return Ok(Some(vec![Choice::Later(write), Choice::Under(write)]));
                    }
                    Some((write, true, _)) => self.choose(at, Choice::Later(write))?,
                    Some((write, _, true)) => self.choose(at, Choice::Under(write))?,
                    Some((_, false, false)) => return Err(Conflict),
                },
                Some(_) => return Ok(None),
            }
        }
    }

    /// A write to the variable that may come between the write read and the read; whether it can come
    /// after the read, and whether it can come before the write.
    fn others(&self, at: u32, source: u32) -> Tried<Option<(u32, bool, bool)>> {
        let read = &self.reads[at as usize];
        let writer = self.orders.writes()[source as usize].thread;
        let lists = self.writers.get(&read.var).map_or(&[][..], |lists| lists);
        let mut free = None;
        for (_, list) in lists.iter().filter(|(t, _)| *t != read.thread && *t != writer) {
            let until = list.partition_point(|&write| !self.is_later(write, read.pos));
            let known = list[..until].iter().rposition(|&w| self.orders.is_before(w, source));
            let Some(&write) = list[..until].get(known.map_or(0, |known| known + 1)) else {
                continue;
            };
            let can_be_later = self.orders.can_be_after_event(write, read.pos);
            let can_be_under = !self.orders.is_before(source, write);
            if !(can_be_later && can_be_under) {
                return Ok(Some((write, can_be_later, can_be_under)));
            }
            free = free.or(Some((write, true, true)));
        }
        Ok(free)
    }

    /// Whether the write is issued, or must commit, after the event.
    fn is_later(&self, write: u32, event: Pos) -> bool {
        self.orders.writes()[write as usize].pos > event || self.orders.is_after_event(write, event)
    }

    fn matches(&self, read: &Read, write: u32) -> bool {
        let value = self.orders.writes()[write as usize].value;
        let fits = !read.got.is_known() || !value.is_known() || value == read.got;
        fits && match read.from {
            From::Anybody => true,
            From::Nobody => false,
            From::Write(source) => source == write,
        }
    }

    /// The explanations of a read that are not ruled out.
    fn choices(&self, read: &Read) -> Vec<Choice> {
        let mut choices = Vec::new();
        if let Some(own) = read.own
            && !read.rmw
            && self.orders.can_be_after_event(own, read.pos)
        {
            if self.matches(read, own) {
                choices.push(Choice::Buffer);
            }
            if self.orders.is_after_event(own, read.pos) {
                return choices;
            }
        }
        let lists = self.writers.get(&read.var).map_or(&[][..], |lists| lists);
        // Per thread: the last write that must have committed, and those that may have.
        let ranges: Vec<(u32, &[u32], usize, usize)> = lists
            .iter()
            .map(|(thread, list)| {
                let end = list.partition_point(|&write| !self.is_later(write, read.pos));
                let sure = |&write: &u32| self.orders.is_before_event(write, read.pos);
                (*thread, &list[..], list[..end].partition_point(sure), end)
            })
            .collect();
        let committed: Vec<u32> =
            ranges.iter().filter_map(|&(_, list, sure, _)| list[..sure].last().copied()).collect();
        for &(thread, list, sure, end) in &ranges {
            for &write in &list[sure.saturating_sub(1)..end] {
                let own = if thread == read.thread { read.own == Some(write) } else { true };
                let over = |&other: &u32| other != write && self.orders.is_before(write, other);
                let hidden = read.own.iter().any(over) || committed.iter().any(over);
                if own && !hidden && self.matches(read, write) {
                    choices.push(Choice::Memory(write));
                }
            }
        }
        let fits = match self.initial.get(&read.var) {
            Some(&value) => !read.got.is_known() || value == read.got,
            None => true,
        };
        let may = !matches!(read.from, From::Write(_)) && read.own.is_none();
        if may && fits && committed.is_empty() {
            choices.push(Choice::Initial);
        }
        choices
    }
}

/// The writes of a trace with what fences and locks say about their commits, and their numbers by
/// position.
fn orders_of(trace: &[Event]) -> (Orders, Vec<u32>) {
    let mut orders = Orders::default();
    let mut number = vec![NEVER; trace.len()];
    // Per thread, the last write that may wait in the buffer. Per lock, the writes before it was free.
    let mut waiting: Map<u32, u32> = Map::default();
    let mut given: Map<u32, u32> = Map::default();
    let mut bounds: Vec<(u32, Pos)> = Vec::new();
    for (pos, event) in trace.iter().enumerate() {
        let (pos, thread) = (pos as Pos, event.thread.0);
        if let Action::Write(x) | Action::Rmw(x) = event.action {
            let fixed = matches!(event.action, Action::Rmw(_));
            let write = Write { thread, var: x.0, pos, value: event.data.put, fixed };
            number[pos as usize] = orders.add(write);
        }
        match event.action {
            Action::Write(_) => {
                waiting.insert(thread, number[pos as usize]);
            }
            Action::Rmw(_) | Action::Fence => {
                bounds.extend(waiting.remove(&thread).map(|last| (last, pos)));
            }
            Action::Lock(lock) => {
                bounds.extend(waiting.remove(&thread).map(|last| (last, pos)));
                bounds.extend(given.remove(&lock.0).map(|last| (last, pos)));
            }
            Action::Unlock(lock) => match waiting.get(&thread) {
                Some(&last) => {
                    given.insert(lock.0, last);
                }
                None => {
                    given.remove(&lock.0);
                }
            },
            _ => {}
        }
    }
    for (write, event) in bounds {
        // Every write can commit right after its issue: nothing contradicts these.
        let _ = orders.before_event(write, event);
    }
    (orders, number)
}

fn reads_of(trace: &[Event], number: &[u32], writes: &[Write]) -> Result<Vec<Read>, Unbelievable> {
    let mut lines: Map<u32, Vec<Pos>> = Map::default();
    let mut own: Map<(u32, u32), u32> = Map::default();
    let mut reads = Vec::new();
    for (pos, event) in trace.iter().enumerate() {
        let thread = event.thread.0;
        lines.entry(thread).or_default().push(pos as Pos);
        if let Action::Read(x) | Action::Rmw(x) = event.action
            && event.data.tells_read()
        {
            let from = match event.data.source {
                Source::Unknown => From::Anybody,
                Source::Initial => From::Nobody,
                Source::Event(writer, line) => {
                    let known = lines.get(&writer.0).and_then(|at| at.get(line as usize - 1));
                    let write = known.map(|&at| number[at as usize]).filter(|&at| at != NEVER);
                    let fits = |&at: &u32| {
                        writes[at as usize].var == x.0 && writes[at as usize].pos != pos as Pos
                    };
                    match write.filter(fits) {
                        Some(write) => From::Write(write),
                        None => {
                            let message = format!(
                                "line {line} of that thread is no earlier write to the variable that \
                                 is read here"
                            );
                            return Err(Unbelievable { at: Some(pos), message });
                        }
                    }
                }
            };
            reads.push(Read {
                pos: pos as Pos,
                thread,
                var: x.0,
                got: event.data.got,
                from,
                own: own.get(&(thread, x.0)).copied(),
                rmw: matches!(event.action, Action::Rmw(_)),
            });
        }
        if number[pos] != NEVER
            && let Some(x) = event.action.var()
        {
            own.insert((thread, x.0), number[pos]);
        }
    }
    Ok(reads)
}
