//! Findings as SARIF 2.1.0 (OASIS), the format of code-scanning services.
//!
//! One run of the tool, one result per finding and warning. The interleaving is a code flow: one thread
//! flow per thread, the steps numbered across all of them by `executionOrder`. Advice that comes down to
//! insertions is a fix. A finding is recognised from one run to the next by its id, of which the file is a part; what
//! the user knows already is there as a suppressed note. The tests validate documents against the published schema.

use crate::advice::Edit;
use crate::explain;
use crate::finding::{Finding, Kind};
use crate::input_report::{InputReport, Notice, Unchecked};
use crate::place::Place;
use crate::text::{last_step, reservations, sentence, step_effect};
use serde_json::{Value, json};

/// Where the schema is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Changes of a program that belong together.
#[derive(Clone, Debug)]
pub struct Repair {
    /// What they are for.
    pub text: String,
    /// Each of them: file, line and column from 1, and what it is.
    pub changes: Vec<(String, usize, usize, String)>,
    /// What is exchanged for what, and in which file.
    pub edits: Vec<(String, Edit)>,
}

/// The rule of a repair, which is about no finding.
const REPAIR: &str = "memory-orders";

/// The document about these inputs, and about changes of them.
pub fn document(sheets: &[InputReport], repairs: &[Repair]) -> Value {
    let mut results: Vec<Value> = repairs.iter().map(repair).collect();
    let mut codes: Vec<&'static str> = Vec::new();
    if !results.is_empty() {
        codes.push(REPAIR);
    }
    let mut refused = Vec::new();
    let mut unchecked = Vec::new();
    for sheet in sheets {
        for reply in sheet.replies.iter().filter(|reply| !reply.required) {
            for finding in &reply.findings {
                codes.push(finding.code);
                results.push(result(sheet, finding, "note"));
            }
        }
        let required = sheet.replies.iter().filter(|reply| reply.required);
        let required = required.flat_map(|reply| &reply.findings);
        let known = sheet.replies.iter().flat_map(|reply| &reply.known).chain(&sheet.known_faults);
        for (finding, why) in known {
            codes.push(finding.code);
            let mut known = result(sheet, finding, "note");
            known["suppressions"] = json!([{ "kind": "external", "justification": why }]);
            results.push(known);
        }
        for finding in sheet.faults.iter().chain(required).chain(&sheet.stuck) {
            let unused = finding.observed.as_ref().is_some_and(|observed| observed.is_unused);
            let level = match finding.problem {
                _ if unused => "note",
                Kind::Stuck => "warning",
                _ => "error",
            };
            codes.push(finding.code);
            results.push(result(sheet, finding, level));
        }
        for warning in &sheet.warnings {
            codes.push(warning.code);
            results.push(remark(sheet, &sheet.notice(warning), "warning"));
        }
        for Unchecked { property, why } in &sheet.unchecked {
            unchecked.push(json!({
                "level": "note",
                "message": { "text": format!("{}: {property} not checked: {why}", sheet.file) },
            }));
        }
        for error in &sheet.errors {
            let error = &sheet.notice(error);
            codes.push(error.code);
            results.push(remark(sheet, error, "error"));
            refused.push(json!({
                "level": "error",
                "message": { "text": sheet.located(error) },
            }));
        }
    }
    codes.sort_unstable();
    codes.dedup();
    for result in &mut results {
        let rule = result["ruleId"].as_str().and_then(|id| codes.iter().position(|c| *c == id));
        result["ruleIndex"] = json!(rule);
    }
    let successful = refused.is_empty();
    let notifications: Vec<Value> = refused.into_iter().chain(unchecked).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "Fencepost",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": codes.iter().map(|code| rule(code)).collect::<Vec<_>>(),
                },
            },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": successful,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn rule(code: &str) -> Value {
    let mut rule = json!({ "id": code });
    if let Some(page) = explain::page(code) {
        rule["shortDescription"] = json!({ "text": page.title });
        rule["fullDescription"] = json!({ "text": page.summary() });
        rule["help"] = json!({ "text": page.text, "markdown": page.text });
    }
    if code == REPAIR {
        rule["shortDescription"] =
            json!({ "text": "Memory orders that are too weak, or stronger than needed" });
    }
    rule
}

/// A repair as one result at the place of its first change: its edits are one fix, for they belong together.
fn repair(repair: &Repair) -> Value {
    let location = |(file, line, column, _): &(String, usize, usize, String)| {
        json!({
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line, "startColumn": column },
        })
    };
    let related: Vec<Value> = repair
        .changes
        .iter()
        .enumerate()
        .map(|(k, change)| {
            json!({ "id": k + 1, "message": { "text": change.3 }, "physicalLocation": location(change) })
        })
        .collect();
    let mut files: Vec<&str> = repair.edits.iter().map(|(file, _)| file.as_str()).collect();
    files.dedup();
    let changes: Vec<Value> = files
        .into_iter()
        .map(|file| {
            let own = repair.edits.iter().filter(|(other, _)| other == file);
            let replacements: Vec<Value> = own.map(|(_, edit)| replacement(edit)).collect();
            json!({ "artifactLocation": { "uri": uri(file) }, "replacements": replacements })
        })
        .collect();
    let mut text = repair.text.clone();
    for (.., what) in &repair.changes {
        text.push_str("\n- ");
        text.push_str(what);
    }
    json!({
        "ruleId": REPAIR,
        "level": "warning",
        "message": { "text": text },
        "locations": repair.changes.first().map(|first| json!({ "physicalLocation": location(first) })).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related,
        "fixes": [{ "description": { "text": repair.text }, "artifactChanges": changes }],
    })
}

fn replacement(edit: &Edit) -> Value {
    json!({
        "deletedRegion": {
            "startLine": edit.line,
            "startColumn": edit.column,
            "endLine": edit.end_line,
            "endColumn": edit.end_column,
        },
        "insertedContent": { "text": edit.insert },
    })
}

fn result(sheet: &InputReport, finding: &Finding, level: &str) -> Value {
    let mut text = finding.message.clone();
    if let Some(sentence) = sentence(finding) {
        text.push_str(". ");
        text.push_str(&sentence);
    }
    for note in reservations(finding) {
        text.push('\n');
        text.push_str(note);
    }
    for advice in &finding.advice {
        text.push_str("\n- ");
        text.push_str(&advice.text);
    }
    let mut result = json!({
        "ruleId": finding.code,
        "level": level,
        "message": { "text": text },
        "locations": [location(sheet, &finding.place, None)],
        "partialFingerprints": { "finding/v2": sheet.id(finding) },
        "properties": { "model": sheet.model, "problem": finding.problem },
    });
    let related = related(sheet, finding);
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    let flows = thread_flows(sheet, finding);
    if !flows.is_empty() {
        result["codeFlows"] = json!([{
            "message": { "text": "The steps that lead there, in the order of executionOrder" },
            "threadFlows": flows,
        }]);
    }
    let fixes: Vec<Value> = finding
        .advice
        .iter()
        .filter(|advice| !advice.edits.is_empty())
        .map(|advice| {
            let replacements: Vec<Value> = advice.edits.iter().map(replacement).collect();
            json!({
                "description": { "text": advice.text },
                "artifactChanges": [{
                    "artifactLocation": { "uri": uri(&sheet.file) },
                    "replacements": replacements,
                }],
            })
        })
        .collect();
    if !fixes.is_empty() {
        result["fixes"] = json!(fixes);
    }
    result
}

fn remark(sheet: &InputReport, notice: &Notice, level: &str) -> Value {
    let text = match &notice.help {
        Some(help) => format!("{}\n{help}", notice.message),
        None => notice.message.clone(),
    };
    let (file, line) = match notice.line.and_then(|line| sheet.origin(line)) {
        Some((file, line)) => (file, Some(line)),
        None => (sheet.file.as_str(), None),
    };
    let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
    if let (Some(line), Some(column)) = (line, notice.column) {
        physical["region"] = json!({ "startLine": line, "startColumn": column });
    }
    json!({
        "ruleId": notice.code,
        "level": level,
        "message": { "text": text },
        "locations": [{ "physicalLocation": physical }],
    })
}

/// The places that the terminal underlines besides the main one.
fn related(sheet: &InputReport, finding: &Finding) -> Vec<Value> {
    let diagnostic = finding.diagnostic();
    let places = diagnostic.labels.iter().skip(1).enumerate();
    places
        .filter_map(|(index, (span, label))| {
            let before = sheet.text.get(..span.start)?;
            let (file, line) = sheet.origin(1 + before.matches('\n').count())?;
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let column = 1 + before[start..].chars().count();
            let length = sheet.text.get(span.start..span.end)?.chars().count();
            Some(json!({
                "id": index + 1,
                "message": { "text": label },
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(file) },
                    "region": {
                        "startLine": line,
                        "startColumn": column,
                        "endColumn": column + length,
                    },
                },
            }))
        })
        .collect()
}

fn location(sheet: &InputReport, place: &Place, message: Option<&str>) -> Value {
    let Some((file, line)) = sheet.origin(place.whole_line) else {
        let message = message.unwrap_or(&place.text);
        return json!({ "message": { "text": message } });
    };
    let mut region = json!({ "startLine": line, "startColumn": place.column });
    let text = sheet.text.get(place.span.start..place.span.end).unwrap_or_default();
    if !text.is_empty() && !text.contains('\n') {
        region["endColumn"] = json!(place.column + text.chars().count());
    }
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": region,
        },
    });
    if let Some(message) = message {
        location["message"] = json!({ "text": message });
    }
    location
}

fn thread_flows(sheet: &InputReport, finding: &Finding) -> Vec<Value> {
    let mut flows: Vec<(String, Vec<Value>)> = Vec::new();
    let mut order = 0;
    let mut add = |thread: &str, place: &Place, effect: &str, importance: &str| {
        order += 1;
        let text = match effect {
            "" => place.text.clone(),
            effect => format!("{}: {effect}", place.text),
        };
        let step = json!({
            "executionOrder": order,
            "importance": importance,
            "location": location(sheet, place, Some(&format!("{thread}: {text}"))),
        });
        match flows.iter_mut().find(|(name, _)| name == thread) {
            Some((_, steps)) => steps.push(step),
            None => flows.push((thread.to_string(), vec![step])),
        }
    };
    for step in finding.run.iter().filter(|step| step.is_shown()) {
        add(&step.thread, &step.place, &step_effect(finding, step), "important");
    }
    if let Some(effect) = last_step(finding) {
        add(&finding.thread, &finding.place, &effect, "essential");
    }
    let flow = |(thread, locations)| json!({ "id": thread, "locations": locations });
    flows.into_iter().map(flow).collect()
}

/// A file's name as a relative or absolute URI.
fn uri(file: &str) -> String {
    let mut out = String::new();
    if file.starts_with('/') {
        out.push_str("file://");
    }
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b'+' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
