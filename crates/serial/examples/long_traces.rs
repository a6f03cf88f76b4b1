//! Time and memory of `fencepost serial` on traces that were once too much: `long_traces NAME [SIZE]`.
//!
//! * `reads`: one thread that only reads;
//! * `wide`: one transaction over many variables;
//! * `sparse`: 64 threads that share a million variables;
//! * `random`: what `fencepost serial --random --threads 8 --vars 1000` writes.
//!
//! ```text
//! cargo run --release -p fencepost-serial --example long_traces -- random 1000000
//! ```

extern crate fencepost_serial as serial;

use budget::Budget;
use serial::event::{Action, Data, Event, Names, Place, Thread, Var};
use serial::judge::{Scope, judge_trace_within};
use serial::random::{Random, Shape, Style};
use std::time::{Duration, Instant};

fn trace(name: &str, size: usize) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    let mut push = |thread: usize, action: Action| {
        let line = events.len() as u32 + 1;
        let thread = Thread(thread as u32);
        events.push(Event { thread, action, line, place: Place::UNKNOWN, data: Data::NONE });
    };
    match name {
        "reads" => (0..size).for_each(|at| push(0, Action::Read(Var(at as u32 % 10)))),
        "wide" => {
            push(0, Action::Begin(None));
            for at in 0..size {
                push(0, Action::Read(Var(at as u32)));
                push(0, Action::Write(Var(at as u32)));
            }
            push(0, Action::End);
        }
        "sparse" => {
            let mut random = Random::new(1);
            for _ in 0..size {
                let (thread, var) = (random.below(64), Var(random.below(1_000_000) as u32));
                let read = random.chance(50);
                push(thread, if read { Action::Read(var) } else { Action::Write(var) });
            }
        }
        "random" => {
            let (commits, style, seed) = (false, Style::Free, 0);
            let shape = Shape {
                threads: 8,
                vars: 1000,
                events: size,
                transaction: 5,
                commits,
                style,
                seed,
            };
            return Some(shape.events());
        }
        _ => return None,
    }
    Some(events)
}

/// The most memory that the process ever had, in megabytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    number.unwrap_or(0) / 1024
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let size = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(100_000);
    let Some(trace) = trace(&name, size) else {
        println!("long_traces reads|wide|sparse|random [SIZE]");
        return;
    };
    let (held, start) = (peak(), Instant::now());
    let budget = Budget::new(Some(Duration::from_secs(120)), None);
    let report = judge_trace_within(&trace, Names::default(), Scope::ThisRun, budget);
    let answers: Vec<String> = match report {
        Ok(report) => report
            .answers
            .iter()
            .map(|answer| match answer.spent {
                Some(_) => "undecided".to_string(),
                None => answer.yes().to_string(),
            })
            .collect(),
        Err(bad) => vec![bad.to_string()],
    };
    let time = start.elapsed().as_secs_f32();
    println!("{name} {size}: {time:.2} s, {} MB ({held} MB held the trace), {answers:?}", peak());
}
