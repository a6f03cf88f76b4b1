//! Runs the searches of one check over one program, and puts together what they show.
//!
//! A check asks for a search per [`Task`], such as one for each location. An `Explorer` has what all of them share: the
//! program, its automorphisms, its counters, and the values that locations may hold, which a search under plain SC finds out
//! if that makes the monitors smaller. It turns each finding into a run ([`replay`]), and keeps what belongs to no single
//! search: cost, run-time errors, threads that wait.

use crate::answer::{Answer, Cost, Decision, Problem, Verdict, Why, Witness};
use crate::plan::{Compared, Observe, Plan, comparisons};
use crate::product::{Finding, Product};
use crate::question::{Extent, Model, Property, Question};
use crate::replay::{Run, replay};
use analysis::counters::Counters;
use analysis::symmetry::{self, Symmetries};
use analysis::values::PossibleValues;
use ir::{Loc, Pc, Program, Tid};
use memory::Monitor;
use memory::rc20::row_layout::Track;
use memory::sc::Sc;
use search::{Limits, Options, Stop};
use std::sync::Arc;
use std::time::Instant;

/// After a first finding, a search goes on until it has seen this many states, so that small
/// programs are explored to the end and show all that is wrong with them.
const LINGER: u64 = 50_000;
/// How many states of plain SC may be explored to learn which values locations really take.
const VALUES_STATES: u64 = 8_000_000;
/// How many ways to get stuck are kept; each is only a warning.
const KEPT_STUCK: usize = 3;

/// What a search is for.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The locations watched.
    pub focus: Vec<Loc>,
    /// The depth of a witness known already; deeper ones are of no use.
    pub depth: Option<usize>,
    /// How many states it may take, if it is only a first look.
    pub states: Option<u64>,
}

/// What one search showed.
pub(crate) struct Searched<V> {
    /// Runs to what it found.
    pub runs: Vec<Run<V>>,
    /// Why it did not see everything, if it did not.
    pub cut: Option<Why>,
}

/// Searches one program.
pub(crate) struct Explorer<'a> {
    /// The program.
    pub program: Arc<Program>,
    question: &'a Question,
    observe: Observe<'a>,
    start: Instant,
    /// The program's automorphisms, as far as they are used.
    pub symmetries: Symmetries,
    /// The program's counters, as far as they are used.
    pub counters: Vec<Counters>,
    /// The values registers and locations may hold.
    pub possible: PossibleValues,
    /// Has a search seen everything?
    pub exhausted: bool,
    /// Was the last search a first look that did not see everything?
    pub cut_by_quick_look: bool,
    /// How deep it got.
    pub depth: u64,
    /// Does something depend on numbers that are not told apart? Then nothing was learnt.
    pub unclear: bool,
    cost: Cost,
    faults: Vec<Witness>,
    stuck: Vec<Witness>,
    wrapped: Vec<(Tid, Pc)>,
}

impl<'a> Explorer<'a> {
    pub(crate) fn new(plan: &'a Plan<'_>, question: &'a Question, observe: Observe<'a>) -> Self {
        let program = Arc::new(plan.program.as_ref().clone());
        let counters = plan.counters.clone();
        let symmetries = match question.reductions.symmetry {
            true => symmetry::find(&program, question.limits.budget, |alpha, types| {
                Counters::fixed_by(&counters, alpha, types)
            }),
            false => Symmetries::trivial(&program),
        };
        let mut possible = PossibleValues::within(&program, question.limits.budget);
        possible = possible.with_counters(&counters);
        symmetries.close(&program, &mut possible);
        let mut explorer = Explorer {
            program,
            question,
            observe,
            start: plan.start,
            symmetries,
            counters,
            possible,
            exhausted: false,
            cut_by_quick_look: false,
            depth: 0,
            unclear: false,
            cost: Cost::default(),
            faults: Vec::new(),
            stuck: Vec::new(),
            wrapped: Vec::new(),
        };
        if explorer.values_matter() {
            explorer.learn_values();
        }
        explorer
    }

    /// Would the monitors be smaller if it was known which values some location takes?
    fn values_matter(&self) -> bool {
        let track = self.question.track.within(self.program.domain);
        self.question.model != Model::Sc
            && comparisons(&self.program).into_iter().any(|compared| {
                let Compared { tid, pc, expected, loaded, .. } = compared;
                let values = self.possible.expr(&self.program, tid.index(), pc, expected);
                let has_tag = track == Track::Critical && loaded;
                values.members().is_none() && !has_tag
            })
    }

    /// Explores plain SC to learn which values locations take. The monitored runs are SC runs, so
    /// if everything was seen the answer is exact.
    fn learn_values(&mut self) {
        let memory = Sc::new(&self.program, &self.possible).observing();
        let product = Arc::new(self.product(memory, &[]));
        let most =
            self.question.limits.states.map_or(VALUES_STATES, |most| most.min(VALUES_STATES));
        // Whatever is learnt, there must be time left to use it.
        let budget = self.question.limits.budget.halved();
        let limits = Limits { states: Some(most), depth: None, budget };
        let options = Options { limits, ..self.question.options(Stop::AtEnd) };
        let task = Task::default();
        let report = self.question.explore(&product, &options, &|p| (self.observe)(&task, p));
        let seen = product.memory.observed();
        self.cost.add(&report.progress);
        let has = |kind: fn(&Finding<_>) -> bool| report.findings.iter().any(|f| kind(&f.finding));
        // Where a number is lowered so far that it leaves the domain, the search goes where the program does not.
        let is_astray = product.lowers_counters()
            && (!product.wrapped().is_empty() || has(|f| matches!(f, Finding::Fault { .. })));
        if is_astray || has(|f| matches!(f, Finding::Unclear { .. })) {
            if self.has_windows() {
                self.unclear = true;
                return;
            }
            self.counters.clear();
            self.possible = PossibleValues::within(&self.program, self.question.limits.budget);
            self.symmetries.close(&self.program, &mut self.possible);
            return self.learn_values();
        }
        if report.exhausted {
            let mut possible =
                PossibleValues::with_locations(&self.program, seen).with_counters(&self.counters);
            self.symmetries.close(&self.program, &mut possible);
            self.possible = possible;
        }
    }

    /// The product that is searched with `memory` and these locations watched.
    pub(crate) fn product<M: Monitor>(&self, memory: M, focus: &[Loc]) -> Product<M> {
        let symmetries = match focus {
            [_] => self.symmetries.stabilizer(focus),
            _ => self.symmetries.clone(),
        };
        let (possible, reductions) = (&self.possible, self.question.reductions);
        Product::new(&self.program, possible, symmetries, memory, reductions, &self.counters)
    }

    /// Explores the program with `memory`.
    pub(crate) fn explore<M: Monitor + Clone>(
        &mut self,
        memory: M,
        task: &Task,
    ) -> Searched<M::Violation> {
        match self.try_explore(memory.clone(), task) {
            Some(searched) => searched,
            None if self.has_windows() => {
                self.unclear = true;
                Searched { runs: Vec::new(), cut: None }
            }
            None => {
                // Lowering counters made something up: do without.
                self.counters.clear();
                self.try_explore(memory, task).expect("nothing is made up without counters")
            }
        }
    }

    /// Are numbers far behind a clock not told apart?
    pub(crate) fn has_windows(&self) -> bool {
        self.counters.iter().any(|counters| counters.window.is_some())
    }

    /// Explores the program with `memory`; `None` if lowering counters made something up, or what
    /// happens depends on numbers that are not told apart.
    fn try_explore<M: Monitor>(
        &mut self,
        memory: M,
        task: &Task,
    ) -> Option<Searched<M::Violation>> {
        let product = Arc::new(self.product(memory, &task.focus));
        if self.has_windows() && !product.lowers(&self.counters) {
            return None; // states have no room for numbers that are not made small
        }
        let stop = match self.question.extent {
            Extent::First => Stop::AfterStates(LINGER),
            Extent::All => Stop::AtEnd,
        };
        let mut limits = self.question.limits;
        let quick = task.states.filter(|quick| {
            self.question.extent == Extent::First && limits.states.is_none_or(|most| *quick < most)
        });
        limits.states = quick.or(limits.states);
        let depth = task.depth.filter(|_| self.question.extent == Extent::First);
        limits.depth = depth.map(|depth| depth as u64);
        let options = Options { limits, ..self.question.options(stop) };
        let mut report = self.question.explore(&product, &options, &|p| (self.observe)(task, p));
        self.cost.add(&report.progress);
        let budget = self.question.limits.budget.to_finish();
        let in_time = |_: &&search::Found<_>| !budget.is_spent();
        let replayed: Vec<_> = report
            .findings
            .iter()
            .take_while(in_time)
            .map(|found| replay(&*product, &found.path, &found.finding))
            .collect();
        if replayed.len() < report.findings.len() {
            report.exhausted = false;
            report.limit.get_or_insert(search::Limit::Time);
        }
        if product.lowers_counters()
            && (!product.wrapped().is_empty() || replayed.iter().any(Option::is_none))
        {
            return None;
        }
        self.exhausted |= report.exhausted;
        for place in product.wrapped() {
            if !self.wrapped.contains(&place) {
                self.wrapped.push(place);
            }
        }
        let mut runs = Vec::new();
        for run in replayed {
            let run = run.expect("a path that was found can be followed again");
            match run.finding {
                Finding::Fault { tid, pc, fault } => {
                    let witness = Witness::reached(run.steps, (tid, pc), Problem::Fault(fault));
                    keep(&mut self.faults, witness, usize::MAX);
                }
                Finding::Deadlock { tid, pc } => {
                    let witness = Witness::reached(run.steps, (tid, pc), Problem::Stuck);
                    keep(&mut self.stuck, witness, KEPT_STUCK);
                }
                _ => runs.push(run),
            }
        }
        self.depth = report.progress.depth;
        self.cut_by_quick_look = quick.is_some() && report.limit == Some(search::Limit::States);
        if !self.cut_by_quick_look {
            self.cost.limit = self.cost.limit.or(report.limit);
        }
        let cut = if report.exhausted || self.cut_by_quick_look {
            None
        } else if let Some(limit) = report.limit {
            Some(Why::Limit(limit))
        } else if !self.faults.is_empty() {
            Some(Why::Faulty)
        } else {
            Some(Why::Stopped)
        };
        Some(Searched { runs, cut })
    }

    /// Adds what all searches share to the verdicts.
    pub(crate) fn answer(
        mut self,
        verdicts: Vec<(Property, Verdict)>,
        more: Vec<(Property, Witness)>,
    ) -> Answer {
        self.cost.elapsed = self.start.elapsed();
        self.wrapped.sort_unstable();
        // Runs end at a run-time error, so what would have come after was not looked at.
        let faulty = !self.faults.is_empty();
        let known = |verdict| match verdict {
            Verdict::Holds if faulty => Verdict::Undecided(Why::Faulty),
            verdict => verdict,
        };
        let decisions = verdicts
            .into_iter()
            .map(|(asked, verdict)| Decision::by_interleavings(asked, known(verdict)))
            .collect();
        Answer {
            more,
            faults: self.faults,
            stuck: self.stuck,
            wrapped: self.wrapped,
            ..Answer::new(&self.program, decisions, self.cost)
        }
    }
}

/// Keeps one witness for each place, and `most` in all.
fn keep(kept: &mut Vec<Witness>, witness: Witness, most: usize) {
    if kept.len() < most && !kept.iter().any(|w| (w.tid, w.pc) == (witness.tid, witness.pc)) {
        kept.push(witness);
    }
}
