//! Nothing a file contains makes the reader panic, overflow its stack or run for long.

use fencepost_lang::{Diagnostic, MAX_BYTES, Severity, codes, parse, parse_bytes};
use proptest::prelude::*;

/// Reads and renders everything there is to render; the errors, if any.
fn survive(text: &str) -> Vec<Diagnostic> {
    let found = match parse("test.fp", text) {
        Ok(source) => {
            let program = &source.program;
            ir::print::program(program);
            for (_, _, step) in program.steps() {
                let span = source.span(step.origin);
                source.snippet(span);
                source.line_column(span.start);
                assert!(step.successors().all(|pc| pc.index() < MAX_BYTES));
            }
            for thread in &program.threads {
                let inside = |pc: ir::Pc| pc.index() < thread.code.len();
                assert!(thread.code.iter().all(|s| inside(s.next) && s.successors().all(inside)));
            }
            source.warnings
        }
        Err(found) => {
            assert!(found.iter().any(|one| one.severity == Severity::Error), "no error");
            found
        }
    };
    for one in &found {
        let shown = one.render("test.fp", text, true);
        assert!(shown.chars().all(|c| matches!(c, '\n' | '\u{1b}') || !c.is_control()));
    }
    found
}

const WORDS: &[&str] = &[
    "thread",
    "fn",
    "global",
    "na",
    "const",
    "max_value",
    "track",
    "local",
    "if",
    "else",
    "while",
    "goto",
    "oneof",
    "skip",
    "assert",
    "assume",
    "verify",
    "FADD",
    "CAS",
    "exchange",
    "BCAS",
    "wait",
    "fence",
    "lock",
    "unlock",
    "atomic",
    "begin",
    "end",
    "bus_lock",
    "x",
    "y",
    "a",
    "n",
    "r",
    "s",
    "t",
    "L",
    "N",
    "true",
    "rlx",
    "acq",
    "rel",
    "sc",
    "load",
    "store",
    "naload",
    "nastore",
    "all",
    "0",
    "1",
    "3",
    "300",
    "99999999999999999999",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    ".",
    "=",
    "!",
    "||",
    "&&",
    "|",
    "^",
    "&",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "//",
    "/*",
    "*/",
    "\n",
    "é",
    "#",
    "\"",
];

const GOOD: &str = "max_value 7;\nconst N = 3;\nglobal x, y = 1, a[N] = 2;\nna n;\ntrack x: 0, 1;
thread t[2] {\n  local r, s;\n  L: r = x.load(acq);\n  if (r == 0) goto L;\n  a[(t + r) % N].store(r + 1, rel);
  while (s < 3) { s = s + 1; FADD(y, -1, acq, rel); }\n  oneof({ n.nastore(1); } { r = CAS(x, 0, s, acq, rel, rlx); });
  atomic { r = wait(x, 1, 2, acq); }\n  fence; fence(x, a[1]); lock(y); unlock(y);
  if (r & (1 == 1)) { verify(r); } else if (s) { assert(r != 4); } else { r = oneof(1, s); }\n}\n";

#[test]
fn the_good_program_is_good() {
    assert_eq!(survive(GOOD), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Err(found) = parse_bytes("test.fp", &bytes) {
            let text = String::from_utf8_lossy(&bytes);
            for one in &found {
                one.render("test.fp", &text, false);
            }
        }
    }

    #[test]
    fn characters(text in "(?s).{0,200}") {
        survive(&text);
    }

    #[test]
    fn words(words in prop::collection::vec(prop::sample::select(WORDS), 0..200)) {
        survive(&words.join(" "));
    }

    #[test]
    fn statements(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        survive(&format!("global x, y, a[3]; na n; thread t {{ local r, s; {} }}", words.join(" ")));
    }

    /// Cut out a piece, and put a word in its place.
    #[test]
    fn mutations(
        start in 0..GOOD.len(),
        length in 0usize..40,
        words in prop::collection::vec(prop::sample::select(WORDS), 0..3),
    ) {
        let end = (start + length).min(GOOD.len());
        survive(&format!("{}{}{}", &GOOD[..start], words.join(" "), &GOOD[end..]));
    }

    #[test]
    fn truncations(length in 0..GOOD.len()) {
        survive(&GOOD[..length]);
    }
}

fn in_thread(body: &str) -> String {
    format!("global x; thread t {{ local r; {body} }}")
}

#[test]
fn deep_blocks_are_refused() {
    let deep = |depth: usize| {
        in_thread(&format!("{} skip; {}", "while (r) {".repeat(depth), "}".repeat(depth)))
    };
    assert_eq!(survive(&deep(199)), []);
    for depth in [200, 100_000] {
        let found = survive(&deep(depth));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, codes::LIMIT);
    }
    for open in ["if (r) {", "oneof({", "atomic {", "if (r) { } else {", "L: while (1) {"] {
        assert!(!survive(&in_thread(&open.repeat(100_000))).is_empty());
    }
}

/// Chains that are long but not deep are fine.
#[test]
fn long_expressions_and_chains_are_read() {
    assert_eq!(survive(&in_thread(&format!("r = r{};", " + r".repeat(100_000)))), []);
    assert_eq!(
        survive(&in_thread(&format!("r = {}r{};", "(".repeat(50_000), ")".repeat(50_000)))),
        []
    );
    assert_eq!(survive(&in_thread(&format!("r = {}r;", "!-".repeat(50_000)))), []);
    assert_eq!(
        survive(&in_thread(&format!("if (r) {{}} {}", "else if (r) {}".repeat(20_000)))),
        []
    );
}

/// Inputs of half a megabyte that are quadratic or worse for a careless reader.
#[test]
fn large_nonsense_ends_soon() {
    let size = 1 << 19;
    let many = |piece: &str| piece.repeat(size / piece.len());
    let unknown: String = (0..size / 12).map(|k| format!("q{k} = 1; ")).collect();
    let labels: String = (0..size / 24).map(|k| format!("L{k}: goto M{k}; ")).collect();
    let constants: String = (0..size / 20).map(|k| format!("const c{k} = d{k}; ")).collect();
    let values: String = (0..size / 8).map(|k| format!(", v{k}")).collect();
    let chain: String = (0..size / 32).map(|k| format!("L{k}: goto L{}; ", k + 1)).collect();
    let nonsense = [
        many("("),
        many("{"),
        many("}"),
        many("1+"),
        many("é"),
        many("é "),
        many("/*"),
        many("x"),
        many("x "),
        many("thread t { "),
        many("thread t { } "),
        many("global x; "),
        constants,
        in_thread(&many("(")),
        in_thread(&many("r = r + (")),
        in_thread(&format!("r = {}", many("r+("))),
        in_thread(&format!("r = {}1;", many("r & 1 == "))),
        in_thread(&format!("r = {}1;", many("300 + "))),
        in_thread(&format!("r = {}r;", many("!-"))),
        in_thread(&format!("r = {}r{};", "(".repeat(size / 4), "+ 1) * 2".repeat(size / 4))),
        in_thread(&many("r = 300;")),
        in_thread(&many("q = 1;")),
        in_thread(&many("if (r) goto L;")),
        in_thread(&many("L: ")),
        in_thread(&many("skip;")),
        in_thread(&many("\" ")),
        in_thread(&format!("wait(x{values});")),
        in_thread(&unknown),
        in_thread(&labels),
        in_thread(&chain),
        in_thread(&format!("local {};", many("r, "))),
    ];
    for text in nonsense {
        survive(&text);
    }
}

#[test]
fn files_beyond_the_limit_fail_at_once() {
    let found = parse_bytes("test.fp", &vec![b'x'; 50_000_000]).expect_err("too large");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, codes::LIMIT);
    assert_eq!(found[0].message, "the file is too large: 50000000 bytes, the limit is 4 MiB");
    assert!(parse("test.fp", &"x".repeat(MAX_BYTES + 1)).is_err());
}
