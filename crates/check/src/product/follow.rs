//! Following one thread: from a step through its private steps to where it rests.
//!
//! # Statement
//!
//! *Private steps.* A step that only its own thread can notice (assignments, jumps, fences that touch
//! nothing but their thread's part of the memory) is taken together with the access before it. *Late
//! choices.* A thread that comes to a `oneof` rests there, and chooses when it makes the access that
//! the choice leads to; what the memory could object to behind the choice is looked at on arrival. *Dead
//! registers.* What a thread will not read again is set to 0. The states in which all threads rest, and
//! what is found, are those of the search that takes every step by itself.
//!
//! # Premises
//!
//! 1. A private step reads and writes nothing but registers, program counter and part of the memory of
//!    its thread (`is_private`, which asks the memory for its fence location).
//! 2. Whether the memory objects to the arrival of a thread at an access is changed by steps of other
//!    threads only from yes to no ([`memory::rc20`]: another thread's write takes the location out
//!    of T).
//! 3. Live registers are those that some path reads before writing ([`analysis::liveness`]).
//!
//! # Proof
//!
//! 1. By 1, a private step commutes with every step of other threads, in both directions, so it can
//!    come right after the step before it. A thread whose private steps do not end is followed for
//!    [`LOCAL_STEPS`] steps and then rests where it is, so nothing is left out.
//! 2. A choice is private, so it commutes with all steps of others until the access behind it; it can
//!    come right before that access. A violation on arrival behind the choice is found when the thread
//!    comes to the choice, and by 2 not missed for being looked at early. A choice whose branch ends
//!    without an access lets the thread rest there.
//! 3. While choices are followed, a state that was met before on the same way is not followed again:
//!    all that can come of it is being followed. The states met are kept apart for each thing that is
//!    followed (`forks`); looking ahead is a thing of its own.
//! 4. A dead register is written before it is read on every path, so its value changes nothing.

use super::{Finding, Pending, Product, Scratch, World};
use ir::thread::Action;
use ir::{Instr, Pc, Reg, Tid, Value};
use memory::{Attempt, Monitor};
use search::Sink;

/// Local steps taken in one go. A thread that has not come to an access by then rests where it is,
/// so that a loop of local steps does not hold up the search.
const LOCAL_STEPS: u32 = 1000;

/// Who watches a thread being followed: a search, or [`crate::replay`].
pub(crate) trait Follow<M: Monitor> {
    /// The thread took a step, having read this.
    #[inline(always)]
    fn took(&mut self, tid: Tid, pc: Pc, action: &Action, read: Option<Value>) {
        let _ = (tid, pc, action, read);
    }

    /// The step just taken could have led to this many other places, which are followed later.
    #[inline(always)]
    fn forked(&mut self, alternatives: usize) {
        let _ = alternatives;
    }

    /// The thread has come to rest in `scratch.next`. If there are
    /// alternatives left, the last one is followed next.
    fn rests(&mut self, product: &Product<M>, scratch: &mut Scratch<M::State>);

    /// The thread came to where it has been before; what follows is known. If there are
    /// alternatives left, the last one is followed next.
    #[inline(always)]
    fn dropped(&mut self) {}

    /// Something is worth reporting.
    fn finding(&mut self, finding: Finding<M::Violation>);
}

/// A search that follows a thread.
pub(super) struct Searching<'a, K> {
    pub sink: &'a mut K,
}

impl<M: Monitor, K: Sink<Finding<M::Violation>>> Follow<M> for Searching<'_, K> {
    #[inline(always)]
    fn rests(&mut self, product: &Product<M>, scratch: &mut Scratch<M::State>) {
        if let Ok(state) = product.packed(scratch) {
            return self.sink.state(state);
        }
        let tid = scratch.mover.unwrap_or_default();
        let pc = scratch.next.pcs[tid.index()];
        self.sink.finding(Finding::Unclear { tid, pc });
    }

    fn finding(&mut self, finding: Finding<M::Violation>) {
        self.sink.finding(finding);
    }
}

/// Passes on what the memory objects to. What is wrong with the thread itself is found when the choice is
/// made; looking ahead only sometimes, it would be found in some states and not in what represents them.
struct Objections<'a, W>(&'a mut W);

impl<M: Monitor, W: Follow<M>> Follow<M> for Objections<'_, W> {
    #[inline(always)]
    fn took(&mut self, tid: Tid, pc: Pc, action: &Action, read: Option<Value>) {
        self.0.took(tid, pc, action, read);
    }

    #[inline(always)]
    fn forked(&mut self, alternatives: usize) {
        self.0.forked(alternatives);
    }

    fn rests(&mut self, product: &Product<M>, scratch: &mut Scratch<M::State>) {
        self.0.rests(product, scratch);
    }

    #[inline(always)]
    fn dropped(&mut self) {
        self.0.dropped();
    }

    fn finding(&mut self, finding: Finding<M::Violation>) {
        if matches!(finding, Finding::Violation { .. } | Finding::Unclear { .. }) {
            self.0.finding(finding);
        }
    }
}

/// Where a thread being followed came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    /// Through a private step.
    Further,
    /// To where it rests.
    ToRest,
    /// To a choice it has been at before, which is being followed already.
    Around,
}

impl<M: Monitor> Product<M> {
    /// Follows `tid`, which has just come to a new program counter in `scratch.next`, through its
    /// private steps to where it comes to rest.
    fn run_local(&self, scratch: &mut Scratch<M::State>, tid: Tid, follow: &mut impl Follow<M>) {
        let mut budget = LOCAL_STEPS;
        scratch.forks.clear();
        loop {
            self.run_branch(scratch, tid, &mut budget, follow);
            if !next_choice(scratch) {
                return;
            }
        }
    }

    /// Follows `tid` in `scratch.next` to where it comes to rest, leaving alternatives alone.
    fn run_branch(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        budget: &mut u32,
        follow: &mut impl Follow<M>,
    ) {
        loop {
            let pc = scratch.next.pcs[tid.index()];
            if self.choice_points[tid.index()][pc.index()] {
                self.forget_if_dead(scratch, tid, pc);
                self.look_ahead(scratch, tid, pc, follow);
                return follow.rests(self, scratch);
            }
            match self.take_private(scratch, tid, budget, follow) {
                Came::Further => {}
                Came::ToRest => return follow.rests(self, scratch),
                Came::Around => return follow.dropped(),
            }
        }
    }

    /// Does `tid` rest at `pc` because it has a choice there?
    pub(crate) fn rests_before_choice(&self, tid: Tid, pc: Pc) -> bool {
        self.choice_points[tid.index()][pc.index()]
    }

    /// Lets the memory look at the accesses behind the choice at `pc`, to which `tid` has come.
    fn look_ahead(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        pc: Pc,
        follow: &mut impl Follow<M>,
    ) {
        let accesses = &self.next_accesses[tid.index()][pc.index()];
        if !M::OBJECTS || !self.memory.may_object(&scratch.next.memory, tid, accesses) {
            return;
        }
        // The thread may have come here in the middle of following choices: those are kept apart.
        let here = scratch.next.clone();
        let waiting = std::mem::take(&mut scratch.choices);
        let forks = std::mem::take(&mut scratch.forks);
        follow.forked(1);
        let mut objections = Objections(follow);
        self.through_choices(scratch, tid, &mut objections, |_, _, follow| {
            Follow::<M>::dropped(follow)
        });
        scratch.forks = forks;
        scratch.choices = waiting;
        scratch.next = here;
    }

    /// Follows `tid` from a choice in `scratch.next` through all alternatives up to the first
    /// access of each, where `arrived` takes over.
    fn through_choices<W: Follow<M>>(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut W,
        mut arrived: impl FnMut(&Self, &mut Scratch<M::State>, &mut W),
    ) {
        let mut budget = LOCAL_STEPS;
        scratch.forks.clear();
        loop {
            loop {
                match self.take_private(scratch, tid, &mut budget, follow) {
                    Came::Further => {}
                    Came::ToRest => {
                        arrived(self, scratch, follow);
                        break;
                    }
                    Came::Around => {
                        follow.dropped();
                        break;
                    }
                }
            }
            if !next_choice(scratch) {
                return;
            }
        }
    }

    /// Looks at where `tid` has arrived and, if the step there is private, takes it.
    #[inline(always)]
    fn take_private(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        budget: &mut u32,
        follow: &mut impl Follow<M>,
    ) -> Came {
        let pc = scratch.next.pcs[tid.index()];
        self.forget_if_dead(scratch, tid, pc);
        let world = &mut scratch.next;
        let instr = &self.program.step(tid, pc).instr;
        let private =
            self.reductions.local_steps && *budget > 0 && self.private[tid.index()][pc.index()];
        if !M::OBJECTS && !private {
            return Came::ToRest;
        }
        let pending = self.pending(world, tid, |finding| follow.finding(finding));
        let Pending::Wants(action) = &pending else { return Came::ToRest };
        if M::OBJECTS
            && let Some(violation) =
                self.memory.arrive(&world.memory, Attempt { tid, instr, action })
        {
            follow.finding(Finding::Violation { tid, pc, violation });
        }
        if !private {
            return Came::ToRest;
        }
        *budget -= 1;
        if matches!(instr, Instr::Jump { targets, .. } if targets.len() > 1) {
            // A loop of choices without an access would be followed again and again.
            let mut packed = Vec::new();
            if self.pack_lowered(scratch, &mut packed).is_err() {
                follow.finding(Finding::Unclear { tid, pc });
                return Came::Around;
            }
            if scratch.forks.contains(&packed) {
                return Came::Around;
            }
            scratch.forks.push(packed);
        }
        let world = &mut scratch.next;
        match self.step(world, tid, action, &mut scratch.choices, &mut scratch.pool, follow) {
            true => Came::Further,
            false => Came::ToRest,
        }
    }

    /// Renaming knows nothing of dead registers' values, so symmetry needs them gone, too.
    #[inline(always)]
    pub(super) fn forget_if_dead(&self, scratch: &mut Scratch<M::State>, tid: Tid, pc: Pc) {
        if self.reductions.dead_registers || !self.rotations.is_empty() {
            self.forget_dead(&mut scratch.next, tid, pc);
        }
    }

    #[inline]
    fn forget_dead(&self, world: &mut World<M::State>, tid: Tid, pc: Pc) {
        let live = self.live[tid.index()][pc.index()];
        let first = self.first_reg[tid.index()];
        let count = self.first_reg[tid.index() + 1] - first;
        for (r, value) in world.regs[first..first + count].iter_mut().enumerate() {
            // All bits of what is live, none of what is not.
            *value &= Value::from(live.contains(Reg(r as u32))).wrapping_neg();
        }
        self.memory.forget_dead(&mut world.memory, tid, live);
    }

    /// Moves `tid` from `scratch.world`, where it wants what `scratch.pending` says. Says whether it could.
    pub(super) fn fire(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) -> bool {
        let Pending::Wants(action) = &scratch.pending[tid.index()] else {
            return false;
        };
        if scratch.world.bus.is_some_and(|holder| holder != tid) {
            return false;
        }
        let pc = scratch.world.pcs[tid.index()];
        scratch.next.clone_from(&scratch.world);
        if self.choice_points[tid.index()][pc.index()] {
            return self.fire_choice(scratch, tid, follow);
        }
        let (choices, pool) = (&mut scratch.choices, &mut scratch.pool);
        let enabled = self.step(&mut scratch.next, tid, action, choices, pool, follow);
        if enabled {
            self.run_local(scratch, tid, follow);
        }
        enabled
    }

    /// Moves `tid`, which rests before a choice in `scratch.next`: every alternative that leads to
    /// an access which the memory allows.
    fn fire_choice<W: Follow<M>>(
        &self,
        scratch: &mut Scratch<M::State>,
        tid: Tid,
        follow: &mut W,
    ) -> bool {
        let mut enabled = false;
        self.through_choices(scratch, tid, follow, |product, scratch, follow| {
            let pending = product.pending(&scratch.next, tid, |finding| follow.finding(finding));
            let stays = match &pending {
                // Behind the choice the thread is done, or runs on without an access: it can rest.
                Pending::Done => true,
                Pending::Faulty => false,
                Pending::Wants(action) => {
                    let Scratch { next, choices, pool, .. } = scratch;
                    if product.private[tid.index()][next.pcs[tid.index()].index()] {
                        true
                    } else if product.step(next, tid, action, choices, pool, follow) {
                        let mut budget = LOCAL_STEPS;
                        enabled = true;
                        return product.run_branch(scratch, tid, &mut budget, follow);
                    } else {
                        false
                    }
                }
            };
            if stays {
                enabled = true;
                follow.rests(product, scratch);
            } else {
                follow.dropped();
            }
        });
        enabled
    }

    /// Moves `tid` from `world`.
    pub(crate) fn fire_from(
        &self,
        scratch: &mut Scratch<M::State>,
        world: &World<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) {
        scratch.world.clone_from(world);
        scratch.mover = None;
        scratch.pending[tid.index()] = self.pending(world, tid, |finding| follow.finding(finding));
        self.fire(scratch, tid, follow);
    }

    /// Lets `tid` come to rest from `world`, in which it has not moved yet.
    pub(crate) fn run_from(
        &self,
        scratch: &mut Scratch<M::State>,
        world: &World<M::State>,
        tid: Tid,
        follow: &mut impl Follow<M>,
    ) {
        scratch.next.clone_from(world);
        scratch.mover = None;
        self.run_local(scratch, tid, follow);
    }
}

/// Takes the last alternative not yet followed; says whether there was one.
fn next_choice<S>(scratch: &mut Scratch<S>) -> bool {
    match scratch.choices.pop() {
        Some(other) => {
            let used = std::mem::replace(&mut scratch.next, other);
            scratch.pool.push(used);
            true
        }
        None => false,
    }
}
