//! Checks by several processes: `check --hosts` and `cluster run`.
//!
//! What these would catch: processes that answer differently from one process, or from each other; a lost process that
//! hangs or aborts the others; a checkpoint that changes the answer; mistakes of the user that are not named.

mod run;

use run::{Desk, Run, run_at_root};
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Small programs of all kinds.
const CORPUS: &str = "corpus/litmus/sb-rlx.fp corpus/litmus/mp-ra.fp corpus/litmus/iriw-ra.fp corpus/litmus/mp-na-race.fp \
    corpus/algorithms/peterson-rel-acq.fp corpus/algorithms/peterson-fences.fp corpus/algorithms/seqlock-one-writer.fp \
    corpus/algorithms/tas-lock-rlx.fp corpus/algorithms/ticket-lock-3.fp corpus/algorithms/rcu-rlx-ack.fp \
    corpus/algorithms/refcount-no-fence.fp corpus/seq-cst/szymanski.fp corpus/weak/store-buffering-harmless.fp \
    corpus/weak/store-buffering-harmful.fp corpus/premises";

/// What was asked of what, the answer, and how long a witness is.
fn answers(run: &Run) -> Vec<(String, String, String, Option<usize>)> {
    let parse = |line| serde_json::from_str::<Value>(line).expect("a line is an object");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    run.stdout
        .lines()
        .map(parse)
        .map(|object| {
            let length = object["witness"]["run"].as_array().map(Vec::len);
            (text(&object["file"]), text(&object["property"]), text(&object["verdict"]), length)
        })
        .collect()
}

/// The same verdicts, and witnesses as short, as one process has.
#[test]
fn the_corpus_gets_the_answers_of_one_process() {
    for model in ["rc11", "tso"] {
        // A brief look at the weak memory ends when it is time.
        let asked = format!("check --json --model {model} {CORPUS}");
        let alone = run_at_root(&asked);
        let together = run_at_root(&format!("cluster run --processes 2 -- {asked}"));
        assert_eq!(together.code, alone.code, "{}", together.stderr);
        let (alone, together) = (answers(&alone), answers(&together));
        assert!(alone.len() > 30, "{alone:?}");
        assert_eq!(together.len(), alone.len());
        for ((file, property, verdict, length), alone) in together.iter().zip(&alone) {
            assert_eq!((file, property, verdict), (&alone.0, &alone.1, &alone.2));
            // Of findings at the same depth one process takes the first, which may take more steps.
            let as_short = length.is_some() == alone.3.is_some() && *length <= alone.3;
            assert!(as_short, "{file} {property}: {length:?} steps, alone {:?}", alone.3);
        }
    }
}

/// Threads with nothing in common: (steps + 1)^threads states.
fn counters(threads: usize, steps: usize) -> String {
    let names: Vec<String> = (0..threads).map(|k| format!("x{k}")).collect();
    let mut text = format!("max_value 100;\nglobal {};\n", names.join(", "));
    for name in names {
        let stores: String = (1..=steps).map(|k| format!("{name}.store({k}); ")).collect();
        text.push_str(&format!("thread t_{name} {{ {stores}}}\n"));
    }
    text
}

/// Addresses on this machine at which nobody listens.
fn addresses(count: usize) -> String {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    let addresses = listeners.iter().map(|l| l.local_addr().expect("an address").to_string());
    addresses.collect::<Vec<_>>().join(",")
}

fn start(desk: &Desk, arguments: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(arguments.split_whitespace())
        .current_dir(desk.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

fn end(child: Child) -> Run {
    let output = child.wait_with_output().expect("it ends");
    Run {
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        code: output.status.code(),
    }
}

/// Starts a process for each address.
fn start_all(desk: &Desk, count: usize, arguments: &str) -> Vec<Child> {
    let hosts = addresses(count);
    (0..count)
        .map(|k| start(desk, &format!("check --hosts {hosts} --process {k} {arguments}")))
        .collect()
}

fn wait_for(folder: &Path, name: &str) {
    let path = folder.join(name);
    for _ in 0..6000 {
        if path.metadata().is_ok_and(|data| data.len() > 1000) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} was never written", path.display());
}

/// When a process is killed, the others say which and how far they were, and end. The same command with --resume comes to
/// the answer.
#[test]
fn a_killed_process_and_a_resumed_search() {
    let desk = Desk::with(&counters(5, 12));
    let asked = "--model sc --reduce none --checkpoint saved --checkpoint-every 100ms --json t.fp";
    let mut processes = start_all(&desk, 3, asked);
    for worker in 0..3 {
        wait_for(desk.path(), &format!("saved/search-0-worker-{worker}.states"));
    }
    let mut killed = processes.pop().expect("three");
    killed.kill().expect("it runs");
    killed.wait().expect("it is gone");
    let ended: Vec<Run> = processes.into_iter().map(end).collect();
    for run in &ended {
        assert_eq!(run.code, Some(3), "{}{}", run.stdout, run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    let said = &ended[0].stdout;
    assert!(said.contains("undecided"), "{said}");
    assert!(said.contains("host 2 was lost at level "), "{said}");
    assert!(ended[1].stdout.is_empty(), "only process 0 reports");

    let resumed: Vec<Run> =
        start_all(&desk, 3, &format!("{asked} --resume")).into_iter().map(end).collect();
    let codes: Vec<_> = resumed.iter().map(|run| run.code).collect();
    let complaints: Vec<_> = resumed.iter().map(|run| &run.stderr).collect();
    assert_eq!(codes, [Some(0); 3], "{complaints:?}");
    let object: Value =
        serde_json::from_str(resumed[0].stdout.lines().next().expect("a line")).expect("an object");
    assert_eq!((&object["verdict"], &object["states"]), (&"holds".into(), &13_u64.pow(5).into()));

    let other = "--model tso --checkpoint saved --resume t.fp";
    let refused: Vec<Run> = start_all(&desk, 3, other).into_iter().map(end).collect();
    for run in refused {
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("was not made with the same options"), "{}", run.stderr);
    }
}

/// One process can write checkpoints, too.
#[test]
fn checkpoints_of_one_process() {
    let desk = Desk::with(&counters(3, 9));
    let asked =
        "check --model sc --reduce none --json t.fp --checkpoint saved --checkpoint-every 0s";
    for resume in ["", " --resume"] {
        let run = end(start(&desk, &format!("{asked}{resume}")));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("\"states\":1000,"), "{}", run.stdout);
    }
}

/// What the user does wrong is said, and the exit code is 2.
#[test]
fn mistakes_are_named() {
    let desk = Desk::with("global x; thread t { x.store(1); }")
        .and("other.fp", "global x; thread t { x.store(0); }")
        .and("hosts", "127.0.0.1:1\n127.0.0.1\n");
    let told = |arguments: &str| {
        let run = end(start(&desk, arguments));
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.stdout);
        assert!(run.stdout.is_empty(), "{}", run.stdout);
        run.stderr
    };
    let hosts = addresses(2);
    let cases = [
        ("check --hosts nowhere t.fp", "cannot read the hosts file nowhere"),
        (
            "check --hosts hosts --process 0 t.fp",
            "in the hosts file hosts: line 2: `127.0.0.1` has no port",
        ),
        ("check --hosts 1.2.3.4:0 --process 0 t.fp", "`0` is no port"),
        (&format!("check --hosts {hosts} t.fp"), "--hosts needs --process I"),
        (&format!("check --hosts {hosts} --process 2 t.fp"), "there is no process 2"),
        (&format!("check --hosts {hosts} --process 0 --jobs 2 t.fp"), "does not go with --jobs"),
        (
            &format!("check --hosts {hosts} --process 0 --search dfs t.fp"),
            "does not go with --search dfs",
        ),
        (&format!("check --hosts {hosts} --process 0 -"), "does not go with standard input"),
        (
            &format!("check --hosts {hosts} --process 1 --join-time 200ms t.fp"),
            "process 0 at 127.0.0.1:",
        ),
        (
            "check --process 0 t.fp",
            "--process is about searches of several processes: it needs --hosts",
        ),
        ("check --resume t.fp", "--resume needs --checkpoint DIR"),
        ("check --checkpoint empty --resume t.fp", "empty holds no checkpoint to resume from"),
        ("cluster run --processes 2 -- outcomes t.fp", "only check can be run by several"),
        ("cluster run --processes 2 -- check --process 1 t.fp", "--process belongs before `--`"),
        (
            "cluster run --hosts a:1 --ssh ./no-such-command -- check t.fp",
            "cannot run ./no-such-command",
        ),
    ];
    for (arguments, expected) in cases {
        let stderr = told(arguments);
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
    }
    // A port that somebody has.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken.local_addr().map(|address| (address, taken)).expect("an address");
    let stderr = told(&format!("check --hosts {},127.0.0.1:9 --process 0 t.fp", taken.0));
    assert!(stderr.contains("cannot listen at 127.0.0.1:"), "{stderr}");
    // Different programs, different options.
    for (one, other, what) in [("t.fp", "other.fp", "programs"), ("t.fp", "--all t.fp", "options")]
    {
        let hosts = addresses(2);
        let first = start(&desk, &format!("check --hosts {hosts} --process 0 {one}"));
        let second = start(&desk, &format!("check --hosts {hosts} --process 1 {other}"));
        for run in [end(first), end(second)] {
            assert_eq!(run.code, Some(2), "{}", run.stdout);
            assert!(run.stderr.contains(&format!("the same {what}")), "{}", run.stderr);
        }
    }
}

/// Over ssh each host runs the same line in the same folder. Here a script stands for ssh.
#[test]
#[cfg(unix)]
fn hosts_are_started_over_ssh() {
    use std::os::unix::fs::PermissionsExt;
    let script = "#!/bin/sh\necho \"$1\" >> reached\nexec sh -c \"$2\"\n";
    let desk = Desk::with("global x; thread t { x.store(1); assert(0); }").and("ssh", script);
    let ssh = desk.path().join("ssh");
    std::fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).expect("set");
    let hosts = addresses(2).replace("127.0.0.1", "localhost").replace(',', "\n");
    let desk = desk.and("hosts file", &hosts);
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(["cluster", "run", "--ssh", "./ssh", "--workers", "2", "--hosts", "hosts file", "--"])
        .args(["check", "--model", "sc", "t.fp"])
        .current_dir(desk.path())
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("violated"), "{said}");
    let reached = std::fs::read_to_string(desk.path().join("reached")).expect("written");
    assert_eq!(reached, "localhost\nlocalhost\n");
}

/// Schedulers say in the environment which process this is.
#[test]
fn numbers_come_from_the_environment() {
    let desk = Desk::with("global x; thread t { x.store(1); }");
    for name in ["FENCEPOST_PROCESS", "SLURM_PROCID", "JOB_COMPLETION_INDEX"] {
        let hosts = addresses(2);
        let start = |number: &str| {
            Command::new(env!("CARGO_BIN_EXE_fencepost"))
                .args(["check", "t.fp"])
                .env("FENCEPOST_HOSTS", &hosts)
                .env(name, number)
                .current_dir(desk.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the binary runs")
        };
        let [first, second] = ["0", "1"].map(start).map(end);
        assert_eq!((first.code, second.code), (Some(0), Some(0)), "{}", first.stderr);
        assert!(first.stdout.contains("holds") && second.stdout.is_empty());
    }
}
