//! `fencepost fix` on memory orders and fences: which were changed, and what goes wrong without each change.

use super::site::{Row, correct, finding, left_alone, left_objects, place, reason, required, word};
use super::{Ending, page};
use crate::advice::Edit;
use crate::document::Document;
use crate::escape::visible;
use crate::input_report::InputReport;
use crate::sarif::Repair;
use crate::text::Detail;
use check::fix::orders::{Allowed, Found, Kind, Site, Strength};
use check::{Model, Question};
use lang::Source;
use lang::orders::Written;
use repair::{LeftAlone, Reordered, Variant};
use serde_json::{Value, json};

/// The changes of a program that make it correct.
pub struct ChangesReport<'a> {
    /// The program as it was.
    pub source: &'a Source,
    /// What a correct program is.
    pub question: &'a Question,
    /// The models on which it shall be correct.
    pub models: &'a [Model],
    /// Which changes were allowed.
    pub allowed: Allowed,
    /// What was changed.
    pub done: &'a Reordered,
    /// The accesses that cannot be changed.
    pub left: &'a [LeftAlone],
}

/// A site, the strength that was chosen for it, and what goes wrong without.
type Choice<'a> = (Row, Strength, Option<&'a Found>);

impl<'a> ChangesReport<'a> {
    fn row(&self, number: usize) -> Row {
        Row::of(&Written::of(self.source), self.source, number, &self.done.sites[number])
    }

    /// The sites whose order was changed, or was not.
    fn choices(&self, changed: bool) -> Vec<Choice<'a>> {
        let Reordered { assignment, sites, .. } = self.done;
        let text = Written::of(self.source);
        let of = |(number, site): (usize, &Site)| {
            let (strength, why) = (assignment.strengths[number], &assignment.reasons[number]);
            let wanted = (site.written != strength) == changed;
            let row = || Row::of(&text, self.source, number, site);
            wanted.then(|| (row(), strength, why.as_ref()))
        };
        sites.iter().enumerate().filter_map(of).collect()
    }

    /// All changes, in the order of the text.
    fn changes(&self) -> Vec<Choice<'a>> {
        let mut changes = self.choices(true);
        changes.sort_by(|(a, ..), (b, ..)| a.key().cmp(&b.key()));
        changes
    }

    /// For people: a line about all of it, and with [`Detail::Stories`] one about each change.
    pub fn document(&self, detail: Detail, ending: Ending) -> Document<'static> {
        let source = self.source;
        let mut document = Document::default();
        let changes = self.changes();
        document.line(self.headline(changes.len()));
        if detail == Detail::Stories {
            for (row, strength, why) in changes {
                let what = changed_to(&row, strength);
                document.line(format!("  {}  {what} `{}`", row.at(source), row.text));
                self.without(&mut document, why);
            }
            // What stays as it is written has its reason, too, if it could have become weaker.
            let kept = (self.allowed != Allowed::Stronger).then(|| self.choices(false));
            for (row, strength, why) in kept.into_iter().flatten().filter(|(.., why)| why.is_some())
            {
                let stays = word(row.kind, strength);
                document.line(format!("  {}  {stays} stays: `{}`", row.at(source), row.text));
                self.without(&mut document, why);
            }
            left_alone(&mut document, source, self.left);
        }
        for file in &self.done.files {
            ending.of(&mut document, &file.name, &file.before, &file.after);
        }
        document
    }

    /// Adds what goes wrong without a change.
    fn without(&self, document: &mut Document<'_>, why: Option<&Found>) {
        let Some(found) = why else { return };
        let finding = finding(self.source, found);
        let on = match found.model.machine() {
            Some(machine) => format!(" on {machine}"),
            None => String::new(),
        };
        document.line(format!("      without: {}, {}{on}", finding.message, place(&finding)));
    }

    /// The first line.
    fn headline(&self, changes: usize) -> String {
        let aim = correct(self.question, self.models);
        let name = visible(&self.source.name);
        let against = self.models.iter().map(|model| model.name()).collect::<Vec<_>>();
        let against = against.join(" and ");
        let (after, before) = self.done.cost;
        let least = match self.done.assignment.minimum {
            true if self.allowed == Allowed::Weaker => {
                "no cheaper ones will do if nothing becomes stronger"
            }
            true => "no cheaper ones of what can be changed will do",
            false => "whether cheaper ones would do was too much to find out",
        };
        let makes = match changes {
            0 if self.allowed != Allowed::Stronger => {
                return format!("{name}: {aim} against {against}, with orders as weak as can be");
            }
            0 => return format!("{name}: {aim} against {against} already"),
            1 => "1 change makes".to_string(),
            count => format!("{count} changes make"),
        };
        format!(
            "{name}: {makes} it {aim} against {against}; cost {before} before, {after} after, and {least}"
        )
    }

    /// For programs.
    pub fn object(&self) -> Value {
        let source = self.source;
        let of = |(row, strength, why): &Choice<'_>| {
            json!({
                "file": row.file, "line": row.place.0, "column": row.place.1, "what": row.kind.to_string(),
                "text": row.text, "new": row.new, "behind": row.behind,
                "from": word(row.kind, row.written), "to": word(row.kind, *strength),
                "because": why.map(|found| reason(source, found)),
            })
        };
        let Reordered { files, assignment, cost, .. } = self.done;
        let file = |file: &repair::Changed| json!({ "file": file.name, "text": file.after });
        json!({
            "file": source.name,
            "models": self.models.iter().map(|model| model.name()).collect::<Vec<_>>(),
            "aim": required(self.question),
            "changes": self.changes().iter().map(of).collect::<Vec<_>>(),
            "left_alone": left_objects(source, self.left),
            "cost": { "before": cost.1, "after": cost.0 }, "minimum": assignment.minimum,
            "searches": assignment.searches, "states": assignment.cost.states,
            "seconds": assignment.cost.elapsed.as_secs_f64(),
            "files": files.iter().map(file).collect::<Vec<_>>(),
        })
    }

    /// For code-scanning services.
    pub fn repair(&self) -> Repair {
        let changes = self.changes();
        let of = |(row, strength, _): &Choice<'_>| {
            let what = format!("{} `{}`", changed_to(row, *strength), row.text);
            (row.file.clone(), row.place.0, row.place.1, what)
        };
        Repair {
            text: self.headline(changes.len()),
            changes: changes.iter().map(of).collect(),
            edits: self.done.edits.iter().map(|edit| Edit::of(self.source, edit)).collect(),
        }
    }

    /// The program as it comes out, on each model, and with too little strength at one site each.
    pub fn pages(
        &self,
        results: &[Variant],
        without: &[(usize, Strength, Variant)],
    ) -> Vec<InputReport> {
        let name = match self.done.edits.is_empty() {
            true => self.source.name.clone(),
            false => format!("{}, changed", self.source.name),
        };
        let mut pages: Vec<InputReport> =
            results.iter().map(|result| page(result, name.clone())).collect();
        let mut without: Vec<(Row, &(usize, Strength, Variant))> =
            without.iter().map(|one| (self.row(one.0), one)).collect();
        without.sort_by(|(a, ..), (b, ..)| a.key().cmp(&b.key()));
        pages.extend(without.into_iter().map(|(row, (number, less, variant))| {
            let chosen = self.done.assignment.strengths[*number];
            let what = &row.text;
            let says = match (row.new, row.kind, *less) {
                (true, ..) => format!("without {} `{what}`", changed_to(&row, chosen)),
                (_, Kind::Fence, Strength::NONE) => format!("without `{what}`"),
                (_, _, less) => {
                    let (less, chosen) = (word(row.kind, less), word(row.kind, chosen));
                    format!("`{what}` with {less}, not {chosen}")
                }
            };
            page(variant, format!("{}, {}: {says}", row.file, row.at(self.source)))
        }));
        pages
    }
}

/// How a site is changed.
fn changed_to(row: &Row, strength: Strength) -> String {
    match (row.kind, row.new, strength.fence()) {
        (Kind::Fence, true, _) => {
            let side = if row.behind { "behind" } else { "before" };
            format!("new {} fence {side}", word(row.kind, strength))
        }
        (Kind::Fence, false, None) => "fence not needed:".to_string(),
        _ => format!("{} to {}:", word(row.kind, row.written), word(row.kind, strength)),
    }
}
