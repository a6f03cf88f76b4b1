//! Puts fences into a text.

use crate::source::Source;
use crate::trencher;
use ir::Origin;

/// The statement that is inserted.
const FENCE: &str = "fence(seq_cst); ";

/// The text of `source` with a full fence in front of each of the statements that `origins` name.
///
/// A fence in front of a loop's header stands outside the loop, and one in front of a branch without
/// braces changes what the branch is, so what comes out must be read and checked again.
///
/// ```
/// let text = "global x, y; thread t { local r;\n  x.store(1);\n  r = y.load();\n}";
/// let source = fencepost_lang::parse("t.fp", text).expect("a good program");
/// let load = source.program.threads[0].code[1].origin;
/// assert_eq!(
///     fencepost_lang::insert_fences(&source, &[load]),
///     "global x, y; thread t { local r;\n  x.store(1);\n  fence(seq_cst); r = y.load();\n}",
/// );
/// ```
pub fn insert_fences(source: &Source, origins: &[Origin]) -> String {
    if let Some(text) = trencher::insert_fences(source, origins) {
        return text;
    }
    let mut places: Vec<usize> = origins.iter().map(|&origin| source.span(origin).start).collect();
    places.sort_unstable();
    places.dedup();
    let mut text = source.text.to_string();
    for at in places.into_iter().rev() {
        text.insert_str(at, FENCE);
    }
    text
}
