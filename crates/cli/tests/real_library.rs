//! What the C library promises, and what it does not: programs that rely on the one or the other, with the answers that the
//! standards give.

mod c_program;

use c_program::{check_text, no_clang};

const HEAD: &str = "#define _GNU_SOURCE\n#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n\
    #include <semaphore.h>\n#include <stdatomic.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\
    #include <threads.h>\n#include <time.h>\n#include <unistd.h>\n";

const HOLDS: &str = "robustness holds, assertions holds";

fn judge(cases: &[(&str, &str, &str)]) {
    if no_clang() {
        return;
    }
    for (name, text, answers) in cases {
        let said = check_text("program.c", &format!("{HEAD}{text}\n"), &[]);
        for answer in answers.split(", ") {
            assert!(
                said.verdicts.contains(&answer.to_string()) || said.all.contains(answer),
                "{name}: no `{answer}` in\n{}",
                said.all
            );
        }
    }
}

const ONE: &str =
    "int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); pthread_join(a, 0); }";

fn two(first: &str) -> String {
    format!(
        "int main(void) {{ {first} pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0); \
         pthread_join(a, 0); pthread_join(b, 0); }}"
    )
}

fn typed(kind: &str, then: &str) -> String {
    format!(
        "int main(void) {{ pthread_mutexattr_t t; pthread_mutexattr_init(&t); pthread_mutexattr_settype(&t, {kind}); \
         pthread_mutex_init(&m, &t); pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0); \
         pthread_join(a, 0); pthread_join(b, 0); {then} }}"
    )
}

/// Catches kinds of mutexes that are taken for others.
#[test]
fn mutexes_have_kinds() {
    let counts = "pthread_mutex_t m; int x; void *run(void *u) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); x++; \
                  pthread_mutex_unlock(&m); x++; pthread_mutex_unlock(&m); return 0; }\n";
    let outside = "pthread_mutex_t m; int x; void *run(void *u) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); \
                   pthread_mutex_unlock(&m); pthread_mutex_unlock(&m); x++; return 0; }\n";
    let between = "pthread_mutex_t m; int x; void *run(void *u) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); \
                   pthread_mutex_unlock(&m); x++; pthread_mutex_unlock(&m); return 0; }\n";
    let recursive =
        |text: &str, then: &str| format!("{text}{}", typed("PTHREAD_MUTEX_RECURSIVE", then));
    let foreign = "pthread_mutex_t m; void *run(void *u) { assert(pthread_mutex_unlock(&m) == 0); return 0; }\n";
    let foreign = format!("{foreign}{}", typed("PTHREAD_MUTEX_ERRORCHECK", ""));
    let late = "pthread_mutex_t m; atomic_int ready; int x;\n\
                void *run(void *u) { while (!ready); pthread_mutex_lock(&m); pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); pthread_mutex_unlock(&m); return 0; }\n\
                int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); pthread_mutexattr_t t; pthread_mutexattr_init(&t); pthread_mutexattr_settype(&t, PTHREAD_MUTEX_RECURSIVE);\n\
                pthread_mutex_init(&m, &t); ready = 1; pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); pthread_join(a, 0); assert(x == 2); }";
    judge(&[
        ("counts", &recursive(counts, "assert(x == 4);"), HOLDS),
        ("still_held", &recursive(between, "assert(x == 2);"), HOLDS),
        ("given_back", &recursive(outside, ""), "races violated"),
        ("initialised_late", late, "races holds, assertions holds"),
        (
            "tried_again",
            &format!(
                "pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; void *run(void *u) {{ pthread_mutex_trylock(&m); assert(pthread_mutex_trylock(&m) != 0); return 0; }}\n{ONE}"
            ),
            "assertions violated",
        ),
        (
            "checked",
            &format!(
                "pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; void *run(void *u) {{ pthread_mutex_lock(&m); assert(pthread_mutex_lock(&m) != EDEADLK); return 0; }}\n{ONE}"
            ),
            "assertions violated",
        ),
        (
            "plain",
            &format!(
                "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; void *run(void *u) {{ pthread_mutex_lock(&m); pthread_mutex_lock(&m); assert(0); return 0; }}\n{ONE}"
            ),
            "can wait here forever, assertions holds",
        ),
        ("not_ones_own", &foreign, "assertions violated"),
        (
            "c11",
            "mtx_t m; int x; int run(void *u) { mtx_lock(&m); mtx_lock(&m); x++; mtx_unlock(&m); x++; mtx_unlock(&m); return 0; }\n\
             int main(void) { mtx_init(&m, mtx_plain | mtx_recursive); thrd_t a, b; thrd_create(&a, run, 0); thrd_create(&b, run, 0); thrd_join(a, 0); thrd_join(b, 0); assert(x == 4); }",
            HOLDS,
        ),
    ]);
}

/// Catches failures that programs are not told of, or not why.
#[test]
fn functions_fail() {
    judge(&[
        (
            "too_late",
            &format!(
                "sem_t s; void *run(void *u) {{ sem_init(&s, 0, 1); struct timespec t = {{0, 0}}; if (sem_timedwait(&s, &t) == -1) assert(errno != ETIMEDOUT); return 0; }}\n{ONE}"
            ),
            "assertions violated",
        ),
        (
            "nothing_there",
            &format!(
                "sem_t s; void *run(void *u) {{ sem_init(&s, 0, 0); if (sem_trywait(&s) == -1) assert(errno != EAGAIN); return 0; }}\n{ONE}"
            ),
            "assertions violated",
        ),
        (
            "before_main",
            "__attribute__((constructor)) static void first(void) { errno = EAGAIN; }\n\
             int main(void) { assert(errno != EAGAIN); }",
            "assertions violated",
        ),
        ("written", "#include <stdio.h>\nint main(void) { assert(putchar('x') == 'x'); }", HOLDS),
        (
            "assumed",
            "int x; int main(void) { x = 1; __builtin_assume(x == 1); __builtin_assume(x == 2); }",
            "assertions violated, assume what is not so",
        ),
        (
            "enough_for_two",
            &format!(
                "sem_t s; void *run(void *u) {{ assert(sem_trywait(&s) == 0); return 0; }}\n{}",
                two("sem_init(&s, 0, 2);")
            ),
            HOLDS,
        ),
        (
            "enough_for_one",
            &format!(
                "sem_t s; void *run(void *u) {{ assert(sem_trywait(&s) == 0); return 0; }}\n{}",
                two("sem_init(&s, 0, 1);")
            ),
            "assertions violated",
        ),
        (
            "readers_share",
            &format!(
                "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; void *run(void *u) {{ assert(pthread_rwlock_tryrdlock(&l) == 0); pthread_rwlock_unlock(&l); return 0; }}\n{}",
                two("")
            ),
            HOLDS,
        ),
        (
            "writers_do_not",
            &format!(
                "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; void *run(void *u) {{ assert(pthread_rwlock_trywrlock(&l) == 0); pthread_rwlock_unlock(&l); return 0; }}\n{}",
                two("")
            ),
            "assertions violated",
        ),
        (
            "for_no_reason",
            "mtx_t m; int run(void *u) { assert(mtx_trylock(&m) == thrd_success); return 0; }\n\
             int main(void) { mtx_init(&m, mtx_plain); thrd_t a; thrd_create(&a, run, 0); thrd_join(a, 0); }",
            "assertions violated",
        ),
        (
            "not_for_no_reason",
            &format!(
                "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; void *run(void *u) {{ assert(pthread_mutex_trylock(&m) == 0); return 0; }}\n{ONE}"
            ),
            "assertions holds",
        ),
        (
            "bytes_overlap",
            &format!("char b[16]; void *run(void *u) {{ memcpy(b + 1, b, 8); return 0; }}\n{ONE}"),
            "bytes that overlap, assertions violated",
        ),
        (
            "bytes_move",
            &format!(
                "char b[16]; void *run(void *u) {{ b[0] = 1; memmove(b + 1, b, 8); assert(b[1] == 1); memcpy(b, b + 8, 8); memcpy(b, b, 8); return 0; }}\n{ONE}"
            ),
            "assertions holds",
        ),
    ]);
}

/// Catches what is still used after its end, and what is not called at its end.
#[test]
fn things_end() {
    judge(&[
        (
            "signal_after",
            "pthread_cond_t c = PTHREAD_COND_INITIALIZER; void *run(void *u) { pthread_cond_signal(&c); return 0; }\n\
             int main(void) { pthread_t a; pthread_cond_destroy(&c); pthread_create(&a, 0, run, 0); pthread_join(a, 0); }",
            "is used that was never initialised, or is destroyed",
        ),
        (
            "signal_beside",
            "pthread_cond_t c = PTHREAD_COND_INITIALIZER; void *run(void *u) { pthread_cond_signal(&c); return 0; }\n\
             int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); pthread_cond_destroy(&c); pthread_join(a, 0); }",
            "races violated",
        ),
        (
            "signal_before",
            "pthread_cond_t c = PTHREAD_COND_INITIALIZER; void *run(void *u) { pthread_cond_signal(&c); return 0; }\n\
             int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); pthread_join(a, 0); pthread_cond_destroy(&c); pthread_cond_init(&c, 0); pthread_cond_signal(&c); }",
            "assertions holds",
        ),
        (
            "values_of_threads",
            "pthread_key_t k; int x; void gone(void *p) { *(int *)p = 1; }\n\
             void *run(void *u) { pthread_setspecific(k, &x); return 0; }\n\
             int main(void) { pthread_key_create(&k, gone); pthread_t a; pthread_create(&a, 0, run, 0); pthread_join(a, 0); assert(x == 0); }",
            "assertions violated",
        ),
        (
            "values_of_two_threads",
            "pthread_key_t k; int x; void gone(void *p) { x++; }\n\
             void *run(void *u) { pthread_setspecific(k, &x); return 0; }\n\
             int main(void) { pthread_key_create(&k, gone); pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0); pthread_join(a, 0); pthread_join(b, 0); }",
            "races violated",
        ),
        (
            "no_value_no_destructor",
            "pthread_key_t k; int x; void gone(void *p) { assert(p && x == 0); x = 1; }\n\
             void *run(void *u) { pthread_setspecific(k, &x); if (u) pthread_setspecific(k, 0); pthread_exit(0); }\n\
             int main(void) { pthread_key_create(&k, gone); pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, &x); pthread_join(a, 0); pthread_join(b, 0); assert(x == 1); }",
            HOLDS,
        ),
        (
            "what_is_written_out",
            "char buf[4]; void *run(void *u) { write(1, buf, 4); return 0; }\n\
             int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); buf[1] = 1; pthread_join(a, 0); }",
            "races violated",
        ),
        (
            "all_of_it_is_written",
            &format!(
                "char buf[4]; void *run(void *u) {{ int n = 4; while (n > 0) n -= write(1, buf, n); return 0; }}\n{ONE}"
            ),
            "assertions holds",
        ),
    ]);
}

/// Catches addresses that never come back, and those that do when they must not.
#[test]
fn addresses_come_back() {
    let two =
        "int main(void) { pthread_t a; pthread_create(&a, 0, run, 0); y = 1; pthread_join(a, 0); }";
    judge(&[
        (
            "ones_own",
            &format!(
                "atomic_int y; void *run(void *u) {{ char *p = malloc(16); uintptr_t o = (uintptr_t)p; free(p); int s = y; char *q = malloc(16); assert((uintptr_t)q != o); free(q); return 0; }}\n{two}"
            ),
            "assertions violated",
        ),
        (
            "while_it_is_there",
            &format!(
                "atomic_int y; void *run(void *u) {{ char *p = malloc(16); int s = y; char *q = malloc(16); assert(p != q); free(q); free(p); return 0; }}\n{two}"
            ),
            "assertions holds",
        ),
        (
            "what_was_there",
            &format!(
                "atomic_int y; void *run(void *u) {{ int *p = malloc(4), *o = p; *p = 7; free(p); int s = y; int *q = malloc(4); if (q == o) assert(*q == 7); free(q); return 0; }}\n{two}"
            ),
            "assertions violated",
        ),
        (
            "smaller",
            &format!(
                "atomic_int y; void *run(void *u) {{ char *p = malloc(16); uintptr_t o = (uintptr_t)p; int s = y; char *q = realloc(p, 8); assert((uintptr_t)q != o); free(q); return 0; }}\n{two}"
            ),
            "assertions violated",
        ),
        (
            "moved",
            &format!(
                "atomic_int y; void *run(void *u) {{ char *p = malloc(16); *p = 1; int s = y; char *q = realloc(p, 8); assert(*q == 1); assert(*p == 1); free(q); return 0; }}\n{two}"
            ),
            "after it was freed",
        ),
    ]);
}

/// Catches destructors of keys that were deleted, that never end, or that always run in the same order.
#[test]
fn values_for_keys_are_destroyed() {
    let keys = "pthread_key_t k, l; int x, n; void *run(void *);\n";
    let one = |made: &str, then: &str| {
        format!(
            "int main(void) {{ {made} pthread_t a; pthread_create(&a, 0, run, 0); pthread_join(a, 0); {then} }}"
        )
    };
    let cases = [
        (
            "deleted",
            format!(
                "void gone(void *p) {{ n++; }}\nvoid *run(void *u) {{ pthread_setspecific(k, &x); pthread_key_delete(k); return 0; }}\n{}",
                one("pthread_key_create(&k, gone);", "assert(n == 0);")
            ),
            HOLDS,
        ),
        (
            "deleted_beside",
            "void gone(void *p) { n = 1; }\n\
             atomic_int set; void *early(void *u) { pthread_setspecific(k, &x); set = 1; return 0; }\n\
             int main(void) { pthread_key_create(&k, gone); pthread_t a; pthread_create(&a, 0, early, 0); while (!set); pthread_key_delete(k); pthread_join(a, 0); assert(n == 0); }"
                .to_string(),
            "assertions violated",
        ),
        (
            "deleted_beside_in_time",
            "void gone(void *p) { n = 1; }\n\
             atomic_int set; void *early(void *u) { pthread_setspecific(k, &x); set = 1; return 0; }\n\
             int main(void) { pthread_key_create(&k, gone); pthread_t a; pthread_create(&a, 0, early, 0); while (!set); pthread_key_delete(k); pthread_join(a, 0); assert(n == 1); }"
                .to_string(),
            "assertions violated",
        ),
        (
            "used_after_it_was_deleted",
            format!(
                "void *run(void *u) {{ pthread_key_delete(k); pthread_getspecific(k); return 0; }}\n{}",
                one("pthread_key_create(&k, 0);", "")
            ),
            "by a key that was deleted",
        ),
        (
            "set_again",
            format!(
                "void gone(void *p) {{ n++; pthread_setspecific(k, p); }}\nvoid *run(void *u) {{ pthread_setspecific(k, &x); return 0; }}\n{}",
                one("pthread_key_create(&k, gone);", "assert(n == 4);")
            ),
            HOLDS,
        ),
        (
            "in_turns",
            format!(
                "void gone(void *p) {{ n++; pthread_setspecific(l, p); }}\nvoid left(void *p) {{ n += 10; if (n < 30) pthread_setspecific(k, p); }}\n\
                 void *run(void *u) {{ pthread_setspecific(k, &x); return 0; }}\n{}",
                one("pthread_key_create(&k, gone); pthread_key_create(&l, left);", "assert(n == 22);")
            ),
            HOLDS,
        ),
        (
            "in_one_order",
            format!(
                "void gone(void *p) {{ n = n * 10 + 1; }}\nvoid left(void *p) {{ n = n * 10 + 2; }}\n\
                 void *run(void *u) {{ pthread_setspecific(k, &x); pthread_setspecific(l, &x); return 0; }}\n{}",
                one("pthread_key_create(&k, gone); pthread_key_create(&l, left);", "assert(n == 12);")
            ),
            "assertions violated",
        ),
        (
            "in_the_other_order",
            format!(
                "void gone(void *p) {{ n = n * 10 + 1; }}\nvoid left(void *p) {{ n = n * 10 + 2; }}\n\
                 void *run(void *u) {{ pthread_setspecific(k, &x); pthread_setspecific(l, &x); pthread_exit(0); }}\n{}",
                one("pthread_key_create(&k, gone); pthread_key_create(&l, left);", "assert(n == 21);")
            ),
            "assertions violated",
        ),
        (
            "in_any_order",
            format!(
                "void gone(void *p) {{ n = n * 10 + 1; }}\nvoid left(void *p) {{ n = n * 10 + 2; }}\n\
                 void *run(void *u) {{ pthread_setspecific(k, &x); pthread_setspecific(l, &x); return 0; }}\n{}",
                one("pthread_key_create(&k, gone); pthread_key_create(&l, left);", "assert(n == 21 || n == 12);")
            ),
            HOLDS,
        ),
    ];
    let cases = cases.map(|(name, text, answers)| (name, format!("{keys}{text}"), answers));
    let cases: Vec<_> = cases.iter().map(|(name, text, all)| (*name, &**text, *all)).collect();
    judge(&cases);
}

/// Catches a loop that starts threads for ever and is followed until a limit is reached.
#[test]
fn there_are_32_threads_at_most() {
    if no_clang() {
        return;
    }
    let text = format!(
        "{HEAD}static void *other(void *unused) {{ return 0; }}\n\
         int main(void) {{ pthread_t t; for (;;) pthread_create(&t, 0, other, 0); }}\n"
    );
    let said = check_text("program.c", &text, &[]);
    assert!(said.all.contains("more than 32 threads"), "{}", said.all);
}
