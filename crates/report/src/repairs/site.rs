//! A site as the user sees it: its place, the text there, its order in words, and what goes wrong with less.

use crate::document::Document;
use crate::finding::Finding;
use check::fix::orders::{Found, Kind, Site, Strength};
use check::{Model, Property, Question, Require};
use lang::orders::Written;
use lang::{Source, Span};
use repair::LeftAlone;
use repair::orders::access;
use serde_json::{Value, json};

/// A site as the user sees it.
pub(super) struct Row {
    /// The site's number.
    pub number: usize,
    pub file: String,
    /// Line and column, from 1, in that file.
    pub place: (usize, usize),
    pub text: String,
    pub kind: Kind,
    pub written: Strength,
    pub new: bool,
    /// Is it a new fence behind the statement?
    pub behind: bool,
}

impl Row {
    pub(super) fn of(text: &Written<'_>, source: &Source, number: usize, site: &Site) -> Row {
        let whole = source.span(site.origin);
        let before =
            || text.before(site.origin).map(|(start, _)| Span::new(start, whole.end.max(start)));
        let span = match site.new {
            true if site.behind => whole,
            true => before().unwrap_or(whole),
            false => {
                let found = text.operation(site.origin, access(site.kind));
                found.map_or(whole, |found| found.span)
            }
        };
        let (file, line, column) = source.place(span.start);
        let file = file.to_string();
        let statement = source.snippet(whole);
        let text = source.snippet(span).to_string();
        // A method's name alone does not say whose it is.
        let start = source.span(site.origin).start;
        let text = match start < span.start && !site.new && text.len() < statement.len() {
            true => statement.to_string(),
            false => text,
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Site { kind, written, new, behind, .. } = *site;
        Row { number, file, place: (line, column), text, kind, written, new, behind }
    }

    /// Its place in words.
    pub(super) fn at(&self, source: &Source) -> String {
        at(source, &self.file, self.place)
    }

    /// What sorts sites in the order of the text.
    pub(super) fn key(&self) -> (&str, (usize, usize)) {
        (&self.file, self.place)
    }
}

/// A place in words. The file is named if the program has several.
fn at(source: &Source, file: &str, (line, column): (usize, usize)) -> String {
    match source.files.len() > 1 && file != source.name {
        true => format!("{file}:{line}:{column}"),
        false => format!("line {line}:{column}"),
    }
}

/// Adds a line for each access that was left alone, with the reason.
pub(super) fn left_alone(document: &mut Document<'_>, source: &Source, left: &[LeftAlone]) {
    for LeftAlone { origin, kind, why } in left {
        let (file, line, column) = source.place(source.exact(*origin));
        let text = source.snippet(source.span(*origin)).trim();
        let at = at(source, file, (line, column));
        document.line(format!("  {at}  {kind} left alone: {why}: `{text}`"));
    }
}

/// The same as objects.
pub(super) fn left_objects(source: &Source, left: &[LeftAlone]) -> Vec<Value> {
    let object = |LeftAlone { origin, kind, why }: &LeftAlone| {
        let (file, line, column) = source.place(source.exact(*origin));
        let text = source.snippet(source.span(*origin)).trim();
        json!({
            "file": file, "line": line, "column": column, "what": kind.to_string(), "text": text, "why": why,
        })
    };
    left.iter().map(object).collect()
}

/// The strength of a kind of access in a word or two.
pub(super) fn word(kind: Kind, strength: Strength) -> String {
    let both = Strength::ACQUIRE.with(Strength::RELEASE);
    let one = match () {
        () if strength.has(Strength::SC) => "seq_cst",
        () if strength.has(both) => "acq_rel",
        () if strength.has(Strength::ACQUIRE) => "acquire",
        () if strength.has(Strength::RELEASE) => "release",
        () if kind == Kind::Fence => "no",
        () => "relaxed",
    };
    if kind != Kind::CompareExchange {
        return one.to_string();
    }
    let fail = match () {
        () if strength.has(Strength::FAIL_SC) => "seq_cst",
        () if strength.has(Strength::FAIL_ACQUIRE) => "acquire",
        () => "relaxed",
    };
    format!("{one}/{fail}")
}

/// What a program is that meets the goal. Machines with store buffers know no races.
pub(crate) fn correct(question: &Question, models: &[Model]) -> &'static str {
    match (question.require, question.property) {
        _ if models.iter().all(|model| model.machine().is_some()) => "robust",
        (Require::Safe, _) => "safe",
        (_, Property::ObservationalRobustness) => "observationally robust and free of races",
        _ => "robust and free of races",
    }
}

pub(super) fn required(question: &Question) -> &'static str {
    match question.require {
        Require::Safe => "safe",
        Require::Robust => question.property.name(),
    }
}

/// What goes wrong, in the user's terms.
pub(super) fn finding(source: &Source, found: &Found) -> Finding {
    Finding::of(source, &found.program, found.model, Some(found.property), &found.witness)
}

pub(super) fn place(finding: &Finding) -> String {
    format!("line {}", finding.place.line)
}

pub(super) fn reason(source: &Source, found: &Found) -> Value {
    let finding = finding(source, found);
    json!({ "property": found.property.name(), "message": finding.message, "line": finding.place.line })
}
