//! The source of a finding, with the lines that matter.

use crate::escape::{columns, html, visible};
use crate::finding::Finding;
use crate::input_report::InputReport;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A text with more lines than this is shown around what matters only.
const WHOLE: usize = 26;
/// So many lines around each.
const AROUND: usize = 3;

/// A part of a line and what to say about it.
struct Label {
    line: usize,
    from: usize,
    to: usize,
    text: String,
    main: bool,
}

pub(super) fn pane(out: &mut String, id: &str, sheet: &InputReport, finding: &Finding) {
    let text = &*sheet.text;
    let lines: Vec<&str> = text.lines().collect();
    let labels = labels(text, finding);
    let used: BTreeSet<usize> = finding
        .run
        .iter()
        .map(|step| step.place.whole_line)
        .chain(labels.iter().map(|label| label.line))
        .chain(finding.certificate.iter().flat_map(|proof| {
            proof.events.iter().filter_map(|event| Some(event.place.as_ref()?.whole_line))
        }))
        .collect();
    let near = |line: usize| used.range(line.saturating_sub(AROUND)..=line + AROUND).next();
    let _ = write!(
        out,
        "<section class=\"pane source\"><h4>Source</h4><div class=\"scroll lines\" tabindex=\"0\" \
         role=\"region\" aria-label=\"Source\" data-source=\"{id}\">"
    );
    let mut skipped = false;
    for (index, text) in lines.iter().enumerate() {
        let line = index + 1;
        let opens = sheet.parts.iter().any(|part| part.first == line);
        if lines.len() > WHOLE && near(line).is_none() && !opens {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            out.push_str("<div class=\"gap\" aria-hidden=\"true\">⋯</div>");
        }
        if let Some(part) = sheet.parts.iter().find(|part| part.first == line) {
            let _ = write!(out, "<div class=\"part\">{}</div>", html(&part.file));
        }
        let here: Vec<&Label> = labels.iter().filter(|label| label.line == line).collect();
        let _ = write!(
            out,
            "<div class=\"ln{}{}\" data-line=\"{line}\"><span class=\"no\">{}</span><code>{}</code></div>",
            if here.is_empty() { "" } else { " hit" },
            if used.contains(&line) { "" } else { " idle" },
            sheet.line_in_file(line),
            marked(text, &here)
        );
        // Under the code that it means.
        for label in here {
            let before = text.get(..label.from.min(text.len())).unwrap_or_default();
            let _ = write!(
                out,
                "<div class=\"ann{}\" style=\"--at:{}\">{}</div>",
                if label.main { " main" } else { "" },
                columns(&visible(before)),
                html(&label.text)
            );
        }
    }
    out.push_str("</div></section>\n");
}

/// The labels of the finding's diagnostic, by line.
fn labels(text: &str, finding: &Finding) -> Vec<Label> {
    let diagnostic = finding.diagnostic();
    let mut labels: Vec<Label> = Vec::new();
    for (index, (span, label)) in diagnostic.labels.iter().enumerate() {
        let Some(before) = text.get(..span.start) else { continue };
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        // Of a whole line, its indentation is not what is meant.
        let meant = text.get(span.start..span.end).unwrap_or_default();
        let indent = meant.len() - meant.trim_start_matches([' ', '\t']).len();
        let end = text[span.start..].find('\n').map_or(text.len(), |at| span.start + at);
        labels.push(Label {
            line: 1 + before.matches('\n').count(),
            from: span.start + indent - start,
            to: span.end.clamp(span.start + indent, end.max(span.start + indent)) - start,
            text: label.clone(),
            main: index == 0,
        });
    }
    labels.sort_by_key(|label| (label.line, label.from, !label.main));
    labels
}

/// The line with the labelled parts marked.
fn marked(line: &str, labels: &[&Label]) -> String {
    let mut out = String::new();
    let mut done = 0;
    // Of labels about the same place, the main one marks it.
    let mut labels = labels.to_vec();
    labels.sort_by_key(|label| (label.from, !label.main));
    for label in labels {
        let (from, to) = (label.from.max(done), label.to.min(line.len()));
        let (Some(before), Some(part)) = (line.get(done..from), line.get(from..to)) else {
            continue;
        };
        let main = if label.main { " class=\"main\"" } else { "" };
        let _ = write!(out, "{}<mark{main}>{}</mark>", html(before), html(part));
        done = to;
    }
    out.push_str(&html(line.get(done..).unwrap_or_default()));
    if out.is_empty() { visible(" ") } else { out }
}
