//! Programs in C, C++ and Rust, as users write them: `examples/real`, and small ones that are refused or go wrong.
//!
//! The first lines of an example say what it is checked with and what the answers are.

mod c_program;

use c_program::{check, check_text, no_clang, no_rustc};
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/real")
}

/// Catches an example whose answer is not what its first lines say, with or without its mistake.
#[test]
fn examples_give_the_answers_they_promise() {
    let (files, asked) = keep_their_promises(&examples());
    let expected = if no_clang() || no_rustc() { 0 } else { 70 };
    assert!(files >= 20 && asked >= expected, "{files} examples, {asked} answers");
}

/// Catches wrong answers to programs that were written to get them.
#[test]
fn attacks_give_the_answers_they_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/code");
    let (files, asked) = keep_their_promises(&folder);
    let expected = if no_clang() || no_rustc() { 0 } else { 90 };
    assert!(files >= 60 && asked >= expected, "{files} programs, {asked} answers");
}

/// Two states of a loop that differ in what is read later are not taken for one where a stale value tells them apart.
/// Catches states that are merged because no interleaving does.
#[test]
fn stale_values_tell_states_apart() {
    if no_clang() {
        return;
    }
    let text = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
        #define L(v) atomic_load_explicit(&v, memory_order_relaxed)\n\
        #define S(v, k) atomic_store_explicit(&v, k, memory_order_relaxed)\n\
        atomic_int x, y, c;\n\
        void *wr(void *p) {\n  if (L(c)) { S(y, 1); S(x, 1); S(x, 2); } else { S(x, 2); S(y, 1); }\n  return p;\n}\n\
        void *rd(void *p) {\n  int saw = 0, v;\n  S(c, 1);\n  while ((v = L(x)) != 2) if (v == 1) saw = 1;\n\
        \x20 if (L(y) == 0 && saw) abort();\n  return p;\n}\n\
        int main(void) {\n  pthread_t p, q;\n  pthread_create(&p, 0, wr, 0);\n  pthread_create(&q, 0, rd, 0);\n\
        \x20 pthread_join(p, 0);\n  pthread_join(q, 0);\n}\n";
    let said = check_text("apart.c", text, &["--observational"]);
    assert_eq!(said.code, Some(1), "{}", said.all);
}

/// Checks the programs in a folder; how many there are, and how many answers they promise.
fn keep_their_promises(folder: &Path) -> (usize, usize) {
    let (no_clang, no_rustc) = (no_clang(), no_rustc());
    let mut asked = 0;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("examples")
        .map(|entry| entry.expect("an example").path())
        .collect();
    files.sort();
    for file in &files {
        let is_rust = file.extension().is_some_and(|end| end == "rs");
        if is_rust && no_rustc || !is_rust && no_clang {
            continue;
        }
        let text = std::fs::read_to_string(file).expect("a readable example");
        for line in text.lines().filter_map(|line| line.strip_prefix("// fencepost")) {
            let (flags, promised) =
                line.split_once(": ").expect("`// fencepost [OPTIONS --] FLAGS: ANSWERS`");
            let name = file.display().to_string();
            let mut arguments = vec![&*name];
            let (options, flags) = flags.split_once("-- ").unwrap_or(("", flags));
            arguments.extend(options.split_whitespace());
            arguments.push("--");
            arguments.extend(flags.split_whitespace());
            let said = check(&arguments);
            for answer in promised.split(", ") {
                assert!(
                    said.verdicts.iter().any(|v| v == answer),
                    "{name}{flags}: no {answer} in\n{}",
                    said.all
                );
                asked += 1;
            }
        }
    }
    (files.len(), asked)
}

/// Locks that several may hold are waited for whichever value they have. Catches a thread that has made up its mind which
/// it will be, and so seems to wait for ever for a lock that is free.
#[test]
fn locks_that_are_shared_let_everybody_in() {
    if no_clang() {
        return;
    }
    let locks = |unlock: &str| {
        format!(
            "#include <pthread.h>\n\
             static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;\nstatic int number;\n\
             static void *reader(void *p) {{ pthread_rwlock_rdlock(&lock); int n = number; {unlock} return n ? p : 0; }}\n\
             static void *writer(void *p) {{ pthread_rwlock_wrlock(&lock); number++; pthread_rwlock_unlock(&lock); return p; }}\n\
             int main(void) {{ pthread_t a, b, c; pthread_create(&a, 0, reader, 0); pthread_create(&b, 0, reader, 0);\n\
             pthread_create(&c, 0, writer, 0); pthread_join(a, 0); pthread_join(b, 0); pthread_join(c, 0); }}\n"
        )
    };
    for (unlock, answer) in [("pthread_rwlock_unlock(&lock);", "holds"), ("", "violated")] {
        let said = check_text("shared.c", &locks(unlock), &["--liveness"]);
        let expected = format!("liveness {answer}");
        assert!(said.verdicts.contains(&expected), "no {expected} in\n{}", said.all);
    }
}

/// Catches code that is misunderstood instead of refused, and refusals that do not say what is wrong where.
#[test]
fn what_has_no_meaning_is_refused_with_its_place() {
    if no_clang() {
        return;
    }
    let threads = "#include <pthread.h>\n#include <stdatomic.h>\n";
    let cases = [
        ("no_main.c", "int x;", "there is no function `main`"),
        ("broken.c", "int main(void) { return }", "expected expression"),
        (
            "unknown.c",
            "int other(void);\nint main(void) { return other(); }",
            "`other` is not defined in these files",
        ),
        (
            "assembly.c",
            "int main(void) { __asm__ volatile(\"cpuid\"); }",
            "inline assembly: `cpuid`",
        ),
        (
            "recursion.c",
            "int f(int n) { return f(n + 1); }\nint main(void) { return f(0); }",
            "recursion without end",
        ),
        (
            "mixed.c",
            "_Atomic long x;\nvoid *f(void *p) { x = 1; return 0; }\n\
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return *(_Atomic int *)&x; }",
            "mixed-size",
        ),
        (
            "nondet.c",
            "int __VERIFIER_nondet_int(void);\nint main(void) { return __VERIFIER_nondet_int(); }",
            "--stub",
        ),
        (
            "exit.cc",
            "struct s { ~s() {} };\nint main() { s local; pthread_exit(nullptr); }",
            "`pthread_exit` where destructors",
        ),
    ];
    for (name, text, why) in cases {
        let threads = if name.ends_with("cc") { "#include <pthread.h>\n" } else { threads };
        let said = check_text(name, &format!("{threads}{text}"), &[]);
        assert_eq!(said.code, Some(2), "{name}: {}", said.all);
        assert!(said.all.contains(why), "{name}: no `{why}` in\n{}", said.all);
        assert!(said.all.contains(name), "{name}: {}", said.all);
    }
}

/// Catches variables that no file defines and that are taken to be 0 in silence, and warnings about the library's own.
#[test]
fn variables_of_other_files_are_named() {
    if no_clang() {
        return;
    }
    let text = "#include <iostream>\nextern int plain;\nnamespace other {\nextern int first;\n\
                struct part { static int second; };\n}\n\
                int main() {\n  std::cout << \"text\" << std::endl;\n\
                \x20 try { throw 1; } catch (int) {}\n\
                \x20 return plain + other::first + other::part::second;\n}\n";
    let said = check_text("extern.cc", text, &[]);
    let named = said.all.lines().filter(|line| line.contains("not defined in these files"));
    let named: Vec<&str> = named.filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(named, ["plain", "other::first", "other::part::second"], "{}", said.all);
}

/// Catches mistakes with memory that go unnoticed.
#[test]
fn mistakes_with_memory_are_found() {
    if no_clang() {
        return;
    }
    let cases = [
        ("int a[2]; int main(void) { int i = 2; return a[i]; }", "out of bounds"),
        ("int main(void) { int *p = 0; return *p; }", "null pointer"),
        ("int main(void) { int x; return x ? 1 : 2; }", "never written"),
        ("int main(void) { int *p = malloc(4); free(p); return *p; }", "after it was freed"),
        ("int main(void) { int *p = malloc(4); free(p); free(p); }", "after it was freed"),
        ("int main(void) { int x = 2147483647; return x + 1; }", "signed overflow"),
        ("int main(void) { int x = 0; return 1 / x; }", "division by zero"),
        (
            "int *f(void) { int x = 1; int *p = &x; return p; }\nint main(void) { return *f(); }",
            "after its block or function",
        ),
        ("int main(void) { abort(); }", "`abort` is called"),
    ];
    for (text, what) in cases {
        let said = check_text("mistake.c", &format!("#include <stdlib.h>\n{text}"), &[]);
        assert_eq!(said.code, Some(1), "{text}: {}", said.all);
        assert!(said.all.contains(what), "{text}: no `{what}` in\n{}", said.all);
    }
}

/// Catches locks and barriers that are used against their rules.
#[test]
fn misused_locks_are_found() {
    if no_clang() {
        return;
    }
    let head = "#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\npthread_barrier_t b;\n\
                pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;\npthread_t t;\nint x;\n\
                void *f(void *p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return 0; }\n\
                void *g(void *p) { pthread_mutex_unlock(&m); return 0; }\n\
                void *h(void *p) { pthread_mutex_lock(&m); return 0; }\n";
    let cases = [
        ("pthread_mutex_unlock(&m);", "that the thread does not hold"),
        ("pthread_mutex_lock(&m); pthread_create(&t, 0, g, 0);", "that the thread does not hold"),
        ("pthread_rwlock_unlock(&w);", "that the thread does not hold"),
        ("pthread_create(&t, 0, f, 0); pthread_mutex_destroy(&m);", "was destroyed"),
        ("pthread_create(&t, 0, f, 0); pthread_mutex_destroy(&m);", "while somebody holds it"),
        ("pthread_create(&t, 0, h, 0); pthread_join(t, 0); pthread_mutex_destroy(&m);", "holds it"),
        ("pthread_mutex_destroy(&m); pthread_mutex_destroy(&m);", "destroyed twice"),
        ("pthread_barrier_wait(&b);", "not initialised"),
        ("pthread_barrier_init(&b, 0, 1); pthread_barrier_init(&b, 0, 1);", "initialised twice"),
        (
            "pthread_barrier_init(&b, 0, 1); pthread_barrier_destroy(&b); pthread_barrier_wait(&b);",
            "not init",
        ),
    ];
    for (body, what) in cases {
        let text = format!("{head}int main(void) {{ {body} }}");
        let said = check_text("lock.c", &text, &["--all"]);
        assert_eq!(said.code, Some(1), "{body}: {}", said.all);
        assert!(said.all.contains(what), "{body}: no `{what}` in\n{}", said.all);
    }
    let right = "pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); pthread_mutex_destroy(&m);\n\
                 pthread_mutex_init(&m, 0); f(0); pthread_rwlock_rdlock(&w); pthread_rwlock_unlock(&w);";
    let said = check_text("lock.c", &format!("{head}int main(void) {{ {right} }}"), &[]);
    assert_eq!(said.code, Some(0), "{}", said.all);
}

/// Blocks that two threads allocate at one place are told apart. Catches `current: config → config`.
#[test]
fn blocks_are_told_apart_by_their_threads() {
    if no_clang() {
        return;
    }
    let file = examples().join("hazard_pointers.c").display().to_string();
    let said = check(&[&file, "--", "-DBROKEN"]);
    let expected = "current: config of main → config of thread 3";
    assert!(said.all.contains(expected), "{}", said.all);
}

/// Catches places in headers that are shown as places of the file that includes them, addresses shown as numbers, and
/// advice in another language than the user's.
#[test]
fn findings_are_in_the_users_words() {
    if no_clang() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let header = "#include <stdatomic.h>\nstruct node { int value; };\nstruct node first;\n\
                  struct node *_Atomic top;\n\
                  static void push(void) {\n  first.value = 1;\n\
                  \x20 atomic_store_explicit(&top, &first, memory_order_relaxed);\n}\n";
    let main = "#include \"stack.h\"\n#include <pthread.h>\nint got;\n\
                void *f(void *p) {\n  push();\n  return 0;\n}\n\
                int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, f, 0);\n\
                \x20 struct node *n = atomic_load_explicit(&top, memory_order_relaxed);\n\
                \x20 if (n) got = n->value;\n  pthread_join(t, 0);\n}\n";
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    at("stack.h", header);
    let said = check(&[&at("main.c", main).display().to_string()]);
    assert_eq!(said.code, Some(1), "{}", said.all);
    for part in [
        "main.c:12:",
        "stack.h:6:",
        "stack.h:7: atomic_store",
        "top = &first",
        "reads &first",
        "starts thread 1",
        "`memory_order_release`",
    ] {
        assert!(said.all.contains(part), "no `{part}` in\n{}", said.all);
    }
}

/// Catches a thread that allocates for ever, seen by nobody, and an answer that does not say where.
#[test]
fn memory_that_grows_without_bound_is_named() {
    if no_clang() {
        return;
    }
    let grows = "#include <stdlib.h>\n#include <pthread.h>\nstruct node { struct node *next; };\n\
                 void *f(void *p) { struct node *all = 0; for (;;) {\n struct node *one = malloc(8);\n one->next = all; all = one; } }\n";
    let mains = [
        "int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); pthread_join(a, 0); }\n",
        "int main(void) { f(0); }\n",
    ];
    for main in mains {
        let said = check_text("memory.c", &format!("{grows}{main}"), &["--limit-time", "2s"]);
        assert_eq!(said.code, Some(3), "{}", said.all);
        let at_loop = [4, 5, 6].iter().any(|line| said.all.contains(&format!("memory.c:{line}:")));
        assert!(at_loop && said.all.contains("does something grow without bound?"), "{}", said.all);
    }
}

/// Catches a counter without end that is followed without end, or given up on without saying which it is.
#[test]
fn a_value_that_grows_without_bound_is_named() {
    if no_clang() {
        return;
    }
    let text = "#include <pthread.h>\n#include <stdatomic.h>\nstruct { atomic_long next, owner; } lock;\n\
                void *f(void *p) { for (;;)\n  atomic_fetch_add(&lock.next, 1);\n}\n\
                int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); f(0); }\n";
    let said = check_text("grows.c", text, &[]);
    assert_eq!(said.code, Some(3), "{}", said.all);
    assert!(said.all.contains("`lock.next` grows without bound"), "{}", said.all);
    assert!(said.all.contains("grows.c:5:"), "{}", said.all);
}

/// Catches functions that run as threads without `main`, files that are linked, and stubs.
#[test]
fn entries_files_and_stubs() {
    if no_clang() {
        return;
    }
    let text = "#include <stdatomic.h>\natomic_int x, y;\nint a, b;\n\
                void left(void) { x = 1; a = atomic_load_explicit(&y, memory_order_relaxed); }\n\
                void right(void) { y = 1; b = x; }\n";
    let said = check_text("sb.c", text, &["--entry", "left,right"]);
    assert_eq!(said.verdicts[0], "robustness violated", "{}", said.all);
    let stubbed = "int other(void);\nint main(void) { return 1 / other(); }";
    assert_eq!(check_text("stub.c", stubbed, &["--stub", "other=3"]).code, Some(0));
    assert_eq!(check_text("stub.c", stubbed, &["--stub", "other=ignore"]).code, Some(1));
    // A stub goes before what is defined, and one for nobody is named, as are arguments that are made up.
    let defined = "#include <assert.h>\nint three(void) { return 3; }\nvoid f(int n) { assert(n == 0); }\n\
                   int main(void) { f(0); assert(three() == 7); }";
    let said = check_text("given.c", defined, &["--stub", "three=7"]);
    assert!(
        said.code == Some(0) && said.all.contains("`three` does what a stub says"),
        "{}",
        said.all
    );
    let said = check_text("given.c", defined, &["--stub", "thre=7"]);
    assert!(said.code == Some(1) && said.all.contains("`thre` is for no function"), "{}", said.all);
    let said = check_text("given.c", defined, &["--entry", "f"]);
    assert!(said.all.contains("`f` is run with 0 for each of its arguments"), "{}", said.all);
    let folder = tempfile::tempdir().expect("a folder");
    let (main, part) = (folder.path().join("main.c"), folder.path().join("part.c"));
    std::fs::write(
        &main,
        "#include <assert.h>\nint three(void);\nint main(void) { assert(three() == 3); }",
    )
    .unwrap();
    std::fs::write(&part, "int three(void) { return 3; }").unwrap();
    let files = [main.display().to_string(), part.display().to_string()];
    let said = check(&files.each_ref().map(|file| &**file));
    assert_eq!(said.code, Some(0), "{}", said.all);
    // They are one program, so what is wrong with it is told, and not counted.
    std::fs::write(&part, "int three(void) { return 4; }").unwrap();
    let said = check(&files.each_ref().map(|file| &**file));
    assert!(said.code == Some(1) && said.all.contains("main.c:3"), "{}", said.all);
}

/// Catches an order in which files are initialised that is taken for the only one.
#[test]
fn initialisers_of_several_files_are_mentioned() {
    if no_clang() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("main.cc", "#include <iostream>\nextern int later;\nint main() { return later != 3; }"),
        ("later.cc", "#include <iostream>\nextern int sooner;\nint later = sooner + 1;"),
        ("sooner.cc", "int two() { return 2; }\nint sooner = two();"),
    ];
    let paths = files.map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    });
    let note = "in one order of the files";
    let said = check(&paths.each_ref().map(|path| &**path));
    assert!(said.code == Some(0) && said.all.contains(note), "{}", said.all);
    // Streams alone are no reason.
    std::fs::write(&paths[1], "#include <iostream>\nint later = 3;").unwrap();
    let said = check(&[&paths[0], &paths[1]]);
    assert!(said.code == Some(0) && !said.all.contains(note), "{}", said.all);
}

/// Programs that once had a wrong answer, each with the answer it must have.
#[test]
fn answers_that_were_wrong() {
    if no_clang() {
        return;
    }
    let head = "#include <assert.h>\n#include <pthread.h>\n#include <sched.h>\n#include <stdatomic.h>\n\
                #include <stdlib.h>\n#include <string.h>\npthread_t a, b;\natomic_int x;\nint r;\n";
    let cases = [
        // A main that never ends starts its threads all the same.
        (
            "void *f(void *p) { assert(0); }\n\
             int main(void) { pthread_create(&a, 0, f, 0); while (1) sched_yield(); }",
            "assertions violated",
        ),
        // The second thread is started with one of two arguments.
        (
            "void *s(void *p) { x = 1; return 0; }\nvoid *f(void *p) { r = 1 + (long)p; return 0; }\n\
             int main(void) { pthread_create(&a, 0, s, 0); pthread_create(&b, 0, f, (void *)(long)x);\n\
             pthread_join(b, 0); assert(r == 1); pthread_join(a, 0); }",
            "assertions violated",
        ),
        // An argument on a stack that is gone.
        (
            "void *f(void *p) { r = *(int *)p; return 0; }\n\
             void go(void) { int y = 0; pthread_create(&a, 0, f, &y); }\n\
             int main(void) { go(); pthread_join(a, 0); }",
            "races violated",
        ),
        // A lock in memory that is freed while it is used.
        (
            "struct s { pthread_mutex_t m; } *p;\n\
             void *f(void *q) { pthread_mutex_lock(&p->m); pthread_mutex_unlock(&p->m); return 0; }\n\
             int main(void) { p = malloc(sizeof *p); pthread_mutex_init(&p->m, 0); pthread_create(&a, 0, f, 0);\n\
             free(p); pthread_join(a, 0); }",
            "races violated",
        ),
        // The first thread that is started is not main.
        (
            "void *f(void *p) { return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0); assert(!pthread_equal(pthread_self(), a)); }",
            "assertions holds",
        ),
        // A text that another thread wrote has its length.
        (
            "char text[4];\nvoid *f(void *p) { text[0] = 'a'; return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0); pthread_join(a, 0); assert(strlen(text) == 1); }",
            "assertions holds",
        ),
        // A variable of a thread that has ended.
        (
            "int *_Atomic p;\nvoid *f(void *q) { int y = 1; p = &y; return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0); pthread_join(a, 0); r = *p; }",
            "assertions violated",
        ),
        // A thread-local variable of a thread that may have ended.
        (
            "_Thread_local int y;\nint *_Atomic p;\nvoid *f(void *q) { y = 1; p = &y; return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0); int *q = p; if (q) r = *q; pthread_join(a, 0); }",
            "races violated",
        ),
        // What was allocated is not known to be there to whoever reads a relaxed pointer to it.
        (
            "int *_Atomic p;\nvoid *f(void *q) { p = malloc(4); return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0);\n\
             int *q = atomic_load_explicit(&p, memory_order_relaxed); if (q) *q = 1; pthread_join(a, 0); }",
            "races violated",
        ),
        (
            "int *_Atomic p;\nvoid *f(void *q) { p = malloc(4); return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0);\n\
             int *q = atomic_load_explicit(&p, memory_order_acquire); if (q) *q = 1; pthread_join(a, 0); }",
            "races holds",
        ),
        // A loop that waits, and reads on the way what is written in no order with that.
        (
            "void *f(void *p) { while (!atomic_load_explicit(&x, memory_order_acquire)) { int k = r; (void)k; } return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0); r = 0;\n\
             atomic_store_explicit(&x, 1, memory_order_release); pthread_join(a, 0); }",
            "races violated",
        ),
        // An update that wraps around.
        (
            "atomic_uint u = 5;\nvoid *f(void *p) { u += 0x7fffffff; return 0; }\n\
             int main(void) { pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);\n\
             pthread_join(a, 0); pthread_join(b, 0); assert(u == 3); }",
            "assertions holds",
        ),
    ];
    for (text, answer) in cases {
        let said = check_text("once.c", &format!("{head}{text}\n"), &[]);
        assert!(said.verdicts.iter().any(|v| v == answer), "{text}: no {answer} in\n{}", said.all);
    }
}
