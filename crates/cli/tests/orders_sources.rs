//! `fencepost fix` on the ways in which people write atomic accesses in C, C++ and Rust. Each is a store that publishes plain data
//! and a load that looks for it, everything `seq_cst`; each is changed, compiled and checked again, or listed as left alone with
//! its reason. Catches an access that is dropped in silence, one that is taken for another, and a text that no longer compiles.

mod run;

use run::{Desk, Run};
use serde_json::Value;

/// How the store and the load are written, and what is to come of it: parts of the changed text, and parts of reasons for what is
/// left alone.
struct Style {
    store: &'static str,
    load: &'static str,
    becomes: &'static [&'static str],
    alone: &'static [&'static str],
}

const fn style(
    store: &'static str,
    load: &'static str,
    becomes: &'static [&'static str],
    alone: &'static [&'static str],
) -> Style {
    Style { store, load, becomes, alone }
}

const C: &[Style] = &[
    // Functions without orders are macros, and compilers give one place for all that is in them.
    style(
        "n = 0; atomic_store(&ready, atomic_load(&n) + 1);",
        "if (atomic_load(&ready) && n == 0)",
        &[
            "atomic_store_explicit(&ready, atomic_load_explicit(&n, memory_order_relaxed) + 1, memory_order_release);",
            "atomic_load_explicit(&n, memory_order_relaxed) == 0",
        ],
        &[],
    ),
    style(
        "atomic_exchange(&ready, atomic_fetch_add(&n, 1) + 1);",
        "if (atomic_load(&ready) && n)",
        &["if (atomic_load_explicit(&ready, memory_order_"],
        &["shares a macro with another access like it"],
    ),
    // What stands in front of an access with an operator in between is another one.
    style(
        "ready = 1;",
        "if (ready && atomic_load(&n) == 0 && ready > atomic_load(&n))",
        &[
            "if (atomic_load_explicit(&ready, memory_order_acquire) && atomic_load_explicit(&n, memory_order_relaxed) == 0",
        ],
        &[],
    ),
    style(
        "atomic_store(\n        &ready, // a comment)\n        1\n    );",
        "if (atomic_load_explicit(\n            &ready,\n            memory_order_seq_cst))",
        &[
            "        1, memory_order_release\n    );",
            "            &ready,\n            memory_order_acquire))",
        ],
        &[],
    ),
    style(
        "atomic_int *q = &ready;\n    *q = 1;",
        "atomic_int *q = &ready;\n    if (*q)",
        &[
            "atomic_store_explicit(q, 1, memory_order_release);",
            "if (atomic_load_explicit(q, memory_order_acquire))",
        ],
        &[],
    ),
    style(
        "(*(&ready)) = 1;",
        "if (*&ready)",
        &["if (atomic_load_explicit(&ready, memory_order_acquire))"],
        &[],
    ),
    style(
        "for (ready = 1; 0;) {}",
        "if ((int)ready)",
        &[
            "for (atomic_store_explicit(&ready, 1, memory_order_release); 0;)",
            "if ((int)atomic_load_explicit(&ready, memory_order_acquire))",
        ],
        &[],
    ),
    style(
        "for (int i = 0; i < 1; i++, ready = 1) {}",
        "if (-ready)",
        &["i++, atomic_store_explicit(&ready, 1, memory_order_release))"],
        &[],
    ),
    style(
        "n = 0, ready = 1;",
        "if (ready + n)",
        &[
            "atomic_store_explicit(&n, 0, memory_order_relaxed), atomic_store_explicit(&ready, 1, memory_order_release);",
        ],
        &[],
    ),
    style(
        "goto l; l: ready = 1;",
        "if (ready)",
        &["l: atomic_store_explicit(&ready, 1, memory_order_release);"],
        &[],
    ),
    style(
        "switch (1) { case 1: ready = 1; }",
        "if (ready)",
        &["case 1: atomic_store_explicit(&ready, 1, memory_order_release);"],
        &[],
    ),
    style(
        "ready++;",
        "int r = ready++; if (r)",
        &[
            "atomic_fetch_add_explicit(&ready, 1, memory_order_release);",
            "int r = atomic_fetch_add_explicit(&ready, 1, memory_order_acquire);",
        ],
        &[],
    ),
    style(
        "int r = ++ready; (void)r;",
        "if (ready)",
        &["if (atomic_load_explicit(&ready, memory_order_acquire))"],
        &["its value is used"],
    ),
    style(
        "n = ready = 1;",
        "if (ready + n)",
        &["atomic_load_explicit(&ready, memory_order_acquire)"],
        &["its value is used", "would not compile"],
    ),
    style(
        "ready = 1; ready *= 3;",
        "if (ready == 3)",
        &["atomic_load_explicit(&ready, memory_order_acquire) == 3"],
        &["no function with an order does what this operator does"],
    ),
    style(
        "STORE(&ready, 1);",
        "assert(ready < 2); if (ready)",
        &["if (atomic_load_explicit(&ready, memory_order_acquire))"],
        &["a macro, a library"],
    ),
    style(
        "atomic_store_explicit(&ready, 1, ORDER);",
        "if (ready)",
        &["atomic_store_explicit(&ready, 1, memory_order_release);"],
        &[],
    ),
    style(
        "put(memory_order_seq_cst);",
        "if (ready)",
        &["if (atomic_load_explicit(&ready, memory_order_acquire))"],
        &["a parameter"],
    ),
    style(
        "__sync_synchronize(); __c11_atomic_store(&ready, 1, __ATOMIC_SEQ_CST);",
        "if (__c11_atomic_load(&ready, __ATOMIC_SEQ_CST))",
        &[
            "__c11_atomic_load(&ready, __ATOMIC_ACQUIRE)",
            "__c11_atomic_store(&ready, 1, __ATOMIC_RELAXED)",
        ],
        &["no memory order is written here"],
    ),
    style(
        "p_ = &data;",
        "if (p_ && *p_ == 42)",
        &[
            "if (atomic_load_explicit(&p_, memory_order_acquire) && *atomic_load_explicit(&p_, memory_order_relaxed) == 42)",
        ],
        &[],
    ),
    style(
        "atomic_thread_fence(memory_order_seq_cst), atomic_store_explicit(&ready, 1, memory_order_relaxed);",
        "if (ready)",
        &["(void)0, atomic_store_explicit(&ready, 1, memory_order_release);"],
        &[],
    ),
    style(
        "n = 0; a_[n + 1] = 1;",
        "if (a_[n + 1])",
        &[
            "atomic_store_explicit(&a_[atomic_load_explicit(&n, memory_order_relaxed) + 1], 1, memory_order_release);",
        ],
        &[],
    ),
    style(
        "int e = 0; atomic_compare_exchange_strong_explicit(\n        &ready, &e, 1,\n        memory_order_seq_cst,\n        memory_order_seq_cst);",
        "if (ready)",
        &["        memory_order_release,\n        memory_order_relaxed);"],
        &[],
    ),
];

const CPP: &[Style] = &[
    style(
        "n = 0; ready.store(n.load() + 1);",
        "if (ready.load() + n)",
        &[
            "ready.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);",
            "ready.load(std::memory_order_acquire) + n.load(std::memory_order_relaxed)",
        ],
        &[],
    ),
    style(
        "ready++;",
        "if (ready && n.load() == 0)",
        &[
            "ready.fetch_add(1, std::memory_order_release);",
            "if (ready.load(std::memory_order_acquire) && n.load(std::memory_order_relaxed) == 0)",
        ],
        &[],
    ),
    style(
        "auto *q = &ready; (*q)++;",
        "auto *q = &ready; if (*q == 1)",
        &[
            "(*q).fetch_add(1, std::memory_order_release);",
            "if (q->load(std::memory_order_acquire) == 1)",
        ],
        &[],
    ),
    style(
        "int r = ++ready; (void)r;",
        "if (ready)",
        &["if (ready.load(std::memory_order_acquire))"],
        &["its value is used"],
    ),
    style(
        "get()++;",
        "if (get() == 1)",
        &[
            "get().fetch_add(1, std::memory_order_release);",
            "get().load(std::memory_order_acquire) == 1",
        ],
        &[],
    ),
    style(
        "ready\n        .store(\n            1,\n            std::memory_order_seq_cst);",
        "if (std::atomic_load(&ready))",
        &[
            "            std::memory_order_release);",
            "std::atomic_load_explicit(&ready, std::memory_order_acquire)",
        ],
        &[],
    ),
    style(
        "ready.operator=(1);",
        "if (ready.operator int())",
        &[],
        &["no memory order is written here", "would not compile"],
    ),
    style(
        "auto f = [] { ready = 1; }; f();",
        "if ([] { return ready.load(); }())",
        &[
            "[] { ready.store(1, std::memory_order_release); }",
            "return ready.load(std::memory_order_acquire);",
        ],
        &[],
    ),
    style(
        "p_ = &data;",
        "if (p_ && *p_ == 42)",
        &["if (p_.load(std::memory_order_acquire) && *p_.load(std::memory_order_relaxed) == 42)"],
        &[],
    ),
];

const RUST: &[Style] = &[
    style(
        "ACK.store(1, SeqCst); READY.store(ACK.load(SeqCst), SeqCst);",
        "if READY.load(SeqCst) == 1 && ACK.load(Relaxed) == 1",
        &[
            "ACK.store(1, Relaxed); READY.store(ACK.load(Relaxed), std::sync::atomic::Ordering::Release);",
            "if READY.load(std::sync::atomic::Ordering::Acquire) == 1",
        ],
        &[],
    ),
    style(
        "READY\n        .store(1, SeqCst);",
        "if READY.load(SeqCst).cmp(&1) == Ordering::Equal",
        &[".store(1, std::sync::atomic::Ordering::Release);", ".cmp(&1) == Ordering::Equal"],
        &[],
    ),
    style(
        "AtomicUsize::store(&READY, 1, SeqCst);",
        "if AtomicUsize::load(&READY, SeqCst) == 1",
        &["AtomicUsize::store(&READY, 1, std::sync::atomic::Ordering::Release);"],
        &[],
    ),
    style(
        "let _ = READY.fetch_update(SeqCst, SeqCst, |x| Some(x + 1));",
        "if READY.load(SeqCst) == 1",
        &["READY.load(std::sync::atomic::Ordering::Acquire)"],
        &["no memory order is written here"],
    ),
    style(
        "put(&READY, SeqCst);",
        "if READY.load(SeqCst) == 1",
        &["READY.load(std::sync::atomic::Ordering::Acquire)"],
        &["a parameter"],
    ),
    style(
        "let _ = READY.compare_exchange(\n        0,\n        1,\n        SeqCst,\n        SeqCst,\n    );",
        "if READY.load(SeqCst) == 1",
        &["        1,\n        std::sync::atomic::Ordering::Release,\n        Relaxed,\n    );"],
        &[],
    ),
];

fn c(style: &Style) -> String {
    let Style { store, load, .. } = style;
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#define STORE(p, v) atomic_store(p, v)\n\
         #define ORDER memory_order_seq_cst\natomic_int ready, n, a_[2];\nint data;\nint *_Atomic p_;\n\
         static inline void put(memory_order o) {{ atomic_store_explicit(&ready, 1, o); }}\n\
         void *a(void *p) {{\n    data = 42;\n    {store}\n    return p;\n}}\n\
         void *b(void *p) {{\n    {load}\n        assert(data == 42);\n    return p;\n}}\n\
         int main(void) {{\n    pthread_t t, u;\n    pthread_create(&t, 0, a, 0);\n    pthread_create(&u, 0, b, 0);\n\
         \x20   pthread_join(t, 0);\n    pthread_join(u, 0);\n    return 0;\n}}\n"
    )
}

fn cpp(style: &Style) -> String {
    let Style { store, load, .. } = style;
    format!(
        "#include <atomic>\n#include <cassert>\n#include <thread>\nstd::atomic<int> ready, n;\nint data;\nstd::atomic<int *> p_;\n\
         inline std::atomic<int> &get() {{ return ready; }}\nvoid a() {{\n    data = 42;\n    {store}\n}}\n\
         void b() {{\n    {load}\n        assert(data == 42);\n}}\n\
         int main() {{\n    std::thread t(a), u(b);\n    t.join();\n    u.join();\n}}\n"
    )
}

fn rust(style: &Style) -> String {
    let Style { store, load, .. } = style;
    format!(
        "#![allow(unused)]\nuse std::cmp::Ordering;\nuse std::sync::atomic::AtomicUsize;\n\
         use std::sync::atomic::Ordering::{{Relaxed, SeqCst}};\nuse std::thread;\n\
         static READY: AtomicUsize = AtomicUsize::new(0);\nstatic ACK: AtomicUsize = AtomicUsize::new(0);\n\
         static mut DATA: u32 = 0;\nfn put(x: &AtomicUsize, o: std::sync::atomic::Ordering) {{ x.store(1, o) }}\n\
         fn a() {{\n    unsafe {{ DATA = 42 }};\n    {store}\n}}\n\
         fn b() {{\n    {load} {{\n        assert!(unsafe {{ DATA }} == 42);\n    }}\n}}\n\
         fn main() {{\n    let t = thread::spawn(a);\n    b();\n    t.join().unwrap();\n}}\n"
    )
}

fn object(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("an object: {}", run.all()))
}

fn try_all(file: &str, compiler: &str, styles: &[Style], text: impl Fn(&Style) -> String) {
    if std::process::Command::new(compiler).arg("--version").output().is_err() {
        eprintln!("skipped: no {compiler}");
        return;
    }
    let mut wrong = String::new();
    for style in styles {
        let text = text(style);
        let desk = Desk::new().and(file, &text);
        let run = desk.run(&format!("fix --weaken --json {file}"));
        let said = match run.code {
            Some(0) => object(&run),
            _ => {
                wrong.push_str(&format!("{}\n{}\n", style.store, run.all()));
                continue;
            }
        };
        let after = said["files"][0]["text"].as_str().unwrap_or(&text);
        let alone = said["left_alone"].to_string();
        let missing = style.becomes.iter().filter(|part| !after.contains(**part));
        let unsaid = style.alone.iter().filter(|part| !alone.contains(**part));
        for part in missing.chain(unsaid) {
            wrong.push_str(&format!("{part}\n  is missing in\n{after}\n{alone}\n"));
        }
        if style.alone.is_empty() && alone != "[]" {
            wrong.push_str(&format!("{}\n  left alone: {alone}\n", style.store));
        }
        let checked = Desk::new().and(file, after).run(&format!("check {file}"));
        if checked.code != Some(0) {
            wrong.push_str(&format!("{after}\n{}\n", checked.all()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn ways_to_write_c() {
    try_all("t.c", "clang", C, c);
}

#[test]
fn ways_to_write_cpp() {
    try_all("t.cpp", "clang", CPP, cpp);
}

#[test]
fn ways_to_write_rust() {
    try_all("t.rs", "rustc", RUST, rust);
}
