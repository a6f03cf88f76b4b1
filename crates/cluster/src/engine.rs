//! One worker's part of a search: its states, what it expands, and what it sends.
//!
//! A state belongs to the worker that the hash of its core names. Each worker keeps its own states in a
//! [`Shard`], expands them level by level, inserts successors of its own at once and sends the others, many at a time.
//!
//! **Levels.** The states of a level are a range of the shard. A worker begins to expand a level when timely says
//! that no message of that level can come any more. Messages of the *next* level may come earlier, from workers that
//! were told sooner: the level of a state is the one written on its message, so the range of a level ends as soon as
//! the first state of the next one comes. Otherwise states would count as nearer than they are, and paths would not
//! be shortest.
//!
//! **Credit.** Timely's queues have no bound. A worker sends a target no more than [`Settings::window`] bytes of states that
//! the target has not said to have inserted; when it has sent as much, it stops expanding, though not inserting, so
//! two workers never wait for each other.
//!
//! **Partial order.** Whether a successor is new is known to its owner only, so only the worker's own successors count
//! as new; if none of them is, the state is expanded in full. That is the rule of `search`, with fewer states that
//! count: every state that puts an action off still has a successor that was inserted later, by the same worker,
//! and that puts it off as well.
//!
//! States and where they came from are kept in a [`Held`], which outlives the search.

use crate::held::{Held, Place};
use crate::message::{Header, Kind, Message, append, states};
use crate::report::{limit_numbers, limit_of};
use search::{Limit, Model, Options, Shard, Sink};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Parents expanded before a worker looks at what else there is to do.
const CHUNK: u32 = 64;
/// How long a worker expands before it lets timely send and receive.
const SLICE: Duration = Duration::from_millis(2);
/// How often a worker looks at its limits while it waits.
const LOOK: Duration = Duration::from_millis(5);

/// How messages are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Bytes of states that a target may not have inserted yet.
    pub window: usize,
    /// Bytes of states that are sent together.
    pub batch: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { window: 1 << 20, batch: 1 << 15 }
    }
}

/// How far a worker has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    /// The level it is at.
    pub level: u64,
    /// How many of its states are in that level.
    pub in_level: u64,
    /// How many states it has.
    pub states: u64,
    /// Successors it has generated.
    pub transitions: u64,
    /// States it has expanded.
    pub expanded: u64,
    /// Bytes of its visited set.
    pub bytes: u64,
    /// Does it want a checkpoint before the next level? 1 if so; only worker 0 is listened to.
    pub checkpoint: u64,
}

impl Count {
    const NUMBERS: usize = 7;

    fn to_bytes(self) -> Vec<u8> {
        let Count { level, in_level, states, transitions, expanded, bytes, checkpoint } = self;
        let numbers: [u64; Count::NUMBERS] =
            [level, in_level, states, transitions, expanded, bytes, checkpoint];
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Count {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |at: usize| numbers.get(at).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Count {
            level: number(0),
            in_level: number(1),
            states: number(2),
            transitions: number(3),
            expanded: number(4),
            bytes: number(5),
            checkpoint: number(6),
        }
    }
}

/// States on their way to another worker.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    first: u32,
    end: u32,
    /// Bytes that were sent and are not known to be inserted.
    in_flight: usize,
}

/// What a worker is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Waiting until no more states of its level can come.
    Waiting,
    /// Expanding its level.
    Expanding,
    /// It has seen everything, or was told to stop.
    Over,
}

/// One worker's part of a search.
pub(crate) struct Engine<M: Model> {
    pub me: u32,
    pub workers: u32,
    settings: Settings,
    options: Options,
    pub held: Held<M>,
    scratch: M::Scratch,
    parent: Vec<u8>,
    pub phase: Phase,
    /// The level being expanded, or about to be.
    pub level: u64,
    /// The next state to expand.
    next: u32,
    out: Vec<Outgoing>,
    /// Messages that timely has not been given yet.
    pub ready: Vec<Message>,
    /// What each worker said last, in even and in odd levels: some may be a level ahead.
    counts: [Vec<Count>; 2],
    /// The level that the search began at.
    first_level: u64,
    /// How many states the others were told of.
    told: u64,
    /// Why everybody stops, if not because all was seen.
    pub limit: Option<Limit>,
    pub halted: bool,
    answered: bool,
    /// Were states thrown away that nobody has seen?
    pub dropped: bool,
    looked: Instant,
    /// How many bytes its visited set may have.
    memory: Option<u64>,
    /// When to ask for a checkpoint.
    checkpoint_due: Option<Instant>,
    /// The most bytes that were in flight to one target.
    pub most_in_flight: usize,
}

/// Which worker a state with this hash belongs to. The table of a shard looks at some bits of the hash, so the owner is
/// taken from a mixture of all.
#[inline(always)]
pub(crate) fn owner(hash: u64, workers: u32) -> u32 {
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((mixed * u64::from(workers)) >> 32) as u32
}

impl<M: Model> Engine<M> {
    /// A worker that has its initial states.
    pub(crate) fn new(
        model: Arc<M>,
        options: Options,
        settings: Settings,
        (me, workers): (u32, u32),
        memory: Option<u64>,
    ) -> Self {
        let width = model.width();
        let mut scratch = model.scratch();
        let mut held = Held {
            width,
            shard: Shard::new(width, memory),
            starts: vec![0],
            log: Vec::new(),
            transitions: 0,
            expanded: 0,
            seen: HashSet::new(),
            places: Vec::new(),
            malformed: None,
            model,
        };
        let model = Arc::clone(&held.model);
        let mut initial = Initial { held: &mut held, me, workers, stops: false };
        model.initial(&mut scratch, &mut initial);
        let answered = initial.stops;
        held.shard.flush();
        Engine {
            me,
            workers,
            settings,
            options,
            held,
            scratch,
            parent: Vec::new(),
            phase: Phase::Waiting,
            level: 0,
            next: 0,
            out: (0..workers).map(|_| Outgoing::default()).collect(),
            ready: Vec::new(),
            counts: std::array::from_fn(|_| vec![Count::default(); workers as usize]),
            first_level: 0,
            told: 0,
            limit: None,
            halted: false,
            answered,
            dropped: false,
            looked: Instant::now(),
            memory,
            checkpoint_due: None,
            most_in_flight: 0,
        }
    }

    /// Goes on from a level that a checkpoint holds; `held` has all states up to that level.
    pub(crate) fn resume_at(&mut self, level: u64) {
        (self.level, self.first_level) = (level, level);
        let stops = |finding: &M::Finding| self.held.model.stops(finding);
        self.answered |= self.held.seen.iter().any(stops);
    }

    /// Asks for a checkpoint from then on.
    pub(crate) fn checkpoint_at(&mut self, due: Instant) {
        self.checkpoint_due = Some(due);
    }

    /// How far this worker has come.
    pub(crate) fn count(&self) -> Count {
        let (start, end) = self.held.range(self.level);
        Count {
            level: self.level,
            in_level: u64::from(end - start),
            states: u64::from(self.held.shard.len()),
            transitions: self.held.transitions,
            expanded: self.held.expanded,
            bytes: self.held.shard.bytes(),
            checkpoint: u64::from(self.checkpoint_due.is_some_and(|due| Instant::now() >= due)),
        }
    }

    /// What all workers have done together, as far as is known.
    pub(crate) fn total(&self) -> Count {
        let own = self.count();
        let [even, odd] = &self.counts;
        let others = even.iter().zip(odd).zip(0..).filter(|(_, worker)| *worker != self.me);
        others.fold(own, |sum, ((even, odd), _)| {
            let last = if odd.states > even.states { odd } else { even };
            Count {
                states: sum.states + last.states,
                transitions: sum.transitions + last.transitions,
                expanded: sum.expanded + last.expanded,
                bytes: sum.bytes + last.bytes,
                ..sum
            }
        })
    }

    /// Sends something small to all others.
    fn tell(&mut self, kind: Kind, first: u32, end: u32, bytes: &[u8]) {
        for target in (0..self.workers).filter(|target| *target != self.me) {
            let header = Header { kind, target, from: self.me, first, end };
            self.ready.push(Message::new(header, bytes.to_vec()));
        }
    }

    fn tell_count(&mut self) {
        let count = self.count();
        self.told = count.states;
        self.hear(self.me, count);
        self.tell(Kind::Count, 0, 0, &count.to_bytes());
    }

    fn hear(&mut self, from: u32, count: Count) {
        self.counts[(count.level % 2) as usize][from as usize] = count;
    }

    /// Stops everybody.
    pub(crate) fn halt(&mut self, limit: Option<Limit>) {
        if self.halted {
            return;
        }
        let (number, detail) = limit_numbers(limit);
        self.tell(Kind::Halt, number, detail, &[]);
        self.stop(limit);
    }

    fn stop(&mut self, limit: Option<Limit>) {
        self.halted = true;
        self.limit = self.limit.or(limit);
        self.phase = Phase::Over;
        self.dropped |= self.out.iter().any(|out| !out.bytes.is_empty());
        self.out.iter_mut().for_each(|out| out.bytes = Vec::new());
    }

    /// Takes in a message of a level.
    pub(crate) fn receive(&mut self, level: u64, message: &Message) {
        let Header { kind, from, first, end, .. } = message.header;
        match kind {
            Kind::Nothing => {}
            Kind::States => {
                self.held.fill(level);
                debug_assert_eq!(self.held.filled(), level, "a state of a level that is over");
                let before = self.held.shard.len();
                for state in states(self.held.width, message.bytes()) {
                    let hash = self.held.shard.hash(state);
                    self.held.shard.put(state, hash);
                }
                self.held.shard.flush();
                self.held.note_origin(before, from, (first, end));
                if !self.halted {
                    let kind = Kind::Inserted;
                    let header = Header {
                        kind,
                        target: from,
                        from: self.me,
                        first: message.bytes().len() as u32,
                        end: 0,
                    };
                    self.ready.push(Message::new(header, Vec::new()));
                }
            }
            Kind::Inserted => {
                let out = &mut self.out[from as usize];
                out.in_flight = out.in_flight.saturating_sub(first as usize);
            }
            Kind::Count => {
                self.hear(from, Count::from_bytes(message.bytes()));
            }
            Kind::Answered => self.answered = true,
            Kind::Halt => {
                if !self.halted {
                    self.stop(limit_of(first, end));
                }
            }
        }
    }

    /// Begins to expand its level, of which no states can come any more. All workers come here once for each level,
    /// and have all heard the same of the level before. Says whether a checkpoint is wanted first.
    pub(crate) fn begin(&mut self) -> bool {
        debug_assert_eq!(self.phase, Phase::Waiting);
        let level = self.level;
        self.held.fill(level + 1);
        self.next = self.held.range(level).0;
        let mut checkpoint = false;
        if level > self.first_level {
            let before = &self.counts[((level - 1) % 2) as usize];
            debug_assert!(before.iter().all(|count| count.level == level - 1), "{before:?}");
            checkpoint = before[0].checkpoint != 0;
            if before.iter().all(|count| count.in_level == 0) {
                self.phase = Phase::Over;
                self.level -= 1;
                return false;
            }
        }
        self.phase = Phase::Expanding;
        self.tell_count();
        if self.options.limits.depth.is_some_and(|most| level > most) {
            self.halt(Some(Limit::Depth));
        }
        self.look();
        checkpoint && self.phase == Phase::Expanding
    }

    /// Looks whether it is time to stop.
    pub(crate) fn look(&mut self) {
        self.looked = Instant::now();
        if self.halted || self.phase == Phase::Over {
            return;
        }
        let states = self.total().states;
        let limits = self.options.limits;
        let bytes = self.held.shard.bytes();
        if let Some(bytes) = self.held.malformed {
            self.halt(Some(Limit::Malformed { bytes }));
        } else if limits.states.is_some_and(|most| states > most) {
            self.halt(Some(Limit::States));
        } else if self.held.shard.is_full() || self.memory.is_some_and(|most| bytes > most) {
            self.halt(Some(Limit::Memory));
        } else if let Some(spent) = limits.budget.spent() {
            self.halt(Some(spent.into()));
        } else if self.answered && self.options.stop.is_due(states) {
            self.halt(None);
        }
    }

    /// Looks whether it is time to stop, if the last look was long ago; says whether it is.
    pub(crate) fn look_again(&mut self) -> bool {
        let before = self.halted;
        if self.looked.elapsed() >= LOOK {
            self.look();
        }
        self.halted && !before
    }

    /// Is there something to do now, without waiting for anybody?
    pub(crate) fn can_work(&self) -> bool {
        self.phase == Phase::Expanding && !self.is_blocked()
    }

    fn is_blocked(&self) -> bool {
        self.out.iter().any(|out| out.in_flight >= self.settings.window)
    }

    /// Expands states of its level for a while; says whether the level is done.
    pub(crate) fn work(&mut self) -> bool {
        let start = Instant::now();
        let end = self.held.range(self.level).1;
        while self.phase == Phase::Expanding && !self.is_blocked() {
            if self.next == end {
                (0..self.workers).for_each(|target| self.send(target));
                self.tell_count_if_grown();
                return true;
            }
            self.expand_chunk(end.min(self.next.saturating_add(CHUNK)));
            self.tell_count_if_grown();
            if start.elapsed() >= SLICE {
                break;
            }
        }
        false
    }

    /// Goes on to the next level, and waits for it.
    pub(crate) fn advance(&mut self) {
        self.level += 1;
        self.phase = Phase::Waiting;
    }

    /// Tells the others how many states it has, if they have become many more and that matters.
    fn tell_count_if_grown(&mut self) {
        let states = u64::from(self.held.shard.len());
        let enough = match (self.options.limits.states, self.options.stop) {
            (Some(most), _) => most,
            (None, search::Stop::AfterStates(enough)) if self.answered => enough,
            _ => 1 << 24,
        };
        let step = (enough / (16 * u64::from(self.workers))).max(u64::from(CHUNK));
        if states >= self.told.saturating_add(step) {
            self.tell_count();
        }
    }

    fn expand_chunk(&mut self, end: u32) {
        let before = self.held.shard.len();
        let first = self.next;
        let mut ticker = self.options.limits.budget.ticker();
        let model = Arc::clone(&self.held.model);
        let mut stops = false;
        while self.next < end && !self.held.shard.is_full() {
            if ticker.tick().is_some() {
                break;
            }
            let index = self.next;
            self.next += 1;
            self.held.expanded += 1;
            if self.held.shard.is_covered(index) {
                continue;
            }
            self.parent.clear();
            self.parent.extend_from_slice(self.held.shard.get(index));
            let mut successors = Successors {
                held: &mut self.held,
                out: &mut self.out,
                me: self.me,
                workers: self.workers,
                level: self.level,
                index,
                ordinal: 0,
                now: true,
                any_new: false,
                stops: false,
            };
            model.expand_reduced(&self.parent, &mut self.scratch, &mut successors);
            if !successors.any_new {
                successors.now = false;
                model.expand(&self.parent, &mut self.scratch, &mut successors);
            }
            stops |= successors.stops;
        }
        self.held.shard.flush();
        self.held.note_origin(before, self.me, (first, self.next));
        if stops && !self.answered {
            self.answered = true;
            self.tell(Kind::Answered, 0, 0, &[]);
        }
        for target in 0..self.workers {
            if self.out[target as usize].bytes.len() >= self.settings.batch {
                self.send(target);
            }
        }
        self.look();
    }

    /// Sends what waits for a worker.
    fn send(&mut self, target: u32) {
        let out = &mut self.out[target as usize];
        if out.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut out.bytes);
        out.bytes.reserve(self.settings.batch + self.settings.batch / 4);
        out.in_flight += bytes.len();
        self.most_in_flight = self.most_in_flight.max(out.in_flight);
        let header =
            Header { kind: Kind::States, target, from: self.me, first: out.first, end: out.end };
        self.ready.push(Message::new(header, bytes));
    }
}

/// Takes in initial states: each worker finds them all, and keeps its own.
struct Initial<'a, M: Model> {
    held: &'a mut Held<M>,
    me: u32,
    workers: u32,
    stops: bool,
}

impl<M: Model> Sink<M::Finding> for Initial<'_, M> {
    fn state(&mut self, state: &[u8]) {
        if !self.held.shard.admits(state.len()) {
            self.held.malformed = Some(state.len());
            return;
        }
        let hash = self.held.shard.hash(state);
        if owner(hash, self.workers) == self.me {
            self.held.shard.put(state, hash);
        }
    }

    /// All processes find these for themselves; they have no place.
    fn finding(&mut self, finding: M::Finding) {
        self.stops |= self.held.model.stops(&finding);
        self.held.seen.insert(finding);
    }
}

/// Takes in the successors of one state.
struct Successors<'a, M: Model> {
    held: &'a mut Held<M>,
    out: &'a mut [Outgoing],
    me: u32,
    workers: u32,
    level: u64,
    index: u32,
    ordinal: u32,
    /// Is it to be known at once whether a state is new?
    now: bool,
    any_new: bool,
    stops: bool,
}

impl<M: Model> Sink<M::Finding> for Successors<'_, M> {
    #[inline]
    fn state(&mut self, state: &[u8]) {
        self.held.transitions += 1;
        if !self.held.shard.admits(state.len()) {
            self.held.malformed = Some(state.len());
            return;
        }
        let hash = self.held.shard.hash(state);
        let owner = owner(hash, self.workers);
        if owner != self.me {
            let out = &mut self.out[owner as usize];
            if out.bytes.is_empty() {
                out.first = self.index;
            }
            out.end = self.index + 1;
            append(self.held.width, state, &mut out.bytes);
        } else if self.now {
            self.any_new |= self.held.shard.insert(state, hash);
        } else {
            self.held.shard.put(state, hash);
        }
    }

    fn finding(&mut self, finding: M::Finding) {
        let ordinal = self.ordinal;
        self.ordinal += 1;
        let stops = self.held.model.stops(&finding);
        if self.held.seen.insert(finding) {
            self.stops |= stops;
            let (level, worker, index) = (self.level, self.me, self.index);
            self.held.places.push(Place { level, worker, index, ordinal });
        }
    }
}
