//! Programs in C and C++, as users write them: `examples/real`, and small ones that are refused or go wrong.
//!
//! The first lines of an example say what it is checked with and what the answers are.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the command line prints about a program: its verdicts as `property verdict`, and everything else.
struct Said {
    verdicts: Vec<String>,
    all: String,
    code: Option<i32>,
}

fn check(arguments: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("check")
        .args(arguments)
        .output()
        .expect("the binary runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
    let verdict = |line: &str| {
        let mut words = line.split_whitespace();
        let (property, verdict) = (words.next()?, words.next()?.trim_end_matches(':'));
        let known = ["holds", "violated", "undecided"].contains(&verdict);
        (line.starts_with("  ") && known).then(|| format!("{property} {verdict}"))
    };
    Said { verdicts: out.lines().filter_map(verdict).collect(), all, code: output.status.code() }
}

/// Without clang there is nothing to compile C with; that is said, and the test passes.
fn no_clang() -> bool {
    let missing = Command::new("clang").arg("--version").output().is_err();
    if missing {
        eprintln!("no clang: programs in C are not checked");
    }
    missing
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/real")
}

/// Catches an example whose answer is not what its first lines say, with or without its mistake.
#[test]
fn examples_give_the_answers_they_promise() {
    if no_clang() {
        return;
    }
    let mut asked = 0;
    let mut files: Vec<PathBuf> = std::fs::read_dir(examples())
        .expect("examples")
        .map(|entry| entry.expect("an example").path())
        .collect();
    files.sort();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a readable example");
        for line in text.lines().filter_map(|line| line.strip_prefix("// fencepost")) {
            let (flags, promised) = line.split_once(": ").expect("`// fencepost FLAGS: ANSWERS`");
            let name = file.display().to_string();
            let mut arguments = vec![&*name, "--"];
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
    assert!(files.len() >= 15 && asked >= 50, "{} examples, {asked} answers", files.len());
}

fn check_text(name: &str, text: &str, options: &[&str]) -> Said {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("a file");
    let mut arguments: Vec<&str> = options.to_vec();
    let file = file.display().to_string();
    arguments.insert(0, &file);
    check(&arguments)
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
    ];
    for (name, text, why) in cases {
        let said = check_text(name, &format!("{threads}{text}"), &[]);
        assert_eq!(said.code, Some(2), "{name}: {}", said.all);
        assert!(said.all.contains(why), "{name}: no `{why}` in\n{}", said.all);
        assert!(said.all.contains(name), "{name}: {}", said.all);
    }
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
            "after its function",
        ),
        ("int main(void) { abort(); }", "`abort` is called"),
    ];
    for (text, what) in cases {
        let said = check_text("mistake.c", &format!("#include <stdlib.h>\n{text}"), &[]);
        assert_eq!(said.code, Some(1), "{text}: {}", said.all);
        assert!(said.all.contains(what), "{text}: no `{what}` in\n{}", said.all);
    }
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
    let folder = tempfile::tempdir().expect("a folder");
    let (main, part) = (folder.path().join("main.c"), folder.path().join("part.c"));
    std::fs::write(
        &main,
        "#include <assert.h>\nint three(void);\nint main(void) { assert(three() == 3); }",
    )
    .unwrap();
    std::fs::write(&part, "int three(void) { return 3; }").unwrap();
    let said = check(&[&main.display().to_string(), &part.display().to_string()]);
    assert_eq!(said.code, Some(0), "{}", said.all);
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
    ];
    for (text, answer) in cases {
        let said = check_text("once.c", &format!("{head}{text}\n"), &[]);
        assert!(said.verdicts.iter().any(|v| v == answer), "{text}: no {answer} in\n{}", said.all);
    }
}
