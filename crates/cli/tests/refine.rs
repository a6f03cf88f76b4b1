//! `fencepost refine` as users see it, over the corpus.

mod run;

use run::{Desk, run_at_root};

fn shown(arguments: &str) -> String {
    let files: Vec<String> = arguments
        .split_whitespace()
        .map(|word| match word.ends_with(".fp") {
            true => format!("corpus/refine/{word}"),
            false => word.to_string(),
        })
        .collect();
    run_at_root(&format!("refine {}", files.join(" "))).all()
}

/// Example 2.1: calls and returns are the same, propagation is not.
#[test]
fn example() {
    golden!(shown("example-2-1.fp"));
}

#[test]
fn example_stale() {
    golden!(shown("example-2-1-stale.fp"));
}

#[test]
fn example_history_only() {
    golden!(shown("--history-only example-2-1.fp"));
}

#[test]
fn rcu() {
    golden!(shown("--pending 4 rcu1-spec.fp rcu1.fp rcu1-client.fp"));
}

#[test]
fn rcu_to_the_letter() {
    golden!(shown("--literal --pending 4 rcu1-spec.fp rcu1.fp rcu1-client.fp"));
}

#[test]
fn rcu_without_fence() {
    golden!(shown("rcu1-spec.fp rcu1-no-fence.fp rcu1-client.fp"));
}

#[test]
fn queue_with_spaces() {
    golden!(shown("queue-not-awaited.fp"));
}

#[test]
fn relaxed_release() {
    golden!(shown("lock-relaxed-release.fp"));
}

#[test]
fn race() {
    golden!(shown("local-drf-free.fp"));
}

#[test]
fn composed() {
    golden!(shown("two-libraries.fp"));
}

#[test]
fn client_of_the_paper() {
    let client = "--client rcu1-user.fp";
    golden!(shown(&format!("{client} rcu1-spec.fp rcu1.fp rcu1-client.fp")));
}

#[test]
fn client_of_the_paper_with_flags() {
    let client = "--client rcu1-user.fp";
    golden!(shown(&format!("{client} rcu1-flags-spec.fp rcu1.fp rcu1-client.fp")));
}

#[test]
fn client_that_breaks_the_policy() {
    let client = "--client rcu1-bad-user.fp";
    golden!(shown(&format!("{client} rcu1-spec.fp rcu1.fp rcu1-client.fp")));
}

#[test]
fn limits_and_json() {
    let files = "rcu2-spec.fp rcu2.fp rcu2-client.fp";
    let undecided = shown(&format!("--limit-memory 1K --quiet {files}"));
    assert!(undecided.ends_with("rcu: undecided\nexit 3\n"), "{undecided}");
    let json = shown("--json example-2-1.fp");
    assert!(
        json.contains("\"verdict\":\"violated\"") && json.contains("second returns 1"),
        "{json}"
    );
}

const FLAG: &str = "max_value 1;\n\
    spec flag { atomic f; method raise() { f.store(1, rel); return(); } method raised() { local r; r = f.load(acq); return(r); } }\n\
    library flag { atomic f; method raise() { f.store(1, rel); return(); } method raised() { local r; r = f.load(acq); BODY return(r); } }\n\
    client { thread p { raise(); } thread q { raised(); } }\n";

/// A method that never returns refines, and the answer says that this is partial correctness; `--total` finds it.
#[test]
fn methods_that_never_return() {
    for (name, body) in [("spins", "while (1) { skip; }"), ("ends", "assume(0);")] {
        let desk = Desk::with(&FLAG.replace("BODY", body));
        let partial = desk.run("refine --html page.html t.fp");
        assert_eq!(partial.code, Some(0), "{}", partial.stdout);
        assert!(partial.stdout.contains("partial correctness"), "{}", partial.stdout);
        let page = std::fs::read_to_string(desk.path().join("page.html")).expect("a page");
        assert!(page.contains("partial correctness"), "the page says so");
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(format!("never_returns_{name}"), desk.run("refine --total t.fp").all());
        });
        let json = desk.run("refine --total --json t.fp");
        assert!(json.stdout.contains("\"problem\":\"stuck\""), "{}", json.stdout);
        assert_eq!(json.code, Some(1));
    }
    let desk = Desk::with(&FLAG.replace("BODY", ""));
    let total = desk.run("refine --total t.fp");
    assert!(total.code == Some(0) && total.stdout.contains("total: no call"), "{}", total.stdout);
}

/// An undecided answer names the limit, and the side that it is on.
#[test]
fn undecided_says_why() {
    let noise = "atomic x; method f() { while (1) { x.store(1, rlx); x.store(0, rlx); } return(); } \
                 method g() { local a; a = x.load(rlx); return(a); }";
    let text = format!(
        "max_value 1;\nlibrary s {{ {noise} }}\nspec s {{ {noise} }}\n\
         client {{ thread p {{ f(); }} thread q {{ g(); }} thread r {{ f(); }} }}\n"
    );
    let run = Desk::with(&text).run("refine --pending 1 t.fp");
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    assert!(
        run.stdout.contains("not all of the library was looked at: more than"),
        "{}",
        run.stdout
    );
    let files = "rcu2-spec.fp rcu2.fp rcu2-client.fp";
    let limited = shown(&format!("--limit-memory 1K {files}"));
    assert!(limited.contains("the limit on memory was reached"), "{limited}");
    let limited = shown(&format!("--limit-time 0s {files}"));
    assert!(limited.contains("the limit on time was reached"), "{limited}");
}

/// Printed runs begin with what threads store before their first calls.
#[test]
fn stores_before_the_first_call() {
    let client = "client { atomic a; thread p { a.store(1, rlx); raise(); raise(); } thread q { raised(); } }";
    let desk = Desk::with(&FLAG.replace("BODY", "")).and("user.fp", client);
    golden!(desk.run("refine --client user.fp t.fp").all());
}

/// `--json` says whether the histories are the specification's to the letter.
#[test]
fn json_says_how_histories_match() {
    for (arguments, matched) in [
        ("lock-spin.fp", "\"to-the-letter\""),
        ("queue.fp", "\"up-to-early-propagation\""),
        ("--history-only queue.fp", "\"calls-and-returns\""),
        ("queue-not-awaited.fp", "null"),
    ] {
        let json = shown(&format!("--json {arguments}"));
        assert!(json.contains(&format!("\"matched\":{matched}")), "{arguments}: {json}");
    }
}

/// Results that wrap around are pointed out, as by `check`.
#[test]
fn wrap_around_warns() {
    let text =
        FLAG.replace("BODY", "r = r - 1;").replacen("f.store(1, rel)", "FADD(f, 1, acq, rel)", 1);
    let desk =
        Desk::with(&text.replace("r = f.load(acq); return(r)", "r = f.load(acq); return(r + r)"));
    let run = desk.run("refine t.fp");
    assert!(run.stderr.starts_with("warning[FP0007]: results of"), "{}", run.stderr);
    let json = desk.run("refine --json t.fp");
    assert!(json.stdout.contains("FP0007"), "{}", json.stdout);
    let run = Desk::with(&FLAG.replace("BODY", "")).run("refine t.fp");
    assert_eq!(run.stderr, "");
}

/// Options that would have no effect are refused.
#[test]
fn options_without_effect() {
    let desk =
        Desk::with(&FLAG.replace("BODY", "")).and("user.fp", "client { thread p { raise(); } }");
    for options in [
        "--total --client user.fp",
        "--literal --client user.fp",
        "--literal --history-only",
        "--show-client --json",
        "--show-client --limit-time 3s",
        "--limit-states 5",
    ] {
        let run = desk.run(&format!("refine {options} t.fp"));
        assert_eq!(run.code, Some(2), "{options}: {}", run.stdout);
    }
}

/// An index that leaves its array at run time is a mistake in the program, with its place.
#[test]
fn index_at_run_time() {
    let text = "max_value 3;\n\
        spec s { atomic q[2], n; method f() { local i; i = FADD(n, 1, rlx, rlx); q[i].store(1, rlx); return(); } }\n\
        library s { atomic q[2], n; method f() { local i; i = FADD(n, 1, rlx, rlx); q[i].store(1, rlx); return(); } }\n\
        client { thread t { while (1) { f(); } } }\n";
    golden!(Desk::with(text).run("refine t.fp").all());
}

/// What the help shows is true.
#[test]
fn help_is_true() {
    let help = Desk::new().run("refine --help").stdout;
    let start = help.find("    max_value 1;").expect("an example");
    let end = help.find("    fencepost refine flag.fp").expect("how to ask");
    let desk = Desk::new().and("flag.fp", &help[start..end]);
    assert_eq!(desk.run("refine flag.fp").code, Some(1));
    assert_eq!(desk.run("refine --history-only flag.fp").code, Some(0));
}

#[test]
fn show_client() {
    let run = shown("--show-client local-drf.fp");
    assert!(run.contains("acquire(guard[0]); acquire(guard[1]); put(a0);"), "{run}");
}

/// Whatever is wrong with the files, the place is named, nothing is checked, and the exit code is 2.
#[test]
fn bad_input() {
    let spec = "max_value 3;\nspec s { atomic x; method f() { x.store(1, rlx); return(); } }\n";
    let good = "library s { atomic x; method f() { x.store(1, rlx); return(); } }\n";
    let client = "client { atomic c; thread t { f(); } }\n";
    let library = |body: &str| format!("library s {{ atomic x, y[2]; {body} }}\n");
    for (what, text) in [
        ("touches the client", library("method f() { c.store(1, rlx); return(); }") + client),
        ("is touched", good.to_string() + "client { thread t { f(); x.store(1, rlx); } }"),
        ("calls", library("method f() { g(); return(); } method g() { return(); }") + client),
        ("calls itself", library("method f() { f(); return(); }") + client),
        ("has more", library("method f() { return(); } method g() { return(); }") + client),
        ("is not called", good.to_string() + "client { atomic c; thread t { c.store(1, rlx); } }"),
        ("leaves its array", library("method f() { y[2].store(1, rlx); return(); }") + client),
    ] {
        let desk = Desk::with(&format!("{spec}{text}"));
        let run = desk.run("refine --junit out.xml t.fp");
        assert_eq!(run.code, Some(2), "{what}: {}", run.stderr);
        assert!(run.stderr.starts_with("error[FP10"), "{what}: {}", run.stderr);
        assert!(run.stderr.contains("--> t.fp:"), "{what}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{what}");
        let report = std::fs::read_to_string(desk.path().join("out.xml")).expect("a report");
        assert!(report.contains("errors=\"1\""), "{what}: {report}");
    }
    let desk = Desk::with(&format!("{spec}{good}{client}"));
    assert_eq!(desk.run("refine t.fp").code, Some(0));
    assert_eq!(desk.run("refine nowhere.fp").code, Some(2));
    assert_eq!(desk.run("refine --html t.fp t.fp").code, Some(2), "the input stays as it is");
    assert_eq!(desk.run("refine --pending 0 t.fp").code, Some(2));
    // With values up to 1, the index 2 is 0: that is said.
    let text = format!("{spec}{}{client}", library("method f() { y[2].store(1, rlx); return(); }"));
    let run = Desk::with(&text.replace("max_value 3", "max_value 1")).run("refine t.fp");
    assert!(run.stderr.starts_with("warning[FP2001]"), "{}", run.stderr);
}

/// A client may have more threads than the policy: what they do is against it. The comparison looked for them there.
#[test]
fn a_client_with_more_threads_than_the_policy() {
    let library = "max_value 1;\n\
        spec c { atomic x; method put(v) { x.store(v, rel); return(); } }\n\
        library c { atomic x; method put(v) { x.store(v, rel); return(); } }\n\
        client { policy free(2); }\n";
    let client = "client { atomic g; thread a { put(1); } thread b { local r; r = g.load(acq); } thread d { put(0); } }\n";
    let desk = Desk::with(library);
    std::fs::write(desk.path().join("user.fp"), client).expect("a client");
    let said = desk.run("refine --client user.fp t.fp");
    assert_eq!(said.code, Some(1), "{}", said.all());
    assert!(said.stdout.contains("does not keep to the policy"), "{}", said.all());
}
