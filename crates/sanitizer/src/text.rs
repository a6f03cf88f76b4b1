//! What there is to say about a finding, in words: its accesses, stacks, memory, locks and threads.
//!
//! [`report::observed`] puts the words in order, for terminals and for reports.

use crate::access::RunAccess;
use crate::finding::{Memory, RunFinding};
use crate::symbols::Frame;
use report::observed::Detail;
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

/// The lines of a stack.
fn stack(frames: &[Frame]) -> Vec<String> {
    if frames.is_empty() {
        return vec!["(where is not known any more: others accessed the same bytes since)".into()];
    }
    let frame = |(number, frame): (usize, &Frame)| {
        let function = frame.function.as_deref().unwrap_or("(no symbol)");
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        format!("#{number} {function}{inlined} at {}", place(frame))
    };
    frames.iter().enumerate().map(frame).collect()
}

fn who(thread: u32) -> String {
    match thread {
        0 => "the main thread".into(),
        thread => format!("thread {thread}"),
    }
}

/// What is known of a finding besides what it is: both accesses with their stacks, memory, locks, threads.
pub fn details(finding: &RunFinding) -> Vec<Detail> {
    let detail = |title: String, lines: Vec<String>| Detail { title, lines };
    let access = &finding.access;
    let title =
        format!("{} of {} by {}:", access.describe(), bytes(finding.size), who(access.thread));
    let mut details = vec![detail(title, stack(&access.stack))];
    if let Some(other) = &finding.other {
        details.push(detail(relation(finding, other), stack(&other.stack)));
    }
    if let Some(load) = &finding.needs_stale_load {
        let title = "The two are ordered only if this load reads the newest value. It may read an older one \
                     that looks the same:";
        details.push(detail(title.into(), stack(load)));
    }
    if finding.kind != "race" {
        details.push(detail(knowledge(finding), Vec::new()));
    }
    match &finding.memory {
        Some(Memory::Global { name, size, offset }) => details.push(detail(
            format!("{} the variable `{name}` of {}", within(*offset), bytes(*size)),
            Vec::new(),
        )),
        Some(Memory::Heap { size, offset, stack: frames }) => details.push(detail(
            format!("{} a block of {} that was allocated here:", within(*offset), bytes(*size)),
            stack(frames),
        )),
        None => {}
    }
    for lock in &finding.locks {
        let title = format!("{} holds the lock {}, taken here:", who(access.thread), lock.name);
        details.push(detail(title, stack(&lock.stack)));
    }
    let mut told = Vec::new();
    for one in [Some(access), finding.other.as_ref()].into_iter().flatten() {
        if let Some(creation) = &one.created
            && !told.contains(&one.thread)
        {
            told.push(one.thread);
            let title = format!("{} was created by {} here:", who(one.thread), who(creation.by));
            details.push(detail(title, stack(&creation.stack)));
        }
    }
    details
}

/// What the thread at fault knew, and what comes of it.
fn knowledge(finding: &RunFinding) -> String {
    let mut text =
        "In every interleaving that write comes before this access, but by happens-before the \
                    thread need not know of it."
            .to_string();
    if !finding.stale_values.is_empty() {
        let values: Vec<String> = finding.stale_values.iter().map(|&value| number(value)).collect();
        let _ = write!(text, " It may read {} instead.", values.join(" or "));
    }
    match finding.used {
        Some(true) => text.push_str(" What it does next depends on the value."),
        Some(false) => text.push_str(
            " Nothing that it does next depends on the value: this is benign as long as that is so.",
        ),
        None => {}
    }
    text
}

fn bytes(size: u64) -> String {
    if size == 1 { "1 byte".into() } else { format!("{size} bytes") }
}

fn within(offset: u64) -> String {
    match offset {
        0 => "At the beginning of".into(),
        offset => format!("{} into", bytes(offset)),
    }
}

fn relation(finding: &RunFinding, other: &RunAccess) -> String {
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
