//! Advice about a finding, in the user's terms.
//!
//! There are two kinds. [`check::remedy`] names changes that rule out one execution: a *step*, after which the next check may
//! find something else. The crate `repair` finds changes after which the program is correct; this advice ([`enough`])
//! replaces the steps ([`crate::InputReport::advise`]).

use crate::finding::Kind;
use crate::place::Place;
use crate::proof::{Event, EventKind, Proof};
use crate::repairs::correct;
use check::remedy::{self, Strengthen};
use check::{Certificate, Question};
use ir::Program;
use lang::Source;
use lang::orders::{Written, in_words};
use lang::source::Language;
use repair::{Enough, orders};
use serde::Serialize;

/// One thing that can be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Advice {
    /// It, as a sentence.
    pub text: String,
    /// What to insert where, if it comes down to that; all of it together.
    pub edits: Vec<Edit>,
    /// Is it known that nothing goes wrong any more if this is done?
    pub enough: bool,
    /// Is it about memory orders and fences, and only a step?
    #[serde(skip)]
    pub step: bool,
}

/// A text to put in place of another, or to insert.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edit {
    /// The line, counted from 1.
    pub line: usize,
    /// The column before which to insert, counted from 1 in characters.
    pub column: usize,
    /// Where what is replaced ends: the same place if nothing is.
    pub end_line: usize,
    /// The column there.
    pub end_column: usize,
    /// The text.
    pub insert: String,
}

impl Edit {
    /// An insertion.
    pub fn at(line: usize, column: usize, insert: String) -> Self {
        Edit { line, column, end_line: line, end_column: column, insert }
    }

    /// An edit of a source's text, by file, lines and columns.
    pub(crate) fn of(source: &Source, edit: &lang::orders::Edit) -> (String, Edit) {
        let (file, line, column) = source.place(edit.span.start);
        let (_, end_line, end_column) = source.place(edit.span.end);
        let insert = edit.text.clone();
        (file.to_string(), Edit { line, column, end_line, end_column, insert })
    }
}

impl Advice {
    /// Advice without edits.
    pub fn new(text: impl Into<String>) -> Self {
        Advice { text: text.into(), edits: Vec::new(), enough: false, step: false }
    }

    /// Advice about orders or fences that rules out one execution.
    fn step(text: impl Into<String>, edits: Vec<Edit>) -> Self {
        Advice { text: text.into(), edits, enough: false, step: true }
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
    let words = Words::of(source.language);
    match (kind, certificate, proof) {
        (Kind::Race, ..) => {
            all.push(Advice::step(
                format!(
                    "order the two accesses, for instance by a `{}` store after the first that an `{}` load \
                     before the second reads, or by a lock around both; or make the location atomic",
                    words.release, words.acquire
                ),
                Vec::new(),
            ));
        }
        (Kind::Assertion | Kind::FinalState, None, _) => all.push(Advice::new(
            "this is an interleaving, possible on every machine: no fence or memory order forbids it",
        )),
        (_, Some(certificate), Some(proof)) if certificate.cycle.is_some() => {
            all.extend(release_acquire(&words, program, certificate, proof));
            if all.is_empty() {
                all.extend(sequential(&words, program, certificate, proof));
            }
            all.extend(fences(source, program, certificate, proof, !all.is_empty()));
            if all.is_empty() {
                let text = format!(
                    "make the accesses of the cycle stronger, or put `{}` between those of each thread",
                    words.fence
                );
                all.push(Advice::step(text, Vec::new()));
            }
            if kind == Kind::Dependency {
                all.push(Advice::new("or make sure that a stale value is thrown away unused"));
            }
        }
        _ => {}
    }
    all
}

/// Changes that are enough to make the program of `source` correct, as advice.
pub fn enough(source: &Source, question: &Question, enough: &Enough) -> Option<Advice> {
    let text = Written::of(source);
    let fence = |words: &str| {
        let article = if words.starts_with(['a', 'O']) { "an" } else { "a" };
        format!("{article} `{words}` fence")
    };
    let mut said: Vec<(usize, String)> = Vec::new();
    for (site, strength) in &enough.changes {
        let found = text.operation(site.origin, orders::access(site.kind));
        let start = found.map_or(source.exact(site.origin), |found| found.span.start);
        let (file, line, _) = source.place(start);
        let line = match file == source.name {
            true => format!("line {line}"),
            false => format!("line {line} of {file}"),
        };
        let words = in_words(source.language, orders::orders(site, *strength)?)?;
        let change = match (site.new, site.behind) {
            (true, false) => format!("put {} before {line}", fence(&words)),
            (true, true) => format!("put {} behind {line}", fence(&words)),
            (false, _) => format!("make the {} of {line} `{words}`", site.kind),
        };
        said.push((start, change));
    }
    said.sort();
    let said: Vec<String> = said.into_iter().map(|(_, what)| what).collect();
    let then = correct(question, &[question.model]);
    let unread = match enough.confirmed {
        true => "",
        false => {
            " (so far as the program tells that was compiled: the changed text was not compiled again)"
        }
    };
    // An edit belongs to the report only if it is one of the file that the report is about.
    let own = |edit| Some(Edit::of(source, edit)).filter(|(file, _)| *file == source.name);
    let edits: Option<Vec<(String, Edit)>> = enough.edits.iter().map(own).collect();
    Some(Advice {
        text: format!("{}: that is enough, the program is then {then}{unread}", and(&said)),
        edits: edits.unwrap_or_default().into_iter().map(|(_, edit)| edit).collect(),
        enough: true,
        step: false,
    })
}

/// Release and acquire where the cycle passes values on, if that rules the execution out.
fn release_acquire(
    words: &Words,
    program: &Program,
    certificate: &Certificate,
    proof: &Proof,
) -> Option<Advice> {
    let mut changes: Vec<String> = Vec::new();
    for (id, how) in remedy::synchronisation(program, certificate)? {
        let mode = match how {
            Strengthen::Release => words.release,
            Strengthen::Acquire => words.acquire,
        };
        let change = format!("{} `{mode}`", location_of(&proof.events[id.index()]));
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    Some(Advice::step(format!("make {}: that rules this execution out", and(&changes)), Vec::new()))
}

/// `seq_cst` for the accesses of the cycle that are weaker than its others, if that rules the execution out.
fn sequential(
    words: &Words,
    program: &Program,
    certificate: &Certificate,
    proof: &Proof,
) -> Option<Advice> {
    let mut changes: Vec<String> = Vec::new();
    for id in remedy::sequential(program, certificate)? {
        let change = location_of(&proof.events[id.index()]);
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let (list, sequential) = (and(&changes), words.sequential);
    let text = format!("make {list} `{sequential}`, too: that rules this execution out");
    Some(Advice::step(text, Vec::new()))
}

/// Where fences rule the cycle out.
fn fences(
    source: &Source,
    program: &Program,
    certificate: &Certificate,
    proof: &Proof,
    alternative: bool,
) -> Option<Advice> {
    let words = Words::of(source.language);
    let mut places: Vec<String> = Vec::new();
    let mut edits: Option<Vec<Edit>> = Some(Vec::new());
    for (from, to) in remedy::unfenced(program, certificate) {
        let (from, to) = (&proof.events[from.index()], &proof.events[to.index()]);
        let thread = from.thread.as_deref().unwrap_or("?");
        let place = between(thread, from.place.as_ref(), to.place.as_ref());
        if !places.contains(&place) {
            places.push(place);
        }
        let edit = to.place.as_ref().filter(|to| takes_edit(&source.text, to));
        match (&mut edits, edit) {
            (Some(edits), Some(Place { line, column, .. })) => {
                let edit = Edit::at(*line, *column, words.inserted());
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
    let text = format!("{or} `{}` {each}{list}: that rules this cycle out", words.fence);
    Some(Advice::step(text, edits.unwrap_or_default()))
}

/// What advice calls things, in the user's language.
struct Words {
    release: &'static str,
    acquire: &'static str,
    sequential: &'static str,
    fence: &'static str,
}

impl Words {
    fn of(language: Language) -> Self {
        let (release, acquire, sequential, fence) = match language {
            Language::Algorithms => ("rel", "acq", "sc", "fence(seq_cst);"),
            Language::C => (
                "memory_order_release",
                "memory_order_acquire",
                "memory_order_seq_cst",
                "atomic_thread_fence(memory_order_seq_cst);",
            ),
            Language::Cpp => (
                "std::memory_order_release",
                "std::memory_order_acquire",
                "std::memory_order_seq_cst",
                "std::atomic_thread_fence(std::memory_order_seq_cst);",
            ),
            Language::Rust => (
                "Ordering::Release",
                "Ordering::Acquire",
                "Ordering::SeqCst",
                "fence(Ordering::SeqCst);",
            ),
        };
        Words { release, acquire, sequential, fence }
    }

    /// The fence as it is inserted before a statement.
    fn inserted(&self) -> String {
        format!("{} ", self.fence)
    }
}

/// Can a fence be put before a statement by an edit of the input itself?
fn takes_edit(text: &str, place: &Place) -> bool {
    place.elsewhere.is_none() && starts_statement(text, place)
}

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
    let words = Words::of(source.language);
    let edit = Edit::at(line, column, words.inserted());
    Advice::step(
        format!("put `{}` {}", words.fence, between(thread, Some(from), Some(to))),
        Some(edit).filter(|_| takes_edit(&source.text, to)).into_iter().collect(),
    )
}

fn between(thread: &str, from: Option<&Place>, to: Option<&Place>) -> String {
    match (from, to) {
        (Some(a), Some(b)) if a.line < b.line => {
            format!("between line {} and line {} of `{thread}`", a.line_text(), b.line_text())
        }
        (Some(a), Some(b)) if a.line > b.line => {
            let (a, b) = (a.line_text(), b.line_text());
            format!("on the way from line {a} back to line {b} of `{thread}`")
        }
        (Some(a), Some(b)) => {
            let line = a.line_text();
            format!("between `{}` and `{}` (line {line}) of `{thread}`", a.text, b.text)
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
        Some(place) => format!("the {what} of line {}", place.line_text()),
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
