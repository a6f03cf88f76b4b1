//! Options that mean nothing in the case at hand are refused, and those that are accepted make a
//! difference. That each option is listed with the cases it is about is tested beside the list
//! (`src/meaning.rs`).

mod run;

use run::Desk;

const MP: &str = "max_value 3; atomic x, y; na n;\n\
    thread t { x.store(1, rlx); y.store(1, rlx); n.nastore(1); }\n\
    thread u { local r, s; r = y.load(rlx); s = CAS(x, 1, 2, rlx, rlx); assert(r == s); assert(s == 1); }\n";

#[test]
fn refusals() {
    let desk = Desk::with(MP);
    let runs = [
        "check --model tso --observational t.fp",
        "check --model sc --observational t.fp",
        "check --model pso --all t.fp",
        "check --model tso --no-races t.fp",
        "check --model sc --track all t.fp",
        "check --model tso --track critical t.fp",
        "check --method locality t.fp",
        "check --model sc --trf t.fp",
        "check --model pgas --trf t.fp",
        "check --model tso --trf --method locality t.fp",
        "check --model sc --reduce por,subsume t.fp",
        "outcomes --limit-buffer 2 t.fp",
        "outcomes --model tso --unroll 3 t.fp",
        "outcomes --model sc --limit-graphs 3 t.fp",
        "fix --trf --model pso t.fp",
        "fix --trf --model tso,pso t.fp",
        "fix --trf --cost x86 t.fp",
        "fix --trf --keep 2 t.fp",
        "fix --trf --html page.html t.fp",
        "fix --diff --json t.fp",
        "check --entry f t.fp",
        "check t.fp -- -DN=2",
        "outcomes --stub f=ignore t.fp",
        "serial --limit-buffer 3 t.fp",
        "serial --from t.fp --threads 3",
        "serial --random --json",
    ];
    let shown = runs.map(|arguments| {
        let run = desk.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.all());
        assert_eq!(run.stdout, "", "{arguments}");
        format!("$ fencepost {arguments}\n{}", run.stderr)
    });
    golden!(shown.join("\n"));
}

/// With values that no CAS is about, some of which more than one thread does not know to be stale.
const VALUES: &str = "max_value 3; atomic x, y;\n\
    thread t { local s; s = CAS(x, 3, 2, acq, rel); s = x.load(acq); y.store(1, rel); s = CAS(x, 3, 1, acq, rel); }\n\
    thread u { local s; x.store(2, rel); y.store(1, rel); y.store(1, rel); s = x.load(acq); x.store(2, rel); }\n\
    thread v { local s; s = CAS(x, 0, 3, acq, rel); s = y.load(acq); y.store(1, rel); }\n";

/// What a run says about a program, without times.
fn said(program: &str, arguments: &str) -> String {
    let run = Desk::with(program).run(arguments);
    let object = |line: &str| {
        let mut object: serde_json::Value = serde_json::from_str(line).expect("an object");
        object["seconds"] = 0.into();
        object["peak_bytes"] = 0.into();
        object.to_string()
    };
    let lines: Vec<String> = run.stdout.lines().map(object).collect();
    format!("{:?} {}", run.code, lines.join("\n"))
}

/// Options that are about some models make a difference in each of them.
#[test]
fn effects() {
    let cases: [(&str, &[&str]); 8] = [
        ("--observational", &["rc11", "rc20", "ra"]),
        ("--no-races", &["rc11", "rc20", "ra"]),
        ("--all", &["rc11", "rc20", "ra", "sc"]),
        ("--track all", &["rc11", "rc20", "ra"]),
        ("--reduce none", &["rc11", "rc20", "ra", "sc", "tso", "pso", "pgas"]),
        ("--method singularity", &["tso"]),
        ("--method locality", &["pso", "pgas"]),
        ("--trf", &["tso"]),
    ];
    for (option, models) in cases {
        for model in models {
            let program = if option == "--track all" { VALUES } else { MP };
            let without = said(program, &format!("check --json --model {model} t.fp"));
            let with = said(program, &format!("check --json --model {model} {option} t.fp"));
            assert_ne!(with, without, "{option} makes no difference with {model}");
        }
    }
}
