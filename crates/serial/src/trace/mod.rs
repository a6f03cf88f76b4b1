//! Monitoring a trace: does every execution it stands for answer yes?
//!
//! Section 5 and 6.2 of the paper, with one correction. Definition 3 calls a trace TSO-serializable
//! when every execution with this trace is. Theorem 5 claims that this can be read off the acyclic
//! orientations of the trace's event graph; that is too pessimistic. In
//!
//! ```text
//! T1 begin
//! T1 wr x
//! T1 rd x
//! T1 end
//! T2 wr x
//! ```
//!
//! the read may be served by the buffer, so the printed definition leaves both its conflict with T2's
//! write and that of the two writes undirected, and `T1 wr → T2 wr → T1 rd` is an acyclic orientation
//! with a cycle between the transactions. But no execution of this trace has it: T2's write is issued
//! after the read. Theorem 4, on which Theorem 5 rests, fails in both directions. The orientation just shown
//! is valid, and the event graph of no execution. And in
//!
//! ```text
//! T1 wr x
//! T2 wr x
//! T1 rd x
//! ```
//!
//! the commits of T2 and T1, in this order and after the read, leave the pair of T2's write and T1's read
//! without any edge, because the buffer serves the read while T2 commits (exception (i) of the conflict
//! relation): the graph of that execution orients nothing there, so it is no orientation of the trace's
//! event graph, which has an undirected edge. Lemma 2 says it always is one, having "exactly the same set
//! of edges". We keep the definition, and ask of an orientation that commits can be placed so
//! (module `realize`); with that, both brute-force oracles of the test suite (all orientations, all
//! placements of commits) and the search below agree.
//!
//! *What was read* rules out placements of commits. A recording with values stands for those executions
//! of its trace in which every read returns what it returned (module `believe`); the answer is about these
//! only. The search knows what can be told about each commit alone, and so finds too many walks but
//! misses none; a walk counts if some placement that fits everything read realizes it. If the first walk
//! found does not, all are tried. That is exact, and exponential in the worst case: deciding whether a
//! trace with values has any execution at all is as hard as checking a memory model against a test.
//!
//! Long traces are first looked at in a few executions (module `glance`): where almost any placement goes
//! wrong, that settles it. The search is described in the module `search`. It runs in time linear in the length of the trace for a
//! fixed number of threads and variables.

pub mod believe;
pub(crate) mod exhaustive;
pub(crate) mod glance;
pub(crate) mod index;
pub(crate) mod realize;
pub mod robust;
pub(crate) mod search;
pub(crate) mod single;

use budget::{Budget, Spent};

use crate::event::Event;
use crate::execution::{self, Question};
use crate::hash::Map;
use crate::trace::believe::Believed;
use crate::trace::index::{Index, Op, Pos};
use crate::trace::realize::{Realized, Visit, play, realize};
use crate::trace::search::{Discipline, Search, Start};
use crate::witness::{EdgeKind, Violation};

/// A violation of a trace: an execution of it, and the cycle in that execution.
#[derive(Clone, Debug)]
pub struct TraceViolation {
    /// The cycle, as the execution monitor found it in `execution`.
    pub violation: Violation,
    /// The trace up to the violation, with commits; transactions still open are ended.
    pub execution: Vec<Event>,
}

/// The answer about a trace.
#[derive(Clone, Debug)]
pub struct TraceAnswer {
    /// A violation, unless every execution of the trace answers yes.
    pub violation: Option<TraceViolation>,
    /// What was used up before there was an answer, if anything was.
    pub spent: Option<Spent>,
    /// How the answer was found.
    pub effort: Effort,
}

/// How an answer about a trace was found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Effort {
    /// Visits that step back in time, each the start of a search.
    pub starts: u64,
    /// Places looked at.
    pub places: u64,
    /// Starts for which the polynomial search was not enough.
    pub exponential: u64,
    /// Starts that needed trying every walk.
    pub exhaustive: u64,
}

/// Whether every transaction of the trace leaves its thread's store buffer empty.
pub fn is_transaction_fenced(trace: &[Event]) -> bool {
    Index::is_fenced(trace)
}

/// In which order the two searches are tried for each start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Strategy {
    /// By the number of threads.
    #[default]
    Auto,
    /// The polynomial search; the one exponential in the threads only where that is not enough.
    PolynomialFirst,
    /// At once the one that keeps the set of threads used: with few threads that is cheap, and prunes
    /// more than it costs.
    ThreadSets,
}

/// Decides whether every execution of the trace answers `question` with yes, whatever was read.
pub fn judge(question: Question, trace: &[Event]) -> TraceAnswer {
    judge_by(Strategy::Auto, question, trace)
}

/// The same, by a strategy of the caller's choice; all give the same answer.
pub fn judge_by(strategy: Strategy, question: Question, trace: &[Event]) -> TraceAnswer {
    judge_within(strategy, question, trace, None, Budget::UNLIMITED)
}

/// The same about the executions that fit what was read, unless the budget is spent before there is an
/// answer.
pub fn judge_within(
    strategy: Strategy,
    question: Question,
    trace: &[Event],
    believed: Option<&mut Believed>,
    budget: Budget,
) -> TraceAnswer {
    if let Some(spent) = budget.spent() {
        return TraceAnswer { violation: None, spent: Some(spent), effort: Effort::default() };
    }
    let index = Index::new(question, trace, believed.as_ref().map(|believed| believed.windows()));
    let disciplines: &[Discipline] = match strategy {
        Strategy::Auto if index.lanes.len() <= FEW_THREADS => &[Discipline::OneWritingVisit],
        Strategy::ThreadSets => &[Discipline::OneWritingVisit],
        Strategy::Auto | Strategy::PolynomialFirst => {
            &[Discipline::Any, Discipline::OneWritingVisit]
        }
    };
    let effort = Effort::default();
    let thorough = false;
    let mut monitor =
        Monitor { question, trace, index: &index, disciplines, effort, thorough, budget, believed };
    let mut found = monitor.glance();
    if let Ok(None) = found {
        found = monitor.run();
    }
    if let Err(Stop::Doubt) = found {
        monitor.thorough = true;
        monitor.effort = Effort::default();
        found = monitor.run();
    }
    let (violation, spent) = match found {
        Ok(violation) => (violation, None),
        Err(Stop::Spent(spent)) => (None, Some(spent)),
        Err(Stop::Doubt) => unreachable!("a thorough search leaves no doubt"),
    };
    TraceAnswer { violation, spent, effort: monitor.effort }
}

/// Why a search ends without an answer.
enum Stop {
    /// A walk was found that no execution realizes although every rule of the search was kept: the
    /// shortcuts between starts are then not to be trusted.
    Doubt,
    /// The budget is spent.
    Spent(Spent),
}

struct Monitor<'a> {
    question: Question,
    trace: &'a [Event],
    index: &'a Index,
    disciplines: &'a [Discipline],
    effort: Effort,
    /// No shortcuts, and every walk where the search leaves a doubt.
    thorough: bool,
    budget: Budget,
    /// What was read, where the recording says so.
    believed: Option<&'a mut Believed>,
}

/// Up to here [`Strategy::Auto`] keeps the set of threads used.
const FEW_THREADS: usize = 5;

impl Monitor<'_> {
    /// A violation that a few executions of a long trace already show.
    fn glance(&mut self) -> Result<Option<TraceViolation>, Stop> {
        if self.trace.len() < glance::LONG {
            return Ok(None);
        }
        let (question, trace, index, budget) = (self.question, self.trace, self.index, self.budget);
        let believed = self.believed.as_deref_mut();
        let schedules = glance::schedules(index, believed, budget).map_err(Stop::Spent)?;
        let end = trace.len() as Pos - 1;
        let mut last = glance::SHORT.min(end);
        loop {
            for schedule in &schedules {
                let walk = single::cycle(question, trace, index, schedule, last, budget);
                let Some(walk) = walk.map_err(Stop::Spent)? else { continue };
                // That it fits what was read is known of this execution, and need not be asked again.
                let found = match self.believed {
                    Some(_) => self.judged(&walk, play(trace, end, schedule)),
                    None => self.confirm(&walk).map_err(Stop::Spent)?,
                };
                if found.is_some() {
                    return Ok(found);
                }
            }
            if last == end {
                return Ok(None);
            }
            last = last.saturating_mul(8).min(end);
        }
    }

    fn run(&mut self) -> Result<Option<TraceViolation>, Stop> {
        let mut search = Search::new(self.index, self.question, self.budget);
        let mut ticker = self.budget.ticker();
        let (mut entries, mut starts) = (Vec::new(), Vec::new());
        for (thread, lane) in self.index.lanes.iter().enumerate() {
            let mut tried: Map<(usize, usize), (Pos, Pos)> = Map::default();
            for unit in 0..lane.units.len() as u32 {
                ticker.tick().map_or(Ok(()), |spent| Err(Stop::Spent(spent)))?;
                search.entries(thread as u32, unit, &mut entries);
                for &enter in &entries {
                    search.starts(thread as u32, enter, &mut starts);
                    for start in &starts {
                        let (left, entered) = start.times();
                        let known = tried.entry(start.profile()).or_insert((Pos::MAX, 0));
                        if !self.thorough && known.0 <= left && known.1 >= entered {
                            continue;
                        }
                        *known = (left, entered);
                        self.effort.starts += 1;
                        let found = self.try_start(&mut search, start);
                        self.effort.places = search.work;
                        if let Some(found) = found? {
                            return Ok(Some(found));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    fn try_start(
        &mut self,
        search: &mut Search<'_>,
        start: &Start,
    ) -> Result<Option<TraceViolation>, Stop> {
        // Where placements are ruled out by what was read, that no walk from here is the best of its kind
        // does not mean that there is none.
        let every = self.thorough && self.believed.is_some();
        for &discipline in self.disciplines.iter().filter(|_| !every) {
            let Some(walk) = search.walk(start, discipline) else {
                return search.spent.map_or(Ok(None), |spent| Err(Stop::Spent(spent)));
            };
            if let Some(found) = self.confirm(&walk).map_err(Stop::Spent)? {
                return Ok(Some(found));
            }
            self.effort.exponential += u64::from(discipline == Discipline::Any);
        }
        if !self.thorough {
            return Err(Stop::Doubt);
        }
        self.effort.exhaustive += 1;
        let visit = start.visit;
        let window = if every { search.window_of(start) } else { search.window() };
        let (index, question, budget) = (self.index, self.question, self.budget);
        let mut found = Ok(None);
        let mut accept = |walk: &[Visit]| {
            found = self.confirm(walk);
            !matches!(found, Ok(None))
        };
        exhaustive::walk(index, question, visit, window, budget, &mut accept)
            .map_err(Stop::Spent)?;
        found.map_err(Stop::Spent)
    }

    /// The execution that a walk describes, if there is one, judged again from scratch.
    fn confirm(&mut self, walk: &[Visit]) -> Result<Option<TraceViolation>, Spent> {
        let believed = self.believed.as_deref_mut();
        let realized = realize(self.index, self.trace, walk, believed, self.budget)?;
        Ok(realized.and_then(|run| self.judged(walk, run)))
    }

    /// The violation that an execution shows, judged from scratch.
    fn judged(&self, walk: &[Visit], run: Realized) -> Option<TraceViolation> {
        // The threads of the walk are enough, and leave a long run's monitor little to hold; in a short one
        // the others may show a shorter cycle.
        let threads: Vec<u32> = walk.iter().map(|visit| visit.thread).collect();
        let violation = match self.trace.len() {
            0..glance::LONG => None,
            _ => execution::judge_among(self.question, &run.execution, &threads),
        };
        let violation = violation.or_else(|| execution::judge(self.question, &run.execution))?;
        Some(self.explained(violation, run))
    }

    /// Says of each conflict whether another placement of commits would have turned it round.
    fn explained(&self, mut violation: Violation, run: Realized) -> TraceViolation {
        let Realized { execution, origin } = run;
        for step in &mut violation.cycle {
            let (from, to) = (origin[step.leaves.at as usize], origin[step.enters.at as usize]);
            if step.kind == EdgeKind::Conflict && !self.forced(from, to) {
                step.kind = EdgeKind::OrientedConflict;
            }
        }
        TraceViolation { violation, execution }
    }

    /// Whether the accesses at these positions have the same order in every execution.
    fn forced(&self, from: Pos, to: Pos) -> bool {
        let lane = &self.index.lanes[self.trace[from as usize].thread.0 as usize];
        let at = lane.accesses.partition_point(|access| access.pos < from);
        lane.accesses
            .get(at)
            .is_some_and(|access| access.latest <= to || access.op == Op::Read && from < to)
    }
}
