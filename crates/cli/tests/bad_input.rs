//! Everything that can be wrong with the input gets one clear message, and the rest is still checked.
//!
//! The messages of the language itself have golden tests in its crate; here is what a user sees.

mod run;

use run::Desk;

const GOOD: &str = "global x; thread t { x.store(1); }";

/// The message for a program, as `check` prints it.
fn message(program: &str) -> String {
    let run = Desk::with(program).run("check t.fp");
    assert_eq!(run.code, Some(2), "{}", run.all());
    run.all()
}

#[test]
fn syntax_error() {
    golden!(message("global x;\nthread t {\n  x.store(1;\n}\n"));
}

#[test]
fn unknown_name() {
    golden!(message("global flag;\nthread t {\n  flga.store(1);\n}\n"));
}

#[test]
fn register_as_location() {
    golden!(message("global x;\nthread t {\n  local r;\n  r.store(1);\n}\n"));
}

#[test]
fn duplicate_name() {
    golden!(message("global x, y, x;\nthread t { x.store(1); }\n"));
}

#[test]
fn goto_to_nowhere() {
    golden!(message("global x;\nthread t {\n  start: x.store(1);\n  goto strat;\n}\n"));
}

#[test]
fn declared_value_out_of_range() {
    golden!(message("max_value 3;\nglobal x = 4;\nthread t { x.store(1); }\n"));
}

#[test]
fn constant_index_out_of_range() {
    golden!(message("global a[2];\nthread t {\n  a[2].store(1);\n}\n"));
}

/// Found during the check, so there is a run that leads to it.
#[test]
fn computed_index_out_of_range() {
    golden!(message(
        "max_value 3;\nglobal a[2], i;\n\
         thread t { local r;\n  r = i.load(acq);\n  a[r].store(1);\n}\n\
         thread u { i.store(2, rel); }\n"
    ));
}

#[test]
fn division_by_zero() {
    golden!(message(
        "max_value 3;\nglobal x;\n\
         thread t { local r, s;\n  r = x.load();\n  s = 2 / r;\n}\n"
    ));
}

/// A value that wraps around is a warning, and with `--strict-values` an error.
#[test]
fn value_out_of_range() {
    let desk = Desk::with("max_value 3;\nglobal x;\nthread t[2] {\n  FADD(x, 2);\n}\n");
    golden!(format!(
        "{}\n{}",
        desk.run("check t.fp").all(),
        desk.run("check --strict-values t.fp").all()
    ));
}

/// The same for constants, which are known to wrap before anything runs.
#[test]
fn constant_out_of_range() {
    let desk = Desk::with("max_value 3;\nglobal x;\nthread t {\n  x.store(9);\n}\n");
    golden!(format!(
        "{}\n{}",
        desk.run("check t.fp").all(),
        desk.run("check --strict-values t.fp").all()
    ));
}

#[test]
fn empty_file() {
    golden!(message(""));
}

#[test]
fn binary_junk() {
    let desk = Desk::new().and("t.fp", [0x7f, b'E', b'L', b'F', 0x02, 0xff, 0x00, b'\n']);
    golden!(desk.run("check t.fp").all());
}

/// 50 MB are refused without being read.
#[test]
fn huge_file() {
    let desk = Desk::new();
    let file = std::fs::File::create(desk.path().join("t.fp")).expect("a file");
    file.set_len(50_000_000).expect("a sparse file");
    golden!(desk.run("check t.fp").all());
}

#[test]
fn directory_without_programs() {
    golden!(Desk::new().and("docs/readme.txt", "nothing here").run("check docs").all());
}

#[test]
fn pattern_without_matches() {
    golden!(Desk::with(GOOD).run("check locks/*.fp").all());
}

#[test]
fn missing_file() {
    golden!(Desk::new().run("check nowhere.fp").all());
}

#[cfg(unix)]
#[test]
fn file_without_read_permission() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(GOOD);
    let path = desk.path().join("t.fp");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).expect("permissions");
    if std::fs::read(&path).is_ok() {
        return; // the superuser may read everything
    }
    golden!(desk.run("check t.fp").all());
}

/// Statements of other models are refused by name, never guessed at.
#[test]
fn construct_that_the_model_lacks() {
    golden!(message("global x, y;\nthread t {\n  x.store(1);\n  fence(x);\n  y.store(1);\n}\n"));
}

/// Deep nesting must not exhaust the stack.
#[test]
fn deep_nesting() {
    let program = format!(
        "global x; thread t {{ local r; r = {}1{}; }}",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    assert_eq!(Desk::with(&program).run("check t.fp").code, Some(0));
    let program =
        format!("global x; thread t {{ {} {}", "if (1) {".repeat(100_000), "}".repeat(100_001));
    let run = Desk::with(&program).run("check t.fp");
    assert!(matches!(run.code, Some(0 | 2)), "{:?} {:.300}", run.code, run.stderr);
}

/// Text in a file cannot repaint the terminal.
#[test]
fn control_characters_are_shown_escaped() {
    let desk =
        Desk::with("global x;\nthread t { local r;\n  assert(r /* \u{1b}[2J\u{202e} */);\n}\n");
    let run = desk.run("check t.fp");
    assert!(!run.all().contains(['\u{1b}', '\u{202e}']));
    golden!(run.all());
}

/// Bad files do not keep the good ones from being checked, and decide the exit code.
#[test]
fn other_files_are_still_checked() {
    let desk = Desk::with(GOOD).and("bad.fp", "thread {").and("junk.tpl", [0u8, 1, 2]);
    golden!(desk.run("check bad.fp nowhere.fp t.fp junk.tpl").all());
}

/// The same in JSON: an object for every file, with the place of the error.
#[test]
fn errors_in_json() {
    let desk = Desk::with("global x;\nthread t {\n  y.store(1);\n  z.store(1);\n}\n");
    golden!(desk.run("check --json t.fp nowhere.fp").stdout);
}

#[test]
fn bad_arguments() {
    let desk = Desk::with(GOOD);
    let runs = [
        "check",
        "check --model weak t.fp",
        "check --limit-memory lots t.fp",
        "check --limit-time 5x t.fp",
        "check --limit-states -1 t.fp",
        "check --reduce everything t.fp",
        "check --jobs 0 t.fp",
        "frobnicate t.fp",
    ];
    let shown =
        runs.map(|arguments| format!("$ fencepost {arguments}\n{}", desk.run(arguments).all()));
    golden!(shown.join("\n"));
}

/// What is said about a program in Trencher's format.
fn about_automata(program: &str, arguments: &str) -> String {
    let run = Desk::new().and("t.txt", program).run(&format!("{arguments} t.txt"));
    assert_eq!(run.code, Some(2), "{}", run.all());
    run.all()
}

#[test]
fn automata_unknown_instruction() {
    golden!(about_automata(
        "thread t\ninitial a\ntransition a b wirte 1 0\nend\n",
        "check --model tso"
    ));
}

#[test]
fn automata_without_end() {
    golden!(about_automata("thread t\ninitial a\ntransition a b write 1 0\n", "check --model tso"));
}

#[test]
fn automata_constant_address_outside() {
    golden!(about_automata(
        "thread t\ninitial a\ntransition a b write 1 -1\nend\n",
        "check --model tso"
    ));
}

const COMPUTED: &str = "\
thread t
initial a
transition a b write 1 0
transition b c read r 1
transition c d write 1 - r 1
end
thread u
initial a
transition a b write 1 1
transition b c read s 0
end
";

#[test]
fn automata_computed_address_outside() {
    golden!(about_automata(COMPUTED, "check --model tso"));
}

/// A counter without end is not explored without end: the value that leaves the range is named.
#[test]
fn automata_values_without_end() {
    let program = "\
thread t
initial a
transition a b local r + r 100
transition b c write r 0
transition c d mfence
transition d a read q 1
end
thread u
initial a
transition a b read s 0
transition b c check == s 3
transition c d write 3 1
transition d a read s 0
end
";
    golden!(about_automata(program, "check --model tso"));
    let fix = Desk::new().and("t.txt", program).run("fix t.txt");
    assert_eq!((fix.code, fix.stderr.contains("out of range")), (Some(2), true), "{}", fix.all());
}

/// Every command takes the language that it is told, whatever the content looks like.
#[test]
fn the_language_that_is_asked_for() {
    let automata = "thread t\ninitial a\ntransition a b write 1 0\nend\n";
    for command in ["check --model tso", "fix", "outcomes --model tso"] {
        let run = |language| {
            Desk::new().and("t.txt", automata).run(&format!("{command} --input {language} t.txt"))
        };
        assert_eq!(run("trencher").code, Some(0), "{command}: {}", run("trencher").all());
        assert_eq!(run("fp").code, Some(2), "{command}: {}", run("fp").all());
    }
}

/// Trencher takes 0 for a register that nobody writes, so that two names are one address.
#[test]
fn automata_registers_that_nobody_writes() {
    let program = "thread t\ninitial a\ntransition a b write 1 x\ntransition b c read r y\nend\n";
    let run = Desk::new().and("t.txt", program).run("check --model tso t.txt");
    assert_eq!(run.code, Some(0));
    golden!(run.all());
}

/// Singularity where it would miss violations.
#[test]
fn singularity_where_it_is_not_complete() {
    let run = Desk::with(GOOD).run("check --model tso --method singularity t.fp");
    assert_eq!(run.code, Some(2), "{}", run.all());
    golden!(run.all());
}
