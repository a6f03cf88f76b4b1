//! What programs look like in Promela. Catches changes of the text that nobody meant.

extern crate fencepost_export as export;

use insta::assert_snapshot;

fn exported(text: &str) -> String {
    let source = lang::parse("test.fp", text).expect("a good program");
    let promela = export::promela(&source.program).expect("nothing that Promela lacks");
    let (_, text) = promela.split_once("*/\n\n").expect("the explanation on top");
    text.to_string()
}

#[test]
fn a_lock_and_a_counter() {
    assert_snapshot!(exported(
        "
        max_value 3;
        global lock, count = 1;
        thread worker[2] {
            local r;
            BCAS(lock, 0, 1, acq, rlx);
            r = count.load(rlx);
            count.store(r + 1, rlx);
            lock.store(0, rel);
        }
        thread watcher {
            local seen;
            seen = wait(count, 2, 3, acq);
            assert(seen != 0);
        }
    "
    ));
}

#[test]
fn control_flow() {
    assert_snapshot!(exported(
        "
        max_value 1;
        global x;
        thread t {
            local r, s;
            oneof ({ x.store(1); } { fence(sc); } { r = 1; });
            while (r == s) { r = x.load(); }
            if (r) { s = !r; } else { assume(s == 1); }
            verify(s);
        }
    "
    ));
}

/// A register that is overwritten by the instruction that uses it needs a place to wait; an index
/// or divisor that may be wrong becomes an assertion.
#[test]
fn updates_and_errors() {
    assert_snapshot!(exported(
        "
        max_value 7;
        global int, a[3] = {1, 2, 3};
        thread t {
            local do, r;
            r = FADD(int, 3, acq, rel);
            r = FADD(int, r, acq, rel);
            do = CAS(int, r, r + 1);
            do = CAS(int, do, 2);
            CAS(int, do, 2);
            r = exchange(a[r], r);
            a[2].store(r % 2);
            do = r / (do - 1);
            if (r % do) { wait(a[do * 2], 0); }
        }
    "
    ));
}
