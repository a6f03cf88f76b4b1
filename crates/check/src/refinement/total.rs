//! Can methods return?
//!
//! Refinement is partial correctness: it is about the histories that a library has, so a method that never
//! returns keeps to every specification. This module checks what is missing.
//!
//! **Definition.** A call is *stuck for good*, in a state of a program, if its thread is inside the method and in no
//! continuation, whatever threads and memory do, the call returns. A library is *total* with respect to its specification if
//! after every history after which a call can be stuck for good in the library, that call can be stuck
//! for good in the specification.
//!
//! So a call that waits for a lock which nobody gives back is no fault of the library if it waits in the
//! specification too, and every library is total with respect to itself. `while (1) skip;`, `assume(0);`, a lock that its
//! holder takes again, a value that is waited for and has been overwritten are found, where the specification returns.
//!
//! **Fairness.** None is assumed, and none is needed: only possibility is asked for. A method that could return in every
//! state, but need not under some scheduler (a livelock, starvation), is not found.
//!
//! How it is done: all states of the library are explored, with every step ([`Manner::EveryStep`]): the reductions
//! for histories leave out steps after which a thread can do less, and those are the ones in question. Backwards from
//! returns, the states are found from which each thread's call can return. If all calls can, that is the
//! answer. Otherwise the same is done for the specification, and the library is walked together with the determinised
//! specification until a stuck call meets a set of specification states in none of which it is stuck. Nothing
//! is pruned on the way: more states of the specification excuse more. Early propagation is allowed where the
//! refinement relied on it.

use super::determinised::Determinised;
use super::histories::{Histories, Manner};
use super::inclusion::{Asking, Automaton, Run, SILENT, Statistics, Word};
use super::states::States;
use super::{Event, Settings, Side, Why};
use ir::Tid;
use memory::rc11_views::{Status, System};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// A call that is stuck for good after a history after which the specification's never is.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Whose call it is.
    pub tid: Tid,
    /// Where the thread is.
    pub pc: ir::Pc,
    /// Can it still do something?
    pub status: Status,
    /// How it got there.
    pub run: Vec<Event>,
}

/// A program's states, and the threads whose calls can and cannot return, as bits.
struct Explored {
    states: States,
    /// In each state, whose calls can still return.
    can_return: Vec<u32>,
    /// In each state, whose calls are stuck for good.
    stuck: Vec<u32>,
    /// Can a state with stuck calls be reached from there?
    leads_to_stuck: Vec<bool>,
}

/// A call that is stuck for good after a history after which the specification's never is, if there is one.
/// `literal` says whether the library refines the specification to the letter.
pub(super) fn stuck(
    first: &System,
    second: &System,
    settings: &Settings,
    literal: bool,
    go_on: &mut dyn FnMut(&Statistics) -> bool,
) -> Result<Option<Stuck>, Why> {
    let alphabet = Arc::default();
    let library = Histories::new(first, settings, Manner::EveryStep { early: false }, &alphabet);
    let library = library.ok_or(Why::TooLarge(Side::First))?;
    let explored = Explored::new(&library, Side::First, 0, go_on)?;
    if !explored.leads_to_stuck[0] {
        return Ok(None);
    }
    let manner = Manner::EveryStep { early: !literal };
    let specification = Histories::new(second, settings, manner, &alphabet);
    let specification = specification.ok_or(Why::TooLarge(Side::Second))?;
    let excuses = Explored::new(&specification, Side::Second, explored.memory(), go_on)?;
    let walk = Walk {
        library: &library,
        specification: &specification,
        explored: &explored,
        excuses: &excuses,
    };
    walk.find(go_on)
}

impl Explored {
    /// Explores a program, beside something else that takes `other` bytes.
    fn new(
        program: &Histories,
        side: Side,
        other: u64,
        go_on: &mut dyn FnMut(&Statistics) -> bool,
    ) -> Result<Self, Why> {
        let mut states = States::default();
        let mut limit = None;
        program.initial(&mut |state, finding| {
            states.insert(state);
            limit = finding.filter(|finding| finding.is_limit());
        });
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let (mut can_return, mut inside) = (Vec::new(), Vec::new());
        let mut at = 0;
        while (at as usize) < states.len() {
            let state = Box::<[u8]>::from(states.get(at));
            inside.push(program.inside(&state));
            let mut returns = 0u32;
            program.steps(&state, &mut |word, next, finding| {
                returns |= program.returning(word);
                limit = limit.or(finding.filter(|finding| finding.is_limit()));
                edges.push((states.insert(next).0, at));
            });
            if let Some(finding) = limit {
                return Err(Why::NotCovered(side, finding));
            }
            can_return.push(returns);
            at += 1;
            if at.is_multiple_of(1 << 7) {
                let implementation = states.len() as u64;
                let own = states.memory() + 8 * edges.capacity() as u64 + 16 * implementation;
                let bytes = other + own;
                if !go_on(&Statistics { implementation, bytes, ..Statistics::default() }) {
                    return Err(Why::Stopped);
                }
            }
        }
        // By target, so that predecessors stand together.
        edges.sort_unstable();
        let before = |state: u32| {
            let start = edges.partition_point(|edge| edge.0 < state);
            edges[start..].iter().take_while(move |edge| edge.0 == state).map(|edge| edge.1)
        };
        let mut open: Vec<u32> = (0..at).collect();
        while let Some(state) = open.pop() {
            let bits = can_return[state as usize];
            for from in before(state) {
                if bits & !can_return[from as usize] != 0 {
                    can_return[from as usize] |= bits;
                    open.push(from);
                }
            }
        }
        let stuck: Vec<u32> = inside.iter().zip(&can_return).map(|(a, b)| a & !b).collect();
        let mut leads_to_stuck: Vec<bool> = stuck.iter().map(|&bits| bits != 0).collect();
        let mut open: Vec<u32> = (0..at).filter(|&id| leads_to_stuck[id as usize]).collect();
        while let Some(state) = open.pop() {
            for from in before(state) {
                if !std::mem::replace(&mut leads_to_stuck[from as usize], true) {
                    open.push(from);
                }
            }
        }
        Ok(Explored { states, can_return, stuck, leads_to_stuck })
    }

    fn memory(&self) -> u64 {
        self.states.memory() + 9 * self.can_return.len() as u64
    }
}

/// The library together with the determinised specification.
struct Walk<'a> {
    library: &'a Histories,
    specification: &'a Histories,
    explored: &'a Explored,
    /// The specification's states.
    excuses: &'a Explored,
}

/// A state of the library, a set of the specification's, and how it was reached.
struct Pair {
    state: u32,
    set: u32,
    parent: usize,
    word: Word,
}

impl Walk<'_> {
    fn find(self, go_on: &mut dyn FnMut(&Statistics) -> bool) -> Result<Option<Stuck>, Why> {
        let mut spec = Determinised::new(self.specification);
        let own = |pairs: &[Pair]| {
            self.explored.memory() + self.excuses.memory() + 64 * pairs.len() as u64
        };
        let so_far = |spec: &Determinised<Histories>, pairs: &[Pair]| Statistics {
            implementation: self.explored.states.len() as u64,
            specification: spec.sizes()[0],
            pairs: pairs.len() as u64,
            bytes: own(pairs) + spec.memory(),
            ..Statistics::default()
        };
        let start = so_far(&spec, &[]);
        let set = spec.start(&mut Asking::new(start, go_on)).map_err(|_| Why::Stopped)?;
        let mut pairs = vec![Pair { state: 0, set, parent: usize::MAX, word: [SILENT; 2] }];
        let mut seen = HashSet::from([(0, set)]);
        let mut open = VecDeque::from([0]);
        while let Some(at) = open.pop_front() {
            let Pair { state, set, .. } = pairs[at];
            for tid in (0..self.library.threads).map(Tid::from) {
                if self.explored.stuck[state as usize] >> tid.0 & 1 == 0 {
                    continue;
                }
                if !self.is_excused(&spec, set, tid) {
                    return Ok(Some(self.explain(&pairs, at, tid)));
                }
            }
            let mut steps: Vec<(Word, u32)> = Vec::new();
            self.library.steps(self.explored.states.get(state), &mut |word, next, _| {
                steps.extend(self.explored.states.find(next).map(|next| (word, next)));
            });
            for (word, next) in steps {
                if !self.explored.leads_to_stuck[next as usize] {
                    continue;
                }
                let mut after = Some(set);
                for symbol in word.into_iter().filter(|&symbol| symbol != SILENT) {
                    let Some(set) = after else { break };
                    let mut asking = Asking::new(so_far(&spec, &pairs), go_on);
                    after = spec.after(set, symbol, &mut asking).map_err(|_| Why::Stopped)?;
                }
                // Where the specification cannot follow, the library refines it up to more than this.
                if let Some(set) = after
                    && seen.insert((next, set))
                {
                    open.push_back(pairs.len());
                    pairs.push(Pair { state: next, set, parent: at, word });
                }
            }
            if !go_on(&so_far(&spec, &pairs)) {
                return Err(Why::Stopped);
            }
        }
        Ok(None)
    }

    /// Is the thread's call stuck in one of the set's states?
    fn is_excused(&self, spec: &Determinised<Histories>, set: u32, tid: Tid) -> bool {
        let numbers = spec.states_of(set).map(|state| self.excuses.states.find(state));
        let stuck = |id: u32| self.excuses.stuck[id as usize] >> tid.0 & 1 == 1;
        numbers.into_iter().any(|number| number.is_none_or(stuck))
    }

    fn explain(&self, pairs: &[Pair], mut at: usize, tid: Tid) -> Stuck {
        let packed = |at: usize| Box::from(self.explored.states.get(pairs[at].state));
        let last = self.library.machine.unpack(&packed(at));
        let local = &last.locals[tid.index()];
        let mut steps = Vec::new();
        while pairs[at].parent != usize::MAX {
            steps.push((pairs[at].word, packed(at)));
            at = pairs[at].parent;
        }
        steps.reverse();
        let run = self.library.explain(&Run { start: packed(at), steps });
        Stuck { tid, pc: local.pc, status: local.status, run }
    }
}
