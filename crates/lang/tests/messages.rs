//! Every message a user can get about a text, as the terminal shows it. The snapshots are the
//! specification: a change to one is a change for users.

use fencepost_lang::{Diagnostic, codes, parse, parse_bytes};
use std::collections::BTreeSet;

/// All messages about a text, rendered.
fn messages(text: &str) -> Vec<Diagnostic> {
    match parse("test.fp", text) {
        Ok(source) => source.warnings,
        Err(diagnostics) => diagnostics,
    }
}

fn rendered(text: &str) -> String {
    let all: Vec<String> =
        messages(text).iter().map(|one| one.render("test.fp", text, false)).collect();
    all.join("\n")
}

/// A thread with locals `r`, `s` and locations `x`, `y`, `a[3]`, `n`.
fn in_thread(body: &str) -> String {
    format!("global x, y, a[3];\nna n;\nthread t {{\n  local r, s;\n  {body}\n}}\n")
}

macro_rules! golden {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let text: &str = &$text;
                let shown = rendered(text);
                assert!(!shown.is_empty(), "no message about\n{text}");
                insta::with_settings!({ description => text, omit_expression => true }, {
                    insta::assert_snapshot!(stringify!($name), shown);
                });
            }
        )*

        fn all_texts() -> Vec<String> {
            vec![$($text.to_string()),*]
        }
    };
}

golden! {
    // Syntax.
    missing_semicolon: in_thread("x.store(1)\n  y.store(1);");
    missing_semicolon_on_the_line: in_thread("r = s x.store(1);");
    missing_semicolon_before_brace: "thread t { local r; r = 1 }\nthread u { }";
    missing_operand: in_thread("r = s + ;");
    missing_parenthesis: in_thread("r = (s + 1;");
    extra_parenthesis: in_thread("r = s + 1);");
    missing_brace_at_end: "thread t {\n  if (1) {\n    skip;\n}\n";
    missing_brace_before_thread: "thread t {\n  skip;\nthread u {\n  skip;\n}\n";
    stray_brace: "thread t { } }";
    not_an_item: "x.store(1);\nthread t { }";
    misspelt_item: "globl x;\nthread t { }";
    misspelt_statement: in_thread("asert(r == 1);");
    misspelt_keyword_case: in_thread("cas(x, 0, 1);");
    return_statement: in_thread("return;");
    late_local: in_thread("r = 1; local q;");
    local_with_value: "thread t { local r = 1; }";
    else_without_if: in_thread("else { skip; }");
    if_without_block: in_thread("if (r) x.store(1);");
    else_without_block: in_thread("if (r) { } else x.store(1);");
    thread_with_parameters: "thread t() { }";
    thread_without_body: "thread t;";
    oneof_without_blocks: in_thread("oneof(1, 2);");
    label_without_colon: in_thread("again r = 1;");
    number_as_statement: in_thread("1;");
    assignment_to_place: in_thread("a[1] = 3;");
    two_errors: in_thread("r = ;\n  s = 1;\n  x.stor(1);");
    error_then_block: in_thread("if (r ==) { x.store(1); } else { y.store(1); }\n  r = = 1;");
    declared_constant_name: "global true; thread t { }";
    track_without_values: "global x; track x; thread t { }";
    track_with_name: "global x; track x: some; thread t { }";
    bad_initial_list: "global a[2] = {1 2}; thread t { }";

    // Characters and numbers.
    strange_character: in_thread("r = 1 § 2;");
    strange_letters: in_thread("größe.store(1);");
    string: in_thread("r = \"text\";");
    preprocessor: "#include <atomic>\nthread t { }";
    endless_comment: "thread t { } /* and so on";
    huge_number: in_thread("r = 99999999999999999999;");

    // Names.
    unknown_location: in_thread("r = z.load();");
    unknown_location_far: in_thread("banana.store(1);");
    unknown_local: in_thread("q = 1;");
    unknown_local_in_expression: in_thread("r = rs + 1;");
    unknown_label: in_thread("again: r = 1; goto agian;");
    unknown_tracked: "global x; track y: all; thread t { }";
    unknown_operation: in_thread("r = FAD(x, 1);");
    unknown_function: in_thread("r = 1 + f(s);");
    unknown_access: in_thread("r = x.laod();");
    unknown_constant: "global a[N]; const M = 3; thread t { }";
    local_as_location: in_thread("r.store(1);");
    constant_as_location: "const N = 1; thread t { N.store(1); }";
    location_as_local: in_thread("x = 1;");
    location_as_destination: in_thread("x = y.load();");
    array_as_local: in_thread("a = 1;");
    constant_as_local: "const N = 1; thread t { N = 2; }";
    number_of_thread_as_local: "thread t[2] { t = 2; }";
    global_in_expression: in_thread("r = x + 1;");
    array_in_expression: in_thread("r = s + a[1];");
    array_name_in_expression: in_thread("r = a;");
    na_in_condition: in_thread("if (n == 1) { skip; }");
    access_in_condition: in_thread("while (x.load() == 0) { skip; }");
    operation_in_expression: in_thread("if (CAS(x, 0, 1) == 0) { skip; }");
    dropped_load: in_thread("x.load(acq);");
    store_with_result: in_thread("r = x.store(1);");
    blocking_cas_with_result: in_thread("r = BCAS(x, 0, 1);");
    duplicate_location: "global x, y;\nna x;\nthread t { }";
    duplicate_local: "thread t { local r, s, r; }";
    duplicate_thread: "thread t { }\nthread t { }";
    duplicate_label: in_thread("l: r = 1;\n  l: r = 2;");
    duplicate_constant: "const N = 1;\nconst N = 2;\nthread t { }";
    duplicate_max_value: "max_value 3;\nmax_value 4;\nthread t { }";
    local_like_constant: "const N = 1;\nthread t { local N; }";
    local_like_replica: "thread t[2] { local t; }";
    location_like_constant: "const x = 1; global x; thread t { }";

    // Loops, procedures and spawned threads.
    break_outside_a_loop: in_thread("break;");
    continue_in_a_called_procedure: "proc f() { continue; } thread t { while (1) { f(); } }";
    break_out_of_atomic: in_thread("while (r) { atomic { break; } }");
    for_without_steps: in_thread("for (r = 0; r < 3) { skip; }");
    recursion: "proc f() { g(); } proc g() { skip; f(); } thread t { f(); }";
    wrong_arity: "proc f(a, b) { skip; } thread t { f(1); }";
    missing_result: "proc f(a) { if (a) { return a; } } thread t { local r; r = f(1 + r); }";
    unknown_procedure: "proc f() { skip; } thread t { local r; r = g(1); }";
    two_results_of_a_strong_cas: in_thread("r, s = CAS(x, 0, 1);");
    spawn_of_unknown_thread: "thread main { spawn wroker; } thread worker { skip; }";
    join_of_a_thread_that_starts_by_itself: "thread main { join t; } thread t { skip; }";
    spawn_without_index: "thread main { spawn t; } thread t[2] { skip; }";
    spawn_without_values: "max_value 1; thread main { spawn t; } thread t { skip; }";

    // Modes.
    write_mode_of_read: in_thread("r = x.load(rel);");
    read_mode_of_write: in_thread("x.store(1, acq);");
    long_mode: in_thread("x.store(1, release);");
    one_mode: in_thread("r = FADD(x, 1, acq);");
    third_mode_of_fadd: in_thread("r = FADD(x, 1, acq, rel, rlx);");
    mode_as_value: in_thread("x.store(rel);");
    number_as_mode: in_thread("x.store(1, 2);");
    empty_fence: in_thread("fence();");
    unknown_fence: in_thread("fence(rlx);");
    wait_without_value: in_thread("wait(x);");
    wait_for_mode: in_thread("wait(x, acq);");
    write_mode_of_wait: in_thread("wait(x, 1, rel);");

    // Arrays and kinds of location.
    index_out_of_range: in_thread("a[3].store(1);");
    index_of_scalar: in_thread("x[0].store(1);");
    missing_index: in_thread("a.store(1);");
    atomic_access_to_na: in_thread("n.store(1);");
    na_access_to_atomic: in_thread("r = x.naload();");
    lock_of_na: in_thread("lock(n);");
    empty_array: "global a[0]; thread t { }";
    too_few_initial_values: "global a[3] = {1, 2}; thread t { }";

    // Ranges and limits.
    initial_value_out_of_range: "max_value 3; global x = 4; thread t { }";
    negative_initial_value: "global x = -1; thread t { }";
    tracked_value_out_of_range: "max_value 3; global x; track x: 0, 7; thread t { }";
    max_value_zero: "max_value 0; thread t { }";
    max_value_too_large: "max_value 9223372036854775808; thread t { }";
    values_without_one: "values -5..=0; thread t { }";
    values_too_wide: "values -9223372036854775809..=1; thread t { }";
    values_half_open: "values -1..1; thread t { }";
    values_and_max_value: "values -1..=1;\nmax_value 3;\nthread t { }";
    value_outside_values: "values -4..=3; global x = -5; thread t { }";
    hexadecimal_without_digits: "const N = 0x; thread t { }";
    constant_division_by_zero: "const N = 1 / (2 - 2); thread t { }";
    constant_overflow: "const N = 0xFFFFFFFFFFFFFFFF * 0xFFFFFFFFFFFFFFFF; thread t { }";
    no_threads: "global x;";
    zero_replicas: "const N = 0; thread t[N] { }";
    too_many_threads: "thread t[80] { } thread u[80] { }";
    too_many_locations: "global x, a[4096]; thread t { }";
    too_large_an_array: "global a[1000000000]; thread t { }";
    too_deep_an_expression: in_thread(&format!("r = {}s{};", "r + (".repeat(40), ")".repeat(40)));

    // Blocks.
    jump_out_of_atomic: in_thread("atomic {\n    if (r) goto out;\n  }\n  out: skip;");
    nested_atomic: in_thread("atomic { atomic { skip; } }");
    atomic_statement: in_thread("atomic x.store(1);");
    library_item: "global x;\nlibrary queue { }\nthread t { }";
    client_item: "client c { }";

    // Warnings.
    surprising_and: in_thread("if (r & 1 == 1) { skip; }");
    surprising_or: in_thread("r = r < s | 4;");
    constant_wraps: in_thread("x.store(300);");
    negative_constant_wraps: "max_value 7;\nglobal x;\nthread t { x.store(-1); }";
    compared_constant_wraps: "max_value 3;\nthread t { local r; assert(r < 4); }";
    unreachable_after_loop: in_thread("while (true) { r = x.load(); }\n  x.store(1);\n  y.store(1);");
    unreachable_after_goto: in_thread("again: r = 1;\n  goto again;\n  skip;\n  r = 2;");
    unreachable_branch: in_thread("if (1 == 2) { r = 1; }");
    divides_by_zero: in_thread("r = s / 0;");
    divides_by_wrapped: "max_value 3;\nthread t { local r; r = r / 4; }";
}

#[test]
fn more_than_64_locals() {
    let names: Vec<String> = (0..66).map(|k| format!("r{k}")).collect();
    let text = format!("thread t {{\n  local\n    {};\n  r65 = 1;\n}}", names.join(",\n    "));
    insta::assert_snapshot!(rendered(&text));
}

#[test]
fn too_many_steps() {
    let text = format!("thread t[2] {{ local r; {} }}", "r=1;".repeat(200_000));
    let shown = rendered(&text);
    assert!(shown.starts_with("error[FP1011]: the program has more than 262144 steps"), "{shown}");
}

#[test]
fn files_that_are_not_programs() {
    let show = |bytes: &[u8]| match parse_bytes("test.fp", bytes) {
        Ok(_) => "a program".to_string(),
        Err(found) => found.iter().map(|one| one.render("test.fp", "", false)).collect(),
    };
    let inputs: [&[u8]; 6] = [
        b"",
        b" \n\t\r\n",
        b"thread t {\n \xff }",
        b"\x7fELF\0\0",
        b"\xff\xfet\0h\0",
        b"\xef\xbb\xbf",
    ];
    let shown: Vec<String> = inputs.iter().map(|bytes| show(bytes)).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

/// A test of the tests: each code is demonstrated.
#[test]
fn every_code_has_an_example() {
    // The last two are about libraries; tests/library.rs shows them.
    let mut shown: BTreeSet<&str> =
        BTreeSet::from([codes::NOT_TEXT, codes::FOREIGN_SPACE, codes::METHOD]);
    // These are about compiled code; the command line's tests/real_code.rs shows them.
    shown.extend([codes::CODE, codes::UNFINISHED, codes::CODE_NOTE]);
    for text in all_texts() {
        shown.extend(messages(&text).iter().map(|one| one.code));
    }
    let automata = "thread t initial a initial q transition q r write x 1 end";
    let source = fencepost_lang::trencher::parse("t.txt", automata).expect("a good program");
    shown.extend(source.warnings.iter().map(|one| one.code));
    let missing: Vec<_> = codes::ALL.iter().filter(|(code, _)| !shown.contains(code)).collect();
    assert!(missing.is_empty(), "no example for {missing:?}");
}

#[test]
fn all_errors_of_a_file_are_found() {
    let text = in_thread("r = z1.load();\n  q = 1;\n  goto nowhere;\n  n.store(1);");
    let found: Vec<&str> = messages(&text).iter().map(|one| one.code).collect();
    let expected = [codes::UNKNOWN_NAME, codes::UNKNOWN_NAME, codes::NO_LABEL, codes::MIXED_ACCESS];
    assert_eq!(found, expected);
}

/// Replicas are read from one text; so are their errors.
#[test]
fn replicas_do_not_repeat_messages() {
    assert_eq!(messages("thread t[5] { local r; r = 300; r = q; }").len(), 2);
}

#[test]
fn there_is_an_end_to_errors() {
    let text = in_thread(&"q = 1; ".repeat(10_000));
    assert_eq!(messages(&text).len(), 20);
}
