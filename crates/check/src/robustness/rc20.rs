//! Robustness against RC11, RC20 and RA, races, and assertions, by exploring SC runs with monitors.
//!
//! The monitors of different locations are independent (see [`Rc20::new`]), so plain robustness and
//! races are decided one location at a time, each in a search whose states carry the monitors of
//! that location alone. Locations that an automorphism exchanges need one search.
//!
//! Observational robustness follows from plain robustness. Only where that fails are all locations
//! watched at once, because a stale load leaves the monitors of *every* location as they are.
//!
//! What monitors remember is forgotten where nobody can make use of it ([`memory::rc20`], `unreachable`), so most of
//! the time there is something to remember about few locations, and one search that watches all of them may have little more states
//! than one that watches a single one; and it may exchange all equal threads, where a watched location holds some in their
//! place. Where a first look at single locations comes to no end, one at all of them is had: if it gets nearly as deep
//! with as many states, it goes on, and saves the others.
//!
//! Once something has gone wrong in one search, the others look only for shorter witnesses.

use crate::answer::{Answer, Evidence, Problem, Verdict, Why, Witness};
use crate::certificate::{Certified, certify};
use crate::explore::{Explorer, Task};
use crate::plan::{Observe, Plan};
use crate::product::Finding;
use crate::question::{Extent, Model, Property, Question};
use crate::replay::Run;
use budget::Budget;
use ir::{Loc, LocationKind, Program, Step, Thread};
use memory::rc20::{Rc20, Robustness, Violation};
use search::Limit;

/// How many states a first look at a location may take.
const QUICK: u64 = 20_000;

/// How many states a search of all locations at once may take, for each search that it saves, if it does not get as deep as those of
/// single ones.
const TOGETHER: u64 = 200_000;

/// How far searches go before there is something to decide.
#[derive(Clone, Copy)]
struct Patience {
    /// [`QUICK`], but in tests.
    quick: u64,
    /// [`TOGETHER`].
    together: u64,
}

/// A first look at a location that came to no end.
struct Look {
    loc: Loc,
    /// How deep it got.
    depth: u64,
}

/// Checks the plan's program, which must be the one that the model [reads](Model::reads); no answer if
/// what happens is unclear.
pub(crate) fn check(plan: &Plan<'_>, question: &Question, observe: Observe<'_>) -> Option<Answer> {
    let patience = Patience { quick: QUICK, together: TOGETHER };
    check_patiently(plan, question, observe, patience).map(|(answer, _)| answer)
}

/// The same; says also whether all that was left over was decided by one search of all locations.
fn check_patiently(
    plan: &Plan<'_>,
    question: &Question,
    observe: Observe<'_>,
    patience: Patience,
) -> Option<(Answer, bool)> {
    debug_assert!(question.model != Model::Sc);
    let mut check = Check {
        program: &plan.program,
        question,
        patience,
        explorer: Explorer::new(plan, question, observe),
        stale: Witnesses::default(),
        dependency: Witnesses::default(),
        races: Witnesses::default(),
        assertions: Witnesses::default(),
    };
    let together = check.run();
    (!check.explorer.unclear).then(|| (check.answer(), together))
}

/// May two threads access the location? Accesses of one thread do not race.
fn is_shared(program: &Program, loc: Loc) -> bool {
    let accesses =
        |step: &Step| step.instr.place().is_some_and(|place| place.locations().any(|x| x == loc));
    let of = |thread: &&Thread| thread.code.iter().any(accesses);
    program.threads.iter().filter(of).count() > 1
}

/// What is known of one property.
#[derive(Default)]
struct Witnesses {
    found: Vec<Witness>,
    /// How deep the search that found one had to go.
    depth: Option<usize>,
    /// A search that could have found one was cut short.
    cut: Option<Why>,
    /// The judge did not accept a certificate.
    rejected: bool,
}

impl Witnesses {
    fn verdict(&mut self) -> Verdict {
        self.found.sort_by_key(|witness| witness.run().len());
        match (self.found.is_empty(), self.rejected, self.cut) {
            (false, ..) => Verdict::Violated(Box::new(self.found.remove(0))),
            (_, true, _) => Verdict::Undecided(Why::Rejected),
            (_, _, Some(why)) => Verdict::Undecided(why),
            _ => Verdict::Holds,
        }
    }
}

struct Check<'a> {
    program: &'a Program,
    question: &'a Question,
    patience: Patience,
    explorer: Explorer<'a>,
    stale: Witnesses,
    dependency: Witnesses,
    races: Witnesses,
    assertions: Witnesses,
}

impl Check<'_> {
    /// Says whether one search of all locations has decided what quick looks left open.
    fn run(&mut self) -> bool {
        let locations = (0..self.program.locations.len()).map(Loc::from);
        let (mut atomic, mut plain) = (Vec::new(), Vec::new());
        for loc in locations.filter(|loc| self.explorer.symmetries.is_first_of_orbit(*loc)) {
            match self.program.locations[loc.index()].kind {
                LocationKind::Atomic => atomic.push(loc),
                LocationKind::NonAtomic if is_shared(self.program, loc) => plain.push(loc),
                LocationKind::NonAtomic => {}
            }
        }
        let mut searches = 0;
        // A quick look at each location first: what is wrong usually shows early.
        let mut large = Vec::new();
        for loc in atomic {
            let known = self.stale.found.len();
            if self.watch(&[loc], Robustness::Plain, Some(self.patience.quick)) {
                searches += 1;
                if self.explorer.cut_by_quick_look && self.stale.found.len() == known {
                    large.push(Look { loc, depth: self.explorer.depth });
                }
            }
        }
        if self.together(&large, &plain) {
            return true;
        }
        for Look { loc, .. } in large {
            self.watch(&[loc], Robustness::Plain, None);
        }
        if self.question.observational() && !self.stale.found.is_empty() {
            // A tainted load teaches its thread nothing, so races depend on taint as well.
            let all: Vec<Loc> = (0..self.program.locations.len()).map(Loc::from).collect();
            self.stale = Witnesses::default();
            self.watch(&all, Robustness::Observational, None);
        } else if self.question.races {
            for loc in plain {
                searches += u32::from(self.watch(&[loc], Robustness::Plain, None));
            }
        }
        if searches == 0 {
            // Nothing can go wrong in memory, but assertions still can.
            self.explore(&[], Robustness::Plain, None);
        }
        false
    }

    /// Watches all these locations, and those that automorphisms exchange with them, at once, if that looks like less work
    /// than watching them one by one. Says whether everything is known then.
    fn together(&mut self, large: &[Look], plain: &[Loc]) -> bool {
        let plain: &[Loc] = if self.question.races { plain } else { &[] };
        let searches = large.len() + plain.len();
        let deepest = large.iter().map(|look| look.depth).max();
        let Some(deepest) = deepest.filter(|_| {
            let nothing_found = self.stale.found.is_empty() && self.assertions.found.is_empty();
            searches > 1 && self.question.extent == Extent::First && nothing_found
        }) else {
            return false;
        };
        let mut all: Vec<Loc> =
            large.iter().map(|look| look.loc).chain(plain.iter().copied()).collect();
        let mut next = 0;
        while let Some(&loc) = all.get(next) {
            for alpha in self.explorer.symmetries.generators() {
                let image = alpha.locations[loc.index()];
                if !all.contains(&image) {
                    all.push(image);
                }
            }
            next += 1;
        }
        all.sort_unstable();
        let cuts = [self.stale.cut, self.races.cut];
        let is_known = |check: &mut Self, most: Option<u64>| {
            check.watch(&all, Robustness::Plain, most) && !check.explorer.cut_by_quick_look
        };
        let Patience { quick, together } = self.patience;
        let mut known = is_known(self, Some(quick));
        if !known && !self.has_found() {
            // With `depth` levels of so many states, one level is worth a factor of quick^(1/depth) at least; all single searches
            // together may take as many times the states of one. Half of that, as it need not pay.
            let depth = self.explorer.depth as f64;
            let missing = deepest as f64 - depth;
            let affordable = depth * (searches as f64).ln() / (quick as f64).ln();
            if missing <= 0.0 {
                known = is_known(self, None);
            } else if missing <= affordable / 2.0 {
                known = is_known(self, Some(together * (searches as u64 - 1)));
            }
        }
        if self.has_found() {
            // Each location has witnesses of its own, and what is left open is decided there.
            [self.stale.cut, self.races.cut] = cuts;
            return false;
        }
        known
    }

    fn has_found(&self) -> bool {
        [&self.stale, &self.races, &self.assertions].iter().any(|it| !it.found.is_empty())
    }

    /// Explores with the monitors of `focus`, if they have anything to watch. Says whether they did.
    fn watch(&mut self, focus: &[Loc], robustness: Robustness, most: Option<u64>) -> bool {
        let watched = |memory: Rc20| focus.iter().copied().filter(move |loc| memory.watches(*loc));
        let watched: Result<Vec<Loc>, Limit> = match self.question.limits.budget.spent() {
            Some(spent) => Err(spent.into()),
            // Rows with a bit for each of that many values would fill the memory at once.
            None => self
                .memory(focus, robustness)
                .map(|memory| watched(memory).collect())
                .ok_or(Limit::Memory),
        };
        let watched = match watched {
            Ok(watched) => watched,
            Err(limit) => {
                let why = Why::Limit(limit);
                self.stale.cut.get_or_insert(why);
                self.races.cut.get_or_insert(why);
                if !self.explorer.exhausted {
                    self.assertions.cut.get_or_insert(why);
                }
                return false;
            }
        };
        if watched.is_empty() || self.explorer.unclear {
            return false;
        }
        self.explore(&watched, robustness, most);
        true
    }

    fn memory(&self, focus: &[Loc], robustness: Robustness) -> Option<Rc20> {
        let possible = &self.explorer.possible;
        Rc20::new(self.program, possible, robustness, self.question.track, focus)
    }

    fn explore(&mut self, focus: &[Loc], robustness: Robustness, most: Option<u64>) {
        let memory = self.memory(focus, robustness).expect("`watch` found room for the rows");
        let is = |kind| focus.iter().any(|loc| self.program.locations[loc.index()].kind == kind);
        let (atomic, non_atomic) = (is(LocationKind::Atomic), is(LocationKind::NonAtomic));
        let own = if atomic { &self.stale } else { &self.races };
        let task = Task { focus: focus.to_vec(), depth: own.depth, states: most };
        let report = self.explorer.explore(memory, &task);
        let cut = report.cut;
        let budget = self.question.limits.budget.to_finish();
        for run in report.runs {
            self.note(run, robustness, budget);
        }
        if atomic {
            self.stale.cut = self.stale.cut.or(cut);
        }
        if non_atomic {
            self.races.cut = self.races.cut.or(cut);
        }
        // One search to the end is enough to know all assertions.
        self.assertions.cut = match self.explorer.exhausted {
            true => None,
            false => self.assertions.cut.or(cut),
        };
    }

    fn note(&mut self, run: Run<Violation>, robustness: Robustness, budget: Budget) {
        let (tid, pc, problem) = match run.finding {
            Finding::Violation { tid, pc, violation } => {
                let problem = match violation {
                    Violation::Stale => Problem::Stale,
                    Violation::Dependency => Problem::Dependency,
                    Violation::Race => Problem::Race,
                };
                (tid, pc, problem)
            }
            Finding::Assertion { tid, pc } => (tid, pc, Problem::Assertion),
            Finding::Fault { .. } | Finding::Deadlock { .. } | Finding::Unclear { .. } => {
                return; // the explorer keeps these
            }
        };
        let witnesses = match problem {
            Problem::Stale => &mut self.stale,
            Problem::Dependency => &mut self.dependency,
            Problem::Race => &mut self.races,
            _ => &mut self.assertions,
        };
        if witnesses.found.iter().any(|w| (w.tid, w.pc, w.problem) == (tid, pc, problem)) {
            return;
        }
        let (certificate, played) = match problem {
            Problem::Assertion => (None, None),
            _ => match certify(self.program, &run.steps, (tid, pc), problem, robustness, budget) {
                Certified::Accepted(certificate, played) => (Some(certificate), Some(played)),
                Certified::Rejected => {
                    witnesses.rejected = true;
                    return;
                }
                Certified::GaveUp(why) => {
                    witnesses.cut.get_or_insert(why);
                    return;
                }
            },
        };
        let depth = witnesses.depth.map_or(run.depth, |depth| depth.min(run.depth));
        witnesses.depth = Some(depth);
        let evidence = Evidence::Interleaving { run: run.steps, played, certificate };
        witnesses.found.push(Witness { tid, pc, problem, evidence });
    }

    fn answer(mut self) -> Answer {
        self.stale.found.append(&mut self.dependency.found);
        self.stale.rejected |= self.dependency.rejected;
        self.stale.cut = self.stale.cut.or(self.dependency.cut);
        let robustness = match self.question.observational() {
            true => Property::ObservationalRobustness,
            false => Property::Robustness,
        };
        if !self.stale.found.is_empty() {
            // Past a stale load the monitors only guess who knows what; a race that the judge does
            // not accept is then no contradiction.
            self.races.rejected = false;
        }
        let robust = match self.stale.verdict() {
            Verdict::Holds if !self.races.found.is_empty() => Verdict::Undecided(Why::Racy),
            verdict => verdict,
        };
        // Without robustness, SC runs show some of what can happen, but not all.
        let with_robustness = |verdict: Verdict| match (verdict, &robust) {
            (Verdict::Holds | Verdict::Undecided(_), Verdict::Violated(_)) => {
                Verdict::Undecided(Why::NotRobust)
            }
            (Verdict::Holds, Verdict::Undecided(why)) => Verdict::Undecided(*why),
            (verdict, _) => verdict,
        };
        let mut verdicts = Vec::new();
        let has_non_atomics =
            self.program.locations.iter().any(|loc| loc.kind == LocationKind::NonAtomic);
        let races =
            (self.question.races && has_non_atomics).then(|| with_robustness(self.races.verdict()));
        let assertions = with_robustness(self.assertions.verdict());
        verdicts.push((robustness, robust));
        verdicts.extend(races.map(|races| (Property::Races, races)));
        verdicts.push((Property::Assertions, assertions));
        let more = match self.question.extent {
            Extent::First => Vec::new(),
            Extent::All => {
                let all = [
                    (robustness, self.stale.found),
                    (Property::Races, self.races.found),
                    (Property::Assertions, self.assertions.found),
                ];
                all.into_iter()
                    .flat_map(|(p, found)| found.into_iter().map(move |w| (p, w)))
                    .collect()
            }
        };
        self.explorer.answer(verdicts, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::first_answer;
    use crate::product::diagrams::aimed;
    use crate::question::DoubleCheck;
    use crate::reduce::Reductions;
    use ir::random::{Strengthen, with_sc_orders};
    use memory::rc20::row_layout::Track;
    use search::Limits;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    thread_local! {
        /// How little patience there is, and whether one search decided all.
        static PATIENCE: Cell<u64> = const { Cell::new(0) };
        static TOGETHER: Cell<bool> = const { Cell::new(false) };
    }

    /// A check that thinks of everything as large.
    fn impatiently(plan: &Plan<'_>, question: &Question, observe: Observe<'_>) -> Option<Answer> {
        let patience = Patience { quick: PATIENCE.get(), together: 1_000 };
        let (answer, together) = check_patiently(plan, question, observe, patience)?;
        TOGETHER.set(together);
        Some(answer)
    }

    /// One search that watches all locations says what one for each says. Small programs do not come to that unless
    /// first looks end early. Catches locations that are left out, symmetries that do not hold where some locations are watched,
    /// and a look that came to no end taken for one that did. `FENCEPOST_TOGETHER` asks for more programs.
    #[test]
    fn all_locations_at_once() {
        let (compared, together, violated) =
            (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let seeds = aimed::each_seed("FENCEPOST_TOGETHER", |seed| {
            if aimed::is_for_interleavings(seed) {
                return;
            }
            let (program, text) = aimed::parsed(seed);
            let model = [Model::Rc20, Model::Rc11, Model::Rc11, Model::Ra][seed as usize / 2 % 4];
            let program = match seed % 5 {
                0 if model == Model::Rc11 => with_sc_orders(program, Strengthen::All),
                _ => program,
            };
            let program = model.reads(&program);
            let states = Some(20_000);
            let question = Question {
                model,
                double_check: DoubleCheck::Never,
                limits: Limits { states, ..Limits::default() },
                ..Question::default()
            };
            let extent = Extent::All;
            let plain =
                Question { reductions: Reductions::NONE, track: Track::All, extent, ..question };
            let expected = first_answer(&program, &plain, &|_, _| {}, check);
            if expected.cost.limit.is_some() {
                return;
            }
            let verdicts = |answer: &Answer| -> Vec<_> {
                let said = answer.decisions.iter().map(|it| (it.property, it.verdict.name()));
                said.collect()
            };
            PATIENCE.set([5, 20, 100][seed as usize % 3]);
            let answer = first_answer(&program, &question, &|_, _| {}, impatiently);
            if answer.cost.limit.is_some() {
                return;
            }
            compared.fetch_add(1, Relaxed);
            together.fetch_add(u64::from(TOGETHER.get()), Relaxed);
            let wrong = answer.decisions.iter().any(|it| it.verdict.witness().is_some());
            violated.fetch_add(u64::from(wrong), Relaxed);
            let (one, each) = (verdicts(&answer), verdicts(&expected));
            assert_eq!(one, each, "seed {seed} {}\n{text}", model.name());
        });
        let count = seeds.end - seeds.start;
        let [compared, together, violated] =
            [compared, together, violated].map(AtomicU64::into_inner);
        println!("{compared} of {count} compared, {together} by one search, {violated} violated");
        assert!(2 * compared > count && 10 * together > count, "{compared} {together}");
    }
}
