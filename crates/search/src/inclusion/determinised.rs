//! An automaton, determinised as far as it is asked for: the subset construction, on the fly. A set is
//! closed under silent steps, and leaves out states that others in it outdo ([`Automaton::is_less`]). These
//! are left out as soon as they are met: what silent steps lead to from there, the others outdo as well.
//!
//! A set is *limited* if a limit keeps one of the states met on the way from showing all its steps.

use super::{Asking, Automaton, SILENT, StateSink, Stopped, Symbol};
use crate::numbered::Numbered;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A hash of one number.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Hash = BuildHasherDefault<Multiply>;

/// Of the states of a set, by core, those that none outdoes.
type Best = HashMap<u32, SmallVec<[u32; 4]>, Hash>;

/// The specification, as sets of states.
pub(super) struct Determinised<'s, B: Automaton> {
    automaton: &'s B,
    states: Numbered,
    /// The number of each state's core.
    core_of: Vec<u32>,
    cores: Numbered,
    /// Where silent steps lead from each state, once known.
    silent: Vec<Option<Box<[u32]>>>,
    silent_count: u64,
    /// States that a limit keeps from showing all their steps.
    limited: HashMap<u32, B::Bad>,
    /// Sets with such states.
    limited_sets: HashMap<u32, B::Bad>,
    /// Sets of states, each as its members in ascending order, four bytes each.
    sets: Numbered,
    /// For every set, a bit for each remainder of its members' cores by 64.
    core_marks: Vec<u64>,
    /// Where labels lead from a state, as far as it was asked for: a range of `followers`.
    followed: HashMap<u64, (u32, u32), Hash>,
    followers: Vec<u32>,
    /// Which of two sets can do all that the other can, as far as it was asked for.
    outdone: HashMap<u64, bool, Hash>,
    /// For every set, where labels lead, as far as it was asked for.
    after: Vec<Vec<(Symbol, Option<u32>)>>,
    after_count: u64,
    largest: usize,
}

impl<'s, B: Automaton> Determinised<'s, B> {
    /// Nothing of it yet.
    pub(super) fn new(automaton: &'s B) -> Self {
        Determinised {
            automaton,
            states: Numbered::default(),
            core_of: Vec::new(),
            cores: Numbered::default(),
            silent: Vec::new(),
            silent_count: 0,
            limited: HashMap::new(),
            limited_sets: HashMap::new(),
            sets: Numbered::default(),
            core_marks: Vec::new(),
            followed: HashMap::default(),
            followers: Vec::new(),
            outdone: HashMap::default(),
            after: Vec::new(),
            after_count: 0,
            largest: 0,
        }
    }

    /// The set of initial states.
    pub(super) fn start(&mut self, asking: &mut Asking) -> Result<u32, Stopped> {
        let members = self.numbers_of(None, |automaton, _, sink| automaton.initial(sink));
        self.set(members, asking)
    }

    /// What keeps a set from showing all its steps, if something does.
    pub(super) fn limit(&self, set: u32) -> Option<&B::Bad> {
        self.limited_sets.get(&set)
    }

    /// How many states were met, how many sets, and how large the largest is.
    pub(super) fn sizes(&self) -> [u64; 3] {
        [self.states.len() as u64, self.sets.len() as u64, self.largest as u64]
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
    fn set(&mut self, start: Vec<u32>, asking: &mut Asking) -> Result<u32, Stopped> {
        let mut seen: HashSet<u32, Hash> = start.iter().copied().collect();
        let mut open = start;
        let mut best = Best::default();
        open.retain(|&id| self.compete(&mut best, id));
        let mut limit = None;
        let (mut at, bytes) = (0, self.memory());
        while at < open.len() {
            let id = open[at];
            at += 1;
            // Expanding one state may take long; looking it up again does not.
            if self.silent[id as usize].is_none() || at.is_multiple_of(1 << 7) {
                let own = (seen.len() * 16 + open.len() * 4) as u64;
                asking.go_on(self.states.len() as u64, self.memory() + own - bytes)?;
            }
            if !best[&self.core_of[id as usize]].contains(&id) {
                continue;
            }
            self.expand(id);
            if limit.is_none() {
                limit = self.limited.get(&id).cloned();
            }
            let next = self.silent[id as usize].as_deref().unwrap_or_default();
            for &id in next {
                if seen.insert(id) && self.compete(&mut best, id) {
                    open.push(id);
                }
            }
        }
        let mut members: Vec<u32> = best.into_values().flatten().collect();
        members.sort_unstable();
        self.largest = self.largest.max(members.len());
        let bytes: Vec<u8> = members.iter().flat_map(|id| id.to_le_bytes()).collect();
        let (set, new) = self.sets.insert(&bytes);
        if new {
            let mark = |id: &u32| 1u64 << (self.core_of[*id as usize] % 64);
            self.core_marks.push(members.iter().fold(0, |marks, id| marks | mark(id)));
            self.after.push(Vec::new());
        }
        if let Some(limit) = limit {
            self.limited_sets.insert(set, limit);
        }
        Ok(set)
    }

    /// Adds a state to those that none outdoes, in place of those that it outdoes; `false` if one
    /// outdoes it.
    fn compete(&self, best: &mut Best, id: u32) -> bool {
        let others = best.entry(self.core_of[id as usize]).or_default();
        let state = self.states.get(id);
        let less = |a: &[u8], b: &[u8]| self.automaton.is_less(a, b);
        if others.iter().any(|&other| less(self.states.get(other), state)) {
            return false;
        }
        others.retain(|other| !less(state, self.states.get(*other)));
        others.push(id);
        true
    }

    /// Finds out where silent steps lead.
    fn expand(&mut self, id: u32) {
        if self.silent[id as usize].is_some() {
            return;
        }
        let found =
            self.numbers_of(Some(id), |automaton, state, sink| automaton.silent(state, sink));
        self.silent_count += found.len() as u64;
        self.silent[id as usize] = Some(found.into());
    }

    /// The numbers of the states that some steps from a state lead to, or from nowhere.
    fn numbers_of(
        &mut self,
        from: Option<u32>,
        steps: impl FnOnce(&B, &[u8], StateSink<B::Bad>),
    ) -> Vec<u32> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut ends: Vec<(usize, Option<B::Bad>)> = Vec::new();
        let state = from.map_or(&[][..], |id| self.states.get(id));
        steps(self.automaton, state, &mut |state, bad| {
            bytes.extend_from_slice(state);
            ends.push((bytes.len(), bad.filter(B::is_limit)));
        });
        let mut found: Vec<u32> = Vec::with_capacity(ends.len());
        let mut start = 0;
        for (end, limit) in ends {
            let id = self.number(&bytes[start..end]);
            found.push(id);
            start = end;
            if let Some(limit) = limit {
                self.limited.insert(id, limit.clone());
                // A step that was not taken is one from a state to itself.
                from.map(|from| self.limited.insert(from, limit));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn members(&self, set: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.sets.get(set).chunks_exact(4);
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Where a label leads from a state.
    fn follow(&mut self, id: u32, symbol: Symbol) -> (u32, u32) {
        let key = u64::from(id) << 32 | u64::from(symbol);
        if let Some(&known) = self.followed.get(&key) {
            return known;
        }
        let found = self.numbers_of(Some(id), |automaton, state, sink| {
            automaton.follow(state, symbol, sink);
        });
        let start = self.followers.len() as u32;
        self.followers.extend_from_slice(&found);
        let range = (start, self.followers.len() as u32);
        self.followed.insert(key, range);
        range
    }

    /// Where a label leads from a set; `None` if nowhere.
    pub(super) fn after(
        &mut self,
        set: u32,
        symbol: Symbol,
        asking: &mut Asking,
    ) -> Result<Option<u32>, Stopped> {
        if let Some((_, known)) = self.after[set as usize].iter().find(|(s, _)| *s == symbol) {
            return Ok(*known);
        }
        let members: Vec<u32> = self.members(set).collect();
        let mut next = Vec::new();
        for id in members {
            let (start, end) = self.follow(id, symbol);
            next.extend_from_slice(&self.followers[start as usize..end as usize]);
        }
        next.sort_unstable();
        next.dedup();
        let next = if next.is_empty() { None } else { Some(self.set(next, asking)?) };
        self.after[set as usize].push((symbol, next));
        self.after_count += 1;
        Ok(next)
    }

    /// The labels that lead somewhere.
    pub(super) fn labels(&mut self, set: u32) -> Vec<Symbol> {
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
    pub(super) fn is_outdone(&mut self, a: u32, b: u32) -> bool {
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

    /// Bytes in use.
    pub(super) fn memory(&self) -> u64 {
        let states = self.states.bytes() + self.cores.bytes() + 20 * self.states.len() as u64;
        let sets = self.sets.bytes() + 40 * self.after.len() as u64 + 16 * self.after_count;
        let sets = sets + 18 * (self.outdone.capacity() + self.followed.capacity()) as u64;
        let sets = sets + 4 * self.followers.len() as u64;
        states + sets + 4 * self.silent_count
    }
}
