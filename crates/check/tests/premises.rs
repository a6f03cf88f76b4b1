//! A premise of symmetry that `corpus/premises` cannot show: the program that breaks it cannot be
//! printed and read back, because a constant index that is out of range is refused in the source.

extern crate fencepost_check as check;

use check::{Decision, DoubleCheck, Model, Question, Verdict, Why};

/// Equal threads over an array that is too short for the second: `a[1]` is out of range, `a[0]` is not,
/// so the threads cannot be exchanged although their code is the same.
#[test]
fn a_short_array_tells_threads_apart() {
    let text = "max_value 3; atomic a[1], x; \
                thread t[2] { local r; r = FADD(x, 1, acq, rel); if (r == 1) { a[t].store(1); } }";
    let program = lang::parse("short", text).expect("a good program").program;
    for model in [Model::Rc11, Model::Rc20, Model::Ra, Model::Sc] {
        let double_check = DoubleCheck::Never;
        let question = Question { model, double_check, ..Question::default() };
        let answer = check::check(&program, &question, &|_, _| {}).expect("a legal question");
        assert_eq!(answer.faults.len(), 1, "{}", model.name());
        for Decision { property, verdict, .. } in &answer.decisions {
            let unknown = matches!(verdict, Verdict::Undecided(Why::Faulty));
            assert!(unknown, "{}: {property} {}", model.name(), verdict.name());
        }
    }
}
