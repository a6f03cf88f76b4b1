//! Declarations: the domain of values, constants, locations, and how many threads there are.

use super::{MAX_LOCATIONS, duplicate, unknown};
use crate::Track;
use crate::codes;
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Span;
use crate::syntax::{Declaration, Exact, Initial, Name, Unit};
use ir::{Domain, Edge, Loc, Location, LocationKind, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

const DEFAULT_MAX_VALUE: Value = 255;

/// A declared location or array.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) first: Loc,
    /// The array's length.
    pub(super) length: Option<u32>,
    pub(super) kind: LocationKind,
    pub(super) span: Span,
}

/// All that threads see of the declarations.
pub(super) struct Globals<'a> {
    pub(super) domain: Domain,
    /// Does the text say what the values are?
    pub(super) says_values: bool,
    pub(super) constants: BTreeMap<&'a str, (Exact, Span)>,
    pub(super) shared: BTreeMap<&'a str, Shared>,
    /// Locations with arrays flattened.
    pub(super) flat: Vec<Location>,
    /// The hidden locations of threads that are spawned, by the threads' names.
    pub(super) spawned: BTreeMap<&'a str, Shared>,
    /// The names of all threads.
    pub(super) threads: BTreeSet<&'a str>,
    /// Variables of other components, which are out of reach: whose they are, and where declared.
    pub(super) foreign: BTreeMap<&'a str, (String, Span)>,
    /// The location that `fence(upd)` updates, where fences are no steps of their own.
    pub(super) fence: Option<Loc>,
}

impl<'a> Globals<'a> {
    pub(super) fn declare(unit: &Unit<'a>, sink: &mut Sink) -> Self {
        let mut globals = Globals {
            domain: domain(unit, sink),
            says_values: !unit.values.is_empty(),
            constants: BTreeMap::new(),
            shared: BTreeMap::new(),
            flat: Vec::new(),
            spawned: BTreeMap::new(),
            threads: BTreeSet::new(),
            foreign: BTreeMap::new(),
            fence: None,
        };
        for constant in &unit.constants {
            if let Some((_, first)) = globals.constants.get(constant.name.text) {
                sink.push(duplicate(constant.name, "a constant", *first));
                continue;
            }
            // A constant without a value is still declared: its uses are not wrong.
            let value = globals.evaluate(&constant.value, sink).unwrap_or(0);
            globals.constants.insert(constant.name.text, (value, constant.name.span));
        }
        for declaration in &unit.locations {
            globals.location(declaration, sink);
        }
        globals
    }

    pub(super) fn location(&mut self, declaration: &Declaration<'a>, sink: &mut Sink) {
        let name = declaration.name;
        if let Some(first) = self.shared.get(name.text) {
            sink.push(duplicate(name, "a location", first.span));
            return;
        }
        if let Some((_, first)) = self.constants.get(name.text) {
            sink.push(duplicate(name, "a constant", *first));
            return;
        }
        let length = match &declaration.length {
            None => None,
            Some(expr) => match self.evaluate(expr, sink) {
                Some(length) if length < 1 => {
                    sink.push(
                        Diagnostic::error(codes::RANGE, "an array needs at least one element")
                            .with_label(expr.span, format!("the length is {length}")),
                    );
                    Some(1)
                }
                Some(length) if length > MAX_LOCATIONS as Exact => {
                    sink.push(too_many_locations(name));
                    Some(1)
                }
                Some(length) => Some(length as u32),
                None => Some(1),
            },
        };
        let count = length.unwrap_or(1);
        if self.flat.len() + count as usize > MAX_LOCATIONS {
            sink.push(too_many_locations(name));
            return;
        }
        let initial = self.initial_values(&declaration.initial, count, sink);
        let first = Loc::from(self.flat.len());
        for (element, initial) in (0..count).zip(initial) {
            self.flat.push(Location {
                name: name.text.to_string(),
                element: length.map(|_| element),
                initial,
                kind: declaration.kind,
            });
        }
        let shared = Shared { first, length, kind: declaration.kind, span: name.span };
        self.shared.insert(name.text, shared);
    }

    fn initial_values(&self, initial: &Initial, count: u32, sink: &mut Sink) -> Vec<Value> {
        let mut one = |expr| -> Value {
            let Some(value) = self.evaluate(expr, sink) else { return 0 };
            if let Some(value) = self.domain.value(value) {
                return value;
            }
            let message = format!("the initial value {value} is out of range");
            let label = format!("values are {}", self.domain);
            sink.push(
                Diagnostic::error(codes::RANGE, message)
                    .with_label(expr.span, label)
                    .with_help("`max_value N;` says what the largest value is"),
            );
            0
        };
        match initial {
            Initial::Zero => vec![0; count as usize],
            Initial::All(expr) => vec![one(expr); count as usize],
            Initial::Each(exprs, span) => {
                let values: Vec<Value> = exprs.iter().map(one).collect();
                if values.len() != count as usize {
                    let message = "the initial values do not match the array's length";
                    let label = format!("{} values for {count} elements", values.len());
                    sink.push(Diagnostic::error(codes::RANGE, message).with_label(*span, label));
                }
                let rest = std::iter::repeat(0);
                values.into_iter().chain(rest).take(count as usize).collect()
            }
        }
    }

    /// The hints, once their names and values are checked.
    pub(super) fn tracks(&self, unit: &Unit<'a>, sink: &mut Sink) -> Vec<Track> {
        let mut tracks = Vec::new();
        for hint in &unit.tracks {
            if sink.is_full() {
                break;
            }
            if !self.shared.contains_key(hint.name.text) {
                sink.push(unknown(hint.name, "a location", self.shared.keys().copied()));
                continue;
            }
            let mut values = hint.values.as_ref().map(|_| Vec::new());
            for &(value, span) in hint.values.iter().flatten() {
                match (self.domain.value(value), &mut values) {
                    (Some(value), Some(values)) => values.push(value),
                    _ => sink.push(
                        Diagnostic::error(codes::RANGE, format!("no location ever holds {value}"))
                            .with_label(span, format!("values are {}", self.domain)),
                    ),
                }
            }
            tracks.push(Track { location: hint.name.text.to_string(), values });
        }
        tracks
    }
}

fn too_many_locations(name: Name) -> Diagnostic {
    let message = format!("more than {MAX_LOCATIONS} locations");
    Diagnostic::error(codes::LIMIT, message)
        .with_label(name.span, "this one is too many; array elements count one each")
}

fn domain(unit: &Unit, sink: &mut Sink) -> Domain {
    let Some(first) = unit.values.first() else { return Domain::modulo(DEFAULT_MAX_VALUE) };
    if let Some(second) = unit.values.get(1) {
        let message = match second.keyword == first.keyword {
            true => format!("`{}` is given twice", first.keyword),
            false => format!("`{}` and `{}` are both given", first.keyword, second.keyword),
        };
        sink.push(
            Diagnostic::error(codes::DUPLICATE, message)
                .with_label(second.span, "already given")
                .with_label(first.span, "first given here"),
        );
    }
    match (Value::try_from(first.min), Value::try_from(first.max)) {
        (Ok(min @ ..=0), Ok(max @ 1..)) => Domain { min, max, edge: Edge::Wrap },
        _ => {
            let (message, label) = match first.keyword {
                "max_value" => (
                    format!("`max_value` cannot be {}", first.max),
                    format!("expected 1..={}", Value::MAX),
                ),
                _ => (
                    format!("values cannot be {}..={}", first.min, first.max),
                    "expected 64-bit numbers, 0 and 1 among them".to_string(),
                ),
            };
            sink.push(Diagnostic::error(codes::RANGE, message).with_label(first.span, label));
            Domain::modulo(DEFAULT_MAX_VALUE)
        }
    }
}

/// How many threads each declaration makes; `None` for one that is not an array of threads.
pub(super) struct Replicas {
    pub(super) counts: Vec<Option<u32>>,
}

impl Replicas {
    /// `None` if a number of threads makes no sense, or there are more than `most` in all, which is reported.
    pub(super) fn count(
        unit: &Unit,
        globals: &Globals,
        most: usize,
        sink: &mut Sink,
    ) -> Option<Self> {
        if unit.threads.is_empty() {
            sink.push(
                Diagnostic::error(codes::NO_THREADS, "the program has no threads")
                    .with_help("a thread is written `thread t { … }`"),
            );
            return None;
        }
        let mut declared: HashMap<&str, Span> = HashMap::new();
        let mut counts = Vec::new();
        let mut total = 0usize;
        let mut too_many = None;
        for thread in &unit.threads {
            if let Some(first) = declared.insert(thread.name.text, thread.name.span) {
                sink.push(duplicate(thread.name, "a thread", first));
            }
            let count = match &thread.count {
                None => None,
                Some(expr) => {
                    let count = globals.evaluate(expr, sink)?;
                    if count < 1 {
                        let message = format!("`{}` has no threads", thread.name.text);
                        sink.push(
                            Diagnostic::error(codes::NO_THREADS, message)
                                .with_label(expr.span, format!("the number is {count}")),
                        );
                    }
                    Some(u32::try_from(count.max(1)).unwrap_or(u32::MAX))
                }
            };
            total = total.saturating_add(count.unwrap_or(1) as usize);
            if total > most && too_many.is_none() {
                too_many = Some(thread.name.span);
            }
            counts.push(count);
        }
        if let Some(span) = too_many {
            let message = format!("{total} threads are more than {most}");
            let label = if unit.threads.len() == 1 {
                "these are too many"
            } else {
                "too many from here on"
            };
            sink.push(Diagnostic::error(codes::LIMIT, message).with_label(span, label));
            return None;
        }
        Some(Replicas { counts })
    }
}
