//! The syntax tree to a program: names are resolved, constants computed, control flow becomes a
//! graph of steps.
//!
//! Declarations come first ([`declare`]), wherever they stand in the text; then each thread is
//! lowered once per replica ([`thread`]), with the replica's number as a constant.

mod call;
mod condition;
mod constant;
mod declare;
mod expression;
pub(crate) mod library;
mod loops;
mod place;
mod reach;
mod spawn;
mod thread;
mod weak_cas;

use crate::Track;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::suggest;
use crate::syntax::{Name, Unit};
use declare::{Globals, Replicas};
pub(crate) use ir::validate::{FEW_THREADS, MAX_LOCATIONS, MAX_STEPS, MAX_THREADS};
use ir::{Loc, Origin, Program, Reg, Tid, canonical};
use std::collections::HashMap;

/// What the text means.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    pub(crate) spans: Vec<Span>,
    pub(crate) tracks: Vec<Track>,
    pub(crate) unwritten: Unwritten,
}

/// What a program has that its text does not name.
#[derive(Default)]
pub(crate) struct Unwritten {
    /// What goes wrong at assertions that are no statements.
    pub(crate) failures: Vec<(Origin, String)>,
    /// Locations.
    pub(crate) locations: Vec<Loc>,
    /// Registers.
    pub(crate) registers: Vec<(Tid, Reg)>,
}

/// The meaning of the text; `None` if something was reported.
pub(crate) fn lower(unit: &Unit, sink: &mut Sink) -> Option<Lowered> {
    let mut globals = Globals::declare(unit, sink);
    let tracks = globals.tracks(unit, sink);
    let replicas = Replicas::count(unit, &globals, MAX_THREADS, sink)?;
    spawn::declare(unit, &replicas, &mut globals, sink);
    let methods = call::Methods::procedures(unit, &globals, sink);
    let mut origins = Origins::default();
    let (mut threads, mut spawned) = (Vec::new(), Vec::new());
    let mut unwritten = Unwritten { locations: spawn::locations(&globals), ..Unwritten::default() };
    let mut steps = 0;
    for (thread, count) in unit.threads.iter().zip(&replicas.counts) {
        let mut reached = reach::Reached::default();
        let numbers: Vec<Option<u32>> = match count {
            None => vec![None],
            Some(count) => (0..*count).map(Some).collect(),
        };
        for number in numbers {
            let room = MAX_STEPS - steps;
            let lowered =
                thread::lower(thread, number, room, &globals, &methods, &mut origins, sink)?;
            steps += lowered.thread.code.len();
            reached.add(&lowered);
            let tid = Tid::from(threads.len());
            unwritten.registers.extend(lowered.temporaries.iter().map(|&register| (tid, register)));
            unwritten.failures.extend(lowered.failures.iter().cloned());
            if globals.spawned.contains_key(thread.name.text) {
                spawned.push(tid);
            }
            threads.push(canonical::thread(&lowered.thread, globals.domain));
        }
        if !sink.has_errors() {
            reached.warn(sink);
        }
    }
    let mut program = Program::new(globals.domain, globals.flat.clone(), threads);
    program.spawned = spawned;
    program.condition = condition::lower(unit, &globals, &program, &mut origins, sink);
    Some(Lowered { program, spans: origins.spans, tracks, unwritten })
}

/// The spans of instructions. Equal spans have one origin, so that replicas have equal code.
#[derive(Default)]
struct Origins {
    spans: Vec<Span>,
    index: HashMap<Span, Origin>,
}

impl Origins {
    fn of(&mut self, span: Span) -> Origin {
        *self.index.entry(span).or_insert_with(|| {
            self.spans.push(span);
            Origin::from(self.spans.len() - 1)
        })
    }
}

/// An unknown name, with the closest known one.
fn unknown<'n>(name: Name, what: &str, known: impl IntoIterator<Item = &'n str>) -> Diagnostic {
    let label = match suggest::nearest(name.text, known) {
        Some(near) => format!("not {what}; did you mean `{near}`?"),
        None => format!("not {what}"),
    };
    Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown name `{}`", name.text))
        .with_label(name.span, label)
}

/// A second declaration of a name.
fn duplicate(name: Name, what: &str, first: Span) -> Diagnostic {
    Diagnostic::error(codes::DUPLICATE, format!("`{}` is declared twice", name.text))
        .with_label(name.span, format!("already {what}"))
        .with_label(first, "first declared here")
}

/// A second final condition.
fn duplicate_condition(second: Span, first: Span) -> Diagnostic {
    Diagnostic::error(codes::DUPLICATE, "a program has one final condition")
        .with_label(second, "already given; `&&` and `||` connect conditions")
        .with_label(first, "first given here")
}
