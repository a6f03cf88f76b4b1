//! Tells the binary which commit it was built from, if that is known.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    let version = env!("CARGO_PKG_VERSION");
    // A package that was unpacked somewhere inside another repository is not that repository's.
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| ours);
    match commit {
        Some(commit) => println!("cargo::rustc-env=FENCEPOST_VERSION={version} ({commit})"),
        None => println!("cargo::rustc-env=FENCEPOST_VERSION={version}"),
    }
    println!("cargo::rerun-if-changed=build.rs");
    let head = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD"].into_iter().chain(head.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
