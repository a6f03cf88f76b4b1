//! What programs look like in Promela and in C. Catches changes of the text that nobody meant.

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

fn exported_to_c(text: &str) -> Result<String, String> {
    let source = lang::parse("test.fp", text).expect("a good program");
    export::c(&source.program).map_err(|error| error.to_string())
}

/// Every kind of access, order and jump, and every helper.
#[test]
fn c_has_a_word_for_most() {
    let text = "
        global lock, a[3] = {1, 2, 3};
        na data = 7;
        thread worker[2] {
            local r, s;
            BCAS(lock, 0, 1, acq, rlx);
            r = data.naload();
            data.nastore(r + 1);
            lock.store(0, rel);
            r = FADD(a[1], 1, acq, rel);
            r = CAS(a[r % 3], r, 2, sc, sc, rlx);
            s = exchange(lock, r / s);
            fetch_nand(lock, s & 3);
            fence(seq_cst);
        }
        thread watcher {
            local seen;
            seen = wait(a[0], 2, 3, acq);
            oneof ({ assume(seen == 2); } { fence(acq); } { seen = -seen; });
            while (seen > 1) { seen = lock.load(sc); }
            assert(seen != 0);
        }
    ";
    assert_snapshot!(exported_to_c(text).expect("C can say all of it"));
}

/// Catches read-modify-writes that would silently wrap around elsewhere, and words that C lacks.
#[test]
fn c_does_not_have_a_word_for_everything() {
    for (text, why) in [
        (
            "max_value 5; global x; thread t { FADD(x, 1); }",
            "thread t: `fetch_add` on values 0..=5 wraps around where no integer type of C does; \
             values 0..=255 (`max_value 255`), or those of another type, can be written",
        ),
        (
            "global x; thread t { fence(x); x.store(1); }",
            "thread t: a fence for some locations only, which C and Rust have no word for",
        ),
        (
            "global x; thread t { atomic { x.store(1); } }",
            "thread t: a transaction, which C and Rust have no word for",
        ),
    ] {
        assert_eq!(exported_to_c(text), Err(why.to_string()));
    }
}
