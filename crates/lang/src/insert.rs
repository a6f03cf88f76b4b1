//! Fences put into a text.

use crate::source::Source;
use ir::Origin;

/// The text of `source` with `fence(seq_cst);` in front of each of the statements that `origins` name.
///
/// A statement that starts its line gets a fence on a line of its own. A fence in front of a loop's
/// header stands outside the loop, so what comes out should be read and checked again.
///
/// ```
/// let text = "global x, y; thread t { local r;\n  x.store(1);\n  r = y.load();\n}";
/// let source = fencepost_lang::parse("t.fp", text).expect("a good program");
/// let load = source.program.threads[0].code[1].origin;
/// assert_eq!(
///     fencepost_lang::insert_fences(&source, &[load]),
///     "global x, y; thread t { local r;\n  x.store(1);\n  fence(seq_cst);\n  r = y.load();\n}",
/// );
/// ```
pub fn insert_fences(source: &Source, origins: &[Origin]) -> String {
    let mut places: Vec<usize> = origins.iter().map(|&origin| source.span(origin).start).collect();
    places.sort_unstable();
    places.dedup();
    let mut text = String::with_capacity(source.text.len() + 20 * places.len());
    let mut done = 0;
    for at in places {
        text.push_str(&source.text[done..at]);
        done = at;
        let line = source.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &source.text[line..at];
        text.push_str("fence(seq_cst);");
        if before.trim().is_empty() {
            text.push('\n');
            text.push_str(before);
        } else {
            text.push(' ');
        }
    }
    text.push_str(&source.text[done..]);
    text
}
