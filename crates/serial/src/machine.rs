//! The machine that an execution claims to have run on: are its commits, fences and values possible?
//!
//! Every thread has a buffer of writes, memory has one value per variable. The machine follows an
//! execution event by event and says what cannot have happened: a commit of something that is not the
//! oldest write, a fence, read-modify-write or taken lock with writes still in the buffer, a lock taken
//! before what was written under it has reached memory, and a read of something else than the thread's
//! newest buffered write or, if there is none, memory holds. What memory holds at the start is not
//! known; the first read of it tells.

use std::collections::VecDeque;

use crate::event::{Action, Data, Event, Lock, Names, Source, Thread, Value, Var};
use crate::hash::Map;

/// A write: what, and which line of its thread.
#[derive(Clone, Copy, Debug)]
struct Written {
    var: Var,
    value: Value,
    by: (Thread, u32),
}

#[derive(Default, Debug)]
struct Progress {
    /// Lines of the thread so far that are no commits.
    lines: u32,
    pending: VecDeque<Written>,
    issued: u64,
    committed: u64,
}

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    value: Value,
    /// Who wrote it; nobody has if there is none.
    by: Option<(Thread, u32)>,
}

/// The store buffers and the memory of an execution.
#[derive(Default, Debug)]
pub struct Machine {
    threads: Vec<Progress>,
    memory: Map<u32, Cell>,
    /// Whether an event has said what it read or wrote; before that nobody need know what memory holds.
    told: bool,
    /// Whether there were writes before that: what is not in `memory` is then not known.
    missed: bool,
    /// Per lock, who gave it back last, after so many writes.
    locks: Map<Lock, (Thread, u64)>,
}

impl Machine {
    /// Lets `event` happen; the message says why it cannot.
    pub fn step(&mut self, event: &Event, names: &Names) -> Result<(), String> {
        let index = event.thread.0 as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Progress::default);
        }
        let thread = &mut self.threads[index];
        thread.lines += u32::from(!matches!(event.action, Action::Commit(_)));
        let by = (event.thread, thread.lines);
        self.told |= event.data != Data::NONE;
        self.missed |= !self.told && matches!(event.action, Action::Commit(_) | Action::Rmw(_));
        match event.action {
            Action::Write(var) => {
                thread.issued += 1;
                thread.pending.push_back(Written { var, value: event.data.put, by });
            }
            Action::Commit(x) => self.commit(event.thread, x, names)?,
            Action::Read(_) if !event.data.tells_read() => {}
            Action::Read(x) => {
                let own = thread.pending.iter().rev().find(|write| write.var == x);
                match own.map(|own| Cell { value: own.value, by: Some(own.by) }) {
                    Some(own) => check_read(event, own, names)?,
                    None => self.read_memory(event, x, names)?,
                }
            }
            Action::Rmw(x) => {
                self.needs_empty_buffer(event, names)?;
                self.read_memory(event, x, names)?;
                if self.told {
                    self.memory.insert(x.0, Cell { value: event.data.put, by: Some(by) });
                }
            }
            Action::Fence => self.needs_empty_buffer(event, names)?,
            Action::Lock(lock) => {
                self.needs_empty_buffer(event, names)?;
                if let Some(&(giver, issued)) = self.locks.get(&lock)
                    && self.threads[giver.0 as usize].committed < issued
                {
                    return Err(format!(
                        "the lock {} is taken before thread {}, which gave it back, has committed what \
                         it wrote before",
                        names.of_lock(lock),
                        names.of_thread(giver)
                    ));
                }
            }
            Action::Unlock(lock) => {
                let issued = thread.issued;
                self.locks.insert(lock, (event.thread, issued));
            }
            Action::Abort => {
                return Err(
                    "an execution shows commits, and so cannot have aborted transactions: \
                            leave the commits out"
                        .into(),
                );
            }
            Action::Begin(_) | Action::End => {}
        }
        Ok(())
    }

    fn commit(&mut self, who: Thread, x: Var, names: &Names) -> Result<(), String> {
        let thread = &mut self.threads[who.0 as usize];
        match thread.pending.front() {
            Some(oldest) if oldest.var == x => {}
            Some(oldest) => {
                return Err(format!(
                    "wrong variable committed: the oldest uncommitted write of thread {} is to {}, not \
                     to {}",
                    names.of_thread(who),
                    names.of_var(oldest.var),
                    names.of_var(x)
                ));
            }
            None => {
                return Err(format!(
                    "commit without write: thread {} has no uncommitted write",
                    names.of_thread(who)
                ));
            }
        }
        thread.committed += 1;
        if let Some(oldest) = thread.pending.pop_front()
            && self.told
        {
            self.memory.insert(x.0, Cell { value: oldest.value, by: Some(oldest.by) });
        }
        Ok(())
    }

    fn needs_empty_buffer(&self, event: &Event, names: &Names) -> Result<(), String> {
        let thread = &self.threads[event.thread.0 as usize];
        let Some(oldest) = thread.pending.front() else { return Ok(()) };
        Err(format!(
            "{} with a non-empty buffer: the write of thread {} to {} is not yet committed",
            event.action.word(),
            names.of_thread(event.thread),
            names.of_var(oldest.var)
        ))
    }

    fn read_memory(&mut self, event: &Event, x: Var, names: &Names) -> Result<(), String> {
        if !event.data.tells_read() || (self.missed && !self.memory.contains_key(&x.0)) {
            return Ok(());
        }
        let cell = self.memory.entry(x.0).or_default();
        if cell.by.is_none() && !cell.value.is_known() {
            cell.value = event.data.got;
        }
        check_read(event, *cell, names)
    }
}

fn check_read(event: &Event, found: Cell, names: &Names) -> Result<(), String> {
    let writer = |by: Option<(Thread, u32)>| match by {
        Some((thread, line)) => format!("{}#{line}", names.of_thread(thread)),
        None => "init".to_string(),
    };
    let (got, source) = (event.data.got, event.data.source);
    if got.is_known() && found.value.is_known() && got != found.value {
        return Err(format!(
            "this cannot have read {}: what it finds is {}, from {}",
            names.of_value(got),
            names.of_value(found.value),
            writer(found.by)
        ));
    }
    let claimed = match source {
        Source::Unknown => return Ok(()),
        Source::Initial => None,
        Source::Event(thread, line) => Some((thread, line)),
    };
    if claimed != found.by {
        let (claimed, found) = (writer(claimed), writer(found.by));
        return Err(format!("this cannot have read from {claimed}: what it finds is from {found}"));
    }
    Ok(())
}
