//! Programs as they are printed after lowering: with labels and gotos only.

use fencepost_lang::{Source, parse};

/// A program without errors.
pub(crate) fn good(text: &str) -> Source {
    parse("test.fp", text).unwrap_or_else(|diagnostics| {
        let all: Vec<String> =
            diagnostics.iter().map(|one| one.render("test.fp", text, false)).collect();
        panic!("{}", all.concat())
    })
}

/// The program, without the lines that all of these tests share.
pub(crate) fn lowered(text: &str) -> String {
    let source = good(text);
    assert_eq!(source.warnings, [], "warnings have tests of their own");
    ir::print::program(&source.program)
}

/// The body of a thread with locals `r`, `s` and locations `x`, `y`, `a[3]`, `n`, `l`.
pub(crate) fn body(text: &str) -> String {
    let text = format!("global x, y, a[3], l; na n; thread t {{ local r, s; {text} }}");
    let printed = lowered(&text);
    let (_, body) = printed.split_once("local r, s;\n").expect("the thread has these locals");
    body.strip_suffix("}\n").unwrap_or(body).to_string()
}
