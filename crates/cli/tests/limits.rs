//! Limits are limits whatever takes long, and Ctrl-C ends a check as a limit does.
//!
//! What these would catch: an analysis, a certificate or a re-check that does not look at the clock; memory that
//! nobody counts; a signal that costs the table or the reports.
#![cfg(unix)]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// More than the tool promises (a tenth, or 200 ms), because tests run next to each other.
const SLACK: Duration = Duration::from_millis(1500);

fn fencepost(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(args).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path.to_str().expect("a plain path").to_string()
}

/// Runs a command that is given a second, and takes no longer than that and the slack.
#[track_caller]
fn in_a_second(args: &[&str]) -> Output {
    let begun = Instant::now();
    let output = fencepost(args).output().expect("it runs");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1) + SLACK, "{args:?} takes {took:?}");
    output
}

/// A program with more states than can be explored in any test.
fn endless() -> String {
    let mut text = String::from("max_value 1000;\natomic x, y, z;\n");
    for t in 0..6 {
        let _ = writeln!(
            text,
            "thread t{t} {{ local r, s; while (1) {{ r = x.load(rlx); y.store(r + {t}, rlx); \
             s = z.load(rlx); x.store(s + {t}, rlx); r = FADD(z, {}, rlx, rlx); }} }}",
            t + 1
        );
    }
    text
}

/// Two threads with hundreds of jumps each: long runs, of which observational robustness tries many variants.
fn jumps() -> String {
    let mut text = String::from("max_value 3;\natomic x, y, z;\n");
    let mut random = 12345_u64;
    let mut roll = |sides: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % sides
    };
    for t in 0..2 {
        let _ = writeln!(text, "thread t{t} {{ local a, b;");
        for i in 0..200_u64 {
            let v = ["x", "y", "z"][roll(3) as usize];
            let statement = match roll(6) {
                0 => format!("{v}.store({}, rlx);", roll(4)),
                1 => format!("a = {v}.load(rlx);"),
                2 => "b = a + 1;".to_string(),
                3 => format!("if (a == {}) goto L{};", roll(4), roll(200)),
                4 => format!("if (b != {}) goto L{};", roll(4), (i + 1 + roll(19)).min(199)),
                _ => format!("b = FADD({v}, 1, rlx, rlx);"),
            };
            let _ = writeln!(text, "L{i}: {statement}");
        }
        text.push_str("}\n");
    }
    text
}

#[test]
fn time_is_limited_whatever_takes_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str, text: &str| file(folder.path(), name, text);
    let endless = at("endless.fp", &endless());
    for model in ["rc11", "rc20", "ra", "sc", "tso", "pso"] {
        let output = in_a_second(&["check", "--limit-time", "1s", "--model", model, &endless]);
        assert!(matches!(output.status.code(), Some(1 | 3)), "{model}: {output:?}");
    }
    // Matching 32 threads with each other, and renaming 4096 locations.
    let many = at("many.fp", "atomic x[4096]; thread t[32] { x[t].store(1); }");
    for all in [&[][..], &["--all"]] {
        let args = [&["check", "--limit-time", "1s", &many], all].concat();
        assert_eq!(in_a_second(&args).status.code(), Some(3));
    }
    let jumps = at("jumps.fp", &jumps());
    in_a_second(&["check", "--limit-time", "1s", "--observational", &jumps]);
    in_a_second(&["fix", "--limit-time", "1s", "--model", "tso,pso", &endless]);
    // The prices of thousands of accesses, which advice at the end of a check takes, too.
    let mut accesses = String::from("max_value 7; atomic x, y;\n");
    for t in 0..2 {
        let _ = writeln!(accesses, "thread t{t} {{ local r;");
        for k in 0..1000 {
            let _ = writeln!(
                accesses,
                "if (r == {}) {{ y.store({}); }} r = x.load(); x.store(r);",
                k % 7,
                k % 5
            );
        }
        accesses.push_str("}\n");
    }
    let accesses = at("accesses.fp", &accesses);
    in_a_second(&["fix", "--limit-time", "1s", "--model", "tso", &accesses]);
    in_a_second(&["outcomes", "--limit-time", "1s", &endless]);
    in_a_second(&["outcomes", "--limit-time", "1s", "--model", "tso", &endless]);
    // A witness of some thousand events, which takes a judge long.
    let long = at(
        "long.fp",
        "max_value 100000; atomic x, y, c;\n\
         thread a { local i, r; while (i < 700) { i = i + 1; c.store(i, rlx); } x.store(1, rlx); r = y.load(rlx); }\n\
         thread b { local r; wait(c, 700, rlx); y.store(1, rlx); r = x.load(rlx); }",
    );
    in_a_second(&["check", "--limit-time", "1s", "--quiet", &long]);
}

#[test]
fn recordings_have_limits_too() {
    // An endless recording, read from a pipe.
    let begun = Instant::now();
    let mut child = fencepost(&["serial", "--limit-time", "1s", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let feeder = std::thread::spawn(move || {
        let block = "T1 begin\nT1 rd x\nT1 wr y\nT1 end\nT2 wr x\n".repeat(500);
        while input.write_all(block.as_bytes()).is_ok() {}
    });
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("no panic");
    assert!(begun.elapsed() < Duration::from_secs(1) + 2 * SLACK, "{:?}", begun.elapsed());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\"serializable\":null"), "{text}");
    assert!(text.contains("the limit on time was reached"), "{text}");
}

/// The peak of a process's memory in bytes, while it runs.
#[cfg(target_os = "linux")]
fn peak(child: &mut Child) -> u64 {
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        most = most.max(kibibytes.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    most
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_limited_whatever_takes_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let endless = file(folder.path(), "endless.fp", &endless());
    let most = 100 << 20;
    for args in [
        &["check", "--model", "sc"][..],
        &["check", "--model", "sc", "--search", "dfs"],
        &["check"],
        &["check", "--model", "tso"],
    ] {
        let mut child = fencepost(args)
            .args(["--limit-memory", "100M", "--limit-time", "60s", "--json", &endless])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let peak = peak(&mut child);
        assert!(peak < most + (64 << 20), "{args:?} takes {} MB", peak >> 20);
    }
}

/// Starts a check, waits until it is at work, and sends it a signal.
fn interrupted(signal: &str, args: &[&str]) -> (Output, Duration) {
    let child =
        fencepost(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_millis(700));
    let begun = Instant::now();
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    (output, begun.elapsed())
}

#[test]
fn a_signal_ends_a_check_as_a_limit_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = file(folder.path(), "a.fp", "atomic x; thread t { x.store(1, rlx); }");
    let endless = file(folder.path(), "b.fp", &endless());
    for (signal, model) in [("INT", "sc"), ("TERM", "sc"), ("INT", "pso")] {
        let junit = folder.path().join("out.xml");
        let _ = std::fs::remove_file(&junit);
        let report = junit.to_str().expect("a plain path");
        let args = ["check", "--model", model, "--junit", report, &small, &endless];
        let (output, took) = interrupted(signal, &args);
        assert!(took < SLACK, "{signal}: {took:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(matches!(output.status.code(), Some(1 | 3)), "{signal}: {output:?}");
        assert!(
            text.contains("a.fp") && text.contains("b.fp"),
            "{signal}: the table is there: {text}"
        );
        assert!(text.contains("2 programs: "), "{signal}: the summary is there: {text}");
        let junit = std::fs::read_to_string(&junit).expect("the report is there");
        assert!(junit.contains("a.fp") && junit.contains("b.fp"));
        if output.status.code() == Some(3) {
            assert!(junit.contains("undecided: it was interrupted"), "{signal}: {junit}");
        }
    }
}

/// Nobody reads on: the check ends quietly, like other tools; but reports are still written.
#[test]
fn a_closed_pipe_ends_a_check_quietly() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for k in 0..40 {
        file(folder.path(), &format!("{k:02}.fp"), "atomic x; thread t { x.store(1, rlx); }");
    }
    let junit = folder.path().join("out.xml");
    let path = folder.path().to_str().expect("a plain path");
    let report = junit.to_str().expect("a plain path");
    let one_line = |args: &[&str]| {
        let mut child =
            fencepost(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut out = BufReader::with_capacity(64, child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        drop(out);
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).to_string())
    };
    assert_eq!(one_line(&["check", path]), (Some(141), String::new()));
    assert_eq!(one_line(&["check", "--model", "tso", path]), (Some(141), String::new()));
    let (code, _) = one_line(&["check", "--junit", report, path]);
    assert_eq!(code, Some(0), "the verdict counts if there are reports");
    let junit = std::fs::read_to_string(&junit).expect("the report is there");
    assert_eq!(junit.matches("<testsuite ").count(), 40);
}

/// What never ends, or waits for somebody, or is no file at all.
#[test]
fn inputs_that_are_no_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a plain path");
    file(folder.path(), "a.fp", "atomic x; thread t { x.store(1, rlx); }");
    let pipe = folder.path().join("x.fp");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let output = in_a_second(&["check", path]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("not a regular file"), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 hold"), "the other one is checked");
    for (args, words) in [
        (&["serial", "/dev/zero"][..], "a line of more than 65536 bytes"),
        (&["replay", "/dev/zero"], "this is no recording"),
        (&["check", "/dev/zero"], "too large"),
        (&["outcomes", "/dev/zero"], "too large"),
        (&["fix", "/dev/zero"], "too large"),
        (&["refine", "/dev/zero"], "too large"),
        (&["export", "/dev/zero"], "too large"),
        (&["serial", path], "directory"),
        (&["replay", path], "directory"),
        (&["outcomes", path], "directory"),
        (&["check", "--html", "-", "/dev/null"], "reports are written to files"),
    ] {
        let output = in_a_second(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(words), "{args:?}: {errors}");
    }
}

/// A program that ends has one chance to say what was found in it: a list of suppressions that is not there must not
/// cost it.
#[test]
fn findings_survive_a_missing_list_of_suppressions() {
    let raw = r#"{"kind":"race","size":4,"access":{"thread":1,"operation":"write","order":null,"stack":[]},
        "other":null,"value":null,"stale":[],"doubt":null}"#
        .replace('\n', " ");
    let mut child = fencepost(&["report-raw", "--suppressions", "/nowhere/at/all"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    writeln!(input, "{raw}").expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("/nowhere/at/all") && errors.contains("nothing is suppressed"),
        "{errors}"
    );
    assert!(errors.contains("race"), "the finding is told: {errors}");
    assert_eq!(output.status.code(), Some(66));
}
