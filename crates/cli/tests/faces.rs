//! Reports in files: what other programs read, and what becomes of files that cannot be written.

mod run;

use run::{Desk, Run, run_at_root};
use serde_json::Value;
use std::path::Path;

/// Runs with `{}` in the arguments standing for a file, and returns the file.
fn written(name: &str, arguments: &str) -> (Run, String) {
    let desk = Desk::new();
    let path = desk.path().join(name);
    let run = run_at_root(&arguments.replace("{}", &path.display().to_string()));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    (run, text)
}

fn validator() -> jsonschema::Validator {
    let text = include_str!("schemas/sarif-2.1.0.json");
    let schema: Value = serde_json::from_str(text).expect("JSON");
    jsonschema::draft7::new(&schema).expect("the published schema")
}

/// Catches documents that code-scanning services refuse.
#[test]
fn sarif_is_valid() {
    let validator = validator();
    let mut flows = 0;
    let mut fixes = 0;
    for options in
        ["", "--all", "--observational", "--model sc", "--model tso", "--model tso --trf"]
    {
        let (_, text) =
            written("out.sarif", &format!("check {options} --sarif {{}} corpus/litmus"));
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(errors.is_empty(), "{options}: {errors:#?}");
        let results = document["runs"][0]["results"].as_array().expect("results");
        assert!(!results.is_empty());
        for result in results {
            let rules = document["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
            let rule = &rules[result["ruleIndex"].as_u64().expect("a rule") as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            flows += usize::from(result["codeFlows"].is_array());
            fixes += usize::from(result["fixes"].is_array());
        }
    }
    assert!(flows > 100 && fixes > 100, "{flows} flows, {fixes} fixes");
    let wrong: Value = serde_json::json!({ "version": "2.1.0", "runs": [{ "results": 1 }] });
    assert!(!validator.is_valid(&wrong), "a schema that refuses nothing");
}

/// The fixes do what they say: applied, they rule the violation out.
#[test]
fn sarif_fixes_apply() {
    for (options, file) in [("", "sb-rlx"), ("", "2+2w-rlx"), ("--model tso", "sb-rlx")] {
        let name = format!("corpus/litmus/{file}.fp");
        let (_, text) = written("out.sarif", &format!("check {options} --sarif {{}} {name}"));
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let source = std::fs::read_to_string(root.join(&name)).expect("the program");
        let mut lines: Vec<String> = source.lines().map(str::to_string).collect();
        let fixes = document["runs"][0]["results"][0]["fixes"].as_array().expect("fixes");
        let replacements = &fixes[0]["artifactChanges"][0]["replacements"];
        for replacement in replacements.as_array().expect("replacements") {
            let region = &replacement["deletedRegion"];
            let number = |field: &str| region[field].as_u64().expect("a number") as usize - 1;
            assert_eq!(number("startLine"), number("endLine"), "within a line");
            let inserted = replacement["insertedContent"]["text"].as_str().expect("text");
            let columns = number("startColumn")..number("endColumn");
            lines[number("startLine")].replace_range(columns, inserted);
        }
        let desk = Desk::with(&lines.join("\n"));
        let again = desk.run(&format!("check {options} --json t.fp"));
        let object: Value = serde_json::from_str(again.stdout.lines().next().unwrap()).unwrap();
        assert_eq!(object["verdict"], "holds", "{file} {options}");
    }
}

#[test]
fn sarif() {
    let (_, text) = written("out.sarif", "check --sarif {} corpus/litmus/mp-rlx.fp");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    for rule in document["runs"][0]["tool"]["driver"]["rules"].as_array_mut().expect("rules") {
        rule["help"] = Value::Null;
    }
    insta::assert_snapshot!(format!("{document:#}"));
}

#[test]
fn junit() {
    let files = "corpus/litmus/mp-rlx.fp corpus/litmus/mp-ra.fp nowhere.fp";
    let (_, text) = written("out.xml", &format!("check --junit {{}} {files}"));
    let document = roxmltree::Document::parse(&text).expect("well-formed XML");
    let suites = document.root_element();
    assert_eq!(suites.attribute("failures"), Some("2"));
    assert_eq!(suites.attribute("errors"), Some("1"));
    insta::with_settings!({ filters => vec![(r#"time="[^"]*""#, "time=\"[time]\"")] }, {
        insta::assert_snapshot!(text);
    });
}

#[test]
fn dot() {
    let (_, text) = written("out.dot", "check --dot {} corpus/litmus/mp-rlx.fp");
    insta::assert_snapshot!(text);
}

/// The drawing is well-formed and has an arrow for each edge of the cycle.
#[test]
fn svg() {
    for options in ["", "--all", "--model sc", "--model tso", "--observational"] {
        let (_, text) = written("out.svg", &format!("check {options} --svg {{}} corpus/litmus"));
        let document = roxmltree::Document::parse(&text).expect("well-formed XML");
        let of_class = |class: &str| {
            let class = class.to_string();
            document.descendants().filter(move |node| {
                let classes = node.attribute("class").unwrap_or_default();
                classes.split(' ').any(|c| c == class)
            })
        };
        // Interleavings alone go wrong in few programs, and never in a cycle.
        let few = options == "--model sc";
        assert!(of_class("node").count() > if few { 2 } else { 20 }, "{options}");
        assert!(few || of_class("cycle").count() > 20, "{options}");
        for node in document.descendants().filter(|node| node.has_attribute("d")) {
            let path = node.attribute("d").unwrap_or_default();
            assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
        }
    }
}

/// What a program's text holds is shown everywhere and interpreted nowhere.
#[test]
fn hostile_text() {
    let program = "atomic x, y; // <script>alert(1)</script> \u{1b}[31m \u{202e}\n\
                   thread left { local a;\n  x.store(1, rlx); /* </script><img src=x onerror=alert(2)> */\n\
                   \x20 a = y.load(rlx); // <script>alert(3)</script> & ' \"\n}\n\
                   thread right { local b; y.store(1, rlx); b = x.load(rlx); }\n";
    let desk = Desk::new().and("<b>\u{1b}[1m&\".fp", program);
    let run =
        desk.run("check --html o.html --svg o.svg --dot o.dot --sarif o.sarif --junit o.xml .");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for name in ["o.html", "o.svg", "o.dot", "o.sarif", "o.xml"] {
        let text = std::fs::read_to_string(desk.path().join(name)).expect("a report");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}");
        assert!(!text.contains("<script>alert") && !text.contains("<img"), "{name}");
        assert!(!text.contains("<b>\\u"), "{name}");
    }
    let page = std::fs::read_to_string(desk.path().join("o.html")).expect("a page");
    assert!(page.contains("&lt;script&gt;alert(3)&lt;/script&gt;"), "shown");
    // One script, and data that is none.
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    for address in ["http:", "https:", "src=", "@import", "url(h"] {
        let found = page.matches(address).count();
        let shown = if address == "src=" { 1 } else { 0 };
        assert_eq!(found, shown, "{address}");
    }
}

/// The verdict is printed all the same.
#[test]
fn files_that_cannot_be_written() {
    let desk = Desk::with("atomic x; thread t { x.store(1, rlx); }");
    for option in ["--html", "--svg", "--dot", "--sarif", "--junit"] {
        for path in ["nowhere/out", ".", "t.fp", "./t.fp"] {
            let run = desk.run(&format!("check {option} {path} t.fp"));
            assert_eq!(run.code, Some(2), "{option} {path}");
            assert!(run.stdout.contains("robustness  holds"), "{option} {path}");
            assert!(run.stderr.starts_with(&format!("error: {option}: ")), "{}", run.stderr);
        }
        let again = std::fs::read_to_string(desk.path().join("t.fp")).expect("still there");
        assert!(again.starts_with("atomic x;"), "{option} overwrote its input");
    }
    let run = desk.run("check --html out --svg out t.fp");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("another option"), "{}", run.stderr);
}

/// A link to an input is the input.
#[cfg(unix)]
#[test]
fn links_to_inputs() {
    let desk = Desk::with("atomic x; thread t { x.store(1, rlx); }");
    std::os::unix::fs::symlink("t.fp", desk.path().join("soft")).expect("a link");
    std::fs::hard_link(desk.path().join("t.fp"), desk.path().join("hard")).expect("a link");
    for path in ["soft", "hard"] {
        let run = desk.run(&format!("check --html {path} t.fp"));
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("is one of the inputs"), "{}", run.stderr);
    }
}

/// A full disk is noticed, said, and costs no verdict.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let desk = Desk::with("atomic x; thread t { x.store(1, rlx); }");
    for model in ["rc11", "tso"] {
        let run = desk.run(&format!("check --model {model} --html /dev/full --junit out.xml t.fp"));
        assert_eq!(run.code, Some(2));
        assert!(run.stdout.contains("robustness  holds"), "{}", run.stdout);
        assert!(run.stderr.contains("cannot write `/dev/full`: no space left"), "{}", run.stderr);
        assert!(desk.path().join("out.xml").exists(), "the other report is written");
    }
}

/// Nothing but the reports asked for is left behind.
#[test]
fn no_other_files() {
    let desk = Desk::with("atomic x; thread t { x.store(1, rlx); }");
    desk.run("check --html a.html --svg nowhere/b.svg --sarif c.sarif t.fp");
    let entries = std::fs::read_dir(desk.path()).expect("the directory");
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["a.html", "c.sarif", "t.fp"]);
}

/// A page about hundreds of programs stays one that a browser opens at once.
#[test]
fn pages_stay_small() {
    let (_, page) = written("out.html", "check --all --html {} corpus/litmus");
    let findings = page.matches("<article").count();
    assert!(findings > 40);
    assert!(page.len() / findings < 25_000, "{} bytes for {findings} findings", page.len());
}

const EXAMPLE: &str = "corpus/refine/example-2-1-stale.fp";
const RCU: &str =
    "corpus/refine/rcu1-spec.fp corpus/refine/rcu1-no-fence.fp corpus/refine/rcu1-client.fp";

/// Histories of libraries are valid SARIF, too, and lines are those of the file that they are in.
#[test]
fn sarif_of_libraries() {
    let validator = validator();
    for files in [EXAMPLE, RCU, "corpus/refine/queue-not-awaited.fp", "corpus/refine/rcu1.fp"] {
        let (_, text) = written("out.sarif", &format!("refine --sarif {{}} {files}"));
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{files}: {errors:#?}");
    }
    let (_, text) = written("out.sarif", &format!("refine --sarif {{}} {RCU}"));
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let physical = &document["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "corpus/refine/rcu1-no-fence.fp");
    let line = physical["region"]["startLine"].as_u64().expect("a line") as usize;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join("corpus/refine/rcu1-no-fence.fp")).unwrap();
    assert_eq!(source.lines().nth(line - 1).map(str::trim), Some("return();"));
    document["runs"][0]["tool"]["driver"]["rules"][0]["help"] = Value::Null;
    insta::assert_snapshot!(format!("{document:#}"));
}

#[test]
fn junit_of_libraries() {
    let (_, text) = written("out.xml", &format!("refine --junit {{}} {EXAMPLE}"));
    roxmltree::Document::parse(&text).expect("well-formed XML");
    insta::with_settings!({ filters => vec![(r#"time="[^"]*""#, "time=\"[time]\"")] }, {
        insta::assert_snapshot!(text);
    });
}

#[test]
fn dot_of_libraries() {
    let (_, text) = written("out.dot", &format!("refine --dot {{}} {EXAMPLE}"));
    insta::assert_snapshot!(text);
}

/// Time goes down, and markers propagate forwards in it.
#[test]
fn drawing_of_libraries() {
    let (_, text) = written("out.svg", &format!("refine --svg {{}} {EXAMPLE}"));
    let document = roxmltree::Document::parse(&text).expect("well-formed XML");
    let of_class = |class: &'static str| {
        document.descendants().filter(move |node| {
            node.attribute("class").unwrap_or_default().split(' ').any(|c| c == class)
        })
    };
    let y = |node: roxmltree::Node| -> f64 {
        let rect = node.children().find(|child| child.has_tag_name("rect")).expect("a box");
        rect.attribute("y").and_then(|y| y.parse().ok()).expect("a place")
    };
    let heights: Vec<f64> = of_class("node").map(y).collect();
    assert!(heights.len() > 6 && heights.is_sorted(), "{heights:?}");
    assert_eq!(of_class("k-arrival").count(), 2);
    let arrows: Vec<_> =
        of_class("edge").filter(|e| e.attribute("data-kind") == Some("propagation")).collect();
    assert_eq!(arrows.len(), 2);
    for arrow in arrows {
        let end =
            |name| arrow.attribute(name).and_then(|n| n.parse::<usize>().ok()).expect("a node");
        assert!(end("data-from") < end("data-to"));
    }
    assert_eq!(of_class("wrong").count(), 1);
}
