//! Could a machine with store buffers have let a read come too early? (Theorem 12.)
//!
//! Take the run as it was recorded, every write reaching memory at once. Such a run is sequentially
//! consistent, and still tells about runs that are not: let a read of thread `t` happen before a write to
//! its variable by another thread although that write is ordered before something `t` did earlier. The
//! machine can do so if all that `t` did since then are writes that may wait in its buffer: since its
//! last fence, read-modify-write, lock, or read of anything but its own newest write. A program is not robust iff some run of
//! it shows such a read; and for programs whose transactions end with a fence, robust and SC-serializable
//! together are TSO-serializable (Theorem 3). So this is a monitor for any number of threads that takes
//! time linear in the recording, up to a factor for the threads.
//!
//! "Ordered before" is the event graph: program order, and conflicts in the order of the recording. A
//! vector clock for each thread, each variable's last write and its reads since then follows it.

use std::collections::HashMap;

use crate::event::{Action, Event};

/// A read that could have come earlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Early {
    /// The read, by position.
    pub read: usize,
    /// The write that it could have come before.
    pub write: usize,
    /// What its thread did in between, although the write comes before it: the read overtakes it.
    pub overtaken: usize,
}

type Clock = Vec<u32>;

#[derive(Default)]
struct Lane {
    clock: Clock,
    /// How many events the thread has done.
    steps: u32,
    /// The last event that later reads cannot overtake.
    strong: Option<usize>,
    /// The last write since then.
    waiting: Option<usize>,
    /// Its writes since then, by variable.
    own: HashMap<u32, usize>,
}

#[derive(Default)]
struct Cell {
    written: Clock,
    read: Clock,
    /// The thread that wrote last.
    writer: usize,
    /// Per thread, its writes: step and position.
    writes: HashMap<usize, Vec<(u32, usize)>>,
}

/// The first read of a trace, every write of which is taken to commit at once, that could have come
/// before a write of another thread.
pub fn early_read(trace: &[Event]) -> Option<Early> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut cells: HashMap<u32, Cell> = HashMap::new();
    for (position, event) in trace.iter().enumerate() {
        let thread = event.thread.0 as usize;
        if lanes.len() <= thread {
            lanes.resize_with(thread + 1, Lane::default);
        }
        if event.action.is_bracket() {
            continue;
        }
        if let Action::Read(x) = event.action
            && let Some(overtaken) = lanes[thread].waiting
            && let Some(cell) = cells.get(&x.0)
            && let Some(write) = reached(cell, &lanes[thread], thread, x.0)
        {
            return Some(Early { read: position, write, overtaken });
        }
        step(&mut lanes[thread], &mut cells, thread, position, event.action);
    }
    None
}

/// A write by another thread that is ordered before what the thread did last, and comes after what the
/// read cannot overtake: the last strong event, and the thread's own last write to the variable, which the
/// buffer would serve.
fn reached(cell: &Cell, lane: &Lane, thread: usize, x: u32) -> Option<usize> {
    let bounds = [lane.strong, lane.own.get(&x).copied()];
    let after = |position: usize| bounds.iter().flatten().all(|&bound| position > bound);
    let last = |(&writer, writes): (&usize, &Vec<(u32, usize)>)| {
        let known = lane.clock.get(writer).copied().unwrap_or(0);
        let count = writes.partition_point(|&(step, _)| step <= known);
        let (_, position) = *writes.get(count.checked_sub(1)?)?;
        (writer != thread && after(position)).then_some(position)
    };
    cell.writes.iter().filter_map(last).min()
}

fn step(
    lane: &mut Lane,
    cells: &mut HashMap<u32, Cell>,
    thread: usize,
    position: usize,
    action: Action,
) {
    lane.steps += 1;
    if lane.clock.len() <= thread {
        lane.clock.resize(thread + 1, 0);
    }
    lane.clock[thread] = lane.steps;
    let mut from_buffer = false;
    if let Some(x) = action.var() {
        let cell = cells.entry(x.0).or_default();
        join(&mut lane.clock, &cell.written);
        match action {
            Action::Read(_) => {
                from_buffer = lane.own.contains_key(&x.0) && cell.writer == thread;
                join(&mut cell.read, &lane.clock);
            }
            _ => {
                cell.writer = thread;
                join(&mut lane.clock, &cell.read);
                cell.written.clone_from(&lane.clock);
                cell.read.clear();
                cell.writes.entry(thread).or_default().push((lane.steps, position));
            }
        }
    }
    match action {
        Action::Write(x) => {
            lane.waiting = Some(position);
            lane.own.insert(x.0, position);
        }
        Action::Read(_) if from_buffer => {}
        Action::Unlock(_) | Action::Commit(_) => {}
        _ => {
            lane.strong = Some(position);
            lane.waiting = None;
            lane.own.clear();
        }
    }
}

fn join(into: &mut Clock, from: &Clock) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = (*mine).max(*theirs);
    }
}
