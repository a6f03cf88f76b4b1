//! The smallest cycle of each kind.
//!
//! * *G0*: only `ww`. *G1c*: `ww` and `wr`. *G-single*: one `rw`, otherwise `ww` and `wr`. *G-nonadjacent*:
//!   several `rw`, no two of them one after the other. *G2-item*: any other with `rw`.
//! * `-process` and `-realtime`: the cycle also needs that a process runs its transactions in order, or
//!   that what had ended comes before what had not begun.
//!
//! A kind may be a case of another: a G0 would also be a G1c, a G-single also a G-nonadjacent and that a
//! G2-item, and each its own variants. Among transactions that depend on each other, the worst is worth its
//! name and what it is a case of is not.
//!
//! Every cycle lies in a strongly connected component. A cycle of a kind that must have a certain edge is
//! a path from the edge's end to its beginning; a breadth-first search finds the shortest. Its state has
//! what the kind asks for: whether the last edge was `rw`, and whether a needed edge was taken.

use std::collections::{HashSet, VecDeque};

use super::versions::{Edge, Kind};

/// A kind of cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// What it is called.
    pub name: &'static str,
    /// Which `rw` it may have.
    rw: Rw,
    /// Which `wr` it has.
    wr: Wr,
    /// The edge beyond data that must be there.
    needs: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rw {
    None,
    One,
    Apart,
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wr {
    None,
    Some,
    Any,
}

const fn pattern(name: &'static str, rw: Rw, wr: Wr, needs: Option<Kind>) -> Pattern {
    Pattern { name, rw, wr, needs }
}

/// All kinds, the worst first.
pub const PATTERNS: &[Pattern] = &[
    pattern("G0", Rw::None, Wr::None, None),
    pattern("G1c", Rw::None, Wr::Some, None),
    pattern("G-single", Rw::One, Wr::Any, None),
    pattern("G-nonadjacent", Rw::Apart, Wr::Any, None),
    pattern("G2-item", Rw::Any, Wr::Any, None),
    pattern("G0-process", Rw::None, Wr::None, Some(Kind::Process)),
    pattern("G1c-process", Rw::None, Wr::Some, Some(Kind::Process)),
    pattern("G-single-process", Rw::One, Wr::Any, Some(Kind::Process)),
    pattern("G-nonadjacent-process", Rw::Apart, Wr::Any, Some(Kind::Process)),
    pattern("G2-item-process", Rw::Any, Wr::Any, Some(Kind::Process)),
    pattern("G0-realtime", Rw::None, Wr::None, Some(Kind::RealTime)),
    pattern("G1c-realtime", Rw::None, Wr::Some, Some(Kind::RealTime)),
    pattern("G-single-realtime", Rw::One, Wr::Any, Some(Kind::RealTime)),
    pattern("G-nonadjacent-realtime", Rw::Apart, Wr::Any, Some(Kind::RealTime)),
    pattern("G2-item-realtime", Rw::Any, Wr::Any, Some(Kind::RealTime)),
];

impl Pattern {
    /// Whether a cycle of this kind is a case of the other.
    fn implies(self, other: Pattern) -> bool {
        let variant = |pattern: Pattern| match pattern.needs {
            None => 0,
            Some(Kind::Process) => 1,
            Some(_) => 2,
        };
        let case = match (self.rw, other.rw) {
            (Rw::None, Rw::None) => self.wr == Wr::None || self.wr == other.wr,
            (Rw::One, Rw::One | Rw::Apart | Rw::Any) => true,
            (Rw::Apart, Rw::Apart | Rw::Any) => true,
            (Rw::Any, Rw::Any) => true,
            _ => false,
        };
        case && variant(self) <= variant(other)
    }
}

/// A cycle: edges, each beginning where the one before ends.
pub type Cycle = Vec<Edge>;

/// The edges by where they begin, and the components they lie in.
pub struct Graph<'a> {
    edges: &'a [Edge],
    out: Vec<Vec<u32>>,
    component: Vec<u32>,
}

impl<'a> Graph<'a> {
    /// Of transactions with these edges.
    pub fn new(transactions: usize, edges: &'a [Edge]) -> Self {
        let mut out = vec![Vec::new(); transactions];
        for (number, edge) in edges.iter().enumerate() {
            out[edge.from].push(number as u32);
        }
        let component = components(&out, edges);
        Graph { edges, out, component }
    }

    /// The smallest cycle of each kind that is no case of a worse one among the same transactions.
    pub fn smallest(&self) -> Vec<(Pattern, Cycle)> {
        let mut inside: Vec<u32> = (0..self.edges.len() as u32).collect();
        inside.retain(|&number| {
            let edge = &self.edges[number as usize];
            self.component[edge.from] == self.component[edge.to]
        });
        inside.sort_by_key(|&number| self.component[self.edges[number as usize].from]);
        let mut best: Vec<Option<Vec<u32>>> = vec![None; PATTERNS.len()];
        let same = |a: &u32, b: &u32| {
            let of = |number: u32| self.component[self.edges[number as usize].from];
            of(*a) == of(*b)
        };
        for component in inside.chunk_by(same) {
            let mut found: Vec<Pattern> = Vec::new();
            for (&pattern, best) in PATTERNS.iter().zip(&mut best) {
                if found.iter().any(|worse| worse.implies(pattern)) {
                    continue;
                }
                if let Some(cycle) = self.smallest_of(pattern, component) {
                    // A way that passes a transaction twice is made of smaller cycles: it is worth a name
                    // only if none of these has one.
                    let mut passed = HashSet::new();
                    let from = |number: &u32| self.edges[*number as usize].from;
                    if !found.is_empty() && !cycle.iter().all(|number| passed.insert(from(number)))
                    {
                        continue;
                    }
                    found.push(pattern);
                    if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                        *best = Some(cycle);
                    }
                }
            }
        }
        let cycle = |numbers: Vec<u32>| {
            numbers.into_iter().map(|number| self.edges[number as usize].clone()).collect()
        };
        let all = PATTERNS.iter().zip(best);
        all.filter_map(|(&pattern, best)| Some((pattern, cycle(best?)))).collect()
    }

    /// The smallest cycle of a kind with one of these edges of a component; it may pass a transaction twice.
    fn smallest_of(&self, pattern: Pattern, component: &[u32]) -> Option<Vec<u32>> {
        let mut best: Option<Vec<u32>> = None;
        for &number in component {
            let edge = &self.edges[number as usize];
            // Every cycle of the kind has an edge to start from.
            let starts = match (pattern.rw, pattern.needs) {
                (Rw::None, None) if pattern.wr == Wr::Some => edge.kind == Kind::Wr,
                (Rw::None, None) => edge.kind == Kind::Ww,
                (Rw::None, Some(needed)) => edge.kind == needed,
                _ => edge.kind.is_rw(),
            };
            if starts {
                let most = best.as_ref().map_or(usize::MAX, Vec::len);
                best = self.close(number, pattern, most).or(best);
            }
        }
        best
    }

    /// The shortest way back to the beginning of an edge, if the cycle is shorter than `most`.
    fn close(&self, first: u32, pattern: Pattern, most: usize) -> Option<Vec<u32>> {
        // Per transaction: was the last edge rw, were two rw taken in a row, were a wr and what is
        // needed taken, and how many rw (at most two are told apart).
        #[derive(Clone, Copy, PartialEq)]
        struct State {
            at: usize,
            last_rw: bool,
            adjacent: bool,
            wr: bool,
            needed: bool,
            rw: u8,
        }
        let code = |state: &State| {
            ((((state.at * 2 + usize::from(state.last_rw)) * 2 + usize::from(state.adjacent)) * 2
                + usize::from(state.wr))
                * 2
                + usize::from(state.needed))
                * 3
                + state.rw as usize
        };
        let step = |state: State, edge: &Edge| -> Option<State> {
            let allowed = match edge.kind {
                Kind::Ww => true,
                Kind::Wr => pattern.wr != Wr::None,
                Kind::Rw => pattern.rw != Rw::None,
                Kind::RwRealTime => pattern.rw != Rw::None && pattern.needs == Some(Kind::RealTime),
                other => {
                    pattern.needs == Some(other)
                        || (pattern.needs == Some(Kind::RealTime) && other == Kind::Process)
                }
            };
            let is_rw = edge.kind.is_rw();
            let next = State {
                at: edge.to,
                last_rw: is_rw,
                adjacent: state.adjacent || (is_rw && state.last_rw),
                wr: state.wr || edge.kind == Kind::Wr,
                needed: state.needed
                    || Some(edge.kind) == pattern.needs
                    || edge.kind == Kind::RwRealTime,
                rw: (state.rw + u8::from(is_rw)).min(2),
            };
            let fits = match pattern.rw {
                Rw::None | Rw::Any => true,
                Rw::One => next.rw <= 1,
                Rw::Apart => !next.adjacent,
            };
            (allowed && fits).then_some(next)
        };
        let beginning = &self.edges[first as usize];
        let nothing =
            State { at: 0, last_rw: false, adjacent: false, wr: false, needed: false, rw: 0 };
        let start = step(nothing, beginning)?;
        let goal = |state: &State| {
            let closes_adjacent = state.last_rw && beginning.kind.is_rw();
            state.at == beginning.from
                && (pattern.wr != Wr::Some || state.wr)
                && (pattern.needs.is_none() || state.needed)
                && match pattern.rw {
                    Rw::None => true,
                    Rw::One => state.rw == 1,
                    Rw::Apart => state.rw == 2 && !closes_adjacent,
                    Rw::Any => state.rw == 2 && (state.adjacent || closes_adjacent),
                }
        };
        let mut parents: std::collections::HashMap<usize, (usize, u32)> =
            std::collections::HashMap::new();
        let mut queue = VecDeque::from([(start, 1)]);
        parents.insert(code(&start), (usize::MAX, first));
        while let Some((state, length)) = queue.pop_front() {
            if goal(&state) {
                let mut path = Vec::new();
                let mut at = code(&state);
                while let Some(&(before, edge)) = parents.get(&at) {
                    path.push(edge);
                    at = before;
                }
                path.reverse();
                return Some(path);
            }
            if length + 1 >= most {
                continue;
            }
            for &number in &self.out[state.at] {
                let edge = &self.edges[number as usize];
                if self.component[edge.to] != self.component[beginning.from] {
                    continue;
                }
                if let Some(next) = step(state, edge)
                    && !parents.contains_key(&code(&next))
                {
                    parents.insert(code(&next), (code(&state), number));
                    queue.push_back((next, length + 1));
                }
            }
        }
        None
    }
}

/// The strongly connected component of each transaction (Tarjan's algorithm, without recursion).
fn components(out: &[Vec<u32>], edges: &[Edge]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = out.len();
    let (mut index, mut low, mut component) =
        (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
    let (mut next, mut found) = (0, 0);
    let mut stack: Vec<usize> = Vec::new();
    for root in 0..count {
        if index[root] != NONE {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some(&mut (node, ref mut position)) = calls.last_mut() {
            if *position == 0 && index[node] == NONE {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
            }
            if let Some(&number) = out[node].get(*position) {
                *position += 1;
                let to = edges[number as usize].to;
                if index[to] == NONE {
                    calls.push((to, 0));
                } else if component[to] == NONE {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = stack.pop() {
                    component[member] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}
