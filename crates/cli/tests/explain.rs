//! What users look up: codes, completions, manual pages, the version.

mod run;

use run::Desk;

/// The programs of a page: right or wrong, the command, and the text.
fn programs(page: &report::explain::Page) -> Vec<(bool, &str, &str)> {
    let parts: Vec<&str> = page.text.split("```").collect();
    let blocks = parts.iter().skip(1).step_by(2);
    blocks
        .filter_map(|block| {
            let (head, text) = block.split_once('\n')?;
            let rest = head.strip_prefix("fp ")?;
            let (which, command) = rest.split_once(' ')?;
            Some((which == "right", command, text))
        })
        .collect()
}

/// The examples of every page are what the page says: the wrong ones get the code, the right ones do
/// not, and those that are right are right altogether.
#[test]
fn examples_are_true() {
    let mut tried = 0;
    for page in report::explain::pages() {
        for (right, command, text) in programs(&page) {
            let desk = Desk::with(text);
            let run = desk.run(&format!("{command} t.fp"));
            let shown = run.all();
            let has_code = shown.contains(&format!("[{}]", page.code));
            assert_eq!(has_code, !right, "{}:\n{text}\n{shown}", page.code);
            assert!(!right || run.code == Some(0), "{}:\n{text}\n{shown}", page.code);
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn explain() {
    let desk = Desk::new();
    insta::assert_snapshot!(desk.run("explain fp1").stdout);
    insta::assert_snapshot!("all_codes", desk.run("explain").stdout);
    let unknown = desk.run("explain FP4711");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("no code `FP4711`"));
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = Desk::new().run(&format!("completions {shell}"));
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("observational"), "{shell}");
    }
    assert_eq!(Desk::new().run("completions cobol").code, Some(2));
}

#[test]
fn manual() {
    let desk = Desk::new();
    let page = desk.run("man").stdout;
    assert!(page.contains(".TH") && page.contains("fencepost\\-check(1)"), "{page}");
    assert_eq!(desk.run("man --directory .").code, Some(0));
    for name in ["fencepost.1", "fencepost-check.1", "fencepost-explain.1"] {
        let page = std::fs::read_to_string(desk.path().join(name)).expect(name);
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert_eq!(desk.run("man --directory nowhere").code, Some(2));
}

/// In a checkout, the version says which.
#[test]
fn version_names_the_commit() {
    let version = Desk::new().run("--version").stdout;
    assert!(version.starts_with(&format!("fencepost {}", env!("CARGO_PKG_VERSION"))), "{version}");
    let git = std::process::Command::new("git")
        .args(["ls-files", "--error-unmatch", "build.rs"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    if git.is_ok_and(|output| output.status.success()) {
        let commit = version.split('(').nth(1).and_then(|rest| rest.split(')').next());
        let is_hash = |text: &str| text.len() >= 7 && text.chars().all(|c| c.is_ascii_hexdigit());
        assert!(commit.is_some_and(is_hash), "{version}");
    }
}

/// So are the recordings: the first is not atomic, the second is.
#[test]
fn recordings_are_true() {
    let page = report::explain::page("FP0012").expect("a page");
    let blocks: Vec<&str> = page.text.split("```").skip(1).step_by(2).collect();
    let codes = blocks.iter().map(|block| {
        let recording = block.strip_prefix("text\n").expect("a recording");
        Desk::new().and("run.txt", recording).run("serial run.txt").code
    });
    assert_eq!(codes.collect::<Vec<_>>(), [Some(1), Some(0)]);
}
