//! Reports as text for terminals.
//!
//! Every analysis fills a [`Document`], and [`render`] makes text of it. One file gets its
//! verdicts, and a [`story`] for what is wrong; many files get a line each and a [`Tally`].

pub mod amount;
mod cycle;
mod history;
mod lanes;
mod render;
mod story;
mod style;
mod wrap;

pub use render::render;
pub use story::story;
pub(crate) use story::{last_effect, last_step, reservations, sentence, step_effect};
pub use style::{Ink, Look};

use crate::document::{Block, Document, Line};
use crate::escape::{columns, pad, visible};
use crate::input_report::{Attacks, InputReport, Reply, Standing, Unchecked};
use crate::ruling::Ruling;
use check::Property;
use std::time::Duration;

/// How much to say about a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// The verdicts.
    Verdicts,
    /// The verdicts, and a story for everything that is wrong.
    Stories,
}

/// The report on one file.
pub fn file(report: &InputReport, detail: Detail, look: &Look) -> String {
    render(&document(report, detail), look)
}

/// What there is to say about one file.
pub(crate) fn document(report: &InputReport, detail: Detail) -> Document<'_> {
    let cost = &report.cost;
    let mut document = Document::default();
    document.line(Line::inked(Ink::Strong, visible(&report.file)).then(format!(
        ": {}, {}, {}",
        report.model,
        amount::plural(cost.states, "state"),
        amount::time(cost.elapsed),
    )));
    let rows = report.replies.iter().map(|reply| (reply.property, ruling(report, reply)));
    let exists = report.exists.iter().map(|answer| ("exists", Line::plain(answer)));
    document.rows(rows.chain(exists).chain(not_asked(&report.unchecked)));
    if detail == Detail::Verdicts {
        return document;
    }
    let stuck = report.stuck.iter().filter(|_| report.extent == check::Extent::All);
    let mut told = false;
    for finding in report.findings().chain(stuck) {
        told = true;
        document.gap();
        document.push(Block::Message(report, finding.diagnostic()));
        document.gap();
        document.extend(story::told(finding));
    }
    if report.limited {
        document.gap();
        document.sentences(MORE);
    }
    if let Some(conclusion) = &report.conclusion {
        if told {
            document.gap();
        }
        document.line(Line::inked(Ink::Good, conclusion));
    }
    document
}

/// A row for each question that was not asked.
pub(crate) fn not_asked(unchecked: &[Unchecked]) -> impl Iterator<Item = (&'static str, Line)> {
    unchecked.iter().map(|Unchecked { property, why }| {
        (*property, Line::inked(Ink::Warning, "not checked").then(format!(": {why}")))
    })
}

/// What to do about a limit.
const MORE: &str = "\
    What to do: give it more by --limit-states, --limit-memory or --limit-time; or look for violations in \
    deep states first by --search dfs.";

fn ruling(report: &InputReport, reply: &Reply) -> Line {
    let ink = match &reply.standing {
        Standing::Ordinary => reply.ruling.ink(),
        Standing::Accepted(_) => Ink::Good,
        Standing::Open(_) => Ruling::Undecided.ink(),
        Standing::Refused(_) => Ink::Bad,
    };
    let word = Line::inked(ink, reply.ruling.name());
    if let Standing::Accepted(why) | Standing::Open(why) | Standing::Refused(why) = &reply.standing
    {
        return word.then(format!(", {why}"));
    }
    let said = match (&reply.why, reply.findings.len()) {
        (Some(why), _) => word.then(format!(": {why}")),
        (None, more @ 2..) => word.then(format!(", in {more} places")),
        (None, 0) => match reply.scope() {
            Some(scope) => word.then(format!(" {scope}")),
            None => word,
        },
        (None, 1) => word,
    };
    let said = match reply.known.len() as u64 {
        0 => said,
        known => said.then(format!("; {known} more known")),
    };
    match report.attacks.filter(|_| reply.property == Property::Robustness.name()) {
        Some(Attacks { attacks, attacks_examined, method }) => {
            said.then(format!("  ({attacks_examined} of {attacks} attacks examined by {method})"))
        }
        None => said,
    }
}

/// One line about a file among many; `names` is the width of the names' column.
pub fn line(report: &InputReport, names: usize, look: &Look) -> String {
    let overall = report.ruling();
    let verdict = if report.faults.is_empty() {
        look.paint(overall.ink(), &pad(overall.name(), VERDICTS))
    } else {
        look.paint(Ink::Bad, &pad("error", VERDICTS))
    };
    let mut notes: Vec<String> = report
        .replies
        .iter()
        .filter(|reply| match &reply.standing {
            Standing::Ordinary => reply.ruling == overall && overall != Ruling::Holds,
            Standing::Accepted(_) => false,
            Standing::Open(_) => overall == Ruling::Undecided,
            Standing::Refused(_) => true,
        })
        .map(|reply| match &reply.standing {
            Standing::Refused(why) => format!("{} {}, {why}", reply.property, reply.ruling.name()),
            _ => reply.property.to_string(),
        })
        .collect();
    let known = report.replies.iter().map(|reply| reply.known.len()).sum::<usize>();
    match known + report.known_faults.len() {
        0 => {}
        known => notes.push(format!("{known} known")),
    }
    match (report.warnings.len() + report.stuck.len()) as u64 {
        0 => {}
        warnings => notes.push(amount::plural(warnings, "warning")),
    }
    let cost = format!(
        "{:>10} states  {:>8}",
        amount::count(report.cost.states),
        amount::time(report.cost.elapsed)
    );
    let line =
        format!("{}  {verdict}  {cost}  {}", pad(&visible(&report.file), names), notes.join(", "));
    format!("{}\n", line.trim_end())
}

/// The line about a file that could not be checked.
pub fn error_line(file: &str, names: usize, look: &Look) -> String {
    format!("{}  {}\n", pad(&visible(file), names), look.paint(Ink::Bad, "error"))
}

/// The width of the verdicts' column.
const VERDICTS: usize = 9;

/// How wide the column of names must be, if there is room for it.
pub fn names_width<'a>(names: impl Iterator<Item = &'a str>, look: &Look) -> usize {
    let widest = names.map(|name| columns(&visible(name))).max().unwrap_or(0);
    widest.min(look.width.saturating_sub(VERDICTS + 26).max(20))
}

/// How many files got which answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Everything asked holds.
    pub hold: usize,
    /// Something is violated.
    pub violated: usize,
    /// It is not known.
    pub undecided: usize,
    /// Could not be checked, or has run-time errors.
    pub errors: usize,
}

impl Tally {
    /// Counts a file that was checked.
    pub fn add(&mut self, ruling: Ruling, faulty: bool) {
        match ruling {
            _ if faulty => self.errors += 1,
            Ruling::Holds => self.hold += 1,
            Ruling::Violated => self.violated += 1,
            Ruling::Undecided => self.undecided += 1,
        }
    }

    /// The last line of a report on many files.
    pub fn summary(&self, elapsed: Duration) -> String {
        let Tally { hold, violated, undecided, errors } = self;
        let all = (hold + violated + undecided + errors) as u64;
        format!(
            "{}: {hold} hold, {violated} violated, {undecided} undecided, {} in {}\n",
            amount::plural(all, "program"),
            amount::plural(*errors as u64, "error"),
            amount::time(elapsed),
        )
    }
}
