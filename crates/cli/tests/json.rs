//! JSON output: the fields that others rely on.

mod run;

use run::{Desk, Run, run_at_root};
use serde_json::Value;

/// The fields of every object, in order.
const FIELDS: [&str; 10] = [
    "file",
    "model",
    "property",
    "verdict",
    "states",
    "transitions",
    "seconds",
    "peak_bytes",
    "witness",
    "error",
];

fn objects(run: &Run) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("a line is an object");
    let objects: Vec<Value> = run.stdout.lines().map(parse).collect();
    for object in &objects {
        let map = object.as_object().expect("an object");
        let mut keys: Vec<&str> = map.keys().map(String::as_str).collect();
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
    assert_eq!(robustness["model"], "rc20");
    assert_eq!(robustness["property"], "robustness");
    assert_eq!(robustness["verdict"], "violated");
    assert_eq!(robustness["error"], Value::Null);
    assert!(robustness["states"].as_u64() > Some(0));
    assert_eq!(assertions["property"], "assertions");
    assert_eq!(assertions["verdict"], "undecided");
    assert!(assertions["error"].as_str().is_some_and(|why| why.contains("not robust")));
    assert_eq!(assertions["witness"], Value::Null);
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
    assert!(objects(&run).iter().all(|o| o["verdict"] == "undecided"));
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
