//! Programs in Rust, as users write them, with unmodified `std`: threads, atomics, locks, panics.
//!
//! The examples in `examples/real` are checked along with those in C (`real_code.rs`). Here are small programs whose
//! answers follow from RC11 and from what the standard library promises.

mod rust_program;

use rust_program::{HEAD, check_text, no_rustc};

/// Catches parts of the standard library that are misunderstood: each answer follows from what they promise.
#[test]
fn programs_have_the_answers_that_they_must_have() {
    if no_rustc() {
        return;
    }
    let cases = [
        // Store buffering.
        (
            "sb_rlx",
            r#"static X: AtomicUsize = AtomicUsize::new(0); static Y: AtomicUsize = AtomicUsize::new(0);
fn main() { let t = thread::spawn(|| { X.store(1, Relaxed); Y.load(Relaxed) }); Y.store(1, Relaxed); let b = X.load(Relaxed); let a = t.join().unwrap(); assert!(a == 1 || b == 1); }"#,
            "robustness violated",
        ),
        (
            "sb_sc",
            r#"static X: AtomicUsize = AtomicUsize::new(0); static Y: AtomicUsize = AtomicUsize::new(0);
fn main() { let t = thread::spawn(|| { X.store(1, SeqCst); Y.load(SeqCst) }); Y.store(1, SeqCst); let b = X.load(SeqCst); let a = t.join().unwrap(); assert!(a == 1 || b == 1); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "sb_fence",
            r#"static X: AtomicU8 = AtomicU8::new(0); static Y: AtomicU8 = AtomicU8::new(0);
fn main() { let t = thread::spawn(|| { X.store(1, Relaxed); fence(SeqCst); Y.load(Relaxed) }); Y.store(1, Relaxed); fence(SeqCst); let b = X.load(Relaxed); let a = t.join().unwrap(); assert!(a == 1 || b == 1); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "sb_processors",
            r#"static X: AtomicU8 = AtomicU8::new(0); static Y: AtomicU8 = AtomicU8::new(0);
fn spins() { if thread::available_parallelism().map_or(1, |all| all.get()) > 1 { std::hint::spin_loop() } else { fence(SeqCst) } }
fn main() { let t = thread::spawn(|| { X.store(1, Relaxed); spins(); Y.load(Relaxed) }); Y.store(1, Relaxed); spins(); let b = X.load(Relaxed); let a = t.join().unwrap(); assert!(a == 1 || b == 1); }"#,
            "robustness violated",
        ),
        // An update of a variable of its own, in assembly, is a fence to some libraries; the variable is negated.
        (
            "sb_negation",
            r#"static X: AtomicU8 = AtomicU8::new(0); static Y: AtomicU8 = AtomicU8::new(0);
fn full() { let a = UnsafeCell::new(1usize); unsafe { std::arch::asm!("lock not qword ptr [{0}]", in(reg) a.get()); assert_eq!(*a.get(), !1); } }
fn main() { let t = thread::spawn(|| { X.store(1, Relaxed); full(); Y.load(Relaxed) }); Y.store(1, Relaxed); full(); let b = X.load(Relaxed); let a = t.join().unwrap(); assert!(a == 1 || b == 1); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "lb",
            r#"static X: AtomicI32 = AtomicI32::new(0); static Y: AtomicI32 = AtomicI32::new(0);
fn main() { let t = thread::spawn(|| { let a = X.load(Relaxed); Y.store(1, Relaxed); a }); let b = Y.load(Relaxed); X.store(1, Relaxed); assert!(t.join().unwrap() + b < 2); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "mp_rlx",
            r#"static mut D: u32 = 0; static F: AtomicBool = AtomicBool::new(false);
fn main() { let t = thread::spawn(|| { unsafe { D = 1 }; F.store(true, Relaxed); }); while !F.load(Acquire) {} let d = unsafe { D }; assert_eq!(d, 1); t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "mp_ok",
            r#"static mut D: u32 = 0; static F: AtomicBool = AtomicBool::new(false);
fn main() { let t = thread::spawn(|| { unsafe { D = 1 }; F.store(true, Release); }); while !F.load(Acquire) { std::hint::spin_loop() } let d = unsafe { D }; assert_eq!(d, 1); t.join().unwrap(); }"#,
            "robustness holds, races holds, assertions holds",
        ),
        (
            "join_sync",
            r#"static mut D: u32 = 0;
fn main() { let t = thread::spawn(|| { unsafe { D = 1 } }); t.join().unwrap(); assert_eq!(unsafe { D }, 1); }"#,
            "assertions holds, races holds",
        ),
        (
            "detached_race",
            r#"static mut D: u32 = 0;
fn main() { thread::spawn(|| { unsafe { D = 1 } }); let d = unsafe { D }; }"#,
            "races violated",
        ),
        (
            "result_vec",
            r#"fn main() { let t = thread::spawn(|| vec![1, 2, 3]); let v = t.join().unwrap(); assert_eq!(v.len(), 3); assert_eq!(v[2], 3); }"#,
            "assertions holds",
        ),
        (
            "result_box",
            r#"fn main() { let t = thread::spawn(|| Box::new((1u8, 2u64))); let b = t.join().unwrap(); assert_eq!(b.1, 2); }"#,
            "assertions holds",
        ),
        // Results that depend on what others do.
        (
            "result_opt",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let t = thread::spawn(|| if X.swap(1, Relaxed) == 0 { Some(5) } else { None }); let first = X.swap(1, Relaxed) == 0; let r = t.join().unwrap(); assert_eq!(r.is_some(), !first); }"#,
            "assertions holds",
        ),
        (
            "handles_vec",
            r#"static N: AtomicUsize = AtomicUsize::new(0);
fn main() { let h: Vec<_> = (0..3).map(|i| thread::spawn(move || { N.fetch_add(i, Relaxed); })).collect(); for t in h { t.join().unwrap(); } assert_eq!(N.load(Relaxed), 3); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "results_sum",
            r#"fn main() { let h: Vec<_> = (0..3u64).map(|i| thread::spawn(move || i * 2)).collect(); let s: u64 = h.into_iter().map(|t| t.join().unwrap()).sum(); assert_eq!(s, 6); }"#,
            "assertions holds",
        ),
        // What weak memory alone lets both threads return.
        (
            "results_of_two",
            r#"static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);
fn main() { let a = thread::spawn(|| { X.store(1, Relaxed); Y.load(Relaxed) }); let b = thread::spawn(|| { Y.store(1, Relaxed); X.load(Relaxed) }); let (r, s) = (a.join().unwrap(), b.join().unwrap()); assert!(r == 1 || s == 1); }"#,
            "assertions violated",
        ),
        (
            "lost_update",
            r#"static N: AtomicUsize = AtomicUsize::new(0);
fn f() { let n = N.load(SeqCst); N.store(n + 1, SeqCst); }
fn main() { let t = thread::spawn(f); f(); t.join().unwrap(); assert_eq!(N.load(SeqCst), 2); }"#,
            "assertions violated",
        ),
        (
            "scope_ret",
            r#"fn main() { let x = AtomicI64::new(-1); let r = thread::scope(|s| { let h = s.spawn(|| { x.fetch_max(5, Relaxed); 3 }); s.spawn(|| { x.fetch_min(-7, Relaxed); }); h.join().unwrap() }); assert_eq!(r, 3); let v = x.into_inner(); assert!(v == 5 || v == -7); }"#,
            "assertions holds",
        ),
        (
            "scope_racy",
            r#"fn main() { let mut v = [0u32; 2]; let p = v.as_mut_ptr() as usize; thread::scope(|s| { s.spawn(move || unsafe { *(p as *mut u32) = 1 }); s.spawn(move || unsafe { *(p as *mut u32) = 2 }); }); }"#,
            "races violated",
        ),
        // Parts of one array.
        (
            "scope_split",
            r#"fn main() { let mut v = [0u32; 2]; let (a, b) = v.split_at_mut(1); thread::scope(|s| { s.spawn(|| a[0] = 1); s.spawn(|| b[0] = 2); }); assert_eq!(v, [1, 2]); }"#,
            "assertions holds",
        ),
        (
            "panic_thread",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let t = thread::spawn(|| { if X.load(Relaxed) == 1 { panic!("seen {}", 1) } }); X.store(1, Relaxed); t.join().unwrap(); }"#,
            "assertions violated",
        ),
        (
            "unwrap_none",
            r#"fn main() { let o: Option<u32> = if X.load(Relaxed) == 0 { None } else { Some(1) }; o.unwrap(); }
static X: AtomicU32 = AtomicU32::new(0);"#,
            "assertions violated",
        ),
        (
            "overflow",
            r#"static X: AtomicU8 = AtomicU8::new(255);
fn main() { let x = X.load(Relaxed) + 1; assert!(x > 0); }"#,
            "assertions violated",
        ),
        (
            "bounds",
            r#"static X: AtomicUsize = AtomicUsize::new(3);
fn main() { let v = vec![1, 2, 3]; let x = v[X.load(Relaxed)]; }"#,
            "assertions violated",
        ),
        (
            "uaf",
            r#"fn main() { let b = Box::into_raw(Box::new(1)); unsafe { drop(Box::from_raw(b)); } let x = unsafe { *b }; assert!(x == 1 || x != 1); }"#,
            "assertions violated",
        ),
        (
            "double_free",
            r#"static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn take() { let p = P.load(Acquire); if !p.is_null() { P.store(std::ptr::null_mut(), Release); unsafe { drop(Box::from_raw(p)) } } }
fn main() { P.store(Box::into_raw(Box::new(1)), Release); let t = thread::spawn(take); take(); t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "swap_take",
            r#"static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn take() { let p = P.swap(std::ptr::null_mut(), AcqRel); if !p.is_null() { unsafe { drop(Box::from_raw(p)) } } }
fn main() { P.store(Box::into_raw(Box::new(1)), Release); let t = thread::spawn(take); take(); t.join().unwrap(); }"#,
            "races holds, assertions holds",
        ),
        // An attempt may fail.
        (
            "mutex_try",
            r#"static A: Mutex<u32> = Mutex::new(0);
fn main() { let t = thread::spawn(|| { if let Ok(mut a) = A.try_lock() { *a += 1; } }); *A.lock().unwrap() += 1; t.join().unwrap(); let a = *A.lock().unwrap(); assert!(a == 1 || a == 2); }"#,
            "robustness holds, races holds, assertions holds",
        ),
        // What is written before a lock is seen by who takes it next.
        (
            "mutex_msg",
            r#"static A: Mutex<u32> = Mutex::new(0); static X: AtomicU32 = AtomicU32::new(0);
fn main() { let t = thread::spawn(|| { X.store(1, Relaxed); *A.lock().unwrap() = 1; }); let seen = *A.lock().unwrap(); if seen == 1 { assert_eq!(X.load(Relaxed), 1); } t.join().unwrap(); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "rwlock",
            r#"static A: RwLock<(u32, u32)> = RwLock::new((0, 0));
fn main() { let t = thread::spawn(|| { let mut w = A.write().unwrap(); w.0 = 1; w.1 = 1; }); { let r = A.read().unwrap(); assert_eq!(r.0, r.1); } if let Ok(r) = A.try_read() { assert_eq!(r.0, r.1); } t.join().unwrap(); }"#,
            "robustness holds, races holds, assertions holds",
        ),
        (
            "once_race",
            r#"static mut D: u32 = 0; static O: Once = Once::new();
fn f() { O.call_once(|| unsafe { D += 1 }); assert_eq!(unsafe { D }, 1); }
fn main() { let t = thread::spawn(f); f(); t.join().unwrap(); }"#,
            "robustness holds, races holds, assertions holds",
        ),
        (
            "lazy",
            r#"static L: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2]);
fn main() { let t = thread::spawn(|| L.len()); assert_eq!(L[1], 2); assert_eq!(t.join().unwrap(), 2); }"#,
            "robustness holds, races holds, assertions holds",
        ),
        (
            "thread_local",
            r#"thread_local! { static T: Cell<u32> = const { Cell::new(1) }; }
fn main() { T.set(5); let t = thread::spawn(|| { let r = T.get(); T.set(9); r }); assert_eq!(t.join().unwrap(), 1); assert_eq!(T.get(), 5); }"#,
            "assertions holds",
        ),
        (
            "park",
            r#"static F: AtomicBool = AtomicBool::new(false);
fn main() { let t = thread::spawn(|| { while !F.load(Acquire) { thread::park(); } }); F.store(true, Release); t.thread().unpark(); t.join().unwrap(); }"#,
            "robustness holds",
        ),
        (
            "current_id",
            r#"fn main() { let me = thread::current().id(); let t = thread::spawn(move || thread::current().id() == me); assert!(!t.join().unwrap()); assert_eq!(thread::current().id(), me); }"#,
            "assertions holds",
        ),
        (
            "arc_count",
            r#"fn main() { let a = Arc::new(5); let b = a.clone(); let t = thread::spawn(move || assert_eq!(*b, 5)); t.join().unwrap(); assert_eq!(Arc::strong_count(&a), 1); assert_eq!(Arc::try_unwrap(a).unwrap(), 5); }"#,
            "assertions holds, races holds",
        ),
        (
            "cas_weak",
            r#"static X: AtomicU64 = AtomicU64::new(0);
fn inc() { let mut v = X.load(Relaxed); while let Err(n) = X.compare_exchange_weak(v, v + 1, Relaxed, Relaxed) { v = n; } }
fn main() { let t = thread::spawn(inc); inc(); t.join().unwrap(); assert_eq!(X.load(Relaxed), 2); }"#,
            "assertions holds",
        ),
        (
            "fetch_update",
            r#"static X: AtomicU16 = AtomicU16::new(0);
fn main() { let t = thread::spawn(|| { X.fetch_update(AcqRel, Acquire, |x| Some(x + 2)).unwrap(); }); X.fetch_or(1, Relaxed); t.join().unwrap(); let x = X.load(Relaxed); assert!(x == 3); }"#,
            "assertions holds",
        ),
        // A handle that another thread waits with.
        (
            "handle_moved",
            r#"fn main() { let a = thread::spawn(|| 4u32); let b = thread::spawn(move || a.join().unwrap() + 1); assert_eq!(b.join().unwrap(), 5); }"#,
            "assertions holds",
        ),
        // A thread that starts another.
        (
            "nested_spawn",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let a = thread::spawn(|| { let b = thread::spawn(|| { X.fetch_add(1, Relaxed); }); X.fetch_add(1, Relaxed); b.join().unwrap(); }); a.join().unwrap(); assert_eq!(X.load(Relaxed), 2); }"#,
            "assertions holds",
        ),
        (
            "big_closure",
            r#"fn main() { let v = [1u64, 2, 3, 4, 5]; let t = thread::spawn(move || v.iter().sum::<u64>()); assert_eq!(t.join().unwrap(), 15); }"#,
            "assertions holds",
        ),
        (
            "barrier",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let b = Arc::new(Barrier::new(2)); let c = b.clone(); let t = thread::spawn(move || { X.fetch_add(1, Relaxed); c.wait().is_leader() }); X.fetch_add(1, Relaxed); let l = b.wait().is_leader(); assert_eq!(X.load(Relaxed), 2); assert!(t.join().unwrap() != l); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "condvar",
            r#"fn main() { let p = Arc::new((Mutex::new(false), Condvar::new())); let q = p.clone(); let t = thread::spawn(move || { *q.0.lock().unwrap() = true; q.1.notify_one(); }); let g = p.1.wait_while(p.0.lock().unwrap(), |done| !*done).unwrap(); assert!(*g); drop(g); t.join().unwrap(); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "main_result",
            r#"fn main() -> Result<(), String> { let t = thread::spawn(|| 1); let x = t.join().map_err(|_| String::from("no"))?; assert_eq!(x, 1); Ok(()) }"#,
            "assertions holds",
        ),
        (
            "refcell",
            r#"fn main() { let c = RefCell::new(1); let a = c.borrow_mut(); let b = c.borrow_mut(); }"#,
            "assertions violated",
        ),
        (
            "nested_scope",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { thread::scope(|s| { s.spawn(|| { thread::scope(|t| { t.spawn(|| X.fetch_add(1, Relaxed)); }); X.fetch_add(1, Relaxed); }); }); assert_eq!(X.load(Relaxed), 2); }"#,
            "assertions holds",
        ),
        // A thread with a name.
        (
            "builder",
            r#"fn main() { let t = thread::Builder::new().name("w".into()).spawn(|| 2).unwrap(); assert_eq!(t.join().unwrap(), 2); }"#,
            "assertions holds",
        ),
        // What a closure owns is dropped by its thread.
        (
            "drop_order",
            r#"static D: AtomicU32 = AtomicU32::new(0); struct S; impl Drop for S { fn drop(&mut self) { D.fetch_add(1, Relaxed); } }
fn main() { let s = S; let t = thread::spawn(move || { let _s = s; }); t.join().unwrap(); assert_eq!(D.load(Relaxed), 1); }"#,
            "assertions holds",
        ),
        // What a thread returns is dropped by who joins it.
        (
            "result_drop",
            r#"static D: AtomicU32 = AtomicU32::new(0); struct S; impl Drop for S { fn drop(&mut self) { D.fetch_add(1, Relaxed); } }
fn main() { let t = thread::spawn(|| S); let s = t.join().unwrap(); assert_eq!(D.load(Relaxed), 0); drop(s); assert_eq!(D.load(Relaxed), 1); }"#,
            "assertions holds",
        ),
        (
            "weak",
            r#"fn main() { let a = Arc::new(AtomicU32::new(0)); let w = Arc::downgrade(&a); let t = thread::spawn(move || { if let Some(a) = w.upgrade() { a.store(1, Relaxed); } }); drop(a); t.join().unwrap(); }"#,
            "races holds, assertions holds",
        ),
        (
            "getmut",
            r#"fn main() { let mut a = Arc::new(1); let b = a.clone(); let t = thread::spawn(move || { let x = *b; }); t.join().unwrap(); *Arc::get_mut(&mut a).unwrap() = 2; assert_eq!(*a, 2); }"#,
            "races holds, assertions holds",
        ),
        (
            "getmut_racy",
            r#"fn main() { let mut a = Arc::new(1); let b = a.clone(); let t = thread::spawn(move || { let x = *b; }); if let Some(x) = Arc::get_mut(&mut a) { *x = 2; } t.join().unwrap(); }"#,
            "races holds, assertions holds",
        ),
        (
            "dynfn",
            r#"fn main() { let fs: Vec<Box<dyn FnOnce() -> u32 + Send>> = vec![Box::new(|| 1), Box::new(|| 2)]; let hs: Vec<_> = fs.into_iter().map(|f| thread::spawn(move || f())).collect(); let s: u32 = hs.into_iter().map(|h| h.join().unwrap()).sum(); assert_eq!(s, 3); }"#,
            "assertions holds",
        ),
        (
            "tagged",
            r#"static P: AtomicUsize = AtomicUsize::new(0);
fn main() { let b = Box::into_raw(Box::new(7u64)) as usize; P.store(b | 1, Release); let t = thread::spawn(|| { let p = P.load(Acquire); assert_eq!(p & 1, 1); assert_eq!(unsafe { *((p & !1) as *const u64) }, 7); }); t.join().unwrap(); unsafe { drop(Box::from_raw(b as *mut u64)) }; }"#,
            "races holds, assertions holds",
        ),
        (
            "uninit",
            r#"fn main() { let x: std::mem::MaybeUninit<u32> = std::mem::MaybeUninit::uninit(); let y = unsafe { x.assume_init() }; if y == 3 { println!("x"); } }"#,
            "assertions violated",
        ),
        (
            "peterson",
            r#"static F: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2]; static T: AtomicUsize = AtomicUsize::new(0); static mut C: u32 = 0;
fn lock(i: usize) { F[i].store(true, SeqCst); T.store(1 - i, SeqCst); while F[1 - i].load(SeqCst) && T.load(SeqCst) == 1 - i {} unsafe { C += 1 }; F[i].store(false, SeqCst); }
fn main() { let t = thread::spawn(|| lock(0)); lock(1); t.join().unwrap(); assert_eq!(unsafe { C }, 2); }"#,
            "races holds, assertions holds",
        ),
        (
            "peterson_ra",
            r#"static F: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2]; static T: AtomicUsize = AtomicUsize::new(0); static mut C: u32 = 0;
fn lock(i: usize) { F[i].store(true, Release); T.store(1 - i, Release); while F[1 - i].load(Acquire) && T.load(Acquire) == 1 - i {} unsafe { C += 1 }; F[i].store(false, Release); }
fn main() { let t = thread::spawn(|| lock(0)); lock(1); t.join().unwrap(); assert_eq!(unsafe { C }, 2); }"#,
            "robustness violated",
        ),
        (
            "enum_msg",
            r#"enum M { A(u32), B { x: u64, y: u8 } }
fn main() { let t = thread::spawn(|| M::B { x: 9, y: 2 }); match t.join().unwrap() { M::A(_) => panic!(), M::B { x, y } => assert_eq!(x + u64::from(y), 11) } }"#,
            "assertions holds",
        ),
        (
            "float",
            r#"static X: AtomicU64 = AtomicU64::new(0);
fn main() { let t = thread::spawn(|| X.store(1.5f64.to_bits(), Release)); t.join().unwrap(); assert_eq!(f64::from_bits(X.load(Acquire)) * 2.0, 3.0); }"#,
            "assertions holds",
        ),
        (
            "three_scope",
            r#"fn main() { let n = AtomicU32::new(0); thread::scope(|s| { for _ in 0..3 { s.spawn(|| { for _ in 0..2 { n.fetch_add(1, Relaxed); } }); } }); assert_eq!(n.load(Relaxed), 6); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "detach_drop",
            r#"static D: AtomicU32 = AtomicU32::new(0); struct S; impl Drop for S { fn drop(&mut self) { D.fetch_add(1, Relaxed); } }
fn main() { thread::spawn(|| S); }"#,
            "whose destructor is not run",
        ),
        (
            "ticket",
            r#"struct L { n: AtomicUsize, s: AtomicUsize, v: UnsafeCell<u32> } unsafe impl Sync for L {}
static K: L = L { n: AtomicUsize::new(0), s: AtomicUsize::new(0), v: UnsafeCell::new(0) };
fn f() { let t = K.n.fetch_add(1, Relaxed); while K.s.load(Acquire) != t { std::hint::spin_loop(); } unsafe { *K.v.get() += 1 }; K.s.store(t + 1, Release); }
fn main() { let h = [thread::spawn(f), thread::spawn(f)]; for t in h { t.join().unwrap(); } assert_eq!(unsafe { *K.v.get() }, 2); }"#,
            "robustness holds, races holds, assertions holds",
        ),
        (
            "stack_ref_escape",
            r#"static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn go() { let mut x = 1u32; P.store(&mut x, Release); }
fn main() { let t = thread::spawn(|| { let p = P.load(Acquire); if !p.is_null() { let y = unsafe { *p }; assert!(y <= 1 || y > 1); } }); go(); t.join().unwrap(); }"#,
            "violated",
        ),
        (
            "string",
            r#"fn main() { let mut s = String::from("ab"); s.push_str("cd"); let t = thread::spawn(move || s.len()); assert_eq!(t.join().unwrap(), 4); }"#,
            "assertions holds",
        ),
    ];
    for (name, text, answers) in cases {
        let said = check_text("program.rs", &format!("{HEAD}{text}\n"), &[]);
        for answer in answers.split(", ") {
            assert!(said.all.contains(answer), "{name}: no `{answer}` in\n{}", said.all);
        }
    }
}

/// Catches code that is misunderstood instead of refused, and refusals that do not say what is wrong where.
#[test]
fn what_has_no_meaning_is_refused_with_its_place() {
    if no_rustc() {
        return;
    }
    let cases = [
        ("fn f() {}", "there is no function `main`"),
        ("fn main() { let x: u32 = \"\"; }", "mismatched types"),
        (
            "extern \"C\" { fn other() -> i32; }\nfn main() { unsafe { other(); } }",
            "the function `other` is not defined in these files",
        ),
        ("fn main() { unsafe { std::arch::asm!(\"cli\") } }", "inline assembly: `cli`"),
        (
            "fn f(n: u32) -> u32 { f(n.wrapping_add(1)) }\nfn main() { f(0); }",
            "recursion without end",
        ),
        (
            "fn main() { thread::scope(|s| { s.spawn(|| { s.spawn(|| {}); }); }); }",
            "another thread of the scope",
        ),
        (
            "fn main() { let t = thread::spawn(|| {}); while !t.is_finished() {} }",
            "`is_finished`, which asks",
        ),
    ];
    for (text, why) in cases {
        let said = check_text("refused.rs", &format!("{HEAD}{text}\n"), &[]);
        assert_eq!(said.code, Some(2), "{text}: {}", said.all);
        assert!(said.all.contains(why), "{text}: no `{why}` in\n{}", said.all);
        assert!(said.all.contains("refused.rs"), "{text}: {}", said.all);
    }
}

/// Catches panics that are reported in the library instead of the user's line, and without what they say.
#[test]
fn a_panic_is_a_failed_assertion_in_the_users_file() {
    if no_rustc() {
        return;
    }
    let cases = [
        ("panic!(\"lost {} of {}\", X.load(Relaxed), 2)", "the thread panics: lost {} of 2"),
        ("panic!(\"lost\")", "the thread panics: lost"),
        ("assert!(1 > X.load(Relaxed))", "assertion failed: 1 > X.load(Relaxed)"),
        ("assert_eq!(X.load(Relaxed), 2)", "assertion `left == right` failed"),
        ("None::<u32>.expect(\"some\")", "the thread panics: some"),
        ("unreachable!()", "entered unreachable code"),
        ("[1, 2, 3][X.load(Relaxed) + 2]", "the len is 3 but the index is 3"),
    ];
    for (text, what) in cases {
        let text = format!(
            "{HEAD}static X: AtomicUsize = AtomicUsize::new(1);\nfn main() {{\n    let _ = {{\n        {text}\n    }};\n}}\n"
        );
        let said = check_text("panics.rs", &text, &[]);
        assert_eq!(said.code, Some(1), "{text}: {}", said.all);
        assert!(said.all.contains(what), "{text}: no `{what}` in\n{}", said.all);
        assert!(said.all.contains("panics.rs:6:"), "{text}: {}", said.all);
    }
}

/// Catches locks that wait for ever without a word, and threads that are not named by their closures.
#[test]
fn deadlocks_and_names() {
    if no_rustc() {
        return;
    }
    let text = "static A: Mutex<()> = Mutex::new(());\nstatic B: Mutex<()> = Mutex::new(());\nfn main() {\n\
        let t = thread::spawn(|| { let a = A.lock().unwrap(); let b = B.lock().unwrap(); });\n\
        let b = B.lock().unwrap(); let a = A.lock().unwrap();\ndrop((a, b)); t.join().unwrap();\n}\n";
    let said = check_text("locks.rs", &format!("{HEAD}{text}"), &[]);
    assert!(said.all.contains("can wait here forever"), "{}", said.all);
    let text = "static mut D: u32 = 0;\nfn main() {\nthread::spawn(|| unsafe { D = 1 });\nunsafe { D = 2 };\n}\n";
    let said = check_text("race.rs", &format!("{HEAD}{text}"), &[]);
    assert!(
        said.all.contains("`main::{closure#0}`") && said.all.contains("race on `D`"),
        "{}",
        said.all
    );
}

/// Catches functions and tests of a crate that cannot be named as what runs.
#[test]
fn functions_and_tests_are_entries() {
    if no_rustc() {
        return;
    }
    let text = "static X: AtomicU32 = AtomicU32::new(0);\nstatic Y: AtomicU32 = AtomicU32::new(0);\n\
        pub fn left() { X.store(1, Relaxed); Y.load(Relaxed); }\npub fn right() { Y.store(1, Relaxed); X.load(Relaxed); }\n\
        #[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn both() {\n\
        let t = thread::spawn(left);\n right();\n t.join().unwrap();\n assert_eq!(X.load(Relaxed), 1);\n }\n}\n";
    let text = format!("{HEAD}{text}");
    let said = check_text("crate.rs", &text, &["--entry", "left,right"]);
    assert!(said.all.contains("robustness violated"), "{}", said.all);
    let said = check_text("crate.rs", &text, &["--entry", "tests::both", "--", "--test"]);
    assert!(said.all.contains("robustness violated"), "{}", said.all);
    let said = check_text("crate.rs", &text, &["--entry", "missing"]);
    assert!(said.all.contains("there is no function `missing`"), "{}", said.all);
    assert_eq!(said.code, Some(2), "{}", said.all);
}
