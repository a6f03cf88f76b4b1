//! The final states of all interleavings.
//!
//! Under SC there is no need for execution graphs: a state is where the threads are and what memory
//! holds, and there are finitely many, loops or not. Threads step as they do on graphs
//! ([`ThreadState`]), so the final states of the two can be compared.

use budget::{Budget, Spent};
use graph::outcome::{FinalState, ThreadEnd};
use graph::run::{Next, Status, ThreadState};
use graph::{EventId, Execution};
use ir::{Pc, Program, Tid, Value};
use std::collections::HashSet;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many states may be visited.
    pub states: usize,
    /// What may be used up.
    pub budget: Budget,
}

/// The final states of all interleavings.
#[derive(Clone, Debug)]
pub struct Interleavings {
    /// The states, in no particular order.
    pub states: HashSet<FinalState>,
    /// The limit that was reached, if one was, so that there may be more.
    pub limit: Option<&'static str>,
}

/// The final states of all interleavings of `program`.
pub fn interleavings(program: &Program, limits: &Limits) -> Interleavings {
    let mut found = Interleavings { states: HashSet::new(), limit: None };
    let mut seen = HashSet::new();
    let start = State::initial(program);
    seen.insert(start.key());
    let mut open = vec![start];
    let mut ticker = limits.budget.ticker();
    while let Some(state) = open.pop() {
        let successors = state.successors(program);
        if successors.is_empty() {
            found.states.insert(state.end(program));
        }
        for next in successors {
            if seen.insert(next.key()) {
                open.push(next);
            }
        }
        found.limit = match ticker.tick() {
            _ if seen.len() > limits.states => Some("states"),
            spent => spent.map(Spent::name),
        };
        if found.limit.is_some() {
            break;
        }
    }
    found
}

/// What tells states apart.
type Key = (Vec<(Pc, u8, Status, Vec<Value>)>, Vec<Value>);

#[derive(Clone)]
struct State {
    threads: Vec<ThreadState>,
    /// The values of all locations, that of `seq_cst` fences last.
    memory: Vec<Value>,
}

impl State {
    fn initial(program: &Program) -> Self {
        let initial = program.locations.iter().map(|location| location.initial);
        State { threads: Execution::initial(program).threads, memory: initial.chain([0]).collect() }
    }

    fn key(&self) -> Key {
        let thread = |t: &ThreadState| (t.pc, t.phase, t.status, t.registers.clone());
        (self.threads.iter().map(thread).collect(), self.memory.clone())
    }

    /// Steps that involve no other thread are taken first: nobody notices when.
    fn successors(&self, program: &Program) -> Vec<State> {
        let local = |tid: &Tid| {
            matches!(self.threads[tid.index()].next(program, *tid), Next::Silent | Next::Local(_))
        };
        if let Some(tid) = program.tids().find(local) {
            let after = self.threads[tid.index()].after_local(program, tid);
            return after.into_iter().map(|thread| self.with(tid, thread)).collect();
        }
        program.tids().filter_map(|tid| self.access(program, tid)).collect()
    }

    fn access(&self, program: &Program, tid: Tid) -> Option<State> {
        let thread = &self.threads[tid.index()];
        let Next::Access(access) = thread.next(program, tid) else { return None };
        let value = self.memory[access.loc.index()];
        let label = access.label(value)?;
        let mut next = self.with(tid, thread.after_access(program, tid, value, EventId(0))?);
        if let Some(written) = label.value_written() {
            next.memory[access.loc.index()] = written;
        }
        Some(next)
    }

    fn with(&self, tid: Tid, thread: ThreadState) -> State {
        let mut next = self.clone();
        next.threads[tid.index()] = thread;
        next
    }

    /// The state, if no thread goes on.
    fn end(&self, program: &Program) -> FinalState {
        let end = |thread: &ThreadState| ThreadEnd {
            pc: thread.pc,
            registers: thread.registers.clone(),
            status: match thread.status {
                Status::Running => Status::Blocked,
                status => status,
            },
        };
        FinalState {
            threads: self.threads.iter().map(end).collect(),
            memory: self.memory[..program.locations.len()].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::{self, outcomes};
    use std::path::Path;

    /// States and graphs are two definitions of SC; they agree on what they can both decide.
    #[test]
    fn agrees_with_graphs_on_litmus_tests() {
        let litmus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus");
        let mut compared = 0;
        for entry in std::fs::read_dir(litmus).expect("a corpus") {
            let path = entry.expect("a readable corpus").path();
            let text = std::fs::read_to_string(&path).expect("a readable corpus");
            let source = lang::parse("litmus", &text).expect("a program");
            let limits = graph::Limits { unroll: 2, graphs: 5_000 };
            let by_graphs = outcomes(&source.program, &limits);
            if by_graphs.bounded {
                continue;
            }
            let by_graphs: HashSet<FinalState> =
                by_graphs.outcomes.into_iter().filter(|o| o.under_sc).map(|o| o.state).collect();
            let limits = Limits { states: 1_000_000, budget: Budget::UNLIMITED };
            let by_states = interleavings(&source.program, &limits);
            assert_eq!(by_states.limit, None);
            assert_eq!(by_states.states, by_graphs, "{}", path.display());
            compared += 1;
        }
        assert!(compared > 30, "only {compared} litmus tests were compared");
    }
}
