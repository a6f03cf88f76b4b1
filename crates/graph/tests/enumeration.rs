//! Is the enumerator complete? Its shortcuts compared with doing without them, on random programs:
//! dropping inconsistent graphs at once against building every graph and judging the complete ones,
//! and SC-consistency of graphs against running interleavings.

extern crate fencepost_graph as graph;

use graph::event::Canonical;
use graph::run::{Execution, Next, Status};
use graph::{FinalState, Limits, axioms};
use ir::expr::Notes;
use ir::random::{self, Allow, Config};
use ir::thread::{Action, destination, next_action};
use ir::{Instr, Pc, Program, Tid, Value};
use std::collections::HashSet;
use std::ops::ControlFlow;

const PROGRAMS: u64 = 150;

/// Few instructions and nothing that blocks: without pruning the number of graphs explodes.
fn tiny() -> [Config; 2] {
    let accesses = Allow { fences: true, fadd: true, cas: true, ..Allow::NOTHING };
    let control = Allow {
        assignments: true,
        branches: true,
        choices: true,
        arrays: true,
        asserts: true,
        ..accesses
    };
    [(3, accesses), (4, control)].map(|(most, allow)| Config {
        threads: 2..=2,
        instructions: 2..=most,
        allow,
        ..Config::default()
    })
}

fn limits() -> Limits {
    Limits { unroll: 1, graphs: usize::MAX }
}

/// Graphs in which no thread goes on, whatever write it takes; found without any pruning: all threads
/// in all orders, all writes, consistency judged at the end.
fn complete_graphs_unpruned(program: &Program) -> HashSet<Canonical> {
    let mut found = HashSet::new();
    let mut open = vec![Execution::initial(program)];
    while let Some(execution) = open.pop() {
        let before = open.len();
        for tid in program.tids() {
            open.extend(execution.local_steps(program, tid));
            if let Next::Access(access) = execution.next(program, tid) {
                let writes = execution.graph.writes_to(access.loc).iter();
                open.extend(writes.filter_map(|&write| execution.access(program, tid, write)));
            }
        }
        if open.len() == before && axioms::is_consistent(&execution.graph) {
            found.insert(execution.graph.canonical());
        }
    }
    found
}

/// Catches an enumerator that prunes too much, or misses choices of writes or threads.
#[test]
fn pruning_loses_no_graph() {
    let mut total = 0;
    let programs = (0..PROGRAMS).flat_map(|seed| tiny().map(|config| (seed, config)));
    for (seed, config) in programs {
        let program = random::program(seed, &config);
        let mut visited = HashSet::new();
        graph::enumerate(&program, &limits(), &mut |graph, _| {
            assert!(axioms::is_consistent(graph), "seed {seed}: an inconsistent graph");
            assert!(graph::judge::is_generated(&program, graph), "seed {seed}: a made-up graph");
            visited.insert(graph.canonical());
            ControlFlow::Continue(())
        });
        let complete = complete_graphs_unpruned(&program);
        total += complete.len();
        assert!(complete.is_subset(&visited), "seed {seed}: a graph is missing\n{program:#?}");
    }
    assert!(total > 500, "{total} graphs show little");
}

/// One state of an interleaving: program counters, registers, memory.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Interleaving {
    threads: Vec<(Pc, Vec<Value>, Status)>,
    memory: Vec<Value>,
}

impl Interleaving {
    /// All states after a step of `tid`; none if it does not go on.
    fn step(&self, program: &Program, tid: Tid) -> Vec<Interleaving> {
        let (pc, registers, status) = &self.threads[tid.index()];
        let step = program.step(tid, *pc);
        if *status != Status::Running || step.instr == Instr::Halt {
            return Vec::new();
        }
        let eval = |e: &ir::Expr| {
            e.eval(registers, program.domain, &mut Notes::default()).expect("no faults here")
        };
        let arrive = |pc: Pc| {
            let mut next = self.clone();
            next.threads[tid.index()].0 = pc;
            next
        };
        let stop = |status| {
            let mut next = self.clone();
            next.threads[tid.index()].2 = status;
            vec![next]
        };
        match &step.instr {
            Instr::Assign { dst, value } => {
                let mut next = arrive(step.next);
                next.threads[tid.index()].1[dst.index()] = eval(value);
                return vec![next];
            }
            Instr::Jump { cond, targets } if eval(cond) != 0 => {
                return targets.iter().map(|&pc| arrive(pc)).collect();
            }
            Instr::Assert(cond) if eval(cond) == 0 => return stop(Status::Failed),
            Instr::Assume(cond) if eval(cond) == 0 => return stop(Status::Ended),
            _ => {}
        }
        let mut notes = Notes::default();
        let action = next_action(&step.instr, registers, program.domain, &mut notes)
            .expect("no faults here");
        let mut next = arrive(step.next);
        let Some(loc) = action.loc() else { return vec![next] };
        let cell = &mut next.memory[loc.index()];
        let old = *cell;
        match action {
            Action::Write { value, .. } => *cell = value,
            Action::Update { change, .. } => {
                *cell = change.apply(old, program.domain, &mut notes).expect("values wrap");
            }
            Action::Cas { expected, desired, .. } if old == expected => *cell = desired,
            Action::BlockingCas { expected, desired, .. } if old == expected => *cell = desired,
            Action::BlockingCas { .. } => return Vec::new(),
            Action::Wait { values, .. } if !values.contains(&old) => return Vec::new(),
            _ => {}
        }
        if let Some(dst) = destination(&step.instr) {
            next.threads[tid.index()].1[dst.index()] = old;
        }
        vec![next]
    }

    fn same_as(&self, state: &FinalState) -> bool {
        self.memory == state.memory
            && self
                .threads
                .iter()
                .zip(&state.threads)
                .all(|((pc, registers, _), end)| *pc == end.pc && *registers == end.registers)
    }
}

fn final_states_of_interleavings(program: &Program) -> Vec<Interleaving> {
    let start = Interleaving {
        threads: program
            .threads
            .iter()
            .map(|thread| (thread.entry, vec![0; thread.registers.len()], Status::Running))
            .collect(),
        memory: program.locations.iter().map(|location| location.initial).collect(),
    };
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    let mut last = Vec::new();
    while let Some(state) = open.pop() {
        let next: Vec<_> = program.tids().flat_map(|tid| state.step(program, tid)).collect();
        if next.is_empty() {
            last.push(state);
            continue;
        }
        open.extend(next.into_iter().filter(|next| seen.insert(next.clone())));
    }
    last
}

/// Prop. 3.13 and more: SC-consistent graphs end where interleavings end, deadlocks included. Catches
/// wrong final states and a wrong hb_SC.
#[test]
fn sc_outcomes_are_those_of_interleavings() {
    let allow = Allow { sc_fences: false, ..Allow::RC20 };
    let config = Config { threads: 2..=3, instructions: 2..=3, allow, ..Config::default() };
    for seed in 0..PROGRAMS {
        let program = random::program(seed, &config);
        let outcomes = graph::outcomes(&program, &limits()).outcomes;
        let under_sc: Vec<_> = outcomes.iter().filter(|outcome| outcome.under_sc).collect();
        let interleavings = final_states_of_interleavings(&program);
        for end in &interleavings {
            let known = under_sc.iter().any(|outcome| end.same_as(&outcome.state));
            assert!(known, "seed {seed}: an interleaving's end is missing\n{program:#?}");
        }
        for outcome in under_sc {
            let known = interleavings.iter().any(|end| end.same_as(&outcome.state));
            assert!(known, "seed {seed}: no interleaving ends so: {:?}\n{program:#?}", outcome);
        }
    }
}
