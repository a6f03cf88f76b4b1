//! `fencepost fix` and files that it may not, or cannot, write, and what it cannot repair: each has its message and exit code 2,
//! and afterwards every file is as it was, with none that was not there before.

mod run;

use run::{Desk, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const CAREFUL: &str = "atomic x;\nthread t {\n  x.store(1, sc);\n}\n";

/// A program of two files: the header publishes, `main` reads.
const HEADER: &str = "#include <stdatomic.h>\nstatic atomic_int ready;\nstatic void publish(void) {\n\
    \x20   atomic_store_explicit(&ready, 1, memory_order_relaxed);\n}\n";
const MAIN: &str = "#include <flag.h>\n#include <pthread.h>\nstatic int data;\n\
    static void *sender(void *p) { data = 1; publish(); return p; }\n\
    int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, sender, 0);\n    int seen = 0;\n\
    \x20   if (atomic_load_explicit(&ready, memory_order_acquire)) seen = data;\n    pthread_join(t, 0);\n    return seen;\n}\n";

fn has_clang() -> bool {
    let found = std::process::Command::new("clang").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no clang");
    }
    found
}

/// All files of a desk, with what is in them.
fn files(desk: &Desk) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(desk.path()).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.map(|path| (path.clone(), std::fs::read(&path).expect("a file"))).collect()
}

/// Runs a command that has to say this and leave all files as they are.
fn refused(desk: &Desk, arguments: &str, says: &str) {
    let before = files(desk);
    let run = desk.run(arguments);
    assert_refused(&run, arguments, says);
    assert!(files(desk) == before, "{arguments} left other files: {}", run.all());
}

fn assert_refused(run: &Run, arguments: &str, says: &str) {
    assert_eq!(run.code, Some(2), "{arguments}: {}", run.all());
    assert!(run.stderr.contains(says), "{arguments}: {}", run.all());
}

#[cfg(unix)]
#[test]
fn read_only_files() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(CAREFUL).and("old.fp", "of another\n");
    for name in ["t.fp", "old.fp"] {
        let mode = std::fs::Permissions::from_mode(0o444);
        std::fs::set_permissions(desk.path().join(name), mode).expect("permissions");
    }
    let read_only = "error: cannot write t.fp: it is read-only; nothing was written";
    refused(&desk, "fix --weaken --in-place t.fp", read_only);
    refused(&desk, "fix --weaken --write t.fp t.fp", read_only);
    let other = "error: cannot write old.fp: it is read-only; nothing was written";
    refused(&desk, "fix --weaken --write old.fp t.fp", other);
    refused(&desk, "fix --trf --write old.fp t.fp", other);
}

#[test]
fn files_that_cannot_be() {
    let desk = Desk::with(CAREFUL);
    refused(&desk, "fix --weaken --write . t.fp", "it is a directory; nothing was written");
    refused(&desk, "fix --weaken --write missing/t.fp t.fp", "nothing was written");
    refused(&desk, "fix --weaken --html t.fp t.fp", "`t.fp` is one of the inputs");
}

/// A file that is replaced may be used by whom it could be used before.
#[cfg(unix)]
#[test]
fn permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(CAREFUL);
    let path = desk.path().join("t.fp");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).expect("permissions");
    assert_eq!(desk.run("fix --weaken --in-place t.fp").code, Some(0));
    let data = std::fs::metadata(&path).expect("a file");
    assert_eq!(data.permissions().mode() & 0o777, 0o750);
    assert!(std::fs::read_to_string(&path).is_ok_and(|text| text.contains("x.store(1, rlx)")));
}

/// Runs `fix` with a compiler during which somebody else writes to files: before the changed text is compiled again, `written`
/// gets one more line.
fn run_while_others_write(desk: &Desk, arguments: &str, written: &str) -> Run {
    let compiler = desk.path().join("compiler");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *-ivfsoverlay*) echo '// of somebody else' >> {written};; esac\n\
         exec clang \"$@\"\n"
    );
    std::fs::write(&compiler, script).expect("a file");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(arguments.split_whitespace())
        .current_dir(desk.path())
        .env("FENCEPOST_CC", "sh ./compiler")
        .output()
        .expect("the binary runs");
    std::fs::remove_file(&compiler).expect("a file");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
}

/// What somebody else wrote since a file was read is not lost, and then no other file is written either.
#[cfg(unix)]
#[test]
fn files_that_changed_meanwhile() {
    if !has_clang() {
        return;
    }
    // With an order that is too strong in the header, both files are changed.
    let main = MAIN.replace("memory_order_acquire", "memory_order_seq_cst");
    let header = HEADER.replace("memory_order_relaxed", "memory_order_seq_cst");
    for (written, arguments) in [
        ("main.c", "fix --weaken --in-place main.c -- -I ."),
        ("flag.h", "fix --weaken --in-place main.c -- -I ."),
        ("main.c", "fix --weaken --write main.c --keep flag.h:4 main.c -- -I ."),
        ("flag.h", "fix --weaken --write flag.h --keep main.c:9 main.c -- -I ."),
    ] {
        let desk = Desk::new().and("flag.h", &header).and("main.c", &main);
        let mut expected = files(&desk);
        let changed = expected.get_mut(&desk.path().join(written)).expect("a file");
        changed.extend(b"// of somebody else\n");
        let run = run_while_others_write(&desk, arguments, written);
        let says = format!("{written} has changed since it was read; nothing was written");
        assert_refused(&run, arguments, &says);
        assert!(files(&desk) == expected, "{arguments}: {}", run.all());
        // Read anew, it is changed.
        assert_eq!(desk.run(arguments).code, Some(0), "{arguments}");
        let after = std::fs::read_to_string(desk.path().join(written)).expect("a file");
        assert!(after.ends_with("// of somebody else\n") && !after.contains("seq_cst"), "{after}");
    }
}

/// The text of one file of a program never comes over another one.
#[test]
fn other_files_of_the_program_stay() {
    if !has_clang() {
        return;
    }
    let desk = Desk::new().and("flag.h", HEADER).and("main.c", MAIN);
    let says = "main.c is another file of the program than the one that is changed";
    refused(&desk, "fix --write main.c main.c -- -I .", says);
    assert_eq!(desk.run("fix --write new.h main.c -- -I .").code, Some(0));
    let text = |name: &str| std::fs::read_to_string(desk.path().join(name)).expect("a file");
    assert_eq!(text("new.h"), HEADER.replace("relaxed", "release"));
    assert_eq!((text("flag.h").as_str(), text("main.c").as_str()), (HEADER, MAIN));
    // If nothing is changed, what is written is the file with `main`, and not all files in one.
    std::fs::rename(desk.path().join("new.h"), desk.path().join("flag.h")).expect("a file");
    assert_eq!(desk.run("fix --write same.c main.c -- -I .").code, Some(0));
    assert_eq!(text("same.c"), MAIN);
}

/// A header of the system is not the user's: what would have to change there is named.
#[test]
fn headers_of_the_system_stay() {
    if !has_clang() {
        return;
    }
    let desk = Desk::new().and("include/flag.h", HEADER).and("main.c", MAIN);
    let header = desk.path().join("include/flag.h");
    let main = desk.path().join("main.c");
    for arguments in [
        "fix --in-place main.c -- -isystem include",
        "fix --write main.c main.c -- -isysteminclude",
    ] {
        let run = desk.run(arguments);
        assert_refused(&run, arguments, "it is in a header of the system");
        assert_refused(&run, arguments, "no memory order and no fence prevents its data race");
        let text = |path: &Path| std::fs::read_to_string(path).expect("a file");
        assert_eq!((text(&header).as_str(), text(&main).as_str()), (HEADER, MAIN));
    }
    assert_eq!(desk.run("fix main.c -- -I include").code, Some(0));
}

#[test]
fn unknown_costs() {
    let desk = Desk::with(CAREFUL).and("costs", "fence = 3\ntea = 1\n");
    let says = "not one of generic, x86, arm and power, and as a file it cannot be read";
    refused(&desk, "fix --weaken --cost nosuch --in-place t.fp", says);
    let says = "line 2 of costs: `tea` is none of acquire, release";
    refused(&desk, "fix --weaken --cost costs --in-place t.fp", says);
}

/// What no order and no fence repairs is said to be so, with what goes wrong.
#[test]
fn programs_that_no_order_repairs() {
    let race = "atomic x; na n;\nthread t {\n  n.nastore(1);\n}\nthread u {\n  n.nastore(2);\n  x.store(1, rlx);\n}\n";
    let fails = "atomic x;\nthread t {\n  x.store(1, rlx);\n}\nthread u { local r;\n  r = x.load(rlx);\n  assert(r == 1);\n}\n";
    for (program, says, because) in [
        (race, "no memory order and no fence prevents its data race", "`u` and `t` race on `n`"),
        (
            fails,
            "an assertion fails in an interleaving, which no memory order prevents",
            "an assertion of `u` fails, line 7",
        ),
    ] {
        for options in ["", "--weaken", "--require safe", "--model ra"] {
            let desk = Desk::with(program);
            let model = if options.contains("--model") { "" } else { "--model rc11" };
            let arguments = format!("fix {model} {options} --in-place t.fp");
            refused(&desk, &arguments, says);
            refused(&desk, &arguments, because);
        }
    }
    // What is written is not correct, and may not become stronger.
    let desk = Desk::with(
        "atomic x, y;\nthread t { local r;\n  x.store(1, rlx);\n  r = y.load(rlx);\n}\n\
        thread u { local r;\n  y.store(1, rlx);\n  r = x.load(rlx);\n}\n",
    );
    let says = "it is not robust as it is written";
    refused(&desk, "fix --weaken --no-stronger --in-place t.fp", says);
}
