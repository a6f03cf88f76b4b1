//! Fencepost's side of `bench/against-spin`.
//!
//! * `against_spin promela FILE` prints a program as Promela;
//! * `against_spin check REDUCTIONS JOBS FILE` checks its assertions under sequential consistency
//!   and prints the verdict and what it cost, as `key value` lines.

extern crate fencepost_export as export;

use check::{Model, Property, Question, Verdict};
use std::process::ExitCode;

fn read(file: &str) -> Result<ir::Program, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    lang::parse(file, &text).map(|source| source.program).map_err(|diagnostics| {
        let all: Vec<String> =
            diagnostics.iter().map(|one| one.render(file, &text, false)).collect();
        all.concat()
    })
}

fn promela(file: &str) -> Result<(), String> {
    let text = export::promela(&read(file)?).map_err(|error| format!("{file}: {error}"))?;
    print!("{text}");
    Ok(())
}

fn check(reductions: &str, jobs: &str, file: &str) -> Result<(), String> {
    let question = Question {
        model: Model::Sc,
        reductions: reductions.parse()?,
        jobs: jobs.parse().map_err(|_| format!("`{jobs}` is no number of jobs"))?,
        ..Question::default()
    };
    let answer = check::check(&read(file)?, &question, &|_, _| {}).expect("a legal question");
    let verdict = match answer.verdict(Property::Assertions) {
        Some(Verdict::Violated(_)) => "fails",
        _ if !answer.faults.is_empty() => "fails",
        Some(Verdict::Holds) => "holds",
        _ => "undecided",
    };
    let cost = answer.cost;
    println!("verdict {verdict}");
    println!("states {}", cost.states);
    println!("transitions {}", cost.transitions);
    println!("bytes {}", cost.peak_bytes);
    println!("resident {}", resident());
    println!("seconds {:.6}", cost.elapsed.as_secs_f64());
    Ok(())
}

/// The most memory this process ever had, in bytes; 0 where the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or(0, |kilobytes| kilobytes << 10)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["promela", file] => promela(file),
        ["check", reductions, jobs, file] => check(reductions, jobs, file),
        _ => Err("usage: against_spin promela FILE | check REDUCTIONS JOBS FILE".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
