//! Litmus tests in the format of herd, litmus and diy: C and x86.
//!
//! ```text
//! C SB                                            the architecture and the test's name
//! "store buffering"                               a comment, and lines `Key=value`
//! { x=0; y=0; }                                   the initial state
//! P0(atomic_int* x, atomic_int* y) { … }          one function for each thread
//! P1(atomic_int* x, atomic_int* y) { … }
//! locations [x;]                                  what else is shown of a final state
//! exists (0:r0=0 /\ 1:r0=0)                       what is asked of final states
//! ```
//!
//! For `X86` (operands in Intel's order, `MOV EAX,[x]`) and `X86_64` (in AT&T's, `movl (x),%eax`) the
//! threads are columns of a table. All threads of a test run at once, so the text becomes an ordinary
//! [`ir::Program`] with a final condition.
//!
//! Stations, each a module: `lexer`, `initial` (the state in braces), `c` and `x86` (threads to steps, by
//! way of `threads`), `condition` (what stands behind them).
//!
//! Where the format leaves something open, or goes further than programs do:
//!
//! 1. *Types.* A program has one kind of values. A test whose types differ in width or sign is refused,
//!    except that 128-bit integers are kept in 64 bits, with a warning.
//! 2. *Plain accesses.* `*x` is a non-atomic access, also where `x` points to an atomic type, as in herd. A
//!    location may have both kinds of accesses (`mixed`).
//! 3. *Addresses* are no values: a pointer to a pointer, and a register that holds an address other than
//!    the one that its parameter names, are refused.
//! 4. *Other architectures*, and Linux's primitives, are refused.

mod c;
mod condition;
mod initial;
mod lexer;
mod mixed;
mod threads;
mod x86;

use crate::diagnostic::{Diagnostic, Sink};
use crate::lower::{Lowered, Unwritten};
use crate::source::{Source, Span};
use crate::{MAX_BYTES, codes};
use ir::{Condition, Observed};
use lexer::Reader;

/// What a litmus test says beyond its program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Litmus {
    /// The language of its threads.
    pub architecture: Architecture,
    /// Its name.
    pub name: String,
    /// What is asked, as the test writes it. The program's condition includes the filter.
    pub condition: Condition,
    /// Of which final states it is asked.
    pub filter: Option<Condition>,
    /// The registers and locations that a final state is shown by, in the order in which they are
    /// shown: those of the condition, and those that the test lists.
    pub shown: Vec<Observed>,
}

/// The language of a litmus test's threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Architecture {
    /// C with its atomic operations.
    C,
    /// x86, operands in Intel's order.
    X86,
    /// x86-64, operands in AT&T's order.
    X86_64,
}

impl Architecture {
    /// The word that a test starts with.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::C => "C",
            Architecture::X86 => "X86",
            Architecture::X86_64 => "X86_64",
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Architecture::C, Architecture::X86, Architecture::X86_64]
            .into_iter()
            .find(|architecture| architecture.name() == word)
    }
}

/// Words that a test of another architecture starts with.
const OTHERS: [&str; 12] = [
    "AArch64", "ARM", "AArch32", "PPC", "MIPS", "RISCV", "RISC-V", "LISA", "BELL", "Bell", "BPF",
    "ASL",
];

/// Does the text look like a litmus test rather than the Fencepost language?
///
/// ```
/// use fencepost_lang::litmus::looks_like;
/// assert!(looks_like("C SB\n{}\nP0(atomic_int* x) { *x = 1; }\nexists (x=1)"));
/// assert!(looks_like("PPC MP+lwsync"));
/// assert!(!looks_like("global x; thread t { x.store(1); }"));
/// ```
pub fn looks_like(text: &str) -> bool {
    let line = first_line(text).1;
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return false };
    let known = Architecture::named(first).is_some() || OTHERS.contains(&first);
    known && words.next().is_some_and(|name| !name.starts_with(['=', '(', '{', ';', '.']))
}

/// Where the first line that is not empty starts, and the line.
fn first_line(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches('\u{feff}').trim_start();
    let start = text.len() - rest.len();
    (start, rest.lines().next().unwrap_or_default())
}

/// Reads a litmus test. `name` is what messages call the file.
///
/// ```
/// let text = "C SB
///     {}
///     P0(atomic_int* x, atomic_int* y) { atomic_store(x, 1); int r0 = atomic_load(y); }
///     P1(atomic_int* x, atomic_int* y) { atomic_store(y, 1); int r0 = atomic_load(x); }
///     exists (0:r0=0 /\\ 1:r0=0)";
/// let source = fencepost_lang::litmus::parse("SB.litmus", text).expect("a good test");
/// assert_eq!(source.program.threads.len(), 2);
/// assert_eq!(source.litmus.expect("it is one").name, "SB");
/// ```
pub fn parse(name: &str, text: &str) -> Result<Source, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        return Err(vec![crate::too_large(text.len())]);
    }
    let mut sink = Sink::default();
    match read(text, &mut sink) {
        Some((lowered, litmus)) if !sink.has_errors() => {
            let mut source = Source::new(name, text, lowered, sink.finish());
            source.litmus = Some(litmus);
            Ok(source)
        }
        _ => Err(sink.finish()),
    }
}

fn read(text: &str, sink: &mut Sink) -> Option<(Lowered, Litmus)> {
    let (start, line) = first_line(text);
    let word = line.split_whitespace().next().unwrap_or_default();
    let span = Span::new(start, start + word.len());
    let Some(architecture) = Architecture::named(word) else {
        let message = match OTHERS.contains(&word) {
            true => format!("litmus tests for {word} are not supported"),
            false => "this is no litmus test".to_string(),
        };
        sink.push(
            Diagnostic::error(codes::UNSUPPORTED, message)
                .with_label(span, "the architecture")
                .with_help("a test starts with `C`, `X86` or `X86_64` and its name"),
        );
        return None;
    };
    // The initial state may follow on the same line.
    let head = line.find('{').map_or(line, |end| &line[..end]);
    let title = head.get(word.len()..).unwrap_or_default().trim().to_string();
    if title.is_empty() {
        let error = Diagnostic::error(codes::SYNTAX, "the test has no name");
        sink.push(error.with_label(span, format!("`{word} NAME` starts a test")));
        return None;
    }
    let from = information(text, start + head.len(), sink)?;
    let tokens = lexer::lex(text, from, architecture == Architecture::C, sink)?;
    let reader = &mut Reader::new(text, &tokens, sink);
    let initial = initial::read(reader).ok()?;
    let mut threads = match architecture {
        Architecture::C => c::read(reader, initial).ok()?,
        Architecture::X86 | Architecture::X86_64 => {
            x86::read(reader, initial, architecture).ok()?
        }
    };
    let asked = condition::read(reader, &mut threads, architecture).ok()?;
    let (program, spans, locations) = threads.finish(&asked, reader.sink)?;
    let litmus = Litmus {
        architecture,
        name: title,
        condition: asked.condition,
        filter: asked.filter,
        shown: asked.shown,
    };
    let unwritten = Unwritten { locations, ..Unwritten::default() };
    Some((Lowered { program, spans, tracks: vec![], unwritten }, litmus))
}

/// Skips comments, a string and lines `Key=value`; where the initial state starts.
fn information(text: &str, from: usize, sink: &mut Sink) -> Option<usize> {
    let mut at = from;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if rest.starts_with('{') {
            return Some(at);
        } else if rest.starts_with("(*") {
            at = lexer::end_of_comment(text, at, sink)?;
        } else if let Some(quoted) = rest.strip_prefix('"') {
            at += quoted.find('"').map_or(rest.len(), |end| end + 2);
        } else {
            let line = rest.lines().next().unwrap_or_default();
            let span = Span::new(at, at + line.trim_end().len());
            let key = line.split_once(['=', ':']).map(|(key, _)| key.trim());
            if key.is_none_or(|key| key.contains([' ', '(', '|', ';'])) {
                let error = Diagnostic::error(codes::SYNTAX, "the test has no initial state");
                sink.push(error.with_label(span, "expected `{`, or a line `Key=value` before it"));
                return None;
            }
            if key == Some("Variant") {
                sink.push(
                    Diagnostic::warning(codes::UNSUPPORTED, "variants of models have no effect")
                        .with_label(span, "the test is read as without this line"),
                );
            }
            at += line.len();
        }
    }
}
