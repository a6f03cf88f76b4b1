//! Final states of a program on the machine, and which of them SC forbids.
//!
//! Every state is visited. A thread that has a run-time error stops there, also where another thread
//! could have changed memory so that a locked update fits; what waits in its buffers still reaches
//! memory. A program that stores in a loop can fill its buffers without end, so their
//! length is limited; when a limit mattered, the answer says which.

use budget::{Budget, Spent};
use graph::outcome::ThreadEnd;
use graph::{FinalState, Outcome, Status};
use ir::{Fault, Instr, Loc, Program, Tid};
use memory::store_buffer::{Compiled, Machine, compile};
use memory::store_buffer::{Entry, Move, State, apply, candidates, initial};
use std::collections::{HashMap, HashSet};

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many states may be visited.
    pub states: usize,
    /// How many stores may wait in a thread's buffers.
    pub buffer: usize,
    /// What may be used up.
    pub budget: Budget,
}

impl Default for Limits {
    /// A litmus test fits into memory.
    fn default() -> Self {
        Limits { states: 1_000_000, buffer: 8, budget: Budget::UNLIMITED }
    }
}

/// What cut an exploration short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// A thread wanted to store more than fits into its buffers; everything else was explored.
    Buffers,
    /// [`Limits::states`]
    States,
    /// [`Limits::budget`]
    Spent(Spent),
}

impl Cut {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cut::Buffers => "buffers",
            Cut::States => "states",
            Cut::Spent(spent) => spent.name(),
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

/// The final states of `program` on `machine`, and which of them SC allows.
pub fn outcomes(program: &Program, machine: Machine, limits: &Limits) -> Outcomes {
    let compiled = compile(program, machine);
    let compiled = match machine {
        Machine::Tso => compiled.with_stores_in_order(),
        Machine::Pso | Machine::Pgas => compiled,
    };
    let (sc, sc_cut) = explore(&compiled, true, limits);
    let (weak, cut) = explore(&compiled, false, limits);
    let mut found: HashMap<FinalState, bool> =
        weak.into_iter().map(|state| (state, false)).collect();
    found.extend(sc.into_iter().map(|state| (state, true)));
    let mut outcomes: Vec<Outcome> =
        found.into_iter().map(|(state, under_sc)| Outcome { state, under_sc }).collect();
    outcomes.sort_by_cached_key(|outcome| {
        let threads = &outcome.state.threads;
        let registers: Vec<_> = threads.iter().map(|thread| thread.registers.clone()).collect();
        let places: Vec<_> = threads.iter().map(|thread| thread.pc).collect();
        (registers, outcome.state.memory.clone(), places)
    });
    Outcomes { outcomes, cut: sc_cut.or(cut) }
}

/// All final states, and what cut the exploration short. Under SC, stores reach memory at once.
fn explore(compiled: &Compiled, sc: bool, limits: &Limits) -> (HashSet<FinalState>, Option<Cut>) {
    let program = &compiled.program;
    let start = Node { stopped: vec![None; program.threads.len()], state: initial(program) };
    let mut seen = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    let mut finals = HashSet::new();
    let mut cut = None;
    let mut ticker = limits.budget.ticker();
    while let Some(node) = stack.pop() {
        if let Some(spent) = ticker.tick() {
            return (finals, Some(Cut::Spent(spent)));
        }
        let mut stuck = true;
        for step in candidates(program, &node.state) {
            let tid = match step {
                Move::Step(tid, _) if node.stopped[tid.index()].is_some() => continue,
                Move::Step(tid, _) | Move::Advance(tid, _) | Move::Commit(tid) => tid,
            };
            let mut next = node.clone();
            match apply(program, &mut next.state, step) {
                Ok(Some(_)) => {}
                Ok(None) => continue,
                Err(fault) => next.stopped[tid.index()] = Some(fault),
            }
            stuck = false;
            if sc {
                drain(program, &mut next.state, tid);
            }
            let buffers = &next.state.threads[tid.index()].buffers;
            let stores = buffers.all.iter().filter(|entry| matches!(entry, Entry::Store(..)));
            let waiting = stores.count() + buffers.of.iter().map(|of| of.len()).sum::<usize>();
            if waiting > limits.buffer {
                cut = Some(Cut::Buffers);
                continue;
            }
            if seen.len() >= limits.states {
                return (finals, Some(Cut::States));
            }
            forget_numbers(&mut next.state);
            if seen.insert(next.clone()) {
                stack.push(next);
            }
        }
        if stuck {
            finals.insert(end(compiled, &node));
        }
    }
    (finals, cut)
}

/// A state of the machine, and the threads that a run-time error stopped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    state: State,
    stopped: Vec<Option<Fault>>,
}

fn drain(program: &Program, state: &mut State, tid: Tid) {
    let locations = state.memory.len();
    let mut step = |step| matches!(apply(program, state, step), Ok(Some(_)));
    for loc in 0..locations {
        while step(Move::Advance(tid, Loc::from(loc))) {}
    }
    while step(Move::Commit(tid)) {}
}

/// Which store a value comes from does not matter here.
fn forget_numbers(state: &mut State) {
    for thread in &mut state.threads {
        thread.issued = 0;
        for (_, number) in thread.buffers.of.iter_mut().flatten() {
            *number = 0;
        }
        for entry in &mut thread.buffers.all {
            if let Entry::Store(_, _, number) = entry {
                *number = 0;
            }
        }
    }
    for (_, from) in &mut state.memory {
        *from = None;
    }
}

fn end(compiled: &Compiled, Node { state, stopped }: &Node) -> FinalState {
    let program = &compiled.program;
    let status = |tid: Tid| {
        let thread = &state.threads[tid.index()];
        let step = program.step(tid, thread.pc);
        match (&step.instr, stopped[tid.index()]) {
            (_, Some(fault)) => Status::Faulted(fault),
            (Instr::Halt, _) => Status::Halted,
            (Instr::Assume(_), _) => Status::Ended,
            (Instr::Assert(_), _) => Status::Failed,
            _ => Status::Blocked,
        }
    };
    FinalState {
        threads: program
            .tids()
            .map(|tid| ThreadEnd {
                pc: compiled.source(tid, state.threads[tid.index()].pc),
                registers: state.threads[tid.index()].regs.clone(),
                status: status(tid),
            })
            .collect(),
        memory: state.memory.iter().map(|(value, _)| *value).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::{Domain, Expr, Location, LocationKind, Pc, Place, ReadMode, Reg, Step, Thread, Value};
    use ir::{FenceMode, Origin, WriteMode};

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
}
