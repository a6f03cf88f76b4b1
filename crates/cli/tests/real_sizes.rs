//! C programs whose plain accesses share some of their bytes, or meet atomic ones: each byte is what was written to it last,
//! and races where it is accessed in no order.

use std::process::Command;

const HEAD: &str = "#include <pthread.h>\n#include <string.h>\n#include <assert.h>\n#include <stdint.h>\n#include <stdatomic.h>\n\
    static unsigned char b[16]; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    #define GO pthread_t t; pthread_create(&t, 0, f, 0);\n#define END pthread_join(t, 0);\n\
    #define LOCK pthread_mutex_lock(&m);\n#define UNLOCK pthread_mutex_unlock(&m);\n";

const ALL: &str = "robustness holds, races holds, assertions holds";

/// Catches races of plain with atomic accesses that are missed, and accesses that are ordered and said to race.
#[test]
fn plain_accesses_may_meet_atomic_ones() {
    if Command::new("clang").arg("--version").output().is_err() {
        eprintln!("skipped: no clang");
        return;
    }
    let load = "#define LOAD(o) __atomic_load_n(&x, __ATOMIC_##o)\n#define STORE(v, o) __atomic_store_n(&x, v, __ATOMIC_##o)\n\
        #define CAS(a, b, o) ({ int e = a; __atomic_compare_exchange_n(&x, &e, b, 0, __ATOMIC_##o, __ATOMIC_RELAXED); })\n\
        int x, y;\n";
    let cases = [
        // The loop is left by what orders the plain write, but it has read before.
        (
            "a loop that waits while a plain write comes",
            "void *f(void *p) { while (LOAD(ACQUIRE) != 7); return 0; }\nint main(void) { GO x = 5; STORE(7, RELEASE); END }",
            "races violated",
        ),
        // The plain write comes after the thread has come to its loop.
        (
            "a loop that waits already",
            "void *f(void *p) { __atomic_store_n(&y, 1, __ATOMIC_RELEASE); while (LOAD(ACQUIRE) != 7); return 0; }\n\
             int main(void) { GO while (!__atomic_load_n(&y, __ATOMIC_ACQUIRE)); x = 5; STORE(7, RELEASE); END }",
            "races violated",
        ),
        (
            "a loop behind the plain write",
            "void *f(void *p) { while (!__atomic_load_n(&y, __ATOMIC_ACQUIRE)); while (LOAD(ACQUIRE) != 7); return 0; }\n\
             int main(void) { GO x = 5; __atomic_store_n(&y, 1, __ATOMIC_RELEASE); STORE(7, RELEASE); END }",
            ALL,
        ),
        (
            "a load that acquires what was written plainly",
            "void *f(void *p) { if (LOAD(ACQUIRE) == 7) y = x; return 0; }\nint main(void) { x = 5; GO STORE(7, RELEASE); END }",
            ALL,
        ),
        // It takes what the plain read has seen only if it succeeds, and then it comes after the read.
        (
            "an exchange that succeeds after a plain read",
            "void *f(void *p) { CAS(1, 2, ACQUIRE); return 0; }\nint main(void) { GO y = x; STORE(1, RELEASE); END }",
            ALL,
        ),
        (
            "a lock that is taken after a plain read",
            "void *f(void *p) { while (!CAS(1, 2, ACQUIRE)); return 0; }\nint main(void) { GO y = x; STORE(1, RELEASE); END }",
            ALL,
        ),
        (
            "an exchange that does not acquire",
            "void *f(void *p) { CAS(1, 2, RELAXED); return 0; }\nint main(void) { GO y = x; STORE(1, RELEASE); END }",
            "races violated",
        ),
        (
            "a lock that does not acquire",
            "void *f(void *p) { while (!CAS(1, 2, RELAXED)); return 0; }\nint main(void) { GO y = x; STORE(1, RELEASE); END }",
            "races violated",
        ),
        (
            "an exchange whose thread releases later",
            "void *f(void *p) { CAS(0, 2, ACQUIRE); __atomic_store_n(&y, 1, __ATOMIC_RELEASE); return 0; }\n\
             int main(void) { GO int r = 0; if (__atomic_load_n(&y, __ATOMIC_ACQUIRE)) r = x; END return r != 2 && r != 0; }",
            ALL,
        ),
        (
            "an exchange that publishes itself",
            "void *f(void *p) { CAS(0, 2, RELEASE); return 0; }\nint main(void) { GO if (LOAD(ACQUIRE) == 2) y = x; END }",
            ALL,
        ),
        (
            "an exchange that publishes nothing",
            "void *f(void *p) { CAS(0, 2, ACQUIRE); return 0; }\nint main(void) { GO if (LOAD(ACQUIRE) == 2) y = x; END }",
            "races violated",
        ),
        (
            "a plain write behind an exchange that fails",
            "void *f(void *p) { CAS(1, 2, ACQUIRE); return 0; }\nint main(void) { GO x = 3; END }",
            "races violated",
        ),
    ];
    for (name, text, answers) in cases {
        expect(name, &format!("{load}{text}"), answers);
    }
}

/// Catches bytes that are lost, or taken for others, where accesses of several sizes meet, and their races.
#[test]
fn plain_accesses_may_share_some_bytes() {
    if Command::new("clang").arg("--version").output().is_err() {
        eprintln!("skipped: no clang");
        return;
    }
    let cases = [
        (
            "no order",
            "void *f(void *x) { uint64_t v = 5; memcpy(b + 1, &v, 8); return 0; }\n\
             int main(void) { GO uint64_t v = 7; memcpy(b + 4, &v, 8); END }",
            "races violated",
        ),
        (
            "one byte of four",
            "void *f(void *x) { b[2] = 1; return 0; }\nint main(void) { GO *(uint32_t *)b = 7; END }",
            "races violated",
        ),
        (
            "bytes next to each other",
            "void *f(void *x) { b[2] = 1; return 0; }\n\
             int main(void) { GO *(uint16_t *)b = 7; b[3] = 1; END assert(*(uint32_t *)b == 0x1010007); }",
            ALL,
        ),
        (
            "one after the other",
            "void *f(void *x) { LOCK *(uint64_t *)(b + 1) = 0x0807060504030201; UNLOCK return 0; }\n\
             int main(void) { GO LOCK *(uint64_t *)(b + 4) = 0x1817161514131211; UNLOCK END\n\
             assert(b[1] == 1 && b[2] == 2); assert(b[11] == 0x18); assert(b[4] == 4 || b[4] == 0x11);\n\
             assert((b[4] == 4) == (b[8] == 8)); }",
            ALL,
        ),
        (
            "which comes last",
            "void *f(void *x) { LOCK *(uint64_t *)(b + 1) = 0x0807060504030201; UNLOCK return 0; }\n\
             int main(void) { GO LOCK *(uint32_t *)(b + 6) = 0; UNLOCK END assert(b[6] == 6); }",
            "races holds, assertions violated",
        ),
        (
            "copies of what overlaps",
            "void *f(void *x) { LOCK b[0]++; memmove(b + 3, b, 5); UNLOCK return 0; }\n\
             int main(void) { GO LOCK uint64_t v = *(uint64_t *)b; *(uint64_t *)(b + 8) = v; UNLOCK END\n\
             assert(b[0] == 1); assert(b[3] == 1); assert(b[11] == 0 || b[8] == 1); }",
            ALL,
        ),
        (
            "halves that are atomic",
            "union { uint64_t w; _Atomic uint32_t h[2]; } u; void *f(void *x) { atomic_store(&u.h[1], 1); return 0; }\n\
             int main(void) { u.w = 0; GO END assert(u.w == (uint64_t)1 << 32); }",
            ALL,
        ),
        (
            "a byte of an atomic",
            "_Atomic uint64_t a; void *f(void *x) { a = 1; return 0; }\n\
             int main(void) { GO unsigned char c = *((unsigned char *)&a + 3); END return c; }",
            "mixed-size accesses to `a`",
        ),
    ];
    for (name, text, answers) in cases {
        expect(name, text, answers);
    }
}

fn expect(name: &str, text: &str, answers: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.c");
    std::fs::write(&file, format!("{HEAD}{text}\n")).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("check")
        .arg(&file)
        .output()
        .expect("the binary runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
    for answer in answers.split(", ") {
        assert!(said.contains(answer), "{name}: no `{answer}` in\n{said}");
    }
}
