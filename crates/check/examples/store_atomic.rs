//! Checks files against store-atomic machines and prints a JSON object per file.
//!
//! `cargo run -p fencepost-check --example store_atomic -- --model tso FILE…`
//!
//! Options: `--method auto|locality|singularity`, `--reduce none`, `--jobs N`, `--limit-time SECONDS`,
//! `--limit-memory MIB`, `--witness`; `--fix` places fences instead of checking. Exit codes: 0 holds, 1 violated, 2 bad input, 3 undecided.

extern crate fencepost_check as check;

use check::fix::fences::{Aim, Weights, insert, place};
use check::robustness::store_atomic::{Machine, decide};
use check::{By, Evidence, Method, Question, Reductions, Verdict};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut machine = Machine::Tso;
    let mut question = Question::default();
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
                question.method = known;
            }
            "--reduce" if value() == "none" => question.reductions = Reductions::NONE,
            "--reduce" => {}
            "--limit-time" => {
                time = value().parse().ok().map(Duration::from_secs);
            }
            "--limit-memory" => {
                memory = value().parse::<u64>().ok().map(|mib| mib << 20);
            }
            "--jobs" => question.jobs = value().parse().unwrap_or(1),
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
        question.limits.budget = search::Budget::new(time, memory);
        code = code.max(match read(&file) {
            None => 2,
            Some(source) if fixing => fix(&file, &source, machine, &question, show),
            Some(source) => one(&file, &source, machine, &question, show),
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
    let report = |diagnostics: &[lang::Diagnostic]| {
        diagnostics.iter().for_each(|d| eprintln!("{}", d.render(file, &text, false)));
    };
    match lang::parse_any(file, &text) {
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

fn fix(file: &str, source: &lang::Source, machine: Machine, question: &Question, show: bool) -> u8 {
    let placement = match place(
        &source.program,
        &[Aim::Robust(machine)],
        Weights::default(),
        question,
        &|_, _| {},
    ) {
        Ok(placement) => placement,
        Err(why) => {
            println!("{{\"file\":{file:?},\"error\":\"{why}\"}}");
            return 3;
        }
    };
    let fixed = insert(&source.program, &placement.sites);
    let proof = decide(&fixed, machine, question, &|_, _| {});
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
        proof.map_or("refused", |(robust, _)| robust.verdict.name()),
    );
    if show {
        let origins: Vec<ir::Origin> = placement.sites.iter().map(|site| site.origin).collect();
        if let Some(text) = lang::trencher::insert_fences(source, &origins) {
            println!("{text}");
        }
    }
    0
}

fn one(file: &str, source: &lang::Source, machine: Machine, question: &Question, show: bool) -> u8 {
    let robust = match decide(&source.program, machine, question, &|_, _| {}) {
        Ok((robust, _)) => robust,
        Err(refusal) => {
            eprintln!("{file}: {refusal}");
            return 2;
        }
    };
    let (code, error) = match &robust.verdict {
        Verdict::Holds => (0, "null".to_string()),
        Verdict::Violated(_) => (1, "null".to_string()),
        Verdict::Undecided(why) => (3, format!("\"{why}\"")),
    };
    let By::Attacks { method, attacks, examined } = robust.by else { return 2 };
    println!(
        "{{\"file\":{file:?},\"model\":\"{machine}\",\"property\":\"robustness\",\"verdict\":\"{}\",\
         \"method\":\"{}\",\"attacks\":{},\"attacks_examined\":{},\"states\":{},\"transitions\":{},\
         \"seconds\":{:.6},\"peak_bytes\":{},\"threads\":{},\"labels\":{},\"instructions\":{},\
         \"error\":{error}}}",
        robust.verdict.name(),
        method.name(),
        attacks,
        examined,
        robust.cost.states,
        robust.cost.transitions,
        robust.cost.elapsed.as_secs_f64(),
        robust.cost.peak_bytes,
        source.program.threads.len(),
        source.program.steps().count(),
        source.program.steps().filter(|(_, _, s)| s.instr != ir::Instr::Halt).count(),
    );
    if let (true, Some(Evidence::Computation(witness))) =
        (show, robust.verdict.witness().map(|witness| &witness.evidence))
    {
        let place = |tid: ir::Tid, pc: ir::Pc| {
            let step = source.program.step(tid, pc);
            let (line, _) = source.line_column(source.span(step.origin).start);
            let text = source.snippet(source.span(step.origin));
            format!("{:12} {line:4}: {text}", source.program.threads[tid.index()].display_name())
        };
        for happening in &witness.happenings {
            println!("  {:60} {:?}", place(happening.tid, happening.pc), happening.event);
        }
        println!("  cycle:");
        for node in &witness.cycle {
            println!("  {:60} {}", place(node.tid, node.pc), node.edge.name());
        }
    }
    code
}
