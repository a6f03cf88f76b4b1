//! Trencher's format: what is read, what is refused, and with which words.

use fencepost_lang::trencher::{insert_fences, parse};
use ir::{Instr, Pc};

fn errors(text: &str) -> String {
    match parse("t.txt", text) {
        Ok(source) => source.warnings.iter().map(|w| format!("{w}\n")).collect(),
        Err(diagnostics) => diagnostics
            .iter()
            .map(|d| d.render("t.txt", text, false))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// Catches a reader that cares about lines, and choices that lose a branch.
#[test]
fn a_program_is_a_stream_of_words() {
    let text = "# one\nthread t initial a\ntransition a b read r + 1 0 transition b\nc check == r 0 \
                transition b a check != r 0 transition c c2 lock transition c2 c3 write & r 1 0\n\
                transition c3 d unlock end";
    let source = parse("t.txt", text).expect("a good program");
    let code = &source.program.threads[0].code;
    assert!(matches!(code[0].instr, Instr::Load { .. }));
    assert!(matches!(&code[1].instr, Instr::Jump { targets, .. } if targets.len() == 2));
    assert_eq!(code.iter().filter(|s| matches!(s.instr, Instr::Assume(_))).count(), 2);
    assert_eq!(code[0].next, Pc(1));
    assert_eq!(source.program.locations.len(), 2);
}

#[test]
fn names_that_nobody_writes_are_pointed_out() {
    let text = "thread t initial a transition a b write 1 x transition b c read r y end";
    let source = parse("t.txt", text).expect("a good program");
    let places: Vec<_> =
        source.warnings.iter().filter_map(|w| w.span()).map(|span| source.snippet(span)).collect();
    assert_eq!(places, ["x", "y"]);
}

/// Each message names the line and what stands there.
#[test]
fn bad_input_is_refused_with_its_place() {
    let cases = [
        ("thread t initial a transition a b wirte 1 0 end", "unknown instruction `wirte`"),
        ("thread t initial a transition a b wirte 1 0 end", "did you mean `write`?"),
        ("thread t initial a transition a b noop", "this thread has no `end`"),
        ("thread t initial a thread u initial b end", "this thread has no `end`"),
        ("thread t transition a b noop end", "no initial state"),
        ("thread t initial a transition a b read r -1 end", "address -1 is outside"),
        ("thread t initial a transition a b read r 99999 end", "address 99999 is outside"),
        ("thread t initial a transition a b local r 99999999999 end", "out of range"),
        ("thread t initial a transition a b local r 3x end", "`3x` is not a number"),
        ("thread t initial a transition a b local 3 3 end", "expected a register"),
        ("thread t initial a transition a b check == r end", "expected an expression"),
        ("thread t initial a end thread t initial a end", "declared twice"),
        ("thread t initial a # no\nend", "comment inside a thread"),
        ("", "no threads"),
        ("int main() {}", "expected `thread`"),
    ];
    for (text, expected) in cases {
        let message = errors(text);
        assert!(message.contains(expected), "{text}\n{message}");
    }
}

/// Catches a reader that recurses or grows without bound, or panics on strange bytes.
#[test]
fn hostile_input_is_only_refused() {
    let deep = format!("thread t initial a transition a b local r {}1 end", "+ ".repeat(100_000));
    assert!(errors(&deep).contains("nested too deeply"));
    let nested =
        format!("thread t initial a transition a b local r {}", "+ 1 ".repeat(40)) + "1 end";
    assert!(errors(&nested).contains("nested too deeply"));
    for text in [
        "thread",
        "thread é",
        "thread t initial",
        "\u{feff}# x",
        "- -",
        "thread t initial a transition a b local é 1 end",
    ] {
        let _ = parse("t.txt", text);
    }
    let many: String = (0..70).map(|k| format!("transition a b local r{k} 1 ")).collect();
    assert!(errors(&format!("thread t initial a {many} end")).contains("too many registers"));
}

#[test]
fn a_fence_goes_before_all_transitions_of_a_state() {
    let text = "thread t\ninitial a\ntransition a b write 1 0\ntransition b c read r 1\n\
                transition b d read r 2\nend\n";
    let source = parse("t.txt", text).expect("a good program");
    let choice = source.program.threads[0].code[1].origin;
    let fenced = insert_fences(&source, &[choice]).expect("its own text");
    assert_eq!(
        fenced,
        "thread t\ninitial a\ntransition a b write 1 0\ntransition b b_fenced mfence\n\
         transition b_fenced c read r 1\ntransition b_fenced d read r 2\nend\n"
    );
    let again = parse("t.txt", &fenced).expect("a good program");
    assert_eq!(again.program.threads[0].code.len(), source.program.threads[0].code.len() + 1);
}
