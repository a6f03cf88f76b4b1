//! A finding as a story: how it comes about, what goes wrong, why no interleaving explains it, and
//! what to do.

use super::render::render;
use super::style::Look;
use super::wrap::glued;
use crate::document::{Block, Cell, Document, Link};
use crate::escape::visible;
use crate::finding::{Finding, Kind, binding};
use crate::place::Place;
use crate::proof::{EdgeKind, Event, EventKind, Proof};
use crate::run::Step;

/// What an execution shows that refutes plain robustness only.
const INCONCLUSIVE: &str = "\
    Note: taken alone, this execution shows only that a stale value may be read. That the program can \
    tell is what the monitors conclude, and their check of observational robustness is sound but not \
    complete: it never misses a violation, but it may be too strict here.";

/// What is to be said of an execution beside what it shows.
pub(crate) fn reservations(finding: &Finding) -> Vec<&'static str> {
    let inconclusive = finding.certificate.iter().filter(|proof| !proof.conclusive);
    inconclusive.map(|_| INCONCLUSIVE).collect()
}

/// The whole story of a finding, without its diagnostic, as text.
pub fn story(finding: &Finding, look: &Look) -> String {
    render(&told(finding), look)
}

/// The whole story of a finding, without its diagnostic.
pub(crate) fn told(finding: &Finding) -> Document<'static> {
    let mut story = Document::default();
    let cells = cells(finding);
    if !cells.is_empty() {
        story.heading("How it comes about, one step after the other:");
        story.push(Block::Run(cells));
    }
    let notes = reservations(finding).into_iter().map(str::to_string);
    for said in what_goes_wrong(finding).into_iter().chain(notes) {
        story.gap();
        story.sentences(said);
    }
    if let Some(proof) = &finding.certificate
        && !proof.cycle.is_empty()
    {
        story.gap();
        story.heading(
            "No interleaving does this: each of these would have to come before the next.",
        );
        story.push(Block::Cycle(cycle(proof)));
    }
    if !finding.advice.is_empty() {
        story.gap();
        story.heading("What to do:");
        for advice in &finding.advice {
            story.point(&advice.text);
        }
        let enough = finding.advice.iter().any(|advice| advice.enough);
        if finding.problem != Kind::Assertion && !enough {
            story.line("Then check again: something else may still go wrong.");
        }
    }
    story
}

/// The steps worth showing, ending with the one that goes wrong.
fn cells(finding: &Finding) -> Vec<Cell> {
    let marked = marked_steps(finding);
    let mut cells: Vec<Cell> = finding
        .run
        .iter()
        .enumerate()
        .filter(|(index, step)| step.is_shown() || marked.iter().any(|(at, _)| at == index))
        .map(|(index, step)| {
            let mark = marked.iter().find(|(at, _)| *at == index).map(|(_, text)| text.clone());
            cell(step, mark)
        })
        .collect();
    cells.extend(last_step(finding).map(|effect| Cell {
        tid: finding.tid,
        thread: finding.thread.clone(),
        statement: statement(&finding.place),
        effect,
        wrong: true,
    }));
    cells
}

/// The effect of the step that goes wrong after the run, unless the run has it already.
pub(crate) fn last_step(finding: &Finding) -> Option<String> {
    let in_run = |proof| step_of(finding, proof, proof.access()).is_some();
    let done = match finding.problem {
        _ if finding.certificate.as_ref().is_some_and(|proof| proof.timeline) => true,
        _ if finding.observed.is_some() => true,
        Kind::Race => finding.certificate.as_ref().is_some_and(in_run),
        Kind::DelayedStore | Kind::TriangularRace | Kind::NotSerializable => true,
        _ => false,
    };
    (!done).then(|| last_effect(finding))
}

/// What goes wrong, in a sentence or two.
pub(crate) fn sentence(finding: &Finding) -> Option<String> {
    what_goes_wrong(finding).map(|sentence| super::wrap::unglued(&sentence))
}

/// What a step of the run did, or could have done where it matters.
pub(crate) fn step_effect(finding: &Finding, step: &Step) -> String {
    let position = finding.run.iter().position(|other| std::ptr::eq(other, step));
    let marks = marked_steps(finding);
    let mark = marks.into_iter().find(|(at, _)| Some(*at) == position);
    mark.map_or_else(|| effect(step), |(_, text)| text)
}

fn cell(step: &Step, mark: Option<String>) -> Cell {
    Cell {
        tid: step.tid,
        thread: step.thread.clone(),
        statement: statement(&step.place),
        wrong: mark.is_some(),
        effect: mark.unwrap_or_else(|| effect(step)),
    }
}

fn statement(place: &Place) -> String {
    format!("{}: {}", place.line_text(), place.text)
}

/// What a step did to memory, or learnt from it.
fn effect(step: &Step) -> String {
    if let Some(effect) = &step.effect {
        return effect.clone();
    }
    let location = step.location.as_deref().unwrap_or("");
    match (&step.read, &step.written) {
        (None, Some(written)) if step.action == "issue" => format!("{location} = {written} waits"),
        (None, Some(written)) if step.action == "commit" => {
            format!("{location} = {written} gets to memory")
        }
        (Some(read), None) if step.action == "load-own" => format!("reads {read}, its own"),
        (Some(read), Some(written)) => format!("{location}: {read} → {written}"),
        (Some(read), None) if step.action == "cas" && step.newer > 0 => {
            format!("reads {read}, stale, fails")
        }
        (Some(read), None) if step.action == "cas" => format!("reads {read}, fails"),
        (Some(read), None) if step.newer > 0 => format!("reads {read}, stale"),
        (None, Some(written)) if step.newer > 0 => {
            format!("{location} = {written}, before a newer one")
        }
        (Some(read), None) => format!("reads {read}"),
        (None, Some(written)) => format!("{location} = {written}"),
        (None, None) => String::new(),
    }
}

/// What the step that goes wrong would do.
pub(crate) fn last_effect(finding: &Finding) -> String {
    match (finding.problem, &finding.certificate) {
        (Kind::Assertion, _) => "fails".to_string(),
        (Kind::FinalState, _) => "is done".to_string(),
        (Kind::Fault, _) => "cannot be done".to_string(),
        (Kind::Stuck, _) => "waits forever".to_string(),
        (Kind::Waiting, _) => "waits for ever".to_string(),
        (Kind::Race, Some(proof)) => races(proof.access()),
        (Kind::Dependency, _) => "uses the stale value".to_string(),
        (Kind::StaleWrite, Some(proof)) => match proof.newest {
            Some(newest) => format!("may leave {}", binding(&proof.events[newest])),
            None => "may be lost".to_string(),
        },
        (_, Some(proof)) => match &proof.access().read {
            Some(value) => format!("may read {value}"),
            None => "goes wrong".to_string(),
        },
        (_, None) => "goes wrong".to_string(),
    }
}

/// Steps of the run that deserve attention, and why.
fn marked_steps(finding: &Finding) -> Vec<(usize, String)> {
    let Some(proof) = &finding.certificate else { return Vec::new() };
    if proof.timeline {
        let last = finding.run.len().checked_sub(1);
        return last.map(|last| (last, finding.outcome().to_string())).into_iter().collect();
    }
    let mark = |event: &Event, text: String| Some((step_of(finding, proof, event)?, text));
    let marks = match finding.problem {
        Kind::Dependency => {
            let access = proof.access();
            let stale =
                access.read.as_ref().map_or("may be stale".into(), |v| format!("may read {v}"));
            vec![mark(access, stale)]
        }
        Kind::Race => {
            let (access, other) = (proof.access(), proof.other());
            vec![mark(other, races(other)), mark(access, races(access))]
        }
        Kind::DelayedStore => {
            let steps = finding.run.iter().enumerate();
            let marked = steps.filter(|(_, step)| {
                step.events.contains(&proof.access) || step.events.contains(&proof.other)
            });
            marked.map(|(index, step)| Some((index, effect(step)))).collect()
        }
        _ => Vec::new(),
    };
    marks.into_iter().flatten().collect()
}

fn races(event: &Event) -> String {
    format!("{}, races", verb(event))
}

/// The step of the run that an access of the execution stands for: both count the accesses of a
/// thread.
fn step_of(finding: &Finding, proof: &Proof, event: &Event) -> Option<usize> {
    let is_access = |kind| matches!(kind, EventKind::Read | EventKind::Write | EventKind::Update);
    let earlier = proof.events[..event.id]
        .iter()
        .filter(|other| other.tid == event.tid && is_access(other.kind))
        .count();
    let accesses = finding
        .run
        .iter()
        .enumerate()
        .filter(|(_, step)| Some(step.tid) == event.tid && step.location.is_some());
    accesses.map(|(index, _)| index).nth(earlier)
}

/// What goes wrong after the run, in a sentence or two.
fn what_goes_wrong(finding: &Finding) -> Option<String> {
    if finding.note.is_some() {
        return finding.note.clone();
    }
    let at = finding.place.line_text();
    let thread = &finding.thread;
    let shows_more = !matches!(
        finding.problem,
        Kind::Assertion | Kind::FinalState | Kind::Fault | Kind::Stuck | Kind::Waiting
    );
    let Some(proof) = finding.certificate.as_ref().filter(|_| shows_more) else {
        return match finding.problem {
            Kind::Assertion if !finding.locals.is_empty() => Some(format!(
                "Then the assertion at line {at} fails, because {}.",
                finding.locals_text()
            )),
            Kind::FinalState => {
                Some(format!("Then all threads are done, with {}.", finding.locals_text()))
            }
            Kind::Waiting => Some(format!(
                "Then `{thread}` is at line {at}. All other threads are done, or wait as well, and each of them \
                 sees the newest writes: nothing changes any more."
            )),
            Kind::Stuck => Some(format!(
                "Then `{thread}` waits at line {at}, and no other thread will ever let it go on."
            )),
            _ => None,
        };
    };
    let access = proof.access();
    let line = access.place.as_ref().map_or(at, Place::line_text);
    if finding.problem == Kind::Race {
        let other = proof.other();
        return Some(format!(
            "Line {line} of `{thread}` {} {} and {} of `{}` {} it, and nothing orders the two: neither \
             happens before the other.",
            verb(access),
            access.location.as_deref().unwrap_or("a location"),
            line_of(other),
            other.thread.as_deref().unwrap_or("?"),
            verb(other),
        ));
    }
    if finding.problem == Kind::DelayedStore {
        let store = proof.other();
        return Some(format!(
            "So {} of `{thread}` is done while the {} of {} still waits in the store buffer, where no \
             other thread sees it.",
            line_of(access),
            glued(&binding(store)),
            line_of(store),
        ));
    }
    let newest = proof.newest.map(|newest| &proof.events[newest])?;
    let newer = format!("{} of {}", line_of(newest), thread_of(newest));
    let stale = proof.other();
    let from = match &stale.place {
        None => "the initial value".to_string(),
        Some(place) => format!("the value from line {}", place.line_text()),
    };
    let sentence = match access.kind {
        EventKind::Write => format!(
            "Now the {} of line {line} may take effect before the {} of {newer}, although that is there \
             already.",
            glued(&binding(access)),
            glued(&binding(newest)),
        ),
        EventKind::Update => format!(
            "Now line {line} of `{thread}` may still read {}, {from}, and update that, although {newer} \
             has already written {}.",
            glued(&stale_binding(access)),
            glued(&binding(newest)),
        ),
        _ => format!(
            "Now line {line} of `{thread}` may still read {}, {from}, although {newer} has already \
             written {}.",
            glued(&stale_binding(access)),
            glued(&binding(newest)),
        ),
    };
    Some(match proof.used_by {
        Some(used_by) => {
            let user = &proof.events[used_by];
            format!("{sentence} {}", dependency(user).trim_start())
        }
        None => sentence,
    })
}

/// The use of a stale value, as a sentence.
fn dependency(user: &Event) -> String {
    match &user.place {
        Some(place) => {
            let text = visible(&place.text);
            format!("Line {} depends on the value it read: `{text}`.", place.line_text())
        }
        None => String::new(),
    }
}

fn verb(event: &Event) -> &'static str {
    match (&event.read, &event.written) {
        (Some(_), Some(_)) => "updates",
        (Some(_), None) => "reads",
        _ => "writes",
    }
}

fn line_of(event: &Event) -> String {
    event
        .place
        .as_ref()
        .map_or("the start".to_string(), |place| format!("line {}", place.line_text()))
}

fn thread_of(event: &Event) -> String {
    event.thread.as_ref().map_or("the program".to_string(), |thread| format!("`{thread}`"))
}

/// `x = 0`, for the value read.
fn stale_binding(access: &Event) -> String {
    let location = access.location.as_deref().unwrap_or("?");
    access.read.as_ref().map_or(location.to_string(), |value| format!("{location} = {value}"))
}

/// The cycle, event by event, with what joins them.
fn cycle(proof: &Proof) -> Vec<Link> {
    let events: Vec<&Event> = proof.cycle.iter().map(|hop| &proof.events[hop.event]).collect();
    let link = |(position, event): (usize, &&Event)| Link {
        thread: event.thread.clone().unwrap_or_else(|| "start".to_string()),
        statement: event.place.as_ref().map_or_else(|| binding(event), statement),
        effect: did(event),
        why: words(proof.cycle[position].edge, event, events[(position + 1) % events.len()]),
    };
    events.iter().enumerate().map(link).collect()
}

fn did(event: &Event) -> String {
    let location = event.location.as_deref().unwrap_or("");
    match (event.kind, &event.read, &event.written) {
        (EventKind::FenceOrder | EventKind::Fence | EventKind::Control, ..) => String::new(),
        (_, Some(read), Some(written)) => format!("updates {location}: {read} → {written}"),
        (_, Some(read), None) => format!("reads {location} = {read}"),
        (_, None, Some(written)) => format!("writes {location} = {written}"),
        (_, None, None) => String::new(),
    }
}

/// Why one event comes before the next, in words.
fn words(edge: EdgeKind, from: &Event, to: &Event) -> String {
    let fences = from.kind == EventKind::FenceOrder && to.kind == EventKind::FenceOrder;
    let words = match edge {
        EdgeKind::Po => edge.words(),
        _ if fences => "comes before, in the order of all seq_cst fences",
        _ => edge.words(),
    };
    format!("↓ {words} ({edge})")
}
