//! Clients of libraries that refine their specifications up to early propagation only: whatever the client's registers hold at the
//! end with the library, they can hold with the specification (docs/proofs/early-propagation.md).
//!
//! Libraries, specifications and clients are random; all runs of the client with either are explored without any
//! reduction. More than in the ordinary run: `REFINE_CLIENTS=2000 cargo test --release -p fencepost-check --test
//! refinement_clients`.

extern crate fencepost_check as check;

use check::refinement::{Scope, refines};
use check::{Question, Verdict};
use ir::Value;
use ir::random::Generator;
use lang::library::{Linked, Project, parse};
use memory::rc11_views::Status;
use memory::rc11_views::{Machine, Options};
use search::Limits;
use std::collections::{BTreeSet, HashSet};

/// A method of a specification with a lock, and one of a library that makes do with a relaxed update.
const UPDATES: [[&str; 2]; 4] = [
    ["r = x.load(rlx); x.store(r + 1, rlx);", "r = FADD(x, 1, rlx, rlx);"],
    ["x.store(1, rlx);", "exchange(x, 1, rlx, rlx);"],
    ["r = x.load(rlx); x.store(2, rlx);", "r = exchange(x, 2, rlx, rlx);"],
    ["r = x.load(rlx); if (r == 0) { x.store(1, rlx); }", "r = CAS(x, 0, 1, rlx, rlx, rlx);"],
];

/// The methods of a specification and of a library: an update under the lock `l`, perhaps with something before or after
/// it, and a look, perhaps under a lock of its own.
fn random_methods(random: &mut Generator) -> [[String; 2]; 2] {
    let p = if random.one_in(5) { "" } else { "p" };
    let [locked, relaxed] = random.pick(&UPDATES);
    let before = random.pick(&["", "", "y.store(1, rlx);", "s = y.load(rlx);"]);
    let after = random.pick(&["", "", "y.store(1, rlx);", "fence(upd);"]);
    let look =
        random.pick(&["r = x.load(rlx);", "r = y.load(rlx);", "r = x.load(rlx); s = y.load(rlx);"]);
    let m = random.pick(&["m", "m", "l"]);
    let f = format!("{before} {p}acquire(l); {locked} {p}release(l); {after} return(r);");
    let g = format!("{p}acquire({m}); {look} {p}release({m}); return(r);");
    let update = format!("{before} {relaxed} {after} return(r);");
    let looks = if random.one_in(2) { g.clone() } else { format!("{look} return(r);") };
    [[f, g], [update, looks]]
}

const CALLS: [[&[&str]; 2]; 3] = [[&["f"], &["f"]], [&["f", "g"], &["f"]], [&["f"], &["g", "f"]]];

/// A client that makes these calls, with accesses of its own in between.
fn client(calls: &[&[&str]; 2], random: &mut Generator) -> String {
    let mut text = "client { atomic a, b; ".to_string();
    for (thread, calls) in calls.iter().enumerate() {
        let mut body = String::new();
        let mut locals = Vec::new();
        let own = |random: &mut Generator, body: &mut String, locals: &mut Vec<String>| {
            let cell = random.pick(&["a", "b"]);
            match random.below(3) {
                0 => *body += &format!("{cell}.store(1, {}); ", random.pick(&["rlx", "rel"])),
                1 => {
                    let local = format!("seen{}", locals.len());
                    *body += &format!("{local} = {cell}.load({}); ", random.pick(&["rlx", "acq"]));
                    locals.push(local);
                }
                _ => {}
            }
        };
        for call in *calls {
            own(random, &mut body, &mut locals);
            let local = format!("seen{}", locals.len());
            body += &format!("{local} = {call}(); ");
            locals.push(local);
        }
        own(random, &mut body, &mut locals);
        text += &format!("thread t{thread} {{ local {}; {body}}} ", locals.join(", "));
    }
    text + "}\n"
}

fn project(text: &str) -> Project {
    parse(&[("random.fp".to_string(), text.to_string())], None)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// What the client's registers can hold once all threads are done.
fn outcomes(linked: &Linked) -> BTreeSet<Vec<Value>> {
    let options = Options {
        pending: 50,
        keep_registers: true,
        reduce: false,
        tidy: false,
        ..Options::default()
    };
    let machine = Machine::new(linked.system.clone(), options).expect("a small program");
    let threads = &linked.system.program.threads;
    let (mut ends, mut seen) = (BTreeSet::new(), HashSet::new());
    let mut open = vec![machine.initial().state];
    while let Some(state) = open.pop() {
        let mut bytes = Vec::new();
        machine.pack(&state, &mut bytes);
        if !seen.insert(bytes) {
            continue;
        }
        if state.locals.iter().all(|local| local.status == Status::Halted) {
            let registers = state.locals.iter().zip(threads).flat_map(|(local, thread)| {
                let named = thread.registers.iter().zip(&local.registers);
                named.filter(|(name, _)| name.starts_with("seen")).map(|(_, value)| *value)
            });
            ends.insert(registers.collect());
        }
        machine.steps(&state, |step| open.push(step.state));
    }
    ends
}

#[test]
fn clients_cannot_tell() {
    let pairs = std::env::var("REFINE_CLIENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let (mut early, mut compared, mut told_apart) = (0, 0, 0);
    for seed in 0..pairs {
        let mut random = Generator { state: seed ^ 0xc11e };
        let calls = random.pick(&CALLS);
        let [spec, library] = random_methods(&mut random);
        let component = |kind: &str, [f, g]: &[String; 2]| {
            format!(
                "{kind} lib {{ atomic x, y, l, m; method f() {{ local r, s; {f} }} method g() {{ local r, s; {g} }} }}\n"
            )
        };
        let files =
            format!("max_value 3;\n{}{}", component("library", &library), component("spec", &spec));
        let general: Vec<String> = calls
            .iter()
            .enumerate()
            .map(|(t, calls)| format!("thread t{t} {{ {}(); }}", calls.join("(); ")))
            .collect();
        let checked = project(&format!("{files}client {{ {} }}\n", general.join(" ")));
        let pair = &checked.pairs[0];
        let scope = Scope { pending: 4, own_space: pair.own_space, ..Scope::default() };
        let (first, second) = (&pair.implementation.system, &pair.specification.system);
        let limits = Limits { states: Some(20_000), ..Limits::default() };
        let question = Question { scope, limits, ..Question::default() };
        let answer = refines(first, second, &question, &mut |_| {});
        let refines = match (&answer.decisions[0].verdict, answer.difference()) {
            (Verdict::Holds, _) if !answer.literal() => true,
            (_, Some(_)) => false,
            _ => continue,
        };
        early += u64::from(refines);
        for _ in 0..if refines || told_apart == 0 { 6 } else { 0 } {
            let text = format!("{files}{}", client(&calls, &mut random));
            let composed = project(&text);
            let with = outcomes(&composed.pairs[0].implementation);
            let of_specification = outcomes(&composed.pairs[0].specification);
            let same = with.is_subset(&of_specification);
            if refines {
                let more: Vec<_> = with.difference(&of_specification).collect();
                assert!(same, "seed {seed}: only with the library: {more:?}\n{text}");
                compared += 1;
            } else {
                told_apart += u64::from(!same);
            }
        }
    }
    println!("{early} up to early propagation, {compared} clients, {told_apart} others told apart");
    assert!(early > pairs / 10 && told_apart > 0, "one-sided: {early}, {told_apart}");
}
