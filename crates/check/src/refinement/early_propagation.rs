//! Markers that propagate to a thread of the specification before the history shows it.
//!
//! No client can tell when such a marker arrives, so the specification may know of it earlier than the library's history
//! says. A state of the specification ends with a list of the arrivals that it has made early, thread by thread; each is
//! taken off when the history shows it. `docs/proofs/early-propagation.md` says which arrivals may be early, and why.

use super::histories::Histories;
use ir::Tid;
use memory::rc11_views::{Finding, Reads, State, Step};
use memory::rc11_views::{Label, Space};
use search::inclusion::{SILENT, StepSink};

impl Histories {
    /// Hands over a step that the history shows at once, or never.
    pub(super) fn shown(&self, step: &Step, ahead: &Ahead, sink: StepSink<Finding>) {
        let mut next = ahead.clone();
        match &step.label {
            Some(Label::Propagate { from, to, space }) => {
                // Of one thread, what arrived early is shown first.
                let queue = ahead.queue(*to, *space);
                let first = |early: &Early| early.from == *from || !self.may_overtake(early, *from);
                if queue.iter().any(first) {
                    return;
                }
            }
            Some(Label::Return { tid, .. }) if !self.is_settled(ahead, *tid) => return,
            Some(Label::Call { tid, .. }) => next.inside[tid.index()] = 1,
            Some(Label::Return { tid, .. }) => next.inside[tid.index()] = 0,
            None => {}
        }
        let mut bytes = Vec::new();
        self.machine.pack(&step.state, &mut bytes);
        next.write(&mut bytes);
        sink([self.symbol(&step.label), SILENT], &bytes, step.finding);
    }

    /// For every thread but `from`, how many of its markers were issued that the history has not yet
    /// shown to reach `to`.
    fn unshown(&self, state: &State, ahead: &Ahead, from: Tid, to: Tid, space: Space) -> Box<[u8]> {
        let threads = (0..self.threads).map(Tid::from);
        let unshown = |tid: Tid| {
            let queue = ahead.queue(to, space);
            let early = queue.iter().filter(|early| early.from == tid).count();
            (self.machine.on_their_way(state, tid, to, space) + early) as u8
        };
        threads.map(|tid| if tid == from || tid == to { 0 } else { unshown(tid) }).collect()
    }

    /// Hands over the steps of a thread for which markers propagate to it before the history shows it. For these steps,
    /// right before the step is early enough. So a step that the thread could have done before the last of them arrived is left
    /// out: what arrived for nothing may as well arrive when it is needed or the history shows it. Not so where a younger marker
    /// carries an older one to a third thread, and is shown there first; this is not tried ("What is looked for" in
    /// `docs/proofs/early-propagation.md`).
    pub(super) fn early(&self, state: &State, ahead: &Ahead, tid: Tid, sink: StepSink<Finding>) {
        let mut open = vec![Arrived {
            state: state.clone(),
            ahead: ahead.clone(),
            before: usize::MAX,
            done: Vec::new(),
        }];
        let mut at = 0;
        while at < open.len() {
            // Where nothing waits, nothing needs to arrive.
            let waits = !self.reduce || self.machine.may_wait(&open[at].state, tid);
            if at == 0 && !waits {
                return;
            }
            let (state, ahead) = (open[at].state.clone(), open[at].ahead.clone());
            let mut more = Vec::new();
            let mut propagated = |step: &Step| {
                if waits && let Some(next) = self.arrived(&state, &ahead, step) {
                    more.push((step.state.clone(), next));
                }
            };
            self.machine.arrivals(&state, tid, &mut |step| propagated(&step));
            let mut done = Vec::new();
            self.machine.moves(&state, tid, &mut |step| {
                propagated(&step);
                let deed = Deed::of(&step);
                let mut earlier = open[at].before;
                while self.reduce && earlier != usize::MAX {
                    if open[earlier].done.contains(&deed) {
                        return;
                    }
                    earlier = open[earlier].before;
                }
                if at > 0 {
                    self.shown(&step, &ahead, sink);
                }
                done.push(deed);
            });
            open[at].done = done;
            for (state, ahead) in more {
                if !open.iter().any(|o| o.state == state && o.ahead.queues == ahead.queues) {
                    open.push(Arrived { state, ahead, before: at, done: Vec::new() });
                }
            }
            at += 1;
        }
    }

    /// What is ahead of the history once the marker of this step has propagated early; `None` if it is none, or may not.
    fn arrived(&self, state: &State, ahead: &Ahead, step: &Step) -> Option<Ahead> {
        let Some(Label::Propagate { from, to, space }) = step.label else { return None };
        let may_arrive = ahead.inside[to.index()] == 1 || self.may_stay_ahead(space);
        may_arrive.then(|| {
            let mut next = ahead.clone();
            let older = self.unshown(state, ahead, from, to, space);
            next.queue_mut(to, space).push(Early { from, older });
            next
        })
    }

    /// Hands over the steps that show what has propagated to a thread already.
    pub(super) fn show_early(
        &self,
        packed: &[u8],
        ahead: &Ahead,
        to: Tid,
        sink: StepSink<Finding>,
    ) {
        let mut bytes = Vec::new();
        for space in (0..self.spaces as u8).map(Space) {
            for from in (0..self.threads).map(Tid::from) {
                let mut next = ahead.clone();
                if !self.show(next.queue_mut(to, space), from) {
                    continue;
                }
                let label = Some(Label::Propagate { from, to, space });
                bytes.clear();
                bytes.extend_from_slice(packed);
                next.write(&mut bytes);
                sink([self.symbol(&label), SILENT], &bytes, None);
            }
        }
    }
}

/// What a thread could do after markers arrived.
struct Arrived {
    state: State,
    ahead: Ahead,
    /// The same without the last of them.
    before: usize,
    done: Vec<Deed>,
}

/// A step of a thread, apart from what it knew.
#[derive(PartialEq, Eq)]
struct Deed {
    label: Option<Label>,
    at: Option<(Tid, ir::Pc)>,
    read: Option<ir::Value>,
    newer: u8,
    reads: Reads,
}

impl Deed {
    fn of(step: &Step) -> Self {
        let Step { label, at, read, newer, reads, .. } = step;
        let (label, reads) = (label.clone(), reads.clone());
        Deed { label, at: *at, read: *read, newer: *newer, reads }
    }
}

/// A marker that propagated before the history shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Early {
    from: Tid,
    /// Per thread, how many of its markers had been issued when this one propagated, and have not
    /// been shown since.
    older: Box<[u8]>,
}

impl Histories {
    /// May what arrived early in a space be shown outside of the method in which it arrived, or have arrived outside of methods?
    /// Point 1 of the definition: only in the library's own space, and only if the client has no memory by which it could tell.
    fn may_stay_ahead(&self, space: Space) -> bool {
        self.only_calls && self.own_space == Some(space)
    }

    /// Has the history shown all that reached the thread, but for what may stay ahead of it?
    fn is_settled(&self, ahead: &Ahead, to: Tid) -> bool {
        let mut spaces = (0..ahead.spaces as u8).map(Space);
        spaces.all(|space| self.may_stay_ahead(space) || ahead.queue(to, space).is_empty())
    }

    /// May the next marker of `tid` be shown before one that arrived early? It may if it is certainly
    /// younger, and the client has no memory of its own by which the one could happen before the other.
    fn may_overtake(&self, early: &Early, tid: Tid) -> bool {
        self.only_calls && early.older[tid.index()] == 0
    }

    /// Takes the first marker of `from` out of the queue, as the history shows it; says whether there is one
    /// that may be shown.
    fn show(&self, queue: &mut Vec<Early>, from: Tid) -> bool {
        let Some(at) = queue.iter().position(|early| early.from == from) else { return false };
        if !queue[..at].iter().all(|early| self.may_overtake(early, from)) {
            return false;
        }
        queue.remove(at);
        for early in queue {
            let older = &mut early.older[from.index()];
            *older = older.saturating_sub(1);
        }
        true
    }
}

/// Markers that propagated before the history shows it. A state ends with this, and with its length,
/// which is far below 2^16: there are at most 200 threads times spaces, and 50 markers a thread.
#[derive(Clone)]
pub(super) struct Ahead {
    /// Where it starts.
    pub(super) at: usize,
    /// Which threads are inside a method.
    inside: Vec<u8>,
    /// For every thread and space, the markers that have reached it early, in order.
    queues: Vec<Vec<Early>>,
    spaces: usize,
}

impl Ahead {
    pub(super) fn nothing(threads: usize, spaces: usize) -> Self {
        let queues = vec![Vec::new(); threads * spaces];
        Ahead { at: 0, inside: vec![0; threads], queues, spaces }
    }

    pub(super) fn read(state: &[u8], threads: usize, spaces: usize) -> Self {
        let at = state.len() - Ahead::length(state);
        let mut rest = state[at..].iter().copied();
        let mut take = |count: usize| rest.by_ref().take(count).collect::<Vec<u8>>();
        let inside = take(threads);
        let queues = (0..threads * spaces).map(|_| {
            let count = take(2);
            let count = u16::from_le_bytes([count[0], count[1]]);
            let early = |_| Early { from: Tid(take(1)[0].into()), older: take(threads).into() };
            (0..count).map(early).collect()
        });
        Ahead { at, queues: queues.collect(), inside, spaces }
    }

    /// How much of a state it is.
    pub(super) fn length(state: &[u8]) -> usize {
        let end = state.len() - 2;
        2 + usize::from(u16::from_le_bytes([state[end], state[end + 1]]))
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(&self.inside);
        for queue in &self.queues {
            bytes.extend_from_slice(&(queue.len() as u16).to_le_bytes());
            for Early { from, older } in queue {
                bytes.push(from.0 as u8);
                bytes.extend_from_slice(older);
            }
        }
        let length = (bytes.len() - start) as u16;
        bytes.extend_from_slice(&length.to_le_bytes());
    }

    fn queue(&self, to: Tid, space: Space) -> &[Early] {
        &self.queues[to.index() * self.spaces + space.0 as usize]
    }

    fn queue_mut(&mut self, to: Tid, space: Space) -> &mut Vec<Early> {
        &mut self.queues[to.index() * self.spaces + space.0 as usize]
    }
}
