//! Binary relations over the events of one graph, and sets of them.
//!
//! Axiomatic memory models are written in the algebra of relations: composition `r ; s`, union,
//! inverse, closures, and restriction `[A] ; r ; [B]`. [`Relation`] has exactly these operations, on
//! a bit matrix with one row per event, so that a definition in a paper becomes one line of code.
//! Nothing here is clever: this is the vocabulary of the judge.

use super::event::EventId;

const WORD: usize = u64::BITS as usize;

/// A set of events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EventSet {
    words: Vec<u64>,
}

impl EventSet {
    /// No events, with room for those of a graph of `size` events.
    pub fn empty(size: usize) -> Self {
        EventSet { words: vec![0; size.div_ceil(WORD)] }
    }

    /// The events among `members`.
    pub fn from_members(size: usize, members: impl IntoIterator<Item = EventId>) -> Self {
        let mut set = EventSet::empty(size);
        for event in members {
            set.insert(event);
        }
        set
    }

    /// Adds an event.
    pub fn insert(&mut self, event: EventId) {
        self.words[event.index() / WORD] |= 1 << (event.index() % WORD);
    }

    /// Is `event` a member?
    pub fn contains(&self, event: EventId) -> bool {
        self.words.get(event.index() / WORD).is_some_and(|w| w >> (event.index() % WORD) & 1 == 1)
    }

    /// Has it no members?
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = EventId> + '_ {
        members(&self.words)
    }
}

/// A binary relation over the events of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    size: usize,
    /// Words per row.
    width: usize,
    /// Row `a` has bit `b` set iff ⟨a, b⟩ is a member.
    rows: Vec<u64>,
}

impl Relation {
    /// The relation without members.
    pub fn empty(size: usize) -> Self {
        let width = size.div_ceil(WORD);
        Relation { size, width, rows: vec![0; size * width] }
    }

    /// Every event with itself.
    pub fn identity(size: usize) -> Self {
        let mut relation = Relation::empty(size);
        for event in relation.events() {
            relation.insert(event, event);
        }
        relation
    }

    /// `[A]`: every member of `set` with itself.
    pub fn identity_on(size: usize, set: &EventSet) -> Self {
        let mut relation = Relation::empty(size);
        for event in set.iter() {
            relation.insert(event, event);
        }
        relation
    }

    /// The relation with these members.
    pub fn from_pairs(size: usize, pairs: impl IntoIterator<Item = (EventId, EventId)>) -> Self {
        let mut relation = Relation::empty(size);
        for (a, b) in pairs {
            relation.insert(a, b);
        }
        relation
    }

    /// Adds ⟨a, b⟩.
    pub fn insert(&mut self, a: EventId, b: EventId) {
        self.rows[a.index() * self.width + b.index() / WORD] |= 1 << (b.index() % WORD);
    }

    /// Is ⟨a, b⟩ a member?
    pub fn contains(&self, a: EventId, b: EventId) -> bool {
        self.row(a)[b.index() / WORD] >> (b.index() % WORD) & 1 == 1
    }

    /// All b with ⟨a, b⟩ in the relation.
    pub fn successors(&self, a: EventId) -> impl Iterator<Item = EventId> + '_ {
        members(self.row(a))
    }

    /// Moves the events of `unseen` that `a` is related to from there to the end of `found`, in
    /// ascending order.
    pub fn take_successors(&self, a: EventId, unseen: &mut EventSet, found: &mut Vec<EventId>) {
        for (k, (left, &row)) in unseen.words.iter_mut().zip(self.row(a)).enumerate() {
            let mut new = *left & row;
            *left &= !row;
            while new != 0 {
                found.push(EventId::from(k * WORD + new.trailing_zeros() as usize));
                new &= new - 1;
            }
        }
    }

    /// All members.
    pub fn pairs(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        self.events().flat_map(|a| self.successors(a).map(move |b| (a, b)))
    }

    /// Has it no members?
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|&word| word == 0)
    }

    /// Members of either relation.
    pub fn union(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a | b)
    }

    /// Members of both relations.
    pub fn intersect(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & b)
    }

    /// Members of `self` that are not in `other`.
    pub fn minus(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & !b)
    }

    /// `self ; other`: ⟨a, c⟩ such that ⟨a, b⟩ is in `self` and ⟨b, c⟩ in `other` for some b.
    pub fn compose(&self, other: &Relation) -> Relation {
        let mut result = Relation::empty(self.size);
        for a in self.events() {
            for b in self.successors(a) {
                for word in 0..self.width {
                    result.rows[a.index() * self.width + word] |= other.row(b)[word];
                }
            }
        }
        result
    }

    /// ⟨b, a⟩ for every ⟨a, b⟩.
    pub fn inverse(&self) -> Relation {
        Relation::from_pairs(self.size, self.pairs().map(|(a, b)| (b, a)))
    }

    /// `self?`: the reflexive closure.
    pub fn reflexive(&self) -> Relation {
        self.union(&Relation::identity(self.size))
    }

    /// `self⁺`: the transitive closure (Warshall's algorithm).
    pub fn transitive(&self) -> Relation {
        let mut result = self.clone();
        for via in self.events() {
            let onward = result.row(via).to_vec();
            for a in self.events() {
                if result.contains(a, via) {
                    for (word, &more) in onward.iter().enumerate() {
                        result.rows[a.index() * self.width + word] |= more;
                    }
                }
            }
        }
        result
    }

    /// `[A] ; self ; [B]`: the members that start in `from` and end in `to`.
    pub fn restrict(&self, from: &EventSet, to: &EventSet) -> Relation {
        self.from_set(from).to_set(to)
    }

    /// `[A] ; self`: the members that start in `from`.
    pub fn from_set(&self, from: &EventSet) -> Relation {
        let mut result = Relation::empty(self.size);
        for a in from.iter() {
            let row = a.index() * self.width..(a.index() + 1) * self.width;
            result.rows[row.clone()].copy_from_slice(&self.rows[row]);
        }
        result
    }

    /// `self ; [B]`: the members that end in `to`.
    pub fn to_set(&self, to: &EventSet) -> Relation {
        let mut result = self.clone();
        for row in result.rows.chunks_mut(self.width.max(1)) {
            for (word, &keep) in row.iter_mut().zip(&to.words) {
                *word &= keep;
            }
        }
        result
    }

    /// `dom(self)`: all a with ⟨a, b⟩ in the relation for some b.
    pub fn domain(&self) -> EventSet {
        let starts = self.events().filter(|&a| self.row(a).iter().any(|&word| word != 0));
        EventSet::from_members(self.size, starts)
    }

    /// `dom(self ; [B])`: all a with ⟨a, b⟩ in the relation for some b in `to`.
    pub fn domain_into(&self, to: &EventSet) -> EventSet {
        let meets = |&a: &EventId| self.row(a).iter().zip(&to.words).any(|(x, y)| x & y != 0);
        EventSet::from_members(self.size, self.events().filter(meets))
    }

    /// Is no event related to itself?
    pub fn is_irreflexive(&self) -> bool {
        self.events().all(|event| !self.contains(event, event))
    }

    /// Is there no cycle?
    pub fn is_acyclic(&self) -> bool {
        self.transitive().is_irreflexive()
    }

    fn events(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.size).map(EventId::from)
    }

    fn row(&self, a: EventId) -> &[u64] {
        &self.rows[a.index() * self.width..(a.index() + 1) * self.width]
    }

    fn zip(&self, other: &Relation, op: impl Fn(u64, u64) -> u64) -> Relation {
        debug_assert_eq!(self.size, other.size, "relations over different graphs");
        let rows = self.rows.iter().zip(&other.rows).map(|(&a, &b)| op(a, b)).collect();
        Relation { size: self.size, width: self.width, rows }
    }
}

fn members(words: &[u64]) -> impl Iterator<Item = EventId> + '_ {
    words.iter().enumerate().flat_map(|(position, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                EventId::from(position * WORD + bit)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rel(size: usize, pairs: &[(u32, u32)]) -> Relation {
        Relation::from_pairs(size, pairs.iter().map(|&(a, b)| (EventId(a), EventId(b))))
    }

    fn set(size: usize, members: &[u32]) -> EventSet {
        EventSet::from_members(size, members.iter().map(|&e| EventId(e)))
    }

    #[test]
    fn composition_follows_both_steps() {
        let r = rel(4, &[(0, 1), (0, 2)]);
        let s = rel(4, &[(1, 3), (2, 2)]);
        assert_eq!(r.compose(&s), rel(4, &[(0, 3), (0, 2)]));
        assert_eq!(s.compose(&r), rel(4, &[]));
    }

    #[test]
    fn closures() {
        let chain = rel(4, &[(0, 1), (1, 2), (2, 3)]);
        let closed = rel(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(chain.transitive(), closed);
        assert!(chain.is_acyclic() && chain.is_irreflexive());
        let cycle = chain.union(&rel(4, &[(3, 0)]));
        assert!(!cycle.is_acyclic() && cycle.is_irreflexive());
        assert_eq!(rel(2, &[(0, 1)]).reflexive(), rel(2, &[(0, 0), (0, 1), (1, 1)]));
    }

    #[test]
    fn restriction_and_domain() {
        let r = rel(4, &[(0, 1), (1, 2), (3, 2)]);
        assert_eq!(r.restrict(&set(4, &[1, 3]), &set(4, &[2])), rel(4, &[(1, 2), (3, 2)]));
        assert_eq!(r.domain(), set(4, &[0, 1, 3]));
        assert_eq!(r.domain_into(&set(4, &[1])), set(4, &[0]));
        assert_eq!(r.inverse(), rel(4, &[(1, 0), (2, 1), (2, 3)]));
    }

    #[test]
    fn set_operations() {
        let (r, s) = (rel(3, &[(0, 1), (1, 2)]), rel(3, &[(1, 2), (2, 0)]));
        assert_eq!(r.union(&s), rel(3, &[(0, 1), (1, 2), (2, 0)]));
        assert_eq!(r.intersect(&s), rel(3, &[(1, 2)]));
        assert_eq!(r.minus(&s), rel(3, &[(0, 1)]));
        assert!(r.minus(&r).is_empty() && !r.is_empty());
    }

    /// Catches arithmetic on word boundaries.
    #[test]
    fn more_events_than_a_word_has_bits() {
        let size = 150;
        let chain = Relation::from_pairs(
            size,
            (0..size - 1).map(|k| (EventId::from(k), EventId::from(k + 1))),
        );
        let closed = chain.transitive();
        assert!(closed.contains(EventId(0), EventId(149)));
        assert!(closed.contains(EventId(63), EventId(64)));
        assert!(!closed.contains(EventId(64), EventId(63)));
        assert_eq!(closed.pairs().count(), size * (size - 1) / 2);
        assert!(closed.is_irreflexive());
    }
}
