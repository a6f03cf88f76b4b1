//! `fencepost serial`: recordings, good and bad.

mod run;

use run::{Desk, run_at_root};
use serde_json::Value;

/// What is said about a recording that is none: one message with line and text, and nothing else.
fn refused(recording: impl AsRef<[u8]>) -> String {
    let run = Desk::new().and("run.txt", recording).run("serial run.txt");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.all());
    run.all()
}

#[test]
fn commit_without_write() {
    golden!(refused("T1 wr x\nT1 commit x\nT1 commit x @pool.c:7\n"));
}

#[test]
fn wrong_variable_committed() {
    golden!(refused("T1 wr x\nT1 wr y\nT1 commit y\n"));
}

#[test]
fn fence_with_non_empty_buffer() {
    golden!(refused("T2 wr y\nT2 commit y\nT1 wr x\nT1 fence\n"));
}

#[test]
fn nested_begin() {
    golden!(refused("T1 begin take\nT1 rd x\nT1 begin again\nT1 end\n"));
}

#[test]
fn end_without_begin() {
    golden!(refused("T1 begin\nT1 rd x\nT1 end\nT1 end\n"));
}

#[test]
fn transaction_without_end() {
    let run = Desk::new().and("run.txt", "T1 begin take\nT1 rd x\n").run("serial run.txt");
    assert_eq!(run.code, Some(0));
    golden!(run.all());
}

#[test]
fn unknown_word() {
    golden!(refused("T1 rd x\nT1 flush\n"));
}

#[test]
fn not_utf_8() {
    golden!(refused(b"T1 rd x\nT1 rd \xff\xfe\n"));
}

#[test]
fn truncated_last_line() {
    golden!(refused("T1 wr counter\nT1 wr count"));
}

#[test]
fn empty_file() {
    golden!(refused(""));
}

#[test]
fn only_comments() {
    golden!(refused("# a recording\n\n# of nothing\n"));
}

#[test]
fn missing_file() {
    let run = Desk::new().run("serial nowhere.txt");
    assert_eq!(run.code, Some(2));
    golden!(run.all());
}

/// Commits in what the user says is a trace.
#[test]
fn commits_in_a_trace() {
    let desk = Desk::new().and("run.txt", "T1 wr x\nT1 commit x\n");
    let run = desk.run("serial --as trace run.txt");
    assert_eq!(run.code, Some(2));
    golden!(run.all());
}

const LOST_UPDATE: &str = "\
T1 begin deposit
T1 rd balance @bank.c:7
T2 begin deposit
T2 rd balance @bank.c:7
T1 wr balance @bank.c:8
T1 commit balance
T1 end
T2 wr balance @bank.c:8
T2 commit balance
T2 end
";

#[test]
fn an_execution_that_is_not_atomic() {
    let run = Desk::new().and("run.txt", LOST_UPDATE).run("serial run.txt");
    assert_eq!(run.code, Some(1));
    golden!(run.all());
}

/// The execution that a trace's verdict comes with can be judged by itself.
#[test]
fn a_trace_that_is_not_atomic() {
    let trace: String =
        LOST_UPDATE.lines().filter(|l| !l.contains("commit")).map(|l| format!("{l}\n")).collect();
    let desk = Desk::new().and("run.txt", trace);
    let run = desk.run("serial run.txt");
    assert_eq!(run.code, Some(1));
    golden!(run.all());
    let json: Value =
        serde_json::from_str(&desk.run("serial --json run.txt").stdout).expect("JSON");
    let shown = json["answers"][0]["execution"].as_array().expect("an execution");
    let lines: String =
        shown.iter().map(|l| format!("{}\n", l.as_str().expect("a line"))).collect();
    let again = desk.and("again.txt", lines).run("serial again.txt");
    assert_eq!(again.code, Some(1), "{}", again.all());
}

#[test]
fn a_drawing() {
    let desk = Desk::new().and("run.txt", LOST_UPDATE);
    let run = desk.run("serial --dot out.dot --html out.html --svg out.svg run.txt");
    assert_eq!(run.code, Some(1));
    golden!(std::fs::read_to_string(desk.path().join("out.dot")).expect("a graph"));
    let page = std::fs::read_to_string(desk.path().join("out.html")).expect("a page");
    let nodes = page.matches("class=\"node").count();
    assert_eq!(nodes, 4, "a node for each transaction, once for wide and once for narrow pages");
    assert!(desk.path().join("out.svg").exists());
}

/// Random recordings are valid, and a seed stands for one of them.
#[test]
fn random_recordings() {
    for commits in ["", "--commits"] {
        let arguments = format!("serial --random --threads 3 --events 60 --seed 5 {commits}");
        let desk = Desk::new();
        let (one, two) = (desk.run(&arguments), desk.run(&arguments));
        assert_eq!((one.code, &one.stdout), (Some(0), &two.stdout));
        let judged = desk.and("run.txt", &one.stdout).run("serial run.txt");
        assert!(matches!(judged.code, Some(0 | 1)), "{}", judged.all());
    }
}

#[test]
fn a_program_that_is_not_atomic() {
    let run = run_at_root("serial --from corpus/serial/task-pool-undo-apart.fp");
    assert_eq!(run.code, Some(1));
    golden!(run.all());
}

#[test]
fn a_program_that_is_atomic() {
    let runs = ["task-pool-undo-apart-fenced", "theorem-2-left", "theorem-2-right"]
        .map(|name| run_at_root(&format!("serial --from corpus/serial/{name}.fp")));
    assert!(runs.iter().all(|run| run.code == Some(0)));
    golden!(runs.map(|run| run.all()).join("\n"));
}

/// The execution that condemns a program is a recording that can be judged by itself.
#[test]
fn executions_of_programs_are_recordings() {
    let run = run_at_root("serial --json --from corpus/serial/task-pool.fp");
    let mut judged = 0;
    for line in run.stdout.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["property"] != "serializability" {
            continue;
        }
        let execution = answer["witness"]["execution"].as_array().expect("an execution");
        let text = |line: &Value| format!("{}\n", line.as_str().expect("a line"));
        let recording: String = execution.iter().map(text).collect();
        let again = Desk::new().and("run.txt", recording).run("serial --json run.txt");
        let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
        let question = if answer["model"] == "tso" { 0 } else { 1 };
        assert_eq!(again["answers"][question]["answer"], false, "{line}");
        judged += 1;
    }
    assert_eq!(judged, 2);
}

/// Limits are reached, named, and never taken for an answer.
#[test]
fn limits_of_a_program() {
    let desk = Desk::with(
        "max_value 1; global x, y;\n\
         thread t { local a; while (a == 0) { x.store(1); a = y.load(); } }\n\
         thread u { local b; y.store(1); b = x.load(); }\n",
    );
    let runs = ["--limit-buffer 2", "--limit-states 20", "--limit-time 0s", "--limit-memory 1K"]
        .map(|limit| desk.run(&format!("serial {limit} --from t.fp")));
    assert!(runs.iter().all(|run| run.code == Some(3)));
    golden!(runs.map(|run| run.all()).join("\n"));
}

/// Marks that do not match, bus locks, and text that is no program.
#[test]
fn programs_that_cannot_be_explored() {
    let programs = [
        "global x;\nthread t {\n  atomic begin;\n  x.store(1);\n}\n",
        "global x;\nthread t {\n  x.store(1);\n  atomic end;\n}\n",
        "global x;\nthread t {\n  atomic {\n    x.store(1)\n  }\n}\n",
        "thread t initial a\ntransition a b lock\ntransition b c unlock\nend\n",
    ];
    let runs = programs.map(|program| Desk::with(program).run("serial --from t.fp"));
    assert!(runs.iter().all(|run| run.code == Some(2) && run.stdout.is_empty()));
    golden!(runs.map(|run| run.all()).join("\n"));
}

/// A program gets the same faces as a recording: a node for each transaction of the cycle.
#[test]
fn a_page_about_a_program() {
    let desk = Desk::with(
        "global balance;\nthread teller[2] {\n  local b;\n  atomic {\n    b = balance.load();\n    \
         balance.store(b + 1);\n  }\n}\n",
    );
    let run = desk.run("serial --from t.fp --html out.html --sarif out.sarif --junit out.xml");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let page = std::fs::read_to_string(desk.path().join("out.html")).expect("a page");
    assert!(page.contains("tso-serializability") && page.contains("class=\"node"));
    let sarif = std::fs::read_to_string(desk.path().join("out.sarif")).expect("a document");
    assert!(sarif.contains("FP0012"));
    assert_eq!(desk.run("serial --from t.fp --html t.fp").code, Some(2), "never over its input");
}
