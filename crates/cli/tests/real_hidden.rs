//! Addresses that programs keep in disguise: whatever is computed from an address, by instructions, by atomic updates, or byte by
//! byte, the block is still there when the address is computed back, and its address may come back once it was freed.
//!
//! Each encoding is judged by three programs, in both directions. Each of them fails if the rule of `vm::disguise` for its
//! operation is left out.

mod c_program;

use c_program::{check_text, no_clang};

const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdint.h>\n\
    #include <stdlib.h>\n#include <string.h>\ntypedef uint64_t u;\nstatic char base[64];\nstatic atomic_int x;\n\
    static atomic_uintptr_t cell, seen;\nstatic unsigned char bytes[8];\n\
    static struct __attribute__((packed)) { uint32_t t; u p; } one, two;\nstatic u a, b, c;\n\
    static u inverse(u n, u p) { u r = 1; for (u e = p - 2; e; e >>= 1, n = n * n % p) if (e & 1) r = r * n % p; return r; }\n";

const THREADS: &str = "int main(void) { pthread_t a, b; pthread_create(&a, 0, other, 0); pthread_create(&b, 0, keeper, 0); \
    pthread_join(a, 0); pthread_join(b, 0); }\n";

/// The block is reached by its hidden address alone while others run.
fn kept(value: &str) -> String {
    format!(
        "static u make(void) {{ int *p = calloc(1, sizeof *p); *p = 5; return hide((u)p); }}\n\
         static void *other(void *unused) {{ x = 1; return 0; }}\n\
         static void *keeper(void *unused) {{ u hidden = make(); int seen = x; int *p = (int *)find(hidden); \
         assert(*p == {value}); free(p); return 0; }}\n"
    )
}

/// The address of a block that was freed comes back with the next one, and is known in disguise only.
const COMES_BACK: &str = "static void *other(void *unused) { u s = seen, t = seen; return 0; }\n\
    static void *keeper(void *unused) { int *p = malloc(sizeof *p); seen = (u)p; seen = 0; u hidden = hide((u)p); \
    free(p); p = 0; int *q = malloc(sizeof *q); assert((u)q != find(hidden)); free(q); return 0; }\n";

fn judge(cases: &[(&str, &str, &str)]) {
    if no_clang() {
        return;
    }
    for (name, hide, find) in cases {
        let encoding =
            format!("static u hide(u p) {{ {hide} }}\nstatic u find(u h) {{ {find} }}\n");
        for (program, verdict) in [
            (kept("5"), "assertions holds"),
            (kept("seen"), "assertions violated"),
            (COMES_BACK.to_string(), "assertions violated"),
        ] {
            let text = format!("{HEAD}{encoding}{program}{THREADS}");
            let said = check_text("program.c", &text, &[]);
            assert!(
                said.verdicts.contains(&verdict.to_string()),
                "{name}: no `{verdict}` of\n{text}\n{}",
                said.all
            );
        }
    }
}

#[test]
fn what_instructions_compute() {
    judge(&[
        ("sum", "return p + p;", "return h / 2;"),
        (
            "rotation",
            "return __builtin_rotateleft64(p, 13);",
            "return __builtin_rotateright64(h, 13);",
        ),
        ("product", "return p * 3;", "return h / 3;"),
        ("checked_product", "u r; __builtin_mul_overflow(p, 5, &r); return r;", "return h / 5;"),
        (
            "checked_difference",
            "u r; __builtin_sub_overflow(p, 0x300000000, &r); return r;",
            "return h + 0x300000000;",
        ),
        // Both operands mention the block, and nothing cancels out.
        (
            "with_itself_further_up",
            "return (p << 16) ^ p;",
            "u r = 0; for (int i = 0; i < 3; i++) r |= (h ^ (r << 16)) & (0xffffull << 16 * i); return r;",
        ),
        ("so_many_times_less_one", "return (p << 8) - p;", "return h / 255;"),
        ("halves", "return (u)(uint32_t)p << 32 | p >> 32;", "return h << 32 | h >> 32;"),
        (
            "number_with_a_point",
            "double d = (double)p; u r; memcpy(&r, &d, 8); return r;",
            "double d; memcpy(&d, &h, 8); return (u)d;",
        ),
        (
            "wide",
            "unsigned __int128 w = (unsigned __int128)p << 20; one.p = (u)w; one.t = (uint32_t)(w >> 64); return 0;",
            "unsigned __int128 w = (unsigned __int128)one.t << 64 | one.p; return (u)(w >> 20);",
        ),
        ("element", "return (u)((char *)p + 0x123400000000);", "return h - 0x123400000000;"),
        (
            "quotient_and_rest",
            "return (p % 4096) << 50 | p / 4096;",
            "return (h & ((1ull << 50) - 1)) * 4096 + (h >> 50);",
        ),
        // The address is computed back by the Chinese remainder theorem.
        (
            "rests",
            "a = p % 65537; b = p % 65539; c = p % 65543; return 0;",
            "u x = (b + 65539 - a % 65539) % 65539 * inverse(65537, 65539) % 65539; \
             u y = ((c + 65543 - a % 65543) % 65543 * inverse(65537, 65543) % 65543 + 65543 - x % 65543) % 65543 \
             * inverse(65539, 65543) % 65543; return a + 65537 * x + 65537ull * 65539 * y;",
        ),
        // What is left out is 0 in all addresses of so small a program.
        ("fewer_bits", "return (uint32_t)p >> 4;", "return h << 4;"),
    ]);
}

#[test]
fn what_atomic_updates_leave_in_memory() {
    judge(&[
        (
            "xor",
            "cell = p; atomic_fetch_xor(&cell, 0xdeadbeefcafe1234u); return 0;",
            "return cell ^ 0xdeadbeefcafe1234u;",
        ),
        (
            "sub",
            "cell = p; atomic_fetch_sub(&cell, 0x123456789abcu); return 0;",
            "return cell + 0x123456789abcu;",
        ),
        ("add", "cell = p; atomic_fetch_add(&cell, p); return 0;", "return cell / 2;"),
        ("nand", "cell = p; __atomic_fetch_nand((u *)&cell, ~0ul, 5); return 0;", "return ~cell;"),
        (
            "or",
            "cell = p; atomic_fetch_or(&cell, 1ull << 40); return 0;",
            "return cell & ~(1ull << 40);",
        ),
        (
            "and",
            "cell = p; atomic_fetch_and(&cell, 0x5555555555555555); return p & 0xaaaaaaaaaaaaaaaa;",
            "return cell | h;",
        ),
        (
            "operand_of_xor",
            "cell = 0x123456789; atomic_fetch_xor(&cell, p); return 0;",
            "return cell ^ 0x123456789;",
        ),
        ("operand_of_sub", "cell = 0; atomic_fetch_sub(&cell, p); return 0;", "return -cell;"),
        ("exchange", "atomic_exchange(&cell, ~p); return 0;", "return ~atomic_exchange(&cell, 0);"),
        (
            "compare_exchange",
            "cell = p; u e = p; atomic_compare_exchange_strong(&cell, &e, ~p); return 0;",
            "return ~cell;",
        ),
    ]);
}

#[test]
fn what_is_left_of_addresses_in_bytes() {
    judge(&[
        (
            "backwards",
            "for (int i = 0; i < 8; i++) bytes[i] = ((unsigned char *)&p)[7 - i]; return 0;",
            "u r; for (int i = 0; i < 8; i++) ((unsigned char *)&r)[i] = bytes[7 - i]; return r;",
        ),
        (
            "partly_overwritten",
            "memcpy(bytes, &p, 8); uint16_t t = 0x777; memcpy(bytes, &t, 2); return (uint16_t)p;",
            "u r; memcpy(&r, bytes, 8); return (r & ~0xffffull) | h;",
        ),
        (
            "halves_exchanged",
            "memcpy(bytes, (char *)&p + 4, 4); memcpy(bytes + 4, &p, 4); return 0;",
            "u r; memcpy((char *)&r + 4, bytes, 4); memcpy(&r, bytes + 4, 4); return r;",
        ),
        (
            "packed",
            "one.t = 5; one.p = p; memcpy(bytes, &one, 8); return 0;",
            "memcpy(&two, &one, 4); memcpy(&two, bytes, 8); memcpy((char *)&two + 8, (char *)&one + 8, 4); return two.p;",
        ),
        (
            "across_two_words",
            "char b[16]; memset(b, 0, 16); memcpy(b + 4, &p, 8); u v; memcpy(&v, b, 8); uint32_t w; memcpy(&w, b + 8, 4); \
             bytes[0] = w >> 24; return v;",
            "return h >> 32;",
        ),
    ]);
}

/// Rust's arithmetic is checked, and its products and differences are as good a disguise. Catches those that are not asked about.
#[test]
fn what_checked_arithmetic_computes() {
    if c_program::no_rustc() {
        return;
    }
    let program = |hide: &str, find: &str| {
        format!(
            "use std::sync::atomic::{{AtomicUsize, Ordering::SeqCst}};\nstatic X: AtomicUsize = AtomicUsize::new(0);\n\
             fn hide(p: usize) -> usize {{ {hide} }}\nfn find(h: usize) -> usize {{ {find} }}\n\
             fn main() {{ let w = std::thread::spawn(|| {{ X.load(SeqCst); X.load(SeqCst); }});\n\
             let t = std::thread::spawn(|| {{ let p = Box::into_raw(Box::new(5u32)); X.store(p as usize, SeqCst); X.store(0, SeqCst); let h = hide(p as usize);\n\
             drop(unsafe {{ Box::from_raw(p) }}); let q = Box::into_raw(Box::new(6u32)); assert!(q as usize != find(h)); }}); w.join().unwrap(); t.join().unwrap(); }}\n"
        )
    };
    for (hide, find) in
        [("p * 5", "h / 5"), ("usize::MAX - p", "usize::MAX - h"), ("p + p", "h / 2")]
    {
        let said = check_text("program.rs", &program(hide, find), &[]);
        let verdict = "assertions violated".to_string();
        assert!(said.verdicts.contains(&verdict), "{hide}: {}", said.all);
    }
}
