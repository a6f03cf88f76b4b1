//! `fencepost check-tests`: the tests of a crate, with a dependency of its own and a folder of integration tests.

use std::path::Path;
use std::process::Command;

/// What the command printed, on both streams, and its exit code.
fn check_tests(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("check-tests")
        .args(arguments)
        .current_dir(folder)
        // Whoever tests Fencepost by cargo has told cargo things that are not about this crate.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("the binary runs");
    let both = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (both.concat(), output.status.code())
}

fn no_cargo() -> bool {
    let missing = Command::new("cargo").arg("--version").output().is_err();
    if missing {
        eprintln!("no cargo: crates are not checked");
    }
    missing
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    std::fs::write(file, text).expect("written");
}

const MANIFEST: &str = "[package]\nname = \"two-flags\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                        [dependencies]\nflag = { path = \"flag\" }\n\n[workspace]\n";

const FLAG: &str = "\
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Flag(AtomicBool);

impl Flag {
    pub const fn new() -> Self {
        Flag(AtomicBool::new(false))
    }

    #[inline(never)]
    pub fn raise(&self, order: Ordering) {
        self.0.store(true, order);
    }

    #[inline(never)]
    pub fn is_up(&self, order: Ordering) -> bool {
        self.0.load(order)
    }
}
";

const LIBRARY: &str = "\
use flag::Flag;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;

pub struct Parcel {
    content: UnsafeCell<u32>,
    ready: Flag,
}

unsafe impl Sync for Parcel {}

impl Parcel {
    pub const fn new() -> Self {
        Parcel { content: UnsafeCell::new(0), ready: Flag::new() }
    }

    pub fn send(&self, content: u32, order: Ordering) {
        unsafe { *self.content.get() = content };
        self.ready.raise(order);
    }

    pub fn receive(&self) -> Option<u32> {
        self.ready.is_up(Ordering::Acquire).then(|| unsafe { *self.content.get() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn send_and_receive(order: Ordering) {
        let parcel = Parcel::new();
        thread::scope(|scope| {
            scope.spawn(|| parcel.send(7, order));
            if let Some(content) = parcel.receive() {
                assert_eq!(content, 7);
            }
        });
    }

    #[test]
    fn released() {
        send_and_receive(Ordering::Release);
    }

    #[test]
    fn relaxed() {
        send_and_receive(Ordering::Relaxed);
    }

    #[test]
    #[ignore]
    fn left_out() {
        panic!();
    }
}
";

const INTEGRATION: &str = "\
use two_flags::Parcel;

#[test]
fn nothing_comes_before_it_is_sent() {
    assert_eq!(Parcel::new().receive(), None);
}
";

/// Catches tests that are not found or confused, code of dependencies that is missing, and an exit code that forgets.
#[test]
fn each_test_of_a_crate_is_checked() {
    if no_cargo() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "Cargo.toml", MANIFEST);
    write(folder, "src/lib.rs", LIBRARY);
    write(folder, "tests/outside.rs", INTEGRATION);
    write(folder, "flag/src/lib.rs", FLAG);
    let flag = "[package]\nname = \"flag\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    write(folder, "flag/Cargo.toml", flag);
    let (all, code) = check_tests(folder, &[]);
    assert_eq!(code, Some(1), "{all}");
    let line = |name: &str| {
        let found = all.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("no {name} in\n{all}")).to_string()
    };
    assert!(line("tests::released").contains("holds"), "{all}");
    assert!(line("tests::relaxed").contains("violated"), "{all}");
    assert!(line("nothing_comes_before_it_is_sent").contains("holds"), "{all}");
    assert!(!all.contains("left_out"), "{all}");
    // One test: its story, with the place in the user's file.
    let (story, code) = check_tests(folder, &["relaxed"]);
    assert_eq!(code, Some(1), "{story}");
    assert!(story.contains("race") && story.contains("src/lib.rs:"), "{story}");
    let (holds, code) = check_tests(folder, &["released", "nothing"]);
    assert_eq!(code, Some(0), "{holds}");
    let (none, code) = check_tests(folder, &["no_such_test"]);
    assert_eq!(code, Some(2), "{none}");
    assert!(none.contains("no test has a name with this in it"), "{none}");
    write(folder, "tests/outside.rs", "#[test]\nfn wrong() { 1 }\n");
    let (wrong, code) = check_tests(folder, &[]);
    assert_eq!(code, Some(2), "{wrong}");
    assert!(wrong.contains("mismatched types"), "{wrong}");
}

/// Of the tests, one fails for a single one of a hundred numbers, which a run of it hardly ever chooses.
const CHOICES: &str = "\
use fencepost::thread;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn fails_for_one_number() {
    let last = AtomicUsize::new(0);
    let number = fencepost::any_below(100);
    thread::scope(|scope| {
        scope.spawn(|| last.store(number, Ordering::Relaxed));
    });
    assert!(last.load(Ordering::Relaxed) != 57);
}

#[test]
fn holds_for_all() {
    let number = fencepost::any_below(3);
    assert!(fencepost::is_checked() && number < 3);
    let sum = AtomicUsize::new(number);
    let other = || if fencepost::any_bool() { sum.fetch_add(1, Ordering::Relaxed); };
    thread::scope(|scope| {
        scope.spawn(other);
    });
    assert!(sum.load(Ordering::Relaxed) - number < 2);
}

#[test]
fn nothing_to_choose_from() {
    fencepost::any_below(0);
}
";

/// Catches choices of which not all are tried, values out of their range, and the crate's own code being executed.
#[test]
fn all_choices_of_a_test_are_tried() {
    if no_cargo() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let testing = concat!(env!("CARGO_MANIFEST_DIR"), "/../testing");
    let manifest = format!(
        "[package]\nname = \"choices\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dev-dependencies]\n\
         fencepost = {{ package = \"fencepost-testing\", path = {testing:?} }}\n\n[workspace]\n"
    );
    write(folder, "Cargo.toml", &manifest);
    write(folder, "src/lib.rs", "");
    write(folder, "tests/choices.rs", CHOICES);
    let (fails, code) = check_tests(folder, &["fails_for_one"]);
    assert_eq!(code, Some(1), "{fails}");
    assert!(fails.contains("last.load(Ordering::Relaxed) != 57"), "{fails}");
    let (holds, code) = check_tests(folder, &["holds_for_all"]);
    assert_eq!(code, Some(0), "{holds}");
    let (nothing, code) = check_tests(folder, &["nothing_to_choose"]);
    assert_eq!(code, Some(1), "{nothing}");
    assert!(nothing.contains("there is no number below 0"), "{nothing}");
}
