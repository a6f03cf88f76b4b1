//! Final conditions: what `check` says of them is what enumerated final states say.
//!
//! The oracle is `check::outcomes`, which forgets nothing: it visits every state of every interleaving or
//! buffer, without reductions, and the formula is evaluated on each final state.

extern crate fencepost_check as check;

use check::outcomes::{self, Limits};
use check::{DoubleCheck, Model, Property, Question, Reach, Verdict, Why};
use graph::{FinalState, Status};
use ir::expr::Binary;
use ir::random::{self, Allow, Config, Generator};
use ir::{Condition, Expr, Loc, Observed, Origin, Program, Quantifier, Reg, Tid};
use memory::store_buffer::Machine;

fn parse(text: &str) -> Program {
    lang::parse_any("test", text).unwrap_or_else(|found| panic!("{found:?}\n{text}")).program
}

/// What is known of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    /// The claim holds, or the answer is yes.
    Yes,
    No,
    Unknown(Why),
}

fn said(program: &Program, model: Model) -> Said {
    let question = Question { model, double_check: DoubleCheck::Never, ..Question::default() };
    let answer = check::check(program, &question, &|_, _| {}).expect("a legal question");
    assert!(answer.internal.is_empty(), "{:?}", answer.internal);
    if let Some(Verdict::Violated(witness)) = answer.verdict(Property::FinalCondition) {
        // The run is one of the program itself, without what observes it.
        assert!(witness.run().iter().all(|step| step.tid.index() < program.threads.len()));
    }
    outcome(&answer)
}

fn outcome(answer: &check::Answer) -> Said {
    match (answer.verdict(Property::FinalCondition), answer.reach) {
        (Some(Verdict::Holds), None) | (None, Some(Reach::Yes)) => Said::Yes,
        (Some(Verdict::Violated(_)), None) => Said::No,
        (None, Some(Reach::No)) => Said::No,
        (Some(Verdict::Undecided(why)), None) => Said::Unknown(*why),
        (None, Some(Reach::Unknown(why))) => Said::Unknown(why),
        other => panic!("{other:?}"),
    }
}

fn by_states<'s>(condition: &Condition, states: impl Iterator<Item = &'s FinalState>) -> Said {
    let done = states.filter(|s| s.threads.iter().all(|t| t.status == Status::Halted));
    let mut satisfied = done.map(|state| {
        condition.is_satisfied(|what| match what {
            Observed::Location(loc) => state.memory[loc.index()],
            Observed::Register(tid, reg) => state.threads[tid.index()].registers[reg.index()],
        })
    });
    let holds = match condition.quantifier {
        Quantifier::Exists => satisfied.any(|yes| yes),
        Quantifier::NotExists => !satisfied.any(|yes| yes),
        Quantifier::Forall => satisfied.all(|yes| yes),
    };
    if holds { Said::Yes } else { Said::No }
}

fn under_sc(program: &Program) -> Said {
    let states = outcomes::interleavings(program, &Limits::default());
    assert_eq!(states.cut, None);
    by_states(program.condition.as_ref().expect("a condition"), states.states.iter())
}

/// Each of these breaks an analysis that does not know what the condition reads, and every one is
/// decided as the enumeration says, with and without the double check's help.
#[test]
fn premises() {
    for (text, expected) in [
        // Dead registers: nobody reads r any more once it is loaded.
        (
            "global x; thread a { x.store(1); } thread b { local r; r = x.load(); } exists (b.r == 1);",
            Said::Yes,
        ),
        (
            "global x; thread a { x.store(1); } thread b { local r; r = x.load(); r = 0; } exists (b.r == 1);",
            Said::No,
        ),
        // Symmetry: equal threads, but the condition tells them apart.
        (
            "global x; thread t[2] { local r; r = FADD(x, 1); } ~exists (t[0].r == 1 && t[1].r == 0);",
            Said::No,
        ),
        (
            "global x; thread t[2] { local r; r = FADD(x, 1); } forall (t[0].r < t[1].r || t[1].r < t[0].r);",
            Said::Yes,
        ),
        (
            "global x; thread t[3] { local r; r = FADD(x, 1); } exists (t[0].r == 2 && t[1].r == 1 && t[2].r == 0);",
            Said::Yes,
        ),
        // Counters: only the condition compares the number with a constant.
        (
            "global n; thread t[2] { local r; FADD(n, 1); FADD(n, 1); r = n.load(); } forall (n == 4);",
            Said::Yes,
        ),
        (
            "global n; thread t[2] { local r; FADD(n, 1); FADD(n, 1); r = n.load(); } exists (t[0].r == 3);",
            Said::Yes,
        ),
        // Loop counters: how often the loop ran is what is asked.
        (
            "global n; thread t { local i; while (i < 3) { FADD(n, 1); i = i + 1; } } forall (n == 3 && t.i == 3);",
            Said::Yes,
        ),
        // Partial order: the threads touch different locations, the condition sees both.
        (
            "global x, y; thread a { x.store(1); x.store(2); } thread b { y.store(1); } forall (x == 2 && y == 1);",
            Said::Yes,
        ),
        // Only runs that come to their end are asked about.
        (
            "global x; thread a { local r; r = x.load(); assume(r == 1); } thread b { x.store(1); } forall (a.r == 1);",
            Said::Yes,
        ),
        (
            "global x; thread a { wait(x, 2); x.store(3); } thread b { x.store(1); } ~exists (x == 1);",
            Said::Yes,
        ),
        (
            "global x; thread a { local r; r = x.load(); assert(r == 1); } thread b { x.store(1); } forall (a.r == 1);",
            Said::Yes,
        ),
        (
            "global x; thread main { oneof ({ spawn t; } { skip; }); } thread t { x.store(1); } forall (x == 1);",
            Said::Yes,
        ),
        // Two values and three threads: the number of threads is no value.
        (
            "max_value 1; global x; thread t[3] { local r; r = exchange(x, 1); } exists (t[0].r == 1 && t[2].r == 0);",
            Said::Yes,
        ),
        (
            "max_value 1; global x; thread t[3] { local r; r = exchange(x, 1); } forall (t[0].r == 0);",
            Said::No,
        ),
        // Non-atomic and array locations.
        ("na x; thread a { x.nastore(3); } exists (x == 3);", Said::Yes),
        (
            "global a[2] = {4, 5}; thread t { a[1].store(6); } forall (a[0] == 4 && a[1] == 6);",
            Said::Yes,
        ),
        // Choices are made late, and a choice that leads to no access at last.
        (
            "global x; thread t { local r; r = oneof(1, 2); x.store(1); r = oneof(3, 4); } exists (t.r == 4);",
            Said::Yes,
        ),
        ("thread t { local r; r = oneof(3, 4); } forall (t.r == 3);", Said::No),
    ] {
        let program = parse(text);
        assert_eq!(under_sc(&program), expected, "{text}");
        assert_eq!(said(&program, Model::Sc), expected, "{text}");
        // Reading back what is printed asks the same.
        let printed = parse(&ir::print::program(&program));
        assert_eq!(said(&printed, Model::Sc), expected, "{text}");
    }
}

/// As many threads as there can be leave no room for one that observes; a claim is decided all the same.
#[test]
fn no_thread_need_observe() {
    for (claim, expected) in [("~exists (x == 0)", Said::No), ("forall (x == 0)", Said::Yes)] {
        let text = format!("atomic x; thread t[32] {{ local r; r = x.load(rlx); }} {claim};");
        for model in [Model::Rc11, Model::Sc, Model::Tso] {
            assert_eq!(said(&parse(&text), model), expected, "{model:?}: {claim}");
        }
    }
}

/// Of a program that is not robust, what an interleaving shows counts, and nothing else.
#[test]
fn weak_memory_leaves_claims_open() {
    let sb = |between: &str, condition: &str| {
        parse(&format!(
            "global x, y; thread a {{ local r; x.store(1); {between} r = y.load(); }} \
             thread b {{ local r; y.store(1); {between} r = x.load(); }} {condition}"
        ))
    };
    let both = "(a.r == 0 && b.r == 0);";
    for model in [Model::Rc20, Model::Tso, Model::Pso] {
        let open = Said::Unknown(Why::NotRobust);
        assert_eq!(said(&sb("", &format!("~exists {both}")), model), open);
        assert_eq!(said(&sb("", &format!("exists {both}")), model), open);
        assert_eq!(said(&sb("", "exists (a.r == 1 && b.r == 1);"), model), Said::Yes);
        assert_eq!(said(&sb("", "forall (a.r == 1);"), model), Said::No);
        assert_eq!(said(&sb("fence(seq_cst);", &format!("~exists {both}")), model), Said::Yes);
        assert_eq!(said(&sb("fence(seq_cst);", &format!("exists {both}")), model), Said::No);
    }
}

/// A stale value that nothing depends on is still in its register: observational robustness decides no
/// condition.
#[test]
fn observational_robustness_is_not_enough() {
    let program = parse(
        "global x, y; thread a { local r; x.store(1); r = y.load(); } \
         thread b { local r; y.store(1); r = x.load(); } ~exists (a.r == 0 && b.r == 0);",
    );
    let property = Property::ObservationalRobustness;
    let question = Question { property, ..Question::default() };
    let answer = check::check(&program, &question, &|_, _| {}).expect("a legal question");
    assert!(answer.verdict(property).is_some_and(Verdict::holds));
    let verdict = answer.verdict(Property::FinalCondition).expect("a claim");
    assert_eq!(verdict.why(), Some(Why::PerhapsNotRobust));
}

/// A condition about a random program.
fn condition(program: &Program, random: &mut Generator) -> Condition {
    let mut observed = Vec::new();
    let mut formula = None;
    for _ in 0..1 + random.below(3) {
        let what = match random.below(3) {
            0 => Observed::Location(Loc::from(random.below(program.locations.len()))),
            _ => {
                let tid = random.below(program.threads.len());
                let count = program.threads[tid].registers.len();
                Observed::Register(Tid::from(tid), Reg::from(random.below(count)))
            }
        };
        let number = observed.iter().position(|known| *known == what).unwrap_or_else(|| {
            observed.push(what);
            observed.len() - 1
        });
        let value = Expr::Const(random.below(3) as i64);
        let op = random.pick(&[Binary::Eq, Binary::Eq, Binary::Ne, Binary::Le]);
        let atom = Expr::binary(op, Expr::Reg(Reg::from(number)), value).expect("small");
        formula = match formula.take() {
            None => Some(atom),
            Some(all) => {
                let op = random.pick(&[Binary::And, Binary::Or]);
                Expr::binary(op, all, atom)
            }
        };
    }
    let quantifier = random.pick(&[Quantifier::Exists, Quantifier::NotExists, Quantifier::Forall]);
    let formula = formula.expect("one atom at least");
    Condition { quantifier, observed, formula, origin: Origin(0) }
}

fn config() -> Config {
    let allow = Allow { light_fences: false, loops: false, ..Allow::EVERYTHING };
    Config { instructions: 1..=4, threads: 2..=3, max_value: 3, allow, ..Config::default() }
}

/// Catches a reduction that forgets what the condition reads, and a claim about weak memory that
/// interleavings do not support.
#[test]
fn random_conditions_are_decided_as_final_states_say() {
    let mut decided = [0; 4];
    for seed in 0..600 {
        let mut random = Generator { state: seed };
        let mut program = random::program(seed, &config());
        program.condition = Some(condition(&program, &mut random));
        assert_eq!(program.validate(), Ok(()), "seed {seed}");
        let expected = under_sc(&program);
        assert_eq!(said(&program, Model::Sc), expected, "seed {seed}");
        decided[usize::from(expected == Said::Yes)] += 1;
        let asked = program.condition.as_ref().expect("just made");
        let on_tso = outcomes::outcomes(&program, Machine::Tso, &Limits::default());
        let bounds = graph::Limits { unroll: 3, graphs: 20_000 };
        let by_graphs = graph::outcomes(&program, &bounds);
        for (model, states, complete) in [
            (Model::Tso, on_tso.outcomes, on_tso.cut.is_none()),
            (Model::Rc20, by_graphs.outcomes, !by_graphs.bounded),
        ] {
            let oracle = by_states(asked, states.iter().map(|outcome| &outcome.state));
            match said(&program, model) {
                Said::Unknown(_) => decided[2] += 1,
                known if complete => {
                    assert_eq!(known, oracle, "seed {seed}, {}", model.name());
                    decided[3] += 1;
                }
                _ => {}
            }
        }
    }
    let [no, yes, unknown, on_weak_memory] = decided;
    assert!(no > 100 && yes > 100 && unknown > 10 && on_weak_memory > 500, "{decided:?}");
}

/// On weak memory, what `check` says of conditions is what the final states of all RC11-consistent graphs say. Catches a
/// final state that the weak memory forgets, or has too many of.
#[test]
fn conditions_are_decided_on_the_weak_memory() {
    let allow = Allow { fences: true, sc_fences: true, branches: true, ..Allow::NOTHING };
    let wide = config();
    let small = Config { threads: 2..=3, instructions: 3..=4, allow, ..config() };
    let (mut by_interleavings, mut by_weak_memory) = (0, 0);
    for seed in 0..500 {
        let mut random = Generator { state: seed };
        let mut program = random::program(seed, if seed % 3 == 0 { &wide } else { &small });
        if seed % 2 == 0 {
            program = random::with_sc_events(program, seed);
        }
        program.condition = Some(condition(&program, &mut random));
        let bounds = graph::Limits { unroll: 1, graphs: 5_000 };
        let by_graphs = graph::outcomes(&program, &bounds);
        if by_graphs.bounded {
            continue;
        }
        let beyond = check::Beyond::Full;
        let question = Question { beyond, double_check: DoubleCheck::Never, ..Question::default() };
        let answer = check::check(&program, &question, &|_, _| {}).expect("a legal question");
        assert!(answer.internal.is_empty(), "seed {seed}: {:?}", answer.internal);
        let asked = program.condition.as_ref().expect("just made");
        let oracle = by_states(asked, by_graphs.outcomes.iter().map(|outcome| &outcome.state));
        let text = || format!("seed {seed}\n{}", ir::print::program(&program));
        match outcome(&answer) {
            Said::Unknown(Why::Racy | Why::Faulty) => {}
            Said::Unknown(why) => panic!("{why}, {}", text()),
            known => assert_eq!(known, oracle, "{}", text()),
        }
        match answer.verdict(Property::Robustness).is_some_and(Verdict::holds) {
            true => by_interleavings += 1,
            false => by_weak_memory += 1,
        }
    }
    assert!(by_interleavings > 50 && by_weak_memory > 50, "{by_interleavings}, {by_weak_memory}");
}

/// The axioms of TSO and the machine end in the same states; so do the counted executions of the other
/// models and the final states that `outcomes` lists.
#[test]
fn counted_executions_end_as_machines_do() {
    let mut compared = 0;
    for seed in 0..400 {
        let allow = Allow { asserts: false, ..config().allow };
        let program = random::program(seed, &Config { allow, ..config() });
        let bounds = outcomes::Bounds {
            graphs: graph::Limits { unroll: 3, graphs: 20_000 },
            budget: search::Budget::UNLIMITED,
        };
        for model in [Model::Tso, Model::Sc] {
            let counted =
                outcomes::executions(&program, model, &bounds).expect("a model by axioms");
            if counted.seen.bounded {
                continue;
            }
            let machine: Vec<FinalState> = match model {
                Model::Tso => {
                    let all = outcomes::outcomes(&program, Machine::Tso, &Limits::default());
                    assert_eq!(all.cut, None);
                    all.outcomes.into_iter().map(|outcome| outcome.state).collect()
                }
                _ => outcomes::interleavings(&program, &Limits::default())
                    .states
                    .into_iter()
                    .collect(),
            };
            let done = |s: &&FinalState| s.threads.iter().all(|t| t.status == Status::Halted);
            let machine: std::collections::HashSet<_> = machine.iter().filter(done).collect();
            let axioms: std::collections::HashSet<_> = counted.ends.keys().collect();
            assert_eq!(
                machine,
                axioms,
                "seed {seed}, {}\n{}",
                model.name(),
                ir::print::program(&program)
            );
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared}");
}

/// A litmus test printed in the Fencepost language ends in the same states.
#[test]
fn litmus_tests_can_be_printed() {
    let tests = [
        "C MP\n{ x=1; }\nP0(atomic_int* x, int* y) { *y = 1; atomic_store_explicit(x, 2, \
         memory_order_release); }\nP1(atomic_int* x, int* y) { int r0 = atomic_load_explicit(x, \
         memory_order_acquire); int r1 = 7; if (r0 == 2) { r1 = *y; } }\nforall (1:r0=1 \\/ 1:r1=1)",
        "C CAS\n{ e=0; }\nP0(atomic_int* x, int* e) { int ok = \
         atomic_compare_exchange_weak_explicit(x, e, 2, memory_order_relaxed, \
         memory_order_relaxed); }\nP1(atomic_int* x) { int r = atomic_fetch_add(x, 1); }\n\
         exists (0:ok=0 /\\ e=0)",
        "X86 SB+lock\n{}\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n LOCK INC [z] | XCHG [w],EBX ;\n \
         MOV EAX,[y] | MOV EAX,[x] ;\n~exists (0:EAX=0 /\\ 1:EAX=0)",
    ];
    for text in tests {
        let program = parse(text);
        let printed = parse(&ir::print::program(&program));
        assert_eq!(
            printed.condition.as_ref().map(|c| &c.formula),
            program.condition.as_ref().map(|c| &c.formula)
        );
        let states = |program: &Program, machine| {
            let all = outcomes::outcomes(program, machine, &Limits::default());
            let mut all: Vec<_> = all
                .outcomes
                .into_iter()
                .map(|o| {
                    (
                        o.state.memory,
                        o.state.threads.into_iter().map(|t| t.registers).collect::<Vec<_>>(),
                        o.under_sc,
                    )
                })
                .collect();
            all.sort();
            all
        };
        for machine in Machine::ALL {
            assert_eq!(states(&program, machine), states(&printed, machine), "{text}");
        }
        let by_graphs = |program: &Program| {
            let mut all: Vec<_> = graph::outcomes(program, &graph::Limits::default())
                .outcomes
                .into_iter()
                .map(|o| {
                    (
                        o.state.memory,
                        o.state.threads.into_iter().map(|t| t.registers).collect::<Vec<_>>(),
                        o.under_sc,
                    )
                })
                .collect();
            all.sort();
            all
        };
        assert_eq!(by_graphs(&program), by_graphs(&printed), "{text}");
        assert_eq!(said(&program, Model::Tso), said(&printed, Model::Tso), "{text}");
    }
}
