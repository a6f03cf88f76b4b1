//! Orders in statements of all languages, before and after.

use super::*;
use ir::{Domain, Program};

/// A text of one statement in `language`, and what it becomes with other orders.
fn rewritten(language: Language, text: &str, orders: Orders) -> Option<String> {
    let program = Program::new(Domain::modulo(1), Vec::new(), Vec::new());
    let spans = vec![Span::new(0, text.find(';').unwrap_or(text.len()))];
    let mut source = Source::of_program("test", text, program, spans);
    source.language = language;
    Some(changed(text, 0, &Written::of(&source).edits(&[(Origin(0), orders)])?))
}

/// Catches orders that stay as they were, operands that are lost, and functions that keep the name that has no
/// orders.
#[test]
fn orders_are_exchanged_as_the_language_writes_them() {
    use Language::{Algorithms, C, Cpp, Rust};
    use Orders::{CompareExchange, Fence, Load, NewFence, Store, Update};
    let (acq, rel) = (ReadMode::Acq, WriteMode::Rel);
    for (language, before, orders, after) in [
        (Algorithms, "r = x.load();", Load(acq), "r = x.load(acq);"),
        (Algorithms, "wait(x, 1, 2);", Load(acq), "wait(x, 1, 2, acq);"),
        (Algorithms, "wait(x, 1, sc);", Load(ReadMode::Rlx), "wait(x, 1, rlx);"),
        (
            Algorithms,
            "FADD(x, f(1, 2), sc, sc);",
            Update(acq, WriteMode::Rlx),
            "FADD(x, f(1, 2), acq, rlx);",
        ),
        (
            Algorithms,
            "r = CAS(a[i], 0, 1);",
            CompareExchange(acq, rel, ReadMode::Rlx),
            "r = CAS(a[i], 0, 1, acq, rel, rlx);",
        ),
        (Algorithms, "fence;", Fence(Some(FenceMode::Acq)), "fence(acq);"),
        (Algorithms, "fence(sc); x.store(1);", Fence(None), "x.store(1);"),
        (Algorithms, "x.store(1, rlx);", NewFence(FenceMode::Rel), "fence(rel); x.store(1, rlx);"),
        (
            C,
            "atomic_store(&x, 1);",
            Store(rel),
            "atomic_store_explicit(&x, 1, memory_order_release);",
        ),
        (
            C,
            "if (atomic_load_explicit(&q->tail, memory_order_seq_cst) == 0) f();",
            Load(acq),
            "if (atomic_load_explicit(&q->tail, memory_order_acquire) == 0) f();",
        ),
        (
            C,
            "__atomic_store_n(&x, 1, __ATOMIC_SEQ_CST);",
            Store(rel),
            "__atomic_store_n(&x, 1, __ATOMIC_RELEASE);",
        ),
        (
            C,
            "atomic_compare_exchange_strong(&x, &e, 1);",
            CompareExchange(acq, WriteMode::Rlx, ReadMode::Rlx),
            "atomic_compare_exchange_strong_explicit(&x, &e, 1, memory_order_acquire, memory_order_relaxed);",
        ),
        (C, "  atomic_thread_fence(memory_order_seq_cst);\nf();", Fence(None), "f();"),
        (Cpp, "x.store(1);", Store(rel), "x.store(1, std::memory_order_release);"),
        (
            Cpp,
            "n += a->load(std::memory_order::seq_cst);",
            Load(acq),
            "n += a->load(std::memory_order::acquire);",
        ),
        (
            Cpp,
            "x.fetch_add(1, memory_order_seq_cst);",
            Update(acq, rel),
            "x.fetch_add(1, memory_order_acq_rel);",
        ),
        (
            Rust,
            "self.x.store(1, Ordering::SeqCst);",
            Store(rel),
            "self.x.store(1, Ordering::Release);",
        ),
        (
            Rust,
            "x.swap(1, SeqCst);",
            Update(acq, WriteMode::Rlx),
            "x.swap(1, std::sync::atomic::Ordering::Acquire);",
        ),
        (
            Rust,
            "x.compare_exchange(0, 1, atomic::Ordering::SeqCst, atomic::Ordering::SeqCst);",
            CompareExchange(acq, WriteMode::Rlx, ReadMode::Rlx),
            "x.compare_exchange(0, 1, atomic::Ordering::Acquire, atomic::Ordering::Relaxed);",
        ),
    ] {
        assert_eq!(rewritten(language, before, orders).as_deref(), Some(after), "{before}");
    }
}

/// Operators of C become functions. Catches an object that is cut short, and a value that somebody uses and that a
/// function would not give.
#[test]
fn operators_on_atomic_objects_become_functions() {
    let (acq, rel) = (ReadMode::Acq, WriteMode::Rel);
    let both = Orders::Update(acq, rel);
    for (text, column, orders, after) in [
        (
            "q->a[i + 1] = f(1, 2);",
            12,
            Orders::Store(rel),
            Some("atomic_store_explicit(&q->a[i + 1], f(1, 2), memory_order_release);"),
        ),
        ("x++;", 1, both, Some("atomic_fetch_add_explicit(&x, 1, memory_order_acq_rel);")),
        ("--p.x;", 0, both, Some("atomic_fetch_sub_explicit(&p.x, 1, memory_order_acq_rel);")),
        ("x |= 4;", 2, both, Some("atomic_fetch_or_explicit(&x, 4, memory_order_acq_rel);")),
        (
            "int r = q->f;",
            11,
            Orders::Load(acq),
            Some("int r = atomic_load_explicit(&q->f, memory_order_acquire);"),
        ),
        (
            "if (q->a[0] == 1) g();",
            4,
            Orders::Load(acq),
            Some("if (atomic_load_explicit(&q->a[0], memory_order_acquire) == 1) g();"),
        ),
        ("r = x = 1;", 6, Orders::Store(rel), None),
        ("r = x++;", 5, both, Some("r = atomic_fetch_add_explicit(&x, 1, memory_order_acq_rel);")),
        ("r = ++x;", 4, both, None),
        ("r = (x += 2);", 7, both, None),
        (
            "*p = 1;",
            3,
            Orders::Store(rel),
            Some("atomic_store_explicit(p, 1, memory_order_release);"),
        ),
        (
            "(*p).x = 1;",
            7,
            Orders::Store(rel),
            Some("atomic_store_explicit(&(*p).x, 1, memory_order_release);"),
        ),
        ("(*p)++;", 4, both, Some("atomic_fetch_add_explicit(&(*p), 1, memory_order_acq_rel);")),
        (
            "r = *p;",
            4,
            Orders::Load(acq),
            Some("r = atomic_load_explicit(p, memory_order_acquire);"),
        ),
        (
            "for (x = 0; i < 2; i++) f();",
            7,
            Orders::Store(rel),
            Some("for (atomic_store_explicit(&x, 0, memory_order_release); i < 2; i++) f();"),
        ),
        (
            "for (i = 0; i < 2; x += 1) f();",
            21,
            both,
            Some("for (i = 0; i < 2; atomic_fetch_add_explicit(&x, 1, memory_order_acq_rel)) f();"),
        ),
        (
            "if (c) x = 1;",
            9,
            Orders::Store(rel),
            Some("if (c) atomic_store_explicit(&x, 1, memory_order_release);"),
        ),
        (
            "if(c)x = 1;",
            7,
            Orders::Store(rel),
            Some("if(c)atomic_store_explicit(&x, 1, memory_order_release);"),
        ),
        ("f(x = 1);", 4, Orders::Store(rel), None),
        ("x *= 2;", 2, both, None),
        ("x == 2;", 2, Orders::Store(rel), None),
    ] {
        let program = Program::new(Domain::modulo(1), Vec::new(), Vec::new());
        let end = text.find(';').unwrap_or(text.len());
        let mut source = Source::of_program("test", text, program, vec![Span::new(0, end)]);
        source.language = Language::C;
        source.columns = vec![column];
        let edits = Written::of(&source).edits(&[(Origin(0), orders)]);
        let got = edits.map(|edits| changed(text, 0, &edits));
        assert_eq!(got.as_deref(), after, "{text}");
    }
}

/// What is not written as an operation has no order to change. Catches a scanner that takes any call for one.
#[test]
fn other_statements_are_left_alone() {
    let store = Orders::Store(WriteMode::Rel);
    for (language, text) in [
        (Language::C, "x = 1;"),
        (Language::C, "pthread_mutex_lock(&m);"),
        (Language::C, "store(&x, 1);"),
        (Language::C, "atomic_store(&x;"),
        (Language::Algorithms, "lock(l);"),
        (Language::Rust, "drop(guard);"),
        (Language::Rust, "x.fetch_update(SeqCst, SeqCst, f);"),
    ] {
        assert_eq!(rewritten(language, text, store), None, "{text}");
    }
}

/// Operators of C++ become methods, and one access in another has an order of its own.
#[test]
fn several_orders_in_one_statement() {
    let (acq, rel) = (Orders::Load(ReadMode::Acq), Orders::Store(WriteMode::Rel));
    for (language, text, changes, after) in [
        (
            Language::C,
            "x = y;",
            [(2, rel), (4, acq)],
            "atomic_store_explicit(&x, atomic_load_explicit(&y, memory_order_acquire), memory_order_release);",
        ),
        (
            Language::C,
            "atomic_store(&x, atomic_load(&y));",
            [(0, rel), (17, acq)],
            "atomic_store_explicit(&x, atomic_load_explicit(&y, memory_order_acquire), memory_order_release);",
        ),
        (
            Language::Cpp,
            "x = y + 1;",
            [(2, rel), (4, acq)],
            "x.store(y.load(std::memory_order_acquire) + 1, std::memory_order_release);",
        ),
        (
            Language::Cpp,
            "p->x.store(*q);",
            [(3, rel), (11, acq)],
            "p->x.store(q->load(std::memory_order_acquire), std::memory_order_release);",
        ),
    ] {
        let program = Program::new(Domain::modulo(1), Vec::new(), Vec::new());
        let span = Span::new(0, text.find(';').unwrap_or(text.len()));
        let mut source = Source::of_program("test", text, program, vec![span; 2]);
        source.language = language;
        source.columns = changes.iter().map(|(column, _)| *column).collect();
        let changes = [(Origin(0), changes[0].1), (Origin(1), changes[1].1)];
        let edits = Written::of(&source).edits(&changes);
        let got = edits.map(|edits| changed(text, 0, &edits));
        assert_eq!(got.as_deref(), Some(after), "{text}");
    }
}
