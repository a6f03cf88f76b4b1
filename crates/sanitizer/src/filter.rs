//! Which findings are not reported: suppressions and baselines.
//!
//! A suppressions file has one rule a line, `#` begins a comment:
//!
//! ```text
//! race:parse_*          a function on either stack, with * for anything
//! stale-read:queue.c    or a file
//! id:FP1a2b3c4d5e6f     or one finding
//! *:third_party/*       or whatever it is
//! ```
//!
//! A baseline is a list of ids.

use crate::Output;
use crate::access::RunAccess;
use crate::finding::RunFinding;
use crate::symbols::Frame;
use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file that is read.
const LARGEST: u64 = 1 << 24;

/// What rules may be about.
const KINDS: [&str; 6] = ["race", "stale-read", "stale-write", "stale-update", "id", "*"];

/// What is reported, if not all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Only {
    /// Races.
    Races,
    /// Accesses that may be stale.
    Robustness,
}

impl Only {
    /// `races` or `robustness`.
    pub fn parse(text: &str) -> Option<Only> {
        match text {
            "races" => Some(Only::Races),
            "robustness" => Some(Only::Robustness),
            _ => None,
        }
    }
}

/// What is left out.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    rules: Vec<Rule>,
    known: HashSet<String>,
    only: Option<Only>,
    show_std: bool,
}

/// A line of a file of suppressions.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What kind of finding it is about, `id` or `*`.
    pub kind: String,
    /// A function, a file or an id, with `*` for anything.
    pub pattern: String,
    /// Where the rule stands: `FILE:LINE`.
    pub place: String,
    /// Did it cover a finding?
    pub used: Cell<bool>,
}

/// The rules of a file of suppressions, about these kinds of findings.
pub fn rules(path: &Path, kinds: &[&str]) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    for (number, line) in lines(path)?.iter().enumerate() {
        let line = content(line);
        if line.is_empty() {
            continue;
        }
        let place = format!("{}:{}", path.display(), number + 1);
        let Some((kind, pattern)) = line.split_once(':') else {
            return Err(format!(
                "{place}: expected KIND:PATTERN, such as race:parse_*, found `{line}`"
            ));
        };
        let (kind, pattern) = (kind.trim().to_string(), pattern.trim().to_string());
        if !kinds.contains(&kind.as_str()) {
            let kinds = kinds.join(", ");
            return Err(format!("{place}: there is no kind `{kind}`, only {kinds}"));
        }
        rules.push(Rule { kind, pattern, place, used: Cell::new(false) });
    }
    Ok(rules)
}

/// The ids in a baseline.
pub fn ids(path: &Path) -> Result<HashSet<String>, String> {
    let ids = lines(path)?;
    let ids = ids.iter().map(|line| content(line).to_string());
    Ok(ids.filter(|id| !id.is_empty()).collect())
}

impl Rule {
    fn covers(&self, finding: &RunFinding) -> bool {
        let covers = match self.kind.as_str() {
            "id" => self.pattern == finding.id,
            kind if kind == "*" || kind == finding.kind => {
                finding.frames().any(|frame| mentions(frame, &self.pattern))
            }
            _ => false,
        };
        self.used.set(self.used.get() || covers);
        covers
    }
}

impl Filter {
    /// As the user asked.
    pub fn new(output: &Output) -> Result<Filter, String> {
        let mut filter =
            Filter { only: output.only, show_std: output.show_std, ..Filter::default() };
        if let Some(path) = &output.suppressions {
            filter.rules = rules(path, &KINDS)?;
        }
        if let Some(path) = &output.baseline {
            filter.known = ids(path)?;
        }
        Ok(filter)
    }

    /// Is this a stale read of the standard library's own? Its loops wait for what they need, in ways that cannot be
    /// told from mistakes, and no user can change them. Races are never left out.
    pub fn folds(&self, finding: &RunFinding) -> bool {
        !self.show_std && finding.kind != "race" && finding.access.is_internal()
    }

    /// Did the user ask for findings of this kind?
    pub fn wants(&self, kind: &str) -> bool {
        self.only.is_none_or(|only| (only == Only::Races) == (kind == "race"))
    }

    /// Is the finding left out?
    pub fn covers(&self, finding: &RunFinding) -> bool {
        // Each rule is asked, so that all that would do count as used.
        let covered = self.rules.iter().filter(|rule| rule.covers(finding)).count() > 0;
        covered
            || inside_rust_locks(finding)
            || inside_cpp_locks(finding)
            || self.known.contains(&finding.id)
    }

    /// The rules that covered nothing, each with its place.
    pub fn unused(&self) -> impl Iterator<Item = String> {
        let unused = self.rules.iter().filter(|rule| !rule.used.get());
        unused.map(|Rule { kind, pattern, place, .. }| format!("{place}: {kind}:{pattern}"))
    }
}

/// The fast paths of Rust's locks are inlined into the program and watched, the slow ones are not: what
/// the clocks say about their states means nothing.
fn inside_rust_locks(finding: &RunFinding) -> bool {
    finding.kind != "race"
        && finding.frames().any(|frame| {
            frame.function.as_deref().is_some_and(|name| name.contains("std::sys::sync::"))
        })
}

/// `std::atomic<std::shared_ptr>` of libstdc++ gives its lock back by a relaxed store after it has read the
/// pointer that the next owner writes. That is a race, and nothing that a program can do anything about.
fn inside_cpp_locks(finding: &RunFinding) -> bool {
    let inside = |access: &RunAccess| {
        let mut files = access.library_frames().iter().filter_map(|frame| frame.file.as_deref());
        files.any(|file| file.ends_with("/bits/shared_ptr_atomic.h"))
    };
    inside(&finding.access) && finding.other.as_ref().is_some_and(inside)
}

fn lines(path: &Path) -> Result<Vec<String>, String> {
    let mut text = String::new();
    let file = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    file.map_err(|error| format!("{}: cannot read the file: {error}", path.display()))?;
    if text.len() as u64 > LARGEST {
        let most = LARGEST >> 20;
        return Err(format!("{}: more than {most} MiB are no list of findings", path.display()));
    }
    Ok(text.lines().map(str::to_string).collect())
}

fn content(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

fn mentions(frame: &Frame, pattern: &str) -> bool {
    let function = frame.function.as_deref().is_some_and(|name| matches(pattern, name));
    let file = frame
        .file
        .as_deref()
        .is_some_and(|file| matches(pattern, file) || matches(&format!("*/{pattern}"), file));
    function || file || matches(&format!("*/{pattern}"), &frame.module)
}

/// Does the text match, with `*` for anything?
pub fn matches(pattern: &str, text: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = &parts[..] else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        assert!(matches("parse_*", "parse_line"));
        assert!(matches("*line", "parse_line"));
        assert!(matches("p*l*e", "parse_line"));
        assert!(matches("*line", "lineline"));
        assert!(matches("exact", "exact"));
        assert!(!matches("exact", "exactly"));
        assert!(!matches("parse_*", "reparse_"));
        assert!(matches("*", ""));
    }
}
