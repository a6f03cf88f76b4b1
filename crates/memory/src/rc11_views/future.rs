//! Drops writes that no thread will ever read or write behind.
//!
//! A thread that takes a lock over and over leaves a trail of writes behind it. Another thread that has not
//! looked for a while *knows* only the first of them, so nothing rules out that it reads, or writes
//! behind, any of the others. Nothing but its code, that is: its next access to the lock waits for the
//! value "free", and only the last write can give it that; and before its next access to what the lock protects,
//! it will have acquired the lock and with it all that was done under the lock. Without this, a
//! specification that retries under a lock would have infinitely many states.
//!
//! What each thread can do is known from its local states on their own (`local_states`), whatever it reads.
//!
//! **Lemma 1 (first accesses).** Let U(t) be the least position, at or above what t knows of location x, of a write
//! that t's next access to x can read or come behind, or infinity if there is none. Let m be the
//! least of all U(t). No access to x, now or later, is at a position below m.
//!
//! 1. The next access to x of all threads together is the next of its thread t. It is at a position that t may
//!    access, so at or above U(t), so at or above m.
//! 2. If it writes, the new write comes behind that position, so above m, and the writes up to m stay
//!    where they are. Other threads may find it usable; it is above m.
//! 3. Afterwards t knows a position at or above m, so whatever its next access is, its new U(t) is not
//!    below m. What threads know never shrinks. So the least of all U is still at or above m, and the
//!    argument applies again.
//!
//! **Lemma 2 (gates).** Let y be another location. A thread is *exposed* at a program counter if it can come to an
//! access to x from there without an acquiring read of y on the way, acquiring for the space of x. Let V be the
//! values that acquiring reads of y return when an exposed place comes next; such a read is a *gate*. Call a
//! write of a value of V to y *fresh*, unless it is a read-modify-write that read a value of V. A thread is
//! *careless* at a program counter if it can come to a fresh write from there without a gate on the way. Suppose
//! that all fresh writes release for the space of x. Let c be the least position in x that is carried by a write to y with
//! a value of V, or happens before the next step of a thread that is careless now. Every
//! thread that is not exposed now knows at least c, in x, when it comes to its next access to x.
//!
//! 1. All writes to y with a value of V, now and later, carry at least c. Those that exist do by the choice of c. Take
//!    the first later one that does not. If it is a read-modify-write that read a value of V, it carries on what that one
//!    carries. If it is fresh, it releases what happens before it. If its thread is careless now, that is at least c.
//!    Otherwise the thread has passed a gate, and the write it read there carried at least c.
//! 2. A thread that is not exposed passes a gate before its next access to x, and then knows what the write
//!    that it reads there carries.
//!
//! So in the first lemma U(t) may start from c instead of what t knows, if t is not exposed.
//!
//! Positions stand for writes: when a write is inserted, they move along. A position that the normal form has set to 0
//! teaches nobody anything; taking 0 for it can only make c smaller.

use super::local_states::{Graph, Node};
use super::{Machine, State};
use crate::rc11_views::local::Effect;
use crate::rc11_views::{Reach, Status, System};
use ir::ids::{Tid, Value};
use ir::program::Program;
use std::collections::BTreeSet;

/// How many nodes, times pairs of locations, are looked at for gates before giving up.
const MOST_WORK: usize = 1 << 24;

/// A set of values of a location, by their positions among all that it may hold.
type Values = u32;

/// Which writes an access can read or come behind.
#[derive(Clone, Copy, Default)]
struct Uses {
    /// Writes with these values, whatever has become of them.
    read: Values,
    /// Writes with these values that no read-modify-write has read.
    follow: Values,
}

/// What threads may still do with locations.
#[derive(Default)]
pub(super) struct Future {
    /// The values that each location may hold, in order.
    values: Vec<Vec<Value>>,
    /// For every thread, location and program counter, what the thread's next access to it may use.
    next: Vec<Vec<Vec<Uses>>>,
    /// For every location, the gates to it.
    gates: Vec<Vec<Gate>>,
}

/// Reads of one location that come before accesses to another.
struct Gate {
    loc: usize,
    values: Values,
    /// For every thread and program counter, may it access the other location without a gate?
    exposed: Vec<Vec<bool>>,
    /// For every thread and program counter, may it write such a value without a gate?
    careless: Vec<Vec<bool>>,
}

/// A thread's node in its graph, with what it accesses.
struct Accesses<'g> {
    program: &'g Program,
    graphs: &'g [Graph],
}

impl Accesses<'_> {
    /// The location that a node accesses, and what happens for each value that it may hold.
    fn of(&self, t: usize, node: &Node) -> Option<(usize, Vec<(Value, Effect)>)> {
        let (loc, action) = node.access(self.program, Tid::from(t))?;
        let values = self.graphs[t].values(loc).iter();
        let effect = |&value: &Value| Some((value, Effect::of(&action, value, self.program)?));
        Some((loc, values.filter_map(effect).collect()))
    }
}

impl Future {
    pub(super) fn new(system: &System, graphs: &[Graph]) -> Self {
        let program = &system.program;
        let locations = program.locations.len();
        let accesses = Accesses { program, graphs };
        let values = |loc: usize| {
            graphs.first().map_or(Vec::new(), |g| g.values(loc).iter().copied().collect())
        };
        let mut future = Future {
            values: (0..locations).map(values).collect(),
            next: Vec::new(),
            gates: (0..locations).map(|_| Vec::new()).collect(),
        };
        // What each node accesses, and how.
        let does: Vec<Vec<_>> = graphs
            .iter()
            .enumerate()
            .map(|(t, graph)| graph.nodes.iter().map(|node| accesses.of(t, node)).collect())
            .collect();
        let uses = |(graph, does): (&Graph, &Vec<Does>)| {
            (0..locations).map(|loc| future.uses(graph, does, loc)).collect()
        };
        future.next = graphs.iter().zip(&does).map(uses).collect();
        let nodes: usize = graphs.iter().map(|graph| graph.nodes.len()).sum();
        if nodes.saturating_mul(locations * locations) <= MOST_WORK {
            for x in 0..locations {
                let others = (0..locations).filter(|&y| y != x);
                let gates = others.filter_map(|y| future.gate(system, graphs, &does, x, y));
                future.gates[x] = gates.collect();
            }
        }
        future
    }

    fn bit(&self, loc: usize, value: Value) -> Values {
        match self.values[loc].binary_search(&value) {
            Ok(at) => 1 << at,
            Err(_) => Values::MAX,
        }
    }

    /// For every program counter, what the next access to the location may use.
    fn uses(&self, graph: &Graph, does: &[Does], loc: usize) -> Vec<Uses> {
        let is_access = |does: &Does| does.as_ref().is_some_and(|(own, _)| *own == loc);
        let mut at = vec![Uses::default(); graph.nodes.len()];
        let mut open = Vec::new();
        for (id, does) in does.iter().enumerate().filter(|(_, does)| is_access(does)) {
            for &(value, effect) in does.iter().flat_map(|(_, effects)| effects) {
                match effect.write {
                    Some(_) => at[id].follow |= self.bit(loc, value),
                    None => at[id].read |= self.bit(loc, value),
                }
            }
            open.push(id as u32);
        }
        while let Some(id) = open.pop() {
            let Uses { read, follow } = at[id as usize];
            for &(from, _) in &graph.before[id as usize] {
                let before = &mut at[from as usize];
                let more = read & !before.read != 0 || follow & !before.follow != 0;
                if more && !is_access(&does[from as usize]) {
                    before.read |= read;
                    before.follow |= follow;
                    open.push(from);
                }
            }
        }
        let mut uses = vec![Uses::default(); graph.pcs];
        for (rest, id) in &graph.rests {
            let (there, at) = (&mut uses[rest.pc.index()], at[*id as usize]);
            there.read |= at.read;
            there.follow |= at.follow;
        }
        uses
    }

    /// The gates to `x` that read `y`; `None` if there are none that help.
    fn gate(
        &self,
        system: &System,
        graphs: &[Graph],
        does: &[Vec<Does>],
        x: usize,
        y: usize,
    ) -> Option<Gate> {
        let (own, space) = (system.space_of[y], system.space_of[x]);
        let acquires = |effect: &Effect| {
            effect.read.is_some_and(|mode| Reach::of_read(mode).covers(own, space))
        };
        let is = |loc: usize| move |does: &Does| does.as_ref().is_some_and(|(at, _)| *at == loc);
        // Does the step that reads this value acquire, at a node that accesses y?
        let acquiring = |does: &Does, value: Value| match does {
            Some((loc, effects)) if *loc == y => {
                effects.iter().any(|(read, effect)| *read == value && acquires(effect))
            }
            _ => false,
        };
        if !does.iter().flatten().any(is(x)) || !does.iter().flatten().any(is(y)) {
            return None;
        }
        let mut exposed = Vec::new();
        let mut values: BTreeSet<Value> = BTreeSet::new();
        for (graph, does) in graphs.iter().zip(does) {
            let ends = does.iter().map(is(x)).collect();
            let reached = graph.reaching(ends, |from, value| !acquiring(&does[from], value));
            for (_, before) in graph.before.iter().enumerate().filter(|(id, _)| reached[*id]) {
                let gates =
                    before.iter().filter(|(from, value)| acquiring(&does[*from as usize], *value));
                values.extend(gates.map(|(_, value)| *value));
            }
            exposed.push(graph.resting_at(&reached));
        }
        if values.is_empty() {
            return None;
        }
        let mut careless = Vec::new();
        for (graph, does) in graphs.iter().zip(does) {
            let mut fresh = vec![false; does.len()];
            for (id, does) in does.iter().enumerate() {
                let Some((_, effects)) = does.as_ref().filter(|(loc, _)| *loc == y) else {
                    continue;
                };
                for (read, effect) in effects {
                    let Some((_, mode)) = effect.write.filter(|(v, _)| values.contains(v)) else {
                        continue;
                    };
                    if effect.read.is_some() && values.contains(read) {
                        continue;
                    }
                    if !Reach::of_write(mode).covers(own, space) {
                        return None;
                    }
                    fresh[id] = true;
                }
            }
            let passes = |from: usize, value: Value| {
                !(values.contains(&value) && acquiring(&does[from], value))
            };
            careless.push(graph.resting_at(&graph.reaching(fresh, passes)));
        }
        let values = values.iter().fold(0, |all, &value| all | self.bit(y, value));
        Some(Gate { loc: y, values, exposed, careless })
    }
}

/// What a node accesses, and what happens for each value.
type Does = Option<(usize, Vec<(Value, Effect)>)>;

impl Machine {
    /// The least position at which a location can still be accessed; the last one if it is never
    /// accessed again.
    pub(super) fn least_accessible(&self, state: &State, loc: usize) -> usize {
        let writes = &state.views.writes[loc];
        let last = writes.len() - 1;
        let known = |t: usize| state.views.known[t][loc] as usize;
        let Some(future) = &self.future else {
            let accessors = (0..self.threads).filter(|t| self.accessors[loc] >> t & 1 == 1);
            return accessors.map(known).min().unwrap_or(last);
        };
        let gates: smallvec::SmallVec<[(&Gate, usize); 4]> = future.gates[loc]
            .iter()
            .map(|gate| (gate, self.carried_through(state, future, gate, loc)))
            .collect();
        let running = (0..self.threads).filter(|&t| state.locals[t].status == Status::Running);
        let first = running.filter_map(|t| {
            let pc = state.locals[t].pc.index();
            let uses = future.next[t][loc][pc];
            let closed = gates.iter().filter(|(gate, _)| !gate.exposed[t][pc]);
            let start = closed.map(|(_, carried)| *carried).fold(known(t), usize::max);
            (start..=last).find(|&position| {
                let write = &writes[position];
                let bit = future.bit(loc, write.value);
                uses.read & bit != 0 || !write.taken && uses.follow & bit != 0
            })
        });
        first.min().unwrap_or(last)
    }

    /// What everybody who passes the gate will know of the location.
    fn carried_through(&self, state: &State, future: &Future, gate: &Gate, loc: usize) -> usize {
        let open = state.views.writes[gate.loc]
            .iter()
            .filter(|write| future.bit(gate.loc, write.value) & gate.values != 0)
            .map(|write| write.carried[loc]);
        let careless = (0..self.threads).filter(|&t| {
            let local = &state.locals[t];
            local.status == Status::Running && gate.careless[t][local.pc.index()]
        });
        let least = open.chain(careless.map(|t| state.views.before[t][loc])).min();
        least.map_or(state.views.writes[loc].len() - 1, usize::from)
    }
}
