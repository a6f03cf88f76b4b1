//! Local steps mean the same to the machines with store buffers, which run `ir::run_local`, and to the
//! judge's interpreter `graph::run`, which shares nothing with it.
//!
//! The attack search and the judge of its witnesses execute instructions by the same function, so a wrong
//! local step would show in neither. Here the final states of all interleavings are found by both
//! interpreters. `FENCEPOST_AIMED_PROGRAMS` asks for more programs, `FENCEPOST_FIRST_SEED` for others.

extern crate fencepost_check as check;

mod aimed;

use check::outcomes::{Cut, Limits, interleavings, outcomes};
use graph::FinalState;
use graph::run::Status;
use ir::{Instr, Value};
use memory::store_buffer::Machine;
use std::collections::HashSet;

type End = (Vec<(Status, Vec<Value>)>, Vec<Value>);

fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What a state says without program counters: where exactly a thread rests is each interpreter's own.
fn end(state: &FinalState) -> End {
    let threads = state.threads.iter().map(|thread| (thread.status, thread.registers.clone()));
    (threads.collect(), state.memory.clone())
}

/// Catches an instruction, operator or comparison that one of the two interpreters gets wrong.
#[test]
fn two_interpreters_come_to_the_same_ends() {
    let count = asked("FENCEPOST_AIMED_PROGRAMS", 600);
    let first = asked("FENCEPOST_FIRST_SEED", 0);
    // Nothing fits into the buffers: what the machine does beyond interleavings is not asked.
    let limits = Limits { states: 20_000, buffer: 0, ..Limits::default() };
    let (mut compared, mut faulty) = (0, 0);
    for seed in first..first + count {
        let (program, text) = aimed::parsed(seed);
        // The judge knows no blocks that nobody interrupts; `legality` keeps them from it.
        if program.steps().any(|(_, _, step)| step.instr == Instr::BusLock) {
            continue;
        }
        let judged = interleavings(&program, &limits);
        let machine = [Machine::Tso, Machine::Pso][seed as usize % 2];
        let found = outcomes(&program, machine, &limits);
        if judged.cut.is_some() || matches!(found.cut, Some(Cut::Limit(_))) {
            continue;
        }
        let judged: HashSet<End> = judged.states.iter().map(end).collect();
        let found = found.outcomes.iter().filter(|outcome| outcome.under_sc);
        let found: HashSet<End> = found.map(|outcome| end(&outcome.state)).collect();
        let (less, more): (Vec<_>, Vec<_>) =
            (judged.difference(&found).collect(), found.difference(&judged).collect());
        assert!(
            less.is_empty() && more.is_empty(),
            "seed {seed}, {machine}: only the judge: {less:?}\nonly the machine: {more:?}\n{text}"
        );
        compared += 1;
        let is_faulty = |(status, _): &(Status, _)| matches!(status, Status::Faulted(_));
        faulty += u64::from(judged.iter().any(|(threads, _)| threads.iter().any(is_faulty)));
    }
    println!("{compared} of {count} programs compared, {faulty} with run-time errors");
    assert!(2 * compared > count && faulty > 0, "{compared} of {count} compared, {faulty} faulty");
}
