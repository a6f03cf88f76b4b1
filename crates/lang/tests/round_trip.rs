//! What is printed reads back as the same program.

use fencepost_lang::parse;
use ir::print::{self, printable};
use ir::random::{self, Allow, Config};
use ir::{Domain, Expr, Instr, Loc, Origin, Pc, Place, Program, Reg, Step, Thread};
use ir::{Location, LocationKind, WriteMode};
use proptest::prelude::*;

/// Prints, reads back, compares.
fn round_trip(program: &Program, what: &str) {
    let text = print::program(program);
    let again = parse(what, &text).unwrap_or_else(|found| {
        let shown: Vec<String> = found.iter().map(|one| one.render(what, &text, false)).collect();
        panic!("{what} does not read back:\n{}\n{text}", shown.concat())
    });
    assert_eq!(again.warnings, [], "{what}:\n{text}");
    let (expected, found) = (printable(program), printable(&again.program));
    assert_eq!(expected, found, "{what} changed:\n{text}");
    let mut found = again.program;
    for step in found.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        step.origin = Origin(0);
    }
    if let Some(condition) = &mut found.condition {
        condition.origin = Origin(0);
    }
    assert_eq!(expected, found, "{what}: reading gives the printable form\n{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_programs(
        seed: u64,
        length in 0usize..12,
        registers in 1usize..4,
        max_value in prop::sample::select(vec![1, 2, 3, 7, 255]),
        array in 1u32..4,
    ) {
        let config = Config {
            instructions: 0..=length,
            registers,
            max_value,
            array,
            allow: Allow::EVERYTHING,
            ..Config::default()
        };
        let program = random::program(seed, &config);
        prop_assert_eq!(&printable(&program), &program);
        round_trip(&program, &format!("seed {seed}"));
    }
}

#[test]
fn constructs() {
    let texts = [
        "thread t { L: goto L; }",
        "global x; thread t { while (true) { x.store(1); } }",
        "global x; thread t { local r; while (r) { while (r) { } } }",
        "global a[3] = {1, 0, 2}; na b[1] = 1; thread t { local r, b; a[r].store(b); }",
        "global a[2]; thread t[3] { local r; r = a[0].load(); }",
        "global x, a[2]; thread t { local r; r = x.load(); } exists (t.r == 1 && !(x == 2) || a[1] != 3);",
        "global x; thread t[2] { local r; r = x.load(); } ~exists (t[0].r != t[1].r);",
        "values -4..=3; global x; thread t { x.store(-1); } forall (x == -1 || 0 < x);",
        "global x; thread t { x.store(1); } forall (true);",
        "global a[3]; thread t[3] { local r; r = a[t].load(); }",
        "global x; thread t { atomic { x.store(1); } bus_lock; x.store(2); bus_unlock; }",
        "global x; thread t { local r; r = oneof(1, 2, 3); oneof({ }{ }); FADD(x, -(r + 1)); }",
        "global acq, rel; thread t { fence(acq, rel); fence(acq); }",
        "thread t { local r; r = 1 / 0 + r; r = (1 / 0) % (2 / 0); }",
        "thread t { assert(0); }",
        "thread t { } thread u { assume(3); }",
    ];
    for text in texts {
        let source = parse("test.fp", text).expect(text);
        let text = print::program(&source.program);
        let again = parse("test.fp", &text).map(|again| again.program);
        assert_eq!(again.as_ref().map(printable).ok(), Some(printable(&source.program)), "{text}");
    }
}

/// Other front-ends make programs that no text reads as; they print as the closest that does.
#[test]
fn foreign_programs() {
    let step = |instr, next| Step { instr, next: Pc(next), origin: Origin(7) };
    let element = |name: &str, element| Location {
        name: name.into(),
        element: Some(element),
        initial: element.into(),
        kind: LocationKind::Atomic,
    };
    let thread = |name: &str, replica| Thread {
        name: name.into(),
        replica,
        registers: vec!["$r".into(), "$r".into(), "0".into()],
        code: vec![
            step(Instr::Halt, 0),
            step(Instr::Jump { cond: Expr::Reg(Reg(0)), targets: vec![Pc(2), Pc(3)] }, 4),
            step(
                Instr::Store {
                    place: Place::location(Loc(1)),
                    value: Expr::Reg(Reg(1)),
                    mode: WriteMode::Rel,
                },
                4,
            ),
            step(Instr::Jump { cond: Expr::Reg(Reg(2)), targets: vec![] }, 0),
            step(Instr::Skip, 0),
        ],
        entry: Pc(1),
    };
    let program = Program::new(
        Domain::modulo(9),
        vec![element("mem ory", 0), element("mem ory", 1), element("mem_ory", 0)],
        vec![thread("p", Some(0)), thread("p", Some(1)), thread("p", None), thread("p", Some(3))],
    );
    round_trip(&program, "foreign program");
    insta::assert_snapshot!(print::program(&program));
}

/// Every program that comes with Fencepost reads back.
#[test]
fn corpus() {
    fn visit(folder: &std::path::Path, count: &mut usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                visit(&path, count);
            } else if path.extension().is_some_and(|ext| ext == "fp")
                && let Ok(bytes) = std::fs::read(&path)
                && let Ok(source) = fencepost_lang::parse_bytes("corpus", &bytes)
            {
                *count += 1;
                round_trip(&source.program, &path.display().to_string());
            }
        }
    }
    let mut count = 0;
    visit(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus"), &mut count);
    println!("{count} programs");
}
