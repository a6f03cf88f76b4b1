//! Drawings in the language of Graphviz.

use super::Picture;
use crate::escape::visible;
use crate::finding::Finding;
use crate::proof::EdgeKind;
use std::fmt::Write;

/// A graph for every finding.
pub fn file(findings: &[&Finding]) -> String {
    let mut out = String::new();
    for (index, finding) in findings.iter().enumerate() {
        if let Some(picture) = Picture::of(finding) {
            graph(&mut out, index, &picture, finding);
        }
    }
    if out.is_empty() {
        out.push_str("// nothing wrong was found\ndigraph finding_0 {\n}\n");
    }
    out
}

fn graph(out: &mut String, index: usize, picture: &Picture, finding: &Finding) {
    let title = format!("{}: {}", finding.code, finding.message);
    let _ = writeln!(
        out,
        "digraph finding_{index} {{\n  label={};\n  labelloc=t;\n  rankdir=TB;\n  \
         node [shape=box, style=rounded, fontname=monospace];\n  edge [fontname=monospace];",
        quoted(&title)
    );
    let node = |out: &mut String, indent: &str, index: usize| {
        let node = &picture.nodes[index];
        let mut label = node.label.clone();
        if let Some(line) = node.line {
            let _ = write!(label, "\n{line}: {}", node.text);
        }
        let color = match (node.wrong, node.on_cycle) {
            (true, _) => ", color=\"#c8102e\", penwidth=2.5",
            (false, true) => ", penwidth=2",
            (false, false) => ", color=\"#8893a7\"",
        };
        let _ = writeln!(out, "{indent}n{index} [label={}{color}];", quoted(&label));
    };
    for (number, lane) in picture.lanes.iter().enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_{number} {{\n    label={};\n    color=\"#c9d1de\";",
            quoted(&lane.name)
        );
        for (index, _) in
            picture.nodes.iter().enumerate().filter(|(_, node)| node.lane == Some(number))
        {
            node(out, "    ", index);
        }
        out.push_str("  }\n");
    }
    for (index, _) in picture.nodes.iter().enumerate().filter(|(_, node)| node.lane.is_none()) {
        node(out, "  ", index);
    }
    for edge in picture.edges.iter().filter(|edge| !edge.quiet) {
        let (color, style) = look(edge.kind);
        let style = if edge.on_cycle { format!("{style},bold") } else { style.to_string() };
        // Only program order, reads-from and propagation decide what is above what.
        let free = match edge.kind {
            EdgeKind::Po | EdgeKind::Rf | EdgeKind::Propagation => "",
            EdgeKind::Race => ", constraint=false, dir=none",
            _ => ", constraint=false",
        };
        let _ = writeln!(
            out,
            "  n{} -> n{} [label={}, color=\"{color}\", fontcolor=\"{color}\", style=\"{style}\"{free}];",
            edge.from,
            edge.to,
            edge.kind.name()
        );
    }
    out.push_str("}\n");
}

fn look(kind: EdgeKind) -> (&'static str, &'static str) {
    match kind {
        EdgeKind::Po => ("#6b7487", "solid"),
        EdgeKind::Rf => ("#0f7b3e", "solid"),
        EdgeKind::Mo | EdgeKind::Chosen => ("#2456c9", "dashed"),
        EdgeKind::Fr => ("#b4420f", "dashed"),
        EdgeKind::Hb => ("#7a3fb5", "dotted"),
        EdgeKind::Block => ("#0a7285", "solid"),
        EdgeKind::Conflict => ("#b4420f", "solid"),
        EdgeKind::Indirect => ("#5b6579", "dotted"),
        EdgeKind::Propagation => ("#7a3fb5", "solid"),
        EdgeKind::Race => ("#c8102e", "bold"),
    }
}

/// A quoted string; what the text holds is shown, not interpreted.
fn quoted(text: &str) -> String {
    let lines =
        text.split('\n').map(|line| visible(line).replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", lines.collect::<Vec<_>>().join("\\n"))
}
