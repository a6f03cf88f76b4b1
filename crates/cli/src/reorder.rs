//! Memory orders of a text: which can be changed, the cheapest that are correct, and the text that has them.
//!
//! [`check::fix::orders`] knows programs, [`lang::orders`] knows texts; here they meet. Every text that comes out was
//! read or compiled again, and checked again as it stands: nothing is claimed of a program in memory.

use ::check::fix::orders::Costs;
use ::check::fix::orders::{
    Assignment, Goal, Kind, Need, NoAssignment, Places, Site, Sites, Strength, assign, atomic,
    each, sites,
};
use ::check::robustness::store_atomic::Faulty;
use ::check::{
    Answer, Beyond, Cost, DoubleCheck, Problem, Property, Question, Require, Verdict, Why,
};
use ::report::advice::{self, Advice};
use ir::Origin;
use lang::orders::{Edit, Orders, Written, changed, in_words};
use lang::{Source, Span};
use search::Limits;
use std::fmt;
use std::time::Duration;

/// Which sites may be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Only {
    /// Orders of accesses and of fences that are there.
    Orders,
    /// Fences that are there, and new ones.
    Fences,
    /// All of them.
    All,
}

/// From where strengths may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Floor {
    /// The program as it is written is only made stronger.
    Written,
    /// Everything may become relaxed, and fences may go.
    Nothing,
}

/// The file, line and column of a byte of a source, the latter two from 1.
pub fn place(source: &Source, offset: usize) -> (&str, usize, usize) {
    let (line, column) = source.line_column(offset);
    match source.file_at(offset) {
        Some((file, first)) => (&file.name, line + 1 - first, column),
        None => (&source.name, line, column),
    }
}

/// What can be changed in a text, and what cannot.
#[derive(Clone, Debug)]
pub struct Changeable {
    /// What can.
    pub sites: Vec<Site>,
    /// What cannot, though it is atomic: where it is in the text, what, and why not.
    pub alone: Vec<(Origin, Kind, String)>,
}

/// The sites of a text that can be changed. `keep` says which lines of which files stay as they are; a new fence may
/// stand in front of them all the same.
pub fn changeable(source: &Source, only: Only, keep: impl Fn(&str, usize) -> bool) -> Changeable {
    let text = Written::of(source);
    // What the thread library does where a thread begins or waits is not written there.
    let of_library = |origin| source.effects.contains_key(&origin);
    let operation = |origin| {
        let found = text.operation(origin).ok().filter(|_| !of_library(origin))?;
        let (file, line, _) = place(source, found.span.start);
        (!keep(file, line)).then_some(found.span.start)
    };
    let places = Places {
        operation,
        before: |origin| (only != Only::Orders).then(|| text.before(origin))?,
        behind: |origin| (only != Only::Orders).then(|| text.behind(origin))?,
    };
    let Sites { mut changeable, uneven } = sites(&source.program, &places);
    // A plain access to what others access atomically looks like an operator on an atomic object, but is relaxed.
    changeable.retain(|site| {
        let implicit = || text.operation(site.origin).is_ok_and(|found| found.is_implicit());
        site.new || site.written.has(Strength::SC) || !implicit()
    });
    let mut alone: Vec<(Origin, Kind, String)> = Vec::new();
    let mut add = |origin: Origin, kind: Kind, why: String| {
        let same = |(other, ..): &(Origin, Kind, String)| {
            source.span(*other) == source.span(origin)
                && source.exact(*other) == source.exact(origin)
        };
        if !alone.iter().any(same) {
            alone.push((origin, kind, why));
        }
    };
    for site in uneven {
        let why = match site.kind {
            Kind::CompareExchange => {
                "it is stronger where it fails, or not the same wherever it is used"
            }
            _ => "its order is not the same wherever it is used",
        };
        add(site.origin, site.kind, why.into());
    }
    for (_, _, step) in source.program.steps() {
        let span = source.span(step.origin);
        if span.start < span.end
            && !of_library(step.origin)
            && let Some((kind, written)) = atomic(&step.instr)
            && let Err(why) = text.operation(step.origin)
        {
            // What is weaker than operators are is a plain access that meets atomic ones.
            let plain = matches!(kind, Kind::Read | Kind::Write) && !written.has(Strength::SC);
            if !plain || why != lang::orders::Alone::ValueUsed {
                add(step.origin, kind, why.to_string());
            }
        }
    }
    alone.sort_by_key(|(origin, ..)| source.exact(*origin));
    if only == Only::Fences {
        changeable.retain(|site| site.kind == Kind::Fence);
        alone.retain(|(_, kind, _)| *kind == Kind::Fence);
    }
    Changeable { sites: changeable, alone }
}

/// A file before and after a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// What messages call it.
    pub name: String,
    /// Its text as it was.
    pub before: String,
    /// Its text now.
    pub after: String,
}

/// A program with the cheapest orders.
#[derive(Clone, Debug)]
pub struct Reordered {
    /// The files that are changed.
    pub files: Vec<Changed>,
    /// What is exchanged in the text of the source.
    pub edits: Vec<Edit>,
    /// What it costs, and what the text as it was did.
    pub cost: (u64, u64),
    /// The sites that could be changed.
    pub sites: Vec<Site>,
    /// Their strengths.
    pub assignment: Assignment,
}

/// Why there is none.
#[derive(Clone, Debug)]
pub enum NotReordered {
    /// No assignment was found.
    NoAssignment(NoAssignment),
    /// The text cannot be written with these orders.
    Unwritable,
    /// The changed text could not be read again.
    Unreadable(String),
    /// The changed text is not known to be correct.
    Unproved(Option<Why>),
}

impl fmt::Display for NotReordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReordered::NoAssignment(why) => why.fmt(f),
            NotReordered::Unwritable => {
                f.write_str("there is a solution, but the text has no place to write it")
            }
            NotReordered::Unreadable(why) => {
                write!(f, "there is a solution, but the changed text cannot be read again: {why}")
            }
            NotReordered::Unproved(None) => f.write_str(
                "there is a solution, but not at the places where it would be written: put braces around single \
                 statements and take accesses out of conditions of loops",
            ),
            NotReordered::Unproved(Some(why)) => {
                write!(f, "the changed program could not be checked once more: {why}")
            }
        }
    }
}

impl std::error::Error for NotReordered {}

/// The orders of a site in a text.
pub fn orders(site: &Site, strength: Strength) -> Option<Orders> {
    Some(match site.kind {
        Kind::Read => Orders::Load(strength.read()),
        Kind::Write => Orders::Store(strength.write()),
        Kind::Update => Orders::Update(strength.read(), strength.write()),
        Kind::CompareExchange => {
            Orders::CompareExchange(strength.read(), strength.write(), strength.fail())
        }
        Kind::Fence if site.behind => Orders::FenceBehind(strength.fence()?),
        Kind::Fence if site.new => Orders::NewFence(strength.fence()?),
        Kind::Fence => Orders::Fence(strength.fence()),
    })
}

/// The files of a source that edits change.
fn files(source: &Source, edits: &[Edit]) -> Vec<Changed> {
    let whole = Span::new(0, source.text.len());
    let one = [(source.name.clone(), whole)];
    let several =
        source.files.iter().map(|file| (file.name.clone(), file.span)).collect::<Vec<_>>();
    let all = if several.is_empty() { &one[..] } else { &several[..] };
    let change = |(name, span): &(String, Span)| {
        let before = &source.text[span.start..span.end];
        let after = changed(before, span.start, edits);
        (after != before).then(|| Changed { name: name.clone(), before: before.to_string(), after })
    };
    all.iter().filter_map(change).collect()
}

/// How often a solution is looked for without the places for fences that turned out to be none.
const ATTEMPTS: usize = 6;

/// The program with the cheapest orders with which it is what `goal` says. `reread` reads the program again, with some of
/// its files changed.
///
/// A fence in the text may stand elsewhere than in the program, in front of a loop whose head calls a function, say. Then what is
/// written is not correct, and another solution is looked for without that place.
pub fn reorder(
    source: &Source,
    sites: &[Site],
    floor: Floor,
    goal: &Goal<'_>,
    reread: &dyn Fn(&[Changed]) -> Result<Source, String>,
) -> Result<Reordered, NotReordered> {
    let mut sites = sites.to_vec();
    let mut attempt = 1;
    loop {
        let (assignment, written) = match once(source, &sites, floor, goal, reread) {
            (Ok(done), _) => return Ok(done),
            (Err(NotReordered::Unproved(None)), Some(assignment)) if attempt < ATTEMPTS => {
                (assignment, sites.len())
            }
            (Err(why), _) => return Err(why),
        };
        let mut number = 0;
        sites.retain(|site| {
            number += 1;
            !site.new || assignment.strengths[number - 1].fence().is_none()
        });
        if sites.len() == written {
            return Err(NotReordered::Unproved(None));
        }
        attempt += 1;
    }
}

/// One attempt, and the assignment that it wrote.
fn once(
    source: &Source,
    sites: &[Site],
    floor: Floor,
    goal: &Goal<'_>,
    reread: &dyn Fn(&[Changed]) -> Result<Source, String>,
) -> (Result<Reordered, NotReordered>, Option<Assignment>) {
    let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
    let least = match floor {
        Floor::Written => written.clone(),
        Floor::Nothing => vec![Strength::NONE; sites.len()],
    };
    let assignment = match assign(&source.program, sites, &least, goal, &|_, _| {}) {
        Ok(assignment) => assignment,
        Err(why) => return (Err(NotReordered::NoAssignment(why)), None),
    };
    let done = write(source, sites, &assignment, &written, goal, reread);
    (done, Some(assignment))
}

/// The text with an assignment, checked.
fn write(
    source: &Source,
    sites: &[Site],
    assignment: &Assignment,
    written: &[Strength],
    goal: &Goal<'_>,
    reread: &dyn Fn(&[Changed]) -> Result<Source, String>,
) -> Result<Reordered, NotReordered> {
    let changes: Vec<_> = sites
        .iter()
        .zip(&assignment.strengths)
        .filter(|(site, strength)| site.written != **strength)
        .filter_map(|(site, strength)| Some((site.origin, orders(site, *strength)?)))
        .collect();
    let edits = Written::of(source).edits(&changes).ok_or(NotReordered::Unwritable)?;
    let files = files(source, &edits);
    // What is not changed is checked as it is: that sites stand for what is written is not taken on trust.
    let again = match files.is_empty() {
        true => source,
        false => &reread(&files).map_err(NotReordered::Unreadable)?,
    };
    for &model in goal.models {
        confirm(again, &Question { model, ..*goal.question })?;
    }
    let price = |strengths: &[Strength]| {
        let costs = goal.costs;
        let one = |(site, strength): (&Site, &Strength)| costs.of(&source.program, site, *strength);
        sites.iter().zip(strengths).map(one).sum::<u64>()
    };
    let cost = (price(&assignment.strengths), price(written));
    let (sites, assignment) = (sites.to_vec(), assignment.clone());
    Ok(Reordered { files, edits, cost, sites, assignment })
}

/// Checks a text that was changed, as any other. Against machines with store buffers it is about robustness alone.
fn confirm(source: &Source, question: &Question) -> Result<(), NotReordered> {
    let answer: Answer = ::check::check(&source.program, question, &|_, _| {})
        .map_err(|refused| NotReordered::NoAssignment(NoAssignment::Refused(refused[0])))?;
    let machine = question.model.machine().is_some();
    if let Some((witness, fault)) = answer.faults.iter().find_map(|witness| match witness.problem {
        Problem::Fault(fault) => Some((witness, fault)),
        _ => None,
    }) {
        let faulty = Faulty { tid: witness.tid, pc: witness.pc, fault };
        return Err(NotReordered::NoAssignment(NoAssignment::Faulty(question.model, faulty)));
    }
    for decision in &answer.decisions {
        let robustness = decision.property == question.property;
        if robustness && question.require == Require::Safe || machine && !robustness {
            continue;
        }
        match &decision.verdict {
            Verdict::Holds => {}
            Verdict::Violated(_) => return Err(NotReordered::Unproved(None)),
            Verdict::Undecided(why) => return Err(NotReordered::Unproved(Some(*why))),
        }
    }
    Ok(())
}

/// What each site of a text needs, all others as they are.
pub fn needs(
    source: &Source,
    sites: &[Site],
    goal: &Goal<'_>,
) -> Result<(Vec<Need>, Cost), NotReordered> {
    let known =
        each(&source.program, sites, goal, &|_, _| {}).map_err(NotReordered::NoAssignment)?;
    for &model in goal.models {
        confirm(source, &Question { model, ..*goal.question })?;
    }
    Ok(known)
}

/// How long advice may be looked for, and how many states a search for it may have.
const ADVICE_TIME: Duration = Duration::from_millis(500);
const ADVICE_STATES: u64 = 20_000;

/// Changes of orders and fences that are enough to make a program correct, and no more than needed, if that is found out in no
/// time.
pub fn enough(source: &Source, question: &Question) -> Option<Advice> {
    let written = source.litmus.is_none() && !lang::trencher::looks_like(&source.text);
    let robustness =
        matches!(question.property, Property::Robustness | Property::ObservationalRobustness);
    if !written || !robustness || question.require == Require::Safe || source.rounds.is_some() {
        return None;
    }
    let limits = Limits {
        states: Some(ADVICE_STATES),
        budget: question.limits.budget.at_most(ADVICE_TIME),
        ..question.limits
    };
    let (beyond, double_check) = (Beyond::Nothing, DoubleCheck::Never);
    let question = Question { limits, beyond, double_check, jobs: 1, ..*question };
    // Where a fence in compiled code stands is known only once it is compiled again.
    let only = if source.columns.is_empty() { Only::All } else { Only::Orders };
    let sites = changeable(source, only, |_, _| false).sites;
    let least: Vec<Strength> = sites.iter().map(|site| site.written).collect();
    let models = [question.model];
    let goal = Goal { models: &models, question: &question, costs: &Costs::GENERIC };
    let assignment = assign(&source.program, &sites, &least, &goal, &|_, _| {}).ok()?;
    let text = Written::of(source);
    let mut changes = Vec::new();
    let mut said: Vec<(usize, String)> = Vec::new();
    let fence = |words: &str| {
        let article = if words.starts_with(['a', 'O']) { "an" } else { "a" };
        format!("{article} `{words}` fence")
    };
    for (site, &strength) in sites.iter().zip(&assignment.strengths) {
        if site.written == strength {
            continue;
        }
        let orders = orders(site, strength)?;
        changes.push((site.origin, orders));
        let start = text.operation(site.origin).map_or(source.exact(site.origin), |f| f.span.start);
        let (file, line, _) = place(source, start);
        let line = match file == source.name {
            true => format!("line {line}"),
            false => format!("line {line} of {file}"),
        };
        let words = in_words(source.language, orders)?;
        said.push((
            start,
            match (site.new, site.behind) {
                (true, false) => format!("put {} before {line}", fence(&words)),
                (true, true) => format!("put {} behind {line}", fence(&words)),
                (false, _) => format!("make the {} of {line} `{words}`", site.kind),
            },
        ));
    }
    if said.is_empty() {
        return None;
    }
    let edits = text.edits(&changes)?;
    if source.columns.is_empty() {
        let after = changed(&source.text, 0, &edits);
        let again = lang::parse_any(&source.name, &after).ok()?;
        confirm(&again, &question).ok()?;
    }
    said.sort();
    let said: Vec<String> = said.into_iter().map(|(_, what)| what).collect();
    let list = match &said[..] {
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
        [] => return None,
    };
    let then = match (question.model.machine().is_some(), question.property) {
        (true, _) => "robust",
        (_, Property::ObservationalRobustness) => "observationally robust and free of races",
        _ => "robust and free of races",
    };
    let edits = edits.iter().map(|edit| insertion(source, edit)).collect::<Option<Vec<_>>>();
    Some(Advice {
        text: format!("{list}: that is enough, the program is then {then}"),
        edits: edits.unwrap_or_default(),
        enough: true,
        step: false,
    })
}

/// An edit by lines and columns, if it is one of the file that the report is about.
fn insertion(source: &Source, edit: &Edit) -> Option<advice::Edit> {
    let (file, line, column) = place(source, edit.span.start);
    let (_, end_line, end_column) = place(source, edit.span.end);
    let insert = edit.text.clone();
    (file == source.name).then_some(advice::Edit { line, column, end_line, end_column, insert })
}
