//! Plans: what a check makes of a program's counters.
//!
//! Plans are tried in turn; the one that saves most comes first. It treats all numbers far behind a clock alike, and if
//! the numbers are finite only because of loop counters ([`analysis::loop_counter`]), it checks the program without the
//! tests of these counters, which has more runs. The answer stands if nothing depends on a difference that was ignored,
//! and if nothing goes wrong in the program without the tests. Otherwise the next plan is tried. The last plan makes
//! counters smaller at most, and if a finding cannot be replayed it does without that, too.

use crate::answer::{Answer, Verdict};
use crate::explore::Task;
use crate::question::{Model, Question};
use analysis::counters::{self, Counters, Window};
use analysis::last_load::{self, LastLoads};
use analysis::loop_counter;
use analysis::values::PossibleValues;
use ir::{Expr, Loc, Pc, Place, Program, Tid};
use memory::rc20::row_layout::Track;
use search::Progress;
use std::borrow::Cow;
use std::time::Instant;

/// How far behind a clock numbers are no longer told apart, if that is clear.
const BEHIND: [ir::Value; 2] = [1, 2];
/// How far ahead of a clock numbers may be, where every single one counts.
const AHEAD: ir::Value = 2;

/// What is done so few times in all is less than what could be done without counting.
const FEW_TIMES: u64 = 2;

/// What a check makes of a program.
#[derive(Clone)]
pub(crate) struct Plan<'p> {
    /// The program to explore.
    pub program: Cow<'p, Program>,
    /// The counters that are made small.
    pub counters: Vec<Counters>,
    /// Has the program more runs than the one asked about?
    pub more_runs: bool,
    /// When work began.
    pub start: Instant,
}

/// Who is told now and then how far a search has come.
pub(crate) type Observe<'a> = &'a (dyn Fn(&Task, &Progress) + Sync);

/// How a plan is carried out; there is no answer if what happens is unclear.
pub(crate) type Check = fn(&Plan<'_>, &Question, Observe<'_>) -> Option<Answer>;

/// Carries out one plan after the other until one gives an answer.
pub(crate) fn first_answer(
    program: &Program,
    question: &Question,
    observe: Observe<'_>,
    check: Check,
) -> Answer {
    let mut too_many_runs = false;
    for plan in plans(program, question) {
        if plan.more_runs && too_many_runs {
            continue;
        }
        let mut question = *question;
        if plan.more_runs {
            question.limits.budget = question.limits.budget.halved();
        }
        match check(&plan, &question, observe) {
            Some(answer) if !plan.more_runs || is_all_right(&answer) => return answer,
            Some(_) => too_many_runs = true, // whatever the window
            None => {}
        }
    }
    unreachable!("the last plan has an answer")
}

fn is_all_right(answer: &Answer) -> bool {
    answer.verdicts().all(Verdict::holds)
        && answer.faults.is_empty()
        && answer.stuck.is_empty()
        && answer.wrapped.is_empty()
}

/// The plans, the boldest first.
pub(crate) fn plans<'p>(program: &'p Program, question: &Question) -> Vec<Plan<'p>> {
    let found = match question.reductions.counters && question.reductions.dead_registers {
        true => counters::find(program, &PossibleValues::within(program, question.limits.budget)),
        false => counters::Found::default(),
    };
    let start = Instant::now();
    let mut plans = Vec::new();
    let clock = |class: &Counters| class.clock.filter(|clock| may_merge(program, class, *clock));
    if found.classes.iter().any(|class| clock(class).is_some()) {
        let more_runs =
            found.loop_counters.iter().map(|loop_counter| loop_counter.most).sum::<u64>()
                > FEW_TIMES;
        let explored = match more_runs {
            false => Cow::Borrowed(program),
            true => Cow::Owned(loop_counter::without(program, &found.loop_counters)),
        };
        for behind in BEHIND {
            let counters = found.classes.iter().filter_map(|class| {
                let ahead = tells_apart(program, question, class).then_some(AHEAD);
                let window = clock(class).map(|clock| Window { clock, behind, ahead });
                let kept = window.is_some() || class.constants.is_empty() && ahead.is_none();
                kept.then(|| Counters { window, ..class.clone() })
            });
            plans.push(Plan {
                counters: counters.collect(),
                program: explored.clone(),
                more_runs,
                start,
            });
        }
    }
    let mut counters = found.classes;
    counters.retain(|class| class.constants.is_empty() && !tells_apart(program, question, class));
    plans.push(Plan { program: Cow::Borrowed(program), counters, more_runs: false, start });
    plans
}

/// May a search take numbers of the class that are far behind `clock` for one and the same? Premise 3 of
/// `product::counters`: a thread compares a location with what it loaded from there only if the location is the clock.
fn may_merge(program: &Program, class: &Counters, clock: Loc) -> bool {
    let is_clock = |compared: &Compared<'_>| last_load::only(compared.place) == Some(clock);
    comparisons(program).iter().all(|compared| {
        !compared.loaded
            || is_clock(compared)
            || !compared.place.locations().any(|loc| class.locations.contains(&loc))
    })
}

/// Do monitors tell single numbers of the class apart?
fn tells_apart(program: &Program, question: &Question, class: &Counters) -> bool {
    let track = question.track.within(program.domain);
    question.model != Model::Sc
        && comparisons(program).into_iter().any(|compared| {
            let has_tag = track == Track::Critical && compared.loaded;
            !has_tag && compared.place.locations().any(|x| class.locations.contains(&x))
        })
}

/// An expression that a CAS, BCAS or wait compares the value of its location with.
pub(crate) struct Compared<'p> {
    pub tid: Tid,
    pub pc: Pc,
    pub place: &'p Place,
    pub expected: &'p Expr,
    /// Is it what the thread last loaded from the location?
    pub loaded: bool,
}

pub(crate) fn comparisons(program: &Program) -> Vec<Compared<'_>> {
    let mut all = Vec::new();
    for tid in program.tids() {
        let thread = &program.threads[tid.index()];
        let loads = LastLoads::of(thread);
        for (pc, step) in thread.code.iter().enumerate() {
            let Some(place) = step.instr.place() else { continue };
            all.extend(step.instr.compared().iter().map(|expected| {
                let pc = Pc::from(pc);
                let loaded = loads.expected(pc, place, expected).is_some();
                Compared { tid, pc, place, expected, loaded }
            }));
        }
    }
    all
}
