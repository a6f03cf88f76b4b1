//! The attack search against the machine with store buffers, run literally.
//!
//! For random loop-free programs every computation of the machine is enumerated and its happens-before
//! trace searched for a cycle. Catches any mistake in the rules of an attack, in the theorems as
//! implemented, in partial-order reduction, in pruning and in packing. `FENCEPOST_ORACLE_PROGRAMS`
//! sets how many programs per machine.

extern crate fencepost_check as check;

mod unequal;

use check::robustness::store_atomic::{Machine, compile, decide, triangular_race};
use check::{Method, Question, Reductions, Verdict, Why};
use ir::random::{Allow, Config, program};
use ir::{Instr, Program, Tid};
use memory::store_buffer::trace::Trace;
use memory::store_buffer::{self, Move, Seen, State, StoreId};
use std::collections::HashSet;
use unequal::make_uneven;

/// Programs whose computations are more than this many (up to equivalence) are left out.
const TOO_MANY: usize = 20_000;

#[derive(Clone)]
struct Node {
    state: State,
    trace: Trace,
}

/// What all computations show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Shown {
    /// Some trace has a cycle.
    cyclic: bool,
    /// Some thread has a run-time error.
    faulty: bool,
}

/// Does some computation have a cyclic trace, or a run-time error? `None` if there are too many to say.
fn explore(program: &Program) -> Option<Shown> {
    let mut shown = Shown::default();
    let mut seen = HashSet::new();
    let start =
        Node { state: store_buffer::initial(program), trace: Trace::new(program.locations.len()) };
    let mut stack = vec![start];
    while let Some(node) = stack.pop() {
        let mut children = Vec::new();
        for step in store_buffer::candidates(program, &node.state) {
            let mut child = node.clone();
            let tid = step.tid();
            let pc = node.state.threads[tid.index()].pc;
            let applied = store_buffer::apply(program, &mut child.state, step);
            shown.faulty |= applied.is_err();
            let Ok(Some(event)) = applied else { continue };
            let instr = &program.step(tid, pc).instr;
            let is_step = matches!(step, Move::Step(..));
            if is_step && matches!(instr, Instr::BusLock | Instr::BusUnlock) {
                child.trace.block(matches!(instr, Instr::BusLock));
            }
            child.trace.add(tid, pc, event);
            if is_step && event == Seen::Nothing && instr.is_local() {
                // A local step: nobody else notices, so make it first. Choices stay choices.
                if !matches!(instr, Instr::Jump { targets, .. } if targets.len() > 1) {
                    children = vec![child];
                    break;
                }
            }
            children.push(child);
        }
        // What is done stays done: a cycle shows at the latest when nothing is left to do.
        shown.cyclic |= children.is_empty() && node.trace.cycle().is_some();
        for child in children {
            if seen.insert(key(program, &child)) {
                if seen.len() > TOO_MANY {
                    return None;
                }
                stack.push(child);
            }
        }
    }
    Some(shown)
}

type Accesses = Vec<(u32, u32, Option<StoreId>)>;
type Key = (State, Vec<Accesses>, Vec<Vec<(Tid, u32)>>);

/// Two computations with equal keys have equal states and equal traces.
fn key(program: &Program, node: &Node) -> Key {
    let threads = program
        .tids()
        .map(|tid| {
            let own = node.trace.nodes.iter().filter(|n| n.tid == tid);
            own.map(|n| (n.pc.0, n.loc.0, n.reads)).collect()
        })
        .collect();
    (node.state.clone(), threads, node.trace.order.clone())
}

fn configs(machine: Machine) -> Vec<Config> {
    let plain = Allow { branches: true, assignments: true, arrays: true, ..Allow::NOTHING };
    let everything = Allow { loops: false, na: true, ..Allow::EVERYTHING };
    let base = Config { threads: 2..=2, instructions: 2..=4, ..Config::default() };
    let fences = Allow { sc_fences: true, light_fences: machine != Machine::Tso, ..plain };
    vec![
        Config { allow: Allow::NOTHING, ..base.clone() },
        Config { allow: plain, ..base.clone() },
        Config { allow: fences, ..base.clone() },
        Config { allow: everything, ..base.clone() },
        Config { threads: 3..=3, instructions: 1..=3, allow: Allow::NOTHING, ..base.clone() },
        Config { threads: 3..=3, instructions: 1..=3, locations: 3, allow: fences, ..base.clone() },
        Config {
            threads: 2..=2,
            instructions: 4..=5,
            locations: 3,
            allow: Allow::NOTHING,
            ..base.clone()
        },
        Config {
            threads: 2..=2,
            instructions: 3..=5,
            locations: 3,
            allow: Allow { light_fences: true, ..Allow::NOTHING },
            ..base
        },
    ]
}

fn count() -> u64 {
    std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

/// Puts some updates between `lock` and `unlock`, together with the access before.
fn with_blocks(program: &mut Program, seed: u64) {
    for (t, thread) in program.threads.iter_mut().enumerate() {
        for pc in 0..thread.code.len() {
            let is_access = thread.code[pc].instr.place().is_some();
            let next = thread.code[pc].next.index();
            let two = thread.code[next].instr.place().is_some();
            if is_access && two && next == pc + 1 && (seed + t as u64 + pc as u64).is_multiple_of(3)
            {
                let origin = thread.code[pc].origin;
                // lock; first; second; unlock, with the first two moved behind.
                let at = thread.code.len();
                let step =
                    |instr, next: usize| ir::Step { instr, next: ir::Pc::from(next), origin };
                let first = thread.code[pc].instr.clone();
                let second = thread.code[next].instr.clone();
                let after = thread.code[next].next.index();
                thread.code.push(step(first, at + 1));
                thread.code.push(step(second, at + 2));
                thread.code.push(step(Instr::BusUnlock, after));
                thread.code[pc] = step(Instr::BusLock, at);
                break;
            }
        }
    }
}

fn agree(machine: Machine, blocks: bool) {
    let configs = configs(machine);
    let (mut violated, mut judged, mut skipped, mut undecided) = (0, 0, 0, 0);
    let mut seed = if blocks { 1 << 32 } else { 0 };
    let wanted = if blocks { count() / 4 } else { count() };
    while judged < wanted {
        seed += 1;
        let mut one = program(seed, &configs[seed as usize % configs.len()]);
        make_uneven(&mut one, seed);
        if blocks {
            with_blocks(&mut one, seed);
        }
        let compiled = compile(&one, machine);
        let literal = match machine {
            Machine::Tso => compiled.with_stores_in_order(),
            _ => compiled,
        };
        let Some(Shown { cyclic, faulty }) = explore(&literal.program) else {
            skipped += 1;
            continue;
        };
        judged += 1;
        if machine == Machine::Tso {
            // Triangular race freedom is sufficient.
            let (free, _) = triangular_race::decide(&one, &Question::of(machine), &|_, _| {});
            assert!(!(cyclic && free.verdict.holds()), "seed {seed}: no triangular race");
        }
        violated += u64::from(cyclic);
        for (method, reductions) in [
            (Method::Auto, Reductions::ALL),
            (Method::Auto, Reductions::NONE),
            (Method::Locality, Reductions::ALL),
            (Method::Locality, Reductions::NONE),
        ] {
            let question = Question { method, reductions, ..Question::of(machine) };
            let decided = decide(&one, machine, &question, &|_, _| {});
            let (robust, _) = decided.expect("can be checked");
            let found = match robust.verdict {
                Verdict::Holds => false,
                Verdict::Violated(_) => true,
                // What comes after a run-time error counts for nothing, on the machine too.
                Verdict::Undecided(Why::Faulty) if faulty => {
                    undecided += 1;
                    continue;
                }
                Verdict::Undecided(why) => {
                    panic!("seed {seed}, {machine}: {why}\n{}", ir::print::program(&one))
                }
            };
            assert_eq!(
                found,
                cyclic,
                "seed {seed}, {machine}, {:?}, {reductions}: the machine says {cyclic}\n{}",
                robust.by,
                ir::print::program(&one),
            );
        }
    }
    // Blocks order so much that few programs with them are not robust.
    let seldom = if blocks { 30 } else { 15 };
    eprintln!(
        "{machine}: {judged} programs, {violated} not robust, {skipped} too large, {undecided} faulty"
    );
    assert!(
        violated * seldom > judged && violated * 10 < 9 * judged,
        "the programs are too much alike"
    );
}

#[test]
fn tso_attacks_are_what_the_machine_can_do() {
    agree(Machine::Tso, false);
}

#[test]
fn pso_attacks_are_what_the_machine_can_do() {
    agree(Machine::Pso, false);
}

#[test]
fn pgas_attacks_are_what_the_machine_can_do() {
    agree(Machine::Pgas, false);
}

/// Blocks between `lock` and `unlock` are not torn apart.
#[test]
fn uninterrupted_blocks_are_one_node() {
    agree(Machine::Tso, true);
    agree(Machine::Pso, true);
}
