//! Litmus tests in herd's format: what is read, what is refused and how, and that nothing makes the
//! reader panic.

use fencepost_lang::litmus::{Architecture, looks_like, parse};
use fencepost_lang::{Diagnostic, Severity, Source, codes};
use ir::random::Generator;
use ir::{Instr, LocationKind, Observed, Quantifier};

fn good(text: &str) -> Source {
    assert!(looks_like(text), "{text}");
    parse("test.litmus", text).unwrap_or_else(|found| {
        let shown: Vec<String> = found.iter().map(|one| one.render("t", text, false)).collect();
        panic!("{}\n{text}", shown.concat())
    })
}

/// The first error of a text that is no test.
fn bad(text: &str) -> Diagnostic {
    let found = parse("test.litmus", text).expect_err(text);
    let error = found.into_iter().find(|one| one.severity == Severity::Error);
    error.unwrap_or_else(|| panic!("no error: {text}"))
}

/// Instructions of a thread as the Fencepost language writes them.
fn instructions(source: &Source, tid: usize) -> Vec<String> {
    let program = &source.program;
    let thread = &program.threads[tid];
    let instrs = thread.code.iter().map(|step| &step.instr).filter(|i| **i != Instr::Halt);
    instrs.map(|instr| ir::print::instruction(program, thread, instr)).collect()
}

fn c(body: &str) -> String {
    format!("C t\n{{ x=0; y=0; }}\nP0(atomic_int* x, int* y) {{ {body} }}\nexists (x=1)")
}

#[test]
fn a_test_in_c() {
    let source = good(
        "C  MP+two words\n\"message passing\"\nCycle=Rfe Fre\n(* a (* nested *) comment *)\n\
         { x=3; [y]=1; int z; 1:r2=7; }\n\
         P0(atomic_int* x, int* y) {\n  *y = 2; // plain\n\
         atomic_store_explicit(x, 1, memory_order_release);\n}\n\
         P1(atomic_int* x, volatile int* y) {\n\
         int r0 = atomic_load_explicit(x, memory_order_acquire);\n\
         if (r0 == 1) { r2 = *y + 1; } else r2 = -1; /* done */\n}\n\
         locations [y;]\nexists (1:r0=1 /\\ (1:r2=3 \\/ ~(z=0)))",
    );
    let litmus = source.litmus.as_ref().expect("a litmus test");
    assert_eq!((litmus.architecture, litmus.name.as_str()), (Architecture::C, "MP+two words"));
    assert_eq!(instructions(&source, 0), ["y.nastore(2)", "x.store(1, rel)"]);
    let second = instructions(&source, 1);
    assert_eq!(second[..3], ["r2 = 7", "r0 = x.load(acq)", "if (r0 == 1)"]);
    assert!(second.contains(&"tmp$0 = y.naload()".to_string()), "{second:?}");
    assert!(second.contains(&"r2 = tmp$0 + 1".to_string()), "{second:?}");
    let program = &source.program;
    let initial: Vec<_> = program.locations.iter().map(|l| (l.name.as_str(), l.initial)).collect();
    assert_eq!(initial, [("x", 3), ("y", 1), ("z", 0)]);
    assert_eq!(program.locations[1].kind, LocationKind::NonAtomic);
    assert_eq!((program.domain.min, program.domain.max), (-(1 << 31), (1 << 31) - 1));
    let condition = program.condition.as_ref().expect("a condition");
    assert_eq!(condition.quantifier, Quantifier::Exists);
    // Registers come first, by thread and name, then locations by name.
    let names: Vec<String> =
        litmus.shown.iter().map(|&what| ir::print::observed(program, what)).collect();
    assert_eq!(names, ["P1.r0", "P1.r2", "y", "z"]);
    assert_eq!(program.validate(), Ok(()));
}

#[test]
fn atomic_operations() {
    let relaxed = "memory_order_relaxed";
    for (text, expected) in [
        ("atomic_store(x, 1);", vec!["x.store(1, sc)"]),
        ("int r = atomic_load(x);", vec!["r = x.load(sc)"]),
        (
            "int r = atomic_exchange_explicit(x, 2, memory_order_acq_rel);",
            vec!["r = exchange(x, 2, acq, rel)"],
        ),
        (
            "atomic_fetch_add_explicit(x, 2, memory_order_release);",
            vec!["tmp$0 = FADD(x, 2, rlx, rel)"],
        ),
        (
            "int r = 1 + atomic_fetch_sub(x, 2);",
            vec!["tmp$0 = FADD(x, -2, sc, sc)", "r = 1 + tmp$0"],
        ),
        (
            "int r = atomic_fetch_xor_explicit(x, 3, memory_order_acquire);",
            vec!["r = fetch_xor(x, 3, acq, rlx)"],
        ),
        ("atomic_thread_fence(memory_order_seq_cst);", vec!["fence(seq_cst)"]),
        ("atomic_thread_fence(memory_order_relaxed);", vec![]),
    ] {
        assert_eq!(instructions(&good(&c(text)), 0), expected, "{text}");
    }
    let cas =
        format!("int r = atomic_compare_exchange_strong_explicit(x, y, 2, {relaxed}, {relaxed});");
    let strong = instructions(&good(&c(&cas)), 0);
    assert_eq!(
        strong[..3],
        ["tmp$0 = y.naload()", "tmp$1 = CAS(x, tmp$0, 2, rlx, rlx)", "tmp$2 = tmp$1 == tmp$0",]
    );
    assert!(strong.contains(&"y.nastore(tmp$1)".to_string()), "{strong:?}");
    let weak = instructions(&good(&c(&cas.replace("strong", "weak"))), 0);
    assert!(weak.contains(&"tmp$1 = x.load(rlx)".to_string()), "{weak:?}");
    let local = "int e = 1; int r = atomic_compare_exchange_strong(x, &e, 2);";
    assert!(instructions(&good(&c(local)), 0).contains(&"e = tmp$1".to_string()));
}

#[test]
fn loops_and_arrays() {
    let source = good(
        "C t { int a[2]={4,5}; 0:p=y; }
         P0(int* a, atomic_int* x, atomic_int* p) {
           do { a[1] = a[0]; } while (atomic_load(x) != 0);
           while (atomic_load(x) == 0) { } atomic_store(p, 1); }
         forall (a[1]=4 => [y]=1)",
    );
    let program = &source.program;
    let accesses = program.threads[0].code.iter().filter_map(|step| step.instr.place());
    let names: Vec<String> =
        accesses.map(|place| ir::print::place(program, &program.threads[0], place)).collect();
    assert_eq!(names, ["a[0]", "a[1]", "x", "x", "y"]);
    assert_eq!(program.locations[1].initial, 5);
}

/// A location with both kinds of accesses is atomic, its plain accesses are relaxed, and shadows of it race in its stead. One
/// with plain accesses alone is not atomic, one that nobody accesses is left as it is.
#[test]
fn plain_and_atomic_accesses_mix() {
    let source = good(
        "C t { x=3; y=0; z=0; }
         P0(atomic_int* x, int* y) { atomic_store(x, 1); *y = 1; }
         P1(atomic_int* x) { *x = 2; int r = *x; }
         exists (x=1 /\\ 1:r=2)",
    );
    assert!(source.warnings.is_empty());
    let program = &source.program;
    let kinds: Vec<_> =
        program.locations.iter().map(|it| (&*it.name, it.initial, it.kind)).collect();
    use ir::LocationKind::{Atomic, NonAtomic};
    assert_eq!(
        kinds,
        [
            ("x", 3, Atomic),
            ("y", 0, NonAtomic),
            ("z", 0, Atomic),
            ("x", 0, NonAtomic),
            ("x", 0, NonAtomic)
        ]
    );
    assert_eq!(source.internal, [ir::Loc(3), ir::Loc(4)]);
    let accesses = |tid: usize| -> Vec<(usize, bool)> {
        let code = program.threads[tid].code.iter();
        code.filter_map(|step| {
            let writes = matches!(step.instr, Instr::Store { .. });
            step.instr.place().map(|place| (place.base.index(), writes))
        })
        .collect()
    };
    // Before a store, what plain writes write is read and what plain reads read is written.
    assert_eq!(accesses(0), [(3, false), (4, true), (0, true), (1, true)]);
    assert_eq!(accesses(1), [(3, true), (0, true), (3, false), (4, false), (0, false)]);
}

#[test]
fn a_test_in_x86() {
    let source = good(
        "X86 t\n{ x=1; 1:EBX=5; }\n P0          | P1              ;\n\
         MOV [x],$1  | L0: MOV EAX,[y] ;\n MFENCE      | CMP EAX,$1      ;\n\
         LOCK INC [y] | JNE L0         ; # a comment\n INC [z]     | XCHG [x],EBX    ;\n             \
         | MOV %ecx,EBX    ;\nexists (1:EBX=1 /\\ z=1)",
    );
    assert_eq!(
        instructions(&source, 0)[..3],
        ["x.store(1, rlx)", "fence(seq_cst)", "tmp$0 = FADD(y, 1, rlx, rlx)",]
    );
    // Without the prefix it is a load and a store.
    assert!(instructions(&source, 0).contains(&"z.store(tmp$0 + 1, rlx)".to_string()));
    let second = instructions(&source, 1);
    assert_eq!(second[..2], ["EBX = 5", "EAX = y.load(rlx)"]);
    assert!(second.contains(&"EBX = exchange(x, EBX, rlx, rlx)".to_string()), "{second:?}");
    assert!(second.contains(&"ECX = EBX".to_string()), "{second:?}");
}

/// The destination comes first in `X86` and last in `X86_64`.
#[test]
fn operands_of_x86_64_are_the_other_way_round() {
    let source = good(
        "X86_64 t\n{ 0:rdx=x; }\n P0 ;\n movl $3,(%rdx) ;\n movl (x),%eax ;\n lock addl $2,(y) ;\n\
         lock cmpxchgl %ebx,(x) ;\nforall (0:rax=3 /\\ 0:EBX=0)",
    );
    let steps = instructions(&source, 0);
    assert_eq!(steps[..2], ["x.store(3, rlx)", "rax = x.load(rlx)"]);
    assert!(steps.contains(&"tmp$0 = FADD(y, 2, rlx, rlx)".to_string()), "{steps:?}");
    assert!(steps.contains(&"tmp$0 = CAS(x, rax, rbx, rlx, rlx)".to_string()), "{steps:?}");
    assert_eq!(source.program.threads[0].registers.iter().filter(|r| *r == "rbx").count(), 1);
}

/// A filter is part of what is asked, whatever the quantifier.
#[test]
fn filters_are_part_of_the_condition() {
    let asks = |condition: &str, values: [i64; 2]| {
        let text =
            format!("C t {{}} P0(int* x, int* y) {{ *x = 1; *y = 1; }} filter (x=1) {condition}");
        let condition = good(&text).program.condition.expect("a condition");
        condition.is_satisfied(|what| match what {
            Observed::Location(loc) => values[loc.index()],
            Observed::Register(..) => 0,
        })
    };
    assert!(asks("exists (y=2)", [1, 2]) && !asks("exists (y=2)", [0, 2]));
    assert!(asks("forall (y=2)", [1, 2]) && asks("forall (y=2)", [0, 3]));
    assert!(!asks("forall (y=2)", [1, 3]));
}

/// What is not understood is an error with a place, never skipped.
#[test]
fn what_is_not_understood_is_refused() {
    use codes::*;
    let x86 = |row: &str| format!("X86 t\n{{}}\n P0 ;\n {row} ;\nexists (x=1)");
    for (text, code, part) in [
        ("PPC MP {}".to_string(), UNSUPPORTED, "PPC"),
        ("AArch64 MP {}".to_string(), UNSUPPORTED, "AArch64"),
        ("C t\nP0() { }".to_string(), SYNTAX, "initial state"),
        ("C t {} exists (x=1)".to_string(), NO_THREADS, "no threads"),
        ("C t {} P1(int* x) { }".to_string(), SYNTAX, "P0"),
        (c("x = 1;"), WRONG_KIND, "address"),
        (c("r = 1;"), UNKNOWN_NAME, "`r`"),
        (c("int r = *z;"), WRONG_KIND, "`z`"),
        (c("int* p = x;"), UNSUPPORTED, "pointers in locals"),
        (c("long r = 1;"), UNSUPPORTED, "several sizes"),
        (c("unsigned r = 1;"), UNSUPPORTED, "several sizes"),
        (c("int r = (int)1;"), UNSUPPORTED, "casts"),
        (c("int r = 1 << 2;"), UNSUPPORTED, "<<"),
        (c("int r = *y ? 1 : 2;"), UNSUPPORTED, "?"),
        (c("int r = *y && *y;"), UNSUPPORTED, "right of"),
        (c("for (;;) { }"), UNSUPPORTED, "for"),
        (c("int r = READ_ONCE(*x);"), UNSUPPORTED, "READ_ONCE"),
        (c("smp_mb();"), UNSUPPORTED, "smp_mb"),
        (c("int r = __atomic_load_n(x, 0);"), UNSUPPORTED, "__atomic_load_n"),
        (c("int r = __atomic_add_unless{mb}(x, 1, 0);"), UNSUPPORTED, "Linux"),
        (c("int r = atomic_load_explicit(x, memory_order_release);"), MODE, "load"),
        (c("atomic_store_explicit(x, 1, memory_order_acquire);"), MODE, "store"),
        (c("atomic_store_explicit(x, 1, memory_order_consume);"), UNSUPPORTED, "consume"),
        (c("atomic_store_explicit(x, 1, relaxed);"), MODE, "relaxed"),
        (c("atomic_store(x, 1, memory_order_relaxed);"), SYNTAX, "too many"),
        (c("atomic_store(x, 4294967296);"), RANGE, "4294967296"),
        (c("int r = x[0];"), INDEX, "no array"),
        ("C t {} P0(int** x) { } forall true".to_string(), UNSUPPORTED, "pointers to pointers"),
        ("C t { x=y; } P0(int* x) { } forall true".to_string(), UNSUPPORTED, "address"),
        ("C t { 2:r=1; } P0(int* x) { } forall true".to_string(), UNKNOWN_NAME, "thread 2"),
        ("C t {} P0(int* x) { } exists (0:r=1)".to_string(), UNKNOWN_NAME, "`r`"),
        ("C t {} P0(int* x) { } exists (1:r=1)".to_string(), UNKNOWN_NAME, "thread"),
        ("C t {} P0(int* x) { } exists (z=1)".to_string(), UNKNOWN_NAME, "`z`"),
        ("C t {} P0(int* x) { } exists (x=y)".to_string(), UNSUPPORTED, "`y` as a value"),
        ("C t {} P0(int* x) { } exists (x=99999999999)".to_string(), RANGE, "99999999999"),
        ("C t {} P0(int* x) { } exists (x=1) junk".to_string(), SYNTAX, "the end"),
        ("C t {} P0(int* x) { } maybe (x=1)".to_string(), SYNTAX, "`exists`"),
        ("C t {} (* P0(int* x) { }".to_string(), LEXICAL, "no end"),
        (x86("MOVB [x],$1"), UNSUPPORTED, "8-bit"),
        (x86("MOV [x],[y]"), SYNTAX, "two operands"),
        (x86("LOCK MOV [x],$1"), SYNTAX, "locked"),
        (x86("LOCK INC EAX"), SYNTAX, "without memory"),
        (x86("MOV [EAX],$1"), UNSUPPORTED, "address in a register"),
        (x86("MOV x,$1"), UNKNOWN_NAME, "`x`"),
        (x86("JA L0"), UNSUPPORTED, "JA"),
        (x86("JE L0"), NO_LABEL, "L0"),
        (x86("CLFLUSH [x]"), UNSUPPORTED, "CLFLUSH"),
        (x86("MOV [x],$1 | MOV [y],$1"), SYNTAX, "`;`"),
        (
            "X86_64 t {} P0 ; movl (x),%eax ; movq (y),%rbx ; exists (x=1)".to_string(),
            UNSUPPORTED,
            "several sizes",
        ),
        ("X86_64 t {} P0 ; movl 4(%rax),%eax ; exists (x=1)".to_string(), UNSUPPORTED, "computed"),
    ] {
        let error = bad(&text);
        assert_eq!(error.code, code, "{text}\n{error}");
        let shown = error.render("t", &text, false);
        assert!(shown.contains(part), "{text}\n{shown}");
        assert!(error.span().is_some(), "{text}\n{shown}");
    }
}

/// Tests to break.
const TESTS: [&str; 4] = [
    "C SB\n\"x\"\nA=b\n{ int x=1; [y]=2; 0:r0=1; atomic_int z; int a[2]={1,2}; }\n\
     P0(atomic_int* x, atomic_int* y) { atomic_store_explicit(x, 1, memory_order_relaxed); \
     int r0 = atomic_load(y) + *x * 2; if (r0 == 1 || !r0) { *x = -r0; } else { r0 = 3; } }\n\
     P1(atomic_int* x, int* a) { int r = 0; do { r = r + a[1]; } while (r < 3); (*x) ; \
     int ok = atomic_compare_exchange_weak(x, &r, 2); atomic_thread_fence(memory_order_acq_rel); }\n\
     filter (x=1)\nlocations [x; 1:r; a[1];]\n~exists (0:r0=0 /\\ (1:r=0 \\/ not (x=2)) => y!=3)",
    "X86 SB\n{ x=0; 0:EBX=1; 1:ESI=y; }\n P0 | P1 ;\n MOV [x],$1 | L: LOCK XADD [x],EAX ;\n \
     MFENCE | CMP EAX,$0 ;\n XCHG EBX,[y] | JNE L ;\n | LOCK CMPXCHG [ESI],ECX ;\n \
     INC [x] | DEC EDX ;\nforall (0:EBX=0 \\/ x=1)",
    "X86_64 t\n{ int64_t x; uint64_t 0:rax=3; }\n P0 ;\n movq $1,(x) ;\n xchgq %rax,(x) ;\n \
     shl 2,%rcx ; ret ; nopl 0(%rax,%eax,0) ;\nexists (0:rax=1)",
    "C f { x = ATOMIC_INIT(3); } P0() { } regions: x:PROP\nforall true",
];

/// Cuts, doubles, swaps and replaces pieces of a test.
fn mutate(text: &str, random: &mut Generator) -> String {
    const PIECES: [&str; 30] = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        "|",
        "(*",
        "*)",
        "/*",
        "\\/",
        "/\\",
        "=",
        "$",
        "%",
        "*",
        "&",
        "-",
        "0x",
        "9999999999999999999999",
        "int",
        "long",
        "P0",
        "P1",
        "0:",
        "exists",
        "LOCK",
        "é",
        "\0",
    ];
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(characters.len().max(1)).min(characters.len());
        let end = (at + random.below(12)).min(characters.len());
        match random.below(5) {
            0 => drop(characters.drain(at..end)),
            1 => {
                let copy: Vec<char> = characters[at..end].to_vec();
                characters.splice(at..at, copy);
            }
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                characters.splice(at..at, piece.chars());
            }
            3 => {
                let piece = PIECES[random.below(PIECES.len())];
                characters.splice(at..end, piece.chars());
            }
            _ => characters.truncate(end),
        }
    }
    characters.into_iter().collect()
}

/// Catches panics and endless loops on broken tests, errors without a text, and programs that are not
/// valid. `FENCEPOST_LITMUS_MUTATIONS=100000` tries more.
#[test]
fn broken_tests_are_survived() {
    let count = std::env::var("FENCEPOST_LITMUS_MUTATIONS").ok().and_then(|n| n.parse().ok());
    let count: u64 = count.unwrap_or(4000);
    TESTS.iter().for_each(|text| drop(good(text)));
    let (mut accepted, mut refused) = (0u64, 0u64);
    for seed in 0..count {
        let mut random = Generator { state: seed };
        let text = mutate(TESTS[random.below(TESTS.len())], &mut random);
        match parse("t.litmus", &text) {
            Ok(source) => {
                accepted += 1;
                assert_eq!(source.program.validate(), Ok(()), "seed {seed}\n{text}");
                ir::print::program(&source.program);
                assert!(source.litmus.is_some_and(|test| !test.name.is_empty()));
            }
            Err(found) => {
                refused += 1;
                assert!(found.iter().any(|one| one.severity == Severity::Error), "seed {seed}");
                found.iter().for_each(|one| drop(one.render("t", &text, false)));
            }
        }
    }
    assert!(accepted * 50 > count && refused * 5 > count, "{accepted} accepted, {refused} refused");
}

/// Deep nesting ends in a message, not in an overflow of the stack.
#[test]
fn deep_nesting_is_refused() {
    let deep =
        |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        c(&format!("int r = {};", deep("(", ")"))),
        c(&format!("int r = {};", deep("!", ""))),
        c(&format!("{} ;", "if (1) ".repeat(100_000))),
        c(&"{".repeat(100_000)),
        format!("C t {{}} P0(int* x) {{ }} exists {}", deep("(", ")")),
        format!("C t {{}} P0(int* x) {{ }} exists {} x=1", "~".repeat(100_000)),
        format!("C t {{}} P0(int* x) {{ }} exists {} x=1", "x=1 => ".repeat(100_000)),
        format!("C t {{}} P0(int* x) {{ }} exists x=1 {}", "\\/ (x=1 /\\ x=2) ".repeat(100_000)),
        format!("C t {{}} {}", "(*".repeat(100_000)),
        c(&format!("int r = 1{};", " + 1".repeat(100_000))),
    ] {
        // Whether it is refused or read, it ends.
        let _ = parse("deep", &text);
    }
    assert_eq!(bad(&c(&format!("int r = {};", deep("(", ")")))).code, codes::LIMIT);
}
