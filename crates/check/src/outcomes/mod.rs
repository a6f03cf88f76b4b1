//! Final states of a program, under SC, on machines with store buffers, and on models that are given by axioms ([`enumerate`]).
//!
//! Every state is visited: `buffers` and `interleavings` are systems that `search` explores, and their findings
//! are the final states. A thread that has a run-time error stops there, also where another thread
//! could have changed memory so that a locked update fits; what waits in its buffers still reaches
//! memory. A program that stores in a loop can fill its buffers without end, so their
//! length is limited; when a limit mattered, the answer says which.

mod buffers;
mod executions;
mod interleavings;
mod models;

pub use executions::{Bounds, Executions, executions};
pub use models::{Enumerated, Seen, Wanted, enumerate};

use budget::Budget;
use buffers::Buffers;
use graph::{FinalState, Outcome};
use interleavings::Interleavings;
use ir::{OneOf, Program};
use memory::store_buffer::{Machine, compile};
use search::{Limit, Model, Options, Order, Paths, Stop};
use std::collections::{HashMap, HashSet};

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many states may be visited.
    pub states: usize,
    /// How many stores may wait in a thread's buffers.
    pub buffer: usize,
    /// On how many cores. On one, the search goes deep first: if a limit stops it, it has seen some ends.
    pub jobs: usize,
    /// What may be used up.
    pub budget: Budget,
}

impl Default for Limits {
    /// A litmus test fits into memory.
    fn default() -> Self {
        Limits { states: 1_000_000, buffer: 8, jobs: 1, budget: Budget::UNLIMITED }
    }
}

/// What cut an exploration short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// A thread wanted to store more than fits into its buffers; everything else was explored.
    Buffers,
    /// A limit of the search.
    Limit(Limit),
}

impl Cut {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cut::Buffers => "buffers",
            Cut::Limit(limit) => limit.name(),
        }
    }
}

/// Final states of a program on a machine.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// The states, and which of them SC allows.
    pub outcomes: Vec<Outcome>,
    /// What cut the exploration short, if something did.
    pub cut: Option<Cut>,
}

/// Final states of a program on one memory.
#[derive(Clone, Debug, Default)]
pub struct FinalStates {
    /// The states, in no particular order.
    pub states: HashSet<FinalState>,
    /// What cut the exploration short, so that there may be more, if something did.
    pub cut: Option<Cut>,
}

/// The final states of `program` on `machine`, and which of them SC allows.
pub fn outcomes(program: &Program, machine: Machine, limits: &Limits) -> Outcomes {
    let compiled = compile(program, machine);
    let compiled = match machine {
        Machine::Tso => compiled.with_stores_in_order().with_indices_checked(program),
        Machine::Pso | Machine::Pgas => compiled,
    };
    let sc = Buffers { compiled: compiled.clone(), most: None };
    let sc = final_states(&sc, program, limits);
    let weak = final_states(&Buffers { compiled, most: Some(limits.buffer) }, program, limits);
    let mut found: HashMap<FinalState, bool> =
        weak.states.into_iter().map(|state| (state, false)).collect();
    found.extend(sc.states.into_iter().map(|state| (state, true)));
    let mut outcomes: Vec<Outcome> =
        found.into_iter().map(|(state, under_sc)| Outcome { state, under_sc }).collect();
    outcomes.sort_by_cached_key(|outcome| {
        let threads = &outcome.state.threads;
        let registers: Vec<_> = threads.iter().map(|thread| thread.registers.clone()).collect();
        let places: Vec<_> = threads.iter().map(|thread| thread.pc).collect();
        (registers, outcome.state.memory.clone(), places)
    });
    Outcomes { outcomes, cut: sc.cut.or(weak.cut) }
}

/// The final states of all interleavings of `program`.
pub fn interleavings(program: &Program, limits: &Limits) -> FinalStates {
    final_states(&Interleavings { program: program.clone() }, program, limits)
}

/// What a search for final states finds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Ending {
    /// No thread goes on.
    End(FinalState),
    /// A thread wanted to store more than fits into its buffers.
    Overflow,
}

/// All final states that `model`, which is `program` on some memory, finds.
fn final_states<M: Model<Finding = Ending>>(
    model: &M,
    program: &Program,
    limits: &Limits,
) -> FinalStates {
    let options = Options {
        order: if limits.jobs > 1 { Order::Breadth } else { Order::Depth },
        jobs: limits.jobs,
        stop: Stop::AtEnd,
        limits: search::Limits {
            states: Some(limits.states as u64),
            depth: None,
            budget: limits.budget,
        },
        paths: Paths::None,
    };
    let report = search::explore(model, &options, &|_| {});
    let one_of = OneOf::of(program);
    let mut found = FinalStates { cut: report.limit.map(Cut::Limit), ..FinalStates::default() };
    for finding in report.findings {
        match finding.finding {
            Ending::End(state) => found.states.extend(state.settled(program, &one_of)),
            Ending::Overflow => found.cut = found.cut.or(Some(Cut::Buffers)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::Status;
    use ir::{Domain, Expr, Location, LocationKind, Pc, Place, ReadMode, Reg, Step, Thread, Value};
    use ir::{FenceMode, Instr, Loc, Origin, WriteMode};

    fn store(loc: u32) -> Instr {
        let place = Place::location(Loc(loc));
        Instr::Store { place, value: Expr::Const(1), mode: WriteMode::Rlx }
    }

    fn load(reg: u32, loc: u32) -> Instr {
        Instr::Load { dst: Reg(reg), place: Place::location(Loc(loc)), mode: ReadMode::Rlx }
    }

    fn program(threads: &[Vec<Instr>]) -> Program {
        let thread = |(t, instrs): (usize, &Vec<Instr>)| {
            let halt = instrs.len();
            let steps = instrs.iter().cloned().chain([Instr::Halt]).enumerate();
            Thread {
                name: format!("t{t}"),
                replica: None,
                registers: vec!["a".into(), "b".into()],
                entry: Pc(0),
                code: steps
                    .map(|(pc, instr)| Step {
                        instr,
                        next: Pc::from((pc + 1).min(halt)),
                        origin: Origin(0),
                    })
                    .collect(),
            }
        };
        let location = |name: &str| Location {
            name: name.into(),
            element: None,
            initial: 0,
            kind: LocationKind::Atomic,
        };
        let threads = threads.iter().enumerate().map(thread).collect();
        Program::new(Domain::modulo(1), vec![location("x"), location("y")], threads)
    }

    /// The registers of the outcomes that SC forbids.
    fn forbidden(program: &Program, machine: Machine) -> Vec<Vec<Vec<Value>>> {
        let all = outcomes(program, machine, &Limits::default());
        assert_eq!(all.cut, None);
        let weak = all.outcomes.into_iter().filter(|outcome| !outcome.under_sc);
        weak.map(|o| o.state.threads.into_iter().map(|t| t.registers).collect()).collect()
    }

    /// Store buffering shows everywhere, unless fenced; message passing breaks where stores overtake
    /// stores.
    #[test]
    fn litmus_tests_end_as_the_manuals_say() {
        let sb = program(&[vec![store(0), load(0, 1)], vec![store(1), load(0, 0)]]);
        let mp = program(&[vec![store(0), store(1)], vec![load(0, 1), load(1, 0)]]);
        let fence = Instr::Fence(FenceMode::Sc);
        let fenced = program(&[
            vec![store(0), fence.clone(), load(0, 1)],
            vec![store(1), fence, load(0, 0)],
        ]);
        let ordered = program(&[
            vec![store(0), Instr::LightFence(vec![Place::location(Loc(0))]), store(1)],
            vec![load(0, 1), load(1, 0)],
        ]);
        for machine in Machine::ALL {
            assert_eq!(forbidden(&sb, machine), [[[0, 0], [0, 0]]], "{machine}");
            assert!(forbidden(&fenced, machine).is_empty(), "{machine}");
            assert!(forbidden(&ordered, machine).is_empty(), "{machine}");
            let broken = forbidden(&mp, machine) == [[[0, 0], [1, 0]]];
            assert_eq!(broken, machine != Machine::Tso, "{machine}");
        }
    }

    /// An update whose result does not fit ends its thread, although another thread could have made room.
    #[test]
    fn a_run_time_error_that_depends_on_memory_is_an_end() {
        let add = Instr::Rmw {
            dst: None,
            place: Place::location(Loc(0)),
            update: ir::Update::add(Expr::Const(1)),
            read: ReadMode::Rlx,
            write: WriteMode::Rlx,
        };
        let clear = Instr::Store {
            place: Place::location(Loc(0)),
            value: Expr::Const(0),
            mode: WriteMode::Rlx,
        };
        let mut program = program(&[vec![clear], vec![add]]);
        program.domain.edge = ir::Edge::Fault;
        program.locations[0].initial = 1;
        let all = outcomes(&program, Machine::Tso, &Limits::default());
        let ends: HashSet<bool> = all
            .outcomes
            .iter()
            .map(|o| matches!(o.state.threads[1].status, Status::Faulted(_)))
            .collect();
        assert_eq!(ends, HashSet::from([true, false]));
        assert!(all.outcomes.iter().all(|outcome| outcome.under_sc));
    }

    /// A thread that is kept out for good waits, wherever it is: that it is at an assertion does not make that fail.
    #[test]
    fn who_is_kept_out_has_not_failed() {
        let text = "atomic x; thread a { bus_lock; wait(x, 1, rlx); bus_unlock; } \
                    thread b { local r; assert(r == 0); } thread c { local r; assume(r == 0); }";
        let program = lang::parse("kept out", text).expect("a program").program;
        for machine in Machine::ALL {
            let all = outcomes(&program, machine, &Limits::default()).outcomes;
            let ends = all.iter().flat_map(|outcome| &outcome.state.threads[1..]);
            let statuses: HashSet<Status> = ends.map(|thread| thread.status).collect();
            assert_eq!(statuses, HashSet::from([Status::Halted, Status::Blocked]), "{machine}");
        }
    }

    /// A robust program has the final states of its interleavings, also where a thread waits for ever behind its `bus_lock` and
    /// another has issued a store before.
    #[test]
    fn stores_that_never_reach_memory_end_nothing() {
        let text = "atomic x, y; thread a { bus_lock; wait(x, 1, rlx); bus_unlock; } \
                    thread b { local r; x.store(1, rlx); r = y.load(rlx); }";
        let program = lang::parse("kept out", text).expect("a program").program;
        for machine in Machine::ALL {
            let all = outcomes(&program, machine, &Limits::default()).outcomes;
            assert!(all.iter().all(|outcome| outcome.under_sc), "{machine}: {all:?}");
            let kept = |outcome: &Outcome| outcome.state.threads[1].status == Status::Blocked;
            assert!(all.iter().any(kept), "{machine}: {all:?}");
        }
    }

    /// A lock that may be shared is waited for whichever value it has: nobody is left waiting in front of one that is free,
    /// and who waits for one that is taken waits once, not once for each value that would have done.
    #[test]
    fn who_waits_for_one_of_several_values_has_not_chosen() {
        let shared = "oneof({ BCAS(l, 0, 1, acq, rlx); } { BCAS(l, 1, 2, acq, rlx); });";
        let ends = |writer: &str| {
            let text = format!(
                "max_value 3; atomic l; thread a {{ {shared} FADD(l, -1, rlx, rel); }} \
                 thread b {{ {shared} FADD(l, -1, rlx, rel); }} thread w {{ {writer} }}"
            );
            let program = lang::parse("shared", &text).expect("a program").program;
            let waiting = |state: &FinalState| {
                state.threads.iter().map(|thread| thread.status == Status::Blocked).collect()
            };
            let mut all: Vec<Vec<Vec<bool>>> = Vec::new();
            let sc = interleavings(&program, &Limits::default());
            all.push(sc.states.iter().map(waiting).collect());
            let tso = outcomes(&program, Machine::Tso, &Limits::default());
            all.push(tso.outcomes.iter().map(|outcome| waiting(&outcome.state)).collect());
            let graphs = graph::outcomes(&program, &graph::Limits::default());
            all.push(graphs.outcomes.iter().map(|outcome| waiting(&outcome.state)).collect());
            all.iter_mut().for_each(|ends| ends.sort());
            assert!(all.iter().all(|ends| *ends == all[0]), "{all:?}");
            all.swap_remove(0)
        };
        assert_eq!(ends("skip;"), [[false; 3]]);
        assert_eq!(ends("BCAS(l, 0, 3, acq, rlx); l.store(0, rel);"), [[false; 3]]);
        let kept = ends("BCAS(l, 0, 3, acq, rlx);");
        let (t, f) = (true, false);
        assert_eq!(kept, [[f, f, f], [f, t, f], [t, f, f], [t, t, f]]);
    }
}
