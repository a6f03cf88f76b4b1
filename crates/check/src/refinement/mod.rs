//! Does a library do what its specification says, under weak memory?
//!
//! The library L refines its specification L# under a most general client MGC if every history of
//! MGC\[L\] is one of MGC\[L#\], and MGC\[L\] has no race (Def. in section 7 of Singh and Lahav, POPL 2023).
//! Then any client that keeps to the policy which MGC states, and has no race with L#, may reason with
//! L# (Theorem 7.3): it will see nothing of L that L# could not have shown.
//!
//! Histories are calls and returns and the propagation of their markers from thread to thread, under
//! [`model::memory::prc11`]. They are words of a finite automaton once the number of markers on their
//! way is bounded, and that is all that is bounded: histories may be of any length. The bound is a
//! property of the history itself (the markers issued and the propagations so far), so both sides
//! are cut off at the same histories, and the answer for the bound is exact.
//!
//! One thing is not taken to the letter, unless [`Settings::literal`] says so. If the histories are
//! not those of the specification to the letter, which is the cheaper question, the specification may
//! let a marker propagate *earlier* than the history shows it, where no client can tell:
//!
//! * to a thread that is inside a method, if the history shows it before the method returns. The
//!   client's code of that thread does not run in the meantime;
//! * for the library's own space. Clients have no variables there, and what their threads know for
//!   that space only ever enables their acquire reads.
//!
//! Either way, what is shown later may only overtake what was issued after it had propagated: a
//! marker that happens before another was issued before it.
//!
//! In the proof of Theorem 7.3 a run of the client and one of the specification with the same history
//! are put together (Lemma 7.5). If the specification is ahead in this way, the client's run can be
//! brought in line first. Let e propagate early, at a time t. What happens before e, in the client's run,
//! reached the thread before e did, and is shown before e. It is not shown after t without having propagated
//! by then, because only what was issued after t may overtake e like that, and e had been issued by t. So
//! at t, e can propagate in the client's run, too. Knowing earlier restricts
//! only reads that the client does not do. So the answer "refines" means for clients what
//! the theorem says. To the letter, two of the paper's own examples are no refinements: the relaxed
//! queue (Theorem A.17), because a specification with partial locks demands propagation for the
//! library's space that relaxed accesses do not need; and RCU with four markers on their way, where
//! the writer learns of the end of a critical section after the reader has entered the next one, which
//! locks do not allow. (The paper's check with FDR was for four *events* on their way, accesses
//! counted, and did not get there.)
//!
//! [`inclusion`] compares the automata; `Histories` makes one out of a program.

pub mod inclusion;
mod states;

pub use inclusion::Statistics;
use inclusion::{Automaton, Outcome, Run, SILENT, StepSink, Symbol};
use model::Tid;
use model::memory::prc11::view::{Finding, Machine, Options, Reads, State, Step};
use model::memory::prc11::{Label, Space, System};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// What to compare, and how far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How many markers may be on their way from any thread to any other.
    pub pending: u8,
    /// Ignore propagation: compare calls and returns only.
    pub history_only: bool,
    /// Leave out steps that make no difference; see [`Options::reduce`].
    pub reduce: bool,
    /// The library's own space, if there are several.
    pub own_space: Option<Space>,
    /// Demand the same history to the letter: no marker propagates early in the second program.
    pub literal: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { pending: 2, history_only: false, reduce: true, own_space: None, literal: false }
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was found.
    pub verdict: Verdict,
    /// Was the second program held to the letter of histories?
    pub literal: bool,
    /// How much work it was.
    pub statistics: Statistics,
}

/// What was found.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every history of the first program is one of the second, and the first has no race, no
    /// failing assertion and no run-time error.
    Refines,
    /// A shortest history of the first that the second lacks.
    Differs(Difference),
    /// The first does something it should not.
    Wrong {
        /// What.
        finding: Finding,
        /// How.
        run: Vec<Event>,
    },
    /// The caller asked to stop, or the program is too large.
    Undecided,
}

/// A history that one program has and the other lacks.
#[derive(Clone, Debug)]
pub struct Difference {
    /// A run of the first program whose history ends with the label that the second cannot follow.
    pub run: Vec<Event>,
    /// The labels with which the second could have gone on instead.
    pub instead: Vec<Label>,
}

/// A step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What the history shows of it.
    pub label: Option<Label>,
    /// Whose step it was, and where; `None` if a marker propagated.
    pub at: Option<(model::Tid, model::Pc)>,
    /// The value read, if it read.
    pub read: Option<model::Value>,
}

/// Numbers for labels, shared by both sides.
#[derive(Default)]
struct Alphabet {
    numbers: HashMap<Label, Symbol>,
    labels: Vec<Label>,
}

impl Alphabet {
    fn number(&mut self, label: Label) -> Symbol {
        if let Some(&number) = self.numbers.get(&label) {
            return number;
        }
        self.labels.push(label.clone());
        let number = self.labels.len() as Symbol;
        self.numbers.insert(label, number);
        number
    }
}

/// The histories of a program.
struct Histories {
    machine: Machine,
    alphabet: Rc<RefCell<Alphabet>>,
    history_only: bool,
    /// May markers propagate before the history shows it? Then a state ends with how
    /// far they are ahead.
    early: bool,
    /// May states that can do less than others be left out?
    reduce: bool,
    own_space: Option<Space>,
    threads: usize,
    spaces: usize,
}

impl Histories {
    fn new(
        system: &System,
        settings: &Settings,
        early: bool,
        alphabet: &Rc<RefCell<Alphabet>>,
    ) -> Option<Self> {
        let Settings { pending, reduce, history_only, own_space, .. } = *settings;
        let (threads, spaces) = (system.program.threads.len(), system.spaces);
        let options = Options { pending, keep_registers: false, reduce };
        let machine = Machine::new(system.clone(), options)?;
        let early = early && !history_only;
        let alphabet = Rc::clone(alphabet);
        Some(Histories {
            machine,
            alphabet,
            history_only,
            early,
            reduce,
            own_space,
            threads,
            spaces,
        })
    }

    fn symbol(&self, label: &Option<Label>) -> Symbol {
        match label {
            None => SILENT,
            Some(Label::Propagate { .. }) if self.history_only => SILENT,
            Some(label) => self.alphabet.borrow_mut().number(label.clone()),
        }
    }

    /// What the steps of a run were. Only for automata where nothing propagates early.
    fn explain(&self, run: &Run) -> Vec<Event> {
        let mut events = Vec::new();
        let mut at: &[u8] = &run.start;
        for (symbol, next) in &run.steps {
            let mut found: Option<Step> = None;
            let mut bytes = Vec::new();
            self.machine.steps(&self.machine.unpack(at), |step| {
                bytes.clear();
                self.machine.pack(&step.state, &mut bytes);
                if found.is_none() && self.symbol(&step.label) == *symbol && bytes[..] == **next {
                    found = Some(step);
                }
            });
            if let Some(Step { label, at, read, reads, stores, .. }) = found {
                let reader = at.map(|(tid, _)| tid).or(match label {
                    Some(Label::Propagate { to, .. }) => Some(to),
                    _ => None,
                });
                events.extend(reads.iter().map(|&(pc, value, _)| Event {
                    label: None,
                    at: reader.map(|tid| (tid, pc)),
                    read: Some(value),
                }));
                events.push(Event { label, at, read });
                let tid = at.map(|(tid, _)| tid);
                events.extend(tid.into_iter().flat_map(|tid| {
                    let store = move |&pc: &model::Pc| Event {
                        label: None,
                        at: Some((tid, pc)),
                        read: None,
                    };
                    stores.iter().map(store).collect::<Vec<_>>()
                }));
            }
            at = next;
        }
        events
    }
}

impl Histories {
    /// Hands over a step that the history shows at once, or never.
    fn shown(&self, step: &Step, ahead: &Ahead, sink: StepSink<Finding>) {
        let mut next = ahead.clone();
        match &step.label {
            Some(Label::Propagate { from, to, space }) => {
                // Of one thread, what arrived early is shown first.
                let queue = ahead.queue(*to, *space);
                if queue.iter().any(|early| early.from == *from || !early.may_be_overtaken(*from)) {
                    return;
                }
            }
            Some(Label::Return { tid, .. }) if !ahead.is_settled(*tid, self.own_space) => return,
            Some(Label::Call { tid, .. }) => next.inside[tid.index()] = 1,
            Some(Label::Return { tid, .. }) => next.inside[tid.index()] = 0,
            None => {}
        }
        let mut bytes = Vec::new();
        self.machine.pack(&step.state, &mut bytes);
        next.write(&mut bytes);
        sink(self.symbol(&step.label), &bytes, step.finding);
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

    /// Hands over the steps of a thread for which markers propagate to it before the history shows
    /// it. There is no other reason to let them propagate early, and right before the step is early
    /// enough. So a step that the thread could have done before the last of them arrived is left out:
    /// what arrived for nothing may as well arrive when it is needed or the history shows it.
    fn early(&self, state: &State, ahead: &Ahead, tid: Tid, sink: StepSink<Finding>) {
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
                let Some(Label::Propagate { from, space, .. }) = step.label else { return };
                let early = ahead.inside[tid.index()] == 1 || self.own_space == Some(space);
                if waits && early {
                    let mut next = ahead.clone();
                    let older = self.unshown(&state, &ahead, from, tid, space);
                    next.queue_mut(tid, space).push(Early { from, older });
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
    at: Option<(Tid, model::Pc)>,
    read: Option<model::Value>,
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

impl Automaton for Histories {
    type Bad = Finding;

    fn core_length(&self, state: &[u8]) -> usize {
        if self.reduce { Machine::core_length(state) } else { state.len() }
    }

    fn is_less(&self, a: &[u8], b: &[u8]) -> bool {
        if !self.reduce || a == b {
            return a == b;
        }
        let ahead = |state: &[u8]| if self.early { Ahead::length(state) } else { 0 };
        let (a, a_ahead) = a.split_at(a.len() - ahead(a));
        let (b, b_ahead) = b.split_at(b.len() - ahead(b));
        a_ahead == b_ahead && self.machine.is_less(a, b)
    }

    fn initial(&mut self, sink: &mut dyn FnMut(&[u8], Option<Finding>)) {
        let step = self.machine.initial();
        let mut bytes = Vec::new();
        self.machine.pack(&step.state, &mut bytes);
        if self.early {
            Ahead::nothing(self.threads, self.spaces).write(&mut bytes);
        }
        sink(&bytes, step.finding);
    }

    fn steps(&mut self, state: &[u8], sink: &mut dyn FnMut(Symbol, &[u8], Option<Finding>)) {
        let mut bytes = Vec::new();
        if !self.early {
            self.machine.steps(&self.machine.unpack(state), |step| {
                bytes.clear();
                self.machine.pack(&step.state, &mut bytes);
                sink(self.symbol(&step.label), &bytes, step.finding);
            });
            return;
        }
        let ahead = Ahead::read(state, self.threads, self.spaces);
        let packed = &state[..ahead.at];
        let unpacked = self.machine.unpack(packed);
        self.machine.steps(&unpacked, |step| self.shown(&step, &ahead, sink));
        for tid in (0..self.threads).map(Tid::from) {
            self.early(&unpacked, &ahead, tid, sink);
        }
        // What has propagated already is shown now.
        for to in (0..self.threads).map(Tid::from) {
            for space in (0..self.spaces as u8).map(Space) {
                for from in (0..self.threads).map(Tid::from) {
                    let mut next = ahead.clone();
                    if !show(next.queue_mut(to, space), from) {
                        continue;
                    }
                    let label = Some(Label::Propagate { from, to, space });
                    bytes.clear();
                    bytes.extend_from_slice(packed);
                    next.write(&mut bytes);
                    sink(self.symbol(&label), &bytes, None);
                }
            }
        }
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

impl Early {
    /// May the next marker of `tid` be shown first? It may if it is certainly younger.
    fn may_be_overtaken(&self, tid: Tid) -> bool {
        self.older[tid.index()] == 0
    }
}

/// Takes the first marker of `from` out of the queue, as the history shows it; says whether there is one
/// that may be shown.
fn show(queue: &mut Vec<Early>, from: Tid) -> bool {
    let Some(at) = queue.iter().position(|early| early.from == from) else { return false };
    if !queue[..at].iter().all(|early| early.may_be_overtaken(from)) {
        return false;
    }
    queue.remove(at);
    for early in queue {
        let older = &mut early.older[from.index()];
        *older = older.saturating_sub(1);
    }
    true
}

/// Markers that propagated before the history shows it. A state ends with this, and with its length,
/// which is far below 2^16: there are at most 200 threads times spaces, and 50 markers a thread.
#[derive(Clone)]
struct Ahead {
    /// Where it starts.
    at: usize,
    /// Which threads are inside a method.
    inside: Vec<u8>,
    /// For every thread and space, the markers that have reached it early, in order.
    queues: Vec<Vec<Early>>,
    spaces: usize,
}

impl Ahead {
    fn nothing(threads: usize, spaces: usize) -> Self {
        let queues = vec![Vec::new(); threads * spaces];
        Ahead { at: 0, inside: vec![0; threads], queues, spaces }
    }

    fn read(state: &[u8], threads: usize, spaces: usize) -> Self {
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
    fn length(state: &[u8]) -> usize {
        let end = state.len() - 2;
        2 + usize::from(u16::from_le_bytes([state[end], state[end + 1]]))
    }

    fn write(&self, bytes: &mut Vec<u8>) {
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

    /// Has the history shown all that reached the thread, as far as clients can tell?
    fn is_settled(&self, to: Tid, own: Option<Space>) -> bool {
        let mut spaces = (0..self.spaces as u8).map(Space).filter(|&space| own != Some(space));
        spaces.all(|space| self.queue(to, space).is_empty())
    }
}

/// Is every history of the first program one of the second, and has the first no race and no
/// failing assertion? `go_on` is asked now and then.
///
/// For a library: the most general client with the library, and with its specification. For a
/// client's side of the bargain: the client with the specification, and the most general client with
/// the specification.
pub fn refines(
    first: &System,
    second: &System,
    settings: &Settings,
    go_on: &mut dyn FnMut(&Statistics) -> bool,
) -> Answer {
    let answer = refines_as(first, second, settings, true, go_on);
    let settled = settings.literal || settings.history_only;
    match answer.verdict {
        Verdict::Differs(_) if !settled => refines_as(first, second, settings, false, go_on),
        _ => answer,
    }
}

fn refines_as(
    first: &System,
    second: &System,
    settings: &Settings,
    literal: bool,
    go_on: &mut dyn FnMut(&Statistics) -> bool,
) -> Answer {
    let alphabet = Rc::default();
    let (Some(mut first), Some(mut second)) = (
        Histories::new(first, settings, false, &alphabet),
        Histories::new(second, settings, !literal, &alphabet),
    ) else {
        let statistics = Statistics::default();
        return Answer { verdict: Verdict::Undecided, literal, statistics };
    };
    let (outcome, statistics) = inclusion::compare(&mut first, &mut second, go_on);
    let verdict = match outcome {
        Outcome::Included => Verdict::Refines,
        Outcome::Stopped | Outcome::Bad { bad: Finding::TooManyWrites { .. }, .. } => {
            Verdict::Undecided
        }
        Outcome::Bad { bad, run } => Verdict::Wrong { finding: bad, run: first.explain(&run) },
        Outcome::Differs { run, instead } => {
            let labels = alphabet.borrow().labels.clone();
            let label = |symbol: Symbol| labels[symbol as usize - 1].clone();
            Verdict::Differs(Difference {
                run: first.explain(&run),
                instead: instead.into_iter().map(label).collect(),
            })
        }
    };
    Answer { verdict, literal, statistics }
}
