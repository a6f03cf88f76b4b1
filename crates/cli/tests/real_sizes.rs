//! C programs whose plain accesses share some of their bytes: each byte is what was written to it last, and races where
//! it is accessed in no order.

use std::process::Command;

const HEAD: &str = "#include <pthread.h>\n#include <string.h>\n#include <assert.h>\n#include <stdint.h>\n#include <stdatomic.h>\n\
    static unsigned char b[16]; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    #define GO pthread_t t; pthread_create(&t, 0, f, 0);\n#define END pthread_join(t, 0);\n\
    #define LOCK pthread_mutex_lock(&m);\n#define UNLOCK pthread_mutex_unlock(&m);\n";

const ALL: &str = "robustness holds, races holds, assertions holds";

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
            "void *f(void *x) { LOCK b[0]++; memcpy(b + 3, b, 5); UNLOCK return 0; }\n\
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
}
