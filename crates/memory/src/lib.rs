//! The six memories that programs run on, and the trait [`Memory`] that they implement.
//!
//! A [`Memory`] is the other half of a concurrent system (Def. 2.7 of the RC20 paper). The monitors that
//! decide robustness are memories too: sequential consistency that remembers a little more, and may
//! object when a thread *arrives* at an instruction. What reductions need of a memory (packing,
//! renaming, making counters smaller) are traits of their own.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod attack;
pub mod rc11;
pub mod rc11_views;
pub mod rc20;
pub mod sc;
pub mod store_buffer;

use analysis::access::{Future, Uses};
use analysis::counters::{Counters, Lowering};
use analysis::opaque_values::Types;
use analysis::symmetry::Automorphism;
use ir::bits::{BitReader, BitWriter};
use ir::expr::{Fault, Notes};
use ir::ids::{Loc, Tid, Value};
use ir::mode::FenceMode;
use ir::program::Instr;
use ir::thread::Action;
use std::fmt::Debug;
use std::hash::Hash;

/// What came of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect<V, S = ()> {
    /// The memory does not allow it now.
    Blocked,
    /// It was done. This was read, if it reads, and this is what a trace would say of it.
    Done(Option<Value>, S),
    /// It was done, and it is wrong.
    Wrong(V, Option<Value>, S),
}

/// What came of an action of a thread on a memory.
pub type EffectOn<M> = Effect<<M as Memory>::Violation, <M as Memory>::Seen>;

/// What a thread is about to do.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'p> {
    /// Who.
    pub tid: Tid,
    /// Where: the instruction it has come to.
    pub instr: &'p Instr,
    /// What the instruction wants of memory, with the thread's registers.
    pub action: &'p Action,
}

/// A memory system: a thread *arrives* at an instruction, and the memory may object; the thread takes
/// the *step*, in one of the *ways* that the memory allows; and in between the memory may take steps of
/// its own, such as writing a buffered store.
pub trait Memory: Send + Sync {
    /// What it remembers, in a form that is quick to work with.
    type State: Clone + Send + Debug;
    /// What it may object to.
    type Violation: Copy + Eq + Hash + Debug + Send;
    /// A way to perform an action, if there are several: which write is read, say.
    type Way: Copy + Debug;
    /// A step that the memory takes by itself.
    type Own: Copy + Debug;
    /// What a trace says of a step.
    type Seen: Copy + Debug;
    /// Does it ever object to a thread's arrival?
    const OBJECTS: bool = false;

    /// What it remembers at first.
    fn initial(&self) -> Self::State;

    /// What it has noted beside its states, for copies of it in other processes ([`Memory::learn`]).
    fn learnt(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Adds what a copy of it has [noted](Memory::learnt).
    fn learn(&self, learnt: &[Value]) {
        let _ = learnt;
    }

    /// Does it object to a thread having come this far?
    #[inline(always)]
    fn arrive(&self, state: &Self::State, attempt: Attempt<'_>) -> Option<Self::Violation> {
        let _ = (state, attempt);
        None
    }

    /// Could it object to the arrival at one of these accesses in this state?
    #[inline(always)]
    fn may_object(&self, state: &Self::State, tid: Tid, accesses: &Future) -> bool {
        let _ = (state, tid, accesses);
        Self::OBJECTS
    }

    /// Thread `tid` has taken the local step `instr`. Monitors that follow values through registers
    /// want to know.
    #[inline(always)]
    fn local_step(&self, state: &mut Self::State, tid: Tid, instr: &Instr) {
        let _ = (state, tid, instr);
    }

    /// Hands to `each` the ways in which thread `tid` may perform `action`. [`Memory::step`] may still
    /// find that one is blocked.
    fn ways(&self, state: &Self::State, tid: Tid, action: &Action, each: impl FnMut(Self::Way));

    /// Lets a thread do what it is about to do, which is no local step, in this way.
    fn step(
        &self,
        state: &mut Self::State,
        attempt: Attempt<'_>,
        way: Self::Way,
        notes: &mut Notes,
    ) -> Result<EffectOn<Self>, Fault>;

    /// Hands to `each` the steps that the memory may take by itself.
    #[inline(always)]
    fn own_steps(&self, state: &Self::State, each: impl FnMut(Self::Own)) {
        let _ = (state, each);
    }

    /// Takes a step of the memory's own; says what a trace says of it, unless it is not possible.
    fn own_step(&self, state: &mut Self::State, own: Self::Own) -> Option<Self::Seen>;

    /// The location, beyond the program's own, that updating fences access; none if fences touch
    /// nothing but their thread's own part of the state.
    #[inline(always)]
    fn fence_location(&self) -> Option<Loc> {
        None
    }
}

/// No step: of a memory that takes none by itself, or never objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Never {}

/// A memory whose states are packed into a fixed number of bits.
pub trait Packed: Memory {
    /// Does the state fit the bits that it is packed in? A search that makes counters small may come to
    /// states which no analysis of the program foresaw.
    fn fits(&self, state: &Self::State) -> bool;

    /// How many bits a packed state has, without the monitors' part.
    fn bits(&self) -> u32;

    /// Packs `state`, without the monitors' part.
    fn pack(&self, state: &Self::State, out: &mut BitWriter<'_>);

    /// Unpacks into `state`, without the monitors' part.
    fn unpack(&self, state: &mut Self::State, from: &mut BitReader<'_>);

    /// How many bits the monitors' part has. It must be monotone: monitors that remember more bits
    /// object whenever those with fewer do, do not change what threads can do, and remember more
    /// bits after every step.
    fn monitor_bits(&self) -> u32 {
        0
    }

    /// Packs the monitors' part.
    fn pack_monitors(&self, state: &Self::State, out: &mut BitWriter<'_>) {
        let _ = (state, out);
    }

    /// Unpacks the monitors' part.
    fn unpack_monitors(&self, state: &mut Self::State, from: &mut BitReader<'_>) {
        let _ = (state, from);
    }
}

/// What a thread that rests, and has arrived at its next access, may still do.
#[derive(Clone, Copy, Debug)]
pub struct Ahead<'a, P> {
    /// What it may make use of ([`Renamed::prospect`]).
    pub prospect: &'a P,
    /// The access's location.
    pub next: Option<Loc>,
}

/// A memory whose states can be renamed, and lose what no longer matters: for symmetry, and for
/// registers and threads that are done.
pub trait Renamed: Memory {
    /// An automorphism of the program in the form this memory needs to apply it.
    type Renaming: Send + Sync;

    /// What a thread that rests at an instruction may make use of, in the form this memory needs to forget all else.
    type Prospect: Send + Sync;

    /// Prepares to apply an automorphism of the program.
    fn renaming(&self, alpha: &Automorphism, types: &Types) -> Self::Renaming;

    /// Writes the image of `state` to `image`.
    fn rename(&self, renaming: &Self::Renaming, state: &Self::State, image: &mut Self::State);

    /// Forgets what concerns registers outside `live`, which no longer matter.
    fn forget_dead(&self, state: &mut Self::State, tid: Tid, live: ir::RegSet) {
        let _ = (state, tid, live);
    }

    /// Forgets what concerns `tid` alone, which never moves again.
    fn retire(&self, state: &mut Self::State, tid: Tid) {
        self.forget_dead(state, tid, ir::RegSet::EMPTY);
    }

    /// Does this access of an atomic location put an end to what was kept for its thread there, whatever that was?
    fn settles(&self, instr: &Instr) -> bool {
        let _ = instr;
        false
    }

    /// Prepares to forget what a thread that rests at `instr` cannot make use of; `uses` is what it can, the step there
    /// included, and after it.
    fn prospect(&self, instr: &Instr, uses: &[Uses; 2]) -> Self::Prospect;

    /// Forgets what no thread can make use of any more. Threads rest; `ahead` says what each of them may still do.
    fn forget_unreachable<'a>(
        &self,
        state: &mut Self::State,
        ahead: impl Fn(Tid) -> Ahead<'a, Self::Prospect>,
    ) where
        Self::Prospect: 'a,
    {
        let _ = (state, ahead);
    }
}

/// A memory in which counters can be made smaller; see [`analysis::counters`].
pub trait Lowered: Memory {
    /// The value each location holds now.
    fn values<'s>(&self, state: &'s Self::State) -> &'s [Value];

    /// Can counters be made smaller without changing anything else?
    fn can_lower(&self, counters: &Counters) -> bool;

    /// Makes counters smaller.
    fn lower(&self, state: &mut Self::State, counters: &Counters, lowering: Lowering);
}

/// A memory over SC with or without monitors: one way to perform each action, no steps of its own, and
/// all that reductions need.
pub trait Monitor:
    Memory<Way = (), Own = Never, Seen = ()> + Packed + Renamed + Lowered + 'static
{
}

impl<M> Monitor for M where
    M: Memory<Way = (), Own = Never, Seen = ()> + Packed + Renamed + Lowered + 'static
{
}

/// Is the fence a step that only its own thread can notice, given the memory's fence location?
pub fn is_private_fence(mode: FenceMode, fence_location: Option<Loc>) -> bool {
    !(mode.updates() && fence_location.is_some())
}
