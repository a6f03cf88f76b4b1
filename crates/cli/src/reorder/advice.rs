//! Advice at the end of a report: changes that are enough, from the machinery of `fencepost fix`.

use super::{Changed, Kept, Only, Reread, access, changeable, confirm, orders, place, rewritten};
use ::check::fix::orders::{Allowed, Costs, Effort, Goal, assign};
use ::check::{Beyond, DoubleCheck, Property, Question, Require};
use ::report::advice::{self, Advice};
use lang::Source;
use lang::orders::{Edit, Written, in_words};
use search::Limits;

/// How many states a search for advice may have.
const STATES: u64 = 20_000;
/// What may be done beside: some tenths of a second on a machine that has nothing else to do, but counted and not timed, so that the
/// same program always gets the same advice.
const EFFORT: Effort = Effort { searches: 24, judged: 20_000_000, patience: 20_000 };

/// Changes of orders and fences that are enough to make a program correct, and no more than needed, if that is found out with
/// little effort. A text that is compiled is compiled again by `reread`; without it, what is advised says that this was not done.
pub fn enough(source: &Source, question: &Question, reread: Option<&Reread<'_>>) -> Option<Advice> {
    let written = source.litmus.is_none() && !lang::trencher::looks_like(&source.text);
    let robustness =
        matches!(question.property, Property::Robustness | Property::ObservationalRobustness);
    if !written || !robustness || question.require == Require::Safe || source.rounds.is_some() {
        return None;
    }
    let states = question.limits.states.map_or(STATES, |most| most.min(STATES));
    let limits = Limits { states: Some(states), ..question.limits };
    let (beyond, double_check) = (Beyond::Nothing, DoubleCheck::Never);
    let question = Question { limits, beyond, double_check, jobs: 1, ..*question };
    // Where a fence in compiled code stands is known only once it is compiled again.
    let only = if source.columns.is_empty() { Only::All } else { Only::Orders };
    let models = [question.model];
    let sites = changeable(source, only, &models, |_, _| Kept::No).sites;
    let goal =
        Goal { models: &models, question: &question, costs: &Costs::GENERIC, effort: EFFORT };
    let assignment = assign(&source.program, &sites, Allowed::Stronger, &goal, &|_, _| {}).ok()?;
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
        let found = text.operation(site.origin, access(site.kind));
        let start = found.map_or(source.exact(site.origin), |found| found.span.start);
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
    let read = |changed: &[Changed]| {
        let again = lang::parse_any(&source.name, &changed[0].after);
        again.map_err(|_| "it cannot be read again".to_string())
    };
    let reread = reread.or_else(|| source.columns.is_empty().then_some(&read as &Reread<'_>));
    if let Some(reread) = reread {
        let (_, _, again) = rewritten(source, &sites, &assignment.strengths, reread).ok()?;
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
    let unread = match reread {
        Some(_) => "",
        None => {
            " (so far as the program tells that was compiled: the changed text was not compiled again)"
        }
    };
    Some(Advice {
        text: format!("{list}: that is enough, the program is then {then}{unread}"),
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
