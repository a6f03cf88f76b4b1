//! What can be known about attacks from the text alone.
//!
//! An attack is a store to delay and an access to make before it lands: quadratically many pairs, of
//! which most are hopeless. A store is worth delaying only if another thread may touch its address;
//! an access is worth going on to only if another thread may conflict with it; and no full fence,
//! locked update or `lock` may stand between the two. The same facts cut the search short: the
//! attacker gives up where it can reach no worthwhile access, and so does everyone when no helper can
//! come to the target any more.

use analysis::liveness::live_registers;
use analysis::values::{PossibleValues, Values};
use ir::{FenceMode, Instr, Loc, Pc, Place, Program, RegSet, Tid};
use memory::store_buffer::Machine;

/// A set of locations. Locations 256 apart are confused with each other, which only ever makes an
/// attack look less hopeless.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Locs([u64; 4]);

impl Locs {
    fn insert(&mut self, loc: Loc) {
        self.0[loc.index() / 64 % 4] |= 1 << (loc.0 % 64);
    }

    /// May it be a member?
    #[inline(always)]
    pub fn contains(&self, loc: Loc) -> bool {
        self.0[loc.index() / 64 % 4] >> (loc.0 % 64) & 1 == 1
    }

    fn meets(&self, other: &Locs) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    fn absorb(&mut self, other: &Locs) -> bool {
        let before = self.0;
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        before != self.0
    }
}

/// What a thread may touch from some place on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Future {
    /// Locations it may load or store.
    pub accesses: Locs,
    /// Locations it may store.
    pub stores: Locs,
}

/// What is known about one thread, per program counter; `live` and `future` have one entry more, for
/// threads that are done.
#[derive(Clone, Debug)]
pub struct ThreadCandidates {
    /// Registers that still matter.
    pub live: Vec<RegSet>,
    /// What may still be touched.
    pub future: Vec<Future>,
    /// What the store here may store to, if another thread may touch that.
    noticed: Vec<Locs>,
    /// Is the store here worth delaying?
    pub start: Vec<bool>,
    /// Is the access here worth ending an attack with?
    pub last: Vec<bool>,
    /// May a worthwhile last access be reached from here, or made here, by an attacker?
    pub reaches_last: Vec<bool>,
}

/// What is known about a program's attacks.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// Per thread.
    pub threads: Vec<ThreadCandidates>,
    /// Per location: is it touched by more than one thread, and stored by one?
    pub shared: Vec<bool>,
    /// The values of registers and locations.
    pub possible: PossibleValues,
    /// Pairs of a store and another access of the same thread.
    pub attacks: u64,
    /// Those that are not hopeless.
    pub hopeful: u64,
}

/// Does the instruction need empty buffers, so that no attacker gets past it?
pub fn needs_empty_buffers(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Fence(FenceMode::Sc)
            | Instr::Rmw { .. }
            | Instr::Cas { .. }
            | Instr::BlockingCas { .. }
            | Instr::BusLock
            | Instr::BusUnlock
            | Instr::Halt
    )
}

impl Candidates {
    /// Analyses a compiled program.
    pub fn new(program: &Program, machine: Machine) -> Self {
        let possible = PossibleValues::of(program);
        let own: Vec<Vec<Future>> = program
            .tids()
            .map(|tid| {
                let code = program.threads[tid.index()].code.iter().enumerate();
                code.map(|(pc, step)| {
                    let mut own = Future::default();
                    if let Some(place) = step.instr.place() {
                        for loc in locations(program, &possible, tid, Pc::from(pc), place) {
                            own.accesses.insert(loc);
                            if step.instr.may_write() {
                                own.stores.insert(loc);
                            }
                        }
                    }
                    own
                })
                .collect()
            })
            .collect();
        let futures: Vec<Vec<Future>> =
            program.threads.iter().zip(&own).map(|(thread, own)| close(thread, own)).collect();
        let whole: Vec<Future> =
            program.threads.iter().zip(&futures).map(|(t, f)| f[t.entry.index()]).collect();
        let others = |t: usize| {
            let mut all = Future::default();
            for (u, future) in whole.iter().enumerate() {
                if u != t {
                    all.accesses.absorb(&future.accesses);
                    all.stores.absorb(&future.stores);
                }
            }
            all
        };
        let shared = (0..program.locations.len())
            .map(|loc| {
                let loc = Loc::from(loc);
                whole.iter().filter(|future| future.accesses.contains(loc)).count() > 1
                    && whole.iter().any(|future| future.stores.contains(loc))
            })
            .collect();
        let mut attacks = 0;
        let mut threads = Vec::new();
        for (t, thread) in program.threads.iter().enumerate() {
            let others = others(t);
            let steps = || thread.code.iter().zip(&own[t]);
            let is_last = |instr: &Instr| match instr {
                Instr::Load { .. } | Instr::Wait { .. } => true,
                Instr::Store { .. } => machine != Machine::Tso,
                _ => false,
            };
            let last: Vec<bool> = steps()
                .map(|(step, own)| {
                    let conflicts = match step.instr {
                        Instr::Store { .. } => own.stores.meets(&others.accesses),
                        _ => own.accesses.meets(&others.stores),
                    };
                    is_last(&step.instr) && conflicts
                })
                .collect();
            let noticed: Vec<Locs> = steps()
                .map(|(step, own)| match step.instr {
                    Instr::Store { .. } if own.stores.meets(&others.accesses) => own.stores,
                    _ => Locs::default(),
                })
                .collect();
            let stores = thread.code.iter().filter(|s| matches!(s.instr, Instr::Store { .. }));
            let lasts = thread.code.iter().filter(|s| is_last(&s.instr));
            attacks += (stores.count() * lasts.count()) as u64;
            let mut live = live_registers(thread);
            live.push(RegSet::EMPTY);
            let mut future = futures[t].clone();
            future.push(Future::default());
            let (start, reaches_last) = (Vec::new(), Vec::new());
            threads.push(ThreadCandidates { live, future, noticed, start, last, reaches_last });
        }
        let mut candidates = Candidates { threads, shared, possible, attacks, hopeful: 0 };
        candidates.imagine(program, &[]);
        candidates
    }

    /// Imagines full fences in front of these steps of the program, and no longer in front of others.
    pub fn imagine(&mut self, program: &Program, fences: &[Vec<bool>]) {
        self.hopeful = 0;
        for (t, (thread, known)) in program.threads.iter().zip(&mut self.threads).enumerate() {
            let passes = |pc: usize| {
                !needs_empty_buffers(&thread.code[pc].instr)
                    && !fences.get(t).is_some_and(|fences| fences[pc])
            };
            let mut reaches_last = vec![false; thread.code.len()];
            loop {
                let mut changed = false;
                for (pc, step) in thread.code.iter().enumerate().rev() {
                    let reached = || step.successors().any(|next| reaches_last[next.index()]);
                    let now = passes(pc) && (known.last[pc] || reached());
                    changed |= now != reaches_last[pc];
                    reaches_last[pc] = now;
                }
                if !changed {
                    break;
                }
            }
            known.start = vec![false; thread.code.len()];
            for (pc, step) in thread.code.iter().enumerate() {
                if known.noticed[pc] == Locs::default() || !reaches_last[step.next.index()] {
                    continue;
                }
                let reached = reachable(thread, step.next, &passes);
                let hopeful = reached.iter().zip(&known.last).filter(|(r, last)| **r && **last);
                let hopeful = hopeful.count() as u64;
                known.start[pc] = hopeful > 0;
                self.hopeful += hopeful;
            }
            known.reaches_last = reaches_last;
        }
    }
}

fn locations(
    program: &Program,
    possible: &PossibleValues,
    tid: Tid,
    pc: Pc,
    place: &Place,
) -> Vec<Loc> {
    let Some(index) = &place.index else { return vec![place.base] };
    match possible.expr(program, tid.index(), pc, index) {
        Values::Few(members) => {
            members.into_iter().filter_map(|index| place.element(index)).collect()
        }
        Values::Any => place.locations().collect(),
    }
}

fn close(thread: &ir::Thread, own: &[Future]) -> Vec<Future> {
    let mut futures = own.to_vec();
    loop {
        let mut changed = false;
        for (pc, step) in thread.code.iter().enumerate().rev() {
            for next in step.successors() {
                let after = futures[next.index()];
                changed |= futures[pc].accesses.absorb(&after.accesses);
                changed |= futures[pc].stores.absorb(&after.stores);
            }
        }
        if !changed {
            return futures;
        }
    }
}

/// The places an attacker may come to from `from` on.
fn reachable(thread: &ir::Thread, from: Pc, passes: &impl Fn(usize) -> bool) -> Vec<bool> {
    let mut seen = vec![false; thread.code.len()];
    let mut stack = vec![from];
    while let Some(pc) = stack.pop() {
        if passes(pc.index()) && !std::mem::replace(&mut seen[pc.index()], true) {
            stack.extend(thread.code[pc.index()].successors());
        }
    }
    seen
}
