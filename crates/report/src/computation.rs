//! Computations of machines with store buffers, in the user's terms.
//!
//! A witness is a computation of the machine: each access where it happens, a delayed store twice,
//! where it is issued and where it reaches memory. Its happens-before trace is a [`Proof`] like any
//! other: store order is modification order, source is reads-from, conflict is from-read.

use crate::advice::{self, Advice};
use crate::codes;
use crate::finding::{Finding, Kind};
use crate::place::Place;
use crate::proof::{self, EventKind, Hop, Proof};
use crate::run::{self, Assigned, Step};
use crate::shown::Shown;
use check::Model;
use check::robustness::store_atomic::judge::{Event, Happening};
use check::robustness::store_atomic::triangular_race::Race;
use check::robustness::store_atomic::{Computation, OnCycle};
use ir::{Fault, Loc, Pc, Tid, Value};
use lang::Source;
use memory::store_buffer::trace::Trace;

/// A finding with what all findings about machines have.
fn finding(source: &Source, kind: Kind, code: &'static str, (tid, pc): (Tid, Pc)) -> Finding {
    let program = &source.program;
    Finding {
        code,
        problem: kind,
        message: String::new(),
        thread: program.threads[tid.index()].display_name(),
        tid,
        place: Place::of_step(source, program, tid, pc),
        locals: Vec::new(),
        start: run::start(source, program),
        run: Vec::new(),
        certificate: None,
        note: None,
        observed: None,
        advice: Vec::new(),
    }
}

/// A run-time error that only the search for attacks met.
pub(crate) fn fault(source: &Source, place: (Tid, Pc), fault: Fault) -> Finding {
    let mut found = finding(source, Kind::Fault, codes::FAULT, place);
    found.message = format!("{fault}, in `{}`", found.thread);
    found
}

/// A load that may go ahead of a store of its own thread.
pub(crate) fn triangular_race(source: &Source, race: &Race) -> Finding {
    let mut found =
        finding(source, Kind::TriangularRace, codes::TRIANGULAR_RACE, (race.tid, race.load));
    let store = Place::of_step(source, &source.program, race.tid, race.store);
    found.message = format!(
        "`{}` stores in line {} and then loads in line {} what another thread may write",
        found.thread, store.line, found.place.line
    );
    found.advice = vec![
        Advice::new("the program may be robust all the same: check without --trf, which is exact"),
        Advice::new("`fencepost fix --trf FILE` finds the fences that rule out all of them"),
    ];
    found
}

/// A store that waits in a buffer while a later access of its thread is done.
pub(crate) fn delayed_store(source: &Source, model: Model, witness: &Computation) -> Finding {
    let program = &source.program;
    let tid = witness.attacker;
    let mut found = finding(source, Kind::DelayedStore, codes::DELAYED_STORE, (tid, witness.last));
    let store = Place::of_step(source, program, tid, witness.start);
    found.message = format!(
        "not robust: the store of line {} of `{}` may reach memory after line {} is done",
        store.line, found.thread, found.place.line
    );
    let proof = proof(source, witness);
    found.run = steps(source, witness, proof.events.len() - witness.trace.nodes.len());
    let mut fence = advice::fence_between(source, &found.thread, &store, &found.place);
    fence.text.push_str(": that rules this out");
    found.advice = vec![
        fence,
        Advice::new(format!(
            "`fencepost fix --model {} FILE` finds the fewest fences that rule out all of them",
            model.name()
        )),
    ];
    found.certificate = Some(proof);
    found
}

/// Is it an access, and so a node of the trace?
fn is_access(event: Event) -> bool {
    !matches!(event, Event::Commit(..) | Event::LightFence | Event::Lock | Event::Unlock)
}

/// What happened, as steps; the events of accesses are numbered from `first` on.
fn steps(source: &Source, witness: &Computation, first: usize) -> Vec<Step> {
    let program = &source.program;
    let mut locals: Vec<Vec<Value>> =
        program.threads.iter().map(|thread| vec![0; thread.registers.len()]).collect();
    let mut accesses = 0;
    // Stores that wait: whose, where, and which event.
    let mut waiting: Vec<(Tid, Loc, usize)> = Vec::new();
    let mut steps = Vec::new();
    for (happening, registers) in witness.happenings.iter().zip(&witness.registers) {
        let Happening { tid, pc, event } = *happening;
        let (action, loc, read, written) = describe(event);
        let shown = |value: Option<Value>| value.map(|value| Shown::of(source, value));
        let mut events = Vec::new();
        if is_access(event) {
            events.push(first + accesses);
            accesses += 1;
        }
        match (event, loc) {
            (Event::Issue(..), Some(loc)) => waiting.push((tid, loc, first + accesses - 1)),
            (Event::Commit(..), Some(loc)) => {
                let oldest = waiting.iter().position(|(t, l, _)| (*t, *l) == (tid, loc));
                events.extend(oldest.map(|index| waiting.remove(index).2));
            }
            _ => {}
        }
        let thread = &program.threads[tid.index()];
        let known = &mut locals[tid.index()];
        let mut assigned = Vec::new();
        for ((name, old), new) in thread.registers.iter().zip(known).zip(registers) {
            if *old != *new {
                assigned.push(Assigned { local: name.clone(), value: Shown::of(source, *new) });
                *old = *new;
            }
        }
        steps.push(Step {
            thread: thread.display_name(),
            tid,
            place: Place::of_step(source, program, tid, pc),
            action,
            effect: source.effects.get(&program.step(tid, pc).origin).cloned(),
            location: loc.map(|loc| program.locations[loc.index()].display_name()),
            read: shown(read),
            written: shown(written),
            assigned,
            events,
            newer: 0,
            stale: None,
        });
    }
    steps
}

type Described = (&'static str, Option<Loc>, Option<Value>, Option<Value>);

fn describe(event: Event) -> Described {
    match event {
        Event::Read(loc, value) => ("load", Some(loc), Some(value), None),
        Event::ReadOwn(loc, value) => ("load-own", Some(loc), Some(value), None),
        Event::Write(loc, value) => ("store", Some(loc), None, Some(value)),
        Event::Issue(loc, value) => ("issue", Some(loc), None, Some(value)),
        Event::Commit(loc, value) => ("commit", Some(loc), None, Some(value)),
        Event::Update(loc, read, value) => ("update", Some(loc), Some(read), Some(value)),
        Event::LightFence => ("fence", None, None, None),
        Event::Lock => ("bus-lock", None, None, None),
        Event::Unlock => ("bus-unlock", None, None, None),
    }
}

/// The trace as a graph: first the initial values, then the accesses.
fn proof(source: &Source, witness: &Computation) -> Proof {
    let program = &source.program;
    let Trace { nodes, order, .. } = &witness.trace;
    let first = program.locations.len();
    let store = |store: (Tid, u32)| {
        let found = nodes.iter().position(|n| (n.tid, n.writes) == (store.0, Some(store.1)));
        found.map(|index| first + index)
    };
    let accesses: Vec<&Happening> =
        witness.happenings.iter().filter(|happening| is_access(happening.event)).collect();
    let mut events: Vec<proof::Event> = (0..first).map(|loc| initial(source, loc)).collect();
    events.extend(accesses.iter().enumerate().map(|(k, h)| access(source, h, first + k)));
    let mo: Vec<Vec<usize>> = (0..first)
        .map(|loc| {
            let stores = order.get(loc).into_iter().flatten().filter_map(|&s| store(s));
            [loc].into_iter().chain(stores).collect()
        })
        .collect();
    let rf: Vec<(usize, usize)> = nodes
        .iter()
        .enumerate()
        .filter_map(|(k, node)| {
            let from = match node.reads? {
                None => node.loc.index(),
                Some(from) => store(from)?,
            };
            Some((from, first + k))
        })
        .collect();
    let fr = rf.iter().filter_map(|&(write, read)| {
        let order = &mo[nodes[read - first].loc.index()];
        let next = *order.get(1 + order.iter().position(|w| *w == write)?)?;
        (next != read).then_some((read, next))
    });
    let own = |tid: Tid| move |(k, node): (usize, &_)| own_event(tid, first + k, node);
    let last_of = |pc: Pc| {
        let is_last = |h: &&Happening| (h.tid, h.pc) == (witness.attacker, pc);
        accesses.iter().rposition(is_last).map_or(first, |k| first + k)
    };
    let hop = |on: &OnCycle| Hop { event: first + on.node, edge: on.edge.into(), because: None };
    Proof {
        po: program
            .tids()
            .map(|tid| nodes.iter().enumerate().filter_map(own(tid)).collect())
            .collect(),
        fr: fr.collect(),
        rf,
        mo,
        sw: Vec::new(),
        hb: Vec::new(),
        access: last_of(witness.last),
        other: last_of(witness.start),
        newest: None,
        used_by: None,
        propagation: Vec::new(),
        timeline: false,
        conclusive: true,
        cycle: witness.cycle.iter().map(hop).collect(),
        events,
    }
}

fn own_event(tid: Tid, id: usize, node: &memory::store_buffer::trace::Node) -> Option<usize> {
    (node.tid == tid).then_some(id)
}

fn initial(source: &Source, loc: usize) -> proof::Event {
    let location = source.program.locations[loc].display_name();
    let written = Some(Shown::of(source, source.program.locations[loc].initial));
    proof::Event {
        id: loc,
        thread: None,
        tid: None,
        kind: EventKind::Initial,
        mode: None,
        label: proof::effect(EventKind::Initial, &location, None, written.as_ref()),
        location: Some(location),
        read: None,
        written,
        place: None,
    }
}

fn access(source: &Source, happening: &Happening, id: usize) -> proof::Event {
    let program = &source.program;
    let (action, loc, read, written) = describe(happening.event);
    let shown = |value: Option<Value>| value.map(|value| Shown::of(source, value));
    let (read, written) = (shown(read), shown(written));
    let kind = match (&read, &written) {
        (Some(_), Some(_)) => EventKind::Update,
        (Some(_), None) => EventKind::Read,
        _ => EventKind::Write,
    };
    let location = loc.map(|loc| program.locations[loc.index()].display_name());
    let place = location.as_deref().unwrap_or_default();
    let mut label = proof::effect(kind, place, read.as_ref(), written.as_ref());
    if action == "issue" {
        label.push_str(", delayed");
    }
    proof::Event {
        id,
        thread: Some(program.threads[happening.tid.index()].display_name()),
        tid: Some(happening.tid),
        kind,
        mode: None,
        label,
        location,
        read,
        written,
        place: Some(Place::of_step(source, program, happening.tid, happening.pc)),
    }
}
