//! Three forms of one model, on random programs with two spaces and all modes: the literal knowledge
//! machine (pRC11), the view machine that the search explores, and the declarative model (dRC11) by
//! brute force. They must agree on final states and on whether there is a race (Theorem 5.6), and
//! the two machines on histories.
//!
//! More programs than in the ordinary run: `PRC11_PROGRAMS=10000 PRC11_HISTORIES=2000 cargo test -p
//! fencepost-memory --test prc11`. A failure names the seed.

extern crate fencepost_memory as memory;

use graph::{Limits, drc11};
use ir::random::{self, Allow, Config, Generator};
use ir::{Expr, Instr, LocationKind, Mark, Origin, Pc, ReadMode, Reg, Step, Value, WriteMode};
use memory::rc11_views::{Finding, Options, Propagation};
use memory::rc11_views::{Label, Local, Space, Status, System, knowledge};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn count(variable: &str, ordinary: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(ordinary)
}

/// Spreads locations over two spaces and accesses over all modes.
fn with_spaces(mut program: ir::Program, random: &mut Generator) -> System {
    let space_of: Vec<Space> =
        program.locations.iter().map(|_| Space(random.below(2) as u8)).collect();
    let read = |mode: &mut ReadMode, random: &mut Generator| {
        if *mode != ReadMode::Na {
            *mode = random.pick(&[ReadMode::Rlx, ReadMode::Pacq, ReadMode::Acq, ReadMode::Acq]);
        }
    };
    let write = |mode: &mut WriteMode, random: &mut Generator| {
        if *mode != WriteMode::Na {
            *mode = random.pick(&[WriteMode::Rlx, WriteMode::Prel, WriteMode::Rel, WriteMode::Rel]);
        }
    };
    for step in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        match &mut step.instr {
            Instr::Load { mode, .. } | Instr::Wait { mode, .. } => read(mode, random),
            Instr::Store { mode, .. } => write(mode, random),
            Instr::Rmw { read: r, write: w, .. } | Instr::BlockingCas { read: r, write: w, .. } => {
                read(r, random);
                write(w, random);
            }
            Instr::Cas { read: r, write: w, fail, .. } => {
                read(r, random);
                write(w, random);
                read(fail, random);
            }
            _ => {}
        }
    }
    System { program, space_of, spaces: 2 }
}

fn random_system(seed: u64) -> System {
    let mut random = Generator { state: seed ^ 0x5eed };
    let three = random.one_in(3);
    // A machine's thread rests before a choice, where it is not yet clear that it will wait.
    let waits = random.one_in(2);
    let config = Config {
        threads: if three { 3..=3 } else { 2..=2 },
        instructions: if three { 1..=2 } else { 2..=3 },
        locations: 2,
        non_atomic: 1,
        registers: 2,
        max_value: 2,
        allow: Allow {
            fences: false,
            sc_fences: false,
            arrays: false,
            wait: waits,
            bcas: waits,
            choices: !waits,
            ..Allow::RC20
        },
        ..Config::default()
    };
    with_spaces(random::program(seed, &config), &mut random)
}

/// The registers and the memory at the end of an execution, and what became of each thread.
type End = (Vec<(Vec<Value>, u8)>, Vec<Value>);

const DONE: u8 = 0;
const BLOCKED: u8 = 1;
const STOPPED: u8 = 2;

/// The end, if no thread goes on: a thread that waits for another value than the last one is blocked.
fn end(system: &System, locals: &[Local], memory: Vec<Value>) -> Option<End> {
    let threads = locals.iter().enumerate().map(|(tid, local)| {
        let status = match local.status {
            Status::Running => {
                let instr = &system.program.threads[tid].code[local.pc.index()].instr;
                waits(instr, local, system, &memory).then_some(BLOCKED)?
            }
            Status::Halted => DONE,
            _ => STOPPED,
        };
        Some((local.registers.to_vec(), status))
    });
    Some((threads.collect::<Option<_>>()?, memory.clone()))
}

fn waits(instr: &Instr, local: &Local, system: &System, memory: &[Value]) -> bool {
    let eval = |e: &Expr| e.eval(&local.registers, system.program.domain, &mut Default::default());
    match instr {
        Instr::Wait { place, values, .. } => {
            !values.iter().any(|e| eval(e) == Ok(memory[place.base.index()]))
        }
        Instr::BlockingCas { place, expected, .. } => {
            eval(expected) != Ok(memory[place.base.index()])
        }
        _ => false,
    }
}

fn declarative(system: &System) -> (BTreeSet<End>, bool) {
    let mut ends = BTreeSet::new();
    let mut racy = false;
    let consistent = |graph: &graph::ExecutionGraph| {
        drc11::is_consistent(graph, &system.space_of, system.spaces)
    };
    let limits = Limits::default();
    let done =
        graph::enumerate_consistent(&system.program, &limits, &consistent, &mut |g, state| {
            racy |= drc11::is_racy(g, &system.space_of, system.spaces);
            if state.is_final() {
                let thread = |thread: &graph::outcome::ThreadEnd| {
                    let status = match thread.status {
                        graph::Status::Halted => DONE,
                        graph::Status::Blocked => BLOCKED,
                        _ => STOPPED,
                    };
                    (thread.registers.clone(), status)
                };
                ends.insert((state.threads.iter().map(thread).collect(), state.memory.clone()));
            }
            ControlFlow::Continue(())
        });
    assert!(!done.bounded);
    (ends, racy)
}

fn literal(system: &System) -> (BTreeSet<End>, bool, usize) {
    let machine = knowledge::Machine::new(system).expect("few threads");
    let mut ends = BTreeSet::new();
    let mut racy = false;
    let mut seen = HashSet::from([machine.initial()]);
    let mut open = vec![machine.initial()];
    while let Some(state) = open.pop() {
        racy = racy || machine.is_racy(&state);
        ends.extend(end(system, &state.locals, machine.memory(&state)));
        machine.steps(&state, |_, next| {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        });
    }
    (ends, racy, seen.len())
}

fn views(system: &System, reduce: bool, tidy: bool, keep_registers: bool) -> (BTreeSet<End>, bool) {
    let options = Options { pending: 50, keep_registers, reduce, tidy, ..Options::default() };
    let machine =
        memory::rc11_views::Machine::new(system.clone(), options).expect("a small program");
    let mut ends = BTreeSet::new();
    let mut racy = false;
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut open = vec![machine.initial()];
    while let Some(step) = open.pop() {
        racy |= matches!(step.finding, Some(Finding::Race { .. }));
        let mut bytes = Vec::new();
        machine.pack(&step.state, &mut bytes);
        assert_eq!(machine.unpack(&bytes), step.state);
        if !seen.insert(bytes) {
            continue;
        }
        ends.extend(end(system, &step.state.locals, machine.memory(&step.state)));
        machine.steps(&step.state, |next| open.push(next));
    }
    (ends, racy)
}

/// Catches any rule of the view machine that allows more or less than the model, and anything that
/// normal forms forget too early.
#[test]
fn final_states_and_races_agree() {
    let programs = count("PRC11_PROGRAMS", 1000);
    let next = AtomicU64::new(0);
    let (with_ends, races) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= programs {
                        break;
                    }
                    let (ends, racy) = three_forms_agree(seed);
                    with_ends.fetch_add(u64::from(ends > 1), Relaxed);
                    races.fetch_add(u64::from(racy), Relaxed);
                }
            });
        }
    });
    let (with_ends, races) = (with_ends.into_inner(), races.into_inner());
    assert!(with_ends > 0 && races > 0, "the programs do not exercise the model");
}

/// Compares the forms on one program; says how many ends it has, and whether it races.
fn three_forms_agree(seed: u64) -> (usize, bool) {
    let system = random_system(seed);
    let (declared, declared_racy) = declarative(&system);
    let (known, known_racy, _) = literal(&system);
    assert_eq!(known, declared, "literal machine and axioms differ on seed {seed}");
    assert_eq!(known_racy, declared_racy, "races differ on seed {seed}");
    for (reduce, tidy) in [(false, false), (false, true), (true, true)] {
        let (viewed, viewed_racy) = views(&system, reduce, tidy, true);
        assert_eq!(viewed, declared, "views and axioms differ on seed {seed}, {reduce}, {tidy}");
        assert_eq!(viewed_racy, declared_racy, "races in views differ on seed {seed}");
    }
    // Reads come late unless final states are looked at; races must be the same.
    let (_, late_racy) = views(&system, true, true, false);
    assert_eq!(late_racy, declared_racy, "races with late reads differ on seed {seed}");
    (declared.len(), declared_racy)
}

/// A client and a library: every thread makes a call or two, with accesses to the library's space
/// inside and to the client's outside.
fn random_calls(seed: u64) -> System {
    let mut random = Generator { state: seed ^ 0xca11 };
    let three = random.one_in(4);
    let config = Config {
        threads: if three { 3..=3 } else { 2..=2 },
        instructions: if three { 1..=1 } else { 1..=2 },
        locations: 2,
        non_atomic: 0,
        registers: 2,
        max_value: 2,
        allow: Allow { fadd: true, cas: true, exchange: true, wait: true, ..Allow::NOTHING },
        ..Config::default()
    };
    let mut system = with_spaces(random::program(seed, &config), &mut random);
    if three {
        // With two spaces the literal machine would have too many states.
        system.space_of.fill(Space(0));
        system.spaces = 1;
    }
    let silent = random.below(3);
    for (t, thread) in system.program.threads.iter_mut().enumerate() {
        // One call around some of the accesses, with arguments and a result.
        if three && t == silent {
            continue;
        }
        let accesses = thread.code.len() - 1;
        let from = random.below(accesses);
        let to = from + 1 + random.below(accesses - from);
        let result = Some(Expr::Reg(Reg(random.below(2) as u32)));
        let call = Instr::Mark(Mark::Call { method: t as u32, arguments: vec![Expr::Const(1)] });
        insert(&mut thread.code, to, Instr::Mark(Mark::Return { value: result }));
        insert(&mut thread.code, from, call);
    }
    system
}

fn insert(code: &mut Vec<Step>, at: usize, instr: Instr) {
    code.insert(at, Step { instr, next: Pc(0), origin: Origin(0) });
    let last = code.len() - 1;
    for (pc, step) in code.iter_mut().enumerate() {
        step.next = Pc::from((pc + 1).min(last));
    }
}

/// A finite automaton whose words are histories; `None` labels are silent.
struct Automaton {
    edges: Vec<Vec<(Option<Label>, usize)>>,
}

fn explore<S: Clone + Eq + Hash>(
    initial: S,
    mut steps: impl FnMut(&S, &mut dyn FnMut(Option<Label>, S)),
) -> Automaton {
    let mut ids = HashMap::from([(initial.clone(), 0)]);
    let mut edges = vec![Vec::new()];
    let mut open = VecDeque::from([initial]);
    while let Some(state) = open.pop_front() {
        let from = ids[&state];
        steps(&state, &mut |label, next| {
            let fresh = ids.len();
            let to = *ids.entry(next.clone()).or_insert(fresh);
            if to == fresh {
                edges.push(Vec::new());
                open.push_back(next);
            }
            edges[from].push((label, to));
        });
    }
    Automaton { edges }
}

impl Automaton {
    fn close(&self, mut set: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut open: Vec<usize> = set.iter().copied().collect();
        while let Some(state) = open.pop() {
            for (label, to) in &self.edges[state] {
                if label.is_none() && set.insert(*to) {
                    open.push(*to);
                }
            }
        }
        set
    }

    fn after(&self, set: &BTreeSet<usize>) -> HashMap<Label, BTreeSet<usize>> {
        let mut next: HashMap<Label, BTreeSet<usize>> = HashMap::new();
        for (label, to) in set.iter().flat_map(|&state| &self.edges[state]) {
            if let Some(label) = label {
                next.entry(label.clone()).or_default().insert(*to);
            }
        }
        next.into_iter().map(|(label, set)| (label, self.close(set))).collect()
    }
}

/// A history that one automaton has and the other lacks, by determinising both.
fn difference(a: &Automaton, b: &Automaton) -> Option<Vec<Label>> {
    let start = (a.close(BTreeSet::from([0])), b.close(BTreeSet::from([0])));
    let mut seen = HashSet::from([start.clone()]);
    let mut open = VecDeque::from([(start, Vec::new())]);
    while let Some(((left, right), history)) = open.pop_front() {
        let (left, mut right) = (a.after(&left), b.after(&right));
        for (label, next) in left {
            let mut longer = history.clone();
            longer.push(label.clone());
            let Some(other) = right.remove(&label) else { return Some(longer) };
            if seen.insert((next.clone(), other.clone())) {
                open.push_back(((next, other), longer));
            }
        }
        if let Some((label, _)) = right.into_iter().next() {
            let mut longer = history;
            longer.push(label);
            return Some(longer);
        }
    }
    None
}

/// The histories of the view machine.
fn viewed(system: &System, reduce: bool) -> Automaton {
    let options = Options { pending: 50, keep_registers: false, reduce, ..Options::default() };
    let machine =
        memory::rc11_views::Machine::new(system.clone(), options).expect("a small program");
    explore(packed(&machine, &machine.initial().state), |bytes, sink| {
        machine
            .steps(&machine.unpack(bytes), |step| sink(step.label, packed(&machine, &step.state)));
    })
}

fn packed(machine: &memory::rc11_views::Machine, state: &memory::rc11_views::State) -> Vec<u8> {
    let mut bytes = Vec::new();
    machine.pack(state, &mut bytes);
    bytes
}

/// Catches markers that propagate too early or too late, and knowledge confused with
/// happens-before: a marker that has propagated to a thread is not released by it.
#[test]
fn histories_agree() {
    for seed in 0..count("PRC11_HISTORIES", 120) {
        let system = random_calls(seed);
        let machine = knowledge::Machine::new(&system).expect("few threads");
        let literal = explore(machine.initial(), |state, sink| machine.steps(state, sink));
        for reduce in [false, true] {
            if let Some(history) = difference(&literal, &viewed(&system, reduce)) {
                panic!("histories differ on seed {seed}, reduce {reduce}: {history:?}");
            }
        }
    }
}

/// Data and flags: one thread stores to x and y, others load both and use what x holds if y has a
/// certain value.
fn random_flags(seed: u64) -> System {
    let mut random = Generator { state: seed ^ 0xf1a6 };
    let mut system = random_calls(seed);
    system.space_of = vec![Space(0); 2];
    system.spaces = 1; // with two, the literal machine would have too many states
    system.program.threads.truncate(2);
    let place = ir::Place::location;
    let (x, y) = (ir::Loc(0), ir::Loc(1));
    let (a, b) = (Reg(0), Reg(1));
    let mut stores = vec![Instr::Mark(Mark::Call { method: 0, arguments: vec![] })];
    for n in 0..2 + random.below(2) {
        let place = place(random.pick(&[x, y]));
        let value = Expr::Const(random.below(3) as Value);
        let mode = random.pick(&[WriteMode::Rel, WriteMode::Rel, WriteMode::Prel, WriteMode::Rlx]);
        stores.push(Instr::Store { place, value, mode });
        if n == 0 && random.one_in(3) {
            stores.push(Instr::Mark(Mark::Return { value: None }));
            stores.push(Instr::Mark(Mark::Call { method: 0, arguments: vec![] }));
        }
    }
    let mode = |random: &mut Generator| {
        random.pick(&[ReadMode::Acq, ReadMode::Acq, ReadMode::Pacq, ReadMode::Rlx])
    };
    let flag = Instr::Load { dst: a, place: place(y), mode: mode(&mut random) };
    let data = Instr::Load { dst: b, place: place(x), mode: mode(&mut random) };
    let is_set =
        Expr::binary(ir::expr::Binary::Eq, Expr::Reg(a), Expr::Const(random.below(3) as Value));
    let result = Expr::binary(ir::expr::Binary::Mul, is_set.expect("small"), Expr::Reg(b));
    let mut loads = vec![Instr::Mark(Mark::Call { method: 1, arguments: vec![] })];
    loads.extend(if random.one_in(4) { [data, flag] } else { [flag, data] });
    loads.push(Instr::Assign { dst: b, value: result.expect("small") });
    loads.push(Instr::Mark(Mark::Return { value: Some(Expr::Reg(b)) }));
    for (thread, mut code) in system.program.threads.iter_mut().zip([stores, loads]) {
        code.push(Instr::Halt);
        let last = code.len() - 1;
        let step = |(pc, instr): (usize, Instr)| Step {
            instr,
            next: Pc::from((pc + 1).min(last)),
            origin: Origin(0),
        };
        thread.code = code.into_iter().enumerate().map(step).collect();
        thread.entry = Pc(0);
    }
    system
}

/// Catches values that are forgotten although somebody can use them.
#[test]
fn histories_with_flags_agree() {
    for seed in 0..count("PRC11_HISTORIES", 100) {
        let system = random_flags(seed);
        let machine = knowledge::Machine::new(&system).expect("few threads");
        let literal = explore(machine.initial(), |state, sink| machine.steps(state, sink));
        if let Some(history) = difference(&literal, &viewed(&system, true)) {
            panic!("histories differ on seed {seed}: {history:?}");
        }
    }
}

/// What each thread calls and gets back, as far as runs get.
type Calls = Vec<Vec<Label>>;

fn calls(system: &System, pending: u8, propagation: Propagation) -> HashSet<Calls> {
    let options = Options { pending, propagation, ..Options::default() };
    let machine =
        memory::rc11_views::Machine::new(system.clone(), options).expect("a small program");
    let nothing: Calls = vec![Vec::new(); system.program.threads.len()];
    let initial = (packed(&machine, &machine.initial().state), nothing);
    let mut seen = HashSet::from([initial.clone()]);
    let mut open = vec![initial];
    while let Some((state, calls)) = open.pop() {
        machine.steps(&machine.unpack(&state), |step| {
            let mut calls = calls.clone();
            if let Some(label @ (Label::Call { tid, .. } | Label::Return { tid, .. })) = step.label
            {
                calls[tid.index()].push(label);
            }
            let next = (packed(&machine, &step.state), calls);
            if seen.insert(next.clone()) {
                open.push(next);
            }
        });
    }
    seen.into_iter().map(|(_, calls)| calls).collect()
}

/// Catches markers on demand that leave out what a thread can do: whatever threads call and get back
/// when markers propagate at any time is the beginning of what they do when they propagate on demand, and
/// that is nothing else.
#[test]
fn on_demand_threads_do_the_same() {
    let mut compared = 0;
    for seed in 0..count("PRC11_HISTORIES", 300) {
        for system in [random_calls(seed), random_flags(seed)] {
            for pending in [1, 2] {
                let any_time = calls(&system, pending, Propagation::AnyTime);
                let on_demand = calls(&system, pending, Propagation::OnDemand);
                assert!(on_demand.is_subset(&any_time), "something new on seed {seed}, {pending}");
                for calls in &any_time {
                    let goes_on = |other: &&Calls| {
                        calls.iter().zip(*other).all(|(calls, other)| other.starts_with(calls))
                    };
                    let found = on_demand.iter().any(|other| goes_on(&other));
                    assert!(found, "missing on seed {seed}, {pending} pending: {calls:?}");
                }
                compared += any_time.len();
            }
        }
    }
    assert!(compared > 1000, "only {compared}");
}

/// What is less can do more: the histories from the larger of two states are among those from the
/// smaller, and what goes wrong from the larger goes wrong from the smaller.
#[test]
fn less_can_do_more() {
    let mut compared = 0;
    for seed in 0..count("PRC11_ORDER", 60) {
        for system in [random_calls(seed), random_flags(seed), random_system(seed)] {
            for (reduce, tidy) in [(false, false), (false, true), (true, true)] {
                let options = Options { pending: 2, reduce, tidy, ..Options::default() };
                let machine =
                    memory::rc11_views::Machine::new(system.clone(), options).expect("small");
                compared += compare_states(&machine, seed);
            }
        }
    }
    assert!(compared > 1000, "only {compared} pairs of states");
}

fn compare_states(machine: &memory::rc11_views::Machine, seed: u64) -> usize {
    let mut ids = HashMap::new();
    let mut states = vec![packed(machine, &machine.initial().state)];
    ids.insert(states[0].clone(), 0);
    let mut automaton = Automaton { edges: Vec::new() };
    let mut wrong = Vec::new();
    while let Some(state) = states.get(automaton.edges.len()).cloned() {
        let (mut edges, mut found) = (Vec::new(), false);
        machine.steps(&machine.unpack(&state), |step| {
            let next = packed(machine, &step.state);
            let to = *ids.entry(next.clone()).or_insert(states.len());
            if to == states.len() {
                states.push(next);
            }
            edges.push((step.label, to));
            found |= step.finding.is_some();
        });
        automaton.edges.push(edges);
        wrong.push(found);
    }
    let goes_wrong = |state: usize| {
        let mut seen = BTreeSet::from([state]);
        let mut open = vec![state];
        while let Some(state) = open.pop() {
            if wrong[state] {
                return true;
            }
            let next = automaton.edges[state].iter().map(|edge| edge.1);
            open.extend(next.filter(|&next| seen.insert(next)));
        }
        false
    };
    let core = |state: &[u8]| state[..memory::rc11_views::Machine::core_length(state)].to_vec();
    let mut groups: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (id, state) in states.iter().enumerate() {
        groups.entry(core(state)).or_default().push(id);
    }
    let pairs = groups
        .values()
        .flat_map(|group| group.iter().flat_map(move |&a| group.iter().map(move |&b| (a, b))));
    let pairs = pairs.filter(|&(a, b)| a != b && machine.is_less(&states[a], &states[b]));
    let pairs: Vec<(usize, usize)> = pairs.take(50).collect();
    for &(a, b) in &pairs {
        assert!(
            includes(&automaton, a, b) && (goes_wrong(a) || !goes_wrong(b)),
            "seed {seed}: {:?} is not less than {:?}",
            machine.unpack(&states[a]),
            machine.unpack(&states[b])
        );
    }
    pairs.len()
}

/// Are the words from `b` among those from `a`?
fn includes(automaton: &Automaton, a: usize, b: usize) -> bool {
    let start = (automaton.close(BTreeSet::from([a])), automaton.close(BTreeSet::from([b])));
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some((more, less)) = open.pop() {
        let mut more = automaton.after(&more);
        for (label, next) in automaton.after(&less) {
            let Some(other) = more.remove(&label) else { return false };
            if seen.insert((other.clone(), next.clone())) {
                open.push((other, next));
            }
        }
    }
    true
}

/// The random programs have both kinds of location.
#[test]
fn programs_have_non_atomics() {
    let kinds = (0..20).flat_map(|seed| random_system(seed).program.locations);
    assert!(kinds.into_iter().any(|location| location.kind == LocationKind::NonAtomic));
}
