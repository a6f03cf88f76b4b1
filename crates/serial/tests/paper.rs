//! The examples of the paper, with the verdicts of the paper, and how they are reported.

extern crate fencepost_serial as serial;

use serial::execution::Question;
use serial::judge::{Monitor, Reading, Report, judge};
use serial::{random, read, report, write};

fn verdicts(report: &Report) -> [bool; 3] {
    Question::ALL.map(|question| report.answer(question).expect("asked").yes())
}

fn judged(recording: &str) -> Report {
    judge(recording.as_bytes(), Reading::Auto).expect("a valid recording")
}

/// Figure 2(a): the task pool of Figure 1 with one task left, taken twice.
const TASK_POOL: &str = "\
T1 begin alpha
T1 rd head @pool.c:2
T1 wr head @pool.c:2
T1 end
T2 begin delta
T2 rd tail @pool.c:12
T2 wr tail @pool.c:12
T2 end
T1 begin beta
T1 rd head @pool.c:3
T1 rd tail @pool.c:3
T2 begin gamma
T2 rd head @pool.c:13
T2 rd tail @pool.c:13
T1 rd pool0 @pool.c:4
T2 rd pool0 @pool.c:14
T1 wr pool0 @pool.c:5
T1 end
T2 wr pool0 @pool.c:15
T2 end
T1 commit head
T2 commit tail
T1 commit pool0
T2 commit pool0
";

#[test]
fn the_task_pool_is_neither_serializable_nor_robust() {
    assert_eq!(verdicts(&judged(TASK_POOL)), [false, false, false]);
}

#[test]
fn the_trace_of_the_task_pool_is_condemned_too() {
    let trace: String = TASK_POOL
        .lines()
        .filter(|line| !line.contains("commit"))
        .map(|l| format!("{l}\n"))
        .collect();
    let report = judged(&trace);
    assert_eq!(report.monitor, Monitor::Trace);
    assert_eq!(verdicts(&report), [false, false, false]);
    let answer = report.answer(Question::TsoSerializable).expect("asked");
    let execution = answer.execution.as_ref().expect("a trace's violation has an execution");
    let again = report::recording_text(execution, &report.names, "");
    assert!(!judged(&again).serializable(), "{again}");
}

/// The repair: a fence between the counter and the test. T2 then sees that T1 was first.
#[test]
fn the_fenced_task_pool_is_serializable() {
    let repaired = "\
T1 begin alpha
T1 rd head
T1 wr head
T1 commit head
T1 fence
T1 end
T2 begin delta
T2 rd tail
T2 wr tail
T2 commit tail
T2 fence
T2 end
T1 begin beta
T1 rd head
T1 rd tail
T2 begin gamma
T2 rd head
T2 rd tail
T2 wr tail
T2 commit tail
T2 end
T1 wr head
T1 commit head
T1 end
";
    assert!(verdicts(&judged(repaired))[2]);
    let one_takes = "\
T1 begin alpha
T1 rd head
T1 wr head
T1 commit head
T1 fence
T1 end
T1 begin beta
T1 rd head
T1 rd tail
T1 rd pool0
T1 wr pool0
T1 commit pool0
T1 end
T2 begin delta
T2 rd tail
T2 wr tail
T2 commit tail
T2 fence
T2 end
T2 begin gamma
T2 rd head
T2 rd tail
T2 wr tail
T2 commit tail
T2 end
";
    assert_eq!(verdicts(&judged(one_takes)), [true, true, true]);
}

/// The left program after Theorem 2: every event alone, TSO-serializable but not robust.
#[test]
fn left_of_theorem_2() {
    let execution = "\
T1 wr x
T2 wr y
T1 rd y
T2 rd x
T1 commit x
T2 commit y
";
    assert_eq!(verdicts(&judged(execution)), [true, false, false]);
    let trace = "T1 wr x\nT2 wr y\nT1 rd y\nT2 rd x\n";
    assert_eq!(verdicts(&judged(trace)), [true, false, false]);
}

/// The right program: thread 1 between the two events of thread 2's transaction. TSO does not order
/// thread 1's events, SC does.
#[test]
fn right_of_theorem_2() {
    let execution = "\
T2 begin
T2 rd x
T1 wr x
T1 commit x
T1 rd y
T2 wr y
T2 commit y
T2 end
";
    assert_eq!(verdicts(&judged(execution)), [true, false, true]);
}

/// The report as the user sees it.
#[test]
fn golden_report_of_the_task_pool() {
    let expected = "\
24 events in 4 transactions of 2 threads, 3 variables
judged by the execution monitor: the recording shows commits
TSO-serializable: no
SC-serializable: no
SC-equivalent: no

not TSO-serializable, not SC-serializable:
  alpha (T1, line 1)
    `T1 rd head` (line 2, pool.c:2) before `T1 rd head` (line 10, pool.c:3): program order
  beta (T1, line 9)
    `T1 rd tail` (line 11, pool.c:3) before `T2 commit tail` (line 22): conflict
  delta (T2, line 5)
    `T2 rd tail` (line 6, pool.c:12) before `T2 rd head` (line 13, pool.c:13): program order
  gamma (T2, line 12)
    `T2 rd head` (line 13, pool.c:13) before `T1 commit head` (line 21): conflict
  and so alpha (T1, line 1) before itself

not SC-equivalent:
  single event of T1 at line 3
    `T1 wr head` (line 3, pool.c:2) before `T1 rd tail` (line 11, pool.c:3): program order
  single event of T1 at line 11
    `T1 rd tail` (line 11, pool.c:3) before `T2 commit tail` (line 22): conflict
  single event of T2 at line 7
    `T2 wr tail` (line 7, pool.c:12) before `T2 rd head` (line 13, pool.c:13): program order
  single event of T2 at line 13
    `T2 rd head` (line 13, pool.c:13) before `T1 commit head` (line 21): conflict
  and so single event of T1 at line 3 before itself
";
    assert_eq!(report::text(&judged(TASK_POOL)), expected);
}

/// A shortest cycle, although the monitor itself finds a longer one first.
#[test]
fn the_cycle_shown_is_a_shortest() {
    let through_three = "\
T1 begin
T1 wr x
T1 commit x
T2 wr x
T2 commit x
T3 wr x
T3 commit x
T3 wr y
T3 commit y
T1 rd y
T1 end
";
    let report = judged(through_three);
    let answer = report.answer(Question::ScSerializable).expect("asked");
    assert_eq!(answer.violation.as_ref().map(|v| v.cycle.len()), Some(3));
    let lost_update = "\
T1 begin
T1 rd x
T2 wr x
T2 commit x
T3 wr x
T3 commit x
T4 wr x
T4 commit x
T1 wr x
T1 commit x
T1 end
";
    let report = judged(lost_update);
    let answer = report.answer(Question::TsoSerializable).expect("asked");
    assert_eq!(answer.violation.as_ref().map(|v| v.cycle.len()), Some(2));
}

/// The monitor for fenced traces is chosen, and its violation names an execution.
#[test]
fn fenced_traces_get_their_own_monitor() {
    let store_buffering = "\
T1 begin
T1 wr x
T2 begin
T2 wr y
T1 rd y
T2 rd x
T1 fence
T1 end
T2 fence
T2 end
";
    let report = judged(store_buffering);
    assert_eq!(report.monitor, Monitor::FencedTrace);
    assert_eq!(verdicts(&report), [false, false, false]);
    assert!(report.advice.is_none());
    let json = report::to_json(&report);
    assert!(
        json.contains("\"serializable\":false") && json.contains("oriented conflict"),
        "{json}"
    );
}

/// What the recorder writes, the reader reads.
#[test]
fn recorder_and_reader_agree() {
    let shape = random::Shape {
        threads: 3,
        vars: 4,
        events: 200,
        transaction: 3,
        commits: true,
        style: random::Style::Free,
        seed: 7,
    };
    let names = shape.names();
    let mut recorder = write::Recorder::new(Vec::new());
    recorder.comment("a random run").expect("memory");
    shape.generate(|event| {
        use serial::event::Action::{
            Abort, Begin, Commit, End, Fence, Lock, Read, Rmw, Unlock, Write,
        };
        let thread = names.of_thread(event.thread);
        let at = Some(("a.c", event.line));
        match event.action {
            Begin(_) => recorder.begin(thread, Some("block")),
            End => recorder.end(thread),
            Read(x) => recorder.read(thread, names.of_var(x), at),
            Write(x) => recorder.write(thread, names.of_var(x), at),
            Commit(x) => recorder.commit(thread, names.of_var(x)),
            Fence => recorder.fence(thread, at),
            Rmw(_) | Lock(_) | Unlock(_) | Abort => unreachable!("not made by this generator"),
        }
        .expect("memory");
    });
    let bytes = recorder.into_inner();
    let read: Vec<_> = read::Reader::new(&bytes[..]).collect::<Result<_, _>>().expect("valid");
    let words: Vec<_> = read.iter().map(|event| event.action.word()).collect();
    let made: Vec<_> = shape.events().iter().map(|event| event.action.word()).collect();
    assert_eq!(words, made);
    assert!(write::Recorder::new(Vec::new()).read("T 1", "x", None).is_err());
}
