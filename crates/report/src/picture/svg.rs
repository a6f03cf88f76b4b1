//! Drawings as SVG.
//!
//! Colours and dashes are classes, so that a page can switch kinds of edges off and show light and dark
//! alike. An SVG of its own carries its style along.

use super::layout::{Measures, NAME_ABOVE};
use super::{Edge, Node, Picture, Width, labels};
use crate::escape::{html, visible};
use crate::finding::Finding;
use crate::proof::{EdgeKind, EventKind};
use std::fmt::Write;

/// The style of drawings, for light and dark.
pub const STYLE: &str = include_str!("picture.css");

/// All kinds of edges that have arrows of their own.
const KINDS: [EdgeKind; 11] = [
    EdgeKind::Po,
    EdgeKind::Rf,
    EdgeKind::Mo,
    EdgeKind::Fr,
    EdgeKind::Hb,
    EdgeKind::Block,
    EdgeKind::Conflict,
    EdgeKind::Chosen,
    EdgeKind::Indirect,
    EdgeKind::Propagation,
    EdgeKind::Race,
];

/// The arrow heads that drawings refer to: once per document.
pub fn markers() -> String {
    let mut out = String::from("<defs>");
    for kind in KINDS {
        let _ = write!(
            out,
            "<marker id=\"arrow-{kind}\" class=\"head e-{kind}\" viewBox=\"0 0 10 10\" refX=\"9\" \
             refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" \
             orient=\"auto\"><path d=\"M0 1 L10 5 L0 9 z\"/></marker>"
        );
    }
    out.push_str("</defs>");
    out
}

/// What becomes of edges that are only shown to those who ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quiet {
    There,
    Gone,
}

/// The drawing as an element of a page, which has [`markers`] and [`STYLE`].
pub fn element(picture: &Picture, title: &str) -> String {
    let (width, height) = picture.size;
    let mut out = format!(
        "<svg class=\"execution {}\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"group\" aria-label=\"{}\">",
        match picture.width {
            Width::Wide => "wide",
            Width::Narrow => "narrow",
        },
        html(title)
    );
    out.push_str(&content(picture, Quiet::There));
    out.push_str("</svg>");
    out
}

/// The drawings of all findings, one below the other, as a file.
pub fn file(findings: &[&Finding]) -> String {
    const CAPTION: f64 = 40.0;
    let drawn: Vec<(&Finding, Picture)> =
        findings.iter().filter_map(|finding| Some((*finding, Picture::of(finding)?))).collect();
    let caption = |finding: &Finding| visible(&finding.message);
    let wide = |(finding, picture): &(&Finding, Picture)| {
        picture.size.0.max(caption(finding).chars().count() as f64 * 7.6 + 60.0)
    };
    let width = drawn.iter().map(wide).fold(320.0, f64::max);
    let height: f64 = drawn.iter().map(|(_, p)| p.size.1 + CAPTION).sum::<f64>().max(CAPTION);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"execution\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">\n\
         <style>\n{STYLE}</style>\n{}\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        markers()
    );
    if drawn.is_empty() {
        out.push_str("<text class=\"lane\" x=\"22\" y=\"26\">nothing wrong was found</text>\n");
    }
    let mut y = 0.0;
    for (finding, picture) in &drawn {
        let _ = writeln!(
            out,
            "<g transform=\"translate(0 {y:.0})\"><text class=\"title\" x=\"22\" y=\"28\">{}</text>\
             <g transform=\"translate(0 {CAPTION})\">{}</g></g>",
            html(&format!("{}: {}", finding.code, finding.message)),
            content(picture, Quiet::Gone)
        );
        y += picture.size.1 + CAPTION;
    }
    out.push_str("</svg>\n");
    out
}

fn content(picture: &Picture, quiet: Quiet) -> String {
    let mut out = String::new();
    let top = picture.top();
    // Edges of the cycle last, on top of the others.
    let mut order: Vec<usize> = (0..picture.edges.len()).collect();
    order.sort_by_key(|index| picture.edges[*index].on_cycle);
    for index in order {
        if quiet == Quiet::There || !picture.edges[index].quiet {
            edge(&mut out, picture, &picture.edges[index]);
        }
    }
    for lane in &picture.lanes {
        let _ = write!(
            out,
            "<text class=\"lane\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            lane.x,
            top - NAME_ABOVE,
            html(&lane.name)
        );
    }
    for (index, node) in picture.nodes.iter().enumerate() {
        node_group(&mut out, picture, index, node);
    }
    if picture.hidden > 0 {
        let _ = write!(
            out,
            "<text class=\"note\" x=\"22\" y=\"{:.0}\">{} more events are not drawn</text>",
            picture.size.1 - 14.0,
            picture.hidden
        );
    }
    out
}

fn edge(out: &mut String, picture: &Picture, edge: &Edge) {
    let [a, b, c, d] = edge.path;
    let kind = edge.kind;
    let cycle = match (edge.on_cycle, edge.quiet) {
        (true, _) => " cycle",
        (false, true) => " off",
        (false, false) => "",
    };
    let (from, to) = (&picture.nodes[edge.from], &picture.nodes[edge.to]);
    let _ = write!(
        out,
        "<g class=\"edge e-{kind}{cycle}\" data-kind=\"{kind}\" data-from=\"{}\" data-to=\"{}\">\
         <title>{}</title><path d=\"M{:.1} {:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\"{}/>",
        edge.from,
        edge.to,
        html(&format!("{} {} {}", from.label, kind.words(), to.label)),
        a.0,
        a.1,
        b.0,
        b.1,
        c.0,
        c.1,
        d.0,
        d.1,
        match kind {
            // Neither comes first.
            EdgeKind::Race => String::new(),
            _ => format!(" marker-end=\"url(#arrow-{kind})\""),
        },
    );
    if let Some((x, y)) = edge.label {
        let _ = write!(out, "<text x=\"{x:.1}\" y=\"{:.1}\">{kind}</text>", y - 7.0 + labels::RISE);
    }
    out.push_str("</g>");
}

fn node_group(out: &mut String, picture: &Picture, index: usize, node: &Node) {
    let (x, y) = (node.at.0 - node.size.0 / 2.0, node.at.1 - node.size.1 / 2.0);
    let kind = match node.kind {
        EventKind::Initial => "initial",
        EventKind::Read => "read",
        EventKind::Write => "write",
        EventKind::Update => "update",
        EventKind::Fence | EventKind::FenceOrder => "fence",
        EventKind::Control => "control",
        EventKind::Transaction => "transaction",
        EventKind::Marker => "marker",
        EventKind::Arrival => "arrival",
    };
    let thread = node.lane.map_or("start", |lane| &picture.lanes[lane].name);
    let title = match (node.line, node.lane) {
        (Some(line), _) => format!("{thread}, line {line}: {}\n{}", node.text, node.label),
        (None, Some(_)) => format!("{thread}: {}", node.label),
        (None, None) => format!("initially {}", node.label),
    };
    let events: Vec<String> = node.events.iter().map(usize::to_string).collect();
    let line = node.whole_line.map_or_else(String::new, |line| format!(" data-line=\"{line}\""));
    let _ = write!(
        out,
        "<g class=\"node k-{kind}{}{}\" data-node=\"{index}\" data-events=\"{}\"{line} tabindex=\"0\" \
         role=\"img\" aria-label=\"{}\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" \
         width=\"{:.1}\" height=\"{:.1}\" rx=\"7\"/>",
        if node.on_cycle { " cycle" } else { "" },
        if node.wrong { " wrong" } else { "" },
        events.join(" "),
        html(&title),
        html(&title),
        node.size.0,
        node.size.1,
    );
    let measures = Measures::of(picture.width);
    let caption = measures.caption(picture.width, node);
    let label_y = if caption.is_empty() { node.at.1 + 4.5 } else { node.at.1 - 3.0 };
    let label = measures.label(picture.width, node);
    let _ = write!(
        out,
        "<text class=\"label\" x=\"{:.1}\" y=\"{label_y:.1}\">{}</text>",
        node.at.0,
        html(&label)
    );
    if !caption.is_empty() {
        let _ = write!(
            out,
            "<text class=\"caption\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            node.at.0,
            node.at.1 + 14.0,
            html(&caption)
        );
    }
    out.push_str("</g>");
}
