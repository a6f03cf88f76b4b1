//! Checks files against store-atomic machines and prints a JSON object per file.
//!
//! `cargo run -p fencepost-check --example store_atomic -- --model tso FILE…`
//!
//! Options: `--method auto|locality|singularity`, `--reduce none`, `--jobs N`, `--limit-time SECONDS`,
//! `--limit-memory MIB`, `--witness`; `--fix` places fences instead of checking. Exit codes: 0 holds, 1 violated, 2 bad input, 3 undecided.

extern crate fencepost_check as check;

use check::fix::fences::{Aim, Weights, insert, place};
use check::robustness::store_atomic::{Machine, Method, Settings, Verdict, check};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut machine = Machine::Tso;
    let mut settings = Settings::default();
    let (mut time, mut memory) = (None, None);
    let mut files = Vec::new();
    let mut show = false;
    let mut fixing = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--model" => {
                let name = value();
                let known = Machine::ALL.into_iter().find(|machine| machine.name() == name);
                let Some(known) = known else { return usage(&format!("no model `{name}`")) };
                machine = known;
            }
            "--method" => {
                let name = value();
                let all = [Method::Auto, Method::Locality, Method::Singularity];
                let known = all.into_iter().find(|method| method.name() == name);
                let Some(known) = known else { return usage(&format!("no method `{name}`")) };
                settings.method = known;
            }
            "--reduce" => settings.reduce = value() != "none",
            "--limit-time" => {
                time = value().parse().ok().map(Duration::from_secs);
            }
            "--limit-memory" => {
                memory = value().parse::<u64>().ok().map(|mib| mib << 20);
            }
            "--jobs" => settings.jobs = value().parse().unwrap_or(1),
            "--witness" => show = true,
            "--fix" => fixing = true,
            // As the command line of fencepost has it; the input format is told by content here.
            "check" | "--json" => {}
            "--input" => drop(value()),
            _ => files.push(arg),
        }
    }
    let mut code = 0;
    for file in files {
        settings.limits.budget = search::Budget::new(time, memory);
        code = code.max(match read(&file) {
            None => 2,
            Some(source) if fixing => fix(&file, &source, machine, &settings, show),
            Some(source) => one(&file, &source, machine, &settings, show),
        });
    }
    ExitCode::from(code)
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

fn read(file: &str) -> Option<lang::Source> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{file}: {error}");
            return None;
        }
    };
    let parse = if lang::trencher::looks_like(&text) { lang::trencher::parse } else { lang::parse };
    let report = |diagnostics: &[lang::Diagnostic]| {
        diagnostics.iter().for_each(|d| eprintln!("{}", d.render(file, &text, false)));
    };
    match parse(file, &text) {
        Ok(source) => {
            report(&source.warnings);
            Some(source)
        }
        Err(diagnostics) => {
            report(&diagnostics);
            None
        }
    }
}

fn fix(file: &str, source: &lang::Source, machine: Machine, settings: &Settings, show: bool) -> u8 {
    let placement = match place(
        &source.program,
        &[Aim::Robust(machine)],
        Weights::default(),
        settings,
        &|_| {},
    ) {
        Ok(placement) => placement,
        Err(why) => {
            println!("{{\"file\":{file:?},\"error\":\"{why}\"}}");
            return 3;
        }
    };
    let fixed = insert(&source.program, &placement.sites);
    let proof = check(&fixed, machine, settings, &|_| {});
    let lines: Vec<usize> = placement
        .sites
        .iter()
        .map(|site| source.line_column(source.span(site.origin).start).0)
        .collect();
    println!(
        "{{\"file\":{file:?},\"model\":\"{machine}\",\"fences\":{},\"minimum\":{},\"lines\":{lines:?},\
         \"rounds\":{},\"states\":{},\"seconds\":{:.6},\"recheck\":\"{}\"}}",
        placement.sites.len(),
        placement.minimum,
        placement.rounds,
        placement.cost.states,
        placement.cost.elapsed.as_secs_f64(),
        proof.map_or("refused", |outcome| outcome.verdict.name()),
    );
    if show {
        let origins: Vec<ir::Origin> = placement.sites.iter().map(|site| site.origin).collect();
        if let Some(text) = lang::trencher::insert_fences(source, &origins) {
            println!("{text}");
        }
    }
    0
}

fn one(file: &str, source: &lang::Source, machine: Machine, settings: &Settings, show: bool) -> u8 {
    let outcome = match check(&source.program, machine, settings, &|_| {}) {
        Ok(outcome) => outcome,
        Err(refusal) => {
            eprintln!("{file}: {refusal}");
            return 2;
        }
    };
    let (code, error) = match &outcome.verdict {
        Verdict::Holds => (0, "null".to_string()),
        Verdict::Violated(_) => (1, "null".to_string()),
        Verdict::Undecided(why) => (3, format!("\"{why}\"")),
    };
    println!(
        "{{\"file\":{file:?},\"model\":\"{machine}\",\"property\":\"robustness\",\"verdict\":\"{}\",\
         \"method\":\"{}\",\"attacks\":{},\"attacks_examined\":{},\"states\":{},\"transitions\":{},\
         \"seconds\":{:.6},\"peak_bytes\":{},\"threads\":{},\"labels\":{},\"instructions\":{},\
         \"error\":{error}}}",
        outcome.verdict.name(),
        outcome.method.name(),
        outcome.attacks,
        outcome.attacks_examined,
        outcome.cost.states,
        outcome.cost.transitions,
        outcome.cost.elapsed.as_secs_f64(),
        outcome.cost.peak_bytes,
        source.program.threads.len(),
        source.program.steps().count(),
        source.program.steps().filter(|(_, _, s)| s.instr != ir::Instr::Halt).count(),
    );
    if let (true, Verdict::Violated(witness)) = (show, &outcome.verdict) {
        let place = |tid: ir::Tid, pc: ir::Pc| {
            let step = source.program.step(tid, pc);
            let (line, _) = source.line_column(source.span(step.origin).start);
            let text = source.snippet(source.span(step.origin));
            format!("{:12} {line:4}: {text}", source.program.threads[tid.index()].display_name())
        };
        for happening in &witness.computation {
            println!("  {:60} {:?}", place(happening.tid, happening.pc), happening.event);
        }
        println!("  cycle:");
        for node in &witness.cycle {
            println!("  {:60} {}", place(node.tid, node.pc), node.edge.name());
        }
    }
    code
}
