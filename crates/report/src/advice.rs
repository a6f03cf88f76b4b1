//! What to do about a finding, in the user's terms. [`check::remedy`] says what is known to help; that no
//! other execution goes wrong is not known, so the advice is always to check again.

use crate::finding::Kind;
use crate::place::Place;
use crate::proof::{Event, EventKind, Proof};
use check::Certificate;
use check::remedy::{self, Strengthen};
use ir::Program;
use lang::Source;
use serde::Serialize;

/// One thing that can be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Advice {
    /// It, as a sentence.
    pub text: String,
    /// What to insert where, if it comes down to that; all of it together.
    pub edits: Vec<Edit>,
}

/// A text to insert.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edit {
    /// The line, counted from 1.
    pub line: usize,
    /// The column before which to insert, counted from 1 in characters.
    pub column: usize,
    /// The text.
    pub insert: String,
}

impl Advice {
    /// Advice without edits.
    pub fn new(text: impl Into<String>) -> Self {
        Advice { text: text.into(), edits: Vec::new() }
    }
}

/// What to do about a finding of this kind with this certificate.
pub fn advice(
    source: &Source,
    program: &Program,
    kind: Kind,
    certificate: Option<&Certificate>,
    proof: Option<&Proof>,
) -> Vec<Advice> {
    let mut all = Vec::new();
    match (kind, certificate, proof) {
        (Kind::Race, ..) => all.push(Advice::new(
            "order the two accesses, for instance by a `rel` store after the first that an `acq` load \
             before the second reads, or by a lock around both; or make the location atomic",
        )),
        (Kind::Assertion | Kind::FinalState, ..) => all.push(Advice::new(
            "this is an interleaving, possible on every machine: no fence or memory order forbids it",
        )),
        (_, Some(certificate), Some(proof)) if certificate.cycle.is_some() => {
            all.extend(release_acquire(program, certificate, proof));
            all.extend(fences(source, program, certificate, proof, !all.is_empty()));
            if all.is_empty() {
                all.push(Advice::new(
                    "make the accesses of the cycle stronger, or put `fence(seq_cst);` between those of \
                     each thread",
                ));
            }
            if kind == Kind::Dependency {
                all.push(Advice::new("or make sure that a stale value is thrown away unused"));
            }
        }
        _ => {}
    }
    all
}

/// Release and acquire where the cycle passes values on, if that rules the execution out.
fn release_acquire(program: &Program, certificate: &Certificate, proof: &Proof) -> Option<Advice> {
    let mut changes: Vec<String> = Vec::new();
    for (id, how) in remedy::synchronisation(program, certificate)? {
        let mode = match how {
            Strengthen::Release => "rel",
            Strengthen::Acquire => "acq",
        };
        let change = format!("{} `{mode}`", location_of(&proof.events[id.index()]));
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    Some(Advice::new(format!("make {}: that rules this execution out", and(&changes))))
}

/// Where fences rule the cycle out.
fn fences(
    source: &Source,
    program: &Program,
    certificate: &Certificate,
    proof: &Proof,
    alternative: bool,
) -> Option<Advice> {
    let mut places: Vec<String> = Vec::new();
    let mut edits: Option<Vec<Edit>> = Some(Vec::new());
    for (from, to) in remedy::unfenced(program, certificate) {
        let (from, to) = (&proof.events[from.index()], &proof.events[to.index()]);
        let thread = from.thread.as_deref().unwrap_or("?");
        let place = between(thread, from.place.as_ref(), to.place.as_ref());
        if !places.contains(&place) {
            places.push(place);
        }
        let edit = to.place.as_ref().filter(|to| starts_statement(&source.text, to));
        match (&mut edits, edit) {
            (Some(edits), Some(Place { line, column, .. })) => {
                let edit = Edit { line: *line, column: *column, insert: FENCE.to_string() };
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
            _ => edits = None,
        }
    }
    if places.is_empty() {
        return None;
    }
    let or = if alternative { "or put" } else { "put" };
    let each = if places.len() > 1 {
        "both ".repeat(usize::from(places.len() == 2))
    } else {
        String::new()
    };
    let list = and(&places);
    let text = format!("{or} `fence(seq_cst);` {each}{list}: that rules this cycle out");
    Some(Advice { text, edits: edits.unwrap_or_default() })
}

/// The fence that is inserted.
const FENCE: &str = "fence(seq_cst); ";

/// Can a statement be put before this one without changing what the others mean? Only if it stands
/// behind the end of another or the start of a block: `if (r) x.store(1);` has one too few braces.
fn starts_statement(text: &str, place: &Place) -> bool {
    let before = text.get(..place.span.start).unwrap_or_default();
    let code = before.lines().map(|line| line.split("//").next().unwrap_or_default());
    let last = code.flat_map(str::chars).rfind(|c| !c.is_whitespace());
    matches!(last, Some(';' | '{' | '}'))
}

/// A fence between two statements of a thread.
pub fn fence_between(source: &Source, thread: &str, from: &Place, to: &Place) -> Advice {
    let Place { line, column, .. } = *to;
    let edit = Edit { line, column, insert: FENCE.to_string() };
    Advice {
        text: format!("put `fence(seq_cst);` {}", between(thread, Some(from), Some(to))),
        edits: Some(edit).filter(|_| starts_statement(&source.text, to)).into_iter().collect(),
    }
}

fn between(thread: &str, from: Option<&Place>, to: Option<&Place>) -> String {
    match (from, to) {
        (Some(a), Some(b)) if a.line < b.line => {
            format!("between line {} and line {} of `{thread}`", a.line, b.line)
        }
        (Some(a), Some(b)) if a.line > b.line => {
            format!("on the way from line {} back to line {} of `{thread}`", a.line, b.line)
        }
        (Some(a), Some(b)) => {
            format!("between `{}` and `{}` (line {}) of `{thread}`", a.text, b.text, a.line)
        }
        _ => format!("in `{thread}`"),
    }
}

/// The access as advice calls it: `the store of line 4`.
fn location_of(event: &Event) -> String {
    let what = match event.kind {
        EventKind::Write => "store",
        EventKind::Update => "update",
        _ => "read",
    };
    match &event.place {
        Some(place) => format!("the {what} of line {}", place.line),
        None => format!("the initial {what}"),
    }
}

/// `a`, `a and b`, `a, b and c`
fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
