//! What can be known about attacks from the text alone.
//!
//! An attack is a store to delay and an access to make before it lands: quadratically many pairs, of
//! which most are hopeless. A store is worth delaying only if another thread may touch its address;
//! an access is worth going on to only if another thread may conflict with it; no full fence,
//! locked update or `lock` may stand between the two; and conflicts of the helpers must lead from the
//! access back to the store. The same facts cut the search short: the attacker gives up where it can
//! reach no worthwhile access, and so does everyone when no helper can come to the target any more.
//!
//! **Theorem (chains of conflicts).** Let an attack of thread `t` with a store to `x` end with an access `a`
//! and succeed. Then there are a thread `u` other than `t` and an access of `u` to `x` in `touched_after` `a`: the least set of
//! accesses of threads other than `t` that has, with every access `b` of a thread `u` that conflicts with `a` or
//! with a member, what `u` may access from `b` on, `b` included, or anywhere if `u` has a block between `lock`
//! and `unlock`.
//!
//! 1. After `a`, an address is marked by `a`, or by a helper that has joined, or in the block in which a helper joins
//!    ([`memory::attack`], phase 3). The attacker pauses, so helpers are threads other than `t`.
//! 2. By induction on the steps after `a`: every mark but that of `a` is by a member. A helper joins with an access `b` that
//!    conflicts with a mark: a store with any, a load with that of a store. So `b` conflicts with `a` or, by induction,
//!    with a member, and what the helper accesses from then on it accesses behind `b` in its program; what it noted before
//!    `b`, it did in a block, and then all that it may access is in the set.
//! 3. The attack succeeds when a helper marks `x`, which is not marked by `a`: `a` goes past the delayed store to memory, so it
//!    is to another address.
//!
//! The premises are those of the search itself: what a step may access over-approximates what it does access
//! ([`PossibleValues`]), and sets of locations only confuse locations with each other.

use analysis::liveness::live_registers;
use analysis::values::{PossibleValues, Values};
use budget::Budget;
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
    /// What helpers may touch after the access here, if an attack ends with it.
    pub closes: Vec<Locs>,
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
    pub fn new(program: &Program, machine: Machine, budget: Budget) -> Self {
        let possible = PossibleValues::within(program, budget);
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
        let helpers: Vec<Vec<(Future, Future)>> = (0..program.threads.len())
            .map(|t| help(&program.threads[t], &own[t], &futures[t], whole[t]))
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
            let mut known: Vec<(Future, Locs)> = Vec::new();
            let closes: Vec<Locs> = steps()
                .zip(&last)
                .map(|((_, own), is_last)| match known.iter().find(|(of, _)| of == own) {
                    _ if !is_last => Locs::default(),
                    Some((_, closes)) => *closes,
                    None => {
                        let closes = touched_after(&helpers, t, *own);
                        known.push((*own, closes));
                        closes
                    }
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
            let known =
                ThreadCandidates { live, future, noticed, start, last, closes, reaches_last };
            threads.push(known);
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
                let is_hopeful =
                    |last: &usize| reached[*last] && known.closes[*last].meets(&known.noticed[pc]);
                let hopeful = (0..thread.code.len()).filter(is_hopeful).count() as u64;
                known.start[pc] = hopeful > 0;
                self.hopeful += hopeful;
            }
            known.reaches_last = reaches_last;
        }
    }
}

/// For each way to join that a thread has: what it accesses then, and what that makes it a helper for.
fn help(
    thread: &ir::Thread,
    own: &[Future],
    futures: &[Future],
    whole: Future,
) -> Vec<(Future, Future)> {
    let blocks = thread.code.iter().any(|step| matches!(step.instr, Instr::BusLock));
    let mut all: Vec<(Future, Future)> = Vec::new();
    for (own, future) in own.iter().zip(futures) {
        let way = (*own, if blocks { whole } else { *future });
        if own.accesses != Locs::default() && !all.contains(&way) {
            all.push(way);
        }
    }
    all
}

/// What threads other than `attacker` may touch in a chain of conflicts that begins with its access to `last`.
fn touched_after(helpers: &[Vec<(Future, Future)>], attacker: usize, last: Future) -> Locs {
    let (mut marked, mut touched) = (last, Future::default());
    loop {
        let mut changed = false;
        let others = helpers.iter().enumerate().filter(|(u, _)| *u != attacker);
        for (own, after) in others.flat_map(|(_, ways)| ways) {
            if own.accesses.meets(&marked.stores) || own.stores.meets(&marked.accesses) {
                changed |= touched.accesses.absorb(&after.accesses);
                changed |= touched.stores.absorb(&after.stores);
            }
        }
        if !changed {
            return touched.accesses;
        }
        marked.accesses.absorb(&touched.accesses);
        marked.stores.absorb(&touched.stores);
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

#[cfg(test)]
mod tests {
    use super::super::{choose, compile, decide};
    use super::*;
    use crate::question::{Method, Question};

    /// How many attacks the text leaves over, and whether one succeeds.
    fn attacks(text: &str) -> (u64, bool) {
        let program = lang::parse_any("test", text).expect("a program").program;
        let compiled = compile(&program, Machine::Tso);
        assert!(choose(&compiled, Machine::Tso, Method::Auto).is_ok());
        let left = Candidates::new(&compiled.program, Machine::Tso, Budget::UNLIMITED).hopeful;
        let decided = decide(&program, Machine::Tso, &Question::of(Machine::Tso), &|_, _| {});
        (left, !decided.expect("can be checked").0.verdict.holds())
    }

    /// Threads that each store to a variable and load the next; the last loads the first in a ring, and one that nobody stores in
    /// a chain.
    fn threads(count: usize, ring: bool) -> String {
        let names: Vec<String> = (0..=count).map(|k| format!("x{k}")).collect();
        let mut text = format!("global {};\n", names.join(", "));
        for k in 0..count {
            let next = if ring { (k + 1) % count } else { k + 1 };
            text.push_str(&format!(
                "thread t{k} {{ local r; x{k}.store(1); r = x{next}.load(); }}\n"
            ));
        }
        text
    }

    /// Catches conflicts that are not followed far enough, and some that lead nowhere.
    #[test]
    fn only_chains_that_come_back_count() {
        for count in 2..=5 {
            assert_eq!(attacks(&threads(count, true)), (count as u64, true), "{count}");
            assert_eq!(attacks(&threads(count, false)), (0, false), "{count}");
        }
        // The text alone decides, however many threads there are.
        assert_eq!(attacks(&threads(32, false)), (0, false));
    }

    /// Catches a helper whose first access is left out: the last thread conflicts with nothing but that.
    #[test]
    fn the_access_that_joins_counts() {
        let text = "global x, y; thread a { local r; x.store(1); r = y.load(); } thread b { y.store(1); } \
            thread c { local r, s; r = y.load(); s = x.load(); }";
        assert_eq!(attacks(text), (1, true));
        // A load is no reason to come after a load.
        let text = "global x, y; thread a { local r; x.store(1); r = y.load(); } thread b { local r, s; r = y.load(); s = x.load(); } \
            thread c { y.store(1); }";
        assert_eq!(attacks(text), (1, true));
        let text = "global x, y, z; thread a { local r; x.store(1); r = y.load(); } thread b { y.store(1); } \
            thread c { local s; z.store(1); s = x.load(); }";
        assert_eq!(attacks(text), (0, false));
    }

    /// Catches a helper of which only what comes behind its first conflict counts: what it did before in the same block does, too.
    #[test]
    fn a_block_counts_as_a_whole() {
        let one =
            "thread a\ninitial a0\ntransition a0 a1 write 1 0\ntransition a1 a2 read r 1\nend\n";
        let block = "thread b\ninitial b0\ntransition b0 b1 lock\ntransition b1 b2 read s 0\n\
            transition b2 b3 write 1 1\ntransition b3 b4 unlock\nend\n";
        assert_eq!(attacks(&format!("{one}\n{block}")), (1, true));
        let apart = block.replace("lock", "local u 0").replace("unlocal", "local");
        assert_eq!(attacks(&format!("{one}\n{apart}")), (0, false));
    }
}
