//! Answers about machines with store buffers, in the user's terms.
//!
//! A witness is a computation of the machine: each access where it happens, a delayed store twice,
//! where it is issued and where it reaches memory. Its happens-before trace is a [`Proof`] like any
//! other: store order is modification order, source is reads-from, conflict is from-read.

use crate::advice::{self, Advice};
use crate::answer::{self, Ruling};
use crate::codes;
use crate::escape::visible;
use crate::finding::{Finding, Kind};
use crate::input_report::{Attacks, InputReport, Notice, Reply, Unchecked};
use crate::place::Place;
use crate::proof::{self, EventKind, Hop, Proof};
use crate::run::{Assigned, Replay, Step};
use crate::text::{Ink, Look, amount, story, table};
use check::robustness::store_atomic::judge::{Event, Happening};
use check::robustness::store_atomic::safety::{Checked, Robustness};
use check::robustness::store_atomic::triangular_race::{Freedom, Race};
use check::robustness::store_atomic::{Faulty, Machine, Verdict, Why, Witness};
use check::{Model, Property};
use ir::{Loc, Pc, Program, Tid, Value};
use lang::{Diagnostic, Source};
use memory::store_buffer::trace::Trace;

/// The sheet of the answers about `source` on `machine`.
pub fn sheet(source: &Source, machine: Machine, checked: &Checked) -> InputReport {
    let program = &source.program;
    let mut sheet = InputReport::new(&source.name, source.text.clone(), machine.name());
    let interleavings = &checked.interleavings;
    let noticed = language_warnings(source, checked);
    sheet.warnings = noticed.iter().map(|warning| Notice::new(warning, &source.text)).collect();
    sheet.errors = internal_errors(checked).iter().map(|e| Notice::new(e, &source.text)).collect();
    sheet.cost = checked.cost;
    let found = |property, witness| Finding::new(source, program, Model::Sc, property, witness);
    sheet.faults = interleavings.faults.iter().map(|witness| found(None, witness)).collect();
    sheet.faults.extend(checked.only_on_machine.iter().map(|faulty| fault(source, faulty)));
    sheet.stuck = interleavings.stuck.iter().map(|witness| found(None, witness)).collect();
    if let Robustness::Attacks(outcome) = &checked.robustness {
        sheet.attacks = Some(Attacks {
            attacks: outcome.attacks,
            attacks_examined: outcome.attacks_examined,
            method: outcome.method.name(),
        });
    }
    sheet.replies.push(robustness(source, machine, &checked.robustness));
    sheet.replies.extend(interleavings.answers.iter().map(|(property, verdict)| {
        let (ruling, why) = Ruling::of(verdict);
        let witness = verdict.witness().into_iter();
        let findings = witness.map(|witness| found(Some(*property), witness)).collect();
        Reply { property: property.name(), ruling, why, findings }
    }));
    if answer::has_non_atomics(program) {
        let why =
            "non-atomic accesses are loads and stores of the machine; --model rc20 looks for them";
        sheet.unchecked.push(Unchecked { property: Property::Races.name(), why });
    }
    sheet
}

/// What may not be as meant: the language's warnings, values that wrapped around, and threads that can
/// get stuck.
pub fn warnings(source: &Source, checked: &Checked) -> Vec<Diagnostic> {
    let mut warnings = language_warnings(source, checked);
    warnings.extend(checked.interleavings.stuck.iter().map(|witness| {
        let found = Finding::new(source, &source.program, Model::Sc, None, witness);
        found.diagnostic().with_help("`--model sc --all` shows how it gets there")
    }));
    warnings
}

/// What went wrong in Fencepost itself.
pub fn internal_errors(checked: &Checked) -> Vec<Diagnostic> {
    let rejected = match &checked.robustness {
        Robustness::Attacks(outcome) => {
            matches!(outcome.verdict, Verdict::Undecided(Why::Rejected))
        }
        Robustness::TriangularRaces(freedom, _) => {
            matches!(freedom, Freedom::Undecided(Why::Rejected))
        }
    };
    let rejected =
        rejected.then(|| answer::internal("a violation was found, but the judge rejected it"));
    let disagreements = checked.interleavings.internal.iter();
    disagreements.map(|what| answer::internal(what)).chain(rejected).collect()
}

fn language_warnings(source: &Source, checked: &Checked) -> Vec<Diagnostic> {
    let wrapped = answer::wrapped(source, &checked.interleavings);
    source.warnings.iter().cloned().chain(wrapped).collect()
}

fn robustness(source: &Source, machine: Machine, robustness: &Robustness) -> Reply {
    let undecided = |why: &Why| (Ruling::Undecided, Some(why.to_string()), Vec::new());
    let (property, (ruling, why, findings)) = match robustness {
        Robustness::Attacks(outcome) => {
            let said = match &outcome.verdict {
                Verdict::Holds => (Ruling::Holds, None, Vec::new()),
                Verdict::Violated(witness) => {
                    (Ruling::Violated, None, vec![delayed_store(source, machine, witness)])
                }
                Verdict::Undecided(why) => undecided(why),
            };
            (Property::Robustness.name(), said)
        }
        Robustness::TriangularRaces(freedom, _) => {
            let said = match freedom {
                Freedom::Free => (Ruling::Holds, None, Vec::new()),
                Freedom::Race(race) => {
                    (Ruling::Violated, None, vec![triangular_race(source, race)])
                }
                Freedom::Undecided(why) => undecided(why),
            };
            (TRIANGULAR_RACES, said)
        }
    };
    Reply { property, ruling, why, findings }
}

/// What `--trf` asks.
const TRIANGULAR_RACES: &str = "triangular-races";

/// The sheet as text; the story of what is wrong only if `detailed`.
pub fn text(sheet: &InputReport, source: &Source, detailed: bool, look: &Look) -> String {
    let mut out = format!(
        "{}: {}, {}, {}\n",
        look.paint(Ink::Strong, &visible(&sheet.file)),
        sheet.model,
        amount::plural(sheet.cost.states, "state"),
        amount::time(sheet.cost.elapsed),
    );
    let said = |reply: &Reply| {
        let mut said = look.paint(reply.ruling.ink(), reply.ruling.name());
        if let Some(why) = &reply.why {
            said.push_str(&format!(": {why}"));
        }
        match sheet.attacks.filter(|_| reply.property == Property::Robustness.name()) {
            Some(Attacks { attacks, attacks_examined, method }) => {
                format!("{said}  ({attacks_examined} of {attacks} attacks examined by {method})")
            }
            None => said,
        }
    };
    let answers: Vec<(&str, String)> =
        sheet.replies.iter().map(|reply| (reply.property, said(reply))).collect();
    out.push_str(&table(&answers, &sheet.unchecked, look));
    if detailed {
        for finding in sheet.findings() {
            out.push('\n');
            let (name, text) = (&sheet.file, &sheet.text);
            out.push_str(&finding.diagnostic().render_within(name, text, look.color, look.width));
            out.push('\n');
            out.push_str(&story(finding, look));
        }
        if sheet.verdict() == Ruling::Holds.name() {
            out.push_str(&format!("{}\n", look.paint(Ink::Good, &conclusion(sheet, source))));
        }
    }
    out
}

/// What it means that everything holds.
fn conclusion(sheet: &InputReport, source: &Source) -> String {
    let model = sheet.model.to_uppercase();
    let robust = match sheet.attacks {
        Some(_) => "robust",
        None => "free of triangular races, hence robust",
    };
    match answer::has_assertions(&source.program) {
        true => format!("{robust}, and safe under SC, hence safe under {model}"),
        false => format!("{robust} against {model}, and free of run-time errors"),
    }
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
        cpp_may_forbid: false,
        cycle: witness.cycle.iter().map(hop).collect(),
        events,
    }
}

fn own_event(tid: Tid, id: usize, node: &memory::store_buffer::trace::Node) -> Option<usize> {
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
