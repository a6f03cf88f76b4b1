//! Where executions end: final states, and which of them SC forbids.
//!
//! A graph is *final* if every thread is done, stuck for good, or blocked: at a `wait` or `BCAS` that
//! the last write (in modification order) to its location does not let pass. The declarative model
//! might let such a thread read an older write, but no fair memory hides the last write for ever, so
//! being blocked is an outcome too. For SC-consistent graphs this is exactly the operational notion:
//! every interleaving that explains the graph ends with the last writes in memory.

use super::axioms::is_sc_consistent;
use super::enumerate::{Limits, enumerate};
use super::run::{Execution, Next, Status};
use ir::thread::{Action, next_action};
use ir::{Instr, Loc, Notes, OneOf, Pc, Program, Value};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Where a thread is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ThreadEnd {
    /// Its program counter.
    pub pc: Pc,
    /// Its registers.
    pub registers: Vec<Value>,
    /// Is it done, or why does it not go on?
    pub status: Status,
}

/// What is left when an execution stops.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FinalState {
    /// The threads.
    pub threads: Vec<ThreadEnd>,
    /// The value of the last write to every location.
    pub memory: Vec<Value>,
}

impl FinalState {
    /// The state an execution is in.
    pub fn of(execution: &Execution, program: &Program) -> Self {
        let blocked = |tid| match execution.next(program, tid) {
            Next::Access(access) => {
                access.label(execution.graph.latest_value(access.loc)).is_none()
            }
            _ => false,
        };
        let end = |tid: ir::Tid| {
            let thread = &execution.threads[tid.index()];
            ThreadEnd {
                pc: thread.pc,
                registers: thread.registers.clone(),
                status: if blocked(tid) { Status::Blocked } else { thread.status },
            }
        };
        FinalState {
            threads: program.tids().map(end).collect(),
            memory: (0..program.locations.len())
                .map(|loc| execution.graph.latest_value(Loc::from(loc)))
                .collect(),
        }
    }

    /// Is it final: does no thread go on?
    pub fn is_final(&self) -> bool {
        !self.threads.iter().any(|t| matches!(t.status, Status::Running | Status::Cut))
    }

    /// The state, if no thread goes on, with threads that [wait for one of several values](OneOf) at their choice; `None` if
    /// one of them has chosen another value than the one that is there, so that it goes on in another execution.
    pub fn settled(&self, program: &Program, one_of: &OneOf) -> Option<FinalState> {
        let mut state = self.is_final().then(|| self.clone())?;
        for (tid, thread) in program.tids().zip(&mut state.threads) {
            let Some(choice) = one_of.choice(tid, thread.pc) else { continue };
            if thread.status != Status::Blocked {
                continue;
            }
            let Instr::Jump { targets, .. } = &program.step(tid, choice).instr else { continue };
            let passes = |&target: &Pc| {
                let mut notes = Notes::default();
                let instr = &program.step(tid, target).instr;
                match next_action(instr, &thread.registers, program.domain, &mut notes) {
                    Ok(Action::BlockingCas { loc, expected, .. }) => {
                        self.memory[loc.index()] == expected
                    }
                    Ok(Action::Wait { loc, values, .. }) => {
                        values.contains(&self.memory[loc.index()])
                    }
                    _ => false,
                }
            };
            if targets.iter().any(passes) {
                return None;
            }
            thread.pc = choice;
        }
        Some(state)
    }

    /// Did an assertion fail?
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(|thread| thread.status == Status::Failed)
    }

    /// A total order for lists of states: by registers, then memory, then where threads are.
    fn sort_key(&self) -> (Vec<&[Value]>, &[Value], Vec<Pc>) {
        (
            self.threads.iter().map(|thread| thread.registers.as_slice()).collect(),
            &self.memory,
            self.threads.iter().map(|thread| thread.pc).collect(),
        )
    }
}

/// A final state that RC11 allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The state.
    pub state: FinalState,
    /// Does SC allow it too?
    pub under_sc: bool,
}

/// All final states of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcomes {
    /// The states, without repetition, ordered by registers and memory.
    pub outcomes: Vec<Outcome>,
    /// Did a limit cut something off?
    pub bounded: bool,
}

/// The final states of the program under RC11, and which of them SC allows. For RC20, pass
/// [`Program::rc20`]; for RA,
/// [`Program::release_acquire`].
pub fn outcomes(program: &Program, limits: &Limits) -> Outcomes {
    let mut found: HashMap<FinalState, bool> = HashMap::new();
    let one_of = OneOf::of(program);
    let enumeration = enumerate(program, limits, &mut |graph, state| {
        if let Some(state) = state.settled(program, &one_of) {
            *found.entry(state).or_insert(false) |= is_sc_consistent(graph);
        }
        ControlFlow::Continue(())
    });
    let mut outcomes: Vec<Outcome> =
        found.into_iter().map(|(state, under_sc)| Outcome { state, under_sc }).collect();
    outcomes.sort_by(|a, b| a.state.sort_key().cmp(&b.state.sort_key()));
    Outcomes { outcomes, bounded: enumeration.bounded }
}

#[cfg(test)]
mod tests {
    use super::super::litmus::*;
    use super::*;
    use ir::{FenceMode, Instr, Reg, Tid};

    /// The final values of these registers under RC11, with a `!` where SC forbids them.
    fn registers(program: &Program, shown: &[(u32, Reg)]) -> Vec<String> {
        let outcomes = outcomes(program, &Limits::default());
        assert!(!outcomes.bounded);
        let mut lines: Vec<(String, bool)> = outcomes
            .outcomes
            .iter()
            .map(|outcome| {
                let value = |&(tid, reg): &(u32, Reg)| {
                    let thread: &ThreadEnd = &outcome.state.threads[Tid(tid).index()];
                    thread.registers[reg.index()].to_string()
                };
                (shown.iter().map(value).collect::<String>(), outcome.under_sc)
            })
            .collect();
        lines.sort_by_key(|(line, under_sc)| (line.clone(), !under_sc));
        lines.dedup_by_key(|(line, _)| line.clone());
        lines.into_iter().map(|(line, sc)| if sc { line } else { line + "!" }).collect()
    }

    fn memory(program: &Program, shown: &[Loc]) -> Vec<String> {
        let outcomes = outcomes(program, &Limits::default()).outcomes;
        let mut lines: Vec<(String, bool)> = outcomes
            .iter()
            .map(|outcome| {
                let value = |loc: &Loc| outcome.state.memory[loc.index()].to_string();
                (shown.iter().map(value).collect::<String>(), outcome.under_sc)
            })
            .collect();
        lines.sort_by_key(|(line, under_sc)| (line.clone(), !under_sc));
        lines.dedup_by_key(|(line, _)| line.clone());
        lines.into_iter().map(|(line, sc)| if sc { line } else { line + "!" }).collect()
    }

    const BOTH: [(u32, Reg); 2] = [(0, A), (1, A)];

    fn store_buffering(between: Option<FenceMode>) -> Program {
        let side = |mine, other| {
            let fence = between.map(fence);
            [store(mine, 1, REL)].into_iter().chain(fence).chain([load(A, other, ACQ)]).collect()
        };
        program([side(X, Y), side(Y, X)])
    }

    /// Release and acquire do not forbid store buffering, nor do their fences; SC fences do.
    #[test]
    fn store_buffering_needs_sc_fences() {
        assert_eq!(registers(&store_buffering(None), &BOTH), ["00!", "01", "10", "11"]);
        let weak = store_buffering(Some(FenceMode::AcqRel));
        assert_eq!(registers(&weak, &BOTH), ["00!", "01", "10", "11"]);
        for strong in [FenceMode::Sc, FenceMode::Upd] {
            let strong = store_buffering(Some(strong));
            assert_eq!(registers(&strong, &BOTH), ["01", "10", "11"]);
        }
    }

    #[test]
    fn message_passing() {
        let two = [(1, A), (1, B)];
        let with = |read, write| {
            program([
                vec![store(X, 1, WRLX), store(Y, 1, write)],
                vec![load(A, Y, read), load(B, X, RLX)],
            ])
        };
        assert_eq!(registers(&with(RLX, WRLX), &two), ["00", "01", "10!", "11"]);
        assert_eq!(registers(&with(ACQ, WRLX), &two), ["00", "01", "10!", "11"]);
        assert_eq!(registers(&with(RLX, REL), &two), ["00", "01", "10!", "11"]);
        assert_eq!(registers(&with(ACQ, REL), &two), ["00", "01", "11"]);
        let fenced = |first, second| {
            program([
                vec![store(X, 1, WRLX), fence(first), store(Y, 1, WRLX)],
                vec![load(A, Y, RLX), fence(second), load(B, X, RLX)],
            ])
        };
        let fences = fenced(FenceMode::Rel, FenceMode::Acq);
        assert_eq!(registers(&fences, &two), ["00", "01", "11"]);
        let swapped = fenced(FenceMode::Acq, FenceMode::Rel);
        assert_eq!(registers(&swapped, &two), ["00", "01", "10!", "11"]);
    }

    /// Load buffering would need a cycle in po ∪ rf.
    #[test]
    fn no_load_buffering() {
        let program = program([
            vec![load(A, X, RLX), store(Y, 1, WRLX)],
            vec![load(A, Y, RLX), store(X, 1, WRLX)],
        ]);
        assert_eq!(registers(&program, &BOTH), ["00", "01", "10"]);
    }

    /// Readers of independent writes may disagree on their order, unless SC fences stop them.
    #[test]
    fn independent_reads_of_independent_writes() {
        let readers = |between: Option<FenceMode>| {
            let reader = |first, second| {
                let fence = between.map(fence);
                [load(A, first, ACQ)]
                    .into_iter()
                    .chain(fence)
                    .chain([load(B, second, ACQ)])
                    .collect()
            };
            program([vec![store(X, 1, REL)], vec![store(Y, 1, REL)], reader(X, Y), reader(Y, X)])
        };
        let shown = [(2, A), (2, B), (3, A), (3, B)];
        let weak = registers(&readers(None), &shown);
        assert_eq!(weak.len(), 16);
        assert_eq!(weak.iter().filter(|line| line.ends_with('!')).collect::<Vec<_>>(), ["1010!"]);
        assert_eq!(registers(&readers(Some(FenceMode::Sc)), &shown).len(), 15);
    }

    /// 2+2W: both locations may end with the first write of a thread.
    #[test]
    fn two_plus_two_writes() {
        let side = |first, second| vec![store(first, 1, REL), store(second, 2, REL)];
        let program = program([side(X, Y), side(Y, X)]);
        assert_eq!(memory(&program, &[X, Y]), ["11!", "12", "21", "22"]);
    }

    /// One thread's reads of one location never go back.
    #[test]
    fn coherence() {
        let program = program([
            vec![store(X, 1, WRLX), store(X, 2, WRLX)],
            vec![load(A, X, RLX), load(B, X, RLX)],
        ]);
        let two = [(1, A), (1, B)];
        assert_eq!(registers(&program, &two), ["00", "01", "02", "11", "12", "22"]);
        assert_eq!(memory(&program, &[X]), ["2"]);
    }

    /// Two increments never get lost; two compare-and-swaps never both succeed.
    #[test]
    fn updates() {
        let increment = || vec![fadd(A, X, 1, RLX, WRLX)];
        assert_eq!(memory(&program([increment(), increment(), increment()]), &[X]), ["3"]);
        let swap = |value| vec![cas(A, X, 0, value)];
        let swaps = program([swap(1), swap(2)]);
        assert_eq!(registers(&swaps, &BOTH), ["01", "20"]);
    }

    /// A release sequence goes through another thread's update but not through its store.
    #[test]
    fn release_sequence() {
        let with = |middle: Instr| {
            program([
                vec![store(X, 1, WRLX), store(Y, 1, REL)],
                vec![middle],
                vec![load(A, Y, ACQ), load(B, X, RLX)],
            ])
        };
        let two = [(2, A), (2, B)];
        let update = registers(&with(fadd(A, Y, 2, RLX, WRLX)), &two);
        assert_eq!(update, ["00", "01", "11", "20", "21", "31"]);
        let store = registers(&with(store(Y, 3, WRLX)), &two);
        assert_eq!(store, ["00", "01", "11", "30", "31"]);
    }

    /// A wait that missed its value is blocked, in SC as in RC20; so is a BCAS.
    #[test]
    fn blocking() {
        for blocking in [wait(X, 1, RLX), bcas(X, 1, 3)] {
            let program = program([vec![store(X, 1, WRLX), store(X, 2, WRLX)], vec![blocking]]);
            let outcomes = outcomes(&program, &Limits::default()).outcomes;
            let ends =
                |status| outcomes.iter().any(|o| o.under_sc && o.state.threads[1].status == status);
            assert!(ends(Status::Blocked) && ends(Status::Halted));
        }
    }

    #[test]
    fn failures_and_faults() {
        let program = program([
            vec![load(A, X, RLX), assert(A)],
            vec![store(X, 1, WRLX), Instr::Assume(ir::Expr::Const(0)), store(X, 2, WRLX)],
        ]);
        let outcomes = outcomes(&program, &Limits::default()).outcomes;
        assert_eq!(outcomes.len(), 2);
        assert!(outcomes[0].state.has_failed() && !outcomes[1].state.has_failed());
        assert!(outcomes.iter().all(|o| o.state.threads[1].status == Status::Ended));
    }

    /// Two interfering loops: nothing is final when a loop was cut.
    #[test]
    fn loops_are_cut() {
        let forever = vec![
            load(A, X, RLX),
            Instr::Jump { cond: ir::Expr::Const(1), targets: vec![ir::Pc(0)] },
        ];
        let outcomes = outcomes(&program([forever]), &Limits::default());
        assert!(outcomes.bounded && outcomes.outcomes.is_empty());
    }
}
