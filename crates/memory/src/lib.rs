//! Memories: what lets a thread do what it wants, and what remembers that it did.
//!
//! A [`Memory`] is the other half of a concurrent system (Def. 2.7 of the RC20 paper). The memories
//! here are deterministic: given the thread and its action there is at most one way to go on. The
//! monitors that decide robustness are memories too: sequential consistency that remembers a little
//! more, and may object when a thread *arrives* at an instruction.

pub mod attack;
pub mod rc11_views;
pub mod rc20;
pub mod sc;
pub mod store_buffer;

use analysis::access::Future;
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
pub enum Effect<V> {
    /// The memory does not allow it now.
    Blocked,
    /// It was done; this was read, if it reads.
    Done(Option<Value>),
    /// It was done, and it is wrong.
    Wrong(V, Option<Value>),
}

/// A memory system.
pub trait Memory: Send + Sync + 'static {
    /// What it remembers, in a form that is quick to work with.
    type State: Clone + Send + Debug;
    /// What it may object to.
    type Violation: Copy + Eq + Hash + Debug + Send;
    /// An automorphism of the program in the form this memory needs to apply it.
    type Renaming: Send + Sync;
    /// Does it ever object to a thread's arrival?
    const OBJECTS: bool;

    /// What it remembers at first.
    fn initial(&self) -> Self::State;

    /// The value each location holds now, for reports.
    fn values<'s>(&self, state: &'s Self::State) -> &'s [Value];

    /// Does it object to thread `tid` having come to `instr`, where it wants `action`?
    #[inline(always)]
    fn arrive(
        &self,
        state: &Self::State,
        tid: Tid,
        instr: &Instr,
        action: &Action,
    ) -> Option<Self::Violation> {
        let _ = (state, tid, instr, action);
        None
    }

    /// Could it object to the arrival at one of these accesses in this state?
    #[inline(always)]
    fn may_object(&self, state: &Self::State, tid: Tid, accesses: &Future) -> bool {
        let _ = (state, tid, accesses);
        Self::OBJECTS
    }

    /// Performs `action` of thread `tid` at `instr`.
    fn perform(
        &self,
        state: &mut Self::State,
        tid: Tid,
        instr: &Instr,
        action: &Action,
        notes: &mut Notes,
    ) -> Result<Effect<Self::Violation>, Fault>;

    /// The location, beyond the program's own, that updating fences access; none if fences touch
    /// nothing but their thread's own part of the state.
    fn fence_location(&self) -> Option<Loc>;

    /// Forgets what concerns registers outside `live`, which no longer matter.
    fn forget_dead(&self, state: &mut Self::State, tid: Tid, live: ir::RegSet) {
        let _ = (state, tid, live);
    }

    /// Forgets what concerns `tid` alone, which never moves again.
    fn retire(&self, state: &mut Self::State, tid: Tid) {
        self.forget_dead(state, tid, ir::RegSet::EMPTY);
    }

    /// Prepares to apply an automorphism of the program.
    fn renaming(&self, alpha: &Automorphism, types: &Types) -> Self::Renaming;

    /// Writes the image of `state` to `image`.
    fn rename(&self, renaming: &Self::Renaming, state: &Self::State, image: &mut Self::State);

    /// Values that an access which overwrites `loc` has compared with the value overwritten; any below
    /// the domain is none.
    #[inline(always)]
    fn remembered<'s>(&self, state: &'s Self::State, loc: Loc) -> &'s [Value] {
        let _ = (state, loc);
        &[]
    }

    /// Can counters be made smaller without changing anything else?
    fn can_lower(&self, counters: &Counters) -> bool;

    /// Makes counters smaller.
    fn lower(&self, state: &mut Self::State, counters: &Counters, lowering: Lowering);

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

/// Is the fence a step that only its own thread can notice, given the memory's fence location?
pub fn is_private_fence(mode: FenceMode, fence_location: Option<Loc>) -> bool {
    !(mode.updates() && fence_location.is_some())
}
