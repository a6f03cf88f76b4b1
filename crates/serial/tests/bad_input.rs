//! What is said about recordings that are not recordings: line number, text, reason.

extern crate fencepost_serial as serial;

use serial::judge::{Reading, judge};

fn complaint(input: &[u8], reading: Reading) -> String {
    judge(input, reading).map(|_| ()).expect_err("must be refused").to_string()
}

#[track_caller]
fn refused(input: &str, expected: &str) {
    assert_eq!(complaint(input.as_bytes(), Reading::Auto), expected);
}

#[test]
fn commit_without_write() {
    refused(
        "T1 wr x\nT1 commit x\nT1 commit x\n",
        "line 3: commit without write: thread T1 has no uncommitted write\n    T1 commit x",
    );
}

#[test]
fn commit_without_write_as_the_first_event() {
    refused(
        "# header\nT1 commit x\n",
        "line 2: commit without write: thread T1 has no uncommitted write\n    T1 commit x",
    );
}

#[test]
fn wrong_variable_committed() {
    refused(
        "T1 wr x\nT1 wr y\nT1 commit y @a.c:3\n",
        "line 3: wrong variable committed: the oldest uncommitted write of thread T1 is to x, not to \
         y\n    T1 commit y @a.c:3",
    );
}

#[test]
fn fence_with_a_non_empty_buffer() {
    refused(
        "T2 wr y\nT2 commit y\nT1 wr x\nT1 fence\n",
        "line 4: fence with a non-empty buffer: the write of thread T1 to x is not yet committed\n    \
         T1 fence",
    );
}

/// The commit that makes it an execution comes after the fence that makes it impossible.
#[test]
fn fence_with_a_non_empty_buffer_before_the_first_commit() {
    refused(
        "T1 wr x\nT1 fence\nT2 wr y\nT2 commit y\n",
        "line 2: fence with a non-empty buffer: the write of thread T1 to x is not yet committed\n    \
         T1 fence",
    );
}

#[test]
fn nested_begin() {
    refused(
        "T1 begin outer\nT1 rd x\nT1 begin inner\n",
        "line 3: nested begin: the transaction that this thread began at line 1 is still open\n    T1 \
         begin inner",
    );
}

#[test]
fn end_without_begin() {
    refused(
        "T1 begin\nT1 end\nT1 end\n",
        "line 3: end without begin: this thread has no transaction\n    T1 end",
    );
}

/// A program that was killed: what it did is judged all the same.
#[test]
fn an_unterminated_transaction_is_taken_to_end_with_the_recording() {
    let text = "T1 begin\nT1 rd x\nT2 wr x\nT1 wr x\n";
    let report = judge(text.as_bytes(), Reading::Auto).expect("accepted");
    assert!(!report.serializable());
    assert_eq!(
        report.warnings,
        ["thread T1 begins a transaction at line 1 that never ends: it is taken to end with the \
          recording"]
    );
}

/// What editors on other systems write.
#[test]
fn byte_order_mark_and_carriage_returns() {
    let text = "\u{feff}T1 begin take\r\nT1 rd x =1\r\n\r\nT1 end\r\n";
    let report = judge(text.as_bytes(), Reading::Auto).expect("accepted");
    assert_eq!((report.events, report.warnings.len()), (3, 0));
}

#[test]
fn values_and_sources() {
    refused("T1 wr x =1 =2\n", "line 1: unexpected value \"=2\"\n    T1 wr x =1 =2");
    refused("T1 rd x =\n", "line 1: `=` needs a value right after it\n    T1 rd x =");
    refused(
        "T1 wr x from T2#1\n",
        "line 1: `from` says where a read got its value: a write has none\n    T1 wr x from T2#1",
    );
    refused(
        "T1 rd x from T2#0\n",
        "line 1: \"T2#0\" is no source: expected init, or a thread and the number of one of its lines, \
         such as T2#7\n    T1 rd x from T2#0",
    );
    refused(
        "T2 wr y\nT1 rd x from T2#1\n",
        "line 2: line 1 of that thread is no earlier write to the variable that is read here\n    T1 rd \
         x from T2#1",
    );
    refused(
        "T1 wr x =1\nT1 fence\nT2 rd x =2\n",
        "line 3: nothing explains this read: no order of the commits gives it what it is said to have \
         read\n    T2 rd x =2",
    );
    refused(
        "T1 wr x =1\nT1 commit x\nT2 rd x =2\n",
        "line 3: this cannot have read 2: what it finds is 1, from T1#1\n    T2 rd x =2",
    );
}

#[test]
fn locks() {
    refused(
        "T1 lock m\nT2 lock m\n",
        "line 2: the lock m is not free: thread T1 holds it since line 1\n    T2 lock m",
    );
    refused(
        "T1 lock m\nT2 unlock m\n",
        "line 2: this thread does not hold the lock m\n    T2 unlock m",
    );
    refused(
        "T1 lock m\nT1 wr x\nT1 unlock m\nT2 lock m\nT1 commit x\n",
        "line 4: the lock m is taken before thread T1, which gave it back, has committed what it wrote \
         before\n    T2 lock m",
    );
}

#[test]
fn unknown_event_word() {
    refused(
        "T1 rd x\nT1 load x\n",
        "line 2: unknown event \"load\": expected begin, end, abort, rd, wr, rmw, commit, fence, lock or unlock\n    T1 load x",
    );
}

#[test]
fn not_utf_8() {
    assert_eq!(
        complaint(b"T1 rd x\nT1 rd \xff\xfe\n", Reading::Auto),
        "line 2: this line is not UTF-8 text\n    T1 rd \\xff\\xfe"
    );
}

#[test]
fn truncated_last_line() {
    refused(
        "T1 rd x\nT1 wr cou",
        "line 2: the input ends in the middle of this line (every line ends with a newline)\n    T1 wr \
         cou",
    );
}

#[test]
fn empty_file() {
    refused("", "line 1: the recording is empty: not a single event");
    refused("# nothing\n\n", "line 2: the recording is empty: not a single event");
}

#[test]
fn missing_and_superfluous_words() {
    refused(
        "T1\n",
        "line 1: only one word: after the thread \"T1\" an event is expected (begin, end, abort, rd, \
         wr, rmw, commit, fence, lock or unlock)\n    T1",
    );
    refused("T1 rd\n", "line 1: `rd` needs a variable\n    T1 rd");
    refused("T1 rd x y\n", "line 1: unexpected \"y\" after the event\n    T1 rd x y");
    refused("T1 fence x\n", "line 1: `fence` takes no argument, found \"x\"\n    T1 fence x");
    refused(
        "T1 rd x @here\n",
        "line 1: \"@here\" is not a place: expected @file:line\n    T1 rd x @here",
    );
    refused("T1 rd x @a.c:1 y\n", "line 1: unexpected \"y\" after the place\n    T1 rd x @a.c:1 y");
}

#[test]
fn commits_in_what_was_asked_to_be_a_trace() {
    assert_eq!(
        complaint(b"T1 wr x\nT1 commit x\n", Reading::Trace),
        "line 2: a trace shows no commits, and was asked to be read as one\n    T1 commit x"
    );
}

/// A violation before the bad line does not save the recording: nothing is half-reported.
#[test]
fn a_violation_does_not_hide_a_bad_line() {
    let lost_update = "T1 begin\nT1 rd x\nT2 wr x\nT2 commit x\nT1 wr x\nT1 commit x\nT1 end\n";
    assert!(!judge(lost_update.as_bytes(), Reading::Auto).expect("valid").serializable());
    refused(
        &format!("{lost_update}T1 commit x\n"),
        "line 8: commit without write: thread T1 has no uncommitted write\n    T1 commit x",
    );
}

/// Comments, blank lines, carriage returns and places are all fine.
#[test]
fn what_is_allowed() {
    let input =
        "# a run\r\n\r\nT1 begin take # the block\r\nT1 rd x @dir/a.c:12 # why\r\nT1 end\r\n";
    let report = judge(input.as_bytes(), Reading::Auto).expect("valid");
    assert_eq!((report.events, report.transactions), (3, 1));
}
