//! Answers about machines with store buffers, in the user's terms.
//!
//! A witness is a computation of the machine: each access where it happens, a delayed store twice,
//! where it is issued and where it reaches memory. Its happens-before trace is a [`Proof`] like any
//! other: store order is modification order, source is reads-from, conflict is from-read.

use crate::advice::{self, Advice};
use crate::answer::Ruling;
use crate::codes;
use crate::escape::visible;
use crate::finding::{Finding, Kind};
use crate::place::Place;
use crate::proof::{self, EventKind, Hop, Proof};
use crate::run::{Assigned, Replay, Step};
use crate::sheet::{Attacks, Notice, Reply, Sheet};
use crate::text::{Ink, Look, amount, story};
use check::Cost;
use check::robustness::store_atomic::judge::{Event, Happening};
use check::robustness::store_atomic::trf::{Freedom, Race};
use check::robustness::store_atomic::{Faulty, Machine, Outcome, Verdict, Witness};
use lang::Source;
use model::memory::store_buffer::trace::Trace;
use model::{Loc, Pc, Program, Tid, Value};

/// What was found out.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Is the program robust?
    Robustness(Outcome),
    /// Is it free of triangular races?
    TriangularRaces((Freedom, Cost)),
}

impl Answer {
    /// What was asked.
    pub fn property(&self) -> &'static str {
        match self {
            Answer::Robustness(_) => "robustness",
            Answer::TriangularRaces(_) => "triangular-races",
        }
    }

    fn ruling(&self) -> (Ruling, Option<String>) {
        match self {
            Answer::Robustness(Outcome { verdict, .. }) => match verdict {
                Verdict::Holds => (Ruling::Holds, None),
                Verdict::Violated(_) => (Ruling::Violated, None),
                Verdict::Undecided(why) => (Ruling::Undecided, Some(why.to_string())),
            },
            Answer::TriangularRaces((freedom, _)) => match freedom {
                Freedom::Free => (Ruling::Holds, None),
                Freedom::Race(_) => (Ruling::Violated, None),
                Freedom::Undecided(why) => (Ruling::Undecided, Some(why.to_string())),
            },
        }
    }
}

/// The sheet of an answer about `source`.
pub fn sheet(source: &Source, machine: Machine, answer: &Answer) -> Sheet {
    let (ruling, why) = answer.ruling();
    let mut sheet = Sheet::new(&source.name, source.text.clone(), machine.name());
    sheet.warnings = source.warnings.iter().map(|w| Notice::new(w, &source.text)).collect();
    let findings = match answer {
        Answer::Robustness(outcome) => {
            sheet.cost = outcome.cost;
            sheet.attacks = Some(Attacks {
                attacks: outcome.attacks,
                attacks_examined: outcome.attacks_examined,
                method: outcome.method.name(),
            });
            sheet.faults = outcome.faults.iter().map(|faulty| fault(source, faulty)).collect();
            match &outcome.verdict {
                Verdict::Violated(witness) => vec![delayed_store(source, machine, witness)],
                _ => Vec::new(),
            }
        }
        Answer::TriangularRaces((freedom, cost)) => {
            sheet.cost = *cost;
            match freedom {
                Freedom::Race(race) => vec![triangular_race(source, race)],
                _ => Vec::new(),
            }
        }
    };
    sheet.replies.push(Reply { property: answer.property(), ruling, why, findings });
    sheet
}

/// The sheet as text; the story of what is wrong only if `detailed`.
pub fn text(sheet: &Sheet, detailed: bool, look: &Look) -> String {
    let mut out = format!(
        "{}: {}, {}, {}\n",
        look.paint(Ink::Strong, &visible(&sheet.file)),
        sheet.model,
        amount::plural(sheet.cost.states, "state"),
        amount::time(sheet.cost.elapsed),
    );
    for reply in &sheet.replies {
        let verdict = look.paint(reply.ruling.ink(), reply.ruling.name());
        out.push_str(&format!("  {}  {verdict}", reply.property));
        if let Some(why) = &reply.why {
            out.push_str(&format!(": {why}"));
        }
        if let Some(Attacks { attacks, attacks_examined, method }) = sheet.attacks {
            out.push_str(&format!(
                "  ({attacks_examined} of {attacks} attacks examined by {method})"
            ));
        }
        out.push('\n');
    }
    if detailed {
        for finding in sheet.findings() {
            out.push('\n');
            let (name, text) = (&sheet.file, &sheet.text);
            out.push_str(&finding.diagnostic().render_within(name, text, look.color, look.width));
            out.push('\n');
            out.push_str(&story(finding, look));
        }
    }
    out
}

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
        start: Replay::new(source, program).start(),
        run: Vec::new(),
        certificate: None,
        note: None,
        advice: Vec::new(),
    }
}

fn fault(source: &Source, faulty: &Faulty) -> Finding {
    let mut found = finding(source, Kind::Fault, codes::FAULT, (faulty.tid, faulty.pc));
    found.message = format!("{}, in `{}`", faulty.fault, found.thread);
    found
}

fn triangular_race(source: &Source, race: &Race) -> Finding {
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

fn delayed_store(source: &Source, machine: Machine, witness: &Witness) -> Finding {
    let program = &source.program;
    let tid = witness.attacker;
    let mut found = finding(source, Kind::DelayedStore, codes::DELAYED_STORE, (tid, witness.last));
    let store = Place::of_step(source, program, tid, witness.start);
    found.message = format!(
        "not robust: the store of line {} of `{}` may reach memory after line {} is done",
        store.line, found.thread, found.place.line
    );
    let proof = proof(source, witness);
    found.run = run(source, witness, proof.events.len() - witness.trace.nodes.len());
    let mut fence = advice::fence_between(source, &found.thread, &store, &found.place);
    fence.text.push_str(": that rules this out");
    found.advice = vec![
        fence,
        Advice::new(format!(
            "`fencepost fix --model {} FILE` finds the fewest fences that rule out all of them",
            machine.name()
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
fn run(source: &Source, witness: &Witness, first: usize) -> Vec<Step> {
    let program = &source.program;
    let mut locals: Vec<Vec<Value>> =
        program.threads.iter().map(|thread| vec![0; thread.registers.len()]).collect();
    let mut accesses = 0;
    // Stores that wait: whose, where, and which event.
    let mut waiting: Vec<(Tid, Loc, usize)> = Vec::new();
    let mut steps = Vec::new();
    for (happening, registers) in witness.computation.iter().zip(&witness.registers) {
        let Happening { tid, pc, event } = *happening;
        let (action, loc, read, written) = describe(event);
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
                assigned.push(Assigned { local: name.clone(), value: *new });
                *old = *new;
            }
        }
        steps.push(Step {
            thread: thread.display_name(),
            tid,
            place: Place::of_step(source, program, tid, pc),
            action,
            location: loc.map(|loc| program.locations[loc.index()].display_name()),
            read,
            written,
            assigned,
            events,
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
fn proof(source: &Source, witness: &Witness) -> Proof {
    let program = &source.program;
    let Trace { nodes, order, .. } = &witness.trace;
    let first = program.locations.len();
    let store = |store: (Tid, u32)| {
        let found = nodes.iter().position(|n| (n.tid, n.writes) == (store.0, Some(store.1)));
        found.map(|index| first + index)
    };
    let accesses: Vec<&Happening> =
        witness.computation.iter().filter(|happening| is_access(happening.event)).collect();
    let mut events: Vec<proof::Event> = (0..first).map(|loc| initial(program, loc)).collect();
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
    let hop = |on: &check::robustness::store_atomic::OnCycle| Hop {
        event: first + on.node,
        edge: on.edge.into(),
        because: None,
    };
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

fn own_event(
    tid: Tid,
    id: usize,
    node: &model::memory::store_buffer::trace::Node,
) -> Option<usize> {
    (node.tid == tid).then_some(id)
}

fn initial(program: &Program, loc: usize) -> proof::Event {
    let location = program.locations[loc].display_name();
    let written = Some(program.locations[loc].initial);
    proof::Event {
        id: loc,
        thread: None,
        tid: None,
        kind: EventKind::Initial,
        mode: None,
        label: proof::effect(EventKind::Initial, &location, None, written),
        location: Some(location),
        read: None,
        written,
        place: None,
    }
}

fn access(source: &Source, happening: &Happening, id: usize) -> proof::Event {
    let program = &source.program;
    let (action, loc, read, written) = describe(happening.event);
    let kind = match (read, written) {
        (Some(_), Some(_)) => EventKind::Update,
        (Some(_), None) => EventKind::Read,
        _ => EventKind::Write,
    };
    let location = loc.map(|loc| program.locations[loc.index()].display_name());
    let mut label = proof::effect(kind, location.as_deref().unwrap_or_default(), read, written);
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
