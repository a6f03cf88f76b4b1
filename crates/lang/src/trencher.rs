//! Trencher's input format: threads as automata over one memory of integer cells.
//!
//! ```text
//! # comment
//! thread t1
//! initial q0
//! transition q0 q1  write 1 0        (value, address)
//! transition q1 q2  read r 1         (register, address)
//! transition q2 q3  check == r 0     (may pass only if the expression is not 0)
//! end
//! ```
//!
//! Instructions are `read`, `write`, `local`, `check`, `mfence`, `lock`, `unlock` and `noop`;
//! expressions are in prefix notation. The text is a stream of tokens between white space; `#` starts
//! a comment only as a token of its own, outside threads. Several transitions from one state are a
//! choice, and a `check` that fails is a transition that cannot be taken.
//!
//! Two stations, each a module: `read` (tokens to automata, every token with its place) and
//! `lower` (automata to a [`ir::Program`]: the size of the memory and the range of values are
//! found here). [`insert_fences`] goes the other way: it edits the text.

mod insert;
mod lower;
mod read;

pub use insert::insert_fences;

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::Source;
use crate::{MAX_BYTES, codes};

/// Does the text look like this format rather than the Fencepost language?
///
/// ```
/// use fencepost_lang::trencher::looks_like;
/// assert!(looks_like("# two threads\nthread t initial q transition q q noop end"));
/// assert!(!looks_like("global x; thread t { x.store(1); }"));
/// ```
pub fn looks_like(text: &str) -> bool {
    let mut words = read::words_outside_comments(text);
    match words.next() {
        Some("memory_size") => true,
        Some("thread") => matches!(words.nth(1), Some("initial" | "transition" | "end")),
        _ => false,
    }
}

/// Reads a program. `name` is what messages call the file.
///
/// ```
/// let text = "thread t initial a transition a b write 1 0 transition b c read r 1 end";
/// let source = fencepost_lang::trencher::parse("t.txt", text).expect("a good program");
/// assert_eq!(source.program.locations.len(), 2);
/// assert_eq!(source.snippet(source.spans[0]), "transition a b write 1 0");
/// ```
pub fn parse(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        return Err(vec![crate::too_large(text.len())]);
    }
    let mut sink = Sink::default();
    let automata = read::read(text, &mut sink);
    if automata.is_empty() && !sink.has_errors() {
        sink.push(
            Diagnostic::error(codes::NO_THREADS, "the file has no threads")
                .with_help("a thread is `thread NAME initial STATE transition … end`"),
        );
    }
    if sink.has_errors() {
        return Err(sink.finish());
    }
    match lower::lower(&automata, &mut sink) {
        Some(lowered) if !sink.has_errors() => Ok(Source::new(name, text, lowered, sink.finish())),
        _ => Err(sink.finish()),
    }
}
