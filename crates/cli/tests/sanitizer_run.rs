//! What `fencepost run` and `fencepost replay` do with a program that was built with the sanitizer: schedules
//! and tokens, recordings, reports in files, suppressions, and programs and arguments that are not as they
//! should be. What is found in which program is in `sanitizer.rs`.

mod bench;

use bench::{Bench, FOUND, Run, builds, installed, sources, text};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// The sequence lock needs two switches in the right places, and comes back from its token.
#[test]
fn schedules_find_and_repeat() {
    let bench = Bench::new();
    for (compiler, level) in builds("seqlock.c") {
        let program = bench.build(compiler, "seqlock.c", &[level], "program");
        let options = ["--schedule", "pct:3", "--runs", "1000", "--until-found"];
        let run = bench.run(&program, &options);
        assert_eq!(run.code, Some(FOUND), "{compiler} {level}: {run:#?}");
        let token = run.findings[0]["token"].as_str().expect("a token").to_string();
        let again = bench.run(&program, &["--token", &token]);
        assert_eq!(again.ids(), run.ids(), "{compiler} {level} {token}");
    }
}

/// One run stands for many, but not for all. Where both stores of store buffering come before both loads, each load
/// reads from the other thread, neither thread comes after more than it knows, and there is nothing to predict. In
/// every other order the later load comes after a store that it need not know of. So a single run by the operating system's schedule
/// may miss it, and whether it does depends on the order of the run and on nothing else.
#[test]
fn a_run_misses_only_what_its_order_hides() {
    let bench = Bench::new();
    for (compiler, level) in builds("litmus.rs") {
        let program = bench.build(compiler, "litmus.rs", &[level], "program");
        let mut hidden = 0;
        for seed in 1..=24 {
            let seed = seed.to_string();
            let run = bench.run(&program, &["--schedule", "random", "--seed", &seed]);
            let expected = match run.printed.as_str() {
                "2\n" => 0,
                _ => FOUND,
            };
            assert_eq!(run.code, Some(expected), "{level} seed {seed}: {run:#?}");
            hidden += usize::from(expected == 0);
        }
        assert!((1..24).contains(&hidden), "{level}: both orders are tried: {hidden}");
    }
}

/// Whatever a thread does while it waits, others get a turn: under every schedule the program comes to its end.
#[test]
fn nobody_spins_for_ever() {
    let bench = Bench::new();
    let in_c = ["-DLOOP=SEQLOCK", "-DLOOP=WRITING", "-DLOOP=PLAIN"];
    for (source, loops) in
        [("spins.c", in_c), ("spins.rs", ["--cfg=seqlock", "--cfg=writing", "--cfg=plain"])]
    {
        for (define, (compiler, level)) in loops
            .into_iter()
            .flat_map(|define| builds(source).into_iter().map(move |how| (define, how)))
        {
            let program = bench.build(compiler, source, &[level, define], "program");
            for schedule in ["pct:1", "pct:3", "random"] {
                let run = bench.run(&program, &["--schedule", schedule, "--runs", "2"]);
                let what = format!("{compiler} {level} {define} {schedule}: {run:#?}");
                assert_eq!(run.printed, "2\n".repeat(2), "{what}");
                assert_eq!(run.kinds.is_empty(), define != loops[2], "{what}");
            }
        }
    }
}

/// The same seed gives the same run, to the last switch, and another seed another one.
#[test]
fn schedules_repeat() {
    let bench = Bench::new();
    for (compiler, level) in builds("order.c") {
        let program = bench.build(compiler, "order.c", &[level], "program");
        for schedule in ["random", "pct:3"] {
            let printed = |seed: &str| {
                let run = bench.run(&program, &["--schedule", schedule, "--seed", seed]);
                assert_eq!(run.code, Some(0), "{compiler} {level} {schedule} {seed}: {run:#?}");
                run.printed
            };
            let (first, other) = (printed("1"), printed("2"));
            assert_ne!(first, other, "{compiler} {level} {schedule}");
            for _ in 0..10 {
                assert_eq!(printed("1"), first, "{compiler} {level} {schedule}");
            }
        }
    }
}

/// A recording shows what the run showed.
#[test]
fn recordings() {
    let bench = Bench::new();
    for (source, define) in [
        ("dekker.c", "-DBROKEN"),
        ("peterson.c", "-DBROKEN"),
        ("mp.c", "-DBROKEN"),
        ("sync.c", "-DRACE"),
        ("treiber.c", "-DFINE"),
    ] {
        for (compiler, level) in builds(source) {
            let program = bench.build(compiler, source, &[level, define], "program");
            let run = bench.run(&program, &["--record", "recording"]);
            let mut command = bench.fencepost();
            command.args(["replay", "--json", "recording"]);
            let again = Run::new(&command.output().expect("fencepost runs"));
            assert_eq!(again.ids(), run.ids(), "{compiler} {level} {source}\n{run:#?}\n{again:#?}");
        }
    }
    let whole = std::fs::read(bench.path("recording")).expect("a recording");
    std::fs::write(bench.path("cut"), &whole[..whole.len() / 2]).expect("a file");
    std::fs::write(bench.path("other"), "something else").expect("a file");
    // A thread starts, and accesses none of eight bytes.
    let nothing = b"fencepost recording 1\n\x00\x00\x0d\x00\x08\x00\x00";
    std::fs::write(bench.path("damaged"), nothing).expect("a file");
    for (name, says) in [
        ("cut", "cut off"),
        ("other", "no recording"),
        ("missing", "cannot read"),
        (
            "damaged",
            "damaged: the recording is damaged at byte 24: an event of what does not exist",
        ),
    ] {
        let output = bench.fencepost().args(["replay", name]).output().expect("fencepost runs");
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(says), "{name}: {}", text(&output.stderr));
    }
}

/// Transactions that the program marks, judged by `fencepost serial`.
#[test]
fn transactions() {
    let bench = Bench::new();
    for (compiler, level) in builds("bank.c") {
        for (define, serializable) in [("-DWHOLE", true), ("-DSPLIT", false)] {
            let program = bench.build(compiler, "bank.c", &[level, define], "program");
            let mut always = true;
            for seed in 0..20 {
                let seed = seed.to_string();
                let options = ["--schedule", "random", "--seed", &seed, "--record", "recording"];
                assert_eq!(bench.run(&program, &options).code, Some(0), "no race, nothing stale");
                let run = |arguments: &[&str]| {
                    bench.fencepost().args(arguments).output().expect("fencepost runs")
                };
                let replayed = run(&["replay", "recording", "--transactions", "run.txt"]);
                assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed.stderr));
                let judged = run(&["serial", "run.txt"]);
                let lines = std::fs::read_to_string(bench.path("run.txt")).expect("a file");
                assert_eq!(lines.matches(" begin").count(), 2, "{lines}");
                assert!(lines.contains("@deposit:bank.c:"), "{lines}");
                match judged.status.code() {
                    Some(0) => {}
                    Some(1) => always = false,
                    other => panic!("{other:?}: {}\n{lines}", text(&judged.stderr)),
                }
            }
            assert_eq!(always, serializable, "{compiler} {level} {define}");
        }
    }
}

/// The faces that other commands have, about source files of the program.
#[test]
fn reports_in_files() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    for name in ["peterson.c", "run.h"] {
        std::fs::copy(sources().join(name), bench.path(name)).expect("a file");
    }
    let source = bench.path("peterson.c");
    let faces = ["--html", "page.html", "--sarif", "found.sarif", "--junit", "found.xml"];
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a report");
    for (define, code, failures) in [("-DBROKEN", FOUND, 2), ("-DFENCED", 0, 0)] {
        let program =
            bench.build("gcc", source.to_str().expect("a name"), &["-O1", define], "program");
        let mut options = vec!["--schedule", "random", "--runs", "20"];
        options.extend(faces);
        let run = bench.run(&program, &options);
        assert_eq!(run.code, Some(code), "{run:#?}");
        let sarif: serde_json::Value = serde_json::from_str(&read("found.sarif")).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert_eq!(results.is_empty(), code == 0, "{sarif:#}");
        for result in results {
            let location = &result["locations"][0]["physicalLocation"];
            let file = location["artifactLocation"]["uri"].as_str().unwrap_or_default();
            assert!(file.ends_with("peterson.c"), "{result:#}");
            assert!(location["region"]["startLine"].as_u64().is_some_and(|line| line > 3));
            let name = result["partialFingerprints"]["finding/v2"].to_string();
            assert!(run.ids().contains(&name), "{name}: {run:#?}");
        }
        let junit = read("found.xml");
        assert_eq!(junit.matches("<failure").count(), failures, "{junit}");
        let page = read("page.html");
        assert_eq!(page.contains("may read a stale value"), code != 0);
        assert_eq!(page.contains("atomic_int"), code != 0, "the source is shown");
        assert_eq!(page.contains("was created by the main thread here"), code != 0);
    }
    // A stale value that nothing depends on is worth a note.
    for (flags, level) in [(&["-DHOW=UNUSED"][..], "note"), (&["-DHOW=UNUSED", "-DLEAK"], "error")]
    {
        let program = bench.build("gcc", "updates.c", &[&["-O1"], flags].concat(), "program");
        bench.run(&program, &["--schedule", "random", "--runs", "20", "--sarif", "found.sarif"]);
        let sarif: serde_json::Value = serde_json::from_str(&read("found.sarif")).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert!(!results.is_empty(), "{sarif:#}");
        assert!(results.iter().all(|result| result["level"] == level), "{sarif:#}");
    }
    let program = bench.path("program");
    let run = bench.run(&program, &["--html", "/nowhere/at/all.html"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.complaints.contains("cannot write"), "{}", run.complaints);
}

/// Without `fencepost run` the program reports by itself.
#[test]
fn programs_report_by_themselves() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program = bench.build("gcc", "sb.c", &["-O1", "-DROUNDS=20"], "program");
    let run = |options: &str| {
        let mut command = Command::new(&program);
        command.current_dir(bench.folder.path()).env("FENCEPOST_OPTIONS", options);
        command.output().expect("the program runs")
    };
    let usual = run("");
    assert_eq!(usual.status.code(), Some(FOUND));
    assert_eq!(text(&usual.stdout), "done\n");
    assert!(text(&usual.stderr).contains("may read a stale value"), "{}", text(&usual.stderr));
    assert!(text(&usual.stderr).contains("sb.c:"), "{}", text(&usual.stderr));
    assert_eq!(run("exitcode=0").status.code(), Some(0));
    assert_eq!(run("exitcode=7").status.code(), Some(7));
    assert_eq!(run("report_robustness=0").status.code(), Some(0));
    let logged = run("log_path=log");
    assert_eq!(text(&logged.stderr), "");
    let log = std::fs::read_dir(bench.folder.path())
        .expect("the folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|name| name.starts_with("log."));
    assert!(log.is_some(), "a log with the process id in its name");
    let elsewhere = run("log_path=/nowhere/at/all");
    assert!(text(&elsewhere.stderr).contains("cannot write to"), "{}", text(&elsewhere.stderr));
    assert!(text(&elsewhere.stderr).contains("stale value"), "findings are not lost");
    assert!(text(&run("colour=blue").stderr).contains("cannot use `colour=blue`"));
    // Where nothing can be written, the program runs on and ends as it would.
    let full = || std::fs::File::create("/dev/full").expect("a device");
    let deaf = |options: &str| {
        let mut command = Command::new(&program);
        command.env("FENCEPOST_OPTIONS", options).stderr(full());
        command.output().expect("the program runs")
    };
    for (options, code) in [("", FOUND), ("colour=blue", FOUND), ("record=/nowhere/at/all", 2)] {
        assert_eq!(deaf(options).status.code(), Some(code), "{options}");
    }
    let mut nowhere = Command::new(&program);
    nowhere.env("FENCEPOST_OPTIONS", "log_path=stdout").stdout(full());
    let said = text(&nowhere.output().expect("the program runs").stderr);
    assert!(said.starts_with("error: cannot write the report: "), "{said}");
}

#[test]
fn suppressions_and_baselines() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program = bench.build("gcc", "peterson.c", &["-O1"], "program");
    // The same runs, so that they find the same.
    let schedule = ["--schedule", "random", "--runs", "20"];
    let all = bench.run(&program, &[&schedule[..], &["--write-baseline", "known"]].concat());
    assert_eq!(all.code, Some(FOUND));
    let none = bench.run(&program, &[&schedule[..], &["--baseline", "known"]].concat());
    assert_eq!(none.code, Some(0), "{none:#?}");
    std::fs::write(bench.path("rules"), "# the lock\nrace:work\nstale-read:peterson.c\n")
        .expect("a file");
    let some = bench.run(&program, &["--suppressions", "rules"]);
    assert!(some.kinds.iter().all(|kind| kind == "stale-write"), "{some:#?}");
    std::fs::write(bench.path("rules"), "*:work\n").expect("a file");
    assert_eq!(bench.run(&program, &["--suppressions", "rules"]).code, Some(0));
    std::fs::write(bench.path("rules"), "nonsense\n").expect("a file");
    let bad = bench.run(&program, &["--suppressions", "rules"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.complaints.contains("rules:1"), "{}", bad.complaints);
    std::fs::write(bench.path("rules"), "race:work\ndeadlock:work\n").expect("a file");
    let bad = bench.run(&program, &["--suppressions", "rules"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.complaints.contains("rules:2: there is no kind `deadlock`"), "{}", bad.complaints);
    std::fs::write(bench.path("rules"), "*:work\n\nrace:nobody\n").expect("a file");
    let unused = bench.run(&program, &["--suppressions", "rules", "--show-unused"]);
    assert!(unused.complaints.contains("rules:3: race:nobody"), "{}", unused.complaints);
    assert!(!unused.complaints.contains("rules:1"), "{}", unused.complaints);
}

/// Races only, or the others only, of a program that has both.
#[test]
fn one_half_of_the_findings() {
    if !installed("gcc") {
        return;
    }
    let bench = Bench::new();
    let program = bench.build("gcc", "peterson.c", &["-O1"], "program");
    let schedule = ["--schedule", "random", "--runs", "20"];
    let all = bench.run(&program, &schedule);
    for (only, races) in [("races", true), ("robustness", false)] {
        let options = [&schedule[..], &["--only", only]].concat();
        let half = bench.run(&program, &options);
        let expected: Vec<&String> =
            all.kinds.iter().filter(|kind| (*kind == "race") == races).collect();
        assert_eq!(half.kinds.iter().collect::<Vec<_>>(), expected, "{only}: {half:#?}");
        assert!(!expected.is_empty(), "{all:#?}");
    }
    assert_eq!(bench.run(&program, &["--only", "nonsense"]).code, Some(2));
}

/// Reads that no other read replaces are kept as long as there is room, and where there is none, the run says so.
#[test]
fn what_is_given_up_is_told() {
    let bench = Bench::new();
    let sources = [("readers.c", ["-DONE", "-DMANY"]), ("readers.rs", ["--cfg=one", "--cfg=many"])];
    for (source, defines, (compiler, level)) in sources.into_iter().flat_map(|(source, defines)| {
        builds(source).into_iter().map(move |how| (source, defines, how))
    }) {
        let few = |define: &str| {
            let program = bench.build(compiler, source, &[level, define], "program");
            let mut command = bench.fencepost();
            command.env("FENCEPOST_OPTIONS", "reader_sets=1000");
            command.args(["run", "--json"]).arg(&program);
            Run::new(&command.output().expect("fencepost runs"))
        };
        let one = few(defines[0]);
        assert_eq!(one.code, Some(FOUND), "{compiler} {level}: {one:#?}");
        assert!(!one.complaints.contains("too many"), "{compiler} {level}: {one:#?}");
        let many = few(defines[1]);
        assert_eq!(many.code, Some(3), "{compiler} {level}: {many:#?}");
        assert!(many.complaints.contains("some reads were forgotten"), "{many:#?}");
    }
}

/// A value as text. Where blocks of memory are differs from run to run.
fn without_addresses(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
    let is_address = |word: &str| word.len() > 11 && word.starts_with(|c: char| c.is_numeric());
    words.map(|word| if is_address(word) { "address" } else { word }).collect()
}

/// Accesses that nothing can be wrong with go a shorter way. Without it, the same seeds show the same, run by run: the
/// same findings, at the same places, with the same stale values.
#[test]
fn a_shorter_way_changes_nothing() {
    let bench = Bench::new();
    for (compiler, level) in builds("mixture.c") {
        let program = bench.build(compiler, "mixture.c", &[level], "program");
        let mut findings = 0;
        for seed in 1..=16 {
            let seed = seed.to_string();
            let [long, short] = ["quick=0", "quick=1"].map(|options| {
                let mut command = bench.fencepost();
                command.env("FENCEPOST_OPTIONS", options);
                command.args(["run", "--json", "--schedule", "random", "--seed", &seed]);
                command.arg(&program).arg(&seed);
                Run::new(&command.output().expect("fencepost runs"))
            });
            let what = format!("{compiler} {level} {seed}");
            let details = |run: &Run| -> Vec<String> {
                let mut details: Vec<String> = run
                    .findings
                    .iter()
                    .map(|finding| {
                        let values = ["id", "value", "stale", "used", "may_fail"];
                        format!("{:?}", values.map(|name| without_addresses(&finding[name])))
                    })
                    .collect();
                details.sort();
                details
            };
            assert_eq!((long.code, &long.printed), (short.code, &short.printed), "{what}");
            assert_eq!(details(&long), details(&short), "{what}");
            findings += long.findings.len();
        }
        assert!(findings > 100, "{compiler} {level}: much is found: {findings}");
    }
}

/// Findings that differ have different names, over all that these programs show; the same one has the same name.
#[test]
fn names_tell_findings_apart() {
    let in_c = ["sb.c", "mp.c", "dekker.c", "peterson.c", "freed.c", "reused.c", "whose.c"];
    names_are_different("gcc", "-O1", &in_c);
    names_are_different("clang", "-O1", &in_c);
    names_are_different(
        "rustc",
        "-Copt-level=1",
        &["litmus.rs", "dekker.rs", "freed.rs", "told.rs", "whose.rs"],
    );
}

fn names_are_different(compiler: &str, level: &str, sources: &[&str]) {
    if !installed(compiler) {
        return;
    }
    // Not the library's, whose functions are inlined everywhere.
    let is_own = |frame: &serde_json::Value| {
        frame["file"].as_str().is_some_and(|file| !file.starts_with("/rustc/"))
    };
    let bench = Bench::new();
    let mut names = std::collections::HashMap::new();
    let mut places = std::collections::HashMap::new();
    for source in sources {
        let program = bench.build(compiler, source, &[level], "program");
        for options in [&["--runs", "5"][..], &["--runs", "20", "--schedule", "random"]] {
            for finding in bench.run(&program, options).findings {
                let place = |access: &serde_json::Value| {
                    let frame = &access["stack"]
                        .as_array()
                        .and_then(|stack| stack.iter().find(|frame| is_own(frame)).cloned());
                    frame.as_ref().map_or(String::new(), |frame| {
                        let part = |name: &str| frame[name].to_string();
                        ["file", "function", "line", "column"].map(part).join(" ")
                    })
                };
                let mut both = [place(&finding["access"]), place(&finding["other"])];
                if finding["kind"] == "race" {
                    both.sort();
                }
                let what = format!("{} {}", finding["kind"], both.join(" "));
                let id = finding["id"].to_string();
                let named = names.entry(id.clone()).or_insert_with(|| what.clone());
                assert_eq!(*named, what, "one name for two findings");
                let placed = places.entry(what).or_insert_with(|| id.clone());
                assert_eq!(*placed, id, "two names for one finding");
            }
        }
    }
    assert!(names.len() > sources.len(), "{names:#?}");
}

#[test]
fn bad_input() {
    let bench = Bench::new();
    let run =
        |arguments: &[&str]| bench.fencepost().args(arguments).output().expect("fencepost runs");
    let output = run(&["run", "/bin/true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nothing to check"), "{}", text(&output.stderr));
    assert_eq!(run(&["run", "./no-such-program"]).status.code(), Some(2));
    assert_eq!(run(&["run", "--token", "nonsense", "/bin/true"]).status.code(), Some(2));
    assert_eq!(run(&["run", "--schedule", "fair", "/bin/true"]).status.code(), Some(2));
    let mut none = bench.fencepost();
    none.env("PATH", bench.folder.path()).env_remove("CC").args(["cc", "-c", "a.c"]);
    let output = none.output().expect("fencepost runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no compiler found"), "{}", text(&output.stderr));
    for (name, says, needs) in [
        ("gcc", "gcc (GCC) 4.8.5 20150623", "is version 4: the sanitizer needs version 9 or newer"),
        ("clang", "clang version 10.0.1", "is version 10: the sanitizer needs version 11 or newer"),
    ] {
        let old = bench.path(name);
        std::fs::write(&old, format!("#!/bin/sh\necho '{says}'\n")).expect("a file");
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).expect("a script");
        let output = bench.fencepost().env("CC", &old).args(["cc", "-c", "a.c"]).output();
        let output = output.expect("fencepost runs");
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(needs), "{}", text(&output.stderr));
    }
    let output = run(&["cc", "-static", "a.c", "-o", "a"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("-static"));
}

/// The same command, which SIGINT ends even if these tests run in the background of a shell: there it is ignored, and
/// children inherit that.
fn interruptible(command: &Command) -> Command {
    let mut same = Command::new("env");
    same.arg("--default-signal=INT").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => same.env(name, value),
            None => same.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        same.current_dir(folder);
    }
    same
}

/// What is found is told at once, and not lost when the program is killed, whoever is told to end.
#[test]
fn findings_are_told_while_the_program_runs() {
    let bench = Bench::new();
    for (source, (compiler, level)) in ["endless.c", "endless.rs"]
        .into_iter()
        .flat_map(|source| builds(source).into_iter().map(move |how| (source, how)))
    {
        let program = bench.build(compiler, source, &[level], "program");
        let mut run = bench.fencepost();
        run.arg("run").arg(&program);
        let mut limited = bench.fencepost();
        limited.args(["run", "--timeout", "50s"]).arg(&program);
        let both = [
            (Command::new(&program), "-KILL", None),
            (Command::new(&program), "-INT", None),
            (run, "-TERM", Some(FOUND)),
            (limited, "-INT", Some(FOUND)),
        ];
        for (command, signal, code) in both {
            let mut command = interruptible(&command);
            let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
            let mut said = BufReader::new(child.stderr.take().expect("its complaints"));
            let mut text = String::new();
            while !text.contains("may read a stale value") {
                assert!(said.read_line(&mut text).expect("a line") > 0, "{text}");
            }
            assert!(!text.contains("robustness violation"), "the end is not yet: {text}");
            let id = child.id().to_string();
            assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
            said.read_to_string(&mut text).expect("the rest");
            let status = child.wait().expect("it ends");
            assert_eq!(status.code(), code, "{compiler} {level} {signal}: {text}");
            assert!(text.contains("robustness violation"), "{compiler} {level} {signal}: {text}");
            let named = signal.replace('-', "killed by SIG");
            assert_eq!(
                text.contains(&named),
                code.is_some(),
                "{compiler} {level} {signal}: {text}"
            );
        }
    }
}

/// A crash or an endless program is reported as such, and what was found before is kept.
#[test]
fn crashes_and_timeouts() {
    ["gcc", "clang"].into_iter().filter(|compiler| installed(compiler)).for_each(crash);
}

fn crash(compiler: &str) {
    let bench = Bench::new();
    let source = std::fs::read_to_string(sources().join("sb.c")).expect("the source");
    std::fs::copy(sources().join("run.h"), bench.path("run.h")).expect("the header");
    for (name, end, says) in
        [("crash.c", "abort();", "SIGABRT"), ("endless.c", "for (;;) sched_yield();", "--timeout")]
    {
        let changed = source
            .replace("puts(\"done\");", end)
            .replace("atomic_int x", "#include <sched.h>\natomic_int x");
        std::fs::write(bench.path(name), changed).expect("a file");
        let path = bench.path(name);
        let source = path.to_str().expect("a name");
        let program = bench.build(compiler, source, &["-O1", "-DROUNDS=20"], "program");
        let mut command = bench.fencepost();
        command.args(["run", "--json", "--timeout", "3s"]).arg(&program);
        let run = Run::new(&command.output().expect("fencepost runs"));
        assert_eq!(run.code, Some(FOUND), "{name}: {run:#?}");
        assert!(run.complaints.contains(says), "{name}: {}", run.complaints);
        assert_eq!(run.kinds, ["stale-read"], "{name}");
    }
}
