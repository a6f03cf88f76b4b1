//! Changes that are enough to make a program correct, found with little effort: advice at the end of a report.
//!
//! The effort is counted and not timed, so that the same program always gets the same advice.

use crate::orders::{Changed, Kept, Only, Reread, changeable, confirm, orders, rewritten};
use check::fix::orders::{Allowed, Costs, Effort, Goal, Site, Strength, assign};
use check::{Beyond, DoubleCheck, Property, Question, Require};
use lang::Source;
use lang::orders::Edit;
use search::Limits;

/// How many states a search for advice may have.
const STATES: u64 = 20_000;
/// How much work is allowed beside the states: some tenths of a second on an idle machine.
const EFFORT: Effort = Effort { searches: 24, judged: 20_000_000, patience: 20_000 };

/// Changes that are enough, and no more than needed.
#[derive(Clone, Debug)]
pub struct Enough {
    /// The sites to change, each with the strength that it needs.
    pub changes: Vec<(Site, Strength)>,
    /// What to exchange in the text.
    pub edits: Vec<Edit>,
    /// Was the changed text read again, and checked? A text that is compiled needs its compiler for that.
    pub confirmed: bool,
}

/// Changes of orders and fences that are enough to make a program correct, if they are found with little effort. A text
/// that is compiled is compiled again by `reread`.
pub fn enough(source: &Source, question: &Question, reread: Option<&Reread<'_>>) -> Option<Enough> {
    let robustness =
        matches!(question.property, Property::Robustness | Property::ObservationalRobustness);
    let written = source.has_orders();
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
    let strengths =
        assign(&source.program, &sites, Allowed::Stronger, &goal, &|_, _| {}).ok()?.strengths;
    let changes: Vec<(Site, Strength)> = sites
        .iter()
        .zip(&strengths)
        .filter(|(site, strength)| site.written != **strength)
        .map(|(site, strength)| (site.clone(), *strength))
        .collect();
    if changes.is_empty() {
        return None;
    }
    let read = |changed: &[Changed]| {
        let again = lang::parse_any(&source.name, &changed[0].after);
        again.map_err(|_| "it cannot be read again".to_string())
    };
    let reread = reread.or_else(|| source.columns.is_empty().then_some(&read as &Reread<'_>));
    let edits = match reread {
        Some(reread) => {
            let (edits, _, again) = rewritten(source, &sites, &strengths, reread).ok()?;
            confirm(&again, &question).ok()?;
            edits
        }
        None => {
            let change =
                |(site, strength): &(Site, Strength)| Some((site.origin, orders(site, *strength)?));
            let all = changes.iter().map(change).collect::<Option<Vec<_>>>()?;
            lang::orders::Written::of(source).edits(&all)?
        }
    };
    Some(Enough { changes, edits, confirmed: reread.is_some() })
}
