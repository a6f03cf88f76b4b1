//! `fencepost.toml`, suppressions, baselines and expected verdicts.

mod run;

use run::{Desk, Run};

/// Both threads may read 0: not robust, and found in two places.
const BUFFERING: &str = "atomic x, y;\n\
    thread left  { local a;  x.store(1, rlx);  a = y.load(rlx); }\n\
    thread right { local b;  y.store(1, rlx);  b = x.load(rlx); }\n";

/// The reader may see the flag without the data.
const RACY: &str = "atomic flag;  na data;\n\
    thread writer { data.nastore(7);  flag.store(1, rlx); }\n\
    thread reader { local f, d;  f = flag.load(acq);  if (f) { d = data.naload();  assert(d == 7); } }\n";

/// Nothing is wrong.
const FINE: &str = "atomic flag;  na data;\n\
    thread writer { data.nastore(7);  flag.store(1, rel); }\n\
    thread reader { local f, d;  f = flag.load(acq);  if (f) { d = data.naload();  assert(d == 7); } }\n";

fn desk(project: &str) -> Desk {
    Desk::new()
        .and("fencepost.toml", project)
        .and("src/sb.fp", BUFFERING)
        .and("src/racy.fp", RACY)
        .and("src/fine.fp", FINE)
}

/// Runs `check --jobs 1` and more, so that outputs are the same each time.
fn check(desk: &Desk, arguments: &str) -> Run {
    desk.run(&format!("check --jobs 1 {arguments}"))
}

#[test]
fn a_project_is_checked_as_its_file_says() {
    golden!(check(&desk("files = \"src/*.fp\"\n"), "").all());
}

#[test]
fn a_program_has_settings_of_its_own() {
    let desk = desk(
        "model = [\"rc11\", \"tso\"]\n\
         [limits]\ntime = \"1m\"\nstates = \"1M\"\n\
         [[program]]\nfiles = [\"src/sb.fp\"]\nrequire = \"safe\"\nmodel = \"rc11\"\n\
         [[program]]\nfiles = [\"src/fine.fp\"]\n",
    );
    golden!(check(&desk, "").all());
}

/// From a folder below, the project is the same, and paths are the project's; reports go where the user is.
#[test]
fn the_file_is_found_from_below() {
    let desk = desk("files = [\"src/fine.fp\"]\n").and("src/deep/here.txt", "");
    let below = desk.path().join("src/deep");
    let run = run::run_within(&below, "check --jobs 1 --junit out.xml");
    assert_eq!(run.code, Some(0), "{}", run.all());
    assert!(run.stdout.starts_with("src/fine.fp: rc11"), "{}", run.stdout);
    assert!(below.join("out.xml").exists());
}

#[test]
fn only_programs_with_the_files_named() {
    let desk = desk("files = \"src/fine.fp\"\n[[program]]\nfiles = \"src/sb.fp\"\n");
    let one = check(&desk, "--quiet --config fencepost.toml src/fine.fp");
    assert_eq!(one.code, Some(0), "{}", one.all());
    assert!(!one.stdout.contains("sb.fp"), "{}", one.stdout);
    let none = check(&desk, "--config fencepost.toml src/racy.fp");
    assert_eq!(none.code, Some(0), "{}", none.all());
    assert!(none.stderr.contains("no program of fencepost.toml has"), "{}", none.stderr);
}

/// Everything that can be wrong with the file is pointed out, with a hint, and exit code 2.
#[test]
fn mistakes_are_pointed_out() {
    let mistakes = [
        "files = [\"src/*.fp\"\n",
        "fils = [\"src/*.fp\"]\nfoobarbaz = 1\n",
        "files = 7\nmodel = \"rc12\"\nrequire = \"sefe\"\nliveness = \"yes\"\nstale = 1000\n",
        "files = [\"src/*.fp\"]\n[limits]\ntime = \"soon\"\nmemory = []\nspace = 1\n",
        "files = [\"src/*.fp\"]\nexpect = { race = \"holds\", races = \"perhaps\" }\nstubs = { log = \"what\" }\n",
        "files = [\"src/nothing.fp\", \"lib/*.c\"]\n",
        "[[program]]\nentry = [\"main\"]\n[program.x]\n",
        "files = \"src/*.fp\"\nliveness = true\nmodel = [\"rc11\", \"tso\"]\n",
        "program = 1\nfiles = \"src/*.fp\"\n",
        "files = \"src/*.fp\"\n[[suppress]]\nid = \"FP1\"\n[[suppress]]\nkind = \"rase\"\nreason = \"x\"\n\
         [[suppress]]\nreason = \"x\"\n",
        "",
        "[limits]\ntime = \"1m\"\n",
    ];
    let mut all = String::new();
    for mistake in mistakes {
        let run = check(&desk(mistake), "");
        assert_eq!(run.code, Some(2), "{mistake}: {}", run.all());
        all.push_str(&run.all());
        all.push('\n');
    }
    golden!(all);
}

#[test]
fn without_a_project_there_is_nothing_to_check() {
    golden!(Desk::new().run("check").all());
}

#[test]
fn a_project_file_that_is_not_there() {
    let run = check(&Desk::new(), "--config missing.toml");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("missing.toml"), "{}", run.stderr);
}

/// What is known does not count, and does not hide what is new.
#[test]
fn baselines_hold_what_is_known() {
    let desk = desk("");
    let write = check(&desk, "--quiet --write-baseline known.txt src/sb.fp src/racy.fp");
    assert_eq!(write.code, Some(1));
    let known = std::fs::read_to_string(desk.path().join("known.txt")).expect("a baseline");
    assert!(known.lines().count() >= 3, "{known}");
    let again = check(&desk, "--baseline known.txt src/sb.fp src/racy.fp");
    assert_eq!(again.code, Some(0), "{}", again.all());
    // One line more, and one finding less in the baseline.
    let desk = desk.and("src/sb.fp", format!("// moved\n{BUFFERING}"));
    let fewer: Vec<&str> = known.lines().filter(|line| !line.contains("`right`")).collect();
    let desk = desk.and("fewer.txt", fewer.join("\n"));
    let again = check(&desk, "--baseline known.txt src/sb.fp");
    assert_eq!(again.code, Some(0), "{}", again.all());
    let new = check(&desk, "--baseline fewer.txt src/sb.fp");
    assert_eq!(new.code, Some(1), "{}", new.all());
    assert!(new.stdout.contains("1 more known"), "{}", new.stdout);
}

#[test]
fn suppressions_have_reasons() {
    let desk = desk(
        "files = \"src/*.fp\"\n\
         [[suppress]]\nkind = \"race\"\nwhere = \"racy.fp\"\nreason = \"not mine\"\n\
         [[suppress]]\nkind = \"stale-read\"\nwhere = \"left\"\nreason = \"approximate\"\n\
         [[suppress]]\nid = \"FP000000000000\"\nreason = \"long gone\"\n",
    );
    golden!(check(&desk, "").all());
}

/// Two threads that share nothing fail, and a suppression covers one of them; a limit is reached besides what is known; an attack is
/// known, and others were not looked for. None of it is fine.
#[test]
fn what_is_known_hides_nothing_else() {
    let counts = "thread t[2] { local r, i;  for (i = 0; i < 100; i = i + 1) { r = FADD(c, 1, acq, rel); }\n\
        r = c.load(acq);  assert(r != 177); }\n";
    let races = "thread a { d.nastore(1); }\nthread b { d.nastore(1); }\n";
    let desk = Desk::new()
        .and(
            "two.fp",
            "atomic x, y;\nthread a { local r;  x.store(1);  r = x.load();  assert(r == 0); }\n\
             thread b { local r;  y.store(1);  r = y.load();  assert(r == 0); }\n",
        )
        .and("race.fp", format!("max_value 511;  na d;  atomic c;\n{races}{counts}"))
        .and(
            "fault.fp",
            format!(
                "max_value 511;  atomic c;  atomic x[1];\n\
                 thread f {{ local r;  r = 1;  x[r].store(1); }}\n{counts}"
            ),
        )
        .and("sb.fp", BUFFERING)
        .and(
            "known.txt",
            "assertion:a\nrace:*\nfault:*\ndelayed-store:left\ndelayed-store:right\n",
        );
    let code = |arguments: &str| {
        let run = check(&desk, &format!("--suppressions known.txt {arguments}"));
        (run.code, run.all())
    };
    for model in ["sc", "rc11", "tso"] {
        let (exit, said) = code(&format!("--model {model} two.fp"));
        assert_eq!(exit, Some(1), "{said}");
        assert!(said.contains("assertions  violated; 1 more known"), "{said}");
    }
    for model in ["sc", "rc11", "tso"] {
        let (exit, said) = code(&format!("--model {model} --limit-states 500 fault.fp"));
        assert_eq!(exit, Some(3), "{said}");
    }
    let (exit, said) = code("--limit-states 500 race.fp");
    assert_eq!(exit, Some(3), "{said}");
    let (exit, said) = code("--model tso sb.fp");
    assert_eq!(exit, Some(3), "{said}");
    assert!(said.contains("not all others were looked for"), "{said}");
}

/// Known findings are suppressed notes in SARIF, and JSON says why they do not count.
#[test]
fn reports_keep_what_is_known() {
    let desk = desk("").and("s.txt", "race:reader  # known\n");
    let run = check(&desk, "--json --sarif out.sarif --suppressions s.txt src/racy.fp");
    assert_eq!(run.code, Some(0), "{}", run.all());
    let lines: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let race = lines.iter().find(|line| line["property"] == "races").expect("an answer");
    assert_eq!(race["verdict"], "violated");
    assert_eq!(race["known"], "suppressed by s.txt:1");
    let sarif = std::fs::read_to_string(desk.path().join("out.sarif")).expect("a report");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["level"], "note");
    assert_eq!(result["suppressions"][0]["kind"], "external");
    assert_eq!(result["partialFingerprints"]["finding/v2"], race["id"]);
}

/// The same program in another file is another finding.
#[test]
fn fingerprints_hold_the_file() {
    let desk = desk("").and("other/sb.fp", BUFFERING);
    let id = |file: &str| {
        let run = check(&desk, &format!("--json {file}"));
        let line = run.stdout.lines().next().expect("a line").to_string();
        serde_json::from_str::<serde_json::Value>(&line).expect("JSON")["id"].clone()
    };
    assert_eq!(id("src/sb.fp"), id("./src/sb.fp"));
    assert_ne!(id("src/sb.fp"), id("other/sb.fp"));
}

#[test]
fn mistakes_in_suppressions_and_baselines() {
    let desk = desk("").and("s.txt", "rase:reader\n");
    let run = check(&desk, "--suppressions s.txt src/racy.fp");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("s.txt:1: there is no kind `rase`"), "{}", run.stderr);
    let run = check(&desk, "--baseline missing.txt src/racy.fp");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("missing.txt: cannot read"), "{}", run.stderr);
}

/// A verdict that is expected is fine, whatever it is; one that changes is not.
#[test]
fn verdicts_are_as_expected() {
    let expecting = |verdicts: &str| {
        desk(&format!("files = [\"src/sb.fp\", \"src/fine.fp\"]\nexpect = {{ {verdicts} }}\n"))
    };
    golden!(check(&expecting("robustness = \"violated\""), "").all());
    let asked = check(&expecting("liveness = \"holds\""), "");
    assert_eq!(asked.code, Some(2), "{}", asked.all());
    assert!(asked.stderr.contains("expects an answer about liveness"), "{}", asked.stderr);
    let racy = desk("files = \"src/racy.fp\"\nexpect = { races = \"violated\" }\n");
    let run = check(&racy, "");
    assert_eq!(run.code, Some(0), "{}", run.all());
}

#[test]
fn colours_and_quiet_are_everywhere() {
    let desk = desk("").and("run.txt", "T1 begin\nT1 rd x\nT1 end\n");
    for arguments in [
        "check --color always src/fine.fp",
        "outcomes --color always -q src/sb.fp",
        "fix --color never -q src/sb.fp",
        "orders --color never -q src/fine.fp",
        "serial --color never -q run.txt",
        "explain --color always FP0001",
    ] {
        let run = desk.run(arguments);
        assert!(matches!(run.code, Some(0)), "{arguments}: {}", run.all());
        let lines = run.stdout.lines().count();
        if arguments.contains(" -q ") && !arguments.starts_with("serial") {
            assert_eq!(lines, 1, "{arguments}: {}", run.stdout);
        }
    }
    assert!(desk.run("check --color always src/fine.fp").stdout.contains('\u{1b}'));
    assert!(!desk.run("check --color never src/fine.fp").stdout.contains('\u{1b}'));
    assert!(!desk.run("check src/fine.fp").stdout.contains('\u{1b}'));
}
