//! What users are told about libraries that are not what they should be.

use fencepost_lang::library::{Project, parse};

const SPEC: &str = "max_value 1;\nspec cell {\n  atomic x;\n  method put(v) { x.store(v, rel); return(); }\n  \
    method get() { local a; a = x.load(acq); return(a); }\n}\n";
const CLIENT: &str =
    "client {\n  atomic c;\n  thread t[2] { local r; put(t); r = get(); c.store(r, rlx); }\n}\n";

fn library(methods: &str) -> String {
    format!("library cell {{\n  atomic x;\n  {methods}\n}}\n")
}

fn good_library() -> String {
    library(
        "method put(v) { x.store(v, rlx); return(); }\n  method get() { local a; a = x.load(rlx); return(a); }",
    )
}

fn read(text: &str) -> Result<Project, String> {
    parse(&[("test.fp".to_string(), text.to_string())], None).map_err(|bad| bad.render(false))
}

macro_rules! golden {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let text: String = $text;
                let shown = read(&text).expect_err("a message");
                insta::with_settings!({ description => text, omit_expression => true }, {
                    insta::assert_snapshot!(stringify!($name), shown);
                });
            }
        )*
    };
}

golden! {
    sc_in_specification: format!(
        "{}{}{CLIENT}",
        SPEC.replace("x.store(v, rel)", "x.store(v, sc)").replace("x.load(acq)", "CAS(x, 0, 0, seq_cst, rel, sc)"),
        good_library()
    );
    sc_fence_in_specification: format!(
        "{}{}{CLIENT}",
        SPEC.replace("x.store(v, rel);", "x.store(v, rel); fence(seq_cst); fence;"),
        good_library()
    );
    library_touches_client: format!(
        "{SPEC}{}{CLIENT}",
        library("method put(v) { c.store(v, rlx); return(); }\n  method get() { return(0); }")
    );
    client_in_the_space_of_a_library: format!(
        "{SPEC}{}{}",
        good_library(),
        "client {\n  space cell { atomic w; }\n  thread t { local r; put(1); r = w.load(rlx); }\n}\n"
    );
    library_in_the_space_of_clients: format!(
        "{SPEC}{}{CLIENT}",
        good_library().replace("atomic x;", "space client { atomic x; }")
    );
    specification_named_client: "max_value 1;\nspec client {\n  atomic x;\n  method f() { x.store(1, rlx); return(); }\n}\n\
        library l implements client {\n  atomic x;\n  method f() { x.store(1, rlx); return(); }\n}\n\
        client { thread t { f(); } }\n".to_string();
    client_touches_library: format!(
        "{SPEC}{}{}",
        good_library(),
        "client {\n  thread t { local r; put(1); r = x.load(rlx); }\n}\n"
    );
    method_calls_method: format!(
        "{SPEC}{}{CLIENT}",
        library("method put(v) { get(); return(); }\n  method get() { return(0); }")
    );
    recursion: format!(
        "{SPEC}{}{CLIENT}",
        library("method put(v) { put(v); return(); }\n  method get() { return(0); }")
    );
    method_missing_in_specification: format!(
        "{SPEC}{}{CLIENT}",
        library("method put(v) { return(); }\n  method get() { return(0); }\n  method reset() { return(); }")
    );
    method_missing_in_library: format!(
        "{SPEC}{}{CLIENT}",
        library("method put(v) { return(); }")
    );
    different_parameters: format!(
        "{SPEC}{}{CLIENT}",
        library("method put() { return(); }\n  method get() { return(0); }")
    );
    client_never_calls: format!("{SPEC}{}client {{\n  atomic c;\n  thread t {{ c.store(1, rlx); }}\n}}\n", good_library());
    client_without_threads: format!("{SPEC}{}client {{\n}}\n", good_library());
    unknown_method: format!("{SPEC}{}client {{\n  thread t {{ push(1); }}\n}}\n", good_library());
    wrong_number_of_arguments: format!("{SPEC}{}client {{\n  thread t {{ put(); }}\n}}\n", good_library());
    result_of_nothing: format!("{SPEC}{}client {{\n  thread t {{ local r; r = put(1); }}\n}}\n", good_library());
    index_out_of_range: format!(
        "{}{}{CLIENT}",
        SPEC.replace("max_value 1;", "max_value 3;"),
        "library cell {\n  atomic x[2];\n  method put(v) { x[2].store(v, rlx); return(); }\n  method get() { return(0); }\n}\n"
    );
    array_without_length: format!(
        "{SPEC}{}{CLIENT}",
        "library cell {\n  atomic x[];\n  method put(v) { return(); }\n  method get() { return(0); }\n}\n"
    );
    no_specification: format!("max_value 1;\n{}{CLIENT}", good_library());
    no_library: format!("{SPEC}{CLIENT}");
    unknown_policy: format!("{SPEC}{}client {{ policy freely(2); }}\n", good_library());
    too_many_arguments_to_try: format!(
        "{}{}",
        SPEC.replace("max_value 1;", "max_value 200;"),
        good_library()
    );
    fence_in_library: format!(
        "{SPEC}{}{CLIENT}",
        library("method put(v) { fence(acq); return(); }\n  method get() { return(0); }")
    );
    return_in_client: format!("{SPEC}{}client {{\n  thread t {{ put(1); return(); }}\n}}\n", good_library());
    thread_at_the_top: format!("{SPEC}{}thread t {{ put(1); }}\n", good_library());
}

/// Policies are clients in the language: what is shown is what is checked.
#[test]
fn policies_written_out() {
    let shown: Vec<String> = [
        "",
        "client { policy free(3); }",
        "client { policy locked(2); }",
        "client { policy thread_per_method; }",
        "client { policy readers_writer(2) write put; }",
    ]
    .into_iter()
    .map(|client| {
        let project = read(&format!("{SPEC}{}{client}\n", good_library())).expect("a good file");
        let file = project.files.iter().find(|file| file.name == "most general client");
        let span = file.expect("a client was made").span;
        project.text[span.start..span.end].to_string()
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

/// Files are read as one, and a message names the one it is about.
#[test]
fn several_files() {
    let files =
        [("spec.fp", SPEC), ("lib.fp", "library cell {\n  bogus\n}\n"), ("client.fp", CLIENT)];
    let files = files.map(|(name, text)| (name.to_string(), text.to_string()));
    let shown = parse(&files, None).expect_err("a message").render(false);
    assert!(shown.contains("lib.fp:2:3"), "{shown}");
}

/// Spaces are one where no mode tells them apart.
#[test]
fn spaces() {
    let plain = read(&format!("{SPEC}{}{CLIENT}", good_library())).expect("a good file");
    assert!(plain.pairs[0].one_space);
    let partial = SPEC.replace("x.store(v, rel)", "x.store(v, prel)");
    let project = read(&format!("{partial}{}{CLIENT}", good_library())).expect("a good file");
    assert!(!project.pairs[0].one_space);
    assert_eq!(project.spaces, ["client", "cell"]);
    assert_eq!(project.pairs[0].implementation.system.spaces, 2);
}

/// `sc` is safe where more behaviours make a verdict worse: in the library and in clients.
#[test]
fn sc_in_library_and_client() {
    let text = format!("{SPEC}{}{CLIENT}", good_library());
    let text = text
        .replace("x.store(v, rlx)", "x.store(v, sc)")
        .replace("c.store(r, rlx)", "c.store(r, sc)");
    assert!(read(&text).is_ok(), "{text}");
}
