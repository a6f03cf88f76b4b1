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
//! Silent steps cost nothing, labels one: the search goes by length of the word, so the word it
//! reports is a shortest one, also with pruning: a pair is pruned only by one that was reached by a
//! word no longer.

use super::states::{Arena, States};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A label by its number; [`SILENT`] is no label.
pub type Symbol = u32;

/// The label of a step that words do not show.
pub const SILENT: Symbol = 0;

/// What a step shows: at most two labels, one after the other, with [`SILENT`] for none.
pub type Word = [Symbol; 2];

/// Where an automaton hands its initial state.
pub type StartSink<'a, B> = &'a mut dyn FnMut(&[u8], Option<B>);

/// Where an automaton hands its steps: label, state, and what is wrong.
pub type StepSink<'a, B> = &'a mut dyn FnMut(Word, &[u8], Option<B>);

/// Where an automaton hands states.
pub type StateSink<'a> = &'a mut dyn FnMut(&[u8]);

/// An automaton whose states are byte strings.
pub trait Automaton {
    /// Something that should not happen in a step.
    type Bad: Clone + Eq + Hash;

    /// Hands the initial state to `sink`.
    fn initial(&mut self, sink: StartSink<Self::Bad>);

    /// Hands every step from a state to `sink`.
    fn steps(&mut self, state: &[u8], sink: StepSink<Self::Bad>);

    /// Hands over where silent steps lead from a state.
    fn silent(&mut self, state: &[u8], sink: StateSink) {
        self.steps(state, &mut |word, state, _| {
            if word == [SILENT; 2] {
                sink(state);
            }
        });
    }

    /// Hands over where steps that show this label and no more lead from a state.
    fn follow(&mut self, state: &[u8], symbol: Symbol, sink: StateSink) {
        self.steps(state, &mut |word, state, _| {
            if word == [symbol, SILENT] {
                sink(state);
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
pub enum Outcome<B> {
    /// Every word is one of the specification.
    Included,
    /// The run's word is not, but without its last step it is.
    Differs {
        /// What the implementation did.
        run: Run,
        /// The labels with which the specification could have gone on instead.
        instead: Vec<Symbol>,
    },
    /// Something should not happen, and does at the end of this run.
    Bad {
        /// What.
        bad: B,
        /// How.
        run: Run,
    },
    /// The caller asked to stop.
    Stopped,
}

/// Compares; `go_on` is asked now and then.
pub fn compare<A: Automaton, B: Automaton>(
    implementation: &mut A,
    specification: &mut B,
    go_on: &mut dyn FnMut(&Statistics) -> bool,
) -> (Outcome<A::Bad>, Statistics) {
    let mut search = Search {
        cores: States::default(),
        kept: Vec::new(),
        states: Arena::default(),
        chain: Vec::new(),
        pairs: Vec::new(),
        open: Default::default(),
        live: 0,
        spec: Determinised::new(specification),
    };
    let outcome = search.run(implementation, go_on);
    (outcome, search.statistics())
}

const NONE: u32 = u32::MAX;

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
    cores: States,
    /// For every core, the first entry of its list in `chain`.
    kept: Vec<u32>,
    /// The implementation's states.
    states: Arena,
    /// Lists of pairs with equal core: pair and next entry.
    chain: Vec<(u32, u32)>,
    pairs: Vec<Pair>,
    /// By how many labels more lead there, pairs whose steps are to be looked at.
    open: [VecDeque<u32>; 3],
    live: u64,
    spec: Determinised<'s, B>,
}

impl<B: Automaton> Search<'_, B> {
    fn run<A: Automaton>(
        &mut self,
        implementation: &mut A,
        go_on: &mut dyn FnMut(&Statistics) -> bool,
    ) -> Outcome<A::Bad> {
        let mut first = None;
        let mut starts: Vec<Box<[u8]>> = Vec::new();
        let start = self.spec.start();
        implementation.initial(&mut |state, bad| {
            starts.push(Box::from(state));
            first = first.take().or(bad);
        });
        for state in starts {
            self.reach(implementation, &state, start, NONE, [SILENT; 2]);
        }
        if let Some(bad) = first {
            return Outcome::Bad { bad, run: self.trace(0) };
        }
        let mut bytes = Vec::new();
        // The steps from one state: all their states in a row, and where each ends.
        let mut successors: Vec<u8> = Vec::new();
        let mut ends: Vec<(Word, u32, usize)> = Vec::new();
        let mut expanded = 0u64;
        loop {
            let Some(at) = self.open[0].pop_front() else {
                if self.open.iter().all(VecDeque::is_empty) {
                    return Outcome::Included;
                }
                self.open.rotate_left(1);
                continue;
            };
            let pair = self.pairs[at as usize];
            if pair.covered {
                continue;
            }
            expanded += 1;
            if expanded.is_multiple_of(1 << 12) && !go_on(&self.statistics()) {
                return Outcome::Stopped;
            }
            bytes.clear();
            bytes.extend_from_slice(self.states.get(pair.state));
            let mut found = None;
            successors.clear();
            ends.clear();
            implementation.steps(&bytes, &mut |word, state, bad| {
                if found.is_some() {
                    return;
                }
                let mut shown = word.into_iter().filter(|&symbol| symbol != SILENT);
                let set =
                    shown.try_fold(pair.set, |set, symbol| self.spec.after(set, symbol).ok_or(set));
                match (bad, set) {
                    (Some(bad), _) => found = Some((Some(bad), pair.set, word, Box::from(state))),
                    (None, Err(set)) => found = Some((None, set, word, Box::from(state))),
                    (None, Ok(set)) => {
                        successors.extend_from_slice(state);
                        ends.push((word, set, successors.len()));
                    }
                }
            });
            if found.is_none() {
                let mut start = 0;
                for &(word, set, end) in &ends {
                    self.reach(implementation, &successors[start..end], set, at, word);
                    start = end;
                }
            }
            if let Some((bad, set, word, state)) = found {
                let mut run = self.trace(at);
                run.steps.push((word, state));
                return match bad {
                    Some(bad) => Outcome::Bad { bad, run },
                    None => Outcome::Differs { run, instead: self.spec.labels(set) },
                };
            }
        }
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
                && self.spec.is_outdone(pair.set, set)
                && implementation.is_less(other, state)
            {
                return;
            }
            if other == state {
                number = Some(pair.state);
            }
            if length <= pair.length
                && self.spec.is_outdone(set, pair.set)
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
        Statistics {
            implementation: self.states.len() as u64,
            specification: self.spec.states.len() as u64,
            sets: self.spec.sets.len() as u64,
            largest_set: self.spec.largest as u64,
            pairs,
            antichain: self.live,
            bytes: self.cores.memory() + self.states.memory() + self.spec.memory() + 36 * pairs,
        }
    }
}

/// A hash of one number.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The specification, determinised as far as it was asked for.
struct Determinised<'s, B: Automaton> {
    automaton: &'s mut B,
    states: States,
    /// The number of each state's core.
    core_of: Vec<u32>,
    cores: States,
    /// Where silent steps lead from each state, once known.
    silent: Vec<Option<Box<[u32]>>>,
    silent_count: u64,
    /// Sets of states, each as its members in ascending order, four bytes each.
    sets: States,
    /// For every set, a bit for each remainder of its members' cores by 64.
    core_marks: Vec<u64>,
    /// Which of two sets can do all that the other can, as far as it was asked for.
    outdone: HashMap<u64, bool, BuildHasherDefault<Multiply>>,
    /// For every set, where labels lead, as far as it was asked for.
    after: Vec<Vec<(Symbol, Option<u32>)>>,
    after_count: u64,
    largest: usize,
}

impl<'s, B: Automaton> Determinised<'s, B> {
    fn new(automaton: &'s mut B) -> Self {
        Determinised {
            automaton,
            states: States::default(),
            core_of: Vec::new(),
            cores: States::default(),
            silent: Vec::new(),
            silent_count: 0,
            sets: States::default(),
            core_marks: Vec::new(),
            outdone: HashMap::default(),
            after: Vec::new(),
            after_count: 0,
            largest: 0,
        }
    }

    fn start(&mut self) -> u32 {
        let mut found: Vec<Box<[u8]>> = Vec::new();
        self.automaton.initial(&mut |state, _| found.push(state.into()));
        let members = found.iter().map(|state| self.number(state)).collect();
        self.set(members)
    }

    fn number(&mut self, state: &[u8]) -> u32 {
        let (id, new) = self.states.insert(state);
        if new {
            self.silent.push(None);
            let core = self.automaton.core_length(state);
            self.core_of.push(self.cores.insert(&state[..core]).0);
        }
        id
    }

    /// The set of these states and those that silent steps lead to.
    fn set(&mut self, mut members: Vec<u32>) -> u32 {
        members.sort_unstable();
        members.dedup();
        let mut seen: std::collections::HashSet<u32> = members.iter().copied().collect();
        let mut at = 0;
        while at < members.len() {
            self.expand(members[at]);
            let next = self.silent[members[at] as usize].as_deref().unwrap_or_default();
            members.extend(next.iter().filter(|&&id| seen.insert(id)));
            at += 1;
        }
        self.leave_out_outdone(&mut members);
        members.sort_unstable();
        self.largest = self.largest.max(members.len());
        let bytes: Vec<u8> = members.iter().flat_map(|id| id.to_le_bytes()).collect();
        let (set, new) = self.sets.insert(&bytes);
        if new {
            let mark = |id: &u32| 1u64 << (self.core_of[*id as usize] % 64);
            self.core_marks.push(members.iter().fold(0, |marks, id| marks | mark(id)));
            self.after.push(Vec::new());
        }
        set
    }

    /// Removes states that others can do all of.
    fn leave_out_outdone(&self, members: &mut Vec<u32>) {
        let core = |id: &u32| self.core_of[*id as usize];
        members.sort_unstable_by_key(|id| (core(id), *id));
        let mut kept: Vec<u32> = Vec::with_capacity(members.len());
        for group in members.chunk_by(|a, b| core(a) == core(b)) {
            let start = kept.len();
            for &id in group {
                let state = self.states.get(id);
                let less = |a: &[u8], b: &[u8]| self.automaton.is_less(a, b);
                if kept[start..].iter().any(|&other| less(self.states.get(other), state)) {
                    continue;
                }
                let mut at = 0;
                kept.retain(|&other| {
                    at += 1;
                    at <= start || !less(state, self.states.get(other))
                });
                kept.push(id);
            }
        }
        *members = kept;
    }

    /// Finds out where silent steps lead.
    fn expand(&mut self, id: u32) {
        if self.silent[id as usize].is_some() {
            return;
        }
        let found = self.numbers_of(id, |automaton, state, sink| automaton.silent(state, sink));
        self.silent_count += found.len() as u64;
        self.silent[id as usize] = Some(found.into());
    }

    /// The numbers of the states that some steps from a state lead to.
    fn numbers_of(&mut self, id: u32, steps: impl FnOnce(&mut B, &[u8], StateSink)) -> Vec<u32> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut ends: Vec<usize> = Vec::new();
        steps(self.automaton, self.states.get(id), &mut |state| {
            bytes.extend_from_slice(state);
            ends.push(bytes.len());
        });
        let mut found: Vec<u32> = Vec::with_capacity(ends.len());
        let mut start = 0;
        for end in ends {
            found.push(self.number(&bytes[start..end]));
            start = end;
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn members(&self, set: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.sets.get(set).chunks_exact(4);
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Where a label leads from a set; `None` if nowhere.
    fn after(&mut self, set: u32, symbol: Symbol) -> Option<u32> {
        if let Some((_, known)) = self.after[set as usize].iter().find(|(s, _)| *s == symbol) {
            return *known;
        }
        let members: Vec<u32> = self.members(set).collect();
        let mut next = Vec::new();
        for id in members {
            let follow = |automaton: &mut B, state: &[u8], sink: StateSink| {
                automaton.follow(state, symbol, sink);
            };
            next.extend(self.numbers_of(id, follow));
        }
        let next = (!next.is_empty()).then(|| self.set(next));
        self.after[set as usize].push((symbol, next));
        self.after_count += 1;
        next
    }

    /// The labels that lead somewhere.
    fn labels(&mut self, set: u32) -> Vec<Symbol> {
        let members: Vec<u32> = self.members(set).collect();
        let mut labels = Vec::new();
        for id in members {
            self.automaton.steps(self.states.get(id), &mut |word, _, _| {
                labels.extend(word.into_iter().find(|&symbol| symbol != SILENT));
            });
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Is every state of `a` in `b`, or can one in `b` do all that it can? Then so can `b` do all that
    /// `a` can.
    fn is_outdone(&mut self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        if self.core_marks[a as usize] & !self.core_marks[b as usize] != 0 {
            return false;
        }
        let key = u64::from(a) << 32 | u64::from(b);
        if let Some(&known) = self.outdone.get(&key) {
            return known;
        }
        let core = |id: u32| self.core_of[id as usize];
        let answer = self.members(a).all(|id| {
            self.members(b).any(|other| {
                let (own, others) = (self.states.get(id), self.states.get(other));
                id == other || core(id) == core(other) && self.automaton.is_less(others, own)
            })
        });
        self.outdone.insert(key, answer);
        answer
    }

    fn memory(&self) -> u64 {
        let states = self.states.memory() + self.cores.memory() + 20 * self.states.len() as u64;
        let sets = self.sets.memory() + 40 * self.after.len() as u64 + 16 * self.after_count;
        let sets = sets + 18 * self.outdone.capacity() as u64;
        states + sets + 4 * self.silent_count
    }
}
