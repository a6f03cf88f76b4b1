//! What each construct of the language means, shown as the program it becomes. The printed form has
//! labels and gotos only, so every arrow of the control flow is visible.

use fencepost_lang::{Severity, Source, parse, parse_bytes};
use insta::assert_snapshot;
use ir::{Instr, Pc, ReadMode, WriteMode};

fn good(text: &str) -> Source {
    parse("test.fp", text).unwrap_or_else(|diagnostics| {
        let all: Vec<String> =
            diagnostics.iter().map(|one| one.render("test.fp", text, false)).collect();
        panic!("{}", all.concat())
    })
}

/// The program, without the lines that all of these tests share.
fn lowered(text: &str) -> String {
    let source = good(text);
    assert_eq!(source.warnings, [], "warnings have tests of their own");
    ir::print::program(&source.program)
}

/// The body of a thread with locals `r`, `s` and locations `x`, `y`, `a[3]`, `n`, `l`.
fn body(text: &str) -> String {
    let text = format!("global x, y, a[3], l; na n; thread t {{ local r, s; {text} }}");
    let printed = lowered(&text);
    let (_, body) = printed.split_once("local r, s;\n").expect("the thread has these locals");
    body.strip_suffix("}\n").unwrap_or(body).to_string()
}

#[test]
fn accesses_and_their_default_modes() {
    assert_snapshot!(body("r = x.load(); r = x.load(acq); r = x.load(sc); r = x.load(pacq);"), @r"
    r = x.load(rlx);
    r = x.load(acq);
    r = x.load(sc);
    r = x.load(pacq);
    ");
    assert_snapshot!(body("x.store(1); x.store(r+1, rel); x.store(0, seq_cst); x.store(1, prel);"), @r"
    x.store(1, rlx);
    x.store(r + 1, rel);
    x.store(0, sc);
    x.store(1, prel);
    ");
    assert_snapshot!(body("n.nastore(r); r = n.naload();"), @r"
    n.nastore(r);
    r = n.naload();
    ");
}

#[test]
fn read_modify_writes() {
    assert_snapshot!(body("FADD(x, 1); r = FADD(x, s, acq, rel); FADD(x, -1); FADD(x, -r, rlx, rel);
        FADD(x, 1 - 3); FADD(x, - -r);"), @r"
    FADD(x, 1, rlx, rlx);
    r = FADD(x, s, acq, rel);
    FADD(x, -1, rlx, rlx);
    FADD(x, -r, rlx, rel);
    FADD(x, -2, rlx, rlx);
    FADD(x, --r, rlx, rlx);
    ");
    assert_snapshot!(body("CAS(x, 0, 1); r = CAS(x, 0, s, acq, rel); r = CAS(x, 0, 1, acq, rel, rlx);
        exchange(x, 2); r = exchange(x, 2, acq, rlx);"), @r"
    CAS(x, 0, 1, rlx, rlx);
    r = CAS(x, 0, s, acq, rel);
    r = CAS(x, 0, 1, acq, rel, rlx);
    exchange(x, 2, rlx, rlx);
    r = exchange(x, 2, acq, rlx);
    ");
    assert_snapshot!(body("BCAS(x, 0, 1); BCAS(x, r, s, acq, rel); lock(l); unlock(l);"), @r"
    BCAS(x, 0, 1, rlx, rlx);
    BCAS(x, r, s, acq, rel);
    BCAS(l, 0, 1, acq, rlx);
    l.store(0, rel);
    ");
    assert_snapshot!(body("wait(x, 1); r = wait(x, 1, s, acq); wait (y, r+1, rlx);"), @r"
    wait(x, 1, rlx);
    r = wait(x, 1, s, acq);
    wait(y, r + 1, rlx);
    ");
}

#[test]
fn all_of_cs_read_modify_writes() {
    assert_snapshot!(body("fetch_add(x, 1); r = fetch_sub(x, r, acq, rel); fetch_and(x, 3);
        r = fetch_or(x, s, acq, rel); fetch_xor(x, 1); fetch_nand(a[r], 1); fetch_max(x, r);
        r = fetch_min(x, 1, rlx, rel);"), @r"
    FADD(x, 1, rlx, rlx);
    r = FADD(x, -r, acq, rel);
    fetch_and(x, 3, rlx, rlx);
    r = fetch_or(x, s, acq, rel);
    fetch_xor(x, 1, rlx, rlx);
    fetch_nand(a[r], 1, rlx, rlx);
    fetch_max(x, r, rlx, rlx);
    r = fetch_min(x, 1, rlx, rel);
    ");
}

/// The expected value is kept where the value read overwrites it.
#[test]
fn a_weak_cas_is_a_choice() {
    assert_snapshot!(body("r, s = weak_CAS(x, 0, 1, acq, rel, rlx);"), @r"
      oneof({ goto L1; } { goto L3; });
    L1:
      s = CAS(x, 0, 1, acq, rel, rlx);
      r = 0 == s;
      goto L5;
    L3:
      s = x.load(rlx);
      r = 0;
    L5:
      skip;
    ");
    assert_snapshot!(lowered("global x; thread t { local ok, r; ok, r = weak_CAS(x, r, r + 1); }"), @r"
    max_value 255;
    global x;

    thread t {
      local ok, r, expected;
      expected = r;
      oneof({ goto L2; } { goto L4; });
    L2:
      r = CAS(x, r, r + 1, rlx, rlx);
      ok = expected == r;
      goto L6;
    L4:
      r = x.load(rlx);
      ok = 0;
    L6:
      skip;
    }
    ");
    assert_snapshot!(lowered("global x; thread t { weak_CAS(x, 0, 1, acq, rel); }"), @r"
    max_value 255;
    global x;

    thread t {
      local read;
      oneof({ goto L1; } { goto L2; });
    L1:
      read = CAS(x, 0, 1, acq, rel);
      goto L3;
    L2:
      read = x.load(acq);
    L3:
      skip;
    }
    ");
}

#[test]
fn loops_with_exits() {
    assert_snapshot!(body("while (r) { if (s) { break; } if (r == 2) { continue; } s = 1; } s = 2;"), @r"
    L0:
      if (r) goto L2;
    L1:
      s = 2;
      goto L5;
    L2:
      if (s) goto L1;
      if (r == 2) goto L0;
      s = 1;
      goto L0;
    L5:
      skip;
    ");
    assert_snapshot!(body("do { if (s) { continue; } r = r + 1; } while (r < 3); s = 2;"), @r"
    L0:
      if (s) goto L2;
      r = r + 1;
    L2:
      if (r < 3) goto L0;
      s = 2;
    ");
    assert_snapshot!(body("for (r = 0; r < 3; r = r + 1) { if (s) { continue; } x.store(r); }"), @r"
      r = 0;
    L1:
      if (r < 3) goto L2;
      goto L5;
    L2:
      if (s) goto L4;
      x.store(r, rlx);
    L4:
      r = r + 1;
      goto L1;
    L5:
      skip;
    ");
    assert_snapshot!(body("for (;;) { r = x.load(); if (r) { break; } }"), @r"
    L0:
      r = x.load(rlx);
      if (r) goto L2;
      goto L0;
    L2:
      skip;
    ");
}

/// Registers of calls that are over are used again; those of callers are not.
#[test]
fn procedures_are_inlined() {
    assert_snapshot!(lowered("global x;
        proc twice(n) { local m; m = plus(n, n); return m; }
        proc plus(a, b) { return a + b; }
        proc publish(v) { if (v == 0) { return; } x.store(v, rel); }
        thread t { local r; r = x.load(); r = twice(r); publish(r); }"), @r"
    max_value 255;
    global x;

    thread t {
      local r, n, m, a, b;
      r = x.load(rlx);
      n = r;
      m = 0;
      a = n;
      b = n;
      m = a + b;
      r = m;
      n = r;
      if (n == 0) goto L10;
      x.store(n, rel);
    L10:
      skip;
    }
    ");
}

#[test]
fn spawned_threads_wait_for_it() {
    assert_snapshot!(lowered("global x;
        thread main { local i; for (i = 0; i < 2; i = i + 1) { spawn w[i]; } join w[0]; join w[1]; }
        thread w[2] { x.store(w); }"), @r"
    max_value 255;
    global x;
    global spawn_w[2];

    thread main {
      local i, spawned;
      i = 0;
    L1:
      if (i < 2) goto L4;
      wait(spawn_w[0], 2, acq);
      wait(spawn_w[1], 2, acq);
      goto L8;
    L4:
      spawned = spawn_w[i].load(rlx);
      assert(spawned == 0);
      spawn_w[i].store(1, rel);
      i = i + 1;
      goto L1;
    L8:
      skip;
    }

    thread w_0 {
      wait(spawn_w[0], 1, acq);
      x.store(0, rlx);
      spawn_w[0].store(2, rel);
    }

    thread w_1 {
      wait(spawn_w[1], 1, acq);
      x.store(1, rlx);
      spawn_w[1].store(2, rel);
    }
    ");
    let spawned =
        good("thread main { spawn t; } thread t { skip; } thread u { skip; }").program.spawned;
    assert_eq!(spawned, [ir::Tid(1)]);
}

/// Catches literals and arithmetic that are cut to 32 bits, and ranges that are not printed back.
#[test]
fn values_have_up_to_64_bits_and_a_sign() {
    assert_snapshot!(lowered("values -0x8000000000000000..=0x7fffffffffffffff;
        global x = -1, y = 0x123456789abcdef0;
        thread t { local r; r = x.load(); y.store(r * -9223372036854775808); }"), @r"
    values -9223372036854775808..=9223372036854775807;
    global x = -1;
    global y = 1311768467463790320;

    thread t {
      local r;
      r = x.load(rlx);
      y.store(r * -9223372036854775808, rlx);
    }
    ");
}

#[test]
fn fences() {
    assert_snapshot!(body("fence; fence(acq); fence(rel); fence(acq_rel); fence(seq_cst); fence(sc);
        fence(upd); fence(x); fence(x, y, a[r]);"), @r"
    fence(seq_cst);
    fence(acq);
    fence(rel);
    fence(acq_rel);
    fence(seq_cst);
    fence(seq_cst);
    fence(upd);
    fence(x);
    fence(x, y, a[r]);
    ");
}

#[test]
fn conditions_and_loops() {
    assert_snapshot!(body("if (r) { s = 1; } else { s = 2; } r = 0;"), @r"
      if (r) goto L3;
      s = 2;
    L2:
      r = 0;
      goto L4;
    L3:
      s = 1;
      goto L2;
    L4:
      skip;
    ");
    assert_snapshot!(body("if (r) { s = 1; } else if (s) { s = 2; } else { s = 3; }"), @r"
      if (r) goto L4;
      if (s) goto L3;
      s = 3;
      goto L5;
    L3:
      s = 2;
      goto L5;
    L4:
      s = 1;
    L5:
      skip;
    ");
    assert_snapshot!(body("while (r < 3) { r = r + 1; } x.store(r);"), @r"
    L0:
      if (r < 3) goto L2;
      x.store(r, rlx);
      goto L3;
    L2:
      r = r + 1;
      goto L0;
    L3:
      skip;
    ");
    assert_snapshot!(body("while (true) { r = x.load(); }"), @r"
    L0:
      r = x.load(rlx);
      goto L0;
    ");
}

#[test]
fn gotos_and_labels() {
    assert_snapshot!(body("again: r = x.load(); if (r == 0) goto again; if r != 1 goto end; s = 1; end: skip;"), @r"
    L0:
      r = x.load(rlx);
      if (r == 0) goto L0;
      if (r != 1) goto L4;
      s = 1;
    L4:
      skip;
    ");
    assert_snapshot!(body("L: goto L;"), @r"
    L0:
      skip;
      goto L0;
    ");
    assert_snapshot!(body("goto a; b: s = 1; goto c; a: r = 1; goto b; c:"), @r"
    r = 1;
    s = 1;
    ");
}

#[test]
fn choices() {
    assert_snapshot!(body("oneof({ r = 1; } { r = 2; } { }); x.store(r);"), @r"
      oneof({ goto L1; } { goto L3; } { goto L2; });
    L1:
      r = 1;
    L2:
      x.store(r, rlx);
      goto L4;
    L3:
      r = 2;
      goto L2;
    L4:
      skip;
    ");
    assert_snapshot!(body("r = oneof(0, s + 1); x.store(r);"), @r"
      oneof({ goto L1; } { goto L3; });
    L1:
      r = 0;
    L2:
      x.store(r, rlx);
      goto L4;
    L3:
      r = s + 1;
      goto L2;
    L4:
      skip;
    ");
}

#[test]
fn checks() {
    assert_snapshot!(body("assert(r == 1); assume(r != 2); verify(r); verify(1);"), @r"
    assert(r == 1);
    assume(r != 2);
    verify(r);
    ");
    let source = good("global x; thread t { local r; r = x.load(); verify(r); }");
    let verify = &source.program.threads[0].code[1];
    let after = Pc(2);
    assert!(matches!(&verify.instr, Instr::Jump { targets, .. } if *targets == [after]));
    assert_eq!(verify.next, after);
}

#[test]
fn transactions() {
    assert_snapshot!(body("atomic { r = x.load(); if (r) { y.store(1); } } atomic begin; x.store(1); atomic end;
        bus_lock; bus_unlock;"), @r"
      atomic begin;
      r = x.load(rlx);
      if (r) goto L9;
    L3:
      atomic end;
      atomic begin;
      x.store(1, rlx);
      atomic end;
      bus_lock;
      bus_unlock;
      goto L10;
    L9:
      y.store(1, rlx);
      goto L3;
    L10:
      skip;
    ");
}

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
