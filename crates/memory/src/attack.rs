//! The memory of an attack: sequential consistency that remembers one thread's delayed stores, and
//! later what happens after that thread's last access.
//!
//! By *locality* (Theorem 1), if any computation of the machine has a cyclic happens-before trace,
//! then one has in which a single thread, the attacker, delays anything; and it can be brought into
//! the form (Proposition 2)
//!
//! 1. everyone runs under SC, until the attacker delays a store to some address, the *target*;
//! 2. the attacker runs on with delayed stores, the others, the *helpers*, under SC, until the
//!    attacker makes its last access, the *origin*: a load that goes past the delayed store to
//!    memory, or, where stores may overtake stores, a store that does;
//! 3. helpers make only accesses that happen after the origin, until one touches the target: when
//!    the delayed store now reaches memory, it happens after something that happens after itself.
//!
//! Neither the order nor the older contents of the buffers matter: the attacker sees the newest
//! delayed value of each address, the helpers see memory. What happens after the origin is known from
//! one [`Mark`] per address: a helper *joins* with an access that conflicts with a marked one, and
//! from then on all its accesses count.
//!
//! *Singularity* (Theorem 2): without lightweight fences it is enough to delay the one store to the
//! target.
//!
//! One thing beyond the paper: a block between `lock` and `unlock` is uninterrupted, so it is one
//! node of the trace. A helper may start such a block before it has joined; when it joins inside,
//! what it did earlier in the block happens after the origin as well ([`Attack::noted`]).

use crate::sc::{Access, access};
use crate::store_buffer::Machine;
use crate::{Attempt, Effect, EffectOn, Memory, Never};
use ir::expr::{Domain, Fault, Notes};
use ir::ids::{Loc, Tid, Value};
use ir::mode::FenceMode;
use ir::program::Program;
use ir::thread::Action;

/// How far an attack has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Everyone runs under SC.
    Calm = 0,
    /// The attacker delays stores.
    Delaying = 1,
    /// The attacker pauses and helpers look for the target.
    Closing = 2,
}

/// How an address was last touched by something that happens after the origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// Not at all.
    None = 0,
    /// By a load.
    Load = 1,
    /// By a store.
    Store = 2,
}

impl Mark {
    /// Does an access of kind `kind` to an address with this mark happen after the marking access?
    #[inline(always)]
    pub fn orders(self, kind: Mark) -> bool {
        self == Mark::Store || (self == Mark::Load && kind == Mark::Store)
    }

    /// The mark with this number.
    pub fn from_bits(bits: u64) -> Mark {
        match bits {
            0 => Mark::None,
            1 => Mark::Load,
            _ => Mark::Store,
        }
    }
}

/// What the memory remembers. What belongs to one phase is empty in the others: delayed values outside of
/// [`Phase::Delaying`], marks and notes outside of [`Phase::Closing`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attack {
    /// How far the attack has come.
    pub phase: Phase,
    /// Who attacks; meaningful after [`Phase::Calm`].
    pub attacker: Tid,
    /// The address of the first delayed store; meaningful after [`Phase::Calm`].
    pub target: Loc,
    /// Has a lightweight fence been delayed?
    pub fence_delayed: bool,
    /// The thread in an uninterrupted block.
    pub owner: Option<Tid>,
    /// The value of each location in memory.
    pub memory: Vec<Value>,
    /// The newest delayed value of each location, while delaying.
    pub delayed: Vec<Option<Value>>,
    /// While closing, the helpers whose accesses count.
    pub joined: u128,
    /// While closing, what is known to happen after the origin.
    pub marks: Vec<Mark>,
    /// What a helper that has not joined did in the block it is in.
    pub noted: Vec<Mark>,
}

impl Attack {
    /// Nobody attacks yet.
    pub fn new(memory: Vec<Value>) -> Self {
        let locations = memory.len();
        Attack {
            phase: Phase::Calm,
            attacker: Tid(0),
            target: Loc(0),
            fence_delayed: false,
            owner: None,
            memory,
            delayed: vec![None; locations],
            joined: 0,
            marks: vec![Mark::None; locations],
            noted: vec![Mark::None; locations],
        }
    }

    /// Forgets what belongs to the phase it is in: nobody attacks any more.
    #[inline(always)]
    pub fn calm_down(&mut self) {
        match self.phase {
            Phase::Calm => {}
            Phase::Delaying => {
                self.fence_delayed = false;
                self.delayed.fill(None);
            }
            Phase::Closing => {
                self.joined = 0;
                self.marks.fill(Mark::None);
                self.noted.fill(Mark::None);
            }
        }
        self.phase = Phase::Calm;
    }

    /// Becomes a copy of `other` without allocating. Only what belongs to the phase of either is touched.
    #[inline(always)]
    pub fn copy_from(&mut self, other: &Attack) {
        if self.phase != other.phase {
            self.calm_down();
        }
        self.phase = other.phase;
        self.attacker = other.attacker;
        self.target = other.target;
        self.owner = other.owner;
        self.memory.copy_from_slice(&other.memory);
        match other.phase {
            Phase::Calm => {}
            Phase::Delaying => {
                self.fence_delayed = other.fence_delayed;
                self.delayed.copy_from_slice(&other.delayed);
            }
            Phase::Closing => {
                self.joined = other.joined;
                self.marks.copy_from_slice(&other.marks);
                self.noted.copy_from_slice(&other.noted);
            }
        }
        debug_assert_eq!(self, other, "what belongs to other phases is empty");
    }

    /// May `tid` move, as far as uninterrupted blocks are concerned?
    #[inline(always)]
    pub fn admits(&self, tid: Tid) -> bool {
        self.owner.is_none_or(|owner| owner == tid)
    }

    /// Phase 1 to 2: `attacker` delays a store of `value` to `target`.
    pub fn start(&mut self, attacker: Tid, target: Loc, value: Value) {
        self.phase = Phase::Delaying;
        self.attacker = attacker;
        self.target = target;
        self.delayed[target.index()] = Some(value);
    }

    /// Phase 2 to 3: the attacker's last access was of `kind` to `loc`. Delayed values no longer
    /// matter.
    pub fn close(&mut self, loc: Loc, kind: Mark) {
        self.phase = Phase::Closing;
        self.delayed.fill(None);
        self.fence_delayed = false;
        self.marks[loc.index()] = kind;
    }

    /// Is `tid` the attacker, with stores delayed?
    #[inline(always)]
    pub fn is_delaying(&self, tid: Tid) -> bool {
        self.phase == Phase::Delaying && self.attacker == tid
    }

    /// Has this helper joined?
    #[inline(always)]
    pub fn has_joined(&self, tid: Tid) -> bool {
        self.joined >> tid.0 & 1 == 1
    }

    /// Phase 3: may helper `tid` make an access of `kind` to `loc`?
    #[inline(always)]
    pub fn may_help(&self, tid: Tid, loc: Loc, kind: Mark) -> bool {
        self.has_joined(tid) || self.owner == Some(tid) || self.marks[loc.index()].orders(kind)
    }

    /// Phase 3: helper `tid` makes an access of `kind` to `loc`, as it may. Says whether the attack
    /// succeeds.
    pub fn help(&mut self, tid: Tid, loc: Loc, kind: Mark) -> bool {
        if !self.has_joined(tid) {
            if !self.marks[loc.index()].orders(kind) {
                let noted = &mut self.noted[loc.index()];
                *noted = kind.max(*noted);
                return false;
            }
            self.joined |= 1u128 << tid.0;
            for (mark, noted) in self.marks.iter_mut().zip(&mut self.noted) {
                *mark = (*mark).max(std::mem::replace(noted, Mark::None));
            }
        }
        let mark = &mut self.marks[loc.index()];
        *mark = kind.max(*mark);
        self.marks[self.target.index()] != Mark::None
    }
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Attacks that succeed.
    Cycle,
    /// Triangular races: a store, then a load with no full fence in between. The store is made at once;
    /// delayed values only tell which locations were stored.
    TriangularRace,
}

/// How a thread performs an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// At once.
    Now,
    /// At once, and it is the attacker's last access.
    Close,
    /// Later: the store is delayed, which starts the attack if there is none yet.
    Delay,
}

/// What a step did to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Local steps only.
    Local,
    /// Read this value from memory.
    Read(Loc, Value),
    /// Read this value from the thread's own delayed stores.
    ReadDelayed(Loc, Value),
    /// Wrote this value to memory at once.
    Write(Loc, Value),
    /// Put off writing this value.
    Delay(Loc, Value),
    /// Read and wrote these values.
    Update(Loc, Value, Value),
    /// A lightweight fence, put off or not.
    LightFence(bool),
    /// Started an uninterrupted block.
    Lock,
    /// Ended it.
    Unlock,
}

/// A helper has touched the target: the attack succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Succeeds;

/// The memory on which attacks are made.
#[derive(Clone, Debug)]
pub struct Attacks {
    machine: Machine,
    goal: Goal,
    /// Is one store delayed and no other?
    singular: bool,
    domain: Domain,
    initial: Vec<Value>,
    /// Per location: does more than one thread touch it, and one store it? Others are never delayed.
    shared: Vec<bool>,
}

impl Attacks {
    /// The memory of a compiled program, in which threads share these locations.
    pub fn new(
        program: &Program,
        machine: Machine,
        goal: Goal,
        singular: bool,
        shared: Vec<bool>,
    ) -> Self {
        let initial = program.locations.iter().map(|loc| loc.initial).collect();
        Attacks { machine, goal, singular, domain: program.domain, initial, shared }
    }

    /// Which machine.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// What is looked for.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// Looks for something else.
    pub fn look_for(&mut self, goal: Goal) {
        self.goal = goal;
    }

    /// Does the action under SC; `None` if it blocks.
    #[inline(always)]
    fn under_sc(
        &self,
        attack: &mut Attack,
        tid: Tid,
        action: &Action,
        notes: &mut Notes,
    ) -> Result<Option<(Option<Value>, Act)>, Fault> {
        let Some(loc) = action.loc() else {
            let (free, own) = (attack.owner.is_none(), attack.owner == Some(tid));
            return Ok(match action {
                Action::BusLock if free => {
                    attack.owner = Some(tid);
                    Some((None, Act::Lock))
                }
                Action::BusUnlock if own => {
                    attack.owner = None;
                    Some((None, Act::Unlock))
                }
                _ => None,
            });
        };
        let done = access(&mut attack.memory, action, self.domain, notes)?;
        let Some(Access { old, wrote }) = done else { return Ok(None) };
        let new = attack.memory[loc.index()];
        Ok(Some(match action {
            Action::Write { .. } => (None, Act::Write(loc, new)),
            _ if wrote => (Some(old), Act::Update(loc, old, new)),
            _ => (Some(old), Act::Read(loc, old)),
        }))
    }

    /// A step of the attacker, made at once.
    fn attack(
        &self,
        attack: &mut Attack,
        tid: Tid,
        action: &Action,
        notes: &mut Notes,
    ) -> Result<Option<(Option<Value>, Act)>, Fault> {
        let delayed = |loc: &Loc| attack.delayed[loc.index()];
        Ok(match action {
            Action::Read { loc, .. } | Action::Wait { loc, .. } if self.goal == Goal::Cycle => {
                match delayed(loc) {
                    None => self.under_sc(attack, tid, action, notes)?,
                    Some(value) => {
                        let waits = matches!(action, Action::Wait { values, .. } if !values.contains(&value));
                        (!waits).then_some((Some(value), Act::ReadDelayed(*loc, value)))
                    }
                }
            }
            Action::Read { .. } | Action::Wait { .. } => {
                self.under_sc(attack, tid, action, notes)?
            }
            Action::Write { loc, .. } => {
                let done = self.under_sc(attack, tid, action, notes)?;
                if self.goal == Goal::TriangularRace && self.shared[loc.index()] {
                    attack.delayed[loc.index()] = Some(0);
                }
                done
            }
            // Lightweight fences do not empty buffers.
            _ if self.goal == Goal::TriangularRace => Some((None, Act::LightFence(true))),
            Action::LightFence(locs) => {
                let waits = attack.fence_delayed || locs.iter().any(|loc| delayed(loc).is_some());
                attack.fence_delayed = waits;
                Some((None, Act::LightFence(waits)))
            }
            Action::Fence(FenceMode::Rel) => {
                attack.fence_delayed = true;
                Some((None, Act::LightFence(true)))
            }
            _ => None,
        })
    }

    /// A step of a helper in phase 3.
    fn help(
        &self,
        attack: &mut Attack,
        tid: Tid,
        action: &Action,
        notes: &mut Notes,
    ) -> Result<EffectOn<Self>, Fault> {
        let joined = attack.has_joined(tid);
        // A block in which the helper does not join is of no use.
        if matches!(action, Action::BusUnlock) && !joined {
            return Ok(Effect::Blocked);
        }
        let in_block = attack.owner == Some(tid);
        let Some((read, act)) = self.under_sc(attack, tid, action, notes)? else {
            return Ok(Effect::Blocked);
        };
        let (loc, kind) = match act {
            Act::Read(loc, _) => (loc, Mark::Load),
            Act::Write(loc, _) | Act::Update(loc, ..) => (loc, Mark::Store),
            _ => return Ok(Effect::Done(read, act)),
        };
        if !self.shared[loc.index()] {
            return Ok(match joined || in_block {
                true => Effect::Done(read, act),
                false => Effect::Blocked,
            });
        }
        if !attack.may_help(tid, loc, kind) {
            return Ok(Effect::Blocked);
        }
        Ok(match attack.help(tid, loc, kind) {
            true => Effect::Wrong(Succeeds, read, act),
            false => Effect::Done(read, act),
        })
    }
}

impl Memory for Attacks {
    type State = Attack;
    type Violation = Succeeds;
    type Way = Way;
    type Own = Never;
    type Seen = Act;

    fn initial(&self) -> Attack {
        Attack::new(self.initial.clone())
    }

    fn ways(&self, attack: &Attack, tid: Tid, action: &Action, mut each: impl FnMut(Way)) {
        if !attack.is_delaying(tid) {
            each(Way::Now);
            let starts = attack.phase == Phase::Calm && attack.owner.is_none();
            if let (Action::Write { loc, .. }, true) = (action, starts)
                && (self.shared[loc.index()] || self.goal == Goal::TriangularRace)
            {
                each(Way::Delay);
            }
            return;
        }
        if needs_empty_buffers(action) {
            return;
        }
        match action {
            _ if self.goal == Goal::TriangularRace => each(Way::Now),
            Action::Read { loc, .. } | Action::Wait { loc, .. } => {
                each(Way::Now);
                if attack.delayed[loc.index()].is_none() {
                    each(Way::Close);
                }
            }
            Action::Write { loc, .. } => {
                let private = !self.shared[loc.index()];
                let must_wait = attack.fence_delayed
                    || attack.delayed[loc.index()].is_some()
                    || self.machine == Machine::Tso;
                if private || !must_wait {
                    each(Way::Now);
                    if !private {
                        each(Way::Close);
                    }
                }
                if !private && !self.singular {
                    each(Way::Delay);
                }
            }
            _ => each(Way::Now),
        }
    }

    #[inline]
    fn step(
        &self,
        attack: &mut Attack,
        Attempt { tid, action, .. }: Attempt<'_>,
        way: Way,
        notes: &mut Notes,
    ) -> Result<EffectOn<Self>, Fault> {
        let delaying = attack.is_delaying(tid);
        let done = match (way, action) {
            (Way::Delay, Action::Write { loc, value, .. }) => {
                let act = match self.goal {
                    Goal::Cycle => Some((None, Act::Delay(*loc, *value))),
                    Goal::TriangularRace => self.under_sc(attack, tid, action, notes)?,
                };
                match (delaying, self.goal) {
                    (true, _) => attack.delayed[loc.index()] = Some(*value),
                    (false, Goal::Cycle) => attack.start(tid, *loc, *value),
                    (false, Goal::TriangularRace) => attack.start(tid, *loc, 0),
                }
                act
            }
            _ if delaying => self.attack(attack, tid, action, notes)?,
            _ if attack.phase == Phase::Closing => return self.help(attack, tid, action, notes),
            _ => self.under_sc(attack, tid, action, notes)?,
        };
        let Some((read, act)) = done else { return Ok(Effect::Blocked) };
        if way == Way::Close {
            match act {
                Act::Read(loc, _) => attack.close(loc, Mark::Load),
                Act::Write(loc, _) => attack.close(loc, Mark::Store),
                _ => return Ok(Effect::Blocked),
            }
        }
        Ok(Effect::Done(read, act))
    }

    fn own_step(&self, _: &mut Attack, own: Never) -> Option<Act> {
        match own {}
    }
}

/// Is it possible only when nothing is delayed?
fn needs_empty_buffers(action: &Action) -> bool {
    matches!(
        action,
        Action::Fence(FenceMode::Sc)
            | Action::Update { .. }
            | Action::Cas { .. }
            | Action::BlockingCas { .. }
            | Action::BusLock
            | Action::BusUnlock
    )
}
