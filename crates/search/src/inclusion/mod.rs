//! Is every word of one automaton a word of another?
//!
//! All states accept, so the words of an automaton are the labels along its runs, silent steps left
//! out. The question is answered by walking the *implementation* together with the *determinised*
//! specification: a pair (p, S) says that some word leads the implementation to p and the
//! specification to the states S and to no others. A word that the specification lacks is found when
//! p has a step whose label leads from S nowhere.
//!
//! Only what is reached is determinised. And a pair need not be looked at if one with the same p and
//! fewer specification states has been: what fails from (p, S) fails from (p, S') for every S' ⊆ S.
//! So the pairs kept for one p form an antichain (De Wulf, Doyen, Henzinger and Raskin, CAV 2006).
//!
//! An automaton may know of some states that they can do all that others can ([`Automaton::is_less`]).
//! Then a pair need not be looked at, either, if there is one with such a p and fewer specification
//! states; and of the specification's states, those can be left out of a set that others in it outdo
//! (Abdulla, Chen, Holík, Mayr and Vojnar, TACAS 2010).
//!
//! An automaton may be known in part only: a limit keeps some of its states from showing all their steps
//! ([`Automaton::is_limit`]). Words of the implementation that are not looked at may be none of the
//! specification; and where the specification cannot follow, it might if more of it were known. So the answer
//! is "included" only if all of the implementation was seen, and "differs" only if all of the
//! specification's states along the word were. Otherwise it is "limited", and says by what.
//!
//! Labels of the implementation may be of two kinds: those that *bind* the specification, and those that it may fail to
//! follow ([`Automaton::binds`]). Then "included" means: if the specification can follow a word up to a label that binds,
//! it can follow that label, too. With fewer states the specification may follow fewer words, so that less is
//! compared. So a pair stands for those with more specification states only if all labels bind.
//!
//! Silent steps cost nothing, labels one: the search goes by length of the word, so the word it
//! reports is a shortest one, also with pruning: a pair is pruned only by one that was reached by a
//! word no longer.

mod determinised;
mod strings;
mod worker;

use crate::numbered::Numbered;
use determinised::Determinised;
use std::collections::VecDeque;
use std::hash::Hash;
use strings::Strings;
use worker::{Batch, Steps, Worker, find_steps};

/// A label by its number; [`SILENT`] is no label.
pub type Symbol = u32;

/// The label of a step that words do not show.
pub const SILENT: Symbol = 0;

/// What a step shows: at most two labels, one after the other, with [`SILENT`] for none.
pub type Word = [Symbol; 2];

/// Where an automaton hands its steps: label, state, and what is wrong.
pub type StepSink<'a, B> = &'a mut dyn FnMut(Word, &[u8], Option<B>);

/// Where an automaton hands states, and what is wrong.
pub type StateSink<'a, B> = &'a mut dyn FnMut(&[u8], Option<B>);

/// An automaton whose states are byte strings.
pub trait Automaton: Sync {
    /// Something that should not happen in a step.
    type Bad: Clone + Eq + Hash + Send;

    /// Do all labels of the implementation bind the specification? See [`Automaton::binds`].
    const ALL_BIND: bool = true;

    /// Must the specification be able to follow this label of the implementation? If it need not, and cannot,
    /// the words that go on from there are not compared.
    fn binds(&self, symbol: Symbol) -> bool {
        let _ = symbol;
        true
    }

    /// Is nothing wrong, but there is more to the automaton than the step shows, because of a limit?
    fn is_limit(_: &Self::Bad) -> bool {
        false
    }

    /// Hands the initial state to `sink`.
    fn initial(&self, sink: StateSink<Self::Bad>);

    /// Hands every step from a state to `sink`.
    fn steps(&self, state: &[u8], sink: StepSink<Self::Bad>);

    /// Hands over where silent steps lead from a state.
    fn silent(&self, state: &[u8], sink: StateSink<Self::Bad>) {
        self.steps(state, &mut |word, state, bad| {
            if word == [SILENT; 2] {
                sink(state, bad);
            }
        });
    }

    /// Hands over where steps that show this label and no more lead from a state.
    fn follow(&self, state: &[u8], symbol: Symbol, sink: StateSink<Self::Bad>) {
        self.steps(state, &mut |word, state, bad| {
            if word == [symbol, SILENT] {
                sink(state, bad);
            }
        });
    }

    /// States are worth comparing if they begin with the same so many bytes.
    fn core_length(&self, state: &[u8]) -> usize {
        state.len()
    }

    /// Can the first of two states that are worth comparing do all that the second can: is every word
    /// from there a word from here, and does something go wrong here, by no longer word, if it does
    /// there?
    fn is_less(&self, a: &[u8], b: &[u8]) -> bool {
        a == b
    }
}

/// The caller asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stopped;

/// Asks the caller whether to go on, in the middle of determinising.
struct Asking<'a> {
    /// How much work it was before.
    so_far: Statistics,
    go_on: &'a mut dyn FnMut(&Statistics) -> bool,
}

impl<'a> Asking<'a> {
    fn new(so_far: Statistics, go_on: &'a mut dyn FnMut(&Statistics) -> bool) -> Self {
        Asking { so_far, go_on }
    }

    /// With so many states of the specification, and bytes in use since the question was set up.
    fn go_on(&mut self, specification: u64, more: u64) -> Result<(), Stopped> {
        let bytes = self.so_far.bytes + more;
        let so_far = Statistics { specification, bytes, ..self.so_far };
        if (self.go_on)(&so_far) { Ok(()) } else { Err(Stopped) }
    }
}

/// How much work it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// States of the implementation.
    pub implementation: u64,
    /// States of the specification.
    pub specification: u64,
    /// Sets of states of the specification.
    pub sets: u64,
    /// The largest of them.
    pub largest_set: u64,
    /// Pairs explored.
    pub pairs: u64,
    /// Pairs that no other made superfluous.
    pub antichain: u64,
    /// Bytes in use.
    pub bytes: u64,
}

/// A run of the implementation: the initial state, then each step's label and where it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The initial state.
    pub start: Box<[u8]>,
    /// The steps.
    pub steps: Vec<(Word, Box<[u8]>)>,
}

impl Run {
    /// The labels.
    pub fn word(&self) -> Vec<Symbol> {
        self.steps.iter().flat_map(|(word, _)| *word).filter(|symbol| *symbol != SILENT).collect()
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<A, B> {
    /// Every word is one of the specification.
    Included,
    /// The run's word is not, but without its last step it is.
    Differs {
        /// What the implementation did.
        run: Run,
        /// The labels with which the specification could have gone on instead.
        instead: Vec<Symbol>,
        /// Is there no shorter word like it? There may be if the specification was limited somewhere.
        shortest: bool,
    },
    /// Something should not happen, and does at the end of this run.
    Bad {
        /// What.
        bad: A,
        /// How.
        run: Run,
    },
    /// All that was seen of the implementation is included, but a limit hid the rest.
    ImplementationLimited(A),
    /// A word could not be followed by the specification as far as a limit showed it.
    SpecificationLimited(B),
    /// The caller asked to stop.
    Stopped,
}

/// Compares, on so many cores; `go_on` is asked now and then. What is found does not depend on the cores.
pub fn compare<A: Automaton, B: Automaton>(
    implementation: &A,
    specification: &B,
    jobs: usize,
    go_on: &mut dyn FnMut(&Statistics) -> bool,
) -> (Outcome<A::Bad, B::Bad>, Statistics) {
    let mut search = Search {
        cores: Numbered::default(),
        kept: Vec::new(),
        states: Strings::default(),
        chain: Vec::new(),
        pairs: Vec::new(),
        open: Default::default(),
        live: 0,
        unfollowed: None,
        spec: Determinised::new(specification),
    };
    let outcome = search.run(implementation, jobs, go_on);
    (outcome, search.statistics())
}

const NONE: u32 = u32::MAX;

/// How many pairs a worker takes at a time.
const BATCH: usize = 32;

#[derive(Clone, Copy)]
struct Pair {
    state: u32,
    set: u32,
    parent: u32,
    word: Word,
    /// How many labels lead here.
    length: u32,
    /// Is there a later one with fewer specification states?
    covered: bool,
}

struct Search<'s, B: Automaton> {
    /// What the implementation's states begin with.
    cores: Numbered,
    /// For every core, the first entry of its list in `chain`.
    kept: Vec<u32>,
    /// The implementation's states.
    states: Strings,
    /// Lists of pairs with equal core: pair and next entry.
    chain: Vec<(u32, u32)>,
    pairs: Vec<Pair>,
    /// By how many labels more lead there, pairs whose steps are to be looked at.
    open: [VecDeque<u32>; 3],
    live: u64,
    /// What limited the specification where it could not follow.
    unfollowed: Option<B::Bad>,
    spec: Determinised<'s, B>,
}

impl<B: Automaton> Search<'_, B> {
    fn run<A: Automaton>(
        &mut self,
        implementation: &A,
        jobs: usize,
        go_on: &mut dyn FnMut(&Statistics) -> bool,
    ) -> Outcome<A::Bad, B::Bad> {
        let mut first = None;
        let mut limit = None;
        let mut starts: Vec<Box<[u8]>> = Vec::new();
        let so_far = self.statistics();
        let Ok(start) = self.spec.start(&mut Asking::new(so_far, go_on)) else {
            return Outcome::Stopped;
        };
        implementation.initial(&mut |state, bad| {
            starts.push(Box::from(state));
            match bad {
                Some(bad) if A::is_limit(&bad) => limit = limit.take().or(Some(bad)),
                bad => first = first.take().or(bad),
            }
        });
        for state in starts {
            self.reach(implementation, &state, start, NONE, [SILENT; 2]);
        }
        if let Some(bad) = first {
            return Outcome::Bad { bad, run: self.trace(0) };
        }
        std::thread::scope(|scope| {
            // This thread determinises the specification; the others find steps ahead of it.
            let worker = |_| Worker::new(scope, implementation);
            let workers: Vec<_> = (1..jobs).map_while(worker).collect();
            // Each has some batches in reserve, in turn.
            let (mut started, mut finished) = (0, 0);
            let mut explored = 0u64;
            loop {
                while started < finished + 8 * workers.len() && !self.open[0].is_empty() {
                    workers[started % workers.len()].start(self.next_batch());
                    started += 1;
                }
                let batch = if started > finished {
                    finished += 1;
                    workers[(finished - 1) % workers.len()].finish()
                } else if !self.open[0].is_empty() {
                    find_steps(implementation, self.next_batch())
                } else if self.open.iter().all(VecDeque::is_empty) {
                    return match (limit, self.unfollowed.take()) {
                        (_, Some(bad)) => Outcome::SpecificationLimited(bad),
                        (Some(bad), None) => Outcome::ImplementationLimited(bad),
                        (None, None) => Outcome::Included,
                    };
                } else {
                    self.open.rotate_left(1);
                    continue;
                };
                for (at, steps) in batch {
                    if self.pairs[at as usize].covered {
                        continue;
                    }
                    explored += 1;
                    if explored.is_multiple_of(1 << 4) && !go_on(&self.statistics()) {
                        return Outcome::Stopped;
                    }
                    let mut limits = steps.iter().filter_map(|(_, _, bad)| bad.as_ref());
                    limit = limit.or_else(|| limits.find(|bad| A::is_limit(bad)).cloned());
                    if let Some(outcome) = self.take_steps(implementation, at, &steps, go_on) {
                        return outcome;
                    }
                }
            }
        })
    }

    /// The next pairs whose steps are to be looked at, with the implementation's states.
    fn next_batch(&mut self) -> Batch {
        let count = self.open[0].len().min(BATCH);
        let pairs = self.open[0].drain(..count).filter(|&at| !self.pairs[at as usize].covered);
        pairs.map(|at| (at, self.states.get(self.pairs[at as usize].state).into())).collect()
    }

    /// Follows the steps from a pair, and keeps the pairs that they lead to; unless the specification
    /// cannot follow one, or something is wrong with it.
    fn take_steps<A: Automaton>(
        &mut self,
        implementation: &A,
        at: u32,
        steps: &Steps<A::Bad>,
        go_on: &mut dyn FnMut(&Statistics) -> bool,
    ) -> Option<Outcome<A::Bad, B::Bad>> {
        let set = self.pairs[at as usize].set;
        let mut reached = Vec::new();
        for (word, state, bad) in steps.iter() {
            let bad = bad.as_ref().filter(|bad| !A::is_limit(bad));
            let mut sets = vec![set];
            for symbol in word.into_iter().filter(|&symbol| symbol != SILENT) {
                let so_far = self.statistics();
                let last = sets[sets.len() - 1];
                match self.spec.after(last, symbol, &mut Asking::new(so_far, go_on)) {
                    Ok(Some(next)) => sets.push(next),
                    Ok(None) => sets.push(NONE),
                    Err(Stopped) => return Some(Outcome::Stopped),
                }
                if sets.last() == Some(&NONE) {
                    break;
                }
            }
            let follows = sets.last() != Some(&NONE);
            let shown = || word.into_iter().filter(|&symbol| symbol != SILENT);
            let binds =
                follows || shown().nth(sets.len() - 2).is_none_or(|s| implementation.binds(s));
            if bad.is_none() && !binds {
                continue;
            }
            if bad.is_none() && follows {
                reached.push((word, state, sets[sets.len() - 1]));
                continue;
            }
            if bad.is_none() {
                sets.pop();
                if let Some(limit) = self.limit_on_the_way(at, &sets) {
                    self.unfollowed.get_or_insert(limit);
                    continue;
                }
            }
            let mut run = self.trace(at);
            run.steps.push((word, state.into()));
            return Some(match bad {
                Some(bad) => Outcome::Bad { bad: bad.clone(), run },
                None => {
                    let instead = self.spec.labels(sets[sets.len() - 1]);
                    Outcome::Differs { run, instead, shortest: self.unfollowed.is_none() }
                }
            });
        }
        for (word, state, set) in reached {
            self.reach(implementation, state, set, at, word);
        }
        None
    }

    /// What limited the specification along the word that leads to a pair, or in these sets after it.
    fn limit_on_the_way(&self, mut at: u32, after: &[u32]) -> Option<B::Bad> {
        let found = after.iter().find_map(|&set| self.spec.limit(set));
        if found.is_some() {
            return found.cloned();
        }
        while at != NONE {
            let pair = self.pairs[at as usize];
            if let Some(limit) = self.spec.limit(pair.set) {
                return Some(limit.clone());
            }
            at = pair.parent;
        }
        None
    }

    fn reach<A: Automaton>(
        &mut self,
        implementation: &A,
        state: &[u8],
        set: u32,
        parent: u32,
        word: Word,
    ) {
        let (core, new) = self.cores.insert(&state[..implementation.core_length(state)]);
        if new {
            self.kept.push(NONE);
        }
        let before = if parent == NONE { 0 } else { self.pairs[parent as usize].length };
        let shown = word.into_iter().filter(|&symbol| symbol != SILENT).count();
        let length = before + shown as u32;
        let mut entry = self.kept[core as usize];
        let mut last = NONE;
        let mut number = None;
        while entry != NONE {
            let (index, next) = self.chain[entry as usize];
            let pair = self.pairs[index as usize];
            let other = self.states.get(pair.state);
            // What was reached by a shorter word must not be given up for a longer one.
            if pair.length <= length
                && (pair.set == set || A::ALL_BIND && self.spec.is_outdone(pair.set, set))
                && implementation.is_less(other, state)
            {
                return;
            }
            if other == state {
                number = Some(pair.state);
            }
            if length <= pair.length
                && (pair.set == set || A::ALL_BIND && self.spec.is_outdone(set, pair.set))
                && implementation.is_less(state, other)
            {
                self.pairs[index as usize].covered = true;
                self.live -= 1;
                match last {
                    NONE => self.kept[core as usize] = next,
                    last => self.chain[last as usize].1 = next,
                }
            } else {
                last = entry;
            }
            entry = next;
        }
        let state = number.unwrap_or_else(|| self.states.push(state));
        let pair = self.pairs.len() as u32;
        self.pairs.push(Pair { state, set, parent, word, length, covered: false });
        self.chain.push((pair, self.kept[core as usize]));
        self.kept[core as usize] = self.chain.len() as u32 - 1;
        self.live += 1;
        self.open[shown].push_back(pair);
    }

    fn trace(&self, mut at: u32) -> Run {
        let mut steps = Vec::new();
        loop {
            let pair = self.pairs[at as usize];
            let state: Box<[u8]> = self.states.get(pair.state).into();
            if pair.parent == NONE {
                steps.reverse();
                return Run { start: state, steps };
            }
            steps.push((pair.word, state));
            at = pair.parent;
        }
    }

    fn statistics(&self) -> Statistics {
        let pairs = self.pairs.len() as u64;
        let [specification, sets, largest_set] = self.spec.sizes();
        Statistics {
            implementation: self.states.len() as u64,
            specification,
            sets,
            largest_set,
            pairs,
            antichain: self.live,
            bytes: self.cores.bytes() + self.states.memory() + self.spec.memory() + 36 * pairs,
        }
    }
}
