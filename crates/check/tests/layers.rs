//! The way of a question goes down: what `ARCHITECTURE.md` says about who calls whom.
//!
//! A reader follows a check from module to module and never has to go back. That is a claim about the text of the
//! modules, so their text is searched: no module on the way names one that comes before it.

use std::path::Path;

/// The modules that a check against RC11 passes through: first those that call, last those that are called. Questions,
/// plans and answers are data that all of them share.
const WAY: [&str; 5] = ["robustness/rc20", "certificate", "explore", "replay", "product"];

/// The code of a module, without comments and tests.
fn code(at: &Path, out: &mut String) {
    let skipped = ["diagrams", "diagrams.rs"].iter().any(|name| at.ends_with(name));
    if at.is_dir() && !skipped {
        let mut inside: Vec<_> = std::fs::read_dir(at)
            .expect("a folder")
            .map(|entry| entry.expect("a file").path())
            .collect();
        inside.sort();
        inside.iter().for_each(|file| code(file, out));
    } else if at.is_file() && !skipped {
        let text = std::fs::read_to_string(at).expect("a module");
        let (text, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ""));
        let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
        lines.for_each(|line| *out += &format!("{line}\n"));
    }
}

/// Catches a module that calls back.
#[test]
fn no_module_names_one_that_comes_before_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (k, module) in WAY.iter().enumerate() {
        let mut text = String::new();
        code(&source.join(format!("{module}.rs")), &mut text);
        code(&source.join(module), &mut text);
        assert!(text.len() > 1000, "{module} is where it was");
        for earlier in &WAY[..k] {
            let name = format!("crate::{}", earlier.replace('/', "::"));
            assert!(!text.contains(&name), "{module} names {earlier}, which comes before it");
        }
    }
}
