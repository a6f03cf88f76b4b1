//! Findings of `check` that the user knows already, and verdicts that a project expects.
//!
//! A finding is known if its id is in the baseline (`--baseline`), or if a suppression covers it (`--suppressions`, or
//! `[[suppress]]` in fencepost.toml). Known findings are not shown and do not count for the exit code; reports in files have
//! them as suppressed notes. So that a known finding does not hide a new one behind it, every place that can go wrong
//! is looked for as soon as there is anything to leave out.
//!
//! A suppressions file has the format that `fencepost run` reads, with `check`'s kinds of findings.

use crate::exit::Exit;
use crate::terminal;
use check::Why;
use clap::Args;
use report::escape::visible;
use report::{Finding, InputReport, Kind, Ruling, Standing};
use sanitizer::filter::{self, Rule, matches};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// Which findings are known.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Known findings")]
pub(crate) struct KnownArgs {
    /// Findings not to report: a line KIND:PATTERN for each, such as race:parser_* or stale-read:queue.c or
    /// id:FP1a2b3c4d5e6f; PATTERN is a thread or a file
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// Report only findings whose ids are not in this file
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the ids of all findings to this file, for --baseline
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
}

/// What suppressions may be about.
pub(crate) const KINDS: [&str; 13] = [
    "race",
    "stale-read",
    "stale-write",
    "stale-update",
    "dependency",
    "assertion",
    "final-state",
    "fault",
    "waiting",
    "delayed-store",
    "triangular-race",
    "id",
    "*",
];

/// A rule, and why findings that it covers are left out.
#[derive(Clone, Debug)]
pub(crate) struct Suppression {
    pub rule: Rule,
    pub reason: String,
}

/// What is known beforehand.
#[derive(Debug, Default)]
pub(crate) struct Known {
    suppressions: Vec<Suppression>,
    baseline: HashSet<String>,
    /// Where to write all ids, and the lines so far.
    write: Option<PathBuf>,
    lines: Vec<String>,
}

impl Known {
    /// What the arguments and the project's file name.
    pub(crate) fn new(args: &KnownArgs, project: Vec<Suppression>) -> Result<Self, String> {
        let mut suppressions = project;
        if let Some(path) = &args.suppressions {
            let rules = filter::rules(path, &KINDS)?;
            suppressions.extend(rules.into_iter().map(|rule| {
                let reason = format!("suppressed by {}", rule.place);
                Suppression { rule, reason }
            }));
        }
        let baseline = match &args.baseline {
            Some(path) => filter::ids(path)?,
            None => HashSet::new(),
        };
        Ok(Known { suppressions, baseline, write: args.write_baseline.clone(), lines: Vec::new() })
    }

    /// Does it matter which findings there are besides the first?
    pub(crate) fn is_active(&self) -> bool {
        !self.suppressions.is_empty() || !self.baseline.is_empty() || self.write.is_some()
    }

    /// Takes what is known out of a report.
    pub(crate) fn take_from(&mut self, report: &mut InputReport) {
        if self.write.is_some() {
            let findings =
                report.faults.iter().chain(report.replies.iter().flat_map(|r| &r.findings));
            for finding in findings {
                let (file, line) = (report.file_of(finding), finding.place.line);
                let (id, message) = (report.id(finding), &finding.message);
                self.lines.push(visible(&format!("{id}  # {file}:{line}: {message}")));
            }
        }
        let why = |report: &InputReport, finding: &Finding| {
            let id = report.id(finding);
            if self.baseline.contains(&id) {
                return Some("known by the baseline".to_string());
            }
            // Each rule is asked, so that all that would do count as used.
            let covering =
                self.suppressions.iter().filter(|s| covers(&s.rule, report, finding, &id));
            covering.map(|suppression| suppression.reason.clone()).reduce(|first, _| first)
        };
        take(report, &why);
    }

    /// Writes the baseline, and names rules that covered nothing.
    pub(crate) fn finish(mut self) -> Exit {
        for Suppression { rule, .. } in self.suppressions.iter().filter(|s| !s.rule.used.get()) {
            let Rule { kind, pattern, place, .. } = rule;
            terminal::complain(&visible(&format!(
                "note: {place}: `{kind}:{pattern}` covers nothing"
            )));
        }
        let Some(path) = &self.write else { return Exit::Holds };
        self.lines.sort();
        self.lines.dedup();
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        match std::fs::write(path, text) {
            Ok(()) => Exit::Holds,
            Err(error) => {
                let name = visible(&path.display().to_string());
                terminal::complain(&format!(
                    "error: --write-baseline: cannot write `{name}`: {error}"
                ));
                Exit::BadInput
            }
        }
    }
}

impl Suppression {
    /// A rule of a project's file.
    pub(crate) fn new(kind: String, pattern: String, place: String, reason: String) -> Self {
        Suppression { rule: Rule { kind, pattern, place, used: Cell::new(false) }, reason }
    }
}

fn covers(rule: &Rule, report: &InputReport, finding: &Finding, id: &str) -> bool {
    let covers = match rule.kind.as_str() {
        "id" => rule.pattern == id,
        kind if kind == "*" || kind == name(finding.problem) => {
            let file = report.file_of(finding);
            let thread = finding.thread.split('[').next().unwrap_or_default();
            let pattern = &rule.pattern;
            matches(pattern, &finding.thread)
                || matches(pattern, thread)
                || matches(pattern, &file)
                || matches(&format!("*/{pattern}"), &file)
        }
        _ => false,
    };
    rule.used.set(rule.used.get() || covers);
    covers
}

/// What a kind of finding is called in JSON and in rules.
fn name(kind: Kind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Moves findings for which there is a reason from what is told to what is known.
fn take(report: &mut InputReport, why: &dyn Fn(&InputReport, &Finding) -> Option<String>) {
    let reasons: Vec<Vec<Option<String>>> = report
        .replies
        .iter()
        .map(|reply| reply.findings.iter().map(|finding| why(report, finding)).collect())
        .collect();
    let fault_reasons: Vec<Option<String>> =
        report.faults.iter().map(|fault| why(report, fault)).collect();
    for (reply, reasons) in report.replies.iter_mut().zip(reasons) {
        for (finding, reason) in std::mem::take(&mut reply.findings).into_iter().zip(reasons) {
            match reason {
                Some(reason) => reply.known.push((finding, reason)),
                None => reply.findings.push(finding),
            }
        }
        if let (Ruling::Violated, [], [(_, reason), ..]) =
            (reply.ruling, &*reply.findings, &*reply.known)
        {
            reply.standing = match reply.is_complete {
                true => Standing::Accepted(reason.clone()),
                false => Standing::Open(format!("{reason}; not all others were looked for")),
            };
        }
    }
    for (fault, reason) in std::mem::take(&mut report.faults).into_iter().zip(fault_reasons) {
        match reason {
            Some(reason) => report.known_faults.push((fault, reason)),
            None => report.faults.push(fault),
        }
    }
    accept_what_follows(report);
}

/// What is open only because of a race or a run-time error that is known does not count either.
fn accept_what_follows(report: &mut InputReport) {
    let accepted = |property: &str| {
        report.replies.iter().any(|reply| {
            reply.property == property && matches!(reply.standing, Standing::Accepted(_))
        })
    };
    let race = accepted(check::Property::Races.name());
    let fault = report.faults.is_empty() && !report.known_faults.is_empty();
    for reply in &mut report.replies {
        let because = |why: Why| reply.why.as_deref() == Some(why.to_string().as_str());
        if race && because(Why::Racy) {
            reply.standing = Standing::Accepted("because of the known data race".to_string());
        } else if fault && because(Why::Faulty) {
            reply.standing = Standing::Accepted("because of the known run-time error".to_string());
        }
    }
}

/// Compares verdicts with those that a project expects. If one is about a property that was not looked at, its name.
pub(crate) fn compare(
    report: &mut InputReport,
    expected: &BTreeMap<String, Ruling>,
) -> Result<(), String> {
    for (property, expected) in expected {
        let Some(reply) = report.replies.iter_mut().find(|reply| reply.property == property) else {
            return Err(property.clone());
        };
        reply.required = true;
        match (reply.ruling, expected) {
            (Ruling::Violated, Ruling::Violated) => {
                let reason = "as fencepost.toml expects".to_string();
                let findings = std::mem::take(&mut reply.findings);
                reply.known.extend(findings.into_iter().map(|finding| (finding, reason.clone())));
                reply.standing = Standing::Accepted(reason);
            }
            (Ruling::Holds, Ruling::Violated) => {
                let reason = "but fencepost.toml expects `violated`".to_string();
                reply.standing = Standing::Refused(reason);
                report.conclusion = None;
            }
            _ => {}
        }
    }
    accept_what_follows(report);
    Ok(())
}
