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

/// The lines of a stack. What C++'s standard library does between a thread's start and the function that it is given is
/// one line.
fn stack(frames: &[Frame]) -> Vec<String> {
    if frames.is_empty() {
        return vec!["(where is not known any more: others accessed the same bytes since)".into()];
    }
    let mut lines = Vec::new();
    let mut number = 0;
    for run in frames.chunk_by(|a, b| is_machinery(a) && is_machinery(b)) {
        if run.len() > 1 {
            lines.push(format!("({} frames of the C++ standard library)", run.len()));
        } else {
            lines.extend(run.iter().map(|frame| line(number, frame)));
        }
        number += run.len();
    }
    lines
}

fn line(number: usize, frame: &Frame) -> String {
    let function = frame.function.as_deref().unwrap_or("(no symbol)");
    let inlined = if frame.inlined { " (inlined)" } else { "" };
    format!("#{number} {function}{inlined} at {}", place(frame))
}

/// Functions of libstdc++ and libc++ that do nothing but call one another, and in the end the program.
const MACHINERY: &[&str] = &[
    "std::__invoke_impl",
    "std::__invoke_result",
    "std::__invoke",
    "std::thread::_Invoker",
    "std::thread::_State_impl",
    "std::__1::__invoke",
    "std::__1::__thread_execute",
    "std::__1::__thread_proxy",
];

fn is_machinery(frame: &Frame) -> bool {
    match &frame.function {
        // With the type of its result, if it is a template.
        Some(function) => {
            let name = function.split('<').next().unwrap_or_default();
            MACHINERY.contains(&name.rsplit(' ').next().unwrap_or_default())
        }
        None => frame.module.contains("/libstdc++.so") || frame.module.contains("/libc++.so"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: Option<&str>, module: &str) -> Frame {
        Frame { function: function.map(str::to_string), module: module.into(), ..Frame::default() }
    }

    /// Catches frames of the program that go missing, and numbers that are another frame's.
    #[test]
    fn what_starts_a_thread_is_one_line() {
        let invoke =
            "void std::__invoke_impl<void, void (Queue::*)(int)>(std::__invoke_memfun_deref)";
        let invoker = "void std::thread::_Invoker<std::tuple<void (*)()> >::_M_invoke<0ul>()";
        let state =
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)()> > >::_M_run()";
        let own = "void own<std::thread::_Invoker<int> >()";
        let frames = [
            frame(Some("Queue::pop(int)"), "/bin/queue"),
            frame(Some(invoke), "/bin/queue"),
            frame(Some(invoker), "/bin/queue"),
            frame(Some(state), "/bin/queue"),
            frame(None, "/usr/lib/libstdc++.so.6"),
            frame(Some(own), "/bin/queue"),
            frame(Some(invoke), "/bin/queue"),
        ];
        let lines = stack(&frames);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[0].starts_with("#0 Queue::pop(int) at "), "{lines:#?}");
        assert_eq!(lines[1], "(4 frames of the C++ standard library)");
        assert!(lines[2].starts_with("#5 void own<"), "{lines:#?}");
        assert!(
            lines[3].starts_with("#6 void std::__invoke_impl<"),
            "one alone is shown: {lines:#?}"
        );
    }
}
