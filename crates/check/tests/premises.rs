//! Premises of reductions whose programs `corpus/premises` cannot show, because what they get wrong is a run-time
//! error: with the reductions at work, and no second look, it must be found.

extern crate fencepost_check as check;

use check::{Decision, DoubleCheck, Model, Question, Verdict, Why};
use ir::{Edge, Program};

/// Says that the program has a run-time error, and that nothing is claimed beyond it.
fn expect_a_fault(text: &str, model: Model) {
    let program = lang::parse("premise", text).expect("a good program").program;
    expect_a_fault_of(&program, text, model);
}

fn expect_a_fault_of(program: &Program, text: &str, model: Model) {
    let question = Question { model, double_check: DoubleCheck::Never, ..Question::default() };
    let answer = check::check(program, &question, &|_, _| {}).expect("a legal question");
    assert_eq!(answer.faults.len(), 1, "{}: {text}", model.name());
    for Decision { property, verdict, .. } in &answer.decisions {
        let unknown = matches!(verdict, Verdict::Undecided(Why::Faulty));
        assert!(unknown, "{}: {property} {}: {text}", model.name(), verdict.name());
    }
}

/// Equal threads over an array that is too short for the second: `a[1]` is out of range, `a[0]` is not,
/// so the threads cannot be exchanged although their code is the same.
#[test]
fn a_short_array_tells_threads_apart() {
    let text = "max_value 3; atomic a[1], x; \
                thread t[2] { local r; r = FADD(x, 1, acq, rel); if (r == 1) { a[t].store(1); } }";
    for model in [Model::Rc11, Model::Rc20, Model::Ra, Model::Sc] {
        expect_a_fault(text, model);
    }
}

/// Threads that differ in nothing but the index of a lightweight fence cannot be exchanged: whoever comes to `x`
/// second has 1 in `r`, and 0 in `s`.
#[test]
fn indices_of_lightweight_fences_tell_threads_apart() {
    let thread = |name: &str, index: &str| {
        format!(
            "thread {name} {{ local r, s; r = x.load(rlx); x.store(1, rlx); s = y.load(rlx); \
             fence(a[{index}]); z.store(r, rlx); w.store(s, rlx); }}"
        )
    };
    for (first, second) in [("r", "s"), ("s", "r")] {
        let threads = thread("t", first) + &thread("u", second);
        expect_a_fault(&format!("max_value 3; atomic a[1], x, y, z, w; {threads}"), Model::Sc);
    }
}

/// A counter is more than a counter if a lightweight fence names an element by it: the fourth is missing.
#[test]
fn counters_that_lightweight_fences_name_elements_by() {
    let text = "max_value 7; atomic c, a[4]; thread u { local r; while (1) { r = c.load(rlx); \
                assume(r < 6); c.store(r + 1, rlx); r = c.load(rlx); fence(a[r]); } }";
    expect_a_fault(text, Model::Sc);
}

/// Where a value that leaves the domain is an error, it is one in a CAS that fails anyway: `s` is 1, and far behind `c`, so
/// that a search holds something larger for it.
#[test]
fn what_a_failing_cas_would_write_may_be_an_error() {
    let clock = "a = c.load(rlx); assume(a < 100); c.store(a + 1, rlx);";
    let text = format!(
        "atomic c = 5, d = 5, z = 50; thread u {{ local a; {clock} {clock} }} \
         thread t {{ local r, s; r = c.load(rlx); d.store(r - 4, rlx); s = d.load(rlx); \
         r = c.load(rlx); r = CAS(z, r, s - 3, rlx, rlx); }}"
    );
    let mut program = lang::parse("premise", &text).expect("a good program").program;
    program.domain.edge = Edge::Fault;
    for model in [Model::Rc11, Model::Rc20, Model::Ra, Model::Sc] {
        expect_a_fault_of(&program, &text, model);
    }
}

/// Where numbers are made small, a result may leave the domain that does not. If it does so in truth as well, in other runs, the
/// two are one finding: what comes after the one that is made up must be looked at all the same. Here it is that `t` may
/// read an old value of `c`.
#[test]
fn an_error_that_is_made_up_hides_behind_a_true_one() {
    let text = "max_value 31; atomic c = 3, x = 13; \
        thread u { local a; a = c.load(rlx); assume(a < 20); c.store(a + 1, rlx); fetch_sub(x, 2, rlx, rlx); \
                   a = c.load(acq); assume(a < 20); c.store(a + 2, rlx); exchange(x, a, acq, rlx); } \
        thread t { local r; r = c.load(rlx); x.store(r - 4, rlx); r = c.load(acq); }";
    let mut program = lang::parse("premise", text).expect("a good program").program;
    program.domain.edge = Edge::Fault;
    for model in [Model::Rc11, Model::Rc20, Model::Ra] {
        let question = Question { model, double_check: DoubleCheck::Never, ..Question::default() };
        let answer = check::check(&program, &question, &|_, _| {}).expect("a legal question");
        assert!(!answer.faults.is_empty(), "{}", model.name());
        let robust = answer.verdict(question.property).expect("it was asked");
        assert_eq!(robust.name(), "violated", "{}", model.name());
    }
}

/// A counter of rounds is not left out where its test calculates: a division by zero would be left out with it.
#[test]
fn tests_of_loop_counters_that_may_fail() {
    let thread = "thread t { local r, s; r = FADD(c, 0, acq, rel); x.store(r, rel); \
                  s = FADD(c, 0, acq, rel); assert(r <= s); }";
    for rounds in [
        "m = 1; while (n < 6 / m) { n = n + 1; a = FADD(c, 1, acq, rel); if (n == 5) { m = 0; } }",
        "while (12 / (5 - n) != 13) { n = n + 1; a = FADD(c, 1, acq, rel); if (n == 7) { assume(0); } }",
    ] {
        let text =
            format!("max_value 31; atomic c, x; thread u {{ local a, n, m; {rounds} }} {thread}");
        for model in [Model::Rc11, Model::Sc] {
            expect_a_fault(&text, model);
        }
    }
}
