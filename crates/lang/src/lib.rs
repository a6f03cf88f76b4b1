//! The Fencepost language: text in, [`ir::Program`] out, with a span for every instruction.
//!
//! ```
//! let source = fencepost_lang::parse(
//!     "sb.fp",
//!     "global x, y;
//!      thread left  { local r; x.store(1); r = y.load(); }
//!      thread right { local r; y.store(1); r = x.load(); }",
//! )
//! .expect("a good program");
//! let store = &source.program.threads[0].code[0];
//! assert_eq!(source.snippet(source.span(store.origin)), "x.store(1)");
//! ```
//!
//! Text goes through four stations, each a module: `lexer` (tokens), `parser` (a syntax tree,
//! `syntax`), `lower` (names resolved, control flow turned into a graph) and
//! [`ir::canonical`] (skips and dead code removed). What is wrong on the way becomes a
//! [`Diagnostic`]; nothing a file contains makes this crate panic.

#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod codes;
pub mod diagnostic;
mod insert;
mod lexer;
pub mod library;
pub mod litmus;
mod lower;
pub mod orders;
mod parser;
mod render;
pub mod source;
pub mod suggest;
mod syntax;
pub mod trencher;

pub use diagnostic::{Diagnostic, Severity};
pub use insert::insert_fences;
pub use source::{Source, Span, Track};

use diagnostic::Sink;

/// The largest file that is read. Programs are written by people; anything near this is a mistake.
pub const MAX_BYTES: usize = 4 << 20;

/// Reads a program. `name` is what messages call the file.
///
/// On failure there is at least one error among the diagnostics; warnings come along.
pub fn parse(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        return Err(vec![too_large(text.len())]);
    }
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(vec![
            Diagnostic::error(codes::NO_THREADS, "the file is empty")
                .with_help("a program has at least one thread: `thread t { … }`"),
        ]);
    }
    let mut sink = Sink::default();
    let tokens = lexer::lex(text, &mut sink);
    if sink.has_errors() {
        return Err(sink.finish());
    }
    let unit = parser::parse(text, &tokens, &mut sink);
    if sink.has_errors() {
        return Err(sink.finish());
    }
    let lowered = lower::lower(&unit, &mut sink);
    match lowered {
        Some(lowered) if !sink.has_errors() => Ok(Source::new(name, text, lowered, sink.finish())),
        _ => Err(sink.finish()),
    }
}

/// Reads a program in whichever language its content shows: Fencepost's, Trencher's automata, or a
/// litmus test.
pub fn parse_any(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
    if trencher::looks_like(text) {
        trencher::parse(name, text)
    } else if litmus::looks_like(text) {
        litmus::parse(name, text)
    } else {
        parse(name, text)
    }
}

/// Reads a program from the bytes of a file, which may not be text at all.
pub fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Source, Vec<Diagnostic>> {
    if bytes.len() > MAX_BYTES {
        return Err(vec![too_large(bytes.len())]);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => parse(name, text),
        Ok(text) => Err(vec![not_text(bytes, text.find('\0').unwrap_or(0))]),
        Err(error) => Err(vec![not_text(bytes, error.valid_up_to())]),
    }
}

fn too_large(bytes: usize) -> Diagnostic {
    let limit = MAX_BYTES >> 20;
    let message = format!("the file is too large: {bytes} bytes, the limit is {limit} MiB");
    Diagnostic::error(codes::LIMIT, message)
}

fn not_text(bytes: &[u8], offset: usize) -> Diagnostic {
    let line = 1 + bytes[..offset].iter().filter(|&&byte| byte == b'\n').count();
    let byte = bytes[offset];
    let message = format!("not a text file: byte 0x{byte:02x} at offset {offset}, line {line}");
    let help = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file looks like UTF-16; save it as UTF-8",
        _ => "programs are UTF-8 text",
    };
    Diagnostic::error(codes::NOT_TEXT, message).with_help(help)
}
