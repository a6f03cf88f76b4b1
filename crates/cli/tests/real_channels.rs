//! Rust's channels and hash maps, as users share them between threads, with unmodified `std`.
//!
//! Each answer follows from RC11 and from what the documentation of the standard library promises. What it does not
//! promise is tested as much: a channel that orders more than it should would hide races.

mod rust_program;

use rust_program::{HEAD, check_text, no_rustc};

fn check_all(cases: &[(&str, &str, &str)]) {
    for (name, text, answers) in cases {
        let head = format!("{HEAD}use std::sync::mpsc::*; use std::collections::HashMap;\n");
        let said = check_text("program.rs", &format!("{head}{text}\n"), &[]);
        for answer in answers.split(", ") {
            assert!(said.all.contains(answer), "{name}: no `{answer}` in\n{}", said.all);
        }
    }
}

const ALL: &str = "robustness holds, races holds, assertions holds";

/// Several senders of a channel with little room: one that waits for room holds nobody up who does not, and sees what
/// room there is. Catches attempts that never end, room that is seen where there is none, and none where there is some.
#[test]
fn senders_and_room() {
    if no_rustc() {
        return;
    }
    let all = format!("{ALL}, liveness holds");
    for (name, text, answers) in [
        (
            "two_wait",
            r#"fn main() { let (s, r) = sync_channel(1); let q = s.clone(); let t = thread::spawn(move || s.send(1u32).unwrap()); let u = thread::spawn(move || q.send(2).unwrap());
assert_eq!(r.recv().unwrap() + r.recv().unwrap(), 3); t.join().unwrap(); u.join().unwrap(); }"#,
            &all[..],
        ),
        (
            "one_waits",
            r#"fn main() { let (s, r) = sync_channel(1); s.send(1u32).unwrap(); let q = s.clone(); let t = thread::spawn(move || q.send(2).unwrap());
assert!(s.try_send(3).is_err()); assert_eq!(r.recv(), Ok(1)); assert_eq!(r.recv(), Ok(2)); t.join().unwrap(); }"#,
            &all,
        ),
        (
            "room_for_both",
            r#"fn main() { let (s, r) = sync_channel(2); let q = s.clone(); let t = thread::spawn(move || q.send(2u32).unwrap());
assert!(s.try_send(3).is_ok()); assert_eq!(r.recv().unwrap() + r.recv().unwrap(), 5); t.join().unwrap(); }"#,
            "assertions holds, liveness holds",
        ),
        (
            "room_for_three",
            r#"fn main() { let (s, r) = sync_channel(3); let (p, q) = (s.clone(), s.clone()); let t = thread::spawn(move || p.send(1u32).unwrap()); let u = thread::spawn(move || q.send(2u32).unwrap());
assert!(s.try_send(3).is_ok()); assert_eq!(r.recv().unwrap() + r.recv().unwrap() + r.recv().unwrap(), 6); t.join().unwrap(); u.join().unwrap(); }"#,
            "assertions holds, liveness holds",
        ),
        (
            "perhaps_none",
            r#"fn main() { let (s, r) = sync_channel(1); let q = s.clone(); let t = thread::spawn(move || q.send(2u32).unwrap());
assert!(s.try_send(3).is_ok()); assert_eq!(r.recv().unwrap() + r.recv().unwrap(), 5); t.join().unwrap(); }"#,
            "assertions violated",
        ),
    ] {
        let head = format!("{HEAD}use std::sync::mpsc::*;\n");
        let said = check_text("program.rs", &format!("{head}{text}\n"), &["--liveness"]);
        for answer in answers.split(", ") {
            assert!(said.all.contains(answer), "{name}: no `{answer}` in\n{}", said.all);
        }
    }
}

/// Catches messages that are lost, come twice, in another order or with other contents, and ends that are not noticed.
#[test]
fn messages_arrive() {
    if no_rustc() {
        return;
    }
    check_all(&[
        (
            "two_senders",
            r#"fn main() { let (s, r) = channel(); let q = s.clone(); let t = thread::spawn(move || s.send(1u32).unwrap()); let u = thread::spawn(move || q.send(2).unwrap());
let mut n = 0; for x in r { n += x; } assert_eq!(n, 3); t.join().unwrap(); u.join().unwrap(); }"#,
            ALL,
        ),
        (
            "in_order",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u8).unwrap(); s.send(2).unwrap(); }); assert_eq!(r.recv(), Ok(1)); assert_eq!(r.recv(), Ok(2)); assert_eq!(r.recv(), Err(RecvError)); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "no_order_of_two",
            r#"fn main() { let (s, r) = channel(); let q = s.clone(); thread::spawn(move || s.send(1u32).unwrap()); thread::spawn(move || q.send(2).unwrap()); assert_eq!(r.recv(), Ok(1)); }"#,
            "assertions violated",
        ),
        (
            "box",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || s.send(Box::new((1u8, 7u64))).unwrap()); let b = r.recv().unwrap(); assert_eq!(b.1, 7); drop(b); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "enum_and_string",
            r#"enum M { A(String), B { x: u64, y: u8 }, C } fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(M::B { x: 9, y: 2 }).unwrap(); s.send(M::A("ab".to_string())).unwrap(); s.send(M::C).unwrap(); });
match r.recv().unwrap() { M::B { x, y } => assert_eq!(x + u64::from(y), 11), _ => panic!() } match r.recv().unwrap() { M::A(a) => assert_eq!(a.len(), 2), _ => panic!() } assert!(matches!(r.recv(), Ok(M::C))); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "reply",
            r#"fn main() { let (s, r) = channel::<(u32, Sender<u32>)>(); let t = thread::spawn(move || { for (x, to) in r { to.send(x + 1).unwrap(); } }); let (to, answer) = channel(); s.send((4, to)).unwrap(); assert_eq!(answer.recv(), Ok(5)); drop(s); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "workers",
            r#"fn main() { let (s, r) = channel(); let r = Arc::new(Mutex::new(r)); let h: Vec<_> = (0..2).map(|_| { let r = r.clone(); thread::spawn(move || r.lock().unwrap().recv().unwrap()) }).collect(); s.send(1u32).unwrap(); s.send(2).unwrap(); let n: u32 = h.into_iter().map(|t| t.join().unwrap()).sum(); assert_eq!(n, 3); }"#,
            ALL,
        ),
        (
            "attempts",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || s.send(1u32).unwrap()); loop { match r.try_recv() { Ok(x) => { assert_eq!(x, 1); break } Err(TryRecvError::Empty) => {} Err(TryRecvError::Disconnected) => panic!() } } t.join().unwrap(); assert_eq!(r.try_recv(), Err(TryRecvError::Disconnected)); }"#,
            "assertions holds",
        ),
        (
            "too_early",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || s.send(1u32).unwrap()); r.try_recv().unwrap(); t.join().unwrap(); }"#,
            "assertions violated",
        ),
        (
            "time_runs_out",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || s.send(1u32).unwrap()); match r.recv_timeout(std::time::Duration::from_millis(5)) { Ok(x) => assert_eq!(x, 1), Err(RecvTimeoutError::Timeout) => {} Err(_) => panic!() } t.join().unwrap(); }"#,
            "assertions holds",
        ),
        (
            "time_may_run_out",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || { let _ = s.send(1u32); }); r.recv_timeout(std::time::Duration::from_millis(5)).unwrap(); t.join().unwrap(); }"#,
            "assertions violated",
        ),
        (
            "receiver_gone",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || drop(r)); t.join().unwrap(); assert_eq!(s.send(5u32).unwrap_err().0, 5); }"#,
            ALL,
        ),
        (
            "receiver_may_be_gone",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || drop(r)); s.send(5u32).unwrap(); t.join().unwrap(); }"#,
            "assertions violated",
        ),
        // Who drops the receiver destroys what it has not received.
        (
            "left_over",
            r#"static D: AtomicU32 = AtomicU32::new(0); struct S(#[allow(dead_code)] u32); impl Drop for S { fn drop(&mut self) { D.fetch_add(1, Relaxed); } }
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { let _ = s.send(S(1)); let _ = s.send(S(2)); }); drop(r); t.join().unwrap(); assert_eq!(D.load(Relaxed), 2); }"#,
            "races holds, assertions holds",
        ),
        // The destructor of a message may use atomics of the message itself.
        (
            "left_over_with_atomics",
            r#"static D: AtomicU32 = AtomicU32::new(0); struct S(AtomicU32, u64); impl Drop for S { fn drop(&mut self) { if self.0.fetch_add(1, Relaxed) == 4 && self.0.load(Relaxed) == 5 { D.fetch_add(1, Relaxed); } } }
fn main() { let (s, r) = sync_channel(2); let t = thread::spawn(move || { let _ = s.send(S(AtomicU32::new(4), 1)); }); drop(r); t.join().unwrap(); assert_eq!(D.load(Relaxed), 1); }"#,
            "races holds, assertions holds",
        ),
        // A channel where another one was, whose messages were never received.
        (
            "one_after_the_other",
            r#"fn main() { for k in 0..2u32 { let (s, r) = channel(); let t = thread::spawn(move || { let _ = s.send(7); s }); if k == 0 { drop(r); t.join().unwrap(); } else { let s = t.join().unwrap(); s.send(k).unwrap(); assert_eq!(r.recv(), Ok(7)); assert_eq!(r.recv(), Ok(1)); assert!(r.try_recv().is_err()); } } }"#,
            ALL,
        ),
        (
            "reply_of_a_server_that_is_gone",
            r#"fn main() { let (s, r) = channel::<Sender<u32>>(); let t = thread::spawn(move || drop(r)); let (to, answer) = channel(); let _ = s.send(to); assert!(answer.recv().is_err()); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "room_for_one",
            r#"fn main() { let (s, r) = sync_channel(1); let t = thread::spawn(move || { s.send(Box::new(1u32)).unwrap(); s.send(Box::new(2)).unwrap(); }); assert_eq!(*r.recv().unwrap(), 1); assert_eq!(*r.recv().unwrap(), 2); assert!(r.recv().is_err()); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "no_room",
            r#"fn main() { let (s, r) = sync_channel(1); let t = thread::spawn(move || { assert!(s.try_send(1u32).is_ok()); assert!(matches!(s.try_send(2), Err(TrySendError::Full(2)))); s }); let s = t.join().unwrap(); assert_eq!(r.recv(), Ok(1)); drop(s); }"#,
            "assertions holds",
        ),
        // Threads that send and receive for ever come back to the same states.
        (
            "endless",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = sync_channel(1); let (back, free) = sync_channel(1); let t = thread::spawn(move || loop { unsafe { D = 1 }; s.send(()).unwrap(); free.recv().unwrap(); }); loop { r.recv().unwrap(); unsafe { assert_eq!(D, 1); D = 0 }; back.send(()).unwrap(); } }"#,
            ALL,
        ),
        (
            "nobody_sends",
            r#"fn main() { let (s, r) = channel::<u32>(); let t = thread::spawn(move || { let _ = r.recv(); }); t.join().unwrap(); drop(s); }"#,
            "can wait here forever",
        ),
    ]);
}

/// Catches channels that order too little, and those that order more than they promise and so hide races.
#[test]
fn a_receive_follows_the_send_of_its_message_and_nothing_else() {
    if no_rustc() {
        return;
    }
    check_all(&[
        (
            "what_was_written_before",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { unsafe { D = 1 }; s.send(()).unwrap(); }); r.recv().unwrap(); assert_eq!(unsafe { D }, 1); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "what_was_written_relaxed_before",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { X.store(1, Relaxed); s.send(()).unwrap(); }); r.recv().unwrap(); assert_eq!(X.load(Relaxed), 1); t.join().unwrap(); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "what_is_written_after",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(()).unwrap(); unsafe { D = 1 }; }); r.recv().unwrap(); let d = unsafe { D }; t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "a_message_of_another",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = channel(); let q = s.clone(); let t = thread::spawn(move || { unsafe { D = 1 }; s.send(1).unwrap(); }); let u = thread::spawn(move || q.send(2).unwrap()); if r.recv() == Ok(2) { let d = unsafe { D }; } t.join().unwrap(); u.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "a_message_of_its_own",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = channel(); let q = s.clone(); let t = thread::spawn(move || { unsafe { D = 1 }; s.send(1).unwrap(); }); let u = thread::spawn(move || q.send(2).unwrap()); if r.recv() == Ok(1) { let d = unsafe { D }; } t.join().unwrap(); u.join().unwrap(); }"#,
            ALL,
        ),
        // The second message was sent when the first is received, but it is not the one that is received.
        (
            "a_later_message",
            r#"static mut D: u32 = 0; static F: AtomicBool = AtomicBool::new(false);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1).unwrap(); unsafe { D = 1 }; s.send(2).unwrap(); F.store(true, Relaxed); }); while !F.load(Relaxed) {} r.recv().unwrap(); let d = unsafe { D }; t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "a_later_message_of_another",
            r#"static mut D: u32 = 0; static F: AtomicBool = AtomicBool::new(false);
fn main() { let (s, r) = channel(); let q = s.clone(); s.send(1).unwrap(); let t = thread::spawn(move || { unsafe { D = 1 }; q.send(2).unwrap(); F.store(true, Relaxed); }); while !F.load(Relaxed) {} r.recv().unwrap(); let d = unsafe { D }; t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "the_message_itself",
            r#"static mut D: u32 = 0; static F: AtomicBool = AtomicBool::new(false);
fn main() { let (s, r) = channel(); let q = s.clone(); s.send(1).unwrap(); let t = thread::spawn(move || { unsafe { D = 1 }; q.send(2).unwrap(); F.store(true, Relaxed); }); while !F.load(Relaxed) {} r.recv().unwrap(); r.recv().unwrap(); let d = unsafe { D }; t.join().unwrap(); }"#,
            ALL,
        ),
        // Waiting for room says nothing about what the receiver did.
        (
            "room",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = sync_channel(1); let t = thread::spawn(move || { unsafe { D = 1 }; r.recv().unwrap(); r.recv().unwrap(); }); s.send(1).unwrap(); s.send(2).unwrap(); let d = unsafe { D }; t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "the_end_of_senders",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = channel::<()>(); let t = thread::spawn(move || { unsafe { D = 1 }; drop(s); }); assert!(r.recv().is_err()); let d = unsafe { D }; t.join().unwrap(); }"#,
            "races violated",
        ),
    ]);
}

/// Catches channels whose receives come after sends of other messages, as far as robustness is concerned, and those that come after
/// too little.
#[test]
fn relaxed_accesses_beside_a_channel() {
    if no_rustc() {
        return;
    }
    check_all(&[
        // The first receive has nothing to do with the second send, nor with what comes before that.
        (
            "after_a_send",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u32).unwrap(); X.store(1, Relaxed); s.send(2).unwrap(); }); r.recv().unwrap(); let x = X.load(Relaxed); r.recv().unwrap(); assert_eq!(X.load(Relaxed), 1); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "after_a_send_with_room_for_two",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = sync_channel(2); let t = thread::spawn(move || { s.send(1u32).unwrap(); X.store(1, Relaxed); s.send(2).unwrap(); X.store(2, Relaxed); s.send(3); }); r.recv().unwrap(); let x = X.load(Relaxed); r.recv().unwrap(); assert!(X.load(Relaxed) >= 1); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "before_a_receive",
            r#"static Y: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u32).unwrap(); s.send(2).unwrap(); Y.store(1, Relaxed); }); let y = Y.load(Relaxed); r.recv().unwrap(); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "a_loop_of_attempts",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u32).unwrap(); X.store(1, Relaxed); s.send(2).unwrap(); }); while r.try_recv().is_err() {} let x = X.load(Relaxed); t.join().unwrap(); }"#,
            ALL,
        ),
        // What others send has nothing to do with a message.
        (
            "two_senders",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let q = s.clone(); s.send(1u32).unwrap(); let t = thread::spawn(move || { X.store(1, Relaxed); q.send(2).unwrap(); }); r.recv().unwrap(); let x = X.load(Relaxed); t.join().unwrap(); }"#,
            ALL,
        ),
        // The flag says that the message was sent, and orders nothing.
        (
            "a_flag_for_an_attempt",
            r#"static Y: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u32).unwrap(); Y.store(1, Relaxed); }); if Y.load(Relaxed) == 1 { r.try_recv().unwrap(); } t.join().unwrap(); }"#,
            "robustness violated, assertions violated",
        ),
        (
            "a_flag_that_orders",
            r#"static Y: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u32).unwrap(); Y.store(1, Release); }); if Y.load(Acquire) == 1 { r.try_recv().unwrap(); } t.join().unwrap(); }"#,
            "robustness holds, assertions holds",
        ),
        (
            "neither_sees_the_other",
            r#"static Y: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { s.send(1u32).unwrap(); Y.load(Relaxed) }); Y.store(1, Relaxed); let a = r.try_recv().is_ok(); let b = t.join().unwrap(); assert!(a || b == 1); }"#,
            "robustness violated, assertions violated",
        ),
        (
            "room_orders_nothing",
            r#"static X: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = sync_channel(1); let t = thread::spawn(move || { s.send(1u32).unwrap(); s.send(2).unwrap(); assert_eq!(X.load(Relaxed), 1); }); X.store(1, Relaxed); r.recv().unwrap(); t.join().unwrap(); }"#,
            "robustness violated",
        ),
    ]);
}

/// Catches senders that do not wait for the receiver, or for more than that, and attempts that succeed alone.
#[test]
fn channels_without_room() {
    if no_rustc() {
        return;
    }
    check_all(&[
        (
            "both_ways",
            r#"static mut D: u32 = 0; static mut E: u32 = 0;
fn main() { let (s, r) = sync_channel(0); let t = thread::spawn(move || { unsafe { D = 1 }; s.send(1u32).unwrap(); assert_eq!(unsafe { E }, 1); s.send(2).unwrap(); }); unsafe { E = 1 }; assert_eq!(r.recv(), Ok(1)); assert_eq!(unsafe { D }, 1); assert_eq!(r.recv(), Ok(2)); assert!(r.recv().is_err()); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "what_follows_the_receive",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = sync_channel(0); let t = thread::spawn(move || { s.send(1u32).unwrap(); let d = unsafe { D }; }); r.recv().unwrap(); unsafe { D = 1 }; t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "two_senders",
            r#"fn main() { let (s, r) = sync_channel(0); let q = s.clone(); let t = thread::spawn(move || s.send(Box::new(1u32)).unwrap()); let u = thread::spawn(move || q.send(Box::new(2)).unwrap()); let mut n = 0; for x in r { n += *x; } assert_eq!(n, 3); t.join().unwrap(); u.join().unwrap(); }"#,
            ALL,
        ),
        (
            "attempts",
            r#"fn main() { let (s, r) = sync_channel(0); assert!(matches!(s.try_send(1u32), Err(TrySendError::Full(1)))); assert!(r.try_recv().is_err()); let t = thread::spawn(move || r.recv().unwrap()); loop { match s.try_send(7) { Ok(()) => break, Err(TrySendError::Full(_)) => {}, Err(_) => panic!() } } assert_eq!(t.join().unwrap(), 7); }"#,
            ALL,
        ),
        (
            "an_attempt_to_receive",
            r#"fn main() { let (s, r) = sync_channel(0); let t = thread::spawn(move || { let _ = s.send(3u32); }); match r.try_recv() { Ok(x) => assert_eq!(x, 3), Err(TryRecvError::Empty) => {} Err(_) => panic!() } drop(r); t.join().unwrap(); }"#,
            "assertions holds",
        ),
        (
            "the_attempt_may_succeed",
            r#"fn main() { let (s, r) = sync_channel(0); let t = thread::spawn(move || { let _ = s.send(3u32); }); assert!(r.try_recv().is_err()); drop(r); t.join().unwrap(); }"#,
            "assertions violated",
        ),
        (
            "receiver_gone",
            r#"fn main() { let (s, r) = sync_channel(0); let t = thread::spawn(move || drop(r)); assert_eq!(s.send(5u32).unwrap_err().0, 5); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "nobody_receives",
            r#"fn main() { let (s, r) = sync_channel(0); s.send(1u32).unwrap(); r.recv().unwrap(); }"#,
            "can wait here forever",
        ),
    ]);
}

/// Catches rings that are too small for what is on its way, and ends of channels that lose or make up messages.
#[test]
fn many_messages_and_ends() {
    if no_rustc() {
        return;
    }
    check_all(&[
        (
            "five_on_their_way",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || { for k in 0..5u32 { s.send(k).unwrap(); } }); t.join().unwrap(); for k in 0..5 { assert_eq!(r.recv(), Ok(k)); } assert!(r.recv().is_err()); }"#,
            ALL,
        ),
        (
            "before_there_are_threads",
            r#"fn main() { let (s, r) = channel(); for k in 0..20u32 { s.send(k).unwrap(); } for k in 0..3 { assert_eq!(r.recv(), Ok(k)); } let t = thread::spawn(move || { for k in 3..20u32 { assert_eq!(r.recv(), Ok(k)); } assert_eq!(r.recv(), Ok(99)); }); s.send(99); t.join().unwrap(); }"#,
            ALL,
        ),
        (
            "more_and_more",
            r#"fn main() { let (s, r) = channel(); let t = thread::spawn(move || loop { if s.send(1u32).is_err() { break } }); r.recv().unwrap(); drop(r); t.join().unwrap(); }"#,
            "the messages on their way through a channel` grows without bound",
        ),
        (
            "one_place_for_two",
            r#"fn main() { let (s, r) = sync_channel(1); let q = s.clone(); let t = thread::spawn(move || s.try_send(1u32).is_ok()); let u = q.try_send(2).is_ok(); let t = t.join().unwrap(); assert!(t ^ u); let x = r.recv().unwrap(); assert!(x == 1 && t || x == 2 && u); assert!(r.try_recv().is_err()); }"#,
            ALL,
        ),
        (
            "no_room_and_then_nobody",
            r#"fn main() { let (s, r) = sync_channel(1); s.send(Box::new(1u32)).unwrap(); let t = thread::spawn(move || s.send(Box::new(2u32)).is_ok()); let u = thread::spawn(move || drop(r)); u.join().unwrap(); assert!(!t.join().unwrap()); }"#,
            ALL,
        ),
        (
            "endless",
            r#"static mut D: u32 = 0;
fn main() { let (s, r) = channel(); let (back, free) = channel(); let t = thread::spawn(move || loop { unsafe { D = 1 }; s.send(()).unwrap(); free.recv().unwrap(); }); loop { r.recv().unwrap(); unsafe { assert_eq!(D, 1); D = 0 }; back.send(()).unwrap(); } }"#,
            ALL,
        ),
    ]);
}

/// What is left when the receiver goes is thrown away also where weak memory is explored: how much there is makes no difference
/// to the thread that does it. Catches threads that remember it, and so have no end.
#[test]
fn what_is_left_is_thrown_away_on_weak_memory() {
    if no_rustc() {
        return;
    }
    let text = "use std::sync::mpsc::*;\nstatic X: AtomicU32 = AtomicU32::new(0); static Y: AtomicU32 = AtomicU32::new(0);
fn main() { let (s, r) = channel(); let t = thread::spawn(move || { let _ = s.send(1u32); let _ = s.send(2); X.store(1, Relaxed); Y.load(Relaxed) });
Y.store(1, Relaxed); let a = X.load(Relaxed); drop(r); let b = t.join().unwrap(); assert!(a + b <= 2); }";
    let said = check_text("program.rs", &format!("{HEAD}{text}\n"), &["--require", "safe"]);
    for answer in ["robustness violated", "assertions holds in all executions of the weak memory"] {
        assert!(said.all.contains(answer), "no `{answer}` in\n{}", said.all);
    }
    let said = check_text("program.rs", &format!("{HEAD}{text}\n"), &["--model", "tso"]);
    assert!(said.all.contains("robustness violated"), "{}", said.all);
}

/// Catches memory that is accessed in several sizes and mistaken for something else.
#[test]
fn hash_maps_are_shared() {
    if no_rustc() {
        return;
    }
    check_all(&[
        (
            "map_behind_a_mutex",
            r#"fn main() { let m = Arc::new(Mutex::new(HashMap::new())); let n = m.clone(); let t = thread::spawn(move || { n.lock().unwrap().insert(1u32, 10u32); }); m.lock().unwrap().insert(2, 20); t.join().unwrap(); let m = m.lock().unwrap(); assert_eq!(m.len(), 2); assert_eq!(m.get(&1), Some(&10)); }"#,
            "races holds, assertions holds",
        ),
        (
            "map_behind_a_lock_for_readers",
            r#"fn main() { let m = Arc::new(RwLock::new(HashMap::from([(1u32, 1u32)]))); let n = m.clone(); let t = thread::spawn(move || { n.write().unwrap().insert(1, 2); }); let x = m.read().unwrap()[&1]; assert!(x == 1 || x == 2); t.join().unwrap(); assert_eq!(m.read().unwrap()[&1], 2); }"#,
            "races holds, assertions holds",
        ),
        (
            "a_map_without_a_lock",
            r#"struct M(UnsafeCell<HashMap<u32, u32>>); unsafe impl Sync for M {}
fn main() { let m = Arc::new(M(UnsafeCell::new(HashMap::from([(1, 1)])))); let n = m.clone(); let t = thread::spawn(move || unsafe { (*n.0.get()).insert(1, 2); }); let x = unsafe { (*m.0.get()).get(&1).copied() }; t.join().unwrap(); }"#,
            "races violated",
        ),
        (
            "lost_in_between",
            r#"fn main() { let m = Arc::new(Mutex::new(HashMap::from([(1u32, 0u32)]))); let n = m.clone(); let t = thread::spawn(move || { let x = n.lock().unwrap()[&1]; n.lock().unwrap().insert(1, x + 1); }); let x = m.lock().unwrap()[&1]; m.lock().unwrap().insert(1, x + 1); t.join().unwrap(); assert_eq!(m.lock().unwrap()[&1], 2); }"#,
            "assertions violated",
        ),
    ]);
}
