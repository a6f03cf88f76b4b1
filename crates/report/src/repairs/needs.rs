//! `fencepost orders`: how weak each access and fence may be if all others stay as they are, and what goes wrong with less.

use super::page;
use super::site::{Row, correct, finding, left_alone, left_objects, place, reason, required, word};
use crate::document::{Block, Document, Line, Table, TableRow};
use crate::escape::visible;
use crate::input_report::InputReport;
use crate::text::{self, Detail};
use check::fix::orders::{Kind, Need, Needs, Site, Strength};
use check::{Model, Question};
use lang::Source;
use lang::orders::Written;
use repair::{LeftAlone, Variant};
use serde_json::{Value, json};

/// What each access of a program needs.
pub struct NeedsReport<'a> {
    source: &'a Source,
    question: &'a Question,
    needs: &'a Needs,
    left: &'a [LeftAlone],
    /// The sites that the model reads, in the order of the text.
    rows: Vec<Row>,
    /// How many sites the model does not read.
    unread: usize,
}

impl<'a> NeedsReport<'a> {
    /// A report on `sites`, with what is needed at each; the accesses in `left` cannot be changed.
    pub fn new(
        source: &'a Source,
        question: &'a Question,
        sites: &[Site],
        needs: &'a Needs,
        left: &'a [LeftAlone],
    ) -> Self {
        let (text, model) = (Written::of(source), question.model);
        // Models with memory orders read everything; others cannot say of what they do not read whether it is needed.
        let is_read = |site: &Site| {
            let all = site.kind.parts().iter().all(|part| site.kind.read_by(model).has(*part));
            all || site.read_by(&[model]) != Strength::NONE
        };
        let read = sites.iter().enumerate().filter(|(_, site)| is_read(site));
        let mut rows: Vec<Row> =
            read.map(|(number, site)| Row::of(&text, source, number, site)).collect();
        rows.sort_by(|a, b| a.key().cmp(&b.key()));
        let unread = sites.len() - rows.len();
        NeedsReport { source, question, needs, left, rows, unread }
    }

    fn need(&self, row: &Row) -> &Need {
        &self.needs.each[row.number]
    }

    /// The numbers of the sites that the report is about, in the order of the text.
    pub fn sites(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().map(|row| row.number)
    }

    /// The numbers of the sites on lines that `is_line` names by file and number.
    pub fn sites_on(&self, is_line: impl Fn(&str, usize) -> bool) -> Vec<usize> {
        let here = self.rows.iter().filter(|row| is_line(&row.file, row.place.0));
        here.map(|row| row.number).collect()
    }

    /// What a check says of the program with another strength at a site.
    pub fn page(&self, site: usize, strength: Strength, variant: &Variant) -> Option<InputReport> {
        let row = self.rows.iter().find(|row| row.number == site)?;
        let suffices = self.suffices(row);
        let says = match strength == self.need(row).suffices {
            true => suffices,
            false => format!("with {} ({suffices})", word(row.kind, strength)),
        };
        let name = format!("{}, {}: `{}` {says}", row.file, row.at(self.source), row.text);
        Some(page(variant, name))
    }

    /// The whole story of what weaker orders at a site would allow.
    pub fn story<'b>(&self, site: usize, weaker: &'b [(Strength, InputReport)]) -> Document<'b> {
        let mut document = Document::default();
        let row = self.rows.iter().find(|row| row.number == site);
        let Some(row) = row else { return document };
        let least = word(row.kind, self.need(row).suffices);
        document.line(format!("{}: `{}`: {least} suffices", row.at(self.source), row.text));
        for (strength, report) in weaker {
            document.gap();
            document.line(format!("With {}:", word(row.kind, *strength)));
            document.gap();
            document.extend(text::document(report, Detail::Stories));
        }
        document
    }

    /// For people: a line about all of it, and with [`Detail::Stories`] one about each site.
    pub fn document(&self, detail: Detail) -> Document<'static> {
        let NeedsReport { source, question, rows, .. } = self;
        let is_weaker = |row: &&Row| self.need(row).suffices != row.written;
        let weaker = rows.iter().filter(is_weaker).count();
        let mut document = Document::default();
        document.line(format!(
            "{}: {} as it is written, against {}; {weaker} of {} orders could be weaker",
            visible(&source.name),
            correct(question, &[question.model]),
            question.model.name(),
            rows.len(),
        ));
        if detail == Detail::Verdicts {
            return document;
        }
        let rows = rows.iter().map(|row| self.row(row)).collect();
        document.push(Block::Table(Table { heads: Vec::new(), rows }));
        if self.unread > 0 {
            document.line(not_listed(self.unread, question.model));
        }
        left_alone(&mut document, source, self.left);
        if weaker > 1 {
            document.line(
                "Each of these is about one access alone; `fencepost fix --weaken` chooses for all of them together.",
            );
        }
        document
    }

    /// A site's place, text and need; below, what goes wrong with less.
    fn row(&self, row: &Row) -> TableRow {
        let need = self.need(row);
        let below = need.without.iter().map(|(part, found)| {
            let finding = finding(self.source, found);
            let less = match &*word(row.kind, row.kind.weakened(need.suffices, *part)) {
                "no" => "without".to_string(),
                less => format!("with {less}"),
            };
            Line::plain(format!("{less}: {}, {}", finding.message, place(&finding)))
        });
        TableRow {
            values: vec![row.at(self.source), shortened(&row.text)],
            notes: vec![self.suffices(row).into()],
            below: below.collect(),
        }
    }

    /// What is known of a site, in a few words.
    fn suffices(&self, row: &Row) -> String {
        let need = self.need(row);
        match need.suffices == row.written {
            _ if row.written == Strength::NONE => "as weak as can be".to_string(),
            true => format!("{} is needed", word(row.kind, row.written)),
            false if row.kind == Kind::Fence && need.suffices == Strength::NONE => {
                "not needed".to_string()
            }
            false => format!(
                "{} is more than needed: {} suffices",
                word(row.kind, row.written),
                word(row.kind, need.suffices)
            ),
        }
    }

    /// For programs.
    pub fn object(&self) -> Value {
        let of = |row: &Row| {
            let need = self.need(row);
            let why = need.without.iter().map(|(_, found)| reason(self.source, found));
            json!({
                "file": row.file, "line": row.place.0, "column": row.place.1, "what": row.kind.to_string(),
                "text": row.text, "written": word(row.kind, row.written), "suffices": word(row.kind, need.suffices),
                "needed": need.suffices == row.written, "because": why.collect::<Vec<_>>(),
            })
        };
        let sites: Vec<Value> = self.rows.iter().map(of).collect();
        let Needs { searches, cost, .. } = self.needs;
        json!({
            "file": self.source.name, "model": self.question.model.name(), "require": required(self.question),
            "sites": sites, "unread": self.unread, "left_alone": left_objects(self.source, self.left),
            "searches": searches, "states": cost.states, "seconds": cost.elapsed.as_secs_f64(),
        })
    }
}

/// Why some orders are not listed.
fn not_listed(unread: usize, model: Model) -> String {
    let others = if unread == 1 { "1 other".to_string() } else { format!("{unread} others") };
    let why = match model {
        Model::Ra => {
            "for ra every access acquires and releases, whatever is written; of fences, it knows seq_cst ones"
        }
        Model::Tso => "tso knows seq_cst stores and fences only",
        _ => "machines with store buffers know seq_cst and release stores and fences only",
    };
    format!("  {others} not listed: {why}. `--model rc11` says what they need in C, C++ and Rust.")
}

/// How much of a statement is shown in a table.
const WIDTH: usize = 60;

/// A statement, cut if it is long.
fn shortened(text: &str) -> String {
    match text.chars().count() > WIDTH {
        true => text.chars().take(WIDTH - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}
