//! Programs that are not robust: what the weak memory says about them. Correct ones are safe, their broken twins fail
//! with an execution that the judge accepted. Catches a search that stops early, a bound that is not said, and
//! executions that show something else than they claim.

use fencepost_check as check;

use check::{Answer, Beyond, By, Evidence, Model, Property, Question, Verdict, Why};
use std::path::Path;

fn answer(text: &str, question: &Question) -> Answer {
    let program = lang::parse("weak.fp", text).expect("a good program").program;
    let answer = check::check(&program, question, &|_, _| {}).expect("a legal question");
    assert_eq!(answer.internal, Vec::<String>::new());
    answer
}

fn full(model: Model) -> Question {
    Question { beyond: Beyond::Full, ..Question::of(model) }
}

fn corpus(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
    std::fs::read_to_string(file).expect("a program of the corpus")
}

/// The verdict on a property, and the bound if there is one.
fn said(answer: &Answer, property: Property) -> String {
    let Some(decision) = answer.decision(property) else { return "-".to_string() };
    let scope = match decision.by {
        By::WeakMemory { stale: None } => " exactly",
        By::WeakMemory { stale: Some(_) } => " bounded",
        _ => "",
    };
    format!("{}{scope}", decision.verdict.name())
}

#[test]
fn correct_programs_are_safe_and_their_twins_are_not() {
    let expected = [
        ("algorithms/spsc-ring.fp", "holds exactly", "holds exactly"),
        ("weak/spsc-ring-rlx-index.fp", "violated", "undecided"),
        ("algorithms/seqlock-one-writer.fp", "-", "holds exactly"),
        ("algorithms/seqlock-two-readers.fp", "-", "holds exactly"),
        ("algorithms/seqlock-two-writers.fp", "-", "holds exactly"),
        ("algorithms/seqlock-no-read-fence.fp", "-", "violated bounded"),
        ("algorithms/seqlock-no-write-fence.fp", "-", "violated bounded"),
        ("weak/treiber-polite.fp", "holds exactly", "holds exactly"),
        ("weak/treiber-polite-rlx.fp", "violated", "undecided"),
        ("weak/refcount-last-look.fp", "holds exactly", "holds exactly"),
        ("weak/refcount-believes-notes.fp", "-", "violated exactly"),
        ("weak/store-buffering-harmless.fp", "-", "holds exactly"),
        ("weak/store-buffering-harmful.fp", "-", "violated exactly"),
        ("weak/stuck-behind-choices.fp", "-", "holds exactly"),
        ("weak/spinning-beside-a-stale-wait.fp", "-", "violated exactly"),
    ];
    for (name, races, assertions) in expected {
        let answer = answer(&corpus(name), &full(Model::Rc11));
        assert_eq!(said(&answer, Property::Robustness), "violated", "{name}");
        assert_eq!(said(&answer, Property::Races), races, "{name}: races");
        assert_eq!(said(&answer, Property::Assertions), assertions, "{name}: assertions");
        for property in [Property::Races, Property::Assertions] {
            let Some(Verdict::Violated(witness)) = answer.verdict(property) else { continue };
            let certificate = witness.certificate().expect("an execution");
            let judgement = graph::judge(&answer.program, &certificate.graph);
            assert!(judgement.generated && judgement.consistent(), "{name}: {property}");
            if property == Property::Assertions {
                assert!(matches!(witness.evidence, Evidence::WeakRun { .. }), "{name}");
                assert!(certificate.cycle.is_some(), "{name}: no interleaving does it");
                assert!(witness.newer().iter().any(|newer| *newer > 0), "{name}");
            }
        }
    }
}

/// An assertion that fails in an interleaving is found there, however large the weak memory is, and also if it is not
/// looked at.
#[test]
fn what_fails_in_interleavings_is_found_there() {
    let text = corpus("weak/fails-without-stale-reads.fp");
    for beyond in [Beyond::Interleavings, Beyond::Brief, Beyond::Full] {
        let answer = answer(&text, &Question { beyond, ..Question::default() });
        assert_eq!(said(&answer, Property::Robustness), "violated", "{beyond:?}");
        let decision = answer.decision(Property::Assertions).expect("it has one");
        assert_eq!(decision.by, By::Interleavings, "{beyond:?}");
        let witness = decision.verdict.witness().expect("it fails");
        assert!(matches!(&witness.evidence, Evidence::Interleaving { played: Some(_), .. }));
        assert!(answer.cost.states < 200_000, "{beyond:?}: {} states", answer.cost.states);
    }
}

/// Where nothing can fail whatever is read, that is said, however large the weak memory is; and not where something can.
#[test]
fn what_cannot_fail_holds() {
    let text = |most: u8| {
        let writers =
            "x.store(1, rlx); y.store(2, rlx); z.store(3, rlx); x.store(4, rlx); y.store(5, rlx);";
        let reads =
            "a = x.load(rlx); b = y.load(rlx); a = z.load(rlx); b = x.load(rlx); a = y.load(rlx);";
        format!(
            "max_value 7; atomic x, y, z;
            thread up {{ {writers} }}
            thread down {{ y.store(3, rlx); {writers} x.store(2, rlx); }}
            thread left {{ local a, b; {reads} assert(a <= {most}); }}
            thread right {{ local a, b; {reads} assert(b <= {most}); }}"
        )
    };
    for (most, expected) in [(5, "holds exactly"), (4, "violated")] {
        let answer = answer(&text(most), &Question { beyond: Beyond::Brief, ..full(Model::Rc11) });
        assert_eq!(said(&answer, Property::Robustness), "violated", "at most {most}");
        assert_eq!(said(&answer, Property::Assertions), expected, "at most {most}");
    }
}

/// A writer that never waits: there is no bound on what a reader may miss, so the answer names one.
#[test]
fn a_bound_that_was_met_is_named() {
    let text = "max_value 3; atomic x, y;
        thread writer { local a; while (1) { a = (a + 1) % 3; x.store(a, rlx); a = y.load(rlx); } }
        thread reader { local r, s; y.store(1, rlx); r = x.load(rlx); s = r; assert(r == s); }";
    let grown = answer(text, &Question { limits: states(20_000), ..full(Model::Rc11) });
    let assertions = grown.decision(Property::Assertions).expect("it was asked");
    let Verdict::Undecided(Why::Stale(bound)) = assertions.verdict else {
        panic!("{:?}", assertions.verdict)
    };
    assert!(bound >= 2);
    let asked = answer(text, &Question { stale: Some(3), ..full(Model::Rc11) });
    let assertions = asked.decision(Property::Assertions).expect("it was asked");
    assert!(assertions.verdict.holds());
    assert_eq!(assertions.by, By::WeakMemory { stale: Some(3) });
}

fn states(most: u64) -> search::Limits {
    search::Limits { states: Some(most), ..search::Limits::default() }
}

/// Without `beyond`, nothing is explored, and the answer is as it was.
#[test]
fn what_is_not_asked_for_is_not_explored() {
    let text = corpus("weak/store-buffering-harmless.fp");
    let answer = answer(&text, &Question::of(Model::Rc11));
    assert_eq!(answer.verdict(Property::Assertions).and_then(Verdict::why), Some(Why::NotRobust));
    assert!(answer.weak.is_none());
}

/// Run-time errors and threads that wait for ever, which only weak memory shows.
#[test]
fn run_time_errors_and_waiting_threads_of_weak_memory_are_found() {
    let errors = "max_value 2; atomic x, y, a[2];
        thread left  { local r; x.store(1, rlx); r = y.load(rlx); if (r == 0) { a[0].store(1, rlx); } }
        thread right { local r, k; y.store(1, rlx); r = x.load(rlx); k = a[0].load(rlx);
                       if (r == 0) { a[2 * k].store(1, rlx); } }";
    let answer_errors = answer(errors, &full(Model::Rc11));
    assert_eq!(answer_errors.faults.len(), 1);
    assert_eq!(said(&answer_errors, Property::Assertions), "undecided exactly");
    let waits = "max_value 1; atomic x, y, go;
        thread left  { local r; x.store(1, rlx); r = y.load(rlx); if (r == 1) { go.store(1, rlx); } }
        thread right { local r; y.store(1, rlx); r = x.load(rlx);
                       if (r == 1) { go.store(1, rlx); } wait(go, 1, rlx); }";
    let waiting = answer(waits, &full(Model::Rc11));
    assert!(waiting.stuck.iter().any(|w| matches!(w.evidence, Evidence::WeakRun { .. })));
    assert_eq!(said(&waiting, Property::Assertions), "holds exactly");
}

/// RC20's fences order more than RC11's, and RA has no relaxed accesses.
#[test]
fn every_model_with_stale_reads_is_explored() {
    let text = "max_value 1; atomic x, y, z;
        thread a { local r, s; r = y.load(rlx); fence(seq_cst); s = z.load(rlx); assert(r == 0 || s == 1); }
        thread b { z.store(1, rlx); fence(seq_cst); x.store(1, rlx); }
        thread c { local d; d = x.load(rlx); if (d == 1) { y.store(1, rlx); } }";
    let verdict = |model| said(&answer(text, &full(model)), Property::Assertions);
    assert_eq!(verdict(Model::Rc11), "violated exactly");
    assert_eq!(verdict(Model::Rc20), "holds");
    let sb = corpus("weak/store-buffering-harmful.fp");
    assert_eq!(said(&answer(&sb, &full(Model::Ra)), Property::Assertions), "violated exactly");
}

/// The verdict on liveness, and whether an interleaving shows it.
fn waits(text: &str, model: Model) -> &'static str {
    let answer = answer(text, &Question { liveness: true, ..full(model) });
    let verdict = answer.verdict(Property::Liveness).expect("it was asked");
    if let Verdict::Violated(witness) = verdict {
        assert!(matches!(witness.evidence, Evidence::WeakRun { .. }));
        return match witness.newer().iter().any(|newer| *newer > 0) {
            true => "violated, weakly",
            false => "violated",
        };
    }
    verdict.name()
}

/// Threads that wait for ever: in loops that read, exchange or fail to update; not in loops that somebody ends, that
/// change something, or that only a stale value keeps going.
#[test]
fn threads_that_wait_for_ever_are_reported() {
    for (text, expected) in [
        // A flag that somebody raises, and one that nobody does.
        (
            "atomic f; thread a { f.store(1, rel); } thread b { local r; while (r == 0) { r = f.load(acq); } }",
            "holds",
        ),
        ("atomic f; thread b { local r; while (r == 0) { r = f.load(acq); } }", "violated"),
        // The newest value is seen in the end, and that may be too late.
        (
            "atomic f; thread a { f.store(1, rel); f.store(2, rel); } thread b { local r; while (r != 1) { r = f.load(acq); } }",
            "violated",
        ),
        // Locks that are taken by exchange, and kept.
        (
            "atomic l; thread t[2] { local r; r = 1; while (r == 1) { r = exchange(l, 1, acq, rlx); } l.store(0, rel); }",
            "holds",
        ),
        (
            "atomic l; thread t[2] { local r; r = 1; while (r == 1) { r = exchange(l, 1, acq, rlx); } }",
            "violated",
        ),
        (
            "atomic l; thread t[2] { local r; r = 1; while (r == 1) { r = CAS(l, 0, 1, acq, rlx); } }",
            "violated",
        ),
        (
            "atomic l; thread t[2] { local ok; while (ok == 0) { ok = weak_CAS(l, 0, 1, acq, rlx, rlx); } l.store(0, rel); }",
            "holds",
        ),
        // Two threads that wait for each other, one by a waiting step.
        (
            "atomic x, y; thread a { wait(x, 1, acq); y.store(1, rel); } thread b { local r; while (r == 0) { r = y.load(acq); } x.store(1, rel); }",
            "violated",
        ),
        // A loop that goes on for ever by design, and one that computes for ever.
        (
            "max_value 1; atomic x; thread a { local r; while (1) { r = 1 - r; x.store(r, rlx); } }",
            "holds",
        ),
        ("atomic x; thread a { local r; r = x.load(rlx); while (r == 0) { } }", "violated"),
        // A thread that may look away is not stopped by that.
        (
            "atomic x; thread a { local r; r = oneof(0, 1); while (r == 0) { r = oneof(0, 1); } }",
            "holds",
        ),
        // A lock that may be shared waits for whichever of its values is there; what is chosen apart from that is chosen for good.
        (
            "atomic l; thread t[2] { oneof({ BCAS(l, 0, 1, acq, rlx); } { BCAS(l, 1, 2, acq, rlx); }); FADD(l, -1, rlx, rel); }",
            "holds",
        ),
        (
            "atomic l; thread t[2] { oneof({ BCAS(l, 0, 1, acq, rlx); } { BCAS(l, 1, 2, acq, rlx); }); }
             thread w { BCAS(l, 0, 3, acq, rlx); l.store(0, rel); }",
            "violated",
        ),
        (
            "atomic l, m; thread t { oneof({ BCAS(l, 0, 1, acq, rlx); } { BCAS(m, 1, 2, acq, rlx); }); }",
            "violated",
        ),
        // What an assumption stops is not asked about.
        (
            "atomic x; thread a { local r; r = oneof(0, 1); assume(r == 1); x.store(1, rlx); } thread b { local r; while (r == 0) { r = x.load(rlx); } }",
            "holds",
        ),
        (
            "atomic x; thread a { x.store(1, rlx); } thread b { local r; r = x.load(rlx); if (r == 0) { assume(0); } }",
            "violated",
        ),
        // Nobody starts it.
        (
            "atomic x; thread a { local r; r = x.load(rlx); if (r == 1) { spawn b; } } thread b { wait(x, 7, rlx); }",
            "holds",
        ),
        // Only weak memory lets both believe that the other will do it.
        (
            "max_value 1; atomic x, y, go;
          thread a { local r; x.store(1, rlx); r = y.load(rlx); if (r == 1) { go.store(1, rlx); } }
          thread b { local r; y.store(1, rlx); r = x.load(rlx); if (r == 1) { go.store(1, rlx); }
                     r = 0; while (r == 0) { r = go.load(rlx); } }",
            "violated, weakly",
        ),
        (
            "max_value 1; atomic x, y, go;
          thread a { local r; x.store(1, sc); r = y.load(sc); if (r == 1) { go.store(1, rlx); } }
          thread b { local r; y.store(1, sc); r = x.load(sc); if (r == 1) { go.store(1, rlx); }
                     r = 0; while (r == 0) { r = go.load(rlx); } }",
            "holds",
        ),
    ] {
        assert_eq!(waits(text, Model::Rc11), expected, "{text}");
    }
}

/// One spins and another waits, while a third still moves. A stale read would let the second pass, and leads to a new
/// state where the step of the first leads to none: the third must be let go on all the same.
#[test]
fn threads_that_spin_hide_nobody_who_moves() {
    let text = "max_value 5; atomic y, z, v, p, q;
        thread t0 { local r; while (r != 1) { r = z.load(acq); } v.store(1, rlx); }
        thread t1 { BCAS(y, 0, 5, rlx, rlx); z.store(1, rel); }
        thread t2 { local r; y.store(2, rlx); r = v.load(rlx); }
        thread a { local r; p.store(1, rlx); r = q.load(rlx); }
        thread b { local r; q.store(1, rlx); r = p.load(rlx); }";
    assert!(waits(text, Model::Rc11).starts_with("violated"));
}

/// A thread beside one that waits may go round by itself, or have failed: that it is stuck, too, is not what an
/// execution shows. Catches findings that the judge has to reject.
#[test]
fn who_goes_round_or_has_failed_is_not_stuck() {
    let waits_for = |other: &str| {
        format!(
            "max_value 3; atomic x, y, a[1]; thread t {{ local r; {other} }} thread u {{ wait(y, 3, rlx); }}"
        )
    };
    for (other, expected) in [
        ("while (1) { skip; }", "violated"),
        ("while (1) { r = 1 - r; }", "violated"),
        ("while (1) { fence(acq_rel); }", "violated"),
        ("x.store(1, rlx); do { fence(seq_cst); } while (r == 0);", "violated"),
        ("r = 2; a[r].store(1, rlx);", "undecided"),
        ("r = 1 / r; x.store(1, rlx);", "undecided"),
        ("assert(0);", "holds"),
        ("r = x.load(rlx); assert(r == 1);", "holds"),
        ("assume(0);", "violated"),
        // The last choice of a thread leads to where it was stopped.
        ("oneof({ r = x.load(rlx); } { assume(r); });", "violated"),
        ("oneof({ x.store(1, rlx); } { assert(r); });", "violated"),
    ] {
        for model in [Model::Sc, Model::Rc11, Model::Ra] {
            let question = Question { liveness: true, ..full(model) };
            let answer = answer(&waits_for(other), &question);
            assert!(answer.internal.is_empty(), "{}: {other}: {:?}", model.name(), answer.internal);
            let verdict = answer.verdict(Property::Liveness).map(Verdict::name);
            assert_eq!(verdict, Some(expected), "{}: {other}", model.name());
        }
    }
}

/// A run that is too long to be judged, or to be followed, is no internal error.
#[test]
fn long_local_loops_before_a_wait_are_undecided() {
    for rounds in [30_000, 200_000] {
        let text = format!(
            "max_value {rounds}; atomic x; thread t {{ local i; while (i < {rounds}) {{ i = i + 1; }} wait(x, 1, rlx); }}"
        );
        let answer = answer(&text, &Question { liveness: true, ..full(Model::Rc11) });
        assert!(answer.internal.is_empty(), "{rounds}: {:?}", answer.internal);
        let verdict = answer.verdict(Property::Liveness).expect("it was asked");
        assert!(
            matches!(verdict, Verdict::Undecided(Why::TooMuch)),
            "{rounds}: {}",
            verdict.name()
        );
    }
}

/// A thread that goes round through fences and nothing else comes to no access; the search goes on without it.
#[test]
fn loops_of_fences_end_the_run_of_a_thread() {
    let text = "atomic x, y; thread a { local r; x.store(1, rlx); r = y.load(rlx); while (r == 0) { fence(rel); } }
                thread b { local r; y.store(1, rlx); r = x.load(rlx); assert(r <= 1); while (1) { fence(acq); } }";
    assert_eq!(said(&answer(text, &full(Model::Rc11)), Property::Assertions), "holds exactly");
    assert!(waits(text, Model::Rc11).starts_with("violated"));
}

/// What a final condition says of a program that is not robust is decided on the weak memory.
#[test]
fn final_conditions_of_weak_memory_are_decided() {
    let sb = |condition: &str| {
        format!(
            "atomic x, y; thread a {{ local r, n; x.store(1, rlx); r = y.load(rlx); }}
             thread b {{ local r; y.store(1, rlx); r = x.load(rlx); }} {condition}"
        )
    };
    let claims = |condition: &str| {
        let answer = answer(&sb(condition), &full(Model::Rc11));
        (said(&answer, Property::FinalCondition), answer.reach)
    };
    assert_eq!(claims("~exists (a.r == 0 && b.r == 0);").0, "violated exactly");
    assert_eq!(claims("forall (a.r <= 1 && x == 1);").0, "holds exactly");
    assert_eq!(claims("exists (a.r == 0 && b.r == 0);").1, Some(check::Reach::Yes));
    assert_eq!(claims("exists (a.r == 2);").1, Some(check::Reach::No));
    // Modification order against what is read: 2+2W, and its last values.
    let text = "atomic x, y; thread a { x.store(1, rlx); y.store(2, rlx); }
                thread b { y.store(1, rlx); x.store(2, rlx); } ~exists (x == 1 && y == 1);";
    let found = answer(text, &full(Model::Rc11));
    let verdict = found.verdict(Property::FinalCondition).expect("a claim");
    let witness = verdict.witness().expect("two plus two writes are weak");
    assert!(witness.newer().iter().any(|newer| *newer > 0));
    assert_eq!(said(&answer(text, &full(Model::Ra)), Property::FinalCondition), "violated exactly");
}

/// What no bound on stale writes lets in is not said to hold up to a bound: here a thread computes for longer than the
/// search waits for.
#[test]
fn what_takes_too_long_is_undecided_whatever_the_bound() {
    let text = "max_value 9999999; atomic x, y;
        thread a { local i, r; x.store(1, rlx); r = y.load(rlx);
                   if (r == 0) { while (i < 600000) { i = i + 1; } assert(0); } }
        thread b { local r; y.store(1, rlx); r = x.load(rlx); assume(r == 0); y.store(2, rlx); }";
    let question = Question { stale: Some(3), ..full(Model::Rc11) };
    let program = lang::parse("weak.fp", text).expect("a good program").program;
    let answer = check::check(&program, &question, &|_, _| {}).expect("a legal question");
    assert!(answer.verdict(Property::Assertions).is_some_and(|verdict| !verdict.holds()));
}

/// A read-modify-write that ends in a run-time error must have been able to write: it reads no write that another has
/// taken.
#[test]
fn an_update_that_fails_reads_what_it_could_have_replaced() {
    let text = "max_value 3; atomic x = 3, y, p, q;
        thread a { local r; p.store(1, rlx); r = q.load(rlx);
                   r = CAS(x, 3, 0, rlx, rlx); y.store(1, rlx); }
        thread b { local r; q.store(1, rlx); r = p.load(rlx); r = y.load(rlx);
                   if (r == 1) { r = FADD(x, 1, rlx, rlx); } assert(r <= 3); }";
    let mut program = lang::parse("weak.fp", text).expect("a good program").program;
    program.domain.edge = ir::expr::Edge::Fault;
    let answer = check::check(&program, &full(Model::Rc11), &|_, _| {}).expect("a legal question");
    assert_eq!(answer.internal, Vec::<String>::new());
    assert!(answer.faults.is_empty(), "{:?}", answer.faults);
    assert_eq!(said(&answer, Property::Assertions), "holds exactly");
}

/// A counter by which threads say that they have ended has more stale writes than the bound allows, and does not count
/// for it: code in C has such a counter. Catches an answer that is bounded for no reason of the program's, and a counter
/// in a loop that does not count either.
#[test]
fn the_end_of_threads_does_not_count_for_the_bound() {
    let question = Question { stale: Some(1), ..full(Model::Rc11) };
    let program = |end: &str| {
        format!(
            "max_value 7; global x, y, done; \
             thread a {{ local r, n; x.store(1); r = y.load(); {end} }} \
             thread b {{ local r, n; y.store(1); r = x.load(); {end} }} \
             thread c {{ local r, n; r = x.load(); {end} }} \
             thread main {{ local r; wait(done, 3, acq); r = x.load(); assert(r == 1); }}"
        )
    };
    let once = answer(&program("FADD(done, 1, rlx, rel);"), &question);
    assert_eq!(said(&once, Property::Robustness), "violated");
    assert_eq!(said(&once, Property::Assertions), "holds exactly");
    let often = program("while (n < 1) { FADD(done, 1, rlx, rel); n = n + 1; }");
    let often = answer(&often, &question);
    assert_eq!(said(&often, Property::Assertions), "holds bounded");
}
