//! Whatever is typed on the command line, `fencepost` answers or refuses: it neither panics nor hangs.
//!
//! Commands of the README and of the other tests lose, double and exchange their words, and get words
//! of other commands, numbers and files that do not exist. `FENCEPOST_MUTATED_INPUTS` sets how many are
//! tried; each is a function of its number.

mod run;

use ir::random::Generator;
use run::Desk;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PROGRAM: &str = "max_value 3; atomic x, y; thread t { local r; x.store(1, rlx); r = y.load(rlx); } \
    thread u { local r; y.store(1, rlx); r = x.load(rlx); assert(r == 0); }\n";
const RECORDING: &str = "T1 begin\nT1 rd x\nT2 wr x\nT1 wr x\nT1 end\n";
const LIBRARY: &str = "spec { atomic l; method lock() { BCAS(l, 0, 1, acq, rel); } }\n";

const COMMANDS: &[&str] = &[
    "check t.fp",
    "check --model tso t.fp",
    "check --model ra --observational --all --json t.fp",
    "check --model pso --method locality --order depth t.fp",
    "check --reduce none --track all --limit-states 10 --jobs 2 t.fp",
    "check --html o.html --sarif o.sarif --junit o.xml --dot o.dot t.fp",
    "check --strict-values --no-races --double-check t.fp",
    "check --suppressions s.txt -q t.fp",
    "outcomes t.fp",
    "outcomes --model tso --limit-buffer 2 t.fp",
    "outcomes --model rc11 --unroll 2 --limit-graphs 100 t.fp",
    "fix t.fp",
    "fix --model tso,pso --diff t.fp",
    "fix --trf --loop-weight 10 --json t.fp",
    "fix --weaken --cost arm --only orders --diff t.fp",
    "fix --require safe --keep t.fp:1 --observational t.fp",
    "orders t.fp",
    "orders --json --explain t.fp:1 t.fp",
    "check --liveness --require safe --stale 2 t.fp",
    "check -p . --entry f,g --stub h=ignored --unroll 2 t.fp",
    "serial r.txt",
    "serial --json --monitor trace r.txt",
    "serial --from t.fp --limit-buffer 2",
    "serial --random --threads 2 --events 5 --vars 2 --seed 3",
    "refine l.fp",
    "refine --pending 1 --literal --total --json l.fp",
    "refine --client c.fp l.fp",
    "export --to promela t.fp",
    "export --to c t.fp",
    "explain FP0001",
    "explain robustness",
    "completions bash",
    "man check",
    "replay r.txt",
    "help check",
    "--version",
];

const WORDS: &[&str] = &[
    "",
    "-",
    "--",
    "---",
    "-q",
    "--json",
    "--help",
    "--model",
    "rc11",
    "rc20",
    "sc",
    "tso",
    "pgas",
    "0",
    "-1",
    "99999999999999999999",
    "1s",
    "1ms",
    "1e9",
    "NaN",
    "10GB",
    "\u{1f980}",
    "\u{0}x",
    "no.fp",
    ".",
    "..",
    "t.fp",
    "r.txt",
    "l.fp",
    "--limit-time",
    "--limit-memory",
    "--limit-states",
    "--jobs",
    "--all",
    "--html",
    "--html=-",
    "--reduce=por,,",
    "--model=",
    "*",
    "[",
    "@t.fp",
    "all",
    "none",
    "--seed",
];

fn count() -> u64 {
    std::env::var("FENCEPOST_MUTATED_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

fn mutated(random: &mut Generator) -> Vec<String> {
    let pick = |random: &mut Generator| -> Vec<String> {
        let command = COMMANDS[random.below(COMMANDS.len())];
        command.split_whitespace().map(str::to_string).collect()
    };
    let mut words = pick(random);
    for _ in 0..1 + random.below(3) {
        let at = random.below(words.len() + 1);
        match random.below(6) {
            0 if at < words.len() => drop(words.remove(at)),
            1 if at < words.len() => words.insert(at, words[at].clone()),
            2 if at < words.len() => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
            3 => words.insert(at, WORDS[random.below(WORDS.len())].into()),
            4 => {
                let donor = pick(random);
                words.insert(at, donor[random.below(donor.len())].clone());
            }
            _ if at < words.len() => words[at] = WORDS[random.below(WORDS.len())].into(),
            _ => {}
        }
    }
    // An argument cannot hold a zero byte; and what is asked must end soon.
    words.retain(|word| !word.contains('\u{0}'));
    words
}

/// Runs the command line with this number; says whether it was refused. Panics if that takes long, or goes wrong.
fn is_refused(seed: u64, folder: &Path) -> bool {
    let mut random = Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
    let words = mutated(&mut random);
    let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(&words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut errors = child.stderr.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        errors.read_to_string(&mut said).expect("UTF-8");
        said
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().expect("the child is ours") {
            Some(status) => break status,
            None if begun.elapsed() > Duration::from_secs(20) => {
                let _ = child.kill();
                panic!("seed {seed}: {words:?} did not end");
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let said = reader.join().expect("what was said can be read");
    let code = status.code().unwrap_or_else(|| panic!("seed {seed}: {words:?}: {status}"));
    assert!((0..=3).contains(&code), "seed {seed}: {words:?}: exit {code}\n{said}");
    assert!(!said.contains("panicked"), "seed {seed}: {words:?}\n{said}");
    assert!(
        code != 2 || !said.trim().is_empty(),
        "seed {seed}: {words:?} is refused without a word"
    );
    code == 2
}

#[test]
fn mutated_arguments_are_survived() {
    // `..` leads out of the folder, and must not lead to whatever else the machine has.
    let desk = Desk::with(PROGRAM);
    let files = [("t.fp", PROGRAM), ("r.txt", RECORDING), ("l.fp", LIBRARY), ("s.txt", "")];
    let desk =
        files.iter().fold(desk, |desk, (name, text)| desk.and(&format!("here/{name}"), text));
    let folder = desk.path().join("here");
    let (next, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Relaxed)
                    && seed < count()
                {
                    refused.fetch_add(u64::from(is_refused(seed, &folder)), Relaxed);
                }
            });
        }
    });
    let refused = refused.into_inner();
    assert!(refused > 0 && refused < count(), "{refused} of {} were refused", count());
}
