//! What each statement of the language means, shown as the program it becomes. The printed form has
//! labels and gotos only, so every arrow of the control flow is visible.

mod lowered;

use insta::assert_snapshot;
use ir::{Instr, Pc};
use lowered::{body, good, lowered};

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
