//! Memory orders of a text: which can be changed, the cheapest that are correct, and the text that has them.
//!
//! [`check::fix::orders`] chooses orders for the sites of a program, and [`lang::orders`] edits the text of a site.
//! [`changeable`] pairs the two, [`reorder`] chooses for all sites together, and [`needs`] asks for each site alone.

use crate::fences::waits_alike;
use check::fix::orders::{
    Allowed, Assignment, Goal, Kind, Loops, Needs, NoAssignment, Places, Site, Sites, Strength,
    apply, assign, atomic, each, sites,
};
use check::robustness::store_atomic::Faulty;
use check::{Answer, Model, Problem, Question, Require, Verdict, Why};
use ir::{Origin, Program};
use lang::orders::{AccessKind, Edit, Orders, Written, changed};
use lang::{Source, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Reads a program again, with some of its files changed, or says why that cannot be.
pub type Reread<'a> = dyn Fn(&[Changed]) -> Result<Source, String> + 'a;

/// An atomic access or fence whose order cannot be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftAlone {
    /// Its place in the text.
    pub origin: Origin,
    /// What it is.
    pub kind: Kind,
    /// Why it stays as it is.
    pub why: String,
}

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

/// What can be changed in a text, and what cannot.
#[derive(Clone, Debug)]
pub struct Changeable {
    /// What can.
    pub sites: Vec<Site>,
    /// What cannot, though it is atomic.
    pub alone: Vec<LeftAlone>,
}

/// What a step of a kind does, as a text is asked for it.
pub fn access(kind: Kind) -> AccessKind {
    match kind {
        Kind::Read => AccessKind::Load,
        Kind::Write => AccessKind::Store,
        Kind::Update => AccessKind::Update,
        Kind::CompareExchange => AccessKind::CompareExchange,
        Kind::Fence => AccessKind::Fence,
    }
}

/// Does a line stay as it is?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It need not.
    No,
    /// The user says so.
    Asked,
    /// It is in a header of the system, which is not the user's to change.
    System,
}

/// The sites of a text that can be changed. `keep` says which lines of which files stay as they are; a new fence may
/// stand in front of those that the user keeps. What none of the models reads does not become weaker.
pub fn changeable(
    source: &Source,
    only: Only,
    models: &[Model],
    keep: impl Fn(&str, usize) -> Kept,
) -> Changeable {
    let text = Written::of(source);
    // What the thread library does where a thread begins or waits is not written there.
    let of_library = |origin| source.effects.contains_key(&origin);
    let operation = |origin, kind| {
        let found = text.operation(origin, access(kind)).ok();
        let found = found.filter(|_| !of_library(origin))?;
        let (file, line, _) = source.place(found.span.start);
        (keep(file, line) == Kept::No).then_some(found.span.start)
    };
    let is_system = |at: usize| {
        let (file, line, _) = source.place(at);
        keep(file, line) == Kept::System
    };
    let places = Places {
        operation,
        before: |origin| {
            let found = (only != Only::Orders).then(|| text.before(origin))?;
            found.filter(|(start, _)| !is_system(*start))
        },
        behind: |origin| {
            let found = (only != Only::Orders).then(|| text.behind(origin))?;
            found.filter(|at| !is_system(*at))
        },
    };
    let Sites { mut changeable, uneven } = sites(&source.program, &places);
    // A plain access to what others access atomically looks like an operator on an atomic object, but is relaxed.
    changeable.retain(|site| {
        let found = || text.operation(site.origin, access(site.kind));
        let implicit = || found().is_ok_and(|found| found.is_implicit());
        site.new || site.written.has(Strength::SC) || !implicit()
    });
    changeable.iter_mut().for_each(|site| site.keep_unread(models));
    let mut alone: Vec<LeftAlone> = Vec::new();
    let mut add = |origin: Origin, kind: Kind, why: String| {
        let same = |other: &LeftAlone| {
            source.span(other.origin) == source.span(origin)
                && source.exact(other.origin) == source.exact(origin)
                && other.kind == kind
        };
        if !alone.iter().any(same) {
            alone.push(LeftAlone { origin, kind, why });
        }
    };
    for site in uneven {
        let why = match site.kind {
            Kind::CompareExchange => {
                "it is stronger where it fails, or not the same wherever it is used"
            }
            Kind::Fence => {
                "it is not the same wherever it is used, or stands between a choice and a wait"
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
        {
            let why = match text.operation(step.origin, access(kind)) {
                Ok(found) if is_system(found.span.start) => {
                    add(step.origin, kind, "it is in a header of the system".into());
                    continue;
                }
                Ok(_) => continue,
                Err(why) => why,
            };
            // What is weaker than operators are is a plain access that meets atomic ones.
            let plain = matches!(kind, Kind::Read | Kind::Write) && !written.has(Strength::SC);
            if !plain || why != lang::orders::Alone::ValueUsed {
                add(step.origin, kind, why.to_string());
            }
        }
    }
    alone.sort_by_key(|left| source.exact(left.origin));
    if only == Only::Fences {
        changeable.retain(|site| site.kind == Kind::Fence);
        alone.retain(|left| left.kind == Kind::Fence);
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
    /// What turned out to have no place in the text when it was tried.
    pub alone: Vec<LeftAlone>,
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
    /// The changed text does something else than was meant.
    Other,
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
            NotReordered::Other => f.write_str(
                "there is a solution, but the changed text would do something else than it does now",
            ),
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

impl NotReordered {
    /// Is it the text that has no place for a solution, so that another one may have one?
    fn is_of_the_text(&self) -> bool {
        match self {
            NotReordered::Unwritable
            | NotReordered::Unreadable(_)
            | NotReordered::Other
            | NotReordered::Unproved(None) => true,
            NotReordered::NoAssignment(_) | NotReordered::Unproved(Some(_)) => false,
        }
    }
}

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

/// How often a solution is looked for without what turned out to have no place in the text.
const ATTEMPTS: usize = 8;

/// The program with the cheapest orders with which it is what `goal` says.
///
/// What a text means is known once it is read again. An operator may be written in a way that was not understood, or a fence may
/// stand elsewhere than in the program, in front of a loop whose head calls a function, say. Then each change is tried alone, those
/// that cannot be written are left alone, and another solution is looked for without them.
pub fn reorder(
    source: &Source,
    sites: &[Site],
    allowed: Allowed,
    goal: &Goal<'_>,
    reread: &Reread<'_>,
) -> Result<Reordered, NotReordered> {
    let mut sites = sites.to_vec();
    let mut alone = Vec::new();
    let mut attempt = 1;
    loop {
        let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
        let assignment = assign(&source.program, &sites, allowed, goal, &|_, _| {})
            .map_err(NotReordered::NoAssignment)?;
        let why = match write(source, &sites, &assignment, &written, goal, reread) {
            Ok(done) => return Ok(Reordered { alone, ..done }),
            Err(why) => why,
        };
        if !why.is_of_the_text() || attempt == ATTEMPTS {
            return Err(why);
        }
        let bad = unwritable(source, &sites, &assignment, goal, reread);
        if bad.is_empty() {
            return Err(why);
        }
        for (site, why) in bad.iter().filter_map(|(k, why)| Some((&sites[*k], why.as_ref()?))) {
            let (origin, kind, why) = (site.origin, site.kind, why.clone());
            alone.push(LeftAlone { origin, kind, why });
        }
        let mut number = 0;
        sites.retain(|_| {
            number += 1;
            !bad.contains_key(&(number - 1))
        });
        attempt += 1;
    }
}

/// The changes that have no place in the text, and why if that is known.
fn unwritable(
    source: &Source,
    sites: &[Site],
    assignment: &Assignment,
    goal: &Goal<'_>,
    reread: &Reread<'_>,
) -> BTreeMap<usize, Option<String>> {
    let written: Vec<Strength> = sites.iter().map(|site| site.written).collect();
    let is_changed = |k: &usize| assignment.strengths[*k] != written[*k];
    let mut bad = BTreeMap::new();
    for k in (0..sites.len()).filter(is_changed) {
        if goal.question.limits.budget.spent().is_some() {
            break;
        }
        let mut strengths = written.clone();
        strengths[k] = assignment.strengths[k];
        let why = match rewritten(source, sites, &strengths, reread) {
            Ok(_) => continue,
            Err(NotReordered::Unwritable) => "the text has no place for another order",
            Err(NotReordered::Other) => "with another order, the text would do something else",
            Err(_) => "with another order, the text would not compile",
        };
        bad.insert(k, (!sites[k].new).then(|| why.to_string()));
    }
    if bad.is_empty() {
        // Each can be written. What remains is that a fence stands elsewhere than meant.
        let is_new_fence = |k: &usize| sites[*k].new && is_changed(k);
        bad.extend((0..sites.len()).filter(is_new_fence).map(|k| (k, None)));
    }
    bad
}

/// Does a program do what is meant? Each thread makes the accesses that it should make to what threads share, with the orders that
/// they should have. Fences may stand elsewhere; memory that only one thread uses, or nobody writes, may be left out of one
/// program and not of the other; and compiled threads may have one access in more or fewer states.
fn is_as_meant(meant: &Program, got: &Program) -> bool {
    let name = |program: &Program, loc: ir::Loc| {
        let location = &program.locations[loc.index()];
        (location.name.clone(), location.element)
    };
    let accesses = |program: &Program| {
        let mut found: BTreeMap<_, (BTreeSet<usize>, bool, BTreeSet<_>)> = BTreeMap::new();
        for (tid, _, step) in program.steps() {
            let (Some(place), Some(what)) = (step.instr.place(), atomic(&step.instr)) else {
                continue;
            };
            let (threads, written, all) = found.entry(name(program, place.base)).or_default();
            threads.insert(tid.index());
            *written |= step.instr.may_write();
            all.insert((tid.index(), what));
        }
        found
    };
    let (meant, got) = (accesses(meant), accesses(got));
    let is_shared = |threads: &BTreeSet<usize>, written: bool| threads.len() > 1 && written;
    let agrees = |one: &BTreeMap<_, _>, other: &BTreeMap<_, (_, _, BTreeSet<_>)>| {
        one.iter()
            .filter(|(_, (threads, written, _))| is_shared(threads, *written))
            .all(|(name, (_, _, all))| other.get(name).is_some_and(|(_, _, others)| others == all))
    };
    agrees(&meant, &got) && agrees(&got, &meant)
}

/// The changes of a text that give its sites these strengths, the files they change, and the program that was read from them.
pub(crate) fn rewritten(
    source: &Source,
    sites: &[Site],
    strengths: &[Strength],
    reread: &Reread<'_>,
) -> Result<(Vec<Edit>, Vec<Changed>, Source), NotReordered> {
    let changes: Vec<_> = sites
        .iter()
        .zip(strengths)
        .filter(|(site, strength)| site.written != **strength)
        .filter_map(|(site, strength)| Some((site.origin, orders(site, *strength)?)))
        .collect();
    let edits = Written::of(source).edits(&changes).ok_or(NotReordered::Unwritable)?;
    let files = files(source, &edits);
    // What is not changed is checked as it is: that sites stand for what is written is not taken on trust.
    let again = match files.is_empty() {
        true => source.clone(),
        false => reread(&files).map_err(NotReordered::Unreadable)?,
    };
    let is_as_meant = is_as_meant(&apply(&source.program, sites, strengths), &again.program);
    match is_as_meant && waits_alike(&source.program, &again.program) {
        true => Ok((edits, files, again)),
        false => Err(NotReordered::Other),
    }
}

/// The text with an assignment, checked.
fn write(
    source: &Source,
    sites: &[Site],
    assignment: &Assignment,
    written: &[Strength],
    goal: &Goal<'_>,
    reread: &Reread<'_>,
) -> Result<Reordered, NotReordered> {
    let (edits, files, again) = rewritten(source, sites, &assignment.strengths, reread)?;
    for &model in goal.models {
        confirm(&again, &Question { model, ..*goal.question })?;
    }
    let loops = Loops::of(&source.program);
    let price = |strengths: &[Strength]| {
        let one = |(site, strength): (&Site, &Strength)| goal.costs.of(&loops, site, *strength);
        sites.iter().zip(strengths).map(one).sum::<u64>()
    };
    let cost = (price(&assignment.strengths), price(written));
    let (sites, assignment, alone) = (sites.to_vec(), assignment.clone(), Vec::new());
    Ok(Reordered { files, edits, cost, sites, assignment, alone })
}

/// Checks a text that was changed, as any other. Against machines with store buffers it is about robustness alone.
pub(crate) fn confirm(source: &Source, question: &Question) -> Result<(), NotReordered> {
    let answer: Answer = check::check(&source.program, question, &|_, _| {})
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
        if robustness && question.require == Require::Safe {
            continue;
        }
        match &decision.verdict {
            Verdict::Holds => {}
            // Whether assertions fail is another question; that no run-time error was met before a limit is no answer.
            Verdict::Violated(_) if machine && !robustness => {}
            Verdict::Undecided(why) if machine && !robustness && !matches!(why, Why::Limit(_)) => {}
            Verdict::Violated(_) => return Err(NotReordered::Unproved(None)),
            Verdict::Undecided(why) => return Err(NotReordered::Unproved(Some(*why))),
        }
    }
    Ok(())
}

/// What each site of a text needs, all others as they are.
pub fn needs(source: &Source, sites: &[Site], goal: &Goal<'_>) -> Result<Needs, NotReordered> {
    let known =
        each(&source.program, sites, goal, &|_, _| {}).map_err(NotReordered::NoAssignment)?;
    for &model in goal.models {
        confirm(source, &Question { model, ..*goal.question })?;
    }
    Ok(known)
}
