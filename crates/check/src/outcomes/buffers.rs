//! The machine with store buffers as a system whose findings are final states.
//!
//! A state is one of [`memory::store_buffer`], with the run-time error that stopped each thread, if one did. It is final when
//! no thread can move and the buffers are empty. `most` limits how many stores may wait in the buffers of one thread.
//!
//! Only a thread that waits for ever behind its `bus_lock` keeps stores in the buffers of others. Such a state ends no computation,
//! as robustness defines them, and nothing is lost without it: a thread that had not issued its first store that is left, nor
//! done anything later, which nobody else notices, is kept out before that store, with the same memory; and that state is final.

use super::Ending;
use crate::packed::{put_fault, put_state, take_fault, take_state};
use graph::outcome::ThreadEnd;
use graph::{FinalState, Status};
use ir::{Expr, Fault, Instr, Loc, Notes, Program, Tid};
use memory::store_buffer::{Compiled, Entry, Move, Own, State, apply, candidates, initial};
use search::encoding::Reader;
use search::{Model, Sink, Width};

/// A program on the machine.
pub(super) struct Buffers {
    pub compiled: Compiled,
    /// How many stores may wait in a thread's buffers; under SC, stores reach memory at once.
    pub most: Option<usize>,
}

/// A state of the machine, and the threads that a run-time error stopped.
#[derive(Clone, Debug)]
struct Node {
    state: State,
    stopped: Vec<Option<Fault>>,
}

impl Node {
    fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        put_state(&self.state, out);
        self.stopped.iter().for_each(|&fault| put_fault(fault, out));
    }

    fn read(program: &Program, bytes: &[u8]) -> Self {
        let from = &mut Reader::new(bytes);
        let state = take_state(program, from);
        Node { state, stopped: program.tids().map(|_| take_fault(from)).collect() }
    }
}

impl Model for Buffers {
    type Scratch = Vec<u8>;
    type Finding = Ending;

    fn width(&self) -> Width {
        Width::Varying
    }

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn initial<S: Sink<Ending>>(&self, bytes: &mut Vec<u8>, sink: &mut S) {
        let program = &self.compiled.program;
        Node { stopped: vec![None; program.threads.len()], state: initial(program) }.write(bytes);
        sink.state(bytes);
    }

    fn expand<S: Sink<Ending>>(&self, state: &[u8], bytes: &mut Vec<u8>, sink: &mut S) {
        let program = &self.compiled.program;
        let node = Node::read(program, state);
        let mut stuck = true;
        for step in candidates(program, &node.state) {
            let tid = step.tid();
            if matches!(step, Move::Step(..)) && node.stopped[tid.index()].is_some() {
                continue;
            }
            let mut next = node.clone();
            match apply(program, &mut next.state, step) {
                Ok(Some(_)) => {}
                Ok(None) => continue,
                Err(fault) => next.stopped[tid.index()] = Some(fault),
            }
            stuck = false;
            match self.most {
                None => drain(program, &mut next.state, tid),
                Some(most) if waiting(&next.state, tid) > most => {
                    sink.finding(Ending::Overflow);
                    continue;
                }
                Some(_) => {}
            }
            next.write(bytes);
            sink.state(bytes);
        }
        if stuck && program.tids().all(|tid| waiting(&node.state, tid) == 0) {
            sink.finding(Ending::End(self.end(&node)));
        }
    }

    fn stops(&self, _: &Ending) -> bool {
        false
    }
}

impl Buffers {
    fn end(&self, Node { state, stopped }: &Node) -> FinalState {
        let program = &self.compiled.program;
        let status = |tid: Tid| {
            let thread = &state.threads[tid.index()];
            let step = program.step(tid, thread.pc);
            // Who is kept out by another thread's `bus_lock` may be anywhere.
            let fails = |claim: &Expr| {
                claim.eval(&thread.regs, program.domain, &mut Notes::default()) == Ok(0)
            };
            match (&step.instr, stopped[tid.index()]) {
                (_, Some(fault)) => Status::Faulted(fault),
                (Instr::Halt, _) => Status::Halted,
                (Instr::Assume(claim), _) if fails(claim) => Status::Ended,
                (Instr::Assert(claim), _) if fails(claim) => Status::Failed,
                _ => Status::Blocked,
            }
        };
        let end = |tid: Tid| ThreadEnd {
            pc: self.compiled.source(tid, state.threads[tid.index()].pc),
            registers: state.threads[tid.index()].regs.clone(),
            status: status(tid),
        };
        FinalState {
            threads: program.tids().map(end).collect(),
            memory: state.shared.memory.iter().map(|(value, _)| *value).collect(),
        }
    }
}

/// How many stores of a thread wait in its buffers.
fn waiting(state: &State, tid: Tid) -> usize {
    let buffers = &state.shared.buffers[tid.index()];
    let stores = buffers.all.iter().filter(|entry| matches!(entry, Entry::Store(..)));
    stores.count() + buffers.of.iter().map(|of| of.len()).sum::<usize>()
}

/// Lets all stores of a thread reach memory.
fn drain(program: &Program, state: &mut State, tid: Tid) {
    let locations = state.shared.memory.len();
    let mut step = |step| matches!(apply(program, state, step), Ok(Some(_)));
    for loc in 0..locations {
        while step(Move::Own(Own::Advance(tid, Loc::from(loc)))) {}
    }
    while step(Move::Own(Own::Commit(tid))) {}
}
