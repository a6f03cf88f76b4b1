//! A finding as a drawing: the events of each thread, and the relations between them.
//!
//! Threads are columns, time goes down. [`Picture::of`] chooses what to draw: every access and fence,
//! but of the initial values and decisions only those that something refers to; of a `seq_cst` fence,
//! which is three events to the model, one; of transitive orders only the steps. `layout` gives
//! everything a place. What comes out is drawn by [`svg`] and [`dot`]; the page uses the former.
//!
//! No graph layout program is needed: columns and an order of events are what executions have anyway.

pub mod dot;
mod labels;
mod layout;
pub mod svg;

use crate::finding::{Finding, Kind};
use crate::proof::{EdgeKind, Event, EventKind, Proof};
use crate::run::Step;
use ir::Tid;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// More events than this are not drawn; those that matter are.
const MOST_EVENTS: usize = 60;

/// Everything about a drawing but its style.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The threads' names.
    pub lanes: Vec<Lane>,
    /// The events.
    pub nodes: Vec<Node>,
    /// What ties them together.
    pub edges: Vec<Edge>,
    /// How many events are left out because there are too many.
    pub hidden: usize,
    /// Is it a history, a row for each event?
    pub timeline: bool,
    /// How much room there is.
    pub width: Width,
    /// Width and height.
    pub size: (f64, f64),
}

/// How much room there is for a drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// That of a page or a file.
    Wide,
    /// That of a phone: nodes say less.
    Narrow,
}

/// A thread's column.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The thread's name.
    pub name: String,
    /// Its middle and its width.
    pub x: f64,
    /// How wide its nodes are.
    pub width: f64,
}

/// An event in the drawing.
#[derive(Clone, Debug)]
pub struct Node {
    /// The events of the certificate that it stands for.
    pub events: Vec<usize>,
    /// The column; none for initial values.
    pub lane: Option<usize>,
    /// How far down.
    pub row: usize,
    /// What it did, with its memory order: `write x = 1  rlx`.
    pub label: String,
    /// What it did, without.
    pub effect: String,
    /// Its memory order.
    pub mode: Option<String>,
    /// The statement's line.
    pub line: Option<usize>,
    /// Its line in the text as a whole, if that is of several files.
    pub whole_line: Option<usize>,
    /// The statement.
    pub text: String,
    /// What kind of event it is.
    pub kind: EventKind,
    /// Is it on the cycle?
    pub on_cycle: bool,
    /// Is it where it goes wrong?
    pub wrong: bool,
    /// Its middle.
    pub at: (f64, f64),
    /// Its width and height.
    pub size: (f64, f64),
}

/// An edge of the drawing.
#[derive(Clone, Debug)]
pub struct Edge {
    /// From which node.
    pub from: usize,
    /// To which.
    pub to: usize,
    /// Why.
    pub kind: EdgeKind,
    /// Is it on the cycle?
    pub on_cycle: bool,
    /// Is it only shown to those who ask for it?
    pub quiet: bool,
    /// The path that it takes: a start, two control points and an end.
    pub path: [(f64, f64); 4],
    /// The middle of its name, if there is room for it.
    pub label: Option<(f64, f64)>,
}

impl Picture {
    /// The drawing of a finding; `None` if nothing happened.
    pub fn of(finding: &Finding) -> Option<Picture> {
        Picture::within(finding, Width::Wide)
    }

    /// The drawing of a finding where there is so much room.
    pub fn within(finding: &Finding, width: Width) -> Option<Picture> {
        let proof = match (&finding.certificate, &finding.observed) {
            (Some(proof), _) => Cow::Borrowed(proof),
            (None, Some(observed)) => Cow::Borrowed(&observed.proof),
            (None, None) => Cow::Owned(of_run(finding)),
        };
        let known = finding.certificate.is_some() || finding.observed.is_some();
        let mut picture = choose(&proof, known, finding.problem, width)?;
        layout::place(&mut picture);
        Some(picture)
    }

    /// Where the threads' first events begin.
    pub(crate) fn top(&self) -> f64 {
        let nodes = self.nodes.iter().filter(|node| node.lane.is_some());
        nodes.map(|node| node.at.1 - node.size.1 / 2.0).fold(f64::INFINITY, f64::min)
    }

    /// The kinds of edges that it has, in the order in which they are explained.
    pub fn kinds(&self) -> Vec<EdgeKind> {
        let mut kinds: Vec<EdgeKind> = self.edges.iter().map(|edge| edge.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// The execution that a run is: under SC everything follows from the order of the steps.
fn of_run(finding: &Finding) -> Proof {
    let mut events: Vec<Event> = Vec::new();
    let mut mo: Vec<Vec<usize>> = Vec::new();
    let mut location_of: HashMap<&str, usize> = HashMap::new();
    for held in &finding.start.memory {
        location_of.insert(&held.location, events.len());
        mo.push(vec![events.len()]);
        events.push(Event {
            id: events.len(),
            thread: None,
            tid: None,
            kind: EventKind::Initial,
            mode: None,
            location: Some(held.location.clone()),
            read: None,
            written: Some(held.value.clone()),
            label: format!("{} = {}", held.location, held.value),
            place: None,
        });
    }
    let mut po: Vec<Vec<usize>> = vec![Vec::new(); finding.start.threads.len()];
    let mut rf = Vec::new();
    let mut fr = Vec::new();
    let mut reads: Vec<Vec<usize>> = vec![Vec::new(); mo.len()];
    for step in finding.run.iter().filter(|step| step.is_shown()) {
        let id = events.len();
        if let Some(thread) = po.get_mut(step.tid.index()) {
            thread.push(id);
        }
        if let Some(&loc) = step.location.as_deref().and_then(|name| location_of.get(name)) {
            let last = mo[loc].last().copied().unwrap_or(loc);
            if step.read.is_some() {
                rf.push((last, id));
            }
            match step.written {
                Some(_) => {
                    fr.extend(reads[loc].drain(..).map(|read| (read, id)));
                    mo[loc].push(id);
                }
                None => reads[loc].push(id),
            }
        }
        events.push(event_of(step, id));
    }
    let last = Event {
        id: events.len(),
        thread: Some(finding.thread.clone()),
        tid: Some(finding.tid),
        kind: EventKind::Control,
        mode: None,
        location: None,
        read: None,
        written: None,
        label: crate::text::last_effect(finding),
        place: Some(finding.place.clone()),
    };
    if let Some(thread) = po.get_mut(finding.tid.index()) {
        thread.push(last.id);
    }
    let access = last.id;
    events.push(last);
    Proof {
        events,
        po,
        rf,
        mo,
        fr,
        sw: Vec::new(),
        hb: Vec::new(),
        access,
        other: access,
        newest: None,
        used_by: None,
        propagation: Vec::new(),
        timeline: false,
        conclusive: true,
        cycle: Vec::new(),
    }
}

fn event_of(step: &Step, id: usize) -> Event {
    let kind = match (&step.read, &step.written) {
        (Some(_), Some(_)) => EventKind::Update,
        (Some(_), None) => EventKind::Read,
        (None, Some(_)) => EventKind::Write,
        (None, None) => EventKind::Fence,
    };
    let location = step.location.as_deref().unwrap_or(step.action);
    Event {
        id,
        thread: Some(step.thread.clone()),
        tid: Some(step.tid),
        kind,
        mode: None,
        location: step.location.clone(),
        read: step.read.clone(),
        written: step.written.clone(),
        label: crate::proof::effect(kind, location, step.read.as_ref(), step.written.as_ref()),
        place: Some(step.place.clone()),
    }
}

/// The nodes and edges worth drawing, without places.
fn choose(proof: &Proof, certified: bool, problem: Kind, width: Width) -> Option<Picture> {
    // Two accesses that race are wrong together, and only together.
    let race = problem == Kind::Race && certified && proof.access != proof.other;
    let kept = kept(proof, certified);
    let mut tids: Vec<(Tid, String)> = proof
        .events
        .iter()
        .filter(|event| kept.contains(&event.id))
        .filter_map(|event| Some((event.tid?, event.thread.clone()?)))
        .collect();
    tids.sort_unstable();
    tids.dedup();
    if tids.is_empty() {
        return None;
    }
    let on_cycle: HashSet<usize> = proof.cycle.iter().map(|hop| hop.event).collect();
    let mut nodes: Vec<Node> = Vec::new();
    let mut node_of: HashMap<usize, usize> = HashMap::new();
    for event in proof.events.iter().filter(|event| kept.contains(&event.id)) {
        let lane = event.tid.and_then(|tid| tids.iter().position(|(t, _)| *t == tid));
        let wrong = event.id == proof.access
            || (certified && Some(event.id) == proof.used_by)
            || (race && event.id == proof.other);
        // A `seq_cst` fence is three events of one statement, one after the other.
        let is_fence = matches!(event.kind, EventKind::Fence | EventKind::FenceOrder);
        let same = |node: &&mut Node| {
            is_fence
                && node.kind == EventKind::FenceOrder
                && node.lane == lane
                && node.line == event.place.as_ref().map(|place| place.line)
                && node.events.last() == Some(&(event.id.saturating_sub(1)))
        };
        let starts_fence = proof
            .events
            .get(event.id + 1)
            .is_some_and(|next| next.kind == EventKind::FenceOrder && next.tid == event.tid);
        let index = nodes.len();
        if let Some(node) = nodes.last_mut().filter(same) {
            node.events.push(event.id);
            node.on_cycle |= on_cycle.contains(&event.id);
            node_of.insert(event.id, index - 1);
            continue;
        }
        let whole = is_fence && (starts_fence || event.kind == EventKind::FenceOrder);
        let mut effect = event.label.clone();
        let mut mode = event.mode.clone().filter(|_| event.location.is_some());
        if whole {
            (effect, mode) = ("fence seq_cst".to_string(), None);
        }
        let label = match &mode {
            Some(mode) => format!("{effect}  {mode}"),
            None => effect.clone(),
        };
        node_of.insert(event.id, index);
        nodes.push(Node {
            events: vec![event.id],
            lane,
            row: 0,
            label,
            effect,
            mode,
            line: event.place.as_ref().map(|place| place.line),
            whole_line: event.place.as_ref().map(|place| place.whole_line),
            text: event.place.as_ref().map_or_else(String::new, |place| place.text.clone()),
            kind: if whole { EventKind::FenceOrder } else { event.kind },
            on_cycle: on_cycle.contains(&event.id),
            wrong,
            at: (0.0, 0.0),
            size: (0.0, 0.0),
        });
    }
    let mut edges = edges(proof, &nodes, &node_of);
    if let (true, Some(&from), Some(&to)) =
        (race, node_of.get(&proof.other), node_of.get(&proof.access))
    {
        let path = [(0.0, 0.0); 4];
        let (kind, on_cycle, quiet, label) = (EdgeKind::Race, true, false, None);
        edges.push(Edge { from, to, kind, on_cycle, quiet, path, label });
    }
    let drawn = proof.events.iter().filter(|event| event.tid.is_some()).count();
    let shown = nodes.iter().filter(|node| node.lane.is_some()).flat_map(|n| &n.events).count();
    let hidden = if drawn > MOST_EVENTS { drawn - shown } else { 0 };
    let lane = |(_, name): (Tid, String)| Lane { name, x: 0.0, width: 0.0 };
    let lanes = tids.into_iter().map(lane).collect();
    let timeline = proof.timeline;
    Some(Picture { lanes, nodes, edges, hidden, timeline, width, size: (0.0, 0.0) })
}

/// The events that are drawn.
fn kept(proof: &Proof, certified: bool) -> HashSet<usize> {
    let mut important: HashSet<usize> = proof.cycle.iter().map(|hop| hop.event).collect();
    important.insert(proof.access);
    if certified {
        important.insert(proof.other);
        important.extend(proof.newest);
        important.extend(proof.used_by);
    }
    let threads = proof.events.iter().filter(|event| event.tid.is_some()).count();
    let mut kept = important.clone();
    if threads <= MOST_EVENTS {
        let shown = |event: &&Event| event.tid.is_some() && event.kind != EventKind::Control;
        kept.extend(proof.events.iter().filter(shown).map(|event| event.id));
    }
    let sources = proof.rf.iter().filter(|(_, read)| kept.contains(read));
    let sources: Vec<usize> = sources.map(|(write, _)| *write).collect();
    // Where only what matters is drawn, what it reads from matters a little.
    kept.extend(sources);
    kept
}

fn edges(proof: &Proof, nodes: &[Node], node_of: &HashMap<usize, usize>) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    let mut add = |from: usize, to: usize, kind: EdgeKind| {
        if let (Some(&from), Some(&to)) = (node_of.get(&from), node_of.get(&to))
            && from != to
            && !edges.iter().any(|edge| (edge.from, edge.to, edge.kind) == (from, to, kind))
        {
            // What happens before what matters to races; elsewhere the other edges say enough.
            let quiet = kind == EdgeKind::Hb && !proof.cycle.is_empty();
            let path = [(0.0, 0.0); 4];
            edges.push(Edge { from, to, kind, on_cycle: false, quiet, path, label: None });
        }
    };
    let drawn = |order: &Vec<usize>| -> Vec<usize> {
        order.iter().copied().filter(|event| node_of.contains_key(event)).collect()
    };
    for thread in &proof.po {
        for pair in drawn(thread).windows(2) {
            add(pair[0], pair[1], EdgeKind::Po);
        }
    }
    for order in &proof.mo {
        for pair in drawn(order).windows(2) {
            add(pair[0], pair[1], EdgeKind::Mo);
        }
    }
    proof.rf.iter().for_each(|(from, to)| add(*from, *to, EdgeKind::Rf));
    proof.propagation.iter().for_each(|(from, to)| add(*from, *to, EdgeKind::Propagation));
    proof.fr.iter().for_each(|(from, to)| add(*from, *to, EdgeKind::Fr));
    for (from, to) in &proof.hb {
        let (a, b) = (&proof.events[*from], &proof.events[*to]);
        if a.tid.is_some() && a.tid != b.tid {
            add(*from, *to, EdgeKind::Hb);
        }
    }
    let hops = proof.cycle.iter().enumerate().map(|(index, hop)| {
        (hop.event, proof.cycle[(index + 1) % proof.cycle.len()].event, hop.edge)
    });
    let hops: Vec<(usize, usize, EdgeKind)> = hops.collect();
    for (from, to, kind) in &hops {
        // Program order is drawn step by step.
        let known = *kind == EdgeKind::Po && nodes.iter().any(|node| node.events.contains(from));
        if !known || proof.po.is_empty() {
            add(*from, *to, *kind);
        }
    }
    for (from, to, kind) in hops {
        let (Some(&from), Some(&to)) = (node_of.get(&from), node_of.get(&to)) else { continue };
        for edge in edges.iter_mut().filter(|edge| edge.kind == kind) {
            let between = nodes[edge.from].lane == nodes[from].lane
                && edge.from >= from
                && edge.to <= to
                && kind == EdgeKind::Po;
            edge.on_cycle |= (edge.from, edge.to) == (from, to) || between;
        }
    }
    edges
}
