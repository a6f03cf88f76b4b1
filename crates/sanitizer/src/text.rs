//! Findings for people.

use crate::finding::{Access, Collection, Finding};
use crate::symbols::Frame;
use std::fmt::Write as _;

/// `queue.c:12:5`, or what is known instead.
pub fn place(frame: &Frame) -> String {
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => {
            let file = short(file);
            match frame.column {
                Some(column) => format!("{file}:{line}:{column}"),
                None => format!("{file}:{line}"),
            }
        }
        _ => format!("{}+0x{:x}", short(&frame.module), frame.offset),
    }
}

/// Relative to where the user is, if that is shorter.
pub fn short(path: &str) -> String {
    let here = std::env::current_dir().ok();
    let relative = here
        .as_deref()
        .and_then(|here| std::path::Path::new(path).strip_prefix(here).ok())
        .and_then(|path| path.to_str());
    relative.unwrap_or(path).to_string()
}

fn stack(out: &mut String, frames: &[Frame]) {
    if frames.is_empty() {
        let _ = writeln!(
            out,
            "    (where is not known any more: others accessed the same bytes since)"
        );
    }
    for frame in self::frames(frames) {
        let _ = writeln!(out, "    {frame}");
    }
}

/// A stack, a frame a line.
pub fn frames(frames: &[Frame]) -> Vec<String> {
    let line = |(number, frame): (usize, &Frame)| {
        let function = frame.function.as_deref().unwrap_or("(no symbol)");
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        format!("#{number} {function}{inlined} at {}", place(frame))
    };
    frames.iter().enumerate().map(line).collect()
}

fn who(thread: u32) -> String {
    match thread {
        0 => "the main thread".into(),
        thread => format!("thread {thread}"),
    }
}

/// A finding, in full.
pub fn finding(finding: &Finding) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\nfencepost: {} [{}]", finding.message, finding.id);
    let bytes = match finding.size {
        1 => "1 byte".into(),
        size => format!("{size} bytes"),
    };
    let _ = writeln!(
        out,
        "  {} of {bytes} by {}:",
        finding.access.describe(),
        who(finding.access.thread)
    );
    stack(&mut out, &finding.access.stack);
    if let Some(other) = &finding.other {
        let _ = writeln!(out, "  {}", relation(finding, other));
        stack(&mut out, &other.stack);
    }
    if let Some(load) = &finding.needs_stale_load {
        let _ = writeln!(
            out,
            "  The two are ordered only if this load reads the newest value. It may read an older one that \
             looks the same:"
        );
        stack(&mut out, load);
    }
    if finding.kind != "race" {
        let instead = match &finding.stale_values[..] {
            [] => String::new(),
            values => {
                let values: Vec<String> = values.iter().map(|&value| number(value)).collect();
                format!(" It may read {} instead.", values.join(" or "))
            }
        };
        let _ = writeln!(
            out,
            "  In every interleaving that write comes before this access, but by happens-before the thread \
             need not know of it.{instead}"
        );
    }
    for (k, advice) in finding.advice.iter().enumerate() {
        let lead = if k == 0 { "What to do: " } else { "            " };
        let _ = writeln!(out, "  {lead}{advice}");
    }
    if let Some(token) = &finding.token {
        let _ = writeln!(out, "  Again: fencepost run --token {token}");
    }
    out
}

fn relation(finding: &Finding, other: &Access) -> String {
    let (what, who) = (other.describe(), who(other.thread));
    match finding.kind.as_str() {
        "race" => format!("is not ordered with this {what} by {who}:"),
        _ => {
            let value =
                finding.value.map_or_else(String::new, |value| format!(" of {}", number(value)));
            format!("may not know of this {what}{value} by {who}:")
        }
    }
}

/// A value as it is best read.
pub fn number(value: u64) -> String {
    if value < 1 << 32 { value.to_string() } else { format!("{value:#x}") }
}

/// The last line.
pub fn summary(collection: &Collection, runs: u64) -> String {
    let count = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let races = collection.findings.iter().filter(|finding| finding.kind == "race").count();
    let stale = collection.findings.len() - races;
    let runs = match runs {
        1 => String::new(),
        runs => format!(" in {runs} runs"),
    };
    let suppressed = match collection.suppressed {
        0 => String::new(),
        n => format!(", {n} not shown (suppressed or known)"),
    };
    if collection.findings.is_empty() {
        return format!("fencepost: nothing found{runs}{suppressed}");
    }
    format!(
        "fencepost: {}{}{}{runs}{suppressed}",
        if stale > 0 { count(stale, "robustness violation") } else { String::new() },
        if stale > 0 && races > 0 { ", " } else { "" },
        if races > 0 { count(races, "data race") } else { String::new() },
    )
}
