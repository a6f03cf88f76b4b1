//! The same execution of a program with other modes and other fences.
//!
//! Memory orders and fences do not change what a thread computes: given the same values read, it takes the
//! same steps. So an execution of a program is an execution of the program with other orders, too, unless
//! these forbid it. [`rerun`] makes that execution: the accesses with the same writes to read from and the
//! same modification order, in the modes of the other program, and with the other program's fences where its
//! threads come past them. Whether the model still allows it is for [`crate::axioms`] to say.
//!
//! The two programs have the same steps at the same program counters, except that
//!
//! 1. accesses differ in their modes;
//! 2. a fence may have another mode, or be [`ir::Instr::Skip`] instead;
//! 3. steps that only one of them has are fences, and lead to steps that both have.
//!
//! A choice leaves no trace in a graph, and different choices may come past different fences. One of the
//! ways that fit is taken; the execution made is then one of several. RC20's SC fences update a hidden
//! location in some order; they are placed last, as the threads come to them.

use super::event::{EventId, ExecutionGraph, Label};
use super::run::{Execution, Next, ThreadState};
use ir::{Pc, Program, Tid};

/// The execution `graph` with the modes and fences of `program`; `None` if the threads of `program` cannot
/// do what they do there.
pub fn rerun(program: &Program, graph: &ExecutionGraph) -> Option<ExecutionGraph> {
    let mut threads: Vec<Vec<Passed>> =
        program.tids().map(|tid| fences_passed(program, graph, tid)).collect::<Option<_>>()?;
    threads.iter_mut().for_each(|passed| passed.reverse());
    let hidden = program.locations.len();
    let mut again = Execution::initial(program).graph;
    let mut names: Vec<Option<EventId>> = graph.ids().map(|_| None).collect();
    for id in graph.ids() {
        let event = graph.event(id);
        let Some((tid, pc)) = event.step else {
            // Initial writes come first in every graph; that of the hidden location may be missing here.
            names[id.index()] = (id.index() < again.len()).then_some(id);
            continue;
        };
        if is_fence(program, &event.label) {
            continue;
        }
        let passed = threads[tid.index()].pop()?;
        for (pc, label) in passed.fences {
            let write = label.loc().map(|_| again.latest(ir::Loc::from(hidden)));
            again.add(tid, pc, label, &[], write)?;
        }
        let write = match event.label.loc() {
            None => None,
            Some(_) => Some(names[graph.added_at(id)?.index()]?),
        };
        let depends_on: Vec<EventId> =
            graph.dependencies(id).iter().map(|read| names[read.index()]).collect::<Option<_>>()?;
        names[id.index()] = Some(EventId::from(again.len()));
        again.add(tid, pc, passed.label, &depends_on, write)?;
    }
    Some(again)
}

/// An event of a thread in its new mode, and the fences that the thread comes past on its way to it.
struct Passed {
    fences: Vec<(Pc, Label)>,
    label: Label,
}

/// Is it a fence, or the update of the hidden location that is a part of RC20's?
fn is_fence(program: &Program, label: &Label) -> bool {
    matches!(label, Label::Fence(_))
        || label.loc().is_some_and(|loc| loc.index() >= program.locations.len())
}

/// What a thread of `program` comes past when it does what it does in `graph`.
fn fences_passed(program: &Program, graph: &ExecutionGraph, tid: Tid) -> Option<Vec<Passed>> {
    let start = Execution::initial(program).threads[tid.index()].clone();
    // Several only while choices differ that have left no trace.
    let mut ways: Vec<(ThreadState, Vec<Passed>)> = vec![(start, Vec::new())];
    for &id in graph.thread_events(tid) {
        let event = graph.event(id);
        if is_fence(program, &event.label) {
            continue;
        }
        let pc = event.step?.1;
        let mut further: Vec<(ThreadState, Vec<Passed>)> = Vec::new();
        for (state, passed) in ways {
            for (at, fences) in walks(program, tid, state, pc) {
                let Some(label) = label_at(program, tid, &at, &event.label) else { continue };
                let value = event.label.value_read().unwrap_or(0);
                let after = at
                    .after_local(program, tid)
                    .into_iter()
                    .chain(at.after_access(program, tid, value, id));
                for after in after {
                    if further.iter().any(|(known, _)| known.same_but_visits(&after)) {
                        continue;
                    }
                    let mut passed: Vec<Passed> = passed.iter().map(Passed::copy).collect();
                    passed.push(Passed { fences: fences.clone(), label });
                    further.push((after, passed));
                }
            }
        }
        ways = further;
    }
    ways.into_iter().next().map(|(_, passed)| passed)
}

impl Passed {
    fn copy(&self) -> Passed {
        Passed { fences: self.fences.clone(), label: self.label }
    }
}

/// The label of the next event of a thread, if it is `event` but for its mode.
fn label_at(program: &Program, tid: Tid, state: &ThreadState, event: &Label) -> Option<Label> {
    let label = match state.next(program, tid) {
        Next::Local(label) => label,
        // A write needs no value; any will do.
        Next::Access(access) => access.label(event.value_read().unwrap_or(0))?,
        Next::Nothing | Next::Silent => return None,
    };
    let same = std::mem::discriminant(&label) == std::mem::discriminant(event)
        && (label.loc(), label.value_read(), label.value_written())
            == (event.loc(), event.value_read(), event.value_written());
    same.then_some(label)
}

/// The states at `goal` that a thread comes to by silent steps and fences, and the fences on the way.
fn walks(
    program: &Program,
    tid: Tid,
    state: ThreadState,
    goal: Pc,
) -> Vec<(ThreadState, Vec<(Pc, Label)>)> {
    let mut open = vec![(state, Vec::new())];
    let mut seen: Vec<ThreadState> = Vec::new();
    let mut arrived = Vec::new();
    while let Some((state, fences)) = open.pop() {
        if seen.iter().any(|known| known.same_but_visits(&state)) {
            continue;
        }
        let mut fences: Vec<(Pc, Label)> = fences;
        let after = match state.next(program, tid) {
            Next::Silent => state.after_local(program, tid),
            Next::Local(label @ Label::Fence(_)) => {
                fences.push((state.pc, label));
                state.after_local(program, tid)
            }
            Next::Access(access) if access.loc.index() >= program.locations.len() => {
                let Some(label) = access.label(0) else { continue };
                fences.push((state.pc, label));
                // Nothing is kept of what the hidden location holds, so the event's name does not matter.
                state.after_access(program, tid, 0, EventId(0)).into_iter().collect()
            }
            Next::Nothing | Next::Local(_) | Next::Access(_) => {
                if state.pc == goal {
                    arrived.push((state.clone(), fences.clone()));
                }
                Vec::new()
            }
        };
        seen.push(state);
        open.extend(after.into_iter().map(|after| (after, fences.clone())));
    }
    arrived
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axioms::is_consistent;
    use crate::event::Canonical;
    use crate::{Limits, enumerate};
    use ir::random::{Allow, Config, with_sc_events};
    use ir::{Instr, ReadMode, WriteMode};
    use std::collections::HashSet;
    use std::ops::ControlFlow;

    /// The program with every access relaxed and every fence gone.
    fn weakest(program: &Program) -> Program {
        let mut weak = program.clone();
        for step in weak.threads.iter_mut().flat_map(|thread| &mut thread.code) {
            let (reads, writes) = step.instr.modes_mut();
            let reads = reads.into_iter().flatten().filter(|mode| **mode != ReadMode::Na);
            reads.for_each(|mode| *mode = ReadMode::Rlx);
            let writes = writes.into_iter().filter(|mode| **mode != WriteMode::Na);
            writes.for_each(|mode| *mode = WriteMode::Rlx);
            if matches!(step.instr, Instr::Fence(_)) {
                step.instr = Instr::Skip;
            }
        }
        weak
    }

    fn graphs(program: &Program) -> Option<Vec<ExecutionGraph>> {
        let mut all = Vec::new();
        let limits = Limits { graphs: 4_000, ..Limits::default() };
        let seen = enumerate(program, &limits, &mut |graph, _| {
            all.push(graph.clone());
            ControlFlow::Continue(())
        });
        (!seen.bounded).then_some(all)
    }

    /// The executions of a program are those of its weakest version that its own modes and fences allow, and
    /// no others. Catches fences in the wrong place, modes that are not taken over, and a modification order
    /// that is not kept.
    #[test]
    fn executions_are_those_of_the_weakest_program_that_stay_consistent() {
        let allow = Allow { choices: false, na: false, ..Allow::RC20 };
        let config = Config { allow, ..Config::default() };
        let (mut compared, mut forbidden) = (0, 0);
        for seed in 0..150 {
            let program = with_sc_events(ir::random::program(seed, &config), seed);
            if program.has_updating_fences() {
                continue;
            }
            let weak = weakest(&program);
            let (Some(own), Some(all)) = (graphs(&program), graphs(&weak)) else { continue };
            let own: HashSet<Canonical> = own
                .iter()
                .map(|graph| rerun(&weak, graph).expect("the same threads").canonical())
                .collect();
            let stay: HashSet<Canonical> = all
                .iter()
                .filter(|graph| is_consistent(&rerun(&program, graph).expect("the same threads")))
                .map(ExecutionGraph::canonical)
                .collect();
            compared += 1;
            forbidden += all.len() - stay.len();
            assert!(own == stay, "seed {seed}: {} and {} executions", own.len(), stay.len());
        }
        assert!(compared > 80 && forbidden > 300, "{compared} programs, {forbidden} forbidden");
    }
}
