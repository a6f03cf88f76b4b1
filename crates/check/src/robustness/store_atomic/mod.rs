//! Robustness against TSO, PSO and PGAS (Derevenetc, Meyer and Schweizer, *Locality and Singularity
//! for Store-Atomic Memory Models*).
//!
//! A program is robust if every computation of the machine with store buffers has the happens-before
//! trace of some interleaving. Buffers are not explored: by locality, a violation shows in a search
//! under SC with one attacker, see [`::memory::attack::Attack`]. Each module has one part:
//! [`attack_candidates`] what the text says about attacks, [`state`] and [`settle`] how the search's states look,
//! [`mod@model`] the search itself, [`mod@judge`] the judge that runs a witness on the machine.
//!
//! [`check`] decides robustness and nothing else. A thread that has a run-time error, or whose
//! assertion fails, stops there; the trace of a computation is what the threads did before.
//! [`mod@safety`] adds the answers about assertions and run-time errors.
//!
//! ```
//! use fencepost_check::robustness::store_atomic::{check, Machine, Settings};
//! let text = "thread t initial a transition a b write 1 0 transition b c read r 1 end
//!             thread u initial a transition a b write 1 1 transition b c read r 0 end";
//! # fn program(_: &str) -> ir::Program { use ir::*;
//! #   let thread = |x, y| Thread { name: format!("t{x}"), replica: None, registers: vec!["r".into()],
//! #     entry: Pc(0), code: vec![
//! #       Step { instr: Instr::Store { place: Place::location(Loc(x)), value: Expr::Const(1), mode: WriteMode::Rlx }, next: Pc(1), origin: Origin(0) },
//! #       Step { instr: Instr::Load { dst: Reg(0), place: Place::location(Loc(y)), mode: ReadMode::Rlx }, next: Pc(2), origin: Origin(0) },
//! #       Step { instr: Instr::Halt, next: Pc(2), origin: Origin(0) }] };
//! #   let loc = |name: &str| Location { name: name.into(), element: None, initial: 0, kind: LocationKind::Atomic };
//! #   Program::new(Domain::modulo(1), vec![loc("x"), loc("y")], vec![thread(0, 1), thread(1, 0)]) }
//! let outcome = check(&program(text), Machine::Tso, &Settings::default(), &|_| {}).unwrap();
//! assert_eq!(outcome.verdict.name(), "violated");
//! ```

pub mod attack_candidates;
pub mod judge;
pub mod model;
mod moves;
pub mod safety;
pub mod settle;
pub mod state;
pub mod triangular_race;

pub use self::judge::{Event, Happening, OnCycle};
pub use ::memory::store_buffer::{Compiled, Machine, compile};

use self::judge::judge;
use self::model::{Act, AttackSearch, Buffers, Finding, Label, Receiver};
use self::state::State;
use crate::verdict::Cost;
pub use crate::verdict::Why;
use ::ir::{Fault, Loc, Pc, Program, Tid, Value};
use ::memory::store_buffer::trace::Trace;
use search::{Limits, Options, Order, Progress, Stop};
use std::fmt;
use std::time::Instant;

/// Which theorem the search relies on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Method {
    /// Singularity where it is complete, else locality.
    #[default]
    Auto,
    /// One thread delays any number of stores (Theorem 1).
    Locality,
    /// One store is delayed (Theorem 2); complete without lightweight fences only.
    Singularity,
}

impl Method {
    /// The name used in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Locality => "locality",
            Method::Singularity => "singularity",
        }
    }
}

/// How to check.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Which theorem to rely on.
    pub method: Method,
    /// Use partial-order reduction?
    pub reduce: bool,
    /// The order of exploration.
    pub order: Order,
    /// What it may use up.
    pub limits: Limits,
    /// On how many cores.
    pub jobs: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            method: Method::Auto,
            reduce: true,
            order: Order::Breadth,
            limits: Limits::default(),
            jobs: 1,
        }
    }
}

/// Why a check was not even tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Singularity was asked for where it would miss violations.
    Incomplete(Machine, Option<(Tid, Pc)>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Incomplete(Machine::Tso, _) => f.write_str(
                "singularity is not complete for tso: stores that stay in order are as good as \
                 lightweight fences, and a violation may need several delayed stores; use locality",
            ),
            Refusal::Incomplete(machine, _) => write!(
                f,
                "singularity is not complete for {machine} here: the program has lightweight fences \
                 (release stores and release fences count), and a violation may need several delayed \
                 stores; use locality"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// A computation that no interleaving explains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The thread that delays a store.
    pub attacker: Tid,
    /// The delayed store's address.
    pub target: Loc,
    /// The delayed store.
    pub start: Pc,
    /// The access that overtakes it.
    pub last: Pc,
    /// The steps of the attacker between the two, `last` included, in its program.
    pub between: Vec<Pc>,
    /// What happens, in order.
    pub computation: Vec<Happening>,
    /// The registers of each happening's thread after it.
    pub registers: Vec<Vec<Value>>,
    /// The happens-before cycle.
    pub cycle: Vec<OnCycle>,
    /// The trace it is a cycle of.
    pub trace: Trace,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The program is robust.
    Holds,
    /// It is not, as this shows.
    Violated(Box<Witness>),
    /// Nobody knows, because of this.
    Undecided(Why),
}

impl Verdict {
    /// `holds`, `violated` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Undecided(_) => "undecided",
        }
    }
}

/// A run-time error of the program under check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faulty {
    /// The thread.
    pub tid: Tid,
    /// Where.
    pub pc: Pc,
    /// What.
    pub fault: Fault,
}

/// All that a check found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// The theorem used; never [`Method::Auto`].
    pub method: Method,
    /// How many attacks there are: pairs of a store and a later access.
    pub attacks: u64,
    /// How many of them are not hopeless for reasons of the text, and were searched for.
    pub attacks_examined: u64,
    /// Run-time errors of the program.
    pub faults: Vec<Faulty>,
    /// What it cost.
    pub cost: Cost,
}

/// The theorem to use; an error if the one wanted is not complete.
pub fn choose(compiled: &Compiled, machine: Machine, wanted: Method) -> Result<Method, Refusal> {
    let complete = machine != Machine::Tso && !compiled.has_light_fences();
    match (wanted, complete) {
        (Method::Auto | Method::Singularity, true) => Ok(Method::Singularity),
        (Method::Auto | Method::Locality, _) => Ok(Method::Locality),
        (Method::Singularity, false) => {
            use ::ir::{FenceMode, Instr};
            let place = compiled.program.steps().find_map(|(tid, pc, step)| {
                matches!(step.instr, Instr::LightFence(_) | Instr::Fence(FenceMode::Rel))
                    .then(|| (tid, compiled.source(tid, pc)))
            });
            Err(Refusal::Incomplete(machine, place))
        }
    }
}

/// Is `program` robust against `machine`? Run-time errors are reported as far as the search met them:
/// where the text alone rules out attacks there is no search. `observe` is told now and then how far the search has come.
pub fn check(
    program: &Program,
    machine: Machine,
    settings: &Settings,
    observe: &(dyn Fn(&Progress) + Sync),
) -> Result<Outcome, Refusal> {
    let begun = Instant::now();
    let compiled = compile(program, machine);
    let method = choose(&compiled, machine, settings.method)?;
    let singular = method == Method::Singularity;
    let mut search = AttackSearch::new(&compiled.program, machine, singular);
    if !settings.reduce {
        search = search.without_reduction();
    }
    if search.hope.hopeful == 0 {
        // The text alone says that nothing can go wrong.
        return Ok(Outcome {
            verdict: Verdict::Holds,
            method,
            attacks: search.hope.attacks,
            attacks_examined: 0,
            faults: vec![],
            cost: Cost { elapsed: begun.elapsed(), ..Cost::default() },
        });
    }
    let options = Options {
        order: settings.order,
        stop: Stop::AtFirst,
        limits: settings.limits,
        jobs: settings.jobs,
    };
    let report = search::explore(&search, &options, observe);
    let mut cost = Cost::default();
    cost.add(&report.progress);
    let mut faults = Vec::new();
    let mut verdict = None;
    for found in &report.findings {
        match found.finding {
            Finding::Fault { tid, pc, fault } => {
                faults.push(Faulty { tid, pc: compiled.source(tid, pc), fault });
            }
            Finding::Cycle { .. } if verdict.is_none() => {
                verdict = Some(
                    witness(&search, &compiled, machine, &found.path, found.finding)
                        .map_or(Verdict::Undecided(Why::Rejected), |witness| {
                            Verdict::Violated(Box::new(witness))
                        }),
                );
            }
            Finding::Cycle { .. } => {}
        }
    }
    let verdict = verdict.unwrap_or(match (report.limit, faults.first()) {
        (Some(limit), _) => Verdict::Undecided(Why::Limit(limit)),
        (None, Some(_)) => Verdict::Undecided(Why::Faulty),
        (None, None) => Verdict::Holds,
    });
    cost.elapsed = begun.elapsed();
    Ok(Outcome {
        verdict,
        method,
        attacks: search.hope.attacks,
        attacks_examined: search.hope.hopeful,
        faults,
        cost,
    })
}

/// The witness that a path through the search stands for, if the judge accepts it.
pub(crate) fn witness(
    search: &AttackSearch<'_>,
    compiled: &Compiled,
    machine: Machine,
    path: &[Box<[u8]>],
    finding: Finding,
) -> Option<Witness> {
    let Finding::Cycle { attacker, target, .. } = finding else { return None };
    let steps = labels(search, path, finding)?;
    let accepted = judge(compiled, machine, &steps)?;
    let first = steps.iter().position(|step| matches!(step.act, Act::Delay(..)))?;
    let own: Vec<&Label> = steps[first..].iter().filter(|step| step.tid == attacker).collect();
    let between = between(&own, compiled)?;
    let source = |label: &Label| compiled.source(attacker, label.pc);
    Some(Witness {
        attacker,
        target,
        start: source(own.first()?),
        last: source(own.last()?),
        between,
        computation: accepted.computation,
        registers: accepted.registers,
        cycle: accepted.cycle,
        trace: accepted.trace,
    })
}

/// The steps of a thread from the first (not included) to the last access.
pub(crate) fn between(own: &[&Label], compiled: &Compiled) -> Option<Vec<Pc>> {
    let last = own.last()?;
    let mut between = Vec::new();
    for (k, step) in own.iter().enumerate() {
        if k > 0 {
            between.push(step.pc);
        }
        if k + 1 < own.len() {
            between.extend(&step.local);
        }
    }
    let mut between: Vec<Pc> =
        between.into_iter().map(|pc| compiled.source(last.tid, pc)).collect();
    between.dedup();
    Some(between)
}

/// The steps along a path, the one that closes the cycle included.
pub(crate) fn labels(
    search: &AttackSearch<'_>,
    path: &[Box<[u8]>],
    finding: Finding,
) -> Option<Vec<Label>> {
    struct Look<'l, 'a> {
        search: &'l AttackSearch<'a>,
        state: Option<&'l [u8]>,
        finding: Finding,
        label: Option<Label>,
    }
    impl Receiver for Look<'_, '_> {
        fn state(&mut self, label: &Label, state: &State) -> bool {
            if self.label.is_none() && self.state.is_some_and(|s| *s == *self.search.pack(state)) {
                self.label = Some(label.clone());
            }
            false
        }

        fn found(&mut self, label: &Label, finding: Finding) {
            if self.state.is_none() && self.label.is_none() && finding == self.finding {
                self.label = Some(label.clone());
            }
        }
    }
    let mut buffers = Buffers::new(search);
    let mut steps = Vec::new();
    for (k, state) in path.iter().enumerate() {
        let next = path.get(k + 1).map(|bytes| &**bytes);
        let mut look = Look { search, state: next, finding, label: None };
        search.successors(&search.unpack(state), &mut buffers, &mut look);
        steps.push(look.label?);
    }
    Some(steps)
}
