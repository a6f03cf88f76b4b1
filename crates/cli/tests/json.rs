//! JSON output: the fields that others rely on.

mod run;

use run::{Desk, Run, run_at_root};
use serde_json::Value;
use std::process::Command;

/// The fields of every object, in order.
const FIELDS: [&str; 13] = [
    "file",
    "model",
    "property",
    "verdict",
    "required",
    "states",
    "transitions",
    "seconds",
    "peak_bytes",
    "witness",
    "unchecked",
    "warnings",
    "error",
];

/// The fields that only answers about store buffers or the weak memory have, and those with findings.
const FIELDS_OF_SOME: [&str; 6] = ["attacks", "attacks_examined", "method", "weak", "id", "known"];

fn objects(run: &Run) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("a line is an object");
    let objects: Vec<Value> = run.stdout.lines().map(parse).collect();
    for object in &objects {
        let map = object.as_object().expect("an object");
        let mut keys: Vec<&str> = map.keys().map(String::as_str).collect();
        keys.retain(|key| !FIELDS_OF_SOME.contains(key));
        let mut fields = FIELDS.to_vec();
        keys.sort_unstable();
        fields.sort_unstable();
        assert_eq!(keys, fields);
        for number in ["states", "transitions", "peak_bytes"] {
            assert!(map[number].is_u64(), "{number} in {object}");
        }
        assert!(map["seconds"].is_f64());
    }
    objects
}

#[test]
fn violated() {
    let run = run_at_root("check --json corpus/litmus/sb-rlx.fp");
    assert_eq!(run.code, Some(1));
    let objects = objects(&run);
    let [robustness, assertions] = objects.as_slice() else { panic!("{objects:?}") };
    assert_eq!(robustness["file"], "corpus/litmus/sb-rlx.fp");
    assert_eq!(robustness["model"], "rc11");
    assert_eq!(robustness["property"], "robustness");
    assert_eq!(robustness["verdict"], "violated");
    assert_eq!(robustness["error"], Value::Null);
    assert!(robustness["states"].as_u64() > Some(0));
    assert_eq!(assertions["property"], "assertions");
    assert_eq!(assertions["verdict"], "holds");
    assert_eq!(assertions["weak"], serde_json::json!({ "stale": null }));
    assert_eq!(assertions["error"], Value::Null);
    assert_eq!(assertions["witness"], Value::Null);
}

/// With `--require safe` the exit code depends on what the weak memory does, not on robustness.
#[test]
fn not_robust_but_safe() {
    let run = run_at_root("check --json --require safe corpus/algorithms/spsc-ring.fp");
    assert_eq!(run.code, Some(0));
    let found = objects(&run);
    let [robustness, races, assertions] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (&robustness["verdict"], &robustness["required"]),
        (&"violated".into(), &false.into())
    );
    assert_eq!((&races["verdict"], &races["required"]), (&"holds".into(), &true.into()));
    assert_eq!(assertions["verdict"], "holds");
    let robust = run_at_root("check --json corpus/algorithms/spsc-ring.fp");
    assert_eq!(robust.code, Some(1));
    let broken = run_at_root("check --json --require safe corpus/weak/store-buffering-harmful.fp");
    assert_eq!(broken.code, Some(1));
    let found = objects(&broken);
    let steps = found[1]["witness"]["run"].as_array().expect("a run");
    assert!(steps.iter().any(|step| step["newer"].as_u64() > Some(0)), "a step is stale");
    assert!(!found[1]["witness"]["certificate"]["cycle"].as_array().expect("a cycle").is_empty());
    let bounded = run_at_root("check --json --stale 1 corpus/algorithms/seqlock-one-writer.fp");
    let stale = &objects(&bounded)[1]["weak"]["stale"];
    assert_eq!(*stale, 1);
}

/// The witness as a whole, so that no field changes unnoticed.
#[test]
fn witness() {
    let run = run_at_root("check --json corpus/litmus/sb-rlx.fp");
    let witness = serde_json::to_string_pretty(&objects(&run)[0]["witness"]).expect("JSON");
    golden!(witness);
}

#[test]
fn witness_is_consistent() {
    for file in ["litmus/iriw-ra", "litmus/2+2w-rlx", "litmus/mp-na-race", "tables/rc20/peterson"] {
        let run = run_at_root(&format!("check --json corpus/{file}.fp"));
        let objects = objects(&run);
        let violated = objects.iter().find(|o| o["verdict"] == "violated").expect("a violation");
        let certificate = &violated["witness"]["certificate"];
        let events = certificate["events"].as_array().expect("events");
        for (index, event) in events.iter().enumerate() {
            assert_eq!(event["id"], index);
            assert_eq!(event["line"].is_null(), event["kind"] == "initial");
        }
        let is_event =
            |value: &Value| value.as_u64().is_some_and(|id| (id as usize) < events.len());
        assert!(is_event(&certificate["access"]) && is_event(&certificate["other"]));
        let cycle = certificate["cycle"].as_array().expect("a cycle");
        assert_eq!(cycle.is_empty(), violated["property"] == "races");
        for hop in cycle {
            assert!(is_event(&hop["event"]));
            assert!(["po", "rf", "mo", "fr"].contains(&hop["edge"].as_str().expect("an edge")));
        }
        for pair in certificate["rf"].as_array().expect("rf") {
            let (write, read) = (&pair[0], &pair[1]);
            let event = |id: &Value| &events[id.as_u64().expect("an event") as usize];
            assert_eq!(event(write)["location"], event(read)["location"]);
            assert_eq!(event(write)["written"], event(read)["read"]);
        }
    }
}

#[test]
fn holds() {
    let run = run_at_root("check --json --model ra --observational corpus/litmus/mp-na.fp");
    assert_eq!(run.code, Some(0));
    let objects = objects(&run);
    let properties: Vec<&str> = objects.iter().filter_map(|o| o["property"].as_str()).collect();
    assert_eq!(properties, ["observational-robustness", "races", "assertions"]);
    assert!(objects.iter().all(|o| o["verdict"] == "holds" && o["witness"].is_null()));
}

/// A failed assertion's run ends where the assertion is; its locals explain it.
#[test]
fn assertion() {
    let run = run_at_root("check --json --model sc corpus/litmus/replicas-lost-update.fp");
    let objects = objects(&run);
    let witness = &objects[0]["witness"];
    assert_eq!(witness["problem"], "assertion");
    assert_eq!(witness["certificate"], Value::Null);
    assert_eq!(witness["locals"][0]["local"], "c");
    assert_eq!(witness["locals"][0]["value"], 1);
}

#[test]
fn run_time_errors() {
    let desk =
        Desk::with("max_value 3; global x;\nthread t { local r, s; r = x.load(); s = 2 / r; }\n");
    let run = desk.run("check --json t.fp");
    assert_eq!(run.code, Some(2));
    let objects = objects(&run);
    assert_eq!(objects[0]["verdict"], "error");
    assert_eq!(objects[0]["property"], Value::Null);
    assert_eq!(objects[0]["error"], "t.fp:2:38: division by zero, in `t`");
    assert_eq!(objects[0]["witness"]["problem"], "fault");
}

#[test]
fn limits() {
    let run = run_at_root("check --json --limit-states 10 corpus/litmus/iriw-fences.fp");
    assert_eq!(run.code, Some(3));
    assert_eq!(objects(&run)[0]["property"], "robustness");
    assert_eq!(objects(&run)[0]["verdict"], "undecided");
}

/// With `--all` every pair of lines gets an object, in threads that do the same, too.
#[test]
fn all() {
    for file in ["lock-forgotten", "sb-rlx"] {
        let run = run_at_root(&format!("check --json --all corpus/litmus/{file}.fp"));
        let violated = objects(&run).iter().filter(|o| o["verdict"] == "violated").count();
        assert_eq!(violated, 2, "{file}");
    }
}

/// A certain violation outranks what is undecided; bad input outranks both.
#[test]
fn exit_codes_of_many_files() {
    let code = |arguments: &str| run_at_root(&format!("check --json {arguments}")).code;
    let (holds, violated) = ("corpus/litmus/iriw-fences.fp", "corpus/litmus/sb-rlx.fp");
    assert_eq!(code(holds), Some(0));
    assert_eq!(code(&format!("{holds} {violated}")), Some(1));
    assert_eq!(code(&format!("--limit-states 25 {holds}")), Some(3));
    assert_eq!(code(&format!("--limit-states 25 {violated} {holds}")), Some(1));
    assert_eq!(code(&format!("{holds} nowhere.fp {violated}")), Some(2));
}

/// What the system does not provide is no reason to crash: too little memory is a limit like any other, and too
/// few threads do the work of all. No thread has a stack of 64 terabytes.
#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_and_too_few_threads() {
    let desk = Desk::with(
        "max_value 63; atomic x, y;
         thread a { local r; while (1) { r = x.load(); y.store(r + 1); } }
         thread b { local r, s; while (1) { r = y.load(); s = x.load(); x.store(r * 3 + s); } }
         thread c { local r, s; while (1) { r = x.load(); s = y.load(); y.store(r * 5 + s); } }",
    );
    let no_threads = "export RUST_MIN_STACK=70368744177664";
    for (poverty, options, limit) in [
        ("ulimit -v 60000", "--jobs 1", "memory"),
        ("ulimit -v 60000", "--jobs 2", "memory"),
        (no_threads, "--jobs 4 --limit-states 100k", "states"),
    ] {
        let script = format!("{poverty}; exec \"$0\" check --json --model sc {options} t.fp");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_fencepost")])
            .current_dir(desk.path())
            .output()
            .expect("the shell runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{poverty}, {options}: {said}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!(answer["verdict"], "undecided", "{poverty}, {options}");
        assert_eq!(answer["error"], format!("the limit on {limit} was reached"));
    }
}

/// The validator for a schema in `docs/`.
fn published(name: &str) -> jsonschema::Validator {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join(format!("docs/{name}.schema.json"));
    let schema = std::fs::read_to_string(file).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    jsonschema::draft202012::new(&schema).expect("a schema")
}

/// What is wrong with an object, by a schema.
fn complaints(validator: &jsonschema::Validator, object: &Value) -> Vec<String> {
    let errors = validator.iter_errors(object);
    errors.map(|error| format!("{}: {error}", error.instance_path)).collect()
}

/// What is published about the output is true of it: every model, every kind of answer.
#[test]
fn schema() {
    let validator = published("finding");
    let mut seen = std::collections::BTreeSet::new();
    let mut examine = |run: &run::Run| {
        for object in objects(run) {
            let errors = complaints(&validator, &object);
            assert!(errors.is_empty(), "{errors:#?}\n{object:#}");
            seen.insert(object["witness"]["problem"].as_str().unwrap_or("none").to_string());
        }
    };
    for options in ["", "--all", "--model ra", "--model sc", "--observational"] {
        examine(&run_at_root(&format!("check --json {options} corpus/litmus")));
    }
    for options in ["tso", "pso", "pgas", "tso --trf"] {
        examine(&run_at_root(&format!("check --json --model {options} corpus/litmus")));
    }
    let stuck = Desk::with("global x; thread t { wait(x, 1); }");
    examine(&stuck.run("check --json --all t.fp"));
    examine(&run_at_root("check --json nowhere.fp"));
    examine(&run_at_root("check --json --limit-states 10 corpus/litmus/iriw-fences.fp"));
    let fault = "max_value 3; global x; thread t { local r, s; r = x.load(); s = 2 / r; }";
    examine(&Desk::with(fault).run("check --json t.fp"));
    examine(&Desk::with(fault).run("check --json --model tso t.fp"));
    for problem in [
        "none",
        "stale-read",
        "stale-write",
        "stale-update",
        "dependency",
        "race",
        "assertion",
        "fault",
        "delayed-store",
        "triangular-race",
    ] {
        assert!(seen.contains(problem), "no example of {problem}");
    }
    let wrong: Value = serde_json::from_str(r#"{"file": "t.fp"}"#).expect("JSON");
    assert!(!validator.is_valid(&wrong), "a schema that refuses nothing");
}

/// The same schema holds for libraries; what they add is there.
#[test]
fn libraries() {
    let validator = published("finding");
    let mut verdicts = Vec::new();
    for arguments in [
        "example-2-1.fp",
        "--history-only example-2-1.fp",
        "queue-not-awaited.fp",
        "local-drf-free.fp",
        "two-libraries.fp",
        "--limit-memory 1K rcu2-spec.fp rcu2.fp rcu2-client.fp",
        "rcu1-spec.fp rcu1-no-fence.fp rcu1-client.fp",
        "--client rcu1-bad-user.fp rcu1-spec.fp rcu1.fp rcu1-client.fp",
        "--client rcu1-user.fp rcu1-flags-spec.fp rcu1.fp rcu1-client.fp",
        "rcu1.fp",
    ] {
        let words: Vec<String> = arguments
            .split(' ')
            .map(|word| match word.ends_with(".fp") {
                true => format!("corpus/refine/{word}"),
                false => word.to_string(),
            })
            .collect();
        let run = run_at_root(&format!("refine --json {}", words.join(" ")));
        for line in run.stdout.lines() {
            let object: Value = serde_json::from_str(line).expect("a line is an object");
            let errors: Vec<String> = validator
                .iter_errors(&object)
                .map(|error| format!("{}: {error}", error.instance_path))
                .collect();
            assert!(errors.is_empty(), "{arguments}: {errors:#?}\n{object:#}");
            let problem = object["witness"]["problem"].as_str().unwrap_or("none");
            verdicts.push(format!("{} {problem}", object["verdict"].as_str().expect("a verdict")));
        }
    }
    let expected = [
        "violated not-refined",
        "holds none",
        "violated not-refined",
        "violated race",
        "holds none",
        "holds none",
        "undecided none",
        "violated not-refined",
        "violated off-policy",
        "violated assertion",
        "error none",
    ];
    assert_eq!(verdicts, expected);
}

/// Threads that get stuck and values that wrap around are warnings of the file.
#[test]
fn warnings() {
    let desk = Desk::with("global x; thread t { wait(x, 1); }");
    for (options, told) in [("", false), ("--all", true)] {
        let run = desk.run(&format!("check --json {options} t.fp"));
        let warning = &objects(&run)[0]["warnings"][0];
        assert_eq!(warning["code"], "FP0006");
        assert_eq!(warning["line"], 1);
        assert_eq!(warning["witness"].is_object(), told);
    }
    let desk = Desk::with("max_value 1; global x; thread t { FADD(x, 1); FADD(x, 1); }");
    let run = desk.run("check --json t.fp");
    assert_eq!(objects(&run)[0]["warnings"][0]["code"], "FP0007");
}

/// Runs end at a run-time error, so nothing that would come after it is known to hold.
#[test]
fn nothing_holds_past_a_run_time_error() {
    let desk =
        Desk::with("max_value 3; global x; thread t { local r, s; r = x.load(); s = 2 / r; }");
    let run = desk.run("check --json t.fp");
    let objects = objects(&run);
    assert!(objects.len() > 1);
    assert!(objects[1..].iter().all(|object| object["verdict"] == "undecided"));
}

/// The state after each step follows from the start and the steps; the steps are the certificate's
/// events in order; and the access that goes wrong could read what it does read.
#[test]
fn runs_and_certificates_agree() {
    let run = run_at_root("check --json corpus/litmus");
    let mut compared = 0;
    for object in objects(&run).iter().filter(|object| object["verdict"] == "violated") {
        let witness = &object["witness"];
        let steps = witness["run"].as_array().expect("a run");
        let mut memory: std::collections::HashMap<&str, &Value> = witness["start"]["memory"]
            .as_array()
            .expect("locations")
            .iter()
            .map(|held| (held["location"].as_str().expect("a name"), &held["value"]))
            .collect();
        let events = &witness["certificate"]["events"];
        let mut stale = &Value::Null;
        for step in steps {
            if let Some(location) = step["location"].as_str() {
                if !step["read"].is_null() && object["weak"].is_null() {
                    assert_eq!(memory[location], &step["read"], "SC reads what was written last");
                }
                if !step["written"].is_null() {
                    memory.insert(location, &step["written"]);
                }
            }
            for id in step["events"].as_array().expect("events") {
                let event = &events[id.as_u64().expect("an event") as usize];
                assert_eq!(event["line"], step["line"]);
                assert_eq!(event["thread"], step["thread"]);
            }
            if !step["stale"].is_null() {
                stale = &step["stale"];
            }
        }
        if witness["problem"] != "stale-read" {
            continue;
        }
        let access = &events[witness["certificate"]["access"].as_u64().expect("an event") as usize];
        let views = stale.as_array().expect("what could be read stale");
        let view = views.iter().find(|view| {
            view["thread"] == access["thread"] && view["location"] == access["location"]
        });
        let view = view.expect("the monitor's view of the access");
        assert_eq!(view["forbidden"], true);
        let values = view["values"].as_array().expect("values");
        assert!(values.iter().any(|value| value["value"] == access["read"]));
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

/// Recordings and programs with transactions have a schema of their own.
#[test]
fn transactions() {
    let validator = published("serial");
    let mut seen = std::collections::BTreeSet::new();
    let mut examine = |run: &Run| {
        assert!(!run.stdout.is_empty(), "{}", run.stderr);
        for line in run.stdout.lines() {
            let object: Value = serde_json::from_str(line).expect("a line is an object");
            let errors = complaints(&validator, &object);
            assert!(errors.is_empty(), "{errors:#?}\n{object:#}");
            let kind = object["monitor"].as_str().or(object["verdict"].as_str());
            seen.insert(kind.expect("a kind of answer").to_string());
        }
    };
    let lost = "T1 begin\nT1 rd x @a.c:1\nT2 begin\nT2 rd x\nT1 wr x\n";
    for end in [
        "T1 commit x\nT1 end\nT2 wr x\nT2 commit x\nT2 end\n",
        "T1 end\nT2 wr x\nT2 end\n",
        "T1 fence\nT1 end\nT2 wr x\nT2 fence\nT2 end\n",
    ] {
        examine(&Desk::with(&format!("{lost}{end}")).run("serial --json t.fp"));
    }
    examine(&Desk::with("T1 begin a\nT1 rd x\nT1 end\n").run("serial --json t.fp"));
    for program in ["task-pool-undo-apart", "task-pool-undo-apart-fenced"] {
        examine(&run_at_root(&format!("serial --json --from corpus/serial/{program}.fp")));
    }
    examine(&run_at_root("serial --json --from nowhere.fp"));
    examine(&run_at_root(
        "serial --json --limit-states 5 --from corpus/serial/task-pool-undo-apart.fp",
    ));
    for kind in [
        "execution monitor",
        "trace monitor",
        "transaction-fenced trace monitor",
        "holds",
        "violated",
        "undecided",
        "error",
    ] {
        assert!(seen.contains(kind), "no example of {kind}");
    }
    assert!(!validator.is_valid(&serde_json::json!({})), "a schema that refuses nothing");
}
