//! Finds values of writes that no run depends on, and replaces them by one value.
//!
//! The value of one location often matters only if another location says so. In RCU a reader stores the
//! phase that it saw, then a flag that it is inside. The writer loads the flag and the phase; if the
//! flag is 0, the writer goes on whatever the phase is. States that differ in this phase alone have the same
//! runs, but a search would explore each of them.
//!
//! The local states of every thread are explored on their own, with loads that may return any value that the
//! location may hold. A load is *decisive* if different values lead to different local
//! states. Suppose that a thread t comes to its decisive loads of x only by an acquire read of some
//! location y that returns one of certain values V: it passes a *gate*. A write to x can then be
//! used by t only if t has not gone beyond it, and
//!
//! * t is at a decisive load of x now, or
//! * t can still read a write to y with a value of V that does not carry t beyond the write to x, or
//! * such a write to y may yet come: its thread does not know a newer write to x, and it may get to a
//!   write of V to y without writing x first. (Only one thread writes x, and writes of V to y
//!   release, so what they carry includes that thread's last write to x.)
//!
//! If that is so for no thread, no run ever depends on the value: two states that differ only in it
//! have the same runs but for it. It is then replaced, by the value of the next write or the initial
//! one. What a write carries is left as it is.

use super::local_states::{Does, Graph, Node};
use super::{Local, Machine, Reach, State};
use crate::rc11_views::System;
use ir::ids::Value;
use std::collections::{BTreeSet, HashMap};

/// For every location whose values can be unused, who may use them.
#[derive(Default)]
pub(super) struct DeadValues {
    guarded: Vec<Guarded>,
}

struct Guarded {
    loc: usize,
    users: Vec<User>,
}

/// A thread with decisive loads of the location.
struct User {
    tid: usize,
    /// The local states in which it is about to load.
    there: Vec<Local>,
    gates: Vec<Gate>,
}

/// An acquire read that leads to the loads.
struct Gate {
    loc: usize,
    values: BTreeSet<Value>,
    /// Who may write these values, and at which program counters it may come to that without writing
    /// the guarded location first.
    writers: Vec<(usize, Vec<bool>)>,
}

impl Graph {
    /// Do different values lead to different places?
    fn is_decisive(&self, node: &Node) -> bool {
        let of =
            |value: Value| node.next.iter().filter(move |(v, _)| *v == value).map(|(_, to)| *to);
        let mut values = node.next.iter().map(|(value, _)| *value);
        let Some(first) = values.next() else { return true };
        values.any(|value| !of(value).eq(of(first)))
    }

    /// Where the thread may rest and be at one of these nodes next.
    fn resting(&self, nodes: impl Fn(u32) -> bool) -> impl Iterator<Item = &Local> {
        self.rests.iter().filter(move |(_, id)| nodes(*id)).map(|(rest, _)| rest)
    }

    /// The nodes from which one that writes such a value to `loc` can be reached without a write to
    /// `wall`; `None` if there is none that writes it, or one that does not release for the wall's
    /// space (then the second answer says so).
    fn may_write(
        &self,
        system: &System,
        loc: usize,
        values: &BTreeSet<Value>,
        wall: usize,
    ) -> Result<Option<Vec<bool>>, ()> {
        let (own, space) = (system.space_of[loc], system.space_of[wall]);
        let mut reached = vec![false; self.nodes.len()];
        let mut open = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            match node.does {
                Does::Update(at, _) if at == loc => return Err(()),
                Does::Write(at, value, mode) if at == loc && values.contains(&value) => {
                    if !Reach::of_write(mode).covers(own, space) {
                        return Err(());
                    }
                    reached[id] = true;
                    open.push(id as u32);
                }
                _ => {}
            }
        }
        if open.is_empty() {
            return Ok(None);
        }
        while let Some(id) = open.pop() {
            for &(from, _) in &self.before[id as usize] {
                let writes =
                    matches!(self.nodes[from as usize].does, Does::Write(at, ..) if at == wall);
                if !writes && !std::mem::replace(&mut reached[from as usize], true) {
                    open.push(from);
                }
            }
        }
        let mut pcs = vec![false; self.pcs];
        self.resting(|id| reached[id as usize]).for_each(|rest| pcs[rest.pc.index()] = true);
        Ok(Some(pcs))
    }
}

impl DeadValues {
    pub(super) fn new(system: &System, graphs: &[Graph], writers: &[u32]) -> Self {
        let locs = (0..writers.len()).filter(|&loc| writers[loc].count_ones() == 1);
        let guarded = locs.filter_map(|loc| {
            let users = graphs.iter().enumerate();
            let users = users.map(|(t, _)| User::new(system, graphs, t, loc));
            let users: Vec<User> =
                users.collect::<Result<Vec<_>, ()>>().ok()?.into_iter().flatten().collect();
            Some(Guarded { loc, users })
        });
        DeadValues { guarded: guarded.collect() }
    }
}

impl User {
    /// `None` if the thread has no decisive loads of the location; an error if it may come to one
    /// other than through a gate.
    fn new(system: &System, graphs: &[Graph], t: usize, loc: usize) -> Result<Option<User>, ()> {
        let graph = &graphs[t];
        let space = system.space_of[loc];
        let mut decisive = vec![false; graph.nodes.len()];
        let mut gates: HashMap<usize, BTreeSet<Value>> = HashMap::new();
        for (id, node) in graph.nodes.iter().enumerate() {
            match node.does {
                Does::Wait(at) | Does::Update(at, _) if at == loc => return Err(()),
                Does::Read(at, _) if at == loc && graph.is_decisive(node) => {}
                _ => continue,
            }
            decisive[id] = true;
            for &(from, value) in &graph.before[id] {
                match graph.nodes[from as usize].does {
                    Does::Read(y, mode)
                        if y != loc && Reach::of_read(mode).covers(system.space_of[y], space) =>
                    {
                        gates.entry(y).or_default().insert(value);
                    }
                    _ => return Err(()),
                }
            }
        }
        if !decisive.contains(&true) {
            return Ok(None);
        }
        let gates = gates.into_iter().map(|(y, values)| {
            let mut writers = Vec::new();
            for (u, graph) in graphs.iter().enumerate() {
                writers.extend(graph.may_write(system, y, &values, loc)?.map(|pcs| (u, pcs)));
            }
            Ok(Gate { loc: y, values, writers })
        });
        let gates = gates.collect::<Result<_, ()>>()?;
        let mut there: Vec<Local> = Vec::new();
        for rest in graph.resting(|id| decisive[id as usize]) {
            if !there.contains(rest) {
                there.push(rest.clone());
            }
        }
        Ok(Some(User { tid: t, there, gates }))
    }

    fn may_use(&self, state: &State, loc: usize, position: usize) -> bool {
        let known = &state.views.known[self.tid];
        if known[loc] as usize > position {
            return false;
        }
        self.there.contains(&state.locals[self.tid])
            || self.gates.iter().any(|gate| {
                let open = &state.views.writes[gate.loc][known[gate.loc] as usize..];
                open.iter().any(|write| {
                    write.carried[loc] as usize <= position && gate.values.contains(&write.value)
                }) || gate.writers.iter().any(|(u, pcs)| {
                    state.views.before[*u][loc] as usize <= position
                        && pcs[state.locals[*u].pc.index()]
                })
            })
    }
}

impl Machine {
    /// Replaces values that nobody can use.
    pub(super) fn forget_values(&self, state: &mut State) {
        for Guarded { loc, users } in &self.unused.guarded {
            for position in (0..state.views.writes[*loc].len()).rev() {
                if !users.iter().any(|user| user.may_use(state, *loc, position)) {
                    let next = state.views.writes[*loc].get(position + 1).map(|write| write.value);
                    let initial = self.system.program.locations[*loc].initial;
                    state.views.writes[*loc][position].value = next.unwrap_or(initial);
                }
            }
        }
    }
}
