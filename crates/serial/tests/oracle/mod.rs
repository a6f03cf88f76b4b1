//! The definitions, word by word and by brute force. Shares no code with the monitors but the
//! event type.

#![allow(dead_code)]

use std::collections::{HashMap, VecDeque};

use serial::event::{Action, Data, Event, Place, Source, Thread, Value, Var};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Rd,
    Wr,
    Wc,
    Fn,
    /// Reads and writes memory in one step, with an empty buffer.
    Rmw,
    /// Take and give back a lock (`var` is the lock).
    Lock,
    Unlock,
}

impl Kind {
    /// Needs an empty buffer, and is ordered with everything in its thread.
    fn fences(self) -> bool {
        matches!(self, Kind::Fn | Kind::Rmw | Kind::Lock)
    }
}

/// An event of an execution or trace; `unit` is its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ev {
    pub thread: u32,
    pub kind: Kind,
    pub var: u32,
    pub unit: usize,
    /// What it read and wrote.
    pub data: Data,
    /// Which line of its thread it is.
    pub line: u32,
}

/// Drops begin and end, numbers the transactions; commits get that of their issue.
pub(crate) fn events(recording: &[Event]) -> Vec<Ev> {
    let mut units = 0;
    let mut open: HashMap<u32, usize> = HashMap::new();
    let mut buffers: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut lines: HashMap<u32, u32> = HashMap::new();
    let mut result = Vec::new();
    for event in recording {
        let (thread, data) = (event.thread.0, event.data);
        *lines.entry(thread).or_default() += u32::from(!matches!(event.action, Action::Commit(_)));
        let line = lines[&thread];
        let (kind, var) = match event.action {
            Action::Begin(_) => {
                open.insert(thread, units);
                units += 1;
                continue;
            }
            Action::End | Action::Abort => {
                open.remove(&thread);
                continue;
            }
            Action::Commit(x) => {
                let unit = buffers.get_mut(&thread).expect("a write").remove(0);
                result.push(Ev { thread, kind: Kind::Wc, var: x.0, unit, data, line });
                continue;
            }
            Action::Read(x) => (Kind::Rd, x.0),
            Action::Write(x) => (Kind::Wr, x.0),
            Action::Fence => (Kind::Fn, u32::MAX),
            Action::Rmw(x) => (Kind::Rmw, x.0),
            Action::Lock(lock) => (Kind::Lock, lock.0),
            Action::Unlock(lock) => (Kind::Unlock, lock.0),
        };
        let unit = open.get(&thread).copied().unwrap_or_else(|| {
            units += 1;
            units - 1
        });
        if kind == Kind::Wr {
            buffers.entry(thread).or_default().push(unit);
        }
        result.push(Ev { thread, kind, var, unit, data, line });
    }
    result
}

/// For each write issue the index of its commit (or MAX), for each commit that of its issue.
fn partners(evs: &[Ev]) -> Vec<usize> {
    let mut partner = vec![usize::MAX; evs.len()];
    for (c, e) in evs.iter().enumerate().filter(|(_, e)| e.kind == Kind::Wc) {
        let issue = (0..c)
            .find(|&i| {
                evs[i].kind == Kind::Wr && evs[i].thread == e.thread && partner[i] == usize::MAX
            })
            .expect("an issue");
        partner[issue] = c;
        partner[c] = issue;
    }
    partner
}

/// "An earlier write of the same thread to the same variable has no fence of that thread between."
pub(crate) fn buffered(evs: &[Ev], i: usize) -> bool {
    evs[..i].iter().rev().filter(|e| e.thread == evs[i].thread).find_map(|e| match e.kind {
        kind if kind.fences() => Some(false),
        Kind::Wr if e.var == evs[i].var => Some(true),
        _ => None,
    }) == Some(true)
}

/// The TSO conflict of an execution, `i` before `j`; with `po`, all program order is kept.
fn conflict(evs: &[Ev], partner: &[usize], i: usize, j: usize, po: bool) -> bool {
    let (e, f) = (evs[i], evs[j]);
    if e.thread != f.thread {
        let memory = |e: Ev| matches!(e.kind, Kind::Rd | Kind::Wc | Kind::Rmw);
        if !memory(e) || !memory(f) || e.var != f.var || (e.kind, f.kind) == (Kind::Rd, Kind::Rd) {
            return false;
        }
        let parallel = |read: usize, commit: usize| {
            let issue = (0..read).rev().find(|&w| {
                evs[w].kind == Kind::Wr
                    && evs[w].thread == evs[read].thread
                    && evs[w].var == evs[read].var
            });
            issue.is_some_and(|w| {
                let committed = partner[w];
                read < committed && w < commit && commit < committed
            })
        };
        return match (e.kind, f.kind) {
            (Kind::Rd, Kind::Wc | Kind::Rmw) => !parallel(i, j),
            (Kind::Wc | Kind::Rmw, Kind::Rd) => !parallel(j, i),
            _ => true,
        };
    }
    match (e.kind, f.kind) {
        // Locks are no data, and giving one back orders nothing in its thread.
        (Kind::Unlock, _) | (_, Kind::Unlock) => false,
        (Kind::Rd | Kind::Wr, Kind::Wc) | (Kind::Wc, Kind::Rd | Kind::Wr) => partner[i] == j,
        (Kind::Wr, Kind::Rd) if e.var != f.var => po,
        (Kind::Rd, Kind::Rd) if e.var != f.var && buffered(evs, i) => po,
        _ => true,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Tso,
    Sc,
    Equivalent,
}

/// Units of each event for a question.
fn units(evs: &[Ev], partner: &[usize], ask: Ask) -> Vec<usize> {
    (0..evs.len())
        .map(|i| match ask {
            Ask::Tso | Ask::Sc => evs[i].unit,
            Ask::Equivalent if evs[i].kind == Kind::Wc => partner[i],
            Ask::Equivalent => i,
        })
        .collect()
}

/// Edges between units.
fn graph(evs: &[Ev], ask: Ask) -> (Vec<usize>, Vec<(usize, usize)>) {
    let partner = partners(evs);
    let unit = units(evs, &partner, ask);
    let mut edges = Vec::new();
    for j in 0..evs.len() {
        for i in 0..j {
            if unit[i] != unit[j] && conflict(evs, &partner, i, j, ask != Ask::Tso) {
                edges.push((unit[i], unit[j]));
            }
        }
    }
    (unit, edges)
}

pub(crate) fn acyclic(nodes: usize, edges: &[(usize, usize)]) -> bool {
    assert!(nodes <= 128);
    let mut before = vec![0u128; nodes];
    edges.iter().for_each(|&(a, b)| before[b] |= 1 << a);
    let mut left = if nodes == 128 { u128::MAX } else { (1 << nodes) - 1 };
    loop {
        let free = (0..nodes).filter(|&n| left >> n & 1 == 1 && before[n] & left == 0);
        let free = free.fold(0u128, |set, n| set | 1 << n);
        if free == 0 {
            return left == 0;
        }
        left &= !free;
    }
}

/// By the conflict graph of the definition.
pub(crate) fn by_graph(evs: &[Ev], ask: Ask) -> bool {
    let (unit, edges) = graph(evs, ask);
    let nodes = unit.iter().max().map_or(0, |m| m + 1);
    acyclic(nodes, &edges)
}

/// By trying all serial permutations.
pub(crate) fn by_permutation(evs: &[Ev], ask: Ask) -> bool {
    let (unit, edges) = graph(evs, ask);
    let mut order: Vec<usize> = unit.clone();
    order.sort_unstable();
    order.dedup();
    fn serial(order: &mut Vec<usize>, from: usize, edges: &[(usize, usize)]) -> bool {
        if from == order.len() {
            let place = |u: usize| order.iter().position(|&o| o == u);
            return edges.iter().all(|&(a, b)| place(a) < place(b));
        }
        (from..order.len()).any(|pick| {
            order.swap(from, pick);
            let found = serial(order, from + 1, edges);
            order.swap(from, pick);
            found
        })
    }
    serial(&mut order, 0, &edges)
}

/// An SC execution (every commit right after its issue) with the same conflicts, if there is one.
pub(crate) fn sc_execution(evs: &[Ev]) -> Option<Vec<Ev>> {
    let (unit, edges) = graph(evs, Ask::Equivalent);
    let mut left: Vec<usize> = (0..evs.len()).filter(|&i| unit[i] == i).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let free =
            left.iter().position(|&n| !edges.iter().any(|&(a, b)| b == n && left.contains(&a)));
        let event = left.remove(free?);
        order.push(evs[event]);
        if evs[event].kind == Kind::Wr {
            order.push(Ev { kind: Kind::Wc, ..evs[event] });
        }
    }
    Some(order)
}

/// Calls `visit` for every execution of the trace with all writes committed; stops when it is true.
pub(crate) fn insertions(trace: &[Ev], visit: &mut dyn FnMut(&[Ev]) -> bool) -> bool {
    fn go(
        trace: &[Ev],
        next: usize,
        buffers: &mut Vec<VecDeque<Ev>>,
        done: &mut Vec<Ev>,
        visit: &mut dyn FnMut(&[Ev]) -> bool,
    ) -> bool {
        if next == trace.len() && buffers.iter().all(VecDeque::is_empty) {
            return visit(done);
        }
        for t in 0..buffers.len() {
            let Some(write) = buffers[t].pop_front() else { continue };
            done.push(Ev { kind: Kind::Wc, ..write });
            let stop = go(trace, next, buffers, done, visit);
            done.pop();
            buffers[t].push_front(write);
            if stop {
                return true;
            }
        }
        let Some(&e) = trace.get(next) else { return false };
        let thread = e.thread as usize;
        if e.kind.fences() && !buffers[thread].is_empty() {
            return false;
        }
        if e.kind == Kind::Lock && !handed_over(trace, next, buffers) {
            return false;
        }
        if e.kind == Kind::Wr {
            buffers[thread].push_back(e);
        }
        done.push(e);
        let stop = go(trace, next + 1, buffers, done, visit);
        done.pop();
        if e.kind == Kind::Wr {
            buffers[thread].pop_back();
        }
        stop
    }
    let threads = trace.iter().map(|e| e.thread + 1).max().unwrap_or(0) as usize;
    go(trace, 0, &mut vec![VecDeque::new(); threads], &mut Vec::new(), visit)
}

/// Whether what was written before the lock taken at `next` was given back has left the buffer.
fn handed_over(trace: &[Ev], next: usize, buffers: &[VecDeque<Ev>]) -> bool {
    let given =
        (0..next).rev().find(|&i| trace[i].kind == Kind::Unlock && trace[i].var == trace[next].var);
    given.is_none_or(|i| {
        buffers[trace[i].thread as usize].iter().all(|write| write.line > trace[i].line)
    })
}

/// Whether every read of the execution returns what it is said to have returned, by letting the
/// machine run: a buffer per thread, a memory. What memory holds at first is what the first to read it
/// says.
pub(crate) fn fits(execution: &[Ev]) -> bool {
    let mut buffers: HashMap<u32, VecDeque<Ev>> = HashMap::new();
    let mut memory: HashMap<u32, (Value, Option<(u32, u32)>)> = HashMap::new();
    let agrees = |ev: &Ev, buffers: &HashMap<u32, VecDeque<Ev>>, memory: &mut HashMap<_, _>| {
        let newest = buffers.get(&ev.thread).and_then(|b| b.iter().rev().find(|w| w.var == ev.var));
        let (value, writer) = match newest {
            Some(write) => (write.data.put, Some((write.thread, write.line))),
            None => {
                let cell: &mut (Value, Option<(u32, u32)>) =
                    memory.entry(ev.var).or_insert((Value::UNKNOWN, None));
                if cell.1.is_none() && !cell.0.is_known() {
                    cell.0 = ev.data.got;
                }
                *cell
            }
        };
        let same = !ev.data.got.is_known() || !value.is_known() || ev.data.got == value;
        same && match ev.data.source {
            Source::Unknown => true,
            Source::Initial => writer.is_none(),
            Source::Event(thread, line) => writer == Some((thread.0, line)),
        }
    };
    for ev in execution {
        match ev.kind {
            Kind::Rd if !agrees(ev, &buffers, &mut memory) => return false,
            Kind::Rmw if !agrees(ev, &buffers, &mut memory) => return false,
            Kind::Rmw => {
                memory.insert(ev.var, (ev.data.put, Some((ev.thread, ev.line))));
            }
            Kind::Wr => buffers.entry(ev.thread).or_default().push_back(*ev),
            Kind::Wc => {
                let write = buffers.get_mut(&ev.thread).and_then(VecDeque::pop_front);
                let write = write.expect("an issue");
                memory.insert(ev.var, (write.data.put, Some((ev.thread, write.line))));
            }
            _ => {}
        }
    }
    true
}

/// Whether every placement of commits that fits what was read answers yes; `None` if there is none.
pub(crate) fn this_run(trace: &[Ev], ask: Ask) -> Option<bool> {
    let mut possible = false;
    let violated = insertions(trace, &mut |execution| {
        if !fits(execution) {
            return false;
        }
        possible = true;
        !by_graph(execution, ask)
    });
    possible.then_some(!violated)
}

/// Definition 3: every execution of the trace answers yes.
pub(crate) fn trace_by_insertion(trace: &[Ev], ask: Ask) -> bool {
    !insertions(trace, &mut |execution| !by_graph(execution, ask))
}

/// Which orientations of the trace event graph count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Valid {
    /// Theorem 5 as printed: those without a cycle.
    AsPrinted,
    /// Those that some order of commits, with the reads where the trace has them, realizes.
    Realizable,
}

/// The pairs of a trace whose order the paper leaves open, by index.
pub(crate) fn undirected(trace: &[Ev]) -> Vec<(usize, usize)> {
    orientable(trace).1
}

/// The edges of an execution's event graph, commits merged with their issues, by index.
pub(crate) fn merged_edges(evs: &[Ev]) -> Vec<(usize, usize)> {
    let partner = partners(evs);
    let merged = |i: usize| if evs[i].kind == Kind::Wc { partner[i] } else { i };
    let mut edges = Vec::new();
    for j in 0..evs.len() {
        for i in (0..j).filter(|&i| conflict(evs, &partner, i, j, false)) {
            if merged(i) != merged(j) {
                edges.push((merged(i), merged(j)));
            }
        }
    }
    edges
}

/// "Every acyclic orientation gives an acyclic conflict graph", for TSO-serializability.
pub(crate) fn trace_by_orientation(trace: &[Ev], valid: Valid) -> bool {
    let n = trace.len();
    let (directed, undirected) = orientable(trace);
    let nodes = trace.iter().map(|e| e.unit + 1).max().unwrap_or(0);
    (0..1u64 << undirected.len()).all(|choice| {
        let mut edges = directed.clone();
        edges.extend(
            undirected.iter().enumerate().map(
                |(bit, &(i, j))| {
                    if choice >> bit & 1 == 0 { (i, j) } else { (j, i) }
                },
            ),
        );
        if !acyclic(n, &edges) || (valid == Valid::Realizable && !realizable(trace, &edges)) {
            return true;
        }
        let quotient: Vec<(usize, usize)> = edges
            .iter()
            .map(|&(i, j)| (trace[i].unit, trace[j].unit))
            .filter(|(a, b)| a != b)
            .collect();
        acyclic(nodes, &quotient)
    })
}

type Pairs = Vec<(usize, usize)>;

/// The directed and the undirected edges of the trace's event graph.
fn orientable(trace: &[Ev]) -> (Pairs, Pairs) {
    let n = trace.len();
    let fence_between = |i: usize, j: usize| {
        (i + 1..j).any(|k| trace[k].kind == Kind::Fn && trace[k].thread == trace[i].thread)
    };
    let mut directed = Vec::new();
    let mut undirected = Vec::new();
    for j in 0..n {
        for i in 0..j {
            let (e, f) = (trace[i], trace[j]);
            if e.thread == f.thread {
                let relaxed = match (e.kind, f.kind) {
                    (Kind::Wr, Kind::Rd) => e.var != f.var,
                    (Kind::Rd, Kind::Rd) => e.var != f.var && buffered(trace, i),
                    _ => false,
                };
                if !relaxed {
                    directed.push((i, j));
                }
                continue;
            }
            let sc = e.kind != Kind::Fn && f.kind != Kind::Fn && e.var == f.var;
            if !sc || (e.kind, f.kind) == (Kind::Rd, Kind::Rd) {
                continue;
            }
            let read_first = e.kind == Kind::Rd && f.kind == Kind::Wr && !buffered(trace, i);
            if fence_between(i, j) || read_first {
                directed.push((i, j));
            } else {
                undirected.push((i, j));
            }
        }
    }
    (directed, undirected)
}

/// Whether commits can be placed so that the oriented conflicts hold: a graph over the events at
/// their trace positions (`i`) and the commits (`n + i`).
fn realizable(trace: &[Ev], edges: &[(usize, usize)]) -> bool {
    let n = trace.len();
    let mut order: Vec<(usize, usize)> = (1..n).map(|i| (i - 1, i)).collect();
    for i in 0..n {
        if trace[i].kind != Kind::Wr {
            continue;
        }
        order.push((i, n + i));
        for j in i + 1..n {
            if trace[j].thread == trace[i].thread && trace[j].kind == Kind::Fn {
                order.push((n + i, j));
            }
            if trace[j].thread == trace[i].thread && trace[j].kind == Kind::Wr {
                order.push((n + i, n + j));
            }
        }
    }
    let point = |e: usize| if trace[e].kind == Kind::Wr { n + e } else { e };
    let served_by = |read: usize| {
        let same = |w: &usize| {
            let (own, read) = (trace[*w], trace[read]);
            own.kind == Kind::Wr && own.thread == read.thread && own.var == read.var
        };
        (trace[read].kind == Kind::Rd && buffered(trace, read))
            .then(|| (0..read).rev().find(same))
            .flatten()
    };
    for &(i, j) in edges.iter().filter(|&&(i, j)| trace[i].thread != trace[j].thread) {
        // A foreign write precedes a buffered read either in memory, or by preceding the write
        // that serves the read: then nothing more is asked.
        if served_by(j).is_some_and(|own| edges.contains(&(i, own))) {
            continue;
        }
        order.push((point(i), point(j)));
        // A buffered read precedes a foreign write only if the write that serves it does.
        order.extend(served_by(i).map(|own| (n + own, point(j))));
    }
    acyclic(2 * n, &order)
}

/// The trace of an execution.
pub(crate) fn forget_commits(recording: &[Event]) -> Vec<Event> {
    recording.iter().filter(|e| !matches!(e.action, Action::Commit(_))).copied().collect()
}

/// A recording from a line like `1:begin 1:rd0 1:wr1 2:c0 1:f 1:end`.
pub(crate) fn parse(text: &str) -> Vec<Event> {
    text.split_whitespace()
        .enumerate()
        .map(|(line, word)| {
            let (thread, what) = word.split_once(':').expect("thread:event");
            let var =
                |prefix: &str| what.strip_prefix(prefix).map(|v| Var(v.parse().expect("number")));
            let action = match what {
                "begin" => Action::Begin(None),
                "end" => Action::End,
                "f" => Action::Fence,
                _ if what.starts_with("rmw") => Action::Rmw(var("rmw").expect("number")),
                _ => var("rd")
                    .map(Action::Read)
                    .or_else(|| var("wr").map(Action::Write))
                    .or_else(|| var("c").map(Action::Commit))
                    .expect("rd, wr or c"),
            };
            let thread = Thread(thread.parse().expect("number"));
            let place = Place::UNKNOWN;
            Event { thread, action, line: line as u32 + 1, place, data: Data::NONE }
        })
        .collect()
}

/// The inverse of [`parse`], for messages.
pub(crate) fn show(recording: &[Event]) -> String {
    let word = |e: &Event| match e.action {
        Action::Rmw(x) => format!("{}:rmw{}", e.thread.0, x.0),
        Action::Lock(lock) => format!("{}:lock{}", e.thread.0, lock.0),
        Action::Unlock(lock) => format!("{}:unlock{}", e.thread.0, lock.0),
        Action::Abort => format!("{}:abort", e.thread.0),
        Action::Begin(_) => format!("{}:begin", e.thread.0),
        Action::End => format!("{}:end", e.thread.0),
        Action::Fence => format!("{}:f", e.thread.0),
        Action::Read(x) => format!("{}:rd{}", e.thread.0, x.0),
        Action::Write(x) => format!("{}:wr{}", e.thread.0, x.0),
        Action::Commit(x) => format!("{}:c{}", e.thread.0, x.0),
    };
    recording.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// How many random cases: `FENCEPOST_ORACLE_CASES`, or 2,000.
pub(crate) fn cases() -> u64 {
    std::env::var("FENCEPOST_ORACLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}
