//! Final conditions of the Fencepost language: what they mean and what is refused.

use fencepost_lang::{codes, parse};
use ir::{Loc, Observed, Quantifier, Reg, Tid};

const PROGRAM: &str = "max_value 7; const K = 2; global x, a[2]; \
                       thread left { local r, s; r = x.load(); } thread t[2] { local r; r = x.load(); } ";

#[test]
fn names_stand_for_final_values() {
    let text = "~exists (x == K && a[1] != 3 || left.s < t[1].r && 0:r >= 1);";
    let source = parse("t.fp", &format!("{PROGRAM}{text}")).expect("a good program");
    let condition = source.program.condition.expect("a condition");
    assert_eq!(condition.quantifier, Quantifier::NotExists);
    let register = |tid, reg| Observed::Register(Tid(tid), Reg(reg));
    let observed = [
        Observed::Location(Loc(0)),
        Observed::Location(Loc(2)),
        register(0, 1),
        register(2, 0),
        register(0, 0),
    ];
    assert_eq!(condition.observed, observed);
    let at = |values: [i64; 5]| {
        condition.is_satisfied(|what| values[observed.iter().position(|o| *o == what).unwrap()])
    };
    assert!(at([2, 0, 0, 0, 0]) && !at([2, 3, 0, 0, 0]) && !at([1, 0, 0, 0, 0]));
    assert!(at([0, 0, 1, 2, 1]) && !at([0, 0, 2, 2, 1]) && !at([0, 0, 1, 2, 0]));
    assert_eq!(source.spans[condition.origin.index()].start, PROGRAM.len());
}

/// Catches a sign that is looked at after its number: 9 is out of range here, and 2^63 everywhere.
#[test]
fn a_sign_belongs_to_its_number() {
    let program = "const K = 9; global x; thread t { local r; r = x.load(); } ";
    for (values, text, held) in [
        ("values -9..=3;", "exists (x == -9);", -9),
        ("values -9..=3;", "exists (x == -K);", -9),
        ("values -9..=3;", "exists (x == - - -9);", -9),
        (
            "values -9223372036854775808..=9223372036854775807;",
            "exists (x == -9223372036854775808);",
            i64::MIN,
        ),
    ] {
        let source = parse("t.fp", &format!("{values} {program} {text}")).expect(text);
        let condition = source.program.condition.expect("a condition");
        assert!(condition.is_satisfied(|_| held) && !condition.is_satisfied(|_| 0), "{text}");
    }
    let found = parse("t.fp", &format!("{program} exists (x == -9);")).expect_err("out of range");
    assert_eq!(found[0].message, "nothing ever holds -9");
}

#[test]
fn what_means_nothing_is_refused() {
    for (text, code) in [
        ("exists (z == 1);", codes::UNKNOWN_NAME),
        ("exists (r == 1);", codes::UNKNOWN_NAME),
        ("exists (left.q == 1);", codes::UNKNOWN_NAME),
        ("exists (right.r == 1);", codes::UNKNOWN_NAME),
        ("exists (t.r == 1);", codes::UNKNOWN_NAME),
        ("exists (t[2].r == 1);", codes::UNKNOWN_NAME),
        ("exists (9:r == 1);", codes::UNKNOWN_NAME),
        ("exists (a == 1);", codes::INDEX),
        ("exists (a[2] == 1);", codes::INDEX),
        ("exists (x[0] == 1);", codes::INDEX),
        ("exists (x == 8);", codes::RANGE),
        ("exists (x == -1);", codes::RANGE),
        ("exists (x + 1 == 2);", codes::UNSUPPORTED),
        ("exists (-x == 2);", codes::UNSUPPORTED),
        ("exists (x == 1); forall (x == 1);", codes::DUPLICATE),
        ("exists x == 1;", codes::SYNTAX),
        ("exists (x == 1)", codes::SYNTAX),
        ("~forall (x == 1);", codes::SYNTAX),
        ("forall ();", codes::SYNTAX),
    ] {
        let found = parse("t.fp", &format!("{PROGRAM}{text}")).expect_err(text);
        assert_eq!(found[0].code, code, "{text}: {}", found[0]);
        assert!(found[0].span().is_some(), "{text}");
    }
}
