//! One page about everything that was looked at: works from a file, asks the network for nothing.
//!
//! The page is complete without its script: a table of all inputs, and for each finding the source,
//! the execution graph, the run and the cycle. The script (`page.js`) adds switches for kinds of edges
//! and a player that steps through the run. What the player shows is data in a script element that no
//! browser executes; text from programs reaches the page escaped, or as text nodes, never as markup.
//! A content security policy in the page itself forbids everything it does not need.

mod player;
mod source;

use crate::escape::html;
use crate::finding::Finding;
use crate::input_report::{InputReport, Notice, Unchecked};
use crate::observed::Observed;
use crate::picture::{Picture, Width, svg};
use crate::proof::{EdgeKind, Event, Proof};
use crate::ruling::Ruling;
use crate::text::{amount, reservations, sentence};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// The page about these inputs.
pub fn page(sheets: &[InputReport]) -> String {
    let mut out = String::new();
    let title = match sheets {
        [only] => format!("{}: {}", only.file, only.verdict()),
        many => format!("{} programs", many.len()),
    };
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"fencepost {}\">\n\
         <title>Fencepost: {}</title>\n<style>\n{STYLE}\n{}</style>\n</head>\n<body>\n\
         <svg width=\"0\" height=\"0\" class=\"execution markers\" aria-hidden=\"true\">{}</svg>\n",
        env!("CARGO_PKG_VERSION"),
        html(&title),
        svg::STYLE,
        svg::markers(),
    );
    header(&mut out, sheets);
    out.push_str("<main>\n");
    summary(&mut out, sheets);
    let first = sheets.iter().position(|sheet| sheet.findings().next().is_some());
    for (index, sheet) in sheets.iter().enumerate() {
        if has_details(sheet) {
            file(&mut out, index, sheet, first == Some(index));
        }
    }
    let _ = write!(
        out,
        "</main>\n<footer>Made by Fencepost {}. Codes such as FP0001 are explained by \
         <code>fencepost explain FP0001</code>.</footer>\n<script>\n{SCRIPT}\n</script>\n\
         </body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
    );
    out
}

fn header(out: &mut String, sheets: &[InputReport]) {
    out.push_str(
        "<header><div class=\"brand\"><svg class=\"logo\" viewBox=\"0 0 32 32\" aria-hidden=\"true\">\
         <path d=\"M5 29V9l4-5 4 5v20zM19 29V9l4-5 4 5v20zM2 13h28v4H2zM2 22h28v4H2z\"/></svg>\
         <h1>Fencepost</h1></div><ul class=\"tally\" aria-label=\"Summary\">",
    );
    for (verdict, words) in [
        ("violated", "violated"),
        ("error", "in error"),
        ("undecided", "undecided"),
        ("holds", "hold"),
    ] {
        let count = sheets.iter().filter(|sheet| sheet.verdict() == verdict).count();
        let _ = write!(
            out,
            "<li class=\"v-{verdict}{}\"><b>{count}</b> {words}</li>",
            if count == 0 { " none" } else { "" }
        );
    }
    out.push_str(
        "</ul><button id=\"theme\" type=\"button\" hidden>Theme: auto</button></header>\n",
    );
}

fn has_details(sheet: &InputReport) -> bool {
    sheet.findings().next().is_some()
        || !sheet.errors.is_empty()
        || !sheet.notices().is_empty()
        || !sheet.unchecked.is_empty()
        || sheet.replies.iter().any(|reply| reply.why.is_some())
        || sheet.scope.is_some()
}

fn summary(out: &mut String, sheets: &[InputReport]) {
    out.push_str(
        "<section class=\"card summary\" aria-labelledby=\"summary\"><div class=\"row\">\
         <h2 id=\"summary\">Programs</h2><div class=\"filters\" role=\"group\" \
         aria-label=\"Show only\" hidden>",
    );
    for (verdict, words) in [
        ("all", "all"),
        ("violated", "violated"),
        ("error", "errors"),
        ("undecided", "undecided"),
        ("holds", "hold"),
    ] {
        let _ = write!(
            out,
            "<button type=\"button\" data-filter=\"{verdict}\" aria-pressed=\"{}\">{words}</button>",
            verdict == "all"
        );
    }
    out.push_str(
        "</div></div><div class=\"scroll\"><table><thead><tr><th scope=\"col\">Program</th>\
         <th scope=\"col\">Verdict</th><th scope=\"col\">Model</th><th scope=\"col\">Properties</th>\
         <th scope=\"col\" class=\"num\">States</th><th scope=\"col\" class=\"num\">Time</th></tr>\
         </thead><tbody>\n",
    );
    for (index, sheet) in sheets.iter().enumerate() {
        let verdict = sheet.verdict();
        let name = match has_details(sheet) {
            true => format!("<a href=\"#f{index}\">{}</a>", html(&sheet.file)),
            false => html(&sheet.file),
        };
        let _ = write!(
            out,
            "<tr data-verdict=\"{verdict}\"><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>",
            badge(verdict),
            sheet.model
        );
        for reply in &sheet.replies {
            let (word, sign) = match reply.ruling {
                Ruling::Holds => ("holds", "✓"),
                Ruling::Violated => ("violated", "✗"),
                Ruling::Undecided => ("undecided", "?"),
            };
            let _ = write!(
                out,
                "<span class=\"prop v-{word}\" title=\"{word}\"><span aria-hidden=\"true\">{sign}</span> \
                 {}<span class=\"sr\"> {word}</span></span> ",
                reply.property
            );
        }
        for unchecked in &sheet.unchecked {
            let _ = write!(
                out,
                "<span class=\"prop\" title=\"not checked\"><span aria-hidden=\"true\">–</span> {}\
                 <span class=\"sr\"> not checked</span></span> ",
                unchecked.property
            );
        }
        let warnings = sheet.notices().len() as u64;
        if warnings > 0 {
            let _ =
                write!(out, "<span class=\"prop\">{}</span>", amount::plural(warnings, "warning"));
        }
        let _ = writeln!(
            out,
            "</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
            amount::count(sheet.cost.states),
            amount::time(sheet.cost.elapsed)
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn badge(verdict: &str) -> String {
    format!("<span class=\"badge v-{verdict}\">{verdict}</span>")
}

fn file(out: &mut String, index: usize, sheet: &InputReport, open: bool) {
    let _ = writeln!(
        out,
        "<details class=\"card file\" id=\"f{index}\"{}><summary><h2>{}</h2>{}<span class=\"model\">{}</span>\
         </summary>",
        if open { " open" } else { "" },
        html(&sheet.file),
        badge(sheet.verdict()),
        sheet.model
    );
    for error in &sheet.errors {
        notice(out, "error", &sheet.notice(error));
    }
    let why = sheet.replies.iter().filter_map(|reply| Some((reply.property, reply.why.as_ref()?)));
    for (property, why) in why {
        let _ = writeln!(
            out,
            "<p class=\"notice undecided\"><b>{property}</b> is undecided: {}</p>",
            html(why)
        );
    }
    for Unchecked { property, why } in &sheet.unchecked {
        let _ = writeln!(
            out,
            "<p class=\"notice undecided\"><b>{property}</b> not checked: {}</p>",
            html(why)
        );
    }
    for reply in &sheet.replies {
        if let Some(scope) = reply.scope() {
            let _ = writeln!(
                out,
                "<p class=\"notice\"><b>{}</b> holds {}.</p>",
                reply.property,
                html(&scope)
            );
        }
    }
    if let Some(conclusion) = sheet.conclusion.as_ref().filter(|_| sheet.is_safe_only()) {
        let _ = writeln!(out, "<p class=\"notice\">{}.</p>", html(conclusion));
    }
    if let Some(scope) = &sheet.scope {
        let _ = writeln!(out, "<p class=\"notice\">Holds for {}.</p>", html(scope));
    }
    for warning in sheet.notices() {
        notice(out, "warning", &warning);
    }
    for (number, finding) in sheet.findings().enumerate() {
        self::finding(out, &format!("f{index}-{number}"), sheet, finding);
    }
    out.push_str("</details>\n");
}

fn notice(out: &mut String, severity: &str, notice: &Notice) {
    let _ =
        write!(out, "<p class=\"notice {severity}\"><code class=\"code\">{}</code> ", notice.code);
    if let Some(line) = notice.line {
        let _ = write!(out, "line {line}: ");
    }
    out.push_str(&ticked(&notice.message));
    if let Some(help) = &notice.help {
        let _ = write!(out, " <span class=\"help\">{}</span>", html(help));
    }
    out.push_str("</p>\n");
}

fn finding(out: &mut String, id: &str, sheet: &InputReport, finding: &Finding) {
    let picture = Picture::of(finding);
    let _ = writeln!(
        out,
        "<article class=\"finding\" id=\"{id}\" aria-labelledby=\"{id}-title\"><h3 id=\"{id}-title\">\
         <code class=\"code\" title=\"fencepost explain {code}\">{code}</code> {}</h3>",
        ticked(&finding.message),
        code = finding.code,
    );
    if let Some(sentence) = sentence(finding) {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", ticked(&sentence));
    }
    for note in reservations(finding) {
        let _ = writeln!(out, "<p class=\"notice undecided\">{}</p>", ticked(note));
    }
    out.push_str("<div class=\"panes\">\n");
    if !sheet.text.is_empty() {
        source::pane(out, id, sheet, finding);
    }
    if let Some(picture) = &picture {
        graph(out, id, picture, finding);
    }
    out.push_str("</div>\n");
    player::pane(out, id, finding);
    if let Some(observed) = &finding.observed {
        self::observed(out, observed);
    }
    out.push_str("<div class=\"panes\">\n");
    if let Some(proof) = finding.certificate.as_ref().filter(|proof| !proof.cycle.is_empty()) {
        cycle(out, proof);
    }
    if !finding.advice.is_empty() {
        out.push_str("<section class=\"pane\"><h4>What to do</h4><ul class=\"advice\">");
        for advice in &finding.advice {
            let _ = write!(out, "<li>{}</li>", ticked(&advice.text));
        }
        out.push_str("</ul></section>");
    }
    out.push_str("</div></article>\n");
}

/// The text with what stands between backticks as code.
fn ticked(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        match index % 2 {
            0 => out.push_str(&html(part)),
            _ => {
                let _ = write!(out, "<code>{}</code>", html(part));
            }
        }
    }
    out
}

fn graph(out: &mut String, id: &str, picture: &Picture, finding: &Finding) {
    let heading = if picture.timeline { "Timeline" } else { "Execution" };
    let _ = write!(out, "<section class=\"pane graph\"><div class=\"row\"><h4>{heading}</h4>");
    let _ = write!(
        out,
        "<div class=\"toggles\" role=\"group\" aria-label=\"Edges to show\" data-for=\"{id}\" hidden>"
    );
    for kind in picture.kinds() {
        let quiet = picture.edges.iter().any(|edge| edge.kind == kind && edge.quiet);
        let checked = if quiet { "" } else { "checked " };
        let _ = write!(
            out,
            "<label class=\"toggle e-{kind}\" title=\"{}\"><input type=\"checkbox\" {checked}\
             data-edge=\"{kind}\"><span class=\"swatch\" aria-hidden=\"true\"></span>{kind}\
             <span class=\"sr\"> ({})</span></label>",
            meaning(kind),
            meaning(kind)
        );
    }
    out.push_str("</div></div><div class=\"scroll canvas\" tabindex=\"0\" role=\"region\" aria-label=\"Execution graph\">");
    let title = format!("{heading}: {}", finding.message);
    out.push_str(&svg::element(picture, &title));
    // What a phone shows instead.
    if let Some(narrow) = Picture::within(finding, Width::Narrow) {
        out.push_str(&svg::element(&narrow, &title));
    }
    out.push_str("</div></section>\n");
}

/// What is known of accesses that were observed in a running program.
fn observed(out: &mut String, observed: &Observed) {
    let _ = write!(
        out,
        "<section class=\"pane observed\"><div class=\"row\"><h4>As observed</h4>\
         <code class=\"code\" title=\"the name of this finding, from run to run\">{}</code></div><dl>",
        html(&observed.id)
    );
    for (name, value) in &observed.facts {
        let _ = write!(out, "<div><dt>{name}</dt><dd><code>{}</code></dd></div>", html(value));
    }
    out.push_str("</dl><div class=\"stacks\">");
    for detail in &observed.details {
        let _ = write!(out, "<section><h5>{}</h5><ol class=\"stack\">", ticked(&detail.title));
        for line in &detail.lines {
            let _ = write!(out, "<li><code>{}</code></li>", html(line));
        }
        out.push_str("</ol></section>");
    }
    out.push_str("</div></section>\n");
}

fn meaning(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Po => "program order: earlier in the same thread",
        EdgeKind::Rf => "reads from: a write and who reads it",
        EdgeKind::Mo => "modification order: the order of writes to a location",
        EdgeKind::Fr => "from read: read before it was overwritten",
        EdgeKind::Hb => "happens before: through release and acquire",
        EdgeKind::Block => "one uninterrupted block",
        EdgeKind::Conflict => "conflict: same variable, one of them writes",
        EdgeKind::Chosen => "conflict whose direction was open",
        EdgeKind::Indirect => "through transactions no longer held",
        EdgeKind::Propagation => "propagation: a call or return becomes known to another thread",
        EdgeKind::Race => "race: nothing orders the two accesses",
    }
}

fn cycle(out: &mut String, proof: &Proof) {
    out.push_str(
        "<section class=\"pane\"><h4>Why no interleaving does this</h4><p class=\"quiet\">Each of these \
         would have to come before the next, and the last before the first.</p><ol class=\"cycle\">",
    );
    for hop in &proof.cycle {
        let event: &Event = &proof.events[hop.event];
        let _ = write!(
            out,
            "<li><span class=\"who\">{}</span> ",
            html(event.thread.as_deref().unwrap_or("start"))
        );
        if let Some(place) = &event.place {
            let _ = write!(
                out,
                "<a class=\"at\" data-line=\"{}\">line {}</a> <code>{}</code> ",
                place.whole_line,
                place.line,
                html(&place.text)
            );
        }
        let _ = write!(
            out,
            "<span class=\"quiet\">{}</span><span class=\"hop e-{}\">{} <b>{}</b></span>",
            html(&event.label),
            hop.edge,
            hop.edge.words(),
            hop.edge
        );
        if let Some(because) = &hop.because {
            let _ = write!(out, "<span class=\"quiet\">{}</span>", html(because));
        }
        out.push_str("</li>");
    }
    out.push_str("</ol></section>");
}
