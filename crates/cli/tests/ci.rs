//! The scripts in `ci/`, the hook for pre-commit and `cargo fencepost`, run as services run them.
//!
//! What would go over the network is answered by programs that write down how they were called.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const RACY: &str = "atomic flag;  na data;\n\
    thread writer { data.nastore(7);  flag.store(1, rlx); }\n\
    thread reader { local f, d;  f = flag.load(acq);  if (f) { d = data.naload(); } }\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A folder for one test, with programs of its own in `bin`.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let desk = Desk(tempfile::tempdir().expect("a temporary directory"));
        fs::create_dir(desk.path("bin")).expect("a folder");
        let fencepost = Path::new(env!("CARGO_BIN_EXE_fencepost"));
        std::os::unix::fs::symlink(fencepost, desk.path("bin/fencepost")).expect("a link");
        desk.file("racy.fp", RACY).file("fine.fp", &RACY.replace("rlx", "rel"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(self, name: &str, text: &str) -> Desk {
        fs::write(self.path(name), text).expect("a file");
        self
    }

    /// A program that is found before all others of its name.
    fn program(self, name: &str, script: &str) -> Desk {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a line of shell here; `$CI` is the repository's `ci`.
    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new("bash")
            .args(["-c", line])
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("CI", root().join("ci"))
            .env_remove("FENCEPOST_LINK")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("bash runs")
    }
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn check_leaves_reports_and_a_comment() {
    let desk = Desk::new();
    let link = [("FENCEPOST_LINK", "https://example.org/report")];
    let run = desk.run("$CI/check --quiet racy.fp", &link);
    assert_eq!(run.status.code(), Some(1), "{}", said(&run));
    assert!(said(&run).contains("races       violated"), "{}", said(&run));
    for report in ["fencepost.sarif", "junit.xml", "report.html", "output.txt"] {
        assert!(!desk.read(&format!("fencepost-reports/{report}")).is_empty(), "{report}");
    }
    assert_eq!(desk.read("fencepost-reports/exit-code"), "1\n");
    let comment = desk.read("fencepost-reports/comment.md");
    assert!(comment.starts_with("<!-- fencepost -->\n### Fencepost: something is violated\n"));
    assert!(comment.contains("[The report](https://example.org/report)"), "{comment}");
    assert!(comment.contains("races       violated"), "{comment}");
    assert_eq!(desk.run("$CI/check fine.fp", &[]).status.code(), Some(0));
    assert!(desk.read("fencepost-reports/comment.md").contains("everything asked holds"));
    assert_eq!(desk.run("$CI/check missing.fp", &[]).status.code(), Some(2));
}

#[test]
fn check_says_that_fencepost_is_missing() {
    let run = Desk::new().run("$CI/check fine.fp", &[("FENCEPOST", "no-such-fencepost")]);
    assert_eq!(run.status.code(), Some(2));
    assert!(said(&run).contains("cargo install fencepost"), "{}", said(&run));
}

/// A comment is made once, and replaced from then on.
#[test]
fn comments_on_github() {
    let calls =
        "echo \"$*\" >> calls; case \"$*\" in *--paginate*) cat old 2>/dev/null;; esac; exit 0";
    let desk = Desk::new().program("gh", calls);
    desk.run("$CI/check --quiet racy.fp", &[]);
    let here = [("GITHUB_REPOSITORY", "me/queue"), ("PULL_REQUEST", "7")];
    let run = desk.run("$CI/comment-github fencepost-reports", &here);
    assert!(run.status.success(), "{}", said(&run));
    let posted = desk.read("calls");
    assert!(
        posted.contains(
            "--method POST repos/me/queue/issues/7/comments -F body=@fencepost-reports/comment.md"
        ),
        "{posted}"
    );
    let desk = desk.file("old", "31\n32\n").file("calls", "");
    let run = desk.run("$CI/comment-github fencepost-reports", &here);
    assert!(run.status.success(), "{}", said(&run));
    let patched = desk.read("calls");
    assert!(patched.contains("--method PATCH repos/me/queue/issues/comments/31 "), "{patched}");
    assert!(!patched.contains("POST"), "{patched}");
    let desk = desk.file("calls", "");
    let run =
        desk.run("$CI/comment-github fencepost-reports", &[("GITHUB_REPOSITORY", "me/queue")]);
    assert!(run.status.success() && desk.read("calls").is_empty(), "{}", said(&run));
}

#[test]
fn comments_on_gitlab() {
    let calls =
        "echo \"$*\" >> calls; case \"$*\" in *per_page*) cat old 2>/dev/null;; esac; exit 0";
    let desk = Desk::new().program("curl", calls);
    desk.run("$CI/check --quiet racy.fp", &[]);
    let here = [
        ("CI_MERGE_REQUEST_IID", "5"),
        ("CI_PROJECT_ID", "12"),
        ("CI_API_V4_URL", "https://gitlab.example.org/api/v4"),
        ("FENCEPOST_GITLAB_TOKEN", "secret"),
    ];
    let run = desk.run("$CI/comment-gitlab fencepost-reports", &here);
    assert!(run.status.success(), "{}", said(&run));
    let notes = "https://gitlab.example.org/api/v4/projects/12/merge_requests/5/notes";
    let body = "--data-urlencode body@fencepost-reports/comment.md";
    assert!(
        desk.read("calls").contains(&format!("--request POST {body} {notes}")),
        "{}",
        desk.read("calls")
    );
    let old = "[{\"id\":4,\"body\":\"fine by me\"},{\"id\":9,\"type\":null,\"body\":\"<!-- fencepost -->\\n###\"}]";
    // GitLab escapes `<` in its answers.
    let mut desk = desk;
    for old in [old.to_string(), old.replace('<', "\\u003c").replace('>', "\\u003e")] {
        desk = desk.file("old", &old).file("calls", "");
        let run = desk.run("$CI/comment-gitlab fencepost-reports", &here);
        assert!(run.status.success(), "{}", said(&run));
        let calls = desk.read("calls");
        assert!(calls.contains(&format!("--request PUT {body} {notes}/9")), "{calls}");
    }
    let desk = desk.file("calls", "");
    let run = desk.run("$CI/comment-gitlab fencepost-reports", &here[..3]);
    assert!(run.status.success() && desk.read("calls").is_empty(), "{}", said(&run));
}

/// The steps of the action that are scripts, in their order, as its runner would run them.
#[test]
fn the_action_runs() {
    let action = fs::read_to_string(root().join("ci/github/action.yml")).expect("the action");
    let mut scripts: Vec<String> = Vec::new();
    let mut block = false;
    for line in action.lines() {
        if let Some(script) = line.strip_prefix("      run: ") {
            block = script == "|";
            scripts.push(if block { String::new() } else { script.to_string() });
        } else if let (true, Some(line)) = (block, line.strip_prefix("        ")) {
            let script = scripts.last_mut().expect("a script");
            script.push_str(line);
            script.push('\n');
        } else {
            block = false;
        }
    }
    assert_eq!(scripts.len(), 4, "install, check, comment, verdict: {scripts:?}");
    let desk = Desk::new().program("gh", "echo \"$*\" >> calls");
    let action_path = root().join("ci/github");
    let variables = [
        ("GITHUB_ACTION_PATH", action_path.to_str().expect("UTF-8")),
        ("GITHUB_OUTPUT", "outputs"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
        ("GITHUB_REPOSITORY", "me/queue"),
        ("PULL_REQUEST", "7"),
        ("ARGUMENTS", "--quiet racy.fp"),
    ];
    for script in &scripts[..3] {
        let run = desk.run(&format!("set -e\n{script}"), &variables);
        assert!(run.status.success(), "{script}: {}", said(&run));
    }
    assert_eq!(desk.read("outputs"), "exit-code=1\n");
    assert!(desk.read("summary.md").contains("something is violated"));
    assert!(desk.read("calls").contains("body=@fencepost-reports/comment.md"));
    let verdict = scripts[3].replace("${{ steps.check.outputs.exit-code }}", "1");
    assert_eq!(desk.run(&verdict, &[]).status.code(), Some(1));
}

/// The template's commands, with the names that the image gives the scripts.
#[test]
fn the_template_runs() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a file");
    let (template, image) = (read("ci/gitlab.yml"), read("Dockerfile"));
    let lines = template.lines().skip_while(|line| line.trim() != "script:").skip(1);
    let script: Vec<&str> = lines.map_while(|line| line.strip_prefix("    - ")).collect();
    assert_eq!(script.len(), 3, "{script:?}");
    let desk = Desk::new();
    for line in image.lines().filter_map(|line| line.strip_prefix("COPY ci/")) {
        let (name, installed) = line.split_once(' ').expect("two names");
        let installed = installed.strip_prefix("/usr/local/bin/").expect("in the path");
        let script = root().join("ci").join(name);
        std::os::unix::fs::symlink(script, desk.path("bin").join(installed)).expect("a link");
    }
    let run = desk.run(&script.join("\n"), &[("FENCEPOST_ARGUMENTS", "--quiet racy.fp")]);
    assert_eq!(run.status.code(), Some(1), "{}", said(&run));
    assert!(said(&run).contains("no merge request"), "{}", said(&run));
    assert!(desk.path("fencepost-reports/junit.xml").exists());
}

#[test]
fn the_hook_runs() {
    let hooks = fs::read_to_string(root().join(".pre-commit-hooks.yaml")).expect("the hooks");
    let entry =
        hooks.lines().find_map(|line| line.trim().strip_prefix("entry: ")).expect("an entry");
    let desk = Desk::new().file("fencepost.toml", "files = [\"*.fp\"]\n");
    assert_eq!(desk.run(&format!("{entry} fine.fp racy.fp"), &[]).status.code(), Some(1));
    let desk = desk.file("fencepost.toml", "files = [\"fine.fp\"]\n");
    assert_eq!(desk.run(&format!("{entry} fine.fp"), &[]).status.code(), Some(0));
    assert_eq!(
        desk.run(&format!("{entry} racy.fp"), &[]).status.code(),
        Some(0),
        "not of the project"
    );
}

#[test]
fn cargo_knows_the_command() {
    let desk = Desk::new();
    let ours = Path::new(env!("CARGO_BIN_EXE_cargo-fencepost"));
    std::os::unix::fs::symlink(ours, desk.path("bin/cargo-fencepost")).expect("a link");
    let run = desk.run("cargo fencepost check --quiet racy.fp", &[]);
    assert_eq!(run.status.code(), Some(1), "{}", said(&run));
    assert!(said(&run).contains("races       violated"), "{}", said(&run));
    let run = desk.run("cargo-fencepost --version", &[]);
    assert!(said(&run).starts_with("fencepost "), "{}", said(&run));
}

/// Without any static C library, the archive is refused with what to install, before anything is built.
#[test]
fn the_archive_says_what_is_missing() {
    let desk = Desk::new()
        .program("rustc", "mkdir -p nothing; echo nothing")
        .program("cc", "echo libc.a")
        .program("cargo", "echo cargo was called; exit 7");
    let run = desk.run("$CI/archive out", &[]);
    assert_eq!(run.status.code(), Some(2), "{}", said(&run));
    assert!(said(&run).contains("no static C library"), "{}", said(&run));
}

/// Catches a script that is no longer valid shell, or that cannot be run.
#[test]
fn scripts_are_executable() {
    for script in ["check", "comment-github", "comment-gitlab", "archive", "install-test"] {
        let path = root().join("ci").join(script);
        let mode =
            fs::metadata(&path).unwrap_or_else(|error| panic!("{script}: {error}")).permissions();
        assert_ne!(mode.mode() & 0o111, 0, "{script} is not executable");
        let parsed = Command::new("bash").arg("-n").arg(&path).output().expect("bash runs");
        assert!(parsed.status.success(), "{script}: {}", said(&parsed));
    }
}
