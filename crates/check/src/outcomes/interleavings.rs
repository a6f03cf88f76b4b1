//! All interleavings as a system whose findings are final states.
//!
//! Under SC there is no need for execution graphs: a state is where the threads are and what memory
//! holds, and there are finitely many, loops or not. Threads step as they do on graphs
//! ([`ThreadState`]), so the final states of the two can be compared.

use super::Ending;
use crate::packed::{put_fault, put_values, take_fault, take_value};
use graph::outcome::{FinalState, ThreadEnd};
use graph::run::{Next, Status, ThreadState};
use graph::{EventId, Execution};
use ir::{Pc, Program, Tid, Value};
use search::encoding::{Reader, put};
use search::{Model, Sink, Width};

/// A program under SC.
pub(super) struct Interleavings {
    pub program: Program,
}

impl Model for Interleavings {
    type Scratch = Vec<u8>;
    type Finding = Ending;

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn initial<S: Sink<Ending>>(&self, bytes: &mut Vec<u8>, sink: &mut S) {
        State::initial(&self.program).write(bytes);
        sink.state(bytes);
    }

    fn expand<S: Sink<Ending>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut S) {
        let state = State::read(&self.program, state);
        let successors = state.successors(&self.program);
        if successors.is_empty() {
            sink.finding(Ending::End(state.end(&self.program)));
        }
        for next in successors {
            next.write(bytes);
            sink.state(bytes);
        }
    }

    fn stops(&self, _: &Ending) -> bool {
        false
    }
}

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

    /// Where registers' values came from, and how often a thread has been somewhere, does not matter here.
    fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        for thread in &self.threads {
            put(thread.pc.0.into(), out);
            put(thread.phase.into(), out);
            put_status(thread.status, out);
            put_values(&thread.registers, out);
        }
        put_values(&self.memory, out);
    }

    fn read(program: &Program, bytes: &[u8]) -> Self {
        let from = &mut Reader::new(bytes);
        let mut state = State::initial(program);
        for thread in &mut state.threads {
            thread.pc = Pc(from.take() as u32);
            thread.phase = from.take() as u8;
            thread.status = take_status(from);
            thread.registers.iter_mut().for_each(|value| *value = take_value(from));
        }
        state.memory.iter_mut().for_each(|value| *value = take_value(from));
        state
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

/// The statuses without a run-time error, by number.
const PLAIN: [Status; 6] =
    [Status::Running, Status::Halted, Status::Blocked, Status::Ended, Status::Failed, Status::Cut];

fn put_status(status: Status, out: &mut Vec<u8>) {
    let plain = PLAIN.iter().position(|&plain| plain == status);
    put(plain.unwrap_or(PLAIN.len()) as u128, out);
    if let Status::Faulted(fault) = status {
        put_fault(Some(fault), out);
    }
}

fn take_status(from: &mut Reader<'_>) -> Status {
    let plain = PLAIN.get(from.take_index()).copied();
    plain.or_else(|| take_fault(from).map(Status::Faulted)).unwrap_or(Status::Running)
}

#[cfg(test)]
mod tests {
    use crate::outcomes::{Limits, interleavings};
    use graph::FinalState;
    use std::collections::HashSet;
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
            let by_graphs = graph::outcomes(&source.program, &limits);
            if by_graphs.bounded {
                continue;
            }
            let by_graphs: HashSet<FinalState> =
                by_graphs.outcomes.into_iter().filter(|o| o.under_sc).map(|o| o.state).collect();
            let by_states = interleavings(&source.program, &Limits::default());
            assert_eq!(by_states.cut, None);
            assert_eq!(by_states.states, by_graphs, "{}", path.display());
            compared += 1;
        }
        assert!(compared > 30, "only {compared} litmus tests were compared");
    }
}
