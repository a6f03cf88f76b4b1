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

use ir::ids::{Loc, Tid, Value};

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

/// What the memory remembers.
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
    pub joined: u32,
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

    /// Becomes a copy of `other` without allocating.
    pub fn copy_from(&mut self, other: &Attack) {
        self.phase = other.phase;
        self.attacker = other.attacker;
        self.target = other.target;
        self.fence_delayed = other.fence_delayed;
        self.owner = other.owner;
        self.joined = other.joined;
        self.memory.copy_from_slice(&other.memory);
        self.delayed.copy_from_slice(&other.delayed);
        self.marks.copy_from_slice(&other.marks);
        self.noted.copy_from_slice(&other.noted);
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
            self.joined |= 1 << tid.0;
            for (mark, noted) in self.marks.iter_mut().zip(&mut self.noted) {
                *mark = (*mark).max(std::mem::replace(noted, Mark::None));
            }
        }
        let mark = &mut self.marks[loc.index()];
        *mark = kind.max(*mark);
        self.marks[self.target.index()] != Mark::None
    }
}
