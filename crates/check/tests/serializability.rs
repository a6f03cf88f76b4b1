//! Programs with transactions against the definitions, by brute force.
//!
//! For random loop-free programs every execution of the machine is enumerated, and the whole of it
//! judged by the conflict graph as the paper defines it. Catches any mistake in the summary of the
//! graph, in what it forgets, in the bundling of the machine's moves, in reductions, and in the use of
//! Theorem 2. `FENCEPOST_ORACLE_PROGRAMS` sets how many programs.

extern crate fencepost_check as check;

#[path = "../../serial/tests/oracle/mod.rs"]
mod oracle;

use check::robustness::store_atomic::{Machine, compile};
use check::serializability::{explore, transactions::Mistake};
use check::{By, Decision, Refusal, Verdict};
use ir::random::{Allow, Config, program};
use ir::{FenceMode, Instr, Loc, Pc, Program, Step, Thread, Tid};
use memory::store_buffer::{self, Entry, Move, Own, Seen, State};
use oracle::{Ask, Ev, Kind, by_graph};
use serial::event::Data;
use serial::execution::Question;

/// Programs with more executions than this are left out.
const TOO_MANY: usize = 3_000;

/// An execution under construction.
#[derive(Clone)]
struct Run {
    state: State,
    events: Vec<Ev>,
    units: usize,
    open: Vec<Option<usize>>,
    /// The units of buffered writes.
    waiting: Vec<Vec<usize>>,
}

impl Run {
    fn unit(&mut self, tid: Tid) -> usize {
        self.open[tid.index()].unwrap_or_else(|| {
            self.units += 1;
            self.units - 1
        })
    }

    fn note(&mut self, tid: Tid, kind: Kind, var: u32, unit: usize) {
        self.events.push(Ev { thread: tid.0, kind, var, unit, data: Data::default(), line: 0 });
    }
}

struct Executions<'a> {
    original: &'a Program,
    compiled: &'a check::robustness::store_atomic::Compiled,
    immediate: bool,
    found: usize,
    /// Questions that some execution answers with no.
    violated: [bool; 3],
}

impl Executions<'_> {
    /// Follows every execution from here; `None` if there are too many.
    fn follow(&mut self, run: &Run) -> Option<()> {
        let program = &self.compiled.program;
        let mut children = Vec::new();
        for tid in program.tids() {
            let thread = &run.state.threads[tid.index()];
            let instr = &program.step(tid, thread.pc).instr;
            let mut own = Vec::new();
            for next in program.step(tid, thread.pc).successors() {
                own.extend(self.step(run, tid, next));
            }
            if instr.is_local() && !own.is_empty() {
                children = own;
                break;
            }
            children.extend(own);
            if !run.state.shared.buffers[tid.index()].all.is_empty() {
                let mut child = run.clone();
                commit(program, &mut child, tid);
                children.push(child);
            }
        }
        if children.is_empty() {
            self.found += 1;
            if self.found > TOO_MANY {
                return None;
            }
            for (k, ask) in [Ask::Tso, Ask::Sc, Ask::Equivalent].into_iter().enumerate() {
                self.violated[k] |= !by_graph(&run.events, ask);
            }
        }
        children.iter().try_for_each(|child| self.follow(child))
    }

    fn step(&self, run: &Run, tid: Tid, next: Pc) -> Option<Run> {
        let program = &self.compiled.program;
        let mut child = run.clone();
        let at = run.state.threads[tid.index()].pc;
        let seen = store_buffer::apply(program, &mut child.state, Move::Step(tid, next));
        let source = &self.original.step(tid, self.compiled.source(tid, at)).instr;
        match seen.expect("no run-time errors")? {
            Seen::Nothing => match source {
                Instr::Begin => {
                    child.open[tid.index()] = Some(child.units);
                    child.units += 1;
                }
                Instr::End => child.open[tid.index()] = None,
                _ if program.step(tid, at).instr == Instr::Fence(FenceMode::Sc) => {
                    let unit = child.unit(tid);
                    child.note(tid, Kind::Fn, u32::MAX, unit);
                }
                _ => {}
            },
            Seen::Read(loc, ..) => {
                let unit = child.unit(tid);
                let locked = matches!(source, Instr::Cas { .. });
                if locked {
                    child.note(tid, Kind::Fn, u32::MAX, unit);
                }
                child.note(tid, Kind::Rd, loc.0, unit);
                if locked {
                    child.note(tid, Kind::Fn, u32::MAX, unit);
                }
            }
            Seen::Updated(loc, ..) => {
                let unit = child.unit(tid);
                let kinds = [Kind::Fn, Kind::Rd, Kind::Wr, Kind::Wc, Kind::Fn];
                for kind in kinds {
                    let var = if kind == Kind::Fn { u32::MAX } else { loc.0 };
                    child.note(tid, kind, var, unit);
                }
            }
            Seen::Issued(loc, ..) => {
                let unit = child.unit(tid);
                child.note(tid, Kind::Wr, loc.0, unit);
                child.waiting[tid.index()].push(unit);
                self.put_in_order(&mut child.state, tid, loc);
                if self.immediate {
                    commit(program, &mut child, tid);
                }
            }
            Seen::Committed(..) => unreachable!("a step is no commit"),
        }
        Some(child)
    }

    /// The store goes to the common buffer, and the fence behind it.
    fn put_in_order(&self, state: &mut State, tid: Tid, loc: Loc) {
        let program = &self.compiled.program;
        let mut apply = |step| {
            let done = store_buffer::apply(program, state, step);
            assert!(matches!(done, Ok(Some(Seen::Nothing))));
            state.threads[tid.index()].pc
        };
        let fence = apply(Move::Own(Own::Advance(tid, loc)));
        apply(Move::Step(tid, program.step(tid, fence).next));
    }
}

/// The oldest store reaches memory, and the fence behind it is dropped.
fn commit(program: &Program, run: &mut Run, tid: Tid) {
    let seen = store_buffer::apply(program, &mut run.state, Move::Own(Own::Commit(tid)));
    let Ok(Some(Seen::Committed(loc, _))) = seen else { panic!("a store waits: {seen:?}") };
    let unit = run.waiting[tid.index()].remove(0);
    run.note(tid, Kind::Wc, loc.0, unit);
    let buffer = &mut run.state.shared.buffers[tid.index()].all;
    if buffer.front() == Some(&Entry::Fence) {
        buffer.pop_front();
    }
}

/// Which questions are answered with yes by every execution: TSO, SC, robust.
fn by_brute_force(program: &Program) -> Option<[bool; 3]> {
    let compiled = compile(program, Machine::Tso).with_stores_in_order();
    let threads = program.threads.len();
    let all = |immediate| {
        let mut all = Executions {
            original: program,
            compiled: &compiled,
            immediate,
            found: 0,
            violated: [false; 3],
        };
        let start = Run {
            state: store_buffer::initial(&compiled.program),
            events: vec![],
            units: 0,
            open: vec![None; threads],
            waiting: vec![vec![]; threads],
        };
        all.follow(&start)?;
        Some(all.violated)
    };
    let (sc, tso) = (all(true)?, all(false)?);
    Some([!tso[0], !sc[1], !tso[2]])
}

/// Puts marks into a thread: around stretches of straight code, or around all of it.
fn mark(thread: &mut Thread, seed: u64) {
    let origin = thread.code[thread.entry.index()].origin;
    let straight = !thread.code.iter().any(|s| matches!(s.instr, Instr::Jump { .. }));
    if !straight {
        if seed.is_multiple_of(2) {
            let begin = Pc::from(thread.code.len());
            for step in 0..thread.code.len() {
                if thread.code[step].instr == Instr::Halt {
                    let halt = Pc::from(thread.code.len() + 1);
                    thread.code[step] = Step { instr: Instr::End, next: halt, origin };
                }
            }
            thread.code.push(Step { instr: Instr::Begin, next: thread.entry, origin });
            thread.code.push(Step { instr: Instr::Halt, next: Pc(begin.0 + 1), origin });
            thread.entry = begin;
        }
        return;
    }
    let mut instrs = Vec::new();
    let mut pc = thread.entry;
    let mut open = false;
    while thread.code[pc.index()].instr != Instr::Halt {
        let bits = seed >> (2 * instrs.len() % 40);
        if open && bits.is_multiple_of(3) {
            instrs.push(Instr::End);
            open = false;
        }
        if !open && bits % 4 < 2 {
            instrs.push(Instr::Begin);
            open = true;
        }
        instrs.push(thread.code[pc.index()].instr.clone());
        pc = thread.code[pc.index()].next;
    }
    if open {
        instrs.push(Instr::End);
    }
    let last = instrs.len();
    instrs.push(Instr::Halt);
    let steps = instrs.into_iter().enumerate();
    thread.entry = Pc(0);
    thread.code =
        steps.map(|(k, instr)| Step { instr, next: Pc::from((k + 1).min(last)), origin }).collect();
}

fn configs() -> Vec<Config> {
    let base = Config { threads: 2..=2, instructions: 2..=4, ..Config::default() };
    let fences = Allow { sc_fences: true, ..Allow::NOTHING };
    let updates = Allow { fadd: true, cas: true, sc_accesses: true, ..fences };
    let branches = Allow { branches: true, choices: true, wait: true, asserts: true, ..updates };
    vec![
        Config { allow: Allow::NOTHING, ..base.clone() },
        Config { allow: fences, ..base.clone() },
        Config { allow: updates, ..base.clone() },
        Config { allow: branches, ..base.clone() },
        Config { threads: 3..=3, instructions: 1..=2, allow: fences, ..base.clone() },
        Config { instructions: 3..=5, locations: 1, allow: Allow::NOTHING, ..base },
    ]
}

fn count() -> u64 {
    std::env::var("FENCEPOST_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

/// Are the program's blocks atomic?
fn asked() -> check::Question {
    let property = check::Property::Serializability;
    check::Question { property, ..check::Question::of(check::Model::Tso) }
}

fn yes(decision: &Decision) -> bool {
    match &decision.verdict {
        Verdict::Holds => true,
        Verdict::Violated(_) => false,
        Verdict::Undecided(why) => panic!("{why}"),
    }
}

#[test]
fn searches_agree_with_all_executions() {
    let configs = configs();
    let asked = asked();
    let (mut judged, mut skipped, mut seed) = (0, 0, 0);
    let mut no = [0; 3];
    let (mut by_theorem, mut only_tso) = (0, 0);
    while judged < count() {
        seed += 1;
        let mut one = program(seed, &configs[seed as usize % configs.len()]);
        for (t, thread) in one.threads.iter_mut().enumerate() {
            mark(thread, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17 * t as u32) >> 7);
        }
        let Some(expected) = by_brute_force(&one) else {
            skipped += 1;
            continue;
        };
        judged += 1;
        let text = || format!("seed {seed}\n{}", ir::print::program(&one));
        for (k, question) in Question::ALL.into_iter().enumerate() {
            let answer = explore(&one, question, &asked).expect("a good program");
            assert_eq!(yes(&answer), expected[k], "{question:?}, {}", text());
            no[k] += u64::from(!expected[k]);
        }
        let decisions = check::check(&one, &asked, &|_, _| {}).expect("a good program").decisions;
        assert_eq!(decisions.iter().map(yes).collect::<Vec<_>>(), expected, "{}", text());
        only_tso += u64::from(expected[0] && !(expected[1] && expected[2]));
        by_theorem += u64::from(decisions[0].by == By::Theorem2);
    }
    eprintln!(
        "{judged} programs ({skipped} too large), answered no: {no:?}, {by_theorem} by Theorem 2, \
         {only_tso} TSO-serializable without its premises"
    );
    for no in no {
        assert!(no * 60 > judged && no * 10 < judged * 9, "the programs are too much alike");
    }
    assert!(by_theorem * 20 > judged && only_tso > 0);
}

fn source(text: &str) -> lang::Source {
    lang::parse("t.fp", text).expect("a good program")
}

fn verdicts(text: &str) -> Vec<&'static str> {
    let answer = check::check(&source(text).program, &asked(), &|_, _| {}).expect("a good program");
    answer.verdicts().map(Verdict::name).collect()
}

/// The summary is finite: endless loops end, with a buffer that always fills (fenced) or not.
#[test]
fn programs_that_run_forever_are_explored_completely() {
    let deposit = |lock: &str, unlock: &str| {
        format!(
            "max_value 1; global m, balance;
             thread t[2] {{ local r; while (true) {{ atomic {{
                 {lock} r = balance.load(); balance.store(1 - r); {unlock} }} }} }}"
        )
    };
    let locked = deposit("lock(m);", "unlock(m);");
    assert_eq!(verdicts(&locked), ["holds", "holds", "holds"]);
    assert_eq!(verdicts(&deposit("", "fence(seq_cst);")), ["violated", "violated", "holds"]);
}

/// Buffers that fill without end are cut off, and the answer says where.
#[test]
fn full_buffers_are_not_covered() {
    let text = "max_value 1; global x, y;
        thread t { local a; while (a == 0) { x.store(1); a = y.load(); } }
        thread u { local b; y.store(1); b = x.load(); }";
    let asked = check::Question { buffer: 2, ..asked() };
    let answer = check::check(&source(text).program, &asked, &|_, _| {}).expect("a good program");
    let why = answer.decisions[0].verdict.why().expect("undecided");
    assert!(why.to_string().contains("at most 2 writes"), "{why}");
    assert!(answer.decisions[1].verdict.holds());
}

#[test]
fn marks_must_match() {
    let mistake = |body: &str| {
        let text = format!("global x; thread t {{ local r; {body} }}");
        let refused = check::check(&source(&text).program, &asked(), &|_, _| {}).unwrap_err();
        match refused[..] {
            [Refusal::Misplaced(misplaced)] => misplaced.what,
            _ => panic!("{body}: {refused:?}"),
        }
    };
    assert_eq!(mistake("atomic begin; x.store(1); atomic begin; atomic end;"), Mistake::Nested);
    assert_eq!(mistake("x.store(1); atomic end;"), Mistake::EndWithoutBegin);
    assert_eq!(mistake("atomic begin; x.store(1);"), Mistake::NeverEnds);
    let both = "r = x.load(); if (r) { atomic begin; } while (true) { x.store(1); }";
    assert_eq!(mistake(both), Mistake::Both);
}

/// The programs of the paper get the verdicts of the paper, and one where it is mistaken its own.
#[test]
fn the_corpus_is_as_it_says() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/serial");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("the corpus can be read").path();
        let text = std::fs::read_to_string(&path).expect("the corpus can be read");
        let expected: Vec<&str> = ["tso serializability", "sc serializability", "tso robustness"]
            .iter()
            .filter_map(|what| {
                let line = format!("// expect {what}: ");
                text.lines().find_map(|l| l.strip_prefix(&line))
            })
            .collect();
        assert_eq!(verdicts(&text), expected, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} programs");
}
