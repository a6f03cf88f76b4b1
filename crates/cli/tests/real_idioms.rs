//! C and C++ programs with what real code does beside accessing memory: assembly that hides values from the compiler, and
//! thread-local objects with destructors.

use std::process::Command;

const ALL: &str = "robustness holds, races holds, assertions holds";

fn check_all(cases: &[(&str, &str, &str)]) {
    check_with(&[], cases);
}

fn check_with(options: &[&str], cases: &[(&str, &str, &str)]) {
    if Command::new("clang").arg("--version").output().is_err() {
        eprintln!("skipped: no clang");
        return;
    }
    for (name, text, answers) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::write(&file, format!("{text}\n")).expect("a file");
        let fencepost = env!("CARGO_BIN_EXE_fencepost");
        let mut command = Command::new(fencepost);
        let output = command.arg("check").arg(&file).args(options).output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
        for answer in answers.split(", ") {
            assert!(said.contains(answer), "{name}: no `{answer}` in\n{said}");
        }
    }
}

/// Catches values that are lost in assembly that leaves them as they are, and assembly that is taken for less than it is.
#[test]
fn assembly_that_does_nothing_passes_values_on() {
    check_all(&[
        (
            "hidden.c",
            "#include <pthread.h>\n#include <assert.h>\n#include <stdatomic.h>\natomic_int x;\n\
             void *f(void *p) { int v = 3; __asm__(\"\" : \"+r\"(v)); atomic_store(&x, v); return 0; }\n\
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); assert(x == 3); }",
            "robustness holds, assertions holds",
        ),
        (
            "two.c",
            "#include <assert.h>\nint main(void) { long a = 1, b = 2, c, d; __asm__ volatile(\"\" : \"=r\"(c), \"=r\"(d) : \"0\"(b), \"1\"(a) : \"memory\");\n\
             assert(c == 2 && d == 1); }",
            "assertions holds",
        ),
        (
            "nothing.c",
            "#include <assert.h>\nint main(void) { int a; __asm__(\"\" : \"=r\"(a)); assert(a == 0); }",
            "assertions violated",
        ),
        (
            "other.c",
            "int main(void) { __asm__ volatile(\"lfence\"); }",
            "inline assembly: `lfence`",
        ),
    ]);
}

/// Destructors of thread-local objects run when their thread ends, and its result outlives them. Catches destructors that are
/// left out, with the races that they have, and results that are lost.
#[test]
fn thread_local_objects_are_destroyed() {
    let head = "#include <thread>\n#include <atomic>\n#include <cassert>\n#include <pthread.h>\n\
                int x; struct T { int *p = nullptr; int by = 1; ~T() { if (p) *p = *p * 10 + by; } };\n\
                thread_local T t;\n";
    let cases = [
        (
            "joined.cc",
            "int main() { std::thread a([]{ t.p = &x; }); a.join(); assert(x == 1); }",
            ALL,
        ),
        (
            "early.cc",
            "int main() { std::thread a([]{ t.p = &x; }); int r = x; a.join(); return r; }",
            "races violated",
        ),
        // The latest first.
        (
            "order.cc",
            "thread_local T u; int main() { std::thread a([]{ t.p = &x; u.by = 2; u.p = &x; }); a.join(); assert(x == 21 || x == 12); }",
            ALL,
        ),
        (
            "result.cc",
            "void *f(void *a) { t.p = &x; void *b = a; if (x == 1) pthread_exit(b); return b; }\n\
             int main() { pthread_t a; void *r; for (long k = 6; k < 8; k++) { pthread_create(&a, 0, f, (void *)k); pthread_join(a, &r); assert(r == (void *)k); } assert(x == 11); }",
            ALL,
        ),
        // Before what is destroyed at the end of the program.
        (
            "main.cc",
            "struct S { ~S() { assert(x == 1); } }; int main() { t.p = &x; static S s; }",
            "assertions holds",
        ),
    ];
    let cases = cases.map(|(name, text, answers)| (name, format!("{head}{text}"), answers));
    let cases: Vec<_> = cases.iter().map(|(name, text, all)| (*name, &**text, *all)).collect();
    check_all(&cases);
}

/// Catches a reader of a message that is told that something grows, and not what to do.
#[test]
fn what_grows_without_bound_comes_with_advice() {
    let head = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdint.h>\n";
    let unroll = "grows without bound, `--unroll N` lets every loop go round at most N times";
    let ticket = format!(
        "{head}struct {{ atomic_uint next, serving; }} l;\nvoid *f(void *a) {{ for (;;) {{\n\
         unsigned t = atomic_fetch_add_explicit(&l.next, 1, memory_order_relaxed);\n\
         while (atomic_load_explicit(&l.serving, memory_order_acquire) != t);\n\
         atomic_store_explicit(&l.serving, t + 1, memory_order_release); }} }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); f(0); }}"
    );
    let tag = format!(
        "{head}_Atomic uint64_t top;\nvoid *f(void *a) {{ for (;;) {{ uint64_t o = top;\n\
         while (!atomic_compare_exchange_weak(&top, &o, ((o >> 32) + 1) << 32 | !(o & 1))); }} }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); f(0); }}"
    );
    check_all(&[
        ("ticket.c", &ticket, &format!("`l.next` {unroll}, ticket.c:6:")),
        ("tag.c", &tag, &format!("`top` {unroll}, tag.c:6:")),
    ]);
}

/// Robustness against store buffers is decided on what interleavings reach. Catches threads that are followed with whatever
/// others may have written, where a count behind a lock has no end, and violations that are lost with what they are not
/// followed to.
#[test]
fn counts_behind_locks_are_finite_on_machines_with_buffers() {
    let head = "#include <pthread.h>\n#include <assert.h>\n#include <stdatomic.h>\nint x; atomic_int l, want[2];\n\
        #define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)\n#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)\n\
        #define MAIN(f, g) int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); pthread_join(t, 0); pthread_join(u, 0); assert(x == 2); }\n";
    let spin = format!(
        "{head}void *f(void *a) {{ while (atomic_exchange(&l, 1)); x++; atomic_store_explicit(&l, 0, memory_order_release); return 0; }}\nMAIN(f, f)"
    );
    // Each waits for the other to step back; the one that comes second counts, too.
    let flags = |fence: &str| {
        format!(
            "{head}void *f(void *a) {{ STORE(want[0], 1); {fence} while (LOAD(want[1])); x++; STORE(want[0], 0); return 0; }}\n\
             void *g(void *a) {{ for (;;) {{ STORE(want[1], 1); {fence} if (!LOAD(want[0])) break; STORE(want[1], 0); while (LOAD(want[0])); }}\n\
             x++; STORE(want[1], 0); return 0; }}\nMAIN(f, g)"
        )
    };
    let (bare, fenced) = (flags(""), flags("atomic_thread_fence(memory_order_seq_cst);"));
    let holds = "robustness holds, assertions holds";
    check_with(
        &["--model", "tso"],
        &[
            ("spin.c", &spin, holds),
            ("fenced.c", &fenced, holds),
            ("bare.c", &bare, "robustness violated"),
        ],
    );
    let early = spin.replace("memory_order_release", "memory_order_relaxed");
    check_with(
        &["--model", "pso"],
        &[
            ("spin.c", &spin, holds),
            ("early.c", &early, "robustness violated"),
            ("bare.c", &bare, "robustness violated"),
        ],
    );
}
