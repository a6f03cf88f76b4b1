//! Can methods return?
//!
//! Refinement is partial correctness: it is about the histories that a library has, so a method that never
//! returns keeps to every specification. This module checks what is missing.
//!
//! **Definition.** A call is *stuck for good*, in a state of the library with its most general client, if its
//! thread is inside the method and in no continuation, whatever threads and memory do, the call returns.
//! A library is *total* with respect to its specification if the following never happens: a call is stuck for good after a history, and
//! the specification has a run with the same history, and a continuation of that run, in which the call returns.
//!
//! So a call that waits for a lock which nobody gives back is no fault of the library if it waits in the
//! specification too. `while (1) skip;`, `assume(0);`, a lock that its holder takes again, a value that is waited for and
//! has been overwritten are found.
//!
//! **Fairness.** None is assumed, and none is needed: only possibility is asked for. A method that could return in every
//! state, but need not under some scheduler (a livelock, starvation), is not found.
//!
//! How it is done: all states of the library are explored, with every step ([`Manner::EveryStep`]): the reductions
//! for histories leave out steps after which a thread can do less, and those are the ones in question. Backwards from
//! returns, the states are found from which each thread's call can return. If all calls can, that is the
//! answer. Otherwise the library is walked together with the determinised specification until a
//! stuck call meets a set of specification states from which it returns. Nothing is pruned here: more states of the
//! specification can return more calls. Early propagation is allowed where the refinement relied on it.

use super::determinised::Determinised;
use super::histories::{Histories, Manner};
use super::inclusion::{Asking, Automaton, Run, SILENT, Statistics, Word};
use super::states::States;
use super::{Event, Limit, Settings, Side};
use model::Tid;
use model::memory::prc11::{Label, Status, System};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// A call that cannot return any more, where the specification's can.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Whose call it is.
    pub tid: Tid,
    /// Where the thread is.
    pub pc: model::Pc,
    /// Can it still do something?
    pub status: Status,
    /// How it got there.
    pub run: Vec<Event>,
}

/// The library's states, and the threads whose calls can and cannot return, as bits.
struct Explored {
    states: States,
    /// In each state, whose calls can still return.
    can_return: Vec<u32>,
    /// In each state, whose calls are stuck for good.
    stuck: Vec<u32>,
    /// Can a state with stuck calls be reached from there?
    leads_to_stuck: Vec<bool>,
}

/// A call that is stuck for good where the specification's returns, if there is one. `literal` says whether
/// the library refines the specification to the letter.
pub(super) fn stuck(
    first: &System,
    second: &System,
    settings: &Settings,
    literal: bool,
    go_on: &mut dyn FnMut(&Statistics) -> bool,
) -> Result<Option<Stuck>, Limit> {
    let alphabet = Arc::default();
    let manner = if literal { Manner::Letter } else { Manner::Early };
    let library = Histories::new(first, settings, Manner::EveryStep, &alphabet);
    let library = library.ok_or(Limit::TooLarge(Side::First))?;
    let explored = Explored::new(&library, go_on)?;
    if !explored.leads_to_stuck[0] {
        return Ok(None);
    }
    let specification = Histories::new(second, settings, manner, &alphabet);
    let specification = specification.ok_or(Limit::TooLarge(Side::Second))?;
    let walk = Walk {
        library: &library,
        specification: &specification,
        explored: &explored,
        returns: HashMap::new(),
    };
    walk.find(go_on)
}

impl Explored {
    fn new(library: &Histories, go_on: &mut dyn FnMut(&Statistics) -> bool) -> Result<Self, Limit> {
        let mut states = States::default();
        library.initial(&mut |state, _| _ = states.insert(state));
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let (mut can_return, mut inside) = (Vec::new(), Vec::new());
        let mut at = 0;
        while (at as usize) < states.len() {
            let state = library.machine.unpack(states.get(at));
            let tids = (0..library.threads).map(Tid::from);
            let bits = tids.filter(|&tid| library.machine.is_inside(&state, tid));
            inside.push(bits.fold(0u32, |bits, tid| bits | 1 << tid.0));
            let (mut returns, mut limit) = (0u32, None);
            let mut bytes = Vec::new();
            library.machine.steps(&state, |step| {
                if let Some(Label::Return { tid, .. }) = step.label {
                    returns |= 1 << tid.0;
                }
                limit = limit.or(step.finding.filter(|finding| finding.is_limit()));
                bytes.clear();
                library.machine.pack(&step.state, &mut bytes);
                edges.push((states.insert(&bytes).0, at));
            });
            if let Some(finding) = limit {
                return Err(Limit::Reached(Side::First, finding));
            }
            can_return.push(returns);
            at += 1;
            if at.is_multiple_of(1 << 7) {
                let implementation = states.len() as u64;
                let bytes = states.memory() + 20 * edges.len() as u64 + 16 * implementation;
                if !go_on(&Statistics { implementation, bytes, ..Statistics::default() }) {
                    return Err(Limit::Stopped);
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
    /// Can a thread's call return from a set of the specification's states, as far as it was asked for?
    returns: HashMap<(u32, Tid), bool>,
}

/// A state of the library, a set of the specification's, and how it was reached.
struct Pair {
    state: u32,
    set: u32,
    parent: usize,
    word: Word,
}

impl Walk<'_> {
    fn find(mut self, go_on: &mut dyn FnMut(&Statistics) -> bool) -> Result<Option<Stuck>, Limit> {
        let mut spec = Determinised::new(self.specification);
        let own = |pairs: &[Pair]| self.explored.memory() + 64 * pairs.len() as u64;
        let so_far = |spec: &Determinised<Histories>, pairs: &[Pair]| Statistics {
            implementation: self.explored.states.len() as u64,
            specification: spec.sizes()[0],
            pairs: pairs.len() as u64,
            bytes: own(pairs) + spec.memory(),
            ..Statistics::default()
        };
        let start = so_far(&spec, &[]);
        let set = spec.start(&mut Asking::new(start, go_on)).map_err(|_| Limit::Stopped)?;
        let mut pairs = vec![Pair { state: 0, set, parent: usize::MAX, word: [SILENT; 2] }];
        let mut seen = HashSet::from([(0, set)]);
        let mut open = VecDeque::from([0]);
        let mut limit = None;
        while let Some(at) = open.pop_front() {
            let Pair { state, set, .. } = pairs[at];
            for tid in (0..self.library.threads).map(Tid::from) {
                if self.explored.stuck[state as usize] >> tid.0 & 1 == 0 {
                    continue;
                }
                match self.returns(&spec, set, tid, so_far(&spec, &pairs), go_on)? {
                    true => return Ok(Some(self.explain(&pairs, at, tid))),
                    false => limit = limit.or(spec.limit(set).copied()),
                }
            }
            let mut steps: Vec<(Word, u32)> = Vec::new();
            self.library.steps(self.explored.states.get(state), &mut |word, next, _| {
                steps.extend(self.explored.number(next).map(|next| (word, next)));
            });
            for (word, next) in steps {
                if !self.explored.leads_to_stuck[next as usize] {
                    continue;
                }
                let mut after = Some(set);
                for symbol in word.into_iter().filter(|&symbol| symbol != SILENT) {
                    let Some(set) = after else { break };
                    let mut asking = Asking::new(so_far(&spec, &pairs), go_on);
                    limit = limit.or(spec.limit(set).copied());
                    after = spec.after(set, symbol, &mut asking).map_err(|_| Limit::Stopped)?;
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
                return Err(Limit::Stopped);
            }
        }
        match limit {
            Some(finding) => Err(Limit::Reached(Side::Second, finding)),
            None => Ok(None),
        }
    }

    /// Is there a run of the specification from one of the set's states in which the thread's call returns?
    fn returns(
        &mut self,
        spec: &Determinised<Histories>,
        set: u32,
        tid: Tid,
        so_far: Statistics,
        go_on: &mut dyn FnMut(&Statistics) -> bool,
    ) -> Result<bool, Limit> {
        if let Some(&known) = self.returns.get(&(set, tid)) {
            return Ok(known);
        }
        let mut states = States::default();
        spec.states_of(set).for_each(|state| _ = states.insert(state));
        let mut at = 0;
        let mut found = false;
        while !found && (at as usize) < states.len() {
            let state = Box::<[u8]>::from(states.get(at));
            self.specification.steps(&state, &mut |word, next, _| {
                found |= self.specification.shows_return(word, tid);
                states.insert(next);
            });
            at += 1;
            let bytes = so_far.bytes + states.memory();
            if at.is_multiple_of(1 << 7) && !go_on(&Statistics { bytes, ..so_far }) {
                return Err(Limit::Stopped);
            }
        }
        self.returns.insert((set, tid), found);
        Ok(found)
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

impl Explored {
    fn number(&self, state: &[u8]) -> Option<u32> {
        self.states.find(state)
    }
}
