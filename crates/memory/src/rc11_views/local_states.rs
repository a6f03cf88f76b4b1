//! The local states of one thread, explored without the other threads.
//!
//! A read may return any value that the location may hold. These are at least the local states that the
//! thread gets to in runs of the whole program, so an access that occurs in none of them occurs in no run. Other modules
//! learn from them which elements of an array a thread accesses, and which values its next steps depend on.

use super::{Local, Want};
use crate::rc11_views::local::Effect;
use crate::rc11_views::polling::Polling;
use crate::rc11_views::{Status, System};
use ir::ids::{Loc, Reg, RegSet, Tid, Value};
use ir::mode::{ReadMode, WriteMode};
use ir::program::{Instr, Program};
use ir::thread::Action;
use ir::{OneOf, Pc};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};

/// How many local states of a thread are looked at before giving up.
const MOST_NODES: usize = 1 << 13;
/// How many values of a location.
const MOST_VALUES: usize = 16;

/// What a thread does at a local state, and where each possible value leads.
pub(super) struct Node {
    local: Local,
    pub(super) does: Does,
    /// The values it may read there, and where they lead.
    pub(super) next: Vec<(Value, u32)>,
}

impl Node {
    /// The access at this node, with its location.
    pub(super) fn access(&self, program: &Program, tid: Tid) -> Option<(usize, Action)> {
        let running = self.local.status == Status::Running;
        match running.then(|| self.local.want(program, tid)) {
            Some(Ok(Want::Access(action))) => Some((action.loc()?.index(), action)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Does {
    /// A load.
    Read(usize, ReadMode),
    /// An access that waits for a value.
    Wait(usize),
    /// An access that reads and may write; does it write whatever it reads?
    Update(usize, bool),
    /// A store.
    Write(usize, Value, WriteMode),
    /// A call, a return, or nothing.
    Other,
}

/// The local states of one thread.
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// The values that each location may hold.
    values: Vec<BTreeSet<Value>>,
    /// For every node, the nodes that steps lead from to it, each with the value read.
    pub(super) before: Vec<Vec<(u32, Value)>>,
    /// Where the thread rests before its choices, with a node that these lead to.
    pub(super) rests: Vec<(Local, u32)>,
    /// The length of its code.
    pub(super) pcs: usize,
}

impl Graph {
    /// One for each thread; `None` if there are too many local states.
    pub(super) fn all(
        system: &System,
        live: &[Vec<RegSet>],
        polling: &[Polling],
        choices: Option<&OneOf>,
    ) -> Option<Vec<Graph>> {
        let initial = system.program.locations.iter().map(|l| BTreeSet::from([l.initial]));
        let mut values: Vec<BTreeSet<Value>> = initial.collect();
        loop {
            let before = values.clone();
            let graph = |t| Graph::new(system, t, &live[t], &polling[t], choices, &mut values);
            let graphs = (0..live.len()).map(graph).collect::<Option<Vec<_>>>()?;
            if values == before {
                let known = |graph| Graph { values: values.clone(), ..graph };
                return Some(graphs.into_iter().map(known).collect());
            }
        }
    }

    /// The thread's accesses, each with its location and the values that this may hold.
    pub(super) fn accesses(
        &self,
        program: &Program,
        tid: Tid,
    ) -> impl Iterator<Item = (usize, Action, &BTreeSet<Value>)> {
        let accesses = self.nodes.iter().filter_map(move |node| node.access(program, tid));
        accesses.map(|(loc, action)| (loc, action, &self.values[loc]))
    }

    /// The values that a location may hold.
    pub(super) fn values(&self, loc: usize) -> &BTreeSet<Value> {
        &self.values[loc]
    }

    /// The nodes from which one of `ends` can be reached by steps that pass: a step by its node and the
    /// value read there.
    pub(super) fn reaching(
        &self,
        ends: Vec<bool>,
        passes: impl Fn(usize, Value) -> bool,
    ) -> Vec<bool> {
        let mut open: Vec<usize> = (0..ends.len()).filter(|&id| ends[id]).collect();
        let mut reaching = ends;
        while let Some(id) = open.pop() {
            for &(from, value) in &self.before[id] {
                let from = from as usize;
                if !reaching[from] && passes(from, value) {
                    reaching[from] = true;
                    open.push(from);
                }
            }
        }
        reaching
    }

    /// The program counters at which the thread may rest and be at one of these nodes next.
    pub(super) fn resting_at(&self, nodes: &[bool]) -> Vec<bool> {
        let mut pcs = vec![false; self.pcs];
        for (rest, id) in &self.rests {
            pcs[rest.pc.index()] |= nodes[*id as usize];
        }
        pcs
    }

    /// `None` if there are too many local states. Values that are written are added to `values`.
    fn new(
        system: &System,
        t: usize,
        live: &[RegSet],
        polling: &Polling,
        choices: Option<&OneOf>,
        values: &mut [BTreeSet<Value>],
    ) -> Option<Graph> {
        let (program, tid) = (&system.program, Tid::from(t));
        let mut ids: HashMap<Local, u32> = HashMap::new();
        let pcs = program.threads[t].code.len();
        let mut graph = Graph {
            nodes: Vec::new(),
            values: Vec::new(),
            before: Vec::new(),
            rests: Vec::new(),
            pcs,
        };
        let forget = |local: &mut Local| {
            let live = live[local.pc.index()];
            for (reg, value) in local.registers.iter_mut().enumerate() {
                if !live.contains(Reg::from(reg)) {
                    *value = 0;
                }
            }
        };
        // Where a thread that rests here goes on, after its choices. If these are steps, it rests behind them, too.
        let mut enter = |graph: &mut Graph, mut rest: Local| -> Vec<u32> {
            forget(&mut rest);
            let mut found = Vec::new();
            let mut rests: SmallVec<[Local; 4]> = SmallVec::from_elem(rest.clone(), 1);
            if let Some(one_of) = choices {
                let puts_off = |pc, targets: &[Pc]| one_of.has(tid, pc, targets);
                rests.extend(rest.chosen(program, tid, polling, &puts_off, &mut |_| {}));
            }
            for (number, mut rest) in rests.into_iter().enumerate() {
                forget(&mut rest);
                for mut local in rest.resolved(program, tid, polling) {
                    forget(&mut local);
                    let fresh = graph.nodes.len() as u32;
                    let id = *ids.entry(local.clone()).or_insert(fresh);
                    if id == fresh {
                        graph.nodes.push(Node { local, does: Does::Other, next: Vec::new() });
                        graph.before.push(Vec::new());
                    }
                    graph.rests.push((rest.clone(), id));
                    if number == 0 {
                        found.push(id);
                    }
                }
            }
            found
        };
        let mut start = Local::start(program, tid);
        start.run_local(program, tid, polling);
        enter(&mut graph, start);
        let mut at = 0;
        while at < graph.nodes.len() {
            if graph.nodes.len() > MOST_NODES {
                return None;
            }
            let local = graph.nodes[at].local.clone();
            let mut successors: Vec<(Value, Local)> = Vec::new();
            let mut go = |read: Option<Value>| {
                let mut next = local.clone();
                next.pass(program, tid, read, polling);
                next.run_local(program, tid, polling);
                successors.push((read.unwrap_or(0), next));
            };
            let want = (local.status == Status::Running).then(|| local.want(program, tid));
            match want {
                Some(Ok(Want::Access(action))) => {
                    let loc = action.loc()?.index();
                    graph.nodes[at].does = match action {
                        Action::Read { mode, .. } => Does::Read(loc, mode),
                        Action::Write { value, mode, .. } => Does::Write(loc, value, mode),
                        Action::Wait { .. } => Does::Wait(loc),
                        Action::Cas { .. } => Does::Update(loc, false),
                        _ => Does::Update(loc, true),
                    };
                    for value in values[loc].clone() {
                        let Some(effect) = Effect::of(&action, value, program) else { continue };
                        if let Some((written, _)) = effect.write {
                            values[loc].insert(written);
                        }
                        if effect.fault.is_none() {
                            go(effect.read.map(|_| value));
                        }
                    }
                    if values[loc].len() > MOST_VALUES {
                        return None;
                    }
                }
                Some(Ok(Want::Mark(_))) => go(None),
                Some(Err(_)) | None => {}
            }
            for (value, next) in successors {
                for id in enter(&mut graph, next) {
                    graph.nodes[at].next.push((value, id));
                    graph.before[id as usize].push((at as u32, value));
                }
            }
            at += 1;
        }
        Some(graph)
    }
}

/// Who does what to which location.
pub(super) struct Usage {
    /// Which threads access it, as bits, and which write it.
    pub(super) accessors: Vec<u32>,
    pub(super) writers: Vec<u32>,
    /// Is it read other than by read-modify-writes that always write?
    pub(super) plain_reads: Vec<bool>,
    /// Is it updated by read-modify-writes?
    pub(super) updated: Vec<bool>,
}

impl Usage {
    fn nothing(locations: usize) -> Self {
        Usage {
            accessors: vec![0; locations],
            writers: vec![0; locations],
            plain_reads: vec![false; locations],
            updated: vec![false; locations],
        }
    }

    fn add(&mut self, t: usize, loc: usize, does: Does) {
        self.accessors[loc] |= 1 << t;
        match does {
            Does::Read(..) | Does::Wait(_) | Does::Other => self.plain_reads[loc] = true,
            Does::Write(..) => self.writers[loc] |= 1 << t,
            Does::Update(_, always) => {
                self.writers[loc] |= 1 << t;
                self.updated[loc] = true;
                self.plain_reads[loc] |= !always;
            }
        }
    }

    /// As far as local states show.
    pub(super) fn of_graphs(locations: usize, graphs: &[Graph]) -> Self {
        let mut usage = Usage::nothing(locations);
        for (t, graph) in graphs.iter().enumerate() {
            for node in &graph.nodes {
                match node.does {
                    does @ (Does::Read(loc, _)
                    | Does::Wait(loc)
                    | Does::Update(loc, _)
                    | Does::Write(loc, ..)) => usage.add(t, loc, does),
                    Does::Other => {}
                }
            }
        }
        usage
    }

    /// As far as the program's text shows: an array's cell is as good as any other.
    pub(super) fn of_program(program: &Program) -> Self {
        let mut usage = Usage::nothing(program.locations.len());
        for (tid, _, step) in program.steps() {
            let Some(place) = step.instr.place() else { continue };
            for loc in place.locations().map(Loc::index) {
                let does = match step.instr {
                    Instr::Store { .. } => Does::Write(loc, 0, WriteMode::Rlx),
                    Instr::Rmw { .. } | Instr::BlockingCas { .. } => Does::Update(loc, true),
                    Instr::Cas { .. } => Does::Update(loc, false),
                    _ => Does::Wait(loc),
                };
                usage.add(tid.index(), loc, does);
            }
        }
        usage
    }
}
