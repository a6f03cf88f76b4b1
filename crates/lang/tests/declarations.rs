//! What declarations, names and expressions of the language mean, and where each instruction came from.

mod lowered;

use fencepost_lang::{Severity, parse_bytes};
use insta::assert_snapshot;
use ir::{Instr, ReadMode, WriteMode};
use lowered::{body, good, lowered};

#[test]
fn constants_arrays_and_initial_values() {
    assert_snapshot!(
        lowered("max_value 7; const N = 2 * 3 - 1; atomic a[N] = N, x = N - 4; na b[2] = {1, 7};
            thread t { local r; r = a[N - 1].load(); x.store(N); assert(r == (N + 3) % N); }"),
        @r"
    max_value 7;
    global a[5] = 5;
    global x = 1;
    na b[2] = {1, 7};

    thread t {
      local r;
      r = a[4].load(rlx);
      x.store(5, rlx);
      assert(r == 3);
    }
    ");
}

#[test]
fn declarations_may_follow_their_uses() {
    assert_snapshot!(
        lowered("fn t { local r; r = x.load(); } max_value 3; global x;"), @r"
    max_value 3;
    global x;

    thread t {
      local r;
      r = x.load(rlx);
    }
    ");
}

#[test]
fn replicas() {
    assert_snapshot!(
        lowered("global a[2]; thread t[2] { a[t].store(1); if (t == 1) { a[0].store(2); } }
            thread u[3] { a[0].store(1); }"),
        @r"
    max_value 255;
    global a[2];

    thread t_0 {
      a[0].store(1, rlx);
    }

    thread t_1 {
      a[1].store(1, rlx);
      a[0].store(2, rlx);
    }

    thread u[3] {
      a[0].store(1, rlx);
    }
    ");
    let source = good("thread t[2] { skip; } fn u { }");
    let names: Vec<String> = source.program.threads.iter().map(|t| t.display_name()).collect();
    assert_eq!(names, ["t[0]", "t[1]", "u"]);
    assert_eq!(source.program.threads[0].code, source.program.threads[1].code);
}

/// Keywords are names wherever that is not ambiguous: TPL programs use them so.
#[test]
fn contextual_keywords() {
    assert_snapshot!(
        lowered("global wait, fence, thread, lock[2], const, client, space;
            fn fn { local local, goto, oneof, CAS, acq;
              if: wait.store(1); fence.store(goto); lock[1].store(2); goto = CAS; oneof = oneof + 1;
              while: local = wait.load(acq); wait(wait, goto); CAS = CAS(const, local, acq);
              if (goto) goto while; goto if; }
            thread thread { local start, end, true_; end: start = thread.load(); fence(thread);
              if start goto end; }"),
        @r"
    max_value 255;
    global wait;
    global fence;
    global thread;
    global lock[2];
    global const;
    global client;
    global space;

    thread fn {
      local local, goto, oneof, CAS, acq;
    L0:
      wait.store(1, rlx);
      fence.store(goto, rlx);
      lock[1].store(2, rlx);
      goto = CAS;
      oneof = oneof + 1;
    L5:
      local = wait.load(acq);
      wait(wait, goto, rlx);
      CAS = CAS(const, local, acq, rlx, rlx);
      if (goto) goto L5;
      goto L0;
    }

    thread thread {
      local start, end, true_;
    L0:
      start = thread.load(rlx);
      fence(thread);
      if (start) goto L0;
    }
    ");
}

#[test]
fn expressions_have_the_precedence_of_c() {
    let cases = [
        ("r + s * 2 - 1", "r + s * 2 - 1"),
        ("(r + s) * 2", "(r + s) * 2"),
        ("r - s - 1", "r - s - 1"),
        ("r - (s - 1)", "r - (s - 1)"),
        ("r || s && r | s ^ r & (s == r)", "r || s && r | s ^ r & (s == r)"),
        ("((r)) < s + 1", "r < s + 1"),
        ("!r == s", "!r == s"),
        ("-r * 2 % s / 3", "-r * 2 % s / 3"),
        ("+r", "r"),
        ("r == true", "r == 1"),
        ("r * (2 + 3) + false", "r * 5 + 0"),
    ];
    for (text, printed) in cases {
        assert_eq!(body(&format!("r = {text};")), format!("  r = {printed};\n"), "{text}");
    }
}

/// Constants are exact until they become values.
#[test]
fn constant_arithmetic() {
    let text = "max_value 3; const N = 4; global x; thread t { local r;
        r = N - 1; r = (3 + N - 1) % N; x.store(7 / 2); r = (r + 1) % N; if (1 + 3) { r = 0; } }";
    assert_snapshot!(lowered(text), @r"
    max_value 3;
    global x;

    thread t {
      local r;
      r = 3;
      r = 2;
      x.store(3, rlx);
      r = r + 1;
      r = 0;
    }
    ");
}

#[test]
fn comments_spaces_and_tracks() {
    let text = "\u{feff}/* a \n * b */ global x; // c\r\n track x: 0, 1; track x: all;\tfn t{x.store(/**/1);}//end";
    let source = good(text);
    assert_eq!(source.tracks.len(), 2);
    assert_eq!(source.tracks[0].values, Some(vec![0, 1]));
    assert_eq!(source.tracks[1].values, None);
}

#[test]
fn every_instruction_knows_its_statement() {
    let text = "global x;\nthread t {\n  local r;\n\n  L: r = x.load( acq ) ;\n  if (r == 0) {\n    \
                oneof({ x.store(1); }{ skip; });\n  }\n  while (r) { lock(x); }\n  if (r) goto L;\n}\n";
    let source = good(text);
    let thread = &source.program.threads[0];
    let snippets: Vec<&str> =
        thread.code.iter().map(|step| source.snippet(source.span(step.origin))).collect();
    assert_eq!(
        snippets,
        [
            "r = x.load( acq )",
            "if (r == 0)",
            "while (r)",
            "if (r) goto L",
            "lock(x)",
            "oneof",
            "x.store(1)",
            "}",
        ]
    );
    let span = source.span(thread.code[0].origin);
    assert_eq!(source.line_column(span.start), (5, 6));
    assert_eq!(source.line_text(5), "  L: r = x.load( acq ) ;");
    assert_eq!(source.line_column(text.len()), (12, 1));
    assert_eq!(source.line_column(usize::MAX), (12, 1));
    assert_eq!((source.line_text(0), source.line_text(99)), ("", ""));
}

#[test]
fn columns_count_characters() {
    let source = good("global x; /* é世 */ thread t { x.store(1); }");
    let span = source.span(source.program.threads[0].code[0].origin);
    assert_eq!(source.line_column(span.start), (1, 31));
}

#[test]
fn modes_end_up_in_the_right_field() {
    let source = good("global x; thread t { CAS(x, 0, 1, acq, rel, sc); }");
    let Instr::Cas { read, write, fail, dst, .. } = &source.program.threads[0].code[0].instr else {
        panic!("a CAS");
    };
    assert_eq!((*read, *write, *fail), (ReadMode::Acq, WriteMode::Rel, ReadMode::Sc));
    assert_eq!(*dst, None);
}

/// `if (t == 0)` is dead code in all replicas but one, which is no reason for a warning.
#[test]
fn code_for_one_replica_is_not_dead() {
    let source = good("global x; thread t[2] { if (t == 0) { x.store(1); } else { x.store(2); } }");
    assert_eq!(source.warnings, []);
}

#[test]
fn an_index_by_replica_is_for_the_check_to_judge() {
    let source = good("global a[2]; thread t[3] { local r; if (r < 2) { a[t].store(1); } }");
    assert_eq!(source.program.threads.len(), 3);
}

#[test]
fn bytes_that_are_text() {
    assert!(parse_bytes("test.fp", b"thread t { }").is_ok());
    let errors = parse_bytes("test.fp", b"thread t { \xff }").expect_err("not UTF-8");
    assert!(errors.iter().all(|error| error.severity == Severity::Error));
}
