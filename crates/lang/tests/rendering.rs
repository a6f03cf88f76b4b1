//! How a message looks when the text makes it hard: tabs, wide and hostile characters, long lines,
//! labels far apart, colours.

use fencepost_lang::{Diagnostic, Span, codes, parse};
use insta::assert_snapshot;

fn error_at(text: &str, needle: &str) -> String {
    let start = text.find(needle).expect("the needle is in the text");
    let span = Span::new(start, start + needle.len());
    Diagnostic::error(codes::SYNTAX, "message")
        .with_label(span, "label")
        .render("f.fp", text, false)
}

#[test]
fn tabs_are_four_columns() {
    assert_snapshot!(error_at("a\n\tb\tHERE\tc\n", "HERE"));
}

#[test]
fn wide_and_combining_characters_keep_the_marks_in_place() {
    assert_snapshot!(error_at("/* 世界 e\u{301} 🦀 */ HERE", "HERE"));
}

/// A file must not be able to drive the terminal.
#[test]
fn control_characters_are_escaped() {
    let shown = error_at("x \u{1b}[31m \u{202e} \u{7} HERE \u{200b}", "HERE");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert_snapshot!(shown);
    let hostile = Diagnostic::error(codes::SYNTAX, "a\u{1b}b").with_help("c\u{7}d");
    let shown = hostile.render("e\nf\u{1b}.fp", "", false);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
    assert_eq!(shown.lines().count(), 3);
}

#[test]
fn long_lines_are_cut_around_the_mark() {
    let before = "before ".repeat(1000);
    let after = " after".repeat(1000);
    assert_snapshot!(error_at(&format!("{before}HERE{after}"), "HERE"));
    assert_snapshot!("long_line_start", error_at(&format!("HERE{after}"), "HERE"));
    assert_snapshot!("long_line_end", error_at(&format!("{before}HERE"), "HERE"));
    assert_snapshot!(
        "long_mark",
        error_at(&format!("{before}HERE{after}"), &format!("HERE{after}"))
    );
}

#[test]
fn marks_over_several_lines_show_the_first() {
    assert_snapshot!(error_at("one\r\ntwo (\r\n  three)\r\nfour", "(\r\n  three)"));
}

#[test]
fn two_labels_on_one_line_and_on_two() {
    let text = "global x, x;\n\n\n\n\n\n\n\n\nna x;\nthread t { }\n";
    let found = parse("f.fp", text).expect_err("duplicates");
    let shown: Vec<String> = found.iter().map(|one| one.render("f.fp", text, false)).collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn colours_only_when_asked_for() {
    let text = "global x;\nthread t { y.store(1); }\n";
    let found = parse("f.fp", text).expect_err("an unknown name");
    assert!(!found[0].render("f.fp", text, false).contains('\u{1b}'));
    let coloured = found[0].render("f.fp", text, true);
    assert!(coloured.contains("\u{1b}[1;31merror[FP1003]\u{1b}[0m"), "{coloured}");
    assert_eq!(found[0].to_string(), "error[FP1003]: unknown name `y`");
}

/// Labels that do not fit the text (the wrong text was passed) are no reason to panic.
#[test]
fn labels_outside_the_text() {
    for span in [Span::new(5, 900), Span::new(900, 5), Span::new(1, 1), Span::new(2, 1)] {
        let found = Diagnostic::error(codes::SYNTAX, "message").with_label(span, "label");
        for text in ["", "é", "a\nb", "ééééééééééé"] {
            assert!(found.render("f.fp", text, false).contains("f.fp"));
        }
    }
}
