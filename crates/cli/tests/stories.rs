//! What a violation looks like in a terminal.

mod run;

use run::{Desk, run_at_root};

/// The report on a program of the corpus.
fn corpus(arguments: &str) -> String {
    run_at_root(arguments).all()
}

#[test]
fn stale_read() {
    golden!(corpus("check corpus/litmus/sb-rlx.fp"));
}

#[test]
fn stale_read_of_a_message() {
    golden!(corpus("check corpus/litmus/mp-rlx.fp"));
}

#[test]
fn stale_write() {
    golden!(corpus("check --model ra corpus/litmus/2+2w-ra.fp"));
}

#[test]
fn stale_update() {
    golden!(corpus("check corpus/litmus/cas-stale-success.fp"));
}

/// Four threads do not fit beside each other.
#[test]
fn many_threads() {
    golden!(corpus("check corpus/litmus/iriw-ra.fp"));
}

/// The cycle goes through fences.
#[test]
fn cycle_through_a_fence() {
    golden!(corpus("check corpus/litmus/sb-one-fence.fp"));
}

#[test]
fn race() {
    golden!(corpus("check corpus/litmus/mp-na-race.fp"));
}

#[test]
fn holds() {
    golden!(corpus("check corpus/litmus/mp-na.fp"));
}

#[test]
fn holds_observationally() {
    golden!(corpus("check --observational corpus/litmus/obs-discarded-on-check.fp"));
}

#[test]
fn use_of_a_stale_value() {
    golden!(corpus("check --observational corpus/litmus/obs-used-despite-check.fp"));
}

#[test]
fn assertion() {
    golden!(corpus("check --model sc corpus/litmus/replicas-lost-update.fp"));
}

#[test]
fn waiting_for_ever() {
    golden!(corpus("check --liveness corpus/weak/missed-phase.fp"));
}

/// Only weak memory leads there.
#[test]
fn waiting_for_ever_on_weak_memory() {
    golden!(corpus("check --liveness corpus/weak/both-leave-it-to-the-other.fp"));
}

/// A final condition that only weak memory refutes.
#[test]
fn final_condition_on_weak_memory() {
    let desk = Desk::new().and(
        "sb.fp",
        "atomic x, y;\n\
         thread a { local r; x.store(1, rlx); r = y.load(rlx); }\n\
         thread b { local r; y.store(1, rlx); r = x.load(rlx); }\n\
         ~exists (a.r == 0 && b.r == 0);\n",
    );
    golden!(desk.run("check sb.fp").all());
}

#[test]
fn all_findings() {
    golden!(corpus("check --all corpus/litmus/lock-forgotten.fp"));
}

#[test]
fn quiet() {
    golden!(corpus("check --quiet corpus/litmus/sb-rlx.fp"));
}

#[test]
fn many_files() {
    golden!(corpus("check corpus/litmus/mp-na.fp corpus/litmus/sb-*s.fp corpus/litmus/mp-rlx.fp"));
}

/// Of many files, warnings are counted and run-time errors shown.
#[test]
fn many_files_with_warnings() {
    let desk = Desk::with("max_value 1; global x;\nthread t { FADD(x, 1); FADD(x, 1); }\n")
        .and("div.fp", "global x;\nthread t { local r;\n  r = 1 / r;\n}\n");
    golden!(desk.run("check .").all());
}

#[test]
fn limit_reached() {
    golden!(corpus("check --limit-states 10 corpus/litmus/iriw-fences.fp"));
}

/// One weaker access is outside the order of the `sc` accesses.
#[test]
fn sc_accesses() {
    let desk = Desk::with(
        "global x, y;\n\
         thread t {\n  local r;\n  x.store(1, sc);\n  r = y.load(acq);\n}\n\
         thread u {\n  local r;\n  y.store(1, sc);\n  r = x.load(sc);\n}\n",
    );
    golden!(desk.run("check t.fp").all());
}

/// Two threads that wait for each other are worth a warning, and `--all` shows how they got there.
#[test]
fn stuck_threads() {
    let desk = Desk::with(
        "global x, y;\n\
         thread t {\n  BCAS(x, 0, 1, acq, rel);\n  wait(y, 1, acq);\n}\n\
         thread u {\n  BCAS(x, 0, 2, acq, rel);\n  y.store(1, rel);\n}\n",
    );
    golden!(format!("{}\n{}", desk.run("check t.fp").all(), desk.run("check --all t.fp").all()));
}

/// Nothing colourful goes to a file, and nothing but the report to standard output.
#[test]
fn no_colours_without_a_terminal() {
    let run = run_at_root("check corpus/litmus/sb-rlx.fp");
    assert!(!run.all().contains('\u{1b}'));
    assert_eq!(run.stderr, "");
}

/// The execution alone refutes only plain robustness; a reader must be told.
#[test]
fn inconclusive_certificate() {
    golden!(corpus("check --observational corpus/litmus/obs-imprecise.fp"));
}

/// On a machine with store buffers the store happens twice: issued, and in memory.
#[test]
fn delayed_store() {
    golden!(corpus("check --model tso corpus/litmus/sb-rlx.fp"));
}

#[test]
fn triangular_race() {
    golden!(corpus("check --model tso --trf corpus/litmus/sb-rlx.fp"));
}

/// Nothing but words that cannot be broken is wider than the terminal.
#[test]
fn narrow_terminals() {
    let padding = "1 + ".repeat(40);
    let desk = Desk::with(&format!(
        "max_value 99; atomic x, y;\nthread left {{ local a, b; b = {padding}0; x.store(1, rlx); a = y.load(rlx); }}\n\
         thread right {{ local b; y.store(1, rlx); b = x.load(rlx); }}\n"
    ));
    for width in [40, 60, 80] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .args(["check", "t.fp"])
            .current_dir(desk.path())
            .env("COLUMNS", width.to_string())
            .output()
            .expect("the binary runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains("FP0001"), "{text}");
        let excerpt =
            text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        for line in excerpt {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}
