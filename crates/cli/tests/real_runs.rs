//! Programs in C whose answers depend on how far they are run: through stale reads, for a number of rounds, until a limit,
//! for ever.

mod c_program;

use c_program::{check, check_text, no_clang};
use std::path::Path;
use std::process::Command;

/// Local states that only weak memory leads to are followed through fences, choices and weak compare-and-exchange:
/// the reader sees the flag and not the data, and goes on from there.
#[test]
fn threads_are_followed_where_only_weak_memory_leads() {
    if no_clang() {
        return;
    }
    let program = |between: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdbool.h>\n\
             bool __VERIFIER_nondet_bool(void);\n\
             static atomic_int data, flag, other;\n\
             static void *writer(void *p) {{\n\
               atomic_store_explicit(&data, 1, memory_order_relaxed);\n\
               atomic_store_explicit(&flag, 1, memory_order_relaxed);\n  return 0;\n}}\n\
             int main(void) {{\n  pthread_t w;\n  pthread_create(&w, 0, writer, 0);\n\
               int f = atomic_load_explicit(&flag, memory_order_relaxed);\n\
               int d = atomic_load_explicit(&data, memory_order_relaxed);\n\
               if (f == 1 && d == 0) {{\n    {between}\n\
                 assert(atomic_load_explicit(&other, memory_order_relaxed) == 1);\n  }}\n\
               pthread_join(w, 0);\n}}\n"
        )
    };
    for between in [
        "",
        "atomic_thread_fence(memory_order_seq_cst);",
        "if (__VERIFIER_nondet_bool()) atomic_load(&flag);",
        "int e = 0; while (!atomic_compare_exchange_weak(&other, &e, 0)) ;",
    ] {
        let said = check_text("t.c", &program(between), &["--require", "safe"]);
        assert!(
            said.verdicts.contains(&"assertions violated".to_string()),
            "{between}: {}",
            said.all
        );
        assert_eq!(said.code, Some(1), "{between}: {}", said.all);
    }
}

/// Catches a bound that is forgotten in the answer, cuts off what only waits, or hides what is within it.
#[test]
fn loops_are_bounded_on_request() {
    if no_clang() {
        return;
    }
    let text = |body: &str| {
        format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
             atomic_uint tickets; atomic_int go;\n\
             void *run(void *unused) {{\n  while (!atomic_load(&go)) ;\n{body}  return 0;\n}}\n\
             int main(void) {{\n  pthread_t a;\n  pthread_create(&a, 0, run, 0);\n\
             \x20 atomic_store(&go, 1);\n  pthread_join(a, 0);\n}}\n"
        )
    };
    let endless = text("  for (;;) atomic_fetch_add(&tickets, 1);\n");
    let said = check_text("endless.c", &endless, &["--unroll", "3"]);
    assert_eq!(said.code, Some(3), "{}", said.all);
    assert!(said.all.contains("it holds up to 3 rounds of each loop"), "{}", said.all);
    assert!(!said.verdicts.iter().any(|verdict| verdict.ends_with("holds")), "{}", said.all);
    // What is wrong in the third round is found in three and not in two.
    let third = text("  for (int i = 0;; i++) assert(i < 3);\n");
    let said = check_text("third.c", &third, &["--unroll", "2"]);
    assert_eq!(said.code, Some(3), "{}", said.all);
    let said = check_text("third.c", &third, &["--unroll", "3"]);
    assert_eq!(said.code, Some(1), "{}", said.all);
    let alone = "int main(void) {\n  volatile int i;\n  for (i = 0; i < 9; i++) ;\n}\n";
    let said = check_text("alone.c", alone, &["--unroll", "4"]);
    assert_eq!(said.code, Some(3), "{}", said.all);
    // Nothing is cut off where loops only wait or end earlier: the answer is exact.
    let short = text("  for (int i = 0; i < 2; i++) atomic_fetch_add(&tickets, 1);\n");
    let said = check_text("short.c", &short, &["--unroll", "2"]);
    assert_eq!(said.code, Some(0), "{}", said.all);
    // Nor where a loop that waits reads memory that is freed later, or leaves something behind each time round.
    for left_behind in ["", "odd = !odd"] {
        let heap = format!(
            "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
             static atomic_int *flag;\nstatic int data;\n\
             void *raise(void *unused) {{\n  data = 1;\n\
             \x20 atomic_store_explicit(flag, 1, memory_order_release);\n  return 0;\n}}\n\
             void *wait(void *unused) {{\n  int odd = 0;\n\
             \x20 while (!atomic_load_explicit(flag, memory_order_acquire)) {left_behind};\n\
             \x20 free(flag);\n  return (void *)(long)(data + odd);\n}}\n\
             int main(void) {{\n  pthread_t a, b;\n  flag = malloc(sizeof *flag);\n  *flag = 0;\n\
             \x20 pthread_create(&a, 0, raise, 0);\n  pthread_create(&b, 0, wait, 0);\n\
             \x20 pthread_join(a, 0);\n  pthread_join(b, 0);\n}}\n"
        );
        let said = check_text("heap.c", &heap, &["--unroll", "2"]);
        assert_eq!(said.code, Some(0), "{}", said.all);
    }
}

/// Catches limits that nobody looks at while a thread runs by itself.
#[test]
fn limits_are_kept_while_nothing_is_shared() {
    if no_clang() {
        return;
    }
    let text = "int main(void) {\n  volatile unsigned long i;\n  for (i = 1; i; i++) ;\n}\n";
    let said = check_text("busy.c", text, &["--limit-time", "100ms"]);
    assert_eq!(said.code, Some(3), "{}", said.all);
    assert!(said.all.contains("undecided: the limit on time was reached"), "{}", said.all);
}

/// Catches volatile accesses that count as atomic without being asked to, or do not when asked.
#[test]
fn volatile_is_atomic_on_request_only() {
    if no_clang() {
        return;
    }
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
                int data; volatile int flag;\n\
                void *send(void *unused) {\n  data = 1;\n\
                \x20 atomic_thread_fence(memory_order_release);\n  flag = 1;\n  return 0;\n}\n\
                int main(void) {\n  pthread_t a;\n  pthread_create(&a, 0, send, 0);\n\
                \x20 while (!flag) ;\n  FENCE\n  assert(data == 1);\n  pthread_join(a, 0);\n}\n";
    let fenced = text.replace("FENCE", "atomic_thread_fence(memory_order_acquire);");
    let said = check_text("plain.c", &fenced, &[]);
    assert!(said.verdicts.contains(&"races violated".to_string()), "{}", said.all);
    let said = check_text("atomic.c", &fenced, &["--volatile-atomic"]);
    assert_eq!(said.code, Some(0), "{}", said.all);
    // As relaxed as any other.
    let said = check_text("bare.c", &text.replace("FENCE", ";"), &["--volatile-atomic"]);
    assert!(said.verdicts.contains(&"races violated".to_string()), "{}", said.all);
}

/// Threads of C programs that wait or spin for ever, and those that do not: a flag that nobody raises, which the code of
/// its thread never gets past; a lock that is kept; two threads of which each leaves it to the other, which only weak
/// memory shows.
#[test]
fn threads_that_wait_for_ever_are_reported() {
    if no_clang() {
        return;
    }
    let head = "#include <pthread.h>\n#include <stdatomic.h>\n";
    let flag = |raised: &str| {
        format!(
            "{head}static atomic_int flag, other;\n\
             static void *waiter(void *p) {{\n\
               while (!atomic_load_explicit(&flag, memory_order_acquire))\n    ;\n  return 0;\n}}\n\
             int main(void) {{\n  pthread_t t;\n  pthread_create(&t, 0, waiter, 0);\n\
               atomic_store_explicit(&{raised}, 1, memory_order_release);\n\
               pthread_join(t, 0);\n}}\n"
        )
    };
    let lock = |release: &str| {
        format!(
            "{head}static atomic_flag taken = ATOMIC_FLAG_INIT;\nstatic int n;\n\
             static void *user(void *p) {{\n\
               while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))\n    ;\n\
               n++;\n  {release}\n  return 0;\n}}\n\
             int main(void) {{\n  pthread_t t, u;\n  pthread_create(&t, 0, user, 0);\n\
               pthread_create(&u, 0, user, 0);\n  pthread_join(t, 0);\n  pthread_join(u, 0);\n}}\n"
        )
    };
    let clear = "atomic_flag_clear_explicit(&taken, memory_order_release);";
    let either = |order: &str| {
        format!(
            "{head}static atomic_int x, y, go;\n\
             static void *first(void *p) {{\n  atomic_store_explicit(&x, 1, {order});\n\
               if (atomic_load_explicit(&y, {order}))\n    atomic_store(&go, 1);\n  return 0;\n}}\n\
             int main(void) {{\n  pthread_t t;\n  pthread_create(&t, 0, first, 0);\n\
               atomic_store_explicit(&y, 1, {order});\n\
               if (atomic_load_explicit(&x, {order}))\n    atomic_store(&go, 1);\n\
               while (!atomic_load(&go))\n    ;\n  pthread_join(t, 0);\n}}\n"
        )
    };
    let condition = format!(
        "{head}static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
         static void *waiter(void *p) {{\n  pthread_mutex_lock(&m);\n  pthread_cond_wait(&c, &m);\n\
           pthread_mutex_unlock(&m);\n  return 0;\n}}\n\
         int main(void) {{\n  pthread_t t;\n  pthread_create(&t, 0, waiter, 0);\n\
           pthread_cond_signal(&c);\n  pthread_join(t, 0);\n}}\n"
    );
    let alone = |waits: &str| {
        format!(
            "{head}static atomic_int x;\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             int main(void) {{\n  {waits}\n}}\n"
        )
    };
    for (text, answer) in [
        // Nobody else is there, and the program has no memory that is shared.
        (alone("while (!x)\n    ;"), "liveness violated"),
        (alone("pthread_mutex_lock(&m);\n  pthread_mutex_lock(&m);"), "liveness violated"),
        // A condition variable may wake up at any time: that nobody signals it is not noticed, and is not said to hold.
        (condition, "liveness undecided"),
        (flag("flag"), "liveness holds"),
        (flag("other"), "liveness violated"),
        (lock(clear), "liveness holds"),
        (lock(&format!("if (n < 2) {clear}")), "liveness holds"),
        (lock(&format!("if (n < 1) {clear}")), "liveness violated"),
        (either("memory_order_seq_cst"), "liveness holds"),
        (either("memory_order_relaxed"), "liveness violated"),
    ] {
        let said = check_text("t.c", &text, &["--liveness"]);
        assert!(said.verdicts.iter().any(|v| v == answer), "{text}: no {answer} in\n{}", said.all);
    }
}

/// The programs of corpus/seq-cst that are correct with `seq_cst` alone are so in C, too.
#[test]
fn programs_with_nothing_but_seq_cst_hold_in_c() {
    if no_clang() {
        return;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/seq-cst");
    let folder = tempfile::tempdir().expect("a folder");
    let mut held = 0;
    for entry in std::fs::read_dir(corpus).expect("a corpus") {
        let file = entry.expect("a program").path();
        let text = std::fs::read_to_string(&file).expect("a readable program");
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
        let is_weaker = ["rlx", "acq", "rel"].iter().any(|mode| code.contains(mode));
        if is_weaker || !text.contains("expect rc11 robustness: holds") {
            continue;
        }
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let exported = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .args(["export", "--to", "c"])
            .arg(&file)
            .output()
            .expect("the binary runs");
        assert!(exported.status.success(), "{name}");
        let c = folder.path().join(format!("{name}.c"));
        std::fs::write(&c, exported.stdout).expect("a file");
        for checked in [file.display().to_string(), c.display().to_string()] {
            let said = check(&[&checked]);
            assert!(said.verdicts.iter().any(|v| v == "robustness holds"), "{}", said.all);
            assert_eq!(said.code, Some(0), "{}", said.all);
        }
        held += 1;
    }
    assert!(held >= 13, "{held}");
}
