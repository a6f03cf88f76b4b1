//! Judged recordings, as the user reads them.

extern crate fencepost_report as report;

use report::recording;
use report::text::{Look, render};
use serial::judge::{Reading, judge};

/// Names in a recording can hold anything but blanks; on a terminal they must not act. Catches a line that is
/// shown as it was read, and lines that run together.
#[test]
fn names_do_not_act_on_the_terminal() {
    let hostile = "T1 begin \u{1b}[2J\nT1 rd x\nT2 wr x\nT1 wr x\nT1 end\n";
    let judged = judge(hostile.as_bytes(), Reading::Trace).expect("a recording");
    assert!(!judged.serializable());
    let text = render(&recording::document(&judged), &Look::PLAIN);
    assert!(!text.contains('\u{1b}') && text.contains("[2J"), "{text}");
    assert!(text.lines().count() > 8, "{text}");
}
