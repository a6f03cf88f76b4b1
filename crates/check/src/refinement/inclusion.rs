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
//! Silent steps cost nothing, labels one: the search goes by length of the word, so the word it
//! reports is a shortest one, also with pruning: a pair is pruned only by one that was reached by a
//! word no longer.

use super::states::States;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A label by its number; [`SILENT`] is no label.
pub type Symbol = u32;

/// The label of a step that words do not show.
pub const SILENT: Symbol = 0;

/// Where an automaton hands its initial state.
pub type StartSink<'a, B> = &'a mut dyn FnMut(&[u8], Option<B>);

/// Where an automaton hands its steps: label, state, and what is wrong.
pub type StepSink<'a, B> = &'a mut dyn FnMut(Symbol, &[u8], Option<B>);

/// An automaton whose states are byte strings.
pub trait Automaton {
    /// Something that should not happen in a step.
    type Bad: Clone + Eq + Hash;

    /// Hands the initial state to `sink`.
    fn initial(&mut self, sink: StartSink<Self::Bad>);

    /// Hands every step from a state to `sink`.
    fn steps(&mut self, state: &[u8], sink: StepSink<Self::Bad>);
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
    pub steps: Vec<(Symbol, Box<[u8]>)>,
}

impl Run {
    /// The labels.
    pub fn word(&self) -> Vec<Symbol> {
        self.steps.iter().map(|(symbol, _)| *symbol).filter(|symbol| *symbol != SILENT).collect()
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<B> {
    /// Every word is one of the specification.
    Included,
    /// The run's word is not, but without its last label it is.
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
        states: States::default(),
        kept: Vec::new(),
        chain: Vec::new(),
        pairs: Vec::new(),
        now: VecDeque::new(),
        later: VecDeque::new(),
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
    symbol: Symbol,
    /// How many labels lead here.
    length: u32,
}

struct Search<'s, B: Automaton> {
    /// The implementation's states.
    states: States,
    /// For every state, the first entry of its list in `chain`.
    kept: Vec<u32>,
    /// Lists of pairs with equal state: pair and next entry.
    chain: Vec<(u32, u32)>,
    pairs: Vec<Pair>,
    now: VecDeque<u32>,
    later: VecDeque<u32>,
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
        let start = self.spec.start();
        implementation.initial(&mut |state, bad| {
            self.reach(state, start, NONE, SILENT);
            first = first.take().or(bad);
        });
        if let Some(bad) = first {
            return Outcome::Bad { bad, run: self.trace(0) };
        }
        let mut bytes = Vec::new();
        let mut expanded = 0u64;
        loop {
            let Some(at) = self.now.pop_front() else {
                if self.later.is_empty() {
                    return Outcome::Included;
                }
                std::mem::swap(&mut self.now, &mut self.later);
                continue;
            };
            let pair = self.pairs[at as usize];
            if pair.symbol & COVERED != 0 {
                continue;
            }
            expanded += 1;
            if expanded.is_multiple_of(1 << 12) && !go_on(&self.statistics()) {
                return Outcome::Stopped;
            }
            bytes.clear();
            bytes.extend_from_slice(self.states.get(pair.state));
            let mut found = None;
            implementation.steps(&bytes, &mut |symbol, state, bad| {
                if found.is_some() {
                    return;
                }
                let set = match symbol {
                    SILENT => Some(pair.set),
                    _ => self.spec.after(pair.set, symbol),
                };
                match (bad, set) {
                    (Some(bad), _) => found = Some((Some(bad), symbol, Box::from(state))),
                    (None, None) => found = Some((None, symbol, Box::from(state))),
                    (None, Some(set)) => self.reach(state, set, at, symbol),
                }
            });
            if let Some((bad, symbol, state)) = found {
                let mut run = self.trace(at);
                run.steps.push((symbol, state));
                return match bad {
                    Some(bad) => Outcome::Bad { bad, run },
                    None => Outcome::Differs { run, instead: self.spec.labels(pair.set) },
                };
            }
        }
    }

    fn reach(&mut self, state: &[u8], set: u32, parent: u32, symbol: Symbol) {
        let (state, new) = self.states.insert(state);
        if new {
            self.kept.push(NONE);
        }
        let before = if parent == NONE { 0 } else { self.pairs[parent as usize].length };
        let length = before + u32::from(symbol != SILENT);
        let mut entry = self.kept[state as usize];
        let mut last = NONE;
        while entry != NONE {
            let (pair, next) = self.chain[entry as usize];
            let other = self.pairs[pair as usize].set;
            // What was reached by a shorter word must not be given up for a longer one.
            let other_length = self.pairs[pair as usize].length;
            if other_length <= length && self.spec.is_subset(other, set) {
                return;
            }
            if length <= other_length && self.spec.is_subset(set, other) {
                self.pairs[pair as usize].symbol |= COVERED;
                self.live -= 1;
                match last {
                    NONE => self.kept[state as usize] = next,
                    last => self.chain[last as usize].1 = next,
                }
            } else {
                last = entry;
            }
            entry = next;
        }
        let pair = self.pairs.len() as u32;
        self.pairs.push(Pair { state, set, parent, symbol, length });
        self.chain.push((pair, self.kept[state as usize]));
        self.kept[state as usize] = self.chain.len() as u32 - 1;
        self.live += 1;
        match symbol {
            SILENT => self.now.push_back(pair),
            _ => self.later.push_back(pair),
        }
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
            steps.push((pair.symbol & !COVERED, state));
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
            bytes: self.states.memory() + self.spec.memory() + 32 * pairs,
        }
    }
}

/// Set in the symbol of a pair that a later one with fewer specification states covers.
const COVERED: Symbol = 1 << 31;

/// The steps from a state.
type Edges = Box<[(Symbol, u32)]>;

/// The specification, determinised as far as it was asked for.
struct Determinised<'s, B: Automaton> {
    automaton: &'s mut B,
    states: States,
    /// The steps from each state, once known.
    edges: Vec<Option<Edges>>,
    edge_count: u64,
    /// Sets of states, each as its members in ascending order, four bytes each.
    sets: States,
    after: HashMap<(u32, Symbol), Option<u32>>,
    largest: usize,
}

impl<'s, B: Automaton> Determinised<'s, B> {
    fn new(automaton: &'s mut B) -> Self {
        Determinised {
            automaton,
            states: States::default(),
            edges: Vec::new(),
            edge_count: 0,
            sets: States::default(),
            after: HashMap::new(),
            largest: 0,
        }
    }

    fn start(&mut self) -> u32 {
        let mut members = Vec::new();
        let (states, edges) = (&mut self.states, &mut self.edges);
        self.automaton.initial(&mut |state, _| {
            let (id, new) = states.insert(state);
            if new {
                edges.push(None);
            }
            members.push(id);
        });
        self.set(members)
    }

    /// The set of these states and those that silent steps lead to.
    fn set(&mut self, mut members: Vec<u32>) -> u32 {
        members.sort_unstable();
        members.dedup();
        let mut seen: std::collections::HashSet<u32> = members.iter().copied().collect();
        let mut at = 0;
        while at < members.len() {
            self.expand(members[at]);
            let edges = self.edges[members[at] as usize].as_deref().unwrap_or_default();
            members.extend(
                edges.iter().filter(|e| e.0 == SILENT && seen.insert(e.1)).map(|edge| edge.1),
            );
            at += 1;
        }
        members.sort_unstable();
        self.largest = self.largest.max(members.len());
        let bytes: Vec<u8> = members.iter().flat_map(|id| id.to_le_bytes()).collect();
        self.sets.insert(&bytes).0
    }

    fn expand(&mut self, id: u32) {
        if self.edges[id as usize].is_some() {
            return;
        }
        let state = self.states.get(id).to_vec();
        let mut found: Vec<(Symbol, u32)> = Vec::new();
        let (states, edges) = (&mut self.states, &mut self.edges);
        self.automaton.steps(&state, &mut |symbol, state, _| {
            let (id, new) = states.insert(state);
            if new {
                edges.push(None);
            }
            found.push((symbol, id));
        });
        found.sort_unstable();
        found.dedup();
        self.edge_count += found.len() as u64;
        self.edges[id as usize] = Some(found.into());
    }

    fn members(&self, set: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.sets.get(set).chunks_exact(4);
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Where a label leads from a set; `None` if nowhere.
    fn after(&mut self, set: u32, symbol: Symbol) -> Option<u32> {
        if let Some(known) = self.after.get(&(set, symbol)) {
            return *known;
        }
        let next: Vec<u32> = self
            .members(set)
            .flat_map(|id| self.edges[id as usize].as_deref().unwrap_or_default())
            .filter(|edge| edge.0 == symbol)
            .map(|edge| edge.1)
            .collect();
        let next = (!next.is_empty()).then(|| self.set(next));
        self.after.insert((set, symbol), next);
        next
    }

    /// The labels that lead somewhere.
    fn labels(&self, set: u32) -> Vec<Symbol> {
        let edges = |id: u32| self.edges[id as usize].as_deref().unwrap_or_default();
        let mut labels: Vec<Symbol> =
            self.members(set).flat_map(edges).map(|edge| edge.0).filter(|&s| s != SILENT).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    fn is_subset(&self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        if self.sets.get(a).len() > self.sets.get(b).len() {
            return false;
        }
        let mut others = self.members(b);
        self.members(a).all(|member| others.any(|other| other == member))
    }

    fn memory(&self) -> u64 {
        let after = 20 * self.after.len() as u64;
        self.states.memory() + self.sets.memory() + 8 * self.edge_count + after
    }
}
