//! A finding: a problem of a program, its place in the source, and the run that leads to it.

use crate::advice::{self, Advice};
use crate::codes;
use crate::computation;
use crate::observed::Observed;
use crate::place::Place;
use crate::proof::{Event, EventKind, Proof};
use crate::run::{self, Assigned, Start, Step, stale_values};
use check::{Evidence, Model, Problem, Property, Witness, remedy};
use graph::EventId;
use ir::{Program, Tid};
use lang::{Diagnostic, Source, Span};
use serde::Serialize;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What a user looks up, one of [`crate::codes`].
    pub code: &'static str,
    /// What kind of thing.
    pub problem: Kind,
    /// What is wrong, in one line.
    pub message: String,
    /// The thread that it happens to.
    pub thread: String,
    /// The thread's number.
    #[serde(skip)]
    pub tid: Tid,
    /// The statement where it shows.
    #[serde(flatten)]
    pub place: Place,
    /// The locals that the statement looks at.
    pub locals: Vec<Assigned>,
    /// What memory and locals hold before the run.
    pub start: Start,
    /// The interleaving that leads there; on machines with store buffers, what the machine does.
    pub run: Vec<Step>,
    /// The execution that proves it; none where the run is proof enough.
    pub certificate: Option<Proof>,
    /// What goes wrong, in a few sentences, if the run does not say it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What to do about it.
    pub advice: Vec<Advice>,
    /// If it was observed in a running program: what is known of its accesses beyond their places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Observed>>,
}

/// What kind of thing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A read may read a value that was overwritten.
    StaleRead,
    /// A store may come before one that was there first.
    StaleWrite,
    /// A read-modify-write may do both.
    StaleUpdate,
    /// A statement depends on a value that may be stale.
    Dependency,
    /// Two non-atomic accesses are not ordered.
    Race,
    /// An assertion fails.
    Assertion,
    /// A run ends in a state that the final condition excludes.
    FinalState,
    /// An expression has no value.
    Fault,
    /// A thread waits forever.
    Stuck,
    /// Threads wait or spin for ever, though all see the newest writes.
    Waiting,
    /// A store waits in a buffer while a later access of its thread goes ahead.
    DelayedStore,
    /// A thread stores and then loads what another may write.
    TriangularRace,
    /// Transactions of a recorded run cannot have happened one after the other.
    NotSerializable,
    /// A library has a history that its specification lacks.
    NotRefined,
    /// A client calls where the policy does not let it.
    OffPolicy,
}

impl Finding {
    /// What `witness` shows about `program`, whose text is `source`. `property` is the one violated;
    /// run-time errors and stuck threads violate none.
    pub fn of(
        source: &Source,
        program: &Program,
        model: Model,
        property: Option<Property>,
        witness: &Witness,
    ) -> Self {
        match (&witness.evidence, witness.problem) {
            (Evidence::Computation(shown), _) => computation::delayed_store(source, model, shown),
            (Evidence::TriangularRace(race), _) => computation::triangular_race(source, race),
            (Evidence::Unshown, Problem::Fault(fault)) => {
                computation::fault(source, (witness.tid, witness.pc), fault)
            }
            _ => Finding::reached(source, program, property, witness),
        }
    }

    /// What goes wrong at the end of an interleaving.
    fn reached(
        source: &Source,
        program: &Program,
        property: Option<Property>,
        witness: &Witness,
    ) -> Self {
        let mut run: Vec<Step> =
            witness.run().iter().map(|step| run::step(source, program, step)).collect();
        for (step, newer) in run.iter_mut().zip(witness.newer()) {
            step.newer = usize::from(*newer);
        }
        watch(source, program, witness, &mut run);
        let certificate =
            witness.certificate().map(|certificate| Proof::new(source, program, certificate));
        let kind = kind(witness.problem, certificate.as_ref());
        let thread = program.threads[witness.tid.index()].display_name();
        let observational = property == Some(Property::ObservationalRobustness);
        let prefix = match (kind, observational) {
            (Kind::Race | Kind::Assertion | Kind::FinalState | Kind::Fault, _) => "",
            (Kind::Stuck | Kind::Waiting, _) => "",
            (_, true) => "not observationally robust: ",
            (_, false) => "not robust: ",
        };
        let what = match (kind, &certificate) {
            (Kind::Fault, _) => match witness.problem {
                Problem::Fault(fault) => format!("{fault}, in `{thread}`"),
                _ => format!("a run-time error in `{thread}`"),
            },
            (Kind::Assertion, _) => {
                let origin = program.step(witness.tid, witness.pc).origin;
                match source.failure(origin) {
                    Some(what) => format!("{what}, in `{thread}`"),
                    None => format!("an assertion of `{thread}` fails"),
                }
            }
            (Kind::FinalState, _) => "a run ends as the final condition says none does".to_string(),
            (Kind::Stuck, _) => format!("`{thread}` can wait here forever"),
            (Kind::Waiting, _) => format!("`{thread}` can wait here for ever, and nobody goes on"),
            (_, Some(proof)) => refuted(kind, &thread, proof),
            (_, None) => format!("`{thread}` goes wrong"),
        };
        Finding {
            code: code(kind, observational),
            problem: kind,
            message: format!("{prefix}{what}"),
            place: match &program.condition {
                Some(condition) if kind == Kind::FinalState => {
                    Place::of(source, source.span(condition.origin))
                }
                _ => Place::of_step(source, program, witness.tid, witness.pc),
            },
            locals: match &program.condition {
                Some(condition) if kind == Kind::FinalState => {
                    run::observed_values(source, program, witness.run(), condition)
                }
                _ => run::locals_used(source, program, witness.run(), (witness.tid, witness.pc)),
            },
            start: run::start(source, program),
            run,
            advice: advice::advice(
                source,
                program,
                kind,
                witness.certificate(),
                certificate.as_ref(),
            ),
            certificate,
            note: None,
            observed: None,
            tid: witness.tid,
            thread,
        }
    }

    /// The finding as a diagnostic: the source with what matters underlined.
    pub fn diagnostic(&self) -> Diagnostic {
        let head = match self.problem {
            Kind::Stuck => Diagnostic::warning(self.code, &self.message),
            _ => Diagnostic::error(self.code, &self.message),
        };
        match &self.certificate {
            Some(proof) if !proof.timeline => self.proof_labels(proof, head),
            Some(_) => head.with_label(self.place.span, self.outcome()),
            None => head.with_label(self.place.span, self.short_reason()),
        }
    }

    /// What kind of thing is wrong in which lines: where it shows and what it meets there.
    pub fn lines(&self) -> (Kind, Vec<Span>) {
        let events = self.certificate.iter().flat_map(|proof| {
            [Some(proof.access), Some(proof.other), proof.newest, proof.used_by]
                .into_iter()
                .flatten()
                .filter_map(|event| Some(proof.events[event].place.as_ref()?.span))
        });
        (self.problem, [self.place.span].into_iter().chain(events).collect())
    }

    /// The values of the locals that matter, such as `a = 0, b = 1`.
    pub fn locals_text(&self) -> String {
        let locals = self.locals.iter().map(|a| format!("{} = {}", a.local, a.value));
        locals.collect::<Vec<_>>().join(", ")
    }

    /// What a history ends with.
    pub fn outcome(&self) -> &'static str {
        match self.problem {
            Kind::NotRefined => "the specification cannot follow",
            Kind::OffPolicy => "the policy does not allow this",
            Kind::Race => "races",
            Kind::Assertion => "fails",
            Kind::FinalState => "the run ends",
            _ => "here",
        }
    }

    fn short_reason(&self) -> String {
        let locals = self.locals_text();
        match (self.problem, locals.is_empty()) {
            (Kind::Assertion, true) => "fails".to_string(),
            (Kind::Assertion, false) => format!("fails with {locals}"),
            (Kind::Stuck, _) => "nobody lets it go on".to_string(),
            (Kind::Waiting, true) => "nobody changes what it waits for".to_string(),
            (Kind::Waiting, false) => format!("nobody changes what it waits for, with {locals}"),
            (Kind::FinalState, _) => format!("a run ends with {locals}"),
            (Kind::TriangularRace, _) => "loads while a store may still wait".to_string(),
            (_, true) => "here".to_string(),
            (_, false) => format!("with {locals}"),
        }
    }

    fn proof_labels(&self, proof: &Proof, head: Diagnostic) -> Diagnostic {
        let (access, other) = (proof.access(), proof.other());
        let mut labels: Vec<(&Event, String)> = Vec::new();
        match self.problem {
            Kind::Race => {
                labels.push((access, format!("{} here", verb(access))));
                labels.push((other, format!("{} here, in no order with it", verb(other))));
            }
            Kind::Assertion | Kind::FinalState | Kind::Fault | Kind::Stuck | Kind::Waiting => {
                let head = head.with_label(self.place.span, self.short_reason());
                let stale = access.place.as_ref().filter(|_| proof.access != proof.other);
                return stale
                    .into_iter()
                    .fold(head, |head, place| head.with_label(place.span, met(access, other)));
            }
            Kind::DelayedStore => {
                labels.push((access, "is done first".to_string()));
                labels.push((other, format!("{} may wait in the buffer", binding(other))));
            }
            Kind::NotSerializable => {
                let cycle = proof.cycle.iter().map(|hop| &proof.events[hop.event]);
                labels.extend(cycle.map(|event| (event, "must come before itself".to_string())));
            }
            _ => {
                labels.push((access, may(access, other)));
                if let Some(newest) = proof.newest {
                    let newest = &proof.events[newest];
                    labels.push((newest, format!("writes {} before that", binding(newest))));
                }
                if let Some(used_by) = proof.used_by {
                    labels.push((&proof.events[used_by], "depends on that value".to_string()));
                }
            }
        }
        let placed =
            labels.into_iter().filter_map(|(event, text)| Some((event.place.as_ref()?, text)));
        placed.fold(head, |head, (place, text)| head.with_label(place.span, text))
    }
}

/// Adds to the steps of a run, where reads can be stale, which events of the certificate they are and
/// what could be read stale.
fn watch(source: &Source, program: &Program, witness: &Witness, run: &mut [Step]) {
    let Some(played) = witness.played() else { return };
    let mut effort = remedy::EFFORT;
    let mut known = Some(Vec::new());
    for (index, step) in run.iter_mut().enumerate() {
        if let Some(certificate) = witness.certificate() {
            let same = |id: &usize| {
                let id = EventId::from(*id);
                let events = certificate.graph.events();
                events
                    .get(id.index())
                    .is_some_and(|event| event.step == played.graph().event(id).step)
            };
            step.events = played.events_of(index).filter(same).collect();
        }
        // A run may have many steps of which nobody else knows, and once it is too much effort it stays so.
        if played.is_local(index) || known.is_none() {
            continue;
        }
        let now = stale_values(source, program, &played.after(index), &mut effort);
        if now != known {
            step.stale = Some(now.clone().unwrap_or_default());
            known = now;
        }
    }
}

fn kind(problem: Problem, proof: Option<&Proof>) -> Kind {
    match problem {
        Problem::Stale => match proof.map(|proof| proof.access().kind) {
            Some(EventKind::Write) => Kind::StaleWrite,
            Some(EventKind::Update) => Kind::StaleUpdate,
            _ => Kind::StaleRead,
        },
        Problem::Dependency => Kind::Dependency,
        Problem::Race => Kind::Race,
        Problem::Assertion => Kind::Assertion,
        Problem::FinalState => Kind::FinalState,
        Problem::Fault(_) => Kind::Fault,
        Problem::Stuck => Kind::Stuck,
        Problem::Waiting => Kind::Waiting,
        Problem::DelayedStore => Kind::DelayedStore,
        Problem::TriangularRace => Kind::TriangularRace,
        Problem::NotSerializable => Kind::NotSerializable,
        Problem::NotRefined => Kind::NotRefined,
    }
}

fn code(kind: Kind, observational: bool) -> &'static str {
    match kind {
        Kind::Race => codes::RACE,
        Kind::Assertion => codes::ASSERTION,
        Kind::FinalState => codes::FINAL_CONDITION,
        Kind::Fault => codes::FAULT,
        Kind::Stuck => codes::STUCK,
        Kind::Waiting => codes::LIVENESS,
        _ if observational => codes::OBSERVATIONAL_ROBUSTNESS,
        _ => codes::ROBUSTNESS,
    }
}

/// What the execution shows, in one line.
fn refuted(kind: Kind, thread: &str, proof: &Proof) -> String {
    let location = proof.access().location.as_deref().unwrap_or("memory");
    match kind {
        Kind::StaleWrite => {
            format!("`{thread}` may store to `{location}` before a store that is there already")
        }
        Kind::StaleUpdate => format!("`{thread}` may update a stale value of `{location}`"),
        Kind::Dependency => {
            format!("`{thread}` depends on a value of `{location}` that may be stale")
        }
        Kind::Race => {
            let other = proof.other().thread.as_deref().unwrap_or("another thread");
            format!("`{thread}` and `{other}` race on `{location}`")
        }
        _ => format!("`{thread}` may read a stale value of `{location}`"),
    }
}

/// `x = 1`, for the value written or else read.
pub fn binding(event: &Event) -> String {
    let location = event.location.as_deref().unwrap_or("?");
    match event.written.as_ref().or(event.read.as_ref()) {
        Some(value) => format!("{location} = {value}"),
        None => location.to_string(),
    }
}

/// What an access does, as a verb with its object.
fn verb(event: &Event) -> String {
    let location = event.location.as_deref().unwrap_or("memory");
    match (&event.read, &event.written) {
        (Some(_), Some(_)) => format!("updates {location}"),
        (Some(_), None) => format!("reads {location}"),
        _ => format!("writes {location}"),
    }
}

/// What the access may do, given the stale write it meets.
fn may(access: &Event, stale: &Event) -> String {
    let from = origin(stale);
    match access.kind {
        EventKind::Write => format!("may be ordered right after {from}"),
        EventKind::Update => format!("may update {}, {from}", binding(stale)),
        _ => format!("may still read {}, {from}", binding(stale)),
    }
}

/// What an access of a weak run did, given the stale write it met.
fn met(access: &Event, stale: &Event) -> String {
    let from = origin(stale);
    match access.kind {
        EventKind::Write => format!("is ordered right after {from}"),
        EventKind::Update => format!("updates {}, {from}", binding(stale)),
        _ => format!("reads {}, {from}", binding(stale)),
    }
}

/// Where a write came from.
pub fn origin(write: &Event) -> String {
    match &write.place {
        None => "the initial value".to_string(),
        Some(place) => format!("the value from line {}", place.line_text()),
    }
}
