//! Commits and what is known about their moments.
//!
//! Every write has a window: it commits in a gap (after the event of this position, before the next) from
//! `earliest` on, and before the event `latest`. The writes of a thread commit in their order, and two
//! commits may be said to come one after the other, which pushes the windows' ends. A read-modify-write
//! is *fixed*: it commits with its event, before everything that commits in the gap after it.
//!
//! Everything that is learnt can be taken back, in the reverse order.

use crate::event::Value;
use crate::hash::Map;
use crate::trace::index::{NEVER, Pos};

/// A write of the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub thread: u32,
    pub var: u32,
    pub pos: Pos,
    pub value: Value,
    /// Whether it is a read-modify-write.
    pub fixed: bool,
}

/// What was learnt cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Conflict;

#[derive(Debug)]
enum Move {
    Earliest(u32, Pos),
    Latest(u32, Pos),
    /// The last order of these two.
    Before(u32, u32),
}

/// The windows of all commits, and the orders between them.
#[derive(Default, Debug)]
pub(super) struct Orders {
    writes: Vec<Write>,
    earliest: Vec<Pos>,
    latest: Vec<Pos>,
    /// The free write of the thread before and after, or `NEVER`.
    previous: Vec<u32>,
    next: Vec<u32>,
    last_of: Map<u32, u32>,
    after: Map<u32, Vec<u32>>,
    before: Map<u32, Vec<u32>>,
    moves: Vec<Move>,
    work: Vec<(u32, Pos)>,
}

impl Orders {
    /// Adds the next write of the trace.
    pub(super) fn add(&mut self, write: Write) -> u32 {
        let number = self.writes.len() as u32;
        self.writes.push(write);
        self.earliest.push(write.pos);
        self.latest.push(if write.fixed { write.pos + 1 } else { NEVER });
        self.previous.push(NEVER);
        self.next.push(NEVER);
        if !write.fixed
            && let Some(previous) = self.last_of.insert(write.thread, number)
        {
            self.previous[number as usize] = previous;
            self.next[previous as usize] = number;
        }
        number
    }

    pub(super) fn writes(&self) -> &[Write] {
        &self.writes
    }

    pub(super) fn bounds(&self) -> Vec<(Pos, Pos)> {
        self.earliest.iter().copied().zip(self.latest.iter().copied()).collect()
    }

    pub(super) fn moves(&self) -> usize {
        self.moves.len()
    }

    /// What is known now is known for good.
    pub(super) fn forget_moves(&mut self) {
        self.moves.clear();
    }

    pub(super) fn undo(&mut self, mark: usize) {
        for undo in self.moves.drain(mark..).rev() {
            match undo {
                Move::Earliest(write, pos) => self.earliest[write as usize] = pos,
                Move::Latest(write, pos) => self.latest[write as usize] = pos,
                Move::Before(first, second) => {
                    self.after.get_mut(&first).and_then(Vec::pop);
                    self.before.get_mut(&second).and_then(Vec::pop);
                }
            }
        }
    }

    fn raise(&mut self, write: u32, to: Pos) -> Result<(), Conflict> {
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        work.push((write, to));
        let mut result = Ok(());
        while let Some((write, to)) = work.pop() {
            let at = write as usize;
            if self.earliest[at] >= to {
                continue;
            }
            self.moves.push(Move::Earliest(write, self.earliest[at]));
            self.earliest[at] = to;
            if to >= self.latest[at] {
                result = Err(Conflict);
                break;
            }
            if self.next[at] != NEVER {
                work.push((self.next[at], to));
            }
            work.extend(self.after.get(&write).into_iter().flatten().map(|&later| (later, to)));
        }
        self.work = work;
        result
    }

    fn lower(&mut self, write: u32, to: Pos) -> Result<(), Conflict> {
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        work.push((write, to));
        let mut result = Ok(());
        while let Some((write, to)) = work.pop() {
            let at = write as usize;
            if self.latest[at] <= to {
                continue;
            }
            self.moves.push(Move::Latest(write, self.latest[at]));
            self.latest[at] = to;
            if self.earliest[at] >= to {
                result = Err(Conflict);
                break;
            }
            if self.previous[at] != NEVER {
                work.push((self.previous[at], to));
            }
            work.extend(self.before.get(&write).into_iter().flatten().map(|&first| (first, to)));
        }
        self.work = work;
        result
    }

    /// The write commits after this event.
    pub(super) fn after_event(&mut self, write: u32, event: Pos) -> Result<(), Conflict> {
        match self.writes[write as usize] {
            Write { fixed: true, pos, .. } => {
                if pos > event {
                    Ok(())
                } else {
                    Err(Conflict)
                }
            }
            _ => self.raise(write, event),
        }
    }

    /// The write commits before this event.
    pub(super) fn before_event(&mut self, write: u32, event: Pos) -> Result<(), Conflict> {
        match self.writes[write as usize] {
            Write { fixed: true, pos, .. } => {
                if pos < event {
                    Ok(())
                } else {
                    Err(Conflict)
                }
            }
            _ => self.lower(write, event),
        }
    }

    /// One commit comes before another.
    pub(super) fn before(&mut self, first: u32, second: u32) -> Result<(), Conflict> {
        let (one, other) = (self.writes[first as usize], self.writes[second as usize]);
        if one.thread == other.thread || (one.fixed && other.fixed) {
            return if one.pos < other.pos { Ok(()) } else { Err(Conflict) };
        }
        if one.fixed {
            return self.raise(second, one.pos);
        }
        if other.fixed {
            return self.lower(first, other.pos);
        }
        if self.is_before(first, second) {
            return Ok(());
        }
        if self.is_before(second, first) {
            return Err(Conflict);
        }
        self.after.entry(first).or_default().push(second);
        self.before.entry(second).or_default().push(first);
        self.moves.push(Move::Before(first, second));
        self.raise(second, self.earliest[first as usize])?;
        self.lower(first, self.latest[second as usize])
    }

    /// Whether it is known that one commit comes before another.
    pub(super) fn is_before(&self, first: u32, second: u32) -> bool {
        let (one, other) = (&self.writes[first as usize], &self.writes[second as usize]);
        if one.thread == other.thread || (one.fixed && other.fixed) {
            return one.pos < other.pos;
        }
        if one.fixed {
            return self.earliest[second as usize] >= one.pos;
        }
        if other.fixed {
            return self.latest[first as usize] <= other.pos;
        }
        self.latest[first as usize] <= self.earliest[second as usize]
            || self.after.get(&first).is_some_and(|list| list.contains(&second))
    }

    /// Whether it is known that the write commits after the event.
    pub(super) fn is_after_event(&self, write: u32, event: Pos) -> bool {
        match self.writes[write as usize] {
            Write { fixed: true, pos, .. } => pos > event,
            _ => self.earliest[write as usize] >= event,
        }
    }

    /// Whether it is known that the write commits before the event.
    pub(super) fn is_before_event(&self, write: u32, event: Pos) -> bool {
        match self.writes[write as usize] {
            Write { fixed: true, pos, .. } => pos < event,
            _ => self.latest[write as usize] <= event,
        }
    }

    /// Whether the write may still be found to commit after the event.
    pub(super) fn can_be_after_event(&self, write: u32, event: Pos) -> bool {
        !self.is_before_event(write, event)
    }

    /// The earliest moments of all commits: per write that is not fixed the gap and its position, in
    /// the order of commits. `None` if some commits wait for each other in a circle.
    pub(super) fn schedule(&self) -> Option<Vec<(Pos, Pos)>> {
        let free = |&at: &u32| !self.writes[at as usize].fixed;
        let all: Vec<u32> = (0..self.writes.len() as u32).filter(free).collect();
        let mut waiting: Vec<u32> = vec![0; self.writes.len()];
        for &at in &all {
            waiting[at as usize] = u32::from(self.previous[at as usize] != NEVER)
                + self.before.get(&at).map_or(0, |list| list.len() as u32);
        }
        let mut ready: Vec<u32> =
            all.iter().rev().copied().filter(|&at| waiting[at as usize] == 0).collect();
        let mut order: Vec<(Pos, Pos)> = Vec::with_capacity(all.len());
        while let Some(at) = ready.pop() {
            order.push((self.earliest[at as usize], self.writes[at as usize].pos));
            let next = Some(self.next[at as usize]).filter(|&next| next != NEVER);
            for &later in next.iter().chain(self.after.get(&at).into_iter().flatten()) {
                waiting[later as usize] -= 1;
                if waiting[later as usize] == 0 {
                    ready.push(later);
                }
            }
        }
        // Moments never fall along an order, so a stable sort keeps all orders.
        order.sort_by_key(|&(gap, _)| gap);
        (order.len() == all.len()).then_some(order)
    }
}
